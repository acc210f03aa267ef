"""Functions made from the rows of ops/: F.elu(input, alpha=1.0, inplace=False) is the row `elu` of ops/neural.py.

A function has the name, the settings and the help() text of its row. The setting `axis` is `dim`
here, as in PyTorch, and may be negative. `inplace=True` overwrites the input with the result, and so
does F.elu_(input, alpha=1.0).

Editors and mypy read the stub of nn.functional, which `python -m tests.stubs` writes.
"""

import inspect
from typing import Any

from minigrad import ops
from minigrad.core.op import REQUIRED, Op
from minigrad.core.plan import compiled
from minigrad.core.shapes import normalize_one
from minigrad.core.tensor import Tensor
from minigrad.nn.functional.arguments import applied

FUNCTIONS = (ops.gelu, ops.glu, ops.logsigmoid, ops.sigmoid, ops.softplus, ops.tanh)
WITH_INPLACE = (
    ops.elu, ops.hardsigmoid, ops.hardswish, ops.hardtanh, ops.leaky_relu, ops.mish, ops.relu, ops.silu,
    ops.threshold,
)  # fmt: skip
IN_PLACE = (ops.elu, ops.hardtanh, ops.leaky_relu, ops.relu, ops.threshold)  # as F.elu_
# Settings of a row that only other functions pass (selu and celu).
OTHERS_SET = {ops.elu: ("scale",)}


def check_limits(min_val: float, max_val: float) -> None:
    """Raise an error unless the limits of hardtanh are in order."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")


CHECKS = {ops.hardtanh: check_limits}


def function_of(op: Op, name: str, inplace: bool = False) -> Any:
    """The function of this name. If it ends in _, it works in place; with `inplace`, this is a parameter."""
    settings = {k: v for k, v in op.settings.items() if k not in OTHERS_SET.get(op, ())}
    public = {("dim" if k == "axis" else k): v for k, v in settings.items()}
    head = [k if v is REQUIRED else f"{k}={v!r}" for k, v in public.items()]
    passed = [
        f"{k}={k}" if k != "axis" else "axis=normalize_one(dim, input.ndim)" for k in settings
    ]
    how = "inplace" if inplace else str(name.endswith("_"))
    source = f"def {name}({', '.join(['input', *head, *['inplace=False'] * inplace])}):\n"
    if op in CHECKS:
        source += f"    check({', '.join(public)})\n"
    source += f"    return applied({', '.join([f'ops.{op.name}', 'input', how, *passed])})\n"
    scope: dict[str, Any] = {
        "applied": applied,
        "check": CHECKS.get(op),
        "normalize_one": normalize_one,
    }
    scope["ops"] = ops
    f: Any = compiled(f"nn.functional.{name}", source, scope)[name]
    types = {k: float if v is REQUIRED else type(v) for k, v in public.items()}
    types |= {"inplace": bool} if inplace else {}
    f.__annotations__ = {"input": Tensor, **types, "return": Tensor}
    f.__module__, f.__doc__ = __name__, inspect.cleandoc(op.__doc__ or "")
    if name.endswith("_"):
        f.__doc__ = f"{op.name}, in place.\n\n{f.__doc__}"
    return f


MADE = {op.name: function_of(op, op.name) for op in FUNCTIONS}
MADE |= {op.name: function_of(op, op.name, inplace=True) for op in WITH_INPLACE}
MADE |= {f"{op.name}_": function_of(op, f"{op.name}_") for op in IN_PLACE}
globals().update(MADE)
__all__ = list(MADE)
