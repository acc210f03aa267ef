"""A process that runs the author's given cells: it reads a request and writes the reply.

python -m minigrad.grading.trusted_process FOLDER
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

from minigrad.grading.files import write_json
from minigrad.grading.judge.explain import explained
from minigrad.grading.release.exercises import drawn_cases, questions

FUNCTIONS: dict[str, Callable[..., object]] = {
    "drawn_cases": drawn_cases,
    "explained": explained,
    "questions": questions,
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
