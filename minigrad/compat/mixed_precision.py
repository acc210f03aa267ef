"""autocast, which is always disabled, and GradScaler, which scales on the CPU as in PyTorch.

minigrad has neither a GPU nor bfloat16. If a program asks for a GPU and there is none, PyTorch disables
both with a warning, and the program computes in full precision. minigrad does the same.
"""

from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from typing import Any

from minigrad.core import dtypes, limits
from minigrad.core.devices import device
from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import warn_user
from minigrad.core.modes import no_grad
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import full

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
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        device(device_type)  # raises an error for a name that is none
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
    """Scales losses so that half-precision gradients do not underflow.

    device             "cuda": disabled with a warning; anything else: enabled
    init_scale         the first scale
    growth_factor      the scale is multiplied by it after `growth_interval` steps in succession with
                       finite gradients
    backoff_factor     the scale is multiplied by it after a step whose gradients are not finite;
                       that step is skipped
    enabled            False: the scale is 1, and `step` only calls optimizer.step

    >>> import minigrad
    >>> scaler = GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(minigrad.tensor(3.0))
    tensor(24.)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled and device != "cuda"
        if enabled and device == "cuda":
            warn_user(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
            )
        if self._enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if self._enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._finite_steps = init_scale, 0
        self._scale: Tensor | None = None  # made by the first `scale`
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._forget_steps()

    def _forget_steps(self) -> None:
        # for the id of each optimizer since the latest update: are its gradients finite?
        self._finite: dict[int, bool] = {}
        self._stepped: set[int] = set()  # the optimizers that had their step

    def scale(self, outputs: Any) -> Any:
        """outputs * scale, for a tensor or an iterable of tensors."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = full((), self._init_scale, dtype=dtypes.float32)
            return outputs * self._scale
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        kind: Any = type(outputs)
        return kind(scaled) if isinstance(outputs, list | tuple) else scaled

    def _scale_for(self, caller: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {caller} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, for clipping before `step`."""
        if not self._enabled:
            return
        scale = self._scale_for("unscale_")
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._finite:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        params = (p for group in optimizer.param_groups for p in group["params"])
        grads = [p.grad for p in params if p.grad is not None]
        if any(grad.dtype == dtypes.float16 for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        inverse = 1.0 / scale.item()
        if grads:
            self._finite[id(optimizer)] = all(grad.isfinite().all().item() for grad in grads)
        with no_grad():
            for grad in grads:
                grad.mul_(inverse)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients, unless that is done, and call optimizer.step() if they are finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._scale_for("step")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._finite:
            self.unscale_(optimizer)
        if id(optimizer) not in self._finite:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        loss = optimizer.step(*args, **kwargs) if self._finite[id(optimizer)] else None
        self._stepped.add(id(optimizer))
        return loss

    def update(self, new_scale: Any = None) -> None:
        """Reduce the scale if a step was skipped, or increase it after enough finite steps; or set it."""
        if not self._enabled:
            return
        scale = self._scale_for("update")
        if isinstance(new_scale, Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                "torch.FloatTensor with requires_grad=False."
            )
        if new_scale is not None:
            scale.fill_(float(new_scale))
        elif not self._finite:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif not all(self._finite.values()):
            scale.fill_(scale.item() * self._backoff_factor)
            self._finite_steps = 0
        else:
            self._finite_steps += 1
            if self._finite_steps == self._growth_interval:
                self._finite_steps = 0
                if scale.item() * self._growth_factor <= limits.finfo(scale.dtype).max:
                    scale.fill_(scale.item() * self._growth_factor)
        self._forget_steps()

    def get_scale(self) -> float:
        """The scale; 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def _get_growth_tracker(self) -> int:  # PyTorch's name, which programs print
        return self._finite_steps

    def is_enabled(self) -> bool:
        """Is it enabled?"""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale, the settings, and the number of finite steps in succession; {} if disabled."""
        if not self._enabled:
            return {}
        settings = ("growth_factor", "backoff_factor", "growth_interval")
        state = {name: getattr(self, f"_{name}") for name in settings}
        return {"scale": self.get_scale(), **state, "_growth_tracker": self._finite_steps}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue with the scale and settings of a state."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._finite_steps = state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        if self._finite:
            raise AssertionError(
                "A GradScaler instance may only be pickled at the beginning of an iteration, or at "
                "the end after scaler.update()."
            )
        return {**self.__dict__, "_init_scale": self.get_scale(), "_scale": None}

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor by which the scale is reduced."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale is reduced."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """The number of finite steps after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of finite steps after which the scale grows."""
        self._growth_interval = new_interval


def custom_fwd(fwd: Callable[..., Any] | None = None, **settings: object) -> Any:
    """Marks the forward of a Function for autocast. Returns the function unchanged."""
    return fwd if fwd is not None else (lambda decorated: decorated)


custom_bwd = custom_fwd
