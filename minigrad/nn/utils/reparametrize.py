"""Weights that are computed from other parameters before each call: weight_norm, spectral_norm.

The new parameters replace the weight in the list of parameters, and a hook recomputes the weight
from them before each call. So the optimizer updates the new parameters, and the layer does not
need to know about them.
"""

from typing import Any, TypeVar

from minigrad import random
from minigrad.core import modes
from minigrad.core.errors import warn_user
from minigrad.core.tensor import Tensor
from minigrad.nn.functional import normalize
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter, is_lazy

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: object, **kwargs: object) -> M:
    """Create a module without initializing it: its parameters are zeros (in PyTorch, uninitialized memory).

    No random numbers are drawn.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    with random.fork_rng():
        module = module_cls(*args, **kwargs)
    with modes.no_grad():
        for p in module.parameters():
            p.zero_()
    return module


def register_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Register a parameter, or another tensor as a buffer."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _replace(
    module: M, name: str, hook: "ComputedWeight", parts: dict[str, Any], kind: type | None = None
) -> M:
    """Replace the parameter by other parameters, and add the hook that computes it from them.

    kind    the key for `_restore`, if it is not the class of the hook
    """
    if (kind or type(hook), name) in module.__dict__.get("_computed_weights", {}):
        raise RuntimeError(f"Cannot register two {hook.word} hooks on the same parameter {name}")
    if name not in module._parameters:
        raise ValueError(f"'{type(module).__name__}' has no parameter '{name}'")
    delattr(module, name)
    for part, value in parts.items():
        register_tensor(module, part, value)
    handle = module.register_forward_pre_hook(hook)
    module.__dict__.setdefault("_computed_weights", {})[kind or type(hook), name] = hook, handle
    return module


def _restore(
    module: M, name: str, kind: type, parts: tuple[str, ...], kept: str | None = None
) -> M:
    """The inverse of `_replace`: make the weight a parameter again, with its current value.

    kept   the part that becomes the weight, so that an optimizer that has it continues to update it;
           without it, a new parameter is created
    """
    hook, handle = module.__dict__.get("_computed_weights", {}).pop((kind, name), (None, None))
    if hook is None:
        raise ValueError(f"{kind.__name__} of '{name}' not found in {module}")
    handle.remove()
    value = hook.compute(module, False).detach()
    weight = Parameter(value.clone()) if kept is None else getattr(module, kept)
    weight.data = value
    for part in parts:
        delattr(module, part)
    module.__dict__.pop(name, None)
    module.register_parameter(name, weight)
    return module


class ComputedWeight:
    """The hook that computes a weight before each call."""

    name: str
    word: str  # its name in error messages

    def compute(self, module: Module, training: bool) -> Tensor:
        """The weight, computed from the module's new parameters."""
        raise NotImplementedError

    def __call__(self, module: Module, args: object) -> None:
        module.__dict__[self.name] = self.compute(module, module.training)


class WeightNorm(ComputedWeight):
    """weight = g * v / norm of v, for each slice along dim."""

    word = "weight_norm"

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, dim

    def compute(self, module: Module, training: bool) -> Tensor:
        """g * v / norm of v."""
        v, g = getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g")
        return v * (g / norm_except_dim(v, self.dim))


def _weight(module: Module, name: str, kind: type) -> Tensor:
    """The weight to replace, which must have a shape."""
    weight = getattr(module, name)
    if is_lazy(weight):
        raise ValueError(
            f"The module passed to `{kind.__name__}` can't have uninitialized parameters. To fix it, call "
            "the module once, with an input, before this."
        )
    return weight


def norm_except_dim(v: Tensor, dim: int | None) -> Tensor:
    """The norm of each slice along dim."""
    if dim is None or dim == -1:
        return v.norm()
    return v.norm(2, [k for k in range(v.ndim) if k != dim], keepdim=True)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Make the norm of each row of a weight a separate parameter: weight = g * v / |v|.

    The parameters weight_g and weight_v replace the weight.

    Source: Salimans and Kingma, Weight Normalization (2016).
    """
    warn_user(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    hook = WeightNorm(name, dim)
    v = _weight(module, name, WeightNorm)
    parts = {
        f"{name}_g": Parameter(norm_except_dim(v, dim).detach()),
        f"{name}_v": Parameter(v.detach()),
    }
    _replace(module, name, hook, parts)
    hook(module, None)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make the weight a parameter again, with its current value."""
    return _restore(module, name, WeightNorm, (f"{name}_g", f"{name}_v"))


class SpectralNorm(ComputedWeight):
    """weight / its largest singular value, which is computed by power iteration."""

    word = "spectral_norm"

    def __init__(self, name: str, iterations: int, dim: int, eps: float) -> None:
        self.name, self.iterations, self.dim, self.eps = name, iterations, dim, eps

    def compute(self, module: Module, training: bool) -> Tensor:
        """The weight divided by sigma. In training, the power iteration is run first."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if training:
            power_iteration(matrix, u, v, self.iterations, self.eps)
        return weight / u.clone().dot(matrix @ v.clone())


def power_iteration(matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float) -> None:
    """Move u and v toward the first singular vectors of the matrix, in place: first v, then u."""
    with modes.no_grad():
        for _ in range(steps):
            v.copy_(normalize(matrix.T @ u, dim=0, eps=eps))
            u.copy_(normalize(matrix @ v, dim=0, eps=eps))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight as a matrix with one row per output."""
    w = weight.movedim(dim, 0) if dim else weight
    return w.reshape(w.shape[0], -1)


def output_axis(module: Module, iterations: int) -> int:
    """The axis of the layer's weight that holds the outputs. Raises ValueError unless iterations is positive."""
    if iterations <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={iterations}"
        )
    return 1 if type(module).__name__.startswith("ConvTranspose") else 0


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide a weight by its largest singular value, so that its spectral norm is 1.

    The singular value is estimated by power iteration: each call in training runs
    n_power_iterations steps, which move the buffers u and v toward the first singular vectors.

    Source: Miyato et al., Spectral Normalization for Generative Adversarial Networks (2018).
    """
    weight = _weight(module, name, SpectralNorm)
    outputs = output_axis(module, n_power_iterations)
    dim = outputs if dim is None else dim
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    rows, columns = as_matrix(weight, dim).shape
    with modes.no_grad():
        u = normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
        v = normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
    parts = {f"{name}_orig": weight, f"{name}_u": u, f"{name}_v": v}
    _replace(module, name, hook, parts)
    module.__dict__[name] = weight.detach()
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the weight a parameter again, with its current value."""
    parts = (f"{name}_orig", f"{name}_u", f"{name}_v")
    return _restore(module, name, SpectralNorm, parts)
