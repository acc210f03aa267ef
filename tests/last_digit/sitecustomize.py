"""Another CPU, as far as the last digit: a switch for tests.

    MINIGRAD_LAST_DIGIT=7 PYTHONPATH=tests/last_digit pytest notebooks minigrad

Two machines agree on x + y and x * y, but not on the last digit of a matrix product, a sum or an
exponential: how these round depends on the order of the additions and on the polynomial in use.
With this folder on the path every Python that starts (pytest, the kernels of notebooks, whatever
they start in turn) moves the entries of these results by one unit in the last place, up, down or
not at all. The number is the seed. What is stored or compared must come out the same.

Only what is rounded is moved. The sum of 1, 2 and 3 is 6 in any order and on any machine, and so
is every sum whose terms and partial sums need no more bits than the type has; exp(0) is 1.

The noise is put in where minigrad is loaded: in the syntax tree of its modules and of the code that
it generates, `x @ y` becomes `last_digit(x @ y, ...)`. So it reaches rules, fused ops and programs,
and the package knows nothing of it.
"""

import ast
import builtins
import importlib.abc
import importlib.machinery
import os
import sys

SUMS = {"matmul", "dot", "einsum", "tensordot", "sum", "mean"}  # np.sum(x), x.sum()
METHODS = {"dot", "sum", "mean"}
SMOOTH = {"exp", "expm1", "log", "log1p", "tanh", "sin", "cos"}
NOT_ARRAYS = {"math", "ops", "cmath"}  # math.exp; ops.exp is an op, which is moved in its row


class Moved(ast.NodeTransformer):
    """`f(x)` becomes `last_digit(f(t := x), lambda t: f(t), t)`: result, how, and from what."""

    def __init__(self, bare_names: bool) -> None:
        self.bare_names, self.temporaries = bare_names, 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A row that is only its docstring gets as its code the call that it stands for."""
        row = node.decorator_list[0] if node.decorator_list and len(node.body) == 1 else None
        if isinstance(row, ast.Call) and row.args and ast.unparse(row.args[0]).startswith("np."):
            operands = [name(a.arg) for a in node.args.args]
            settings = [ast.keyword(a.arg, name(a.arg)) for a in node.args.kwonlyargs]
            function = ast.parse(ast.unparse(row.args[0]), mode="eval").body
            if ast.get_docstring(node):
                node.body.append(ast.Return(ast.Call(function, operands, settings)))
                ast.fix_missing_locations(node)
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        x, y = self.temporary(), self.temporary()
        again = ast.BinOp(name(x), node.op, name(y))
        node.left, node.right = keep(x, node.left), keep(y, node.right)
        return moved(node, again, [x, y])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        kind, on = self.rounds(node.func)
        if kind is None:
            return node
        if kind in SMOOTH:
            return moved(node, None, [])
        arguments, temporaries, again = [], [], []
        for k, argument in enumerate(node.args):
            starred = isinstance(argument, ast.Starred)
            value = argument.value if starred else argument
            operand = k < (on is None) + (kind in ("matmul", "dot", "tensordot"))
            operand = k > 0 if kind == "einsum" else operand
            if operand:
                t = self.temporary()
                temporaries.append(t)
                kept, value = keep(t, value), name(t)
            else:
                kept = value
            arguments.append(ast.Starred(kept, ast.Load()) if starred else kept)
            again.append(ast.Starred(value, ast.Load()) if starred else value)
        if kind not in ("einsum", "tensordot"):
            again = again[: 2 if on is None else 1]  # without the type and `out`
        func = node.func
        if on is not None:
            t = self.temporary()
            temporaries.insert(0, t)
            node.func = ast.Attribute(keep(t, on), kind, ast.Load())
            func = ast.Attribute(name(t), kind, ast.Load())
        node.args = arguments
        settings = [k for k in node.keywords if k.arg not in ("out", "dtype")]
        return moved(node, ast.Call(func, again, settings), temporaries)

    def rounds(self, func: ast.AST) -> "tuple[str | None, ast.AST | None]":
        """The kind of function that is called, and the array whose method it is, if it is one."""
        if isinstance(func, ast.Name) and self.bare_names:
            return (func.id if func.id in SMOOTH | (SUMS - {"sum"}) else None), None
        if not isinstance(func, ast.Attribute):
            return None, None
        owner = func.value.id if isinstance(func.value, ast.Name) else ""
        if func.attr == "reduce" and ast.unparse(func.value) in ("np.add", "add"):
            return "sum", None
        if owner == "np" and func.attr in SUMS | SMOOTH:
            return func.attr, None
        if owner not in NOT_ARRAYS | {"np"} and func.attr in METHODS:
            return func.attr, func.value
        return None, None

    def temporary(self) -> str:
        self.temporaries += 1
        return f"_{self.temporaries}"


def name(t: str) -> ast.expr:
    return ast.Name(t, ast.Load())


def keep(t: str, value: ast.expr) -> ast.expr:
    return ast.NamedExpr(ast.Name(t, ast.Store()), value)


def moved(result: ast.expr, again: "ast.expr | None", temporaries: "list[str]") -> ast.expr:
    """The call of `last_digit`, at the place of the result."""
    how: ast.expr = ast.Constant(None)
    if again is not None:
        nothing: dict = {"posonlyargs": [], "kwonlyargs": [], "kw_defaults": [], "defaults": []}
        how = ast.Lambda(ast.arguments(args=[ast.arg(t) for t in temporaries], **nothing), again)
    call = ast.Call(name("last_digit"), [result, how, *map(name, temporaries)], [])
    return ast.fix_missing_locations(ast.copy_location(call, result))


def noise(seed: int):
    """The function `last_digit(z, how, *operands)`."""
    import numpy as np

    source = np.random.default_rng(seed)
    drawn = source.integers(-1, 2, 1 << 20).astype(np.float32)  # read from a new place each time
    kinds = np.ndarray, np.generic

    def last_digit(z, how=None, *operands):
        if not isinstance(z, kinds) or z.dtype.kind != "f" or not z.size:
            return z
        arrays = []
        for x in operands:
            arrays += x if isinstance(x, list | tuple) else [x]
        if not all(type(x) is np.ndarray or isinstance(x, np.generic) for x in arrays):
            return z  # Tensors and values of programs are moved where they are computed
        with np.errstate(all="ignore"):
            unit, exact = np.spacing(z), None
            if how is None:
                exact = (z == 0) | (abs(z) == 1)
            elif isinstance(z, np.ndarray) and any(np.may_share_memory(z, x) for x in arrays):
                return z  # einsum("ij->ji") is a view
            elif abs(z).min() <= 2.0 ** (least := bits(z, arrays, few=8)):
                size = how(*[absolute(x) for x in operands])
                if np.any((0 < size) & (size <= 2.0**least)):
                    least = bits(z, arrays)
                exact = size <= 2.0**least
                unit = np.where(z == 0, np.spacing(size), unit)  # what is left where terms cancel
            steps = draw(z.size).reshape(z.shape)
            value = np.where(np.isfinite(z), z + steps * unit, z)
            value = (value if exact is None else np.where(exact, z, value)).astype(z.dtype)
        if isinstance(z, np.ndarray):
            z[...] = value
            return z
        return value[()]

    def draw(n):
        if n > drawn.size // 2:
            return source.integers(-1, 2, n).astype(np.float32)
        start = source.integers(drawn.size - n)
        return drawn[start : start + n]

    def bits(z, arrays, few=None):
        """The n for which sums below 2**n are added without rounding, in any order.

        A float32 holds 2**24 units (a float64 2**53), where a unit is a number that all terms are
        multiples of. The first entries mostly show already that n is very small.
        """
        if all(x.dtype.kind != "f" for x in arrays):
            return 1000
        return np.finfo(z.dtype).nmant + 1 + sum(unit_of(x.reshape(-1)[:few]) for x in arrays)

    def unit_of(x):
        """The greatest k such that all entries of x are multiples of 2**k."""
        least = 1000
        for v in x.astype(float).tolist():
            if v and v - v == 0:
                n, d = v.as_integer_ratio()
                least = min(least, (n & -n).bit_length() - d.bit_length())
        return 0 if least == 1000 else least

    def absolute(x):
        return [absolute(y) for y in x] if isinstance(x, list | tuple) else np.abs(x)

    return last_digit


def transformed(source, filename, bare_names=False):
    tree = Moved(bare_names).visit(ast.parse(source, filename))
    return builtins.compile(tree, filename, "exec", dont_inherit=True)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of minigrad from its transformed tree; cached byte code is left alone."""

    def get_code(self, fullname):
        return transformed(self.get_data(self.path), self.path)

    def exec_module(self, module):
        module.last_digit = last_digit
        if module.__name__ == "minigrad.static.codegen":  # where a program's source is compiled
            module.compile = generated
        super().exec_module(module)


def generated(source, filename, mode):
    return transformed("from sitecustomize import last_digit\n" + source, filename, bare_names=True)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] != "minigrad":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


_noise = []


def last_digit(*arguments):
    if not _noise:
        _noise.append(noise(int(os.environ["MINIGRAD_LAST_DIGIT"])))
    return _noise[0](*arguments)


if os.environ.get("MINIGRAD_LAST_DIGIT"):
    sys.meta_path.insert(0, Finder())
