"""compare_update: an optimizer's steps derived by hand, and the mistake in them."""

import numpy as np
import pytest

from minigrad import no_grad, optim, tensor, zeros_like
from minigrad.teach import compare_update
from minigrad.teach.mistakes_of_steps import AROUND as AROUND_AN_OPTIMIZER
from minigrad.teach.mistakes_of_steps import MISTAKES
from minigrad.teach.steps_by_hand import by_hand as steps_by_hand
from minigrad.teach.updates import run_optimizer

SETTINGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": [0.1, 0.1, 0.02, 0.02], "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.1, "eps": 1e-3}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "eps": 1e-3}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "eps": 1e-3}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.9, "centered": True, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "betas": (0.9, 0.5), "eps": 1e-3}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3}),
]
LR, STATE = "lr_missing", "state_not_kept"
DIVISOR = {"stale_value", "eps_inside_sqrt", "eps_missing", "root_missing", "square_missing"}
DECAY = {
    "weight_decay_sign",
    "weight_decay_missing",
    "weight_decay_factor",
    "weight_decay_place",
    "decoupled_weight_decay",
}
AROUND = {
    "accumulated_twice",
    "stale_gradient",
    "sign",
    "gradient_zeroed",
    "gradient_changed",
    "step_missing",
}
MOMENTUM = {LR, STATE, "momentum_convention", "dampening"}
ADAM = {
    LR,
    STATE,
    *DIVISOR,
    "eps_place",
    "bias_correction",
    "wrong_beta",
    "initial_value",
    "centering_not_asked",
}
WRONG = {
    ("SGD", 0): {LR},
    ("SGD", 1): MOMENTUM | {"nesterov_not_asked"},
    ("SGD", 2): MOMENTUM | {"nesterov_not_asked"},
    ("SGD", 3): MOMENTUM | DECAY | {"nesterov_not_asked", "lr_schedule"},
    ("SGD", 4): MOMENTUM | {"nesterov_missing"},
    ("Adam", 5): ADAM | {"amsgrad_not_asked"},
    ("Adam", 6): ADAM | DECAY | {"amsgrad_not_asked"},
    ("AdamW", 7): ADAM | DECAY | {"amsgrad_not_asked"},
    ("Adagrad", 8): {LR, STATE, *DIVISOR, "lr_decay_missing"} | DECAY,
    ("RMSprop", 9): {
        LR,
        STATE,
        *DIVISOR,
        "momentum_convention",
        "wrong_beta",
        "centering_missing",
        "bias_correction",
        "initial_value",
    },
    ("RMSprop", 10): {
        LR,
        STATE,
        *DIVISOR,
        "wrong_beta",
        "centering_not_asked",
        "bias_correction",
        "initial_value",
    }
    | DECAY,
    ("Adam", 11): ADAM - {"stale_value"} | {"amsgrad_missing"},
    ("Adagrad", 12): {LR, STATE, *DIVISOR, "initial_value_missing"},
}


def slip(kind):
    """The first mistake of a kind."""
    return next(one for one in MISTAKES if one.kind == kind)


def data(steps=4):
    rng = np.random.default_rng(7)
    return rng.normal(size=5), [rng.normal(size=5) for _ in range(steps)]


@pytest.mark.parametrize("name, settings", SETTINGS)
def test_the_written_out_updates_are_the_optimizers(name, settings):
    start, grads = data()

    ours = steps_by_hand(name, start, grads, settings)

    np.testing.assert_allclose(ours, run_optimizer(getattr(optim, name), settings, start, grads))


@pytest.mark.parametrize("k", range(len(SETTINGS)))
def test_each_mistake_is_found_where_it_can_be_made(k):
    name, settings = SETTINGS[k]
    start, grads = data()
    found = set()

    for wrong in [slip for slip in (*AROUND_AN_OPTIMIZER, *MISTAKES) if name in slip.of.split()]:
        yours = steps_by_hand(name, start, grads, settings, wrong)
        yours += yours[-1:] * (len(grads) - len(yours))  # where the last learning rate is not known
        report = compare_update(
            getattr(optim, name), settings, params=start, grads=grads, yours=yours
        )
        if not report.ok:
            assert wrong.kind in (report.diagnosis.kind, *report.diagnosis.also), wrong
            found.add(report.diagnosis.kind)

    assert found == WRONG[name, k] | AROUND


@pytest.mark.parametrize("name, settings", SETTINGS)
def test_right_steps_have_no_diagnosis(name, settings):
    start, grads = data()
    yours = run_optimizer(getattr(optim, name), settings, start, grads)

    report = compare_update(getattr(optim, name), settings, params=start, grads=grads, yours=yours)

    assert report.ok and report.diagnosis is None and report.parts_at is None


@pytest.mark.parametrize("name, settings", SETTINGS)
def test_steps_that_are_wrong_in_no_known_way_have_no_diagnosis(name, settings):
    start, grads = data()
    yours = [p + 0.1 for p in run_optimizer(getattr(optim, name), settings, start, grads)]

    report = compare_update(getattr(optim, name), settings, params=start, grads=grads, yours=yours)

    assert not report.ok and report.diagnosis is None


def test_the_report_says_at_which_step_the_two_part():
    start, grads = data()
    settings = {"lr": 0.1, "momentum": 0.9}
    yours = steps_by_hand("SGD", start, grads, settings, slip("state_not_kept"))

    report = compare_update(optim.SGD, settings, params=start, grads=grads, yours=yours)

    assert report.parts_at == 2
    assert "they differ from step 2 on" in str(report)
    assert "starts from zero at each step" in str(report)


def test_sutskevers_momentum_parts_only_when_the_learning_rate_changes():
    start, grads = data()
    same = {"lr": 0.1, "momentum": 0.9}
    lowered = {"lr": [0.1, 0.1, 0.01, 0.01], "momentum": 0.9}

    yours = steps_by_hand("SGD", start, grads, same, slip("momentum_convention"))
    assert compare_update(optim.SGD, same, params=start, grads=grads, yours=yours).ok

    yours = steps_by_hand("SGD", start, grads, lowered, slip("momentum_convention"))
    report = compare_update(optim.SGD, lowered, params=start, grads=grads, yours=yours)
    assert report.parts_at == 3
    assert report.diagnosis.kind == "momentum_convention"


def test_going_up_the_gradient_is_named():
    report = compare_update(
        optim.SGD, {"lr": 0.1}, params=[1.0], grads=[[2.0], [3.0]], yours=[[1.2], [1.5]]
    )

    assert report.diagnosis.kind == "sign"


def test_a_wrong_shape_is_a_row():
    report = compare_update(
        optim.SGD, {"lr": 0.1}, params=[1.0, 2.0], grads=[[1.0, 1.0]], yours=[[1.0]]
    )

    assert report.rows[0].verdict == "wrong shape" and report.diagnosis is None


def test_as_many_results_as_gradients_are_needed():
    with pytest.raises(ValueError, match="2 gradients and 1 results"):
        compare_update(optim.SGD, {"lr": 0.1}, params=[1.0], grads=[[1.0], [1.0]], yours=[[1.0]])


# ------------------------------------------------------------------ as students write it


def by_hand(step, p, grads, rates):
    """Run a student's loop: step(p, g, lr, t, state) -> p, with a state that it may keep."""
    state, after = {}, []
    for t, (g, lr) in enumerate(zip(grads, rates, strict=True), 1):
        p = step(p, g, lr, t, state)
        after.append(p)
    return after


def momentum(p, g, lr, t, s):
    s["v"] = 0.9 * s.get("v", 0) + g
    return p - lr * s["v"]


def sutskever(p, g, lr, t, s):
    s["v"] = 0.9 * s.get("v", 0) - lr * g
    return p + s["v"]


def averaged(p, g, lr, t, s):
    s["v"] = 0.9 * s.get("v", 0) + 0.1 * g
    return p - lr * s["v"]


def averaged_from_the_second(p, g, lr, t, s):
    s["v"] = g if t == 1 else 0.9 * s["v"] + 0.1 * g
    return p - lr * s["v"]


def dampened_at_once(p, g, lr, t, s):
    s["v"] = 0.9 * s.get("v", 0) + 0.6 * g
    return p - lr * s["v"]


def plain(p, g, lr, t, s):
    return p - lr * g


def upwards(p, g, lr, t, s):
    s["v"] = 0.9 * s.get("v", 0) + g
    return p + lr * s["v"]


def without_lr(p, g, lr, t, s):
    s["v"] = 0.9 * s.get("v", 0) + g
    return p - s["v"]


def decay_away(p, g, lr, t, s):
    return p - lr * (g - 0.2 * p)


def adam_step(corrected="mv", inside=False, decay=0.0, decoupled=0.0, b1=0.9, b2=0.999, keep=True):
    def step(p, g, lr, t, s):
        if decoupled:
            p = p - lr * decoupled * p
        g = g + decay * p
        if not keep:
            s.clear()
        s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
        s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
        m = s["m"] / (1 - b1**t) if "m" in corrected else s["m"]
        v = s["v"] / (1 - b2**t) if "v" in corrected else s["v"]
        eps = 1e-2
        return p - lr * m / (np.sqrt(v + eps) if inside else np.sqrt(v) + eps)

    return step


def rms_step(inside=False, keep=True, mu=0.0, lr_inside=False, centered=False, corrected=False):
    def step(p, g, lr, t, s):
        if not keep:
            s.clear()
        s["a"] = 0.9 * s.get("a", 0) + 0.1 * g * g
        s["mean"] = 0.9 * s.get("mean", 0) + 0.1 * g
        a = s["a"] - s["mean"] ** 2 if centered else s["a"]
        a = a / (1 - 0.9**t) if corrected else a
        d = g / (np.sqrt(a + 1e-2) if inside else np.sqrt(a) + 1e-2)
        if lr_inside:
            s["b"] = mu * s.get("b", 0) + lr * d
            return p - s["b"]
        s["b"] = mu * s.get("b", 0) + d
        return p - lr * s["b"]

    return step


def adagrad_step(inside=False, keep=True):
    def step(p, g, lr, t, s):
        s["a"] = (s.get("a", 0) if keep else 0) + g**2
        return p - lr * g / (np.sqrt(s["a"] + 1e-2) if inside else np.sqrt(s["a"]) + 1e-2)

    return step


def adam_of_sums(p, g, lr, t, s):
    s["m"] = 0.9 * s.get("m", 0) + g
    s["v"] = 0.999 * s.get("v", 0) + g**2
    return p - lr * s["m"] / (1 - 0.9**t) / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-2)


def without_a_root(p, g, lr, t, s):
    s["a"] = 0.9 * s.get("a", 0) + 0.1 * g * g
    return p - lr * g / (s["a"] + 1e-2)


def of_the_sum(step):
    def summed(p, g, lr, t, s):
        s["sum"] = s.get("sum", 0) + g
        return step(p, s["sum"], lr, t, s)

    return summed


def one_late(step):
    def late(p, g, lr, t, s):
        before, s["g"] = s.get("g", 0 * g), g
        return step(p, before, lr, t, s)

    return late


def looks_ahead(p, g, lr, t, s):
    s["v"] = 0.9 * s.get("v", 0) + g
    return p - lr * (g + 0.9 * s["v"])


def corrected_in_place(p, g, lr, t, s):
    s["m"] = (0.9 * s.get("m", 0) + 0.1 * g) / (1 - 0.9**t)
    s["v"] = (0.999 * s.get("v", 0) + 0.001 * g**2) / (1 - 0.999**t)
    return p - lr * s["m"] / (np.sqrt(s["v"]) + 1e-2)


def counted_from_zero(p, g, lr, t, s):
    with np.errstate(all="ignore"):
        return adam_step()(p, g, lr, t - 1, s)


def adam_with(rule):
    """Adam, with the formula of v, or of v_hat, as rule(v, g, m, v_hat, t, s) says."""

    def step(p, g, lr, t, s):
        s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
        before, s["v"] = s.get("v", 0), 0.999 * s.get("v", 0) + 0.001 * g**2
        v_hat = rule(before, g, s["m"], s["v"] / (1 - 0.999**t), t, s)
        return p - lr * s["m"] / (1 - 0.9**t) / (np.sqrt(v_hat) + 1e-2)

    return step


def with_the_first_beta(before, g, m, v_hat, t, s):
    s["v"] = 0.999 * before + 0.1 * g**2
    return s["v"] / (1 - 0.999**t)


def believing(before, g, m, v_hat, t, s):
    s["v"] = 0.999 * before + 0.001 * (g - m) ** 2
    return s["v"] / (1 - 0.999**t)


def from_the_first_gradient(before, g, m, v_hat, t, s):
    if t == 1:
        s["m"], s["v"] = g, g**2
    return s["v"] / (1 - 0.999**t)


def largest_corrected(before, g, m, v_hat, t, s):
    s["top"] = np.maximum(s.get("top", 0), v_hat)
    return s["top"]


def zeroed_every_second_time(p, g, lr, t, s):
    s["g"] = g if t % 2 else s["g"] + g
    return p - lr * s["g"]


def decayed_twice(p, g, lr, t, s):
    return adam_step(decoupled=0.3)(p, g + 0.3 * p, lr, t, s)


def looks_ahead_with_g(p, g, lr, t, s):
    s["v"] = 0.9 * s.get("v", 0) + g
    return p - lr * (0.9 * g + s["v"])


def rms_from(first):
    def step(p, g, lr, t, s):
        s["a"] = 0.9 * s.get("a", first(g)) + 0.1 * g * g
        return p - lr * g / (np.sqrt(s["a"]) + 1e-2)

    return step


def with_the_old_average(p, g, lr, t, s):
    before, s["a"] = s.get("a", 0 * g), 0.9 * s.get("a", 0) + 0.1 * g * g
    return p - lr * g / (np.sqrt(before) + 1e-2)


def adamax_without_correction(p, g, lr, t, s):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.999 * s.get("u", 0), np.abs(g) + 1e-8)
    return p - lr * s["m"] / s["u"]


FALLING = [0.1, 0.1, 0.05, 0.02]
SGD9 = {"lr": 0.1, "momentum": 0.9}
ADAM_ = {"lr": 0.1, "eps": 1e-2}
RMS = {"lr": 0.1, "alpha": 0.9, "eps": 1e-2}
BY_HAND = [
    ("SGD", SGD9, momentum, None),
    ("SGD", SGD9, sutskever, None),
    ("SGD", {**SGD9, "lr": FALLING}, momentum, None),
    ("SGD", {**SGD9, "lr": FALLING}, sutskever, "momentum_convention"),
    ("SGD", {**SGD9, "lr": FALLING}, averaged, "momentum_convention"),
    ("SGD", SGD9, averaged, "momentum_convention"),
    ("SGD", SGD9, averaged_from_the_second, "dampening"),
    ("SGD", {**SGD9, "dampening": 0.4}, momentum, "dampening"),
    ("SGD", {**SGD9, "dampening": 0.4}, dampened_at_once, "dampening"),
    ("SGD", SGD9, plain, "state_not_kept"),
    ("SGD", {**SGD9, "dampening": 0.4}, plain, "state_not_kept"),
    ("SGD", {**SGD9, "nesterov": True}, momentum, "nesterov_missing"),
    ("SGD", {**SGD9, "nesterov": True, "lr": FALLING}, momentum, "nesterov_missing"),
    ("SGD", SGD9, upwards, "sign"),
    ("SGD", {"lr": 0.1}, lambda p, g, lr, t, s: p + lr * g, "sign"),
    ("SGD", SGD9, without_lr, "lr_missing"),
    ("SGD", {"lr": 0.1}, lambda p, g, lr, t, s: p - g, "lr_missing"),
    ("SGD", {"lr": 0.1, "weight_decay": 0.2}, decay_away, "weight_decay_sign"),
    ("SGD", {"lr": 0.1, "weight_decay": 0.2}, plain, "weight_decay_missing"),
    ("SGD", {"lr": 0.1, "weight_decay": 0.2}, lambda p, g, lr, t, s: p - lr * g - 0.2 * p, "lr_missing"),
    ("SGD", {"lr": 0.1, "weight_decay": 0.2}, lambda p, g, lr, t, s: p - lr * (g + 0.4 * p), "weight_decay_factor"),
    ("Adam", ADAM_, adam_step(), None),
    ("Adam", ADAM_, adam_of_sums, "wrong_beta"),
    ("RMSprop", RMS, lambda p, g, lr, t, s: adagrad_step()(p, g, lr, t, s), "wrong_beta"),
    ("RMSprop", RMS, without_a_root, "root_missing"),
    ("Adam", ADAM_, adam_step(corrected=""), "bias_correction"),
    ("Adam", ADAM_, adam_step(corrected="m"), "bias_correction"),
    ("Adam", ADAM_, adam_step(corrected="v"), "bias_correction"),
    ("AdamW", {**ADAM_, "weight_decay": 0}, adam_step(corrected="v"), "bias_correction"),
    ("Adam", ADAM_, adam_step(inside=True), "eps_inside_sqrt"),
    ("Adam", ADAM_, adam_step(keep=False), "state_not_kept"),
    ("Adam", ADAM_, adam_step(b1=0.999, b2=0.9), "wrong_beta"),
    ("Adam", {**ADAM_, "weight_decay": 0.3}, adam_step(decay=0.3), None),
    ("Adam", {**ADAM_, "weight_decay": 0.3}, adam_step(decoupled=0.3), "decoupled_weight_decay"),
    ("Adam", {**ADAM_, "weight_decay": 0.3}, adam_step(decay=-0.3), "weight_decay_sign"),
    ("AdamW", {**ADAM_, "weight_decay": 0.3}, adam_step(decoupled=0.3), None),
    ("AdamW", {**ADAM_, "weight_decay": 0.3}, adam_step(decay=0.3), "decoupled_weight_decay"),
    ("AdamW", {**ADAM_, "weight_decay": 0.3}, adam_step(decoupled=-0.3), "weight_decay_sign"),
    ("AdamW", {**ADAM_, "weight_decay": 0.3}, adam_step(), "weight_decay_missing"),
    ("RMSprop", RMS, rms_step(), None),
    ("RMSprop", RMS, rms_step(inside=True), "eps_inside_sqrt"),
    ("RMSprop", RMS, rms_step(keep=False), "state_not_kept"),
    ("RMSprop", RMS, rms_step(corrected=True), "bias_correction"),
    ("RMSprop", {**RMS, "momentum": 0.8}, rms_step(mu=0.8), None),
    ("RMSprop", {**RMS, "momentum": 0.8, "lr": FALLING}, rms_step(mu=0.8, lr_inside=True),
     "momentum_convention"),
    ("RMSprop", {**RMS, "centered": True}, rms_step(centered=True), None),
    ("RMSprop", {**RMS, "centered": True}, rms_step(), "centering_missing"),
    ("RMSprop", RMS, lambda p, g, lr, t, s: rms_step()(p, -g, lr, t, s), "sign"),
    ("Adagrad", {"lr": 0.1, "eps": 1e-2}, adagrad_step(), None),
    ("Adagrad", {"lr": 0.1, "eps": 1e-2}, adagrad_step(inside=True), "eps_inside_sqrt"),
    ("Adagrad", {"lr": 0.1, "eps": 1e-2}, adagrad_step(keep=False), "state_not_kept"),
    ("Adamax", {"lr": 0.1}, lambda p, g, lr, t, s: p - lr * np.sqrt(np.abs(g)), None),
    ("SGD", SGD9, of_the_sum(momentum), "accumulated_twice"),
    ("Adam", ADAM_, of_the_sum(adam_step()), "accumulated_twice"),
    ("SGD", SGD9, one_late(momentum), "stale_gradient"),
    ("SGD", SGD9, lambda p, g, lr, t, s: momentum(p, 4 * g, lr, t, s), "scale"),
    ("SGD", {"lr": 0.1}, lambda p, g, lr, t, s: s.setdefault("first", p) - lr * g, "step_not_kept"),
    ("SGD", {"lr": FALLING}, lambda p, g, lr, t, s: p - [*FALLING, 0.01][t] * g, "lr_schedule"),
    ("SGD", {"lr": FALLING}, lambda p, g, lr, t, s: p - 0.1 * g, "lr_schedule"),
    ("SGD", SGD9, looks_ahead, "nesterov_not_asked"),
    ("SGD", {**SGD9, "nesterov": True}, lambda p, g, lr, t, s: momentum(p, 1.9 * g, lr, t, s), "nesterov_missing"),
    ("SGD", {"lr": 0.1, "weight_decay": 0.2}, lambda p, g, lr, t, s: p - lr * (g + 0.2 * np.sign(p)),
     "weight_decay_place"),
    ("Adam", ADAM_, corrected_in_place, "bias_correction"),
    ("Adam", ADAM_, counted_from_zero, "bias_correction"),
    ("SGD", SGD9, lambda p, g, lr, t, s: p, "gradient_zeroed"),
    ("SGD", {"lr": 0.1}, lambda p, g, lr, t, s: p - lr * g * (t > 1), "step_missing"),
    ("SGD", {"lr": 0.1}, zeroed_every_second_time, "accumulated_twice"),
    ("SGD", SGD9, lambda p, g, lr, t, s: momentum(p, np.sign(g), lr, t, s), "gradient_changed"),
    ("SGD", SGD9, lambda p, g, lr, t, s: momentum(p, np.clip(g, -1, 1), lr, t, s), "gradient_changed"),
    ("SGD", {"lr": 0.1}, lambda p, g, lr, t, s: p - lr * g / np.linalg.norm(g), "gradient_changed"),
    ("SGD", {**SGD9, "nesterov": True}, looks_ahead_with_g, "nesterov_missing"),
    ("SGD", {"lr": 0.1}, lambda p, g, lr, t, s: p - lr / t * g, "lr_schedule"),
    ("SGD", {"lr": 0.1}, lambda p, g, lr, t, s: p - lr**2 * 7 * g, "scale"),
    ("SGD", {"lr": FALLING}, lambda p, g, lr, t, s: p - np.prod(FALLING[:t]) * g, "lr_schedule"),
    ("SGD", {"lr": FALLING, "momentum": 0.9}, lambda p, g, lr, t, s: momentum(p, g, FALLING[-t], t, s), "lr_schedule"),
    ("AdamW", {**ADAM_, "weight_decay": 0.3},
     lambda p, g, lr, t, s: adam_step(decoupled=0.3)(p, g, lr / t, t, s), "lr_schedule"),
    ("Adamax", {"lr": 0.1}, adamax_without_correction, "lr_schedule"),
    ("AdamW", {**ADAM_, "weight_decay": 0.3}, decayed_twice, "decoupled_weight_decay"),
    ("Adam", ADAM_, adam_with(lambda before, g, m, v_hat, t, s: v_hat), None),
    ("Adam", ADAM_, adam_with(with_the_first_beta), "wrong_beta"),
    ("Adam", ADAM_, adam_with(believing), "centering_not_asked"),
    ("Adam", ADAM_, adam_with(from_the_first_gradient), "initial_value"),
    ("Adam", ADAM_, adam_with(lambda before, g, m, v_hat, t, s: v_hat * np.sqrt(1 - 0.999**t)), "bias_correction"),
    ("Adam", ADAM_, adam_with(lambda before, g, m, v_hat, t, s: before / (1 - 0.999**t)), "stale_value"),
    ("Adam", {**ADAM_, "amsgrad": True}, adam_with(largest_corrected), "amsgrad_missing"),
    ("Adam", ADAM_, adam_with(largest_corrected), "amsgrad_not_asked"),
    ("RMSprop", RMS, rms_from(lambda g: g * g), "initial_value"),
    ("RMSprop", RMS, rms_from(lambda g: 1.0), "initial_value"),
    ("RMSprop", RMS, with_the_old_average, "stale_value"),
]  # fmt: skip


@pytest.mark.parametrize("name, settings, step, kind", BY_HAND)
def test_steps_as_students_write_them_are_given_their_kind(name, settings, step, kind):
    start, grads = data()
    lr = settings["lr"]
    yours = by_hand(step, start, grads, lr if isinstance(lr, list) else [lr] * 4)

    report = compare_update(getattr(optim, name), settings, params=start, grads=grads, yours=yours)

    assert (report.diagnosis and report.diagnosis.kind) == kind, report
    assert report.ok == (kind is None and name != "Adamax")


@pytest.mark.parametrize("container", [list, tuple, lambda ps: {"weight": ps[0], "bias": ps[1]}])
@pytest.mark.parametrize("wrap", [lambda a: a, tensor])
def test_several_parameters_in_a_list_a_tuple_or_a_dict(container, wrap):
    rng = np.random.default_rng(0)

    def two():
        return [rng.normal(size=(3, 2)), rng.normal(size=2)]

    start, grads = two(), [two() for _ in range(3)]
    steps = [by_hand(upwards, start[k], [g[k] for g in grads], [0.1] * 3) for k in range(2)]
    yours = list(zip(*steps, strict=True))

    def given(parts):
        return container([wrap(p) for p in parts])

    report = compare_update(
        optim.SGD,
        SGD9,
        params=given(start),
        grads=[given(g) for g in grads],
        yours=[given(y) for y in yours],
    )

    assert report.parts_at == 1 and report.diagnosis.kind == "sign"
    assert "the largest difference is in" in str(report)


def test_an_optimizer_that_is_not_written_out_still_has_a_sign():
    start, grads = data()
    yours = run_optimizer(optim.Adamax, {"lr": 0.1}, start, [-g for g in grads])

    report = compare_update(optim.Adamax, {"lr": 0.1}, params=start, grads=grads, yours=yours)

    assert report.diagnosis.kind == "sign"


@pytest.mark.parametrize(
    "name, settings, kinds",
    [
        ("Adam", {"lr": 0.1, "eps": 1e-2}, ("bias_correction", "eps_inside_sqrt")),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}, ("sign", "nesterov_missing")),
    ],
)
def test_two_mistakes_in_the_steps_are_both_named(name, settings, kinds):
    start, grads = data()
    known = [s for s in (*AROUND_AN_OPTIMIZER, *MISTAKES) if name in s.of.split()]
    one, two = (next(s for s in known if s.kind == kind) for kind in kinds)
    given = {**settings, **(two.changes(settings) if callable(two.changes) else two.changes)}
    yours = steps_by_hand(name, start, grads, given, one)

    found = compare_update(
        getattr(optim, name), settings, params=start, grads=grads, yours=yours
    ).diagnosis

    assert {found.kind, *found.also} == set(kinds) and "two mistakes" in found.message


def test_results_in_single_precision_are_held_against_its_tolerance():
    start, grads = data()
    yours = [p.astype(np.float32) for p in by_hand(upwards, start, grads, [0.1] * 4)]

    report = compare_update(optim.SGD, SGD9, params=start, grads=grads, yours=yours)

    assert report.diagnosis.kind == "sign"


def test_a_step_holds_as_many_arrays_as_there_are_parameters():
    one = np.ones(2)
    with pytest.raises(ValueError, match="params has 2 parameters"):
        compare_update(optim.SGD, {"lr": 0.1}, params=[one, one], grads=[[one]], yours=[[one, one]])


class OwnAdam:
    """Adam as a student writes it; subclasses make one mistake."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.params, self.lr, self.betas, self.eps, self.t = list(params), lr, betas, eps, 0
        self.averages = [(zeros_like(p), zeros_like(p)) for p in self.params]

    @no_grad()
    def step(self):
        self.t += 1
        for p, (m, v) in zip(self.params, self.averages, strict=True):
            self.update(p, m, v)

    def update(self, p, m, v):
        b1, b2 = self.betas
        m.mul_(b1).add_((1 - b1) * p.grad)
        v.mul_(b2).add_((1 - b2) * p.grad**2)
        p -= self.lr * self.corrected(m, b1) / (self.corrected(v, b2).sqrt() + self.eps)

    def corrected(self, average, beta):
        return average / (1 - beta**self.t)


class NoCorrection(OwnAdam):
    def corrected(self, average, beta):
        return average


class CountedForEach(OwnAdam):
    def update(self, p, m, v):
        super().update(p, m, v)
        self.t += p is not self.params[-1]


class Rebinds(OwnAdam):
    def update(self, p, m, v):
        p = p - self.lr * p.grad


@pytest.mark.parametrize("own, kind, said", [
    (NoCorrection, "bias_correction", "The bias correction is missing"),
    (CountedForEach, "bias_correction", "t was counted up for each parameter"),
    (Rebinds, "step_not_kept", "step() changed no parameter"),
])  # fmt: skip
def test_an_optimizer_of_ones_own_is_compared_and_its_mistake_named(own, kind, said):
    assert compare_update(optim.Adam, {"lr": 0.1}, yours=OwnAdam)

    report = compare_update(optim.Adam, {"lr": 0.1}, yours=own)

    assert report.diagnosis.kind == kind and said in str(report)
    assert str(report).count("the largest difference is in") == 1


def test_an_optimizer_that_is_not_a_class_is_refused():
    made = optim.SGD([tensor([1.0])], lr=0.1)
    with pytest.raises(TypeError, match="the optimizer is a class, like optim.SGD, but got SGD"):
        compare_update(made, {"lr": 0.1}, yours=OwnAdam)


@pytest.mark.parametrize("given", [{"params": [1.0]}, {"grads": [[5.0]]}])
def test_parameters_without_gradients_are_refused(given):
    with pytest.raises(ValueError, match="params and grads belong together"):
        compare_update(optim.Adam, {"lr": 0.1}, yours=OwnAdam, **given)
