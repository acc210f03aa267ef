"""Optimizers: where they lead, what they keep, and what they refuse."""

import copy
import inspect
import io
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import minigrad
import minigrad.optim.lr_scheduler
from minigrad import nn, optim
from minigrad.core.errors import SavedValueChanged
from minigrad.optim.elementwise import Elementwise
from tests.optim_cases import OPTIMIZERS, loss_of, optimizer_of, parameters, run, trajectory

REFERENCE = json.loads((Path(__file__).parent / "optim_reference.json").read_text(encoding="utf-8"))


def leaf(*values, dtype=minigrad.float64):
    return minigrad.tensor(list(values), dtype=dtype, requires_grad=True)


def with_grad(x, *g):
    x.grad = minigrad.tensor(list(g), dtype=x.dtype)
    return x


# ------------------------------------------------------------------------ where they lead


def test_every_optimizer_has_a_case():
    classes = {
        k for k in vars(optim).values() if inspect.isclass(k) and issubclass(k, optim.Optimizer)
    }
    compared = {optim.ASGD, optim.LBFGS}  # in against_torch/test_optim_more.py

    assert {getattr(optim, cls) for cls, _, _ in OPTIMIZERS.values()} == classes - compared - {
        optim.Optimizer
    }


@pytest.mark.parametrize("case", OPTIMIZERS)
def test_the_path_is_the_one_that_was_recorded(case):
    path = trajectory(minigrad, case)

    for k, expected in zip(REFERENCE["steps"], REFERENCE["optimizers"][case], strict=True):
        row = path[k]
        if len(row) > 64:
            row = np.array([*row[:: len(row) // 16], row.sum()])
        np.testing.assert_allclose(row, expected, rtol=1e-11, atol=1e-12)


def test_sgd_by_hand():
    x = with_grad(leaf(3.0), 2.0)
    sgd = optim.SGD([x], lr=0.1, momentum=0.5)

    sgd.step()  # v = 2
    assert x.tolist() == [pytest.approx(2.8)]
    sgd.step()  # v = 0.5 * 2 + 2
    assert x.tolist() == [pytest.approx(2.5)]


def test_the_first_velocity_is_the_whole_gradient_also_with_dampening():
    x = with_grad(leaf(0.0), 1.0)
    sgd = optim.SGD([x], lr=1.0, momentum=0.5, dampening=0.5)

    sgd.step()

    assert x.tolist() == [-1.0]
    assert sgd.state[x]["momentum_buffer"].tolist() == [1.0]


def test_the_learning_rate_is_not_part_of_the_velocity():
    """Sutskever's v = mu*v + lr*g would still carry the old steps at the old rate."""
    x = with_grad(leaf(0.0), 1.0)
    sgd = optim.SGD([x], lr=1.0, momentum=0.5)
    sgd.step()

    sgd.param_groups[0]["lr"] = 0.1
    sgd.step()

    assert x.tolist() == [pytest.approx(-1 - 0.1 * 1.5)]


def test_a_rule_of_ones_own_needs_no_setting_but_lr():
    class Momentum(Elementwise):  # as in the header of optim/elementwise.py
        slots = {"velocity": 0.0}

        def _numbers(self, group, t):
            return group["lr"], group["momentum"]

        def _rule(self, b, group, numbers):
            (v,), (lr, mu) = b.state, numbers
            v *= mu
            v += b.g
            return np.multiply(v, lr, b.out)

    x = with_grad(leaf(1.0), 1.0)
    momentum = Momentum([x], {"lr": 0.1, "momentum": 0.5})
    momentum.step()
    momentum.step()

    assert x.tolist() == [pytest.approx(1 - 0.1 - 0.15)]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
def test_single_precision_stays_single(name):
    x = with_grad(leaf(1.0, 2.0, dtype=minigrad.float32), 1.0, 1.0)
    y = with_grad(leaf(1.0, dtype=minigrad.float64), 1.0)
    optimizer = getattr(optim, name)([x, y], lr=0.1)

    optimizer.step()

    assert (x.dtype, y.dtype) == (minigrad.float32, minigrad.float64)
    assert all(
        s.dtype == p.dtype for p in (x, y) for k, s in optimizer.state[p].items() if k != "step"
    )


def test_a_parameter_in_a_block_moves_as_it_would_alone():
    """Blocks are for speed: packing and cutting must not be seen in the result."""
    shapes = [(3,), (40000,), (2, 2), (70, 300), ()]
    r = np.random.default_rng(0)
    values = [np.asarray(r.normal(size=s)) for s in shapes]
    together = [minigrad.tensor(v, requires_grad=True) for v in values]
    alone = [minigrad.tensor(v, requires_grad=True) for v in values]
    one = optim.AdamW(together, lr=0.1)
    many = [optim.AdamW([p], lr=0.1) for p in alone]

    for _ in range(3):
        for p, q in zip(together, alone, strict=True):
            p.grad = minigrad.tensor(np.asarray(r.normal(size=p.shape)))
            q.grad = p.grad.clone()
        one.step()
        for optimizer in many:
            optimizer.step()

    for p, q in zip(together, alone, strict=True):
        assert np.array_equal(p.detach().numpy(), q.detach().numpy())


NO_RULE = ("LBFGS", "Optimizer", "SparseAdam", "lr_scheduler", "swa_utils")  # LBFGS needs a closure
DENSE = [n for n in optim.__all__ if n not in NO_RULE]


@pytest.mark.parametrize("name", DENSE)
def test_a_single_number_and_an_empty_tensor_can_be_parameters(name):
    x = minigrad.tensor(2.0, requires_grad=True)
    y = minigrad.zeros(0, requires_grad=True)
    one, two = getattr(optim, name)([x]), getattr(optim, name)([y])

    for _ in range(3):
        (x * x + y.sum()).backward()
        one.step()
        two.step()

    assert x.item() < 2.0 and x.shape == () and y.shape == (0,)


def test_what_was_changed_before_an_error_is_known_to_have_changed():
    x, table = with_grad(leaf(1.0), 1.0), minigrad.ones(2, 2, requires_grad=True)
    looked_up(table, 1)

    with pytest.raises(RuntimeError, match="sparse"):
        optim.Adam([{"params": [x]}, {"params": [table]}], lr=0.5).step()

    assert x._version == 1 and table._version == 0


def test_parameters_and_gradients_in_any_memory_order():
    values = np.arange(60000.0).reshape(200, 300) / 60000
    x = minigrad.from_numpy(np.asfortranarray(values)).requires_grad_()
    y = minigrad.from_numpy(values.copy()).requires_grad_()
    for p, order in ((x, "C"), (y, "F")):
        p.grad = minigrad.from_numpy(np.asarray(values * 2, order=order))
        optim.SGD([p], lr=0.5, momentum=0.9, maximize=True, weight_decay=0.1).step()

    assert np.array_equal(x.detach().numpy(), y.detach().numpy())


def test_the_gradient_is_left_as_it_was():
    x = with_grad(leaf(1.0, 2.0), 3.0, 4.0)

    optim.SGD([x], lr=0.1, weight_decay=0.5, maximize=True).step()
    optim.Adam([x], lr=0.1, weight_decay=0.5, maximize=True).step()

    assert x.grad.tolist() == [3.0, 4.0]


def test_a_parameter_without_gradient_is_passed_over():
    x, y = with_grad(leaf(1.0), 1.0), leaf(1.0)
    sgd = optim.SGD([x, y], lr=0.1, weight_decay=1.0, momentum=0.9)

    sgd.step()

    assert y.tolist() == [1.0] and y._version == 0 and y not in sgd.state


def test_state_replaced_by_hand_is_used():
    x, y = with_grad(leaf(0.0), 0.0), with_grad(leaf(0.0), 0.0)
    sgd = optim.SGD([x, y], lr=1.0, momentum=0.5)
    sgd.step()

    sgd.state[y]["momentum_buffer"] = minigrad.tensor([8.0], dtype=minigrad.float64)
    sgd.step()

    assert (x.tolist(), y.tolist()) == ([0.0], [-4.0])


def test_data_replaced_by_hand_is_used():
    x, y = with_grad(leaf(0.0), 1.0), with_grad(leaf(0.0), 1.0)
    sgd = optim.SGD([x, y], lr=1.0)
    sgd.step()

    x.data = minigrad.tensor([5.0], dtype=minigrad.float64)
    sgd.step()

    assert (x.tolist(), y.tolist()) == ([4.0], [-2.0])


def test_the_learning_rate_may_be_a_tensor():
    x = with_grad(leaf(1.0), 1.0)
    lr = minigrad.tensor(0.5)
    sgd = optim.SGD([x], lr=lr)

    sgd.step()
    lr.fill_(0.25)
    sgd.step()

    assert x.tolist() == [0.25]
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        optim.SGD([x], lr=minigrad.ones(2))


# ------------------------------------------------------------------------ step and the tape


def test_each_step_is_one_version():
    x, y = with_grad(leaf(1.0), 1.0), with_grad(leaf(1.0), 1.0)
    adam = optim.Adam([x, y])

    for k in range(1, 4):
        adam.step()
        assert (x._version, y._version) == (k, k)


def test_a_graph_from_before_the_step_is_stale():
    x = leaf(2.0)
    sgd = optim.SGD([x], lr=0.1)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)

    sgd.step()

    with pytest.raises(SavedValueChanged, match="modified by an inplace operation"):
        loss.backward()


def test_step_is_not_recorded_and_the_leaf_stays_a_leaf():
    x = leaf(2.0)
    (x * x).sum().backward()

    optim.Adam([x]).step()

    assert x.is_leaf and x.requires_grad and x.grad_fn is None


def test_views_of_a_parameter_see_the_step():
    x = with_grad(leaf(1.0, 2.0), 1.0, 1.0)
    view = x.detach()[1:]

    optim.SGD([x], lr=1.0).step()

    assert view.tolist() == [1.0]


def test_a_closure_computes_the_loss_and_is_recorded():
    x = leaf(3.0)
    sgd = optim.SGD([x], lr=0.25)

    def closure():
        sgd.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with minigrad.no_grad():
        loss = sgd.step(closure)

    assert loss.item() == 9.0 and x.tolist() == [1.5]


def test_zero_grad():
    x = with_grad(leaf(1.0), 1.0)
    sgd = optim.SGD([x])

    sgd.zero_grad(set_to_none=False)
    assert x.grad.tolist() == [0.0]
    sgd.zero_grad()
    assert x.grad is None


def test_zero_grad_cuts_the_history_of_a_gradient():
    x = leaf(3.0)
    (x * x).sum().backward(create_graph=True)
    sgd = optim.SGD([x])

    sgd.zero_grad(set_to_none=False)

    assert x.grad.tolist() == [0.0] and not x.grad.requires_grad


# ------------------------------------------------------------------------ sparse gradients


def looked_up(table, *rows):
    table.grad = None
    minigrad.nn.functional.embedding(minigrad.tensor(rows), table, sparse=True).sum().backward()


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "SparseAdam"])
def test_a_sparse_gradient_touches_only_its_rows(name):
    table = minigrad.ones(5, 2, dtype=minigrad.float64, requires_grad=True)
    optimizer = getattr(optim, name)([table], lr=0.1)

    looked_up(table, 3, 1, 3)
    optimizer.step()

    moved = (table.detach().numpy() != 1).any(axis=1)
    assert moved.tolist() == [False, True, False, True, False]
    assert table._version == 1


def test_a_few_rows_of_a_large_table_take_the_steps_of_the_whole_table():
    index = minigrad.tensor([5, 7, 5, 999])
    weights = []
    for sparse in (True, False):
        table = minigrad.nn.Embedding.from_pretrained(
            minigrad.arange(3000.0).reshape(1000, 3) / 1000, freeze=False, sparse=sparse
        )
        optimizer = optim.Adagrad(table.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (table(index) ** 2).sum().backward()
            optimizer.step()
        weights.append(table.weight.detach())

    assert minigrad.allclose(*weights)


@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop"]
)
def test_who_cannot_take_a_sparse_gradient_says_so(name):
    table = minigrad.ones(5, 2, requires_grad=True)
    looked_up(table, 1)

    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        getattr(optim, name)([table]).step()


def test_sparse_adam_takes_no_dense_gradient():
    x = with_grad(leaf(1.0), 1.0)

    with pytest.raises(RuntimeError, match="please consider Adam instead"):
        optim.SparseAdam([x]).step()


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_weight_decay_and_sparse_gradients_do_not_go_together(name):
    table = minigrad.ones(5, 2, requires_grad=True)
    looked_up(table, 1)

    with pytest.raises(RuntimeError, match="weight_decay"):
        getattr(optim, name)([table], weight_decay=0.1).step()


# ------------------------------------------------------------------------ groups


def test_groups_have_settings_of_their_own():
    x, y = with_grad(leaf(0.0), 1.0), with_grad(leaf(0.0), 1.0)
    sgd = optim.SGD([{"params": [x]}, {"params": y, "lr": 0.5}], lr=0.1)

    sgd.step()

    assert (x.tolist(), y.tolist()) == ([-0.1], [-0.5])


def test_named_parameters():
    x, y = leaf(1.0), leaf(2.0)
    sgd = optim.SGD([("x", x), ("y", y)])

    assert sgd.param_groups[0]["param_names"] == ["x", "y"]
    assert sgd.param_groups[0]["params"][0] is x
    assert sgd.state_dict()["param_groups"][0]["param_names"] == ["x", "y"]
    with pytest.raises(
        ValueError, match="with/without names. cannot add param group without names"
    ):
        sgd.add_param_group({"params": leaf(1.0)})


def test_a_group_may_be_added_later():
    x, y = with_grad(leaf(0.0), 1.0), with_grad(leaf(0.0), 1.0)
    sgd = optim.SGD([x], lr=0.1)
    sgd.step()

    sgd.add_param_group({"params": y})
    sgd.step()

    assert (x.tolist(), y.tolist()) == ([-0.2], [-0.1])


def test_a_required_setting():
    from minigrad.optim.optimizer import Optimizer, required

    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Optimizer([leaf(1.0)], {"lr": required})
    with pytest.raises(NotImplementedError):
        Optimizer([leaf(1.0)], {}).step()


def test_choices_of_implementation_are_accepted_or_refused():
    x = with_grad(leaf(1.0), 1.0)

    optim.Adam([x], foreach=True, capturable=True).step()
    optim.SGD([x], fused=True).step()
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        optim.Adam([x], fused=True, differentiable=True)
    with pytest.raises(RuntimeError, match="cannot be `True` together"):
        optim.Adam([x], foreach=True, fused=True)


# ------------------------------------------------------------------------ saving and loading


@pytest.mark.parametrize("case", OPTIMIZERS)
def test_training_goes_on_from_a_saved_state(case):
    cls, settings, problem = OPTIMIZERS[case]
    ps = parameters(minigrad, problem)
    optimizer = optimizer_of(minigrad, cls, settings, problem, ps)
    run(minigrad, optimizer, problem, ps, range(8))
    qs = [p.detach().clone().requires_grad_() for p in ps]
    other = optimizer_of(minigrad, cls, settings, problem, qs)

    other.load_state_dict(optimizer.state_dict())

    ours = run(minigrad, optimizer, problem, ps, range(8, 16))
    theirs = run(minigrad, other, problem, qs, range(8, 16))
    assert np.array_equal(np.array(ours), np.array(theirs))


def test_the_format_of_a_state_dict():
    x, y = with_grad(leaf(1.0), 1.0), with_grad(leaf(2.0), 1.0)
    adam = optim.Adam([{"params": [x]}, {"params": [y], "lr": 0.5}])
    adam.step()

    saved = adam.state_dict()

    assert list(saved) == ["state", "param_groups"]
    assert [group["params"] for group in saved["param_groups"]] == [[0], [1]]
    assert list(saved["state"][1]) == ["step", "exp_avg", "exp_avg_sq"]
    assert saved["state"][0]["step"].item() == 1.0 and saved["state"][0]["step"].shape == ()


def test_a_state_dict_through_a_file():
    x = with_grad(leaf(1.0), 1.0)
    adam = optim.Adam([x], lr=0.1)
    adam.step()
    file = io.BytesIO()

    minigrad.save(adam.state_dict(), file)
    file.seek(0)
    adam.load_state_dict(minigrad.load(file))

    assert adam.state[x]["step"].item() == 1.0 and adam.param_groups[0]["lr"] == 0.1


def test_what_is_loaded_is_copied():
    x, y = with_grad(leaf(0.0), 1.0), with_grad(leaf(0.0), 1.0)
    one, other = optim.SGD([x], momentum=0.5), optim.SGD([y], momentum=0.5)
    one.step()
    other.load_state_dict(one.state_dict())

    one.step()

    assert other.state[y]["momentum_buffer"].tolist() == [1.0]


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.ASGD, optim.RMSprop, optim.NAdam])
def test_settings_that_an_older_state_lacks_stay_as_they_are(kind):
    optimizer, p = kind([leaf(1.0)], lr=0.1), leaf(1.0)
    saved = optimizer.state_dict()
    saved["param_groups"] = [{"lr": 0.5, "params": [0]}]

    other = kind([p], lr=0.1)
    other.load_state_dict(saved)
    p.sum().backward()
    other.step()

    assert other.param_groups[0].keys() == optimizer.param_groups[0].keys()
    assert other.param_groups[0]["lr"] == 0.5


def test_a_state_dict_that_does_not_fit():
    saved = optim.SGD([leaf(1.0), leaf(2.0)]).state_dict()

    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optim.SGD([leaf(1.0)]).load_state_dict(saved)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optim.SGD([{"params": leaf(1.0)}, {"params": leaf(1.0)}]).load_state_dict(saved)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_are_independent(way):
    x, y = with_grad(leaf(0.0), 1.0), with_grad(leaf(0.0), 1.0)
    sgd = optim.SGD([x, y], lr=1.0, momentum=0.5)
    sgd.step()

    other = way(sgd)
    p, q = other.param_groups[0]["params"]
    p.grad, q.grad = x.grad.clone(), y.grad.clone()
    other.step()

    assert p.tolist() == [-2.5] and x.tolist() == [-1.0]
    assert other.state[q]["momentum_buffer"].tolist() == [1.5]


# ------------------------------------------------------------------------ hooks, and your own


def test_hooks_around_the_step():
    x = with_grad(leaf(1.0), 1.0)
    sgd, seen = optim.SGD([x], lr=1.0), []
    handles = [
        sgd.register_step_pre_hook(lambda o, args, kwargs: seen.append((args, kwargs, x.item()))),
        sgd.register_step_post_hook(lambda o, args, kwargs: seen.append((args, kwargs, x.item()))),
    ]

    sgd.step(closure=None)
    for handle in handles:
        handle.remove()
    sgd.step()

    given = (sgd,), {"closure": None}
    assert seen == [(*given, 1.0), (*given, 0.0)]


def test_hooks_around_saving_and_loading():
    x = leaf(1.0)
    sgd, seen = optim.SGD([x], lr=1.0), []
    sgd.register_state_dict_pre_hook(lambda o: seen.append("save"))
    sgd.register_state_dict_post_hook(lambda o, saved: {**saved, "more": 1})
    sgd.register_load_state_dict_pre_hook(lambda o, saved: seen.append(saved.pop("more")))
    sgd.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))

    sgd.load_state_dict(sgd.state_dict())

    assert seen == ["save", 1, "loaded"]


class SignDescent(optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @minigrad.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.state[p]["steps"] = self.state[p].get("steps", 0) + 1
                    p.sub_(p.grad.sign() * group["lr"])


def test_an_optimizer_of_your_own_with_hooks_and_a_scheduler():
    x = with_grad(leaf(1.0), -3.0)
    own, seen = SignDescent([x], lr=0.5), []
    scheduler = optim.lr_scheduler.ExponentialLR(own, 0.5)
    own.register_step_post_hook(lambda o, args, kwargs: seen.append(1))

    own.step()
    scheduler.step()
    own.step()

    assert x.tolist() == [1.75] and seen == [1, 1]
    assert own.state_dict()["state"] == {0: {"steps": 2}}


# ------------------------------------------------------------------------ explain


def test_explain_answers_the_four_questions():
    w, b = leaf(1.0, 2.0), leaf(0.5)
    sgd = optim.SGD([w, b], lr=0.1)
    loss = ((w + b) ** 2).sum()
    loss.backward()
    sgd.step()

    report = minigrad.explain(sgd, loss)

    row = report.rows[0]
    assert (row.name, row.parameter is w, row.group) == ("w", True, 0)
    assert row.node.variable is w and row.same and row.reached
    assert row.wrote == 1 == w._version
    text = str(report)
    assert "SGD holds 2 tensors in 1 group" in text and hex(id(w)) in text
    assert "in place, version 0 -> 1" in text and "node.variable is w: True" in text
    assert report.ok and "<table" in report._repr_html_()


def test_explain_finds_what_the_optimizer_does_not_hold():
    w, forgotten, unused = leaf(1.0), leaf(2.0), leaf(3.0)
    sgd = optim.SGD([("first.weight", w), ("unused", unused)])
    loss = (w * forgotten).sum()

    report = minigrad.explain(sgd, loss)

    text = str(report)
    assert report.rows[0].name == "first.weight" and not report.ok
    assert "forgotten is on the tape of this loss, but the optimizer does not hold it" in text
    assert "unused is not on the tape of this loss" in text
    assert "It has not been called yet" in text


def test_explain_says_once_what_is_true_of_several_parameters():
    old, new = nn.Linear(2, 1), nn.Linear(2, 1)
    sgd = optim.SGD(old.parameters(), lr=0.1)
    loss = new(minigrad.ones(1, 2)).sum()

    text = str(minigrad.explain(sgd, loss))

    assert text.count("not on the tape of this loss") == text.count("does not hold") == 1
    assert "old.weight and old.bias are not on the tape of this loss" in text
    assert "no backward pass from it fills their .grad" in text
    assert (
        "are on the tape of this loss, but the optimizer does not hold them: they will not change"
        in text
    )
    assert "old.weight and old.bias require no gradient" in str(
        minigrad.explain(optim.SGD([p.requires_grad_(False) for p in old.parameters()], lr=1.0))
    )


def test_explain_does_not_blame_the_optimizer_for_a_loss_without_a_tape_or_a_frozen_tensor():
    w, frozen = leaf(1.0), leaf(2.0).requires_grad_(False)
    with minigrad.no_grad():
        loss = w * frozen

    text = str(minigrad.explain(optim.SGD([w]), loss))
    assert "This loss has no tape" in text and "computed without w" not in text
    text = str(minigrad.explain(optim.SGD([frozen, w]), w * frozen))
    assert "frozen requires no gradient" in text and "computed without frozen" not in text


def test_explain_says_that_the_gradient_of_a_frozen_parameter_is_still_applied():
    w = with_grad(leaf(1.0), 2.0).requires_grad_(False)
    sgd = optim.SGD([w], lr=0.1)
    sgd.step()

    text = str(minigrad.explain(sgd))

    assert w.item() == 0.8
    assert "w.grad is left from an earlier pass, and step still applies it" in text


def test_explain_does_not_say_that_a_loss_fills_what_its_tape_does_not_reach():
    old, new = leaf(1.0), leaf(2.0)
    sgd = optim.SGD([old], lr=0.1)
    loss = new * new
    loss.backward()
    sgd.step()

    text = str(minigrad.explain(sgd, loss))

    assert "old is not on its tape, and old.grad stays None" in text
    assert "old.grad was None, and step skips such a parameter" in text
    assert "Does the model see it?  No: this loss was computed without old." in text
    assert "itself: True" not in text and "the same object" not in text


def test_explain_knows_what_an_optimizer_of_your_own_wrote():
    x = with_grad(leaf(1.0), -3.0)
    own = SignDescent([x], lr=0.5)
    own.step()

    assert minigrad.explain(own).rows[0].wrote == 1
    with pytest.raises(TypeError, match="explain takes an optimizer"):
        minigrad.explain(x)


def test_warnings_are_not_raised_in_plain_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ps = parameters(minigrad, "dense")
        adam = optim.Adam(ps)
        loss_of(minigrad, "dense", ps, 1).backward()
        adam.step()
