"""From recorded answers to grades, without running any student's code.

nbval runs the author's notebook, in a pytest of its own, and our items hold each answer against
what the solution gives for the same inputs (nbval_items.py, compare.py). This module starts that
run, reads its verdicts, counts points, and asks for diagnoses of what is wrong.

A grade is computed from verdicts on single answers. That a test passed or failed, or how pytest
ended, gives no point; an answer without a verdict is wrong.

    judge(bundle, answers)    a grade for each answers document
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minigrad.grading.bundles import BundleError, Judge, digest, write_private
from minigrad.grading.compare import NO_CREDIT
from minigrad.grading.feedback import diagnoses
from minigrad.grading.questions import Question
from minigrad.version import __version__

FORMAT = "minigrad-grade-1"
NAMED = 8  # results that are named in one reason
AT_ONCE = 100  # answers documents in one run of pytest: its memory stays bounded


class JudgeError(RuntimeError):
    """The judging itself failed: it says nothing about any submission."""


def judge(
    bundle: Judge, answers: Sequence[dict[str, Any]], *, explain: bool = True
) -> list[dict[str, Any]]:
    """The grades, one for each answers document, in the same order.

    Raises BundleError for answers to another release, and JudgeError if the trusted notebook
    does not run.
    """
    for document in answers:
        if document.get("recording") != bundle.data["recording"]:
            raise BundleError(
                f"These are answers to another release of {bundle.name}. To fix it, record them again, or "
                "judge with the bundle of that release."
            )
    grades = []
    for start in range(0, len(answers), AT_ONCE):
        part = answers[start : start + AT_ONCE]
        verdicts = _verdicts(bundle, part)
        grades += [_grade(bundle, a, v) for a, v in zip(part, verdicts)]
    if explain:
        for grade, found in zip(grades, diagnoses(bundle, answers, grades)):
            for question in grade["questions"]:
                question["diagnoses"] = found.get(question["id"], [])
    return grades


def _verdicts(bundle: Judge, answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each document: question -> answer id -> verdict."""
    with tempfile.TemporaryDirectory(prefix="mg-judge-") as folder:
        place = Path(folder)
        write_private(place / "judge.json", bundle.data)
        (place / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (place / "answers").mkdir()
        names = []
        for number, document in enumerate(answers):
            names.append(f"{number:05d}.answers.json")
            if not document["unreadable"]:
                write_private(place / "answers" / names[-1], document)
        if all(document["unreadable"] for document in answers):
            return [{} for _ in answers]
        command = [
            *(
                sys.executable,
                "-P",
                "-m",
                "pytest",
                "-c",
                "pytest.ini",
                "--rootdir=.",
                "--noconftest",
            ),
            *("-p", "minigrad.utils.notebook_format", "-p", "nbval.plugin"),
            *("-p", "minigrad.grading.plugin", "-p", "no:cacheprovider"),
            *("--minigrad=judge.json", "--minigrad-verdicts=verdicts.jsonl", "--nbval-current-env"),
            *(
                "--color=no",
                "-q",
                "--tb=no",
                "--continue-on-collection-errors",
                "-W",
                "ignore",
                "answers",
            ),
        ]
        environment = {
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
        }
        done = subprocess.run(
            command,
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
        found: dict[str, dict[str, Any]] = {name: {} for name in names}
        try:
            lines = (place / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
        except OSError:
            raise JudgeError(f"pytest wrote no verdicts.\n{done.stdout}{done.stderr}") from None
    for line in map(json.loads, lines):
        if line["problem"]:
            raise JudgeError(
                f"{bundle.name}: the trusted notebook does not run.\n{line['problem']}"
            )
        found[line["file"]][line["question"]] = line["verdicts"]
    return [found[name] for name in names]


def _grade(bundle: Judge, answers: dict[str, Any], verdicts: dict[str, Any]) -> dict[str, Any]:
    questions = [
        _question(q, answers["questions"].get(q.id), verdicts.get(q.id, {}), answers)
        for q in bundle.questions
    ]
    return {
        "format": FORMAT,
        "exercise": bundle.name,
        "points": round(sum(q["points"] for q in questions), 6),
        "of": sum(q["of"] for q in questions),
        "unreadable": answers["unreadable"],
        "confirm": bool(answers["guessed"]),
        "questions": questions,
        "notes": answers["notes"],
        "seed": answers["seed"],
        "isolation": answers["isolation"],
        "limits": answers["limits"],
        "versions": {**answers["versions"], "judged by": __version__},
        "hashes": {
            "submission": answers["submission"],
            "recording": answers["recording"],
            "judge": bundle.hash,
            "answers": digest(answers),
        },
    }


def _question(
    question: Question,
    said: dict[str, Any] | None,
    verdicts: dict[str, Any],
    answers: dict[str, Any],
) -> dict[str, Any]:
    said = said or {
        "reason": answers["unreadable"] and "the submission cannot be read",
        "notes": [],
    }
    judged = bool(verdicts) or not said.get("answers")
    silent = {"ok": False, "reason": "no answer" if judged else "the answers could not be judged"}
    results = [{"id": i, **verdicts.get(i, silent)} for i in question.ids]
    right = sum(r["ok"] is True for r in results)
    return {
        "id": question.id,
        "points": round(question.points * right / len(results), 6),
        "of": question.points,
        "right": right,
        "asked": len(results),
        "reason": None
        if right == len(results)
        else said["reason"] or _first_reason(question, results),
        "notes": said["notes"],
        "confirm": bool(set(question.answers) & set(answers["guessed"])),
        "results": results,
        "diagnoses": [],
    }


def _first_reason(question: Question, results: list[dict[str, Any]]) -> str:
    """The first thing that is wrong; where there is one case, as of predictions, the others too."""
    wrong = [r for r in results if not r["ok"]]
    first = next((r for r in wrong if r["reason"] != NO_CREDIT), wrong[0])
    reason = f"{first['id'].partition('/')[2]}: {first['reason']}"
    others = [r["id"].split("/")[-1] for r in wrong if r is not first]
    if len(question.cases) > 1 or not others:
        return reason
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    return f"{reason}; wrong, too: {', '.join(others[:NAMED])}{more}"
