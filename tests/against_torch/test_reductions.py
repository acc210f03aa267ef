"""Reductions, running sums and sorting: minigrad and PyTorch agree, at ties and zeros as well."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from tests.against_torch.agree import check, draw

X = draw(2, 3, 4)
INF = float("inf")
CASES = {
    "sum": lambda m, x: m.sum(x, (0, -1)), "mean": lambda m, x: x.mean(1, keepdim=True), "prod": lambda m, x: m.prod(x), "prod along": lambda m, x: x.prod(-1, keepdim=True),
    "var": lambda m, x: m.var(x), "var along": lambda m, x: x.var(1), "var biased": lambda m, x: m.var(x, 1, False), "var of all, biased": lambda m, x: x.var(unbiased=False), "var with correction": lambda m, x: m.var(x, dim=(0, 2), correction=2, keepdim=True),
    "std": lambda m, x: m.std(x), "std along": lambda m, x: x.std((0, 1), keepdim=True), "std biased": lambda m, x: x.std(-1, unbiased=False), "std with correction": lambda m, x: m.std(x, 0, correction=0), "var_mean": lambda m, x: m.var_mean(x, dim=1), "std_mean": lambda m, x: m.std_mean(x, 1, True, True),
    "amax": lambda m, x: m.amax(x, (0, 2)), "amin": lambda m, x: x.amin(1, True), "max": lambda m, x: m.max(x), "max along": lambda m, x: m.max(x, 1), "min along": lambda m, x: x.min(-1, keepdim=True), "aminmax": lambda m, x: m.aminmax(x, dim=1),
    "argmax": lambda m, x: m.argmax(x), "argmax along": lambda m, x: x.argmax(1, keepdim=True), "argmin": lambda m, x: m.argmin(x, dim=-1), "all": lambda m, x: m.all(x > -1, 1), "any": lambda m, x: (x > 1.9).any((0, 1)), "all over no axes": lambda m, x: m.all(x, dim=()), "any over no axes": lambda m, x: x.any([], True), "count_nonzero": lambda m, x: m.count_nonzero(x > 0, 1),
    "logsumexp": lambda m, x: m.logsumexp(x, (0, 1)), "logsumexp along": lambda m, x: x.logsumexp(-1, keepdim=True), "norm": lambda m, x: m.norm(x), "norm along": lambda m, x: x.norm(dim=1), "norm 1": lambda m, x: x.norm(1, (0, 2)), "norm inf": lambda m, x: x.norm(INF, 1), "norm -inf": lambda m, x: x.norm(-INF, 1, True),
    "norm 3": lambda m, x: x.norm(3), "norm 1.5": lambda m, x: x.norm(1.5, -1), "norm 0.5": lambda m, x: x.norm(0.5, -1), "norm 0": lambda m, x: x.norm(0, 1), "frobenius": lambda m, x: x.norm("fro", dim=(0, 1)), "norm in another type": lambda m, x: x.norm(dtype=m.float64),
    "cumsum": lambda m, x: m.cumsum(x, 1), "cumsum of another type": lambda m, x: x.cumsum(0, dtype=m.float64), "cumprod": lambda m, x: m.cumprod(x, dim=-1), "logcumsumexp": lambda m, x: m.logcumsumexp(x, 2), "cummax": lambda m, x: m.cummax(x, 1), "cummin": lambda m, x: x.cummin(-1),
    "sort": lambda m, x: m.sort(x), "sort down": lambda m, x: x.sort(1, descending=True), "argsort": lambda m, x: m.argsort(x, dim=0), "topk": lambda m, x: m.topk(x, 2), "topk least": lambda m, x: x.topk(2, 1, largest=False), "kthvalue": lambda m, x: m.kthvalue(x, 2, 1), "median": lambda m, x: m.median(x),
    "median along": lambda m, x: x.median(1, keepdim=True), "median of an even number": lambda m, x: x.median(-1), "mode": lambda m, x: m.mode(x, 2), "quantile": lambda m, x: m.quantile(x, 0.3), "quantile along": lambda m, x: x.quantile(0.75, dim=1, keepdim=True), "nansum": lambda m, x: m.nansum(x, 1), "nanmean": lambda m, x: x.nanmean(), "diff": lambda m, x: m.diff(x, dim=1), "diff twice": lambda m, x: x.diff(2), "msort": lambda m, x: m.msort(x),
    "sum in another type": lambda m, x: x.sum(1, dtype=m.float64), "prod in another type": lambda m, x: x.prod(1, dtype=m.float64),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_reductions_agree(name):
    check(CASES[name], X, rtol=1e-8)


NUMBER = {
    "prod": lambda m, x: x.prod(), "prod along": lambda m, x: x.prod(0), "var": lambda m, x: x.var(correction=0), "std": lambda m, x: x.std(correction=0), "logsumexp": lambda m, x: x.logsumexp(0), "norm": lambda m, x: x.norm(), "norm along": lambda m, x: x.norm(1, 0), "cumsum": lambda m, x: x.cumsum(0), "cumprod": lambda m, x: x.cumprod(-1),
    "sort": lambda m, x: x.sort(), "topk": lambda m, x: x.topk(1), "kthvalue": lambda m, x: x.kthvalue(1), "median": lambda m, x: x.median(), "median along": lambda m, x: x.median(0), "mode": lambda m, x: x.mode(), "cummax": lambda m, x: x.cummax(0), "max": lambda m, x: x.max(0), "argmax": lambda m, x: x.argmax(0), "argsort": lambda m, x: x.argsort(), "logcumsumexp": lambda m, x: x.logcumsumexp(0),
    "amax": lambda m, x: x.amax(0), "all": lambda m, x: x.all(), "mean": lambda m, x: x.mean(0, keepdim=True), "count": lambda m, x: x.count_nonzero(),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBER)
def test_reductions_of_a_number_agree(name):
    check(NUMBER[name], draw(), order=1 if name == "cumprod" else 2)


NOTHING = {
    "sum": lambda m, x: x.sum(), "prod": lambda m, x: x.prod(), "prod along": lambda m, x: x.prod(0), "mean": lambda m, x: x.mean(0), "var": lambda m, x: x.var(1), "logsumexp": lambda m, x: x.logsumexp(0), "logsumexp of rows": lambda m, x: x.logsumexp(1), "norm": lambda m, x: x.norm(), "norm of rows": lambda m, x: x.norm(INF, 1), "amax of rows": lambda m, x: x.amax(1), "argmax of rows": lambda m, x: x.argmax(1),
    "cumsum": lambda m, x: x.cumsum(0), "cumprod": lambda m, x: x.cumprod(1), "sort": lambda m, x: x.sort(0), "topk": lambda m, x: x.topk(2), "median": lambda m, x: x.median(), "median of rows": lambda m, x: x.median(1), "all": lambda m, x: x.all(), "any": lambda m, x: x.any(0), "max of rows": lambda m, x: x.max(1), "cummax": lambda m, x: x.cummax(0), "logcumsumexp": lambda m, x: x.logcumsumexp(0), "nansum": lambda m, x: x.nansum(), "count": lambda m, x: x.count_nonzero(0),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.filterwarnings("ignore:var")
def test_reductions_of_nothing_agree(name):
    check(NOTHING[name], draw(0, 3))


ZEROS = np.array([[1.5, 0.0, -2.0, 0.5], [0.0, 3.0, 0.0, 1.0], [1.0, 2.0, 4.0, -1.0]])
TIES = np.array([[1.0, 3.0, 3.0, -3.0], [2.0, 2.0, 2.0, 2.0], [0.0, 0.0, -0.0, 1.0]])
KINKS = {
    "prod": (lambda m, x: x.prod(1), ZEROS), "prod of all": (lambda m, x: x.prod(), ZEROS), "prod of one zero": (lambda m, x: x[0].prod(), ZEROS), "cumprod": (lambda m, x: x.cumprod(1), ZEROS), "cumprod down": (lambda m, x: x.cumprod(0), ZEROS), "amax": (lambda m, x: x.amax(1), TIES), "amin": (lambda m, x: x.amin(0), TIES), "max": (lambda m, x: x.max(), TIES), "max along": (lambda m, x: x.max(1), TIES), "min along": (lambda m, x: x.min(0), TIES),
    "argmax": (lambda m, x: x.argmax(1), TIES), "argmin": (lambda m, x: x.argmin(0), TIES), "std of equals": (lambda m, x: x.std(1), TIES), "norm of zeros": (lambda m, x: (x * 0).norm(), ZEROS), "norm inf": (lambda m, x: x.norm(INF, 1), TIES), "norm 1": (lambda m, x: x.norm(1), ZEROS), "norm 3": (lambda m, x: x.norm(3, 1), ZEROS), "norm 1.5 of zeros": (lambda m, x: (x * 0).norm(1.5), ZEROS), "norm 3 of zeros": (lambda m, x: (x * 0).norm(3), ZEROS),
    "sort": (lambda m, x: x.sort(dim=1, stable=True), TIES), "sort down": (lambda m, x: x.sort(dim=1, descending=True, stable=True), TIES), "median": (lambda m, x: x.median(), TIES), "cummax": (lambda m, x: x.cummax(1), TIES), "cummin": (lambda m, x: x.cummin(0), TIES), "mode": (lambda m, x: x.mode(1), TIES), "logsumexp": (lambda m, x: (x * 1000).logsumexp(1), TIES), "norm inf of zeros": (lambda m, x: (x * 0).norm(INF), ZEROS),
}  # fmt: skip


@pytest.mark.parametrize("name", KINKS)
def test_reductions_agree_at_ties_and_zeros(name):
    case, x = KINKS[name]
    check(case, x, order=1 if "norm" in name or "std" in name else 2)


NAN = np.array([[1.0, np.nan, 3.0], [np.inf, 1.0, -np.inf], [-np.inf, -np.inf, -np.inf]])


@pytest.mark.parametrize(
    "name",
    [
        "max",
        "max along",
        "min along",
        "amax",
        "argmax along",
        "argmin",
        "sort",
        "sort down",
        "median",
        "median along",
        "nansum",
        "nanmean",
        "cumsum",
        "prod",
        "logsumexp along",
        "all",
        "norm",
    ],
)
def test_reductions_of_nan_and_inf_agree(name):
    case = {"amax": lambda m, x: x.amax(0), "logsumexp along": lambda m, x: x.logsumexp(1)}.get(
        name, CASES[name]
    )
    check(case, NAN, order=0)


WHOLE = [
    np.array([[3, -4, 3]]),
    np.array([[True, False]]),
    np.array([[1, 2]], np.uint8),
    np.array([[5, 1]], np.int32),
]


@pytest.mark.parametrize(
    "name",
    "sum prod cumsum cumprod amax amin max all any logsumexp sort argmin count_nonzero cummax median".split(),
)
@pytest.mark.parametrize("k", range(len(WHOLE)))
def test_reductions_of_whole_numbers_agree(name, k):
    if WHOLE[k].dtype == bool and name in ("argmin", "median", "logsumexp"):
        pytest.skip("PyTorch refuses")
    if WHOLE[k].dtype == np.uint8 and name in ("all", "any"):
        pytest.skip("of uint8, PyTorch's answer is a uint8; here it is a truth value")
    dim = () if name in ("max", "sort", "median") else (1,)
    check(lambda m, x: getattr(x, name)(*dim), WHOLE[k], rtol=1e-6)


def test_what_sorting_returns_has_names():
    z = minigrad.tensor([[2.0, 1.0]]).sort()

    assert z.values.tolist() == [[1.0, 2.0]] and z.indices.tolist() == [[1, 0]]
