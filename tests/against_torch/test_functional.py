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
CASES = {
    "linear": (lambda f, x, w, b: f.linear(x, w, b), X, draw(2, 4), draw(2)),
    "linear without bias": (lambda f, x, w: f.linear(x, w), X, draw(2, 4)),
    "linear of a vector": (lambda f, x, w, b: f.linear(x, w, b), draw(4), draw(2, 4), draw(2)),
    "linear of a stack": (lambda f, x, w, b: f.linear(x, w, b), draw(2, 3, 4), draw(2, 4), draw(2)),
    "linear of a stack without bias": (lambda f, x, w: f.linear(x, w), draw(2, 3, 4), draw(2, 4)),
    "linear, one output": (lambda f, x, w: f.linear(x, w), X, draw(4)),
    "bilinear": (
        lambda f, x, y, w, b: f.bilinear(x, y, w, b),
        X,
        draw(3, 2),
        draw(5, 4, 2),
        draw(5),
    ),
    "embedding": (lambda f, w, i: f.embedding(i, w), X, np.array([[0, 2], [2, 2]])),
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
    "one_hot": (lambda f, i: f.one_hot(i), np.array([[0, 2], [1, 1]])),
    "one_hot wide": (lambda f, i: f.one_hot(i, 5), np.array([0, 2])),
    "layer_norm": (lambda f, x, w, b: f.layer_norm(x, (4,), w, b), X, W4, draw(4)),
    "layer_norm of two axes": (lambda f, x: f.layer_norm(x, (3, 4), eps=0.1), draw(2, 3, 4)),
    "group_norm": (lambda f, x, w, b: f.group_norm(x, 2, w, b), draw(2, 4, 3), W4, draw(4)),
    "instance_norm": (lambda f, x: f.instance_norm(x), draw(2, 3, 4)),
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
    "normalize": (lambda f, x: f.normalize(x), X),
    "normalize p1": (lambda f, x: f.normalize(x, p=1, dim=0), X),
    "cosine_similarity": (lambda f, x, y: f.cosine_similarity(x, y), X, P),
    "cosine of vectors": (lambda f, x, y: f.cosine_similarity(x, y, dim=0), draw(4), W4),
    "pairwise_distance": (lambda f, x, y: f.pairwise_distance(x, y), X, P),
    "pad": (lambda f, x: f.pad(x, (1, 2), value=3.0), X),
    "pad two axes": (lambda f, x: f.pad(x, (1, 0, 2, 1)), X),
    "pad less": (lambda f, x: f.pad(x, (-1, 1)), X),
    "reflect": (lambda f, x: f.pad(x, (3, 1), mode="reflect"), X),
    "replicate": (lambda f, x: f.pad(x, (3, 1), mode="replicate"), X),
    "circular": (lambda f, x: f.pad(x, (3, 1), mode="circular"), X),
    "reflect two axes": (lambda f, x: f.pad(x, (1, 2, 2, 0), mode="reflect"), draw(1, 3, 4)),
    "mse_loss": (lambda f, x, y: f.mse_loss(x, y), X, P),
    "mse_loss sum": (lambda f, x, y: f.mse_loss(x, y, reduction="sum"), X, P),
    "mse_loss none": (lambda f, x, y: f.mse_loss(x, y, reduction="none"), X, P),
    "mse of numbers": (lambda f, x, y: f.mse_loss(x, y), draw(), draw(seed=1)),
    "l1_loss": (lambda f, x, y: f.l1_loss(x, y), X, P),
    "smooth_l1_loss": (lambda f, x, y: f.smooth_l1_loss(x, y), X, P),
    "smooth_l1_loss beta": (
        lambda f, x, y: f.smooth_l1_loss(x, y, beta=0.5, reduction="none"),
        X,
        P,
    ),
    "huber_loss": (lambda f, x, y: f.huber_loss(x, y, delta=0.7), X, P),
    "nll_loss": (lambda f, x, t: f.nll_loss(x, t), X, T3),
    "nll_loss weighted": (lambda f, x, t, w: f.nll_loss(x, t, w.detach()), X, T3, W4),
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
    "cross_entropy": (lambda f, x, t: f.cross_entropy(x, t), X, T3),
    "cross_entropy sum": (lambda f, x, t: f.cross_entropy(x, t, reduction="sum"), X, T3),
    "cross_entropy none": (lambda f, x, t: f.cross_entropy(x, t, reduction="none"), X, T3),
    "cross_entropy weighted": (lambda f, x, t, w: f.cross_entropy(x, t, w.detach()), X, T3, W4),
    "cross_entropy ignoring": (lambda f, x, t: f.cross_entropy(x, t), X, np.array([1, -100, 3])),
    "cross_entropy ignoring 3": (
        lambda f, x, t, w: f.cross_entropy(x, t, w.detach(), ignore_index=3),
        X,
        T3,
        W4,
    ),
    "cross_entropy of one": (lambda f, x, t: f.cross_entropy(x, t), draw(4), np.array(2)),
    "cross_entropy of a sequence": (
        lambda f, x, t: f.cross_entropy(x, t),
        draw(2, 3, 4),
        np.array([[0, 1, 2, 2], [1, 1, 0, 2]]),
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
    "cross_entropy of distributions": (lambda f, x, y: f.cross_entropy(x, y), X, P),
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
    "binary_cross_entropy": (
        lambda f, x, y: f.binary_cross_entropy(x, y),
        P,
        draw(3, 4, seed=3) / 5 + 0.5,
    ),
    "binary_cross_entropy weighted": (
        lambda f, x, y, w: f.binary_cross_entropy(x, y, w.detach(), reduction="sum"),
        P,
        np.round(P),
        np.abs(X),
    ),
    "bce with logits": (lambda f, x, y: f.binary_cross_entropy_with_logits(x * 9, y), X, P),
    "bce with logits, all": (
        lambda f, x, y, w: f.binary_cross_entropy_with_logits(
            x, y, w.detach(), pos_weight=w.detach() * 2, reduction="none"
        ),
        X,
        P,
        W4,
    ),
    "kl_div": (lambda f, x, y: f.kl_div(x, y, reduction="sum"), X, P),
    "kl_div of rows": (lambda f, x, y: f.kl_div(x, y, reduction="batchmean"), X, P),
    "kl_div of logs": (lambda f, x, y: f.kl_div(x, y, reduction="sum", log_target=True), X, P),
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
    "soft_margin_loss": (
        lambda f, x, t: f.soft_margin_loss(x, t.detach()),
        draw(4),
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
}
IMAGE, KERNELS = draw(2, 4, 6, 5), draw(6, 4, 3, 2)
IMAGES = {
    "conv2d": (lambda f, x, w, b: f.conv2d(x, w, b), IMAGE, KERNELS, draw(6)),
    "conv2d, one": (lambda f, x, w: f.conv2d(x, w), IMAGE[0], KERNELS),
    "conv2d, steps": (
        lambda f, x, w: f.conv2d(x, w, stride=(2, 1), padding=(1, 2)),
        IMAGE,
        KERNELS,
    ),
    "conv2d, same": (lambda f, x, w: f.conv2d(x, w, padding="same"), IMAGE, KERNELS),
    "conv2d, valid": (lambda f, x, w: f.conv2d(x, w, padding="valid"), IMAGE, KERNELS),
    "conv2d, dilated": (
        lambda f, x, w, b: f.conv2d(x, w, b, dilation=2, padding=1, stride=2),
        IMAGE,
        KERNELS,
        draw(6),
    ),
    "conv2d, groups": (lambda f, x, w: f.conv2d(x, w, groups=2, padding=1), IMAGE, KERNELS[:, :2]),
    "conv2d, depthwise": (lambda f, x, w: f.conv2d(x, w, groups=4), IMAGE, draw(8, 1, 3, 3)),
    "conv2d, one channel": (lambda f, x, w: f.conv2d(x, w), draw(2, 1, 5, 5), draw(3, 1, 2, 2)),
    "conv2d, 1x1": (lambda f, x, w: f.conv2d(x, w, stride=2), IMAGE, draw(3, 4, 1, 1)),
    "conv2d, no bias in the middle": (
        lambda f, x, w: f.conv2d(f.relu(f.conv2d(x, w)), w.transpose(0, 1)),
        IMAGE,
        draw(6, 4, 2, 2),
    ),
    "conv1d": (
        lambda f, x, w, b: f.conv1d(x, w, b, padding=1, stride=2),
        draw(2, 3, 7),
        draw(4, 3, 3),
        draw(4),
    ),
    "conv1d, one": (
        lambda f, x, w: f.conv1d(x, w, dilation=2, groups=3),
        draw(3, 7),
        draw(3, 1, 2),
    ),
    "conv1d, same": (
        lambda f, x, w: f.conv1d(x, w, padding="same", dilation=2),
        draw(2, 3, 7),
        draw(4, 3, 3),
    ),
    "max_pool2d": (lambda f, x: f.max_pool2d(x, 2), IMAGE),
    "max_pool2d, steps": (lambda f, x: f.max_pool2d(x, 3, stride=1, padding=1), IMAGE),
    "max_pool2d, ceil": (lambda f, x: f.max_pool2d(x, (3, 2), 2, ceil_mode=True), IMAGE),
    "max_pool2d, dilated": (lambda f, x: f.max_pool2d(x, 2, 1, dilation=2), IMAGE[0]),
    "max_pool2d, places": (lambda f, x: f.max_pool2d(x, 3, 2, 1, return_indices=True), IMAGE),
    "max_pool1d": (lambda f, x: f.max_pool1d(x, 3, 2, padding=1), draw(2, 3, 7)),
    "max_pool1d, places": (
        lambda f, x: f.max_pool1d(x, 2, return_indices=True, ceil_mode=True),
        draw(3, 7),
    ),
    "avg_pool2d": (lambda f, x: f.avg_pool2d(x, 2), IMAGE),
    "avg_pool2d, margin": (lambda f, x: f.avg_pool2d(x, 3, 2, padding=1), IMAGE),
    "avg_pool2d, margin not counted": (
        lambda f, x: f.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False),
        IMAGE,
    ),
    "avg_pool2d, ceil": (lambda f, x: f.avg_pool2d(x, (3, 2), 2, ceil_mode=True, padding=1), IMAGE),
    "avg_pool2d, divisor": (lambda f, x: f.avg_pool2d(x, 2, divisor_override=3), IMAGE[0]),
    "avg_pool1d": (lambda f, x: f.avg_pool1d(x, 3, 2, 1), draw(2, 3, 7)),
    "adaptive_avg_pool2d": (lambda f, x: f.adaptive_avg_pool2d(x, (4, 3)), IMAGE),
    "adaptive to one": (lambda f, x: f.adaptive_avg_pool2d(x, 1), IMAGE),
    "adaptive, halves": (lambda f, x: f.adaptive_avg_pool2d(x, (3, None)), IMAGE),
    "adaptive_avg_pool1d": (lambda f, x: f.adaptive_avg_pool1d(x, 3), draw(2, 3, 7)),
    "a network": (
        lambda f, x, w, b: f.cross_entropy(
            f.max_pool2d(f.relu(f.conv2d(x, w, b)), 2).flatten(1),
            x.detach()[:, 0, 0, 0].abs().long(),
        ),
        IMAGE,
        KERNELS,
        draw(6),
    ),
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
    [
        "relu",
        "relu6",
        "leaky_relu",
        "elu",
        "selu",
        "silu",
        "gelu",
        "softplus",
        "hardtanh",
        "hardsigmoid",
        "hardswish",
        "threshold",
        "softsign",
        "mish",
    ],
)
def test_kinks_are_decided_as_in_pytorch(name):
    kinks = np.array([0.0, -1, 1, 3, -3, 6, 1.5, -1.5, 1.2, 0.1, -0.0])
    check(on(ACTIVATIONS[name]), kinks, order=1, rtol=1e-7 if name == "hardsigmoid" else 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_functions_agree(name):
    case, *args = CASES[name]
    check(on(case), *args, rtol=1e-8)


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_functions_of_images_agree(name):
    case, *args = IMAGES[name]
    check(on(case), *args)


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
