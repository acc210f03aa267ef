"""What tensors can do: every operator and method, one line each.

`ArrayMethods` is the common base of Tensor and of the Slots of a recorded program; both
interpret the same ops. Nothing is attached from elsewhere, so a search for `def exp` or a
step of the debugger leads from `x.exp()` to the row of the table in two frames.

PyTorch's names and arguments come first (`dim`, `keepdim`); NumPy's (`axis`, `keepdims`)
are accepted as well. Through NumPy's two protocols, `np.exp(x)` and `np.sum(x, axis=0)`
mean `x.exp()` and `x.sum(axis=0)`.
"""

import difflib
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from minigrad import ops
from minigrad.op import BY_NUMPY, Op
from minigrad.shapes import normalize, normalize_one

Operand = Any  # a tensor, an array, or a number
Dim = int | Sequence[int] | None


def axes_of(dim: Dim, axis: Dim, ndim: int) -> Any:
    """What `dim` or `axis` means for an op: None for all axes, or a tuple of numbers >= 0."""
    dim = axis if dim is None else dim
    if dim is None or (isinstance(dim, Sequence) and not dim):
        return None
    return normalize(dim, ndim) if ndim else (normalize(dim, ndim) and None)


def sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """view(2, 3) and view((2, 3)) mean the same."""
    if len(size) == 1 and isinstance(size[0], Sequence):
        size = tuple(size[0])
    return tuple([int(n) for n in size])


class ArrayMethods:
    """The operators and methods that tensors and slots share."""

    __slots__ = ()

    array: Any

    def _write(self, op: Op, *others: Operand, **settings: Any) -> Self:
        """Apply an op with its result written over this tensor."""
        raise TypeError(f"{type(self).__name__} cannot be written to in place.")

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Operand) -> Self:
        return ops.add.apply(self, other)

    def __radd__(self, other: Operand) -> Self:
        return ops.add.apply(other, self)

    def __iadd__(self, other: Operand) -> Self:
        return self._write(ops.add, other)

    def __sub__(self, other: Operand) -> Self:
        return ops.sub.apply(self, other)

    def __rsub__(self, other: Operand) -> Self:
        return ops.sub.apply(other, self)

    def __isub__(self, other: Operand) -> Self:
        return self._write(ops.sub, other)

    def __mul__(self, other: Operand) -> Self:
        return ops.mul.apply(self, other)

    def __rmul__(self, other: Operand) -> Self:
        return ops.mul.apply(other, self)

    def __imul__(self, other: Operand) -> Self:
        return self._write(ops.mul, other)

    def __truediv__(self, other: Operand) -> Self:
        return ops.div.apply(self, other)

    def __rtruediv__(self, other: Operand) -> Self:
        return ops.div.apply(other, self)

    def __itruediv__(self, other: Operand) -> Self:
        return self._write(ops.div, other)

    def __pow__(self, other: Operand) -> Self:
        return ops.pow.apply(self, other)

    def __rpow__(self, other: Operand) -> Self:
        return ops.pow.apply(other, self)

    def __ipow__(self, other: Operand) -> Self:
        return self._write(ops.pow, other)

    def __matmul__(self, other: Operand) -> Self:
        return ops.matmul.apply(self, other)

    def __rmatmul__(self, other: Operand) -> Self:
        return ops.matmul.apply(other, self)

    def __neg__(self) -> Self:
        return ops.neg.apply(self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return ops.abs.apply(self)

    def add(self, other: Operand, *, alpha: Any = 1) -> Self:
        return ops.add.apply(self, scaled(other, alpha))

    def add_(self, other: Operand, *, alpha: Any = 1) -> Self:
        return self._write(ops.add, scaled(other, alpha))

    def sub(self, other: Operand, *, alpha: Any = 1) -> Self:
        return ops.sub.apply(self, scaled(other, alpha))

    def sub_(self, other: Operand, *, alpha: Any = 1) -> Self:
        return self._write(ops.sub, scaled(other, alpha))

    def mul(self, other: Operand) -> Self:
        return ops.mul.apply(self, other)

    def mul_(self, other: Operand) -> Self:
        return self._write(ops.mul, other)

    def div(self, other: Operand) -> Self:
        return ops.div.apply(self, other)

    def div_(self, other: Operand) -> Self:
        return self._write(ops.div, other)

    def pow(self, exponent: Operand) -> Self:
        return ops.pow.apply(self, exponent)

    def pow_(self, exponent: Operand) -> Self:
        return self._write(ops.pow, exponent)

    def matmul(self, other: Operand) -> Self:
        return ops.matmul.apply(self, other)

    def maximum(self, other: Operand) -> Self:
        return ops.maximum.apply(self, other)

    def minimum(self, other: Operand) -> Self:
        return ops.minimum.apply(self, other)

    # ------------------------------------------------------------------ functions of an entry

    def neg(self) -> Self:
        return ops.neg.apply(self)

    def neg_(self) -> Self:
        return self._write(ops.neg)

    def positive(self) -> Self:
        return self

    def abs(self) -> Self:
        return ops.abs.apply(self)

    def abs_(self) -> Self:
        return self._write(ops.abs)

    def sign(self) -> Self:
        return ops.sign.apply(self)

    def sign_(self) -> Self:
        return self._write(ops.sign)

    def square(self) -> Self:
        return ops.square.apply(self)

    def square_(self) -> Self:
        return self._write(ops.square)

    def sqrt(self) -> Self:
        return ops.sqrt.apply(self)

    def sqrt_(self) -> Self:
        return self._write(ops.sqrt)

    def exp(self) -> Self:
        return ops.exp.apply(self)

    def exp_(self) -> Self:
        return self._write(ops.exp)

    def log(self) -> Self:
        return ops.log.apply(self)

    def log_(self) -> Self:
        return self._write(ops.log)

    def sin(self) -> Self:
        return ops.sin.apply(self)

    def sin_(self) -> Self:
        return self._write(ops.sin)

    def cos(self) -> Self:
        return ops.cos.apply(self)

    def cos_(self) -> Self:
        return self._write(ops.cos)

    def tanh(self) -> Self:
        return ops.tanh.apply(self)

    def tanh_(self) -> Self:
        return self._write(ops.tanh)

    def sigmoid(self) -> Self:
        return ops.sigmoid.apply(self)

    def sigmoid_(self) -> Self:
        return self._write(ops.sigmoid)

    def relu(self) -> Self:
        return ops.relu.apply(self)

    def relu_(self) -> Self:
        return self._write(ops.relu)

    # ------------------------------------------------------------------ comparisons

    def __eq__(self, other: Operand) -> Self:
        return ops.eq.apply(self, other)  # type: ignore[override]

    def __ne__(self, other: Operand) -> Self:
        return ops.ne.apply(self, other)  # type: ignore[override]

    def __lt__(self, other: Operand) -> Self:
        return ops.lt.apply(self, other)

    def __le__(self, other: Operand) -> Self:
        return ops.le.apply(self, other)

    def __gt__(self, other: Operand) -> Self:
        return ops.gt.apply(self, other)

    def __ge__(self, other: Operand) -> Self:
        return ops.ge.apply(self, other)

    def __invert__(self) -> Self:
        return ops.logical_not.apply(self)

    def __and__(self, other: Operand) -> Self:
        return ops.logical_and.apply(self, other)

    def __or__(self, other: Operand) -> Self:
        return ops.logical_or.apply(self, other)

    def eq(self, other: Operand) -> Self:
        return ops.eq.apply(self, other)

    def ne(self, other: Operand) -> Self:
        return ops.ne.apply(self, other)

    def lt(self, other: Operand) -> Self:
        return ops.lt.apply(self, other)

    def le(self, other: Operand) -> Self:
        return ops.le.apply(self, other)

    def gt(self, other: Operand) -> Self:
        return ops.gt.apply(self, other)

    def ge(self, other: Operand) -> Self:
        return ops.ge.apply(self, other)

    def logical_and(self, other: Operand) -> Self:
        return ops.logical_and.apply(self, other)

    def logical_or(self, other: Operand) -> Self:
        return ops.logical_or.apply(self, other)

    def logical_not(self) -> Self:
        return ops.logical_not.apply(self)

    # ------------------------------------------------------------------ reductions

    def sum(
        self,
        dim: Dim = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,
        axis: Dim = None,
        keepdims: bool = False,
    ) -> Self:
        x = self if dtype is None else self.to(dtype)
        return ops.sum.apply(x, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims)

    def mean(
        self,
        dim: Dim = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,
        axis: Dim = None,
        keepdims: bool = False,
    ) -> Self:
        x = self if dtype is None else self.to(dtype)
        if x.dtype.kind not in "fc":
            raise RuntimeError(
                "mean(): could not infer output dtype. Input dtype must be either a floating point or "
                f"complex dtype. Got: {x.dtype}. To mend it, use x.float().mean()."
            )
        return ops.mean.apply(x, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims)

    def amax(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.amax.apply(
            self, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims
        )

    def amin(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.amin.apply(
            self, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims
        )

    def max(
        self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False
    ) -> Any:
        """The greatest entry; with dim (values, indices) along it; with a tensor, as maximum."""
        if isinstance(dim, ArrayMethods):
            return self.maximum(dim)
        return extreme(self, ops.max, ops.amax, np.argmax, dim, axis, keepdim or keepdims)

    def min(
        self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False
    ) -> Any:
        """The least entry; with dim (values, indices) along it; with a tensor, as minimum."""
        if isinstance(dim, ArrayMethods):
            return self.minimum(dim)
        return extreme(self, ops.min, ops.amin, np.argmin, dim, axis, keepdim or keepdims)

    def argmax(
        self, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None
    ) -> Self:
        return ops.argmax.apply(self, axis=one_axis(dim, axis, self.ndim), keepdims=keepdim)

    def argmin(
        self, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None
    ) -> Self:
        return ops.argmin.apply(self, axis=one_axis(dim, axis, self.ndim), keepdims=keepdim)

    def all(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.all.apply(self, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims)

    def any(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.any.apply(self, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims)

    # ------------------------------------------------------------------ arrangement

    @property
    def T(self) -> Self:
        return ops.permute.apply(self, axes=tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Self:
        return self.transpose(-2, -1)

    @property
    def ndim(self) -> int:
        return int(self.array.ndim)

    def dim(self) -> int:
        return int(self.array.ndim)

    def numel(self) -> int:
        return int(self.array.size)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[normalize_one(dim, self.ndim)]

    def reshape(self, *shape: Any) -> Self:
        return ops.reshape.apply(self, shape=sizes(shape))

    def view(self, *shape: Any) -> Self:
        return ops.reshape.apply(self, shape=sizes(shape))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        return self.reshape(flat_shape(self.shape, start_dim, end_dim))

    def ravel(self) -> Self:
        return self.reshape(-1)

    def permute(self, *dims: Any) -> Self:
        return ops.permute.apply(self, axes=permutation(sizes(dims), self.ndim))

    def t(self) -> Self:
        return self.T

    def expand(self, *size: Any) -> Self:
        return ops.expand.apply(self, shape=expanded(self.shape, sizes(size)))

    def expand_as(self, other: Self) -> Self:
        return self.expand(other.shape)

    def unsqueeze(self, dim: int) -> Self:
        return ops.unsqueeze.apply(self, axis=normalize_one(dim, self.ndim + 1))

    def squeeze(self, dim: Dim = None) -> Self:
        return ops.squeeze.apply(self, axis=squeezable(self.shape, dim))

    def clone(self) -> Self:
        return ops.clone.apply(self)

    def contiguous(self) -> Self:
        return self if self.array.flags.c_contiguous else self.clone()

    def transpose(self, dim0: int, dim1: int) -> Self:
        return ops.transpose.apply(
            self, axis0=normalize_one(dim0, self.ndim), axis1=normalize_one(dim1, self.ndim)
        )

    @property
    def shape(self) -> Any:
        return self.array.shape

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    # ------------------------------------------------------------------ indexing

    def __getitem__(self, index: Any) -> Self:
        return ops.getitem.apply(self, index=plain_index(index))

    def __setitem__(self, index: Any, value: Operand) -> None:
        index = plain_index(index)
        if ops.is_basic(index):  # type: ignore[no-untyped-call]
            self[index]._write(ops.copy, value)
        else:
            self._write(ops.index_put, value, index=index)

    def copy_(self, src: Operand) -> Self:
        return self._write(ops.copy, src)

    def fill_(self, value: Operand) -> Self:
        return self._write(ops.copy, value)

    def zero_(self) -> Self:
        return self._write(ops.copy, 0)

    def where(self, condition: Operand, other: Operand) -> Self:
        return ops.where.apply(condition, self, other)

    def gather(self, dim: int, index: Any, *, sparse_grad: bool = False) -> Self:
        dim, index = normalize_one(dim, self.ndim), index_along("gather", self, dim, index)
        return ops.gather.apply(self, index=index, axis=dim)

    def scatter(self, dim: int, index: Any, src: Operand = None, *, value: Any = None, reduce: str | None = None) -> Self:
        op, others, settings = scattering("scatter", self, dim, index, src if value is None else value, reduce)
        return op.apply(self, *others, **settings)

    def scatter_(self, dim: int, index: Any, src: Operand = None, *, value: Any = None, reduce: str | None = None) -> Self:
        op, others, settings = scattering("scatter", self, dim, index, src if value is None else value, reduce)
        return self._write(op, *others, **settings)

    def scatter_add(self, dim: int, index: Any, src: Operand) -> Self:
        _, others, settings = scattering("scatter_add", self, dim, index, src, "add")
        return ops.scatter_add.apply(self, *others, **settings)

    def scatter_add_(self, dim: int, index: Any, src: Operand) -> Self:
        _, others, settings = scattering("scatter_add", self, dim, index, src, "add")
        return self._write(ops.scatter_add, *others, **settings)

    def index_select(self, dim: int, index: Any) -> Self:
        dim, index = normalize_one(dim, self.ndim), indices_of("index_select", index)
        if not self.ndim:
            return self.clone()
        if index.ndim > 1:
            raise IndexError("index_select(): Index is supposed to be a vector")
        return ops.index_select.apply(self, index=in_range(index, self.shape[dim]).reshape(-1), axis=dim)

    def index_put(self, indices: Any, values: Operand, accumulate: bool = False) -> Self: return ops.index_put.apply(self, like(values, self), index=plain_index(tuple(indices)), accumulate=accumulate)
    def index_put_(self, indices: Any, values: Operand, accumulate: bool = False) -> Self: return self._write(ops.index_put, like(values, self), index=plain_index(tuple(indices)), accumulate=accumulate)
    def index_add(self, dim: int, index: Any, source: Operand, *, alpha: Any = 1) -> Self: return ops.index_put.apply(self, scaled(source, alpha), index=rows_of("index_add", self, dim, index, source), accumulate=True)
    def index_add_(self, dim: int, index: Any, source: Operand, *, alpha: Any = 1) -> Self: return self._write(ops.index_put, scaled(source, alpha), index=rows_of("index_add", self, dim, index, source), accumulate=True)
    def index_copy(self, dim: int, index: Any, source: Operand) -> Self: return ops.index_put.apply(self, source, index=rows_of("index_copy", self, dim, index, source))
    def index_copy_(self, dim: int, index: Any, source: Operand) -> Self: return self._write(ops.index_put, source, index=rows_of("index_copy", self, dim, index, source))
    def index_fill(self, dim: int, index: Any, value: Operand) -> Self: return ops.index_put.apply(self, like(value, self), index=rows_of("index_fill", self, dim, index))
    def index_fill_(self, dim: int, index: Any, value: Operand) -> Self: return self._write(ops.index_put, like(value, self), index=rows_of("index_fill", self, dim, index))
    def masked_fill(self, mask: Any, value: Operand) -> Self: return ops.masked_fill.apply(self, like(value, self), mask=mask_of("masked_fill", mask))
    def masked_fill_(self, mask: Any, value: Operand) -> Self: return self._write(ops.masked_fill, like(value, self), mask=mask_of("masked_fill", mask))
    def masked_select(self, mask: Any) -> Self: return masked(self, mask_of("masked_select", mask))
    def masked_scatter(self, mask: Any, source: Operand) -> Self: return ops.index_put.apply(self, *masked_source(self, mask, source))
    def masked_scatter_(self, mask: Any, source: Operand) -> Self:
        source, index = masked_source(self, mask, source)
        return self._write(ops.index_put, source, index=index)

    def select_scatter(self, src: Operand, dim: int, index: int) -> Self: return ops.index_put.apply(self, src, index=part(self.shape, dim, index))
    def slice_scatter(self, src: Operand, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Self: return ops.index_put.apply(self, src, index=part(self.shape, dim, slice(start, end, step)))
    def take(self, index: Any) -> Self: return self.reshape(-1)[in_range(indices_of("take", index), self.numel())]
    def take_along_dim(self, indices: Any, dim: int | None = None) -> Self: return taken_along(self, indices, dim)
    def put(self, index: Any, source: Operand, accumulate: bool = False) -> Self: return self.reshape(-1).index_put((in_range(indices_of("put", index), self.numel()),), source, accumulate).reshape(self.shape)
    def put_(self, index: Any, source: Operand, accumulate: bool = False) -> Self:
        self.view(-1).index_put_((in_range(indices_of("put_", index), self.numel()),), source, accumulate)
        return self

    # ------------------------------------------------------------------ products

    def mm(self, mat2: Operand) -> Self: return ops.mm.apply(*matrices("mm", self, mat2, 2, 2))
    def bmm(self, mat2: Operand) -> Self: return ops.bmm.apply(*matrices("bmm", self, mat2, 3, 3))
    def mv(self, vec: Operand) -> Self: return ops.mv.apply(*matrices("mv", self, vec, 2, 1))
    def dot(self, tensor: Operand) -> Self: return ops.dot.apply(*matrices("dot", self, tensor, 1, 1))
    def outer(self, vec2: Operand) -> Self: return outer(self, vec2)
    def inner(self, other: Operand) -> Self: return self * other if not self.ndim or not other.ndim else tensordot(self, other, ([-1], [-1]))
    def tensordot(self, other: Operand, dims: Any = 2) -> Self: return tensordot(self, other, dims)
    def trace(self) -> Self: return ops.trace.apply(matrix(self, "trace"))

    def addmm(self, mat1: Operand, mat2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return ops.addmm.apply(self, *matrices("addmm", mat1, mat2, 2, 2), beta=beta, alpha=alpha)
    def addmm_(self, mat1: Operand, mat2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return self.copy_(self.addmm(mat1, mat2, beta=beta, alpha=alpha))
    def addmv(self, mat: Operand, vec: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return ops.addmv.apply(self, *matrices("addmv", mat, vec, 2, 1), beta=beta, alpha=alpha)
    def addmv_(self, mat: Operand, vec: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return self.copy_(self.addmv(mat, vec, beta=beta, alpha=alpha))
    def baddbmm(self, batch1: Operand, batch2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return ops.baddbmm.apply(self, *matrices("baddbmm", batch1, batch2, 3, 3), beta=beta, alpha=alpha)
    def baddbmm_(self, batch1: Operand, batch2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return self.copy_(self.baddbmm(batch1, batch2, beta=beta, alpha=alpha))
    def addbmm(self, batch1: Operand, batch2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return scaled(self, beta) + scaled(ops.bmm.apply(*matrices("addbmm", batch1, batch2, 3, 3)).sum(0), alpha)
    def addbmm_(self, batch1: Operand, batch2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return self.copy_(self.addbmm(batch1, batch2, beta=beta, alpha=alpha))
    def addr(self, vec1: Operand, vec2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self: return scaled(self, beta) + scaled(outer(vec1, vec2), alpha)

    # ------------------------------------------------------------------ types of number

    def to(self, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False) -> Self:
        for a in args:
            if isinstance(a, ArrayMethods):
                dtype = a.dtype
            elif not (isinstance(a, str) and a.partition(":")[0] in ("cpu", "cuda", "mps")):
                dtype = a
        if dtype is None or as_dtype(dtype) == self.dtype:
            return self.clone() if copy else self
        return ops.to.apply(self, dtype=as_dtype(dtype))

    def astype(self, dtype: Any) -> Self:
        return self.to(dtype)

    def double(self) -> Self:
        return self.to(np.float64)

    def float(self) -> Self:
        return self.to(np.float32)

    def half(self) -> Self:
        return self.to(np.float16)

    def long(self) -> Self:
        return self.to(np.int64)

    def int(self) -> Self:
        return self.to(np.int32)

    def bool(self) -> Self:
        return self.to(np.bool_)

    # ------------------------------------------------------------------ NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """np.exp(x), array * x: the op that stands for this function, or a helpful error."""
        op = BY_NUMPY.get(ufunc)
        if method == "reduce" and ufunc is np.add:
            return inputs[0].sum(axis=kwargs.get("axis", 0), keepdims=kwargs.get("keepdims", False))
        if op is None or method != "__call__" or kwargs:
            raise TypeError(
                unknown_function(
                    ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}", kwargs
                )
            )
        return op(*inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """np.sum(x, axis=0): the method that stands for this function, or a helpful error."""
        if function in NUMPY_QUESTIONS:
            return function(*values_only(args), **values_only(kwargs))
        stand_in = NUMPY_FUNCTIONS.get(function)
        if stand_in is None:
            raise TypeError(unknown_function(function.__name__, {}))
        return stand_in(*args, **kwargs)


class Extremes(NamedTuple):
    """What x.max(dim) and x.min(dim) return."""

    values: Any
    indices: Any


def extreme(x: Any, along: Op, over: Op, place: Any, dim: Any, axis: Any, keepdims: bool) -> Any:
    """x.max() and x.min(): of all entries, or along one axis with the place of each."""
    if dim is None and axis is None:
        return over.apply(x, axis=None, keepdims=keepdims)
    if not x.ndim:
        normalize_one(axis if dim is None else dim, 0)
        return Extremes(x.clone(), ops.zeros_like(x).long())
    a = normalize_one(axis if dim is None else dim, x.ndim)
    if not x.shape[a]:
        raise IndexError(f"{over.name}: Expected reduction dim {a} to have non-zero size.")
    at = np.expand_dims(place(x.array, axis=a), a)
    indices = type(x)(at if keepdims else at.squeeze(a))
    return Extremes(along.apply(x, at=at, axis=a, keepdims=keepdims), indices)


def scaled(other: Operand, alpha: Any) -> Operand:
    return other if alpha == 1 else other * alpha


def one_axis(dim: Any, axis: Any, ndim: int) -> Any:
    dim = axis if dim is None else dim
    return None if dim is None or not ndim else normalize_one(dim, ndim)


def as_dtype(dtype: Any) -> Any:
    from minigrad import dtypes

    return dtypes.as_dtype(dtype)


def permutation(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """The axes of a permute, each of them once."""
    if len(dims) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
            f"the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    return normalize(dims, ndim) if ndim else ()


def flat_shape(shape: tuple[int, ...], start: int, end: int) -> tuple[int, ...]:
    """The shape with the axes from start to end made one."""
    start, end = normalize_one(start, len(shape)), normalize_one(end, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    n = 1
    for size in shape[start : end + 1]:
        n *= size
    return (*shape[:start], n, *shape[end + 1 :])


def expanded(shape: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...]:
    """The target shape of an expand, where -1 keeps a size."""
    extra = len(size) - len(shape)
    if extra < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number "
            f"of dimensions in the tensor ({len(shape)})"
        )
    whole = (1,) * extra + tuple(shape)
    for i, (n, wanted) in enumerate(zip(whole, size, strict=True)):
        if wanted != -1 and n != 1 and n != wanted:
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size ({n}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    return tuple(n if wanted == -1 else wanted for n, wanted in zip(whole, size, strict=True))


def squeezable(shape: tuple[int, ...], dim: Dim) -> tuple[int, ...]:
    """Which of the named axes (or of all) have size 1."""
    return tuple(i for i in (normalize(dim, len(shape)) if shape else ()) if shape[i] == 1)


def plain_index(index: Any) -> Any:
    """An index without tensors in it: they become arrays of integers or truth values."""
    parts = index if isinstance(index, tuple) else (index,)
    plain = []
    for part in parts:
        if isinstance(part, ArrayMethods):
            part = part.array
        if isinstance(part, (list, range)):
            part = np.asarray([p.array if isinstance(p, ArrayMethods) else p for p in part])
            if not part.size:
                part = part.astype(np.int64)
        if (
            isinstance(part, (np.integer, np.ndarray))
            and part.ndim == 0
            and part.dtype.kind in "iu"
        ):
            part = part.item()
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors, not floats."
            )
        if isinstance(part, float):
            raise TypeError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or bool tensors are valid indices (got float)"
            )
        plain.append(part)
    return tuple(plain)


def like(value: Operand, x: Any) -> Operand:
    """A number as a constant of x's type; a tensor as it is."""
    if isinstance(value, (int, float)):
        return x.dtype.type(value)
    return value


def indices_of(name: str, index: Any) -> Any:
    """An index as an array of integers."""
    index = np.asarray(getattr(index, "array", index))
    if index.dtype.kind not in "iu" and index.size:
        raise (IndexError if name == "index_select" else RuntimeError)(
            f"{name}(): Expected dtype int32/int64 for index, but got {index.dtype}."
        )
    return index.astype(np.int64, copy=False)


def mask_of(name: str, mask: Any) -> Any:
    """A mask as an array of truth values."""
    mask = np.asarray(getattr(mask, "array", mask))
    if mask.dtype.kind != "b":
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {mask.dtype}. To mend it, use mask.bool().")
    return mask


def in_range(index: Any, n: int) -> Any:
    """The index itself, if it names none of more than n entries (-n counts as 0)."""
    if index.size and (index.max() >= n or index.min() < -n):
        bad = index[(index >= n) | (index < -n)].flat[0]
        raise IndexError(f"index out of range in self: index {bad} is out of bounds for dimension with size {n}.")
    return index


def index_along(name: str, x: Any, dim: int, index: Any, src: Any = None) -> Any:
    """The index of gather and scatter, which has as many axes as x and is nowhere larger."""
    index = indices_of(name, index)
    if max(index.ndim, 1) != max(x.ndim, 1) and index.size:
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {'input' if name == 'gather' else 'self'} tensor: it has {index.ndim}, not {x.ndim}.")
    for i, (n, m) in enumerate(zip(index.shape, x.shape, strict=False)):
        if i != dim and n > m and index.size:
            raise RuntimeError(f"Size does not match at dimension {i} expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension {dim}")
    n = x.shape[dim] if x.ndim else 1
    if index.size and (index.max() >= n or index.min() < 0):
        raise RuntimeError(f"index {index[(index >= n) | (index < 0)].flat[0]} is out of bounds for dimension {dim} with size {n}")
    return index if index.ndim or not x.ndim else index.reshape(1)


def scattering(name: str, x: Any, dim: int, index: Any, src: Any, reduce: str | None) -> Any:
    """The op, the other operands and the settings of scatter and scatter_add."""
    dim = normalize_one(dim, x.ndim)
    index = index_along(name, x, dim, index)
    if reduce not in (None, "add"):
        raise NotImplementedError(f"{name} with reduce={reduce!r} is not there; reduce='add' is.")
    if isinstance(src, ArrayMethods) and src.ndim:
        if src.dtype != x.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype: {x.dtype} and {src.dtype}.")
        if any(n > m for n, m in zip(index.shape, src.shape, strict=False)) and index.size:
            raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than src {list(src.shape)}")
        if src.shape != index.shape:
            src = src[tuple(slice(0, n) for n in index.shape)]
    return ops.scatter if reduce is None else ops.scatter_add, (like(src, x),), {"index": index, "axis": dim}


def rows_of(name: str, x: Any, dim: int, index: Any, source: Any = None) -> Any:
    """The index (:, :, index) with `index` at axis dim."""
    dim, index = normalize_one(dim, x.ndim), indices_of(name, index)
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not x.ndim:
        return (...,)
    index = in_range(index.reshape(-1), x.shape[dim])
    if source is not None:
        expected = (*x.shape[:dim], len(index), *x.shape[dim + 1 :])
        if tuple(source.shape) != expected and not (source.ndim == 0 and x.ndim == 1 and len(index) == 1):
            raise (IndexError if name == "index_copy" else RuntimeError)(f"{name}(): Number of indices ({len(index)}) should be equal to source.size(dim), and the other sizes to those of self: self {list(x.shape)}, dim {dim}, source {list(source.shape)}")
    return (*(slice(None),) * dim, index)


def masked(x: Any, mask: Any) -> Any:
    """The entries of x where the mask, broadcast with it, is true."""
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return (x if x.shape == shape else x.expand(shape))[np.broadcast_to(mask, shape)]


def masked_source(x: Any, mask: Any, source: Any) -> Any:
    """What masked_scatter writes, and where."""
    mask = np.broadcast_to(mask_of("masked_scatter", mask), x.shape)
    n = int(mask.sum())
    if source.numel() < n:
        raise RuntimeError(f"masked_scatter: expected source to have at least {n} elements, one for each true entry of the mask, but it has {source.numel()}")
    return source.reshape(-1)[:n], (mask,)


def part(shape: tuple[int, ...], dim: int, which: Any) -> Any:
    """The index that takes `which` along one axis and everything along the others."""
    return (*(slice(None),) * normalize_one(dim, len(shape)), which)


def taken_along(x: Any, indices: Any, dim: int | None) -> Any:
    """take_along_dim: a gather whose index is broadcast with x."""
    indices = indices_of("take_along_dim", indices)
    if dim is None:
        return taken_along(x.reshape(-1), indices.reshape(-1), 0)
    dim = normalize_one(dim, x.ndim)
    if indices.ndim != x.ndim:
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {x.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    rest = np.broadcast_shapes(*(tuple(1 if i == dim else n for i, n in enumerate(s)) for s in (x.shape, indices.shape)))
    wide = [tuple(s[dim] if i == dim else n for i, n in enumerate(rest)) for s in (x.shape, indices.shape)]
    return x.expand(wide[0]).gather(dim, np.broadcast_to(indices, wide[1]))


def matrices(name: str, x: Any, y: Any, x_ndim: int, y_ndim: int) -> tuple[Any, Any]:
    """The two factors, if they have the number of axes that this product asks for."""
    if x.ndim != x_ndim or y.ndim != y_ndim:
        words = {1: "vector", 2: "matrix", 3: "3D tensor"}
        which = ("self", x_ndim, x) if x.ndim != x_ndim else ("mat2", y_ndim, y)
        raise RuntimeError(
            f"{name}: {which[0]} must be a {words[which[1]]}, {which[1]}D tensor expected, but got a {which[2].ndim}D tensor of shape {tuple(which[2].shape)}."
        )
    if name == "dot" and x.shape != y.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{x.numel()}] and src [{y.numel()}] to have the same number of elements, but got {x.numel()} and {y.numel()} elements respectively")
    if x_ndim == 3 and x.shape[0] != y.shape[0]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] but got: [{y.shape[0]}, {y.shape[1]}].")
    return x, y


def matrix(x: Any, name: str) -> Any:
    if x.ndim != 2:
        raise RuntimeError(f"{name}: expected a matrix, but got tensor with dim {x.ndim}")
    return x


def outer(x: Any, y: Any) -> Any:
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {x.ndim}-D and {y.ndim}-D")
    return x.unsqueeze(1) * y


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """The sum over pairs of axes of a and b: one matrix product of rearranged arrays."""
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims >= 0 and not more than the axes of a or b, but got dims={dims}")
        dims = (range(a.ndim - dims, a.ndim), range(dims))
    of_a, of_b = ([normalize_one(i, x.ndim) for i in (d.tolist() if hasattr(d, "tolist") else [d] if isinstance(d, int) else d)] for x, d in zip((a, b), dims, strict=True))
    if len(of_a) != len(of_b):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(of_a, of_b, strict=True):
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size {b.shape[j]} in dim {j}")
    left = [i for i in range(a.ndim) if i not in of_a]
    right = [j for j in range(b.ndim) if j not in of_b]
    shape = tuple(a.shape[i] for i in left) + tuple(b.shape[j] for j in right)
    n = 1
    for i in of_a:
        n *= a.shape[i]
    rows, columns = (max(x.numel() // n, 0) if n else int(np.prod([x.shape[i] for i in d])) for x, d in ((a, left), (b, right)))
    return ops.mm.apply(a.permute(*left, *of_a).reshape(rows, n), b.permute(*of_b, *right).reshape(n, columns)).reshape(shape)


def unknown_function(name: str, kwargs: dict[str, Any]) -> str:
    """The error for a NumPy function that has no op, with the nearest that does."""
    known = sorted({f.__name__ for f in (*BY_NUMPY, *NUMPY_FUNCTIONS)})
    if name in known:
        return (
            f"np.{name} of a tensor does not take {', '.join(kwargs)}. Use the tensor's own method."
        )
    near = difflib.get_close_matches(name, known, 3)
    hint = (
        f" Did you mean np.{' or np.'.join(near)}?" if near else f" Known are: {', '.join(known)}."
    )
    return f"np.{name} is not an operation of tensors.{hint} For its value alone, use x.detach().numpy()."


def values_only(arguments: Any) -> Any:
    """The arguments with arrays in place of tensors."""
    if isinstance(arguments, ArrayMethods):
        return np.asarray(arguments.array)
    if isinstance(arguments, (list, tuple)):
        return type(arguments)([values_only(a) for a in arguments])
    if isinstance(arguments, dict):
        return {name: values_only(a) for name, a in arguments.items()}
    return arguments


# Questions about values, whose answers nobody differentiates: asked of the arrays.
NUMPY_QUESTIONS = {
    np.allclose, np.array2string, np.array_equal, np.array_equiv, np.array_repr, np.array_str,
    np.bincount, np.can_cast, np.histogram, np.isclose, np.isin, np.may_share_memory, np.nonzero,
    np.result_type, np.save, np.savetxt, np.savez, np.shares_memory, np.unique,
}  # fmt: skip

NUMPY_FUNCTIONS: dict[Any, Any] = {
    np.sum: lambda a, axis=None, keepdims=False, dtype=None: a.sum(
        axis=axis, keepdims=keepdims, dtype=dtype
    ),
    np.mean: lambda a, axis=None, keepdims=False: a.mean(axis=axis, keepdims=keepdims),
    np.max: lambda a, axis=None, keepdims=False: a.amax(axis=axis, keepdims=keepdims),
    np.min: lambda a, axis=None, keepdims=False: a.amin(axis=axis, keepdims=keepdims),
    np.argmax: lambda a, axis=None: a.argmax(axis=axis),
    np.argmin: lambda a, axis=None: a.argmin(axis=axis),
    np.all: lambda a, axis=None, keepdims=False: a.all(axis=axis, keepdims=keepdims),
    np.any: lambda a, axis=None, keepdims=False: a.any(axis=axis, keepdims=keepdims),
    np.reshape: lambda a, shape: a.reshape(shape),
    np.ravel: lambda a: a.reshape(-1),
    np.transpose: lambda a, axes=None: a.T if axes is None else a.permute(axes),
    np.swapaxes: lambda a, axis1, axis2: a.transpose(axis1, axis2),
    np.expand_dims: lambda a, axis: a.unsqueeze(axis),
    np.squeeze: lambda a, axis=None: a.squeeze(axis),
    np.broadcast_to: lambda a, shape: a.expand(shape),
    np.concatenate: lambda arrays, axis=0: ops.cat(*arrays, axis=axis),
    np.stack: lambda arrays, axis=0: ops.stack(*arrays, axis=axis),
    np.where: lambda condition, x, y: ops.where(condition, x, y),
    np.zeros_like: lambda a: ops.zeros_like(a),
    np.copy: lambda a: a.clone(),
    np.ndim: lambda a: a.ndim,
    np.shape: lambda a: a.shape,
    np.size: lambda a: a.numel(),
}
