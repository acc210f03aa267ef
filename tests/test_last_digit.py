"""The switch that moves the last digits (tests/last_digit) moves what is rounded, and only that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROUNDED = [
    "x @ w",
    "x.sum()",
    "x.exp()",
    "x.mean(0)",
    "minigrad.addmm(w[0], x, w)",
    "minigrad.einsum('ij,jk->ik', x, w)",
    "x.softmax(1)",
    "minigrad.autograd.grad((x @ w).square().sum(), x)[0]",
    "plan(x.detach(), w)",
]
EXACT = [
    "x + 0.1",
    "minigrad.arange(20.0) @ minigrad.arange(20.0)",
    "(minigrad.arange(6.0) / 4).sum()",
    "minigrad.zeros(3).exp()",
    "minigrad.zeros(3, 30) @ w",
]
PROGRAM = """
import json, sys
import numpy as np
import minigrad
from minigrad import static

minigrad.manual_seed(0)
x, w = minigrad.randn(20, 30, requires_grad=True), minigrad.randn(30, 10)
plan = static.record(lambda x, w: (x @ w).exp().sum())(x.detach(), w).plan()

def moves(expression):
    first, *others = [np.asarray(eval(expression).detach()) for _ in range(5)]
    assert all(np.allclose(first, z, rtol=1e-5, atol=1e-5) for z in others)
    return any(bool((first != z).any()) for z in others)

print(json.dumps({expression: moves(expression) for expression in json.load(sys.stdin)}))
"""


def moved(seed: str) -> dict[str, bool]:
    """Which expressions differ from run to run, in a Python that is started with the switch?"""
    switch = {"MINIGRAD_LAST_DIGIT": seed, "PYTHONPATH": str(ROOT / "tests/last_digit")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(ROUNDED + EXACT),
        env={**os.environ, **switch},
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert not done.returncode, done.stderr
    found: dict[str, bool] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def moved_by_the_switch():
    return moved(seed="1")


@pytest.mark.parametrize("expression", ROUNDED)
def test_what_is_rounded_moves(moved_by_the_switch, expression):
    assert moved_by_the_switch[expression]


@pytest.mark.parametrize("expression", EXACT)
def test_what_no_machine_rounds_stays(moved_by_the_switch, expression):
    assert not moved_by_the_switch[expression]


def test_without_a_seed_nothing_moves():
    assert not any(moved(seed="").values())
