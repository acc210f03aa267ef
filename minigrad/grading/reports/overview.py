"""The class on one page, for whoever teaches it on Monday.

what to look at     guesses to confirm, files that could not be read
each question       how the points are spread, the commonest mistakes, what else went wrong
students            everybody, with the points of each question
"""

import re
import statistics
from collections import Counter
from typing import Any

from minigrad.grading.reports.document import file_names
from minigrad.grading.reports.style import WITHOUT, bar, cards, escaped, page, theirs

MOST = 8  # rows of a table of mistakes


def overview(document: dict[str, Any]) -> str:
    """Each question's distribution, what went wrong most, what to confirm, and all students."""
    grades = document["grades"]
    names = file_names([grade["student"] for grade in grades])
    links = [
        f'<a href="feedback/{name}.html">{theirs(grade["student"], 60)}</a>'
        for grade, name in zip(grades, names)
    ]
    points = [grade["points"] for grade in grades]
    confirm = sum(grade["confirm"] for grade in grades)
    unreadable = sum(grade["unreadable"] is not None for grade in grades)
    parts = [
        f"<h1>{escaped(document['exercise'])}</h1>",
        cards(
            (f"{len(grades)}", "submissions"),
            (f"{statistics.median(points):g} of {document['of']:g}", "median points"),
            (f"{statistics.fmean(points):.2f}", "mean points"),
            (f"{sum(p == document['of'] for p in points)}", "with all points"),
            (f"{confirm}", "please confirm"),
            (f"{unreadable}", "could not be read"),
        ),
    ]
    if "none" in document["isolation"]:
        parts.insert(0, WITHOUT)
    parts += _to_look_at(grades, links)
    for k, question in enumerate(document["questions"]):
        parts += _question(question, [grade["questions"][k] for grade in grades])
    parts += _students(document, links)
    parts.append(f'<p class="quiet">{_made_with(document)}</p>')
    return page(f"{document['exercise']}: overview", "\n".join(parts))


def _to_look_at(grades: list[dict[str, Any]], links: list[str]) -> list[str]:
    rows = []
    for grade, link in zip(grades, links):
        if grade["unreadable"]:
            said = f"could not be read: {grade['unreadable']}"
        elif grade["confirm"]:
            guesses = [n for n in grade["notes"] if "please confirm" in n]
            said = "; ".join(guesses) or "found by a guess: please confirm"
        else:
            continue
        rows.append(f'<tr><td>{link}</td><td class="said">{theirs(said)}</td></tr>')
    if not rows:
        return []
    return ["<h2>To look at by hand</h2>", f"<table>{''.join(rows)}</table>"]


def _question(question: dict[str, Any], graded: list[dict[str, Any]]) -> list[str]:
    of = question["of"]
    mean = statistics.fmean(question["points"])
    share = f", {mean / of:.0%}" if of else ""
    parts = [
        f"<h2>{escaped(question['id'])}</h2>",
        f'<p class="quiet">{mean:.2f} of {of:g} points on average{share}</p>',
        _distribution(question),
    ]
    students = len(graded)
    if question["diagnoses"]:
        parts.append("<h3>What to teach again</h3>")
        parts.append(
            _counted(
                [
                    (
                        d["students"],
                        f"<strong>{escaped(d['kind'])}</strong>: {escaped(d['message'])}",
                    )
                    for d in question["diagnoses"][:MOST]
                ],
                students,
            )
        )
    reasons = Counter(kind_of(q["reason"]) for q in graded if q["reason"])
    if reasons:
        parts.append("<h3>How points were lost</h3>")
        parts.append(
            _counted([(n, theirs(kind)) for kind, n in reasons.most_common(MOST)], students)
        )
    return parts


def kind_of(reason: str) -> str:
    """What a reason says without its particulars, so that equal ones can be counted.

    >>> kind_of("2/dx: wrong value: 3 of 6, the first at [0, 1]")
    'wrong value'
    >>> kind_of("1/dx: ValueError: operands could not be broadcast together")
    'ValueError'
    """
    said = re.sub(r"^\d+/\S+: |^the (check of it|answer \S+|given cell \S+): ", "", reason)
    said = re.sub(r" in [\d.]+ s\b.*", " in time", said)
    found = re.match(r"[A-Za-z_]\w*(Error|Exception|Exit|Interrupt|Warning)\b|[^:;(]+", said)
    kind = found.group(0) if found else said
    return re.sub(r"\d+", "n", kind).strip()[:80] or "another reason"


def _counted(rows: list[tuple[int, str]], students: int) -> str:
    lines = [
        f'<tr><td class="n">{n}</td><td class="n">{n / students:.0%}</td><td class="said">{said}</td></tr>'
        for n, said in rows
    ]
    head = '<tr><th class="n">students</th><th class="n">share</th><th></th></tr>'
    return f"<table>{head}{''.join(lines)}</table>"


def _distribution(question: dict[str, Any]) -> str:
    """A row for each number of points; ranges, if there are many of them."""
    points, of = question["points"], question["of"]
    different = sorted(set(points), reverse=True)
    if len(different) <= 9:
        rows = [(f"{value:g} of {of:g}", points.count(value)) for value in different]
    else:
        tenth = [min(int(10 * p / of), 9) if p < of else 10 for p in points]
        named = {k: f"{k * of / 10:g} to {(k + 1) * of / 10:g}" for k in range(10)} | {
            10: f"{of:g}"
        }
        rows = [(named[k], tenth.count(k)) for k in range(10, -1, -1) if k in tenth]
    lines = [
        f'<tr><td class="n">{said}</td><td class="n">{n}</td>'
        f'<td class="wide">{bar(n / len(points))}</td></tr>'
        for said, n in rows
    ]
    head = '<tr><th class="n">points</th><th class="n">students</th><th></th></tr>'
    return f"<table>{head}{''.join(lines)}</table>"


def _students(document: dict[str, Any], links: list[str]) -> list[str]:
    heads = "".join(f'<th class="n">{escaped(q["id"])}</th>' for q in document["questions"])
    parts = [
        "<h2>Students</h2>",
        f'<table><tr><th>student</th><th class="n">points</th>{heads}<th></th></tr>',
    ]
    for grade, link in zip(document["grades"], links):
        cells = ""
        for q in grade["questions"]:
            mark = "good" if q["right"] == q["asked"] else "bad"
            cells += f'<td class="n {mark}">{q["points"]:g}</td>'
        said = grade["unreadable"] or "; ".join(
            dict.fromkeys(kind_of(q["reason"]) for q in grade["questions"] if q["reason"])
        )
        flag = "<strong>please confirm</strong> " if grade["confirm"] else ""
        parts.append(
            f'<tr><td>{link}</td><td class="n">{grade["points"]:g}</td>{cells}'
            f'<td class="said">{flag}{theirs(said)}</td></tr>'
        )
    return [*parts, "</table>"]


def _made_with(document: dict[str, Any]) -> str:
    first = document["grades"][0]
    seeds = {grade["seed"] for grade in document["grades"]}
    seed = next(iter(seeds)) if len(seeds) == 1 else f"{len(seeds)} seeds, in grades.json"
    versions = ", ".join(f"{k} {v}" for k, v in first["versions"].items())
    return escaped(
        f"Isolation: {', '.join(document['isolation'])}. Seed: {seed} (for you alone, until the last submission "
        f"is in). Versions: {versions}. Limits and hashes of each grade are in grades.json."
    )
