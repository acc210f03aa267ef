"""compare_update: an optimizer's steps derived by hand, and the mistake in them."""

import numpy as np
import pytest

from minigrad import optim
from minigrad.teach import compare_update
from minigrad.teach.steps_by_hand import MISTAKES, UPDATES
from minigrad.teach.updates import run_optimizer

SETTINGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": [0.1, 0.1, 0.02, 0.02], "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "eps": 1e-3}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "eps": 1e-3}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.9, "centered": True, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.1, "weight_decay": 0.1}),
]
WRONG = {
    ("SGD", 0): {"lr_missing"},
    ("SGD", 1): {"lr_missing", "state_not_kept", "momentum_convention"},
    ("SGD", 2): {"lr_missing", "state_not_kept", "momentum_convention", "dampening"},
    ("SGD", 3): {
        "lr_missing", "state_not_kept", "momentum_convention", "weight_decay_sign",
        "decoupled_weight_decay",
    },
    ("SGD", 4): {"lr_missing", "state_not_kept", "momentum_convention", "nesterov_missing"},
    ("Adam", 5): {"lr_missing", "state_not_kept", "bias_correction", "eps_inside_sqrt"},
    ("Adam", 6): {
        "lr_missing", "state_not_kept", "bias_correction", "eps_inside_sqrt", "weight_decay_sign",
        "decoupled_weight_decay",
    },
    ("AdamW", 7): {
        "lr_missing", "state_not_kept", "bias_correction", "eps_inside_sqrt", "weight_decay_sign",
        "decoupled_weight_decay",
    },
    ("Adagrad", 8): {"lr_missing", "state_not_kept", "eps_inside_sqrt", "weight_decay_sign"},
    ("RMSprop", 9): {"lr_missing", "state_not_kept", "eps_inside_sqrt"},
    ("RMSprop", 10): {"lr_missing", "state_not_kept", "weight_decay_sign", "eps_inside_sqrt"},
}  # fmt: skip


def data(steps=4):
    rng = np.random.default_rng(7)
    return rng.normal(size=5), [rng.normal(size=5) for _ in range(steps)]


@pytest.mark.parametrize("name, settings", SETTINGS)
def test_the_written_out_updates_are_the_optimizers(name, settings):
    start, grads = data()

    ours = UPDATES[name](start, grads, settings)

    np.testing.assert_allclose(ours, run_optimizer(getattr(optim, name), settings, start, grads))


@pytest.mark.parametrize("k", range(len(SETTINGS)))
def test_each_mistake_is_found_where_it_can_be_made(k):
    name, settings = SETTINGS[k]
    start, grads = data()
    found = set()

    for wrong, kind, *_ in MISTAKES:
        yours = UPDATES[name](start, grads, settings, wrong)
        report = compare_update(
            getattr(optim, name), settings, params=start, grads=grads, yours=yours
        )
        if not report.ok:
            assert kind in (report.diagnosis.kind, *report.diagnosis.also), wrong
            found.add(report.diagnosis.kind)

    assert found == WRONG[name, k]


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
    yours = UPDATES["SGD"](start, grads, settings, "state_not_kept")

    report = compare_update(optim.SGD, settings, params=start, grads=grads, yours=yours)

    assert report.parts_at == 2
    assert "the two part at step 2" in str(report)
    assert "starts from zero at each step" in str(report)


def test_sutskevers_momentum_parts_only_when_the_learning_rate_changes():
    start, grads = data()
    same = {"lr": 0.1, "momentum": 0.9}
    lowered = {"lr": [0.1, 0.1, 0.01, 0.01], "momentum": 0.9}

    yours = UPDATES["SGD"](start, grads, same, "momentum_convention")
    assert compare_update(optim.SGD, same, params=start, grads=grads, yours=yours).ok

    yours = UPDATES["SGD"](start, grads, lowered, "momentum_convention")
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
