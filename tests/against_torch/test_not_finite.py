"""Gradients and entries that are infinite or NaN: what they reach is the same as in PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from minigrad.core.op import REGISTRY
from tests.against_torch.agree import check
from tests.against_torch.table import compared
from tests.against_torch.test_every_op import case_of, goes_another_way
from tests.samples import SAMPLES

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:Using a target size"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]

# PyTorch spreads NaN over all entries; sums taken in another order; zeros times infinity in a running product,
# and at an entry that nan_to_num replaces.
GRADIENTS_DIFFER = {
    "amax",
    "amin",
    "einsum",
    "standardize",
    "cumprod",
    "logcumsumexp",
    "nan_to_num",
}
# PYTORCH.md: the slope at NaN (of abs it is NaN, of elu and hardswish too), and what lies in the same row.
ENTRIES_DIFFER = GRADIENTS_DIFFER | {"polygamma", "prod", "binary_cross_entropy", "scatter_extreme"}
MATRICES = {
    name for name, op in REGISTRY.items() if op.forward.__module__ == "minigrad.ops.matrices"
}
OPS = [n for n in REGISTRY if compared(n, "gradient") == "yes" and n not in MATRICES]


def gradients(m, sample, args, entry):
    """The gradients at args, for a gradient of the result that is one everywhere but in its middle."""
    xs = [m.tensor(a).requires_grad_() if a.dtype.kind == "f" else m.tensor(a) for a in args]
    z = case_of(sample)(m, *xs)
    if not z.requires_grad:
        return []
    g = np.ones(tuple(z.shape))
    if g.size:
        g.reshape(-1)[g.size // 2] = entry
    z.backward(m.tensor(g))
    return [
        np.zeros(a.shape) if x.grad is None else x.grad.numpy(force=True) for x, a in zip(xs, args)
    ]


def assert_same(sample, args, entry=1.0):
    ours, theirs = gradients(minigrad, sample, args, entry), gradients(torch, sample, args, entry)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def samples(name):
    return [s for s in SAMPLES if s.op.name == name and not goes_another_way(s, "gradient")]


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=["nan", "inf"])
@pytest.mark.parametrize("name", [n for n in OPS if n not in GRADIENTS_DIFFER])
def test_a_gradient_that_is_not_finite_reaches_the_same_entries(name, value):
    for s in samples(name):
        assert_same(s, s.args, value)


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=["nan", "inf"])
@pytest.mark.parametrize("name", [n for n in OPS if n not in ENTRIES_DIFFER])
def test_an_entry_that_is_not_finite_has_the_same_gradient(name, value):
    for s in samples(name):
        for k, a in enumerate(s.args):
            if a.dtype.kind == "f" and a.size:
                changed = a.copy()
                changed.reshape(-1)[a.size // 2] = value
                assert_same(s, [*s.args[:k], changed, *s.args[k + 1 :]])


@pytest.mark.parametrize("f", [
    lambda m, x: x.relu().sqrt(), lambda m, x: x.clamp(min=0).sqrt(), lambda m, x: m.maximum(x, x * 0).sqrt(),
    lambda m, x: m.nn.functional.threshold(x, 0.0, 0.0).sqrt(), lambda m, x: m.nn.functional.hardtanh(x, 0.0, 9.0).sqrt(),
    lambda m, x: m.where(x > 0, x, 0 * x.detach()).sqrt(), lambda m, x: x.relu().log(), lambda m, x: x.fmax(x * 0).log(),
])  # fmt: skip
def test_what_a_kink_holds_back_is_not_multiplied_with_infinity(f):
    for n in (4, 1000):
        at = np.linspace(-3.0, 3.0, n)
        found = []
        for m in (minigrad, torch):
            x = m.tensor(at, requires_grad=True)
            f(m, x).sum().backward()
            found.append(x.grad.numpy())

        np.testing.assert_allclose(*found)


def test_the_slope_of_an_entropy_is_infinite_at_zero_and_unknown_below():
    check(lambda m, x: m.special.entr(x), np.array([0.0, 0.5, -1.0, 2.0]), order=1)


@pytest.mark.parametrize("eps", [None, 0.1])
def test_outside_of_its_interval_logit_has_no_slope_and_at_the_ends_an_infinite_one(eps):
    check(lambda m, x: m.logit(x, eps=eps), np.array([-0.5, 0.0, 0.05, 0.5, 1.0, 1.5]), order=1)


def test_the_gradient_of_logsumexp_is_nan_where_all_entries_are_minus_infinity():
    check(lambda m, x: m.logsumexp(x, 1), np.array([[-np.inf, -np.inf], [-np.inf, 1.0]]), order=1)
