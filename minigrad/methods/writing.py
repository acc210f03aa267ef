"""Writing: x[i] = y, and functions that return a copy of x with some entries replaced, added to or reduced."""

from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.core import dtypes
from minigrad.core.dtypes import Dtype, torch_name
from minigrad.core.errors import warn_user
from minigrad.core.modes import seen
from minigrad.core.op import Op
from minigrad.core.shapes import Array, normalize_one
from minigrad.methods.arguments import named_type, not_a_tensor
from minigrad.methods.base import (
    Base,
    Operand,
    Values,
    broadcast,
    overwritten,
    scaled,
    written_over,
)
from minigrad.methods.indexing import (
    BOOL,
    Index,
    Indexing,
    beyond,
    in_range,
    index_along,
    indices_of,
    long_indices_of,
    mask_of,
    numbers_first,
    part,
    plain_index,
)
from minigrad.ops.composites import named


class Writing(Indexing):
    """Methods that write entries by position."""

    __slots__ = ()

    def __setitem__(self, index: Index, value: Any) -> None:
        index = plain_index(index, self)
        if len(index) > 2 and (steps := numbers_first(index)) is not None:
            ops.getitem.apply(self, index=steps[0])[steps[1]] = value
        elif ops.is_basic(index):  # type: ignore[no-untyped-call]
            if index in WHOLE and self.ndim:
                value = without_ones(value, self.ndim)
                overwritten(self, value, "CopyBackwards" if getattr(value, "ndim", 0) else "FillBackward3")
            else:
                there = ops.getitem.apply(self, index=index)
                ops.copy.apply_(there, without_ones(written_over(self, value), there.ndim))
        else:
            if getattr(value, "ndim", 0) > 1 and value.shape[0] == 1:
                value = without_ones(value, np.broadcast_to(False, self.shape)[index].ndim)
            ops.index_put.apply_(self, put_there(value, self, index), index=index)

    def __delitem__(self, index: Index) -> None:
        raise TypeError("Tensor does not support deleting items: its shape is fixed. To fix it, keep the others: x[mask].")

    def where(self, condition: Operand, other: Operand) -> Self:
        """The entries of x where the condition is True, and of `other` elsewhere. All three are broadcast.

        >>> x = minigrad.tensor([1.0, -2.0])
        >>> x.where(x > 0, minigrad.tensor(0.0))
        tensor([1., 0.])
        """
        return ops.where.apply(truth_values(condition), self, other)

    def scatter(self, dim: int, index: Values, src: Operand | None = None, *, value: complex | None = None, reduce: str | None = None) -> Self:
        """A copy of x with entries of src written at the positions in index: z[index[i][j]][j] = src[i][j] for dim=0.

        dim      the axis that the indices refer to
        index    int64, with as many axes as x
        src      a tensor at least as large as the index; or `value`, one number
        reduce   "add" or "multiply": combine with the old entry instead of replacing it

        If a position occurs more than once, it is undefined which value is kept.

        >>> minigrad.zeros(2, 3).scatter(1, minigrad.tensor([[2], [0]]), 5.0)
        tensor([[0., 0., 5.],
                [5., 0., 0.]])
        """
        op, others, settings = scattering("scatter", self, dim, index, src if value is None else value, reduce)
        z = op.apply(self, *others, **settings)
        return z if isinstance(src, Base) else named(z, "ScatterBackward1", ops.scatter)

    def scatter_add(self, dim: int, index: Values, src: Operand) -> Self:
        """A copy of x with entries of src added at the positions in index: z[index[i][j]][j] += src[i][j] for dim=0.

        dim     the axis that the indices refer to
        index   int64, with as many axes as x; if a position occurs twice, both values are added
        src     a tensor at least as large as the index

        >>> minigrad.zeros(3).scatter_add(0, minigrad.tensor([0, 2, 2]), minigrad.tensor([1.0, 2.0, 3.0]))
        tensor([1., 0., 5.])
        """
        _, others, settings = scattering("scatter_add", self, dim, index, src, "add")
        return ops.scatter_add.apply(self, *others, **settings)

    def scatter_reduce(self, dim: int, index: Values, src: Operand, reduce: str, *, include_self: bool = True) -> Self:
        """A copy of x with entries of src combined at the positions that index gives along dim.

        index, src     as in scatter; several entries can go to the same position
        reduce         "sum", "prod", "mean", "amax" or "amin"
        include_self   whether the old entry of x is included

        >>> x, index = minigrad.zeros(2), minigrad.tensor([0, 1, 0])
        >>> x.scatter_reduce(0, index, minigrad.tensor([1.0, 2.0, 5.0]), "mean", include_self=False)
        tensor([3., 2.])
        """
        if reduce not in ("sum", "prod", "mean", "amax", "amin"):
            raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
        _, (src,), place = scattering("scatter_reduce", self, dim, index, src, None)
        x: Any = self if include_self else ops.scatter.apply(self, neutral(reduce, self.dtype), **place)
        if reduce == "prod":
            return named(ops.scatter_mul.apply(x, src, **place), "ScatterReduceBackward0")
        if reduce in ("amax", "amin"):
            return ops.scatter_extreme.apply(x, src, **place, largest=reduce == "amax")
        total = ops.scatter_add.apply(x, src, **place)
        if reduce == "sum":
            return named(total, "ScatterReduceBackward0")
        before, ones = np.full(x.shape, include_self, np.int64), np.ones(place["index"].shape, np.int64)
        count = ops.scatter_add.apply(x._constant(before), x._constant(ones), **place).clamp(min=1)
        return named(total / count.to(x.dtype), "ScatterReduceBackward0") if x.dtype.kind in "fc" else (total // count).to(x.dtype)

    def index_reduce(self, dim: int, index: Values, source: Base, reduce: str, *, include_self: bool = True) -> Self:
        """A copy of x with slices of source combined at the positions that index gives along dim.

        index          a vector of int64, one entry for each slice of source along dim
        reduce         "prod", "mean", "amax" or "amin"
        include_self   whether the old entry of x is included

        >>> import warnings
        >>> x, index = minigrad.ones(2, 2), minigrad.tensor([0, 0])
        >>> with warnings.catch_warnings(action="ignore"):  # PyTorch calls it a beta
        ...  x.index_reduce(0, index, minigrad.tensor([[2.0, 3.0], [4.0, 5.0]]), "prod")
        tensor([[ 8., 15.],
                [ 1.,  1.]])
        """
        if reduce not in ("prod", "mean", "amax", "amin"):
            raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
        warn_user("index_reduce() is in beta and the API may change at any time.")
        at, dim = indices_of("index_reduce", index), normalize_one(dim, self.ndim)
        if at.ndim > 1:
            raise IndexError(f"index_reduce_(): Index is supposed to be a vector, but got dim: {at.ndim}")
        rows = at.reshape([-1 if axis == dim else 1 for axis in range(max(source.ndim, 1))])
        fits = rows.ndim == max(self.ndim, 1) and all(n == m for axis, (n, m) in enumerate(zip(source.shape, self.shape)) if axis != dim)
        if not fits or at.size != (source.shape[dim] if source.ndim else 1):
            raise RuntimeError(
                "index_reduce(): source tensor shape must match self tensor shape, excluding the specified dimension, where it has one slice "
                f"for each index. Got self.shape = {list(self.shape)}, source.shape = {list(source.shape)} and {at.size} indices."
            )
        if beyond(at, self.shape[dim] if self.ndim else 1):
            values = np.asarray(at)
            raise IndexError(f"index out of range in self: index_reduce() got indices from {values.min()} to {values.max()} for shape {list(self.shape)}")
        return named(self.scatter_reduce(dim, np.broadcast_to(rows, source.shape or (1,)), source, reduce, include_self=include_self), "IndexReduceBackward0")

    def index_put(self, indices: tuple[Index, ...], values: Operand, accumulate: bool = False) -> Self:
        """A copy of x with values written at some positions: z[indices] = values.

        indices      a tuple of int64 tensors, one for each of the first axes, or a mask
        accumulate   add to the old entry, once for each time a position occurs

        >>> minigrad.zeros(3).index_put((minigrad.tensor([0, 2]),), minigrad.tensor([1.0, 2.0]))
        tensor([1., 0., 2.])
        """
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"index_put(): argument 'indices' (position 1) must be tuple of Tensors, not {named_type(indices)}.")
        index = plain_index(tuple(indices), self)
        values = put_there(values, self, () if accumulate else index)
        return ops.index_put.apply(self, values, index=index, accumulate=accumulate)

    def index_add(self, dim: int, index: Values, source: Operand, *, alpha: float = 1) -> Self:
        """A copy of x with alpha * source added to the slices given by index along dim.

        index    a vector of integers; if one occurs twice, that slice is added to twice
        source   has x's dtype and shape, except that its size along dim is the length of index

        >>> x = minigrad.zeros(3, 2)
        >>> x.index_add(0, minigrad.tensor([0, 2, 0]), minigrad.ones(3, 2))
        tensor([[2., 2.],
                [0., 0.],
                [1., 1.]])
        """
        alpha = int(alpha) if self.dtype.kind in "iu" else alpha  # PyTorch cuts off the fraction
        rows = rows_of("index_add", self, dim, index, source)
        added: Any = scaled(source, alpha)
        if self.dtype == np.float16 and self.ndim > 1:  # scatter_add adds in single precision
            axis = normalize_one(dim, self.ndim)
            at = np.broadcast_to(rows[axis].reshape([-1 if k == axis else 1 for k in range(self.ndim)]), added.shape)
            return named(ops.scatter_add.apply(self, added, index=at, axis=axis), "IndexAddBackward0")
        z = ops.index_put.apply(self, added, index=rows, accumulate=True)
        return named(z, "IndexAddBackward0", ops.index_put)

    def index_copy(self, dim: int, index: Values, source: Operand) -> Self:
        """A copy of x with the slices given by index along dim replaced by source.

        index    a vector of integers
        source   has x's dtype and shape, except that its size along dim is the length of index

        >>> minigrad.zeros(3, 2).index_copy(0, minigrad.tensor([2]), minigrad.ones(1, 2))
        tensor([[0., 0.],
                [0., 0.],
                [1., 1.]])
        """
        z = ops.index_put.apply(self, source, index=rows_of("index_copy", self, dim, index, source))
        return named(z, "IndexCopyBackward0", ops.index_put)

    def index_fill(self, dim: int, index: Values, value: Operand) -> Self:
        """A copy of x with the slices given by index along dim set to this value.

        index   a vector of integers
        value   a number, or a tensor with no axes

        >>> minigrad.zeros(2, 3).index_fill(1, minigrad.tensor([0, 2]), 7)
        tensor([[7., 0., 7.],
                [7., 0., 7.]])
        """
        number, rows = filling("index_fill_", value, self), rows_of("index_fill", self, dim, index)
        if isinstance(value, Base) and self.ndim:  # its gradient counts a repeated position once
            rows = part(len(rows) - 1, np.unique(np.asanyarray(seen(index))))
        z = ops.index_put.apply(self, number, index=rows)
        return named(z, f"IndexFillBackward{int(isinstance(value, Base))}", ops.index_put)

    def masked_fill(self, mask: Values, value: Operand) -> Self:
        """A copy of x with this value where the mask is True. The gradient of x is 0 there.

        mask    booleans, broadcast with x
        value   a number, or a tensor with no axes

        >>> x = minigrad.tensor([1.0, -2.0])
        >>> x.masked_fill(x < 0, 0.0)
        tensor([1., 0.])
        """
        z = ops.masked_fill.apply(self, filling("masked_fill_", value, self), mask=mask_of("masked_fill", mask))
        return named(z, f"MaskedFillBackward{int(isinstance(value, Base))}")

    def masked_fill_(self, mask: Values, value: Operand) -> Self:
        """Write this value into x where the mask is True. The old values get no gradient there.

        mask    booleans that broadcast to the shape of x; a larger mask raises RuntimeError
        value   a number, or a tensor with no axes

        Writes the result into the tensor itself and returns it; x.masked_fill() returns a
        new tensor. Raises an error for a leaf that requires a gradient, unless recording is off.

        >>> x = minigrad.tensor([1.0, -2.0])
        >>> x.masked_fill_(x < 0, 0.0)
        tensor([1., 0.])
        """
        mask, shape = mask_of("masked_fill", mask), self.array.shape
        if mask.shape != shape and (common := broadcast("the mask", shape, mask.shape)) != shape:
            raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}: the mask is larger than the tensor.")
        return ops.masked_fill.apply_(self, filling("masked_fill_", value, self), mask=mask)

    def masked_scatter(self, mask: Values, source: Self) -> Self:
        """A copy of x with the entries where the mask is True replaced by the entries of source, in order.

        mask     of dtype bool, broadcast with x
        source   has x's dtype and at least as many entries as the mask has True values; otherwise RuntimeError

        >>> mask = minigrad.tensor([True, False, True])
        >>> minigrad.zeros(3).masked_scatter(mask, minigrad.tensor([1.0, 2.0, 3.0]))
        tensor([1., 0., 2.])
        """
        mask = mask_of("masked_scatter_", mask)
        x: Any = self.expand(broadcast("masked_scatter", self.shape, mask.shape))
        if source.dtype != x.dtype:
            raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got {x.dtype} and {source.dtype}")
        mask = np.broadcast_to(mask, x.shape)
        n = int(mask.sum())
        if source.numel() < n:
            raise RuntimeError(f"masked_scatter: expected source to have at least {n} elements, one for each true entry of the mask, but it has {source.numel()}")
        return named(ops.index_put.apply(x, source.reshape(-1)[:n], index=(mask,)), "MaskedScatterBackward0")

    def select_scatter(self, src: Operand, dim: int, index: int) -> Self:
        """A copy of x with x.select(dim, index) replaced by src.

        >>> minigrad.zeros(2, 2).select_scatter(minigrad.tensor([1.0, 2.0]), 0, 1)
        tensor([[0., 0.],
                [1., 2.]])
        """
        return named(ops.index_put.apply(self, src, index=part(normalize_one(dim, self.ndim), index)), "SelectScatterBackward0")

    def slice_scatter(self, src: Operand, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Self:
        """A copy of x with the slice start:end:step along dim replaced by src.

        >>> minigrad.zeros(4).slice_scatter(minigrad.ones(2), start=1, end=3)
        tensor([0., 1., 1., 0.])
        """
        z = ops.index_put.apply(self, src, index=part(normalize_one(dim, self.ndim), slice(start, end, step)))
        return named(z, "SliceScatterBackward0")

    def diagonal_scatter(self, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """A copy of x with x.diagonal(offset, dim1, dim2) replaced by src.

        >>> minigrad.zeros(2, 2).diagonal_scatter(minigrad.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
        """
        size, wanted = list(np.shape(getattr(src, "array", src))), list(np.diagonal(self.array, offset, dim1, dim2).shape)
        if size != wanted:
            raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {size}, slice size = {wanted}")
        axes, along = [normalize_one(dim, self.ndim) for dim in (dim1, dim2)], np.arange(wanted[-1])
        index: list[Any] = [slice(None)] * self.ndim
        index[axes[0]], index[axes[1]] = along + max(-offset, 0), along + max(offset, 0)
        # NumPy has the diagonal where the two axes were if they are next to each other, and first if not
        first = min(axes) if abs(axes[0] - axes[1]) == 1 else 0
        source = src if first == len(size) - 1 else src.movedim(-1, first)
        return named(ops.index_put.apply(self, source, index=tuple(index)), "DiagonalScatterBackward0")

    def put(self, index: Values, source: Any, accumulate: bool = False) -> Self:
        """A copy of x with source written at these positions of the flattened x.

        index        int64; negative indices count from the end
        source       has x's dtype and as many entries as index
        accumulate   add to the old entry instead of replacing it

        >>> minigrad.zeros(2, 2).put(minigrad.tensor([0, -1]), minigrad.tensor([5.0, 6.0]))
        tensor([[5., 0.],
                [0., 6.]])
        """
        flat, places = self.reshape(-1), in_range(long_indices_of("put_", index), self.numel())
        if not hasattr(source, "numel"):
            raise not_a_tensor("put_", "source", 2, source)
        if source.dtype != self.dtype:
            raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = {self.dtype} and source.dtype = {source.dtype}")
        if (n := source.numel()) != places.size:
            raise IndexError(f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {n}, index.numel() = {places.size}")
        z = flat.index_put((places,), source.reshape(places.shape), accumulate).reshape(self.shape)
        return named(z, "PutBackward0")


WHOLE = ((slice(None),), (...,))  # x[:] = y is x.copy_(y)


def without_ones(value: Any, ndim: int) -> Operand:
    """The value with leading axes of size 1 removed while it has more than ndim axes."""
    extra = getattr(value, "ndim", 0) - ndim
    return value.reshape(value.shape[extra:]) if extra > 0 and set(value.shape[:extra]) == {1} else value


def like(value: Operand, x: Base) -> Operand:
    """A number as a constant of x's dtype; a tensor unchanged."""
    dtype = x.array.dtype
    if isinstance(value, float) and dtype.kind == "f" and -65000 < value < 65000:
        return x._constant(np.array(value, dtype))  # the usual case
    if isinstance(value, (int, float, complex)):
        return x._constant(dtypes.exact_number(value, dtype))
    return value


def put_there(value: Any, x: Base, index: tuple[Any, ...]) -> Operand:
    """The value to write at this index of x: a number, or a tensor of x's dtype.

    For a single mask, PyTorch fills like masked_fill: a tensor of one number may have any dtype.
    """
    if hasattr(value, "__apply_op__") and value.dtype != x.dtype:
        arrays = [part for part in index if isinstance(part, (np.ndarray, bool))]
        if value.numel() == 1 and len(arrays) == 1 and (isinstance(arrays[0], bool) or arrays[0].dtype is BOOL):
            return value.reshape(()).to(x.dtype)
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {x.dtype} for the destination "
            f"and {value.dtype} for the source. To fix it, write  source.to(x.dtype)."
        )
    return like(value, x)


def filling(name: str, value: Operand, x: Base) -> Operand:
    """The single number that masked_fill and index_fill write, in x's dtype."""
    given = value.dtype.kind == "c" if isinstance(value, Base) else isinstance(value, complex)
    if given and (x.dtype.kind in "iuf" or (x.dtype.kind == "b" and name == "index_fill_")):
        raise RuntimeError(f"{name}(): Converting complex Scalar to non-complex type is not supported: value cannot be converted to type {x.dtype.name} without overflow.")
    if isinstance(value, Base):
        if value.ndim:
            raise RuntimeError(f"{name} only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s). To fix it, pass a number, like  value.item().")
        return value if value.dtype == x.dtype else value.to(x.dtype)
    return like(value, x)


def truth_values(condition: Operand) -> Any:
    """The condition of `where` as booleans."""
    dtype = getattr(condition, "dtype", None)
    if dtype is None or dtype.kind == "b":
        return condition
    if dtype != np.uint8:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {dtypes.torch_name(dtype)}. To fix it, compare: condition != 0.")
    warn_user("where received a uint8 condition tensor. This behavior is deprecated. To fix it, use condition.bool().")
    return condition != 0


class OutOfRange(IndexError, RuntimeError):
    """Raised by index_add and index_copy. PyTorch raises either error, depending on the kernel it chooses; this is both."""


def scattering(name: str, x: Base, dim: int, index: Values, src: Any, reduce: str | None) -> tuple[Op, tuple[Any, ...], dict[str, Any]]:
    """The op, other operands and settings for scatter and scatter_add."""
    dim = normalize_one(dim, x.array.ndim)
    index = index_along(name, x, dim, indices_of(name, index))
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if isinstance(src, Indexing) and reduce is not None and name == "scatter":
        warn_user(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch release. "
            "Use torch.scatter_reduce instead for more reduction options."
        )
    if isinstance(src, Indexing):
        if src.array.dtype != x.array.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype: {torch_name(x.dtype)} and {torch_name(src.dtype)}.")
        if src.array.shape != index.shape:
            src = fitting_source(name, x, dim, index, src)
    op = {None: ops.scatter, "add": ops.scatter_add, "multiply": ops.scatter_mul}[reduce]
    return op, (like(src, x),), {"index": index, "axis": dim}


def fitting_source(name: str, x: Any, dim: int, index: Array, src: Any) -> Any:
    """The part of src that is scattered. src can be larger than the index."""
    if not index.size:
        return src.reshape(-1)[:0].reshape(index.shape)
    if index.ndim > src.ndim > 0 and all(n <= m for n, m in zip(index.shape, src.shape or (1,), strict=False)):
        n = src.ndim
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {n}): the index {list(index.shape)} has more dimensions than src, {list(src.shape)}. To fix it, write  src.expand_as(index).")
    if max(index.ndim, 1) != max(src.ndim, 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as src tensor: index {list(index.shape)}, src {list(src.shape)}")
    if any(n > m for n, m in zip(index.shape or (1,), src.shape or (1,), strict=False)):
        raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension {dim} and to be no larger size than src {list(src.shape)}")
    if src.ndim and not index.ndim:
        return src[0]
    return src[tuple(slice(0, n) for n in index.shape)] if src.ndim else src


def neutral(reduce: str, dtype: Dtype) -> np.generic:
    """The identity element of a reduction."""
    if reduce in ("amax", "amin"):
        if dtype.kind == "b":
            return dtype.type(reduce == "amin")
        least, most = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return dtype.type(least if reduce == "amax" else most)
    return dtype.type(1 if reduce == "prod" else 0)


def rows_of(name: str, x: Base, dim: int, given: Values, source: Any = None) -> tuple[Any, ...]:
    """The index (:, :, given), with `given` at axis dim."""
    if name == "index_fill" and getattr(given, "dtype", np.int64) != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index. To fix it, use index.long().")
    dim, index = normalize_one(dim, x.ndim), indices_of(name, given)
    if index.ndim > 1:
        raise (RuntimeError if name == "index_fill" else IndexError)(f"{name}(): Index should have dimension 1 or 0 (got {index.ndim})")
    index = index.reshape(-1)
    if source is not None and not isinstance(source, Base):
        raise not_a_tensor(name, "source", 3, source)
    if source is not None and source.array.dtype != x.array.dtype:
        own, its = torch_name(x.dtype), torch_name(source.dtype)
        what = f"{name}_(): self ({own}) and source ({its}) must have the same scalar type"
        if name == "index_copy":
            what = f"index_copy_(): self and source expected to have the same dtype, but got (self) {own} and (source) {its}"
        raise RuntimeError(f"{what}. To fix it, write  source.to(x.dtype).")
    if source is not None and not source.array.ndim and len(index) > 1:
        raise (RuntimeError if dim else IndexError)(f"{name}(): Dimension specified as {dim} but tensor has no dimensions: the source is a single number for {len(index)} indices.")
    if not x.array.ndim:
        if name == "index_add" and source is not None and source.ndim:
            raise RuntimeError(f"index_add(): source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = [], source.shape = {list(source.shape)}")
        in_range(index, 1, OutOfRange if name == "index_add" else IndexError)
        return (...,)
    shape = x.array.shape
    if source is not None:
        expected = (*shape[:dim], len(index), *shape[dim + 1 :])
        if source.array.shape != expected and not (source.ndim == 0 and x.ndim == 1 and len(index) == 1):
            raise (IndexError if name == "index_copy" else RuntimeError)(f"{name}(): Number of indices ({len(index)}) should be equal to source.size(dim), and source tensor shape must match self tensor shape, excluding the specified dimension {dim}. Got self.shape = {list(x.shape)}, source.shape = {list(source.shape)}")
    n = shape[dim]
    if beyond(index, n):
        if name in ("index_copy", "index_add") and (least := np.asarray(index).min()) < 0:
            raise OutOfRange(f"{name}_(): index {least} is out of bounds for dimension {dim} with size {n}")
        in_range(index, n, OutOfRange if name == "index_add" else IndexError)
    return part(dim, index)
