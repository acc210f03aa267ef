"""Classic programs of a first course, and wrong gradients derived by hand, each with its kind.

They are written as another author would write them: from the formulas, in plain NumPy, without
a look at the table of mistakes. teach_accuracy.py counts what `diagnose` makes of them.

A program returns its tensors by name (z is the result, gradient what comes from above), and
lines (kind, name, wrong gradient).
"""

import numpy as np

import minigrad
from minigrad import tensor
from minigrad.nn import functional as F

BATTERY = []


def program(function):
    BATTERY.append(function)
    return function


def draw(*shape, seed=0, low=None, high=None):
    rng = np.random.default_rng([seed, 11, *shape])
    return rng.normal(size=shape) if low is None else rng.uniform(low, high, shape)


def leaf(array):
    return tensor(np.array(array, np.float64), requires_grad=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def one_hot(t, n):
    return np.eye(n)[t]


# ------------------------------------------------------------------ first steps


@program
def a_polynomial():
    X = draw(5, seed=1)
    x = leaf(X)
    z = (3 * x**3 - 2 * x**2 + x).sum()
    return {"x": x, "z": z}, [
        ("missing_path", "x", 9 * X**2 - 4 * X), ("missing_path", "x", 9 * X**2 + 1),
        ("sign", "x", 9 * X**2 + 4 * X + 1), ("scale", "x", 3 * X**2 - 4 * X + 1),
        ("scale", "x", 9 * X**2 - 2 * X + 1), ("mean_for_sum", "x", (9 * X**2 - 4 * X + 1) / 5),
    ]


@program
def a_polynomial_at_one_number():
    X = 1.7
    x = leaf(X)
    z = x**3 + 2 * x
    return {"x": x, "z": z}, [
        ("missing_path", "x", 3 * X**2), ("scale", "x", X**2 + 2), ("sign", "x", -(3 * X**2 + 2)),
        ("double_counted", "x", 3 * X**2 + 4),
    ]


@program
def a_shared_input():
    A, B = draw(4), draw(4, seed=1)
    a, b = leaf(A), leaf(B)
    z = (a * b + a.sin()).sum()
    return {"a": a, "b": b, "z": z}, [
        ("missing_path", "a", B), ("missing_path", "a", np.cos(A)), ("sign", "a", B - np.cos(A)),
        ("double_counted", "a", 2 * B + np.cos(A)), ("wrong_argument", "a", B + np.cos(np.sin(A))),
        ("other_variable", "b", B + np.cos(A)), ("swapped_operands", "a", A + np.cos(A)),
    ]


@program
def a_product_of_itself():
    X = draw(4)
    x = leaf(X)
    z = x * x
    return {"x": x, "z": z}, [
        ("missing_path", "x", X), ("scale", "x", 4 * X), ("sign", "x", -2 * X),
        ("finite_difference_noise", "x", 2 * X + 1e-3 / 2),
    ]


@program
def a_composition():
    X = draw(4, low=0.2, high=1.3)
    x = leaf(X)
    u = x**2
    z = u.sin().exp().sum()
    E = np.exp(np.sin(X**2))
    return {"x": x, "u": u, "z": z}, [
        ("forgot_inner", "x", E * np.cos(X**2)), ("forgot_inner", "x", E),
        ("upstream_ignored", "x", np.cos(X**2) * 2 * X), ("upstream_only", "x", E * 2 * X),
        ("wrong_argument", "x", E * np.cos(X) * 2 * X), ("sign", "x", -E * np.cos(X**2) * 2 * X),
        ("wrong_argument", "x", np.sin(X**2) * np.cos(X**2) * 2 * X),
    ]


@program
def a_linear_inside():
    X = draw(5)
    x = leaf(X)
    z = (2 * x + 1).exp()
    E = np.exp(2 * X + 1)
    return {"x": x, "z": z}, [
        ("forgot_inner", "x", E), ("upstream_ignored", "x", np.full(5, 2.0)),
        ("wrong_argument", "x", 2 * np.exp(X)), ("wrong_argument", "x", 2 * (2 * X + 1)),
        ("scale", "x", 4 * E),
    ]


@program
def a_sum_over_a_difference():
    X, Y = draw(4), 3 + draw(4, seed=1, low=0, high=1)
    x, y = leaf(X), leaf(Y)
    z = (x + y) / (x - y)
    D = X - Y
    return {"x": x, "y": y, "z": z}, [
        ("missing_path", "x", 1 / D), ("missing_path", "x", -(X + Y) / D**2),
        ("sign", "x", 1 / D + (X + Y) / D**2), ("sign", "y", 1 / D - (X + Y) / D**2),
    ]


@program
def a_minus_that_is_forgotten():
    X = draw(4)
    x = leaf(X)
    z = (1 - x.exp() ** 2).sum()
    return {"x": x, "z": z}, [
        ("sign", "x", 2 * np.exp(2 * X)), ("forgot_inner", "x", -2 * np.exp(X)),
        ("scale", "x", -np.exp(2 * X)),
    ]


# ------------------------------------------------------------------ networks


@program
def a_neuron():
    X, W, B = draw(6, 3), draw(3, seed=1), 0.4
    x, w, b = leaf(X), leaf(W), leaf(B)
    t = draw(6, seed=2)
    y = (x @ w + b).sigmoid()
    z = ((y - tensor(t)) ** 2).mean()
    Y = sigmoid(X @ W + B)
    U = X @ W + B
    G = 2 * (Y - t) / 6
    return {"x": x, "w": w, "b": b, "y": y, "z": z}, [
        ("mean_for_sum", "w", X.T @ (6 * G * Y * (1 - Y))),
        ("scale", "w", X.T @ (G * Y * (1 - Y)) / 2), ("broadcast_not_summed", "b", G * Y * (1 - Y)),
        ("upstream_only", "w", X.T @ G), ("upstream_ignored", "w", X.T @ (Y * (1 - Y))),
        ("wrong_argument", "w", X.T @ (G * U * (1 - U))), ("sign", "w", -X.T @ (G * Y * (1 - Y))),
        ("mean_for_sum", "b", (G * Y * (1 - Y)).mean()),
    ]


@program
def two_layers():
    X, W1, W2 = draw(5, 4), draw(4, 3, seed=1), draw(3, 2, seed=2)
    B1, B2, T = draw(3, seed=3), draw(2, seed=4), draw(5, 2, seed=5)
    x, w1, w2, b1, b2 = leaf(X), leaf(W1), leaf(W2), leaf(B1), leaf(B2)
    h = (x @ w1 + b1).relu()
    y = h @ w2 + b2
    z = F.mse_loss(y, tensor(T))
    H = np.maximum(X @ W1 + B1, 0)
    D = 2 * (H @ W2 + B2 - T) / 10
    M = H > 0
    return {"x": x, "w1": w1, "w2": w2, "b1": b1, "b2": b2, "h": h, "y": y, "z": z}, [
        ("mask_missing", "w1", X.T @ (D @ W2.T)), ("mask_inverted", "w1", X.T @ (D @ W2.T * ~M)),
        ("mean_for_sum", "w2", H.T @ D * 10), ("scale", "w2", H.T @ D * 2),
        ("scale", "w2", H.T @ D / 2), ("broadcast_not_summed", "b1", D @ W2.T * M),
        ("transposed", "w2", (H.T @ D).T),
        ("upstream_ignored", "w1", X.T @ (np.ones((5, 2)) @ W2.T * M)),
        ("mean_for_sum", "b2", D.mean(0)),
    ]


@program
def two_layers_of_tanh():
    X, W1, W2 = draw(3, 3), draw(3, 3, seed=1), draw(3, 3, seed=2)
    x, w1, w2 = leaf(X), leaf(W1), leaf(W2)
    h = (x @ w1).tanh()
    z = ((h @ w2).tanh() ** 2).sum()
    A = X @ W1
    H = np.tanh(A)
    U = np.tanh(H @ W2)
    D = 2 * U * (1 - U**2)
    G = D @ W2.T
    return {"x": x, "w1": w1, "w2": w2, "h": h, "z": z}, [
        ("wrong_argument", "w1", X.T @ (G * (1 - A**2))), ("upstream_only", "w1", X.T @ G),
        ("transposed", "w1", X @ (G * (1 - H**2))), ("matmul_order", "w1", (G * (1 - H**2)) @ X.T),
        ("transposed", "w1", X.T @ (D @ W2 * (1 - H**2))),
        ("upstream_ignored", "w1", X.T @ (1 - H**2)), ("upstream_only", "w2", H.T @ (2 * U)),
        ("scale", "w2", H.T @ D / 2), ("wrong_argument", "w1", X.T @ (G * (1 - np.tanh(H) ** 2))),
        ("other_variable", "w1", H.T @ D),
    ]


@program
def a_linear_regression():
    X, Y, W = draw(8, 3), draw(8, seed=1), draw(3, seed=2)
    w = leaf(W)
    z = ((tensor(X) @ w - tensor(Y)) ** 2).mean()
    E = X @ W - Y
    return {"w": w, "z": z}, [
        ("scale", "w", X.T @ E / 8), ("mean_for_sum", "w", 2 * X.T @ E),
        ("sign", "w", -2 * X.T @ E / 8), ("shape", "w", (2 * X.T @ E / 8)[:, None]),
        ("upstream_ignored", "w", X.sum(0)),
        ("finite_difference_noise", "w", 2 * X.T @ E / 8 + 1e-4 * (X**2).mean(0)),
    ]


@program
def a_ridge():
    X, Y, W = draw(8, 3), draw(8, seed=1), draw(3, seed=2)
    w = leaf(W)
    z = ((tensor(X) @ w - tensor(Y)) ** 2).sum() + 0.1 * (w**2).sum()
    E = X @ W - Y
    return {"w": w, "z": z}, [
        ("missing_path", "w", 2 * X.T @ E), ("missing_path", "w", 0.2 * W),
        ("sign", "w", 2 * X.T @ E - 0.2 * W), ("scale", "w", 2 * X.T @ E + 0.1 * W),
        ("scale", "w", X.T @ E + 0.2 * W), ("double_counted", "w", 2 * X.T @ E + 0.4 * W),
    ]


@program
def logistic_regression():
    X, T, W = draw(6, 3), np.array([0.0, 1, 1, 0, 1, 0]), draw(3, seed=2)
    w, t = leaf(W), tensor(T)
    p = (tensor(X) @ w).sigmoid()
    z = -(t * p.log() + (1 - t) * (1 - p).log()).mean()
    P = sigmoid(X @ W)
    return {"w": w, "p": p, "z": z}, [
        ("mean_for_sum", "w", X.T @ (P - T)), ("sign", "w", X.T @ (T - P) / 6),
        ("missing_path", "w", X.T @ (-T * (1 - P)) / 6),
        ("missing_path", "w", X.T @ ((1 - T) * P) / 6),
        ("sign", "p", (-T / P - (1 - T) / (1 - P)) / 6),
        ("upstream_only", "w", X.T @ (-T / P + (1 - T) / (1 - P)) / 6),
    ]


@program
def binary_cross_entropy_with_logits():
    X, T = draw(6), np.array([0.0, 1, 1, 0, 1, 0])
    x = leaf(X)
    z = F.binary_cross_entropy_with_logits(x, tensor(T))
    P = sigmoid(X)
    return {"x": x, "z": z}, [
        ("mean_for_sum", "x", P - T), ("sign", "x", (T - P) / 6),
        ("wrong_argument", "x", (X - T) / 6), ("missing_path", "x", P / 6),
    ]


@program
def cross_entropy():
    X, T = draw(5, 3), np.array([0, 2, 1, 1, 0])
    x = leaf(X)
    z = F.cross_entropy(x, tensor(T))
    P, H = softmax(X), one_hot(T, 3)
    return {"x": x, "z": z}, [
        ("mean_for_sum", "x", P - H), ("sign", "x", (H - P) / 5),
        ("wrong_argument", "x", (X - H) / 5), ("missing_path", "x", P / 5),
        ("reduction_axis", "x", (softmax(X, 0) - H) / 5), ("transposed", "x", (P - H).T / 5),
        ("scale", "x", (P - H) / 15), ("scale", "x", 2 * (P - H) / 5),
    ]


@program
def weighted_cross_entropy():
    X, T, C = draw(5, 3), np.array([0, 2, 1, 1, 0]), np.array([0.5, 1.0, 3.0])
    x = leaf(X)
    c = tensor(C)
    z = F.cross_entropy(x, tensor(T), weight=c)
    P, H = softmax(X), one_hot(T, 3)
    wt = C[T][:, None]
    return {"x": x, "c": c, "z": z}, [
        ("mean_for_sum", "x", (P - H) * wt), ("sign", "x", (H - P) * wt / wt.sum()),
        ("missing_path", "x", P * wt / wt.sum()),
    ]


@program
def log_softmax_by_hand():
    X, W = draw(4, 3), draw(4, 3, seed=1)
    x, w = leaf(X), tensor(W)
    z = ((x - x.exp().sum(1, keepdim=True).log()) * w).sum()
    P = softmax(X)
    return {"x": x, "z": z}, [
        ("missing_path", "x", W), ("missing_path", "x", -P * W.sum(1, keepdims=True)),
        ("softmax_diagonal_only", "x", W * (1 - P)), ("sign", "x", W + P * W.sum(1, keepdims=True)),
        ("reduction_axis", "x", W - softmax(X, 0) * W.sum(0)),
    ]


@program
def log_softmax_of_a_function():
    X, W = draw(4, 3), draw(4, 3, seed=1)
    x = leaf(X)
    z = F.log_softmax(x, dim=1)
    P = softmax(X)
    return {"x": x, "z": z, "gradient": W}, [
        ("softmax_diagonal_only", "x", W * (1 - P)), ("upstream_only", "x", W),
        ("reduction_axis", "x", W - softmax(X, 0) * W.sum(0)),
        ("wrong_argument", "x", W - X * W.sum(1, keepdims=True)),
        ("wrong_argument", "x", W - np.log(P) * W.sum(1, keepdims=True)),
        ("missing_path", "x", -P * W.sum(1, keepdims=True)),
        ("sign", "x", W + P * W.sum(1, keepdims=True)), ("upstream_ignored", "x", 1 - 3 * P),
    ]


@program
def softmax_by_hand_in_rows():
    X, W = draw(4, 3), draw(4, 3, seed=1)
    x, w = leaf(X), tensor(W)
    e = x.exp()
    p = e / e.sum(1, keepdim=True)
    z = (p * w).sum()
    P, E = softmax(X), np.exp(X)
    S = E.sum(1, keepdims=True)
    right = P * (W - (P * W).sum(1, keepdims=True))
    return {"x": x, "e": e, "p": p, "z": z}, [
        ("softmax_diagonal_only", "x", P * (1 - P) * W), ("missing_path", "x", P * W),
        ("missing_path", "x", -P * (P * W).sum(1, keepdims=True)),
        ("sign", "x", P * (W + (P * W).sum(1, keepdims=True))),
        ("reduction_axis", "x", P * (W - (P * W).sum(0, keepdims=True))),
        ("wrong_argument", "x", right / E * X), ("forgot_inner", "x", right / E),
        ("missing_path", "e", W / S),
    ]


@program
def softmax_with_a_squared_loss():
    X, T = draw(5), draw(5, seed=1)
    x = leaf(X)
    p = minigrad.softmax(x, dim=0)
    z = ((p - tensor(T)) ** 2).sum()
    P = softmax(X)
    G = 2 * (P - T)
    return {"x": x, "p": p, "z": z}, [
        ("softmax_diagonal_only", "x", G * P * (1 - P)),
        ("wrong_argument", "x", X * (G - (G * X).sum())), ("forgot_inner", "x", G),
        ("scale", "x", P * (G - (G * P).sum()) / 2), ("missing_path", "x", P * G),
    ]


# ------------------------------------------------------------------ normalization, statistics


@program
def batch_norm_by_hand():
    X, G0 = draw(6, 3), draw(6, 3, seed=1)
    GA, BE = draw(3, seed=2), draw(3, seed=3)
    x, gamma, beta = leaf(X), leaf(GA), leaf(BE)
    m = x.mean(0)
    v = ((x - m) ** 2).mean(0)
    h = (x - m) / (v + 1e-5).sqrt()
    z = gamma * h + beta
    M, S = X.mean(0), np.sqrt(X.var(0) + 1e-5)
    H = (X - M) / S
    G = G0 * GA
    right = (G - G.mean(0) - H * (G * H).mean(0)) / S
    return {"x": x, "gamma": gamma, "beta": beta, "m": m, "v": v, "h": h, "z": z, "gradient": G0}, [
        ("missing_path", "x", G / S), ("missing_path", "x", (G - G.mean(0)) / S),
        ("missing_path", "x", (G - H * (G * H).mean(0)) / S),
        ("broadcast_not_summed", "gamma", G0 * H), ("broadcast_not_summed", "beta", G0),
        ("other_variable", "gamma", G0.sum(0)), ("mean_for_sum", "beta", G0.mean(0)),
        ("sign", "x", -right), ("upstream_ignored", "gamma", H.sum(0)),
    ]


@program
def batch_norm_of_a_function():
    X, G0 = draw(6, 3), draw(6, 3, seed=1)
    GA, BE = draw(3, seed=2), draw(3, seed=3)
    x, gamma, beta = leaf(X), leaf(GA), leaf(BE)
    z = F.batch_norm(x, None, None, gamma, beta, training=True)
    M, S = X.mean(0), np.sqrt(X.var(0) + 1e-5)
    H = (X - M) / S
    G = G0 * GA
    return {"x": x, "gamma": gamma, "beta": beta, "z": z, "gradient": G0}, [
        ("missing_path", "x", G / S), ("missing_path", "x", (G - G.mean(0)) / S),
        ("missing_path", "x", (G - H * (G * H).mean(0)) / S),
        ("broadcast_not_summed", "gamma", G0 * H), ("broadcast_not_summed", "beta", G0),
        ("other_variable", "gamma", G0.sum(0)),
    ]


@program
def layer_norm_by_hand():
    X, G = draw(4, 5), draw(4, 5, seed=1)
    x = leaf(X)
    c = x - x.mean(1, keepdim=True)
    z = c / ((c**2).mean(1, keepdim=True) + 1e-5).sqrt()
    S = np.sqrt(X.var(1, keepdims=True) + 1e-5)
    H = (X - X.mean(1, keepdims=True)) / S

    def mean(a):
        return a.mean(1, keepdims=True)

    return {"x": x, "c": c, "z": z, "gradient": G}, [
        ("missing_path", "x", G / S), ("missing_path", "x", (G - mean(G)) / S),
        ("missing_path", "x", (G - H * mean(G * H)) / S),
        ("sign", "x", (G - mean(G) + H * mean(G * H)) / S), ("upstream_only", "x", G),
    ]


@program
def a_variance_by_hand():
    X = draw(6)
    x = leaf(X)
    z = ((x - x.mean()) ** 2).mean()
    D = X - X.mean()
    return {"x": x, "z": z}, [
        ("scale", "x", D / 6), ("mean_for_sum", "x", 2 * D), ("scale", "x", 2 * D / 5),
        ("sign", "x", -2 * D / 6),
    ]


@program
def a_variance():
    X, G = draw(4, 5), draw(4, seed=1)
    x = leaf(X)
    z = x.var(1)
    D = X - X.mean(1, keepdims=True)
    return {"x": x, "z": z, "gradient": G}, [
        ("scale", "x", 2 * D / 5 * G[:, None]), ("scale", "x", D / 4 * G[:, None]),
        ("mean_for_sum", "x", 2 * D * G[:, None]), ("upstream_ignored", "x", 2 * D / 4),
        ("sign", "x", -2 * D / 4 * G[:, None]), ("wrong_argument", "x", 2 * X / 4 * G[:, None]),
    ]


@program
def a_deviation():
    X = draw(6)
    x = leaf(X)
    z = x.std()
    D, S = X - X.mean(), X.std(ddof=1)
    return {"x": x, "z": z}, [
        ("scale", "x", D / (6 * S)), ("wrong_argument", "x", D / (5 * S**2)),
        ("upstream_ignored", "x", 2 * D / 5), ("mean_for_sum", "x", D / S),
    ]


@program
def a_norm():
    X = draw(5)
    x = leaf(X)
    z = x.norm()
    N = np.linalg.norm(X)
    return {"x": x, "z": z}, [
        ("scale", "x", 2 * X / N), ("scale", "x", X / (2 * N)), ("wrong_argument", "x", X / N**2),
        ("sign", "x", -X / N), ("upstream_only", "x", np.ones(5)),
    ]


@program
def a_vector_made_a_unit():
    X, G = draw(5), draw(5, seed=1)
    x = leaf(X)
    n = (x**2).sum().sqrt()
    z = x / n
    N = np.linalg.norm(X)
    return {"x": x, "n": n, "z": z, "gradient": G}, [
        ("missing_path", "x", G / N), ("missing_path", "x", -X * (G @ X) / N**3),
        ("sign", "x", G / N + X * (G @ X) / N**3),
        ("double_counted", "x", G / N - 2 * X * (G @ X) / N**3),
        ("scale", "x", G / N - X * (G @ X) / N**3 / 2), ("upstream_only", "x", G),
    ]


@program
def averages_of_rows():
    X, G = draw(4, 3), draw(4, seed=1)
    x = leaf(X)
    z = (x**2).mean(1)
    return {"x": x, "z": z, "gradient": G}, [
        ("mean_for_sum", "x", 2 * X * G[:, None]), ("scale", "x", X * G[:, None] / 3),
        ("upstream_ignored", "x", 2 * X / 3), ("scale", "x", 2 * X * G[:, None] / 4),
        ("scale", "x", 2 * X * G[:, None] / 12),
    ]


@program
def a_log_of_a_sum_of_exponentials():
    X, G = draw(3, 3), draw(3, seed=1)
    x = leaf(X)
    z = x.logsumexp(1)
    P = softmax(X)
    return {"x": x, "z": z, "gradient": G}, [
        ("reduction_axis", "x", softmax(X, 0) * G[:, None]), ("upstream_ignored", "x", P),
        ("reduction_axis", "x", P * G), ("softmax_diagonal_only", "x", P * (1 - P) * G[:, None]),
        ("upstream_only", "x", np.ones((3, 3)) * G[:, None]),
        ("wrong_argument", "x", X * G[:, None]),
    ]


# ------------------------------------------------------------------ attention, convolution, recurrence


@program
def attention():
    Q, K, V = draw(4, 3), draw(4, 3, seed=1), draw(4, 3, seed=2)
    G = draw(4, 3, seed=3)
    q, k, v = leaf(Q), leaf(K), leaf(V)
    s = q @ k.T / 3**0.5
    p = minigrad.softmax(s, dim=-1)
    z = p @ v
    P = softmax(Q @ K.T / 3**0.5)
    dP = G @ V.T
    dS = P * (dP - (dP * P).sum(-1, keepdims=True)) / 3**0.5
    return {"q": q, "k": k, "v": v, "s": s, "p": p, "z": z, "gradient": G}, [
        ("scale", "q", dS @ K * 3**0.5), ("scale", "k", dS.T @ Q * 3**0.5),
        ("softmax_diagonal_only", "q", (dP * P * (1 - P)) @ K / 3**0.5),
        ("transposed", "k", dS @ Q), ("transposed", "v", P @ G), ("other_variable", "q", dS.T @ Q),
        ("upstream_ignored", "v", P.T @ np.ones((4, 3))),
        ("reduction_axis", "q", P * (dP - (dP * P).sum(0)) / 3**0.5 @ K),
        ("upstream_only", "q", dP @ K / 3**0.5), ("sign", "v", -P.T @ G),
    ]


@program
def attention_to_oneself():
    X, G = draw(4, 3), draw(4, 3, seed=3)
    x = leaf(X)
    p = minigrad.softmax(x @ x.T, dim=-1)
    z = p @ x
    P = softmax(X @ X.T)
    dP = G @ X.T
    dS = P * (dP - (dP * P).sum(-1, keepdims=True))
    return {"x": x, "p": p, "z": z, "gradient": G}, [
        ("missing_path", "x", P.T @ G), ("missing_path", "x", dS @ X + dS.T @ X),
        ("missing_path", "x", P.T @ G + dS @ X), ("missing_path", "x", P.T @ G + dS.T @ X),
    ]


@program
def a_convolution():
    X, K, B = draw(2, 2, 5, 5), draw(3, 2, 3, 3, seed=1), draw(3, seed=2)
    x, k, b = leaf(X), leaf(K), leaf(B)
    z = F.conv2d(x, k, b)
    G = draw(2, 3, 3, 3, seed=3)
    win = np.lib.stride_tricks.sliding_window_view(X, (3, 3), (2, 3))
    dK = np.einsum("nohw,nchwij->ocij", G, win)

    def back(kernel):
        d = np.zeros_like(X)
        for i in range(3):
            for j in range(3):
                d[:, :, i : i + 3, j : j + 3] += np.einsum("nohw,oc->nchw", G, kernel[:, :, i, j])
        return d

    return {"x": x, "k": k, "b": b, "z": z, "gradient": G}, [
        ("transposed", "x", back(K[:, :, ::-1, ::-1])), ("transposed", "k", dK[:, :, ::-1, ::-1]),
        ("transposed", "k", dK.swapaxes(2, 3)), ("broadcast_not_summed", "b", G),
        ("mean_for_sum", "b", G.mean((0, 2, 3))), ("broadcast_not_summed", "b", G.sum(0)),
        ("upstream_ignored", "k", np.einsum("nohw,nchwij->ocij", G * 0 + 1, win)),
        ("upstream_ignored", "b", np.full(3, 18.0)), ("scale", "k", dK / 2),
    ]


@program
def a_convolution_of_signals():
    X, K = draw(1, 1, 8), draw(1, 1, 3, seed=1)
    x, k = leaf(X), leaf(K)
    z = F.conv1d(x, k)
    G = draw(1, 1, 6, seed=2)
    dX = np.convolve(G[0, 0], K[0, 0])
    dK = np.correlate(X[0, 0], G[0, 0], "valid")
    return {"x": x, "k": k, "z": z, "gradient": G}, [
        ("transposed", "x", np.convolve(G[0, 0], K[0, 0, ::-1])[None, None]),
        ("transposed", "k", dK[::-1][None, None]), ("shape", "x", dX),
        ("sign", "k", -dK[None, None]),
    ]


@program
def a_recurrent_step():
    X, H0, W, U, B = draw(3, 2), draw(3, 4, seed=1), draw(2, 4, seed=2), draw(4, 4, seed=3), draw(4)
    x, h0, w, u, b = leaf(X), leaf(H0), leaf(W), leaf(U), leaf(B)
    h1 = (x @ w + h0 @ u + b).tanh()
    h2 = (x @ w + h1 @ u + b).tanh()
    z = h2.sum()
    A1 = X @ W + H0 @ U + B
    H1 = np.tanh(A1)
    H2 = np.tanh(X @ W + H1 @ U + B)
    D2 = 1 - H2**2
    D1 = (D2 @ U.T) * (1 - H1**2)
    return {"x": x, "h0": h0, "w": w, "u": u, "b": b, "h1": h1, "h2": h2, "z": z}, [
        ("missing_path", "u", H1.T @ D2), ("missing_path", "u", H0.T @ D1),
        ("missing_path", "w", X.T @ D2), ("missing_path", "b", D2.sum(0)),
        ("double_counted", "u", 2 * H1.T @ D2 + H0.T @ D1), ("transposed", "h0", D1 @ U),
        ("upstream_only", "h0", D2 @ U.T @ U.T), ("broadcast_not_summed", "b", D2 + D1),
        ("wrong_argument", "h0", (D2 @ U.T) * (1 - A1**2) @ U.T),
    ]


@program
def a_gate():
    X, H = draw(4), draw(4, seed=1)
    x, h = leaf(X), leaf(H)
    g = (x + h).sigmoid()
    z = g * h + (1 - g) * x.tanh()
    S, T = sigmoid(X + H), np.tanh(X)
    dg = (H - T) * S * (1 - S)
    G = draw(4, seed=2)
    return {"x": x, "h": h, "g": g, "z": z, "gradient": G}, [
        ("missing_path", "x", G * (1 - S) * (1 - T**2)), ("missing_path", "x", G * dg),
        ("missing_path", "h", G * S), ("sign", "h", G * (S + (H + T) * S * (1 - S))),
        ("upstream_ignored", "x", dg + (1 - S) * (1 - T**2)),
        ("wrong_argument", "x", G * (dg + (1 - S) * (1 - X**2))),
        ("double_counted", "h", G * (2 * S + dg)),
    ]


@program
def an_lstm_cell():
    A, C = draw(4, 4), draw(4, seed=1)
    a, c0 = leaf(A), leaf(C)
    i, f, o, n = a[0].sigmoid(), a[1].sigmoid(), a[2].sigmoid(), a[3].tanh()
    c = f * c0 + i * n
    z = (o * c.tanh()).sum()
    In, Fo, Ou, Ne = sigmoid(A[0]), sigmoid(A[1]), sigmoid(A[2]), np.tanh(A[3])
    Cn = Fo * C + In * Ne
    dC = Ou * (1 - np.tanh(Cn) ** 2)
    return {"a": a, "c0": c0, "i": i, "f": f, "o": o, "n": n, "c": c, "z": z}, [
        ("upstream_ignored", "c0", Fo), ("upstream_only", "c0", Ou * Fo),
        ("wrong_argument", "c0", Ou * (1 - Cn**2) * Fo), ("swapped_operands", "i", dC * In),
        ("swapped_operands", "c0", dC * C), ("other_variable", "i", dC * C),
        ("sign", "n", -dC * In),
    ]


# ------------------------------------------------------------------ in place and views


@program
def a_chain_in_place():
    X, Y = draw(4), draw(4, seed=1)
    x, y = leaf(X), leaf(Y)
    c = x.exp() * 1.0
    c *= y
    c += x
    z = (c**2).sum()
    C = np.exp(X) * Y + X
    return {"x": x, "y": y, "c": c, "z": z}, [
        ("missing_path", "x", 2 * C), ("missing_path", "x", 2 * C * np.exp(X) * Y),
        ("stale_value", "y", 2 * C * (np.exp(X) * Y)),
        ("stale_value", "x", 2 * np.exp(X) * (np.exp(X) * Y + 1)),
        ("stale_value", "x", 2 * np.exp(X) * Y * (np.exp(X) * Y + 1)),
        ("double_counted", "x", 2 * C * (np.exp(X) * Y + 2)), ("stale_value", "y", 2 * C * C),
    ]


@program
def a_row_is_overwritten():
    X, Y = draw(3, 4), draw(4, seed=1)
    x, y = leaf(X), leaf(Y)
    c = x * 1.0
    c[0] = y
    z = (c**2).sum()
    full = 2 * X
    right = full.copy()
    right[0] = 0
    return {"x": x, "y": y, "c": c, "z": z}, [
        ("mask_missing", "x", np.concatenate([2 * Y[None], full[1:]])),
        ("stale_value", "y", 2 * X[0]), ("scale", "y", Y), ("sign", "x", -right),
        ("scale", "x", right / 2),
    ]


@program
def a_view_is_scaled():
    X, W = draw(3, 4), draw(4, seed=1)
    x, w = leaf(X), leaf(W)
    c = x * 1.0
    r = c[1]
    r *= w
    z = (c**3).sum()
    C = X.copy()
    C[1] *= W
    right = 3 * C**2
    right[1] *= W
    through = 3 * C**2
    old = 3 * X**2
    old[1] *= W
    return {"x": x, "w": w, "c": c, "r": r, "z": z}, [
        ("stale_value", "x", old), ("upstream_only", "x", through),
        ("stale_value", "w", 3 * X[1] ** 2 * X[1]), ("stale_value", "w", 3 * C[1] ** 2 * C[1]),
        ("forgot_inner", "w", 3 * C[1] ** 2), ("sign", "x", -right),
    ]


@program
def a_saved_value_before_the_write():
    X, Y = draw(4), draw(4, seed=1)
    x, y = leaf(X), leaf(Y)
    a = x * y
    b = a.exp()
    a += y
    z = (a * b).sum()
    A0 = X * Y
    A1 = A0 + Y
    return {"x": x, "y": y, "a": a, "b": b, "z": z}, [
        ("missing_path", "x", np.exp(A0) * Y), ("missing_path", "x", A1 * np.exp(A0) * Y),
        ("missing_path", "y", (np.exp(A0) + A1 * np.exp(A0)) * X),
        ("stale_value", "x", (np.exp(A0) + A0 * np.exp(A0)) * Y),
        ("stale_value", "x", (np.exp(A0) + A1 * np.exp(A1)) * Y),
    ]


@program
def relu_in_place():
    X, W = draw(6), draw(6, seed=1)
    x, w = leaf(X), leaf(W)
    c = x * w
    c.relu_()
    z = (c * w).sum()
    U = X * W
    M = U > 0
    return {"x": x, "w": w, "c": c, "z": z}, [
        ("mask_missing", "x", W * W), ("mask_inverted", "x", W * W * ~M),
        ("missing_path", "w", W * M * X), ("missing_path", "w", U * M),
        ("swapped_operands", "x", W * M * X),
    ]


# ------------------------------------------------------------------ indices, masks, selections


@program
def a_gather():
    X, I = draw(3, 4), np.array([[0, 0, 1], [1, 3, 3], [2, 2, 2]])  # noqa: E741
    W = draw(3, 3, seed=1)
    x = leaf(X)
    z = (x.gather(1, tensor(I)) ** 2 * tensor(W)).sum()
    G = 2 * np.take_along_axis(X, I, 1) * W
    over = np.zeros((3, 4))
    np.put_along_axis(over, I, G, 1)
    right = np.zeros((3, 4))
    np.add.at(right, (np.arange(3)[:, None], I), G)
    return {"x": x, "z": z}, [
        ("index_not_scattered", "x", over), ("index_not_scattered", "x", G),
        ("scale", "x", right / 2), ("sign", "x", -right),
    ]


@program
def an_embedding():
    E, I, W = draw(6, 3), np.array([[1, 4], [1, 1]]), draw(2, 2, 3, seed=1)  # noqa: E741
    table = leaf(E)
    z = (F.embedding(tensor(I), table) * tensor(W)).sum()
    over, right = np.zeros((6, 3)), np.zeros((6, 3))
    over[I] = W
    np.add.at(right, I, W)
    count = np.zeros((6, 3))
    np.add.at(count, I, 1)
    mean = right.copy()
    mean[1] /= 3
    return {"table": table, "z": z}, [
        ("index_not_scattered", "table", over), ("index_not_scattered", "table", W),
        ("upstream_ignored", "table", count), ("mean_for_sum", "table", mean),
        ("scale", "table", 2 * right),
    ]


@program
def picked_rows():
    X, I, G = draw(5, 2), np.array([3, 0, 3, 3]), draw(4, 2, seed=1)  # noqa: E741
    x = leaf(X)
    z = x.index_select(0, tensor(I)).exp()
    right, over, first = np.zeros((5, 2)), np.zeros((5, 2)), np.zeros((5, 2))
    np.add.at(right, I, G * np.exp(X[I]))
    over[I] = G * np.exp(X[I])
    first[I[::-1]] = (G * np.exp(X[I]))[::-1]
    up = np.zeros((5, 2))
    np.add.at(up, I, G)
    return {"x": x, "z": z, "gradient": G}, [
        ("index_not_scattered", "x", over), ("index_not_scattered", "x", first),
        ("upstream_only", "x", up), ("sign", "x", -right),
    ]


@program
def the_greater_of_two():
    X, Y, G = draw(6), draw(6, seed=1), draw(6, seed=2)
    x, y = leaf(X), leaf(Y)
    z = minigrad.maximum(x, y)
    M = X > Y
    return {"x": x, "y": y, "z": z, "gradient": G}, [
        ("mask_missing", "x", G), ("mask_inverted", "x", G * ~M),
        ("upstream_ignored", "x", M * 1.0), ("mask_inverted", "y", G * M),
    ]


@program
def an_absolute_value():
    X, W = draw(6), draw(6, seed=1)
    x = leaf(X)
    z = (x.abs() * tensor(W)).sum()
    return {"x": x, "z": z}, [
        ("upstream_only", "x", W), ("sign", "x", -W * np.sign(X)),
        ("upstream_ignored", "x", np.sign(X)),
    ]


@program
def a_choice():
    X, Y, G = draw(6), draw(6, seed=1), draw(6, seed=2)
    x, y = leaf(X), leaf(Y)
    z = minigrad.where(x > 0, x.exp(), y.sin())
    C = X > 0
    return {"x": x, "y": y, "z": z, "gradient": G}, [
        ("mask_missing", "x", G * np.exp(X)), ("mask_inverted", "x", G * np.exp(X) * ~C),
        ("mask_missing", "y", G * np.cos(Y)), ("mask_inverted", "y", G * np.cos(Y) * C),
        ("upstream_only", "x", G * C), ("upstream_ignored", "x", np.exp(X) * C),
        ("wrong_argument", "y", G * np.cos(np.sin(Y)) * ~C),
    ]


@program
def a_dropout():
    X, W, K = draw(3, 4), draw(4, 2, seed=1), (draw(3, 4, seed=2) > -0.2) * 1.0
    x, w = leaf(X), leaf(W)
    z = ((x * tensor(K) / 0.6) @ w).sum()
    G = np.ones((3, 2)) @ W.T
    return {"x": x, "w": w, "z": z}, [
        ("mask_missing", "x", G / 0.6), ("mask_missing", "x", G),
        ("mask_inverted", "x", G * (1 - K) / 0.6),
        ("mask_missing", "w", (X / 0.6).T @ np.ones((3, 2))), ("scale", "x", G * K),
    ]


@program
def a_clamp():
    X, G = draw(8), draw(8, seed=1)
    x = leaf(X)
    z = (x.clamp(min=-0.5, max=0.8) ** 2) * 3
    C = np.clip(X, -0.5, 0.8)
    M = (X > -0.5) & (X < 0.8)
    return {"x": x, "z": z, "gradient": G}, [
        ("mask_missing", "x", 6 * C * G), ("mask_inverted", "x", 6 * C * G * ~M),
        ("scale", "x", 3 * C * G * M),
    ]


@program
def the_greatest_entry():
    x = leaf(np.array([[1.0, 5.0, 5.0], [2.0, 0.0, 2.0]]))
    W = np.array([2.0, 3.0])
    z = (x.amax(1) * tensor(W)).sum()
    return {"x": x, "z": z}, [
        ("ties", "x", np.array([[0, 2.0, 0], [3.0, 0, 0]])),
        ("ties", "x", np.array([[0, 2.0, 2.0], [3.0, 0, 3.0]])),
        ("mask_missing", "x", np.ones((2, 3)) * W[:, None]),
        ("upstream_ignored", "x", np.array([[0, 0.5, 0.5], [0.5, 0, 0.5]])),
    ]


@program
def a_triangle():
    A, B = draw(4, 4), draw(4, 4, seed=1)
    a = leaf(A)
    z = (a.tril() @ tensor(B)).sum()
    G = np.ones((4, 4)) @ B.T
    return {"a": a, "z": z}, [
        ("mask_missing", "a", G), ("mask_inverted", "a", np.triu(G)),
        ("mask_inverted", "a", np.triu(G, 1)), ("transposed", "a", np.tril(G).T),
    ]


@program
def a_masked_fill():
    X, G, M = draw(3, 4), draw(3, 4, seed=1), draw(3, 4, seed=2) > 0.3
    x = leaf(X)
    z = minigrad.softmax(x.masked_fill(tensor(M), -1e9), dim=1)
    P = softmax(np.where(M, -1e9, X))
    return {"x": x, "z": z, "gradient": G}, [
        ("softmax_diagonal_only", "x", G * P * (1 - P)), ("upstream_only", "x", G * ~M),
    ]


# ------------------------------------------------------------------ products and shapes


@program
def a_product_of_matrices():
    A, B, G = draw(3, 4), draw(4, 2, seed=1), draw(3, 2, seed=2)
    a, b = leaf(A), leaf(B)
    z = a @ b
    return {"a": a, "b": b, "z": z, "gradient": G}, [
        ("transposed", "a", (G @ B.T).T), ("transposed", "b", G.T @ A),
        ("upstream_ignored", "a", np.ones((3, 2)) @ B.T), ("sign", "a", -G @ B.T),
        ("shape", "a", (G @ B.T).reshape(-1)), ("scale", "b", 2 * A.T @ G),
    ]


@program
def a_quadratic_form():
    X, A = draw(4), draw(4, 4, seed=1)
    x, a = leaf(X), leaf(A)
    z = x @ a @ x
    return {"x": x, "a": a, "z": z}, [
        ("missing_path", "x", A @ X), ("missing_path", "x", A.T @ X),
        ("sign", "x", A @ X - A.T @ X), ("scale", "a", 2 * np.outer(X, X)),
    ]


@program
def an_einsum():
    A, B, G = draw(3, 4), draw(4, 5, seed=1), draw(3, 5, seed=2)
    a, b = leaf(A), leaf(B)
    z = minigrad.einsum("ik,kj->ij", a, b)
    return {"a": a, "b": b, "z": z, "gradient": G}, [
        ("transposed", "a", (G @ B.T).T), ("upstream_ignored", "a", np.ones((3, 5)) @ B.T),
        ("sign", "b", -A.T @ G), ("scale", "a", 2 * G @ B.T),
    ]


@program
def a_square_einsum():
    A, B, G = draw(3, 3), draw(3, 3, seed=1), draw(3, 3, seed=2)
    a, b = leaf(A), leaf(B)
    z = minigrad.einsum("ik,kj->ij", a, b)
    return {"a": a, "b": b, "z": z, "gradient": G}, [
        ("transposed", "a", G @ B), ("matmul_order", "a", B.T @ G), ("transposed", "b", A @ G),
        ("matmul_order", "b", G @ A.T), ("swapped_operands", "a", A.T @ G),
        ("upstream_ignored", "b", A.T @ np.ones((3, 3))),
    ]


@program
def an_einsum_over_a_batch():
    A, B, G = draw(2, 3, 3), draw(2, 3, 3, seed=1), draw(2, 3, 3, seed=2)
    a, b = leaf(A), leaf(B)
    z = minigrad.einsum("bij,bkj->bik", a, b)
    T = B.swapaxes(1, 2)
    return {"a": a, "b": b, "z": z, "gradient": G}, [
        ("transposed", "a", G @ T), ("transposed", "b", G @ A), ("matmul_order", "a", B @ G),
        ("upstream_ignored", "a", np.ones((2, 3, 3)) @ B),
    ]


@program
def a_bias_of_three_axes():
    X, B, G = draw(2, 3, 4), draw(4, seed=1), draw(2, 3, 4, seed=2)
    x, b = leaf(X), leaf(B)
    z = (x + b).tanh()
    D = G * (1 - np.tanh(X + B) ** 2)
    return {"x": x, "b": b, "z": z, "gradient": G}, [
        ("broadcast_not_summed", "b", D), ("broadcast_not_summed", "b", D.sum(0)),
        ("broadcast_not_summed", "b", D.sum(1)), ("mean_for_sum", "b", D.mean((0, 1))),
        ("mean_for_sum", "b", D.sum(0).mean(0)), ("shape", "b", D.sum((0, 1), keepdims=True)),
        ("wrong_argument", "x", G * (1 - (X + B) ** 2)),
    ]


@program
def a_scalar_scale():
    X, S = draw(4, 3), 0.7
    x, s = leaf(X), leaf(S)
    z = ((x * s) ** 2).mean()
    return {"x": x, "s": s, "z": z}, [
        ("broadcast_not_summed", "s", 2 * X**2 * S / 12),
        ("mean_for_sum", "s", (2 * X**2 * S).sum()), ("scale", "s", (X**2 * S).mean()),
        ("swapped_operands", "x", 2 * X * S * X / 12), ("forgot_inner", "x", 2 * X * S / 12),
        ("mean_for_sum", "s", (2 * X**2 * S / 12).mean()),
    ]


@program
def a_running_sum():
    X, G = draw(6), draw(6, seed=1)
    x = leaf(X)
    z = x.cumsum(0)
    return {"x": x, "z": z, "gradient": G}, [
        ("tangent_for_gradient", "x", np.cumsum(G)), ("upstream_only", "x", G),
        ("upstream_ignored", "x", np.arange(6.0, 0, -1)),
    ]


@program
def a_product_of_all():
    X = draw(4, low=0.5, high=2)
    x = leaf(X)
    z = x.prod()
    P = X.prod()
    return {"x": x, "z": z}, [
        ("upstream_only", "x", np.ones(4)), ("sign", "x", -P / X), ("scale", "x", 2 * P / X),
    ]


@program
def moved_and_stacked():
    X, W = draw(3, 3), draw(3, 3, seed=1)
    x = leaf(X)
    z = (minigrad.cat([x, x.T], dim=0) * tensor(np.concatenate([W, 2 * W]))).sum()
    return {"x": x, "z": z}, [
        ("missing_path", "x", W), ("missing_path", "x", 2 * W.T), ("transposed", "x", W + 2 * W),
    ]


@program
def a_diagonal():
    A, G = draw(3, 3), draw(3, seed=1)
    a = leaf(A)
    z = a.diagonal() ** 2
    right = np.diag(2 * np.diag(A) * G)
    return {"a": a, "z": z, "gradient": G}, [
        ("scale", "a", right / 2), ("index_not_scattered", "a", 2 * np.diag(A) * G),
        ("upstream_ignored", "a", np.diag(2 * np.diag(A))), ("sign", "a", -right),
    ]


@program
def functions_of_one_variable():
    X, G = draw(6, low=0.3, high=2), draw(6, seed=1)
    x = leaf(X)
    z = x.sqrt() + x.log() + x.reciprocal() + x.atan()
    parts = [1 / (2 * np.sqrt(X)), 1 / X, -1 / X**2, 1 / (1 + X**2)]
    total = sum(parts)
    return {"x": x, "z": z, "gradient": G}, [
        ("sign", "x", G * (total + 2 / X**2)),
        ("wrong_argument", "x", G * (total - parts[0] + 1 / (2 * X))),
        ("missing_path", "x", G * (total - parts[3])),
        ("wrong_argument", "x", G * (total - parts[1] + 1 / np.log(X))),
        ("double_counted", "x", G * (total + parts[0])), ("upstream_ignored", "x", total),
    ]


@program
def smooth_activations():
    X, G = draw(6), draw(6, seed=1)
    x = leaf(X)
    z = F.softplus(x) + F.silu(x)
    S = sigmoid(X)
    d2 = S * (1 + X * (1 - S))
    return {"x": x, "z": z, "gradient": G}, [
        ("missing_path", "x", G * S), ("missing_path", "x", G * d2),
        ("upstream_ignored", "x", S + d2), ("sign", "x", G * (S - d2)),
        ("missing_path", "x", G * (S + S)),
    ]


@program
def silu_by_hand():
    X = draw(5)
    x = leaf(X)
    z = (x * x.sigmoid()).sum()
    S = sigmoid(X)
    return {"x": x, "z": z}, [
        ("missing_path", "x", S), ("missing_path", "x", X * S * (1 - S)),
        ("wrong_argument", "x", S + X * X * (1 - X)), ("sign", "x", S - X * S * (1 - S)),
        ("upstream_only", "x", S + X),
    ]


@program
def a_fork_of_scalars():
    A, B, C = 2.3, -1.2, 0.7
    a, b, c = leaf(A), leaf(B), leaf(C)
    d = a * b
    e = d + c
    z = (d * e).tanh()
    D, E = A * B, A * B + C
    t = 1 - np.tanh(D * E) ** 2
    return {"a": a, "b": b, "c": c, "d": d, "e": e, "z": z}, [
        ("missing_path", "a", t * E * B), ("missing_path", "a", t * D * B),
        ("swapped_operands", "a", t * (D + E) * A), ("upstream_ignored", "c", D),
        ("sign", "c", -t * D), ("double_counted", "d", t * (E + 2 * D)),
        ("wrong_argument", "c", (1 - (D * E) ** 2) * D),
    ]


@program
def an_oblong_loss():
    X, W = draw(4, 3), draw(4, 3, seed=1)
    x, w = leaf(X), leaf(W)
    z = (x * w).sin().mean(1).sum()
    C = np.cos(X * W)
    return {"x": x, "w": w, "z": z}, [
        ("mean_for_sum", "x", C * W), ("mean_for_sum", "x", C * W / 12),
        ("forgot_inner", "x", C / 3), ("swapped_operands", "x", C * X / 3),
        ("upstream_ignored", "x", W), ("wrong_argument", "x", np.cos(X) * W / 3),
    ]


# ------------------------------------------------------------------ another hand


@program
def scalars_of_the_first_lesson():
    x, y = leaf(2.0), leaf(3.0)
    z = x**2 * y + y
    return {"x": x, "y": y, "z": z}, [
        ("scale", "x", 6.0), ("missing_path", "y", 4.0), ("missing_path", "y", 1.0),
        ("sign", "x", -12.0), ("scale", "x", 24.0),
    ]


@program
def a_number_in_a_sigmoid():
    W, X, B = 0.8, 1.5, -0.3
    w, x, b = leaf(W), leaf(X), leaf(B)
    z = (w * x + b).sigmoid()
    U = W * X + B
    S = sigmoid(U)
    return {"w": w, "x": x, "b": b, "z": z}, [
        ("forgot_inner", "w", S * (1 - S)), ("swapped_operands", "w", S * (1 - S) * W),
        ("wrong_argument", "w", U * (1 - U) * X), ("wrong_argument", "b", U * (1 - U)),
        ("upstream_ignored", "w", X), ("sign", "w", -S * (1 - S) * X),
    ]


@program
def tanh_with_a_gradient():
    X, G = draw(3, 4), draw(3, 4, seed=1)
    x = leaf(X)
    z = x.tanh()
    T = np.tanh(X)
    return {"x": x, "z": z, "gradient": G}, [
        ("wrong_argument", "x", G * (1 - X**2)), ("upstream_ignored", "x", 1 - T**2),
        ("upstream_only", "x", G), ("sign", "x", -G * (1 - T**2)),
        ("wrong_argument", "x", G * (1 - np.tanh(T) ** 2)),
    ]


@program
def exponentials_and_roots():
    X = draw(5, low=0.5, high=2)
    x = leaf(X)
    z = x.exp().sqrt().sum()
    return {"x": x, "z": z}, [
        ("wrong_argument", "x", 1 / (2 * np.exp(X)) * np.exp(X)),
        ("upstream_ignored", "x", np.exp(X)), ("forgot_inner", "x", 1 / (2 * np.sqrt(np.exp(X)))),
        ("wrong_argument", "x", X / (2 * np.sqrt(np.exp(X)))), ("scale", "x", np.sqrt(np.exp(X))),
    ]


@program
def a_double_sine():
    X = draw(4)
    x = leaf(X)
    z = x.sin().sin()
    return {"x": x, "z": z}, [
        ("forgot_inner", "x", np.cos(np.sin(X))), ("upstream_ignored", "x", np.cos(X)),
        ("wrong_argument", "x", np.cos(X) * np.cos(X)),
        ("sign", "x", -np.cos(np.sin(X)) * np.cos(X)),
    ]


@program
def a_normalized_exponential_loss():
    X = draw(3, 4)
    x = leaf(X)
    p = x.softmax(1)
    z = -(p[:, 0].log()).mean()
    P = softmax(X)
    H = np.zeros((3, 4))
    H[:, 0] = 1
    return {"x": x, "p": p, "z": z}, [
        ("mean_for_sum", "x", P - H), ("sign", "x", (H - P) / 3),
        ("softmax_diagonal_only", "x", -(1 - P) * H / 3), ("missing_path", "x", P / 3),
        ("index_not_scattered", "p", -1 / P[:, 0] / 3),
    ]


@program
def broadcast_of_a_column_and_a_row():
    A, B, G = draw(3, 1), draw(4, seed=1), draw(3, 4, seed=2)
    a, b = leaf(A), leaf(B)
    z = a * b
    return {"a": a, "b": b, "z": z, "gradient": G}, [
        ("broadcast_not_summed", "a", G * B), ("broadcast_not_summed", "b", G * A),
        ("shape", "a", (G * B).sum(1)), ("upstream_ignored", "b", np.full(4, A.sum())),
        ("mean_for_sum", "b", (G * A).mean(0)), ("upstream_only", "b", G.sum(0)),
        ("sign", "a", -(G * B).sum(1, keepdims=True)),
    ]


@program
def a_batch_of_single_precision():
    X, W = draw(8, 3).astype(np.float32), draw(3, 2, seed=1).astype(np.float32)
    x, w = tensor(X, requires_grad=True), tensor(W, requires_grad=True)
    z = (x @ w).sigmoid().mean()
    S = sigmoid(X @ W)
    D = S * (1 - S) / 16
    return {"x": x, "w": w, "z": z}, [
        ("mean_for_sum", "w", X.T @ (D * 16)),
        ("wrong_argument", "w", X.T @ ((X @ W) * (1 - X @ W) / 16)),
        ("upstream_only", "w", X.T @ np.full((8, 2), 1 / 16)), ("transposed", "w", (X.T @ D).T),
        ("scale", "w", X.T @ D * 2), ("scale", "w", X.T @ D / 8), ("sign", "x", -D @ W.T),
        ("finite_difference_noise", "w", X.T @ D * (1 + 2e-4 * draw(3, 2, seed=4))),
    ]


@program
def relu_of_a_difference():
    X, Y = draw(6), draw(6, seed=1)
    x, y = leaf(X), leaf(Y)
    z = ((x - y).relu() ** 2).sum()
    R = np.maximum(X - Y, 0)
    return {"x": x, "y": y, "z": z}, [
        ("sign", "y", 2 * R), ("other_variable", "x", -2 * R), ("scale", "x", R),
    ]


@program
def hinge_loss():
    X, T, W = draw(6, 3), np.array([1.0, -1, 1, 1, -1, 1]), draw(3, seed=1)
    w = leaf(W)
    z = (1 - tensor(T) * (tensor(X) @ w)).relu().mean()
    on = (1 - T * (X @ W)) > 0
    right = -(X.T @ (T * on)) / 6
    return {"w": w, "z": z}, [
        ("mask_missing", "w", -(X.T @ T) / 6), ("mask_inverted", "w", -(X.T @ (T * ~on)) / 6),
        ("sign", "w", -right), ("mean_for_sum", "w", 6 * right),
        ("upstream_only", "w", -X.T @ (on * 1.0) / 6),
    ]


@program
def a_weighted_loss():
    X, T, C = draw(6), draw(6, seed=1), draw(6, seed=2, low=0.5, high=2)
    x = leaf(X)
    z = (tensor(C) * (x - tensor(T)) ** 2).sum() / 6
    D = X - T
    return {"x": x, "z": z}, [
        ("scale", "x", C * D / 6), ("mean_for_sum", "x", 2 * C * D),
        ("upstream_only", "x", 2 * D / 6), ("upstream_ignored", "x", 2 * D),
        ("sign", "x", -2 * C * D / 6),
    ]


@program
def a_residual_block():
    X, W = draw(3, 3), draw(3, 3, seed=1)
    x, w = leaf(X), leaf(W)
    z = (x + (x @ w).tanh()).sum()
    D = 1 - np.tanh(X @ W) ** 2
    return {"x": x, "w": w, "z": z}, [
        ("missing_path", "x", D @ W.T), ("missing_path", "x", np.ones((3, 3))),
        ("double_counted", "x", 2 + D @ W.T), ("transposed", "x", 1 + D @ W),
        ("matmul_order", "x", 1 + W.T @ D), ("upstream_only", "w", X.T @ np.ones((3, 3))),
    ]


@program
def a_shared_weight():
    X, W = draw(4, 3), draw(3, 3, seed=1)
    x, w = leaf(X), leaf(W)
    h = x @ w
    z = (h.relu() @ w).sum()
    H = X @ W
    R = np.maximum(H, 0)
    one = np.ones((4, 3))
    D = (one @ W.T) * (H > 0)
    return {"x": x, "w": w, "h": h, "z": z}, [
        ("missing_path", "w", R.T @ one), ("missing_path", "w", X.T @ D),
        ("mask_missing", "w", R.T @ one + X.T @ (one @ W.T)),
        ("double_counted", "w", 2 * R.T @ one + X.T @ D),
        ("wrong_argument", "w", H.T @ one + X.T @ D),
        ("mask_inverted", "x", ((one @ W.T) * (H <= 0)) @ W.T),
    ]


@program
def in_place_twice():
    X, Y = draw(4), draw(4, seed=1)
    x, y = leaf(X), leaf(Y)
    z = x + y
    z *= 2
    z += x
    return {"x": x, "y": y, "z": z}, [
        ("missing_path", "x", np.full(4, 2.0)), ("missing_path", "x", np.full(4, 1.0)),
        ("double_counted", "x", np.full(4, 4.0)), ("double_counted", "x", np.full(4, 5.0)),
        ("sign", "y", np.full(4, -2.0)),
    ]


@program
def in_place_power():
    X, W = draw(4), draw(4, seed=1)
    x, w = leaf(X), leaf(W)
    y = x * 3
    y.mul_(w)
    z = (y * y).sum()
    Y = 3 * X * W
    return {"x": x, "w": w, "y": y, "z": z}, [
        ("stale_value", "w", 2 * Y * Y), ("stale_value", "w", 2 * (3 * X) * (3 * X)),
        ("stale_value", "x", 2 * (3 * X) * 3 * W), ("missing_path", "x", Y * 3 * W),
        ("swapped_operands", "w", 2 * Y * W), ("scale", "x", 2 * Y * W),
    ]


@program
def in_place_sigmoid():
    X, G = draw(5), draw(5, seed=1)
    x = leaf(X)
    y = x * 2
    y.sigmoid_()
    S = sigmoid(2 * X)
    return {"x": x, "y": y, "z": y, "gradient": G}, [
        ("wrong_argument", "x", G * 2 * (2 * X) * (1 - 2 * X)),
        ("forgot_inner", "x", G * S * (1 - S)), ("upstream_ignored", "x", 2 * S * (1 - S)),
    ]


@program
def a_slice_used_again():
    X = draw(6)
    x = leaf(X)
    z = (x[:3] * x[3:]).sum() + (x[:3] ** 2).sum()
    a, b = X[:3], X[3:]
    return {"x": x, "z": z}, [
        ("missing_path", "x", np.concatenate([b, a])),
        ("missing_path", "x", np.concatenate([2 * a, a])),
        ("missing_path", "x", np.concatenate([b + 2 * a, 0 * a])),
        ("sign", "x", np.concatenate([b - 2 * a, a])), ("scale", "x", np.concatenate([b + a, a])),
    ]


@program
def the_smallest_of_columns():
    X, G = draw(4, 3), draw(3, seed=1)
    x = leaf(X)
    z = x.min(0).values
    M = X == X.min(0)
    return {"x": x, "z": z, "gradient": G}, [
        ("mask_missing", "x", np.ones((4, 3)) * G), ("mask_inverted", "x", ~M * G),
        ("upstream_ignored", "x", M * 1.0), ("sign", "x", -(M * G)),
    ]


@program
def leaky_and_elu():
    X, G = draw(6), draw(6, seed=1)
    x = leaf(X)
    z = F.leaky_relu(x, 0.2) + F.elu(x)
    L, E = np.where(X > 0, 1, 0.2), np.where(X > 0, 1, np.exp(X))
    return {"x": x, "z": z, "gradient": G}, [
        ("missing_path", "x", G * L), ("missing_path", "x", G * E),
        ("mask_missing", "x", G * (1 + E)), ("upstream_ignored", "x", L + E),
        ("sign", "x", G * (E - L)),
    ]


@program
def a_log_likelihood_of_a_gaussian():
    X, M, S = draw(5), 0.3, 1.4
    m, s = leaf(M), leaf(S)
    x = tensor(X)
    z = (((x - m) / s) ** 2 / 2 + s.log()).sum()
    D = (X - M) / S
    return {"m": m, "s": s, "z": z}, [
        ("missing_path", "s", -(D**2 / S).sum()), ("missing_path", "s", 5 / S),
        ("broadcast_not_summed", "m", -D / S), ("sign", "m", (D / S).sum()),
        ("scale", "m", -2 * (D / S).sum()), ("mean_for_sum", "m", -(D / S).mean()),
    ]


@program
def a_mean_that_is_subtracted():
    X, G = draw(5), draw(5, seed=1)
    x = leaf(X)
    z = x - x.mean()
    return {"x": x, "z": z, "gradient": G}, [
        ("missing_path", "x", G), ("sign", "x", G + G.mean()), ("mean_for_sum", "x", G - G.sum()),
        ("missing_path", "x", np.full(5, -G.mean())),
    ]


@program
def a_distance():
    X, Y = draw(4), draw(4, seed=1)
    x, y = leaf(X), leaf(Y)
    z = ((x - y) ** 2).sum().sqrt()
    N = np.linalg.norm(X - Y)
    return {"x": x, "y": y, "z": z}, [
        ("upstream_ignored", "x", 2 * (X - Y)), ("scale", "x", 2 * (X - Y) / N),
        ("sign", "y", (X - Y) / N), ("wrong_argument", "x", (X - Y) / N**2),
        ("upstream_only", "x", np.full(4, 1 / (2 * N))),
    ]


@program
def a_cosine_similarity():
    X, Y = draw(4), draw(4, seed=1)
    x, y = leaf(X), leaf(Y)
    z = (x @ y) / (x.norm() * y.norm())
    A, B = np.linalg.norm(X), np.linalg.norm(Y)
    c = X @ Y / (A * B)
    return {"x": x, "y": y, "z": z}, [
        ("missing_path", "x", Y / (A * B)), ("missing_path", "x", -c * X / A**2),
        ("sign", "x", Y / (A * B) + c * X / A**2),
    ]


@program
def heads():
    X, W, G = draw(2, 3, 4), draw(4, 4, seed=1), draw(2, 2, 3, 2, seed=2)
    x, w = leaf(X), leaf(W)
    z = (x @ w).reshape(2, 3, 2, 2).permute(0, 2, 1, 3)
    D = G.transpose(0, 2, 1, 3).reshape(2, 3, 4)
    return {"x": x, "w": w, "z": z, "gradient": G}, [
        ("transposed", "x", G.reshape(2, 3, 4) @ W.T), ("transposed", "x", D @ W),
        ("upstream_only", "x", D), ("broadcast_not_summed", "w", X.transpose(0, 2, 1) @ D),
    ]


@program
def a_gru_gate():
    X, H = draw(3), draw(3, seed=1)
    x, h = leaf(X), leaf(H)
    u = x.sigmoid()
    n = (u * h).tanh()
    z = ((1 - u) * n + u * h).sum()
    U, N = sigmoid(X), np.tanh(sigmoid(X) * H)
    dU = -N + H + (1 - U) * (1 - N**2) * H
    return {"x": x, "h": h, "u": u, "n": n, "z": z}, [
        ("missing_path", "u", H - N), ("missing_path", "u", -N + (1 - U) * (1 - N**2) * H),
        ("missing_path", "h", U), ("sign", "u", N + H + (1 - U) * (1 - N**2) * H),
        ("upstream_only", "x", dU), ("wrong_argument", "x", dU * X * (1 - X)),
        ("wrong_argument", "h", U + (1 - U) * (1 - (U * H) ** 2) * U),
    ]


@program
def addmm_of_a_layer():
    X, W, B = draw(4, 3), draw(2, 3, seed=1), draw(2, seed=2)
    x, w, b = leaf(X), leaf(W), leaf(B)
    y = F.linear(x, w, b)
    z = F.cross_entropy(y, tensor(np.array([0, 1, 1, 0])))
    P = softmax(X @ W.T + B)
    D = (P - one_hot(np.array([0, 1, 1, 0]), 2)) / 4
    return {"x": x, "w": w, "b": b, "y": y, "z": z}, [
        ("transposed", "w", X.T @ D), ("mean_for_sum", "w", 4 * D.T @ X),
        ("broadcast_not_summed", "b", D), ("missing_path", "w", (P / 4).T @ X),
        ("sign", "b", -D.sum(0)), ("upstream_ignored", "b", np.full(2, 4.0)),
        ("mean_for_sum", "b", D.mean(0)),
    ]
