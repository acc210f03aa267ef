"""Find the statements in a student's other cells that an answer depends on.

An answer may use a helper, an import, a constant or a class from a separate cell. If it passes the
check in the notebook, it should pass here, too. So we run the statements that define the names it
uses, directly or indirectly, together with the answer, in notebook order; statements that use the
answer itself run after it. A statement also defines what it changes: it may fill a table, or register a
function in it. A cell  %%writefile NAME.py  defines a module. Everything else is left out: statements that
define nothing, and those that would redefine a name of the exercise.

Names are found by static analysis. The carried statements run in the sandbox like the answer; they
could have been written in the answer cell itself, so they grant no additional access.
"""

import ast
import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from minigrad.grading.release import syntax
from minigrad.grading.release.bundles import BundleCell, ids_of
from minigrad.grading.run.notebook import MAX_PARSED, Cells

MAX_STATEMENTS = 500  # carried statements for one answer
PLAIN = ast.Name | ast.Lambda | ast.Constant | ast.Dict | ast.List  # it takes no time to assign one
MAX_FILES = 50  # modules written by cells
FILE = re.compile(
    r"\s*%%(?:write)?file[ \t]+(?P<more>-a[ \t]+)?(?P<path>[\w./-]{1,80}\.py)[ \t]*\n"
)


@dataclass
class Carried:
    """The statements to run with an answer.

    files      the modules that  %%writefile  cells write, by path; they are written first
    imports    run before the given cells, so that they cannot redefine given names
    above      run before the answer
    below      run after the answer
    names      the names that these statements define
    cells      the numbers of the cells they come from, counted from 1
    refused    given names that the answer uses and that a student's cell tries to redefine
    """

    files: dict[str, str] = field(default_factory=dict)
    imports: list[str] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """Notes for the report."""
        found = []
        if self.names:
            where = f"cell {_some([str(number) for number in self.cells])}"
            names = [name if name != "*" else "an import of *" for name in self.names]
            found.append(f"graded with the answer, from {where}: {_some(names)}")
        if self.refused:
            found.append(f"{_some(self.refused)}: the exercise's own definition is used, not yours")
        return found


def _some(names: list[str]) -> str:
    shown = (name if len(name) <= 60 else f"{name[:57]}..." for name in names[:12])
    return ", ".join(shown) + (" and others" if len(names) > 12 else "")


def find_carried(
    answer: str, others: Cells, layout: list[BundleCell], given: list[str], place: int = 0
) -> Carried:
    """Find the statements that an answer depends on.

    answer    the source of the answer
    others    the other cells of the submission
    layout    the cells of the exercise
    given     the sources of the given cells that run before the answer
    place     the position of the answer's first cell
    """
    own = syntax.statements_of(answer)
    made = syntax.names_bound(*own, in_part=False)
    wanted = syntax.names_read(*own) - made
    bound = syntax.names_bound(*(s for source in given for s in syntax.statements_of(source)))
    packages = {name: of for source in given for name, of in syntax.imported_names(source).items()}
    given_names = {name: packages.get(name, "") for name in bound}
    candidates = list(_candidates(others, layout, given_names, place))
    parts = (s for s in own if isinstance(s, syntax.Function | ast.ClassDef))
    classes = {s.name: syntax.names_bound(*s.body) for s in parts}
    ours = [
        c for c in candidates if not c.made & (made | c.barred) or _extends(c.statement, classes)
    ]
    makers = [(c.statement, c.made) for c in ours if own]
    chosen = syntax.needed_statements({"*", *wanted, *classes}, makers, MAX_STATEMENTS)
    refused = {n for c in candidates for n in c.made & c.barred & wanted if c.own}
    found = Carried(refused=sorted(refused - {"*"}))
    kept = set(map(id, chosen[:MAX_STATEMENTS]))
    for c in ours:
        if id(c.statement) not in kept:
            continue
        part = found.above
        if isinstance(c.statement, syntax.Import):
            part = found.imports
        elif syntax.waits_for([c.statement], made):
            part = found.below
            made |= c.made
        part.append(syntax.unparsed(c.statement))
        if getattr(c.statement, "module", "") == "__future__":
            continue  # it is carried in case it matters, which it rarely does
        found.names += sorted(c.made - {*found.names})
        found.cells += [c.cell] if c.cell not in found.cells else []
    _add_files(found, answer, others)
    return found


def _add_files(found: Carried, answer: str, others: Cells) -> None:
    """Add the modules written by cells that the answer or a statement imports, or another such module."""
    code = ((c, FILE.match(c.source)) for c in others if c.kind == "code")
    written = [(c, f, {*_parts(f["path"])}) for c, f in code if f][:MAX_FILES]
    waiting = ["\n".join((answer, *found.imports, *found.above, *found.below))]
    wanted: set[str] = set()
    while waiting:
        new = set(syntax.imported_names(waiting.pop()).values()) - wanted
        wanted |= new
        waiting += [c.source[f.end() :] for c, f, parts in written if new & parts]
    for cell, file, parts in written:
        if wanted & parts:
            path = file["path"] if file["path"][0] != "/" else PurePosixPath(file["path"]).name
            before = found.files.get(path, "") if file["more"] else ""
            found.files[path] = before + cell.source[file.end() :] + "\n"
            found.names += [path] if path not in found.names else []
            found.cells += [cell.position + 1]


def _parts(path: str) -> tuple[str, ...]:
    """The names by which a module may be imported, or its package."""
    return PurePosixPath(path).with_suffix("").parts


def _extends(statement: ast.stmt, classes: Mapping[str, set[str]]) -> bool:
    """Does it add to one of these classes or functions, as in  Stack.pop = pop  or  f.calls = 0?

    classes    the names that each defines itself, which are not replaced
    """
    match statement:
        case ast.Assign([ast.Attribute(ast.Name(owner), name)], value) if isinstance(value, PLAIN):
            return owner in classes and name not in classes[owner]
    return False


def _one_by_one(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, with  import math, numpy as np  as two: only one of them may import a given name."""
    for statement in statements:
        if not isinstance(statement, syntax.Import):
            yield _as_assignment(statement)
            continue
        for name in statement.names:
            one = copy.copy(statement)
            one.names = [name]
            yield one


def _as_assignment(statement: ast.stmt) -> ast.stmt:
    """setattr(Stack, "pop", pop) as  Stack.pop = pop; any other statement is returned unchanged."""
    match statement:
        case ast.Expr(ast.Call(ast.Name("setattr"), [owner, ast.Constant(str(name)), value], [])):
            if name.isidentifier():
                target = ast.Attribute(owner, name, ast.Store())
                return ast.copy_location(ast.Assign([target], value), statement)
    return statement


class _Candidate(NamedTuple):
    """A statement that might be carried.

    cell     the number of its cell, counted from 1
    made     the names that it defines or changes
    barred   names that it must not define
    own      was its cell written or edited by the student?
    """

    statement: ast.stmt
    cell: int
    made: set[str]
    barred: set[str]
    own: bool


def _candidates(
    cells: Cells, layout: list[BundleCell], given_names: Mapping[str, str], place: int
) -> Iterator[_Candidate]:
    """Yield the statements that define something.

    A loop or a bare call counts only if it changes a name of the student's: one that was defined above it, in
    any cell above the answer, or in the same cell below the answer. From an unchanged cell of the exercise, only
    imports count. Given names (`given_names`, each with its package, if imported) must not be redefined. If no cells
    are given, because they would reveal the answer, no name of the exercise may be carried.
    """
    fixed = [c for c in layout if not c["answer"]]
    theirs, ids = {name for c in fixed for name in c["names"]}, ids_of(*fixed)
    released = {syntax.squeezed(c["source"]) for c in layout}
    room = MAX_PARSED
    above: set[str] = set()
    functions: dict[str, set[str]] = {}
    for cell in cells:
        room -= len(cell.source)
        own = cell.squeezed not in released
        barred = {*given_names} | (theirs if ids & set(cell.ids) or not given_names else set())
        above = above if cell.position < place else set()
        imported: set[str] = set()
        code = cell.kind == "code" and room >= 0
        for statement in _one_by_one(syntax.statements_of(cell.source) if code else []):
            made = syntax.names_bound(statement)
            changed = syntax.changed_by(statement, functions) & above
            if isinstance(statement, syntax.Loop | ast.Expr):
                useful = bool((made | changed) & (above | imported))
            elif isinstance(statement, syntax.Import):
                names = syntax.imported_names(syntax.unparsed(statement))
                useful = not names.items() <= given_names.items()
                imported |= made
            else:
                useful = own
                above |= made - barred if own else set()
                if isinstance(statement, syntax.Function | ast.ClassDef):
                    functions[statement.name] = syntax.names_changed(statement)
            if useful:
                yield _Candidate(statement, cell.position + 1, made | changed, barred - {"*"}, own)
