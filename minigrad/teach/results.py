"""What a check says: a row for each fact, and the points of each part.

    CheckRow       one fact about the student's answer: which case, which part, the verdict
    CheckResult    the rows; true if all of them are right
    ChecksFailed   what a check cell raises, so that pytest and nbval take it for a failure

A *part* is what points are given for: the gradient `dx`, the tangent `z_dot`, one entry of a
prediction. Its points are earned if it is right in every case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from minigrad.core.display import shown_by
from minigrad.teach.diagnose import Diagnosis
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
    """One fact about the student's answer.

    case       which case; None if the answer could not be tried at all
    inputs     the inputs' names and shapes
    what       which part: dx for the gradient of x; empty if it is about the call
    verdict    right, or what kind of mistake
    message    what is wrong and where, in words
    diagnosis  the misconception that gives exactly this answer, if one is known
    values     the inputs themselves, if they are few and the verdict is not "right"
    line       what the student has written for this part, if it can be told
    printed    what the student's code printed meanwhile
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
        """True for the verdict "right" only."""
        return self.verdict == "right"

    @property
    def note(self) -> str:
        """The diagnosis, with the part that it is about; empty if there is none."""
        return "" if self.diagnosis is None else self.diagnosis.about(self.what)

    def cells(self) -> tuple[str, ...]:
        """Case, inputs, part, verdict and message; the case is empty if none was tried."""
        case = "" if self.case is None else str(self.case)
        return (case, self.inputs, self.what, self.verdict, self.message)


class CheckResult(Report[CheckRow]):
    """The rows of a check; true if all of them are right.

    name     the exercise
    points   what is earned, of the `out_of` that there are
    parts    part -> its points, earned or not
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
        if "" in spoiled:  # an error, or a changed input, spoils all that was asked
            return 0.0
        return sum(p for part, p in self.parts.items() if part in seen and part not in spoiled)

    @property
    def diagnoses(self) -> tuple[Diagnosis, ...]:
        """What was recognized, the first for each part that is wrong."""
        return tuple(row.diagnosis for row in self.rows if row.diagnosis is not None)

    def or_raise(self) -> "CheckResult":
        """The result itself if all is right; otherwise raises ChecksFailed, which shows it."""
        if not self.ok:
            raise ChecksFailed(self)
        return self

    def _notes(self) -> list[str]:
        """What was recognized, each misconception once."""
        notes = {str(row.diagnosis): row.note for row in reversed(self.rows) if row.diagnosis}
        lines = [line for note in reversed(notes.values()) for line in note.splitlines()]
        return [_plain(line) for line in lines]

    def _html_table(self) -> str:
        """A line for each part: ✓, ✗ with the first case that is wrong, … without an answer. All cases unfold."""
        lines = []
        for part in dict.fromkeys(row.what for row in self.rows):
            rows = [row for row in self.rows if row.what == part]
            wrong = [row for row in rows if not row.ok]
            if not wrong:
                said = "" if len(rows) == 1 else f"right in all {len(rows)} cases"
            else:
                first = wrong[0].message or wrong[0].verdict
                if not part and wrong[0].verdict not in ("error", *UNANSWERED):
                    first = f"{wrong[0].verdict}: {first}"
                inputs = f" ({wrong[0].inputs})" if wrong[0].inputs else ""
                where = f"Case {wrong[0].case}{inputs}: " if len(rows) > 1 else ""
                several = f"wrong in {len(wrong)} of {len(rows)} cases. " if len(rows) > 1 else ""
                said = f"{several}{where}{first}"
            text = escape(_plain(said))
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
    if n == 1:
        return "right" if right else "not right yet"
    verb = "is" if right == 1 else "are"
    return (
        f"all {n} {counted} are right" if right == n else f"{right} of {n} {counted} {verb} right"
    )


class ChecksFailed(AssertionError):
    """A check cell whose answer is not right yet. Its message is the table.

    result   the CheckResult, which a notebook shows as a card
    """

    def __init__(self, result: CheckResult) -> None:
        super().__init__(repr(result))
        self.result, self._shown = result, False

    def _render_traceback_(self) -> list[str]:
        """What IPython prints: no traceback, since no line of minigrad is at fault.

        Where HTML can be shown, the result stands above as a card, and only its headline here.
        """
        self._shown = self._shown or shown_by("card")(self.result)  # IPython may ask twice
        if self._shown:
            return [self.result.headline]
        return str(self).splitlines()
