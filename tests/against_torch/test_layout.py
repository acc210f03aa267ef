"""Arrangement: minigrad and PyTorch give the same views and copies, gradients and errors."""

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import check, draw, torch

X = draw(2, 3, 4)
# What PyTorch's own samples, in test_opinfo.py, leave out, and what is tried on other shapes below.
CASES = {
    "view": lambda m, x: x.view(4, -1),
    "permute": lambda m, x: x.permute(1, -1, 0),
    "moveaxis": lambda m, x: m.moveaxis(x, -1, 0),
    "swapaxes": lambda m, x: m.swapaxes(x, 0, 2),
    "expand": lambda m, x: x[:, :1].expand(5, 2, -1, 4),
    "squeeze": lambda m, x: x[:, :1].squeeze(),
    "unsqueeze": lambda m, x: x.unsqueeze(-1),
    "unflatten": lambda m, x: x.unflatten(2, (2, -1)),
    "flip": lambda m, x: m.flip(x, (0, -1)),
    "roll": lambda m, x: m.roll(x, 5),
    "tile": lambda m, x: m.tile(x, (2,)),
    "repeat_interleave by": lambda m, x: m.repeat_interleave(x, m.tensor([0, 2, 1]), dim=1),
    "tril": lambda m, x: m.tril(x, 1),
    "split": lambda m, x: m.split(x, 3, dim=-1),
    "chunk": lambda m, x: m.chunk(x, 3, -1),
    "tensor_split": lambda m, x: m.tensor_split(x, 3, dim=2),
    "tensor_split at": lambda m, x: x.tensor_split((1, 2), dim=2),
    "contiguous": lambda m, x: x.mT.contiguous(),
    "product of a view": lambda m, x: (x.view(6, 4) * x.unfold(2, 2, 2).reshape(6, 4)).tril(),
}


@pytest.mark.parametrize("name", CASES)
def test_arrangements_agree(name):
    check(CASES[name], X, rtol=1e-12)


@pytest.mark.parametrize(
    "name", "squeeze unsqueeze tile split permute flip unflatten chunk tril".split()
)
def test_arrangements_of_nothing_agree(name):
    check(CASES[name], draw(0, 3, 4))


NUMBER = {
    "view": lambda m, x: x.view(1, 1),
    "expand": lambda m, x: x.expand(2, 3),
    "unsqueeze": lambda m, x: x.unsqueeze(0),
    "squeeze": lambda m, x: x.squeeze(),
    "permute": lambda m, x: x.permute(()),
    "flip": lambda m, x: x.flip(()),
    "repeat": lambda m, x: x.repeat(3),
    "t": lambda m, x: x.t(),
    "ravel": lambda m, x: x.ravel(),
    "flatten": lambda m, x: x.flatten(),
    "transpose": lambda m, x: x.transpose(0, -1),
    "repeat_interleave": lambda m, x: x.repeat_interleave(2),
    "roll": lambda m, x: x.roll(1),
    "unfold": lambda m, x: x.unfold(0, 1, 1),
}


@pytest.mark.parametrize("name", NUMBER)
def test_arrangements_of_a_number_agree(name):
    check(NUMBER[name], draw())


VIEWS = {
    "view": lambda x: x.view(4, 6),
    "t": lambda x: x[0].t(),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "unfold": lambda x: x.unfold(2, 2, 2),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "movedim": lambda x: x.movedim(0, 2),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "squeeze": lambda x: x[:1].squeeze(0),
    "a view of a view": lambda x: x.view(6, 4).t()[1:3].diagonal(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_writing_through_a_view_agrees(name):
    found = []
    for m in (minigrad, torch):
        w = m.tensor(X, requires_grad=True)
        x = w * 1
        part = VIEWS[name](x)
        part.mul_(part.detach() + 2)
        x.mul_(2)
        (x * x).sum().backward()
        found.append((x.detach().numpy(), w.grad.numpy(), part.detach().numpy(), x._version))

    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize(
    "parts", [lambda x: x.split(2), lambda x: x.unbind(), lambda x: x.chunk(2)]
)
def test_one_of_several_views_may_not_be_written_to(parts):
    for m in (minigrad, torch):
        x = m.tensor(draw(4, 2), requires_grad=True)

        with pytest.raises(RuntimeError, match="Output 1 of .* returns multiple views"):
            parts(x * 1)[1].mul_(2)
        parts(m.tensor(draw(4, 2)))[1].mul_(2)


@pytest.mark.parametrize(
    "name, args", [("t_", ()), ("transpose_", (0, -1)), ("unsqueeze_", (1,)), ("squeeze_", ())]
)
@pytest.mark.parametrize("view", [False, True])
def test_rearranging_in_place_agrees(name, args, view):
    found = []
    for m in (minigrad, torch):
        w = m.tensor(draw(3, 1), requires_grad=True)
        x = w * 1
        y = x[1:] if view else x
        z = getattr(y, name)(*args)
        assert z is y and y._version == 1
        y.mul_(3)
        (x * x).sum().backward()
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            getattr(w, name)(*args)
        found.append((y.detach().numpy(), x.detach().numpy(), w.grad.numpy()))

    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        assert ours.shape == theirs.shape
