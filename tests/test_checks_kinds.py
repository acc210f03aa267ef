"""The kinds of exercise: what each takes for right, and which mistakes it recognizes."""

import inspect
import re

import numpy as np
import pytest

import minigrad
from minigrad import optim
from minigrad.teach import (
    Adjoints,
    Differentiable,
    Edges,
    Exercise,
    Facts,
    Implementation,
    Misconception,
    Order,
    Tangents,
    Updates,
    outcome,
    question,
    saved_at,
)


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    monkeypatch.setattr(question, "DECLARED", {})


def kinds(result):
    return [d.kind for d in result.diagnoses]


def program(x, y):
    s = x + y
    t = s * s
    z = t * x
    return locals()


INPUTS = {"x": 2.0, "y": 3.0}
RIGHT_EDGES = {"z": ["t", "x"], "t": ["s", "s"], "s": ["x", "y"]}


# ------------------------------------------------------------------ structure


def test_edges_are_right_in_any_order_and_read_off_the_tape():
    edges = Edges("edges", program, INPUTS)

    assert edges.check(RIGHT_EDGES).ok
    assert edges.check({"s": ["y", "x"], "z": ["x", "t"], "t": ["s", "s"]}).ok


@pytest.mark.parametrize(
    "answer, kind, message",
    [
        ({**RIGHT_EDGES, "t": ["s"]}, "double_use", "s is missing"),
        ({**RIGHT_EDGES, "t": ["z"]}, "forward_edges", "s is missing; z does not belong here"),
        ({**RIGHT_EDGES, "t": ["x", "y"]}, "jumped_to_the_leaves", "s is missing"),
    ],
)
def test_wrong_edges_are_explained(answer, kind, message):
    result = Edges("edges", program, INPUTS).check(answer)
    [row] = [row for row in result.rows if not row.ok]

    assert row.what == "t" and row.message.startswith(message)
    assert kinds(result) == [kind]


@pytest.mark.parametrize("order", [["z", "t", "s", "x", "y"], ["z", "t", "s", "y", "x"]])
def test_every_valid_order_is_right(order):
    assert Order("order", program, INPUTS).check(order).ok


@pytest.mark.parametrize(
    "order, message, kind",
    [
        (["z", "x", "t", "s", "y"], "x is visited before s", "too_early"),
        (["x", "y", "s", "t", "z"], "x is visited before s", "forward_order"),
        (["z", "t", "s", "x", "y", "x"], "x is visited 2 times", "visited_twice"),
        (["z", "t", "s", "x"], "y is missing", None),
        (["z", "t", "s", "x", "y", "w"], "'w' is not a tensor behind z", None),
        (["z", "t", ["s"], "x", "y"], "['s'] is not a tensor", None),
    ],
)
def test_an_order_that_is_not_valid_is_told_why(order, message, kind):
    result = Order("order", program, INPUTS).check(order)

    assert message in result.rows[0].message
    assert kinds(result) == ([kind] if kind else [])


def test_adjoints_are_numbers_by_name_and_wrong_ones_are_searched_on_the_tape():
    adjoints = Adjoints("adjoints", program, INPUTS, of=["t", "s", "x"])

    assert adjoints.check({"t": 2, "s": 20, "x": 45}).ok
    result = adjoints.check({"t": 2, "s": 20, "x": 20})
    assert kinds(result) == ["missing_path"]
    assert [row.verdict for row in adjoints.check({"t": 2}).rows] == ["right", "missing", "missing"]


@pytest.mark.parametrize("answer", [None, ..., 3, "edges"])
def test_what_is_no_answer_is_a_row(answer):
    for exercise in (Edges("e", program, INPUTS), Order("o", program, INPUTS)):
        [row] = exercise.check(answer).rows
        assert row.verdict in ("missing", "wrong type")


# ------------------------------------------------------------------ predictions


def test_a_card_shows_no_cross_for_what_is_not_predicted_yet():
    exercise = Facts("predicted", lambda: {"two": 2, "yes": True})

    nothing = exercise.check({"two": ..., "yes": ...})._repr_html_()
    half = exercise.check({"two": 3, "yes": ...})._repr_html_()

    assert "… predicted has no answer yet; put a prediction" in nothing and "✗" not in nothing
    assert half.count("✗") == half.count("…") == 1


def test_a_prediction_is_compared_with_what_happens_and_the_answer_is_not_given_away():
    exercise = Facts("predicted", lambda: {"two": 2, "yes": True})

    assert exercise.check({"two": 2, "yes": True}).ok
    result = exercise.check({"two": 3, "yes": 1})
    assert [row.message for row in result.rows] == [
        "3 is not what happens",
        "1 is not what happens",
    ]
    for wrapped in ("2", [2], (2.0,)):
        assert "is not a number: leave out" in exercise.check({"two": wrapped}).rows[0].message
    rows = exercise.check({"YES": True, "Two": 2}).rows
    assert [row.message.partition("; ")[2] for row in rows] == [
        "'Two' is not expected",
        "'YES' is not expected",
    ]
    for dots in ({}, {"two": ...}):
        rows = exercise.check({**dots, "yes": True}).rows
        assert [row.verdict for row in rows] == ["missing", "right"]
        assert rows[0].message == "there is no answer for two yet"


def test_two_mistakes_in_one_prediction_are_each_named():
    mistakes = [
        Misconception("doubled", lambda right: {**right, "two": 4}, "Twice as much."),
        Misconception("negated", lambda right: {**right, "three": -3}, "The sign."),
        Misconception("both_zero", lambda right: {**right, "two": 0, "three": 0}, "Nothing."),
    ]
    exercise = Facts("predicted", lambda: {"two": 2, "three": 3, "four": 4}, mistakes=mistakes)

    rows = exercise.check({"two": 4, "three": -3, "four": 5}).rows
    assert [row.diagnosis and row.diagnosis.kind for row in rows] == ["doubled", "negated", None]
    assert kinds(exercise.check({"two": 0, "three": 0, "four": 4})) == ["both_zero"]
    assert kinds(exercise.check({"two": 0, "three": 7, "four": 5})) == []  # only half of it


def test_an_outcome_is_where_a_program_stops():
    def at_the_write():
        minigrad.ones(2, requires_grad=True).add_(1)

    def in_backward():
        y = minigrad.ones(2, requires_grad=True).exp()
        y.mul_(2)
        return y

    assert outcome(at_the_write) == "error at the write"
    assert outcome(in_backward) == "error in backward"
    assert outcome(lambda: minigrad.ones(2, requires_grad=True) * 2) == "runs"


def test_the_version_at_which_a_value_was_saved_stays_when_the_value_changes():
    y = minigrad.ones(2, requires_grad=True) * 3
    y.add_(1)
    z, square = y.sin(), y * y
    y.add_(1)

    assert (saved_at(z), saved_at(square), saved_at(y), saved_at(minigrad.ones(2))) == (
        1, 1, None, None,
    )  # fmt: skip


# ------------------------------------------------------------------ functions


def test_tangents_are_those_of_forward_mode_and_their_mistakes_are_known():
    exercise = Tangents(
        "f", lambda x, y: x @ y, shapes=[[(2, 3), (3, 2)], [(2, 2), (2, 2)]], more=["empty"]
    )

    assert exercise.check(lambda x, y, u, v: u @ y + x @ v).ok
    assert kinds(exercise.check(lambda x, y, u, v: u @ y)) == ["missing_path"]
    assert kinds(exercise.check(lambda x, y, u, v: -(u @ y + x @ v))) == ["sign"]
    assert kinds(exercise.check(lambda x, y, u, v: u @ y - x @ v)) == ["sign"]


def test_a_wrong_tangent_of_a_sum_is_a_verdict_and_no_error():
    exercise = Tangents("f", lambda x: (x * x).mean(), shapes=[[(3,)], [(2, 2)]])

    assert not exercise.check(lambda x, x_dot: np.sum(2 * x * x_dot)).ok
    assert not exercise.check(lambda x, x_dot: 2 * x * x_dot / x.size).ok


LAYER, VECTORS = [[(2, 3), (3,)], [(3, 3), (3,)]], [[(3,), (3,)], [(4,), (4,)]]


def P(x):
    return np.exp(x) / np.exp(x).sum()


def root_of(a):
    """Newton's steps to the root of a**2 + 1, which converge."""
    x = a = a * a + 1
    for _ in range(4):
        x = (x + a / x) / 2
    return x


def last_steps_tangent(a, u):
    x = a * a + 1
    for _ in range(3):
        x = (x + (a * a + 1) / x) / 2
    return a * u / x


WRONG_TANGENTS = [
    (lambda x: (x * x).sin(), [[(3,)], [(2, 2)]], lambda x, u: np.cos(x * x) * u, "forgot_inner"),
    (lambda x: (x * x).sin(), [[(3,)], [(2, 2)]], lambda x, u: np.cos(x) * 2 * x * u, "wrong_argument"),
    (lambda x: (x * x).mean(), [[(3,)], [(2, 2)]], lambda x, u: np.sum(2 * x * u), "mean_for_sum"),
    (lambda x, y: x / y, VECTORS, lambda x, y, u, v: u / y - v / y**2, "wrong_argument"),
    (lambda x, y: x / y, VECTORS, lambda x, y, u, v: u / v, "applied_to_tangents"),
    (lambda w, x: (w @ x).relu(), LAYER, lambda w, x, u, v: u @ x + w @ v, "mask_missing"),
    (lambda w, x: (w @ x).relu(), LAYER, lambda w, x, u, v: np.maximum(u @ x + w @ v, 0), "applied_to_tangents"),
    (lambda w, x: (w @ x).tanh(), LAYER, lambda w, x, u, v: 1 - np.tanh(w @ x) ** 2, "upstream_ignored"),
    (lambda w, x: (w @ x).tanh(), LAYER, lambda w, x, u, v: u @ x + w @ v, "upstream_only"),
    (lambda x, y: (2 * x).mul_(y), VECTORS, lambda x, y, u, v: 2 * u * y + 2 * x * y * v, "stale_value"),
    (lambda x, y: (2 * x).copy_(y * y), VECTORS, lambda x, y, u, v: 2 * u, "stale_value"),
    (lambda x, y: x * y, VECTORS, lambda x, y, u, v: u * y + x * v + u * v, "paths_multiplied"),
    (lambda w, x: (w @ x).sin(), LAYER, lambda w, x, u, v: np.cos(w @ x) * (w @ x), "other_variable"),
    (lambda w, x: (w @ x).sin(), LAYER, lambda w, x, u, v: np.cos(u @ x + w @ v) * (u @ x + w @ v), "wrong_argument"),
    (lambda w, x: (w @ x).sin(), LAYER, lambda w, x, u, v: np.cos(u @ x + w @ v), "upstream_only"),
    (lambda x: x.exp(), [[(4,)], [(3,)]], lambda x, u: u, "upstream_only"),
    (lambda x: x.softmax(-1), [[(4,)], [(3,)]], lambda x, u: P(x) * (u - u.sum()), "wrong_argument"),
    (lambda x: (-(x**2)).exp(), [[(4,)], [(3,)]], lambda x, u: np.exp(-(x**2)) * u, "upstream_only"),
    (root_of, [[(4,)], [(3,)]], last_steps_tangent, "missing_path"),
]  # fmt: skip


@pytest.mark.parametrize("f, shapes, wrong, kind", WRONG_TANGENTS)
def test_a_mistake_in_a_tangent_is_searched_on_the_tape(f, shapes, wrong, kind):
    exercise = Tangents("f", f, shapes=shapes)

    assert kinds(exercise.check(wrong)) == [kind]
    assert kinds(exercise.check(lambda *given: np.cos(wrong(*given)))) == []


def test_a_gradient_is_no_tangent():
    exercise = Tangents("f", lambda x: x.cumsum(0), shapes=[[(3,)], [(4,)]])

    result = exercise.check(lambda x, x_dot: np.arange(len(x), 0, -1.0))

    assert kinds(result) == ["gradient_for_tangent"]


def test_a_differentiable_function_is_checked_by_value_and_by_gradient():
    exercise = Differentiable("f", lambda x: x * x, shapes=[[(3,)]])

    assert exercise.check(lambda x: x.square()).ok
    cut = exercise.check(lambda x: x.detach() * x)
    assert [row.verdict for row in cut.rows] == ["right", "wrong value"]
    assert "was cut" in exercise.check(lambda x: x.detach() ** 2).rows[0].message
    assert "must be a tensor" in exercise.check(lambda x: x.detach().numpy() ** 2).rows[0].message
    assert "shape ()" in exercise.check(lambda x: (x * x).sum()).rows[0].message


def test_a_function_is_compared_with_a_second_one_or_judged_by_its_author():
    def objection(answer, n):
        return None if answer % n == 0 else f"{answer} is no multiple of {n}"

    numbers = Implementation("f", lambda x: {"twice": 2 * x}, [{"x": [3]}])
    any_multiple = Implementation("multiple", None, [{"n": [7]}], accepts=objection)

    assert numbers.check(lambda x: {"twice": 6}).ok
    assert numbers.check(lambda x: {"twice": 7}).rows[0].message == (
        "result['twice'] is 7 but should be 6"
    )
    assert any_multiple.check(lambda n: 21).ok
    assert any_multiple.check(lambda n: 22).rows[0].message == "22 is no multiple of 7"
    assert any_multiple.check(lambda n: "21 of them").rows[0].verdict == "wrong type"


@pytest.mark.parametrize(
    "change, message",
    [
        ({}, ""),
        ({"names": ("a", "b"), "pair": [0.3, "x"]}, ""),
        ({"names": ["a", "c"]}, "result['names'] is ['a', 'c'] but should be ['a', 'b']"),
        ({"deep": {"ok": 1}}, "result['deep']['ok'] is 1 but should be True"),
        ({"ones": 1.0}, "result['ones'] has shape () instead of (2,)"),
        ({"ones": [1.0, 2.0]}, "result['ones'][1] is 2 but should be 1"),
    ],
)
def test_a_dict_may_hold_strings_lists_and_dicts(change, message):
    right = {
        "names": ["a", "b"],
        "pair": (0.1 + 0.2, "x"),
        "deep": {"ok": True},
        "ones": np.ones(2),
    }
    exercise = Implementation("f", lambda n: dict(right), [{"n": [2]}])

    (row,) = exercise.check(lambda n: {**right, **change}).rows

    assert (row.verdict == "right", row.message) == (not message, message)


def test_a_predicted_number_may_differ_by_rounding_but_an_integer_may_not():
    exercise = Facts("predicted", lambda: {"loss": 0.1 + 0.2, "bytes": 10**12, "freed": True})

    near = exercise.check({"loss": 0.3, "bytes": 10**12, "freed": True})
    far = exercise.check({"loss": 0.301, "bytes": 10**12 + 1, "freed": 1.0})

    assert near.ok
    assert not any(row.ok for row in far.rows)


def test_the_entry_that_is_shown_is_wrong_by_more_than_rounding():
    exercise = Implementation(
        "f", lambda x: (np.array([0.3, 2.0]), "up"), [{"x": [1.0]}], returns=("a", "b")
    )

    result = exercise.check(lambda x: (np.array([0.1 + 0.2, 5.0]), "up"))

    assert result.rows[0].message == "a[1] is 5 but should be 2"


# ------------------------------------------------------------------ optimizers


def test_an_optimizer_may_be_a_function_or_a_class():
    class Descent:
        def __init__(self, params, lr):
            self.params, self.lr = list(params), lr

        def step(self):
            for p in self.params:
                if p.grad is not None:
                    with minigrad.no_grad():
                        p -= self.lr * p.grad

    exercise = Updates("Descent", optim.SGD, [{"lr": 0.1}, {"lr": [0.1, 0.2, 0.3, 0.2, 0.1]}])

    assert exercise.check(Descent).ok
    assert exercise.check(lambda p, g, state, lr: p - lr * g).ok
    assert kinds(exercise.check(lambda p, g, state, lr: p - g))[0] == "lr_missing"


def test_a_step_that_returns_nothing_is_told_so():
    def step(p, g, state, lr):
        p -= lr * g

    [row] = Updates("step", optim.SGD, [{"lr": 0.1}]).check(step).rows

    assert row.message == "nothing was returned; end with  return p"


def test_a_class_is_asked_for_where_a_class_is_wanted():
    exercise = Updates("Descent", optim.SGD, [{"lr": 0.1}], wanted="class")

    assert "it must be a class" in exercise.check(lambda p: p).rows[0].message
    assert "Descent is not defined yet" in exercise.check().rows[0].message


def test_an_error_inside_a_class_is_shown_with_the_student_s_line():
    class Descent:
        def __init__(self, params, lr):
            self.params = params

        def step(self):
            self.params[0].grad *= missing  # noqa: F821

    [row] = Updates("Descent", optim.SGD, [{"lr": 0.1}]).check(Descent).rows

    assert row.verdict == "error"
    assert "in the line  self.params[0].grad *= missing" in row.message


# ------------------------------------------------------------------ what an author declares


def square(x):
    return x * x


WRONG = [
    (lambda: Exercise("a b", square, [[(2,)]]), "name is 'a b'. It must be the name of what"),
    (lambda: Exercise("f", "square", [[(2,)]]), "forward is 'square'. It must be a function"),
    (lambda: Exercise("f", square, (2, 3)), "shapes is (2, 3). It must be a list of cases"),
    (lambda: Exercise("f", square, []), "shapes is []. It must be a list of cases"),
    (lambda: Exercise("f", square, [[(-1,)]]), "shapes is [[(-1,)]]. It must be"),
    (lambda: Exercise("f", square, [[(2,)]], points="2"), "points is '2'. It must be a number"),
    (lambda: Exercise("f", square, [[(2,)]], points={"x": 2}).check(square), "names 'x', which is not one of dx"),
    (lambda: Exercise("f", square, [[(2,)]], hints="Think."), "hints is 'Think.'. It must be a list"),
    (lambda: Exercise("f", square, [[(2,)]], seconds=0), "seconds is 0. It must be a positive number"),
    (lambda: Exercise("f", square, [[(2,)]], more="empty"), "more is 'empty'. It must be a list of \"empty\""),
    (lambda: Exercise("f", square, [[(2,)]], constants="x"), "constants is 'x'. It must be a list"),
    (lambda: Exercise("f", square, [[(2,)]], constants=["y"]), "'y' is not one of the inputs: x"),
    (lambda: Exercise("f", square, [[(2,)]], mistakes=["sign"]), "It must be a list of Misconception,"),
    (lambda: Exercise("f", lambda x: x.sum().item(), [[(2,)]]).check(square), "forward returned float"),
    (lambda: Exercise("f", lambda x, y: x * x, [[(2,), (2,)]]).check(square), "does not use y. Write  constants=['y']"),
    (lambda: Exercise("f", square, [[(2,)]]).wrong(square), 'the diagnosis comes first:  @f.wrong("sign'),
    (lambda: Implementation("f", square, {"x": (3,)}), "must be a list of cases"),
    (lambda: Implementation("f", square, [{"x": [1, 2]}]), "It must be a list of cases"),
    (lambda: Implementation("f", square, [{"x": 3}]), "It must be a list of cases"),
    (lambda: Implementation("f", square, [{"x": (3,)}], returns="z"), "returns is 'z'. It must be a list of names"),
    (lambda: Implementation("f", square, [{"x": (3,)}], returns=["a", "b"]).check(square), "the reference returned 3"),
    (lambda: Updates("f", optim.SGD, {"lr": 0.1}), "settings is {'lr': 0.1}. It must be a list of dicts"),
    (lambda: Updates("f", "SGD", [{"lr": 0.1}]), "a class, such as optim.SGD, without ()"),
    (lambda: Updates("f", optim.SGD, [{"lr": 0.1}], wanted="method"), 'It must be "function" or "class"'),
    (lambda: Facts("f", {"a": 1}), "program is {'a': 1}. It must be a function, without ()"),
    (lambda: Facts("f", lambda: [1]).check({"a": 1}), "the program returned list, not a dict"),
    (lambda: Edges("f", square, {"x": 1.0}).check({"z": []}), "end with  return locals() , and define z"),
    (lambda: Edges("f", program, [1.0, 2.0]), "must be a dict of numbers"),
    (lambda: Adjoints("f", program, INPUTS, of="x"), "of is 'x'. It must be a list of names"),
    (lambda: Adjoints("f", program, INPUTS, of=["q"]).check({"q": 1}), "define q, z"),
]  # fmt: skip


@pytest.mark.parametrize("declare, says", WRONG)
def test_a_wrong_declaration_is_refused_with_what_is_wanted(declare, says):
    with pytest.raises((TypeError, ValueError), match=re.escape(says)) as caught:
        declare()

    assert str(caught.value).startswith(("f: ", "a b: "))


# ------------------------------------------------------------------ what a student may misread


@pytest.mark.parametrize(
    "declare, answer, says",
    [
        (lambda: Exercise("f", square, [[(2,)]]), lambda x: x, "but 2 were given; it is called with  x, g"),
        (lambda: Tangents("f", square, [[(2,)]]), lambda x: x, "it is called with  x, x_dot"),
        (lambda: Differentiable("f", square, [[(2,)]]), lambda: 1, "it is called with  x"),
        (lambda: Updates("f", optim.SGD, [{"lr": 0.1}]), lambda p: p, "it is called with  p, g, state, lr=..."),
        (lambda: Updates("f", optim.SGD, [{"lr": 0.1}]), type("D", (), {}), "it is called with  params, lr=..."),
        (lambda: Differentiable("f", square, [[(2,)]]), lambda x: None, "nothing was returned; it must be a tensor"),
        (lambda: Facts("f", lambda: {"a": 1, "b": 2}), {"A": 1, "b": 2}, "a yet; 'A' is not expected"),
        (lambda: Edges("f", program, INPUTS), {**RIGHT_EDGES, "t": ..., "T": ["s"]}, "'T' is not expected"),
    ],
)  # fmt: skip
def test_an_answer_of_another_form_is_told_what_is_wanted(declare, answer, says):
    assert any(says in row.message for row in declare().check(answer).rows)


@pytest.mark.parametrize("kind", [Implementation, Exercise, Facts])
def test_help_shows_the_arguments_of_an_exercise(kind):
    assert [*inspect.signature(kind).parameters] == [*inspect.signature(kind.__init__).parameters][
        1:
    ]
