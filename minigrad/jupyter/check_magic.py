"""%%check and %progress: check a notebook's exercises from its cells.

    %%check NAME     run the cell, then check the exercise with that name
    %check NAME      check the exercise
    %progress        show which exercises of this session are solved

Do not use %%check in an answer cell that will be handed in, because the grader may not have
loaded the extension. The check cell below it does the same.
"""

import difflib
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class

from minigrad.teach import question
from minigrad.teach.question import Progress, progress
from minigrad.teach.results import CheckResult


@magics_class
class CheckMagics(Magics):
    """The magics for exercises."""

    shell: Any

    @line_cell_magic
    def check(self, line: str, cell: str | None = None) -> CheckResult | None:
        """Check an exercise: %check NAME, or %%check NAME above the cell with the answer.

        NAME    the name of the answer, e.g. shared_input_backward
        """
        name = line.strip()
        exercise = question.DECLARED.get(name)
        if exercise is None:
            raise UsageError(_unknown(name))
        if cell is not None and not self.shell.run_cell(cell).success:
            return None  # the error has already been shown
        return exercise.check(self.shell.user_ns.get(name))

    @line_magic
    def progress(self, line: str) -> Progress:
        """Show which of the exercises declared in this session are solved.

        If widgets can run, show the panel only once: it updates itself after each check.
        """
        return progress()


def _unknown(name: str) -> str:
    if not name:
        return "%%check: the name of the exercise is missing. Write  %%check NAME"
    near = difflib.get_close_matches(name, question.DECLARED, n=1)
    remedy = f" Did you mean {near[0]}?" if near else f" There are: {', '.join(question.DECLARED)}."
    remedy = remedy if question.DECLARED else " Run the cell that declares it first."
    return f"%%check: there is no exercise called {name}.{remedy}"
