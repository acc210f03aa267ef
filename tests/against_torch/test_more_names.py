"""What coursework uses less often: more names, more arguments."""

import importlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from tests.against_torch.agree import check, draw

X, Y = draw(3, 4), draw(3, 4, seed=1)
V = draw(5)
AT = np.array([[0, 1, 0, 2], [0, 0, 1, 1]])
SRC = draw(2, 4, seed=3)
ZEROS = np.array([[1.5, 0.0, -2.0, 0.5], [0.0, 3.0, 0.0, 1.0], [1.0, 2.0, 4.0, -1.0]])
NAN = np.array([[1.0, np.nan, 3.0, 0.5], [5.0, 1.0, 2.0, -1.0], [np.nan, np.nan, np.nan, np.nan]])
RUNS = np.array([1, 1, 2, 2, 2, 1, 3])
TWO_D = np.array([[1, 1], [1, 1], [0, 1]])
Q = np.array([0.1, 0.5, 1.0])


def q(m, values=Q):
    """Quantiles to ask for, in the type of the case at hand."""
    return lambda x: m.tensor(values, dtype=x.dtype)


CASES = {
    **{f"scatter_reduce {r}": (lambda m, x, i, s, r=r: m.scatter_reduce(x, 0, i, s, r), X, AT, SRC) for r in ("sum", "prod", "mean", "amax", "amin")},
    **{f"scatter_reduce {r} without self": (lambda m, x, i, s, r=r: x.scatter_reduce(0, i, s, r, include_self=False), X, AT, SRC) for r in ("sum", "prod", "mean", "amax", "amin")},
    **{f"index_reduce {r} {s}": (lambda m, x, i, s, r=r, keep=s: x.index_reduce(1, i, s, r, include_self=keep), X, np.array([3, 0, 3]), draw(3, 3, seed=4)) for r in ("prod", "mean", "amax", "amin") for s in (True, False)},
    "copysign of zeros": (lambda m, x, y: m.copysign(x, y), np.array([0.0, 0.0, 1.5]), np.array([-1.0, 0.0, -0.0])),
    "trapezoid of nothing": (lambda m, x: m.trapezoid(x), draw(2, 0)), "cumulative_trapezoid of nothing": (lambda m, x: m.cumulative_trapezoid(x, dim=0), draw(0, 3)), "heaviside of NaN": (lambda m, x, y: m.heaviside(x.detach(), y.detach()), np.array([np.nan, 0.0]), np.array([0.5, 0.5])),
    "index_reduce_": (lambda m, x, i, s: (x * 1).index_reduce_(0, i, s, "mean"), X, np.array([2, 2]), SRC), "ravel of a vector with gaps": (lambda m, x: x.T[0].ravel(), X),
    "scatter_reduce along rows": (lambda m, x, i, s: x.scatter_reduce(1, i, s, "amax"), X, AT, SRC), "scatter_reduce_": (lambda m, x, i, s: (x * 1).scatter_reduce_(1, i, s, "mean"), X, AT, SRC),
    "nanmedian": (lambda m, x: m.nanmedian(x), NAN), "nanmedian along": (lambda m, x: m.nanmedian(x, 1), NAN[:2]), "nanmedian keepdim": (lambda m, x: x.nanmedian(0, keepdim=True), NAN[:2]), "median of all": (lambda m, x: x.median(), X), "mode": (lambda m, x: x.mode(1), X),
    "quantile of several": (lambda m, x: m.quantile(x, q(m)(x)), X), "quantile along": (lambda m, x: m.quantile(x, q(m)(x), dim=1), X), "quantile keepdim": (lambda m, x: m.quantile(x, q(m)(x), 0, True), X), "quantile of all keepdim": (lambda m, x: m.quantile(x, 0.4, keepdim=True), X),
    **{f"quantile {how}": (lambda m, x, how=how: m.quantile(x, 0.37, dim=1, interpolation=how), X) for how in ("linear", "lower", "higher", "midpoint", "nearest")},
    "quantile of a number": (lambda m, x: x.quantile(0.5), draw()),
    "nanquantile": (lambda m, x: m.nanquantile(x, 0.3), NAN), "nanquantile along": (lambda m, x: x.nanquantile(q(m)(x), 1), NAN[:2]), "nanquantile of nothing but NaN": (lambda m, x: x.nanquantile(0.5, dim=1), NAN),
    "unique_consecutive": (lambda m, i: m.unique_consecutive(i), RUNS), "unique_consecutive, all": (lambda m, i: m.unique_consecutive(i, return_inverse=True, return_counts=True), RUNS), "unique_consecutive rows": (lambda m, i: m.unique_consecutive(i, return_counts=True, dim=0), TWO_D),
    "nan_to_num": (lambda m, x: m.nan_to_num(x, 1.0, 2.0, 3.0), np.array([np.nan, np.inf, -np.inf, 1.0])), "nan_to_num_": (lambda m, x: (x * 1).nan_to_num_(), np.array([np.nan, np.inf, -np.inf, 1.0])),
    "nextafter": (lambda m, x, y: m.nextafter(x, y), ZEROS, Y), "nextafter of infinity": (lambda m, x, y: (x * 1).nextafter_(y), np.array([np.inf, np.nan, 0.0, 2.0]), np.array([0.0, 1.0, -0.0, 2.0])),
    "heaviside": (lambda m, x, y: m.heaviside(x.detach(), y.detach()), ZEROS, Y), "sinc": (lambda m, x: m.sinc(x), X), "copysign": (lambda m, x, y: m.copysign(x, y.detach()), X, Y), "copysign by a number": (lambda m, x: x.copysign(-1.0), X), "isposinf": (lambda m, x: m.isposinf(x), NAN), "isneginf": (lambda m, x: m.isneginf(x), NAN), "isreal": (lambda m, x: m.isreal(x), NAN),
    "atleast_1d": (lambda m, x: m.atleast_1d(x), draw()), "atleast_2d": (lambda m, x, y: m.atleast_2d(x, y), V, X), "atleast_3d": (lambda m, x, y: m.atleast_3d(x, y), V, X), "broadcast_tensors": (lambda m, x, y: m.broadcast_tensors(x, y), draw(3, 1), draw(4)), "block_diag": (lambda m, x, y, z: m.block_diag(x, y, z), X, V, draw()),
    "cdist of many rows": (lambda m, x, y: m.cdist(x, y), draw(30, 2), draw(4, 2)), "cdist of the same rows": (lambda m, x: m.cdist(x, x), np.arange(54.0).reshape(27, 2)), "cdist of many rows, in batches": (lambda m, x, y: m.cdist(x, y), draw(2, 26, 2), draw(3, 1, 2, 2)),
    "cdist by differences": (lambda m, x, y: m.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist"), draw(30, 2), draw(4, 2)), "cdist by products": (lambda m, x, y: m.cdist(x, y, compute_mode="use_mm_for_euclid_dist"), X, draw(2, 4)),
    "cdist": (lambda m, x, y: m.cdist(x, y), X, draw(2, 4)), "cdist 1": (lambda m, x, y: m.cdist(x, y, p=1.0), draw(2, 3, 4), draw(2, 2, 4)), "cdist inf": (lambda m, x, y: m.cdist(x, y, p=float("inf")), X, draw(2, 4)), "dist": (lambda m, x, y: m.dist(x, y, 3), X, Y), "combinations": (lambda m, x: m.combinations(x), V), "combinations of three": (lambda m, x: m.combinations(x, 3, True), V),
    "vander": (lambda m, x: m.vander(x), V), "vander up": (lambda m, x: m.vander(x, 3, True), V), "trapezoid": (lambda m, x: m.trapezoid(x, dx=0.5), X), "trapz over places": (lambda m, x, y: m.trapz(x, y, dim=0), X, draw(3)), "cumulative_trapezoid": (lambda m, x: m.cumulative_trapezoid(x, dim=0), X), "diagflat": (lambda m, x: m.diagflat(x, 1), draw(2, 2)), "fill_diagonal_": (lambda m, x: (x * 1).fill_diagonal_(3.0), X),
    "hsplit": (lambda m, x: m.hsplit(x, 2), X), "vsplit": (lambda m, x: x.vsplit([1]), X), "dsplit": (lambda m, x: x.dsplit(2), draw(2, 3, 4)), "H": (lambda m, x: x.H, X), "mH": (lambda m, x: x.mH, draw(2, 3, 4)), "adjoint": (lambda m, x: m.adjoint(x), X), "sum_to_size": (lambda m, x: x.sum_to_size(1, 4), X), "sum_to_size, fewer axes": (lambda m, x: x.sum_to_size(4), X), "put": (lambda m, x, i, s: m.put(x, i, s), X, AT, SRC),
    "subtract": (lambda m, x, y: x.subtract(y, alpha=2), X, Y), "multiply_": (lambda m, x, y: (x * 1).multiply_(y), X, Y), "divide": (lambda m, x, y: x.divide(y, rounding_mode="floor"), X, Y), "true_divide_": (lambda m, x, y: (x * 1).true_divide_(y), X, Y), "greater": (lambda m, x, y: x.greater(y), X, Y), "less_equal": (lambda m, x, y: x.less_equal(y), X, Y), "not_equal_": (lambda m, x, y: (x * 1).not_equal_(y), X, Y), "arctan_": (lambda m, x: (x * 1).arctan_(), X), "frac_": (lambda m, x: (x * 1).frac_(), X), "rad2deg_": (lambda m, x: (x * 1).rad2deg_(), X), "logit_": (lambda m, x: (x / 5 + 0.5).logit_(), X), "absolute_": (lambda m, x: (x * 1).absolute_(), X), "sgn_": (lambda m, x: (x * 1).sgn_(), X),
    "conv1d at the top": (lambda m, x, w: m.conv1d(x, w), draw(1, 2, 5), draw(3, 2, 2)), "cosine_similarity at the top": (lambda m, x, y: m.cosine_similarity(x, y), X, Y),
}  # fmt: skip
ORDER = {  # PyTorch has no further derivative (of vander, it stumbles over its own write in place)
    "cdist": 1,
    "cdist by differences": 1,
    "copysign of zeros": 1,
    "cdist 1": 1,
    "cdist inf": 1,
    "vander": 0,
    "vander up": 0,
}
ORDER |= {n: 1 for n in CASES if n.startswith(("scatter_reduce a", "index_reduce a"))}


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", CASES)
def test_more_names_agree(name):
    case, *args = CASES[name]
    check(case, *args, order=ORDER.get(name, 2), rtol=1e-8)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce_agrees_at_zeros_and_ties(reduce):
    source = np.array([[0.0, 2.0, -2.0, 0.5], [0.0, 3.0, 0.0, 0.5]])

    check(lambda m, x, i, s: x.scatter_reduce(0, i, s, reduce), ZEROS, AT, source, order=1)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce_of_whole_numbers_agrees(reduce):
    x, source = np.arange(12).reshape(3, 4) - 5, np.arange(8).reshape(2, 4) * 3 - 7

    check(lambda m, x, i, s: x.scatter_reduce(0, i, s, reduce), x, AT, source)
    check(lambda m, x, i, s: x.scatter_reduce(0, i, s, reduce, include_self=False), x, AT, source)


@pytest.mark.parametrize("reduce", ["add", "multiply"])
@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
def test_scatter_with_a_reduction_agrees(reduce):
    """PyTorch gives the values alone; the gradients are compared with those of scatter_reduce."""
    check(lambda m, x, i, s: x.detach().scatter(0, i, s.detach(), reduce=reduce), X, AT, SRC)
    check(lambda m, x, i: x.detach().scatter(0, i, 2.5, reduce=reduce), X, AT)
    check(lambda m, x, i: (x.detach() * 1).scatter_(1, i, 2.5, reduce=reduce), X, AT)

    other = {"add": "sum", "multiply": "prod"}[reduce]
    x, s = minigrad.tensor(X, requires_grad=True), minigrad.tensor(SRC, requires_grad=True)
    x.scatter(0, minigrad.tensor(AT), s, reduce=reduce).square().sum().backward()
    tx, ts = torch.tensor(X, requires_grad=True), torch.tensor(SRC, requires_grad=True)
    tx.scatter_reduce(0, torch.tensor(AT), ts, other).square().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-10)
    np.testing.assert_allclose(s.grad.numpy(), ts.grad.numpy(), rtol=1e-10)


def test_types_of_results_agree():
    for a, b in [
        ("float32", "int64"),
        ("int8", "uint8"),
        ("int32", "bool"),
        ("float32", "float64"),
    ]:
        ours = minigrad.result_type(*(minigrad.ones(2, dtype=getattr(minigrad, t)) for t in (a, b)))
        theirs = torch.result_type(*(torch.ones(2, dtype=getattr(torch, t)) for t in (a, b)))

        assert str(ours).replace("minigrad", "torch") == str(theirs)


def test_shapes_that_are_broadcast_agree():
    assert minigrad.broadcast_shapes((2, 1), (3,), 1) == tuple(
        torch.broadcast_shapes((2, 1), (3,), 1)
    )
    with pytest.raises(RuntimeError, match="should be broadcastable to"):
        minigrad.broadcast_shapes((2, 3), (2,))


def test_trees_may_hold_objects_of_a_class_that_is_registered():
    def seen(m):
        class Output:  # as the results of models in published packages
            def __init__(self, score, name):
                self.score, self.name = score, name

        pytree = importlib.import_module(f"{m.__name__}.utils._pytree")
        pytree.register_pytree_node(
            Output, lambda o: ([o.score], o.name), lambda children, name: Output(*children, name)
        )
        x = m.arange(3.0)
        doubled = pytree.tree_map(lambda y: y * 2, {"a": Output(x, "b")})["a"]
        mapped = m.func.vmap(lambda y: Output(y * y, "c"))(x)
        g = m.func.grad(lambda o: (o.score**2).sum())(Output(x, "d"))
        return [(o.score.tolist(), o.name) for o in (doubled, mapped, g)]

    assert seen(minigrad) == seen(torch)


@pytest.mark.parametrize(
    "tree, rest",
    [
        ({"a": 1, "b": 2}, {"b": 20, "a": 10}),
        ([1, 2], [(1,), (2, 3)]),
        ([1, 2], [1]),
        ([1, 2], (1, 2)),
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}),
    ],
)
def test_trees_are_mapped_side_by_side(tree, rest):
    def seen(m):
        pytree = importlib.import_module(f"{m.__name__}.utils._pytree")
        try:
            return pytree.tree_map(lambda a, b: (a, b), tree, rest)
        except ValueError as error:
            return str(error).partition(";")[0]

    assert seen(minigrad) == seen(torch)


def test_the_gradient_along_coordinates_is_computed_in_the_wider_type():
    rng = np.random.default_rng(0)
    x, places = rng.uniform(-9, 9, 1000).astype(np.float32), rng.standard_normal(1000)
    ours, theirs = (
        m.gradient(m.tensor(x), spacing=(m.tensor(places),))[0].numpy() for m in (minigrad, torch)
    )

    assert ours.dtype == theirs.dtype == np.float64
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float64"])
def test_bernoulli_writes_to_a_tensor_of_any_type(dtype):
    for m in (minigrad, torch):
        z = m.empty(3, dtype=getattr(m, dtype))
        assert m.bernoulli(m.tensor([0.0, 1.0, 1.0]), out=z).tolist() == [0, 1, 1]
