"""Find the answers in a student's file, even if cells were moved, split, merged or renamed.

Grading uses only the *source* of the answer cells, and of the statements in other cells that they
depend on (carried.py). An answer cell is found in this order:

    by its cell id, by the copy of the id in its metadata, or by nbgrader's grade_id
    by the names that it should define, if no cell has the id (or if the cell with the id is
        unchanged, or defines none of these names); this is a guess
    by its position, directly below the given cell that precedes it; this is a guess

Guesses are marked "please confirm", and so is an answer joined from the parts of a split cell. Read
notebook.py first, which reads the file.
"""

import ast
from dataclasses import dataclass, field

from minigrad.grading.release.bundles import BundleCell, Recording, ids_of, label_of
from minigrad.grading.release.syntax import names_bound, squeezed, statements_of, syntax_of
from minigrad.grading.run.notebook import Cells, SubmittedCell, Unreadable, cells_of


@dataclass
class Found:
    """The answer cells of a submission.

    sources   answer cell id -> source; empty if it was not found
    guessed   ids of the answers that need confirmation
    notes     remarks on anything unusual
    cells     all cells of the submission
    positions answer cell id -> positions of its cells in the submission
    """

    sources: dict[str, str] = field(default_factory=dict)
    guessed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cells: Cells = field(default_factory=list)
    positions: dict[str, set[int]] = field(default_factory=dict)


def find_answers(recording: Recording, content: bytes) -> Found:
    """Find the answer cells of this exercise in a student's file.

    Raises Unreadable if it is not a notebook, or contains nothing of this exercise.
    """
    cells, notes = cells_of(content)
    search = _Search(recording.cells, cells, Found(notes=notes, cells=cells))
    wanted = [c for c in search.layout if c["answer"] and c["kind"] == "code"]
    search.check_exercise({name for c in wanted for name in c["names"]})
    for answer in wanted:
        search.find(answer)
    return search.found


class _Search:
    """The state of the search for answers in a submission.

    layout   the cells of the exercise
    known    the ids of the exercise's cells
    """

    def __init__(self, layout: list[BundleCell], cells: Cells, found: Found) -> None:
        self.layout, self.cells, self.found = layout, cells, found
        self.known = ids_of(*layout)

    def check_exercise(self, names: set[str]) -> None:
        """Raise Unreadable if the file has no id, given cell or name of this exercise."""
        given = {c["source"].strip() for c in self.layout if not c["answer"]}
        for c in self.cells:
            if self.known & set(c.ids) or c.source.strip() in given or names & set(c.names):
                return
        raise Unreadable("nothing of this exercise is in it: is it the right file?")

    def find(self, answer: BundleCell) -> None:
        """Find one answer, and add notes on anything unusual about it."""
        identity, label = answer["id"], label_of(answer)
        parts, guess = self._parts(answer)
        source = "\n".join(part.source for part in parts)
        if not guess and "BEGIN SOLUTION" in source:
            guess = "with an author's solution markers in it"
        if not parts:
            self.found.notes.append(f"the answer {label} is missing")
        elif guess:
            self.found.guessed.append(identity)
            self.found.notes.append(f"the answer {label} was found {guess}: please confirm")
        elif again := self._defined_again(answer, parts[-1].position):
            self.found.guessed.append(identity)
            note = f"cell {again.position + 1} defines {', '.join(answer['names'])} again, and was not graded"
            self.found.notes.append(f"{note}: please confirm")
        self.found.sources[identity] = source
        self.found.positions[identity] = {part.position for part in parts}

    def _parts(self, answer: BundleCell) -> tuple[Cells, str]:
        """The cells of the answer, and how they were found if that is a guess."""
        parts = self._by_id(answer)
        if answer["names"] and (not parts or _is_unanswered(parts, answer)):
            named = self._by_name(answer)
            if named is not None:
                guess = f"by the name {', '.join(answer['names'])}"
                return _with_helpers_above(named, parts, answer), guess
        if not parts:
            return self._by_position(answer), "by its position"
        if len(parts) == 1:
            parts = self._with_split_part_below(parts[0])
        split = f"in {len(parts)} parts, as if its cell had been split"
        return parts, split if len(parts) > 1 else ""

    def _by_id(self, answer: BundleCell) -> Cells:
        """The cell with the answer's id, or all parts of a split cell.

        Splitting a cell duplicates its metadata, and so does copying it. The cells are treated as parts
        if they are adjacent and the last one does not define all names by itself.
        """
        ids = ids_of(answer)
        claiming = [c for c in self.cells if ids & set(c.ids)]
        if len(claiming) < 2:
            return claiming
        follow = claiming[-1].position - claiming[0].position == len(claiming) - 1
        first, last = (set(answer["names"]) & set(c.names) for c in (claiming[0], claiming[-1]))
        whole = bool(last) and last == set(answer["names"]) and bool(first)
        written = [c for c in claiming if c.source.strip()]
        if follow and not whole and len(written) > 1 and _is_python(written):
            return written
        note = f"{len(claiming)} cells claim to be the answer {label_of(answer)}"
        self.found.notes.append(f"{note}; the last one counts")
        return claiming[-1:]

    def _by_name(self, answer: BundleCell) -> SubmittedCell | None:
        """The last cell that defines all names of the answer and is not the stub.

        It may have the id of another cell of the exercise, because merging two cells keeps one id.
        """
        for cell in reversed(self.cells):
            if cell.kind == "code" and set(answer["names"]) <= set(cell.names):
                if cell.squeezed != squeezed(answer["source"]):
                    return cell
        return None

    def _by_position(self, answer: BundleCell) -> Cells:
        """The first code cell below the nearest preceding cell of the exercise, if it is not taken."""
        sources = {c["source"].strip() for c in self.layout}
        for above in reversed(self.layout[: self.layout.index(answer)]):
            text = above["source"].strip()
            if above["answer"]:
                break
            same = [n for n, c in enumerate(self.cells) if text and c.source.strip() == text]
            below = [c for c in self.cells[same[0] + 1 :] if c.kind == "code"] if same else []
            if below:
                used = set().union(*self.found.positions.values())
                free = below[0].position not in used and not set(below[0].ids) & self.known
                return below[:1] if free and below[0].source.strip() not in sources else []
        return []

    def _defined_again(self, answer: BundleCell, position: int) -> SubmittedCell | None:
        """A student's own cell below the answer that redefines all its names, perhaps a later attempt."""
        named = self._by_name(answer) if answer["names"] else None
        if named is None or named.position <= position or set(named.ids) & self.known:
            return None
        # Stack.pop = pop adds to the answer, and is graded with it
        statements = statements_of(named.source)
        whole = (s for s in statements if not _sets_an_attribute(s))
        return named if names_bound(*whole) & set(answer["names"]) else None

    def _with_split_part_below(self, cell: SubmittedCell) -> Cells:
        """Add the next cell if it continues a function that was split, so is not valid Python alone."""
        below = next((c for c in self.cells if c.position == cell.position + 1), None)
        if below is not None and below.kind == "code" and below.source.strip():
            cut = not _is_python([below]) and _is_python([cell, below])
            if cut and not set(below.ids) & self.known:
                return [cell, below]
        return [cell]


def _sets_an_attribute(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute)


def _is_unanswered(parts: Cells, answer: BundleCell) -> bool:
    """Is the answer unchanged, or does it define none of its expected names?"""
    if "".join(part.squeezed for part in parts) == squeezed(answer["source"]):
        return True
    names = {name for part in parts for name in part.names}
    named = any(name in part.source for name in answer["names"] for part in parts)
    if not names and named and not _is_python(parts):
        return False  # a syntax error in the right cell, not a wrong match
    return not names & set(answer["names"])


def _with_helpers_above(named: SubmittedCell, parts: Cells, answer: BundleCell) -> Cells:
    """If the cell with the id is directly above the one with the names, include it for its helpers."""
    if len(parts) == 1 and parts[0].position == named.position - 1 and parts[0].kind == "code":
        if parts[0].squeezed != squeezed(answer["source"]) and _is_python([parts[0], named]):
            return [parts[0], named]
    return [named]


def _is_python(parts: Cells) -> bool:
    """Is the concatenation of the parts valid Python?"""
    return syntax_of("\n".join(part.source for part in parts)) is not None
