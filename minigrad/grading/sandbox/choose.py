"""Choose the sandbox for students' code on this machine: the strongest tier that passes the self-test.

    choose_sandbox    the sandbox; its self-test runs once per grader, and recorders get the result from their parent
    try_tier          attack a tier; it may be used only if every attack fails

For the self-test we put a file like a judge bundle into a private folder, and start a server on this machine.
A kernel starts exactly as for a student, and a cell in it tries each attack (probe.py): reading the file,
connecting to the server, inspecting and signaling this process, starting processes, and exceeding
the limits on threads, memory, files and messages.
"""

import getpass
import hashlib
import os
import socket
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from minigrad.grading.sandbox import container
from minigrad.grading.sandbox.image import cached_image, versions
from minigrad.grading.sandbox.launch import MEGABYTE, TIERS, Limits, Process, Tier
from minigrad.grading.sandbox.wire import Kernel, NotStarted

TESTED = "MINIGRAD_SELF_TEST"  # the tier and its number of attacks, for a recorder process


class NoSandbox(RuntimeError):
    """No tier of isolation works on this machine."""


@dataclass(frozen=True)
class Finding:
    """The result of testing a tier.

    tier       the tier that was tested
    holds      is it safe to grade in it?
    reason     if not, what was possible, or why it could not be started
    fix        how to install or enable it, if known
    attacks    the number of attacks that were tried
    """

    tier: Tier
    holds: bool
    reason: str = ""
    fix: str = ""
    attacks: int = 0


_found: dict[str, Finding] = {}  # requested isolation -> finding, cached in this process


@dataclass(frozen=True)
class Sandbox:
    """Where students' code runs.

    tier        the tier of isolation
    images      engine allowed? -> folder of the packages that a kernel sees
    versions    versions of the packages, for the report
    """

    tier: Tier
    images: dict[bool, Path]
    versions: dict[str, str]


@cache
def choose_sandbox(
    isolation: str = "auto", engine: bool = False, packages: tuple[str, ...] = ()
) -> Sandbox:
    """The sandbox for exercises with these packages, and with the engine if some question needs it.

    Raises NoSandbox if the requested isolation does not hold here.
    """
    keep = isolation != "none"
    images = {allowed: cached_image(allowed, packages, keep) for allowed in {False, engine}}
    found = _found.get(isolation) or _tested_before(isolation)
    found = found or _strongest(images[False], isolation)
    _found[isolation] = _found[found.tier] = found
    about = versions(packages)
    if found.attacks:
        about["self-test of the sandbox"] = f"{found.attacks} attacks tried, all blocked"
    if found.tier == "container":
        about["container"] = str(container.engine())
    return Sandbox(found.tier, images, about)


def _strongest(image: Path, wanted: str) -> Finding:
    """The strongest tier that holds, or the wanted one if it holds.

    Raises NoSandbox, saying what was tried. `none` is taken only if it is wanted by name.
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
    details = "\n".join(f"    {f.tier:<10} {f.reason}\n               {f.fix}" for f in tried)
    details = details or f"    {wanted} is not one of auto, {', '.join(TIERS)}"
    raise NoSandbox(
        f"A student's code cannot be run safely on this machine:\n{details}\n"
        "To fix it, see  minigrad doctor. To grade without isolation, which only suits notebooks that you "
        "trust, add  --isolation none."
    )


def tested() -> dict[str, str]:
    """Environment variables that tell a recorder process which tier has passed the self-test."""
    passed = [found for found in _found.values() if found.attacks]
    return {TESTED: f"{passed[-1].tier} {passed[-1].attacks}"} if passed else {}


def _tested_before(isolation: str) -> Finding | None:
    """The parent process's finding on this tier; None if it has none."""
    tier, _, attacks = os.environ.get(TESTED, "").partition(" ")
    if tier != isolation or not attacks.isdecimal():
        return None
    return next((Finding(t, True, attacks=int(attacks)) for t in TIERS if t == tier), None)


SECONDS = 60.0  # for each cell; enough for a busy machine
ATTACKS = "application/vnd.minigrad.attacks+json"
PROBE = Path(__file__).with_name("probe.py")


FIXES = {
    "gvisor": "apt-get install runsc  (or see gvisor.dev/docs/user_guide/install)",
    "bwrap": "apt-get install bubblewrap  (or your system's bubblewrap; user namespaces must be allowed)",
    "landlock": "use Linux 5.14 or newer with Landlock switched on (lsm=landlock,...), and namespaces of users",
    "container": "apt-get install podman  (or docker, with its service running)",
    "none": "",
}

# sysctl settings: name, value that forbids unprivileged user namespaces, value that allows them
SWITCHES = (
    ("kernel.unprivileged_userns_clone", "0", "1"),  # Debian
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),  # Ubuntu
    ("user.max_user_namespaces", "0", "10000"),
)


def try_tier(tier: Tier, image: Path) -> Finding:
    """Start kernels in a tier, and test what a cell in them can do."""
    with tempfile.TemporaryDirectory(prefix="mg-bundle-") as folder, socket.socket() as server:
        bundle = Path(folder) / "exercise.judge.json"
        bundle.write_text("nobody reads this", encoding="utf-8")
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        environ = Path("/proc/self/environ")
        seen = environ.read_bytes() if environ.exists() else b""
        targets = {
            "bundle": str(bundle),
            "port": server.getsockname()[1],
            "parent": os.getpid(),
            "environ": hashlib.sha256(seen).hexdigest(),
            "memory": Limits().memory * MEGABYTE,
        }
        with tempfile.TemporaryFile() as stderr:
            try:
                attacks = _attacks(tier, image, f"try_attacks({targets}, {ATTACKS!r})", stderr)
            except NotStarted as error:
                stderr.seek(0)
                why = stderr.read().decode(errors="replace").strip().split("\n")[-1][:200]
                reason = f"it could not be started here: {why or error}"
                return Finding(tier, False, reason, _fix_for(tier, why))
            except (OSError, _Broken) as error:
                return Finding(tier, False, str(error), FIXES[tier])
    possible = [attack for attack, succeeded in attacks.items() if succeeded]
    reason = f"student code in it {', '.join(possible)}" if possible else ""
    return Finding(tier, not possible, reason, _fix_for(tier) if possible else "", len(attacks))


class _Broken(RuntimeError):
    """A kernel starts, but cannot run an ordinary submission."""


def _attacks(tier: Tier, image: Path, attempt: str, stderr: IO[bytes]) -> dict[str, bool]:
    """Map each attack to whether it succeeded. Trying the last two kills the kernel."""
    probe = PROBE.read_text(encoding="utf-8")
    with Process(tier, image, Limits(), stderr) as process, Kernel(process) as kernel:
        for cell in ("import numpy, zmq, os, tempfile", "tempfile.TemporaryFile()"):
            run = kernel.run(cell, time.monotonic() + SECONDS)
            if run.end != "idle" or run.error is not None:
                why = run.error or run.end
                raise _Broken(f"a cell that imports NumPy failed in it ({why})")
        run = kernel.run(f"{probe}\n{attempt}", time.monotonic() + SECONDS)
        results = [data[ATTACKS] for data in run.published if ATTACKS in data]
        if run.end != "idle" or len(results) != 1:
            raise _Broken(
                f"a kernel in it did not report which attacks succeeded ({run.error or run.end})"
            )
        run = kernel.run("make_files(os.environ['TMPDIR'])", time.monotonic() + SECONDS)
        ended = run.end in ("died", "disk") or (run.end == "idle" and run.error is not None)
    with Process(tier, image, Limits(), stderr) as process, Kernel(process) as kernel:
        run = kernel.run(f"{probe}\nsend_frames()", time.monotonic() + SECONDS)
    more = {"makes 1,000,000 files": not ended, "sends a frame of 4 GB": run.end != "bytes"}
    return {**results[0], **more}


def _fix_for(tier: Tier, why: str = "") -> str:
    """How to enable a tier that is installed but not allowed: kernel settings, or user ids for containers."""
    if "/etc/subuid" in why:
        users = "--add-subuids 100000-165535 --add-subgids 100000-165535"
        return f"apt-get install uidmap && usermod {users} {getpass.getuser()}  (as root)"
    if tier != "container":
        for name, forbidding, allowing in SWITCHES:
            switch = Path("/proc/sys", name.replace(".", "/"))
            with suppress(OSError):
                if switch.read_text("utf-8").strip() == forbidding:
                    why = "as root; user namespaces are switched off"
                    return f"sysctl -w {name}={allowing}  ({why})"
    return FIXES[tier]
