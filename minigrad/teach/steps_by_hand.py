"""The updates of the optimizers, written out, and what goes wrong in them.

Each takes the values, one gradient a step, and the settings, and gives the values after
each step; `wrong` names what is done differently. Without it, this is what the optimizer
does, which a test holds to.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Steps = list[Any]


def rates_of(lr: Any, n: int, wrong: str = "") -> list[float]:
    """The learning rate of each step."""
    if wrong == "lr_missing":
        return [1.0] * n
    rates = [float(r) for r in lr] if isinstance(lr, Sequence) else [float(lr)] * n
    if len(rates) != n:
        raise ValueError(f"compare_update: there are {len(rates)} learning rates for {n} steps.")
    return rates


def sgd(p: Any, grads: Sequence[Any], s: Mapping[str, Any], wrong: str = "") -> Steps:
    """v = mu * v + (1 - tau) * g;  p = p - lr * v"""
    mu, tau = s.get("momentum", 0), s.get("dampening", 0)
    decay, nesterov = s.get("weight_decay", 0), s.get("nesterov", False)
    sign = -1 if s.get("maximize", False) else 1
    v, after = None, []
    for lr, g in zip(rates_of(s.get("lr", 1e-3), len(grads), wrong), grads, strict=True):
        g = sign * g
        if wrong == "decoupled_weight_decay":
            p = p - lr * decay * p
        else:
            g = g + (-decay if wrong == "weight_decay_sign" else decay) * p
        if wrong == "momentum_convention":
            v = lr * g if v is None else mu * v + lr * g
            p = p - (mu * v + lr * g if nesterov else v)
        elif wrong == "momentum_average":
            v = (1 - mu) * g if v is None else mu * v + (1 - mu) * g
            p = p - lr * v
        elif mu:
            damped = g if wrong == "dampening" else (1 - tau) * g
            if v is None or wrong == "state_not_kept":
                v = (1 - tau) * g if wrong == "dampening_first" else g
            else:
                v = mu * v + damped
            plain = not nesterov if wrong != "nesterov_missing" else True
            p = p - lr * (v if plain else g + mu * v)
        else:
            p = p - lr * g
        after.append(p)
    return after


def adam(p: Any, grads: Sequence[Any], s: Mapping[str, Any], wrong: str = "") -> Steps:
    """m = b1 * m + (1 - b1) * g;  v = b2 * v + (1 - b2) * g**2;  p = p - lr * m^ / (sqrt(v^) + eps)"""
    (b1, b2), eps = s.get("betas", (0.9, 0.999)), s.get("eps", 1e-8)
    decay, decoupled = s.get("weight_decay", 0), s.get("decoupled", False)
    sign = -1 if s.get("maximize", False) else 1
    m = v = np.zeros_like(p)
    after = []
    for t, (lr, g) in enumerate(
        zip(rates_of(s.get("lr", 1e-3), len(grads), wrong), grads, strict=True), 1
    ):
        g = sign * g
        signed = -decay if wrong == "weight_decay_sign" else decay
        if decoupled != (wrong == "decoupled_weight_decay"):
            p = p - lr * signed * p
        else:
            g = g + signed * p
        if wrong == "state_not_kept":
            m = v = np.zeros_like(p)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        t = 1 if wrong == "bias_correction_at_1" else t
        c1, c2 = 1 - b1**t, 1 - b2**t
        if wrong == "bias_correction":
            c1 = c2 = 1.0
        if wrong == "bias_correction_of_m":
            c1 = 1.0
        if wrong == "bias_correction_of_v":
            c2 = 1.0
        if wrong == "eps_inside_sqrt":
            p = p - lr * (m / c1) / np.sqrt(v / c2 + eps)
        else:
            p = p - lr * (m / c1) / (np.sqrt(v / c2) + eps)
        after.append(p)
    return after


def adagrad(p: Any, grads: Sequence[Any], s: Mapping[str, Any], wrong: str = "") -> Steps:
    """a = a + g**2;  p = p - lr * g / (sqrt(a) + eps)"""
    eps, decay = s.get("eps", 1e-10), s.get("weight_decay", 0)
    slower, a, after = (
        s.get("lr_decay", 0),
        s.get("initial_accumulator_value", 0) + np.zeros_like(p),
        [],
    )
    sign = -1 if s.get("maximize", False) else 1
    for t, (lr, g) in enumerate(
        zip(rates_of(s.get("lr", 1e-2), len(grads), wrong), grads, strict=True)
    ):
        g = sign * g + (-decay if wrong == "weight_decay_sign" else decay) * p
        a = g * g if wrong == "state_not_kept" else a + g * g
        rate = lr / (1 + t * slower)
        root = np.sqrt(a + eps) if wrong == "eps_inside_sqrt" else np.sqrt(a) + eps
        p = p - rate * g / root
        after.append(p)
    return after


def rmsprop(p: Any, grads: Sequence[Any], s: Mapping[str, Any], wrong: str = "") -> Steps:
    """a = alpha * a + (1 - alpha) * g**2;  p = p - lr * g / (sqrt(a) + eps)"""
    alpha, eps = s.get("alpha", 0.99), s.get("eps", 1e-8)
    decay, mu, centered = s.get("weight_decay", 0), s.get("momentum", 0), s.get("centered", False)
    sign = -1 if s.get("maximize", False) else 1
    a = mean = b = np.zeros_like(p)
    after = []
    for lr, g in zip(rates_of(s.get("lr", 1e-2), len(grads), wrong), grads, strict=True):
        g = sign * g + (-decay if wrong == "weight_decay_sign" else decay) * p
        if wrong == "state_not_kept":
            a = mean = b = np.zeros_like(p)
        a = alpha * a + (1 - alpha) * g * g
        mean = alpha * mean + (1 - alpha) * g
        spread = a - mean * mean if centered else a
        root = np.sqrt(spread + eps) if wrong == "eps_inside_sqrt" else np.sqrt(spread) + eps
        if wrong == "momentum_convention" and mu:
            b = mu * b + lr * g / root
            p = p - b
        elif mu:
            b = mu * b + g / root
            p = p - lr * b
        else:
            p = p - lr * g / root
        after.append(p)
    return after


def adamw(p: Any, grads: Sequence[Any], s: Mapping[str, Any], wrong: str = "") -> Steps:
    """Adam, with p = p - lr * decay * p beside it"""
    return adam(p, grads, {"weight_decay": 1e-2, **s, "decoupled": True}, wrong)


UPDATES: dict[str, Callable[..., Steps]] = {
    "SGD": sgd, "Adam": adam, "AdamW": adamw, "Adagrad": adagrad, "RMSprop": rmsprop,
}  # fmt: skip


# ------------------------------------------------------------------ the mistakes


MISTAKES: list[tuple[str, str, str, str]] = [
    ("lr_missing", "lr_missing", "The learning rate is missing: the step is taken with its full length.",
     "Multiply the step by lr."),
    ("state_not_kept", "state_not_kept", "What the optimizer remembers starts from zero at each step.",
     "Keep the state from one step to the next."),
    ("dampening", "dampening", "The dampening is missing: the velocity takes (1 - dampening) * g.",
     "Only the first velocity is the whole gradient."),
    ("dampening_first", "dampening", "The first velocity was dampened as well.",
     "As in PyTorch, the first velocity is the whole gradient, and dampening begins with the second."),
    ("momentum_convention", "momentum_convention",
     "The learning rate is inside the velocity, as Sutskever writes it: v = mu * v + lr * g; p = p - v.",
     "PyTorch keeps it outside: v = mu * v + g; p = p - lr * v. The two part when lr changes."),
    ("momentum_average", "momentum_convention",
     "The velocity is a moving average here: v = mu * v + (1 - mu) * g.",
     "PyTorch's velocity is a sum: v = mu * v + g (with dampening=mu it would be your average)."),
    ("nesterov_missing", "nesterov_missing", "The look ahead is missing: the step was taken along v.",
     "With Nesterov the step is  g + mu * v."),
    ("bias_correction", "bias_correction",
     "The bias correction is missing: m and v start from zero, and are too small at first.",
     "Divide m by 1 - beta1**t and v by 1 - beta2**t, with t = 1 at the first step."),
    ("bias_correction_of_m", "bias_correction", "The bias correction of m is missing.", "Divide m by 1 - beta1**t."),
    ("bias_correction_of_v", "bias_correction", "The bias correction of v is missing.", "Divide v by 1 - beta2**t."),
    ("bias_correction_at_1", "bias_correction", "The steps are not counted: each is corrected as the first is.",
     "t is 1 at the first step, 2 at the second, and so on."),
    ("eps_inside_sqrt", "eps_inside_sqrt", "eps stands inside the square root.",
     "It is added to the root: sqrt(v) + eps."),
    ("weight_decay_sign", "weight_decay_sign", "Weight decay has the wrong sign: it pushes away from zero.",
     "It is added to the gradient: g + weight_decay * p."),
    ("decoupled_weight_decay", "decoupled_weight_decay",
     "Weight decay was taken the other way: Adam adds it to the gradient, AdamW takes it off the parameter directly.",
     "Adam: g = g + wd * p, before m and v. AdamW: p = p - lr * wd * p, beside the step."),
]  # fmt: skip
