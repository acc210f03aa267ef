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
from minigrad.grading.release.trusted import GivenCellsFailed, ask

MOST = 400  # different sets of wrong answers that are looked into, in all
SECONDS = 300


def add_diagnoses(
    bundle: Judge, answers: Sequence[AnswersDocument], grades: Sequence[Grade]
) -> None:
    """Add to each question of a grade the mistakes found in it, each once."""
    questions = {q.id: q for q in bundle.questions if q.exercise}
    asked: dict[str, WrongAnswers] = {}
    wanted: list[tuple[QuestionGrade, str]] = []
    for document, grade in zip(answers, grades):
        for graded in grade["questions"]:
            if graded["id"] not in questions or graded["right"] == graded["asked"]:
                continue
            one = _asked(questions[graded["id"]], document, graded["results"])
            key = digest(one)
            if one["wrong"] and (key in asked or len(asked) < MOST):
                asked[key] = one
                wanted.append((graded, key))
    mistakes = dict(zip(asked, _ask(bundle, list(asked.values()))))
    for graded, key in wanted:
        graded["diagnoses"] = mistakes[key]


def _asked(
    question: GradedQuestion, document: AnswersDocument, results: list[ResultGrade]
) -> WrongAnswers:
    """What was answered, case by case, and which of it is wrong as a value."""
    said = answers_to(question.id, document)
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
    exercise, seed = question.exercise or "", document["seed"]
    return {"exercise": exercise, "seed": seed, "said": rows, "wrong": wrong}


def _is_a_wrong_value(verdict: VerdictText, answer: EncodedValue) -> bool:
    if verdict["ok"] or not ("data" in answer or "json" in answer):
        return False
    return verdict["reason"] != NO_CREDIT and "changed in place" not in verdict["reason"]


def _ask(bundle: Judge, asked: list[WrongAnswers]) -> list[list[DiagnosisText]]:
    """Run the given cells once, and ask; no mistakes are named if they do not run."""
    if not asked:
        return []
    given = {cell for q in bundle.questions for cell in (*q.given, *q.checks)}
    sources = [source for cell, source in bundle.sources.items() if cell in given]
    try:
        mistakes: list[list[DiagnosisText]] = ask(sources, "explained", asked, seconds=SECONDS)
    except GivenCellsFailed:
        return [[] for _ in asked]
    return mistakes
