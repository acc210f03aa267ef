"""What the tape is made of: nodes, and the edges between them.

A node is one application of an op, as backward needs it:

    case       which of the op's inputs need a gradient; knows the rules to run
    edges      for each of these inputs, the node that made it, or its AccumulateGrad
    saved      the values that those rules name, and nothing else
    version    the versions of the saved tensors, added up: an in-place change shows
    rank       the node's place in time; the latest node has the lowest rank

Leaves (parameters, inputs) were made by no op. A leaf that requires a gradient has an
`AccumulateGrad` instead: the end of an edge, where the gradient is added to `.grad`.

A `Case` is compiled once: from the rules, a small function is written that unpacks the
saved values, checks that they are what they were, and calls the rules. For `mul`, with
both gradients wanted, it reads

    def run(g, node):
        x, y = node.saved
        if x.counter.count + y.counter.count != node.version: node.changed()
        return rule_x(g, y.array), rule_y(g, x.array)

`print(mul.explain())` prints what was written for the cases met so far. The twin
`run_tensors` calls the same rules on Tensors instead of arrays, for `create_graph`: what
it computes is recorded in turn.

Read op.py first. Then engine.py, which runs the nodes.
"""

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from minigrad import modes
from minigrad.errors import BackwardTwice, Place, SavedValueChanged, learner_line, table
from minigrad.op import Op
from minigrad.shapes import Shape, sum_to
from minigrad.sparse import RowSparse

next_rank = count(-1, -1).__next__  # of nodes: -1, -2, ...; later nodes sort first
next_leaf_rank = count(1).__next__  # of leaves: 1, 2, ...; after every node
new = object.__new__


class Counter:
    """How often a piece of memory was written to. A base and all its views share one."""

    __slots__ = ("count", "history", "place")

    def __init__(self) -> None:
        self.count = 0
        self.history = 0  # how often the history of the memory was rewritten
        self.place: Place | None = None  # where the latest write was


class Makers:
    """How Tensors are made. tensor.py fills this in, so that nodes need not know Tensors.

    Tensor      the class
    wrap        an array -> a Tensor that requires no gradient
    view        (tensor, array, hop) -> the Tensor that shows a part of another's memory
    result_of   (node, array, counter) -> the node's result, as a Tensor with that history
    revive      an AccumulateGrad whose leaf nobody holds any more -> an equal leaf
    """

    Tensor: type[Any]
    wrap: Callable[[Any], Any]
    view: Callable[[Any, Any, Any], Any]
    result_of: Callable[["Node", Any, Counter], Any]
    revive: Callable[["AccumulateGrad"], Any]


make = Makers()
FRESH = Counter()  # of all memory never written to nor shared; it stays at 0 for ever


class Node:
    """One application of an op, as the tape remembers it. `z.grad_fn` is one."""

    __slots__ = ("__dict__", "__weakref__", "case", "edges", "rank", "saved", "version")

    case: "Case"
    edges: tuple["Node | AccumulateGrad", ...]
    saved: Any
    version: int
    rank: int
    place: Place | None = None  # the line that made it, where lines are traced
    tangents: dict[int, Any] | None = None  # of the result, in forward mode
    versions: dict[str, int] | None = None  # of each saved tensor, where lines are traced

    @property
    def op(self) -> Op:
        """The op that was applied."""
        return self.case.op

    @property
    def order(self) -> int:
        """The node's serial number: later nodes have greater ones."""
        return -self.rank

    def name(self) -> str:
        """The name of the node, like "MulBackward"."""
        return self.case.op.node_name

    @property
    def next_functions(self) -> tuple[tuple["Node | AccumulateGrad | None", int], ...]:
        """For each input tensor of the op, the node that made it and which result it was.

        (None, 0) stands for an input that needs no gradient.
        """
        edges = iter(self.edges)
        return tuple(shown(next(edges)) if needed else (None, 0) for needed in self.case.needs)

    def saved_values(self) -> dict[str, tuple[Any, int | None]]:
        """What was saved: name -> (value, version when saved). None as version: a setting.

        Raises BackwardTwice when a backward pass has freed them.
        """
        values: dict[str, tuple[Any, int | None]] = {}
        if not self.case.reads:
            return values
        entries = tuple(self.saved)
        for name, value in zip(self.case.slots, entries, strict=True):
            if name == "z_counter":
                values["z"] = (values["z"][0], value.count)
            elif hasattr(value, "counter"):
                values[name] = (value, value.counter.count)
            else:
                values[name] = (value, None)
        return values

    @property
    def freed(self) -> bool:
        """Have the saved values been used up by a backward pass?"""
        return self.case.frees and isinstance(self.saved, Freed)

    def counters(self) -> dict[str, Counter]:
        """The counter of each saved tensor, by its name in the rules."""
        found: dict[str, Counter] = {}
        for name, value in zip(self.case.slots, self.saved, strict=True):
            if name == "xs":
                found |= {f"xs[{k}]": x.counter for k, x in enumerate(value)}
            elif name == "z_counter":
                found["z"] = value
            elif hasattr(value, "counter"):
                found[name] = value.counter
        return found

    def changed(self) -> None:
        """Raise the error that says which saved value was overwritten, and where."""
        now = self.counters()
        if self.versions is not None:
            name = next(n for n, c in now.items() if c.count != self.versions[n])
            raise SavedValueChanged(_what_changed(self, name, self.versions[name], now[name]))
        # Only the sum of the versions was kept: take the one that was written to most.
        name = max(now, key=lambda n: now[n].count)
        since = sum(c.count for c in now.values()) - self.version
        since //= list(now.values()).count(now[name])  # x * x saves the same memory twice
        raise SavedValueChanged(_what_changed(self, name, now[name].count - since, now[name]))

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call hook(grad_inputs, grad_outputs) when this node has run; see hooks.py."""
        from minigrad.hooks import RemovableHandle, hooks_of

        return RemovableHandle(hooks_of(self).after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call hook(grad_outputs) before this node runs; it may return other gradients."""
        from minigrad.hooks import RemovableHandle, hooks_of

        return RemovableHandle(hooks_of(self).before, hook)

    def __repr__(self) -> str:
        reads = self.case.tensors
        return f"<{self.name()}{' reads ' + ', '.join(reads) if reads else ''}>"


def shown(edge: Any) -> tuple[Any, int]:
    """The node that a learner sees at the end of an edge, and which of its results is meant.

    They differ for nodes with several results only; see results.py.
    """
    owner = getattr(edge, "owner", None)
    return (edge, 0) if owner is None else (owner, edge.number)


def _what_changed(node: Node, name: str, before: int, counter: Counter) -> str:
    """The text of SavedValueChanged."""
    what = f"its result {name}" if name == "z" else name
    rows = []
    if node.place is not None:
        rows.append(("saved", node.place.label, node.place.text, f"{name} at version {before}"))
    if counter.place is not None:
        rows.append(
            (
                "changed",
                counter.place.label,
                counter.place.text,
                f"{name} at version {counter.count}",
            )
        )
    lines = [
        f"{node.name()} needs {what} as it was when z was computed, but {name} has changed since "
        "(one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: it is at version {counter.count}; expected version {before} instead)."
    ]
    if rows:
        lines.append(table(rows))
    if node.place is None:
        lines.append("    To see where it was saved, call minigrad.trace_lines() first.")
    lines.append(
        f"    To mend it, make a new tensor instead of writing in place (y = y + 1, not y += 1), "
        f"or compute z from {name}.clone()."
        if name != "z"
        else "    To mend it, make a new tensor instead of writing into z (z = z + 1, not z += 1)."
    )
    return "\n".join(lines)


class Freed:
    """Stands where the saved values were. Unpacking it is the error it describes."""

    __slots__ = ("place",)

    def __init__(self) -> None:
        self.place = learner_line()

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Any:
        rows = (
            ""
            if self.place is None
            else "\n" + table([("first pass", self.place.label, self.place.text)])
        )
        raise BackwardTwice(
            "Trying to backward through the graph a second time (or directly access saved tensors "
            "after they have already been freed). The saved values of the graph are freed as a "
            f"backward pass uses them.{rows}\n"
            "    To mend it, pass retain_graph=True to the first pass, or compute the result again."
        )


class Packed:
    """Stands where the saved values were, if hooks have packed them. Iterating unpacks.

    An unpacked value has the history that the saved one had: that of the edge it came by.
    """

    __slots__ = ("case", "edges", "entries", "hooks")

    def __init__(
        self, node: Node, hooks: tuple[Callable[[Any], Any], Callable[[Any], Any]]
    ) -> None:
        self.case, self.edges, self.hooks = node.case, node.edges, hooks
        self.entries: list[Any] = []
        with modes.no_grad(), modes.without_saved_hooks():
            for name, value in zip(self.case.slots, node.saved, strict=True):
                if name == "z":
                    self.entries.append(hooks[0](make.wrap(value)))
                elif name == "z_counter":
                    self.entries.append(FRESH)
                elif name == "xs":
                    self.entries.append([hooks[0](x) for x in value])
                else:
                    self.entries.append(hooks[0](value) if name in self.case.tensors else value)

    def __iter__(self) -> Iterator[Any]:
        edges = dict(zip([k for k, _ in self.case.wanted], self.edges, strict=True))
        for name, entry in zip(self.case.slots, self.entries, strict=True):
            if name == "xs":
                yield tuple([self._unpacked(x, edges.get(k)) for k, x in enumerate(entry)])
            elif name == "z":
                yield self._unpacked(entry, None).array
            elif name in self.case.tensors:
                yield self._unpacked(entry, edges.get(self.case.op.operands.index(name)))
            else:
                yield entry

    def _unpacked(self, entry: Any, edge: Any) -> Any:
        with modes.no_grad():
            given = self.hooks[1](entry)
        if not hasattr(given, "array"):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got {type(given)}"
            )
        z = make.wrap(given.array)
        z.node = edge
        return z


_accumulating = threading.Lock()


class AccumulateGrad:
    """The end of an edge: where the gradient of a leaf is added to its `.grad`.

    It holds the gradient itself; the leaf holds it, and it refers to the leaf weakly, so
    that the two do not keep each other alive.
    """

    __slots__ = ("__weakref__", "_array", "_counter", "_leaf", "case", "grad", "rank", "saved")

    edges: tuple[()] = ()
    next_functions: tuple[()] = ()
    saved: Any
    place: Place | None = None
    freed = False

    def __init__(self, leaf: Any) -> None:
        self._leaf = weakref.ref(leaf)
        self._array, self._counter = leaf.array, leaf.counter
        self.case: Any = ACCUMULATE
        self.grad: Any = None
        self.rank = next_leaf_rank()

    @property
    def order(self) -> int:
        return -self.rank

    @property
    def variable(self) -> Any:
        """The leaf itself. If nobody holds it any more, an equal one is made anew."""
        leaf = self._leaf()
        return leaf if leaf is not None else make.revive(self)

    def name(self) -> str:
        return "AccumulateGrad"

    def saved_values(self) -> dict[str, Any]:
        return {}

    def __repr__(self) -> str:
        return f"<AccumulateGrad of a leaf {np.shape(self._array)}>"


class Accumulation:
    """The case of every AccumulateGrad: how a leaf takes its gradient."""

    frees = False

    def run(self, g: Any, leaf: AccumulateGrad) -> tuple[()]:
        """Add g to the leaf's `.grad`: by copy the first time, in place from then on."""
        with _accumulating:
            grad = leaf.grad
            if grad is None:
                # A gradient may be borrowed: add hands the same array to both its inputs, a
                # reshape shows another's memory. It is taken over only if nobody else has it.
                ours = getrefcount(g) <= ALONE and (g.ndim == 0 or g.base is None or is_whole(g))
                leaf.grad = make.wrap(g if ours else g.copy())
            elif isinstance(grad.array, np.ndarray):
                if isinstance(g, RowSparse):
                    g.add_to(grad.array)
                else:
                    np.add(grad.array, g, out=grad.array)
            else:
                grad.array = grad.array + g
        return ()

    def run_tensors(self, g: Any, leaf: AccumulateGrad) -> tuple[()]:
        """As `run`, with a gradient that has a history of its own."""
        leaf.grad = g if leaf.grad is None else leaf.grad + g
        return ()


ACCUMULATE = Accumulation()


def is_whole(g: Any) -> bool:
    """Does a view show all of some memory that nothing else refers to, like (g.T @ x).T?"""
    base = g.base
    return (
        isinstance(base, np.ndarray)
        and getrefcount(base) <= 3
        and base.flags.owndata
        and base.size == g.size
    )


def _references_to_an_argument() -> int:
    """How many references there are to an array that a caller holds and `run` was given."""

    class Probe:
        def run(self, g: Any, leaf: Any) -> int:
            return getrefcount(g)

    g = np.empty(1)
    return Probe().run(g, None)


ALONE = _references_to_an_argument()


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
        self.run: Callable[[Any, Node], Sequence[Any]] = self._compile(self.source)
        self.run_tensors: Callable[[Any, Node], Sequence[Any]] = self._compile(
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
                saved.append(value)
                if name in self.op.operands:
                    version += value.counter.count
                elif name == "xs":
                    version += sum(x.counter.count for x in value)
        return tuple(saved), version


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
    return d if d.dtype == dtype else d.astype(dtype)


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
    return a.ndim > 1 and a.strides[-1] > a.strides[-2]


class NotDifferentiable(NotImplementedError, RuntimeError):
    """A gradient was asked of an op, or of one of its inputs, that has no rule for it."""

    def __init__(self, op: Op, name: str) -> None:
        super().__init__(
            f"the derivative of {op.name} with respect to its input {name} is not implemented"
            f"    ({op.formula}). To mend it, pass {name}.detach()."
        )
