"""The teaching kernel: "Python (minigrad)".

It is the normal Python kernel of the interpreter that installs it, started with the
extension loaded. So a course's notebooks do not need `%load_ext minigrad` in their first cell.

    install_kernel     write the kernelspec where Jupyter looks for it
    remove_kernel      remove it, and the folders that only it needed
    temporary_kernel   provide it to the Jupyter started by this process, and leave nothing on disk

A kernelspec is a folder with a kernel.json and a logo; the folder's name is the kernel's name.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NAME = "minigrad"
DISPLAY_NAME = "Python (minigrad)"

# Two nodes, and the edges down and back up; the colors are those of the tape's pictures.
LOGO = Path(__file__).parent / "static" / "logo.svg"


class KernelError(RuntimeError):
    """The kernelspec could not be written or removed; the message says where and why."""


def spec() -> dict[str, Any]:
    """The content of kernel.json: that of the installed ipykernel, with our name and our extension."""
    try:
        from ipykernel.kernelspec import get_kernel_dict
    except ImportError as error:
        raise KernelError(
            "The kernel runs in ipykernel, which is not installed. To fix it:  pip install ipykernel"
        ) from error
    loads_us = f"--InteractiveShellApp.extra_extensions={NAME}"
    return get_kernel_dict(extra_arguments=[loads_us]) | {"display_name": DISPLAY_NAME}


def folder(user: bool = False, prefix: str | Path | None = None) -> Path:
    """The folder for the kernelspec: in the user's folder, an installation, or this environment."""
    if user and prefix is not None:
        raise KernelError("Use either --user or --prefix, not both.")
    if user:
        from jupyter_core.paths import jupyter_data_dir

        return Path(jupyter_data_dir(), "kernels", NAME)
    return Path(sys.prefix if prefix is None else prefix, "share", "jupyter", "kernels", NAME)


def write_spec(place: Path) -> Path:
    """Write the kernelspec to this folder, replacing an older one."""
    text = json.dumps(spec(), indent=1) + "\n"
    try:
        place.mkdir(parents=True, exist_ok=True)
        (place / "kernel.json").write_text(text, encoding="utf-8")
        shutil.copyfile(LOGO, place / "logo-svg.svg")
    except OSError as error:
        raise KernelError(
            f"The kernel cannot be written to {place}: {error.strerror or error}. "
            "To fix it, install it for yourself:  minigrad kernel install --user"
        ) from error
    return place


def install_kernel(user: bool = False, prefix: str | Path | None = None) -> Path:
    """Install the kernelspec; return its folder.

    user      for this user, in Jupyter's data folder
    prefix    for the Jupyter of that installation, in PREFIX/share/jupyter/kernels

    By default it is installed into the environment of this interpreter. Raises KernelError if
    the folder cannot be written.
    """
    return write_spec(folder(user, prefix))


def is_found(place: Path) -> bool:
    """Does the Jupyter of this environment find the kernelspec there?"""
    from jupyter_client.kernelspec import KernelSpecManager

    found = KernelSpecManager().find_kernel_specs().get(NAME)
    return found is not None and Path(found).resolve() == place.resolve()


def remove_kernel(user: bool = False, prefix: str | Path | None = None) -> list[Path]:
    """Remove the kernelspec; return the folders that were removed.

    By default, looks in both usual places: the user's and this environment's. Parent folders
    are also removed if they are empty afterwards.

    Raises KernelError if there is no kernelspec, or if it cannot be removed.
    """
    places = [folder(user, prefix)] if user or prefix is not None else [folder(), folder(user=True)]
    installed = [place for place in dict.fromkeys(places) if (place / "kernel.json").is_file()]
    if not installed:
        looked = " or ".join(str(place) for place in dict.fromkeys(places))
        raise KernelError(f'There is no kernel "{DISPLAY_NAME}" to remove: it is not in {looked}.')
    for place in installed:
        try:
            shutil.rmtree(place)
        except OSError as error:
            why = f"The kernel in {place} cannot be removed: {error.strerror or error}."
            raise KernelError(why) from error
        # kernels, jupyter, and for an installation also share
        with suppress(OSError):  # until one is not empty: others use it too
            for above in place.parents[: 2 if place == folder(user=True) else 3]:
                above.rmdir()
    return installed


# By default, JupyterLab asks each new user about news, covering the first lesson, and checks for
# updates. These are only defaults: they do not override the user's own settings.
QUIET = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}
}


@contextmanager
def temporary_kernel() -> Iterator[None]:
    """Within this block, Jupyter started from this process has the kernel, and does not ask about news.

    Both are in a temporary folder that is deleted afterwards; no user settings are changed.
    """
    names = ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH")
    before = {name: os.environ.get(name) for name in names}
    with tempfile.TemporaryDirectory(prefix="minigrad-jupyter-") as place:
        write_spec(Path(place, "kernels", NAME))
        quiet = Path(place, "labconfig", "default_setting_overrides.json")
        quiet.parent.mkdir()
        quiet.write_text(json.dumps(QUIET), encoding="utf-8")
        for name, value in before.items():
            os.environ[name] = os.pathsep.join(filter(None, (place, value)))
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                os.environ |= {} if value is None else {name: value}
