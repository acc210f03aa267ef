"""The names that minigrad and PyTorch share: docs/pytorch_names.txt, for the links of the site.

python -m tests.against_torch.names        writes the file anew
"""

import importlib
import inspect
from pathlib import Path

import pytest

from minigrad.core.tensor import Tensor

torch = pytest.importorskip("torch")  # pytest reads this file too, for its doctests

PAGE = Path(__file__).parents[2] / "docs" / "pytorch_names.txt"

# Of these modules PyTorch documents each name on a page of its own.
MODULES = """
torch torch.Tensor torch.nn torch.nn.functional torch.nn.utils torch.optim torch.optim.lr_scheduler
torch.autograd torch.autograd.functional torch.autograd.graph torch.autograd.forward_ad torch.func
torch.linalg
""".split()


def shared() -> list[str]:
    """The documented functions and classes of PyTorch that minigrad has, too."""
    found = []
    for name in MODULES:
        ours, theirs = (whose(name, package) for package in ("minigrad", "torch"))
        for member in sorted(set(dir(ours)) & set(dir(theirs))):
            thing = getattr(theirs, member)
            if member.startswith("_") or not (inspect.isroutine(thing) or inspect.isclass(thing)):
                continue
            if thing.__doc__ and not thing.__doc__.startswith("Alias"):
                found.append(f"{name}.{member}")
    return found


def whose(name: str, package: str) -> object:
    if name == "torch.Tensor":
        return Tensor if package == "minigrad" else torch.Tensor
    return importlib.import_module(name.replace("torch", package, 1))


if __name__ == "__main__":
    PAGE.write_text("\n".join(shared()) + "\n", encoding="utf-8")
