"""Products of vectors and matrices."""

import builtins
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Self, TypeVar

import numpy as np

from minigrad import ops, return_types
from minigrad.core import modes
from minigrad.core.dtypes import torch_name
from minigrad.core.errors import LinAlgError, NotForDtype, warn_user
from minigrad.core.modes import seen
from minigrad.core.op import Op
from minigrad.core.shapes import Array, Several, normalize_axes, normalize_one, surely
from minigrad.methods.arrangement import Arrangement
from minigrad.methods.base import Base, T, scaled
from minigrad.ops.composites import level, named
from minigrad.ops.matrices import factored

F = TypeVar("F", bound=Callable[..., Any])


def factors_first(method: F) -> F:
    """Let the method also accept the deprecated x.addmm(beta, alpha, a, b) and x.addmm(beta, a, b)."""

    @wraps(method)
    def called(self: Any, *args: Any, **settings: Any) -> Any:
        if len(args) in (3, 4) and not settings and isinstance(args[-2], Base):
            name, (*numbers, a, b) = method.__name__, args
            if getattr(numbers[0], "ndim", 0):  # minigrad.addmm(beta, x, alpha, a, b)
                self, numbers[0] = numbers[0], self
            if any(getattr(v, "ndim", 0) for v in numbers):
                raise TypeError(f"{name}() takes 2 positional arguments but {len(args)} were given")
            warn_user(f"This overload of {name} is deprecated. Consider using instead: {name}(a, b, *, beta=..., alpha=...)")
            values = [v.item() if hasattr(v, "item") else v for v in numbers]
            settings, args = dict(zip(("beta", "alpha"), values)), (a, b)
        return method(self, *args, **settings)

    return called  # type: ignore[return-value]


class Products(Arrangement):
    """Methods for products of vectors and matrices, and matrix decompositions."""

    __slots__ = ()

    def mm(self, mat2: Self) -> Self:
        """The matrix product: (n, k) times (k, m) gives (n, m).

        Raises RuntimeError for other shapes. x @ y also multiplies vectors and batches of matrices.

        >>> x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.mm(minigrad.eye(2) * 10)
        tensor([[10., 20.],
                [30., 40.]])
        """
        return ops.mm.apply(*matrices("mm", self, mat2, 2, 2))

    def bmm(self, mat2: Self) -> Self:
        """The batch matrix product: (b, n, k) times (b, k, m) gives (b, n, m).

        >>> minigrad.ones(3, 2, 4).bmm(minigrad.ones(3, 4, 5)).shape
        minigrad.Size([3, 2, 5])
        """
        return ops.bmm.apply(*matrices("bmm", self, mat2, 3, 3))

    def mv(self, vec: Self) -> Self:
        """The matrix-vector product: (n, k) times (k,) gives (n,).

        >>> minigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).mv(minigrad.tensor([1.0, 10.0]))
        tensor([21., 43.])
        """
        return ops.mv.apply(*matrices("mv", self, vec, 2, 1))

    def dot(self, tensor: Self) -> Self:
        """The dot product of two vectors of the same length: a tensor without axes.

        >>> minigrad.tensor([1.0, 2.0]).dot(minigrad.tensor([3.0, 4.0]))
        tensor(11.)
        """
        return ops.dot.apply(*matrices("dot", self, tensor, 1, 1))

    def outer(self, vec2: Self) -> Self:
        """The outer product of two vectors, the matrix of x[i] * vec2[j]: (n,) and (m,) give (n, m).

        >>> minigrad.tensor([1, 2]).outer(minigrad.tensor([10, 20, 30]))
        tensor([[10, 20, 30],
                [20, 40, 60]])
        """
        if self.ndim != 1 or vec2.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument self, but got {self.ndim}-D and {vec2.ndim}-D")
        return ops.mul.apply(ops.unsqueeze.apply(self, axis=1), vec2)

    def inner(self, other: Self) -> Self:
        """The sum of products over the last axis of both tensors: (..., n) and (---, n) give (..., ---).

        For vectors, this is the dot product. A single number is multiplied with each entry.

        >>> minigrad.tensor([[1, 2], [3, 4]]).inner(minigrad.tensor([10, 1]))
        tensor([12, 34])
        """
        if not self.ndim or not other.ndim:
            return ops.mul.apply(self, other)
        if self.array.shape[-1] != other.array.shape[-1]:
            raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {list(self.shape)} and {list(other.shape)}")
        return tensordot(self, other, ([-1], [-1]))

    def tensordot(self, other: Self, dims: Several | Sequence[Sequence[int]] = 2) -> Self:
        """The sum of products over pairs of axes. The remaining axes of x come first, then those of other.

        dims   the number of axes: the last ones of x with the first ones of other; or two lists of axes, paired in order
        dims=1 is the matrix product, dims=0 the outer product.

        >>> x, y = minigrad.ones(2, 3, 4), minigrad.ones(4, 3, 5)
        >>> x.tensordot(y, dims=([1, 2], [1, 0])).shape
        minigrad.Size([2, 5])
        """
        return tensordot(self, other, dims)

    def vdot(self, other: Self) -> Self:
        """The dot product of conj(x) and other, two vectors of the same length. For real numbers, this is x.dot(other).

        >>> minigrad.tensor([1, 2]).vdot(minigrad.tensor([3, 4]))
        tensor(11)
        """
        x, y = matrices("vdot", self, other, 1, 1)
        return named(ops.dot.apply(x.conj(), y), "VdotBackward0")

    def cross(self, other: Self, dim: int | None = None) -> Self:
        """The cross product of the vectors along dim, which must have size 3. It is orthogonal to both.

        Without dim, it uses the first axis of size 3, and warns. The other axes are broadcast.

        >>> minigrad.tensor([1, 0, 0]).cross(minigrad.tensor([0, 1, 0]), dim=0)
        tensor([0, 0, 1])
        """
        if dim is None:
            warn_user("Using torch.cross without specifying the dim arg is deprecated. To fix it, pass dim, or use torch.linalg.cross.")
            if 3 not in self.shape:
                raise RuntimeError("no dimension of size 3 in input")
            dim = self.shape.index(3)
        if self.ndim != other.ndim:
            raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
        axis = normalize_one(dim, self.ndim)
        if self.array.shape[axis] != 3 or other.array.shape[axis] != 3:
            raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[axis]} and {other.shape[axis]}")
        return ops.cross.apply(self, other, axis=axis)

    def kron(self, other: Self) -> Self:
        """The Kronecker product: each entry of x times all of other, arranged as blocks.

        The sizes multiply: (n, m) and (k, l) give (n * k, m * l).

        >>> minigrad.tensor([[1, 2]]).kron(minigrad.tensor([[1, 1], [0, 1]]))
        tensor([[1, 1, 2, 2],
                [0, 1, 0, 2]])
        """
        for name, z in (("self", self), ("other", other)):
            if not isinstance(z, Base):
                raise TypeError(f"kron(): argument '{name}' must be Tensor, not {type(z).__name__}")
        a, b = self.array.shape, other.array.shape
        n = max(len(a), len(b))
        a, b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
        shapes = tuple([m for k in a for m in (k, 1)]), tuple([m for k in b for m in (1, k)])
        whole = ops.reshape.apply(self, shape=shapes[0]) * ops.reshape.apply(other, shape=shapes[1])
        return ops.unsafe_view.apply(whole, shape=tuple([i * j for i, j in zip(a, b)]))

    def det(self) -> Self:
        """The determinant of a square matrix, or of each matrix in a batch (..., n, n). The result has shape x.shape[:-2].

        >>> minigrad.tensor([[1.0, 2.0], [3.0, 5.0]]).det().round()
        tensor(-1.)
        """
        return ops.det.apply(checked_square("det", self))

    def slogdet(self) -> return_types.slogdet:
        """A tuple (sign, logabsdet): the sign of the determinant and the logarithm of its absolute value.

        x is a square matrix or a batch of them: (..., n, n). Use it where det() would overflow.

        >>> sign, logabsdet = minigrad.tensor([[0.0, 1.0], [1.0, 0.0]]).slogdet()
        >>> sign, logabsdet
        (tensor(-1.), tensor(0.))
        """
        x: Any = checked_square("slogdet", self)
        return return_types.slogdet(ops.determinant_sign.apply(x), ops.logabsdet.apply(x))

    def logdet(self) -> Self:
        """The logarithm of the determinant of a square matrix or a batch of them. NaN if the determinant is negative.

        >>> minigrad.tensor([[1.0, 5.0], [0.0, 1.0]]).logdet()
        tensor(0.)
        """
        sign, z = self.slogdet()
        if sign.dtype.kind == "c":
            return z + sign.log()
        return named(z if surely((sign.array >= 0).all()) else z.masked_fill(sign < 0, np.nan), "WhereBackward0")

    def inverse(self) -> Self:
        """The inverse of a square matrix, or of each matrix in a batch.

        Raises LinAlgError for a singular matrix. To solve equations, linalg.solve is faster and more accurate.

        >>> minigrad.tensor([[2.0, 0.0], [0.0, 4.0]]).inverse()
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
        """
        why = "linalg.inv: {}The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
        return decomposed(ops.inverse, why, first_dependent, checked_square("inv", self))

    def cholesky(self, upper: bool = False) -> Self:
        """The Cholesky factor of x. Deprecated: use linalg.cholesky.

        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     minigrad.tensor([[4.0, 2.0], [2.0, 5.0]]).cholesky()
        tensor([[2., 0.],
                [1., 2.]])
        """
        warn_user(
            "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
            "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
            "should be replaced with\nU = torch.linalg.cholesky(A).mH\n"
            "This transform will produce equivalent results for all valid (symmetric positive definite) inputs."
        )
        return self._cholesky(upper)

    def _cholesky(self, upper: bool = False) -> Self:
        """The Cholesky factor of x: the lower triangular matrix L with x = L @ L.T.

        upper   return L.T instead

        Raises LinAlgError unless x is positive definite. x must be symmetric, of shape (..., n, n).

        >>> minigrad.linalg.cholesky(minigrad.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
        """
        why = "linalg.cholesky: {}The factorization could not be completed because the input is not positive-definite (the leading minor of order {} is not positive-definite)."
        z = decomposed(ops.cholesky, why, first_indefinite, one_triangle(checked_square("cholesky", self), "U" if upper else "L"))
        return named(ops.transpose.apply(z.conj(), dim0=z.ndim - 2, dim1=z.ndim - 1), "LinalgCholeskyExBackward0") if upper else z

    def matrix_power(self, n: int) -> Self:
        """The matrix power x @ x @ ... @ x, with n factors, of a square matrix or a batch of them.

        n = 0 gives the identity. A negative n gives a power of the inverse.

        >>> minigrad.tensor([[1.0, 1.0], [0.0, 1.0]]).matrix_power(5)
        tensor([[1., 5.],
                [0., 1.]])
        """
        x: Any = checked_square("matrix_power", self)
        if n < 0:
            return x.inverse().matrix_power(-n)
        if n == 0:
            return level(x, identities(x))
        if n == 1:
            return x.clone()
        half = x.matrix_power(n // 2)
        return half @ half @ x if n % 2 else half @ half

    def trace(self) -> Self:
        """The trace of a matrix (the sum of its diagonal): a tensor without axes.

        >>> minigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).trace()
        tensor(5.)
        """
        if self.ndim != 2:
            raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
        return ops.trace.apply(self)

    @factors_first
    def addmm(self, mat1: Self, mat2: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta * x + alpha * (mat1 @ mat2), for matrices. x is broadcast to the product's shape.

        >>> minigrad.ones(2).addmm(minigrad.eye(2), minigrad.eye(2), alpha=10)
        tensor([[11.,  1.],
                [ 1., 11.]])
        """
        return ops.addmm.apply(self, *matrices("addmm", mat1, mat2, 2, 2), beta=beta, alpha=alpha)

    @factors_first
    def addmv(self, mat: Self, vec: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta * x + alpha * (mat @ vec), for a matrix and a vector. x is broadcast to the product's shape.

        >>> minigrad.ones(2).addmv(minigrad.eye(2), minigrad.tensor([1.0, 2.0]))
        tensor([2., 3.])
        """
        return ops.addmv.apply(self, *matrices("addmv", mat, vec, 2, 1), **factors(self, beta, alpha))

    @factors_first
    def baddbmm(self, batch1: Self, batch2: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta * x + alpha * (batch1 @ batch2), for batches of matrices. x is broadcast to the product's shape.

        >>> minigrad.ones(1).baddbmm(minigrad.ones(3, 1, 2), minigrad.ones(3, 2, 1)).shape
        minigrad.Size([3, 1, 1])
        """
        return ops.baddbmm.apply(self, *matrices("baddbmm", batch1, batch2, 3, 3), **factors(self, beta, alpha))

    @factors_first
    def addbmm(self, batch1: Self, batch2: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta * x + alpha * (the sum of batch1 @ batch2 over the batch).

        batch1   (b, n, k)      batch2   (b, k, m)      x   broadcast to (n, m)
        With beta=0, x is ignored, even if it is NaN.

        >>> minigrad.zeros(2, 2).addbmm(minigrad.ones(3, 2, 4), minigrad.ones(3, 4, 2))
        tensor([[12., 12.],
                [12., 12.]])
        """
        product, by = ops.bmm.apply(*matrices("addbmm", batch1, batch2, 3, 3)), factors(self, beta, alpha)
        return named(weighted_sum(self, by["beta"], product.sum(0, dtype=product.dtype), by["alpha"]), "AddbmmBackward0")

    @factors_first
    def addr(self, vec1: Self, vec2: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta * x + alpha * vec1.outer(vec2), for x broadcast to (n, m).

        >>> minigrad.ones(2, 2).addr(minigrad.tensor([1.0, 2.0]), minigrad.tensor([1.0, 3.0]))
        tensor([[2., 4.],
                [3., 7.]])
        """
        return named(weighted_sum(self, beta, vec1.outer(vec2), alpha), "AddrBackward0")

    def svd(self, some: bool = True, compute_uv: bool = True) -> Any:
        """The singular value decomposition (U, S, V): x = U @ S.diag() @ V.T, with S in descending order.

        some         False: U and V are square
        compute_uv   False: compute only S, and return zeros for U and V
        linalg.svd returns the transpose of V instead.

        >>> U, S, V = minigrad.tensor([[0.0, 2.0], [3.0, 0.0]]).svd()
        >>> S.round()
        tensor([3., 2.])
        """
        checked_square("svd", self, must=False)
        if not compute_uv:
            u, v = (self.new_zeros(*self.shape[:-2], n, n) for n in self.shape[-2:])
            return return_types.svd(u, ops.singular_values.apply(self), v)
        return return_types.svd(*svd_of(self, not some))

    def lu(self, pivot: bool = True, get_infos: bool = False) -> Any:
        """L and U in one matrix, and the pivots: see linalg.lu_factor. Deprecated: use linalg.lu_factor or linalg.lu.

        get_infos   add for each matrix the number of the first zero on U's diagonal, or 0 if there is none

        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"): LU, pivots = minigrad.eye(2).lu()
        >>> pivots
        tensor([1, 2], dtype=minigrad.int32)
        """
        warn_user("torch.lu is deprecated in favor of torch.linalg.lu_factor and will be removed in a future PyTorch release.")
        LU, pivots = factored_by_rows("lu_factor", self, pivot)
        if not get_infos:
            return LU, pivots
        zero = np.diagonal(LU.array, axis1=-2, axis2=-1) == 0
        infos = np.where(zero.any(-1), zero.argmax(-1) + 1, 0).astype(np.int32)
        return LU, pivots, self._constant(infos)

    def pinverse(self, rcond: float = 1e-15) -> Self:
        """The Moore-Penrose pseudoinverse of a matrix or a batch of them: (..., n, m) gives (..., m, n).

        For an invertible matrix, this is the inverse. Singular values below rcond times the largest count as 0.

        >>> minigrad.tensor([[3.0], [4.0]]).pinverse()
        tensor([[0.1200, 0.1600]])
        """
        return ops.linalg_pinv.apply(checked_square("pinv", self, must=False), rcond=rcond)

    def matrix_exp(self) -> Self:
        """The matrix exponential of a square matrix or a batch of them: 1 + x + x @ x / 2! + ...

        This is not x.exp(), which is elementwise.

        >>> minigrad.tensor([[0.0, 1.0], [0.0, 0.0]]).matrix_exp()
        tensor([[1., 1.],
                [0., 1.]])
        """
        return ops.matrix_exp.apply(checked_square("matrix_exp", self))


def identities(x: T) -> T:
    """An identity matrix for each square matrix in x."""
    return x._constant(np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape).copy())


def factors(x: Base, beta: float, alpha: float) -> dict[str, Any]:
    """beta and alpha as settings for the op. For integer tensors, they are truncated to integers."""
    if x.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    return {"beta": beta, "alpha": alpha}


def weighted_sum(x: Any, beta: Any, y: Any, alpha: Any) -> Any:
    """beta * x + alpha * y, with x broadcast. If beta is 0, x is ignored, even if it is NaN."""
    y = scaled(y, alpha)
    return y if not isinstance(beta, Base) and beta == 0 else scaled(x, beta, called="beta") + y


OF_PRODUCTS = ("matrix_exp", "matrix_norm", "matrix_power")  # for these, NumPy's decompositions are not needed


def checked_square(name: str, x: T, must: bool = True) -> T:
    """x, after checking that it holds square matrices (unless must=False) of floats."""
    shape = x.array.shape
    if len(shape) < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if must and shape[-1] != shape[-2]:
        raise RuntimeError(f"linalg.{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices")
    if x.dtype == np.float16 and name not in OF_PRODUCTS:
        raise NotForDtype(f"linalg.{name}: Low precision dtypes not supported. Got Half. To fix it, use x.float().")
    if x.dtype.kind not in "fc" and name != "matrix_power":
        raise RuntimeError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {torch_name(x.dtype)}. To fix it, use x.float().")
    return x


def decomposed(op: Op, why: str, problem: Callable[[Any], int], A: Base, *operands: Base) -> Any:
    """The op's result. If NumPy fails, raise LinAlgError with PyTorch's message.

    why       the message, with placeholders for the batch entry and for the row
    problem   a function from a matrix to the number of the row where it fails, or 0 if it does not
    """
    try:
        return op.apply(A, *operands)
    except RuntimeError as error:
        if not any(word in str(error) for word in ("Singular", "definite", "converge")):
            raise
    rows = [problem(a) for a in stacked(A.array)]
    at = builtins.next((k for k, row in enumerate(rows) if row), 0)
    raise LinAlgError(why.format(f"(Batch element {at}): " if A.ndim > 2 else "", rows[at]))


def stacked(a: Array) -> Array:
    """A batch of matrices with a single batch axis, of size 1 for a single matrix."""
    return a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])


def eliminated(a: Array) -> tuple[Array, Array]:
    """Gaussian elimination with pivoting: L below the diagonal, U on and above it, and the row exchanged with each."""
    u, pivots = a.copy(), []
    for k in range(builtins.min(u.shape)):
        pivot = k + int(np.abs(u[k:, k]).argmax())
        u[[k, pivot]] = u[[pivot, k]]
        pivots.append(pivot + 1)
        if u[k, k]:
            u[k + 1 :, k] /= u[k, k]
            u[k + 1 :, k + 1 :] -= np.outer(u[k + 1 :, k], u[k, k + 1 :])
    return u, np.array(pivots, np.int32)


def first_dependent(a: Any) -> int:
    """The number of the first row whose pivot is 0 in Gaussian elimination with pivoting; 0 for an invertible matrix."""
    try:
        np.linalg.inv(a)
    except np.linalg.LinAlgError:
        zeros = np.flatnonzero(np.diagonal(eliminated(a)[0]) == 0)
        return int(zeros[0]) + 1 if len(zeros) else len(a)
    return 0


def factored_by_rows(name: str, x: Any, pivot: bool) -> tuple[Any, Any]:
    """L and U in one tensor, and the pivots, of each matrix of x. They have no gradient."""
    checked_square(name, x, must=False)
    if not pivot:
        raise RuntimeError(f"linalg.{name}: LU without pivoting is not implemented on the CPU")
    if x.requires_grad and modes.is_grad_enabled():
        raise RuntimeError(
            f"linalg.{name}: minigrad has no gradient of L and U. To fix it, use linalg.solve or slogdet, or pass A.detach()."
        )
    pairs = [eliminated(a) for a in stacked(x.detach().numpy())]
    pivots = np.array([p for _, p in pairs], np.int32).reshape(*x.shape[:-2], builtins.min(x.shape[-2:]))
    return x._constant(np.array([u for u, _ in pairs], x.dtype).reshape(x.shape)), x._constant(pivots)


def first_indefinite(a: Any) -> int:
    """The order of the first leading minor that is not positive definite; 0 if there is a Cholesky factor."""

    def fails(block: Any) -> bool:
        try:
            factored(block)  # type: ignore[no-untyped-call]
        except (np.linalg.LinAlgError, LinAlgError):
            return True
        return False

    sizes = range(1, len(a) + 1)  # if a block fails, so do all larger blocks
    return 1 + bisect_left(sizes, True, key=lambda n: fails(a[:n, :n])) if fails(a) else 0


def matrices(name: str, x: Base, y: Base, x_ndim: int, y_ndim: int) -> tuple[Any, Any]:
    """The two factors, after checking that their shapes fit this product."""
    if x.ndim != x_ndim or y.ndim != y_ndim:
        if y_ndim == 1 and x_ndim == 1:
            raise RuntimeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors: {name} of shapes {tuple(x.shape)} and {tuple(y.shape)}. For the product of matrices, write  x @ y.")
        words = {1: "vector", 2: "matrix", 3: "3D tensor"}
        if name == "mv":
            raise RuntimeError(f"vector + matrix @ vector expected, got 1, {x.ndim}, {y.ndim}: mv of shapes {tuple(x.shape)} and {tuple(y.shape)}.")
        both = ("batch1", "batch2") if name == "bmm" else ("self", "mat2")
        which = (both[0], x_ndim, x) if x.ndim != x_ndim else (both[1], y_ndim, y)
        raise RuntimeError(
            f"{name}: {which[0]} must be a {words[which[1]]}, {which[1]}D tensor expected, but got a {which[2].ndim}D tensor of shape {tuple(which[2].shape)}."
        )
    if x_ndim == y_ndim == 1 and x.dtype != y.dtype:
        raise RuntimeError(f"{name} : expected both vectors to have same dtype, but found {torch_name(x.dtype)} and {torch_name(y.dtype)}. To fix it, convert one, like x.to(y.dtype).")
    if x_ndim == y_ndim == 1 and x.array.shape != y.array.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{x.numel()}] and src [{y.numel()}] to have the same number of elements, but got {x.numel()} and {y.numel()} elements respectively")
    if x_ndim == 3 and x.array.shape[0] != y.array.shape[0]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] but got: [{y.shape[0]}, {y.shape[1]}].")
    return x, y


def tensordot(a: Any, b: Any, dims: Several | Sequence[Sequence[int]] = 2) -> Any:
    """The sum of products over pairs of axes of a and b, computed as one matrix product of rearranged arrays."""
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims >= 0 and not more than the axes of a or b, but got dims={dims}")
        dims = (range(a.ndim - dims, a.ndim), range(dims))
    if not isinstance(dims, (tuple, list)) or len(dims) != 2:
        raise RuntimeError(f"tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got dims={dims}")
    of_a, of_b = contracted(a, dims[0]), contracted(b, dims[1])
    if len(of_a) != len(of_b):
        raise RuntimeError("both dimension lists should have same length")
    of_each = [(a.array.shape[i], b.array.shape[j]) for i, j in zip(of_a, of_b)]
    for i, j, (n, m) in zip(of_a, of_b, of_each):
        if n == m:
            continue
        if m == 1:  # broadcast: each entry of a is multiplied by the same one
            a = ops.sum.apply(a, axis=i, keepdims=True)
        elif n == 1:
            b = ops.sum.apply(b, axis=j, keepdims=True)
        else:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {n} in dim {i} and second has size {m} in dim {j}")
    left = [i for i in range(a.array.ndim) if i not in of_a]
    right = [j for j in range(b.array.ndim) if j not in of_b]
    rows, columns = [a.array.shape[i] for i in left], [b.array.shape[j] for j in right]
    a, b = ops.permute.apply(a, dims=(*left, *of_a)), ops.permute.apply(b, dims=(*of_b, *right))
    n = math.prod([min(pair) for pair in of_each])
    a = ops.reshape.apply(a, shape=(math.prod(rows), n))
    b = ops.reshape.apply(b, shape=(n, math.prod(columns)))
    return ops.reshape.apply(ops.mm.apply(a, b), shape=(*rows, *columns))


def contracted(x: Any, axes: Any) -> tuple[int, ...]:
    """The axes of x that tensordot sums over: one, or several in a list or tensor."""
    axes = axes.tolist() if hasattr(axes, "tolist") else axes
    return normalize_axes(axes, x.ndim) if isinstance(axes, int) or len(axes) else ()


def svd_of(x: T, full: bool) -> tuple[T, T, T]:
    """u, s and v with x = u @ diag(s) @ vᵀ. If full, u and v are square."""
    u, v = ops.left_vectors.apply(x), ops.right_vectors.apply(x)
    if full and x.shape[-1] != x.shape[-2]:
        whole, _, vt = np.linalg.svd(seen(x))
        u, v = (completed(thin, basis) for thin, basis in ((u, whole), (v, np.swapaxes(vt, -1, -2))))
    return u, ops.singular_values.apply(x), v


def completed(thin: T, basis: Array) -> T:
    """`thin`, extended by the remaining columns of `basis`."""
    k = thin.shape[-1]
    return ops.cat(thin, thin._constant(basis[..., k:].copy()), axis=thin.ndim - 1) if basis.shape[-1] > k else thin


def one_triangle(x: Any, which: str) -> Any:
    """Symmetric (if complex, Hermitian) matrices made from the lower ("L") or upper ("U") triangle of x.

    The other triangle is ignored. The gradient is the one for a full matrix, as in PyTorch.
    """
    if which not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {which}")
    array, rows = seen(x), np.arange(x.array.shape[-1])
    inside = rows[:, None] >= rows
    whole = np.where(inside if which in "Ll" else inside.T, array, np.conj(array.swapaxes(-1, -2)))
    return x if surely((whole == array).all()) else x - x.detach() + x._constant(whole)
