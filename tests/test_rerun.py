"""What was recorded is run again, after a backward pass has freed the graph: the gradients are the same."""

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn, randn, tensor
from minigrad.tape.rerun import CannotRepeat, Rerun


def network():
    model = nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Dropout(0.3), nn.Linear(8, 3)
    )
    return F.cross_entropy(model(randn(5, 4)), tensor([0, 1, 2, 0, 1])), list(model.parameters())


def convolution():
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2)
    )
    return model(randn(2, 1, 6, 6)).pow(2).mean(), list(model.parameters())


def recurrent():
    model = nn.LSTM(3, 4, batch_first=True)
    y, (h, c) = model(randn(2, 5, 3))
    return y.sum() + h.prod() + c.mean(), list(model.parameters())


def attention():
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return model(randn(2, 4, 8)).square().mean(), list(model.parameters())


def indexing():
    x, i = randn(5, 4, requires_grad=True), tensor([0, 0, 3])
    z = (x[i] * x[tensor([1, 2, 3]), :]).sum() + x[x > 0].sum() + x.topk(2).values.sum()
    return z + x.sort(1)[0][:, 0].sum() + minigrad.where(x > 0, x, x * 2).sum(), [x]


def matrices():
    a, b = randn(4, 4, requires_grad=True), randn(4, requires_grad=True)
    s = a @ a.T + 4 * minigrad.eye(4)
    return minigrad.linalg.solve(s, b).sum() + s.logdet() + minigrad.linalg.cholesky(s).trace(), [
        a,
        b,
    ]


def pieces():
    a, b = randn(2, 3, requires_grad=True), randn(2, 3, requires_grad=True)
    joined = minigrad.cat([a, b * 2]).softmax(0) * minigrad.stack([a, b]).reshape(4, 3)
    return joined.sum() + sum(t.prod() for t in minigrad.split(a, 1)) + a.unbind(0)[0].sum(), [a, b]


def writes():
    x = randn(3, 4, requires_grad=True)
    y = x * 2
    y += 1
    y.mul_(x.detach()).relu_()
    return y.sum(), [x]


def writes_to_rows_of_zeros():
    h, w, rows = randn(4, requires_grad=True), randn(4, requires_grad=True), minigrad.zeros(3, 4)
    for t in range(3):
        rows[t] = rows[t - 1].clone() * w + h
    rows[:, 1:3] += h[:2]
    rows[rows > 0] = h[0]
    return rows.square().sum(), [h, w]


def writes_through_views_of_views():
    h = randn(3, 4, requires_grad=True)
    y = h * 2
    late = y[1:]
    y.t()[0].add_(h[:, 1])
    y[1:][0][1:3] = h[0, :2]
    y.diagonal().zero_()
    y *= 3
    late.add_(h[0])
    return (y * y).sum(), [h]


class Cube(minigrad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2


def own_function():
    x = randn(3, requires_grad=True)
    return Cube.apply(x.sin()).sum(), [x]


def training():
    w = nn.Parameter(randn(3))
    optimizer = minigrad.optim.SGD([w], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        ((w - 1) ** 2).sum().backward()
        optimizer.step()
    optimizer.zero_grad()
    return ((w - 1) ** 2).sum(), [w]


PROGRAMS = [
    network, convolution, recurrent, attention, indexing, matrices, pieces, writes, writes_to_rows_of_zeros,
    writes_through_views_of_views, own_function, training,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_that_is_run_again_has_the_same_gradients(program):
    minigrad.manual_seed(0)
    with minigrad.record() as tape:
        z, leaves = program()
        z.backward()

    rerun = Rerun(tape._recorder)
    rerun.run(z)

    grads = minigrad.autograd.grad(rerun.ours(z), [rerun.ours(x) for x in leaves])
    for g, x in zip(grads, leaves, strict=True):
        np.testing.assert_allclose(g, x.grad, rtol=1e-4, atol=1e-5)


def test_a_result_that_is_not_repeated_is_refused():
    x = tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        z = x * 2
    tape._recorder.entries[1].results[0].value._array[0] = 7.0

    with pytest.raises(CannotRepeat, match="run again, z has a different value"):
        Rerun(tape._recorder).run(z)


def test_a_write_in_no_grad_is_run_again_without_a_gradient():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    with minigrad.record() as tape:
        y = x * 2
        with minigrad.no_grad():
            y.clamp_(min=3)
        z = (y * y).sum()
        z.backward()

    rerun = Rerun(tape._recorder)
    rerun.run(z)

    assert minigrad.autograd.grad(rerun.ours(z), rerun.ours(x))[0].tolist() == x.grad.tolist()
