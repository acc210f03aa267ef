"""The mistakes behind wrong answers to exercises of minigrad.teach.

In a notebook, an exercise diagnoses an answer by running it. Here only the recorded values are
available, so each kind of exercise diagnoses those. author_process.py calls `explained`.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

import numpy as np

from minigrad.grading.answers import array_in
from minigrad.grading.documents import DiagnosisText, EncodedValue, WrongAnswers
from minigrad.grading.release.exercises import start_and_gradients
from minigrad.teach.answer import Diagnosis
from minigrad.teach.ask_facts import Facts
from minigrad.teach.ask_functions import Differentiable
from minigrad.teach.ask_optimizers import Updates
from minigrad.teach.ask_structure import Order
from minigrad.teach.question import Written
from minigrad.teach.trying import FunctionQuestion, Mistaken
from minigrad.teach.updates import compare_update

MAX_MISTAKES = 3  # mistakes reported for one question
SECONDS = 200.0  # for all diagnoses of a class; the process that asks waits longer (trusted.py)


def explained(names: Mapping[str, object], sets: list[WrongAnswers]) -> list[list[DiagnosisText]]:
    """For each set of wrong answers, find the mistakes in it; if the time is up, there are none in the others."""
    ends = time.monotonic() + SECONDS
    return [
        _explained(names.get(each["exercise"]), each) if time.monotonic() < ends else []
        for each in sets
    ]


def _explained(exercise: object, submitted: WrongAnswers) -> list[DiagnosisText]:
    mistakes: list[DiagnosisText] = []
    with suppress(Exception):  # a failed diagnosis must not affect the grade
        for found in _diagnoses(exercise, submitted):
            if found is not None:
                mistakes.append({"kind": found.kind, "message": found.message, "hint": found.hint})
    return [m for k, m in enumerate(mistakes) if m not in mistakes[:k]][:MAX_MISTAKES]


def _diagnoses(exercise: object, submitted: WrongAnswers) -> Iterator[Diagnosis | None]:
    if isinstance(exercise, FunctionQuestion):
        yield from _of_function(exercise, submitted)
    elif isinstance(exercise, Updates):
        yield from _of_updates(exercise, submitted)
    elif isinstance(exercise, Written):  # predictions are data and can be checked directly
        rows = exercise.rows(_prediction(exercise, [_value(a) for a in submitted["answers"][0]]))
        yield from (row.diagnosis for row in rows)


def _prediction(exercise: Written, values: list[object]) -> object:
    """Convert recorded values back to the form in which a student writes a prediction."""
    if isinstance(exercise, Order):
        return values[0]
    if isinstance(exercise, Facts):
        facts = exercise.facts()
        return {name: _with_types_of(value, facts[name]) for name, value in zip(facts, values)}
    return dict(zip(exercise.parts(), values))


def _of_function(exercise: FunctionQuestion, submitted: WrongAnswers) -> Iterator[Diagnosis | None]:
    wrong: dict[str, list[Mistaken]] = {}
    parts, cases = list(exercise.parts()), list(exercise.cases(submitted["seed"]))
    for n, k in submitted["wrong"]:
        mine = _value(submitted["answers"][n][k])
        if mine is not ...:
            mistaken = Mistaken(cases[n], k, _with_types_of(mine, cases[n].expected[k]))
            wrong.setdefault(parts[k], []).append(mistaken)
    if isinstance(exercise, Differentiable):
        exercise._wrong_values = set()  # needed by `explained`; see ask_functions.py
    found = exercise.explained({part: wrong[part] for part in parts if part in wrong})
    yield from found.values()


def _of_updates(exercise: Updates, submitted: WrongAnswers) -> Iterator[Diagnosis | None]:
    for n, _ in submitted["wrong"]:
        yours = _value(submitted["answers"][n][0])
        p, grads = start_and_gradients(exercise, submitted["seed"], n + 1)
        if isinstance(yours, np.ndarray) and yours.shape == grads.shape:
            optimizer, settings = exercise.optimizer, exercise.settings[n]
            yield compare_update(
                optimizer, settings, params=p, grads=list(grads), yours=list(yours)
            ).diagnosis


def _value(answer: EncodedValue) -> object:
    """Decode an answer; `...` if there is none."""
    if "data" in answer:
        return array_in(answer)
    return answer.get("json", ...)


def _with_types_of(mine: object, right: object) -> object:
    """Restore the types that JSON has lost, taking the right answer as the model."""
    if isinstance(mine, np.ndarray) and not isinstance(right, np.ndarray | float | np.generic):
        mine = mine.tolist()
    if isinstance(mine, list) and not isinstance(right, list | np.ndarray):
        return tuple(mine)
    if isinstance(right, dict) and isinstance(mine, dict):
        names = {str(key): key for key in right}
        return {
            names.get(k, k): _with_types_of(v, right[names[k]]) if k in names else v
            for k, v in mine.items()
        }
    return mine
