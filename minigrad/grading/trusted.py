"""Run the author's given cells, and ask something of what they define.

An exercise is a Python object that a given cell makes. To see what it asks, to draw its inputs,
or to explain a mistake, the given cells are run in a process of their own, with IPython, and a
function of ours is called there with their names. No student's code is ever among them: the
process starts in an empty folder, and not where the command was given, which may be among the
submissions. (`-P` keeps that folder out of sys.path, but IPython puts it back.)
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


class GivenCellsFailed(RuntimeError):
    """A given cell of the author's notebook raised."""


def ask(sources: list[str], function: str, *arguments: Any, seconds: float = 300) -> Any:
    """Call a function with the names that the cells define, and with these arguments.

    The function is "questions" or "drawn" of exercises.py, or "explained" of explain.py.
    Arguments and result are JSON. Raises GivenCellsFailed if a cell raises, or time runs out.
    """
    with tempfile.TemporaryDirectory(prefix="mg-") as folder:
        asked = {"sources": sources, "function": function, "arguments": arguments}
        (Path(folder) / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-W", "ignore", "-m", "minigrad.grading.trusted", folder],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=environment,
                timeout=seconds,
            )
            return json.loads((Path(folder) / "told.json").read_text(encoding="utf-8"))
        except subprocess.TimeoutExpired:
            raise GivenCellsFailed(f"the given cells took more than {seconds:g} s") from None
        except OSError:
            said = done.stderr.decode(errors="replace")[-2000:]
            raise GivenCellsFailed(f"the given cells could not be run.\n{said}") from None


def main(folder: Path) -> None:
    """The other process."""
    from IPython.core.interactiveshell import InteractiveShell

    from minigrad.grading.exercises import drawn, questions  # only this process needs them
    from minigrad.grading.explain import explained

    functions: dict[str, Any] = {"drawn": drawn, "explained": explained, "questions": questions}
    asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    shell = InteractiveShell.instance()
    for source in asked["sources"]:
        shell.run_cell(source, silent=True).raise_error()
    told = functions[asked["function"]](shell.user_ns, *asked["arguments"])
    target = folder / "told.part"
    target.write_text(json.dumps(told), encoding="utf-8")
    target.rename(folder / "told.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
