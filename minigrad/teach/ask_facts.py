"""Predictions: what will this program do? Students answer before they run it.

The author writes a function that returns what happened, as a dict; the student assigns a dict
with the same keys. The right answers are not stored: each check runs the function.

    exercise = Facts("predicted", what_happens)
    predicted = {"first": "runs", "second": "error in backward"}      # by the student

    outcome(program)   "runs", "error at the write", or "error in backward"
    complaint(program) the same, but for an error in backward, its details: the node, and the versions
    saved_at(z)        the version of the saved value that z's backward reads
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

from minigrad.core.errors import SavedValueChanged
from minigrad.core.modes import enable_grad, unobserved
from minigrad.core.tensor import Tensor
from minigrad.teach.diagnose import Diagnosis
from minigrad.teach.misconceptions import Misconception, alike
from minigrad.teach.question import Written
from minigrad.teach.results import CheckRow, Kind
from minigrad.teach.trying import judge_plain, shortened


@dataclass(eq=False, repr=False)
class Facts(Written):
    """The student predicts facts, by name.

    name       the variable that the student assigns: a dict
    program    a function that returns the facts: a dict of strings, numbers and booleans
    mistakes   what a learner with a misconception would predict; `gives` is called with the
               right facts and returns the predicted ones. If one explains all wrong entries, only
               that one is reported; otherwise, each one that predicts its entries correctly
    choices    the values that may be predicted; another one is told so

    >>> exercise = Facts("predicted", lambda: {"1 + 1": 2})
    >>> exercise.check({"1 + 1": 3}).rows[0].message
    '3 is not what happens'
    """

    column, counted = "fact", "predictions"
    begin = "put a prediction in place of each ..."

    program: Callable[[], Mapping[str, object]]
    _: KW_ONLY
    mistakes: Sequence[Misconception] = ()
    choices: Sequence[str] = ()

    @cached_property
    def _facts(self) -> dict[str, object]:
        with enable_grad(), unobserved():
            facts = self.program()
        if not isinstance(facts, Mapping):
            raise TypeError(
                f"{self.name}: the program returned {type(facts).__name__}, not a dict of facts."
            )
        return dict(facts)

    def facts(self) -> dict[str, object]:
        """The right facts, from a single run of the program."""
        return self._facts

    def parts(self) -> Sequence[str]:
        """The names of the facts, in the order the program returns them."""
        return list(self.facts())

    def judged(self, answer: Any) -> Iterator[CheckRow]:
        """One row for each fact. A misconception is reported at the first entry that it explains."""
        rows = list(super().judged(answer))
        wrong = [row.what for row in rows if row.verdict not in ("right", "missing")]
        explained = self._explained(answer, wrong)
        yield from (replace(row, diagnosis=explained.get(row.what)) for row in rows)

    def judge(self, name: str, mine: Any) -> tuple[Kind, str, Diagnosis | None]:
        """The verdict on one prediction. The message shows it, but never the right answer."""
        right = self.facts()[name]
        if judge_plain(name, mine, right)[0] == "right":
            return "right", "", None
        # Don't reveal the right answer: students should think again, or try it out.
        text = shortened(mine)
        message = f"{text} is not what happens"
        if self.choices and mine not in self.choices:
            message = f"{text} is not one of {', '.join(map(repr, self.choices))}"
        elif _wrapped(mine) is not None and isinstance(right, int | float):
            message = f"{text} is not a number: leave out the quotation marks or brackets"
        numbers = all(isinstance(value, int | float) for value in (mine, right))
        return "wrong value" if numbers else "wrong answer", message, None

    def _explained(
        self, answer: Mapping[str, object], wrong: Sequence[str]
    ) -> dict[str, Diagnosis]:
        """Wrong entry -> the misconception that explains it, and possibly later entries."""
        facts, found = self.facts(), dict[str, Diagnosis]()
        known = [(m, m.gives(dict(facts))) for m in (self.mistakes if wrong else ())]
        for mistake, predicted in known:
            if all(alike(answer[name], predicted.get(name)) for name in wrong):
                return {wrong[0]: mistake.diagnosis()}
        left = set(wrong)
        for mistake, predicted in known:
            its = [name for name in facts if not alike(facts[name], predicted.get(name))]
            if left.issuperset(its) and all(alike(answer[n], predicted.get(n)) for n in its):
                found |= {name: mistake.diagnosis() for name in its[:1]}
                left.difference_update(its)
        return found


def _wrapped(mine: object) -> float | None:
    """The number that was written as a string, or as a list or tuple of one; None if it is no such thing."""
    with suppress(ValueError, TypeError):
        if isinstance(mine, str):
            return float(mine)
        if isinstance(mine, list | tuple) and len(mine) == 1:
            return float(mine[0])
    return None


def outcome(program: Callable[[], Any]) -> str:
    """Run a program, then backward from the sum of its result. Where does it stop?"""
    return _stop(program)[0]


def complaint(program: Callable[[], Any]) -> Any:
    """Run a program, then backward from the sum of its result. What does the error say?

    returns    "runs", "error at the write", or the details of SavedValueChanged: the node that
               needs the overwritten value, its version when it was saved, and its version now

    >>> import minigrad
    >>> def program():
    ...     z = minigrad.ones(2, requires_grad=True).exp()
    ...     z.add_(1)
    ...     return z
    >>> complaint(program)
    ('ExpBackward0', 0, 1)
    """
    where, error = _stop(program)
    if where != "error in backward" or error is None:
        return where
    words = str(error) if isinstance(error, SavedValueChanged) else ""
    found = re.search(r"at version (\d+); expected version (\d+)", words)
    if found is None:
        raise error
    return words.split()[0], int(found[2]), int(found[1])


def _stop(program: Callable[[], Any]) -> tuple[str, RuntimeError | None]:
    """Where a program stops, and the error that stops it."""
    where = "error at the write"
    try:
        z = program()
        where = "error in backward"
        z.sum().backward()
    except RuntimeError as error:
        return where, error
    return "runs", None


def saved_at(z: Tensor) -> int | None:
    """The version of the saved value that z's backward reads; None if it reads none.

    >>> import minigrad
    >>> x = minigrad.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> y.add_(1)
    tensor([3., 3.], grad_fn=<AddBackward0>)
    >>> saved_at(y.exp()), saved_at(y.square()), saved_at(y + 1)
    (0, 1, None)
    """
    node = z.grad_fn
    if node is None:
        return None
    counters = node.counters()
    if not counters:
        return None
    if len({id(counter) for counter in counters.values()}) > 1:
        raise ValueError(
            "saved_at: the node has saved more than one tensor, so there is no single version."
        )
    return int(node.version) // len(counters)  # the node stores the sum of the versions
