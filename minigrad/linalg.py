"""Linear algebra, with the names of torch.linalg: norms, inverses, determinants, decompositions.

The rules are in ops/matrices.py. Nearly all functions accept batches of matrices, (..., n, n).

>>> import minigrad
>>> a = minigrad.tensor([[2.0, 0.0], [0.0, 4.0]], requires_grad=True)
>>> minigrad.linalg.det(a).backward()
>>> a.grad
tensor([[4., 0.],
        [0., 2.]])
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad import ops, return_types
from minigrad.core import modes
from minigrad.core.dtypes import DTypeLike, torch_name
from minigrad.core.errors import LinAlgError
from minigrad.core.modes import seen
from minigrad.core.op import TWINS
from minigrad.core.shapes import Array, Dim, as_int, normalize_axes
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.arguments import takes_out, takes_tensors
from minigrad.methods.functions import cat
from minigrad.methods.methods_as_functions import of_method
from minigrad.methods.products import (
    checked_square,
    decomposed,
    factored_by_rows,
    first_dependent,
    first_indefinite,
    one_triangle,
    svd_of,
)
from minigrad.methods.reductions import in_dtype_of_norm
from minigrad.ops.composites import level, named
from minigrad.random.tensors import randn
from minigrad.return_types import (
    linalg_cholesky_ex,
    linalg_eigh,
    linalg_inv_ex,
    linalg_lstsq,
    linalg_qr,
    linalg_slogdet,
    linalg_svd,
)

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "inv_ex",
    "lstsq", "lu", "lu_factor", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank",
    "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensorinv",
    "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip


# ------------------------------------------------------------------------ linear equations


@takes_out
def inv(A: Tensor) -> Tensor:
    """The inverse: A @ inv(A) is the identity matrix.

    To solve A @ x = b, use solve(A, b), which is faster and more accurate.

    >>> inv(minigrad.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return A.inverse()


@takes_out
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution x of A @ x = B, or of x @ A = B if left is False.

    A        (..., n, n)
    B        (..., n, k), or (n,) or (..., n) for one right-hand side per matrix
    returns  shaped like B

    Raises LinAlgError if A is singular.

    >>> import minigrad
    >>> solve(minigrad.tensor([[2.0, 0.0], [0.0, 4.0]]), minigrad.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    checked_square("solve", A)
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if not left:
        if vector:
            raise RuntimeError(
                f"linalg.solve: Incompatible shapes of A and B for the equation XA = B ({A.shape[-2]}x{A.shape[-1]} "
                f"and {B.shape[-1]}x1): B is one vector for each matrix."
            )
        return solve(A.mT, _matrices(A, B.mT)).mT
    right = B.unsqueeze(-1) if vector else B
    if right.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {right.shape[-2]}x{right.shape[-1]})"
        )
    why = "torch.linalg.solve: {}The solver failed because the input matrix is singular."
    z: Tensor = decomposed(ops.linalg_solve, why, first_dependent, A, right)
    if not vector:
        return z
    z = z.clone()  # the rule reads z, also after a write to the result
    return named(ops.unsafe_view.apply(z, shape=tuple(z.shape[:-1])), "LinalgSolveExBackward0")


@takes_out
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Like solve, for a triangular A. The other triangle of A is ignored, and B is converted to the dtype of A.

    >>> A = minigrad.tensor([[2.0, 0.0], [1.0, 4.0]])
    >>> solve_triangular(A, minigrad.tensor([[4.0], [10.0]]), upper=False)
    tensor([[2.],
            [2.]])
    """
    checked_square("solve_triangular", A)
    B = _matrices(A, B).to(A.dtype)
    A = A.triu(1 if unitriangular else 0) if upper else A.tril(-1 if unitriangular else 0)
    if unitriangular:
        A = A + wrap(np.eye(A.shape[-1], dtype=A.dtype))
    return named(solve(A, B, left=left), "LinalgSolveTriangularBackward0")


@takes_out
def tensorinv(a: Tensor, ind: int = 2) -> Tensor:
    """The inverse of `a` as a map of tensors: if b = tensordot(a, x, x.ndim), then x = tensordot(tensorinv(a), b, ind).

    ind   how many of the first axes of `a` are those of b; the others are those of x

    >>> tensorinv(minigrad.eye(4).reshape(2, 2, 4) * 2)[:, 0, 0]
    tensor([0.5000, 0.0000, 0.0000, 0.0000])
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = a.shape[ind:] + a.shape[:ind]
    return inv(_as_matrix("tensorinv", a, ind)).reshape(shape)


@takes_out
def tensorsolve(a: Tensor, b: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """The solution x of tensordot(a, x, x.ndim) = b. The first axes of `a` are those of b, the others those of x.

    dims   axes of `a` to move to its end first

    >>> tensorsolve(minigrad.eye(4).reshape(2, 2, 4) * 2, minigrad.ones(2, 2))
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    if dims is not None:
        a = a.movedim(tuple(dims), tuple(range(a.ndim - len(dims), a.ndim)))
    shape = a.shape[b.ndim :]
    return solve(_as_matrix("tensorsolve", a, b.ndim), b.reshape(-1)).reshape(shape)


def _as_matrix(name: str, A: Tensor, ind: int) -> Tensor:
    """A as a square matrix: its first `ind` axes are the rows."""
    rows, columns = math.prod(A.shape[:ind]), math.prod(A.shape[ind:])
    if rows != columns:
        raise RuntimeError(
            f"linalg.{name}: Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {columns} != {rows}"
        )
    return A.reshape(rows, columns)


def _matrices(A: Tensor, B: Tensor) -> Tensor:
    """B with at least as many axes as A. If B had the shape A.shape[:-1], solve would read it as vectors."""
    if B.ndim < 2:
        raise RuntimeError(
            "The input tensor B must have at least 2 dimensions. To fix it, use b.unsqueeze(-1)."
        )
    return B if B.ndim >= A.ndim else B.reshape((1,) * (A.ndim - B.ndim) + tuple(B.shape))


@takes_out
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L and U in one matrix, LU, and the pivots, by Gaussian elimination: row i was exchanged with row pivots[i] - 1.

    A         (..., m, n)
    LU        (..., m, n)      L below the diagonal, where it has ones; U on and above the diagonal
    pivots    (..., min(m, n)) int32, counted from 1

    There is no gradient: pass A.detach(), or use solve, slogdet or inv.

    >>> LU, pivots = lu_factor(minigrad.tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> LU, pivots
    (tensor([[2.0000, 4.0000],
            [0.5000, 1.0000]]), tensor([2, 2], dtype=minigrad.int32))
    """
    found = return_types.linalg_lu_factor(*factored_by_rows("lu_factor", A, pivot))
    zeros = np.argwhere(np.diagonal(found.LU.array, axis1=-2, axis2=-1) == 0)
    if len(zeros):
        k = zeros[0][-1] + 1
        raise LinAlgError(
            f"torch.linalg.lu_factor: U[{k},{k}] is zero and using it on lu_solve would result in a division by zero. "
            "If you still want to perform the factorization, consider calling linalg.lu(A)."
        )
    return found


@takes_out
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """P, L and U with A = P @ L @ U: a permutation, a lower and an upper triangle. There is no gradient.

    >>> P, L, U = lu(minigrad.tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> P @ L @ U
    tensor([[1., 3.],
            [2., 4.]])
    """
    return return_types.linalg_lu(*lu_unpack(*factored_by_rows("lu", A, pivot)))


@takes_out
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """P, L and U from the results of lu_factor: A = P @ L @ U.

    unpack_data, unpack_pivots    False: L and U, or P, are empty

    >>> minigrad.lu_unpack(*lu_factor(minigrad.tensor([[1.0, 3.0], [2.0, 4.0]]))).L
    tensor([[1.0000, 0.0000],
            [0.5000, 1.0000]])
    """
    m, k, z = LU_data.shape[-2], min(LU_data.shape[-2:]), LU_data
    if LU_pivots.dtype != np.int32:
        raise RuntimeError(
            f"lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, not {LU_pivots.dtype}. "
            "To fix it, pass both results of linalg.lu_factor."
        )
    pivots = LU_pivots.numpy()
    if np.any((pivots < 1) | (pivots > m)):
        raise RuntimeError(
            f"pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive, here {m}. Did you properly pass "
            "the result of lu_factor? Pivots given to lu_solve must all be greater or equal to 1 and smaller or equal "
            "to LU.size(-2)."
        )
    P = L = U = z.new_zeros(0)
    if unpack_data:
        L = z[..., :k].tril(-1) + wrap(np.eye(m, k, dtype=z.dtype))
        U = z[..., :k, :].triu()
    if unpack_pivots:
        rows = np.broadcast_to(np.arange(m), (*z.shape[:-2], m)).copy()
        for at in np.ndindex(z.shape[:-2]):
            for i, j in enumerate(pivots[at] - 1):
                rows[at][[i, j]] = rows[at][[j, i]]
        P = wrap(np.swapaxes(np.eye(m, dtype=z.dtype)[rows], -1, -2))
    return return_types.lu_unpack(P, L, U)


@takes_out
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """The solution X of A @ X = B from lu_factor(A); of X @ A = B if left is False; of A.mH if adjoint.

    >>> A = minigrad.tensor([[1.0, 3.0], [2.0, 4.0]])
    >>> lu_solve(*lu_factor(A), A @ minigrad.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    P, L, U = lu_unpack(LU, pivots)
    if adjoint:
        y = solve_triangular(U.mH, B, upper=False)
        return P @ solve_triangular(L.mH, y, upper=True, unitriangular=True)
    y = solve_triangular(L, P.mT @ B, upper=False, unitriangular=True)
    return solve_triangular(U, y, upper=True)


det = of_method(__name__, "det")
matrix_exp = of_method(__name__, "matrix_exp")


@takes_out
def slogdet(A: Tensor) -> linalg_slogdet:
    """A tuple (sign, logabsdet) for the determinant. Unlike det, it does not overflow.

    >>> slogdet(minigrad.tensor([[1.0, 0.0], [0.0, -1.0]]))
    minigrad.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    return linalg_slogdet(*A.slogdet())


@takes_out
def matrix_power(A: Tensor, n: int) -> Tensor:
    """The matrix power A @ A @ ... @ A, by repeated squaring. A negative n gives a power of the inverse.

    >>> matrix_power(minigrad.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    return A.matrix_power(as_int(n, "n"))


@takes_out
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices, in the order with the fewest multiplications.

    >>> multi_dot([minigrad.ones(1, 2), minigrad.ones(2, 3), minigrad.ones(3, 1)])
    tensor([[6.]])
    """
    xs = list(tensors)
    if len(xs) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(xs)}")
    _check_chain(xs)
    if len(xs) == 2:
        return xs[0] @ xs[1]
    sizes = [1 if xs[0].ndim == 1 else xs[0].shape[0], *[x.shape[0] for x in xs[1:]]]
    sizes.append(1 if xs[-1].ndim == 1 else xs[-1].shape[1])
    # costs[i, j]: the cost of the product of xs[i] to xs[j], and where to split it for the last multiplication.
    costs: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(xs))}
    for length in range(1, len(xs)):
        for i in range(len(xs) - length):
            j = i + length
            costs[i, j] = min(
                (costs[i, k][0] + costs[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        k = costs[i, j][1]
        return xs[i] if i == j else product(i, k) @ product(k + 1, j)

    return product(0, len(xs) - 1)


def _check_chain(xs: list[Tensor]) -> None:
    """Raise an error if these tensors cannot be multiplied. All must be matrices, except the first and the last."""
    last = len(xs) - 1
    for k, x in enumerate(xs):
        if 0 < k < last and x.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {k} must be 2D but got {x.ndim}D")
        if k in (0, last) and x.ndim not in (1, 2):
            which = "last" if k else "first"
            raise RuntimeError(
                f"multi_dot(): the {which} tensor must be 1D or 2D but got {x.ndim}D"
            )
        if x.dtype != xs[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {xs[0].dtype} and "
                f"tensor {k} {x.dtype}"
            )
        if k and xs[k - 1].shape[-1] != x.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {k - 1} and {k} with shapes {list(xs[k - 1].shape)} and {list(x.shape)} "
                "cannot be multiplied"
            )


# ------------------------------------------------------------------------ decompositions


cholesky = of_method(__name__, "cholesky", method="_cholesky", upper=False)


@takes_out
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factor L, and `info`: 0 for each matrix that is positive definite, or else the size of its first
    leading block that is not. The factor of such a matrix is NaN; with check_errors, it is an error.

    >>> cholesky_ex(minigrad.tensor([[1.0, 2.0], [2.0, 1.0]])).info
    tensor(2, dtype=minigrad.int32)
    """
    A = checked_square("cholesky_ex", A)
    factor = _with_info(A, lambda a: a._cholesky(upper), first_indefinite, check_errors)
    return linalg_cholesky_ex(*factor)


@takes_out
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """The inverse, and `info`: 0 for each matrix that is invertible, and a number above 0 for each that is singular.
    The inverse of a singular matrix is NaN; with check_errors, it is an error.

    >>> inv_ex(minigrad.ones(2, 2)).info
    tensor(2, dtype=minigrad.int32)
    """
    A = checked_square("inv_ex", A)
    return linalg_inv_ex(*_with_info(A, inv, first_dependent, check_errors))


def _with_info(
    A: Tensor,
    compute: Callable[[Tensor], Tensor],
    problem: Callable[[Array], int],
    check_errors: bool,
) -> tuple[Tensor, Tensor]:
    """compute(A), with NaN for each matrix that has a problem, and the problems as int32."""
    info = np.zeros(A.shape[:-2], np.int32)
    try:
        return compute(A), wrap(info)
    except LinAlgError:
        if check_errors:
            raise
    for place in np.ndindex(info.shape):
        info[place] = problem(A.array[place])
    wrong = wrap(np.expand_dims(info > 0, (-2, -1)))
    harmless = A.where(~wrong, wrap(np.eye(A.shape[-1], dtype=A.dtype)))
    return compute(harmless).masked_fill(wrong, math.nan), wrap(info)


@takes_out
def eigh(A: Tensor, UPLO: str = "L") -> linalg_eigh:
    """The eigenvalues of a symmetric matrix in ascending order, and the eigenvectors as columns.

    >>> eigh(minigrad.tensor([[2.0, 0.0], [0.0, 1.0]]))[0]
    tensor([1., 2.])
    """
    A = one_triangle(checked_square("eigh", A), UPLO)
    return linalg_eigh(ops.eigenvalues.apply(A), ops.eigenvectors.apply(A))


@takes_out
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of a symmetric matrix, in ascending order.

    >>> eigvalsh(minigrad.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    return ops.eigenvalues.apply(one_triangle(checked_square("eigvalsh", A), UPLO))


@takes_out
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of a matrix, in descending order. `driver` must be None, as in svd.

    >>> svdvals(minigrad.tensor([[3.0, 0.0], [0.0, 2.0]]))
    tensor([3., 2.])
    """
    _check_no_driver(driver)
    return ops.singular_values.apply(checked_square("svdvals", A, must=False))


def _check_no_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@takes_out
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> linalg_svd:
    """The singular value decomposition: U, S and Vh with A = U @ diag(S) @ Vh.

    A        (..., m, n)
    returns  U (..., m, k), S (..., k) in descending order, Vh (..., k, n), where k = min(m, n);
             with full_matrices, U (..., m, m) and Vh (..., n, n)
    driver   must be None; in PyTorch, it selects a GPU library

    The vectors that full_matrices adds are not unique and have no gradient.

    >>> svd(minigrad.tensor([[3.0, 0.0], [0.0, 2.0]])).S
    tensor([3., 2.])
    """
    _check_no_driver(driver)
    U, S, V = svd_of(checked_square("svd", A, must=False), full_matrices)
    return linalg_svd(U, S, named(V.mT, "LinalgSvdBackward0"))


@takes_out
def qr(A: Tensor, mode: str = "reduced") -> linalg_qr:
    """The QR decomposition A = Q @ R: Q has orthonormal columns, and R is upper triangular.

    A      (..., m, n)
    mode   "reduced": Q (..., m, k) and R (..., k, n), where k = min(m, n); "complete": Q (..., m, m)
           and R (..., m, n), which have no gradient if m > n; "r": R alone, without a gradient

    >>> Q, R = qr(minigrad.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> (Q @ R).round(decimals=4)
    tensor([[3., 1.],
            [4., 2.]])
    """
    checked_square("qr", A, must=False)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode {mode!r} but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    m, n = A.shape[-2:]
    if mode == "r" or (mode == "complete" and m > n):
        if A.requires_grad and modes.state.recording:
            raise RuntimeError(
                f"linalg.qr: the derivative is not defined in mode={mode!r} for a matrix of {m} rows and {n} "
                "columns. To fix it, use mode='reduced', or A.detach()."
            )
        if mode == "r":
            upper: Any = np.linalg.qr(seen(A), "r")
            return linalg_qr(A.new_zeros(0), wrap(upper))
        Q, R = np.linalg.qr(seen(A), "complete")
        return linalg_qr(wrap(Q), wrap(R))
    if m < n:  # the first m columns give Q; R has the coordinates of the others in Q
        Q, R = qr(A[..., :m])
        return linalg_qr(Q, named(cat([R, Q.mH @ A[..., m:]], -1), "LinalgQrBackward0"))
    return linalg_qr(ops.q_factor.apply(A), ops.r_factor.apply(A))


@takes_out
def pinv(
    A: Tensor,
    rcond: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
) -> Tensor:
    """The pseudoinverse. pinv(A) @ b is the shortest x among those that minimize the norm of A @ x - b.

    rtol        singular values below rtol times the largest count as 0. The default is
                max(m, n) * eps, or 0 if atol is given (rcond is another name for rtol)
    atol        singular values below atol count as 0, too
    hermitian   A is symmetric, and only its lower triangle is used

    >>> pinv(minigrad.tensor([[2.0, 0.0], [0.0, 4.0]])).round(decimals=4)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    checked_square("pinv", A, must=hermitian)
    A = one_triangle(A, "L") if hermitian else A
    rtol = rcond if rtol is None else rtol
    relative: Any = _tolerance(A, atol, rtol)
    if atol is not None and A.numel():
        greatest = np.linalg.svd(seen(A), compute_uv=False)[..., 0]
        relative = np.maximum(relative, _array(atol) / np.maximum(greatest, np.finfo(A.dtype).tiny))
    return ops.linalg_pinv.apply(A, rcond=relative)


def _tolerance(A: Tensor, atol: float | Tensor | None, rtol: float | Tensor | None) -> Any:
    """The relative tolerance: singular values below this times the largest count as 0."""
    if rtol is not None:
        return _array(rtol)[()]
    return max(A.shape[-2:]) * float(np.finfo(A.dtype).eps) if atol is None else 0.0


def _array(x: Any) -> Array:
    return np.asanyarray(seen(x))


@takes_tensors
def lstsq(
    A: Tensor, B: Tensor, rcond: float | Tensor | None = None, *, driver: str | None = None
) -> linalg_lstsq:
    """The least-squares solution: the x that minimizes the norm of A @ x - B.

    A        (..., m, n)
    B        (..., m, k), or (..., m) for one right-hand side per matrix
    rcond    singular values below rcond times the largest count as 0; if it is negative, below
             eps times the largest
    driver   the name of a LAPACK driver. It only decides which results are returned: "gelsy"
             (the default) the solution and ranks; "gelsd" and "gelss" also the singular values
             and, if m > n with full ranks, the residuals; "gels" the solution and residuals
    returns  solution (..., n, k), residuals (..., k), ranks (...), singular values (..., n);
             those that are not returned are empty

    >>> A = minigrad.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> B = minigrad.tensor([[1.0], [3.0], [5.0]])
    >>> lstsq(A, B).solution.round(decimals=4)
    tensor([[1.],
            [2.]])
    """
    driver = "gelsy" if driver is None else driver
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    right = B.unsqueeze(-1) if vector else B
    _check_lstsq(A, B, right, driver)
    if driver == "gels":
        rcond = None  # it assumes full rank
    elif rcond is not None and (rcond < 0 or (driver == "gelsd" and not 0 < rcond < 1)):
        rcond = float(np.finfo(A.dtype).eps)  # as LAPACK does
    z = pinv(A, rcond) @ right
    m, n = A.shape[-2:]
    rank, values = matrix_rank(A, rtol=rcond), svdvals(A.detach())
    residuals = level(z.sum().expand(0), 0)
    if driver != "gelsy" and m > n and bool((rank == n).all()):
        error = A @ z - right
        residuals = (error * error.conj()).real.sum(-2)
    return linalg_lstsq(
        named(z.squeeze(-1) if vector else z, "LinalgLstsqBackward0"),
        residuals,
        rank.new_zeros(0) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else A.new_zeros(0),
    )


def _check_lstsq(A: Tensor, B: Tensor, right: Tensor, driver: str) -> None:
    """Raise an error if the arguments of lstsq do not fit. `right` is B as columns."""
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), not {driver!r}"
        )
    if A.ndim < 2 or not B.ndim:
        which = (
            "input must have at least 2 dimensions"
            if A.ndim < 2
            else "other must have at least 1 dimension"
        )
        raise RuntimeError(f"torch.linalg.lstsq: {which}.")
    checked_square("lstsq", A, must=False)
    if right.shape[-2] != A.shape[-2]:
        axis = -2 if right is B else -1
        raise RuntimeError(
            f"torch.linalg.lstsq: input.size(-2) should match other.size({axis}), but input is "
            f"{tuple(A.shape)} and other {tuple(B.shape)}"
        )
    if A.dtype != B.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{A.dtype} and other's dtype {B.dtype}"
        )


@takes_out
def matrix_rank(
    A: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
) -> Tensor:
    """The rank: the number of singular values above atol and above rtol times the largest.

    By default, rtol is max(m, n) * eps, or 0 if atol is given. tol is another name for atol.

    >>> matrix_rank(minigrad.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    checked_square("matrix_rank", A, must=hermitian)
    s = svdvals((one_triangle(A, "L") if hermitian else A).detach()).array
    atol = tol if atol is None else atol
    least = s.max(-1, initial=0) * _tolerance(A, atol, rtol)
    if atol is not None:
        least = np.maximum(least, _array(atol))
    return wrap((s > least[..., None]).sum(-1, dtype=np.int64))


@takes_out
def cond(A: Tensor, p: int | float | str | None = None) -> Tensor:
    """The condition number, norm(A) * norm(inv(A)): how much A @ x = b magnifies an error in b.

    p   the norm: None or 2, the largest singular value over the smallest one; -2, the inverse of
        that; or as in matrix_norm

    >>> cond(minigrad.tensor([[2.0, 0.0], [0.0, 0.5]]))
    tensor(4.)
    """
    if p not in (None, 2, -2, "fro", "nuc", math.inf, -math.inf, 1, -1):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if A.ndim > 1 and A.shape[-2:] == (0, 0):
        return matrix_norm(A)
    if p in (None, 2, -2):
        s = svdvals(A)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    checked_square(f"cond(ord={p})", A)
    inverse, info = inv_ex(A)
    singular = info > 0
    inverse = inverse.masked_fill(singular[..., None, None], 1.0)
    return (matrix_norm(A, p) * matrix_norm(inverse, p)).masked_fill(singular, math.inf)


# ------------------------------------------------------------------------ norms


def _with_numpy_names(compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Let a norm accept NumPy's names of its arguments, axis and keepdims."""

    @functools.wraps(compute)
    def called(*args: Any, **kwargs: Any) -> Tensor:
        return compute(*args, **{TWINS.get(name, name): value for name, value in kwargs.items()})

    return called


@takes_out
@_with_numpy_names
def vector_norm(
    x: Tensor,
    ord: float | str | None = 2,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike = None,
) -> Tensor:
    """The vector norm of order `ord`, of all entries or along dim.

    >>> vector_norm(minigrad.tensor([3.0, 4.0])), vector_norm(minigrad.tensor([3.0, 4.0]), ord=1)
    (tensor(5.), tensor(7.))
    """
    if isinstance(ord, str):
        raise TypeError(
            f"linalg.vector_norm(): argument 'ord' must be Number, not {ord!r}. To fix it, use linalg.matrix_norm."
        )
    return x.norm(ord, dim, keepdim, dtype)


@takes_out
@_with_numpy_names
def matrix_norm(
    A: Tensor,
    ord: float | str | None = "fro",
    dim: Dim = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DTypeLike = None,
) -> Tensor:
    """A matrix norm.

    ord   "fro": the square root of the sum of squares;  "nuc": the sum of the singular values;
          2, -2: the largest or smallest singular value;
          1, -1: the largest or smallest sum of the absolute values in a column;
          inf, -inf: the same for rows

    >>> matrix_norm(minigrad.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    A = checked_square("matrix_norm", A, must=False)
    A = A if dtype is None else in_dtype_of_norm("matrix_norm", A, dtype)
    if dim is None or isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    if dim[0] in (dim[1], dim[1] + A.ndim, dim[1] - A.ndim):
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    rows, columns = normalize_axes(dim, A.ndim)
    if ord == "fro":
        return A.norm(2, (rows, columns), keepdim)
    if ord == "nuc":
        return A.norm("nuc", (rows, columns), keepdim)
    B = A.movedim((rows, columns), (-2, -1))
    if isinstance(ord, complex):
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a non-complex scalar as the order, but got {ord}."
        )
    if ord not in (2, -2, 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    many = svdvals(B) if abs(ord) == 2 else B.abs().sum(-2 if abs(ord) == 1 else -1)
    if ord > 0 and not many.shape[-1]:
        many = many.sum(-1, keepdim=True)  # the largest of no entries is 0
    z = many.amax(-1) if ord > 0 else many.amin(-1)
    if keepdim:
        for axis in sorted((rows, columns)):
            z = z.unsqueeze(axis)
    return z


@takes_out
@_with_numpy_names
def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike = None,
) -> Tensor:
    """vector_norm of all entries or along one axis, or matrix_norm along two axes or if ord is a name.

    >>> norm(minigrad.tensor([3.0, 4.0]))
    tensor(5.)
    """
    axes = (dim,) if isinstance(dim, int) else dim
    if axes is not None and ord is not None and len(axes) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(axes)}"
        )
    if ord is None or (axes is not None and len(axes) == 1 and not isinstance(ord, str)):
        return A.norm(2 if ord is None else ord, dim, keepdim, dtype)
    if dim is None and not isinstance(ord, str) and A.ndim == 1:
        return A.norm(ord, None, keepdim, dtype)
    if dim is None and A.ndim > 2:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
        )
    return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


# ------------------------------------------------------------------------ products of vectors


cross = of_method(__name__, "cross", "input, other", dim=-1)
matmul = of_method(__name__, "matmul", "input, other")
diagonal = of_method(__name__, "diagonal", offset=0, dim1=-2, dim2=-1)


@takes_out
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The dot product of vectors along dim: the sum of conj(x) * y.

    >>> vecdot(minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if x.dtype.kind not in "fc":
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {torch_name(x.dtype)}. "
            "To fix it, use x.float()."
        )
    return (x.conj() * y).sum(dim)


@takes_tensors
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The Vandermonde matrix: its columns are 1, x, x**2, ...

    >>> vander(minigrad.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    if x.dtype.kind == "b" or x.dtype == np.float16:
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {torch_name(x.dtype)}"
        )
    n = (x.shape[-1] if x.ndim else 1) if N is None else N
    if n <= 1:
        raise RuntimeError(f"N must be greater than 1: linalg.vander would have {n} columns.")
    x = x.long() if x.dtype.kind in "iub" else x
    axis = x.ndim
    powers = [x.new_ones(x.shape)]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    z: Tensor = ops.stack(*powers, axis=axis)
    return z if x.ndim else z.unsqueeze(0)


# Not in torch.linalg: these two are torch.cholesky_solve and torch.cholesky_inverse in PyTorch.


@takes_out
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The solution x of A @ x = B, where L is the Cholesky factor of A.

    Only one triangle of L is used. Its gradient is the one for a full matrix, as in PyTorch.

    >>> L = minigrad.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> cholesky_solve(minigrad.tensor([[8.0], [3.0]]), L)
    tensor([[2.],
            [3.]])
    """
    checked_square("cholesky_solve", L)
    low = L.mH if upper else L
    low = low - low.triu(1).detach()
    return named(solve(low.mH, solve(low, _matrices(L, B))), "CholeskySolveBackward0")


@takes_out
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, from the Cholesky factor L of A.

    >>> cholesky_inverse(minigrad.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.2500, 0.0000],
            [0.0000, 0.0625]])
    """
    checked_square("cholesky_inverse", L)
    one = np.broadcast_to(np.eye(L.shape[-1], dtype=L.dtype), L.shape)
    return named(cholesky_solve(L._constant(one.copy()), L, upper), "CholeskyInverseBackward0")


# ------------------------------------------------------------------------ approximations


@takes_tensors
def svd_lowrank(
    A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """An approximation of the q largest singular values and their vectors: A - M is about U @ diag(S) @ V.T.

    A        (..., m, n)
    niter    the number of power iterations, multiplications by A @ A.T, which make it more accurate
    returns  U (..., m, q), S (..., q) in descending order, V (..., n, q)

    A is multiplied by q random vectors. The products span most of the range of A, and a decomposition within that
    span is cheap.

    >>> x = minigrad.tensor([[3.0, 4.0], [6.0, 8.0]])
    >>> svd_lowrank(x, q=1)[1]
    tensor([11.1803])

    Source: Halko, Martinsson and Tropp, Finding structure with randomness (2009), algorithm 5.1.
    """
    A = A if M is None else A - M
    if A.shape[-2] < A.shape[-1]:
        V, S, U = svd_lowrank(A.mT, q, niter)
        return U, S, V
    Q = qr(A @ randn(A.shape[-1], q, dtype=A.dtype))[0]
    for _ in range(niter):
        Q = qr(A @ qr(A.mT @ Q)[0])[0]
    U, S, Vh = svd(Q.mT @ A, full_matrices=False)
    return Q @ U, S, Vh.mT


@takes_tensors
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """An approximation of the principal components of the rows of A: the columns of V. The scores are A @ V.

    q        the number of components; by default, 6 or min(m, n), whichever is smaller
    center   subtract the mean of each column first
    returns  U (..., m, q), S (..., q) in descending order, V (..., n, q); see svd_lowrank

    >>> minigrad.manual_seed(0) and pca_lowrank(minigrad.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), q=1)[1]
    tensor([2.8284])
    """
    most = min(A.shape[-2:])
    q = min(6, most) if q is None else q
    if not 0 <= q <= most:
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)
