"""What this machine can do, found by trying; and the command that mends each lack."""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

PIP = f"{sys.executable} -m pip install"


@dataclass(frozen=True)
class Finding:
    """what      what was looked for
    there     is it there, and does it work?
    detail    version, or what is the matter
    mend      the command that mends it
    """

    what: str
    there: bool
    detail: str = ""
    mend: str = ""


def examine() -> Iterator[Finding]:
    """Everything, in the order in which it is needed."""
    yield Finding(
        "Python", sys.version_info >= (3, 11), f"{platform.python_version()}, {platform.platform()}"
    )
    for package, need in (
        ("numpy", ""),
        ("ipykernel", ""),
        ("nbval", ""),
        ("pytest", ""),
        ("ipywidgets", ""),
    ):
        yield _package(package, f"{PIP} {package}{need}")
    for package in ("jupyterlab", "notebook"):
        yield _package(
            package,
            f'{PIP} "minigrad-jupyter[lab]"' if package == "jupyterlab" else f"{PIP} notebook",
        )
    yield _browser()
    yield from _sandboxes()
    yield _package("distributed", f'{PIP} "minigrad-jupyter[scale]"', "Dask (only for --scheduler)")


def _package(name: str, mend: str, what: str | None = None) -> Finding:
    try:
        return Finding(
            what or name, importlib.util.find_spec(name) is not None, version(name), mend
        )
    except (PackageNotFoundError, ValueError):
        return Finding(what or name, False, "not installed", mend)


def _browser() -> Finding:
    mend = "apt-get install chromium  (or set MINIGRAD_CHROMIUM to a browser's path)"
    wanted = (os.environ.get("MINIGRAD_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    found = next((p for name in wanted if name and (p := shutil.which(name))), None)
    if found is None:
        return Finding("a browser (for its tests)", False, "none was found", mend)
    try:
        done = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=20)
        return Finding("a browser (for its tests)", done.returncode == 0, done.stdout.strip(), mend)
    except (OSError, subprocess.TimeoutExpired):
        return Finding("a browser (for its tests)", False, f"{found} does not start", mend)


def _sandboxes() -> Iterator[Finding]:
    from minigrad.grading.place import image
    from minigrad.grading.sandbox.image import NoSuchPackage
    from minigrad.grading.sandbox.selftest import try_tier

    try:
        packages = image(False)
    except NoSuchPackage as error:
        yield Finding("sandboxes for grading", False, str(error), f"{PIP} ipykernel")
        return
    who = "as root" if hasattr(os, "geteuid") and os.geteuid() == 0 else "as an ordinary user"
    tests = "no private file, network, parent or new process can be reached from it"
    held = False
    for tier in ("bwrap", "landlock"):
        found = try_tier(tier, packages)
        held = held or found.holds
        detail = f"{tests}, {who}" if found.holds else found.reason
        yield Finding(f"sandbox {tier}", found.holds, detail, found.mend)
    if not held:
        yield Finding(
            "grading",
            False,
            "no sandbox holds here, so students' code is not run",
            "grade on a Linux machine, in WSL2 or in CI; --isolation none only for code that you trust",
        )
