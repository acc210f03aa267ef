"""Check a student's function on several cases, part by part.

For each case we call the function with copies of the inputs (running.py), split the result into
parts, and compare each part with the right one, within the tolerance of the case (cases.py). Then
we look for the mistake behind each wrong part. It must explain the part in *every* case where it is
wrong, so that no coincidence is reported. The diagnosis is in the part's first wrong row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.errors import warn_user
from minigrad.teach.answer import Diagnosis, exchanged
from minigrad.teach.cases import Case, in_full
from minigrad.teach.difference import (
    Array,
    decimal_text,
    difference,
    position,
    real_array,
    tolerances,
)
from minigrad.teach.misconceptions import Misconception, Seen, alike, generally, recognize
from minigrad.teach.question import Question, Wrong
from minigrad.teach.results import CheckRow, Kind
from minigrad.teach.running import Outcome, run, written_for

DIAGNOSED = 4  # the number of wrong cases that are searched: a search takes time
DRAWS = 20  # how often the inputs are drawn for a wrong answer that must fail


class Mistaken(NamedTuple):
    """A part that is wrong in one case."""

    case: Case
    k: int
    mine: object


class FunctionQuestion(Question):
    """The student writes a function. Subclasses define the cases and the right results."""

    rtol: float | None = None
    atol: float | None = None
    mistakes: Sequence[Misconception] = ()

    def cases(self, seed: str = "public") -> Iterator[Case]:
        """Yield the cases of a seed. The seed "public" gives those that students see."""
        raise NotImplementedError

    def given(self, case: Case) -> Mapping[str, Any]:
        """The arguments of the call, by name."""
        return case.inputs

    def take_apart(self, returned: object, case: Case) -> Sequence[Any] | str:
        """The parts of the returned value, or a message if it has others."""
        return count(returned, self.parts())

    def judged(self, answer: Any) -> Iterator[CheckRow]:
        """One row for each part of each case; the diagnosis is in a part's first wrong row.

        If the function is not written or too slow, the other cases are skipped.
        """
        rows: list[CheckRow] = []
        wrong: dict[str, list[tuple[int, Mistaken]]] = {}  # part -> its wrong rows
        for case in self.cases():
            outcome = run(answer, self.given(case), self.seconds)
            for row, mistaken in self._one_case(case, outcome):
                if mistaken is not None:
                    wrong.setdefault(row.what, []).append((len(rows), mistaken))
                rows.append(replace(row, printed=outcome.printed))
            if outcome.trouble is not None and outcome.trouble[0] in ("not written", "too slow"):
                break  # the other cases would give the same, and take as long
        found = self.explained({what: [m for _, m in made] for what, made in wrong.items()})
        for what, mistakes in wrong.items():
            first, mistaken = mistakes[0]
            line = written_for(answer, mistaken.k, len(self.parts()))
            rows[first] = replace(rows[first], diagnosis=found[what], line=line)
        yield from rows

    def _expect(self, wrong: Wrong) -> None:
        """Warn also if the answer is right by chance: grading draws other numbers in each run."""
        super()._expect(wrong)
        if wrong.kind == "too slow":
            return
        stop = monotonic() + 1
        right: list[bool] = []
        while len(right) < DRAWS and monotonic() < stop:
            right.append(self._is_right(wrong.answer, f"draw {len(right)}"))
        if any(right):
            name = getattr(wrong.answer, "__name__", repr(wrong.answer))
            warn_user(
                f"{self.name}: the wrong answer {name} is right for {sum(right)} of {len(right)} draws of the inputs, "
                "and grading draws new ones. To fix it, add cases, or larger ones, so that one of them always shows "
                "the mistake."
            )

    def _is_right(self, answer: Any, seed: str) -> bool:
        for case in self.cases(seed):
            outcome = run(answer, self.given(case), self.seconds)
            if not all(row.ok for row, _ in self._one_case(case, outcome)):
                return False
        return True

    def _one_case(self, case: Case, outcome: Outcome) -> Iterator[tuple[CheckRow, Mistaken | None]]:
        def row(verdict: Kind, message: str, what: str = "") -> CheckRow:
            values = "" if verdict == "right" else in_full(self.given(case))
            return CheckRow(case.number, case.shapes, what, verdict, message, values=values)

        if outcome.trouble is not None:
            yield row(*outcome.trouble), None
            return
        for name in outcome.changed:
            message = f"{name} was changed in place; compute with a new array instead"
            yield row("changed input", message), None
        values = self.take_apart(outcome.returned, case)
        if isinstance(values, str):
            yield row("wrong type", values), None
            return
        for k, (what, mine) in enumerate(zip(self.parts(), values, strict=True)):
            verdict, message = self.judge(what, mine, case, k)
            mistaken = None if verdict in ("right", "wrong type") else Mistaken(case, k, mine)
            yield row(verdict, message, what), mistaken

    def judge(self, what: str, mine: object, case: Case, k: int) -> tuple[Kind, str]:
        """The verdict on one part, and a message."""
        rtol = 0.0 if self.rtol is None and case.atol else self.rtol
        atol = self.atol
        if atol is None:
            atol = case.atol[k] if case.atol else 0.0
        return judge_value(what, mine, case.expected[k], rtol, atol)

    def explained(self, wrong: Mapping[str, Sequence[Mistaken]]) -> dict[str, Diagnosis | None]:
        """Wrong part -> the mistake behind it.

        We look at all wrong parts together, because two of them may be swapped.
        """
        found = {what: self.explain(what, made) for what, made in wrong.items()}
        declared = {one.kind for one in self.mistakes}
        for (one, mine), (other, theirs) in combinations(wrong.items(), 2):
            known = any(d and d.kind in declared for d in (found[one], found[other]))
            if not known and self._exchanged((one, mine), (other, theirs)):
                found[one] = found[other] = exchanged(one, other)
        return found

    def _exchanged(self, *both: tuple[str, Sequence[Mistaken]]) -> bool:
        """Is each of two parts the right value of the other, in all cases where it is wrong?"""
        (one, mine), (other, theirs) = both
        if [m.case.number for m in mine] != [t.case.number for t in theirs]:
            return False
        return all(
            self.judge(other, m.mine, m.case, t.k)[0] == "right"
            and self.judge(one, t.mine, m.case, m.k)[0] == "right"
            for m, t in zip(mine, theirs, strict=True)
        )

    def explain(self, what: str, wrong: Sequence[Mistaken]) -> Diagnosis | None:
        """The mistake behind a part that is wrong in these cases.

        We try the misconceptions that the author declared, then a search, then a sign or a factor.
        """
        seen = [Seen(self.given(m.case), m.mine, m.case.expected[m.k]) for m in wrong]
        k = wrong[0].k
        several = len(self.parts()) > 1
        pick: Callable[[Any], Any] = (lambda out: out[k]) if several else (lambda out: out)
        found = recognize(seen, self.mistakes, pick)
        return found or self.searched(what, wrong, seen)

    def searched(
        self, what: str, wrong: Sequence[Mistaken], seen: Sequence[Seen]
    ) -> Diagnosis | None:
        """Mistakes that are found without a declaration: a sign or a factor. Some kinds search for more."""
        return generally(seen)


def judge_value(
    what: str, mine: object, right: Any, rtol: float | None, atol: float | None
) -> tuple[Kind, str]:
    """Compare with a number or an array, within the tolerance; with a dict; or with plain data."""
    if isinstance(right, Mapping):
        return judge_mapping(what, mine, right)
    if isinstance(right, np.ndarray | np.generic | float | int) and not isinstance(right, bool):
        return judge_array(what, mine, np.asarray(right), rtol, atol)
    return judge_plain(what, mine, right)


def judge_array(
    what: str, mine: object, right: Array, rtol: float | None, atol: float | None
) -> tuple[Kind, str]:
    """Compare arrays. The message names the first wrong entry, the shape, or the type."""
    d = difference(mine, right, rtol, atol)
    if d.ok:
        return "right", ""
    if d.verdict == "not answered":
        return "wrong type", f"{what} is not answered yet: it is still ..."
    if d.verdict == "not an array":
        return "wrong type", f"{what} is {d.reason}"
    if d.verdict == "wrong shape":
        return "wrong shape", f"{what} has {d.reason}"
    mine = real_array(mine)
    bounds = tolerances(mine, right, rtol, atol)
    wrong = np.argwhere(~np.isclose(mine, right, *bounds, equal_nan=True))
    first = tuple(int(i) for i in (wrong[0] if len(wrong) else np.zeros(right.ndim)))
    for digits in (6, 9, 12, 17):
        is_it, should_be = (decimal_text(float(a[first]), digits) for a in (mine, right))
        if is_it != should_be:
            break
    return "wrong value", f"{what}{position(first)} is {is_it} but should be {should_be}"


def judge_mapping(what: str, mine: object, right: Mapping[str, Any]) -> tuple[Kind, str]:
    """Compare dicts of numbers and plain data. The message names the first entry that is missing, extra or wrong."""
    if not isinstance(mine, Mapping):
        return "wrong type", f"{what} is of type {type(mine).__name__}; it must be a dict"
    for key, value in right.items():
        if key not in mine:
            return "wrong answer", f"{what} has no entry {key!r}"
        found = judge_value(f"{what}[{key!r}]", mine[key], value, 1e-9, 1e-12)
        if found[0] != "right":
            return found
    extra = [key for key in mine if key not in right]
    if extra:
        return "wrong answer", f"{what} has an extra entry, {extra[0]!r}"
    return "right", ""


def judge_plain(what: str, mine: object, right: object) -> tuple[Kind, str]:
    """Compare strings, booleans, numbers, and lists or tuples of them. Floats may differ by rounding."""
    try:
        same = _same(mine, right)
    except Exception:  # an object whose == raises, or returns an array
        same = False
    if same:
        return "right", ""
    if not isinstance(mine, str | bool | int | float | list | tuple | dict | set | None):
        return "wrong type", f"{what} is of type {type(mine).__name__}"
    return "wrong answer", f"{what} is {shortened(mine)} but should be {shortened(right)}"


def _same(mine: Any, right: Any) -> bool:
    if isinstance(mine, list | tuple) and isinstance(right, list | tuple):
        return len(mine) == len(right) and all(map(_same, mine, right))
    numbers = isinstance(mine, int | float) and isinstance(right, int | float)
    floats = numbers and not (isinstance(mine, int) and isinstance(right, int))
    same = alike(mine, right) if floats else mine == right
    return bool(same) and isinstance(mine, bool) == isinstance(right, bool)


def shortened(value: object) -> str:
    """The value's repr, cut to 90 characters; its type if the repr raises."""
    try:
        text = repr(value)
    except Exception:
        text = f"of type {type(value).__name__}"
    return text if len(text) <= 90 else text[:87] + "..."


def count(returned: object, names: Sequence[str], whole: bool = False) -> Sequence[Any] | str:
    """The returned value as a list of one value for each name, or a message if the number differs.

    whole   does a tuple or a list count as one value?
    """
    wanted = ", ".join(names)
    if returned is None:
        return f"nothing was returned; end with  return {wanted}"
    values = returned if isinstance(returned, tuple | list) and not whole else (returned,)
    if len(values) != len(names):
        got = f"{len(values)} value{'s' * (len(values) != 1)}"
        return f"{got} returned instead of {len(names)}; end with  return {wanted}"
    return list(values)
