"""Mistakes that show in the gradient as a whole, not at one operation.

    WRONG_SHAPE    the right numbers in a wrong shape
    BROADCAST      a broadcast that was not summed back
    KEPT           what .grad holds after several backward passes
    IN_ALL         a sign or a factor in front of all; another quantity than was asked for
    STOPPED        the chain rule, stopped several steps too early

These are tables. A function of a row yields, for each place where the mistake gives exactly the
student's numbers, what its message names: `use`, the place, and words. Read answer.py first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from minigrad.autograd import grad
from minigrad.core.errors import AutogradError
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.modes import enable_grad
from minigrad.core.tensor import wrap
from minigrad.teach.answer import Answer, Diagnosis, nowhere
from minigrad.teach.difference import difference, real_array
from minigrad.teach.mistakes import inside_a_curve, one_number
from minigrad.teach.uses import Use

Words = dict[str, Any]  # what Answer.found is given beside the row
Row = tuple[str, Callable[[Answer], Iterator[Words]], str, str]


def named(a: Answer, rows: Iterable[Row]) -> Iterator[Diagnosis]:
    """The diagnoses of those rows whose mistake gives the student's numbers."""
    for kind, places, message, hint in rows:
        for words in places(a):
            yield a.found(**{"kind": kind, "message": message, "hint": hint, **words})


# ------------------------------------------------------------------ shapes


def shapes(a: Answer) -> Iterator[Diagnosis]:
    """Mistakes that leave an array of the wrong shape; of those in WRONG_SHAPE the first."""
    yield from named(a, BROADCAST)
    for kind, fits, message, hint in WRONG_SHAPE:
        n = fits(a)
        if n is not None:
            mine, right = str(a.mine.shape), str(a.right.shape)
            found = a.found(kind, message, hint, n=n, mine=mine, right=right)
            yield found if kind == "shape" else replace(found, also=("shape",))
            return


def _matrix_turned(a: Answer) -> str | None:
    return "" if a.right.ndim == 2 and a.same(a.right.T) else None


def _axes_exchanged(a: Answer) -> str | None:
    """The order of axes that turns the student's array into the right one."""
    if a.right.ndim not in (3, 4) or sorted(a.mine.shape) != sorted(a.right.shape):
        return None
    orders = permutations(range(a.right.ndim))
    return next((str(k) for k in orders if a.equal(a.mine.transpose(k), a.right)), None)


def _other_shape(a: Answer) -> str | None:
    return "" if a.mine.size == a.right.size and a.same(a.right.reshape(a.mine.shape)) else None


def _jacobian(a: Answer) -> str | None:
    whole = a.right.ndim and a.mine.shape == (*a.z.shape, *a.right.shape)
    return "" if whole and a.same_contracted(a.mine) else None


def _repeats(a: Answer) -> str | None:
    """Does the right gradient only repeat the student's numbers along some axes?"""
    missing = a.right.ndim - a.mine.ndim
    if missing < 0 or a.mine.size >= a.right.size:
        return None
    for axes in combinations(range(a.right.ndim), missing):
        mine = np.expand_dims(a.mine, axes)
        if all(n in (1, m) for n, m in zip(mine.shape, a.right.shape, strict=True)):
            if a.equal(np.broadcast_to(mine, a.right.shape), a.right):
                return "one number" if a.mine.size == 1 else f"of the shape {a.mine.shape}"
    return None


# What is told from the arrays alone: the first that fits. A function gives words for {n}, or None.
WRONG_SHAPE = [
    ("transposed", _matrix_turned,
     "The gradient of {x} is transposed: it has the shape {mine}, and {x} is {right}.",
     "A gradient has the shape of its tensor. To fix it, write  .T  behind it, or exchange the factors."),
    ("transposed", _axes_exchanged,
     "The axes of the gradient of {x} are exchanged: it has the shape {mine}, and {x} is {right}.",
     "A gradient has the shape of its tensor. To fix it, write  .transpose{n}  behind it."),
    ("shape", _other_shape,
     "The numbers are right, but the shape {mine} is not that of {x}, which is {right}.",
     "To fix it, write  .reshape{right}."),
    ("shape", _jacobian,
     "This is the whole Jacobian, of the shape {mine}; the gradient of {x} has the shape {right}.",
     "Multiply by dL/dz, and sum over the axes of z."),
    ("shape", _repeats,
     "The gradient of {x} is {n} here; it should be the same for each entry, {right}.",
     "A gradient has the shape of its tensor, also where its entries repeat."),
]  # fmt: skip


# ------------------------------------------------------------------ broadcasts


_PICKING = ("getitem", "gather", "index_select", "embedding", "diagonal", "take_along_dim")


def _not_put_back(a: Answer) -> Iterator[Words]:
    for use in a.graph.paths:
        if use.parent is a.target and use.op_name in _PICKING and a.same(use.g):
            yield {"use": use}


class _Broadcast(NamedTuple):
    """A use where something was broadcast: what comes back before it is summed, and along which axes."""

    use: Use
    wide: Any
    axes: list[int]

    def left_out(self, a: Answer) -> bool:
        """Was nothing summed at all?"""
        use, wide, mine = self.use, self.wide, a.mine
        rest = a.right - use.passed if use.parent is a.target else 0
        if use.op_name == "convolution" and np.ndim(rest):
            rest = np.reshape(rest, (-1, *[1] * (wide.ndim - 2)))  # a number for each channel
        if mine.size == wide.size and mine.shape[-1:] == wide.shape[-1:]:
            mine = mine.reshape(wide.shape)  # a layer may treat several axes of examples as one
        return any(a.equal(mine, d + rest) for d in _carried(a, use, wide))


def _broadcasts(a: Answer) -> Iterator[_Broadcast]:
    for use in a.graph.paths:
        bias = use.op_name == "convolution" and use.name == "b"
        wide = use.g if bias else use.wide()
        if wide is not None:
            summed = [0, *range(2, wide.ndim)]
            axes = summed if bias else _summed_axes(wide.shape, use.passed.shape)
            yield _Broadcast(use, wide, axes)


def _left_out(a: Answer) -> Iterator[Words]:
    for b in _broadcasts(a):
        if b.left_out(a):
            yield {"use": b.use, "wide": str(b.wide.shape), "along": _in_words(b.axes)}


def _along_other_axes(a: Answer) -> Iterator[Words]:
    for use, wide, axes in (b for b in _broadcasts(a) if b.wide.ndim <= 4 and not b.left_out(a)):
        some = (s for n in range(1, wide.ndim + 1) for s in combinations(range(wide.ndim), n))
        for summed in (s for s in some if list(s) != axes):
            totals = [wide.sum(summed, keepdims=keepdims) for keepdims in (False, True)]
            if any(a.same(d) for total in totals for d in _carried(a, use, total)):
                kind = "broadcast_not_summed" if set(summed) < set(axes) else "reduction_axis"
                along, done = _in_words(axes), _in_words(summed)
                yield {"kind": kind, "use": use, "along": along, "done": done}
                break


def _in_words(axes: Sequence[int]) -> str:
    return ("axis " if len(axes) == 1 else "axes ") + ", ".join(map(str, axes))


def _never_summed(a: Answer) -> Iterator[Words]:
    """A tensor that was broadcast at each of several uses, and summed back at none."""
    uses = [u for u in a.graph.paths if u.parent is a.target]
    wides = [_wide_of_a_use(a, u) for u in uses]
    if len(uses) < 2 or any(w is None or w.shape != a.mine.shape for w in wides):
        return
    if a.same(sum(wides)):
        yield {"use": uses[0], "wide": str(a.mine.shape)}


def _examples_not_summed(a: Answer) -> Iterator[Words]:
    """x @ w, with one row of x for each example: the part of each example, and not their sum."""
    for use in a.graph.paths:
        x = use.values.get("x")
        if use.parent is not a.target or use.name != "y" or x is None or np.ndim(x) != 2:
            continue
        if use.op_name not in ("matmul", "mv", "mm") or use.fan_in > 1:
            continue
        each = x[:, :, None] * use.g[:, None] if use.g.ndim == 2 else x * use.g[:, None]
        if a.mine.shape == each.shape and a.same(each):
            yield {"use": use, "n": str(len(x))}


def _wide_of_a_use(a: Answer, use: Use) -> Any:
    """What comes back at a use before it is summed, also if a function is between: x.exp() * y."""
    if (wide := use.wide()) is not None:
        return wide
    above = [u for u in a.graph.uses if u.parent is use.node]
    if len(above) == 1 and (wide := above[0].wide()) is not None:
        return next((d for d in list(_carried(a, above[0], wide))[1:]), None)
    return None


def _carried(a: Answer, use: Use, wide: Any) -> Iterator[Any]:
    """The array in its wrong shape, and what further rules make of it on the way to x."""
    parent = use.parent
    while wide is not None:
        yield wide
        onward = [u for u in a.graph.paths if u.node is parent]
        if parent is a.target or len(onward) != 1 or not onward[0].elementwise:
            return
        try:
            wide, parent = onward[0].formula(wide), onward[0].parent
        except ValueError:  # this shape goes with the values no longer
            return


def _summed_axes(wide: tuple[int, ...], narrow: tuple[int, ...]) -> list[int]:
    extra = len(wide) - len(narrow)
    kept = [k + extra for k, n in enumerate(narrow) if n == 1 and wide[k + extra] != 1]
    return [*range(extra), *kept]


BROADCAST: list[Row] = [
    ("broadcast_not_summed", _left_out,
     "What comes from {x} was broadcast in {op}{line}, to {wide}, and its gradient was not summed back.",
     "What was repeated along {along} gets the sum along {along} as its gradient."),
    ("reduction_axis", _along_other_axes,
     "What comes from {x} was broadcast in {op}{line} along {along}, and its gradient was summed along {done}.",
     "Sum along the axes along which the value was repeated, and leave the others."),
    ("index_not_scattered", _not_put_back,
     "This is the gradient of the entries that {op}{line} picked, and was not put back into place.",
     "Begin with zeros like {x}, and add each part at its index."),
    ("broadcast_not_summed", _never_summed,
     "{x} was broadcast in {op}{line} and at its other uses, to {wide}, and its gradient was not summed back.",
     "What was repeated along an axis gets the sum along that axis as its gradient."),
    ("broadcast_not_summed", _examples_not_summed,
     "These are {n} parts, one for each row of the factor before {x}{line}: they were not summed.",
     "{x} is used for every row, and gets the sum over the rows as its gradient."),
]  # fmt: skip


# ------------------------------------------------------------------ .grad and factors


def _accumulated(a: Answer) -> Iterator[Words]:
    """What `.grad` holds after several passes."""
    left = a.x.grad if a.x.is_leaf else None
    if left is not None and not left.is_sparse:
        if any(a.gives(g) for g in (left.array, left.array + a.right)):
            yield {}


KEPT: list[Row] = [
    ("accumulated_twice", _accumulated,
     "This is the sum over several backward passes, as it stands in {x}.grad; the gradient of z is one of them.",
     "backward() adds to .grad. To fix it, write  {x}.grad = None  (or zero_grad()) before it."),
]  # fmt: skip


def repeated(name: str, mine: Any, kept: Any) -> Diagnosis | None:
    """Where several passes have added up in `.grad`, and the student's array is one of them."""
    kept = real_array(kept)
    try:
        mine = real_array(mine)
    except TypeError:
        return None
    if mine.shape != kept.shape or not np.any(mine):
        return None
    for times in (2, 3, 4, 5):
        if difference(times * mine, kept).ok:
            return nowhere(
                "not_accumulated",
                f"{name}.grad holds {times} times this: backward() ran {times} times, and adds to .grad.",
                f"To begin anew, write  {name}.grad = None  (or zero_grad()) before backward().",
            )
        if difference(mine, times * kept).ok:
            return nowhere(
                "accumulated_twice",
                f"This is {times} times what {name}.grad holds, as if backward() had run {times} times.",
                "Each backward pass adds to .grad once.",
            )
    return None


def _opposite(a: Answer) -> Iterator[Words]:
    if np.any(a.right) and a.same(-a.right):
        yield {}


def _scaled(a: Answer) -> Iterator[Words]:
    """A factor in front of all: 2, or a number of entries, unless that may give it by chance."""
    sizes = {n for n in (*a.right.shape, a.right.size, *a.z.shape, a.z.array.size) if n > 2}
    for n in (2, *sorted(() if one_number(a.right) else sizes)):
        for times, words in ((n, str(n)), (1 / n, f"1/{n}")):
            if np.any(a.right) and a.same(times * a.right):
                also = ("accumulated_twice",) if times == 2 and a.x.is_leaf else ()
                yield {"n": words, "also": also}
                return


def _square_transposed(a: Answer) -> Iterator[Words]:
    if a.right.ndim == 2 and a.gives(a.right.T):
        yield {}


# ------------------------------------------------------------------ other quantities


def _from_above(a: Answer) -> Iterator[Words]:
    seed = a.graph.seed
    if a.mine.shape == seed.shape and not tells_nothing(seed) and a.same(seed):
        yield {}


def _of_another_tensor(a: Answer) -> Iterator[Words]:
    for node, g in a.graph.gradients.items():
        if node in (a.graph.root, a.target):
            continue
        leaf = isinstance(node, AccumulateGrad)
        name = a.graph.names.get(node)
        if name is None and leaf:
            name = f"another tensor, of the shape {tuple(node.variable.shape)}"
        if name is not None and not tells_nothing(g) and a.same(g):
            yield {"n": name, "node": None if leaf else node}
            return


def _tangent(a: Answer) -> Iterator[Words]:
    """Forward mode, along ones or along the gradient that was given."""
    seed = a.graph.seed
    directions = [np.ones(a.x.shape, a.x.dtype)]
    if np.shape(seed) == a.x.shape and np.any(seed != 1):
        directions.append(np.asarray(seed))
    for k, v in enumerate(directions):
        pushed = _jvp(a, v)
        if pushed is None or tells_nothing(pushed):
            continue
        if a.same(pushed) or (k == 0 and np.any(seed != 1) and a.same(pushed * seed)):
            yield {}
            return


def _jvp(a: Answer, v: Any) -> Any:
    """J @ v, by differentiating v @ J once more; None if that cannot be done."""
    try:
        with enable_grad():
            u = wrap(np.ones(a.z.shape, a.z.dtype)).requires_grad_()
            (g,) = grad(a.z, a.x, u, retain_graph=True, create_graph=True)
            if g is None or not g.requires_grad:
                return None
            (pushed,) = grad(g, u, wrap(np.asarray(v)), retain_graph=True, allow_unused=True)
        return None if pushed is None else pushed.array
    except (AutogradError, NotImplementedError, RuntimeError):
        return None


def tells_nothing(g: Any) -> bool:
    """No array, or all entries alike (many gradients are), or a number that anything may give."""
    if not isinstance(g, np.ndarray | np.generic):
        return True
    g = np.asarray(g)
    if g.size <= 1:
        return not g.size or float(g.reshape(())) in (0.0, 1.0, -1.0)
    return bool(np.all(g == g.reshape(-1)[0]))


IN_ALL: list[Row] = [
    ("sign", _opposite, "The gradient of {x} has the opposite sign.", "Look for a minus sign."),
    ("scale", _scaled,
     "The gradient of {x} is {n} times what it should be.",
     "Look for a factor that all its parts have in common."),
    ("transposed", _square_transposed,
     "The gradient of {x} is transposed.",
     "Its shape is square and does not tell; the place of each entry does."),
    ("upstream_only", _from_above,
     "This is the gradient that comes from above, passed on to {x} as it is.",
     "Multiply it by the derivative of each operation on the way."),
    ("other_variable", _of_another_tensor,
     "This is the gradient of {n}, not of {x}.",
     "Check which tensor each result belongs to."),
    ("tangent_for_gradient", _tangent,
     "This is J @ v, how z moves along {x} (forward mode), where v @ J was asked for (reverse mode).",
     "The gradient sums over the entries of z, a tangent over those of the input: J is transposed."),
]  # fmt: skip


def _stopped(a: Answer, inside: bool) -> Iterator[Words]:
    """The gradient of a result on the way: for exp(-x**2), that of -x**2."""
    gradients = a.graph.gradients
    given = (u for u in a.graph.paths if u.parent is not a.target and a.gives(gradients[u.node]))
    use = next((u for u in given if not tells_nothing(gradients[u.node])), None)
    if use is not None and inside_a_curve(use) == inside:
        yield {"use": use}


STOPPED: list[Row] = [
    ("forgot_inner", partial(_stopped, inside=True),
     "The derivatives from {op}{line} on, down to {x}, are missing: the chain rule stops at the outer function.",
     "Multiply by the derivative of each function further in as well."),
    ("upstream_only", partial(_stopped, inside=False),
     "The derivatives from {op}{line} on, down to {x}, are missing: what comes from above is passed on as it is.",
     "Multiply it by the derivative of each operation on the way."),
]  # fmt: skip
