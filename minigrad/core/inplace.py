"""In-place writes (`x += y`, `x.exp_()`): when they are refused, and their effect on the history.

A tensor that is written to stays the same object. Its memory gets a new version, and the tensor gets
a new node if a gradient is needed. The write itself is in dispatch.py.

A write that would make a gradient meaningless is refused: while recording, you may not write
to a leaf that requires a gradient, nor to a view of one.

Read views.py first.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core import modes
from minigrad.core.backward import keep_gradient
from minigrad.core.dtypes import category, torch_name
from minigrad.core.errors import (
    AutogradError,
    LeafChangedInPlace,
    ShapeError,
    at,
    cannot_be_cast,
    shape_error,
    user_instruction,
    user_line,
)
from minigrad.core.hooks import hooks_of
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import INFERENCE, Tensor, make
from minigrad.core.node import Node
from minigrad.core.op import Op
from minigrad.core.shapes import Array
from minigrad.core.views import CopySlices, view_chain_to

WRITTEN_TWICE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory "
    "location (it was expanded). Please clone() the tensor before performing the operation."
)


def check_fits(op: Op, array: Array, arrays: Sequence[Any], settings: dict[str, Any]) -> None:
    """Raise an error if the op's result cannot be written to `array`: checks dtype, memory and shape.

    arrays   the operands, converted to the dtype that the op computes in
    """
    dtype, shape = arrays[0].dtype, array.shape
    if dtype is not array.dtype and category(dtype) > category(array.dtype):
        raise cannot_be_cast(op.name, torch_name(dtype), torch_name(array.dtype))
    # Entries that share memory must not get different values. (fill_ sets them all to the same value.)
    if not array.flags.forc and not (op.name == "copy" and not arrays[1].ndim):
        strides = zip(array.strides, shape, strict=True)
        if array.size and any(s == 0 and n > 1 for s, n in strides):
            raise AutogradError(WRITTEN_TWICE)
    if op.kind != "elementwise" or {a.shape for a in arrays} <= {shape, ()}:
        return
    try:
        result = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as error:
        raise shape_error(op.name, arrays, settings, error) from None
    if result != shape:
        raise ShapeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(result)}: "
            f"{op.name}_ cannot make its tensor larger."
        )


def refuse(x: Any, nodes: Sequence[Any]) -> None:
    """Raise an error if a recorded write to x would make gradients meaningless.

    nodes   the nodes of the operands; x is the first operand
    """
    base, node = x._base, nodes[0]
    if node is None and nodes.count(None) == len(nodes) and (base is None or base.node is None):
        return
    if base is not None and x.origin is not None:
        view = "A view was" if x.is_leaf else "This is a view of a view which was"
        raise AutogradError(refused_view(x.origin, "is being", view))
    if base is not None and node is not None and base.is_leaf:
        what = "a view of a leaf Variable"
    elif isinstance(node, AccumulateGrad):
        what = "a leaf Variable"
    else:
        return
    raise LeafChangedInPlace(
        f"{what} that requires grad is being used in an in-place operation. The leaf's value would "
        f"change, and its gradient would belong to neither the old value nor the new one.{at('here', user_line())}\n"
        "    To fix it, make a new tensor (y = x + 1, not x += 1; or write to x.clone()), or, to update "
        "a parameter, write inside a block: with minigrad.no_grad()"
    )


def is_plain(x: Any, node: Any) -> bool:
    """Can this view, with this node, be written to without further checks?"""
    above = x._base.node
    return (
        x.origin is None
        and above.__class__ is not AccumulateGrad
        and (node is None) == (above is None)
    )


def refused_view(origin: tuple[Any, ...], what: str, view: str = "A view was") -> str:
    """The error message for a recorded write to the memory of a view with this origin."""
    if len(origin) == 1:
        mode = origin[0]
        block = "no_grad" if mode == "no_grad" else "inference_mode"
        return (
            f"{view} created in {mode} mode and {what} modified inplace with grad mode enabled. Should the write be "
            f"recorded or not? To fix it, make the view and write to it both inside the {block} block, or both outside."
        )
    kind, name, number = origin
    if kind == "Function":
        return (
            f"Output {number} of {name} is a view and {what} modified inplace. This view was created inside a custom "
            "Function (or because an input was returned as-is): the write would bypass its backward. To fix it, return "
            "x.clone() from forward, or make a new tensor (y = x + 1, not x += 1)."
        )
    return (
        f"Output {number} of {name} is a view and {what} modified inplace. This view is the output of a "
        "function that returns multiple views. Such functions do not allow the output views to be modified "
        "inplace. To fix it, make a new tensor (y = x + 1, not x += 1), or index the base instead."
    )


def check_not_inference(x: Tensor) -> None:
    """Raise an error if x was made in inference_mode and the mode is now off."""
    if x.counter is INFERENCE and not modes.state.inference:
        raise AutogradError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
            "normal tensor before doing inplace update: x.clone()."
        )


def copy_of(x: Tensor) -> Tensor:
    """A copy of x from before the write, with its history and tangents."""
    before = make.wrap(np.array(x.array))
    before.node = x.node
    if x._tangents is not None:
        before._tangents = x._tangents
    return before


def bump(x: Tensor) -> None:
    """Count a write to x's memory, and store the user's line."""
    counter = x._shared_counter()
    if counter is INFERENCE:
        return check_not_inference(x)
    counter.count += 1
    counter.where = user_instruction()


def attach(node: Node, x: Tensor) -> None:
    """Make `node`, an in-place write to x, the head of x's history."""
    base = x._base
    retaining = [t for t in (x, base) if t is not None and t._retains]
    for t in retaining:  # retain_grad keeps the gradient of the current value
        if t.node is not None:
            hooks_of(t.node).keep = None
    x.counter.history += 1
    if base is None:
        x.node = node
    else:
        base.node = CopySlices(base.node, view_chain_to(x), node, base.array)
    for t in retaining:
        keep_gradient(t)
