"""The exercises of minigrad.teach as questions that can be graded.

What an Exercise checks in public, on public inputs, is asked here on inputs of a secret seed.
These functions run in the process of trusted.py, on the objects that the author's given cells
make. An exercise that cannot be asked in this way has no question, and `release` says so.

    questions    the declarations of exercises, by their variable
    drawn        the inputs for a seed, and the error that rounding explains

Which mistake gives a wrong answer is told by explain.py.
"""

import ast
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from minigrad.grading.encoding import encoded
from minigrad.grading.variants import wrong_source
from minigrad.teach.ask_facts import Facts
from minigrad.teach.ask_functions import Differentiable
from minigrad.teach.ask_optimizers import Updates
from minigrad.teach.ask_structure import Adjoints, Edges, Order
from minigrad.teach.cases import draw
from minigrad.teach.trying import FunctionQuestion

STEPS = """
def steps_of_function(step, p, grads, settings):
    state, seen = {}, []
    for k, g in enumerate(grads):
        lr = settings.get("lr")
        p = step(p, g, state, **{**settings, **({"lr": lr[k]} if isinstance(lr, list) else {})})
        if hasattr(p, "detach"):
            p = p.detach().numpy()
        seen.append(p if p is None else p.copy() if hasattr(p, "copy") else p)
    import numpy
    return numpy.array(seen)


def steps_of_class(make, p, grads, settings):
    import numpy
    from minigrad.teach.ask_optimizers import by_class

    if str(getattr(make.step, "__module__", "")).startswith("minigrad."):
        raise TypeError("its step is that of an optimizer of minigrad; write your own")
    return numpy.array(list(by_class(make, settings)(p, list(grads))))
"""

DIFFERENTIATED = """
def differentiated(function, inputs, constants, g):
    import minigrad

    tensors = {n: minigrad.tensor(v, requires_grad=n not in constants) for n, v in inputs.items()}
    before = {n: t.detach().numpy().tobytes() for n, t in tensors.items()}
    z = function(*tensors.values())
    if not isinstance(z, minigrad.Tensor):
        raise TypeError("a " + type(z).__name__ + " was returned; it must be a tensor")
    for name, t in tensors.items():
        if t.detach().numpy().tobytes() != before[name]:
            raise ValueError("the input " + name + " was changed in place")
    wanted = [t for t in tensors.values() if t.requires_grad]
    grads = minigrad.autograd.grad(z, wanted, minigrad.tensor(g), allow_unused=True)
    grads = [t.detach().numpy() * 0 if d is None else d for d, t in zip(grads, wanted)]
    return (z, *grads)
"""


def questions(names: Mapping[str, Any], wanted: list[str], sources: list[str]) -> dict[str, Any]:
    """Variable -> declaration, for those exercises that can be asked; `sources` are the cells."""
    found = {name: _question(names[name], names, sources) for name in wanted if name in names}
    return {name: declaration for name, declaration in found.items() if declaration}


def drawn(names: Mapping[str, Any], asked: list[tuple[str, str]]) -> list[list[dict[str, Any]]]:
    """For each (variable, seed): the cases, with inputs and the error that is allowed."""
    return [_cases(names[variable], seed) for variable, seed in asked]


def _question(exercise: Any, names: Mapping[str, Any], sources: list[str]) -> dict[str, Any] | None:
    name = str(getattr(exercise, "name", ""))
    parts = list(exercise.parts()) if hasattr(exercise, "parts") else []
    declaration: dict[str, Any] = {"results": _results(parts), "cases": [{}]}
    if isinstance(exercise, Differentiable):
        inputs = ", ".join(f"{n!r}: {n}" for n in exercise.inputs)
        call = f"differentiated({name}, {{{inputs}}}, {list(exercise.constants)!r}, g)"
        declaration.update(call=call, engine=True, helpers=DIFFERENTIATED)
    elif isinstance(exercise, FunctionQuestion):
        if getattr(exercise, "accepts", None) is not None:
            return None
        first = next(iter(exercise.cases()))
        plain = not all(isinstance(v, np.ndarray | float | int) for v in first.expected)
        given = exercise.given(first).values()
        if not all(_can_be_sent(v, names) for v in given):
            return None
        if any(map(callable, given)):
            declaration["engine"] = True  # given functions of tensors
        declaration["call"] = f"{name}({', '.join(exercise.given(first))})"
        declaration["compare"] = "exact" if plain else "array"
        if not plain:  # what rounding does is measured for each case; see teach/cases.py
            declaration.update(rtol=1e-12, atol=1e-13)
    elif isinstance(exercise, Facts | Edges | Adjoints):
        declaration["call"] = f"[{name}.get(part, ...) for part in {parts!r}]"
        if len(parts) == 1:
            declaration["call"] += "[0]"
        kind = {Facts: "exact", Edges: "unordered", Adjoints: "array"}
        declaration["compare"] = next(v for k, v in kind.items() if isinstance(exercise, k))
        declaration["alone"] = True  # a given function could tell, or be differentiated by numbers
    elif isinstance(exercise, Order):
        edges = exercise.edges()
        pairs = [[z, x] for z, xs in edges.items() for x in xs]
        nodes = _behind("z", edges)
        pairs = [pair for pair in pairs if pair[0] in nodes]
        declaration.update(
            call=name, compare="order", order={"nodes": nodes, "edges": pairs}, alone=True
        )
    elif isinstance(exercise, Updates):
        kind_of = "steps_of_class" if exercise.wanted == "class" else "steps_of_function"
        call = f"[{kind_of}({name}, p, grads, settings)][0]"
        declaration.update(results=["steps"], call=call, helpers=STEPS)
        declaration["engine"] = exercise.wanted == "class"
    else:
        return None
    for tolerance in ("rtol", "atol"):
        if getattr(exercise, tolerance, None) is not None:
            declaration[tolerance] = getattr(exercise, tolerance)
    declaration["cases"] = [{} for _ in _cases(exercise, "public")]
    wrongs = [wrong_source(w, name, sources) for w in getattr(exercise, "wrongs", [])]
    declaration["wrong"] = [source for source in wrongs if source]
    told_by = getattr(getattr(exercise, "program", None), "__name__", "")
    if isinstance(exercise, Facts) and told_by in names:
        declaration["wrong"].append(f"{name} = {told_by}()")  # asking is no predicting
    return declaration


def start_and_gradients(exercise: Any, seed: str, n: int) -> tuple[Any, Any]:
    """Where the optimizer of an exercise starts with its n-th settings, and what it gets."""
    key = f"{seed}/{exercise.name}/{n}"
    grads = [draw(f"{key}/g{k}", exercise.shape) for k in range(exercise.steps)]
    return draw(f"{key}/p", exercise.shape), np.array(grads)


def _cases(exercise: Any, seed: str) -> list[dict[str, Any]]:
    if isinstance(exercise, Updates):
        steps: list[dict[str, Any]] = []
        for n, settings in enumerate(exercise.settings, 1):
            p, grads = start_and_gradients(exercise, seed, n)
            plain = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
            inputs = {"p": encoded(p), "grads": encoded(grads), "settings": encoded(plain)}
            steps.append({"inputs": inputs, "atol": []})
        return steps
    if not isinstance(exercise, FunctionQuestion):
        return [{"inputs": {}, "atol": []}]
    cases: list[dict[str, Any]] = []
    for case in exercise.cases(seed):
        given = (
            {**case.inputs, "g": case.g}
            if isinstance(exercise, Differentiable)
            else exercise.given(case)
        )
        allowed = [float(a) for a in case.atol]
        cases.append({"inputs": {k: encoded(v) for k, v in given.items()}, "atol": allowed})
    return cases


def _results(parts: list[str]) -> list[str]:
    """Names of results, of which ids are made."""
    names: list[str] = []
    for k, part in enumerate(parts, 1):
        plain = re.sub(r"[^\w.\-]+", "-", part).strip("-")
        names.append(plain if plain and plain not in names else f"part-{k}")
    return names


def _behind(name: str, edges: Mapping[str, list[str]]) -> list[str]:
    seen, waiting = [name], [name]
    while waiting:
        for parent in edges.get(waiting.pop(), []):
            if parent not in seen:
                seen.append(parent)
                waiting.append(parent)
    return seen


def _can_be_sent(value: Any, names: Mapping[str, Any]) -> bool:
    """Is there a way to write the value into a cell?"""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiub"
    if callable(value):
        return names.get(getattr(value, "__name__", "")) is value
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
