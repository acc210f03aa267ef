"""The inputs of a question, drawn fresh for each grading run.

    {"shape": [2, 3]}                           normal numbers
    {"shape": [4], "scale": 100, "shift": 1}    normal, times 100, plus 1
    {"shape": [3], "draw": "uniform", "low": 0.5, "high": 2}
    {"shape": [5], "draw": "integers", "low": 0, "high": 3}      0, 1 and 2
    {"shape": [3], "draw": "choice", "of": [-1, 0, 1]}
    {"value": [1, 2]}                           as it is, JSON

Each input is drawn from a hash of the seed, the question, the case and its own name. So it does
not depend on the order in which things are drawn, and adding a case changes no other.

What an Exercise asks is drawn by the Exercise itself, in a process of its own (exercises.py): it
ends before any student's code runs, and gives back inputs only.

The inputs are written into the check cell as literals, so that they depend on nothing that a
student's code could change.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.grading.answers import encoded
from minigrad.grading.documents import Drawn
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.release.trusted import ask

Array = NDArray[Any]


def draw_input(spec: dict[str, Any], key: str) -> Any:
    """One input. The same spec and key give the same numbers, always.

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
        drawn: Array = numbers.normal(size=shape) * spec.get("scale", 1.0) + spec.get("shift", 0.0)
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
    """For each question its cases: the inputs, encoded, and the errors that are allowed.

    questions   of one exercise
    sources     the given cells by id, which are run for questions that an Exercise draws
    """
    by_exercise = [[q.id, q.exercise] for q in questions if q.exercise]
    drawn: Drawn = {}
    if by_exercise:
        wanted = {cell for q in questions if q.exercise for cell in (*q.given, *q.checks)}
        given = [source for cell, source in sources.items() if cell in wanted]
        drawn.update(_of_exercises(json.dumps([given, by_exercise]), seed))
    for question in questions:
        if not question.exercise:
            drawn[question.id] = [
                {
                    "inputs": {
                        name: encoded(draw_input(spec, f"{seed}/{question.id}/{n}/{name}"))
                        for name, spec in case.items()
                    },
                    "atol": [],
                }
                for n, case in enumerate(question.cases, 1)
            ]
    return drawn


@cache
def _of_exercises(document: str, seed: str) -> Drawn:
    given, asked = json.loads(document)
    told = ask(given, "drawn_cases", [(name, seed) for _, name in asked])
    return {identity: cases for (identity, _), cases in zip(asked, told)}


def check_cell(question: GradedQuestion, drawn: Drawn) -> str:
    """The source of the cell that evaluates the call on each case and publishes the results."""
    asked = {
        "id": question.id,
        "call": question.call,
        "helpers": question.helpers,
        "results": list(question.results),
        "cases": [case["inputs"] for case in drawn[question.id]],
        "kept": question.exercise is not None,  # an exercise's inputs are to stay as they are
    }
    return f"{CELL}\n\n__minigrad_check({asked!r})\ndel __minigrad_check"


MIME = "application/vnd.minigrad.answer+json"

# Runs in the student's kernel, and in the solution's. Every case is on its own: what fails in one
# is told as the error of that case. The call gets copies, and what has become of them is
# published too, so that an input that was changed in place is seen.
CELL = f"""\
def __minigrad_check(asked):
    import ast
    import base64
    import traceback
    import numpy
    from IPython.display import display

    def publish(what, content):
        display({{{MIME!r}: {{"id": asked["id"] + "/" + what, **content}}}}, raw=True)

    def decoded(value):
        if "json" in value:
            return value["json"]
        if "literal" in value:
            return ast.literal_eval(value["literal"])
        if "name" in value:
            return globals()[value["name"]]
        raw = numpy.frombuffer(base64.b64decode(value["data"]), value["dtype"])
        return raw.reshape(value["shape"]).copy()

    def plain(value, depth=0):
        if depth > 6:
            raise TypeError("it is nested too deeply")
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, dict):
            return {{str(k): plain(v, depth + 1) for k, v in value.items()}}
        if isinstance(value, (set, frozenset)):
            return sorted((plain(v, depth + 1) for v in value), key=repr)
        if isinstance(value, (list, tuple)):
            return [plain(v, depth + 1) for v in value]
        if hasattr(value, "tolist"):
            return plain(value.tolist(), depth + 1)
        raise TypeError("an object of type " + type(value).__name__)

    def encoded(value):
        if hasattr(value, "detach"):
            value = value.detach().numpy()
        if value is None:
            return {{"json": None}}
        if value is ...:
            return {{"error": "not written yet"}}
        try:
            array = numpy.asarray(value)
            if array.dtype.kind in "fiub" and array.dtype.itemsize <= 8:
                if array.size > 20000:
                    return {{"error": "an array of %d numbers" % array.size}}
                array = numpy.ascontiguousarray(array).reshape(array.shape)
                data = base64.b64encode(array.tobytes()).decode()
                return {{"dtype": array.dtype.str, "shape": list(array.shape), "data": data}}
        except ValueError:
            pass
        return {{"json": plain(value)}}

    helpers = {{}}
    exec(asked["helpers"], helpers)
    for number, case in enumerate(asked["cases"], 1):
        inputs = {{name: decoded(value) for name, value in case.items()}}
        before = {{n: repr(v) for n, v in inputs.items() if isinstance(v, (list, dict))}}
        results = asked["results"]
        error = None
        try:
            value = eval(asked["call"], {{**globals(), **helpers, **inputs}})
            values = [value] if len(results) == 1 else value
            if len(results) > 1 and not (
                isinstance(value, (tuple, list)) and len(value) == len(results)
            ):
                error = "%d results are asked for, %s; this is not a tuple of that length" % (
                    len(results), ", ".join(results))
            for name in before if asked["kept"] else ():
                if repr(inputs[name]) != before[name]:
                    error = name + " was changed in place; compute with a copy instead"
        except BaseException as caught:
            # what its frames hold may be all of the memory, and telling of it needs some
            traceback.clear_frames(caught.__traceback__)
            error = (type(caught).__name__ + ": " + str(caught)[:300]).rstrip(": ")
            if error == "NotImplementedError":
                error = "not written yet: NotImplementedError"
        for k, result in enumerate(results):
            if error is not None:
                content = {{"error": error}}
            else:
                try:
                    content = encoded(values[k])
                except BaseException as caught:
                    content = {{"error": "not a result that can be read: " + str(caught)[:200]}}
            publish("%d/%s" % (number, result), content)
        arrays = {{n: v for n, v in inputs.items() if isinstance(v, numpy.ndarray)}}
        for name, value in arrays.items():
            publish("%d/input %s" % (number, name), encoded(value))"""
