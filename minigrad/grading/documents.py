"""The JSON documents of grading: what is drawn, what is answered, and what a grade holds.

The schema of grades.json follows from these types.
"""

from typing import Any, Literal, NotRequired, TypedDict

Declaration = dict[str, Any]  # of a question, as an author may write it in JSON

# auto: of a file that no machine of a cluster could read, so that none has chosen
Isolation = Literal["gvisor", "bwrap", "landlock", "container", "none", "auto"]


class EncodedValue(TypedDict, total=False):
    """A value: an array by dtype, shape and data; or one of the others; an answer may be an error."""

    dtype: str
    shape: list[int]
    data: str
    json: object
    literal: str
    name: str
    error: str


class DrawnCase(TypedDict):
    """One case of a question: its inputs, and for each result the error that rounding explains."""

    inputs: dict[str, EncodedValue]
    atol: list[float]


Drawn = dict[str, list[DrawnCase]]  # question -> its cases


class QuestionAnswers(TypedDict):
    """What a submission answered to one question: answer id -> answer; and how the run ended."""

    end: str
    reason: str | None
    answers: dict[str, EncodedValue]
    notes: list[str]


class AnswersDocument(TypedDict):
    """What a submission answered. `lost` says that it may be recorded again.

    `guessed` are the answers to be confirmed: found by a guess, or made by finite differences.
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
    missing: list[str]
    questions: dict[str, QuestionAnswers]
    lost: NotRequired[bool]


def answers_to(question: str, document: AnswersDocument) -> dict[str, EncodedValue]:
    """The answers to the question of this id, by their ids; none if it was not run."""
    said = document["questions"].get(question)
    return said["answers"] if said else {}


class WrongAnswers(TypedDict):
    """Answers that an Exercise is to explain, of one submission.

    exercise   its variable
    said       for each case, the answer to each part
    wrong      which of them are wrong, as [case, part], counted from 0
    """

    exercise: str
    seed: str
    said: list[list[EncodedValue]]
    wrong: list[list[int]]


class VerdictText(TypedDict):
    """Is a result right? And if not, why."""

    ok: bool
    reason: str


class ResultGrade(VerdictText):
    """The verdict on one result of one case; `id` is question/case/result."""

    id: str


class DiagnosisText(TypedDict):
    """A mistake that gives exactly these wrong values, and a hint."""

    kind: str
    message: str
    hint: str


class QuestionGrade(TypedDict):
    """One question of a submission: `right` of the `asked` results count, each alike."""

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
    """The SHA-256 of everything that a grade depends on."""

    submission: str
    recording: str
    judge: str
    answers: str


class Grade(TypedDict):
    """One submission. `unreadable` says why it has no answers; `confirm`, that some are to be confirmed."""

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
    """A mistake, and how many students made it."""

    students: int


class QuestionSummary(TypedDict):
    """One question in a whole class; `points` has an entry for each student."""

    id: str
    of: float
    asked: int
    points: list[float]
    diagnoses: list[CommonDiagnosis]


class ClassGrades(TypedDict):
    """The whole of grades.json."""

    format: Literal["minigrad-grades-1"]
    exercise: str
    of: float
    isolation: list[str]
    questions: list[QuestionSummary]
    grades: list[Grade]
