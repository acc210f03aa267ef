"""A student's answer, the right gradient, and the mistake that explains the difference.

Diagnosis    a mistake that gives the student's numbers; `exchanged` is a mistake in two answers at once
Request      what is asked: the gradient of z with respect to x
Answer       the student's array, the right gradient, and its graph
"""

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from copy import copy
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minigrad.core.node import Node, reachable
from minigrad.core.tensor import Tensor
from minigrad.core.views import CopySlices
from minigrad.teach.difference import last_digit, real_array
from minigrad.teach.mistakes import one_number
from minigrad.teach.uses import AnyNode, Graph, Use, called

T = TypeVar("T")


@dataclass(frozen=True)
class Diagnosis:
    """The mistake that gives a student's numbers.

    kind       its name in the table of mistakes
    node       the operation on the tape where it was made; None if there is no particular one
    line       the line of code of that operation, like "In [3], line 2", if lines are traced
    message    what the mistake was
    hint       what to do about it
    also       the kinds of other mistakes that give the same numbers
    extent     "once"; "everywhere", if it was made wherever the operation is used; "one term",
               if it was made in only one term of a sum; "two", if `also` is a second mistake
    doubtful   would another answer that was compared, and is right, be wrong as well?
    """

    kind: str
    node: Node | None
    line: str | None
    message: str
    hint: str
    also: tuple[str, ...] = ()
    extent: str = "once"
    doubtful: bool = False

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def about(self, name: str) -> str:
        """The diagnosis, preceded by the answer's name unless it contains it."""
        return str(self) if self.kind == "exchanged" or not name else f"{name}: {self}"


class Request(NamedTuple):
    """A request for the gradient of z with respect to x: the arguments of `diagnose`, without the answer.

    gradient   dL/dz, or None for ones
    name       what the student calls x
    namespace  the student's variables
    settled    the nodes of the tensors whose gradients are right
    until      the CPU time at which a search should stop, if several answers share their time
    """

    z: Any
    x: Any
    gradient: object
    name: str
    namespace: Mapping[str, Any]
    rtol: float | None
    atol: float | None
    settled: Set[AnyNode | None] = frozenset()
    until: float = math.inf


class Answer:
    """A student's array, the right gradient, and the graph.

    mine     the student's array        right   the right one
    name     what the student calls x   graph   the graph from z to x
    plain    is the gradient of z ones, because none was given?
    coarser  has the answer fewer digits than the right one: is it in single precision?
    until    the CPU time at which the search of formulas stops
    few      are the numbers so few, or so similar, that many mistakes could match by chance?
    """

    def __init__(self, request: Request, mine: object) -> None:
        z, x, gradient, self.name, namespace, rtol, atol, self.settled, self.until = request
        if isinstance(mine, float):  # the answer itself explains nothing
            namespace = {n: v for n, v in namespace.items() if v is not mine}
        self.z: Tensor = z
        self.x: Tensor = x
        self.target: AnyNode = x.node
        self.plain = gradient is None
        seed = np.ones(z.shape, z.dtype) if gradient is None else real_array(gradient)
        self.graph = Graph(z, seed, namespace, self.target)
        right = self.graph.gradients.get(self.target)
        self.right = np.asarray(np.zeros(x.shape, x.dtype) if right is None else right)
        given = real_array(mine)
        self.mine = given.astype(np.float64)
        # The rounding is that of the less precise type: an answer may be in single precision.
        rounded = max(map(last_digit, (given, self.right)))
        least = 1e-5 if rounded > last_digit(self.mine) else 0.0
        self.coarser = last_digit(given) > last_digit(self.right) > 0
        # The rounding error is proportional to the largest number, not to each number. With a
        # fixed tolerance, all small gradients would count as equal.
        size = max(float(np.max(np.abs(a), initial=0)) for a in (self.mine, self.right))
        self.rtol = max(rtol, least) if rtol is not None else least or 1e-7
        self.atol = max(atol, least * size) if atol is not None else (least or 1e-8) * size
        if atol is None:  # where large terms cancel, the rest only has their precision
            parts = [np.max(np.abs(u.passed), initial=0) for u in self.graph.paths]
            self.atol = max(self.atol, 4 * rounded * float(max(parts, default=0)))
        self.settled = self.settled | set(self._computed(namespace))
        self.few = self.mine.size < 3 or one_number(self.mine)

    def _computed(self, namespace: Mapping[str, Any]) -> Iterator[AnyNode]:
        """The nodes whose right gradient is among the student's arrays, such as that of the scores."""
        graph, read = self.graph, {n for n, _ in self.graph.arrays_read}
        own = [v for n, v in graph.arrays.items() if n not in read]
        own += [t.array for t in namespace.values() if isinstance(t, Tensor) and t.node is None]
        for node, g in graph.gradients.items():
            if np.size(g) > 2 and not one_number(g) and any(self.equal(v, g) for v in own):
                yield node

    def same(self, candidate: object) -> bool:
        """Is this the student's array?"""
        return self.equal(self.mine, candidate)

    def gives(self, candidate: object) -> bool:
        """Is this the student's array, and not the right one?"""
        return self.same(candidate) and not self.equal(candidate, self.right)

    def equal(self, a: object, b: object) -> bool:
        """Do both have the same shape, and the same numbers within rtol and atol? NaN equals NaN."""
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return False
        far = np.abs(np.subtract(a, b, dtype=np.float64)) > self.atol + self.rtol * np.abs(b)
        if far.any():  # nearly always; allclose takes ten times as long to say so
            return False
        return bool(np.allclose(a, b, self.rtol, self.atol, equal_nan=True))

    def terms(self) -> "Iterator[Answer]":
        """For each term of a sum: the answer for this term, assuming that the other terms are right."""
        for graph in self.graph.terms():
            term = copy(self)
            term.graph, rest = graph, self.right - graph.gradients[self.target]
            term.mine, term.right = self.mine - rest, self.right - rest
            yield term

    def where(self, node: Node) -> str:
        """The line of an operation, or which tensor it gives, in parentheses; or ""."""
        line, text = (node.place.label, node.place.text) if node.place is not None else ("", "")
        # The line's text, not its number: In [3] is a different cell when the notebook runs again.
        where = re.sub(r"\s\s+#.*", "", text or "") or line  # without the comment after it
        return f" (in the line  {where})" if where else self.graph.whereabouts(node)

    def found(
        self,
        message: str,
        hint: str,
        *,
        kind: str,
        use: Use | None = None,
        node: Node | None = None,
        also: tuple[str, ...] = (),
        **words: str,
    ) -> Diagnosis:
        """A diagnosis at a use, or at no particular one.

        Fills {x}, {z} (its name), {op}, {line}, {mine} and {right} (the shapes), and `words` into the texts.
        """
        words |= {"x": self.name, "mine": str(self.mine.shape), "right": str(self.right.shape)}
        words["z"] = self.graph.names.get(self.graph.root, "z")
        line, doubtful = None, False
        if use is not None:
            node = use.node
            doubtful = bool(self.settled) and not self.settled.isdisjoint(reachable([use.parent]))
            op = called(node.write if isinstance(node, CopySlices) else node)
            words["op"] = f"the in-place {op}" if use.wrote else op
            line = node.place.label if node.place is not None else None
            words["line"] = self.where(node)
        text = message.format(**words)
        if message.startswith("{op}"):
            text = text[:1].upper() + text[1:]
        return Diagnosis(kind, node, line, text, hint.format(**words), also, doubtful=doubtful)


def in_time(items: Iterable[T], until: float) -> Iterator[T]:
    """The items, as long as this thread's CPU time is not up."""
    return takewhile(lambda _: time.thread_time() <= until, items)


def exchanged(one: str, other: str) -> Diagnosis:
    """The diagnosis for two swapped answers: each is right in place of the other."""
    message = f"{one} and {other} are swapped: each is right in place of the other."
    return general_diagnosis("exchanged", message, "Check which of the two each result belongs to.")


def in_all(found: Iterable[Diagnosis | None]) -> Diagnosis | None:
    """The first diagnosis whose kind explains every case; None if there is none."""
    known: list[Diagnosis] = []
    for d in found:
        if d is None:
            return None
        known.append(d)
    kinds = [{d.kind, *d.also} for d in known]
    return next((d for d in known if all(d.kind in also for also in kinds)), None)


def general_diagnosis(kind: str, message: str, hint: str, also: tuple[str, ...] = ()) -> Diagnosis:
    """A diagnosis that belongs to no particular operation."""
    return Diagnosis(kind, None, None, message, hint, also)
