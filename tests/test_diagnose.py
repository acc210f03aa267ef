"""Which mistake gives exactly these numbers: the wrong answers of teach_programs.py, and what they are called.

Every right answer must stay without a diagnosis, and every wrong one must be given its kind and
no other, so each line is also a test of all the other kinds.
"""

import functools
import os
import sys
import time

import numpy as np
import pytest

import minigrad
from minigrad import nn, tensor
from minigrad.autograd import grad
from minigrad.core.op import REGISTRY
from minigrad.nn import functional as F
from minigrad.teach import compare, compare_in, diagnose
from minigrad.teach.diagnose import SECONDS, diagnose_function
from minigrad.teach.mistakes import KINDS, Mistake, variants
from minigrad.teach.pairs import known_mistakes
from minigrad.teach.uses import Graph
from tests.diagnoses import PAGE, renewed
from tests.teach_battery import BATTERY
from tests.teach_examination import HELD, Case
from tests.teach_programs import (
    PROGRAMS,
    a_gradient_at_the_old_weights,
    draw,
    fifty_operations,
    leaf,
    sigmoid,
    the_gates_of_a_recurrent_unit,
)


@pytest.fixture(autouse=True)
def on_a_slow_machine(monkeypatch):
    """What is found must not depend on the CPU."""
    monkeypatch.setattr(sys.modules["minigrad.teach.diagnose"], "SECONDS", 10.0)


def prepared(make):
    tensors, z, right, wrong = make()
    return tensors, z, tensors.pop("gradient", None), right, wrong


def one_row(tensors, z, name, mine, gradient=None):
    [row] = compare_in(tensors, z, {name: mine}, gradient=gradient).rows
    return row


@functools.cache
def rows_of_wrong_answers(make):
    """(kind, row of the comparison) for each line of a program."""
    tensors, z, gradient, _, wrong = prepared(make)
    return [(kind, one_row(tensors, z, name, mine, gradient)) for kind, name, mine in wrong]


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_a_wrong_answer_is_given_its_kind(make):
    for k, (kind, row) in enumerate(rows_of_wrong_answers(make)):
        assert not row.ok and row.diagnosis is not None, (k, kind)
        assert row.diagnosis.kind == kind, (k, row.diagnosis)


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_a_right_answer_has_no_diagnosis(make):
    tensors, z, gradient, right, _ = prepared(make)

    for name, mine in right.items():
        row = one_row(tensors, z, name, mine, gradient)
        assert row.ok and row.diagnosis is None, name


@pytest.fixture
def as_long_as_for_a_student(monkeypatch):
    monkeypatch.setattr(sys.modules["minigrad.teach.diagnose"], "SECONDS", SECONDS)


@pytest.mark.usefixtures("as_long_as_for_a_student")
@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_what_is_wrong_in_no_known_way_has_no_diagnosis(make):
    tensors, z, gradient, right, _ = prepared(make)
    rng = np.random.default_rng(1)

    for k, (name, array) in enumerate(right.items()):
        size = np.max(np.abs(array))
        wrong = [rng.normal(size=np.shape(array)) * size, array + 0.137 * size]
        if np.size(array) > 3:
            wrong += [array * rng.uniform(0.5, 2, np.shape(array))]
        # such a search takes as long as the limit allows: one for each tensor, of all sorts in turn
        for mine in wrong if os.environ.get("MINIGRAD_SLOW") else [wrong[k % len(wrong)]]:
            found = one_row(tensors, z, name, mine, gradient).diagnosis
            assert found is None, (name, found)


def test_a_whole_jacobian_is_recognized():
    A = draw(3, 4)
    v = leaf(draw(4))
    z = tensor(A) @ v

    found = one_row({"v": v}, z, "v", A).diagnosis

    assert found.kind == "shape" and "the whole Jacobian" in found.message


@pytest.mark.parametrize("reduce", ["norm", "logsumexp", "std", "prod"])
def test_reductions_whose_own_derivative_is_missing(reduce):
    x = leaf(draw(5))
    z = (getattr(x, reduce)(0) if reduce == "logsumexp" else getattr(x, reduce)()) * 3

    assert one_row({"x": x}, z, "x", np.full(5, 3.0)).diagnosis.kind == "upstream_only"


def test_every_kind_has_two_lines_on_different_programs():
    made = {(kind, make.__name__) for make in PROGRAMS for kind, _, _ in make()[3]}
    of_grad = {"not_accumulated", "accumulated_twice"}  # tested below: they need .grad

    assert {k for k in KINDS if sum(kind == k for kind, _ in made) < 2} == of_grad


X4, Y4, G4 = draw(4, 4), draw(4, 4, seed=1), draw(4, 4, seed=2)
S4, TANH, LABELS = 1 / (1 + np.exp(-X4)), np.tanh(X4), (Y4 > 0) * 1.0
P4 = np.exp(X4) / np.exp(X4).sum(1, keepdims=True)
INV = np.linalg.inv(X4 + 3 * np.eye(4))
SOLVED = np.linalg.inv(X4 + 3 * np.eye(4)) @ G4
PHI = F.gelu(minigrad.tensor(X4)).numpy() / X4
ROWS, HOT = np.array([0, 3, -100, 1]), np.eye(4)[[0, 3, 0, 1]]
WEIGHTS = np.array([1.0, 2.0, 4.0, 1.0])
DEVIATION = np.sqrt(X4.var(1, keepdims=True) + 1e-5)
NORMAL = (X4 - X4.mean(1, keepdims=True)) / DEVIATION
STANDARD = [
    d / DEVIATION
    for d in (G4, G4.mean(1, keepdims=True), NORMAL * (G4 * NORMAL).mean(1, keepdims=True))
]
RMS = 1 / np.sqrt((X4**2).mean(1, keepdims=True))
POOLED = np.kron(np.exp(X4.reshape(2, 2, 2, 2).mean((1, 3))), np.ones((2, 2)))
FORMULAS = {
    "sigmoid twice": (lambda x: F.binary_cross_entropy_with_logits(x, minigrad.tensor(LABELS)),
                      (S4 - LABELS) * S4 * (1 - S4) / 16, None, "double_counted"),
    "of p": (lambda x: F.binary_cross_entropy_with_logits(x, minigrad.tensor(LABELS)),
             (S4 - LABELS) / (S4 * (1 - S4)) / 16, None, "forgot_inner"),
    "tanh twice": (lambda x: x.tanh(), G4 * (1 - TANH**2) ** 2, G4, "double_counted"),
    "1 - z": (lambda x: x.tanh(), G4 * (1 - TANH), G4, "wrong_argument"),
    "1 + z**2": (lambda x: x.tanh(), G4 * (1 + TANH**2), G4, "sign"),
    "1 / cosh": (lambda x: x.tanh(), G4 * np.sqrt(1 - TANH**2), G4, "wrong_argument"),
    "softmax, no p before the sum": (lambda x: x.softmax(1),
                                     P4 * G4 - (G4 * P4).sum(1, keepdims=True), G4, "wrong_argument"),
    "log_softmax, only the logarithm": (lambda x: x.log_softmax(1), G4 / P4, G4, "forgot_inner"),
    "divided instead": (lambda x: x * minigrad.tensor(Y4), G4 / Y4, G4, "wrong_argument"),
    "z alone": (lambda x: x.sigmoid(), G4 * S4, G4, "wrong_argument"),
    "softmax, a mean": (lambda x: x.softmax(1), P4 * (G4 - (G4 * P4).mean(1, keepdims=True)), G4, "mean_for_sum"),
    "softmax, all": (lambda x: x.softmax(1), P4 * (G4 - (G4 * P4).sum()), G4, "reduction_axis"),
    "log_softmax, a mean": (lambda x: x.log_softmax(1), G4 - P4 * G4.mean(1, keepdims=True), G4, "mean_for_sum"),
    "log_softmax, all": (lambda x: x.log_softmax(1), G4 - P4 * G4.sum(), G4, "reduction_axis"),
    "gelu, a half": (F.gelu, G4 * PHI, G4, "missing_path"),
    "silu, the other": (F.silu, G4 * X4 * S4 * (1 - S4), G4, "missing_path"),
    "silu, sign": (F.silu, G4 * (S4 - X4 * S4 * (1 - S4)), G4, "sign"),
    "inverse": (lambda x: (x + 3 * minigrad.eye(4)).inverse(), -INV @ G4 @ INV, G4, "transposed"),
    "solve": (lambda x: minigrad.linalg.solve(minigrad.tensor(X4 + 3 * np.eye(4)), x), SOLVED, G4, "transposed"),
    "all rows": (lambda x: F.cross_entropy(x, minigrad.tensor(ROWS)),
                 (P4 - HOT) * (ROWS >= 0)[:, None] / 4, None, "mask_missing"),
    "no weights": (lambda x: F.cross_entropy(x, minigrad.tensor(np.abs(ROWS % 100)), weight=minigrad.tensor(WEIGHTS)),
                   (P4 - HOT) / 4, None, "scale"),
    "z for its slope": (lambda x: x.sin(), G4 * np.sin(X4), G4, "wrong_argument"),
    "not lowered": (lambda x: (x**2 + 1).sqrt(), X4 * np.sqrt(X4**2 + 1) * G4, G4, "wrong_argument"),
    "x**y": (lambda x: (x**2 + 1) ** minigrad.tensor(Y4), 2 * X4 * (X4**2 + 1) ** (Y4 - 1) * G4, G4, "scale"),
    "all of the product": (lambda x: x.prod(), np.full((4, 4), X4.prod()), None, "wrong_argument"),
    "at -x": (lambda x: F.softplus(x), G4 * (1 - S4), G4, "sign"),
    "one term": (lambda x: F.binary_cross_entropy(x.sigmoid(), minigrad.tensor(LABELS)),
                 -LABELS * (1 - S4) / 16, None, "missing_path"),
    "signs of terms": (lambda x: F.binary_cross_entropy(x.sigmoid(), minigrad.tensor(LABELS)),
                       (-LABELS * (1 - S4) - (1 - LABELS) * S4) / 16, None, "sign"),
    "mask of rows": (lambda x: x.tanh() * minigrad.tensor([[1.0], [0], [0], [1]], dtype=x.dtype),
                     G4 * (1 - TANH**2) * [[0], [1], [1], [0]], G4, "mask_inverted"),
    "log2": (lambda x: (x**2 + 1).log2(), 2 * X4 / (X4**2 + 1) * G4, G4, "scale"),
    "relu for leaky": (lambda x: F.leaky_relu(x, 0.1), G4 * (X4 > 0), G4, "mask_missing"),
    "relu for prelu": (lambda x: F.prelu(x, minigrad.tensor([0.25], dtype=x.dtype)), G4 * (X4 > 0), G4, "mask_missing"),
    "prelu, without its slope": (lambda x: F.prelu(x, minigrad.tensor([0.25], dtype=x.dtype)), G4, G4, "mask_missing"),
    "prelu, slopes swapped": (lambda x: F.prelu(x, minigrad.tensor([0.25], dtype=x.dtype)),
                              G4 * np.where(X4 > 0, 0.25, 1), G4, "mask_inverted"),
    "hardshrink, all": (lambda x: F.hardshrink(x), G4, G4, "mask_missing"),
    "softshrink, inverted": (lambda x: F.softshrink(x), G4 * (abs(X4) < 0.5), G4, "mask_inverted"),
    "all classes": (lambda x: x.exp()[range(4), [0, 3, 1, 1]], G4[0][:, None] * np.exp(X4), G4[0], "mask_missing"),
    "standardize, sign": (lambda x: F.layer_norm(x, (4,)), STANDARD[0] + STANDARD[2] - STANDARD[1], G4, "sign"),
    "standardize, sums": (lambda x: F.layer_norm(x, (4,)),
                          STANDARD[0] - 4 * STANDARD[1] - 4 * STANDARD[2], G4, "mean_for_sum"),
    "norm, axis": (lambda x: x.norm(dim=1), G4[0][:, None] * X4 / np.linalg.norm(X4, axis=0), G4[0], "reduction_axis"),
    "n for n - 1": (lambda x: ((x - x.mean(0)) ** 2).sum(0) / 3, G4[0] * (X4 - X4.mean(0)) / 2, G4[0], "scale"),
    "symmetric": (lambda x: x.T @ minigrad.tensor(Y4) @ x, Y4 @ X4 @ (G4 + G4.T), G4, "transposed"),
    "x @ x.T": (lambda x: x @ minigrad.tensor(Y4).T, G4 @ X4, G4, "swapped_operands"),
    "avg_pool": (lambda x: F.avg_pool2d(x[None], 2)[0].exp(), POOLED, None, "mean_for_sum"),
    "elu itself": (lambda x: F.elu(x, 0.7), G4 * np.where(X4 > 0, 1, F.elu(minigrad.tensor(X4), 0.7).numpy()),
                   G4, "wrong_argument"),
    "elu without alpha": (lambda x: F.elu(x, 0.7), G4 * np.exp(np.minimum(X4, 0)), G4, "wrong_argument"),
    "log variance for log deviation": (lambda x: x.exp(), G4 * np.exp(2 * X4), G4, "wrong_argument"),
    "silu, only the sigmoid": (F.silu, G4 * S4 * (1 - S4), G4, "wrong_argument"),
    "no logarithm": (F.logsigmoid, G4 * S4 * (1 - S4), G4, "wrong_argument"),
    "rms norm, axis": (lambda x: x * (x**2).mean(1, keepdim=True) ** -0.5,
                       RMS * (G4 - X4 * RMS * (G4 * X4 * RMS).mean(0)), G4, "reduction_axis"),
    "a term with a small weight": (  # no finite differences
        lambda x: -x.log_softmax(1)[:, 0].sum() + 1e-4 * (x.softmax(1) * x.log_softmax(1)).sum(),
        P4 - np.eye(4)[0] + 1e-4 * P4 * (np.log(P4) + 1), None, "missing_path"),
    "cos for sin": (lambda x: x.cos(), -G4 * np.cos(X4), G4, "wrong_argument"),
    "cos without its square": (lambda x: x.tan(), G4 / np.abs(np.cos(X4)), G4, "wrong_argument"),
    "exp as a power": (lambda x: x.exp(), G4 * X4 * np.exp(X4 - 1), G4, "wrong_argument"),
    "an integral": (lambda x: (x**2 + 1).reciprocal(), 2 * X4 * np.log(X4**2 + 1) * G4, G4, "wrong_argument"),
    "relu for gelu": (F.gelu, G4 * (X4 > 0), G4, "wrong_argument"),
    "a weight for each class": (
        lambda x: F.binary_cross_entropy_with_logits(x, minigrad.tensor(LABELS), pos_weight=minigrad.tensor(WEIGHTS)),
        ((1 - LABELS) * S4 + WEIGHTS * LABELS * (1 - S4)) / 16, None, "sign"),
    "the class beside": (lambda x: x.exp()[range(4), [0, 3, 1, 1]],
                         G4[0][:, None] * np.exp(X4) * np.eye(4)[[1, 0, 2, 2]], G4[0], "wrong_argument"),
    "rms norm as layer norm": (
        lambda x: x * (x**2).mean(1, keepdim=True) ** -0.5,
        RMS * (G4 - G4.mean(1, keepdims=True) - X4 * RMS * (G4 * X4 * RMS).mean(1, keepdims=True)), G4, "extra_term"),
    "softmax for max": (lambda x: x.amax(1), P4 * G4[0][:, None], G4[0], "wrong_argument"),
    "the sign of masked probabilities": (lambda x: (x.softmax(1) * minigrad.tensor(LABELS)).sum(),
                                         -P4 * (LABELS - (P4 * LABELS).sum(1, keepdims=True)), None, "sign"),
    "ones for a mask": (lambda x: (minigrad.tensor(LABELS) @ x.exp()).log(),
                        np.exp(X4) * (np.ones((4, 4)) @ (G4 / (np.ones((4, 4)) @ np.exp(X4)))), G4, "mask_missing"),
    "one of two slopes": (lambda x: x * minigrad.where(x > 0, 1.0, 0.25), G4 * (X4 > 0), G4, "mask_missing"),
    "two slopes swapped": (lambda x: x * minigrad.where(x > 0, 1.0, 0.25), G4 * np.where(X4 > 0, 0.25, 1), G4,
                           "mask_inverted"),
    "a root without its half": (lambda x: (x + 1).exp() * (x**2 + 1) ** -0.5,
                                np.exp(X4 + 1) * (X4**2 + 1) ** -1.5 * ((X4**2 + 1) - 2 * X4) * G4, G4, "scale"),
    "no sum of g": (lambda x: x.log_softmax(1), G4 - P4, G4, "upstream_ignored"),
    "exp without its sum": (lambda x: F.cross_entropy(x, minigrad.tensor([0, 3, 0, 1]), reduction="sum"),
                            np.exp(X4) - HOT, None, "wrong_argument"),
    "no mean, and the sign": (lambda x: F.cross_entropy(x, minigrad.tensor([0, 3, 0, 1])), HOT - P4, None,
                              "mean_for_sum"),
    "no mean of squares, and the sign": (lambda x: F.mse_loss(x, minigrad.tensor(Y4)), Y4 - X4, None, "mean_for_sum"),
    "upside down": (lambda x: (x**2 + 1).log(), G4 * (X4**2 + 1) * 2 * X4, G4, "wrong_argument"),
    "lowered by two": (lambda x: x**3, G4 * 3 * X4, G4, "wrong_argument"),
    "raised": (lambda x: x**-2, G4 * -2 / X4, G4, "wrong_argument"),
    "a power's integral": (lambda x: x**3, G4 * X4**4 / 4, G4, "wrong_argument"),
    "the square of 1 / x": (lambda x: (x**2 + 1).log(), G4 * 2 * X4 / (X4**2 + 1) ** 2, G4, "wrong_argument"),
    "atan, a minus": (lambda x: x.atan(), G4 / (1 - X4**2), G4, "wrong_argument"),
    "L1 for L2": (lambda x: (x * minigrad.tensor(Y4)).sum() + 0.1 * (x**2).sum(), Y4 + 0.1 * np.sign(X4), None,
                  "wrong_argument"),
    "L1 for MSE": (lambda x: F.mse_loss(x, minigrad.tensor(Y4)), np.sign(X4 - Y4) / 16, None, "wrong_argument"),
    "some signs": (lambda x: x.tanh(), np.abs(G4 * (1 - TANH**2)), G4, "sign"),
    "half of a difference quotient": (lambda x: x.sin(), G4 * (np.sin(X4 + 1e-5) - np.sin(X4)) / 2e-5, G4, "scale"),
    "a half": (lambda x: x.abs().sum() + (x**2).sum() / 2, np.sign(X4) + 2 * X4, None, "scale"),
}  # fmt: skip


@pytest.mark.parametrize("f, mine, gradient, kind", FORMULAS.values(), ids=FORMULAS)
def test_a_slip_in_a_formula_of_the_course_has_its_name(f, mine, gradient, kind):
    x = leaf(X4)

    found = one_row({"x": x}, f(x), "x", mine, gradient).diagnosis

    assert found is not None and found.kind == kind, found


def test_a_weighted_mean_leaves_out_the_weights_of_ignored_rows():
    x, w = leaf(X4), tensor(WEIGHTS)
    z = F.cross_entropy(x, minigrad.tensor(ROWS), weight=w)
    mine = (P4 - HOT) * np.array([[1.0], [1.0], [0.0], [2.0]]) / 3

    found = one_row({"x": x, "w": w}, z, "x", mine).diagnosis

    assert found.kind == "mean_for_sum" and "the sum of the class weights" in found.message


def test_only_axes_that_were_broadcast_can_have_become_a_mean():
    b, r = leaf(draw(2)), draw(6, 2)
    z = ((minigrad.tensor(r) + b) ** 2).sum()

    found = one_row({"b": b}, z, "b", (r + b.detach().numpy()).sum(0)).diagnosis

    assert found.kind == "scale" and "mean" not in found.message  # 2 is the number of columns, too


@pytest.mark.parametrize("once", [True, False])
def test_paths_are_multiplied_with_the_gradient_of_z_once_or_in_each(once):
    X, Y, G = draw(4), draw(4, seed=1), draw(4, seed=2)
    x, y = leaf(X), leaf(Y)
    mine = G * np.cos(X) * Y * (1 if once else G)

    found = one_row({"x": x, "y": y}, x.sin() + x * y, "x", mine, G).diagnosis

    assert found.kind == "paths_multiplied" and "add the gradients" in found.hint


def test_a_path_that_passes_ones_was_rather_left_out_than_multiplied_with():
    X = draw(4)
    x = leaf(X)

    found = one_row({"x": x}, x + x.sin(), "x", np.cos(X)).diagnosis

    assert found.kind == "missing_path" and "paths_multiplied" not in found.also


# ------------------------------------------------------------------ programs by another hand


def asked(make, k=None, mine=None, name=None):
    tensors, lines = make()
    gradient = tensors.pop("gradient", None)
    if k is not None:
        _, name, mine = lines[k]
    return diagnose(
        tensors["z"], tensors[name], mine, gradient=gradient, name=name, namespace=tensors
    )


@pytest.mark.parametrize("make", BATTERY, ids=lambda make: make.__name__)
def test_classic_mistakes_are_named_and_none_is_named_wrongly(make):
    lines = make()[1]
    said = [(kind, asked(make, k)) for k, (kind, _, _) in enumerate(lines)]

    for kind, d in said:
        assert d is None or kind in (d.kind, *d.also), (kind, d)
    assert sum(d is not None and d.kind == kind for kind, d in said) >= 0.6 * len(said)


@pytest.mark.parametrize("make", BATTERY, ids=lambda make: make.__name__)
def test_right_answers_to_classic_programs_have_no_diagnosis(make):
    tensors, lines = make()
    gradient = tensors.pop("gradient", None)
    z = tensors["z"]
    seed = np.ones(z.shape) if gradient is None else gradient

    for name in {name for _, name, _ in lines}:
        (right,) = grad(z, tensors[name], tensor(seed, dtype=z.dtype), retain_graph=True)
        assert asked(make, mine=right.numpy(), name=name) is None
        if right.numel() > 2:
            noise = draw(*right.shape, seed=77) * np.max(np.abs(right.numpy()))
            assert asked(make, mine=noise, name=name) is None


X, W = draw(4, seed=3), draw(4, seed=4)
M, N = draw(3, 3, seed=5), draw(3, 3, seed=6)


def in_windows(passed, put=lambda part, d: np.add(part, d, out=part)):
    """passed(z) for the sum z of each 2 x 2 window of M times a kernel, put into its place."""
    d = np.zeros((3, 3))
    for i, j in np.ndindex(2, 2):
        put(d[i : i + 2, j : j + 2], passed(np.sum(M[i : i + 2, j : j + 2] * N[:2, :2])))
    return d


D = draw(3, 1, 2, seed=7) - draw(1, 3, 2, seed=8)
CLASSES, MASK = np.array([1.0, 2.0, 5.0]), np.array([[1.0, 1, 0], [1, 0, 0], [1, 1, 1]])


PX = np.exp(X) / np.exp(X).sum()
SX = np.sqrt(X.var() + 1e-2)
HX, H0 = (X - X.mean()) / SX, (X - X.mean()) / X.std()
SLOPES = np.array([1 - np.tanh(X[i : i + 2] @ N[0, :2]) ** 2 for i in range(3)])


def standardized(x):
    c = x - x.mean()
    return (c / ((c**2).mean() + 1e-2).sqrt() * tensor(W)).sum()


def of_a_sample(x, w):
    """The gradient of `standardized` with n - 1 in the variance."""
    r = 1 / np.sqrt(x.var(ddof=1) + 1e-2)
    y = r * (x - x.mean())
    return r * (w - w.mean() - y * (w * y).mean())


def of_windows():
    """The gradient of the largest entries of overlapping windows, if each window overwrites the others."""
    d = np.zeros((3, 3))
    for i, j in np.ndindex(2, 2):
        window, here = M[i : i + 2, j : j + 2], d[i : i + 2, j : j + 2]
        here[...] = (window == window.max()) * N[i, j]
    return d


def discounted(x, gamma):
    """The sums  s[t] = x[t] + gamma * s[t + 1]."""
    sums = [x[3]]
    for t in (2, 1, 0):
        sums.insert(0, x[t] + gamma * sums[0])
    return sums


NEW = {
    "exp_of_a_square": (
        lambda x: ((-(x**2) / 2).exp() * tensor(W)).sum(), X, "forgot_inner", W * np.exp(-X * X / 2)),
    "one_branch": (
        lambda x: minigrad.where(x > 0, x**2, 3 * x).sum(), X, "mask_missing", 2 * X),
    "one_of_several_rows": (
        lambda x: (tensor(Y4) @ x).sigmoid().log().sum(), X, "missing_path", Y4[3] / (1 + np.exp(Y4[3] @ X))),
    "overlapping_slices": (
        lambda x: (x[:3] * 2).sum() + (x[1:] ** 2).sum(), X, "index_not_scattered",
        np.r_[2, 2 * X[1:]]),
    "a_sum_of_terms": (
        lambda x: (x[0] * x[1] * W[0] + x[0] * x[1] * x[2] * W[1]), X, "missing_path",
        W[1] * np.array([X[1] * X[2], X[0] * X[2], X[0] * X[1], 0])),
    "a_running_sum": (
        lambda x: (x.cumsum(0) * tensor(W)).sum(), X, "tangent_for_gradient", W.cumsum()),
    "a_power": (lambda x: (x**3).sum(), X, "wrong_argument", 3 * X**3),
    "a_square_summed_over_two": (lambda x: (x**2).sum(), X[:2], "scale", X[:2]),
    "a_wrong_axis": (
        lambda x: ((x[:, None] - tensor(D[0])) ** 2).sum(), M[:, :2], "reduction_axis",
        (2 * (M[:, None, :2] - D[0])).sum(0)),
    "a_scale_twice": (
        lambda x: (x / 3**0.5).exp().sum(), X, "scale", np.exp(X / 3**0.5) / 3),
    "axes_exchanged": (
        lambda x: (x**2).sum(), D, "transposed", 2 * D.transpose(2, 0, 1)),
    "numbers_of_rows": (
        lambda x: x.sum(dim=1).log().sum(), np.exp(M), "shape", 1 / np.exp(M).sum(1)),
    "one_mean_for_a_sum_in_each_layer": (
        lambda b: ((tensor(M) + b).tanh() @ tensor(N) + b).sum(), X[:3], "mean_for_sum",
        ((1 - np.tanh(M + X[:3]) ** 2) @ np.diag(N.sum(1))).mean(0) + 1),
    "windows_overwrite_each_other": (
        lambda x: sum((x[i : i + 2] * tensor(N[i, :2])).sum() for i in range(3)), X, "index_not_scattered",
        np.r_[N[:, 0], N[2, 1]]),
    "to_both_operands": (
        lambda x: (x.sin() * x.cos() * tensor(W)).sum(), X, "upstream_only", W * (np.cos(X) - np.sin(X))),
    "parts_of_examples": (
        lambda x: ((tensor(M) @ x) ** 2).sum(), X[:3], "broadcast_not_summed",
        2 * M * (M @ X[:3])[:, None]),
    "zeros": (lambda x: (x.sin() * tensor(W)).sum(), X, "missing_path", 0 * X),
    "tanh_as_sigmoid": (
        lambda x: (x.tanh() * tensor(W)).sum(), X, "wrong_argument", W * np.tanh(X) * (1 - np.tanh(X))),
    "softplus_as_exp": (
        lambda x: (minigrad.nn.functional.softplus(x) * tensor(W)).sum(), X, "wrong_argument", W * np.exp(X)),
    "a_sum_over_all": (
        lambda x: ((x / x.sum(1, keepdim=True)) * tensor(M)).sum(), np.exp(N), "reduction_axis",
        M / np.exp(N).sum(1, keepdims=True)
        - (M * np.exp(N) / np.exp(N).sum(1, keepdims=True) ** 2).sum()),
    "divided_by_another_number": (
        lambda x: ((x * tensor([1.0, 1, 0, 1])) ** 2).sum() / 3, X, "scale", 2 * X * np.array([1, 1, 0, 1]) / 4),
    "an_entropy_without_its_sum": (
        lambda x: -(x.softmax(0) * x.log_softmax(0)).sum(), X, "missing_path", -PX * np.log(PX)),
    "the_sign_in_an_entropy": (
        lambda x: -(x.log_softmax(0).exp() * x.log_softmax(0)).sum(), X, "sign",
        -PX * (np.log(PX) + (PX * np.log(PX)).sum())),
    "n_minus_one_in_both_means": (
        standardized, X, "scale", (W - W.sum() / 3 - HX * (W * HX).sum() / 3) / SX),
    "the_variance_for_its_root": (
        standardized, X, "wrong_argument", (W - W.mean() - HX * (W * HX).mean()) / SX**2),
    "a_root_without_eps": (
        standardized, X, "wrong_argument", (W - W.mean() - HX * (W * HX).mean()) / X.std()),
    "a_program_without_eps": (
        standardized, X, "wrong_argument", (W - W.mean() - H0 * (W * H0).mean()) / X.std()),
    "a_mean_over_the_rows": (
        lambda x: ((x.tanh() - 1) ** 2).sum(), M[:, :2], "mean_for_sum",
        2 * (np.tanh(M) - 1)[:, :2] * (1 - np.tanh(M[:, :2]) ** 2) / 3),
    "a_kernel_flipped_in_each_window": (
        lambda x: sum((x[i : i + 2, j : j + 2] * tensor(N[:2, :2])).sum().sin() for i in (0, 1) for j in (0, 1)), M,
        "transposed", in_windows(lambda z: np.cos(z) * N[1::-1, 1::-1])),
    "a_kernel_flipped_before_the_columns": (
        lambda x: (leaf(N[:2, :2]).reshape(1, 4) @ F.unfold(x[None, None], 2)[0]).sin().sum(), M, "transposed",
        in_windows(lambda z: np.cos(z) * N[1::-1, 1::-1])),
    "columns_that_overwrite_each_other": (
        lambda x: (tensor(N[:2, :2].reshape(1, 4)) @ F.unfold(x[None, None], 2)[0]).sin().sum(), M,
        "index_not_scattered", in_windows(lambda z: np.cos(z) * N[:2, :2], np.copyto)),
    "two_slopes_twice": (lambda x: (F.leaky_relu(x, 0.1) * tensor(W)).sum(), X, "double_counted",
                         W * np.where(X > 0, 1, 0.01)),
    "a_kernel_flipped_in_a_loop": (
        lambda x: sum((x[i : i + 2] * tensor(N[0, :2])).sum().tanh() for i in range(3)), X, "transposed",
        np.r_[SLOPES, 0] * N[0, 1] + np.r_[0, SLOPES] * N[0, 0]),
    "a_discount_for_the_product_of_two": (
        lambda x: discounted(x, 0.45)[0] + 0.9 * (x**2).sum(), X, "scale",
        [1, 0.9, 0.81, 0.729] + 1.8 * X),
    "a_loop_in_its_own_direction": (
        lambda x: (minigrad.stack(discounted(x, 0.5)) * tensor(W)).sum(), X, "tangent_for_gradient",
        [W @ [1, 0.5, 0.25, 0.125], W[1:] @ [1, 0.5, 0.25], W[2:] @ [1, 0.5], W[3]]),
    "a_loop_without_a_stack": (
        lambda x: sum(s * w for s, w in zip(discounted(x, 0.5), W.tolist(), strict=True)), X,
        "tangent_for_gradient", [W @ [1, 0.5, 0.25, 0.125], W[1:] @ [1, 0.5, 0.25], W[2:] @ [1, 0.5], W[3]]),
    "a_mean_over_the_terms_of_a_loop": (
        lambda x: 0.0 + (x[0] * 1.5).sin() + (x[1] * x[0]).exp() + x[2] ** 2 * x[3] + x[3].tanh() + x[0] ** 3, X,
        "scale", np.r_[1.5 * np.cos(1.5 * X[0]) + X[1] * np.exp(X[0] * X[1]) + 3 * X[0] ** 2,
                       X[0] * np.exp(X[0] * X[1]), 2 * X[2] * X[3], X[2] ** 2 + 1 - np.tanh(X[3]) ** 2] / 5),
    "a_term_left_out_of_the_program": (
        lambda x: ((x.exp() + x.sin()) ** 2 * tensor(W)).sum(), X, "missing_path", 2 * W * np.sin(X) * np.cos(X)),
    "two_slips_in_a_softmax_by_hand": (
        lambda x: (x.exp() / x.exp().sum() * tensor(W)).sum(), X, "softmax_diagonal_only", -PX * (1 - PX) * W),
    "an_inner_function_as_the_identity": (
        lambda x: ((2 * x).tanh() * tensor(W)).sum(), X, "forgot_inner", W * (1 - np.tanh(X) ** 2)),
    "the_square_of_tanh": (
        lambda x: (x.tanh() * tensor(W)).sum(), X, "wrong_argument", W * np.tanh(X) ** 2),
    "a_regularizer_without_its_value": (
        lambda x: (x @ tensor(W)).tanh() + 0.05 * (x @ x), X, "wrong_argument",
        (1 - np.tanh(X @ W) ** 2) * W + 0.1),
    "a_running_product_not_divided": (
        lambda x: (x.cumprod(0) * tensor(W)).sum(), X, "wrong_argument",
        np.cumsum((X.cumprod() * W)[::-1])[::-1]),
    "a_running_product_from_the_front": (
        lambda x: (x.cumprod(0) * tensor(W)).sum(), X, "tangent_for_gradient", np.cumsum(X.cumprod() * W) / X),
    "only_the_own_product": (
        lambda x: (x.cumprod(0) * tensor(W)).sum(), X, "missing_path", X.cumprod() * W / X),
    "a_running_sum_for_all": (
        lambda x: (x.cumsum(0) ** 2 * tensor(W)).sum(), X, "mask_missing", np.full(4, (2 * W * X.cumsum()).sum())),
    "the_own_sum_left_out": (
        lambda x: (x.cumsum(0) * tensor(W)).sum(), X, "missing_path", W.sum() - W.cumsum()),
    "indices_swapped": (
        lambda x: (x**2).sum() - (x[[0, 1, 2], [1, 2, 0]] * tensor(W[:3])).sum(), M, "wrong_argument",
        2 * M - np.diag(W[[0, 1]], -1) - np.pad([[W[2]]], ((0, 2), (2, 0)))),
    "the_index_of_another_operation": (
        lambda x: tensor(0 * X).index_add(0, tensor([1, 0, 3]), x[[2, 1, 1]] ** 3).sin().sum(), X, "wrong_argument",
        3 * X**2 * np.array([0, 2 * np.cos(X[2] ** 3), 1, 0])),
    "both_inverses_on_one_side": (
        lambda x: ((x + 3 * minigrad.eye(3).double()).inverse() * tensor(N)).sum(), M, "matmul_order",
        -np.linalg.matrix_power(np.linalg.inv(M + 3 * np.eye(3)).T, 2) @ N),
    "the_mean_of_a_summed_loss": (
        lambda x: F.cross_entropy(tensor(M) @ x, tensor([0, 1, 2]), reduction="sum"), N, "mean_for_sum",
        M.T @ (np.exp(M @ N) / np.exp(M @ N).sum(1, keepdims=True) - np.eye(3)) / 3),
    "the_constant_of_the_density": (
        lambda x: ((x / 2**0.5).erf() * 0.5 * tensor(W)).sum(), X, "scale", W * np.exp(-X * X / 2)),
    "steps_skipped_on_one_path": (
        lambda x: (x * 0.5 * (1 + (0.5 * x + 0.3 * x**3).tanh()) * tensor(W)).sum(), X, "upstream_only",
        W * (0.5 * (1 + np.tanh(0.5 * X + 0.3 * X**3)) + 0.5 * X * (1 - np.tanh(0.5 * X + 0.3 * X**3) ** 2))),
    "the_mask_of_the_other_term": (
        lambda x: ((x + (tensor(X4) @ x).relu()) * tensor(W)).sum(), X, "paths_multiplied",
        W * (X4 @ X > 0) + X4.T @ (W * (X4 @ X > 0))),
    "functions_not_differentiated": (
        lambda x: (x.sin() * tensor(W) + (2 * x).cos() + (x / 3).tan()).sum(), X, "wrong_argument",
        W * np.sin(X) + 2 * np.cos(2 * X) + np.tan(X / 3) / 3),
    "a_log_left_out_before_a_sigmoid": (
        lambda x: (1 / (1 + (-x).exp())).log().sum(), X, "upstream_only", np.exp(-X) / (1 + np.exp(-X)) ** 2),
    "a_weight_left_out": (
        lambda x: (-(x.sigmoid() ** 2) * (tensor(W) * x.sigmoid()).sin()).sum(), X, "missing_path",
        -W * np.cos(W / (1 + np.exp(-X))) * np.exp(-X) / (1 + np.exp(-X)) ** 2),
    "the_sign_of_one_branch": (
        lambda x: minigrad.maximum(0.8 * x, -0.2 * x).sum(), X, "sign", np.where(X > 0, 0.8, 0.2)),
    "a_part_one_place_too_early": (
        lambda x: (x[1:3].sin() * tensor(W[:2])).sum(), X, "wrong_argument", np.r_[W[:2] * np.cos(X[1:3]), 0, 0]),
    "the_first_for_the_last": (
        lambda x: (x[:, -1].sin() * tensor(W[:3])).sum(), M, "wrong_argument",
        np.c_[W[:3] * np.cos(M[:, 2]), np.zeros((3, 2))]),
    "the_gaps_of_a_part_forgotten": (
        lambda x: (x[::2].sin() * tensor(W[:2])).sum(), X, "wrong_argument", np.r_[W[:2] * np.cos(X[::2]), 0, 0]),
    "a_factor_from_the_part_beside": (
        lambda x: (x[:3] * leaf(W)[1:]).sin().sum(), X, "wrong_argument",
        np.r_[W[:3] * np.cos(X[:3] * W[1:]), 0]),
    "one_of_several_copies": (
        lambda x: (x.repeat(2) * tensor(np.ravel(M)[:8])).sum(), X, "index_not_scattered", np.ravel(M)[:4]),
    "the_largest_along_another_axis": (
        lambda x: (x.max(1).values * tensor(W[:3])).sum(), M, "reduction_axis", (M == M.max(0)) * W[:3]),
    "all_of_equal_entries": (
        lambda x: (F.max_pool2d(x[None, None], 2) * tensor(N[:1, :1])).sum(),
        np.array([[3.0, 1], [3, 2]]),
        "ties", N[0, 0] * np.array([[1.0, 0], [1, 0]])),
    "windows_that_overwrite_each_other": (
        lambda x: (F.max_pool2d(x[None, None], 2, 1) * tensor(N[:2, :2])).sum(), M, "index_not_scattered",
        of_windows()),
    "the_scale_of_a_dropout": (
        lambda x: (x * tensor([2.5, 0, 2.5, 2.5]) * tensor(W)).sum(), X, "scale", 0.4 * W * [1, 0, 1, 1]),
    "the_limit_of_huber": (
        lambda x: F.huber_loss(x, tensor(W), delta=0.5, reduction="sum"), X, "wrong_argument",
        np.where(abs(X - W) < 0.5, X - W, np.sign(X - W))),
    "the_deviation_of_a_sample": (standardized, X, "wrong_argument", of_a_sample(X, W)),
    "the_weights_of_classes_in_an_array": (
        lambda x: F.cross_entropy(x, tensor([0, 1, 2]), tensor(CLASSES)), M, "mean_for_sum",
        CLASSES[:, None] * (np.exp(M) / np.exp(M).sum(1, keepdims=True) - np.eye(3)) / 3),
    "a_length_for_the_counts_of_a_mask": (
        lambda x: ((x * tensor(MASK)).sum(1) / tensor(MASK.sum(1)) * tensor(W[:3])).sum(), M, "scale",
        MASK * W[:3, None] / 3),
    "all_rows_but_the_first": (
        lambda x: (tensor(Y4) @ x).sigmoid().log().sum(), X, "missing_path",
        Y4[1:].T @ (1 / (1 + np.exp(Y4[1:] @ X)))),
    "a_factor_along_another_axis": (
        lambda x: (x * tensor(W[:3])[:, None] * tensor(N)).sum(), M, "reduction_axis", N * W[:3]),
    "a_root_of_two_squares": (
        lambda x: ((x[:2] ** 2 + x[2:] ** 2).sqrt() * tensor(W[:2])).sum(), X, "wrong_argument",
        np.r_[W[:2], W[:2]] * X),
    "an_array_of_another_branch": (
        lambda x: (tensor(X4) @ x).sin().sum() - (tensor(Y4) @ x).sin().sum(), X, "wrong_argument",
        X4.T @ (np.cos(X4 @ X) - np.cos(Y4 @ X))),
    "the_padding_not_cut_off": (
        lambda x: (F.pad(x, (1, 1, 1, 1)) * tensor(np.pad(N, 1, mode="edge"))).sum(), M, "shape",
        np.pad(N, 1, mode="edge")),
    "the_other_part_of_a_dropout": (
        lambda x: (x * tensor([0, 2.5, 2.5, 2.5]) * tensor(W)).sum(), X, "scale", W * [0, 1, 1, 1] / 0.6),
    "through_detach": (
        lambda x: (x.tanh() * x.detach() * tensor(W)).sum(), X, "mask_missing",
        W * (np.tanh(X) + X * (1 - np.tanh(X) ** 2))),
}  # fmt: skip


@pytest.mark.parametrize("f, x, kind, mine", NEW.values(), ids=NEW)
def test_mistakes_of_the_examination_are_named(f, x, kind, mine):
    t = leaf(x)

    row = compare(f(t), {t: mine}).rows[0]

    assert row.diagnosis is not None and row.diagnosis.kind == kind
    assert "{" not in str(row.diagnosis)


def test_of_a_dropout_only_the_scale_is_missing_where_no_gradient_arrives_at_the_others():
    x = leaf(X)
    z = ((x * tensor([2.5, 0, 2.5, 2.5])) ** 2).sum()

    row = compare(z, x=5 * X * [1, 0, 1, 1]).rows[0]

    assert "is there, but the scale is missing" in row.note


@pytest.mark.parametrize("program", HELD, ids=lambda program: program.__name__)
def test_each_answer_of_the_third_examination_is_named(program):
    case = Case()
    program(case)

    for x, kind, mine in case.answers:
        row = compare_in(case.names, case.z, {x: mine}).rows[0]
        assert row.ok == (kind is None), kind
        assert row.diagnosis is None if row.ok else row.diagnosis.kind in kind.split("|"), kind


def test_an_answer_in_single_precision_gets_the_diagnosis_of_its_mistake():
    x, W32, X32 = leaf(X), W.astype(np.float32), X.astype(np.float32)
    z = (x.tanh() * tensor(W)).sum()

    assert one_row({"x": x}, z, "x", W32 * (1 - np.tanh(X32) ** 2)).ok
    assert one_row({"x": x}, z, "x", W32 * (1 + np.tanh(X32) ** 2)).diagnosis.kind == "sign"


@pytest.mark.parametrize("axis, words", [(0, "one place along axis 0"), (1, "one class")])
def test_targets_are_off_by_one_row_or_by_one_class(axis, words):
    x, t = draw(4, 3, seed=5), np.array([0, 2, 1, 1])
    X = leaf(x)
    z = F.cross_entropy(X, tensor(t), reduction="sum")
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)

    found = one_row({"X": X}, z, "X", p - np.roll(np.eye(3)[t], 1, axis)).diagnosis

    assert f"the targets are off by {words}" in found.message


def test_one_small_entry_that_is_wrong_is_not_called_a_right_number_with_few_digits():
    x = leaf(np.array([4.0, 20.0, 1.0, 3.0]))
    z, right = x.exp().sum(), np.exp([4.0, 20.0, 1.0, 3.0])

    assert one_row({"x": x}, z, "x", right * [2, 1, 1, 1]).diagnosis is None
    found = one_row({"x": x}, z, "x", np.round(right, 1)).diagnosis
    assert found.kind == "finite_difference_noise"


def test_numbers_of_an_integer_type_are_cut_off_at_the_decimal_point():
    x = leaf(3 * X)
    z = (x * tensor(5 * W)).sum()

    found = one_row({"x": x}, z, "x", (5 * W).astype(int)).diagnosis

    assert found.kind == "finite_difference_noise" and "decimal point" in found.message


def test_a_function_is_evaluated_at_another_tensor_and_not_computed_with_it():
    x, s = leaf(X), tensor(W)
    z = (x + 2 * s).softmax(-1)
    p = np.exp(X) / np.exp(X).sum(-1, keepdims=True)
    d = p * (W - (p * W).sum(-1, keepdims=True))

    found = one_row({"x": x, "s": s, "z": z}, z, "x", d, gradient=W).diagnosis

    assert found.message.endswith("was evaluated at x instead of at its input.")


def runge_kutta(half=0.1, two=2.0, through=1.0):
    """Two steps of a method with three stages: its result, and the gradient with some factors changed."""
    A, h, inputs = draw(3, 3, seed=9), 0.2, []
    x = a0 = leaf(draw(3, seed=10))
    for _ in range(2):
        k, total = None, 0
        for weight in (1, 2, 1):
            at = x if k is None else x + h / 2 * k
            inputs.append(at.detach().numpy())
            k = (tensor(A) @ at).sin()
            total = total + (k if weight == 1 else weight * k)
        x = x + h / 4 * total
    g = 2 * x.detach().numpy()
    for step in (inputs[3:], inputs[:3]):
        gx, carried = g, 0
        for at, weight in zip(step[::-1], (1, two, 1), strict=True):
            d = A.T @ ((h / 4 * weight * g + carried) * np.cos(A @ at))
            gx, carried = gx + d, through * half * d
        g = gx
    return a0, (x**2).sum(), g


@pytest.mark.parametrize(
    "wrong, kind",
    [({"half": 0.2}, "scale"), ({"two": 1.0}, "scale"), ({"through": 0.0}, "missing_path")],
)
def test_a_mistake_in_the_stages_of_each_step_is_named(wrong, kind):
    x0, z, right = runge_kutta()
    assert one_row({"x0": x0}, z, "x0", right).ok

    found = one_row({"x0": x0}, z, "x0", runge_kutta(**wrong)[2]).diagnosis

    assert found is not None and found.kind == kind


def coupled(cosine=0, sine=0):
    """Positions and velocities; the gradient with the positions of that many steps later."""
    k, h, states = leaf(draw(3, seed=11)), 0.2, [draw(3, seed=12)]
    q, p, K = leaf(states[0]), tensor(draw(3, seed=13)), draw(3, seed=11)
    for _ in range(3):
        p = p - h * k * q.sin()
        q = q + h * p
        states.append(q.detach().numpy())
    gq, gp, gk = 2 * states[3], 0, 0
    for t in (2, 1, 0):
        gp = gp + h * gq
        gk = gk - h * np.sin(states[t + sine]) * gp
        gq = gq - h * K * np.cos(states[t + cosine]) * gp
    return {"k": k, "q": q, "p": p}, (q**2).sum(), gk


@pytest.mark.parametrize("cosine, sine", [(1, 0), (0, 1), (1, 1)])
def test_one_of_two_coupled_states_may_be_that_of_the_next_step(cosine, sine):
    names, z, right = coupled()
    assert one_row(names, z, "k", right).ok

    found = one_row(names, z, "k", coupled(cosine, sine)[2]).diagnosis

    assert found is not None and found.kind == "wrong_argument", found


def test_another_value_in_a_derivative_is_named_with_the_one_that_is_meant():
    x, G = leaf(X), tensor(W)
    adv = G - G.mean()

    found = one_row({"x": x, "G": G, "adv": adv}, (x.exp() * adv).sum(), "x", np.exp(X) * W)

    assert found.diagnosis.kind == "wrong_argument"
    assert "was computed with G instead of adv" in found.diagnosis.message
    a, v = leaf(draw(4, 3)), leaf(X[:3])
    r = a @ v - tensor(W)
    found = one_row(
        {"v": v, "r": r}, r @ r, "v", 2 * a.detach().numpy().T @ (a @ v).detach().numpy()
    )
    assert (
        "was computed with the result of Mv (on the way to r) instead of r"
        in found.diagnosis.message
    )


def test_the_gradient_of_a_step_on_the_way_says_which_derivative_is_missing():
    x = leaf(X)
    u = (x**2 * tensor(W)).sin()

    found = one_row({"x": x, "u": u}, u.exp().sum(), "x", np.exp(np.sin(X * X * W))).diagnosis

    assert {"other_variable", "forgot_inner"} <= {found.kind, *found.also}
    assert "the derivative of u with respect to x is missing" in found.message


def test_without_lines_an_operation_is_placed_by_the_tensor_it_gives_or_leads_to():
    x = leaf(X)
    var = (x**2).sum() / 4
    y = x * var**-0.5
    tensors = {"x": x, "var": var, "y": y}
    g = W @ X * (X @ X / 4) ** -1.5

    found = one_row(tensors, (y * tensor(W)).sum(), "var", g / 2).diagnosis
    assert found.kind == "sign" and "through Pow (on the way to y)" in found.message
    found = one_row(tensors, (y * tensor(W)).sum(), "var", g).diagnosis
    assert found.kind == "scale" and "is -2 times" in found.message
    found = one_row(tensors, (y * tensor(W)).sum(), "x", W * (X @ X / 4) ** -0.5 - g * X).diagnosis
    assert found.kind == "mean_for_sum" and "Div (which gives var)" in found.message


def test_swapped_gradients_and_other_values_are_told_by_the_names_of_the_tensors():
    messages = {
        row.diagnosis.message
        for make in (the_gates_of_a_recurrent_unit, a_gradient_at_the_old_weights)
        for _, row in rows_of_wrong_answers(make)
    }

    assert "The gradients of u and r are swapped." in messages
    assert "The derivatives that read fast were computed with w instead." in messages


def test_one_number_shows_the_state_of_another_step_if_there_are_many_steps():
    x = leaf(np.float64(0.5))
    angle, speed, steps = x, 0.1, []
    for _ in range(5):
        steps.append(angle)
        speed = speed - 0.4 * angle.sin()
        angle = angle + 0.1 * speed
    states = [s.item() for s in (*steps, angle)]
    g, of_speed = 2 * states[-1], 0.0
    for after in states[:0:-1]:  # each slope at the state of the next step
        of_speed += 0.1 * g
        g -= 0.4 * of_speed * np.cos(after)

    row = one_row({"x": x, "angle": angle}, angle**2, "x", g)

    assert row.diagnosis.kind == "wrong_argument" and "step after" in row.diagnosis.message


def test_a_factor_that_was_read_at_the_indices_of_another_is_named():
    i, j, A = np.array([0, 1, 1, 3]), np.array([2, 2, 0, 1]), draw(4, 2, seed=3)
    p, q = leaf(X4), leaf(Y4)
    z = ((p[i] * q[j]).sum(1) * tensor(A[:, 0])).sum()
    mine = np.zeros((4, 4))
    np.add.at(mine, i, A[:, :1] * Y4[i])

    row = one_row({"p": p, "q": q}, z, "p", mine)

    assert (
        row.diagnosis.kind == "wrong_argument" and "at the wrong entries" in row.diagnosis.message
    )


def test_a_number_that_was_left_out_of_a_constant_is_called_by_its_name():
    x, length = leaf(X), 1.7
    z = (9.8 * length * x.cos()).sum() + (x**2).sum()

    row = compare_in({"x": x, "length": length}, z, {"x": 2 * X - 9.8 * np.sin(X)}).rows[0]

    assert "is 1/length times" in row.diagnosis.message


def test_a_factor_that_is_a_tensor_is_called_by_its_name():
    x, focus = leaf(X), leaf(np.float64(1.3))
    z = (focus * x / 2).sin().sum() + (focus * x[1:] * x[:3]).sum()
    right = (1.3 * np.cos(0.65 * X) / 2) + 1.3 * np.r_[X[1], X[0] + X[2], X[1] + X[3], X[2]]

    row = one_row({"x": x, "focus": focus}, z, "x", right / 1.3)

    assert row.diagnosis.message == "The gradient of x is 1/focus times what it should be."


def overwritten():
    """k-means with  d[k] = ...  for each number, and the hinge loss of an SVM with  d[:, j] = x  and  -= x."""
    nearest, w, d = np.zeros(4), M4, np.zeros((4, 3))
    for y in Y4.reshape(-1):
        k = np.argmin((y - X) ** 2)
        nearest[k] = 2 * (X[k] - y)
    for x, label in zip(X4, [0, 2, 1, 0], strict=True):
        for j in {0, 1, 2} - {label}:
            if x @ w[:, j] - x @ w[:, label] + 1 > 0:
                d[:, j] = x
                d[:, label] -= x
    return nearest, d


M4, SIZES, SMALL = draw(4, 3, seed=9), np.array([[9.0, 9, 9], [-9, 9, 9], [-9, -9, 9]]), [0, 2, 1]
PADDED, WINDOWS = np.pad(M, 1), np.lib.stride_tricks.sliding_window_view(M, (2, 2))
E = np.exp(M)
WORDS = {
    "counts only the last of 2": (  # of those that reach the result
        lambda x: (tensor(X4) @ x)[:2].sin().sum(), X, np.cos(X4[1] @ X) * X4[1]),
    "Sub is applied to several examples, rows or columns, and in your gradient": (
        lambda x: ((tensor(Y4.reshape(-1, 1)) - x) ** 2).min(1)[0].sum(), X, overwritten()[0]),
    "Mm is applied to several examples, rows or columns, and in your gradient": (
        lambda w: (s := tensor(X4) @ w, F.relu(s - s[range(4), [0, 2, 1, 0]][:, None] + 1).sum())[1], M4,
        overwritten()[1]),
    "Convolution is applied to several examples, rows or columns, and in your gradient": (
        lambda w: (F.conv2d(tensor(M)[None, None], w, padding=1) * tensor(N)).sum(), M[None, None],
        N[2, 2] * PADDED[None, None, 2:, 2:]),
    "Several filters of Convolution reach the same entry": (  # their windows do not overlap
        lambda x: (F.conv2d(x, tensor(X4.reshape(4, 1, 2, 2)), stride=2) * tensor(Y4.reshape(1, 4, 2, 2))).sum(),
        G4[None, None], np.kron(Y4[3].reshape(2, 2), X4[3].reshape(2, 2))[None, None]),
    "all of 3 but the last": (
        lambda w: (F.conv2d(tensor(M)[None, None], w, padding=1) * tensor(N)).sum(), M[None, None],
        np.array([[[[np.sum(N[:2] * PADDED[i : i + 2, j : j + 3]) for j in range(3)] for i in range(3)]]])),
    "without first moving the axis of the channels": (
        lambda w: (F.conv2d(tensor(M)[None, None], w) * tensor(X4[:2].reshape(1, 2, 2, 2))).sum(),
        X4[2:].reshape(2, 1, 2, 2), np.einsum("ijc,ijkl->ckl", X4[:2].reshape(2, 2, 2), WINDOWS)[:, None]),
    "several copies of it count": (  # the last one counts in each row
        lambda x: ((x + tensor(SIZES)).relu().sum(1) * tensor(W[:3])).sum(), D[:, 0, :1], W[:3, None]),
    "i and j, in one of its arrays": (
        lambda x: (minigrad.einsum("i,ij,kj->k", tensor(N[0]), x, tensor(N)) ** 2).sum(), M,
        2 * np.outer((N @ (N[0] @ M)) @ N, N[0])),
    "One operand was read in place of another": (
        lambda x: (minigrad.einsum("ij,ij,kj->k", x, tensor(N), tensor(N)[:2])).sum(), M, M * N[:2].sum(0)),
    "softmax is over all entries": (
        lambda x: F.cross_entropy(x, tensor(SMALL)), M, (E / E.sum() - np.eye(3)[SMALL]) / 3),
    "divides by 4, but your gradient by 3": (
        lambda x: F.cross_entropy(x, tensor([0, 2, 1, 1])), M4,
        (np.exp(M4) / np.exp(M4).sum(1, keepdims=True) - np.eye(3)[[0, 2, 1, 1]]) / 3),
    "e is divided by k - 1": (
        lambda x: F.cross_entropy(x, tensor(SMALL), label_smoothing=0.3), M,
        (E / E.sum(1, keepdims=True) - 0.7 * np.eye(3)[SMALL] - 0.3 / 2) / 3),
    "was taken over all axes": (
        lambda x: (x.sum(1).sin() * tensor(W[:3])).sum(), M, np.cos(M.sum()) * W[:3, None] + 0 * M),
    "has picked the smallest": (
        lambda x: (x.max(1)[0].exp() * tensor(W[:3])).sum(), M, W[:3, None] * (M == M.min(1, keepdims=True)) * E),
    "the product itself is missing": (
        lambda x: (x.prod(1).sin() * tensor(W[:3])).sum(), M, (np.cos(M.prod(1)) * W[:3])[:, None] / M),
    "was multiplied by the function itself": (  # its shape is that of a column
        lambda x: (x.prod(1) * tensor(W[:3])).sum(), M, (M.prod(1) * W[:3])[:, None]),
    "is 2 times what it should be": (  # and not 3 times through one of both operands
        lambda x: (0.15 * (x * x).sum() + x.sin().sum()), M, 0.6 * M + np.cos(M)),
    "it is not divided by the root": (
        lambda x: (((x * x).sum(1) + 1e-3).sqrt() * tensor(W[:3])).sum(), M, W[:3, None] * M),
    "is 0.5882 times what it should be": (
        lambda x: (x + (-1.7 * x).exp() * tensor(W)).sum(), X, 1 - W * np.exp(-1.7 * X)),
    "The incoming gradient of Div was passed on": (
        lambda x: ((x.sin() / tensor(np.exp(W))) ** 2).sum(), X, 2 * np.sin(X) * np.cos(X) / np.exp(W)),
    "y and 1 - y are swapped": (
        lambda x: -(tensor(LABELS[0]) * x.sigmoid().log() + tensor(1 - LABELS[0]) * (1 - x.sigmoid()).log()).sum(), X,
        1 / (1 + np.exp(-X)) - (1 - LABELS[0])),
}  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_the_likeliest_of_several_explanations_is_given(words):
    f, x, mine = WORDS[words]
    t = leaf(x)

    assert words in compare(f(t), {t: mine}).rows[0].diagnosis.message


def test_an_array_by_which_each_row_was_multiplied_once_too_often_is_named():
    x = leaf(M)
    width = np.exp(W[:3])
    z = ((x - tensor(N)).tanh() / tensor(width)[:, None] ** 2).sum()

    found = one_row({"x": x, "width": width}, z, "x", (1 - np.tanh(M - N) ** 2) / width[:, None])

    assert found.diagnosis.message == "The gradient of x is width times what it should be."


def test_one_other_value_at_the_end_is_not_the_value_of_another_step():
    x, z = leaf(X), [tensor(v).sigmoid() for v in (W, X + W)]
    h = (0 * x + tensor(W)) * z[0]  # where x has no influence
    h = (h + x) * z[1]

    found = one_row({"x": x, "rest": 1 - z[1]}, h.sum(), "x", 1 - z[1]).diagnosis

    assert "the step after" not in found.message


def test_a_discount_that_is_missing_before_the_values_of_the_next_steps_is_named():
    w = leaf(X)
    v = tensor(X4) @ w
    seen, r = v.detach().numpy(), W[:3]
    z = ((v[:-1] - (tensor(r) + 0.9 * v[1:].detach())) ** 2).sum() / 2

    found = one_row(
        {"w": w, "v": v, "r": r}, z, "w", (seen[:-1] - r - seen[1:]) @ X4[:-1]
    ).diagnosis

    assert "v[1:] without its factor 0.9" in found.message


def test_a_constant_that_was_left_out_in_two_places_is_one_mistake():
    x = leaf(X)
    both, all_ = (x * tensor(W)).sum(), (x * x).sum() + 3
    mine = (W * (X @ X + 3) - 2 * X * (X @ W)) / (X @ X + 3) ** 2

    found = one_row({"x": x, "both": both, "all": all_}, (both + 1) / (all_ + 1), "x", mine)

    assert "The same holds for 1 more operation" in found.diagnosis.message


@pytest.mark.parametrize("turned, words", [(np.flip, "reverse"), (np.swapaxes, "transposed")])
def test_the_kernel_of_a_convolution_by_a_matrix_is_recognized(turned, words):
    rng = np.random.default_rng(0)
    X, W, G = (rng.normal(size=s) for s in ((2, 4, 4), (3, 2, 3, 3), (3, 2, 2)))
    x, w = leaf(X), leaf(W)
    windows = [x[:, i : i + 3, j : j + 3].reshape(-1) for i in range(2) for j in range(2)]
    z = ((w.reshape(3, -1) @ minigrad.stack(windows, 1)).reshape(3, 2, 2) * tensor(G)).sum()
    other, mine = turned(W, (2, 3)) if turned is np.flip else turned(W, 2, 3), np.zeros_like(X)
    for i, j in np.ndindex(2, 2):
        mine[:, i : i + 3, j : j + 3] += np.einsum("o,ocij->cij", G[:, i, j], other)

    row = one_row({"x": x, "w": w}, z, "x", mine)

    assert row.diagnosis.kind == "transposed" and words in row.diagnosis.message


def test_the_largest_entry_of_an_earlier_tensor_is_named():
    x = leaf(X4)
    margins = x + 2 * tensor(np.eye(4))

    row = one_row(
        {"x": x, "margins": margins}, margins.max(1)[0].sum(), "x", np.eye(4)[X4.argmax(1)]
    )

    assert row.diagnosis.message.endswith("goes to the largest entry of x, instead of the input.")


GATED = {
    "the state": (lambda h, r, c: h, "h before the step instead of rh"),
    "the candidate": (lambda h, r, c: c, "c instead of rh"),
}


@pytest.mark.parametrize("factor, words", GATED.values(), ids=GATED)
def test_another_value_in_the_derivative_of_each_step_is_named(factor, words):
    U, V, h0 = 0.6 * draw(3, 3, seed=1), 0.6 * draw(3, 3, seed=2), draw(3, seed=3)
    u, h, steps = leaf(U), leaf(h0), []
    for _ in range(4):
        r = (tensor(V) @ h).sigmoid()
        rh = r * h
        c = (u @ rh).tanh()
        steps.append([t.detach().numpy() for t in (h, r, c)])
        h = (1 - r) * h + r * c
    g, mine = 2 * h.detach().numpy(), 0
    for before, gate, new in steps[::-1]:
        of_c = g * gate * (1 - new**2)
        mine = mine + np.outer(of_c, factor(before, gate, new))
        of_rh = U.T @ of_c
        of_gate = g * (new - before) + of_rh * before
        g = g * (1 - gate) + of_rh * gate + V.T @ (of_gate * gate * (1 - gate))

    row = one_row({"u": u, "h": h, "r": r, "rh": rh, "c": c}, (h**2).sum(), "u", mine)

    assert row.diagnosis.kind == "wrong_argument" and words in row.diagnosis.message


def test_a_product_of_batches_is_called_by_its_name():
    X = draw(2, 3, 3)
    x, y = leaf(X), leaf(draw(2, 3, 3, seed=1))

    row = one_row({"x": x, "y": y}, (x @ y).sum(), "y", X @ np.ones((2, 3, 3)))

    assert row.diagnosis.message.startswith("A transpose is wrong in the derivative of Matmul")


@pytest.mark.parametrize(
    "slip, kind", [(lambda rate: rate, "double_counted"), (lambda rate: 1 / rate, "forgot_inner")]
)
def test_the_derivative_of_one_path_in_every_path_is_named(slip, kind):
    w = leaf(W[:3])
    eta = tensor(M) @ w
    z = (eta.exp() - tensor(X[:3]) * eta).sum()
    rate = np.exp(M @ W[:3])

    row = one_row({"eta": eta, "w": w}, z, "w", M.T @ ((rate - X[:3]) * slip(rate)))

    assert row.diagnosis.kind == kind


def test_the_derivative_of_a_sigmoid_for_that_of_several_steps_is_named():
    w = leaf(X)
    u = tensor(Y4) @ w
    cdf = 0.5 * (1 + (u / 2**0.5).erf())
    z = -(tensor(LABELS[0]) * cdf.log() + (1 - tensor(LABELS[0])) * (1 - cdf).log()).sum()
    mine = Y4.T @ (cdf.detach().numpy() - LABELS[0])

    row = one_row({"w": w, "u": u, "p": cdf}, z, "w", mine)

    assert "down to u are those of a sigmoid" in row.diagnosis.message


S1, S2, REWARDS = draw(5, 3, seed=8), draw(5, 3, seed=9), draw(5, seed=10)
NEXT, GOES_ON = 0.9 * S2 @ X[:3], np.array([1, 0, 1, 1, 0])
TARGETS = {  # kind, the target of the student's gradient, and its derivative
    "through the target": ("mask_missing", REWARDS + GOES_ON * NEXT, 0.9 * GOES_ON[:, None] * S2),
    "no mask": ("mask_missing", REWARDS + NEXT, 0),
    "no factor": ("scale", REWARDS + GOES_ON * NEXT / 0.9, 0),
    "no bootstrap": ("wrong_argument", REWARDS, 0),
}


@pytest.mark.parametrize("kind, target, slope", TARGETS.values(), ids=TARGETS)
def test_a_target_whose_steps_have_no_names_is_recognized(kind, target, slope):
    w, constant = leaf(X[:3]), tensor(REWARDS + GOES_ON * NEXT)
    z = ((constant - tensor(S1) @ w) ** 2).sum()
    names = {"w": w, "s2": S2, "rewards": REWARDS, "target": constant}

    row = compare_in(names, z, {"w": -2 * (S1 - slope).T @ (target - S1 @ X[:3])}).rows[0]

    assert row.diagnosis.kind == kind


def test_the_transpose_of_a_product_in_the_wrong_order_is_named():
    c = leaf(M)
    z = ((leaf(M + 1) @ leaf(N) @ c) * tensor(N)).sum()

    row = compare(z, {c: (M + 1).T @ N.T @ N}).rows[0]

    assert row.diagnosis.kind == "matmul_order"


@pytest.mark.parametrize(
    "summed, kind", [((), "broadcast_not_summed"), (2, "broadcast_not_summed")]
)
def test_the_bias_of_a_convolution_that_was_not_summed_is_named(summed, kind):
    g, bias = draw(2, 2, 4), leaf(draw(2))
    z = (F.conv1d(tensor(draw(2, 1, 6)), tensor(draw(2, 1, 3)), bias) * tensor(g)).sum()

    row = compare(z, {bias: g.sum(summed)}).rows[0]

    assert row.diagnosis.kind == kind


def of_the_windows(which, **settings):
    """Convolutions with g, and the gradients of x and w as a student would collect them window by window."""
    x, w, g = leaf(draw(2, 1, 6, 6)), leaf(draw(2, 1, 3, 3, seed=1)), None
    z = F.conv2d(x, w, **settings)
    g = draw(*z.shape, seed=2)
    p, s = settings.get("padding", 0), settings.get("stride", 1)
    padded, dx, dw = np.pad(x.numpy(force=True), [(0, 0), (0, 0), (p, p), (p, p)]), 0, 0
    dx = np.zeros_like(padded)
    for i, j in np.ndindex(z.shape[2:]):
        at = (..., slice(i * s, i * s + 3), slice(j * s, j * s + 3))
        dx[at] += np.einsum("no,ocij->ncij", g[:, :, i, j], w.numpy(force=True))
        one = padded[..., i : i + 3, j : j + 3]  # as if the stride were 1
        dw = dw + np.einsum("no,ncij->ocij", g[:, :, i, j], one)
    return (x, z, g, dx[..., :6, :6]) if which == "x" else (w, z, g, dw)


@pytest.mark.parametrize(
    "which, settings, words",
    [("w", {"stride": 2}, "their stride is 1"), ("x", {"padding": 1}, "cut off at the end")],
)
def test_windows_in_the_wrong_place_are_named(which, settings, words):
    t, z, g, mine = of_the_windows(which, **settings)

    found = compare(z, {t: mine}, gradient=g).rows[0].diagnosis

    assert found.kind == "wrong_argument" and words in found.message


def lstm_by_hand(slopes, order="ifgo", of_c=lambda tanh: 1 - tanh**2):
    """The gradient of the last state of nn.LSTM with respect to weight_hh; slopes: those of i, f, g and o."""
    layer, x = nn.LSTM(2, 3, bias=False).double(), draw(3, 2, 2)
    hs, cs, gates = [np.zeros((2, 3))], [np.zeros((2, 3))], []
    w, u = (p.numpy(force=True) for p in (layer.weight_hh_l0, layer.weight_ih_l0))
    for x_t in x:
        i, f, g, o = np.split(hs[-1] @ w.T + x_t @ u.T, 4, 1)
        gates.append((sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)))
        i, f, g, o = gates[-1]
        cs.append(f * cs[-1] + i * g)
        hs.append(o * np.tanh(cs[-1]))
    dh, dc, dw = draw(2, 3, seed=1), 0, 0
    for t in (2, 1, 0):
        i, f, g, o = gates[t]
        tanh = np.tanh(cs[t + 1])
        dc = dc + dh * o * of_c(tanh)
        parts = dc * g, dc * cs[t], dc * i, dh * tanh
        d = dict(
            zip(
                "ifgo",
                (p * s(z) for p, s, z in zip(parts, slopes, gates[t], strict=True)),
                strict=True,
            )
        )
        d = np.concatenate([d[k] for k in order], 1)
        dw, dh, dc = dw + d.T @ hs[t], d @ w, dc * f
    return layer.weight_hh_l0, layer(tensor(x))[1][0][0], dw


OF_A_SIGMOID, OF_A_TANH = lambda z: z * (1 - z), lambda z: 1 - z**2
SLOPES = [OF_A_SIGMOID, OF_A_SIGMOID, OF_A_TANH, OF_A_SIGMOID]


@pytest.mark.parametrize(
    "changed, kind",
    [({}, None), ({"order": "ifog"}, "exchanged"), ({"of_c": np.ones_like}, "upstream_only"),
     ({"slopes": [OF_A_SIGMOID, np.ones_like, *SLOPES[2:]]}, "upstream_only"),
     ({"slopes": 4 * [OF_A_SIGMOID]}, "wrong_argument")],
)  # fmt: skip
def test_a_mistake_in_the_gates_of_an_lstm_is_named(changed, kind):
    w, z, mine = lstm_by_hand(**{"slopes": SLOPES, **changed})

    row = compare(z, {w: mine}, gradient=draw(2, 3, seed=1)).rows[0]

    assert (row.diagnosis and row.diagnosis.kind) == kind, row.diagnosis


def test_a_wrong_gradient_of_an_operation_that_refuses_another_axis_does_not_fail_the_comparison():
    x = leaf(draw(3, 6))

    assert compare(F.glu(x, 1), x=draw(3, 6, seed=1)).rows[0].diagnosis is None


def test_the_weights_of_a_linear_layer_after_its_update_are_named():
    w, v = leaf(X4), leaf(Y4)
    h = tensor(G4) @ w
    z = (F.linear(h, v) ** 2).sum()
    d = 2 * h.detach().numpy() @ Y4.T
    mine = G4.T @ d @ (Y4 - 0.1 * d.T @ h.detach().numpy())

    assert compare(z, w=mine).rows[0].diagnosis.kind == "stale_value"


def characters(u, w, v, cut):
    """The loss of a recurrent network after 25 characters; cut: are the states detached?"""
    h, loss = minigrad.zeros(8, 1, dtype=w.dtype), 0
    for k in range(25):
        x = tensor(np.eye(6)[:, [k % 6]])
        h = (u @ x + w @ (h.detach() if cut else h)).tanh()
        y = (v @ h).exp()
        loss = loss - (y / y.sum())[(5 * k) % 6, 0].log()
    return loss


def test_a_path_that_is_missing_in_each_step_of_a_long_loop_is_named():
    u, w, v = leaf(draw(8, 6) / 3), leaf(draw(8, 8) / 3), leaf(draw(6, 8) / 3)
    (mine,) = grad(characters(u, w, v, cut=True), u)

    row = compare(characters(u, w, v, cut=False), {u: mine}).rows[0]

    assert row.diagnosis is not None and row.diagnosis.kind == "missing_path"


def test_an_answer_with_a_name_of_its_own_is_not_named_after_itself():
    x, w = leaf(draw(6)), leaf(draw(6, seed=1))
    mine = tensor(draw(6, seed=2))
    z = (x.sin() + w).sum()

    assert compare(z, x=mine).rows[0].diagnosis is None
    assert "value of w itself" in compare(z, x=w).rows[0].diagnosis.message


def test_nothing_is_not_the_share_of_an_example_without_influence():
    x, g = leaf(X4), G4 * [1, 1, 1, 0]

    row = compare(x @ tensor(Y4), {x: 0 * X4}, gradient=g).rows[0]

    assert "All entries are 0" in row.diagnosis.message


def test_a_missing_derivative_of_a_function_goes_by_both_names():
    x = leaf(X)

    row = compare((x.tanh() * tensor(W)).sum(), {x: W}).rows[0]

    assert {"upstream_only", "forgot_inner"} <= {row.diagnosis.kind, *row.diagnosis.also}


def test_a_row_of_the_table_that_fails_does_not_fail_the_comparison():
    x = leaf(draw(3))
    z = (x * x).sum()

    row = Mistake("sign", "", "", (), lambda use: use.values["?"])
    assert list(variants(row, uses(z, x)[0])) == []


class Doubled(minigrad.autograd.Function):
    """2 * x, computed in place, with a backward of the student's own."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


@pytest.mark.parametrize(
    "mine, kind", [(lambda Y: -12 * Y * (1 - Y**2), "sign"), (lambda Y: 12 * Y, "upstream_only")]
)
def test_a_function_of_the_students_own_may_be_on_the_way(mine, kind):
    x = leaf(draw(4))
    y = Doubled.apply(x * 3).tanh()
    z = (y * y).sum()

    row = one_row({"x": x, "y": y}, z, "x", mine(np.tanh(6 * draw(4))))

    assert row.diagnosis.kind == kind


class Gated(minigrad.autograd.Function):
    """x * sigmoid(b * x)"""

    @staticmethod
    def forward(ctx, x, b):
        s = (b * x).sigmoid()
        ctx.save_for_backward(x, b, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, b, s = ctx.saved_tensors
        return g * (s + b * x * s * (1 - s)), (g * x * x * s * (1 - s)).sum()


GATE = 1 / (1 + np.exp(-1.5 * X))
IN_A_FUNCTION = [
    ("x", "missing_path", W * GATE),
    ("x", "missing_path", W * 1.5 * X * GATE * (1 - GATE)),
    ("x", "scale", W * (GATE + X * GATE * (1 - GATE))),
    ("x", "sign", W * (GATE - 1.5 * X * GATE * (1 - GATE))),
    ("x", "wrong_argument", W * (GATE + 1.5 * X * GATE)),
    ("x", "wrong_argument", W * (X + 1.5 * X * X * (1 - X))),
    ("x", "upstream_ignored", GATE + 1.5 * X * GATE * (1 - GATE)),
    ("b", "mean_for_sum", (W * X * X * GATE * (1 - GATE)).mean()),
]


@pytest.mark.parametrize("name, kind, mine", IN_A_FUNCTION)
def test_a_mistake_inside_the_students_own_function_is_named(name, kind, mine):
    x, b = leaf(X), leaf(np.array(1.5))
    z = (Gated.apply(x, b) * tensor(W)).sum()

    found = one_row({"x": x, "b": b}, z, name, mine).diagnosis

    assert found is not None and found.kind == kind, found


class OfUnitLength(minigrad.autograd.Function):
    """The rows of x, each divided by its length."""

    @staticmethod
    def forward(ctx, x):
        n = (x * x).sum(1, keepdim=True).sqrt()
        ctx.save_for_backward(x / n, n)
        return x / n

    @staticmethod
    def backward(ctx, g):
        y, n = ctx.saved_tensors
        return (g - y * (g * y).sum(1, keepdim=True)) / n


@pytest.mark.parametrize("axis", [0, None])
def test_an_axis_inside_the_students_own_function_is_named(axis):
    x, n = leaf(M), np.linalg.norm(M, axis=1, keepdims=True)
    mine = (N - M / n * (N * M / n).sum(axis, keepdims=True)) / n

    found = one_row({"x": x}, (OfUnitLength.apply(x) * tensor(N)).sum(), "x", mine).diagnosis

    assert found is not None and found.kind == "reduction_axis"


def test_one_class_instead_of_a_distribution_is_named():
    x, q = leaf(X), tensor([0.1, 0.6, 0.1, 0.2], dtype=minigrad.float64)
    z = -(q * x.log_softmax(0)).sum()

    found = one_row({"x": x, "q": q}, z, "x", PX - np.array([0, 1, 0, 0])).diagnosis

    assert found.kind == "wrong_argument" and "a distribution, and not one class" in found.message


def test_the_gradient_of_another_result_is_named():
    w, data, t = leaf(W[:3]), tensor(M), tensor(X[:3])
    y = data @ w
    loss = ((y - t) ** 2).mean()
    mine = M.T @ (2 * (M @ W[:3] - X[:3]) / 3)

    found = one_row({"w": w, "y": y, "loss": loss}, y, "w", mine).diagnosis

    assert found.message == "This is the gradient of loss with respect to w, not that of y."


def test_data_are_not_taken_for_values_that_were_cut_off():
    w, data = leaf([[0.5, -0.25]]), tensor([[1.0, 2.0], [3.0, 5.0]])
    y = data @ w.T
    residual = y.detach()
    names = {"w": w, "data": data, "y": y, "residual": residual}

    found = one_row(names, y.square().mean(), "w", 2 * residual.T @ data).diagnosis

    assert found.kind == "mean_for_sum" and "divides by 2" in found.message


def test_values_that_were_cut_off_are_recognized_as_a_part_of_a_target():
    v, a, b = leaf(X[:3]), tensor(M), tensor(N)
    q, after, reward = a @ v, b @ v, tensor(X[1:])
    target = (reward + 0.9 * after).detach()
    error = (target - q).detach().numpy()
    names = {"v": v, "q": q, "after": after, "reward": reward, "target": target}

    found = one_row(names, ((target - q) ** 2).sum(), "v", 2 * (0.9 * N - M).T @ error).diagnosis

    assert found.kind == "mask_missing" and "cut off from after by detach()" in found.message
    without = M.T @ (M @ X[:3] - X[1:]) * 2
    found = one_row(names, ((target - q) ** 2).sum(), "v", without).diagnosis
    assert found.kind == "wrong_argument" and "reward instead of target" in found.message


def test_a_write_to_a_view_is_an_operation_too():
    X, W = draw(3, 4), draw(4, seed=1)
    x, w = leaf(X), leaf(W)
    c = x * 1
    c[1] *= w
    z = (c**3).sum()

    found = one_row({"x": x, "w": w, "c": c}, z, "w", 3 * X[1] ** 2 * X[1]).diagnosis

    assert found.kind == "stale_value"
    found = one_row({"x": x, "w": w, "c": c}, z, "w", -3 * (X[1] * W) ** 2 * X[1]).diagnosis
    assert found.kind == "sign" and "the in-place" in found.message


def test_pairs_of_mistakes_without_anything_in_common_are_not_named():
    X = draw(6)
    x = leaf(X)
    z = (x.exp() * x).tanh().sum()

    assert one_row({"x": x}, z, "x", draw(6, seed=3)).diagnosis is None


def uses(z, x):
    return Graph(z, np.ones(z.shape), {}, x.node).paths


# ------------------------------------------------------------------ .grad


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_a_grad_that_was_not_zeroed_is_recognized(shape):
    x, w = leaf(draw(*shape)), leaf(draw(*shape, seed=1))
    z = (x * w).sin().sum()
    z.backward(retain_graph=True)
    z.backward(retain_graph=True)

    found = one_row({"x": x}, z, "x", x.grad).diagnosis

    assert found.kind == "accumulated_twice" and "zero_grad()" in found.hint


def test_the_gradients_of_two_losses_in_one_grad_are_recognized():
    x = leaf(draw(4))
    (x * 3).sum().backward()
    z = x.exp().sum()
    z.backward(retain_graph=True)

    assert one_row({"x": x}, z, "x", x.grad).diagnosis.kind == "accumulated_twice"


@pytest.mark.parametrize("times", [2, 3])
def test_one_pass_taken_for_several_is_recognized(times):
    X = draw(4)
    x = leaf(X)
    for _ in range(times):
        z = x.sin().sum()
        z.backward()

    found = one_row({"x": x}, z, "x", np.cos(X)).diagnosis

    assert found.kind == "not_accumulated" and f"{times} times" in found.message
    assert one_row({"x": x}, z, "x", 2 * times * np.cos(X)).diagnosis.kind == "accumulated_twice"
    assert one_row({"x": x}, z, "x", times * np.cos(X)).diagnosis is None
    assert one_row({"x": x}, z, "x", np.sin(X)).diagnosis is None


# ------------------------------------------------------------------ finite differences


def loss(X):
    return np.sum(np.sin(X) * np.exp(X / 2)).astype(X.dtype)


@pytest.mark.parametrize(
    "dtype, h, central",
    [
        (np.float64, 1e-2, False), (np.float64, 1e-3, False), (np.float64, 1e-5, False),
        (np.float64, 1e-2, True), (np.float32, 1e-2, True), (np.float32, 1e-3, True),
        (np.float32, 1e-3, False), (np.float32, 1e-4, True), (np.float32, 1e-4, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("seed", [0, 2, 4])  # a float32 gradient is nearly right for seed 2 and 4
def test_finite_differences_are_recognized(dtype, h, central, seed):
    X = draw(8, dtype=dtype, seed=seed)
    x = leaf(X)
    z = (x.sin() * (x / 2).exp()).sum()
    mine = np.zeros_like(X)
    for k in range(8):
        up, down = X.copy(), X.copy()
        up[k] += dtype(h)
        down[k] -= dtype(h) if central else 0
        mine[k] = (loss(up) - loss(down)) / dtype(2 * h if central else h)

    row = one_row({"x": x}, z, "x", mine)

    assert row.ok or row.diagnosis.kind == "finite_difference_noise"


# ------------------------------------------------------------------ more than one mistake


def test_an_operation_that_was_left_out_in_every_layer_is_one_mistake():
    X, W, V, G = draw(5, 4), draw(4, 4, seed=1), draw(4, 3, seed=2), draw(5, 3, seed=3)
    w, v = leaf(W), leaf(V)
    z = ((tensor(X) @ w).tanh() @ v).tanh()

    found = one_row({"w": w, "v": v}, z, "v", (X @ W).T @ G, G).diagnosis  # of a linear model

    assert found.kind == "upstream_only" and found.extent == "everywhere"
    assert "The same holds for 1 more operation of this kind." in found.message


def test_a_constant_mean_in_each_of_two_layer_norms_is_one_mistake():
    x, G = leaf(draw(3, 4)), draw(3, 4, seed=1)
    h = F.layer_norm(x, (4,)).exp()
    z = F.layer_norm(h, (4,))

    def back(g, x, y):  # without mean(g)
        return (g - y * (g * y).mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)

    X, H, Z = (t.detach().numpy() for t in (x, h, z))
    found = one_row({"x": x, "h": h}, z, "x", back(back(G, H, Z) * H, X, np.log(H)), G).diagnosis

    assert found.kind == "missing_path" and found.extent == "everywhere"
    assert "the mean is treated as a constant" in found.message


def test_the_same_mistake_in_every_layer_is_one_mistake():
    X, W = draw(5), draw(5, seed=1)
    x, w = leaf(X), leaf(W)
    z = ((x * w).tanh() * 3).tanh().sum()
    A, B = X * W, 3 * np.tanh(X * W)

    found = one_row({"x": x, "w": w}, z, "x", (1 - B**2) * 3 * (1 - A**2) * W).diagnosis

    assert found.kind == "wrong_argument" and "every Tanh" in found.message


@pytest.mark.parametrize(
    "mine, kinds",
    [
        (lambda X, Y: 2 * Y - np.cos(X), {"double_counted", "sign"}),
        (lambda X, Y: -(Y + 2 * np.cos(X)), {"double_counted", "sign"}),
        (lambda X, Y: X - np.cos(X), {"swapped_operands", "sign"}),
        (lambda X, Y: -np.cos(X), {"missing_path", "sign"}),
        (lambda X, Y: X + np.cos(np.sin(X)), {"swapped_operands", "wrong_argument"}),
    ],
)
def test_two_mistakes_at_once_are_both_named(mine, kinds):
    X, Y = draw(6), draw(6, seed=1)
    x, y = leaf(X), leaf(Y)
    z = x * y + x.sin()

    found = one_row({"x": x, "y": y}, z, "x", mine(X, Y)).diagnosis

    assert {found.kind, *found.also} == kinds
    assert found.message.startswith("There are two mistakes")


def test_half_of_a_quotient_of_squares_is_a_factor():
    X = draw(4)
    x = leaf(X)
    A = draw(4, 4, seed=1)
    num, den = x @ tensor(A + A.T) @ x, x @ x
    (right,) = grad(num / den, x, retain_graph=True)

    assert one_row({"x": x}, num / den, "x", right.numpy() / 2).diagnosis.kind == "scale"


LAST = tensor(np.triu(np.ones((3, 3)), 1) > 0)


@pytest.mark.parametrize(
    "f, other, kind",
    [
        (lambda x: ((x - x.mean()) / (x.var(correction=0) + 0.1).sqrt() * tensor(M)).sum(),
         lambda x: ((x - x.mean()) / (x.var(correction=1) + 0.1).sqrt() * tensor(M)).sum(), "scale"),
        (lambda x: (x / (x.square().sum(1, keepdim=True) + 0.1).sqrt() * tensor(M)).sum(),
         lambda x: (x / x.square().sum(1, keepdim=True).sqrt() * tensor(M)).sum(), "wrong_argument"),
        (lambda x: (x / (x.square().sum(1, keepdim=True) + 0.1).sqrt() * tensor(M)).sum(),
         lambda x: (x / (x.square().sum(1, keepdim=True).sqrt() + 0.1) * tensor(M)).sum(), "wrong_argument"),
        (lambda x: ((x @ tensor(M)).masked_fill(LAST, -1e9).softmax(1) * tensor(M)).sum(),
         lambda x: ((x @ tensor(M)).softmax(1) * tensor(M)).sum(), "mask_missing"),
        (lambda x: ((x @ tensor(M)).softmax(1) ** 2 * tensor(M)).sum(),
         lambda x: ((x @ tensor(M)).softmax(0) ** 2 * tensor(M)).sum(), "reduction_axis"),
        (lambda x: (x.square().mean(1).exp() * tensor(X[:3])).sum(),
         lambda x: (x.square().sum(1).exp() * tensor(X[:3])).sum(), "mean_for_sum"),
    ],
    ids=["correction", "no_eps", "eps_after_the_root", "no_mask", "axis", "sum"],
)  # fmt: skip
def test_the_right_gradient_of_another_program_is_recognized(f, other, kind):
    x, same = leaf(N), leaf(N)
    (mine,) = grad(other(same), same)

    found = compare(f(x), {x: mine}).rows[0].diagnosis

    assert kind in (found.kind, *found.also)


def recurrence():
    """h1, h2, h3 with h = tanh(w @ h + u @ x), from zero; the gradients of u and w by hand."""
    U, V, xs = draw(3, 2, seed=20), draw(3, 3, seed=21), draw(3, 2, seed=22)
    u, w, h, hs = leaf(U), leaf(V), tensor(np.zeros(3)), [np.zeros(3)]
    names = {"u": u, "w": w}
    for t in range(3):
        h = names[f"h{t + 1}"] = (w @ h + u @ tensor(xs[t])).tanh()
        hs.append(h.detach().numpy())

    def by_hand(slope=0, value=0, cut=False):
        g, du, dw = np.ones(3), 0, 0
        for t in (2, 1, 0):
            d = g * (1 - hs[t + 1 + slope] ** 2)
            du, dw = du + np.outer(d, xs[t]), dw + np.outer(d, hs[t + value])
            g = 0 * g if cut else V.T @ d
        return {"u": du, "w": dw}

    return names, h.sum(), by_hand


@pytest.mark.parametrize("name", ["u", "w"])
@pytest.mark.parametrize(
    "slip, kind", [({"slope": -1}, "wrong_argument"), ({"cut": True}, "missing_path")]
)
def test_a_slip_at_every_step_of_a_recurrence_is_one_mistake(name, slip, kind):
    names, z, by_hand = recurrence()

    assert one_row(names, z, name, by_hand()[name]).ok
    assert one_row(names, z, name, by_hand(**slip)[name]).diagnosis.kind == kind


@pytest.mark.parametrize(
    "slope, read, kind", [(False, 0, "upstream_only"), (True, 1, "wrong_argument")]
)
def test_a_slip_at_every_step_of_a_long_loop_is_found_in_time(slope, read, kind):
    w, x = leaf(draw(3, 3, seed=1) / 2), draw(40, 3, seed=2)
    hs = [tensor(draw(3, seed=3))]
    for t in range(40):
        hs.append((w @ hs[-1] + tensor(x[t])).tanh())
    h, g, mine = [one.detach().numpy() for one in hs], np.ones(3), 0
    for t in reversed(range(40)):
        d = g * (1 - h[t + 1] ** 2) if slope else g
        mine, g = mine + np.outer(d, h[t + read]), w.detach().numpy().T @ d

    row = one_row({"w": w, "hs": hs}, hs[-1].sum(), "w", mine)

    assert row.diagnosis is not None and row.diagnosis.kind == kind


def test_the_value_of_the_next_step_and_a_mean_over_the_steps_are_named():
    names, z, by_hand = recurrence()

    next_step = one_row(names, z, "w", by_hand(value=1)["w"]).diagnosis
    mean = one_row(names, z, "u", by_hand()["u"] / 3).diagnosis

    assert next_step.kind == "wrong_argument" and "the value of the step after" in next_step.message
    assert "scale" in (mean.kind, *mean.also)


def test_a_mistake_in_one_term_is_found_where_the_terms_share_steps():
    X = draw(3, 4)
    x = leaf(X)
    p = x.softmax(1)
    z = (p * tensor(draw(3, 4, seed=1))).sum() - (p * p.log()).sum()
    P, R = p.detach().numpy(), draw(3, 4, seed=1)
    d = -(np.log(P) + 1)
    entropy = P * (d - (P * d).sum(1, keepdims=True))

    found = one_row({"x": x}, z, "x", P * (1 - P) * R + entropy).diagnosis

    assert found.kind == "softmax_diagonal_only" and "in one term of the sum only" in found.message


def test_two_mistakes_on_one_path():
    X, W = draw(6), draw(6, seed=1)
    x, w = leaf(X), leaf(W)
    z = ((x * w).tanh().relu() * w).sum()

    found = one_row({"x": x, "w": w}, z, "x", W * (1 - (X * W) ** 2) * W).diagnosis

    assert {found.kind, *found.also} == {"mask_missing", "wrong_argument"}


# ------------------------------------------------------------------ what is said


def test_a_diagnosis_names_the_operation_and_both_kinds_of_text_show_it():
    x, w = leaf(draw(3)), leaf(draw(3, seed=1))
    z = x * w
    z += x

    report = compare(z, x=w)

    [row] = report.rows
    assert row.diagnosis.node is z.grad_fn and row.diagnosis.line is None
    assert "A path is missing: x is reached in several ways" in str(report)
    assert (
        "the gradient through the in-place Add (which gives z) was left out."
        in report._repr_html_()
    )


def test_a_diagnosis_says_the_line_where_lines_are_traced():
    minigrad.trace_lines(True)
    try:
        x, w = leaf(draw(3)), leaf(draw(3, seed=1))
        z = (x * w).sin()
    finally:
        minigrad.trace_lines(False)

    found = diagnose(z, x, (-w * (x * w).cos()).detach(), name="x")

    assert "test_diagnose" in found.line
    assert "(in the line  z = (x * w).sin())" in found.message


def test_kinds_that_would_give_the_same_numbers_are_said():
    x, y = leaf(draw(4)), leaf(draw(4, seed=1))
    z = x * y

    found = one_row({"x": x, "y": y}, z, "x", x.detach()).diagnosis

    assert found.kind == "swapped_operands" and "other_variable" in found.also
    assert "(The same numbers come out if it is the gradient of another tensor.)" in found.message


def test_every_message_is_a_sentence():
    for make in PROGRAMS:
        for _, row in rows_of_wrong_answers(make):
            for text in (row.diagnosis.message, row.diagnosis.hint):
                assert not set("{}") & set(text), text
                begins = text[0].isupper() or text.startswith(("amax", "backward", ".grad", "dx"))
                assert begins and text.rstrip(")").endswith("."), text


def test_the_ops_that_a_row_of_mistakes_names_exist():
    assert {name for row in known_mistakes() for name in row.ops} <= set(REGISTRY)


def test_the_list_of_kinds_is_up_to_date():
    if not PAGE.exists():
        pytest.skip("the file is not part of an installation")

    text = PAGE.read_text(encoding="utf-8")

    assert renewed(text) == text
    assert text.count("| `bias_correction` |") == text.count("| `ties` |") == 1
    assert renewed(text.replace("| `ties` |", "| `draws` |")) == text


def test_a_function_is_tried_on_other_data_too():
    X = np.array([2.0, 2.0, 2.0])

    def cube(x):
        return x * x * x

    assert diagnose(cube(leaf(X)), leaf(X), 4 * X) is None  # not a tensor of that graph
    assert diagnose_function(cube, lambda x: 2 * x * x, X).kind == "missing_path"
    assert diagnose_function(cube, lambda x: 3 * x * x, X) is None
    x = leaf(X)
    assert diagnose(cube(x), x, 4 * X) is not None  # 2 * x * x, at 2
    assert diagnose_function(cube, lambda x: 4 * x, X) is None


@pytest.mark.usefixtures("as_long_as_for_a_student")
def test_a_diagnosis_on_fifty_nodes_takes_less_than_a_second_of_computing():
    tensors, z, _, _, wrong = prepared(fifty_operations)
    answers = [wrong[0][2], wrong[4][2], draw(4, seed=9)]
    times = []

    for mine in answers:
        begun = time.process_time()
        diagnose(z, tensors["x"], mine, name="x", namespace=tensors)
        times.append(time.process_time() - begun)

    print(f"diagnosis on {len(answers)} answers of a 50-node tape: {max(times):.3f} s at most")
    assert min(times) < 1


def test_diagnose_refuses_what_is_not_a_tensor():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    for z, wrt in ((3.0, x), (x * x, np.ones(2))):
        with pytest.raises(TypeError, match="must be tensors of minigrad, but got (float|ndarray)"):
            diagnose(z, wrt, [1.0, 2.0])
