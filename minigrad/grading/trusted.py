"""Run the author's code in processes of its own. No student's code can get in.

    run_pytest    pytest with nbval, without the settings of a project
    ask           call one of our functions with the names that the author's given cells define

An exercise is a Python object that a given cell creates. To read its questions, draw its inputs, or
diagnose a mistake, author_process.py runs the given cells, then the function. Processes start in a new
folder, because the current folder might contain submissions, and IPython adds it to sys.path despite `-P`.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minigrad.grading.sandbox.launch import REPEATABLE

SECONDS = 300
PROCESS = "minigrad.grading.author_process"


def _run_python(
    folder: Path, *arguments: str, environment: Mapping[str, str] = {}, seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run this Python in a folder, without importing from there. Raises TimeoutExpired.

    Its temporary files are in the folder, too, and are removed with it.
    """
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=seconds,
    )


def run_pytest(
    folder: Path, *options: str, environment: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, without a project's settings or conftest, and with no plugin but nbval.

    Other plugins take time to load and might change the result.
    """
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    isolated = ("-c", "pytest.ini", "--rootdir=.", "--noconftest", "-p", "no:cacheprovider")
    plugins = ("-p", "minigrad.utils.notebook_format", "-p", "nbval.plugin", "--nbval-current-env")
    words = ("-m", "pytest", *isolated, *plugins, "--color=no", "-q", *options)
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    return _run_python(folder, *words, environment={**own, **environment})


class GivenCellsFailed(RuntimeError):
    """A given cell of the author's notebook raised."""


def ask(sources: list[str], function: str, *arguments: object) -> Any:
    """Call a function with the names that the cells define, and these arguments.

    The function is "questions", "drawn_cases" or "explained": see author_process.py.
    Arguments and result are JSON. Raises GivenCellsFailed if a cell raises or the time is up.
    """
    with tempfile.TemporaryDirectory(prefix="mg-") as name:
        folder = Path(name)
        request = {"sources": sources, "function": function, "arguments": arguments}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        try:
            words = ("-W", "ignore", "-m", PROCESS, name)
            done = _run_python(folder, *words, environment=REPEATABLE, seconds=SECONDS)
            return json.loads((folder / "reply.json").read_text(encoding="utf-8"))
        except subprocess.TimeoutExpired:
            raise GivenCellsFailed(f"the given cells took more than {SECONDS:g} s") from None
        except OSError:
            message = f"the given cells could not be run.\n{done.stderr[-2000:].strip()}"
            raise GivenCellsFailed(message) from None
