"""Linear algebra, by PyTorch's names: norms, inverses, determinants, decompositions.

The rules are in ops/matrices.py. Every function takes stacks of matrices, (..., n, n).

>>> import minigrad
>>> a = minigrad.tensor([[2.0, 0.0], [0.0, 4.0]], requires_grad=True)
>>> minigrad.linalg.det(a).backward()
>>> a.grad
tensor([[4., 0.],
        [0., 2.]])
"""

import math
from typing import Any, NamedTuple

import numpy as np

from minigrad import ops
from minigrad.methods.products import LinAlgError, SlogDet, decomposed, square
from minigrad.modes import is_grad_enabled
from minigrad.shapes import normalize, normalize_one
from minigrad.tensor import Tensor

__all__ = [
    "LinAlgError", "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "lstsq", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
    "solve", "solve_triangular", "svd", "svdvals", "vander", "vecdot", "vector_norm",
]  # fmt: skip


class SVD(NamedTuple):
    """A matrix as U @ diag(S) @ Vh."""

    U: Any
    S: Any
    Vh: Any


class QR(NamedTuple):
    """A matrix as Q @ R."""

    Q: Any
    R: Any


class LeastSquares(NamedTuple):
    """What lstsq found."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


class Eigen(NamedTuple):
    """Eigenvalues, least first, and the eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


# ------------------------------------------------------------------------ equations


def inv(A: Tensor) -> Tensor:
    """The matrix for which A @ inv(A) is 1 on the diagonal and 0 elsewhere.

    To solve A @ x = b, use solve(A, b), which is quicker and more exact.
    """
    return A.inverse()


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The x for which A @ x = B (or x @ A = B, if not left).

    A        (..., n, n)
    B        (..., n, k), or (n,) or (..., n) for one right-hand side per matrix
    returns  shaped like B

    Raises LinAlgError if A is singular.

    >>> import minigrad
    >>> solve(minigrad.tensor([[2.0, 0.0], [0.0, 4.0]]), minigrad.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    square("solve", A)
    if not left:
        return solve(A.mT, B.mT).mT
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    right = B.unsqueeze(-1) if vector else B
    if right.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {right.shape[-2]}x{right.shape[-1]})"
        )
    why = "The solver failed because the input matrix is singular."
    z: Tensor = decomposed("solve", ops.solve, why, A, right)
    return z.squeeze(-1) if vector else z


def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """As solve, of one triangle of A; the other is not looked at."""
    square("solve_triangular", A)
    A = A.triu(1 if unitriangular else 0) if upper else A.tril(-1 if unitriangular else 0)
    if unitriangular:
        A = A + Tensor(np.eye(A.shape[-1], dtype=A.dtype))
    return solve(A, B, left=left)


def det(A: Tensor) -> Tensor:
    """The determinant."""
    return A.det()


def slogdet(A: Tensor) -> SlogDet:
    """The sign of the determinant, and the logarithm of its absolute value, without overflow."""
    z: SlogDet = A.slogdet()
    return z


def matrix_power(A: Tensor, n: int) -> Tensor:
    """A @ A @ ... @ A, by squaring; of a negative n, the power of the inverse."""
    return A.matrix_power(n)


def multi_dot(tensors: Any) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications."""
    xs = list(tensors)
    if len(xs) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(xs)}")
    if len(xs) == 2:
        z: Tensor = xs[0] @ xs[1]
        return z
    sizes = [1 if xs[0].ndim == 1 else xs[0].shape[0], *[x.shape[0] for x in xs[1:]]]
    sizes.append(1 if xs[-1].ndim == 1 else xs[-1].shape[1])
    # The last product to be done splits the chain where it is cheapest.
    costs: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(xs))}
    for length in range(1, len(xs)):
        for i in range(len(xs) - length):
            j = i + length
            costs[i, j] = min(
                (costs[i, k][0] + costs[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Any:
        k = costs[i, j][1]
        return xs[i] if i == j else product(i, k) @ product(k + 1, j)

    whole: Tensor = product(0, len(xs) - 1)
    return whole


# ------------------------------------------------------------------------ decompositions


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangle z for which z @ z.mT is A, a symmetric positive-definite matrix."""
    return A.cholesky(upper)


def eigh(A: Tensor, UPLO: str = "L") -> Eigen:
    """Eigenvalues, least first, and eigenvectors, in columns, of a symmetric matrix."""
    square("eigh", A)
    return Eigen(ops.eigenvalues.apply(A), ops.eigenvectors.apply(A))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of a symmetric matrix, least first."""
    z: Tensor = ops.eigenvalues.apply(square("eigvalsh", A))
    return z


def svdvals(A: Tensor) -> Tensor:
    """The singular values, greatest first: how much a matrix stretches, along its own axes."""
    z: Tensor = ops.singular_values.apply(square("svdvals", A, must=False))
    return z


def svd(A: Tensor, full_matrices: bool = True) -> SVD:
    """U, S and Vh with A = U @ diag(S) @ Vh: a turn, a stretch along the axes, and another turn.

    A        (..., m, n)
    returns  U (..., m, k), S (..., k), greatest first, Vh (..., k, n), where k = min(m, n);
             with full_matrices U (..., m, m) and Vh (..., n, n): bases of the whole spaces

    What full_matrices adds to the basis may be turned at will, so it has no gradient: use
    full_matrices=False where one is wanted.
    """
    square("svd", A, must=False)
    if not full_matrices or A.shape[-1] == A.shape[-2]:
        return SVD(ops.left_vectors.apply(A), svdvals(A), ops.right_vectors.apply(A).mT)
    if is_grad_enabled() and A.requires_grad:
        raise RuntimeError(
            "linalg.svd: the gradient of the full U and Vh is not defined. To mend it, use full_matrices=False."
        )
    return SVD(*[Tensor(a) for a in np.linalg.svd(A.array)])


def qr(A: Tensor, mode: str = "reduced") -> QR:
    """Q, whose columns are at right angles and of length 1, and a triangle R, with A = Q @ R.

    A   (..., m, n), m >= n
    """
    square("qr", A, must=False)
    if mode != "reduced" or A.shape[-2] < A.shape[-1]:
        raise NotImplementedError(
            f"linalg.qr is there in mode='reduced', of matrices with at least as many rows as columns; "
            f"here mode={mode!r}, and the shape is {tuple(A.shape)}."
        )
    return QR(ops.q_factor.apply(A), ops.r_factor.apply(A))


def pinv(A: Tensor, *, rtol: float | None = None) -> Tensor:
    """The pseudoinverse: of all x for which A @ x is nearest to b, pinv(A) @ b is the shortest.

    rtol   singular values below rtol times the greatest count as 0; max(m, n) * eps, unless given
    """
    square("pinv", A, must=False)
    if rtol is None:
        rtol = max(A.shape[-2:]) * float(np.finfo(A.dtype).eps)
    z: Tensor = ops.pinv.apply(A, rcond=rtol)
    return z


def lstsq(A: Tensor, B: Tensor, rcond: float | None = None) -> LeastSquares:
    """The x for which A @ x is nearest to B.

    A        (..., m, n)
    B        (..., m, k), or (m,) for one right-hand side
    returns  solution (..., n, k), and the rank of A; no residuals and no singular values, as
             from PyTorch's usual driver
    """
    solution = pinv(A, rtol=rcond) @ B
    return LeastSquares(solution, A.new_zeros(0), matrix_rank(A), A.new_zeros(0))


def matrix_rank(A: Tensor, tol: float | None = None) -> Tensor:
    """How many singular values are not 0, up to rounding."""
    s = svdvals(A.detach()).array
    if tol is None:
        tol = s.max(-1, keepdims=True, initial=0) * max(A.shape[-2:]) * np.finfo(s.dtype).eps
    return Tensor((s > tol).sum(-1))


# ------------------------------------------------------------------------ norms


def vector_norm(
    x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The ord-norm of the entries along dim (of all)."""
    return x.norm(ord, dim, keepdim, dtype)


def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """A norm of matrices.

    ord   "fro": the root of the sum of squares;  "nuc": the sum of the singular values;
          2, -2: the greatest, or least, singular value;
          1, -1: the greatest, or least, sum of the absolute values of a column;
          inf, -inf: of a row
    """
    A = square("matrix_norm", A if dtype is None else A.to(dtype), must=False)
    rows, columns = normalize(dim, A.ndim)
    if ord == "fro":
        return A.norm(2, (rows, columns), keepdim)
    if ord == "nuc":
        return A.norm("nuc", (rows, columns), keepdim)
    B = A.movedim((rows, columns), (-2, -1))
    if ord not in (2, -2, 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    many = svdvals(B) if abs(ord) == 2 else B.abs().sum(-2 if abs(ord) == 1 else -1)
    z = many.amax(-1) if ord > 0 else many.amin(-1)
    if keepdim:
        for axis in sorted((rows, columns)):
            z = z.unsqueeze(axis)
    return z


def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """vector_norm of all entries, or along one axis; matrix_norm along two, or of an ord by name."""
    if ord is None or (isinstance(dim, int) or dim is not None and len(dim) == 1):
        return A.norm(2 if ord is None else ord, dim, keepdim, dtype)
    if dim is None and not isinstance(ord, str) and A.ndim == 1:
        return A.norm(ord, None, keepdim, dtype)
    return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


# ------------------------------------------------------------------------ products of vectors


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vector at right angles to both, in three dimensions."""
    return input.cross(other, dim)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sum of the products of the entries along dim."""
    return (x * y).sum(dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices: a view."""
    return A.diagonal(offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers: the columns are 1, x, x**2, ..."""
    n = x.shape[-1] if N is None else N
    axis = normalize_one(-1, x.ndim) + 1
    powers = [x.new_ones(x.shape)]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    z: Tensor = ops.stack(*powers[:n], axis=axis)
    return z


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """input @ other"""
    return input @ other


# Not in torch.linalg: PyTorch has these two at its top, as torch.cholesky_solve.


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The x for which A @ x = B, where L is the Cholesky factor of A."""
    low = L.mT if upper else L
    return solve_triangular(low.mT, solve_triangular(low, B, upper=False), upper=True)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, from the Cholesky factor L of A."""
    return cholesky_solve(ops.stack(*L.new_ones(L.shape[-1]).diag(), axis=0), L, upper)
