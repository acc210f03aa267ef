"""Compare a student's result with the solution's.

    array       same shape, equal within rtol and atol, integers within atol; NaN exactly where the solution has it
    exact       the same JSON; floats are compared within the tolerance
    unordered   the same elements as for exact, in any order
    order       any topological order of the graph that the question gives as
                {"nodes": [...], "edges": [[first, later], ...]}

A reason says what is wrong and where, but never the right value: inputs are hidden, and the
feedback must not reveal the solution.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from minigrad.grading.answers import array_in
from minigrad.grading.documents import Answers, DrawnCase, EncodedValue
from minigrad.grading.release.questions import GradedQuestion, NodeOrder

MAX_UNEQUAL = 500  # entries of a list in any order that are compared one by one


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and if not, the reason."""

    ok: bool
    reason: str = ""


Verdicts = dict[str, Verdict]  # answer id -> verdict


def compare_answer(
    question: GradedQuestion, mine: EncodedValue | None, right: EncodedValue, atol: float = 0.0
) -> Verdict:
    """Compare one answer with the solution's. `atol` is the tolerance for rounding error."""
    if mine is None:
        return Verdict(False, "no answer")
    if "error" in mine:
        return Verdict(False, str(mine["error"]))
    if mine == {"json": None} != right:
        return Verdict(False, "None instead of an answer: does the function end with a return?")
    try:
        if question.compare == "array" and "data" in right:
            reason = _array(question, mine, right, max(atol, question.atol))
        else:
            reason = _plain(question, _json(mine), _json(right))
    except Exception as error:
        # a student's value that breaks the comparison must not end the run
        reason = f"the answer cannot be used: {error}"
    return Verdict(not reason, reason)


def judge_question(
    question: GradedQuestion, mine: Answers, right: Answers, cases: Sequence[DrawnCase]
) -> Verdicts:
    """Judge all answers to a question.

    If an input is not as the solution leaves it, its whole case is wrong.
    """
    verdicts = {}
    for n, case in enumerate(cases, 1):
        changed = ""
        for identity, kept in right.items():
            if identity.startswith(f"{question.id}/{n}/input "):
                name = identity.rpartition(" ")[2]
                drawn = case["inputs"][name]
                changed = changed or _input_fault(question, name, mine.get(identity), kept, drawn)
        for result, atol in zip(question.results, _tolerances(question, case)):
            identity = f"{question.id}/{n}/{result}"
            verdict = compare_answer(question, mine.get(identity), right[identity], atol)
            answered = "error" not in mine.get(identity, {"error": ""})
            verdicts[identity] = Verdict(False, changed) if changed and answered else verdict
    return {**verdicts, **_without_trivial_credit(question, right, cases, verdicts)}


def _input_fault(
    question: GradedQuestion,
    name: str,
    mine: EncodedValue | None,
    right: EncodedValue,
    drawn: EncodedValue,
) -> str:
    """What is wrong with an input after the call, compared with what the solution leaves; "" if nothing."""
    if mine == right:
        return ""
    if right == drawn:
        return f"{name} was changed in place; compute with a new array instead"
    if mine == drawn:
        return f"{name} was not changed in place; write into it, as in  {name}[...] = ..."
    verdict = compare_answer(question, mine, right)
    return "" if verdict.ok else f"{name} was changed in place, but to a {verdict.reason}"


def _tolerances(question: GradedQuestion, case: DrawnCase) -> list[float]:
    """For each result, the tolerance for rounding error in this case."""
    return case["atol"] or [0.0] * len(question.results)


UNWRITTEN = "not written yet"  # the error of an untouched answer begins with this
NO_CREDIT = "right, but so would zeros be: it counts only if another case is right"


def _without_trivial_credit(
    question: GradedQuestion, right: Answers, cases: Sequence[DrawnCase], verdicts: Verdicts
) -> Verdicts:
    """Withhold credit where the right result is empty or zero, so that a trivial answer would be right.

    Such a case counts only if another case of the same result is right, too.
    """
    changed: Verdicts = {}
    if question.compare != "array":
        return changed
    for k, result in enumerate(question.results):
        allowed = {
            f"{question.id}/{n}/{result}": max(_tolerances(question, case)[k], question.atol)
            for n, case in enumerate(cases, 1)
        }
        arrays = {i: array_in(right[i]).astype(float) for i in allowed if "data" in right[i]}
        easy = [i for i, a in arrays.items() if np.all(np.abs(a) <= allowed[i])]
        if len(easy) < len(allowed) and not any(verdicts[i].ok for i in allowed if i not in easy):
            changed |= {i: Verdict(False, NO_CREDIT) for i in easy if verdicts[i].ok}
    return changed


# Each function below returns the reason why an answer is wrong, or "" if it is right.


def _array(question: GradedQuestion, mine: EncodedValue, right: EncodedValue, atol: float) -> str:
    if "data" not in mine:
        return "not an array of real numbers"
    a, b = array_in(mine), array_in(right)
    if a.shape != b.shape:
        return f"shape {a.shape} instead of {b.shape}"
    if a.dtype.kind == "b" and b.dtype.kind != "b":
        return f"an array of {a.dtype} instead of {b.dtype}"
    single = a.dtype.kind == "f" and a.dtype.itemsize < b.dtype.itemsize
    integers = a.dtype.kind in "biu" and b.dtype.kind in "biu"
    equal = a == b
    a, b = a.astype(np.float64), b.astype(np.float64)
    if (undefined := np.isnan(a) & ~np.isnan(b)).any():
        return f"NaN entries: {int(undefined.sum())} of {a.size}"
    if integers and atol < 1:
        near = equal  # float64 cannot tell large integers apart
    else:
        near = np.isclose(a, b, rtol=0 if integers else question.rtol, atol=atol, equal_nan=True)
    if near.all():
        return ""
    first = ", ".join(str(int(i)) for i in np.argwhere(~near)[0])
    reason = f"wrong value: {int((~near).sum())} of {near.size}, the first at [{first}]"
    if not near.ndim:
        reason = "wrong value: a single number"
    if single and np.allclose(a, b, rtol=1e-5, atol=1e-6):
        reason += "; the numbers were computed with too few digits (compute in float64)"
    return reason


def _json(answer: EncodedValue) -> object:
    return cast(object, array_in(answer).tolist()) if "data" in answer else answer["json"]


def _plain(question: GradedQuestion, mine: object, right: object) -> str:
    if question.compare == "order":
        return _order(mine, question.order)
    if question.compare == "unordered":
        return _unordered(mine, right, question)
    for kind in (dict, list):
        if isinstance(right, kind) and not isinstance(mine, kind):
            return f"not a {kind.__name__}"
    return _fault(mine, right, question)


def _unordered(mine: object, right: object, question: GradedQuestion) -> str:
    if not isinstance(mine, list) or not isinstance(right, list):
        return "not a list"
    a, b = (Counter(json.dumps(e, sort_keys=True) for e in each) for each in (mine, right))
    extra, missing = ([json.loads(e) for e in c.elements()] for c in (a - b, b - a))
    if len(extra) == len(missing) <= MAX_UNEQUAL:  # they may still be equal within the tolerance
        for wanted in [*missing]:
            k = next(
                (k for k, entry in enumerate(extra) if not _fault(entry, wanted, question)), None
            )
            if k is not None:
                del extra[k]
                missing.pop()  # only the number of the others is reported
    if not missing and not extra:
        return ""
    return f"missing entries: {len(missing)}; extra entries: {len(extra)}"


def _fault(mine: object, right: object, question: GradedQuestion, place: str = "") -> str:
    """What the first difference is, and its place in the values, such as  ['order'][3]."""
    at = f", at {place}" if place else ""
    if isinstance(right, dict) and isinstance(mine, dict):
        missing, extra = len(right.keys() - mine.keys()), len(mine.keys() - right.keys())
        if missing or extra:
            return f"wrong value: keys missing: {missing}, extra keys: {extra}{at}"
        pairs = ((k, mine[k], right[k]) for k in right)
    elif isinstance(right, list) and isinstance(mine, list):
        if len(mine) != len(right):
            return f"wrong value: entries: {len(mine)} instead of {len(right)}{at}"
        pairs = ((k, *pair) for k, pair in enumerate(zip(mine, right)))
    elif _equal(mine, right, question):
        return ""
    else:
        return f"wrong value: at {place}" if place else "wrong value"
    faults = (_fault(mine, other, question, f"{place}[{k!r}]") for k, mine, other in pairs)
    return next(filter(None, faults), "")


def _equal(mine: object, right: object, question: GradedQuestion) -> bool:
    if isinstance(mine, bool) or isinstance(right, bool):
        return mine is right
    if isinstance(mine, int | float) and isinstance(right, int | float):
        return _near(mine, right, question)
    return type(mine) is type(right) and bool(mine == right)


def _near(mine: float, right: float, question: GradedQuestion) -> bool:
    """Compare numbers: integers, inf and NaN exactly, other floats within the tolerance."""
    if isinstance(mine, int) and isinstance(right, int):
        return mine == right
    rtol, atol = question.rtol, question.atol
    try:
        return bool(np.isclose(float(mine), float(right), rtol, atol, equal_nan=True))
    except OverflowError:  # an integer too large for a float
        return False


def _order(mine: object, right: NodeOrder | None) -> str:
    if not isinstance(mine, list) or right is None:
        return "not a list"
    places = {json.dumps(node): k for k, node in enumerate(mine)}
    wanted = {json.dumps(node) for node in right["nodes"]}
    if len(places) != len(mine):
        return "the order contains a node twice"
    if places.keys() != wanted:
        missing, extra = len(wanted - places.keys()), len(places.keys() - wanted)
        return f"missing nodes: {missing}; extra nodes: {extra}"
    early = sum(places[json.dumps(a)] > places[json.dumps(b)] for a, b in right["edges"])
    return f"nodes that come too early: {early}" if early else ""
