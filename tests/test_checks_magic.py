"""%%check and %progress, in a shell."""

import pytest

pytest.importorskip("IPython")

from IPython.core.error import UsageError

from minigrad.jupyter.check_magic import CheckMagics
from minigrad.teach import Exercise, question
from tests.shells import NO_HISTORY


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setattr(question, "DECLARED", {})
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell(config=NO_HISTORY)
    shell.register_magics(CheckMagics)
    Exercise("square_backward", lambda x: x * x, shapes=[[()], [(2,)]])
    return shell


def test_the_cell_is_run_and_its_answer_checked(shell):
    cell = "def square_backward(x, g):\n    return 2 * x * g"

    result = shell.run_cell_magic("check", "square_backward", cell)

    assert result.ok
    assert shell.run_line_magic("check", "square_backward").ok
    assert repr(shell.run_line_magic("progress", "")).startswith(
        "progress: 1 of 1 exercises solved"
    )


def test_a_cell_that_fails_is_not_checked(shell, capsys):
    assert shell.run_cell_magic("check", "square_backward", "1 / 0") is None
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_a_name_that_nobody_declared_is_explained(shell):
    with pytest.raises(UsageError, match="Did you mean square_backward"):
        shell.run_line_magic("check", "square_backwards")
    with pytest.raises(UsageError, match="There are: square_backward"):
        shell.run_line_magic("check", "3")
    with pytest.raises(UsageError, match="Write  %%check NAME"):
        shell.run_line_magic("check", "")


# --------------------------------------------------------------------- the progress panel


@pytest.fixture
def panel(shell, monkeypatch):
    pytest.importorskip("anywidget")
    from minigrad.jupyter import progress_panel

    monkeypatch.setattr(question, "WATCHING", [])
    monkeypatch.setattr(progress_panel, "_panel", [])
    panel = progress_panel.Panel()
    yield panel
    panel.close()


def row_of(panel):
    (row,) = panel.rows
    return row["state"], row["checks"], row["share"], row["points"]


def test_the_panel_goes_along_with_the_checks(shell, panel):
    Exercise("square_backward", lambda x: x * x, shapes=[[()], [(2,)]], hints=["Twice x."])

    before = row_of(panel)
    shell.run_cell_magic("check", "square_backward", "square_backward = lambda x, g: x * g")
    wrong = row_of(panel)
    shell.run_cell_magic("check", "square_backward", "square_backward = lambda x, g: 2 * x * g")

    assert before == ("not tried", "", 0, "0 of 1")
    assert wrong == ("begun", "0 of 2", 0, "0 of 1")
    assert row_of(panel) == ("solved", "2 of 2", 100, "1 of 1")
    assert panel.headline == "progress: 1 of 1 exercises solved"


def test_the_panel_shows_new_exercises_and_hints(panel):
    exercise = Exercise("cube_backward", lambda x: x**3, shapes=[[()]], hints=["Thrice.", "x * x."])
    exercise.hint()

    assert [row["name"] for row in panel.rows] == ["square_backward", "cube_backward"]
    assert panel.rows[1]["hints"] == "1 of 2 seen"


def test_a_panel_that_was_closed_is_told_nothing(panel):
    panel.close()

    assert question.WATCHING == []


@pytest.mark.parametrize(
    "way, forms",
    {
        "widget": {"text/plain", "text/html"},  # the panel itself is an output of its own
        "html": {"text/plain", "text/html"},
        "svg": {"text/plain", "text/html"},
        "text": {"text/plain"},
    }.items(),
)
def test_progress_is_shown_as_display_says(panel, way, forms):
    from minigrad.jupyter.display import shown_as

    with shown_as(way):
        assert set(question.progress()._repr_mimebundle_()) == forms
