"""Prepares operands: arguments that are not tensors become constants, and dtypes are promoted.

    1 + x       a number gets the tensor's dtype
    i + x       for an integer tensor and a floating-point tensor, the integers are converted
    i.exp()     some functions convert integers to floating point; the op's row says which

Read dtypes.py first, which has the promotion rules.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core import dtypes
from minigrad.core.data import as_array
from minigrad.core.errors import DtypeError, wrong_kind
from minigrad.core.memory import Tensor, make
from minigrad.core.op import Op
from minigrad.core.shapes import order_of

CONSTANTS = (int, float, complex, np.generic)


def prepare(op: Op, args: Sequence[Any]) -> tuple[Sequence[Tensor], list[Any]]:
    """The operands as Tensors, and as arrays of the dtype in which the op will compute."""
    if op.refuses:
        check_kinds(op, args)
    try:
        arrays = [a.array for a in args]
    except AttributeError:  # a number, an array, a list
        return convert(op, [a if isinstance(a, CONSTANTS) else _as_tensor(a) for a in args])
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
    """Raise if the op does not support operands of this kind.

    No operand of a subtraction may be boolean, and none may be complex where complex numbers are refused.
    """
    found = [
        a.dtype if hasattr(a, "dtype") else dtypes.of_number(a)
        for a in args
        if hasattr(a, "dtype") or isinstance(a, CONSTANTS)
    ]
    kinds = {d.kind for d in found}
    if op.name == "sub":
        refused = "b" in kinds
    else:  # what is no operand at all, such as a list, has an error of its own
        refused = bool(kinds) and len(found) == len(args) and kinds <= set(op.refuses)
    if refused or "c" in kinds and "c" in op.refuses:
        raise wrong_kind(op.name, [dtypes.torch_name(d) for d in found])


NUMBERS = frozenset([int, float])
FITS = {4: 1 << 31, 8: 1 << 63}  # bytes of an integer -> numbers smaller than this fit
# Ops that store a number, and refuse one that is too large. In other ops it wraps around.
STORES = frozenset("clamp clamp_min clamp_max copy index_put masked_fill scatter where".split())


def number_like(value: Any, x: Tensor) -> Any:
    """Turn a plain number into a constant of x's dtype, in the common case where x's dtype can hold it.

    Otherwise return it unchanged; `convert` will then find the common dtype.
    """
    like = x.array
    if like.dtype.kind != "f" and not (
        value.__class__ is int
        and like.dtype.kind == "i"
        and FITS.get(like.dtype.itemsize, 0) > abs(value)
    ):
        return value
    # Together with an array, NumPy is fastest with a 0-d array.
    return make.wrap(np.array(value, like.dtype) if like.ndim else like.dtype.type(value))


def _as_tensor(a: object) -> Tensor:
    """A tensor unchanged, an array as a constant. Raises TypeError for lists and anything without numbers."""
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
    """Like `prepare`, for operands of different dtypes or plain numbers among them."""
    dtype = computing_dtype(op, args)
    operands, arrays = [], []
    number = dtypes.exact_number if op.name in STORES else dtypes.number
    for k, a in enumerate(args):
        if isinstance(a, CONSTANTS):
            array = number(a, dtype)
            a = make.wrap(array)
        else:
            array = a.memory() if op.view else a.array
            if array.dtype != dtype and not op.is_mask(k):
                array = array.astype(dtype, order_of(array))
        operands.append(a)
        arrays.append(array)
    return operands, arrays


def computing_dtype(op: Op, args: Sequence[Any]) -> dtypes.Dtype:
    """The dtype in which an op computes on these operands."""
    typed = [a for k, a in enumerate(args) if not op.is_mask(k)] if op.masks else args
    with_axes = [a.array.dtype for a in typed if isinstance(a, make.Tensor) and a.array.ndim]
    without = [a.array.dtype for a in typed if isinstance(a, make.Tensor) and not a.array.ndim]
    numbers = [dtypes.of_number(a) for a in typed if not isinstance(a, make.Tensor)]
    dtype = dtypes.common_dtype(with_axes, without, numbers)
    if op.result == "strict" and len({*with_axes, *without}) > 1:
        names = " != ".join(map(str, (*with_axes, *without)))
        raise DtypeError(
            f"expected the operands of {op.name} to have the same dtype, but got: {names}. "
            f"To fix it, convert one, like  x.to({dtype})."
        )
    if op.result in ("float", "sum") and not dtypes.is_floating(dtype):
        return dtypes.get_default_dtype() if op.result == "float" else dtypes.int64
    return dtype
