"""Exercises that check an answer at once.

An exercise is a declaration. It names the function that the student writes, and gives the
computation whose gradients that function should return. Cases are drawn, and the engine computes
the right answers, so no answer is written down anywhere.

    exercise = Exercise("square_backward", lambda x: x * x, shapes=[[()], [(3,)]])

    def square_backward(x, g):          # written by the student
        return 2 * x * g

    exercise.check()                    # a row for each case and gradient
    exercise.check().or_raise()         # the same, and the cell fails unless all are right
    exercise.hint()                     # the next hint

Whatever the student's code does, the result is a table. An exception, an infinite loop, a missing
function, a wrong type or shape, and a changed input are each a row with a message. If a known
mistake gives exactly the student's numbers, the row names it and its operation on the tape. Check
cells end with `or_raise`, so that wrong answers fail in pytest and nbval.

These checks run in the student's own kernel and are for practice. Passing them gives no grade.

Read question.py for what all exercises have, and trying.py for how a function is checked.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minigrad.autograd import grad
from minigrad.core.modes import enable_grad, unobserved
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.teach.answer import Diagnosis, in_all
from minigrad.teach.cases import Case, Shape, draw, in_layout, layouts, tolerance
from minigrad.teach.diagnose import diagnose
from minigrad.teach.difference import Array, real_array
from minigrad.teach.misconceptions import Misconception, Seen
from minigrad.teach.results import CheckResult, CheckRow, ChecksFailed
from minigrad.teach.trying import DIAGNOSED, FunctionQuestion, Mistaken

__all__ = ["Case", "CheckResult", "CheckRow", "ChecksFailed", "Exercise"]


@dataclass(eq=False, repr=False)
class Exercise(FunctionQuestion):
    """The student writes the backward function of a computation.

    name         the function's name; it is called with the inputs, then g = dL/dz
    forward      z = forward(*inputs), in minigrad's operations
    shapes       for each case, the shape of each input
    more         further cases with the last shapes: "empty" (an axis of length 0), "strided" (not
                 contiguous), "extreme" (of both signs, and larger than 1000), "zero"
    numbers      input name -> a function that makes its values from normally distributed numbers,
                 e.g. {"x": np.exp} for a positive x
    constants    inputs without a gradient (a target, a mask): there is no dx for them
    mistakes     common mistakes here; tried before the tape is searched
    rtol, atol   the tolerance; by default measured for each case (see cases.py)
    points, hints, seconds    as for every Question
    """

    column, counted = "gradient", "gradients"

    forward: Callable[..., Any]
    shapes: Sequence[Sequence[Shape]]
    rtol: float | None = None
    atol: float | None = None
    _: KW_ONLY
    more: Sequence[str] = ()
    numbers: Mapping[str, Callable[[Array], ArrayLike]] = field(default_factory=dict)
    constants: Sequence[str] = ()
    mistakes: Sequence[Misconception] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.inputs = list(inspect.signature(self.forward).parameters)
        unknown = [name for name in (*self.constants, *self.numbers) if name not in self.inputs]
        if unknown:
            raise ValueError(
                f"{self.name}: {unknown[0]!r} is not one of the inputs: {', '.join(self.inputs)}."
            )

    def parts(self) -> list[str]:
        """A gradient for each input that is not constant: "dx" for x."""
        return ["d" + name for name in self.inputs if name not in self.constants]

    def cases(self, seed: str = "public") -> Iterator[Case]:
        """The cases of a seed. Each has its own numbers, so it stays the same when others are
        added before it."""
        for n, (shapes, label) in enumerate(layouts(self.shapes, self.more), 1):
            inputs = self._drawn(f"{seed}/{self.name}/{n}", shapes, label)
            z, tensors = self._program(inputs)
            if not isinstance(z, Tensor):
                raise TypeError(
                    f"{self.name}: forward returned {type(z).__name__}, not one tensor."
                )
            g = draw(f"{seed}/{self.name}/{n}/g", tuple(z.shape))
            given = {**inputs, "g": g}
            atol = tolerance(self._gradients, given)
            right = tuple(self._gradients(given))
            yield Case(n, inputs, g, right, atol, label, (z, tensors))

    def _drawn(self, seed: str, shapes: Sequence[Shape], label: str) -> dict[str, Any]:
        inputs: dict[str, Any] = {}
        drawn: list[Array] = []
        if len(shapes) != len(self.inputs):
            raise ValueError(
                f"{self.name}: a case has {len(shapes)} shapes, {shapes}, for the inputs {', '.join(self.inputs)}. "
                "To fix it, write a list of cases, each a list with a shape for each input, such as [[(3,)], [(2, 3)]]."
            )
        for name, shape in zip(self.inputs, shapes):
            drawn.append(draw(f"{seed}/{name}", shape, drawn))
            value = in_layout(drawn[-1], label)
            inputs[name] = np.asarray(self.numbers[name](value)) if name in self.numbers else value
        return inputs

    def _program(
        self, inputs: Mapping[str, Any], function: Callable[..., Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """The result and the inputs, as tensors; for the given function instead of the author's, if any."""
        with enable_grad(), unobserved():
            tensors = {
                name: tensor(value, requires_grad=name not in self.constants)
                for name, value in inputs.items()
            }
            return (function or self.forward)(*tensors.values()), tensors

    def _gradients(self, given: Mapping[str, Any]) -> list[Array]:
        """The right answers, from the engine."""
        z, tensors = self._program({name: given[name] for name in self.inputs})
        wanted = [t for name, t in tensors.items() if name not in self.constants]
        with unobserved():
            grads = grad(z, wanted, grad_outputs=tensor(given["g"]), allow_unused=True)
        unused = [part for part, d in zip(Exercise.parts(self), grads, strict=True) if d is None]
        if unused:
            name = unused[0].removeprefix("d")
            raise ValueError(
                f"{self.name}: forward does not use {name}. Write  constants=['{name}']."
            )
        return [np.array(real_array(d)) for d in grads]

    def given(self, case: Case) -> Mapping[str, Any]:
        """The inputs, then g, the gradient of the result."""
        return {**case.inputs, "g": case.g}

    def searched(
        self, what: str, wrong: Sequence[Mistaken], seen: Sequence[Seen]
    ) -> Diagnosis | None:
        """The mistake that the search of the tape finds in all cases where this gradient is wrong."""
        name = what.removeprefix("d")
        telling = [m for m in wrong if m.case.expected[m.k].size and m.case.label != "zero"]
        telling = sorted(telling, key=lambda m: -m.case.expected[m.k].size)[:DIAGNOSED]
        found = in_all(diagnosed(m.case.program, name, m.mine, m.case.g) for m in telling)
        return found or super().searched(what, wrong, seen)


def diagnosed(program: Any, name: str, mine: object, g: Any) -> Diagnosis | None:
    """The mistake that the search finds, with the tighter tolerance of exercises."""
    z, tensors = program
    return diagnose(
        z, tensors[name], mine, gradient=tensor(g), name=name, namespace=tensors,
        rtol=1e-9, atol=1e-12,
    )  # fmt: skip
