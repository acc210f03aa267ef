"""A case: one op, and one choice of inputs that need a gradient. What to save, what to run.

A case is compiled once. From the rules, a small function is written that unpacks the saved
values, checks that they are what they were, and calls the rules. For `mul`, with both
gradients wanted, it reads

    def run(g, node):
        y, x = node.saved
        if y.counter.count + x.counter.count != node.version: node.changed()
        return rule_x(g, y.array), rule_y(g, x.array)

The twin `run_tensors` calls the same rules on Tensors instead of arrays, for `create_graph`:
what it computes is recorded in turn. `print(minigrad.core.fast.explain(op))` shows the text.

Read op.py first.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.memory import Counter, make
from minigrad.core.op import Op
from minigrad.core.shapes import Shape, sum_to


class Case:
    """One op and one choice of inputs that need a gradient: what to save, what to run.

    op       the op
    needs    for each input: does it need a gradient?
    fitted   must gradients be summed to the inputs' shapes and cast to their types?
    tensors  the names of the saved tensors; "z" is the result
    slots    what `node.saved` holds, in order
    frees    does a backward pass free anything?
    """

    def __init__(self, op: Op, needs: tuple[bool, ...], fitted: bool) -> None:
        self.op, self.needs, self.fitted = op, needs, fitted
        names = op.operands
        if op.variadic:
            names = ("xs",) * len(needs)
        for name, needed in zip(names, needs, strict=True):
            if needed and name not in op.rules:
                raise NotDifferentiable(op, name)
        self.wanted = tuple(
            (k, n) for k, (n, needed) in enumerate(zip(names, needs, strict=True)) if needed
        )
        reads = list(
            dict.fromkeys(r for _, n in self.wanted for r in op.rules[n].reads if r != "k")
        )
        if fitted:
            fits = ["xs_like"] if op.variadic else [f"{n}_like" for _, n in self.wanted]
            reads += [f for f in fits if f not in reads]
        self.reads = tuple(reads)
        self.tensors = tuple(r for r in reads if r in op.operands or r == "z")
        self.slots = tuple(s for r in reads for s in ((r, "z_counter") if r == "z" else (r,)))
        self.frees = bool(self.tensors) or (op.variadic and "xs" in reads)
        self.source = self._write(raw=True)
        self.run: Callable[[Any, Any], Sequence[Any]] = self._compile(self.source)
        self.run_tensors: Callable[[Any, Any], Sequence[Any]] = self._compile(
            self._write(raw=False)
        )

    def _write(self, raw: bool) -> str:
        """The source of `run` (on arrays) or of `run_tensors`."""
        body = []
        if self.slots:
            body.append(
                f"{', '.join(self.slots)}{',' if len(self.slots) == 1 else ''} = node.saved"
            )
        counts = ["z_counter.count" if t == "z" else f"{t}.counter.count" for t in self.tensors]
        if self.op.variadic and "xs" in self.reads:
            counts.append("sum([x.counter.count for x in xs])")
            if raw:
                body.append("xs_arrays = [x.array for x in xs]")
        if counts:
            body.append(f"if {' + '.join(counts)} != node.version: node.changed()")
        if not raw and "z" in self.reads:
            body.append("z = result_of(node, z, z_counter)")
        terms = []
        for k, name in self.wanted:
            arguments = ["g"]
            for r in self.op.rules[name].reads:
                if r == "k":
                    arguments.append(str(k))
                elif raw and r in self.op.operands:
                    arguments.append(f"{r}.array")
                elif raw and r == "xs":
                    arguments.append("xs_arrays")
                else:
                    arguments.append(r)
            term = f"rule_{name}({', '.join(arguments)})"
            if self.fitted:
                like = f"xs_like[{k}]" if self.op.variadic else f"{name}_like"
                term = f"fit({term}, {like})"
            terms.append(term)
        body.append(f"return {', '.join(terms)}{',' if len(terms) == 1 else ''}")
        return "def run(g, node):\n    " + "\n    ".join(body) + "\n"

    def _compile(self, source: str) -> Any:
        scope: dict[str, Any] = {f"rule_{n}": rule.formula for n, rule in self.op.rules.items()}
        scope |= {"fit": fit, "result_of": make.result_of}
        exec(compile(source, f"<minigrad {self.op.name}>", "exec"), scope)
        return scope["run"]

    def save(
        self, values: dict[str, Any], z_array: Any, z_counter: Counter, z_version: int
    ) -> tuple[Any, int]:
        """The tuple of saved values, and the sum of the versions of the tensors in it."""
        saved, version = [], 0
        for name in self.reads:
            if name == "z":
                saved += [z_array, z_counter]
                version += z_version
            else:
                value = values[name]
                saved.append(held(value) if name in HELD else value)
                if name in self.op.operands:
                    version += value.counter.count
                elif name == "xs":
                    version += sum(x.counter.count for x in value)
        return tuple(saved), version


HELD = frozenset(["at", "index", "mask", "target", "weights"])  # settings that may be arrays


def held(setting: Any) -> Any:
    """A setting as a node keeps it. Arrays in it are copied: who writes to an index later changes no gradient."""
    if setting.__class__ is np.ndarray:
        return setting.copy()
    if setting.__class__ is tuple:
        for part in setting:
            if part.__class__ is np.ndarray:
                return tuple([held(part) for part in setting])
    return setting


def case_of(op: Op, needs: tuple[bool, ...], fitted: bool) -> Case:
    """The op's case for these inputs, made when first met."""
    case: Case | None = op.cases.get((needs, fitted))
    if case is None:
        case = op.cases[needs, fitted] = Case(op, needs, fitted)
    return case


class Like(NamedTuple):
    """The shape and type that a gradient must have."""

    shape: Shape
    dtype: Any


def fit(d: Any, like: Like) -> Any:
    """Sum a gradient to the shape of its input, and give it the input's type."""
    shape, dtype = like
    if d.shape != shape:
        d = sum_to(d, shape)
    return d if d.dtype is dtype or d.dtype == dtype else d.astype(dtype)


def values_of(op: Op, operands: Sequence[Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Everything that a rule may name, but for the result."""
    values = {**op.settings, **settings}
    if op.variadic:
        values["xs"] = tuple(operands)
        values["xs_shapes"] = tuple([x.array.shape for x in operands])
        values["xs_like"] = tuple([Like(x.array.shape, x.array.dtype) for x in operands])
        return values
    for name, x in zip(op.operands, operands, strict=True):
        values[name] = x
        values[f"{name}_shape"] = x.array.shape
        values[f"{name}_like"] = Like(x.array.shape, x.array.dtype)
        values[f"{name}_turned"] = turned(x.array)
    return values


def turned(a: Any) -> bool:
    """Does the array lie in memory column by column, like the transpose of an ordinary one?"""
    return bool(a.ndim > 1 and a.strides[-1] > a.strides[-2])


class NotDifferentiable(NotImplementedError, RuntimeError):
    """A gradient was asked of an op, or of one of its inputs, that has no rule for it."""

    def __init__(self, op: Op, name: str) -> None:
        super().__init__(
            f"the derivative of {op.name} with respect to its input {name} is not implemented"
            f"    ({op.formula}). To mend it, pass {name}.detach()."
        )
