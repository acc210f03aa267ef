"""Mistakes that show in the gradient as a whole, not at one operation.

    WRONG_SHAPE    the right numbers in a wrong shape
    BROADCAST      a broadcast that was not summed back
    KEPT           what .grad holds after several backward passes
    IN_ALL         a sign or a factor of the whole gradient; a different quantity
    SUBSTITUTED    another tensor's value in a derivative
    STOPPED        tried last: entries in another order, another sign, or the gradient of another step

These are tables, with a function for each mistake. For a place where the mistake gives exactly the
student's numbers, the function yields arguments for Answer.found: `use`, the place, and words for
the message. One place is enough, unless it was added with several=True. Students read its
docstring. Read mistakes.py first.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations, islice, permutations, product
from typing import Any, NamedTuple

import numpy as np

from minigrad.autograd import grad
from minigrad.core.errors import AutogradError
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.modes import enable_grad
from minigrad.core.tensor import wrap
from minigrad.teach.answer import Answer, Diagnosis, general_diagnosis
from minigrad.teach.difference import Array, difference, real_array
from minigrad.teach.mistakes import (
    PRODUCTS,
    fraction_of,
    inside_a_curve,
    logarithm_of_a_base,
    message_and_hint,
    one_number,
)
from minigrad.teach.uses import MISFITS, Use, constant_factor, has_hooks

Places = Iterator[dict[str, Any]]
Search = Callable[[Answer], Places]
Table = list[tuple[str, Search, bool]]  # kind, function, whether we look for several places

WRONG_SHAPE: Table = []
BROADCAST: Table = []
KEPT: Table = []
IN_ALL: Table = []
SUBSTITUTED: Table = []
STOPPED: Table = []

RESULTS = 5  # the number of other results whose gradients we try
NEAREST = 40  # the number of uses at which we try the values of other tensors


def mistake_in(table: Table, kind: str, several: bool = False) -> Callable[[Search], Search]:
    """Add a function to a table, as a mistake of this kind; several: are all of its places diagnoses?"""

    def add(search: Search) -> Search:
        table.append((kind, search, several))
        return search

    return add


def recognized(a: Answer, table: Table) -> Iterator[Diagnosis]:
    """The diagnoses of those mistakes in a table that give the student's numbers."""
    for kind, search, several in table:
        with suppress(*MISFITS):
            for words in islice(search(a), None if several else 1):
                yield a.found(*message_and_hint(search), **{"kind": kind, **words})


# ------------------------------------------------------------------ shapes


def shapes(a: Answer) -> Iterator[Diagnosis]:
    """Mistakes that give an array of the wrong shape; from WRONG_SHAPE, only the first."""
    yield from recognized(a, BROADCAST)
    yield from islice(recognized(a, WRONG_SHAPE), 1)


@mistake_in(WRONG_SHAPE, "transposed")
def _axes_exchanged(a: Answer) -> Places:
    """The gradient of {x} is transposed: its shape is {mine}, and the shape of {x} is {right}.

    A gradient has the shape of its tensor. To fix it, append  {n},  or swap the factors.
    """
    if 2 <= a.right.ndim <= 4 and sorted(a.mine.shape) == sorted(a.right.shape):
        for order in permutations(range(a.right.ndim)):
            if a.equal(a.mine.transpose(order), a.right):
                n = ".T" if a.right.ndim == 2 else f".transpose{order}"
                yield {"n": n, "also": ("shape",)}


@mistake_in(WRONG_SHAPE, "shape")
def _other_shape(a: Answer) -> Places:
    """The numbers are right, but the shape {mine} is not that of {x}, which is {right}.

    To fix it, write  .reshape{right}.
    """
    if a.mine.size == a.right.size and a.same(a.right.reshape(a.mine.shape)):
        yield {}


@mistake_in(WRONG_SHAPE, "shape")
def _with_the_padding(a: Answer) -> Places:
    """The gradient of the padding was not cut off: the shape is {mine}, and that of {x} is {right}.

    Cut off as many entries on each side as the padding has added.
    """
    if a.mine.ndim == a.right.ndim:
        sizes = zip(a.mine.shape, a.right.shape, strict=True)
        inside = tuple(slice((m - n) // 2, (m - n) // 2 + n) for m, n in sizes if m >= n)
        if a.equal(a.mine[inside], a.right):
            yield {}


@mistake_in(WRONG_SHAPE, "shape")
def _jacobian(a: Answer) -> Places:
    """This is the whole Jacobian, of the shape {mine}; the gradient of {x} has the shape {right}.

    Multiply by the gradient that arrives at {z}, and sum over the axes of {z}.
    """
    if a.right.ndim and a.mine.shape == (*a.z.shape, *a.right.shape):
        seed = np.broadcast_to(a.graph.seed, a.z.shape)
        if a.equal(np.tensordot(seed, a.mine, a.z.array.ndim), a.right):
            yield {}


@mistake_in(WRONG_SHAPE, "shape")
def _repeats(a: Answer) -> Places:
    """The gradient of {x} is {n} here; it should be the same for each entry, {right}.

    A gradient has the shape of its tensor, even where its entries repeat.
    """
    # Does the right gradient only repeat the student's numbers along some axes?
    missing = a.right.ndim - a.mine.ndim
    if missing < 0 or a.mine.size >= a.right.size:
        return
    for axes in combinations(range(a.right.ndim), missing):
        mine = np.expand_dims(a.mine, axes)
        if all(n in (1, m) for n, m in zip(mine.shape, a.right.shape, strict=True)):
            if a.equal(np.broadcast_to(mine, a.right.shape), a.right):
                shape = f"of the shape {a.mine.shape}"
                yield {"n": "one number" if a.mine.size == 1 else shape}


# ------------------------------------------------------------------ broadcasts


SOFT = ("softmax", "log_softmax", "logsumexp")
REPEATED = ("sum", "mean")  # the gradient of their result is repeated for each entry
_PICKING = ("getitem", "gather", "index_select", "embedding", "diagonal")


@mistake_in(BROADCAST, "index_not_scattered")
def _not_put_back(a: Answer) -> Places:
    """This is the gradient of the entries that {op}{line} picked. It was not put back into place.

    Begin with zeros like {x}, and add each part at its index.
    """
    for use in a.graph.paths:
        if use.parent is a.target and use.op_name in _PICKING and a.same(use.g):
            yield {"use": use}


class _Broadcast(NamedTuple):
    """A use where something was broadcast: the gradient before it is summed, and the axes to sum."""

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
        return any(a.equal(mine, d + rest) for _, d in _carried(a, use, wide))


def _broadcasts(a: Answer) -> Iterator[_Broadcast]:
    for use in a.graph.paths:
        if (wide := use.wide()) is not None:
            yield _Broadcast(use, wide, use.summed_axes(wide))


@mistake_in(BROADCAST, "broadcast_not_summed", several=True)
def _left_out(a: Answer) -> Places:
    """A value that depends on {x} was broadcast to {wide} in {op}{line}, and its gradient was not
    summed.

    For a value that was repeated along {along}, sum the gradient along {along}.
    """
    for b in _broadcasts(a):
        if b.left_out(a):
            yield {"use": b.use, "wide": str(b.wide.shape), "along": _in_words(b.axes)}


@mistake_in(BROADCAST, "reduction_axis", several=True)
def _along_other_axes(a: Answer) -> Places:
    """A value that depends on {x} was broadcast along {along} in {op}{line}, and its gradient was
    summed along {done}.

    Sum along the axes along which the value was repeated, and no others.
    """
    for use, wide, axes in (b for b in _broadcasts(a) if b.wide.ndim <= 4 and not b.left_out(a)):
        some = (s for n in range(1, wide.ndim + 1) for s in combinations(range(wide.ndim), n))
        for summed in (s for s in some if list(s) != axes):
            totals = [wide.sum(summed, keepdims=keepdims) for keepdims in (False, True)]
            if any(a.same(d) for total in totals for _, d in _carried(a, use, total)):
                kind = "broadcast_not_summed" if set(summed) < set(axes) else "reduction_axis"
                along, done = _in_words(axes), _in_words(summed)
                yield {"kind": kind, "use": use, "along": along, "done": done}
                break


def _in_words(axes: Sequence[int]) -> str:
    return ("axis " if len(axes) == 1 else "axes ") + ", ".join(map(str, axes))


@mistake_in(SUBSTITUTED, "broadcast_not_summed")
def _not_summed_before_a_reduction(a: Answer) -> Places:
    """A value that depends on {x} was broadcast to {wide} in {op}{line}, and its gradient was not
    summed before it was passed back through {n}.

    Every copy of the value counts for each entry of {x}: first sum along {along}, then repeat.
    """
    # The shapes do not show it: what was not summed has the shape that comes next.
    for use, wide, axes in _broadcasts(a):
        both = zip(_carried(a, use, wide), _carried(a, use, use.passed), strict=False)
        for (node, unsummed), (_, right) in both:
            for after in (u for u in a.graph.paths if u.node is node and u.op_name in REPEATED):
                share, d = after.share(), after.rule(right)
                if share is None or d is None or share.shape != np.shape(unsummed):
                    continue
                changed = a.graph.changes({after.parent: share * unsummed - d})
                if a.gives(a.right + changed.get(a.target, 0)):
                    words = {"wide": str(wide.shape), "along": _in_words(axes)}
                    yield {"use": use, "n": after.op_name, **words}


@mistake_in(BROADCAST, "broadcast_not_summed")
def _never_summed(a: Answer) -> Places:
    """These are {n} gradients of {x}, one for each place along {along}, and they were not summed.

    {x} is used {n} times, so its gradient is the sum over all of them.
    """
    extra = a.mine.ndim - a.right.ndim
    for axes in combinations(range(a.mine.ndim), extra) if extra > 0 else ():
        if a.equal(a.mine.sum(axes), a.right):
            n = a.mine.size // max(a.right.size, 1)
            use = next((u for u in a.graph.paths if u.parent is a.target), None)
            yield {"use": use, "n": str(n), "along": _in_words(axes)}


def _carried(a: Answer, use: Use, wide: Any) -> Iterator[tuple[Any, Any]]:
    """The array in its wrong shape, and after each further rule on the way to x; each with its node."""
    parent = use.parent
    while wide is not None:
        yield parent, wide
        onward = [u for u in a.graph.paths if u.node is parent]
        if parent is a.target or len(onward) != 1 or not onward[0].elementwise:
            return
        try:
            wide, parent = onward[0].formula(wide), onward[0].parent
        except ValueError:  # this shape no longer fits the values
            return


# ------------------------------------------------------------------ .grad and factors


@mistake_in(KEPT, "accumulated_twice")
def _accumulated(a: Answer) -> Places:
    """This is {x}.grad{n}, the sum over several backward passes. The gradient of {z} is one of them.

    backward() adds to .grad. To fix it, write  {x}.grad = None  (or zero_grad()) before it.
    """
    if _starts_alike(a):
        yield from _kept(a)


@mistake_in(KEPT, "accumulated_twice")
def _of_another_pass(a: Answer) -> Places:
    """This is {x}.grad{n}, which a pass with another gradient than ones has filled, or several passes.

    If it was  {z}.backward(g), write  compare({z}, ..., gradient=g).
    """
    if not _starts_alike(a):
        yield from _kept(a)


def _starts_alike(a: Answer) -> bool:
    """Does a pass from z begin with the gradient that we take? That of several numbers cannot be left out."""
    return a.z.array.size == 1 or not a.plain


def _kept(a: Answer) -> Places:
    """What `.grad` holds after several passes."""
    left = a.x.grad if a.x.is_leaf else None
    if left is not None and not left.is_sparse:
        if a.gives(left.array):
            yield {"n": ""}
        elif a.gives(left.array + a.right) and not a.equal(left.array, a.right):
            yield {"n": " plus the right gradient"}


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
            return general_diagnosis(
                "not_accumulated",
                f"{name}.grad holds {times} times this: either backward() ran {times} times, and added to .grad, "
                f"or your gradient lacks a factor {times}.",
                f"To find out, write  {name}.grad = None  (or zero_grad()) before backward(), and compare again.",
                ("scale",),
            )
        if difference(mine, times * kept).ok:
            return general_diagnosis(
                "accumulated_twice",
                f"This is {times} times what {name}.grad holds, as if backward() had run {times} times, or with a "
                f"factor {times} too many.",
                "Each backward pass adds to .grad once.",
                ("scale",),
            )
    return None


@mistake_in(IN_ALL, "sign")
def _opposite(a: Answer) -> Places:
    """The gradient of {x} has the opposite sign.

    Look for a minus sign.
    """
    if np.any(a.right) and a.same(-a.right):
        yield {}


@mistake_in(IN_ALL, "scale")
def _scaled(a: Answer) -> Places:
    """The gradient of {x} is {n} times what it should be.

    Look for a factor that all its parts have in common.
    """
    for times, counts in _common_factors(a):
        if np.any(a.right) and a.same(times * a.right):
            twice = ("accumulated_twice",) if times == 2 and a.x.is_leaf else ()
            also = (*twice, *(("mean_for_sum",) if counts else ()))
            yield {"n": fraction_of(times), "also": also}
    for name, v in a.graph.scalars.items() if not one_number(a.right) else ():
        for times, words in ((v, name), (1 / v, f"1/{name}")):
            if a.gives(times * a.right):
                yield {"n": words}


def _common_factors(a: Answer) -> Iterator[tuple[float, bool]]:
    """Factors of the whole gradient that do not match by chance; is it a number of entries, or 1 / n?"""
    sizes = a.graph.numbers | {n for n in (a.z.array.size, a.graph.fan_in[a.target]) if n > 2}
    added = a.graph.added
    sizes |= {n for n in (added, added + 1) if n > 2}
    sizes |= {2.0} if any(use.g.shape[:1] == (2,) for use in a.graph.paths) else set()  # examples
    sizes |= {n / 2 for n in sizes if n > 4}  # of a mean of squares, whose 2 was left out as well
    # Or a constant of the program, such as the logarithm of a base.
    factors = (abs(constant_factor(u) or logarithm_of_a_base(u)) for u in a.graph.paths)
    constants = {max(c, 1 / c) for c in factors if c}
    for n in (2, *sorted(() if one_number(a.right) else (sizes | constants) - {1.0, 2.0})):
        yield from ((n, n in sizes), (1 / n, n in sizes))


@mistake_in(IN_ALL, "scale")
def _scaled_and_opposite(a: Answer) -> Places:
    """There are two mistakes: the gradient of {x} has the opposite sign, and it is {n} times as large
    as it should be.

    Look for a minus sign, and for a factor that all its parts have in common.
    """
    for times, counts in _common_factors(a):
        if np.any(a.right) and a.same(-times * a.right):
            also = ("sign", "scale") if counts else ("sign",)
            kind = "mean_for_sum" if counts else "scale"
            yield {"n": fraction_of(times), "kind": kind, "also": also}


@mistake_in(IN_ALL, "transposed")
def _reversed(a: Answer) -> Places:
    """The entries of the gradient of {x} are in reverse order along {n}.

    Look for something that was flipped, such as the kernel of a convolution.
    """
    windows = any(u.op_name == "getitem" and u.fan_in > 2 for u in a.graph.uses)
    if a.few or not (
        windows or any(u.op_name in ("unfold", "im2col", "flip") for u in a.graph.uses)
    ):
        return  # elsewhere nothing is in reverse order, unless by chance
    for axes in (*((k,) for k in range(a.right.ndim)), (-2, -1)):
        if a.gives(np.flip(a.right, axes)) and not a.same(-a.right):
            yield {"n": _in_words([k % a.right.ndim for k in axes])}


@mistake_in(STOPPED, "permuted")
def _in_another_order(a: Answer) -> Places:
    """The gradient of {x} has the right numbers, but in another order.

    Look for something that moves entries: a sort, a shuffle, an index, a reshape.
    """
    if not a.few and a.equal(np.sort(a.mine, None), np.sort(a.right, None)):
        yield {}


@mistake_in(STOPPED, "sign")
def _some_opposite(a: Answer) -> Places:
    """The entries of the gradient of {x} have the right sizes, but {n} have the wrong sign.

    Compare them with the others: what is negative there? Look also for an absolute value.
    """
    wrong = int(np.sum(a.right * a.mine < 0))
    if not a.few and wrong > 1 and a.same(np.copysign(a.right, a.mine)):
        yield {"n": f"{wrong} of {a.right.size}"}


@mistake_in(IN_ALL, "transposed")
def _square_transposed(a: Answer) -> Places:
    """The gradient of {x} is transposed.

    The matrix is square, so the shape does not show it; the positions of the entries do.
    """
    if a.right.ndim == 2 and a.gives(a.right.T):
        yield {}


# ------------------------------------------------------------------ other quantities


@mistake_in(IN_ALL, "upstream_only")
def _from_above(a: Answer) -> Places:
    """This is the gradient that arrives at the result, passed on to {x} as it is.

    Multiply it by the derivative of each operation on the way.
    """
    seed = a.graph.seed
    if a.mine.shape == seed.shape and not tells_nothing(seed) and a.same(seed):
        yield {}


@mistake_in(IN_ALL, "other_variable")
def _of_another_tensor(a: Answer) -> Places:
    """This is the gradient of {n}, not of {x}{way}.

    Check which tensor each result belongs to.
    """
    for node, g in a.graph.gradients.items():
        if node in (a.graph.root, a.target):
            continue
        leaf = node if isinstance(node, AccumulateGrad) else None
        name = a.graph.names.get(node)
        if name is None and leaf is not None:
            name = f"another tensor, of the shape {tuple(leaf.variable.shape)}"
        if name is not None and not tells_nothing(g) and a.same(g):
            here = next((u for u in a.graph.paths if u.node is node), None)
            way = f": the derivative of {name} with respect to {a.name} is missing" if here else ""
            also = ("forgot_inner" if inside_a_curve(here) else "upstream_only",) if here else ()
            yield {"n": name, "way": way, "node": None if leaf else node, "also": also}


@mistake_in(IN_ALL, "other_variable")
def _of_another_result(a: Answer) -> Places:
    """This is the gradient of {n} with respect to {x}, not that of {z}.

    Check which result is to be differentiated.
    """
    if a.few:
        return
    several = a.graph.variables.items()
    losses = {n: t for n, t in several if t.array.size == 1 and not t.is_leaf and t is not a.z}
    for name, loss in islice(losses.items(), RESULTS):
        if loss.node in a.graph.gradients or has_hooks(loss):
            continue  # on the way to z; or the pass would run code of the user
        with suppress(AutogradError):  # its graph may have been freed
            (g,) = grad(loss, [a.x], retain_graph=True, allow_unused=True)
            if g is not None and not tells_nothing(g.array) and a.same(g.array):
                yield {"n": name}


@mistake_in(SUBSTITUTED, "wrong_argument")
def _another_value(a: Answer) -> Places:
    """The derivative of {op}{line} was {way}.

    Write down which values this derivative reads, under the names of the program.
    """
    if a.few:
        return
    named = a.graph.tensors + a.graph.arrays_read
    for use in (u for u in a.graph.paths[:NEAREST] if u is u.twins[0]):
        read = [v for v in map(use.values.get, use.reads()) if isinstance(v, np.ndarray)]
        for value, (n, other) in product(read, named):
            if value.size < 3 or other.shape != value.shape or np.array_equal(other, value):
                continue
            for way, values in _read_instead(use, value, other):
                instead: Any = -sum(u.passed for u in use.twins[1:])
                for u in use.twins:
                    d = u.rule(u.g, **values(u))
                    instead = instead + (np.nan if d is None else d)
                if a.gives(a.right + use.changes(np.asarray(instead)).get(a.target, 0)):
                    same = (m for m, v in named if v is value or np.array_equal(v, value))
                    meant = next(same, "another value")
                    meant = "its own operand" if meant == n else meant  # both without a name
                    yield {"use": use, "way": way.format(n=n, m=meant)}


def _read_instead(
    use: Use, value: Array, other: Array
) -> Iterator[tuple[str, Callable[[Use], Any]]]:
    """The ways to read `other` in place of `value`, as functions of a use: as this value, or as its operand."""
    words = "computed with {n} instead of {m}"
    yield words, lambda u: {k: other for k in u.reads() if u.values.get(k) is value}
    if value is use.values.get("z") and (use.of_one or use.op_name in SOFT):
        words = "evaluated at {n} instead of at its input"
        yield words, lambda u: {"x": other, "z": u.applied(x=other)}


@mistake_in(STOPPED, "other_variable")
def _another_gradient(a: Answer) -> Places:
    """The derivative of {op}{line} was multiplied by the gradient of {n} instead of the gradient of its own result.

    Write down which gradient arrives at which operation.
    """
    for use in (u for u in a.graph.paths[:NEAREST] if u is u.twins[0] and not a.few):
        later = a.graph.changes({use.parent: use.passed})  # gradients that are not known yet
        for node, name in a.graph.names.items():
            g = a.graph.gradients.get(node)
            if g is None or isinstance(node, AccumulateGrad) or node in later:
                continue
            if np.shape(g) != use.g.shape or tells_nothing(g) or a.equal(g, a.right):
                continue
            passed = [u.at(g).passed for u in use.twins] + [-u.passed for u in use.twins[1:]]
            if a.gives(a.right + use.changes(np.sum(passed, 0)).get(a.target, 0)):
                yield {"use": use, "n": name}


@mistake_in(SUBSTITUTED, "stale_value")
def _after_the_update(a: Answer) -> Places:
    """The derivative of {op}{line} was computed with {n} after its update: {n} minus {m} times its
    gradient.

    Compute all gradients first, and then take the step.
    """
    missing = a.mine - a.right
    above: dict[Any, Any] = {u.node: u.parent for u in a.graph.uses if u.op_name == "t"}
    for use in (u for u in a.graph.paths if not a.few and u.op_name in (*PRODUCTS, "mul")):
        node = use.origins.get(use.beside)
        leaf = above.get(node, node)  # of  x @ w.T,  as in a linear layer
        if node is None or not isinstance(leaf, AccumulateGrad) or leaf is a.target:
            continue
        passed = use.rule(use.g, **{use.beside: a.graph.gradients[node]})
        d = None if passed is None else use.changes(use.passed + passed).get(a.target)
        lr = 0.0 if d is None or not np.any(d) else -float(np.sum(d * missing) / np.sum(d * d))
        if lr > 0 and a.gives(a.right - lr * np.asarray(d)):
            n = a.graph.names.get(leaf, "the other factor")
            yield {"use": use, "n": n, "m": f"{lr:.4g}"}


@mistake_in(STOPPED, "wrong_argument")
def _another_power(a: Answer) -> Places:
    """The gradient through {op}{line} was {n}.

    Write down each factor of this path, with its exponent: with respect to x, the derivative of y / x
    is  -y / x**2.
    """
    # A norm, or a norm of each row, to the wrong power.
    for use in a.graph.paths[:NEAREST] if not a.few else ():
        shape, size = use.passed.shape, use.passed.size
        for n, v in a.graph.tensors:
            if not 0 < v.size < max(size, 2) or np.any(np.abs(v) < 1e-9) or np.all(np.abs(v) == 1):
                continue
            if v.ndim > len(shape) or np.broadcast_shapes(v.shape, shape) != shape:
                continue
            for d, words in (
                (
                    use.passed * v,
                    f"multiplied by {n} once too often, or a division by it is missing",
                ),
                (use.passed / v, f"divided by {n} once too often, or it is missing as a factor"),
            ):
                if a.gives(a.right + use.changes(d).get(a.target, 0)):
                    yield {"use": use, "n": words}


@mistake_in(STOPPED, "scale")
def _by_an_array(a: Answer) -> Places:
    """The gradient of {x} is {n} times what it should be.

    Look for a factor that is missing, or has another exponent: 1 / x, the square of a deviation.
    """
    with np.errstate(all="ignore"):
        factor = a.mine / a.right
    if a.few or not np.all(np.isfinite(factor)) or one_number(factor):
        return
    tensors = [(n, v) for n, v in a.graph.tensors if v.size > 2]
    for n, v in (*tensors, *a.graph.arrays.items()) if a.right.ndim else ():
        if v.dtype.kind != "f" or one_number(v) or a.same(v) or a.equal(v, a.right):
            continue
        if v.shape == a.right.shape[: v.ndim]:
            wide = v.reshape(v.shape + (1,) * (a.right.ndim - v.ndim))
            for k, words in ((1, n), (-1, f"1/{n}"), (2, f"{n}**2"), (-2, f"1/{n}**2")):
                if np.allclose(factor, wide ** float(k)) and a.gives(a.right * wide ** float(k)):
                    yield {"n": words}


@mistake_in(STOPPED, "extra_term")
def _regularizer(a: Answer) -> Places:
    """Your gradient has an extra term, {n}, as if there were a regularizer for {x}.

    Differentiate the function as it was computed: it has no such term.
    """
    d, value = a.mine - a.right, a.x.array
    own = [u.passed for u in a.graph.paths if u.parent is a.target]
    for term, words in ((value, a.name), (np.sign(value), f"sign({a.name})")):
        if a.few or one_number(value) or any(np.ptp(part / term) < 1e-6 for part in own):
            return  # it would be a factor of a term that is there
        c = float(f"{np.sum(d * term) / np.sum(term * term):.2g}")
        if c > 0 and a.gives(a.right + c * term):  # others come from a term that is there
            yield {"n": f"{c:g} * {words}"}


@mistake_in(IN_ALL, "tangent_for_gradient")
def _tangent(a: Answer) -> Places:
    """This is J @ v, the derivative of {z} in the direction of v (forward mode), instead of v @ J
    (reverse mode).

    A gradient sums over the entries of {z}, a tangent over those of the input: J is transposed.
    """
    # Forward mode, along ones or along the gradient that was given.
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


def _jvp(a: Answer, v: Any) -> Any:
    """J @ v, by differentiating v @ J again; None if that is not possible."""
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
    """Would a match prove nothing? For no array, for equal entries, and for a single 0, 1 or -1."""
    if not isinstance(g, np.ndarray | np.generic):
        return True
    g = np.asarray(g)
    if g.size <= 1:
        return not g.size or float(g.reshape(())) in (0.0, 1.0, -1.0)
    return bool(np.all(g == g.reshape(-1)[0]))


@mistake_in(STOPPED, "other_variable")
def _a_value(a: Answer) -> Places:
    """This is the value of {n} itself, not a gradient of {z}.

    Differentiate {z} with respect to {x}.
    """
    graph = a.graph
    read = [v for u in graph.uses for v in u.values.values() if isinstance(v, np.ndarray)]
    read += [graph.known[node] for node in graph.nodes if node in graph.known]
    for n, value in graph.tensors:  # and not the answer itself, which may have a name, too
        if not a.few and not tells_nothing(value) and a.same(value):
            if any(np.array_equal(value, v) for v in read):
                yield {"n": n, "also": ("upstream_only",)}


@mistake_in(STOPPED, "upstream_only")
def _stopped(a: Answer) -> Places:
    """The derivatives from {op}{line} down to {x} are missing: {n}.

    Multiply by the derivative of each operation on the way, including each inner function.
    """
    # The gradient of a result on the way: for exp(-x**2), that of -x**2.
    gradients = a.graph.gradients
    given = (u for u in a.graph.paths if u.parent is not a.target and a.gives(gradients[u.node]))
    use = next((u for u in given if not tells_nothing(gradients[u.node])), None)
    if use is not None and inside_a_curve(use):
        words = "the chain rule stops at the outer function"
        yield {"use": use, "n": words, "kind": "forgot_inner"}
    elif use is not None:
        yield {"use": use, "n": "the incoming gradient was passed on unchanged"}
