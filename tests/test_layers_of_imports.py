"""Who may import whom. Imports point downward only; the package is read with `ast`.

Three edges carry the design: ops never import Tensor, the engine and its nodes never import
Tensor, and `import minigrad` needs NumPy and nothing else.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad

PACKAGE = Path(minigrad.__file__).parent

LAYERS = [
    {
        "errors",
        "modes",
        "shapes",
        "dtypes",
        "devices",
        "cuda",
        "sparse",
        "allocator",
        "version",
        "return_types",
        "settings",
        "backends",
        "limits",
    },
    {"op"},
    {"ops"},
    {"methods"},
    {"memory", "case", "saved", "leaf", "node", "results", "views", "hooks"},
    {"engine", "engines"},
    {"data", "duals", "apply", "inplace", "backward", "generator", "chance"},
    {
        "formatting",
        "tensor",
        "creation",
        "functions",
        "fast",
        "random",
        "saving",
        "sharing",
        "storage",
        "filling",
        "outside",
        "testing",
        "methods_as_functions",
        "calculus",
        "windows",
        "buffers",
    },
    {
        "autograd",
        "three_ways",
        "forward_ad",
        "function",
        "func",
        "gradcheck",
        "linalg",
        "nn",
        "optim",
        "multiprocessing",
        "old_programs",
        "special",
        "distributions",
        "utils",
        "tape",
        "static",
        "minigrad",
    },
    {"teach"},
    {"jupyter", "grading", "lessons", "demo", "cli", "notebook_format"},
]
LEVEL = {name: k for k, names in enumerate(LAYERS) for name in names}
THIRD_PARTIES = {"numpy"} | set(sys.stdlib_module_names)


def imports_of(path, at_import_time_only=False):
    """(line, module) of each import in a file; those inside functions happen late."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = set()
    if at_import_time_only:
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                late |= {id(inner) for inner in ast.walk(node)}
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                late |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in late:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.module == "minigrad":
                for alias in node.names:
                    yield node.lineno, f"minigrad.{alias.name}"
            else:
                yield node.lineno, node.module or ""


def part_of(module):
    """The part of the package that a module belongs to: minigrad.ops.layout -> ops."""
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 and pieces[1] in LEVEL else "minigrad"


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_downward(path):
    relative = path.relative_to(PACKAGE).with_suffix("")
    if str(relative) == "__init__":
        return  # the table of contents names everything
    own = relative.parts[0]
    assert own in LEVEL, f"{own} has no layer: add it to LAYERS"
    for line, module in imports_of(path):
        if module.split(".")[0] != "minigrad":
            continue
        other = part_of(module)
        assert other == own or LEVEL[other] <= LEVEL[own], (
            f"{relative}:{line} imports {module} from above"
        )


@pytest.mark.parametrize(
    "part",
    [
        "op",
        "ops",
        "methods",
        "node",
        "views",
        "hooks",
        "engine",
        "apply",
        "inplace",
        "backward",
        "static",
    ],
)
def test_below_tensor_nobody_knows_tensor(part):
    for path in FILES:
        if path.relative_to(PACKAGE).with_suffix("").parts[0] == part:
            assert not [m for _, m in imports_of(path) if part_of(m) in ("tensor", "creation")]


def test_only_the_outer_layer_uses_third_parties():
    for path in FILES:
        own = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if own in LAYERS[-1]:
            continue
        for line, module in imports_of(path, at_import_time_only=True):
            root = module.split(".")[0]
            assert root in THIRD_PARTIES or root == "minigrad", (
                f"{path.name}:{line} imports {module}"
            )


def test_importing_minigrad_imports_numpy_and_no_other_third_party():
    program = """
import sys
import numpy
before = set(sys.modules)
import minigrad
new = {m.split(".")[0] for m in set(sys.modules) - before}
print(sorted(new - set(sys.stdlib_module_names) - {"numpy", "minigrad"}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True
    )

    assert done.stdout.strip() == "[]"
