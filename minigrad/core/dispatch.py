"""Applying an op to tensors: compute, and put a node on the tape if a gradient is wanted.

This is the heart of the forward pass, the same for every op:

    prepare    what is no tensor becomes a constant; types are promoted
    forward    the op's own function computes the result, on plain arrays
    record     if some operand requires a gradient, a node takes note of what the op's
               rules will read, and of where the operands came from

fast.py writes a shorter version of this for each op, for the usual case.

Read node.py first. Tensors are known here only through `make`; tensor.py comes after.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.core import dtypes, modes
from minigrad.core.case import case_of, values_of
from minigrad.core.data import as_array
from minigrad.core.duals import push
from minigrad.core.errors import DtypeError, dtype_error, learner_line, shape_error, wrong_kind
from minigrad.core.memory import make, new
from minigrad.core.node import Node, next_rank
from minigrad.core.op import Op
from minigrad.core.saved import Packed
from minigrad.core.shapes import order_of
from minigrad.core.views import Hop, shows

Tensor = Any  # of tensor.py, which stands above this module


def apply(op: Op, args: Sequence[Any], settings: dict[str, Any]) -> Any:
    """Run an op on tensors: compute the result, and put a node on the tape if one is wanted.

    Arguments that are no tensors (numbers, arrays) are constants.
    """
    state = modes.state
    if state.observer is not None and (interpret := getattr(state.observer, "interpret", None)):
        return interpret(op, args, settings)  # a program is being recorded: see static/recorder.py
    operands, arrays = prepare(op, args)
    try:
        z_array = op.forward(*arrays, **settings)
    except ValueError as error:
        raise shape_error(op.name, arrays, settings, error) from None
    except TypeError as error:
        names = [dtypes.torch_name(a.dtype) for a in arrays]
        raise dtype_error(op.name, names, error) from None
    if op.in_order and z_array.__class__ is np.ndarray and not z_array.flags.c_contiguous:
        z_array = np.ascontiguousarray(z_array)
    if op.view and shows(z_array, arrays[0]):
        z = make.view(operands[0], z_array, Hop(op, settings))
    else:
        z = make.wrap(z_array)
    needs = tuple([x.node is not None for x in operands])
    if True in needs and op.rules and state.recording and dtypes.is_floating(z_array.dtype):
        z.node = record(op, operands, needs, settings, z)
    if state.levels:
        push(op, operands, settings, z)
        if isinstance(z.node, Node):
            z.node.tangents = z._tangents
    if state.observer is not None:
        state.observer.forward(op, tuple(operands), z, settings, False)
    return z


def record(
    op: Op,
    operands: Sequence[Tensor],
    needs: tuple[bool, ...],
    settings: dict[str, Any],
    z: Tensor,
    before: Callable[[], Tensor] | None = None,
) -> Node:
    """The node of z = op(*operands), with what its rules will read.

    before   if the op is about to be written over z itself: what gives a copy of z as it is.
             z's saved version is then the one that the write will make
    """
    case = case_of(op, needs, must_fit(op, operands, needs, z))
    node: Node = new(Node)
    node.case = case
    node.edges = tuple([x.node for x in operands if x.node is not None])
    node.rank = next_rank()
    ahead = before is not None
    if case.reads:
        values = values_of(op, operands, settings)
        if before is not None and op.operands[0] in case.tensors:
            values[op.operands[0]] = before()
        if "z" in case.tensors:
            z._shared_counter()
        node.saved, node.version = case.save(values, z.array, z.counter, z.counter.count + ahead)
    if case.frees and modes.state.saved_hooks:
        node.saved, node.version = Packed(node, modes.state.saved_hooks[-1]), 0
    elif modes.state.tracing:
        node.place = learner_line()
        node.versions = {name: c.count for name, c in node.counters().items()} if case.reads else {}
        if ahead and "z" in case.tensors:
            node.versions["z"] += 1
    return node


def must_fit(op: Op, operands: Sequence[Tensor], needs: Sequence[bool], z: Tensor) -> bool:
    """Can a rule's gradient differ from its input in shape (a broadcast) or in type?"""
    dtype = z.array.dtype
    for x in operands:  # also of one that needs none: a rule computes with it as it is
        if x.array.dtype != dtype:
            return True
    if len(operands) == 1 or op.variadic:
        return "dtype" in op.settings  # the result may be of another type
    if op.kind != "elementwise":
        return not op.exact
    shape = z.array.shape
    return any(x.array.shape != shape for x in operands)


def prepare(op: Op, args: Sequence[Any]) -> tuple[Sequence[Tensor], list[Any]]:
    """The operands as Tensors, and as arrays of the type in which the op will compute."""
    if op.refuses:
        check_kinds(op, args)
    try:
        arrays = [a.array for a in args]
    except AttributeError:  # a number, an array, a list
        return convert(op, [a if isinstance(a, CONSTANTS) else as_tensor(a) for a in args])
    dtype = arrays[0].dtype
    for array in arrays:
        if array.dtype is not dtype:
            return convert(op, args)
    if op.result in ("float", "sum") and dtype.kind not in "fc":
        return convert(op, args)
    if op.view and not isinstance(arrays[0], np.ndarray):
        arrays = [args[0].memory()]
    return args, arrays


def check_kinds(op: Op, args: Sequence[Any]) -> None:
    """Raise if the op is not for numbers of this kind. (No truth value may be subtracted, nor from one.)"""
    found = [
        a.dtype if hasattr(a, "dtype") else dtypes.of_number(a)
        for a in args
        if not isinstance(a, (list, tuple))
    ]
    kinds = {d.kind for d in found}
    if "b" in kinds if op.name == "sub" else kinds and kinds <= set(op.refuses):
        raise wrong_kind(op.name, [dtypes.torch_name(d) for d in found])


CONSTANTS = (int, float, complex, np.generic)
NUMBERS = frozenset([int, float])
# Ops that store a number as it is, and refuse one that is too large. In the others it wraps.
STORES = frozenset("clamp clamp_min clamp_max copy index_put masked_fill scatter where".split())


def number_like(value: Any, x: Tensor) -> Any:
    """A plain number as a constant of x's type, if x is of real numbers: the usual case.

    Any other is left as it is, for `convert` to find the common type.
    """
    like = x.array
    if like.dtype.kind != "f":
        return value
    # Beside an array, NumPy computes quickest with one that has no axes.
    return make.wrap(np.array(value, like.dtype) if like.ndim else like.dtype.type(value))


def as_tensor(a: Any) -> Tensor:
    """A tensor as it is, an array as a constant. Raises TypeError for lists and what is no numbers at all."""
    if isinstance(a, make.Tensor):
        return a
    if isinstance(a, np.ndarray):
        try:
            return make.wrap(as_array(a))
        except DtypeError as error:  # an array of objects
            raise TypeError(
                f"unsupported operand type(s): 'Tensor' and 'ndarray'. {error}"
            ) from None
    raise TypeError(
        f"unsupported operand type(s): 'Tensor' and {type(a).__name__!r}. An operand must be Tensor or a number. "
        "To fix it, make a tensor of it: minigrad.tensor(...)."
    )


def convert(op: Op, args: Sequence[Any]) -> tuple[list[Tensor], list[Any]]:
    """The same, where types differ or there are plain numbers among the arguments."""
    dtype = common_dtype(op, args)
    operands, arrays = [], []
    number = dtypes.exact_number if op.name in STORES else dtypes.number
    for k, a in enumerate(args):
        if isinstance(a, CONSTANTS):
            array = number(a, dtype)
            a = make.wrap(array)
        else:
            array = a.memory() if op.view else a.array
            if array.dtype != dtype and not (op.masks and op.operands[k] in op.masks):
                array = array.astype(dtype, order_of(array))
        operands.append(a)
        arrays.append(array)
    return operands, arrays


def common_dtype(op: Op, args: Sequence[Any]) -> dtypes.Dtype:
    """The type of number in which an op computes on these operands."""
    typed = (
        args
        if not op.masks
        else [a for a, n in zip(args, op.operands, strict=True) if n not in op.masks]
    )
    with_axes = [a.array.dtype for a in typed if isinstance(a, make.Tensor) and a.array.ndim]
    without = [a.array.dtype for a in typed if isinstance(a, make.Tensor) and not a.array.ndim]
    numbers = [dtypes.of_number(a) for a in typed if not isinstance(a, make.Tensor)]
    dtype = dtypes.result_type(with_axes, without, numbers)
    if op.result == "strict" and len({*with_axes, *without}) > 1:
        names = " != ".join(map(str, (*with_axes, *without)))
        raise DtypeError(
            f"expected the operands of {op.name} to have the same dtype, but got: {names}. "
            f"To mend it, convert one, like  x.to({dtype})."
        )
    if op.result == "float" and not dtypes.is_floating(dtype):
        return dtypes.get_default_dtype()
    if op.result == "sum" and not dtypes.is_floating(dtype):
        return dtypes.int64
    return dtype
