"""The inputs of a question, drawn fresh for each grading run, and the cell that calls the answer on them.

    {"shape": [2, 3]}                           standard normal
    {"shape": [4], "scale": 100, "shift": 1}    normal, standard deviation 100, mean 1
    {"shape": [3], "draw": "uniform", "low": 0.5, "high": 2}
    {"shape": [5], "draw": "integers", "low": 0, "high": 3}      0, 1 and 2
    {"shape": [3], "draw": "choice", "of": [-1, 0, 1]}
    {"value": [1, 2]}                           a fixed JSON value

The random generator of an input is seeded with a hash of the seed, the question, the case and the
input's name. So the order of drawing does not matter, and adding a case changes no other case.

For a question that follows from an Exercise, the Exercise draws the inputs itself, in a separate
process (exercises.py) that ends before any student's code runs.

    draw_inputs    the inputs of all questions for a seed
    check_cell     the source of a question's check cell

The check cell runs in the student's kernel and in the solution's. It holds the inputs as literals, so that
student code cannot change them, and the source of three functions below. Therefore each of these imports
what it needs, and annotations that need an import are strings. Cases are independent: an exception becomes
the error of its case. The call gets copies of the inputs, which are published after the call, so that
in-place changes are detected.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from inspect import getsource
from typing import Any

import numpy as np

from minigrad.grading.answers import encoded
from minigrad.grading.documents import Declaration, Drawn, DrawnCase, EncodedValue
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.trusted import ask

MIME = "application/vnd.minigrad.answer+json"


def draw_input(spec: Declaration, key: str) -> object:
    """Draw one input. The same spec and key always give the same numbers.

    >>> draw_input({"shape": [2], "draw": "choice", "of": [7]}, "seed/question/1/x")
    array([7., 7.])
    """
    if "value" in spec:
        return spec["value"]
    digest = hashlib.sha256(key.encode()).digest()
    numbers = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
    shape = tuple(spec["shape"])
    kind = spec.get("draw", "normal")
    low, high = spec.get("low", 0.0), spec.get("high", 1.0)
    if kind == "normal":
        drawn = numbers.normal(size=shape) * spec.get("scale", 1.0) + spec.get("shift", 0.0)
    elif kind == "uniform":
        drawn = numbers.uniform(low, high, shape)
    elif kind == "integers":
        return np.asarray(numbers.integers(int(low), int(high), shape), spec.get("dtype", "int64"))
    elif kind == "choice":
        drawn = np.asarray(spec["of"], float)[numbers.integers(0, len(spec["of"]), shape)]
    else:
        raise ValueError(f"draw is {kind!r}; it may be normal, uniform, integers or choice")
    return np.asarray(np.round(drawn, 9), spec.get("dtype", "float64"))


def draw_inputs(questions: Sequence[GradedQuestion], sources: dict[str, str], seed: str) -> Drawn:
    """Draw the cases of each question: encoded inputs, and tolerances for rounding error.

    questions   the questions of one exercise
    sources     sources of the given cells by id; they are run if an Exercise draws the inputs
    """
    drawn: Drawn = {}
    by_exercise = [q for q in questions if q.exercise]
    if by_exercise:
        wanted = {cell for q in by_exercise for cell in (*q.given, *q.checks)}
        given = tuple(source for cell, source in sources.items() if cell in wanted)
        names = tuple(q.exercise for q in by_exercise)
        drawn |= zip((q.id for q in by_exercise), _of_exercises(given, names, seed))
    for question in questions:
        if not question.exercise:
            drawn[question.id] = [
                {"inputs": _encoded_inputs(case, f"{seed}/{question.id}/{n}"), "atol": []}
                for n, case in enumerate(question.cases, 1)
            ]
    return drawn


def _encoded_inputs(case: dict[str, Declaration], key: str) -> dict[str, EncodedValue]:
    return {name: encoded(draw_input(spec, f"{key}/{name}")) for name, spec in case.items()}


@cache
def _of_exercises(
    given: tuple[str, ...], names: tuple[str | None, ...], seed: str
) -> list[list[DrawnCase]]:
    drawn: list[list[DrawnCase]] = ask([*given], "drawn_cases", [(name, seed) for name in names])
    return drawn


def check_cell(question: GradedQuestion, drawn: Drawn) -> str:
    """The source of the cell that evaluates the call on each case and publishes the results.

    It deletes the helper functions when it is done.
    """
    asked = {
        "id": question.id,
        "call": question.call,
        "helpers": question.helpers,
        "results": list(question.results),
        "cases": [case["inputs"] for case in drawn[question.id]],
        "kept": question.exercise is not None,  # an exercise requires unchanged inputs
    }
    functions = (__minigrad_decoder, __minigrad_encoder, __minigrad_check)
    made = "__minigrad_decoder(), __minigrad_encoder()"
    call = f"__minigrad_check({asked!r}, {MIME!r}, {made})"
    forget = f"del {', '.join(function.__name__ for function in functions)}"
    sources = [getsource(function) for function in functions]
    return "\n\n".join([*sources, f"{call}\n{forget}"])


def __minigrad_decoder() -> "Callable[[dict[str, Any]], object]":
    """Return the function that decodes a value from JSON."""
    import ast
    import base64

    import numpy

    def decoded(value: "dict[str, Any]") -> object:
        if "json" in value:
            return value["json"]
        if "literal" in value:
            return ast.literal_eval(value["literal"])
        if "name" in value:
            return globals()[value["name"]]
        raw = numpy.frombuffer(base64.b64decode(value["data"]), value["dtype"])
        return raw.reshape(value["shape"]).copy()

    return decoded


def __minigrad_encoder() -> "Callable[[Any], dict[str, object]]":
    """Return the function that encodes a value as JSON."""
    import base64

    import numpy

    def plain(value: object, depth: int = 0) -> object:
        if depth > 6:
            raise TypeError("it is nested too deeply")
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, dict):
            return {str(k): plain(v, depth + 1) for k, v in value.items()}
        if isinstance(value, (set, frozenset)):
            return sorted((plain(v, depth + 1) for v in value), key=repr)
        if isinstance(value, (list, tuple)):
            return [plain(v, depth + 1) for v in value]
        if hasattr(value, "tolist"):
            return plain(value.tolist(), depth + 1)
        raise TypeError("an object of type " + type(value).__name__)

    def encoded(value: "Any") -> dict[str, object]:
        if hasattr(value, "detach"):
            value = value.detach().numpy()
        if value is None:
            return {"json": None}
        if value is ...:
            return {"error": "not written yet"}
        try:
            array = numpy.asarray(value)
            if array.dtype.kind in "fiub":
                if array.size > 20000:
                    return {"error": f"an array of {array.size} numbers"}
                here = array.dtype.newbyteorder("<") if array.dtype.itemsize <= 8 else "<f8"
                array = numpy.ascontiguousarray(array, here).reshape(array.shape)
                data = base64.b64encode(array.tobytes()).decode()
                return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}
        except ValueError:
            pass
        return {"json": plain(value)}

    return encoded


def __minigrad_check(asked: "dict[str, Any]", mime: str, decoded: "Any", encoded: "Any") -> None:
    """Evaluate the call on each case, and publish the results."""
    import traceback

    import numpy
    from IPython.display import display

    def publish(what: str, content: "dict[str, object]") -> None:
        display({mime: {"id": f"{asked['id']}/{what}", **content}}, raw=True)

    helpers: dict[str, Any] = {}
    exec(asked["helpers"], helpers)
    for number, case in enumerate(asked["cases"], 1):
        inputs = {name: decoded(value) for name, value in case.items()}
        before = {n: repr(v) for n, v in inputs.items() if isinstance(v, (list, dict))}
        results = asked["results"]
        error = None
        try:
            value = eval(asked["call"], {**globals(), **helpers, **inputs})
            values = [value] if len(results) == 1 else value
            fits = isinstance(value, (tuple, list)) and len(value) == len(results)
            if len(results) > 1 and not fits:
                names = ", ".join(results)
                error = f"the value is not a tuple of {names}"
            for name in before if asked["kept"] else ():
                if repr(inputs[name]) != before[name]:
                    error = f"{name} was changed in place; compute with a copy instead"
        except BaseException as caught:
            # its frames may hold nearly all memory, and reporting the error needs some
            traceback.clear_frames(caught.__traceback__)
            error = f"{type(caught).__name__}: {str(caught)[:300]}".rstrip(": ")
            if error == "NotImplementedError":
                error = "not written yet: NotImplementedError"
        for k, result in enumerate(results):
            content: dict[str, object] = {"error": error}
            if error is None:
                try:
                    content = encoded(values[k])
                except BaseException as caught:
                    content = {"error": f"not a result that can be read: {str(caught)[:200]}"}
            publish(f"{number}/{result}", content)
        arrays = {n: v for n, v in inputs.items() if isinstance(v, numpy.ndarray)}
        for name, value in arrays.items():
            publish(f"{number}/input {name}", encoded(value))
