"""Load the extension into an IPython shell (`%load_ext minigrad`), and unload it."""

from typing import Any

from minigrad.core.modes import trace_lines
from minigrad.jupyter import completion, tensor_html, tracebacks
from minigrad.jupyter.check_magic import CheckMagics
from minigrad.jupyter.magics import AutogradMagics
from minigrad.tape.record import reset_counter

_matchers: dict[int, Any] = {}  # id of each shell that has loaded the extension -> its matcher


def load_extension(ipython: Any) -> None:
    """Add the magics, and make errors name the user's lines. Loading twice is harmless."""
    if id(ipython) in _matchers:
        unload_extension(ipython)
    reset_counter()
    trace_lines(True)
    ipython.register_magics(AutogradMagics, CheckMagics)
    tracebacks.shorten_tracebacks(ipython)
    _matchers[id(ipython)] = completion.add_matcher(ipython)
    # Registered by name, because PyTorch may be imported later or never.
    _html(ipython).for_type_by_name("torch", "Tensor", tensor_html.html_of)


def unload_extension(ipython: Any) -> None:
    """Undo load_extension, and stop tracing lines."""
    trace_lines(False)
    tracebacks.restore_tracebacks(ipython)
    _html(ipython).pop("torch.Tensor", None)
    completion.remove_matcher(ipython, _matchers.pop(id(ipython), None))
    manager = ipython.magics_manager
    for magics in (AutogradMagics, CheckMagics):
        for kind, names in magics.magics.items():
            for name in names:
                manager.magics[kind].pop(name, None)
        manager.registry.pop(magics.__name__, None)


def _html(ipython: Any) -> Any:
    return ipython.display_formatter.formatters["text/html"]
