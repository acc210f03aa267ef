"""The updates of the optimizers, written out, and what goes wrong in them.

    by_hand(name, p, grads, settings)             the values after each step
    by_hand(name, p, grads, settings, mistake)    the same, with one thing done differently

An update is made of its settings (lr, betas, ...) and of its rules (how the velocity is formed,
what the step is divided by, ...). Both stand in one dict. A mistake is a row of the table below:
what it changes in this dict, and what is said to the student. Without a mistake this is what
the optimizer does, which a test holds to.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.teach.difference import Array

Settings = Mapping[str, Any]

# ------------------------------------------------------------------ the rules


def decayed(p: Array, g: Array, lr: float, s: Settings) -> tuple[Array, Array]:
    """Weight decay is added to the gradient, or taken off the parameter."""
    if s["decoupled_weight_decay"]:
        return p - lr * s["weight_decay"] * p, g
    return p, g + s["weight_decay"] * p


def average(old: Array | float, new: Array, beta: float) -> Array:
    """beta says how much is kept."""
    return beta * old + (1 - beta) * new


RULES: dict[str, Any] = {
    "decay": decayed,
    "after": lambda p, lr, s: p,  # the step ends here
    "first": lambda g, lr, s: g,  # the first velocity
    "added": lambda g, lr, s: (1 - s["dampening"]) * g if s["momentum"] else g,  # to mu * v, later
    "step": lambda v, g, lr, s: lr * (g + s["momentum"] * v if s["nesterov"] else v),
    "average": average,
    "average_v": average,  # Adam's second one
    "correct_m": lambda beta, t: 1 - beta**t,
    "correct_v": lambda beta, t: 1 - beta**t,
    "divisor": lambda v, c, eps: (
        np.sqrt(v / c) + eps
    ),  # of the average v, too small by the factor c
    "forgets": "",  # what is not kept from one step to the next
}
COMMON = {**RULES, "maximize": False, "weight_decay": 0, "decoupled_weight_decay": False}
MOMENTUM = {**COMMON, "momentum": 0, "dampening": 0, "nesterov": False}


# ------------------------------------------------------------------ the updates


def sgd(p: Array, g: Array, lr: float, t: int, state: dict[str, Any], s: Settings) -> Array:
    """v = mu * v + (1 - tau) * g;  p = p - lr * v"""
    if "velocity" in state:
        v = s["momentum"] * state["velocity"] + s["added"](g, lr, s)
    else:
        v = s["first"](g, lr, s)
    state["velocity"] = v
    return p - s["step"](v, g, lr, s)


def adam(p: Array, g: Array, lr: float, t: int, state: dict[str, Any], s: Settings) -> Array:
    """m = b1 * m + (1 - b1) * g;  v = b2 * v + (1 - b2) * g**2;  p = p - lr * m^ / (sqrt(v^) + eps)"""
    b1, b2 = s["betas"]
    m = state["m"] = s["average"](state.get("m", 0), g, b1)
    v = state["v"] = s["average_v"](state.get("v", 0), g * g, b2)
    greatest = state["greatest"] = np.maximum(state.get("greatest", 0), v)
    c1, c2 = s["correct_m"](b1, t), s["correct_v"](b2, t)
    return p - lr * (m / c1) / s["divisor"](greatest if s["amsgrad"] else v, c2, s["eps"])


def adagrad(p: Array, g: Array, lr: float, t: int, state: dict[str, Any], s: Settings) -> Array:
    """a = a + g**2;  p = p - lr * g / (sqrt(a) + eps)"""
    a = state["a"] = state.get("a", s["initial_accumulator_value"]) + g * g
    return p - lr / (1 + (t - 1) * s["lr_decay"]) * g / s["divisor"](a, 1, s["eps"])


def rmsprop(p: Array, g: Array, lr: float, t: int, state: dict[str, Any], s: Settings) -> Array:
    """a = alpha * a + (1 - alpha) * g**2;  then a step of SGD along  g / (sqrt(a) + eps)"""
    a = state["a"] = s["average"](state.get("a", 0), g * g, s["alpha"])
    mean = state["mean"] = average(state.get("mean", 0), g, s["alpha"])
    spread = a - mean * mean if s["centered"] else a
    return sgd(p, g / s["divisor"](spread, 1, s["eps"]), lr, t, state, s)


OF_ADAM = {**COMMON, "lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "amsgrad": False}
# name -> one step of the update, and the settings that it has by default
UPDATES: dict[str, tuple[Callable[..., Any], Settings]] = {
    "SGD": (sgd, {**MOMENTUM, "lr": 1e-3}),
    "Adam": (adam, OF_ADAM),
    "AdamW": (adam, {**OF_ADAM, "weight_decay": 1e-2, "decoupled_weight_decay": True}),
    "Adagrad": (
        adagrad,
        {**COMMON, "lr": 1e-2, "eps": 1e-10, "lr_decay": 0, "initial_accumulator_value": 0},
    ),
    "RMSprop": (rmsprop, {**MOMENTUM, "lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "centered": False}),
}


class Slip(NamedTuple):
    """A mistake in the steps of an optimizer.

    kind      what it is called
    of        the optimizers in which it can be made
    changes   the settings and the rules that become others, made of the right ones
    message   what is said to the student
    hint      what to do about it
    """

    kind: str
    of: str
    changes: Callable[[Settings], Settings]
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
    s = {**defaults, **settings}
    if mistake is not None:
        s |= mistake.changes(s)
    state: dict[str, Any] = {}
    after = []
    for t, (now, g) in enumerate(zip(settings_of_steps(s, len(grads)), grads, strict=True), 1):
        lr = now["lr"]
        state = {k: v for k, v in state.items() if k not in s["forgets"].split()}
        t = 1 if "t" in s["forgets"].split() else t
        p, g = s["decay"](p, -g if s["maximize"] else g, lr, s)
        p = s["after"](update(p, g, lr, t, state, s), lr, s)
        after.append(p)
    return after


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


# ------------------------------------------------------------------ the mistakes


def _decayed_without_lr(s: Settings) -> Settings:
    return {"decay": lambda p, g, lr, s: decayed(p, g, 1 if s["decoupled_weight_decay"] else lr, s)}


def _decayed_after_the_step(s: Settings) -> Settings:
    if not s["decoupled_weight_decay"]:
        return {}
    return {
        "decay": lambda p, g, lr, s: (p, g),
        "after": lambda p, lr, s: p - lr * s["weight_decay"] * p,
    }


def _sutskevers(added: Callable[..., Any]) -> Settings:
    """v = mu * v + lr * g;  p = p - v"""
    return {
        "first": lambda g, lr, s: lr * g,
        "added": added,
        "step": lambda v, g, lr, s: s["momentum"] * v + lr * g if s["nesterov"] else v,
    }


def _averaged_velocity(s: Settings) -> Settings:
    """v = mu * v + (1 - mu) * g"""
    less = _damped_by_momentum(s)["added"]
    return {"first": less, "added": less, "step": lambda v, g, lr, s: lr * v}


def _damped_by_momentum(s: Settings) -> Settings:
    return {"added": lambda g, lr, s: (1 - s["momentum"]) * g}


def _turned_betas(s: Settings) -> Settings:
    return {name: 1 - np.asarray(s[name]) for name in ("betas", "alpha") if name in s}


def _averaged(average: Callable[..., Any]) -> Callable[[Settings], Settings]:
    """Both averages formed in another way."""
    return lambda s: {"average": average, "average_v": average}


def _not_corrected(beta: float, t: int) -> float:
    return 1.0


def _corrected_late(beta: float, t: int) -> float:
    return 1 - beta ** (t + 1)


ALL = " ".join(UPDATES)
UPHILL = Slip("sign", ALL, dict, "The steps go up the gradient.", "Subtract the step.")
ADAMS, VELOCITIES = "Adam AdamW", "SGD RMSprop"
MISTAKES = [Slip(*row) for row in (
    ("lr_missing", ALL, lambda s: {"lr": 1.0},
     "The learning rate is missing: the step is taken with its full length.",
     "Multiply the step by lr."),
    ("lr_missing", ADAMS, _decayed_without_lr,
     "The learning rate is missing in the weight decay: p - wd * p.",
     "AdamW: p = p - lr * wd * p, apart from the step."),
    ("lr_missing", "SGD", lambda s: {"decay": lambda p, g, lr, s: (p, g + s["weight_decay"] * p / lr)},
     "The learning rate is missing in the weight decay: p - wd * p.",
     "The decay is a part of the gradient, and multiplied by lr with it: p = p - lr * (g + wd * p)."),
    ("state_not_kept", ALL,
     lambda s: {"forgets": "velocity m v a mean", "initial_accumulator_value": 0},
     "What the optimizer remembers starts from zero at each step.",
     "Keep the state from one step to the next."),
    ("state_not_kept", ADAMS, lambda s: {"forgets": "m v t"},
     "Each step is taken as if it were the first.",
     "Keep the averages, and the number t of the step, from one step to the next."),
    ("state_not_kept", "Adam AdamW RMSprop", lambda s: {"forgets": "m velocity"},
     "The velocity, or the average of the gradients, starts from zero at each step.",
     "Keep the state from one step to the next."),
    ("state_not_kept", "Adam AdamW RMSprop", lambda s: {"forgets": "v a mean"},
     "The average of the squares starts from zero at each step.",
     "Keep the state from one step to the next."),
    ("dampening", "SGD", lambda s: {"dampening": 0},
     "The dampening is missing: the velocity takes (1 - dampening) * g.",
     "Only the first velocity is the whole gradient."),
    ("dampening", "SGD", lambda s: {"first": RULES["added"]},
     "The first velocity was dampened as well.",
     "As in PyTorch, the first velocity is the whole gradient, and dampening begins with the second."),
    ("momentum_convention", VELOCITIES, lambda s: _sutskevers(lambda g, lr, s: lr * g),
     "The learning rate is inside the velocity, as Sutskever writes it: v = mu * v + lr * g; p = p - v.",
     "PyTorch keeps it outside: v = mu * v + g; p = p - lr * v. The two differ when lr changes."),
    ("momentum_convention", "SGD", lambda s: _sutskevers(lambda g, lr, s: lr * (1 - s["dampening"]) * g),
     "The learning rate is inside the velocity, as Sutskever writes it: v = mu * v + lr * g; p = p - v.",
     "PyTorch keeps it outside: v = mu * v + g; p = p - lr * v. The two differ when lr changes."),
    ("dampening", "SGD", _damped_by_momentum,
     "The velocity is dampened: it takes (1 - mu) * g from the second step on.",
     "Without dampening, the velocity takes the whole gradient at each step."),
    ("momentum_convention", VELOCITIES, _averaged_velocity,
     "The velocity is a moving average here: v = mu * v + (1 - mu) * g.",
     "PyTorch's velocity is a sum: v = mu * v + g. (dampening=mu damps as yours does, but from the second step on.)"),
    ("dampening", VELOCITIES, _averaged_velocity,
     "The velocity is dampened: it takes (1 - mu) * g.",
     "Without dampening, the velocity takes the whole gradient at each step."),
    ("nesterov_missing", "SGD", lambda s: {"nesterov": False},
     "The look ahead is missing: the step was taken along v.",
     "With Nesterov the step is  g + mu * v."),
    ("bias_correction", ADAMS, lambda s: {"correct_m": _not_corrected, "correct_v": _not_corrected},
     "The bias correction is missing: m and v start from zero, and are too small at first.",
     "Divide m by 1 - beta1**t and v by 1 - beta2**t, with t = 1 at the first step."),
    ("bias_correction", ADAMS, lambda s: {"correct_m": _not_corrected},
     "The bias correction of m is missing.", "Divide m by 1 - beta1**t."),
    ("bias_correction", ADAMS, lambda s: {"correct_v": _not_corrected},
     "The bias correction of v is missing.", "Divide v by 1 - beta2**t."),
    ("bias_correction", ADAMS, lambda s: {"forgets": "t"},
     "The steps are not counted: each one is corrected like the first.",
     "t is 1 at the first step, 2 at the second, and so on."),
    ("bias_correction", ADAMS, lambda s: {"correct_m": _corrected_late, "correct_v": _corrected_late},
     "The steps are counted from 2 instead of 1.",
     "t is 1 at the first step, 2 at the second, and so on."),
    ("eps_inside_sqrt", "Adam AdamW Adagrad RMSprop",
     lambda s: {"divisor": lambda v, c, eps: np.sqrt(v / c + eps)},
     "eps is inside the square root.",
     "It is added to the root: sqrt(v) + eps."),
    ("eps_inside_sqrt", ADAMS, lambda s: {"divisor": lambda v, c, eps: np.sqrt(v + eps) / np.sqrt(c)},
     "eps is inside the square root, before the bias correction.",
     "It is added to the root of the corrected average: sqrt(v_hat) + eps."),
    ("eps_missing", "Adam AdamW Adagrad RMSprop", lambda s: {"eps": 0.0},
     "eps is missing in the divisor.",
     "It is added to the root: sqrt(v) + eps."),
    ("root_missing", "Adam AdamW Adagrad RMSprop", lambda s: {"divisor": lambda v, c, eps: v / c + eps},
     "The square root is missing: the step is divided by the average of the squares.",
     "Divide by  sqrt(v) + eps."),
    ("weight_decay_factor", ALL, lambda s: {"weight_decay": 2 * s["weight_decay"]},
     "The weight decay is twice what it should be.",
     "weight_decay * p  is added, the derivative of  weight_decay / 2 * p**2."),
    ("weight_decay_factor", ALL, lambda s: {"weight_decay": s["weight_decay"] / 2},
     "The weight decay is half of what it should be.",
     "weight_decay * p  is added, the derivative of  weight_decay / 2 * p**2."),
    ("weight_decay_sign", ALL, lambda s: {"weight_decay": -s["weight_decay"]},
     "Weight decay has the wrong sign: it pushes away from zero.",
     "It is added to the gradient: g + weight_decay * p."),
    ("decoupled_weight_decay", ALL,
     lambda s: {"decoupled_weight_decay": not s["decoupled_weight_decay"]},
     "The weight decay is in the other place: Adam adds it to the gradient, AdamW subtracts it from the parameter.",
     "Adam: g = g + wd * p, before m and v. AdamW: p = p - lr * wd * p, apart from the step."),
    ("decoupled_weight_decay", ADAMS, _decayed_after_the_step,
     "The decay is taken off after the step, from the new parameter.",
     "AdamW first takes  lr * wd * p  off the parameter as it was before the step."),
    ("weight_decay_missing", ALL, lambda s: {"weight_decay": 0},
     "There is no weight decay in these steps.",
     "Look at the settings: weight_decay is not 0."),
    ("wrong_beta", ADAMS, lambda s: {"betas": s["betas"][::-1]},
     "The two betas are exchanged.", "The first belongs to m, the second to v."),
    ("wrong_beta", ADAMS, lambda s: {"betas": s["betas"][:1] * 2},
     "The first beta was used for both averages.", "The first belongs to m, the second to v."),
    ("wrong_beta", "Adam AdamW RMSprop", _turned_betas,
     "The averages keep 1 - beta of the old value, and take beta of the new one.",
     "beta says how much is kept."),
    ("wrong_beta", "Adam AdamW RMSprop", lambda s: {"average": lambda a, g, beta: beta * a + g},
     "The factor 1 - beta before the gradient is missing.",
     "An average takes beta of the old value, and 1 - beta of the new one."),
    ("wrong_beta", ADAMS, _averaged(lambda a, g, beta: (1 - beta) * a + beta * g),
     "The averages keep 1 - beta of the old value, and take beta of the new one.",
     "beta says how much is kept."),
    ("wrong_beta", ADAMS, _averaged(lambda a, g, beta: beta * a + g),
     "The factor 1 - beta before the gradient, and before its square, is missing.",
     "An average takes beta of the old value, and 1 - beta of the new one."),
    ("wrong_beta", "RMSprop", _averaged(lambda a, g, beta: a + g),
     "The squares are added up, as in Adagrad.",
     "RMSprop averages them:  a = alpha * a + (1 - alpha) * g**2."),
    ("wrong_beta", "Adam AdamW RMSprop", lambda s: {"betas": (0.9, 0.999), "alpha": 0.99},
     "The averages keep as much as they do by default, not as the settings say.",
     "Look at the settings."),
    ("centering_missing", "RMSprop", lambda s: {"centered": False},
     "The square of the mean gradient was not subtracted.",
     "With centered=True the divisor is the root of a variance: a - mean**2."),
    ("lr_decay_missing", "Adagrad", lambda s: {"lr_decay": 0},
     "The learning rate does not become smaller.",
     "Adagrad divides lr by  1 + (t - 1) * lr_decay."),
)]  # fmt: skip
