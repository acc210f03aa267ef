"""Linear algebra, by numbers that can be checked by hand."""

import numpy as np
import pytest

import minigrad
from minigrad import Tensor, linalg


def test_the_inverse_of_a_diagonal_matrix():
    z = linalg.inv(Tensor([[2.0, 0.0], [0.0, 4.0]]))

    assert z.tolist() == [[0.5, 0.0], [0.0, 0.25]]


def test_a_solution_solves_the_equation():
    a, b = Tensor([[2.0, 1.0], [1.0, 3.0]]), Tensor([3.0, 5.0])

    np.testing.assert_allclose((a @ linalg.solve(a, b)).numpy(), b.numpy(), rtol=1e-6)


def test_the_determinant_of_a_singular_matrix_has_its_cofactors_for_gradient():
    a = Tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    linalg.det(a).backward()

    assert a.grad.tolist() == [[4.0, -2.0], [-2.0, 1.0]]


def test_the_gradient_of_log_det_is_the_inverse_transposed():
    a = Tensor([[2.0, 1.0], [0.0, 4.0]], requires_grad=True)
    a.logdet().backward()

    np.testing.assert_allclose(a.grad.numpy(), np.linalg.inv(a.detach().numpy()).T, rtol=1e-6)


def test_eigenvectors_turn_a_symmetric_matrix_into_a_diagonal_one():
    a = Tensor([[2.0, 1.0], [1.0, 2.0]])
    w, v = linalg.eigh(a)

    np.testing.assert_allclose(w.numpy(), [1.0, 3.0], rtol=1e-6)
    np.testing.assert_allclose((v.T @ a @ v).numpy(), np.diag([1.0, 3.0]), atol=1e-6)


def test_the_nuclear_norm_is_the_sum_of_the_singular_values():
    a = Tensor([[3.0, 0.0], [0.0, -4.0]], requires_grad=True)
    z = a.norm("nuc")
    z.backward()

    assert z.item() == pytest.approx(7.0)
    np.testing.assert_allclose(a.grad.numpy(), [[1.0, 0.0], [0.0, -1.0]], atol=1e-6)


def test_a_product_of_many_takes_the_cheap_order(monkeypatch):
    """(row @ column) first, which is one number, not (column @ row), which are a million."""
    sizes, product = [], Tensor.__matmul__
    monkeypatch.setattr(
        Tensor, "__matmul__", lambda x, y: sizes.append((z := product(x, y)).numel()) or z
    )

    linalg.multi_dot([minigrad.ones(1000, 1), minigrad.ones(1, 1000), minigrad.ones(1000, 1)])

    assert sorted(sizes) == [1, 1000]


def test_numpy_functions_of_matrices_are_recorded():
    a = Tensor([[2.0, 0.0], [0.0, 4.0]], requires_grad=True)

    assert np.linalg.inv(a).grad_fn.name() == "InverseBackward"
    assert np.linalg.det(a).item() == 8
    assert np.kron(a, a).shape == (4, 4)


def test_a_singular_matrix_is_refused_by_name():
    with pytest.raises(linalg.LinAlgError, match="linalg.inv: .* singular"):
        linalg.inv(minigrad.zeros(2, 2))
