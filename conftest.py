"""What the examples in docstrings have without importing it."""

from importlib.util import find_spec
from typing import Any

import pytest

import minigrad

collect_ignore = ["minigrad/tape/torch"]  # needs PyTorch; its examples are in tests/against_torch
if find_spec("torch") is None:
    collect_ignore.append("notebooks/14_the_same_tape_in_pytorch.ipynb")


@pytest.fixture(scope="session", autouse=True)
def names_in_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["minigrad"] = minigrad
