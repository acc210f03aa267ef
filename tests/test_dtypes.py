"""Dtypes print as in PyTorch and work as NumPy's: in comparisons, as keys, and wherever NumPy takes a dtype."""

import copy
import pickle

import numpy as np
import pytest

import minigrad
from minigrad.core import dtypes

PAIRS = [(d, d.__numpy_dtype__) for d in dtypes.ALL]


@pytest.mark.parametrize(("ours", "numpys"), PAIRS, ids=str)
def test_a_dtype_equals_numpys(ours, numpys):
    for same in (numpys, numpys.type, numpys.name):
        assert ours == same and same == ours and not ours != same
    assert {numpys: 1}[ours] == 1 and {ours: 1}[numpys] == 1
    assert [d for d in dtypes.ALL if d == numpys] == [ours]
    assert ours not in (None, 3, "no dtype", object())


@pytest.mark.parametrize(("ours", "numpys"), PAIRS, ids=str)
def test_numpy_accepts_a_dtype(ours, numpys):
    a = np.ones(2)

    found = [
        np.dtype(ours), np.zeros(2, ours).dtype, np.empty_like(a, dtype=ours).dtype, np.asarray([1], ours).dtype,
        np.full(2, 1, ours).dtype, np.arange(1, dtype=ours).dtype, a.astype(ours).dtype, np.promote_types(ours, ours),
        np.result_type(ours), np.frombuffer(b"", ours).dtype, np.zeros(1, numpys).view(ours).dtype,
    ]  # fmt: skip

    assert all(d == numpys and isinstance(d, np.dtype) for d in found)
    assert np.can_cast(ours, ours) and np.issubdtype(ours, numpys.type)


@pytest.mark.parametrize(("ours", "numpys"), PAIRS, ids=str)
def test_there_is_one_object_for_each_dtype(ours, numpys):
    x = minigrad.zeros(2, dtype=numpys)

    assert x.dtype is ours and x[0].dtype is ours and x.numpy().dtype is numpys
    assert copy.deepcopy(ours) is pickle.loads(pickle.dumps(ours)) is ours
    assert eval(repr(ours), {"minigrad": minigrad}) is ours


def test_what_pytorchs_dtypes_do_not_have_is_looked_up_in_numpys():
    assert minigrad.float32.kind == "f" and minigrad.float32.type is np.float32
    assert minigrad.int64.name == "int64"
    with pytest.raises(AttributeError, match="shapes"):
        minigrad.float32.shapes  # noqa: B018


def test_a_name_is_the_one_that_pytorch_gives_to_a_dtype():
    x = minigrad.tensor([1.5])
    for name in ("float", "double", "half", "float64", "int", "long", "short", "int8", "bool"):
        assert x.to(name).dtype is minigrad.zeros(1, dtype=name).dtype is getattr(minigrad, name)
    for wrong in ("torch.float32", "U3", ">f4", np.str_, np.dtype("M8[s]"), object, 3):
        with pytest.raises(
            TypeError, match="argument 'dtype' must be a dtype like minigrad.float32, not"
        ):
            minigrad.zeros(1, dtype=wrong)


def test_a_dtype_that_numpy_does_not_have_equals_only_itself():
    assert minigrad.bfloat16 == minigrad.bfloat16 and minigrad.bfloat16 != minigrad.float16
    assert isinstance(minigrad.bfloat16, minigrad.dtype) and minigrad.bfloat16.is_floating_point
    assert repr(copy.copy(minigrad.bfloat16)) == "minigrad.bfloat16"
    with pytest.raises(NotImplementedError, match="leaves out minigrad.bfloat16"):
        minigrad.zeros(2, dtype=minigrad.bfloat16)
    with pytest.raises(NotImplementedError, match="leaves out minigrad.bfloat16"):
        minigrad.zeros(2).to(minigrad.bfloat16)
