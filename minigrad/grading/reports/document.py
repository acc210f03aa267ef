"""grades.json, with every grade of a class, and its JSON schema."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Literal, get_args, get_origin, get_type_hints, is_typeddict

from minigrad.grading.documents import (
    ClassGrades,
    CommonDiagnosis,
    DiagnosisText,
    Grade,
    QuestionSummary,
)
from minigrad.grading.files import free_name


def class_document(grades: Sequence[Grade]) -> ClassGrades:
    """Build the document of a class: all grades, and a summary of each question."""
    first = grades[0]
    questions: list[QuestionSummary] = [
        {
            "id": q["id"],
            "of": q["of"],
            "asked": q["asked"],
            "points": [grade["questions"][k]["points"] for grade in grades],
            "diagnoses": _most_common(grade["questions"][k]["diagnoses"] for grade in grades),
        }
        for k, q in enumerate(first["questions"])
    ]
    return {
        "format": "minigrad-grades-1",
        "exercise": first["exercise"],
        "of": first["of"],
        "isolation": sorted({grade["isolation"] for grade in grades}),
        "questions": questions,
        "grades": list(grades),
    }


def _most_common(lists: Iterable[list[DiagnosisText]]) -> list[CommonDiagnosis]:
    """Count the students with each diagnosis; the most common first."""
    count: Counter[str] = Counter()
    one: dict[str, DiagnosisText] = {}
    for listed in lists:
        made = {d["kind"]: d for d in listed}
        count.update(list(made))
        one = made | one
    return [{**one[kind], "students": n} for kind, n in count.most_common()]


def file_names(students: Sequence[str]) -> list[str]:
    """A distinct file name for each student, which is safe on every system, even if it ignores case.

    A student's name may equal the generated file name of another student, by chance or on purpose.
    """
    names: list[str] = []
    taken: set[str] = set()
    for student in students:
        plain = re.sub(r"[^A-Za-z0-9_.\-]+", "_", student).strip("._-")[:60]
        # Windows reserves some names for devices
        if plain != student or re.match(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)", plain):
            sha = sha256(student.encode("utf-8", "replace")).hexdigest()
            plain = f"{plain or 'student'}-{sha[:8]}"
        name = free_name(plain, lambda one: one.casefold() in taken, "{}-{}")
        taken.add(name.casefold())
        names.append(name)
    return names


Schema = dict[str, object]
_PLAIN: dict[object, Schema] = {
    str: {"type": "string"},
    str | None: {"type": ["string", "null"]},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number", "minimum": 0},
}


def _schema_of(kind: object) -> Schema:
    """The JSON schema of a type in documents.py."""
    if is_typeddict(kind):
        fields = {name: _schema_of(inner) for name, inner in get_type_hints(kind).items()}
        return {"type": "object", "required": list(fields), "properties": fields}
    origin, inside = get_origin(kind), get_args(kind)
    if origin is list:
        return {"type": "array", "items": _schema_of(inside[0])}
    if origin is dict:
        return {"type": "object"}
    return {"enum": list(inside)} if origin is Literal else _PLAIN[kind]


SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "The grades of a class, as minigrad writes them",
    **_schema_of(ClassGrades),
}
