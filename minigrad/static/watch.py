"""Watch: what a recorder sees of ordinary tensors while a function runs.

dispatch.py calls the observer for each op on tensors, each in-place write, and each
random draw; modules report that they are called.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from types import CellType, FrameType, MethodType
from typing import Any

from minigrad.static.slot import Standing


class Onlooker:
    """The observer while a program is recorded: tensors are captured."""

    def __init__(self, recorder: Any) -> None:
        self.interpret = recorder.apply
        self.interpret_write = recorder.write_over
        self.interpret_draw = recorder.draw
        self.modules = recorder.modules

    @contextmanager
    def module(self, module: Any) -> Iterator[None]:
        """A module is called: its training mode is fixed with the program."""
        if reads_training(type(module)):
            self.modules[id(module)] = module
        yield

    def forward(self, *told: Any) -> None:
        """Ignored: `interpret` has recorded the ops."""

    def backward(self, task: Any, engine: str) -> None:
        """Ignored: a backward pass of Slots is recorded by Recorder.backward."""

    def step(self, task: Any, step: Any) -> None:
        """Ignored, as `backward`."""

    def finished(self, task: Any, error: Any) -> None:
        """Ignored, as `backward`."""


def known_by_locals_only(thing: Any, apart: set[int], depth: int = 3) -> bool:
    """Is the object referenced only by running code, or by containers that only running code references?

    A tensor from outside is referenced by a module's dict, a closure or an instance. A tensor that the
    function has just made is referenced by its local variables, which are not objects.

    apart   ids of referrers that do not count
    """
    holders = gc.get_referrers(thing)
    apart = apart | {id(holders)}
    for holder in holders:
        if id(holder) in apart or isinstance(holder, (Standing, FrameType)):
            continue
        if not depth or not isinstance(holder, (list, tuple, dict, CellType, MethodType)):
            return False
        if not known_by_locals_only(holder, apart, depth - 1):
            return False
    return True


def reads_training(cls: type) -> bool:
    """Does the code of a module's class read self.training?"""
    for c in cls.__mro__:
        if c.__name__ == "Module":
            return False
        codes = [getattr(f, "__code__", None) for f in vars(c).values()]
        if any(code is not None and "training" in code.co_names for code in codes):
            return True
    return False
