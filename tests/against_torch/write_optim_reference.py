"""Write tests/optim_reference.json: where PyTorch's optimizers and schedulers lead.

    python -m tests.against_torch.write_optim_reference

For each case of tests/optim_cases.py, the parameters after steps 1, 2, 10 and 50 (of a large
problem the sum, and a few entries), and the rates of 20 steps. An optimizer that PyTorch does not have
is run on minigrad: its path is recorded as it is.
"""

import json
from pathlib import Path

import pytest

import minigrad
from tests.optim_cases import OPTIMIZERS, SCHEDULERS, rates, trajectory

torch = pytest.importorskip("torch")  # pytest reads this file too, for its doctests

KEPT = (0, 1, 9, 49)
FILE = Path(__file__).parents[1] / "optim_reference.json"


def shortened(row):
    """All of a few values; of many, some and their sum."""
    return row.tolist() if len(row) <= 64 else [*row[:: len(row) // 16].tolist(), float(row.sum())]


if __name__ == "__main__":
    torch.sparse.check_sparse_tensor_invariants.disable()  # or PyTorch warns
    paths = {
        name: trajectory(torch if hasattr(torch.optim, case[0]) else minigrad, name)
        for name, case in OPTIMIZERS.items()
    }
    reference = {
        "made by": f"tests/against_torch/write_optim_reference.py with PyTorch {torch.__version__}",
        "steps": KEPT,
        "optimizers": {name: [shortened(path[k]) for k in KEPT] for name, path in paths.items()},
        "schedulers": {name: rates(torch, name).tolist() for name in SCHEDULERS},
    }
    lines = [f"{json.dumps(name)}: {json.dumps(part)}" for name, part in reference.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
