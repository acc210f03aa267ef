"""Schedulers: the rates they set, saving and going on, and what they warn about."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad.optim import SGD, Adagrad, Adam, lr_scheduler
from tests.optim_cases import SCHEDULERS, rates, stepper

REFERENCE = json.loads((Path(__file__).parent / "optim_reference.json").read_text(encoding="utf-8"))


def sgd(lr=1.0):
    return SGD([minigrad.zeros(1, requires_grad=True)], lr=lr)


def rates_of(optimizer, scheduler, steps):
    found = []
    for _ in range(steps):
        found.append(round(optimizer.param_groups[0]["lr"], 6))
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize("case", SCHEDULERS)
def test_the_rates_are_those_that_were_recorded(case):
    np.testing.assert_allclose(
        rates(minigrad, case), REFERENCE["schedulers"][case], rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("case", [c for c in SCHEDULERS if "own" not in c and "Cosine" not in c])
def test_the_steps_and_the_closed_form_agree(case):
    cls, settings = SCHEDULERS[case]
    optimizer = stepper(minigrad)
    scheduler = getattr(lr_scheduler, cls)(optimizer, **settings)
    if not hasattr(scheduler, "_get_closed_form_lr"):
        return
    for _ in range(9):
        optimizer.step()
        scheduler.step()
        assert scheduler.get_last_lr() == pytest.approx(
            scheduler._get_closed_form_lr(), rel=1e-9, abs=1e-12
        )


def test_a_stair_by_hand():
    o = sgd()

    assert rates_of(o, lr_scheduler.StepLR(o, 2, gamma=0.1), 5) == [1, 1, 0.1, 0.1, 0.01]


def test_warm_up_and_then_decay():
    o = sgd()
    warm_up = lr_scheduler.LinearLR(o, start_factor=0.5, total_iters=2)
    decay = lr_scheduler.ExponentialLR(o, gamma=0.5)

    scheduler = lr_scheduler.SequentialLR(o, [warm_up, decay], milestones=[3])

    assert rates_of(o, scheduler, 6) == [0.5, 0.75, 1.0, 1.0, 0.5, 0.25]
    assert scheduler.get_last_lr() == [0.125]


def test_chained_schedulers_multiply():
    o = sgd()
    scheduler = lr_scheduler.ChainedScheduler(
        [
            lr_scheduler.ConstantLR(o, factor=0.1, total_iters=2),
            lr_scheduler.ExponentialLR(o, gamma=0.5),
        ]
    )

    assert rates_of(o, scheduler, 4) == [0.1, 0.05, 0.25, 0.125]


def test_restarts_at_a_fraction_of_an_epoch():
    o = sgd()
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=2, T_mult=2)
    o.step()

    scheduler.step(3)  # the second cycle has 4 epochs and began at 2
    assert scheduler.get_last_lr() == [pytest.approx((1 + math.cos(math.pi / 4)) / 2)]
    scheduler.step(0.5)
    assert scheduler.get_last_lr() == [pytest.approx((1 + math.cos(math.pi / 4)) / 2)]
    with pytest.raises(ValueError, match="non-negative epoch"):
        scheduler.step(-1)


def test_epochs_since_a_restart_are_whole():
    o = sgd()
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=2, T_mult=2)
    o.step()
    scheduler.step()

    assert repr(scheduler.T_cur) == "1"


def test_a_plateau_lowers_the_rate():
    o = sgd()
    scheduler = lr_scheduler.ReduceLROnPlateau(o, factor=0.1, patience=1, cooldown=1, min_lr=0.005)

    found = []
    for loss in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, minigrad.tensor(1.0), 2.0, 2.0, 2.0):
        scheduler.step(loss)
        found.append(round(o.param_groups[0]["lr"], 6))

    assert found == [1, 1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.005, 0.005]


@pytest.mark.parametrize(
    "settings, losses, reductions",
    [
        ({"mode": "max", "threshold": 0.1}, [1.0, 1.05, 1.2], 1),
        ({"mode": "max", "threshold": 0.1, "threshold_mode": "abs"}, [1.0, 1.05, 1.2], 1),
        ({"mode": "min", "threshold": 0.1, "threshold_mode": "abs"}, [1.0, 0.95, 0.8], 1),
        ({"mode": "min", "threshold": 0.1}, [1.0, 0.8, 0.6], 0),
    ],
)
def test_what_counts_as_better(settings, losses, reductions):
    o = sgd()
    scheduler = lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=0, **settings)

    for loss in losses:
        scheduler.step(loss)

    assert o.param_groups[0]["lr"] == 0.5**reductions


@pytest.mark.parametrize("case", SCHEDULERS)
def test_training_goes_on_from_a_saved_scheduler(case):
    cls, settings = SCHEDULERS[case]
    one, other = stepper(minigrad), stepper(minigrad)
    first = getattr(lr_scheduler, cls)(one, **settings)
    for _ in range(5):
        one.step()
        first.step()
    second = getattr(lr_scheduler, cls)(other, **settings)

    second.load_state_dict(first.state_dict())
    other.load_state_dict(one.state_dict())

    for _ in range(5):
        for optimizer, scheduler in ((one, first), (other, second)):
            optimizer.step()
            scheduler.step()
        assert first.get_last_lr() == second.get_last_lr()


def test_a_combined_scheduler_is_saved_with_its_parts():
    def made(o):
        return lr_scheduler.SequentialLR(
            o,
            [lr_scheduler.LinearLR(o, total_iters=3), lr_scheduler.CosineAnnealingLR(o, T_max=5)],
            milestones=[3],
        )

    one, other = sgd(), sgd()
    first, second = made(one), made(other)
    rates_of(one, first, 4)

    second.load_state_dict(first.state_dict())
    other.load_state_dict(one.state_dict())

    assert rates_of(one, first, 4) == rates_of(other, second, 4)


def test_going_on_with_last_epoch():
    o = sgd()
    rates_of(o, lr_scheduler.StepLR(o, 3, gamma=0.5), 4)

    scheduler = lr_scheduler.StepLR(o, 3, gamma=0.5, last_epoch=4)

    assert rates_of(o, scheduler, 3) == [0.5, 0.25, 0.25]
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        lr_scheduler.StepLR(sgd(), 3, last_epoch=4)


@pytest.mark.parametrize(
    "before, warned",
    [("made", True), ("step made", True), ("made step", False), ("made step made", False)],
)
def test_the_optimizer_must_have_stepped_since_its_first_scheduler_was_made(before, warned):
    o, made = sgd(), []
    for what in before.split():
        o.step() if what == "step" else made.append(lr_scheduler.ExponentialLR(o, 0.5))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made[-1].step()

    assert ["before `optimizer.step()`" in str(w.message) for w in caught] == [True] * warned


def test_a_step_that_was_replaced_is_noticed():
    o = sgd()
    scheduler = lr_scheduler.ExponentialLR(o, 0.5)
    o.step = lambda: None

    with pytest.warns(UserWarning, match="has been overridden"):
        scheduler.step()


def test_get_lr_from_outside_is_warned_about():
    scheduler = lr_scheduler.ExponentialLR(sgd(), 0.5)

    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        scheduler.get_lr()


def test_step_with_an_epoch_is_deprecated_but_works():
    o = sgd()
    scheduler = lr_scheduler.ExponentialLR(o, 0.5)
    o.step()

    with pytest.warns(UserWarning, match="deprecated"):
        scheduler.step(3)

    assert scheduler.get_last_lr() == [0.125]


def test_a_rate_that_is_a_tensor_is_written_in_place():
    lr = minigrad.tensor(1.0)
    o = sgd(lr)
    scheduler = lr_scheduler.ExponentialLR(o, 0.5)
    before = scheduler.get_last_lr()

    o.step()
    scheduler.step()

    assert lr.item() == 0.5 and o.param_groups[0]["lr"] is lr and before[0].item() == 1.0


def test_cycles_move_adams_first_beta():
    adam = Adam([minigrad.zeros(1, requires_grad=True)])

    lr_scheduler.OneCycleLR(adam, max_lr=0.1, total_steps=10)

    assert adam.param_groups[0]["betas"] == (0.95, 0.999)
    with pytest.raises(ValueError, match="must support momentum or beta1"):
        lr_scheduler.OneCycleLR(
            Adagrad([minigrad.zeros(1, requires_grad=True)]), max_lr=0.1, total_steps=10
        )


def test_one_cycle_ends():
    o = sgd()
    scheduler = lr_scheduler.OneCycleLR(o, 1.0, total_steps=2, cycle_momentum=False)
    rates_of(o, scheduler, 2)

    with pytest.raises(ValueError, match="Tried to step 3 times"):
        scheduler.step()


MISTAKES = [
    (lambda o: lr_scheduler.StepLR(1, 2), TypeError, "int is not an Optimizer"),
    (lambda o: lr_scheduler.LambdaLR(o, []), ValueError, "Expected 1 lr_lambdas, but got 0"),
    (lambda o: lr_scheduler.MultiplicativeLR(o, 0.5), TypeError, "should be a function"),
    (lambda o: lr_scheduler.ConstantLR(o, 2.0), ValueError, "between 0 and 1"),
    (lambda o: lr_scheduler.LinearLR(o, 0.0), ValueError, "greater than 0 and less or equal to 1"),
    (lambda o: lr_scheduler.LinearLR(o, 0.5, 2.0), ValueError, "between 0 and 1"),
    (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 0), ValueError, "integer T_0"),
    (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 1, 0), ValueError, "integer T_mult"),
    (lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1"),
    (lambda o: lr_scheduler.ReduceLROnPlateau(o, "up"), ValueError, "mode up is unknown"),
    (lambda o: lr_scheduler.ReduceLROnPlateau(o, min_lr=[0, 0]), ValueError, "expected 1 min_lrs"),
    (lambda o: lr_scheduler.OneCycleLR(o, 1.0), ValueError, "either total_steps OR"),
    (lambda o: lr_scheduler.OneCycleLR(o, 1.0, 0), ValueError, "positive integer total_steps"),
    (lambda o: lr_scheduler.OneCycleLR(o, 1.0, 9, pct_start=2), ValueError, "pct_start"),
    (lambda o: lr_scheduler.OneCycleLR(o, [1.0, 2.0], 9), ValueError, "must have the same length"),
    (lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.0, mode="no"), ValueError, "mode is invalid"),
    (lambda o: lr_scheduler.ChainedScheduler([]), ValueError, "at least one scheduler"),
    (lambda o: lr_scheduler.SequentialLR(o, [], []), ValueError, "at least one scheduler"),
    (
        lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(o, 1)], [1]),
        ValueError,
        "one more than the number of milestone points",
    ),
    (
        lambda o: lr_scheduler.ChainedScheduler(
            [lr_scheduler.StepLR(o, 1), lr_scheduler.StepLR(sgd(), 1)]
        ),
        ValueError,
        "belong to the same optimizer",
    ),
    (
        lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(o)]),
        ValueError,
        "does not support `ReduceLROnPlateau`",
    ),
]


@pytest.mark.parametrize("mistake, error, words", MISTAKES)
def test_mistakes(mistake, error, words):
    with pytest.raises(error, match=words):
        mistake(sgd())
