"""Which third parties are imported, and when. Who may import whom in the package: `lint-imports`, in pyproject.toml."""

import ast
import subprocess
import sys
from pathlib import Path

import minigrad

PACKAGE = Path(minigrad.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
ALLOWED = {"minigrad", "numpy"} | set(sys.stdlib_module_names)
# Rooms that need an extra, and the module that imports nbformat quickly.
OUTER = {"cli.py", "demo.py", "grading", "jupyter", "notebook_format.py"}
OUTER |= {"torch"}  # tape/torch, which is imported once PyTorch is


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


def test_only_the_outer_rooms_import_third_parties_at_once():
    for path in FILES:
        if OUTER & set(path.relative_to(PACKAGE).parts):
            continue
        for line, module in imports_of(path, at_import_time_only=True):
            assert module.split(".")[0] in ALLOWED, f"{path.name}:{line} imports {module}"


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


IN_THE_PLACE_OF_PYTORCH = """
import pickle, sys, warnings
import minigrad
sys.modules["torch"] = minigrad
import torch.nn as nn
import torch.nn.functional as F
import torch.optim.adam
import torch.distributed
import torch.backends.cudnn as cudnn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader
from torch.nn.modules.loss import _Loss
assert cudnn is minigrad.backends.cudnn and not cudnn.is_available()
assert torch is minigrad and nn is minigrad.nn and F is minigrad.nn.functional
assert nn.__spec__.name == "minigrad.nn" and sys.modules["torch.nn"] is nn
assert isinstance(nn.L1Loss(), _Loss) and torch.optim.adam.Adam is minigrad.optim.Adam
assert type(pickle.loads(pickle.dumps(nn.ReLU()))) is nn.ReLU
for wrong in ("import torch.nonsense", "from torch.nn import nonsense"):
    try:
        exec(wrong)
    except ImportError as error:
        print(error.name)
warnings.simplefilter("error")
with minigrad.record() as tape:
    (torch.ones(1, requires_grad=True) * 2).sum()
"""


def test_minigrad_can_take_the_place_of_pytorch_in_sys_modules():
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_PLACE_OF_PYTORCH], capture_output=True, encoding="utf-8"
    )

    assert (done.stdout.split(), done.stderr) == (["torch.nonsense", "minigrad.nn"], "")


RELEASES = """
import sys
from pathlib import Path
from types import ModuleType

sys.modules["numpy"] = None  # an import of it fails
parts = "hatchling.builders.hooks.plugin.interface".split(".")
for n in range(1, 6):
    sys.modules[".".join(parts[:n])] = ModuleType(parts[n - 1])
sys.modules[".".join(parts)].BuildHookInterface = object
import hatch_build

print(hatch_build._release_module(Path.cwd()).release.__name__)
"""


def test_the_wheel_is_built_without_numpy():
    root = PACKAGE.parent

    done = subprocess.run(
        [sys.executable, "-c", RELEASES], capture_output=True, encoding="utf-8", cwd=root
    )

    assert done.stdout.strip() == "release", done.stderr


def test_without_docstrings_gradients_and_diagnoses_are_the_same():
    program = """
import minigrad
x = minigrad.tensor([1.0, 2.0], requires_grad=True)
z = x.exp().sum()
print(x.absolute().tolist(), minigrad.compare(z, x=-x.exp().detach()))
"""

    done = subprocess.run(
        [sys.executable, "-OO", "-c", program], capture_output=True, encoding="utf-8", check=True
    )

    assert done.stdout.startswith("[1.0, 2.0] compare: 0 of 1")
    assert done.stdout.rstrip().endswith("x: sign")
