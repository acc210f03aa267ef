"""The process in which an author's given cells run.

    python -m minigrad.grading.author_process FOLDER

trusted.py starts it. It runs the cells, and calls one of FUNCTIONS on the objects that they create.
FOLDER holds the request and gets the reply.
"""

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

from minigrad.grading.files import write_json
from minigrad.grading.judge.mistakes import explained
from minigrad.grading.release.exercises import drawn_cases, questions

FUNCTIONS: dict[str, Callable[..., object]] = {
    function.__name__: function for function in (drawn_cases, explained, questions)
}


def _answer(folder: Path) -> None:
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    sys.path.insert(0, str(folder))  # of modules that  %%writefile  cells write, as in a notebook
    shell = InteractiveShell.instance()
    for source in request["sources"]:
        ran = shell.run_cell(source, silent=True)
        if (error := ran.error_before_exec or ran.error_in_exec) is not None:
            sys.exit(_why(error))
    reply = FUNCTIONS[request["function"]](shell.user_ns, *request["arguments"])
    write_json(folder / "reply.json", reply, private=True)


def _why(error: BaseException) -> str:
    """The error, the cell's line that raised it, and what to do about a name that is not there."""
    entries = traceback.extract_tb(error.__traceback__)
    in_cells = (entry.line for entry in entries if entry.filename.startswith("<ipython-input-"))
    line = error.text if isinstance(error, SyntaxError) else next(in_cells, None)
    message = f"{type(error).__name__}: {error}"
    if line:
        message += f"\n    {line.strip()}"
    if isinstance(error, NameError):
        message += "\nGiven cells run without the cells of answers, which students change. To fix it, import or define "
        message += f"{error.name!r} in a given cell."
    return message


if __name__ == "__main__":
    _answer(Path(sys.argv[1]))
