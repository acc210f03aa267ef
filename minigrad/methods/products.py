"""Products of vectors and matrices."""

import math
from typing import Any, NamedTuple, Self

import numpy as np

from minigrad import ops
from minigrad.core.errors import LinAlgError
from minigrad.core.shapes import normalize_one
from minigrad.methods.arrangement import Arrangement
from minigrad.methods.base import Base, Operand, scaled
from minigrad.ops.composites import level
from minigrad.return_types import svd


class Products(Arrangement):
    """Sums of products."""

    __slots__ = ()

    def mm(self, mat2: Operand) -> Self:
        """The product of two matrices: x of shape (n, k) and mat2 of (k, m) give (n, m).

        Raises RuntimeError for other shapes; x @ y multiplies vectors and stacks of matrices, too.

        >>> x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.mm(minigrad.eye(2) * 10)
        tensor([[10., 20.],
                [30., 40.]])
        """
        return ops.mm.apply(*matrices("mm", self, mat2, 2, 2))

    def bmm(self, mat2: Operand) -> Self:
        """The products of two stacks of matrices: (b, n, k) and (b, k, m) give (b, n, m).

        >>> minigrad.ones(3, 2, 4).bmm(minigrad.ones(3, 4, 5)).shape
        minigrad.Size([3, 2, 5])
        """
        return ops.bmm.apply(*matrices("bmm", self, mat2, 3, 3))

    def mv(self, vec: Operand) -> Self:
        """A matrix times a vector: x of shape (n, k) and vec of (k,) give (n,).

        >>> minigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).mv(minigrad.tensor([1.0, 10.0]))
        tensor([21., 43.])
        """
        return ops.mv.apply(*matrices("mv", self, vec, 2, 1))

    def dot(self, tensor: Operand) -> Self:
        """The sum of the products of the entries of two vectors of one length: a tensor without axes.

        >>> minigrad.tensor([1.0, 2.0]).dot(minigrad.tensor([3.0, 4.0]))
        tensor(11.)
        """
        return ops.dot.apply(*matrices("dot", self, tensor, 1, 1))

    def outer(self, vec2: Operand) -> Self:
        """The matrix of all products of an entry of x and one of vec2: (n,) and (m,) give (n, m).

        >>> minigrad.tensor([1, 2]).outer(minigrad.tensor([10, 20, 30]))
        tensor([[10, 20, 30],
                [20, 40, 60]])
        """
        if self.ndim != 1 or vec2.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument self, but got {self.ndim}-D and {vec2.ndim}-D")
        return self.unsqueeze(1) * vec2

    def inner(self, other: Operand) -> Self:
        """The sum of products over the last axis of both: (..., n) and (---, n) give (..., ---).

        Of vectors, the dot product. A single number is multiplied with each entry.

        >>> minigrad.tensor([[1, 2], [3, 4]]).inner(minigrad.tensor([10, 1]))
        tensor([12, 34])
        """
        return self * other if not self.ndim or not other.ndim else tensordot(self, other, ([-1], [-1]))

    def tensordot(self, other: Operand, dims: Any = 2) -> Self:
        """The sum of products over pairs of axes, the rest of x's axes first, then the rest of other's.

        dims   how many: the last axes of x with the first ones of other; or two lists of axes, paired in order
        dims=1 is the product of matrices, dims=0 that of all entries with all.

        >>> x, y = minigrad.ones(2, 3, 4), minigrad.ones(4, 3, 5)
        >>> x.tensordot(y, dims=([1, 2], [1, 0])).shape
        minigrad.Size([2, 5])
        """
        return tensordot(self, other, dims)

    def vdot(self, other: Operand) -> Self:
        """The dot product of two vectors of the same length; of real numbers, x.dot(other).

        >>> minigrad.tensor([1, 2]).vdot(minigrad.tensor([3, 4]))
        tensor(11)
        """
        return ops.dot.apply(*matrices("vdot", self, other, 1, 1))

    def cross(self, other: Operand, dim: int | None = None) -> Self:
        """The cross product of the vectors along dim, which has size 3: at right angles to both.

        Without dim, it is the first axis of size 3. The other axes are broadcast.

        >>> minigrad.tensor([1, 0, 0]).cross(minigrad.tensor([0, 1, 0]))
        tensor([0, 0, 1])
        """
        if dim is None:
            if 3 not in self.shape:
                raise RuntimeError("no dimension of size 3 in input")
            dim = self.shape.index(3)
        axis = normalize_one(dim, self.ndim)
        if self.shape[axis] != 3 or other.shape[normalize_one(dim, other.ndim)] != 3:
            raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[axis]} and {other.shape[axis]}")
        # z[i] = x[i + 1] * y[i + 2] - x[i + 2] * y[i + 1], where 3 stands for 0 again
        return (self * other.roll(-1, dim) - self.roll(-1, dim) * other).roll(-1, dim)

    def kron(self, other: Operand) -> Self:
        """Kronecker's product: each entry of x times the whole of other, side by side.

        The sizes multiply: (n, m) and (k, l) give (n * k, m * l).

        >>> minigrad.tensor([[1, 2]]).kron(minigrad.tensor([[1, 1], [0, 1]]))
        tensor([[1, 1, 2, 2],
                [0, 1, 0, 2]])
        """
        for name, z in (("self", self), ("other", other)):
            if not isinstance(z, Base):
                raise TypeError(f"kron(): argument '{name}' must be Tensor, not {type(z).__name__}")
        n = max(self.ndim, other.ndim)
        a, b = ((1,) * (n - z.ndim) + tuple(z.shape) for z in (self, other))
        shapes = tuple([m for k in a for m in (k, 1)]), tuple([m for k in b for m in (1, k)])
        whole = ops.reshape.apply(self, shape=shapes[0]) * ops.reshape.apply(other, shape=shapes[1])
        return ops.unsafe_view.apply(whole, shape=tuple([i * j for i, j in zip(a, b, strict=True)]))

    def det(self) -> Self:
        """The determinant of a matrix (n, n), or of each of a stack (..., n, n). The shape is x.shape[:-2].

        >>> minigrad.tensor([[1.0, 2.0], [3.0, 5.0]]).det().round()
        tensor(-1.)
        """
        return ops.det.apply(square("det", self))

    def slogdet(self) -> Any:
        """(sign, logabsdet): the sign of the determinant, and the logarithm of its absolute value.

        x is a square matrix, or a batch of them: (..., n, n). It is finite where det() would overflow.

        >>> sign, logabsdet = minigrad.tensor([[0.0, 1.0], [1.0, 0.0]]).slogdet()
        >>> sign, logabsdet
        (tensor(-1.), tensor(0.))
        """
        x: Any = square("slogdet", self)
        sign = np.asarray(np.linalg.slogdet(x.array)[0])
        return SlogDet(level(x.sum((-2, -1)), x._constant(sign)), ops.logabsdet.apply(x))

    def logdet(self) -> Self:
        """The logarithm of the determinant of a square matrix, or of a batch of them; NaN if that is negative.

        >>> minigrad.tensor([[1.0, 5.0], [0.0, 1.0]]).logdet()
        tensor(0.)
        """
        sign, z = self.slogdet()
        return z if (sign.array >= 0).all() else z.masked_fill(sign < 0, np.nan)

    def inverse(self) -> Self:
        """The inverse of a matrix (n, n), or of each of a stack.

        Raises LinAlgError for a singular matrix. To solve equations, linalg.solve is quicker and more precise.

        >>> minigrad.tensor([[2.0, 0.0], [0.0, 4.0]]).inverse()
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
        """
        return decomposed("inv", ops.inverse, "The inversion could not be completed because the input matrix is singular.", square("inv", self))

    def cholesky(self, upper: bool = False) -> Self:
        """The triangular matrix L with x = L @ L.T, of a symmetric, positive definite x of shape (..., n, n).

        upper   give L.T instead

        Raises LinAlgError if x is not positive definite.

        >>> minigrad.tensor([[4.0, 2.0], [2.0, 5.0]]).cholesky()
        tensor([[2., 0.],
                [1., 2.]])
        """
        z = decomposed("cholesky", ops.cholesky, "The factorization could not be completed because the input is not positive-definite.", one_triangle(square("cholesky", self), "U" if upper else "L"))
        return ops.transpose.apply(z, axis0=z.ndim - 2, axis1=z.ndim - 1) if upper else z

    def matrix_power(self, n: int) -> Self:
        """x @ x @ ... @ x, n times, of a square matrix or a batch of them: (..., n, n).

        n = 0 gives the identity; a negative n the power of the inverse.

        >>> minigrad.tensor([[1.0, 1.0], [0.0, 1.0]]).matrix_power(5)
        tensor([[1., 5.],
                [0., 1.]])
        """
        x: Any = square("matrix_power", self)
        if n < 0:
            return x.inverse().matrix_power(-n)
        if n == 0:
            return level(x, x._constant(np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)))
        if n == 1:
            return x.clone()
        half = x.matrix_power(n // 2)
        return half @ half @ x if n % 2 else half @ half

    def trace(self) -> Self:
        """The sum of the diagonal of a matrix: a tensor without axes.

        >>> minigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).trace()
        tensor(5.)
        """
        if self.ndim != 2:
            raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
        return ops.trace.apply(self)

    def addmm(self, mat1: Operand, mat2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """beta * x + alpha * (mat1 @ mat2), for matrices. x is broadcast to the product's shape.

        >>> minigrad.ones(2).addmm(minigrad.eye(2), minigrad.eye(2), alpha=10)
        tensor([[11.,  1.],
                [ 1., 11.]])
        """
        return ops.addmm.apply(self, *matrices("addmm", mat1, mat2, 2, 2), beta=beta, alpha=alpha)

    def addmv(self, mat: Operand, vec: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """beta * x + alpha * (mat @ vec), for a matrix and a vector. x is broadcast to the product's shape.

        >>> minigrad.ones(2).addmv(minigrad.eye(2), minigrad.tensor([1.0, 2.0]))
        tensor([2., 3.])
        """
        return ops.addmv.apply(self, *matrices("addmv", mat, vec, 2, 1), **factors(self, beta, alpha))

    def baddbmm(self, batch1: Operand, batch2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """beta * x + alpha * (batch1 @ batch2), for stacks of matrices. x is broadcast to the products' shape.

        >>> minigrad.ones(1).baddbmm(minigrad.ones(3, 1, 2), minigrad.ones(3, 2, 1)).shape
        minigrad.Size([3, 1, 1])
        """
        return ops.baddbmm.apply(self, *matrices("baddbmm", batch1, batch2, 3, 3), **factors(self, beta, alpha))

    def addbmm(self, batch1: Operand, batch2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """beta * x + alpha * (the sum over the batch of batch1 @ batch2).

        batch1   (b, n, k)      batch2   (b, k, m)      x   broadcast to (n, m)
        With beta=0, x does not count, even if it is NaN.

        >>> minigrad.zeros(2, 2).addbmm(minigrad.ones(3, 2, 4), minigrad.ones(3, 4, 2))
        tensor([[12., 12.],
                [12., 12.]])
        """
        product, by = ops.bmm.apply(*matrices("addbmm", batch1, batch2, 3, 3)), factors(self, beta, alpha)
        return weighted_sum(self, by["beta"], product.sum(0, dtype=product.dtype), by["alpha"])

    def addr(self, vec1: Operand, vec2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """beta * x + alpha * vec1.outer(vec2), for x broadcast to (n, m).

        >>> minigrad.ones(2, 2).addr(minigrad.tensor([1.0, 2.0]), minigrad.tensor([1.0, 3.0]))
        tensor([[2., 4.],
                [3., 7.]])
        """
        return weighted_sum(self, beta, vec1.outer(vec2), alpha)

    def svd(self, some: Any = True, compute_uv: Any = True) -> Any:
        """(U, S, V), the singular value decomposition: x = U @ S.diag() @ V.T, with S in descending order.

        some         False: U and V are square
        compute_uv   False: S alone, and zeros for U and V
        linalg.svd gives V transposed.

        >>> U, S, V = minigrad.tensor([[0.0, 2.0], [3.0, 0.0]]).svd()
        >>> S.round()
        tensor([3., 2.])
        """
        square("svd", self, must=False)
        if not compute_uv:
            u, v = (self.new_zeros(*self.shape[:-2], n, n) for n in self.shape[-2:])
            return svd(u, ops.singular_values.apply(self), v)
        return svd(*svd_of(self, not some))

    def pinverse(self, rcond: Any = 1e-15) -> Self:
        """The pseudoinverse (Moore and Penrose) of a matrix or a batch of them: (..., n, m) gives (..., m, n).

        Of an invertible matrix it is the inverse. Singular values below rcond times the greatest count as 0.

        >>> minigrad.tensor([[3.0], [4.0]]).pinverse()
        tensor([[0.1200, 0.1600]])
        """
        return ops.pinv.apply(square("pinv", self, must=False), rcond=rcond)

    def matrix_exp(self) -> Self:
        """The exponential of a square matrix, or of a batch of them: 1 + x + x @ x / 2! + ...

        It is not x.exp(), which takes each entry by itself. x is halved until its norm is below 1/2, where 18 terms
        are enough, and the result is squared as often.

        Source: Moler and Van Loan, Nineteen dubious ways to compute the exponential (1978).

        >>> minigrad.tensor([[0.0, 1.0], [0.0, 0.0]]).matrix_exp()
        tensor([[1., 1.],
                [0., 1.]])
        """
        if self.ndim < 2 or self.shape[-1] != self.shape[-2]:
            raise RuntimeError(f"linalg.matrix_exp: A must be batches of square matrices, but they are {' by '.join(map(str, self.shape[-2:]))} matrices")
        length = float(np.abs(self.array).sum(-1).max(initial=0))
        halvings = max(0, math.ceil(math.log2(length)) + 1) if length > 0.5 and math.isfinite(length) else 0
        y = self / 2**halvings
        one = self._constant(np.broadcast_to(np.eye(self.shape[-1], dtype=self.dtype), self.shape).copy())
        z = one + y / 18
        for k in range(17, 0, -1):  # Horner's rule
            z = one + y @ z / k
        for _ in range(halvings):
            z = z @ z
        return z


def factors(x: Any, beta: Any, alpha: Any) -> dict[str, Any]:
    """beta and alpha as the products of x's type take them: of whole numbers, cut to whole numbers."""
    if x.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    return {"beta": beta, "alpha": alpha}


def weighted_sum(x: Any, beta: Any, y: Any, alpha: Any) -> Any:
    """beta * x + alpha * y, where x may be smaller; with beta 0, x does not count, even if it is NaN."""
    y = scaled(y, alpha)
    return y if not isinstance(beta, Base) and beta == 0 else scaled(x, beta) + y


class SlogDet(NamedTuple):
    """A determinant, as its sign and the logarithm of its size."""

    sign: Any
    logabsdet: Any


def square(name: str, x: Any, must: bool = True) -> Any:
    """The matrices, if they are square and of real numbers."""
    if x.ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if must and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(f"linalg.{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices")
    if x.dtype.kind not in "fc":
        raise RuntimeError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {x.dtype}. To fix it, use x.float().")
    return x


def decomposed(name: str, op: Any, why: str, *operands: Any) -> Any:
    """The op's result; if NumPy gives up, the reason in PyTorch's words."""
    try:
        return op.apply(*operands)
    except RuntimeError as error:
        if not any(word in str(error) for word in ("Singular", "definite", "converge")):
            raise
        raise LinAlgError(f"linalg.{name}: {why}") from None


def matrices(name: str, x: Any, y: Any, x_ndim: int, y_ndim: int) -> tuple[Any, Any]:
    """The two factors, if they have the number of axes that this product asks for."""
    if x.ndim != x_ndim or y.ndim != y_ndim:
        words = {1: "vector", 2: "matrix", 3: "3D tensor"}
        which = ("self", x_ndim, x) if x.ndim != x_ndim else ("mat2", y_ndim, y)
        raise RuntimeError(
            f"{name}: {which[0]} must be a {words[which[1]]}, {which[1]}D tensor expected, but got a {which[2].ndim}D tensor of shape {tuple(which[2].shape)}."
        )
    if name == "dot" and x.shape != y.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{x.numel()}] and src [{y.numel()}] to have the same number of elements, but got {x.numel()} and {y.numel()} elements respectively")
    if x_ndim == 3 and x.shape[0] != y.shape[0]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] but got: [{y.shape[0]}, {y.shape[1]}].")
    return x, y


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """The sum over pairs of axes of a and b: one matrix product of rearranged arrays."""
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims >= 0 and not more than the axes of a or b, but got dims={dims}")
        dims = (range(a.ndim - dims, a.ndim), range(dims))
    of_a, of_b = ([normalize_one(i, x.ndim) for i in (d.tolist() if hasattr(d, "tolist") else [d] if isinstance(d, int) else d)] for x, d in zip((a, b), dims, strict=True))
    if len(of_a) != len(of_b):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(of_a, of_b, strict=True):
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size {b.shape[j]} in dim {j}")
    for axes in (of_a, of_b):
        if len(set(axes)) < len(axes):
            raise RuntimeError(f"tensordot: dim {axes[0]} appears multiple times in the list of dims {axes}.")
    left = [i for i in range(a.ndim) if i not in of_a]
    right = [j for j in range(b.ndim) if j not in of_b]
    shape = tuple(a.shape[i] for i in left) + tuple(b.shape[j] for j in right)
    n = 1
    for i in of_a:
        n *= a.shape[i]
    rows, columns = (max(x.numel() // n, 0) if n else int(np.prod([x.shape[i] for i in d])) for x, d in ((a, left), (b, right)))
    a, b = ops.permute.apply(a, axes=(*left, *of_a)), ops.permute.apply(b, axes=(*of_b, *right))
    a, b = ops.reshape.apply(a, shape=(rows, n)), ops.reshape.apply(b, shape=(n, columns))
    return ops.reshape.apply(ops.mm.apply(a, b), shape=shape)


def svd_of(x: Any, full: bool) -> Any:
    """u, s and v with x = u @ diag(s) @ vᵀ; if full, u and v are bases of the whole spaces."""
    u, v = ops.left_vectors.apply(x), ops.right_vectors.apply(x)
    if full and x.shape[-1] != x.shape[-2]:
        whole, _, turned = np.linalg.svd(x.array)
        u, v = (completed(thin, basis) for thin, basis in ((u, whole), (v, np.swapaxes(turned, -1, -2))))
    return u, ops.singular_values.apply(x), v


def completed(thin: Any, basis: Any) -> Any:
    """The columns of `thin`, and after them those that the basis of the whole space has in addition."""
    k = thin.shape[-1]
    return ops.cat(thin, thin._constant(basis[..., k:].copy()), axis=thin.ndim - 1) if basis.shape[-1] > k else thin


def one_triangle(x: Any, which: str) -> Any:
    """The symmetric matrices whose lower ("L") or upper ("U") triangle is that of x.

    The other triangle is not read; the gradient is that of a whole matrix, as in PyTorch.
    """
    if which not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {which}")
    inside = np.tri(x.shape[-1], dtype=bool)
    array = x.array
    whole = np.where(inside if which in "Ll" else inside.T, array, np.swapaxes(array, -1, -2))
    return x if (whole == array).all() else x - x.detach() + x._constant(whole)
