"""A learner's own copy of the lessons.

The lessons in a clone or in the installed package are read-only; a learner works in a copy
and may change anything there. `copy_lessons` makes the copy. Run again after an update of
minigrad, it replaces the files that the learner has not changed, and never overwrites the
others. A file of checksums records which is which.

    notebooks/    the lessons and their data. Outputs are removed, because the reader is asked
                  to predict a result before seeing it
    exercises/    the released exercises: stubs in place of the solutions
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
    """What `copy_lessons` did, as paths relative to the folder.

    written   new files, and updated files that the learner had not changed
    kept      files that the learner has changed, left as they are
    """

    written: tuple[str, ...]
    kept: tuple[str, ...]


def copy_lessons(folder: str | Path) -> Copied:
    """Copy the lessons into a folder, which is created if needed.

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
    return Copied(tuple(written), tuple(kept))


def trust(notebooks: Iterable[Path]) -> None:
    """Sign these notebooks, so that Jupyter trusts them and shows all their outputs without a warning."""
    from nbformat.sign import NotebookNotary  # isort: skip  # the import above loads its package

    notary = NotebookNotary()
    for path in notebooks:
        if path.suffix == ".ipynb":
            notary.sign(nbformat.read(path, as_version=4))


def first_lesson(folder: Path) -> str | None:
    """The lesson to open first, as a path relative to the folder."""
    lessons = sorted(folder.glob("notebooks/*.ipynb"))
    return lessons[0].relative_to(folder).as_posix() if lessons else None


def _lessons() -> dict[str, bytes]:
    """Map relative paths to contents, read from the clone or from the installed package."""
    package = Path(__file__).resolve().parent.parent
    clone = package.parent
    if (clone / "exercises").is_dir() and (clone / "pyproject.toml").exists():
        root, exercises = clone, _released(clone)
    else:
        root = package / "_lessons"
        if not root.is_dir():
            raise NoLessons(f"minigrad is installed in {package} without its lessons.")
        exercises = _read(root, "exercises/**/*.ipynb")
    read = _read(root, "notebooks/*.ipynb")
    lessons = {name: _without_outputs(text) for name, text in read.items()}
    return lessons | _read(root, "notebooks/data/*") | exercises


def _without_outputs(lesson: bytes) -> bytes:
    """Remove a lesson's outputs, unless it needs PyTorch and PyTorch is not installed."""
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
    """Release the exercises of a clone; the clone itself contains the author's versions."""
    with tempfile.TemporaryDirectory(prefix="minigrad-") as folder:
        for author in clone.glob("exercises/*/*.ipynb"):
            release(author, Path(folder) / author.parent.relative_to(clone))
        return _read(Path(folder), "exercises/*/*.ipynb")
