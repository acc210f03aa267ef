"""The answers in a student's file, also if its cells were moved, split, merged or renamed.

Nothing of a submission is used but the *source* of its answer cells. An answer cell is found,
in this order,

    by its cell id, by the copy of the id in its metadata, or by nbgrader's grade_id
    by the names that it should define, if no cell has the id (or the one that has it is
        untouched, or defines none of them): a guess
    by its place, right below the given cell that stood above it: a guess

and a guess is marked "please confirm". So is an answer that was put together again from the
parts of a cell that was split. Read notebook.py first, which reads the file.
"""

from dataclasses import dataclass, field

from minigrad.grading.release.bundles import BundleCell, Recording
from minigrad.grading.release.syntax import defined_names, syntax_of
from minigrad.grading.run.notebook import SubmittedCell, Unreadable, cells_of


@dataclass
class Found:
    """The answers of a submission.

    sources   answer cell id -> source; empty for one that was not found
    missing   ids of those that were not found
    guessed   ids of those that were found by name or place: please confirm
    notes     what was unusual, in words
    elsewhere names that are defined in cells that are not graded
    """

    sources: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


def find_answers(recording: Recording, content: bytes) -> Found:
    """The sources of the answer cells of this exercise in a student's file.

    Raises Unreadable if it is no notebook, or has nothing of this exercise in it.
    """
    cells, notes = cells_of(content)
    found = Found(notes=notes)
    layout = recording.cells
    wanted = [c for c in layout if c["answer"] and c["kind"] == "code"]
    known = {i for c in layout for i in (c["id"], c["grade_id"]) if i}
    given = {c["source"].strip() for c in layout if not c["answer"]}
    if not any(known & set(c.ids) or c.source.strip() in given for c in cells):
        theirs = {name for c in wanted for name in c["names"]}
        if not any(theirs & set(c.names) for c in cells):
            raise Unreadable("nothing of this exercise is in it: is it the right file?")
    used: set[int] = set()
    for answer in wanted:
        parts = _by_id(answer, cells, found)
        named = None
        if answer["names"] and (not parts or _says_nothing(parts, answer)):
            named = _by_name(answer, cells)
        if named is not None:
            parts = _with_what_is_above(named, parts, answer)
            _guess(found, answer, f"by the name {', '.join(answer['names'])}")
        elif not parts:
            place = _by_place(answer, layout, cells, known, used)
            if place is not None:
                parts = [place]
                _guess(found, answer, "by its place")
        elif len(parts) == 1:
            parts = _with_what_is_below(parts[0], cells, known)
        if not parts:
            found.missing.append(answer["id"])
            found.notes.append(f"the answer {answer['id']} is missing")
            found.sources[answer["id"]] = ""
            continue
        if len(parts) > 1 and answer["id"] not in found.guessed:
            _guess(found, answer, f"in {len(parts)} parts, as if its cell had been split")
        used |= {part.place for part in parts}
        source = "\n".join(part.source for part in parts)
        found.sources[answer["id"]] = source
        if "BEGIN SOLUTION" in source and answer["id"] not in found.guessed:
            _guess(found, answer, "with an author's solution markers in it")
    kept = {name for s in found.sources.values() for name in defined_names(s)}
    theirs = {n for c in layout if not c["answer"] for n in c["names"]}
    others = (n for c in cells if c.place not in used for n in c.names)
    found.elsewhere = sorted(set(others) - kept - theirs)[:100]
    return found


def _by_id(answer: BundleCell, cells: list[SubmittedCell], found: Found) -> list[SubmittedCell]:
    """The cell that has the id; or, if several that follow each other have it, all of them.

    A cell that is split leaves two with the metadata of one, and a cell that is copied too. They
    are parts if they stand together, and the last does not define all of it alone.
    """
    ids = {answer["id"], answer["grade_id"]} - {None}
    claiming = [c for c in cells if ids & set(c.ids)]
    if len(claiming) < 2:
        return claiming
    follow = claiming[-1].place - claiming[0].place == len(claiming) - 1
    first, last = (set(answer["names"]) & set(c.names) for c in (claiming[0], claiming[-1]))
    whole = bool(last) and last == set(answer["names"]) and bool(first)
    written = [c for c in claiming if c.source.strip()]
    if follow and not whole and len(written) > 1 and _is_python(written):
        return written
    found.notes.append(
        f"{len(claiming)} cells claim to be the answer {answer['id']}; the last one counts"
    )
    return claiming[-1:]


def _says_nothing(parts: list[SubmittedCell], answer: BundleCell) -> bool:
    """Is the answer as it was released, or without any of the names it should define?"""
    names = {name for part in parts for name in part.names}
    if not names and any(name in part.source for name in answer["names"] for part in parts):
        # it cannot be parsed: a mistake of the student's, not of the matching
        return "".join(part.squeezed for part in parts) == _stub(answer)
    untouched = "".join(part.squeezed for part in parts) == _stub(answer)
    return untouched or not names & set(answer["names"])


def _stub(answer: BundleCell) -> str:
    return "".join(answer["source"].split())


def _by_name(answer: BundleCell, cells: list[SubmittedCell]) -> SubmittedCell | None:
    """The last cell that defines what the answer should, and is not the stub.

    It may have the id of another cell of the exercise: merging two cells keeps one id.
    """
    for cell in reversed(cells):
        if cell.kind == "code" and set(answer["names"]) <= set(cell.names):
            if cell.squeezed != _stub(answer):
                return cell
    return None


def _with_what_is_above(
    named: SubmittedCell, parts: list[SubmittedCell], answer: BundleCell
) -> list[SubmittedCell]:
    """Below a cell with the id stands the one with the names: then the first one has helpers."""
    if len(parts) == 1 and parts[0].place == named.place - 1 and parts[0].kind == "code":
        if parts[0].squeezed != _stub(answer) and _is_python([parts[0], named]):
            return [parts[0], named]
    return [named]


def _with_what_is_below(
    cell: SubmittedCell, cells: list[SubmittedCell], known: set[str]
) -> list[SubmittedCell]:
    """A function that was cut in two goes on in a cell that is no Python by itself."""
    below = next((c for c in cells if c.place == cell.place + 1), None)
    if below is None or below.kind != "code" or set(below.ids) & known or not below.source.strip():
        return [cell]
    cut = not _is_python([below]) and _is_python([cell, below])
    return [cell, below] if cut else [cell]


def _is_python(parts: list[SubmittedCell]) -> bool:
    """Can the parts, one below the other, be parsed?"""
    return syntax_of("\n".join(part.source for part in parts)) is not None


def _by_place(
    answer: BundleCell,
    layout: list[BundleCell],
    cells: list[SubmittedCell],
    known: set[str],
    used: set[int],
) -> SubmittedCell | None:
    """The first code cell below the nearest cell that stood above the answer, if it is still free."""
    k = next(i for i, c in enumerate(layout) if c["id"] == answer["id"])
    sources = {c["source"].strip() for c in layout}
    for above in reversed(layout[:k]):
        if above["answer"]:
            break
        for n, cell in enumerate(cells):
            same = cell.source.strip() == above["source"].strip()
            if not same or not above["source"].strip():
                continue
            for below in cells[n + 1 :]:
                if below.kind != "code":
                    continue
                free = below.place not in used and not set(below.ids) & known
                return below if free and below.source.strip() not in sources else None
    return None


def _guess(found: Found, answer: BundleCell, how: str) -> None:
    found.guessed.append(answer["id"])
    found.notes.append(f"the answer {answer['id']} was found {how}: please confirm")
