"""Dtypes beside PyTorch's: their attributes, texts, and what returns them."""

import pytest

import minigrad
from tests.against_torch.agree import torch

NAMES = [
    "float16", "half", "bfloat16", "float32", "float", "float64", "double", "uint8", "int8", "int16", "short", "int32",
    "int", "int64", "long", "uint16", "uint32", "uint64", "bool", "complex64", "cfloat", "complex128", "cdouble",
]  # fmt: skip


def _text(value):
    return repr(value).replace("torch.", "minigrad.")


@pytest.mark.parametrize("name", NAMES)
def test_the_attributes_of_a_dtype_agree(name):
    ours, theirs = getattr(minigrad, name), getattr(torch, name)

    assert repr(ours) == str(ours) == f"{ours}" == _text(theirs)
    for what in ("is_floating_point", "is_complex", "is_signed", "itemsize"):
        assert getattr(ours, what) == getattr(theirs, what), what
    assert _text(ours.to_real()) == _text(theirs.to_real())
    assert isinstance(ours, minigrad.dtype)


@pytest.mark.parametrize(
    "name", ["float32", "float64", "complex64", "complex128", "int64", "bool", "bfloat16"]
)
def test_the_complex_dtype_of_a_dtype_agrees(name):
    found = []
    for m in (minigrad, torch):
        try:
            found.append(_text(getattr(m, name).to_complex()))
        except RuntimeError as error:
            found.append(str(error).rstrip("."))
    assert found[0] == found[1]


RETURNED = {
    "a tensor's": lambda m: m.tensor([1.5]).dtype,
    "a gradient's": lambda m: m.autograd.grad((x := m.ones(2, requires_grad=True, dtype=m.float64)).sum(), x)[0].dtype,
    "a parameter's": lambda m: m.nn.Linear(2, 3).double().weight.dtype,
    "in a set": lambda m: sorted(map(str, {p.dtype for p in m.nn.BatchNorm1d(2).state_dict().values()})),
    "of all classes": lambda m: [m.tensor(v).dtype for v in (1, 1.5, True, 1j)],
    "result_type": lambda m: m.result_type(m.tensor([1]), 1.5),
    "promote_types": lambda m: m.promote_types(m.uint8, m.int8),
    "get_default_dtype": lambda m: m.get_default_dtype(),
    "of FloatTensor": lambda m: m.LongTensor([1]).dtype,
    "is": lambda m: m.ones(2).dtype is m.float32,
    "of a branch": lambda m: [m.finfo(d).bits if d.is_floating_point else m.iinfo(d).bits for d in (m.float64, m.int8)],
    "isinstance": lambda m: [isinstance(v, m.dtype) for v in (m.float32, m.ones(1).dtype, "float32", float)],
    "in an f-string": lambda m: f"{m.ones(1).dtype} {m.ones(1).long().dtype!r} {[m.bool]}",
    "is_floating_point": lambda m: [m.ones(1, dtype=d).dtype.is_floating_point for d in (m.half, m.int, m.cfloat)],
    "a dictionary of dtypes": lambda m: {m.float32: "single", m.float64: "double"}[m.ones(1).double().dtype],
    "not equal to its name": lambda m: [m.float32 == v for v in (None, 32, m.float64)],
    "its class": lambda m: type(m.ones(1).dtype),
    "classes at the top": lambda m: [type(v) for v in (m.ones(1), m.Size([1]), m.device("cpu"), m.finfo(m.half), m.iinfo(m.int))],
    "the class of a parameter": lambda m: type(m.nn.Parameter(m.ones(1))),
    "the class of a view": lambda m: [type(v) for v in (m.ones(2, 2)[0], m.ones(2, 2).T, m.ones(2, 2).view(-1))],
    "a comparison of classes": lambda m: [type(m.ones(2, 2)[0]) == c for c in (m.Tensor, type(m.ones(1)), m.nn.Parameter, int)],  # noqa: E721
    "a class among others": lambda m: type(m.ones(2, 2).T) in (int, m.Tensor) and m.Tensor != m.nn.Parameter,
    "a class of one's own": lambda m: type(type("Mine", (m.Tensor,), {})([1.0])).__name__,
    "of a buffer in a module": lambda m: {n: b.dtype for n, b in m.nn.BatchNorm1d(2).named_buffers()},
}  # fmt: skip


@pytest.mark.parametrize("case", RETURNED)
def test_what_returns_a_dtype_agrees(case):
    ours, theirs = (RETURNED[case](m) for m in (minigrad, torch))

    assert _text(ours) == _text(theirs)
