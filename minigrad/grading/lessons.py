"""A learner's own copy of the lessons.

Lessons are read-only material in a clone or in the installed package; a learner works in
a copy and may change everything there. `copy_lessons` makes the copy and, run again after
an update of minigrad, renews the files that the learner has not touched. What the learner
has changed is never overwritten. A small file of checksums tells the two apart.

    notebooks/    the lessons without outputs, for a prediction is made before the result is seen;
                  and the data that they read
    exercises/    the exercises, released: with stubs in place of the solutions
"""

import hashlib
import importlib.util
import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from minigrad.grading.release.student import release
from minigrad.utils.notebook_format import nbformat

RECORD = ".minigrad-lessons.json"


class NoLessons(FileNotFoundError):
    """Neither a clone nor an installed package with lessons in it."""


@dataclass(frozen=True)
class Copied:
    """What `copy_lessons` did, as paths inside the folder.

    written   new, or renewed because the learner had not changed them
    kept      the learner's own, left as they are
    """

    folder: Path
    written: tuple[str, ...]
    kept: tuple[str, ...]


def copy_lessons(folder: str | Path) -> Copied:
    """Bring the lessons into a folder, which is made if need be.

    Raises NoLessons if this installation has none, and OSError if the folder cannot be
    written.
    """
    folder = Path(folder)
    record = folder / RECORD
    ours = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    written, kept = [], []
    for name, content in sorted(_lessons().items()):
        target = folder / name
        new = hashlib.sha256(content).hexdigest()
        now = hashlib.sha256(target.read_bytes()).hexdigest() if target.exists() else None
        if now == new:
            ours[name] = new
        elif now is None or now == ours.get(name):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            ours[name] = new
            written.append(name)
        else:
            kept.append(name)
    record.write_text(json.dumps(ours, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return Copied(folder, tuple(written), tuple(kept))


def trust(notebooks: Iterable[Path]) -> None:
    """Sign these notebooks for Jupyter: it shows all outputs of a notebook that it trusts, without a warning."""
    from nbformat.sign import NotebookNotary  # isort: skip  # its package is loaded by the line above

    notary = NotebookNotary()
    for path in notebooks:
        if path.suffix == ".ipynb":
            notary.sign(nbformat.read(path, as_version=4))


def first_lesson(folder: Path) -> str | None:
    """The lesson to open first, as a path inside the folder."""
    lessons = sorted(folder.glob("notebooks/*.ipynb"))
    return lessons[0].relative_to(folder).as_posix() if lessons else None


def _lessons() -> dict[str, bytes]:
    """Path inside the folder -> content, from the clone or from the installed package."""
    package = Path(__file__).resolve().parent.parent
    clone = package.parent
    if (clone / "exercises").is_dir() and (clone / "pyproject.toml").exists():
        root, exercises = clone, _released(clone)
    else:
        root = package / "_lessons"
        if not root.is_dir():
            raise NoLessons(f"minigrad is installed in {package} without its lessons.")
        exercises = _read(root, "exercises/**/*.ipynb")
    lessons = {name: _unseen(text) for name, text in _read(root, "notebooks/*.ipynb").items()}
    return lessons | _read(root, "notebooks/data/*") | exercises


def _unseen(lesson: bytes) -> bytes:
    """A lesson without its outputs, unless it needs PyTorch and can only be read here."""
    notebook = json.loads(lesson)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    needs_torch = any("import torch\n" in cell["source"] for cell in code)
    if needs_torch and importlib.util.find_spec("torch") is None:
        return lesson
    for cell in code:
        cell["outputs"], cell["execution_count"] = [], None
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _read(root: Path, pattern: str) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.glob(pattern)}


def _released(clone: Path) -> dict[str, bytes]:
    """The exercises of a clone as students get them; the tree itself holds the author's."""
    with tempfile.TemporaryDirectory(prefix="minigrad-") as place:
        for author in clone.glob("exercises/*/*.ipynb"):
            release(author, Path(place) / author.parent.relative_to(clone))
        return _read(Path(place), "exercises/*/*.ipynb")
