"""Further methods: what is asked for less often, most of it written in terms of the other chapters.

Where a function has no derivative worth the name (gcd, apply_), its result is a constant.
"""

import builtins
import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.methods.arrangement import Arrangement
from minigrad.methods.base import Base, Operand, sizes
from minigrad.methods.entries import Entries
from minigrad.methods.products import Products
from minigrad.methods.reductions import Reductions


class Further(Entries, Products, Reductions, Arrangement):
    """Functions of probability, whole numbers, memory by strides, and functions given by the caller."""

    __slots__ = ()

    def lgamma(self) -> Self: return ops.lgamma.apply(self)
    def lgamma_(self) -> Self: return self._write(ops.lgamma)
    def digamma(self) -> Self: return ops.digamma.apply(self)
    def digamma_(self) -> Self: return self._write(ops.digamma)
    def polygamma(self, n: int) -> Self: return ops.polygamma.apply(self, order=order(n))
    def polygamma_(self, n: int) -> Self: return self._write(ops.polygamma, order=order(n))
    def erfinv(self) -> Self: return ops.erfinv.apply(self)
    def erfinv_(self) -> Self: return self._write(ops.erfinv)
    def logaddexp2(self, other: Operand) -> Self: return ops.logaddexp2.apply(self, other)
    def mvlgamma(self, p: int) -> Self: return mvlgamma(self, p)
    def mvlgamma_(self, p: int) -> Self: return self.copy_(self.mvlgamma(p))
    def hardshrink(self, lambd: Any = 0.5) -> Self: return self.masked_fill(self._constant(np.abs(np.asanyarray(self.array)) <= lambd), 0)
    def prelu(self, weight: Self) -> Self: return ops.where.apply(self._constant(np.asanyarray(self.array) > 0), self, weight * self)
    def gcd(self, other: Self) -> Self: return whole(self, np.gcd, other)
    def gcd_(self, other: Self) -> Self: return self.copy_(self.gcd(other))
    def lcm(self, other: Self) -> Self: return whole(self, np.lcm, other)
    def lcm_(self, other: Self) -> Self: return self.copy_(self.lcm(other))
    def ldexp(self, other: Operand) -> Self: return self * 2.0**other
    def ldexp_(self, other: Operand) -> Self: return self.copy_(self.ldexp(other))
    def frexp(self) -> Any: return frexp(self)
    def renorm(self, p: Any, dim: int, maxnorm: Any) -> Self: return renorm(self, p, dim, maxnorm)
    def renorm_(self, p: Any, dim: int, maxnorm: Any) -> Self: return self.copy_(self.renorm(p, dim, maxnorm))
    def heaviside_(self, values: Operand) -> Self: return self.copy_(self.heaviside(values))
    def copysign_(self, other: Operand) -> Self: return self.copy_(self.copysign(other))
    def sinc_(self) -> Self: return self.copy_(self.sinc())
    def addr_(self, vec1: Self, vec2: Self, *, beta: Any = 1, alpha: Any = 1) -> Self: return self.copy_(self.addr(vec1, vec2, beta=beta, alpha=alpha))
    def ger(self, vec2: Self) -> Self: return self.outer(vec2)
    def as_strided(self, size: Any, stride: Any, storage_offset: Any = None) -> Self: return by_strides(self, size, stride, storage_offset)
    def svd(self) -> Any: return old_svd(self)
    def pinverse(self, rcond: Any = 1e-15) -> Self: return ops.pinv.apply(self, rcond=rcond)
    def matrix_exp(self) -> Self: return matrix_exp(self)
    def conj(self) -> Self: return self
    @property
    def real(self) -> Self: return self
    @property
    def is_cpu(self) -> Any: return True

    # ------------------------------------------------------------------ functions of the caller's

    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Put callable(entry) in the place of each entry: slow, and not recorded."""
        constant("apply_", self)
        entries = [callable(v) for v in self.array.ravel().tolist()]
        return self.copy_(self._constant(np.array(entries, self.dtype).reshape(self.shape)))

    def map_(self, other: Self, callable: Callable[[Any, Any], Any]) -> Self:
        """Put callable(entry, entry of other) in the place of each entry: slow, and not recorded."""
        constant("map_", self, other)
        pairs = zip(self.array.ravel().tolist(), np.broadcast_to(other.array, self.shape).ravel().tolist())
        entries = [callable(a, b) for a, b in pairs]
        return self.copy_(self._constant(np.array(entries, self.dtype).reshape(self.shape)))


def order(n: Any) -> int:
    """Which derivative of digamma is meant."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return int(n)


def mvlgamma(x: Any, p: int) -> Any:
    """The logarithm of the gamma function of p variables.

    Source: Ingham (1933); in densities of matrices, as Wishart's.
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    shifts = x._constant(np.arange(p) / -2).to(x.dtype if x.dtype.kind == "f" else np.float32)
    return ops.lgamma.apply(x.unsqueeze(-1) + shifts).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def whole(x: Any, function: Any, other: Any) -> Any:
    """A function of whole numbers."""
    if x.dtype.kind not in "iu" or other.dtype.kind not in "iu":
        raise NotImplementedError(f'"{function.__name__}_cpu" not implemented for {str(x.dtype)!r}: it takes whole numbers.')
    return x._constant(function(x.array, other.array))


def frexp(x: Any) -> Any:
    """x as mantissa * 2**exponent, with a mantissa between 1/2 and 1."""
    from minigrad.return_types import frexp as pair

    if x.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    exponent = np.frexp(x.array)[1]
    return pair(x * x._constant(np.ldexp(np.ones((), x.dtype), -exponent)), x._constant(exponent))


def renorm(x: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """The parts along dim, shortened to the length maxnorm where they are longer."""
    axis = dim + x.ndim if dim < 0 else dim
    norms = x.norm(p, [k for k in range(x.ndim) if k != axis], keepdim=True)
    long = x._constant(np.asanyarray(norms.array) > maxnorm)
    return x * ops.where.apply(long, maxnorm / (norms + 1e-7), x._constant(np.ones((), x.dtype)))


def by_strides(x: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    """The memory of x, read with other strides."""
    size, stride = sizes((tuple(size),)), sizes((tuple(stride),))
    start = x.storage_offset() if storage_offset is None else storage_offset
    base: Any = getattr(x, "_base", None)
    whole = base is None or (x.is_contiguous() and x.numel() == base.numel())
    memory: Any = x if whole else base  # a dual number is a view of all of its base, and has the tangent
    if not memory.is_contiguous():
        raise RuntimeError("as_strided: this tensor's memory is not in order. To mend it, use x.contiguous() first.")
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    last = start + builtins.sum((n - 1) * s for n, s in zip(size, stride))
    if 0 not in size and (last >= memory.numel() or start < 0 or min(stride, default=0) < 0):
        width = x.dtype.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize {width} "
            f"requiring a storage size of {(last + 1) * width} are out of bounds for storage of size {memory.numel() * width}"
        )
    return ops.as_strided.apply(memory.view(-1), size=size, stride=stride, offset=start)


def old_svd(x: Any) -> Any:
    """torch.svd: U, S and V, where linalg.svd gives V transposed."""
    from minigrad.return_types import svd

    return svd(ops.left_vectors.apply(x), ops.singular_values.apply(x), ops.right_vectors.apply(x).mT)


def matrix_exp(x: Any) -> Any:
    """1 + x + x @ x / 2! + x @ x @ x / 3! + ...

    x is halved until its norm is below 1/2, where 18 terms are enough, and the result squared as
    often. Source: Moler and Van Loan, Nineteen dubious ways to compute the exponential (1978).
    """
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise RuntimeError(f"linalg.matrix_exp: A must be batches of square matrices, but they are {' by '.join(map(str, x.shape[-2:]))} matrices")
    length = float(np.abs(x.array).sum(-1).max(initial=0))
    halvings = max(0, math.ceil(math.log2(length)) + 1) if length > 0.5 and math.isfinite(length) else 0
    y = x / 2**halvings
    one = x._constant(np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape).copy())
    z = one + y / 18
    for k in range(17, 0, -1):  # Horner's rule
        z = one + y @ z / k
    for _ in range(halvings):
        z = z @ z
    return z


def constant(name: str, *tensors: Any) -> None:
    if any(isinstance(x, Base) and x.requires_grad for x in tensors):  # type: ignore[attr-defined]
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
