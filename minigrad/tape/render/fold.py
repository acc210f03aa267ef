"""Folding: groups nodes that can be drawn as one box, and makes the pictures.

A picture of a thousand nodes is unreadable. So we put nodes into groups, and a group can be
drawn as one box that opens into its own picture:

    call        the nodes of one call of a module
    iteration   one iteration of a training loop, up to the step of its optimizer (iterations.py)
    copy        one iteration of a loop: ops on a sequence of source lines that repeats
    repeat      the iterations of a loop together ("line 4, x12")
    stretch     otherwise, about a hundred consecutive nodes

All groups are intervals of the tape. A node's inputs come before it, so intervals cannot depend
on each other in a cycle, and the folded graph is acyclic, too. Leaves belong to no interval: a
picture shows the leaves that it uses.

    views[0]    the picture of the whole tape, folded if it has more than 400 nodes
    "unfolded"  the whole tape without folding, if it is small enough
    the others  one picture for each group: its content, with ports to nodes outside

A document in columns (`fold_columns`) is folded and laid out column by column; then the views are joined.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from itertools import groupby

from minigrad.tape import document as doc
from minigrad.tape.events import Call, Iteration
from minigrad.tape.render.boxes import LABEL, Sizes
from minigrad.tape.render.labels import labelled
from minigrad.tape.render.layers import Box
from minigrad.tape.render.layout import BoxLayout, lay_out
from minigrad.tape.render.style import text_width

MOST = 400  # boxes in a picture; with more, groups are folded
FEW = 24  # tapes with fewer nodes have no folded view
LONGEST_PERIOD = 60  # the longest loop iteration that we look for, in ops
FEW_ITERATIONS = 3  # in a longer training loop, each iteration is folded at first,
MOST_IN_LOOP = 60  # and in one with more nodes
MOST_OF_ITERATION = 150  # if an iteration has more nodes, its picture shows groups
STRETCH = 60  # the minimum number of nodes in a stretch
COLUMN_GAP = 70.0  # between two columns of a picture
SHARED = 12  # a leaf used by more folded boxes is drawn inside each of them


@dataclass
class NodeGroup:
    """Nodes that can be drawn as one box. `items` are entries and groups, in order."""

    kind: doc.GroupKind
    title: str
    items: "list[Item]" = field(default_factory=list)
    id: str = ""
    path: str = ""
    parent: str = ""


Item = int | NodeGroup


def entries_of(item: Item) -> list[int]:
    """The entry itself, or all entries in a group, at any depth."""
    return [item] if isinstance(item, int) else [k for i in item.items for k in entries_of(i)]


# For each entry, the module calls that it was made in, outermost first, with their numbers.
Calls = Sequence[Sequence[tuple[int, Call]]]


def fold_document(
    document: doc.Document, calls: Calls, iterations: Sequence[Iteration] = ()
) -> tuple[list[doc.FoldedGroup], list[doc.PictureView]]:
    """The groups and the views of a document; `iterations` are the iterations of a training loop."""
    return Folding(document, calls, range(len(document.nodes)), iterations).result()


def iteration_title(iteration: Iteration) -> str:
    """The title of an iteration: "iteration 3 of 500"."""
    return f"iteration {iteration.number} of {iteration.of}"


@dataclass
class Folding:
    """The groups and views of some of the nodes of a document.

    members     the numbers of these nodes
    most        the most boxes of a picture
    numbered    the number of the first group
    """

    document: doc.Document
    calls: Calls
    members: Sequence[int]
    iterations: Sequence[Iteration] = ()
    most: int = MOST
    numbered: int = 0

    def __post_init__(self) -> None:
        self.nodes = self.document.nodes
        self.into: list[list[tuple[str, int]]] = [[] for _ in self.nodes]  # (edge, source)
        self.edges = {e.id: e for e in self.document.edges}
        for e in self.document.edges:
            self.into[doc.index_of(e.to)].append((e.id, doc.index_of(e.from_)))
        # A leaf that an optimizer wrote to counts as a result.
        own = ((k, self.nodes[k]) for k in self.members)
        self.leaves = {k for k, node in own if node.kind == "leaf" and not node.updated}
        self.sizes = Sizes(self.document)
        self.made: dict[int, Box] = {}
        self.laid_out: dict[object, tuple[BoxLayout, list[doc.DrawnRoute]]] = {}
        self.groups: list[NodeGroup] = []

    def result(self) -> tuple[list[doc.FoldedGroup], list[doc.PictureView]]:
        """The groups, and the views: the initial view, and one for each group.

        The initial view shows all nodes if there are at most `most`, otherwise the folded groups.
        """
        n = len(self.members)
        loop = len(self.iterations)
        is_large = n > self.most or loop > FEW_ITERATIONS or (loop > 0 and n > MOST_IN_LOOP)
        items = self._by_iteration(_unwrapped(self._by_call(self._ops_in_order())))
        root = NodeGroup("call", self.document.name, items)
        for group in [*_groups_in(root)]:  # from the outermost level of calls inward
            if not (self.iterations and group is root):
                group.items = self._folded(group.items)
        for group in _groups_in(root):
            self._cut(group)
        while len(root.items) == 1 and _holds_groups(root.items[0]):
            root.items = root.items[0].items  # type: ignore[union-attr]  # it is a group
        for group in _groups_in(root):
            if group is not root:
                group.id = f"g{self.numbered + len(self.groups)}"
                self.groups.append(group)
            for item in group.items:
                if isinstance(item, NodeGroup):
                    item.parent = group.id
        whole = _owners(root) if is_large else {k: k for k in self.members}
        views = [replace(self._view("root", "", whole), folded=is_large)]
        if n <= FEW and not is_large and not self.iterations:
            return [], views
        if self.groups and not is_large:
            views.append(self._view("folded", "", _owners(root)))
        views += [self._view(g.id, g.id, self._shown_in(g)) for g in self.groups]
        return [self._plain(g) for g in self.groups], views

    def _shown_in(self, group: NodeGroup) -> Mapping[int, Item]:
        """The items drawn in the picture of a group; for an iteration, all entries, if there are not too many."""
        entries = entries_of(group)
        if group.kind == "iteration" and len(entries) <= MOST_OF_ITERATION:
            return {k: k for k in entries}
        return _owners(group)

    # ---- groups ------------------------------------------------------------------

    def _ops_in_order(self) -> list[int]:
        """The entries except leaves: inputs first, and otherwise in the order of their numbers.

        Nearly always, this is just the order of the numbers. But a node that was not recorded when it
        was made, and only found by a backward pass, may have inputs with larger numbers.
        """
        sorter = TopologicalSorter({v: [u for _, u in into] for v, into in enumerate(self.into)})
        sorter.prepare()
        heap: list[int] = []
        order: list[int] = []
        while sorter.is_active():
            for ready in sorter.get_ready():
                heappush(heap, ready)
            order.append(heappop(heap))
            sorter.done(order[-1])
        members = {*self.members} - self.leaves
        return [k for k in order if k in members]

    def _by_call(self, entries: Iterable[int], depth: int = 0) -> list[Item]:
        """The entries, with each call of a module as a group; `depth` calls are open."""
        found: list[Item] = []
        for call, own in groupby(entries, lambda k: [*self.calls[k], None][depth]):
            if call is None:
                found += own
            else:
                items = self._by_call(own, depth + 1)
                found.append(NodeGroup("call", call[1].title, items, path=call[1].path))
        return found

    def _by_iteration(self, items: list[Item]) -> list[Item]:
        """The items, with each iteration of the training loop as a group."""
        starts = [iteration.entries.start for iteration in self.iterations]

        def iteration_of(item: Item) -> Iteration | None:
            first = entries_of(item)[0]
            iteration = self.iterations[bisect_right(starts, first) - 1] if starts else None
            return iteration if iteration is not None and first in iteration.entries else None

        found: list[Item] = []
        for iteration, own in groupby(items, iteration_of):
            if iteration is None:
                found += own
            else:
                found.append(NodeGroup("iteration", iteration_title(iteration), [*own]))
        return found

    def _folded(self, items: list[Item]) -> list[Item]:
        """The items, with three or more equal blocks in a row replaced by a repeat of copies."""
        signs = [self._sign(i) for i in items]
        found: list[Item] = []
        k = 0
        while k < len(items):
            period, times = _period(signs, k)
            if times < 3 or period * times < 6:
                found.append(items[k])
                k += 1
                continue
            end = k + period * times
            copies = items[k:end]
            title = self._lines(items[k : k + period])
            whole, each = f"{title} ×{times}", f"{title}, iteration"
            if self._in_sequence(items[k]) and period > 2:
                whole, each = f"{times} time steps", "time step"
            if period > 2:  # otherwise, a box for each would save no space
                blocks = (items[start : start + period] for start in range(k, end, period))
                copies = [NodeGroup("copy", f"{each} {c}", own) for c, own in enumerate(blocks, 1)]
            found.append(NodeGroup("repeat", whole, copies))
            k = end
        return found

    def _in_sequence(self, item: Item) -> bool:
        """Was it computed in the loop of a recurrent layer?"""
        calls = self.calls[item] if isinstance(item, int) else ()
        return bool(calls) and calls[-1][1].sequence

    def _sign(self, item: Item) -> tuple[object, ...]:
        """A key for finding loops: equal for the same op on the same line, or the same kind of module."""
        if isinstance(item, NodeGroup):
            first = entries_of(item)[:1]
            line = None if not first else self.nodes[first[0]].code
            return item.kind, item.path, len(item.items), line if not item.path else None
        node = self.nodes[item]
        return node.op, node.code, node.inplace, node.made_by

    def _lines(self, items: Sequence[Item]) -> str:
        """The lines of code that computed a block, as text."""
        for item in items:
            if isinstance(item, NodeGroup):
                return item.title
        made = [self.nodes[i].line for i in items if isinstance(i, int)]
        lines = sorted({line for line in made if line is not None})
        if len(lines) > 1:
            return f"lines {lines[0]}–{lines[-1]}"
        return f"line {lines[0]}" if lines else "block"

    def _cut(self, group: NodeGroup) -> None:
        """Cut groups that are still too long for one picture into stretches."""
        items = group.items
        if len(items) > self.most // 2:
            size = max(STRETCH, -(-len(items) // (self.most // 4)))
            starts = range(0, len(items), size)
            group.items = [self._stretch(items[k : k + size], k) for k in starts]

    def _stretch(self, items: list[Item], at: int) -> NodeGroup:
        ends = f"{at + 1}–{at + len(items)}"
        titles = {i.title.rpartition(" ")[0] for i in items if isinstance(i, NodeGroup)}
        if len(titles) == 1 and (title := titles.pop()).endswith(("iteration", "time step")):
            return NodeGroup("stretch", f"{title}s {ends}", items)
        return NodeGroup("stretch", f"operations {ends}", items)

    def _plain(self, group: NodeGroup) -> doc.FoldedGroup:
        parent, members = group.parent or None, [_id_of(i) for i in group.items]
        count = sum(k not in self.leaves for k in entries_of(group))
        names = group.id, group.kind, group.title, group.path
        return doc.FoldedGroup(*names, parent, count, members)

    # ---- views -------------------------------------------------------------------

    def _view(self, key: str, group: str, owner: Mapping[int, Item]) -> doc.PictureView:
        """The picture of some entries; `owner` maps each to the entry or group in which it is drawn.

        Inputs from outside are ports. A leaf is drawn inside folded boxes if only one box uses it,
        or very many do, like a weight in every iteration of a loop.
        """
        box_of = {k: _id_of(item) for k, item in owner.items()}
        items = {_id_of(item): item for item in owner.values()}
        boxes = {name: self._box(item) for name, item in items.items()}
        inside = self._leaves_inside(box_of)
        joined: dict[tuple[str, str, str], list[str]] = {}
        ports: set[str] = set()
        for v in sorted(box_of):
            for edge, u in self.into[v]:
                if u in inside and u not in box_of:
                    continue
                source = box_of.get(u, f"n{u}")
                if source not in boxes:
                    port = self.nodes[u].backward != "AccumulateGrad" and u not in self.leaves
                    boxes[source] = self._port_box(u) if port else self._box(u)
                    ports.update([source] if port else [])
                if source != box_of[v]:
                    merged = source[0] == "g" or box_of[v][0] == "g"
                    ends = (source, box_of[v], "" if merged else edge)
                    joined.setdefault(ends, []).append(edge)
        layout, routes = self._drawn(boxes, joined)
        return doc.PictureView(
            id=key,
            group=group or None,
            folded=False,
            width=layout.width,
            height=layout.height,
            crossings=layout.crossings,
            boxes=dict(zip(boxes, layout.boxes.values(), strict=True)),
            ports=sorted(ports),
            chips=[replace(chip, of=[*boxes][int(chip.of)]) for chip in layout.chips],
            routes=routes,
        )

    def _drawn(
        self, boxes: Mapping[str, Box], joined: Mapping[tuple[str, str, str], list[str]]
    ) -> tuple[BoxLayout, list[doc.DrawnRoute]]:
        """The positions of the boxes, by number, and the arrows with positions for their texts.

        Pictures of the same shape, like those of all calls of a module, are laid out once.
        """
        number = {name: str(k) for k, name in enumerate(boxes)}
        numbered = tuple([replace(box, id=number[name]) for name, box in boxes.items()])
        ends = tuple([(number[u], number[v]) for u, v, _ in joined])
        texts = tuple([self._texts([self.edges[e] for e in edges]) for edges in joined.values()])
        shape = numbered, ends, texts
        if shape not in self.laid_out:
            layout = lay_out(numbered, ends)
            places = [*layout.boxes.values(), *(chip.place for chip in layout.chips)]
            self.laid_out[shape] = layout, labelled(layout.routes, texts, places)
        layout, routes = self.laid_out[shape]
        named = zip(joined.items(), routes, strict=True)
        return layout, [replace(r, from_=u, to=v, edges=edges) for ((u, v, _), edges), r in named]

    def _texts(self, edges: list[doc.TapeEdge]) -> tuple[tuple[float, ...], float]:
        """The widths of the texts that can appear beside an arrow; see labels.labelled."""
        edge, k = edges[0], len(edges)
        most = self.sizes.most.get(edge.from_, 0)
        lines = [f"{most} of {most}", edge.summed] if k == 1 else [f"{k} of {k} gradients"]
        widths = [text_width(line, LABEL, bold=True) for line in lines if line]
        gradient = any(e.gradient for e in edges)
        mark = edge.mark if k == 1 else ""
        return tuple(widths if gradient else ()), text_width(mark, LABEL)

    def _leaves_inside(self, box_of: dict[int, str]) -> set[int]:
        """The leaves that are only used by folded boxes: by one box, or by more than SHARED."""
        users: dict[int, set[str]] = {}
        for v, box in box_of.items():
            for _, u in self.into[v]:
                if u in self.leaves:
                    users.setdefault(u, set()).add(box)
        folded = (u for u in users if all(box[0] == "g" for box in users[u]))
        return {u for u in folded if not 1 < len(users[u]) <= SHARED}

    def _box(self, item: Item) -> Box:
        if isinstance(item, NodeGroup):
            operations = f"{len(entries_of(item))} operations"
            width = max(text_width(item.title, 14, bold=True), text_width(operations, 11) + 60, 120)
            return Box(item.id, 2 * round(width / 2) + 40, 64.0)
        if item not in self.made:
            node = self.nodes[item]
            leaf = node.kind == "leaf" or node.backward == "AccumulateGrad"
            chip = self.sizes.chip(node)
            self.made[item] = Box(node.id, *self.sizes.box(node), leaf=leaf, chip=chip)
        return self.made[item]

    def _port_box(self, k: int) -> Box:
        width = self.sizes.chip(self.nodes[k])
        return Box(f"n{k}", width, 22.0, leaf=True, chip=width)


def _groups_in(root: NodeGroup) -> Iterator[NodeGroup]:
    """The group and all groups in it, outermost first. The caller may replace items during the loop."""
    stack = [root]
    while stack:
        group = stack.pop()
        yield group
        stack += [i for i in reversed(group.items) if isinstance(i, NodeGroup)]


def _id_of(item: Item) -> str:
    return item.id if isinstance(item, NodeGroup) else f"n{item}"


def _owners(group: NodeGroup) -> dict[int, Item]:
    """For each entry of the group, the item of the group that contains it."""
    return {k: item for item in group.items for k in entries_of(item)}


def _holds_groups(item: Item) -> bool:
    return isinstance(item, NodeGroup) and any(isinstance(i, NodeGroup) for i in item.items)


def _unwrapped(items: list[Item]) -> list[Item]:
    """Remove groups that contain only one item, everything, or groups and nearly everything, like a whole model."""
    count = sum(len(entries_of(i)) for i in items)
    k = 0
    while k < len(items):
        item, alone = items[k], len(items) == 1
        large = len(entries_of(item)) > 0.8 * count and _holds_groups(item)
        if isinstance(item, NodeGroup) and (alone or large):
            items[k : k + 1] = item.items
        else:
            k += 1
    found: list[Item] = []
    for item in items:
        found += item.items if isinstance(item, NodeGroup) and len(item.items) == 1 else [item]
    return found


def _period(signs: Sequence[object], k: int) -> tuple[int, int]:
    """The length of the shortest block at k that repeats immediately, and the number of repeats."""
    best = (1, 1)
    n = len(signs)
    for period in range(1, min(LONGEST_PERIOD, (n - k) // 2) + 1):
        if signs[k] != signs[k + period]:
            continue
        end = k + period
        while end < n and signs[end] == signs[end - period]:
            end += 1
        times = (end - k) // period
        if times >= 3 and times * period > best[0] * best[1]:
            best = (period, times)
    return best


# ---------------------------------------------------------------------- columns


def fold_columns(
    document: doc.Document, columns: Sequence[tuple[str, Sequence[int]]]
) -> tuple[list[doc.FoldedGroup], list[doc.PictureView]]:
    """Like `fold_document`, for a document whose nodes are in several columns, side by side.

    columns    the title and the node numbers of each column; no edge connects two columns
    """
    groups: list[doc.FoldedGroup] = []
    parts = []
    none: Calls = [()] * len(document.nodes)
    for title, members in columns:
        part = Folding(document, none, members, (), MOST // len(columns), len(groups))
        some, views = part.result()
        groups += some
        parts.append((title, {v.id: v for v in views}))
    names = dict.fromkeys(key for _, views in parts for key in views)
    joined = []
    for key in names:
        if key in ("root", "folded"):
            joined.append(beside(key, [(title, own.get(key, own["root"])) for title, own in parts]))
        else:
            joined += [own[key] for _, own in parts if key in own]
    return groups, joined


def beside(key: str, views: Sequence[tuple[str, doc.PictureView]]) -> doc.PictureView:
    """Join views into one, from left to right, aligned at the top."""
    columns: list[doc.TitledColumn] = []
    moved: list[doc.PictureView] = []
    x, chips = 0.0, 0
    for title, view in views:
        wide = max(view.width, text_width(title, 13, bold=True))
        columns.append(doc.TitledColumn(title, x, COLUMN_GAP))
        moved.append(_moved(view, x + round((wide - view.width) / 2), chips))
        chips += len(view.chips)
        x += wide + COLUMN_GAP
    return doc.PictureView(
        id=key,
        group=None,
        folded=any(view.folded for view in moved),
        width=x - COLUMN_GAP,
        height=max(view.height for view in moved),
        crossings=sum(view.crossings for view in moved),
        boxes={name: place for view in moved for name, place in view.boxes.items()},
        ports=[port for view in moved for port in view.ports],
        chips=[chip for view in moved for chip in view.chips],
        routes=[route for view in moved for route in view.routes],
        columns=columns,
    )


def _moved(view: doc.PictureView, shift: float, chips: int) -> doc.PictureView:
    """The view, moved to the right, with its chips renumbered after those of other views."""

    def route(r: doc.DrawnRoute) -> doc.DrawnRoute:
        points = [(x + shift, y) for x, y in r.points]
        label, mark = (p and p._replace(x=p.x + shift) for p in (r.label, r.mark))
        chip = None if r.chip is None else r.chip + chips
        return replace(r, points=points, chip=chip, label=label, mark=mark)

    return replace(
        view,
        boxes={name: p._replace(x=p.x + shift) for name, p in view.boxes.items()},
        chips=[doc.Chip(c.of, c.place._replace(x=c.place.x + shift)) for c in view.chips],
        routes=[route(r) for r in view.routes],
    )
