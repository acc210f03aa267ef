"""Tensors print as PyTorch's do, line by line."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad

SHAPES = [(), (0,), (2, 0), (5,), (40,), (3, 7), (2, 30), (1, 120), (2, 3, 4), (40, 40)]
DTYPES = "float16 float32 float64 uint8 int32 int64 bool complex64".split()
OPTIONS = [
    {},
    {"precision": 2},
    {"sci_mode": True},
    {"threshold": 5, "edgeitems": 2},
    {"linewidth": 40},
]
SPECIAL = {
    "numbers": None,
    "with zeros": 0.0,
    "with inf": np.inf,
    "with nan": np.nan,
    "whole": "whole",
}


def entries(random, shape, dtype, special):
    a = random.normal(size=shape) * 10.0 ** random.integers(-5, 9)
    if special == "whole":
        a = np.round(a)
    elif special is not None:
        a = np.where(random.random(shape) < 0.3, special, a)
    if dtype == "complex64":
        a = a + 1j * random.normal(size=shape)
    if dtype[0] in "iub":
        a = np.nan_to_num(a, posinf=0, neginf=0) % 200 - (dtype[0] == "i") * 100
    return np.asarray(a).astype(dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # inf in float16
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("special", SPECIAL.values(), ids=SPECIAL)
def test_numbers_of_all_kinds(dtype, special):
    random = np.random.default_rng(0)
    for shape in SHAPES:
        a = entries(random, shape, dtype, special)
        for options in OPTIONS:
            for history in ("none", "leaf", "made")[: 3 if dtype[0] == "f" else 1]:
                ours, theirs = (printed(m, a, options, history) for m in (minigrad, torch))
                assert ours == theirs


def printed(m, a, options, history):
    m.set_printoptions(profile="default", sci_mode=None)
    m.set_printoptions(**options)
    x = m.tensor(a.tolist(), dtype=getattr(m, str(a.dtype))).reshape(a.shape)
    x = x.requires_grad_() if history != "none" else x
    try:
        return repr(x * 1 if history == "made" else x).replace("minigrad", "torch")
    finally:
        m.set_printoptions(profile="default", sci_mode=None)
