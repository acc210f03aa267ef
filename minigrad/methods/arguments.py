"""Argument handling that all functions share: checks for tensors and numbers, and `out=`.

    takes_tensors    makes a function raise a helpful TypeError for an argument that is no tensor, or no number
    takes_out        adds `out=`, a tensor for the result, to a function of tensors
    made_into_out    adds `out=` to a function that creates a tensor

Functions use their tensors (`x.ndim`, `x.array`) without checking them first, because a check takes
as long as a small op. The arguments are checked only after the function has failed.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, UnionType
from typing import Any, Self, TypeVar, cast, get_args

import numpy as np

from minigrad.core import modes
from minigrad.core.dtypes import as_dtype, bool_, can_cast, dtype, int64, torch_name, uint8
from minigrad.core.errors import memory_error, warn_user
from minigrad.methods.base import Base

OF_ONE_DTYPE = {  # the dtypes that `out` can have (all, if none is listed), and PyTorch's error message
    "bernoulli": ((), ""),
    "all": ((bool_, uint8), "all only supports bool tensor for result"),
    "any": ((bool_, uint8), "any only supports bool tensor for result"),
    "isposinf": ((bool_,), "isposinf does not support non-boolean outputs"),
    "isneginf": ((bool_,), "isneginf does not support non-boolean outputs"),
    "signbit": ((bool_,), "signbit does not support non-boolean outputs"),
    "nonzero": ((int64,), "nonzero: Expected out tensor to have scalar type Long"),
}
# Functions that do not convert their result: `out` must have its dtype.
OF_THE_SAME_DTYPE = frozenset(
    """addmm addmv amax amin aminmax argmax argmin baddbmm bitwise_not bmm bucketize ceil clamp clamp_max clamp_min clip cummax
    cummin diag dot fix float_power floor gather hardshrink heaviside histc index_select inner isin kthvalue lerp log_softmax logcumsumexp
    masked_select matmul median mm mode msort multi_dot mv nan_to_num nanmedian nanquantile neg negative norm quantile round
    scatter scatter_add searchsorted sgn sign slice_scatter softmax sort take take_along_dim tensordot topk tril triu trunc
    vdot where""".split()
)
# What PyTorch says about an `out` of another dtype, where these say something else.
OTHER_WORDS = dict.fromkeys(("cummax", "cummin", "logcumsumexp"), "expected scalar_type {want} but found {got} in out")
OTHER_WORDS["multi_dot"] = "multi_dot(): expected out tensor to have dtype {want} but got {got}"
OTHER_WORDS["mode"] = "expected scalar type {want} but got {got} for values, or for indices"
OTHER_WORDS |= dict.fromkeys(("quantile", "nanquantile"), "quantile() out tensor must be same dtype as the input tensor, {want}, but it is {got}")
JOINED = frozenset("cat concat concatenate stack hstack vstack dstack column_stack row_stack".split())
IN_DTYPE_OF_OUT = frozenset("sum nansum prod cumsum cumprod".split())  # they compute in the dtype of `out`
SEQUENCES = ("arange", "linspace", "logspace", "range")  # with out=, they fill a tensor of any shape, in order
F = TypeVar("F", bound=Callable[..., Any])  # a function
R = TypeVar("R")  # what it returns


def not_a_tensor(function: str, parameter: str, position: int, value: object) -> TypeError:
    """The error for an argument that must be a tensor, with PyTorch's phrase.

    >>> not_a_tensor("linear", "input", 1, [1.0, 2.0]).args[0].partition(".")[0]
    "linear(): argument 'input' (position 1) must be Tensor, not list"
    """
    if value is None:
        fix = f"{parameter} is None: if it is the result of a function (such as a module's forward), does it end with a return?"
    elif hasattr(value, "forward"):
        fix = f"This is a module, not its result. To fix it, call it on a tensor: {type(value).__name__}(...)(x)."
    elif fields := getattr(value, "_fields", ()):
        fix = f"It holds {' and '.join(fields)}. To fix it, choose one: .{fields[0]}."
    else:
        fix = f"To fix it, make one with minigrad.tensor({parameter if hasattr(value, '__len__') else '...'})."
    return TypeError(
        f"{function}(): argument '{parameter}' (position {position}) must be Tensor, not {named_type(value)}. {fix}"
    )


def list_of_parameters(parameters: Any) -> list[Any]:
    """Parameters, or groups of them, as a list. Raises TypeError for a module, or for its method `parameters`.

    >>> list_of_parameters(iter([1, 2]))
    [1, 2]
    """
    try:
        entries = iter(parameters)
    except TypeError as error:
        fix = ""
        if callable(getattr(parameters, "parameters", None)):
            fix = ". To fix it, pass its parameters: model.parameters()."
        elif getattr(parameters, "__name__", "") == "parameters":
            fix = ". To fix it, call it: model.parameters()."
        raise TypeError(f"{error}{fix}") from None
    return list(entries)


def named_type(value: object) -> str:
    """The name of a value's type, as in PyTorch's error messages.

    >>> named_type(np.ones(2)), named_type(2), named_type(None)
    ('numpy.ndarray', 'int', 'NoneType')
    """
    kind = type(value)
    if kind.__module__.partition(".")[0] in ("builtins", "minigrad"):
        return kind.__name__
    return f"{kind.__module__}.{kind.__name__}"


REFUSED = (AttributeError, TypeError, ValueError, IndexError, RuntimeError)  # what a wrong argument may cause deep in a function


def check_arguments(function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object], first: int = 1) -> None:
    """Raise TypeError for the first argument that is annotated as a tensor or a number but is something else.

    first    the number of the first argument in messages: 0 if it is the tensor whose method is called
    """
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return
    for position, (name, value) in enumerate(given.items(), first):
        parameter = signature.parameters[name]
        may_be_none = parameter.default is None or type(None) in get_args(parameter.annotation)
        if name == "self" or (value is None and may_be_none):
            continue
        if _is_number(parameter.annotation) and _is_no_number(value, parameter.annotation):
            kind = getattr(parameter.annotation, "__name__", "Number")
            raise TypeError(f"{function.__name__.strip('_')}(): argument '{name}' (position {position}) must be {kind}, not {named_type(value)}.")
        if not _is_tensor(parameter.annotation):
            continue
        several = value if parameter.kind is parameter.VAR_POSITIONAL else (value,)
        for k, one in enumerate(several):
            if not hasattr(one, "__apply_op__"):
                raise not_a_tensor(function.__name__.strip("_"), name, position + k, one)


def _is_number(annotation: Any) -> bool:
    """True if the annotation means a number: int, `float | None`, or `float | Tensor`."""
    kinds = {k for k in _kinds(annotation) if not _is_tensor(k)}
    return bool(kinds) and kinds <= {bool, int, float, complex}


def _is_no_number(value: Any, annotation: Any) -> bool:
    """True for None, text, a list, and (unless the annotation allows tensors) a tensor of several numbers."""
    if isinstance(value, Base):
        return value.numel() != 1 and not any(map(_is_tensor, _kinds(annotation)))
    return value is None or isinstance(value, (str, list, tuple, dict))


def _is_tensor(annotation: Any) -> bool:
    """True if the annotation means a tensor: Tensor, Self, a type variable bound to tensors, or `Tensor | None`."""
    return all(k is Self or isinstance(k, TypeVar) or (isinstance(k, type) and issubclass(k, Base)) for k in _kinds(annotation))


def _kinds(annotation: Any) -> list[Any]:
    """The members of a union, without None; of anything else, itself."""
    return [k for k in get_args(annotation) if k is not type(None)] if isinstance(annotation, UnionType) else [annotation]


def takes_tensors(function: F, first: int = 1) -> F:
    """Make the function raise a TypeError for an argument that should be a tensor or a number and is not.

    Otherwise, the error would be about an attribute that the argument lacks. Worse, a function that only
    calls ops would silently take an array and return an array, and record nothing.
    """

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            z = function(*args, **kwargs)
        except REFUSED:
            check_arguments(function, args, kwargs, first)
            raise
        except MemoryError as error:
            raise memory_error(function.__name__, (), error) from None
        if z.__class__ is np.ndarray:
            check_arguments(function, args, kwargs, first)
        return z

    called.unchecked = function  # type: ignore[attr-defined]
    return called  # type: ignore[return-value]


def check_methods(cls: type, numbers: bool = False) -> None:
    """Apply `takes_tensors` to all methods of a class that take other tensors, or, with `numbers`, numbers."""
    for name, method in list(vars(cls).items()):
        kinds = [kind for p, kind in getattr(method, "__annotations__", {}).items() if p != "return"]
        if isinstance(method, FunctionType) and any(_is_tensor(k) or (numbers and _is_number(k)) for k in kinds):
            setattr(cls, name, takes_tensors(method, first=0))


# ------------------------------------------------------------------------ out=


def takes_out(compute: Callable[..., R]) -> Callable[..., R]:
    """Add PyTorch's `out=`, the tensor for the result, to a function of tensors."""
    checked = takes_tensors(compute)

    @functools.wraps(compute)
    def called(*args: object, out: Any = None, **settings: Any) -> R:
        z = checked(*args, **settings)
        return z if out is None else cast(R, into_out(compute.__name__, out, z, settings.get("dtype")))

    return called


def made_into_out(make: Callable[..., R]) -> Callable[..., R]:
    """Add PyTorch's `out=`, the tensor to fill, to a function that creates a tensor (zeros, rand)."""

    @functools.wraps(make)
    def called(*args: object, out: Any = None, **settings: Any) -> R:
        if out is None:
            try:
                return make(*args, **settings)
            except (MemoryError, ValueError) as error:
                if isinstance(error, ValueError) and "Maximum allowed" not in str(error):
                    raise
                raise memory_error(make.__name__, (), error) from None
        if settings.setdefault("dtype", out.dtype) is not None and settings["dtype"] != out.dtype:
            given = torch_name(as_dtype(settings["dtype"]))
            raise RuntimeError(f"dtype {given} does not match dtype of out parameter ({torch_name(out.dtype)}).")
        z: Any = make(*args, **settings)
        if make.__name__ in SEQUENCES and out.numel() == z.numel():
            z = z.view(out.shape)
        return cast(R, into_out(make.__name__, out, z))

    return called


def into_out(name: str, out: Any, z: Any, dtype: object = None) -> Any:
    """Write the result z of a function (a tensor or a tuple of tensors) into the argument `out`.

    If the function was given a dtype, `out` must have it.
    """
    if not isinstance(z, tuple):
        allowed, phrase = OF_ONE_DTYPE.get(name, ((), ""))
        if allowed and getattr(out, "dtype", None) not in allowed:
            raise RuntimeError(f"{phrase}, got: {torch_name(out.dtype) if hasattr(out, 'dtype') else named_type(out)}")
        return _write_out(name, out, z, exact=dtype is not None)
    if not isinstance(out, (tuple, list)) or len(out) != len(z):
        raise TypeError(f"{name}(): argument 'out' must be tuple of {len(z)} Tensors.")
    tensors = [_write_out(name, a, b, exact=name in ("max", "min", "frexp") or (k > 0 and b.dtype.kind == "i")) for k, (a, b) in enumerate(zip(out, z, strict=True))]
    return type(z)(*tensors) if hasattr(z, "_fields") else tuple(tensors)


def _write_out(name: str, out: Any, z: Any, exact: bool) -> Any:
    """Write z into the tensor given as `out=`, which with `exact` must have its dtype, and return that tensor."""
    if not hasattr(out, "__apply_op__"):
        raise TypeError(f"argument 'out' must be Tensor, not {named_type(out)}.")
    if modes.state.recording and (z.requires_grad or out.requires_grad):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if modes.state.levels and (z._tangents is not None or out._tangents is not None):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function. "
            f"To fix it, write  z = {name}(...)."
        )
    if out.dtype != z.dtype:
        _check_dtype_of_out(name, out.dtype, z.dtype, exact)
    if out.shape != z.shape:
        if out.numel():
            warn_user(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which "
                f"does not match the required output shape {list(z.shape)}. This behavior is deprecated, and in a future "
                "PyTorch release outputs will not be resized unless they have zero elements. To fix it, pass a tensor of "
                "that shape, or an empty one."
            )
        out.data = out.new_empty(z.shape)
    return out.copy_(z)


def _check_dtype_of_out(name: str, out: dtype, z: dtype, exact: bool) -> None:
    """Raise RuntimeError if a result of dtype z can't be written to an `out` of this dtype."""
    want, got = torch_name(z), torch_name(out)
    if exact or name in OF_THE_SAME_DTYPE:
        if name in OTHER_WORDS:
            raise RuntimeError(OTHER_WORDS[name].format(want=want, got=got))
        raise RuntimeError(f"Expected out tensor to have dtype {want}, but got {got} instead: Found dtype {got} but expected {want}")
    if name in OF_ONE_DTYPE or can_cast(z, out):
        return
    if name in JOINED:
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {got}")
    raise RuntimeError(f"result type {want} can't be cast to the desired output type {got}")
