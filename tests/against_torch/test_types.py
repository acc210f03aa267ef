"""Types of number beside PyTorch's: in which type a reduction computes, what wraps, what is a mask."""

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import outcome, torch

ARRAYS = {
    "float32": np.float32([[1.5, 2.25], [-0.5, 4]]), "float64": np.array([[1.5, 2.25], [-0.5, 4]]),
    "int64": np.array([[1, 200], [-3, 4]]), "int8": np.int8([[1, 100], [-3, 90]]),
    "uint8": np.uint8([[1, 200], [0, 100]]), "bool": np.array([[True, False], [True, True]]),
}  # fmt: skip
TYPES = [None, "float64", "float32", "int64", "int32", "uint8", "bool"]

REDUCTIONS = {
    "sum": lambda x, d: x.sum(dtype=d), "sum(0)": lambda x, d: x.sum(0, dtype=d),
    "prod": lambda x, d: x.prod(dtype=d), "prod(0)": lambda x, d: x.prod(0, dtype=d),
    "mean": lambda x, d: x.mean(dtype=d), "mean(0)": lambda x, d: x.mean(0, dtype=d),
    "cumsum": lambda x, d: x.cumsum(0, dtype=d), "cumprod": lambda x, d: x.cumprod(0, dtype=d),
    "softmax": lambda x, d: x.softmax(0, dtype=d), "log_softmax": lambda x, d: x.log_softmax(0, dtype=d),
    "norm": lambda x, d: x.norm(dtype=d), "nansum": lambda x, d: x.nansum(dtype=d),
    "nanmean": lambda x, d: x.nanmean(dtype=d),
}  # fmt: skip


def agrees(case):
    assert outcome(case, minigrad) == outcome(case, torch)


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("reduce", REDUCTIONS.values(), ids=REDUCTIONS)
def test_a_reduction_computes_in_the_type_that_is_asked_for(reduce, array):
    for dtype in TYPES:
        agrees(lambda m, d=dtype: reduce(m.tensor(array), None if d is None else getattr(m, d)))


DTYPES = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_dtypes_are_promoted_as_in_pytorch(dtype, other):
    agrees(lambda m: str(m.promote_types(getattr(m, dtype), getattr(m, other))).rpartition(".")[2])
    agrees(lambda m: m.can_cast(getattr(m, dtype), getattr(m, other)))
    if dtype in (
        "float32",
        "float64",
        "int64",
        "complex64",
        "uint16",
    ):  # NumPy has no complex numbers of half precision
        agrees(
            lambda m: m.tensor(1, dtype=getattr(m, other)) == m.tensor([1], dtype=getattr(m, dtype))
        )
        agrees(
            lambda m: str(
                m.result_type(
                    m.tensor([1], dtype=getattr(m, dtype)), m.tensor(1, dtype=getattr(m, other))
                )
            )[-5:]
        )


OUT = {
    "neg": lambda m, x, o: m.neg(x, out=o), "sign": lambda m, x, o: m.sign(x, out=o),
    "add": lambda m, x, o: m.add(x, x, out=o), "pow": lambda m, x, o: m.pow(x, 2, out=o), "div": lambda m, x, o: m.div(x, 2, out=o),
    "clamp": lambda m, x, o: m.clamp(x, 0, 1, out=o), "gt": lambda m, x, o: m.gt(x, 1, out=o), "exp": lambda m, x, o: m.exp(x, out=o),
    "maximum": lambda m, x, o: m.maximum(x, x, out=o), "mm": lambda m, x, o: m.mm(x, x, out=o), "tril": lambda m, x, o: m.tril(x, out=o),
    "where": lambda m, x, o: m.where(x > 1, x, x, out=o), "gather": lambda m, x, o: m.gather(x, 0, m.tensor([[0, 1], [1, 0]]), out=o),
    "sort": lambda m, x, o: m.sort(x, out=(m.empty(2, 2, dtype=x.dtype), o)), "signbit": lambda m, x, o: m.signbit(x, out=o),
    "max": lambda m, x, o: m.max(x, 0, keepdim=True, out=(m.empty(1, 2, dtype=x.dtype), o[:1])),
    "argmax": lambda m, x, o: m.argmax(x, 0, keepdim=True, out=o[:1]), "cat": lambda m, x, o: m.cat([x[:1], x[:1]], out=o),
    "stack": lambda m, x, o: m.stack([x[0], x[0]], out=o), "sum": lambda m, x, o: m.sum(x, 0, keepdim=True, out=o[:1]),
    "all": lambda m, x, o: m.all(x, 0, keepdim=True, out=o[:1]), "any": lambda m, x, o: m.any(x, 0, keepdim=True, out=o[:1]),
    "isposinf": lambda m, x, o: m.isposinf(x, out=o), "nonzero": lambda m, x, o: m.nonzero(x, out=o), "mean": lambda m, x, o: m.mean(x, 0, True, out=o[:1]),
    "amax": lambda m, x, o: m.amax(x, 0, True, out=o[:1]), "floor": lambda m, x, o: m.floor(x, out=o), "prod": lambda m, x, o: m.prod(x, 0, True, out=o[:1]),
    "cumsum": lambda m, x, o: m.cumsum(x, 0, out=o), "isin": lambda m, x, o: m.isin(x, x, out=o), "take": lambda m, x, o: m.take(x, m.tensor([[0, 1], [1, 2]]), out=o),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("case", OUT.values(), ids=OUT)
@pytest.mark.filterwarnings("ignore")
def test_out_may_have_the_dtypes_that_it_may_have_in_pytorch(case, dtype):
    for other in ("uint8", "int32", "int64", "float32", "float64"):
        agrees(
            lambda m, d=other: case(
                m,
                m.tensor([[1, 2], [3, 0]], dtype=getattr(m, dtype)),
                m.ones(2, 2, dtype=getattr(m, d)),
            )
        )


CONVERTED = {
    "float32 and a complex128 number": lambda m: m.tensor([1.5]) + m.tensor(2j, dtype=m.complex128),
    "float64 and complex64": lambda m: m.tensor([1.5], dtype=m.float64) * m.tensor(2j, dtype=m.complex64),
    "ldexp of complex": lambda m: m.ldexp(m.tensor([1.5 + 1j]), m.tensor([2])).real,
    "float_power_ of complex": lambda m: m.tensor([2j], dtype=m.complex128).float_power_(2).real,
    "float of complex": lambda m: [float(m.tensor(2 + 0j)), int(m.tensor(2 + 0j))],
    "type(DoubleTensor)": lambda m: m.ones(2).type(m.DoubleTensor), "view(dtype=)": lambda m: m.ones(2).view(dtype=m.int32),
    "2 ** 63 as uint64": lambda m: m.tensor(2**63, dtype=m.uint64).item(), "finfo is equal": lambda m: m.finfo(m.float32) == m.finfo(m.float32) != m.finfo(m.float64),
    "repr(iinfo)": lambda m: [repr(m.iinfo(d)) for d in (m.int8, m.int64)], "repr(finfo)": lambda m: [repr(m.finfo(d)) for d in (m.float16, m.float64)],
    "random_ of floats": lambda m: [m.manual_seed(0) and m.zeros(9).random_(*ends) for ends in ((0, 2**40), (-(2**40), 7), (-(2**25) - 1, 2**26 + 1))],
    "random_(from, None)": lambda m: [m.manual_seed(0) and m.zeros(9, dtype=getattr(m, d)).random_(low, None) for d, low in
                                      (("float32", -(2**24)), ("half", 7), ("int8", -20), ("bool", 0), ("int64", 5), ("int64", -(2**63)))],
    "multinomial without rows": lambda m: [m.multinomial(m.ones(0, 3), n, again) for n in (1, 2) for again in (False, True)],
    "scatter_reduce of complex": lambda m: m.ones(3, dtype=m.complex64).scatter_reduce(0, m.tensor([0, 0, 1]), m.tensor([1 + 2j, 3, 5]), "mean").real,
    "Gamma.log_prob": lambda m: [m.distributions.Gamma(2.0, 1.0).log_prob(v) for v in (0.5, m.tensor(0.5, dtype=m.float64))],
    "full of a tensor": lambda m: [m.full((2,), m.tensor(v, dtype=d)) for v, d in ((1.5, m.float64), (3, m.uint8), (True, m.bool))],
    "as_tensor shares": lambda m: [f(a, dtype=m.float32).fill_(5) is None or a.tolist() for f in (m.as_tensor, m.asarray) for a in [np.ones(2, "f4")]],
    "asarray shares": lambda m: [(x := m.ones(2)), m.asarray(x, dtype=m.float32, copy=False).fill_(5), x],
    "to(dtype, non_blocking, copy)": lambda m: [(x := m.ones(2)), *[x.to(*given).fill_(5) for given in ((m.float32, False, True), (x, True, True), ("cpu", m.float32, False, True), (x, True))], x],
    "normalize into out": lambda m: [o := m.empty(1, 2), m.nn.functional.normalize(m.tensor([[3.0, 4.0]]), out=o), o],
    "take_along_dim": lambda m: m.take_along_dim(m.tensor([1.5, 2.5]), m.tensor([1], dtype=m.int32)),
    "uint16 and float32": lambda m: m.tensor([1], dtype=m.uint16) + m.tensor([1.5]), "sum into int": lambda m: m.sum(m.tensor([0.5, -1.25, 2.75]), 0, out=m.tensor(0)),
}  # fmt: skip


@pytest.mark.parametrize("case", CONVERTED.values(), ids=CONVERTED)
@pytest.mark.filterwarnings("ignore:(from|to - 1) is out of bounds")
def test_a_conversion_agrees(case):
    agrees(case)


@pytest.mark.parametrize(
    "case", [lambda m: m.tensor([3]).copysign(-1), lambda m: m.tensor([3]).ldexp(m.tensor([2]))]
)
def test_integers_become_the_default_dtype(case):
    found = []
    for m in (minigrad, torch):
        m.set_default_dtype(m.float64)
        found.append(outcome(case, m))
        m.set_default_dtype(m.float32)
    assert found[0] == found[1]


def _assigned(index, value):
    def case(x):
        z = x.clone()
        z[index] = value
        return z

    return case


SMALL = {
    "* -1": lambda m, x: x * -1, "* 300": lambda m, x: x * 300, "+ 300": lambda m, x: x + 300,
    "- 300": lambda m, x: x - 300, "+ 2**40": lambda m, x: x + 2**40, "2 -": lambda m, x: 2 - x, "-": lambda m, x: -x,
    "* itself": lambda m, x: x * x, "< -1": lambda m, x: x < -1, "== 300": lambda m, x: x == 300,
    "> 300": lambda m, x: x > 300, "add alpha": lambda m, x: x.add(x, alpha=-1), "add_": lambda m, x: x.clone().add_(-1),
    "fill_(300)": lambda m, x: x.clone().fill_(300), "fill_(-1)": lambda m, x: x.clone().fill_(-1),
    "fill_(2.7)": lambda m, x: x.clone().fill_(2.7), "x[0] = -1": lambda m, x: _assigned(0, -1)(x),
    "x[0] = 300": lambda m, x: _assigned(0, 300)(x), "x[0] = 2.7": lambda m, x: _assigned(0, 2.7)(x),
    "x[0] = -2.7": lambda m, x: _assigned(0, -2.7)(x), "x[[0]] = 300": lambda m, x: _assigned([0], 300)(x),
    "masked_fill(-1)": lambda m, x: x.masked_fill(x > 1, -1), "masked_fill(300)": lambda m, x: x.masked_fill(x > 1, 300),
    "where(-1)": lambda m, x: m.where(x > 1, x, -1), "where(300)": lambda m, x: m.where(x > 1, x, 300),
    "clamp(1, 300)": lambda m, x: x.clamp(1, 300), "& -1": lambda m, x: x & -1, "| 300": lambda m, x: x | 300,
    "sum": lambda m, x: x.sum(), "cumsum": lambda m, x: x.cumsum(0), "any": lambda m, x: x.any(), "all": lambda m, x: x.all(),
    "any(0)": lambda m, x: x.any(0), "all(0, keepdim)": lambda m, x: x.all(0, keepdim=True), "// -1": lambda m, x: x // 3,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)
def test_small_whole_numbers_wrap_as_in_pytorch(case, dtype):
    agrees(lambda m: case(m, m.tensor([1, 2, 100]).to(getattr(m, dtype))))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("fill", [lambda m, d: m.ones(2, dtype=d).fill_(1e39), lambda m, d: m.full((2,), 1e39, dtype=d),
                                  lambda m, d: m.ones(2, dtype=d).fill_(float("inf")), lambda m, d: m.ones(2, dtype=d) * 1e39])  # fmt: skip
def test_a_number_that_is_too_large_is_refused_where_pytorch_refuses(fill, dtype):
    agrees(lambda m: fill(m, getattr(m, dtype)))


X = np.arange(6.0).reshape(2, 3)
INDEXED = {
    "uint8": lambda m, x: x[m.tensor([1, 0], dtype=m.uint8)],
    "uint8 of x's shape": lambda m, x: x[m.tensor([[1, 0, 1], [0, 0, 2]], dtype=m.uint8)],
    "array of uint8": lambda m, x: x[np.array([1, 0], dtype=np.uint8)],
    "uint8 without axes": lambda m, x: x[m.tensor(1, dtype=m.uint8)],
    "bool without axes": lambda m, x: x[m.tensor(True)],
    "int32": lambda m, x: x[m.tensor([1, 0], dtype=m.int32)],
    "int16": lambda m, x: x[m.tensor([1, 0], dtype=m.int16)],
    "int8": lambda m, x: x[m.tensor([1, 0], dtype=m.int8)],
    "floats": lambda m, x: x[m.tensor([1.0, 0.0])],
    "list of bools": lambda m, x: x[[True, False]],
    "where uint8": lambda m, x: m.where(m.tensor([1, 0, 1], dtype=m.uint8), x, 0.0),
    "where int64": lambda m, x: m.where(m.tensor([1, 0, 1]), x, 0.0),
    "x.where": lambda m, x: x.where(m.tensor([1, 0, 1], dtype=m.uint8), x * 2),
    "masked_fill": lambda m, x: x.masked_fill(m.tensor([1, 0, 1], dtype=m.uint8), 0),
    "masked_select": lambda m, x: x.masked_select(m.tensor([1, 0, 1], dtype=m.uint8)),
    "gather": lambda m, x: x.gather(0, m.tensor([[1, 0, 1]], dtype=m.uint8)),
    "index_select": lambda m, x: x.index_select(0, m.tensor([1], dtype=m.uint8)),
    "index_select int32": lambda m, x: x.index_select(0, m.tensor([1], dtype=m.int32)),
}  # fmt: skip


@pytest.mark.parametrize("case", INDEXED.values(), ids=INDEXED)
@pytest.mark.filterwarnings("ignore")
def test_an_index_means_what_it_means_in_pytorch(case):
    agrees(lambda m: case(m, m.tensor(X)))


@pytest.mark.parametrize(
    "name", "add sub mul div remainder float_power pow xlogy floor_divide".split()
)
@pytest.mark.parametrize("number", [3.14, 3, 300, -1, 2j], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_a_number_before_a_tensor_has_the_precision_of_the_result(name, number):
    for dtype in ("float64", "float32", "int64", "uint8", "complex128"):
        for whole in (True, False):

            def case(m, dtype=dtype, whole=whole):
                x = m.tensor([1, 0, 1]).to(getattr(m, dtype))
                z = getattr(m, name)(number, x if whole else x[0])
                return z.numpy()

            try:
                theirs = case(torch)
            except (RuntimeError, TypeError):
                continue
            ours = case(minigrad)

            assert ours.dtype == theirs.dtype
            rtol = 1e-12 if ours.dtype in (np.float64, np.complex128) else 1e-6
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-12)
