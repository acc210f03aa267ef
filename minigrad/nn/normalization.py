"""Normalization: subtract the mean, divide by the standard deviation, scale and shift.

    BatchNorm           statistics of each channel, over the whole batch
    InstanceNorm        statistics of each channel of each example
    LayerNorm           statistics of each example, over the last axes
    GroupNorm           statistics of each group of channels of each example
    RMSNorm             like LayerNorm, but without subtracting the mean

This gives mean 0 and standard deviation 1, whatever the layers before do. With `weight` and
`bias`, the layer can learn another mean and standard deviation.

In training, BatchNorm uses the statistics of the batch. It also keeps running statistics, as
buffers, and uses them after `eval()`. The results of LayerNorm, GroupNorm and RMSNorm do not
depend on other examples, so they are the same in training and evaluation.
"""

from typing import Any

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import warn_user
from minigrad.core.shapes import Several, Shape
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import ones, tensor, zeros
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.linear import add_parameters
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter


def as_shape(sizes: Several) -> tuple[int, ...]:
    """3 -> (3,): the sizes of one axis or several, as a tuple."""
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


class _Affine(Module):
    """A module with a weight (initially ones) and a bias (initially zeros), or neither."""

    weight: Parameter | None
    bias: Parameter | None

    def _scale_and_shift(
        self, shape: Shape, affine: bool, bias: bool, device: DeviceLike, dtype: DTypeLike
    ) -> None:
        weight = shape if affine else None
        add_parameters(self, device, dtype, weight=weight, bias=weight if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _NormBase(_Affine):
    """A normalization of channels, optionally with running statistics."""

    _shown = ("num_features", "eps=", "momentum=", "affine=", "bias=", "track_running_stats=")

    ndims: tuple[int, ...]  # the allowed numbers of axes of the input

    _version = 2  # since version 2, a state has num_batches_tracked

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        mean = zeros(num_features, dtype=dtype, device=device)
        buffers = {
            "running_mean": mean,
            "running_var": ones(num_features, dtype=dtype, device=device),
            "num_batches_tracked": tensor(0),
        }
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer if track_running_stats else None)
        self._scale_and_shift(mean.shape, affine, bias, device, dtype)

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        for buffer in (self.running_mean, self.running_var, self.num_batches_tracked):
            if buffer is not None:
                buffer.fill_(1 if buffer is self.running_var else 0)

    def reset_parameters(self) -> None:
        """Reset the running statistics, the weight to 1, and the bias to 0."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self.ndims:
            wanted = " or ".join(f"{n}D" for n in self.ndims)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        key = prefix + "num_batches_tracked"
        old = (rest[0].get("version") or 0) < 2
        if old and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, *rest)


class _BatchNorm(_NormBase):
    """The base class of BatchNorm1d and BatchNorm2d."""

    def forward(self, input: Tensor) -> Tensor:
        """(n, num_features, ...) to the same shape."""
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the cumulative average of all batches so far
                momentum = 1.0 / self.num_batches_tracked.item()
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        running = (self.running_mean, self.running_var) if keep else (None, None)
        return F.batch_norm(input, *running, self.weight, self.bias, use_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """z = (x - mean) / sqrt(var + eps) * weight + bias, for each channel

    input    (n, num_features) or (n, num_features, l)
    weight   (num_features,)    initially ones
    bias     (num_features,)    initially zeros

    In training, mean and variance are computed from the batch, and running_mean and running_var
    move toward them by the fraction `momentum`. In evaluation (after `eval()`), the running
    statistics are used, so the result for one example does not depend on the others.

    momentum              None: the running statistics are cumulative averages over all batches
    affine                whether there are weight and bias
    track_running_stats   False: always use the statistics of the batch

    In training, raises ValueError if there is only one value per channel.

    Source: Ioffe and Szegedy, Batch Normalization (2015).
    """

    ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """BatchNorm1d for images: (n, num_features, h, w).

    >>> from minigrad import randn
    >>> z = BatchNorm2d(3)(randn(8, 3, 5, 5))
    >>> bool(z.mean().abs() < 1e-5)
    True
    """

    ndims = (4,)


class _InstanceNorm(_NormBase):
    """The base class of InstanceNorm1d and InstanceNorm2d."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _get_no_batch_dim(self) -> int:
        return min(self.ndims)

    def forward(self, input: Tensor) -> Tensor:
        """(n, num_features, ...) to the same shape."""
        self._check_input_dim(input)
        batched = input.ndim != self._get_no_batch_dim()
        channels = input.shape[int(batched)]
        if channels != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={int(batched)} to match num_features "
                f"({self.num_features}), but got: {channels}."
            )
        if channels != self.num_features:
            warn_user(
                f"input's size at dim={int(batched)} does not match num_features, which is not used because "
                "affine=False."
            )
        x = input if batched else input.unsqueeze(0)
        use_input = self.training or not self.track_running_stats
        momentum = self.momentum or 0.0
        z = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                            use_input, momentum, self.eps)  # fmt: skip
        return z if batched else z.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """InstanceNorm2d for sequences: (n, num_features, l), or without n."""

    ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """z = (x - mean) / sqrt(var + eps), for each channel of each example

    input    (n, num_features, h, w), or without n

    affine                scale by weight and shift by bias, like BatchNorm
    track_running_stats   keep running statistics, and use them after `eval()`

    Source: Ulyanov, Vedaldi and Lempitsky, Instance Normalization (2016).
    """

    ndims = (3, 4)


# ------------------------------------------------------------------------ statistics of each example


class LayerNorm(_Affine):
    """z = (x - mean) / sqrt(var + eps) * weight + bias, over the last axes of each example

    input    (..., *normalized_shape)
    weight   normalized_shape    initially ones
    bias     normalized_shape    initially zeros

    elementwise_affine   whether there are weight and bias

    Source: Ba, Kiros and Hinton, Layer Normalization (2016).
    """

    _shown = ("normalized_shape", "eps=", "elementwise_affine=", "bias=")

    def __init__(
        self,
        normalized_shape: Several,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._scale_and_shift(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """(..., *normalized_shape) to the same shape."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(_Affine):
    """z = (x - mean) / sqrt(var + eps) * weight + bias, over groups of channels of each example

    input    (n, num_channels, ...)
    weight   (num_channels,)    initially ones
    bias     (num_channels,)    initially zeros

    Source: Wu and He, Group Normalization (2018).
    """

    _shown = ("num_groups", "num_channels", "eps=", "affine=", "bias=")

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self._scale_and_shift((num_channels,), affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """(n, num_channels, ...) to the same shape."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class RMSNorm(_Affine):
    """z = x / sqrt(mean of x**2 + eps) * weight, over the last axes of each example

    input    (..., *normalized_shape)
    weight   normalized_shape    initially ones

    eps      None: the machine epsilon of the input's dtype

    Source: Zhang and Sennrich, Root Mean Square Layer Normalization (2019).
    """

    _shown = ("normalized_shape", "eps=", "elementwise_affine=")

    def __init__(
        self,
        normalized_shape: Several,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._scale_and_shift(self.normalized_shape, elementwise_affine, False, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """(..., *normalized_shape) to the same shape."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
