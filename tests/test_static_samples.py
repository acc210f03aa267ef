"""Properties of programs that hold for every op of the table, at every line of samples.py.

A program of the op computes what the op computes; so does its plan, in fixed memory; the
program of its gradient computes what the tape computes, and the gradient of that as well.
"""

import numpy as np
import pytest

import minigrad
from minigrad import static, tensor
from minigrad.core.dispatch import apply
from tests.numeric import assert_close, central_difference, direction_like
from tests.samples import at_every_sample, inputs_with_rules

every_sample = at_every_sample(lambda s: True)
smooth = at_every_sample(lambda s: s.op.rules)
both = pytest.mark.parametrize("reuse", [True, False], ids=["reuse", "no reuse"])


def program_of(sample):
    """Recorded with other numbers than it is run with: nothing of these may be left in it."""
    others = [a * 0.9 if a.dtype.kind == "f" else a for a in sample.args]
    return static.record(lambda *xs: sample.op(*xs, **sample.settings))(*others)


def several(x):
    return x if isinstance(x, tuple) else (x,)


@every_sample
def test_a_program_computes_what_the_op_computes(sample):
    z = program_of(sample)(*sample.args)

    expected = sample.op.forward(*sample.args, **sample.settings)
    assert_close(z, expected, rtol=0, atol=0)
    assert z.dtype == np.asarray(expected).dtype


@both
@every_sample
def test_a_plan_computes_what_the_op_computes_time_and_again(sample, reuse):
    plan = program_of(sample).plan(reuse=reuse)

    expected = sample.op.forward(*sample.args, **sample.settings)
    for _ in range(2):
        # 1e-15: x ** 2 is computed by NumPy's square, which may round otherwise than its power
        assert_close(plan(*sample.args), expected, rtol=1e-15, atol=1e-15)


@smooth
def test_the_gradient_program_agrees_with_the_tape(sample):
    wrt = inputs_with_rules(sample)
    leaves = [tensor(a.copy(), requires_grad=a.dtype.kind == "f") for a in sample.args]
    z = apply(sample.op, leaves, sample.settings)
    u = direction_like(z.array)
    z.backward(tensor(u))

    gradients = several(program_of(sample).gradient(wrt, seeded=True)(*sample.args, u))

    for k, g in zip(wrt, gradients, strict=True):
        assert g.shape == leaves[k].shape
        assert_close(g, leaves[k].grad, rtol=1e-12, atol=1e-14)


@both
@smooth
def test_plans_of_gradients_compute_what_their_programs_compute(sample, reuse):
    program = program_of(sample)
    u = direction_like(sample.op.forward(*sample.args, **sample.settings))
    first = program.gradient(inputs_with_rules(sample), seeded=True)
    plan = first.plan(reuse=reuse)

    for _ in range(2):
        for a, b in zip(
            several(plan(*sample.args, u)), several(first(*sample.args, u)), strict=True
        ):
            assert_close(a, b, rtol=1e-13, atol=1e-14)


@smooth
def test_the_gradient_of_the_gradient_program_agrees_with_differences_and_with_the_tape(sample):
    program = program_of(sample)
    u = direction_like(sample.op.forward(*sample.args, **sample.settings))
    for k in inputs_with_rules(sample):
        v = direction_like(sample.args[k], seed=5)
        first = program.gradient([k], seeded=True)
        second = first.gradient([k], seeded=True)

        computed = second(*sample.args, u, v).numpy()
        replayed = second.plan()(*sample.args, u, v)

        def along(x, k=k, first=first, v=v):
            args = [x if i == k else a for i, a in enumerate(sample.args)]
            return np.sum(first(*args, u).numpy() * v)

        direction = direction_like(sample.args[k], seed=6)
        difference = central_difference(along, sample.args[k], direction)
        # 1e-5: one side is a central difference of first derivatives
        assert_close(np.sum(computed * direction), difference, rtol=1e-5, atol=1e-6)
        assert_close(replayed, computed, rtol=1e-11, atol=1e-12)
        assert_close(computed, second_by_tape(sample, k, u, v), rtol=1e-9, atol=1e-11)


def second_by_tape(sample, k, u, v):
    leaves = [tensor(a.copy(), requires_grad=i == k) for i, a in enumerate(sample.args)]
    z = apply(sample.op, leaves, sample.settings)
    (g,) = minigrad.autograd.grad(z, leaves[k], tensor(u), create_graph=True)
    if not g.requires_grad:
        return np.zeros(sample.args[k].shape)
    (h,) = minigrad.autograd.grad(
        g, leaves[k], tensor(v), allow_unused=True, materialize_grads=True
    )
    return h.numpy()
