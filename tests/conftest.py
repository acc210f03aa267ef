"""What holds for every test."""

import sys

import pytest


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """An IPython shell puts a module of its own in place of __main__, and children that are spawned read that."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
