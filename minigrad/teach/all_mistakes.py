"""The whole table of mistakes: the rows of mistakes.py and of the modules that name single operations."""

from functools import cache

from minigrad.teach import (
    mistakes,
    mistakes_of_arrays,
    mistakes_of_losses,
    mistakes_of_ops,
    mistakes_of_products,
    mistakes_of_statistics,
)
from minigrad.teach.mistakes import KINDS, NEIGHBORS, ORDER, Mistake
from minigrad.teach.steps_by_hand import MISTAKES, UPHILL


@cache
def known_mistakes() -> list[Mistake]:
    """The whole table, in the order of the search."""
    subjects = (mistakes, mistakes_of_losses, mistakes_of_arrays, mistakes_of_ops,
                mistakes_of_products, mistakes_of_statistics)  # fmt: skip
    return sorted((row for s in subjects for row in s.ROWS), key=lambda row: ORDER[row.kind])


def document() -> str:
    """The text of DIAGNOSES.md: every kind, and what it means.

    python -c "from minigrad.teach import all_mistakes; print(all_mistakes.document())" > DIAGNOSES.md
    """
    kinds = [f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items()]
    steps: dict[str, str] = {}
    for slip in (*MISTAKES, UPHILL):
        steps.setdefault(slip.kind, slip.message)
    return "\n".join(
        [
            "# What minigrad says about a wrong gradient",
            "",
            "`minigrad.compare(z, x=my_gradient)` holds a gradient derived by hand against the tape's. If",
            "the two differ, it searches for the mistake that gives *exactly* the student's numbers: the",
            "backward pass is run again with one rule at one operation changed as students often do. Nothing",
            "is reported that does not reproduce the numbers. `report.rows[i].diagnosis` is `None`, or",
            "has `kind`, `node`, `line`,",
            "`message`, `hint`, and `also`, the other kinds that would give the same numbers. Where several",
            "would, the first in this table is reported.",
            "",
            "| kind | what was done |",
            "|---|---|",
            *kinds,
            "",
            "Some of these are neighbors. For z = f(u), u = h(x), with g = dL/dz, the right gradient is",
            "g f'(u) h'(x), and",
            "",
            "| kind | what is given | |",
            "|---|---|---|",
            *(f"| `{kind}` | {given} | {words} |" for kind, given, words in NEIGHBORS),
            "",
            "Where the numbers really are the same, one kind is `kind`, and the others are in `also` and,",
            "if they are not merely less exact, in the message. Against the order of the table,",
            "`forgot_inner` goes before `wrong_argument` (for x**2 the two cannot be told apart), the",
            "gradient of another leaf before `upstream_only` and `upstream_ignored`, and, if the answer is",
            "a single number, a plain factor or sign before `wrong_argument`. If a square (or another power)",
            "is summed over just as many entries as its exponent, the missing factor is that of the power:",
            "`scale`, before `mean_for_sum`. A function's derivative that was left out, as `upstream_only`,",
            "has `forgot_inner` in `also`. Of two mistakes at once only what all pairs that fit have in",
            "common is named.",
            "",
            "`minigrad.teach.compare_update` does the same for the steps of an optimizer:",
            "",
            "| kind | what was done |",
            "|---|---|",
            *(f"| `{kind}` | {message} |" for kind, message in steps.items()),
        ]
    )
