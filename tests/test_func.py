"""Derivatives of functions: both modes, nested in every order, against formulas and differences."""

import numpy as np
import pytest

import minigrad
from minigrad import func
from minigrad.autograd import functional
from tests.numeric import numeric_vjp

r = np.random.default_rng(0)
A = minigrad.tensor(r.normal(size=(3, 4)))
X = minigrad.tensor(r.normal(size=4))
V = minigrad.tensor(r.normal(size=4))


def layer(x):
    return (A @ x).tanh()


def energy(x):
    return (layer(x) ** 2).sum() + x[0] * x[1]


J = np.array([numeric_vjp(lambda x: np.tanh(A.numpy() @ x), X.numpy(), e) for e in np.eye(3)])


def test_jacobians_by_rows_and_by_columns():
    np.testing.assert_allclose(func.jacrev(layer)(X), J, rtol=1e-7)
    np.testing.assert_allclose(func.jacfwd(layer)(X), J, rtol=1e-7)
    np.testing.assert_allclose(functional.jacobian(layer, X), J, rtol=1e-7)
    np.testing.assert_allclose(functional.jacobian(layer, X, strategy="forward-mode"), J, rtol=1e-7)


def test_products_with_the_jacobian():
    g = minigrad.tensor(r.normal(size=3))
    np.testing.assert_allclose(func.vjp(layer, X)[1](g)[0], g.numpy() @ J, rtol=1e-7)
    np.testing.assert_allclose(func.jvp(layer, (X,), (V,))[1], J @ V.numpy(), rtol=1e-7)
    np.testing.assert_allclose(functional.vjp(layer, X, g)[1], g.numpy() @ J, rtol=1e-7)
    np.testing.assert_allclose(functional.jvp(layer, X, V)[1], J @ V.numpy(), rtol=1e-7)
    np.testing.assert_allclose(func.linearize(layer, X)[1](V), J @ V.numpy(), rtol=1e-7)


def test_hessians_in_all_four_orders_agree():
    H = func.hessian(energy)(X).numpy()
    np.testing.assert_allclose(H, H.T, rtol=1e-10)
    for outer in (func.jacfwd, func.jacrev):
        for inner in (func.jacfwd, func.jacrev):
            np.testing.assert_allclose(outer(inner(energy))(X), H, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(functional.hessian(energy, X), H, rtol=1e-10)
    np.testing.assert_allclose(functional.hvp(energy, X, V)[1], H @ V.numpy(), rtol=1e-10)
    np.testing.assert_allclose(functional.vhp(energy, X, V)[1], H @ V.numpy(), rtol=1e-10)
    step = 1e-5
    gradient = func.grad(energy)
    numeric = [
        (gradient(X + step * e).numpy() - gradient(X - step * e).numpy()) / (2 * step)
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(H, numeric, rtol=1e-6, atol=1e-8)


def test_third_derivatives():
    f = func.grad(func.grad(func.grad(lambda x: x**5)))
    forward = lambda x: func.jvp(
        lambda x: func.jvp(lambda x: func.jvp(lambda x: x**5, (x,), (one,))[1], (x,), (one,))[1],
        (x,),
        (one,),
    )[1]
    x, one = (
        minigrad.tensor(2.0, dtype=minigrad.float64),
        minigrad.tensor(1.0, dtype=minigrad.float64),
    )
    assert f(x).item() == forward(x).item() == 240.0


def test_the_levels_of_nested_forward_mode_are_kept_apart():
    """d/dx [x * d/dy (x + y)] = 1: the classic test of perturbation confusion."""
    one = minigrad.tensor(1.0)

    def derivative(f, x):
        return func.jvp(f, (x,), (one,))[1]

    assert derivative(lambda x: x * derivative(lambda y: x + y, one), one).item() == 1.0


def test_arguments_and_structures():
    f = lambda a, b, scale=1.0: (a * b["w"]).sum() * scale
    a, b = minigrad.tensor([1.0, 2.0]), {"w": minigrad.tensor([3.0, 4.0])}
    ga, gb = func.grad(f, argnums=(0, 1))(a, b, scale=2.0)
    assert ga.tolist() == [6.0, 8.0] and gb["w"].tolist() == [2.0, 4.0]
    g, (value, aux) = func.grad_and_value(lambda x: (x.sum(), "seen"), has_aux=True)(a)
    assert (g.tolist(), value.item(), aux) == ([1.0, 1.0], 3.0, "seen")
    two = func.jacrev(lambda x: (x * 2, x.sum()))(a)
    assert two[0].tolist() == [[2.0, 0.0], [0.0, 2.0]] and two[1].tolist() == [1.0, 1.0]


def test_results_are_connected_to_what_was_differentiated_outside_only():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    x = minigrad.tensor([3.0, 4.0])
    inner = func.grad(lambda x: (w * x * x).sum())(x)
    assert inner.requires_grad
    inner.sum().backward()
    assert w.grad.tolist() == [6.0, 8.0]
    assert not func.grad(lambda x: (x * x).sum())(x).requires_grad
    assert func.grad(lambda x: (x * x).sum())(w).requires_grad
    assert not functional.jacobian(lambda x: x * x, w).requires_grad


def test_vmap_maps_over_a_batch():
    batch = minigrad.tensor(r.normal(size=(5, 4)))
    rows = func.vmap(func.grad(energy))(batch)
    np.testing.assert_allclose(rows[3], func.grad(energy)(batch[3]))
    np.testing.assert_allclose(
        func.vmap(layer, out_dims=1)(batch), np.tanh(A.numpy() @ batch.numpy().T)
    )


def test_errors():
    with pytest.raises(RuntimeError, match="Expected f.* to return a scalar tensor"):
        func.grad(layer)(X)
    with pytest.raises(RuntimeError, match="tuples"):
        func.jvp(layer, X, V)
    with pytest.raises(RuntimeError, match="different size"):
        func.jvp(layer, (X,), (V[:2],))
    with pytest.raises(RuntimeError, match="no level exists"):
        minigrad.autograd.forward_ad.make_dual(X, V)
