"""Whole training steps as programs: compile."""

import copy
import gc
import os
import pickle
import random
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad
from minigrad import distributions as dist
from minigrad import nn, optim, static
from minigrad.nn import functional as F
from minigrad.static import ProgramError
from tests.numeric import assert_close

OPTIMIZERS = {
    "SGD": lambda ps: optim.SGD(ps, lr=0.1),
    "momentum": lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9),
    "nesterov, decay, maximize": lambda ps: optim.SGD(
        ps, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1, maximize=True
    ),
    "dampening": lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9, dampening=0.5),
    "Adagrad": lambda ps: optim.Adagrad(ps, lr=0.1, lr_decay=0.1, weight_decay=0.01),
    "Adam": lambda ps: optim.Adam(ps, lr=0.01),
    "RMSprop": lambda ps: optim.RMSprop(ps, lr=0.01, momentum=0.5),
}


def net():
    minigrad.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def training(model, optimizer, cost=F.cross_entropy):
    def step(x, y):
        optimizer.zero_grad()
        loss = cost(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def assert_same(a, b):
    """Equal to the last bit."""
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def batches(n=6, rows=5):
    r = np.random.default_rng(0)
    return [
        (
            minigrad.tensor(r.normal(size=(rows, 4)).astype("f")),
            minigrad.tensor(r.integers(0, 3, rows)),
        )
        for _ in range(n)
    ]


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_compiled_step_trains_as_the_eager_step_does(optimizer):
    eager, compiled = net(), net()
    step = training(eager, optimizer(eager.parameters()))
    replayed = static.compile(training(compiled, optimizer(compiled.parameters())))

    for x, y in batches():
        assert_same(replayed(x, y), step(x, y))

    for a, b in zip(eager.parameters(), compiled.parameters(), strict=True):
        assert_same(b, a)
    assert len(replayed.programs) == 1


def test_the_learning_rate_may_be_changed_by_a_schedule():
    eager, compiled = net(), net()
    optimizers = [optim.SGD(m.parameters(), lr=0.5) for m in (eager, compiled)]
    steps = (
        training(eager, optimizers[0]),
        static.compile(training(compiled, optimizers[1])),
    )
    schedules = [optim.lr_scheduler.StepLR(o, step_size=2, gamma=0.1) for o in optimizers]

    for x, y in batches():
        for step, schedule in zip(steps, schedules, strict=True):
            step(x, y)
            schedule.step()

    for a, b in zip(eager.parameters(), compiled.parameters(), strict=True):
        assert_close(b.detach(), a.detach(), rtol=1e-6)


def test_there_is_one_program_for_each_shape():
    model = net()
    step = static.compile(training(model, optim.SGD(model.parameters(), lr=0.1)))

    for rows in (5, 3, 5, 3):
        for x, y in batches(2, rows):
            step(x, y)

    assert len(step.programs) == 2


def test_eager_steps_and_compiled_steps_may_alternate():
    eager, mixed = net(), net()
    reference = training(eager, optim.SGD(eager.parameters(), lr=0.1, momentum=0.9))
    plain = training(mixed, optim.SGD(mixed.parameters(), lr=0.1, momentum=0.9))
    compiled = static.compile(plain)

    for k, (x, y) in enumerate(batches()):
        reference(x, y)
        (compiled if k % 2 else plain)(x, y)

    for a, b in zip(eager.parameters(), mixed.parameters(), strict=True):
        assert_close(b.detach(), a.detach(), rtol=1e-5, atol=1e-6)


def test_without_an_optimizer_the_gradients_are_added_in_grad():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)

    @static.compile
    def step(x):
        (w * x).sum().backward()

    for x, total in (([3.0, 4.0], [3.0, 4.0]), ([5.0, 6.0], [8.0, 10.0])):
        step(minigrad.tensor(x))
        assert w.grad.tolist() == total
    w.grad = None
    step(minigrad.tensor([1.0, 2.0]))
    assert w.grad.tolist() == [1.0, 2.0]


def _adds(w, opt, x):
    (w * w * x).sum().backward()


def _steps_before_it_clears(w, opt, x):
    (w * w * x).sum().backward()
    opt.step()
    opt.zero_grad()


def _never_clears(w, opt, x):
    (w * w * x).sum().backward()
    opt.step()


def _clips(w, opt, x):
    (w * w * x).sum().backward()
    nn.utils.clip_grad_norm_([w], 1.0)


def _clears_by_hand(w, opt, x):
    if w.grad is not None:
        w.grad.zero_()
    (w * w * x).sum().backward()


def _clears_to_zeros(w, opt, x):
    opt.zero_grad(set_to_none=False)
    (w * w * x).sum().backward()


BETWEEN = {
    "nothing": lambda w, opt, k: None,
    "each second step": lambda w, opt, k: (opt.step(), opt.zero_grad()) if k % 2 else None,
    "zeros": lambda w, opt, k: (opt.step(), opt.zero_grad(set_to_none=False)),
    "another backward": lambda w, opt, k: w.sum().backward(),
}


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
@pytest.mark.parametrize(
    "f",
    [_adds, _steps_before_it_clears, _never_clears, _clips, _clears_by_hand, _clears_to_zeros],
)
def test_gradients_are_added_as_in_eager_steps(f, between):
    """A compiled step once replaced what was in .grad, or refused it."""
    runs = []
    for wrap in (lambda step: step, static.compile):
        w = minigrad.tensor([1.0, -2.0], requires_grad=True)
        opt = optim.SGD([w], lr=0.1, momentum=0.5)
        step, seen = wrap(lambda x, w=w, opt=opt: f(w, opt, x)), []
        for k in range(6):
            step(minigrad.tensor([1.0, k]))
            seen.append(w.tolist() + (w.grad.tolist() if w.grad is not None else []))
            between(w, opt, k)
        runs.append(seen)
    for eager, compiled in zip(*runs, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-5)


def _frozen_and_clipped(a, b, opt):
    for p in (a, b):
        if p.grad is not None:
            p.grad.zero_()
    (a * b * 3).sum().backward()
    return nn.utils.clip_grad_norm_([a, b], 1.0)


def _frozen_and_stepped(a, b, opt):
    loss = (a * b).sum()
    loss.backward()
    opt.step()
    return loss


def _norm_of_values(a, b, opt):
    with minigrad.no_grad():
        b.mul_(2)
    return nn.utils.get_total_norm([a, b])


def _clears_after_a_step_of_its_own(a, b, opt):
    asgd = opt.__dict__.setdefault("other", optim.ASGD([a, b], lr=0.1))
    loss = (a * b).sum()
    loss.backward()
    asgd.step()
    asgd.zero_grad()
    return loss


@pytest.mark.parametrize(
    "f",
    [_frozen_and_clipped, _frozen_and_stepped, _norm_of_values, _clears_after_a_step_of_its_own],
)
def test_gradients_of_parameters_that_are_frozen_or_stepped_later_count(f):
    runs = []
    for wrap in (lambda step: step, static.compile):
        a, b = minigrad.ones(2, requires_grad=True), minigrad.full((2,), 2.0, requires_grad=True)
        opt = optim.SGD([a, b], lr=0.1)
        step, seen = wrap(lambda a=a, b=b, opt=opt: f(a, b, opt)), []
        for k in range(6):
            b.requires_grad_(k < 3)
            seen += [*step().detach().reshape(-1).tolist(), *a.tolist(), *b.tolist()]
        runs.append(seen)
    np.testing.assert_allclose(*runs, rtol=1e-5)


def test_a_compiled_update_takes_the_gradients_of_another_compiled_function():
    """It stepped without them: `zero_grad` cleared them while the update was recorded."""
    runs = []
    for wrap in (lambda f: f, static.compile):
        w = minigrad.tensor([1.0, -2.0], requires_grad=True)
        sgd = optim.SGD([w], lr=0.1, momentum=0.5)

        def add(x, w=w):
            (w * w * x).sum().backward()

        def update(w=w, sgd=sgd):
            norm = nn.utils.clip_grad_norm_([w], 1.0)
            sgd.step()
            sgd.zero_grad()
            return norm

        add, update, seen = wrap(add), wrap(update), []
        for k in range(6):
            add(minigrad.tensor([1.0, k]))
            if k % 2:
                seen += [update().item(), *w.tolist(), w.grad]
        runs.append(seen)
    for eager, compiled in zip(*runs, strict=True):
        assert eager == compiled or eager == pytest.approx(compiled)


def test_a_refused_update_keeps_the_gradients_and_reads_no_old_parameter():
    w = minigrad.ones(2, requires_grad=True)
    sgd = optim.SGD([w], lr=0.1)
    w.sum().backward()

    def update():
        sgd.step()
        sgd.zero_grad()
        return w.sum()

    with pytest.raises(ProgramError, match="follows the step of an optimizer"):
        static.compile(update)()
    assert w.grad.tolist() == [1.0, 1.0]


def test_a_gradient_that_is_a_parameter_is_the_one_before_the_step():
    a, b = (minigrad.ones(2, requires_grad=True) for _ in range(2))
    sgd = optim.SGD([b], lr=0.5)

    @static.compile
    def step():
        sgd.zero_grad()
        a.grad = None
        (a * b).sum().backward()
        sgd.step()

    for before in (1.0, 0.5):
        step()
        assert a.grad.tolist() == [before] * 2
        kept = a.grad
    assert b.tolist() == [0.0, 0.0] and kept.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "write", [lambda x: x.mul_(2), lambda x: x[0].zero_(), lambda x: x.data.sub_(1)]
)
def test_a_step_that_writes_to_its_argument_changes_the_tensor_of_the_caller(write):
    step = static.compile(lambda x: (write(x), x + 1)[1])
    for k in (1.0, 2.0):
        given, eager = minigrad.full((2,), k), minigrad.full((2,), k)
        write(eager)
        assert step(given).tolist() == (eager + 1).tolist() and given.tolist() == eager.tolist()


def test_arguments_that_a_program_cannot_follow_are_refused():
    w, b = minigrad.ones(2, requires_grad=True), minigrad.ones(2)
    with pytest.raises(ProgramError, match="an argument of the step requires a gradient"):
        static.compile(lambda w, x: (w * x).sum().backward())(w, b)
    with pytest.raises(ProgramError, match="shares its memory with another one"):
        static.compile(lambda x, y: x.mul_(2) + y)(b, b)
    with pytest.raises(ProgramError, match="shares its memory .* tensor from outside"):
        static.compile(lambda x: x.mul_(2) + b)(b)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        static.compile(lambda x: x.sum().backward())(b)


def test_a_model_and_an_optimizer_may_be_arguments():
    runs = []
    for wrap in (lambda f: f, static.compile):
        model = net()
        model.append(nn.Dropout(0.5))
        opt, losses = optim.Adam(model.parameters(), lr=0.1), []

        def train(model, opt, x, y):
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            return loss

        run = wrap(train)
        for k, (x, y) in enumerate(batches(8)):
            if k == 3:
                model.eval()
            if k == 5:
                model[0].weight.requires_grad_(False)
            if k == 6:
                model = net()
                opt = optim.SGD(model.parameters(), lr=0.1)
            losses.append(run(model, opt, x, y).item())
        runs.append(losses)
    np.testing.assert_allclose(*runs, rtol=1e-5)
    with pytest.raises(ProgramError, match="takes tensors, numbers, .* but got object"):
        static.compile(lambda x, y: x)(minigrad.ones(2), object())


def test_arguments_may_have_any_names():
    """`s2` and the like, which the source uses itself, were searched for a free name without an end."""
    step = static.compile(lambda s, s2, v1, b0_1, array, np: s + s2 * v1 - b0_1 * array + np)
    assert step(*[minigrad.tensor(k) for k in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)]).item() == -7


def test_a_compiled_function_may_call_another_one():
    inner = static.compile(lambda x: x * 2)
    outer = static.compile(lambda x: inner(x) + 1)
    assert [outer(minigrad.tensor(k)).item() for k in (1.0, 2.0)] == [3.0, 5.0]


def test_an_update_by_hand_is_written_down():
    w = minigrad.tensor([4.0], requires_grad=True)

    @static.compile
    def step(x):
        loss = ((w - x) ** 2).sum()
        loss.backward()
        with minigrad.no_grad():
            w.sub_(w.grad * 0.25)
        w.grad = None
        return loss

    losses = [step(minigrad.tensor([0.0])).item() for _ in range(3)]
    assert losses == [16.0, 4.0, 1.0] and w.item() == 0.5 and w.grad is None


def _by_hand(w, b, loss):
    loss.backward()
    w.data -= 0.1 * w.grad.data
    w.grad = None


def _clipped_weights(w, b, loss):
    _by_hand(w, b, loss)
    w.data.clamp_(-0.5, 0.5)


def _new_data(w, b, loss):
    _by_hand(w, b, loss)
    w.data = w.data * 0.9


def _average(w, b, loss):
    _by_hand(w, b, loss)
    b.data.copy_(0.9 * b.data + 0.1 * w.data)


def _chained(w, b, loss):
    _by_hand(w, b, loss)
    b.detach().mul_(0.9).add_(w.detach(), alpha=0.1)


def _an_entry(w, b, loss):
    _by_hand(w, b, loss)
    b.data[0] = w.data[1]


def _twice_removed(w, b, loss):
    _by_hand(w, b, loss)
    b.data.detach().view(-1).fill_(w.data.data[0])


@pytest.mark.parametrize(
    "update",
    [_by_hand, _clipped_weights, _new_data, _average, _chained, _an_entry, _twice_removed],
)
def test_a_write_through_data_or_detach_is_a_write_to_the_tensor(update):
    """These once wrote to a copy: a compiled step with p.data.clamp_() did not change p."""
    results = []
    for compiled in (False, True):
        w = minigrad.tensor([1.0, -2.0], requires_grad=True)
        b = minigrad.tensor([0.5, 0.25])

        def step(x, w=w, b=b):
            loss = ((w * x + b) ** 2).sum()
            update(w, b, loss)
            return loss

        f = static.compile(step) if compiled else step
        losses = [f(minigrad.tensor([1.0, k])).item() for k in (1.0, 2.0, 3.0)]
        results.append([*losses, *w.tolist(), *b.tolist()])
    assert_close(*results, rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda w, x: w * x + w.detach() * x,
        lambda w, x: w.data * x + w * x,
        lambda w, x: w * x + w.data.view(1, 2)[0] * x,
        lambda w, x: w * w.detach().exp() * x,
    ],
)
def test_no_gradient_flows_through_the_detached_values_of_a_parameter(f):
    """It did if the step had used the parameter itself before."""
    x = minigrad.tensor([1.0, 3.0])
    grads = []
    for wrap in (lambda step: step, static.compile):
        w = minigrad.tensor([1.0, -2.0], requires_grad=True)
        step = wrap(lambda x, w=w: (f(w, x) ** 2).sum().backward())
        step(x)
        grads.append(w.grad)
    assert_close(*grads, rtol=1e-6)


def test_the_gradient_of_each_value_that_a_step_gives_a_parameter_is_added():
    x = minigrad.tensor([1.0, 3.0])
    calls = []
    grads = []
    for wrap in (lambda step: step, static.compile):
        w = minigrad.tensor([1.0, -2.0], requires_grad=True)
        w.register_hook(lambda g: calls.append(g.shape))

        def step(x, w=w):
            w.grad = None
            total = (w * x).sum()
            for factor in (0.5, 3.0):
                with minigrad.no_grad():
                    w.mul_(factor)
                total = total + (w * x).sum() * factor
            total.backward()

        wrap(step)(x)
        grads.append(w.grad)
    assert_close(*grads)
    assert len(calls) == 2  # once in each run, with the whole gradient


def test_a_view_of_a_parameter_shows_what_the_step_wrote_to_it():
    b = minigrad.tensor([1.0, 2.0])

    @static.compile
    def step(x):
        first = b[:1]
        z = first * x
        b.mul_(2.0)
        return z, first * x

    for k in (1.0, 2.0):
        before, after = step(minigrad.tensor([1.0]))
        assert (before.item(), after.item()) == (k, 2 * k)


def test_a_program_of_a_function_refuses_to_write_to_the_data_of_a_tensor_from_outside():
    w = minigrad.ones(2)
    with pytest.raises(ProgramError, match="from outside the recorded function"):
        static.record(lambda x: w.data.mul_(x))(minigrad.ones(2))
    with pytest.raises(ProgramError, match="another shape or dtype"):
        static.record(lambda x: setattr(w, "data", x[:1]))(minigrad.ones(2))


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: x.sigmoid().bernoulli(),
        lambda x: minigrad.cat([x, 3 * x, -x]).softmax(0).multinomial(2),
        lambda x: minigrad.cat([x, 3 * x, -x]).softmax(0).multinomial(2, replacement=True),
        lambda x: x.new_empty(2).normal_(),
        lambda x: x.data.new(x.size()).uniform_(-1, 1),
        lambda x: minigrad.normal(x, x.exp()),
    ],
)
def test_methods_that_draw_draw_anew_in_each_run(draw):
    runs = []
    for wrap in (lambda f: f, static.compile):
        minigrad.manual_seed(2)
        f = wrap(lambda x: draw(x) * x)
        runs.append([f(minigrad.tensor([0.5, k])) for k in (0.1, 0.2, 0.3)])
    for eager, compiled in zip(*runs, strict=True):
        assert_close(compiled, eager, rtol=1e-6)


def test_a_step_without_arguments_reads_what_it_captured():
    w = minigrad.tensor([3.0], requires_grad=True)
    x = minigrad.tensor([2.0])

    @static.compile
    def step():
        w.grad = None
        (w * x * x).sum().backward()

    step()
    assert w.grad.tolist() == [4.0]
    x.fill_(3.0)
    step()
    assert w.grad.tolist() == [9.0]


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_bpr_with_sparse_rows_trains_as_the_eager_one(name):
    def tables():
        minigrad.manual_seed(0)
        return nn.Embedding(7, 4, sparse=True), nn.Embedding(9, 4, sparse=True)

    def minibatch(U, V, optimizer):
        def step(u, i, j):
            optimizer.zero_grad()
            loss = -F.logsigmoid((U(u) * (V(i) - V(j))).sum(1)).sum()
            loss.backward()
            optimizer.step()
            return loss

        return step

    pairs = [tables(), tables()]
    steps = [minibatch(U, V, getattr(optim, name)([U.weight, V.weight], lr=0.1)) for U, V in pairs]
    steps[1] = static.compile(steps[1])
    r = np.random.default_rng(1)
    for _ in range(5):
        triple = [minigrad.tensor(r.integers(0, n, 6)) for n in (7, 9, 9)]
        a, b = (step(*triple) for step in steps)
        assert_close(b, a.detach(), rtol=1e-5)

    for (U, V), (U2, V2) in [pairs]:
        assert_close(U2.weight.detach(), U.weight.detach(), rtol=1e-5, atol=1e-6)
        assert_close(V2.weight.detach(), V.weight.detach(), rtol=1e-5, atol=1e-6)
    if name == "SGD":
        assert "add.at(" in steps[1].source() and "zeros" not in steps[1].source()


def test_a_step_counts_as_a_write_to_each_parameter():
    model = net()
    step = static.compile(training(model, optim.SGD(model.parameters(), lr=0.1)))
    x, y = batches(1)[0]
    step(x, y)
    loss = F.cross_entropy(model(x), y)

    step(x, y)

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_value_that_the_step_has_written_over_cannot_be_read():
    w = minigrad.tensor([2.0], requires_grad=True)
    sgd = optim.SGD([w], lr=0.1)

    @static.compile
    def step(x):
        first, second = (w * x).sum(), (w * w * x).sum()
        first.backward()
        sgd.step()
        second.backward()

    with pytest.raises(ProgramError, match="modified by an inplace operation"):
        step(minigrad.ones(1))


def test_a_step_may_hold_two_steps():
    def twice(w, sgd):
        def step(x):
            for _ in range(2):
                sgd.zero_grad()
                (w * w * x).sum().backward()
                sgd.step()

        return step

    tensors = [minigrad.tensor([2.0, 3.0], requires_grad=True) for _ in range(2)]
    steps = [twice(w, optim.SGD([w], lr=0.1, momentum=0.5)) for w in tensors]
    steps[1] = static.compile(steps[1])
    for step in steps:
        for _ in range(3):
            step(minigrad.ones(2))

    assert_close(tensors[1].detach(), tensors[0].detach(), rtol=1e-6)


def test_a_value_asked_for_in_a_step_is_refused_and_nothing_is_left_behind():
    model = net()

    @static.compile
    def step(x):
        loss = model(x).sum()
        loss.backward()
        return loss.item()

    with pytest.raises(ProgramError, match="nothing was computed"):
        step(minigrad.ones(2, 4))
    assert all(p.grad is None for p in model.parameters())
    model(minigrad.ones(2, 4)).sum().backward()  # and eager code works as before
    assert all(p.grad is not None for p in model.parameters())


def test_hogwild_with_compiled_steps_in_threads():
    from threading import Thread

    table = nn.Embedding(50, 4, sparse=True)
    target = minigrad.ones(8, 4)

    def worker(seed):
        optimizer = optim.SGD([table.weight], lr=0.05)

        @static.compile
        def step(rows):
            optimizer.zero_grad()
            loss = ((table(rows) - target) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        r = np.random.default_rng(seed)
        for _ in range(400):
            step(r.integers(0, 50, 8))

    threads = [Thread(target=worker, args=(seed,)) for seed in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

    # Racing threads may lose an update now and then; all rows arrive near their target.
    assert float(abs(table.weight.detach() - 1).max()) < 0.05


# ------------------------------------------------------------------ the same as eager, to the last bit


def assert_trains_as_eager(make, steps=20):
    """make() gives a step, tensors to look at afterwards, and inputs for each step."""
    results = []
    for compiled in (False, True):
        minigrad.manual_seed(0)
        step, watched, inputs = make(np.random.default_rng(0))
        run = static.compile(step) if compiled else step
        losses = [run(*inputs()).item() for _ in range(steps)]
        results.append((losses, [x.detach().numpy().copy() for x in watched()], minigrad.rand(1)))
    (losses, tensors, after), (losses2, tensors2, after2) = results
    assert losses == losses2
    for a, b in zip(tensors, tensors2, strict=True):
        np.testing.assert_array_equal(a, b)
    assert after.item() == after2.item()  # the stream of random numbers is where it would be


def numbers(r, *shape):
    return minigrad.tensor(r.normal(size=shape).astype("f"))


def watched_of(model, optimizer):
    def watched():
        kept = [x for s in optimizer.state.values() for x in s.values() if hasattr(x, "detach")]
        return [*model.state_dict().values(), *kept]

    return watched


ALL_OPTIMIZERS = {
    **OPTIMIZERS,
    "AdamW": lambda ps: optim.AdamW(ps, lr=0.01),
    "amsgrad": lambda ps: optim.Adam(ps, lr=0.01, amsgrad=True, weight_decay=0.1),
    "centered": lambda ps: optim.RMSprop(ps, lr=0.01, momentum=0.5, centered=True),
    "Adadelta": optim.Adadelta,
    "Adamax": optim.Adamax,
    "NAdam": optim.NAdam,
    "RAdam": lambda ps: optim.RAdam(ps, lr=0.1),
    "Rprop": optim.Rprop,
}


@pytest.mark.parametrize("optimizer", ALL_OPTIMIZERS.values(), ids=ALL_OPTIMIZERS)
def test_every_optimizer_takes_its_own_step_with_clipping_and_a_schedule(optimizer):
    def make(r):
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1200), nn.Linear(1200, 3))
        opt = optimizer(model.parameters())
        schedule = optim.lr_scheduler.StepLR(opt, step_size=3, gamma=0.5)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            opt.step()
            return loss

        def inputs():
            if opt._has_stepped:
                schedule.step()
            return numbers(r, 5, 4), minigrad.tensor(r.integers(0, 3, 5))

        return step, watched_of(model, opt), inputs

    assert_trains_as_eager(make)


def test_convolution_dropout_and_batch_norm():
    def make(r):
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.3), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(36, 10), nn.BatchNorm1d(10), nn.Dropout(0.5),
        )  # fmt: skip
        opt = optim.Adam(model.parameters(), lr=0.01)
        inputs = lambda: (numbers(r, 6, 1, 8, 8), minigrad.tensor(r.integers(0, 10, 6)))
        return training(model, opt), watched_of(model, opt), inputs

    assert_trains_as_eager(make)


@pytest.mark.parametrize("shape", [(7,), (1, 7), (9, 1)])
def test_the_gradient_of_what_was_broadcast_is_added_up_in_the_order_of_eager(shape):
    def make(r):
        w, x = minigrad.zeros(*shape, requires_grad=True), numbers(r, 9, 7)
        opt = optim.SGD([w], lr=0.1)
        inputs = lambda: (x, numbers(r, 9, 7))
        return training(lambda x: x * w + x, opt, F.mse_loss), lambda: [w], inputs

    assert_trains_as_eager(make)


def test_an_lstm_with_layers_and_dropout():
    def make(r):
        body, head = (
            nn.LSTM(5, 8, num_layers=2, dropout=0.2, batch_first=True),
            nn.Linear(8, 2),
        )
        model = nn.ModuleList([body, head])
        opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(head(body(x)[0][:, -1]), y)
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.05)
            opt.step()
            return loss

        inputs = lambda: (numbers(r, 4, 6, 5), minigrad.tensor(r.integers(0, 2, 4)))
        return step, watched_of(model, opt), inputs

    assert_trains_as_eager(make)


@pytest.mark.parametrize("batch", [5, 20, 100])
@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_bpr_with_sparse_rows(name, batch):
    def make(r):
        model = nn.ModuleList([nn.Embedding(n, 4, sparse=True) for n in (50, 30)])
        U, V = model
        opt = getattr(optim, name)(model.parameters(), lr=0.1)

        def step(u, i, j):
            opt.zero_grad()
            loss = -F.logsigmoid((U(u) * (V(i) - V(j))).sum(1)).sum()
            loss.backward()
            opt.step()
            return loss

        inputs = lambda: [minigrad.tensor(r.integers(0, n, batch)) for n in (50, 30, 30)]
        return step, watched_of(model, opt), inputs

    assert_trains_as_eager(make)


def test_the_whole_step_stands_in_the_source():
    model = net()
    step = static.compile(training(model, optim.Adam(model.parameters(), lr=0.1)))
    x, y = batches(1)[0]
    step(x, y)

    # The four gradients lie in one row from the beginning: one square root for all of them.
    assert step.source().count("sqrt(") == 1 and "cat" not in step.source()
    assert step.source().count("subtract(p") == 4


def test_gradients_of_small_parameters_are_computed_where_the_optimizer_wants_them():
    model = net()
    step = static.compile(training(model, optim.SGD(model.parameters(), lr=0.1)))
    x, y = batches(1)[0]
    step(x, y)

    assert " = empty(67, float32)" in step.source()  # 4 * 8 + 8 + 8 * 3 + 3 values


def test_training_and_evaluation_are_two_programs():
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))
    run = static.compile(lambda x: model(x))
    x = minigrad.ones(4, 3)

    first, second = run(x), run(x)
    assert (first != second).any()
    model.eval()
    assert_same(run(x), model(x))
    assert_same(run(x), run(x))


def test_draws_are_anew_in_each_run_and_go_on_with_the_stream():
    x = minigrad.ones(3)
    program = static.record(lambda x: F.dropout(x, 0.5) + minigrad.rand(3) * minigrad.rand(3))(x)

    for run in (program, program.plan()):
        minigrad.manual_seed(1)
        expected = [F.dropout(x, 0.5) + minigrad.rand(3) * minigrad.rand(3) for _ in range(3)]
        minigrad.manual_seed(1)
        for e in expected:
            assert_same(run(x), e)
    assert any("drawn again" in note for note in program.notes)


def test_recording_draws_no_random_numbers():
    minigrad.manual_seed(0)
    expected = minigrad.rand(2)
    minigrad.manual_seed(0)
    program = static.record(lambda x: F.dropout(x, 0.5).sum())(minigrad.ones(3))
    program.gradient().plan()

    assert_same(minigrad.rand(2), expected)


def test_an_optimizer_with_loaded_state_is_recorded_anew():
    def make(r):
        model = net()
        opt = optim.Adam(model.parameters(), lr=0.05)
        count = [0]

        def inputs():
            count[0] += 1
            if count[0] == 5:
                opt.load_state_dict(opt.state_dict())
            return numbers(r, 5, 4), minigrad.tensor(r.integers(0, 3, 5))

        return training(model, opt), watched_of(model, opt), inputs

    assert_trains_as_eager(make)


def test_two_steps_of_an_optimizer_that_counts():
    def make(r):
        model = net()
        opt = optim.Adam(model.parameters(), lr=0.05)
        once = training(model, opt)

        def step(x, y):
            once(x, y)
            return once(x, y)

        inputs = lambda: (numbers(r, 5, 4), minigrad.tensor(r.integers(0, 3, 5)))
        return step, watched_of(model, opt), inputs

    assert_trains_as_eager(make, 5)


def test_a_sum_that_the_step_has_begun_itself_begins_anew_in_each_run():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)

    @static.compile
    def step(x):
        w.grad = None
        total = minigrad.zeros(())
        for k in range(2):
            total += (w * x).sum() * k
        total.backward()
        return total

    x = minigrad.tensor([3.0, 4.0])
    assert [step(x).item() for _ in range(3)] == [11.0] * 3 and w.grad.tolist() == [3.0, 4.0]


def test_hogwild_and_minibatches_through_a_plan():
    from minigrad.teach import hogwild

    likes = hogwild.invented()
    eager, planned, together = (hogwild.new_model() for _ in range(3))
    before = hogwild.loss_of(eager, likes)

    hogwild.learn(0, eager, likes, 200)
    hogwild.learn(0, planned, likes, 200, plan=True)
    for a, b in zip(eager, planned, strict=True):
        assert_same(a, b)

    hogwild.hogwild(together, likes, 1500, plan=True)
    assert hogwild.loss_of(together, likes) < before - 0.04


def test_adagrad_writes_each_row_once_however_often_and_from_whichever_end_it_is_named():
    from minigrad.optim.adaptive import adagrad_rows

    table, sums = np.ones((40, 3), np.float32), np.zeros((40, 3), np.float32)
    lr = np.array(0.5, np.float32)
    first, second = np.array([2, -1, 2]), np.array([[39], [0]])
    ones = np.ones((3, 3), np.float32)
    adagrad_rows(table, sums, lr, 0.0, first, ones, second, ones[:2].reshape(2, 1, 3))

    assert sums[[0, 2, 39], 0].tolist() == [1.0, 4.0, 4.0]
    assert table[[0, 2, 39], 0].tolist() == [0.5, 0.5, 0.5]
    assert table.sum() == 40 * 3 - 3 * 3 * 0.5


def test_sparse_adam_refuses_dense_gradients_as_in_an_eager_step():
    w = minigrad.ones(3).requires_grad_()
    optimizer = minigrad.optim.SparseAdam([w])

    @minigrad.static.compile
    def step(x):
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss

    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        step(minigrad.ones(3))


def _leaf_hook(w):
    w.register_hook(lambda g: g * 7)


def _hook_after_accumulation(w):
    def scale(leaf):
        leaf.grad.mul_(11)

    w.register_post_accumulate_grad_hook(scale)


def _hook_before_the_node(w):
    w.sum().grad_fn.next_functions[0][0].register_prehook(lambda grads: (grads[0] - 1,))


def _step_in_a_hook(w):
    opt = optim.SGD([w], lr=0.5)

    def step(leaf):
        opt.step()

    w.register_post_accumulate_grad_hook(step)


@pytest.mark.parametrize(
    "hooked", [_leaf_hook, _hook_after_accumulation, _hook_before_the_node, _step_in_a_hook]
)
def test_hooks_of_parameters_are_part_of_the_step(hooked):
    found = []
    for compiled in (False, True):
        w = minigrad.tensor([1.0, -2.0], requires_grad=True)
        hooked(w)

        def step(x, w=w):
            w.grad = None
            (w * w * x).sum().backward()

        run = static.compile(step) if compiled else step
        for k in (1.0, 2.0, 3.0):
            run(minigrad.full((2,), k))
        # with an optimizer, a program does not leave the gradients in .grad
        found.append(w.tolist() if hooked is _step_in_a_hook else w.grad.tolist())

    assert found[0] == found[1]


class Steep(minigrad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * 50


@pytest.mark.parametrize(
    "in_the_backward_pass",
    [
        lambda x, w: Steep.apply(x * w).sum().backward(),
        lambda x, w: (Steep.apply(w) * x).sum().backward(),  # would be frozen in the program
        lambda x, w: (x * w).register_hook(lambda g: g * 5),
        lambda x, w: (x * w).retain_grad(),
        lambda x, w: with_backward_hook()(x * w).sum().backward(),
    ],
)
def test_code_that_runs_in_the_backward_pass_is_refused_while_a_step_is_recorded(
    in_the_backward_pass,
):
    w = minigrad.ones(2, requires_grad=True)
    step = static.compile(lambda x: in_the_backward_pass(x, w))

    with pytest.raises(ProgramError, match="cannot be recorded: it is Python code that runs"):
        step(minigrad.ones(2))


def test_grad_of_a_value_of_a_program_says_what_to_write():
    with pytest.raises(RuntimeError, match="To fix it, write loss.backward"):
        static.record(lambda x: minigrad.autograd.grad((x * x).sum(), x))(minigrad.ones(2))


def _reparametrized(x):
    q = dist.Independent(dist.Normal(x, x.exp()), 1)
    return q.rsample().square().sum() + dist.kl_divergence(
        q, dist.Independent(dist.Normal(minigrad.zeros(2), minigrad.ones(2)), 1)
    )


def _policy(x):
    actions = dist.Categorical(logits=x).sample((5,))
    return dist.Categorical(logits=x).log_prob(actions).mean()


def _squashed(x):
    d = dist.TransformedDistribution(dist.Normal(x, 1.0), [dist.TanhTransform(cache_size=1)])
    action = d.rsample()
    return action.sum() - d.log_prob(action).sum()


@pytest.mark.parametrize(
    "f",
    [
        _reparametrized,
        _policy,
        _squashed,
        lambda x: dist.Uniform(x, x + 2.0).rsample().sum(),
        lambda x: dist.Bernoulli(logits=x).log_prob(dist.Bernoulli(logits=x).sample()).sum(),
        lambda x: dist.Multinomial(4, logits=x).log_prob(dist.Multinomial(4, logits=x).sample()),
        lambda x: (
            dist.MultivariateNormal(x, scale_tril=minigrad.diag_embed(x.exp())).rsample().sum()
        ),
        lambda x: dist.Normal(0.0, 1.0).sample((2,)) @ x,
        lambda x: dist.RelaxedOneHotCategorical(minigrad.tensor(0.5), logits=x).rsample()[0],
        lambda x: dist.Geometric(x.sigmoid()).entropy().sum(),
    ],
)
def test_distributions_are_part_of_a_step_and_sample_anew_in_each_run(f):
    results = []
    for wrap in (lambda f: f, static.compile):
        w = minigrad.tensor([0.25, -0.5], requires_grad=True)
        step = wrap(training(lambda x, w=w: f(w * x), optim.SGD([w], lr=0.1), lambda z, y: z * y))
        minigrad.manual_seed(4)
        losses = [
            step(minigrad.tensor([1.0, k]), minigrad.tensor(1.0)).item() for k in (1.0, 2.0, 3.0)
        ]
        results.append([*losses, *w.tolist()])
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "write",
    [
        lambda b, y: b.add_(y),
        lambda b, y: b.copy_(y),
        lambda b, y: b[:1].add_(y[1:]),
        lambda b, y: [b.zero_(), [b[i].add_(y[i] * 2) for i in range(2)]],
        lambda b, y: [b.copy_(y), b.data.mul_(0.5)],
        lambda b, y: b.detach().add_(y),
    ],
)
def test_the_gradient_flows_through_what_a_step_writes_into_a_tensor_from_outside(write):
    """As into a result that is allocated once. These gradients were lost."""
    x = minigrad.tensor([1.0, 3.0])
    grads = []
    for wrap in (lambda f: f, static.compile):
        w, b = minigrad.tensor([1.0, -2.0], requires_grad=True), minigrad.tensor([0.5, 0.25])

        def step(x, w=w, b=b):
            y = w * x
            write(b, y)
            ((b * x).square().sum() + y.sum()).backward()

        wrap(step)(x)
        grads.append([*w.grad.tolist(), *b.tolist()])
    assert_close(*grads, rtol=1e-6)


def test_a_step_that_writes_to_a_parameter_outside_of_no_grad_is_refused_as_an_eager_one():
    w = minigrad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        static.compile(lambda x: w.add_(x))(minigrad.ones(2))


class Normalized(nn.Module):
    """Spectral normalization as it is often written: one step of power iteration, through u.data."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(minigrad.tensor([[1.0, 2.0], [3.0, -1.0]]))
        self.register_buffer("u", minigrad.tensor([0.6, 0.8]))
        self.seen = minigrad.zeros(2)

    def forward(self, x):
        v = F.normalize(self.u @ self.weight, dim=0)
        scaled = x @ (self.weight / (self.u @ self.weight @ v)).T
        self.u.data = F.normalize(self.weight.data @ v.data, dim=0)
        self.seen = minigrad.zeros(2)  # a new one in each call
        self.seen[0] += x.sum()
        return scaled


def test_new_data_and_renewed_attributes_are_those_of_an_eager_step():
    runs = []
    for wrap in (lambda f: f, static.compile):
        layer = Normalized()
        optimizer = optim.SGD(layer.parameters(), lr=0.1)

        def step(x, layer=layer, optimizer=optimizer):
            optimizer.zero_grad()
            loss = layer(x).square().mean()
            loss.backward()
            for p in layer.parameters():
                p.grad.data *= 0.5
            optimizer.step()
            return loss

        f = wrap(step)
        losses = [f(minigrad.tensor([[1.0, k]])).item() for k in (1.0, 2.0, 3.0)]
        runs.append(
            [*losses, *layer.u.tolist(), *layer.weight.view(-1).tolist(), *layer.seen.tolist()]
        )
    np.testing.assert_allclose(*runs, rtol=1e-5)


def with_backward_hook():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, given, received: None)
    return layer


def test_what_follows_the_step_of_an_optimizer_that_is_not_recorded_is_refused():
    w, mean = minigrad.ones(2, requires_grad=True), minigrad.ones(2)
    opt = optim.ASGD([w])

    @static.compile
    def step(x):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        with minigrad.no_grad():
            mean.mul_(0.9).add_(w, alpha=0.1)

    with pytest.raises(
        ProgramError, match="follows the step of an optimizer that cannot be recorded"
    ):
        step(minigrad.ones(2))


def test_the_step_of_a_schedule_is_refused_since_it_would_be_taken_once():
    w = minigrad.ones(2, requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    halving = optim.lr_scheduler.StepLR(opt, 1, 0.5)

    @static.compile
    def step(x):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        halving.step()

    with pytest.raises(ProgramError, match="To fix it, call it after the compiled function"):
        step(minigrad.ones(2))


class Remembering(nn.Module):
    """Assigns attributes as modules written by hand do: a running mean, the weights of the last call, a count."""

    def __init__(self, registered):
        super().__init__()
        self.scale = nn.Parameter(minigrad.ones(3))
        if registered:
            self.register_buffer("mean", minigrad.zeros(3))
        else:
            self.mean = minigrad.zeros(3)
        self.weights, self.calls = None, minigrad.tensor(0.0)

    def forward(self, x):
        mean = x.mean(0)
        centered = x - self.mean
        self.mean = 0.9 * self.mean + 0.1 * mean.detach()
        self.weights = (x * self.scale).softmax(1)
        self.calls = self.calls + 1
        self.sum = minigrad.zeros(())
        for row in x:
            self.sum = self.sum + row.sum()
        return centered * self.scale * self.calls + self.weights


@pytest.mark.parametrize("registered", [True, False])
def test_the_attributes_that_a_module_assigns_are_kept_from_run_to_run(registered):
    """Each once became a Slot of the program, and a running mean kept the value it was recorded with."""
    seen = []
    for wrap in (lambda f: f, static.compile):
        module = Remembering(registered)
        step = wrap(
            training(
                module, optim.SGD(module.parameters(), lr=0.1), lambda z, y: (z - y).square().mean()
            )
        )
        for rows in (4, 2, 4, 2):  # two programs, which share the running mean
            x = minigrad.arange(3.0 * rows).view(rows, 3) / 10
            loss = step(x, x.flip(0))
            kept = [module.mean, module.weights, module.calls, module.sum]
            seen.append([loss.item(), *(v for t in kept for v in t.detach().reshape(-1).tolist())])
        module.eval()(x)  # an eager call still works
    for eager, compiled in zip(seen[:4], seen[4:], strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-5)


def test_a_program_of_a_function_leaves_the_attributes_of_a_module_alone():
    module = Remembering(registered=True)
    before = module.mean
    static.record(module)(minigrad.ones(2, 3))
    assert module.mean is before and module.weights is None and module.calls.item() == 0

    class Broken(Remembering):
        def forward(self, x):
            return super().forward(x).item()

    module = Broken(registered=False)
    with pytest.raises(ProgramError):
        static.record(module)(minigrad.ones(2, 3))
    assert module.weights is None


def test_an_attribute_that_a_step_reads_and_reshapes_is_refused():
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = minigrad.zeros(1, 2)

        def forward(self, x):
            self.kept = minigrad.cat([self.kept, x])
            return self.kept.sum()

    cache = Cache()
    with pytest.raises(
        ProgramError, match=r"Cache.kept, which it reads, another shape.* \(2, 2\) .*\(1, 2\)"
    ):
        static.compile(cache)(minigrad.ones(1, 2))
    assert cache.kept.shape == (1, 2)


@pytest.mark.parametrize(
    "ask", [int, lambda t: t.item(), lambda t: t.data.tolist()[0], lambda t: t.numpy()[0]]
)
def test_a_number_that_a_step_reads_and_then_changes_is_refused(ask):
    """As in a queue with a pointer: each run would write to the same place."""
    queue, place = minigrad.zeros(4), minigrad.zeros(1, dtype=minigrad.int64)

    @static.compile
    def step(x):
        k = int(ask(place))
        queue[k : k + 2] = x
        place[0] = (k + 2) % 4
        return queue.sum()

    with pytest.raises(ProgramError, match=r"reads its values as Python numbers"):
        step(minigrad.ones(2))


def test_a_cumulative_average_of_batches_is_refused_in_a_step():
    layer = nn.BatchNorm1d(2, momentum=None)  # divides by the number of batches so far
    with pytest.raises(ProgramError, match="reads its values as Python numbers"):
        static.compile(layer)(minigrad.ones(3, 2))


def test_jacobian_of_a_value_of_a_program_says_what_to_write():
    def f(x):
        return minigrad.autograd.functional.jacobian(lambda y: y * 2, x)

    with pytest.raises(RuntimeError, match="cannot be recorded in a program"):
        static.record(f)(minigrad.ones(2))


def test_a_part_of_a_buffer_may_be_told_that_it_needs_no_gradient():
    table = minigrad.arange(4.0)
    program = static.record(lambda x: x + table[:2].requires_grad_(False))
    assert program(minigrad.ones(2))(minigrad.ones(2)).tolist() == [1.0, 2.0]


def test_a_variable_from_outside_that_a_step_reads_and_replaces_is_refused():
    """As a hidden state: each run would begin with the same one."""
    h = minigrad.zeros(2)
    last = None

    @static.compile
    def step(x):
        nonlocal h
        h = (h + x).tanh()
        return h.sum()

    @static.compile
    def kept(x):
        nonlocal last
        last = (h + x).tanh()
        return last.sum()

    with pytest.raises(ProgramError, match="reads h from outside, and replaces it"):
        step(minigrad.ones(2))
    h = minigrad.zeros(2)
    assert kept(minigrad.zeros(2)).item() == 0


def test_inputs_and_results_may_be_nested_and_named(capsys):
    @static.compile
    def step(batch, *, scale, mask=None):
        print("recorded")
        x, (y, more) = batch
        z = x * y + more["bias"] * scale
        if mask is not None:
            z = z * mask["kept"]
        return {"sum": z.sum(), "parts": [z, (z.max(), "name", 3, None)], "top": z.topk(1)}

    x, y = minigrad.ones(2), minigrad.tensor([1.0, 2.0])
    batch = (x, [y, {"bias": minigrad.tensor([0.5, 0.0])}])
    for factor in (1.0, 3.0):
        z = step(batch, scale=factor)
        assert z["sum"].item() == 3 + 0.5 * factor
        assert (
            z["parts"][1][1:] == ("name", 3, None)
            and z["parts"][1][0].item() == z["top"].values.item()
        )
    masked = step(batch, scale=1.0, mask={"kept": minigrad.tensor([1.0, 0.0])})
    assert masked["parts"][0].tolist() == [1.5, 0.0]
    assert step(batch, scale=2.0)["sum"].item() == 4
    assert capsys.readouterr().out.split() == ["recorded"] * 2 and len(step.programs) == 2


@pytest.mark.parametrize("draw", [lambda: np.random.rand(), lambda: random.random()])
def test_random_numbers_of_numpy_and_python_are_refused_in_a_step(draw):
    with pytest.raises(ProgramError, match="random numbers of NumPy or Python"):
        static.compile(lambda x: x * draw())(minigrad.ones(2))


def test_an_index_that_is_out_of_range_in_a_later_run_is_explained():
    step = static.compile(F.cross_entropy)
    x = minigrad.ones(2, 3)
    step(x, minigrad.tensor([0, 1]))
    for wrong in (3, -100):
        with pytest.raises(
            ProgramError, match="an index of this run is out of range.*targets to ignore"
        ):
            step(x, minigrad.tensor([0, wrong]))


class Trainer:
    def __init__(self, start):
        self.w = minigrad.full((2,), start, requires_grad=True)
        self.adam, self.calls = optim.Adam([self.w], lr=0.1), 0

    def eager_step(self, x):
        self.adam.zero_grad()
        loss = ((self.w - x) ** 2).sum()
        loss.backward()
        self.adam.step()
        self.calls += 1
        return loss

    step = static.compile(eager_step)


class DerivedTrainer(Trainer):
    @static.compile
    def step(self, x):
        return super().step(x) * 2

    def eager_step(self, x):
        return super().eager_step(x) * 2


def test_a_compiled_method_has_programs_for_each_object():
    made = [Trainer(1.0), Trainer(2.0), DerivedTrainer(1.0)]
    made += [copy.copy(made[0]), copy.deepcopy(made[1])]
    eager = copy.deepcopy(made)
    x = minigrad.full((2,), 3.0)

    for _ in range(3):
        for trainer, other in zip(made, eager, strict=True):
            assert trainer.step(x).item() == other.eager_step(x).item()
            assert trainer.calls == other.calls
    made[0].step(x)
    copied = [copy.copy(made[0]), copy.deepcopy(made[0]), pickle.loads(pickle.dumps(made[0]))]
    assert (
        len({t.step(x).item() for t in copied[1:]}) == 1 and copied[0].step.f.__self__ is copied[0]
    )
    alive = weakref.ref(made[2])
    del made, trainer
    gc.collect()
    assert alive() is None


def test_a_class_method_is_compiled_for_the_class():
    class Model:
        scale = 2.0

        @classmethod
        @static.compile
        def run(cls, x):
            return x * cls.scale

    assert Model.run(minigrad.tensor(3.0)).item() == Model().run(minigrad.tensor(3.0)).item() == 6.0
    Model.scale = 3.0
    assert Model.run(minigrad.tensor(3.0)).item() == 9.0


@pytest.mark.parametrize(
    "call, changed",
    [
        (lambda f, k: f(minigrad.ones(k + 1)), "the shape of x"),
        (lambda f, k: f(minigrad.ones(2), str(k)), "an object among them"),
    ],
)
def test_programs_for_ever_new_arguments_are_warned_of_and_bounded(call, changed):
    f = static.compile(lambda x, name="": x * 2)

    with pytest.warns(UserWarning, match=f"recorded <lambda> 9 times, because .*{changed}"):
        for k in range(40):
            call(f, k)
    assert len(f.programs) == 32


def test_an_index_out_of_range_leaves_the_count_of_steps_as_it_was():
    w = minigrad.ones(3, requires_grad=True)
    adam = optim.Adam([w], lr=0.1)

    @static.compile
    def step(i):
        adam.zero_grad()
        w[i].sum().backward()
        adam.step()

    for _ in range(2):
        step(minigrad.tensor([0, 1]))
    with pytest.raises(ProgramError, match="out of range"):
        step(minigrad.tensor([0, 7]))
    assert adam.state[w]["step"] == 2


def test_a_recording_that_fails_leaves_no_attributes_behind():
    net, kept, table = nn.Identity(), SimpleNamespace(), {}

    def f(x):
        net.h = kept.h = table["h"] = x * 2
        net.register_buffer("mask", x * 3)
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        static.compile(f)(minigrad.ones(2))
    assert not hasattr(net, "h") and not net.state_dict() and not vars(kept) and not table


def test_a_recording_that_fails_gives_back_a_gradient_that_it_has_read_and_cleared():
    w = minigrad.ones(2, requires_grad=True)
    before = w.grad = minigrad.full((2,), 7.0)

    def f(x):
        z = w.grad * x
        w.grad = None
        raise ValueError(z.shape)

    with pytest.raises(ValueError, match="2"):
        static.compile(f)(minigrad.ones(2))
    assert w.grad is before


def test_a_gradient_that_the_step_clears_and_an_optimizer_takes_is_none_after_each_run():
    w = minigrad.ones(2, requires_grad=True)
    sgd = optim.SGD([w], lr=0.1)

    @static.compile
    def step(x):
        sgd.zero_grad()
        (w * x).sum().backward()
        sgd.step()

    for _ in range(3):
        w.grad = minigrad.full((2,), 7.0)
        step(minigrad.ones(2))
        assert w.grad is None


def micro_step(wrap):
    """Accumulates gradients over two calls, and counts the calls."""
    w, b = (minigrad.tensor([k, 2.0], requires_grad=True) for k in (1.0, 3.0))
    calls, seen = 0, []

    @wrap
    def step(x):
        nonlocal calls
        calls += 1
        ((w + b) * w * x).sum().backward()
        return w.sum()

    for k in range(6):
        step(minigrad.full((2,), k + 1.0))
        seen += [*w.grad.tolist(), *b.grad.tolist()]
        if k % 2:
            w.grad = b.grad = None
    return seen, step


def test_gradients_are_accumulated_by_one_program_whatever_was_in_grad_when_it_was_recorded():
    eager, _ = micro_step(lambda f: f)
    compiled, step = micro_step(static.compile)

    assert compiled == pytest.approx(eager)
    assert len(step.programs) == 1 and step.programs[0].runs == 5  # of 6: recorded again once


def changes_one_of_two_equal_gradients(w, b):
    (w + b).sum().backward()
    w.grad.mul_(0.5)


def clips_two_equal_gradients(w, b):
    (w + b).sum().backward()
    nn.utils.clip_grad_norm_([w, b], 0.1)


def empties_a_gradient_between_two_passes(w, b):
    (w + b).sum().backward()
    b.grad = None
    (w * b).sum().backward()


@pytest.mark.parametrize(
    "body",
    [
        changes_one_of_two_equal_gradients,
        clips_two_equal_gradients,
        empties_a_gradient_between_two_passes,
    ],
)
def test_what_a_step_does_to_one_gradient_leaves_the_others_as_in_an_eager_step(body):
    found = []
    for wrap in (lambda f: f, static.compile):
        w, b = (minigrad.tensor([k, 2.0], requires_grad=True) for k in (1.0, 3.0))
        step = wrap(lambda x: body(w, b) or x * 2)  # noqa: B023
        for _ in range(3):
            step(minigrad.ones(2))
        found.append([*w.grad.tolist(), *b.grad.tolist()])

    assert found[1] == pytest.approx(found[0])


def test_a_grad_that_is_read_by_another_name_after_backward_is_refused():
    w = minigrad.ones(2, requires_grad=True)
    w.sum().backward()
    kept = w.grad

    @static.compile
    def step(x):
        (w * x).sum().backward()
        return kept.sum()

    with pytest.raises(ProgramError, match="reads it by another name"):
        step(minigrad.ones(2))


def test_a_step_may_name_modules_of_python_and_of_packages():
    packages = [sys, os, pytest]
    step = static.compile(lambda x: x * len(packages))

    assert step(minigrad.ones(2)).tolist() == [3.0, 3.0]


def test_a_forward_that_is_replaced_in_an_object_is_noticed():
    layer = nn.Linear(2, 2)
    step = static.compile(lambda x: layer(x))
    step(minigrad.ones(2))

    layer.forward = lambda x: x * 3

    assert step(minigrad.ones(2)).tolist() == [3.0, 3.0]


def test_gradients_of_rows_are_added_to_what_is_in_grad():
    kept, table = [], nn.Embedding(3, 2, sparse=True)

    @static.compile
    def step(i):
        (table(i).sum() + table.weight.sum()).backward()
        kept.append(table.weight.sum())  # recorded twice

    for _ in range(3):
        step(minigrad.tensor([1, 1]))

    assert table.weight.grad.tolist() == [[3.0, 3.0], [9.0, 9.0], [3.0, 3.0]]
