"""minigrad, eager: the very text that PyTorch runs, and operators where that calls functions.

Variants: 'plain', the chapters of a textbook: operators only, an update by hand;
'static', a recorded program.
"""

import eager
from workloads import DATA, Case, Unsupported

import minigrad


def build(variant, workload):
    if variant == "static":
        raise Unsupported("programs come later")
    if variant == "plain":
        return plain(workload)
    return eager.build(minigrad, workload)


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
