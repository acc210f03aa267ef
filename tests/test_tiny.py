"""A tour of the engine in a second: one short program for each thing it can do."""

import numpy as np

import minigrad


def test_a_gradient():
    x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_chain_of_functions():
    x = minigrad.tensor(0.5, dtype=minigrad.float64, requires_grad=True)
    x.exp().sin().log().backward()
    np.testing.assert_allclose(x.grad.item(), np.exp(0.5) / np.tan(np.exp(0.5)))


def test_a_layer():
    r = np.random.default_rng(0)
    x, w, b = (minigrad.tensor(r.normal(size=s)) for s in [(5, 3), (3, 2), (2,)])
    w.requires_grad_(), b.requires_grad_()
    (x @ w + b).relu().mean().backward()
    mask = (x.numpy() @ w.detach().numpy() + b.detach().numpy() > 0) / 10
    np.testing.assert_allclose(w.grad, x.numpy().T @ mask)
    np.testing.assert_allclose(b.grad, mask.sum(0))


def test_descent():
    w = minigrad.tensor([5.0, -3.0], requires_grad=True)
    for _ in range(50):
        loss = ((w - minigrad.tensor([1.0, 2.0])) ** 2).sum()
        w.grad = None
        loss.backward()
        with minigrad.no_grad():
            w -= 0.2 * w.grad
    np.testing.assert_allclose(w.detach(), [1.0, 2.0], atol=1e-5)


def test_numpy_speaks_too():
    x = minigrad.tensor([[1.0, 2.0]], requires_grad=True)
    y = np.sum(np.exp(x) * np.array([[3.0, 4.0]], np.float32), axis=1)
    y.backward(np.ones(1))
    np.testing.assert_allclose(x.grad, np.exp(x.detach().numpy()) * [[3.0, 4.0]], rtol=1e-6)


def test_a_second_derivative():
    x = minigrad.tensor(3.0, requires_grad=True)
    (first,) = minigrad.autograd.grad(x**3, x, create_graph=True)
    (second,) = minigrad.autograd.grad(first, x)
    assert (first.item(), second.item()) == (27.0, 18.0)


def test_stepping_through_a_pass():
    x = minigrad.tensor(3.0, requires_grad=True)
    z = (x * x).exp()
    task = minigrad.core.engine.GraphTask([z.grad_fn], [np.float32(1)])
    assert [s.node.name() for s in task.steps()] == [
        "ExpBackward0",
        "MulBackward0",
        "AccumulateGrad",
    ]


def test_writing_in_place():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y[0] *= 10
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 1.0]


def test_a_hook():
    x = minigrad.tensor(1.0, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    (x * 3).backward()
    assert x.grad.item() == 6.0
