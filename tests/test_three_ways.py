"""Numeric, symbolic and automatic derivatives of one function agree, each as well as it can."""

import builtins

import numpy as np
import pytest

from minigrad.autograd.three_ways import three_ways


def test_all_three_agree():
    pytest.importorskip("sympy")
    ways = three_ways(lambda x, y: (x * y).sin() + x.exp() / y - 2 * x**3, 0.5, 2.0)

    exact = [2 * np.cos(1.0) + np.exp(0.5) / 2 - 1.5, 0.5 * np.cos(1.0) - np.exp(0.5) / 4]
    np.testing.assert_allclose(ways.automatic, exact, rtol=1e-14)
    np.testing.assert_allclose(ways.symbolic, exact, rtol=1e-13)
    np.testing.assert_allclose(ways.numeric, exact, rtol=1e-8)


def test_formulas_swell_and_the_tape_does_not():
    pytest.importorskip("sympy")

    def f(x):
        for _ in range(4):
            x = x * x.sin()
        return x

    operations, of_derivative = three_ways(f, 0.7).operations
    assert of_derivative > 3 * operations


def test_it_prints_a_table():
    pytest.importorskip("sympy")
    text = repr(three_ways(lambda x: x * x, 3.0))
    assert text.splitlines()[0].split() == ["input", "numeric", "symbolic", "automatic", "formula"]
    assert "2*x0" in text and text.endswith(
        "f has 1 operations, the formulas of its derivatives have 1"
    )


def test_without_sympy_the_other_two_remain(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args):
        if name == "sympy":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", refuse)
    ways = three_ways(lambda x: x * x, 3.0)
    assert ways.symbolic is None and ways.automatic == [6.0] and "needs sympy" in repr(ways)
