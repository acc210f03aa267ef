"""The hard cases of a tape, each recorded: for the tests of the document and of the browser."""

import minigrad
from minigrad import nn


def no_gradient_yet():
    x = minigrad.tensor(3.0, requires_grad=True)
    with minigrad.record("tape") as tape:
        z = x * x  # noqa: F841
    return tape


def version_conflict():
    x = minigrad.tensor([2.0, 1.0], requires_grad=True)
    w = minigrad.tensor([3.0, 4.0])
    try:
        with minigrad.record("conflict") as tape:
            z = x * w
            w += 1
            z.sum().backward()
    except minigrad.core.errors.SavedValueChanged:
        return tape


def conflict_that_was_caught():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record("caught") as tape:
        try:
            x.exp().mul_(2).sum().backward()
        except minigrad.core.errors.SavedValueChanged:
            x.sin().sum().backward()
    return tape


def views_of_one_base():
    x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with minigrad.record("views") as tape:
        b = x * 2
        first = b[0]
        rest = b[1:]
        rest *= 10
        z = first + rest.sum()
        z.backward()
    return tape


def fan_in():
    x = minigrad.tensor(2.0, requires_grad=True)
    with minigrad.record("fan_in") as tape:
        z = x * x + x
        z.backward()
    return tape


def accumulation():
    x = minigrad.tensor(3.0, requires_grad=True)
    with minigrad.record("accumulation") as tape:
        for k in (1.0, 3.0):
            (x * k).backward()
    return tape


def broadcasting():
    x = minigrad.ones(4, 3).requires_grad_()
    b = minigrad.ones(3).requires_grad_()
    c = minigrad.ones(4, 1).requires_grad_()
    with minigrad.record("broadcasting") as tape:
        z = (x + b) * c
        z.sum().backward()
    return tape


def shared_weights():
    """Each weight is broadcast twice, so that two texts stand close together at each leaf."""
    with minigrad.record() as tape:
        a, b = (minigrad.tensor(v, requires_grad=True) for v in (-0.3, 1.5))
        x = minigrad.tensor([0.5, -1.0])
        total = 0
        for _ in range(2):
            total = total + (b + a * x + a * b * x**4).pow(2).mean()
        total.backward()
    return tape


def freed_twice():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    try:
        with minigrad.record("freed") as tape:
            z = (x * x).sum()
            z.backward()
            z.backward()
    except minigrad.core.errors.BackwardTwice:
        return tape


def retained():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record("retained") as tape:
        z = (x * x).sum()
        z.backward(retain_graph=True)
        z.backward()
    return tape


def hooks():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record("hooks") as tape:
        y = x * 3
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        z = y.sum()
        z.backward()
    return tape


def stops():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record("stops") as tape:
        with minigrad.no_grad():
            a = x * 2
        d = x.detach()
        z = (x * a * d).sum()
        z.backward()
    return tape


def not_needed():
    x = minigrad.tensor(2.0, requires_grad=True)
    y = minigrad.tensor(3.0, requires_grad=True)
    with minigrad.record("not_needed") as tape:
        p = y.exp()
        z = x * p
        minigrad.autograd.grad(z, x)
    return tape


def fails_half_way():
    x = minigrad.ones(2, 3).requires_grad_()
    w = minigrad.ones(4, 5)
    try:
        with minigrad.record("fails") as tape:
            h = x * 2
            h @ w
    except RuntimeError:
        return tape


def sparse():
    table = minigrad.ones(10, 2).requires_grad_()
    with minigrad.record("sparse") as tape:
        rows = nn.functional.embedding(minigrad.tensor([1, 4, 1]), table, sparse=True)
        rows.sum().backward()
    return tape


def forward_mode():
    from minigrad.autograd import forward_ad

    with minigrad.record("forward") as tape, forward_ad.dual_level():
        x = forward_ad.make_dual(minigrad.tensor(2.0), minigrad.tensor(1.0))
        z = (x * x).sin()  # noqa: F841
    return tape


def higher_order():
    x = minigrad.tensor(3.0, requires_grad=True)
    with minigrad.record("higher") as tape:
        z = x * x * x
        (g,) = minigrad.autograd.grad(z, x, create_graph=True)
        g.backward()
    return tape


def engine(name):
    x = minigrad.tensor(2.0, requires_grad=True)
    with minigrad.record(name) as tape:
        y = x * x
        z = y + y
        z.backward(engine=name)
    return tape


def modules():
    minigrad.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    x = minigrad.ones(4, 2)
    with minigrad.record("modules") as tape:
        loss = net(x).mean()
        loss.backward()
    return tape


class Twice(minigrad.autograd.Function):
    """A function of the learner's own, with two results."""

    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        return g * 2 + h * 3


def several_results():
    x = minigrad.ones(4).requires_grad_()
    with minigrad.record("several") as tape:
        a, b = Twice.apply(x)
        z = (a * b).sum()
        z.backward()
    return tape


class ProductAndSum(minigrad.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b, a + b

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g * b + h, g * a + h


def user_function():
    a = minigrad.tensor([1.0, 2.0], requires_grad=True)
    b = minigrad.tensor([3.0, 4.0], requires_grad=True)
    with minigrad.record("user_function") as tape:
        p, q = ProductAndSum.apply(a, b)
        c = p * q
        loss = c.sum()
        loss.backward()
    return tape


def loop(n, ops=1):
    w = minigrad.tensor(0.99, requires_grad=True)
    h = minigrad.tensor(1.0)
    with minigrad.record("loop") as tape:
        for _ in range(n):
            h = h * w
            if ops > 1:
                h = h.tanh()
            if ops > 2:
                h = h + 1
        h.backward()
    return tape


def hostile():
    name = '</script><img src=x onerror="window.hit=1">\u202e\x00' + "n" * 60
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    names = {name: x}
    with minigrad.record(name, namespace=names) as tape:
        (x * 2).sum().backward()
    return tape


def training():
    """Two steps of gradient descent on (w x)**2 with x = 1, and a rate that halves."""
    w = minigrad.tensor([3.0], requires_grad=True)
    x = minigrad.tensor([1.0])
    opt = minigrad.optim.SGD([w], lr=0.1)
    decay = minigrad.optim.lr_scheduler.ExponentialLR(opt, 0.5)
    with minigrad.record("training") as tape:
        for _ in range(2):
            opt.zero_grad()
            loss = ((w * x) ** 2).sum()
            loss.backward()
            opt.step()
            decay.step()
    return tape


def not_finite():
    x = minigrad.tensor([-1.0, -2.0, 0.5], requires_grad=True)
    w = minigrad.tensor([[4.0, 4.0, -1.0, 4.0], [4.0, -1.0, 4.0, 0.0]], requires_grad=True)
    with minigrad.record("not_finite") as tape:
        z = x.log()
        roots = w.rsqrt()
        (z.sum() + roots.sum()).backward()
    return tape


CASES = [
    no_gradient_yet,
    version_conflict,
    conflict_that_was_caught,
    views_of_one_base,
    fan_in,
    accumulation,
    broadcasting,
    shared_weights,
    freed_twice,
    retained,
    hooks,
    stops,
    not_needed,
    fails_half_way,
    sparse,
    forward_mode,
    higher_order,
    modules,
    several_results,
    user_function,
    hostile,
    not_finite,
    training,
]
