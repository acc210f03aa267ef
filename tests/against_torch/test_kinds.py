"""All ops of truth values, bytes, whole numbers and half precision, beside PyTorch: type, value, or refusal."""

import operator

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import outcome, torch

VALUES = {
    "bool": [True, False, True],
    "uint8": [1, 0, 3],
    "int64": [1, -2, 3],
    "float16": [1.5, -0.5, 2.0],
}

UNARY = """
    abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2
    expm1 fix floor frac lgamma log log10 log1p log2 logit neg positive rad2deg reciprocal relu
    round rsqrt sgn sigmoid sign sin sinc sinh sqrt square tan tanh trunc nan_to_num isnan isinf
    isfinite isposinf isneginf isreal signbit logical_not bitwise_not sum prod mean amax amin max
    min argmax argmin all any var std norm median mode cumsum cumprod cummax cummin sort argsort
    unique nonzero logsumexp softmax log_softmax logcumsumexp topk kthvalue flip diff count_nonzero
    nansum nanmean aminmax trace diag tril outer dot histc msort clone conj long float
    is_floating_point is_signed is_nonzero
""".split()
BINARY = """
    add sub mul div pow floor_divide remainder fmod maximum minimum fmax fmin eq ne lt le gt ge
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift
    bitwise_right_shift atan2 hypot logaddexp xlogy copysign heaviside nextafter matmul dot outer gcd lcm
    where lerp dist isclose ldexp rsub float_power inner cross kron masked_fill clamp
""".split()
ACTIVATIONS = """
    relu gelu elu selu celu leaky_relu softplus silu mish hardtanh relu6 hardswish hardsigmoid
    threshold logsigmoid softsign tanhshrink softshrink hardshrink sigmoid tanh softmax dropout glu
    normalize
""".split()
ARGUMENTS = {
    **dict.fromkeys("logsumexp softmax log_softmax cumsum cumprod cummax cummin logcumsumexp flip".split(), (0,)),
    "topk": (2,), "kthvalue": (1,),
    "F.threshold": (0, 1), "F.softmax": (0,), "F.glu": (0,), "F.dropout": (0.0,), "F.normalize": (2.0, 0),
}  # fmt: skip
ONLY_TENSORS = """
    matmul dot outer inner cross kron where dist maximum minimum fmax fmin atan2 hypot logaddexp heaviside isclose lerp
    gcd lcm logical_and logical_or logical_xor ldexp
""".split()
OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
    "//": operator.floordiv, "%": operator.mod, "&": operator.and_, "@": operator.matmul,
}  # fmt: skip
SPECIAL = {
    "where": lambda m, x, y: m.where(x > 0, x, y), "lerp": lambda m, x, y: x.lerp(y, 0.5),
    "masked_fill": lambda m, x, y: x.masked_fill(x > 0, y if isinstance(y, (int, float)) else y[0]),
    "rsub": lambda m, x, y: m.rsub(x, y),
}  # fmt: skip
# What differs: here these work for types that PyTorch has no kernel for, gcd and lcm are stricter,
# and of half precision beside whole numbers copysign and ldexp make single precision.
DIFFERENT = """
    frac trace kthvalue cross gcd lcm lerp copysign ldexp F.celu F.softshrink F.hardshrink F.glu F.hardtanh sinc clamp
""".split()


def given(m, dtype, values=None):
    return m.tensor(VALUES[dtype] if values is None else values).to(getattr(m, dtype))


def cases():
    for d in VALUES:
        for n in UNARY:
            matrix = [VALUES[d]] * 3 if n in ("trace", "tril") else None
            yield (
                f"{n} {d}",
                lambda m, n=n, d=d, v=matrix: getattr(given(m, d, v), n)(*ARGUMENTS.get(n, ())),
            )
        for n in ACTIVATIONS:
            four = VALUES[d] + VALUES[d][:1]
            yield (
                f"F.{n} {d}",
                lambda m, n=n, d=d, v=four: getattr(m.nn.functional, n)(
                    given(m, d, v), *ARGUMENTS.get(f"F.{n}", ())
                ),
            )
        others = [(e, lambda m, e=e: given(m, e, VALUES[e][::-1])) for e in VALUES]
        numbers = [(k, lambda m, k=k: k) for k in (True, 2, -1, 2.5)]
        for n in BINARY:
            apply = SPECIAL.get(n, lambda m, x, y, n=n: getattr(x, n)(y))
            for e, y in others + (numbers if n not in ONLY_TENSORS else []):
                yield f"{n} {d} {e}", lambda m, d=d, f=apply, y=y: f(m, given(m, d), y(m))
        for sign, f in OPERATORS.items():
            for e, y in others + (numbers if sign != "@" else []):
                yield f"{sign} {d} {e}", lambda m, d=d, f=f, y=y: f(given(m, d), y(m))
                yield f"{sign} {e} {d} reflected", lambda m, d=d, f=f, y=y: f(y(m), given(m, d))
        for n in ("add", "sub"):
            for a in (2, 2.5, True):
                yield (
                    f"{n} {d} alpha={a}",
                    lambda m, n=n, d=d, a=a: getattr(given(m, d), n)(given(m, d), alpha=a),
                )
            for e in VALUES:  # 100 * 3 does not fit into the small types
                yield (
                    f"{n} {d} {e} alpha=100",
                    lambda m, n=n, d=d, e=e: getattr(given(m, d), n)(given(m, e), alpha=100),
                )
        for n in ("add_", "sub_", "mul_", "div_", "fill_", "pow_"):
            yield f"{n} {d}", lambda m, n=n, d=d: getattr(given(m, d), n)(2)
        for n in ("neg_", "exp_", "relu_", "zero_", "abs_"):
            yield f"{n} {d}", lambda m, n=n, d=d: getattr(given(m, d), n)()
        square = [VALUES[d]] * 3
        yield f"matrices {d}", lambda m, d=d, v=square: given(m, d, v) @ given(m, d, v)
        yield f"bmm {d}", lambda m, d=d, v=square: given(m, d, [v]).bmm(given(m, d, [v]))
        yield (
            f"linear {d}",
            lambda m, d=d, v=square: m.nn.functional.linear(given(m, d, v), given(m, d, v)),
        )
        yield f"cat {d}", lambda m, d=d: m.cat([given(m, d), m.ones(1)])


CASES = dict(cases())


COMPARED = sorted({n.split()[0] for n in CASES} - set(DIFFERENT))


@pytest.mark.parametrize("function", COMPARED)
@pytest.mark.filterwarnings("ignore")
def test_type_and_value_or_refusal_are_those_of_pytorch(function):
    names = [n for n in CASES if n.split()[0] == function]
    names = [n for n in names if n not in ("pow bool True", "** bool True")]
    both = {n: [outcome(CASES[n], m, digits=2) for m in (minigrad, torch)] for n in names}

    assert {n: found for n, found in both.items() if found[0] != found[1]} == {}


FAR_OUT = [-np.inf, -1e6, -60.0, -21.0, -9.9, 9.0, 30.0, np.inf, np.nan]


SAMPLES_OF_PYTORCH = {
    "norm of complex": lambda m: m.tensor([3 + 4j, 1j]).norm(),
    "norms of complex rows": lambda m: m.tensor([[3 + 4j, 1j]]).norm(p=1, dim=1),
    "var of complex": lambda m: m.tensor([3 + 4j, 1j, 2]).var(),
    "std of complex": lambda m: m.tensor([[3 + 4j], [1j]]).std(0, correction=0),
    "corrcoef of complex": lambda m: m.corrcoef(m.tensor([[3 + 4j, 1j, 1], [1, 2j, 0]])),
    "tensordot of a size of 1": lambda m: m.tensordot(
        m.ones(1, 3), m.arange(6.0).view(2, 3), ([0, 1], [0, 1])
    ),
    "ndtr of whole numbers": lambda m: m.special.ndtr(m.tensor([0, 1, 3], dtype=m.uint8)),
    "log_ndtr far out": lambda m: m.special.log_ndtr(m.tensor(FAR_OUT, dtype=m.float64)),
    "erfcx far out": lambda m: m.special.erfcx(m.tensor(FAR_OUT, dtype=m.float64)),
    "log_ndtr of whole numbers": lambda m: m.special.log_ndtr(m.tensor([0, 1, 3], dtype=m.uint8)),
    "ndtr of truth values": lambda m: m.special.ndtr(m.tensor([True, False])),
    "ndtri of whole numbers": lambda m: m.special.ndtri(m.tensor([0, 1], dtype=m.uint8)),
    "amax of truth values": lambda m: m.zeros(2, dtype=m.bool).scatter_reduce(
        0, m.tensor([0, 0, 1]), m.tensor([True, False, False]), "amax", include_self=False
    ),
}


@pytest.mark.parametrize("name", SAMPLES_OF_PYTORCH)
def test_a_sample_of_pytorchs_own_tests_agrees(name):
    ours, theirs = (SAMPLES_OF_PYTORCH[name](m) for m in (minigrad, torch))

    assert ours.dtype == theirs.numpy().dtype
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
