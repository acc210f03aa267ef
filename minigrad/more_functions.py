"""More of the methods as functions, and functions that coursework calls now and then.

`minigrad.lgamma(x)` is `x.lgamma()`, as in functions.py.
"""

from typing import Any

from minigrad import functions
from minigrad.functions import function, stack
from minigrad.linalg import multi_dot, solve_triangular
from minigrad.methods import ArrayMethods as M
from minigrad.return_types import return_type
from minigrad.shapes import normalize_one
from minigrad.tensor import Tensor

lgamma = function(M.lgamma)
digamma = function(M.digamma)
erfinv = function(M.erfinv)
mvlgamma = function(M.mvlgamma)
logaddexp2 = function(M.logaddexp2)
hardshrink = function(M.hardshrink)
gcd = function(M.gcd)
lcm = function(M.lcm)
ldexp = function(M.ldexp)
frexp = function(M.frexp)
renorm = function(M.renorm)
as_strided = function(M.as_strided)
svd = function(M.svd)
pinverse = function(M.pinverse)
matrix_exp = function(M.matrix_exp)
real = function(lambda self: self.real)
conj = function(M.conj)
real.__name__ = "real"

gcd_ = function(M.gcd_)
lcm_ = function(M.lcm_)
ldexp_ = function(M.ldexp_)
sinc_ = function(M.sinc_)
frac_ = function(M.frac_)
fix_ = function(M.fix_)
logit_ = function(M.logit_)
negative_ = function(M.negative_)
deg2rad_ = function(M.deg2rad_)
rad2deg_ = function(M.rad2deg_)
nan_to_num_ = function(M.nan_to_num_)
arccos_, arcsin_, arctan_ = function(M.arccos_), function(M.arcsin_), function(M.arctan_)
triangular_solution = return_type("triangular_solve", "solution", "cloned_coefficient")


def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma, which is the derivative of lgamma."""
    z: Tensor = input.polygamma(n)
    return z


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like the input, with this value everywhere."""
    return input.clone().fill_(value)


def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of all matrices, in the order of least work. See linalg.multi_dot."""
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices)


def gradient(
    input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The slope along each axis, by differences between the neighbors on both sides.

    spacing      between neighboring points: a number, or one for each axis; or their
                 coordinates, a vector for each axis
    dim          the axes; all, unless given
    edge_order   1: at the ends, the difference to the one neighbor; 2: a parabola through three

    >>> import minigrad
    >>> gradient(minigrad.tensor([0.0, 1.0, 4.0, 9.0]))
    (tensor([1., 2., 4., 5.]),)
    """
    axes = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    given = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(axes)
    if len(given) != len(axes):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(axes)}"
        )
    return tuple(
        _slope(input, normalize_one(axis, input.ndim), h, edge_order)
        for axis, h in zip(axes, given, strict=True)
    )


def _slope(x: Tensor, axis: int, h: Any, edge_order: int) -> Tensor:
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    n = x.shape[axis]
    if n < edge_order + 1:
        raise RuntimeError(
            "torch.gradient expected each dimension size to be at least edge_order+1"
        )
    x = x.movedim(axis, 0)
    column = [-1] + [1] * (x.ndim - 1)
    if isinstance(h, Tensor) and h.ndim:  # coordinates
        steps = h.diff().to(x.dtype).reshape(column)
    else:
        steps = x.new_ones(n - 1).reshape(column) * h
    rises = (x[1:] - x[:-1]) / steps
    a, b = steps[:-1], steps[1:]
    inner = (rises[:-1] * b + rises[1:] * a) / (a + b)
    first, last = rises[:1], rises[-1:]
    if edge_order == 2:
        first = first - (rises[1:2] - first) * a[:1] / (a[:1] + b[:1])
        last = last + (last - rises[-2:-1]) * b[-1:] / (a[-1:] + b[-1:])
    return functions.cat([first, inner, last]).movedim(0, axis)


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The x for which A @ x = B, where L is the Cholesky factor of A."""
    low = L.mT if upper else L
    return solve_triangular(low.mT, solve_triangular(low, B, upper=False), upper=True)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, from the Cholesky factor L of A."""
    return cholesky_solve(stack(list(L.new_ones(L.shape[-1]).diag())), L, upper)


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The x for which A @ x = b, of one triangle of A; and A itself. See linalg.solve_triangular."""
    left = A.mT if transpose else A
    z = solve_triangular(left, b, upper=upper != transpose, unitriangular=unitriangular)
    return triangular_solution(z, A)


def lstsq(*args: Any, **kwargs: Any) -> Any:
    """PyTorch has taken it away; this says what to use."""
    raise RuntimeError(
        "This function was deprecated since version 1.9 and is now removed. `torch.lstsq` is deprecated in "
        "favor of `torch.linalg.lstsq`: write  minigrad.linalg.lstsq(A, B).solution"
    )
