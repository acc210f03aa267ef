"""Axis arithmetic: undoing a broadcast, restoring reduced axes.

Broadcasting copies an entry along an axis, so the gradient of the entry is the sum of the
gradients of its copies. `sum_to` computes this sum. It only uses methods that arrays, Tensors
and Slots all have.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

Shape = tuple[int, ...]
Array = np.ndarray[Any, Any]
Dim = int | Sequence[int] | None  # the axis or axes to work on; None: all of them
LISTED = (tuple, list, Sequence)  # isinstance is seven times faster for the first two
Several = int | Sequence[int]  # one number for all axes, or one for each axis
ROWS = 4096  # up to this many rows, a float32 sum has at least four correct digits
# dtype -> (number of entries, the wider dtype that add_up may use for more entries than this)
WIDENED: dict[str, tuple[float, Any]] = {"e": (0, np.float32), "f": (ROWS, np.float64)}
NEVER = math.inf, None


def sum_to(g: Any, shape: Shape) -> Any:
    """Sum `g` over the axes along which `shape` was broadcast to g's shape.

    >>> import numpy as np
    >>> sum_to(np.ones((4, 2, 3)), (2, 1))
    array([[12.],
           [12.]])
    """
    if g.shape == shape:
        return g
    if g.ndim == 2 and g.dtype.kind == "f":
        # Multiplying by ones is much faster than a sum over rows. Not so along rows: there it would round
        # differently from x.sum(1, keepdim=True), with which derivations by hand are compared.
        n, m = g.shape
        if isinstance(g, np.ndarray):
            if shape == (m,):  # the gradient of a bias
                return _ones(n, g.dtype).dot(g)
            if shape == (1, m):
                return _ones(n, g.dtype).dot(g).reshape(shape)
        elif hasattr(g, "recorder"):  # a Slot: the program must add up in the same order
            if shape in ((m,), (1, m)):
                d = _ones(n, g.dtype) @ g
                return d if d.shape == shape else d.reshape(shape)
    axes = broadcast_axes(shape, g.shape)
    d = add_up(g, axes) if isinstance(g, np.ndarray) else g.sum(axis=axes)
    return d if d.shape == shape else d.reshape(shape)


def add_up(x: Array, axis: Dim = None, keepdims: Any = False, out: Any = None) -> Any:
    """The sum over axis, computed in a wider dtype where rounding errors would add up.

    Along the last axis NumPy adds in pairs. It adds rows one after the other: in float32 the
    mean of 60,000 rows has three correct digits, and in float16 the sum of 5,000 ones is 2048.
    """
    above, wide = WIDENED.get(x.dtype.char, NEVER)
    if x.size <= above or (wide is np.float64 and not _adds_rows(x, axis)):
        return np.add.reduce(x, axis, None, out, keepdims=keepdims)
    z = np.add.reduce(x, axis, wide, out, keepdims=keepdims)
    return z if out is not None else z.astype(x.dtype)


def may_widen(dtype: np.dtype[Any], size: int) -> bool:
    """May `add_up` choose a wider dtype for an array of this dtype and size?"""
    return size > WIDENED.get(dtype.char, NEVER)[0]


def _adds_rows(x: Array, axis: Dim) -> bool:
    """Does NumPy add more than ROWS rows one after the other?"""
    if axis is None and x.flags.forc:
        return False
    if axis is not None and _number_along(x.shape, axis) <= ROWS:
        return False
    axes = normalize_axes(axis, x.ndim)
    order = sorted(range(x.ndim), key=lambda k: abs(x.strides[k]))
    while order and order[0] in axes:  # in memory these are adjacent, and are added in pairs
        order.pop(0)
    return _number_along(x.shape, [k for k in order if k in axes]) > ROWS


def _number_along(shape: Shape, axes: Several) -> int:
    if not isinstance(axes, (tuple, list)):
        return shape[axes]  # type: ignore[index]
    return shape[axes[0]] if len(axes) == 1 else math.prod([shape[k] for k in axes])


@lru_cache(maxsize=1024)
def broadcast_axes(shape: Shape, wider: Shape) -> tuple[int, ...]:
    """The axes of the shape `wider` along which an array of `shape` is repeated to fill it."""
    extra = len(wider) - len(shape)
    repeated = [k for k, n in enumerate(shape, extra) if n == 1 and wider[k] != 1]
    return (*range(extra), *repeated)


def product(x: Any, y: Any) -> Any:
    """x @ y, for two matrices, or a matrix and a vector.

    For arrays we call `dot`, which is twice as fast for small ones and gives the same result.
    """
    return x.dot(y) if isinstance(x, np.ndarray) else x @ y


def transposed(x: Any) -> Any:
    """xᵀ, for each matrix in a batch. Five times as fast as np.swapaxes."""
    return x.swapaxes(-1, -2)


def normalize_axes(axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """The axes as a tuple of numbers in 0..ndim-1; None and () mean all axes.

    Raises IndexError, with PyTorch's message, for an axis that does not exist, and
    RuntimeError for an axis that is given twice.

    >>> normalize_axes(-1, 3), normalize_axes(None, 2)
    ((2,), (0, 1))
    """
    if axis.__class__ is int:
        return (normalize_one(axis, ndim),)
    axes = () if axis is None else tuple(axis) if isinstance(axis, LISTED) else (axis,)
    if not axes:
        return tuple(range(ndim))
    seen = tuple([normalize_one(a, ndim) for a in axes])
    for a in seen:
        if seen.count(a) > 1:
            raise RuntimeError(f"dim {a} appears multiple times in the list of dims {list(axes)}.")
    return seen


def normalize_one(axis: int, ndim: int) -> int:
    """One axis as a number in 0..ndim-1. For a 0-d tensor, 0 and -1 are valid."""
    if axis.__class__ is int and -ndim <= axis < ndim:
        return axis + ndim if axis < 0 else axis
    low, high = -max(ndim, 1), max(ndim, 1) - 1
    a = axis if axis.__class__ is int else as_int(axis, "dim")
    if not low <= a <= high:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{low}, {high}], but got {a})"
        )
    return a % max(ndim, 1)


def as_int(value: Any, name: str) -> int:
    """The argument `name` as an int. Raises TypeError for floats, booleans, and others.

    >>> as_int(np.int64(3), "dim")
    3
    """
    if value.__class__ is int:
        return value
    if not isinstance(value, (bool, np.bool_)) and getattr(value, "dtype", None) != np.bool_:
        try:
            return int(value.__index__())
        except (AttributeError, TypeError, ValueError, IndexError):
            pass
    fix = (
        " To fix it, write n // 2 in place of n / 2, or int(n)." if isinstance(value, float) else ""
    )
    raise TypeError(f"argument '{name}' must be int, not {type(value).__name__}.{fix}")


def surely(condition: Any) -> bool:
    """Is a condition on the values of arrays true? False while a program is recorded: later runs have other values.

    >>> surely((np.ones(2) > 0).all())
    True
    """
    return not isinstance(condition, np.ndarray) and bool(condition)


def as_bool(value: Any, name: str) -> bool:
    """The argument `name`, which must be True or False. Raises TypeError for numbers: in x.sum(0, 1), 1 is not an axis.

    >>> as_bool(np.bool_(True), "keepdim")
    True
    """
    if value.__class__ is bool:
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    fix = " To reduce several axes, put them in a tuple: dim=(0, 1)." if name == "keepdim" else ""
    raise TypeError(f"argument '{name}' must be bool, not {type(value).__name__}.{fix}")


def as_ints(values: Any, name: str) -> Shape:
    """The entries of a list or tuple as ints: a size or a stride.

    >>> as_ints([2, 3], "size")
    (2, 3)
    """
    if isinstance(values, LISTED) and not isinstance(values, str):
        return tuple([n if n.__class__ is int else as_int(n, name) for n in values])
    raise TypeError(f"argument '{name}' must be tuple of ints, not {type(values).__name__}.")


def one_or_more(value: Any, name: str) -> Shape:
    """The entries of a list or tuple as ints; (n,) for one integer n, which may be in a tensor.

    >>> one_or_more(np.int64(3), "shifts"), one_or_more([2, 3], "shifts")
    ((3,), (2, 3))
    """
    if value.__class__ is int:
        return (value,)
    alone = hasattr(value, "__index__") and not isinstance(value, LISTED)
    return (as_int(value, name),) if alone else as_ints(value, name)


def shape_of(size: tuple[Any, ...], named: Several | None = None) -> Shape:
    """zeros(2, 3), zeros((2, 3)) and zeros(size=(2, 3)) mean the same."""
    size = size if named is None else (named,)
    if not size:
        raise TypeError(
            "missing 1 required positional argument: 'size'. To fix it, pass a shape: (2, 3), or () for one number."
        )
    first = size[0]
    alone = len(size) == 1 and first.__class__ is not int and isinstance(first, LISTED)
    shape = as_ints(first if alone else size, "size")
    if shape and min(shape) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    return shape


@lru_cache(maxsize=64)
def _ones(n: int, dtype: np.dtype[Any]) -> Array:
    """A cached, read-only vector of ones, used to sum over rows."""
    vector = np.ones(n, dtype)
    vector.flags.writeable = False
    return vector


def repeat_to(g: Any, shape: Shape) -> Any:
    """Repeat `g` along new axes and axes of size 1, up to `shape`: the opposite of `sum_to`.

    Copies nothing: the result is a view that repeats the array's entries.

    >>> import numpy as np
    >>> repeat_to(np.ones((2, 1)), (2, 3)).shape
    (2, 3)
    """
    if g.shape == shape:
        return g
    if g.ndim == 0 and isinstance(g, (np.ndarray, np.generic)):
        # The same as broadcast_to, but faster.
        return np.ndarray(shape, g.dtype, g, 0, (0,) * len(shape))
    if not isinstance(g, np.ndarray):
        return g.expand(shape) if hasattr(g, "expand") else np.broadcast_to(g, shape)
    if g.ndim == len(shape) and g.flags.c_contiguous and 0 not in shape:
        strides = [0 if n == 1 else s for n, s in zip(g.shape, g.strides, strict=True)]
        return np.ndarray(shape, g.dtype, g, 0, strides)
    return np.broadcast_to(g, shape)


def restore_axes(g: Any, x_shape: Shape, axis: int | Shape | None, keepdims: bool) -> Any:
    """Restore, as axes of size 1, the axes of x that a reduction has removed from `g`."""
    if keepdims or axis is None or not x_shape:
        return g  # 0-d: it can be broadcast unchanged
    return g.reshape(_reduced(x_shape, axis))


@lru_cache(maxsize=256)
def _reduced(shape: Shape, axis: int | Shape) -> Shape:
    """The shape after a reduction over axis, with 1 for each reduced axis."""
    axes = normalize_axes(axis, len(shape))
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def order_of(x: Array) -> str:
    """The memory order for a copy of x: the order of x, or row-major if x was expanded."""
    return "C" if 0 in x.strides else "K"


def arranged_as(x: Array, z: Array) -> Array:
    """z, which was computed entry by entry from x and others, in the memory order of x.

    NumPy puts z in C order if the orders of its operands differ. In PyTorch, the first operand, x, decides.
    So `(x.mT + y).mT.view(-1)` works, and dropout draws numbers for the entries in this order.

    >>> import numpy as np
    >>> x, y = np.ones((2, 3)), np.ones((3, 2))
    >>> (x.T + y).strides, arranged_as(x.T, x.T + y).strides
    ((16, 8), (8, 24))
    """
    steps = x.strides
    if z.strides == steps or x.shape != z.shape or 0 in steps:
        return z
    if all(step >= after for step, after in zip(steps, steps[1:])):  # C order, with gaps
        return z
    arranged = np.empty_like(x, z.dtype)
    arranged[...] = z
    return arranged
