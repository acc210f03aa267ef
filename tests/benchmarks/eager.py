"""The workloads as users write them in eager mode: one text, for PyTorch and for minigrad."""

from workloads import DATA, Case, Unsupported


def build(torch, workload, best=False):
    """The workload's step, written for `torch`: PyTorch, or minigrad under its name.

    best    by the fastest public way of PyTorch, rather than the usual one
    """
    nn, F, T = torch.nn, torch.nn.functional, torch.from_numpy
    d = DATA[workload]()
    if workload.startswith("chain"):
        x, a, b = (torch.tensor(v).requires_grad_() for v in (d.x, d.a, d.b))

        def step():
            x.grad = a.grad = b.grad = None
            z = x
            for _ in range(d.n):
                z = z * a
                z = z + b
            (z if z.ndim == 0 else z.sum()).backward()

        return Case(step, lambda: [x.grad, a.grad, b.grad])

    if workload == "toy":
        m = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5))
        with torch.no_grad():
            for p, v in zip(m.parameters(), d.params):
                p.copy_(T(v))
        opt = torch.optim.SGD(m.parameters(), lr=d.lr, **({"fused": True} if best else {}))
        x, y = T(d.x), T(d.y)

        def step():
            opt.zero_grad()
            loss = F.mse_loss(m(x), y)
            loss.backward()
            opt.step()

        return Case(step, lambda: [p.detach() for p in m.parameters()])

    if workload == "mlp":
        m = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
        with torch.no_grad():
            for p, v in zip(m.parameters(), d.params):
                p.copy_(T(v))
        opt = torch.optim.SGD(
            m.parameters(), lr=d.lr, momentum=d.momentum, **({"fused": True} if best else {})
        )
        x, y = T(d.x), T(d.y)

        def step():
            opt.zero_grad()
            loss = F.nll_loss(F.log_softmax(m(x), 1), y)
            loss.backward()
            opt.step()

        return Case(step, lambda: [p.detach() for p in m.parameters()])

    if workload == "conv":

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.c1, self.c2 = nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5)
                self.f1, self.f2 = nn.Linear(800, 500), nn.Linear(500, 10)

            def forward(self, x):
                x = F.max_pool2d(F.relu(self.c1(x)), 2)
                x = F.max_pool2d(F.relu(self.c2(x)), 2)
                return F.log_softmax(self.f2(F.relu(self.f1(x.flatten(1)))), 1)

        m = Net()
        with torch.no_grad():
            for p, v in zip(m.parameters(), d.params):
                p.copy_(T(v))
        x, y = T(d.x), T(d.y)
        if best:
            m = m.to(memory_format=torch.channels_last)
            x = x.contiguous(memory_format=torch.channels_last)
        opt = torch.optim.SGD(m.parameters(), lr=d.lr, **({"fused": True} if best else {}))

        def step():
            opt.zero_grad()
            F.nll_loss(m(x), y).backward()
            opt.step()

        return Case(step, lambda: [p.detach() for p in m.parameters()])

    if workload.startswith("bpr"):
        ada = workload.endswith("adagrad")
        if best and ada:
            raise Unsupported("no other variant")
        sparse = not best  # 'best': dense gradients
        U, V = nn.Embedding(d.nu, d.dim, sparse=sparse), nn.Embedding(d.ni, d.dim, sparse=sparse)
        with torch.no_grad():
            U.weight.copy_(T(d.U))
            V.weight.copy_(T(d.V))
        ps = [U.weight, V.weight]
        opt = torch.optim.Adagrad(ps, lr=d.lr, eps=d.eps) if ada else torch.optim.SGD(ps, lr=d.lr)
        u, i, j = T(d.u), T(d.i), T(d.j)

        def step():
            for s in range(0, d.n, d.batch):
                e = s + d.batch
                opt.zero_grad()
                uu, vi, vj = U(u[s:e]), V(i[s:e]), V(j[s:e])
                diff = (uu * (vi - vj)).sum(1)
                loss = -F.logsigmoid(diff).sum()
                loss.backward()
                opt.step()

        return Case(step, lambda: [p.detach() for p in ps])

    if workload == "lstm":
        x = T(d.x)
        cell = nn.LSTM(32, 64) if best else nn.LSTMCell(32, 64)
        ps = list(cell.parameters())
        with torch.no_grad():
            for p, v in zip(ps, (d.wi, d.wh, d.bi, d.bh)):
                p.copy_(T(v))

        def step():
            for p in ps:
                p.grad = None
            if best:
                h = cell(x)[0][-1]
            else:
                h = torch.zeros(d.N, d.H)
                c = torch.zeros(d.N, d.H)
                for t in range(d.T):
                    h, c = cell(x[t], (h, c))
            (h * h).sum().backward()

        return Case(step, lambda: [p.grad for p in ps])

    if workload == "jvp_mlp":
        fwAD = torch.autograd.forward_ad
        x, P, V = T(d.x), [T(p) for p in d.params], [T(v) for v in d.tangents]
        out = []
        f = lambda w1, b1, w2, b2: F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)
        if best:

            def step():
                out[:] = torch.func.jvp(f, tuple(P), tuple(V))
        else:

            def step():
                with fwAD.dual_level():
                    out[:] = fwAD.unpack_dual(f(*(fwAD.make_dual(p, v) for p, v in zip(P, V))))

        return Case(step, lambda: [o.detach() for o in out])

    if workload == "jacobian":
        x, w1, b1, w2 = T(d.x), T(d.w1), T(d.b1), T(d.w2)
        f = lambda x: w2 @ torch.tanh(w1 @ x + b1)
        out = []
        if best:
            jf = torch.func.jacrev(f)

            def step():
                out[:] = [jf(x)]
        else:

            def step():
                out[:] = [torch.autograd.functional.jacobian(f, x)]

        return Case(step, lambda: out)

    if workload == "hvp":
        w, v = T(d.w), T(d.v)
        x = T(d.x).requires_grad_()
        f = lambda x: 0.5 * (torch.tanh(w @ x) ** 2).sum()
        out = []
        if best:
            x0 = x.detach()

            def step():  # forward over reverse
                out[:] = [torch.func.jvp(torch.func.grad(f), (x0,), (v,))[1]]
        else:

            def step():  # reverse over reverse
                (g,) = torch.autograd.grad(f(x), x, create_graph=True)
                out[:] = torch.autograd.grad((g * v).sum(), x)

        return Case(step, lambda: out)

    if best:
        raise Unsupported("no other variant")
    if workload == "broadcast":
        a, b, c = (T(v).requires_grad_() for v in (d.a, d.b, d.c))

        def step():
            a.grad = b.grad = c.grad = None
            z = a + b
            for _ in range(d.n):
                z = (z * a + c) / (1 + b * b)
            z.sum().backward()

        return Case(step, lambda: [a.grad, b.grad, c.grad])

    if workload == "indexing":
        x = T(d.x).requires_grad_()

        def step():
            x.grad = None
            z = 0
            for k in range(d.n):
                z = z + x[d.rows].sum() + x[1:9, k].sum() * x[k, 0] + x[:, 2:5][k].sum()
            z.backward()

        return Case(step, lambda: [x.grad])

    if workload == "view_writes":
        x = T(d.x).requires_grad_()

        def step():
            x.grad = None
            z = torch.zeros(8, 6)
            for k in range(d.n):
                z[k] = x[k] * 2
            z[:, 1:3] *= x[:, 3:5]
            z[0].add_(x[1])
            z.view(-1)[::2].mul_(0.5)
            z.sum().backward()

        return Case(step, lambda: [x.grad])

    if workload == "attention":
        x = T(d.x)
        wq, wk, wv, wo = (T(p).requires_grad_() for p in d.params)
        future = torch.triu(torch.ones(12, 12), 1) > 0

        def step():
            wq.grad = wk.grad = wv.grad = wo.grad = None
            q, k, v = x @ wq, x @ wk, x @ wv
            scores = (q @ k.T * d.scale).masked_fill(future, float("-inf"))
            z = torch.softmax(scores, -1) @ v @ wo
            (z * z).mean().backward()

        return Case(step, lambda: [wq.grad, wk.grad, wv.grad, wo.grad])
    raise Unsupported(f"no {workload}")
