"""Judge answers through nbval. This is the only module that uses nbval's classes.

nbval runs a notebook and compares each cell's outputs with those stored in it. Here the notebook
is the author's, including the solution, and the outputs stored in its check cells are a student's
answers. So nbval runs only trusted code, and each difference that it finds is a student's mistake.

    AnswersFile    an answers document, collected as such a notebook
    AnswersCell    a cell of it; check cells compare outputs of our MIME type, with a tolerance

Differences from nbval: outputs are compared by answer id; options never come from a cell's source;
a dead kernel is noticed immediately; a cell has a total time limit; and the outputs of the trusted
notebook are cached by seed, so that it runs only once for a class.

nbval's classes are not public API, so tests/test_grading_runs.py tests the parts we rely on.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from queue import Empty
from typing import Any, cast

import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from minigrad.grading import documents
from minigrad.grading.files import digest
from minigrad.grading.judge.compare import judge_question
from minigrad.grading.release.bundles import Judge, read_judge
from minigrad.grading.release.check_cell import MIME, check_cell, draw_inputs
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.release.student import Notebook
from minigrad.utils.notebook_format import nbformat

SECONDS = 120.0  # time limit of a trusted cell

Outputs = list[dict[str, Any]]


class SolutionFailed(RuntimeError):
    """The author's notebook failed, or its solution gave no answers."""


_judge = cache(read_judge)


def _notebook(judge: Judge, answers: documents.AnswersDocument, drawn: documents.Drawn) -> Notebook:
    """Build the author's notebook with the student's answers as stored outputs of its check cells."""
    questions = {q.cell: q for q in judge.questions}
    cells = []
    for cell in judge.cells:
        question = questions.get(cell["id"])
        if question is None:
            new = nbformat.v4.new_code_cell(cell["source"], id=cell["id"])
        else:
            new = nbformat.v4.new_code_cell(check_cell(question, drawn), id=cell["id"])
            new.outputs = [
                nbformat.v4.new_output("display_data", {MIME: {"id": identity, **answer}})
                for identity, answer in documents.answers_to(question.id, answers).items()
            ]
            new.metadata["minigrad"] = {"question": question.id}
        new.execution_count = 1
        cells.append(new)
    return nbformat.v4.new_notebook(cells=cells)


class AnswersFile(IPyNbFile):  # type: ignore[misc]
    """An answers document, collected as the notebook that judges it."""

    kept: dict[str, list[Outputs]] = {}  # outputs of author's notebooks, by a hash of their sources

    def collect(self) -> Iterator["AnswersCell"]:
        """Yield an AnswersCell for each cell of the author's notebook, with inputs drawn from the seed.

        The judge bundle comes from --minigrad and is read once for all documents.
        """
        judge = _judge(str(self.config.getoption("minigrad")))
        self.questions = {q.id: q for q in judge.questions}
        answers = json.loads(Path(self.path).read_text(encoding="utf-8"))
        self.drawn = draw_inputs(judge.questions, judge.sources, answers["seed"])
        self.nb = _notebook(judge, answers, self.drawn)
        self.sources = digest([cell.source for cell in self.nb.cells])
        for number, cell in enumerate(self.nb.cells):
            question = cell.metadata.get("minigrad", {}).get("question")
            options: dict[str, bool] = defaultdict(bool, check=question is not None)
            about = {"cell_num": number, "cell": cell, "options": options}
            yield AnswersCell.from_parent(self, name=question or f"Cell {number}", **about)

    def setup(self) -> None:
        """Start nbval's kernel, unless the outputs for these sources are cached.

        jupyter_client chooses the ports before the kernel opens them. When many kernels start at
        once, two may choose the same port, and the second dies. Then we start it once more.
        """
        self.outputs: list[Outputs] = []
        if self.sources not in self.kept:
            try:
                super().setup()
            except RuntimeError:
                super().setup()

    def get_kernel_message(self, timeout: float | None = None, stream: str = "iopub") -> object:
        """Get a message or raise Empty. Unlike nbval, do not wait for a dead kernel."""
        until = min(time.monotonic() + (timeout or SECONDS), self.deadline)
        while True:
            try:
                return self.kernel.get_message(stream, timeout=0.5)
            except Empty:
                if not self.kernel.is_alive():
                    raise SolutionFailed("the kernel of the author's notebook died") from None
                if time.monotonic() > until:
                    raise

    deadline = float("inf")

    def teardown(self) -> None:
        """Stop the kernel. If all cells have run, cache their outputs for the next submission."""
        if len(self.outputs) == len(self.nb.cells):
            if len(self.kept) > 8:  # each submission has its own seed, so caching does not help
                self.kept.clear()
            self.kept[self.sources] = self.outputs
        super().teardown()


class AnswersCell(IPyNbCell):  # type: ignore[misc]
    """A cell of the author's notebook; a check cell judges one question."""

    verdicts: dict[str, documents.VerdictText] | None = None

    def setup(self) -> None:
        """Prepare nothing if the outputs for these sources are cached."""
        if self.parent.sources not in self.parent.kept:
            super().setup()

    def runtest(self) -> None:
        """Run the cell in the trusted kernel, or compare with the cached outputs.

        Raises nbval's cell error if an answer is wrong.
        """
        kept = self.parent.kept.get(self.parent.sources)
        if kept is None:
            self.parent.deadline = time.monotonic() + SECONDS
            self.options["check"] = True  # makes nbval pass the outputs on in any case
            super().runtest()
        elif not self.compare_outputs(kept[self.cell_num], self.cell.outputs):
            self.raise_cell_error("Cell outputs differ", "\n".join(self.comparison_traceback))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> object:
        """Report each wrong answer; nbval would show the whole check cell."""
        if self.verdicts is not None:
            return "\n".join(self.comparison_traceback)
        return super().repr_failure(excinfo)

    def compare_outputs(self, test: Outputs, ref: Outputs, skip_compare: object = None) -> bool:
        """Compare the trusted cell's outputs (test) with the student's answers (ref). nbval calls this."""
        if self.parent.sources not in self.parent.kept:
            self.parent.outputs.append([dict(output) for output in test])
        question: GradedQuestion | None = self.parent.questions.get(self.name)
        if question is None:
            return True
        right, mine = _answers(test), _answers(ref)
        wanting = [i for i in question.ids if "error" in right.get(i, {"error": ""})]
        if wanting:
            error = right.get(wanting[0], {"error": "no answer"})["error"]
            raise SolutionFailed(f"the solution itself gives no answer to {wanting[0]}: {error}")
        verdicts = judge_question(question, mine, right, self.parent.drawn[question.id])
        self.verdicts = {i: {"ok": v.ok, "reason": v.reason} for i, v in verdicts.items()}
        self.comparison_traceback = [f"{i}: {v.reason}" for i, v in verdicts.items() if not v.ok]
        return not self.comparison_traceback


def _answers(outputs: Outputs) -> documents.Answers:
    """Extract the answers from outputs, by id."""
    found: documents.Answers = {}
    for output in outputs:
        data = output.get("data", {}) if output.get("output_type") == "display_data" else {}
        if MIME in data:
            content = dict(data[MIME])
            found[str(content.pop("id"))] = cast(documents.EncodedValue, content)
    return found
