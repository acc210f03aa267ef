"""nn.utils and nn.init agree with PyTorch's, where nothing is drawn; and in what is drawn, on average."""

import inspect

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import draw, torch


def with_gradients(m, *grads):
    parameters = []
    for g in grads:
        p = m.nn.Parameter(m.zeros(*g.shape, dtype=m.float64))
        p.grad = m.tensor(g)
        parameters.append(p)
    return [*parameters, m.nn.Parameter(m.zeros(2))]  # the last has no gradient


G = (draw(3, 4), draw(5), np.zeros((2, 1)))


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3, float("inf"), float("-inf"), 0])
@pytest.mark.parametrize("max_norm", [0.5, 1e3])
def test_gradients_are_clipped_as_in_pytorch(norm_type, max_norm):
    found = []
    for m in (minigrad, torch):
        parameters = with_gradients(m, *G)
        total = m.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)
        found.append([total, *[p.grad for p in parameters[:-1]]])

    for ours, theirs in zip(*found, strict=True):
        assert ours.shape == theirs.shape and ours.dtype == theirs.numpy().dtype
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"])
def test_clipping_takes_pytorchs_arguments(name):
    ours, theirs = (inspect.signature(getattr(m.nn.utils, name)) for m in (minigrad, torch))

    assert list(ours.parameters) == list(theirs.parameters)


def test_gradients_that_are_not_finite():
    for m in (minigrad, torch):
        parameters = with_gradients(m, np.array([1.0, np.inf]))
        with pytest.raises(
            RuntimeError,
            match="The total norm of order 2.0 for gradients from `parameters` is non-finite",
        ):
            m.nn.utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)

        assert m.nn.utils.clip_grad_norm_(parameters, 1.0).item() == np.inf
        assert np.isnan(parameters[0].grad[1].item())


def test_no_gradients_at_all():
    for m in (minigrad, torch):
        total = m.nn.utils.clip_grad_norm_([m.nn.Parameter(m.zeros(2))], 1.0)

        assert total.item() == 0 and total.shape == ()
        with pytest.warns(
            UserWarning, match="is an empty generator, no gradient clipping will occur"
        ):
            m.nn.utils.clip_grad_norm_((p for p in []), 1.0)


def test_values_are_clipped_as_in_pytorch():
    found = []
    for m in (minigrad, torch):
        parameters = with_gradients(m, *G)
        m.nn.utils.clip_grad_value_(parameters, 0.7)
        found.append([p.grad.numpy() for p in parameters[:-1]])

    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_parameters_as_one_vector_and_back():
    for m in (minigrad, torch):
        layer = m.nn.Linear(2, 1)
        vector = m.nn.utils.parameters_to_vector(layer.parameters())
        weight = layer.weight
        new = m.tensor([1.0, 2.0, 3.0])
        m.nn.utils.vector_to_parameters(new, layer.parameters())
        new[0] = 9

        assert vector.shape == (3,) and vector.requires_grad
        assert layer.weight is weight and weight.is_leaf and weight.tolist() == [[9, 2]]
        assert layer.bias.tolist() == [3]
        with pytest.raises(TypeError, match=r"expected torch.Tensor, but got"):
            m.nn.utils.vector_to_parameters([1.0], layer.parameters())


INITS = {
    "uniform_": lambda i, t: i.uniform_(t, -1, 3),
    "normal_": lambda i, t: i.normal_(t, 1.0, 2.0),
    "constant_": lambda i, t: i.constant_(t, 0.3),
    "ones_": lambda i, t: i.ones_(t),
    "zeros_": lambda i, t: i.zeros_(t),
    "eye_": lambda i, t: i.eye_(t),
    "xavier_uniform_": lambda i, t: i.xavier_uniform_(t, 2.0),
    "xavier_normal_": lambda i, t: i.xavier_normal_(t),
    "kaiming_uniform_": lambda i, t: i.kaiming_uniform_(t, nonlinearity="relu"),
    "kaiming_uniform_ out": lambda i, t: i.kaiming_uniform_(t, a=0.3, mode="fan_out"),
    "kaiming_normal_": lambda i, t: i.kaiming_normal_(t, nonlinearity="tanh"),
    "trunc_normal_": lambda i, t: i.trunc_normal_(t, 0.5, 1.5, -1.0, 1.0),
    "trunc_normal_ of a tail": lambda i, t: i.trunc_normal_(t, 0.0, 1.0, 1.5, 2.0),
    "orthogonal_": lambda i, t: i.orthogonal_(t, 2.0),
    "sparse_": lambda i, t: i.sparse_(t, 0.25, 2.0),
}


@pytest.mark.parametrize("name", INITS)
def test_what_is_drawn_has_the_distribution_of_pytorchs(name):
    ours, theirs = minigrad.empty(300, 200), torch.empty(300, 200)
    minigrad.manual_seed(0), torch.manual_seed(0)
    assert INITS[name](minigrad.nn.init, ours) is ours and ours.is_leaf
    INITS[name](torch.nn.init, theirs)

    a, b = np.sort(ours.numpy().ravel()), np.sort(theirs.numpy().ravel())
    spread = b.std() or 1.0
    # 60,000 draws: their quantiles are known to about spread / 100, except far out.
    np.testing.assert_allclose(a[600:-600:600], b[600:-600:600], atol=0.05 * spread)
    np.testing.assert_allclose([a[0], a[-1]], [b[0], b[-1]], atol=1.5 * spread)


def test_orthogonal_rows_are_orthogonal():
    for shape in ((3, 5), (5, 3), (4, 2, 2)):
        w = minigrad.nn.init.orthogonal_(minigrad.empty(*shape, dtype=minigrad.float64), 2.0)
        flat = w.numpy().reshape(shape[0], -1)
        flat = flat if flat.shape[0] <= flat.shape[1] else flat.T
        np.testing.assert_allclose(flat @ flat.T, 4 * np.eye(len(flat)), atol=1e-12)


@pytest.mark.parametrize("shape, groups", [((4, 2, 3), 1), ((4, 2, 3, 2), 2), ((2, 3, 1, 1, 2), 1)])
def test_dirac_is_pytorchs(shape, groups):
    ours, theirs = minigrad.empty(*shape), torch.empty(*shape)
    minigrad.nn.init.dirac_(ours, groups), torch.nn.init.dirac_(theirs, groups)

    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    "name", ["linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]
)
def test_gains_are_pytorchs(name):
    assert minigrad.nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    assert minigrad.nn.init.calculate_gain("leaky_relu", 0.5) == torch.nn.init.calculate_gain(
        "leaky_relu", 0.5
    )


@pytest.mark.parametrize(
    "mistake",
    [
        lambda m: m.nn.init.calculate_gain("sin"),
        lambda m: m.nn.init.calculate_gain("leaky_relu", True),
        lambda m: m.nn.init.eye_(m.empty(3)),
        lambda m: m.nn.init.dirac_(m.empty(3, 3)),
        lambda m: m.nn.init.dirac_(m.empty(3, 3, 3), 2),
        lambda m: m.nn.init.xavier_uniform_(m.empty(3)),
        lambda m: m.nn.init.kaiming_normal_(m.empty(3, 3), mode="fan"),
        lambda m: m.nn.init.orthogonal_(m.empty(3)),
        lambda m: m.nn.init.sparse_(m.empty(3), 0.1),
        lambda m: m.nn.init.normal_(m.empty(3), 0.0, -1.0),
    ],
)
def test_mistakes_are_told_in_pytorchs_words(mistake):
    with pytest.raises(Exception) as theirs:
        mistake(torch)
    with pytest.raises(theirs.type) as ours:
        mistake(minigrad)

    assert str(theirs.value) in str(ours.value)


def test_warnings_are_pytorchs():
    for m in (minigrad, torch):
        with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
            m.nn.init.kaiming_uniform_(m.empty(0, 3))
        with pytest.warns(UserWarning, match=r"mean is more than 2 std from \[a, b\]"):
            m.nn.init.trunc_normal_(m.empty(3), 9.0)


LAYERS = {
    "Linear": lambda nn: nn.Linear(200, 300),
    "Bilinear": lambda nn: nn.Bilinear(30, 20, 40),
    "Conv1d": lambda nn: nn.Conv1d(32, 64, 5),
    "Conv2d": lambda nn: nn.Conv2d(32, 64, 5, groups=2),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(32, 64, 5, groups=2),
    "Embedding": lambda nn: nn.Embedding(300, 50, padding_idx=0),
    "BatchNorm2d": lambda nn: nn.BatchNorm2d(20),
    "LayerNorm": lambda nn: nn.LayerNorm((3, 20)),
    "PReLU": lambda nn: nn.PReLU(3),
    "LSTM": lambda nn: nn.LSTM(50, 60, 2, bidirectional=True),
    "GRUCell": lambda nn: nn.GRUCell(50, 60),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_begin_with_pytorchs_distributions(name):
    minigrad.manual_seed(0), torch.manual_seed(0)
    ours, theirs = (dict(LAYERS[name](m.nn).named_parameters()) for m in (minigrad, torch))

    assert list(ours) == list(theirs)
    for key, expected in theirs.items():
        a, b = (np.abs(t.detach().numpy()) for t in (ours[key], expected))
        assert ours[key].shape == expected.shape and ours[key].requires_grad
        n = np.sqrt(a.size)
        assert abs(a.mean() - b.mean()) <= 4 * b.std() / n + 1e-7, key
        assert abs(a.std() - b.std()) <= 8 * b.std() / n + 1e-7, key
