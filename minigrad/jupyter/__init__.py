"""minigrad in Jupyter: `%load_ext minigrad`.

    extension.py          loads and unloads the extension
    magics.py             %%autograd, %tape, %chain, %compare, %gradcheck
    check_magic.py        %%check, %progress: exercises
    lines.py              parses the line of a magic, and explains errors in it
    gradient_report.py    what %gradcheck returns
    completion.py         the names that Tab offers on a magic's line
    tracebacks.py         errors that end on the user's line
    display.py            minigrad.display: widget, picture, or table?
    tensor_html.py        the HTML of a tensor as the value of a cell
    show.py               the output of a tape or a static program
    widgets.py            widgets, and the tape inspector
    progress_panel.py     the panel that %progress shows
    kernel.py             the kernel "Python (minigrad)", which loads all of this at startup
    strip.py              removes outputs from a notebook that need a running kernel

Imports here are inside functions, because `import minigrad` alone must not import IPython.
"""

from typing import Any

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(ipython: Any) -> None:
    """Add the magics, and make errors name the user's lines. Loading twice is harmless."""
    from minigrad.jupyter import extension

    extension.load_extension(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Undo load_ipython_extension, and stop tracing lines."""
    from minigrad.jupyter import extension

    extension.unload_extension(ipython)
