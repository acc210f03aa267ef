"""minigrad, eager: the very text that PyTorch runs, and operators where that calls functions.

Variants: 'plain', the chapters of a textbook: operators only, an update by hand;
'static', training steps recorded once and replayed (minigrad.static.compile).
"""

import eager
from workloads import DATA, Case, Unsupported

import minigrad


def build(variant, workload):
    if variant == "static":
        return static(workload)
    if variant == "plain":
        return plain(workload)
    return eager.build(minigrad, workload)


def static(workload):
    """The eager text, with the data as arguments of a compiled step."""
    nn, F, T = minigrad.nn, minigrad.nn.functional, minigrad.from_numpy
    compiled = minigrad.static.compile
    d = DATA[workload]()
    if workload.startswith("chain"):
        x, a, b = (minigrad.tensor(v).requires_grad_() for v in (d.x, d.a, d.b))

        @compiled
        def chain(one):
            x.grad = a.grad = b.grad = None
            z = x * one
            for _ in range(d.n):
                z = z * a
                z = z + b
            loss = z if z.ndim == 0 else z.sum()
            loss.backward()
            return loss

        one = minigrad.ones_like(x).detach()
        return Case(lambda: chain(one), lambda: [x.grad, a.grad, b.grad])

    if workload in ("toy", "mlp", "conv"):
        m = {"toy": toy_net, "mlp": mlp_net, "conv": conv_net}[workload](nn, F)
        with minigrad.no_grad():
            for p, v in zip(m.parameters(), d.params, strict=True):
                p.copy_(T(v))
        opt = minigrad.optim.SGD(m.parameters(), lr=d.lr, momentum=getattr(d, "momentum", 0))
        x, y = T(d.x), T(d.y)

        @compiled
        def step(x, y):
            opt.zero_grad()
            loss = (
                F.mse_loss(m(x), y) if workload == "toy" else F.nll_loss(F.log_softmax(m(x), 1), y)
            )
            loss.backward()
            opt.step()
            return loss  # a value that nobody asks for would not be computed

        return Case(lambda: step(x, y), lambda: [p.detach() for p in m.parameters()])

    if workload.startswith("bpr"):
        U, V = (nn.Embedding(n, d.dim, sparse=True) for n in (d.nu, d.ni))
        with minigrad.no_grad():
            U.weight.copy_(T(d.U))
            V.weight.copy_(T(d.V))
        ps = [U.weight, V.weight]
        ada = workload.endswith("adagrad")
        opt = (
            minigrad.optim.Adagrad(ps, lr=d.lr, eps=d.eps)
            if ada
            else minigrad.optim.SGD(ps, lr=d.lr)
        )

        @compiled
        def minibatch(u, i, j):
            opt.zero_grad()
            difference = (U(u) * (V(i) - V(j))).sum(1)
            loss = -F.logsigmoid(difference).sum()
            loss.backward()
            opt.step()
            return loss

        def epoch():
            for s in range(0, d.n, d.batch):
                e = s + d.batch
                minibatch(d.u[s:e], d.i[s:e], d.j[s:e])

        return Case(epoch, lambda: [p.detach() for p in ps])

    if workload == "lstm":
        cell = nn.LSTMCell(32, 64)
        ps = list(cell.parameters())
        with minigrad.no_grad():
            for p, v in zip(ps, (d.wi, d.wh, d.bi, d.bh), strict=True):
                p.copy_(T(v))

        @compiled
        def sequence(x):
            cell.zero_grad()
            h = minigrad.zeros(d.N, d.H)
            c = minigrad.zeros(d.N, d.H)
            for t in range(d.T):
                h, c = cell(x[t], (h, c))
            loss = (h * h).sum()
            loss.backward()
            return loss

        x = T(d.x)
        return Case(lambda: sequence(x), lambda: [p.grad for p in ps])
    raise Unsupported("no program for this")


def toy_net(nn, F):
    return nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5))


def mlp_net(nn, F):
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))


def conv_net(nn, F):
    """The convolutional part, then the linear one; log_softmax comes with the loss."""
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10),
    )  # fmt: skip


def plain(workload):
    """Only operators, and p -= lr * p.grad under no_grad: how a first lesson is written."""
    if workload not in ("toy", "mlp"):
        raise Unsupported("no other variant")
    d = DATA[workload]()
    w1, b1, w2, b2 = P = [minigrad.tensor(p).requires_grad_() for p in d.params]
    velocities = [minigrad.zeros_like(p) for p in P]
    x, y = minigrad.from_numpy(d.x), minigrad.from_numpy(d.y)
    momentum = getattr(d, "momentum", 0.0)
    rows = minigrad.arange(len(d.y))

    def loss_of():
        z = (x @ w1.T + b1).relu() @ w2.T + b2
        if workload == "toy":
            e = z - y
            return (e * e).mean()
        z = z - z.max(1, keepdim=True)[0].detach()
        return (z.exp().sum(1).log() - z[rows, y]).mean()

    def step():
        loss_of().backward()
        with minigrad.no_grad():
            for p, v in zip(P, velocities, strict=True):
                g = p.grad
                if momentum:
                    g = v.mul_(momentum).add_(g)
                p -= d.lr * g
                p.grad = None

    return Case(step, lambda: [p.detach() for p in P])
