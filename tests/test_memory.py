"""How much memory a step takes, beside the same step written by hand."""

import tracemalloc

import numpy as np

import minigrad

LAYERS, BATCH, WIDTH = 100, 256, 64


def weights():
    r = np.random.default_rng(0)
    return [r.normal(size=(WIDTH, WIDTH)) / 8 for _ in range(LAYERS)]


def by_hand(x, ws):
    """Forward keeps one activation a layer; backward lets each go as it is used."""
    kept = [x]
    for w in ws:
        kept.append(np.maximum(kept[-1] @ w, 0))
    grads = [None] * len(ws)
    z = kept.pop()
    g = 2 * z / z.size
    for k in reversed(range(len(ws))):
        g = g * (z > 0)
        z = kept.pop()
        grads[k] = z.T @ g
        if k:
            g = g @ ws[k].T
    return grads


def by_minigrad(x, ws):
    z = x
    for w in ws:
        z = (z @ w).relu()
    (z * z).mean().backward()
    return [w.grad for w in ws]


def peak(step, *args):
    step(*args)  # what is made once (compiled rules, caches) is not the step's
    tracemalloc.start()
    try:
        step(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_step_of_a_deep_network_needs_no_more_than_a_fifth_above_the_hand_written_one():
    x, ws = np.random.default_rng(1).normal(size=(BATCH, WIDTH)), weights()
    tensors = [minigrad.tensor(w).requires_grad_() for w in ws]

    def fresh(x, tensors):
        for t in tensors:
            t.grad = None
        return by_minigrad(x, tensors)

    for a, b in zip(by_hand(x, ws), fresh(minigrad.tensor(x), tensors), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    for t in tensors:
        t.grad = None

    ratio = peak(fresh, minigrad.tensor(x), tensors) / peak(by_hand, x, ws)

    assert ratio <= 1.2, f"{ratio:.2f} times the memory of the hand-written step"
