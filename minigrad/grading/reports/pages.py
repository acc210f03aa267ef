"""The grades as pages: feedback for each student, and the overview of the class (overview.py).

Links lead to files of names that we made. What a student is told says what is wrong, and the mistake
that would explain it; never the hidden inputs together with what would be right, nor the seed.
"""

from pathlib import Path
from typing import Any

from minigrad.grading.reports.document import file_names
from minigrad.grading.reports.overview import overview
from minigrad.grading.reports.style import WITHOUT, bar, escaped, page, theirs


def write_pages(document: dict[str, Any], out: Path) -> Path:
    """feedback/STUDENT.html for each student, and overview.html, whose path is given back."""
    folder = out / "feedback"
    folder.mkdir(parents=True, exist_ok=True)
    names = file_names([grade["student"] for grade in document["grades"]])
    for grade, name in zip(document["grades"], names):
        (folder / f"{name}.html").write_text(feedback(grade), encoding="utf-8")
    path = out / "overview.html"
    path.write_text(overview(document), encoding="utf-8")
    return path


def feedback(grade: dict[str, Any]) -> str:
    """What a student is told."""
    share = grade["points"] / grade["of"] if grade["of"] else 1.0
    parts = [
        f"<h1>{escaped(grade['exercise'])}: {grade['points']:g} of {grade['of']:g} points</h1>",
        f"<p>{theirs(grade['student'])}</p>",
        bar(share),
    ]
    if grade["isolation"] == "none":
        parts.insert(0, WITHOUT)
    if grade["unreadable"]:
        said = theirs(grade["unreadable"])
        parts.append(f'<p class="warn">The submission could not be read: {said}.</p>')
    if grade["notes"]:
        parts.append("<ul>" + "".join(f"<li>{theirs(n)}</li>" for n in grade["notes"]) + "</ul>")
    for q in grade["questions"]:
        parts += _question(q)
    parts.append(f'<p class="quiet">{_provenance(grade)}</p>')
    return page(f"{grade['exercise']}, {grade['student']}", "\n".join(parts))


def _question(q: dict[str, Any]) -> list[str]:
    mark = "good" if q["right"] == q["asked"] else "bad"
    parts = [
        f'<h2>{escaped(q["id"])}: <span class="{mark}">{q["points"]:g} of {q["of"]:g}</span></h2>',
        f"<p>{q['right']} of {q['asked']} results are right.</p>",
    ]
    if q["confirm"]:
        parts.append('<p class="warn">This answer was found by a guess: please confirm.</p>')
    if q["reason"]:
        parts.append(f'<pre dir="auto">{escaped(q["reason"])}</pre>')
    parts += [f"<p>{theirs(note)}</p>" for note in q["notes"]]
    for d in q["diagnoses"]:
        parts.append(
            f'<p class="hint"><strong>{escaped(d["message"])}</strong><br>{escaped(d["hint"])}</p>'
        )
    return parts


def _provenance(grade: dict[str, Any]) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in grade["versions"].items())
    limits = ", ".join(f"{k} {v:g}" for k, v in grade["limits"].items())
    hashes = ", ".join(f"{k} {v[:12]}" for k, v in grade["hashes"].items())
    return escaped(
        f"Isolation: {grade['isolation']}. Limits: {limits}. Versions: {versions}. Hashes: {hashes}."
    )
