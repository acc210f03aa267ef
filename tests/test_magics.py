"""The magics, driven through a shell as a learner would, and in notebooks as nbval does."""

import subprocess
import sys

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbformat.v4 import new_code_cell, new_notebook

from minigrad.modes import state, trace_lines
from minigrad.tape import Tape

SETUP = """
import minigrad
x1, x2, x3, x4 = (minigrad.ones(2, 3, 4).requires_grad_(k < 2) for k in range(4))
"""
LESSON = """%%autograd t
y1 = x1 + x2
y2 = x3 + x4
z = y1 * y2
z += x2"""


@pytest.fixture
def shell(monkeypatch):
    """A fresh shell with the extension loaded; what it displays is kept in `shell.shown`."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")
    shell.history_manager.enabled = False
    shell.shown = []
    monkeypatch.setattr("minigrad.jupyter.magics.display", lambda tape: shell.shown.append(tape))
    shell.run_line_magic("load_ext", "minigrad")
    assert shell.run_cell(SETUP, store_history=True).success
    yield shell
    shell.run_line_magic("unload_ext", "minigrad")
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()
    trace_lines(False)


def run(shell, cell):
    return shell.run_cell(cell, store_history=True)


def test_autograd_records_the_cell_shows_the_tape_and_binds_it(shell):
    result = run(shell, LESSON)

    tape = shell.user_ns["t"]
    assert result.success and isinstance(tape, Tape)
    assert shell.shown == [tape]
    assert [n["name"] for n in tape.document["nodes"] if n["op"]] == ["y1", "y2", "z", "z"]
    assert shell.user_ns["z"]._version == 1


def test_lines_are_counted_as_the_learner_counts_them(shell):
    run(shell, LESSON)

    code = shell.user_ns["t"].document["code"]

    assert code[0] == {"where": "In [2]", "source": 0, "line": 2, "text": "y1 = x1 + x2"}


def test_a_last_expression_is_displayed_as_in_any_cell(shell, capsys):
    run(shell, "%%autograd\n40 + 2")

    assert "Out[2]: 42" in capsys.readouterr().out


def test_a_semicolon_silences_the_last_expression(shell, capsys):
    run(shell, "%%autograd\n40 + 2;")

    assert "42" not in capsys.readouterr().out


def test_an_error_keeps_the_learners_traceback_and_the_tape_up_to_it(shell, capsys):
    result = run(shell, "%%autograd\na = x1 + x2\nb = a / undefined\nc = b + 1")

    out = capsys.readouterr().out
    assert isinstance(result.error_in_exec, NameError)
    assert "Cell In[2], line 3" in out
    assert "----> 3 b = a / undefined" in out
    assert "magics.py" not in out
    assert [n["name"] for n in shell.shown[0].document["nodes"] if n["op"]] == ["a"]
    assert "the code stopped (line 3)" in shell.shown[0].text()


def test_a_syntax_error_is_the_learners_and_shows_no_tape(shell, capsys):
    run(shell, "%%autograd\na = x1 +* x2")

    out = capsys.readouterr().out
    assert "SyntaxError" in out and "line 2" in out
    assert shell.shown == []


def test_a_cell_under_autograd_may_use_magics_itself(shell):
    run(shell, "%%autograd\n%who_ls\na = x1 * 2")

    assert shell.user_ns["a"].requires_grad


def test_the_name_of_a_tape_must_be_a_name(shell, capsys):
    run(shell, "%%autograd 3\nx1 + x2")

    assert "'3' is none" in capsys.readouterr().err


def test_tape_shows_a_tape_again(shell):
    run(shell, LESSON)

    assert run(shell, "%tape").result is shell.user_ns["t"]
    assert run(shell, "%tape t").result is shell.user_ns["t"]


def test_tape_without_a_tape_says_how_to_get_one(shell, capsys):
    run(shell, "%tape")

    assert "write %%autograd over a cell" in capsys.readouterr().err


def test_chain_shows_the_chain_with_the_learners_names(shell):
    run(shell, LESSON)

    text = repr(run(shell, "%chain z").result)

    assert text.startswith("z  AddBackward")
    assert "x1  AccumulateGrad" in text


def test_chain_takes_an_expression_and_refuses_what_is_no_tensor(shell, capsys):
    assert "MulBackward" in repr(run(shell, "%chain x1 * 2").result)

    run(shell, "%chain 3")

    assert "3 is a int, not a tensor" in capsys.readouterr().err


def test_compare_asks_the_engine(shell):
    run(shell, LESSON)

    result = run(shell, "%compare z x1=y2 x2=(y2 + 1)").result

    assert result.ok
    assert not run(shell, "%compare z x1=y1*y1").result.ok


def test_compare_explains_its_form(shell, capsys):
    run(shell, LESSON)
    run(shell, "%compare z")
    run(shell, "%compare z nonsense")

    err = capsys.readouterr().err
    assert "%compare z x1=y2" in err
    assert "'nonsense' is not of the form name=expression" in err


def test_help_is_the_docstring(shell, capsys):
    run(shell, "%%autograd?")

    assert "Run the cell, record its operations" in capsys.readouterr().out


def test_loading_turns_line_tracing_on_and_unloading_takes_all_away(shell):
    assert state.tracing

    run(shell, "%unload_ext minigrad")

    assert not state.tracing
    assert shell.find_cell_magic("autograd") is None
    run(shell, "%load_ext minigrad")
    assert shell.find_cell_magic("autograd") is not None


def test_reloading_counts_tapes_from_one_again(shell):
    run(shell, LESSON)
    run(shell, "%reload_ext minigrad")
    run(shell, LESSON)

    assert shell.user_ns["t"].number == 1


def test_a_notebook_passes_nbval_twice(tmp_path):
    """What is stored on the first run is what comes out in fresh kernels afterwards."""
    from nbclient import NotebookClient

    cells = ["%load_ext minigrad\n" + SETUP, LESSON, "%chain z", "%compare z x1=y2"]
    cells += ["for step in t.steps(z, minigrad.ones_like(z)):\n    print(step)", "%tape"]
    notebook = new_notebook(cells=[new_code_cell(c) for c in cells])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    path = tmp_path / "lesson.ipynb"
    nbformat.write(notebook, path)

    for _ in range(2):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "--nbval",
                "--nbval-current-env",
                "-q",
                "-p",
                "no:cacheprovider",
                "-c",
                "/dev/null",
                "--rootdir",
                str(tmp_path),
                str(path),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout
    assert "image/svg+xml" in notebook.cells[1].outputs[0].data
