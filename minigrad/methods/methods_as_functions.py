"""Methods as functions: minigrad.exp(x) is x.exp().

Every method is also a function, except those that `is_function` excludes. As in PyTorch, `input` is the tensor itself,
and `out=` is a tensor for the result. Functions of several tensors that are not methods are in functions.py.
Editors and mypy read methods_as_functions.pyi, which `python -m tests.stubs` writes.
"""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from minigrad.core.data import as_array
from minigrad.core.dtypes import common_dtype, number, of_number
from minigrad.core.errors import memory_error
from minigrad.core.plan import compiled
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.arguments import (
    IN_DTYPE_OF_OUT,
    REFUSED,
    check_arguments,
    into_out,
    not_a_tensor,
    takes_out,
    takes_tensors,
)
from minigrad.methods.base import Base
from minigrad.methods.sampling import Sampling as M
from minigrad.ops.composites import named

# The functions that accept a number in place of the first tensor, as in PyTorch: add(1, x).
NUMBER_FIRST = frozenset("""
    add bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bucketize div divide float_power
    floor_divide isin mul multiply pow remainder sub subtract true_divide xlogy
""".split())
# Those of them that accept two numbers: add(1.5, 2.5) is a tensor.
NUMBERS_ONLY = NUMBER_FIRST & set(
    "add div divide floor_divide mul multiply sub subtract true_divide".split()
)
# The functions that still accept the deprecated order of their arguments: addmm(beta, x, alpha, a, b).
FACTORS_FIRST = frozenset("addbmm addmm addmv addr baddbmm".split())


def function(method: Callable[..., Any], found_as: str | None = None) -> Callable[..., Any]:
    """The method as a function of `input`.

    found_as   the name under which pickle finds it in this module, if it differs from the method's name
    """
    name, compute = method.__name__.strip("_"), getattr(method, "unchecked", method)

    @functools.wraps(method)
    def called(input: Tensor, *args: object, out: Any = None, **kwargs: object) -> Any:
        of_number_first = False
        if not hasattr(input, "__apply_op__"):
            other = args[0] if args else kwargs.get("other")
            factor = name in FACTORS_FIRST and len(args) > 2
            first = name in NUMBER_FIRST and isinstance(input, (int, float, complex))
            if first and name in NUMBERS_ONLY and isinstance(other, (int, float, complex)):
                input = wrap(as_array(input))
            elif not (factor or first) or not isinstance(other, Tensor):
                raise not_a_tensor(name, "input", 1, input)
            elif first:
                input, of_number_first = wrap(_beside(name, input, other)), True
        if out is not None and name in IN_DTYPE_OF_OUT and hasattr(out, "dtype"):
            kwargs.setdefault("dtype", out.dtype)
        try:
            z = compute(input, *args, **kwargs)
        except REFUSED:
            check_arguments(compute, (input, *args), kwargs)
            raise
        except MemoryError as error:
            raise memory_error(name, (), error) from None
        if of_number_first and name in ("pow", "float_power"):
            z = named(z, "PowBackward2")
        return z if out is None else into_out(name, out, z, kwargs.get("dtype"))

    called.__name__, called.__qualname__, called.__module__ = name, found_as or name, __name__
    signature = inspect.signature(method)  # its first parameter is self
    first, *others = signature.parameters.values()
    own = [first.replace(name="input"), *others, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)]
    called.__signature__ = signature.replace(parameters=sorted(own, key=lambda p: p.kind))  # type: ignore[attr-defined]
    return called


def _beside(name: str, value: complex, x: Tensor) -> Any:
    """A plain number that a function combines with x, in the dtype of the result."""
    own = np.dtype(np.float64) if name == "float_power" else x.array.dtype
    dtype = common_dtype([own], [], [of_number(value)])
    if dtype.kind in "iu" and name in ("div", "divide", "true_divide", "xlogy"):
        return as_array(value)  # the result is a float, so the number does not wrap around
    return as_array(number(value, dtype), dtype)


def of_method(module: str, name: str, tensors: str = "A", method: str = "", **settings: object) -> Callable[..., Tensor]:
    """The method as a function with other parameters, for linalg and sparse: cross(input, other, *, dim=-1).

    module     where the function is
    tensors    the names of its tensors
    method     the name of the method, if it differs
    settings   its settings, which must be given by name, with their defaults

    >>> of_method(__name__, "mul", "x, y")(minigrad.tensor(2.0), minigrad.tensor(3.0))
    tensor(6.)
    """
    first, _, others = tensors.partition(", ")
    head = ", ".join([tensors, *["*"] * bool(settings), *[f"{k}={v!r}" for k, v in settings.items()]])
    passed = ", ".join([*[others] * bool(others), *[f"{k}={k}" for k in settings]])
    source = f"def {name}({head}):\n    return {first}.{method or name}({passed})\n"
    made: Any = compiled(f"{module}.{name}", source, {})[name]
    made.__module__ = module
    made.__annotations__ = dict.fromkeys(tensors.split(", "), Tensor) | {"return": Tensor}
    made.__doc__ = getattr(M, method or name).__doc__
    return takes_out(made)


# The methods of Base (x.float(), x.size()) are not functions, except these.
OF_BASE = "clone conj is_complex is_floating_point is_signed numel resolve_conj resolve_neg".split()
# All other methods are functions too, except these. (polygamma, split and where take different arguments as functions.)
METHODS_ONLY = """
    contiguous expand expand_as is_contiguous ndimension nelement polygamma prelu repeat reshape_as split sum_to_size
    unfold view view_as where
""".split()
# The in-place variants that are functions in PyTorch.
IN_PLACE = """
    abs_ acos_ acosh_ arccos_ arcsin_ arctan_ asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_
    clip_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ index_put_ lcm_
    ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ round_
    rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
""".split()


def is_function(name: str) -> bool:
    """True if the method with this name is also a function."""
    if name[0] == "_" or not isinstance(getattr(M, name), FunctionType):
        return False
    if name[-1] == "_":
        return name in IN_PLACE
    return name in OF_BASE or not (hasattr(Base, name) or name in METHODS_ONLY)


FUNCTIONS = {name: function(getattr(M, name), name) for name in dir(M) if is_function(name)}
globals().update(FUNCTIONS)
__all__ = [*FUNCTIONS, "detach", "fill", "polygamma", "real"]


@function
def real(self: Tensor) -> Tensor:
    """The real part. For real numbers, this is the tensor itself.

    >>> minigrad.real(minigrad.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    return self.real


# ------------------------------------------------------------------------ functions with their own arguments


@takes_out
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma, which is itself the derivative of lgamma.

    >>> minigrad.polygamma(1, minigrad.tensor(1.0))
    tensor(1.6449)
    """
    return input.polygamma(n)


@takes_tensors
def fill(input: Tensor, value: Any) -> Tensor:
    """A copy of the input with this value everywhere.

    >>> minigrad.fill(minigrad.zeros(2), 7.0)
    tensor([7., 7.])
    """
    return input.clone().fill_(value)


detach = function(Tensor.detach)
