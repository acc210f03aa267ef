"""Extracts details from tensors, settings, nodes and errors, for the recorder."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.core import dtypes, modes
from minigrad.core.errors import Place, _is_ours
from minigrad.core.op import Op
from minigrad.core.saved import Packed
from minigrad.core.tensor import Tensor
from minigrad.tape.events import Again, Input, Result
from minigrad.tape.names import number
from minigrad.tape.snapshot import WHOLE, Snapshot

SMALL = 64  # local derivatives are computed for at most this many entries


def result(tensor: Tensor, key: int) -> Result:
    """A record of the tensor's current state."""
    tangents = [] if tensor._tangents is None else [*tensor._tangents.values()]
    return Result(
        key,
        tensor._version,
        tuple(tensor.shape),
        str(tensor.dtype),
        tensor.requires_grad,
        Snapshot(tensor.array),
        [Snapshot(t.array) for t in tangents],
    )


def is_number(operand: Tensor) -> bool:
    """Was this operand a plain number? The core wraps it in a tensor that nothing else refers to."""
    return operand.node is None and not operand.array.ndim and operand._tangents is None


def constant(value: Any) -> str:
    """The text of a number or an array in an expression."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"array{tuple(value.shape)}"
    try:
        return number(value)
    except (TypeError, ValueError):
        return repr(value)


def setting(value: Any) -> str:
    """The text of a setting; a tensor or an array by its shape."""
    if isinstance(value, Tensor | np.ndarray) and value.ndim:
        return f"array{tuple(value.shape)}"
    if isinstance(value, tuple):
        inside = ", ".join(setting(v) for v in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, slice):
        parts = [value.start, value.stop] + ([] if value.step is None else [value.step])
        return ":".join("" if p is None else str(p) for p in parts)
    if value is Ellipsis:
        return "..."
    text = repr(value)
    return text if " at 0x" not in text else f"<{type(value).__name__}>"


def again(
    op: Any, operands: tuple[Any, ...], settings: dict[str, Any], inputs: list[Input]
) -> Again | None:
    """What is needed to apply the op again; None if this would keep a tensor or a large array alive."""
    if not isinstance(op, Op) or not all(map(_is_small, settings.values())):
        return None
    constants = {
        k: getattr(operands[k], "array", operands[k])
        for k, i in enumerate(inputs)
        if i.entry is None
    }
    if not all(map(_is_small, constants.values())):
        return None
    return Again(op, {k: _copied(v) for k, v in settings.items()}, constants)


def _is_small(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return len(value) <= SMALL and all(map(_is_small, value))
    array = getattr(value, "array", value)
    return not isinstance(array, np.ndarray) or array.size <= WHOLE


def _copied(value: Any) -> Any:
    """A copy of a setting: its arrays are copied, and tensors become arrays."""
    if isinstance(value, tuple | list):
        return type(value)([_copied(v) for v in value])
    array = getattr(value, "array", value)
    return array.copy() if isinstance(array, np.ndarray) else array


def same(value: Any, default: Any) -> bool:
    """Does a setting have its default value? (An array never does.)"""
    return type(value) is type(default) and not hasattr(value, "shape") and bool(value == default)


def why_no_gradient(op: Any, z: Any) -> str:
    """Why the result of an op requires no gradient although an operand does."""
    if not modes.state.recording:
        return "no_grad"
    if isinstance(z, Tensor) and not dtypes.is_floating(z.array.dtype):
        return "not a floating-point result"
    return "no derivative"


def local_derivatives(
    op: Any, operands: tuple[Any, ...], z: Any, settings: dict[str, Any]
) -> dict[str, Snapshot]:
    """dz/dx for each operand of a small elementwise op: its rule, called with g = 1."""
    if not isinstance(op, Op) or op.kind != "elementwise" or op.variadic:
        return {}
    if not isinstance(z, Tensor) or z.array.size > SMALL:
        return {}
    known: dict[str, Any] = {**op.settings, **settings, "z": z.array}
    for name, x in zip(op.operands, operands, strict=True):
        array = getattr(x, "array", x)
        known[name], known[f"{name}_shape"] = array, np.shape(array)
        known[f"{name}_turned"] = False
    one = np.ones_like(z.array)
    found = {}
    for name, x in zip(op.operands, operands, strict=True):
        rule = op.rules.get(name)
        if rule is not None and isinstance(x, Tensor) and x.node is not None:
            found[name] = Snapshot(rule.formula(one, *(known[r] for r in rule.reads)))
    return found


def op_of(node: Any) -> Any:
    """The op of a node, with or without hooks; for a user's Function, its stand-in."""
    return node.op


def saved_values(node: Any) -> dict[str, tuple[Any, int | None]]:
    """What a node saved; empty if hooks have packed it, or if the user's Function keeps it."""
    if isinstance(getattr(node, "saved", None), Packed):
        return {}  # looking at packed values would unpack them
    try:
        return dict(node.saved_values())
    except ValueError:
        return {}


def counters(node: Any) -> dict[str, Any]:
    """The counters of a node's saved tensors; empty if hooks have packed them."""
    if isinstance(getattr(node, "saved", None), Packed):
        return {}
    try:
        return dict(node.counters())
    except (AttributeError, TypeError, ValueError):
        return {}


def node_that_failed(error: BaseException) -> Any:
    """The node that was running when a backward pass raised an error: a local of the engine's frames."""
    found, trace = None, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name in ("_apply", "_rules", "run", "steps"):
            node = trace.tb_frame.f_locals.get("node")
            found = node if node is not None else found
        trace = trace.tb_next
    return found


def op_that_failed(error: BaseException) -> tuple[Any, list[Any]] | None:
    """The op, with its operands, in which the recorded code raised an error."""
    trace = error.__traceback__
    while trace is not None:
        names = trace.tb_frame.f_locals
        op = names.get("op")
        if isinstance(op, Op):
            operands = names.get("operands") or names.get("args")
            if isinstance(operands, list | tuple) and operands:
                return op, list(operands)
        trace = trace.tb_next
    return None


def place_in(error: BaseException) -> Place | None:
    """The user's line that raised the error: the innermost one in the traceback outside minigrad."""
    found, trace = None, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not _is_ours[file]:
            found = Place(file, trace.tb_lineno)
        trace = trace.tb_next
    return found
