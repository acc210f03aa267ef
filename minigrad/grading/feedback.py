"""What a wrong answer suggests: the mistakes that give exactly these numbers.

minigrad.teach.diagnose holds a wrong gradient against a table of mistakes, on the inputs that
were drawn. Here it is asked for the answers of a class, each different answer once. What comes out is
the name of a mistake, a sentence and a hint, without inputs or expected values, so it can be
shown to students.

The author's given cells are run for it, to have the Exercise; no student's code is.
"""

from collections.abc import Sequence
from typing import Any

from minigrad.grading.bundles import Judge, digest
from minigrad.grading.inputs import draw_inputs
from minigrad.grading.trusted import GivenCellsFailed, ask

MOST = 400  # different wrong answers that are looked into, in all
SECONDS = 300


def diagnoses(
    bundle: Judge, answers: Sequence[dict[str, Any]], grades: Sequence[dict[str, Any]]
) -> list[dict[str, list[dict[str, str]]]]:
    """For each grade: question -> the mistakes found in it, each once."""
    asked: dict[str, dict[str, Any]] = {}
    wanted: list[tuple[int, str, str]] = []
    for number, (document, grade) in enumerate(zip(answers, grades)):
        questions = {q.id: q for q in bundle.questions if q.exercise and q.compare == "array"}
        for graded in grade["questions"]:
            question = questions.get(graded["id"])
            if question is None or graded["right"] == graded["asked"]:
                continue
            said = document["questions"].get(question.id, {}).get("answers", {})
            drawn: list[dict[str, Any]] | None = None
            for result in graded["results"]:
                answer = said.get(result["id"], {})
                if (
                    result["ok"]
                    or "data" not in answer
                    or not result["reason"].startswith(("wrong", "shape"))
                ):
                    continue
                if drawn is None:
                    all_drawn = draw_inputs(bundle.questions, bundle.sources, document["seed"])
                    drawn = all_drawn[question.id]
                case, what = result["id"].split("/")[-2:]
                inputs = drawn[int(case) - 1]["inputs"]
                one = {
                    "exercise": question.exercise,
                    "result": what,
                    "answer": answer,
                    "inputs": inputs,
                }
                key = digest(one)
                if key in asked or len(asked) < MOST:
                    asked[key] = one
                    wanted.append((number, question.id, key))
    found: list[dict[str, list[dict[str, str]]]] = [{} for _ in grades]
    told = dict(zip(asked, _ask(bundle, list(asked.values())))) if asked else {}
    for number, question_id, key in wanted:
        mistake, listed = told.get(key), found[number].setdefault(question_id, [])
        if mistake and mistake not in listed and len(listed) < 3:
            listed.append(mistake)
    return found


def _ask(bundle: Judge, asked: list[dict[str, Any]]) -> list[dict[str, str] | None]:
    """Run the given cells once, and ask; what cannot be told stays untold."""
    given = {cell for q in bundle.questions for cell in q.given}
    sources = [source for cell, source in bundle.sources.items() if cell in given]
    try:
        told: list[dict[str, str] | None] = ask(
            sources, "minigrad.grading.exercises:explained", asked, seconds=SECONDS
        )
    except GivenCellsFailed:
        return [None] * len(asked)
    return told
