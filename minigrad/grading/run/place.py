"""Where students' code runs on this machine: a tier that holds, and the packages it may see.

Images are kept in the user's cache, by what is in them, since they take longer to copy than a
submission takes to run. Without isolation a student's code could change such an image for
the next one; then a new one is made each time, and thrown away.

The self-test of a tier runs once in a grader. The processes that record for it are told its result.
"""

import atexit
import hashlib
import os
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path

from minigrad.grading.run.record import SandboxPlace
from minigrad.grading.sandbox import container
from minigrad.grading.sandbox.image import build_image, contents, versions
from minigrad.grading.sandbox.launch import TIERS
from minigrad.grading.sandbox.selftest import Finding, choose

MONTH = 30 * 24 * 3600.0
TESTED = "MINIGRAD_SELF_TEST"  # the tier and the number of doors, for a recorder's process
_found: dict[str, Finding] = {}  # what was wanted -> what this process has found


@cache
def place_here(
    isolation: str = "auto", engine: bool = False, packages: tuple[str, ...] = ()
) -> SandboxPlace:
    """The place for exercises that need these packages, and the engine for some questions.

    Raises NoSandbox if the isolation that is wanted does not hold here.
    """
    keep = isolation != "none"
    images = {False: image(False, packages, keep)}
    if engine:
        images[True] = image(True, packages, keep)
    found = _found.get(isolation) or _tested_before(isolation) or choose(images[False], isolation)
    _found[isolation] = _found[found.tier] = found
    about = versions(packages)
    if found.doors:
        about["self-test of the sandbox"] = f"{found.doors} doors tried, all shut"
    if found.tier == "container":
        about["container"] = str(container.engine())
    return SandboxPlace(found.tier, images, about)


def tested() -> dict[str, str]:
    """For the environment of a process that records for this one: the tier whose self-test has passed."""
    passed = [found for found in _found.values() if found.doors]
    return {TESTED: f"{passed[-1].tier} {passed[-1].doors}"} if passed else {}


def _tested_before(isolation: str) -> Finding | None:
    """What the process that has started this one has found of just this tier."""
    tier, _, doors = os.environ.get(TESTED, "").partition(" ")
    if tier != isolation or not doors.isdecimal():
        return None
    return next((Finding(one, True, doors=int(doors)) for one in TIERS if one == tier), None)


def image(engine: bool, packages: tuple[str, ...] = (), keep: bool = True) -> Path:
    """The image in the cache, made if it is not there yet."""
    parent = _cache() if keep else None
    if parent is None:
        folder = Path(tempfile.mkdtemp(prefix="mg-image-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return build_image(folder / "image", engine=engine, packages=packages)
    name = hashlib.sha256(contents(engine=engine, packages=packages).encode()).hexdigest()[:24]
    target = parent / f"kernel-{name}"
    if target.exists():
        os.utime(target)  # it is in use: see _forget_old
    else:
        _forget_old(parent)
        made = Path(tempfile.mkdtemp(prefix=".making-", dir=parent))
        build_image(made / "image", engine=engine, packages=packages)
        try:
            os.rename(made / "image", target)
        except OSError:
            if not target.exists():  # else somebody was quicker, with the same content
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return target


def _forget_old(parent: Path) -> None:
    """Images that nobody has used for a month: of older versions, or exercises of last year."""
    for old in (*parent.glob("kernel-*"), *parent.glob(".making-*")):
        if old.is_dir() and not old.is_symlink() and time.time() - old.stat().st_mtime > MONTH:
            shutil.rmtree(old, ignore_errors=True)


def _cache() -> Path | None:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "minigrad"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
