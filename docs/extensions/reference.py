"""The directive `reference`: all that a module or class offers, with its docstrings.

    .. reference:: minigrad.nn

Where PyTorch has the same name, a line leads to its page there.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

IN_PYTORCH = frozenset(
    Path(__file__).parents[1].joinpath("pytorch_names.txt").read_text(encoding="utf-8").split()
)
GENERATED = "The result of the function, with the settings of the layer."
PYTORCH = "https://docs.pytorch.org/docs/stable/generated"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("reference", Reference)
    app.connect("autodoc-process-docstring", name_pytorchs_page)
    app.connect("autodoc-skip-member", skip_plumbing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Reference(SphinxDirective):
    """Documents each public function and class of a module."""

    required_arguments = 1
    option_spec = {"only": str.split, "without": str.split}

    def run(self) -> list[nodes.Node]:
        module = importlib.import_module(self.arguments[0])
        names = self.options.get("only") or public_names(module)
        names = [n for n in names if n not in self.options.get("without", ())]
        lines = []
        for name in names:
            thing = getattr(module, name)
            if inspect.isclass(thing):
                lines += [f".. autoclass:: {module.__name__}.{name}", "   :members:", ""]
            else:
                lines += [f".. autofunction:: {module.__name__}.{name}", ""]
        section = nodes.section()
        section.document = self.state.document
        self.state.nested_parse(StringList(lines, source=self.arguments[0]), 0, section)
        return section.children


def public_names(module: ModuleType) -> list[str]:
    """The module's public functions and classes that minigrad defines, in alphabetical order."""
    names = getattr(module, "__all__", dir(module))
    return sorted(
        name for name in names if not name.startswith("_") and is_ours(getattr(module, name))
    )


def is_ours(thing: Any) -> bool:
    documented = inspect.isroutine(thing) or inspect.isclass(thing)
    return documented and str(thing.__module__).startswith("minigrad")


def name_pytorchs_page(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    there = name.replace("minigrad", "torch", 1)
    if there in IN_PYTORCH:
        lines += ["", f"In PyTorch: `{there} <{PYTORCH}/{there}.html>`__", ""]


def skip_plumbing(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out methods that every layer has and nobody calls by name."""
    generated = what == "class" and name == "forward" and inspect.getdoc(obj) == GENERATED
    return True if generated or name in ("extra_repr", "reset_parameters") else None
