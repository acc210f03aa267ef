"""The result of a check: a row for each thing that was checked, and the points of each part.

    CheckRow       one part of the answer in one case, with its verdict
    CheckResult    the rows; true if all of them are right
    ChecksFailed   the exception of a check cell, so that pytest and nbval count it as a failure

A *part* earns points: the gradient `dx`, the tangent `z_dot`, one entry of a prediction. It earns
them if it is right in every case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from minigrad.core.display import shown_by
from minigrad.teach.answer import Diagnosis
from minigrad.teach.report import Report, _plain, mark

Kind = Literal[
    "right",
    "wrong value",
    "wrong shape",
    "wrong type",
    "wrong answer",
    "error",
    "too slow",
    "changed input",
    "not written",
    "missing",
]
UNANSWERED = "missing", "not written"


@dataclass(frozen=True)
class CheckRow:
    """One part of the student's answer in one case.

    case       the number of the case; None if the answer could not be run
    inputs     the inputs' names and shapes
    what       the part: dx for the gradient of x; empty if the row is about the call
    verdict    "right", or the kind of mistake
    message    what is wrong, and where
    diagnosis  the known mistake that gives exactly this answer, if there is one
    values     the values of the inputs, if they are few and the verdict is not "right"
    line       the expression that the student wrote for this part, if it was found
    printed    what the student's code printed
    """

    case: int | None
    inputs: str
    what: str
    verdict: Kind
    message: str = ""
    diagnosis: Diagnosis | None = None
    values: str = field(default="", repr=False, compare=False)
    line: str = field(default="", repr=False, compare=False)
    printed: str = field(default="", repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Is the verdict "right"?"""
        return self.verdict == "right"

    @property
    def note(self) -> str:
        """The diagnosis and the part that it is about; empty if there is none."""
        return "" if self.diagnosis is None else self.diagnosis.about(self.what)

    def cells(self) -> tuple[str, ...]:
        """Case, inputs, part, verdict and message. The case is empty if the answer could not be run."""
        case = "" if self.case is None else str(self.case)
        return (case, self.inputs, self.what, self.verdict, self.message)


class CheckResult(Report[CheckRow]):
    """The rows of a check; true if all of them are right.

    name     the exercise
    points   the points that were earned, out of `out_of`
    parts    part -> the points that it is worth
    """

    def __init__(
        self,
        name: str,
        rows: Sequence[CheckRow],
        *,
        parts: Mapping[str, float] | None = None,
        column: str = "gradient",
        counted: str = "results",
        remarks: Sequence[str] = (),
    ) -> None:
        self.name, self.parts, self.remarks = name, dict(parts or {}), tuple(remarks)
        self.header = ("case", "inputs", column, "verdict", "")
        super().__init__(f"{name}: {_summary(rows, counted)}", rows)

    @property
    def ok(self) -> bool:
        """True if every row is right, and there is at least one."""
        return bool(self.rows) and super().ok

    @property
    def out_of(self) -> float:
        """The sum of all parts' points."""
        return sum(self.parts.values())

    @property
    def points(self) -> float:
        """The points of the parts that are right in every case."""
        spoiled = {row.what for row in self.rows if not row.ok}
        seen = {row.what for row in self.rows}
        if "" in spoiled:  # after an error or a changed input, no part counts
            return 0.0
        return sum(p for part, p in self.parts.items() if part in seen and part not in spoiled)

    @property
    def diagnoses(self) -> tuple[Diagnosis, ...]:
        """The mistakes that were recognized, at most one for each part."""
        return tuple(row.diagnosis for row in self.rows if row.diagnosis is not None)

    def or_raise(self) -> "CheckResult":
        """Return the result if all is right; otherwise raise ChecksFailed, which shows it."""
        if not self.ok:
            raise ChecksFailed(self)
        return self

    def _notes(self) -> list[str]:
        """The notes on the mistakes that were recognized, each once."""
        notes = {str(row.diagnosis): row.note for row in reversed(self.rows) if row.diagnosis}
        lines = [line for note in reversed(notes.values()) for line in note.splitlines()]
        return [_plain(line) for line in lines]

    def _html_table(self) -> str:
        """A line for each part: ✓, ✗ with the first wrong case, or … if there is no answer. A fold shows all cases."""
        lines = []
        for part in dict.fromkeys(row.what for row in self.rows):
            rows = [row for row in self.rows if row.what == part]
            wrong = [row for row in rows if not row.ok]
            if not wrong:
                text = "" if len(rows) == 1 else f"right in all {len(rows)} cases"
            else:
                first = wrong[0].message or wrong[0].verdict
                if not part and wrong[0].verdict not in ("error", *UNANSWERED):
                    first = f"{wrong[0].verdict}: {first}"
                inputs = f" ({wrong[0].inputs})" if wrong[0].inputs else ""
                where = f"Case {wrong[0].case}{inputs}: " if len(rows) > 1 else ""
                several = f"wrong in {len(wrong)} of {len(rows)} cases. " if len(rows) > 1 else ""
                text = f"{several}{where}{first}"
            text = escape(_plain(text))
            text = f"<b>{escape(_plain(part))}</b>&ensp;{text}" if part else text
            answered = not wrong or any(row.verdict not in UNANSWERED for row in wrong)
            for what, more in (("you wrote", "line"), ("the inputs", "values")):
                shown = getattr(wrong[0], more) if wrong and answered else ""
                if shown:
                    text += f'<div style="margin-left: 1.6em">{what}: <code>{escape(_plain(shown))}</code></div>'
            lines.append(f'<div style="margin: 0.3em 0">{mark(not wrong, answered)} {text}</div>')
        if len(self.rows) == len(lines):
            return "".join(lines)
        return f"{''.join(lines)}<details><summary>every case</summary>{super()._html_table()}</details>"


def _summary(rows: Sequence[CheckRow], counted: str) -> str:
    """How far the answer is, in a few words: "3 of 6 gradients are right"."""
    right, n = sum(row.ok for row in rows), len(rows)
    if n and all(row.verdict in UNANSWERED for row in rows):
        return "no answer yet"
    if any(row.verdict == "changed input" for row in rows):
        return f"no {counted} count, because an input was changed in place"
    if n == 1:
        return "right" if right else "not right yet"
    if right == n:
        return f"all {n} {counted} are right"
    return f"{right} of {n} {counted} {'is' if right == 1 else 'are'} right"


class ChecksFailed(AssertionError):
    """Raised by a check cell whose answer is not right yet. Its message is the table.

    result   the CheckResult, which a notebook shows as a card
    """

    def __init__(self, result: CheckResult) -> None:
        super().__init__(repr(result))
        self.result, self._shown = result, False

    def _render_traceback_(self) -> list[str]:
        """The text that IPython prints: the result without a traceback.

        Where HTML can be shown, the result is displayed as a card, and this is only its headline.
        """
        self._shown = self._shown or shown_by("card")(self.result)  # IPython may ask twice
        if self._shown:
            return [self.result.headline]
        return str(self).splitlines()
