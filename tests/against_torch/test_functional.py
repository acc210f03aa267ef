"""nn.functional: minigrad and PyTorch compute the same, to the second derivative."""

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import calls, check, check_call, draw, torch

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
ARRAYS = {
    "x": X, "p": P, "t": T3, "w": W4, "v": draw(4), "n": draw(), "n1": draw(seed=1), "t0": np.zeros(0, np.int64),
    "rows": draw(0, 4), "i": np.array([0, 2]), "ij": np.array([[0, 2], [2, 1]]), "skip": np.array([1, -100, 3]),
    "positive": np.abs(X) + 0.1, "first": np.abs(X)[:, 0] + 0.1, "far": draw(3, 4, seed=8), "signs": np.array([1.0, -1, -1, 1]),
    "sides": np.array([1.0, -1, 1]), "small": draw(2, 3, 2, 2), "classes": np.array([[[0, 1], [2, 1]], [[1, 1], [0, 2]]]),
    "image": draw(2, 4, 6, 5), "kernels": draw(6, 4, 3, 2), "square": draw(6, 4, 2, 2), "six": draw(6), "taps": draw(4, 3, 3), "turned": draw(3, 2, 3, 2),
    "picture": draw(2, 3, 5, 6), "grid": draw(2, 3, 2, 2, seed=4) / 2, "corners": np.array([-1, 1, 0.8, -0.8, 1, 0.8] * 4).reshape(2, 3, 2, 2), "signal": draw(2, 3, 7), "columns": draw(2, 8, 6), "patches": draw(2, 12, 12),
    "q": draw(2, 3, 4), "k": draw(2, 5, 4), "values": draw(2, 5, 3), "bias": draw(3, 5),
    "mask": np.array([[True, False, True, True, False]] * 2 + [[True] * 5]),
    "nobody": np.array([[True] * 5, [False] * 5, [True] * 5]),
    "heads": draw(1, 4, 3, 2), "keys": draw(1, 2, 5, 2), "their": draw(1, 2, 5, 3),
}  # fmt: skip
# What PyTorch's own samples, in test_opinfo.py, leave out; those of images are often batches of one.
CALLS = """
F.linear(x, v) | F.embedding(ij, x, padding_idx=2) | F.embedding(i, x, padding_idx=-1)
F.embedding(ij, x, scale_grad_by_freq=True) | F.batch_norm(x, None, None, w, v, training=True)
F.batch_norm(small, None, None, training=True) | F.batch_norm(x, v.detach(), v.detach().abs(), w, v)
F.mse_loss(n, n1) | F.l1_loss(x, p) | F.nll_loss(x, t, ignore_index=0, reduction="none")
F.nll_loss(small, classes) | F.cross_entropy(x, skip) | F.cross_entropy(x, t, w.detach(), ignore_index=3)
F.cross_entropy(x, t, label_smoothing=0.2)
F.cross_entropy(x, t, w.detach(), label_smoothing=0.2, ignore_index=1)
F.cross_entropy(x, t, w.detach(), label_smoothing=0.2, reduction="none", ignore_index=1)
F.cross_entropy(x, t, label_smoothing=0.2, reduction="sum")
F.cross_entropy(x, p, w.detach(), label_smoothing=0.1) | F.cross_entropy(rows, t0, reduction="sum")
F.hinge_embedding_loss(v, signs.detach()) | F.margin_ranking_loss(v, w, signs.detach(), margin=0.3)
F.triplet_margin_loss(x, p, far) | F.cosine_embedding_loss(x, p, sides.detach())
F.gaussian_nll_loss(x, positive, first, full=True, reduction="none")
F.conv2d(F.relu(F.conv2d(image, square)), square.transpose(0, 1))
F.max_pool2d(image, 3, 2, 1, return_indices=True)
F.avg_pool2d(image, 3, 2, padding=1, count_include_pad=False)
F.avg_pool2d(image, (3, 2), 2, ceil_mode=True, padding=1) | F.adaptive_avg_pool2d(image, 1)
F.adaptive_avg_pool2d(image, (3, None))
F.cross_entropy(F.max_pool2d(F.relu(F.conv2d(image, kernels, six)), 2).flatten(1), image.detach()[:, 0, 0, 0].abs().long())
F.conv1d(signal, taps, padding=1, stride=2) | F.conv2d(image, kernels, six, dilation=2, padding=1, stride=2)
F.conv2d(image, kernels[:, :2], groups=2, padding=1) | F.conv_transpose1d(signal, turned[..., 0], None, 2, 1, 1)
F.conv_transpose2d(picture, turned, None, (2, 3), (1, 0), (1, 2), 1, (2, 1))
F.max_pool1d(signal, 3, 2, padding=1) | F.max_pool2d(image, 2, 1, dilation=2)
F.max_pool2d(image, (3, 2), 2, ceil_mode=True) | F.avg_pool1d(signal, 3, 2, 1)
F.adaptive_avg_pool1d(signal, 3) | F.adaptive_max_pool1d(signal, 3)
F.adaptive_max_pool2d(picture, (3, None), return_indices=True)
F.unfold(picture, (3, 2), (1, 2), (2, 1), (2, 3)) | F.pad(image, (1, 2, 2, 0), mode="reflect")
F.pixel_shuffle(image, 2) | F.pixel_unshuffle(picture[:, :, :4], 2) | F.channel_shuffle(image, 2)
F.prelu(picture, sides) | F.group_norm(image, 2, w, v) | F.layer_norm(x, (4,), w, v) | F.rms_norm(x, (4,), w)
F.instance_norm(image) | F.rrelu(x) | F.elu_(x * 1, 0.7) | F.selu_(x * 1) | F.celu_(x * 1, 2.0)
F.leaky_relu_(x * 1, 0.2) | F.hardtanh_(x * 1) | F.threshold_(x * 1, 0.1, 5.0) | F.alpha_dropout(x, 0.4)
F.local_response_norm(picture, 2) | F.local_response_norm(signal, 3, 0.5, 0.6, 2.0) | F.unfold(picture[0], 2)
F.fold(columns, (3, 4), 2) | F.fold(columns[0], (3, 4), 2) | F.fold(patches, 5, (3, 2), 1, (0, 1), (2, 1))
F.interpolate(picture, scale_factor=2) | F.interpolate(picture, size=(7, 4))
F.interpolate(signal, scale_factor=1.7) | F.interpolate(signal, size=4, mode="nearest-exact")
F.interpolate(signal, scale_factor=1.5, mode="linear") | F.interpolate(picture, size=(7, 9), mode="bilinear")
F.interpolate(picture, scale_factor=0.5, mode="bilinear")
F.interpolate(picture, size=(7, 9), mode="bilinear", align_corners=True)
F.interpolate(picture, size=(7, 3), mode="bicubic")
F.interpolate(picture, scale_factor=1.7, mode="bicubic", align_corners=True)
F.interpolate(picture, size=(2, 7), mode="bilinear", antialias=True)
F.interpolate(picture, scale_factor=0.7, mode="bicubic", antialias=True)
F.interpolate(picture, size=(2, 7), mode="lanczos", antialias=True)
F.interpolate(picture.detach(), scale_factor=0.7, mode="lanczos", antialias=True)
F.interpolate(picture, scale_factor=1.05, mode="bilinear")
F.interpolate(picture.detach(), scale_factor=2.1)
F.interpolate(signal.detach(), scale_factor=1.05)
F.grid_sample(image, grid, "bicubic", align_corners=False)
F.grid_sample(image, grid, "bicubic", "border", align_corners=True)
F.grid_sample(image, grid, "bilinear", "reflection", align_corners=False)
F.grid_sample(image, grid, "bicubic", "reflection", align_corners=True)
F.grid_sample(image, corners, "bilinear", "border", align_corners=True) | F.grid_sample(image, corners, "bilinear", "border", align_corners=False)
F.grid_sample(image, corners, "bilinear", "reflection", align_corners=True) | F.grid_sample(image, corners, "bilinear", "reflection", align_corners=False)
F.interpolate(picture, size=(3, 4), mode="area") | F.lp_pool2d(picture.abs(), 2, 2)
F.lp_pool1d(signal.abs(), 3, 2, 1) | F.scaled_dot_product_attention(q, k, values)
F.scaled_dot_product_attention(q, k, values, scale=0.3)
F.scaled_dot_product_attention(q, k, values, is_causal=True)
F.scaled_dot_product_attention(q, k, values, mask) | F.scaled_dot_product_attention(q, k, values, nobody)
F.scaled_dot_product_attention(q, k, values, bias)
F.scaled_dot_product_attention(heads, keys, their, enable_gqa=True)
F.scaled_dot_product_attention(q[None], k[None], values[None], bias.float())
"""


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


@pytest.mark.parametrize("call", calls(CALLS))
def test_functions_agree(call):
    order = 1 if "by_freq" in call else 2  # PyTorch has no second derivative of it
    check_call(call, ARRAYS, order=order)


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


@pytest.mark.parametrize(
    "kink",
    [
        "F.relu(h)",
        "F.leaky_relu(h)",
        "F.relu6(h)",
        "F.threshold(h, 0.0, 0.0)",
        "F.max_pool1d(h[None], 2)[0]",
        "h.clamp(0, 1)",
    ],
)
def test_the_second_derivative_of_a_piecewise_linear_network_is_zero_or_unused_as_there(kink):
    def second(m):
        layer, x = m.nn.Linear(3, 4), m.ones(5, 3, requires_grad=True)
        z = eval(kink, {"F": m.nn.functional, "h": layer(x)})
        z = z @ m.ones(z.shape[1], requires_grad=True)
        (first,) = m.autograd.grad(z.sum(), x, create_graph=True)
        unused = m.autograd.grad(first.sum(), x, allow_unused=True, retain_graph=True)[0] is None
        try:
            (g,) = m.autograd.grad(first.sum(), x)
        except RuntimeError as error:
            return unused, str(error)[:60]
        return unused, g.shape, g.abs().sum().item()

    assert second(minigrad) == second(torch)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    "kink",
    [
        "F.relu(x)",
        "F.leaky_relu(x)",
        "F.hardtanh(x)",
        "F.threshold(x, 0.0, 0.0)",
        "F.max_pool1d(x[None], 2)",
    ],
)
def test_the_second_derivative_of_a_piecewise_linear_function_itself_is_zero_as_there(kink):
    def derivatives(m):
        f = lambda x: eval(kink, {"F": m.nn.functional, "x": x}).sum()
        x = m.tensor([1.0, -2.0, 0.5, 0.75], requires_grad=True)
        (first,) = m.autograd.grad(f(x), x, create_graph=True)
        name = type(first.grad_fn).__name__ if "pool" not in kink else "SqueezeBackward1 there"
        (second,) = m.autograd.grad(first.sum(), x, create_graph=True)
        (second.sum() + first.sum()).backward()
        hessian = m.autograd.functional.hessian(f, x.detach(), strict=True)
        return (
            first.tolist(),
            name,
            x.grad.tolist(),
            hessian.tolist(),
            m.func.hessian(f)(x.detach()).tolist(),
        )

    assert derivatives(minigrad) == derivatives(torch)


def test_an_input_whose_gradient_is_none_was_not_used():
    def gradients(m):
        class OfSecond(m.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                return x * y

            @staticmethod
            def backward(ctx, g):
                return None, g * 2

        x, y = (m.ones(3, requires_grad=True) for _ in range(2))
        z = OfSecond.apply(x.relu(), y).sum()
        found = m.autograd.grad(z, [x, y], allow_unused=True, retain_graph=True)
        with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
            m.autograd.grad(z, x)
        return [g if g is None else g.tolist() for g in found]

    assert gradients(minigrad) == gradients(torch) == [None, [2.0, 2.0, 2.0]]
