"""Mistakes in the derivative of a student's own Function.

The table of mistakes knows nothing about such an operation. But its `backward` is a formula, too. We
record it as a program (see minigrad.static), and run it again with one instruction changed:

    g * (s + x * s * (1 - s))      one term is left out, or has the wrong sign
                                   a factor is left out, or another saved value is read

A `backward` that computes with NumPy, or asks for values, cannot be recorded: then nothing is found.

Read whole.py first.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minigrad import static
from minigrad.core.function import FunctionPlan
from minigrad.core.tensor import Tensor
from minigrad.teach.answer import Answer
from minigrad.teach.at_a_node import AT_A_NODE, gives
from minigrad.teach.difference import Array
from minigrad.teach.uses import Use, plan_of_node
from minigrad.teach.whole import Places, mistake_in

Wrong = Iterator[tuple[str, str, Any]]  # kind, words, the result of an instruction


@mistake_in(AT_A_NODE, "wrong_argument")
def _in_ones_own_function(a: Answer) -> Places:
    """The derivative of {op}{line} is wrong: {n}.

    Compare your formula with the derivative of each step of its forward.
    """
    for use in a.graph.paths:
        if isinstance(plan_of_node(use.node), FunctionPlan):
            for kind, words, array in _derivatives(use):
                passed = use.fit(array)
                if passed is not None and gives(a, (use.parent, passed - use.passed)):
                    yield {"kind": kind, "use": use, "n": words}


class _Constants:
    """The ctx of a Function, with the tensors that it holds as constants."""

    def __init__(self, ctx: object) -> None:
        self._ctx = ctx

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._ctx, name)
        if isinstance(value, tuple):
            return tuple(t.detach() if isinstance(t, Tensor) else t for t in value)
        return value.detach() if isinstance(value, Tensor) else value


def _derivatives(use: Use) -> Wrong:
    """What passes along this edge if one instruction of the Function's backward is changed."""
    plan = plan_of_node(use.node)
    at = [k for k, need in enumerate(plan.ctx.needs_input_grad) if need][use.k]

    def derivative(g: Any) -> Any:
        given = plan.cls.backward(_Constants(plan.ctx), g)
        return given[at] if isinstance(given, tuple | list) else given

    try:
        program = static.record(derivative)(np.asarray(use.g))
    except Exception:  # it asks for values, it has several results, or it is not written out
        return
    lines, [g], [output] = program.instructions, program.inputs, program.outputs
    known = program.known_at_first([np.asarray(use.g)])
    right = dict(known)
    for line in lines:
        line.run(right)

    def again(start: int, changed: dict[int, Any]) -> Any:
        values = {**right, **changed}
        try:
            for line in lines[start:]:
                line.run(values)
        except ValueError:  # the shapes do not fit
            return np.nan
        return values[output]

    yield "upstream_only", "the incoming gradient was passed on unchanged", use.g
    ones = again(0, {g: np.ones_like(use.g)})
    yield "upstream_ignored", "it was not multiplied by the incoming gradient", ones
    for k, line in enumerate(lines):
        for kind, words, z in _wrong_results(line, right):
            yield kind, words, again(k + 1, {line.result: z})
    saved = [i for i in known if i != g and np.size(known[i]) > 2]
    for i in saved:
        for other in (j for j in saved if j != i and known[j].shape == known[i].shape):
            z = again(0, {i: known[other]})
            yield "wrong_argument", "it reads another of its saved values", z


def _wrong_results(line: Any, values: dict[int, Any]) -> Wrong:
    """Other results of one instruction."""
    x, *rest = (values[i] for i in line.operands)
    z, name = values[line.result], line.op.name
    if name in ("add", "sub") and rest:
        y, minus = rest[0], name == "sub"
        number = np.size(x) == 1 or np.size(y) == 1  # 1 - s is a factor, and not two terms
        kind, words = "missing_path", "one of its terms is missing"
        if number and np.size(z) > 1:
            kind, words = "wrong_argument", "a term is missing in one of its factors"
        yield kind, words, _like(x, z)
        yield kind, words, _like(-y if minus else y, z)
        yield "sign", "one of its terms has the wrong sign", x + y if minus else x - y
        yield "sign", "one of its terms has the wrong sign", -z if minus else y - x
    elif name in ("mul", "div") and rest:
        (i, j), words = line.operands, "one of its factors is missing"
        for kept, dropped in ((i, j), (j, i)) if name == "mul" else ((i, j),):
            kind = "scale" if np.size(values[dropped]) == 1 else "wrong_argument"
            yield kind, words, _like(values[kept], z)
    elif name in ("sum", "mean"):
        n = np.size(x) / np.size(z)
        other, instead = ("mean", z / n) if name == "sum" else ("sum", z * n)
        yield "mean_for_sum", f"it has a {other}, not a {name}", instead
        for axis in (None, *range(np.ndim(x))) if line.settings.get("axis") is not None else ():
            instead = line.op.forward(x, **{**line.settings, "axis": axis})
            yield "reduction_axis", f"a {name} is taken along another axis", instead
    elif name == "pow" and rest:
        yield "wrong_argument", "one of its powers has another exponent", x ** (rest[0] - 1)
    elif not rest and np.shape(x) == np.shape(z):
        kind = {"neg": "sign", "t": "transposed", "transpose": "transposed"}.get(name, "")
        yield kind or "wrong_argument", f"{name} was left out", x


def _like(a: Any, z: Array) -> Any:
    return np.broadcast_to(a, np.shape(z))
