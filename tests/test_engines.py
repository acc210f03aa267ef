"""Three ways to walk back: the same gradients, at very different costs."""

import numpy as np
import pytest

import minigrad
from minigrad.core import modes
from minigrad.core.engines import applications

ENGINES = ["graph", "tape", "recursive"]


def ladder(x, n):
    z = x
    for _ in range(n):
        z = z * z.tanh() + z
    return z.sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_all_give_the_same_gradient(engine):
    x = minigrad.tensor([0.1, 0.2], dtype=minigrad.float64, requires_grad=True)
    ladder(x, 4).backward()
    expected = x.grad.tolist()
    x.grad = None
    z = ladder(x, 4)
    z.backward(engine=engine)

    np.testing.assert_allclose(x.grad, expected, rtol=1e-12)
    with pytest.raises(RuntimeError, match="a second time"):
        z.backward(engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_create_graph(engine):
    x = minigrad.tensor(2.0, requires_grad=True)
    (x**3).backward(create_graph=True, engine=engine)

    assert x.grad.requires_grad and x.grad.item() == 12.0


def test_n_diamonds_cost_n_or_two_to_the_n():
    x = minigrad.tensor(1.0, requires_grad=True)
    z = x
    for _ in range(8):
        z = z + z

    assert applications(z) == {"graph": 16, "tape": 16, "recursive": 2 * (2**8 - 1)}
    assert x.grad is None


def test_a_graph_too_deep_for_recursion_is_a_clear_error():
    x = minigrad.tensor(1.0, requires_grad=True)
    z = x
    for _ in range(3000):
        z = z + 0.0
    with pytest.raises(RecursionError, match="the recursive engine goes one call deeper"):
        z.backward(engine="recursive", retain_graph=True)
    z.backward(engine="tape")
    assert x.grad.item() == 1.0


def test_an_unknown_engine():
    with pytest.raises(ValueError, match="engine must be one of 'graph', 'tape', 'recursive'"):
        minigrad.tensor(1.0, requires_grad=True).backward(engine="magic")


@pytest.mark.parametrize("engine", ["graph", "tape", "recursive"])
def test_a_block_says_which_engine_runs_a_pass_that_names_none(engine):
    x = minigrad.tensor(2.0, requires_grad=True)
    y = x * x
    z = y * y + y

    with modes.within("engine", engine), minigrad.record() as tape:
        z.backward()

    assert x.grad.item() == 36
    assert modes.state.engine == "graph"
    # One turn for each node: z's two, y's and x's; by recursion one for each path to it.
    assert tape.document["backward"][0]["steps"] == (11 if engine == "recursive" else 4)


def test_an_engine_that_is_named_runs_in_any_block():
    x = minigrad.tensor(2.0, requires_grad=True)

    with (
        modes.within("engine", "recursive"),
        pytest.raises(ValueError, match="engine must be one of"),
    ):
        (x * x).backward(engine="steam")
    with modes.within("engine", "steam"):
        (x * x).backward(engine="graph")

    assert x.grad.item() == 4
