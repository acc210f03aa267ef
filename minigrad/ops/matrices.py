"""Table of derivatives, chapter 8: inverses, determinants and matrix decompositions.

To derive a rule, differentiate the equation that defines the result. For the inverse,
x @ z = 1 gives dx @ z + x @ dz = 0, so dz = -z @ dx @ z. In the gradient, the factors on both
sides of dx appear transposed on the same sides of g: -zᵀ @ g @ zᵀ.

All ops also work on batches of matrices, which are in the last two axes. Ops on symmetric
matrices use (x + x.T) / 2, so that the gradient is symmetric too.

Source: Giles, Collected Matrix Derivative Results (2008).
"""

import math

import numpy as np

from minigrad.core.errors import LinAlgError
from minigrad.core.op import general
from minigrad.core.shapes import transposed
from minigrad.ops.layout import cat, stack
from minigrad.ops.products import matmul


def symmetric(x):
    """The mean of x and xᵀ."""
    return (x + transposed(x)) * 0.5


def _hermitian(x):
    """symmetric(x), and for complex arrays the mean of x and its conjugate transpose."""
    return symmetric(x) if x.dtype.kind != "c" else (x + transposed(x).conj()) * 0.5


def as_rows(x):
    """Each vector as a row: multiplying a matrix by it scales the columns."""
    return x[..., None, :]


def _finite(name, x):
    """Return x. Raises an error if it contains infinity or NaN, because LAPACK may not terminate then."""
    if not np.isfinite(x).all():
        raise LinAlgError(
            f"linalg.{name}: The algorithm failed to converge because the input matrix contained non-finite values."
        )
    return x


def factored(x):
    """The Cholesky factor. Raises an error for NaN and infinity, which NumPy does not notice."""
    z = np.linalg.cholesky(x)
    if not np.isfinite(z).all():
        raise LinAlgError("A matrix with non-finite values is not positive definite.")
    return z


@general(result="float", node="LinalgInvExBackward0")
def inverse(x):
    """z = x**-1        dL/dx = -zᵀ @ g @ zᵀ"""
    with np.errstate(over="ignore"):  # LAPACK's result in double precision may be too large for single
        return np.linalg.inv(x)


inverse.vjp(x=lambda g, z: -(transposed(z) @ g @ transposed(z)))
inverse.jvp(lambda x_dot, z: -(z @ x_dot @ z))


@general(result="strict", node="LinalgSolveExBackward0")
def linalg_solve(x, y):
    """z = x**-1 @ y, so that x @ z = y        dL/dx = -d @ zᵀ        dL/dy = d = linalg_solve(xᵀ, g)"""
    with np.errstate(over="ignore"):  # as in inverse
        return np.linalg.solve(x, y)


linalg_solve.vjp(x=lambda g, x, z: -(linalg_solve(transposed(x), g) @ transposed(z)),
                 y=lambda g, x: linalg_solve(transposed(x), g))


def _solve_dot(x_dot, y_dot, x, z):
    if x_dot is None:
        return linalg_solve(x, y_dot)
    change = -(x_dot @ z) if y_dot is None else y_dot - x_dot @ z
    return linalg_solve(x, change)


linalg_solve.jvp(_solve_dot)


@general(result="float", node="LinalgDetBackward0")
def det(x):
    """z = determinant of x        dL/dx = g * cofactors of x, which are z * (x**-1)ᵀ"""
    with np.errstate(over="ignore"):  # as in inverse
        return np.asarray(np.linalg.det(x))


def _cofactors(x, z):
    """The cofactors of x: the derivative of the determinant with respect to each entry."""
    # (A recorded program always takes the branch taken while recording.)
    n, value = x.shape[-1], np.asarray(getattr(z, "array", z))
    if n < 2 or (value != 0).all():
        return z[..., None, None] * transposed(inverse(x)) if n != 1 else np.ones_like(x)
    others = [np.delete(np.arange(n), i) for i in range(n)]  # x has no inverse but does have cofactors
    c = [det(x[..., others[i][:, None], others[j]]) * (-1) ** (i + j) for i in range(n) for j in range(n)]
    return np.reshape(stack(*c, axis=x.ndim - 2), x.shape)


det.vjp(x=lambda g, x, z: g[..., None, None] * _cofactors(x, z))
det.jvp(lambda x_dot, x, z: np.sum(x_dot * _cofactors(x, z), axis=(-2, -1)))


@general(result="float", node="LinalgSlogdetBackward0")
def determinant_sign(x):
    """z = sign of the determinant of x        dL/dx = 0"""
    return np.asarray(np.linalg.slogdet(x)[0])


determinant_sign.vjp(x=lambda g, x: np.zeros_like(x)).jvp(lambda x_dot, z: np.zeros_like(z))


@general(result="float", node="LinalgSlogdetBackward0")
def logabsdet(x):
    """z = log(abs(determinant of x))        dL/dx = g * (x**-1)ᵀ"""
    return np.asarray(np.linalg.slogdet(x)[1])


logabsdet.vjp(x=lambda g, x: g[..., None, None] * transposed(inverse(x)))
logabsdet.jvp(lambda x_dot, x: np.sum(x_dot * transposed(inverse(x)), axis=(-2, -1)))


@general(result="float", node="LinalgMatrixExpBackward0")
def matrix_exp(x):
    """z = 1 + x + x @ x / 2! + ...        dL/dx = matrix_exp([[xᵀ, g], [0, xᵀ]]), its block at the upper right

    x is halved until its norm is below 1/2, where 18 terms are enough. The result is then squared as many
    times as x was halved.

    Sources: Moler and Van Loan, Nineteen dubious ways to compute the exponential (1978); for the derivative,
    Higham, Functions of Matrices (2008), theorem 3.6.
    """
    norm = np.abs(x).sum(-1).max(initial=0)
    halvings = max(0, math.ceil(math.log2(norm)) + 1) if 0.5 < norm < math.inf else 0
    y, one = x / 2**halvings, np.eye(x.shape[-1], dtype=x.dtype)
    z = one + y / 18
    for k in range(17, 0, -1):  # Horner's rule
        z = one + y @ z / k
    for _ in range(halvings):
        z = z @ z
    return z


def _change_of_exp(x, x_dot):
    """How matrix_exp(x) changes in the direction x_dot."""
    n = x.shape[-1]
    blocks = cat(cat(x, x_dot, axis=x.ndim - 1), cat(np.zeros_like(x), x, axis=x.ndim - 1), axis=x.ndim - 2)
    return matrix_exp(blocks)[..., :n, n:]


matrix_exp.vjp(x=lambda g, x: _change_of_exp(transposed(x), g))
matrix_exp.jvp(lambda x_dot, x: _change_of_exp(x, x_dot))


@general(result="float", node="LinalgCholeskyExBackward0")
def cholesky(x):
    """z = the lower triangle for which z @ zᵀ = x        dL/dx = z**-ᵀ @ lower(zᵀ @ g) @ z**-1, symmetric

    lower(m) is the lower triangle of m with the diagonal halved.
    """
    return factored(_hermitian(x))


def _lower(m):
    return (np.tril(m) + np.tril(m, -1)) * 0.5


def _cholesky_dx(g, z):
    z_inverse = inverse(z)
    return symmetric(transposed(z_inverse) @ _lower(transposed(z) @ g) @ z_inverse)


cholesky.vjp(x=_cholesky_dx)
cholesky.jvp(lambda x_dot, z: z @ _lower(inverse(z) @ symmetric(x_dot) @ transposed(inverse(z))))


# ------------------------------------------------------------- symmetric matrices
#
# Eigenvalues and eigenvectors are two ops, and the rule of each one uses the other. This costs
# a second decomposition but keeps both rules short and differentiable any number of times.


@general(result="float", node="LinalgEighBackward0")
def eigenvalues(x):
    """z = the eigenvalues of symmetric x in ascending order        dL/dx = v @ diag(g) @ vᵀ, v the eigenvectors"""
    return np.linalg.eigvalsh(_finite("eigh", _hermitian(x)))


def _eigenvalues_dx(g, x):
    v = eigenvectors(x)
    return matmul(v * as_rows(g), transposed(v))


eigenvalues.vjp(x=_eigenvalues_dx)
eigenvalues.jvp(lambda x_dot, x:
                    np.diagonal(transposed(eigenvectors(x)) @ symmetric(x_dot) @ eigenvectors(x), 0, -2, -1))


@general(result="float", node="LinalgEighBackward0")
def eigenvectors(x):
    """z = the eigenvectors of symmetric x, as columns        dL/dx = z @ (f * (zᵀ @ g)) @ zᵀ, symmetric

    f[i, j] is 1 / (w[j] - w[i]), where w are the eigenvalues, and 0 on the diagonal. If two
    eigenvalues are equal, their eigenvectors are not unique, and the gradient is infinite.
    """
    return np.linalg.eigh(_finite("eigh", _hermitian(x)))[1]


def _gaps(w):
    """1 / (w[j] - w[i]), and 0 on the diagonal."""
    one = np.eye(w.shape[-1], dtype=w.dtype)
    return (1 - one) / (as_rows(w) - w[..., :, None] + one)


eigenvectors.vjp(x=lambda g, x, z: symmetric(z @ (_gaps(eigenvalues(x)) * (transposed(z) @ g)) @ transposed(z)))
eigenvectors.jvp(lambda x_dot, x, z: z @ (_gaps(eigenvalues(x)) * (transposed(z) @ symmetric(x_dot) @ z)))


# --------------------------------------------------------------------- any matrix


@general(result="float", node="LinalgSvdBackward0")
def singular_values(x):
    """z = the singular values of x in descending order        dL/dx = u @ diag(g) @ vᵀ, with x = u @ diag(z) @ vᵀ"""
    return np.linalg.svd(_finite("svd", x), compute_uv=False)


singular_values.vjp(x=lambda g, x: matmul(left_vectors(x) * as_rows(g), transposed(right_vectors(x))))
singular_values.jvp(lambda x_dot, x: np.sum(left_vectors(x) * (x_dot @ right_vectors(x)), axis=-2))


@general(result="float", node="LinalgSvdBackward0")
def left_vectors(x):
    """z = u, with x = u @ diag(s) @ vᵀ        dL/dx = (u @ (f * (uᵀg - gᵀu)) @ diag(s) + (1 - u uᵀ) @ g @ diag(1 / s)) @ vᵀ

    f[i, j] is 1 / (s[j]**2 - s[i]**2), and 0 on the diagonal. If two singular values are
    equal, their vectors are not unique, and the gradient is infinite.
    """
    return np.linalg.svd(_finite("svd", x), full_matrices=False)[0]


@general(result="float", node="LinalgSvdBackward0")
def right_vectors(x):
    """z = v, with x = u @ diag(s) @ vᵀ        dL/dx = (the rule of left_vectors, applied to xᵀ)ᵀ"""
    return transposed(np.linalg.svd(_finite("svd", x), full_matrices=False)[2])


def _vectors_dx(g, u, s, v):
    """The gradient with respect to x, from the gradient with respect to u.

    For a gradient with respect to v, swap u and v and transpose the result.
    """
    inner = u @ (_gaps(s * s) * (transposed(u) @ g - transposed(g) @ u)) * as_rows(s)
    outer = (g - u @ (transposed(u) @ g)) / as_rows(s)
    return (inner + outer) @ transposed(v)


def _vectors_dot(x_dot, u, s, v):
    """The tangent of u. To get the tangent of v, transpose x_dot and swap u and v."""
    p = transposed(u) @ x_dot @ v
    inner = u @ (_gaps(s * s) * (p * as_rows(s) + transposed(p * as_rows(s))))
    return inner + (x_dot @ v - u @ p) / as_rows(s)


left_vectors.vjp(x=lambda g, x, z: _vectors_dx(g, z, singular_values(x), right_vectors(x)))
left_vectors.jvp(lambda x_dot, x, z: _vectors_dot(x_dot, z, singular_values(x), right_vectors(x)))
right_vectors.vjp(x=lambda g, x, z: transposed(_vectors_dx(g, z, singular_values(x), left_vectors(x))))
right_vectors.jvp(lambda x_dot, x, z: _vectors_dot(transposed(x_dot), z, singular_values(x), left_vectors(x)))


@general(result="float")
def linalg_pinv(x, *, rcond):
    """z = x**+, the pseudoinverse        dL/dx = -zᵀ g zᵀ + (1 - x z) gᵀ z zᵀ + zᵀ z gᵀ (1 - z x)

    Singular values below rcond times the largest count as 0.

    Source: Golub and Pereyra, The Differentiation of Pseudo-Inverses (1973).
    """
    return np.linalg.pinv(_finite("svd", x), rcond)


def _pinv_dx(g, x, z):
    g, zt = transposed(g), transposed(z)
    beside, above = g @ z @ zt, zt @ z @ g
    return -(zt @ transposed(g) @ zt) + beside - x @ (z @ beside) + above - (above @ z) @ x


def _pinv_dot(x_dot, x, z):
    d, zt = transposed(x_dot), transposed(z)
    beside, above = z @ zt @ d, d @ zt @ z
    return -(z @ x_dot @ z) + beside - (beside @ x) @ z + above - z @ (x @ above)


linalg_pinv.vjp(x=_pinv_dx).jvp(_pinv_dot)


# ------------------------------------------------------------- QR decomposition


@general(result="float", node="LinalgQrBackward0")
def q_factor(x):
    """z = q, with x = q @ r and qᵀ @ q = 1        dL/dx = (g - q @ mirrored(gᵀ @ q)) @ r**-ᵀ

    mirrored(m) is the symmetric matrix with the lower triangle of m. x must have at least as
    many rows as columns.

    Source: Walter and Lehmann, On Evaluating Higher-Order Derivatives of the QR Decomposition (2010).
    """
    return np.linalg.qr(x)[0]


@general(result="float", node="LinalgQrBackward0")
def r_factor(x):
    """z = r, with x = q @ r and r upper triangular        dL/dx = q @ mirrored(r @ gᵀ) @ r**-ᵀ"""
    return np.linalg.qr(x)[1]


def _mirrored(m):
    lower = np.tril(m, -1)
    return np.tril(m) + transposed(lower)


def _skew(x_dot, q, r):
    """c = x_dot @ r**-1, and the upper triangular matrix t for which qᵀ @ c - t is skew-symmetric."""
    c = x_dot @ inverse(r)
    inside = transposed(q) @ c
    lower = np.tril(inside, -1)
    return c, inside - lower + transposed(lower)


q_factor.vjp(x=lambda g, x, z: (g - z @ _mirrored(transposed(g) @ z)) @ transposed(inverse(r_factor(x))))
q_factor.jvp(lambda x_dot, x, z: _q_dot(z, *_skew(x_dot, z, r_factor(x))))
r_factor.vjp(x=lambda g, x, z: q_factor(x) @ _mirrored(z @ transposed(g)) @ transposed(inverse(z)))
r_factor.jvp(lambda x_dot, x, z: _skew(x_dot, q_factor(x), z)[1] @ z)


def _q_dot(q, c, triangle):
    return c - q @ triangle
