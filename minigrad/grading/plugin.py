"""pytest --minigrad EXERCISE.judge.json FOLDER: judge recorded answers, one test for each question.

Collects the *.answers.json files that `minigrad record` wrote. With --minigrad-verdicts FILE, the
verdict on each answer is written to FILE as JSON lines. `minigrad judge` reads these, because
pytest's exit status only says that some test failed.

nbval is imported only when such a file is collected, so that other pytest runs do not pay for it.
When pytest runs notebooks through nbval, our widgets are left out of the comparison of outputs.
"""

import json
from collections.abc import Generator
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --minigrad, which turns the plugin on, and --minigrad-verdicts."""
    group = parser.getgroup("minigrad", "minigrad: judging recorded answers")
    group.addoption("--minigrad", metavar="JUDGE", help="The judge bundle of the exercise.")
    group.addoption("--minigrad-verdicts", metavar="FILE", help="Write verdicts there, as JSON.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect *.answers.json files as notebooks that judge the answers."""
    if parent.config.getoption("minigrad") and file_path.name.endswith(".answers.json"):
        from minigrad.grading.judge.nbval_items import AnswersFile

        file: pytest.Collector = AnswersFile.from_parent(parent, path=file_path)
        return file
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Hide widget outputs from nbval, because a widget's key differs in each run."""
    for item in items:
        cell = getattr(item, "cell", None)
        if isinstance(cell, dict) and cell.get("outputs"):
            from minigrad.tape.render.page import is_element

            cell["outputs"] = [output for output in cell["outputs"] if not is_element(output)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Append the verdicts on a question to the file, as one line of JSON.

    If the solution failed, there are no verdicts, and `problem` holds the end of pytest's report.
    """
    report = yield
    target = item.config.getoption("minigrad_verdicts", None)
    if target and call.when in ("setup", "call") and hasattr(item, "verdicts"):
        failed = call.excinfo is not None and item.verdicts is None
        if item.verdicts is not None or failed:
            line = {
                "file": item.path.name,
                "question": item.name,
                "verdicts": item.verdicts,
                "problem": str(report.longreprtext)[-3000:] if failed else None,
            }
            with open(target, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
    return report
