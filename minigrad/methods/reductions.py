"""Reductions: many entries become one, or are counted, sorted and found.

`dim` is the axis, or the axes, that go; `keepdim` leaves them there with size 1. NumPy's
words, `axis` and `keepdims`, are taken as well.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from minigrad import ops, return_types
from minigrad.methods.base import Base, Dim, Operand, with_numpy_names
from minigrad.methods.indexing import Indexing, part
from minigrad.methods.operators import Operators
from minigrad.op import Op
from minigrad.ops import composites
from minigrad.shapes import normalize, normalize_one


@with_numpy_names
class Reductions(Operators, Indexing):
    """What becomes of a whole axis."""

    __slots__ = ()

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
            self, axis=filled("amax", self, axes_of(dim, axis, self.ndim)), keepdims=keepdim or keepdims
        )

    def amin(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.amin.apply(
            self, axis=filled("amin", self, axes_of(dim, axis, self.ndim)), keepdims=keepdim or keepdims
        )

    def max(
        self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False
    ) -> Any:
        """The greatest entry; with dim (values, indices) along it; with a tensor, as maximum."""
        if isinstance(dim, Base):
            return self.maximum(dim)
        return extreme(self, ops.max, ops.amax, np.argmax, dim, axis, keepdim or keepdims)

    def min(
        self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False
    ) -> Any:
        """The least entry; with dim (values, indices) along it; with a tensor, as minimum."""
        if isinstance(dim, Base):
            return self.minimum(dim)
        return extreme(self, ops.min, ops.amin, np.argmin, dim, axis, keepdim or keepdims)

    def argmax(
        self, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None
    ) -> Self:
        return ops.argmax.apply(self, axis=place_axis("argmax", self, dim, axis), keepdims=keepdim)

    def argmin(
        self, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None
    ) -> Self:
        return ops.argmin.apply(self, axis=place_axis("argmin", self, dim, axis), keepdims=keepdim)

    def all(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.all.apply(self, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims)

    def any(
        self, dim: Dim = None, keepdim: bool = False, *, axis: Dim = None, keepdims: bool = False
    ) -> Self:
        return ops.any.apply(self, axis=axes_of(dim, axis, self.ndim), keepdims=keepdim or keepdims)

    def prod(self, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None, axis: int | None = None) -> Self:
        x = self if dtype is None else self.to(dtype)
        return ops.prod.apply(x, axis=one_axis(dim, axis, self.ndim), keepdims=keepdim)

    def var(self, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, axis: Dim = None) -> Self:
        return ops.var.apply(self, **spread(self, dim, unbiased, keepdim, correction, axis))
    def std(self, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, axis: Dim = None) -> Self:
        return ops.std.apply(self, **spread(self, dim, unbiased, keepdim, correction, axis))
    def var_mean(self, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
        return self.var(dim, unbiased, keepdim, correction=correction), self.mean(None if dim is True or dim is False else dim, keepdim)
    def std_mean(self, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
        return self.std(dim, unbiased, keepdim, correction=correction), self.mean(None if dim is True or dim is False else dim, keepdim)
    def logsumexp(self, dim: Dim, keepdim: bool = False) -> Self: return ops.logsumexp.apply(self, axis=axes_of(dim, None, self.ndim), keepdims=keepdim)
    def norm(self, p: Any = "fro", dim: Dim = None, keepdim: bool = False, dtype: Any = None) -> Self: return norm(self if dtype is None else self.to(dtype), p, dim, keepdim)
    def renorm(self, p: Any, dim: int, maxnorm: Any) -> Self: return renorm(self, p, dim, maxnorm)
    def renorm_(self, p: Any, dim: int, maxnorm: Any) -> Self: return self.copy_(self.renorm(p, dim, maxnorm))
    def cumsum(self, dim: int, *, dtype: Any = None) -> Self: return along(lambda x, axis: ops.cumsum.apply(x, axis=axis), self if dtype is None else self.to(dtype), dim)
    def cumprod(self, dim: int, *, dtype: Any = None) -> Self: return along(lambda x, axis: ops.cumprod.apply(x, axis=axis), self if dtype is None else self.to(dtype), dim)
    def cumsum_(self, dim: int) -> Self: return self.copy_(self.cumsum(dim))
    def cumprod_(self, dim: int) -> Self: return self.copy_(self.cumprod(dim))
    def logcumsumexp(self, dim: int) -> Self: return along(lambda x, axis: ops.logcumsumexp.apply(x, axis=axis), self, dim)
    def cummax(self, dim: int) -> Any: return along(composites.running_extreme, self, dim, np.maximum)
    def cummin(self, dim: int) -> Any: return along(composites.running_extreme, self, dim, np.minimum)
    def sort(self, dim: int = -1, descending: bool = False, stable: bool = False) -> Any: return along(composites.sort, self, dim, descending)
    def argsort(self, dim: int = -1, descending: bool = False, stable: bool = False) -> Self: return along(composites.argsort, self, dim, descending)
    def msort(self) -> Self: return self.sort(0).values
    def topk(self, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any: return along(composites.topk, self, dim, k, largest)
    def kthvalue(self, k: int, dim: int = -1, keepdim: bool = False) -> Any: return along(composites.kthvalue, self, dim, k, keepdim)
    def median(self, dim: int | None = None, keepdim: bool = False) -> Any: return ops.median.apply(self) if dim is None else along(composites.median_along, self, dim, keepdim)
    def nanmedian(self, dim: int | None = None, keepdim: bool = False) -> Any: return ops.median.apply(self[~np.isnan(self.array)]) if dim is None else along(composites.nanmedian, self, dim, keepdim)
    def mode(self, dim: int = -1, keepdim: bool = False) -> Any: return along(composites.mode, self, dim, keepdim)
    def quantile(self, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Self: return quantiles(self, q, dim, keepdim, interpolation, False)
    def nanquantile(self, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Self: return quantiles(self, q, dim, keepdim, interpolation, True)
    def aminmax(self, *, dim: int | None = None, keepdim: bool = False) -> Any: return return_types.aminmax(self.amin(dim, keepdim), self.amax(dim, keepdim))
    def count_nonzero(self, dim: Dim = None) -> Self: return self.ne(0).sum(dim)
    def nansum(self, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Self: return self.masked_fill(self.isnan(), 0).sum(dim, keepdim, dtype=dtype)
    def nanmean(self, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Self: return self.nansum(dim, keepdim, dtype=dtype) / (~self.isnan()).sum(dim, keepdim)

    def dist(self, other: Operand, p: Any = 2) -> Self: return (self - other).norm(p)
    def cov(self, *, correction: Any = 1, fweights: Any = None, aweights: Any = None) -> Self: return covariance(self, correction, fweights, aweights)
    def corrcoef(self) -> Self: return correlation(self)
    def diff(self, n: int = 1, dim: int = -1) -> Self:
        x, axis = self, normalize_one(dim, self.ndim)
        for _ in range(n):
            x = x[part(x.shape, axis, slice(1, None))] - x[part(x.shape, axis, slice(0, -1))]
        return x

    # ------------------------------------------------------------------ neural networks

    def softmax(self, dim: int, dtype: Any = None) -> Self:
        x = self if dtype is None else self.to(dtype)
        return ops.softmax.apply(x, axis=axis_for_softmax(x, dim))

    def log_softmax(self, dim: int, dtype: Any = None) -> Self:
        x = self if dtype is None else self.to(dtype)
        return ops.log_softmax.apply(x, axis=axis_for_softmax(x, dim))

    # ------------------------------------------------------------------ counting and finding

    def nonzero(self, *, as_tuple: Any = False) -> Any: return composites.nonzero(self, as_tuple)
    def argwhere(self) -> Self: return composites.nonzero(self, False)
    def unique(self, sorted: Any = True, return_inverse: Any = False, return_counts: Any = False, dim: Any = None) -> Any: return composites.unique(self, return_inverse, return_counts, dim)
    def unique_consecutive(self, return_inverse: Any = False, return_counts: Any = False, dim: Any = None) -> Any: return composites.unique_consecutive(self, return_inverse, return_counts, None if dim is None else normalize_one(dim, self.ndim))
    def bincount(self, weights: Any = None, minlength: Any = 0) -> Self: return composites.bincount(self, weights, minlength)
    def histc(self, bins: Any = 100, min: Any = 0, max: Any = 0) -> Self: return composites.histc(self, bins, min, max)
    def histogram(self, bins: Any, *, range: Any = None, weight: Any = None, density: Any = False) -> Any: return composites.histogram(self, bins, range, weight, density)
    def bucketize(self, boundaries: Any, *, right: Any = False) -> Self: return composites.searchsorted(boundaries, self, right)
    def isin(self, test_elements: Any) -> Self: return self._constant(np.isin(self.array, getattr(test_elements, "array", test_elements)))


def axes_of(dim: Dim, axis: Dim, ndim: int) -> Any:
    """What `dim` or `axis` means for an op: None for all axes, or a tuple of numbers >= 0."""
    dim = axis if dim is None else dim
    if type(dim) is int and -ndim <= dim < ndim:
        return (dim % ndim,)
    if dim is None or (isinstance(dim, Sequence) and not dim):
        return None
    return normalize(dim, ndim) if ndim else (normalize(dim, ndim) and None)


def extreme(x: Any, along: Op, over: Op, place: Any, dim: Any, axis: Any, keepdims: bool) -> Any:
    """x.max() and x.min(): of all entries, or along one axis with the place of each."""
    if dim is None and axis is None:
        return over.apply(x, axis=filled(along.name, x, None), keepdims=keepdims)
    kind = return_types.max if along is ops.max else return_types.min
    if not x.ndim:
        normalize_one(axis if dim is None else dim, 0)
        return kind(x.clone(), ops.zeros_like(x).long())
    a = normalize_one(axis if dim is None else dim, x.ndim)
    if not x.shape[a]:
        raise IndexError(f"{along.name}(): Expected reduction dim {a} to have non-zero size.")
    at = np.expand_dims(place(x.array, axis=a), a)
    indices = x._constant(at if keepdims else at.squeeze(a))
    return kind(along.apply(x, at=at, axis=a, keepdims=keepdims), indices)


def along(f: Any, x: Any, dim: int, *settings: Any) -> Any:
    """f along one axis; a number without axes is taken as a vector of one entry."""
    axis = normalize_one(dim, x.ndim)
    if x.ndim:
        return f(x, axis, *settings)
    z = f(x.reshape(1), 0, *settings)
    return type(z)(*[t.reshape(()) for t in z]) if isinstance(z, tuple) else z.reshape(())


def filled(name: str, x: Any, axes: Any) -> Any:
    """The axes, none of which is empty: nothing has no greatest entry."""
    if x.array.size:
        return axes
    if axes is None:
        raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")
    for i in axes:
        if not x.shape[i]:
            raise IndexError(f"{name}(): Expected reduction dim {i} to have non-zero size.")
    return axes


def place_axis(name: str, x: Any, dim: Any, axis: Any) -> Any:
    """The axis of argmax and argmin, or None."""
    if x.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input. To mend it, use x.int().{name}().")
    a = one_axis(dim, axis, x.ndim)
    if a is None and not x.array.size:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    return a if a is None else filled(name, x, (a,))[0]


def spread(x: Any, dim: Any, unbiased: Any, keepdims: bool, correction: Any, axis: Dim) -> dict[str, Any]:
    """The settings of var and std, from the several ways to ask for them."""
    if x.dtype.kind not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if isinstance(dim, bool):  # x.var(False)
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    return {"axis": axes_of(dim, axis, x.ndim), "correction": correction, "keepdims": keepdims}


def quantiles(x: Any, q: Any, dim: int | None, keepdims: bool, interpolation: str, ignore_nan: bool) -> Any:
    """Of all entries, or along one axis; several of them stand along a new first axis."""
    if dim is not None and x.ndim:
        return composites.quantile(x, normalize_one(dim, x.ndim), q, keepdims, interpolation, ignore_nan)
    z = composites.quantile(x.reshape(-1), 0, q, False, interpolation, ignore_nan)
    return z.reshape((*z.shape, *(1,) * x.ndim)) if keepdims else z


def nuclear(x: Any, dim: Dim, keepdims: bool) -> Any:
    """The sum of the singular values of matrices."""
    axes = normalize(dim, x.ndim) if dim is not None or x.ndim == 2 else ()
    if len(axes) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}, of a tensor of shape {tuple(x.shape)}")
    z = ops.singular_values.apply(x.movedim(axes, (-2, -1))).sum(-1)
    if not keepdims:
        return z
    for axis in sorted(axes):
        z = z.unsqueeze(axis)
    return z


def norm(x: Any, p: Any, dim: Dim, keepdims: bool) -> Any:
    if x.dtype.kind not in "fc":
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype}")
    if p == "fro" or p is None:
        p = 2
    if p == "nuc":
        return nuclear(x, dim, keepdims)
    if isinstance(p, str):
        raise RuntimeError(f"norm with p={p!r} is not there; numbers, 'fro' and 'nuc' are.")
    axes = axes_of(dim, None, x.ndim)
    if p in (np.inf, -np.inf) and not all(x.shape[i] for i in (range(x.ndim) if axes is None else axes)):
        raise RuntimeError(f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not have an identity")
    return ops.norm.apply(x, p=p, axis=axes, keepdims=keepdims)


def one_axis(dim: Any, axis: Any, ndim: int) -> Any:
    dim = axis if dim is None else dim
    return None if dim is None or not ndim else normalize_one(dim, ndim)


def axis_for_softmax(x: Any, dim: int) -> int | None:
    if x.dtype.kind != "f":
        raise NotImplementedError(f'"softmax" not implemented for \'{x.dtype}\'. To mend it, use x.float().')
    axis = normalize_one(dim, x.ndim)
    return axis if x.ndim else None


def covariance(x: Any, correction: Any, counts: Any, weights: Any) -> Any:
    """How the rows of x vary together: a matrix, of variables by variables."""
    if x.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {x.ndim} dimensions")
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    w = None
    for given in (counts, weights):
        w = given if w is None or given is None else w * given
    if w is None:
        d = rows - rows.mean(1, keepdim=True)
        z = d.mm(d.t()) / max(rows.shape[1] - correction, 0)
    else:
        total = w.sum()
        d = rows - (rows * w).sum(1, keepdim=True) / total
        lost = correction if weights is None else correction * (w * weights).sum() / total
        z = (d * w).mm(d.t()) / (total - lost)
    return z.reshape(()) if x.ndim < 2 else z


def correlation(x: Any) -> Any:
    """The covariance, of rows that were scaled to variance 1."""
    c = covariance(x, 1, None, None)
    if not c.ndim:
        return c / c
    s = c.diagonal().sqrt()
    return (c / s.unsqueeze(1) / s).clamp(-1, 1)


def renorm(x: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """The parts along dim, shortened to the length maxnorm where they are longer."""
    axis = dim + x.ndim if dim < 0 else dim
    norms = x.norm(p, [k for k in range(x.ndim) if k != axis], keepdim=True)
    long = x._constant(np.asanyarray(norms.array) > maxnorm)
    return x * ops.where.apply(long, maxnorm / (norms + 1e-7), x._constant(np.ones((), x.dtype)))
