"""nn.functional, by numbers that can be checked by hand."""

from functools import partial

import numpy as np
import pytest

import minigrad
from minigrad import tensor
from minigrad.nn import functional as F
from tests.numeric import assert_close


def test_linear_is_a_product_and_a_bias():
    x, w, b = (
        tensor([[1.0, 2.0]], requires_grad=True),
        tensor([[3.0, 4.0]], requires_grad=True),
        tensor([0.5]),
    )
    z = F.linear(x, w, b)
    z.sum().backward()

    assert z.tolist() == [[11.5]]
    assert (x.grad.tolist(), w.grad.tolist()) == ([[3, 4]], [[1, 2]])
    assert [n and n.name() for n, _ in z.grad_fn.next_functions] == [
        None,
        "AccumulateGrad",
        "TBackward0",
    ]


def test_the_gradient_of_cross_entropy_is_p_minus_onehot():
    x = tensor([[0.0, 0.0], [0.0, np.log(3)]], requires_grad=True)
    loss = F.cross_entropy(x, tensor([0, 0]))
    loss.backward()

    assert_close(loss.item(), (np.log(2) + np.log(4)) / 2, rtol=1e-6)
    assert_close(x.grad, np.array([[0.5 - 1, 0.5], [0.25 - 1, 0.75]]) / 2, rtol=1e-6)
    assert loss.grad_fn.name() == "NllLossBackward0"


def test_great_scores_do_not_overflow():
    x = tensor([[1e4, 0.0, -1e4]], requires_grad=True)
    F.cross_entropy(x, tensor([1])).backward()

    assert x.grad.tolist() == [[1, -1, 0]]
    assert F.softmax(x, dim=1).tolist() == [[1, 0, 0]]
    assert F.softplus(tensor([1e4, -1e4])).tolist() == [1e4, 0]
    assert F.logsigmoid(tensor([1e4, -1e4])).tolist() == [0, -1e4]


def test_a_target_that_is_no_class_is_named_with_its_row():
    with pytest.raises(IndexError, match="Target 7 .* 3 classes .* row 1"):
        F.cross_entropy(minigrad.zeros(2, 3), tensor([0, 7]))


def test_ignored_rows_have_no_gradient():
    x = minigrad.zeros(2, 2, requires_grad=True)
    F.cross_entropy(x, tensor([-100, 1])).backward()

    assert x.grad.tolist() == [[0, 0], [0.5, -0.5]]


def test_a_convolution_is_a_sliding_sum_of_products():
    x = minigrad.arange(9.0).reshape(1, 1, 3, 3).requires_grad_()
    w = tensor([[[[1.0, 2.0], [3.0, 4.0]]]], requires_grad=True)
    z = F.conv2d(x, w)
    z.sum().backward()

    assert z.tolist() == [[[[27, 37], [57, 67]]]]
    assert x.grad.tolist() == [[[[1, 3, 2], [4, 10, 6], [3, 7, 4]]]]
    assert w.grad.tolist() == [[[[8, 12], [20, 24]]]]


@pytest.mark.parametrize("channels", [1, 20])
def test_a_convolution_and_its_gradients_lie_in_memory_as_they_are_seen(channels):
    x, w = minigrad.ones(2, channels, 6, 6), minigrad.ones(3, channels, 3, 3)
    z = F.conv2d(x.requires_grad_(), w.requires_grad_())

    z.sum().backward()

    assert z.is_contiguous() and x.grad.is_contiguous() and w.grad.is_contiguous()


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(
    "shape, kernels, groups, padding",
    [
        ((3, 8, 56, 56), (8, 8, 3, 3), 1, 1),  # the gradient of x is a convolution
        ((3, 8, 56, 56), (24, 8, 3, 3), 1, 1),  # or is added up, if there are many outputs
        ((3, 32, 28, 28), (64, 1, 5, 5), 32, 2),
        ((700, 8, 6, 6), (4, 8, 5, 5), 1, 0),  # windows are rows of a matrix
        ((700, 8, 6, 6), (6, 4, 5, 5), 2, 0),
    ],
    ids=str,
)
def test_a_convolution_of_a_large_batch_is_that_of_its_parts(
    shape, kernels, groups, padding, stride
):
    r = np.random.default_rng(1)
    x, w = (tensor(r.normal(size=s), requires_grad=True) for s in (shape, kernels))

    z = F.conv2d(x, w, stride=stride, padding=padding, groups=groups)
    g = tensor(r.normal(size=z.shape))
    found = minigrad.autograd.grad(z, [x, w], g)

    alone = np.pad(x.detach().numpy(), [(0, 0), (0, 0), (padding,) * 2, (padding,) * 2])
    windows = np.lib.stride_tricks.sliding_window_view(alone, kernels[2:], (2, 3))
    windows = windows[:, :, ::stride, ::stride].reshape(
        len(x), groups, -1, *z.shape[2:], *kernels[2:]
    )
    by_group = w.detach().numpy().reshape(groups, -1, *kernels[1:])
    expected = np.einsum("ngchwij,gocij->ngohw", windows, by_group, optimize=True)
    np.testing.assert_allclose(z.detach().numpy(), expected.reshape(z.shape), rtol=1e-9, atol=1e-9)
    gs = g.numpy().reshape(len(x), groups, -1, *z.shape[2:])
    dw = np.einsum("ngohw,ngchwij->gocij", gs, windows, optimize=True)
    np.testing.assert_allclose(found[1].numpy(), dw.reshape(kernels), rtol=1e-9, atol=1e-9)
    # dL/dx is the adjoint: <dL/dx, v> = <g, conv(v)> for every v.
    v = tensor(r.normal(size=shape))
    moved = F.conv2d(v, w.detach(), stride=stride, padding=padding, groups=groups)
    np.testing.assert_allclose((found[0] * v).sum().item(), (g * moved).sum().item(), rtol=1e-9)


def test_pooling_gives_its_gradient_to_the_first_of_equals():
    x = tensor([[[1.0, 1.0], [0.0, 1.0]]], requires_grad=True)
    F.max_pool2d(x, 2).sum().backward()
    assert x.grad.tolist() == [[[1, 0], [0, 0]]]

    x.grad = None
    F.avg_pool2d(x, 2).sum().backward()
    assert x.grad.tolist() == [[[0.25, 0.25], [0.25, 0.25]]]


def test_a_row_read_twice_gets_two_gradients_and_the_padding_none():
    w = minigrad.zeros(3, 2, requires_grad=True)
    F.embedding(tensor([0, 0, 1, 2]), w, padding_idx=2).sum().backward()

    assert w.grad.tolist() == [[2, 2], [1, 1], [0, 0]]


def test_a_sparse_embedding_keeps_only_the_rows_that_were_read():
    w = minigrad.zeros(3, 2, requires_grad=True)
    F.embedding(tensor([1, 1, 2]), w, padding_idx=2, sparse=True).sum().backward()

    assert repr(w.grad.array) == "RowSparse(rows [1, 1] of (3, 2))"
    assert w.grad.array.to_dense().tolist() == [[0, 0], [2, 2], [0, 0]]


def test_layer_norm_gives_mean_0_and_variance_1():
    z = F.layer_norm(tensor([[1.0, 3.0], [-5.0, 5.0]]), (2,), eps=0.0)

    assert z.tolist() == [[-1, 1], [-1, 1]]


def test_one_hot_and_pad():
    assert F.one_hot(tensor([1, 0]), 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert F.pad(tensor([1, 2]), (1, 2)).tolist() == [0, 1, 2, 0, 0]
    assert F.pad(tensor([[1.0, 2.0, 3.0]]), (1, 1), mode="circular").tolist() == [[3, 1, 2, 3, 1]]


@pytest.mark.parametrize(
    "name", ["relu", "leaky_relu", "elu", "silu", "hardtanh", "mish", "selu", "celu"]
)
def test_an_activation_in_place_has_the_same_gradient(name):
    grads = []
    for inplace in (False, True):
        w = tensor([-1.5, -0.5, 0.5, 1.5], requires_grad=True)
        x = w * 1
        z = getattr(F, name)(x, inplace=inplace)
        z.sum().backward()
        assert (z is x) == inplace
        grads.append(w.grad)

    assert_close(grads[0], grads[1])


def test_a_target_of_another_size_is_warned_about():
    with pytest.warns(UserWarning, match="target size .* different to the input size"):
        F.mse_loss(minigrad.ones(3, 1), minigrad.ones(3))


def test_what_a_loss_computes_in_single_precision_stays_there():
    x = tensor([[0.5, 0.25]], requires_grad=True)
    t = tensor([[1.0, 0.0]])
    for loss in (
        F.mse_loss,
        F.l1_loss,
        F.huber_loss,
        F.binary_cross_entropy,
        F.binary_cross_entropy_with_logits,
        partial(F.kl_div, reduction="sum"),
    ):
        x.grad = None
        z = loss(x, t)
        z.backward()

        assert z.dtype == x.grad.dtype == minigrad.float32


def test_a_window_is_checked_although_an_equal_one_is_known():
    x = minigrad.ones(1, 1, 4, 4)
    F.max_pool2d(x, 2)
    F.max_pool2d(x, (2, 2))

    for size in (2.0, (2.0, 2), True):
        with pytest.raises(TypeError, match="argument 'kernel_size' must be"):
            F.max_pool2d(x, size)


def test_the_mean_of_weighted_huber_losses_divides_by_their_number():
    x, weight = tensor([1.0, 2.0]), tensor([1.0, 3.0])

    assert F.huber_loss(x, x + 0.5, weight=weight).item() == 0.25
    assert F.mse_loss(x, x + 0.5, weight=weight).item() == 0.25
    assert F.huber_loss(x, x + 0.5, weight=weight, reduction="sum").item() == 0.5


def test_without_frames_only_the_empty_target_is_possible():
    x = minigrad.randn(1, 2, 4).log_softmax(2).requires_grad_()
    loss = F.ctc_loss(x, tensor([[1], [2]]), [0, 0], [0, 1], reduction="none")
    loss.sum().backward()

    assert loss.tolist() == [0, float("inf")]
    assert x.grad.tolist() == np.zeros((1, 2, 4)).tolist()


def test_the_slope_of_softshrink_where_it_leaves_zero_is_0():
    x = minigrad.tensor([-0.6, -0.5, 0.0, 0.5, 0.6], requires_grad=True)

    F.softshrink(x).sum().backward()

    assert x.grad.tolist() == [1.0, 0.0, 0.0, 0.0, 1.0]
