"""minigrad, eager, the way users write it: peer_torch.py with another import."""

from workloads import DATA, Case, Unsupported

import minigrad as torch
from minigrad.autograd import forward_ad as fwAD

T = torch.from_numpy


def build(variant, workload):
    d = DATA[workload]()
    if variant == "static":
        raise Unsupported("programs come later")
    if variant == "fused" and not workload.startswith(("toy", "mlp")):
        raise Unsupported("no other variant")
    if workload.startswith("chain"):
        x, a, b = (torch.tensor(v).requires_grad_() for v in (d.x, d.a, d.b))

        def step():
            x.grad = a.grad = b.grad = None
            z = x
            for _ in range(d.n):
                z = z * a
                z = z + b
            (z if z.ndim == 0 else z.sum()).backward()

        return Case(step, lambda: [x.grad.numpy(), a.grad.numpy(), b.grad.numpy()])

    if workload in ("toy", "mlp"):
        P = [torch.tensor(p).requires_grad_() for p in d.params]
        w1, b1, w2, b2 = P
        x = T(d.x)
        y = T(d.y)
        momentum = getattr(d, "momentum", 0.0)
        buffers = [None] * 4

        def update():
            with torch.no_grad():
                for k, p in enumerate(P):
                    g = p.grad
                    if momentum:
                        if buffers[k] is None:
                            buffers[k] = g.clone()
                        else:
                            buffers[k].mul_(momentum).add_(g)
                        g = buffers[k]
                    p.add_(g, alpha=-d.lr)
                    p.grad = None

        if variant == "fused":
            try:
                import minigrad.nn.functional as F
            except ImportError:
                raise Unsupported("nn.functional is not there yet") from None
            if workload == "toy":
                loss_of = lambda: F.mse_loss(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2), y)
            else:
                loss_of = lambda: F.cross_entropy(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2), y)
        elif workload == "toy":

            def loss_of():
                e = (x @ w1.T + b1).relu() @ w2.T + b2 - y
                return (e * e).mean()
        else:
            rows = torch.arange(len(d.y))

            def loss_of():
                s = (x @ w1.T + b1).relu() @ w2.T + b2
                s = s - s.max(1, keepdim=True)[0].detach()
                return (s.exp().sum(1).log() - s[rows, y]).mean()

        def step():
            loss_of().backward()
            update()

        return Case(step, lambda: [p.detach().numpy() for p in P])

    if workload == "jvp_mlp":
        x, P, V = T(d.x), [T(p) for p in d.params], [T(v) for v in d.tangents]
        out = []

        def f(w1, b1, w2, b2):
            return (x @ w1.T + b1).tanh() @ w2.T + b2

        def step():
            with fwAD.dual_level():
                out[:] = fwAD.unpack_dual(
                    f(*(fwAD.make_dual(p, v) for p, v in zip(P, V, strict=True)))
                )

        return Case(step, lambda: [o.numpy() for o in out])

    if workload == "jacobian":
        x, w1, b1, w2 = T(d.x), T(d.w1), T(d.b1), T(d.w2)
        f = lambda x: w2 @ (w1 @ x + b1).tanh()
        out = []

        def step():
            out[:] = [torch.autograd.functional.jacobian(f, x)]

        return Case(step, lambda: [o.numpy() for o in out])

    if workload == "hvp":
        w, v = T(d.w), T(d.v)
        x = T(d.x).requires_grad_()
        f = lambda x: 0.5 * ((w @ x).tanh() ** 2).sum()
        out = []

        def step():
            (g,) = torch.autograd.grad(f(x), x, create_graph=True)
            out[:] = torch.autograd.grad((g * v).sum(), x)

        return Case(step, lambda: [o.numpy() for o in out])
    raise Unsupported("modules come later")
