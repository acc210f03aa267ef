"""The checker of gradients, which must also fail."""

import numpy as np
import pytest

import minigrad
from minigrad import ops
from minigrad.autograd import Function, gradcheck, gradgradcheck
from minigrad.autograd.numerical import GradcheckError, complex_step


@pytest.fixture
def x():
    return minigrad.tensor([[0.5, 1.0], [1.5, 2.0]], dtype=minigrad.float64, requires_grad=True)


class WrongCube(Function):
    """x ** 3 with the derivative of a learner who forgot the square at one entry."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        d = 3 * x**2
        d = d - (x == 1.5) * 0.5
        return g * d

    @staticmethod
    def jvp(ctx, x_dot):
        (x,) = ctx.saved_tensors
        return x_dot * 3 * x


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.log().sum(), lambda x: (x @ x).tanh(), lambda x: x[:, 0] * x[1], lambda x: (x, x.exp().mean(1)),
        lambda x: x.reshape(4).max(), lambda x: minigrad.cat([x, x * x]),
    ],
)  # fmt: skip
def test_right_gradients_pass(f, x):
    assert gradcheck(f, x, check_forward_ad=True)
    assert gradgradcheck(f, x, check_fwd_over_rev=True)


def test_a_wrong_rule_is_found_and_located(x):
    with pytest.raises(
        GradcheckError, match=r"(?s)output 0 with respect to input 0: 1 of 16"
    ) as caught:
        gradcheck(WrongCube.apply, x)
    message = str(caught.value)
    assert "d output[1, 0] / d input[1, 0]" in message
    assert "numerical      6.75" in message and "analytical     6.25" in message
    assert "made by        WrongCubeBackward" in message
    assert gradcheck(WrongCube.apply, x, raise_exception=False) is False


def test_a_wrong_gradient_of_a_weight_that_the_function_does_not_take_as_its_argument_is_found(x):
    layer = minigrad.nn.Linear(2, 2).double()

    assert gradcheck(lambda x, *weights: layer(x), (x, *layer.parameters()))
    assert gradgradcheck(lambda x, *weights: layer(x).tanh(), (x, *layer.parameters()))
    with pytest.raises(GradcheckError, match="output 0 with respect to input 0: 1 of 16"):
        gradcheck(lambda weight: WrongCube.apply(x), (x,))


def test_the_function_gets_the_tensors_themselves(x):
    weight, seen = minigrad.nn.Parameter(x.detach()), []

    assert gradcheck(lambda w: seen.append(w) or w.exp(), (weight,))
    assert gradgradcheck(lambda w: seen.append(w) or w.exp(), (weight,))

    assert all(w is weight for w in seen)
    assert minigrad.equal(weight, x) and weight.grad is None


def test_results_without_a_gradient_are_not_compared_if_there_are_others(x):
    assert gradcheck(lambda x: (x.exp(), x.detach()), x)
    assert gradgradcheck(lambda x: (x.detach(), x.exp()), x)


def test_a_wrong_tangent_is_found(x):
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch"):
        gradcheck(WrongCube.apply, x, check_backward_ad=False, check_forward_ad=True)


@pytest.mark.parametrize("op", [ops.mul, ops.exp, ops.matmul, ops.div], ids=lambda op: op.name)
def test_a_row_of_the_table_that_is_changed_is_found(op, x, monkeypatch):
    y = (x.detach() + 1).requires_grad_()
    right = op.rules["x"]
    args = (x, y) if len(op.operands) == 2 else (x,)
    assert gradcheck(op, args)
    monkeypatch.setitem(
        op.rules, "x", type(right)(lambda g, *reads: 1.01 * right.formula(g, *reads), right.reads)
    )
    monkeypatch.setattr(op, "plans", {})
    with pytest.raises(GradcheckError):
        gradcheck(op, args)


def test_a_gradient_that_is_right_once_only(x):
    class Detached(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * g * x.detach()

    assert gradcheck(Detached.apply, x)
    with pytest.raises(GradcheckError):
        gradgradcheck(Detached.apply, x)


def test_a_part_that_was_left_out_of_the_graph_is_found(x):
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: x.detach() * x, x)


def test_what_cannot_be_checked(x):
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, x.detach())
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(lambda x: x * 2, minigrad.ones(2, requires_grad=True), eps=1e-2)


def test_the_warning_about_float32_is_at_the_users_line():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    for check in (gradcheck, gradgradcheck):
        with pytest.warns(UserWarning, match="not a double precision") as warned:
            check(lambda x: x * x, (x,), raise_exception=False)

        assert {w.filename for w in warned} == {__file__}


def test_complex_step_is_exact():
    f = lambda x: np.exp(np.sin(x)) / (1 + x * x)
    x = np.array([0.3, 1.7])
    exact = f(x) * (np.cos(x) - 2 * x / (1 + x * x))
    np.testing.assert_allclose(complex_step(f, x), exact, rtol=1e-15)


def hooked(x):
    z = x.clone()
    z.register_hook(lambda g: g + 0.01)
    return z


class Noisy(Function):
    """Its backward gives something else each time."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        Noisy.calls += 1
        return g * (1 + 1e-6 * Noisy.calls)


REFUSED = {
    "Jacobian mismatch for output 0": (hooked, {}),
    "Backward is not reentrant": (Noisy.apply, {}),
    "backward not multiplied by grad_output": (hooked, {"atol": 1.0}),
    "same shape when inputs are perturbed": (lambda x: x[x >= 1], {}),
    "at least one of check_forward_ad": (minigrad.exp, {"check_backward_ad": False}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_gradcheck_refuses(message):
    f, how = REFUSED[message]
    x = minigrad.ones(2, dtype=minigrad.float64, requires_grad=True)

    with pytest.raises((GradcheckError, AssertionError), match=message):
        gradcheck(f, x, **how)
    if f is Noisy.apply:
        assert gradcheck(f, x, nondet_tol=1e-3)


@pytest.mark.parametrize("f", [lambda x: None, lambda x: x.sum().item()])
def test_a_function_that_returns_no_tensor_is_refused(f, x):
    with pytest.raises(
        TypeError, match="gradcheck: the function returned .*must return the tensor"
    ):
        gradcheck(f, x)
