"""minigrad in Jupyter: `%load_ext minigrad`.

    magics.py             %%autograd, %tape, %chain, %compare, %gradcheck
    check_magic.py        %%check, %progress: exercises
    progress_widget.py    the panel that %progress shows
    lines.py              the words on their lines, and what is wrong with them
    gradient_report.py    what %gradcheck returns
    completion.py         the names that Tab offers on their lines
    tracebacks.py         errors that end on the learner's line
    display.py            minigrad.display: as a widget, a picture, a table?
    tensor_html.py        a tensor as the value of a cell
    show.py               what a tape or a program shows
    live.py               a widget beside its picture
    widget.py             the tape inspector
    kernel.py             the kernel "Python (minigrad)", in which all of this is loaded
    strip.py              a notebook without what only a running kernel can show

What is imported here is imported late: `import minigrad` alone must not import IPython.
"""

from __future__ import annotations

from typing import Any

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_matchers: dict[int, Any] = {}  # of each shell that has loaded the extension, by its id


def load_ipython_extension(ipython: Any) -> None:
    """Add the magics, and let errors name the learner's lines. Loading twice does no harm."""
    from minigrad.core.modes import trace_lines
    from minigrad.jupyter import completion, tracebacks
    from minigrad.jupyter.check_magic import CheckMagics
    from minigrad.jupyter.magics import AutogradMagics
    from minigrad.tape.record import reset_counter

    if id(ipython) in _matchers:
        unload_ipython_extension(ipython)
    reset_counter()
    trace_lines(True)
    ipython.register_magics(AutogradMagics, CheckMagics)
    tracebacks.install(ipython)
    _matchers[id(ipython)] = completion.install(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Take all of it away again, and stop tracing lines."""
    from minigrad.core.modes import trace_lines
    from minigrad.jupyter import completion, tracebacks
    from minigrad.jupyter.check_magic import CheckMagics
    from minigrad.jupyter.magics import AutogradMagics

    trace_lines(False)
    tracebacks.remove(ipython)
    completion.remove(ipython, _matchers.pop(id(ipython), None))
    manager = ipython.magics_manager
    for magics in (AutogradMagics, CheckMagics):
        for kind, names in magics.magics.items():
            for name in names:
                manager.magics[kind].pop(name, None)
        manager.registry.pop(magics.__name__, None)
