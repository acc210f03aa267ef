"""Programs beside PyTorch: gradients of gradients, and compiled steps that train as it does."""

import pytest

torch = pytest.importorskip("torch")

import numpy as np

import minigrad
from minigrad import static
from tests.numeric import assert_close


def test_first_and_second_gradient_programs_are_those_of_torch():
    r = np.random.default_rng(0)
    x, w, u = r.normal(size=(5, 4)), r.normal(size=(4, 3)), r.normal(size=(4, 3))

    def loss(x, w):
        return ((x @ w).tanh().softmax(1) ** 2).sum()

    first = static.record(loss)(x, w).gradient("w")
    along = static.record(lambda x, w, u: (first(x, w) * u).sum())(x, w, u).gradient("w").plan()

    tx, tw = torch.tensor(x), torch.tensor(w, requires_grad=True)
    (g,) = torch.autograd.grad(loss(tx, tw), tw, create_graph=True)
    (h,) = torch.autograd.grad((g * torch.tensor(u)).sum(), tw)
    assert_close(first(x, w), g.detach(), rtol=1e-10, atol=1e-14)
    assert_close(along(x, w, u), h, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    "make",
    [
        lambda m, ps: m.optim.SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
        lambda m, ps: m.optim.Adagrad(ps, lr=0.1, lr_decay=0.01),
        lambda m, ps: m.optim.AdamW(ps, lr=0.01),
    ],
    ids=["SGD", "Adagrad", "AdamW"],
)
def test_a_compiled_step_trains_as_torch_does(make):
    r = np.random.default_rng(1)
    start = [r.normal(size=s) * 0.5 for s in ((8, 4), (8,), (3, 8), (3,))]
    batches = [(r.normal(size=(6, 4)), r.integers(0, 3, 6)) for _ in range(5)]

    def trained(m):
        nn, functional = m.nn, m.nn.functional
        net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3)).double()
        with m.no_grad():
            for p, a in zip(net.parameters(), start, strict=True):
                p.copy_(m.tensor(a))
        optimizer = make(m, net.parameters())

        def step(x, y):
            optimizer.zero_grad()
            loss = functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return loss

        step = static.compile(step) if m is minigrad else step
        losses = [step(m.tensor(x), m.tensor(y)).item() for x, y in batches]
        return losses, [p.detach().numpy() for p in net.parameters()]

    (ours, p), (theirs, q) = trained(minigrad), trained(torch)

    assert_close(ours, theirs, rtol=1e-9)
    for a, b in zip(p, q, strict=True):
        assert_close(a, b, rtol=1e-8, atol=1e-10)
