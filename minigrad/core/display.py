"""Displaying tensors and tapes in a notebook, for modules that must not import the notebook code.

`minigrad.jupyter` registers its functions here, in the same way as IPython's formatters are
registered. It is loaded when something is first shown.

    tensor_html(x)     a tensor as HTML, or None where only text is wanted
    bundle(tape)       the pictures of a tape or a program, by MIME type
    view(what)         the widget, as one more entry in a bundle
    show_widget(what)  shows the widget, where widgets can run
    card(report)       shows a report, if this runs in a notebook; returns whether it did
    mode()             the current display mode: "widget", "html", "svg", "png" or "text"
"""

from collections.abc import Callable
from typing import Any

_registered: dict[str, Callable[..., Any]] = {}


def register(**functions: Callable[..., Any]) -> None:
    """Register functions under the names above; and `load`, which imports the module that registers them."""
    _registered.update(functions)


def shown_by(name: str) -> Callable[..., Any]:
    """The function registered under this name."""
    if name not in _registered:
        _registered["load"]()
    return _registered[name]
