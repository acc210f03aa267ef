"""RowSparse: the gradient of a table when only some of its rows were read.

If 256 rows of a table with 100,000 rows are looked up, the gradient is zero in all other rows.
RowSparse stores only the rows that were read: their indices and their values.

    indices   (k,)         the rows; a row that was read twice may appear twice
    values    (k, ...)     the gradient of each row
    shape     (n, ...)     the shape of the whole table

Adding two of them concatenates them; `coalesce` sums the values of each row; adding one to a
dense array changes only these rows. Everything else is computed from the whole table.
"""

import math
from functools import lru_cache
from typing import Any, Self

import numpy as np

from minigrad.core.devices import Layout, sparse_coo, strided
from minigrad.core.dtypes import DTypeLike
from minigrad.core.shapes import Array, Shape


@lru_cache(maxsize=16)
def element_numbers(shape: Shape) -> Array:
    """The index of each entry in memory order, as an array of the same shape."""
    return np.arange(math.prod(shape)).reshape(shape)


def add_rows(table: Array, indices: Array, values: Array) -> None:
    """table[indices] += values, where a row may appear several times.

    np.add.at is fast only for 1-d arrays. So we convert row indices to entry indices, with a
    cached table: this is 4 to 7 times faster than np.add.at on the rows. We also treat two
    neighboring entries as one complex number, which adds both at once and halves the number
    of indices (another factor of 1.5).

    >>> t = np.zeros((3, 2))
    >>> add_rows(t, np.array([0, 2, 0]), np.ones((3, 2)))
    >>> t.tolist()
    [[2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]
    """
    n = len(table)
    width = table.size // n if n else 0
    if not table.flags.c_contiguous or not width or table.size > 1 << 24:
        np.add.at(table, indices, values)
        return
    flat = np.ascontiguousarray(values, table.dtype).reshape(-1)
    table = table.reshape(-1)
    pair = PAIRS.get(table.dtype)
    if pair is not None and width % 2 == 0:
        table, flat, width = table.view(pair), flat.view(pair), width // 2
    numbers = element_numbers((n, width)).take(indices, 0).reshape(-1)
    np.add.at(table, numbers, flat)


PAIRS = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}


class RowSparse:
    """A table stored as some of its rows; all other rows are zero.

    >>> g = RowSparse(np.array([2, 0, 2]), np.array([[1.0], [2.0], [3.0]]), (4, 1))
    >>> g.coalesce()
    RowSparse(rows [0, 2] of (4, 1))
    >>> g.to_dense().tolist()
    [[2.0], [0.0], [4.0], [0.0]]
    """

    __slots__ = ("indices", "is_coalesced", "shape", "values")
    base = None  # it is not a view of another array

    def __init__(
        self, indices: Array, values: Array, shape: tuple[int, ...], is_coalesced: bool = False
    ) -> None:
        self.indices, self.values, self.shape = indices, values, shape
        self.is_coalesced = is_coalesced

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """The number of axes of the table."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries of the table, including zeros."""
        return math.prod(self.shape)

    def copy(self) -> Self:
        """A copy."""
        return type(self)(self.indices.copy(), self.values.copy(), self.shape, self.is_coalesced)

    def astype(self, dtype: DTypeLike) -> Self:
        """A copy with another dtype."""
        return type(self)(self.indices, self.values.astype(dtype), self.shape, self.is_coalesced)

    def coalesce(self) -> Self:
        """An equal RowSparse with sorted indices, in which each row appears once."""
        if self.is_coalesced:
            return self
        if self.shape[0] <= 16 * len(self.indices):  # a table of moderate size: no need to sort
            rows = np.flatnonzero(
                np.bincount(self.indices.astype(np.intp, copy=False), minlength=self.shape[0])
            )
            return type(self)(rows, self.to_dense().take(rows, 0), self.shape, True)
        rows, inverse = np.unique(self.indices, return_inverse=True)
        values = np.zeros((len(rows), *self.shape[1:]), self.values.dtype)
        add_rows(values, inverse.reshape(-1), self.values)
        return type(self)(rows, values, self.shape, True)

    def to_dense(self) -> Array:
        """The whole table, including zeros."""
        table = np.zeros(self.shape, self.values.dtype)
        self.add_to(table)
        return table

    def add_to(self, table: Array) -> None:
        """Add these rows to a dense table, in place."""
        if self.is_coalesced:
            table[self.indices] += self.values
        else:
            add_rows(table, self.indices, self.values)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, RowSparse):
            return type(self)(
                np.concatenate([self.indices, other.indices]),
                np.concatenate([self.values, other.values]),
                self.shape,
            )
        table = np.array(other, copy=True)
        self.add_to(table)
        return table

    __radd__ = __add__

    def __mul__(self, factor: float | Array) -> Self | Array:
        if getattr(factor, "ndim", 0):
            return self.to_dense() * factor
        return type(self)(self.indices, self.values * factor, self.shape, self.is_coalesced)

    __rmul__ = __mul__

    def __neg__(self) -> Self:
        return type(self)(self.indices, -self.values, self.shape, self.is_coalesced)

    def __truediv__(self, factor: float | Array) -> Self | Array:
        if getattr(factor, "ndim", 0):
            return self.to_dense() / factor
        return type(self)(self.indices, self.values / factor, self.shape, self.is_coalesced)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **settings: Any) -> Any:
        """NumPy's function of the whole table, which also is array + RowSparse."""
        return getattr(ufunc, method)(*map(dense, inputs), **settings)

    def __getattr__(self, name: str) -> Any:
        """An attribute or method of the whole table, such as `strides` or `take`."""
        if name.startswith("__"):
            raise AttributeError(f"'RowSparse' object has no attribute {name!r}")
        return getattr(self.to_dense(), name)

    def __getitem__(self, key: Any) -> Any:
        return self.to_dense()[key]

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> Array:
        return self.to_dense() if dtype is None else self.to_dense().astype(dtype)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.indices[:6]))
        more = ", ..." if len(self.indices) > 6 else ""
        return f"RowSparse(rows [{shown}{more}] of {self.shape})"


def dense(x: Array | RowSparse) -> Array:
    """A RowSparse as an array, with zeros in the other rows; anything else unchanged."""
    return x.to_dense() if isinstance(x, RowSparse) else x


class Rows:
    """The methods of PyTorch's sparse tensors, for a tensor whose array is a RowSparse."""

    __slots__ = ()

    array: Any
    _constant: Any  # makes an array a tensor of the same kind
    _index_tensor: Any  # the same for indices: int64

    @property
    def is_sparse(self) -> bool:
        """Is this a row-sparse gradient?"""
        return isinstance(self.array, RowSparse)

    @property
    def layout(self) -> Layout:
        """How the entries are stored: minigrad.strided, or minigrad.sparse_coo for a gradient of some rows.

        >>> minigrad.tensor([1.0]).layout
        minigrad.strided
        """
        return sparse_coo if self.is_sparse else strided

    def to_dense(self, dtype: DTypeLike = None, *, masked_grad: bool | None = None) -> Self:
        """An equal dense tensor. (`masked_grad` has no effect: a sparse gradient has no gradient itself.)"""
        dense: Any = self._constant(self.array.to_dense()) if self.is_sparse else self
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(self, sparse_dim: Any = None, *, layout: Any = None) -> Self:
        """The tensor itself: there are no sparse matrices, so it stays dense. (See minigrad.sparse.)

        >>> minigrad.eye(2).to_sparse() @ minigrad.ones(2, 1)
        tensor([[1.],
                [1.]])
        """
        return self

    def coalesce(self) -> Self:
        """An equal gradient in which each row appears once; a dense tensor itself."""
        return self._constant(self.array.coalesce()) if self.is_sparse else self

    def indices(self) -> Self:
        """The indices of the rows, of shape (1, k); of a dense tensor, those of its nonzero entries, (axes, k).

        >>> minigrad.eye(2).to_sparse().indices()
        tensor([[0, 1],
                [0, 1]])
        """
        places = self.array.indices[None] if self.is_sparse else np.stack(self.array.nonzero())
        return self._index_tensor(places)

    def values(self) -> Self:
        """The values at the indices, of shape (k, ...)."""
        if self.is_sparse:
            return self._constant(self.array.values)
        x: Any = self
        return x[self.array != 0]

    _indices, _values = indices, values

    def _nnz(self) -> int:
        return self.indices().array.shape[1]
