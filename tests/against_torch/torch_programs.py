"""Programs in PyTorch, for the tests of its tapes: each returns what it made, to be compared."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


def ones(*shape):
    return torch.ones(shape, requires_grad=True)


def first_program():
    x1 = torch.tensor([[1.0, 2.0]], requires_grad=True)
    x2 = torch.tensor([[3.0, 4.0]], requires_grad=True)
    w, b, t = torch.randn(3, 2, requires_grad=True), ones(3), torch.zeros(1, 3)
    z = x1 * x2
    z += x2
    loss = F.mse_loss(torch.relu(F.linear(z, w, b)), t)
    loss.backward()
    return [x1, x2, w, b, z, loss]


def mlp_with_adam():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(net.parameters(), weight_decay=0.1)
    x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 1, 0])
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    return [*net.parameters(), loss]


def conv_net():
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2)
    )  # fmt: skip
    loss = net(torch.randn(3, 1, 6, 6)).square().mean()
    loss.backward()
    return [*net.parameters(), *net.buffers(), loss]


def lstm():
    net = nn.LSTM(3, 4, num_layers=2)
    out, (h, c) = net(torch.randn(5, 2, 3))
    loss = out.sum() + h.mean() + c.mean()
    loss.backward()
    return [*net.parameters(), loss]


def transformer_layer():
    net = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    loss = net(torch.randn(2, 3, 8)).sum()
    loss.backward()
    net.eval()
    with torch.no_grad():
        fast = net(torch.randn(2, 3, 8))  # PyTorch takes another way here
    return [*net.parameters(), loss, fast]


class Square(torch.autograd.Function):
    """z = x * x"""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


def custom_function():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = (Square.apply(x) * x).sum()
    z.backward()
    return [x, z]


def double_backward():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = (x**3).sum()
    (g,) = torch.autograd.grad(z, x, create_graph=True)
    (g * g).sum().backward()
    return [x, z, g]


def checkpoints():
    x, w = torch.randn(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)
    h = checkpoint(lambda x: F.dropout(x @ w, 0.5).tanh().exp(), x, use_reentrant=False)
    h = checkpoint(lambda x: F.dropout(x @ w, 0.5).sin(), h, use_reentrant=True)
    h.sum().backward()
    return [x, w, h]


def in_place_error():
    x, w = torch.tensor([2.0, 1.0], requires_grad=True), torch.tensor([3.0, 4.0])
    z = x * w
    w += 1
    try:
        z.sum().backward()
    except RuntimeError as error:
        return [x, w, z, str(error)]


def second_backward_error():
    x = torch.tensor([2.0, 1.0], requires_grad=True)
    z = (x * x).sum()
    z.backward()
    try:
        z.backward()
    except RuntimeError as error:
        return [x, z, str(error)]


def hooks():
    x, seen = torch.tensor([1.0, 2.0], requires_grad=True), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    y = x * 3
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    z = y.sum()
    z.grad_fn.register_prehook(lambda grads: (grads[0] * 5,))
    z.backward()
    return [x, y, z, *seen]


def views():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = x * 2
    first, rest = b[0], b[1:]
    rest *= 10
    b[2] = 7.0
    z = (first + rest.sum()) * first
    z.backward()
    return [x, b, first, rest, z]


def saved_tensors_hooks():
    x, calls = ones(2, 2), []

    def unpack(packed):
        calls.append("unpack")
        return packed * 1

    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (calls.append("pack"), t + 0)[1], unpack
    ):
        z = (x * x).exp().sum()
    z.backward()
    return [x, z, str(calls)]


def no_grad_blocks():
    w, x = ones(3), torch.randn(3)
    for _ in range(2):
        loss = ((w * x) ** 2).sum()
        loss.backward(retain_graph=True)
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad.zero_()
    with torch.inference_mode():
        y = w * 2
    return [w, loss, y, w.detach() * 2]


def higher_modules():
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    net[1].register_full_backward_hook(lambda m, g_in, g_out: None)
    x = torch.randn(2, 2, requires_grad=True)
    p = net(x)
    grads = torch.autograd.grad(p.sum(), [*net.parameters()], allow_unused=True)
    return [p, *grads]


def sparse_table():
    table = nn.Embedding(6, 2, sparse=True)
    table(torch.tensor([1, 4, 1])).sum().backward()
    return [table.weight]


def closures():
    w = ones(2)
    optimizer = torch.optim.LBFGS([w], max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        return loss

    return [optimizer.step(closure), w]


def one_of_several_inputs():
    x, y = ones(2), ones(2)
    h = x * y
    z = (h.exp() * y).sum()
    gh, gy = torch.autograd.grad(z, [h, y], retain_graph=True)
    torch.autograd.backward([z, h], [torch.tensor(2.0), torch.ones(2)], inputs=[x])
    return [x, y, gh, gy]


def one_result_of_two():
    x = torch.randn(3, 2, requires_grad=True)
    values, places = x.max(0)
    a, b = x.split(2)
    z = values.sum() + a.sum() * b.prod()
    z.backward()
    return [x, values, places, z]


def pieces_of_different_sizes():
    x = torch.randn(2, 7, requires_grad=True)
    a, b = torch.split(x, [3, 4], dim=1)
    c, d = x.chunk(2, dim=1)
    (a.sum() * b.prod() + c.prod() * d.sum()).backward()
    try:
        return [x, *torch.autograd.grad(x.sum(), [x, 3])]
    except RuntimeError as error:
        return [x, str(error)]


def complex_and_half():
    x = torch.randn(3, dtype=torch.complex64, requires_grad=True)
    y = torch.randn(3, dtype=torch.bfloat16, requires_grad=True)
    z = (x * x.conj()).real.sum() + y.float().sum()
    z.backward()
    return [x, y, z]


def entry_that_is_a_leaf():
    w = torch.rand(3)[0].requires_grad_()
    for _ in range(2):
        (w * w).backward()
        with torch.no_grad():
            w.sub_(w.grad * 0.1)
    return [w]


def view_that_pytorch_refuses():
    class Passed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    x = ones(2)
    y = Passed.apply(x)
    with torch.no_grad():
        x += 1
    z = (x * 2).sum()
    z.backward()
    try:
        return [x, z, y.sum()]
    except RuntimeError as error:
        return [x, z, str(error)]


def writes_to_all_tensors_of_a_list():
    net, x = nn.Linear(3, 2), torch.ones(2, 3)
    optimizer = torch.optim.Adam(net.parameters(), foreach=True)
    net(x).square().sum().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    clipped = [p.grad for p in net.parameters()]
    optimizer.step()
    pair = [clipped[0] * 2, clipped[1] * 3]
    torch._foreach_add_(pair, 1.0)
    return [*net.parameters(), *clipped, *pair]


PROGRAMS = {
    f.__name__: f
    for f in (
        first_program, mlp_with_adam, conv_net, lstm, transformer_layer, custom_function,
        double_backward, checkpoints, in_place_error, second_backward_error, hooks, views,
        saved_tensors_hooks, no_grad_blocks, higher_modules, sparse_table, closures,
        one_of_several_inputs, one_result_of_two, complex_and_half, pieces_of_different_sizes, entry_that_is_a_leaf,
        view_that_pytorch_refuses, writes_to_all_tensors_of_a_list,
    )
}  # fmt: skip
