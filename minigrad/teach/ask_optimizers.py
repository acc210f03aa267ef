"""Exercises whose answer is an optimizer, written by the student.

    exercise = Updates("sgd_step", optim.SGD, [dict(lr=0.1)])

    def sgd_step(p, g, state, lr):          # written by the student: returns the new p
        return p - lr * g

The student writes one step, as a function of the parameter, its gradient, a dict that is kept
between steps, and the settings; or a class like those in `optim`, whose parameters are tensors.
We run it on a few gradients, next to minigrad's own optimizer. If the results differ, we look for
the mistake that gives the student's numbers at *every* step (mistakes_of_steps.py).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

from minigrad.core.modes import unobserved
from minigrad.teach.cases import Shape, draw
from minigrad.teach.difference import Array, real_array
from minigrad.teach.question import Question
from minigrad.teach.results import CheckRow
from minigrad.teach.running import run
from minigrad.teach.steps_by_hand import settings_of_steps
from minigrad.teach.trying import judge_array
from minigrad.teach.updates import (
    STEP_NOT_KEPT,
    VALUE_NOT_KEPT,
    compare_update,
    run_optimizer,
    stepped,
)


@dataclass(eq=False, repr=False)
class Updates(Question):
    """The student writes an optimizer.

    name        the function's or the class's name
    optimizer   the optimizer that it should match: optim.SGD, optim.Adam, ...
    settings    one dict for each case, such as dict(lr=0.1, momentum=0.9); lr may be a list,
                one rate for each step
    steps       how many steps each case takes
    shape       the shape of the parameter
    wanted      "function": name(p, g, state, **settings) returns the new p, and keeps what it likes in the
                dict `state`; or "class": one like those in `optim`
    """

    column = "step"

    optimizer: Callable[..., Any]
    settings: Sequence[Mapping[str, Any]]
    _: KW_ONLY
    steps: int = 5
    shape: Shape = (3,)
    wanted: str = "function"

    def parts(self) -> Sequence[str]:
        """One part for each dict of settings: "settings 1", "settings 2", ..."""
        return [f"settings {n}" for n in range(1, len(self.settings) + 1)]

    def judged(self, answer: object) -> Iterator[CheckRow]:
        """One row for each dict of settings. Stops if the answer is missing or too slow."""
        for n, settings in enumerate(self.settings, 1):
            row = self._one(n, settings, answer)
            yield row
            if row.verdict in ("not written", "too slow"):
                return

    def _one(self, n: int, settings: Mapping[str, Any], answer: Any) -> CheckRow:
        start = draw(f"public/{self.name}/{n}/p", self.shape)
        grads = [draw(f"public/{self.name}/{n}/g{k}", self.shape) for k in range(self.steps)]
        words = ", ".join(f"{k}={v}" for k, v in settings.items())
        # One call for all steps, so that the time limit and the messages work as for any function.
        steps = (by_class if isinstance(answer, type) else by_function)(answer, settings)
        before = "params" if isinstance(answer, type) else "p, g, state"
        steps.called_with = ", ".join([before, *(f"{k}=..." for k in settings)])  # type: ignore[attr-defined]
        outcome = run(steps, {"p": start, "grads": grads}, self.seconds)
        row = CheckRow(n, words, f"settings {n}", "right", printed=outcome.printed)
        if outcome.trouble is not None:
            verdict, message = outcome.trouble
            if isinstance(answer, type) and "NoneType" in message:
                message += ". (One of the parameters has no gradient: its .grad is None, and step skips it.)"
            return replace(row, what="", verdict=verdict, message=message)
        yours = outcome.returned
        if any(p is None for p in yours):
            message = "nothing was returned; end with  return p"
            return replace(row, what="", verdict="wrong type", message=message)
        right = run_optimizer(self.optimizer, settings, start, grads)
        for k, (mine, r) in enumerate(zip(yours, right, strict=True), 1):
            verdict, message = judge_array("p", mine, np.asarray(r), 1e-10, 1e-13)
            if verdict == "right":
                continue
            row = replace(row, verdict=verdict, message=f"after step {k}: {message}")
            if verdict == "wrong value":
                given = {"params": start, "grads": grads, "yours": yours}
                still = all(np.array_equal(p, start) for p in yours)
                kept = STEP_NOT_KEPT if isinstance(answer, type) else VALUE_NOT_KEPT
                found = (
                    kept if still else compare_update(self.optimizer, settings, **given).diagnosis
                )
                row = replace(row, diagnosis=found)
            return row
        return row


class _State(dict[str, Any]):
    """The dict that is kept between steps. An error says that it is empty at first."""

    def __missing__(self, key: str) -> Any:
        raise KeyError(
            f"there is no {key!r} in state: it is empty at the first step. To fix it, write  state.get({key!r}, 0.0)"
        )


# Both wrap the answer, so that error messages can show the student's own code.


def by_function(step: Callable[..., Any], settings: Mapping[str, Any]) -> Callable[..., list[Any]]:
    """The steps of a function step(p, g, state, **settings) -> p."""

    @wraps(step)
    def steps(p: Array, grads: Sequence[Array]) -> list[Any]:
        state, after = _State(), list[Any]()
        for g, now in zip(grads, settings_of_steps(settings, len(grads)), strict=True):
            p = step(p, g, state, **now) if p is not None else None
            after.append(p if p is None else np.array(real_array(p), copy=True))
        return after

    return steps


def by_class(make: type, settings: Mapping[str, Any]) -> Callable[..., list[Any]]:
    """The steps of a class make(params, **settings) with a method step()."""

    @wraps(make)
    def steps(p: Array, grads: Sequence[Array]) -> list[Any]:
        with unobserved():  # the second parameter never has a gradient
            return [t for t, _ in stepped(make, settings, [p, p], [(g, None) for g in grads])]

    return steps
