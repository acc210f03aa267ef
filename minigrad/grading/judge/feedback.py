"""Diagnose wrong answers: find the mistakes that produce exactly these values.

An exercise of minigrad.teach knows common mistakes and the values that they produce. It is asked once
for each distinct set of wrong answers in a class (explain.py). A diagnosis is the name of a mistake,
a sentence and a hint. It contains no inputs or expected values, so students may see it.

The author's given cells are run, because they create the Exercise; no student's code is run.
"""

from collections.abc import Sequence

from minigrad.grading.documents import (
    AnswersDocument,
    DiagnosisText,
    EncodedValue,
    Grade,
    QuestionGrade,
    ResultGrade,
    VerdictText,
    WrongAnswers,
    answers_to,
)
from minigrad.grading.files import digest
from minigrad.grading.judge.compare import NO_CREDIT
from minigrad.grading.release.bundles import Judge
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.trusted import GivenCellsFailed, ask

MAX_DIAGNOSED = 400  # distinct sets of wrong answers that are diagnosed


def add_diagnoses(
    bundle: Judge, answers: Sequence[AnswersDocument], grades: Sequence[Grade]
) -> None:
    """Add to each wrongly answered question the distinct mistakes found in it."""
    questions = {q.id: q for q in bundle.questions if q.exercise}
    asked: dict[str, WrongAnswers] = {}
    wanted: list[tuple[QuestionGrade, str]] = []
    for document, grade in zip(answers, grades):
        for graded in grade["questions"]:
            if graded["id"] not in questions or graded["right"] == graded["asked"]:
                continue
            one = _wrong_answers(questions[graded["id"]], document, graded["results"])
            key = digest(one)
            if one["wrong"] and (key in asked or len(asked) < MAX_DIAGNOSED):
                asked[key] = one
                wanted.append((graded, key))
    mistakes = dict(zip(asked, _diagnoses(bundle, list(asked.values()))))
    for graded, key in wanted:
        graded["diagnoses"] = mistakes[key]


def _wrong_answers(
    question: GradedQuestion, document: AnswersDocument, results: list[ResultGrade]
) -> WrongAnswers:
    """Collect the answers case by case, and the positions of wrong values among them."""
    answers = answers_to(question.id, document)
    rows: list[list[EncodedValue]] = [
        [answers.get(f"{question.id}/{n}/{r}", {}) for r in question.results]
        for n in range(1, len(question.cases) + 1)
    ]
    verdicts = {r["id"]: r for r in results}
    wrong = [
        [n, k]
        for n, row in enumerate(rows)
        for k, (result, answer) in enumerate(zip(question.results, row))
        if _is_a_wrong_value(verdicts[f"{question.id}/{n + 1}/{result}"], answer)
    ]
    exercise, seed = question.exercise or "", document["seed"]
    return {"exercise": exercise, "seed": seed, "answers": rows, "wrong": wrong}


def _is_a_wrong_value(verdict: VerdictText, answer: EncodedValue) -> bool:
    if verdict["ok"] or not ("data" in answer or "json" in answer):
        return False
    return verdict["reason"] != NO_CREDIT and "changed in place" not in verdict["reason"]


def _diagnoses(bundle: Judge, asked: list[WrongAnswers]) -> list[list[DiagnosisText]]:
    """Run the given cells once, and ask for all diagnoses; if the cells fail, there are none."""
    if not asked:
        return []
    given = {cell for q in bundle.questions for cell in (*q.given, *q.checks)}
    sources = [source for cell, source in bundle.sources.items() if cell in given]
    try:
        mistakes: list[list[DiagnosisText]] = ask(sources, "explained", asked)
    except GivenCellsFailed:
        return [[] for _ in asked]
    return mistakes
