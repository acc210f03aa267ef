"""Random programs of tensor statements, as Python text that can be run, recorded and printed.

    written(seed)      the text of a function `f(a, b, c)`; each of its statements runs eagerly
    compiled(text)     the function

A statement is drawn, tried on tensors, and kept if it runs. So programs write in place through
views of views, inside and outside `no_grad` blocks, cast, assign to parts, and reduce.
"""

import random
import warnings
from typing import Any

import minigrad

SHAPES = {"a": (2, 3), "b": (3,), "c": ()}
NAMES = {"tensor", "zeros", "ones", "where", "cat", "stack", "no_grad", "enable_grad", "maximum"}


VIEWS = [
    "{x}[{i}]", "{x}[{i}]", "{x}.T", "{x}.reshape(-1)", "{x}.view(-1)", "{x}.unsqueeze(0)", "{x}.squeeze()",
    "{x}.detach()", "{x}.transpose(0, -1)", "{x}.diagonal()", "{x}.expand(2, *{x}.shape)", "{x}.flatten()",
    "{x}.narrow(0, 0, 1)", "{x}.unbind(0)[0]", "{x}.split(1)[-1]", "{x}.chunk(2)[0]", "{x}.select(-1, 0)",
    "{x}.movedim(0, -1)", "{x}.data", "{x}.unfold(0, 2, 1)", "{x}.view_as({x})",
    "{x}.permute(*range({x}.ndim)[::-1])",
]  # fmt: skip

EXPRESSIONS = [
    "{x} + {y}", "{x} * {y}", "{x} - {y}", "{y} * {x}", "{x} / 2", "{x} * {x}", "{x} @ {y}", "{x}.sin()",
    "{x}.exp()", "{x}.tanh()", "{x}.relu()", "{x}.abs()", "{x}.sigmoid()", "{x}.sum()", "{x}.sum({d})",
    "{x}.mean({d}, keepdim=True)", "{x}.max()", "{x}.amax({d})", "{x}.max({d}).values", "{x}.prod()",
    "{x}.cumsum({d})", "{x}.sort({d}).values", "{x}.int()", "{x}.long()", "{x}.bool()", "{x}.float()",
    "{x}.double()", "{x}.clone()", "{x} > 0", "{x}.to(minigrad.float32)", "({x} > {y}).double()", "{x}.round()",
    "{x}.argmax({d})", "where({x} > 0, {x}, {y})", "cat([{x}.reshape(-1), {w}.reshape(-1)])",
    "stack([{x}, {x}])", "zeros(2, 3, dtype=minigrad.float64)", "ones(3, dtype=minigrad.float64)",
    "{x}.contiguous()", "{x}.masked_fill({x} > 0, {n})", "{x}.clamp(-1, 1)", "zeros(3)", "{x}.type_as({w})",
    "{x}.index_select(0, tensor([0, 1]))", "{x}.gather(0, tensor([0], dtype=minigrad.int64))",
    "maximum({x}, {w})",
]  # fmt: skip

WRITES = [
    "{x}.add_({y})", "{x}.mul_({y})", "{x}.sub_({y})", "{x} += {y}", "{x} *= {y}", "{x}.sin_()",
    "{x}[{i}] = {y}", "{x}[{i}] = {y}", "{x}[{i}] *= {y}", "{x}[{x} > 0] = {n}", "{x}.zero_()",
    "{x}.fill_({n})", "{x}.copy_({y})", "{x}.reshape(-1)[:1].mul_({y})", "{x}.detach().add_({y})",
    "{x}.T.mul_({y})", "{x}.clamp_(-1, 1)", "{x}.data.mul_({y})", "{x}.masked_fill_({x} > 0, {n})",
    "{x}.exp_()", "{x}.relu_()", "{x}[...] = {n}", "{x}.diagonal().add_({y})",
    "{x}.index_add_(0, tensor([0]), {w}[:1])", "{x}.unsqueeze(0).add_({y})", "{x}.unbind(0)[0].mul_(2)",
    "{x}.select(0, 0).copy_({y})", "{x}.data[...] = {n}",
]  # fmt: skip


def inputs(seed: int, requires_grad: bool = False) -> list[Any]:
    """The three inputs, float64, with values that no two entries share."""
    rng = random.Random(seed)
    made = []
    for shape in SHAPES.values():
        n = 1
        for size in shape:
            n *= size
        values = [round(rng.uniform(-2, 2), 3) for _ in range(n)]
        x = minigrad.tensor(values, dtype=minigrad.float64).reshape(shape).clone()
        made.append(x.requires_grad_() if requires_grad else x)
    return made


def compiled(text: str) -> Any:
    scope: dict[str, Any] = {name: getattr(minigrad, name) for name in NAMES}
    scope["minigrad"] = minigrad
    exec(compile(text, "<random program>", "exec"), scope)
    return scope["f"]


class Writing:
    """A program while it is written: its lines, and what its variables hold when it is run."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {name: getattr(minigrad, name) for name in NAMES}
        self.scope |= dict(zip(SHAPES, inputs(seed, requires_grad=True), strict=True))
        self.names = list(SHAPES)
        self.fresh = 0

    def pick(self, *, floats: bool = False) -> str:
        names = self.names
        if floats:
            names = [n for n in names if self.scope[n].dtype.kind == "f"]
        recent = names[-5:] if self.rng.random() < 0.6 else names
        return self.rng.choice(recent)

    def number(self) -> str:
        return str(self.rng.choice([0.5, 2, -1, 1.5, 3, 0.25]))

    def operand(self) -> str:
        return self.pick() if self.rng.random() < 0.75 else self.number()

    def index(self, x: str) -> str:
        """An index that fits, more often than not."""
        ndim = self.scope[x].ndim
        first = ["0", "-1", "1:", ":1", "::2", "...", "None", "[0, 1]", "[1, 1, 0]"]
        if ndim == 0:
            return self.rng.choice(["...", "None", "()"])
        if ndim > 1 and self.rng.random() < 0.5:
            return f"{self.rng.choice(['0', ':', '-1', '...'])}, {self.rng.choice(first)}"
        return self.rng.choice(first)

    def filled(self, template: str, x: str) -> str:
        """A statement of the variable x: y is an operand, w a variable, n a number, i an index."""
        return template.format(
            x=x,
            y=self.operand(),
            w=self.pick(),
            n=self.number(),
            i=self.index(x),
            d=self.rng.choice(["0", "-1"]),
        )

    def view(self) -> str:
        return self.filled(self.rng.choice(VIEWS), self.pick())

    def expression(self) -> str:
        return self.filled(self.rng.choice(EXPRESSIONS), self.pick())

    def write(self) -> str:
        x = self.pick()
        if x not in SHAPES and self.rng.random() < 0.05:
            return f"{x}.{self.rng.choice(['detach_()', 'requires_grad_(False)'])}"
        return self.filled(self.rng.choice(WRITES), x)

    def statement(self, indent: str = "    ") -> list[str]:
        draw = self.rng.random()
        if draw < 0.12 and len(indent) < 12:
            mode = self.rng.choice(["no_grad", "no_grad", "enable_grad"])
            body = [
                line
                for _ in range(self.rng.randint(1, 3))
                for line in self.statement(indent + "    ")
            ]
            return [f"{indent}with {mode}():", *body]
        if draw < 0.45:
            return [indent + self.write()]
        self.fresh += 1
        value = self.view() if draw < 0.68 else self.expression()
        return [f"{indent}t{self.fresh} = {value}"]

    def extend(self) -> None:
        """Draw a statement; keep it if it runs."""
        drawn = self.statement()
        before = dict(self.scope)
        try:
            exec("if True:\n" + "\n".join(drawn), self.scope)
        except Exception:
            self.scope = before
            return
        names = [n for n in self.scope if n[:1] == "t" and n[1:].isdigit()]
        tensors = [self.scope[n] for n in names]
        if any(not isinstance(t, minigrad.Tensor) or t.numel() > 40 for t in tensors):
            self.scope = before
            return
        self.names = [*SHAPES, *names]
        self.lines += drawn


def written(seed: int, length: int = 9) -> str:
    """The text of a random function of about so many statements."""
    w = Writing(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tries = 0
        while len(w.lines) < length and tries < 20 * length:
            w.extend()
            tries += 1
    body = "\n".join(w.lines) or "    pass"
    last = [n for n in w.names if n not in SHAPES] or ["a"]
    out = list(dict.fromkeys([last[-1], *w.rng.sample(last, min(3, len(last)))]))
    return f"def f({', '.join(SHAPES)}):\n{body}\n    return {', '.join(out)},\n"
