"""Batch and instance normalization: normalize each channel, optionally with running statistics.

    BatchNorm      mean and standard deviation of each channel, over the whole batch
    InstanceNorm   mean and standard deviation of each channel of each example

In training, BatchNorm uses the statistics of the batch. It also keeps running statistics, as
buffers, and uses them after `eval()`.
"""

from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.methods.creation import empty, ones, tensor, zeros
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter

__all__ = ["BatchNorm1d", "BatchNorm2d", "InstanceNorm1d", "InstanceNorm2d"]


class _Affine(Module):
    """A module with a weight (initially ones) and a bias (initially zeros), or neither."""

    weight: Parameter | None
    bias: Parameter | None

    def _scale_and_shift(
        self, shape: Any, affine: bool, bias: bool, device: Any, dtype: Any
    ) -> None:
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            empty_one = empty(shape, dtype=dtype, device=device) if wanted else None
            self.register_parameter(name, None if empty_one is None else Parameter(empty_one))

    def reset_parameters(self) -> None:
        """Reset the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _Tracking(_Affine):
    """A normalization of channels, optionally with running statistics."""

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
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._scale_and_shift(num_features, affine, bias, device, dtype)
        tracked = track_running_stats
        where = {"dtype": dtype, "device": device}
        self.register_buffer("running_mean", zeros(num_features, **where) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **where) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        for buffer, start in (
            (self.running_mean, 0),
            (self.running_var, 1),
            (self.num_batches_tracked, 0),
        ):
            if buffer is not None:
                buffer.fill_(start)

    def reset_parameters(self) -> None:
        """Reset the running statistics, the weight to 1, and the bias to 0."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        key = prefix + "num_batches_tracked"
        old = (rest[0].get("version") or 0) < 2
        if old and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Tracking):
    """The base class of BatchNorm1d and BatchNorm2d."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain average of all batches so far
                momentum = 1.0 / self.num_batches_tracked.item()
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            use_batch,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """z = (x - mean) / sqrt(var + eps) * weight + bias, for each channel

    input    (n, num_features) or (n, num_features, l)
    weight   (num_features,)    initially ones
    bias     (num_features,)    initially zeros

    In training, mean and variance are those of the batch, and running_mean and running_var
    move towards them by the fraction `momentum`. In evaluation (after `eval()`), the running
    statistics are used, so the result for one example does not depend on the others.

    momentum              None: the running statistics are plain averages over all batches
    affine                whether there are weight and bias
    track_running_stats   False: always use the statistics of the batch

    In training, raises ValueError if there is only one value per channel.

    Source: Ioffe and Szegedy, Batch Normalization (2015).
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.ndim}D input)")


class BatchNorm2d(_BatchNorm):
    """BatchNorm1d for images: (n, num_features, h, w).

    >>> from minigrad import randn
    >>> z = BatchNorm2d(3)(randn(8, 3, 5, 5))
    >>> bool(z.mean().abs() < 1e-5)
    True
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim != 4:
            raise ValueError(f"expected 4D input (got {input.ndim}D input)")


class _InstanceNorm(_Tracking):
    """The base class of InstanceNorm1d and InstanceNorm2d."""

    axes: int  # the number of axes after the channels

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.ndim == self.axes + 2
        if input.shape[-self.axes - 1] != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={int(batched)} to match num_features "
                f"({self.num_features}), but got: {input.shape[-self.axes - 1]}."
            )
        x = input if batched else input.unsqueeze(0)
        use_input = self.training or not self.track_running_stats
        momentum = self.momentum or 0.0
        z = F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            use_input,
            momentum,
            self.eps,
        )
        return z if batched else z.squeeze(0)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in (self.axes + 1, self.axes + 2):
            raise ValueError(
                f"expected {self.axes + 1}D or {self.axes + 2}D input (got {input.ndim}D input)"
            )


class InstanceNorm1d(_InstanceNorm):
    """InstanceNorm2d for sequences: (n, num_features, l), or without n."""

    axes = 1


class InstanceNorm2d(_InstanceNorm):
    """z = (x - mean) / sqrt(var + eps), for each channel of each example

    input    (n, num_features, h, w), or without n

    affine                scale by weight and shift by bias, like BatchNorm
    track_running_stats   keep running statistics, and use them after `eval()`

    Source: Ulyanov, Vedaldi and Lempitsky, Instance Normalization (2016).
    """

    axes = 2
