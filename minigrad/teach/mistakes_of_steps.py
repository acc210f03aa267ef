"""The table of mistakes in the steps of an optimizer.

    AROUND      in the gradients that an optimizer is given, or in its learning rates
    MISTAKES    in its own formulas
    FACTORS     a factor in front of the gradients, tried if nothing else gives the numbers

A row says which settings and rules of steps_by_hand.py change, and has the message to the student.
Read steps_by_hand.py first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.teach.difference import Array
from minigrad.teach.steps_by_hand import (
    RULES,
    UPDATES,
    Settings,
    Slip,
    dampened,
    decayed,
    not_corrected,
)


def _decayed_without_lr(s: Settings) -> Settings:
    return {"decay": lambda p, g, lr, s: decayed(p, g, 1 if s["decoupled_weight_decay"] else lr, s)}


def _decayed_after_the_step(s: Settings) -> Settings:
    return {
        "decay": lambda p, g, lr, s: (p, g),
        "after": lambda p, lr, s: p - lr * s["weight_decay"] * p,
    }


def _decayed_by(extra: Callable[[Array, Array, float], Array]) -> Callable[[Settings], Settings]:
    """weight_decay times something other than p is added to the gradient."""
    return lambda s: {"decay": lambda p, g, lr, s: (p, g + s["weight_decay"] * extra(p, g, lr))}


def _velocity(
    formula: Callable[[Array, Array, float, float], Array],
) -> Callable[[Settings], Settings]:
    """Another formula for the velocity, from v, g, mu and the dampening."""
    rule = {"velocity": lambda v, g, lr, s: formula(v, g, s["momentum"], s["dampening"])}
    return lambda s: rule if s["momentum"] else {}


def _stepped_by(
    step: Callable[[Array, Array, float], Array], setting: str = "momentum"
) -> Callable[[Settings], Settings]:
    """Another formula for the step with this setting, from v, g and mu."""
    rule = {"step": lambda v, g, lr, s: lr * step(v, g, s["momentum"])}
    return lambda s: rule if s[setting] else {}


def _sutskevers(damped: Callable[[Settings], Any]) -> Settings:
    """v = mu * v + lr * g;  p = p - v"""
    return {
        "first": lambda g, lr, s: lr * g,
        "velocity": lambda v, g, lr, s: s["momentum"] * v + lr * damped(s) * g,
        "step": lambda v, g, lr, s: s["momentum"] * v + lr * g if s["nesterov"] else v,
    }


def _averaged_velocity(s: Settings) -> Settings:
    """v = mu * v + (1 - mu) * g"""
    first = {"first": lambda g, lr, s: (1 - s["momentum"]) * g}
    return {**_velocity(_damped_by_momentum)(s), **first, "step": lambda v, g, lr, s: lr * v}


def _damped_by_momentum(v: Array, g: Array, mu: float, tau: float) -> Array:
    return mu * v + (1 - mu) * g


def _turned_betas(s: Settings) -> Settings:
    return {name: 1 - np.asarray(s[name]) for name in ("betas", "alpha") if name in s}


def _averaged(average: Callable[..., Any]) -> Callable[[Settings], Settings]:
    """Both averages, computed in another way."""
    return lambda s: {"average": average, "average_v": average}


def _of_the_other(s: Settings) -> Settings:
    b1, b2 = s["betas"]
    return {"average_v": lambda a, g, beta: b2 * a + (1 - b1) * g}


def _corrected(by: Callable[[float, int], float]) -> Callable[[Settings], Settings]:
    """Both averages, corrected by another number."""
    return lambda s: {"correct_m": by, "correct_v": by}


def _as_if_each(times: float) -> Callable[[Settings], Settings]:
    return lambda s: {"grads": [times * g for g in s["grads"]]}


def _each(change: Callable[[Array], Array]) -> Callable[[Settings], Settings]:
    """Another gradient in place of each."""
    return lambda s: {"grads": [change(g) for g in s["grads"]]}


def _zeroed_every_second_time(s: Settings) -> Settings:
    grads = s["grads"]
    return {"grads": [g + grads[k - 1] if k % 2 else g for k, g in enumerate(grads)]}


def _with_rates(change: Callable[[list[Any]], list[Any]]) -> Callable[[Settings], Settings]:
    """Other learning rates. If there are fewer of them, fewer steps are compared."""

    def changes(s: Settings) -> Settings:
        rates = change(list(s["lr"])) if np.ndim(s.get("lr", 0)) else []
        return {"lr": rates, "grads": s["grads"][: len(rates)]} if rates else {}

    return changes


ALL = " ".join(UPDATES)
UPHILL = Slip(
    "sign", ALL, _as_if_each(-1), "The steps go up the gradient, not down.", "Subtract the step."
)
RESTARTED = Slip("step_not_kept", ALL, dict,
                 "Each step starts from the first values, and not from those after the step before.",
                 "Subtract each step from the values that the step before has left.")  # fmt: skip
FACTORS = [  # tried if nothing else gives the numbers
    Slip("scale", ALL, _as_if_each(n), f"Each gradient is {words} times what it should be.",
         "Look for a factor, such as the number of passes whose gradients were added up.")
    for k in (2, 3, 4, 5, 8, 10) for n, words in ((k, str(k)), (1 / k, f"1/{k}"))
]  # fmt: skip
# Mistakes around any optimizer: in the gradients that it is given, or in lr.
AROUND = [*(Slip(*row) for row in (
    ("lr_missing", ALL, lambda s: {"lr": 1.0} if "lr" in s else {},
     "The learning rate is missing: the step has the full length of the gradient.",
     "Multiply the step by lr."),
    ("lr_schedule", ALL, _with_rates(lambda rates: rates[1:]),
     "Each step is taken with the learning rate of the next one.",
     "Step the schedule after the optimizer."),
    ("lr_schedule", ALL, _with_rates(lambda rates: [rates[0], *rates[:-1]]),
     "From the second step on, the learning rate is that of the step before.",
     "Step the schedule once after each step of the optimizer, the first one too."),
    ("accumulated_twice", ALL, lambda s: {"grads": list(np.cumsum(s["grads"], 0))},
     "Each step is taken along the sum of all gradients so far, as if .grad had not been zeroed.",
     "Each step has its own gradient: call zero_grad() before each backward pass."),
    ("accumulated_twice", ALL, _zeroed_every_second_time,
     "Every second step is taken along the sum of two gradients, as if .grad was zeroed only before the others.",
     "Each step has its own gradient: call zero_grad() before each backward pass."),
    ("gradient_zeroed", ALL, _each(lambda g: 0 * g),
     "The gradient of each step is 0, as if zero_grad() was called between backward() and step().",
     "First zero_grad(), then backward(), then step()."),
    ("step_missing", ALL, lambda s: {"grads": [None, *s["grads"][1:]]},
     "The first step was left out.", "Each gradient has its step, the first one too."),
    ("gradient_changed", ALL, _each(np.sign),
     "Each step follows the sign of the gradient, and not the gradient itself.",
     "The steps are shorter where the gradient is smaller."),
    ("gradient_changed", ALL, _each(lambda g: g / np.sqrt(np.sum(g * g))),
     "Each gradient was divided by its length.",
     "The steps are shorter where the gradient is smaller."),
    ("gradient_changed", ALL, _each(lambda g: g / max(1.0, np.sqrt(np.sum(g * g)))),
     "The gradients were clipped to the length 1.",
     "This optimizer does not clip the gradients that it is given."),
    ("gradient_changed", ALL, _each(lambda g: np.clip(g, -1, 1)),
     "The entries of the gradients were clipped to -1 and 1.",
     "This optimizer does not clip the gradients that it is given."),
    ("stale_gradient", ALL, lambda s: {"grads": [0 * s["grads"][0], *s["grads"][:-1]]},
     "Each step is taken along the gradient of the step before.",
     "First backward(), then step()."),
    ("stale_gradient", ALL, lambda s: {"grads": [None, *s["grads"][:-1]]},
     "Each step is taken along the gradient of the step before, and the first step is left out.",
     "First backward(), then step()."),
    ("stale_gradient", ALL, lambda s: {"grads": [s["grads"][0], *s["grads"][:-1]]},
     "From the second step on, each step is taken along the gradient of the step before.",
     "First backward(), then step()."),
    ("stale_gradient", ALL, lambda s: {"grads": s["grads"][:1] * len(s["grads"])},
     "All steps are taken along the first gradient.",
     "Compute the gradient again after each step."),
)), UPHILL]  # fmt: skip
ADAMS, VELOCITIES = "Adam AdamW", "SGD RMSprop"
MISTAKES = [Slip(*row) for row in (
    ("lr_missing", ADAMS, _decayed_without_lr,
     "The learning rate is missing in the weight decay: p - wd * p.",
     "AdamW: p = p - lr * wd * p, apart from the step."),
    ("lr_missing", "SGD", lambda s: {"decay": lambda p, g, lr, s: (p, g + s["weight_decay"] * p / lr)},
     "The learning rate is missing in the weight decay: p - wd * p.",
     "The decay is a part of the gradient, and multiplied by lr with it: p = p - lr * (g + wd * p)."),
    ("state_not_kept", ALL,
     lambda s: {"forgets": "velocity m v a mean", "initial_accumulator_value": 0},
     "The optimizer's state starts from zero at each step.",
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
    ("dampening", "SGD", lambda s: {"first": lambda g, lr, s: dampened(g, s)},
     "The first velocity was dampened as well.",
     "As in PyTorch, the first velocity is the whole gradient, and dampening begins with the second."),
    ("dampening", "SGD", _velocity(lambda v, g, mu, tau: mu * v + tau * g),
     "The velocity takes dampening * g instead of (1 - dampening) * g.",
     "v = mu * v + (1 - dampening) * g"),
    ("dampening", "SGD", _velocity(lambda v, g, mu, tau: (1 - tau) * mu * v + g),
     "The old velocity was dampened instead of the gradient.",
     "v = mu * v + (1 - dampening) * g"),
    ("momentum_convention", VELOCITIES, lambda s: _sutskevers(lambda s: 1),
     "The learning rate is inside the velocity, as Sutskever writes it: v = mu * v + lr * g; p = p - v.",
     "PyTorch keeps it outside: v = mu * v + g; p = p - lr * v. The two differ when lr changes."),
    ("momentum_convention", "SGD", lambda s: _sutskevers(lambda s: 1 - s["dampening"]),
     "The learning rate is inside the velocity, as Sutskever writes it: v = mu * v + lr * g; p = p - v.",
     "PyTorch keeps it outside: v = mu * v + g; p = p - lr * v. The two differ when lr changes."),
    ("dampening", "SGD", _velocity(_damped_by_momentum),
     "The velocity is dampened: it takes (1 - mu) * g from the second step on.",
     "Without dampening, the velocity takes the whole gradient at each step."),
    ("momentum_convention", "SGD", _velocity(lambda v, g, mu, tau: v + mu * g),
     "mu multiplies the gradient instead of the old velocity.",
     "v = mu * v + g:  mu is the part of the old velocity that is kept."),
    ("momentum_convention", "SGD", _velocity(lambda v, g, mu, tau: (1 - mu) * v + g),
     "The velocity keeps 1 - mu of the old velocity instead of mu.",
     "v = mu * v + g:  mu is the part of the old velocity that is kept."),
    ("momentum_convention", VELOCITIES, _averaged_velocity,
     "The velocity is a moving average here: v = mu * v + (1 - mu) * g.",
     "PyTorch's velocity is a sum: v = mu * v + g. (dampening=mu damps as yours does, but from the second step on.)"),
    ("dampening", VELOCITIES, _averaged_velocity,
     "The velocity is dampened: it takes (1 - mu) * g.",
     "Without dampening, the velocity takes the whole gradient at each step."),
    ("momentum_convention", "SGD", _stepped_by(lambda v, g, mu: mu * v),
     "The step follows mu * v: the velocity was multiplied by mu again.",
     "mu is a factor of the old velocity. The step is  lr * v,  or  lr * (g + mu * v)  with Nesterov."),
    ("nesterov_missing", "SGD", lambda s: {"nesterov": False},
     "The look-ahead is missing: the step follows v alone.",
     "With Nesterov the step is  g + mu * v."),
    ("nesterov_missing", "SGD", _stepped_by(lambda v, g, mu: v + mu * v, "nesterov"),
     "The look-ahead starts from v instead of g: the step is  v + mu * v.",
     "With Nesterov the step is  g + mu * v."),
    ("nesterov_missing", "SGD", _stepped_by(lambda v, g, mu: g + v, "nesterov"),
     "The factor mu of the look-ahead is missing: the step is  g + v.",
     "With Nesterov the step is  g + mu * v."),
    ("nesterov_missing", "SGD", _stepped_by(lambda v, g, mu: mu * g + v, "nesterov"),
     "In the look-ahead, mu multiplies the gradient instead of the velocity: the step is  mu * g + v.",
     "With Nesterov the step is  g + mu * v."),
    ("nesterov_not_asked", "SGD", lambda s: {"nesterov": True},
     "The step is  g + mu * v,  as with Nesterov, but nesterov=False.",
     "Without Nesterov the step is  v."),
    ("bias_correction", ADAMS, _corrected(not_corrected),
     "The bias correction is missing: m and v start from zero, and are too small at first.",
     "Divide m by 1 - beta1**t and v by 1 - beta2**t, with t = 1 at the first step."),
    ("bias_correction", ADAMS, lambda s: {"correct_m": not_corrected},
     "The bias correction of m is missing.", "Divide m by 1 - beta1**t."),
    ("bias_correction", ADAMS, lambda s: {"correct_v": not_corrected},
     "The bias correction of v is missing.", "Divide v by 1 - beta2**t."),
    ("bias_correction", ADAMS, lambda s: {"forgets": "t"},
     "The steps are not counted: each one is corrected like the first.",
     "t is 1 at the first step, 2 at the second, and so on."),
    ("bias_correction", ADAMS, _corrected(lambda beta, t: 1 - beta ** (t + 1)),
     "The steps are counted from 2 instead of 1.",
     "t is 1 at the first step, 2 at the second, and so on."),
    ("bias_correction", ADAMS, _corrected(lambda beta, t: 1 - beta ** (t - 1)),
     "The steps are counted from 0: the first correction divides by 1 - beta**0, which is 0.",
     "t is 1 at the first step: count it up before the averages are corrected."),
    ("bias_correction", ADAMS, _corrected(lambda beta, t: 1 - beta ** max(t - 1, 1)),
     "t is 1 at the second step, too: it was counted up after the first step only.",
     "t is 1 at the first step, 2 at the second, and so on."),
    ("bias_correction", ADAMS, _corrected(lambda beta, t: 1 - beta * t),
     "The bias correction divides by 1 - beta * t.", "beta is raised to the power t: 1 - beta**t."),
    ("bias_correction", ADAMS, _corrected(lambda beta, t: (1 - beta) ** t),
     "The bias correction divides by (1 - beta)**t.", "Only beta is raised to the power t: 1 - beta**t."),
    ("bias_correction", ADAMS, lambda s: {"correct_v": lambda beta, t: np.sqrt(1 - beta**t)},
     "v was divided by the root of 1 - beta2**t.",
     "v_hat is  v / (1 - beta2**t),  and the step is divided by the root of v_hat."),
    ("bias_correction", ADAMS, _corrected(lambda beta, t: 1 / (1 - beta**t)),
     "The averages are multiplied by the bias correction.",
     "They are too small at first: divide by 1 - beta**t."),
    ("bias_correction", ADAMS, lambda s: {"correct_m": lambda beta, t: 1 - s["betas"][1] ** t,
                                          "correct_v": lambda beta, t: 1 - s["betas"][0] ** t},
     "The bias corrections are swapped.",
     "Divide m by 1 - beta1**t and v by 1 - beta2**t."),
    ("bias_correction", ADAMS, lambda s: {"keeps": lambda m, c: m / c},
     "The corrected averages were kept for the next step, and corrected again there.",
     "Keep m and v as they are; m_hat and v_hat are used for this step only."),
    ("initial_value", "Adam AdamW RMSprop", lambda s: {"start": lambda new: new},
     "The averages start from the first gradient and its square, and not from 0.",
     "At the first step the old value is 0: the average is 1 - beta times the new value."),
    ("initial_value", "RMSprop", lambda s: {"start": lambda new: 1.0},
     "The average of the squares starts from 1, and not from 0.",
     "At the first step the old value is 0."),
    ("stale_value", "Adam AdamW Adagrad RMSprop", lambda s: {"seen": lambda before, now: before},
     "The step is divided by the root of the squares from before this step.",
     "First add the square of the gradient, then divide by the root."),
    ("bias_correction", "RMSprop", lambda s: {"correct_v": RULES["correct_v"]},
     "The average of the squares was corrected as in Adam. RMSprop does not correct it.",
     "Divide by the root of the average as it is, also at the first steps."),
    ("eps_inside_sqrt", "Adam AdamW Adagrad RMSprop",
     lambda s: {"divisor": lambda v, c, eps: np.sqrt(v / c + eps)},
     "eps is inside the square root.",
     "It is added to the root: sqrt(v) + eps."),
    ("eps_inside_sqrt", ADAMS, lambda s: {"divisor": lambda v, c, eps: np.sqrt(v + eps) / np.sqrt(c)},
     "eps is inside the square root, before the bias correction.",
     "It is added to the root of the corrected average: sqrt(v_hat) + eps."),
    ("eps_place", ADAMS, lambda s: {"divisor": lambda v, c, eps: (np.sqrt(v) + eps) / np.sqrt(c)},
     "eps is added before the bias correction, and corrected with v.",
     "It is added to the root of the corrected average: sqrt(v_hat) + eps."),
    ("eps_missing", "Adam AdamW Adagrad RMSprop", lambda s: {"eps": 0.0},
     "eps is missing in the divisor.",
     "It is added to the root: sqrt(v) + eps."),
    ("root_missing", "Adam AdamW Adagrad RMSprop", lambda s: {"divisor": lambda v, c, eps: v / c + eps},
     "The square root is missing: the step is divided by the average of the squares.",
     "Divide by  sqrt(v) + eps."),
    ("root_missing", "Adam AdamW Adagrad RMSprop", lambda s: {"divisor": lambda v, c, eps: 1.0},
     "The step is not divided at all.", "Divide by  sqrt(v) + eps."),
    ("square_missing", "Adam AdamW Adagrad RMSprop", lambda s: {"square": lambda g, m: np.abs(g)},
     "The second average is of abs(g) instead of g**2.", "Square the gradient first."),
    ("square_missing", "Adam AdamW Adagrad RMSprop", lambda s: {"square": lambda g, m: g},
     "The square is missing: v averages g instead of g**2.", "Square the gradient first."),
    ("square_missing", ADAMS, lambda s: {"square": lambda g, m: m * m},
     "v averages m**2 instead of g**2.", "v averages the squares of the gradients themselves."),
    ("amsgrad_missing", ADAMS, lambda s: {"amsgrad": False},
     "The step is divided by the root of v itself, not of the largest v so far.",
     "With amsgrad=True, keep the largest v so far, entry by entry, and divide by its root."),
    ("amsgrad_missing", ADAMS, lambda s: {"largest_of": lambda c: c},
     "The largest v was taken of the corrected averages.",
     "Keep the largest v as it is, and divide by 1 - beta2**t afterward."),
    ("amsgrad_not_asked", ADAMS, lambda s: {"amsgrad": True},
     "The step is divided by the root of the largest v so far, but amsgrad=False.",
     "Divide by the root of v_hat."),
    ("amsgrad_not_asked", ADAMS, lambda s: {"amsgrad": True, "largest_of": lambda c: c},
     "The step is divided by the root of the largest v_hat so far, but amsgrad=False.",
     "Divide by the root of v_hat."),
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
     "The weight decay is in the wrong place: Adam adds it to the gradient, AdamW subtracts it from the parameter.",
     "Adam: g = g + wd * p, before m and v. AdamW: p = p - lr * wd * p, apart from the step."),
    ("decoupled_weight_decay", ALL,
     lambda s: {"decay": lambda p, g, lr, s: (p - lr * s["weight_decay"] * p, g + s["weight_decay"] * p)},
     "The weight decay is there twice: it is added to the gradient, and subtracted from the parameter.",
     "Adam: g = g + wd * p, before m and v. AdamW: p = p - lr * wd * p, apart from the step."),
    ("decoupled_weight_decay", ALL, _decayed_after_the_step,
     "The decay is subtracted after the step, from the new parameter.",
     "Decay comes first: g = g + wd * p, or p = p - lr * wd * p in AdamW, with p as it was before the step."),
    ("weight_decay_factor", "SGD", _decayed_by(lambda p, g, lr: lr * p),
     "The weight decay is multiplied by lr twice.",
     "p = p - lr * (g + wd * p):  it is a part of the gradient, and is multiplied by lr once, with it."),
    ("weight_decay_missing", ALL, lambda s: {"weight_decay": 0},
     "The weight decay is missing.",
     "Look at the settings: weight_decay is not 0."),
    ("weight_decay_place", ALL, _decayed_by(lambda p, g, lr: np.sign(p)),
     "The weight decay is that of abs(p): wd * sign(p).",
     "weight_decay * p  is added, the derivative of  weight_decay / 2 * p**2."),
    ("weight_decay_place", ALL, _decayed_by(lambda p, g, lr: g),
     "The weight decay multiplies the gradient: g + wd * g.",
     "weight_decay * p  is added: the parameter decays, not the gradient."),
    ("wrong_beta", ADAMS, lambda s: {"betas": s["betas"][::-1]},
     "The two betas are swapped.", "The first belongs to m, the second to v."),
    ("wrong_beta", ADAMS, lambda s: {"betas": s["betas"][:1] * 2},
     "The first beta was used for both averages.", "The first belongs to m, the second to v."),
    ("wrong_beta", ADAMS, _of_the_other,
     "v takes 1 - beta1 of the square, and keeps beta2 of the old value.",
     "An average takes beta of the old value, and 1 - beta of the new one, with the same beta."),
    ("wrong_beta", "Adam AdamW RMSprop", _turned_betas,
     "beta and 1 - beta are swapped: the averages keep 1 - beta of the old value.",
     "beta is the part of the old value that is kept."),
    ("wrong_beta", "Adam AdamW RMSprop", lambda s: {"average": lambda a, g, beta: beta * a + g},
     "The factor 1 - beta before the gradient is missing.",
     "An average takes beta of the old value, and 1 - beta of the new one."),
    ("wrong_beta", ADAMS, _averaged(lambda a, g, beta: (1 - beta) * a + beta * g),
     "beta and 1 - beta are swapped: the averages keep 1 - beta of the old value.",
     "beta is the part of the old value that is kept."),
    ("wrong_beta", ADAMS, lambda s: {"average_v": lambda a, g, beta: beta * a + g},
     "The factor 1 - beta2 before the square of the gradient is missing.",
     "An average takes beta of the old value, and 1 - beta of the new one."),
    ("state_not_kept", ADAMS, lambda s: {"average": lambda a, g, beta: g, "correct_m": not_corrected},
     "The step follows the gradient g itself, and not its average m.",
     "The step is  lr * m_hat / (sqrt(v_hat) + eps)."),
    ("wrong_beta", ADAMS, _averaged(lambda a, g, beta: beta * a + g),
     "The factor 1 - beta before the gradient, and before its square, is missing.",
     "An average takes beta of the old value, and 1 - beta of the new one."),
    ("wrong_beta", "RMSprop", _averaged(lambda a, g, beta: a + g),
     "The squares are added up, as in Adagrad.",
     "RMSprop averages them:  a = alpha * a + (1 - alpha) * g**2."),
    ("wrong_beta", "Adam AdamW RMSprop", lambda s: {"betas": (0.9, 0.999), "alpha": 0.99},
     "The averages use the default betas (or alpha), not those of the settings.",
     "Look at the settings."),
    ("centering_missing", "RMSprop", lambda s: {"centered": False},
     "The square of the mean gradient was not subtracted.",
     "With centered=True the divisor is the root of a variance: a - mean**2."),
    ("centering_not_asked", "RMSprop", lambda s: {"centered": True},
     "The square of the mean gradient was subtracted, but centered=False.",
     "Without centered=True the divisor is the root of the average of the squares."),
    ("centering_not_asked", ADAMS, lambda s: {"square": lambda g, m: (g - m) ** 2},
     "v averages (g - m)**2, as AdaBelief does.", "v averages the squares of the gradients themselves."),
    ("lr_decay_missing", "Adagrad", lambda s: {"lr_decay": 0},
     "The learning rate does not decay.",
     "Adagrad divides lr by  1 + (t - 1) * lr_decay."),
    ("lr_decay_missing", "Adagrad", lambda s: {"first_step": 0},
     "The learning rate decays one step too early.",
     "Adagrad divides lr by  1 + (t - 1) * lr_decay:  the first step has the full rate."),
    ("initial_value_missing", "Adagrad", lambda s: {"initial_accumulator_value": 0},
     "The sum of the squares starts from zero.",
     "It starts from initial_accumulator_value."),
)]  # fmt: skip
