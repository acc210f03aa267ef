"""Programs, and wrong answers on each of them, with the mistake that gives exactly these numbers.

A program makes its tensors from NumPy arrays (capital letters), computes z, and returns

    tensors   by name          right   name -> the right gradient, derived by hand
    z                          wrong   (kind, name, wrong gradient), for each mistake
"""

import numpy as np

import minigrad
from minigrad import nn, tensor
from minigrad.nn import functional as F

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def draw(*shape, seed=0, dtype=np.float64, low=None, high=None):
    rng = np.random.default_rng([seed, *shape])
    drawn = rng.normal(size=shape) if low is None else rng.uniform(low, high, shape)
    return drawn.astype(dtype)


def leaf(array):
    return tensor(array.copy(), requires_grad=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# ------------------------------------------------------------------ one number


@program
def numbers():
    X, Y = np.float64(1.7), np.float64(-2.3)
    x, y = leaf(X), leaf(Y)
    z = x * y + (x * x).sin()
    c = np.cos(X * X)
    return {"x": x, "y": y}, z, {"x": Y + c * 2 * X, "y": X}, [
        ("missing_path", "x", c * 2 * X), ("missing_path", "x", Y),
        ("missing_path", "x", Y + c * X), ("double_counted", "x", 2 * Y + c * 2 * X),
        ("sign", "x", Y - c * 2 * X), ("swapped_operands", "y", Y),
        ("upstream_ignored", "x", Y + 2 * X), ("forgot_inner", "x", Y + c),
    ]


@program
def one_composition():
    X = np.float64(0.6)
    x = leaf(X)
    z = (3 * x + 1) ** 2
    u = 3 * X + 1
    return {"x": x}, z, {"x": 6 * u}, [
        ("forgot_inner", "x", 2 * u), ("scale", "x", 3 * u),
        ("upstream_ignored", "x", np.float64(3)), ("sign", "x", -6 * u),
        ("shape", "x", np.array([6 * u])),
    ]


# ------------------------------------------------------------------ paths


@program
def the_lesson():
    X1, X2, X3, X4 = (draw(2, 3, 4, seed=k) for k in range(4))
    x1, x2, x3, x4 = map(leaf, (X1, X2, X3, X4))
    y1 = x1 + x2
    y2 = x3 + x4
    z = y1 * y2
    z += x2
    A, B = X1 + X2, X3 + X4
    return ({"x1": x1, "x2": x2, "x3": x3, "x4": x4, "y1": y1, "y2": y2}, z,
            {"x1": B, "x2": B + 1, "x3": A, "x4": A, "y1": B, "y2": A}, [
        ("missing_path", "x2", B), ("missing_path", "x2", np.ones((2, 3, 4))),
        ("double_counted", "x2", B + 2), ("double_counted", "x2", 2 * B + 1),
        ("swapped_operands", "x1", A), ("swapped_operands", "y2", B),
        ("other_variable", "x1", B + 1), ("sign", "x3", -A), ("sign", "x2", B - 1),
        ("upstream_ignored", "x1", np.ones((2, 3, 4))),
    ])


@program
def used_three_times():
    X, Y = draw(5), draw(5, seed=1)
    x, y = leaf(X), leaf(Y)
    z = (x * y + x.exp() + x**3).sum()
    right = Y + np.exp(X) + 3 * X**2
    return {"x": x, "y": y}, z, {"x": right}, [
        ("missing_path", "x", Y + np.exp(X)), ("missing_path", "x", np.exp(X) + 3 * X**2),
        ("missing_path", "x", Y), ("double_counted", "x", right + np.exp(X)),
        ("scale", "x", Y + np.exp(X) + X**2), ("scale", "x", 2 * right), ("sign", "x", -right),
        ("swapped_operands", "x", X + np.exp(X) + 3 * X**2),
        ("wrong_argument", "x", Y + X + 3 * X**2),
        ("paths_multiplied", "x", Y * np.exp(X) * 3 * X**2),
    ]


@program
def an_intermediate_used_twice():
    X, W = draw(4), draw(4, seed=1)
    x, w = leaf(X), leaf(W)
    h = (x * w).tanh()
    z = (h * h.exp()).sum()
    H = np.tanh(X * W)
    up = np.exp(H) + H * np.exp(H)
    return {"x": x, "w": w, "h": h}, z, {"x": up * (1 - H**2) * W, "h": up}, [
        ("missing_path", "x", np.exp(H) * (1 - H**2) * W), ("missing_path", "h", H * np.exp(H)),
        ("double_counted", "x", (up + np.exp(H)) * (1 - H**2) * W),
        ("paths_multiplied", "h", H * np.exp(2 * H)),
        ("paths_multiplied", "x", H * np.exp(2 * H) * (1 - H**2) * W),
        ("upstream_twice", "x", up**2 * (1 - H**2) * W), ("upstream_ignored", "x", (1 - H**2) * W),
        ("swapped_operands", "x", up * (1 - H**2) * X),
        ("wrong_argument", "x", up * (1 - (X * W) ** 2) * W),
        ("forgot_inner", "x", up * (1 - H**2)),
    ]


# ------------------------------------------------------------------ operands, factors, signs


@program
def a_quotient():
    X, Y, G = draw(6), draw(6, seed=1, low=0.5, high=2.0), draw(6, seed=2)
    x, y = leaf(X), leaf(Y)
    z = x / y
    return {"x": x, "y": y, "gradient": G}, z, {"x": G / Y, "y": -G * X / Y**2}, [
        ("sign", "y", G * X / Y**2), ("swapped_operands", "x", -G * X / Y**2),
        ("swapped_operands", "x", G / X), ("swapped_operands", "y", G / Y),
        ("upstream_ignored", "x", 1 / Y), ("upstream_ignored", "y", -X / Y**2),
        ("upstream_only", "x", G), ("scale", "x", 2 * G / Y),
    ]


@program
def a_power():
    X, Y = draw(4, low=0.5, high=2.0), draw(4, seed=1, low=0.5, high=2.0)
    x, y = leaf(X), leaf(Y)
    z = x**y
    return {"x": x, "y": y}, z, {"x": Y * X ** (Y - 1), "y": X**Y * np.log(X)}, [
        ("swapped_operands", "x", X**Y * np.log(X)), ("swapped_operands", "x", X * Y ** (X - 1)),
        ("swapped_operands", "y", Y * X ** (Y - 1)), ("sign", "y", -(X**Y) * np.log(X)),
        ("swapped_operands", "y", X**Y * np.log(Y)),
    ]


@program
def squares_and_means():
    X, T = draw(3, 4), draw(3, 4, seed=1)
    x, t = leaf(X), leaf(T)
    z = ((x - t) ** 2).mean()
    D = X - T
    return {"x": x, "t": t}, z, {"x": D / 6, "t": -D / 6}, [
        ("mean_for_sum", "x", 2 * D), ("scale", "x", D / 12), ("sign", "t", D / 6),
        ("mean_for_sum", "t", -2 * D), ("transposed", "x", D.T / 6),
        ("shape", "x", D.reshape(-1) / 6), ("permuted", "x", D[[1, 2, 0]] / 6),
        ("finite_difference_noise", "x", D / 6 + 1e-6 * draw(3, 4, seed=5)),
    ]


@program
def a_sum_taken_for_a_mean():
    X, W = draw(5), draw(5, seed=1)
    x, w = leaf(X), leaf(W)
    z = (w * x.cos()).sum()
    return {"x": x, "w": w}, z, {"x": -W * np.sin(X), "w": np.cos(X)}, [
        ("mean_for_sum", "x", -W * np.sin(X) / 5), ("mean_for_sum", "w", np.cos(X) / 5),
        ("sign", "x", W * np.sin(X)), ("upstream_ignored", "x", -np.sin(X)),
        ("upstream_only", "x", W), ("wrong_argument", "x", -W * np.sin(np.cos(X))),
        ("tangent_for_gradient", "x", np.sum(-W * np.sin(X))),
    ]


@program
def the_loss_has_a_gradient():
    X, G = draw(7), draw(7, seed=1)
    x = leaf(X)
    z = x.exp()
    return {"x": x, "gradient": G}, z, {"x": G * np.exp(X)}, [
        ("upstream_ignored", "x", np.exp(X)), ("upstream_only", "x", G),
        ("upstream_twice", "x", G**2 * np.exp(X)), ("wrong_argument", "x", G * X),
        ("wrong_argument", "x", G * np.exp(np.exp(X))), ("scale", "x", 2 * G * np.exp(X)),
    ]


# ------------------------------------------------------------------ where the derivative is taken


@program
def squashed():
    X, W = draw(4), draw(4, seed=1)
    x, w = leaf(X), leaf(W)
    z = (x * w).sigmoid()
    S = sigmoid(X * W)
    return {"x": x, "w": w}, z, {"x": S * (1 - S) * W}, [
        ("wrong_argument", "x", (X * W) * (1 - X * W) * W),
        ("wrong_argument", "x", sigmoid(S) * (1 - sigmoid(S)) * W),
        ("forgot_inner", "x", S * (1 - S)), ("upstream_ignored", "x", W),
        ("swapped_operands", "x", S * (1 - S) * X),
    ]


@program
def roots_and_logarithms():
    X = draw(5, low=1.5, high=4.0)
    x = leaf(X)
    z = x.sqrt().log()
    R = np.sqrt(X)
    return {"x": x}, z, {"x": 1 / (2 * X)}, [
        ("wrong_argument", "x", 1 / np.log(R) / (2 * R)), ("wrong_argument", "x", 1 / X / (2 * R)),
        ("wrong_argument", "x", 1 / R / (2 * X)), ("upstream_ignored", "x", 1 / (2 * R)),
        ("forgot_inner", "x", 1 / R), ("sign", "x", -1 / (2 * X)),
    ]


@program
def an_outer_function_of_an_inner():
    X = draw(6)
    x = leaf(X)
    z = (x**2).sin().sum()
    return {"x": x}, z, {"x": np.cos(X**2) * 2 * X}, [
        ("wrong_argument", "x", np.cos(X) * 2 * X), ("forgot_inner", "x", np.cos(X**2)),
        ("upstream_ignored", "x", 2 * X), ("scale", "x", np.cos(X**2) * X),
        ("sign", "x", -np.cos(X**2) * 2 * X),
    ]


@program
def softmax_of_rows():
    X, G = draw(3, 3), draw(3, 3, seed=1)
    x = leaf(X)
    z = minigrad.softmax(x, dim=1)
    Z = softmax(X)

    def full(z, axis=1):
        return z * (G - (G * z).sum(axis, keepdims=True))

    return {"x": x, "gradient": G}, z, {"x": full(Z)}, [
        ("softmax_diagonal_only", "x", G * Z * (1 - Z)), ("wrong_argument", "x", full(X)),
        ("reduction_axis", "x", full(softmax(X, 0), 0)), ("reduction_axis", "x", full(Z, 0)),
        ("upstream_only", "x", G), ("transposed", "x", full(Z).T), ("sign", "x", -full(Z)),
    ]


@program
def softmax_written_out():
    X, W = draw(5), draw(5, seed=1)
    x, w = leaf(X), leaf(W)
    e = x.exp()
    z = ((e / e.sum()) * w).sum()
    P = softmax(X)
    return {"x": x, "w": w, "e": e}, z, {"x": P * (W - (P * W).sum())}, [
        ("softmax_diagonal_only", "x", W * P * (1 - P)), ("missing_path", "x", P * W),
        ("missing_path", "x", -P * (P * W).sum()),
        ("wrong_argument", "x", P * (W - (P * W).sum()) * X / np.exp(X)),
    ]


# ------------------------------------------------------------------ masks and ties


@program
def rectified():
    X, W = draw(6), draw(6, seed=1)
    x, w = leaf(X), leaf(W)
    z = ((x * 3).relu() * w).sum()
    on = X > 0
    return {"x": x, "w": w}, z, {"x": 3 * W * on}, [
        ("mask_missing", "x", 3 * W), ("mask_inverted", "x", 3 * W * ~on),
        ("upstream_ignored", "x", 3.0 * on), ("forgot_inner", "x", W * on),
    ]


@program
def the_greatest_of_each_row():
    X, G = draw(4, 4), draw(4, seed=1)
    x = leaf(X)
    z = x.amax(dim=1)
    best = X == X.max(1, keepdims=True)
    return {"x": x, "gradient": G}, z, {"x": best * G[:, None]}, [
        ("mask_missing", "x", np.ones((4, 4)) * G[:, None]),
        ("mask_inverted", "x", ~best * G[:, None]), ("upstream_ignored", "x", best * 1.0),
        ("reduction_axis", "x", (X == X.max(0)) * G), ("sign", "x", -(best * G[:, None])),
    ]


@program
def two_branches():
    X, Y, G, C = draw(5), draw(5, seed=1), draw(5, seed=2), draw(5, seed=3) > 0
    x, y, c = leaf(X), leaf(Y), tensor(C)
    z = minigrad.where(c, x * x, y)
    return {"x": x, "y": y, "gradient": G}, z, {"x": 2 * X * G * C, "y": G * ~C}, [
        ("mask_missing", "x", 2 * X * G), ("mask_inverted", "x", 2 * X * G * ~C),
        ("mask_inverted", "y", G * C), ("mask_missing", "y", G), ("missing_path", "x", X * G * C),
    ]


@program
def dropped_out():
    X, W, K = draw(8), draw(8, seed=1), draw(8, seed=2) > -0.3
    x, w, keep = leaf(X), leaf(W), tensor(K / 0.75)
    z = (x * keep * w).sum()
    return {"x": x, "w": w, "keep": keep}, z, {"x": W * K / 0.75}, [
        ("mask_missing", "x", W), ("mask_missing", "x", W / 0.75), ("mask_inverted", "x", W * ~K),
        ("mask_inverted", "x", W * ~K / 0.75), ("mask_missing", "x", W * K),
    ]


@program
def clamped():
    X, W = draw(6), draw(6, seed=1)
    x, w = leaf(X), leaf(W)
    z = x.clamp(-0.5, 0.5) * w
    inside = (X >= -0.5) & (X <= 0.5)
    return {"x": x, "w": w}, z, {"x": W * inside}, [
        ("mask_missing", "x", W), ("mask_inverted", "x", W * ~inside),
    ]


@program
def several_are_the_greatest():
    x = leaf(np.array([1.0, 3.0, 3.0, 2.0]))
    z = x.amax() * 2
    return {"x": x}, z, {"x": np.array([0, 1.0, 1.0, 0])}, [
        ("ties", "x", np.array([0, 2.0, 0, 0])), ("ties", "x", np.array([0, 0, 2.0, 0])),
        ("ties", "x", np.array([0, 2.0, 2.0, 0])), ("mask_missing", "x", np.full(4, 2.0)),
    ]


@program
def the_first_of_the_greatest():
    x, W = leaf(np.array([[1.0, 3.0, 3.0], [5.0, 2.0, 5.0]])), np.array([2.0, 7.0])
    w = tensor(W)
    z = (x.max(dim=1).values * w).sum()
    return {"x": x, "w": w}, z, {"x": np.array([[0, 2.0, 0], [7.0, 0, 0]])}, [
        ("ties", "x", np.array([[0, 1.0, 1.0], [3.5, 0, 3.5]])),
        ("ties", "x", np.array([[0, 2.0, 2.0], [7, 0, 7.0]])),
        ("ties", "x", np.array([[0, 0, 2.0], [0, 0, 7.0]])),
    ]


@program
def equal_operands():
    X, Y = np.array([1.0, 2.0, 3.0, 0.5]), np.array([2.0, 2.0, 1.0, 4.0])
    x, y, W = leaf(X), leaf(Y), draw(4)
    z = minigrad.maximum(x, y)
    more, tie = X > Y, X == Y
    return {"x": x, "y": y, "gradient": W}, z, {"x": W * (more + tie / 2)}, [
        ("ties", "x", W * (more | tie)), ("ties", "x", W * more), ("mask_missing", "x", W),
    ]


# ------------------------------------------------------------------ indices


@program
def rows_picked_twice():
    X, G = draw(4, 3), draw(3, 3, seed=1)
    x = leaf(X)
    z = x[tensor([0, 0, 2])]
    right, over = np.zeros((4, 3)), np.zeros((4, 3))
    np.add.at(right, [0, 0, 2], G)
    over[[0, 0, 2]] = G
    return {"x": x, "gradient": G}, z, {"x": right}, [
        ("index_not_scattered", "x", over), ("index_not_scattered", "x", G), ("sign", "x", -right),
    ]


@program
def an_embedding():
    E, W, I = draw(5, 2), draw(4, 2, seed=1), np.array([1, 3, 1, 1])  # noqa: E741
    table, w = leaf(E), leaf(W)
    z = (F.embedding(tensor(I), table).tanh() * w).sum()
    g = W * (1 - np.tanh(E[I]) ** 2)
    right, over = np.zeros((5, 2)), np.zeros((5, 2))
    np.add.at(right, I, g)
    over[I] = g
    return {"table": table, "w": w}, z, {"table": right}, [
        ("index_not_scattered", "table", over), ("scale", "table", 2 * right),
    ]


@program
def gathered():
    X, I, G = draw(3, 4), np.array([[0, 0], [1, 3], [2, 2]]), draw(3, 2, seed=1)  # noqa: E741
    x = leaf(X)
    z = x.gather(1, tensor(I))
    right, over = np.zeros((3, 4)), np.zeros((3, 4))
    np.add.at(right, (np.arange(3)[:, None], I), G)
    np.put_along_axis(over, I, G, 1)
    counts = np.array([[2.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 2, 0]])
    return {"x": x, "gradient": G}, z, {"x": right}, [
        ("index_not_scattered", "x", over), ("upstream_ignored", "x", counts),
        ("sign", "x", -right),
    ]


# ------------------------------------------------------------------ products


@program
def square_matrices():
    A, B, G = draw(3, 3), draw(3, 3, seed=1), draw(3, 3, seed=2)
    a, b = leaf(A), leaf(B)
    z = a @ b
    return {"a": a, "b": b, "gradient": G}, z, {"a": G @ B.T, "b": A.T @ G}, [
        ("matmul_order", "a", B.T @ G), ("matmul_order", "b", G @ A.T), ("transposed", "a", G @ B),
        ("transposed", "b", A @ G), ("transposed", "a", (G @ B.T).T),
        ("swapped_operands", "a", A.T @ G), ("swapped_operands", "b", G @ B.T),
        ("upstream_ignored", "a", np.ones((3, 3)) @ B.T), ("upstream_only", "a", G),
    ]


@program
def oblong_matrices():
    A, B = draw(2, 3), draw(3, 4, seed=1)
    a, b = leaf(A), leaf(B)
    z = (a @ b).tanh().sum()
    G = 1 - np.tanh(A @ B) ** 2
    return {"a": a, "b": b}, z, {"a": G @ B.T, "b": A.T @ G}, [
        ("transposed", "a", (G @ B.T).T), ("transposed", "b", G.T @ A),
        ("wrong_argument", "a", (1 - (A @ B) ** 2) @ B.T),
        ("upstream_ignored", "b", A.T @ np.ones((2, 4))), ("mean_for_sum", "b", A.T @ G / 8),
    ]


@program
def a_matrix_and_a_vector():
    A, V, G = draw(4, 4), draw(4, seed=1), draw(4, seed=2)
    a, v = leaf(A), leaf(V)
    z = a @ v
    return {"a": a, "v": v, "gradient": G}, z, {"a": np.outer(G, V), "v": A.T @ G}, [
        ("transposed", "a", np.outer(V, G)), ("transposed", "v", A @ G),
        ("upstream_ignored", "v", A.sum(0)), ("tangent_for_gradient", "v", A @ np.ones(4)),
        ("upstream_ignored", "a", np.outer(np.ones(4), V)), ("upstream_only", "v", G),
    ]


@program
def forward_for_reverse():
    A, V = draw(4, 4), draw(4, seed=1)
    a, v = leaf(A), leaf(V)
    z = (a @ v).exp()
    J = np.exp(A @ V)[:, None] * A
    return {"a": a, "v": v}, z, {"v": J.sum(0)}, [
        ("tangent_for_gradient", "v", J.sum(1)), ("upstream_ignored", "v", A.sum(0)),
        ("transposed", "v", A @ np.exp(A @ V)),
    ]


@program
def forward_for_reverse_of_another_shape():
    X = draw(3)
    x = leaf(X)
    z = x.cumsum(0)
    return {"x": x}, z, {"x": np.array([3.0, 2.0, 1.0])}, [
        ("tangent_for_gradient", "x", np.array([1.0, 2.0, 3.0])),
    ]


@program
def attention():
    Q, K, V = draw(3, 2), draw(3, 2, seed=1), draw(3, 2, seed=2)
    q, k, v = leaf(Q), leaf(K), leaf(V)
    G = draw(3, 2, seed=3)
    s = q @ k.T / 2**0.5
    p = minigrad.softmax(s, dim=1)
    z = p @ v
    P = softmax(Q @ K.T / 2**0.5)
    dP = G @ V.T
    dS = P * (dP - (dP * P).sum(1, keepdims=True))
    return ({"q": q, "k": k, "v": v, "gradient": G}, z,
            {"q": dS @ K / 2**0.5, "k": dS.T @ Q / 2**0.5, "v": P.T @ G}, [
        ("softmax_diagonal_only", "q", (dP * P * (1 - P)) @ K / 2**0.5), ("transposed", "v", P @ G),
        ("transposed", "k", dS @ Q / 2**0.5), ("scale", "q", dS @ K),
        ("other_variable", "q", dS.T @ Q / 2**0.5), ("sign", "k", -dS.T @ Q / 2**0.5),
    ])


@program
def batches_of_matrices():
    A, B = draw(2, 3, 3), draw(2, 3, 3, seed=1)
    a, b, G = leaf(A), leaf(B), draw(2, 3, 3, seed=2)
    z = a @ b

    def T(m):
        return m.swapaxes(1, 2)

    return {"a": a, "b": b, "gradient": G}, z, {"a": G @ T(B), "b": T(A) @ G}, [
        ("transposed", "a", G @ B), ("matmul_order", "a", T(B) @ G),
        ("matmul_order", "b", G @ T(A)), ("transposed", "b", A @ G),
    ]


# ------------------------------------------------------------------ broadcasting and axes


@program
def a_bias():
    X, W, B = draw(4, 3), draw(3, 2, seed=1), draw(2, seed=2)
    x, w, b = leaf(X), leaf(W), leaf(B)
    z = (x @ w + b).tanh()
    G = 1 - np.tanh(X @ W + B) ** 2
    return {"x": x, "w": w, "b": b}, z, {"b": G.sum(0), "w": X.T @ G, "x": G @ W.T}, [
        ("broadcast_not_summed", "b", G), ("mean_for_sum", "b", G.mean(0)),
        ("shape", "b", G.sum(0, keepdims=True)), ("reduction_axis", "b", G.sum(1)),
        ("transposed", "w", G.T @ X), ("upstream_ignored", "b", np.full(2, 4.0)),
    ]


@program
def a_scalar_for_all():
    X, S = draw(3, 4), np.float64(0.7)
    x, s = leaf(X), leaf(S)
    z = (x * s).exp()
    E = np.exp(X * S)
    return {"x": x, "s": s}, z, {"s": (E * X).sum(), "x": E * S}, [
        ("broadcast_not_summed", "s", E * X), ("mean_for_sum", "s", (E * X).mean()),
        ("forgot_inner", "x", E), ("swapped_operands", "x", E * X),
    ]


@program
def a_column_kept():
    X, C = draw(3, 3), draw(3, 1, seed=1)
    x, c = leaf(X), leaf(C)
    z = (x - c) ** 2
    D = 2 * (X - C)
    return {"x": x, "c": c}, z, {"c": -D.sum(1, keepdims=True), "x": D}, [
        ("broadcast_not_summed", "c", -D), ("reduction_axis", "c", -D.sum(0).reshape(3, 1)),
        ("reduction_axis", "c", -D.sum(0, keepdims=True)), ("shape", "c", -D.sum(1)),
        ("sign", "c", D.sum(1, keepdims=True)), ("mean_for_sum", "c", -D.mean(1, keepdims=True)),
    ]


@program
def broadcast_after_another_step():
    X, S = draw(4, 3), draw(3, seed=1)
    x, s = leaf(X), leaf(S)
    z = x * s.exp()
    return {"x": x, "s": s}, z, {"s": X.sum(0) * np.exp(S)}, [
        ("broadcast_not_summed", "s", X * np.exp(S)), ("upstream_only", "s", X.sum(0)),
        ("swapped_operands", "s", np.exp(S) * 4 * np.exp(S)),
    ]


@program
def sums_along_an_axis():
    X, W = draw(3, 3), draw(3, seed=1)
    x, w = leaf(X), leaf(W)
    z = (x.sum(0) * w).sum()
    return {"x": x, "w": w}, z, {"x": np.ones((3, 1)) * W, "w": X.sum(0)}, [
        ("reduction_axis", "x", np.ones((3, 3)) * W[:, None]), ("shape", "x", W),
    ]


@program
def averages_along_an_axis():
    X, G = draw(4, 4), draw(4, seed=1)
    x = leaf(X)
    z = (x**2).mean(1)
    return {"x": x, "gradient": G}, z, {"x": 2 * X * G[:, None] / 4}, [
        ("reduction_axis", "x", 2 * X * G / 4), ("mean_for_sum", "x", 2 * X * G[:, None]),
        ("scale", "x", X * G[:, None] / 4),
    ]


# ------------------------------------------------------------------ writes in place


@program
def written_in_place():
    X, Y = draw(5), draw(5, seed=1)
    x, y = leaf(X), leaf(Y)
    c = x * 2
    c *= y
    return {"x": x, "y": y, "c": c}, c, {"x": 2 * Y, "y": 2 * X}, [
        ("stale_value", "y", 2 * X * Y), ("scale", "x", Y), ("sign", "y", -2 * X),
    ]


@program
def squared_in_place():
    X, W = draw(4), draw(4, seed=1)
    x, w = leaf(X), leaf(W)
    c = x + w
    c.pow_(3)
    z = (c * w).sum()
    U = X + W
    return {"x": x, "w": w, "c": c}, z, {"x": W * 3 * U**2, "w": W * 3 * U**2 + U**3}, [
        ("stale_value", "x", W * 3 * U**6), ("missing_path", "w", U**3),
        ("missing_path", "w", W * 3 * U**2), ("stale_value", "w", W * 3 * U**2 + U),
        ("scale", "x", W * U**2),
    ]


@program
def added_in_place():
    X, W = draw(4), draw(4, seed=1)
    x, w = leaf(X), leaf(W)
    c = x.clone()
    c += w
    z = c * c
    return {"x": x, "w": w, "c": c}, z, {"x": 2 * (X + W), "w": 2 * (X + W)}, [
        ("stale_value", "x", 2 * X), ("stale_value", "w", 2 * X), ("missing_path", "x", X + W),
    ]


@program
def written_through_a_view():
    X, W = draw(5), draw(5, seed=1)
    x, w = leaf(X), leaf(W)
    y = x * 2
    y[1:3] *= w[1:3]
    z = (y * y).sum()
    V = np.where([False, True, True, False, False], W, 1.0)
    return {"x": x, "w": w, "y": y}, z, {"x": 8 * X * V**2, "y": 4 * X * V}, [
        ("stale_value", "x", 8 * X * V), ("missing_path", "x", 4 * X * V**2),
        ("sign", "x", -8 * X * V**2),
    ]


# ------------------------------------------------------------------ modules and losses


@program
def a_layer():
    X, T = draw(5, 3), draw(5, 2, seed=1)
    minigrad.manual_seed(0)
    layer = nn.Linear(3, 2).double()
    x, t = leaf(X), tensor(T)
    w, b = layer.weight, layer.bias
    z = F.mse_loss(layer(x), t)
    W, B = w.detach().numpy(), b.detach().numpy()
    D = X @ W.T + B - T
    return {"x": x, "w": w, "b": b}, z, {"w": D.T @ X / 5, "b": D.sum(0) / 5, "x": D @ W / 5}, [
        ("transposed", "w", X.T @ D / 5), ("mean_for_sum", "w", 2 * D.T @ X),
        ("scale", "w", D.T @ X / 10), ("broadcast_not_summed", "b", D / 5),
        ("sign", "b", -D.sum(0) / 5), ("scale", "x", D @ W / 10),
        ("mean_for_sum", "b", D.mean(0) / 5),
    ]


@program
def a_square_layer():
    X, G = draw(3, 3), draw(3, 3, seed=1)
    minigrad.manual_seed(1)
    layer = nn.Linear(3, 3).double()
    x, w, b = leaf(X), layer.weight, layer.bias
    z = layer(x)
    W = w.detach().numpy()
    return {"x": x, "w": w, "b": b, "gradient": G}, z, {"w": G.T @ X, "x": G @ W, "b": G.sum(0)}, [
        ("transposed", "x", G @ W.T), ("transposed", "w", X.T @ G), ("matmul_order", "x", W @ G),
        ("reduction_axis", "b", G.sum(1)), ("upstream_ignored", "w", np.ones((3, 3)) @ X),
    ]


@program
def classes():
    X, T = draw(4, 3), np.array([0, 2, 1, 1])
    x, t = leaf(X), tensor(T)
    z = F.cross_entropy(x, t)
    P, H = softmax(X), np.eye(3)[T]
    return {"x": x}, z, {"x": (P - H) / 4}, [
        ("mean_for_sum", "x", P - H), ("missing_path", "x", P / 4), ("missing_path", "x", -H / 4),
        ("sign", "x", (H - P) / 4), ("wrong_argument", "x", (X - H) / 4),
        ("softmax_diagonal_only", "x", (P - 1) * H / 4),
        ("reduction_axis", "x", (softmax(X, 0) - H) / 4),
    ]


@program
def classes_by_steps():
    X, T = draw(4, 3), np.array([0, 2, 1, 1])
    x, t = leaf(X), tensor(T)
    z = F.nll_loss(F.log_softmax(x, dim=1), t)
    P, H = softmax(X), np.eye(3)[T]
    return {"x": x}, z, {"x": (P - H) / 4}, [
        ("mean_for_sum", "x", P - H), ("softmax_diagonal_only", "x", -H * (1 - P) / 4),
        ("sign", "x", (H - P) / 4), ("upstream_only", "x", -H / 4),
    ]


@program
def normalized_by_hand():
    X, G = draw(6), draw(6, seed=1)
    x = leaf(X)
    m = x.mean()
    c = x - m
    v = (c * c).mean()
    z = c / (v + 1e-5).sqrt()
    M, S = X.mean(), np.sqrt(X.var() + 1e-5)
    H = (X - M) / S
    right = (G - G.mean() - H * (G * H).mean()) / S
    return {"x": x, "m": m, "c": c, "v": v, "gradient": G}, z, {"x": right}, [
        ("missing_path", "x", (G - G.mean()) / S),
        ("missing_path", "x", (G - H * (G * H).mean()) / S), ("missing_path", "x", G / S),
        ("sign", "x", -right),
    ]


@program
def normalized_by_a_function():
    X, G = draw(5, 3), draw(5, 3, seed=1)
    x = leaf(X)
    z = F.layer_norm(x, (3,))
    M, S = X.mean(1, keepdims=True), np.sqrt(X.var(1, keepdims=True) + 1e-5)
    H = (X - M) / S
    right = (G - G.mean(1, keepdims=True) - H * (G * H).mean(1, keepdims=True)) / S
    return {"x": x, "gradient": G}, z, {"x": right}, [
        ("missing_path", "x", G / S), ("missing_path", "x", (G - G.mean(1, keepdims=True)) / S),
        ("missing_path", "x", (G - H * (G * H).mean(1, keepdims=True)) / S),
        ("upstream_only", "x", G), ("sign", "x", -right),
    ]


@program
def single_precision():
    X, W = draw(4, 5, dtype=np.float32), draw(5, 2, seed=1, dtype=np.float32)
    x, w = leaf(X), leaf(W)
    z = ((x @ w).relu() ** 2).mean()
    R = np.maximum(X @ W, 0)
    return {"x": x, "w": w}, z, {"w": X.T @ R / 4, "x": R @ W.T / 4}, [
        ("mean_for_sum", "w", X.T @ R * 2), ("transposed", "w", R.T @ X / 4),
        ("scale", "x", R @ W.T / 8), ("sign", "w", -X.T @ R / 4),
        ("permuted", "w", (X.T @ R / 4)[:, ::-1]),
        ("finite_difference_noise", "w", X.T @ R / 4 + 1e-4 * draw(5, 2, seed=9)),
    ]


@program
def fifty_operations():
    X, W = draw(4), draw(4, seed=1)
    x, w = leaf(X), leaf(W)
    z, values = x * w, []
    for k in range(24):
        values.append(z.detach().numpy())
        z = (z * (1 + k / 50)).sin()
    d = [(1 + k / 50) * np.cos(v * (1 + k / 50)) for k, v in enumerate(values)]
    all_of_them = np.prod(d, axis=0)
    return {"x": x, "w": w}, z, {"x": all_of_them * W, "w": all_of_them * X}, [
        ("swapped_operands", "x", all_of_them * X), ("forgot_inner", "x", all_of_them),
        ("sign", "w", -all_of_them * X), ("upstream_ignored", "x", W),
        ("upstream_only", "x", all_of_them * W / np.cos(values[10] * 1.2)),
    ]


@program
def slopes_and_pools():
    X, W = draw(1, 1, 4, 4), draw(1, 1, 2, 2, seed=1)
    x, w = leaf(X), tensor(W)
    z = (F.max_pool2d(F.leaky_relu(x, 0.1), 2) * w).sum()
    L = np.where(X > 0, X, 0.1 * X)
    wide = np.kron(W, np.ones((2, 2)))
    best = np.kron(F.max_pool2d(tensor(L), 2).numpy(), np.ones((2, 2))) == L
    slope = np.where(X > 0, 1, 0.1)
    return {"x": x}, z, {"x": wide * best * slope}, [
        ("mask_missing", "x", wide * slope), ("mask_inverted", "x", wide * ~best * slope),
        ("mask_inverted", "x", wide * best * np.where(X > 0, 0.1, 1)),
    ]


@program
def at_the_bend():
    X, W = np.array([-1.0, 0.0, 2.0, 0.0]), draw(4)
    x, w = leaf(X), tensor(W)
    z = x.relu() * w
    return {"x": x}, z, {"x": W * (X > 0)}, [
        ("ties", "x", W * (X >= 0)), ("mask_missing", "x", W), ("mask_inverted", "x", W * (X <= 0)),
    ]


@program
def three_dimensions():
    X, W, B = draw(2, 4, 3), draw(3, 3, seed=5), draw(3)
    x, w, b = leaf(X), leaf(W), leaf(B)
    z = F.linear(x, w, b).sin()
    G = np.cos(X @ W.T + B)
    return ({"x": x, "w": w, "b": b}, z,
            {"b": G.sum((0, 1)), "w": np.einsum("bto,bti->oi", G, X), "x": G @ W}, [
        ("broadcast_not_summed", "b", G), ("mean_for_sum", "b", G.mean((0, 1))),
        ("transposed", "w", np.einsum("bto,bti->io", G, X)), ("transposed", "x", G @ W.T),
    ])


@program
def convolved():
    X, K, B = draw(2, 1, 4, 4), draw(3, 1, 2, 2), draw(3)
    x, k, b = leaf(X), leaf(K), leaf(B)
    z = F.conv2d(x, k, b).tanh()
    G = 1 - z.detach().numpy() ** 2
    return {"x": x, "k": k, "b": b}, z, {"b": G.sum((0, 2, 3))}, [
        ("broadcast_not_summed", "b", G), ("mean_for_sum", "b", G.mean((0, 2, 3))),
        ("upstream_ignored", "b", np.full(3, 18.0)),
    ]


# ------------------------------------------------------------------ formulas that are known as a whole


@program
def normalized_rows_by_their_formula():
    X, W = draw(3, 4, seed=11), draw(3, 4, seed=12)
    x = leaf(X)
    c = x - x.mean(1, keepdim=True)
    y = c / ((c * c).mean(1, keepdim=True) + 1e-5).sqrt()
    z = (y * tensor(W)).sum()
    C = X - X.mean(1, keepdims=True)
    R = (np.mean(C * C, 1, keepdims=True) + 1e-5) ** -0.5
    Y = C * R

    def back(axis, inner=Y, outer=Y):
        return R * (W - W.mean(axis, keepdims=True) - outer * np.mean(W * inner, axis, keepdims=True))

    return {"x": x, "y": y}, z, {"x": back(1)}, [
        ("reduction_axis", "x", back(0)), ("wrong_argument", "x", back(1, inner=X)),
        ("wrong_argument", "x", back(1, outer=C)),
    ]


@program
def four_gates():
    A, H = draw(8, seed=13), draw(2, seed=14)
    a, h = leaf(A), leaf(H)
    i, f, g, o = a.chunk(4)
    y = o.sigmoid() * (f.sigmoid() * h + i.sigmoid() * g.tanh())
    z = y.sum()
    S1, S2, S4, T3 = sigmoid(A[:2]), sigmoid(A[2:4]), sigmoid(A[6:]), np.tanh(A[4:6])
    C = S2 * H + S1 * T3
    parts = [S4 * T3 * S1 * (1 - S1), S4 * H * S2 * (1 - S2), S4 * S1 * (1 - T3 * T3), C * S4 * (1 - S4)]
    halves = [S4 * S1 * S1 * (1 - S1), parts[1], S4 * T3 * (1 - T3 * T3), parts[3]]
    return {"a": a, "h": h, "y": y}, z, {"a": np.concatenate(parts), "h": S4 * S2}, [
        ("exchanged", "a", np.concatenate([parts[k] for k in (1, 0, 2, 3)])),
        ("exchanged", "a", np.concatenate([parts[k] for k in (0, 1, 3, 2)])),
        ("swapped_operands", "a", np.concatenate(halves)),
    ]


@program
def windows():
    X, K, W = draw(6, seed=15), draw(3, seed=16), draw(4, seed=17)
    x, k = leaf(X), leaf(K)
    z = ((x.unfold(0, 3, 1) @ k) * tensor(W)).sum()
    rows = np.lib.stride_tricks.sliding_window_view(X, 3)
    added, last, ones = np.zeros(6), np.zeros(6), np.zeros(6)
    for n in range(4):
        added[n : n + 3] += W[n] * K
        last[n : n + 3] = W[n] * K
        ones[n : n + 3] += W[n]
    return {"x": x, "k": k}, z, {"x": added, "k": W @ rows}, [
        ("index_not_scattered", "x", last), ("upstream_only", "x", ones),
        ("mean_for_sum", "x", added / [1, 2, 3, 3, 2, 1]), ("transposed", "k", (W @ rows)[::-1]),
    ]


@program
def a_mask_is_written():
    X, W = draw(5, seed=18), draw(5, seed=19)
    x, where = leaf(X), np.array([True, False, True, False, False])
    y = x * x
    y[tensor(where)] = 0.0
    z = (y * tensor(W)).sum()
    return {"x": x, "y": y}, z, {"x": 2 * X * W * ~where}, [
        ("mask_missing", "x", 2 * X * W), ("missing_path", "x", X * W * ~where),
    ]


@program
def probabilities_beside_weights():
    X, W = draw(2, 4, seed=20), draw(2, 4, seed=21)
    x = leaf(X)
    p = x.softmax(1)
    z = (p * tensor(W)).sum()
    P = softmax(X)
    total = np.sum(P * W, 1, keepdims=True)
    return {"x": x, "p": p}, z, {"x": P * (W - total)}, [
        ("wrong_argument", "x", W - total),
        ("wrong_argument", "x", P * (W - W.sum(1, keepdims=True))),
    ]


@program
def logits_with_a_weight():
    X, T = draw(5, seed=22), np.array([1.0, 0, 1, 1, 0])
    x = leaf(X)
    z = F.binary_cross_entropy_with_logits(x, tensor(T), pos_weight=tensor(3.0))
    P, weight = sigmoid(X), 3 * T + 1 - T
    right = weight * (P - T) / 5
    return {"x": x}, z, {"x": right}, [("double_counted", "x", right * P * (1 - P)), ("sign", "x", -right)]


@program
def a_tape_by_hand():
    X, Y = draw(3, seed=23), draw(3, seed=24)
    x, y = leaf(X), leaf(Y)
    a = x * y
    b = a.sin()
    d = b + a * b * x
    z = (d * d).sum()

    def adjoints(joined=np.add, passes=1):
        adjoint = {}

        def add(name, part):
            adjoint[name] = joined(adjoint[name], part) if name in adjoint else part

        for _ in range(passes):
            add("square", np.ones(3))
            add("d", 2 * (B + C * X) * adjoint["square"])
            add("cx", adjoint["d"])
            add("c", adjoint["cx"] * X)
            add("b", adjoint["d"])
            add("b", adjoint["c"] * A)
            add("a", adjoint["c"] * B)
            add("a", adjoint["b"] * np.cos(A))
            add("x", adjoint["cx"] * C)
            add("x", adjoint["a"] * Y)
        return adjoint["x"]

    A = X * Y
    B, C = np.sin(A), A * np.sin(A)
    return {"x": x, "y": y, "d": d}, z, {"x": adjoints()}, [
        ("accumulated_twice", "x", adjoints(passes=2)),
        ("paths_multiplied", "x", adjoints(np.multiply)),
        ("missing_path", "x", adjoints(lambda old, part: part)),
        ("missing_path", "x", adjoints(lambda old, part: old)),
    ]


@program
def a_sigmoid_written_out():
    X, W = draw(4, seed=25), draw(4, seed=26)
    x, w = leaf(X), leaf(W)
    u = x * w
    p = 1 / (1 + (-u).exp())
    z = (p * p).sum()
    P = sigmoid(X * W)
    return {"x": x, "w": w, "u": u, "p": p}, z, {"x": 2 * P * P * (1 - P) * W}, [
        ("upstream_only", "x", 2 * P * W),
    ]


@program
def a_column_is_scaled_in_place():
    X, W, U = draw(3, 2, seed=27), draw(3, seed=28), draw(3, 2, seed=29)
    x, w = leaf(X), leaf(W)
    y = x * 1.0
    y[:, 1].mul_(w)
    y[:, 0] = w
    z = (y * y * tensor(U)).sum()
    right = np.stack([np.zeros(3), 2 * U[:, 1] * X[:, 1] * W * W], 1)
    return {"x": x, "w": w, "y": y}, z, {"x": right}, [
        ("mask_inverted", "x", np.stack([2 * U[:, 0] * W, np.zeros(3)], 1)),
    ]


@program
def scores_along_a_path():
    X, A = draw(2, seed=30), draw(2, 2, seed=31)
    x, m = leaf(X), leaf(A)
    z = (x.unsqueeze(1) + m).logsumexp(0).sum()
    S = X[:, None] + A
    return {"x": x, "m": m}, z, {"m": softmax(S, 0)}, [("reduction_axis", "m", softmax(S, 1))]


# ------------------------------------------------------------------ formulas of several operations


@program
def a_quotient_of_functions():
    X = draw(4, seed=32, low=0.5, high=2)
    x = leaf(X)
    f, h = (x * x + 1), x**3
    z = (f / h).sin().sum()
    F1, H, dF, dH = X * X + 1, X**3, 2 * X, 3 * X**2
    g = np.cos(F1 / H)
    return {"x": x, "f": f, "h": h}, z, {"x": g * (dF * H - F1 * dH) / H**2}, [
        ("paths_multiplied", "x", g * dF / dH),
        ("wrong_argument", "x", g * (dF * H - F1 * dH) / H),
        ("wrong_argument", "x", g * (dF * H - F1 * dH)),
        ("sign", "x", g * (dF * H + F1 * dH) / H**2),
    ]


@program
def a_product_of_functions():
    X, A = draw(5, seed=33, low=0.5, high=2), draw(5, seed=34)
    x = leaf(X)
    z = (x.sin() * x**2 * tensor(A)).sum()
    right = A * (np.cos(X) * X**2 + np.sin(X) * 2 * X)
    return {"x": x}, z, {"x": right}, [
        ("paths_multiplied", "x", A * np.cos(X) * 2 * X),
        ("sign", "x", A * (np.cos(X) * X**2 - np.sin(X) * 2 * X)),
    ]


@program
def smoothed_labels():
    X, T, e = draw(5, 4, seed=35), np.array([0, 2, 1, 3, 1]), 0.2
    x = leaf(X)
    z = F.cross_entropy(x, tensor(T), label_smoothing=e)
    P, one = softmax(X), np.eye(4)[T]
    return {"x": x}, z, {"x": (P - (1 - e) * one - e / 4) / 5}, [
        ("wrong_argument", "x", (P - one) / 5),
        ("wrong_argument", "x", (P - one - e / 4) / 5),
        ("wrong_argument", "x", (P - (1 - e) * one - e / 3 * (1 - one)) / 5),
        ("wrong_argument", "x", (P - e * one - (1 - e) / 4) / 5),
        ("missing_path", "x", (P - (1 - e) * one) / 5),
    ]


@program
def rare_positives():
    X, Y, w = draw(6, seed=36), np.array([1.0, 0, 0, 1, 0, 0]), 3.0
    W = draw(6, seed=37)
    x = leaf(X)
    z = F.binary_cross_entropy_with_logits(x * tensor(W), tensor(Y), pos_weight=tensor([w]))
    P = sigmoid(X * W)
    right = W * ((1 - Y) * P - w * Y * (1 - P)) / 6
    return {"x": x}, z, {"x": right}, [
        ("scale", "x", W * (P - Y) / 6),
        ("scale", "x", W * w * (P - Y) / 6),
        ("scale", "x", W * (w * (1 - Y) * P - Y * (1 - P)) / 6),
        ("scale", "x", W * (P - w * Y) / 6),
    ]


@program
def the_logarithm_of_a_determinant():
    A, B = draw(3, 3, seed=38) + 3 * np.eye(3), draw(3, 3, seed=39) + 3 * np.eye(3)
    a = leaf(A)
    z = minigrad.linalg.slogdet(tensor(B) @ a)[1]
    M = B @ A
    inverse, det = np.linalg.inv(M), np.linalg.det(M)
    return {"a": a}, z, {"a": B.T @ inverse.T}, [
        ("transposed", "a", B.T @ inverse),
        ("wrong_argument", "a", B.T @ M.T),
        ("wrong_argument", "a", B.T @ (1 / M)),
        ("wrong_argument", "a", B.T @ inverse.T * det),
        ("forgot_inner", "a", B.T @ np.ones((3, 3)) / det),
    ]


@program
def a_determinant():
    A = draw(3, 3, seed=40) + 2 * np.eye(3)
    a = leaf(A)
    z = (a * 1.0).det() * 2.5
    inverse, det = np.linalg.inv(A), np.linalg.det(A)
    return {"a": a}, z, {"a": 2.5 * det * inverse.T}, [
        ("transposed", "a", 2.5 * det * inverse),
        ("wrong_argument", "a", 2.5 * inverse.T),
        ("wrong_argument", "a", 2.5 * det * A.T),
    ]


# ------------------------------------------------------------------ as in the assignments of courses


@program
def logistic_regression_step_by_step():
    X, Y, W, L = draw(7, 3, seed=41), np.array([1.0, 0, 1, 1, 0, 0, 1]), draw(3, seed=42), 0.05
    x, y, w = tensor(X), tensor(Y), leaf(W)
    p = 1 / (1 + (-(x @ w)).exp())
    z = -(y * p.log() + (1 - y) * (1 - p).log()).mean() + L * (w * w).sum()
    P, R = sigmoid(X @ W), 2 * L * W
    return {"x": x, "y": y, "w": w, "p": p}, z, {"w": X.T @ (P - Y) / 7 + R}, [
        ("mean_for_sum", "w", X.T @ (P - Y) + R), ("missing_path", "w", X.T @ P / 7 + R),
        ("double_counted", "w", X.T @ ((P - Y) * P * (1 - P)) / 7 + R),
        ("wrong_argument", "w", X.T @ (X @ W - Y) / 7 + R), ("sign", "w", X.T @ (P + Y) / 7 + R),
        ("scale", "w", X.T @ (P - Y) / 7 + R / 7),
    ]


@program
def softmax_regression_step_by_step():
    X, W, T = draw(6, 5, seed=43), draw(5, 3, seed=44), np.array([0, 2, 1, 1, 0, 2])
    x, w = tensor(X), leaf(W)
    e = (x @ w).exp()
    z = -(e / e.sum(1, keepdim=True))[minigrad.arange(6), tensor(T)].log().mean()
    P, H = softmax(X @ W), np.eye(3)[T]
    return {"x": x, "w": w}, z, {"w": X.T @ (P - H) / 6}, [
        ("reduction_axis", "w", X.T @ (softmax(X @ W, 0) - H) / 6),
        ("softmax_diagonal_only", "w", X.T @ ((P - H) * H) / 6),
        ("wrong_argument", "w", X.T @ (X @ W - H) / 6), ("missing_path", "w", X.T @ P / 6),
    ]


@program
def pairs_in_both_directions():
    A, B = draw(4, 3, seed=45), draw(4, 3, seed=46)
    a, b, t = leaf(A), leaf(B), minigrad.arange(4)
    s = (a / a.norm(dim=1, keepdim=True)) @ b.T / 0.5
    z = (F.cross_entropy(s, t) + F.cross_entropy(s.T, t)) / 2
    N = np.linalg.norm(A, axis=1, keepdims=True)
    U, one = A / N, np.eye(4)
    P, Q = softmax(U @ B.T / 0.5), softmax(U @ B.T / 0.5, 0)
    S = (P - one + Q - one) / 8
    g = S @ B / 0.5

    def back(y, inner):
        return (g - y * np.sum(g * inner, 1, keepdims=True)) / N

    return {"a": a, "b": b, "s": s}, z, {"a": back(U, U), "s": S}, [
        ("missing_path", "s", (P + Q) / 8), ("missing_path", "a", g / N),
        ("wrong_argument", "a", back(A, A)), ("wrong_argument", "a", back(U, A)),
        ("missing_path", "a", g * (1 - U * U) / N), ("scale", "a", back(U, U) / 2),
        ("reduction_axis", "a", (g - U * np.sum(g * U)) / N),
    ]


@program
def ratings_with_a_mask():
    R, M = draw(5, 4, seed=47), (draw(5, 4, seed=48) > -0.3) * 1.0
    U, V, L = draw(5, 3, seed=49), draw(4, 3, seed=50), 0.2
    u, v, r, m = leaf(U), leaf(V), tensor(R), tensor(M)
    z = ((m * (u @ v.T - r)) ** 2).sum() + L * ((u**2).sum() + (v**2).sum())
    D = U @ V.T - R
    return {"u": u, "v": v, "r": r, "m": m}, z, {"u": 2 * M * D @ V + 2 * L * U}, [
        ("mask_missing", "u", 2 * D @ V + 2 * L * U), ("missing_path", "u", 2 * M * D @ V),
        ("scale", "u", 2 * M * D @ V + L * U), ("sign", "u", 2 * M * D @ V - 2 * L * U),
    ]


@program
def a_convolution_in_loops():
    X, K, G = draw(2, 2, 5, 5, seed=51), draw(3, 2, 3, 3, seed=52), draw(2, 3, 3, 3, seed=53)
    x, k = leaf(X), leaf(K)
    z = F.conv2d(x, k)

    def back(add):
        d = np.zeros_like(X)
        for i, j in np.ndindex(3, 3):
            part = d[:, :, i : i + 3, j : j + 3]
            part[...] = add * part + np.einsum("no,ocij->ncij", G[:, :, i, j], K)
        return d

    def filters(examples):
        windows = np.lib.stride_tricks.sliding_window_view(X[examples], (3, 3), (2, 3))
        return np.einsum("ncpqij,nopq->ocij", windows, G[examples])

    return {"x": x, "k": k, "gradient": G}, z, {"x": back(1), "k": filters([0, 1])}, [
        ("index_not_scattered", "x", back(0)), ("missing_path", "k", filters([1])),
        ("transposed", "k", filters([0, 1])[:, :, ::-1, ::-1]),
    ]


@program
def a_gaussian_process():
    D, Y = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))), draw(4, seed=54)
    k, y = leaf(np.exp(-D) + 0.1 * np.eye(4)), tensor(Y)
    z = (y @ minigrad.linalg.solve(k, y) + minigrad.linalg.slogdet(k)[1]) / 2
    inverse = np.linalg.inv(np.exp(-D) + 0.1 * np.eye(4))
    a = inverse @ Y
    return {"k": k, "y": y}, z, {"k": (inverse - np.outer(a, a)) / 2}, [
        ("wrong_argument", "k", (inverse - np.outer(a, Y)) / 2), ("missing_path", "k", -np.outer(a, a) / 2),
        ("wrong_argument", "k", (inverse - np.outer(Y, Y)) / 2), ("sign", "k", (inverse + np.outer(a, a)) / 2),
    ]


@program
def weighted_least_squares():
    X, Y, W, V = draw(6, 3, seed=55), draw(6, seed=56), draw(3, seed=57), draw(6, seed=58, low=0.5, high=2)
    x, y, w, v = tensor(X), tensor(Y), leaf(W), tensor(V)
    z = (v * (y - x @ w) ** 2).sum() / v.sum() + 0.3 * w.abs().sum()
    R, N, S = Y - X @ W, V.sum(), 0.3 * np.sign(W)
    return {"x": x, "y": y, "w": w, "v": v}, z, {"w": -2 * X.T @ (V * R) / N + S}, [
        ("double_counted", "w", -2 * X.T @ (V * V * R) / N + S),
        ("wrong_argument", "w", -2 * X.T @ V / N + S), ("wrong_argument", "w", -X.T @ (V * R * R) / N + S),
        ("wrong_argument", "w", -2 * X.T @ (V * R) / N + 0.3 * W),
        ("missing_path", "w", -2 * X.T @ (V * R) / N),
    ]


@program
def a_factor_from_before_two_steps():
    X, W, M = draw(5, 3, seed=59), draw(3, 4, seed=60), (draw(5, 4, seed=61) > 0) / 0.6
    x, w, v, m = tensor(X), leaf(W), leaf(draw(4, seed=62)), tensor(M)
    z = ((((x @ w).tanh() * m) @ v) ** 2).sum()
    V, H = v.detach().numpy(), np.tanh(X @ W)
    g = 2 * (H * M) @ V
    back = np.outer(g, V) * (1 - H * H)
    return {"x": x, "w": w, "v": v, "m": m}, z, {"v": (H * M).T @ g, "w": X.T @ (back * M)}, [
        ("wrong_argument", "v", (X @ W * M).T @ g), ("mask_missing", "v", H.T @ g),
        ("scale", "v", (H * (M > 0)).T @ g), ("double_counted", "w", X.T @ (back * M * M)),
    ]


@program
def an_euler_scheme():
    X, K, h = draw(3, seed=63), draw(3, seed=64, low=0.5, high=1.5), 0.1
    x0, k = leaf(X), leaf(K)
    x, states = x0, [X]
    for _ in range(4):
        x = x + h * (k * x.sin())
        states.append(states[-1] + h * K * np.sin(states[-1]))
    z = (x**2).sum()

    def back(read):
        a, d = 2 * states[4], 0
        for i in range(3, -1, -1):
            s = states[read(i)]
            a, d = a * (1 + h * K * np.cos(s)), d + h * a * np.sin(s)
        return a, d

    right, late, early, last = map(back, (lambda i: i, lambda i: i + 1, lambda i: max(i - 1, 0), lambda i: i - 1))
    return {"x0": x0, "k": k}, z, {"x0": right[0], "k": right[1]}, [
        ("wrong_argument", "x0", late[0]), ("wrong_argument", "k", late[1]),
        ("wrong_argument", "x0", early[0]), ("wrong_argument", "k", early[1]),
        ("wrong_argument", "x0", last[0]), ("wrong_argument", "k", last[1]),
    ]


@program
def a_mask_after_the_softmax():
    S, V, G = draw(4, 4, seed=65), draw(4, 2, seed=66), draw(4, 2, seed=67)
    s, v = leaf(S), leaf(V)
    keep = np.tril(np.ones((4, 4)))
    p = s.masked_fill(tensor(keep == 0), float("-inf")).softmax(-1)
    z = p @ v
    P, Q, d = softmax(np.where(keep, S, -np.inf)), softmax(S), G @ V.T

    def back(p, d):
        return p * (d - (d * p).sum(-1, keepdims=True))

    return {"s": s, "v": v, "gradient": G}, z, {"s": back(P, d), "v": P.T @ G}, [
        ("mask_missing", "v", (Q * keep).T @ G), ("mask_missing", "s", back(Q, d * keep)),
        ("mask_missing", "v", Q.T @ G), ("mask_missing", "s", back(Q, d)),
    ]


@program
def the_gates_of_a_recurrent_unit():
    X, H, G = draw(3, seed=68), draw(3, seed=69), draw(3, seed=70)
    (WU, WR, WN), (UU, UR, UN) = draw(3, 3, 3, seed=71), draw(3, 3, 3, seed=72)
    x, h0 = tensor(X), leaf(H)
    u = (tensor(WU) @ x + tensor(UU) @ h0).sigmoid()
    r = (tensor(WR) @ x + tensor(UR) @ h0).sigmoid()
    n = (tensor(WN) @ x + r * (tensor(UN) @ h0)).tanh()
    z = (1 - u) * n + u * h0
    U, R = sigmoid(WU @ X + UU @ H), sigmoid(WR @ X + UR @ H)
    N = np.tanh(WN @ X + R * (UN @ H))
    dn, du = G * (1 - U) * (1 - N**2), G * (H - N)
    dr = dn * (UN @ H)

    def back(du, dr, su=U * (1 - U), sr=R * (1 - R)):
        return G * U + UU.T @ (du * su) + UR.T @ (dr * sr) + UN.T @ (dn * R)

    return {"x": x, "h0": h0, "u": u, "r": r, "n": n, "gradient": G}, z, {"h0": back(du, dr)}, [
        ("exchanged", "h0", back(dr, du)), ("exchanged", "h0", back(dr, du, R * (1 - R), U * (1 - U))),
        ("missing_path", "h0", back(du, 0)),
    ]


@program
def the_margins_of_a_support_vector_machine():
    X, W, T = draw(6, 4, seed=73), draw(4, 5, seed=74), np.array([0, 2, 1, 4, 3, 2])
    x, w, rows = tensor(X), leaf(W), np.arange(6)
    scores = x @ w
    margins = (scores - scores[rows, T].reshape(6, 1) + 1).relu()
    others = 1 - np.eye(5)[T]
    z = (margins * tensor(others)).sum() / 6
    S = X @ W
    violated = (S - S[rows, T][:, None] + 1 > 0) * others
    many = violated.sum(1, keepdims=True)

    def back(count):
        return X.T @ (violated - count * (1 - others)) / 6

    return {"x": x, "w": w}, z, {"w": back(many)}, [
        ("broadcast_not_summed", "w", back(many > 0)), ("broadcast_not_summed", "w", back(1)),
        ("missing_path", "w", back(0)), ("sign", "w", back(-many)), ("mean_for_sum", "w", 6 * back(many)),
    ]


@program
def a_normalization_step_by_step():
    X, G = draw(6, 4, seed=75), draw(6, 4, seed=76)
    x = leaf(X)
    c = x - x.mean(0)
    std = ((c**2).mean(0) + 0.5).sqrt()
    z = c / std
    C = X - X.mean(0)
    S = np.sqrt((C**2).mean(0) + 0.5)

    def back(sums=lambda d: d.sum(0), mean=lambda d: d.mean(0), half=2):
        ds = sums(-G * C / S**2)
        dc = G / S + 2 * C / 6 * ds / (half * S)
        return dc - mean(dc)

    return {"x": x, "c": c, "std": std, "gradient": G}, z, {"x": back()}, [
        ("broadcast_not_summed", "x", back(sums=lambda d: d)), ("missing_path", "x", back(mean=lambda d: 0)),
        ("broadcast_not_summed", "x", back(mean=lambda d: d / 6)),
        ("missing_path", "x", back(sums=lambda d: 0)),
    ]


@program
def a_distillation():
    A, Q = draw(4, 3, seed=77), softmax(draw(4, 3, seed=78))
    a, q = leaf(A), tensor(Q)
    z = (q * (q.log() - (a / 2).log_softmax(1))).sum() / 4
    P = softmax(A / 2)
    turned = P * np.log(P / Q)
    turned -= P * turned.sum(1, keepdims=True)
    soft = -P * (Q - (P * Q).sum(1, keepdims=True))
    return {"a": a, "q": q}, z, {"a": (P - Q) / 8}, [
        ("swapped_operands", "a", turned / 8), ("wrong_argument", "a", soft / 8),
        ("sign", "a", (Q - P) / 8), ("upstream_only", "a", -Q / 8),
    ]


@program
def likelihoods_of_a_normal_distribution():
    X, M, S = draw(6, 1, seed=79), draw(3, seed=80), draw(3, seed=81)
    x, m, s = tensor(X), leaf(M), leaf(S)
    z = (-0.5 * ((x - m) / s.exp()) ** 2 - s).sum()
    V = np.exp(S)
    Z = (X - M) / V
    return {"x": x, "m": m, "s": s}, z, {"m": (Z / V).sum(0), "s": (Z**2 - 1).sum(0)}, [
        ("double_counted", "m", (Z / V**2).sum(0)),
        ("missing_path", "s", (Z**2).sum(0)), ("sign", "s", (-(Z**2) - 1).sum(0)),
    ]


# ------------------------------------------------------------------ the same at each step


@program
def the_midpoint_method():
    X, A, h = draw(3, seed=82), draw(3, 3, seed=83), 0.2
    x0, a = leaf(X), leaf(A)
    x, states, middles = x0, [X], []
    for _ in range(3):
        m = x + 0.5 * h * (a @ x).tanh()
        x = x + h * (a @ m).tanh()
        middles.append(states[-1] + 0.5 * h * np.tanh(A @ states[-1]))
        states.append(states[-1] + h * np.tanh(A @ middles[-1]))
    z = (x**2).sum()

    def back(half=0.5, step=h, through=1, own=1, middle=lambda t: middles[t], after=0):
        g, d = 2 * states[3], 0
        for t in (2, 1, 0):
            s = states[t + after]
            m = s + 0.5 * h * np.tanh(A @ s) if after else middle(t)
            g2 = step * g * (1 - np.tanh(A @ m) ** 2)
            gm = A.T @ g2
            g1 = through * half * h * gm * (1 - np.tanh(A @ s) ** 2)
            d = d + np.outer(g2, m) + np.outer(g1, s)
            g = own * g + gm + A.T @ g1
        return {"x0": g, "a": d}

    wrong = [
        ("missing_path", back(through=0)), ("sign", back(through=-1)), ("missing_path", back(own=0)),
        ("scale", back(step=1)), ("wrong_argument", back(middle=lambda t: states[t])),
        ("wrong_argument", back(after=1)),
    ]
    return {"x0": x0, "a": a, "x": x, "m": m}, z, back(), [
        (kind, name, d[name]) for kind, d in wrong for name in ("x0", "a")
    ]


@program
def momentum_that_is_differentiated():
    W, A = draw(4, seed=84), draw(4, seed=85, low=0.5, high=1.5)
    w0, a = leaf(W), leaf(A)
    w, v = w0, tensor(np.zeros(4))
    states, velocity = [W], np.zeros(4)
    for _ in range(3):
        v = 0.8 * v + a * w**3
        w = w - 0.1 * v
        velocity = 0.8 * velocity + A * states[-1] ** 3
        states.append(states[-1] - 0.1 * velocity)
    z = (w**2).sum()

    def back(beta=0.8, lr=0.1, three=3, after=0, kept=1):
        g, gv, d = 2 * states[3], 0, 0
        for t in (2, 1, 0):
            s = states[t + after]
            gv = kept * beta * gv - lr * g
            d, g = d + gv * s**3, g + gv * A * three * s**2
        return {"w0": g, "a": d}

    wrong = [
        ("scale", back(beta=1)), ("scale", back(lr=1)), ("scale", back(three=1)),
        ("wrong_argument", back(after=1)), ("missing_path", back(kept=0)),
    ]
    return {"w0": w0, "a": a, "w": w, "v": v}, z, back(), [
        (kind, name, d[name]) for kind, d in wrong for name in ("w0", "a")
    ]


# ------------------------------------------------------------------ other values, other axes


@program
def a_squared_hinge():
    X, W, Y = draw(6, 4, seed=86), draw(4, seed=87), np.array([1.0, -1, 1, 1, -1, -1])
    x, w, y = tensor(X), leaf(W), tensor(Y)
    s = x @ w
    z = ((1 - y * s).relu() ** 2).sum()
    M = 1 - Y * (X @ W)
    return {"x": x, "w": w, "y": y, "s": s}, z, {"w": -2 * X.T @ (Y * np.maximum(M, 0))}, [
        ("mask_missing", "w", -2 * X.T @ (Y * M)), ("sign", "w", 2 * X.T @ (Y * np.maximum(M, 0))),
        ("scale", "w", -X.T @ (Y * np.maximum(M, 0))), ("wrong_argument", "w", -2 * X.T @ (Y * (M > 0))),
    ]


@program
def a_gradient_at_the_old_weights():
    X, V, Y, U, W = draw(5, 3, seed=88), draw(5, 3, seed=89), draw(5, seed=90), draw(5, seed=91), draw(3, seed=92)
    x, v, w = tensor(X), tensor(V), leaf(W)
    step = 2 * x.T @ (x @ w - tensor(Y)) / 5
    fast = w - 0.1 * step
    z = ((v @ fast - tensor(U)) ** 2).mean()
    F = W - 0.2 * X.T @ (X @ W - Y) / 5

    def back(at):
        g = 2 * V.T @ (V @ at - U) / 5
        return g - 0.2 * X.T @ X @ g / 5

    return {"x": x, "v": v, "w": w, "step": step, "fast": fast}, z, {"w": back(F)}, [
        ("wrong_argument", "w", back(W)), ("missing_path", "w", 2 * V.T @ (V @ F - U) / 5),
    ]


@program
def an_instance_normalization():
    X, G = draw(3, 2, 3, 3, seed=93), draw(3, 2, 3, 3, seed=94)
    x = leaf(X)
    c = x - x.mean((2, 3), keepdim=True)
    z = c / ((c**2).mean((2, 3), keepdim=True) + 0.001).sqrt()

    def back(axes, first=1, second=1):
        C = X - X.mean(axes, keepdims=True)
        r = ((C**2).mean(axes, keepdims=True) + 0.001) ** -0.5
        return r * (G - first * G.mean(axes, keepdims=True) - second * C * r * (G * C * r).mean(axes, keepdims=True))

    return {"x": x, "c": c, "gradient": G}, z, {"x": back((2, 3))}, [
        ("reduction_axis", "x", back((0, 2, 3))), ("missing_path", "x", back((2, 3), 0, 0)),
        ("missing_path", "x", back((2, 3), second=0)), ("missing_path", "x", back((2, 3), first=0)),
    ]


@program
def a_mask_and_a_mean_that_are_missing():
    X, W, V = draw(5, 4, seed=95), draw(4, 4, seed=96), draw(4, 2, seed=97)
    x, w, v = tensor(X), leaf(W), tensor(V)
    z = (((x @ w).relu() @ v) ** 2).mean()
    A = X @ W
    g = 2 * np.maximum(A, 0) @ V @ V.T
    return {"x": x, "w": w, "v": v}, z, {"w": X.T @ (g * (A > 0)) / 10}, [
        ("mask_missing", "w", X.T @ g), ("mask_missing", "w", -X.T @ g / 10),
        ("mean_for_sum", "w", X.T @ (g * (A > 0))),
    ]


# ------------------------------------------------------------------ from a second examination


@program
def a_net_with_a_regularizer():
    X, A, B, b = draw(6, 4, seed=101), draw(4, 5, seed=102), draw(5, 3, seed=103), draw(3, seed=104)
    Y = [0, 2, 1, 1, 0, 2]
    x, w1, w2, b2 = tensor(X), leaf(A), leaf(B), leaf(b)
    h = (x @ w1).tanh()
    z = F.cross_entropy(h @ w2 + b2, tensor(Y)) + 0.15 * ((w1**2).sum() + (w2**2).sum())
    H, one = np.tanh(X @ A), np.eye(3)[Y]

    def back(one=one, slope=1 - H**2, step=0.0):
        g = (softmax(H @ B + b) - one) / 6
        d2 = H.T @ g + 0.3 * B
        return {"w2": d2, "b2": g.sum(0), "w1": X.T @ (g @ (B - step * d2).T * slope) + 0.3 * A}

    right = back()
    return {"x": x, "w1": w1, "w2": w2, "b2": b2, "h": h}, z, right, [
        ("extra_term", "b2", right["b2"] + 0.3 * b), ("extra_term", "b2", right["b2"] + 0.01 * np.sign(b)),
        ("stale_value", "w1", back(step=0.1)["w1"]), ("wrong_argument", "w1", back(one=np.roll(one, 1, 1))["w1"]),
        ("wrong_argument", "w1", back(slope=np.sqrt(1 - H**2))["w1"]),
    ]


@program
def factors_with_biases():
    P, Q, B, R = draw(4, 3, seed=105), draw(5, 3, seed=106), draw(4, seed=107), draw(7, seed=108)
    users, items = np.array([0, 1, 2, 0, 3, 1, 0]), np.array([1, 0, 4, 2, 2, 0, 1])
    p, q, b = leaf(P), leaf(Q), leaf(B)
    pu, qi = p[tensor(users)], q[tensor(items)]
    z = ((b[tensor(users)] + (pu * qi).sum(1) - tensor(R)) ** 2).sum() + 0.1 * (pu**2).sum()
    e = B[users] + (P[users] * Q[items]).sum(1) - R
    d = np.zeros(4)
    np.add.at(d, users, 2 * e)
    return {"p": p, "q": q, "b": b, "pu": pu, "qi": qi}, z, {"b": d}, [
        ("extra_term", "b", d + 0.2 * B), ("mean_for_sum", "b", d / np.bincount(users)),
    ]


@program
def a_layer_normalization_with_a_gain():
    X, W, G, B = draw(4, 6, seed=109), draw(4, 6, seed=110), draw(6, seed=111, low=0.5, high=2), draw(6, seed=112)
    x, gain, bias = leaf(X), leaf(G), leaf(B)
    c = x - x.mean(1, keepdim=True)
    xh = c / ((c**2).mean(1, keepdim=True) + 0.001).sqrt()
    y = gain * xh + bias
    z = (y * tensor(W)).sum()
    C = X - X.mean(1, keepdims=True)
    r = ((C**2).mean(1, keepdims=True) + 0.001) ** -0.5

    def back(g, r1=r):
        return r1 * (g - g.mean(1, keepdims=True) - C * r * (g * C * r).mean(1, keepdims=True))

    return {"x": x, "gain": gain, "bias": bias, "xh": xh, "y": y}, z, {"x": back(W * G), "bias": W.sum(0)}, [
        ("wrong_argument", "x", back(W / G)), ("wrong_argument", "x", back(W * G, 1 / r)),
        ("other_variable", "bias", (W * G).sum(0)),
    ]


@program
def attention_with_a_mask():
    X, A, C = draw(5, 4, seed=113), draw(4, 4, seed=114), draw(5, 4, seed=115)
    x, w, mask = tensor(X), leaf(A), np.triu(np.ones((5, 5), bool), 1)
    s = (x @ w @ x.T / 2).masked_fill(tensor(mask), -1e9)
    z = (s.softmax(-1) @ x * tensor(C)).sum()

    def back(mask=mask, d=4):
        p = softmax(np.where(mask, -1e9, X @ A @ X.T / 2))
        g = C @ X.T
        return X.T @ (p * (g - (g * p).sum(1, keepdims=True)) * ~mask) @ X / np.sqrt(d)

    return {"x": x, "w": w}, z, {"w": back()}, [
        ("transposed", "w", back(mask.T)), ("mask_inverted", "w", back(~mask)), ("scale", "w", back(d=5)),
    ]


@program
def a_target_that_is_detached():
    S, S2, R, W = draw(5, 3, seed=116), draw(5, 3, seed=117), draw(5, seed=118), draw(3, seed=119)
    s, s2, r, w, done = tensor(S), tensor(S2), tensor(R), leaf(W), np.array([0, 1.0, 0, 0, 1])
    v, v2 = (s @ w).tanh(), (s2 @ w).tanh()
    z = ((v - (r + 0.9 * tensor(1 - done) * v2.detach())) ** 2).mean()
    V, V2 = np.tanh(S @ W), np.tanh(S2 @ W)
    e = 2 * (V - R - 0.9 * (1 - done) * V2) / 5
    right = S.T @ (e * (1 - V**2))

    def back(factor):
        return S.T @ (2 * (V - R - factor * V2) / 5 * (1 - V**2))

    return {"s": s, "s2": s2, "r": r, "w": w, "v": v, "v2": v2}, z, {"w": right}, [
        ("mask_missing", "w", right - S2.T @ (0.9 * (1 - done) * e * (1 - V2**2))),
        ("mask_missing", "w", back(0.9)), ("mask_inverted", "w", back(0.9 * done)), ("scale", "w", back(1 - done)),
    ]


@program
def a_step_up_instead_of_down():
    X, V, Y, U, W = draw(5, 3, seed=120), draw(5, 3, seed=121), draw(5, seed=122), draw(5, seed=123), draw(3, seed=124)
    x, v, w = tensor(X), tensor(V), leaf(W)
    fast = w - 0.1 * (x.T @ (x @ w - tensor(Y)))
    z = ((v @ fast - tensor(U)) ** 2).mean()

    def back(sign=1):
        g = 2 * V.T @ (V @ (W - sign * 0.1 * X.T @ (X @ W - Y)) - U) / 5
        return g - sign * 0.1 * X.T @ X @ g

    return {"x": x, "v": v, "w": w, "fast": fast}, z, {"w": back()}, [("sign", "w", back(-1))]


@program
def a_quantile_of_a_residual():
    X, W, Y = draw(7, 3, seed=125), draw(3, seed=126), draw(7, seed=127)
    x, w, y = tensor(X), leaf(W), tensor(Y)
    r = y - x @ w
    z = minigrad.maximum(0.3 * r, -0.7 * r).mean()
    e = Y - X @ W
    return {"x": x, "w": w, "y": y, "r": r}, z, {"w": -X.T @ np.where(e > 0, 0.3, -0.7) / 7}, [
        ("sign", "w", X.T @ np.where(e < 0, 0.3, -0.7) / 7),
    ]


@program
def a_mixture_of_normal_distributions():
    X, M, W = draw(7, 2, seed=128), draw(3, 2, seed=129), draw(3, seed=130)
    x, mu, w = tensor(X), leaf(M), leaf(W)
    lp = w.log_softmax(0) - 0.5 * ((x.unsqueeze(1) - mu) ** 2).sum(2)
    z = -lp.logsumexp(1).mean()
    pi = softmax(W)
    L = np.log(pi) - 0.5 * ((X[:, None] - M) ** 2).sum(2)

    def back(r):
        return -(r[:, :, None] * (X[:, None] - M)).sum(0) / 7

    hard, R = np.eye(3)[L.argmax(1)], softmax(L)
    return {"x": x, "mu": mu, "w": w, "lp": lp}, z, {"mu": back(R), "w": pi - R.mean(0)}, [
        ("wrong_argument", "mu", back(hard)), ("sign", "mu", back(softmax(-L))), ("forgot_inner", "w", -R.mean(0) / pi),
        ("scale", "mu", back(R) * 7 / 3),
    ]


@program
def an_equation_with_a_second_derivative():
    X, A, B, C, Y = draw(4, 1, seed=131), draw(1, 5, seed=132), draw(5, seed=133), draw(5, seed=134), draw(4, seed=135)
    a, b, c = leaf(A), leaf(B), leaf(C)
    t = (tensor(X) @ a + b).tanh()
    z = ((((-2 * t * (1 - t**2)) * a[0] ** 2) @ c + t @ c - tensor(Y)) ** 2).mean()
    T = np.tanh(X @ A + B)
    curve = -2 * T * (1 - T**2)

    def back(curve, r):
        return 2 / 4 * (curve + T).T @ r

    U = (curve * A[0] ** 2) @ C
    r = U + T @ C - Y
    return {"a": a, "b": b, "c": c, "t": t}, z, {"c": back(curve * A[0] ** 2, r)}, [
        ("wrong_argument", "c", back(curve * A[0], r)), ("missing_path", "c", back(curve * A[0] ** 2, U - Y)),
    ]


@program
def a_quadratic_form_of_an_inverse():
    A, V = draw(4, 4, seed=136) + 3 * np.eye(4), draw(4, seed=137)
    k, v = leaf(A), tensor(V)
    z = v @ k.inverse() @ v
    inv = np.linalg.inv(A)
    return {"k": k, "v": v}, z, {"k": -inv.T @ np.outer(V, V) @ inv.T}, [
        ("wrong_argument", "k", -inv.T @ np.outer(V, V)), ("wrong_argument", "k", -np.outer(V, V) @ inv.T),
        ("transposed", "k", -inv @ np.outer(V, V) @ inv.T),
    ]


@program
def classes_with_weights():
    X, C, Y = draw(7, 3, seed=138), np.array([1, 2, 0.5]), np.array([0, 2, 1, -100, 2, 0, -100])
    x, c, y = leaf(X), tensor(C), tensor(Y)
    z = F.cross_entropy(x, y, weight=c)
    kept, one = (Y >= 0)[:, None], np.eye(3)[np.maximum(Y, 0)]
    w = C[np.maximum(Y, 0)][:, None] * kept
    g = (softmax(X) - one) * w
    return {"x": x, "c": c, "y": y}, z, {"x": g / w.sum()}, [
        ("wrong_argument", "x", (softmax(X) - one) * C * kept / w.sum()), ("wrong_argument", "x", g * w / w.sum()),
        ("wrong_argument", "x", (softmax(X) - one * w) * kept / w.sum()), ("mean_for_sum", "x", g / C.sum()),
        ("wrong_argument", "x", (softmax(X) * w - one) * kept / w.sum()),
    ]


@program
def words_and_padding():
    X, Y = draw(6, 4, seed=139), np.array([2, 0, 3, 1, 0, 0])
    x, y = leaf(X), tensor(Y)
    z = F.cross_entropy(x, y, ignore_index=0)
    d = softmax(X) - np.eye(4)[Y]
    return {"x": x, "y": y}, z, {"x": d * (Y != 0)[:, None] / 3}, [
        ("mask_missing", "x", d / 6), ("mask_missing", "x", d / 3), ("mean_for_sum", "x", d * (Y != 0)[:, None]),
    ]


@program
def events_and_censored_times():
    X, B, E = draw(6, 3, seed=140), draw(3, seed=141), np.array([1.0, 0, 1, 1, 0, 1])
    x, b, e = tensor(X), leaf(B), tensor(E)
    s = x @ b
    z = -(e * (s - s.exp().cumsum(0).log())).sum()
    W = np.exp(X @ B)
    right = -X.T @ E + sum(E[i] * W[: i + 1] @ X[: i + 1] / W[: i + 1].sum() for i in range(6))
    return {"x": x, "b": b, "e": e, "s": s}, z, {"b": right}, [
        ("scale", "b", right / 4), ("missing_path", "b", -X.T @ E),
    ]


@program
def every_step_at_the_last_state():
    W, H = draw(3, 3, seed=142), draw(3, seed=143)
    w, h0 = leaf(W), leaf(H)
    h, states = h0, [H]
    for _ in range(4):
        h = (w @ h).tanh()
        states.append(np.tanh(W @ states[-1]))
    z = (h**2).sum()

    def back(at=None):
        g, d = 2 * states[4], 0
        for t in (4, 3, 2, 1):
            g = g * (1 - states[at or t] ** 2)
            d, g = d + np.outer(g, states[t - 1]), W.T @ g
        return {"w": d, "h0": g}

    return {"w": w, "h0": h0, "h": h}, z, back(), [
        ("wrong_argument", name, back(k)[name]) for name in ("w", "h0") for k in (4, 1)
    ]


@program
def a_write_that_is_forgotten():
    X, Y, G = draw(4, seed=144), draw(4, seed=145), draw(4, seed=146)
    x, y = leaf(X), leaf(Y)
    z = x * y
    z[:2] = 2 * y[:2]
    z[2:] *= x[2:]
    d = G * np.array([0, 0, *X[2:]])
    right = {"y": d * X + np.array([*2 * G[:2], 0, 0]), "x": d * Y + np.array([0, 0, *(G * X * Y)[2:]])}
    return {"x": x, "y": y, "gradient": G}, z, right, [
        ("mask_missing", "y", X * np.array([*G[:2], *d[2:]])),
        ("mask_missing", "y", right["y"] + X * np.array([0, 0, *G[2:]])),
    ]


@program
def the_cosine_of_an_angle():
    A, B = draw(4, seed=147), draw(4, seed=148)
    a, b = leaf(A), leaf(B)
    z = (a @ b) / (a.norm() * b.norm())
    x, y, d = np.linalg.norm(A), np.linalg.norm(B), A @ B
    return {"a": a, "b": b}, z, {"a": B / (x * y) - A * d / (x**3 * y), "b": A / (x * y) - B * d / (x * y**3)}, [
        ("wrong_argument", "a", B / (x * y) - A * d / (x**2 * y)),
        ("wrong_argument", "a", B / (x**2 * y) - A * d / (x**3 * y)),
        ("wrong_argument", "b", A / (x * y) - B * d / (x * y**2)), ("sign", "b", A / (x * y) + B * d / (x * y**3)),
    ]


@program
def rows_of_length_one():
    X, W = draw(4, 3, seed=149), draw(4, 3, seed=150)
    x = leaf(X)
    n = x.norm(dim=1, keepdim=True)
    z = (x / n * tensor(W)).sum()
    N = np.linalg.norm(X, axis=1, keepdims=True)
    first, second = W / N, X * (X * W).sum(1, keepdims=True) / N**3
    return {"x": x, "n": n}, z, {"x": first - second}, [
        ("wrong_argument", "x", first - second * N), ("double_counted", "x", first / N - second),
        ("missing_path", "x", first), ("sign", "x", first + second),
    ]


@program
def two_bounds():
    X, G = 2 * draw(8, seed=151), draw(8, seed=152)
    x = leaf(X)
    z = x.clamp(-0.5, 1)
    return {"x": x, "gradient": G}, z, {"x": G * (X >= -0.5) * (X <= 1)}, [
        ("mask_missing", "x", G * (X <= 1)), ("mask_missing", "x", G * (X >= -0.5)),
        ("mask_missing", "x", G),
    ]


@program
def a_length_and_a_factor():
    X = draw(3, 2, seed=153)
    x = leaf(X)
    z = 3 * x.norm()
    return {"x": x}, z, {"x": 3 * X / np.linalg.norm(X)}, [
        ("upstream_ignored", "x", 6 * X), ("wrong_argument", "x", 3 * X),
    ]


@program
def a_layer_norm_with_the_deviation_of_a_sample():
    X, G = draw(3, 5, seed=154), draw(3, 5, seed=155)
    x = leaf(X)
    z = F.layer_norm(x, (5,), eps=0.0)

    def d(ddof):
        s = X.std(1, ddof=ddof, keepdims=True)
        y = (X - X.mean(1, keepdims=True)) / s
        return (G - G.mean(1, keepdims=True) - y * (G * y).mean(1, keepdims=True)) / s

    return {"x": x, "gradient": G}, z, {"x": d(0)}, [("wrong_argument", "x", d(1))]


@program
def a_convolution_by_numpy():
    X, W, G = draw(7, seed=156), draw(3, seed=157), draw(5, seed=158)
    x, w = leaf(X), leaf(W)
    z = F.conv1d(x[None, None], w[None, None])[0, 0]
    return {"x": x, "w": w, "gradient": G}, z, {"x": np.convolve(G, W), "w": np.correlate(X, G, "valid")}, [
        ("transposed", "w", np.convolve(X, G, "valid")), ("transposed", "x", np.convolve(G, W[::-1])),
        ("transposed", "w", np.correlate(X, G, "valid")[::-1]),
    ]


@program
def a_huber_loss():
    X, Y = 2 * draw(6, seed=159), draw(6, seed=160)
    x, y = leaf(X), leaf(Y)
    z = F.huber_loss(x, y, delta=0.5) + F.smooth_l1_loss(x, y, reduction="sum")
    d = X - Y
    huber, smooth = np.clip(d, -0.5, 0.5) / 6, np.clip(d, -1, 1)
    return {"x": x, "y": y}, z, {"x": huber + smooth, "y": -huber - smooth}, [
        ("wrong_argument", "x", d / 6 + smooth), ("wrong_argument", "x", 0.5 * np.sign(d) / 6 + smooth),
        ("wrong_argument", "y", -huber - d), ("wrong_argument", "x", huber + np.sign(d)),
    ]
