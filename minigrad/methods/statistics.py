"""Statistics of entries: sorting, medians and quantiles, covariances, counting and searching."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from minigrad import ops, return_types
from minigrad.core.dtypes import torch_name
from minigrad.core.errors import warn_user, wrong_kind
from minigrad.core.modes import seen
from minigrad.core.shapes import Array, Dim, as_int, normalize_one
from minigrad.methods.base import Base, evenly_spaced
from minigrad.methods.indexing import part
from minigrad.methods.reductions import R, Reductions, along_one_axis, axes_of
from minigrad.ops import composites


class Statistics(Reductions):
    """Sorting, quantiles, counting, and related methods."""

    __slots__ = ()

    def sort(self, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
        """A tuple (values, indices): the entries sorted along dim, and their old indices.

        descending   sort from large to small; NaN counts as the largest value
        The sort is stable even without stable=True: equal entries keep their order.

        >>> values, indices = minigrad.tensor([3, 1, 2]).sort()
        >>> values
        tensor([1, 2, 3])
        >>> indices
        tensor([1, 2, 0])
        """
        return along_one_axis(composites.sort, self, dim, descending, stable is not None)

    def argsort(self, dim: int = -1, descending: bool = False, stable: bool = False) -> Self:
        """The indices that sort x along dim: x.sort(dim).indices.

        >>> minigrad.tensor([3, 1, 2]).argsort()
        tensor([1, 2, 0])
        """
        return along_one_axis(composites.argsort, self, dim, descending)

    def msort(self) -> Self:
        """The entries sorted along the first axis: x.sort(0).values.

        >>> minigrad.tensor([[3, 1], [2, 4]]).msort()
        tensor([[2, 1],
                [3, 4]])
        """
        return self.sort(0).values

    def topk(self, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
        """A tuple (values, indices) of the k largest entries along dim, the largest first.

        largest   False: the k smallest, the smallest first
        sorted    accepted but ignored: the values are always sorted
        Raises RuntimeError if k is greater than the size of dim.

        >>> values, indices = minigrad.tensor([3.0, 1.0, 4.0, 2.0]).topk(2)
        >>> values
        tensor([4., 3.])
        >>> indices
        tensor([2, 0])
        """
        return along_one_axis(composites.topk, self, dim, k, largest)

    def kthvalue(self, k: int, dim: int = -1, keepdim: bool = False) -> Any:
        """A tuple (values, indices) of the k-th smallest entry along dim, counted from 1.

        >>> values, indices = minigrad.tensor([3.0, 1.0, 2.0]).kthvalue(2)
        >>> values
        tensor(2.)
        >>> indices
        tensor(2)
        """
        return along_one_axis(composites.kthvalue, self, dim, k, keepdim)

    def median(self, dim: int | None = None, keepdim: bool = False) -> Any:
        """The median. For an even number of entries, the lower of the two middle ones. NaN if an entry is NaN.

        dim       the axis to reduce; the result is then (values, indices). None: a tensor without axes
        keepdim   keep the reduced axis with length 1

        >>> minigrad.tensor([3.0, 1.0, 2.0, 9.0]).median()
        tensor(2.)
        """
        return ops.median.apply(self) if dim is None else along_one_axis(composites.median_along, self, dim, keepdim)

    def nanmedian(self, dim: int | None = None, keepdim: bool = False) -> Any:
        """The median of the entries that are not NaN. With dim, (values, indices) along it.

        For an even number of entries, it is the lower of the two middle ones.

        >>> minigrad.tensor([3.0, float("nan"), 1.0, 2.0]).nanmedian()
        tensor(2.)
        """
        if dim is not None:
            return along_one_axis(composites.median_along, self, dim, keepdim, True)
        return composites.named(ops.median.apply(self, ignore_nan=True), "NanmedianBackward0")

    def mode(self, dim: int = -1, keepdim: bool = False) -> Any:
        """A tuple (values, indices): the most frequent entry along dim (the smallest one in a tie) and its last index.

        >>> values, indices = minigrad.tensor([2, 1, 2, 3]).mode()
        >>> values
        tensor(2)
        >>> indices
        tensor(2)
        """
        return along_one_axis(composites.most_frequent, self, dim, keepdim)

    def quantile(self, q: float | Self | Sequence[float], dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Self:
        """The q-th quantile, of all entries or along dim: a fraction q of the entries is below it.

        q               a number from 0 to 1, or a vector of them, which becomes the first axis of the result
        interpolation   what to return between two entries: "linear", "lower", "higher", "midpoint" or "nearest"
        If an entry is NaN, the result is NaN; nanquantile ignores NaNs.

        >>> x = minigrad.tensor([0.0, 1.0, 2.0, 3.0])
        >>> x.quantile(0.5)
        tensor(1.5000)
        >>> x.quantile(minigrad.tensor([0.0, 1.0]))
        tensor([0., 3.])
        """
        return quantiles(self, q, dim, keepdim, interpolation, False)

    def nanquantile(self, q: float | Self | Sequence[float], dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Self:
        """The q-th quantile of the entries that are not NaN: of all, or along dim.

        >>> minigrad.tensor([0.0, float("nan"), 2.0]).nanquantile(0.5)
        tensor(1.)
        """
        return quantiles(self, q, dim, keepdim, interpolation, True)

    def count_nonzero(self, dim: Dim = None, *more: int) -> Self:
        """The number of nonzero entries, in total or along dim, an axis or a tuple of axes. NaN counts as nonzero.

        more   x.count_nonzero(0, 1) is x.count_nonzero((0, 1))

        >>> minigrad.tensor([[0, 1], [2, 3]]).count_nonzero(0)
        tensor([1, 2])
        """
        dim = (dim, *more) if more else dim  # type: ignore[arg-type]
        return self._constant(np.add.reduce(seen(self) != 0, axis=axes_of(dim, None, self.ndim), dtype=np.int64))

    def cov(self, *, correction: float = 1, fweights: Any = None, aweights: Any = None) -> Self:
        """The covariance matrix of the rows of x: (variables, observations) gives (variables, variables).

        correction   the divisor is the number of observations minus this
        fweights     the number of times each observation occurred: integers
        aweights     the relative weight of each observation: floats

        >>> minigrad.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]).cov()
        tensor([[ 1., -1.],
                [-1.,  1.]])
        """
        if self.ndim > 2:
            raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {self.ndim} dimensions")
        if self.dtype.kind == "b":
            raise RuntimeError("cov(): bool dtype is not supported for input. To fix it, use x.int().")
        rows: Any = self.reshape(1, -1) if self.ndim < 2 else self
        n = rows.shape[1]
        checked_weights("fweights", fweights, n, "iu", "integral")
        checked_weights("aweights", aweights, n, "f", "floating point")
        w = fweights if aweights is None else aweights if fweights is None else fweights * aweights
        total = n if w is None else w.sum()
        if w is not None and not total.array:
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        d = rows - (rows if w is None else rows * w).sum(1, keepdim=True) / total
        freedom = total - (correction if aweights is None else correction * (w * aweights).sum() / total)
        if np.asarray(getattr(freedom, "array", freedom)) <= 0:
            warn_user("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
            freedom = 0
        return (d.mm((d if w is None else d * w).H) / freedom).squeeze()

    def corrcoef(self) -> Self:
        """The correlation matrix of the rows of x, with entries from -1 to 1: (variables, observations) gives (variables, variables).

        >>> minigrad.tensor([[0.0, 2.0], [2.0, 0.0]]).corrcoef().round()
        tensor([[ 1., -1.],
                [-1.,  1.]])
        """
        if self.ndim > 2:
            raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.ndim} dimensions")
        c: Any = self.cov()
        if not c.ndim:
            return c / c
        s = c.diagonal().sqrt()
        z = c / s.unsqueeze(1) / s
        return z if z.dtype.kind == "c" else z.clamp(-1, 1)

    def diff(self, n: int = 1, dim: int = -1, prepend: Self | None = None, append: Self | None = None) -> Self:
        """The differences of neighbors along dim: x[1:] - x[:-1] for dim 0. The result is shorter by 1.

        n                 take differences of differences, n times
        prepend, append   tensors to join before and after x along dim

        >>> minigrad.tensor([1, 4, 9, 16]).diff()
        tensor([3, 5, 7])
        """
        if not self.ndim:
            raise RuntimeError("diff expects input to be at least one-dimensional")
        if n > 0 and (prepend is not None or append is not None):
            ends = [x for x in (prepend, self, append) if x is not None]
            if any(x.ndim != self.ndim for x in ends):
                raise RuntimeError("diff expects prepend or append to be the same dimension as input")
            axis = normalize_one(dim, self.ndim)
            for x in ends:
                if x.shape != (fitting := (*self.shape[:axis], x.shape[axis], *self.shape[axis + 1 :])):
                    raise RuntimeError(f"diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension {axis}: it should be {list(fitting)}, but is {list(x.shape)}")
            return ops.cat.apply(*ends, axis=axis).diff(n, dim)
        if n < 0:
            raise RuntimeError(f"order must be non-negative but got {n}")
        x, axis = self if n else self.clone(), normalize_one(dim, self.ndim)
        for _ in range(min(n, x.shape[axis])):
            later, earlier = [ops.getitem.apply(x, index=part(axis, at)) for at in (slice(1, None), slice(0, -1))]
            x = later ^ earlier if x.dtype.kind == "b" else later - earlier
        return x

    def nonzero(self, *, as_tuple: bool = False) -> Any:
        """The indices of the nonzero entries: one row for each entry, with one column for each axis.

        as_tuple   return one vector of indices for each axis instead, so that x[x.nonzero(as_tuple=True)] gives the entries

        >>> x = minigrad.tensor([[0, 5], [6, 0]])
        >>> x.nonzero()
        tensor([[0, 1],
                [1, 0]])
        >>> x[x.nonzero(as_tuple=True)]
        tensor([5, 6])
        """
        if as_tuple:
            return tuple([self._index_tensor(i.copy()) for i in np.nonzero(np.atleast_1d(seen(self)))])
        return self._index_tensor(np.argwhere(seen(self)))

    def argwhere(self) -> Self:
        """The indices of the nonzero entries, one row for each: the same as x.nonzero().

        >>> minigrad.tensor([[0, 5], [6, 0]]).argwhere()
        tensor([[0, 1],
                [1, 0]])
        """
        return self.nonzero()

    def unique(self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
        """The unique entries, sorted. With dim, the unique slices along it.

        return_inverse   also return, for each entry of x, its index in the result
        return_counts    also return how many times each one occurs
        sorted           accepted but ignored: the values are always sorted
        The gradient of a value flows back to its first occurrence.

        >>> values, counts = minigrad.tensor([3, 1, 3]).unique(return_counts=True)
        >>> values
        tensor([1, 3])
        >>> counts
        tensor([1, 2])
        """
        composites.ordered("unique", self)
        if dim is not None:
            dim = normalize_one(dim, self.ndim)
            slices(self, dim)
        x: Any = self
        derived = x.requires_grad or x._tangents is not None  # then we need the places of the entries, which takes longer
        found: Any = np.unique(seen(self), derived, return_inverse, return_counts, axis=dim, equal_nan=False)  # type: ignore[call-overload]
        values, *others = found if isinstance(found, tuple) else (found,)
        z = entries_at(self, others.pop(0), dim) if derived else self._constant(values)
        if return_inverse:
            others[0] = others[0].reshape(self.shape if dim is None else -1)
        return requested(z, *others)

    def unique_consecutive(self, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
        """The entries with each run of equal ones reduced to one. With dim, the slices along it.

        return_inverse   also return, for each entry of x, the index of its run
        return_counts    also return the length of each run

        >>> minigrad.tensor([1, 1, 2, 1]).unique_consecutive()
        tensor([1, 2, 1])
        """
        dim = None if dim is None else normalize_one(dim, self.ndim)
        rows = seen(self).reshape(-1) if dim is None else slices(self, dim)
        flat = rows.reshape(len(rows), math.prod(rows.shape[1:]))
        starts = np.concatenate([np.ones(min(1, len(rows)), bool), (flat[1:] != flat[:-1]).any(1)])
        z = entries_at(self, np.flatnonzero(starts), dim)
        inverse = (np.cumsum(starts) - 1).reshape(self.shape if dim is None else -1)
        counts = np.diff(np.append(np.flatnonzero(starts), len(rows)))
        return requested(z, inverse if return_inverse else None, counts if return_counts else None)

    def bincount(self, weights: Self | None = None, minlength: int = 0) -> Self:
        """The counts of 0, 1, 2, ... in x, a vector of non-negative integers.

        weights     sum these weights instead of counting the entries
        minlength   the minimum length of the result

        >>> minigrad.tensor([0, 2, 2]).bincount()
        tensor([1, 0, 2])
        """
        if self.dtype.kind not in "iu":
            raise NotImplementedError(f'"bincount_cpu" not implemented for {torch_name(self.dtype)!r}. To fix it, use x.long().')
        x = seen(self)
        if self.ndim != 1 or (x.size and x.min() < 0):
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        if weights is not None and weights.shape != self.shape:
            raise RuntimeError("weights should be 1-d and have the same length as input")
        if minlength < 0:
            raise RuntimeError("minlength should be >= 0")
        counts = self._index_tensor(np.bincount(x.astype(np.intp, copy=False), None, minlength))
        if weights is None:
            return counts
        dtype = np.float32 if weights.dtype == np.float32 else np.float64
        zeros = weights._constant(np.zeros(counts.shape, dtype))
        return ops.index_put.apply(zeros, ops.to(weights, dtype=dtype), index=(x,), accumulate=True)

    def histc(self, bins: int = 100, min: float = 0, max: float = 0) -> Self:
        """The number of entries in each of `bins` equal bins between min and max.

        With min = max = 0, the range is that of x. Entries outside the range are not counted. The counts have x's dtype.

        >>> minigrad.tensor([1.0, 2.0, 2.5, 4.0]).histc(bins=2, min=0, max=4)
        tensor([1., 3.])
        """
        if bins <= 0:
            raise RuntimeError("bins must be > 0")
        if min > max:
            raise RuntimeError("max must be larger than min")
        if self.dtype.kind != "f":
            raise NotImplementedError(f'"histogram_cpu" not implemented for {torch_name(self.dtype)!r}')
        x = seen(self)
        low, high = (min, max) if min != max else (x.min(), x.max()) if x.size else (0, 1)
        if not np.isfinite(low) or not np.isfinite(high):
            raise RuntimeError(f"histc: range of [{low}, {high}] is not finite: does x contain NaN or infinity?")
        low, high = x.dtype.type(low), x.dtype.type(high)
        if low == high:
            limits = np.finfo(x.dtype)
            low = np.maximum(limits.min, np.minimum(low - 1, np.nextafter(low, limits.min)))
            high = np.minimum(limits.max, np.maximum(high + 1, np.nextafter(high, limits.max)))
        # As in PyTorch, an entry at an edge goes where the rounded division says.
        places = ((x[(low <= x) & (x <= high)] - low) * bins / (high - low)).astype(np.int64)
        return self._constant(np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(self.dtype))

    def histogram(self, bins: Any = 100, *, range: tuple[float, float] | None = None, weight: Self | None = None, density: bool = False) -> return_types.histogram:
        """A tuple (hist, bin_edges): the number of entries in each bin, and the edges of the bins.

        bins      the number of equal bins, or a tensor of edges
        range     the (smallest, largest) edge, if bins is a number; by default, the range of x
        weight    sum these weights instead of counting the entries
        density   normalize the histogram to area 1

        >>> hist, edges = minigrad.tensor([1.0, 2.0, 2.5, 4.0]).histogram(2, range=(0, 4))
        >>> hist, edges
        (tensor([1., 3.]), tensor([0., 2., 4.]))
        """
        if self.dtype.kind != "f":
            raise wrong_kind("histogramdd", [torch_name(self.dtype)])
        weights = None if weight is None else seen(weight)
        for words, given in (("bins tensors", bins), ("weight tensor", weight)):
            if isinstance(given, Base) and given.dtype != self.dtype:
                what = f"input tensor and {words} should have the same dtype"
                raise RuntimeError(f"torch.histogramdd: {what}, but got {torch_name(self.dtype)} and {torch_name(given.dtype)}")
        if isinstance(bins, Base) and (bins.ndim != 1 or not bins.numel()):
            what = "have at least 1 element" if bins.ndim == 1 else "have one dimension"
            raise RuntimeError(f"torch.histogramdd: bins tensor should {what}, but got shape {list(bins.shape)}")
        x = seen(self)
        try:
            hist, edges = np.histogram(x, seen(bins) if hasattr(bins, "array") else edges_of(x, bins, range), None, density, weights)
        except ValueError as error:
            raise RuntimeError(f"torch.histogram(): {error}") from None
        return return_types.histogram(self._constant(hist.astype(self.dtype)), self._constant(edges.astype(self.dtype)))

    def bucketize(self, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Self:
        """For each entry, the index of its bucket: the number of boundaries below it.

        boundaries   a sorted vector
        right        put an entry that equals a boundary into the bucket above it
        out_int32    return int32 instead of int64

        >>> minigrad.tensor([0.5, 2.0, 9.0]).bucketize(minigrad.tensor([1.0, 2.0, 3.0]))
        tensor([0, 1, 3])
        """
        ndim = np.ndim(getattr(boundaries, "array", boundaries))
        if ndim != 1:
            raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({ndim})")
        return composites.insertion_points(boundaries, self, right, out_int32)

    def isin(self, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Self:
        """True where an entry of x is one of test_elements.

        invert          return True where it is none of them
        assume_unique   you promise that neither tensor has duplicate entries; this is faster

        >>> minigrad.tensor([1, 2, 3]).isin(minigrad.tensor([2, 5]))
        tensor([False,  True, False])
        """
        elements = np.asanyarray(seen(test_elements))
        for dtype in (self.array.dtype, elements.dtype):
            if dtype.kind not in "fiu":
                raise RuntimeError(f"Unsupported input type encountered for isin(): {torch_name(dtype)}")
        return self._constant(np.isin(seen(self), elements, assume_unique, invert))


def quantiles(x: R, q: Any, dim: int | None, keepdims: bool, interpolation: str, ignore_nan: bool) -> R:
    """Quantiles of all entries or along one axis. Several quantiles get a new first axis."""
    if dim is not None and x.ndim:
        return composites.quantile(x, normalize_one(dim, x.ndim), q, keepdims, interpolation, ignore_nan)
    z = composites.quantile(x.reshape(-1), 0, q, False, interpolation, ignore_nan)
    return z.reshape((*z.shape, *(1,) * x.ndim)) if keepdims else z


def slices(x: Base, dim: int) -> Array:
    """The slices of x along dim, one after the other. Raises RuntimeError if they have no entries to compare."""
    rows = np.moveaxis(seen(x), dim, 0)
    if rows.shape[0] and 0 in rows.shape[1:]:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    if rows.shape.count(0) > 1:
        raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied")
    return rows


def entries_at(x: Base, index: Array, dim: int | None) -> Any:
    """The entries of x at these positions, or its slices along dim. Their gradient flows back to x."""
    flat = ops.reshape.apply(x, shape=(-1,)) if dim is None else x
    return ops.index_select.apply(flat, index=index, axis=dim or 0)


def requested(z: Base, *others: Array | None) -> Any:
    """z and those of the indices and counts that are not None, as a tuple of tensors; z alone if there are none."""
    arrays = [a for a in others if a is not None]
    return (z, *map(z._index_tensor, arrays)) if arrays else z


def checked_weights(name: str, w: Base | None, n: int, kinds: str, words: str) -> None:
    """Check the weights of cov: one for each of n observations, of the right dtype, and none negative."""
    if w is None:
        return
    if w.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions")
    if w.dtype.kind not in kinds:
        raise RuntimeError(f"cov(): expected {name} to have {words} dtype but got {name} with {w.dtype} dtype")
    if w.numel() != n:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but got {w.numel()} != {n}")
    if n and w.array.min() < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")


def edges_of(x: Array, bins: int, ends: tuple[float, float] | None) -> Array:
    """The edges of so many equal bins between the ends, or those of x."""
    first, last = ends or ((x.min(), x.max()) if x.size else (0, 1))
    if not np.isfinite((first, last)).all():
        raise RuntimeError(f"histogram: range [{first}, {last}] is not finite: does x contain NaN or infinity?")
    if first == last:
        first, last = first - 0.5, last + 0.5
    if as_int(bins, "bins") <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins}")
    if first > last:
        raise RuntimeError(f"torch.histogram(): min should not exceed max, but got min {first} max {last}")
    return evenly_spaced(first, last, bins + 1, x.dtype).astype(x.dtype)
