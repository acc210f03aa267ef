"""Widgets: what all have in common, and the inspector of a tape or a static program.

    Live                  a widget with a script from static/, shown next to a picture
    widget.show_beside()  shows it; the next output is the picture
    inspector_of(tape)    the inspector, the same one each time

All views of a widget agree. A notebook lives longer than its kernel, but a widget does not: when the
notebook is opened again, a widget output only shows "model not found". So we put into the notebook an
empty element with the widget's key, and the picture. If the widget is running, static/live.js draws it
in the element and hides the picture; otherwise only the picture is visible. If a cell runs again, the
widgets that it showed are closed, and their tapes are released.

Stepping through a tape happens in the browser (static/inspector/), from the tape's document. Between
the browser and Python, the inspector only sends

    doc        the document, once, and again if more was recorded
    step       the current step               selected    the id of the selected node
    ask        a question from the user       answer      the answer to it

A question is an expression for a hand-derived gradient. It is evaluated here, in the user's own kernel,
as the user's own code; nothing from a saved notebook is ever evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import anywidget
import ipywidgets
import traitlets
from IPython.display import display

import minigrad
from minigrad.core.modes import no_grad, unobserved
from minigrad.jupyter.display import cell_id, shell, takes_views
from minigrad.tape.check import check_leaf, differences_of_leaf
from minigrad.tape.document import packed
from minigrad.tape.inspectable import Inspectable
from minigrad.tape.record import Tape
from minigrad.tape.render import page
from minigrad.teach.compare import mistake_on


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
    _esm = page.static_file("live.js")
    key = traitlets.Unicode().tag(sync=True)
    script = traitlets.Instance(Script).tag(sync=True, **ipywidgets.widget_serialization)

    def __init__(self, name: str, **state: Any) -> None:
        key = uuid4().hex
        super().__init__(model_id=key, key=key, script=_script(name), **state)

    def close(self) -> None:
        """Close the widget in the kernel and in the browser, which then shows the picture again."""
        self.layout.close()
        super().close()

    def show_beside(self) -> None:
        """Show the widget in the running cell, as a separate output."""
        here, cell = shell(), cell_id()
        if here not in _watched:
            _watched.append(here)
            here.events.register("pre_run_cell", _close_previous)
        shown = _shown.setdefault(cell, [])
        if self not in shown:
            shown.append(self)
        if not takes_views():
            element = f'{page.ELEMENT}{self.key}"></minigrad-live>'
            display({"text/html": element, "text/plain": ""}, raw=True)

    def view(self) -> dict[str, Any]:
        """The output for front ends that have their own way to show widgets."""
        return {page.VIEW: {"version_major": 2, "version_minor": 0, "model_id": self.key}}


def _script(name: str) -> Script:
    script = _scripts.get(name)
    if script is None or script.comm is None:
        if name == "inspector":
            code = page.script() + "\nexport default { render };\n"
        else:
            code = page.static_file(f"{name}.js")
        script = _scripts[name] = Script(code=code, style=page.static_file(f"{name}.css"))
    return script


def _close_previous(info: Any) -> None:
    """Close the widgets that the cell showed before, unless another cell also shows them."""
    if cell := cell_id():
        for widget in _shown.pop(cell, []):
            if not any(widget in others for others in _shown.values()):
                widget.close()


class Inspector(Live):
    """The inspector of one tape. Its traits are synchronized with all its views."""

    doc = traitlets.Unicode("{}").tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    selected = traitlets.Unicode("").tag(sync=True)
    ask = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)

    def __init__(self, tape: Inspectable) -> None:
        self._tape = tape
        step, selected = tape._step or 0, tape._selected or ""
        written = page.json_in_html(packed(tape.shown()))
        super().__init__("inspector", doc=written, step=step, selected=selected)
        self._recorded = tape._edition()

    def refresh(self) -> None:
        """Send the document again if more was recorded since."""
        recorded = self._tape._edition()
        if self._recorded != recorded:
            self._recorded = recorded
            self.doc = page.json_in_html(packed(self._tape.shown()))

    def close(self) -> None:
        """Release the tape. If it is shown again, it gets a new widget."""
        if self._tape._widget is self:
            self._tape._widget = None
        super().close()

    @traitlets.observe("step")
    def _stepped(self, change: Any) -> None:
        self._tape._moved(change.new)

    @traitlets.observe("selected")
    def _was_selected(self, change: Any) -> None:
        self._tape._selected = change.new or None

    @traitlets.observe("ask")
    def _asked(self, change: Any) -> None:
        tape, question = self._tape, change.new
        kind = question.get("kind")
        reply = {"id": question.get("id"), "kind": kind}
        if kind == "html":
            self.answer = reply | {"text": tape.html()}
        elif kind in ANSWERS and isinstance(tape, Tape):
            asked = str(question.get("leaf")), str(question.get("text"))
            try:
                ok, text = ANSWERS[kind](tape, *asked)
            except SyntaxError as error:
                ok, text = False, f"{question.get('text')} is not a valid expression: {error.msg}."
            except Exception as error:  # any error in the user's expression is the answer
                ok, text = False, f"{type(error).__name__}: {error}"
            self.answer = reply | {"ok": ok, "text": text}

    def __repr__(self) -> str:
        return f"Inspector({self._tape.name!r})"


def inspector_of(tape: Inspectable) -> Inspector:
    """The widget of this tape, made on first use."""
    if tape._widget is None:
        tape._widget = Inspector(tape)
    tape._widget.refresh()
    return tape._widget


def check_answer(tape: Tape, leaf: str, text: str) -> tuple[bool, str]:
    """Evaluate the user's expression in their namespace and compare it with the tape."""
    mine = evaluated(tape, text)
    row = check_leaf(tape._recorder, leaf, mine)
    if not row.ok and (found := mistake_on(tape, leaf, mine, user_namespace(tape))) is not None:
        row = replace(row, hint=str(found))
    return row.ok, row.text()


def differences_answer(tape: Tape, leaf: str, text: str) -> tuple[bool, str]:
    """The central differences of a leaf, compared with the user's gradient if there is one."""
    found = differences_of_leaf(tape._recorder, leaf)
    mine = evaluated(tape, text) if text else None
    return found.agrees(mine), found.text(mine)


ANSWERS = {"check": check_answer, "differences": differences_answer}


def evaluated(tape: Tape, text: str) -> Any:
    """Evaluate the user's expression in their namespace."""
    with unobserved(), no_grad():
        return eval(text, dict(user_namespace(tape)))


def user_namespace(tape: Tape) -> Mapping[str, Any]:
    """The notebook's variables; outside of a notebook, the named tensors of the tape."""
    here, recorder = shell(), tape._recorder
    if here is not None:
        return here.user_ns
    named = {name: recorder.alive(number) for number, name in recorder.names.items()}
    return {"minigrad": minigrad, **{n: x for n, x in named.items() if x is not None}}
