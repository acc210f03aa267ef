"""Programs: recorded once, printed, run with new inputs, differentiated as programs."""

import numpy as np
import pytest

import minigrad
from minigrad import static
from minigrad.nn import functional as F
from minigrad.static import ProgramError
from tests.numeric import assert_close


def tensors(*values):
    return [minigrad.tensor(v, dtype=minigrad.float64) for v in values]


def layer(x, w, b):
    return (x @ w + b).relu().sum()


X, W, B = np.arange(6.0).reshape(2, 3) - 2, np.ones((3, 2)), np.array([0.5, -1.0])


# ------------------------------------------------------------------ recording and running


def test_a_program_is_run_many_times_without_being_built_again():
    program = static.record(lambda x, y: x * y + x)(*tensors(2.0, 3.0))
    before = len(program)

    results = [program(*tensors(a, 10.0)).item() for a in (1.0, 2.0, 3.0)]

    assert results == [11.0, 22.0, 33.0]
    assert len(program) == before == 2


def test_a_placeholder_has_no_value_and_says_so():
    x = static.placeholder((2,), name="x")

    for ask in (x.item, x.numpy, x.tolist, lambda: float(x), lambda: np.asarray(x)):
        with pytest.raises(ProgramError, match="nothing was computed"):
            ask()
    assert "nothing is computed" in repr(x)
    assert static.program(x * 2).run(x=[1.0, 2.0]).tolist() == [2.0, 4.0]


def test_placeholders_of_one_program_go_together_and_the_next_begins_another():
    a, b = static.placeholder(name="a"), static.placeholder(name="b")
    first = static.program(a + b)
    c = static.placeholder(name="c")
    second = static.program(c * c)

    assert first.names == ["a", "b"] and second.names == ["c"]
    assert first.run(b=1.0, a=2.0).item() == 3.0
    with pytest.raises(ProgramError, match="two programs are mixed"):
        static.program(a + c)


def test_run_names_what_is_missing_and_what_is_unknown():
    program = static.record(lambda x, y: x + y)(*tensors(1.0, 2.0))

    with pytest.raises(TypeError, match="needs y"):
        program.run(x=1.0)
    with pytest.raises(TypeError, match="no input z"):
        program.run(x=1.0, y=2.0, z=3.0)


def test_the_listing_shows_each_instruction_with_its_shape():
    program = static.record(layer)(X, W, B)

    lines = str(program).splitlines()
    assert lines[0].split() == ["%0", "x", "(2,", "3)", "float64"]
    assert lines[3].startswith("%3  = matmul(%0, %1)") and "(2, 2)" in lines[3]
    assert lines[-1] == "return %6"


def test_several_outputs_come_back_as_a_tuple():
    program = static.record(lambda x: (x + 1, x * 2))(minigrad.tensor(3.0))

    assert [z.item() for z in program(minigrad.tensor(5.0))] == [6.0, 10.0]


def test_a_replay_with_another_shape_or_type_offers_to_record_again():
    program = static.record(layer)(X, W, B)

    for run in (program, program.plan()):
        with pytest.raises(ProgramError, match=r"shape \(2, 3\).*record again"):
            run(np.ones((4, 3)), W, B)
        with pytest.raises(ProgramError, match="float64, but was given .* float32"):
            run(X.astype(np.float32), W, B)
        with pytest.raises(TypeError, match="3 inputs"):
            run(X)


def test_a_branch_on_a_value_is_refused_with_a_remedy():
    def f(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(ProgramError, match=r"data-dependent branch.*where\(condition"):
        static.record(f)(minigrad.ones(3))


def test_a_branch_on_a_shape_is_settled_when_recording():
    program = static.record(lambda x: x * 2 if x.shape[0] > 2 else x)(minigrad.ones(3))

    assert len(program) == 1


def test_values_that_numpy_would_see_are_refused():
    with pytest.raises(ProgramError, match="nothing was computed"):
        static.record(lambda x: minigrad.tensor(x.item()))(minigrad.tensor(1.0))
    with pytest.raises(ProgramError, match="depends on the values of the mask"):
        static.record(lambda x: x[x > 0])(minigrad.ones(3))


def test_an_index_that_is_computed_is_computed_in_each_run():
    program = static.record(lambda x: (x.max(1).values, x.sort(1).values, x[x.argmax(0)]))(
        minigrad.tensor([[3.0, 1.0], [0.0, 2.0]])
    )

    x = minigrad.tensor([[1.0, 5.0], [7.0, 6.0]])
    values, ordered, chosen = program(x)
    assert values.tolist() == [5.0, 7.0]
    assert ordered.tolist() == [[1.0, 5.0], [6.0, 7.0]]
    assert chosen.tolist() == [[7.0, 6.0], [7.0, 6.0]]


def test_an_index_can_be_an_input():
    table = minigrad.arange(8.0).reshape(4, 2)
    program = static.record(lambda i: F.embedding(i, table) * 1.0)(minigrad.tensor([0, 1]))

    assert program(minigrad.tensor([3, 2])).tolist() == [[6.0, 7.0], [4.0, 5.0]]
    assert program.plan()(minigrad.tensor([3, 2])).tolist() == [[6.0, 7.0], [4.0, 5.0]]


def test_a_target_can_be_an_input():
    scores = minigrad.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 3.0]])
    program = static.record(lambda x, t: F.cross_entropy(x, t))(scores, minigrad.tensor([0, 1]))

    for target in ([0, 2], [1, 1]):
        t = minigrad.tensor(target)
        assert program(scores, t).item() == F.cross_entropy(scores, t).item()
        g = program.gradient(0)(scores, t)
        x = scores.clone().requires_grad_()
        F.cross_entropy(x, t).backward()
        assert g.tolist() == x.grad.tolist()


def test_a_tensor_that_is_used_without_being_given_is_captured_and_read_anew():
    w = minigrad.tensor([1.0, 2.0])
    program = static.record(lambda x: x * w)(minigrad.ones(2))
    plan = program.plan()

    w += 10
    assert program(minigrad.ones(2)).tolist() == plan(minigrad.ones(2)).tolist() == [11.0, 12.0]
    w.data = minigrad.tensor([5.0, 6.0])
    assert program(minigrad.ones(2)).tolist() == plan(minigrad.ones(2)).tolist() == [5.0, 6.0]
    assert any("captured" in note and "w(2,)" in note for note in program.notes)


def test_the_notes_say_what_is_frozen():
    program = static.record(lambda x: F.dropout(x, 0.5))(minigrad.ones(3, 4))

    text = "\n".join(program.notes)
    assert "x (3, 4) float32" in text and "control flow" in text and "random numbers" in text


def test_what_was_computed_before_recording_cannot_be_differentiated_through():
    w = minigrad.tensor([1.0], requires_grad=True) * 2

    with pytest.raises(ProgramError, match="computed before recording began"):
        static.record(lambda x: x * w)(minigrad.ones(1))


def test_modules_and_losses_run_on_slots():
    minigrad.manual_seed(0)
    net = minigrad.nn.Sequential(
        minigrad.nn.Conv2d(1, 3, 3), minigrad.nn.ReLU(), minigrad.nn.MaxPool2d(2),
        minigrad.nn.Flatten(), minigrad.nn.Linear(27, 4), minigrad.nn.LayerNorm(4), minigrad.nn.GELU(),
    )  # fmt: skip
    x, y = minigrad.randn(5, 1, 8, 8), minigrad.tensor([0, 1, 2, 3, 0])
    program = static.record(lambda x, y: F.cross_entropy(net(x), y))(x, y)
    gradient = program.gradient(wrt=list(net.parameters())).plan()

    x2 = minigrad.randn(5, 1, 8, 8)
    F.cross_entropy(net(x2), y).backward()
    for g, p in zip(gradient(x2, y), net.parameters(), strict=True):
        # float32; the gradient of a layer norm is summed in another order
        assert_close(g, p.grad, rtol=2e-4, atol=1e-6)


# ------------------------------------------------------------------ writing in place


def test_in_place_writes_make_new_values_and_views_follow():
    def f(x):
        y = x * 1
        row, transposed = y[0], y.t()
        y += 1
        row *= 10
        transposed[1] = 0
        return y, row, transposed

    x = minigrad.arange(6.0).reshape(2, 3)
    for run in (static.record(f)(x), static.record(f)(x).plan()):
        for a, b in zip(run(x), f(x), strict=True):
            assert a.tolist() == b.tolist()
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_gradients_pass_through_in_place_writes():
    def f(x):
        y = x * 1
        y[0] *= 3
        y[1].mul_(x[2])
        return (y * y).sum()

    x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    f(x).backward()

    assert static.record(f)(x.detach()).gradient(0)(x.detach()).tolist() == x.grad.tolist()


def test_writing_to_what_is_outside_is_refused():
    w = minigrad.zeros(2)

    with pytest.raises(ProgramError, match="does not change what is outside"):
        static.record(lambda x: w.add_(x))(minigrad.ones(2))


# ------------------------------------------------------------------ the gradient as a program


def test_the_gradient_is_a_program_that_returns_just_what_was_asked_for_in_order():
    program = static.record(layer)(X, W, B)

    g = program.gradient(wrt=["b", 0])
    assert isinstance(g, static.Program) and g.names == ["x", "w", "b"]
    db, dx = g(X, W, B)
    x, b = minigrad.tensor(X, requires_grad=True), minigrad.tensor(B, requires_grad=True)
    layer(x, minigrad.tensor(W), b).backward()
    assert db.tolist() == b.grad.tolist() and dx.tolist() == x.grad.tolist()


def test_a_gradient_program_can_be_differentiated_again_and_again():
    program = static.record(lambda x: x**4)(*tensors(2.0))

    for expected in (32.0, 48.0, 48.0, 24.0):  # 4 x**3, 12 x**2, 24 x, 24
        program = program.gradient(0)
        assert program(*tensors(2.0)).item() == expected


def test_a_program_called_in_a_recorded_function_becomes_a_part_of_it():
    gradient = static.record(lambda x: (x**3).sum())(*tensors([1.0])).gradient(0)

    along = static.record(lambda x, u: (gradient(x) * u).sum())(*tensors([1.0], [1.0]))

    assert along.gradient("x")(*tensors([2.0], [5.0])).tolist() == [60.0]  # 6 x u
    with pytest.raises(ProgramError, match="record again"):
        static.record(gradient)(*tensors([1.0, 2.0]))


def test_a_repeated_value_is_computed_once():
    program = static.record(lambda x: x.exp() * x.exp() + x.exp())(minigrad.tensor(1.0))

    assert len(program) == 5  # as it was written
    assert str(program.simplified()).count("exp") == 1
    assert str(program.gradient(0)).count("exp") == 1


def test_what_no_output_needs_is_left_out():
    program = static.record(lambda x, y: (x.sin().cos(), x * y)[1].sum())(
        minigrad.ones(2), minigrad.ones(2)
    )

    g = program.gradient(wrt=["x"])
    assert "sin" not in str(g) and "sum" not in str(g)


def test_a_gradient_that_does_not_exist_is_zero_or_an_error():
    program = static.record(lambda x, y, k: x.sum())(
        minigrad.ones(2), minigrad.ones(3), minigrad.tensor([1])
    )

    assert program.gradient("y")(minigrad.ones(2), minigrad.ones(3), [1]).tolist() == [0.0] * 3
    with pytest.raises(ProgramError, match="only floating point"):
        program.gradient("k")
    with pytest.raises(ProgramError, match="no input 'z'"):
        program.gradient("z")


def test_a_gradient_of_several_numbers_asks_for_a_seed():
    program = static.record(lambda x: x * x)(minigrad.ones(3))

    with pytest.raises(ProgramError, match="implicitly created only for scalar outputs"):
        program.gradient(0)
    g = program.gradient(0, seeded=True)
    assert g(minigrad.ones(3), minigrad.tensor([1.0, 2.0, 3.0])).tolist() == [2.0, 4.0, 6.0]


def test_no_gradient_passes_where_recording_was_off_or_a_value_was_detached():
    def f(x):
        with minigrad.no_grad():
            a = x * 2
        return (x * a + x.detach() * x).sum()

    x = minigrad.tensor([3.0], requires_grad=True)
    f(x).backward()

    assert static.record(f)(x.detach()).gradient(0)(x.detach()).tolist() == x.grad.tolist() == [9.0]


def test_a_drawing_names_every_instruction():
    dot = static.record(layer)(X, W, B).to_dot()

    assert dot.startswith("digraph") and all(
        op in dot for op in ("matmul", "add", "relu", "sum", "(2, 3)")
    )


# ------------------------------------------------------------------ tensors of its own


def filled_row_by_row(x):
    h = minigrad.zeros(3)
    for i in range(3):
        h[i] = x[i] ** 2
    return h.sum()


def begun_at_zero(x):
    total = minigrad.zeros(())
    total += x.sum()
    return total * 2


def seen_through_a_view(x):
    h = minigrad.zeros(2, 3)
    second = h[1]
    h[0] = x
    h += 1
    second *= x
    return h.sum(0)


def kept_in_a_list(x):
    kept = [minigrad.zeros(3)]
    kept[0] += x
    kept[0].scatter_add_(0, minigrad.tensor([0, 0, 1]), x)
    return kept[0]


@pytest.mark.parametrize("f", [filled_row_by_row, begun_at_zero, seen_through_a_view, kept_in_a_list])  # fmt: skip
def test_what_a_function_writes_to_its_own_tensors_is_a_part_of_the_program(f):
    x, y = minigrad.tensor([1.0, 2.0, 3.0]), minigrad.tensor([4.0, 5.0, 6.0], requires_grad=True)
    program, compiled = static.record(f)(x), static.compile(f)
    z = f(y)
    z.backward(minigrad.ones_like(z))

    compiled(x)
    for run in (program, program.plan(), compiled, compiled):
        assert run(y.detach()).tolist() == z.tolist()
    gradient = program.gradient(0, seeded=True)
    assert gradient(y.detach(), minigrad.ones_like(z).detach()).tolist() == y.grad.tolist()


def test_a_tensor_from_outside_is_not_written_to_by_a_program():
    outside = minigrad.zeros(3)

    def through_a_view(x):
        outside[0] = x[0]
        return outside * 1

    for f in (through_a_view, lambda x: outside.add_(x) * 1):
        with pytest.raises(ProgramError, match="outside"):
            static.record(f)(minigrad.ones(3))
    assert outside.tolist() == [0.0] * 3


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.nonzero(),
        lambda x: x.unique(),
        lambda x: minigrad.where(x > 1),
        lambda x: x.masked_select(x > 1),
        lambda x: x * int(x.sum()),
        lambda x: f"{x.sum():.2f}",
        lambda x: max(x.sum(), x.mean()),
        lambda x: [10, 20, 30][x.argmax()],
    ],
)
def test_what_depends_on_values_is_refused_and_the_error_offers_to_record_again(f):
    with pytest.raises(ProgramError, match="record"):
        static.record(f)(minigrad.tensor([1.0, 2.0, 3.0]))


def test_a_placeholder_with_a_name_for_the_second_time_begins_another_program():
    static.placeholder((2,), name="x")
    x = static.placeholder((2,), name="x")

    assert static.program(x * 2).names == ["x"]


def test_a_plan_names_the_inputs_that_are_missing():
    plan = static.record(lambda x, w: x * w)(minigrad.ones(2), minigrad.ones(2)).plan()

    with pytest.raises(TypeError, match="the program needs w"):
        plan.run(x=minigrad.ones(2))


def test_gradients_come_in_the_order_asked_for():
    program = static.record(lambda a, b, c: (a * b * c).sum())(*[minigrad.ones(2)] * 3)

    numbers = minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0, 4.0]), minigrad.tensor([5.0, 6.0])
    for wrt in ([2, 0], ["c", "a"], [-1, "a"]):
        first, second = program.gradient(wrt=wrt)(*numbers)
        assert first.tolist() == [3.0, 8.0] and second.tolist() == [15.0, 24.0]


# ------------------------------------------------------------------ writes that gradients do not see


def written_under_no_grad(x):
    y = x * 3
    with minigrad.no_grad():
        y.mul_(x)
    return y


def written_through_a_view_under_no_grad(x):
    y = x * 3
    with minigrad.no_grad():
        y[0].mul_(10)
    return y * x


def written_through_what_was_detached(x):
    y = x * 3
    y.detach()[1:].add_(x[0])
    return y


def written_after_a_view_of_a_view_was_taken(x):
    y = x * 3
    corner = y.T[0][0]
    y.mul_(2)
    return corner * x


def written_after_it_was_detached(x):
    y = x * 3
    z = y.detach()
    y.mul_(x)
    return z * y


def a_scalar_assigned_with_an_ellipsis(x):
    y = x.sum() * 1
    y[...] = 0.5
    return y * x


def written_through_a_squeeze_of_nothing(x):
    y = x * 3
    y.squeeze()[0] = 7.0
    return y * x


def a_diagonal_doubled(x):
    y = x * 3
    y.diagonal().mul_(2)
    return y


def a_buffer_of_its_own_written_through_detach(x):
    y = minigrad.zeros(2, 2, dtype=minigrad.float64)
    y.detach().add_(x)
    return y * x


@pytest.mark.parametrize(
    "f",
    [
        written_under_no_grad,
        written_through_a_view_under_no_grad,
        written_through_what_was_detached,
        written_after_a_view_of_a_view_was_taken,
        written_after_it_was_detached,
        a_scalar_assigned_with_an_ellipsis,
        written_through_a_squeeze_of_nothing,
        a_diagonal_doubled,
        a_buffer_of_its_own_written_through_detach,
        lambda x: (x * 2).contiguous().mul_(x) + x.int(),
    ],
)
def test_a_program_writes_in_place_as_the_eager_run_does(f):
    program = static.record(f)(*tensors([[1.0, 2.0], [3.0, 4.0]]))
    x = minigrad.tensor([[0.5, -1.5], [2.5, 1.5]], dtype=minigrad.float64, requires_grad=True)
    z = f(x)
    ones = minigrad.ones_like(z)
    (wanted,) = minigrad.autograd.grad(z, x, ones)

    for run in (program, program.plan(), program.simplified()):
        assert run(x.detach()).tolist() == z.tolist()
    for p in (program, program.simplified()):
        assert p.gradient(0, seeded=True)(x.detach(), ones.detach()).tolist() == wanted.tolist()


def test_a_gradient_program_that_is_made_under_no_grad_is_the_same():
    program = static.record(lambda x: (x * x).sum())(*tensors([1.0, 2.0]))

    with minigrad.no_grad():
        gradient = program.gradient(0)

    assert gradient(*tensors([1.0, 2.0])).tolist() == [2.0, 4.0]


def written_data_that_was_saved(x):
    y = x.exp()
    y.data.mul_(2)
    return y


def used_a_view_whose_history_is_unclear(x):
    y = x * 3
    with minigrad.no_grad():
        first = y[0]
    y.mul_(2)
    return first * 2


def took_the_history_of_what_has_views(x):
    y = x * 3
    first = y[0]
    y.detach_()
    return first * y


def gave_other_memory(x):
    y = x * 3
    y.data = x.detach()
    return y


@pytest.mark.parametrize(
    "f, why",
    [
        (written_data_that_was_saved, "not notice"),
        (used_a_view_whose_history_is_unclear, "made under no_grad"),
        (took_the_history_of_what_has_views, "detached in place"),
        (gave_other_memory, "new memory"),
    ],
)
def test_a_write_whose_gradient_would_be_unclear_is_refused(f, why):
    with pytest.raises(ProgramError, match=f"{why}.*To fix it"):
        static.record(f)(*tensors([1.0, 2.0]))


def test_a_write_that_would_cast_to_integers_is_refused_while_recording():
    with pytest.raises(RuntimeError, match="can't be cast"):
        static.record(lambda x: minigrad.tensor([1, 2]).add_(x))(*tensors([1.5, 2.5]))


@pytest.mark.parametrize("draw", [F.dropout, minigrad.randn_like, minigrad.rand_like])
def test_a_program_draws_in_the_order_of_memory_as_eager_mode_does(draw):
    x = minigrad.arange(1.0, 22.0).view(3, 7)
    program = static.record(lambda x: draw(x.t() * 2) * 1)(x)

    found = []
    for f in (lambda x: draw(x.t() * 2) * 1, program):
        minigrad.manual_seed(0)
        found.append(f(x))

    assert minigrad.equal(*found)
