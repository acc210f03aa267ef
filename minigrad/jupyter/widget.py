"""The widget: the live inspector in a notebook.

    inspector_of(tape)    the widget of a tape or a static program; the same one each time, so
                          that all its views agree

Stepping happens in the browser (static/inspector/), from the tape's document. Between the
browser and Python we only send

    doc        the document, once, and again if more was recorded
    step       the current step               selected    the id of the selected node
    ask        a question from the user       answer      the answer to it

A question is an expression for a hand-derived gradient. It is evaluated here, in the
user's own kernel, as the user's own code; nothing from a saved notebook is ever evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

import minigrad
from minigrad.core.modes import no_grad, unobserved
from minigrad.jupyter.live import Live
from minigrad.tape.check import check_leaf
from minigrad.tape.differences import differences_of_leaf
from minigrad.tape.document import packed
from minigrad.tape.inspectable import Inspectable
from minigrad.tape.page import json_in_html
from minigrad.tape.record import Tape


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
        super().__init__(
            "inspector", doc=json_in_html(packed(tape.shown())), step=step, selected=selected
        )
        self._recorded = tape._edition()

    def refresh(self) -> None:
        """Send the document again if more was recorded since."""
        recorded = self._tape._edition()
        if self._recorded != recorded:
            self._recorded = recorded
            self.doc = json_in_html(packed(self._tape.shown()))

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
        if not question:
            return
        reply = {"id": question.get("id"), "kind": question.get("kind")}
        if question.get("kind") == "html":
            self.answer = reply | {"text": tape.html()}
        elif question.get("kind") in ANSWERS and isinstance(tape, Tape):
            answered = ANSWERS[question["kind"]]
            try:
                ok, text = answered(tape, str(question.get("leaf")), str(question.get("text")))
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
    row = check_leaf(tape._recorder, leaf, evaluated(tape, text))
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
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        return dict(shell.user_ns)
    recorder = tape._recorder
    found: dict[str, Any] = {"minigrad": minigrad}
    for number, name in recorder.names.items():
        tensor = recorder.alive(number)
        if tensor is not None:
            found[name] = tensor
    return found
