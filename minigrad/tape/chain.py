"""The chain: all nodes that a tensor's `grad_fn` leads to, as a tree.

    z  AddBackward0            (2, 3, 4)
    ├─ MulBackward0 #2         saves y = y2 (2, 3, 4)
    │  ↓ y1  AddBackward0      (2, 3, 4)
    │  ├─ x1  AccumulateGrad  (2, 3, 4)  leaf
    │  └─ x2  AccumulateGrad  (2, 3, 4)  leaf
    └─ x2  AccumulateGrad     shown above

It follows `z.grad_fn.next_functions` down to the leaves. A node that is reached several times
is printed in full once, and after that only by name: otherwise the tree of a graph with a
hundred shared nodes would have an astronomical number of lines. The walk uses its own stack
instead of recursion. A node with one successor (↓) is not indented further, and a branch that
is indented too deeply continues at the margin.
"""

import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.core.engine import AnyNode
from minigrad.core.node import reachable
from minigrad.tape.adapters import is_leaf, node_of, tensor_kinds
from minigrad.tape.names import namespace_of, printable, shape_text, short, tensors_in
from minigrad.tape.render.shapes import esc

DEEPEST = 16  # levels of indentation
MOST_LINES = 80  # of a longer tree, the middle is left out


@dataclass(frozen=True)
class ChainLine:
    """One line of the tree: its branch, the node, and a remark."""

    branch: str
    what: str
    remark: str
    leaf: bool = False
    again: bool = False


class Chain:
    """The grad_fn chain of a tensor. Its text is the tree; `len` counts the nodes."""

    def __init__(self, z: Any, namespace: Mapping[str, Any]) -> None:
        self.root = node_of(z)
        named = list(tensors_in(namespace, tensor_kinds()))
        self._tensors: dict[int, str] = {}
        self._names: dict[AnyNode, str] = {}  # if the tensor is still among the user's variables
        self._shapes: dict[AnyNode, str] = {}
        for name, tensor in reversed(named):  # of several names, the first counts
            self._tensors[id(tensor)] = short(name)
            if (node := node_of(tensor)) is not None:
                self._names[node], self._shapes[node] = short(name), shape_text(tensor.shape)
        if self.root is None:
            remark = "no grad_fn: nothing here requires a gradient"
            lines = [ChainLine("", self._tensors.get(id(z), "this tensor"), remark)]
        else:
            self._shapes.setdefault(self.root, shape_text(z.shape))
            lines = self._tree(self.root)
        self.lines: tuple[ChainLine, ...] = tuple(lines)

    def __len__(self) -> int:
        return 0 if self.root is None else len(reachable([self.root]))

    def _tree(self, root: AnyNode) -> list[ChainLine]:
        """The lines in reading order: depth first, with our own stack.

        A branch that is too deep is postponed, and starts again at the margin.
        """
        lines: list[ChainLine] = []
        numbers: dict[AnyNode, int] = {root: 1}
        written: set[AnyNode] = set()
        put_off = deque([root])
        while put_off:
            stack: list[tuple[AnyNode, str, str]] = [(put_off.popleft(), "", "")]
            while stack:
                node, branch, below = stack.pop()
                number = numbers.setdefault(node, len(numbers) + 1)
                name = self._names.get(node)
                what = f"{node.name()} #{number}" if name is None else f"{name}  {node.name()}"
                if node in written:
                    lines.append(ChainLine(branch, what, "shown above", again=True))
                    continue
                if len(below) > 3 * DEEPEST and node.edges:
                    if node not in put_off:
                        put_off.append(node)
                    lines.append(ChainLine(branch, what, "continued below", again=True))
                    continue
                written.add(node)
                lines.append(ChainLine(branch, what, self._remark(node), is_leaf(node)))
                if len(node.edges) == 1:
                    stack.append((node.edges[0], below + "↓ ", below))
                    continue
                here, under = "└─ ", "   "  # of the last branch, which comes off the stack last
                for edge in reversed(node.edges):
                    stack.append((edge, below + here, below + under))
                    here, under = "├─ ", "│  "
        return lines

    def _remark(self, node: AnyNode) -> str:
        """The shape of the result, if known; the settings; the values saved for backward."""
        if is_leaf(node):
            return f"{shape_text(np.shape(node._array))}  leaf"
        parts = [self._shapes[node]] if node in self._shapes else []
        if node.freed:
            return "  ".join([*parts, "freed by a backward pass"])
        saved = []
        for name, (value, version) in node.saved_values().items():
            if name in node.plan.tensors:
                known = self._tensors.get(id(value), name)
                both = name if known == name else f"{name} = {known}"  # the rule's and the user's
                written = f" v{version}" if version else ""
                saved.append(f"{both} {shape_text(value.shape)}{written}")
        if saved:
            parts.append("saves " + ", ".join(saved))
        return "  ".join(parts)

    def __repr__(self) -> str:
        return printable("\n".join(self._texts(str, "{}", "{}")))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The text, and HTML in which leaves and repeated nodes are marked by font weight and style."""
        marked = "\n".join(self._texts(esc, "<strong>{}</strong>", "<em>{}</em>"))
        html = f'<pre style="line-height: 1.35">{marked}</pre>'
        return {"text/plain": repr(self), "text/html": html}

    def _texts(self, escape: Callable[[str], str], leaf: str, again: str) -> list[str]:
        """The lines, with aligned remarks, and without the middle of a long tree.

        leaf, again    formats for the names of leaves, and of nodes shown before
        """
        lines, left_out = self.lines, len(self.lines) - MOST_LINES
        if left_out > 0:
            lines = lines[: MOST_LINES // 2] + lines[-(MOST_LINES // 2) :]
        width = max(len(line.branch) + len(line.what) for line in lines)
        texts = []
        for line in lines:
            gap = " " * (width - len(line.branch) - len(line.what) + 2)
            look = leaf if line.leaf else again if line.again else "{}"
            what = look.format(escape(line.what))
            texts.append(f"{escape(line.branch)}{what}{gap}{escape(line.remark)}".rstrip())
        if left_out > 0:
            texts.insert(MOST_LINES // 2, f"... {left_out} more lines ...")
        return texts


def chain(z: Any, *, namespace: Mapping[str, Any] | None = None) -> Chain:
    """The grad_fn chain of z, down to the leaves that will get a gradient.

    z            a tensor, from minigrad or PyTorch
    namespace    where the names of tensors are looked up; by default, the caller's
                 variables

    Raises TypeError if z is not a tensor.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> z = (x * x).sum()
    >>> chain(z)
    z  SumBackward0        ()
    ↓ MulBackward0 #2      saves y = x (2,), x (2,)
    ├─ x  AccumulateGrad  (2,)  leaf
    └─ x  AccumulateGrad  shown above
    """
    if not isinstance(z, tensor_kinds()):
        raise TypeError(f"chain takes a tensor, but got {type(z).__name__}.")
    return Chain(z, namespace_of(sys._getframe(1)) if namespace is None else namespace)
