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
student code cannot change them, and the source of in_kernel.py, which runs in a namespace of its own.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

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
    """The source of the cell that evaluates the call on each case and publishes the results."""
    spec = {
        "id": question.id,
        "call": question.call,
        "helpers": question.helpers,
        "results": list(question.results),
        "cases": [case["inputs"] for case in drawn[question.id]],
        "kept": question.exercise is not None,  # an exercise requires unchanged inputs
    }
    made = f"__minigrad = {{}}\nexec({_source()!r}, __minigrad)"
    return f'{made}\n__minigrad["publish_results"]({spec!r}, {MIME!r}, globals())\ndel __minigrad'


@cache
def _source() -> str:
    return Path(__file__).with_name("in_kernel.py").read_text(encoding="utf-8")
