"""What a tensor is besides its operations: making, printing, converting, comparing."""

import copy

import numpy as np
import pytest

import minigrad


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (lambda: minigrad.tensor(1.5), np.float32), (lambda: minigrad.tensor([1, 2]), np.int64),
        (lambda: minigrad.tensor([True]), np.bool_), (lambda: minigrad.tensor(np.ones(2)), np.float64),
        (lambda: minigrad.tensor([]), np.float32), (lambda: minigrad.zeros(2, 3), np.float32),
        (lambda: minigrad.full((2,), 1), np.int64), (lambda: minigrad.arange(3), np.int64),
        (lambda: minigrad.arange(0, 1, 0.5), np.float32), (lambda: minigrad.tensor([1, 2.5]), np.float32),
        (lambda: minigrad.tensor([1], dtype=minigrad.float64), np.float64),
        (lambda: minigrad.tensor([[minigrad.tensor(1.0), 2.0]]), np.float32),
        (lambda: minigrad.ones_like(minigrad.arange(3)), np.int64),
    ],
)  # fmt: skip
def test_types_of_new_tensors(make, dtype):
    assert make().dtype == dtype


@pytest.mark.parametrize(
    ("program", "dtype"),
    [
        (lambda f, d, i, b: f * 2, np.float32), (lambda f, d, i, b: f * 2.5, np.float32),
        (lambda f, d, i, b: f + d, np.float64), (lambda f, d, i, b: i + f, np.float32),
        (lambda f, d, i, b: i * 2, np.int64), (lambda f, d, i, b: i * 2.5, np.float32),
        (lambda f, d, i, b: i / i, np.float32), (lambda f, d, i, b: b * 2, np.int64),
        (lambda f, d, i, b: b + b, np.bool_), (lambda f, d, i, b: f + d[0], np.float32),
        (lambda f, d, i, b: i + d[0], np.float64), (lambda f, d, i, b: i.exp(), np.float32),
        (lambda f, d, i, b: b.sum(), np.int64), (lambda f, d, i, b: 2.0 * i[0], np.float32),
        (lambda f, d, i, b: f > d, np.bool_), (lambda f, d, i, b: i.to(f), np.float32),
        (lambda f, d, i, b: f * np.float64(2), np.float32), (lambda f, d, i, b: minigrad.where(b, f, 0), np.float32),
    ],
)  # fmt: skip
def test_promotion_follows_pytorch(program, dtype):
    f, d = minigrad.ones(3), minigrad.ones(3, dtype=minigrad.float64)
    i, b = minigrad.arange(3) + 1, minigrad.tensor([True, False, True])

    assert program(f, d, i, b).dtype == dtype


def test_gradients_pass_through_a_change_of_type():
    x = minigrad.ones(3, requires_grad=True)
    (x * minigrad.full((3,), 2.0, dtype=minigrad.float64)).sum().backward()

    assert x.grad.dtype == np.float32 and x.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (lambda: minigrad.tensor(3.0), "tensor(3.)"),
        (lambda: minigrad.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (lambda: minigrad.tensor([1, -20]), "tensor([  1, -20])"),
        (lambda: minigrad.tensor([True, False]), "tensor([ True, False])"),
        (lambda: minigrad.tensor([float("nan"), float("inf"), -1.0]), "tensor([nan, inf, -1.])"),
        (lambda: minigrad.tensor([1e-8, 1.0]), "tensor([1.0000e-08, 1.0000e+00])"),
        (lambda: minigrad.tensor([]), "tensor([])"),
        (lambda: minigrad.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: minigrad.ones(1, dtype=minigrad.float64), "tensor([1.], dtype=minigrad.float64)"),
        (lambda: minigrad.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: minigrad.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward>)"),
        (
            lambda: minigrad.ones(2, 2, 1),
            "tensor([[[1.],\n         [1.]],\n\n        [[1.],\n         [1.]]])",
        ),
    ],
)
def test_printing(tensor, text):
    assert repr(tensor()) == str(tensor()) == text


def test_a_large_tensor_shows_its_corners():
    text = repr(minigrad.arange(10000).reshape(100, 100))

    assert "..." in text and len(text) < 600


def test_python_protocols():
    x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]])

    assert len(x) == 2 and [row.tolist() for row in x] == [[1.0, 2.0], [3.0, 4.0]]
    assert float(x[0, 1]) == 2.0 and int(x[1, 1]) == 4 and [10, 20, 30][minigrad.tensor(2)] == 30
    assert 3.0 in x and 5.0 not in x and bool(x[0, 0]) and f"{x[0, 0]:.2f}" == "1.00"
    assert x.shape == (2, 2) and x.shape.numel() == 4 and x.size(-1) == 2 and x.ndim == x.dim() == 2
    assert len({x, x}) == 1
    with pytest.raises(
        RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"
    ):
        bool(x)
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        list(x[0, 0])
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        x.item()


def test_numpy_shares_memory_and_refuses_what_has_a_gradient():
    x = minigrad.ones(2)
    x.numpy()[0] = 5
    assert x.tolist() == [5.0, 1.0]
    assert np.shares_memory(minigrad.from_numpy(x.numpy()).numpy(), x.numpy())
    with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\) instead"):
        minigrad.ones(2, requires_grad=True).numpy()


def test_tensor_copies_its_data():
    a = np.ones(2)
    x = minigrad.tensor(a)
    a[0] = 5
    assert x.tolist() == [1.0, 1.0]


def test_a_gradient_can_be_assigned_if_it_fits():
    x = minigrad.ones(2, requires_grad=True)
    x.grad = minigrad.ones(2)
    x.grad.zero_()
    assert x.grad.tolist() == [0.0, 0.0]
    x.grad = None
    assert x.grad is None
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor"):
        x.grad = np.ones(2)
    with pytest.raises(RuntimeError, match="different size"):
        x.grad = minigrad.ones(3)


def test_requires_grad_of_results_cannot_be_switched_off():
    y = minigrad.ones(2, requires_grad=True) * 2
    with pytest.raises(
        RuntimeError, match="you can only change requires_grad flags of leaf variables"
    ):
        y.requires_grad = False
    assert not y.detach().requires_grad


def test_deepcopy_copies_leaves_only():
    x = minigrad.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    y.grad.zero_()
    assert y.requires_grad and y is not x and x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)


def test_max_and_min_along_an_axis_give_values_and_places():
    x = minigrad.tensor([[1.0, 3.0, 3.0], [5.0, 2.0, 0.0]], requires_grad=True)
    values, indices = x.max(dim=1)
    values.sum().backward()

    assert values.tolist() == [3.0, 5.0] and indices.tolist() == [1, 0]
    assert x.grad.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert x.min(0, keepdim=True).values.shape == (1, 3)


def test_arbitrary_attributes_may_be_attached():
    x = minigrad.ones(2)
    x.label = "x"
    assert x.label == "x"
