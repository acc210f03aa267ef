"""Central differences from a recording: a second opinion that uses no rule."""

import pytest

import minigrad
from minigrad import nn
from tests import tape_cases as cases


def recorded(f, *xs):
    with minigrad.record(namespace={f"x{k}": x for k, x in enumerate(xs)}) as tape:
        f(*xs).backward()
    return tape


def test_they_agree_with_the_tape_where_the_rules_are_right():
    x = minigrad.tensor([0.5, -1.0], requires_grad=True)
    w = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)

    found = recorded(lambda x, w: ((w @ x).tanh() * x).sum(), x, w).differences()

    assert found
    assert found.leaves["x0"] == pytest.approx(x.grad.array, rel=1e-5)
    assert found.leaves["x1"] == pytest.approx(w.grad.array, rel=1e-5)


def test_a_gradient_derived_by_hand_stands_beside_them():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    found = recorded(lambda x: (x * x).sum(), x).differences(x0=[1.0, 4.0])

    assert not found
    assert repr(found).splitlines()[0].split() == [
        "entry",
        "yours",
        "the",
        "tape's",
        "central",
        "apart",
    ]
    assert repr(found).splitlines()[1].split() == ["x0[0]", "1", "2", "2", "1e+00"]


def test_they_see_what_a_wrong_rule_does():
    """A hook makes the engine's gradient another one than the slope of what ran."""
    assert not cases.hooks().differences()


def test_what_was_detached_stays_as_it_was_for_the_backward_pass_took_it_so():
    x = minigrad.tensor(3.0, requires_grad=True)
    found = recorded(lambda x: x * x.detach(), x).differences()

    assert found and float(found.leaves["x0"]) == pytest.approx(3.0)


def test_in_place_operations_views_and_several_uses_run_again():
    def f(x):
        y = x * 2
        y += x
        return (y[1:] * y[0]).sum()

    assert recorded(f, minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)).differences()


def test_a_write_through_a_view_runs_again():
    tape = cases.views_of_one_base()

    assert tape.differences()


def test_a_write_to_a_row_of_a_view_runs_again():
    def f(x):
        y = x * 1
        y.view(2, 2)[0] *= 3
        return (y * y).sum()

    assert recorded(f, minigrad.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)).differences()


def test_a_function_of_the_user_runs_again_and_its_backward_is_checked():
    class Square(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            return factor * x * x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    x = minigrad.tensor([1.0, 2.0], requires_grad=True)

    found = recorded(lambda x: Square.apply(x, 3).sum(), x).differences()

    assert not found
    assert found.leaves["x0"] == pytest.approx([6.0, 12.0], rel=1e-5)
    assert cases.several_results().differences()


def test_a_function_that_computes_in_single_precision_is_refused():
    class Square(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            z = minigrad.zeros(len(x))
            z[:] = x * x
            return z

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    tape = recorded(
        lambda x: Square.apply(x).sum(), minigrad.tensor([1.0, 2.0], requires_grad=True)
    )

    with pytest.raises(ValueError, match="Square, which made .*, does not compute in double"):
        tape.differences()


def test_modules_run_again_and_a_mask_of_dropout_is_the_one_that_was_drawn():
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Tanh(), nn.Linear(4, 1))
    with minigrad.record() as tape:
        net(minigrad.rand(5, 3)).pow(2).mean().backward()

    found = tape.differences()

    assert found and len(found.leaves) == 4


def test_a_kink_is_said():
    x = minigrad.tensor([0.0, 1.0], requires_grad=True)
    [(found, _)] = recorded(lambda x: x.relu().sum(), x).differences("x0").found

    assert found.kinks == [[0]]
    assert "there is a kink" in found.text()


@pytest.mark.parametrize(
    "tape, why",
    [
        (cases.no_gradient_yet, "no gradient has reached x on this tape yet"),
        (cases.sparse, "was not recorded in full"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_it_says_when_it_cannot(tape, why):
    with pytest.raises(ValueError, match=why):
        tape().differences()


def test_it_says_when_a_part_was_computed_before_the_recording():
    x = minigrad.tensor(3.0, requires_grad=True)
    y = x * x
    with minigrad.record() as tape:
        (y * 2).backward()

    with pytest.raises(ValueError, match="y was computed outside the recording"):
        tape.differences("x")


def test_it_says_when_too_much_would_run():
    x = minigrad.ones(1000).requires_grad_()

    def f(x):
        y = x
        for _ in range(150):
            y = y * 1.01
        return y.sum()

    with pytest.raises(ValueError, match="1000 entries"):
        recorded(f, x).differences()


def test_a_name_that_is_no_leaf_is_refused():
    with pytest.raises(KeyError, match="no leaf 'y'"):
        cases.fan_in().differences("y")
