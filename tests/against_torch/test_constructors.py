"""What tensors are made of, beside PyTorch: tensor(...), Tensor(...), and the types of number."""

from array import array
from collections import deque

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import outcome, torch

HALVES = {"float32": np.float32([1.5, 2.5]), "float64": np.array([1.5, 2.5]), "int64": np.array([1, 2]),
          "uint8": np.uint8([1, 200]), "bool": np.array([True, False])}  # fmt: skip

MADE = {
    "Tensor()": lambda m: m.Tensor(),
    "Tensor(list)": lambda m: m.Tensor([1, 2]),
    "Tensor(nested)": lambda m: m.Tensor([[1, 2], [3, 4]]),
    "Tensor(bools)": lambda m: m.Tensor([True]),
    "Tensor(tuple)": lambda m: m.Tensor((2, 3)),
    "Tensor(range)": lambda m: m.Tensor(range(3)),
    "Tensor(no numbers)": lambda m: m.Tensor([]),
    "tensor(deque)": lambda m: m.tensor([deque([1.0, 2.0]), deque([m.tensor(3.0), 4])]),
    "tensor(array.array)": lambda m: m.tensor(array("f", [1.5, 2.5])),
    "tensor(bytearray)": lambda m: m.tensor(bytearray(b"ab")),
    "FloatTensor(deque)": lambda m: m.FloatTensor(deque([1, 2])),
    "tensor(2**64, float)": lambda m: m.tensor([2**64], dtype=m.float64),
    "tensor(2**64 beside a float)": lambda m: m.tensor([2**64, 1.5]),
    "Tensor(tensors)": lambda m: m.Tensor([m.tensor(1.0), m.tensor([2])]),
    "Tensor(data=)": lambda m: m.Tensor(data=[1]),
    "Tensor(device=)": lambda m: m.Tensor([1], device="cpu"),
    "Tensor(tensor)": lambda m: m.Tensor(m.tensor([1, 2])),
    "Tensor(double)": lambda m: m.Tensor(m.ones(2, dtype=m.float64)),
    "Tensor(number)": lambda m: m.Tensor(5.0),
    "Tensor(bool)": lambda m: m.Tensor(True),
    "Tensor(np.float32)": lambda m: m.Tensor(np.float32(3)),
    "Tensor(array without axes)": lambda m: m.Tensor(np.array(2.0)),
    "Tensor(None)": lambda m: m.Tensor(None),
    "Tensor(str)": lambda m: m.Tensor("a"),
    "Tensor(-1)": lambda m: m.Tensor(-1),
    "Tensor(2, 3.0)": lambda m: m.Tensor(2, 3.0),
    "Tensor(requires_grad=)": lambda m: m.Tensor([1.0], requires_grad=True),
    "Tensor(dtype=)": lambda m: m.Tensor([1.0], dtype=m.float64),
    "LongTensor": lambda m: m.LongTensor([1.7]),
    "LongTensor(array)": lambda m: m.LongTensor(np.array([1.7])),
    "FloatTensor(longs)": lambda m: m.FloatTensor(m.tensor([1])),
    "FloatTensor(tensor)": lambda m: m.FloatTensor(m.tensor([1.5])),
    "DoubleTensor()": lambda m: m.DoubleTensor(),
    "tensor(tensors)": lambda m: m.tensor([m.tensor([1.0]), m.tensor([2.0])]),
    "tensor(rows of tensors)": lambda m: m.tensor([[m.ones(1)], [m.ones(1, 1)]]),
    "tensor(vectors)": lambda m: m.tensor([m.ones(2), m.ones(2)]),
    "tensor(double, int)": lambda m: m.tensor([m.tensor(1.0, dtype=m.float64), 2]),
    "tensor(int tensor, float)": lambda m: m.tensor([m.tensor(1), 2.5]),
    "tensor(arrays)": lambda m: m.tensor([np.float32([1]), np.float32([2])]),
    "tensor(np.float64)": lambda m: m.tensor([1, np.float64(2.5)]),
    "tensor(np.float32, float)": lambda m: m.tensor([np.float32(1), 2.0]),
    "tensor(np.int32)": lambda m: m.tensor([np.int32(1)]),
    "tensor(bool, int)": lambda m: m.tensor([True, 2]),
    "tensor(bool, float)": lambda m: m.tensor([True, 2.5]),
    "tensor(int, complex)": lambda m: m.tensor([1, 2j]),
    "tensor(range)": lambda m: m.tensor(range(3)),
    "tensor(2.7, int64)": lambda m: m.tensor([2.7, -2.7], dtype=m.int64),
    "tensor(-1, uint8)": lambda m: m.tensor([-1], dtype=m.uint8),
    "tensor(300, uint8)": lambda m: m.tensor([300], dtype=m.uint8),
    "tensor(-1.0, uint8)": lambda m: m.tensor([-1.0], dtype=m.uint8),
    "tensor(200, int8)": lambda m: m.tensor([200], dtype=m.int8),
    "tensor(2**31, int32)": lambda m: m.tensor([2**31], dtype=m.int32),
    "full_like(300, uint8)": lambda m: m.full_like(m.ones(2), 300, dtype=m.uint8),
    "tensor(nan, int32)": lambda m: m.tensor([float("nan")], dtype=m.int32),
    "tensor(array of 300, uint8)": lambda m: m.tensor(np.array([300]), dtype=m.uint8),
    "tensor(1e39)": lambda m: m.tensor([1e39]),
    "tensor(2**63)": lambda m: m.tensor([2**63]),
    "tensor(None)": lambda m: m.tensor(None),
    "tensor(set)": lambda m: m.tensor({1}),
    "tensor(unequal)": lambda m: m.tensor([[1], [1, 2]]),
    "full(300, uint8)": lambda m: m.full((2,), 300, dtype=m.uint8),
    "full(-1, uint8)": lambda m: m.full((2,), -1, dtype=m.uint8),
    "tril_indices": lambda m: m.tril_indices(2, 2, dtype=m.int32),
    **{f"{f}(device=)": lambda m, f=f: getattr(m, f)(2, 2, layout=m.strided, device="cpu", pin_memory=False) for f in ("tril_indices", "triu_indices")},
    **{f"{f}_window(device=)": lambda m, f=f: getattr(m, f"{f}_window")(5, layout=m.strided, device="cpu", pin_memory=False).round(decimals=4)
       for f in ("hann", "hamming", "blackman", "bartlett")},
    "hann_window(requires_grad=)": lambda m: (m.hann_window(3, requires_grad=True) * 2).sum(),
    **{f"Tensor({t} array)": lambda m, a=a: m.Tensor(a) for t, a in HALVES.items()},
    **{f"{f}(dtype={d.__name__})": lambda m, f=f, d=d: getattr(m, f)(2, dtype=d)
       for f in ("zeros", "ones", "rand", "randn", "arange", "eye", "randperm") for d in (float, int, bool)
       if not (f.startswith("rand") and d is not float) and (f, d) != ("arange", bool)},
    **{f"{f}(dtype=float)": lambda m, f=f: getattr(m, f)(m.ones(2), dtype=float)
       for f in ("zeros_like", "ones_like", "rand_like", "randn_like")},
    "full(dtype=float)": lambda m: m.full((2,), 1, dtype=float),
    "full_like(dtype=float)": lambda m: m.full_like(m.ones(2), 1, dtype=float),
    "linspace(dtype=float)": lambda m: m.linspace(0, 1, 3, dtype=float),
    "logspace(dtype=float)": lambda m: m.logspace(0, 1, 3, dtype=float),
    "randint(dtype=float)": lambda m: m.randint(0, 3, (2,), dtype=float),
    "tensor(0.1, float64)": lambda m: m.tensor([[0.1], [1]], dtype=m.float64),
    "tensor(dtype=float)": lambda m: m.tensor([1], dtype=float),
    "as_tensor(dtype=float)": lambda m: m.as_tensor([1], dtype=float),
    "new_zeros(dtype=float)": lambda m: m.ones(2).new_zeros(2, dtype=float),
    "Linear(dtype=float)": lambda m: m.nn.Linear(2, 2, dtype=float).weight,
}  # fmt: skip
SHAPED = {
    "Tensor(3)": lambda m: m.Tensor(3), "Tensor(2, 3)": lambda m: m.Tensor(2, 3),
    "Tensor(np.int64)": lambda m: m.Tensor(np.int64(3)), "Tensor(Size)": lambda m: m.Tensor(m.ones(2, 3).shape),
    "Tensor(size=)": lambda m: m.Tensor(size=(2,)), "LongTensor(2, 3)": lambda m: m.LongTensor(2, 3),
    "Tensor(whole array without axes)": lambda m: m.Tensor(np.array(2)), "empty": lambda m: m.empty(2, dtype=float),
    "empty of ints": lambda m: m.empty(2, dtype=int), "empty_like": lambda m: m.empty_like(m.ones(2), dtype=float),
}  # fmt: skip


def made(make, m):
    m.manual_seed(3)
    return outcome(make, m, digits=12)  # in randn a logarithm may be rounded differently


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.filterwarnings("ignore")
def test_what_is_made_is_what_pytorch_makes(make):
    assert made(make, minigrad) == made(make, torch)


@pytest.mark.parametrize("make", SHAPED.values(), ids=SHAPED)
def test_numbers_are_sizes_for_the_old_constructors(make):
    ours, theirs = make(minigrad), make(torch)

    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.dtype == theirs.numpy().dtype
    assert not ours.any()


def test_the_old_constructor_shares_what_pytorch_shares():
    for m in (minigrad, torch):
        array, x = np.ones(2, np.float32), m.ones(2)

        m.Tensor(array)[0] = 7
        m.Tensor(x)[0] = 7

        assert array[0] == x[0] == 7 and x._version == 1


def test_the_old_constructor_lets_gradients_pass():
    for m in (minigrad, torch):
        x = m.ones(2, requires_grad=True)

        m.Tensor(x * 2).sum().backward()

        assert x.grad.tolist() == [2, 2]
