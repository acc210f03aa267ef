"""nn.functional, the rest: images, attention, noise, and losses beside the usual ones."""

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import check, draw, torch

X = draw(3, 4)
T3 = np.array([1, 0, 3])
IMAGE = draw(2, 3, 5, 6)
SIGNAL = draw(2, 3, 7)
BITS = np.array([[1.0, 0, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1]])
P = np.abs(X) + 0.1
KERNEL = draw(3, 2, 3, 2)
Q, K, V = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 3)
MASK = np.array([[True, False, True, True, False]] * 2 + [[True] * 5])

CASES = {
    "prelu": (lambda f, x, w: f.prelu(x, w), X, np.array([0.2])),
    "prelu of channels": (lambda f, x, w: f.prelu(x, w), IMAGE, np.array([0.2, 0.5, -0.3])),
    "prelu of a vector": (lambda f, x, w: f.prelu(x, w), X[0], np.array([0.2])),
    "rrelu in evaluation": (lambda f, x: f.rrelu(x), X),
    "hardshrink": (lambda f, x: f.hardshrink(x), X),
    "softshrink": (lambda f, x: f.softshrink(x, 0.3), X),
    "elu_": (lambda f, x: f.elu_(x * 1, 0.7), X),
    "selu_": (lambda f, x: f.selu_(x * 1), X),
    "celu_": (lambda f, x: f.celu_(x * 1, 2.0), X),
    "leaky_relu_": (lambda f, x: f.leaky_relu_(x * 1, 0.2), X),
    "hardtanh_": (lambda f, x: f.hardtanh_(x * 1), X),
    "threshold_": (lambda f, x: f.threshold_(x * 1, 0.1, 5.0), X),
    "rms_norm": (lambda f, x, w: f.rms_norm(x, (4,), w), X, draw(4)),
    "rms_norm eps": (lambda f, x: f.rms_norm(x, (3, 4), eps=0.1), draw(2, 3, 4)),
    "local_response_norm": (lambda f, x: f.local_response_norm(x, 2), IMAGE),
    "local_response_norm odd": (lambda f, x: f.local_response_norm(x, 3, 0.5, 0.6, 2.0), SIGNAL),
    "pdist": (lambda f, x: f.pdist(x), X),
    "pdist 1": (lambda f, x: f.pdist(x, 1), X),
    "pixel_shuffle": (lambda f, x: f.pixel_shuffle(x, 2), draw(2, 8, 2, 3)),
    "pixel_unshuffle": (lambda f, x: f.pixel_unshuffle(x, 2), draw(2, 2, 4, 6)),
    "channel_shuffle": (lambda f, x: f.channel_shuffle(x, 2), draw(2, 4, 2, 3)),
    "unfold": (lambda f, x: f.unfold(x, 2), IMAGE),
    "unfold at large": (lambda f, x: f.unfold(x, (3, 2), (1, 2), (2, 1), (2, 3)), IMAGE),
    "unfold one": (lambda f, x: f.unfold(x, 2), IMAGE[0]),
    "fold": (lambda f, x: f.fold(x, (3, 4), 2), draw(2, 8, 6)),
    "fold at large": (lambda f, x: f.fold(x, 5, (3, 2), 1, (0, 1), (2, 1)), draw(2, 12, 12)),
    "fold one": (lambda f, x: f.fold(x, (3, 4), 2), draw(8, 6)),
    "nearest": (lambda f, x: f.interpolate(x, scale_factor=2), IMAGE),
    "nearest to a size": (lambda f, x: f.interpolate(x, size=(7, 4)), IMAGE),
    "nearest, by another factor": (lambda f, x: f.interpolate(x, scale_factor=1.7), SIGNAL),
    "nearest-exact": (lambda f, x: f.interpolate(x, size=4, mode="nearest-exact"), SIGNAL),
    "linear": (lambda f, x: f.interpolate(x, scale_factor=1.5, mode="linear"), SIGNAL),
    "bilinear": (lambda f, x: f.interpolate(x, size=(7, 9), mode="bilinear"), IMAGE),
    "bilinear, smaller": (lambda f, x: f.interpolate(x, scale_factor=0.5, mode="bilinear"), IMAGE),
    "bilinear, corners": (
        lambda f, x: f.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True),
        IMAGE,
    ),
    "area": (lambda f, x: f.interpolate(x, size=(3, 4), mode="area"), IMAGE),
    "adaptive_max_pool2d": (lambda f, x: f.adaptive_max_pool2d(x, (2, 4)), IMAGE),
    "adaptive_max_pool2d places": (
        lambda f, x: f.adaptive_max_pool2d(x, (3, None), return_indices=True),
        IMAGE,
    ),
    "adaptive_max_pool1d": (lambda f, x: f.adaptive_max_pool1d(x, 3), SIGNAL),
    "adaptive_avg_pool1d of one": (lambda f, x: f.adaptive_avg_pool1d(x, 4), SIGNAL[0]),
    "max_pool1d of one": (lambda f, x: f.max_pool1d(x, 3, 2, 1, return_indices=True), SIGNAL[0]),
    "avg_pool1d, margin": (
        lambda f, x: f.avg_pool1d(x, 3, 2, 1, count_include_pad=False),
        SIGNAL,
    ),
    "lp_pool2d": (lambda f, x: f.lp_pool2d(x, 2, 2), np.abs(IMAGE)),
    "lp_pool1d": (lambda f, x: f.lp_pool1d(x, 3, 2, 1), np.abs(SIGNAL)),
    "conv_transpose2d": (
        lambda f, x, w, b: f.conv_transpose2d(x, w, b),
        IMAGE,
        KERNEL,
        draw(2),
    ),
    "conv_transpose2d at large": (
        lambda f, x, w: f.conv_transpose2d(x, w, None, (2, 3), (1, 0), (1, 2), 1, (2, 1)),
        IMAGE,
        KERNEL,
    ),
    "conv_transpose2d, output_padding within": (
        lambda f, x, w: f.conv_transpose2d(x, w, stride=3, padding=2, output_padding=1),
        IMAGE,
        KERNEL,
    ),
    "conv_transpose2d in groups": (
        lambda f, x, w: f.conv_transpose2d(x, w, stride=2, groups=2),
        draw(1, 4, 3, 3),
        draw(4, 3, 2, 2),
    ),
    "conv_transpose2d of one": (
        lambda f, x, w: f.conv_transpose2d(x, w),
        IMAGE[0],
        KERNEL,
    ),
    "conv_transpose1d": (
        lambda f, x, w, b: f.conv_transpose1d(x, w, b, 2, 1, 1),
        SIGNAL,
        draw(3, 2, 3),
        draw(2),
    ),
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
    "poisson_nll_loss": (lambda f, x, y: f.poisson_nll_loss(x, y), X, P * 3),
    "poisson of a rate": (
        lambda f, x, y: f.poisson_nll_loss(x, y, False, True, reduction="sum"),
        P,
        P * 3,
    ),
    "gaussian_nll_loss": (lambda f, x, y, v: f.gaussian_nll_loss(x, y, v), X, P, P * 2),
    "gaussian, one variance for a row": (
        lambda f, x, y, v: f.gaussian_nll_loss(x, y, v, full=True, reduction="none"),
        X,
        P,
        P[:, 0],
    ),
    "multi_margin_loss": (lambda f, x, t: f.multi_margin_loss(x, t), X, T3),
    "multi_margin_loss squared": (
        lambda f, x, t, w: f.multi_margin_loss(x, t, 2, 0.5, w.detach(), reduction="none"),
        X,
        T3,
        np.array([0.5, 1.0, 2.0, 0.25]),
    ),
    "multilabel_soft_margin_loss": (
        lambda f, x, y: f.multilabel_soft_margin_loss(x, y.detach()),
        X,
        BITS,
    ),
    "triplet with a distance": (
        lambda f, x, y, z: f.triplet_margin_with_distance_loss(
            x, y, z, distance_function=lambda a, b: (a - b).abs().sum(1), swap=True
        ),
        X,
        P,
        draw(3, 4, seed=5),
    ),
    "embedding by frequency": (
        lambda f, w, i: f.embedding(i, w, scale_grad_by_freq=True),
        X,
        np.array([[0, 2], [2, 1]]),
    ),
    "alpha_dropout in evaluation": (lambda f, x: f.alpha_dropout(x, 0.4), X),
}
FIRST_ORDER = {  # PyTorch has no second derivative of them
    "pdist",
    "pdist 1",
    "multi_margin_loss",
    "multi_margin_loss squared",
    "embedding by frequency",
}


def on(case):
    """The case with nn.functional of the library at hand."""
    return lambda m, *xs: case(m.nn.functional, *xs)


@pytest.mark.parametrize("name", CASES)
def test_functions_agree(name):
    case, *args = CASES[name]
    check(on(case), *args, rtol=1e-7, order=1 if name in FIRST_ORDER else 2)


def test_embedding_shortens_long_rows_as_in_pytorch():
    found = []
    for m in (minigrad, torch):
        w = m.tensor(X * 3)
        z = m.nn.functional.embedding(m.tensor([[0, 2], [2, 0]]), w, max_norm=1.5)
        found.append((w.numpy(), z.numpy()))

    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)


def test_embedding_shortens_by_another_norm_as_in_pytorch():
    found = []
    for m in (minigrad, torch):
        w = m.tensor(X * 3)
        m.nn.functional.embedding(m.tensor([1]), w, max_norm=1.5, norm_type=1.0)
        found.append(w.numpy())

    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
