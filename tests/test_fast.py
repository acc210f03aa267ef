"""The short way that is written for each op does what the long way does."""

import numpy as np
import pytest

import minigrad
from minigrad import tensor
from minigrad.core import fast, modes
from minigrad.core.dispatch import apply
from minigrad.core.op import REGISTRY
from tests.samples import SAMPLES


def plain(setting):
    """A setting whose arrays, of which a node keeps a copy, can be compared."""
    if isinstance(setting, tuple):
        return tuple(plain(part) for part in setting)
    return setting.tolist() if isinstance(setting, np.ndarray) else setting


def described(node):
    """What a node holds, in a form that can be compared."""
    saved = {
        name: (
            np.asarray(getattr(value, "array", value)).tolist()
            if version is not None
            else plain(value),
            version,
        )
        for name, (value, version) in node.saved_values().items()
    }
    return node.case, node.edges, saved, getattr(node, "version", 0) if node.case.tensors else None


@pytest.mark.parametrize("sample", [s for s in SAMPLES if fast.has_short_way(s.op)], ids=str)
def test_the_short_way_puts_the_same_node_on_the_tape(sample):
    differentiable = [k for k, a in enumerate(sample.args) if np.asarray(a).dtype.kind == "f"]
    for wanted in ([k] for k in differentiable), (differentiable,):
        for chosen in wanted:
            tensors = [tensor(a, requires_grad=k in chosen) for k, a in enumerate(sample.args)]
            if len(chosen) == 1 and sample.op.operands[chosen[0]] not in sample.op.rules:
                continue
            long = apply(sample.op, tensors, sample.settings)
            short = sample.op.apply(*tensors, **sample.settings)

            assert described(short.grad_fn) == described(long.grad_fn)
            np.testing.assert_array_equal(short.detach(), long.detach())
            assert type(short.array) is type(long.array) or short.array.ndim == 0


def test_most_ops_have_a_short_way():
    assert sum(fast.has_short_way(op) for op in REGISTRY.values()) > len(REGISTRY) / 3


def test_explain_prints_the_text():
    x = minigrad.ones(2, requires_grad=True)
    x * x

    text = fast.explain(minigrad.ops.mul)

    assert "zd = xd * yd" in text and "return rule_x(g, y.array), rule_y(g, x.array)" in text


@pytest.mark.parametrize("number", [2, 2.5, np.float64(3), np.float32(3), True])
def test_numbers_are_constants_of_the_tensors_type(number):
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    y = number * x - x / number + (x**number)

    assert y.dtype == np.float32
    y.sum().backward()
    n = float(number)
    np.testing.assert_allclose(x.grad, n - 1 / n + n * np.array([1.0, 2.0]) ** (n - 1), rtol=1e-5)


def test_nothing_is_recorded_when_recording_is_off_in_another_thread_only():
    import threading

    x = minigrad.ones(2, requires_grad=True)
    entered, leave = threading.Event(), threading.Event()

    def elsewhere():
        with minigrad.no_grad():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    entered.wait(10)
    assert modes.unusual == 1 and (x * 2).requires_grad
    leave.set()
    thread.join()
    assert modes.unusual == 0
