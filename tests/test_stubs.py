"""Editors and mypy see the names that exist."""

import subprocess
import sys

import pytest

from tests import stubs

# A student's program, as an editor checks it: all names are exported, and results are tensors.
PROGRAM = """
import minigrad
from minigrad import Tensor, nn, optim
from minigrad.nn import functional as F

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

def step(x: Tensor, y: Tensor) -> float:
    net = Net()
    optimizer = optim.Adam(net.parameters(), lr=1e-3)
    loss = F.cross_entropy(net.layer(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with minigrad.no_grad():
        z: Tensor = minigrad.cat([x, x]).softmax(0).to(minigrad.float)
    (g,) = minigrad.autograd.grad((minigrad.randn(2, 3) ** 2).sum(), [z], allow_unused=True)
    minigrad.linalg.norm(z), minigrad.func.grad(loss.sum), minigrad.exp(z), minigrad.conv1d, minigrad.compare
    return loss.item()
"""


@pytest.mark.parametrize("page", stubs.MADE_FILES, ids=lambda page: page.name)
def test_the_stubs_are_those_that_are_generated(page):
    made = stubs.MADE_FILES[page]()

    assert page.read_text(encoding="utf-8") == made, "run python -m tests.stubs"


def test_a_program_passes_a_strict_check_of_its_types(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    check = [sys.executable, "-m", "mypy", "--strict", "--no-warn-return-any", "program.py"]

    run = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")

    assert run.returncode == 0, run.stdout
