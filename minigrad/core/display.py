"""How a notebook shows tensors and tapes, for rooms that know no notebooks.

`minigrad.jupyter` stands above them and registers here what it can do, as IPython's formatters
are registered. It is loaded when something is first shown.

    tensor_html(x)    a tensor as HTML, or None where text alone is wanted
    bundle(tape)      the pictures of a tape, a program, by their MIME types
    view(what)        the widget as one more form in a bundle
    come_alive(what)  shows the widget, where one can run
    mode()            the way to show things now: "widget", "html", "svg" or "text"
"""

from collections.abc import Callable
from typing import Any

_registered: dict[str, Callable[..., Any]] = {}


def register(**functions: Callable[..., Any]) -> None:
    """Enter what can be shown, by the names above; and `load`, which imports what registers them."""
    _registered.update(functions)


def shown_by(name: str) -> Callable[..., Any]:
    """The function that was registered by this name."""
    if name not in _registered:
        _registered["load"]()
    return _registered[name]
