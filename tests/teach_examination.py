"""Programs and wrong gradients of an examination, written without having read the diagnosis.

Each program draws its numbers from `c`, makes z of them, and states right gradients (by hand, in
NumPy) and wrong ones, with the kind of mistake an examiner would call them; "a|b" where two
kinds name the same mistake. Not all of these can be told from the numbers alone: the table is
read for what is named falsely, or not at all. Counted by teach_accuracy.py.
"""

import numpy as np

import minigrad
from minigrad import optim
from minigrad.nn import functional as F

PROGRAMS = []


class Case:
    """What a program states: z, and answers (tensor, kind or None where right, array); names of tensors."""

    def __init__(self, seed=0, dtype=np.float64):
        self.rng, self.dtype = np.random.default_rng(seed), dtype
        self.answers, self.gradient, self.names = [], None, {}

    def draw(self, *shape):
        return self.rng.normal(size=shape).astype(self.dtype)

    def positive(self, *shape):
        return self.rng.uniform(0.5, 2, size=shape).astype(self.dtype)

    def leaf(self, a):
        return minigrad.tensor(np.array(a), requires_grad=True)

    def right(self, x, a):
        self.answers.append((x, None, np.array(a)))

    def wrong(self, x, **kinds):
        for kind, a in kinds.items():
            self.answers.append((x, kind.replace("_or_", "|").rstrip("0123456789"), np.array(a)))


def program(f):
    PROGRAMS.append(f)
    return f


def T(a):
    return minigrad.tensor(np.array(a))


def soft(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sig(x):
    return 1 / (1 + np.exp(-x))


@program
def normalized(c):
    v, w = c.draw(4), c.draw(4)
    a, b = c.leaf(v), c.leaf(w)
    c.z = (a / a.norm() * b).sum()
    n = np.sqrt((v**2).sum())
    c.right(a, w / n - v * (v @ w) / n**3)
    c.right(b, v / n)
    c.wrong(a, missing_path=w / n, missing_path2=-v * (v @ w) / n**3,
            sign=w / n + v * (v @ w) / n**3, other_variable=v / n,
            scale=2 * (w / n - v * (v @ w) / n**3))


@program
def distances(c):
    a, b, W = c.draw(4, 2), c.draw(4, 2), c.draw(4, 4)
    p, q = c.leaf(a), c.leaf(b)
    d = a[:, None] - b[None]
    D = ((p.unsqueeze(1) - q.unsqueeze(0)) ** 2).sum(dim=2)
    c.z = (D * T(W)).sum()
    g = 2 * W[:, :, None] * d
    c.right(p, g.sum(1))
    c.right(q, -g.sum(0))
    c.wrong(p, sign=-g.sum(1), scale=g.sum(1) / 2, reduction_axis=g.sum(0), broadcast_not_summed=g,
            upstream_ignored=2 * d.sum(1), other_variable=-g.sum(0))
    c.wrong(q, sign=g.sum(0), reduction_axis=-g.sum(1), upstream_ignored=-2 * d.sum(0))


@program
def euclid(c):
    a, b = c.draw(4, 3), c.draw(5, 3)
    p = c.leaf(a)
    d = a[:, None] - b[None]
    D = np.sqrt((d**2).sum(-1))
    c.z = ((p[:, None] - T(b)[None]) ** 2).sum(-1).sqrt().mean()
    c.right(p, (d / D[..., None]).sum(1) / 20)
    c.wrong(p, mean_for_sum=(d / D[..., None]).sum(1),
            wrong_argument=(d / (D**2)[..., None]).sum(1) / 20,
            scale=(d / D[..., None]).sum(1) / 40, forgot_inner=2 * d.sum(1) / 20,
            sign=-(d / D[..., None]).sum(1) / 20)


@program
def polynomial(c):
    x, w, y = c.draw(5), c.draw(3), c.draw(5)
    a, b = c.leaf(x), c.leaf(w)
    P = minigrad.stack([a, a**2, a**3], dim=1)
    c.z = ((P @ b - T(y)) ** 2).sum()
    N = np.stack([x, x**2, x**3], 1)
    r = N @ w - y
    full = 2 * r * (w[0] + 2 * w[1] * x + 3 * w[2] * x**2)
    c.right(a, full)
    c.right(b, 2 * N.T @ r)
    c.right(P, 2 * np.outer(r, w))
    c.wrong(a, missing_path=2 * r * (w[0] + 2 * w[1] * x),
            missing_path2=2 * r * (2 * w[1] * x + 3 * w[2] * x**2),
            upstream_ignored=w[0] + 2 * w[1] * x + 3 * w[2] * x**2, sign=-full, scale=full / 2)
    c.wrong(b, sign=-2 * N.T @ r, scale=N.T @ r, mean_for_sum=2 * N.T @ r / 5,
            shape=(2 * N.T @ r)[:, None])
    c.wrong(P, scale=np.outer(r, w), upstream_only=np.outer(2 * r, np.ones(3)))


@program
def attention(c):
    n, d = 4, 3
    q, k, v, W = c.draw(n, d), c.draw(n, d), c.draw(n, d), c.draw(n, d)
    Q, K, V = c.leaf(q), c.leaf(k), c.leaf(v)
    A = minigrad.softmax(Q @ K.T / d**0.5, dim=-1)
    c.z = (A @ V * T(W)).sum()
    a = soft(q @ k.T / d**0.5)
    dA = W @ v.T
    dS = a * (dA - (a * dA).sum(-1, keepdims=True))
    bad = a * (1 - a) * dA
    c.right(V, a.T @ W)
    c.right(A, dA)
    c.right(Q, dS @ k / d**0.5)
    c.right(K, dS.T @ q / d**0.5)
    c.wrong(V, transposed=a @ W, upstream_only=W,
            softmax_diagonal_only_or_other_variable=dS @ k / d**0.5)
    c.wrong(Q, forgot_inner_or_scale=dS @ k, softmax_diagonal_only=bad @ k / d**0.5,
            transposed=dS.T @ k / d**0.5, other_variable=dS.T @ q / d**0.5,
            upstream_only=dA @ k / d**0.5)
    c.wrong(K, transposed=dS @ q / d**0.5, softmax_diagonal_only=bad.T @ q / d**0.5,
            scale=dS.T @ q / d)


@program
def gated(c):
    x, u, v, w = c.draw(4, 3), c.draw(3, 3), c.draw(3, 3), c.draw(4, 3)
    X, U, V = c.leaf(x), c.leaf(u), c.leaf(v)
    c.z = (minigrad.sigmoid(X @ U) * minigrad.tanh(X @ V) * T(w)).sum()
    s, t = sig(x @ u), np.tanh(x @ v)
    gs, gt = w * t * s * (1 - s), w * s * (1 - t * t)
    c.right(U, x.T @ gs)
    c.right(V, x.T @ gt)
    c.right(X, gs @ u.T + gt @ v.T)
    c.wrong(U, wrong_argument=x.T @ (w * t * (x @ u) * (1 - x @ u)),
            wrong_argument2=x.T @ (w * t * sig(s) * (1 - sig(s))),
            swapped_operands=x.T @ (w * s * s * (1 - s)), transposed=(x.T @ gs).T,
            forgot_inner=x.T @ (w * t))
    c.wrong(V, wrong_argument=x.T @ (w * s * (1 - (x @ v) ** 2)), other_variable=x.T @ gs,
            upstream_ignored=x.T @ (1 - t * t))
    c.wrong(X, missing_path=gs @ u.T, missing_path2=gt @ v.T, transposed=gs @ u + gt @ v.T,
            double_counted=2 * gs @ u.T + gt @ v.T)


@program
def running_product(c):
    x, w = c.positive(4), c.draw(4)
    X = c.leaf(x)
    c.z, p = 0.0, 1.0
    for i in range(4):
        p = p * X[i]
        c.z = c.z + p * w[i]
    P = np.cumprod(x)
    g = np.array([(w * P)[i:].sum() / x[i] for i in range(4)])
    c.right(X, g)
    c.wrong(X, missing_path=P[-1] * w[-1] / x, sign=-g, missing_path2=w * P / x,
            upstream_ignored_or_missing_path=np.array([P[i:].sum() / x[i] for i in range(4)]))


@program
def cumulative(c):
    x, w = c.positive(5), c.draw(5)
    X = c.leaf(x)
    c.z = (X.cumsum(0) ** 2 * T(w)).sum()
    s = np.cumsum(x)
    g = 2 * s * w
    c.right(X, g[::-1].cumsum()[::-1])
    c.wrong(X, tangent_for_gradient_or_transposed=g.cumsum(), upstream_only=g,
            scale=g[::-1].cumsum()[::-1] / 2, upstream_ignored=(2 * s)[::-1].cumsum()[::-1],
            wrong_argument=(2 * x * w)[::-1].cumsum()[::-1])


@program
def huber(c):
    x, y = 2 * c.draw(8), c.draw(8)
    X = c.leaf(x)
    r = X - T(y)
    c.z = minigrad.where(r.abs() < 1, 0.5 * r**2, r.abs() - 0.5).mean()
    d = x - y
    near = np.abs(d) < 1
    g = np.where(near, d, np.sign(d)) / 8
    c.right(X, g)
    c.right(r, g)
    c.wrong(X, mask_inverted=np.where(near, np.sign(d), d) / 8, mask_missing=d / 8,
            mask_missing2=np.sign(d) / 8, missing_path=np.where(near, d, 0) / 8, mean_for_sum=g * 8,
            sign=-g)
    c.wrong(r, sign=np.where(near, d, -np.sign(d)) / 8, scale=g / 2)


@program
def chain_of_matrices(c):
    a, b, d, w = (c.draw(3, 3) for _ in range(4))
    A, B, C = c.leaf(a), c.leaf(b), c.leaf(d)
    c.z = (A @ B @ C * T(w)).sum()
    c.right(A, w @ d.T @ b.T)
    c.right(B, a.T @ w @ d.T)
    c.right(C, b.T @ a.T @ w)
    c.wrong(A, transposed=w @ d.T @ b, matmul_order=b.T @ w @ d.T, transposed2=(w @ d.T @ b.T).T,
            upstream_only=w @ d.T, upstream_ignored=np.ones((3, 3)) @ d.T @ b.T)
    c.wrong(B, transposed=a @ w @ d.T, transposed2=a.T @ w @ d, matmul_order=w @ d.T @ a.T,
            other_variable=w @ d.T @ b.T, upstream_only=w @ d.T,
            swapped_operands_or_matmul_order=d.T @ w @ a.T)
    c.wrong(C, transposed=a @ b @ w, matmul_order=w @ (a @ b).T, matmul_order2=a.T @ b.T @ w,
            other_variable=a.T @ w @ d.T)


@program
def batched_both(c):
    a, b, w = c.draw(3, 2, 4), c.draw(3, 4, 2), c.draw(3, 2, 2)
    A, B = c.leaf(a), c.leaf(b)
    y = minigrad.relu(A @ B)
    c.z = (y * T(w)).sum()
    m = a @ b > 0
    g = w * m
    c.right(A, g @ b.transpose(0, 2, 1))
    c.right(B, a.transpose(0, 2, 1) @ g)
    c.wrong(A, mask_missing=w @ b.transpose(0, 2, 1), mask_inverted=(w * ~m) @ b.transpose(0, 2, 1),
            upstream_ignored=m @ b.transpose(0, 2, 1),
            shape_or_transposed=(g @ b.transpose(0, 2, 1)).transpose(0, 2, 1))
    c.wrong(B, mask_missing=a.transpose(0, 2, 1) @ w, mask_inverted=a.transpose(0, 2, 1) @ (w * ~m),
            transposed=a.transpose(0, 2, 1) @ g.transpose(0, 2, 1),
            sign=-(a.transpose(0, 2, 1) @ g))


@program
def pieces(c):
    x, w = c.draw(5), c.draw(7)
    X = c.leaf(x)
    c.z = (minigrad.cat([X[:3] * 2, X[1:] ** 2]) * T(w)).sum()
    a, b = np.zeros(5), np.zeros(5)
    a[:3], b[1:] = 2 * w[:3], 2 * x[1:] * w[3:]
    c.right(X, a + b)
    ones = np.array([2, 2, 2, 0, 0.0])
    ones[1:] += 2 * x[1:]
    c.wrong(X, missing_path=a, missing_path2=b, double_counted=a + 2 * b, upstream_ignored=ones,
            index_not_scattered_or_missing_path=np.where(b != 0, b, a), sign=a - b)


@program
def overwritten_row(c):
    x, w = c.draw(6), c.draw(2, 3)
    X = c.leaf(x)
    y = (X * 2).reshape(3, 2)
    y[1] *= 5
    c.z = (y.t() ** 2 * T(w)).sum()
    k = np.array([[1.0], [5], [1]])
    v = 2 * x.reshape(3, 2) * k
    c.right(X, (2 * v * w.T * k * 2).reshape(-1))
    c.wrong(X, missing_path_or_stale_value_or_forgot_inner=(2 * v * w.T * 2).reshape(-1),
            transposed=(2 * v * w.reshape(3, 2) * k * 2).reshape(-1), shape=2 * v * w.T * k * 2,
            stale_value=(2 * v / k * w.T * k * 2).reshape(-1),
            upstream_ignored=(2 * v * k * 2).reshape(-1))


@program
def quadratic_form(c):
    x, y, a = c.draw(4), c.draw(4), c.draw(4, 4)
    X, A, Y = c.leaf(x), c.leaf(a), c.leaf(y)
    c.z = X @ A @ X + X @ A @ Y
    c.right(X, (a + a.T) @ x + a @ y)
    c.right(A, np.outer(x, x + y))
    c.right(Y, a.T @ x)
    c.wrong(X, missing_path=(a + a.T) @ x, missing_path2=a @ x + a @ y,
            transposed=2 * a @ x + a @ y, transposed2=(a + a.T) @ x + a.T @ y)
    c.wrong(A, transposed=np.outer(x + y, x), missing_path=np.outer(x, y),
            matmul_order_or_scale=2 * np.outer(x, x + y))
    c.wrong(Y, transposed=a @ x, shape=(a.T @ x)[:, None], other_variable=(a + a.T) @ x + a @ y,
            upstream_only=x)


@program
def convolution(c):
    x, k, b, u = c.draw(2, 1, 6), c.draw(2, 1, 3), c.draw(2), c.draw(2, 2, 4)
    X, K, B = c.leaf(x), c.leaf(k), c.leaf(b)
    c.z = (F.conv1d(X, K, B) * T(u)).sum()
    dk = np.array(
        [
            [[sum((u[n, o] * x[n, 0, i : i + 4]).sum() for n in range(2)) for i in range(3)]]
            for o in range(2)
        ]
    )
    dx, flipped = np.zeros_like(x), np.zeros_like(x)
    for n in range(2):
        dx[n, 0] = sum(np.convolve(u[n, o], k[o, 0]) for o in range(2))
        flipped[n, 0] = sum(np.convolve(u[n, o], k[o, 0][::-1]) for o in range(2))
    c.right(K, dk)
    c.right(B, u.sum((0, 2)))
    c.right(X, dx)
    c.wrong(B, broadcast_not_summed=u, broadcast_not_summed2=u.sum(2), mean_for_sum=u.mean((0, 2)),
            upstream_ignored=np.full(2, 8.0))
    c.wrong(K, scale_or_mean_for_sum=dk / 2, sign=-dk)
    c.wrong(X, transposed=flipped, sign=-dx,
            upstream_ignored=np.stack([[sum(np.convolve(np.ones(4), k[o, 0]) for o in range(2))]] * 2))


@program
def powers(c):
    x, p, w = c.positive(4), c.positive(4) + 0.3, c.draw(4)
    X, P = c.leaf(x), c.leaf(p)
    c.z = (X**P * T(w)).sum()
    c.right(X, w * p * x ** (p - 1))
    c.right(P, w * x**p * np.log(x))
    c.wrong(X, other_variable=w * x**p * np.log(x),
            forgot_inner_or_scale_or_wrong_argument=w * x ** (p - 1), wrong_argument=w * p * x**p,
            upstream_ignored=p * x ** (p - 1), swapped_operands=w * x * p ** (x - 1))
    c.wrong(P, other_variable=w * p * x ** (p - 1), upstream_ignored=x**p * np.log(x),
            wrong_argument=w * x**p * np.log(p), wrong_argument2=w * x**p)


@program
def picked_likelihood(c):
    x, y = c.draw(5, 3), np.array([0, 2, 2, 1, 0])
    X = c.leaf(x)
    L = F.log_softmax(X, dim=1)
    c.z = -L.gather(1, T(y[:, None])).mean()
    p, one = soft(x), np.eye(3)[y]
    c.right(X, (p - one) / 5)
    c.right(L, -one / 5)
    c.wrong(X, missing_path=p / 5, missing_path2=-one / 5, sign=(one - p) / 5, mean_for_sum=p - one,
            softmax_diagonal_only=-one * (1 - p) / 5, reduction_axis=(soft(x, 0) - one) / 5)
    c.wrong(L, sign=one / 5, mean_for_sum=-one,
            mask_missing_or_index_not_scattered=-np.ones((5, 3)) / 5)


@program
def einsums(c):
    a, b, w = c.draw(2, 3, 4), c.draw(4, 3), c.draw(2, 3)
    A, B = c.leaf(a), c.leaf(b)
    c.z = (minigrad.einsum("bij,ji->bi", A, B) * T(w)).sum()
    c.right(A, np.einsum("bi,ji->bij", w, b))
    c.right(B, np.einsum("bi,bij->ji", w, a))
    c.wrong(A, upstream_ignored=np.repeat(b.T[None], 2, 0),
            shape_or_transposed=np.einsum("bi,ji->bji", w, b), sign=-np.einsum("bi,ji->bij", w, b))
    c.wrong(B, broadcast_not_summed=np.einsum("bi,bij->bji", w, a),
            shape_or_transposed=np.einsum("bi,bij->ij", w, a), upstream_ignored=a.sum(0).T,
            mean_for_sum_or_scale=np.einsum("bi,bij->ji", w, a) / 2)


@program
def exp_of_neg(c):
    x, w = c.draw(4), c.draw(4)
    X = c.leaf(x)
    c.z = ((-(X**2) / 2).exp() * T(w)).sum()
    e = np.exp(-x * x / 2)
    c.right(X, -x * e * w)
    c.wrong(X, forgot_inner=e * w, sign=x * e * w, wrong_argument=-x * (-x * x / 2) * w,
            scale=-2 * x * e * w, upstream_ignored=-x * e, upstream_only=w)


@program
def regression_with_bias(c):
    x, w, b, y = c.draw(6, 2), c.draw(2), c.draw(), c.draw(6)
    W, B = c.leaf(w), c.leaf(b)
    pred = T(x) @ W + B
    err = pred - T(y)
    c.z = (err * err).mean()
    r = x @ w + b - y
    c.right(W, 2 * x.T @ r / 6)
    c.right(B, 2 * r.mean())
    c.right(err, 2 * r / 6)
    c.wrong(W, scale_or_missing_path=x.T @ r / 6, mean_for_sum=2 * x.T @ r, sign=-2 * x.T @ r / 6,
            upstream_ignored=x.T @ np.ones(6), missing_path_or_scale=x.T @ r / 6,
            broadcast_not_summed_or_shape=2 * x * r[:, None] / 6)
    c.wrong(B, broadcast_not_summed=2 * r / 6, mean_for_sum=2 * r.sum(),
            scale_or_missing_path=r.mean(), sign=-2 * r.mean())
    c.wrong(err, scale_or_missing_path=r / 6, mean_for_sum=2 * r, sign=-2 * r / 6)


@program
def gaussian_nll(c):
    x, m, s = c.draw(8), c.draw(), c.draw() / 3
    M, S = c.leaf(m), c.leaf(s)
    c.z = (((T(x) - M) / S.exp()) ** 2 / 2 + S).sum()
    u = (x - m) / np.exp(s)
    c.right(M, -(u / np.exp(s)).sum())
    c.right(S, (1 - u * u).sum())
    c.wrong(M, sign=(u / np.exp(s)).sum(), mean_for_sum=-(u / np.exp(s)).mean(),
            broadcast_not_summed=-u / np.exp(s), scale=-2 * (u / np.exp(s)).sum(),
            forgot_inner_or_upstream_only=-u.sum())
    c.wrong(S, missing_path=8.0, missing_path2=-(u * u).sum(), sign=(1 + u * u).sum(),
            mean_for_sum=(1 - u * u).mean(), broadcast_not_summed=1 - u * u)


@program
def lstm_gate(c):
    x, h, cc, w = c.draw(2, 3), c.draw(2, 3), c.draw(2, 3), c.draw(2, 3)
    P, Q, R = c.leaf(x), c.leaf(h), c.leaf(cc)
    new = minigrad.sigmoid(P) * T(w) + minigrad.sigmoid(Q) * minigrad.tanh(R)
    out = minigrad.tanh(new)
    c.z = (out**2).sum()
    f, i, g = sig(x), sig(h), np.tanh(cc)
    n = f * w + i * g
    o = np.tanh(n)
    d = 2 * o * (1 - o * o)
    c.right(P, d * w * f * (1 - f))
    c.right(Q, d * g * i * (1 - i))
    c.right(R, d * i * (1 - g * g))
    c.wrong(P, upstream_ignored=w * f * (1 - f), wrong_argument=d * w * x * (1 - x),
            forgot_inner=d * w, swapped_operands=d * f * f * (1 - f),
            upstream_ignored2=(1 - o * o) * w * f * (1 - f))
    c.wrong(Q, wrong_argument=d * cc * i * (1 - i), other_variable=d * i * (1 - g * g),
            wrong_argument2=2 * o * (1 - n * n) * g * i * (1 - i), sign=-d * g * i * (1 - i))
    c.wrong(R, wrong_argument=d * i * (1 - cc * cc), swapped_operands=d * g * (1 - g * g),
            forgot_inner=d * i, scale=d * i * (1 - g * g) / 2)


@program
def log_of_sum(c):
    x, w = c.positive(4, 3), c.draw(4)
    X = c.leaf(x)
    s = X.sum(dim=1)
    c.z = (s.log() * T(w)).sum()
    c.right(X, np.repeat((w / x.sum(1))[:, None], 3, 1))
    c.wrong(X, wrong_argument=w[:, None] / x,
            upstream_ignored=np.repeat((1 / x.sum(1))[:, None], 3, 1), shape=w / x.sum(1),
            forgot_inner_or_upstream_only=np.repeat(w[:, None], 3, 1),
            mean_for_sum=np.repeat((w / x.sum(1))[:, None], 3, 1) / 3)


# ---------------------------------------------------------------- a second examination, of coursework


@program
def reused_factors(c):
    x, y = c.draw(4), c.draw(4)
    a, b = c.leaf(x), c.leaf(y)
    c.z = ((a * b) * (a + b)).sum()
    c.right(a, y * (x + y) + x * y)
    c.wrong(a, missing_path=y * (x + y), sign=y * (x + y) - x * y, upstream_only=y + 1)


@program
def residual_sum(c):
    A, x, y = c.draw(4, 3), c.draw(3), c.draw(4)
    p, q = c.leaf(A), c.leaf(x)
    r = p @ q - T(y)
    c.z = r @ r
    R = A @ x - y
    c.right(p, 2 * np.outer(R, x))
    c.right(q, 2 * A.T @ R)
    c.wrong(q, wrong_argument=2 * A.T @ (A @ x), scale=A.T @ R, sign=-2 * A.T @ R)
    c.wrong(p, wrong_argument=2 * np.outer(A @ x, x), transposed=2 * np.outer(x, R))


@program
def batch_norm_by_hand(c):
    x, w, U = c.draw(6, 3), c.draw(3), c.draw(6, 3)
    X, gain = c.leaf(x), c.leaf(w)
    diff = X - X.sum(0, keepdim=True) / 6
    inv = ((diff**2).sum(0, keepdim=True) / 5 + 1e-5) ** -0.5
    c.z, c.gradient = gain * (diff * inv), U
    d = x - x.mean(0)
    v = (d**2).sum(0) / 5 + 1e-5
    one = U * w * v**-0.5
    two = -d * v**-1.5 * (U * w * d).sum(0) / 5
    total = one + two
    c.right(X, total - total.mean(0))
    c.right(gain, (U * d * v**-0.5).sum(0))
    c.right(diff, total)
    c.wrong(X, missing_path=one, missing_path2=total, missing_path3=one - one.mean(0),
            mean_for_sum=total - total.sum(0), scale=one + two * 5 / 6 - one.mean(0),
            sign=(one - two) - one.mean(0))
    c.wrong(gain, wrong_argument=(U * d).sum(0), broadcast_not_summed=U * d * v**-0.5)
    c.wrong(diff, scale=one + two / 2, sign=one - two)


@program
def layer_norm(c):
    x, w, U = c.draw(4, 5), c.draw(5), c.draw(4, 5)
    X, W = c.leaf(x), c.leaf(w)
    c.z = (F.layer_norm(X, (5,), W) * T(U)).sum()
    s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    h, g = (x - x.mean(-1, keepdims=True)) / s, U * w
    by_mean, by_variance = g.mean(-1, keepdims=True), h * (g * h).mean(-1, keepdims=True)
    c.right(X, (g - by_mean - by_variance) / s)
    c.right(W, (U * h).sum(0))
    c.wrong(X, missing_path=(g - by_mean) / s, missing_path2=g / s,
            sign=(g - by_mean + by_variance) / s,
            mean_for_sum=(g - 5 * by_mean - 5 * by_variance) / s)
    c.wrong(W, wrong_argument=(U * x).sum(0), reduction_axis=(U * h).sum(1))


@program
def policy_gradient(c):
    w, x, G, t = c.draw(3, 2), c.draw(6, 3), c.draw(6), np.array([0, 1, 1, 0, 1, 0])
    W = c.leaf(w)
    logp = F.log_softmax(T(x) @ W, dim=1)
    chosen = logp[range(6), t]
    returns = T(G)
    c.z = -(chosen * (returns - returns.mean())).mean()
    c.names = {"returns": returns}
    A, one = (G - G.mean())[:, None], np.eye(2)[t]
    g = (soft(x @ w) - one) * A / 6
    c.right(W, x.T @ g)
    c.right(logp, -one * A / 6)
    c.wrong(W, sign=-x.T @ g, mean_for_sum=6 * x.T @ g, upstream_only=x.T @ (soft(x @ w) - one) / 6)
    c.wrong(W, wrong_argument=x.T @ ((soft(x @ w) - one) * G[:, None] / 6))
    c.wrong(logp, mask_missing=-np.ones((6, 2)) * A / 6, sign=one * A / 6)


@program
def two_cross_entropies(c):
    u, v = c.draw(4, 3), c.draw(4, 3)
    p, q = c.leaf(u), c.leaf(v)
    S = p @ q.T / 0.5
    c.z = F.cross_entropy(S, T(np.arange(4))) + F.cross_entropy(S.T, T(np.arange(4)))
    s = u @ v.T / 0.5
    one, two = (soft(s) - np.eye(4)) / 4, ((soft(s.T) - np.eye(4)) / 4).T
    c.right(p, (one + two) @ v / 0.5)
    c.right(q, (one + two).T @ u / 0.5)
    c.wrong(p, missing_path=one @ v / 0.5, mean_for_sum=4 * (one + two) @ v / 0.5,
            transposed=(one + two.T) @ v / 0.5, swapped_operands=(one + two) @ u / 0.5)


@program
def recurrent(c):
    x, w, b, h = c.draw(3, 4, 2), c.draw(3, 3), c.draw(3), [c.draw(4, 3)]
    V = c.draw(2, 3)
    W, B, H = c.leaf(w), c.leaf(b), T(h[0])
    for t in range(3):
        H = (T(x[t]) @ T(V) + H @ W + B).tanh()
        h.append(np.tanh(x[t] @ V + h[-1] @ w + b))
    c.z = (H**2).sum()
    g, parts = 2 * h[3], []
    for t in (2, 1, 0):
        e = g * (1 - h[t + 1] ** 2)
        parts.append((h[t].T @ e, e.sum(0)))
        g = e @ w.T
    by_w, by_b = (sum(p) for p in zip(*parts, strict=True))
    c.right(W, by_w)
    c.right(B, by_b)
    c.wrong(W, missing_path=by_w - parts[0][0], missing_path2=parts[0][0], transposed=by_w.T)
    c.wrong(B, missing_path=parts[0][1], mean_for_sum=by_b / 4, scale=by_b / 2)


@program
def matrices(c):
    A, x, y = c.draw(3, 3) + 2 * np.eye(3), c.draw(3, 2), c.draw(3)
    M, X = c.leaf(A), c.leaf(x)
    S = minigrad.linalg.solve(M, T(y))
    c.z = (X.T @ M @ X).trace() + S.sum()
    i, ones = np.linalg.inv(A), np.ones(3)
    c.right(X, (A + A.T) @ x)
    c.right(M, x @ x.T - np.outer(i.T @ ones, i @ y))
    c.wrong(X, transposed=2 * A @ x, sign=(A - A.T) @ x, missing_path=A @ x)
    c.wrong(M, sign=x @ x.T + np.outer(i.T @ ones, i @ y), missing_path=x @ x.T)
    c.wrong(M, transposed=x @ x.T - np.outer(i @ y, i.T @ ones))


# ---------------------------------------------------------------- a third one: loops, and what is added up

HELD = []  # each answer of these programs must be named


def held(f):
    HELD.append(f)
    return program(f)


@held
def a_loop_over_states(c):
    x, w, v, b, y = c.draw(3, 2, 3), c.draw(3, 4), c.draw(4, 4) / 2, c.draw(4), c.draw(2, 4)
    W, V, B, h = c.leaf(w), c.leaf(v), c.leaf(b), [np.zeros((2, 4))]
    H = T(h[0])
    for t in range(3):
        H = (T(x[t]) @ W + H @ V + B).tanh()
        h.append(np.tanh(x[t] @ w + h[t] @ v + b))
    c.z = ((H - T(y)) ** 2).sum()

    def back(own=1, through=1, early=0):
        g, parts = 2 * (h[3] - y), []
        for t in (2, 1, 0):
            slope = 1 - h[t + 1] ** 2
            e = g * slope**own
            parts.append((x[t - early].T @ e, h[t].T @ e, e.sum(0)))
            g = g * slope**through @ v.T
        return [sum(p) for p in zip(*parts, strict=True)]

    # tanh' is missing in what goes to the weights, or in what goes to the step before
    for leaf, right, one, two in zip((W, V, B), back(), back(own=0), back(through=0), strict=True):
        c.right(leaf, right)
        c.wrong(leaf, upstream_only=one, upstream_only2=two)
    c.wrong(W, wrong_argument=back(early=1)[0])


@held
def four_gates_in_a_loop(c):
    x, w, y, n = c.draw(3, 2), c.draw(5, 12) * 0.6, c.draw(3), 3
    W, h, s, saved = c.leaf(w), np.zeros(n), np.zeros(n), []
    H, S = T(h), T(s)
    for t in range(3):
        gates = minigrad.cat([T(x[t]), H]) @ W
        i, f, o = (gates[k : k + n].sigmoid() for k in (0, 3, 6))
        S = f * S + i * gates[9:].tanh()
        H = o * S.tanh()
        a = np.r_[x[t], h] @ w
        i, f, o, g = *sig(a[:9]).reshape(3, n), np.tanh(a[9:])
        saved.append((np.r_[x[t], h], i, f, o, g, s))
        s = f * s + i * g
        h = o * np.tanh(s)
        saved[-1] += (s,)
    c.z = ((H - T(y)) ** 2).sum()

    def back(slope=lambda s: 1 - np.tanh(s) ** 2, out=np.tanh):
        dh, ds, d = 2 * (h - y), 0, 0
        for xh, i, f, o, g, before, s in saved[::-1]:
            ds = ds + dh * o * slope(s)
            one = [ds * g * i * (1 - i), ds * before * f * (1 - f), dh * out(s) * o * (1 - o)]
            e = np.concatenate([*one, ds * i * (1 - g * g)])
            d, dh, ds = d + np.outer(xh, e), (w @ e)[2:], ds * f
        return d

    c.right(W, back())
    c.wrong(W, upstream_only_or_forgot_inner=back(slope=np.ones_like))
    c.wrong(W, wrong_argument_or_upstream_only_or_forgot_inner=back(out=lambda s: s))


@held
def games_won(c):
    x, games = c.draw(5), [(0, 1), (2, 1), (3, 4), (0, 4), (2, 0), (0, 1)]
    X = c.leaf(x)
    c.z = sum((1 + (X[j] - X[i]).exp()).log() for i, j in games) + 0.15 * (X**2).sum()
    parts = [(i, j, sig(x[j] - x[i])) for i, j in games]
    right, last, first = 0.3 * x, np.zeros(5), 0.3 * x
    for i, j, p in parts:
        right[[i, j]] += -p, p
        last[i], last[j] = -p, p
    first = first * 0 + np.zeros(5)
    first[[0, 1]] = -parts[0][2], parts[0][2]
    c.right(X, right)
    c.wrong(X, index_not_scattered=last + 0.3 * x, missing_path=first, sign=-right)


@held
def pairs_at_a_distance(c):
    x = np.array([[0, 0], [1.2, 0.1], [0.4, 1.3], [1.5, 1.4]])
    X, z, g = c.leaf(x), 0, np.zeros((4, 2))
    for i, j in ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)):
        six = 1 / ((X[i] - X[j]) ** 2).sum() ** 3
        z = z + 4 * (six**2 - six)
        d = x[i] - x[j]
        f = 4 * (6 / (d @ d) ** 4 - 12 / (d @ d) ** 7) * d
        g[i] += f
        g[j] -= f
    c.z = z
    c.right(X, g)
    c.wrong(X, sign=-g)


@held
def springs(c):
    x, k, rest = c.draw(4, 2), np.array([2, 1.5, 3]), np.array([1, 0.8, 1.2])
    X = c.leaf(x)
    D = X[1:] - X[:-1]
    c.z = 0.5 * (T(k) * ((D**2).sum(1).sqrt() - T(rest)) ** 2).sum() + 9.81 * X[:, 1].sum()
    d = x[1:] - x[:-1]
    n = np.sqrt((d**2).sum(1))
    f, w = (k * (n - rest) / n)[:, None] * d, 9.81 * np.array([0, 1])
    force = np.vstack([0 * w, f]) - np.vstack([f, 0 * w])
    c.right(X, force + w)
    c.wrong(X, scale=2 * force + w)


@held
def factors_of_features(c):
    x, v, y = c.draw(6, 4), c.draw(4, 3), np.sign(c.draw(6))
    V = c.leaf(v)
    pred = 0.5 * ((T(x) @ V) ** 2 - T(x**2) @ V**2).sum(1)
    c.z = F.softplus(-T(y) * pred).mean()
    c.names = {"pred": pred, "V": V}
    s = x @ v
    d = -y * sig(-y * 0.5 * (s**2 - x**2 @ v**2).sum(1))[:] / 6
    g = x.T @ (d[:, None] * s) - (x**2).T @ d[:, None] * v
    c.right(V, g)
    c.wrong(V, scale=2 * g)


@held
def a_smoothed_target(c):
    x, t = c.draw(5, 4), np.array([0, 2, 1, 3, 2])
    X = c.leaf(x)
    logp = F.log_softmax(X, dim=1)
    c.z = (-0.8 * logp[range(5), t] - 0.2 * logp.mean(1)).mean()
    p, one = soft(x), np.eye(4)[t]
    c.right(X, (p - 0.8 * one - 0.05) / 5)
    c.wrong(X, mean_for_sum=(p - 0.8 * one - 0.2) / 5)


@held
def soft_values(c):
    r, P = c.draw(3, 2), soft(c.draw(3, 2, 3))
    R, v, q = c.leaf(r), np.zeros(3), []
    V = T(v)
    for _ in range(3):
        V = (2 * (R + 0.9 * (T(P) @ V))).logsumexp(1) / 2
        q.append(r + 0.9 * (P @ v))
        v = np.log(np.exp(2 * q[-1]).sum(1)) / 2
    c.z = (V * T(np.array([1, 0.5, 2]))).sum()

    def back(read):
        g, d = np.array([1, 0.5, 2]), 0
        for values in read:
            e = g[:, None] * soft(2 * values)
            d, g = d + e, 0.9 * np.einsum("sa,sat->t", e, P)
        return d

    c.right(R, back(q[::-1]))
    c.wrong(R, wrong_argument=back([q[-1]] * 3))


@held
def padded_words(c):
    s, v, g = c.draw(3, 5), c.draw(3, 5, 2), c.draw(3, 2)
    keep = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])
    S, V = c.leaf(s), c.leaf(v)
    a = (S + T((1 - keep) * -1e9)).softmax(1)
    c.z = ((a.unsqueeze(-1) * V).sum(1) * T(g)).sum()
    c.names = {"S": S, "V": V, "a": a, "keep": T(keep)}

    def back(p):
        d = np.einsum("nk,ntk->nt", g, v)
        return p * (d - (p * d).sum(1, keepdims=True)), p[..., None] * g[:, None]

    all_scores, right = soft(s), soft(np.where(keep, s, -np.inf))
    c.right(S, back(right)[0])
    c.right(V, back(right)[1])
    c.wrong(S, mask_missing=back(all_scores)[0], mask_missing2=back(all_scores)[0] * keep)
    c.wrong(S, mask_missing=back(all_scores * keep)[0])
    c.wrong(V, mask_missing=back(all_scores)[1])


@held
def a_gated_unit(c):
    x, w, b, g = c.draw(4, 3), c.draw(3, 6), c.draw(6), c.draw(4, 3)
    W, B = c.leaf(w), c.leaf(b)
    value, gate = (T(x) @ W + B).chunk(2, dim=-1)
    c.z = (value * gate.sigmoid() * T(g)).sum()
    c.names = {"value": value, "gate": gate}
    u, s = (x @ w + b)[:, :3], sig((x @ w + b)[:, 3:])
    parts = g * s, g * u * s * (1 - s)
    d, swapped = np.hstack(parts), np.hstack(parts[::-1])
    c.right(W, x.T @ d)
    c.wrong(W, exchanged=x.T @ swapped)
    c.wrong(B, exchanged=swapped.sum(0))


@held
def a_sure_classifier(c):
    x, w, t = 12 * c.draw(6, 5), c.draw(5, 3), np.array([0, 2, 1, 2, 0, 1])
    W = c.leaf(w)
    c.z = F.cross_entropy(T(x) @ W, T(t)) + 0.1 * (W * W).sum()
    c.right(W, x.T @ (soft(x @ w) - np.eye(3)[t]) / 6 + 0.2 * w)
    c.wrong(W, missing_path=x.T @ soft(x @ w) / 6 + 0.2 * w)


@held
def a_layer_norm_and_a_softmax_of_a_square(c):
    x, g = c.draw(4, 4), c.draw(4, 4)
    X = c.leaf(x)
    centered = X - X.mean(-1, keepdim=True)
    y = centered / ((centered**2).mean(-1, keepdim=True) + 1e-5).sqrt()
    c.z = ((y + X.softmax(-1)) * T(g)).sum()
    r, p = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5), soft(x)
    h = (x - x.mean(-1, keepdims=True)) * r

    def norm(mean=lambda a: a.mean(-1, keepdims=True), last=lambda a: a.mean(-1, keepdims=True)):
        return r * (g - mean(g) - h * last(g * h))

    def probabilities(total=lambda a: a.sum(-1, keepdims=True)):
        return p * (g - total(g * p))

    c.right(X, norm() + probabilities())
    c.wrong(X, reduction_axis=norm(mean=lambda a: a.mean(0)) + probabilities(),
            reduction_axis2=norm(last=lambda a: a.mean(0)) + probabilities(),
            reduction_axis3=norm(*2 * [lambda a: a.mean(-1)]) + probabilities(),
            reduction_axis4=norm() + probabilities(lambda a: a.sum(-1)))  # fmt: skip


@held
def a_padded_signal(c):
    x, g = c.draw(3, 4), c.draw(5, 7)
    X = c.leaf(x)
    c.z = (F.pad(X, (1, 2, 1, 1)) * T(g)).sum() + (X.roll(1, 1) * T(g[:3, :4])).sum()
    rolled = np.roll(g[:3, :4], -1, 1)
    c.right(X, g[1:4, 1:5] + rolled)
    c.wrong(X, wrong_argument=g[:3, :4] + rolled, wrong_argument2=g[1:4, 2:6] + rolled,
            wrong_argument3=g[2:, 3:] + rolled, wrong_argument4=g[:3, 1:5] + rolled,
            sign=g[1:4, 1:5] + np.roll(g[:3, :4], 1, 1))  # fmt: skip


@held
def a_convolution_by_offsets(c):
    x, w, g = c.draw(1, 2, 7, 7), c.draw(3, 2, 3, 3), c.draw(1, 3, 3, 3)
    X = c.leaf(x)
    c.z = (F.conv2d(X, T(w), stride=2) * T(g)).sum()

    def back(step=2, keep=1):
        d = np.zeros_like(x)
        for i, j in np.ndindex(3, 3):
            at = (..., slice(i, i + 3 * step, step), slice(j, j + 3 * step, step))
            d[at] = keep * d[at] + np.einsum("nohw,oc->nchw", g, w[..., i, j])
        return d

    c.right(X, back())
    c.wrong(X, index_not_scattered=back(keep=0), wrong_argument=back(step=1))


@held
def values_of_the_next_state(c):
    s, w, r, a = c.draw(6, 3), c.draw(3, 4), c.draw(5), np.array([0, 1, 3, 2, 1])
    v = c.draw(3)
    W, V = c.leaf(w), c.leaf(v)
    q, u = T(s) @ W, T(s) @ V
    error = q[:-1][range(5), a] - (T(r) + 0.9 * q[1:].max(1).values.detach())
    other = u[:-1] - (T(r) + 0.9 * u[1:].detach())
    c.z = (error**2).sum() + (other**2).sum()
    c.names = {"q": q, "u": u, "r": T(r)}
    d, e = 2 * error.detach().numpy(), 2 * other.detach().numpy()
    now, then = np.zeros((6, 4)), np.zeros((6, 4))
    now[range(5), a], then[range(1, 6), (s @ w)[1:].argmax(1)] = d, -0.9 * d
    c.right(W, s.T @ now)
    c.right(V, s[:-1].T @ e)
    c.wrong(W, mask_missing=s.T @ (now + then))
    c.wrong(V, mask_missing=(s[:-1] - 0.9 * s[1:]).T @ e)


@held
def known_ratings(c):
    u, v, ratings = c.draw(5, 2), c.draw(4, 2), c.draw(5, 4)
    known = (c.draw(5, 4) > 0).astype(float)
    U = c.leaf(u)
    c.z = (((U @ T(v).T - T(ratings)) * T(known)) ** 2).sum()
    c.names = {"U": U, "ratings": ratings, "known": known}
    c.right(U, 2 * ((u @ v.T - ratings) * known) @ v)
    c.wrong(U, mask_missing=2 * (u @ v.T - ratings) @ v)


@held
def squares_and_images(c):
    x, w, g, h = c.draw(4, 4), c.draw(4, 4), c.draw(4, 4), c.draw(4)
    X, W = c.leaf(x), c.leaf(w)
    c.z = ((X @ W) * T(g)).sum() + (X.max(1).values * T(h)).sum()
    largest, of_columns = (x == x.max(k, keepdims=True) for k in (1, 0))
    c.right(X, g @ w.T + largest * h[:, None])
    c.wrong(X, wrong_argument=g * w + largest * h[:, None], reduction_axis=g @ w.T + largest * h,
            reduction_axis2=g @ w.T + of_columns * h[:, None])  # fmt: skip
    c.wrong(W, wrong_argument=x.T * g)


@held
def functions_and_images(c):
    t, a, s, i, g = (c.draw(3, 2, 4) for _ in range(5))
    x = [c.leaf(v) for v in (t, np.abs(a), s, i)]
    y = x[0].tan() + x[1].log1p() + x[2] * x[2].sigmoid() + F.silu(x[2])
    c.z = ((y + F.batch_norm(x[3], None, None, training=True)) * T(g)).sum()
    p = sig(s)
    c.wrong(x[0], wrong_argument=g * (1 - np.tan(t) ** 2))
    c.wrong(x[1], wrong_argument=g / np.abs(a))
    c.wrong(x[2], wrong_argument=g * (2 * p + s * p * (1 - p) + p * (1 - p)))
    r = 1 / np.sqrt(i.var((0, 2), keepdims=True) + 1e-5)
    h = (i - i.mean((0, 2), keepdims=True)) * r
    c.right(x[3], r * (g - (g.sum((0, 2), keepdims=True) + h * (g * h).sum((0, 2), keepdims=True)) / 12))
    c.wrong(x[3], mean_for_sum=r * (g - (g.sum((0, 2), keepdims=True) + h * (g * h).sum((0, 2), keepdims=True)) / 3))


@held
def words_of_a_padded_batch(c):
    x, t = c.draw(2, 3, 5), np.array([[0, 4, 2], [1, -100, 3]])
    X = c.leaf(x)
    c.z = F.cross_entropy(X.reshape(-1, 5), T(t).reshape(-1), ignore_index=-100)
    one, kept = (t[..., None] == np.arange(5)) * 1.0, (t >= 0)[..., None]
    c.right(X, (soft(x) - one) * kept / 5)
    c.wrong(X, mask_missing=(soft(x) - one) / 5)


@held
def a_loss_of_seven_examples(c):
    w, x = c.draw(3), c.draw(7, 3)
    W = c.leaf(w)
    c.z = sum((T(row) @ W).sin() for row in x) / 7 + 0.5 * (W * W).sum()
    data = x.T @ np.cos(x @ w) / 7
    c.right(W, data + w)
    c.wrong(W, scale=data + w / 7)


def answers_of(program, seed=0):
    """z, and its answers: the stated ones, and those that are right, or wrong for no reason."""
    c = Case(seed, np.float64)
    program(c)
    rng = np.random.default_rng(seed + 1)
    out = list(c.answers)
    for x, kind, a in c.answers:
        if kind is None:
            out.append((x, None, np.asarray(a, np.float32)))
            out.append((x, "none:random", rng.normal(size=a.shape)))
            out.append((x, "none:scales", a * rng.uniform(0.3, 3, size=a.shape)))
            out.append((x, "none:noise", a * (1 + 0.05 * rng.normal(size=a.shape))))
            out.append((x, "none:offset", a + 0.05 * np.abs(a).mean() * rng.normal(size=a.shape)))
            out.append((x, "none:entry", _one_entry(a, rng)))
    return c, out


def _one_entry(a, rng):
    b = np.array(a, copy=True)
    b[np.unravel_index(rng.integers(b.size), b.shape)] += 0.37 * (np.abs(a).max() + 1)
    return b


# ---------------------------------------------------------------- optimizers

UPDATES = []
P0, GS = (
    np.array([1.0, -2.0, 0.5]),
    [
        np.array([0.5, 0.3, -0.2]),
        np.array([-0.1, 0.4, 0.7]),
        np.array([0.2, -0.6, 0.1]),
        np.array([0.3, 0.2, -0.4]),
    ],
)


def steps(rule, p0=P0, gs=GS, **state):
    s, p, out = dict(state), p0.copy(), []
    for t, g in enumerate(gs, 1):
        p = rule(p, g, t, s)
        out.append(p)
    return out


def sgd(lr=0.1, m=0.0, d=0.0, wd=0.0, nest=False, lr_in=False, keep=True, own=False, first=None):
    def rule(p, g, t, s):
        if not own:
            g = g + wd * p
        if m:
            b = s.get("b") if keep else None
            gain = lr if lr_in else 1
            b = (
                (gain * (g if first is None else first * g))
                if b is None
                else m * b + (1 - d) * g * gain
            )
            s["b"] = b
            g = g + m * b if nest else b
        out = p - (g if lr_in else lr * g)
        return out - lr * wd * p if own else out

    return steps(rule)


def adam(
    lr=0.1,
    b1=0.9,
    b2=0.999,
    eps=1e-8,
    wd=0.0,
    decay=None,
    correct=True,
    inside=False,
    keep=True,
    correct2=True,
):
    def rule(p, g, t, s):
        if decay == "l2":
            g = g + wd * p
        if decay == "own":
            p = p - lr * wd * p
        if decay == "minus":
            g = g - wd * p
        m0, v0 = (s.get("m", 0), s.get("v", 0)) if keep else (0, 0)
        m, v = b1 * m0 + (1 - b1) * g, b2 * v0 + (1 - b2) * g * g
        s.update(m=m, v=v)
        mh = m / (1 - b1**t) if correct else m
        vh = v / (1 - b2**t) if correct and correct2 else v
        return p - lr * mh / (np.sqrt(vh + eps) if inside else np.sqrt(vh) + eps)

    return steps(rule)


def update(opt, settings, right, **wrong):
    UPDATES.append((opt, settings, None, right))
    for kind, w in wrong.items():
        UPDATES.append((opt, settings, kind.replace("_or_", "|").rstrip("0123456789"), w))


def schedule(lrs, m=0.9, lr_in=False):
    def rule(p, g, t, s):
        lr = lrs[t - 1]
        gain = lr if lr_in else 1
        s["b"] = m * s["b"] + g * gain if "b" in s else g * gain
        return p - (s["b"] if lr_in else lr * s["b"])

    return steps(rule)


def rmsprop(lr=0.05, a=0.9, eps=1e-3, inside=False, keep=True, root=True):
    def rule(p, g, t, s):
        v = a * (s.get("v", 0) if keep else 0) + (1 - a) * g * g
        s["v"] = v
        return p - lr * g / (
            (np.sqrt(v + eps) if inside else np.sqrt(v) + eps) if root else v + eps
        )

    return steps(rule)


def adagrad(lr=0.1, eps=1e-2, keep=True, inside=False):
    def rule(p, g, t, s):
        v = (s.get("v", 0) if keep else 0) + g * g
        s["v"] = v
        return p - lr * g / (np.sqrt(v + eps) if inside else np.sqrt(v) + eps)

    return steps(rule)


update(
    optim.SGD,
    {"lr": 0.1},
    sgd(),
    sign=steps(lambda p, g, t, s: p + 0.1 * g),
    lr_missing=steps(lambda p, g, t, s: p - g),
)
update(
    optim.SGD,
    {"lr": 0.1, "momentum": 0.9},
    sgd(m=0.9),
    state_not_kept=sgd(m=0.9, keep=False),
    dampening=sgd(m=0.9, d=0.9),
    dampening2=sgd(m=0.9, d=0.9, first=0.1),
    lr_missing=sgd(lr=1, m=0.9),
    sign=[2 * P0 - q for q in sgd(m=0.9)],
)
LRS = [0.1, 0.05, 0.02, 0.01]
update(
    optim.SGD,
    {"lr": LRS, "momentum": 0.9},
    schedule(LRS),
    momentum_convention=schedule(LRS, lr_in=True),
    state_not_kept=steps(lambda p, g, t, s: p - LRS[t - 1] * g),
)
update(
    optim.SGD,
    {"lr": 0.1, "momentum": 0.8, "nesterov": True},
    sgd(m=0.8, nest=True),
    nesterov_missing=sgd(m=0.8),
    state_not_kept=sgd(m=0.8, nest=True, keep=False),
)
update(
    optim.SGD,
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.5},
    sgd(m=0.9, d=0.5),
    dampening=sgd(m=0.9),
    dampening2=sgd(m=0.9, d=0.5, first=0.5),
)
update(
    optim.SGD,
    {"lr": 0.1, "weight_decay": 0.1},
    sgd(wd=0.1),
    weight_decay_sign=sgd(wd=-0.1),
    weight_decay_sign_or_weight_decay_missing=sgd(),
)
update(
    optim.SGD,
    {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1},
    sgd(m=0.9, wd=0.1),
    weight_decay_sign=sgd(m=0.9, wd=-0.1),
    decoupled_weight_decay=sgd(m=0.9, wd=0.1, own=True),
    state_not_kept=sgd(m=0.9, wd=0.1, keep=False),
)
update(
    optim.Adam,
    {"lr": 0.1},
    adam(),
    bias_correction=adam(correct=False),
    bias_correction2=adam(correct2=False),
    state_not_kept=adam(keep=False),
    lr_missing=adam(lr=1.0),
    sign=[2 * P0 - q for q in adam()],
)
update(
    optim.Adam,
    {"lr": 0.1, "eps": 1e-2},
    adam(eps=1e-2),
    eps_inside_sqrt=adam(eps=1e-2, inside=True),
    bias_correction=adam(eps=1e-2, correct=False),
)
update(
    optim.Adam,
    {"lr": 0.1, "weight_decay": 0.1},
    adam(wd=0.1, decay="l2"),
    decoupled_weight_decay=adam(wd=0.1, decay="own"),
    weight_decay_sign=adam(wd=0.1, decay="minus"),
)
update(
    optim.AdamW,
    {"lr": 0.1, "weight_decay": 0.1},
    adam(wd=0.1, decay="own"),
    decoupled_weight_decay=adam(wd=0.1, decay="l2"),
    bias_correction=adam(wd=0.1, decay="own", correct=False),
    weight_decay_sign=adam(wd=-0.1, decay="own"),
    state_not_kept=adam(wd=0.1, decay="own", keep=False),
)
update(
    optim.RMSprop,
    {"lr": 0.05, "alpha": 0.9, "eps": 1e-3},
    rmsprop(),
    eps_inside_sqrt=rmsprop(inside=True),
    state_not_kept=rmsprop(keep=False),
    lr_missing=rmsprop(lr=1.0),
)
update(
    optim.Adagrad,
    {"lr": 0.1, "eps": 1e-2},
    adagrad(),
    state_not_kept=adagrad(keep=False),
    eps_inside_sqrt=adagrad(inside=True),
    lr_missing=adagrad(lr=1.0),
)
