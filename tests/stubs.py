"""The type stubs: what `minigrad` exports, and what is made at import (methods of rows, methods as functions).

    python -m tests.stubs        writes them anew

Editors and mypy read them in place of the modules beside them. test_stubs.py says if they are out of date.
"""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any, Self

import minigrad
from minigrad import Tensor
from minigrad.methods import ArrayMethods, from_rows, methods_as_functions
from minigrad.nn import functional, table

EXPORTS = Path(minigrad.__file__).with_suffix(".pyi")
METHODS = Path(from_rows.__file__).with_suffix(".pyi")
FUNCTIONS = Path(methods_as_functions.__file__).with_suffix(".pyi")
LAYERS = Path(table.__file__).with_suffix(".pyi")
NETWORKS = Path(functional.__file__).with_suffix(".pyi")
MADE = "# Written by python -m tests.stubs: see the module beside it.\n"


def shown(name: str, f: Any, first: str, result: str, out: bool = False) -> str:
    """One definition, with `first` for the tensor itself."""
    parts, star = [first], False
    for p in list(inspect.signature(f).parameters.values())[1:]:
        kind = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        star |= p.kind is p.VAR_POSITIONAL
        if p.kind is p.KEYWORD_ONLY and not star:
            parts, star = [*parts, "*"], True
        named = "other" if name.startswith("__") else p.name  # op.apply, once written, says y
        parts.append(f"{kind}{named}: Any" + ("" if p.default is p.empty else " = ..."))
    if out:
        last = [parts.pop()] if parts[-1].startswith("**") else []
        parts += ["out: Any = ..." if star else "*, out: Any = ...", *last]
    return f"def {name}({', '.join(parts)}) -> {result}: ..."


def exports() -> str:
    """__init__.pyi: each name with `as`, which says that it is public, and the names that are imported late."""
    body = ast.parse(Path(minigrad.__file__).read_text(encoding="utf-8")).body
    imports = [
        (node.module, name, alias.asname or name)
        for node in body
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
        for name in (all_of(node.module) if alias.name == "*" else [alias.name])
    ]
    for name, (module, inside) in minigrad._LATE.items():
        room, _, last = module.rpartition(".")
        imports.append((module, inside, name) if inside else (room, last, name))
    lines, renamed = [], []
    for module, name, public in imports:
        if public[0] == "_" and public != "__version__":
            continue
        if name not in (public, "*"):  # `import float_ as float` alone is not an export
            renamed.append(f"{public} = _{public}")
            public = f"_{public}"
        lines.append(f"from {module} import {name}" + ("" if name == "*" else f" as {public}"))
    return MADE + "\n".join([*lines, "", *renamed, "display: str"]) + "\n"


def all_of(module: str) -> list[str]:
    """What `from module import *` imports, or that star, where the module has a stub of its own."""
    made = module == methods_as_functions.__name__
    return ["*"] if made else list(importlib.import_module(module).__all__)


def methods() -> str:
    """from_rows.pyi"""
    made = dict(vars(from_rows.FromRows))
    made |= {n: f for n, f in vars(ArrayMethods).items() if inspect.isfunction(f)}
    kept = {n: f for n, f in made.items() if callable(f) and n not in NOT_FROM_ROWS}
    lines = [f"    {shown(name, kept[name], 'self', 'Self')}" for name in sorted(kept)]
    return (
        f"{MADE}from typing import Any, Self\n\nfrom minigrad.methods.base import Base\n\nclass FromRows(Base):\n"
        + "\n".join(lines)
        + "\n"
    )


NOT_FROM_ROWS = {"__array_ufunc__", "__array_function__", "__doc__", "__module__", "__slots__"}


def result_of(f: Any) -> str:
    """What the function of a method returns. A row's method, without annotations, returns a tensor."""
    hint = inspect.signature(f).return_annotation
    if hint in (Self, Tensor, "Tensor", inspect.Signature.empty):
        return "Tensor"
    if hint in (bool, int):
        return str(hint.__name__)
    return str(hint).replace("typing.Self", "Tensor") if str(hint).startswith("tuple[") else "Any"


def functions() -> str:
    """methods_as_functions.pyi"""
    lines = [
        "from collections.abc import Callable", "from typing import Any", "",
        "from minigrad.core.tensor import Tensor", "",
        "def function(method: Callable[..., Any]) -> Callable[..., Any]: ...",
        'def of_method(module: str, name: str, tensors: str = "A", **settings: object) -> Callable[..., Tensor]: ...',
    ]  # fmt: skip
    for name in sorted(methods_as_functions.__all__):
        f = getattr(minigrad, name)
        lines.append(
            shown(
                name,
                f,
                "n: int" if name == "polygamma" else "input: Any",
                result_of(f),
                out="out" not in inspect.signature(f).parameters and hasattr(f, "__wrapped__"),
            )
        )
    return MADE + "\n".join(lines) + "\n"


def layers() -> str:
    """nn/table.pyi"""
    lines = [
        "from typing import Any", "", "from minigrad.core.tensor import Tensor",
        "from minigrad.nn.function_layer import FunctionLayer", "from minigrad.nn.module import Module",
    ]  # fmt: skip
    own = {n: c for n, c in vars(table).items() if getattr(c, "__module__", "") == table.__name__}
    for name, cls in own.items():
        lines += ["", f"class {name}({cls.__base__.__name__}):"]
        lines += [textwrap.indent(f'"""{inspect.cleandoc(cls.__doc__ or "")}"""', " " * 4)]
        settings = inspect.signature(cls.__init__).parameters if "__init__" in vars(cls) else {}
        lines += [f"    {n}: {hint_of(p.annotation)}" for n, p in settings.items() if n != "self"]
        for method in ("__init__", "forward"):
            if method in vars(cls):
                lines.append(f"    {typed(method, vars(cls)[method])}")
    return MADE + "\n".join(lines) + "\n"


def of_networks() -> str:
    """nn/functional/__init__.pyi"""
    lines = ["from typing import Any", "", "from minigrad.core.tensor import Tensor", ""]
    for name in sorted(functional.__all__):
        f = getattr(functional, name)
        text = textwrap.indent(f'"""{inspect.cleandoc(f.__doc__)}"""', " " * 4)
        lines += [typed(name, f).removesuffix(" ..."), text]
    return MADE + "\n".join(lines) + "\n"


def hint_of(annotation: Any) -> str:
    """The annotation as text, if it needs no import but Tensor's; else Any."""
    text = inspect.formatannotation(annotation).replace("minigrad.core.tensor.", "")
    return text if set(re.findall(r"[\w.]+", text)) <= PLAIN else "Any"


PLAIN = {"bool", "float", "int", "str", "None", "Tensor"}


def typed(name: str, f: Any) -> str:
    """A function or method, with the types and defaults that need no import."""
    signature, parts = inspect.signature(f), []
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = "" if p.default is p.empty else f" = {p.default!r}"
        unknown = p.annotation is p.empty
        hint = "Tensor" if unknown and not default else hint_of(p.annotation)
        parts.append("self" if p.name == "self" else f"{p.name}: {hint}{default}")
    result = signature.return_annotation
    shown = "None" if name == "__init__" else "Tensor" if result is Tensor else "Any"
    return f"def {name}({', '.join(parts)}) -> {shown}: ..."


MADE_FILES = {
    EXPORTS: exports,
    METHODS: methods,
    FUNCTIONS: functions,
    LAYERS: layers,
    NETWORKS: of_networks,
}

if __name__ == "__main__":
    for page, made in MADE_FILES.items():
        page.write_text(made(), encoding="utf-8")
