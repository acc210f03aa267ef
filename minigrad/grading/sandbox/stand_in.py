"""Replaces minigrad while a question is graded that does not allow the engine.

image.py copies this file into an image as the package `minigrad`. Given cells declare exercises, so
`teach` accepts any declaration and does nothing. Everything else can be imported, but raises an error
when it is used. This file uses only the standard library.
"""

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import NoReturn


class _Absent:
    """Placeholder for an imported object of minigrad. It is no answer, and calling it fails unless it is inert."""

    def __init__(self, name: str, inert: bool) -> None:
        self.__dict__.update(_name=name, _inert=inert)

    def __getattr__(self, name: str) -> "_Absent":
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("detach", "tolist"):  # an answer is being read
            raise self._refused()
        return _Absent(f"{self._name}.{name}", bool(self._inert))

    def __call__(self, *arguments: object, **settings: object) -> "_Absent":
        if not self._inert:
            raise self._refused()
        return self

    def __iter__(self) -> NoReturn:
        raise self._refused()

    def _refused(self) -> ImportError:
        return ImportError(f"{self._name}: the engine is not available for this question")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.startswith("minigrad."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def exec_module(self, module: ModuleType) -> None:
        absent = _Absent(module.__name__, inert=module.__name__.startswith("minigrad.teach"))
        module.__getattr__ = absent.__getattr__  # type: ignore[method-assign]


if __name__ == "minigrad":  # only inside an image, not when this file is imported here
    __getattr__ = _Absent("minigrad", inert=False).__getattr__
    load_ipython_extension = _Absent("minigrad.load_ipython_extension", inert=True)
    sys.meta_path.insert(0, _Finder())
