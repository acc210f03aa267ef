"""Random programs give on minigrad what they give on PyTorch; see fuzzer.py.

MINIGRAD_FUZZ_PROGRAMS says how many, MINIGRAD_FUZZ_SEED which ones, and a failure shows the
smallest program that differs. MINIGRAD_FUZZ_HYPOTHESIS lets Hypothesis write that many more,
which takes longer and shrinks further.
"""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

from tests.against_torch import recorded
from tests.against_torch.fuzzer import differences, program, smallest, write

PROGRAMS = int(os.environ.get("MINIGRAD_FUZZ_PROGRAMS", "500"))
SEED = int(os.environ.get("MINIGRAD_FUZZ_SEED", "0"))
HYPOTHESIS = int(os.environ.get("MINIGRAD_FUZZ_HYPOTHESIS", "0"))


def explained(lines: list[str]) -> str:
    return "\n".join([*lines, *(f"    # {sentence}" for sentence in differences(lines))])


@pytest.mark.parametrize("part", range(10))
def test_random_programs_are_the_same_on_both(part):
    for number in range(part, PROGRAMS, 10):
        lines = program(SEED, number)

        assert not differences(lines), f"program {number}:\n{explained(smallest(lines))}"


@pytest.mark.parametrize("part", range(10))
def test_the_same_programs_recorded_give_what_eager_gives(part):
    for number in range(part, PROGRAMS // 2, 10):
        lines = program(SEED, number)

        what, details = recorded.differences(lines)

        assert what in ("", "refused"), f"{what}: {details}\n{recorded.as_function(lines)[0]}"


@st.composite
def programs(draw: Any) -> list[str]:
    return write(lambda n: draw(st.integers(0, n - 1)))


@pytest.mark.skipif(not HYPOTHESIS, reason="MINIGRAD_FUZZ_HYPOTHESIS says how many programs")
@seed(SEED)
@settings(
    max_examples=max(HYPOTHESIS, 1),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(programs())
def test_programs_that_hypothesis_writes_are_the_same_on_both(lines):
    note(explained(lines))
    assert not differences(lines)


@pytest.mark.parametrize(
    "lines, sentence",
    [
        (["a = t.tensor([1.0])", "b = a * 2 if t.__name__ == 'torch' else a * 3"], "b.value is"),
        (["a = t.tensor([1.0])", "a.sum() if t.__name__ == 'torch' else a.no_such()"], "raises AttributeError"),
        (["a = t.tensor([1.0], requires_grad=t.__name__ == 'torch')", "b = a * 2"], "requires_grad is False"),
        (["a = t.tensor([1.0])", "a.add_(1) if t.__name__ == 'torch' else a.data.add_(1)"], "a.writes is 0"),
    ],
)  # fmt: skip
def test_the_fuzzer_sees_a_difference(lines, sentence):
    assert sentence in " ".join(differences(lines))
