"""%%check and %progress: the exercises of this notebook, from its own cells.

    %%check NAME     run the cell, then check the exercise of that name
    %check NAME      check it
    %progress        what is solved of all exercises of this session

An answer cell that is to be handed in is better left without %%check, which a grader may not
have loaded; the check cell below it says the same.
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
    """The magics of exercises."""

    @line_cell_magic
    def check(self, line: str, cell: str | None = None) -> CheckResult | None:
        """Check an exercise: %check NAME, or %%check NAME above the cell with the answer.

        NAME    what the answer is called, e.g. shared_input_backward
        """
        name = line.strip()
        exercise = question.DECLARED.get(name)
        if exercise is None:
            raise UsageError(_unknown(name))
        shell: Any = self.shell
        if cell is not None and not shell.run_cell(cell).success:
            return None  # the error is shown already
        return exercise.check(shell.user_ns.get(name))

    @line_magic
    def progress(self, line: str) -> Progress:
        """What is solved of the exercises that were declared in this session.

        Where widgets can run, the panel goes along: show it once, and see it change with each check.
        """
        return progress()


def _unknown(name: str) -> str:
    if not name:
        return "%%check: the name of the exercise is missing. Write  %%check NAME"
    near = difflib.get_close_matches(name, question.DECLARED, n=1)
    remedy = f" Did you mean {near[0]}?" if near else ""
    if not question.DECLARED:
        remedy = " Run the cell that declares it first."
    return f"%%check: there is no exercise called {name}.{remedy}"
