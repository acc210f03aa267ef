"""The graph of a gradient, as the search for mistakes uses it.

A *use* is one edge of the tape: an operation reads a tensor, so a part of the tensor's gradient
passes back along that edge. The gradient is the sum over the paths from the result to the tensor.
A mistake at one use changes what passes along its edge, and everything after it is linear. So we
find the effect of a mistake by passing only the change back, from that edge to the tensor in question:

    wrong gradient = right gradient + walk back (what passed by mistake - what should pass)
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minigrad.core.hooks import Hooked
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.modes import enable_grad
from minigrad.core.node import Node, reachable
from minigrad.core.op import Op
from minigrad.core.plan import Plan, fit
from minigrad.core.shapes import restore_axes
from minigrad.core.sparse import dense
from minigrad.core.tensor import Tensor, wrap
from minigrad.core.views import CopySlices, apply_chain
from minigrad.teach.difference import Array

AnyNode = Node | AccumulateGrad
# what a mistake raises where values do not fit what it expects: then it was not made here
MISFITS = ArithmeticError, LookupError, RuntimeError, TypeError, ValueError


def has_hooks(z: Tensor) -> bool:
    """Would a backward pass from z call hooks, which may change gradients?"""
    nodes = reachable([] if z.node is None else [z.node])
    plans = [node.plan for node in nodes if isinstance(node.plan, Hooked)]
    return any(plan.on_result or plan.before or plan.after for plan in plans)


@dataclass(eq=False, repr=False)
class Use:
    """One edge of the tape, with the values at the operation where it starts.

    node       the operation's node                 parent    where the gradient goes
    op         the operation, if it is in the table        op_name   its name, or ""
    name       which operand is read: "x", "y", ...; "" if the operation is not in the table
    g          the gradient of the operation's result
    passed     the gradient that passes along the edge
    values     operands, result z, and settings, by the names that the rules use
    origins    the nodes of the operands that need a gradient, by the same names
    fan_in     the number of gradients that are added up at the parent
    part       is this what passes through a write to a view, without the rest of the base?
    """

    graph: "Graph"
    node: Node
    k: int
    parent: AnyNode
    g: Array
    passed: Array
    part: bool = False

    def __post_init__(self) -> None:
        node = self.node
        self.op: Op | None = None
        self.position, self.name = self.k, ""
        self.origins: dict[str, AnyNode] = {}
        plan, edges = operation_of(node)
        which: int | None = self.k
        if isinstance(node, CopySlices):
            which = _which_operand(node, self.k, self.part)
        if isinstance(plan, Plan) and which is not None:
            self.op = plan.op
            self.position, self.name = plan.wanted[which]
            self.origins = dict(zip(names_of(plan), edges, strict=True))
            if isinstance(node, CopySlices):
                self.g = np.asarray(apply_chain(self.g, node.view_chain))
                if self.part:
                    self.passed = np.asarray(apply_chain(self.passed, node.view_chain))
        self.op_name = "" if self.op is None else self.op.name
        self.values = self.graph.values_at[node]

    def at(self, g: Array, results: Any = None) -> "Use":
        """The same edge with another gradient arriving at its node; results: what its plan then gives."""
        results = results or plan_of_node(self.node).run(g, self.node)
        passed = np.asarray(dense(results[self.k]))
        if isinstance(self.node, CopySlices):
            return Use(self.graph, self.node, self.k, self.parent, g, passed, self.part)
        other = Use.__new__(Use)  # quicker than copy
        other.__dict__.update(self.__dict__, g=g, passed=passed)
        return other

    def changes(self, array: Array | None) -> dict[AnyNode, Array]:
        """The changes to the gradients of the nodes after this edge if `array` passes instead."""
        change = (np.asarray(array) - self.passed).astype(self.passed.dtype)
        if not np.any(change):
            return {}
        if self.part and isinstance(self.node, CopySlices):  # in the shape of the parent
            part, change = change, np.zeros_like(self.graph.gradients[self.parent], change.dtype)
            apply_chain(change, self.node.view_chain)[...] = part
        return self.graph.changes({self.parent: change})

    @property
    def wrote(self) -> bool:
        """Did the operation write to its first operand?"""
        return self.node.wrote or isinstance(self.node, CopySlices)

    @property
    def fan_in(self) -> int:
        """How many gradients are added up at the parent; 1 if this is a `part`."""
        return 1 if self.part else self.graph.fan_in[self.parent]

    @property
    def twins(self) -> "list[Use]":
        """The uses of one tensor by one operation, this one among them: x * x has two."""
        if self.part:
            return [self]
        here = [u for u in self.graph.uses if u.node is self.node and u.parent is self.parent]
        here = [u for u in here if not u.part]
        return [self if u.k == self.k else u if u.g is self.g else u.at(self.g) for u in here]

    @property
    def gathered(self) -> int:
        """The number of entries of the operand per entry of the result; 0 if there are none."""
        return int(self.passed.size // self.g.size) if self.g.size else 0

    @property
    def one_axis(self) -> int | None:
        """The axis of a reduction along one axis; None if it has several, or is over all."""
        axis = self.values.get("axis")
        if isinstance(axis, int):
            return axis
        return axis[0] if axis and len(axis) == 1 else None

    @property
    def elementwise(self) -> bool:
        """Is the operation elementwise? False if it is not in the table."""
        return self.op is not None and self.op.kind == "elementwise"

    @property
    def of_one(self) -> bool:
        """Is the operation an elementwise function of one tensor, like tanh?"""
        return self.elementwise and self.op is not None and len(self.op.operands) == 1

    @property
    def is_dropout(self) -> bool:
        """Is this the mask of a dropout: times 0 or 1 / (1 - p), in a tensor without a gradient?"""
        keep = self.values.get(self.beside)
        if self.op_name != "mul" or keep is None or not np.ndim(keep) or len(self.origins) > 1:
            return False
        shape = self.passed.shape
        if keep.size < 2 or self.g.shape != shape:
            return False
        if np.broadcast_shapes(keep.shape, shape) != shape:
            return False
        kinds = np.unique(keep)
        return len(kinds) == 2 and bool(kinds[0] == 0 and kinds[1] > 0)

    @property
    def beside(self) -> str:
        """The name of the other operand, of x and y."""
        return "y" if self.name == "x" else "x"

    def needed(self, name: str) -> Any:
        """A value by its name in a rule, or `share`, `wide` or `widened`; None if it is not known."""
        derived = {"share": self.share, "wide": self.wide, "widened": self.widened}
        return derived[name]() if name in derived else self.values.get(name)

    def reads(self) -> tuple[str, ...]:
        """The names that the rule of this operand reads."""
        if self.op is None or self.name not in self.op.rules:
            return ()
        return self.op.rules[self.name].reads

    def formula(self, g: Array, name: str | None = None, /, **changed: Any) -> Array | None:
        """The result of the rule of `name` for this g, with some values changed.

        None if there is no such rule, or if it reads an unknown value. Where something was
        broadcast, the result is not summed yet.
        """
        rule = self.op.rules.get(name or self.name) if self.op is not None else None
        values = {**self.values, "k": self.position, **changed}
        if rule is None or any(r not in values for r in rule.reads):
            return None
        return rule.formula(g, *(values[r] for r in rule.reads))

    def rule(self, g: Array, name: str | None = None, /, **changed: Any) -> Array | None:
        """The gradient that passes if the rule of `name` gets this g, and some values are changed."""
        try:
            d = self.formula(g, name, **changed)
            return None if d is None else self.fit(d)
        except Exception:  # the changed values do not fit together: not this mistake
            return None

    def applied(self, **changed: Any) -> Array:
        """The operation's result if some values are changed. Raises LookupError if one is not known."""
        if self.op is None:
            raise LookupError
        return recomputed(self.op, {**self.values, **changed})

    def share(self) -> Array | None:
        """The derivative: what passes if the incoming gradient is 1."""
        return self.rule(np.ones_like(self.g))

    def wide(self) -> Array | None:
        """The result of the rule before it is summed to the shape of a tensor that was broadcast.

        None if nothing was broadcast here.
        """
        g = self.g
        if self.op_name in ("expand", "addmm", "addmv", "baddbmm"):
            if self.name not in ("x", "b") or (self.name == "x") != (self.op_name == "expand"):
                return None  # the factors of a product are not broadcast
            d = g * self.values.get("beta", 1)
        elif self.op_name == "convolution" and self.name == "b":
            return g
        elif self._is_a_weight():  # one matrix for a batch of them
            x = np.swapaxes(self.values["x"], -1, -2)
            return x @ g if x.shape[:-2] == g.shape[:-2] else None
        elif self.elementwise or self.op_name == "matmul":
            d = self.formula(g)
            if d is not None and self.elementwise:
                d = np.broadcast_to(d, np.shape(g))
        else:
            return None
        return d if d is not None and np.size(d) > self.passed.size else None

    def summed_axes(self, wide: Array) -> list[int]:
        """The axes along which `wide` is summed to the shape of the tensor that was broadcast."""
        narrow, extra = self.passed.shape, wide.ndim - self.passed.ndim
        if self.op_name == "convolution":
            return [0, *range(2, wide.ndim)]
        kept = [k + extra for k, n in enumerate(narrow) if n == 1 and wide.shape[k + extra] != 1]
        return [*range(extra), *kept]

    def _is_a_weight(self) -> bool:
        """Is this the matrix in x @ w, where x is a batch of matrices?"""
        x = self.values.get("x")
        batch = self.name == "y" and x is not None and np.ndim(x) > 2 and self.passed.ndim == 2
        return bool(batch and self.op_name == "matmul")

    def widened(self, d: Array | None = None) -> Array | None:
        """g (or d), repeated for every entry that a reduction has read; None if it does not fit."""
        d, shape = self.g if d is None else d, self.passed.shape
        axis, keepdims = self.values.get("axis"), bool(self.values.get("keepdims", False))
        try:
            return np.broadcast_to(restore_axes(d, shape, axis, keepdims), shape)
        except (ValueError, IndexError, RuntimeError):
            return None

    def fit(self, d: ArrayLike) -> Array | None:
        """A gradient summed to the parent's shape; None if it cannot be."""
        d = np.asarray(d)
        if d.shape == self.passed.shape:
            return d
        try:
            if np.broadcast_shapes(d.shape, self.passed.shape) == d.shape:
                return fit(d, (self.passed.shape, self.passed.dtype))  # type: ignore[arg-type]
            return np.broadcast_to(d, self.passed.shape)
        except ValueError:
            return None


class Graph:
    """The nodes that lead to z, the gradient of each, and their values where these are known.

    z           the result          seed    the gradient it starts with
    namespace   tensors by name, whose values may help
    target      the node of the tensor whose gradient is requested
    inputs      where the program begins: the target, or tensors made from it (in forward_mode.py)

    uses        every edge          paths      those that lead to the target
    gradients   node -> its right gradient
    tensors     the values of the student's tensors and of the steps between them, each with its name
    constants   the values of the student's tensors that need no gradient, such as targets
    arrays      name -> the student's NumPy arrays, from which such constants may have been made
    scalars     name -> the student's floats and leaves of one number, without 0, 1 and -1
    variables   name -> the student's tensors that need one
    repeated    the uses that recurrences.py has found to repeat
    known       node -> the value of its result, where we can find it
    names       node -> what the student calls its result
    """

    def __init__(
        self, z: Tensor, seed: ArrayLike, namespace: Mapping[str, object], target: AnyNode
    ) -> None:
        assert z.node is not None
        self.root, self.target = z.node, target
        self.inputs: set[AnyNode] = {target}
        self.seed = np.asarray(seed, z.dtype)[()]
        self.nodes = sorted(reachable([self.root]), key=lambda n: n.queue_key)
        self.names = {
            t.node: name
            for name, t in reversed(list(namespace.items()))
            if isinstance(t, Tensor) and t.node is not None and not name.startswith("_")
        }
        dense = {n: t for n, t in namespace.items() if isinstance(t, Tensor) and not t.is_sparse}
        self.constants = [t.array for t in dense.values() if not t.requires_grad]
        self.variables = {n: t for n, t in dense.items() if t.requires_grad}
        given = {n: v for n, v in namespace.items() if isinstance(v, np.ndarray) and n[:1] != "_"}
        numbers = {n: v for n, v in namespace.items() if isinstance(v, float) and n[:1] != "_"}
        leaves = {n: t for n, t in dense.items() if t.is_leaf and t.numel() == 1}
        numbers |= {n: t.item() for n, t in leaves.items() if t.node is not target}
        self.scalars = {n: float(v) for n, v in numbers.items() if abs(v) not in (0, 1)}
        self.arrays = {n: v for n, v in given.items() if v.dtype.kind in "fbiu" and v.size > 2}
        self.known = self._known(dense.values())
        self._walk_back()
        self.tensors = [(n, t.array) for n, t in dense.items() if not n.startswith("_")]
        steps = ((node, value) for node, value in self.known.items() if node not in self.names)
        self.tensors += [(self.called(node), value) for node, value in steps]

    def _known(self, tensors: Iterable[Tensor]) -> dict[AnyNode, Array]:
        """node -> the value of its tensor, if something still refers to it."""
        known: dict[AnyNode, Array] = {t.node: t.array for t in tensors if t.node is not None}
        for node in self.nodes:
            if isinstance(node, AccumulateGrad):
                known[node] = node.variable.array
            elif isinstance(plan_of_node(node), Plan):
                for name, (value, _) in node.saved_values().items():
                    if name == "z":
                        known[node] = value
                    elif isinstance(value, Tensor) and value.node is not None:
                        known[value.node] = value.array
        self.known = known
        for node in (n for n in self.nodes if op_name(n) == "stack" and n in known):
            axis, edges = self.values(node).get("axis", 0), node.edges
            if known[node].shape[axis] == len(edges):  # the parts, from the whole
                known.update(zip(edges, np.moveaxis(known[node], axis, 0), strict=True))
        for node in reversed(self.nodes):  # values that nothing refers to anymore can be recomputed
            if isinstance(node, AccumulateGrad) or node in known:
                continue
            if isinstance(plan := plan_of_node(node), Plan):
                values, op = self.values(node), plan.op
                if op.name in ("add", "sub") and len({"x", "y"} & set(values)) == 1:
                    values |= self._constant_term(node, values)
                if op.variadic or any(name not in values for name in op.operands):
                    continue
                if op.name == "clone":
                    known[node] = values["x"]
                elif all(setting in plan.reads for setting in op.settings):
                    with suppress(Exception):
                        known[node] = recomputed(op, values)
        for node in self.nodes:  # and the input of exp, for example, from its output
            plan = plan_of_node(node)
            if isinstance(plan, Plan) and plan.op.name in UNDONE and node in known:
                with np.errstate(all="ignore"):
                    x = UNDONE[plan.op.name](known[node])
                if node.edges[0] not in known and np.all(np.isfinite(x)):
                    known[node.edges[0]] = x
        return known

    def _constant_term(self, node: Node, values: dict[str, Any]) -> dict[str, Array]:
        """The operand of a sum or difference that was not saved, by name, if it is one of `constants`.

        It is the one with which the next operation gives its known result.
        """
        above = next((n for n in self.known if node in getattr(n, "edges", ())), None)
        name = "y" if "x" in values else "x"
        if not isinstance(above, Node) or not isinstance(plan := plan_of_node(above), Plan):
            return {}
        read = names_of(plan)[above.edges.index(node)]
        given = (*self.constants, *self.arrays.values())
        for c in (*given, *_from_an_entry(node, values, name, self.known[above])):
            with suppress(Exception):  # the shapes do not fit
                z = recomputed(plan_of_node(node).op, {**values, name: c})
                result = recomputed(plan.op, {**self.values(above), read: z})
                if np.allclose(result, self.known[above], 1e-5, 0):
                    return {name: c}
        return {}

    @cached_property
    def operands(self) -> dict[Node, dict[int, AnyNode]]:
        """node -> the nodes of its operands, by their positions."""
        operands: dict[Node, dict[int, AnyNode]] = {}
        for use in (use for use in self.uses if not use.part):
            operands.setdefault(use.node, {})[use.position] = use.parent
        return operands

    @cached_property
    def values_at(self) -> dict[Node, dict[str, Any]]:
        """node -> what `values` gives, for all nodes with operands."""
        return {n: self.values(n) for n in self.nodes if not isinstance(n, AccumulateGrad)}

    @cached_property
    def numbers(self) -> set[float]:
        """Numbers that may be forgotten as factors: lengths of axes, sizes of masks, scales of dropouts."""
        lengths = {n for u in self.uses for n in (*u.g.shape, *u.passed.shape)}
        lengths |= {u.gathered for u in self.uses if u.op_name in ("sum", "mean")}
        sizes = {n for u in self.uses for n in (u.g.size, u.passed.size)}
        scales = {float(np.max(u.values[u.beside])) for u in self.uses if u.is_dropout}
        masks = (c for c in self.constants if c.size > 2 and np.all((c == 0) | (c == 1)))
        sizes |= {int(np.sum(c)) for c in masks}
        return {float(n) for n in lengths | sizes if n > 2} | (scales - {1.0, 2.0})

    @cached_property
    def products(self) -> dict[str, Tensor]:
        """The student's constant matrices times the variables, by expression: s2 @ w, before detach()."""
        fixed = {n: v for n, v in self.tensors if n not in self.variables} | self.arrays
        pairs = [(n, v, m, t) for n, v in fixed.items() for m, t in self.variables.items()]
        with enable_grad():
            return {
                f"{n} @ {m}": wrap(v.astype(t.dtype)) @ t
                for n, v, m, t in pairs
                if v.ndim == 2 and 0 < t.ndim < 3 and v.shape[1] == t.shape[0] and t.is_leaf
            }

    @cached_property
    def indices(self) -> list[Array]:
        """The arrays of integers by which the program reads or writes entries."""
        given = (i for u in self.uses if isinstance(at := u.values.get("index"), tuple) for i in at)
        return [i for i in given if isinstance(i, np.ndarray) and i.dtype.kind in "iu"]

    @cached_property
    def arrays_read(self) -> list[tuple[str, Array]]:
        """Those of the arrays that the program reads as constants."""
        fixed = [u.values.get(u.beside) for u in self.uses if u.beside not in u.origins]
        read = [v for v in fixed if isinstance(v, np.ndarray)]
        alike = (((n, v), c) for n, v in self.arrays.items() for c in read if v.shape == c.shape)
        return [named for named, c in alike if np.allclose(named[1], c)]

    @cached_property
    def factors(self) -> set[float]:
        """The constants that the program multiplies by, without their signs."""
        return {abs(constant_factor(use)) for use in self.paths} - {0.0}

    @property
    def added(self) -> int:
        """How many additions the result ends with: in a loop over examples, one for each."""
        node: Any = self.root
        many = 0
        while node in self.operands and op_name(node) == "add" and 0 in self.operands[node]:
            node, many = self.operands[node][0], many + 1
        return many

    @cached_property
    def edges_of(self) -> dict[AnyNode, list[Use]]:
        """node -> its edges that lead to the target, without parts of writes."""
        found: dict[AnyNode, list[Use]] = {}
        for use in (u for u in self.paths if not u.part):
            found.setdefault(use.node, []).append(use)
        return found

    def called(self, node: AnyNode) -> str:
        """The name of the student's tensor that the node computes, or which result it is."""
        if isinstance(node, Node):
            return self.names.get(node) or f"the result of {called(node)}{self.whereabouts(node)}"
        return self.names.get(node, "another leaf")

    def whereabouts(self, node: AnyNode) -> str:
        """Which of the student's tensors the node computes, or leads to: " (which gives h)"; or ""."""
        words = "which gives"
        while node not in self.names:
            above = {use.node for use in self.uses if use.parent is node}
            if len(above) != 1:
                return ""
            words, node = "on the way to", above.pop()
        return f" ({words} {self.names[node]})"

    def earlier(self, node: AnyNode) -> list[Array]:
        """The values of the tensor before the write of this node, and before earlier writes."""
        found = []
        while not isinstance(node, AccumulateGrad) and _writes(node):
            node = node.edges[0]
            if node in self.known:
                found.append(self.known[node])
        return found

    def later(self, node: AnyNode) -> list[Array]:
        """The values of the tensor after the writes that followed this node."""
        found, now = [], node
        for n in reversed(self.nodes):
            if isinstance(n, AccumulateGrad) or not n.edges:
                continue
            if n.edges[0] is now and _writes(n):
                now = n
                if n in self.known:
                    found.append(self.known[n])
        return found

    def values(self, node: Node) -> dict[str, Any]:
        """The values that the rules of a node may read, by name, as arrays."""
        plan, edges = operation_of(node)
        if not isinstance(plan, Plan):
            return {}
        values: dict[str, Any] = dict(plan.op.settings)
        for name, (value, _) in node.saved_values().items():
            values[name] = value.array if isinstance(value, Tensor) else value
        if "xs" in values:
            values["xs"] = tuple(np.asarray(getattr(x, "array", x)) for x in values["xs"])
        if isinstance(node, CopySlices):  # the part that was written, before and after
            if node.keeps and plan.op.operands and node.edges[0] in self.known:
                before = np.asarray(apply_chain(self.known[node.edges[0]], node.view_chain))
                values.setdefault(plan.op.operands[0], before)
            if node in self.known:
                values.setdefault("z", np.asarray(apply_chain(self.known[node], node.view_chain)))
        for name, parent in zip(names_of(plan), edges, strict=True):
            if parent in self.known and name != "xs":
                values.setdefault(name, self.known[parent])
        if node in self.known:
            values.setdefault("z", self.known[node])
        if plan.op.name in ("add", "sub") and "z" in values:  # a term is not saved
            x, y, z = (values.get(name) for name in "xyz")
            minus = plan.op.name == "sub"
            if x is not None:
                values.setdefault("y", x - z if minus else z - x)
            if y is not None:
                values.setdefault("x", z + y if minus else z - y)
        for name in plan.op.operands:
            if name in values:
                values.setdefault(f"{name}_shape", np.shape(values[name]))
                values.setdefault(f"{name}_turned", False)
        return values

    def _walk_back(self) -> None:
        """One right pass: the gradient of each node, all uses, and those that lead to the target."""
        self.__dict__.pop("edges_of", None)  # a copy has its own
        self.repeated: list[tuple[list[Use], list[set[Any]]]] = []
        self.gradients: dict[AnyNode, Array] = {self.root: self.seed}
        self.uses: list[Use] = []
        for node, k, parent, d in self._pass(self.gradients, set(self.nodes)):
            if isinstance(d, np.ndarray | np.generic):
                g, d = self.gradients[node], np.asarray(d)
                self.uses.append(Use(self, node, k, parent, g, d))
                if isinstance(node, CopySlices) and node.keeps and k == 0:
                    if node.write.plan.needs[0]:
                        self.uses.append(Use(self, node, k, parent, g, d, part=True))
        self.fan_in = Counter(use.parent for use in self.uses if not use.part)
        self.paths: list[Use] = []  # the nearest first
        self.leading: set[AnyNode] = {self.target}  # nodes from which something reaches the target
        for use in sorted(self.uses, key=lambda u: u.node.queue_key, reverse=True):
            if use.parent in self.leading:
                self.leading.add(use.node)
                self.paths.append(use)

    def _pass(
        self, gradients: dict[AnyNode, Array], among: set[AnyNode], end: AnyNode | None = None
    ) -> Iterator[tuple[Node, int, AnyNode, Array]]:
        """A backward pass from these gradients, which adds to them: what passes along each edge.

        among    the nodes to which something is passed
        """
        for node in self.nodes:
            if node is end:
                return
            if node not in gradients or isinstance(node, AccumulateGrad):
                continue
            passed = plan_of_node(node).run(gradients[node], node)
            for k, (parent, d) in enumerate(zip(node.edges, passed, strict=True)):
                if d is not None and parent in among:
                    d = dense(d)
                    gradients[parent] = gradients[parent] + d if parent in gradients else d
                    yield node, k, parent, d

    def terms(self) -> "Iterator[Graph]":
        """If the result is a sum whose terms share steps: the graph of each term."""
        above = [self.root]
        for use in (u for u in reversed(self.paths) if u.node in above):  # the latest first
            if use.op_name in ("add", "sub"):
                term = copy(self)
                term.root, term.seed = use.parent, use.passed
                term.nodes = sorted(reachable([term.root]), key=lambda n: n.queue_key)
                term._walk_back()
                inside = term.leading - {self.target}
                if any(1 < self.fan_in[n] > term.fan_in[n] > 0 for n in inside):
                    yield term
            by_a_constant = use.op_name in ("mul", "div") and len(use.origins) == 1
            if by_a_constant or use.op_name in ("add", "sub", "neg", "mean", "sum"):
                above.append(use.parent)

    def changes(
        self, starts: Mapping[AnyNode, Array], cut: Set[AnyNode] = frozenset()
    ) -> dict[AnyNode, Array]:
        """The effect of changes of the gradients at `starts` on the gradients of the nodes after them.

        cut    nodes to which nothing is passed
        """
        changed = dict(starts)
        among = self.leading - cut if cut else self.leading
        deque(self._pass(changed, among, self.target), maxlen=0)
        return changed

    def in_double_precision(self) -> Array:
        """The target's gradient from the same values, with less rounding."""
        return self.changes({self.root: self.seed.astype(np.float64)})[self.target]

    def part_through(self, t: Tensor, g: Array) -> Array | None:
        """The target's gradient if t gets the gradient g, and nothing else does; t may be beside the graph."""
        if t.node in self.leading:
            return self.changes({t.node: g.astype(t.dtype)}).get(self.target)
        below = Graph(t, g, {}, self.target)
        return below.gradients.get(self.target)


def constant_factor(use: Use) -> float:
    """The constant that the operation multiplies by: 0.5 for x / 2; 0 if there is none."""
    y = use.values.get(use.beside)
    if y is None or use.op_name not in ("mul", "div") or len(use.origins) > 1 or np.size(y) != 1:
        return 0.0
    number = float(np.reshape(y, ()))
    if use.op_name == "mul":
        return number
    return 1 / number if number and use.name == "x" else 0.0


def _from_an_entry(node: Node, values: Mapping[str, Any], name: str, result: Array) -> list[Array]:
    """The number that was added or subtracted, if the largest result passed unchanged, as through relu."""
    (known,) = (values[n] for n in "xy" if n != name)
    if np.shape(known) != np.shape(result) or not np.any(result > 0):
        return []
    at = np.argmax(result)
    x, z = np.ravel(known)[at], np.ravel(result)[at]
    return [np.asarray(z - x if op_name(node) == "add" else x - z if name == "y" else x + z)]


# The input, from the output. Operations whose rules read their input have saved it.
UNDONE: dict[str, Callable[[Array], Array]] = {
    "exp": np.log,
    "sqrt": np.square,
    "sigmoid": lambda z: np.log(z) - np.log1p(-z),
    "tanh": np.arctanh,
    "reciprocal": lambda z: 1 / z,
}


def operation_of(node: Node) -> tuple[Any, Any]:
    """The plan and the edges of a node; for a write to a view, those of the write's node."""
    if isinstance(node, CopySlices):
        return node.write.plan, node.write.edges
    return plan_of_node(node), node.edges


def _which_operand(node: CopySlices, k: int, part: bool) -> int | None:
    """Which operand of a write to a view the k-th edge belongs to."""
    if node.keeps and k == 0:
        return 0 if part else None
    return k - node.keeps + bool(node.write.plan.needs[0])


def recomputed(op: Op, values: Mapping[str, Any]) -> Array:
    """The operation's result, for operands and settings by name."""
    settings = {s: values[s] for s in op.settings}
    operands = values["xs"] if op.variadic else [values[name] for name in op.operands]
    return np.asarray(op.forward(*operands, **settings))


def plan_of_node(node: Node) -> Any:
    """The node's own plan, without its hooks."""
    return node.plan.plan if isinstance(node.plan, Hooked) else node.plan


def _writes(node: Node) -> bool:
    """Is this a write to a tensor whose gradient continues along the first edge?"""
    if isinstance(node, CopySlices) and node.keeps:
        return True
    plan = plan_of_node(node)
    return bool(node.wrote and isinstance(plan, Plan) and plan.wanted[0][0] == 0)


def called(node: Node) -> str:
    """The operation's name, from its node: Mul for MulBackward0; Matmul for a product that ends in a Squeeze."""
    if isinstance(node, CopySlices):
        return f"the in-place {called(node.write)}"
    name, op = node.name().partition("Backward")[0], op_name(node)
    return op.title().replace("_", "") if name in VIEWS and op in NOT_VIEWS else name


VIEWS, NOT_VIEWS = (
    ("Squeeze", "View", "UnsafeView", "Where"),
    ("matmul", "einsum", "index_select", "logabsdet"),
)


def op_name(node: Node | None) -> str:
    """The name of a node's operation in the table; "" if it is not there."""
    return "" if node is None else getattr(getattr(plan_of_node(node), "op", None), "name", "")


def names_of(plan: Any) -> list[str]:
    """The names of the operands that need a gradient; none for a plan without a row, such as a Function's."""
    return [name for _, name in plan.wanted] if isinstance(plan, Plan) else []
