"""Widgets that are shown next to a picture.

    Live                 a widget with a script from static/: the inspector, the progress panel
    show_beside(widget)  shows it; the next output is the picture

A notebook lives longer than its kernel, but a widget does not: when the notebook is opened again,
a widget output only shows "model not found". So we put into the notebook an empty element
with the widget's key, and the picture. If the widget is running, static/live.js draws it in
the element and hides the picture; otherwise only the picture is visible.

If a cell runs again, the widgets that it showed are closed, and their tapes are released.
"""

from __future__ import annotations

import sys
from typing import Any
from uuid import uuid4

import anywidget
import ipywidgets
import traitlets
from IPython.display import display

from minigrad.jupyter.display import shell
from minigrad.tape import script as inspector
from minigrad.tape.outputs import ELEMENT, VIEW
from minigrad.tape.script import STATIC


class Script(ipywidgets.Widget):  # type: ignore[misc]
    """A script and its style, shared by all widgets that use it."""

    code = traitlets.Unicode().tag(sync=True)
    style = traitlets.Unicode().tag(sync=True)


_scripts: dict[str, Script] = {}
_shown: dict[str, list[Live]] = {}  # the widgets that each cell shows, by the cell's id
_watched: list[Any] = []  # the shells that tell us when a cell runs


class Live(anywidget.AnyWidget):
    """A widget that static/NAME.js and .css draw in its element."""

    # the text, not the path: given a path, anywidget keeps every widget alive
    _esm = (STATIC / "live.js").read_text("utf-8")
    key = traitlets.Unicode().tag(sync=True)
    script = traitlets.Instance(Script).tag(sync=True, **ipywidgets.widget_serialization)

    def __init__(self, name: str, **state: Any) -> None:
        key = uuid4().hex
        super().__init__(model_id=key, key=key, script=_script(name), **state)

    def close(self) -> None:
        """Close the widget in the kernel and in the browser, which then shows the picture again."""
        self.layout.close()
        super().close()

    def view(self) -> dict[str, Any]:
        """The output for front ends that have their own way to show widgets."""
        return {VIEW: {"version_major": 2, "version_minor": 0, "model_id": self.key}}


def _script(name: str) -> Script:
    script = _scripts.get(name)
    if script is None or script.comm is None:
        if name == "inspector":
            code, style = inspector.script() + "\nexport default { render };\n", inspector.style()
        else:
            code, style = ((STATIC / f"{name}.{kind}").read_text("utf-8") for kind in ("js", "css"))
        script = _scripts[name] = Script(code=code, style=style)
    return script


def show_beside(widget: Live) -> None:
    """Show the widget in the running cell, as a separate output."""
    here = shell()
    if here not in _watched:
        _watched.append(here)
        here.events.register("pre_run_cell", _close_previous)
    shown = _shown.setdefault(_cell_id(), [])
    if widget not in shown:
        shown.append(widget)
    if not takes_views():
        element = f'{ELEMENT}{widget.key}"></minigrad-live>'
        display({"text/html": element, "text/plain": ""}, raw=True)


def takes_views() -> bool:
    """Is this VS Code or Colab? They start widgets only for widget outputs."""
    return _cell_id().startswith("vscode") or "google.colab" in sys.modules


def _cell_id() -> str:
    """The id of the running cell; "" if the front end does not send it."""
    header: dict[str, Any] = getattr(shell(), "get_parent", dict)() or {}
    return str(header.get("metadata", {}).get("cellId") or "")


def _close_previous(info: Any) -> None:
    """Close the widgets that the cell showed before, unless another cell also shows them."""
    if _cell_id():
        for widget in _shown.pop(_cell_id(), []):
            if not any(widget in others for others in _shown.values()):
                widget.close()
