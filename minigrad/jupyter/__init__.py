"""minigrad in Jupyter: `%load_ext minigrad`.

    extension.py          what %load_ext does
    magics.py             %%autograd, %tape, %chain, %compare, %gradcheck
    check_magic.py        %%check, %progress: exercises
    progress_widget.py    the panel that %progress shows
    lines.py              the words on their lines, and what is wrong with them
    gradient_report.py    what %gradcheck returns
    completion.py         the names that Tab offers on their lines
    tracebacks.py         errors that end on the user's line
    display.py            minigrad.display: as a widget, a picture, a table?
    tensor_html.py        a tensor as the value of a cell
    show.py               what a tape or a program shows
    live.py               a widget beside its picture
    widget.py             the tape inspector
    kernel.py             the kernel "Python (minigrad)", in which all of this is loaded
    strip.py              a notebook without what only a running kernel can show

What is imported here is imported late: `import minigrad` alone must not import IPython.
"""

from typing import Any

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(ipython: Any) -> None:
    """Add the magics, and let errors name the user's lines. Loading twice does no harm."""
    from minigrad.jupyter import extension

    extension.load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Take all of it away again, and stop tracing lines."""
    from minigrad.jupyter import extension

    extension.unload(ipython)
