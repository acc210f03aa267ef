"""Applying an op to tensors: out of place, in place, or as a view.

This is the core of the forward pass. The three steps are the same for every op:

    prepare    turn arguments that are not tensors into constants; promote dtypes    promotion.py
    compute    call the op's forward function on plain arrays; an in-place write passes out=
    record     if an operand requires a gradient, make a node with the plan for this op and
               these operands, and save the values that the plan needs               plan.py

For the common case, codegen.py generates a shorter version of this for each op. inplace.py
decides when an in-place write is refused, and how it changes the history.

Read node.py and plan.py first. This module reaches Tensor only through `make`; tensor.py comes later.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core import modes
from minigrad.core.dtypes import check_not_complex, is_floating, torch_name
from minigrad.core.duals import push, push_write
from minigrad.core.errors import dtype_error, index_error, memory_error, shape_error, user_line
from minigrad.core.inplace import attach, bump, check_fits, check_not_inference, copy_of, refuse
from minigrad.core.memory import Tensor, make, new
from minigrad.core.node import Node, next_queue_key
from minigrad.core.op import Op
from minigrad.core.plan import plan_of, value_of
from minigrad.core.promotion import NUMBERS, number_like, prepare
from minigrad.core.saved import Packed
from minigrad.core.shapes import arranged_as
from minigrad.core.views import ViewStep, shows

PER_ENTRY = ("elementwise", "constant")  # the kinds of ops that broadcast their operands
TEXTS = ("approximate", "equation", "reduction", "rounding_mode")  # settings that are text


def apply(op: Op, args: Sequence[Any], settings: dict[str, Any]) -> Any:
    """Run an op on tensors: compute the result, and record a node if a gradient is needed.

    Arguments that are not tensors (numbers, arrays) are constants.
    """
    state = modes.state
    if state.observer is not None and (interpret := getattr(state.observer, "interpret", None)):
        return interpret(op, args, settings)  # a program is being recorded: see static/tracing.py
    operands, arrays = prepare(op, args)
    z_array = computed(op, arrays, settings)
    if op.in_order and z_array.__class__ is np.ndarray and not z_array.flags.c_contiguous:
        z_array = np.ascontiguousarray(z_array)
    elif op.kind in PER_ENTRY and arrays and not arrays[0].flags.c_contiguous:
        z_array = arranged_as(arrays[0], z_array)
    if op.view and shows(z_array, arrays[0]):
        z = make.view(operands[0], z_array, ViewStep(op, settings))
    else:
        z = make.wrap(z_array)
    if op.rules and state.recording:
        nodes = [x.node for x in operands]
        if nodes.count(None) < len(nodes) and is_floating(z_array.dtype):
            z.node = record_node(op, operands, nodes, settings, z)
    if state.levels:
        push(op, operands, settings, z)
        if isinstance(z.node, Node):
            z.node.tangents = z._tangents
    if state.observer is not None:
        state.observer.forward(op, tuple(operands), z, settings, False)
    return z


def write(op: Op, x: Tensor, others: Sequence[Any], settings: dict[str, Any]) -> Any:
    """Run an op and write its result to its first operand, x.

    The tensor object stays the same; it gets a new version, and a new node if a gradient
    is needed. If a rule needs the old value, it is copied first.

    Returns None; while a program is being recorded, the Slot that replaces the tensor, if any.
    """
    state = modes.state
    if state.observer is not None and (
        interpret := getattr(state.observer, "interpret_write", None)
    ):
        # A program is being recorded; x may become a Slot: see static/tracing.py.
        return interpret(op, x, others, settings)
    check_not_inference(x)
    array = x.memory()
    if others and others[0].__class__ in NUMBERS and op.kind == "elementwise":
        others = [number_like(a, x) if a.__class__ in NUMBERS else a for a in others]
    operands, arrays = prepare(op, (x, *others))
    nodes = [a.node for a in operands]
    if state.recording:
        refuse(x, nodes)
    check_fits(op, array, arrays, settings)
    node = None
    if state.recording and op.rules and nodes.count(None) < len(nodes):
        node = record_node(op, operands, nodes, settings, x, in_place=True)
    before = [copy_of(x), *operands[1:]] if state.levels else operands
    if arrays[0].dtype == array.dtype:
        computed(op, arrays, {**settings, "out": array})
    else:
        np.copyto(array, computed(op, arrays, settings), casting="unsafe")
    bump(x)
    if node is not None:
        if state.saved_hooks and node.plan.frees:
            node.saved.pack_result()
        attach(node, x)
    if state.levels:
        push_write(op, before, settings, x)
        if node is not None:
            node.tangents = x._tangents
    if state.observer is not None:
        state.observer.forward(op, tuple(operands), x, settings, True)
    return None


def computed(op: Op, arrays: Sequence[Any], settings: dict[str, Any]) -> Any:
    """Call the op's forward function. Turns NumPy's errors into errors about the op."""
    try:
        return op.forward(*arrays, **settings)
    except IndexError as error:
        raise index_error(arrays[0].ndim, error) from None
    except ValueError as error:
        settings.pop("out", None)
        refuse_settings(op, settings)
        raise shape_error(op.name, arrays, settings, error) from None
    except TypeError as error:
        refuse_settings(op, settings)
        raise dtype_error(op.name, [torch_name(a.dtype) for a in arrays], error) from None
    except OverflowError as error:  # NumPy names the number and the dtype
        raise RuntimeError(
            f"{op.name}: value cannot be converted without overflow: {error}"
        ) from None
    except MemoryError as error:
        raise memory_error(op.name, [a.shape for a in arrays], error) from None


def refuse_settings(op: Op, settings: dict[str, Any]) -> None:
    """Raise TypeError for a setting that is text, or a list in place of a number."""
    for name, value in settings.items():
        default = op.settings.get(name)
        number = isinstance(default, (int, float)) and isinstance(value, (list, tuple))
        if number or (isinstance(value, str) and name not in TEXTS):
            kind = type(value).__name__
            raise TypeError(f"{op.name}(): argument {name!r} must be Number, not {kind}") from None


def record_node(
    op: Op,
    operands: Sequence[Tensor],
    nodes: Sequence[Any],
    settings: dict[str, Any],
    z: Tensor,
    in_place: bool = False,
) -> Node:
    """The node of z = op(*operands), with the values that its rules will read.

    nodes      the operands' nodes; None for an operand that needs no gradient
    in_place   is the op about to write to z, its first operand? If so, a copy of the operand is
               saved, and the version saved for z is the version after the write
    """
    check_not_complex(f"the result of {op.name}", z.array.dtype)
    name = ""
    if op.named is not None:
        name = op.named.formula(*[value_of(op, r, operands, settings) for r in op.named.reads])
    needs = tuple([n is not None for n in nodes])
    plan = plan_of(op, needs, must_fit(op, operands, z), name)
    node: Node = new(plan.node_type)
    node.plan = plan
    node.edges = tuple([n for n in nodes if n is not None])
    node.queue_key = next_queue_key()
    if in_place:
        node.wrote = True
    if plan.reads:
        if in_place and op.operands[0] in plan.tensors:
            operands = (copy_of(z), *operands[1:])
        node.saved, node.version = plan.save(operands, settings, z, in_place)
    if plan.frees and modes.state.saved_hooks:
        node.saved, node.version = Packed(node, modes.state.saved_hooks[-1]), 0
    elif modes.state.tracing:
        keep_line(node, "z" if in_place else "")
    return node


def keep_line(node: Node, to_be_written: str = "") -> None:
    """Store the line that made a node, and the versions of its saved values, if lines are traced.

    to_be_written   the name of the saved value that is about to be written to, if any
    """
    if modes.state.tracing:
        node.place = user_line()
        counters = node.counters() if node.plan.tensors else {}
        node.versions = {name: c.count + (name == to_be_written) for name, c in counters.items()}


def must_fit(op: Op, operands: Sequence[Tensor], z: Tensor) -> bool:
    """Can a rule's gradient differ from its input in shape (after a broadcast) or in dtype?"""
    dtype = z.array.dtype
    # Operands that need no gradient count too: the rules of the others compute with them.
    for k, x in enumerate(operands):
        if x.array.dtype is not dtype and x.array.dtype != dtype and not op.is_mask(k):
            return True
    if len(operands) == 1 or op.variadic:
        return "dtype" in op.settings  # the result may have another dtype
    if op.kind != "elementwise":
        return not op.exact
    return any(x.array.shape != z.array.shape for x in operands)
