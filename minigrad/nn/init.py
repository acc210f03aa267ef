"""Initialization: the values of the weights before training.

If all weights were equal, all units of a layer would learn the same thing, so weights are
random. Their scale is chosen to keep the size of activations and gradients the same from layer
to layer. A sum of fan_in terms of variance v has variance fan_in * v. So the weights get
variance 1 / fan_in (times gain**2, to compensate for the activation, which shrinks its input), or
1 / fan_out for the backward pass.

    kaiming_*   variance gain**2 / fan_in        (or fan_out)
    xavier_*    variance gain**2 / mean of fan_in and fan_out

Each function overwrites the given tensor, without recording, and returns it.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from minigrad.core import modes
from minigrad.core.errors import warn_user
from minigrad.core.tensor import Tensor, wrap
from minigrad.random import kernels
from minigrad.random.generator import Generator

LINEAR = ("linear", "conv1d", "conv2d", "conv3d",
          "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")  # fmt: skip
GAINS = dict.fromkeys((*LINEAR, "sigmoid"), 1) | {
    "tanh": 5 / 3,
    "relu": math.sqrt(2),
    "selu": 3 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which to scale weights to compensate for the activation after them.

    param   the slope of leaky_relu

    >>> calculate_gain("relu") ** 2      # relu sets half of its inputs to 0
    2.0000000000000004
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """A tuple (fan_in, fan_out): the number of inputs per output of a layer, and of outputs per input.

    tensor   (out, in, ...), like the weight of Linear and of the convolutions
    """
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes_ = ["fan_in", "fan_out"]
    if mode.lower() not in modes_:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes_}")
    return _calculate_fan_in_and_fan_out(tensor)[modes_.index(mode.lower())]


# ------------------------------------------------------------------------ simple initializers


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with samples from the uniform distribution between a and b."""
    with modes.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with samples from the normal distribution."""
    with modes.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a constant.

    >>> import minigrad
    >>> constant_(minigrad.empty(2), 3.0)
    tensor([3., 3.])
    """
    with modes.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix, so that a linear layer returns its input."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with modes.no_grad():
        return tensor.copy_(wrap(np.eye(*tensor.shape, dtype=tensor.dtype)))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill so that a convolution returns its input: kernel k has a 1 at the center of channel k, else zeros."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    out = tensor.shape[0] // groups
    values = np.zeros(tensor.shape, tensor.dtype)
    middle = tuple(n // 2 for n in tensor.shape[2:])
    for k in range(tensor.shape[0]):
        if k % out < tensor.shape[1]:  # each group starts with channel 0 again
            values[(k, k % out, *middle)] = 1
    with modes.no_grad():
        return tensor.copy_(wrap(values))


# ------------------------------------------------------------------------ based on fan_in and fan_out


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform samples between -a and a, where a = gain * sqrt(6 / (fan_in + fan_out)).

    The variance is a**2 / 3 = gain**2 * 2 / (fan_in + fan_out).

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward
    neural networks (2010).
    """
    a = math.sqrt(3) * gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with samples from the normal distribution, with std = gain * sqrt(2 / (fan_in + fan_out)).

    Source: Glorot and Bengio (2010), see xavier_uniform_.
    """
    std = gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warn_user("Initializing zero-element tensors is a no-op")
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with uniform samples between -b and b, where b = gain * sqrt(3 / fan).

    a              the slope, if the nonlinearity is leaky_relu
    mode           "fan_in" preserves the size of activations in the forward pass; "fan_out"
                   preserves the size of gradients in the backward pass
    nonlinearity   the activation after the layer, which determines the gain

    Source: He et al., Delving Deep into Rectifiers (2015).
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3) * std  # a uniform distribution on (-b, b) has std b / sqrt(3)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with samples from the normal distribution, with std = gain / sqrt(fan); see kaiming_uniform_."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


# ------------------------------------------------------------------------ others


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with samples from the normal distribution, truncated to the range from a to b.

    Samples outside the range are rejected and sampled again. If most would be rejected, it samples
    uniformly between a and b instead, and accepts each with a probability proportional to the
    density. As in PyTorch, each round samples all entries, even those already accepted.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_user(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )
    cdf = [(1 + math.erf((x - mean) / std / math.sqrt(2))) / 2 for x in (a, b)]
    mostly_inside = cdf[1] - cdf[0] > 0.3
    top = max(a, min(mean, b))  # the mode of the truncated distribution
    shape, dtype = tuple(tensor.shape), tensor.dtype
    low, high = dtype.type(a), dtype.type(b)
    values = np.zeros(shape, dtype)
    pending = np.ones(shape, bool)  # entries without an accepted sample
    while pending.any():
        if mostly_inside:
            x = kernels.normals(shape, dtype, mean, std, generator)
            keep = (x >= low) & (x <= high)
        else:
            x = kernels.uniform(shape, dtype, a, b, generator)
            log_acceptance = ((top - mean) / std) ** 2 / 2 - ((x - mean) / std) ** 2 / 2
            keep = np.log(kernels.uniform(shape, dtype, 0, 1, generator)) <= log_acceptance
        values[pending & keep] = x[pending & keep]
        pending &= ~keep
    with modes.no_grad():
        return tensor.copy_(wrap(values))


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with orthogonal rows of norm `gain` (or columns, if there are more rows than columns), so
    that the layer preserves the norm of vectors, up to the factor `gain`.

    All directions are equally likely. The result is Q from the QR decomposition of a random
    matrix, with its columns multiplied by the signs of R's diagonal.

    Source: Saxe et al., Exact solutions to the nonlinear dynamics of learning (2013).
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    flat = kernels.normals((rows, tensor.numel() // rows), tensor.dtype, 0, 1, generator)
    wide = flat.shape[0] < flat.shape[1]
    q, r = np.linalg.qr(flat.T if wide else flat)
    q = q * np.where(np.diag(r) < 0, -1, 1)
    with modes.no_grad():
        values = gain * (q.T if wide else q).reshape(tensor.shape)
        return tensor.copy_(wrap(values.astype(tensor.dtype)))


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Fill with samples from the normal distribution, with the fraction `sparsity` of each column set to 0.

    Source: Martens, Deep learning via Hessian-free optimization (2010).
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with modes.no_grad():
        tensor.normal_(0, std, generator=generator)
        for j in range(columns):  # PyTorch samples the rows with the default generator
            tensor[wrap(kernels.permutation(rows, None)[:zeros]), j] = 0
    return tensor


# ------------------------------------------------------------------------ older names


F = TypeVar("F", bound=Callable[..., Any])


def deprecated(function: F, place: str = "nn.init") -> F:
    """The function under its old name, without the underscore. It warns that the name is deprecated."""
    new = function.__name__

    @functools.wraps(function)
    def older(*args: object, **kwargs: object) -> Any:
        name = f"{place}.{new}"
        warn_user(f"`{name[:-1]}` is now deprecated in favor of `{name}`.", FutureWarning)
        return function(*args, **kwargs)

    older.__name__ = older.__qualname__ = new[:-1]
    older.__doc__ = f"The deprecated name of {new}."
    return older  # type: ignore[return-value]


uniform, normal, constant, eye = [deprecated(f) for f in (uniform_, normal_, constant_, eye_)]
dirac, orthogonal, sparse = [deprecated(f) for f in (dirac_, orthogonal_, sparse_)]
xavier_uniform, xavier_normal = deprecated(xavier_uniform_), deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = deprecated(kaiming_uniform_), deprecated(kaiming_normal_)

# Initializers of published programs, which follow PyTorch's own, fill tensors by these.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_
