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
    several = isinstance(lr, Sequence) or np.ndim(getattr(lr, "array", lr)) > 0
    rates = [float(r) for r in lr] if several else [float(lr)] * n
    if len(rates) != n:
        raise ValueError(f"compare_update: there are {len(rates)} learning rates for {n} steps.")
    return rates


def decayed(p: Any, g: Any, lr: float, decay: float, wrong: str) -> tuple[Any, Any]:
    """Weight decay, which is added to the gradient; or what else is done with it."""
    if wrong == "weight_decay_missing":
        return p, g
    if wrong == "decoupled_weight_decay":
        return p - lr * decay * p, g
    return p, g + (-decay if wrong == "weight_decay_sign" else decay) * p


def sgd(p: Any, grads: Sequence[Any], s: Mapping[str, Any], wrong: str = "") -> Steps:
    """v = mu * v + (1 - tau) * g;  p = p - lr * v"""
    mu, tau = s.get("momentum", 0), s.get("dampening", 0)
    decay, nesterov = s.get("weight_decay", 0), s.get("nesterov", False)
    sign = -1 if s.get("maximize", False) else 1
    v, after = None, []
    for lr, g in zip(rates_of(s.get("lr", 1e-3), len(grads), wrong), grads, strict=True):
        g = sign * g
        p, g = decayed(p, g, lr, decay, wrong)
        if wrong in ("momentum_convention", "momentum_convention_damped"):
            damped = lr * ((1 - tau) * g if wrong == "momentum_convention_damped" else g)
            v = lr * g if v is None else mu * v + damped
            p = p - (mu * v + lr * g if nesterov else v)
        elif wrong == "momentum_average":
            v = (1 - mu) * g if v is None else mu * v + (1 - mu) * g
            p = p - lr * v
        elif wrong == "dampening_added":
            v = g if v is None else mu * v + (1 - mu) * g
            p = p - lr * (g + mu * v if nesterov else v)
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
    (b1, b2), eps = betas_of(s, wrong), s.get("eps", 1e-8)
    decay, decoupled = s.get("weight_decay", 0), s.get("decoupled_weight_decay", False)
    sign = -1 if s.get("maximize", False) else 1
    m = v = greatest = np.zeros_like(p)
    after = []
    for t, (lr, g) in enumerate(
        zip(rates_of(s.get("lr", 1e-3), len(grads), wrong), grads, strict=True), 1
    ):
        g = sign * g
        signed = -decay if wrong == "weight_decay_sign" else decay
        late = wrong == "decay_after_the_step" and decoupled
        if late or wrong == "weight_decay_missing":
            pass
        elif decoupled != (wrong == "decoupled_weight_decay"):
            p = p - (1 if wrong == "decay_without_lr" else lr) * signed * p
        else:
            g = g + signed * p
        if wrong in ("state_not_kept", "state_and_t_not_kept", "m_not_kept"):
            m = np.zeros_like(p)
        if wrong in ("state_not_kept", "state_and_t_not_kept", "v_not_kept"):
            v = np.zeros_like(p)
        m = b1 * m + (1 if wrong == "sum_for_average" else 1 - b1) * g
        v = b2 * v + (1 - b2) * (g if wrong == "not_squared" else g * g)
        greatest = np.maximum(greatest, v)
        t = 1 if wrong in ("bias_correction_at_1", "state_and_t_not_kept") else t
        t = t + 1 if wrong == "bias_correction_late" else t
        c1, c2 = 1 - b1**t, 1 - b2**t
        if wrong in ("bias_correction", "bias_correction_of_m"):
            c1 = 1.0
        if wrong in ("bias_correction", "bias_correction_of_v"):
            c2 = 1.0
        v_hat = (greatest if s.get("amsgrad", False) else v) / c2
        if wrong == "eps_inside_sqrt":
            divisor = np.sqrt(v_hat + eps)
        elif wrong == "eps_inside_sqrt_early":
            divisor = np.sqrt(v_hat * c2 + eps) / np.sqrt(c2)
        else:
            divisor = np.sqrt(v_hat) + eps
        p = p - lr * (m / c1) / divisor
        if late:
            p = p - lr * decay * p
        after.append(p)
    return after


def betas_of(s: Mapping[str, Any], wrong: str = "") -> tuple[float, float]:
    """The two betas, exchanged, or taken as they are by default."""
    b1, b2 = s.get("betas", (0.9, 0.999))
    if wrong == "betas_swapped":
        return b2, b1
    if wrong == "betas_by_default":
        return 0.9, 0.999
    if wrong == "one_beta":
        return b1, b1
    return (1 - b1, 1 - b2) if wrong == "betas_turned" else (b1, b2)


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
        p, g = decayed(p, sign * g, lr, decay, wrong)
        a = g * g if wrong == "state_not_kept" else a + g * g
        rate = lr if wrong == "lr_decay_missing" else lr / (1 + t * slower)
        root = np.sqrt(a + eps) if wrong == "eps_inside_sqrt" else np.sqrt(a) + eps
        p = p - rate * g / root
        after.append(p)
    return after


def rmsprop(p: Any, grads: Sequence[Any], s: Mapping[str, Any], wrong: str = "") -> Steps:
    """a = alpha * a + (1 - alpha) * g**2;  p = p - lr * g / (sqrt(a) + eps)"""
    alpha, eps = s.get("alpha", 0.99), s.get("eps", 1e-8)
    alpha = 1 - alpha if wrong == "betas_turned" else 0.99 if wrong == "betas_by_default" else alpha
    decay, mu, centered = s.get("weight_decay", 0), s.get("momentum", 0), s.get("centered", False)
    sign = -1 if s.get("maximize", False) else 1
    a = mean = b = np.zeros_like(p)
    after = []
    for lr, g in zip(rates_of(s.get("lr", 1e-2), len(grads), wrong), grads, strict=True):
        p, g = decayed(p, sign * g, lr, decay, wrong)
        if wrong == "state_not_kept":
            a = mean = b = np.zeros_like(p)
        if wrong == "v_not_kept":
            a = mean = np.zeros_like(p)
        if wrong == "m_not_kept":
            b = np.zeros_like(p)
        a = alpha * a + (1 if wrong == "sum_for_average" else 1 - alpha) * g * g
        mean = alpha * mean + (1 - alpha) * g
        spread = a - mean * mean if centered and wrong != "not_centered" else a
        root = np.sqrt(spread + eps) if wrong == "eps_inside_sqrt" else np.sqrt(spread) + eps
        if wrong == "momentum_average":
            b = mu * b + (1 - mu) * g / root
            p = p - lr * b
        elif wrong == "momentum_convention" and mu:
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
    return adam(p, grads, {"weight_decay": 1e-2, **s, "decoupled_weight_decay": True}, wrong)


UPDATES: dict[str, Callable[..., Steps]] = {
    "SGD": sgd, "Adam": adam, "AdamW": adamw, "Adagrad": adagrad, "RMSprop": rmsprop,
}  # fmt: skip


# ------------------------------------------------------------------ the mistakes


MISTAKES: list[tuple[str, str, str, str]] = [
    ("lr_missing", "lr_missing", "The learning rate is missing: the step is taken with its full length.",
     "Multiply the step by lr."),
    ("decay_without_lr", "lr_missing", "The learning rate is missing in the weight decay: p - wd * p.",
     "AdamW: p = p - lr * wd * p, beside the step."),
    ("state_not_kept", "state_not_kept", "What the optimizer remembers starts from zero at each step.",
     "Keep the state from one step to the next."),
    ("state_and_t_not_kept", "state_not_kept", "Each step is taken as if it were the first.",
     "Keep the averages, and the number t of the step, from one step to the next."),
    ("m_not_kept", "state_not_kept", "The velocity, or the average of the gradients, starts from zero at each step.",
     "Keep the state from one step to the next."),
    ("v_not_kept", "state_not_kept", "The average of the squares starts from zero at each step.",
     "Keep the state from one step to the next."),
    ("dampening", "dampening", "The dampening is missing: the velocity takes (1 - dampening) * g.",
     "Only the first velocity is the whole gradient."),
    ("dampening_first", "dampening", "The first velocity was dampened as well.",
     "As in PyTorch, the first velocity is the whole gradient, and dampening begins with the second."),
    ("momentum_convention", "momentum_convention",
     "The learning rate is inside the velocity, as Sutskever writes it: v = mu * v + lr * g; p = p - v.",
     "PyTorch keeps it outside: v = mu * v + g; p = p - lr * v. The two part when lr changes."),
    ("momentum_convention_damped", "momentum_convention",
     "The learning rate is inside the velocity, as Sutskever writes it: v = mu * v + lr * g; p = p - v.",
     "PyTorch keeps it outside: v = mu * v + g; p = p - lr * v. The two part when lr changes."),
    ("dampening_added", "dampening", "The velocity is dampened: it takes (1 - mu) * g from the second step on.",
     "Without dampening, the velocity takes the whole gradient at each step."),
    ("momentum_average", "momentum_convention",
     "The velocity is a moving average here: v = mu * v + (1 - mu) * g.",
     "PyTorch's velocity is a sum: v = mu * v + g. (dampening=mu damps as yours does, but from the second step on.)"),
    ("momentum_average", "dampening", "The velocity is dampened: it takes (1 - mu) * g.",
     "Without dampening, the velocity takes the whole gradient at each step."),
    ("nesterov_missing", "nesterov_missing", "The look ahead is missing: the step was taken along v.",
     "With Nesterov the step is  g + mu * v."),
    ("bias_correction", "bias_correction",
     "The bias correction is missing: m and v start from zero, and are too small at first.",
     "Divide m by 1 - beta1**t and v by 1 - beta2**t, with t = 1 at the first step."),
    ("bias_correction_of_m", "bias_correction", "The bias correction of m is missing.", "Divide m by 1 - beta1**t."),
    ("bias_correction_of_v", "bias_correction", "The bias correction of v is missing.", "Divide v by 1 - beta2**t."),
    ("bias_correction_at_1", "bias_correction", "The steps are not counted: each is corrected as the first is.",
     "t is 1 at the first step, 2 at the second, and so on."),
    ("bias_correction_late", "bias_correction", "The steps are counted from 2 instead of 1.",
     "t is 1 at the first step, 2 at the second, and so on."),
    ("eps_inside_sqrt", "eps_inside_sqrt", "eps stands inside the square root.",
     "It is added to the root: sqrt(v) + eps."),
    ("eps_inside_sqrt_early", "eps_inside_sqrt", "eps stands inside the square root, before the bias correction.",
     "It is added to the root of the corrected average: sqrt(v_hat) + eps."),
    ("weight_decay_sign", "weight_decay_sign", "Weight decay has the wrong sign: it pushes away from zero.",
     "It is added to the gradient: g + weight_decay * p."),
    ("decoupled_weight_decay", "decoupled_weight_decay",
     "Weight decay was taken the other way: Adam adds it to the gradient, AdamW takes it off the parameter directly.",
     "Adam: g = g + wd * p, before m and v. AdamW: p = p - lr * wd * p, beside the step."),
    ("decay_after_the_step", "decoupled_weight_decay", "The decay is taken off after the step, from the new parameter.",
     "AdamW first takes  lr * wd * p  off the parameter as it was before the step."),
    ("weight_decay_missing", "weight_decay_missing", "There is no weight decay in these steps.",
     "Look at the settings: weight_decay is not 0."),
    ("betas_swapped", "wrong_beta", "The two betas are exchanged.", "The first belongs to m, the second to v."),
    ("one_beta", "wrong_beta", "The first beta was used for both averages.",
     "The first belongs to m, the second to v."),
    ("betas_turned", "wrong_beta", "The averages keep 1 - beta of the old value, and take beta of the new one.",
     "beta says how much is kept."),
    ("sum_for_average", "wrong_beta", "The factor 1 - beta before the gradient is missing.",
     "An average takes beta of the old value, and 1 - beta of the new one."),
    ("betas_by_default", "wrong_beta", "The averages keep as much as they do by default, not as the settings say.",
     "Look at the settings."),
    ("not_centered", "centering_missing", "The square of the mean gradient was not subtracted.",
     "With centered=True the divisor is the root of a variance: a - mean**2."),
    ("lr_decay_missing", "lr_decay_missing", "The learning rate does not become smaller.",
     "Adagrad divides lr by  1 + (t - 1) * lr_decay."),
]  # fmt: skip
