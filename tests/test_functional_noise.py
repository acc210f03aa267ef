"""nn.functional where chance comes in: what holds of every draw."""

import numpy as np

import minigrad
from minigrad import tensor
from minigrad.nn import functional as F


def test_gumbel_softmax_gives_weights_that_add_up_to_one():
    minigrad.manual_seed(0)
    z = F.gumbel_softmax(minigrad.zeros(5, 3), tau=0.5)

    np.testing.assert_allclose(z.sum(-1).numpy(), np.ones(5), rtol=1e-6)
    assert (z.array > 0).all()


def test_a_hard_gumbel_softmax_is_one_hot_and_has_the_gradient_of_the_soft_one():
    x = minigrad.zeros(4, 3, requires_grad=True)
    weights = tensor([1.0, 2.0, 3.0])
    minigrad.manual_seed(0)
    hard = F.gumbel_softmax(x, hard=True)
    (of_hard,) = minigrad.autograd.grad((hard * weights).sum(), x)
    minigrad.manual_seed(0)
    (of_soft,) = minigrad.autograd.grad((F.gumbel_softmax(x) * weights).sum(), x)

    np.testing.assert_allclose(np.sort(hard.detach().numpy(), -1), [[0, 0, 1]] * 4, atol=1e-6)
    np.testing.assert_allclose(of_hard.numpy(), of_soft.numpy(), rtol=1e-6)


def test_gumbel_softmax_chooses_as_often_as_softmax_says():
    minigrad.manual_seed(0)
    x = tensor([0.0, np.log(3.0)]).expand(4000, 2)

    share = F.gumbel_softmax(x, hard=True)[:, 1].mean().item()

    assert abs(share - 0.75) < 0.03  # four standard deviations


def test_rrelu_draws_a_slope_for_each_negative_entry():
    minigrad.manual_seed(0)
    x = tensor([-1.0, -1.0, 2.0], requires_grad=True)
    z = F.rrelu(x, 0.1, 0.5, training=True)
    z.sum().backward()

    assert z[2].item() == 2 and z[0].item() != z[1].item()
    assert ((x.grad.array[:2] >= 0.1) & (x.grad.array[:2] <= 0.5)).all()


def test_alpha_dropout_keeps_mean_and_variance():
    minigrad.manual_seed(0)
    z = F.alpha_dropout(minigrad.randn(20000), 0.3, training=True)

    assert abs(z.mean().item()) < 0.05 and abs(z.var().item() - 1) < 0.05


def test_whole_numbers_take_a_real_number_without_its_fraction():
    x = tensor([1, 2, 3])
    x[0] = 7.9
    x[1:].copy_(tensor([2.5, -3.5]))

    assert x.tolist() == [7, 2, -3]
