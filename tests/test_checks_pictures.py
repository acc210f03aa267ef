"""Pictures below a check: drawn when shown, whatever the student wrote, and always the same."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from minigrad import optim
from minigrad.jupyter.display import shown_as
from minigrad.teach import pictures


def sgd(p, g, state, lr):
    return p - lr * g


def not_yet(*_, **__):
    raise NotImplementedError


def spoiled(p, g, state, lr):
    p[...] = np.nan
    return "p"


def exploding(p, g, state, lr):
    return p + 1e200 * g


ANSWERS = {
    "right": sgd,
    "the starter": not_yet,
    "an error": lambda p, g, state, lr: p / nothing,  # noqa: F821
    "the wrong type": spoiled,
    "the wrong shape": lambda p, g, state, lr: g[:1],
    "nothing": lambda p, g, state, lr: None,
    "beyond all numbers": exploding,
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_picture_can_be_drawn_of_any_answer(answer):
    picture = pictures.paths(answer, optim.SGD, lr=0.1)

    assert picture.png().startswith(b"\x89PNG")
    assert repr(picture) == "Picture: your steps beside those of SGD(lr=0.1)"


def test_the_same_numbers_give_the_same_bytes_and_others_do_not():
    drawn = [pictures.paths(f, optim.SGD, lr=0.1).png() for f in (sgd, sgd, not_yet)]

    assert drawn[0] == drawn[1] != drawn[2]


def test_an_answer_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr(pictures, "SECONDS", 0.2)

    def for_ever(n):
        while True:
            pass

    assert pictures.growth("steps", {"yours": for_ever}, range(3)).png()


@pytest.mark.parametrize("dual", [lambda x, dx: (x, dx), lambda x, dx: x, not_yet])
def test_tangents_of_any_answer(dual):
    assert pictures.tangents(dual, lambda x: x).png()


@pytest.mark.parametrize("predicted", [..., None, {"f": ...}, {"f": (1, 2, [])}, {"f": "forward"}])
def test_the_modes_of_any_prediction(predicted):
    assert pictures.modes({"f": (1, 2)}, predicted).png()


@pytest.mark.parametrize(
    "value", [1.0, [], [[np.inf, np.nan]], [[[1.0]]], "word", np.ones((50, 2)), [0.0, 0.0]]
)
def test_heat_maps_of_any_value(value):
    assert pictures.heat_maps("a value", lambda: {"x": value, "dx": value}).png()


def test_nothing_is_drawn_where_text_is_asked_for():
    picture = pictures.paths(not_yet, optim.SGD, lr=0.1)

    with shown_as("text"):
        assert picture._repr_png_() is None
    with shown_as("svg"):
        assert picture._repr_png_() == picture.png()


def test_nothing_is_called_before_the_picture_is_shown():
    called = []

    pictures.heat_maps("nothing yet", lambda: called.append(1) or {})

    assert not called
