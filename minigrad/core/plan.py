"""Plans: what to save and what to run, for one op and one set of inputs that need a gradient.

Each plan is made once, on first use. From the rules we generate a small function that unpacks
the saved values, checks that they have not changed, and calls the rules. For `mul`, with
both gradients needed, it is

    def mul_backward(g, node):
        y, x = node.saved
        if y.counter.count + x.counter.count != node.version: node.changed()
        yd = y.array
        if yd.__class__ is not g.__class__: yd = yd[()]        # one number: a scalar is faster
        ...
        return rule_x(g, yd), rule_y(g, xd)

`run_tensors` calls the same rules on Tensors instead of arrays, for `create_graph`: its
computations are recorded in turn. `print(minigrad.core.codegen.source_of(op))` shows the source.

Read op.py and node.py first.
"""

import linecache
from collections.abc import Callable, Container, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from minigrad.core import modes
from minigrad.core.dtypes import DTypeLike
from minigrad.core.memory import FRESH, Tensor, make
from minigrad.core.node import Node, node_type_of
from minigrad.core.op import REGISTRY, Op
from minigrad.core.shapes import Array, Shape, sum_to


class Plan:
    """What to save and what to run, for one op and one set of inputs that need a gradient.

    op          the op
    needs       for each input: does it need a gradient?
    fitted      must gradients be summed to the inputs' shapes and cast to their dtypes?
    node_type   the class of the nodes that use this plan, like MulBackward0
    wanted      (position, name) of each input that needs a gradient
    reads       the names of the values that the rules read; these are saved
    tensors     the names in `reads` that are tensors; "z" is the result
    slots       the contents of `node.saved`: like `reads`, but with z's counter after z
    frees       does a backward pass free anything?
    into        the op's `into`, if it applies
    kept        for each of `wanted`: is its rule run? A pass may need only some of these gradients
    partial     the plans that run fewer of these rules, by `kept`
    """

    def __init__(
        self,
        op: Op,
        needs: tuple[bool, ...],
        fitted: bool,
        node_name: str,
        kept: tuple[bool, ...] | None = None,
    ) -> None:
        self.op, self.needs, self.fitted = op, needs, fitted
        self.partial: dict[tuple[bool, ...], Plan] = {}
        self.node_type: type[Node] = node_type_of(op, node_name)
        names = ("xs",) * len(needs) if op.variadic else op.operands
        self.wanted = tuple((k, n) for k, n in enumerate(names) if needs[k])
        self.kept = kept or (True,) * len(self.wanted)
        for _, name in self.wanted:
            if name not in op.rules:
                raise NotDifferentiable(
                    f"the derivative of {op.name} with respect to its input {name} is not "
                    f"implemented    ({op.formula}). To fix it, pass {name}.detach()."
                )
        read = [r for _, n in self.wanted for r in op.rules[n].reads if r != "k"]
        reads = list(dict.fromkeys(read))
        if fitted:
            reads += ["xs_like"] if op.variadic else [f"{n}_like" for _, n in self.wanted]
        self.reads = tuple(reads)
        self.tensors = tuple(r for r in reads if r in op.operands or r == "z")
        self.slots = tuple(s for r in reads for s in ((r, "z_counter") if r == "z" else (r,)))
        self.frees = bool(self.tensors) or (op.variadic and "xs" in reads)
        self.into = None if fitted else op.into
        self.source = self._write(raw=True)
        self.run = self._compile(self.source, "arrays")
        self.run_tensors = self._compile(self._write(raw=False), "tensors")

    def _write(self, raw: bool) -> str:
        """The source of `run` (on arrays) or of `run_tensors`."""
        body = [f"{listed(self.slots)} = node.saved"] if self.slots else []
        counts = ["z_counter.count" if t == "z" else f"{t}.counter.count" for t in self.tensors]
        if self.op.variadic and "xs" in self.reads:
            counts.append("sum([x.counter.count for x in xs])")
            if raw:
                body.append("xs_arrays = [x.array for x in xs]")
        if counts:
            body.append(f"if {' + '.join(counts)} != node.version: node.changed()")
        if not raw and "z" in self.reads:
            body.append("z = result_of(node, z, z_counter)")
        arrays = {"xs": "xs_arrays", **{x: f"{x}.array" for x in self.op.operands}} if raw else {}
        if raw and self.op.kind == "elementwise" and not self.fitted:
            # If g is a scalar and x an array of one number, NumPy is eight times as fast with two scalars.
            for x in [x for x in self.tensors if x != "z" and x not in self.op.masks]:
                body += [f"{x}d = {x}.array"]
                body += [f"if {x}d.__class__ is not g.__class__: {x}d = {x}d[()]"]
                arrays[x] = f"{x}d"
        terms: list[str] = []
        for (k, name), kept in zip(self.wanted, self.kept):
            if not kept:
                terms.append("None")
                continue
            reads = self.op.rules[name].reads
            arguments = ["g", *(str(k) if r == "k" else arrays.get(r, r) for r in reads)]
            term = f"rule_{name}({', '.join(arguments)})"
            if name in self.op.piecewise and not raw:
                edge = self.wanted.index((k, name))
                term = f"as_constant({term}, node.edges[{edge}], {self.op.piecewise[name]!r})"
            if self.fitted:
                like = f"xs_like[{k}]" if self.op.variadic else f"{name}_like"
                body += [
                    f"d{k} = {term}; shape, dtype = {like}",
                    f"if d{k}.shape != shape or d{k}.dtype is not dtype: d{k} = fit(d{k}, {like})",
                ]
                term = f"d{k}"
            terms.append(term)
        body.append(f"return {listed(terms)}")
        return f"def {self.op.name}_backward(g, node):\n    " + "\n    ".join(body) + "\n"

    def _compile(self, source: str, on: str) -> Callable[..., Any]:
        scope: dict[str, Any] = {f"rule_{n}": rule.formula for n, rule in self.op.rules.items()}
        scope |= {"fit": fit, "result_of": make.result_of, "as_constant": as_constant}
        wanted = [name for (_, name), kept in zip(self.wanted, self.kept) if kept]
        to = ", ".join(dict.fromkeys(wanted))
        label = f"{self.op.name} backward to {to}{', fitted' * self.fitted}, on {on}"
        return compiled(label, source, scope)[f"{self.op.name}_backward"]

    def toward(self, edges: Sequence[Any], nodes: Container[Any]) -> "Plan":
        """The plan for a pass in which only the edges to these nodes need a gradient; the others get None."""
        if len(edges) == 1 or all(kept := tuple([parent in nodes for parent in edges])):
            return self
        plan = self.partial.get(kept)
        if plan is None:
            name = self.node_type.__name__
            plan = self.partial[kept] = Plan(self.op, self.needs, self.fitted, name, kept)
        return plan

    def save(
        self, operands: Sequence[Any], settings: dict[str, Any], z: Any, in_place: bool
    ) -> tuple[Any, int]:
        """The tuple of saved values, and the sum of the versions of the tensors in it."""
        op, version = self.op, 0
        saved: list[Any] = []
        for name in self.reads:
            if name == "z":
                counter = z._shared_counter()
                saved += [z.array, counter]
                version += counter.count + in_place
            else:
                value = value_of(op, name, operands, settings)
                saved.append(held(value) if name in HELD else value)
                if name in op.operands:
                    version += value.counter.count
                elif name == "xs":
                    version += sum([x.counter.count for x in value])
        return tuple(saved), version


def listed(parts: Sequence[str]) -> str:
    """The source of a tuple of these parts."""
    return ", ".join(parts) + ("," if len(parts) == 1 else "")


def slice_text(part: slice) -> str:
    """A slice in index notation: 1:3"""
    ends = (part.start, part.stop, part.step)
    return ":".join("" if n is None else str(n) for n in ends).removesuffix(":")


def compiled(label: str, source: str, scope: dict[str, Any]) -> dict[str, Any]:
    """Run generated source so that tracebacks, `inspect.getsource` and pdb can show it.

    label    names its file; if another source has this name, a number is added
    """
    lines, file = source.splitlines(keepends=True), f"<minigrad {label}>"
    numbers = count(2)
    while file in linecache.cache and linecache.getlines(file) != lines:
        file = f"<minigrad {label}, {next(numbers)}>"
    linecache.cache[file] = (len(source), None, lines, file)
    scope["__name__"] = __name__
    exec(compile(source, file, "exec"), scope)
    return scope


HELD = frozenset(["at", "index", "mask", "target", "weights"])  # settings that may be arrays


def held(setting: object) -> Any:
    """A setting as a node saves it. Arrays are copied, so that later writes to them do not change gradients."""
    if setting.__class__ is np.ndarray:
        return setting.copy()
    if setting.__class__ is tuple:
        for part in setting:
            if part.__class__ is np.ndarray:
                return tuple([held(part) for part in setting])
    return setting


def plan_of(op: Op, needs: tuple[bool, ...], fitted: bool, node_name: str = "") -> Plan:
    """The op's plan for these inputs, made on first use."""
    plan: Plan | None = op.plans.get((needs, fitted, node_name))
    if plan is None:
        name = node_name or (op.named_by_needs(needs) if op.named_by_needs else op.node_name)
        plan = op.plans[needs, fitted, node_name] = Plan(op, needs, fitted, name)
    return plan


class Like(NamedTuple):
    """The shape and dtype that a gradient must have."""

    shape: Shape
    dtype: DTypeLike

    def zeros(self) -> Tensor:
        """A zero gradient, as a Tensor."""
        return make.wrap(np.zeros(self.shape, self.dtype))


def fit(d: Any, like: Like) -> Any:
    """Sum a gradient to the shape of its input, and cast it to the input's dtype."""
    shape, dtype = like
    if d.shape != shape:
        d = sum_to(d, shape)
    return d if d.dtype is dtype or d.dtype == dtype else d.astype(dtype)


def as_constant(d: Tensor, edge: Any, node_name: str) -> Tensor:
    """The gradient of a piecewise linear op, recorded as a function of the op's input, with a derivative of zero.

    As in PyTorch, the second derivative is then zeros, and not an error that the input was not used.

    edge        the op's edge to the input
    node_name   the name of the node that is recorded
    """
    if not modes.state.recording:
        return d
    # The input, or a tensor with its shape and history
    x = make.tensor(d.array, FRESH, edge) if isinstance(edge, Node) else edge.variable
    z: Tensor = REGISTRY["constant_in"].apply(d, x, node_name=node_name)
    return z


def value_of(op: Op, name: str, operands: Sequence[Any], settings: dict[str, Any]) -> Any:
    """The value of a name in a rule (an operand, a setting, an operand's shape ...), except the result."""
    if name in settings:
        return settings[name]
    if name in op.settings:
        return op.settings[name]
    if op.variadic:
        if name == "xs":
            return tuple(operands)
        return tuple([x.array.shape if name == "xs_shapes" else like_of(x) for x in operands])
    if name in op.operands:
        return operands[op.operands.index(name)]
    operand, _, what = name.partition("_")
    x = operands[op.operands.index(operand)]
    if what == "column_major":
        return column_major(x.array)
    return x.array.shape if what == "shape" else like_of(x)


def like_of(x: Tensor) -> Like:
    """The shape and dtype that the gradient of x must have."""
    return Like(x.array.shape, x.array.dtype)


def values_of(op: Op, operands: Sequence[Any], settings: dict[str, Any]) -> dict[str, Any]:
    """All values that a forward-mode formula may read, except the result."""
    names = [f"{x}{what}" for x in op.operands for what in ("", "_shape", "_column_major")]
    if op.variadic:
        names = ["xs", "xs_shapes"]
    values = {name: value_of(op, name, operands, settings) for name in names}
    return {**op.settings, **settings, **values}


def column_major(a: Array) -> bool:
    """Is the array column-major, like the transpose of a row-major one?"""
    return bool(a.ndim > 1 and a.strides[-1] > a.strides[-2])


class NotDifferentiable(NotImplementedError, RuntimeError):
    """A gradient was requested for an op, or one of its inputs, that has no rule."""
