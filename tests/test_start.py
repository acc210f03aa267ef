"""start.py: what happens before anything is installed."""

import ast
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

START = Path(__file__).parent.parent / "start.py"


@pytest.mark.parametrize(
    "arguments, status",
    [(["--help"], 0), (["-h"], 0), (["lab", "--help"], 0), (["test", "-h"], 0), (["tset"], 2)],
)
def test_help_is_printed_and_nothing_is_installed(tmp_path, arguments, status):
    shutil.copy(START, tmp_path)
    command = [sys.executable, tmp_path / "start.py", *arguments]

    ran = subprocess.run(command, capture_output=True, encoding="utf-8")

    assert ran.returncode == status
    assert "python3 start.py test" in ran.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["start.py"]


def test_an_old_python_can_read_the_file_that_says_it_is_too_old():
    ast.parse(START.read_text(encoding="utf-8"), feature_version=(3, 4))


def test_an_old_python_is_told_which_one_is_needed(tmp_path):
    old = "import sys, runpy; sys.version_info = (3, 8, 1); sys.argv[1:] = ['lab']; "

    ran = subprocess.run(
        [sys.executable, "-c", old + f"runpy.run_path({str(START)!r}, run_name='__main__')"],
        capture_output=True,
        encoding="utf-8",
    )

    assert ran.returncode == 1
    assert "minigrad needs Python 3.11 or newer, and this is 3.8." in ran.stderr


def test_what_is_started_keeps_what_it_compiles(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    module = runpy.run_path(str(START))
    folder, name = os.path.split(sys.executable)
    module["start"].__globals__.update(SCRIPTS=folder)

    ran = module["start"](
        [name.removesuffix(".exe"), "-c", "import sys; sys.exit(sys.flags.dont_write_bytecode)"]
    )

    assert ran.wait() == 0


def test_after_ctrl_c_the_program_that_runs_is_waited_for():
    module = runpy.run_path(str(START))
    answers = iter([KeyboardInterrupt, KeyboardInterrupt, 3])

    def wait():
        if (answer := next(answers)) is KeyboardInterrupt:
            raise KeyboardInterrupt
        return answer

    module["run"].__globals__.update(start=lambda command: SimpleNamespace(wait=wait))

    assert module["run"](["minigrad", "lab"]) == 3
