"""Copy the packages that a student's kernel may import to a separate folder, the image.

A kernel gets NumPy, ipykernel and their dependencies, no other autograd package, and the engine only
if the question allows it. So only selected packages are copied, rather than exposing all installed
packages and hiding some. They are copies, not links, because a kernel without a sandbox could write
through a link. Copying takes longer than running a submission, so images are kept in the user's cache folder.

Without the engine, `import minigrad` imports a stand-in: see stand_in.py. So does `import tqdm`, if no question needs
it: see progress.py.
"""

import atexit
import compileall
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(__file__).parent
MONTH = 30 * 24 * 3600.0
# The grader's folder of temporary images, for a recorder process.
TEMPORARY = "MINIGRAD_TEMPORARY_IMAGES"
LEFT_OUT = {"debugpy", "jedi", "parso"}  # ipykernel and IPython do without them
UNNEEDED = shutil.ignore_patterns("tests", "*.pyi", "*.lib", "*.h")
STAND_IN = HERE / "stand_in.py"
PROGRESS = HERE / "progress.py"


class NoSuchPackage(RuntimeError):
    """A package that a question or a kernel needs is not installed here."""


def build_image(folder: Path, *, engine: bool, packages: tuple[str, ...] = ()) -> Path:
    """Fill a new folder with the packages that a kernel may import, and return it.

    Raises NoSuchPackage if one is not installed.
    """
    site = folder / "site"
    site.mkdir(parents=True)
    (folder / "empty").mkdir()  # mounted over folders that must be hidden
    for name in ("boot.py", "lockdown.py"):
        shutil.copy2(HERE / name, folder / name)
    for found in _with_dependencies(("ipykernel", "numpy", *packages)).values():
        for top in {file.parts[0] for file in found.files or []} - {"..", "__pycache__", "/"}:
            source = Path(str(found.locate_file(top)))
            if source.is_dir():
                shutil.copytree(source, site / top, ignore=UNNEEDED, dirs_exist_ok=True)
            elif source.exists():
                shutil.copy2(source, site / top)
    if engine:
        package = HERE.parent.parent
        shutil.copytree(package, site / "minigrad", ignore=shutil.ignore_patterns("grading"))
    else:
        (site / "minigrad").mkdir()
        shutil.copy2(STAND_IN, site / "minigrad" / "__init__.py")
    if not (site / "tqdm").exists():
        (site / "tqdm").mkdir()
        for name in ("__init__", "auto", "autonotebook", "notebook", "std"):
            shutil.copy2(PROGRESS, site / "tqdm" / f"{name}.py")
    # compile now, since kernels cannot write .pyc files here
    compileall.compile_dir(site, quiet=2)
    for path in (folder, *folder.rglob("*")):  # kernels may run as another user
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    return folder


def contents(*, engine: bool, packages: tuple[str, ...] = ()) -> str:
    """Describe an image's content as text: equal texts mean equal images."""
    found = _with_dependencies(("ipykernel", "numpy", *packages))
    lines = [f"{name}=={each.version}" for name, each in sorted(found.items())]
    lines.append(sys.version)
    ours = sorted(HERE.glob("*.py"))
    if engine:
        ours += sorted(HERE.parent.parent.rglob("*.py"))
    lines += [hashlib.sha256(path.read_bytes()).hexdigest() for path in ours]
    return "\n".join([f"engine {engine}", *lines])


def versions(packages: tuple[str, ...] = ()) -> dict[str, str]:
    """The versions of Python and of the packages that may affect a grade."""
    wanted = {"ipykernel", "numpy", "nbval", "pytest", *packages}
    found = {"python": sys.version.split()[0]}
    for name in sorted(wanted):
        with suppress(PackageNotFoundError):
            found[name] = distribution(name).version
    return found


def cached_image(engine: bool, packages: tuple[str, ...] = (), keep: bool = True) -> Path:
    """The folder of an image in the user's cache, by a hash of its content. It is built if needed.

    keep    False: a temporary image, for student code without isolation, which could modify a cached one
    """
    parent = _cache_folder() if keep else _temporary_folder()
    name = hashlib.sha256(contents(engine=engine, packages=packages).encode()).hexdigest()[:24]
    target = parent / f"kernel-{name}"
    if target.exists():
        os.utime(target)  # it is in use: see _remove_old_images
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


def temporary_images() -> dict[str, str]:
    """An environment variable that tells a recorder process where this process's temporary images are."""
    return {TEMPORARY: str(_temporary_folder())}


@cache
def _temporary_folder() -> Path:
    """A folder for images that are removed with this process, or with the grader that started it.

    A recorder process is killed, so it could not remove images of its own.
    """
    if of_the_grader := os.environ.get(TEMPORARY):
        return Path(of_the_grader)
    folder = Path(tempfile.mkdtemp(prefix="mg-images-"))
    folder.chmod(0o755)  # kernels may run as another user
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _remove_old_images(parent: Path) -> None:
    """Remove images that have not been used for a month."""
    for old in (*parent.glob("kernel-*"), *parent.glob(".making-*")):
        if old.is_dir() and not old.is_symlink() and time.time() - old.stat().st_mtime > MONTH:
            shutil.rmtree(old, ignore_errors=True)


def _cache_folder() -> Path:
    """The user's cache folder; a temporary one if there is none, or if it cannot be written to."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "minigrad"
    if folder.is_absolute():  # for a user without an account, "~" stays as it is
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return _temporary_folder()


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
