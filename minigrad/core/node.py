"""The tape's building blocks: nodes, and the edges between them.

A node is one application of an op, with everything that backward needs:

    plan       knows which of the op's inputs need a gradient, and which rules to run
    edges      for each of these inputs: the node that made it, or its AccumulateGrad
    saved      the values that those rules read, and nothing else
    version    the sum of the versions of the saved tensors, to detect in-place changes
    queue_key  the negative of the sequence number, so the queue returns the latest node first

Leaves (parameters, inputs) were not made by an op. A leaf that requires a gradient has an
`AccumulateGrad` instead (leaf.py), which adds up its gradient.

The class of a node is named after its op, as in PyTorch: MulBackward0. (In PyTorch, the 0 distinguishes
the forms of one function: PowBackward0 is x ** 2, and PowBackward1 is x ** y.)

The node's plan (plan.py) decides what is saved and what is run.

Read op.py first. Then engine.py, which runs the nodes.
"""

from collections.abc import Container, Iterable, Sequence
from functools import cache, partial
from itertools import count
from typing import Any, Self

from minigrad.core import modes
from minigrad.core.errors import Place, SavedValueChanged
from minigrad.core.hooks import Hookable
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import Counter, make
from minigrad.core.op import TWINS, Op
from minigrad.core.saved import Freed, what_changed

next_queue_key = count(-1, -1).__next__  # -1, -2, ...: later nodes come first


# Nodes for which PyTorch does not list the last operand as an input if it needs no gradient.
WITH_NUMBERS = frozenset(
    "BernoulliBackward2 CauchyBackward0 ClampBackward1 ClampMaxBackward0 ClampMinBackward0 EqBackward0 "
    "ExponentialBackward0 FillBackward2 FmodBackward0 GeBackward0 GeometricBackward0 GtBackward0 "
    "IndexFillBackward0 LeBackward0 LogNormalBackward0 LtBackward0 MaskedFillBackward0 NeBackward0 "
    "NormalBackward0 PowBackward0 RandomBackward0 RandomBackward1 RandomBackward2 RemainderBackward0 "
    "RsubBackward1 ScatterBackward1 UniformBackward0 ZeroBackward0".split()
)
# The same for the first operand: a mask, or the 2 in 2 ** x.
AFTER_THE_FIRST = frozenset(
    "HardshrinkBackward0 PowBackward2 PreluKernelBackward0 WhereBackward0".split()
)


class Node(Hookable):
    """One application of an op, recorded on the tape. `z.grad_fn` is a node.

    >>> x = minigrad.tensor(3.0, requires_grad=True)
    >>> z = x * x
    >>> z.grad_fn.name(), z.grad_fn._saved_self
    ('MulBackward0', tensor(3., requires_grad=True))
    """

    __slots__ = ("__dict__", "__weakref__", "edges", "plan", "queue_key", "saved", "version")

    plan: Any  # a Plan, defined in plan.py, which imports this module
    edges: tuple["Node | AccumulateGrad", ...]
    saved: Any
    version: int
    queue_key: int
    place: Place | None = None  # the line that made it, if lines are traced
    tangents: dict[int, Any] | None = None  # tangents of the result, in forward mode
    versions: dict[str, int] | None = None  # the version of each saved tensor, if lines are traced
    wrote = False  # was the result written to the first operand?
    reflected = False  # was it 2 * x or 2 - x? PyTorch shows x first

    def __init__(
        self,
        plan: Any,
        edges: tuple[Any, ...],
        saved: tuple[Any, ...] = (),
        place: Place | None = None,
    ) -> None:
        self.plan, self.edges, self.saved, self.place = plan, edges, saved, place
        self.queue_key = next_queue_key()

    @property
    def op(self) -> Op:
        """The op that was applied."""
        return self.plan.op

    def __dir__(self) -> list[str]:
        """The attributes, without the `_saved_...` of other nodes of this class."""
        return [
            name for name in super().__dir__() if not name.startswith("_saved_") or _has(self, name)
        ]

    def _sequence_nr(self) -> int:
        """The sequence number: later nodes have larger ones."""
        return -self.queue_key

    def _set_sequence_nr(self, number: int) -> None:
        """Set the sequence number: of the nodes that are ready, the one with the largest number runs first."""
        self.queue_key = -number

    @property
    def next_functions(self) -> tuple[tuple["Node | AccumulateGrad | None", int], ...]:
        """For each input tensor of the op: the node that made it, and its number among the node's results.

        (None, 0) for an input that needs no gradient. As in PyTorch, x comes first for 2 * x and 2 - x,
        and operands that PyTorch treats as numbers or masks, like the 2 in x ** 2, are left out.
        """
        return self._items_shown(self.makers())

    def makers(self) -> list[tuple["Node | AccumulateGrad | None", int]]:
        """Like next_functions, but for all operands, in the op's own order."""
        edges = iter(self.edges)
        return [shown(next(edges)) if n else (None, 0) for n in self.plan.needs]

    def _items_shown(self, of_inputs: list[Any]) -> tuple[Any, ...]:
        """From a list with one item per input, select the items that PyTorch shows, in PyTorch's order."""
        needs = list(self.plan.needs)
        if self.reflected:
            of_inputs, needs = of_inputs[::-1], needs[::-1]
        name = type(self).__name__
        if name in WITH_NUMBERS:
            while not needs[-1]:
                needs.pop()
        first = int(name in AFTER_THE_FIRST and not needs[0])
        return tuple(of_inputs[first : len(needs)])

    def __call__(self, *grads: Any) -> Any:
        """The gradients of the inputs, given the gradient of the result. Aligned with `next_functions`.

        >>> x = minigrad.tensor(3.0, requires_grad=True)
        >>> (x * 2).grad_fn(minigrad.tensor(1.0))
        (tensor(2.), None)
        """
        if len(grads) != 1:
            raise TypeError(f"expected 1 arguments, got {len(grads)} instead")
        found = iter(self.plan.run_tensors(grads[0], self))
        passed = self._items_shown([next(found) if needed else None for needed in self.plan.needs])
        return passed[0] if len(passed) == 1 else passed

    def rename(self, name: str) -> None:
        """Rename this node, where PyTorch's name differs from the op's: our sort, for example, is a gather."""
        self.__class__ = node_type_of(self.op, name)
        if modes.unusual:
            modes.tell("renamed", self)

    def saved_values(self) -> dict[str, tuple[Any, int | None]]:
        """The saved values: name -> (value, version when saved). For a setting, the version is None.

        Raises BackwardTwice if a backward pass has freed them.
        """
        values: dict[str, tuple[Any, int | None]] = {}
        if not self.plan.reads:
            return values
        then = self.versions or {}  # if lines are not traced, we use the current versions
        for name, value in zip(self.plan.slots, self.saved, strict=True):
            if name == "z_counter":
                values["z"] = (values["z"][0], then.get("z", value.count))
            elif hasattr(value, "counter"):
                values[name] = (value, then.get(name, value.counter.count))
            else:
                values[name] = (value, None)
        return values

    @property
    def freed(self) -> bool:
        """Has a backward pass freed the saved values?"""
        return self.plan.frees and isinstance(self.saved, Freed)

    def counters(self) -> dict[str, Counter]:
        """The counter of each saved tensor, by its name in the rules."""
        found: dict[str, Counter] = {}
        for name, value in zip(self.plan.slots, self.saved, strict=True):
            if name == "xs":
                found |= {f"xs[{k}]": x.counter for k, x in enumerate(value)}
            elif name == "z_counter":
                found["z"] = value
            elif hasattr(value, "counter"):
                found[name] = value.counter
        return found

    def changed(self) -> None:
        """Raise SavedValueChanged, which says which saved value was overwritten, and where."""
        now = self.counters()
        then = self.versions or {n: c.count for n, c in now.items()}
        name = next((n for n, c in now.items() if c.count != then[n]), None)
        if name is not None:
            before = then[name]
        else:  # Only the sum of the versions is known: assume it was the tensor with the most writes.
            name = max(now, key=lambda n: now[n].count)
            since = sum(c.count for c in now.values()) - self.version
            since //= list(now.values()).count(now[name])  # x * x saves the same memory twice
            before = now[name].count - since
        raise SavedValueChanged(what_changed(self, name, before, now[name]))

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class OwnPlan:
    """The base class of plans for nodes without an op in the table: they save no values by name."""

    reads: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()
    frees = False
    into = None

    def toward(self, edges: Sequence[Any], nodes: Container[Any]) -> Self:
        """The plan for a pass that needs only some of the gradients: this one, which computes all."""
        return self


@cache
def node_type(name: str, base: type[Node] = Node) -> type[Node]:
    """The node class with this name, derived from `base`. It is printed as in PyTorch: <class 'MulBackward0'>."""
    module = "builtins" if base is Node else "minigrad.autograd.function"
    return type(name, (base,), {"__slots__": (), "__module__": module})


@cache
def node_type_of(op: Op, name: str) -> type[Node]:
    """The node class with this name, with attributes for the saved values of an op."""
    show_saved(cls := node_type(name), op)
    return cls


SAVED_OPERANDS = {"self": 0, "other": 1, "mat2": 1, "exponent": 1}  # PyTorch's name -> position
SAVED_AS = {"result": "z", **{dim: axis for axis, dim in TWINS.items()}}


def show_saved(cls: type[Node], op: Op) -> None:
    """Add `_saved_self`, `_saved_result`, ..., PyTorch's names for the saved values, to a node class.

    We use properties because `__getattr__` would slow down every attribute access, by a factor of 3.
    """
    operands = [name for name, k in SAVED_OPERANDS.items() if k < len(op.operands)]
    for name in (*operands, *SAVED_AS, *op.operands, *op.settings):
        attribute = f"_saved_{name}"
        if not hasattr(cls, attribute):  # several plans share the class
            setattr(cls, attribute, property(partial(saved_attribute, name=attribute)))


def saved_attribute(node: Node, name: str) -> Any:
    """The value of `node._saved_self` and similar attributes; a saved array as a Tensor.

    None for an input that was not saved. Raises BackwardTwice if a backward pass has freed it, and
    AttributeError if the op saves nothing under this name.
    """
    op, plan, attribute = node.op, node.plan, name.removeprefix("_saved_")
    own = SAVED_AS.get(attribute, attribute)
    operands: tuple[str, ...] = getattr(op, "operands", ())
    if (position := SAVED_OPERANDS.get(attribute, len(operands))) < len(operands):
        own = operands[position]
    if own in plan.slots:
        found = dict(zip(plan.slots, node.saved, strict=True))
        if own == "z":
            return make.result_of(node, found["z"], found["z_counter"])
        plain = attribute == "exponent" and type(node).__name__ == "PowBackward0"
        return found[own].item() if plain else found[own]  # PowBackward0 has a number
    if own in operands or (own == "z" and plan.slots):
        return None
    raise AttributeError(f"{node.name()!r} object has no attribute {name!r}")


def _has(node: Node, name: str) -> bool:
    """Does the node have this attribute? A saved value that was freed counts; reading it raises BackwardTwice."""
    try:
        return hasattr(node, name)
    except RuntimeError:
        return True


def reachable(roots: Iterable[Any]) -> list[Any]:
    """Every node and leaf that the roots lead to, including the roots, each once."""
    found = dict.fromkeys(roots)
    queue = list(found)
    while queue:
        for parent in queue.pop().edges:
            if parent not in found:
                found[parent] = None
                queue.append(parent)
    return list(found)


def shown(edge: Any) -> tuple[Any, int]:
    """The node to show the user for an edge, and the number of the result.

    Differs from the edge's own node only for nodes with several results; see results.py.
    """
    owner = getattr(edge, "owner", None)
    return (edge, 0) if owner is None else (owner, edge.number)
