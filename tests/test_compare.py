"""Gradients derived by hand, beside the tape's."""

import sys
import time

import numpy as np
import pytest

import minigrad
from minigrad import nn, ones_like, stack, tensor
from minigrad.autograd import grad
from minigrad.core.errors import BackwardTwice, NoGradient, SavedValueChanged
from minigrad.teach import compare, compare_in
from minigrad.teach.diagnose import SECONDS
from minigrad.teach.difference import difference


@pytest.fixture
def example():
    """The lesson's example on (2, 3, 4) inputs: x1, x2, y1, y2, z."""
    rng = np.random.default_rng(0)
    x1, x2, x3, x4 = (tensor(rng.normal(size=(2, 3, 4))) for _ in range(4))
    x1.requires_grad_()
    x2.requires_grad_()
    y1 = x1 + x2
    y2 = x3 + x4
    z = y1 * y2
    z += x2
    return x1, x2, y1, y2, z


def test_right_gradients_are_exact(example):
    x1, x2, y1, y2, z = example

    result = compare(z, x1=y2, x2=y2 + 1)

    assert result.ok and bool(result)
    assert [(row.name, row.shape, row.verdict) for row in result.rows] == [
        ("x1", (2, 3, 4), "exact"),
        ("x2", (2, 3, 4), "exact"),
    ]


def test_a_forgotten_contribution_is_different_and_shown_where():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    z = x * x + x

    [row] = compare(z, x=[3.0, 5.0, 6.0]).rows

    assert (row.verdict, row.ok) == ("different", False)
    assert (row.absolute, row.index, row.yours, row.tape) == (1.0, (2,), 6.0, 7.0)
    assert row.relative == pytest.approx(1 / 7)


def test_rounding_is_close_and_the_tolerance_can_be_set():
    x = tensor([1.0, 2.0], requires_grad=True)
    z = x * 3

    assert compare(z, x=[3.000001, 3.0]).rows[0].verdict == "close"
    assert compare(z, x=[3.000001, 3.0], rtol=1e-9, atol=0).rows[0].verdict == "different"
    assert compare(z, x=[3.1, 3.0], atol=0.2).rows[0].verdict == "close"


def test_a_small_sum_of_large_terms_in_single_precision_may_have_their_rounding():
    rng = np.random.default_rng(1)
    x, g = (rng.normal(size=(4000, 30)).astype(np.float32) for _ in range(2))
    w = tensor(rng.normal(size=(30, 30)).astype(np.float32), requires_grad=True)
    z = tensor(x) @ w
    in_another_order = sum(np.outer(a, b) for a, b in zip(x, g, strict=True))

    assert not difference(in_another_order, x.T @ g).ok
    assert compare(z, gradient=tensor(g), w=in_another_order).ok
    assert not compare(z, gradient=tensor(g), w=in_another_order + 1e-3).ok


def test_a_small_entry_beside_large_ones_must_be_right():
    x = tensor([4.0, 20.0], requires_grad=True)
    z = x.exp()

    right = z.detach().numpy()

    assert compare(z, x=right * np.float32(1 + 3e-7)).ok
    assert not compare(z, x=right * [2.0, 1.0]).ok


def test_a_gradient_as_small_as_the_tolerance_has_a_remark():
    x = tensor([1.0, 2.0], requires_grad=True)
    z = x * x * 1e-9

    [wrong], [right] = compare(z, x=[0.0, 0.0]).rows, compare(z, x=[2e-9, 4e-9]).rows

    assert wrong.ok and "so small (up to 4e-09) that any answer counts as close" in wrong.note
    assert right.ok and right.note == ""
    assert not compare(z, x=[0.0, 0.0], atol=0).ok


def test_integers_are_compared_exactly_however_large_they_are():
    assert difference([2**60, 3], [2**60, 3]).ok
    for n in (2**33, 2**60):
        d = difference([n + 1, 3], [n, 3])
        assert (d.verdict, d.index, d.absolute) == ("different", (0,), 1.0)
    assert difference([2**33 + 1], [2**33], atol=2).ok


def test_a_wrong_shape_is_a_row():
    x = tensor(np.ones((2, 3)), requires_grad=True)
    z = x * 2

    result = compare(z, x=np.full(3, 2.0))

    assert [row.verdict for row in result.rows] == ["wrong shape"]
    assert "x: shape (3,) instead of (2, 3)" in repr(result)


@pytest.mark.parametrize("mine", [None, "two", [[1.0], [1.0, 2.0]], {"a": 1}, 2j], ids=repr)
def test_what_is_no_array_is_a_row(mine):
    x = tensor([1.0, 2.0], requires_grad=True)
    z = x * 2

    assert compare(z, x=mine).rows[0].verdict == "not an array"


def test_nan_agrees_with_nan_and_with_nothing_else():
    x = tensor([-1.0, 0.0, 4.0], requires_grad=True)
    with np.errstate(all="ignore"):
        z = x.sqrt()
        right = compare(z, x=[np.nan, np.inf, 0.25])
        wrong = compare(z, x=[np.nan, np.inf, np.nan])

    assert right.rows[0].verdict == "exact"
    assert (wrong.rows[0].verdict, wrong.rows[0].index) == ("different", (2,))


def test_comparing_changes_nothing(example):
    x1, x2, y1, y2, z = example
    y1.retain_grad()

    first = repr(compare(z, x1=y2, y1=y2))
    assert x1.grad is None and y1.grad is None

    assert repr(compare(z, x1=y2, y1=y2)) == first
    z.backward(ones_like(z))
    np.testing.assert_array_equal(x1.grad.numpy(), y2.numpy())


def test_intermediates_can_be_compared(example):
    x1, x2, y1, y2, z = example

    assert compare(z, y1=y2).ok


def test_a_mapping_takes_tensors_and_any_name():
    x, gradient = tensor(2.0, requires_grad=True), tensor(3.0, requires_grad=True)
    z = x * gradient

    result = compare(z, {x: 3.0, "gradient": 2.0})

    assert [(row.name, row.verdict) for row in result.rows] == [
        ("x", "exact"),
        ("gradient", "exact"),
    ]


def test_parameters_of_a_module_have_names():
    layer = nn.Linear(2, 1)
    x = tensor([[1.0, 2.0]])
    z = layer(x).sum()

    result = compare(z, {layer.weight: [[1.0, 2.0]], "layer.bias": [2.0]})

    assert [(row.name, row.ok) for row in result.rows] == [
        ("layer.weight", True),
        ("layer.bias", False),
    ]


def test_the_entries_of_a_dict_and_of_a_list_have_names():
    params = {"w": tensor([[2.0, 1.0]], requires_grad=True), "b": tensor([3.0], requires_grad=True)}
    grads = {"w": [[5.0, 1.0]], "b": [2.0]}
    x = tensor([[5.0], [1.0]])
    hs = [params["w"] @ x]
    hs.append(hs[0].sin() + params["b"])

    report = compare(hs[1].sum(), grads)

    assert [row.name for row in report.rows] == ["params['w']", "params['b']"]
    assert "The derivative of Mm (which gives hs[0]) was not multiplied" in str(report)


def test_the_gradient_of_z_may_be_given():
    x = tensor([1.0, 2.0], requires_grad=True)
    z = x * 5

    assert compare(z, x=[5.0, 50.0], gradient=tensor([1.0, 10.0])).ok


def test_a_freed_graph_is_answered_from_grad_and_the_row_says_so(example):
    x1, x2, y1, y2, z = example
    z.backward(ones_like(z))

    result = compare(z, x1=y2)

    assert result.ok
    assert (
        result.rows[0].note
        == "x1: compared with .grad, because an earlier backward() has freed the graph"
    )
    with pytest.raises(BackwardTwice, match="left no .grad"):
        compare(z, y1=y2)


def test_a_freed_graph_that_was_recorded_is_computed_again_and_its_mistakes_are_named():
    x, w = tensor([1.0, 2.0], requires_grad=True), tensor([3.0, -1.0], requires_grad=True)
    c = tensor([0.5, 0.75])
    with minigrad.record() as tape:
        h = (x * w).tanh()
        z = (h * c).mean()
        z.backward()
    x.grad += 7  # no longer the gradient of z

    mine = {"x": c / 2 * (1 - h * h) * w, "h": c, "w": c / 2 * x}
    x_row, h_row, w_row = compare_in(locals(), z, mine).rows

    assert x_row.ok and x_row.note == ""
    assert "divides by 2" in h_row.note
    assert "Tanh" in w_row.note and "derivative is missing" in w_row.note


def test_a_gradient_is_compared_with_the_parameters_from_before_the_optimizer_ran():
    model, data = nn.Linear(2, 1), tensor([[1.0, 2.0], [3.0, 5.0]])
    optimizer = minigrad.optim.SGD(model.parameters(), lr=0.5)
    with minigrad.record() as tape:
        y = model(data)
        loss = y.square().mean()
        loss.backward()
        optimizer.step()

    right = y.detach().T @ data

    assert compare_in(locals(), loss, {model.weight: right}).ok
    assert "has the opposite sign" in repr(compare_in(locals(), loss, {model.weight: -right}))


def _unrecorded(x):
    return None, (x * x).sum()


def test_a_freed_graph_is_computed_again_without_gradients_and_within_a_recording_too():
    x = tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        z = (x * x).sin().sum()
        z.backward()
    with minigrad.no_grad(), minigrad.record() as other:
        row = compare_in({"x": x, "z": z, "tape": tape}, z, {"x": (x * x).cos()}).rows[0]

    assert row.diagnosis.kind == "forgot_inner"
    assert list(other.document["ops"]) == ["mul", "cos"]


def test_a_newer_tape_that_only_reads_the_result_does_not_hide_the_one_that_made_it():
    x = tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        z = (x * x).sin().sum()
        z.backward()
    with minigrad.record() as newer:
        _ = z * 1.0

    row = compare_in(dict(locals()), z, {"x": (x * x).cos()}).rows[0]

    assert row.diagnosis.kind == "forgot_inner" and tape.number < newer.number


def test_of_a_freed_graph_what_does_not_lead_to_the_result_is_told():
    x, u = tensor([1.0, 2.0], requires_grad=True), tensor([1.0], requires_grad=True)
    with minigrad.record() as tape:
        z = (x * x).sum()
        z.backward()

    with pytest.raises(NoGradient, match="z does not depend on u"):
        compare_in({"x": x, "u": u, "z": z, "tape": tape}, z, {"u": [1.0]})


def test_the_sum_of_several_passes_is_recognized_after_the_last_one():
    x = tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        z = (x * x).sum()
        z.backward(retain_graph=True)
        z.backward()

    row = compare_in({"x": x, "z": z, "tape": tape}, z, {"x": x.grad}).rows[0]

    assert row.diagnosis.kind == "accumulated_twice"


def test_what_is_twice_a_grad_of_one_pass_is_not_taken_for_it():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    z = (x.detach() * x).sum()
    z.backward(retain_graph=True)

    assert "cut off from x by detach()" in compare(z, x=2 * x.detach()).rows[0].diagnosis.message


def test_the_grad_of_one_pass_with_a_gradient_of_its_own_is_not_called_a_sum():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    z = x * x * x
    z.backward(tensor([1.0, 2.0, 3.0]), retain_graph=True)

    note = compare(z, x=x.grad).rows[0].note

    assert "x.grad, which a pass with another gradient than ones has filled" in note
    assert "gradient=g" in note


def test_a_gradient_that_is_added_to_a_grad_of_another_loss_is_called_that():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * 5).sum().backward()
    z = x.exp().sum()

    found = compare(z, x=5 + x.detach().exp()).rows[0].diagnosis

    assert found.kind == "accumulated_twice" and "x.grad plus the right gradient" in found.message


def test_a_write_that_is_run_again_is_shown_at_its_own_line():
    x = tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        y = x.exp()
        z = y.sum()
        y.mul_(2)
        with pytest.raises(SavedValueChanged):
            y.sum().backward()
        z = y.sum()

    with pytest.raises(SavedValueChanged, match=r"changed .*y\.mul_\(2\)"):
        compare_in({"x": x, "z": z, "tape": tape}, z, {"x": y})


class Applied(minigrad.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        return f(x)

    @staticmethod
    def backward(ctx, g):
        return None, 2 * g


def _through_a_function(x):
    with minigrad.record() as tape:
        z = (Applied.apply(lambda x: 2 * x, x) ** 2).sum()
    return tape, z


def _with_a_hook(x):
    with minigrad.record() as tape:
        y = x * 1
        y.register_hook(lambda g: 2 * g)
        z = (y * y).sum()
    return tape, z


@pytest.mark.parametrize("program, why", [
    (_unrecorded, "the tensor was not recorded"),
    (_through_a_function, "Applied, which made Applied#1, cannot be applied again"),
    (_with_a_hook, "hooks may change its gradients"),
])  # fmt: skip
def test_a_freed_graph_that_cannot_be_computed_again_says_why_no_mistake_is_named(program, why):
    x = tensor([2.0, 3.0], requires_grad=True)
    tape, z = program(x)
    z.backward()

    names = {"x": x, "z": z, "tape": tape}
    (row,) = compare_in(names, z, {"x": x.grad + x}).rows

    assert row.verdict == "different" and row.diagnosis is None
    assert "x: compared with .grad, because an earlier backward() has freed the graph" in row.note
    assert f"No mistake is named, because the program cannot be rerun: {why}" in row.note
    (row,) = compare_in(names, z, {"x": -x.grad}).rows
    assert row.note.endswith("has freed the graph\nIt has the opposite sign.")


def test_a_name_that_does_not_exist_is_answered_with_the_nearest():
    weights = tensor(2.0, requires_grad=True)
    z = weights * 3

    with pytest.raises(NameError, match="no tensor called wieghts here. Did you mean weights?"):
        compare(z, wieghts=3.0)


def test_tensors_without_a_gradient_are_refused():
    x, constant, unused = (
        tensor(2.0, requires_grad=True),
        tensor(3.0),
        tensor(1.0, requires_grad=True),
    )
    z = x * constant

    with pytest.raises(NoGradient, match="constant does not require a gradient"):
        compare(z, constant=2.0)
    with pytest.raises(NoGradient, match="z does not depend on unused.* compute z again"):
        compare(z, unused=0.0)
    with pytest.raises(NoGradient, match="unused does not depend on x.* compute unused again"):
        compare(unused, x=0.0)
    with pytest.raises(NoGradient, match="constant does not require a gradient"):
        compare(constant, x=1.0)
    with pytest.raises(NoGradient, match="the tensor does not require a gradient"):
        compare(constant * 2, x=1.0)
    assert unused.grad is None


def test_the_gradient_of_the_result_may_be_a_list():
    x = tensor([2.0, 3.0], requires_grad=True)
    z = stack([x[0] * x[1], x[0] + x[1]])

    assert compare(z, x=[3, 2], gradient=[1, 0]).ok
    assert compare(z, x=[4.0, 3.0], gradient=(1.0, 1.0)).ok
    with pytest.raises(TypeError, match="first argument, z, is of type float"):
        compare(1.0, x=[3, 2])


def test_something_else_than_a_tensor_is_refused():
    x, number = tensor(2.0, requires_grad=True), 3.0
    z = x * number

    with pytest.raises(TypeError, match="number is of type float"):
        compare(z, number=2.0)
    with pytest.raises(TypeError, match="at least one gradient"):
        compare(z)
    with pytest.raises(TypeError, match=r"which tensor is this the gradient of\? To fix it"):
        compare(z, [2.0])


def test_the_text_form_is_stable():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = tensor([1.0, 1.0, 2.0], requires_grad=True)
    z = x * w

    assert repr(compare(z, x=[1, 1, 2], w=[1.0, 2.0, -3.0])) == (
        "compare: 1 of 2 gradients agree with the tape\n"
        "    gradient  shape  verdict    abs. diff.  rel. diff.  at   yours  tape\n"
        "    x         (3,)   exact      0           0\n"
        "    w         (3,)   different  6           2           [2]  -3     3"
    )


def test_the_bundle_holds_text_and_escaped_html():
    x = tensor([1.0], requires_grad=True)
    namespace = {"<b>x</b>": x}
    z = x * 2

    bundle = compare_in(namespace, z, {"<b>x</b>": [2.0]})._repr_mimebundle_()

    assert set(bundle) == {"text/plain", "text/html"}
    assert "&lt;b&gt;x&lt;/b&gt;" in bundle["text/html"] and "<b>x" not in bundle["text/html"]


def test_two_gradients_that_are_exchanged_are_named_together():
    x, w = (
        tensor([[1.0, 2.0]] * 2, requires_grad=True),
        tensor([[3.0, 5.0]] * 2, requires_grad=True),
    )
    y = tensor([[7.0], [11.0]], requires_grad=True)
    z = (x * w) @ y
    dx, dy, dw = grad(z.sum(), (x, y, w), retain_graph=True)

    report = compare(z, x=dy, y=dx, w=dw)

    assert [row.diagnosis and row.diagnosis.kind for row in report.rows] == ["exchanged"] * 2 + [
        None
    ]
    assert str(report).count("swapped") == report._repr_html_().count("swapped") == 1
    assert "\n    x and y are swapped" in str(report)
    assert compare(z, x=dw, w=...).rows[0].diagnosis.kind == "swapped_operands"


def encoded():
    """Two leaves, the result of both, and the gradients of its two terms: (dm, ds), (dm, ds)."""
    M, S, E = np.array([0.5, -1.2, 2.0]), np.array([0.3, 1.1, -0.4]), np.array([1.0, -0.7, 0.2])
    m, s = (tensor(v).requires_grad_() for v in (M, S))
    code = m + tensor(E) * (0.5 * s).exp()
    z = (code**2).sum() - 0.5 * (1 + s - m**2 - s.exp()).sum()
    g = 2 * (M + E * np.exp(S / 2))
    return m, s, z, (g, g * E * np.exp(S / 2) / 2), (M, (np.exp(S) - 1) / 2)


def test_one_mistake_that_explains_several_answers_is_named_in_all_of_them():
    m, s, z, (dm, ds), _ = encoded()

    both = compare(z, {m: dm, s: ds}).rows
    alone = compare(z, {m: dm}).rows[0].diagnosis

    assert [row.diagnosis.kind for row in both] == ["missing_path"] * 2
    assert both[0].diagnosis.node is both[1].diagnosis.node is not alone.node


def test_a_right_answer_tells_where_the_mistake_in_another_was_not_made():
    m, s, z, (dm, ds), (of_m, of_s) = encoded()

    alone = compare_in({}, z, {s: 2 * ds + of_s}).rows[0].diagnosis
    beside = compare(z, {s: 2 * ds + of_s, m: dm + of_m}).rows[0].diagnosis

    assert "through Pow" in alone.message  # whose gradient goes to both
    assert "through Mul" in beside.message and alone.kind == beside.kind == "scale"


def test_a_right_array_tells_where_the_mistake_in_an_answer_was_not_made():
    _, s, z, (dm, ds), (_, of_s) = encoded()

    found = compare_in({"dcode": dm}, z, {s: 2 * ds + of_s}).rows[0].diagnosis

    assert found.kind == "scale" and "through Mul" in found.message  # and not Pow, further up


def test_the_answers_of_one_comparison_share_the_time_of_the_search(monkeypatch):
    x, y = tensor([1.0, 2.0], requires_grad=True), tensor([3.0, 4.0], requires_grad=True)
    module, asked = sys.modules["minigrad.teach.compare"], []
    monkeypatch.setattr(module, "explanations", lambda request, mine: asked.append(request.until))

    compare(x * y, x=[0.0, 1.0], y=[7.0, 8.0])

    assert asked[0] == asked[1] < time.thread_time() + 2 * SECONDS


def test_a_gradient_that_is_still_to_be_derived_is_no_mistake():
    x, y = tensor([1.0, 2.0], requires_grad=True), tensor([3.0, 4.0], requires_grad=True)

    report = compare(x * y, x=y, y=...)

    assert report.headline.endswith("1 of 2 gradients agree with the tape, 1 not answered yet")
    assert not report.ok and report.rows[1].diagnosis is None and report.rows[1].note == ""
    assert "✗" not in report._repr_html_() and "✓" in report._repr_html_()


def test_a_notebook_shows_the_mistake_before_the_table_and_leaves_out_empty_columns():
    x, y = tensor([1.0, 2.0], requires_grad=True), tensor([3.0, 4.0], requires_grad=True)

    wrong = compare(x * y, x=y, y=2 * x)._repr_html_()
    right = compare(x * y, x=y, y=x)._repr_html_()

    assert wrong.index("y: ") < wrong.index("<table") and wrong.count("✗") == 1
    assert "yours" in wrong and "yours" not in right
