"""Choose where students' code runs on this machine: a tier that works, and an image of packages.

Copying the packages for an image takes longer than running a submission, so images are cached in the
user's cache folder, by a hash of their content. Without isolation, a student's code could modify a
cached image, so then a temporary image is made for each grader.

The self-test of a tier runs once per grader. Recorder processes get the result from their parent.
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
TESTED = "MINIGRAD_SELF_TEST"  # the tier and its number of attacks, for a recorder process
_found: dict[str, Finding] = {}  # requested isolation -> finding, cached in this process


@cache
def place_here(
    isolation: str = "auto", engine: bool = False, packages: tuple[str, ...] = ()
) -> SandboxPlace:
    """A place for running exercises with these packages, and with the engine if some question needs it.

    Raises NoSandbox if the requested isolation does not hold here.
    """
    keep = isolation != "none"
    images = {False: image(False, packages, keep)}
    if engine:
        images[True] = image(True, packages, keep)
    found = _found.get(isolation) or _tested_before(isolation) or choose(images[False], isolation)
    _found[isolation] = _found[found.tier] = found
    about = versions(packages)
    if found.attacks:
        about["self-test of the sandbox"] = f"{found.attacks} attacks tried, all blocked"
    if found.tier == "container":
        about["container"] = str(container.engine())
    return SandboxPlace(found.tier, images, about)


def tested() -> dict[str, str]:
    """Environment variables that tell a recorder process which tier has passed the self-test."""
    passed = [found for found in _found.values() if found.attacks]
    return {TESTED: f"{passed[-1].tier} {passed[-1].attacks}"} if passed else {}


def _tested_before(isolation: str) -> Finding | None:
    """The parent process's finding on this tier; None if it has none."""
    tier, _, attacks = os.environ.get(TESTED, "").partition(" ")
    if tier != isolation or not attacks.isdecimal():
        return None
    return next((Finding(one, True, attacks=int(attacks)) for one in TIERS if one == tier), None)


def image(engine: bool, packages: tuple[str, ...] = (), keep: bool = True) -> Path:
    """The folder of the cached image, which is built if needed."""
    parent = _cache() if keep else None
    if parent is None:
        folder = Path(tempfile.mkdtemp(prefix="mg-image-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return build_image(folder / "image", engine=engine, packages=packages)
    name = hashlib.sha256(contents(engine=engine, packages=packages).encode()).hexdigest()[:24]
    target = parent / f"kernel-{name}"
    if target.exists():
        os.utime(target)  # mark it as used: see _remove_old_images
    else:
        _remove_old_images(parent)
        made = Path(tempfile.mkdtemp(prefix=".making-", dir=parent))
        build_image(made / "image", engine=engine, packages=packages)
        try:
            os.rename(made / "image", target)
        except OSError:
            if not target.exists():  # otherwise another process has built the same image
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return target


def _remove_old_images(parent: Path) -> None:
    """Remove images that have not been used for a month."""
    for old in (*parent.glob("kernel-*"), *parent.glob(".making-*")):
        if old.is_dir() and not old.is_symlink() and time.time() - old.stat().st_mtime > MONTH:
            shutil.rmtree(old, ignore_errors=True)


def _cache() -> Path | None:
    """The user's folder for images; None if there is none, or if it cannot be written to."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "minigrad"
    if not folder.is_absolute():  # a user without an account: "~" stays as it is
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
