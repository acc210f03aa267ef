"""Exercises whose answer is a function, but not a backward function.

    Tangents          z_dot from the inputs and their tangents: forward mode
    Differentiable    a function of tensors: its value *and* the gradients of backward()
    Implementation    any function, compared with a second implementation

As in `Exercise`, right answers are not stored: they come from the engine, or from a second
implementation by the author, which may be slow as long as it is simple.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial, wraps
from typing import Any

import numpy as np

from minigrad.autograd import grad
from minigrad.autograd.transforms import jvp
from minigrad.core.modes import enable_grad, unobserved
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.teach.answer import Diagnosis, in_all
from minigrad.teach.cases import Case, draw, layouts, tolerance
from minigrad.teach.checks import Exercise
from minigrad.teach.difference import Array, real_array
from minigrad.teach.forward_mode import diagnose_tangent
from minigrad.teach.misconceptions import Misconception, Seen, generally
from minigrad.teach.results import CheckRow, Kind
from minigrad.teach.trying import DIAGNOSED, FunctionQuestion, Mistaken, count


class Tangents(Exercise):
    """The student writes the tangent of a computation: z_dot = f(x, y, x_dot, y_dot).

    The arguments are those of Exercise.

    These mistakes are found without being declared: a forgotten tangent, tangents that were not
    used at all, the gradient instead of the tangent, and the mistakes of the table, at one
    operation (see forward_mode.py).
    """

    column, counted = "tangent", "tangents"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mistakes = (*self.mistakes, *self._known())

    def parts(self) -> list[str]:
        """One part, the tangent of the result, whatever the number of inputs."""
        return ["z_dot"]

    def cases(self, seed: str = "public") -> Iterator[Case]:
        """The cases of a seed: each input has a tangent of its shape, and there is no g."""
        for n, (shapes, label) in enumerate(layouts(self.shapes, self.more), 1):
            inputs = self._drawn(f"{seed}/{self.name}/{n}", shapes, label)
            for name in self.inputs:
                shape = inputs[name].shape
                inputs[f"{name}_dot"] = draw(f"{seed}/{self.name}/{n}/{name}_dot", shape)
            atol = tolerance(lambda given: [self.tangent(*given.values())], inputs)
            yield Case(n, inputs, None, (self.tangent(*inputs.values()),), atol, label)

    def given(self, case: Case) -> Mapping[str, Any]:
        """The inputs, then their tangents: x, y, x_dot, y_dot."""
        return case.inputs

    def take_apart(self, returned: object, case: Case) -> Sequence[Any] | str:
        """The returned value is one part, even if it is a tuple."""
        return count(returned, self.parts(), whole=True)

    def tangent(self, *given: object) -> Array:
        """The right answer, from the engine's forward mode."""
        half = len(self.inputs)
        with unobserved():
            x, x_dot = (tuple(tensor(a) for a in part) for part in (given[:half], given[half:]))
            return np.array(real_array(jvp(self.forward, x, x_dot)[1]))

    def searched(
        self, what: str, wrong: Sequence[Mistaken], seen: Sequence[Seen]
    ) -> Diagnosis | None:
        """A sign or a factor of the whole tangent; then the search of the tape, in forward mode."""
        half = len(self.inputs)
        found = generally(seen)

        def diagnosis_of(m: Mistaken) -> Diagnosis | None:
            given = list(m.case.inputs.values())
            x, x_dot = (dict(zip(self.inputs, part)) for part in (given[:half], given[half:]))
            return diagnose_tangent(self.forward, x, x_dot, m.mine)

        if found and found.kind != "finite_difference_noise":
            return found  # an iteration that converges is nearly right with a mistake, too
        return in_all(diagnosis_of(m) for m in wrong[:DIAGNOSED]) or found

    def _known(self) -> Iterator[Misconception]:
        half = len(self.inputs)
        for at, name in enumerate(self.inputs if half > 1 else [], half):
            part, changed = f"The part that comes from {name}_dot", partial(self._with_part, at)
            hint = "z depends on each of its inputs: add their parts."
            yield Misconception("missing_path", partial(changed, 0), f"{part} is missing.", hint)
            hint = "Check the minus signs of this derivative."
            yield Misconception("sign", partial(changed, -1), f"{part} has the wrong sign.", hint)
        yield Misconception(
            "upstream_ignored",
            lambda *given: self.tangent(*given[:half], *(np.ones_like(v) for v in given[half:])),
            "This is the tangent of z if every input has the tangent 1: the tangents were not used.",
            "Multiply each local derivative by the tangent of its input.",
        )
        yield Misconception(
            "applied_to_tangents",
            lambda *given: self._program(dict(zip(self.inputs, given[half:], strict=True)))[0],
            "The function itself was applied to the tangents, as if it were linear.",
            "Multiply each local derivative by the tangent of its input.",
        )
        yield Misconception(
            "gradient_for_tangent",
            self._gradient,
            "This is the gradient (v @ J, reverse mode), but the exercise asks for the tangent J @ v.",
            "A tangent has the shape of z, and says how z changes; a gradient has the shape of the input.",
        )

    def _with_part(self, at: int, times: int, *given: Any) -> Array:
        """The tangent, with the part that comes from one of the inputs' tangents times a number."""
        return self.tangent(*(times * v if k == at else v for k, v in enumerate(given)))

    def _gradient(self, *given: object) -> Any:
        half = len(self.inputs)
        z, tensors = self._program(dict(zip(self.inputs, given[:half], strict=True)))
        with unobserved():
            (d,) = grad(z, list(tensors.values())[:1], grad_outputs=tensor(np.ones(z.shape)))
        return real_array(d)


class Differentiable(Exercise):
    """The student writes a function of tensors that can be differentiated.

    The parts are z, its value, and dx for each input: the gradient that the engine computes
    through the student's code, such as a repaired program or the `apply` of a new Function.
    """

    column, counted = "part", "results"

    def parts(self) -> list[str]:
        """z first, then the gradients, so that a wrong value is noticed first."""
        return ["z", *super().parts()]

    def cases(self, seed: str = "public") -> Iterator[Case]:
        """The cases of Exercise, with the value of z (to 1e-13) before the gradients."""
        for case in super().cases(seed):
            value = np.array(real_array(case.program[0]))
            atol = (1e-13 * (1 + float(np.max(np.abs(value), initial=0.0))), *case.atol)
            yield replace(case, expected=(value, *case.expected), atol=atol)

    def given(self, case: Case) -> Mapping[str, Any]:
        """The case itself, without the right program, for the wrapper in `judged`."""
        return {"case": replace(case, program=None)}  # the argument of `watched`; see judged

    def judged(self, answer: Any) -> Iterator[CheckRow]:
        """Judge a wrapper that calls the answer with tensors and takes gradients through it."""
        self._wrong_values: set[int] = set()

        @wraps(answer)
        def watched(case: Case) -> Any:
            return self._value_and_gradients(answer, case)

        watched.called_with = ", ".join(self.inputs)  # type: ignore[attr-defined]
        yield from super().judged(watched)

    def _value_and_gradients(self, answer: Callable[..., Any], case: Case) -> list[Any] | str:
        """The value and gradients of a student's function; or a message that says why there are none."""
        z, tensors = self._program(case.inputs, answer)
        if not isinstance(z, Tensor):
            what = "nothing" if z is None else f"a {type(z).__name__}"
            return f"{what} was returned; it must be a tensor"
        for name, t in tensors.items():
            if t.detach().numpy().tobytes() != case.inputs[name].tobytes():
                return f"the input {name} was changed in place"
        if tuple(z.shape) != np.shape(case.g):
            return f"z has the shape {tuple(z.shape)} instead of {np.shape(case.g)}"
        wanted = [t for t in tensors.values() if t.requires_grad]
        if not z.requires_grad:
            return "z does not require a gradient: the chain from the inputs was cut"
        with unobserved():
            grads = grad(z, wanted, grad_outputs=tensor(case.g), materialize_grads=True)
        return [z.detach().numpy(), *grads]

    def take_apart(self, returned: object, case: Case) -> Sequence[Any] | str:
        """The wrapper's list, value first; or the message that says why there is none."""
        assert isinstance(returned, str | list)
        return returned

    def explain(self, what: str, wrong: Sequence[Mistaken]) -> Diagnosis | None:
        """The gradient's mistake. If the value is already wrong, we do not search for one."""
        if what == "z":
            self._wrong_values = {m.case.number for m in wrong}
            return None
        if any(m.case.number in self._wrong_values for m in wrong):
            return None
        return super().explain(what, wrong)


@dataclass(eq=False, repr=False)
class Implementation(FunctionQuestion):
    """The student writes a function; a second implementation gives the right answer.

    name        the function's name
    reference   another implementation; returns one value, or as many as `returns`
    inputs      for each case, its inputs by name: a shape, for which numbers are drawn, or a
                value in a list, [value]
    returns     the names of the returned values
    accepts     used instead of the reference: accepts(answer, *inputs) returns None if the
                answer is right, and otherwise a message that says why not
    mistakes    common mistakes
    """

    reference: Callable[..., Any] | None
    inputs: Sequence[Mapping[str, Any]]
    _: KW_ONLY
    returns: Sequence[str] = ("result",)
    accepts: Callable[..., str | None] | None = None
    mistakes: Sequence[Misconception] = ()
    rtol: float | None = None
    atol: float | None = None

    def parts(self) -> Sequence[str]:
        """The names of the returned values, as the author gave them."""
        return self.returns

    def cases(self, seed: str = "public") -> Iterator[Case]:
        """The cases of a seed: numbers are drawn for shapes, and wrapped values are used unchanged.

        Without a reference there are no right answers, and `accepts` judges.
        """
        for n, wanted in enumerate(self.inputs, 1):
            inputs: dict[str, Any] = {}
            for name, value in wanted.items():
                if isinstance(value, tuple):
                    others = [a for a in inputs.values() if isinstance(a, np.ndarray)]
                    inputs[name] = draw(f"{seed}/{self.name}/{n}/{name}", value, others)
                else:
                    inputs[name] = value[0]
            if self.reference is None:
                yield Case(n, inputs, None, (None,) * len(self.returns))
                continue
            right = tuple(self._right(inputs))
            plain = any(not isinstance(r, np.ndarray | np.number | float | int) for r in right)
            atol = () if plain else tolerance(self._right, inputs)
            yield Case(n, inputs, None, right, atol)

    def _right(self, inputs: Mapping[str, Any]) -> list[Any]:
        assert self.reference is not None
        with enable_grad(), unobserved():
            out = self.reference(*inputs.values())
        out = list(out) if len(self.returns) > 1 else [out]
        if len(out) != len(self.returns):
            raise ValueError(
                f"{self.name}: the reference returned {len(out)} values, not {len(self.returns)}."
            )
        return [real_array(v) if isinstance(v, Tensor) else v for v in out]

    def take_apart(self, returned: object, case: Case) -> Sequence[Any] | str:
        """One value for each name in `returns`; with one name, the whole returned value."""
        return count(returned, self.returns, whole=len(self.returns) == 1)

    def judge(self, what: str, mine: object, case: Case, k: int) -> tuple[Kind, str]:
        """Call `accepts`, if it was given."""
        if self.accepts is None:
            return super().judge(what, mine, case, k)
        try:
            objection = self.accepts(mine, *case.inputs.values())
        except Exception as error:  # the answer has an unexpected form
            return "wrong type", f"{what} cannot be read: {type(error).__name__}: {error}"
        return ("right", "") if objection is None else ("wrong answer", objection)
