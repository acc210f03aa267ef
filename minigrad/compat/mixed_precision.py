"""autocast and GradScaler, as they are where there is no GPU: switched off.

There is no bfloat16 and no GPU here. PyTorch switches both off, with a warning, when a program asks for a
GPU that is not there; the program then computes in full precision. So does this.
"""

import warnings
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

from minigrad.core.dtypes import DTypeLike
from minigrad.core.tensor import Tensor

__all__ = ["GradScaler", "autocast"]


class autocast(ContextDecorator):
    """A block in which PyTorch computes in lower precision. Here it changes nothing.

    device_type    "cuda", which is not there; "cpu" would mean bfloat16, which is left out
    enabled        False makes it a plain block

    Raises NotImplementedError for "cpu" with `enabled`.

    >>> import minigrad
    >>> with autocast("cpu", enabled=False):
    ...     minigrad.ones(2)
    tensor([1., 1.])
    """

    def __init__(
        self,
        device_type: Any = "cuda",
        dtype: DTypeLike = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if isinstance(device_type, bool):  # cuda.amp.autocast(enabled)
            device_type, enabled = "cuda", device_type
        if enabled and device_type == "cpu":
            raise NotImplementedError(
                'autocast("cpu") computes in bfloat16, which NumPy does not have. To fix it, leave it out, or '
                "write  enabled=False. PYTORCH.md lists what else is left out."
            )
        if enabled:
            _warn(
                f"User provided device_type of {device_type!r}, but CUDA is not available. Disabling"
            )

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
    """Scales losses so that gradients in half precision do not vanish. Switched off: the scale is 1.

    >>> import minigrad
    >>> scaler = GradScaler("cuda", enabled=False)
    >>> scaler.scale(minigrad.tensor(3.0))
    tensor(3.)
    """

    def __init__(
        self, device: str = "cuda", *settings: object, enabled: bool = True, **more: object
    ) -> None:
        if enabled:
            _warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")

    def scale(self, outputs: Tensor) -> Tensor:
        """The outputs as they are."""
        return outputs

    def unscale_(self, optimizer: object) -> None:
        """Nothing to do: gradients are not scaled."""

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimizer's step."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: object = None) -> None:
        """Nothing to do: the scale stays 1."""

    def get_scale(self) -> float:
        """1.0"""
        return 1.0

    def is_enabled(self) -> bool:
        """False."""
        return False

    def state_dict(self) -> dict[str, Any]:
        """Empty."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing to load."""


def custom_fwd(fwd: Callable[..., Any] | None = None, **settings: object) -> Any:
    """Marks the forward of a Function for autocast: the function as it is."""
    return fwd if fwd is not None else (lambda decorated: decorated)


custom_bwd = custom_fwd


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=3)
