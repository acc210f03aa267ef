"""weight_norm and spectral_norm as parametrizations, with the same parameter names and values as in PyTorch."""

from typing import Any

from minigrad.compat.modules import Absent
from minigrad.core.tensor import Tensor
from minigrad.nn.functional import normalize
from minigrad.nn.module import Module
from minigrad.nn.utils.parametrize import register_parametrization
from minigrad.nn.utils.reparametrize import as_matrix, norm_except_dim, output_axis, power_iteration

FIRST_STEPS = 15  # steps of the power iteration before the first call


class _WeightNorm(Module):
    """weight = g * v / |v|, for each slice along dim."""

    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        """The weight, from the norms g and the directions v of its slices."""
        return v * (g / norm_except_dim(v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The norms of the slices, and the weight itself as their directions."""
        return norm_except_dim(weight, self.dim), weight


class _SpectralNorm(Module):
    """weight / its largest singular value. Each call in training runs `iterations` steps of power iteration."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        self.n_power_iterations, self.dim, self.eps = iterations, dim, eps
        if weight.ndim == 1:
            return
        matrix = as_matrix(weight.detach(), dim)
        for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
            start = matrix.new_empty(size).normal_(0, 1)
            self.register_buffer(name, normalize(start, dim=0, eps=eps))
        self.steps(matrix, FIRST_STEPS)

    def steps(self, matrix: Tensor, count: int) -> None:
        """Run steps of power iteration: first u, then v."""
        power_iteration(matrix.T, self._v, self._u, count, self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        """The weight divided by sigma. A vector is divided by its norm."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self.steps(matrix, self.n_power_iterations)
        return weight / self._u.clone().dot(matrix @ self._v.clone())

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself, even if its largest singular value is not 1."""
        return value


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Make the norm of each row of a weight a separate parameter: weight = g * v / |v|.

    The parameters are parametrizations.weight.original0 (g) and original1 (v);
    `parametrize.remove_parametrizations` is the inverse. A state of the older `nn.utils.weight_norm`
    (weight_g, weight_v) can be loaded.

    Source: Salimans and Kingma, Weight Normalization (2016).
    """

    def rename(state: dict[str, Any], prefix: str, *rest: object) -> None:
        for k, part in enumerate("gv"):
            if (old := f"{prefix}{name}_{part}") in state:
                state[f"{prefix}parametrizations.{name}.original{k}"] = state.pop(old)

    module = register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(rename)
    return module


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a weight by its largest singular value, so that its spectral norm is 1.

    Source: Miyato et al., Spectral Normalization for Generative Adversarial Networks (2018).
    """
    dim = output_axis(module, n_power_iterations) if dim is None else dim
    steps = _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps)
    return register_parametrization(module, name, steps)


orthogonal = Absent(
    "minigrad.nn.utils.parametrizations.orthogonal",
    "To fix it, write a module whose forward(X) is  matrix_exp(X.triu(1) - X.triu(1).mT), and pass it to "
    "nn.utils.parametrize.register_parametrization.",
)
