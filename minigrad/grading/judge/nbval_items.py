"""The one module that knows nbval's classes.

nbval runs a notebook and compares each cell's outputs with those that are stored in it. Here
the notebook is the author's, solution included; the outputs stored in its check cells are a
student's answers. So what nbval runs is trusted, and what it finds different is the student's
mistake. No student's code runs.

    AnswersFile    an answers document, seen as such a notebook
    AnswersCell    a cell of it; check cells compare our mime type, with tolerance

Changed with respect to nbval: outputs are compared by answer id; options never come from a
cell's source; a dead kernel is noticed at once and a deadline is a point in time; and what the
trusted notebook gives for one seed is kept, so that it runs once for a class.

nbval's classes are not public, so tests/test_grading_runs.py holds what is relied on here.
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

from minigrad.grading.documents import AnswersDocument, Drawn, EncodedValue, VerdictText, answers_to
from minigrad.grading.files import digest
from minigrad.grading.judge.compare import judge_question
from minigrad.grading.release.bundles import Judge, read_judge
from minigrad.grading.release.check_in_kernel import MIME
from minigrad.grading.release.inputs import check_cell, draw_inputs
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.release.student import Notebook
from minigrad.utils.notebook_format import nbformat

SECONDS = 120.0  # for a trusted cell, in all

Outputs = list[dict[str, Any]]


class SolutionFailed(RuntimeError):
    """The trusted notebook did not run through, or its solution gave no answers."""


_judge = cache(read_judge)


def _judged_notebook(judge: Judge, answers: AnswersDocument, drawn: Drawn) -> Notebook:
    """The author's notebook, with the student's answers as the outputs of its check cells."""
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
                for identity, answer in answers_to(question.id, answers).items()
            ]
            new.metadata["minigrad"] = {"question": question.id}
        new.execution_count = 1
        cells.append(new)
    return nbformat.v4.new_notebook(cells=cells)


class AnswersFile(IPyNbFile):  # type: ignore[misc]
    """An answers document, collected as the notebook that judges it."""

    kept: dict[str, list[Outputs]] = {}  # what a trusted notebook gave, by its sources

    def collect(self) -> Iterator["AnswersCell"]:
        """Yield a cell for each cell of the author's notebook; inputs are drawn from the seed.

        The judge bundle is the one that --minigrad names. It is read once for all documents.
        """
        judge = _judge(str(self.config.getoption("minigrad")))
        self.questions = {q.id: q for q in judge.questions}
        answers = json.loads(Path(self.path).read_text(encoding="utf-8"))
        self.drawn = draw_inputs(judge.questions, judge.sources, answers["seed"])
        self.nb = _judged_notebook(judge, answers, self.drawn)
        self.sources = digest([cell.source for cell in self.nb.cells])
        for number, cell in enumerate(self.nb.cells):
            question = cell.metadata.get("minigrad", {}).get("question")
            options: dict[str, bool] = defaultdict(bool, check=question is not None)
            name = question or f"Cell {number}"
            yield AnswersCell.from_parent(
                self, name=name, cell_num=number, cell=cell, options=options
            )

    def setup(self) -> None:
        """Start nbval's kernel, unless the outputs of the same sources are kept.

        jupyter_client chooses the ports before the kernel opens them. When many kernels start at
        once, two may choose the same port, and the second dies. It is started once more.
        """
        self.outputs: list[Outputs] = []
        if self.sources not in self.kept:
            try:
                super().setup()
            except RuntimeError:
                super().setup()

    def get_kernel_message(self, timeout: float | None = None, stream: str = "iopub") -> object:
        """A message, or Empty; nbval waits for a dead kernel until the time is up."""
        until = min(time.monotonic() + (timeout or SECONDS), self.deadline)
        while True:
            try:
                return self.kernel.get_message(stream, timeout=0.5)
            except Empty:
                if not self.kernel.is_alive():
                    raise SolutionFailed("the kernel of the trusted notebook died") from None
                if time.monotonic() > until:
                    raise

    deadline = float("inf")

    def teardown(self) -> None:
        """End the kernel. If all cells have run, their outputs are kept for the next submission."""
        if len(self.outputs) == len(self.nb.cells):
            if len(self.kept) > 8:  # seeds of single submissions: one is as good as none
                self.kept.clear()
            self.kept[self.sources] = self.outputs
        super().teardown()


class AnswersCell(IPyNbCell):  # type: ignore[misc]
    """A cell of the trusted notebook; a check cell judges one question."""

    verdicts: dict[str, VerdictText] | None = None

    def setup(self) -> None:
        """Nothing to prepare if the outputs of these sources are kept."""
        if self.parent.sources not in self.parent.kept:
            super().setup()

    def runtest(self) -> None:
        """Run the cell in the trusted kernel, or compare with the outputs that are kept.

        Raises nbval's cell error if an answer is wrong.
        """
        kept = self.parent.kept.get(self.parent.sources)
        if kept is None:
            self.parent.deadline = time.monotonic() + SECONDS
            self.options["check"] = True  # so that nbval hands over the outputs in any case
            super().runtest()
        elif not self.compare_outputs(kept[self.cell_num], self.cell.outputs):
            self.raise_cell_error("Cell outputs differ", "\n".join(self.comparison_traceback))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> object:
        """What is wrong, answer by answer; nbval would show the whole check cell."""
        if self.verdicts is not None:
            return "\n".join(self.comparison_traceback)
        return super().repr_failure(excinfo)

    def compare_outputs(self, test: Outputs, ref: Outputs, skip_compare: object = None) -> bool:
        """nbval asks: are the outputs of the trusted cell those stored, the student's?"""
        if self.parent.sources not in self.parent.kept:
            self.parent.outputs.append([dict(output) for output in test])
        question: GradedQuestion | None = self.parent.questions.get(self.name)
        if question is None:
            return True
        right, mine = _answers(test), _answers(ref)
        wanting = [i for i in question.ids if "error" in right.get(i, {"error": ""})]
        if wanting:
            said = right.get(wanting[0], {"error": "no answer"})["error"]
            raise SolutionFailed(f"the solution itself gives no answer to {wanting[0]}: {said}")
        verdicts = judge_question(question, mine, right, self.parent.drawn[question.id])
        self.verdicts = {i: {"ok": v.ok, "reason": v.reason} for i, v in verdicts.items()}
        self.comparison_traceback = [f"{i}: {v.reason}" for i, v in verdicts.items() if not v.ok]
        return not self.comparison_traceback


def _answers(outputs: Outputs) -> dict[str, EncodedValue]:
    """The answers among outputs, by id."""
    found: dict[str, EncodedValue] = {}
    for output in outputs:
        data = output.get("data", {}) if output.get("output_type") == "display_data" else {}
        if MIME in data:
            content = dict(data[MIME])
            found[str(content.pop("id"))] = cast(EncodedValue, content)
    return found
