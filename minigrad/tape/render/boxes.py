"""Boxes: the text in each box after a given step, and the size that the box needs.

A box has the same size at every step, so that nothing moves while the user steps.
"""

from minigrad.tape.document import Document, ErrorDetail, SavedConflict, SeedDetail, TapeNode
from minigrad.tape.names import clean, shape_text, short
from minigrad.tape.render.style import text_width
from minigrad.tape.render.thumbnail import picture_size
from minigrad.tape.state import TapeState

PAD = 12.0
ROW_1, ROW_2, TOP, CHIPS, BOTTOM = 20.0, 38.0, 47.0, 24.0, 25.0  # the rows of a box
PRINTED, PICTURED = 17.0, 31.0  # the height of the value: one line, or text beside a picture
MOST_CHIPS = 4
LABEL = 11.0  # the smallest font size, in pixels: beside arrows, in chips and badges


class Sizes:
    """The text in each box after a given step, and the sizes of the boxes."""

    def __init__(self, document: Document, step: int | None = None) -> None:
        self.document, self.state = document, TapeState.of(document, step)
        # they get a badge: first NaN or inf
        self.firsts = {s.node for s in document.steps if s.first}
        self.most: dict[str, int] = {}  # the most contributions a node got in any pass
        self.pruned: set[str] = set()  # the nodes that some pass does not need
        # the nodes that stopped a pass, with the saved value that had changed
        self.stopped: dict[str | None, SavedConflict | None] = {}
        for s in document.steps:
            if isinstance(s.details[-1], ErrorDetail):
                self.stopped[s.node] = s.details[-1].conflict
            if isinstance(s.details[0], SeedDetail):
                self.pruned.update(s.details[0].pruned)
                for key, n in s.details[0].expected.items():
                    self.most[key] = max(self.most.get(key, 0), n)

    def box(self, node: TapeNode) -> tuple[float, float]:
        """The size of a box, wide enough for its text at every step."""
        name = text_width(self.name(node), 14, mono=True)
        shape = text_width(shape_text(node.shape), 11.5)
        tabs = sum(text_width(v, 11, bold=True) + 13 for v, _ in self.tabs(node))
        what, line = text_width(self.what(node), 12, mono=True), text_width(self.line(node), 11)
        backward = text_width(self.backward(node), 12, bold=True)
        note = max((self._beside(*look) for look in self._notes(node)), default=0)
        rows = [name + tabs + 18 + shape, what + 18 + line, self.value_width(node), backward + note]
        conflict = self.stopped.get(node.id)
        for look in ((None,), (False,), (True,), (False, conflict)):
            rows.append(sum(chip_width(*c) + 6 for c in self.chips(node, *look)) - 6)
        # An even width, so that the center of the box is on a whole pixel.
        width = 2 * round(max(*rows, 108.0) / 2) + 2 * PAD
        chips = self.chips(node) or node.id in self.firsts
        return width, self.chips_at(node) + (CHIPS if chips else 0) + BOTTOM

    def chips_at(self, node: TapeNode) -> float:
        """The y position of the chips in a box: below the value."""
        if node.thumbnail is None:
            return TOP
        return TOP + (PRINTED if len(node.thumbnail.lines) == 1 else PICTURED)

    def value_width(self, node: TapeNode) -> float:
        """The width of the value in a box: its picture, and the text beside it."""
        shown = node.thumbnail
        if shown is None:
            return 0.0
        wide = picture_size(shown)[0]
        return max(text_width(clean(line), LABEL) for line in shown.lines) + (wide and wide + 7)

    def chip(self, node: TapeNode) -> float:
        """The width in pixels of the chip that repeats a leaf: an arrow and its name."""
        return 2 * round(text_width(f"↑ {self.name(node)}", 12, mono=True) / 2) + 26

    def name(self, node: TapeNode) -> str:
        """The first row, left: the tensor's name, or the op that failed; shortened."""
        return short(node.op if node.kind == "failed" else node.name)

    def tabs(self, node: TapeNode) -> list[tuple[str, bool]]:
        """The versions of the tensor, and for each: is it the one that this box shows?"""
        n, own = node.versions, node.version
        if n < 2:
            return []
        shown = range(n) if n <= 4 else sorted({0, own, n - 1})
        return [(f"v{k}", k == own) for k in shown]

    def what(self, node: TapeNode) -> str:
        """The second row, left: the kind of leaf, or the expression that computed the tensor."""
        if node.kind == "leaf" and node.program is not None:
            return f"{node.program.number}, {node.program.role}"
        if node.updated:
            return f"written by {short(node.updated)}"
        if node.kind == "leaf":
            return "leaf, requires_grad" if node.requires_grad else "leaf"
        return "made outside the recording" if node.expression is None else short(node.expression)

    def line(self, node: TapeNode) -> str:
        """The second row, right: the user's line, or the backward pass that computed the tensor.

        In a gradient program, the origin of the value: "rule of %3".
        """
        if node.program is not None:
            return node.program.comes
        if node.made_by is not None:
            return f"backward {node.made_by}"
        return "" if node.line is None else f"line {node.line}"

    def chips(
        self, node: TapeNode, freed: bool | None = None, conflict: SavedConflict | None = None
    ) -> list[tuple[str, str]]:
        """The chips on a box, with their styles: saved values, memory, tangent.

        freed       show the saved values as freed (True) or not (False); None: in their current state
        conflict    the saved value that has changed; None: that of the current state, if any
        """
        found, state = [], self.state
        freed = node.id in state.freed if freed is None else freed
        if conflict is None and state.backward.failed == node.id:
            conflict = state.backward.conflict
        for s in node.saved:
            of = short(s.of(self.document.nodes), 16)
            if conflict is not None and conflict.name == s.name:
                found.append((f"× {of} saved v{conflict.saved}, now v{conflict.now}", "bad"))
            elif freed:
                found.append((f"freed {of}", "freed"))
            else:
                found.append((f"saved {of}" + ("" if s.constant else f" @v{s.version}"), "saved"))
        if len(found) > MOST_CHIPS:
            more = len(found) - MOST_CHIPS + 1
            found = [*found[: MOST_CHIPS - 1], (f"{more} more", found[-1][1])]
        found = [(first, "bad") for first in state.firsts.get(node.id, ())] + found
        if node.hooks:
            found.append(("hook" if node.hooks == 1 else f"{node.hooks} hooks", "memory"))
        if node.storage is not None:
            found.append((f"memory {letter(node.storage)}", "memory"))
        if node.tangents:
            found.append(("tangent", "tangent"))
        return found

    def backward(self, node: TapeNode) -> str:
        """The last row: the backward node, or why there is none. For a failed op, its shapes.

        In a program, the buffer or other memory of the value.
        """
        if node.program is not None:
            return short(node.program.memory)
        if node.kind == "failed":
            return short(" and ".join(node.shapes))
        if node.backward is not None:
            return short(node.backward)
        if node.stop:
            return f"stop: {short(node.stop)}"
        return "no gradient" if node.kind == "leaf" else "no grad_fn"

    def note(self, node: TapeNode) -> str:
        """The note next to the backward node: the contributions that have arrived, or the state of .grad.

        In a program, the last instruction that reads the value.
        """
        if node.program is not None:
            return node.program.ends
        key, state, now = node.id, self.state, self.state.backward
        if node.kind == "failed":
            return "failed here"
        if node.backward is None:
            return ""
        if now.failed == key:
            return "stopped here"
        if key in now.pruned:
            return "not needed"
        terms = now.expected.get(key, 0)
        arrived = len(now.arrived.get(key, ()))
        if key not in now.order and terms > 1 and arrived:
            return f"{arrived} of {terms} arrived"
        extra = f"{terms} contributions" if terms > 1 else ""
        if node.backward != "AccumulateGrad":
            return extra if key in now.order else ""
        if key in now.order:
            return "to the caller" if key in now.captured else ".grad" + (extra and f", {extra}")
        if filled := state.terms.get(key):
            return f".grad from backward {filled[-1].number}"
        latest = node  # .grad belongs to the latest version of a leaf that was written to
        while (later := latest.overwritten_by) is not None and later in state.made:
            latest = self.document.node(later)
        return ".grad none yet" if latest is node else f".grad now at v{latest.version}"

    def description(self, node: TapeNode) -> str:
        """A box in one sentence, for screen readers."""
        own = [v for v, current in self.tabs(node) if current]
        parts = [" ".join([self.name(node), *own]), shape_text(node.shape)]
        parts += [self.what(node), self.line(node), self.backward(node)]
        if node.id in self.state.backward.order:
            parts.append(f"ran as number {self.state.backward.order[node.id]}")
        parts += [text for text, _ in self.chips(node)]
        parts.append(self.note(node))
        parts += [] if node.thumbnail is None else node.thumbnail.lines
        return ", ".join(p for p in parts if p)

    def _notes(self, node: TapeNode) -> list[tuple[bool, str]]:
        """The notes that can appear at some step, and for each: is there also a badge with the order?"""
        found = [(bool(node.backward) or node.kind == "failed", self.note(node))]
        terms = self.most.get(node.id, 0)
        leaf, passes = node.backward == "AccumulateGrad", len(self.document.backward)
        if leaf:
            filled = f".grad from backward {passes}" if passes > 1 else ".grad none yet"
            found += [(False, filled), (False, f".grad now at v{node.versions}")]
        if node.id in self.pruned:
            found.append((False, "not needed"))
        if node.id in self.stopped:
            found.append((True, "stopped here"))
        if terms > 1:
            found.append((False, f"{terms} of {terms} arrived"))
            found.append((True, f"{'.grad, ' if leaf else ''}{terms} contributions"))
        return found

    def _beside(self, badge: bool, note: str) -> float:
        """The width of the badge and the note beside the name of the backward node."""
        return (self.badge(len(self.most)) + 8) * badge + (18 + text_width(note, 11)) * bool(note)

    @staticmethod
    def badge(number: int) -> float:
        """The width of the badge with the position at which a node ran."""
        return max(18.0, 8.0 * len(str(number)) + 4)


def letter(storage: int) -> str:
    """The letter that names a shared memory: A, B, ..., Z, A1, ..."""
    return chr(65 + storage % 26) + (str(storage // 26) if storage >= 26 else "")


def chip_width(text: str, look: str) -> float:
    """The width of a chip with this text."""
    return text_width(text, LABEL, bold=look == "bad") + 12
