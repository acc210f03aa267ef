"""From recorded answers to grades, without running any student's code.

nbval runs the author's notebook in a separate pytest process, where our test items compare each
answer with the solution's for the same inputs (nbval_items.py, compare.py). This module starts that
run, reads the verdicts, computes the points, and asks for diagnoses of wrong answers.

A grade depends only on the verdicts on single answers, not on pytest's outcomes or exit status. An
answer without a verdict is wrong.

    judge(bundle, answers)    a grade for each answers document

An exercise of minigrad.teach knows common mistakes and the values that they produce. It is asked once
for each distinct set of wrong answers in a class (mistakes.py). A diagnosis is the name of a mistake,
a sentence and a hint. It contains no inputs or expected values, so students may see it. The author's given
cells are run for it, because they create the Exercise.
"""

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from minigrad.grading import documents
from minigrad.grading.files import digest, write_json
from minigrad.grading.judge.compare import NO_CREDIT, UNWRITTEN
from minigrad.grading.release.bundles import BundleError, Judge
from minigrad.grading.release.questions import GradedQuestion
from minigrad.grading.sandbox.launch import REPEATABLE
from minigrad.grading.trusted import GivenCellsFailed, ask, run_pytest
from minigrad.version import __version__

NAMED = 8  # results named in one reason
AT_ONCE = 100  # answers documents in one run of pytest, to bound its memory
MAX_DIAGNOSED = 400  # distinct sets of wrong answers that are diagnosed

Verdicts = dict[str, dict[str, documents.VerdictText]]  # question -> answer id -> verdict


class JudgeError(RuntimeError):
    """Judging failed, for a reason that is not in a submission."""


def judge(
    bundle: Judge, answers: Sequence[documents.AnswersDocument], *, explain: bool = True
) -> list[documents.Grade]:
    """Return a grade for each answers document, in the same order.

    Raises BundleError for answers to another release, and JudgeError if the author's notebook
    does not run.
    """
    for document in answers:
        if document.get("recording") != bundle.data["recording"]:
            raise BundleError(
                f"These are answers to another release of {bundle.name}. To fix it, record them again, or "
                "judge them with the bundle of that release."
            )
    grades = []
    for start in range(0, len(answers), AT_ONCE):
        part = answers[start : start + AT_ONCE]
        grades += [_grade(bundle, a, v) for a, v in zip(part, _verdicts(bundle, part))]
    if explain:
        _add_diagnoses(bundle, answers, grades)
    return grades


def _verdicts(bundle: Judge, answers: Sequence[documents.AnswersDocument]) -> list[Verdicts]:
    """The verdicts on each document; empty for an unreadable submission."""
    found: list[Verdicts] = [{} for _ in answers]
    if not bundle.questions or all(document["unreadable"] for document in answers):
        return found
    with tempfile.TemporaryDirectory(prefix="mg-judge-") as name:
        folder = Path(name)
        write_json(folder / "judge.json", bundle.data, private=True)
        for number, document in enumerate(answers):
            if not document["unreadable"]:
                path = folder / "answers" / f"{number:05d}.answers.json"
                write_json(path, document, private=True)
        options = ["-p", "minigrad.grading.plugin", "--minigrad=judge.json", "--tb=no"]
        options += ["--minigrad-verdicts=verdicts.jsonl", "--continue-on-collection-errors"]
        options += ["-W", "ignore", "answers"]
        done = run_pytest(folder, *options, environment=REPEATABLE)
        try:
            lines = (folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
        except OSError:
            raise JudgeError(f"pytest wrote no verdicts.\n{done.stdout}{done.stderr}") from None
    for line in map(json.loads, lines):
        if line["problem"]:
            problem = line["problem"].removeprefix("pytest plugin exception: ")
            raise JudgeError(
                f"{bundle.name}: nothing can be compared with its solution.\n{problem}"
            )
        found[int(line["file"].partition(".")[0])][line["question"]] = line["verdicts"]
    return found


def _grade(
    bundle: Judge, answers: documents.AnswersDocument, verdicts: Verdicts
) -> documents.Grade:
    """The grade of one submission; the caller fills in the student and the file."""
    questions = [_question(q, answers, verdicts.get(q.id, {})) for q in bundle.questions]
    _add_causes(bundle.questions, questions)
    return {
        "format": "minigrad-grade-1",
        "exercise": bundle.name,
        "points": round(sum(q["points"] for q in questions), 6),
        "of": sum(q["of"] for q in questions),
        "unreadable": answers["unreadable"],
        "confirm": bool(answers["guessed"]),
        "questions": questions,
        "notes": answers["notes"],
        "seed": answers["seed"],
        "isolation": cast(documents.Isolation, answers["isolation"]),
        "limits": answers["limits"],
        "versions": {**answers["versions"], "judged by": __version__},
        "hashes": {
            "submission": answers["submission"],
            "recording": answers["recording"],
            "judge": bundle.hash,
            "answers": digest(answers),
        },
        "student": "",
        "file": "",
    }


def _question(
    question: GradedQuestion,
    answers: documents.AnswersDocument,
    verdicts: dict[str, documents.VerdictText],
) -> documents.QuestionGrade:
    unread = "the submission cannot be read" if answers["unreadable"] else None
    nothing: documents.QuestionAnswers = {"end": "", "reason": unread, "answers": {}, "notes": []}
    recorded = answers["questions"].get(question.id, nothing)
    judged = bool(verdicts) or not recorded["answers"]
    silent: documents.VerdictText = {
        "ok": False,
        "reason": "no answer" if judged else "the answers could not be judged",
    }
    results: list[documents.ResultGrade] = [
        {"id": i, **verdicts.get(i, silent)} for i in question.ids
    ]
    right = sum(r["ok"] is True for r in results)
    reason = recorded["reason"] or _first_reason(question, results)
    return {
        "id": question.id,
        "points": question.earned({r["id"] for r in results if r["ok"] is True}),
        "of": question.points,
        "right": right,
        "asked": len(results),
        "reason": None if right == len(results) else reason,
        "notes": recorded["notes"],
        "confirm": bool(set(question.answers) & set(answers["guessed"])),
        "results": results,
        "diagnoses": [],
    }


def _add_causes(
    questions: Sequence[GradedQuestion], graded: Sequence[documents.QuestionGrade]
) -> None:
    """Note at each wrong answer which earlier wrong answers it may call: it may be wrong only because of them."""
    wrong: dict[str, str] = {}  # the cell of a wrong answer -> its question
    for question, grade in zip(questions, graded):
        *earlier, own = question.answers
        reason = grade["reason"] or ""
        causes = ", ".join(wrong[answer] for answer in earlier if answer in wrong)
        if causes and re.match(r"\d+/", reason) and UNWRITTEN not in reason:
            grade["notes"] = [
                *grade["notes"],
                f"graded with the answer to {causes}, which is wrong",
            ]
        if reason:
            wrong[own] = question.id


def _first_reason(question: GradedQuestion, results: list[documents.ResultGrade]) -> str:
    """The first wrong result and its reason. If there is only one case, list the others, too."""
    wrong = [r for r in results if not r["ok"]]
    if not wrong:
        return ""
    first = next((r for r in wrong if r["reason"] != NO_CREDIT), wrong[0])
    reason = f"{first['id'].partition('/')[2]}: {first['reason']}"
    others: dict[str, list[str]] = {"also wrong": [], UNWRITTEN: []}
    for r in wrong if len(question.cases) == 1 else ():
        if r is not first:
            kind = UNWRITTEN if r["reason"].startswith(UNWRITTEN) else "also wrong"
            others[kind].append(r["id"].split("/")[-1])
    for kind, names in others.items():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        reason += f"; {kind}: {', '.join(names[:NAMED])}{more}" if names else ""
    return reason


def _add_diagnoses(
    bundle: Judge, answers: Sequence[documents.AnswersDocument], grades: Sequence[documents.Grade]
) -> None:
    """Add to each wrongly answered question the distinct mistakes found in it."""
    questions = {q.id: q for q in bundle.questions if q.exercise}
    distinct: dict[str, documents.WrongAnswers] = {}
    wanted: list[tuple[documents.QuestionGrade, str]] = []
    for document, grade in zip(answers, grades):
        for graded in grade["questions"]:
            if graded["id"] not in questions or graded["right"] == graded["asked"]:
                continue
            answered = _wrong_answers(questions[graded["id"]], document, graded["results"])
            key = digest(answered)
            if answered["wrong"] and (key in distinct or len(distinct) < MAX_DIAGNOSED):
                distinct[key] = answered
                wanted.append((graded, key))
    mistakes = dict(zip(distinct, _diagnoses(bundle, list(distinct.values()))))
    for graded, key in wanted:
        graded["diagnoses"] = mistakes[key]


def _wrong_answers(
    question: GradedQuestion,
    document: documents.AnswersDocument,
    results: list[documents.ResultGrade],
) -> documents.WrongAnswers:
    """Collect the answers case by case, and the positions of wrong values among them."""
    answers = documents.answers_to(question.id, document)
    rows: list[list[documents.EncodedValue]] = [
        [answers.get(f"{question.id}/{n}/{r}", {}) for r in question.results]
        for n in range(1, len(question.cases) + 1)
    ]
    verdicts = {r["id"]: r for r in results}
    wrong = [
        [n, k]
        for n, row in enumerate(rows)
        for k, (result, answer) in enumerate(zip(question.results, row))
        if {"data", "json"} & answer.keys()
        if not (verdict := verdicts[f"{question.id}/{n + 1}/{result}"])["ok"]
        if verdict["reason"] != NO_CREDIT and "changed in place" not in verdict["reason"]
    ]
    exercise, seed = question.exercise or "", document["seed"]
    return {"exercise": exercise, "seed": seed, "answers": rows, "wrong": wrong}


def _diagnoses(
    bundle: Judge, submitted: list[documents.WrongAnswers]
) -> list[list[documents.DiagnosisText]]:
    """Run the given cells once, and ask for all diagnoses; if the cells fail, there are none."""
    if not submitted:
        return []
    given = {cell for q in bundle.questions for cell in (*q.given, *q.checks)}
    sources = [source for cell, source in bundle.sources.items() if cell in given]
    try:
        mistakes: list[list[documents.DiagnosisText]] = ask(sources, "explained", submitted)
    except GivenCellsFailed:
        return [[] for _ in submitted]
    return mistakes
