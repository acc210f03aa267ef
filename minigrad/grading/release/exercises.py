"""Turn exercises of minigrad.teach into graded questions.

Students check an Exercise on public inputs; grading checks it on inputs drawn from a secret seed.
author_process.py calls these two functions on the objects that the author's given cells create:

    questions    the declarations of exercises, by variable name
    drawn_cases  the inputs for a seed, with tolerances for rounding error

An exercise that cannot be graded this way becomes no question, and `release` says so.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from minigrad.grading.answers import encoded
from minigrad.grading.documents import Declaration, DrawnCase
from minigrad.grading.release import syntax
from minigrad.teach.ask_facts import Facts
from minigrad.teach.ask_functions import Differentiable, Implementation, Tangents
from minigrad.teach.ask_optimizers import Updates
from minigrad.teach.ask_structure import Adjoints, Edges, Order
from minigrad.teach.cases import draw
from minigrad.teach.checks import Exercise
from minigrad.teach.question import Question, Wrong
from minigrad.teach.trying import FunctionQuestion

Definition = ast.FunctionDef | ast.ClassDef
Names = Mapping[str, object]  # what the given cells define

# The function in an exercise that a student could return as the answer. `release` checks that this earns no points.
OWN = (
    (Facts, "program", "{} = {}()"),
    (Implementation, "reference", "{} = {}"),
    (Differentiable, "forward", "{} = {}"),
)

STEPS = """
def steps_of_function(step, p, grads, settings):
    import numpy

    p, grads, state, seen = p.copy(), grads.copy(), {}, []  # a step may write into p and g
    for k, g in enumerate(grads):
        lr = settings.get("lr")
        p = step(p, g, state, **{**settings, **({"lr": lr[k]} if isinstance(lr, list) else {})})
        if hasattr(p, "detach"):
            p = p.detach().numpy()
        if p is None:
            return None
        try:
            seen.append(numpy.array(p))
        except ValueError:
            raise TypeError("a " + type(p).__name__ + " was returned; it must be the new parameters") from None
        if seen[-1].shape != g.shape:
            raise ValueError("shape " + str(seen[-1].shape) + " instead of " + str(g.shape))
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
    if tuple(z.shape) != g.shape:
        raise ValueError("shape " + str(tuple(z.shape)) + " instead of " + str(g.shape))
    for name, t in tensors.items():
        if t.detach().numpy().tobytes() != before[name]:
            raise ValueError("the input " + name + " was changed in place")
    wanted = [t for t in tensors.values() if t.requires_grad]
    grads = minigrad.autograd.grad(z, wanted, minigrad.tensor(g), allow_unused=True)
    grads = [t.detach().numpy() * 0 if d is None else d for d, t in zip(grads, wanted)]
    return (z, *grads)
"""

ONLY = """
def only(value):
    return value[0] if isinstance(value, tuple | list) and len(value) == 1 else value
"""

ENTRIES = """
def entries(answer, parts):
    if not isinstance(answer, dict):
        raise TypeError("a " + type(answer).__name__ + " instead of a dict with the keys " + ", ".join(parts))
    return [answer.get(part, ...) for part in parts]
"""


def questions(names: Names, wanted: list[str], sources: list[str]) -> dict[str, Declaration]:
    """Map variables to declarations, for the exercises that can be graded; `sources` are the cells."""
    found = {name: _declaration(name, names, sources) for name in wanted if name in names}
    return {name: declaration for name, declaration in found.items() if declaration}


def drawn_cases(names: Names, pairs: list[tuple[str, str]]) -> list[list[DrawnCase]]:
    """For each (variable, seed), draw the cases: their inputs and tolerances."""
    return [_cases(names[variable], seed) for variable, seed in pairs]


def _declaration(variable: str, names: Names, sources: list[str]) -> Declaration | None:
    exercise = names[variable]
    if not isinstance(exercise, Question) or not (call := _call_of(exercise, names)):
        return None
    name, cases = exercise.name, len(_cases(exercise, "public"))
    wrongs = [_wrong_source(wrong, name, sources) for wrong in exercise.wrongs]
    for kind, own, by_name in OWN:
        if isinstance(exercise, kind):
            called = getattr(getattr(exercise, own), "__name__", "")
            wrongs += [by_name.format(name, called)] if called in names else []
            wrongs += [] if kind is Facts else [f"{name} = {variable}.{own}"]
    tolerances = {kind: getattr(exercise, kind, None) for kind in ("rtol", "atol")}
    return {
        "results": _result_names(exercise.parts()),
        **call,
        **{kind: value for kind, value in tolerances.items() if value is not None},
        "cases": [{} for _ in range(cases)],
        "weights": _weights(exercise, cases),
        "wrong": [source for source in wrongs if source],
    }


def _weights(exercise: Question, cases: int) -> list[float]:
    """The points of each result, the same in each case; empty if none are declared.

    An optimizer's cases are its parts, so each counts as often as there are cases.
    """
    if exercise.points == 1.0:
        return []
    parts = list(exercise.parts_with_points().values())
    return [cases * p for p in parts] if isinstance(exercise, Updates) else parts * cases


def _call_of(exercise: Question, names: Names) -> Declaration | None:
    """The call that grades an exercise of this kind, and how the result is compared."""
    name = exercise.name
    if isinstance(exercise, Differentiable):
        inputs = ", ".join(f"{n!r}: {n}" for n in exercise.inputs)
        call = f"differentiated({name}, {{{inputs}}}, {list(exercise.constants)!r}, g)"
        return {"call": call, "engine": True, "helpers": DIFFERENTIATED}
    if isinstance(exercise, FunctionQuestion):
        return _call_of_function(exercise, names)
    if isinstance(exercise, Facts | Edges | Adjoints):
        parts = list(exercise.parts())
        call = f"entries({name}, {parts!r})" + "[0]" * (len(parts) == 1)
        kinds = {Facts: "exact", Edges: "unordered", Adjoints: "array"}
        compare = next(v for k, v in kinds.items() if isinstance(exercise, k))
        # alone: a given function could reveal the answer, or be differentiated numerically
        return {"call": call, "compare": compare, "alone": True, "helpers": ENTRIES}
    if isinstance(exercise, Order):
        edges = exercise.edges()
        nodes = ["z", *sorted(exercise.behind("z"))]
        pairs = [[z, x] for z, xs in edges.items() if z in nodes for x in xs]
        order = {"nodes": nodes, "edges": pairs}
        return {"call": name, "compare": "order", "order": order, "alone": True}
    if isinstance(exercise, Updates):
        call = f"[steps_of_{exercise.wanted}({name}, p, grads, settings)][0]"
        engine = exercise.wanted == "class"
        return {"results": ["steps"], "call": call, "helpers": STEPS, "engine": engine}
    return None


def _call_of_function(exercise: FunctionQuestion, names: Names) -> Declaration | None:
    """The call for a function; None if its result or arguments cannot be encoded."""
    first = next(iter(exercise.cases()))
    given = exercise.given(first)
    if getattr(exercise, "accepts", None) is not None:
        return None
    if not all(_can_be_encoded(value, names) for value in given.values()):
        return None
    declaration: Declaration = {"call": f"{exercise.name}({', '.join(given)})", "compare": "exact"}
    if isinstance(exercise, Exercise) and not isinstance(exercise, Tangents):
        if len(exercise.parts()) == 1:  # as in the notebook, return (dx,) is return dx
            declaration |= {"call": f"only({declaration['call']})", "helpers": ONLY}
    if any(map(callable, given.values())):
        declaration["engine"] = True  # the given functions may take tensors
    if all(isinstance(v, np.ndarray | np.number | float | int) for v in first.expected):
        # rounding error is measured for each case; see teach/cases.py
        declaration.update(compare="array", rtol=1e-12, atol=1e-13)
    return declaration


def start_and_gradients(
    exercise: Updates, seed: str, n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The initial parameters and the gradients for the n-th settings of an optimizer exercise."""
    key = f"{seed}/{exercise.name}/{n}"
    grads = [draw(f"{key}/g{k}", exercise.shape) for k in range(exercise.steps)]
    return draw(f"{key}/p", exercise.shape), np.array(grads)


def _cases(exercise: object, seed: str) -> list[DrawnCase]:
    if isinstance(exercise, Updates):
        steps = []
        for n, settings in enumerate(exercise.settings, 1):
            p, grads = start_and_gradients(exercise, seed, n)
            plain = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
            steps.append(_case({"p": p, "grads": grads, "settings": plain}))
        return steps
    if not isinstance(exercise, FunctionQuestion):
        return [_case({})]
    cases = []
    for case in exercise.cases(seed):
        differentiated = isinstance(exercise, Differentiable)
        given = {**case.inputs, "g": case.g} if differentiated else exercise.given(case)
        cases.append(_case(given, [float(a) for a in case.atol]))
    return cases


def _case(inputs: Mapping[str, object], atol: Sequence[float] = ()) -> DrawnCase:
    return {"inputs": {name: encoded(v) for name, v in inputs.items()}, "atol": list(atol)}


def _result_names(parts: Sequence[str]) -> list[str]:
    """Convert part names to result names that are valid in ids."""
    names: list[str] = []
    for k, part in enumerate(parts, 1):
        plain = re.sub(r"[^\w.\-]+", "-", part).strip("-")
        names.append(plain if plain and plain not in names else f"part-{k}")
    return names


def _can_be_encoded(value: object, names: Names) -> bool:
    """Can the value be written as a literal in a cell?"""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiub"
    if callable(value):
        return names.get(getattr(value, "__name__", "")) is value
    with suppress(*syntax.NO_PROGRAM):
        return bool(ast.literal_eval(repr(value)) == value)
    return False


def _wrong_source(wrong: Wrong, name: str, sources: list[str]) -> str | None:
    """The answer cell of a student who gives this wrong answer; None if its source is unknown.

    sources    the author's cells, which provide the definitions that the answer uses: the cell runs without
               the check and the hidden tests
    """
    answer = wrong.answer
    if not callable(answer):
        return f"import numpy as np\n{name} = {answer!r}"
    own = _definition(answer, sources)
    if own is None:
        return None
    statements = [s for source in sources for s in syntax.statements_of(source)]
    for statement in (own, *statements):
        if isinstance(statement, Definition):
            # drop @exercise.wrong, so that running the cell does not register the answer again
            statement.decorator_list = [d for d in statement.decorator_list if not _registers(d)]
    others = [(s, syntax.names_bound(s)) for s in statements if getattr(s, "name", "") != own.name]
    used = syntax.needed_statements(syntax.names_read(own), others)
    cell = [ast.unparse(each) for each in (*used, own)]
    return "\n\n".join(["import numpy as np", *cell, f"{name} = {own.name}"])


def _definition(answer: object, sources: list[str]) -> Definition | None:
    """Find the definition of a function or class in its source."""
    wanted = getattr(answer, "__name__", "")
    with suppress(OSError, TypeError):  # inspect cannot find a class that was defined in a cell
        sources = [textwrap.dedent(inspect.getsource(answer))]  # type: ignore[arg-type]
    statements = [s for source in sources for s in syntax.statements_of(source)]
    found = [s for s in statements if isinstance(s, Definition) and s.name == wanted]
    return found[-1] if found else None


def _registers(decorator: ast.expr) -> bool:
    """Is it  @exercise.wrong(kind)?"""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr == "wrong"
