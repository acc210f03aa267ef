"""Reductions along an axis: sums, means, extremes, norms, and what accumulates.

`dim` is the axis or axes to reduce; `keepdim` keeps them with size 1. NumPy's names `axis`
and `keepdims` work too.
"""

from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np

from minigrad import ops, return_types
from minigrad.core import dtypes
from minigrad.core.dtypes import Dtype, DTypeLike
from minigrad.core.errors import NotForDtype, warn_user
from minigrad.core.modes import seen
from minigrad.core.op import Op
from minigrad.core.shapes import LISTED, Array, Dim, Shape, as_bool, normalize_axes, normalize_one
from minigrad.methods.base import Base, Operand, in_type, overwritten
from minigrad.methods.indexing import Indexing
from minigrad.methods.operators import Operators
from minigrad.ops import composites
from minigrad.ops.reductions import number_reduced


class Reductions(Operators, Indexing):
    """Reductions along an axis, and related methods."""

    __slots__ = ()

    def sum(self, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike = None, axis: Dim = None, keepdims: bool = False) -> Self:
        """The sum over some axes, or of all entries.

        dim       the axis or axes to reduce; None: all of them. `axis` is another name
        keepdim   keep reduced axes with length 1, so that the result broadcasts against x. `keepdims` is another name
        dtype     the dtype to sum in; integers and booleans are summed as int64

        The result has the shape of x without these axes. Raises IndexError for an axis that does not exist.

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.sum()
        tensor(21.)
        >>> x.sum(dim=1)
        tensor([ 6., 15.])
        >>> x.sum(dim=0, keepdim=True)
        tensor([[5., 7., 9.]])
        """
        if dim is axis is None and dtype is None and keepdim is keepdims is False:
            return ops.sum.apply(self)  # the usual case
        settings = {"axis": axes_of(dim, axis, self.array.ndim), "keepdims": kept(keepdim, keepdims)}
        return ops.sum.apply(self, **settings) if dtype is None else in_type(lambda x: ops.sum.apply(x, **settings), self, dtype)

    def mean(self, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike = None, axis: Dim = None, keepdims: bool = False) -> Self:
        """The mean over some axes, or of all entries.

        dim       the axis or axes to reduce; None: all of them. `axis` is another name
        keepdim   keep reduced axes with length 1, so that the result broadcasts against x. `keepdims` is another name
        dtype     the dtype to compute in

        The result has the shape of x without these axes. Raises RuntimeError for integers: convert them first, x.float().mean().

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.mean()
        tensor(3.5000)
        >>> x.mean(dim=0)
        tensor([2.5000, 3.5000, 4.5000])
        """
        x = self if dtype is None else self.to(dtypes.as_dtype(dtype))
        real_only("mean", x.dtype)
        return ops.mean.apply(x, axis=axes_of(dim, axis, self.ndim), keepdims=kept(keepdim, keepdims))

    def amax(self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False) -> Self:
        """The largest entry along some axes. If several are equal, they share the gradient.

        dim       the axis or axes to reduce; None: all of them. `axis` is another name
        keepdim   keep reduced axes with length 1, so that the result broadcasts against x. `keepdims` is another name

        The result has the shape of x without these axes. x.max(dim) also returns the indices.

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.amax(dim=1)
        tensor([3., 6.])
        """
        return ops.amax.apply(self, axis=filled("amax", self, axes_of(dim, axis, self.ndim)), keepdims=kept(keepdim, keepdims))

    def amin(self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False) -> Self:
        """The smallest entry along some axes. If several are equal, they share the gradient.

        dim       the axis or axes to reduce; None: all of them. `axis` is another name
        keepdim   keep reduced axes with length 1, so that the result broadcasts against x. `keepdims` is another name

        The result has the shape of x without these axes. x.min(dim) also returns the indices.

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.amin(dim=1)
        tensor([1., 4.])
        """
        return ops.amin.apply(self, axis=filled("amin", self, axes_of(dim, axis, self.ndim)), keepdims=kept(keepdim, keepdims))

    def max(self, dim: int | Base | None = None, keepdim: bool = False, *, axis: int | None = None, keepdims: bool = False) -> Any:
        """The largest entry. With dim, (values, indices) along it. With a tensor, the same as maximum.

        dim       the axis to reduce. With it, only the first of several equal entries gets the gradient; without it, they share it
        keepdim   keep the reduced axis with length 1

        >>> x = minigrad.tensor([[1.0, 5.0], [6.0, 4.0]])
        >>> x.max()
        tensor(6.)
        >>> values, indices = x.max(dim=1)
        >>> indices
        tensor([1, 0])
        """
        return extreme(self, ops.max, ops.amax, ops.maximum, np.argmax, dim, axis, kept(keepdim, keepdims))

    def min(self, dim: int | Base | None = None, keepdim: bool = False, *, axis: int | None = None, keepdims: bool = False) -> Any:
        """The smallest entry. With dim, (values, indices) along it. With a tensor, the same as minimum.

        dim       the axis to reduce. With it, only the first of several equal entries gets the gradient; without it, they share it
        keepdim   keep the reduced axis with length 1

        >>> x = minigrad.tensor([[1.0, 5.0], [6.0, 4.0]])
        >>> x.min()
        tensor(1.)
        >>> values, indices = x.min(dim=1)
        >>> indices
        tensor([0, 1])
        """
        return extreme(self, ops.min, ops.amin, ops.minimum, np.argmin, dim, axis, kept(keepdim, keepdims))

    def argmax(self, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None) -> Self:
        """The index of the largest entry, as int64. If several are equal, the first one.

        dim       the axis to reduce; None: return the index into the flattened tensor
        keepdim   keep the reduced axis with length 1

        No gradient flows through.

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.argmax(dim=1)
        tensor([2, 2])
        >>> x.argmax()
        tensor(5)
        """
        return _long(ops.argmax.apply(self, axis=place_axis("argmax", self, dim, axis), keepdims=keepdim))

    def argmin(self, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None) -> Self:
        """The index of the smallest entry, as int64. If several are equal, the first one.

        dim       the axis to reduce; None: return the index into the flattened tensor
        keepdim   keep the reduced axis with length 1

        No gradient flows through.

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.argmin(dim=1)
        tensor([0, 0])
        >>> x.argmin()
        tensor(0)
        """
        return _long(ops.argmin.apply(self, axis=place_axis("argmin", self, dim, axis), keepdims=keepdim))

    def all(self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False) -> Self:
        """True where all entries along some axes are not 0. NaN counts as True.

        dim       the axis or axes to reduce; None: all of them, (): none, unlike in `sum`. `axis` is another name
        keepdim   keep reduced axes with length 1, so that the result broadcasts against x. `keepdims` is another name

        >>> x = minigrad.tensor([[True, True], [True, False]])
        >>> x.all(dim=1)
        tensor([ True, False])
        >>> x.all()
        tensor(False)
        """
        return ops.all.apply(self, axis=_axes_or_none(dim, axis, self.ndim), keepdims=kept(keepdim, keepdims))

    def any(self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False) -> Self:
        """True where any entry along some axes is not 0. NaN counts as True.

        dim       the axis or axes to reduce; None: all of them, (): none, unlike in `sum`. `axis` is another name
        keepdim   keep reduced axes with length 1, so that the result broadcasts against x. `keepdims` is another name

        >>> x = minigrad.tensor([[True, False], [False, False]])
        >>> x.any(dim=1)
        tensor([ True, False])
        >>> x.any()
        tensor(True)
        """
        return ops.any.apply(self, axis=_axes_or_none(dim, axis, self.ndim), keepdims=kept(keepdim, keepdims))

    def prod(self, dim: int | None = None, keepdim: bool = False, *, dtype: DTypeLike = None, axis: int | None = None) -> Self:
        """The product along an axis, or of all entries.

        dim       the axis to reduce; None: all of them
        keepdim   keep the reduced axis with length 1
        dtype     the dtype to multiply in; integers are multiplied as int64

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.prod(dim=1)
        tensor([  6., 120.])
        """
        return in_type(lambda x: ops.prod.apply(x, axis=one_axis(dim, axis, self.ndim), keepdims=keepdim), self, dtype)

    def var(self, dim: Dim = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None, axis: Dim = None) -> Self:
        """The variance: the mean squared deviation from the mean.

        dim       the axis or axes to reduce; None: all of them. `axis` is another name
        keepdim   keep reduced axes with length 1, so that the result broadcasts against x. `keepdims` is another name
        correction   subtracted from the number of entries before dividing: 1 (the default) for the
                     unbiased estimate from a sample, 0 for the plain mean. `unbiased=False` means correction=0

        The result has the shape of x without these axes. The variance of a single entry, with correction=1, is NaN.

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.var(dim=1)
        tensor([1., 1.])
        >>> x.var(dim=1, correction=0)
        tensor([0.6667, 0.6667])
        """
        return ops.var.apply(self, **variance_settings("var", self, dim, unbiased, keepdim, correction, axis))

    def std(self, dim: Dim = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None, axis: Dim = None) -> Self:
        """The standard deviation: the square root of x.var().

        dim       the axis or axes to reduce; None: all of them. `axis` is another name
        keepdim   keep reduced axes with length 1, so that the result broadcasts against x. `keepdims` is another name
        correction   subtracted from the number of entries before dividing: 1 (the default), or 0

        The result has the shape of x without these axes.

        >>> x = minigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.std(dim=1)
        tensor([1., 1.])
        """
        return ops.std.apply(self, **variance_settings("std", self, dim, unbiased, keepdim, correction, axis))

    def var_mean(self, dim: Dim = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None) -> tuple[Self, Self]:
        """A tuple (variance, mean) of all entries, or along dim, an axis or a tuple of axes.

        correction   the divisor is the number of entries minus this: by default 1; unbiased=False means 0
        keepdim      keep the axes, with size 1

        >>> minigrad.tensor([1.0, 2.0, 3.0]).var_mean()
        (tensor(1.), tensor(2.))
        """
        both = self.var(dim, unbiased, keepdim, correction=correction), self.mean(None if isinstance(dim, bool) else dim, keepdim)
        return composites.named(both[0], "VarMeanBackward0"), composites.named(both[1], "VarMeanBackward0")

    def std_mean(self, dim: Dim = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None) -> tuple[Self, Self]:
        """A tuple (standard deviation, mean) of all entries, or along dim, an axis or a tuple of axes.

        correction   the divisor is the number of entries minus this: by default 1; unbiased=False means 0
        keepdim      keep the axes, with size 1

        >>> minigrad.tensor([1.0, 2.0, 3.0]).std_mean()
        (tensor(1.), tensor(2.))
        """
        both = self.std(dim, unbiased, keepdim, correction=correction), self.mean(None if isinstance(dim, bool) else dim, keepdim)
        return composites.named(both[0], "StdMeanBackward0"), composites.named(both[1], "StdMeanBackward0")

    def logsumexp(self, dim: Dim, keepdim: bool = False) -> Self:
        """log(sum(exp(x))) along some axes, without overflow.

        dim       the axis or axes to reduce; None: all of them. `axis` is another name
        keepdim   keep reduced axes with length 1, so that the result broadcasts against x. `keepdims` is another name

        The result has the shape of x without these axes. Its gradient is softmax(x).

        >>> x = minigrad.tensor([[0.0, 0.0], [1000.0, 1000.0]])
        >>> x.logsumexp(dim=1)
        tensor([6.9315e-01, 1.0007e+03])
        """
        return ops.logsumexp.apply(self, axis=axes_of(dim, None, self.ndim), keepdims=keepdim)

    def norm(self, p: float | str | None = "fro", dim: Dim = None, keepdim: bool = False, dtype: DTypeLike = None) -> Self:
        """The p-norm along some axes: (sum(abs(x) ** p)) ** (1 / p), or a matrix norm.

        p         a number; inf and -inf for the largest and smallest abs(x); 0 counts the nonzero entries;
                  "fro" (the default) is the 2-norm of all entries, "nuc" the sum of the singular values
        dim       the axis or axes to reduce; None: all of them. `axis` is another name
        keepdim   keep reduced axes with length 1, so that the result broadcasts against x. `keepdims` is another name

        >>> minigrad.tensor([[3.0, 4.0], [6.0, 8.0]]).norm(dim=1)
        tensor([ 5., 10.])
        >>> minigrad.tensor([3.0, -4.0]).norm(1)
        tensor(7.)
        """
        x: Any = self
        if x.dtype.kind not in "fc":
            raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {dtypes.torch_name(x.dtype)}")
        x = x if dtype is None else in_dtype_of_norm("vector_norm", x, dtype)
        if p == "fro" or p is None:
            p = 2
        if p == "nuc":
            return nuclear(x, dim, keepdim)
        if isinstance(p, str):
            raise RuntimeError(f"norm: p must be a number, 'fro' or 'nuc', but is {p!r}.")
        if isinstance(p, complex):
            raise RuntimeError(f"linalg.vector_norm: Expected a non-complex scalar as the order, but got {p}.")
        axes = axes_of(dim, None, x.ndim)
        if (p < 0 or p == np.inf) and not all(x.shape[i] for i in (range(x.ndim) if axes is None else axes)):
            raise RuntimeError(f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not have an identity")
        return ops.linalg_vector_norm.apply(x, p=p, axis=axes, keepdims=keepdim)

    def renorm(self, p: float, dim: int, maxnorm: float) -> Self:
        """A copy of x in which each slice along dim with a p-norm above maxnorm is scaled down to maxnorm.

        x must have at least two axes. For a matrix, dim=0 limits the norm of each row.

        >>> minigrad.tensor([[3.0, 4.0], [0.5, 0.0]]).renorm(2, 0, 1)
        tensor([[0.6000, 0.8000],
                [0.5000, 0.0000]])
        """
        if self.ndim < 2:
            raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
        if p <= 0 or maxnorm < 0:
            raise RuntimeError(f"renorm: non-positive-norm not supported, and expected maxnorm to be >= 0 but got {p=} and {maxnorm=}")
        axis = normalize_one(dim, self.ndim)
        norms = self.norm(p, [k for k in range(self.ndim) if k != axis], keepdim=True)
        long = self._constant(np.asanyarray(norms.array) > maxnorm)
        z = self * ops.where.apply(long, maxnorm / (norms + 1e-7), self._constant(np.ones((), self.dtype)))
        return composites.named(z, "RenormBackward0")

    def cumsum(self, dim: int, *, dtype: DTypeLike = None) -> Self:
        """The cumulative sum along an axis. The result has the shape of x.

        dim     the axis to accumulate along
        dtype   the dtype to sum in

        >>> minigrad.tensor([1.0, 2.0, 3.0]).cumsum(0)
        tensor([1., 3., 6.])
        """
        return accumulated(ops.cumsum, self, dim, dtype)

    def cumprod(self, dim: int, *, dtype: DTypeLike = None) -> Self:
        """The cumulative product along an axis. The result has the shape of x.

        dim     the axis to accumulate along
        dtype   the dtype to multiply in

        >>> minigrad.tensor([1.0, 2.0, 3.0]).cumprod(0)
        tensor([1., 2., 6.])
        """
        return accumulated(ops.cumprod, self, dim, dtype)

    def cumsum_(self, dim: int, *, dtype: DTypeLike = None) -> Self:
        """Write the cumulative sum along an axis into x.

        dim     the axis to accumulate along
        dtype   if given, it must be the dtype of x; otherwise RuntimeError

        Writes the result into the tensor itself and returns it; x.cumsum() returns a new tensor.
        Raises an error for a leaf that requires a gradient, unless recording is off.

        >>> minigrad.tensor([1.0, 2.0, 3.0]).cumsum_(0)
        tensor([1., 3., 6.])
        """
        return overwritten(self, self.cumsum(dim, dtype=same_type(self, dtype)), "CumsumBackward0")

    def cumprod_(self, dim: int, *, dtype: DTypeLike = None) -> Self:
        """Write the cumulative product along an axis into x.

        dim     the axis to accumulate along
        dtype   if given, it must be the dtype of x; otherwise RuntimeError

        Writes the result into the tensor itself and returns it; x.cumprod() returns a new tensor.
        Raises an error for a leaf that requires a gradient, unless recording is off.

        >>> minigrad.tensor([1.0, 2.0, 3.0]).cumprod_(0)
        tensor([1., 2., 6.])
        """
        return overwritten(self, self.clone().cumprod(dim, dtype=same_type(self, dtype)), "CumprodBackward0")

    def logcumsumexp(self, dim: int) -> Self:
        """log(cumsum(exp(x))) along an axis, without overflow. The result has the shape of x.

        dim   the axis to accumulate along

        >>> minigrad.tensor([0.0, 0.0, 0.0]).logcumsumexp(0)
        tensor([0.0000, 0.6931, 1.0986])
        """
        return along_one_axis(lambda x, axis: ops.logcumsumexp.apply(x, axis=axis), self, dim)

    def cummax(self, dim: int) -> Any:
        """A tuple (values, indices): the largest entry so far along dim, and its last index.

        The gradient goes to the entries at these indices. From the first NaN on, all values are NaN.

        >>> values, indices = minigrad.tensor([1, 3, 2, 5]).cummax(0)
        >>> values
        tensor([1, 3, 3, 5])
        >>> indices
        tensor([0, 1, 1, 3])
        """
        return _running(self, dim, np.maximum)

    def cummin(self, dim: int) -> Any:
        """A tuple (values, indices): the smallest entry so far along dim, and its last index.

        The gradient goes to the entries at these indices. From the first NaN on, all values are NaN.

        >>> values, indices = minigrad.tensor([4, 2, 3, 1]).cummin(0)
        >>> values
        tensor([4, 2, 2, 1])
        """
        return _running(self, dim, np.minimum)

    def aminmax(self, *, dim: int | None = None, keepdim: bool = False) -> Any:
        """A tuple (min, max) of all entries, or along dim. keepdim keeps that axis with size 1.

        >>> low, high = minigrad.tensor([3.0, 1.0, 2.0]).aminmax()
        >>> low, high
        (tensor(1.), tensor(3.))
        """
        both = (self.amin(dim, keepdim), self.amax(dim, keepdim))
        return return_types.aminmax(*[composites.named(z, "AminmaxBackward0") for z in both])

    def nansum(self, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike = None) -> Self:
        """The sum of the entries that are not NaN, in total or along dim, an axis or a tuple of axes.

        The gradient of a NaN is 0.

        >>> minigrad.tensor([1.0, float("nan"), 2.0]).nansum()
        tensor(3.)
        """
        dtypes.check_real(self.dtype, "nansum on CPU does not support complex inputs")
        x = seen(self)
        there = self._constant(x == x)
        z = ops.keep.apply(self, there).sum(dim, keepdim, dtype=dtype)
        return composites.named(z, "NansumBackward0")

    def nanmean(self, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike = None) -> Self:
        """The mean of the entries that are not NaN, in total or along dim, an axis or a tuple of axes.

        It is NaN where all entries are NaN. The gradient of a NaN is 0.

        >>> minigrad.tensor([1.0, float("nan"), 2.0]).nanmean()
        tensor(1.5000)
        """
        if self.dtype.kind not in "fc":
            raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {dtypes.torch_name(self.dtype)}. To fix it, use x.float().")
        real_only("nanmean", self.dtype if dtype is None or self.dtype.kind not in "fc" else dtypes.as_dtype(dtype))
        return self.nansum(dim, keepdim, dtype=dtype) / (~self.isnan()).sum(dim, keepdim)

    def dist(self, other: Operand, p: float = 2) -> Self:
        """The p-norm of x - other as a single number. x and other are broadcast.

        >>> minigrad.tensor([0.0, 0.0]).dist(minigrad.tensor([3.0, 4.0]))
        tensor(5.)
        """
        return composites.named((self - other).norm(p), "DistBackward0")

    # ------------------------------------------------------------------ neural networks

    def softmax(self, dim: int, dtype: DTypeLike = None) -> Self:
        """exp(x) / sum(exp(x)) along an axis: positive numbers that sum to 1. The result has the shape of x.

        dim     the axis along which they sum to 1
        dtype   the dtype to compute in

        >>> minigrad.tensor([[0.0, 0.0], [0.0, 2.0]]).softmax(dim=1)
        tensor([[0.5000, 0.5000],
                [0.1192, 0.8808]])
        """
        x = self if dtype is None else self.to(dtypes.as_dtype(dtype))
        return ops.softmax.apply(x, axis=axis_for_softmax(x, dim))

    def log_softmax(self, dim: int, dtype: DTypeLike = None) -> Self:
        """log(softmax(x)) along an axis, without overflow. The result has the shape of x.

        dim     the axis along which the probabilities sum to 1
        dtype   the dtype to compute in

        >>> minigrad.tensor([[0.0, 0.0], [0.0, 2.0]]).log_softmax(dim=1)
        tensor([[-0.6931, -0.6931],
                [-2.1269, -0.1269]])
        """
        x = self if dtype is None else self.to(dtypes.as_dtype(dtype))
        return ops.log_softmax.apply(x, axis=axis_for_softmax(x, dim))


R = TypeVar("R", bound=Reductions)


def axes_of(dim: Dim, axis: Dim, ndim: int) -> tuple[int, ...] | None:
    """`dim` or `axis` as a setting for an op: None for all axes, or a tuple of non-negative axes."""
    dim = axis if dim is None else dim
    if type(dim) is int and -ndim <= dim < ndim:
        return (dim % ndim,)
    if dim is None or (isinstance(dim, LISTED) and not dim):
        return None
    return normalize_axes(dim, ndim) if ndim else (normalize_axes(dim, ndim) and None)


def _axes_or_none(dim: Dim, axis: Dim, ndim: int) -> tuple[int, ...] | None:
    """Like axes_of, but no axes for (), as in PyTorch's `all` and `any`."""
    axes = axes_of(dim, axis, ndim)
    return () if axes is None and (dim is not None or axis is not None) else axes


def kept(keepdim: bool, keepdims: bool) -> bool:
    """The setting keepdims of an op, from its two names."""
    value = keepdims if keepdim is False else keepdim
    return value if value.__class__ is bool else as_bool(value, "keepdim")


def extreme(x: Reductions, along: Op, over: Op, of_two: Op, argextreme: Callable[..., Array], dim: int | Base | None, axis: int | None, keepdims: bool) -> Any:
    """Implements x.max() and x.min(): over all entries, along one axis with indices, or of two tensors."""
    if isinstance(dim, Base):
        return of_two.apply(x, dim)
    a = axis if dim is None else dim
    if a is None:
        z = over.apply(x, axis=filled(along.name, x, None), keepdims=keepdims)
        return composites.named(z, f"{along.name.capitalize()}Backward1")
    kind = return_types.max if along is ops.max else return_types.min
    a = normalize_one(a, x.ndim)
    if not x.ndim:
        return kind(composites.named(x.clone(), f"{along.name.capitalize()}Backward0"), x.new_zeros((), dtype=np.int64))
    composites.nonempty(along.name, x, a)
    composites.ordered(along.name, x)
    at = argextreme(seen(x), axis=a, keepdims=True)
    indices = x._index_tensor(at if keepdims else at.squeeze(a))
    return kind(along.apply(x, at=at, axis=a, keepdims=keepdims), indices)


def along_one_axis(f: Callable[..., Any], x: Reductions, dim: int, *settings: object) -> Any:
    """f along one axis. A tensor without axes is treated as a vector of one entry."""
    axis = normalize_one(dim, x.ndim)
    if x.ndim:
        return f(x, axis, *settings)
    z = f(x.reshape(1), 0, *settings)
    return type(z)(*[_number(t) for t in z]) if isinstance(z, tuple) else _number(z)


def _running(x: Reductions, dim: int, extreme: np.ufunc) -> Any:
    """cummax or cummin, after a check of dim that has words of its own for a tensor without axes."""
    if not x.ndim and dim not in (0, -1):
        name = "cummax" if extreme is np.maximum else "cummin"
        raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
    return along_one_axis(composites.running_extreme, x, dim, extreme)


def _long(z: Any) -> Any:
    """The indices z as int64, which they are already but on a 32-bit machine."""
    return z if z.dtype == np.int64 else z.long()


def _number(z: Any) -> Any:
    """The only entry of a vector, as a tensor without axes. Its node keeps its name."""
    return composites.named(z.reshape(()), type(getattr(z, "node", None)).__name__)


def real_only(name: str, dtype: Dtype) -> None:
    """Raise an error for integers and booleans: their mean would not have the same dtype."""
    if dtype.kind not in "fc":
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {dtypes.torch_name(dtype)}. To fix it, use x.float().{name}()."
        )


def accumulated(op: Op, x: R, dim: int, dtype: DTypeLike) -> R:
    """Implements cumsum and cumprod, computed in the requested dtype."""
    if dtype is None and x.array.ndim:  # the usual case
        return op.apply(x, axis=normalize_one(dim, x.array.ndim))
    if dtype is not None and dtypes.as_dtype(dtype).kind == "b":
        raise NotForDtype(f'"{op.name}_out_cpu" not implemented for \'Bool\'. To fix it, leave out dtype=.')
    return in_type(lambda x: along_one_axis(lambda x, axis: op.apply(x, axis=axis), x, dim), x, dtype)


def same_type(x: Base, dtype: DTypeLike) -> DTypeLike:
    """The dtype of an in-place operation, after checking that it is the dtype of x."""
    if dtype is not None and dtypes.as_dtype(dtype) != x.dtype:
        raise RuntimeError(f"Bad in-place call: input tensor dtype {x.dtype} and output tensor dtype {dtypes.as_dtype(dtype)} should match")
    return dtype


def filled(name: str, x: Base, axes: Shape | None) -> Shape | None:
    """The axes, after checking that none is empty: an empty axis has no largest entry."""
    if x.array.size:
        return axes
    if axes is None:
        raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")
    for i in axes:
        composites.nonempty(name, x, i)
    return axes


def place_axis(name: str, x: Base, dim: int | None, axis: int | None) -> int | None:
    """The axis of argmax and argmin, or None."""
    if x.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input. To fix it, use x.int().{name}().")
    a = one_axis(dim, axis, x.ndim)
    if a is None and not x.array.size:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    if a is not None:
        filled(name, x, (a,))
    return a


def variance_settings(name: str, x: Base, dim: Dim, unbiased: bool | None, keepdims: bool, correction: float | None, axis: Dim) -> dict[str, Any]:
    """The settings of var and std, from their various arguments."""
    if x.dtype.kind not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if isinstance(dim, bool):  # x.var(False)
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    axes = axes_of(dim, axis, x.ndim)
    if number_reduced(x.shape, axes) <= correction:
        warn_user(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor, the number of "
            "entries: the result is NaN. To fix it, use more entries, or correction=0.",
        )
    return {"axis": axes, "correction": correction, "keepdims": keepdims}


def in_dtype_of_norm(name: str, x: R, dtype: DTypeLike) -> R:
    """x in the dtype that a norm was asked to compute in. Raises RuntimeError if the norm may not be computed in it."""
    wanted = dtypes.as_dtype(dtype)
    its, own = dtypes.torch_name(wanted), dtypes.torch_name(x.dtype)
    what = None
    if wanted.kind not in "fc":
        what = f"dtype should be floating point or complex, but got {its}"
    elif wanted.kind != x.dtype.kind:
        what = f"dtype should be {'real for real' if wanted.kind == 'c' else 'complex for complex'} inputs, but got {its}"
    elif dtypes.promote_types(x.dtype, wanted) != wanted:
        what = f"the dtype of the input ({own}) should be convertible without narrowing to the specified dtype ({its})"
    if what:
        raise RuntimeError(f"linalg.{name}: {what}")
    return x.to(wanted)


def nuclear(x: R, dim: Dim, keepdims: bool) -> R:
    """The sum of the singular values of matrices."""
    if x.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    axes = normalize_axes(dim, x.ndim) if dim is not None or x.ndim == 2 else ()
    if len(axes) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}, of a tensor of shape {tuple(x.shape)}")
    z = ops.singular_values.apply(x.movedim(axes, (-2, -1))).sum(-1)
    return z[..., None, None].movedim((-2, -1), axes) if keepdims else z


def one_axis(dim: int | None, axis: int | None, ndim: int) -> int | None:
    """`dim` or `axis` as a setting for an op with one axis: None for all entries, or a non-negative axis."""
    dim = axis if dim is None else dim
    if dim is None:
        return None
    dim = normalize_one(dim, ndim)
    return dim if ndim else None


def axis_for_softmax(x: Base, dim: int) -> int | None:
    """The axis of a softmax. None for a tensor without axes."""
    ndim = x.array.ndim
    axis = normalize_one(dim, ndim)
    return axis if ndim else None
