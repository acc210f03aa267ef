"""Write tests/random_reference.json: what PyTorch draws.

    python -m tests.against_torch.write_random_reference

Run it on a processor that is not Intel's: there PyTorch may take another stream for some of the
cases of tests/random_cases.py.
"""

import json
from pathlib import Path

import pytest

from tests.random_cases import DRAWS, LAYERS, drawn, weights

torch = pytest.importorskip("torch")  # pytest reads this file too, for its doctests

FILE = Path(__file__).parents[1] / "random_reference.json"

if __name__ == "__main__":
    reference = {
        "made by": f"tests/against_torch/write_random_reference.py with PyTorch {torch.__version__}",
        "draws": {name: drawn(torch, name) for name in DRAWS},
        "layers": {name: weights(torch, torch.nn, name) for name in LAYERS},
    }
    lines = [f"{json.dumps(name)}: {json.dumps(part)}" for name, part in reference.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
