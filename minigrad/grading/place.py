"""Where students' code runs on this machine: a tier that holds, and the packages it may see.

Images are kept in the user's cache, by what is in them, since they take longer to copy than a
submission takes to run. Without isolation a student's code could change such an image for
the next one; then a new one is made each time, and thrown away.
"""

import atexit
import hashlib
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from minigrad.grading.record import Place
from minigrad.grading.sandbox.image import build_image, contents, versions
from minigrad.grading.sandbox.selftest import choose


@cache
def place_here(
    isolation: str = "auto", engine: bool = False, packages: tuple[str, ...] = ()
) -> Place:
    """The place for exercises that need these packages, and the engine for some questions.

    Raises NoSandbox if the isolation that is wanted does not hold here.
    """
    keep = isolation != "none"
    images = {False: image(False, packages, keep)}
    if engine:
        images[True] = image(True, packages, keep)
    return Place(choose(images[False], isolation).tier, images, versions(packages))


def image(engine: bool, packages: tuple[str, ...] = (), keep: bool = True) -> Path:
    """The image in the cache, made if it is not there yet."""
    parent = _cache() if keep else None
    if parent is None:
        folder = Path(tempfile.mkdtemp(prefix="mg-image-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return build_image(folder / "image", engine=engine, packages=packages)
    name = hashlib.sha256(contents(engine=engine, packages=packages).encode()).hexdigest()[:24]
    target = parent / f"kernel-{name}"
    if not target.exists():
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


def _cache() -> Path | None:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "minigrad"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
