"""Compares two tapes of one program, recorded by two engines: matches nodes, finds differences.

    matched(theirs, ours)     groups of nodes of both documents that correspond to each other
    Mismatch                  one difference

Operations are aligned in order, by line and `grad_fn`. Unmatched operations between two matches
are grouped by line. A node that only one tape has is added to the match that it leads to on its
line: PyTorch's LogSoftmaxBackward0 and NllLossBackward0 correspond to one NllLossBackward0 here.
Leaves are matched if matched operations use them, then by name.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal

from minigrad.tape import document as doc
from minigrad.tape.gaps import gap, largest_in, told_apart
from minigrad.tape.names import short

GROWTH = 30  # one operation may make a difference between its operands so much larger
What = Literal[
    "nodes", "leaf", "edges", "saved", "names", "type", "value", "gradient", "order", "passes", "error",
]  # fmt: skip


@dataclass(frozen=True)
class Mismatch:
    """One difference: its kind, the line, and how it looks on each of the two tapes.

    expected   do the two engines always differ in this? If so, neither is wrong
    nodes      the nodes that differ, first theirs, then ours
    """

    what: What
    line: str
    theirs: str
    ours: str
    expected: bool = False
    nodes: tuple[tuple[doc.NodeId, ...], tuple[doc.NodeId, ...]] = ((), ())


@dataclass(eq=False)
class Match:
    """Nodes of the first tape and the corresponding nodes of the second; one side may be empty.

    by_name    a leaf that other operations read first on the other tape, perhaps after a change
    """

    theirs: list[doc.TapeNode] = field(default_factory=list)
    ours: list[doc.TapeNode] = field(default_factory=list)
    by_name: bool = False

    @property
    def single(self) -> bool:
        """Is it one node on each side?"""
        return len(self.theirs) == len(self.ours) == 1

    @property
    def sides(self) -> tuple[list[doc.TapeNode], list[doc.TapeNode]]:
        """The nodes of both sides."""
        return self.theirs, self.ours

    @property
    def both(self) -> bool:
        """Are there nodes on both sides?"""
        return bool(self.theirs and self.ours)

    @property
    def ids(self) -> tuple[tuple[doc.NodeId, ...], tuple[doc.NodeId, ...]]:
        """The node ids of both sides."""
        return tuple(n.id for n in self.theirs), tuple(n.id for n in self.ours)

    @property
    def leaf(self) -> bool:
        """Is it a leaf, rather than an operation?"""
        return all(n.backward in ("AccumulateGrad", None) for n in self.theirs + self.ours)

    @property
    def title(self) -> str:
        """ "MulBackward0 of z"."""
        node = (self.theirs or self.ours)[-1]
        return f"{node.backward or node.op or node.kind} of {short(node.label)}"


def matched(theirs: doc.Document, ours: doc.Document) -> list[Match]:
    """Match the nodes of two tapes of one program."""
    first, second = ([n for n in d.nodes if n.kind in ("op", "failed")] for d in (theirs, ours))
    found = _by_names(_led_to(list(_aligned(first, second))), (theirs, ours))
    known = [{k for m in found for k in m.ids[side]} for side in (0, 1)]

    def pair(a: list[doc.TapeNode], b: list[doc.TapeNode], by_name: bool = False) -> None:
        found.append(Match(a, b, by_name))
        for side, ids in zip(known, found[-1].ids):
            side.update(ids)

    for match in [m for m in found if m.both]:
        read = [[k for n in side for k in _operands(n)] for side in match.sides]
        if not match.single:  # a group reads its weight and its bias in the same order
            read = [[k for k in ids if k not in known[side]] for side, ids in enumerate(read)]
            shapes = [[d.node(k).shape for k in ids] for d, ids in zip((theirs, ours), read)]
            read = read if shapes[0] == shapes[1] else []
        for a, b in zip(*read):
            x, y = theirs.node(a), ours.node(b)
            if a not in known[0] and b not in known[1] and x.shape == y.shape:
                pair([x], [y])
    left: dict[str, list[doc.TapeNode]] = {}  # by name; the versions of a leaf, in order
    for node in ours.nodes:
        if node.id not in known[1]:
            left.setdefault(node.name, []).append(node)
    for node in theirs.nodes:
        if node.id not in known[0]:
            by_user = "#" not in node.name and left.get(node.name)
            pair([node], [by_user.pop(0)] if by_user else [], by_name=True)
    return found + [Match([], [node]) for nodes in left.values() for node in nodes]


def _operands(node: doc.TapeNode) -> list[doc.NodeId]:
    return [i.node for i in node.inputs if isinstance(i, doc.NodeOperand)]


def _aligned(first: list[doc.TapeNode], second: list[doc.TapeNode]) -> Iterator[Match]:
    """Match operations in order; between two matches, group the others by line."""
    a, b = (
        [(n.line, n.backward or n.op, tuple(n.shape or ())) for n in nodes]
        for nodes in (first, second)
    )
    for same, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if same == "equal":
            for x, y in zip(first[a0:a1], second[b0:b1]):
                split = x.backward is None and _sizes_differ(x, y)
                yield from (Match([x]), Match([], [y])) if split else (Match([x], [y]),)
            continue
        between = first[a0:a1], second[b0:b1]
        before = first[a0 - 1].line if a0 else None
        lines = dict.fromkeys(n.line for nodes in between for n in nodes)
        for line in sorted(lines, key=lambda line: line != before):  # a stable sort
            left, right = ([n for n in nodes if n.line == line] for nodes in between)
            if len(left) == len(right) and all(map(_alike, left, right)):
                yield from (Match([x], [y]) for x, y in zip(left, right))
            elif left and right and _has_gradient(left) == _has_gradient(right):
                yield Match(left, right)
            else:
                yield from (Match([x]) for x in left)
                yield from (Match([], [y]) for y in right)


def _alike(x: doc.TapeNode, y: doc.TapeNode) -> bool:
    """May two nodes between two matches belong together? Without a gradient, only the op tells what they do."""
    same_op = x.backward is not None or x.op == y.op or (x.view and y.view)  # select and getitem
    return same_op and (x.shape, x.dtype) == (y.shape, y.dtype)


def _led_to(matches: list[Match]) -> list[Match]:
    """Add nodes that only one tape has to the match that reads them on their line, if its two ops differ."""
    readers: dict[tuple[bool, doc.NodeId], Match] = {}
    found: list[Match] = []
    for m in reversed(matches):
        node, ours = (m.theirs or m.ours)[0], not m.theirs
        reader = None if m.both else readers.get((ours, node.id))
        nodes = [] if reader is None else reader.sides[ours]
        read_by = nodes[-1] if nodes else None
        if reader and read_by and node.backward and read_by.backward and read_by.line == node.line:
            nodes.insert(0, node)
        else:
            found.append(reader := m)
        if reader.both and reader.theirs[-1].op != reader.ours[-1].op:
            for side, group in enumerate(m.sides):
                readers |= {(bool(side), k): reader for n in group for k in _operands(n)}
    return found[::-1]


def _by_names(matches: list[Match], documents: Sequence[doc.Document]) -> list[Match]:
    """Among alike operations on a line, match those that read the user's tensors of the same names.

    The engines may compute the two linear parts of a recurrent cell in either order.
    """
    alike: dict[tuple[object, ...], list[Match]] = {}
    for m in matches:
        if m.single:
            node = m.theirs[0]
            key = node.line, node.backward or node.op, tuple(node.shape or ())
            alike.setdefault(key, []).append(m)
    for group in alike.values():
        sides = [m.theirs[0] for m in group], [m.ours[0] for m in group]
        named = [
            [(_names_read(d, n), k) for k, n in enumerate(s)] for d, s in zip(documents, sides)
        ]
        orders = [sorted(names) for names in named]  # of equal names, the earlier node comes first
        if [n for n, _ in orders[0]] == [n for n, _ in orders[1]]:
            for (_, a), (_, b) in zip(*orders):
                group[a].ours = [sides[1][b]]
    return matches


def _names_read(document: doc.Document, node: doc.TapeNode) -> list[str]:
    """The user's names of the tensors that a node reads."""
    return [n for k in _operands(node) if "#" not in (n := document.node(k).name)]


def _sizes_differ(x: doc.TapeNode, y: doc.TapeNode) -> bool:
    """Do the results of two nodes differ in their number of entries?"""
    known = x.shape is not None and y.shape is not None
    return known and math.prod(x.shape or ()) != math.prod(y.shape or ())


def _has_gradient(nodes: list[doc.TapeNode]) -> bool:
    return any(n.backward for n in nodes)


class Comparing:
    """Finds the differences between two tapes of one program. `mismatches` lists them."""

    def __init__(self, theirs: doc.Document, ours: doc.Document) -> None:
        self.documents = theirs, ours
        self.matches = matched(theirs, ours)
        self.of = tuple({node: m for m in self.matches for node in m.ids[side]} for side in (0, 1))
        self.versions = self.of[0].copy()  # one match for each version of a leaf
        self._join_versions_of_leaves()
        self.sent = self._sent(0), self._sent(1)
        apart = (n for m in self.matches if not m.single for n in m.theirs + m.ours)
        self._uneven = {n.line for n in apart if n.kind == "op"}
        self._last = _last_on_their_lines(theirs), _last_on_their_lines(ours)
        self.values: dict[Match, float] = {}  # how far apart the values of a match are; see `gap`
        self.mismatches = [
            *self._nodes(), *self._edges(), *self._values(), *self._saved(), *self._passes(),
            *self._errors(),
        ]  # fmt: skip

    def _join_versions_of_leaves(self) -> None:
        """Treat all versions of a leaf as one, the first version that both tapes have."""
        leaves: dict[tuple[int, int | None], Match] = {}
        for m in self.matches:
            pair = [*m.theirs, *m.ours]
            if m.single and all(n.backward == "AccumulateGrad" for n in pair):
                for side, n in enumerate(pair):
                    leaves.setdefault((side, n.tensor), m)
        for side, document in enumerate(self.documents):
            for n in document.nodes:
                if n.backward == "AccumulateGrad" and (side, n.tensor) in leaves:
                    self.of[side][n.id] = leaves[side, n.tensor]

    def _mismatch(
        self, what: What, shown: Iterable[str], m: Match | None = None, line: str = "",
        expected: bool = False,
    ) -> Mismatch:  # fmt: skip
        theirs, ours = shown
        if m is None:
            return Mismatch(what, line, theirs, ours, expected)
        document, nodes = self.documents[not m.theirs], m.theirs or m.ours
        return Mismatch(what, line or document.where(nodes[-1].code), theirs, ours, expected, m.ids)

    # ---- nodes, edges, saved values ----------------------------------------------------

    def _nodes(self) -> Iterator[Mismatch]:
        """Nodes that differ; operations without a gradient are only counted."""
        alone: list[Counter[str]] = [Counter(), Counter()]
        for m in self.matches:
            names = [[n.backward for n in side if n.backward] for side in m.sides]
            shown = [", ".join(side) for side in names]
            if not m.both:
                node = (m.theirs or m.ours)[0]
                if node.kind == "op" and node.backward in (None, "AccumulateGrad"):
                    alone[not m.theirs][f"{node.op}{'_' * node.inplace}"] += 1
                elif node.kind == "op":
                    yield self._mismatch("nodes", shown, m)
            elif names[0] != names[1]:
                # PyTorch only reports the version of a leaf that gets the gradient.
                if m.leaf and (m.theirs[-1].overwritten_by is not None or m.theirs[-1].inplace):
                    continue
                yield self._mismatch("leaf" if m.leaf else "nodes", (s or "none" for s in shown), m)
        if alone[0] or alone[1]:
            ops = [[f"{k}× {op}" if k > 1 else op for op, k in c.items()] for c in alone]
            uncompared = (f"also, without a gradient: {', '.join(o)}" if o else "" for o in ops)
            yield self._mismatch("nodes", uncompared, expected=True)

    def _edges(self) -> Iterator[Mismatch]:
        """Differences in where gradients are sent. Nodes without a match are skipped over."""
        for m in self.matches:
            if m.both and not m.leaf:
                to = [sent[m] for sent in self.sent]
                if self._is_doubtful(m):
                    continue
                if to[0] != to[1] and (m.single or set(to[0]) != set(to[1])):
                    titles = (", ".join(sorted(t.title for t in k.elements())) for k in to)
                    yield self._mismatch("edges", (f"{m.title} → {t or 'none'}" for t in titles), m)

    def _sent(self, side: int) -> dict[Match, Counter[Match]]:
        """For one side: the matches to which each match sends gradients."""
        above: dict[doc.NodeId, list[doc.NodeId]] = {}
        for e in self.documents[side].edges:
            if e.gradient:
                above.setdefault(e.to, []).append(e.from_)
        sent: dict[Match, Counter[Match]] = {}
        present = [m for m in self.matches if m.ids[side]]
        for m in sorted(present, key=lambda m: doc.index_of(m.ids[side][-1])):  # parents first
            sent[m] = Counter()
            for parent in (p for k in m.ids[side] for p in above.get(k, ())):
                to = self.of[side][parent]
                if to is not m:
                    sent[m].update([to] if to.both or to.leaf else sent.get(to, ()))
        return sent

    def _saved(self) -> Iterator[Mismatch]:
        """Differences in the saved tensors and their versions; and in their names, once for each kind of node."""
        reported: set[str | None] = set()
        for m in self.matches:
            if not m.single:
                continue
            node = m.theirs[0]
            kept = [[s for s in n.saved if s.node is not None] for n in (node, m.ours[0])]
            what = [{(self.of[k][s.node or ""], s.version) for s in kept[k]} for k in (0, 1)]
            shown = []
            for d, found in zip(self.documents, kept):
                texts = [f"{s.name} = {short(s.of(d.nodes))} v{s.version}" for s in found]
                shown.append(f"{node.backward} saves {', '.join(texts) or 'no tensor'}")
            if what[0] != what[1]:
                yield self._mismatch("saved", shown, m, expected=True)
            elif [s.name for s in kept[0]] != [s.name for s in kept[1]]:
                if node.backward not in reported:
                    yield self._mismatch("names", shown, m, expected=True)
                reported.add(node.backward)

    # ---- numbers -----------------------------------------------------------------------

    def _values(self) -> Iterator[Mismatch]:
        """Values and dtypes that differ, by more than follows from the operands."""
        updates, theirs = self._gaps_of_updates(), self.documents[0]
        for m in sorted(self.matches, key=lambda m: [doc.index_of(n.id) for n in m.theirs]):
            operands = [k for n in m.theirs for k in _operands(n)]
            came = [self.values.get(self.versions[k], 0.0) for k in operands]
            came += [updates.get(n.id, 0.0) for n in m.theirs]
            self.values[m] = inherited = max(came, default=0.0)
            if not m.both or m.by_name or self._is_doubtful(m):
                continue
            a, b = m.theirs[-1], m.ours[-1]
            several = bool(a.results or b.results)
            if (several and not m.single) or (a.shape != b.shape and (several or not m.single)):
                continue  # it is unknown which result belongs to which
            facts = theirs.value(a.value), self.documents[1].value(b.value)
            terms = (theirs.value(theirs.node(k).value) for k in operands)
            largest = max(map(largest_in, terms), default=0.0)
            same_type, found = a.dtype == b.dtype, gap(*facts, 0.1 * largest)
            if same_type and (found <= 1 or found <= GROWTH * inherited < math.inf):
                self.values[m] = found
                continue
            self.values[m] = math.inf  # what follows from it is not reported
            if inherited < math.inf and same_type:
                shown = (f"{short(a.label)} = {text}" for text in told_apart(facts[0], facts[1]))
                yield self._mismatch("value", shown, m)
            elif inherited < math.inf:
                yield self._mismatch("type", (f"{short(n.label)}: {n.dtype}" for n in (a, b)), m)

    def _is_doubtful(self, m: Match) -> bool:
        """May it be no match? On a line where the engines apply different ops, only the last one is certain."""
        if not m.both or any(n.kind != "op" for n in m.theirs + m.ours):
            return False
        if not m.single:  # with create_graph, the engines differ in most rules
            return any(n.made_by is not None for n in m.theirs + m.ours)
        if m.theirs[0].line not in self._uneven:
            return False
        return m.theirs[0].id not in self._last[0] or m.ours[0].id not in self._last[1]

    def _gaps_of_updates(self) -> dict[doc.NodeId, float]:
        """For each parameter that an optimizer wrote to: how far apart the two gradients were.

        Relative to their size, because an optimizer like Adam divides by it: a gradient that is
        only rounding, like that of a bias before a batch norm, moves a parameter as far as others.
        """
        changes: list[dict[doc.NodeId, doc.ParameterChange]] = []
        for d in self.documents:
            updates = [u for s in d.steps for u in s.details if isinstance(u, doc.UpdateDetail)]
            changes.append({c.now: c for u in updates for c in u.changes if c.now})
        theirs, ours = self.documents
        found = {}
        for now, change in changes[0].items():
            for k in self.versions[now].ids[1]:
                if k in changes[1]:
                    g = theirs.value(change.g), ours.value(changes[1][k].g)
                    found[now] = gap(g[0], g[1], relative=True)
        return found

    def _passes(self) -> Iterator[Mismatch]:
        """Differences in the number of passes, the order of the nodes, and the gradients they received."""
        passes = [d.backward for d in self.documents]
        if len(passes[0]) != len(passes[1]):
            yield self._mismatch("passes", (f"{len(p)} backward passes" for p in passes))
        late = False
        for ran in zip(*passes):
            ran_in = [self._nodes_of_pass(side, p.number) for side, p in enumerate(ran)]
            line = self.documents[0].where(ran[0].code)
            yield from self._gradients(line, ran_in)
            inner = [[m for m in t if m.both and not m.leaf] for t in ran_in]
            first = next((k for k, pair in enumerate(zip(*inner)) if pair[0] is not pair[1]), None)
            if first is not None:
                shown = (f"{side[first].title} is number {first + 1}" for side in inner)
                yield self._mismatch("order", shown, inner[0][first], line)
            leaves = [m.leaf for m in ran_in[0]]
            late |= leaves != sorted(leaves)
        if late:
            when = "as soon as it is ready", "after all other nodes"
            yield self._mismatch("order", (f"AccumulateGrad runs {w}" for w in when), expected=True)

    def _gradients(self, line: str, ran_in: list[dict[Match, int | None]]) -> Iterator[Mismatch]:
        """Gradients that differ: at the first such node, and at leaves."""
        first = True
        known = (self.values.get(m, 0.0) for m in ran_in[0])
        inherited = max([x for x in known if x < math.inf], default=0.0)
        came_from: dict[Match, float] = {}  # the largest entries of the gradients that went there
        for m, to in self.sent[0].items():
            size = largest_in(self.documents[0].value(ran_in[0].get(m)))
            came_from |= {parent: max(size, came_from.get(parent, 0)) for parent in to}
        for m in ran_in[0]:
            facts = [d.value(t.get(m)) for d, t in zip(self.documents, ran_in)]
            several = not m.single and any(n.results for n in m.theirs + m.ours)
            if None in facts or several or self._is_doubtful(m):
                continue
            if gap(facts[0], facts[1], came_from.get(m, 0)) <= max(1.0, GROWTH**2 * inherited):
                continue
            if first or m.leaf:
                shown = (f"{m.title} received {t}" for t in told_apart(facts[0], facts[1]))
                yield self._mismatch("gradient", shown, m, line)
                first = False

    def _nodes_of_pass(self, side: int, number: int) -> dict[Match, int | None]:
        """The matches whose nodes ran in a pass, in order, with their incoming gradients."""
        found: dict[Match, int | None] = {}
        for s in self.documents[side].steps_of(number):
            found.setdefault(self.of[side][s.node or ""], s.g)
        return found

    def _errors(self) -> Iterator[Mismatch]:
        errors = [d.error for d in self.documents]
        if any(errors):
            lines = [d.where(e.code) for d, e in zip(self.documents, errors) if e is not None]
            first = (e.text.partition("\n")[0] if e else "ran to its end" for e in errors)
            texts = (short(f, 160) for f in first)
            yield self._mismatch("error", texts, None, lines[0], all(errors))

    # ---- steps -------------------------------------------------------------------------

    def steps(self, side: int) -> list[int]:
        """For each step of one tape, from 0, the corresponding step of the other."""
        keys = []
        for of, d in zip(self.of, self.documents):
            keys.append([(s.event, s.pass_, of.get(s.node or "")) for s in d.steps])
        places = {key: k for k, key in reversed(list(enumerate(keys[1 - side], 1)))}
        found = [0]
        for key in keys[side]:
            found.append(places.get(key, found[-1]))
        return found


def _last_on_their_lines(document: doc.Document) -> set[doc.NodeId]:
    """The operations after which another line runs."""
    ops = [n for n in document.nodes if n.kind == "op"]
    return {a.id for a, b in zip(ops, [*ops[1:], None]) if b is None or a.line != b.line}
