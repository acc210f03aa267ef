"""Writing in place: an op whose result is put over its first operand (`x += y`, `x.exp_()`).

The tensor stays the same object. Its memory gets a new version, and it gets a new node if
a gradient is wanted. What some rule needs of the value that is overwritten is copied
first, and nothing else.

Where a write would make a gradient meaningless it is refused: a leaf that requires a
gradient may not be written to while recording, nor may a view of one.

Read dispatch.py and views.py first.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core import modes
from minigrad.core.backward import keep_gradient
from minigrad.core.dispatch import NUMBERS, number_like, prepare, record
from minigrad.core.dtypes import category, torch_name
from minigrad.core.duals import push_write
from minigrad.core.errors import (
    AutogradError,
    DtypeError,
    LeafChangedInPlace,
    ShapeError,
    dtype_error,
    learner_line,
    shape_error,
    table,
)
from minigrad.core.hooks import hooks_of
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import INFERENCE, make
from minigrad.core.node import Node
from minigrad.core.op import Op
from minigrad.core.views import rewritten, way_of

Tensor = Any  # of tensor.py, which stands above this module


def write(op: Op, x: Tensor, others: Sequence[Any], settings: dict[str, Any]) -> Any:
    """Run an op with its result written over its first operand.

    The tensor stays the same object; it gets a new version, and a new node if a gradient
    is wanted. What a rule needs of the value that is overwritten is copied first.

    Returns None; while a program is recorded, what stands for the tensor's new value, if anything.
    """
    observer = modes.state.observer
    if observer is not None and (interpret := getattr(observer, "interpret_write", None)):
        # A program is being recorded; what x is from here on may be a Slot: see static/recorder.py.
        return interpret(op, x, others, settings)
    recording = modes.state.recording
    check_not_inference(x)
    array = x.memory()
    if others and others[0].__class__ in NUMBERS and op.kind == "elementwise":
        others = [number_like(a, x) if a.__class__ in NUMBERS else a for a in others]
    operands, arrays = prepare(op, (x, *others))
    if recording:
        refuse(x, operands)
    dtype, shape = arrays[0].dtype, array.shape
    if dtype is not array.dtype and category(dtype) > category(array.dtype):
        raise cannot_be_cast(op, dtype, array.dtype)
    one_value = op.name == "copy" and not arrays[1].ndim  # the same in each place: fill_, zero_
    if not array.flags.forc and not one_value and is_expanded(array):
        raise AutogradError(WRITTEN_TWICE)
    if len(arrays) > 1 and op.kind == "elementwise":
        check_shape(op, shape, arrays, settings)
    node = None
    if recording and op.rules:
        needs = tuple([a.node is not None for a in operands])
        if True in needs:
            node = record(op, operands, needs, settings, x, before=lambda: copy_of(x))
            node.wrote = True
    before = [copy_of(x), *operands[1:]] if modes.state.levels else operands
    try:
        if dtype == array.dtype:
            op.forward(*arrays, **settings, out=array)
        else:
            np.copyto(array, op.forward(*arrays, **settings), casting="unsafe")
    except ValueError as error:
        raise shape_error(op.name, arrays, settings, error) from None
    except TypeError as error:
        raise dtype_error(f"{op.name}", [torch_name(a.dtype) for a in arrays], error) from None
    bump(x)
    if node is not None:
        attach(node, x)
    if modes.state.levels:
        push_write(op, before, settings, x)
    if modes.state.observer is not None:
        modes.state.observer.forward(op, tuple(operands), x, settings, True)
    return None


def cannot_be_cast(op: Op, dtype: Any, own: Any) -> DtypeError:
    """The error of a write whose result, of type dtype, does not fit into a tensor of type own."""
    return DtypeError(
        f"result type {torch_name(dtype)} can't be cast to the desired output type {torch_name(own)}: "
        f"{op.name}_ writes over a tensor of {own}. To fix it, write  x = x.{op.name}(...)"
        "  (a new tensor), or convert x first."
    )


WRITTEN_TWICE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory "
    "location (it was expanded). Please clone() the tensor before performing the operation."
)


def is_expanded(array: Any) -> bool:
    """Does some memory stand for more than one entry?"""
    strides = zip(array.strides, array.shape, strict=True)
    return bool(array.size) and any(s == 0 and n > 1 for s, n in strides)


def check_shape(
    op: Op, shape: tuple[int, ...], arrays: Sequence[Any], settings: dict[str, Any]
) -> None:
    """Raise unless the result fits into a tensor of this shape."""
    for a in arrays:
        if a.shape != shape and a.shape:
            break
    else:
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


def refuse(x: Tensor, operands: Sequence[Tensor]) -> None:
    """Raise if the write to x, which is about to be recorded, would make gradients meaningless."""
    base = x._base
    if all(a.node is None for a in operands) and (base is None or base.node is None):
        return
    if base is not None and x.origin is not None:
        raise AutogradError(refused_view(x.origin, "is being"))
    if base is not None and x.node is not None and base.is_leaf:
        what = (
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )
    elif isinstance(x.node, AccumulateGrad):
        what = "a leaf Variable that requires grad is being used in an in-place operation."
    else:
        return
    place = learner_line()
    where = "" if place is None else "\n" + table([("here", place.label, place.text)])
    raise LeafChangedInPlace(
        f"{what} The leaf's value would change, and its gradient would belong to neither the old "
        f"value nor the new one.{where}\n"
        "    To mend it, make a new tensor (y = x + 1, not x += 1; or write to x.clone()), or, to update "
        "a parameter, write inside a block: with minigrad.no_grad()"
    )


def refused_view(origin: tuple[Any, ...], what: str) -> str:
    """Why the history of a view with this origin cannot follow a write to its memory."""
    if origin[0] == "no_grad":
        return (
            f"A view was created in no_grad mode and {what} modified inplace with grad mode enabled. "
            "Should the write be recorded or not? To fix it, make the view and write to it both inside the "
            "no_grad block, or both outside."
        )
    _, name, number = origin
    return (
        f"Output {number} of {name} is a view and {what} modified inplace. This view is the output of a "
        "function that returns multiple views. Such functions do not allow the output views to be modified "
        "inplace. To fix it, make a new tensor (y = x + 1, not x += 1), or index the base instead."
    )


def check_not_inference(x: Tensor) -> None:
    """Raise if x was made in inference_mode, which is over."""
    if x.counter is INFERENCE and not modes.state.inference:
        raise AutogradError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
            "normal tensor before doing inplace update: x.clone()."
        )


def copy_of(x: Tensor) -> Tensor:
    """x as it is before the write, with its history and tangents."""
    before = make.wrap(np.array(x.array))
    before.node = x.node
    if x._tangents is not None:
        before._tangents = x._tangents
    return before


def bump(x: Tensor) -> None:
    """x's memory has been written to: count it, and remember where."""
    counter = x._shared_counter()
    if counter is INFERENCE:
        return check_not_inference(x)
    counter.count += 1
    counter.place = learner_line()


def attach(node: Node, x: Tensor) -> None:
    """Make `node`, an in-place write to x, the latest entry of x's history."""
    if x.retains_grad and x.node is not None:
        hooks_of(x.node).keep = None  # what is kept is the gradient of the value that x has now
    x.counter.history += 1
    base = x._base
    if base is None:
        x.node = node
    else:
        base.node = rewritten(base.node, way_of(x), node, base.array)
    if x.retains_grad:
        keep_gradient(x)
