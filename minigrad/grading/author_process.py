"""The process in which an author's given cells run.

    python -m minigrad.grading.author_process FOLDER

trusted.py starts it. It runs the cells, and calls one of FUNCTIONS on the objects that they create.
FOLDER holds the request and gets the reply.
"""

import json
import sys
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
    shell = InteractiveShell.instance()
    for source in request["sources"]:
        shell.run_cell(source, silent=True).raise_error()
    reply = FUNCTIONS[request["function"]](shell.user_ns, *request["arguments"])
    write_json(folder / "reply.json", reply, private=True)


if __name__ == "__main__":
    _answer(Path(sys.argv[1]))
