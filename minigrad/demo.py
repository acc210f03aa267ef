"""The lesson's example, in a terminal: `minigrad demo`.

The example is a program of its own, kept as text and run as a learner's file would be, so
that the tape can show its lines. What follows is made from the same public things that a
learner uses: `record`, `chain`, `tape.steps` and `compare`.
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
from minigrad.teach.compare import Comparison, compare_in

EXAMPLE = """\
y1 = x1 + x2        # x1 and x2 require gradients
y2 = x3 + x4        # x3 and x4 do not
z  = y1 * y2
z += x2             # in place
"""
SHAPE = (2, 3, 4)


def run_example() -> tuple[Tape, dict[str, Any]]:
    """Run the example under `record`: the tape, and the example's variables."""
    linecache.cache["example.py"] = (len(EXAMPLE), None, EXAMPLE.splitlines(True), "example.py")
    values = minigrad.arange(24.0).reshape(SHAPE) / 8
    variables: dict[str, Any] = {
        f"x{n}": (values - n).detach().requires_grad_(n <= 2) for n in (1, 2, 3, 4)
    }
    with minigrad.record("demo", namespace=variables) as tape:
        exec(compile(EXAMPLE, "example.py", "exec"), {}, variables)
    return tape, variables


def show(console: Console) -> Tape:
    """Print the example, its chain, each step backward, and the comparison."""
    tape, variables = run_example()
    z, y2 = variables["z"], variables["y2"]
    console.print(f"Four tensors of shape {SHAPE}, and four lines:", highlight=False)
    console.print(Syntax(EXAMPLE, "python", background_color="default", padding=(0, 4)))
    console.print(_chain(z, variables))
    console.print(_backward(tape, z))
    console.print(
        "\nBy hand: z = (x1 + x2) * y2 + x2, so dz/dx1 = y2, and dz/dx2 = y2 + 1, since x2 is used twice.",
        highlight=False,
    )
    console.print(_comparison(compare_in(variables, z, {"x1": y2, "x2": y2 + 1})))
    return tape


def _chain(z: Any, variables: dict[str, Any]) -> Table:
    chain = minigrad.chain(z, namespace=variables)
    rows = [(line.branch + line.what, line.remark) for line in chain.lines]
    return _table("The chain: what z.grad_fn leads to", ("node", "what it keeps"), rows)


def _backward(tape: Tape, z: Any) -> Table:
    rows = []
    for step in tape.steps(z, minigrad.ones_like(z)):
        sends = [
            f"{sent.to}  ({sent.arrived} of {sent.expected})" if sent.expected > 1 else sent.to
            for sent in step.sends
        ]
        rows.append(
            (
                str(step.number),
                f"{step.name} of {step.label}",
                "\n".join(sends) or f"added to {step.label}.grad",
                "\n".join(step.ready) or "-",
                "\n".join(f"{node}: {n} more" for node, n in step.waiting.items()) or "-",
            )
        )
    header = ("step", "runs", "sends a gradient to", "then ready", "still waiting for")
    return _table("z.backward(ones_like(z)), step by step", header, rows, ruled=True)


def _comparison(found: Comparison) -> Table:
    return _table(found.headline, found.header, [row.cells() for row in found.rows])


def _table(
    title: str, header: Iterable[str], rows: Iterable[Iterable[str]], ruled: bool = False
) -> Table:
    table = Table(title=f"\n{title}", title_justify="left", title_style="bold", show_lines=ruled)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
