"""What a student reads about an answer: sentences on what is wrong, and where.

No sentence holds a right value, nor what the answer was for a hidden input: see THREATS.md.

    wrong_parts    a sentence for each part that is wrong
"""

import re

from minigrad.grading.documents import QuestionGrade, ResultGrade

SILENT = "no answer"
UNWRITTEN = "not written yet"  # whatever the case is


def wrong_parts(question: QuestionGrade) -> list[str]:
    """A sentence for each part that is wrong; or why there is no answer to any.

    >>> reason = "wrong value: 3 of 6, the first at [0, 1]"
    >>> wrong = {"id": "q/2/dx", "ok": False, "reason": reason}
    >>> results = [{"id": "q/1/dx", "ok": True, "reason": ""}, wrong]
    >>> wrong_parts({"reason": f"2/dx: {reason}", "results": results})
    ['dx: wrong in 1 of 2 cases. In case 2, 3 of 6 values differ, the first at [0, 1].']

    What is not written yet is not written in any case:

    >>> results = [{"id": f"q/{n}/dx", "ok": False, "reason": "not written yet"} for n in (1, 2)]
    >>> wrong_parts({"reason": "1/dx: not written yet", "results": results})
    ['dx: not written yet.']
    >>> wrong_parts({"reason": "the check did not finish in 10 s", "results": []})
    ['The check did not finish in 10 s']
    """
    parts: dict[str, list[ResultGrade]] = {}
    for result in question["results"]:
        parts.setdefault(result["id"].split("/")[-1], []).append(result)
    reasons = {result["reason"] for result in question["results"]}
    bare = _bare(question)
    whole = question["reason"] or ""
    alone = [whole[0].upper() + whole[1:]] if whole and bare not in reasons else []
    if reasons <= {"", SILENT}:
        return alone
    if len(reasons) == 1 and len(parts) > 1:
        return [*alone, f"{', '.join(parts)}: {bare}."]
    return alone + [said for name, results in parts.items() if (said := _sentence(name, results))]


def _bare(question: QuestionGrade) -> str:
    """The reason of a question without the name of the result, and without the others that are wrong."""
    return re.sub(r"^\d+/[^:]+: |; wrong, too: .*$", "", question["reason"] or "")


def _sentence(name: str, results: list[ResultGrade]) -> str:
    """What is wrong with one part; empty if nothing is."""
    wrong = [result for result in results if not result["ok"]]
    if not wrong:
        return ""
    reason = re.sub(r"^wrong value: (\d+ of \d+), ", r"\1 values differ, ", wrong[0]["reason"])
    reason = reason.replace("wrong value: a single number", "the value is wrong")
    if len(results) == 1 or reason.startswith(UNWRITTEN):
        return f"{name}: {reason.rstrip('.')}."
    case = wrong[0]["id"].split("/")[-2]
    return f"{name}: wrong in {len(wrong)} of {len(results)} cases. In case {case}, {reason.rstrip('.')}."
