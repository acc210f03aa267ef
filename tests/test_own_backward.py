"""Mistakes in the backward of a Function are found by recording its forward."""

import numpy as np
import pytest

import minigrad
from minigrad import tensor
from minigrad.autograd import Function
from minigrad.teach import diagnose_backward

X = tensor([0.5, -1.25, 2.0], dtype=minigrad.float64)
A = tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 4.0], [2.0, 0.25, -3.0]], dtype=minigrad.float64)


def function(forward, backward):
    """A Function that saves its arguments, with this forward and backward of them."""

    class Own(Function):
        @staticmethod
        def forward(ctx, *args):
            ctx.save_for_backward(*args)
            return forward(*args)

        @staticmethod
        def backward(ctx, g):
            return backward(g, *ctx.saved_tensors)

    return Own


def swish(x):
    return x * x.sigmoid()


def swish_backward(g, x):
    s = x.sigmoid()
    return g * (s + x * s * (1 - s))


MISTAKES = {
    "the derivative of the inner function": (
        swish, lambda g, x: g * (x.sigmoid() + x * x.sigmoid()), (X,), 0, "Sigmoid"),
    "one of two paths": (swish, lambda g, x: g * x.sigmoid(), (X,), 0, "path"),
    "no incoming gradient": (
        swish, lambda g, x: swish_backward(1, x), (X,), 0, "gradient that arrives"),
    "a transpose, first operand": (
        minigrad.matmul, lambda g, a, b: (g @ b, a.T @ g), (A, A + 1), 0, "transpose"),
    "a transpose, second operand": (
        minigrad.matmul, lambda g, a, b: (g @ b.T, a @ g), (A, A + 1), 1, "transpose"),
    "the 1/n of a mean": (
        lambda x: (x * x).mean(), lambda g, x: g * 2 * x, (X,), 0, "divides by 3"),
}  # fmt: skip


@pytest.mark.parametrize("forward, backward, inputs, wrt, said", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_backward_is_named(forward, backward, inputs, wrt, said):
    found = diagnose_backward(function(forward, backward).apply, *inputs, wrt=wrt)

    assert said in found.message


def test_a_function_may_be_applied_within_others_and_keep_its_context_apart():
    class Cube(Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x

    found = diagnose_backward(lambda x: Cube.apply(x.sin()).exp().sum(), X)

    assert "Pow" in found.message
    assert "apply" not in vars(Cube) and Cube.apply(X).equal(X**3)


NOTHING = {
    "a right backward": function(swish, swish_backward).apply,
    "no Function": swish,
    "a forward in NumPy": function(lambda x: tensor(np.exp(x.numpy())), lambda g, x: g).apply,
    "a forward that draws": function(lambda x: x * minigrad.rand(3), lambda g, x: g * x).apply,
    "several results": function(lambda x: (x, 2 * x), lambda g, h, x: g).apply,
}


@pytest.mark.parametrize("f", NOTHING.values(), ids=NOTHING)
def test_otherwise_nothing_is_said(f):
    assert diagnose_backward(f, X) is None


def test_a_function_may_be_applied_by_another_name():
    apply = function(swish, lambda g, x: g * x.sigmoid()).apply

    assert "path" in diagnose_backward(lambda x: apply(x).sum(), X).message


def test_what_the_users_forward_raises_is_not_shown():
    def forward(x):
        assert not minigrad.is_grad_enabled()
        return x * x

    assert diagnose_backward(function(forward, lambda g, x: g * x).apply, X) is None
