"""Linear algebra, by numbers that can be checked by hand."""

import warnings

import numpy as np
import pytest

import minigrad
from minigrad import linalg, tensor


def test_the_inverse_of_a_diagonal_matrix():
    z = linalg.inv(tensor([[2.0, 0.0], [0.0, 4.0]]))

    assert z.tolist() == [[0.5, 0.0], [0.0, 0.25]]


def test_a_solution_solves_the_equation():
    a, b = tensor([[2.0, 1.0], [1.0, 3.0]]), tensor([3.0, 5.0])

    np.testing.assert_allclose((a @ linalg.solve(a, b)).numpy(), b.numpy(), rtol=1e-6)


def test_the_determinant_of_a_singular_matrix_has_its_cofactors_for_gradient():
    a = tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    linalg.det(a).backward()

    assert a.grad.tolist() == [[4.0, -2.0], [-2.0, 1.0]]


def test_the_gradient_of_log_det_is_the_inverse_transposed():
    a = tensor([[2.0, 1.0], [0.0, 4.0]], requires_grad=True)
    a.logdet().backward()

    np.testing.assert_allclose(a.grad.numpy(), np.linalg.inv(a.detach().numpy()).T, rtol=1e-6)


def test_eigenvectors_turn_a_symmetric_matrix_into_a_diagonal_one():
    a = tensor([[2.0, 1.0], [1.0, 2.0]])
    w, v = linalg.eigh(a)

    np.testing.assert_allclose(w.numpy(), [1.0, 3.0], rtol=1e-6)
    np.testing.assert_allclose((v.T @ a @ v).numpy(), np.diag([1.0, 3.0]), atol=1e-6)


def test_the_nuclear_norm_is_the_sum_of_the_singular_values():
    a = tensor([[3.0, 0.0], [0.0, -4.0]], requires_grad=True)
    z = a.norm("nuc")
    z.backward()

    assert z.item() == pytest.approx(7.0)
    np.testing.assert_allclose(a.grad.numpy(), [[1.0, 0.0], [0.0, -1.0]], atol=1e-6)


def test_a_product_of_many_takes_the_cheap_order(monkeypatch):
    """(row @ column) first, which is one number, not (column @ row), which are a million."""
    sizes, product = [], minigrad.Tensor.__matmul__
    monkeypatch.setattr(
        minigrad.Tensor, "__matmul__", lambda x, y: sizes.append((z := product(x, y)).numel()) or z
    )

    linalg.multi_dot([minigrad.ones(1000, 1), minigrad.ones(1, 1000), minigrad.ones(1000, 1)])

    assert sorted(sizes) == [1, 1000]


def test_numpy_functions_of_matrices_are_recorded():
    a = tensor([[2.0, 0.0], [0.0, 4.0]], requires_grad=True)

    assert np.linalg.inv(a).grad_fn.name() == "LinalgInvExBackward0"
    assert np.linalg.det(a).item() == 8
    assert np.kron(a, a).shape == (4, 4)


def test_a_matrix_without_an_inverse_or_a_factor_is_refused_with_the_row_where_it_fails():
    good, singular = minigrad.eye(2), tensor([[1.0, 2.0], [2.0, 4.0]])
    indefinite = tensor([[1.0, 2.0], [2.0, 1.0]])
    both = minigrad.stack([good, singular])

    with pytest.raises(linalg.LinAlgError, match="^linalg.inv: The diagonal element 2 is zero"):
        linalg.inv(singular)
    with pytest.raises(
        linalg.LinAlgError, match=r"^torch.linalg.solve: \(Batch element 1\): The solver failed"
    ):
        linalg.solve(both, good)
    with pytest.raises(linalg.LinAlgError, match="the leading minor of order 2 is not positive"):
        linalg.cholesky(indefinite)
    assert linalg.cond(both, 1).tolist() == [1, minigrad.inf]


def test_the_greatest_singular_values_and_the_components_are_found_without_the_others():
    x = minigrad.diag(tensor([5.0, 3.0, 0.0]))[:, [2, 0, 1]]

    U, S, V = minigrad.svd_lowrank(x, q=2)
    _, spread, components = minigrad.pca_lowrank(x + 7, q=2)

    assert S.round(decimals=4).tolist() == [5, 3]
    assert minigrad.allclose(U @ S.diag() @ V.T, x, atol=1e-5)  # float32
    assert minigrad.allclose(((x - x.mean(0)) @ components).norm(dim=0), spread, atol=1e-5)
    with pytest.raises(ValueError, match="not greater than min"):
        minigrad.pca_lowrank(x, q=4)


def test_only_the_named_triangle_of_a_symmetric_matrix_is_read():
    a = tensor([[2.0, 99.0], [0.0, 3.0]])

    assert linalg.eigvalsh(a).tolist() == [2.0, 3.0]
    assert linalg.eigvalsh(a.mT, UPLO="U").tolist() == [2.0, 3.0]
    assert linalg.cholesky(tensor([[4.0, 99.0], [0.0, 9.0]])).tolist() == [[2.0, 0.0], [0.0, 3.0]]


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_inverse_reads_one_triangle_and_differentiates_the_whole(upper):
    factor = tensor([[2.0, 0.0], [1.0, 3.0]], dtype=minigrad.float64)
    factor = (factor.mT if upper else factor).clone().requires_grad_()
    a = factor.mT @ factor if upper else factor @ factor.mT
    (expected,) = minigrad.autograd.grad(linalg.inv(a).exp().sum(), factor)
    z = minigrad.cholesky_inverse(factor, upper)
    (found,) = minigrad.autograd.grad(z.exp().sum(), factor)

    np.testing.assert_allclose(z.numpy(force=True), linalg.inv(a).numpy(force=True), rtol=1e-12)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


def test_what_a_full_svd_adds_to_the_basis_counts_as_constant():
    a = tensor([[3.0], [4.0]], requires_grad=True)
    u, s, vh = linalg.svd(a)
    s.sum().backward()

    assert (u.shape, s.tolist(), vh.shape) == ((2, 2), [5.0], (1, 1))
    np.testing.assert_allclose(a.grad.numpy(), [[0.6], [0.8]], rtol=1e-6)


def test_the_power_0_and_the_sign_of_a_determinant_are_flat():
    a = tensor([[2.0, 0.0], [0.0, -4.0]], requires_grad=True)
    (linalg.matrix_power(a, 0).sum() + linalg.slogdet(a).sign).backward()

    assert a.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_singular_values_below_a_tolerance_count_as_zero():
    a = tensor([[4.0, 0.0], [0.0, 1.0]])

    assert [linalg.matrix_rank(a, atol=t).item() for t in (0.5, 2.0, 5.0)] == [2, 1, 0]
    assert linalg.matrix_rank(a, rtol=0.3).item() == 1
    assert linalg.pinv(a, atol=2.0).tolist() == [[0.25, 0.0], [0.0, 0.0]]


def test_the_driver_of_lstsq_decides_what_is_told():
    a, b = tensor([[1.0], [1.0]]), tensor([[1.0], [3.0]])
    found = {d: linalg.lstsq(a, b, driver=d) for d in ("gelsy", "gelsd", "gels")}

    assert [round(z.solution.item(), 5) for z in found.values()] == [2.0, 2.0, 2.0]
    assert round(found["gelsd"].residuals.item(), 5) == 2.0
    assert [z.rank.tolist() for z in found.values()] == [1, 1, []]


def test_observations_of_a_covariance_are_counted_and_weighted():
    x, twice = tensor([1.0, 1.0, 4.0]), tensor([1.0, 4.0])

    assert twice.cov(fweights=tensor([2, 1])).item() == pytest.approx(x.cov().item())
    assert twice.cov(aweights=tensor([2.0, 1.0]), correction=0).item() == pytest.approx(2.0)
    assert tensor([[1, 3]]).cov().item() == 2.0  # one variable: no axes
    with pytest.raises(RuntimeError, match="fweights to have integral dtype"):
        twice.cov(fweights=tensor([2.0, 1.0]))


def test_a_quantile_has_a_gradient_with_respect_to_where_it_is_taken():
    q = tensor(0.25, requires_grad=True)
    tensor([0.0, 2.0, 8.0]).quantile(q).backward()

    assert q.grad.item() == 4.0  # between 0 and 2, which are half of the way apart


def test_unique_entries_and_weighted_counts_have_gradients():
    x, w = tensor([3.0, 1.0, 3.0], requires_grad=True), tensor([0.5, 1.0, 2.0], requires_grad=True)
    (x.unique() * tensor([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [10.0, 1.0, 0.0]  # to the first of equal entries
    (x.unique_consecutive() * tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [11.0, 11.0, 100.0]

    (tensor([0, 2, 2]).bincount(w) * tensor([1.0, 10.0, 100.0])).sum().backward()
    assert w.grad.tolist() == [1.0, 100.0, 100.0]


def test_a_gradient_of_a_product_with_whole_numbers_has_the_type_of_its_input():
    x = tensor([0.5, 2.0], requires_grad=True)
    (grad,) = minigrad.autograd.grad((x * tensor([3, 4])).sum(), x)

    assert (grad.dtype, grad.tolist()) == (minigrad.float32, [3.0, 4.0])


def test_a_draw_is_flat_in_its_probabilities():
    p = tensor([0.0, 1.0], requires_grad=True)
    minigrad.bernoulli(p).sum().backward()

    assert p.grad.tolist() == [0.0, 0.0]


def test_dropout2d_of_three_axes_drops_the_channels_of_each_example():
    with pytest.warns(UserWarning, match="dropout1d"):
        z = minigrad.nn.functional.dropout2d(minigrad.ones(50, 2, 3), 0.5)

    assert ((z == 0).all(2) | (z == 2).all(2)).all()
    assert 0 < (z[:, :, 0] == 0).sum() < 100


@pytest.mark.parametrize(
    "call",
    [
        lambda: (minigrad.eye(200) * 10).det(),
        lambda: (minigrad.eye(2) * 1e-39).inverse(),
        lambda: minigrad.linalg.solve(minigrad.eye(2) * 1e-38, minigrad.ones(2) * 1e10),
    ],
)
def test_a_result_too_large_for_single_precision_is_infinite_without_a_warning(call):
    with warnings.catch_warnings(action="error"):
        assert call().isinf().any()
