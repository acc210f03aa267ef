"""Compare optimizer steps computed by hand with the optimizer's own.

    compare_update(optim.SGD, dict(lr=0.1, momentum=0.9), params=p0, grads=[g1, g2], yours=[p1, p2])

runs the optimizer with the same gradients, names the first step that differs, and looks for the
mistake that gives exactly the student's numbers at every step: the same update with one change,
such as the formula of a paper, of another library, or a common slip (mistakes_of_steps.py).
"""

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise
from typing import Any

import numpy as np

from minigrad import optim
from minigrad.core.tensor import wrap
from minigrad.tape.adapters import numbers_of, tensor_kinds
from minigrad.teach.answer import Diagnosis, general_diagnosis, in_time
from minigrad.teach.diagnose import SECONDS
from minigrad.teach.difference import Difference, difference
from minigrad.teach.mistakes_of_steps import (
    AROUND,
    FACTORS,
    MISTAKES,
    RESTARTED,
    UPHILL,
    counted_for_each,
)
from minigrad.teach.pairs import MANY
from minigrad.teach.report import Compared, Report
from minigrad.teach.steps_by_hand import (
    UPDATES,
    Settings,
    Slip,
    by_hand,
    changed,
    settings_of_steps,
)
from minigrad.teach.uses import MISFITS


@dataclass(frozen=True, kw_only=True)
class UpdateRow(Compared):
    """One step of an optimizer.

    step       the number of the step, from 1
    verdict    exact, close, different, wrong shape, not an array
    diagnosis  the mistake that gives the student's numbers at all steps; only in the first row
               that differs
    """

    step: int

    @property
    def optimizer(self) -> float | None:
        """The optimizer's value at the largest difference."""
        return self.theirs

    def cells(self) -> tuple[str, ...]:
        """Step, verdict, difference; for wrong numbers also the place and both values."""
        return str(self.step), *self.measured(self.absolute)


class UpdateComparison(Report[UpdateRow]):
    """The steps of a comparison; true if every one of them agrees."""

    header = ("step", "verdict", "abs. diff.", "at", "yours", "optimizer")

    @property
    def parts_at(self) -> int | None:
        """The first step at which the two differ; None if they never do."""
        return next((row.step for row in self.rows if not row.ok), None)

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The diagnosis of the first row that has one; None if no known mistake gives these numbers."""
        return next((row.diagnosis for row in self.rows if row.diagnosis), None)


def compare_update(
    optimizer: Callable[..., Any],
    settings: Mapping[str, Any],
    *,
    yours: Sequence[Any] | Callable[..., Any],
    params: Any = None,
    grads: Sequence[Any] = (),
    rtol: float | None = None,
    atol: float | None = None,
) -> UpdateComparison:
    """Compare your steps, or an optimizer that you wrote, with those of an optimizer.

    optimizer   optim.SGD, optim.Adam, ...: the class, minigrad's or PyTorch's
    settings    its settings, like dict(lr=0.1, momentum=0.9); lr may be a list, one for each step
    yours       the values after each step, computed by hand, shaped like params; or a class like
                the optimizer's: yours(params, **settings).step()
    params      the values before the first step: an array or a Tensor; or several of them, in a
                list, a tuple or a dict; if left out, 6 steps with drawn numbers are compared
    grads       the gradients of each step, shaped like params

    Raises ValueError if there are not as many results as gradients, or arrays as parameters.

    >>> from minigrad import optim
    >>> report = compare_update(
    ...     optim.SGD, {"lr": 0.1}, params=[1.0], grads=[[2.0], [3.0]], yours=[[1.2], [1.5]])
    >>> report.parts_at, report.diagnosis.kind
    (1, 'sign')
    >>> class MySGD(optim.SGD):
    ...     def step(self):
    ...         super().step(), super().step()
    >>> compare_update(optim.SGD, {"lr": 0.1}, yours=MySGD).diagnosis.kind
    'scale'
    """
    params, grads = _given(params, grads, yours)
    names = _names(params)
    start = [np.asarray(p, dtype=np.float64) for p in _parts(params, names)]
    gs = [[np.asarray(g, np.float64) for g in _parts(step, names)] for step in grads]
    ours, new = _engine_of(optimizer)
    mine = _steps_of(yours, settings, start, gs, names, new)
    right = run_optimizer(optimizer, settings, start, gs, new)
    differences = [
        _worst(names, [difference(a, b, rtol, atol) for a, b in zip(m, r, strict=True)])
        for m, r in zip(mine, right, strict=True)
    ]
    found = None
    if ours is not None and {d.verdict for _, d in differences if not d.ok} == {"different"}:
        still = callable(yours) and _agree(map(_joined, mine), [_joined(start)] * len(mine))
        found = STEP_NOT_KEPT if still else _explained(ours, settings, start, gs, mine, right)
    return _report(optimizer.__name__, differences, found)


def _report(
    name: str, differences: list[tuple[str, Difference]], found: Diagnosis | None
) -> UpdateComparison:
    """The rows of all steps; the mistake is in the first one that differs."""
    first = next((k for k, (_, d) in enumerate(differences) if not d.ok), None)
    rows = [_row(k + 1, part, d, found, k == first) for k, (part, d) in enumerate(differences)]
    title = f"{sum(row.ok for row in rows)} of {len(rows)} steps agree with {name}"
    title += "" if first is None else f"; they differ from step {first + 1} on"
    return UpdateComparison(f"compare_update: {title}", rows)


STEP_NOT_KEPT = general_diagnosis(
    "step_not_kept",
    "step() changed no parameter.",
    "Write to the parameter itself, as in  p -= lr * p.grad  within no_grad(): p = p - lr * p.grad makes a "
    "new tensor.",
)
VALUE_NOT_KEPT = general_diagnosis(
    "step_not_kept",
    "The parameter that is returned is the one that was given.",
    "p - lr * g computes a new value, which must be returned.",
)


def _explained(
    optimizer: Callable[..., Any],
    settings: Mapping[str, Any],
    start: Sequence[Any],
    *steps: Sequence[Any],
) -> Diagnosis | None:
    """The mistake in steps of one or several parameters. steps: the gradients, yours, and the right ones."""
    grads, yours, right = ([_joined(step) for step in each] for each in steps)
    sizes = [p.size for p in start]
    return diagnose_update(optimizer, dict(settings), _joined(start), grads, yours, right, sizes)


def _given(params: Any, grads: Sequence[Any], yours: object) -> tuple[Any, Sequence[Any]]:
    """The parameters and the gradients of each step; drawn for 6 steps if both are left out."""
    if params is not None and len(grads):
        return params, grads
    if params is not None or len(grads) or not callable(yours):
        raise ValueError(
            "compare_update: params and grads belong together. To fix it, give both; or, to compare an optimizer that "
            "you wrote, leave out both."
        )
    rng = np.random.default_rng(0)
    params, *grads = [{"w": rng.normal(size=(2, 3)), "b": rng.normal(size=3)} for _ in range(7)]
    return params, grads


def _steps_of(
    yours: Sequence[Any] | Callable[..., Any],
    settings: Mapping[str, Any],
    start: list[Any],
    grads: Sequence[Any],
    names: list[Any],
    new: Callable[[Any], Any],
) -> list[Any]:
    """The values after each of the student's steps."""
    if callable(yours):
        return run_optimizer(yours, settings, start, grads, new)
    if len(grads) != len(yours):
        raise ValueError(
            f"compare_update: there are {len(grads)} gradients and {len(yours)} results; each step needs one of each."
        )
    return [_parts(step, names) for step in yours]


def _engine_of(optimizer: Any) -> tuple[Callable[..., Any] | None, Callable[[Any], Any]]:
    """Our optimizer of this name, whose mistakes are known, and what makes tensors of its engine."""
    if not callable(optimizer):
        kind = type(optimizer).__name__
        raise TypeError(
            f"compare_update: the optimizer is a class, like optim.SGD, but got {kind}."
        )
    if (getattr(optimizer, "__module__", None) or "").partition(".")[0] != "torch":
        return optimizer, wrap
    return getattr(optim, optimizer.__name__, None), sys.modules["torch"].tensor


def _row(step: int, name: str, d: Difference, found: Diagnosis | None, is_first: bool) -> UpdateRow:
    found = found if is_first else None
    where = ""
    if is_first and name and d.verdict == "different":
        where = f"the largest difference is in {name}"
    reason = f"{name}: {d.reason}" if name and d.reason else d.reason
    note = "; ".join(str(part) for part in (reason, where, found) if part)
    return UpdateRow(**vars(d), step=step, note=note, diagnosis=found)


# ------------------------------------------------------------------ one parameter, or several


def _names(params: Any) -> list[Any]:
    """The names of several parameters: keys, or indices in a list; empty if there is only one."""
    if isinstance(params, Mapping):
        return list(params)
    several = isinstance(params, list | tuple) and any(
        isinstance(p, tensor_kinds()) or (isinstance(p, np.ndarray) and p.ndim > 0) for p in params
    )
    return list(range(len(params))) if several else []


def _parts(given: Any, names: list[Any]) -> list[Any]:
    """The arrays of one step, in the order of the names."""
    if not names:
        return [_array(given)]
    if isinstance(given, Mapping) != isinstance(names[0], str) or len(given) != len(names):
        raise ValueError(
            f"compare_update: params has {len(names)} parameters; each step of grads and yours needs "
            "as many arrays, in a list if params is a list, or in a dict with the same names."
        )
    if isinstance(given, Mapping) and set(given) != set(names):
        raise ValueError(
            f"compare_update: the names {list(given)} are not those of params, {names}."
        )
    return [_array(given[name]) for name in names]


def _array(given: object) -> Any:
    return numbers_of(given).copy() if isinstance(given, tensor_kinds()) else given


def _joined(parts: Sequence[Any]) -> Any:
    """All parameters as one vector: these updates are elementwise."""
    return np.concatenate([np.asarray(p).reshape(-1) for p in parts])


def _worst(names: list[Any], parts: Sequence[Difference]) -> tuple[str, Difference]:
    """The parameter that differs most, and its difference."""
    bad = [k for k, d in enumerate(parts) if not d.ok] or range(len(parts))
    k = max(bad, key=lambda k: math.inf if parts[k].absolute is None else parts[k].absolute or 0.0)
    name = names[k] if names else ""
    return (f"params[{name}]" if isinstance(name, int) else str(name)), parts[k]


# ------------------------------------------------------------------ the steps


def run_optimizer(
    optimizer: Callable[..., Any],
    settings: Mapping[str, Any],
    start: Any,
    grads: Sequence[Any],
    new: Callable[[Any], Any] = wrap,
) -> list[Any]:
    """The values after each step of the optimizer, for one array or a list of arrays."""
    if isinstance(start, list):
        return list(stepped(optimizer, settings, start, grads, new))
    return [after for (after,) in stepped(optimizer, settings, [start], [[g] for g in grads], new)]


def stepped(
    make: Callable[..., Any],
    settings: Mapping[str, Any],
    start: Sequence[Any],
    grads: Sequence[Sequence[Any]],
    new: Callable[[Any], Any] = wrap,
) -> Iterator[list[Any]]:
    """The values after each step of an optimizer, or of a class like one; a gradient may be None.

    new    makes a tensor of an array
    """
    ps = [new(np.array(p)).requires_grad_() for p in start]
    each = settings_of_steps(settings, len(grads))
    rate_changes = any(now != each[0] for now in each)
    optimizer = make(ps, **(each[0] if each else settings))
    for now, gs in zip(each, grads, strict=True):
        for p, g in zip(ps, gs, strict=True):
            p.grad = None if g is None else new(np.array(g))
        if rate_changes:
            of = getattr(optimizer, "param_groups", None)
            of[0].update(lr=now["lr"]) if of else setattr(optimizer, "lr", now["lr"])
        optimizer.step()
        yield [p.detach().numpy().copy() for p in ps]


def diagnose_update(
    optimizer: Callable[..., Any],
    settings: dict[str, Any],
    start: Any,
    grads: Sequence[Any],
    yours: Sequence[Any],
    right: Sequence[Any],
    sizes: Sequence[int] = (),
) -> Diagnosis | None:
    """The mistake that gives these values at every step, or None if none is known.

    sizes    the numbers of entries of several parameters, which are joined in one vector
    """
    name = optimizer.__name__

    def same(candidate: Sequence[Any]) -> bool:
        """Are these the student's values, and not the right ones?"""
        n = len(candidate)  # with each rate a step early, there is none for the last step
        return _agree(yours[:n], candidate) and not _agree(candidate, right[:n])

    def steps(slip: Slip) -> list[Any]:
        if name in UPDATES:
            return by_hand(name, start, grads, settings, slip)
        given = changed(settings, grads, slip)  # an optimizer whose steps are not written out
        return run_optimizer(optimizer, given, start, given.pop("grads"))

    with np.errstate(all="ignore"):
        some = [*MISTAKES, counted_for_each(sizes)] if len(sizes) > 1 else MISTAKES
        made = [*AROUND, *(slip for slip in some if name in slip.of.split())]
        found = [slip for slip in made if same(steps(slip))]
        moves = np.diff([start, *right], axis=0)  # the same anywhere, if they do not depend on p
        if same(list(start + moves)):
            found.append(RESTARTED)
        if same([2 * start - p for p in right]):
            found.append(UPHILL)
        found = found or [slip for slip in FACTORS if same(steps(slip))]
        if not found:
            given = {**UPDATES[name][1], **settings} if name in UPDATES else settings
            one = _other_lengths(given, steps, start, grads, yours)
            enough = name in UPDATES and np.size(start) > 1 and len(yours) > 2
            return one or (_two_at_once(made, lambda slip: same(steps(slip))) if enough else None)
    first = found[0]
    also = tuple(dict.fromkeys(slip.kind for slip in found if slip.kind != first.kind))
    return general_diagnosis(first.kind, first.message, first.hint, also)


def _other_lengths(
    settings: Mapping[str, Any],
    steps: Callable[[Slip], list[Any]],
    start: Any,
    grads: Sequence[Any],
    yours: Sequence[Any],
) -> Diagnosis | None:
    """Steps in the right direction, with learning rates of their own; None if they have another direction."""
    given = [now["lr"] for now in settings_of_steps(settings, len(yours)) if "lr" in now]
    if start.size < 2 or len(yours) > 20 or not given:
        return None  # a single number has only one direction
    rates: list[float] = []
    for before, after in pairwise([start, *yours]):
        so_far = {"lr": [*rates, 1.0], "grads": grads[: len(rates) + 1]}
        d = np.diff([start, *steps(Slip("", "", so_far, "", ""))], axis=0)[-1]
        rates.append(float(d @ (after - before) / (d @ d)) if np.any(d) else 0.0)
        if not difference(after, before + rates[-1] * d).ok:
            return None
    yours_, right = (", ".join(f"{rate:.4g}" for rate in some[:6]) for some in (rates, given))
    message = f"The steps have the right direction but the wrong length, as if lr were {yours_} instead of {right}."
    hint = "Look for a factor in front of the step: lr and its schedule, or a bias correction."
    alike = np.ptp(np.divide(rates, given)) < 1e-6
    also = ("bias_correction",) if "betas" in settings else ()
    return general_diagnosis("scale" if alike else "lr_schedule", message, hint, also)


def _two_at_once(slips: Sequence[Slip], gives: Callable[[Slip], bool]) -> Diagnosis | None:
    """The first pair of mistakes that gives the values, if all such pairs have a kind in common."""

    def fits(pair: tuple[Slip, Slip]) -> bool:
        def changes(s: Settings) -> Settings:
            first = changed(s, s["grads"], pair[0])
            return changed(first, first["grads"], pair[1])

        try:
            return gives(pair[0]._replace(changes=changes))
        except MISFITS:  # the second is not possible after the first
            return False

    pairs = in_time(combinations(slips, 2), time.thread_time() + SECONDS)
    found = list(islice(filter(fits, pairs), MANY))
    if not found or not set.intersection(*({one.kind, two.kind} for one, two in found)):
        return None
    one, two = found[0]
    message = f"There are two mistakes. One: {one.message} The other: {two.message}"
    return general_diagnosis(one.kind, message, f"{one.hint} {two.hint}", (two.kind,))


def _agree(some: Iterable[object], others: Iterable[object]) -> bool:
    return all(difference(a, b).ok for a, b in zip(some, others, strict=True))
