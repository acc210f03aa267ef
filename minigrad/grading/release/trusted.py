"""Run the author's given cells in a separate process, and call a function with their names.

An exercise is a Python object that a given cell creates. To read its questions, draw its inputs, or
diagnose a mistake, we run the given cells in a separate process (trusted_process.py), which then
calls one of our functions. No student's code can get in: the process starts in an empty folder,
because the current folder might contain submissions, and IPython adds it to sys.path despite `-P`.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from minigrad.grading.pytest_run import REPEATABLE, run_python

SECONDS = 300
PROCESS = "minigrad.grading.trusted_process"


class GivenCellsFailed(RuntimeError):
    """A given cell of the author's notebook raised."""


def ask(sources: list[str], function: str, *arguments: object) -> Any:
    """Call a function with the names that the cells define, and these arguments.

    The function is "questions" or "drawn_cases" of exercises.py, or "explained" of explain.py.
    Arguments and result are JSON. Raises GivenCellsFailed if a cell raises or the time is up.
    """
    with tempfile.TemporaryDirectory(prefix="mg-") as name:
        folder = Path(name)
        request = {"sources": sources, "function": function, "arguments": arguments}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        try:
            words = ("-W", "ignore", "-m", PROCESS, name)
            done = run_python(folder, *words, environment=REPEATABLE, seconds=SECONDS)
            return json.loads((folder / "reply.json").read_text(encoding="utf-8"))
        except subprocess.TimeoutExpired:
            raise GivenCellsFailed(f"the given cells took more than {SECONDS:g} s") from None
        except OSError:
            said = f"the given cells could not be run.\n{done.stderr[-2000:]}"
            raise GivenCellsFailed(said) from None
