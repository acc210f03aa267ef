"""Try what must not be possible. A tier counts only if nothing of it succeeds.

A canary file lies in a private folder of ours, and a server listens on this machine; a process
is started exactly as a kernel would be, and tries to read the one and to reach the other, to see
this process in /proc, to signal it, and to start another process.
"""

import hashlib
import json
import os
import select
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from minigrad.grading.sandbox.container import NoContainer
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


SECONDS = 20.0  # for one tier


class NoSandbox(RuntimeError):
    """No tier of isolation holds on this machine."""


MEND = {
    "bwrap": "apt-get install bubblewrap  (or your system's bubblewrap; user namespaces must be allowed)",
    "landlock": "use Linux 5.13 or newer with Landlock switched on (lsm=landlock,...)",
    "container": "apt-get install podman  (or docker, with its service running)",
    "none": "",
}


# name, the value that forbids an ordinary user's namespaces, and the one that allows them
SWITCHES = (
    ("kernel.unprivileged_userns_clone", "0", "1"),  # Debian
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),  # Ubuntu
    ("user.max_user_namespaces", "0", "10000"),
)


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
        "To fix it, see  minigrad doctor. To grade without isolation, which only suits notebooks that you "
        "trust, add  --isolation none."
    )


def try_tier(tier: Tier, image: Path) -> Finding:
    """Start the probe in a tier, and see what it could do."""
    with tempfile.TemporaryDirectory(prefix="mg-canary-") as folder, socket.socket() as server:
        canary = Path(folder) / "canary"
        canary.write_text("nobody reads this", encoding="utf-8")
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        environ = Path("/proc/self/environ")
        probe = {
            "canary": str(canary),
            "port": server.getsockname()[1],
            "parent": os.getpid(),
            "environ": hashlib.sha256(
                environ.read_bytes() if environ.exists() else b""
            ).hexdigest(),
        }
        try:
            with Process(tier, image, Limits()) as process, tempfile.TemporaryFile() as said:
                process.start({"probe": probe}, stdout=subprocess.PIPE, stderr=said)
                assert process.child is not None and process.child.stdout is not None
                output = _all_of(process.child.stdout.fileno(), time.monotonic() + SECONDS)
                said.seek(0)
                why = said.read().decode(errors="replace").strip().split("\n")[-1][:200]
        except (FileNotFoundError, NoContainer) as error:
            return Finding(tier, False, str(error), MEND[tier])
        except OSError as error:
            return Finding(tier, False, f"it could not be started here: {error}", MEND[tier])
        try:
            told = json.loads(output)
        except ValueError:
            why = why or f"it was not done in {SECONDS:g} s"
            return Finding(tier, False, f"it could not be started here: {why}", _mend(tier))
    possible = [what for what, was in told["could"].items() if was]
    if possible:
        return Finding(tier, False, f"inside it one still {', '.join(possible)}", MEND[tier])
    if told["broken"]:
        return Finding(tier, False, f"a kernel cannot run in it: {told['broken']}", MEND[tier])
    return Finding(tier, True)


def _mend(tier: Tier) -> str:
    """What to do if a tier is there, and may not be used: switches of the kernel, where there are any."""
    if tier == "bwrap":
        for name, forbidding, allowing in SWITCHES:
            switch = Path("/proc/sys", name.replace(".", "/"))
            try:
                if switch.read_text(encoding="utf-8").strip() == forbidding:
                    return (
                        f"sysctl -w {name}={allowing}  (as root; user namespaces are switched off)"
                    )
            except OSError:
                continue
    return MEND[tier]


def _all_of(descriptor: int, ends: float) -> bytes:
    """What the probe prints. Not communicate(): it would close what keeps a container alive."""
    parts: list[bytes] = []
    while select.select([descriptor], [], [], max(0.0, ends - time.monotonic()))[0]:
        part = os.read(descriptor, 1 << 16)
        if not part:
            break
        parts.append(part)
    return b"".join(parts)
