"""Activations: elementwise functions, and softmax.

If the table has an op for a function, the function applies it. The others are composed of
several ops. `inplace=True` overwrites the input with the result. If the derivative rule needs
the old entries, they are copied first.
"""

import math
from collections.abc import Callable

import numpy as np

from minigrad import ops
from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import warn_user
from minigrad.core.modes import with_name
from minigrad.core.op import Op
from minigrad.core.shapes import normalize_one
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.arguments import not_a_tensor
from minigrad.methods.base import overwritten
from minigrad.ops.composites import named
from minigrad.random import kernels


def _activation(op: Op, x: Tensor, inplace: bool, **settings: object) -> Tensor:
    """The op applied to x. In place, x is copied first if the op's rule needs the old x."""
    if not hasattr(x, "__apply_op__"):
        raise not_a_tensor(op.name, "input", 1, x)
    if not inplace:
        return op.apply(x, **settings)
    before = getattr(x, "node", None)
    z: Tensor = op.apply_(x, **settings)
    if op.name not in ("elu", "leaky_relu", "threshold") or getattr(z, "node", None) is before:
        return z
    return named(z, op.node_name.replace("0", "1"), op)


def _composite(f: Callable[[Tensor], Tensor], x: Tensor, inplace: bool, name: str) -> Tensor:
    """f(x), for a function of several ops that is a single node with this name in PyTorch."""
    if inplace:
        return overwritten(x, f(x.clone()), f"{name}Backward{int(name != 'Mish')}")
    return named(f(x), f"{name}Backward0")


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)

    >>> import minigrad
    >>> relu(minigrad.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _activation(ops.relu, input, inplace)


def relu_(input: Tensor) -> Tensor:
    """relu, in place."""
    return input.relu_()


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)"""
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where x > 0, else negative_slope * x"""
    return _activation(ops.leaky_relu, input, inplace, negative_slope=negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """leaky_relu, in place."""
    return leaky_relu(input, negative_slope, True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """elu, in place."""
    return elu(input, alpha, True)


def selu_(input: Tensor) -> Tensor:
    """selu, in place."""
    return selu(input, True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """celu, in place."""
    return celu(input, alpha, True)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha * (exp(x) - 1)

    Source: Clevert et al., Exponential Linear Units (2016).
    """
    return _activation(ops.elu, input, inplace, alpha=alpha)


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

    >>> rrelu(minigrad.tensor([-2.0, 3.0]), lower=0.25, upper=0.75)
    tensor([-1.,  3.])
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope = np.ones(input.shape, input.dtype)
    negative = input.array <= 0  # a slope is drawn only for these entries
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
    return _activation(ops.elu, input, inplace, alpha=alpha, scale=scale)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha * (exp(x / alpha) - 1)

    >>> celu(minigrad.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    if alpha <= 0:
        raise RuntimeError(f"ZeroDivisionError: celu: alpha must be greater than 0, but is {alpha}")
    return _composite(lambda x: ops.elu.apply(x / alpha, scale=alpha), input, inplace, "Celu")


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x * Phi(x), where Phi is the CDF of the standard normal distribution.

    approximate   "none": use the error function; "tanh": use an approximation

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units (2016).
    """
    if approximate == "tanh":
        inner = (input + input * input * input * 0.044715) * math.sqrt(2 / math.pi)
        return named(input * 0.5 * (inner.tanh() + 1), "GeluBackward0")
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return ops.gelu.apply(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x), also known as swish"""
    return _activation(ops.silu, input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))"""
    return _activation(ops.mish, input, inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold"""
    return ops.softplus.apply(input, beta=beta, threshold=threshold)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """hardtanh, in place."""
    return hardtanh(input, min_val, max_val, True)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x clamped to the range from min_val to max_val"""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _activation(ops.hardtanh, input, inplace, min_val=min_val, max_val=max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """x / 6 + 1 / 2, clamped to the range from 0 to 1"""
    return _activation(ops.hardsigmoid, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)"""
    return _activation(ops.hardswish, input, inplace)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, but 0 where |x| <= lambd"""
    return input.hardshrink(lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x shifted by lambd toward 0, and 0 where |x| <= lambd"""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return named(input - hardtanh(input, -lambd, lambd), "SoftshrinkBackward0")


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)"""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)"""
    return input - input.tanh()


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow"""
    return ops.logsigmoid.apply(input)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))"""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """tanh(x)"""
    return input.tanh()


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else value

    >>> threshold(minigrad.tensor([0.5, 3.0]), threshold=1.0, value=20.0)
    tensor([20.,  3.])
    """
    return _activation(ops.threshold, input, inplace, threshold=threshold, value=value)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """threshold, in place."""
    return _activation(ops.threshold, input, True, threshold=threshold, value=value)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along dim, times the sigmoid of the second"""
    shape = input.array.shape
    if not shape:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    axis = normalize_one(dim, len(shape))
    if shape[axis] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {shape[axis]}"
        )
    return ops.glu.apply(input, axis=axis)


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
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
    )
    return 0 if input.ndim in (0, 1, 3) else 1
