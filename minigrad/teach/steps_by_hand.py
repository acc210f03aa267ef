"""The optimizers' updates, written out, and mistakes in them.

    by_hand(name, p, grads, settings)             the values after each step
    by_hand(name, p, grads, settings, mistake)    the same, with one thing done differently

An update has settings (lr, betas, ...) and rules (how the velocity is computed, what the step is
divided by, ...). Both are in one dict. A mistake changes some of them; the table of mistakes is in
mistakes_of_steps.py. Without a mistake, the result is that of the optimizer; a test checks this.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.teach.difference import Array

Settings = Mapping[str, Any]

# ------------------------------------------------------------------ the rules


def decayed(p: Array, g: Array, lr: float, s: Settings) -> tuple[Array, Array]:
    """Weight decay is added to the gradient, or subtracted from the parameter."""
    if s["decoupled_weight_decay"]:
        return p - lr * s["weight_decay"] * p, g
    return p, g + s["weight_decay"] * p


def average(old: Array | float, new: Array, beta: float) -> Array:
    """A moving average, which keeps the fraction beta of the old value."""
    return beta * old + (1 - beta) * new


def dampened(g: Array, s: Settings) -> Array:
    """The part of the gradient that is added to the velocity."""
    return (1 - s["dampening"]) * g if s["momentum"] else g


RULES: dict[str, Any] = {
    "decay": decayed,
    "after": lambda p, lr, s: p,  # the step ends here
    "first": lambda g, lr, s: g,  # the first velocity
    "velocity": lambda v, g, lr, s: s["momentum"] * v + dampened(g, s),  # the later ones
    "step": lambda v, g, lr, s: lr * (g + s["momentum"] * v if s["nesterov"] else v),
    "square": lambda g, m: g * g,
    "start": lambda new: 0.0,  # what an average starts from
    "average": average,
    "average_v": average,  # Adam's second one
    "seen": lambda before, now: now,  # the average of the squares that the step is divided by
    "largest_of": lambda c: 1.0,  # amsgrad takes the largest v, divided by this
    "correct_m": lambda beta, t: 1 - beta**t,
    "correct_v": lambda beta, t: 1 - beta**t,
    # for the average v, which is too small by the factor c
    "divisor": lambda v, c, eps: np.sqrt(v / c) + eps,
    "keeps": lambda m, c: m,  # the part of an average that is kept for the next step
    "forgets": "",  # the state that is not kept for the next step
    "first_step": 1,  # from here on, Adagrad's rate decays
}
COMMON = {**RULES, "maximize": False, "weight_decay": 0, "decoupled_weight_decay": False}
MOMENTUM = {**COMMON, "momentum": 0, "dampening": 0, "nesterov": False}


# ------------------------------------------------------------------ the updates


def sgd(p: Array, g: Array, lr: float, t: int, state: dict[str, Any], s: Settings) -> Array:
    """v = mu * v + (1 - tau) * g;  p = p - lr * v"""
    if "velocity" in state:
        v = s["velocity"](state["velocity"], g, lr, s)
    else:
        v = s["first"](g, lr, s)
    state["velocity"] = v
    return p - s["step"](v, g, lr, s)


def adam(p: Array, g: Array, lr: float, t: int, state: dict[str, Any], s: Settings) -> Array:
    """m = b1 * m + (1 - b1) * g;  v = b2 * v + (1 - b2) * g**2;  p = p - lr * m^ / (sqrt(v^) + eps)"""
    b1, b2 = s["betas"]
    m = s["average"](state.get("m", s["start"](g)), g, b1)
    square = s["square"](g, m)
    before = state.get("v", s["start"](square))
    v = s["average_v"](before, square, b2)
    c1, c2 = s["correct_m"](b1, t), s["correct_v"](b2, t)
    scale = s["largest_of"](c2)
    greatest = state["greatest"] = np.maximum(state.get("greatest", 0), v / scale)
    state["m"], state["v"] = s["keeps"](m, c1), s["keeps"](v, c2)
    used = greatest * scale if s["amsgrad"] else s["seen"](before, v)
    return p - lr * (m / c1) / s["divisor"](used, c2, s["eps"])


def adagrad(p: Array, g: Array, lr: float, t: int, state: dict[str, Any], s: Settings) -> Array:
    """a = a + g**2;  p = p - lr * g / (sqrt(a) + eps)"""
    before = state.get("a", s["initial_accumulator_value"] + 0 * g)
    a = state["a"] = before + s["square"](g, g)
    rate = lr / (1 + (t - s["first_step"]) * s["lr_decay"])
    return p - rate * g / s["divisor"](s["seen"](before, a), 1, s["eps"])


def rmsprop(p: Array, g: Array, lr: float, t: int, state: dict[str, Any], s: Settings) -> Array:
    """a = alpha * a + (1 - alpha) * g**2;  then a step of SGD along  g / (sqrt(a) + eps)"""
    square = s["square"](g, g)
    before = state.get("a", s["start"](square))
    a = state["a"] = s["average"](before, square, s["alpha"])
    mean = state["mean"] = average(state.get("mean", 0), g, s["alpha"])
    spread = s["seen"](before, a) - (mean * mean if s["centered"] else 0)
    c = s["correct_v"](s["alpha"], t)
    return sgd(p, g / s["divisor"](spread, c, s["eps"]), lr, t, state, s)


def not_corrected(beta: float, t: int) -> float:
    """An average that is used as it is, although it starts from zero."""
    return 1.0


OF_RMSPROP = {**MOMENTUM, "correct_v": not_corrected, "lr": 1e-2, "alpha": 0.99, "eps": 1e-8}
OF_ADAGRAD = {**COMMON, "lr": 1e-2, "eps": 1e-10, "lr_decay": 0, "initial_accumulator_value": 0}
OF_ADAM = {**COMMON, "lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "amsgrad": False}
# name -> one step of the update, and the settings that it has by default
UPDATES: dict[str, tuple[Callable[..., Any], Settings]] = {
    "SGD": (sgd, {**MOMENTUM, "lr": 1e-3}),
    "Adam": (adam, OF_ADAM),
    "AdamW": (adam, {**OF_ADAM, "weight_decay": 1e-2, "decoupled_weight_decay": True}),
    "Adagrad": (adagrad, OF_ADAGRAD),
    "RMSprop": (rmsprop, {**OF_RMSPROP, "centered": False}),
}


class Slip(NamedTuple):
    """A mistake in the steps of an optimizer.

    kind      its name
    of        the optimizers in which it can be made
    changes   the settings and rules that change; or a function that returns them, from the right ones
    message   the message to the student
    hint      what to do about it
    """

    kind: str
    of: str
    changes: Settings | Callable[[Settings], Settings]
    message: str
    hint: str


def by_hand(
    name: str, p: Array, grads: Sequence[Array], settings: Settings, mistake: Slip | None = None
) -> list[Array]:
    """The values after each step of an update, right or with a mistake in it.

    p, grads   arrays: the values before the first step, and the gradient at each step
    settings   those that are not the default; lr may be a list, one rate for each step
    """
    update, defaults = UPDATES[name]
    s = changed({**defaults, **settings}, grads, mistake)
    state: dict[str, Any] = {}
    after, t = [], 0
    for now, g in zip(settings_of_steps(s, len(s["grads"])), s["grads"], strict=True):
        if g is not None:
            lr, t = now["lr"], 1 if "t" in s["forgets"].split() else t + 1
            state = {k: v for k, v in state.items() if k not in s["forgets"].split()}
            p, g = s["decay"](p, -g if s["maximize"] else g, lr, s)
            p = s["after"](update(p, g, lr, t, state, s), lr, s)
        after.append(p)
    return after


def changed(s: Settings, grads: Sequence[Array], mistake: Slip | None) -> dict[str, Any]:
    """The settings and the gradients, with the changes of a mistake."""
    s = {**s, "grads": grads}
    changes = {} if mistake is None else mistake.changes
    return {**s, **(changes(s) if callable(changes) else changes)}


def settings_of_steps(settings: Settings, n: int) -> list[dict[str, Any]]:
    """The settings of each of n steps: `lr` may be a list, one rate for each."""
    if "lr" not in settings:
        return [dict(settings)] * n
    lr: Any = settings["lr"]
    several = isinstance(lr, Sequence) or np.ndim(getattr(lr, "array", lr)) > 0
    rates = list(lr) if several else [lr] * n
    if len(rates) != n:
        raise ValueError(f"compare_update: there are {len(rates)} learning rates for {n} steps.")
    return [{**settings, "lr": float(rate)} for rate in rates]
