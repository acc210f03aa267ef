"""Hooks on what is saved: packed when recorded, unpacked when the rules need it."""

import gc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import minigrad
from minigrad.autograd.graph import (
    allow_mutation_on_saved_tensors,
    save_on_cpu,
    saved_tensors_hooks,
)
from minigrad.core import modes
from minigrad.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


@pytest.fixture
def x():
    return minigrad.tensor([1.0, 2.0], dtype=minigrad.float64, requires_grad=True)


def test_each_saved_tensor_is_packed_once_and_unpacked_at_use(x):
    events = []

    def pack(t):
        events.append(("pack", t.tolist()))
        return t.numpy(force=True).copy()

    def unpack(kept):
        events.append(("unpack", kept.tolist()))
        return minigrad.from_numpy(kept)

    with saved_tensors_hooks(pack, unpack):
        z = x.exp() * 3
    assert [kind for kind, _ in events] == ["pack"]  # the result of exp, but not the 3
    z.sum().backward()

    assert [kind for kind, _ in events[1:]] == ["unpack"]
    np.testing.assert_allclose(x.grad, 3 * np.exp([1.0, 2.0]))


def test_what_unpack_returns_is_what_the_rules_see(x):
    with saved_tensors_hooks(lambda t: t, lambda t: t * 100):
        z = (x * x).sum()
    z.backward()
    assert x.grad.tolist() == [200.0, 400.0]


def test_the_innermost_pair_is_used_and_the_block_ends(x):
    seen = []
    with saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
        with saved_tensors_hooks(lambda t: seen.append("inner") or t, lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    assert seen == ["inner", "outer"]


def test_second_derivatives_through_packed_values(x):
    with save_on_cpu():
        z = (x**3).sum()
        (g,) = minigrad.autograd.grad(z, x, create_graph=True)
    (h,) = minigrad.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h, [6.0, 12.0])


def test_a_packed_copy_does_not_mind_a_change_in_place(x):
    with save_on_cpu():
        y = x * 1
        z = (y * y).sum()
    y += 1
    z.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_unpack_must_return_a_tensor(x):
    with saved_tensors_hooks(lambda t: t, lambda t: 3.0):
        z = (x * x).sum()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
        z.backward()


def test_a_checkpoint_saves_nothing_and_gives_the_same_gradients():
    model = minigrad.nn.Sequential(
        minigrad.nn.Linear(3, 4),
        minigrad.nn.Dropout(0.5),
        minigrad.nn.Tanh(),
        minigrad.nn.Linear(4, 1),
    )
    inputs = minigrad.randn(5, 3, requires_grad=True)
    ran = []

    def gradients(run):
        minigrad.manual_seed(3)
        ran.clear()
        z = run(inputs)
        found = minigrad.autograd.grad(z.sum(), [inputs, *model.parameters()])
        return [g.tolist() for g in found]

    def counted(x):
        ran.append(x)
        return model(x)

    expected = gradients(counted)
    assert len(ran) == 1
    assert gradients(lambda x: checkpoint(counted, x, use_reentrant=False)) == expected
    assert len(ran) == 2
    assert gradients(lambda x: checkpoint_sequential(list(model), 2, x, False)) == expected


DIFFERENT = {
    "different number of tensors": (True, lambda x: (x * x).exp(), lambda x: x + 1),
    "more tensors during recomputation": (False, lambda x: x.exp(), lambda x: x.exp().exp()),
    "different metadata": (True, lambda x: x.exp(), lambda x: x.expand(3, 2).exp().sum(0)),
}


@pytest.mark.parametrize("message", DIFFERENT)
def test_a_checkpoint_whose_function_does_something_else_the_second_time_is_refused(message):
    early_stop, *functions = DIFFERENT[message]
    x, runs = minigrad.ones(2, requires_grad=True), iter(functions)

    with set_checkpoint_early_stop(early_stop):
        z = checkpoint(lambda x: next(runs)(x), x, use_reentrant=False)

    with pytest.raises(CheckpointError, match=message):
        z.sum().backward()


def test_the_second_run_ends_at_the_last_saved_value_and_checkpoints_may_be_nested(x):
    lines = []

    def f(x):
        z = x.exp().sin()
        lines.append("saved")
        return z + 1

    def gradient(g):
        def of(x):
            return minigrad.autograd.grad(g(x).sum(), x, create_graph=True)[0]

        return of

    kept = lambda g: lambda x: checkpoint(g, x, use_reentrant=False)
    assert gradient(kept(f))(x).tolist() == gradient(f)(x).tolist()
    assert lines == ["saved"] * 2  # once in each first run

    twice = gradient(kept(gradient(kept(f))))
    assert twice(x).tolist() == gradient(gradient(f))(x).tolist()


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_the_arguments_of_a_checkpoint_are_freed_with_its_result(use_reentrant):
    gc.disable()
    try:
        freed = []
        x = minigrad.ones(2, requires_grad=True)
        y = x * 2
        weakref.finalize(y, freed.append, "y")
        z = checkpoint(minigrad.exp, y, use_reentrant=use_reentrant)

        del y, z

        assert freed == ["y"]
    finally:
        gc.enable()


def test_a_checkpoint_asks_for_use_reentrant_and_enters_the_blocks_of_context_fn(x):
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(minigrad.exp, x)

    entered = []

    @contextmanager
    def block(name):
        entered.append(name)
        yield

    blocks = lambda: (block("first"), block("second"))
    z = checkpoint(minigrad.exp, x, use_reentrant=False, context_fn=blocks)
    assert entered == ["first"]
    z.sum().backward()
    assert entered == ["first", "second"]


def test_a_block_entered_or_left_in_the_backward_pass_ends_with_it(x):
    inner = saved_tensors_hooks(lambda t: t, lambda t: t)
    entering = saved_tensors_hooks(lambda t: t, lambda t: (inner.__enter__(), t)[1])
    with entering:
        z = x.exp().sum()
    z.backward()

    assert modes.state.saved_hooks == ()


@pytest.mark.parametrize("debug", [True, False])
def test_a_checkpoint_lists_on_request_what_both_runs_have_saved(x, debug):
    results = iter([x.exp, (x[:1] * 1).exp])

    with set_checkpoint_debug_enabled(debug):
        z = checkpoint(lambda: next(results)(), use_reentrant=False, debug=not debug)

    with pytest.raises(CheckpointError, match="have different metadata") as raised:
        z.sum().backward()
    assert ("first run saved    [2], minigrad.float64" in str(raised.value)) == debug
    assert ("because you passed `debug=True`" in str(raised.value)) == debug


def test_saved_tensors_may_be_written_to_in_a_block_that_allows_it(x):
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        z = (y * y).sum()
        y.mul_(10)
        (grad,) = minigrad.autograd.grad(z, x, create_graph=True)
        (second,) = minigrad.autograd.grad(grad.sum(), x)
        with pytest.raises(RuntimeError, match="cannot be nested"):
            allow_mutation_on_saved_tensors().__enter__()
        late = x.exp().sum()

    assert grad.tolist() == (2 * x).tolist() and second.tolist() == [2.0] * len(x)
    with pytest.raises(
        AssertionError, match="outside of the 'allow_mutation_on_saved_tensors' context"
    ):
        late.backward()
