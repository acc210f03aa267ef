"""Extracts details from tensors, settings, nodes and errors, for the recorder."""

from traceback import walk_tb
from typing import Any

import numpy as np

from minigrad.core.engine import AnyNode
from minigrad.core.errors import Place, _is_ours
from minigrad.core.function import FunctionPlan
from minigrad.core.op import Op
from minigrad.core.saved import Packed
from minigrad.core.tensor import Tensor
from minigrad.tape.events import Input, OpCall
from minigrad.tape.names import number_text
from minigrad.tape.snapshot import WHOLE, Snapshot

FEW = 8  # entries of an array that are shown in an expression
SMALL = 64  # local derivatives are computed for at most this many entries


def constant(value: Any) -> str:
    """The text of a number or an array in an expression."""
    if isinstance(value, np.ndarray) and value.ndim:
        return array_text(value)
    try:
        return number_text(value)
    except (TypeError, ValueError):
        return repr(value)


def array_text(array: Any) -> str:
    """An array in an expression: its entries if there are few, otherwise its shape.

    >>> array_text(np.array([[3, 1], [0, 2]])), array_text(np.zeros((4, 5)))
    ('[[3, 1], [0, 2]]', 'array(4, 5)')
    """
    if array.size > FEW:
        return f"array{tuple(array.shape)}"

    def nested(entry: Any) -> str:
        inside = isinstance(entry, list)
        return f"[{', '.join(map(nested, entry))}]" if inside else number_text(entry)

    return nested(array.tolist())


def setting(value: Any) -> str:
    """The text of a setting."""
    if isinstance(value, Tensor | np.ndarray | np.generic):
        return array_text(np.asarray(getattr(value, "array", value)))
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


def op_call(
    op: Any, operands: tuple[Any, ...], settings: dict[str, Any], inputs: list[Input]
) -> OpCall | None:
    """The data for applying the op again; None if this would keep a tensor or a large array alive."""
    if not isinstance(op, Op) or not all(map(_is_small, settings.values())):
        return None
    constants = {
        k: getattr(operands[k], "array", operands[k])
        for k, i in enumerate(inputs)
        if i.entry is None
    }
    if not all(map(_is_small, constants.values())):
        return None
    return OpCall(op, {k: _copied(v) for k, v in settings.items()}, constants)


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
    """Does a setting equal its default? (An array never does.)"""
    return type(value) is type(default) and not hasattr(value, "shape") and bool(value == default)


def settings_given(op: Any, params: dict[str, Any]) -> dict[str, str]:
    """The settings of a call as text, except those with default values, and those that follow from the others."""
    derived = getattr(op, "derived", ())
    given = {k: v for k, v in params.items() if k not in derived}
    return {k: setting(v) for k, v in given.items() if not same(v, op.settings.get(k))}


def why_no_gradient(recording: bool, floating: bool) -> str:
    """Why the result of an op requires no gradient although an operand does.

    recording    was recording on?
    floating     is the result a floating-point tensor?
    """
    if not recording:
        return "no_grad"
    return "no derivative" if floating else "not a floating-point result"


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


def saved_values(node: AnyNode) -> dict[str, tuple[Any, int | None]]:
    """The values saved by a node, with their versions; empty if hooks have packed them."""
    if isinstance(node.plan, FunctionPlan):
        return {
            name: (entry, version)
            for (name, entry), version in zip(_kept(node.plan), node.plan.ctx._versions)
            if entry is not None
        }
    return _unless_packed(node, "saved_values")


def counters(node: AnyNode) -> dict[str, Any]:
    """The counters of a node's saved tensors; empty if hooks have packed them."""
    if isinstance(node.plan, FunctionPlan):
        return {name: entry.counter for name, entry in _kept(node.plan) if entry is not None}
    return _unless_packed(node, "counters")


def _kept(plan: FunctionPlan) -> list[tuple[str, Any]]:
    """The tensors saved by a Function's save_for_backward, by position; empty if they were freed."""
    kept = plan.ctx._saved
    return [(f"saved_tensors[{k}]", x) for k, x in enumerate(kept if type(kept) is tuple else ())]


def _unless_packed(node: AnyNode, method: str) -> dict[str, Any]:
    if isinstance(getattr(node, "saved", None), Packed):
        return {}  # looking at packed values would unpack them
    try:
        return dict(getattr(node, method)())
    except (AttributeError, TypeError, ValueError):
        return {}


def node_that_failed(error: BaseException) -> AnyNode | None:
    """The node that was running when a backward pass raised an error, found in the engine's frames."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    running = [f for f in frames if f.f_code.co_name in ("_apply", "_rules", "run", "steps")]
    nodes = [f.f_locals.get("node") for f in reversed(running)]
    return next((node for node in nodes if node is not None), None)


def op_that_failed(error: BaseException) -> tuple[Op, list[Any]] | None:
    """The op that raised the error of the recorded code, with its operands."""
    for frame, _ in walk_tb(error.__traceback__):
        names = frame.f_locals
        op, operands = names.get("op"), names.get("operands") or names.get("args")
        if isinstance(op, Op) and isinstance(operands, list | tuple) and operands:
            return op, list(operands)
    return None


def place_in(error: BaseException) -> Place | None:
    """The user's line that raised the error: the innermost one in the traceback outside minigrad."""
    lines = [(f.f_code.co_filename, line) for f, line in walk_tb(error.__traceback__)]
    return next((Place(*at) for at in reversed(lines) if not _is_ours[at[0]]), None)
