"""What all kinds of exercises have: a name, points, hints, and a check.

    exercise.check()         a row for each part and case; never raises, whatever the student wrote
    exercise.hint()          the next hint
    @exercise.wrong(kind)    for the author: an answer that must fail, and the reason
    progress()               which of this session's exercises are solved
    WATCHING                 callbacks for changes of the progress, such as the panel in a notebook

Each kind of exercise has its own file: checks.py for backward functions,
ask_functions.py for other functions, ask_structure.py for what a tape looks like, ask_facts.py
for predictions, ask_optimizers.py for optimizers.
"""

import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from difflib import SequenceMatcher
from functools import partial
from html import escape
from typing import Any

from minigrad.core import display
from minigrad.tape.names import namespace_of
from minigrad.teach.answer import Diagnosis
from minigrad.teach.arguments import check_declaration
from minigrad.teach.report import Report
from minigrad.teach.results import CheckResult, CheckRow, Kind
from minigrad.teach.running import changed_names, defined_in, loose_names

DECLARED: dict[str, "Question"] = {}  # the exercises of this session, by name
# called when an exercise is declared or checked, or gives a hint
WATCHING: list[Callable[[], None]] = []


@dataclass(frozen=True)
class Wrong:
    """An answer that must lose points.

    kind     the expected diagnosis, or the expected verdict, such as "wrong shape"
    answer   what is checked in place of the student's answer
    """

    kind: str
    answer: object


@dataclass(frozen=True, repr=False)
class Hint:
    """One hint, as text and as HTML."""

    number: int
    n: int
    text: str

    def __repr__(self) -> str:
        if not self.n:
            return "There are no hints for this exercise."
        return f"Hint {self.number} of {self.n}: {self.text}"

    def _repr_html_(self) -> str:
        return f'<div class="minigrad-report">{escape(repr(self))}</div>'


class _Declares(type):
    """Registers an exercise once all its __init__ methods have run."""

    def __call__(cls, *args: Any, **settings: Any) -> Any:
        exercise = super().__call__(*args, **settings)
        DECLARED[exercise.name] = exercise
        _notify()
        return exercise

    @property
    def __signature__(cls) -> inspect.Signature:
        """What help() and editors show in place of the arguments of __call__."""
        declared = inspect.signature(cls.__init__)  # type: ignore[misc]
        return declared.replace(parameters=[*declared.parameters.values()][1:])


@dataclass(eq=False, repr=False)
class Question(metaclass=_Declares):
    """An exercise: what the student writes, and how it is checked.

    name      the name of the student's function, class or variable
    points    the total, shared equally by the parts; or a number for each part
    hints     from a first idea to nearly the solution
    seconds   the time limit of one call
    """

    column = "part"  # the heading of the column that names the parts
    counted = "results"  # what the headline counts: "3 of 6 results are right"
    wanted = "function"  # or "class"

    name: str
    _: KW_ONLY
    points: float | Mapping[str, float] = 1.0
    hints: Sequence[str] = ()
    seconds: float = 2.0

    def __post_init__(self) -> None:
        check_declaration(self)
        self.hints = tuple(self.hints)
        self.unfolded = 0
        self.wrongs: list[Wrong] = []
        self.last: CheckResult | None = None
        self._given = _given_names()

    # -------------------------------------------------------------- for the student

    def check(self, answer: object = None) -> CheckResult:
        """Check an answer; by default, the variable with the exercise's name where check is called.

        By default it also tries the author's wrong answers, if there are any: ValueError if one
        does not get its diagnosis.
        """
        if answer is None:
            for wrong in self.wrongs:
                self._expect(wrong)
            answer = namespace_of(sys._getframe(1)).get(self.name)
        rows = list(self.rows(answer))
        remarks = list(self._remarks(answer, rows))
        parts = self.parts_with_points()
        words = {"column": self.column, "counted": self.counted}
        self.last = CheckResult(self.name, rows, parts=parts, remarks=remarks, **words)
        _notify()
        return self.last

    def hint(self) -> Hint:
        """The next hint; the last one again when all have been seen."""
        self.unfolded = min(self.unfolded + 1, len(self.hints))
        _notify()
        text = self.hints[self.unfolded - 1] if self.hints else ""
        return Hint(self.unfolded, len(self.hints), text)

    # -------------------------------------------------------------- for the author

    def wrong(self, kind: str, answer: object = None) -> Any:
        """Register an answer that must fail, with the expected diagnosis or verdict.

        Use it as a decorator of a function or a class, or give the answer as the second argument.
        Write it between ### BEGIN HIDDEN TESTS and ### END HIDDEN TESTS, so that students do not
        see it. `check` tries it.
        """
        if not isinstance(kind, str):
            raise TypeError(f'{self.name}: the diagnosis comes first:  @{self.name}.wrong("sign")')
        if answer is None:
            return partial(self.wrong, kind)
        self.wrongs.append(Wrong(kind, answer))
        return answer

    def _expect(self, wrong: Wrong) -> None:
        """Raise ValueError unless a wrong answer loses points, and for the expected reason."""
        result = self.check(wrong.answer)
        kinds = [kind for d in result.diagnoses for kind in (d.kind, *d.also)]
        kinds += [row.verdict for row in result.rows if not row.ok]
        loses = not result.ok and result.points < result.out_of
        if loses and wrong.kind in kinds:
            return
        name = getattr(wrong.answer, "__name__", repr(wrong.answer))
        gets = " and ".join(map(repr, dict.fromkeys(kinds))) if loses else "full points"
        raise ValueError(
            f"{self.name}: the wrong answer {name} should get {wrong.kind!r}, but gets {gets}. To fix it, declare what "
            "it gets, or change the answer. DIAGNOSES.md lists the diagnoses."
        )

    # -------------------------------------------------------------- for the kinds of exercise

    def parts(self) -> Sequence[str]:
        """The names of the parts, which earn points."""
        return (self.name,)

    def rows(self, answer: object) -> Iterator[CheckRow]:
        """The rows for an answer; a single one if there is no answer yet."""
        problem = self.missing(answer)
        if problem is None:
            yield from self.judged(answer)
        else:
            yield problem

    def judged(self, answer: Any) -> Iterator[CheckRow]:
        """The rows for an answer of the right type."""
        raise NotImplementedError

    def parts_with_points(self) -> dict[str, float]:
        """Part -> its points: the author's numbers by name, or an equal share of the total."""
        parts = self.parts()
        if isinstance(self.points, Mapping):
            if unknown := [part for part in self.points if part not in parts]:
                raise ValueError(
                    f"{self.name}: points names {unknown[0]!r}, which is not one of {', '.join(parts)}."
                )
            return {part: float(self.points.get(part, 0)) for part in parts}
        return {part: self.points / len(parts) for part in parts}

    def missing(self, answer: object) -> CheckRow | None:
        """A row if there is no answer or if it has another type; else None."""
        if answer is None:
            message = f"{self.name} is not defined yet; run the cell with this {self.wanted}"
        elif not (isinstance(answer, type) if self.wanted == "class" else callable(answer)):
            message = f"{self.name} is of type {type(answer).__name__}; it must be a {self.wanted}"
        else:
            return None
        return CheckRow(None, "", "", "missing", message)

    def _remarks(self, answer: object, rows: Sequence[CheckRow]) -> Iterator[str]:
        loose = [n for n in loose_names(answer, self._given) if n not in DECLARED]
        if loose:
            names, verb = ", ".join(loose), "is" if len(loose) == 1 else "are"
            yield (
                f"{names} {verb} defined in another cell. Keep that cell in the notebook: what {self.name} uses is "
                "graded with it."
            )
        if changed := ", ".join(changed_names(answer)):
            yield (
                f"{self.name} changes global variables ({changed}), which keep their values from one case to the "
                "next. To fix it, use variables of the function itself, or the arguments that are there for this."
            )
        if all(row.ok for row in rows):
            return
        printed = next((row.printed for row in rows if row.printed), "")
        for line in printed.splitlines()[:5]:
            yield f"printed: {line}"


class Written(Question):
    """An exercise whose answer is data: a dict or a list that the student assigns.

    form      its type
    like      a description of this type, for messages
    begin     what to do if there is no answer yet, for messages
    """

    counted = "answers"
    form: Any = Mapping
    like = "a dict"
    begin = ""

    def missing(self, answer: object) -> CheckRow | None:
        """A row if the answer is only dots, or not of the type `form`; else None."""
        if unwritten(answer):
            message = f"{self.name} has no answer yet; {self.begin}"
            return CheckRow(None, "", "", "missing", message)
        if not isinstance(answer, self.form):
            message = f"{self.name} is of type {type(answer).__name__}; it must be {self.like}"
            return CheckRow(None, "", "", "wrong type", message)
        return None

    def judged(self, answer: Any) -> Iterator[CheckRow]:
        """One row for each part: the verdict of `judge`, or that there is no answer."""
        for name in self.parts():
            mine = answer.get(name, ...)
            if mine is ...:
                yield self.no_entry(name, answer)
            else:
                yield self.row(name, *self.judge(name, mine))

    def judge(self, name: str, mine: Any) -> tuple[Kind, str, Diagnosis | None]:
        """The verdict on one entry, a message, and the mistake that was recognized."""
        raise NotImplementedError

    def row(
        self, what: str, verdict: Kind, message: str = "", found: Diagnosis | None = None
    ) -> CheckRow:
        """A row about one entry. There is only one case, and it has no inputs."""
        return CheckRow(1, "", what, verdict, message, found)

    def no_entry(self, name: str, answer: Mapping[Any, Any]) -> CheckRow:
        """The row for an entry that is missing or still has its dots; names one that is misspelled."""
        unknown = [key for key in answer if key not in self.parts()]
        near = max(
            unknown,
            key=lambda key: SequenceMatcher(None, repr(key).lower(), repr(name).lower()).ratio(),
            default=None,
        )
        more = f"; {near!r} is not expected" if unknown else ""
        return self.row(name, "missing", f"there is no answer for {name} yet{more}")


def unwritten(answer: object) -> bool:
    """Is there no answer yet: nothing, or only the dots of the starter?"""
    if isinstance(answer, Mapping | list | tuple):
        return all(v is ... for v in (answer.values() if isinstance(answer, Mapping) else answer))
    return answer is None or answer is ...


def _given_names() -> frozenset[str]:
    """The author's names: those that exist when the exercise is declared, and those of its cell."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        "minigrad.teach"
    ):
        frame = frame.f_back
    source = "".join(linecache.getlines(frame.f_code.co_filename))
    return frozenset(frame.f_globals) | frozenset(defined_in(source))


# ------------------------------------------------------------------------- progress


def _notify() -> None:
    for callback in WATCHING:
        callback()


@dataclass(frozen=True)
class ProgressRow:
    """The progress of one exercise."""

    note = ""  # the cells say everything

    name: str
    right: int | None
    n: int
    points: float
    out_of: float
    hints: str

    @property
    def ok(self) -> bool:
        """True if there are checks, and all of them are right."""
        return self.right is not None and 0 < self.n == self.right

    @property
    def share(self) -> int:
        """The percentage of its checks that are right."""
        return 0 if not self.n or self.right is None else round(100 * self.right / self.n)

    def cells(self) -> tuple[str, ...]:
        """Name, state (not tried, begun, solved), checks, points and hints."""
        state = "solved" if self.ok else "not tried" if self.right is None else "begun"
        checks = "" if self.right is None else f"{self.right} of {self.n}"
        return self.name, state, checks, f"{self.points:g} of {self.out_of:g}", self.hints


class Progress(Report[ProgressRow]):
    """Which exercises are solved: a table, or a panel with a bar for each exercise.

    Where widgets can run (see minigrad.display), the panel is a widget, which later checks update.
    Elsewhere it is a table, in HTML or as text, which does not change.
    """

    header = ("exercise", "", "right", "points", "hints")
    footer = "These points are for practice. They do not count toward a grade."

    def __init__(self, rows: Sequence[ProgressRow]) -> None:
        solved = sum(row.ok for row in rows)
        super().__init__(f"progress: {solved} of {len(rows)} exercises solved", rows)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        if display.shown_by("mode")() == "text":
            return {"text/plain": repr(self)}
        found: dict[str, Any] = super()._repr_mimebundle_()
        found |= display.shown_by("view")(self)
        return found

    def _ipython_display_(self) -> None:
        display.shown_by("show_widget")(self)
        raise NotImplementedError  # IPython shows the bundle, too

    def _html_cells(self, row: ProgressRow) -> list[str]:
        done, name, state, *others = super()._html_cells(row)
        bar = (
            '<div style="width: 8em; border: 1px solid currentColor; opacity: 0.7">'
            f'<div style="width: {row.share}%; height: 0.6em; background: currentColor"></div></div>'
        )
        return [done if row.ok else "", name, bar + state, *others]


def progress() -> Progress:
    """Which of the exercises that this session declared are solved."""
    return Progress([_progress_of(q) for q in DECLARED.values()])


def _progress_of(q: Question) -> ProgressRow:
    out_of = sum(q.parts_with_points().values())
    hints = f"{q.unfolded} of {len(q.hints)} seen" if q.hints else ""
    if q.last is None:
        return ProgressRow(q.name, None, 0, 0.0, out_of, hints)
    right = sum(row.ok for row in q.last.rows)
    return ProgressRow(q.name, right, len(q.last.rows), q.last.points, out_of, hints)
