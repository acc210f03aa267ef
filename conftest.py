"""What the examples in docstrings have without importing it; and collecting takes half the time."""

import gc
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

import pytest

import minigrad

collect_ignore = ["minigrad/tape/torch"]  # needs PyTorch; its examples are in tests/against_torch
if find_spec("torch") is None:
    collect_ignore.append("notebooks/14_the_same_tape_in_pytorch.ipynb")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep ten thousand tests out of the garbage collector's sight: none of them is ever garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def names_in_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["minigrad"] = minigrad
