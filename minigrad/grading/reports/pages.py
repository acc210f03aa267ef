"""The grades as pages: feedback for each student, and the overview of the class.

Everything that comes from a submission is escaped, names of files included; the pages hold no
script, and say in their policy that none may run. Links lead to files of names that we made.
"""

from collections import Counter
from html import escape
from pathlib import Path
from typing import Any

from minigrad.grading.reports.document import clean, file_name

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1d2430; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .8rem .3rem 0;
       border-bottom: 1px solid #d9dee7; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { background: #dfe5ee; height: .8rem; min-width: 8rem; } .bar div { background: #2f6fb0; height: 100%; }
.warn { background: #fff3d6; border-left: 4px solid #d99a00; padding: .5rem .8rem; }
.quiet { color: #5a6577; font-size: .875rem; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: inherit; }
"""


def write_pages(document: dict[str, Any], out: Path) -> Path:
    """feedback/STUDENT.html for each student, and overview.html, whose path is given back."""
    folder = out / "feedback"
    folder.mkdir(parents=True, exist_ok=True)
    for grade in document["grades"]:
        page = feedback(grade)
        (folder / f"{file_name(grade['student'])}.html").write_text(page, encoding="utf-8")
    path = out / "overview.html"
    path.write_text(overview(document), encoding="utf-8")
    return path


def _page(title: str, body: str) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title><style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _text(text: object) -> str:
    return escape(clean(str(text)), quote=True)


def feedback(grade: dict[str, Any]) -> str:
    """What a student is told."""
    parts = [
        f"<h1>{_text(grade['exercise'])}: {grade['points']:g} of {grade['of']:g} points</h1>",
        f"<p>{_text(grade['student'])}</p>",
    ]
    if grade["isolation"] == "none":
        parts.insert(0, WITHOUT)
    if grade["unreadable"]:
        parts.append(
            f'<p class="warn">The submission could not be read: {_text(grade["unreadable"])}.</p>'
        )
    if grade["notes"]:
        parts.append("<ul>" + "".join(f"<li>{_text(n)}</li>" for n in grade["notes"]) + "</ul>")
    for q in grade["questions"]:
        parts.append(f"<h2>{_text(q['id'])}: {q['points']:g} of {q['of']:g}</h2>")
        parts.append(f"<p>{q['right']} of {q['asked']} results are right.</p>")
        if q["confirm"]:
            parts.append('<p class="warn">This answer was found by a guess: please confirm.</p>')
        if q["reason"]:
            parts.append(f"<pre>{_text(q['reason'])}</pre>")
        parts += [f"<p>{_text(note)}</p>" for note in q["notes"]]
        for d in q["diagnoses"]:
            parts.append(f"<p><strong>{_text(d['message'])}</strong> {_text(d['hint'])}</p>")
    parts.append(f'<p class="quiet">{_provenance(grade)}</p>')
    return _page(f"{grade['exercise']}, {grade['student']}", "\n".join(parts))


WITHOUT = '<p class="warn">Isolation: none. Students\' code ran without a sandbox.</p>'


def _provenance(grade: dict[str, Any]) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in grade["versions"].items())
    limits = ", ".join(f"{k} {v:g}" for k, v in grade["limits"].items())
    hashes = ", ".join(f"{k} {v[:12]}" for k, v in grade["hashes"].items())
    return _text(
        f"Isolation: {grade['isolation']}. Limits: {limits}. Versions: {versions}. Hashes: {hashes}."
    )


def overview(document: dict[str, Any]) -> str:
    """The class on one page: each question's distribution, what went wrong most, all students."""
    grades = document["grades"]
    points = sorted(grade["points"] for grade in grades)
    parts = [
        f"<h1>{_text(document['exercise'])}: {len(grades)} submissions</h1>",
        f"<p>Points: median {points[len(points) // 2]:g}, mean {sum(points) / len(points):.2f} "
        f"of {document['of']:g}. Isolation: {_text(', '.join(document['isolation']))}.</p>",
    ]
    if "none" in document["isolation"]:
        parts.insert(0, WITHOUT)
    for q in document["questions"]:
        parts.append(f"<h2>{_text(q['id'])}</h2>{_distribution(q, len(grades))}")
        if q["diagnoses"]:
            parts.append("<p>What to teach again:</p><table>")
            parts += [
                f'<tr><td class="n">{d["students"]}</td><td>{_text(d["kind"])}</td>'
                f"<td>{_text(d['message'])}</td></tr>"
                for d in q["diagnoses"][:8]
            ]
            parts.append("</table>")
    parts.append(
        '<h2>Students</h2><table><tr><th>student</th><th class="n">points</th><th></th></tr>'
    )
    for grade in grades:
        said = grade["unreadable"] or "; ".join(
            q["reason"] for q in grade["questions"] if q["reason"]
        )
        flag = "please confirm; " if grade["confirm"] else ""
        link = (
            f'<a href="feedback/{file_name(grade["student"])}.html">{_text(grade["student"])}</a>'
        )
        parts.append(
            f'<tr><td>{link}</td><td class="n">{grade["points"]:g}</td><td>{_text(flag + said)}</td></tr>'
        )
    parts.append("</table>")
    return _page(f"{document['exercise']}: overview", "\n".join(parts))


def _distribution(question: dict[str, Any], students: int) -> str:
    rows = []
    for value, n in sorted(Counter(question["points"]).items(), reverse=True):
        width = round(100 * n / students)
        rows.append(
            f'<tr><td class="n">{value:g} of {question["of"]:g}</td><td class="n">{n}</td>'
            f'<td><div class="bar"><div style="width: {width}%"></div></div></td></tr>'
        )
    head = '<tr><th class="n">points</th><th class="n">students</th><th></th></tr>'
    return f"<table>{head}{''.join(rows)}</table>"
