"""The backward pass: which nodes there are, in which order they run, what they pass on."""

import gc
import inspect
import subprocess
import sys
import weakref

import numpy as np
import pytest

import minigrad
from minigrad import autograd
from minigrad.autograd.graph import get_gradient_edge
from minigrad.core.engine import GraphTask
from minigrad.core.errors import BackwardTwice, NoGradient, SavedValueChanged
from minigrad.core.leaf import AccumulateGrad


@pytest.fixture
def example():
    """The lesson's program: y1 = x1 + x2; y2 = x3 + x4; z = y1 * y2; z += x2."""
    r = np.random.default_rng(0)
    x1, x2, x3, x4 = (minigrad.tensor(r.normal(size=(2, 3, 4))) for _ in range(4))
    x1.requires_grad_()
    x2.requires_grad_()
    y1 = x1 + x2
    y2 = x3 + x4
    z = y1 * y2
    mul = z.grad_fn
    z += x2
    return {"x1": x1, "x2": x2, "y1": y1, "y2": y2, "z": z, "mul": mul}


def test_the_reverse_graph_of_the_example_has_exactly_five_nodes(example):
    z, mul = example["z"], example["mul"]
    plus = z.grad_fn

    (old, _), (leaf2, _) = plus.next_functions
    (add, _), nothing = mul.next_functions
    (leaf1, _), (leaf2_again, _) = add.next_functions

    assert example["y2"].grad_fn is None and nothing == (None, 0)
    assert old is mul and add is example["y1"].grad_fn
    assert leaf2 is leaf2_again
    assert leaf1.variable is example["x1"] and leaf2.variable is example["x2"]
    assert [n.name() for n in (plus, mul, add, leaf1, leaf2)] == [
        "AddBackward0", "MulBackward0", "AddBackward0", "AccumulateGrad", "AccumulateGrad"
    ]  # fmt: skip
    assert reachable(plus) == {plus, mul, add, leaf1, leaf2}


def reachable(root):
    found, stack = {root}, [root]
    while stack:
        for parent, _ in stack.pop().next_functions:
            if parent is not None and parent not in found:
                found.add(parent)
                stack.append(parent)
    return found


def test_the_example_runs_in_a_valid_order_and_x2_gets_two_contributions(example):
    z, mul = example["z"], example["mul"]
    plus, add = z.grad_fn, example["y1"].grad_fn
    leaf1, leaf2 = example["x1"].node, example["x2"].node
    task = GraphTask([plus], [np.ones(z.shape)])
    order, expected_by_x2, ready = [], [], []
    for step in task.steps():
        order.append(step.node)
        expected_by_x2.append(task.waiting[leaf2])
        ready.append(task.ready)

    assert order == [plus, mul, add, leaf1, leaf2]
    assert expected_by_x2 == [1, 1, 0, 0, 0]
    assert ready == [[mul], [add], [leaf1, leaf2], [leaf2], []]
    assert np.array_equal(example["x1"].grad, example["y2"])
    assert np.array_equal(example["x2"].grad, example["y2"].numpy() + 1)


def test_both_schedulers_visit_the_same_nodes_in_the_same_order(monkeypatch):
    def graph():
        r = np.random.default_rng(3)
        tensors = [minigrad.tensor(r.normal(size=3), requires_grad=True) for _ in range(4)]
        for _ in range(60):
            i, j = r.integers(0, len(tensors), 2)
            tensors.append(
                tensors[i] * tensors[j] if r.random() < 0.5 else tensors[i] + tensors[j].tanh()
            )
        return sum(tensors[-5:], minigrad.tensor(0.0)).sum()

    def visited(run):
        z = graph()
        first = z.grad_fn.queue_key
        task = GraphTask([z.grad_fn], [np.ones(())])
        seen = []
        for node in reachable(z.grad_fn):
            plan = node.plan

            class Spy:
                def __getattr__(self, name, plan=plan):
                    return getattr(plan, name)

                def run(self, g, node, plan=plan):
                    seen.append(node)
                    return plan.run(g, node)

            node.plan = Spy()
        run(task)
        leaves = sorted(n.queue_key for n in seen if isinstance(n, AccumulateGrad))
        return [
            leaves.index(n.queue_key) if isinstance(n, AccumulateGrad) else n.queue_key - first
            for n in seen
        ]

    by_age = visited(lambda task: task.run())
    by_count = visited(lambda task: list(task.steps()))

    assert by_age == by_count


def test_each_node_runs_once_in_a_ladder_of_diamonds():
    x = minigrad.tensor(1.0, requires_grad=True)
    z = x
    for _ in range(30):  # 2**30 paths
        z = z + z

    steps = list(GraphTask([z.grad_fn], [np.float32(1)]).steps())

    assert len(steps) == 31
    assert x.grad.item() == 2**30


def test_a_chain_of_a_million_nodes_is_built_differentiated_and_freed():
    """In a process of its own: too deep a recursion would end it without an exception."""
    program = """
import gc, weakref, minigrad
gc.disable()
x = minigrad.tensor(1.0, requires_grad=True)
z = x
for i in range(1_000_000):
    z = z * 1.0 if i % 2 else z + 0.0
    if i == 500_000:
        tensor, node = weakref.ref(z), weakref.ref(z.grad_fn)
z.backward()
assert x.grad.item() == 1.0
del z
assert tensor() is None and node() is None
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("backward", [True, False], ids=["after backward", "without backward"])
def test_no_cycle_keeps_a_graph_alive(backward):
    gc.disable()
    try:
        x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        z = (y.tanh() * x).sum()
        kept = [weakref.ref(t) for t in (y, z, z.grad_fn, y.grad_fn)]
        if backward:
            z.backward(create_graph=True)
            x.grad = None  # the gradient has a history of its own, which leads back here
        del y, z

        assert [r() for r in kept] == [None] * 4
    finally:
        gc.enable()


def test_a_leaf_dies_with_its_last_name():
    gc.disable()
    try:
        x = minigrad.tensor([1.0], requires_grad=True)
        x.sum().backward()
        ref = weakref.ref(x)
        del x

        assert ref() is None
    finally:
        gc.enable()


def test_a_leaf_that_nobody_holds_can_still_be_found_from_the_graph():
    y = minigrad.tensor([1.0, 2.0], requires_grad=True) * 2
    leaf = y.grad_fn.next_functions[0][0]

    y.sum().backward()

    assert leaf.variable.tolist() == [1.0, 2.0]
    assert leaf.variable.grad.tolist() == [2.0, 2.0]


def test_saved_values_are_released_as_the_pass_uses_them():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    ref = weakref.ref(y)
    z = (y * y).sum()
    del y
    assert ref() is not None

    z.backward()

    assert ref() is None


def test_backward_twice_is_an_error_that_retain_graph_mends(example):
    z, x1 = example["z"], example["x1"]
    g = minigrad.ones_like(z)
    z.backward(g)

    with pytest.raises(BackwardTwice, match="Trying to backward through the graph a second time"):
        z.backward(g)
    assert np.array_equal(x1.grad, example["y2"])


def test_retain_graph_lets_gradients_add_up(example):
    z, x1 = example["z"], example["x1"]
    g = minigrad.ones_like(z)
    z.backward(g, retain_graph=True)
    z.backward(g)

    np.testing.assert_allclose(x1.grad, 2 * example["y2"].numpy())


def test_a_graph_that_saved_nothing_can_be_used_twice():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    z = (x + x).sum()
    z.backward()
    z.backward()

    assert x.grad.tolist() == [4.0, 4.0]


def test_a_changed_saved_value_is_an_error_and_leaves_grad_alone():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    y += 1

    with pytest.raises(SavedValueChanged, match="modified by an inplace operation"):
        z.backward()
    assert x.grad is None


def test_adding_to_grad_counts_as_a_write():
    x, w = (minigrad.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    (x * 5).backward()
    z = w * x.grad
    (x * 5).backward()

    assert x.grad._version == 1
    with pytest.raises(SavedValueChanged):
        z.backward()


def test_a_change_of_what_no_rule_reads_is_no_error():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    z = (y + y).sum()
    y += 1
    z.backward()

    assert x.grad.tolist() == [6.0, 6.0]


def test_gradients_of_non_leaves_are_kept_on_request_only(example):
    y1, z = example["y1"], example["z"]
    y1.retain_grad()
    z.backward(minigrad.ones_like(z))

    assert np.array_equal(y1.grad, example["y2"])
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert z.grad is None


def test_a_gradient_with_a_history_in_grad_is_warned_of():
    x = minigrad.tensor(3.0, requires_grad=True)
    with pytest.warns(UserWarning, match="will create a reference cycle") as said:
        (x * x).backward(create_graph=True)

    assert said[0].filename == __file__ and x.grad.requires_grad


def test_a_borrowed_gradient_is_copied_before_it_becomes_grad():
    x1 = minigrad.tensor([1.0], requires_grad=True)
    x2 = minigrad.tensor([1.0], requires_grad=True)
    g = minigrad.tensor([5.0])
    (x1 + x2).backward(g)
    x1.grad += 1

    assert x2.grad.item() == 5.0 and g.item() == 5.0


def test_a_gradient_that_nobody_else_holds_becomes_grad_without_a_copy():
    made = []

    class Spy(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            d = g * 2
            made.append(d.array.__array_interface__["data"][0])
            return d

    x = minigrad.ones(1000, requires_grad=True)
    Spy.apply(x).sum().backward()
    assert x.grad.array.__array_interface__["data"][0] == made[0]

    w = minigrad.ones(4, 3, requires_grad=True)
    (
        minigrad.ones(2, 3) @ w.T
    ).sum().backward()  # shows, turned, a product that nothing else refers to
    assert w.grad.array.base is not None and w.grad.array.flags.c_contiguous

    y = minigrad.ones(2, 3, requires_grad=True)
    g = minigrad.ones(3, 2)
    y.T.backward(g)  # a view of the seed: that must be copied
    g.zero_()
    assert y.grad.tolist() == [[1.0] * 3] * 2


def test_inputs_choose_who_gets_a_gradient(example):
    z, x1, x2, y1 = (example[n] for n in ("z", "x1", "x2", "y1"))
    z.backward(minigrad.ones_like(z), inputs=[x1], retain_graph=True)
    assert x1.grad is not None and x2.grad is None

    g1, g2 = autograd.grad(z, [y1, x2], minigrad.ones_like(z))
    assert np.array_equal(g1, example["y2"])
    assert np.array_equal(g2, example["y2"].numpy() + 1)
    assert x2.grad is None


def test_a_pruned_pass_visits_only_what_leads_to_the_inputs(example):
    z, y1 = example["z"], example["y1"]
    task = GraphTask([z.grad_fn], [np.ones(z.shape)], inputs=[y1.grad_fn], accumulate=False)

    visited = [step.node for step in task.steps()]

    assert visited == [z.grad_fn, example["mul"], y1.grad_fn]


def test_rules_do_not_run_if_the_pass_does_not_need_their_gradients():
    x, w, b = (minigrad.ones(*shape, requires_grad=True) for shape in ((2, 3), (3, 4), (4,)))
    z = minigrad.addmm(b, x, w).sum()

    with minigrad.record() as tape:
        autograd.grad(z, x, create_graph=True)
    task = GraphTask([z.grad_fn], [np.ones(())], inputs=[w.node], accumulate=False)
    step = list(task.steps())[1]

    products = [n.shape for n in tape.shown().nodes if n.op == "matmul"]
    assert products == [[2, 3]]  # not the (3, 4) of w
    assert [d is not None for d in step.grads] == [False, False, True]
    plans = [
        p for whole in minigrad.ops.addmm.plans.values() for p in (whole, *whole.partial.values())
    ]
    assert len(plans) > 2
    assert all(inspect.getsource(plan.run) == plan.source for plan in plans)


def test_an_unused_input_is_an_error_unless_allowed():
    x = minigrad.tensor([1.0], requires_grad=True)
    other = minigrad.tensor([1.0, 2.0], requires_grad=True)
    z = (x * x).sum()

    with pytest.raises(NoGradient, match="appears to not have been used in the graph"):
        autograd.grad(z, [x, other], retain_graph=True)
    assert autograd.grad(z, [x, other], retain_graph=True, allow_unused=True)[1] is None
    zeros = autograd.grad(z, [x, other], materialize_grads=True)[1]
    assert zeros.tolist() == [0.0, 0.0]


def test_several_outputs_add_up():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    a, b = (x * x).sum(), (3 * x).sum()
    autograd.backward([a, b, a], retain_graph=True)
    assert x.grad.tolist() == [7.0, 11.0]

    (g,) = autograd.grad([a, b], x, [minigrad.tensor(10.0), None])
    assert g.tolist() == [23.0, 43.0]


def test_create_graph_gives_gradients_of_any_order():
    x = minigrad.tensor(2.0, dtype=minigrad.float64, requires_grad=True)
    y = x**5
    derivatives = []
    for _ in range(6):
        (y,) = autograd.grad(y, x, create_graph=True, materialize_grads=True)
        derivatives.append(y.item())
        if not y.requires_grad:
            break

    assert derivatives == [80.0, 160.0, 240.0, 240.0, 120.0, 0.0][: len(derivatives)]
    assert len(derivatives) >= 5


def test_backward_starts_from_scalars_or_with_a_gradient():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)

    with pytest.raises(NoGradient, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(NoGradient, match="does not require grad and does not have a grad_fn"):
        minigrad.tensor(1.0).backward()
    with pytest.raises(NoGradient, match="outside of no_grad\\(\\) and without detach"):
        x.sum().detach().backward()
    with pytest.raises(NoGradient, match="its dtype is minigrad.int64, and only floating point"):
        x.argmax().backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(minigrad.ones(3))


def test_backward_of_a_leaf_adds_to_its_grad():
    x = minigrad.tensor(3.0, requires_grad=True)
    x.backward()
    x.backward()

    assert x.grad.item() == 2.0


def test_an_unfinished_pass_forgets_what_it_held(example):
    task = GraphTask([example["z"].grad_fn], [np.ones((2, 3, 4))])
    steps = task.steps()
    next(steps)
    next(steps)
    steps.close()

    assert not task.pending and not task.waiting and not task.ready
    assert example["x1"].grad is None


def test_anomaly_detection_looks_at_a_base_that_was_written_to():
    x = minigrad.tensor([4.0, 0.0], requires_grad=True)
    y = x * 1
    y[0] = 5.0
    with pytest.warns(UserWarning), minigrad.autograd.detect_anomaly():
        y.sum().backward()

    assert x.grad.tolist() == [0.0, 1.0]


def test_anomaly_detection_names_a_function_of_several_results():
    class Twice(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * float("nan")

    x = minigrad.tensor([1.0], requires_grad=True)
    with pytest.warns(UserWarning), minigrad.autograd.detect_anomaly():
        a, b = Twice.apply(x)
        with pytest.raises(RuntimeError, match="'TwiceBackward' returned nan values in its 0th"):
            (a * b).sum().backward()


def test_reading_a_tensor_part_by_part_takes_time_in_proportion_to_its_size(monkeypatch):
    made = []
    zeros = np.zeros
    monkeypatch.setattr(np, "zeros", lambda *args: made.append(args) or zeros(*args))
    x = minigrad.ones(100, 40, requires_grad=True)
    sum([(k + 1) * part.sum() for k, part in enumerate(x.unbind())]).backward()

    assert len(made) <= 4, "arrays of zeros as large as x"
    assert (
        x.grad[:, 0].tolist() == list(range(1, 101))
        and x.grad[:, 39].tolist() == x.grad[:, 0].tolist()
    )


def test_a_part_with_a_hook_and_a_part_by_indices_are_added_as_well():
    x = minigrad.arange(400.0).reshape(20, 20).requires_grad_()
    parts, seen = [x[0], x[1, 2:], x[:, 3], x[[4, 4, 5]], x[..., 0], x[None, 7]], []
    parts[2].register_hook(lambda g: seen.append(g.shape) or 2 * g)
    (sum([part.sum() for part in parts]) + (x * 3).sum()).backward()

    expected = np.full((20, 20), 3.0)
    expected[0] += 1
    expected[1, 2:] += 1
    expected[:, 3] += 2
    expected[4] += 2
    expected[5] += 1
    expected[:, 0] += 1
    expected[7] += 1
    assert (x.grad.numpy() == expected).all() and seen == [(20,)]


def test_a_gradient_edge_knows_the_shape_of_its_tensor():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    scalar, vector = get_gradient_edge(x.sin().sum()), get_gradient_edge(x.sin())

    autograd.backward(scalar, retain_graph=True)
    assert x.grad.tolist() == x.cos().tolist()
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        autograd.grad(vector, x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        autograd.grad(vector, x, minigrad.ones(3))


def test_zeros_for_an_unused_edge_are_refused_and_a_used_one_gets_its_gradient():
    x = minigrad.ones(2, requires_grad=True)
    used, unused = get_gradient_edge(y := x * 1), get_gradient_edge(x * 1)

    assert autograd.grad(y.sum(), used, materialize_grads=True)[0].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used"):
        autograd.grad(y.sum(), unused, materialize_grads=True)


def test_of_two_nodes_that_are_ready_the_one_with_the_larger_sequence_number_runs_first():
    x, order = minigrad.ones(1, requires_grad=True), []
    a, b = x * 2, x * 3
    a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 1)
    a.register_hook(lambda g: order.append("a"))
    b.register_hook(lambda g: order.append("b"))

    (a + b).backward()

    assert order == ["a", "b"]
