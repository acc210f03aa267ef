"""Detect answers that use finite differences, from their source. A person has to confirm.

The values do not reveal it: high-order differences, or differences with a complex step, are exact up
to rounding. But every such method uses a step, so we look for one:

    f(x + h) - f(x - h)            a step, or a multiple of it, is both added and subtracted,
    f(x + k * h), f(x + 1j * h)    or multiples are added in a loop, or an imaginary step is added;
    ... / (2 * h)                  and something is divided by the step, or a product with it

A derivative by a complex step is read from an imaginary part, which is enough to find it, however the step is made.

A parameter of the function that the exercise asks for does not count as a step, and a question whose solution
uses differences is not searched at all. Only the statements that the answer depends on are: a student may check
a gradient with differences. A hidden step is not found. An analytic gradient does not divide by a quantity
that it also adds to its inputs.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from minigrad.grading.release import syntax

MAX_STEP = 0.1  # a literal counts as a step up to this size
MAX_NODES = 300_000  # syntax nodes examined in sums; an answer with more is flagged
MAX_USED = 500  # statements that an answer depends on; if there are more, all are examined
IMAGINARY = {"imag", "angle", "conj", "conjugate"}  # what reads the imaginary part of a number
Step = str | float


def uses_finite_differences(source: str, call: str) -> bool:
    """Does the source contain a step that is added, subtracted and divided by?

    call    the graded expression; parameters of the functions that it calls are not steps
    """
    try:
        return _is_by_differences(source, call)
    except syntax.NO_PROGRAM:  # a product of thousands of factors, a number of thousands of digits
        return True


def _is_by_differences(source: str, call: str) -> bool:
    graded = {*syntax.names_in(ast.parse(call))}
    nodes = [node for s in _used(syntax.statements_of(source), graded) for node in ast.walk(s)]
    if any(IMAGINARY & {getattr(n, "id", ""), getattr(n, "attr", "")} for n in nodes):
        return True
    inputs, parameters, counters = set(), set(), set()
    for node in nodes:
        if isinstance(node, syntax.Function | ast.Lambda):
            own = {a.arg for a in node.args.args[: len(node.args.args) - len(node.args.defaults)]}
            parameters |= own
            inputs |= own if getattr(node, "name", None) in graded else set()
        elif isinstance(node, ast.For | ast.comprehension):
            counters |= set(syntax.names_in(node.target))
    made: defaultdict[str, set[str]] = defaultdict(set)  # name -> the names in its definition
    for node in nodes:
        if isinstance(node, ast.Assign):
            for name in syntax.names_bound(node):
                made[name] |= set(syntax.names_in(node.value))
    signs: defaultdict[tuple[str, Step], set[str]] = defaultdict(set)
    room = MAX_NODES
    for base, move, sign in _sums(nodes):
        factors = list(_factors(move))
        steps = _steps(factors, made)
        room -= len(steps) + sum(1 for _ in ast.walk(base))
        if room < 0:
            return True
        repeated = any(isinstance(f, ast.Name) and f.id in counters for f in factors)
        many = repeated and bool(parameters & set(syntax.names_in(base)))
        many |= any(isinstance(f, ast.Constant) and isinstance(f.value, complex) for f in factors)
        for step in steps - set(syntax.names_in(base)):
            where = ast.dump(base.slice) if isinstance(base, ast.Subscript) else ast.dump(base)
            signs[where, step] |= {"+", "-"} if many else {sign}
    moved = {step for (_, step), both in signs.items() if len(both) == 2} - inputs
    return bool(moved & _divisors(nodes, moved))


def _used(statements: list[ast.stmt], graded: set[str]) -> list[ast.stmt]:
    """The statements that these names depend on; all of them, if none defines such a name, or very many do."""
    makers = [(s, syntax.names_bound(s)) for s in statements]
    needed = syntax.needed_statements({"*", *graded}, makers, MAX_USED)
    return needed if 0 < len(needed) <= MAX_USED else statements


def _sums(nodes: list[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """Yield for each sum or difference: the base, the offset, and the sign."""
    for node in nodes:
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
            sign = "+" if isinstance(node.op, ast.Add) else "-"
            if isinstance(node, ast.AugAssign):
                yield node.target, node.value, sign
                continue
            yield node.left, node.right, sign
            if sign == "+":
                yield node.right, node.left, sign


def _factors(part: ast.expr) -> Iterator[ast.expr]:
    """Yield the factors of a product, ignoring signs."""
    if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult):
        yield from (*_factors(part.left), *_factors(part.right))
    elif isinstance(part, ast.UnaryOp):
        yield from _factors(part.operand)
    else:
        yield part


def _steps(factors: list[ast.expr], made: Mapping[str, set[str]]) -> set[Step]:
    """Possible steps in a product: its names, the names that define a lone name, small numbers."""
    names = {f.id for f in factors if isinstance(f, ast.Name)}
    within = {n for name in names for n in made.get(name, ())} if len(factors) == 1 else set()
    numbers = {f.value for f in factors if isinstance(f, ast.Constant)}
    numbers |= {abs(n) for n in numbers if isinstance(n, complex)}
    small = {n for n in numbers if isinstance(n, float) and 0 < n <= MAX_STEP}
    return {*names, *within, *small}


def _divisors(nodes: list[ast.AST], steps: set[Step]) -> set[Step]:
    """The steps that occur in a divisor, alone or in a product."""
    found: set[Step] = set()
    for node in nodes:
        if not isinstance(node, ast.BinOp | ast.AugAssign) or not isinstance(node.op, ast.Div):
            continue
        factors = list(_factors(node.right if isinstance(node, ast.BinOp) else node.value))
        found |= {f.id for f in factors if isinstance(f, ast.Name)}
        numbers = [f.value for f in factors if isinstance(f, ast.Constant)]
        found |= {s for n in numbers if isinstance(n, float) for s in (n, n / 2) if s in steps}
    return found
