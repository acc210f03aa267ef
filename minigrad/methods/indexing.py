"""Indexing: read the entries of a tensor by position.

An index can be a tensor, an array or a list; the ops get arrays.
"""

import itertools
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.core.dtypes import torch_name
from minigrad.core.errors import warn_user
from minigrad.core.modes import seen
from minigrad.core.shapes import LISTED, Array, Several, as_int, as_ints, normalize_one
from minigrad.methods.arguments import named_type
from minigrad.methods.arrangement import Arrangement
from minigrad.methods.base import (
    Base,
    T,
    Values,
    broadcast,
)
from minigrad.ops.composites import named

Index = Values | slice | EllipsisType | None  # the types of index in x[index], or of each index in a tuple


class Indexing(Arrangement):
    """Methods that read and write entries by position."""

    __slots__ = ()

    def __getitem__(self, index: Index) -> Self:
        index = plain_index(index, self)
        if len(index) > 2 and (steps := numbers_first(index)) is not None:
            return ops.getitem.apply(ops.getitem.apply(self, index=steps[0]), index=steps[1])
        return ops.getitem.apply(self, index=index)

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
        if not isinstance(where, (int, tuple, list)):
            raise TypeError(f"tensor_split() received an invalid combination of arguments - got (Tensor, {named_type(where)}). To fix it, pass a number of pieces, or a tuple of indices.")
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
            if not shape[dim] and len(shape) > 1:
                raise RuntimeError("index_select(): self indexing axis dim should be positive, but its size is 0.")
            if (least := np.asarray(index).min()) < 0:
                raise IndexError(f"index out of range in self: index_select takes no negative index, but got {least}. To fix it, use x[index].")
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
        index = in_range(long_indices_of("take", index), self.array.size)
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
        if given not in (None, np.int64, np.int32) or (given == np.int32 and dim is not None):
            raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {torch_name(given)}")
        indices = indices_of("take_along_dim", indices)
        if dim is None:
            return self.reshape(-1).take_along_dim(indices.reshape(-1), 0)
        dim = normalize_one(dim, self.ndim)
        if indices.ndim != self.ndim:
            raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {self.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
        if indices.size and np.asarray(indices).min() < 0:
            indices = np.where(indices < 0, indices + self.shape[dim], indices)
        if indices.shape == self.array.shape:
            return self.gather(dim, indices)
        rest = broadcast("take_along_dim", *(tuple(1 if i == dim else n for i, n in enumerate(s)) for s in (self.shape, indices.shape)))
        wide = [tuple(s[dim] if i == dim else n for i, n in enumerate(rest)) for s in (self.shape, indices.shape)]
        return self.expand(wide[0]).gather(dim, np.broadcast_to(indices, wide[1]))


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
        elif isinstance(part, Base) and part.ndim and (part.array.dtype is INT64 or part.array.dtype is BOOL and len(parts) == 1 and part.shape == x.shape[: part.ndim]):
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
        warn_user("Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of x[seq].")
        parts = tuple(index)  # x[[[1, 2], [0]]] is x[[1, 2], [0]]
    plain = []
    for part in parts:
        if isinstance(part, Base):
            if not part.ndim and part.dtype in (np.int64, np.int32):
                part = part.item()  # type: ignore[attr-defined]
            else:  # of uint8, a mask without axes
                part = np.asanyarray(seen(part)) if part.dtype == np.uint8 else seen(part)
        if isinstance(part, slice) and not goes_forward(part) and part.step <= 0:
            raise ValueError(f"step must be greater than zero, but is {part.step}. To reverse an axis, write  x.flip(0).")
        if isinstance(part, (list, tuple, range)):
            part = np.asarray([p.tolist() if isinstance(p, Base) else p for p in part])  # type: ignore[attr-defined]
            if not part.size:
                part = part.astype(np.int64)
        if isinstance(part, np.ndarray) and part.dtype == np.uint8:
            warn_user("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead. To fix it, use mask.bool().")
            part = part.astype(bool)  # old programs use uint8 for booleans
        elif isinstance(part, (np.integer, np.ndarray)) and part.ndim == 0 and part.dtype.kind in "iu":
            part = part.item()
        if isinstance(part, np.ndarray) and part.dtype not in INDICES:
            raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, not {part.dtype}.")
        if isinstance(part, str):
            raise TypeError(f"new(): invalid data type 'str'. Entries have no names: x[{part!r}] needs a number, a slice or a tensor.")
        if not (isinstance(part, INDEX_PARTS) or hasattr(part, "__index__")):
            raise IndexError(f"only integers, slices (`:`), ellipsis (`...`), None and long or bool tensors are valid indices (got {named_type(part)})")
        plain.append(part if isinstance(part, INDEX_PARTS) else part.__index__())
    if any(part.__class__ is np.ndarray for part in plain) and fitting_masks(plain, x.shape) == x.ndim:
        plain = [part for part in plain if part is not ...]  # it takes no axis, so it separates no arrays either
    return tuple(plain)


def numbers_first(index: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """The index of two steps, x[0][:, i] for x[0, :, i]; None if one step has the same result.

    NumPy counts a number among the arrays. If a slice separates two of these, their axes come first in the result.
    PyTorch takes the numbers out before it looks at the arrays.
    """
    if PLAIN.issuperset(map(type, index)):
        return None
    arrays = [k for k, part in enumerate(index) if part.__class__ not in PLAIN]
    both = [k for k, part in enumerate(index) if part.__class__ is int or part.__class__ not in PLAIN]
    if not len(arrays) < len(both) <= both[-1] - both[0]:
        return None
    between = index[arrays[0] : arrays[-1]]
    if any(part.__class__ in PLAIN and part.__class__ is not int for part in between):
        return None  # the arrays are separated without the numbers, too
    first: list[Any] = []
    then: list[Any] = []
    for part in index:
        if part.__class__ in PLAIN:
            first.append(part)
            then += [] if part.__class__ is int else [... if part is ... else slice(None)]
        else:
            is_mask = isinstance(part, bool) or part.dtype.kind == "b"
            first += [slice(None)] * (np.ndim(part) if is_mask else 1)
            then.append(part)
    return tuple(first), tuple(then)


def goes_forward(part: slice) -> bool:
    """True if the step of the slice is None or a positive int. PyTorch allows no other steps."""
    step = part.step
    return step is None or step.__class__ is int and step > 0


def fitting_masks(index: list[Any], shape: tuple[int, ...]) -> int:
    """The number of axes that an index takes, without `...`.

    Raises IndexError if there are too many, or if a mask does not match the shape of the axes it indexes.
    """
    lengths = [p.ndim if isinstance(p, np.ndarray) and p.dtype.kind == "b" else int(p is not None and p is not ... and not isinstance(p, (bool, np.bool_))) for p in index]
    if sum(lengths) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {sum(lengths)})")
    for k, part in enumerate(index):
        if isinstance(part, np.ndarray) and part.dtype.kind == "b":
            before = len(shape) - sum(lengths[k:]) if any(p is ... for p in index[:k]) else sum(lengths[:k])
            there = shape[before : before + part.ndim]
            if part.shape != there:
                raise IndexError(f"The shape of the mask {list(part.shape)} at index {before} does not match the shape of the indexed tensor {list(shape)} at index {before}")
    return sum(lengths)


PLAIN = frozenset([int, slice, type(None), type(...)])  # parts that need no conversion
SEVERAL = (Base, np.ndarray, list, tuple, range, slice, type(...))  # a list that contains one of these is a tuple of indices
INT64, UINT64, BOOL = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.bool_)
INDICES = (INT64, np.dtype(np.int32), BOOL)
INDEX_PARTS = (*PLAIN, bool, np.bool_, np.integer, np.ndarray, Base)  # all other parts are refused


def indices_of(name: str, index: Values) -> Array:
    """An index as an array of integers; while a program is recorded, one that records what is computed from it."""
    array = np.asanyarray(seen(index))
    if array.dtype is INT64:
        return array
    if array.dtype not in INDICES[:2] and array.size:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, but got {array.dtype}.")
    return array.astype(np.int64, copy=False)


def long_indices_of(name: str, index: Values) -> Array:
    """As indices_of. Raises RuntimeError for a tensor or an array that is not int64."""
    array = np.asanyarray(getattr(index, "array", index))
    if array.dtype != INT64 and array.size:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {torch_name(array.dtype)}. To fix it, use index.long().")
    return indices_of(name, index)


def length(name: str, x: Base, dim: int) -> int:
    """The length of an axis that will be split."""
    if not x.ndim:
        raise (IndexError if name == "unbind" else RuntimeError)(f"{name} expects at least a 1-dimensional tensor: Dimension specified as {dim} but tensor has no dimensions")
    return x.array.shape[normalize_one(dim, x.array.ndim)]


def mask_of(name: str, mask: Values) -> Array:
    """A mask as an array of booleans; while a program is recorded, one that records what is computed from it."""
    array = np.asanyarray(seen(mask))
    if array.dtype.kind != "b":
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {array.dtype}. To fix it, use mask.bool().")
    return array


def beyond(index: Array, n: int) -> bool:
    """True if an index is negative or at least n. (Read as unsigned, a negative index is very large.)"""
    values = np.asarray(index, np.int64).view(UINT64)
    return values.size > 0 and values.item(values.argmax()) >= n  # argmax is four times as fast as max


def in_range(index: Array, n: int, kind: type[Exception] = IndexError) -> Array:
    """The index, after checking that all its values are from -n to n - 1."""
    values = np.asarray(index)
    if beyond(values, n) and (values.max() >= n or values.min() < -n):
        bad = values[(values >= n) | (values < -n)].flat[0]
        raise kind(f"index out of range in self: index {bad} is out of bounds for dimension with size {n}.")
    return index


def index_along(name: str, x: Base, dim: int, index: Array) -> Array:
    """The index of gather and scatter, after checking it: as many axes as x, and no larger in the other axes."""
    shape = x.array.shape
    if index.shape != shape and index.size:
        if max(index.ndim, 1) != max(len(shape), 1):
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {'input' if name == 'gather' else 'self'} tensor: it has {index.ndim}, not {x.ndim}.")
        for i, (n, m) in enumerate(zip(index.shape, shape)):
            if n > m and i != dim:
                raise RuntimeError(f"Size does not match at dimension {i} expected index {list(index.shape)} to be no larger than self {list(shape)} apart from dimension {dim}")
    n = shape[dim] if shape else 1
    if beyond(index, n):
        values = np.asarray(index)
        raise RuntimeError(f"index {values[(values >= n) | (values < 0)].flat[0]} is out of bounds for dimension {dim} with size {n}")
    if not index.size and index.ndim != len(shape):
        return index.reshape((0,) * max(len(shape), 1))
    return index if index.ndim or not shape else index.reshape(1)


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
