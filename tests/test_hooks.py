"""Hooks: what they see, what they may change, and in which order they are called."""

import copy
import gc
import pickle
import weakref

import pytest

import minigrad


@pytest.fixture
def x():
    return minigrad.tensor([1.0, 2.0], requires_grad=True)


def test_a_hook_sees_the_gradient_and_may_replace_it(x):
    y = x * 3
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward()

    assert seen == [[1.0, 1.0], [10.0, 10.0]]
    assert x.grad.tolist() == [30.0, 30.0]


def test_a_hook_of_a_leaf_sees_the_sum_of_all_contributions(x):
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 2 + x * 3).sum().backward()

    assert seen == [[5.0, 5.0]]


def test_a_removed_hook_is_not_called(x):
    y = x * 3
    seen = []
    handle = y.register_hook(lambda g: seen.append(1))
    with y.register_hook(lambda g: seen.append(2)):
        pass
    handle.remove()
    handle.remove()
    y.sum().backward()

    assert seen == []


def test_retain_grad_keeps_what_the_hooks_have_made_of_the_gradient(x):
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.sum().backward()

    assert y.retains_grad and y.grad.tolist() == [2.0, 2.0]


def test_retain_grad_follows_the_tensor_through_a_write(x):
    y = x * 3
    y.retain_grad()
    y *= 5
    y.sum().backward()

    assert y.grad.tolist() == [1.0, 1.0] and x.grad.tolist() == [15.0, 15.0]


def test_retain_grad_and_hooks_do_not_keep_a_tensor_alive(x):
    gc.disable()
    try:
        y = x * 3
        y.retain_grad()
        y.register_hook(lambda g: None)
        ref = weakref.ref(y)
        del y
        assert ref() is None
    finally:
        gc.enable()


def test_hooks_of_nodes(x):
    y = x * 3
    seen = []
    y.grad_fn.register_prehook(lambda outgoing: (outgoing[0] * 2,))
    y.grad_fn.register_hook(
        lambda grads, g: seen.append(
            [None if d is None else d.tolist() for d in grads] + [g[0].tolist()]
        )
    )
    y.grad_fn.register_hook(lambda grads, g: (grads[0] + 1, None))
    y.sum().backward()

    assert seen == [[[6.0, 6.0], None, [2.0, 2.0]]]
    assert x.grad.tolist() == [7.0, 7.0]


def test_post_accumulate_hooks_see_the_leaf_with_its_gradient(x):
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append((leaf is x, leaf.grad.tolist())))
    (x * 2).sum().backward()

    assert seen == [(True, [2.0, 2.0])]
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(print)


def test_hooks_and_retained_gradients_in_a_pass_that_captures(x):
    y = x * 3
    y.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g + 100)
    gy, gx = minigrad.autograd.grad(y.sum(), [y, x])

    assert gy.tolist() == [2.0, 2.0] and gx.tolist() == [106.0, 106.0]


def test_hooks_under_create_graph_see_tensors_with_a_history(x):
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append(g.requires_grad))
    (g,) = minigrad.autograd.grad((y * y).sum(), x, create_graph=True)
    (h,) = minigrad.autograd.grad(g.sum(), x)

    assert seen == [True, False]  # the second pass goes through y again, and is not recorded
    assert h.tolist() == [12.0, 48.0]


def test_what_needs_no_gradient_has_no_hooks():
    c = minigrad.ones(2)
    for register in (lambda: c.register_hook(print), c.retain_grad):
        with pytest.raises(RuntimeError):
            register()


def test_a_hook_cannot_change_the_shape(x):
    y = x * 3
    y.register_hook(lambda g: g.sum())
    with pytest.raises(RuntimeError, match="hook has changed the size of value"):
        y.sum().backward()


def test_hooks_of_the_end_of_an_edge():
    x = minigrad.ones(2, requires_grad=True)
    end = (x * 1).grad_fn.next_functions[0][0]
    seen = []
    end.register_hook(lambda sent, given: seen.append((len(sent), given[0].tolist())))
    end.register_prehook(lambda given: (given[0] * 10,))
    (x * 2).sum().backward()

    assert seen == [(0, [20.0, 20.0])] and x.grad.tolist() == [20.0, 20.0]


def test_hooks_of_a_base_that_was_written_to_pass_its_gradient_on(x):
    y = x * 1
    y[0] = 5.0
    seen = []
    y.grad_fn.register_hook(lambda sent, given: seen.append((sent[0].tolist(), given[0].tolist())))
    y.sum().backward()

    assert seen == [([0.0, 1.0], [1.0, 1.0])] and x.grad.tolist() == [0.0, 1.0]


def test_a_leaf_that_requires_a_gradient_again_has_its_hooks_and_its_older_graphs():
    x, seen = minigrad.ones(2, requires_grad=True), []
    x.register_hook(lambda g: g * 10)
    x.register_post_accumulate_grad_hook(lambda x: seen.append(x.grad.tolist()))
    node, y = (x * 2).grad_fn.next_functions[0][0], (x * 2).sum()

    x.requires_grad_(False)
    y.backward(retain_graph=True)
    assert x.grad is None
    copied, pickled = copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    x.requires_grad_(True)
    y.backward()
    for z in (x, copied, pickled):
        (z.requires_grad_() * 3).sum().backward()

    assert seen == [[20.0, 20.0], [50.0, 50.0]]
    assert copied.grad.tolist() == pickled.grad.tolist() == [3.0, 3.0]
    assert (x * 2).grad_fn.next_functions[0][0] is node
