"""minigrad in Jupyter: `%load_ext minigrad`.

What is imported here is imported late: `import minigrad` alone must not import IPython.
"""

from __future__ import annotations

from typing import Any

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(ipython: Any) -> None:
    """Add the magics, and let errors name the learner's lines. Loading twice does no harm."""
    from minigrad.jupyter.magics import AutogradMagics
    from minigrad.modes import trace_lines
    from minigrad.tape.record import reset_counter

    reset_counter()
    trace_lines(True)
    ipython.register_magics(AutogradMagics)


def unload_ipython_extension(ipython: Any) -> None:
    """Take the magics away again, and stop tracing lines."""
    from minigrad.jupyter.magics import AutogradMagics
    from minigrad.modes import trace_lines

    trace_lines(False)
    for kind, names in AutogradMagics.magics.items():
        for name in names:
            ipython.magics_manager.magics[kind].pop(name, None)
    ipython.magics_manager.registry.pop(AutogradMagics.__name__, None)
