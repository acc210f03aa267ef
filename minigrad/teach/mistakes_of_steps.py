"""The table of mistakes in the steps of an optimizer.

    AROUND      in the gradients that an optimizer is given, or in its learning rates
    MISTAKES    in its own formulas
    FACTORS     a factor in front of the gradients, tried if nothing else gives the numbers

A row says which settings and rules of steps_by_hand.py change, and has the message to the student;
`of_a_kind` makes rows of one kind.
Read steps_by_hand.py first.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from minigrad.teach.difference import Array
from minigrad.teach.steps_by_hand import (
    RULES,
    UPDATES,
    Settings,
    Slip,
    average,
    dampened,
    decayed,
    not_corrected,
)

Changes = Settings | Callable[[Settings], Settings]


def of_a_kind(kind: str, of: str, hint: str, *rows: tuple[str, Changes]) -> list[Slip]:
    """Mistakes of one kind, with one hint: for each, the message to the student, and what changes."""
    return [Slip(kind, of, changes, message, hint) for message, changes in rows]


def _decayed_by(extra: Callable[[Array, Array, float], Array]) -> Settings:
    """weight_decay times something other than p is added to the gradient."""
    return {"decay": lambda p, g, lr, s: (p, g + s["weight_decay"] * extra(p, g, lr))}


def _velocity(formula: Callable[[Array, Array, float, float], Array]) -> Changes:
    """Another formula for the velocity, from v, g, mu and the dampening."""
    rule = {"velocity": lambda v, g, lr, s: formula(v, g, s["momentum"], s["dampening"])}
    return lambda s: rule if s["momentum"] else {}


def _stepped_by(step: Callable[[Array, Array, float], Array], setting: str = "momentum") -> Changes:
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
    damped = {"velocity": lambda v, g, lr, s: average(v, g, s["momentum"])} if s["momentum"] else {}
    first = {"first": lambda g, lr, s: (1 - s["momentum"]) * g}
    return {**damped, **first, "step": lambda v, g, lr, s: lr * v}


def _turned_betas(s: Settings) -> Settings:
    return {name: 1 - np.asarray(s[name]) for name in ("betas", "alpha") if name in s}


def _averaged(average: Callable[..., Any]) -> Settings:
    """Both averages, computed in another way."""
    return {"average": average, "average_v": average}


def _of_the_other(s: Settings) -> Settings:
    b1, b2 = s["betas"]
    return {"average_v": lambda a, g, beta: b2 * a + (1 - b1) * g}


def _corrected(by: Callable[[float, int], float | Array]) -> Settings:
    """Both averages, corrected by another number."""
    return {"correct_m": by, "correct_v": by}


def counted_for_each(sizes: Sequence[int]) -> Slip:
    """The mistake of counting the steps inside of the loop over parameters with so many entries."""
    before = np.repeat(np.arange(len(sizes)), sizes)  # the parameters before the one of an entry
    return Slip(
        "bias_correction",
        ADAMS,
        _corrected(lambda beta, t: 1 - beta ** (len(sizes) * (t - 1) + before + 1)),
        "t was counted up for each parameter instead of once in each step.",
        "Count t up before the loop over the parameters.",
    )


def _each(change: Callable[[Array], Array]) -> Changes:
    """Another gradient in place of each."""
    return lambda s: {"grads": [change(g) for g in s["grads"]]}


def _zeroed_every_second_time(s: Settings) -> Settings:
    grads = s["grads"]
    return {"grads": [g + grads[k - 1] if k % 2 else g for k, g in enumerate(grads)]}


def _with_rates(change: Callable[[list[Any]], list[Any]]) -> Changes:
    """Other learning rates. If there are fewer of them, fewer steps are compared."""

    def changes(s: Settings) -> Settings:
        rates = change(list(s["lr"])) if np.ndim(s.get("lr", 0)) else []
        return {"lr": rates, "grads": s["grads"][: len(rates)]} if rates else {}

    return changes


ALL, ADAMS, VELOCITIES = " ".join(UPDATES), "Adam AdamW", "SGD RMSprop"
AVERAGING = "Adam AdamW RMSprop"
DIVIDED = "Adam AdamW Adagrad RMSprop"  # by the root of an average, or of a sum, of squares
UPHILL = Slip(
    "sign", ALL, _each(np.negative), "The steps go up the gradient, not down.", "Subtract the step."
)
RESTARTED = Slip("step_not_kept", ALL, {},
                 "Each step starts from the initial values, not from those that the previous step left.",
                 "Subtract each step from the current values of the parameters.")  # fmt: skip
FACTORS = [  # tried if nothing else gives the numbers
    Slip("scale", ALL, _each(partial(np.multiply, n)), f"Each gradient is {words} times what it should be.",
         "Look for a factor, such as the number of passes whose gradients were added up.")
    for k in (2, 3, 4, 5, 8, 10) for n, words in ((k, str(k)), (1 / k, f"1/{k}"))
]  # fmt: skip
# Mistakes around any optimizer: in the gradients that it is given, or in lr.
AROUND = [
    *of_a_kind("lr_missing", ALL, "Multiply the step by lr.",
        ("The learning rate is missing: the step has the full length of the gradient.",
         lambda s: {"lr": 1.0} if "lr" in s else {})),
    *of_a_kind("lr_schedule", ALL, "Step the schedule after the optimizer.",
        ("Each step is taken with the learning rate of the next one.", _with_rates(lambda rates: rates[1:]))),
    *of_a_kind("lr_schedule", ALL, "Step the schedule once after each step of the optimizer, including the first.",
        ("From the second step on, the learning rate is that of the previous step.",
         _with_rates(lambda rates: [rates[0], *rates[:-1]]))),
    *of_a_kind("accumulated_twice", ALL, "Each step has its own gradient: call zero_grad() before each backward pass.",
        ("Each step follows the sum of all gradients so far, as if .grad had not been zeroed.",
         lambda s: {"grads": list(np.cumsum(s["grads"], 0))}),
        ("Every second step follows the sum of two gradients, as if .grad was zeroed only every other time.",
         _zeroed_every_second_time)),
    *of_a_kind("gradient_zeroed", ALL, "First zero_grad(), then backward(), then step().",
        ("The gradient of each step is 0, as if zero_grad() had been called between backward() and step().",
         _each(lambda g: 0 * g))),
    *of_a_kind("step_missing", ALL, "Take a step for each gradient, including the first.",
        ("The first step is missing.", lambda s: {"grads": [None, *s["grads"][1:]]})),
    *of_a_kind("gradient_changed", ALL, "The step must get shorter as the gradient gets smaller.",
        ("Each step follows the sign of the gradient, not the gradient itself.", _each(np.sign)),
        ("Each gradient was divided by its norm.", _each(lambda g: g / np.sqrt(np.sum(g * g))))),
    *of_a_kind("gradient_changed", ALL, "This optimizer does not clip the gradients that it is given.",
        ("The gradients were clipped to norm 1.", _each(lambda g: g / max(1.0, np.sqrt(np.sum(g * g))))),
        ("The entries of the gradients were clipped to the range from -1 to 1.", _each(lambda g: np.clip(g, -1, 1)))),
    *of_a_kind("stale_gradient", ALL, "First backward(), then step().",
        ("Each step follows the gradient of the previous step.",
         lambda s: {"grads": [0 * s["grads"][0], *s["grads"][:-1]]}),
        ("Each step follows the gradient of the previous step, and the first step is missing.",
         lambda s: {"grads": [None, *s["grads"][:-1]]}),
        ("From the second step on, each step follows the gradient of the previous step.",
         lambda s: {"grads": [s["grads"][0], *s["grads"][:-1]]})),
    *of_a_kind("stale_gradient", ALL, "Compute the gradient again after each step.",
        ("All steps follow the first gradient.",
         lambda s: {"grads": s["grads"][:1] * len(s["grads"])})),
    UPHILL,
]  # fmt: skip
MISTAKES = [
    *of_a_kind("lr_missing", ADAMS, "AdamW: p = p - lr * wd * p, separately from the step.",
        ("The learning rate is missing in the weight decay: p - wd * p.",
         {"decay": lambda p, g, lr, s: decayed(p, g, 1 if s["decoupled_weight_decay"] else lr, s)})),
    *of_a_kind("lr_missing", "SGD",
        "The decay is part of the gradient, and is multiplied by lr with it: p = p - lr * (g + wd * p).",
        ("The learning rate is missing in the weight decay: p - wd * p.",
         {"decay": lambda p, g, lr, s: (p, g + s["weight_decay"] * p / lr)})),
    *of_a_kind("state_not_kept", ALL, "Keep the state from one step to the next.",
        ("The optimizer's state starts from zero at each step.",
         {"forgets": "velocity m v a mean", "initial_accumulator_value": 0})),
    *of_a_kind("state_not_kept", ADAMS, "Keep the averages and the step number t from one step to the next.",
        ("Each step is taken as if it were the first.", {"forgets": "m v t"})),
    *of_a_kind("state_not_kept", AVERAGING, "Keep the state from one step to the next.",
        ("The velocity, or the average of the gradients, starts from zero at each step.",
         {"forgets": "m velocity"}),
        ("The average of the squares starts from zero at each step.", {"forgets": "v a mean"})),
    *of_a_kind("dampening", "SGD", "Only the first velocity is the whole gradient.",
        ("The dampening is missing: the velocity takes (1 - dampening) * g.", {"dampening": 0})),
    *of_a_kind("dampening", "SGD",
        "As in PyTorch, the first velocity is the whole gradient, and dampening begins with the second.",
        ("The first velocity was dampened as well.", {"first": lambda g, lr, s: dampened(g, s)})),
    *of_a_kind("dampening", "SGD", "v = mu * v + (1 - dampening) * g",
        ("The velocity takes dampening * g instead of (1 - dampening) * g.",
         _velocity(lambda v, g, mu, tau: mu * v + tau * g)),
        ("The old velocity was dampened instead of the gradient.",
         _velocity(lambda v, g, mu, tau: (1 - tau) * mu * v + g))),
    *of_a_kind("momentum_convention", VELOCITIES,
        "PyTorch keeps it outside: v = mu * v + g; p = p - lr * v. The two differ when lr changes.",
        ("The learning rate is inside the velocity, as Sutskever writes it: v = mu * v + lr * g; p = p - v.",
         _sutskevers(lambda s: 1))),
    *of_a_kind("momentum_convention", "SGD",
        "PyTorch keeps it outside: v = mu * v + g; p = p - lr * v. The two differ when lr changes.",
        ("The learning rate is inside the velocity, as Sutskever writes it: v = mu * v + lr * g; p = p - v.",
         _sutskevers(lambda s: 1 - s["dampening"]))),
    *of_a_kind("dampening", "SGD", "Without dampening, the velocity takes the whole gradient at each step.",
        ("The velocity is dampened: it takes (1 - mu) * g from the second step on.",
         _velocity(lambda v, g, mu, tau: average(v, g, mu)))),
    *of_a_kind("momentum_convention", "SGD", "v = mu * v + g:  mu is the part of the old velocity that is kept.",
        ("mu multiplies the gradient instead of the old velocity.", _velocity(lambda v, g, mu, tau: v + mu * g)),
        ("The velocity keeps 1 - mu of the old velocity instead of mu.",
         _velocity(lambda v, g, mu, tau: (1 - mu) * v + g))),
    *of_a_kind("momentum_convention", VELOCITIES,
        "PyTorch's velocity is a sum: v = mu * v + g. (dampening=mu damps as yours does, but from the second step on.)",
        ("Your velocity is a moving average: v = mu * v + (1 - mu) * g.", _averaged_velocity)),
    *of_a_kind("dampening", VELOCITIES, "Without dampening, the velocity takes the whole gradient at each step.",
        ("The velocity is dampened: it takes (1 - mu) * g.", _averaged_velocity)),
    *of_a_kind("momentum_convention", "SGD",
        "mu is a factor of the old velocity. The step is  lr * v,  or  lr * (g + mu * v)  with Nesterov.",
        ("The step follows mu * v: the velocity was multiplied by mu again.",
         _stepped_by(lambda v, g, mu: mu * v))),
    *of_a_kind("nesterov_missing", "SGD", "With Nesterov the step is  g + mu * v.",
        ("The look-ahead is missing: the step follows v alone.", {"nesterov": False}),
        ("The look-ahead starts from v instead of g: the step is  v + mu * v.",
         _stepped_by(lambda v, g, mu: v + mu * v, "nesterov")),
        ("The factor mu of the look-ahead is missing: the step is  g + v.",
         _stepped_by(lambda v, g, mu: g + v, "nesterov")),
        ("In the look-ahead, mu multiplies the gradient instead of the velocity: the step is  mu * g + v.",
         _stepped_by(lambda v, g, mu: mu * g + v, "nesterov"))),
    *of_a_kind("nesterov_not_asked", "SGD", "Without Nesterov the step is  v.",
        ("The step is  g + mu * v,  as with Nesterov, but nesterov=False.", {"nesterov": True})),
    *of_a_kind("bias_correction", ADAMS,
        "Divide m by 1 - beta1**t and v by 1 - beta2**t, with t = 1 at the first step.",
        ("The bias correction is missing: m and v start from zero, and are too small at first.",
         _corrected(not_corrected))),
    *of_a_kind("bias_correction", ADAMS, "Divide m by 1 - beta1**t.",
        ("The bias correction of m is missing.", {"correct_m": not_corrected})),
    *of_a_kind("bias_correction", ADAMS, "Divide v by 1 - beta2**t.",
        ("The bias correction of v is missing.", {"correct_v": not_corrected})),
    *of_a_kind("bias_correction", ADAMS, "t is 1 at the first step, 2 at the second, and so on.",
        ("The steps are not counted: each one is corrected like the first.", {"forgets": "t"}),
        ("The steps are counted from 2 instead of 1.", _corrected(lambda beta, t: 1 - beta ** (t + 1)))),
    *of_a_kind("bias_correction", ADAMS, "t is 1 at the first step: count it up before the averages are corrected.",
        ("The steps are counted from 0: the first correction divides by 1 - beta**0, which is 0.",
         _corrected(lambda beta, t: 1 - beta ** (t - 1)))),
    *of_a_kind("bias_correction", ADAMS, "t is 1 at the first step, 2 at the second, and so on.",
        ("t is 1 at the second step, too: it was counted up after the first step only.",
         _corrected(lambda beta, t: 1 - beta ** max(t - 1, 1)))),
    *of_a_kind("bias_correction", ADAMS, "beta is raised to the power t: 1 - beta**t.",
        ("The bias correction divides by 1 - beta * t.", _corrected(lambda beta, t: 1 - beta * t))),
    *of_a_kind("bias_correction", ADAMS, "Only beta is raised to the power t: 1 - beta**t.",
        ("The bias correction divides by (1 - beta)**t.", _corrected(lambda beta, t: (1 - beta) ** t))),
    *of_a_kind("bias_correction", ADAMS, "v_hat is  v / (1 - beta2**t),  and the step is divided by the root of v_hat.",
        ("v was divided by the root of 1 - beta2**t.", {"correct_v": lambda beta, t: np.sqrt(1 - beta**t)})),
    *of_a_kind("bias_correction", ADAMS, "They are too small at first: divide by 1 - beta**t.",
        ("The averages are multiplied by the bias correction.", _corrected(lambda beta, t: 1 / (1 - beta**t)))),
    *of_a_kind("bias_correction", ADAMS, "Divide m by 1 - beta1**t and v by 1 - beta2**t.",
        ("The bias corrections are swapped.",
         lambda s: {"correct_m": lambda beta, t: 1 - s["betas"][1] ** t,
                    "correct_v": lambda beta, t: 1 - s["betas"][0] ** t})),
    *of_a_kind("bias_correction", ADAMS, "Keep m and v uncorrected; m_hat and v_hat are for this step only.",
        ("The corrected averages were kept for the next step, and corrected again there.",
         {"keeps": lambda m, c: m / c})),
    *of_a_kind("initial_value", AVERAGING,
        "At the first step the old value is 0: the average is 1 - beta times the new value.",
        ("The averages start from the first gradient and its square instead of 0.",
         {"start": lambda new: new})),
    *of_a_kind("initial_value", "RMSprop", "At the first step the old value is 0.",
        ("The average of the squares starts from 1 instead of 0.", {"start": lambda new: 1.0})),
    *of_a_kind("stale_value", DIVIDED,
        "First add the square of the new gradient, then divide by the root.",
        ("The step is divided by the root as it was before this step's gradient was added.",
         {"seen": lambda before, now: before})),
    *of_a_kind("bias_correction", "RMSprop", "Divide by the root of the uncorrected average, even in the first steps.",
        ("The average of the squares was corrected as in Adam. RMSprop does not correct it.",
         {"correct_v": RULES["correct_v"]})),
    *of_a_kind("eps_inside_sqrt", DIVIDED, "It is added to the root: sqrt(v) + eps.",
        ("eps is inside the square root.", {"divisor": lambda v, c, eps: np.sqrt(v / c + eps)})),
    *of_a_kind("eps_inside_sqrt", ADAMS, "It is added to the root of the corrected average: sqrt(v_hat) + eps.",
        ("eps is inside the square root, before the bias correction.",
         {"divisor": lambda v, c, eps: np.sqrt(v + eps) / np.sqrt(c)})),
    *of_a_kind("eps_place", ADAMS, "It is added to the root of the corrected average: sqrt(v_hat) + eps.",
        ("eps is added before the bias correction, and corrected with v.",
         {"divisor": lambda v, c, eps: (np.sqrt(v) + eps) / np.sqrt(c)})),
    *of_a_kind("eps_missing", DIVIDED, "It is added to the root: sqrt(v) + eps.",
        ("eps is missing in the denominator.", {"eps": 0.0})),
    *of_a_kind("root_missing", DIVIDED, "Divide by  sqrt(v) + eps.",
        ("The square root is missing: the step is divided by the average of the squares.",
         {"divisor": lambda v, c, eps: v / c + eps}),
        ("The step is not divided at all.", {"divisor": lambda v, c, eps: 1.0})),
    *of_a_kind("square_missing", DIVIDED, "Square the gradient first.",
        ("The second average is of abs(g) instead of g**2.", {"square": lambda g, m: np.abs(g)}),
        ("The square is missing: v averages g instead of g**2.", {"square": lambda g, m: g})),
    *of_a_kind("square_missing", ADAMS, "v averages the squares of the gradients themselves.",
        ("v averages m**2 instead of g**2.", {"square": lambda g, m: m * m})),
    *of_a_kind("amsgrad_missing", ADAMS,
        "With amsgrad=True, keep the largest v so far, entry by entry, and divide by its root.",
        ("The step is divided by the root of v itself, not of the largest v so far.", {"amsgrad": False})),
    *of_a_kind("amsgrad_missing", ADAMS, "Keep the largest uncorrected v, and divide it by 1 - beta2**t afterward.",
        ("The largest v was taken over the corrected averages.", {"largest_of": lambda c: c})),
    *of_a_kind("amsgrad_not_asked", ADAMS, "Divide by the root of v_hat.",
        ("The step is divided by the root of the largest v so far, but amsgrad=False.", {"amsgrad": True}),
        ("The step is divided by the root of the largest v_hat so far, but amsgrad=False.",
         {"amsgrad": True, "largest_of": lambda c: c})),
    *of_a_kind("weight_decay_factor", ALL, "weight_decay * p  is added, the derivative of  weight_decay / 2 * p**2.",
        ("The weight decay is twice what it should be.", lambda s: {"weight_decay": 2 * s["weight_decay"]}),
        ("The weight decay is half of what it should be.", lambda s: {"weight_decay": s["weight_decay"] / 2})),
    *of_a_kind("weight_decay_sign", ALL, "It is added to the gradient: g + weight_decay * p.",
        ("Weight decay has the wrong sign: it pushes away from zero.",
         lambda s: {"weight_decay": -s["weight_decay"]})),
    *of_a_kind("decoupled_weight_decay", ALL,
        "Adam: g = g + wd * p, before m and v. AdamW: p = p - lr * wd * p, separately from the step.",
        ("The weight decay is in the wrong place: Adam adds it to the gradient, AdamW subtracts it from the parameter.",
         lambda s: {"decoupled_weight_decay": not s["decoupled_weight_decay"]}),
        ("The weight decay is applied twice: it is added to the gradient, and subtracted from the parameter.",
         {"decay": lambda p, g, lr, s: (p - lr * s["weight_decay"] * p, g + s["weight_decay"] * p)})),
    *of_a_kind("decoupled_weight_decay", ALL,
        "Decay comes first: g = g + wd * p, or p = p - lr * wd * p in AdamW, with p as it was before the step.",
        ("The decay is subtracted after the step, from the new parameter.",
         {"decay": lambda p, g, lr, s: (p, g), "after": lambda p, lr, s: p - lr * s["weight_decay"] * p})),
    *of_a_kind("weight_decay_factor", "SGD",
        "p = p - lr * (g + wd * p):  it is a part of the gradient, and is multiplied by lr once, with it.",
        ("The weight decay is multiplied by lr twice.", _decayed_by(lambda p, g, lr: lr * p))),
    *of_a_kind("weight_decay_missing", ALL, "Check the settings: weight_decay is not 0.",
        ("The weight decay is missing.", {"weight_decay": 0})),
    *of_a_kind("weight_decay_place", ALL, "weight_decay * p  is added, the derivative of  weight_decay / 2 * p**2.",
        ("The weight decay is the derivative of abs(p): wd * sign(p).", _decayed_by(lambda p, g, lr: np.sign(p)))),
    *of_a_kind("weight_decay_place", ALL, "weight_decay * p  is added: the parameter decays, not the gradient.",
        ("The weight decay multiplies the gradient: g + wd * g.", _decayed_by(lambda p, g, lr: g))),
    *of_a_kind("wrong_beta", ADAMS, "The first beta is for m, the second for v.",
        ("The two betas are swapped.", lambda s: {"betas": s["betas"][::-1]}),
        ("The first beta was used for both averages.", lambda s: {"betas": s["betas"][:1] * 2})),
    *of_a_kind("wrong_beta", ADAMS,
        "An average takes beta of the old value, and 1 - beta of the new one, with the same beta.",
        ("v takes 1 - beta1 of the square, and keeps beta2 of the old value.", _of_the_other)),
    *of_a_kind("wrong_beta", AVERAGING, "beta is the part of the old value that is kept.",
        ("beta and 1 - beta are swapped: the averages keep 1 - beta of the old value.", _turned_betas)),
    *of_a_kind("wrong_beta", AVERAGING,
        "An average takes beta of the old value, and 1 - beta of the new one.",
        ("The factor 1 - beta before the gradient is missing.", {"average": lambda a, g, beta: beta * a + g})),
    *of_a_kind("wrong_beta", ADAMS, "beta is the part of the old value that is kept.",
        ("beta and 1 - beta are swapped: the averages keep 1 - beta of the old value.",
         _averaged(lambda a, g, beta: (1 - beta) * a + beta * g))),
    *of_a_kind("wrong_beta", ADAMS, "An average takes beta of the old value, and 1 - beta of the new one.",
        ("The factor 1 - beta2 before the square of the gradient is missing.",
         {"average_v": lambda a, g, beta: beta * a + g})),
    *of_a_kind("state_not_kept", ADAMS, "The step is  lr * m_hat / (sqrt(v_hat) + eps).",
        ("The step follows the gradient g itself, not its average m.",
         {"average": lambda a, g, beta: g, "correct_m": not_corrected})),
    *of_a_kind("wrong_beta", ADAMS, "An average takes beta of the old value, and 1 - beta of the new one.",
        ("The factor 1 - beta before the gradient, and before its square, is missing.",
         _averaged(lambda a, g, beta: beta * a + g))),
    *of_a_kind("wrong_beta", "RMSprop", "RMSprop averages them:  a = alpha * a + (1 - alpha) * g**2.",
        ("The squares are added up, as in Adagrad.", _averaged(lambda a, g, beta: a + g))),
    *of_a_kind("wrong_beta", AVERAGING, "Use the settings that are given.",
        ("The averages use the default betas (or alpha), not the given ones.",
         {"betas": (0.9, 0.999), "alpha": 0.99})),
    *of_a_kind("centering_missing", "RMSprop",
        "With centered=True the denominator is the root of a variance: a - mean**2.",
        ("The square of the mean gradient was not subtracted.", {"centered": False})),
    *of_a_kind("centering_not_asked", "RMSprop",
        "Without centered=True the denominator is the root of the average of the squares.",
        ("The square of the mean gradient was subtracted, but centered=False.", {"centered": True})),
    *of_a_kind("centering_not_asked", ADAMS, "v averages the squares of the gradients themselves.",
        ("v averages (g - m)**2, as AdaBelief does.", {"square": lambda g, m: (g - m) ** 2})),
    *of_a_kind("lr_decay_missing", "Adagrad", "Adagrad divides lr by  1 + (t - 1) * lr_decay.",
        ("The learning rate does not decay.", {"lr_decay": 0})),
    *of_a_kind("lr_decay_missing", "Adagrad",
        "Adagrad divides lr by  1 + (t - 1) * lr_decay:  the first step has the full rate.",
        ("The learning rate decays one step too early.", {"first_step": 0})),
    *of_a_kind("initial_value_missing", "Adagrad", "Start the sum from initial_accumulator_value.",
        ("The sum of the squares starts from zero.", {"initial_accumulator_value": 0})),
]  # fmt: skip
