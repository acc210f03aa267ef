"""weight_norm and spectral_norm under their newer names, with the numbers that PyTorch has there.

Their parameters are called as those of the older functions, `weight_g` and `weight_v` or `weight_orig`,
and the weight is computed before each call, not whenever it is read.
"""

from typing import Any

from minigrad.compat.modules import Absent
from minigrad.core import modes
from minigrad.core.tensor import Tensor
from minigrad.nn.functional import normalize
from minigrad.nn.utils.reparametrize import SpectralNorm, with_spectral_norm, with_weight_norm

FIRST_STEPS = 15  # of the power iteration, before the first call


class SpectralParametrization(SpectralNorm):
    """As SpectralNorm, but u takes the first step."""

    def steps(self, matrix: Tensor, u: Tensor, v: Tensor, count: int) -> None:
        """Move u and v towards the singular vectors."""
        with modes.no_grad():
            for _ in range(count):
                u.copy_(normalize(matrix @ v, dim=0, eps=self.eps))
                v.copy_(normalize(matrix.T @ u, dim=0, eps=self.eps))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Make the length of each row of a weight a separate parameter: weight = g * v / |v|.

    `nn.utils.remove_weight_norm` is the inverse.

    Source: Salimans and Kingma, Weight Normalization (2016).
    """
    return with_weight_norm(module, name, dim)


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a weight by its largest singular value, so that the layer makes no vector longer.

    Source: Miyato et al., Spectral Normalization for Generative Adversarial Networks (2018).
    """
    kind = SpectralParametrization
    module, hook = with_spectral_norm(kind, module, name, n_power_iterations, eps, dim)
    matrix = hook.matrix(getattr(module, f"{name}_orig").detach())
    hook.steps(matrix, getattr(module, f"{name}_u"), getattr(module, f"{name}_v"), FIRST_STEPS)
    module.__dict__[name] = hook.compute(module, False)
    return module


orthogonal = Absent(
    "minigrad.nn.utils.parametrizations.orthogonal",
    "To fix it, use Q of linalg.qr(weight) in forward().",
)
