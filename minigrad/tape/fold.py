"""Folding: which nodes can be shown as one box, and the pictures that follow from it.

A picture of a thousand nodes is unreadable. So we put nodes into groups, and a group can be
drawn as one box that opens into its own picture:

    call      what ran inside one call of a module, in the order of the calls
    copy      one iteration of a loop: a sequence of ops whose source lines repeat
    repeat    the iterations of a loop together ("line 4, x12")
    stretch   if neither applies, about a hundred consecutive nodes

All groups are intervals of the tape. Because a node's inputs come before it, boxes that are
intervals cannot depend on each other in a cycle, so the folded graph is
acyclic too. Leaves belong to no interval: a picture shows the leaves that it uses.

    views[0]    the picture of the whole tape, folded if it has more than 400 nodes
    "unfolded"  the same without folding, if it is small enough
    then        one picture for each group: its content, with ports to what is outside
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from minigrad.tape.boxes import sizes_of
from minigrad.tape.layout import Box, Layout, lay_out, text_width
from minigrad.tape.recorder import Recorder

MOST = 400  # boxes in a picture; with more, groups are folded
FEW = 24  # tapes with fewer nodes have no folded view
LONGEST_PERIOD = 60  # the longest loop iteration that we look for, in ops
STRETCH = 60  # the minimum number of nodes in a stretch

Document = dict[str, Any]


@dataclass
class Group:
    """Nodes that can be drawn as one box. `items` are entries and groups, in order."""

    kind: str
    title: str
    items: list[Item] = field(default_factory=list)
    id: str = ""
    path: str = ""
    parent: str = ""

    def entries(self) -> list[int]:
        """The entries in it, at any depth."""
        found: list[int] = []
        stack: list[Item] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, Group):
                stack.extend(reversed(item.items))
            else:
                found.append(item)
        return found


Item = int | Group


# For each entry, the module calls that it was made in, outermost first: (number, path).
Calls = Sequence[Sequence[tuple[int, str]]]


def fold(found: Document, calls: Calls) -> tuple[list[Document], list[Document]]:
    """The groups and the views of a document."""
    return Folding(found, calls, range(len(found["nodes"])), MOST, 0).result()


def calls_of(recorder: Recorder) -> Calls:
    """For each entry of a recording, the module calls that it was made in."""
    chains: list[list[tuple[int, str]]] = []
    for entry in recorder.entries:
        chain: list[tuple[int, str]] = []
        call = entry.call
        while call is not None:
            chain.append((call, recorder.calls[call].path))
            call = recorder.calls[call].parent
        chains.append(chain[::-1])
    return chains


class Folding:
    """The groups and views of some of the nodes of a document."""

    def __init__(
        self, found: Document, calls: Calls, members: Sequence[int], most: int, numbered: int
    ) -> None:
        self.found, self.calls, self.most = found, calls, most
        self.members, self.numbered = list(members), numbered
        self.nodes = found["nodes"]
        self.into: list[list[tuple[str, int]]] = [[] for _ in self.nodes]  # (edge, source)
        for e in found["edges"]:
            self.into[int(e["to"][1:])].append((e["id"], int(e["from"][1:])))
        self.leaves = {k for k in self.members if self.nodes[k]["kind"] == "leaf"}
        self.sizes = sizes_of(found)
        self.made: dict[int, Box] = {}
        self.groups: list[Group] = []

    def result(self) -> tuple[list[Document], list[Document]]:
        """The groups, and the views: what is shown at first, and one for each group.

        With at most `most` members all are shown at first; with more, the folded groups are.
        """
        n = len(self.members)
        root = Group("tape", self.found["name"], self._calls())
        self._repeats(root)
        self._stretches(root)
        while len(root.items) == 1 and _holds_groups(root.items[0]):
            root.items = root.items[0].items  # type: ignore[union-attr]  # it is a group
        self._number(root)
        views: list[Document] = []
        if n <= self.most:
            views.append(self._view("root", "", self.members, None))
            if self.groups and n > FEW:
                views.append(self._group_view(root, "folded"))
        else:
            views.append(self._group_view(root, "root"))
        if n > FEW or n > self.most:
            views += [self._group_view(g, g.id) for g in self.groups]
        else:
            self.groups = []
        views[0]["folded"] = n > self.most
        return [self._plain(g) for g in self.groups], views

    # ---- groups ------------------------------------------------------------------

    def _in_order(self) -> list[int]:
        """The entries with inputs first, otherwise as close to the order of their numbers as possible.

        Nearly always this is the order of the numbers. But some nodes were only found by a backward
        pass, because the recording did not see them being made; their inputs may have larger numbers.
        """
        missing = [len(into) for into in self.into]
        users: list[list[int]] = [[] for _ in self.nodes]
        for v, into in enumerate(self.into):
            for _, u in into:
                users[u].append(v)
        heap = [k for k, n in enumerate(missing) if not n]
        order: list[int] = []
        while heap:
            u = heappop(heap)
            order.append(u)
            for v in users[u]:
                missing[v] -= 1
                if not missing[v]:
                    heappush(heap, v)
        members = set(self.members)
        return [k for k in order if k in members]

    def _calls(self) -> list[Item]:
        """The ops in order, with each call of a module as a group, calls within calls."""
        top: list[Item] = []
        open_calls: list[tuple[int, list[Item]]] = []
        for k in self._in_order():
            if k in self.leaves:
                continue
            chain = self.calls[k]
            same = 0
            while same < min(len(chain), len(open_calls)) and open_calls[same][0] == chain[same][0]:
                same += 1
            del open_calls[same:]
            for call, path in chain[same:]:
                group = Group("call", path.rsplit(".", 1)[-1], path=path)
                (open_calls[-1][1] if open_calls else top).append(group)
                open_calls.append((call, group.items))
            (open_calls[-1][1] if open_calls else top).append(k)
        return _unwrapped(top)

    def _repeats(self, root: Group) -> None:
        """Fold the iterations of loops, from the outermost level of calls inward."""
        stack = [root]
        while stack:
            group = stack.pop()
            stack += [i for i in group.items if isinstance(i, Group)]
            group.items = self._folded(group.items)

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
            copies: list[Item] = []
            title = self._lines(items[k : k + period])
            for c in range(times):
                block = items[k + c * period : k + (c + 1) * period]
                if period <= 2:  # a box would not be shorter than its content
                    copies += block
                else:
                    copies.append(Group("copy", f"{title}, turn {c + 1}", list(block)))
            found.append(Group("repeat", f"{title} ×{times}", copies))
            k += period * times
        return found

    def _sign(self, item: Item) -> Any:
        """Two items with the same sign are iterations of one loop: same op on the same line, or same module."""
        if isinstance(item, Group):
            first = item.entries()[:1]
            line = None if not first else self.nodes[first[0]]["code"]
            return item.kind, item.path, len(item.items), line if not item.path else None
        node = self.nodes[item]
        return node["op"], node["code"], node["inplace"], node["made_by"]

    def _lines(self, items: Sequence[Item]) -> str:
        """The lines of code on which a block was made, as text."""
        paths = [i.title for i in items if isinstance(i, Group)]
        if paths:
            return paths[0]
        lines = sorted({self.nodes[i]["line"] for i in items if isinstance(i, int)} - {None})
        if not lines:
            return "block"
        if len(lines) == 1:
            return f"line {lines[0]}"
        return f"lines {lines[0]}–{lines[-1]}"

    def _stretches(self, root: Group) -> None:
        """Cut what is still too long for one picture into stretches."""
        stack = [root]
        while stack:
            group = stack.pop()
            if len(group.items) > self.most // 2:
                size = max(STRETCH, -(-len(group.items) // (self.most // 4)))
                group.items = [
                    self._stretch(group.items[k : k + size], k)
                    for k in range(0, len(group.items), size)
                ]
            stack += [i for i in group.items if isinstance(i, Group)]

    def _stretch(self, items: list[Item], at: int) -> Group:
        ends = f"{at + 1}–{at + len(items)}"
        turns = {i.title.rpartition(", turn ")[0] for i in items if isinstance(i, Group)}
        if len(turns) == 1 and "" not in turns:
            return Group("stretch", f"{turns.pop()}, turns {ends}", items)
        return Group("stretch", f"operations {ends}", items)

    def _number(self, root: Group) -> None:
        stack: list[tuple[Group, str]] = [(root, "")]
        while stack:
            group, parent = stack.pop()
            group.parent = parent
            if group is not root:
                group.id = f"g{self.numbered + len(self.groups)}"
                self.groups.append(group)
            inner = [i for i in group.items if isinstance(i, Group)]
            stack += [(i, group.id) for i in reversed(inner)]

    def _plain(self, group: Group) -> Document:
        entries = group.entries()
        leaves = [k for k in entries if k in self.leaves]
        return {
            "id": group.id,
            "kind": group.kind,
            "title": group.title,
            "path": group.path,
            "parent": group.parent or None,
            "count": len(entries) - len(leaves),
            "members": [i.id if isinstance(i, Group) else f"n{i}" for i in group.items],
        }

    # ---- views -------------------------------------------------------------------

    def _group_view(self, group: Group, key: str) -> Document:
        owner: dict[int, Item] = {}
        for item in group.items:
            for k in item.entries() if isinstance(item, Group) else [item]:
                owner[k] = item
        return self._view(key, group.id, [*owner], owner)

    def _view(
        self, key: str, group: str, entries: list[int], owner: dict[int, Item] | None
    ) -> Document:
        """The picture of some entries; `owner` says which box each of them is drawn in.

        An input from outside is a port; a leaf that only one folded box uses is inside that box.
        """
        box_of: dict[int, str] = {}
        boxes: dict[str, Box] = {}
        for k in entries:
            item: Item = k if owner is None else owner[k]
            if isinstance(item, Group):
                box_of[k] = item.id
                boxes.setdefault(item.id, self._group_box(item))
            else:
                box_of[k] = f"n{k}"
                boxes[f"n{k}"] = self._node_box(k)
        joined: dict[tuple[str, str, str], list[str]] = {}
        inside = self._leaves_inside(box_of) if owner is not None else {}
        ports: set[str] = set()
        for v in sorted(box_of):
            for edge, u in self.into[v]:
                if u in inside and u not in box_of:
                    continue
                source = box_of.get(u)
                if source is None:
                    source = f"n{u}"
                    if u not in self.leaves:
                        ports.add(source)
                    made = self._node_box if u in self.leaves else self._port_box
                    boxes.setdefault(source, made(u))
                if source != box_of[v]:
                    merged = source[0] == "g" or box_of[v][0] == "g"
                    key_of = (source, box_of[v], "" if merged else edge)
                    joined.setdefault(key_of, []).append(edge)
        shown = list(boxes.values())
        ends = [(u, v) for u, v, *_ in joined]
        return self._as_data(key, group, lay_out(shown, ends), ends, list(joined.values()), ports)

    def _leaves_inside(self, box_of: dict[int, str]) -> dict[int, str]:
        """The leaves that are used by one folded box only."""
        users: dict[int, set[str]] = {}
        for v, box in box_of.items():
            for _, u in self.into[v]:
                if u in self.leaves:
                    users.setdefault(u, set()).add(box)
        return {u: next(iter(b)) for u, b in users.items() if len(b) == 1 and [*b][0][0] == "g"}

    def _node_box(self, k: int) -> Box:
        if k not in self.made:
            node = self.nodes[k]
            leaf, chip = node["kind"] == "leaf", self.sizes.chip(node)
            self.made[k] = Box(f"n{k}", *self.sizes.box(node), leaf=leaf, chip=chip)
        return self.made[k]

    def _port_box(self, k: int) -> Box:
        width = self.sizes.chip(self.nodes[k])
        return Box(f"n{k}", width, 22.0, leaf=True, chip=width)

    def _group_box(self, group: Group) -> Box:
        many = f"{len(group.entries())} operations"
        width = max(text_width(group.title, 14, bold=True), text_width(many, 11) + 60, 120)
        return Box(group.id, 2 * round(width / 2) + 40, 64.0)

    def _as_data(
        self,
        key: str,
        group: str,
        layout: Layout,
        ends: list[tuple[str, str]],
        edges: list[list[str]],
        ports: set[str],
    ) -> Document:
        return {
            "id": key,
            "group": group or None,
            "folded": False,
            "width": layout.width,
            "height": layout.height,
            "crossings": layout.crossings,
            "boxes": {
                name: [place.x, place.y, place.width, place.height]
                for name, place in layout.boxes.items()
            },
            "ports": sorted(ports),
            "chips": [
                {"of": c.of, "place": [c.place.x, c.place.y, c.place.width, c.place.height]}
                for c in layout.chips
            ],
            "routes": [
                {
                    "from": u,
                    "to": v,
                    "edges": names,
                    "points": [list(p) for p in route.points],
                    "chip": route.chip,
                }
                for (u, v), names, route in zip(ends, edges, layout.routes)
            ],
        }


def _holds_groups(item: Item) -> bool:
    return isinstance(item, Group) and any(isinstance(i, Group) for i in item.items)


def _unwrapped(items: list[Item]) -> list[Item]:
    """Remove groups that contain everything, or only one item."""
    while len(items) == 1 and isinstance(items[0], Group):
        items = items[0].items
    found: list[Item] = []
    for item in items:
        if isinstance(item, Group) and len(item.items) == 1:
            found += item.items
        else:
            found.append(item)
    return found


def _period(signs: list[Any], k: int) -> tuple[int, int]:
    """The shortest block at k that repeats immediately, and how often it repeats."""
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
