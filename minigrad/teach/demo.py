"""The lesson's example, in a terminal: `minigrad demo`.

The example is stored as text and run like a learner's file, so that the tape can show its lines.
Everything shown comes from the public functions that a learner uses: `record`, `chain`,
`tape.steps` and `compare`.
"""

import linecache
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import minigrad
from minigrad.tape import Tape
from minigrad.tape.names import printable
from minigrad.teach.compare import compare_in

EXAMPLE = """\
y1 = x1 + x2        # x1 and x2 require gradients
y2 = x3 + x4        # x3 and x4 do not
z  = y1 * y2
z += x2             # in place
"""
BACKWARD = "z.backward(ones_like(z))\n"
# The same, step by step.
WALK = "\n" * EXAMPLE.count("\n") + "steps = list(tape.steps(z, ones_like(z)))"
SHAPE = (2, 3, 4)


def run_example() -> tuple[Tape, dict[str, Any]]:
    """Run the example under `record`; returns the tape and the example's variables."""
    code = EXAMPLE + BACKWARD
    linecache.cache["example.py"] = (len(code), None, code.splitlines(True), "example.py")
    numbers = minigrad.arange(24.0).reshape(SHAPE)
    variables: dict[str, Any] = {
        "x1": (numbers / 10).requires_grad_(),
        "x2": (1 - numbers / 20).requires_grad_(),
        "x3": numbers * 0 + 2,
        "x4": numbers / 5,
    }
    with minigrad.record("demo", namespace=variables) as tape:
        exec(compile(EXAMPLE, "example.py", "exec"), {}, variables)
    return tape, variables


def show_demo(console: Console) -> Tape:
    """Print the example, its chain, each step backward, and the comparison."""
    tape, variables = run_example()
    z, y2 = variables["z"], variables["y2"]
    console.print(f"Four tensors of shape {SHAPE}, four lines, and the gradients:", highlight=False)
    console.print(Syntax(EXAMPLE + BACKWARD, "python", background_color="default", padding=(0, 4)))
    console.print(_chain(z, variables))
    scope = {"tape": tape, "z": z, "ones_like": minigrad.ones_like}
    exec(compile(WALK, "example.py", "exec"), scope)
    console.print(_backward(scope["steps"]))
    console.print(
        "\nBy hand: z = (x1 + x2) * y2 + x2, so dz/dx1 = y2, and dz/dx2 = y2 + 1, since x2 is used twice.",
        highlight=False,
    )
    found = compare_in(variables, z, {"x1": y2, "x2": y2 + 1})
    console.print(_table(found.headline, found.header, [row.cells() for row in found.rows]))
    return tape


def _chain(z: minigrad.Tensor, variables: dict[str, Any]) -> Table:
    chain = minigrad.chain(z, namespace=variables)
    rows = [(printable(line.branch + line.what), line.remark) for line in chain.lines]
    return _table("The chain: what z.grad_fn leads to", ("node", "shape, and what is saved"), rows)


def _backward(steps: Any) -> Table:
    rows = []
    for step in steps:
        sends = [
            f"{sent.to}  ({sent.arrived} of {sent.expected})" if sent.expected > 1 else sent.to
            for sent in step.sends
        ]
        sent = "\n".join(sends) or f"added to {step.label}.grad"
        ready = "\n".join(step.ready) or "-"
        waiting = "\n".join(f"{node}: {n} more" for node, n in step.waiting.items()) or "-"
        rows.append((str(step.number), f"{step.name} of {step.label}", sent, ready, waiting))
    header = ("step", "runs", "sends a gradient to", "then ready", "still waiting for")
    return _table("z.backward(ones_like(z)), step by step", header, rows, ruled=True)


def _table(
    title: str, header: Iterable[str], rows: Iterable[Iterable[str]], ruled: bool = False
) -> Table:
    table = Table(title=f"\n{title}", title_justify="left", title_style="bold", show_lines=ruled)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
