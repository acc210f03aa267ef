#!/usr/bin/env python
"""One small call of each op, beside PyTorch in the same process: where does the time go?

    python ops.py                       # every op: forward, forward with gradient, in place
    python ops.py -k conv pool          # those whose text contains one of these words
    python ops.py --worst 30            # the rows with the largest ratios only

Both libraries use one thread and are called in turn, a few microseconds each; the minimum over the rounds
counts, and what is reported is a ratio, minigrad / PyTorch. Tensors have 20 to 4,096 entries. Recording is on.
"""

import argparse
import math
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

import minigrad

# What the expressions below are made of. Tensors in capital letters are images.
SETTING = """
x = t.tensor(r.normal(size=(8, 16)), dtype=t.float32); y = t.tensor(r.normal(size=(8, 16)), dtype=t.float32)
p = t.tensor(r.uniform(0.1, 0.9, (8, 16)), dtype=t.float32); v = t.tensor(r.normal(size=16), dtype=t.float32)
s = t.tensor(0.7); b = t.tensor(r.normal(size=(4, 8, 16)), dtype=t.float32); w = t.tensor(r.normal(size=(16, 8)), dtype=t.float32)
q = t.tensor(r.normal(size=(6, 6)), dtype=t.float32) + 6 * t.eye(6); i = t.tensor([0, 3, 1, 7, 3]); c = t.tensor([2, 0, 5, 15, 3, 1, 1, 9])
g = t.tensor(r.integers(0, 8, (8, 16))); m = x > 0; h = t.tensor(r.integers(0, 9, (8, 16)))
I = t.tensor(r.normal(size=(2, 3, 8, 8)), dtype=t.float32); K = t.tensor(r.normal(size=(4, 3, 3, 3)), dtype=t.float32)
L = t.tensor(r.normal(size=(2, 3, 32)), dtype=t.float32); M = t.tensor(r.normal(size=(4, 3, 3)), dtype=t.float32)
E = t.tensor(r.normal(size=(20, 8)), dtype=t.float32); e = t.ones(16); z16 = t.zeros(16); ones3 = t.ones(3)
"""

# Expressions of one line each; those with a second form in place are listed by method name below.
CALLS = """
x + y | x + 1.5 | x + v | x - y | x * y | x * s | x / y | 2 / p | -x | x ** 2 | p ** 0.5 | p ** y | 2 ** x
x.abs() | x.exp() | p.log() | p.sqrt() | p.rsqrt() | x.sin() | x.cos() | x.tan() | x.tanh() | x.sigmoid() | x.relu()
p.asin() | p.acos() | x.atan() | x.sinh() | x.cosh() | x.asinh() | p.atanh() | p.log2() | p.log10() | p.log1p() | x.exp2() | x.expm1()
x.erf() | x.erfc() | p.erfinv() | p.lgamma() | p.digamma() | x.square() | p.reciprocal() | x.sign() | x.floor() | x.ceil() | x.round() | x.trunc() | x.frac()
x.clamp(-1, 1) | x.clamp(min=0) | t.maximum(x, y) | t.minimum(x, y) | t.atan2(x, y) | t.hypot(x, y) | t.logaddexp(x, y) | x.fmod(2) | x.remainder(2) | x // 2
t.lerp(x, y, 0.3) | t.addcmul(x, x, y) | t.addcdiv(x, x, p) | t.where(m, x, y) | x.masked_fill(m, 0.0) | x.nan_to_num() | t.xlogy(p, p) | t.logit(p) | t.sinc(x)
x > y | x > 0 | x == y | m & m | ~m | m.any() | m.all(1) | x.isnan() | h == 3 | h + 1
x.sum() | x.sum(0) | x.sum(1, keepdim=True) | x.mean() | x.mean(1) | x.prod(1) | x.max() | x.max(1) | x.min(1) | x.amax(1) | x.amin(0) | x.argmax(1) | x.argmax()
x.var() | x.var(1) | x.std(0) | x.norm() | x.norm(dim=1) | x.logsumexp(1) | x.cumsum(1) | p.cumprod(1) | x.median() | x.median(1) | x.sort(1) | x.argsort(1) | x.topk(3) | x.kthvalue(2) | x.nansum() | x.diff() | x.unique() | x.count_nonzero()
x @ w | x @ v | v @ v | b @ w | b @ b.mT | x.mm(w) | x.mv(v) | v.dot(v) | t.outer(v, v) | t.addmm(q, q, q) | t.bmm(b, b.mT) | t.einsum('ij,jk->ik', x, w)  | t.einsum('bij,bkj->bik', b, b) | t.baddbmm(b @ b.mT, b, b.mT) | t.kron(v, v) | x.inner(y) | t.tensordot(x, w, 1)
q.inverse() | q.det() | t.linalg.solve(q, q) | t.linalg.cholesky(q @ q.T) | q.trace() | q.diagonal() | t.diag(v) | x.tril() | x.triu() | t.linalg.norm(q) | t.cross(x[:, :3], y[:, :3], dim=1) | t.cdist(x, y)
x.reshape(-1) | x.view(16, 8) | x.flatten() | x.T | x.t() | x.transpose(0, 1) | b.permute(2, 0, 1) | x.unsqueeze(0) | x[None].squeeze(0) | v.expand(8, 16) | x.unflatten(1, (4, 4)) | b.movedim(0, 2) | x.mT | x.clone() | x.contiguous() | x.T.contiguous() | x.detach() | x.double() | x.long()
x[0] | x[0, 1] | x[1:] | x[:, 2:5] | x[::2] | x[..., 0] | x[:, None] | x[i] | x[m] | x[i, i] | x[:, c] | x.select(0, 1) | x.narrow(1, 2, 5) | x.index_select(0, i) | x.gather(0, g) | x.take_along_dim(g, 0) | x.take(i) | x.masked_select(m)
x.split(4, 1) | x.chunk(2) | x.unbind() | t.cat([x, y]) | t.cat([x, y], 1) | t.stack([x, y]) | t.hstack([x, y]) | t.vstack([x, y]) | x.repeat(2, 1) | x.tile(2) | x.repeat_interleave(2, 0) | x.flip(0) | x.roll(1, 0) | x.unfold(1, 4, 2) | t.meshgrid(v, v, indexing='ij') | x.tensor_split(4)
x.scatter(0, g, 1.0) | x.scatter(0, g, y) | x.scatter_add(0, g, y) | x.index_add(0, i, x[:5]) | x.index_fill(0, i, 1.0) | x.index_copy(0, i[:1], x[:1]) | x.scatter_reduce(0, g, y, 'amax') | x.index_put((i,), x[:5])
x.softmax(1) | x.log_softmax(1) | F.relu(x) | F.gelu(x) | F.silu(x) | F.elu(x) | F.leaky_relu(x) | F.softplus(x) | F.selu(x) | F.mish(x) | F.hardtanh(x) | F.hardsigmoid(x) | F.hardswish(x) | F.relu6(x) | F.logsigmoid(x) | F.softsign(x) | F.tanhshrink(x) | F.glu(x) | F.celu(x) | F.normalize(x) | F.cosine_similarity(x, y)
F.linear(x, w.T) | F.linear(x, w.T, ones8) | F.linear(b, w.T, ones8) | F.embedding(i, E) | F.one_hot(i, 9) | F.dropout(x, 0.5) | F.pad(x, (1, 1)) | F.pad(I, (1, 1, 1, 1)) | F.pad(I, (1, 1, 1, 1), mode='reflect')
F.mse_loss(x, y) | F.l1_loss(x, y) | F.smooth_l1_loss(x, y) | F.huber_loss(x, y) | F.cross_entropy(x, c) | F.nll_loss(x, c) | F.binary_cross_entropy(p, p) | F.binary_cross_entropy_with_logits(x, p) | F.kl_div(x, p, reduction='batchmean') | F.hinge_embedding_loss(x, y) | F.margin_ranking_loss(v, v, v)
F.layer_norm(x, (16,)) | F.layer_norm(x, (16,), e, z16) | F.batch_norm(x, z16.clone(), e.clone(), training=True) | F.batch_norm(x, z16, e) | F.batch_norm(I, None, None, training=True) | F.group_norm(I, 3) | F.instance_norm(I)
F.conv2d(I, K) | F.conv2d(I, K, padding=1) | F.conv1d(L, M) | F.conv_transpose2d(I, K.transpose(0, 1)) | F.max_pool2d(I, 2) | F.avg_pool2d(I, 2) | F.max_pool1d(L, 2) | F.avg_pool1d(L, 2) | F.adaptive_avg_pool2d(I, 2) | F.unfold(I, 3) | F.interpolate(I, scale_factor=2) | F.scaled_dot_product_attention(b, b, b)
t.zeros(8, 16) | t.ones(8) | t.arange(10) | t.eye(4) | t.full((3,), 2.0) | t.linspace(0, 1, 10) | t.zeros_like(x) | t.ones_like(x) | t.empty(3) | t.tensor([1.0, 2.0])
"""
IN_PLACE = """
x.add_(y) | x.add_(1) | x.sub_(y) | x.mul_(y) | x.mul_(0.5) | x.div_(y) | x.pow_(2) | x.neg_() | x.abs_() | x.exp_() | p.log_() | p.sqrt_() | p.rsqrt_() | x.sin_() | x.cos_() | x.tanh_()
x.sigmoid_() | x.relu_() | x.clamp_(-1, 1) | x.square_() | p.reciprocal_() | x.floor_() | x.round_() | x.sign_() | x.zero_() | x.fill_(1.0) | x.copy_(y) | x.masked_fill_(m, 0.0) | x.lerp_(y, 0.3) | x.addcmul_(x, y)
x.addcdiv_(y, p) | x.gt_(0) | x.eq_(y) | x.index_fill_(0, i, 1.0) | x.index_add_(0, i, y[:5]) | x.scatter_(0, g, 1.0) | x.scatter_add_(0, g, y) | x.t_() | x.unsqueeze_(0) | x.tril_() | x.cumsum_(1) | x.erf_() | p.erfinv_() | x.fmod_(2) | x.atan2_(y)
x.sub_(y, alpha=0.1) | x.add_(v) | x.mul_(s) | F.relu_(x) | F.leaky_relu(x, inplace=True) | x.__setitem__(0, 1.0) | x.__setitem__((slice(None), 0), 1.0) | x.__setitem__(i, 0.0) | x.__setitem__(m, 0.0) | x[0].add_(1) | x[:, 1:3].mul_(2)
"""

ROUNDS, SECONDS = 60, 0.0004  # of each measurement: short ones, so that many meet a quiet moment


def expressions(table):
    return [e.strip() for line in table.strip().splitlines() for e in line.split(" | ")]


def scope_of(t):
    import numpy as np

    scope = {"t": t, "F": t.nn.functional, "r": np.random.default_rng(0)}
    for line in SETTING.strip().splitlines():
        exec(line, scope)
    scope["ones8"] = t.ones(8)
    return scope


def timer(code, scope, prepare=None):
    """A function of n: the seconds that n calls take."""
    body = f"    {code}\n" if prepare is None else f"    {prepare}\n    {code}\n"
    exec(
        f"def run(n, clock):\n  t0 = clock()\n  for _ in range(n):\n{body}  return clock() - t0",
        scope,
    )
    run = scope["run"]
    return lambda n: run(n, time.perf_counter)


def compared(code, prepare=None, gradient=False):
    """(microseconds of minigrad, of PyTorch) of one call; None if one of them cannot do it."""
    timers = []
    for t in (minigrad, torch):
        scope = scope_of(t)
        names = [n for n in "x y p v s b w q I K L M E".split() if n in names_in(code)]
        try:
            if gradient:
                for n in names:
                    scope[n] = scope[n].detach().clone().requires_grad_()
                z = eval(code, scope)
                if not getattr(z, "requires_grad", False):
                    return None
                scope["ones_"] = t.ones_like(z)
                inputs = ", ".join(names) + ","
                text = f"t.autograd.grad({code}, ({inputs}), ones_)"
                eval(text, scope)
                timers.append(timer(text, scope))
            elif prepare is not None:
                scope["x0"], scope["p0"] = scope["x"].clone(), scope["p"].clone()
                timers += [timer(code, scope, prepare), timer("pass", scope, prepare)]
            else:
                eval(code, scope)
                timers.append(timer(code, scope))
        except Exception as error:
            print(f"    {code}: {t.__name__} raises {type(error).__name__}: {str(error)[:80]}")
            return None
    for f in timers:
        f(20)  # the first calls generate code and fill caches
    counts = [max(1, int(SECONDS / max(f(20) / 20, 1e-7))) for f in timers]
    best = [math.inf] * len(timers)
    for _ in range(ROUNDS):  # in turn, so that a slow moment of the machine meets all of them
        for k, (f, n) in enumerate(zip(timers, counts, strict=True)):
            best[k] = min(best[k], f(n) / n * 1e6)
    if prepare is not None:
        best = [max(best[0] - best[1], 0.5), max(best[2] - best[3], 0.5)]
    return best


def names_in(code):
    return set("".join(ch if ch.isalnum() or ch == "_" else " " for ch in code).split())


def measured(code, kind):
    if kind == "gradient":
        return compared(code, gradient=True)
    if kind == "in place":
        fresh = (
            "x = x0.clone(); p = p0.clone()"  # what was written over must not be written over again
        )
        return compared(code, prepare=fresh)
    return compared(code)


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-k", nargs="*", default=[], help="expressions that contain one of these")
    parser.add_argument("--worst", type=int, default=0, help="show so many rows of each kind")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for kind, table in (("forward", CALLS), ("gradient", CALLS), ("in place", IN_PLACE)):
        rows = []
        for code in expressions(table):
            if arguments.k and not any(word in code for word in arguments.k):
                continue
            found = measured(code, kind)
            if found is not None:
                rows.append((found[0] / found[1], *found, code))
        if not rows:
            continue
        rows.sort(reverse=True)
        print(
            f"== {kind}: {len(rows)} calls, geometric mean {geometric_mean([r[0] for r in rows]):.2f}"
        )
        for ratio, ours, theirs, code in rows[: arguments.worst or None]:
            print(f"{ratio:7.2f}   {ours:8.2f} us  {theirs:8.2f} us   {code}")


if __name__ == "__main__":
    main()
