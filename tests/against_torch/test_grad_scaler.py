"""GradScaler on the CPU: the scale, the steps that are skipped, and the errors, as in PyTorch."""

import pickle

import pytest

import minigrad
from tests.against_torch.agree import torch

SETTINGS = {"init_scale": 8.0, "growth_interval": 2, "backoff_factor": 0.25, "growth_factor": 4.0}


def train(m, clip):
    """What changes in six steps, of which the third and fourth meet an infinite loss."""
    x = m.tensor([1.0, -2.0], requires_grad=True)
    optimizer = m.optim.SGD([x], lr=0.1)
    scaler, seen = m.amp.GradScaler("cpu", **SETTINGS), []
    for k in range(6):
        optimizer.zero_grad()
        scaler.scale((x * x).sum() * (float("inf") if k in (2, 3) else 1.0)).backward()
        if clip:
            scaler.unscale_(optimizer)
            m.nn.utils.clip_grad_norm_([x], 0.5)
        scaler.step(optimizer)
        scaler.update()
        scaler = pickle.loads(pickle.dumps(scaler))
        seen.append((x.tolist(), scaler.get_scale(), scaler.state_dict()))
    return seen


@pytest.mark.parametrize("clip", [False, True])
def test_a_scaler_scales_skips_and_grows_as_in_pytorch(clip):
    for ours, theirs in zip(train(minigrad, clip), train(torch, clip), strict=True):
        assert ours[0] == pytest.approx(theirs[0]) and ours[1:] == theirs[1:]


def scaled(m, scaler):
    """A parameter with a gradient of scaled loss, and its optimizer."""
    x = m.ones(1, requires_grad=True)
    scaler.scale(x.sum()).backward()
    return m.optim.SGD([x], lr=0.1)


def after(*names):
    """Call these methods one after another with the optimizer; the last is what must raise."""

    def call(m, scaler):
        optimizer = scaled(m, scaler)
        for name in names:
            getattr(scaler, name)(*([] if name == "update" else [optimizer]))

    return call


CALLS = {
    "a step before a scale": lambda m, s: s.step(m.optim.SGD([m.ones(1)], lr=0.1)),
    "unscaled before a scale": lambda m, s: s.unscale_(m.optim.SGD([m.ones(1)], lr=0.1)),
    "updated before a scale": lambda m, s: s.update(),
    "updated without a step": after("update"),
    "unscaled twice": after("unscale_", "unscale_"),
    "stepped twice": after("step", "step"),
    "unscaled after the step": after("step", "unscale_"),
    "no gradients": lambda m, s: (s.scale(m.ones(1)), s.step(m.optim.SGD([m.ones(1)], lr=0.1))),
    "a number": lambda m, s: s.scale(3),
    "an empty state": lambda m, s: s.load_state_dict({}),
    "half precision": lambda m, s: s.step(_half(m, s)),
    "a closure": lambda m, s: s.step(scaled(m, s), closure=len),
    "a scale of two": lambda m, s: (s.scale(m.ones(1)), s.update(m.ones(2))),
    "pickled in the middle": lambda m, s: (after("unscale_")(m, s), pickle.dumps(s)),
    "no growth": lambda m, s: m.amp.GradScaler("cpu", growth_factor=1.0),
    "no backoff": lambda m, s: m.amp.GradScaler("cpu", backoff_factor=1.0),
}


def _half(m, scaler):
    x = m.ones(1, dtype=m.float16, requires_grad=True)
    scaler.scale(x.sum()).backward()
    return m.optim.SGD([x], lr=0.1)


def raised(m, call):
    with pytest.raises(Exception) as caught:
        call(m, m.amp.GradScaler("cpu", init_scale=8.0))
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_wrong_order_of_calls_is_refused_in_the_words_of_pytorch(call):
    assert raised(minigrad, call) == raised(torch, call)


def shown(m):
    s = m.amp.GradScaler("cpu", init_scale=4)
    x = m.ones(2)
    kinds = [s.scale(x), s.scale([x, (x,)]), list(s.scale(iter([x])))]
    s.update(m.tensor(2.0))
    s.set_growth_factor(3.0), s.set_backoff_factor(0.1), s.set_growth_interval(5)
    settings = s.get_growth_factor(), s.get_backoff_factor(), s.get_growth_interval()
    other = m.amp.GradScaler("cpu", enabled=False)
    off = other.scale(3), other.get_scale(), other.state_dict(), other.is_enabled()
    fresh = m.amp.GradScaler("cpu")
    fresh.load_state_dict(s.state_dict())
    return str((kinds, settings, off, s.get_scale(), fresh.state_dict(), s.is_enabled()))


def test_a_scaler_scales_lists_and_can_be_set_and_saved():
    assert shown(minigrad) == shown(torch)
