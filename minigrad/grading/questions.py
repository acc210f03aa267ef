"""What is asked in an exercise, and how it is found in the author's notebook.

A question belongs to a graded cell (nbgrader: grade). Its declaration says which expression to
evaluate after the student's cells have run, on which inputs, and what the results are called:

    "minigrad": {"question": {
        "call": "softmax_backward(x, g)",       # the inputs are names in it
        "results": ["dx"],                      # several: the value is a tuple in this order
        "cases": [{"x": {"shape": [2, 3]}, "g": {"shape": [2, 3]}},
                  {"x": {"shape": [4], "scale": 100}, "g": {"shape": [4]}}],
        "compare": "array"}}                    # exact, unordered, order: see compare.py

It holds no expected value: those come from running the solution. A check cell that ends with
`exercise.check()` needs no declaration; it follows from the Exercise.

    declared    the questions of an author's notebook
    Question    one of them
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from minigrad.grading.release import Notebook, ReleaseError, hidden_tests, is_answer
from minigrad.grading.trusted import GivenCellsFailed, ask

Compare = Literal["array", "exact", "unordered", "order"]
CHECK = re.compile(r"^\s*(\w+)\.check\(\)", re.MULTILINE)


class QuestionError(ReleaseError):
    """A declaration that cannot be understood, with the cell and the way to fix it."""


@dataclass(frozen=True)
class Question:
    """One graded cell.

    id          its name in reports: nbgrader's grade_id, else the cell's id
    points      for all results of all cases; each counts alike
    call        the expression; inputs first, then the student's names
    results     names of what it returns
    cases       for each case: input name -> how it is drawn (see inputs.py)
    answers     ids of the answer cells that are run before it, in order
    given       ids of the given cells that are run before it, in order
    checks      ids of the cells that only the check needs; no answer is run with what they define
    alone       is the answer run without the given cells, because they hold what is asked?
    engine      may minigrad be imported while it runs?
    packages    further packages that it needs
    seconds     of wall clock for the check; None: the limit of the run
    compare     how a result is held against the solution's
    rtol, atol  what counts as equal for arrays
    helpers     Python whose names the call may use; run before it, where no student's name is
    order       for compare = "order": the nodes, and pairs of which the first comes first
    exercise    the variable of the Exercise that draws the inputs and explains mistakes
    right, wrong    other answers that must earn everything, or lose points: for the gate
    """

    id: str
    points: float
    call: str
    results: tuple[str, ...]
    cases: tuple[dict[str, dict[str, Any]], ...]
    cell: str = ""
    answers: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    alone: bool = False
    engine: bool = False
    packages: tuple[str, ...] = ()
    seconds: float | None = None
    compare: Compare = "array"
    rtol: float = 1e-9
    atol: float = 1e-12
    helpers: str = ""
    order: dict[str, Any] | None = None
    exercise: str | None = None
    right: tuple[str, ...] = field(default=(), repr=False)
    wrong: tuple[str, ...] = field(default=(), repr=False)

    @property
    def ids(self) -> list[str]:
        """The ids of all its results, in order."""
        return [f"{self.id}/{n}/{r}" for n in range(1, len(self.cases) + 1) for r in self.results]

    def public(self) -> dict[str, Any]:
        """What the recording bundle says of it: nothing about values, points or mistakes.

        An answer that is run alone has no given cells there, and no exercise to draw inputs with.
        """
        secret = {"points", "compare", "rtol", "atol", "order", "right", "wrong"}
        shown = {k: v for k, v in asdict(self).items() if k not in secret}
        return {**shown, "given": (), "checks": (), "exercise": None} if self.alone else shown


def from_dict(data: dict[str, Any]) -> Question:
    """A Question as it was written to a bundle."""
    lists = {"results", "cases", "answers", "given", "checks", "packages", "right", "wrong"}
    arguments: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in data.items()}
    return Question(**arguments)


def declared(notebook: Notebook, name: str) -> list[Question]:
    """The questions of an author's notebook, in order; none if nothing is declared.

    Raises QuestionError for a declaration that cannot be understood.
    """
    graded = [cell for cell in notebook.cells if is_graded(cell)]
    exercises = _exercises(notebook, name) if any(_exercise_of(c) for c in graded) else {}
    questions = []
    given: list[str] = []
    checks: list[str] = []
    answers: list[str] = []
    earlier: list[str] = []
    sources = {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}
    theirs = _of_students(notebook)
    for number, cell in enumerate(notebook.cells, 1):
        if is_answer(cell):
            answers.append(cell.id)
        if cell.cell_type != "code" or is_answer(cell):
            continue
        if not is_graded(cell):
            if not _waits_for(cell.source, theirs):
                (checks if _is_check_s(cell) else given).append(cell.id)
            continue
        where = f"{name}, cell {number} (id {cell.id})"
        declaration = dict(cell.metadata.get("minigrad", {}).get("question", {}))
        exercise = _exercise_of(cell)
        if exercise in exercises:
            declaration = {**exercises[exercise], "exercise": exercise, **declaration}
        if not declaration:
            continue
        settings = cell.metadata.get("nbgrader", {})
        own = answers or earlier[-1:]
        needs = [_cell_of(notebook, need, where) for need in declaration.pop("needs", [])]
        needs = needs or _needed(own, earlier, sources)
        own = [a for a in own if a not in needs]
        if declaration.get("alone") and _uses_given(
            [sources[a] for a in (*needs, *own)], given, sources
        ):
            declaration["alone"] = False  # the solution itself needs them
        if "engine" not in declaration:
            declaration["engine"] = _uses_engine([sources[a] for a in own], sources.values())
        declaration = {
            "id": str(settings.get("grade_id") or cell.id),
            "points": settings.get("points", 1),
            "answers": [*needs, *own],
            "given": list(given),
            "checks": list(checks),
            **declaration,
            "cell": cell.id,
        }
        questions.append(_checked(declaration, where))
        earlier += answers
        answers = []  # the next question asks for what comes after this one
    repeated = [q.id for q in questions if [p.id for p in questions].count(q.id) > 1]
    if repeated:
        raise QuestionError(f"{name}: two questions are called {repeated[0]}.")
    return questions


def is_graded(cell: Notebook) -> bool:
    """Does this cell give points? (nbgrader: grade)"""
    settings = cell.metadata.get("nbgrader", {})
    return bool(settings.get("grade")) and cell.cell_type == "code" and not settings.get("solution")


def _is_check_s(cell: Notebook) -> bool:
    """Does the author say that only the check needs this cell ("minigrad": {"check": true})?

    It may hold a second implementation, and an answer that called it would be none.
    """
    return bool(cell.metadata.get("minigrad", {}).get("check"))


def _exercise_of(cell: Notebook) -> str | None:
    found = CHECK.search(cell.source)
    return found.group(1) if found else None


def _cell_of(notebook: Notebook, need: str, where: str) -> str:
    for cell in notebook.cells:
        if need in (cell.id, cell.metadata.get("nbgrader", {}).get("grade_id")):
            return str(cell.id)
    raise QuestionError(f"{where}: it needs the answer {need!r}, and there is no such cell.")


def _needed(own: list[str], earlier: list[str], sources: dict[str, str]) -> list[str]:
    """The earlier answers whose names these answers use, and what those use in turn."""
    needed: list[str] = []
    used = {name for a in own for name in _names(sources[a])}
    for answer in reversed(earlier):
        if answer not in own and used & set(defined_names(sources[answer])):
            needed.insert(0, answer)
            used |= set(_names(sources[answer]))
    return needed


def _uses_engine(answers: list[str], sources: Iterable[str]) -> bool:
    """Does the solution use a name that comes from minigrad (other than its checks)?"""
    imported = set()
    for source in sources:
        for node in ast.walk(_tree(source)):
            if isinstance(node, ast.Import):
                names = [a for a in node.names if a.name.split(".")[0] == "minigrad"]
                imported |= {a.asname or "minigrad" for a in names}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("minigrad"):
                if not (node.module or "").startswith("minigrad.teach"):
                    imported |= {a.asname or a.name for a in node.names}
    return any(imported & set(_names(answer)) for answer in answers)


def _of_students(notebook: Notebook) -> set[str]:
    """The names that only answers define."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    answers = {n for cell in code if is_answer(cell) for n in defined_names(cell.source)}
    return answers - {n for cell in code if not is_answer(cell) for n in defined_names(cell.source)}


def _waits_for(source: str, names: set[str]) -> bool:
    """Does the cell use one of these names when it is run, and not only in a function?

    Then it shows something of an answer, and is not among what is given before one.
    """
    waiting: list[ast.AST] = [_tree(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and node.id in names:
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


def _uses_given(answers: list[str], given: list[str], sources: dict[str, str]) -> bool:
    """Does a solution use a name that a given cell defines or imports?"""
    made = {name for cell in given for name in defined_names(sources[cell])}
    for cell in given:
        for node in ast.walk(_tree(sources[cell])):
            if isinstance(node, ast.Import | ast.ImportFrom):
                made |= {(a.asname or a.name).split(".")[0] for a in node.names}
    own = {name for answer in answers for name in defined_names(answer)}
    return any((made - own) & set(_names(answer)) for answer in answers)


def _names(source: str) -> list[str]:
    return [n.id for n in ast.walk(_tree(source)) if isinstance(n, ast.Name)]


def _tree(source: str) -> ast.Module:
    """The syntax of a cell, its magics left out; nothing, if it has none."""
    lines = [line for line in source.split("\n") if not line.lstrip().startswith(("%", "!"))]
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def defined_names(source: str) -> list[str]:
    """The functions, classes and variables that a cell defines at its top level."""
    names: list[str] = []
    for node in _tree(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return list(dict.fromkeys(names))


def _checked(declaration: dict[str, Any], where: str) -> Question:
    try:
        question = from_dict(declaration)
        compile(question.call, "call", "eval")
    except (TypeError, SyntaxError) as error:
        raise QuestionError(f"{where}: the question is not well declared: {error}.") from error
    if not question.cases or not question.results:
        raise QuestionError(f"{where}: the question has no cases, or no results.")
    if not all(re.fullmatch(r"[\w.\-]+", part) for part in (question.id, *question.results)):
        raise QuestionError(
            f"{where}: an id may have letters, digits, _, - and . in it; {question.ids[0]!r} has others."
        )
    if not question.answers:
        raise QuestionError(f"{where}: there is no answer cell above it.")
    return question


def _exercises(notebook: Notebook, name: str) -> dict[str, dict[str, Any]]:
    """For each Exercise with a check cell: its declaration as a question."""
    sources, names = [], []
    theirs = _of_students(notebook)
    for cell in notebook.cells:
        if cell.cell_type != "code" or is_answer(cell):
            continue
        if is_graded(cell):
            names.append(_exercise_of(cell))
            sources += hidden_tests(cell)  # where wrong answers are registered
        elif not _waits_for(cell.source, theirs):
            sources.append(cell.source)
    try:
        found: dict[str, dict[str, Any]] = ask(
            sources, "questions", [n for n in names if n], sources
        )
    except GivenCellsFailed as error:
        raise QuestionError(f"{name}: {error}") from None
    return found
