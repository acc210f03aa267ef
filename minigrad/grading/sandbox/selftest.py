"""Try what must not be possible. A tier counts only if nothing of it succeeds.

A canary file lies in a private folder of ours, and a server listens on this machine; a process
is started exactly as a kernel would be, and tries to read the one and to reach the other, to see
this process in /proc, to signal it, and to start another process.
"""

import json
import os
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from minigrad.grading.sandbox.launch import TIERS, Limits, Process, Tier


@dataclass(frozen=True)
class Finding:
    """tier       what was tried
    holds      is it safe to grade in it?
    reason     if not: what was possible, or why it could not be started
    mend       how to get it, if that is known
    """

    tier: Tier
    holds: bool
    reason: str = ""
    mend: str = ""


class NoSandbox(RuntimeError):
    """No tier of isolation holds on this machine."""


MEND = {
    "bwrap": "apt-get install bubblewrap  (or your system's bubblewrap; user namespaces must be allowed)",
    "landlock": "use Linux 5.13 or newer with Landlock switched on (lsm=landlock,...)",
    "none": "",
}


def choose(image: Path, wanted: str = "auto") -> Finding:
    """The strongest tier that holds; or the one that is wanted, if it holds.

    Raises NoSandbox, saying what was tried. `none` is chosen only by its name.
    """
    if wanted == "none":
        return Finding("none", True, "asked for by name")
    tried = []
    for tier in TIERS:
        if tier != "none" and wanted in ("auto", tier):
            finding = try_tier(tier, image)
            if finding.holds:
                return finding
            tried.append(finding)
    said = "\n".join(f"    {f.tier:<10} {f.reason}\n               {f.mend}" for f in tried)
    raise NoSandbox(
        f"A student's code cannot be run safely on this machine:\n{said or '    ' + wanted + ' is no tier'}\n"
        "To mend it, see  minigrad doctor. To grade without isolation, which only suits notebooks that you "
        "trust, add  --isolation none."
    )


def try_tier(tier: Tier, image: Path) -> Finding:
    """Start the probe in a tier, and see what it could do."""
    with tempfile.TemporaryDirectory(prefix="mg-canary-") as folder, socket.socket() as server:
        canary = Path(folder) / "canary"
        canary.write_text("nobody reads this")
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        probe = {"canary": str(canary), "port": server.getsockname()[1], "parent": os.getpid()}
        try:
            with Process(tier, image, Limits()) as process:
                process.start({"probe": probe}, stdout=subprocess.PIPE)
                assert process.child is not None
                output, _ = process.child.communicate(timeout=20)
            could = json.loads(output)
        except FileNotFoundError as error:
            return Finding(tier, False, str(error), MEND[tier])
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return Finding(tier, False, "it could not be started here", MEND[tier])
    possible = [what for what, was in could.items() if was]
    if possible:
        return Finding(tier, False, f"inside it one still {', '.join(possible)}", MEND[tier])
    return Finding(tier, True)
