"""Functions of one entry at a time: minigrad and PyTorch give the same numbers, types and errors."""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from tests.against_torch.agree import check, check_error, draw

EVERYWHERE = "abs neg sign square exp exp2 expm1 sin cos tan atan sinh cosh tanh asinh sigmoid erf erfc relu positive frac".split()
STEPS = "ceil floor trunc round fix".split()
POSITIVE = "log log2 log10 log1p sqrt rsqrt reciprocal".split()
FRACTION = "asin acos atanh logit".split()
ONE = [(n, lambda x: x) for n in EVERYWHERE + STEPS] + [
    (n, lambda x: np.abs(x) + 0.1) for n in POSITIVE
]
ONE += [(n, lambda x: x / 2.1) for n in FRACTION[:3]] + [
    ("logit", lambda x: np.abs(x) / 2.1),
    ("acosh", lambda x: np.abs(x) + 1.1),
]
IN_PLACE = [
    n for n, _ in ONE if n not in ("positive", "frac", "fix", "logit", "asinh", "acosh", "atanh")
]  # PyTorch cannot differentiate asinh_

TWO = "add sub mul div maximum minimum fmax fmin atan2 hypot logaddexp remainder fmod clamp_min clamp_max".split()
INTEGER_TWO = "add sub mul div maximum minimum floor_divide remainder fmod float_power atan2 xlogy bitwise_and bitwise_or bitwise_xor eq ne lt le gt ge logical_and logical_or logical_xor".split()
SHAPES = [((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((3,), ()), ((), ()), ((0, 3), (3,)), ((), (2, 2))]


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)], ids=str)
@pytest.mark.parametrize("name, domain", ONE, ids=[n for n, _ in ONE])
def test_functions_of_one_entry_agree(name, domain, shape):
    check(lambda m, x: getattr(m, name)(x), domain(draw(*shape)))
    check(lambda m, x: getattr(x, name)(), domain(draw(*shape)))


@pytest.mark.parametrize("name, domain", [(n, d) for n, d in ONE if n in IN_PLACE], ids=IN_PLACE)
def test_functions_of_one_entry_in_place_agree(name, domain):
    check(lambda m, x: getattr(x * 1, name + "_")(), domain(draw(2, 3)))


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_entries_agree(name, shapes):
    x, y = draw(*shapes[0]), draw(*shapes[1], seed=1)
    check(lambda m, x, y: getattr(m, name)(x, y), x, y)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_powers_and_xlogy_agree(shapes):
    x, y = np.abs(draw(*shapes[0])) + 0.1, draw(*shapes[1], seed=1)

    check(lambda m, x, y: m.pow(x, y), x, y)
    check(lambda m, x, y: m.float_power(x, y), x, y)
    check(lambda m, x, y: m.xlogy(y, x), x, y)


BLENDS = {
    "lerp": lambda m, x, y, w: m.lerp(x, y, w), "lerp by a number": lambda m, x, y, w: x.lerp(y, 0.25) + w, "addcmul": lambda m, x, y, w: m.addcmul(x, y, w, value=0.5),
    "addcdiv": lambda m, x, y, w: m.addcdiv(x, y, w + 3, value=2), "clamp between tensors": lambda m, x, y, w: m.clamp(x, y, w), "clamp": lambda m, x, y, w: x.clamp(-0.5, 1) * y * w,
    "clamp from below": lambda m, x, y, w: m.clamp(x, min=0.2) * y * w, "clip from above": lambda m, x, y, w: m.clip(x, max=0.2) * y * w, "in place": lambda m, x, y, w: (x * 1).lerp_(y, w).addcmul_(x, y).clamp_(-3, 3),
    "alpha": lambda m, x, y, w: m.add(x, y, alpha=2) - m.sub(w, x, alpha=0.5) + m.rsub(x, y, alpha=3), "nan_to_num": lambda m, x, y, w: m.nan_to_num(x / 0 * y) * 0 + w,
}  # fmt: skip


@pytest.mark.parametrize("name", BLENDS)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)], ids=str)
def test_blends_agree(name, shape):
    check(BLENDS[name], draw(*shape), draw(*shape, seed=1), np.abs(draw(*shape, seed=2)) / 2)


KINKS = np.array([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
AT_KINKS = {
    "abs": lambda m, x: x.abs(), "sign": lambda m, x: x.sign(), "relu": lambda m, x: x.relu(), "clamp": lambda m, x: x.clamp(-1, 1), "clamp_min": lambda m, x: x.clamp_min(0.5), "clamp_max": lambda m, x: x.clamp(max=0.5),
    "clamp by tensors": lambda m, x: m.clamp(x, x.flip(0), x.roll(1)), "crossed": lambda m, x: x.clamp(1, -1), "maximum": lambda m, x: m.maximum(x, m.zeros_like(x)), "minimum of equals": lambda m, x: m.minimum(x, x.abs()),
    "fmax": lambda m, x: m.fmax(x, x.abs()), "fmin": lambda m, x: m.fmin(x, x.abs()), "round": lambda m, x: x.round(), "round to a decimal": lambda m, x: (x / 7).round(decimals=2), "floor": lambda m, x: x.floor(),
    "div floor": lambda m, x: x.div(0.5, rounding_mode="floor") + x, "div trunc": lambda m, x: m.div(x, 0.3, rounding_mode="trunc") + x, "div trunc by zero": lambda m, x: m.div(x, x - x, rounding_mode="trunc") + x, "remainder": lambda m, x: x % 0.7, "fmod": lambda m, x: x.fmod(-0.7),
    "xlogy": lambda m, x: m.xlogy(x.relu(), x.relu().detach()), "square": lambda m, x: x**2, "cube": lambda m, x: x**3.0, "constant": lambda m, x: x**0, "atan2 of 0": lambda m, x: m.atan2(x, x * 0),
}  # fmt: skip


@pytest.mark.parametrize("name", AT_KINKS)
def test_functions_agree_at_their_kinks(name):
    order = 1 if name in ("atan2 of 0", "xlogy") else 2
    check(AT_KINKS[name], KINKS, order=order)


@pytest.mark.parametrize(
    "name",
    "sqrt log rsqrt reciprocal log1p acos asin acosh atanh erf erfc exp tanh sigmoid expm1 floor isnan isinf isfinite signbit tan".split(),
)
def test_functions_agree_at_the_edges_of_their_domains(name):
    check(
        lambda m, x: getattr(m, name)(x),
        np.array([0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan, 40.0, -40.0]),
        order=1,
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_smallest_and_largest_numbers_have_a_mantissa(dtype):
    limits = np.finfo(dtype)
    x = np.array([limits.smallest_subnormal, -limits.tiny / 3, limits.max, 0.0, np.inf], dtype)

    check(lambda m, x: m.frexp(x), x, order=0, dtypes=(dtype,))


MIXES = [
    np.array([[3, -4, 7]]),
    np.array([2, 5, -3]),
    np.array(3),
    np.array([True, False, True]),
    np.array([1.5, -2.5, 4.0], np.float32),
    np.array([2.5, 1.0, -3.0]),
    np.array(2.0),
    np.array([7, 1, 2], np.uint8),
    np.array([3, 2, 1], np.int32),
]


@pytest.mark.parametrize("name", INTEGER_TWO)
def test_types_of_number_mix_alike(name):
    for x, y in product(MIXES, repeat=2):
        if name == "sub" and (x.dtype == bool) != (y.dtype == bool):
            continue  # PyTorch refuses 1.5 - True; here it is 0.5, as 1.5 + True is 2.5 in both
        kinds = f"{x.dtype} {x.shape}, {y.dtype} {y.shape}"
        try:
            theirs = getattr(torch, name)(torch.tensor(x), torch.tensor(y))
        except RuntimeError:
            with pytest.raises((RuntimeError, TypeError)):
                getattr(minigrad, name)(minigrad.tensor(x), minigrad.tensor(y))
            continue

        ours = getattr(minigrad, name)(minigrad.tensor(x), minigrad.tensor(y))

        assert ours.numpy().dtype == theirs.numpy().dtype, kinds
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-6, err_msg=kinds)


@pytest.mark.parametrize("name", [n for n, _ in ONE if n not in ("logit", "frac", "positive")])
def test_integers_become_real_numbers_alike(name):
    x = np.array([1, 2, 3])

    ours, theirs = (
        getattr(minigrad, name)(minigrad.tensor(x)),
        getattr(torch, name)(torch.tensor(x)),
    )

    assert ours.numpy().dtype == theirs.numpy().dtype
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-6)


OPERATORS = {
    "floor": lambda m, x: x // 2, "reflected floor": lambda m, x: 7 // x, "remainder": lambda m, x: x % 3, "reflected remainder": lambda m, x: 7 % x, "and": lambda m, x: x & 6, "or": lambda m, x: 1 | x, "xor": lambda m, x: x ^ 3, "not": lambda m, x: ~x,
    "left": lambda m, x: x << 2, "right": lambda m, x: x >> 1, "power": lambda m, x: x**2, "reflected power": lambda m, x: 2.0**x, "divide": lambda m, x: 1 / x, "a float": lambda m, x: x + 0.5, "trunc": lambda m, x: m.div(x, 2, rounding_mode="trunc"),
    "trunc of integers": lambda m, x: m.div(x, x - 20, rounding_mode="trunc"), "clamp by a float": lambda m, x: x.clamp(1.5), "float_power": lambda m, x: m.float_power(x, 2), "comparison": lambda m, x: (x > 2) & ~(x == 5), "xor of truths": lambda m, x: (x > 2) ^ (x < 4),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_on_integers_agree(name):
    check(OPERATORS[name], np.array([-4, 5, 9]), rtol=1e-6)


def test_erf_agrees_with_the_standard_library_to_the_last_digits():
    import math

    x = np.concatenate([np.linspace(-7, 27, 20001), [0.0, -0.0, 1e-300, np.inf, -np.inf]])

    for ours, theirs in ((minigrad.erf, math.erf), (minigrad.erfc, math.erfc)):
        expected = np.array([theirs(v) for v in x])
        np.testing.assert_allclose(
            ours(minigrad.tensor(x)).numpy(), expected, rtol=1e-15, atol=1e-300
        )


OUT = {
    "exp": lambda m, x, o: m.exp(x, out=o), "add": lambda m, x, o: m.add(x, x, out=o), "of integers": lambda m, x, o: m.mul(x.long(), 2, out=o), "another shape": lambda m, x, o: m.sum(x, 0, out=o[:0]), "clamp": lambda m, x, o: m.clamp(x, 0, 1, out=o), "max": lambda m, x, o: m.max(x, 0, out=(o[0], o[1].long())),
}  # fmt: skip


@pytest.mark.parametrize("name", OUT)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_results_are_written_where_out_says(name):
    check(OUT[name], draw(2, 3), np.zeros((2, 3)), order=0)


def test_out_is_refused_where_a_gradient_is_wanted():
    check_error(lambda m, x: m.exp(x.requires_grad_(), out=m.ones(2)), draw(2))
    check_error(lambda m, x: m.exp(x, out=m.ones(2).long()), draw(2))


def test_functions_in_place_write_to_their_input():
    for m in (minigrad, torch):
        x = m.tensor([4.0, 9.0])

        assert m.sqrt_(x) is x and x.tolist() == [2.0, 3.0]
