"""%%check and %progress, in a shell."""

import pytest

pytest.importorskip("IPython")

from IPython.core.error import UsageError

from minigrad.jupyter.check_magic import CheckMagics
from minigrad.teach import Exercise, question


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setattr(question, "DECLARED", {})
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
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
    with pytest.raises(UsageError, match="Write  %%check NAME"):
        shell.run_line_magic("check", "")
