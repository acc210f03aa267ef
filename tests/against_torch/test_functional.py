"""nn.functional: minigrad and PyTorch compute the same, to the second derivative."""

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import check, draw, torch

X = draw(3, 4)
ACTIVATIONS = {
    "relu": lambda f, x: f.relu(x),
    "relu inplace": lambda f, x: f.relu(x * 1, inplace=True),
    "relu6": lambda f, x: f.relu6(x * 5),
    "leaky_relu": lambda f, x: f.leaky_relu(x),
    "leaky_relu steep": lambda f, x: f.leaky_relu(x, 0.3),
    "elu": lambda f, x: f.elu(x),
    "elu alpha": lambda f, x: f.elu(x, 0.5),
    "selu": lambda f, x: f.selu(x),
    "celu": lambda f, x: f.celu(x, 2.0),
    "gelu": lambda f, x: f.gelu(x),
    "gelu tanh": lambda f, x: f.gelu(x, approximate="tanh"),
    "silu": lambda f, x: f.silu(x),
    "mish": lambda f, x: f.mish(x),
    "softplus": lambda f, x: f.softplus(x),
    "softplus steep": lambda f, x: f.softplus(x, 3, 2.0),
    "hardtanh": lambda f, x: f.hardtanh(x),
    "hardtanh wide": lambda f, x: f.hardtanh(x, -0.5, 1.5),
    "hardsigmoid": lambda f, x: f.hardsigmoid(x * 2),
    "hardswish": lambda f, x: f.hardswish(x * 2),
    "softsign": lambda f, x: f.softsign(x),
    "tanhshrink": lambda f, x: f.tanhshrink(x),
    "logsigmoid": lambda f, x: f.logsigmoid(x * 9),
    "sigmoid": lambda f, x: f.sigmoid(x),
    "threshold": lambda f, x: f.threshold(x, 0.1, 20.0),
    "glu": lambda f, x: f.glu(x),
    "softmax": lambda f, x: f.softmax(x, dim=1),
    "softmax of columns": lambda f, x: f.softmax(x, 0),
    "log_softmax": lambda f, x: f.log_softmax(x, dim=-1),
    "softmin": lambda f, x: f.softmin(x, dim=1),
    "leaky_relu inplace": lambda f, x: f.leaky_relu(x * 1, 0.1, True),
    "dropout in evaluation": lambda f, x: f.dropout(x, 0.5, False),
    "dropout of all": lambda f, x: f.dropout(x, 1.0),
}
T3 = np.array([1, 0, 3])
W4 = np.array([0.5, 1.0, 2.0, 0.25])
P = draw(3, 4, seed=2) / 4.5 + 0.5
IMAGE, KERNELS = draw(2, 4, 6, 5), draw(6, 4, 3, 2)
PICTURE, SIGNAL, POSITIVE = draw(2, 3, 5, 6), draw(2, 3, 7), np.abs(X) + 0.1
Q, K, V = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 3)
MASK = np.array([[True, False, True, True, False]] * 2 + [[True] * 5])
# What PyTorch's own samples, in test_opinfo.py, leave out.
CASES = {
    "linear, one output": (lambda f, x, w: f.linear(x, w), X, draw(4)),
    "embedding with padding": (
        lambda f, w, i: f.embedding(i, w, padding_idx=2),
        X,
        np.array([[0, 2], [2, 1]]),
    ),
    "embedding with padding -1": (
        lambda f, w, i: f.embedding(i, w, padding_idx=-1),
        X,
        np.array([0, 2]),
    ),
    "batch_norm training": (
        lambda f, x, w, b: f.batch_norm(x, None, None, w, b, training=True),
        X,
        W4,
        draw(4),
    ),
    "batch_norm of images": (
        lambda f, x: f.batch_norm(x, None, None, training=True),
        draw(2, 3, 2, 2),
    ),
    "batch_norm": (
        lambda f, x, m, v, w, b: f.batch_norm(x, m.detach(), v.detach(), w, b),
        X,
        draw(4),
        np.abs(draw(4)),
        W4,
        draw(4),
    ),
    "mse of numbers": (lambda f, x, y: f.mse_loss(x, y), draw(), draw(seed=1)),
    "l1_loss": (lambda f, x, y: f.l1_loss(x, y), X, P),
    "nll_loss ignoring": (
        lambda f, x, t: f.nll_loss(x, t, ignore_index=0, reduction="none"),
        X,
        T3,
    ),
    "nll_loss of images": (
        lambda f, x, t: f.nll_loss(x, t),
        draw(2, 3, 2, 2),
        np.array([[[0, 1], [2, 1]], [[1, 1], [0, 2]]]),
    ),
    "cross_entropy ignoring": (lambda f, x, t: f.cross_entropy(x, t), X, np.array([1, -100, 3])),
    "cross_entropy ignoring 3": (
        lambda f, x, t, w: f.cross_entropy(x, t, w.detach(), ignore_index=3),
        X,
        T3,
        W4,
    ),
    "smoothed": (lambda f, x, t: f.cross_entropy(x, t, label_smoothing=0.2), X, T3),
    "smoothed, all": (
        lambda f, x, t, w: f.cross_entropy(x, t, w.detach(), label_smoothing=0.2, ignore_index=1),
        X,
        T3,
        W4,
    ),
    "smoothed none": (
        lambda f, x, t, w: f.cross_entropy(
            x, t, w.detach(), label_smoothing=0.2, reduction="none", ignore_index=1
        ),
        X,
        T3,
        W4,
    ),
    "smoothed sum": (
        lambda f, x, t: f.cross_entropy(x, t, label_smoothing=0.2, reduction="sum"),
        X,
        T3,
    ),
    "cross_entropy of distributions, all": (
        lambda f, x, y, w: f.cross_entropy(x, y, w.detach(), label_smoothing=0.1),
        X,
        P,
        W4,
    ),
    "cross_entropy of nobody": (
        lambda f, x, t: f.cross_entropy(x, t, reduction="sum"),
        draw(0, 4),
        np.zeros(0, np.int64),
    ),
    "hinge_embedding_loss": (
        lambda f, x, t: f.hinge_embedding_loss(x, t.detach()),
        draw(4),
        np.array([1.0, -1, -1, 1]),
    ),
    "margin_ranking_loss": (
        lambda f, x, y, t: f.margin_ranking_loss(x, y, t.detach(), margin=0.3),
        draw(4),
        W4,
        np.array([1.0, -1, -1, 1]),
    ),
    "triplet_margin_loss": (
        lambda f, x, y, z: f.triplet_margin_loss(x, y, z),
        X,
        P,
        draw(3, 4, seed=8),
    ),
    "cosine_embedding_loss": (
        lambda f, x, y, t: f.cosine_embedding_loss(x, y, t.detach()),
        X,
        P,
        np.array([1.0, -1, 1]),
    ),
    "conv2d, no bias in the middle": (
        lambda f, x, w: f.conv2d(f.relu(f.conv2d(x, w)), w.transpose(0, 1)),
        IMAGE,
        draw(6, 4, 2, 2),
    ),
    "max_pool2d, places": (lambda f, x: f.max_pool2d(x, 3, 2, 1, return_indices=True), IMAGE),
    "avg_pool2d, margin not counted": (
        lambda f, x: f.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False),
        IMAGE,
    ),
    "avg_pool2d, ceil": (lambda f, x: f.avg_pool2d(x, (3, 2), 2, ceil_mode=True, padding=1), IMAGE),
    "adaptive to one": (lambda f, x: f.adaptive_avg_pool2d(x, 1), IMAGE),
    "adaptive, halves": (lambda f, x: f.adaptive_avg_pool2d(x, (3, None)), IMAGE),
    "a network": (
        lambda f, x, w, b: f.cross_entropy(
            f.max_pool2d(f.relu(f.conv2d(x, w, b)), 2).flatten(1),
            x.detach()[:, 0, 0, 0].abs().long(),
        ),
        IMAGE,
        KERNELS,
        draw(6),
    ),
    "rrelu in evaluation": (lambda f, x: f.rrelu(x), X),
    "elu_": (lambda f, x: f.elu_(x * 1, 0.7), X),
    "selu_": (lambda f, x: f.selu_(x * 1), X),
    "celu_": (lambda f, x: f.celu_(x * 1, 2.0), X),
    "leaky_relu_": (lambda f, x: f.leaky_relu_(x * 1, 0.2), X),
    "hardtanh_": (lambda f, x: f.hardtanh_(x * 1), X),
    "threshold_": (lambda f, x: f.threshold_(x * 1, 0.1, 5.0), X),
    "local_response_norm": (lambda f, x: f.local_response_norm(x, 2), PICTURE),
    "local_response_norm odd": (lambda f, x: f.local_response_norm(x, 3, 0.5, 0.6, 2.0), SIGNAL),
    "unfold one": (lambda f, x: f.unfold(x, 2), PICTURE[0]),
    "fold": (lambda f, x: f.fold(x, (3, 4), 2), draw(2, 8, 6)),
    "fold at large": (lambda f, x: f.fold(x, 5, (3, 2), 1, (0, 1), (2, 1)), draw(2, 12, 12)),
    "fold one": (lambda f, x: f.fold(x, (3, 4), 2), draw(8, 6)),
    "nearest": (lambda f, x: f.interpolate(x, scale_factor=2), PICTURE),
    "nearest to a size": (lambda f, x: f.interpolate(x, size=(7, 4)), PICTURE),
    "nearest, by another factor": (lambda f, x: f.interpolate(x, scale_factor=1.7), SIGNAL),
    "nearest-exact": (lambda f, x: f.interpolate(x, size=4, mode="nearest-exact"), SIGNAL),
    "linear": (lambda f, x: f.interpolate(x, scale_factor=1.5, mode="linear"), SIGNAL),
    "bilinear": (lambda f, x: f.interpolate(x, size=(7, 9), mode="bilinear"), PICTURE),
    "bilinear, smaller": (
        lambda f, x: f.interpolate(x, scale_factor=0.5, mode="bilinear"),
        PICTURE,
    ),
    "bilinear, corners": (
        lambda f, x: f.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True),
        PICTURE,
    ),
    "area": (lambda f, x: f.interpolate(x, size=(3, 4), mode="area"), PICTURE),
    "lp_pool2d": (lambda f, x: f.lp_pool2d(x, 2, 2), np.abs(PICTURE)),
    "lp_pool1d": (lambda f, x: f.lp_pool1d(x, 3, 2, 1), np.abs(SIGNAL)),
    "attention": (lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v), Q, K, V),
    "attention, scaled": (
        lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v, scale=0.3),
        Q,
        K,
        V,
    ),
    "attention, causal": (
        lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True),
        Q,
        K,
        V,
    ),
    "attention, masked": (
        lambda f, q, k, v, m: f.scaled_dot_product_attention(q, k, v, m),
        Q,
        K,
        V,
        MASK,
    ),
    "attention to nothing": (
        lambda f, q, k, v, m: f.scaled_dot_product_attention(q, k, v, m),
        Q,
        K,
        V,
        np.array([[True] * 5, [False] * 5, [True] * 5]),
    ),
    "attention, biased": (
        lambda f, q, k, v, m: f.scaled_dot_product_attention(q, k, v, m),
        Q,
        K,
        V,
        draw(3, 5),
    ),
    "attention, grouped": (
        lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        draw(1, 4, 3, 2),
        draw(1, 2, 5, 2),
        draw(1, 2, 5, 3),
    ),
    "gaussian, one variance for a row": (
        lambda f, x, y, v: f.gaussian_nll_loss(x, y, v, full=True, reduction="none"),
        X,
        POSITIVE,
        POSITIVE[:, 0],
    ),
    "embedding by frequency": (
        lambda f, w, i: f.embedding(i, w, scale_grad_by_freq=True),
        X,
        np.array([[0, 2], [2, 1]]),
    ),
    "alpha_dropout in evaluation": (lambda f, x: f.alpha_dropout(x, 0.4), X),
}


def on(case):
    """The case with nn.functional of the library at hand."""
    return lambda m, *xs: case(m.nn.functional, *xs)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_agree(name):
    order = 1 if name == "hardsigmoid" else 2  # PyTorch has no second derivative of it
    rtol = 1e-7 if name == "hardsigmoid" else 1e-9  # PyTorch takes 1 / 6 in single precision
    check(on(ACTIVATIONS[name]), X, order=order, rtol=rtol)
    check(
        on(ACTIVATIONS[name]),
        draw(2, 0) if name != "softmax of columns" else draw(0, 2),
        order=order,
    )
    if "glu" not in name and "soft" not in name:
        check(on(ACTIVATIONS[name]), np.array(0.7), order=order, rtol=rtol)


@pytest.mark.parametrize(
    "name",
    "relu relu6 leaky_relu elu selu silu gelu softplus hardtanh hardsigmoid hardswish threshold softsign mish".split(),
)
def test_kinks_are_decided_as_in_pytorch(name):
    kinks = np.array([0.0, -1, 1, 3, -3, 6, 1.5, -1.5, 1.2, 0.1, -0.0])
    check(on(ACTIVATIONS[name]), kinks, order=1, rtol=1e-7 if name == "hardsigmoid" else 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_functions_agree(name):
    case, *args = CASES[name]
    order = 1 if name == "embedding by frequency" else 2  # PyTorch has no second derivative of it
    check(on(case), *args, order=order)


def test_softmax_in_another_type_agrees():
    check(lambda m, x: m.nn.functional.softmax(x, dim=0, dtype=m.float64), X)


def test_batch_norm_moves_its_running_numbers_as_in_pytorch():
    found = []
    for m in (minigrad, torch):
        mean, var = m.zeros(4), m.ones(4)
        m.nn.functional.batch_norm(
            m.tensor(X.astype("float32")), mean, var, training=True, momentum=0.3
        )
        found.append((mean.numpy(), var.numpy()))

    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_linear_has_the_nodes_of_pytorch():
    for m in (minigrad, torch):
        x, w, b = (m.tensor(a, requires_grad=True) for a in (X, draw(2, 4), draw(2)))
        node = m.nn.functional.linear(x, w, b).grad_fn

        assert [n.name() for n, _ in node.next_functions] == [
            "torch::autograd::AccumulateGrad" if m is torch else "AccumulateGrad"
        ] * 2 + ["TBackward0"]
        assert node.name() == "AddmmBackward0"


@pytest.mark.parametrize("settings", [{}, {"label_smoothing": 0.1}, {"reduction": "sum"}])
def test_a_batch_of_ignored_targets_gives_a_gradient_of_zero(settings):
    results = []
    for t in (torch, minigrad):
        x = t.ones(2, 3, requires_grad=True)
        z = t.nn.functional.cross_entropy(x, t.tensor([1, 1]), ignore_index=1, **settings)
        z.backward()
        results.append((str(z.item()), x.grad.abs().sum().item()))

    assert results[0] == results[1]


@pytest.mark.parametrize("rows, norm", [([[0, 2], [2, 0]], 2.0), ([1], 1.0)])
def test_embedding_shortens_long_rows_as_in_pytorch(rows, norm):
    found = []
    for m in (minigrad, torch):
        w = m.tensor(X * 3)
        z = m.nn.functional.embedding(m.tensor(rows), w, max_norm=1.5, norm_type=norm)
        found.append((w.numpy(), z.numpy()))

    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
