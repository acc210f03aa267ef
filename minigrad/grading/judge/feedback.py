"""What a wrong answer suggests: the mistakes that give exactly these values.

An exercise of minigrad.teach knows mistakes, and which values they give. Here it is asked for the
answers of a class, each different set of answers once (explain.py). What comes out is the name of a
mistake, a sentence and a hint, without inputs or expected values, so it can be shown to students.

The author's given cells are run for it, to have the Exercise; no student's code is.
"""

from collections.abc import Sequence

from minigrad.grading.documents import (
    AnswersDocument,
    DiagnosisText,
    EncodedValue,
    Grade,
    ResultGrade,
    VerdictText,
    WrongAnswers,
)
from minigrad.grading.judge.compare import NO_CREDIT
from minigrad.grading.release.bundles import Judge, digest
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.release.trusted import GivenCellsFailed, ask

MOST = 400  # different sets of wrong answers that are looked into, in all
SECONDS = 300


def diagnoses(
    bundle: Judge, answers: Sequence[AnswersDocument], grades: Sequence[Grade]
) -> list[dict[str, list[DiagnosisText]]]:
    """For each grade: question -> the mistakes found in it, each once."""
    asked: dict[str, WrongAnswers] = {}
    wanted: list[tuple[int, str, str]] = []
    questions = {q.id: q for q in bundle.questions if q.exercise}
    for number, (document, grade) in enumerate(zip(answers, grades)):
        for graded in grade["questions"]:
            question = questions.get(graded["id"])
            if question is None or graded["right"] == graded["asked"]:
                continue
            said = document["questions"].get(question.id, {"answers": {}})["answers"]
            one = _asked(question, said, graded["results"], document["seed"])
            if not one["wrong"]:
                continue
            key = digest(one)
            if key in asked or len(asked) < MOST:
                asked[key] = one
                wanted.append((number, question.id, key))
    found: list[dict[str, list[DiagnosisText]]] = [{} for _ in grades]
    mistakes = dict(zip(asked, _ask(bundle, list(asked.values())))) if asked else {}
    for number, question_id, key in wanted:
        found[number][question_id] = mistakes.get(key, [])
    return found


def _asked(
    question: GradedQuestion, said: dict[str, EncodedValue], results: list[ResultGrade], seed: str
) -> WrongAnswers:
    """What was answered, case by case, and which of it is wrong as a value."""
    rows: list[list[EncodedValue]] = [
        [said.get(f"{question.id}/{n}/{r}", {}) for r in question.results]
        for n in range(1, len(question.cases) + 1)
    ]
    verdicts = {r["id"]: r for r in results}
    wrong = [
        [n, k]
        for n, row in enumerate(rows)
        for k, (result, answer) in enumerate(zip(question.results, row))
        if _is_a_wrong_value(verdicts[f"{question.id}/{n + 1}/{result}"], answer)
    ]
    return {"exercise": question.exercise or "", "seed": seed, "said": rows, "wrong": wrong}


def _is_a_wrong_value(verdict: VerdictText, answer: EncodedValue) -> bool:
    if verdict["ok"] or not ("data" in answer or "json" in answer):
        return False
    return verdict["reason"] != NO_CREDIT and "changed in place" not in verdict["reason"]


def _ask(bundle: Judge, asked: list[WrongAnswers]) -> list[list[DiagnosisText]]:
    """Run the given cells once, and ask; no mistakes are named if they do not run."""
    given = {cell for q in bundle.questions for cell in (*q.given, *q.checks)}
    sources = [source for cell, source in bundle.sources.items() if cell in given]
    try:
        mistakes: list[list[DiagnosisText]] = ask(sources, "explained", asked, seconds=SECONDS)
    except GivenCellsFailed:
        return [[] for _ in asked]
    return mistakes
