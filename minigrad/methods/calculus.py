"""Numerical derivatives (finite differences) and integrals (trapezoidal rule) of sampled functions."""

from collections.abc import Sequence

from minigrad.core.dtypes import promote_types
from minigrad.core.shapes import Dim, normalize_axes, normalize_one
from minigrad.core.tensor import Tensor
from minigrad.methods.arguments import takes_tensors
from minigrad.methods.functions import cat
from minigrad.ops.composites import named


@takes_tensors
def gradient(input: Tensor, *, spacing: float | Tensor | Sequence[float | Tensor] = 1, dim: Dim = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The numerical derivative along each axis, from the differences between neighbors (central differences).

    spacing      between neighboring points: a number, or one for each axis; or their
                 coordinates, a vector for each axis
    dim          the axes; by default all of them
    edge_order   the formula at the ends. 1: the difference to the only neighbor; 2: a parabola through three points

    >>> import minigrad
    >>> gradient(minigrad.tensor([0.0, 1.0, 4.0, 9.0]))
    (tensor([1., 2., 4., 5.]),)
    """
    spacing = 1 if spacing is None else spacing
    axes = normalize_axes(dim, input.ndim)
    given = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(axes)
    if len(given) != len(axes):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(axes)}")
    return tuple(_slope(input, axis, h, edge_order) for axis, h in zip(axes, given, strict=True))


def _slope(x: Tensor, axis: int, h: float | Tensor, edge_order: int) -> Tensor:
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    n = x.shape[axis]
    if n < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    x = x.movedim(axis, 0)
    column = [-1] + [1] * (x.ndim - 1)
    if isinstance(h, Tensor) and h.ndim:  # coordinates
        steps = h.diff().reshape(column)
        x = x.to(promote_types(x.dtype, h.dtype))
    else:
        steps = x.new_ones(n - 1).reshape(column) * h
    slopes = (x[1:] - x[:-1]) / steps
    a, b = steps[:-1], steps[1:]
    if isinstance(h, Tensor) and h.ndim:
        inner = (slopes[:-1] * b + slopes[1:] * a) / (a + b)
    else:  # equivalent, but does not use the middle entry, which may be infinite
        inner = (x[2:] - x[:-2]) / (a + b)
    first, last = slopes[:1], slopes[-1:]
    if edge_order == 2:
        first = first - (slopes[1:2] - first) * a[:1] / (a[:1] + b[:1])
        last = last + (last - slopes[-2:-1]) * b[-1:] / (a[-1:] + b[-1:])
    return cat([first, inner, last]).movedim(0, axis)


@takes_tensors
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integral of y along dim, by the trapezoidal rule. x holds the sample points; without it, they are dx apart.

    >>> trapezoid(minigrad.tensor([0.0, 2.0, 4.0]), dx=0.5)
    tensor(2.)
    """
    return named(_trapezoids("trapezoid", y, x, dx, dim).sum(dim), "MulBackward1" if x is None else "DivBackward1")


trapz = trapezoid


@takes_tensors
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The cumulative integral: like trapezoid, up to each sample point except the first.

    >>> cumulative_trapezoid(minigrad.tensor([0.0, 2.0, 4.0]))
    tensor([1., 4.])
    """
    return named(_trapezoids("cumulative_trapezoid", y, x, dx, dim).cumsum(dim), "CumsumBackward0" if x is None else "DivBackward1")


def _trapezoids(function: str, y: Tensor, x: Tensor | None, dx: float | None, dim: int) -> Tensor:
    n = y.size(dim)
    for name, given in (("y", y), ("x", x)):
        if given is not None and given.dtype.kind == "b":
            raise RuntimeError(f"{function}: received a bool input for `{name}`, but bool is not supported. To fix it, use {name}.long().")
    if not n:
        return y
    dim = normalize_one(dim, y.ndim)
    averages = (y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)) / 2
    if x is None:
        return averages * (1 if dx is None else dx)
    if x.ndim == 1:
        if len(x) != n:
            raise RuntimeError(f"{function}: There must be one `x` value for each sample point: {n}, but x has {len(x)}")
        x = x.reshape([-1 if i == dim else 1 for i in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.reshape((1,) * (y.ndim - x.ndim) + tuple(x.shape))
    return averages * x.diff(1, dim)
