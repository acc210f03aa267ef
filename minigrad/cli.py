"""The command line: minigrad lab | demo | kernel | strip | release.

Each command is a short function here, which reports what it did; other modules do the work.
Only this module imports Typer and Rich, so `import minigrad` needs only NumPy.
"""

import importlib.util
import io
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

from minigrad.version import __version__

GRADING = ("release", "record", "judge", "grade", "mark", "course", "export", "doctor")


class Commands(TyperGroup):
    """The commands here and those of grading/commands.py, which takes half a second to import."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, without importing grading."""
        return list(dict.fromkeys([*super().list_commands(ctx), *GRADING]))

    def get_command(self, ctx: Any, name: str) -> Any:
        """The command with this name; grading is imported for its own commands, and for a misspelled one."""
        if name not in self.commands:
            from minigrad.grading.commands import app as grading

            self.commands.update(typer.main.get_group(grading).commands)
        return super().get_command(ctx, name)


app = typer.Typer(
    cls=Commands,
    help="A small autograd engine to read, to step through, and to learn from.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def main() -> None:
    """The entry point of the `minigrad` command.

    SIGTERM, and SIGHUP from a terminal that is closed, stop it as Ctrl-C does, so that it removes its temporary files.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that its encoding lacks ends no command
            stream.reconfigure(errors="replace")
    app()


def _interrupt(*signalled: object) -> NoReturn:
    raise KeyboardInterrupt


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"minigrad {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


@app.command()
def lab(
    folder: Annotated[Path, typer.Argument(help="The folder for your copy of the lessons.")] = Path(
        "minigrad-lessons"
    ),
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser window.")
    ] = True,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="The port to serve on. It must be free.")
    ] = None,
) -> None:
    """Open your own copy of the lessons in JupyterLab.

    Files that you have changed are never overwritten. The others are updated when minigrad is updated.
    """
    from minigrad.grading.lessons import NoLessons, copy_lessons, first_lesson, trust

    if importlib.util.find_spec("jupyterlab") is None:
        _stop(
            "JupyterLab is not installed here. To fix it, run\n"
            f'    {sys.executable} -m pip install "minigrad-jupyter[lab]"'
        )
    try:
        copied = copy_lessons(folder)
    except NoLessons as error:
        _stop(f"{error} To fix it, install it again, or run this command in a clone.")
    except OSError as error:
        _stop(
            f"The lessons cannot be written to {folder}: {error.strerror or error}. "
            "To fix it, choose another folder:  minigrad lab FOLDER"
        )
    trust(folder / name for name in copied.written)
    console = Console(stderr=True)
    console.print(f"Your lessons are in {folder.resolve()}", highlight=False, soft_wrap=True)
    if copied.kept:
        console.print(f"Your changes were kept in {', '.join(copied.kept)}", highlight=False)
    console.print("JupyterLab is starting. To stop it, press Ctrl-C here twice.")
    sys.exit(_serve(folder.resolve(), first_lesson(folder), browser, port))


def _serve(folder: Path, lesson: str | None, browser: bool, port: int | None) -> int:
    """Run JupyterLab in this process, so that Ctrl-C and signals reach it directly."""
    from jupyter_client.manager import KernelManager
    from jupyterlab.labapp import LabApp

    from minigrad.jupyter import kernel

    argv = [
        f"--ServerApp.root_dir={folder}",
        f"--MultiKernelManager.default_kernel_name={kernel.NAME}",  # of new notebooks
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--log-level=WARN",
        "--LabApp.log_level=WARN",
    ]
    if hasattr(KernelManager, "transport_encryption"):  # otherwise each kernel warns that it is off
        argv.append("--KernelManager.transport_encryption=auto")
    if lesson is not None:
        argv.append(f"--LabApp.default_url=/lab/tree/{lesson}")
    if not browser:
        argv.append("--no-browser")
    if port is not None:
        argv += [f"--port={port}", "--ServerApp.port_retries=0"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        argv.append("--allow-root")  # in a container, root is often the only user
    # Jupyter Server gives these times in milliseconds to a Tornado that counts in seconds, and corrects them.
    logging.getLogger("tornado.general").addFilter(
        lambda record: "websocket_ping_timeout" not in record.getMessage()
    )
    os.chdir(folder)
    with kernel.temporary_kernel():
        return LabApp.launch_instance(argv) or 0


kernels = typer.Typer(
    help='Add or remove the kernel "Python (minigrad)", which loads the magics automatically.',
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.add_typer(kernels, name="kernel")

User = Annotated[
    bool, typer.Option("--user", help="Install for this user, in Jupyter's data folder.")
]
Prefix = Annotated[
    Path | None,
    typer.Option("--prefix", help="Install for the Jupyter at PREFIX, in PREFIX/share/jupyter."),
]


@kernels.command("install")
def kernel_install(user: User = False, prefix: Prefix = None) -> None:
    """Add the kernel to Jupyter; by default, to the Jupyter of this Python environment.

    Notebooks that use it need no %load_ext: the magics work from the first cell.
    """
    from minigrad.jupyter import kernel

    try:
        place = kernel.install_kernel(user, prefix)
    except kernel.KernelError as error:
        _stop(str(error))
    typer.echo(f'installed the kernel "{kernel.DISPLAY_NAME}" in {place}')
    if not kernel.is_found(place):
        typer.echo(
            "The Jupyter of this environment does not look there: start the one that does, or set "
            f"JUPYTER_PATH={place.parent.parent}"
        )


@kernels.command("remove")
def kernel_remove(user: User = False, prefix: Prefix = None) -> None:
    """Remove the kernel from wherever it was installed."""
    from minigrad.jupyter import kernel

    try:
        for place in kernel.remove_kernel(user, prefix):
            typer.echo(f'removed the kernel "{kernel.DISPLAY_NAME}" from {place}')
    except kernel.KernelError as error:
        _stop(str(error))


@app.command()
def strip(
    notebooks: Annotated[list[Path], typer.Argument(help="The notebooks to strip, in place.")],
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if there is something to strip.")
    ] = False,
) -> None:
    """Remove widgets, which need a running kernel, from notebooks, and keep their pictures.

    The text next to a widget stays as well. Stripping again changes nothing.
    """
    from minigrad.jupyter.strip import StripError, strip_file

    found = []
    for path in notebooks:
        try:
            changes = strip_file(path, check=check)
        except StripError as error:
            _stop(str(error))
        if changes:
            found.append(str(path))
            typer.echo(f"{path}: {'to strip: ' if check else ''}{', '.join(changes)}")
    if check and found:
        _stop(f"To fix it, run  minigrad strip {' '.join(found)}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML page to write.")] = Path(
        "minigrad-demo.html"
    ),
) -> None:
    """Run the example of lesson 1 in the terminal, step by step, and write its tape as an HTML page.

    You see the chain of nodes behind z, each step of the backward pass with the nodes that are ready and
    those that are still waiting, and gradients derived by hand next to the tape's.
    """
    from minigrad.teach.demo import show_demo

    if out.suffix.lower() not in (".html", ".htm"):
        _stop(f"The name of the page must end in .html, but {out} does not.")
    console = Console()
    tape = show_demo(console)
    try:
        tape.save(out)
    except OSError as error:
        _stop(
            f"The page cannot be written to {out}: {error.strerror or error}. "
            "To fix it, choose another file:  minigrad demo --out PAGE.html"
        )
    console.print(f"The picture of the tape is in {out.resolve()}", highlight=False, soft_wrap=True)


def _stop(message: str) -> NoReturn:
    """Exit with status 1 and a message that says what to do."""
    typer.echo(message, err=True)
    raise typer.Exit(1)


if __name__ == "__main__":
    main()
