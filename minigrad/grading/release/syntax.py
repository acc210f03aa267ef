"""Find the names that a cell defines and uses, from its syntax tree; nothing is run.

Uses only the standard library, like markers.py.
"""

import ast
import math
import re
import symtable
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import cast

NO_PROGRAM = (SyntaxError, ValueError, RecursionError, MemoryError)
MAX_PROGRAM = 500_000  # characters; the tree of a longer text could take gigabytes
# MAGIC: line magics, shell lines, and help queries such as  name? . ELSEWHERE: cell magics whose cell is not
# Python of this kernel. Possessive quantifiers (*+, ++) avoid quadratic backtracking on, say, 200,000 spaces.
MAGIC = re.compile(
    r"^([ \t]*+)(?:[%!?].*|[\w.*]++\?\??[ \t]*|[\w ,]++=[ \t]*[!%].*)$", re.MULTILINE
)
ELSEWHERE = re.compile(r"\s*%%(?!(time|capture|prun|check|autograd)\b)")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Import = ast.Import | ast.ImportFrom
Loop = ast.For | ast.AsyncFor | ast.While
Inner = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def squeezed(text: str) -> str:
    """The text without whitespace, in which a line is recognized after it was reindented."""
    return "".join(text.split())


def syntax_of(source: str) -> ast.Module | None:
    """Parse a cell, ignoring its magics; None if it is not Python, or too long."""
    if ELSEWHERE.match(source) or len(source) > MAX_PROGRAM:
        return None
    return _parsed(source) or _parsed(MAGIC.sub(r"\1pass", source))


def _parsed(source: str) -> ast.Module | None:
    try:
        allowed = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        return cast(ast.Module, compile(source, "cell", "exec", allowed, dont_inherit=True))
    except NO_PROGRAM:
        return None


def statements_of(source: str) -> list[ast.stmt]:
    """The statements of a cell; empty if it is not Python."""
    tree = syntax_of(source)
    return tree.body if tree else []


def names_bound(*statements: ast.AST, in_part: bool = True) -> set[str]:
    """The names that statements define, import (including "*"), or assign to, in whole or, unless you say so, in part.

    A bare method call may change its object, so `table.append(3)` counts as defining table, in part. An import from
    __future__ changes the whole cell, so it counts as "*".
    """
    made: set[str] = set()
    waiting = [*statements]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Function | ast.ClassDef):
            made.add(part.name)
        elif isinstance(part, Import):
            future = getattr(part, "module", "") == "__future__"
            made |= {"*"} if future else {(a.asname or a.name).split(".")[0] for a in part.names}
        elif not isinstance(part, Inner):
            waiting += ast.iter_child_nodes(part)
            if isinstance(getattr(part, "ctx", None), ast.Store):
                made |= _owner(part) if in_part or isinstance(part, ast.Name) else set()
            elif isinstance(part, ast.MatchAs | ast.MatchStar) and part.name:
                made.add(part.name)
            elif in_part and isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
                method = part.value.func
                made |= _owner(method) if isinstance(method, ast.Attribute) else set()
    return made


def names_changed(function: ast.stmt) -> set[str]:
    """The names that the statements in a function or in a class's methods write into, its own ones included."""
    inside = (n for n in ast.walk(function) if isinstance(n, ast.stmt))
    return names_bound(*(n for n in inside if not isinstance(n, Function | ast.ClassDef)))


def changed_by(statement: ast.stmt, functions: Mapping[str, set[str]]) -> set[str]:
    """The names that a bare call, a decorator or a base class may change through one of these functions.

    functions    the names that each changes; classes are among them

    >>> register, call = statements_of("def register(f):\\n    RULES[f] = f\\nregister(abs)")
    >>> changed_by(call, {"register": names_changed(register)})
    {'RULES'}
    """
    called = [*getattr(statement, "decorator_list", []), *getattr(statement, "bases", [])]
    if isinstance(statement, ast.Expr):
        called.append(statement.value)
    changed: set[str] = set()
    for node in called:
        function = node.func if isinstance(node, ast.Call) else node
        if isinstance(function, ast.Attribute):
            changed |= _owner(function)
        elif isinstance(function, ast.Name):
            changed |= functions.get(function.id, set())
    return changed


def _owner(part: ast.AST) -> set[str]:
    """The first name in an expression such as  name.attribute[index]."""
    while isinstance(part, ast.Attribute | ast.Subscript):
        part = part.value
    return {part.id} if isinstance(part, ast.Name) else set()


def names_in(*parts: ast.AST) -> Iterator[str]:
    """All names that occur in these nodes."""
    return (n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name))


def unparsed(statement: ast.AST) -> str:
    """Unparse a statement; "" if it is nested too deeply."""
    try:
        return ast.unparse(statement)
    except NO_PROGRAM:
        return ""


def without_modules(source: str, modules: Collection[str], above: Sequence[str] = ()) -> str:
    """The source without these modules' imports, and without what cannot run then; "" if that changes nothing.

    That is annotations, decorators, classes that derive from theirs, functions whose defaults use them, and statements
    such as  plt.style.use("dark") . Names that are made with a module count, too. A function that uses it only inside
    stays, and raises only if it is called.

    above    the sources that ran before it, which may have imported the modules
    """
    absent: set[str] = set()  # the names that are not defined without the modules
    whole = ast.Module(statements_of(source), [])
    before = unparsed(whole)
    try:
        for earlier in above:
            _runnable(statements_of(earlier), modules, absent)
        after = unparsed(ast.Module(_runnable(whole.body, modules, absent), []))
    except RecursionError:  # as many branches of an `if` as only a hostile program has
        return ""
    return "" if after == before else after


def _runnable(
    statements: Sequence[ast.stmt], modules: Collection[str], absent: set[str]
) -> list[ast.stmt]:
    """The statements that can run without the modules; `absent` is updated."""
    kept: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, Import):
            of = getattr(statement, "module", None)
            absent |= names_bound(statement)
            here = [a for a in statement.names if (of or a.name).split(".")[0] not in modules]
            statement.names = here
            absent -= names_bound(statement)
            kept += [statement] if here else []
            continue
        lacks = False
        if isinstance(statement, ast.If | ast.With | Loop):
            _drop_in_blocks(statement, modules, absent)
        if isinstance(statement, Function | ast.ClassDef):
            _drop_decoration(statement, absent)
            made, lacks = {statement.name}, bool(absent & names_read(statement))
        else:  # names_bound would add x for  x[0] = plt.figure() ,  which exists without it
            names = (n for n in ast.walk(statement) if isinstance(n, ast.Name))
            made = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        fails = waits_for([statement], absent)
        (absent.update if lacks or fails else absent.difference_update)(made)
        kept += [] if fails else [statement]
    return kept


def _drop_in_blocks(statement: ast.stmt, modules: Collection[str], absent: set[str]) -> None:
    """Remove from its blocks what cannot run. A name that one branch of an `if` defines counts as defined."""
    before, after = set(absent), list[set[str]]()
    for part in ("body", "orelse"):
        if block := getattr(statement, part, []):
            lacking = set(before)
            setattr(statement, part, _runnable(block, modules, lacking) or [ast.Pass()])
            after.append(lacking)
    both = isinstance(statement, ast.If) and len(after) == 2
    absent.clear()
    absent |= after[0] & after[1] if both else set().union(*after)


def _drop_decoration(definition: ast.stmt, names: set[str]) -> None:
    """Remove the decorators, and the annotations of functions, that use one of these names."""
    for node in ast.walk(definition):
        if isinstance(node, Function | ast.ClassDef):
            node.decorator_list = [d for d in node.decorator_list if not names & {*names_in(d)}]
        for kind in ("annotation", "returns") if isinstance(node, ast.arg | Function) else ():
            hint = getattr(node, kind, None)
            if hint is not None and names & {*names_in(hint)}:
                setattr(node, kind, None)


def imported_names(source: str) -> dict[str, str]:
    """The names that a cell imports anywhere, each with its module's package.

    >>> imported_names("if 1:\\n    from scipy.special import expit as sigmoid")
    {'sigmoid': 'scipy'}
    """
    imports = [n for s in statements_of(source) for n in ast.walk(s) if isinstance(n, Import)]
    return {
        (a.asname or a.name).split(".")[0]: (getattr(n, "module", "") or a.name).split(".")[0]
        for n in imports
        for a in n.names
    }


def names_read(*statements: ast.stmt) -> set[str]:
    """The global names that these statements read, or declare with `global`: not the local variables of functions."""
    try:
        tables = [symtable.symtable(unparsed(s), "cell", "exec") for s in statements]
    except NO_PROGRAM:
        return set()
    taken: set[str] = set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        top = table.get_type() == "module"
        for s in table.get_symbols():
            if s.is_declared_global() or (s.is_referenced() and (top or s.is_global())):
                taken.add(s.get_name())
    return taken


def needed_statements(
    names: set[str], statements: Sequence[tuple[ast.stmt, set[str]]], limit: float = math.inf
) -> list[ast.stmt]:
    """The statements that define these names, and those that they depend on, in order.

    statements    each with the names that it defines
    limit         the search stops once more than this are found
    """
    makers: defaultdict[str, list[int]] = defaultdict(list)
    for k, (_, made) in enumerate(statements):
        for name in made:
            makers[name].append(k)
    waiting, seen = set(names), set(names)
    chosen: set[int] = set()
    while waiting:
        for k in makers[waiting.pop()]:
            if k not in chosen and len(chosen) <= limit:
                chosen.add(k)
                waiting |= names_read(statements[k][0]) - seen
                seen |= waiting
    return [statements[k][0] for k in sorted(chosen)]


def waits_for(statements: Sequence[ast.stmt], names: set[str]) -> bool:
    """Do the statements use one of these names when they run, not only inside a function?"""
    waiting: list[ast.AST] = [*statements]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and node.id in names:
            return True
        if isinstance(node, Function | ast.Lambda):  # its decorators and defaults run at once
            waiting += [node.args, *getattr(node, "decorator_list", ())]
        else:
            waiting += ast.iter_child_nodes(node)
    return False


def defined_names(source: str) -> list[str]:
    """The functions, classes and variables that a cell defines at its top level."""
    kinds = Function | ast.ClassDef | ast.Assign | ast.AnnAssign
    own = [s for s in statements_of(source) if isinstance(s, kinds)]
    return list(dict.fromkeys(name for s in own for name in sorted(names_bound(s))))
