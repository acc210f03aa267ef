"""Puts the lessons into the wheel: notebooks and their data as they are, exercises as students get them.

Released notebooks are generated, never kept in the tree, so that they cannot drift from
the author's. An editable installation reads the clone and needs none of this.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Lessons(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        included = build_data["force_include"]
        for pattern in ("*.ipynb", "data/*"):
            for file in sorted((root / "notebooks").glob(pattern)):
                place = file.relative_to(root).as_posix()
                included[str(file)] = f"minigrad/_lessons/{place}"
        release = _release_module(root).release
        self._released = tempfile.TemporaryDirectory(prefix="minigrad-released-")
        for author in sorted((root / "exercises").glob("*/*.ipynb")):
            place = Path("exercises", author.parent.name)
            student = release(author, Path(self._released.name, place))
            included[str(student)] = f"minigrad/_lessons/{place.as_posix()}/{student.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._released.cleanup()


def _release_module(root: Path) -> ModuleType:
    """minigrad.grading.release.student, without what its packages import: that would need NumPy here."""
    for name in ("minigrad", "minigrad.grading", "minigrad.utils"):
        package = ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")))]
        sys.modules[name] = package
    return importlib.import_module("minigrad.grading.release.student")
