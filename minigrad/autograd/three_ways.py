"""Three ways to differentiate a function: numeric, symbolic and automatic.

    numeric     (f(x + h) - f(x - h)) / 2h: two calls of f per input. No choice of h removes the
                error: a small h has large rounding errors, a large h is not local
    symbolic    a formula for the derivative, from the formula of f: exact, but it can get
                much larger than f, because shared parts are repeated wherever they occur
    automatic   the chain rule applied to numbers, operation by operation: exact up to rounding,
                at the cost of a few evaluations of f, for any number of inputs

`three_ways(f, x, y, ...)` does all three for a function of numbers and shows them side by
side. It finds the formula by recording f once, for which it needs SymPy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.autograd import reverse_ad
from minigrad.autograd.numerical import numerical_jacobian
from minigrad.core import modes
from minigrad.core.tensor import Tensor, wrap

IN_SYMPY = "sqrt exp log sin cos tan tanh sinh cosh asin acos atan".split()  # with the same name
SYMBOLIC: dict[str, Callable[..., Any]] = {
    "add": lambda s, x, y: x + y, "sub": lambda s, x, y: x - y, "mul": lambda s, x, y: x * y,
    "div": lambda s, x, y: x / y, "neg": lambda s, x: -x, "pow": lambda s, x, y: x**y,
    "square": lambda s, x: x**2, "abs": lambda s, x: s.Abs(x), "reciprocal": lambda s, x: 1 / x,
    "sigmoid": lambda s, x: 1 / (1 + s.exp(-x)), "relu": lambda s, x: s.Max(x, 0),
    "maximum": lambda s, x, y: s.Max(x, y), "minimum": lambda s, x, y: s.Min(x, y),
    "positive": lambda s, x: x, "sum": lambda s, x: x, "mean": lambda s, x: x, "clone": lambda s, x: x,
    "log1p": lambda s, x: s.log(1 + x), "expm1": lambda s, x: s.exp(x) - 1, "rsqrt": lambda s, x: 1 / s.sqrt(x),
}  # fmt: skip
SYMBOLIC |= {name: lambda s, x, name=name: getattr(s, name)(x) for name in IN_SYMPY}


@dataclass
class ThreeWays:
    """The derivatives of f with respect to each input, computed in three ways.

    numeric, symbolic, automatic   one number per input; symbolic is None without SymPy
    formulas                       the symbolic derivatives, as text
    operations                     the number of operations in f, and in all its derivative formulas
    """

    numeric: list[float]
    symbolic: list[float] | None
    automatic: list[float]
    formulas: list[str] | None
    operations: tuple[int, int] | None

    def __repr__(self) -> str:
        rows = [("input", "numeric", "symbolic", "automatic", "formula")]
        for k, (n, a) in enumerate(zip(self.numeric, self.automatic, strict=True)):
            s = "needs sympy" if self.symbolic is None else f"{self.symbolic[k]:.12g}"
            formula = "" if self.formulas is None else self.formulas[k]
            shown = formula if len(formula) <= 60 else formula[:57] + "..."
            rows.append((str(k), f"{n:.12g}", s, f"{a:.12g}", shown))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        if self.operations is not None:
            f, d = self.operations
            lines.append(f"f has {f} operations, the formulas of its derivatives have {d}")
        return "\n".join(lines)


class _Formula(modes.Observer):
    """An observer that turns the recorded operations into formulas."""

    def __init__(self, sympy: Any, inputs: list[Tensor]) -> None:
        self.sympy = sympy
        self.symbols = sympy.symbols(f"x:{len(inputs)}")
        self.known: dict[int, Any] = {id(x): s for x, s in zip(inputs, self.symbols, strict=True)}
        # Keep every tensor that has a formula alive, so that its id is not reused.
        self.kept: list[Any] = list(inputs)

    def forward(
        self, op: Any, operands: tuple[Any, ...], result: object, params: object, inplace: bool
    ) -> None:
        rule = SYMBOLIC.get(op.name)
        if rule is None or inplace:
            raise ValueError(
                f"three_ways: there is no formula for {op.name}{'_ in place' if inplace else ''}."
            )
        terms = [self.known[id(x)] if id(x) in self.known else self._number(x) for x in operands]
        self.known[id(result)] = rule(self.sympy, *terms)
        self.kept.append(result)

    def _number(self, x: Any) -> Any:
        value = float(x.array)
        return self.sympy.Integer(int(value)) if value == int(value) else self.sympy.Float(value)


def three_ways(f: Callable[..., Tensor], *x: float, h: float = 1e-6) -> ThreeWays:
    """The derivatives of f, a function of numbers, computed in three ways.

    f    takes one scalar tensor for each number, and returns a scalar tensor
    x    the point, one number per input
    h    the step of the differences

    >>> three_ways(lambda x, y: x * y + x.sin(), 2.0, 3.0).automatic == [3.0 + float(np.cos(2.0)), 2.0]
    True
    """
    inputs = [wrap(np.float64(v)).requires_grad_() for v in x]
    z = f(*inputs)
    grads = reverse_ad.grad(z, inputs, materialize_grads=True)
    automatic = [g.item() for g in grads if g is not None]
    numeric = [numerical_jacobian(f, tuple(inputs), k, h)[0].item() for k in range(len(x))]
    try:
        import sympy
    except ImportError:
        return ThreeWays(numeric, None, automatic, None, None)
    plain = [wrap(np.float64(v)) for v in x]
    recorder = _Formula(sympy, plain)
    with modes.within("observer", recorder):
        result = f(*plain)
    formula = recorder.known[id(result)]
    derivatives = [sympy.diff(formula, s) for s in recorder.symbols]
    at = dict(zip(recorder.symbols, x, strict=True))
    return ThreeWays(
        numeric,
        [float(d.subs(at).evalf()) for d in derivatives],
        automatic,
        [str(d) for d in derivatives],
        (int(sympy.count_ops(formula)), sum(int(sympy.count_ops(d)) for d in derivatives)),
    )
