"""Test what this machine can do, and suggest the command that installs what is missing."""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from minigrad.grading.sandbox.choose import try_tier
from minigrad.grading.sandbox.image import NoSuchPackage, cached_image
from minigrad.grading.sandbox.launch import TIERS

PIP = f"{sys.executable} -m pip install"
BROWSER = "a browser (for its tests)"


@dataclass(frozen=True)
class MachineFinding:
    """The result of one check.

    what      what was checked
    there     is it installed, and does it work?
    detail    its version, or the problem
    fix       the command that fixes it
    needed    does grading require it?
    """

    what: str
    there: bool
    detail: str = ""
    fix: str = ""
    needed: bool = False


def examine() -> Iterator[MachineFinding]:
    """Run all checks, the most essential first."""
    here = f"{platform.python_version()}, {platform.platform()}"
    yield MachineFinding("Python", True, here, needed=True)
    for package in ("numpy", "ipykernel", "pyzmq", "nbformat", "nbval", "pytest", "jinja2"):
        yield _package(package, needed=True)
    for package in ("ipywidgets", "anywidget", "jupyterlab", "notebook"):
        yield _package(package)
    yield _browser()
    yield from _sandboxes()
    yield _package("distributed", "Dask (only for --scheduler)")


def report(found: Sequence[MachineFinding]) -> dict[str, object]:
    """The findings as a JSON document; `ready` is true if nothing required is missing."""
    return {
        "format": "minigrad-doctor-1",
        "ready": all(f.there for f in found if f.needed),
        "findings": [{**asdict(f), "fix": None if f.there else f.fix or None} for f in found],
    }


def _package(name: str, what: str | None = None, needed: bool = False) -> MachineFinding:
    wanted = _required_versions(name)
    try:
        detail = version(name)
        there = importlib.util.find_spec({"pyzmq": "zmq"}.get(name, name)) is not None
    except (PackageNotFoundError, ValueError):
        there, detail = False, "not installed"
    else:
        if not wanted.contains(detail, prereleases=True):
            there, detail = False, f"{detail}; {wanted} is needed"
        elif not there:
            detail = "cannot be imported"
    return MachineFinding(what or name, there, detail, f'{PIP} "{name}{wanted}"', needed)


def _required_versions(name: str) -> SpecifierSet:
    """The versions that minigrad requires; any version, if minigrad is not installed as a package."""
    try:
        texts = requires("minigrad-jupyter") or []
    except PackageNotFoundError:
        texts = []
    wanted = (r.specifier for r in map(Requirement, texts) if r.name == name and r.specifier)
    return next(wanted, SpecifierSet())


def _browser() -> MachineFinding:
    fix = "apt-get install chromium  (or set MINIGRAD_CHROMIUM to a browser's path)"
    wanted = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    named = (os.environ.get("MINIGRAD_CHROMIUM"), *wanted)
    found = next((p for name in named if name and (p := shutil.which(name))), None)
    if found is None:
        return MachineFinding(BROWSER, False, "none was found", fix)
    try:
        done = subprocess.run(
            [found, "--version"], capture_output=True, encoding="utf-8", timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return MachineFinding(BROWSER, False, f"{found} does not start", fix)
    return MachineFinding(BROWSER, done.returncode == 0, done.stdout.strip() or found, fix)


def _sandboxes() -> Iterator[MachineFinding]:
    """Test each sandbox tier, and whether at least one holds, which grading requires."""
    what = "a sandbox for grading"
    try:
        packages = cached_image(False)
    except (NoSuchPackage, ImportError) as error:
        fix = f'{PIP} "minigrad-jupyter[grade]"'
        yield MachineFinding(what, False, str(error), fix, needed=True)
        return
    who = "as root" if hasattr(os, "geteuid") and os.geteuid() == 0 else "as an ordinary user"
    working = []
    for tier in TIERS[:-1]:
        found = try_tier(tier, packages)
        working += [tier] if found.holds else []
        detail = found.reason or f"holds, {who}: {found.attacks} attacks tried, all blocked"
        yield MachineFinding(f"sandbox {tier}", found.holds, detail, found.fix)
    none = "none of them holds here, so students' code is not run"
    fix = (
        "apt-get install bubblewrap; or grade on a Linux machine, in WSL2 or in CI. (--isolation none is for "
        "code that you trust.)"
    )
    detail = f"{working[0]} is used" if working else none
    yield MachineFinding(what, bool(working), detail, fix, needed=True)
