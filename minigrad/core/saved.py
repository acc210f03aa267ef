"""Objects that can replace a node's saved values.

Freed           a backward pass has freed them: unpacking it raises the error
Packed          hooks have packed them: iterating over it unpacks them
what_changed    the error message if a saved tensor was written to
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from minigrad.core import modes
from minigrad.core.errors import BackwardTwice, aligned, at, place_of, user_instruction, user_names
from minigrad.core.memory import FRESH, NUMBER, Counter, make

Hooks = tuple[Callable[[Any], Any], Callable[[Any], Any]]  # pack, unpack


class Freed:
    """Replaces the saved values after they are freed. Unpacking it raises BackwardTwice."""

    __slots__ = ("where",)

    def __init__(self) -> None:
        self.where = user_instruction()

    def __iter__(self) -> Iterator[Any]:
        raise BackwardTwice(
            "Trying to backward through the graph a second time (or directly access saved tensors "
            "after they have already been freed). The saved values of the graph are freed as a "
            f"backward pass uses them.{at('first pass', place_of(self.where))}\n"
            "    Specify retain_graph=True in the first pass if you need a second one, or compute the result again."
        )


class Packed:
    """Replaces the saved values if hooks have packed them. Iterating unpacks."""

    __slots__ = ("entries", "hooks", "result")

    def __init__(self, node: Any, hooks: Hooks) -> None:
        plan, self.hooks = node.plan, hooks
        edges = dict(zip([k for k, _ in plan.wanted], node.edges, strict=True))
        self.entries = dict(zip(plan.slots, node.saved, strict=True))
        self.result = self.entries.get("z")
        for name, value in self.entries.items():
            if name == "z_counter":
                self.entries[name] = FRESH
            elif name == "xs":
                self.entries[name] = [
                    PackedValue(x, edges.get(k), hooks) for k, x in enumerate(value)
                ]
            elif name in plan.tensors and name != "z" and value.counter is not NUMBER:
                edge = edges.get(plan.op.operands.index(name))
                self.entries[name] = PackedValue(value, edge, hooks)
        if not node.wrote:
            self.pack_result()

    def pack_result(self) -> None:
        """Pack the op's result: after the write, for an op that works in place."""
        if self.result is not None:
            self.entries["z"] = PackedValue(make.wrap(self.result), None, self.hooks)
            self.result = None

    def __iter__(self) -> Iterator[Any]:
        for name, entry in self.entries.items():
            if name == "xs":
                yield tuple([x.unpacked() for x in entry])
            elif isinstance(entry, PackedValue):
                yield entry.unpacked().array if name == "z" else entry.unpacked()
            else:
                yield entry


class PackedValue:
    """A saved tensor packed by hooks. The packed value is not checked for changes.

    edge    the history of the tensor, which the unpacked one gets

    Raises RuntimeError if the pack hook writes to the tensor.
    """

    def __init__(self, x: Any, edge: object, hooks: Hooks) -> None:
        pack, self.unpack = hooks
        self.edge = edge
        with modes.no_grad(), modes.within("saved_hooks", ()):
            written = x.counter.count
            self.packed = pack(x)
        if x.counter.count != written:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can "
                "not be modified by in-place operations. To fix it, write to x.clone()."
            )

    def unpacked(self, edge: object = None) -> Any:
        """The tensor that the unpack hook gives, with the history of the saved one (edge, if it is given).

        A tensor that was written to becomes a new one, because a packed value is not watched for changes.
        """
        with modes.no_grad():
            given = self.unpack(self.packed)
        if not hasattr(given, "array"):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got {type(given)}"
            )
        edge = self.edge if edge is None else edge
        if edge is None and given.node is None and not given.counter.count:
            return given
        z = make.wrap(given.array)
        z.node = edge
        return z


def what_changed(node: Any, name: str, before: int, counter: Counter) -> str:
    """The message of SavedValueChanged. It uses the user's names for tensors where they are known.

    It also quotes the op's formula, in which x, y and z are the names in the rules.
    """
    formula = node.op.formula.split("   ")[0].strip()
    row, _, place_in_row = name.partition("[")  # xs[1] is the second tensor in the tuple xs
    value = node.saved_values()[row][0]
    value = value[int(place_in_row[:-1])] if place_in_row else value
    (own,) = user_names([getattr(value, "array", value)])
    if own is None or own == name:
        own, meant = name, ""
    else:
        meant = f", where {name} is {own}"
    what = f"its result {own}" if name == "z" else own
    lines = [
        f"{node.name()} ({formula}{meant}) needs {what} as it was when z was computed, but {own} has changed "
        "since (one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: it is at version {counter.count}; expected version {before} instead)."
    ]
    events = (("saved", node.place, before), ("changed", counter.place, counter.count))
    rows = [
        (event, place.label, place.text, f"{own} at version {version}")
        for event, place, version in events
        if place is not None
    ]
    if rows:
        lines.append(aligned(rows))
    if node.place is None:
        lines.append("    To see where it was saved, call minigrad.trace_lines() first.")
    lines.append(f"    To fix it, {_fix_for(counter)}")
    return "\n".join(lines)


AUGMENTED = re.compile(r"(\w+)\s*([-+*/@]|\*\*)=\s*(.+?)\s*(#.*)?$")


def _fix_for(counter: Counter) -> str:
    """The fix: what to write instead of the line that changed the value."""
    line = "" if counter.place is None else counter.place.text
    found = AUGMENTED.match(line)
    if found is None:
        return "make a new tensor instead of writing in place, or write to a clone()."
    target, operator, value, _ = found.groups()
    return (
        f"write  {target} = {target} {operator} {value}  (a new tensor) instead of  {target} {operator}= {value}, "
        f"or go on from  {target}.clone()."
    )
