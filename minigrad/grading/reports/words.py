"""Explain wrong answers to students: what is wrong, and where.

No sentence contains a right value, or the student's result for a hidden input: see THREATS.md.

    wrong_parts    a sentence for each part that is wrong
"""

import re

from minigrad.grading.documents import QuestionGrade, ResultGrade
from minigrad.grading.judge.compare import UNWRITTEN

SILENT = "no answer"


def wrong_parts(question: QuestionGrade) -> list[str]:
    """A sentence for each wrong part, or the reason why there are no answers at all.

    >>> reason = "wrong value: 3 of 6, the first at [0, 1]"
    >>> wrong = {"id": "q/2/dx", "ok": False, "reason": reason}
    >>> results = [{"id": "q/1/dx", "ok": True, "reason": ""}, wrong]
    >>> wrong_parts({"reason": f"2/dx: {reason}", "results": results})
    ['dx: wrong in 1 of 2 cases. In case 2, 3 of 6 values differ, the first at [0, 1].']

    An answer that is not written yet is reported without a case:

    >>> results = [{"id": f"q/{n}/dx", "ok": False, "reason": "not written yet"} for n in (1, 2)]
    >>> wrong_parts({"reason": "1/dx: not written yet", "results": results})
    ['dx: not written yet.']
    >>> reason = "wrong value: at ['order'][1]"
    >>> wrong_parts({"reason": f"1/table: {reason}", "results": [{"id": "q/1/table", "ok": False, "reason": reason}]})
    ["table: the first wrong value is at ['order'][1]."]
    >>> wrong_parts({"reason": "the check did not finish in 10 s", "results": []})
    ['The check did not finish in 10 s.']
    """
    parts: dict[str, list[ResultGrade]] = {}
    for result in question["results"]:
        parts.setdefault(result["id"].split("/")[-1], []).append(result)
    reasons = {result["reason"] for result in question["results"]}
    whole = question["reason"] or ""
    alone = [_ended(whole[0].upper() + whole[1:])] if whole and _bare(whole) not in reasons else []
    # a cell that raised did not define its names; that they are missing goes without saying
    if all(r in ("", SILENT) or (alone and r.startswith("NameError")) for r in reasons):
        return alone
    if len(reasons) == 1 and len(parts) > 1:
        return [*alone, _ended(f"{', '.join(parts)}: {_plainer(*reasons)}")]
    sentences = (_sentence(name, results) for name, results in parts.items())
    return [*alone, *filter(None, sentences)]


def _bare(reason: str) -> str:
    """A question's reason without the result's name and the list of other wrong results."""
    return re.sub(rf"^\d+/[^:]+: |; (also wrong|{UNWRITTEN}): .*$", "", reason)


def _plainer(reason: str) -> str:
    """A result's reason in words for students."""
    reason = re.sub(r"^wrong value: (\d+ of \d+), ", r"\1 values differ, ", reason)
    reason = re.sub(r"^wrong value: (?=keys|entries)", "", reason)
    reason = re.sub(r"^wrong value: at ", "the first wrong value is at ", reason)
    return re.sub(r"^wrong value(: a single number)?$", "the value is wrong", reason)


def _sentence(name: str, results: list[ResultGrade]) -> str:
    """What is wrong with one part; "" if it is right."""
    wrong = [result for result in results if not result["ok"]]
    if not wrong:
        return ""
    reason = _plainer(wrong[0]["reason"])
    if len(results) == 1 or reason.startswith(UNWRITTEN):
        return _ended(f"{name}: {reason}")
    case = wrong[0]["id"].split("/")[-2]
    cases = f"{len(wrong)} of {len(results)} cases"
    return _ended(f"{name}: wrong in {cases}. In case {case}, {reason}")


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."
