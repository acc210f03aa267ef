"""An argument that must be a tensor and is not: the error names it."""

import inspect
import pickle

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.methods.methods_as_functions import FUNCTIONS
from minigrad.nn import functional as F

X = minigrad.ones(2, 3)
A = np.ones((2, 3), np.float32)
IMAGE = np.ones((1, 1, 4, 4), np.float32)


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: nn.Linear(3, 2)(A), "linear(): argument 'input' (position 1) must be Tensor, not numpy.ndarray"),
        (lambda: nn.Linear(3, 2)([1.0]), "linear(): argument 'input' (position 1) must be Tensor, not list"),
        (lambda: F.mse_loss(X, None), "mse_loss(): argument 'target' (position 2) must be Tensor, not NoneType"),
        (lambda: F.linear(X, weight=A), "argument 'weight' (position 2) must be Tensor"),
        (lambda: nn.CrossEntropyLoss()(A, minigrad.tensor([0, 1])), "argument 'input' (position 1)"),
        (lambda: minigrad.linalg.inv(np.eye(2)), "inv(): argument 'A' (position 1) must be Tensor"),
        (lambda: X[0].dot([1.0, 2.0, 3.0]), "dot(): argument 'tensor' (position 1) must be Tensor, not list"),
        (lambda: minigrad.dot(X[0], 2), "dot(): argument 'tensor' (position 2) must be Tensor, not int"),
        (lambda: X.equal(A), "equal(): argument 'other' (position 1) must be Tensor, not numpy.ndarray"),
        (lambda: minigrad.gcd(minigrad.tensor([4]), 2), "gcd(): argument 'other' (position 2) must be Tensor"),
        (lambda: minigrad.ones_like(A), "ones_like(): argument 'input' (position 1) must be Tensor"),
        (lambda: minigrad.broadcast_tensors(X, A), "argument 'tensors' (position 2) must be Tensor"),
        (lambda: X.index_add(0, minigrad.tensor([0]), A), "argument 'source' (position 3) must be Tensor"),
        (lambda: minigrad.cat([X, A]), "expected Tensor as element 1 in argument 0, but got numpy.ndarray"),
    ],
)  # fmt: skip
def test_the_error_names_the_argument(call, said):
    with pytest.raises(TypeError) as error:
        call()

    assert said in str(error.value)


@pytest.mark.parametrize("f", [F.gelu, lambda a: F.max_pool2d(a, 2), lambda a: F.pad(a, (1, 1))])
def test_a_function_of_ops_alone_does_not_return_an_array_for_an_array(f):
    with pytest.raises(TypeError, match="must be Tensor, not numpy.ndarray"):
        f(IMAGE)


def test_what_is_none_is_told_to_be_a_missing_return():
    with pytest.raises(TypeError, match="does it end with a return"):
        F.relu(None)


def test_an_error_of_another_cause_stays_what_it_is():
    class Odd(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.nothing_of_the_kind

    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        F.triplet_margin_with_distance_loss(X, X, X, distance_function=lambda a, b: Odd.apply(a))


def test_functions_can_still_be_pickled():
    assert pickle.loads(pickle.dumps(F.linear)) is F.linear


def test_out_of_another_shape_is_resized_with_a_warning():
    out = minigrad.zeros(3)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized") as told:
        minigrad.cat([X, X], out=out)

    assert out.shape == (4, 3) and told[0].filename == __file__


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.mse_loss(X, minigrad.ones(3)),
        lambda: nn.MSELoss()(X, minigrad.ones(3)),
        lambda: F.softmin(X),
        lambda: F.l1_loss(X, X, reduce=True),
        lambda: nn.L1Loss(reduce=True),
        lambda: F.upsample(minigrad.tensor(IMAGE), scale_factor=2),
        lambda: minigrad.range(1, 2),
        lambda: minigrad.tensor(X),
        lambda: minigrad.meshgrid(minigrad.ones(2)),
        lambda: minigrad.ones(2).T,
        lambda: F.kl_div(X, X),
        lambda: F.dropout2d(minigrad.ones(1, 2, 3)),
        lambda: nn.InstanceNorm2d(7)(minigrad.tensor(IMAGE)),
    ],
)
def test_a_warning_points_to_the_users_line(call):
    with pytest.warns(UserWarning) as told:
        call()

    assert {w.filename for w in told} == {__file__}


def test_help_shows_the_names_by_which_a_function_is_called():
    for name, function in FUNCTIONS.items():
        first, *others = inspect.signature(function).parameters
        assert first == "input" and "out" in others, name
