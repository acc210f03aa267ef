"""Choose the sandbox for students' code on this machine: the strongest tier that passes the self-test.

The self-test of a tier runs once per grader. Recorder processes get its result from their parent.
"""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from minigrad.grading.sandbox import container
from minigrad.grading.sandbox.image import cached_image, versions
from minigrad.grading.sandbox.launch import TIERS, Tier
from minigrad.grading.sandbox.selftest import Finding, try_tier

TESTED = "MINIGRAD_SELF_TEST"  # the tier and its number of attacks, for a recorder process
_found: dict[str, Finding] = {}  # requested isolation -> finding, cached in this process


class NoSandbox(RuntimeError):
    """No tier of isolation works on this machine."""


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
    images = {False: cached_image(False, packages, keep)}
    if engine:
        images[True] = cached_image(True, packages, keep)
    found = (
        _found.get(isolation) or _tested_before(isolation) or _strongest(images[False], isolation)
    )
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
    return next((Finding(one, True, attacks=int(attacks)) for one in TIERS if one == tier), None)
