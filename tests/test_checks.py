"""Exercises that say at once what is right and what is not."""

import numpy as np
import pytest

import minigrad
from minigrad.teach import ChecksFailed, Exercise

SQUARE = Exercise("square_backward", lambda x: x * x, shapes=[[()], [(2, 2)]])


def test_a_right_answer_gives_a_row_of_praise_for_each_case():
    def square_backward(x, g):
        return 2 * x * g

    assert repr(SQUARE.check()) == (
        "square_backward: all 2 gradients are right\n"
        "    case  inputs    gradient  verdict\n"
        "    1     x ()      dx        right\n"
        "    2     x (2, 2)  dx        right"
    )


def test_a_case_needs_a_shape_for_each_input():
    exercise = Exercise("square_backward", lambda x: x * x, shapes=[(2, 3)])

    with pytest.raises(ValueError, match=r"2 shapes, \(2, 3\), for the inputs x\. To fix it"):
        exercise.check(lambda x, g: 2 * x * g)


def test_a_wrong_value_is_shown_with_its_place_and_both_numbers():
    def answer(x, g):
        wrong = 2 * x * g
        if x.ndim:
            wrong[1, 0] = 7.0
        return wrong

    first, second = SQUARE.check(answer).rows

    [case] = [c for c in SQUARE.cases() if c.number == 2]
    assert first.ok
    assert second.message == f"dx[1, 0] is 7 but should be {case.expected[0][1, 0]:.6g}"


def test_an_exception_is_a_row_with_the_line_that_raised_it():
    def answer(x, g):
        return g / undefined  # noqa: F821

    row = SQUARE.check(answer).rows[0]

    assert row.verdict == "error"
    assert row.message.startswith(
        "NameError: name 'undefined' is not defined    in the line  return g / undefined"
    )


def test_a_missing_function_is_a_row():
    result = SQUARE.check()

    assert [row.verdict for row in result.rows] == ["missing"]
    assert "square_backward is not defined yet" in result.rows[0].message


def test_what_is_no_function_is_a_row():
    square_backward = np.ones(3)

    assert "is of type ndarray" in SQUARE.check().rows[0].message
    assert square_backward is not None


def test_a_changed_input_is_a_row_and_does_not_reach_the_next_case():
    def answer(x, g):
        x *= 2
        return x * g

    result = SQUARE.check(answer)

    assert [row.verdict for row in result.rows] == ["changed input", "right"] * 2
    assert result.points == 0 and "no gradients count" in result.headline


@pytest.mark.parametrize(
    "returned, message",
    [
        (None, "nothing was returned; end with  return dx"),
        ((1, 2), "2 values returned instead of 1; end with  return dx"),
        ("no", "dx is str instead of real numbers"),
        ([[1, 2], [3]], "2 values returned instead of 1; end with  return dx"),
    ],
)
def test_a_wrong_type_is_a_row(returned, message):
    assert SQUARE.check(lambda x, g: returned).rows[0].message == message


def test_a_tensor_is_as_good_as_an_array():
    assert SQUARE.check(lambda x, g: minigrad.tensor(2 * x * g)).ok


def test_a_check_cell_fails_with_the_table_and_without_a_traceback():
    assert SQUARE.check(lambda x, g: 2 * x * g).or_raise().ok

    with pytest.raises(ChecksFailed, match="1 of 2 gradients is right") as failed:
        SQUARE.check(lambda x, g: 2 * x * g if x.ndim else x).or_raise()

    assert failed.value._render_traceback_() == repr(failed.value.result).splitlines()


def test_cases_are_the_same_on_every_run_and_for_every_number_of_cases():
    longer = Exercise("square_backward", lambda x: x * x, shapes=[[()], [(2, 2)], [(3,)]])

    for a, b in zip(SQUARE.cases(), longer.cases(), strict=False):
        np.testing.assert_array_equal(a.inputs["x"], b.inputs["x"])
        np.testing.assert_array_equal(a.g, b.g)


def test_another_seed_draws_other_cases():
    [public, _], [other, _] = SQUARE.cases(), SQUARE.cases(seed="other")

    assert public.inputs["x"] != other.inputs["x"]


def test_checks_work_where_recording_is_off():
    with minigrad.no_grad():
        assert SQUARE.check(lambda x, g: 2 * x * g).ok


def test_messages_of_a_student_s_code_are_escaped_in_html():
    def answer(x, g):
        raise ValueError("<img src=x onerror=alert(1)>\u202e")

    html = SQUARE.check(answer)._repr_html_()

    assert "<img" not in html and "\u202e" not in html


def test_a_notebook_shows_what_the_student_wrote_and_the_inputs_of_the_first_wrong_case():
    exercise = Exercise("two_backward", lambda x, y: x * y, shapes=[[(), ()], [(2,), (2,)]])

    def answer(x, y, g):
        dx = g * y
        dy = g * y
        return dx, dy

    result = exercise.check(answer)
    card = result._repr_html_().partition("<details>")[0]

    inputs = next(row.values for row in result.rows if not row.ok)
    assert card.count("✗") == 1 and "<code>dy = g * y</code>" in card and inputs in card
    assert inputs.startswith("x = ") and "right in all 2 cases" in card
    assert "dx = g * y" not in card


def test_a_small_case_may_fit_several_mistakes_and_the_others_tell_them_apart():
    exercise = Exercise(
        "f",
        lambda x: x / (x * x).sum(-1, keepdim=True).sqrt(),
        shapes=[[(1, 2)], [(2, 3)], [(4, 4)]],
    )

    def along_another_axis(x, g):  # for one row, as if each entry had a norm of its own
        n = np.linalg.norm(x, axis=-1, keepdims=True)
        return (g - x * (g * x).sum(0, keepdims=True) / n**2) / n

    assert [d.kind for d in exercise.check(along_another_axis).diagnoses] == ["reduction_axis"]


def test_a_mask_that_is_applied_after_a_softmax_is_named_in_each_gradient():
    def attention(q, k, v):
        later = np.triu(np.full((len(q), len(k)), -np.inf), 1)
        return (q @ k.T + minigrad.tensor(later)).softmax(-1) @ v

    def backward(q, k, v, g):
        p = np.exp(q @ k.T)
        p = np.tril(p / p.sum(-1, keepdims=True))
        d = p * (g @ v.T - (p * (g @ v.T)).sum(-1, keepdims=True))
        return d @ k, d.T @ q, p.T @ g

    exercise = Exercise("f", attention, shapes=[[(3, 2), (3, 2), (3, 2)]])

    assert [d.kind for d in exercise.check(backward).diagnoses] == 3 * ["mask_missing"]


def test_two_answers_that_are_exchanged_are_named_once_for_both():
    shapes = [[(2, 3), (3, 4)], [(3, 3), (3, 3)], [(1, 1), (1, 1)]]
    exercise = Exercise("product_backward", lambda x, y: x @ y, shapes=shapes, more=["zero"])

    result = exercise.check(lambda x, y, g: (x.T @ g, g @ y.T))

    assert {d.kind for d in result.diagnoses} == {"exchanged"}
    assert repr(result).count("swapped") == 1 and "\n    dx and dy are swapped" in repr(result)


def test_a_card_keeps_the_names_of_the_inputs_and_shows_the_last_line_that_writes_to_an_answer():
    exercise = Exercise("scaled_backward", lambda A: 3 * A, shapes=[[()], [(2,)]])

    def answer(A, g):
        dA = g
        dA *= 2
        return dA

    card = exercise.check(answer)._repr_html_().partition("<details>")[0]

    assert "Case 1 (A ())" in card and "<code>dA *= 2</code>" in card


def test_what_was_written_is_left_out_where_it_cannot_be_told():
    exercise = Exercise("one_backward", lambda x: x * x, shapes=[[()]])

    def twice(x, g):
        if x > 0:
            return x
        return g

    for answer in (twice, np.multiply):
        assert "you wrote" not in exercise.check(answer)._repr_html_()
