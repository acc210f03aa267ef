"""pytest --minigrad EXERCISE.judge.json FOLDER: judge recorded answers, a test for each question.

Collects the files *.answers.json, as `minigrad record` writes them. With
--minigrad-verdicts FILE, the verdict on each answer is written there as lines of JSON, which is
what `minigrad judge` reads: pytest's exit status says that a test failed, and is no grade.

nbval is imported when a file is collected, so that the plugin costs other runs of pytest nothing.
Where pytest runs notebooks by nbval, their stored outputs are compared without our widgets.
"""

import json
from collections.abc import Generator
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --minigrad, without which no answers are collected, and --minigrad-verdicts."""
    group = parser.getgroup("minigrad", "minigrad: judging recorded answers")
    group.addoption("--minigrad", metavar="JUDGE", help="The judge bundle of the exercise.")
    group.addoption(
        "--minigrad-verdicts", metavar="FILE", help="Write each verdict there, as JSON."
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect *.answers.json as the notebooks that judge them. nbval is imported only then."""
    if parent.config.getoption("minigrad") and file_path.name.endswith(".answers.json"):
        from minigrad.grading.judge.nbval_items import AnswersFile

        file: pytest.Collector = AnswersFile.from_parent(parent, path=file_path)
        return file
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let nbval compare pictures only: the element of a widget has another key in each run."""
    for item in items:
        cell = getattr(item, "cell", None)
        if isinstance(cell, dict) and cell.get("outputs"):
            from minigrad.tape.outputs import is_element

            cell["outputs"] = [output for output in cell["outputs"] if not is_element(output)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Append the verdicts of a question to the file, as one line of JSON.

    If the solution failed there are no verdicts, but the end of the report, as the problem.
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
