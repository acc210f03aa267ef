"""Making tensors, counting entries, and asking what a tensor is: as PyTorch answers."""

import platform

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from tests.against_torch.agree import check, draw

CASES = {
    "empty": lambda m: m.empty(2, 3).zero_(), "eye": lambda m: m.eye(3), "eye, wide": lambda m: m.eye(2, 3, dtype=m.int64), "linspace": lambda m: m.linspace(-1, 2, 7), "linspace of one": lambda m: m.linspace(3, 10, 1), "linspace of none": lambda m: m.linspace(0, 1, 0),
    "linspace of integers": lambda m: m.linspace(0, 10, 4, dtype=m.int64), "logspace": lambda m: m.logspace(-1, 2, 4), "logspace of 2": lambda m: m.logspace(0, 5, 6, base=2.0, dtype=m.float64), "arange": lambda m: m.arange(2, 11, 3), "arange by end": lambda m: m.arange(end=4), "arange of floats": lambda m: m.arange(0, 1, 0.3), "arange, its step cut to 0": lambda m: m.arange(1, 2.5, 0.5, dtype=m.int32),
    "zeros by size": lambda m: m.zeros(size=(2, 1)), "ones": lambda m: m.ones((2,), dtype=m.bool), "full": lambda m: m.full((2, 2), 3), "full of float": lambda m: m.full((), 2.5), "tril_indices": lambda m: m.tril_indices(3, 4, 1), "triu_indices": lambda m: m.triu_indices(4, 3, -1), "empty_like": lambda m: m.empty_like(m.ones(3, dtype=m.int32)).zero_(),
    "new_zeros": lambda m: m.tensor([1.0], dtype=m.float64).new_zeros(2, 3), "new_ones": lambda m: m.tensor([1]).new_ones((2,)), "new_full": lambda m: m.tensor([1]).new_full((2,), 7, dtype=m.float32), "new_tensor": lambda m: m.tensor([1.5]).new_tensor([1, 2]), "meshgrid": lambda m: m.meshgrid(m.arange(2), m.arange(3), indexing="ij"),
    "linspace of complex": lambda m: m.linspace(1, 2 + 3j, 4), "logspace of complex": lambda m: m.logspace(0, 1j, 3), "empty_strided": lambda m: m.empty_strided((2, 3), (8, 1)).zero_(), "copy_ of complex": lambda m: m.zeros(2).copy_(m.tensor([1 + 2j, 3j])), "fill_ of complex": lambda m: m.zeros(2, dtype=m.bool).fill_(1j),
    "meshgrid as of points": lambda m: m.meshgrid(m.arange(2), m.arange(3), m.arange(2), indexing="xy"), "cartesian_prod": lambda m: m.cartesian_prod(m.arange(2), m.arange(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_created_tensors_agree(name):
    check(CASES[name], rtol=1e-6)


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="PyTorch rounds by the size of a register"
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_evenly_spaced_numbers_are_pytorchs_to_the_last_digit(dtype):
    def case(m):
        d = getattr(m, dtype)
        return [
            *[m.linspace(a, b, n, dtype=d) for a, b, n in ((0, 1, 11), (-3, 0.7, 100), (2, -1, 8))],
            *[m.arange(a, b, c, dtype=d) for a, b, c in ((0, 1, 0.1), (-3, 4, 0.07), (2, 0, -0.3))],
        ]

    for ours, theirs in zip(case(minigrad), case(torch), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


X = np.array([[3.0, 0.0, 2.0], [2.0, 3.0, -1.0]])
COUNTS = {
    "nonzero": lambda m, x: m.nonzero(x), "nonzero as a tuple": lambda m, x: x.nonzero(as_tuple=True), "nonzero of a number": lambda m, x: x[0, 0].nonzero(), "nonzero of 0": lambda m, x: x[0, 1].nonzero(), "argwhere": lambda m, x: m.argwhere(x > 1), "where": lambda m, x: m.where(x > 2),
    "unique": lambda m, x: m.unique(x), "unique with all": lambda m, x: x.unique(return_inverse=True, return_counts=True), "unique with counts": lambda m, x: m.unique(x, return_counts=True), "unique rows": lambda m, x: m.unique(m.cat((x, x)), dim=0), "unique columns": lambda m, x: x.unique(dim=1, return_inverse=True),
    "bincount": lambda m, x: m.bincount(x.abs().long().view(-1)), "bincount, long": lambda m, x: m.bincount(x.abs().long().view(-1), minlength=6), "bincount with weights": lambda m, x: x.abs().long().view(-1).bincount(x.view(-1)), "histc": lambda m, x: m.histc(x, 4), "histc between": lambda m, x: x.histc(bins=5, min=0, max=3),
    "histogram": lambda m, x: m.histogram(x, 4), "histogram between": lambda m, x: m.histogram(x, 3, range=(0.0, 2.5), density=True), "histogram of bins": lambda m, x: x.histogram(m.tensor([-1.0, 0.5, 4.0], dtype=x.dtype)), "bucketize": lambda m, x: m.bucketize(x, m.tensor([0.0, 2.0])), "searchsorted": lambda m, x: m.searchsorted(m.tensor([0.0, 2.0]).to(x.dtype), x, right=True),
    "isin": lambda m, x: m.isin(x, m.tensor([2.0, 0.0])), "isclose": lambda m, x: m.isclose(x, x + 1e-9), "type_as": lambda m, x: x.type_as(m.tensor([1])), "byte": lambda m, x: x.abs().byte(), "short": lambda m, x: x.short(),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_places_agree(name):
    check(COUNTS[name], X, order=0)


ANSWERS = {
    "numel": lambda m, x: m.numel(x), "nelement": lambda m, x: x.nelement(), "element_size": lambda m, x: x.element_size(), "itemsize": lambda m, x: x.itemsize, "nbytes": lambda m, x: x.nbytes, "ndimension": lambda m, x: x.ndimension(), "stride": lambda m, x: x.stride(), "stride of a view": lambda m, x: x.t()[:, ::2].stride(), "stride along": lambda m, x: x.stride(-1),
    "stride of empty_strided": lambda m, x: m.empty_strided((2, 3), (1, 2)).stride(), "stride of new_empty_strided": lambda m, x: x.new_empty_strided((2, 3), (4, 1)).stride(), "address of nothing": lambda m, x: (x[0:0].data_ptr(), m.ones(0).data_ptr()),
    "offset": lambda m, x: x[1, 1:].storage_offset(), "is_floating_point": lambda m, x: (x.is_floating_point(), m.is_floating_point(x.long())), "is_contiguous": lambda m, x: (x.is_contiguous(), x.t().is_contiguous()), "is_tensor": lambda m, x: (m.is_tensor(x), m.is_tensor(1)), "allclose": lambda m, x: (m.allclose(x, x + 1e-9), x.allclose(x + 1)), "equal": lambda m, x: (m.equal(x, x * 1), m.equal(x, x[0])),
    "device": lambda m, x: (str(x.device), x.device.type, x.is_cuda, x.cpu() is x, x.device == m.device("cpu"), repr(m.device("cuda:1"))), "type": lambda m, x: x.type().partition(".")[2], "to a type": lambda m, x: str(x.type(m.int32).dtype).partition(".")[2] or str(x.type(m.int32).dtype), "the same memory": lambda m, x: x.data_ptr() == x.detach().data_ptr(), "to the cpu": lambda m, x: x.to("cpu") is x, "cuda": lambda m, x: m.cuda.is_available() and False,
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_about_a_tensor_agree(name):
    ours, theirs = (ANSWERS[name](m, m.tensor(X)) for m in (minigrad, torch))

    assert ours == theirs or (name == "to a type" and ours == "int32")


@pytest.mark.parametrize("name", ["rand", "randn", "zeros", "empty"])
def test_random_tensors_have_the_same_shapes_and_types(name):
    for case in (
        lambda m: getattr(m, name)(2, 3),
        lambda m: getattr(m, name)((2, 3), dtype=m.float64),
        lambda m: getattr(m, name)(size=(1,)),
    ):
        ours, theirs = case(minigrad).numpy(), case(torch).numpy()

        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)


PRINTED = [
    {"precision": 2},
    {"sci_mode": True},
    {"sci_mode": False},
    {"threshold": 5, "edgeitems": 1},
    {"linewidth": 40},
    {"profile": "short"},
]


@pytest.mark.parametrize("options", PRINTED, ids=str)
def test_tensors_are_printed_alike(options):
    x = draw(4, 5) * np.array([1, 10, 100, 0.1, 1])
    try:
        for m in (minigrad, torch):
            m.set_printoptions(**options)

        assert str(minigrad.tensor(x.astype(np.float32))) == str(torch.tensor(x.astype(np.float32)))
    finally:
        for m in (minigrad, torch):
            m.set_printoptions(profile="default")
