"""Every op, at every line of samples.py, against PyTorch: what OPS.md says is what is tested here."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from minigrad.core.op import REGISTRY
from tests.against_torch.agree import check
from tests.against_torch.spellings import spelling
from tests.against_torch.table import compared
from tests.numeric import direction_like
from tests.samples import SAMPLES

pytestmark = [
    pytest.mark.filterwarnings("ignore:Using a target size"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),
]


def where(what):
    """The ops for which the table says that this is compared."""
    return pytest.mark.parametrize("name", [n for n in REGISTRY if compared(n, what) == "yes"])


def samples_of(name, what):
    return [s for s in SAMPLES if s.op.name == name and not goes_another_way(s, what)]


def goes_another_way(sample, what):
    """Where minigrad and PyTorch differ; the remarks of the table say how."""
    x = sample.args[0]
    if sample.op.name == "det":
        return x.shape == (3, 3) and np.linalg.matrix_rank(x) < 3
    if sample.op.name == "scatter_mul" and what == "second":
        return (sample.args[1] == 0).sum() > 1
    return sample.op.name == "logcumsumexp" and what == "tangent" and not x.size


def case_of(sample):
    return lambda m, *xs: spelling(sample.op.name)(m, *xs, **sample.settings)


@where("value")
def test_values_agree(name):
    for s in samples_of(name, "value"):
        check(case_of(s), *s.args, order=0, dtypes=(np.float64,))


@where("gradient")
def test_gradients_agree(name):
    for s in samples_of(name, "gradient"):
        check(case_of(s), *s.args, order=1, rtol=1e-7, dtypes=(np.float64,))


@where("second")
def test_second_derivatives_agree(name):
    for s in samples_of(name, "second"):
        check(case_of(s), *s.args, order=2, rtol=1e-6, dtypes=(np.float64,))


def tangent(library, s):
    """The tangent of the result, for tangents at all inputs that are real numbers."""
    make, ad = library.tensor, library.autograd.forward_ad
    with ad.dual_level():
        xs = [
            ad.make_dual(make(a), make(direction_like(a, k))) if a.dtype.kind == "f" else make(a)
            for k, a in enumerate(s.args)
        ]
        return ad.unpack_dual(case_of(s)(library, *xs)).tangent


@where("tangent")
def test_tangents_agree(name):
    for s in samples_of(name, "tangent"):
        ours, theirs = tangent(minigrad, s), tangent(torch, s)

        assert (ours is None) == (theirs is None) or not np.any(
            (ours if theirs is None else theirs).numpy()
        )
        if ours is not None and theirs is not None:
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(force=True), rtol=1e-7, atol=1e-9)


@where("types")
def test_types_of_results_agree(name):
    """Wherever PyTorch has a result, minigrad's has the same type."""
    s = samples_of(name, "types")[0]
    real = [k for k, a in enumerate(s.args) if a.dtype.kind == "f"]
    for types in itertools.product(("float32", "float64", "int64"), repeat=len(real)):
        args = list(s.args)
        for k, t in zip(real, types, strict=True):
            args[k] = np.abs(np.nan_to_num(args[k])).clip(0.5, 2).round(1).astype(t)
        try:
            theirs = case_of(s)(torch, *[torch.tensor(a) for a in args])
        except (RuntimeError, NotImplementedError, TypeError, IndexError):
            continue
        ours = case_of(s)(minigrad, *[minigrad.tensor(a) for a in args])

        assert ours.dtype == theirs.numpy().dtype, types
