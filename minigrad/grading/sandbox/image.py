"""The packages that a student's kernel may import, in a folder of their own.

A kernel gets NumPy and what ipykernel needs; no other autograd package, and the engine itself
only for questions that allow it. So the installed packages are not shown and then hidden, but
chosen and copied; no links, through which a kernel without a sandbox could write.

Without the engine, `import minigrad` finds a stand-in: see stand_in.py.
"""

import compileall
import hashlib
import re
import shutil
import sys
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(__file__).parent
LEFT_OUT = {"debugpy", "jedi", "parso"}  # ipykernel and IPython do without them
UNNEEDED = shutil.ignore_patterns("tests", "*.pyi", "*.lib", "*.h")
STAND_IN = HERE / "stand_in.py"


class NoSuchPackage(RuntimeError):
    """A package that a question asks for, or that kernels need, is not installed here."""


def build_image(folder: Path, *, engine: bool, packages: tuple[str, ...] = ()) -> Path:
    """Fill a new folder with what a kernel may import; give it back.

    Raises NoSuchPackage for one that is not installed.
    """
    site = folder / "site"
    site.mkdir(parents=True)
    (folder / "empty").mkdir()  # shown in a container where something is to be hidden
    for name in ("boot.py", "lockdown.py"):
        shutil.copy2(HERE / name, folder / name)
    for found in _with_dependencies(("ipykernel", "numpy", *packages)).values():
        for top in _top_level(found):
            _copy(Path(str(found.locate_file(top))), site / top)
    if engine:
        package = HERE.parent.parent
        shutil.copytree(package, site / "minigrad", ignore=shutil.ignore_patterns("grading"))
    else:
        (site / "minigrad").mkdir()
        shutil.copy2(STAND_IN, site / "minigrad" / "__init__.py")
    # what an installer has not compiled, no kernel could keep: it cannot write here
    compileall.compile_dir(site, quiet=2)
    for path in (folder, *folder.rglob("*")):  # for a user who is not the one that made it
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    return folder


def contents(*, engine: bool, packages: tuple[str, ...] = ()) -> str:
    """What would be in an image, as text: the same text, the same image."""
    found = _with_dependencies(("ipykernel", "numpy", *packages))
    said = [f"{name}=={each.version}" for name, each in sorted(found.items())]
    said.append(sys.version)
    ours = sorted(HERE.glob("*.py"))
    if engine:
        ours += sorted(HERE.parent.parent.rglob("*.py"))
    said += [hashlib.sha256(path.read_bytes()).hexdigest() for path in ours]
    return "\n".join([f"engine {engine}", *said])


def versions(packages: tuple[str, ...] = ()) -> dict[str, str]:
    """The versions of what matters for a grade."""
    wanted = {"ipykernel", "numpy", "nbval", "pytest", *packages}
    found = {"python": sys.version.split()[0]}
    for name in sorted(wanted):
        try:
            found[name] = distribution(name).version
        except PackageNotFoundError:
            continue
    return found


@cache
def _with_dependencies(names: tuple[str, ...]) -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found or name in LEFT_OUT:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError as error:
            raise NoSuchPackage(
                f"The package {name}, which kernels for grading need, is not installed. "
                f"To fix it, run  {sys.executable} -m pip install {name}"
            ) from error
        for text in found[name].requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def _top_level(found: Distribution) -> list[str]:
    tops = {file.parts[0] for file in found.files or []}
    return sorted(t for t in tops if t not in ("..", "__pycache__", "/"))


def _copy(source: Path, target: Path) -> None:
    if not source.exists():
        return
    if source.is_dir():
        shutil.copytree(source, target, ignore=UNNEEDED, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)
