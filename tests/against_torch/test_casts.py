"""Casts beside PyTorch's: to integers and booleans they cut the graph, in every way to differentiate."""

import pytest

import minigrad
from tests.against_torch.agree import torch


def _written(m, x):
    z = m.zeros(2, dtype=m.int64)
    z[:] = x
    return z


CASTS = {
    "int": lambda m, x: x.int(), "long": lambda m, x: x.long(), "short": lambda m, x: x.short(),
    "char": lambda m, x: x.char(), "byte": lambda m, x: x.byte(), "bool": lambda m, x: x.bool(),
    "half": lambda m, x: x.half(), "double": lambda m, x: x.double(), "to(int)": lambda m, x: x.to(int),
    "to(float)": lambda m, x: x.to(float), "to(bool)": lambda m, x: x.to(bool),
    "to(tensor)": lambda m, x: x.to(m.tensor(1)), "type": lambda m, x: x.type(m.int32),
    "type of a name": lambda m, x: x.type(f"{m.__name__}.LongTensor"), "type of a class": lambda m, x: x.type(m.LongTensor),
    "type_as": lambda m, x: x.type_as(m.tensor(1)),
    "half().int()": lambda m, x: x.half().int(), "as_tensor": lambda m, x: m.as_tensor(x, dtype=m.int32),
    "view": lambda m, x: x.view(m.int32), "copy_": lambda m, x: m.zeros(2, dtype=m.int64).copy_(x),
    "z[:] =": _written, "x > 1": lambda m, x: x > 1, "argmax": lambda m, x: x.argmax(), "isnan": lambda m, x: x.isnan(),
}  # fmt: skip
VALUES = [1.5, -2.25]


def _backward(m, cast):
    x = m.tensor(VALUES, requires_grad=True)
    k = cast(m, x)
    (x * k).sum().backward()
    return (
        str(k.dtype).rpartition(".")[2],
        k.requires_grad,
        k.is_leaf,
        k.grad_fn is None,
        x.grad.tolist(),
    )


def _forward(m, cast):
    forward_ad = m.autograd.forward_ad
    with forward_ad.dual_level():
        x = forward_ad.make_dual(m.tensor(VALUES), m.ones(2))
        k = cast(m, x)
        tangents = [forward_ad.unpack_dual(z).tangent for z in (k, x * k)]
    return [None if t is None else t.tolist() for t in tangents]


WAYS = {
    "backward": _backward,
    "forward": _forward,
    "func.grad": lambda m, cast: m.func.grad(lambda x: (x * cast(m, x)).sum())(
        m.tensor(VALUES)
    ).tolist(),
    "func.jacfwd": lambda m, cast: m.func.jacfwd(lambda x: x * cast(m, x))(
        m.tensor(VALUES)
    ).tolist(),
    "func.jacrev": lambda m, cast: m.func.jacrev(lambda x: x * cast(m, x))(
        m.tensor(VALUES)
    ).tolist(),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_a_cast_is_differentiated_as_in_pytorch(cast, way):
    assert way(minigrad, cast) == way(torch, cast)


@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
def test_a_program_with_a_cast_has_the_gradient_of_eager(cast):
    def f(x):
        return (x * cast(minigrad, x).float()).sum()

    x = minigrad.tensor(VALUES, requires_grad=True)
    f(x).backward()
    try:
        program = minigrad.static.record(f)(minigrad.ones(2))
    except TypeError:  # x.view(dtype) is refused
        return

    assert program.gradient(wrt=[0])(x.detach()).tolist() == x.grad.tolist()
