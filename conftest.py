"""What the examples in docstrings have without importing it."""

from typing import Any

import pytest

import minigrad

collect_ignore = ["minigrad/tape/torch"]  # needs PyTorch; its examples are in tests/against_torch


@pytest.fixture(scope="session", autouse=True)
def names_in_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["minigrad"] = minigrad
