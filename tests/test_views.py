"""Shared memory: who sees a write, what it does to the version, and to the history.

In each program with a gradient, the expected numbers come from the same program written
without writing in place.
"""

import gc

import numpy as np
import pytest

import minigrad
from minigrad.core.errors import LeafChangedInPlace, SavedValueChanged


@pytest.fixture
def w():
    return minigrad.tensor(
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=minigrad.float64, requires_grad=True
    )


def gradient(z, w):
    z.sum().backward()
    return w.grad.tolist()


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[0], lambda x: x[:, 1:], lambda x: x[..., None], lambda x: x.T, lambda x: x.reshape(6),
        lambda x: x.view(3, 2), lambda x: x.transpose(0, 1), lambda x: x.unsqueeze(0), lambda x: x[1, 2],
        lambda x: x.T[1:][0], lambda x: x.flatten()[::2], lambda x: x.detach(), lambda x: x[None].squeeze(0),
    ],
)  # fmt: skip
def test_a_write_to_a_view_shows_in_the_base_and_counts_for_both(view):
    x = minigrad.arange(6.0).reshape(2, 3).clone()
    v = view(x)
    before = x._version
    v.fill_(7.0)

    assert np.count_nonzero(x.numpy() == 7.0) == v.numel()
    assert x._version == v._version == before + 1


def test_data_shares_memory_but_not_the_version(w):
    w.data += 1
    assert w[0, 0].item() == 2.0 and w._version == 0
    d = w.detach()
    d += 1
    assert w[0, 0].item() == 3.0 and w._version == 1


def test_a_copy_is_no_view():
    x = minigrad.ones(2, 3)
    for copy in (x.clone(), x[[0, 1]], x[x > 0], x.T.reshape(6), x * 1):
        assert copy._base is None and not np.shares_memory(copy.numpy(), x.numpy())


def test_the_base_of_a_view_of_a_view_is_the_first_tensor():
    x = minigrad.ones(2, 3)
    v = x.T[0]

    assert v._base is x and v._is_view() and not x._is_view()


def test_writing_through_a_view_rewrites_the_history_of_the_base(w):
    x = w * 1
    x[0] *= 3

    assert x.grad_fn.name() == "CopySlices"
    assert gradient(x * 2, w) == [[6, 6, 6], [2, 2, 2]]


def test_one_view_sees_what_is_written_through_another(w):
    x = w * 1
    row, column = x[0], x[:, 1]
    row *= 10

    assert column.tolist() == [20.0, 5.0]
    assert gradient(column * 2, w) == [[0, 20, 0], [0, 2, 0]]


def test_a_write_to_the_base_shows_in_the_history_of_its_views(w):
    x = w * 1
    column = x[:, 1]
    x *= 10

    assert gradient(column, w) == [[0, 10, 0], [0, 10, 0]]


def test_several_writes_to_overlapping_views(w):
    x = w * 1
    x[0] *= 3
    x[:, 0] += w[:, 1]
    x.T[2] *= x.T[1].clone()

    a = w.detach().clone().requires_grad_()
    top = a[0] * 3
    first = minigrad.stack([top[0] + a[0, 1], a[1, 0] + a[1, 1]])
    last = minigrad.stack([top[2] * top[1], a[1, 2] * a[1, 1]])
    expected = first.sum() + top[1] + a[1, 1] + last.sum()
    expected.backward()
    np.testing.assert_allclose(gradient(x, w), a.grad.tolist())


def test_assignment_cuts_the_history_of_what_was_there(w):
    x = w * 2
    x[0] = 5.0
    x[1, 1:] = w[0, :2]

    assert x.tolist() == [[5, 5, 5], [8, 1, 2]]
    assert gradient(x, w) == [[1, 1, 0], [2, 0, 0]]


def test_assignment_by_mask_and_by_index_array(w):
    x = w * 2
    x[w > 4.5] = 0.0
    x[[0, 1], [0, 0]] = w[:, 2] * 10

    assert x.tolist() == [[30, 4, 6], [60, 0, 0]]
    assert gradient(x, w) == [[0, 2, 12], [0, 0, 10]]


def test_an_empty_buffer_is_filled_row_by_row(w):
    out = minigrad.zeros(2, 3, dtype=minigrad.float64)
    for i in range(2):
        out[i] = w[i] * (i + 1)

    assert out.requires_grad and out.grad_fn.name() == "CopySlices"
    assert gradient(out, w) == [[1, 1, 1], [2, 2, 2]]


def test_a_view_made_before_the_base_had_a_history_gets_one(w):
    buffer = minigrad.zeros(2, 3, dtype=minigrad.float64)
    row = buffer[1]
    assert not row.requires_grad
    buffer.copy_(w)

    assert row.requires_grad
    assert gradient(row, w) == [[0, 0, 0], [1, 1, 1]]


def test_second_order_through_a_write_to_a_view(w):
    def program(a):
        x = a * 1
        x[0] *= x[1].clone()
        return (x**3).sum()

    (g,) = minigrad.autograd.grad(program(w), w, create_graph=True)
    (h,) = minigrad.autograd.grad((g * g).sum(), w)

    a = w.detach().clone().requires_grad_()
    expected = ((a[0] * a[1]) ** 3).sum() + (a[1] ** 3).sum()
    (e,) = minigrad.autograd.grad(expected, a, create_graph=True)
    (f,) = minigrad.autograd.grad((e * e).sum(), a)
    np.testing.assert_allclose(g.detach(), e.detach(), rtol=1e-12)
    np.testing.assert_allclose(h, f, rtol=1e-12)


def test_what_a_rule_has_saved_may_not_change_through_a_view(w):
    x = w * 1
    z = (x * x).sum()
    x[0, 0] = 0.0

    with pytest.raises(
        SavedValueChanged, match="MulBackward0 .* is at version 1; expected version 0"
    ):
        z.backward()


@pytest.mark.parametrize("view", [lambda x: x[0], lambda x: x.T, lambda x: x.reshape(-1)])
def test_a_view_of_a_leaf_cannot_be_written_to(w, view):
    with pytest.raises(LeafChangedInPlace, match="a view of a leaf Variable that requires grad"):
        view(w).add_(1)
    with minigrad.no_grad():
        view(w).add_(1)
    assert w[0, 0].item() == 2.0 and w.is_leaf


def test_in_place_keeps_what_its_own_rule_needs(w):
    y = w * 2
    x = w * 1
    before = x.tolist()
    x.mul_(y)  # the rule for y needs x as it was

    x.sum().backward()
    np.testing.assert_allclose(w.grad, np.array(before) * 4)


def test_in_place_functions_that_save_their_result(w):
    x = (w * 0.1).exp_()
    x.sum().backward()

    np.testing.assert_allclose(w.grad, 0.1 * np.exp(0.1 * w.detach().numpy()))


def test_the_version_counts_writes_also_under_no_grad(w):
    x = w * 1
    with minigrad.no_grad():
        x.add_(1)
        x[0] = 0
    x.zero_()

    assert x._version == 3


def test_a_view_made_under_no_grad_refuses_a_recorded_write(w):
    x = w * 1
    with minigrad.no_grad():
        v = x[0]
        v += 1  # not recorded: allowed
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        v *= w[0]
    with minigrad.no_grad():
        leaf_view = w[0]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        leaf_view += 1


@pytest.mark.parametrize("mode", [minigrad.no_grad, minigrad.inference_mode])
def test_a_view_of_a_view_made_under_no_grad_refuses_a_recorded_write(mode):
    x = minigrad.zeros(2)
    with mode():
        leaf = x.view(2)
    view = leaf.requires_grad_().view(2)

    message = f"a view of a view which was .*inside the {mode.__name__} block"
    with pytest.raises(RuntimeError, match=message):
        view /= 2


def test_a_view_made_under_no_grad_cannot_follow_a_recorded_write_to_its_base(w):
    x = minigrad.ones(2, 3)
    with minigrad.no_grad():
        v = x[0]
    x *= w.sum()
    with pytest.raises(
        RuntimeError, match="its base or another view of its base has been modified"
    ):
        v * 2


@pytest.mark.parametrize(
    "write",
    [lambda x: x.__setitem__(0, 5), lambda x: x[0].mul_(2), lambda x: x.add_(1), lambda x: x.T.zero_()],
)  # fmt: skip
def test_a_leaf_that_is_a_view_refuses_a_write_as_any_leaf_does(write):
    x = minigrad.arange(6.0).reshape(2, 3).requires_grad_()
    with pytest.raises(LeafChangedInPlace, match="a view of a leaf Variable that requires grad"):
        write(x)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_view_belongs_to_its_base_when_that_becomes_a_leaf_later():
    x = minigrad.ones(4)
    v = x[:2]
    x.requires_grad_()
    with pytest.raises(LeafChangedInPlace):
        v.mul_(2)
    (v * 3).sum().backward()

    assert v.requires_grad and x.grad.tolist() == [3, 3, 0, 0]


def test_an_expanded_tensor_refuses_a_write():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        minigrad.ones(1, 3).expand(2, 3).add_(1)


def test_detach_in_place(w):
    y = w * 2
    z = y * 3
    y.detach_()
    assert y.is_leaf and not y.requires_grad
    z.sum().backward()
    assert w.grad.tolist() == [[6.0] * 3] * 2
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (w * 2)[0].detach_()


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_write_through_a_view_finds_its_part_of_a_gradient_that_lies_otherwise(create_graph):
    x = minigrad.tensor([[1.0, 5.0, 2.0], [3.0, 4.0, 0.0]], requires_grad=True)
    y = x * 1
    y.view(-1)[:2].mul_(3)

    (g,) = minigrad.autograd.grad(y.mean(0).sum(), x, create_graph=create_graph)

    assert g.tolist() == [[1.5, 1.5, 0.5], [0.5, 0.5, 0.5]]


def test_squeeze_is_a_view_also_where_there_is_nothing_to_take_away():
    x = minigrad.ones(3)

    z = x.squeeze()
    z[0] = 5.0

    assert z._base is x and x.tolist() == [5.0, 1.0, 1.0] and x._version == 1


def test_a_leaf_that_is_a_view_stays_one_when_its_detached_memory_is_written_to():
    b = minigrad.tensor(3.0).repeat(2)[::2].requires_grad_()
    e = b.detach()
    e /= b

    assert b.requires_grad and b.is_leaf and e.requires_grad


BY_INDEX = {
    "sort": lambda x: x.sort(-1), "max": lambda x: x.max(-1), "topk": lambda x: x.topk(2),
    "median": lambda x: x.median(-1),
    "cummax": lambda x: x.cummax(-1), "kthvalue": lambda x: x.kthvalue(2),
    "gather": lambda x, i=((0, 1), (1, 0)): with_index(x.gather, i, 1),
    "getitem": lambda x: with_index(lambda i: x[:, i], (0, 1)),
    "index_select": lambda x: with_index(x.index_select, (1, 0), 0), "take": lambda x: with_index(x.take, (0, 5)),
    "getitem by a mask": lambda x: with_index(lambda i: x[i], ((True, False, True), (False, True, True))),
    "masked_fill": lambda x: with_index(lambda i: x.masked_fill(i, 2.0), ((True, False, True), (False, True, True))),
    "index_fill": lambda x: with_index(lambda i: x.index_fill(0, i, 2.0), (0,)),
    "index_add": lambda x: with_index(lambda i: minigrad.zeros(2, 3).index_add(0, i, x * 2), (0, 0)),
    "embedding": lambda x: with_index(lambda i: minigrad.nn.functional.embedding(i, x), (0, 0)),
    "cross_entropy": lambda x: with_index(lambda i: minigrad.nn.functional.cross_entropy(x, i), (2, 0)),
}  # fmt: skip


def with_index(f, index, *before):
    i = minigrad.tensor(index)
    return f(*before, i), i


@pytest.mark.parametrize("name", BY_INDEX)
def test_an_index_that_is_written_to_later_changes_no_gradient(name):
    found = []
    for write in (False, True):
        x = minigrad.tensor([[3.0, 1.0, 2.0], [1.5, 0.5, 2.5]], requires_grad=True)
        z, i = BY_INDEX[name](x * 1)
        if write:
            i.logical_not_() if i.dtype == minigrad.bool else i.fill_(1)
        (z * minigrad.arange(float(z.numel())).reshape(z.shape)).sum().backward()
        found.append(x.grad.tolist())

    assert found[0] == found[1]


@pytest.mark.parametrize(
    "view", ["view(-1)", "view(2, 3)", "t()", "__getitem__(0)", "select(1, 1)"]
)
@pytest.mark.parametrize("then", ["", "t_()", "squeeze_(0)"])
@pytest.mark.parametrize("turned", ["t_()", "transpose_(0, 1)", "unsqueeze_(1)"])
def test_a_view_is_found_again_on_a_base_that_was_rearranged_since(turned, then, view):
    def gradients(early):
        a = minigrad.arange(6.0).reshape(2, 3).requires_grad_()
        x = minigrad.tensor(2.0, requires_grad=True)
        base = a * 1
        part = eval(f"base.{view}")
        if early:
            part.mul_(x)
        for rearrange in (turned, then):
            if rearrange and base.ndim < 3 or rearrange == "squeeze_(0)":
                eval(f"base.{rearrange}")
        if not early:
            part.mul_(x)
        weights = minigrad.arange(1.0, base.numel() + 1).view(base.shape)
        ((base * weights).sum() + (part**2).sum()).backward()
        return base.tolist(), part.tolist(), x.grad.tolist(), a.grad.tolist()

    assert gradients(early=False) == gradients(early=True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("copysign", [minigrad.tensor([-1.0, 1.0, -1.0])]),
        ("renorm", [2, 0, 1.0]),
        ("scatter_reduce", [1, minigrad.tensor([[0, 0, 1]]), minigrad.tensor([[2.0, 3.0, 4.0]]), "prod"]),
        ("cumprod", [1]), ("sinc", []), ("ldexp", [minigrad.tensor(2.0)]), ("logit", [0.1]), ("mvlgamma", [2]),
    ],
)  # fmt: skip
def test_what_is_written_over_its_operand_has_the_gradient_of_the_new_tensor(name, arguments):
    def gradient(method):
        x = minigrad.tensor([[3.5, 4.25, 5.5]], requires_grad=True)
        z = getattr(x * 1, method)(*arguments)
        (z * minigrad.tensor([[1.0, 2.0, 3.0]])).sum().backward()
        return z.tolist(), x.grad.tolist()

    assert gradient(name + "_") == gradient(name)


def test_results_that_were_computed_in_another_shape_are_no_views():
    x, image = (
        minigrad.ones(2, 1, 3, requires_grad=True),
        minigrad.ones(1, 2, 6, requires_grad=True),
    )
    f = minigrad.nn.functional
    for z in (
        f.linear(x, minigrad.ones(2, 3)),
        f.conv1d(image, minigrad.ones(1, 2, 3)),
        f.conv_transpose1d(image, minigrad.ones(2, 1, 3)),
        f.group_norm(image, 1),
        f.adaptive_max_pool2d(image[None], 1),
        minigrad.kron(x[0], x[1]),
        x.median(2).values,
        x.kthvalue(1).values,
        x.sum_to_size(1, 3),
        minigrad.linalg.solve(minigrad.eye(3) + 0 * x[0, 0], minigrad.ones(3)),
    ):
        part = z[:1]
        z.mul_(2.0)
        assert z._base is None and part._base is z
        (slope,) = minigrad.autograd.grad((part**2).sum(), z)
        assert slope[:1].tolist() == (2 * part).tolist()


def test_a_view_is_rearranged_after_its_base_was():
    base = minigrad.arange(6.0).reshape(2, 3).clone().requires_grad_() * 1
    part = base.as_strided((2, 2), (1, 2))
    base.transpose_(0, -1)
    part.t_()
    part.mul_(2)

    assert part.tolist() == [[0, 2], [4, 6]] and base.tolist() == [[0, 6], [2, 4], [4, 5]]


@pytest.mark.parametrize("names", [("t_",), ("unsqueeze_", "squeeze_")])
@pytest.mark.parametrize("whole", [True, False])
def test_what_is_rearranged_a_thousand_times_makes_no_more_objects(names, whole):
    base = minigrad.arange(6.0).reshape(2, 3).clone()
    x = base if whole else base[:, :2]
    x.unsqueeze_(1).squeeze_(1)  # an earlier layout, to which there is a way back
    row = x[1]

    def rearrange():
        for _ in range(500):
            for name in names:
                getattr(x, name)(*(0,) * (name != "t_"))

    rearrange()
    before = len(gc.get_objects())
    rearrange()

    assert len(gc.get_objects()) < before + 100
    row += 10
    assert base[1, :2].tolist() == [13, 14]


def test_iterating_gives_the_views_of_unbind():
    x = minigrad.ones(3, 2, requires_grad=True)
    for row in x * 2:
        assert row.grad_fn.name() == "UnbindBackward0"
        with pytest.raises(RuntimeError, match="of Unbind is a view and is being modified inplace"):
            row.mul_(2)
    z = minigrad.zeros(3, 2)
    for row in z:
        row += 1

    assert z.sum() == 6
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(x.sum())
