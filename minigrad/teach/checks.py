"""Exercises that say at once what is right and what is not.

An exercise is a declaration. It names the function that the student writes, and gives the
computation whose gradients that function should return; cases are drawn for it and the
right answers come from the engine, so no answer is written down anywhere.

    exercise = Exercise("square_backward", lambda x: x * x, shapes=[[()], [(3,)]])

    def square_backward(x, g):          # written by the student
        return 2 * x * g

    exercise.check()                    # a row for each case and gradient
    exercise.check().or_raise()         # the same, and the cell fails unless all are right

Whatever the student's code does, the answer is a table: an exception, a missing function, a
wrong type or shape, or an input that was changed is a row with a message. Check cells end
with `or_raise`, so that pytest and nbval take silence, or a table of mistakes, for a failure.

These checks run beside the student's code and are there to learn from. They are public,
and passing them is no grade.
"""

import hashlib
import inspect
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from minigrad.autograd import grad
from minigrad.creation import tensor
from minigrad.modes import enable_grad, unobserved
from minigrad.teach.difference import as_array, difference, number, position
from minigrad.teach.report import Report

Array = NDArray[np.float64]
Kind = Literal[
    "right",
    "wrong value",
    "wrong shape",
    "wrong type",
    "error",
    "changed input",
    "not written",
    "missing",
]


@dataclass(frozen=True)
class Case:
    """One set of inputs, dL/dz, and the gradients that are right for them."""

    number: int
    inputs: dict[str, Array]
    g: Array
    expected: tuple[Array, ...]

    @property
    def shapes(self) -> str:
        return ", ".join(f"{name} {value.shape}" for name, value in self.inputs.items())


@dataclass(frozen=True)
class CheckRow:
    """One fact about the student's function.

    case      which case; None if the function could not be called at all
    inputs    the inputs' names and shapes
    what      which gradient: dx for the input x; empty if it is about the call
    verdict   right, or what kind of mistake
    message   what is wrong and where, in words
    """

    case: int | None
    inputs: str
    what: str
    verdict: Kind
    message: str = ""

    @property
    def ok(self) -> bool:
        return self.verdict == "right"

    @property
    def note(self) -> str:
        return ""

    def cells(self) -> tuple[str, ...]:
        case = "" if self.case is None else str(self.case)
        return (case, self.inputs, self.what, self.verdict, self.message)


class CheckResult(Report[CheckRow]):
    """The rows of a check; true if all of them are right."""

    header = ("case", "inputs", "gradient", "verdict", "")

    def __init__(self, name: str, rows: Sequence[CheckRow]) -> None:
        self.name = name
        right, n = sum(row.ok for row in rows), len(rows)
        verb = "is" if right == 1 else "are"
        count = (
            f"all {n} public checks are" if right == n else f"{right} of {n} public checks {verb}"
        )
        super().__init__(f"{name}: {count} right", rows)

    def or_raise(self) -> "CheckResult":
        """The result itself if all is right; otherwise raises ChecksFailed, which shows it."""
        if not self.ok:
            raise ChecksFailed(self)
        return self


class ChecksFailed(AssertionError):
    """A check cell whose answer is not right yet. Its message is the table.

    result   the CheckResult
    """

    def __init__(self, result: CheckResult) -> None:
        super().__init__(repr(result))
        self.result = result

    def _render_traceback_(self) -> list[str]:
        """What IPython prints: the table alone, since no line of minigrad is at fault."""
        return str(self).splitlines()


@dataclass(frozen=True)
class Exercise:
    """The student writes the backward function of a computation.

    name         the function's name; it is called with the inputs, then g = dL/dz
    forward      z = forward(*inputs), in minigrad's operations
    shapes       for each case, the shape of each input
    rtol, atol   how near is right; an analytic formula is within a few 1e-16
    """

    name: str
    forward: Callable[..., Any]
    shapes: Sequence[Sequence[tuple[int, ...]]]
    rtol: float = 1e-9
    atol: float = 1e-12

    def check(self, answer: Callable[..., Any] | None = None) -> CheckResult:
        """Check the student's function; without an argument, the one of that name here."""
        frame = sys._getframe(1)
        namespace = {**frame.f_globals, **frame.f_locals} if answer is None else {self.name: answer}
        return CheckResult(self.name, list(self._rows(namespace)))

    def cases(self, seed: str = "public") -> Iterator[Case]:
        """The cases of a seed. Every number depends on its own name only, so that a case
        stays the same when others are added before it."""
        names = list(inspect.signature(self.forward).parameters)
        for n, shapes in enumerate(self.shapes, 1):
            inputs = {
                name: _draw(f"{seed}/{self.name}/{n}/{name}", shape)
                for name, shape in zip(names, shapes, strict=True)
            }
            with enable_grad(), unobserved():
                tensors = [tensor(value, requires_grad=True) for value in inputs.values()]
                z = self.forward(*tensors)
                g = _draw(f"{seed}/{self.name}/{n}/g", tuple(z.shape))
                grads = grad(z, tensors, grad_outputs=tensor(g))
            yield Case(n, inputs, g, tuple(np.array(as_array(d)) for d in grads))

    def _rows(self, namespace: Mapping[str, Any]) -> Iterator[CheckRow]:
        answer = namespace.get(self.name)
        if not callable(answer):
            yield CheckRow(None, "", "", "missing", self._missing(answer))
            return
        for case in self.cases():
            rows = list(self._one_case(case, answer))
            yield from rows
            if rows[0].verdict == "not written":  # the other cases would say the same
                return

    def _missing(self, answer: Any) -> str:
        if answer is None:
            return f"there is no function {self.name} yet; run the cell that defines it"
        return f"{self.name} is of type {type(answer).__name__}; it must be a function"

    def _one_case(self, case: Case, answer: Callable[..., Any]) -> Iterator[CheckRow]:
        def row(verdict: Kind, message: str, what: str = "") -> CheckRow:
            return CheckRow(case.number, case.shapes, what, verdict, message)

        given = {**case.inputs, "g": case.g}
        handed = {name: value.copy() for name, value in given.items()}
        try:
            returned = answer(*handed.values())
        except NotImplementedError:
            yield row("not written", "replace the line  raise NotImplementedError()  by your own")
            return
        except (Exception, SystemExit) as error:
            yield row("error", _said(error, answer))
            return
        for name, value in handed.items():
            if value.tobytes() != given[name].tobytes():
                yield row(
                    "changed input",
                    f"{name} was changed in place; compute with a new array instead",
                )
        gradients = returned if isinstance(returned, tuple | list) else (returned,)
        names = ["d" + name for name in case.inputs]
        if returned is None or len(gradients) != len(names):
            yield row("wrong type", _count(returned, gradients, names))
            return
        for what, mine, right in zip(names, gradients, case.expected, strict=True):
            yield row(*self._one_gradient(what, mine, right), what)

    def _one_gradient(self, what: str, mine: Any, right: Array) -> tuple[Kind, str]:
        d = difference(mine, right, self.rtol, self.atol)
        if d.ok:
            return "right", ""
        if d.verdict == "not an array":
            return "wrong type", f"{what} is {d.reason}"
        if d.verdict == "wrong shape":
            return "wrong shape", f"{what} has {d.reason}"
        first = _first_wrong(mine, right, self.rtol, self.atol)
        yours = float(as_array(mine)[first])
        return (
            "wrong value",
            f"{what}{position(first)} is {number(yours)} and should be {number(float(right[first]))}",
        )


def _draw(seed: str, shape: tuple[int, ...]) -> Array:
    """Normal numbers with two decimals: short to print, and the same on every machine."""
    digest = hashlib.sha256(seed.encode()).digest()
    numbers = np.random.default_rng(int.from_bytes(digest[:8], "big")).normal(size=shape)
    return np.asarray(np.round(numbers, 2))


def _first_wrong(mine: Any, right: Array, rtol: float, atol: float) -> tuple[int, ...]:
    """The first entry, in reading order, that is not close."""
    near = np.isclose(as_array(mine), right, rtol=rtol, atol=atol)
    return tuple(int(i) for i in np.argwhere(~near)[0])


def _count(returned: Any, gradients: Sequence[Any], names: list[str]) -> str:
    wanted = ", ".join(names)
    if returned is None:
        return f"nothing was returned; end with  return {wanted}"
    got = f"{len(gradients)} value{'s' * (len(gradients) != 1)}"
    return f"{got} returned instead of {len(names)}; end with  return {wanted}"


def _said(error: BaseException, answer: Callable[..., Any]) -> str:
    """The exception in one line, with the student's line that raised it."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    code = getattr(answer, "__code__", None)
    for entry in reversed(traceback.extract_tb(error.__traceback__)):
        if code is not None and entry.filename == code.co_filename and entry.lineno is not None:
            line = linecache.getline(entry.filename, entry.lineno).strip()
            return f"{text}    in the line  {line}" if line else text
    return text
