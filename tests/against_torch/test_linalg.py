"""Linear algebra: minigrad and PyTorch agree, to the second derivative where there is one."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from tests.against_torch.agree import check, draw

A = draw(3, 3) + 3 * np.eye(3)
STACK = draw(2, 2, 2) + 3 * np.eye(2)
S = A @ A.T + np.eye(3)
W = draw(3, 2)
INF = float("inf")


def both(x):
    """Symmetric, as far as the two libraries can tell."""
    return (x + x.mT) / 2


CASES = {
    "inv": (lambda m, a: m.linalg.inv(a), A), "inv of a stack": (lambda m, a: m.inverse(a), STACK), "inverse": (lambda m, a: a.inverse(), A),
    "solve": (lambda m, a, b: m.linalg.solve(a, b), A, W), "solve for a vector": (lambda m, a, b: m.linalg.solve(a, b), A, draw(3)), "solve from the right": (lambda m, a, b: m.linalg.solve(a, b, left=False), A, W.T), "solve a stack": (lambda m, a, b: m.linalg.solve(a, b), STACK, draw(2, 2)), "solve one for a stack": (lambda m, a, b: m.linalg.solve(a, b), A, draw(2, 3, 2)),
    "upper triangle": (lambda m, a, b: m.linalg.solve_triangular(a, b, upper=True), A, W), "lower triangle": (lambda m, a, b: m.linalg.solve_triangular(a, b, upper=False), A, W), "unit triangle": (lambda m, a, b: m.linalg.solve_triangular(a, b, upper=False, unitriangular=True), A, W),
    "det": (lambda m, a: m.linalg.det(a), A), "det of a stack": (lambda m, a: m.det(a), STACK), "det method": (lambda m, a: a.det(), A), "slogdet": (lambda m, a: m.linalg.slogdet(a), A), "slogdet, negative": (lambda m, a: m.slogdet(a), A[[1, 0, 2]]), "logdet": (lambda m, a: m.logdet(a), A),
    "cholesky": (lambda m, a: m.linalg.cholesky(both(a)), S), "cholesky upper": (lambda m, a: m.linalg.cholesky(both(a), upper=True), S), "eigvalsh": (lambda m, a: m.linalg.eigvalsh(both(a)), S), "eigh, values": (lambda m, a: m.linalg.eigh(both(a)).eigenvalues, S), "eigh, projections": (lambda m, a: m.linalg.eigh(both(a)).eigenvectors ** 2, S),
    "svdvals": (lambda m, a: m.linalg.svdvals(a), W), "svdvals, wide": (lambda m, a: m.linalg.svdvals(a), W.T), "svdvals of a stack": (lambda m, a: m.linalg.svdvals(a), STACK), "matrix_rank": (lambda m, a: m.linalg.matrix_rank(a), A), **{f"cond {p}": (lambda m, a, p=p: m.linalg.cond(a, p), A) for p in (None, 2, -2, "fro", 1, -1, math.inf)}, "cond of a stack": (lambda m, a: m.linalg.cond(a), STACK), "matrix_rank, less": (lambda m, a: m.linalg.matrix_rank(a), np.ones((3, 4))),
    "tensorinv": (lambda m, a: m.linalg.tensorinv(a.reshape(3, 1, 3), ind=1), A), "tensorsolve": (lambda m, a, b: m.linalg.tensorsolve(a.reshape(3, 1, 3, 1), b), A, draw(3, 1)), "tensorsolve along": (lambda m, a, b: m.linalg.tensorsolve(a.reshape(3, 1, 3), b, dims=(0,)), A, draw(1, 3)), **{f"cond of nothing {p}": (lambda m, a, p=p: m.linalg.cond(a, p), np.zeros((2, 0, 0))) for p in (None, 2, -2, -1, "fro")}, "norm by NumPy's names": (lambda m, a: m.linalg.norm(a, axis=1, keepdims=True), W),
    "power": (lambda m, a: m.linalg.matrix_power(a, 3), A), "power 0": (lambda m, a: m.matrix_power(a, 0), A), "power -2": (lambda m, a: a.matrix_power(-2), A), "multi_dot": (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), A, W, draw(2, 4)), "multi_dot of vectors": (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), draw(3), A, draw(3, seed=1)),
    "svd, values": (lambda m, a: m.linalg.svd(a, full_matrices=False)[1], W), "svd, put together": (lambda m, a: (lambda u, s, v: u[:, :1] @ v[:1] * s[0])(*m.linalg.svd(a, full_matrices=False)), W), "svd of a square": (lambda m, a: m.linalg.svd(a)[0] ** 2, A), "svd, full": (lambda m, a: [z.abs() for z in m.linalg.svd(a.detach())][1], W), "qr": (lambda m, a: m.linalg.qr(a), W), "qr, wide": (lambda m, a: m.linalg.qr(a), W.T), "qr of a stack": (lambda m, a: m.linalg.qr(a), STACK), "pinv": (lambda m, a: m.linalg.pinv(a), W), "pinv, wide": (lambda m, a: m.linalg.pinv(a), W.T), "lstsq": (lambda m, a, b: m.linalg.lstsq(a, b).solution, W, draw(3, 4)), "lstsq, residuals": (lambda m, a, b: m.linalg.lstsq(a, b)[1:], W, draw(3, 4)),
    "norm": (lambda m, a: m.linalg.norm(a), W), "norm 2": (lambda m, a: m.linalg.norm(a, 2), W), "norm -2": (lambda m, a: m.linalg.norm(a, -2), W), "norm 1": (lambda m, a: m.linalg.norm(a, 1), W), "norm inf": (lambda m, a: m.linalg.norm(a, INF), W), "norm -1": (lambda m, a: m.linalg.norm(a, -1), W), "norm nuc": (lambda m, a: m.linalg.norm(a, "nuc"), W), "norm fro": (lambda m, a: m.linalg.norm(a, "fro"), W), "norm along": (lambda m, a: m.linalg.norm(a, 3, dim=1), W), "norm of a vector": (lambda m, a: m.linalg.norm(a, 1), draw(4)),
    "matrix_norm": (lambda m, a: m.linalg.matrix_norm(a, "nuc", keepdim=True), STACK), "matrix_norm of other axes": (lambda m, a: m.linalg.matrix_norm(a, 1, dim=(0, 2)), draw(2, 3, 4)), "vector_norm": (lambda m, a: m.linalg.vector_norm(a, 3, (0, 1)), STACK), "nuclear": (lambda m, a: m.norm(a, "nuc"), W), "nuclear of axes": (lambda m, a: a.norm("nuc", dim=(0, 2)), draw(2, 4, 3)),
    "cross": (lambda m, a, b: m.linalg.cross(a, b), draw(2, 3), draw(2, 3, seed=1)), "cross along": (lambda m, a, b: m.cross(a, b, dim=0), W, draw(3, 2, seed=1)), "vecdot": (lambda m, a, b: m.linalg.vecdot(a, b), W, draw(3, 2, seed=1)), "diagonal": (lambda m, a: m.linalg.diagonal(a), STACK), "vander": (lambda m, a: m.linalg.vander(a, N=3), draw(2, 3)), "matmul": (lambda m, a, b: m.linalg.matmul(a, b), A, W),
    "kron": (lambda m, a, b: m.kron(a, b), W, draw(2, 3)), "kron of a vector": (lambda m, a, b: m.kron(a, b), W, draw(2)), "vdot": (lambda m, a, b: m.vdot(a, b), draw(3), draw(3, seed=1)), "cov": (lambda m, a: m.cov(a), draw(3, 5)), "cov of a vector": (lambda m, a: a.cov(correction=0), draw(5)), "corrcoef": (lambda m, a: m.corrcoef(a), draw(3, 5)),
}  # fmt: skip
Z = W + 1j * draw(3, 2, seed=2)
H = Z @ Z.conj().T + np.eye(3)
COMPLEX = {
    "qr, wide": lambda m, z, h: (lambda q, r: [q @ r, r.abs()])(*m.linalg.qr(z.mT)),
    "qr": lambda m, z, h: (lambda q, r: [q @ r, r.abs()])(*m.linalg.qr(z)), "svd": lambda m, z, h: (lambda u, s, v: [(u * s) @ v, s])(*m.linalg.svd(z, full_matrices=False)), "pinv": lambda m, z, h: m.linalg.pinv(z), "pinv, hermitian": lambda m, z, h: m.linalg.pinv(h, hermitian=True), "rank, hermitian": lambda m, z, h: m.linalg.matrix_rank(z @ z.mH, hermitian=True),
    **{f"eigh {k}": lambda m, z, h, k=k: (lambda w, v: [w, (v * w) @ v.mH])(*m.linalg.eigh(h, k)) for k in "LU"}, "eigvalsh": lambda m, z, h: m.linalg.eigvalsh(h.triu(), "U"), "cholesky": lambda m, z, h: m.linalg.cholesky(h), "cholesky, upper": lambda m, z, h: m.linalg.cholesky(h, upper=True),
    **{f"cholesky_solve {k}": lambda m, z, h, k=k: m.cholesky_solve(z, m.linalg.cholesky(h, upper=k), upper=k) for k in (True, False)}, "cholesky_inverse": lambda m, z, h: m.cholesky_inverse(m.linalg.cholesky(h)), "vecdot": lambda m, z, h: m.linalg.vecdot(z, 1j * z, dim=0), "vdot": lambda m, z, h: m.vdot(z[:, 0], z[:, 1]), "residuals": lambda m, z, h: m.linalg.lstsq(z, h, driver="gelsd").residuals,
    "cond": lambda m, z, h: m.linalg.cond(h), "norms": lambda m, z, h: [m.linalg.norm(z, p) for p in (2, 1, "nuc", "fro")], "a number first": lambda m, z, h: [m.add(1j, z.real), m.pow(2j, z), m.sub(2j, 1), m.mul(2j, m.arange(3))], "cov": lambda m, z, h: m.cov(z),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_matrices_have_the_same_values(name):
    check(lambda m, *_: COMPLEX[name](m, *map(m.tensor, (Z, H))), A, order=0)


FIRST_ORDER = {
    "norm nuc": 1,
    "nuclear": 1,
    "corrcoef": 1,
}  # clamped at 1, where PyTorch's second derivative jumps
# PyTorch's cond overwrites what its own backward pass needs.
FIRST_ORDER |= dict.fromkeys(("cond fro", "cond 1", "cond -1", "cond inf"), 0)


@pytest.mark.parametrize("name", CASES)
def test_linear_algebra_agrees(name):
    case, *args = CASES[name]
    check(case, *args, order=FIRST_ORDER.get(name, 2), rtol=1e-7, dtypes=(np.float64,))
    check(case, *args, order=0)


@pytest.mark.parametrize(
    "call", ["inv(x * 0)", "solve(x * 0, x * 0)", "cholesky(-x)"], ids=["inv", "solve", "cholesky"]
)
def test_a_matrix_without_an_answer_is_a_linalg_error(call):
    with pytest.raises(minigrad.linalg.LinAlgError, match="linalg"):
        eval(f"linalg.{call}", {"linalg": minigrad.linalg, "x": minigrad.eye(2)})


def test_logdet_of_a_complex_matrix_has_the_angle_of_the_determinant():
    a = np.array([[1 + 2j, 1], [0.5j, -1 + 1j]])

    assert minigrad.tensor(a).logdet().item() == pytest.approx(torch.tensor(a).logdet().item())


@pytest.mark.parametrize(
    "call",
    [
        "t.linalg.eigh(x)", "t.linalg.svd(x)", "t.linalg.qr(x)", "t.linalg.slogdet(x)", "t.slogdet(x)", "t.linalg.lstsq(x, x.sum(1, keepdim=True))",
        "x.histogram(2)", "x.max(0)", "x.svd()", "t.aminmax(x)", "t.linalg.qr(x[:, :1], mode='complete').R", "t.linalg.qr(x, mode='r')",
        "t.einsum(x, [0, 1])", "t.einsum(x, [0, 1], [1, 0])", "t.linalg.matrix_exp(x)", "x.shape[1:]",
        "x[:, None].stride()", "x.unsqueeze(-1).stride()", "x[0].expand(1, 1, 2).stride()", "t.zeros(0, 3).stride()", "t.float_power(-2, t.tensor([1, 2, 255], dtype=t.uint8))",
        "t.special.xlog1py(t.tensor([True]), t.tensor([127], dtype=t.int8))", "t.ldexp(t.ones(2, dtype=t.float16), t.tensor([1, 2]))", "t.ldexp(t.tensor([1e-30]), t.tensor([130]))",
        "t.copysign(t.ones(2, dtype=t.float16), -x)", "t.full((2,), 6e4, dtype=t.float16).mean()", "t.full((2,), 300.0, dtype=t.float16).norm()",
        "t.div(-2, t.tensor([4], dtype=t.uint8))", "t.zeros(2, 0, 3).stride()", "t.zeros(2, 3, 4)[..., 1][:, 1:1].stride()",
    ],
)  # fmt: skip
def test_results_print_as_in_pytorch(call):
    def printed(t):
        return repr(eval(call, {"t": t, "x": t.tensor([[2.0, 1.0], [1.0, 3.0]])}))

    assert printed(minigrad) == printed(torch).replace("torch.", "minigrad.")
