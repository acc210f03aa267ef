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
from minigrad.core.memory import NUMBER, Tensor, make, new
from minigrad.core.op import Op
from minigrad.core.shapes import order_of

SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floor_divide": "//", "remainder": "%", "pow": "** or pow()",
    "matmul": "@", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
CONSTANTS = (int, float, complex, np.generic)


def prepare(op: Op, args: Sequence[Any]) -> tuple[Sequence[Tensor], list[Any]]:
    """The operands as Tensors, and as arrays in the dtype that the op computes in."""
    if op.refuses:
        check_kinds(op, args)
    try:
        arrays = [a.array for a in args]
    except AttributeError:  # a number, an array, a list
        operands = [a if isinstance(a, CONSTANTS) else _as_tensor(a, op, args) for a in args]
        return convert(op, operands, any(isinstance(a, np.ndarray) for a in args))
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
    """Raise an error if the op does not support operands of this kind.

    A subtraction refuses any boolean operand. Other ops refuse booleans and integers only if all
    operands are of refused kinds.
    """
    found = [
        a.dtype if hasattr(a, "dtype") else dtypes.of_number(a)
        for a in args
        if hasattr(a, "dtype") or isinstance(a, CONSTANTS)
    ]
    kinds = {d.kind for d in found}
    if op.name == "sub":
        refused = "b" in kinds
    else:  # an invalid operand, such as a list, has its own error
        refused = bool(kinds) and len(found) == len(args) and kinds <= set(op.refuses)
    if refused or "c" in kinds and "c" in op.refuses:
        raise wrong_kind(op.name, [dtypes.torch_name(d) for d in found])


NUMBERS = frozenset([int, float])
REALS = frozenset(  # settings of ops that users give as real numbers
    "alpha beta correction delta eps max_val min_val negative_slope p rcond scale threshold value".split()
)


def plain_number(value: Any, name: str) -> Any:
    """A setting that is a NumPy number as Python's, so that it does not affect the dtype of the result.

    Raises TypeError for a tensor that requires a gradient, since none would reach it.
    """
    if isinstance(value, make.Tensor) and value.requires_grad:
        raise TypeError(
            f"argument {name!r} must be Number, not Tensor: it requires a gradient, and none would reach it."
        )
    return value.item() if isinstance(value, np.generic) else value


FITS = {4: 1 << 31, 8: 1 << 63}  # bytes of an integer dtype -> numbers below this fit
# Ops that store a number, and refuse one that is too large. In all other ops it wraps around.
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
    z = new(make.Tensor)
    # If the other operand is an array, NumPy is fastest with a 0-d array.
    z.array = np.array(value, like.dtype) if like.ndim else like.dtype.type(value)
    z.counter, z.node = NUMBER, None
    return z


def _as_tensor(a: object, op: Op, args: Sequence[Any]) -> Tensor:
    """An operand as a Tensor; an array becomes a constant. Raises TypeError for other types."""
    if isinstance(a, make.Tensor):
        return a
    if isinstance(a, np.ndarray):
        try:
            a = np.asarray(a, a.dtype.newbyteorder("="))
            reversed_axis = min(a.strides, default=0) < 0  # no tensor can have its memory
            return make.wrap(as_array(a.copy() if reversed_axis else a))
        except DtypeError as error:  # an array of objects
            raise TypeError(
                f"unsupported operand type(s): 'Tensor' and 'ndarray'. {error}"
            ) from None
    kinds, sign = " and ".join(repr(type(a).__name__) for a in args), SIGNS.get(op.name, op.name)
    what = f"unsupported operand type(s) for {sign}: {kinds}"
    if sign[0] in "<>":
        what = f"{sign!r} not supported between instances of {kinds}"
    raise TypeError(
        f"{what}. An operand must be a Tensor or a number. To fix it, make it a tensor: minigrad.tensor(...)."
    ) from None


_MIXED = {  # op -> PyTorch's message for operands of different dtypes
    "addmv": "addmv input tensors must have the same dtype, but got {0}, {1}, and {2}",
    "baddbmm": "Input dtypes must be the same, got: input {0}, batch1: {1}, batch2: {2}",
    "dot": "dot : expected both vectors to have same dtype, but found {0} and {1}",
    "linalg_solve": "linalg.solve: Expected A and B to have the same dtype, "
    "but found A of type {0} and B of type {1} instead",
}


def _mixed_message(name: str, names: list[str]) -> str:
    """PyTorch's message for an op whose operands must have the same dtype."""
    first, last = names[0], names[-1]
    other = next(n for n in names if n != first)
    if name in _MIXED:
        return _MIXED[name].format(*names)
    if name in ("mm", "matmul"):
        return f"expected m1 and m2 to have the same dtype, but got: {' != '.join(names).lower()}"
    if name == "addmm":
        which, its = ("mat1", names[1]) if first == last else ("self", first)
        return f"{which} and mat2 must have the same dtype, but got {its} and {last}"
    if name == "lerp":
        word = "end" if names[1] == other else "weight"
        return f"expected dtype {first.lower()} for `{word}` but got dtype {other.lower()}"
    if name == "convolution" and first != last:
        return f"Input type ({first.lower()}) and bias type ({last.lower()}) should be the same"
    return f"expected scalar type {first} but found {other}, in {name}"


def convert(
    op: Op, args: Sequence[Any], beside_an_array: bool = False
) -> tuple[list[Tensor], list[Any]]:
    """Like `prepare`, for operands of different dtypes or with plain numbers among them."""
    dtype = computing_dtype(op, args, beside_an_array)
    operands, arrays = [], []
    number = dtypes.exact_number if op.name in STORES else dtypes.number
    for k, a in enumerate(args):
        if isinstance(a, CONSTANTS):
            array = number(a, dtype)
            a = make.tensor(array, NUMBER, None)
        else:
            array = a.memory() if op.view else a.array
            if array.dtype != dtype and not op.is_mask(k):
                array = array.astype(dtype, order_of(array))
        operands.append(a)
        arrays.append(array)
    return operands, arrays


def computing_dtype(op: Op, args: Sequence[Any], beside_an_array: bool) -> dtypes.Dtype:
    """The dtype that an op computes in, for these operands.

    beside_an_array   one of them is an array of NumPy's, as in  x @ array: dtypes may differ, as in NumPy
    """
    typed = [a for k, a in enumerate(args) if not op.is_mask(k)] if op.masks else args
    with_axes = [a.array.dtype for a in typed if isinstance(a, make.Tensor) and a.array.ndim]
    without = [a.array.dtype for a in typed if isinstance(a, make.Tensor) and not a.array.ndim]
    numbers = [dtypes.of_number(a) for a in typed if not isinstance(a, make.Tensor)]
    dtype = dtypes.common_dtype(with_axes, without, numbers)
    # lerp converts a weight that is a number.
    alike = typed[:2] if op.name == "lerp" and not getattr(typed[2], "ndim", 0) else typed
    kinds = {a.array.dtype for a in alike if isinstance(a, make.Tensor)}
    if op.result == "strict" and len(kinds) > 1 and not beside_an_array:
        names = [dtypes.torch_name(d) for d in (*with_axes, *without)]
        raise DtypeError(
            f"{_mixed_message(op.name, names)}. To fix it, convert one, like  x.to({dtypes.of_array(dtype)})."
        )
    if op.result in ("float", "sum") and not dtypes.is_floating(dtype):
        return (dtypes.get_default_dtype() if op.result == "float" else dtypes.int64).dtype
    return dtype
