"""An op is one row: its methods, its function, its help and its names on the tape follow."""

import inspect

import numpy as np
import pytest

import minigrad
from minigrad import ops
from minigrad.core.op import BY_NUMPY, REGISTRY, elementwise
from minigrad.methods.from_rows import FromRows
from minigrad.methods.rows import has_methods
from tests.numeric import central_difference


@pytest.fixture
def sinc_squared():
    """A row as docs/architecture.md adds one, declared while the test runs."""

    @elementwise(result="float")
    def sinc_squared(x, *, out=None):
        """z = (sin(x) / x) ** 2        dz/dx = 2 * sin(x) / x * (cos(x) - sin(x) / x) / x"""
        return np.square(np.sin(x) / x, out=out)

    sinc_squared.vjp(x=lambda g, x: g * (2 * np.sin(x) / x * (np.cos(x) - np.sin(x) / x) / x))
    yield sinc_squared
    del REGISTRY["sinc_squared"], FromRows.sinc_squared, FromRows.sinc_squared_
    vars(minigrad).pop("sinc_squared", None)


def test_a_row_has_a_method_a_function_and_a_variant_in_place(sinc_squared):
    x = minigrad.tensor([0.5, 1.5], dtype=minigrad.float64, requires_grad=True)
    expected = (np.sin([0.5, 1.5]) / [0.5, 1.5]) ** 2
    out = minigrad.empty(2, dtype=minigrad.float64)
    minigrad.sinc_squared(x.detach(), out=out)

    for z in (x.sinc_squared(), minigrad.sinc_squared(x), (x * 1).sinc_squared_(), out):
        np.testing.assert_allclose(z.detach(), expected, rtol=1e-12)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.sinc_squared_()
    with pytest.raises(TypeError, match="must be Tensor, not str"):
        minigrad.sinc_squared("x")


def test_a_row_has_gradients_and_a_name_on_the_tape(sinc_squared):
    x = minigrad.tensor([0.5, 1.5], dtype=minigrad.float64, requires_grad=True)
    with minigrad.record() as tape:
        z = x.sinc_squared()
        z.sum().backward()

    slope = central_difference(lambda a: (np.sin(a) / a) ** 2, x.detach().numpy(), np.ones(2))
    np.testing.assert_allclose(x.grad, slope, rtol=1e-6)
    assert z.grad_fn.name() == "SincSquaredBackward0"
    assert "sinc_squared" in str(tape) and "SincSquaredBackward0" in str(tape)
    program = minigrad.static.record(lambda x: x.sinc_squared())(x.detach())
    np.testing.assert_allclose(program(x.detach() + 1), (x.detach() + 1).sinc_squared(), rtol=1e-12)


def test_a_row_has_help_and_source(sinc_squared):
    help_of = inspect.getdoc(minigrad.Tensor.sinc_squared)

    assert help_of.startswith("z = (sin(x) / x) ** 2") and "operands broadcast to" in help_of
    assert "Writes the result into the tensor itself" in inspect.getdoc(
        minigrad.Tensor.sinc_squared_
    )
    assert inspect.getdoc(minigrad.sinc_squared) == help_of
    assert inspect.getsource(sinc_squared.apply).startswith("def sinc_squared(x)")


def test_the_functions_of_neural_networks_are_no_methods():
    assert not has_methods(ops.silu) and not hasattr(minigrad.Tensor, "silu")
    assert not hasattr(minigrad, "silu")


def test_methods_that_stand_in_a_chapter_say_what_their_row_says():
    assert inspect.getdoc(minigrad.Tensor.exp).startswith("z = exp(x)")
    assert inspect.getdoc(minigrad.exp) == inspect.getdoc(minigrad.Tensor.exp)
    assert "In a tie, each input gets half" in inspect.getdoc(minigrad.Tensor.maximum)


def test_numpys_functions_find_their_row():
    assert BY_NUMPY[np.exp] is ops.exp
