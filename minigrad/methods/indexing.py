"""Indexing: read and write the entries of a tensor by position.

Reading comes first, then writing. An index can be a tensor, an array or a list; the ops
get arrays.
"""

import itertools
import warnings
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.core import dtypes
from minigrad.core.dtypes import Dtype, torch_name
from minigrad.core.op import Op
from minigrad.core.shapes import LISTED, Array, Several, as_int, as_ints, normalize_one
from minigrad.methods.arguments import named_type, not_a_tensor
from minigrad.methods.arrangement import Arrangement
from minigrad.methods.base import (
    Base,
    Operand,
    T,
    Values,
    broadcast,
    overwritten,
    scaled,
    with_numpy_names,
    written_over,
)
from minigrad.ops.composites import named

Index = Values | slice | EllipsisType | None  # the types of index in x[index], or of each index in a tuple


@with_numpy_names
class Indexing(Arrangement):
    """Methods that read and write entries by position."""

    __slots__ = ()

    # ------------------------------------------------------------------ reading

    def __getitem__(self, index: Index) -> Self: return ops.getitem.apply(self, index=plain_index(index, self))

    def narrow(self, dim: int, start: Any, length: int) -> Self:
        """A view of `length` entries along dim, starting at `start`: x[start : start + length] for dim 0.

        A negative start counts from the end. Raises RuntimeError if the axis is too short.

        >>> minigrad.tensor([[1, 2, 3], [4, 5, 6]]).narrow(1, 0, 2)
        tensor([[1, 2],
                [4, 5]])
        """
        if not self.ndim:
            raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
        if isinstance(start, Base) and (start.ndim or start.dtype.kind not in "iu"):
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        dim = normalize_one(dim, self.ndim)
        start, n = as_int(start, "start"), self.array.shape[dim]
        if length < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        if not -n <= start <= n:
            raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
        start += n if start < 0 else 0
        if start + length > n:
            raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
        return ops.getitem.apply(self, index=part(dim, slice(start, start + length)))

    def select(self, dim: int, index: int) -> Self:
        """A view of the slice at this index of axis dim, without that axis: x[index] for dim 0, x[:, index] for dim 1.

        >>> minigrad.tensor([[1, 2, 3], [4, 5, 6]]).select(1, -1)
        tensor([3, 6])
        """
        shape = self.array.shape
        if not shape:
            raise IndexError("select() cannot be applied to a 0-dim tensor.")
        dim, index = normalize_one(dim, len(shape)), as_int(index, "index")
        if not -shape[dim] <= index < shape[dim]:
            raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
        return ops.getitem.apply(self, index=part(dim, index))

    def unbind(self, dim: int = 0) -> tuple[Self, ...]:
        """A tuple of the slices along dim, without that axis: x.unbind() is x[0], x[1], ...

        They are views. While gradients are recorded, you cannot write to them, as in PyTorch.

        >>> minigrad.tensor([[1, 2], [3, 4]]).unbind()
        (tensor([1, 2]), tensor([3, 4]))
        """
        n, before = length("unbind", self, dim), (slice(None),) * normalize_one(dim, self.ndim)
        return one_of_many("Unbind", [ops.getitem.apply(self, index=(*before, i)) for i in range(n)])

    def split(self, split_size: Several, dim: int = 0) -> tuple[Self, ...]:
        """A tuple of pieces of size split_size along dim, as views. The last may be shorter.

        split_size   a number, or a list of sizes that sum to the size of dim

        >>> minigrad.arange(5).split(2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> minigrad.arange(5).split([1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
        """
        sizes = pieces(length("split", self, dim), split_size)
        return cut("SplitWithSizes" if isinstance(split_size, LISTED) else "Split", self, dim, sizes)

    def split_with_sizes(self, split_sizes: Sequence[int], dim: int = 0) -> tuple[Self, ...]:
        """A tuple of pieces of these sizes along dim, as views.

        split_sizes   a list of sizes that must sum to the size of dim, else RuntimeError

        >>> minigrad.arange(5).split_with_sizes([1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
        """
        return cut("SplitWithSizes", self, dim, list(split_sizes))

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Self, ...]:
        """A tuple of at most `chunks` pieces along dim, as views. All have the same size except perhaps the last.

        There may be fewer pieces than `chunks`; tensor_split always returns the requested number.

        >>> minigrad.arange(5).chunk(3)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> len(minigrad.arange(5).chunk(4))
        3
        """
        n = length("chunk", self, dim)
        if chunks <= 0:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        return cut("Split", self, dim, pieces(n, -(-n // chunks)) if n else [0] * chunks)

    def tensor_split(self, indices_or_sections: Any, dim: int = 0) -> tuple[Self, ...]:
        """A tuple of pieces along dim, as views: a number of pieces of nearly equal size, or split at given indices.

        indices_or_sections   the number of pieces, or a tuple of the indices where a new piece starts

        >>> minigrad.arange(5).tensor_split(3)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> minigrad.arange(5).tensor_split((1, 4))
        (tensor([0]), tensor([1, 2, 3]), tensor([4]))
        """
        if not self.ndim:
            raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
        dim, where = normalize_one(dim, self.ndim), indices_or_sections
        if hasattr(where, "tolist"):
            if where.dtype != np.int64:
                raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {torch_name(where.dtype)}")
            if where.ndim > 1:
                raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a tensor with {where.ndim} dims")
            where = where.tolist()
        if isinstance(where, int):
            if where <= 0:
                raise RuntimeError(f"number of sections must be larger than 0, got {where}")
            least, more = divmod(self.shape[dim], where)
            where = list(itertools.accumulate([least + (i < more) for i in range(where)]))[:-1]
        ends = zip((0, *where), (*where, None))
        return tuple([ops.getitem.apply(self, index=part(dim, slice(a, b))) for a, b in ends])

    def gather(self, dim: int, index: Any, *, sparse_grad: bool = False) -> Self:
        """z[i][j] = x[index[i][j]][j] for dim=0, x[i][index[i][j]] for dim=1: one entry for each index.

        dim     the axis that the indices refer to
        index   int64, with as many axes as x, and no longer than x in the other axes. The result has the shape of index

        Raises IndexError for an index that is out of range.

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.gather(1, minigrad.tensor([[0], [2]]))
        tensor([[1.],
                [6.]])
        """
        dim, index = normalize_one(dim, self.array.ndim), indices_of("gather", index)
        at = index_along("gather", self, dim, index)
        z = ops.gather.apply(self, index=at, axis=dim)
        return z if at.shape == index.shape else z.reshape(index.shape)

    def index_select(self, dim: int, index: Values) -> Self:
        """A copy of the rows (columns, ...) of x with these indices, in the order of `index`, which may contain repeats.

        dim     the axis to select along
        index   a vector of int64. In the result, the axis has the length of this vector

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.index_select(1, minigrad.tensor([2, 0]))
        tensor([[3., 1.],
                [6., 4.]])
        """
        shape = self.array.shape
        dim, index = normalize_one(dim, len(shape)), indices_of("index_select", index)
        if index.ndim > 1:
            raise IndexError("index_select(): Index is supposed to be a vector")
        if not shape:
            if index.size != 1:
                raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
            in_range(index, 1)
            return self.clone()
        if beyond(index, shape[dim]):
            if index.min() < 0:
                raise IndexError(f"index out of range in self: index_select takes no negative index, but got {index.min()}. To fix it, use x[index].")
            in_range(index, shape[dim])  # raises IndexError
        return ops.index_select.apply(self, index=index.reshape(-1), axis=dim)

    def masked_select(self, mask: Values) -> Self:
        """A vector of the entries where the mask is True, copied: x[mask]. The mask and x are broadcast.

        Raises RuntimeError unless the mask has dtype bool. The gradient is 0 where the mask is False.

        >>> x = minigrad.tensor([[1, 2], [3, 4]])
        >>> x.masked_select(x > 1)
        tensor([2, 3, 4])
        """
        if getattr(mask, "dtype", None) != np.bool_:
            raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {getattr(mask, 'dtype', type(mask))}. To fix it, use mask.bool().")
        mask = mask_of("masked_select", mask)
        x = self
        if mask.shape != self.array.shape:
            shape = broadcast("masked_select", self.array.shape, mask.shape)
            x, mask = self.expand(shape), np.broadcast_to(mask, shape)
        return named(ops.getitem.apply(x, index=(mask,)), "MaskedSelectBackward0")

    def take(self, index: Values) -> Self:
        """The entries at these positions of the flattened x. The result has the shape of index.

        index   int64; negative indices count from the end

        >>> minigrad.tensor([[10, 20], [30, 40]]).take(minigrad.tensor([0, -1]))
        tensor([10, 40])
        """
        index = in_range(indices_of("take", index), self.array.size)
        return named(ops.getitem.apply(ops.reshape.apply(self, shape=(-1,)), index=(index,)), "TakeBackward0")

    def take_along_dim(self, indices: Values, dim: int | None = None) -> Self:
        """The entries at these positions along dim: gather, but with x and indices broadcast.

        indices   int64, with as many axes as x, such as the result of argsort or argmax(keepdim=True)
        Without dim, both are flattened first.

        >>> x = minigrad.tensor([[3, 1, 2], [4, 6, 5]])
        >>> x.take_along_dim(x.argmax(1, keepdim=True), dim=1)
        tensor([[3],
                [6]])
        """
        given = getattr(indices, "dtype", None)
        if given not in (None, np.int64):
            raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {torch_name(given)}")
        indices = indices_of("take_along_dim", indices)
        if dim is None:
            return self.reshape(-1).take_along_dim(indices.reshape(-1), 0)
        dim = normalize_one(dim, self.ndim)
        if indices.ndim != self.ndim:
            raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {self.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
        if indices.size and indices.item(indices.argmin()) < 0:
            indices = np.where(indices < 0, indices + self.shape[dim], indices)
        if indices.shape == self.array.shape:
            return self.gather(dim, indices)
        rest = broadcast("take_along_dim", *(tuple(1 if i == dim else n for i, n in enumerate(s)) for s in (self.shape, indices.shape)))
        wide = [tuple(s[dim] if i == dim else n for i, n in enumerate(rest)) for s in (self.shape, indices.shape)]
        return self.expand(wide[0]).gather(dim, np.broadcast_to(indices, wide[1]))

    # ------------------------------------------------------------------ writing

    def __setitem__(self, index: Index, value: Any) -> None:
        index = plain_index(index, self)
        if ops.is_basic(index):  # type: ignore[no-untyped-call]
            if index in WHOLE and self.ndim:
                value = without_ones(value, self.ndim)
                overwritten(self, value, "CopyBackwards" if getattr(value, "ndim", 0) else "FillBackward3")
            else:
                there = ops.getitem.apply(self, index=index)
                ops.copy.apply_(there, without_ones(written_over(self, value), there.ndim))
        else:
            if getattr(value, "ndim", 0) > 1 and value.shape[0] == 1:
                value = without_ones(value, np.broadcast_to(False, self.shape)[index].ndim)
            ops.index_put.apply_(self, put_there("Index put", value, self, index), index=index)

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
        times = ops.scatter_add.forward(np.zeros(x.shape, np.int64), np.ones(place["index"].shape, np.int64), **place)
        count = x._constant(times + 1 if include_self else np.maximum(times, 1))
        return named(total / count.to(x.dtype), "ScatterReduceBackward0") if x.dtype.kind == "f" else (total // count).to(x.dtype)

    def index_reduce(self, dim: int, index: Values, source: Base, reduce: str, *, include_self: bool = True) -> Self:
        """A copy of x with slices of source combined at the positions that index gives along dim.

        index          a vector of int64, one entry for each slice of source along dim
        reduce         "prod", "mean", "amax" or "amin"
        include_self   whether the old entry of x is included

        >>> x, index = minigrad.ones(2, 2), minigrad.tensor([0, 0])
        >>> x.index_reduce(0, index, minigrad.tensor([[2.0, 3.0], [4.0, 5.0]]), "prod")
        tensor([[ 8., 15.],
                [ 1.,  1.]])
        """
        if reduce not in ("prod", "mean", "amax", "amin"):
            raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
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
        if at.size and not 0 <= at.min() <= at.max() < (self.shape[dim] if self.ndim else 1):
            raise IndexError(f"index out of range in self: index_reduce() got indices from {at.min()} to {at.max()} for shape {list(self.shape)}")
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
        values = put_there("Index put", values, self, () if accumulate else index)
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
        z = ops.index_put.apply(self, filling("index_fill_", value, self), index=rows_of("index_fill", self, dim, index))
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
        return ops.masked_fill.apply_(self, filling("masked_fill_", value, self), mask=mask_within(self, mask_of("masked_fill", mask)))

    def masked_scatter(self, mask: Values, source: Self) -> Self:
        """A copy of x with the entries where the mask is True replaced by the entries of source, in order.

        mask     of dtype bool, broadcast with x
        source   has x's dtype and at least as many entries as the mask has True values; otherwise RuntimeError

        >>> mask = minigrad.tensor([True, False, True])
        >>> minigrad.zeros(3).masked_scatter(mask, minigrad.tensor([1.0, 2.0, 3.0]))
        tensor([1., 0., 2.])
        """
        mask = mask_of("masked_scatter", mask)
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

    def diagonal_scatter(self, src: Operand, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """A copy of x with x.diagonal(offset, dim1, dim2) replaced by src.

        >>> minigrad.zeros(2, 2).diagonal_scatter(minigrad.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
        """
        z = self.clone()
        z.diagonal(offset, dim1, dim2).copy_(src)
        return z

    def put(self, index: Values, source: Any, accumulate: bool = False) -> Self:
        """A copy of x with source written at these positions of the flattened x.

        index        int64; negative indices count from the end
        source       has x's dtype and as many entries as index
        accumulate   add to the old entry instead of replacing it

        >>> minigrad.zeros(2, 2).put(minigrad.tensor([0, -1]), minigrad.tensor([5.0, 6.0]))
        tensor([[5., 0.],
                [0., 6.]])
        """
        flat, places = self.reshape(-1), in_range(indices_of("put", index), self.numel())
        if not hasattr(source, "numel"):
            raise not_a_tensor("put_", "source", 2, source)
        if source.dtype != self.dtype:
            raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = {self.dtype} and source.dtype = {source.dtype}")
        if (n := source.numel()) != places.size:
            raise IndexError(f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {n}, index.numel() = {places.size}")
        z = flat.index_put((places,), source.reshape(places.shape), accumulate).reshape(self.shape)
        return named(z, "PutBackward0")


def plain_index(index: Any, x: Base) -> tuple[Any, ...]:
    """An index of x with its tensors converted to arrays of integers or booleans."""
    if index.__class__ in PLAIN and (index.__class__ is not slice or goes_forward(index)):
        return (index,)
    if index.__class__ is tuple:
        for part in index:
            if part.__class__ not in PLAIN or part.__class__ is slice and not goes_forward(part):
                break
        else:
            return index
    if index.__class__ is list and x.ndim and set(map(type, index)) == {int}:
        numbers = np.array(index)
        if numbers.dtype == np.int64:
            return (numbers,)
    # Most other indices are int64 tensors mixed with numbers and slices, or a single mask.
    parts = index if isinstance(index, tuple) else (index,)
    plain: list[Any] = []
    for part in parts:
        if part.__class__ is int or part is ... or part.__class__ is slice and goes_forward(part):
            plain.append(part)
        elif isinstance(part, Base) and part.ndim and (part.dtype is INT64 or part.dtype is BOOL and len(parts) == 1 and part.shape == x.shape[: part.ndim]):
            plain.append(part.array)
        else:
            break
    else:
        if len(plain) <= x.ndim:
            return tuple(plain)
    return converted(index, x)


def converted(index: Any, x: Base) -> tuple[Any, ...]:
    """`plain_index` for all other indices."""
    parts = index if isinstance(index, tuple) else (index,)
    if isinstance(index, list) and len(index) < 32 and any(  # as in old NumPy, and in PyTorch
        isinstance(p, SEVERAL) or p is None for p in index):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of x[seq].",
            stacklevel=4,
        )
        parts = tuple(index)  # x[[[1, 2], [0]]] is x[[1, 2], [0]]
    plain = []
    for part in parts:
        if isinstance(part, Base):
            part = np.asanyarray(part.array) if part.dtype == np.uint8 else part.array
        if isinstance(part, slice) and not goes_forward(part) and part.step <= 0:
            raise ValueError(f"step must be greater than zero, but is {part.step}. To reverse an axis, write  x.flip(0).")
        if isinstance(part, (list, tuple, range)):
            part = np.asarray([p.array if isinstance(p, Base) else p for p in part])
            if not part.size:
                part = part.astype(np.int64)
        if isinstance(part, np.ndarray) and part.dtype == np.uint8:
            warnings.warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead. "
                "To fix it, use mask.bool().",
                stacklevel=4,
            )
            part = part.astype(bool)  # old programs use uint8 for booleans
        elif isinstance(part, (np.integer, np.ndarray)) and part.ndim == 0 and part.dtype.kind in "iu":
            part = part.item()
        if isinstance(part, np.ndarray) and part.dtype not in INDICES:
            raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, not {part.dtype}.")
        if isinstance(part, str):
            raise TypeError(f"new(): invalid data type 'str'. Entries have no names: x[{part!r}] needs a number, a slice or a tensor.")
        if not (isinstance(part, INDEX_PARTS) or hasattr(part, "__index__")):
            raise IndexError(f"only integers, slices (`:`), ellipsis (`...`), None and long or bool tensors are valid indices (got {named_type(part)})")
        plain.append(part)
    if any(part.__class__ is np.ndarray for part in plain):
        fitting_masks(plain, x.shape)
    return tuple(plain)


def goes_forward(part: slice) -> bool:
    """True if the step of the slice is None or a positive int. PyTorch allows no other steps."""
    step = part.step
    return step is None or step.__class__ is int and step > 0


def fitting_masks(index: list[Any], shape: tuple[int, ...]) -> None:
    """Raise an error if there are too many indices, or if a mask does not match the shape of the axes it indexes."""
    lengths = [p.ndim if isinstance(p, np.ndarray) and p.dtype.kind == "b" else int(p is not None and p is not ... and not isinstance(p, (bool, np.bool_))) for p in index]
    if sum(lengths) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {sum(lengths)})")
    for k, part in enumerate(index):
        if isinstance(part, np.ndarray) and part.dtype.kind == "b":
            before = len(shape) - sum(lengths[k:]) if any(p is ... for p in index[:k]) else sum(lengths[:k])
            there = shape[before : before + part.ndim]
            if part.shape != there:
                raise IndexError(f"The shape of the mask {list(part.shape)} at index {before} does not match the shape of the indexed tensor {list(shape)} at index {before}")


PLAIN = frozenset([int, slice, type(None), type(...)])  # parts that need no conversion
SEVERAL = (Base, np.ndarray, list, tuple, range, slice, type(...))  # a list that contains one of these is a tuple of indices
WHOLE = ((slice(None),), (...,))  # x[:] = y is x.copy_(y)
INT64, UINT64, BOOL = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.bool_)
INDICES = (INT64, np.dtype(np.int32), BOOL)
INDEX_PARTS = (*PLAIN, bool, np.bool_, np.integer, np.ndarray, Base)  # all other parts are refused


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


def put_there(name: str, value: Any, x: Base, index: tuple[Any, ...]) -> Operand:
    """The value to write at this index of x: a number, or a tensor of x's dtype.

    For a single mask, PyTorch fills like masked_fill: a tensor of one number may have any dtype.
    """
    if hasattr(value, "__apply_op__") and value.dtype != x.dtype:
        arrays = [part for part in index if isinstance(part, (np.ndarray, bool))]
        if value.numel() == 1 and len(arrays) == 1 and (isinstance(arrays[0], bool) or arrays[0].dtype is BOOL):
            return value.reshape(()).to(x.dtype)
        raise RuntimeError(
            f"{name} requires the source and destination dtypes match, got {x.dtype} for the destination "
            f"and {value.dtype} for the source. To fix it, write  source.to(x.dtype)."
        )
    return like(value, x)


def filling(name: str, value: Operand, x: Base) -> Operand:
    """The single number that masked_fill and index_fill write, in x's dtype."""
    if isinstance(value, Base):
        if value.ndim:
            raise RuntimeError(f"{name} only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s). To fix it, pass a number, like  value.item().")
        return value if value.dtype == x.dtype else value.to(x.dtype)
    return like(value, x)


def indices_of(name: str, index: Values) -> Array:
    """An index as an array of integers."""
    index = np.asarray(getattr(index, "array", index))
    if index.dtype is INT64:
        return index
    if index.dtype not in INDICES[:2] and index.size:
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index, but got {index.dtype}.")
    return index.astype(np.int64, copy=False)


def mask_within(x: Base, mask: Array) -> Array:
    """The mask, after checking that it broadcasts to x's shape."""
    shape = x.array.shape
    if mask.shape != shape and (common := broadcast("the mask", shape, mask.shape)) != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}: the mask is larger than the tensor.")
    return mask


def length(name: str, x: Base, dim: int) -> int:
    """The length of an axis that will be split."""
    if not x.ndim:
        raise (IndexError if name == "unbind" else RuntimeError)(f"{name} expects at least a 1-dimensional tensor: Dimension specified as {dim} but tensor has no dimensions")
    return x.array.shape[normalize_one(dim, x.array.ndim)]


def mask_of(name: str, mask: Values) -> Array:
    """A mask as an array of booleans."""
    mask = np.asarray(getattr(mask, "array", mask))
    if mask.dtype.kind != "b":
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {mask.dtype}. To fix it, use mask.bool().")
    return mask


def truth_values(condition: Operand) -> Any:
    """The condition of `where` as booleans."""
    dtype = getattr(condition, "dtype", None)
    if dtype is None or dtype.kind == "b":
        return condition
    if dtype != np.uint8:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {dtypes.torch_name(dtype)}. To fix it, compare: condition != 0.")
    warnings.warn("where received a uint8 condition tensor. This behavior is deprecated. To fix it, use condition.bool().", stacklevel=4)
    return condition != 0


def beyond(index: Array, n: int) -> bool:
    """True if an index is negative or at least n. (Read as unsigned, a negative index is very large.)"""
    values = np.asarray(index, np.int64).view(UINT64)
    return values.size > 0 and values.item(values.argmax()) >= n  # argmax is four times as fast as max


class OutOfRange(IndexError, RuntimeError):
    """Raised by index_add and index_copy. PyTorch raises either error, depending on the kernel it chooses; this is both."""


def in_range(index: Array, n: int, kind: type[Exception] = IndexError) -> Array:
    """The index, after checking that all its values are from -n to n - 1."""
    if beyond(index, n) and (index.max() >= n or index.min() < -n):
        bad = index[(index >= n) | (index < -n)].flat[0]
        raise kind(f"index out of range in self: index {bad} is out of bounds for dimension with size {n}.")
    return index


def index_along(name: str, x: Base, dim: int, index: Array) -> Array:
    """The index of gather and scatter, after checking it: as many axes as x, and no larger in the other axes."""
    shape = x.array.shape
    if max(index.ndim, 1) != max(len(shape), 1) and index.size:
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {'input' if name == 'gather' else 'self'} tensor: it has {index.ndim}, not {x.ndim}.")
    for i, (n, m) in enumerate(zip(index.shape, shape)):
        if n > m and i != dim and index.size:
            raise RuntimeError(f"Size does not match at dimension {i} expected index {list(index.shape)} to be no larger than self {list(shape)} apart from dimension {dim}")
    n = shape[dim] if shape else 1
    if beyond(index, n):
        raise RuntimeError(f"index {index[(index >= n) | (index < 0)].flat[0]} is out of bounds for dimension {dim} with size {n}")
    if not index.size and index.ndim != len(shape):
        return index.reshape((0,) * max(len(shape), 1))
    return index if index.ndim or not shape else index.reshape(1)


def scattering(name: str, x: Base, dim: int, index: Values, src: Any, reduce: str | None) -> tuple[Op, tuple[Any, ...], dict[str, Any]]:
    """The op, other operands and settings for scatter and scatter_add."""
    dim = normalize_one(dim, x.array.ndim)
    index = index_along(name, x, dim, indices_of(name, index))
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if isinstance(src, Indexing):
        if src.array.dtype != x.array.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype: {x.dtype} and {src.dtype}.")
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
    dim, index = normalize_one(dim, x.ndim), indices_of(name, given)
    if index.ndim > 1:
        raise (RuntimeError if name == "index_fill" else IndexError)(f"{name}(): Index should have dimension 1 or 0 (got {index.ndim})")
    index = index.reshape(-1)
    if source is not None and not isinstance(source, Base):
        raise not_a_tensor(name, "source", 3, source)
    if source is not None and source.dtype != x.dtype:
        raise RuntimeError(f"{name}_(): self ({x.dtype}) and source ({source.dtype}) must have the same scalar type (the same dtype). To fix it, write  source.to(x.dtype).")
    if source is not None and not source.ndim and len(index) > 1:
        raise (RuntimeError if dim else IndexError)(f"{name}(): Dimension specified as {dim} but tensor has no dimensions: the source is a single number for {len(index)} indices.")
    if not x.ndim:
        in_range(index, 1, OutOfRange if name == "index_add" else IndexError)
        return (...,)
    if name == "index_fill":
        given = getattr(given, "array", given)
        if index.size < ops.FEW and given.__class__ is np.ndarray:
            index = np.array(sorted(set(index.tolist())), np.int64)
        else:
            index = np.unique(np.asanyarray(given))  # write the value only once, even if a position is repeated
    shape = x.array.shape
    if source is not None:
        expected = (*shape[:dim], len(index), *shape[dim + 1 :])
        if source.array.shape != expected and not (source.ndim == 0 and x.ndim == 1 and len(index) == 1):
            raise (IndexError if name == "index_copy" else RuntimeError)(f"{name}(): Number of indices ({len(index)}) should be equal to source.size(dim), and the other sizes to those of self: self {list(x.shape)}, dim {dim}, source {list(source.shape)}")
    n = shape[dim]
    if name in ("index_copy", "index_add") and index.size and index.min() < 0:
        raise OutOfRange(f"{name}_(): index {index.min()} is out of bounds for dimension {dim} with size {n}")
    index = in_range(index, n, OutOfRange if name == "index_add" else IndexError)
    return part(dim, index)


def part(axis: int, which: int | slice | Array) -> tuple[Any, ...]:
    """The index that takes `which` along one axis, counted from the front, and all entries along the others."""
    return (*(slice(None),) * axis, which)


def pieces(n: int, size: Several) -> list[int]:
    """The sizes of the pieces of split: the given list, or equal sizes except for the last."""
    if isinstance(size, LISTED):
        return list(as_ints(size, "split_size"))
    size = as_int(size, "split_size")
    if size < 0 or (size == 0 and n):
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    whole, rest = divmod(n, size) if n else (0, 0)
    return [size] * whole + [rest] * (rest > 0 or not n)


def cut(node: str, x: T, dim: int, lengths: list[int]) -> tuple[T, ...]:
    """Views of x: pieces of these lengths along dim. `node` is the name of PyTorch's node."""
    whole, dim = length("split_with_sizes", x, dim), normalize_one(dim, x.array.ndim)
    if sum(lengths) != whole or min(lengths, default=0) < 0:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {whole} (input tensor's size at dimension {dim}), but got split_sizes={lengths}")
    before = (slice(None),) * dim
    ends = list(itertools.accumulate(lengths))
    return one_of_many(node, [ops.getitem.apply(x, index=(*before, slice(end - n, end))) for end, n in zip(ends, lengths, strict=True)])


def one_of_many(name: str, views: list[Any]) -> tuple[Any, ...]:
    """Mark the views as results of one call. As in PyTorch, you cannot write to such views."""
    for k, z in enumerate(views):
        named(z, f"{name}Backward0")
        if getattr(z, "origin", "no view") is None:
            z.origin = ("many", name, k)
    return tuple(views)
