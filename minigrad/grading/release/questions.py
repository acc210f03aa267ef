"""The questions of an exercise, read from the author's notebook.

A question belongs to a graded cell (nbgrader: grade). Its declaration gives the expression to
evaluate after the student's cells have run, its inputs, and the names of the results:

    "minigrad": {"question": {
        "call": "softmax_backward(x, g)",       # the inputs are names in it
        "results": ["dx"],                      # with several, the value is a tuple in this order
        "parts": {"dx": 2},                     # the points of each; default: equal shares
        "cases": [{"x": {"shape": [2, 3]}, "g": {"shape": [2, 3]}},
                  {"x": {"shape": [4], "scale": 100}, "g": {"shape": [4]}}],
        "compare": "array"}}                    # exact, unordered, order: see compare.py

It contains no expected values: those come from running the solution. A check cell that ends with
`exercise.check()` needs no declaration, because the Exercise provides it.

    declared           the automatically graded questions of an author's notebook
    GradedQuestion     one of them
    declared_manual    the questions that a person marks
"""

import ast
import difflib
import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from functools import cache
from typing import Literal, TypedDict, get_args, get_origin

import fastjsonschema

from minigrad.grading.documents import Declaration
from minigrad.grading.release import markers, student, syntax
from minigrad.grading.release.differences import uses_finite_differences
from minigrad.grading.trusted import GivenCellsFailed, ask

Compare = Literal["array", "exact", "unordered", "order"]
CHECK = re.compile(r"^\s*(\w+)\.check\(\)", re.MULTILINE)


_NUMBER, _TEXTS = {"type": "number"}, {"type": "array", "items": {"type": "string"}}
_SIZES = {"type": "array", "items": {"type": "integer", "minimum": 0}}
_DRAWN: Declaration = {
    "type": "object",
    "additionalProperties": False,
    "anyOf": [{"required": ["shape"]}, {"required": ["value"]}],
    "properties": {
        "value": {},
        "shape": _SIZES,
        "draw": {"enum": ["normal", "uniform", "integers", "choice"]},
        "of": {"type": "array", "items": _NUMBER, "minItems": 1},
        "dtype": {"type": "string"},
        **dict.fromkeys(("low", "high", "scale", "shift"), _NUMBER),
    },
}
_ASKED: Declaration = {  # the JSON schema of what an author writes in the metadata
    "type": "object",
    "properties": {
        "call": {"type": "string"},
        "compare": {"enum": list(get_args(Compare))},
        "cases": {
            "type": "array",
            "items": {"type": "object", "propertyNames": {"pattern": r"^[^\W\d]\w*$"}, "additionalProperties": _DRAWN},
        },
        "parts": {"type": "object", "additionalProperties": _NUMBER},
        "seconds": {"type": ["number", "null"], "exclusiveMinimum": 0},
        "helpers": {"type": "string"},
        **dict.fromkeys(("rtol", "atol"), {"type": "number", "minimum": 0}),
        **dict.fromkeys(("alone", "differences", "engine"), {"type": "boolean"}),
        **dict.fromkeys(("results", "needs", "packages", "right", "wrong"), _TEXTS),
    },
}  # fmt: skip


class NodeOrder(TypedDict):
    """The nodes of a graph, and its edges as pairs (earlier, later)."""

    nodes: list[str]
    edges: list[list[str]]


class QuestionError(markers.ReleaseError):
    """A declaration is invalid; the message names the cell and a fix."""


@dataclass(frozen=True)
class GradedQuestion:
    """One automatically graded question.

    id          its name in reports: nbgrader's grade_id, or else the cell's id
    points      the points for all results of all cases together
    weights     the relative weight of each of `ids`; empty: equal weights
    call        the expression to evaluate; input names take precedence over the student's names
    results     the names of the values that it returns
    cases       for each case: input name -> how it is drawn (see check_cell.py)
    answers     ids of the answer cells to run before it, in order
    given       ids of the given cells to run before it, in order
    checks      ids of the cells that only the check needs; answers cannot use what they define
    alone       run the answer without the given cells, because they would reveal it?
    engine      may minigrad be imported while it runs?
    packages    other packages that it needs
    seconds     wall-clock limit for the check; None: the limit of the run
    compare     how a result is compared with the solution's
    rtol, atol  tolerances for arrays
    helpers     Python code that defines helpers for the call; run in a separate namespace
    order       for compare = "order": the nodes, and edges as pairs (earlier, later)
    exercise    the variable of the Exercise that draws the inputs and diagnoses mistakes
    differences does the solution use finite differences? Then answers may, too
    right, wrong    further answers that must get full marks, or lose points; used by the gate
    """

    id: str
    points: float
    call: str
    results: tuple[str, ...]
    cases: tuple[dict[str, Declaration], ...]
    cell: str = ""
    answers: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    alone: bool = False
    engine: bool = False
    packages: tuple[str, ...] = ()
    seconds: float | None = None
    compare: Compare = "array"
    rtol: float = 1e-9
    atol: float = 1e-12
    helpers: str = ""
    order: NodeOrder | None = None
    exercise: str | None = None
    differences: bool = False
    right: tuple[str, ...] = field(default=(), repr=False)
    wrong: tuple[str, ...] = field(default=(), repr=False)

    @property
    def ids(self) -> list[str]:
        """The ids of all results of all cases, in order."""
        return [f"{self.id}/{n}/{r}" for n in range(1, len(self.cases) + 1) for r in self.results]

    def earned(self, right: Collection[str]) -> float:
        """The points earned if these results are right, rounded to six decimals."""
        weights = [Fraction(str(weight)) for weight in self.weights or [1] * len(self.ids)]
        share = sum(w for w, identity in zip(weights, self.ids) if identity in right)
        return round(float(Fraction(str(self.points)) * share / sum(weights)), 6)

    def public(self) -> dict[str, object]:
        """The question in the recording bundle, without points, tolerances or known mistakes.

        If the answer is run alone, the given cells and the exercise are left out as well.
        """
        secret = {"points", "weights", "compare", "rtol", "atol", "order", "right", "wrong"}
        shown = {k: v for k, v in asdict(self).items() if k not in secret}
        return {**shown, "given": (), "checks": (), "exercise": None} if self.alone else shown


@dataclass(frozen=True)
class ManualQuestion:
    """A question that a person marks.

    id        its name in reports: nbgrader's grade_id, or else the cell's id
    points    its maximum number of points
    cell      the id of the answer cell, or of the task cell
    task      is the answer in the cells below this one, rather than in it? (nbgrader: task)
    """

    id: str
    points: float
    cell: str
    task: bool = False


def declared_manual(notebook: student.Notebook, name: str) -> list[ManualQuestion]:
    """The questions of an author's notebook that a person marks, in order.

    Raises QuestionError if one has no points.
    """
    found = []
    for number, cell in enumerate(notebook.cells, 1):
        if student.is_manual(cell):
            settings, identity = student.metadata_of(cell, "nbgrader"), student.known_as(cell)
            where = f"{name}, cell {number} (id {identity})"
            points = _points_of(cell, f"{where}: a person marks it, and")
            _check_id(identity, where)
            found.append(ManualQuestion(identity, points, cell.id, bool(settings.get("task"))))
    return found


def _points_of(cell: student.Notebook, whose: str, default: float | None = None) -> float:
    points = student.metadata_of(cell, "nbgrader").get("points", default)
    if isinstance(points, bool) or not isinstance(points, int | float) or not points >= 0:
        raise QuestionError(
            f"{whose} its points are {points!r}. To fix it, write a number as "
            '"points" in the nbgrader metadata of the cell.'
        )
    return points


def _check_id(identity: str, where: str) -> None:
    if not re.fullmatch(r"[\w.\-]+", identity):
        raise QuestionError(
            f"{where}: an id may contain only letters, digits, _, - and . ; this one is {identity!r}."
        )


def from_dict(data: Declaration) -> GradedQuestion:
    """Read a GradedQuestion from its form in a bundle."""
    tuples = {f.name for f in fields(GradedQuestion) if get_origin(f.type) is tuple}
    arguments: Declaration = {k: tuple(v) if k in tuples else v for k, v in data.items()}
    return GradedQuestion(**arguments)


def declared(notebook: student.Notebook, name: str) -> list[GradedQuestion]:
    """The automatically graded questions of an author's notebook, in order.

    Raises QuestionError if a declaration is invalid.
    """
    exercises = _exercises(notebook, name)
    questions: list[GradedQuestion] = []
    start = 0  # a question covers the answers since the previous question
    for position, cell in enumerate(notebook.cells):
        declaration = student.metadata_of(cell, "minigrad").get("question", {})
        _refuse_malformed(declaration, f"{name}, cell {position + 1} (id {student.known_as(cell)})")
        exercise = _exercise_of(cell)
        if exercise in exercises:
            declaration = {**exercises[exercise], "exercise": exercise, **declaration}
        if _is_graded(cell) and declaration:
            where = f"{name}, cell {position + 1} (id {student.known_as(cell)})"
            placed = _placed(declaration, notebook, start, position, where)
            questions.append(_checked(placed, where))
            start = position + 1
    repeated = [q.id for q in questions if [p.id for p in questions].count(q.id) > 1]
    if repeated:
        raise QuestionError(f"{name}: two questions are called {repeated[0]}.")
    return questions


def unasked(notebook: student.Notebook, questions: list[GradedQuestion]) -> list[tuple[str, float]]:
    """The graded cells, with their points in nbgrader, that none of these questions covers."""
    covered = {question.cell for question in questions}
    found = []
    for cell in notebook.cells:
        points = student.metadata_of(cell, "nbgrader").get("points") or 0
        if _is_graded(cell) and cell.id not in covered and points:
            found.append((student.known_as(cell), points))
    return found


def differing_points(questions: list[GradedQuestion]) -> Iterator[tuple[str, float, float]]:
    """Yield the questions whose points in nbgrader differ from those declared: the id, and both."""
    for question in questions:
        declared = sum(question.weights) / len(question.cases)
        if question.weights and not math.isclose(declared, question.points):
            yield question.id, question.points, declared


_fault_of = cache(lambda: fastjsonschema.compile(_ASKED))


def _refuse_malformed(declaration: object, where: str) -> None:
    """Raise QuestionError if a declaration has an unknown key, or a value of a wrong type."""
    invalid = f"{where}: the question's declaration is invalid"
    known = [*_ASKED["properties"], *(f.name for f in fields(GradedQuestion))]
    for key in declaration if isinstance(declaration, dict) else ():
        if key not in known:
            near = [f" Did you mean {k!r}?" for k in difflib.get_close_matches(key, known, 1)]
            raise QuestionError(f"{invalid}: there is no key {key!r}.{''.join(near)}")
    try:
        _fault_of()(declaration)
    except fastjsonschema.JsonSchemaValueException as error:
        said = re.sub(r"^data", "question", error.message)
        said = said.replace("named by propertyName definition", "an object with names of variables")
        raise QuestionError(f"{invalid}: {said}, and it is {error.value!r}.") from None


def _placed(
    declaration: Declaration, notebook: student.Notebook, start: int, position: int, where: str
) -> Declaration:
    """Complete the declaration with what its position determines: the cells to run, and how.

    start, position    the range of cells that contains the answers
    """
    above = notebook.cells[:position]
    sources = {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}
    theirs = _student_names(notebook)
    fixed = [cell for cell in above if _is_fixed(cell, theirs)]
    # "minigrad": {"check": true}: only the check needs it, and it may contain another implementation
    checks = [cell.id for cell in fixed if student.metadata_of(cell, "minigrad").get("check")]
    given = [cell.id for cell in fixed if cell.id not in checks]
    answers = [cell for cell in above if student.is_answer(cell) and cell.id in sources]
    earlier = [cell.id for cell in answers if cell in above[:start]]
    checked = [cell.id for cell in answers if not student.is_manual(cell)]
    own = [answer for answer in checked if answer not in earlier] or checked[-1:]
    needs = [_cell_of(notebook, need, where) for need in declaration.pop("needs", [])]
    needs = needs or _needed(own, earlier, sources)
    own = [answer for answer in own if answer not in needs]
    solution = [sources[answer] for answer in (*needs, *own)]
    if declaration.get("alone") and _uses_given(solution, [sources[cell] for cell in given]):
        declaration["alone"] = False  # the solution itself uses given cells
    if parts := declaration.pop("parts", None):
        declaration["weights"] = _weights(parts, declaration, where)
    if "engine" not in declaration:
        declaration["engine"] = _uses_engine([sources[a] for a in own], sources.values())
    cell = notebook.cells[position]
    return {
        "id": student.known_as(cell),
        "points": _points_of(cell, f"{where}:", 1),
        "answers": [*needs, *own],
        "given": given,
        "checks": checks,
        "differences": uses_finite_differences("\n".join(solution), str(declaration.get("call"))),
        **declaration,
        "cell": cell.id,
    }


def _weights(parts: dict[str, float], declaration: Declaration, where: str) -> list[float]:
    """The weight of each result of each case, from the declared points of the parts."""
    results = list(declaration.get("results", []))
    numbers = all(isinstance(p, int | float) and p >= 0 for p in parts.values())
    if set(parts) != set(results) or not numbers or not sum(parts.values()) > 0:
        raise QuestionError(
            f"{where}: its parts are {parts!r}. To fix it, give points to each of its results: {', '.join(results)}."
        )
    return [parts[name] for _ in declaration.get("cases", []) for name in results]


def _is_graded(cell: student.Notebook) -> bool:
    """Is it a graded cell that the student does not write in?"""
    return student.is_graded(cell) and not student.is_answer(cell)


def _is_fixed(cell: student.Notebook, theirs: set[str]) -> bool:
    """Is it a code cell that is neither an answer nor graded, and uses none of these names when it runs?"""
    fixed = cell.cell_type == "code" and not student.is_answer(cell) and not _is_graded(cell)
    return fixed and not syntax.waits_for(syntax.statements_of(cell.source), theirs)


def _exercise_of(cell: student.Notebook) -> str | None:
    found = CHECK.search(cell.source)
    return found.group(1) if found else None


def _cell_of(notebook: student.Notebook, need: str, where: str) -> str:
    for cell in notebook.cells:
        names = (cell.id, student.metadata_of(cell, "nbgrader").get("grade_id"))
        if cell.cell_type == "code" and need in names:
            return str(cell.id)
    raise QuestionError(f"{where}: it needs the answer {need!r}, but there is no such cell.")


def _needed(own: list[str], earlier: list[str], sources: dict[str, str]) -> list[str]:
    """The earlier answers that these answers depend on, directly or indirectly."""
    needed: list[str] = []
    used = {name for a in own for name in _names(sources[a])}
    for answer in reversed(earlier):
        if answer not in own and used & set(syntax.defined_names(sources[answer])):
            needed.insert(0, answer)
            used |= _names(sources[answer])
    return needed


def _imports(source: str) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a cell, including those inside functions."""
    nodes = ast.walk(syntax.syntax_of(source) or ast.Module([], []))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def _uses_engine(answers: list[str], sources: Iterable[str]) -> bool:
    """Does the solution use a name that comes from minigrad (other than its checks)?"""
    imported = set()
    for node in (node for source in sources for node in _imports(source)):
        module = getattr(node, "module", None) or ""
        if module.startswith("minigrad") and not module.startswith("minigrad.teach"):
            imported |= {a.asname or a.name for a in node.names}
        elif isinstance(node, ast.Import):
            names = [a for a in node.names if a.name.split(".")[0] == "minigrad"]
            imported |= {a.asname or "minigrad" for a in names}
    return any(imported & _names(answer) for answer in answers)


def _student_names(notebook: student.Notebook) -> set[str]:
    """The names that only answers define."""
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            names[student.is_answer(cell)] |= set(syntax.defined_names(cell.source))
    return names[True] - names[False]


def _uses_given(answers: list[str], given: list[str]) -> bool:
    """Does a solution use a name that a given cell defines or imports?"""
    made = {name for source in given for name in syntax.defined_names(source)}
    made |= syntax.names_bound(*(node for source in given for node in _imports(source)))
    made -= {name for answer in answers for name in syntax.defined_names(answer)}
    return any(made & _names(answer) for answer in answers)


def _names(source: str) -> set[str]:
    return set(syntax.names_in(*syntax.statements_of(source)))


def _checked(declaration: Declaration, where: str) -> GradedQuestion:
    missing = [key for key in ("call", "results", "cases") if key not in declaration]
    if missing:
        raise QuestionError(f"{where}: the question's declaration has no {missing[0]!r}.")
    try:
        question = from_dict(declaration)
        compile(question.call, "call", "eval")
        compile(question.helpers, "helpers", "exec")
    except (TypeError, SyntaxError) as error:
        raise QuestionError(f"{where}: the question's declaration is invalid: {error}.") from error
    if not question.cases or not question.results:
        raise QuestionError(f"{where}: the question has no cases or no results.")
    if len(set(question.results)) < len(question.results):
        raise QuestionError(f"{where}: two results of the question have the same name.")
    for part in (question.id, *question.results):
        _check_id(part, where)
    if not question.answers:
        raise QuestionError(f"{where}: there is no answer cell above it.")
    return question


def _exercises(notebook: student.Notebook, name: str) -> dict[str | None, Declaration]:
    """Map each Exercise that has a check cell to its declaration as a question."""
    graded = [cell for cell in notebook.cells if _is_graded(cell)]
    wanted = [variable for cell in graded if (variable := _exercise_of(cell))]
    if not wanted:
        return {}
    theirs = _student_names(notebook)
    sources = []
    for cell in notebook.cells:
        if _is_graded(cell):
            hidden = markers.hidden(cell.source, markers.HIDDEN_TESTS)
            sources.append("\n".join(hidden))  # these register wrong answers
        elif _is_fixed(cell, theirs):
            sources.append(cell.source)
    try:
        found: dict[str | None, Declaration] = ask(sources, "questions", wanted, sources)
    except GivenCellsFailed as error:
        raise QuestionError(f"{name}: {error}") from None
    return found
