"""An optimizer step derived by hand, beside the optimizer's own.

    compare_update(optim.SGD, dict(lr=0.1, momentum=0.9), params=p0, grads=[g1, g2], yours=[p1, p2])

runs the optimizer over the same gradients, says at which step the two part, and looks for
the mistake that gives exactly the student's numbers at every step: the same update with one
thing done as the literature, another library, or a tired student does it (steps_by_hand.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.teach.diagnose import Diagnosis
from minigrad.teach.difference import Verdict, difference, magnitude, number, position
from minigrad.teach.report import Report
from minigrad.teach.steps_by_hand import MISTAKES, UPDATES, Steps, rates_of
from minigrad.tensor import Tensor


@dataclass(frozen=True)
class UpdateRow:
    """One step of an optimizer.

    step       the number of the step, from 1
    verdict    exact, close, different, wrong shape, not an array
    diagnosis  the mistake that gives the student's numbers at all steps; at the first row
               that differs
    """

    step: int
    verdict: Verdict
    absolute: float | None
    index: tuple[int, ...] | None
    yours: float | None
    optimizer: float | None
    note: str = ""
    diagnosis: Diagnosis | None = None

    @property
    def ok(self) -> bool:
        return self.verdict in ("exact", "close")

    def cells(self) -> tuple[str, ...]:
        different = self.verdict == "different"
        return (
            str(self.step),
            self.verdict,
            magnitude(self.absolute, self.verdict),
            position(self.index) if different else "",
            number(self.yours) if different else "",
            number(self.optimizer) if different else "",
        )


class UpdateComparison(Report[UpdateRow]):
    """The steps of a comparison; true if every one of them agrees."""

    header = ("step", "verdict", "abs. diff.", "at", "yours", "optimizer")

    @property
    def parts_at(self) -> int | None:
        """The first step at which the two differ; None if they never do."""
        return next((row.step for row in self.rows if not row.ok), None)

    @property
    def diagnosis(self) -> Diagnosis | None:
        return next((row.diagnosis for row in self.rows if row.diagnosis), None)


def compare_update(
    optimizer: Callable[..., Any],
    settings: Mapping[str, Any],
    *,
    params: Any,
    grads: Sequence[Any],
    yours: Sequence[Any],
    rtol: float | None = None,
    atol: float | None = None,
) -> UpdateComparison:
    """Compare the steps of an optimizer that were computed by hand with its own.

    optimizer   optim.SGD, optim.Adam, ...: the class
    settings    its settings, like dict(lr=0.1, momentum=0.9); lr may be a list, one for each step
    params      the values before the first step
    grads       one gradient for each step, shaped like params
    yours       the values after each step, computed by hand

    Raises ValueError if there are not as many results as gradients.

    >>> import numpy as np
    >>> from minigrad import optim
    >>> report = compare_update(
    ...     optim.SGD, {"lr": 0.1}, params=[1.0], grads=[[2.0], [3.0]], yours=[[1.2], [1.5]])
    >>> report.parts_at, report.diagnosis.kind
    (1, 'sign')
    """
    if len(grads) != len(yours):
        raise ValueError(
            f"compare_update: there are {len(grads)} gradients and {len(yours)} results; each step has one of both."
        )
    start = np.asarray(getattr(params, "array", params), dtype=np.float64)
    gs = [np.asarray(getattr(g, "array", g), dtype=np.float64) for g in grads]
    right = run_optimizer(optimizer, settings, start, gs)
    differences = [
        difference(mine, theirs, rtol, atol) for mine, theirs in zip(yours, right, strict=True)
    ]
    first = next((k for k, d in enumerate(differences) if not d.ok), None)
    found = None
    if first is not None and all(d.verdict in ("exact", "close", "different") for d in differences):
        arrays = [np.asarray(getattr(p, "array", p), dtype=np.float64) for p in yours]
        found = diagnose_update(optimizer.__name__, dict(settings), start, gs, arrays, right)
    rows = []
    for k, d in enumerate(differences):
        here = found if k == first else None
        rows.append(
            UpdateRow(
                k + 1, d.verdict, d.absolute, d.index, d.mine, d.theirs,
                note="; ".join(text for text in (d.reason, str(here) if here else "") if text),
                diagnosis=here,
            )
        )  # fmt: skip
    name = optimizer.__name__
    agree = sum(row.ok for row in rows)
    parts = "" if first is None else f"; the two part at step {first + 1}"
    return UpdateComparison(
        f"compare_update: {agree} of {len(rows)} steps agree with {name}{parts}", rows
    )


def run_optimizer(
    optimizer: Callable[..., Any], settings: Mapping[str, Any], start: Any, grads: Sequence[Any]
) -> list[Any]:
    """The values after each step of the optimizer itself."""
    p = Tensor(start.copy()).requires_grad_()
    rates = rates_of(settings["lr"], len(grads)) if "lr" in settings else []
    opt = optimizer([p], **{**settings, **({"lr": rates[0]} if rates else {})})
    after = []
    for k, g in enumerate(grads):
        p.grad = Tensor(g)
        if rates:
            opt.param_groups[0]["lr"] = rates[k]
        opt.step()
        after.append(p.detach().numpy().copy())
    return after


def diagnose_update(
    name: str,
    settings: dict[str, Any],
    start: Any,
    grads: Sequence[Any],
    yours: Sequence[Any],
    right: Sequence[Any],
) -> Diagnosis | None:
    """The mistake that gives these values at every step, or None if none is known."""
    update = UPDATES.get(name)
    if update is None:
        return None
    with np.errstate(all="ignore"):
        found = [
            Diagnosis(kind, None, None, message, hint)
            for wrong, kind, message, hint in MISTAKES
            if _same(yours, update(start, grads, settings, wrong), right)
        ]
        if _same(yours, update(start, [-g for g in grads], settings), right):
            found.append(
                Diagnosis("sign", None, None, "The steps go up the gradient.", "Subtract the step.")
            )
    if not found:
        return None
    first = found[0]
    also = tuple(dict.fromkeys(d.kind for d in found if d.kind != first.kind))
    return Diagnosis(first.kind, None, None, first.message, first.hint, also)


def _same(yours: Sequence[Any], candidate: Steps, right: Sequence[Any]) -> bool:
    """Are these the student's values, and not the right ones?"""
    return all(difference(a, b).ok for a, b in zip(yours, candidate, strict=True)) and any(
        not difference(a, b).ok for a, b in zip(candidate, right, strict=True)
    )
