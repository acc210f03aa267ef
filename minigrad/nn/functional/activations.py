"""Activations: elementwise functions, and softmax.

Most are made from the rows of ops/: F.elu(input, alpha=1.0, inplace=False) is the row `elu` of ops/neural.py. They
have the name, the settings and the help() text of the row. The setting `axis` is `dim` here, as in PyTorch, and may be
negative. The others are composed of several ops.

`inplace=True` overwrites the input with the result, and so does F.elu_(input, alpha=1.0).

Editors and mypy read the stub of nn.functional, which `python -m tests.stubs` writes.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.dtypes import DTypeLike, torch_name
from minigrad.core.errors import warn_user
from minigrad.core.modes import seen, with_name
from minigrad.core.op import REQUIRED, Op
from minigrad.core.plan import compiled
from minigrad.core.shapes import normalize_one
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.base import overwritten
from minigrad.nn.fields import parameters_of
from minigrad.nn.functional.arguments import applied, floats_only
from minigrad.ops.composites import named
from minigrad.random import kernels

# ------------------------------------------------------------------------ from rows

FUNCTIONS = (
    ops.gelu, ops.glu, ops.hardshrink, ops.logsigmoid, ops.sigmoid, ops.softplus, ops.softshrink, ops.tanh,
)  # fmt: skip
WITH_INPLACE = (
    ops.elu, ops.hardsigmoid, ops.hardswish, ops.hardtanh, ops.leaky_relu, ops.mish, ops.relu, ops.silu,
    ops.threshold,
)  # fmt: skip
IN_PLACE = (ops.elu, ops.hardtanh, ops.leaky_relu, ops.relu, ops.threshold)  # as F.elu_
# Settings of a row that only other functions pass (selu and celu).
OTHERS_SET = {ops.elu: ("scale",)}


def _check_limits(_: Tensor, min_val: float, max_val: float) -> None:
    """Raise an error unless the limits of hardtanh are in order."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")


def _check_shift(input: Tensor, lambd: float) -> None:
    """Raise an error for a lambd of softshrink that is negative, or not a number of the input's dtype."""
    largest = float(np.finfo(input.dtype).max) if input.dtype.kind == "f" else math.inf
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {torch_name(input.dtype)}, but found {lambd:g}"
        )


CHECKS = {ops.hardtanh: _check_limits, ops.softshrink: _check_shift}


def _function_of(op: Op, name: str, inplace: bool = False) -> Any:
    """The function of this name. If it ends in _, it works in place; with `inplace`, this is a parameter."""
    settings = {k: v for k, v in op.settings.items() if k not in OTHERS_SET.get(op, ())}
    public = {("dim" if k == "axis" else k): v for k, v in settings.items()}
    passed = [
        f"{k}={k}" if k != "axis" else "axis=normalize_one(dim, input.ndim)" for k in settings
    ]
    flag = "inplace" if inplace else str(name.endswith("_"))
    source = f"def {name}({', '.join(['input', *parameters_of(public), *['inplace=False'] * inplace])}):\n"
    if op in CHECKS:
        source += f"    check({', '.join(['input', *public])})\n"
    if flag != "True":  # the usual case, with one call less
        source += "    if not inplace: " if inplace else "    "
        source += f"return ops.{op.name}.apply({', '.join(['input', *passed])})\n"
    if flag != "False":
        source += f"    return applied({', '.join([f'ops.{op.name}', 'input', flag, *passed])})\n"
    scope: dict[str, Any] = {
        "applied": applied,
        "check": CHECKS.get(op),
        "normalize_one": normalize_one,
        "ops": ops,
    }
    f: Any = compiled(f"nn.functional.{name}", source, scope)[name]
    types = {k: float if v is REQUIRED else type(v) for k, v in public.items()}
    types |= {"inplace": bool} if inplace else {}
    f.__annotations__ = {"input": Tensor, **types, "return": Tensor}
    f.__module__, f.__doc__ = __name__, inspect.cleandoc(op.__doc__ or "")
    if name.endswith("_"):
        f.__doc__ = f"{op.name}, in place.\n\n{f.__doc__}"
    return f


MADE = {op.name: _function_of(op, op.name) for op in FUNCTIONS}
MADE |= {op.name: _function_of(op, op.name, inplace=True) for op in WITH_INPLACE}
MADE |= {f"{op.name}_": _function_of(op, f"{op.name}_") for op in IN_PLACE}
globals().update(MADE)

# ------------------------------------------------------------------------ of several ops


def _composite(f: Callable[[Tensor], Tensor], x: Tensor, inplace: bool, name: str) -> Tensor:
    """f(x), for a function of several ops that is a single node with this name in PyTorch."""
    if inplace:
        return overwritten(x, f(x.clone()), f"{name}Backward{int(name != 'Mish')}")
    return named(f(x), f"{name}Backward0")


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)"""
    return applied(ops.hardtanh, input, inplace, min_val=0.0, max_val=6.0)


def selu_(input: Tensor) -> Tensor:
    """selu, in place."""
    return selu(input, True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """celu, in place."""
    return celu(input, alpha, True)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, else weight * x: a leaky_relu with a learned slope.

    weight   one number for all entries, or one for each channel (the second axis)

    Source: He et al., Delving Deep into Rectifiers (2015).

    >>> prelu(minigrad.tensor([-2.0, 3.0]), minigrad.tensor([0.5]))
    tensor([-1.,  3.])
    """
    return input.prelu(weight)


def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """leaky_relu with a random slope for each entry in training, between lower and upper.

    In evaluation, the slope is (lower + upper) / 2.

    Source: Xu et al., Empirical Evaluation of Rectified Activations (2015).

    >>> rrelu(minigrad.tensor([-2.0, 3.0]), lower=0.25, upper=0.75)
    tensor([-1.,  3.])
    """
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return applied(ops.leaky_relu, input, inplace, negative_slope=(lower + upper) / 2)
    slope = np.ones(input.shape, input.dtype)
    negative = seen(input) <= 0  # a slope is drawn only for these entries
    slope[negative] = kernels.uniform((negative.sum(),), np.dtype(float), lower, upper, None)
    return _composite(
        lambda x: x * with_name("slope", wrap(slope)), input, inplace, "RreluWithNoise"
    )


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu, scaled so that activations keep mean 0 and variance 1 from layer to layer.

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017).

    >>> selu(minigrad.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return applied(ops.elu, input, inplace, alpha=alpha, scale=scale)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha * (exp(x / alpha) - 1)

    >>> celu(minigrad.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    if alpha <= 0:
        raise RuntimeError(f"ZeroDivisionError: celu: alpha must be greater than 0, but is {alpha}")
    floats_only("celu", input)
    if alpha == 1 and not inplace:
        return named(ops.elu.apply(input), "CeluBackward0")
    return _composite(lambda x: ops.elu.apply(x / alpha, scale=alpha), input, inplace, "Celu")


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)"""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)"""
    return input - input.tanh()


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike = None
) -> Tensor:
    """exp(x) / sum of exp(x) along dim: positive numbers that sum to 1.

    >>> import minigrad
    >>> softmax(minigrad.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return input.softmax(_dim_of(input, dim, "softmax"), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike = None
) -> Tensor:
    """log(softmax(x)), computed in one step so that large scores do not overflow"""
    return input.log_softmax(_dim_of(input, dim, "log_softmax"), dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike = None
) -> Tensor:
    """softmax(-x)"""
    return (-input).softmax(_dim_of(input, dim, "softmin"), dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A differentiable sample from a categorical distribution: softmax of (logits + Gumbel noise) / tau.

    hard   return a one-hot vector, with the gradient of the soft sample (straight-through)

    Source: Jang, Gu and Poole, Categorical Reparameterization with Gumbel-Softmax (2017).
    """
    if eps != 1e-10:
        warn_user("`eps` parameter is deprecated and has no effect.")
    noise = -np.log(kernels.exponential(logits.shape, logits.dtype, 1, None))
    soft = ((logits + with_name("noise", wrap(noise))) / tau).softmax(dim)
    if not hard:
        return soft
    best = soft.argmax(dim, keepdim=True)
    chosen = soft.new_zeros(soft.shape).scatter(dim, best, 1.0)
    return chosen - soft.detach() + soft


def _dim_of(input: Tensor, dim: int | None, name: str) -> int:
    """The axis. Without one, the axis that PyTorch chooses, with a warning."""
    if dim is not None:
        return dim
    warn_user(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
    )
    return 0 if input.ndim in (0, 1, 3) else 1
