"""Which mistake gives a wrong answer, told by the exercise that asked for it.

An exercise of minigrad.teach explains an answer while it checks it. Here there is no answer that
could be run, only what it gave for inputs that were drawn; so each kind of exercise is handed those
values. Runs in the process of trusted.py, on the author's own objects.

    explained    for each set of wrong answers, the mistakes that were found, each once
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from minigrad.grading.answers import array_of
from minigrad.grading.documents import DiagnosisText, EncodedValue, WrongAnswers
from minigrad.grading.release.exercises import start_and_gradients
from minigrad.teach.ask_facts import Facts
from minigrad.teach.ask_optimizers import Updates
from minigrad.teach.ask_structure import Adjoints, Edges, Order
from minigrad.teach.trying import FunctionQuestion, Mistaken
from minigrad.teach.updates import compare_update

MOST = 3  # mistakes that are told of one question


def explained(names: Mapping[str, Any], asked: list[WrongAnswers]) -> list[list[DiagnosisText]]:
    """For each question that a submission has wrong: the mistakes in it."""
    return [_explained(names.get(each["exercise"]), each) for each in asked]


def _explained(exercise: Any, asked: WrongAnswers) -> list[DiagnosisText]:
    told: list[DiagnosisText] = []
    try:
        for found in _found(exercise, asked):
            one: DiagnosisText = {"kind": found.kind, "message": found.message, "hint": found.hint}
            if one not in told:
                told.append(one)
    except Exception:  # a diagnosis is a kindness; a grade does not depend on it
        pass
    return told[:MOST]


def _found(exercise: Any, asked: WrongAnswers) -> Iterator[Any]:
    said = asked["said"]
    if isinstance(exercise, FunctionQuestion):
        yield from _of_function(exercise, asked)
    elif isinstance(exercise, Updates):
        yield from _of_updates(exercise, asked)
    elif isinstance(exercise, Order):
        yield from _of_rows(exercise, _value(said[0][0]))
    elif isinstance(exercise, Edges | Adjoints):
        yield from _of_rows(exercise, dict(zip(exercise.parts(), map(_value, said[0]))))
    elif isinstance(exercise, Facts):
        facts = exercise.facts()
        mine = {name: _like(_value(a), facts[name]) for name, a in zip(facts, said[0])}
        yield from _of_rows(exercise, mine)


def _of_rows(exercise: Any, answer: Any) -> Iterator[Any]:
    """What is predicted is data, and can be checked as it is."""
    for row in exercise.rows(answer):
        if row.diagnosis is not None:
            yield row.diagnosis


def _of_function(exercise: Any, asked: WrongAnswers) -> Iterator[Any]:
    wrong: dict[str, list[Any]] = {}
    parts = list(exercise.parts())
    at: dict[int, list[int]] = {}
    for n, k in asked["wrong"]:
        at.setdefault(n, []).append(k)
    for n, case in enumerate(exercise.cases(asked["seed"])):
        for k in at.get(n, ()):
            mine = _value(asked["said"][n][k])
            if mine is not ...:
                mistaken = Mistaken(case, k, _like(mine, case.expected[k]))
                wrong.setdefault(parts[k], []).append(mistaken)
    exercise._wrong_values = set()  # of a function that is differentiated; see ask_functions.py
    for part in [p for p in parts if p in wrong]:
        found = exercise.explain(part, wrong[part])
        if found is not None:
            yield found


def _of_updates(exercise: Any, asked: WrongAnswers) -> Iterator[Any]:
    for n, _ in asked["wrong"]:
        yours = _value(asked["said"][n][0])
        p, grads = start_and_gradients(exercise, asked["seed"], n + 1)
        if np.shape(yours) == grads.shape:
            report = compare_update(
                exercise.optimizer,
                exercise.settings[n],
                params=p,
                grads=list(grads),
                yours=list(yours),
            )
            if report.diagnosis is not None:
                yield report.diagnosis


def _value(answer: EncodedValue) -> Any:
    """What was answered; dots if nothing was."""
    if "data" in answer:
        return array_of(answer)
    return answer.get("json", ...)


def _like(mine: Any, right: Any) -> Any:
    """What has gone through JSON, in the types of the right answer where it fits."""
    if isinstance(mine, np.ndarray) and not isinstance(right, np.ndarray | float | np.generic):
        mine = mine.tolist()
    if isinstance(mine, list) and not isinstance(right, list | np.ndarray):
        return tuple(mine)
    if isinstance(right, dict) and isinstance(mine, dict):
        names = {str(key): key for key in right}
        return {
            names.get(k, k): _like(v, right[names[k]]) if k in names else v for k, v in mine.items()
        }
    return mine
