"""assert_close: what is equal, and what the error says."""

import re

import numpy as np
import pytest

import minigrad

torch = pytest.importorskip("torch")

CASES = {
    "equal": lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0 + 1e-6])),
    "values": lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.5])),
    "order": lambda t: (t.tensor([0.0, 1.0]), t.tensor([1.0, 0.0])),
    "no axis": lambda t: (t.tensor(1.0), t.tensor(2.0)),
    "shape": lambda t: (t.zeros(2), t.zeros(3)),
    "dtype": lambda t: (t.zeros(2), t.zeros(2, dtype=t.float64)),
    "whole numbers": lambda t: (t.tensor([1, 2]), t.tensor([1, 4])),
    "large whole numbers": lambda t: (t.tensor([2**53 + 1]), t.tensor([2**53])),
    "booleans": lambda t: (t.tensor([True]), t.tensor([False])),
    "complex": lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    "NaN": lambda t: (t.tensor([t.nan]), t.tensor([t.nan])),
    "infinity": lambda t: (t.tensor([t.inf]), t.tensor([1.0])),
    "infinities": lambda t: (t.tensor([t.inf]), t.tensor([t.inf])),
    "numbers": lambda t: (1.0, 1.5),
    "types of numbers": lambda t: (1, 1.0),
    "truth values": lambda t: (True, False),
    "nothing": lambda t: (None, None),
    "nothing beside a tensor": lambda t: (None, t.ones(1)),
    "lists": lambda t: ([t.ones(2), t.zeros(1)], [t.ones(2), t.ones(1)]),
    "lengths": lambda t: ([1, 2], [1, 2, 3]),
    "dicts": lambda t: ({"a": [t.ones(2)]}, {"a": [t.ones(2) * 2]}),
    "keys": lambda t: ({"a": 1, "b": 2}, {"b": 2, "c": 3}),
    "arrays": lambda t: (np.ones(2), np.zeros(2)),
    "a tensor beside a list": lambda t: (t.ones(2), [1.0, 1.0]),
    "a tensor beside an array": lambda t: (t.ones(2), np.ones(2, np.float32)),
    "strings": lambda t: ("a", "a"),
}


def outcome(t, make, function="assert_close", **options):
    """The error's class and words, without what cannot be alike: the last digits, names of modules, our advice."""
    try:
        getattr(t.testing, function)(*make(t), **options)
    except (AssertionError, TypeError) as error:
        words = str(error).replace("minigrad.core.tensor.", "torch.").replace("minigrad", "torch")
        words = re.sub(
            r"\d+\.\d+(e-\d+)?", lambda m: f"{float(m[0]):.5g}", words.partition(" To fix")[0]
        )
        return type(error).__name__, words
    return None


OLDER = {
    "within the older tolerance": lambda t: (t.ones(2), [1, 1.00005]),
    "beyond it": lambda t: (t.ones(2), [1, 1.0002]),
    "half precision": lambda t: (t.ones(2).half(), t.ones(2) * 1.0009),
    "numbers": lambda t: (1.0, 2.0),
    "shapes": lambda t: (t.ones(2), 1.0),
    "dtypes": lambda t: (t.ones(2, dtype=t.int32), t.ones(2)),
    "whole numbers": lambda t: (t.ones(2, dtype=t.int32), [1, 2]),
    "NaN": lambda t: (t.tensor([t.nan]), [t.nan]),
}


@pytest.mark.filterwarnings("ignore:.*assert_allclose")
@pytest.mark.parametrize("name", OLDER)
def test_assert_allclose_says_what_pytorch_says(name):
    ours, theirs = (outcome(t, OLDER[name], "assert_allclose") for t in (minigrad, torch))

    assert ours == theirs


@pytest.mark.parametrize("name", CASES)
def test_assert_close_says_what_pytorch_says(name):
    assert outcome(minigrad, CASES[name]) == outcome(torch, CASES[name])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("NaN", {"equal_nan": True}),
        ("values", {"rtol": 0, "atol": 0}),
        ("values", {"rtol": 0, "atol": 1}),
        ("values", {"msg": "ours"}),
        ("values", {"msg": lambda said: f"first {said}"}),
        ("dtype", {"check_dtype": False}),
        ("types of numbers", {"check_dtype": False}),
    ],
)
def test_its_options_have_their_effect(name, options):
    assert outcome(minigrad, CASES[name], **options) == outcome(torch, CASES[name], **options)


def test_strides_and_classes_are_compared_when_asked():
    turned = lambda t: (t.zeros(2, 3).t(), t.zeros(3, 2))
    parameter = lambda t: (t.nn.Parameter(t.ones(1)), t.ones(1))

    strides = [outcome(t, turned, check_stride=True) for t in (minigrad, torch)]
    classes = [outcome(t, parameter, allow_subclasses=False) for t in (minigrad, torch)]

    assert strides[0] == strides[1] and strides[0] is not None
    assert classes[0] == classes[1] and classes[0] is not None
    assert outcome(minigrad, parameter) is None


def made(t, name, options):
    t.manual_seed(0)
    try:
        z = t.testing.make_tensor(3, 2, dtype=getattr(t, name), device="cpu", **options)
    except ValueError as error:
        return str(error)[:25]
    return z.dtype.name if t is minigrad else str(z.dtype)[6:], z.tolist(), z.is_contiguous()


@pytest.mark.parametrize("name", ["float32", "float16", "int64", "uint8", "int8", "bool"])
@pytest.mark.parametrize(
    "options",
    [
        {}, {"low": 0}, {"low": -3, "high": 3}, {"high": 2.5}, {"noncontiguous": True}, {"low": 3, "high": 1},
        {"exclude_zero": True, "low": 0, "high": 2}, {"low": float("nan")}, {"requires_grad": True},
        {"low": -1e39, "high": 1e39}, {"low": 300, "high": 400}, {"low": 0.5, "high": 1.5},
    ],
    ids=str,
)  # fmt: skip
def test_random_tensors_for_tests_are_those_of_pytorch(name, options):
    assert made(minigrad, name, options) == made(torch, name, options)
