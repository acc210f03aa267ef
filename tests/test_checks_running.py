"""Whatever a student's function does, a check ends with a table."""

import re
import threading
import time

import numpy as np
import pytest

from minigrad import autograd, maximum, optim, tensor
from minigrad.teach import Exercise, Implementation, Misconception, Updates, progress, question
from minigrad.teach.cases import draw, in_layout, tolerance
from minigrad.teach.running import TooSlow, loose_names, run, time_limit
from minigrad.teach.trying import judge_array


def square(**settings):
    return Exercise("square_backward", lambda x: x * x, shapes=[[()], [(2, 3)]], **settings)


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    monkeypatch.setattr(question, "DECLARED", {})


# ------------------------------------------------------------------ what may go wrong


def endless(x, g):
    while True:
        pass


def stubborn(x, g):
    while True:
        try:
            time.sleep(10)
        except Exception:
            pass


def deep(x, g):
    return deep(x, g)


def exits(x, g):
    raise SystemExit(3)


class Unprintable(Exception):
    def __str__(self):
        raise ValueError


def unprintable(x, g):
    raise Unprintable


class Evil:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "answer, verdict, says",
    [
        (endless, "too slow", "no result after 0.2 s"),
        (stubborn, "too slow", "a loop that never ends"),
        (deep, "error", "RecursionError: maximum recursion depth"),
        (exits, "error", "SystemExit: 3"),
        (unprintable, "error", "Unprintable"),
        (lambda x: x, "error", "takes 1 positional argument but 2 were given"),
        (lambda x, g: Evil(), "wrong type", "Evil cannot be read as an array"),
        (lambda x, g: 1j, "wrong type", "complex instead of real numbers"),
        (lambda x, g: {}, "wrong type", "dict instead of real numbers"),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_a_check_ends_whatever_the_answer_does(answer, verdict, says):
    row = square(seconds=0.2 if verdict == "too slow" else 30).check(answer).rows[0]

    assert row.verdict == verdict
    assert says in row.message


def test_after_a_loop_without_end_the_other_cases_are_not_tried():
    assert len(square(seconds=0.2).check(endless).rows) == 1


def test_the_time_limit_holds_in_other_threads_too():
    heard = []

    def work():
        try:
            with time_limit(0.1):
                while True:
                    pass
        except TooSlow:
            heard.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(5)

    assert heard == [True]


def test_the_stop_button_still_stops():
    def answer(x, g):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        square().check(answer)


def test_what_an_answer_prints_is_shown_only_if_something_is_wrong():
    def right(x, g):
        print("x is", x.shape)
        return 2 * x * g

    def wrong(x, g):
        print("x is", x.shape)
        return x * g

    assert "printed" not in repr(square().check(right))
    assert "printed: x is ()" in repr(square().check(wrong))


def test_an_answer_that_warns_leaves_no_trace(recwarn):
    def answer(x, g):
        np.log(-np.ones(2))
        return 2 * x * g

    assert square().check(answer).ok
    assert not recwarn.list


def test_an_input_in_strides_is_handed_over_in_strides_and_a_change_is_seen():
    seen = []

    def answer(x, g):
        seen.append(x.flags.c_contiguous)
        return 2 * x * g

    result = square(more=["strided", "empty"]).check(answer)

    assert seen == [True, True, False, True]
    assert [row.inputs for row in result.rows][2:] == ["x (2, 3); strided", "x (2, 0); empty"]

    given = {"x": in_layout(np.ones((2, 2)), "strided")}
    assert run(lambda x: x.fill(0), given, 1.0).changed == ("x",)
    assert given["x"].sum() == 4


# ------------------------------------------------------------------ how near is right


def test_finite_differences_are_not_taken_for_a_derivation():
    exercise = Exercise("f", lambda x: x.sin() * x, shapes=[[(4,)]])
    h = 1e-5

    def by_differences(x, g):
        return g * (np.sin(x + h) * (x + h) - np.sin(x - h) * (x - h)) / (2 * h)

    result = exercise.check(by_differences)

    assert exercise.check(lambda x, g: g * (np.cos(x) * x + np.sin(x))).ok
    assert not result.ok
    assert [d.kind for d in result.diagnoses] == ["finite_difference_noise"]


@pytest.mark.parametrize(
    "slope, kinds",
    [(lambda z: 1 - z * z, ["finite_difference_noise"]), (lambda z: 1 + z * z, ["sign"])],
)
def test_an_answer_in_single_precision_is_told_so_or_which_mistake_it_has(slope, kinds):
    exercise = Exercise("f", lambda x: x.tanh(), shapes=[[(4,)], [(3, 5)]])

    def backward(x, g):
        return g.astype(np.float32) * slope(np.tanh(x.astype(np.float32)))

    result = exercise.check(backward)

    assert not result.ok  # finite differences in single precision look the same
    assert [d.kind for d in result.diagnoses] == kinds
    assert ("digits of single precision" in str(result)) == (kinds != ["sign"])


def test_another_order_of_the_same_sums_is_right():
    exercise = Exercise("f", lambda x, y: x @ y, shapes=[[(30, 400), (400, 2)]])

    def other_order(x, y, g):
        dy = sum(x[k][:, None] * g[k] for k in reversed(range(30)))
        return np.einsum("nm,km->nk", g, y), dy

    assert exercise.check(other_order).ok


def test_the_tolerance_grows_with_what_is_lost_to_cancellation():
    x = {"x": np.array([1.0])}
    plain, small = (
        tolerance(f, x)[0] / np.abs(f(x)[0]).max()
        for f in (lambda given: [given["x"]], lambda given: [given["x"] - 0.999999])
    )

    assert small > 1e5 * plain


@pytest.mark.parametrize("seed", range(40))
def test_drawn_inputs_are_away_from_the_kinks_of_max_relu_and_abs(seed):
    def forward(x, y):
        return maximum(x, y).amax(1) + x.relu().sum(1) + y.abs().sum(1)

    def backward(
        x, y, g
    ):  # at a tie the first one wins, and the slope at 0 is 1: the engine decides otherwise
        best = np.eye(x.shape[1])[np.maximum(x, y).argmax(1)]
        return g[:, None] * (best * (x >= y) + (x >= 0)), g[:, None] * (
            best * (x < y) + np.where(y < 0, -1, 1)
        )

    exercise = Exercise("f", forward, shapes=[[(8, 8), (8, 8)]])

    assert all(
        judge_array("d", mine, right, 0.0, atol)[0] == "right"
        for case in exercise.cases(str(seed))
        for mine, right, atol in zip(backward(**case.inputs, g=case.g), case.expected, case.atol)
    )


def test_extreme_inputs_show_what_overflows_and_do_not_refuse_what_cancels():
    exercise = Exercise("f", lambda x: x.softmax(1), shapes=[[(3, 5)]], more=["extreme"])

    for seed in range(100):
        _, case = exercise.cases(str(seed))
        x, g = case.inputs["x"], case.g
        p = np.exp(x - x.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        mine = p * (g - (p * g).sum(1, keepdims=True))  # g - g * (1 - 1e-5), where one entry wins

        assert x.max() > 1000 and x.min() < -1000
        assert judge_array("dx", mine, case.expected[0], 0.0, case.atol[0])[0] == "right"


def test_where_two_entries_share_a_maximum_a_wrong_gradient_stays_wrong():
    exercise = Exercise(
        "f", lambda x: x.amax(), shapes=[[(4,)]], numbers={"x": lambda x: np.ones_like(x)}
    )

    assert exercise.check(lambda x, g: np.full(4, g / 4)).ok
    assert not exercise.check(lambda x, g: np.full(4, g)).ok


def test_an_author_is_warned_of_a_wrong_answer_that_is_right_for_other_draws():
    exercise = Exercise("clamped", lambda x: x.clamp(max=1), shapes=[[(3,)]])

    @exercise.wrong("mask_missing")
    def without_a_mask(x, g):  # in the public case, one entry is 1.49
        return g

    def clamped(x, g):
        return g * (x < 1)

    with pytest.warns(
        UserWarning, match="without_a_mask is right for 15 of 20 draws of the inputs"
    ):
        assert exercise.check().ok


def test_two_numbers_that_differ_in_the_ninth_digit_are_shown_with_enough_digits():
    _, message = judge_array("dx", np.array(1.0 + 1e-9), np.array(1.0), 0.0, 0.0)

    assert message == "dx is 1.000000001 but should be 1"


# ------------------------------------------------------------------ points, hints, progress


def test_points_are_given_part_by_part():
    exercise = Exercise(
        "f", lambda x, y: x * y, shapes=[[(), ()], [(3,), (3,)]], points={"dx": 2, "dy": 1}
    )

    assert exercise.check(lambda x, y, g: (g * y, g)).points == 2
    assert exercise.check(lambda x, y, g: (g * y, g * x)).points == 3
    assert exercise.check(lambda x, y, g: 1 / 0).points == 0


def test_hints_unfold_one_at_a_time():
    exercise = square(hints=["Look.", "Look again."])

    assert [repr(exercise.hint()) for _ in range(3)] == [
        "Hint 1 of 2: Look.",
        "Hint 2 of 2: Look again.",
        "Hint 2 of 2: Look again.",
    ]


def test_the_progress_panel_says_what_is_solved_what_is_begun_and_what_was_not_tried():
    first, second = square(), Exercise("g", lambda x: x, shapes=[[()]], points=2, hints=["Hm."])
    Exercise("h", lambda x: x, shapes=[[()]])
    first.check(lambda x, g: 2 * x * g)
    second.hint()
    second.check(lambda x, g: x)

    assert repr(progress()) == (
        "progress: 1 of 3 exercises solved\n"
        "    exercise                    right   points  hints\n"
        "    square_backward  solved     2 of 2  1 of 1\n"
        "    g                begun      0 of 1  0 of 2  1 of 1 seen\n"
        "    h                not tried          0 of 1"
    )
    assert "width: 100%" in progress()._repr_html_() and "for practice" in progress()._repr_html_()


def test_a_check_tries_the_wrong_answers_that_its_author_declares():
    def square_backward(x, g):
        return 2 * x * g

    exercise = square()

    @exercise.wrong("upstream_ignored")
    def without_g(x, g):
        return 2 * x

    assert exercise.check()
    assert exercise.last.ok

    @exercise.wrong("scaled")
    def negative(x, g):
        return -2 * x * g

    with pytest.raises(
        ValueError, match="negative should get 'scaled', but gets 'sign' and 'wrong value'"
    ):
        exercise.check()
    exercise.wrongs[:] = []
    exercise.wrong("sign", square_backward)
    with pytest.raises(ValueError, match="square_backward should get 'sign', but gets full points"):
        exercise.check()


# ------------------------------------------------------------------ diagnoses


def test_a_misconception_must_account_for_every_case():
    doubled = Misconception("doubled", lambda x: 2 * x, "Doubled.")
    exercise = Implementation("f", lambda x: x, [{"x": (3,)}, {"x": (2,)}], mistakes=[doubled])

    assert [d.kind for d in exercise.check(lambda x: 2 * x).diagnoses] == ["doubled"]
    assert not exercise.check(lambda x: 2 * x if len(x) == 3 else x + 1).diagnoses


def test_a_coincidence_in_one_case_is_not_diagnosed():
    def sometimes(x, g):  # the g is forgotten in one of the cases, and all is noise in the other
        return 2 * x if x.ndim else x + 17 * g

    assert not square().check(sometimes).diagnoses


def test_an_optimizer_that_parts_from_its_model_says_at_which_step():
    from minigrad import optim

    exercise = Updates("step", optim.SGD, [{"lr": 0.1, "momentum": 0.9}])

    def forgetful(p, g, state, lr, momentum):
        return p - lr * g

    [row] = exercise.check(forgetful).rows

    assert row.message.startswith("after step 2: p[0] is ")
    assert row.diagnosis.kind == "state_not_kept"


# ------------------------------------------------------------------ helpers in other cells


def cell(source, namespace, number):
    import linecache

    name = f"<cell {number} of a test>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), namespace)


def test_an_answer_that_keeps_numbers_in_global_variables_is_told(capsys):
    space = {"__name__": "__main__"}
    given = (
        "from minigrad import optim\nfrom minigrad.teach import Updates\n"
        "exercise = Updates('step', optim.SGD, [dict(lr=0.1, momentum=0.9), dict(lr=0.2, momentum=0.5)])"
    )
    cell(given, space, 1)
    cell(
        "v = 0\ndef step(p, g, state, lr, momentum):\n    global v\n    v = momentum * v + g\n    return p - lr * v",
        space,
        2,
    )
    result = repr(eval("exercise.check()", space))
    assert "step changes global variables (v), which keep their values from one case" in result
    assert "another cell" not in result
    cell("def step(p, g, state, lr, momentum):\n    return p - lr * state['v']", space, 3)
    assert "no 'v' in state: it is empty at the first step" in repr(eval("exercise.check()", space))


def test_an_optimizer_whose_steps_change_nothing_is_told_what_it_has_not_kept():
    class Rebinds:
        def __init__(self, params, lr):
            self.params, self.lr = list(params), lr

        def step(self):
            for p in self.params:
                p = p - self.lr * p.grad if self.skips or p.grad is not None else p

    exercise = Updates("step", optim.SGD, [{"lr": 0.1}], wanted="class")
    Rebinds.skips = False
    assert "step() changed no parameter" in repr(exercise.check(Rebinds))
    Rebinds.skips = True
    assert "its .grad is None, and step skips it" in " ".join(repr(exercise.check(Rebinds)).split())
    exercise = Updates("step", optim.SGD, [{"lr": 0.1}])
    found = repr(exercise.check(lambda p, g, state, lr: (p - lr * g, p)[1]))
    assert "The parameter that is returned is the one that was given" in found


def test_an_answer_that_overwrites_a_saved_value_is_told_both_lines():
    def f(x):
        x = tensor(x, requires_grad=True)
        y = x.exp()
        y += 1
        y.sum().backward()
        return x.grad

    exercise = Implementation("f", np.exp, [{"x": (3,)}], returns=["dx"])
    message = " ".join(repr(exercise.check(f)).split())
    assert re.search(r"saved .*y = x.exp\(\) .*changed .*y \+= 1", message)


def test_a_tuple_of_tensors_that_is_taken_for_a_tensor_is_named(capsys):
    def f(x, g):
        class Square(autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                return 2 * g * ctx.saved_tensors.cos()

        x = tensor(x, requires_grad=True)
        return autograd.grad(Square.apply(x), x, tensor(g))[0]

    message = " ".join(repr(Exercise("f", lambda x: x * x, shapes=[[(3,)]]).check(f)).split())
    assert (
        "has no attribute 'cos'. This is a tuple with 1 tensor. To fix it, take one out of it"
        in message
    )


def test_a_helper_in_a_cell_that_is_not_graded_is_named():
    space = {"__name__": "__main__"}
    given = (
        "from minigrad.teach import Exercise\nimport numpy as np\n"
        "exercise = Exercise('f', lambda x: x * x, shapes=[[()]])"
    )
    cell(given, space, 1)
    cell("def helper(x):\n    return 2 * x\n\nfactor = 1.0", space, 2)
    cell("def f(x, g):\n    return np.multiply(helper(x), g) * factor", space, 3)

    result = eval("exercise.check()", space)

    assert result.ok
    assert repr(result).endswith(
        "helper, factor are defined in another cell. Keep that cell in the notebook: what f uses is graded with it."
    )


def test_helpers_of_the_answer_s_own_cell_and_of_given_cells_are_not():
    space = {"__name__": "__main__"}
    cell("twice = lambda x: 2 * x", space, 4)
    source = (
        "import numpy as np\n\ndef own(x):\n    return x\n\ndef f(x):\n    return own(twice(x))"
    )
    cell(source, space, 5)

    assert loose_names(space["f"], frozenset({"twice"})) == []
    assert loose_names(space["f"], frozenset()) == ["twice"]


def test_cases_are_drawn_by_name_alike_on_every_machine():
    assert draw("public/f/1/x", (3,)).tolist() == draw("public/f/1/x", (3,)).tolist()
    assert draw("public/square_backward/1/x", ()).shape == ()
