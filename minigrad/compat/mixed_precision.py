"""autocast and GradScaler, which are always disabled.

minigrad has neither a GPU nor bfloat16. If a program asks for a GPU and there is none, PyTorch disables
both with a warning, and the program computes in full precision. minigrad does the same.
"""

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import warn_user
from minigrad.core.tensor import Tensor

__all__ = ["GradScaler", "autocast"]


class autocast(ContextDecorator):
    """A block in which PyTorch computes in lower precision. In minigrad it has no effect.

    device_type    "cuda", with a warning; "cpu" would need bfloat16, which is left out
    enabled        False: no warning and no error

    Raises NotImplementedError for "cpu" with `enabled`.

    >>> import minigrad
    >>> with autocast("cpu", enabled=False):
    ...     minigrad.ones(2)
    tensor([1., 1.])
    """

    def __init__(
        self,
        device_type: str,
        dtype: DTypeLike = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if enabled and device_type == "cpu":
            raise NotImplementedError(
                'autocast("cpu") computes in bfloat16, which NumPy does not have. To fix it, remove autocast, '
                "or pass enabled=False. PYTORCH.md lists what else is left out."
            )
        if enabled and device_type == "cuda":
            warn_user("CUDA is not available or torch_xla is imported. Disabling autocast.")

    def __enter__(self) -> "autocast":
        return self

    def __exit__(self, *raised: object) -> None:
        pass


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """False: see `autocast`.

    >>> is_autocast_enabled()
    False
    """
    return False


class GradScaler:
    """Scales losses so that half-precision gradients do not underflow. Disabled: the scale is 1.

    >>> import minigrad
    >>> scaler = GradScaler("cuda", enabled=False)
    >>> scaler.scale(minigrad.tensor(3.0))
    tensor(3.)
    """

    def __init__(
        self, device: str = "cuda", *settings: object, enabled: bool = True, **more: object
    ) -> None:
        if enabled:
            warn_user(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
            )

    def scale(self, outputs: Tensor) -> Tensor:
        """Returns the outputs unchanged."""
        return outputs

    def unscale_(self, optimizer: object) -> None:
        """No effect: gradients are not scaled."""

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls optimizer.step()."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: object = None) -> None:
        """No effect: the scale stays 1."""

    def get_scale(self) -> float:
        """1.0"""
        return 1.0

    def is_enabled(self) -> bool:
        """False."""
        return False

    def state_dict(self) -> dict[str, Any]:
        """An empty dict."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """No effect."""


def custom_fwd(fwd: Callable[..., Any] | None = None, **settings: object) -> Any:
    """Marks the forward of a Function for autocast. Returns the function unchanged."""
    return fwd if fwd is not None else (lambda decorated: decorated)


custom_bwd = custom_fwd
