"""Normalization: subtract a mean, divide by a standard deviation, then scale and shift.

The four functions differ only in what they average over, for an input (n, c, ...):

    batch_norm      for each channel, over the batch and all positions
    instance_norm   for each channel of each example, over all positions
    group_norm      for each group of channels of each example, over the group and all positions
    layer_norm      for each position, over the last axes
"""

import math
from collections.abc import Sequence

import numpy as np

from minigrad import ops
from minigrad.core.modes import seen
from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor
from minigrad.nn.functional.arguments import floats_only
from minigrad.nn.functional.images import pad
from minigrad.ops.composites import named


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize over the last axes: subtract the mean, divide by the standard deviation, then scale and shift.

    Source: Ba, Kiros and Hinton, Layer Normalization (2016).

    >>> layer_norm(minigrad.tensor([[1.0, 3.0], [5.0, 9.0]]), (2,)).round(decimals=3)
    tensor([[-1.,  1.],
            [-1.,  1.]])
    """
    axes = _last_axes(input, normalized_shape, weight, bias)
    z: Tensor = ops.standardize.apply(input, axis=axes, eps=eps)
    return named(_scaled(z, input, weight, bias), "NativeLayerNormBackward0")


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Normalize over the last axes: divide by the root mean square, then scale.

    Source: Zhang and Sennrich, Root Mean Square Layer Normalization (2019).

    >>> rms_norm(minigrad.tensor([[3.0, 4.0]]), (2,)).round(decimals=3)
    tensor([[0.8490, 1.1310]])
    """
    floats_only("rms_norm", input)
    same = None if weight is None else weight.to(input.dtype)
    axes = _last_axes(input, normalized_shape, same, None)
    x = input.float() if input.dtype == np.float16 else input  # squares may overflow
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    z = x * (x.square().mean(axes, keepdim=True) + eps).rsqrt()
    return (z if weight is None else z * weight).to(input.dtype)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Each entry divided by (k + alpha * mean of the squares in `size` neighboring channels)**beta.

    input    (n, c, ...)

    Source: Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep
    Convolutional Neural Networks (2012).
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    if size <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got size={size}")
    squares = pad(input.square().movedim(1, -1), (size // 2, (size - 1) // 2))
    mean_square = squares.unfold(-1, size, 1).mean(-1).movedim(-1, 1)
    return input / (mean_square * alpha + k) ** beta


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel over the batch: subtract the mean, divide by the standard deviation.

    In training, mean and variance are computed from the batch, and the running statistics move toward
    them by `momentum` (with the unbiased variance). Otherwise the running statistics are used.

    Source: Ioffe and Szegedy, Batch Normalization (2015).

    >>> batch_norm(minigrad.tensor([[1.0], [3.0]]), None, None, training=True).round(decimals=3)
    tensor([[-1.],
            [ 1.]])
    """
    sizes, ndim = input.array.shape, input.array.ndim
    if training and ndim > 1:
        _check_more_than_one_value(sizes[:1] + sizes[2:], input)
    _check_channels(
        input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    if (running_mean is None) != (running_var is None):
        raise ValueError(
            "running_mean and running_var must either both be None or neither be None."
        )
    shape, axes = (1, -1, *(1,) * (ndim - 2)), (0, *range(2, ndim))
    if training:
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
        if running_mean is not None and running_var is not None and input.array.size:
            _update_running(running_mean, ops.mean.forward(seen(input), axis=axes), momentum)
            _update_running(running_var, ops.var.forward(seen(input), axis=axes), momentum)
        z: Tensor = ops.standardize.apply(input, axis=axes, eps=eps)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "running_mean must be defined in evaluation mode, and running_var too."
            )
        if eps < 0:
            raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
        mean, var = (ops.view.apply(x, shape=shape) for x in (running_mean, running_var))
        z = (input - mean) / (var + eps).sqrt()
    z = _scaled(z, input, weight, bias, shape)
    return named(z.contiguous(), "NativeBatchNormBackward0")


def _update_running(running: Tensor, of_batch: Array, momentum: float) -> None:
    """Move a running statistic toward the statistic of the batch, in place."""
    running.array[...] += momentum * (of_batch - running.array)


def _check_channels(input: Tensor, **parameters: Tensor | None) -> None:
    """Raise an error unless each parameter has one entry per channel and the dtype of the input."""
    channels = input.array.shape[1] if input.array.ndim > 1 else 0
    for name, parameter in parameters.items():
        if parameter is None:
            continue
        if parameter.array.size != channels:
            raise RuntimeError(
                f"{name} should contain {channels} elements not {parameter.numel()}: the input is "
                f"{tuple(input.shape)}, with the channels along axis 1."
            )
        _same_dtype(input, parameter)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of each example: subtract the mean, divide by the standard deviation.

    The running statistics, if given, move by `momentum` toward the statistics of the examples,
    averaged over the batch. With use_input_stats=False, the running statistics are used instead.

    >>> instance_norm(minigrad.tensor([[[1.0, 3.0], [5.0, 9.0]]])).round(decimals=3)
    tensor([[[-1.,  1.],
             [-1.,  1.]]])
    """
    if not use_input_stats:
        mean, var = (x if x is None else x.to(input.dtype) for x in (running_mean, running_var))
        return batch_norm(input, mean, var, weight, bias, False, momentum, eps)
    if math.prod(input.array.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )
    axes = tuple(range(2, input.ndim))
    if running_mean is not None:
        _update_running(running_mean, seen(input).mean(axes).mean(0), momentum)
    if running_var is not None:
        _update_running(running_var, seen(input).var(axes, ddof=1).mean(0), momentum)
    return named(group_norm(input, input.array.shape[1] or 1, weight, bias, eps), "ViewBackward0")


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each group of channels of each example: subtract the mean, divide by the standard deviation.

    >>> group_norm(minigrad.tensor([[1.0, 3.0, 5.0, 9.0]]), 2).round(decimals=3)
    tensor([[-1.,  1., -1.,  1.]])
    """
    shape = input.array.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    n, c = shape[:2]
    if c % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    _check_more_than_one_value((n, c // num_groups, *shape[2:]), input)
    grouped = ops.reshape.apply(input, shape=(n, num_groups, math.prod(shape[1:]) // num_groups))
    z: Tensor = ops.standardize.apply(grouped, axis=(2,), eps=eps)
    z = ops.unsafe_view.apply(z, shape=shape)
    wanted = "a vector of size equal to the number of channels in input"
    _check_affine(input, weight, bias, (c,), wanted, "input of shape", shape)
    z = _scaled(z, input, weight, bias, (1, c, *(1,) * (len(shape) - 2)))
    return named(z, "NativeGroupNormBackward0")


def _check_more_than_one_value(sizes: Sequence[int], input: Tensor) -> None:
    """Raise ValueError if there is only one value per channel: the result would always be 0."""
    if math.prod(sizes) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}. "
            "To fix it, use a larger batch (DataLoader(drop_last=True)), or call eval() on the module first."
        )


def _check_affine(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...], wanted: str,
    given: str, given_shape: tuple[int, ...],
) -> None:  # fmt: skip
    """Raise an error unless weight and bias have this shape and the dtype of the input."""
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is None:
            continue
        if parameter.array.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be {wanted}, but got {name} of shape {list(parameter.shape)} and "
                f"{given} {list(given_shape)}"
            )
        _same_dtype(input, parameter)


def _scaled(
    z: Tensor,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    shape: tuple[int, ...] = (),
) -> Tensor:
    """z * weight + bias in the dtype of the input. With a shape that broadcasts to z, they are viewed with it."""
    if len(shape) > 2:
        weight, bias = (x if x is None else ops.view.apply(x, shape=shape) for x in (weight, bias))
    if weight is not None and bias is not None:
        z = ops.scale_and_shift.apply(z, weight, bias)
    elif weight is not None:
        z = z * weight
    elif bias is not None:
        z = z + bias
    return z if z.array.dtype == input.array.dtype else z.to(input.dtype)


def _same_dtype(input: Tensor, parameter: Tensor) -> None:
    """Raise an error unless the parameter has the dtype of the input (or float32, for float16 input)."""
    if parameter.array.dtype == input.array.dtype:
        return
    floats_only("norm", input)
    if input.dtype != np.float16 or parameter.dtype != np.float32:
        raise RuntimeError(
            "mixed dtype (CPU): all inputs must share same datatype, that is, expect parameter to have scalar type "
            f"of the input: the input is {input.dtype} and the parameter {parameter.dtype}. To fix it, convert "
            "one, like  layer.double()  or  x.float()."
        )


def _last_axes(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None
) -> tuple[int, ...]:
    """The last axes, after checking that their sizes, weight and bias match normalized_shape."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    k = len(shape)
    if not k:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
            "got normalized_shape = []"
        )
    ndim = input.array.ndim
    if input.array.shape[ndim - k :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size{list(input.shape)}"
        )
    wanted = "of same shape as normalized_shape"
    _check_affine(input, weight, bias, shape, wanted, "normalized_shape =", shape)
    return tuple(range(ndim - k, ndim))
