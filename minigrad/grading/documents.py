"""Types of the JSON documents used in grading: drawn inputs, recorded answers, and grades.

The JSON schema of grades.json is generated from these types.
"""

import typing
from functools import cache
from typing import Any, Literal, NotRequired, TypedDict, get_args, get_origin, is_typeddict

import fastjsonschema

Schema = dict[str, Any]

_PLAIN: dict[object, Schema] = {
    object: {},
    str: {"type": "string"},
    str | None: {"type": ["string", "null"]},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number", "minimum": 0},
}


def schema_of(kind: Any) -> Schema:
    """The JSON schema of one of the types below."""
    if is_typeddict(kind):
        fields = {name: schema_of(inner) for name, inner in typing.get_type_hints(kind).items()}
        required = [name for name in fields if name in kind.__required_keys__]
        return {"type": "object", "required": required, "properties": fields}
    origin, inside = get_origin(kind), get_args(kind)
    if origin is list:
        return {"type": "array", "items": schema_of(inside[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(inside[1])}
    return {"enum": list(inside)} if origin is Literal else _PLAIN[kind]


_validator = cache(lambda kind: fastjsonschema.compile(schema_of(kind)))


def conforms(value: object, kind: Any) -> bool:
    """Does a value that was read from JSON have this type, one of those below?

    >>> conforms({"ok": True, "reason": ""}, VerdictText), conforms({"ok": 1}, VerdictText)
    (True, False)
    """
    try:
        _validator(kind)(value)
    except fastjsonschema.JsonSchemaValueException:
        return False
    return True


Declaration = dict[str, Any]  # a question as the author declares it, in JSON

# "auto" appears only for a file that no machine of the cluster could read, so that no tier was chosen
Isolation = Literal["gvisor", "bwrap", "landlock", "container", "none", "auto"]


class EncodedValue(TypedDict, total=False):
    """A value: an array as dtype, shape and data, or one of the other keys; an answer may be an error."""

    dtype: str
    shape: list[int]
    data: str
    json: object
    literal: str
    name: str
    error: str


Answers = dict[str, EncodedValue]  # answer id -> answer


class DrawnCase(TypedDict):
    """One case of a question: its inputs, and for each result the tolerance for rounding error."""

    inputs: dict[str, EncodedValue]
    atol: list[float]


Drawn = dict[str, list[DrawnCase]]  # question -> its cases


class QuestionAnswers(TypedDict):
    """A submission's answers to one question, by answer id, and how the run ended."""

    end: str
    reason: str | None
    answers: Answers
    notes: list[str]


class WrittenAnswer(TypedDict):
    """What a student wrote for a question, and its normalized form: see run/written.py."""

    text: str
    form: str


class AnswersDocument(TypedDict):
    """A submission's answers. If `lost`, the run failed and may be repeated.

    `guessed` lists the answers that need confirmation: the answer cell was guessed, or a gradient
    was computed by finite differences. `written` and `pictures` (data URLs) are there on the way from the
    recorder only: they are stored in other files, so that answers hold no program.
    """

    format: Literal["minigrad-answers-1"]
    exercise: str
    recording: str
    submission: str
    seed: str
    isolation: str
    limits: dict[str, float]
    versions: dict[str, str]
    unreadable: str | None
    notes: list[str]
    guessed: list[str]
    questions: dict[str, QuestionAnswers]
    written: NotRequired[dict[str, WrittenAnswer]]
    pictures: NotRequired[list[str]]
    lost: NotRequired[bool]


def answers_to(question: str, document: AnswersDocument) -> Answers:
    """The answers to the question with this id, by answer id; empty if it was not run."""
    found = document["questions"].get(question)
    return found["answers"] if found else {}


class WrongAnswers(TypedDict):
    """Wrong answers in a submission, for an Exercise to explain.

    exercise   the name of the variable that holds the Exercise
    answers    for each case, the answer to each part
    wrong      the wrong answers as [case, part], counted from 0
    """

    exercise: str
    seed: str
    answers: list[list[EncodedValue]]
    wrong: list[list[int]]


class VerdictText(TypedDict):
    """Whether a result is right, and if not, why."""

    ok: bool
    reason: str


class ResultGrade(VerdictText):
    """The verdict on one result of one case; `id` is question/case/result."""

    id: str


class DiagnosisText(TypedDict):
    """A mistake that produces exactly these wrong values, and a hint."""

    kind: str
    message: str
    hint: str


class QuestionGrade(TypedDict):
    """The grade for one question: `right` of `asked` results are right; all have equal weight."""

    id: str
    points: float
    of: float
    right: int
    asked: int
    reason: str | None
    notes: list[str]
    confirm: bool
    results: list[ResultGrade]
    diagnoses: list[DiagnosisText]


class Hashes(TypedDict):
    """SHA-256 hashes of everything that a grade depends on."""

    submission: str
    recording: str
    judge: str
    answers: str


class Grade(TypedDict):
    """The grade of one submission.

    unreadable    why the notebook could not be read; None if it could
    confirm       should a person confirm some of the answers?
    """

    format: Literal["minigrad-grade-1"]
    exercise: str
    points: float
    of: float
    unreadable: str | None
    confirm: bool
    questions: list[QuestionGrade]
    notes: list[str]
    seed: str
    isolation: Isolation
    limits: dict[str, float]
    versions: dict[str, str]
    hashes: Hashes
    student: str
    file: str


class CommonDiagnosis(DiagnosisText):
    """A diagnosis, and how many students made this mistake."""

    students: int


class QuestionSummary(TypedDict):
    """One question across the class; `points` has an entry for each student."""

    id: str
    of: float
    asked: int
    points: list[float]
    diagnoses: list[CommonDiagnosis]


class ClassGrades(TypedDict):
    """The document grades.json."""

    format: Literal["minigrad-grades-1"]
    exercise: str
    of: float
    isolation: list[str]
    questions: list[QuestionSummary]
    grades: list[Grade]
