"""grades.json, from which all other reports are made, and the schema that it keeps."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

FORMAT = "minigrad-grades-1"


def class_document(grades: list[dict[str, Any]]) -> dict[str, Any]:
    """The grades of a class, and what they are made of."""
    first = grades[0]
    questions = [
        {
            "id": q["id"],
            "of": q["of"],
            "asked": q["asked"],
            "points": [grade["questions"][k]["points"] for grade in grades],
            "diagnoses": _commonest(grade["questions"][k]["diagnoses"] for grade in grades),
        }
        for k, q in enumerate(first["questions"])
    ]
    return {
        "format": FORMAT,
        "exercise": first["exercise"],
        "of": first["of"],
        "isolation": sorted({grade["isolation"] for grade in grades}),
        "questions": questions,
        "grades": grades,
    }


def _commonest(lists: Any) -> list[dict[str, Any]]:
    """Diagnoses, and how many students each was made of; the commonest first."""
    count: Counter[str] = Counter()
    one: dict[str, dict[str, Any]] = {}
    for listed in lists:
        for diagnosis in {d["kind"]: d for d in listed}.values():
            count[diagnosis["kind"]] += 1
            one.setdefault(diagnosis["kind"], diagnosis)
    return [{**one[kind], "students": n} for kind, n in count.most_common()]


def write_document(document: dict[str, Any], out: Path) -> Path:
    """Write grades.json into this folder, and its schema beside it; returns the former's path."""
    path = out / "grades.json"
    path.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    (out / "grades.schema.json").write_text(json.dumps(SCHEMA, indent=1) + "\n", encoding="utf-8")
    return path


def file_name(student: str) -> str:
    """A name of a file that is safe everywhere, and another one for each student."""
    plain = re.sub(r"[^A-Za-z0-9_.\-]+", "_", student).strip("._-")[:60]
    # some names are devices on Windows
    if plain == student and not re.match(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)", plain):
        return plain
    return f"{plain or 'student'}-{sha256(student.encode('utf-8', 'replace')).hexdigest()[:8]}"


def file_names(students: Sequence[str]) -> list[str]:
    """A name of a file for each, no two of which are the same, on any system.

    A student may be called what another one's file is called, on purpose or not.
    """
    names: list[str] = []
    taken: set[str] = set()
    for student in students:
        name, k = file_name(student), 1
        while name.casefold() in taken:
            k += 1
            name = f"{file_name(student)}-{k}"
        taken.add(name.casefold())
        names.append(name)
    return names


def clean(text: str, most: int = 2000) -> str:
    """Text from a submission without control characters, of a sensible length.

    Marks that turn the direction of writing are among them; what joins letters in Persian is not.
    """
    return "".join(_shown(c) for c in text[:most])


def _shown(c: str) -> str:
    if c in "\n\u200c\u200d" or c.isprintable():
        return c
    return " " if unicodedata.category(c) == "Zs" or c == "\t" else "\ufffd"


_text = {"type": "string"}
_maybe = {"type": ["string", "null"]}
_number = {"type": "number", "minimum": 0}
_count = {"type": "integer", "minimum": 0}
_texts = {"type": "array", "items": _text}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list_of(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(**properties)}


_diagnoses = _list_of(kind=_text, message=_text, hint=_text)

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "The grades of a class, as minigrad writes them",
    **_object(
        format={"const": FORMAT},
        exercise=_text,
        of=_number,
        isolation=_texts,
        questions=_list_of(
            id=_text, of=_number, asked=_count, points={"type": "array", "items": _number}, diagnoses=_diagnoses
        ),
        grades=_list_of(
            student=_text,
            file=_text,
            points=_number,
            of=_number,
            unreadable=_maybe,
            confirm={"type": "boolean"},
            notes=_texts,
            seed=_text,
            isolation={"enum": ["bwrap", "landlock", "container", "none"]},
            limits={"type": "object"},
            versions={"type": "object"},
            hashes=_object(submission=_text, recording=_text, judge=_text, answers=_text),
            questions=_list_of(
                id=_text,
                points=_number,
                of=_number,
                right=_count,
                asked=_count,
                reason=_maybe,
                notes=_texts,
                confirm={"type": "boolean"},
                results=_list_of(id=_text, ok={"type": "boolean"}, reason=_text),
                diagnoses=_diagnoses,
            ),
        ),
    ),
}  # fmt: skip
