'''The markers around solutions, and the stubs that replace them.

nbgrader's markers, anywhere in a line:

    ### BEGIN SOLUTION              replaced by a stub with the marker's indentation
    ### END SOLUTION
    ### BEGIN HIDDEN TESTS          removed
    ### END HIDDEN TESTS
    === BEGIN MARK SCHEME ===       removed; for a task that is marked by a person
    === END MARK SCHEME ===

otter's markers, in code cells:

    x = 2 # SOLUTION                x = ...
    print(x) # SOLUTION             ...
    x = 2 # SOLUTION NO PROMPT      removed, as is a  # BEGIN SOLUTION NO PROMPT  region
    # BEGIN SOLUTION                replaced by ...
    # END SOLUTION
    """ # BEGIN PROMPT              the text between these two is shown to students, without the
    """ # END PROMPT                quotation marks
    # HIDDEN                        first line of a check cell: the whole cell is hidden

A marker with a single # is otter's, one with ### is nbgrader's; this decides which stub is used.

nbgrader's stub raises NotImplementedError. It is left out below  predicted = {"a": ..., "b": ...},  where
students replace the dots: it would raise although they did. Remaining dots are not an answer. In the body of
a class, outside its methods, the stub is `...`, which does no harm if it remains below an answer.

    cleared          the source that a student gets
    hidden           the lines that a student must not see
    check_markers    rejects a region without an end, or inside another

Sources: nbgrader 0.9, preprocessors ClearSolutions, ClearHiddenTests and ClearMarkScheme; otter-grader, "Otter Assign
Format v1".
'''

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from itertools import takewhile
from typing import NamedTuple

from minigrad.grading.release.syntax import Function, names_bound, statements_of, syntax_of

RAISE = "raise NotImplementedError()"
CODE_STUB = f"# YOUR CODE HERE\n{RAISE}"
TEXT_STUB = "YOUR ANSWER HERE"
PROMPT = "..."  # otter's stub


class ReleaseError(ValueError):
    """An author's notebook cannot be released; the message names the cell and a fix."""


class MarkerError(ReleaseError):
    """A BEGIN without an END, an END without a BEGIN, or nested regions."""


class MarkedRegion(NamedTuple):
    """The markers that begin and end a region, matched anywhere in a line."""

    begin: str
    end: str


SOLUTION = MarkedRegion("BEGIN SOLUTION", "END SOLUTION")
HIDDEN_TESTS = MarkedRegion("BEGIN HIDDEN TESTS", "END HIDDEN TESTS")
MARK_SCHEME = MarkedRegion("BEGIN MARK SCHEME", "END MARK SCHEME")
SHOWN = MarkedRegion("BEGIN PROMPT", "END PROMPT")
LINE = re.compile(r"#\s*SOLUTION(?P<none>\s+NO\s+PROMPT)?\s*$")
OTTERS = re.compile(r"\s*#\s*BEGIN SOLUTION(?P<none>\s+NO\s+PROMPT)?\s*$")
QUOTES = re.compile(r'\s*("""|\'\'\');?\s*#\s*(BEGIN|END) PROMPT\s*$')
HIDDEN_CELL = re.compile(r"\s*#\s*HIDDEN(\s+TESTS?)?\s*$")


def cleared(source: str, stub: str, *, code: bool = True) -> tuple[str, bool]:
    """Remove solutions and hidden tests; also return whether there was a solution."""
    if code and _hidden_cell(source):
        return "", False
    lines: list[str] = []
    inside = replaced = False
    given = source.split("\n")
    for number, line in enumerate(given, 1):
        indent = line[: len(line) - len(line.lstrip())]
        if SOLUTION.begin in line:
            inside = replaced = True
            otters = OTTERS.fullmatch(line) if code else None
            if otters is None and not (code and _fills_in_dots(given[number:], lines)):
                shown = stub.replace(RAISE, PROMPT) if _is_in_class(source, number) else stub
                lines += [indent + s for s in shown.split("\n")]
            elif otters is not None and not otters["none"]:
                lines.append(indent + PROMPT)
        elif SOLUTION.end in line:
            inside = False
        elif inside or (code and QUOTES.fullmatch(line)):
            continue
        elif code and (marked := LINE.search(line)):
            replaced = True
            lines += [] if marked["none"] else [_without_value(line[: marked.start()])]
        else:
            lines.append(line)
    for region in (HIDDEN_TESTS, MARK_SCHEME):
        lines = [line for line, inside in _regions(lines, region) if not inside]
    return "\n".join(lines), replaced


def _fills_in_dots(below: list[str], above: list[str]) -> bool:
    """Does the solution at the head of `below` only assign to names that have dots above it?"""
    solution = "\n".join(takewhile(lambda line: SOLUTION.end not in line, below))
    filled = names_bound(*statements_of(solution))
    shown = statements_of("\n".join(above))
    dotted = (s for s in shown if any(getattr(n, "value", None) is ... for n in ast.walk(s)))
    return bool(filled) and filled <= names_bound(*dotted)


def _is_in_class(source: str, number: int) -> bool:
    """Is this line in the body of a class, outside its methods?"""
    nodes = ast.walk(syntax_of(source) or ast.Module([], []))
    blocks = [n for n in nodes if isinstance(n, Function | ast.ClassDef)]
    around = [n for n in blocks if n.lineno < number <= (n.end_lineno or 0)]
    return isinstance(max(around, key=lambda n: n.lineno, default=None), ast.ClassDef)


def _regions(
    lines: list[str], region: MarkedRegion, inside: bool = False
) -> Iterator[tuple[str, bool]]:
    """Yield the lines other than this region's markers, and whether each is inside the region."""
    for line in lines:
        if region.begin in line or region.end in line:
            inside = region.begin in line
        else:
            yield line, inside


def _without_value(line: str) -> str:
    """Replace a statement as otter does: x = ... for an assignment, ... for any other."""
    indent = line[: len(line) - len(line.lstrip())]
    statement = next(iter(statements_of(line.strip())), None)
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) and value is not None:
        target = line.strip().encode()[: value.col_offset].decode().rstrip("( ")
        return f"{indent}{target} {PROMPT}"
    return indent + PROMPT


def has_solution(source: str, *, code: bool = True) -> bool:
    """Does the source contain a solution marker?"""
    marked = code and any(LINE.search(line) for line in source.split("\n"))
    return SOLUTION.begin in source or bool(marked)


def has_hidden_tests(source: str) -> bool:
    """Is the cell, or a part of it, hidden from students?"""
    return HIDDEN_TESTS.begin in source or _hidden_cell(source)


def _hidden_cell(source: str) -> bool:
    """Does the source begin with otter's  # HIDDEN?"""
    first = next((line for line in source.split("\n") if line.strip()), "")
    return HIDDEN_CELL.fullmatch(first) is not None


def hidden(source: str, region: MarkedRegion, *, code: bool = True) -> Iterator[str]:
    """Yield the lines of its solutions, hidden tests or mark scheme."""
    whole = region is HIDDEN_TESTS and code and _hidden_cell(source)
    for line, inside in _regions(source.split("\n"), region, whole):
        if inside and not HIDDEN_CELL.fullmatch(line):
            yield line
        elif region is SOLUTION and code and (marked := LINE.search(line)):
            yield line[: marked.start()].rstrip()


def check_markers(source: str, where: str, *, code: bool = True) -> None:
    """Raise MarkerError, naming the line, if the markers do not match."""
    regions = [SOLUTION, HIDDEN_TESTS, MARK_SCHEME]
    if code and any(QUOTES.fullmatch(line) for line in source.split("\n")):
        regions.append(SHOWN)
    for region in regions:
        _check(source, region, where)
    after, _ = cleared(source, CODE_STUB, code=code)
    if code and syntax_of(source) and not syntax_of(after):
        raise MarkerError(
            f"{where}: without the text between the markers, the rest is not valid Python. "
            "To fix it, put the markers around whole statements, and leave something in each block: "
            "a stub, or a prompt."
        )


def _check(source: str, region: MarkedRegion, where: str) -> None:
    begun = None
    sign = "#" if region is SHOWN else "###"
    for number, line in enumerate(source.split("\n"), 1):
        if region.begin in line:
            if begun is not None:
                raise MarkerError(
                    f"{where}, line {number}: {sign} {region.begin} inside the region that began in line {begun}. "
                    f"To fix it, write {sign} {region.end} before line {number}, or remove one of the two."
                )
            begun = number
        elif region.end in line:
            if begun is None:
                raise MarkerError(
                    f"{where}, line {number}: {sign} {region.end} without {sign} {region.begin} above it."
                )
            begun = None
    if begun is not None:
        raise MarkerError(
            f"{where}: the region that begins in line {begun} has no {sign} {region.end}."
        )


def without_comment(line: str) -> str:
    """Strip the comment and surrounding spaces from a line of code."""
    with suppress(tokenize.TokenError, SyntaxError):  # the line is part of a longer statement
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type == tokenize.COMMENT and token.start[0] == 1:
                return line.strip()[: token.start[1]].strip()
    return line.strip()
