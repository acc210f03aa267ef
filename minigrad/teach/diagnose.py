"""Which mistake gives exactly these numbers?

A wrong gradient is compared with what would come out if one thing in the backward pass were
done as students often do it: one rule at one operation changed by one row of the table of
mistakes. A diagnosis is given only if that reproduces the student's array within rounding,
on the actual data. Several rows may give the same numbers; the first in the table is
reported, and `also` names the others. Better silent than false.

    diagnose(z, x, mine)    a Diagnosis, or None

Read uses.py for how the effect of a change is found, and mistakes.py for the table.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.autograd import grad
from minigrad.errors import AutogradError
from minigrad.modes import enable_grad, unobserved
from minigrad.node import Node
from minigrad.teach.difference import as_array, difference, number
from minigrad.teach.mistakes import AT_A_USE, variants
from minigrad.teach.uses import Graph, Use, case_of
from minigrad.tensor import Tensor

SECONDS = 0.8  # the search is given up after this long


@dataclass(frozen=True)
class Diagnosis:
    """The mistake that gives a student's numbers.

    kind       its name in the table of mistakes
    node       the operation of the tape at which it was made; None if at none in particular
    line       the line of code of that operation, like "In [3], line 2", if lines are traced
    message    what the mistake was
    hint       what to do about it
    also       the kinds of other mistakes that would give the same numbers
    """

    kind: str
    node: Node | None
    line: str | None
    message: str
    hint: str
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


def diagnose(
    z: Tensor,
    x: Tensor,
    mine: Any,
    *,
    gradient: Any = None,
    name: str = "the tensor",
    namespace: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Diagnosis | None:
    """Find the mistake that turns the gradient of z by x into `mine`; None if none is known.

    z          the result, whose graph has not been freed
    mine       the gradient that somebody derived by hand
    gradient   dL/dz; ones if left out
    name       what the student calls x
    namespace  the student's names, to recognize tensors by

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> z = (x * x).sin()
    >>> diagnose(z, x, (x.detach() * x.detach()).cos(), name="x").kind
    'forgot_inner'
    """
    if z.node is None or x.node is None:
        return None
    try:
        mine = as_array(mine).astype(np.float64)
        seed = np.ones(z.shape, z.dtype) if gradient is None else as_array(gradient)
        with unobserved(), np.errstate(all="ignore"):
            return _Search(z, x, mine, seed, name, namespace or {}, rtol, atol).run()
    except (AutogradError, TypeError, NotImplementedError):
        return None  # a graph that was freed or spoiled, or no numbers: nothing can be said


def repeated(name: str, mine: Any, kept: Any) -> Diagnosis | None:
    """Where several passes have added up in `.grad`, and the student's array is one of them."""
    kept = as_array(kept)
    try:
        mine = as_array(mine)
    except TypeError:
        return None
    for times in (2, 3, 4, 5):
        if mine.shape == kept.shape and np.any(mine) and difference(times * mine, kept).ok:
            return _nowhere(
                "not_accumulated",
                f"{name}.grad holds {times} times this: backward() ran {times} times, and adds to .grad.",
                f"To begin anew, write  {name}.grad = None  (or zero_grad()) before backward().",
            )
    return None


class _Search:
    """One student's array, and the candidates that it is held against."""

    def __init__(
        self,
        z: Tensor,
        x: Tensor,
        mine: Any,
        seed: Any,
        name: str,
        namespace: Mapping[str, Any],
        rtol: float | None,
        atol: float | None,
    ) -> None:
        assert x.node is not None
        self.z, self.x, self.target, self.mine, self.name = z, x, x.node, mine, name
        self.rtol, self.atol = rtol, atol
        self.graph = Graph(z, seed, namespace, self.target)
        self.right = np.asarray(self.graph.gradients.get(self.target, np.zeros(x.shape, x.dtype)))
        self.until = time.monotonic() + SECONDS

    def same(self, candidate: Any) -> bool:
        """Is this the student's array?"""
        candidate = np.asarray(candidate)
        if candidate.shape != self.mine.shape:
            return False
        # A student computes in the type of the data, or more exactly: that of the data counts.
        mine = self.mine.astype(self.right.dtype) if self.right.dtype.kind == "f" else self.mine
        return bool(difference(mine, candidate, self.rtol, self.atol).ok)

    def run(self) -> Diagnosis | None:
        if self.same(self.right):
            return None
        searches = (
            [self.in_another_shape()]
            if self.mine.shape != self.right.shape
            else [self.accumulated(), self.at_the_uses(), self.turned(), self.noise()]
        )
        found: list[Diagnosis] = []
        for search in searches:
            found += search
            if found:
                break
        found += self.something_else()
        if not found:
            return None
        first = _best(found)
        also = tuple(dict.fromkeys(d.kind for d in found if d.kind != first.kind))
        message = first.message
        if others := [kind for kind in also if kind not in GENERAL]:
            message += f" ({', '.join(others)} would give the same numbers.)"
        return Diagnosis(first.kind, first.node, first.line, message, first.hint, also)

    # ------------------------------------------------------------------ the wrong shape

    def in_another_shape(self) -> Iterator[Diagnosis]:
        """Mistakes that leave an array of the wrong shape."""
        mine, right, x = self.mine, self.right, self.name
        for use in self.graph.paths_to(self.target):
            if use.parent is self.target:
                yield from self.unsummed(use)
        if right.ndim == 2 and self.same(right.T):
            yield _nowhere(
                "transposed",
                f"The gradient of {x} is transposed: it has the shape {mine.shape}, and {x} is {right.shape}.",
                "A gradient has the shape of its tensor. To mend it, write  .T  behind it, or exchange the factors.",
            )
        elif mine.size == right.size and self.same(right.reshape(mine.shape)):
            yield _nowhere(
                "shape",
                f"The numbers are right, but the shape {mine.shape} is not that of {x}, which is {right.shape}.",
                f"To mend it, write  .reshape{right.shape}.",
            )
        elif (
            mine.size == 1
            and right.size > 1
            and difference(np.full(right.shape, mine.reshape(())), right).ok
        ):
            yield _nowhere(
                "shape",
                f"The gradient of {x} is one number here; it should be that number for each entry, {right.shape}.",
                "A gradient has the shape of its tensor, also where all its entries are equal.",
            )

    def unsummed(self, use: Use) -> Iterator[Diagnosis]:
        """Sums that undo a broadcast: left out, or taken along another axis."""
        from minigrad.teach.mistakes import _unsummed

        if use.op is None:
            return
        rest = self.right - use.passed
        wide = (
            _unsummed(use) if use.op.kind == "elementwise" else use.g if use.name == "b" else None
        )
        if wide is None or wide.shape == use.passed.shape:
            return
        axes = _summed_axes(wide.shape, use.passed.shape)
        along = "axis " + ", ".join(map(str, axes))
        if self.same(wide + rest if np.any(rest) else wide):
            yield self.found(
                use,
                "broadcast_not_summed",
                "{x} was broadcast in {op}{line}, to "
                + str(wide.shape)
                + ", and its gradient was not summed back.",
                f"What was repeated along {along} gets the sum along {along} as its gradient.",
            )
            return
        for axis in range(wide.ndim):
            for keepdims in (False, True):
                if [axis] != axes and self.same(wide.sum(axis, keepdims=keepdims)):
                    kind = "reduction_axis" if axis not in axes else "broadcast_not_summed"
                    yield self.found(
                        use,
                        kind,
                        "{x} was broadcast in {op}{line} along "
                        + along
                        + f", and its gradient was summed along axis {axis}.",
                        "Sum along the axes along which the value was repeated, and leave the others.",
                    )
                    return

    # ------------------------------------------------------------------ the right shape

    def accumulated(self) -> Iterator[Diagnosis]:
        """What `.grad` holds after several passes."""
        x = self.name
        kept = self.x.grad if self.x.is_leaf else None
        if kept is not None and not kept.is_sparse and self.same(kept.array):
            yield _nowhere(
                "accumulated_twice",
                f"This is what {x}.grad holds, the sum over several backward passes; the gradient of z is one of them.",
                f"backward() adds to .grad. To mend it, write  {x}.grad = None  (or zero_grad()) before it.",
            )

    def turned(self) -> Iterator[Diagnosis]:
        """A square matrix, transposed."""
        right, x = self.right, self.name
        if right.ndim == 2 and right.shape[0] == right.shape[1] and self.same(right.T):
            yield _nowhere(
                "transposed",
                f"The gradient of {x} is transposed.",
                "Its shape is square and does not tell; the place of each entry does.",
            )

    def at_the_uses(self) -> Iterator[Diagnosis]:
        """The table of mistakes, at every edge that leads to the tensor."""
        target = self.target
        uses = list(self.graph.paths_to(target))
        tried: list[tuple[Any, Diagnosis]] = []
        found = False
        for row in AT_A_USE:
            for use in uses:
                if time.monotonic() > self.until:
                    return
                for variant in variants(row, use):
                    array = np.asarray(variant.array)
                    if array.shape != use.passed.shape:
                        continue
                    change = array - use.passed
                    if not np.any(change):
                        continue
                    effect = change
                    if use.parent is not target:
                        effect = self.graph.walk_back(
                            use.parent, change.astype(use.passed.dtype), target
                        )
                    if effect is None:
                        continue
                    candidate = self.right + effect
                    d = self.found(use, row.kind, row.message.replace("{n}", variant.n), row.hint)
                    if self.same(candidate) and not difference(candidate, self.right).ok:
                        found = True
                        yield d
                    tried.append((candidate, d))
        if not found and self.mine.size >= 4:
            yield from self.with_a_factor(tried)

    def with_a_factor(self, tried: Sequence[tuple[Any, Diagnosis]]) -> Iterator[Diagnosis]:
        """Two mistakes at once: one of the table, and a sign or a factor 2."""
        for factor, words in (
            (-1, "the sign is wrong"),
            (2, "all is doubled"),
            (0.5, "all is halved"),
        ):
            for candidate, d in tried:
                if (
                    d.kind not in ("sign", "scale", "mean_for_sum")
                    and np.any(candidate)
                    and self.same(factor * candidate)
                ):
                    yield Diagnosis(
                        d.kind, d.node, d.line, f"Two mistakes: {words}, and: {d.message}", d.hint
                    )
                    return

    def something_else(self) -> Iterator[Diagnosis]:
        """Other quantities in the place of the gradient."""
        x = self.name
        for node, g in self.graph.gradients.items():
            other = self.graph.names.get(node)
            if other is None or node is self.target or _tells_nothing(g):
                continue
            if self.same(g):
                yield _nowhere(
                    "other_variable",
                    f"This is the gradient of {other}, not of {x}.",
                    "Check which tensor each result belongs to.",
                )
                break
        tangent = self.tangent()
        if tangent is not None and not _tells_nothing(tangent) and self.same(tangent):
            yield _nowhere(
                "tangent_for_gradient",
                f"This is J @ v, how z moves along {x} (forward mode), where v @ J was asked for (reverse mode).",
                "The gradient sums over the entries of z, a tangent over those of the input: J is transposed.",
            )

    def tangent(self) -> Any:
        """J @ ones: how z moves if every entry of x does."""
        try:
            with enable_grad():
                u = Tensor(np.ones(self.z.shape, self.z.dtype)).requires_grad_()
                (g,) = grad(self.z, self.x, u, retain_graph=True, create_graph=True)
                if g is None or not g.requires_grad:
                    return None
                (v,) = grad(
                    g, u, Tensor(np.ones(g.shape, g.dtype)), retain_graph=True, allow_unused=True
                )
            return None if v is None else v.array
        except (AutogradError, NotImplementedError, RuntimeError):
            return None

    def noise(self) -> Iterator[Diagnosis]:
        """Right to some digits, but no more."""
        if self.mine.shape != self.right.shape or not self.right.size:
            return
        size = float(np.max(np.abs(self.right)))
        error = float(np.max(np.abs(self.mine - self.right)))
        if size > 0 and 0 < error <= 1e-3 * size:
            digits = int(-np.log10(error / size))
            yield _nowhere(
                "finite_difference_noise",
                f"The numbers are right to about {digits} digits, as finite differences or rounded numbers are.",
                f"The greatest difference is {number(error, 2)}. Derive the formula, or compare with a tolerance.",
            )

    def found(self, use: Use, kind: str, message: str, hint: str) -> Diagnosis:
        """A diagnosis at a use, in words."""
        op = use.node.name().removesuffix("Backward")
        op = f"the in-place {op}" if use.node.wrote else op
        line = use.place.label if use.place is not None else None
        words = message.replace("{x}", self.name).replace("{op}", op)
        words = words.replace("{line}", f" ({line})" if line else "")
        if message.startswith("{op}"):
            words = words[:1].upper() + words[1:]
        return Diagnosis(kind, use.node, line, words, hint)


# What names only a factor, or a step left out: true of many a mistake that has a better name.
GENERAL = {"sign", "scale", "upstream_only", "upstream_ignored", "transposed", "shape"}
MINUS = {"sub", "neg", "div", "reciprocal", "cos", "rsqrt", "rsub", "sigmoid", "tanh"}
FACTOR = {"pow", "square", "mean", "sum", "mse_loss", "norm", "sqrt"}


def _best(found: list[Diagnosis]) -> Diagnosis:
    """The first; of several places for a sign or a factor, the operation that has one."""
    first = found[0]
    if first.kind not in ("sign", "scale") or first.node is None:
        return first
    same = [d for d in found if d.kind == first.kind]
    likely = MINUS if first.kind == "sign" else FACTOR
    for d in same:
        case = case_of(d.node) if d.node is not None else None
        if getattr(getattr(case, "op", None), "name", "") in likely:
            return d
    return first


def _nowhere(kind: str, message: str, hint: str) -> Diagnosis:
    return Diagnosis(kind, None, None, message, hint)


def _tells_nothing(g: Any) -> bool:
    """No array, or all entries alike (many gradients are), or a number that anything may give."""
    if not isinstance(g, np.ndarray | np.generic):
        return True
    g = np.asarray(g)
    if g.size <= 1:
        return not g.size or float(g.reshape(())) in (0.0, 1.0, -1.0)
    return bool(np.all(g == g.reshape(-1)[0]))


def _summed_axes(wide: tuple[int, ...], narrow: tuple[int, ...]) -> list[int]:
    extra = len(wide) - len(narrow)
    return [
        *range(extra),
        *(k + extra for k, n in enumerate(narrow) if n == 1 and wide[k + extra] != 1),
    ]
