"""The random programs of fuzzer.py, recorded: does a static program give what the same lines give eagerly?

as_function(lines)    the lines as a function of the program's first leaves
differences(lines)    how its program differs from it, in values or gradients; twice "" if it does not

python -m tests.against_torch.recorded 2000 --seed 1     counts and shows what differs
"""

import argparse
import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("torch")

import minigrad
from tests.against_torch.fuzzer import Run, program
from tests.test_static_random import differences_of

LEAF = re.compile(r"^([a-z]) = t\.tensor\(.*dtype=t\.float(64|32)\)\S*$")
# What belongs to a run and not to a function: gradients, hooks, weights that are drawn anew.
OF_THE_RUN = re.compile(
    r"backward|autograd|func\.|requires_grad|retain_grad|register_|\.grad\b|M\(|detach_"
)


def as_function(lines: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The text of `f`, whose statements all run eagerly, and the values of its parameters by name."""
    leaves: dict[str, Any] = {}
    body: list[str] = []
    run = Run(minigrad)
    for line in lines:
        leaf = LEAF.match(line)
        if leaf is None and OF_THE_RUN.search(line):
            continue
        run.step(line)
        if run.errors[-1] is not None:
            continue
        if leaf is not None and not body and len(leaves) < 3:
            run.scope[leaf[1]] = x = run.scope[leaf[1]].detach().clone()
            leaves[leaf[1]] = x.clone()
        else:
            body.append(line)
    names = [n for n, x in run.tensors() if n not in leaves and x.numel() <= 200][-4:]
    results = ", ".join(names or leaves)
    text = textwrap.indent("\n".join(body or ["pass"]), "    ")
    return f"def f({', '.join(leaves)}):\n{text}\n    return {results},\n", leaves


def differences(lines: Sequence[str]) -> tuple[str, str]:
    text, leaves = as_function(lines)
    if not leaves:
        return "", ""
    scope = {**Run(minigrad).scope}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "<random program>", "exec"), scope)

        def inputs(seed: int, requires_grad: bool = False) -> list[Any]:
            values = [(x.clone() if seed == 0 else x * 0.75 + 0.125) for x in leaves.values()]
            return [x.requires_grad_() if requires_grad else x for x in values]

        try:
            scope["f"](*inputs(0, requires_grad=True))
        except Exception:  # a leaf that requires a gradient refuses what a tensor without one takes
            return "", ""
        return differences_of(scope["f"], inputs, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    for k in range(options.programs):
        lines = program(options.seed, k)
        what, details = differences(lines)
        kinds[what if what != "refused" else f"refused: {details}"] += 1
        if what not in ("", "refused"):
            print(f"--- program {k}: {what}: {details}\n{as_function(lines)[0]}")
    for kind, n in kinds.most_common():
        print(f"{n:6} {kind or 'the same'}")


if __name__ == "__main__":
    main()
