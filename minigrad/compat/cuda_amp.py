"""The names of torch.cuda.amp. They warn that they are deprecated in favor of torch.amp."""

from collections.abc import Callable
from typing import Any

from minigrad.compat import mixed_precision
from minigrad.core import dtypes
from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import warn_user

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class CudaAutocast(mixed_precision.autocast):
    """A block in which PyTorch computes in lower precision. In minigrad it has no effect."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: DTypeLike = dtypes.float16,
        cache_enabled: bool = True,
    ) -> None:
        _deprecated("autocast", "'cuda', args...")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class CudaGradScaler(mixed_precision.GradScaler):
    """Scales losses in PyTorch. Disabled: the scale is 1."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("GradScaler", "'cuda', args...")
        settings = (init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        super().__init__("cuda", *settings)


def cuda_fwd(fwd: Callable[..., Any] | None = None, **settings: object) -> Any:
    """Marks the forward of a Function for autocast. Returns the function unchanged."""
    _deprecated("custom_fwd", "args..., device_type='cuda'")
    return mixed_precision.custom_fwd(fwd, **settings)


def cuda_bwd(bwd: Callable[..., Any]) -> Any:
    """Marks the backward of a Function for autocast. Returns the function unchanged."""
    _deprecated("custom_bwd", "args..., device_type='cuda'")
    return mixed_precision.custom_bwd(bwd)


def _deprecated(name: str, arguments: str) -> None:
    warn_user(
        f"`minigrad.cuda.amp.{name}(args...)` is deprecated. Please use `minigrad.amp.{name}({arguments})` instead.",
        FutureWarning,
    )


# PyTorch's names for these
autocast, GradScaler, custom_fwd, custom_bwd = CudaAutocast, CudaGradScaler, cuda_fwd, cuda_bwd
