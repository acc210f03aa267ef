"""PyTorch's private functions on lists of tensors: _foreach_add_(params, grads, alpha=-0.1).

PyTorch's optimizers use them to start one kernel for all parameters, and so do optimizers that
others publish. Here each is a loop over the method of the same name.

    _foreach_mul(tensors, 2.0)         a number, or a tensor of one number, applies to all of them
    _foreach_mul(tensors, others)      a list has one entry for each tensor
    _foreach_mul_(tensors, others)     writes to the tensors

Left out: _foreach_mm and _foreach_powsum.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minigrad import linalg
from minigrad.core.tensor import Tensor

IN_PLACE_TOO = (
    "abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp expm1 floor "
    "frac lerp lgamma log log10 log1p log2 maximum minimum mul neg pow reciprocal round rsqrt sigmoid sign "
    "sin sinh sqrt sub tan tanh trunc"
)
# The functions whose arguments differ from those of the method with the same name.
ONE_BY_ONE: dict[str, Callable[..., Any]] = {
    "addcdiv": lambda x, a, b, value=1: x.addcdiv(a, b, value=value),
    "addcdiv_": lambda x, a, b, value=1: x.addcdiv_(a, b, value=value),
    "addcmul": lambda x, a, b, value=1: x.addcmul(a, b, value=value),
    "addcmul_": lambda x, a, b, value=1: x.addcmul_(a, b, value=value),
    "maximum": lambda x, y: x.clamp_min(y),
    "maximum_": lambda x, y: x.clamp_min_(y),
    "minimum": lambda x, y: x.clamp_max(y),
    "minimum_": lambda x, y: x.clamp_max_(y),
    "norm": lambda x, order=2, dtype=None: linalg.vector_norm(x, order, dtype=dtype),
}
AS_IN_THE_METHOD = ("alpha", "dtype", "non_blocking", "value")


def _foreach(name: str) -> Callable[..., Any]:
    """The function that calls the method of this name on each tensor of a list."""

    def function(tensors: Any, *args: Any, **settings: Any) -> Any:
        named = {key: settings.pop(key) for key in AS_IN_THE_METHOD if key in settings}
        others = [*args, *settings.values()]  # exponent=, other=, scalars=, weight= have places
        if name == "pow" and isinstance(tensors, int | float):
            return tuple(tensors**exponent for exponent in others[0])
        if not isinstance(tensors, list | tuple):
            raise TypeError(
                f"_foreach_{name}(): argument 'self' must be a tuple or list of Tensors, not "
                f"{type(tensors).__name__}."
            )
        if len(tensors) == 0:
            raise RuntimeError("Tensor list must have at least one tensor.")
        shares = [_shares(x, len(tensors)) for x in others]
        shared = {key: _shares(x, len(tensors)) for key, x in named.items()}
        call = ONE_BY_ONE.get(name) or getattr(Tensor, name)
        results = [
            call(x, *(s[k] for s in shares), **{key: s[k] for key, s in shared.items()})
            for k, x in enumerate(tensors)
        ]
        return results if name.endswith("_") else tuple(results)

    function.__name__ = function.__qualname__ = f"_foreach_{name}"
    return function


def _shares(x: Any, n: int) -> Sequence[Any]:
    """The argument for each of n tensors: its entry of a list, or the whole argument."""
    if isinstance(x, Tensor) and x.ndim == 1:  # the numbers for addcmul and addcdiv
        x = x.tolist()
    if not isinstance(x, list | tuple):
        return [x] * n
    if len(x) != n:
        raise RuntimeError(
            f"Tensor lists must have the same number of tensors, got {n} and {len(x)}"
        )
    return x


FUNCTIONS = {
    f"_foreach_{name}": _foreach(name)
    for name in [
        *IN_PLACE_TOO.split(),
        *(f"{name}_" for name in IN_PLACE_TOO.split()),
        *("clone", "copy_", "max", "norm", "zero_"),
    ]
}
globals().update(FUNCTIONS)
