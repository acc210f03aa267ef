"""What the exercises ask to predict happens in PyTorch as well: the same text, run there."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from minigrad.grading.release.student import read_notebook
from minigrad.teach import question

EXERCISES = Path(__file__).parents[2] / "exercises"
PREDICTIONS = [
    "forward_mode/04_which_mode",
    "inplace/02_which_write_is_safe",
    "inplace/05_leaves_and_no_grad",
    "optimizers/08_what_zero_grad_is_for",
]


@pytest.mark.parametrize("name", PREDICTIONS)
def test_the_same_happens_in_pytorch(name, monkeypatch):
    monkeypatch.setattr(question, "DECLARED", {})
    cells = read_notebook(EXERCISES / f"{name}.ipynb").cells
    given = next(c.source for c in cells if c.cell_type == "code")
    theirs = given.replace("import minigrad\n", "import torch as minigrad\n").replace(
        "from minigrad import", "from torch import"
    )

    ours, there = ({}, {})
    exec(given, ours)
    exec(theirs, there)

    assert theirs != given
    assert ours["what_happens"]() == there["what_happens"]()
