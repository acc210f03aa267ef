"""Methods that change the shape, or the order of axes and entries. The result is a view where possible."""

import builtins
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.core import dtypes
from minigrad.core.devices import MemoryFormat
from minigrad.core.errors import warn_user
from minigrad.core.modes import seen
from minigrad.core.shapes import (
    Dim,
    Several,
    Shape,
    broadcast_axes,
    normalize_axes,
    normalize_one,
    one_or_more,
)
from minigrad.methods.base import Base, T, Values, sizes
from minigrad.ops.composites import named


class Arrangement(Base):
    """Methods for shapes and for the order of axes and entries."""

    __slots__ = ()

    @property
    def T(self) -> Self:
        """A view with the axes in reverse order. For a matrix, this is the transpose.

        >>> minigrad.tensor([[1, 2, 3], [4, 5, 6]]).T
        tensor([[1, 4],
                [2, 5],
                [3, 6]])
        """
        if not self.ndim:
            warn_user("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
        elif self.ndim != 2:
            warn_user(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
                "error in a future release. Consider `x.mT` to transpose batches of matrices or "
                "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
            )
        return ops.permute.apply(self, dims=tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Self:
        """A view with the last two axes swapped: each matrix in a batch is transposed.

        Raises RuntimeError for a vector, which has no second axis.

        >>> minigrad.zeros(5, 2, 3).mT.shape
        minigrad.Size([5, 3, 2])
        """
        return of_matrices("mT", self)

    @property
    def H(self) -> Self:
        """The transpose of a matrix, as a view; for complex numbers, the conjugate transpose, as a new tensor.

        Raises RuntimeError for a vector, and for more than two axes: use x.mH there.

        >>> minigrad.tensor([[1, 2], [3, 4]]).H
        tensor([[1, 3],
                [2, 4]])
        """
        if not self.ndim:
            warn_user("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
        if self.ndim not in (0, 2):
            raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.{' For batches of matrices, consider using tensor.mH' if self.ndim > 2 else ''}")
        return ops.transpose.apply(self, dim0=0, dim1=1).conj() if self.ndim else self.conj()

    @property
    def mH(self) -> Self:
        """A view with the last two axes swapped; for complex numbers, also conjugated, as a new tensor.

        >>> minigrad.zeros(5, 2, 3).mH.shape
        minigrad.Size([5, 3, 2])
        """
        return of_matrices("mH", self).conj()

    def reshape(self, *size: Several, shape: Several | None = None) -> Self:
        """A tensor with the same entries, in row-major order, and another shape. It is a view if the memory layout allows it, else a copy.

        shape   the new sizes; one of them may be -1 and is then inferred

        Raises RuntimeError if the number of entries differs.

        >>> minigrad.arange(6).reshape(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
        """
        return reshaped(self, new_shape(size, shape))

    def view(self, *shape: Several | dtypes.Dtype | type, size: Several | None = None, dtype: dtypes.DTypeLike = None) -> Self:
        """A view of the same memory with another shape. x.view(dtype) reads the bytes as another dtype.

        shape   the new sizes; one of them may be -1 and is then inferred

        Raises RuntimeError if this needs a copy; reshape() makes one.

        >>> minigrad.arange(6).view(3, 2)
        tensor([[0, 1],
                [2, 3],
                [4, 5]])
        """
        shape = shape if size is None else (size,)
        if dtype is None and len(shape) == 1 and isinstance(shape[0], (dtypes.dtype, np.dtype, type)):
            dtype, shape = shape[0], ()
        if dtype is not None and not shape:
            return self._read_as(dtypes.as_dtype(dtype))
        return ops.view.apply(self, shape=new_shape(shape))

    def as_strided(self, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Self:
        """A view of x's memory with the given sizes and strides. Entry [i][j] is at position
        storage_offset + i * stride[0] + j * stride[1], counted in entries.

        Raises RuntimeError if an entry would be outside the memory.

        >>> minigrad.arange(4.0).as_strided((3, 2), (1, 1))
        tensor([[0., 1.],
                [1., 2.],
                [2., 3.]])
        """
        x: Any = self
        size, stride = sizes((tuple(size),)), sizes((tuple(stride),))
        start = x.storage_offset() if storage_offset is None else storage_offset
        base: Any = getattr(x, "_base", None)
        whole = base is None or (x.is_contiguous() and x.numel() == base.numel())
        memory: Any = x if whole else base  # a dual tensor is a view of its whole base, and it carries the tangent
        if x.requires_grad and memory is not x and (x.is_leaf or not memory.requires_grad):
            raise RuntimeError("as_strided: this leaf is a view or has one, so its gradient could not be separated from the gradient of the rest of the memory. To fix it, use x.contiguous() first.")
        if not memory.is_contiguous():
            raise RuntimeError("as_strided: this tensor's memory is not contiguous. To fix it, use x.contiguous() first.")
        if len(size) != len(stride):
            raise RuntimeError("mismatch in length of strides and shape")
        if min(stride, default=0) < 0:
            raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}. To fix it, use x.flip().")
        last = start + builtins.sum((n - 1) * s for n, s in zip(size, stride))
        if 0 not in size and (last >= memory.numel() or start < 0):
            width = x.dtype.itemsize
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize {width} "
                f"requiring a storage size of {(last + 1) * width} are out of bounds for storage of size {memory.numel() * width}"
            )
        return ops.as_strided.apply(memory.view(-1), size=size, stride=stride, storage_offset=start)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """The tensor with the axes from start_dim to end_dim merged into one. By default, all axes are merged.

        The result shares memory with x where possible, as in reshape.
        x.flatten(1) turns a batch of images (n, c, h, w) into a batch of vectors (n, c * h * w).

        >>> minigrad.zeros(4, 3, 2, 2).flatten(1).shape
        minigrad.Size([4, 12])
        """
        shape = self.array.shape
        start, end = normalize_one(start_dim, len(shape)), normalize_one(end_dim, len(shape))
        if start > end:
            raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
        return flattened(self, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))

    def ravel(self) -> Self:
        """All entries as a vector: x.reshape(-1). It shares memory with x where possible.

        >>> minigrad.tensor([[1, 2], [3, 4]]).ravel()
        tensor([1, 2, 3, 4])
        """
        return self.contiguous().view(-1)

    def permute(self, *axes: Several, dims: Several | None = None) -> Self:
        """A view with the axes in another order: axis i of the result is axis dims[i] of x.

        Raises RuntimeError unless each axis is given exactly once.

        >>> minigrad.zeros(2, 3, 5).permute(2, 0, 1).shape
        minigrad.Size([5, 2, 3])
        """
        wanted, ndim = sizes(axes, dims), self.ndim
        if len(wanted) != ndim:
            raise RuntimeError(
                f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
                f"the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(wanted)}"
            )
        order = tuple([normalize_one(d, ndim) for d in wanted])
        return ops.permute.apply(self, dims=order if len(set(order)) == ndim else normalize_axes(wanted, ndim))  # normalize_axes raises

    def t(self) -> Self:
        """The transpose of a matrix, as a view. Vectors and single numbers are unchanged.

        >>> minigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).t()
        tensor([[1., 3.],
                [2., 4.]])
        """
        if self.ndim > 2:
            raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D. To fix it, use x.mT, or x.permute(...).")
        return ops.t.apply(self)

    def expand(self, *shape: Several, size: Several | None = None) -> Self:
        """A view that repeats axes of length 1 without copying. -1 keeps a size; new axes can be added at the front.

        The gradient is summed over the repeated axes. Raises RuntimeError for an axis of another length.

        >>> minigrad.tensor([[1.0], [2.0]]).expand(-1, 3)
        tensor([[1., 1., 1.],
                [2., 2., 2.]])
        """
        return ops.expand.apply(self, shape=expanded(self.array.shape, sizes(shape, size)))

    def expand_as(self, other: Self) -> Self:
        """A view broadcast to the shape of `other`: x.expand(other.shape).

        >>> minigrad.tensor([1, 2]).expand_as(minigrad.zeros(2, 2))
        tensor([[1, 2],
                [1, 2]])
        """
        return self.expand(other.shape)

    def unsqueeze(self, dim: int) -> Self:
        """A view with a new axis of length 1 before the axis dim; -1 puts it last.

        >>> minigrad.zeros(2, 3).unsqueeze(0).shape
        minigrad.Size([1, 2, 3])
        >>> minigrad.zeros(2, 3).unsqueeze(-1).shape
        minigrad.Size([2, 3, 1])
        """
        return ops.unsqueeze.apply(self, axis=normalize_one(dim, self.ndim + 1))

    def squeeze(self, dim: Dim = None, *more: int) -> Self:
        """A view without the axes of length 1: all of them, or only those in dim. Longer axes are unchanged.

        more   x.squeeze(0, 2) is x.squeeze((0, 2))

        >>> minigrad.zeros(1, 3, 1).squeeze().shape
        minigrad.Size([3])
        >>> minigrad.zeros(1, 3, 1).squeeze(0).shape
        minigrad.Size([3, 1])
        """
        dim = (dim, *more) if more else dim  # type: ignore[arg-type]
        z = ops.squeeze.apply(self, axis=squeezable(self.array.shape, dim))
        if getattr(z, "node", None) is None:
            return z
        form = 0 if dim is None else 1 if isinstance(dim, int) else 2
        return named(z, f"SqueezeBackward{form + 3 * (z is self)}", ops.squeeze)

    def contiguous(self, memory_format: MemoryFormat | None = None) -> Self:
        """The tensor with contiguous memory: itself if it is contiguous already, else a copy.

        Use it before view() after a transpose. memory_format is accepted but has no effect.

        >>> x = minigrad.tensor([[1, 2], [3, 4]])
        >>> x.T.contiguous().view(4)
        tensor([1, 3, 2, 4])
        """
        return self if not self.ndim or self.array.flags.c_contiguous else ops.clone.apply(self, order="C")

    def is_contiguous(self, memory_format: MemoryFormat | None = None) -> bool:
        """True if the entries are in memory in the order of the axes, row by row (C order).

        >>> x = minigrad.zeros(2, 3)
        >>> x.is_contiguous(), x.T.is_contiguous()
        (True, False)
        """
        return not self.ndim or self.array.flags.c_contiguous

    def view_as(self, other: Self) -> Self:
        """A view with the shape of `other`: x.view(other.shape).

        >>> minigrad.arange(6).view_as(minigrad.zeros(2, 3))
        tensor([[0, 1, 2],
                [3, 4, 5]])
        """
        return self.view(other.shape)

    def reshape_as(self, other: Self) -> Self:
        """The tensor with the shape of `other`: x.reshape(other.shape).

        >>> minigrad.arange(6).reshape_as(minigrad.zeros(2, 3))
        tensor([[0, 1, 2],
                [3, 4, 5]])
        """
        return self.reshape(other.shape)

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Self:
        """A view with one axis split into several: the opposite of flatten.

        sizes   a tuple whose product is the size of dim; one of them may be -1
        Raises RuntimeError if the product of the sizes is not the size of dim.

        >>> minigrad.zeros(4, 6).unflatten(1, (2, -1)).shape
        minigrad.Size([4, 2, 3])
        """
        if not sizes:
            raise RuntimeError("unflatten: sizes must be non-empty")
        shape, sizes = self.array.shape, one_or_more(sizes, "sizes")
        dim = normalize_one(dim, len(shape))
        n, known = shape[dim], math.prod([k for k in sizes if k != -1])
        if -1 in sizes and known:
            sizes = tuple([n // known if k == -1 else k for k in sizes])
            known *= n // known
        if known != n:
            raise RuntimeError(
                f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n}) in the input tensor"
            )
        return self.view((*shape[:dim], *sizes, *shape[dim + 1 :]))

    def swapaxes(self, axis0: int, axis1: int) -> Self:
        """transpose() with NumPy's argument names. (rows.py replaces this docstring with the one of transpose.)"""
        return ops.transpose.apply(self, dim0=normalize_one(axis0, self.ndim), dim1=normalize_one(axis1, self.ndim))

    def movedim(self, source: Several, destination: Several) -> Self:
        """A view with the axes at `source` moved to the positions `destination`. The others keep their order.

        source, destination   two axes, or two tuples of axes of the same length

        >>> minigrad.zeros(2, 3, 4).movedim(0, -1).shape
        minigrad.Size([3, 4, 2])
        """
        given = one_or_more(source, "dims"), one_or_more(destination, "dims")
        return ops.permute.apply(self, dims=moved(self.array.ndim, *given))

    def adjoint(self) -> Self:
        """x.mH as a method. Raises RuntimeError for a 1-d tensor. (rows.py replaces this docstring.)"""
        return of_matrices("adjoint()", self).conj()

    def broadcast_to(self, *shape: Several, size: Several | None = None) -> Self:
        """A view broadcast to this size. Entries are repeated without copying.

        An axis of size 1 can become larger, and new axes come first.
        The gradient is summed over the repeated axes. Raises RuntimeError for other sizes.

        >>> minigrad.tensor([1, 2]).broadcast_to((2, 2))
        tensor([[1, 2],
                [1, 2]])
        """
        return self.expand(*shape, size=size)

    def flip(self, *axes: Several, dims: Several | None = None) -> Self:
        """A copy with the entries in reverse order along some axes.

        dims   one axis or several

        >>> minigrad.tensor([1, 2, 3]).flip(0)
        tensor([3, 2, 1])
        """
        if not axes and dims is None:
            raise TypeError('flip() missing 1 required positional arguments: "dims"')
        axes = sizes(axes, dims)
        return ops.flip.apply(self, dims=normalize_axes(axes, self.ndim)[: self.ndim] if axes else ())

    def fliplr(self) -> Self:
        """A copy with the columns in reverse order: x.flip(1). The tensor needs at least two axes.

        >>> minigrad.tensor([[1, 2], [3, 4]]).fliplr()
        tensor([[2, 1],
                [4, 3]])
        """
        if self.ndim < 2:
            raise RuntimeError("Input must be >= 2-d.")
        return self.flip(1)

    def flipud(self) -> Self:
        """A copy with the rows in reverse order: x.flip(0). The tensor needs at least one axis.

        >>> minigrad.tensor([[1, 2], [3, 4]]).flipud()
        tensor([[3, 4],
                [1, 2]])
        """
        if self.ndim < 1:
            raise RuntimeError("Input must be >= 1-d.")
        return self.flip(0)

    def roll(self, shifts: Several, dims: Dim = None) -> Self:
        """A copy with the entries shifted along some axes. Entries shifted past the end come back at the start.

        shifts   how far to shift, for each axis
        dims     the axes; None: shift the flattened tensor

        >>> minigrad.tensor([1, 2, 3]).roll(1)
        tensor([3, 1, 2])
        """
        shifts, dims = one_or_more(shifts, "shifts"), () if dims is None else one_or_more(dims, "dims")
        if len(shifts) == 1 and not dims:
            return ops.roll.apply(self, shifts=shifts[0])
        if dims and not self.numel():
            return self.clone()
        if not shifts:
            raise RuntimeError("`shifts` required")
        if len(shifts) != len(dims):
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
        if not self.ndim:
            raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
        return ops.roll.apply(self, shifts=shifts, dims=tuple([normalize_one(d, self.ndim) for d in dims]))

    def rot90(self, k: int = 1, dims: Sequence[int] = (0, 1)) -> Self:
        """The tensor rotated k times by 90 degrees in the plane of two axes, from the first of dims toward the second.

        A negative k rotates the other way.

        >>> minigrad.tensor([[1, 2], [3, 4]]).rot90()
        tensor([[2, 4],
                [1, 3]])
        """
        k %= 4
        if self.ndim < 2:
            raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.ndim}")
        if len(dims) != 2:
            raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
        if dims[0] == dims[1]:
            raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
        a, b = (normalize_one(d, self.ndim) for d in dims)
        if k == 0:
            return named(self.clone(), "Rot90Backward0")
        if k == 2:
            return named(self.flip(a, b), "Rot90Backward0")
        return named(self.flip(b if k == 1 else a).transpose(a, b), "Rot90Backward0")

    def repeat(self, *times: Several, repeats: Several | None = None) -> Self:
        """A copy with the whole tensor repeated along each axis. To repeat individual entries, use repeat_interleave.

        times   the number of repeats for each axis; additional numbers add new axes at the front
        x.expand(...) repeats along axes of size 1 without copying.

        >>> minigrad.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
        """
        return ops.tile.apply(self, repeats=tiles("repeat", sizes(times, repeats), self.ndim))

    def tile(self, *times: Several, dims: Several | None = None) -> Self:
        """x repeated times[i] times along axis i. If there are fewer numbers than axes, they apply to the last axes.

        >>> minigrad.tensor([1, 2]).tile(2)
        tensor([1, 2, 1, 2])
        >>> minigrad.tensor([1, 2]).tile(2, 1)
        tensor([[1, 2],
                [1, 2]])
        """
        repeats = sizes(times, dims)
        return ops.tile.apply(self, repeats=tiles("tile", (1,) * (self.ndim - len(repeats)) + repeats, self.ndim))

    def repeat_interleave(self, repeats: Values | None = None, dim: int | None = None, *, output_size: int | None = None) -> Self:
        """A copy with each entry along dim repeated next to itself. Without dim, x is flattened first.

        repeats   a number, or a tensor of integers: one for each entry along dim

        repeat_interleave(repeats), without a tensor to repeat, gives the indices: 0 repeats[0] times, and so on.

        >>> x = minigrad.tensor([[1, 2], [3, 4]])
        >>> x.repeat_interleave(2)
        tensor([1, 1, 2, 2, 3, 3, 4, 4])
        >>> x.repeat_interleave(minigrad.tensor([1, 2]), dim=0)
        tensor([[1, 2],
                [3, 4],
                [3, 4]])
        """
        if repeats is None:
            if self.ndim != 1:
                raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
            return self._constant(np.arange(self.shape[0], dtype=self.dtype)).repeat_interleave(self, 0)
        if dim is None:
            return self.reshape(-1).repeat_interleave(repeats, 0)
        dim = normalize_one(dim, self.ndim)
        n = self.shape[dim] if self.ndim else 1
        counts = np.asanyarray(seen(repeats))
        if counts.dtype.kind not in "iu":
            raise RuntimeError("repeats must be int32 or int64")
        if counts.size not in (1, n) or counts.ndim > 1:
            raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and input.size({dim}) = {n}")
        if counts.size and counts.min() < 0:
            raise RuntimeError("repeats can not be negative")
        z = ops.index_select.apply(self if self.ndim else self.reshape(1), index=np.repeat(np.arange(n), counts.astype(np.intp, copy=False)), axis=dim)
        return z if isinstance(repeats, Base) else named(z, "ViewBackward0")

    def unfold(self, dimension: int, size: int, step: int) -> Self:
        """A view of sliding windows along `dimension`. Window i holds the entries i * step to i * step + size, on a new last axis.

        >>> minigrad.arange(5).unfold(0, 3, 1)
        tensor([[0, 1, 2],
                [1, 2, 3],
                [2, 3, 4]])
        """
        shape = self.array.shape
        axis = normalize_one(dimension, len(shape))
        n = shape[axis] if shape else 1
        if size > n:
            raise RuntimeError(f"maximum size for tensor at dimension {axis} is {n} but size is {size}")
        if size < 0:
            raise RuntimeError(f"size is {size} but must be >= 0")
        if step <= 0:
            raise RuntimeError(f"step is {step} but must be > 0")
        return ops.unfold.apply(self, axis=axis, size=size, step=step) if shape else ops.getitem.apply(self.reshape(1), index=(slice(size),))

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """A view of the diagonal over the axes dim1 and dim2, on a new last axis.

        offset   0: the main diagonal; above it if positive, below if negative

        >>> minigrad.tensor([[1, 2], [3, 4]]).diagonal()
        tensor([1, 4])
        """
        return ops.diagonal.apply(self, offset=offset, **two_axes(self.ndim, dim1, dim2))

    def diag(self, diagonal: int = 0) -> Self:
        """For a vector, a matrix with the vector on a diagonal. For a matrix, a copy of that diagonal.

        diagonal   0 is the main diagonal, 1 the one above it, -1 the one below it

        >>> minigrad.tensor([1, 2]).diag()
        tensor([[1, 0],
                [0, 2]])
        >>> minigrad.tensor([[1, 2], [3, 4]]).diag()
        tensor([1, 4])
        """
        if self.ndim not in (1, 2):
            raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D")
        return self.diag_embed(diagonal, 0, 1) if self.ndim == 1 else named(self.diagonal(diagonal).clone(), "DiagonalBackward0_copy")

    def diag_embed(self, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Self:
        """Matrices with the last axis of x on a diagonal and 0 elsewhere: (..., n) becomes (..., n, n).

        offset       0 is the main diagonal, 1 the one above it: the matrices are larger by abs(offset)
        dim1, dim2   the axes of the result that hold the matrices

        >>> minigrad.tensor([[1, 2], [3, 4]]).diag_embed()
        tensor([[[1, 0],
                 [0, 2]],
        <BLANKLINE>
                [[3, 0],
                 [0, 4]]])
        """
        axes = two_axes(self.ndim + 1, dim1, dim2)
        *shape, n = self.array.shape
        for axis in sorted(axes.values()):
            shape.insert(axis, n + abs(offset))
        return ops.put_diagonal.apply(self, shape=tuple(shape), offset=offset, **axes)

    def diagflat(self, offset: int = 0) -> Self:
        """A matrix with all entries of x on a diagonal. x can have any shape. For offset, see diag_embed.

        >>> minigrad.tensor([[1], [2]]).diagflat()
        tensor([[1, 0],
                [0, 2]])
        """
        return self.reshape(-1).diag_embed(offset, 0, 1)

    def fill_diagonal_(self, fill_value: float, wrap: bool = False) -> Self:
        """Write fill_value to the main diagonal of a matrix, in place. Returns the tensor itself.

        With more than two axes, all must have the same size, and the entries x[i, i, ..., i] are written.
        With wrap=True, the diagonal of a tall matrix starts again further down, after skipping one row.

        >>> minigrad.zeros(2, 3).fill_diagonal_(5)
        tensor([[5., 0., 0.],
                [0., 5., 0.]])
        """
        x: Any = self
        if x.ndim < 2:
            raise RuntimeError("dimensions must larger than 1")
        if x.ndim > 2 and len(set(x.shape)) > 1:
            raise RuntimeError(f"all dimensions of input must be of equal length, but the shape is {list(x.shape)}")
        n = min(x.shape)
        rows = np.arange(x.shape[0])
        if wrap and x.ndim == 2:
            rows = rows[rows % (x.shape[1] + 1) < x.shape[1]]
            x[rows, rows % (x.shape[1] + 1)] = fill_value
        elif x.ndim == 2:
            x.diagonal().fill_(fill_value)
        else:
            x[(rows[:n],) * x.ndim] = fill_value
        return x

    def sum_to_size(self, *size: Several) -> Self:
        """x summed down to this size: the opposite of expand.

        The backward pass does this to the gradient of a broadcast tensor. Raises RuntimeError if `size` does not broadcast to x's shape.

        >>> minigrad.ones(4, 3).sum_to_size(1, 3)
        tensor([[4., 4., 4.]])
        """
        x: Any = self
        shape = sizes(size)
        if not shape:
            return x.sum()
        extra = x.ndim - len(shape)
        if extra < 0 or any(m not in (1, n) for m, n in zip(shape, x.shape[extra:], strict=True)):
            raise RuntimeError(f"size {list(shape)} is not expandable to size {list(x.shape)}.")
        axes = broadcast_axes(shape, tuple(x.shape))
        return ops.unsafe_view.apply(x.sum(axes, keepdim=True), shape=shape) if axes else x

    def hsplit(self, indices_or_sections: Several) -> tuple[Self, ...]:
        """A tuple of pieces split by columns (axis 1; for a vector, axis 0), as views.

        indices_or_sections   the number of equal pieces, or a tuple of the indices where a new piece starts

        >>> minigrad.tensor([[1, 2], [3, 4]]).hsplit(2)
        (tensor([[1],
                [3]]), tensor([[2],
                [4]]))
        """
        return sides("hsplit", self, 0 if self.ndim == 1 else 1, indices_or_sections)

    def vsplit(self, indices_or_sections: Several) -> tuple[Self, ...]:
        """A tuple of pieces split by rows (axis 0), as views. The tensor needs at least two axes.

        indices_or_sections   the number of equal pieces, or a tuple of the indices where a new piece starts

        >>> minigrad.tensor([[1, 2], [3, 4]]).vsplit(2)
        (tensor([[1, 2]]), tensor([[3, 4]]))
        """
        return sides("vsplit", self, 0, indices_or_sections)

    def dsplit(self, indices_or_sections: Several) -> tuple[Self, ...]:
        """A tuple of pieces split along axis 2, as views. The tensor needs at least three axes.

        indices_or_sections   the number of equal pieces, or a tuple of the indices where a new piece starts

        >>> [piece.shape for piece in minigrad.zeros(2, 2, 4).dsplit((1,))]
        [minigrad.Size([2, 2, 1]), minigrad.Size([2, 2, 3])]
        """
        return sides("dsplit", self, 2, indices_or_sections)

    def tril(self, diagonal: int = 0) -> Self:
        """The lower triangle of a matrix, or of each matrix in a batch: 0 above the diagonal.

        diagonal   0: keep up to the main diagonal; k: keep k more diagonals; -k: k fewer

        >>> minigrad.ones(2, 2).tril()
        tensor([[1., 0.],
                [1., 1.]])
        """
        return ops.tril.apply(at_least_2d("tril", self), diagonal=diagonal)

    def triu(self, diagonal: int = 0) -> Self:
        """The upper triangle of a matrix, or of each matrix in a batch: 0 below the diagonal.

        diagonal   0: keep from the main diagonal up; k: keep k fewer diagonals; -k: k more

        >>> minigrad.ones(2, 2).triu()
        tensor([[1., 1.],
                [0., 1.]])
        """
        return ops.triu.apply(at_least_2d("triu", self), diagonal=diagonal)

    def transpose(self, dim0: int, dim1: int) -> Self:
        """A view with the axes dim0 and dim1 swapped.

        >>> minigrad.zeros(2, 3, 5).transpose(0, 2).shape
        minigrad.Size([5, 3, 2])
        """
        return ops.transpose.apply(self, dim0=normalize_one(dim0, self.ndim), dim1=normalize_one(dim1, self.ndim))


@lru_cache(maxsize=256)
def expanded(old: Shape, new: Shape) -> Shape:
    """The shape of x.expand(new), for an x of the shape `old`."""
    extra = len(new) - len(old)
    if extra < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(new)}) must be greater or equal to the number "
            f"of dimensions in the tensor ({len(old)})"
        )
    if -1 in new[:extra]:
        raise RuntimeError(
            f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension "
            f"{new.index(-1)}: -1 keeps a size, and the tensor has only {len(old)} dimensions."
        )
    found = tuple([n if wanted == -1 else wanted for n, wanted in zip(old, new[extra:])])
    for i, (n, wanted) in enumerate(zip(old, found), extra):
        if n != 1 and n != wanted:
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size ({n}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(new)}.  Tensor sizes: {list(old)}"
            )
    return new[:extra] + found


@lru_cache(maxsize=256)
def moved(ndim: int, source: Shape, destination: Shape) -> Shape:
    """The order of the axes after movedim."""
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of dims as destination ({list(destination)} dims)")
    found = [[normalize_one(axis, ndim) for axis in axes] for axes in (source, destination)]
    for name, given, places in zip(("source", "destination"), (source, destination), found):
        if len(set(places)) < len(places):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    axes = [i for i in range(ndim) if i not in found[0]]
    for to, axis in sorted(zip(found[1], found[0])):
        axes.insert(to, axis)
    return tuple(axes[:ndim])


def squeezable(shape: tuple[int, ...], dim: Dim) -> tuple[int, ...]:
    """The axes of size 1 among the given axes, or among all axes."""
    if isinstance(dim, tuple | list) and not dim:
        return ()
    return tuple([i for i in normalize_axes(dim, len(shape)) if shape and shape[i] == 1])


def new_shape(size: tuple[Any, ...], named: Several | None = None) -> tuple[int, ...]:
    """The sizes for a reshape. One of them may be -1."""
    shape = sizes(size, named)
    if (least := min(shape, default=0)) < -1:
        raise RuntimeError(f"invalid shape dimension {least} at index {shape.index(least)} of shape {list(shape)}")
    return shape


def of_matrices(name: str, x: Any) -> Any:
    """The view with the last two axes swapped."""
    if x.ndim == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor. To fix it, use x[None].{name} for a row, or leave it out.")
    return x.transpose(-2, -1) if x.ndim else x


def flattened(x: T, shape: tuple[int, ...]) -> T:
    """x with this shape, or x itself if it already has this shape."""
    return x if x.array.shape == shape else reshaped(x, shape)


def reshaped(x: T, shape: tuple[int, ...]) -> T:
    """x with this shape: a view if the memory layout allows it, else a copy.

    For a tensor that is not contiguous, PyTorch calls another function, and its node has that function's name.
    """
    z = ops.reshape.apply(x, shape=shape)
    if getattr(z, "node", None) is None or x.array.flags.c_contiguous:
        return z
    return named(z, "UnsafeViewBackward0" if z._base is None else "ReshapeAliasBackward0", ops.reshape)


def at_least_2d(name: str, x: T) -> T:
    """The tensor, after checking that it is a matrix or a batch of matrices."""
    if x.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return x


def tiles(name: str, repeats: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """The number of repeats for each axis, after checking them: one per axis, none negative."""
    if len(repeats) < ndim:
        raise RuntimeError(f"Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: {len(repeats)} and {ndim}")
    if any(n < 0 for n in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(repeats)}: {name} by {list(repeats)}")
    return repeats


def two_axes(ndim: int, dim1: int, dim2: int) -> dict[str, int]:
    """The two axes of a diagonal as non-negative numbers, after checking that they differ."""
    a, b = normalize_one(dim1, ndim), normalize_one(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return {"dim1": a, "dim2": b}


def sides(name: str, x: Any, axis: int, where: Several) -> Any:
    """Implements hsplit, vsplit and dsplit: tensor_split along one axis, into equal parts if given a number."""
    least = {"hsplit": 1, "vsplit": 2, "dsplit": 3}[name]
    if x.ndim < least:
        raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {x.ndim} dimensions!")
    if isinstance(where, int) and (where <= 0 or x.shape[axis] % where):
        raise RuntimeError(f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension {x.shape[axis]} is not divisible by the split_size {where}!")
    return x.tensor_split(where, axis)
