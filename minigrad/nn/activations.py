"""Activations: nonlinear functions, mostly elementwise, between layers.

Two linear layers in a row are equivalent to a single linear layer, unless there is an
activation between them. Each class here holds the settings of the function with the same
name in functional. A module with `inplace` can overwrite its input with its result.
"""

from typing import Any

from minigrad.core import modes
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import full
from minigrad.nn import functional as F
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter


class _InPlace(Module):
    """An activation whose only setting is `inplace`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""

    def _and_inplace(self, settings: str) -> str:
        return settings + (", inplace=True" if self.inplace else "")


# ------------------------------------------------------------------------ piecewise linear


class ReLU(_InPlace):
    """max(x, 0)

    >>> from minigrad import tensor
    >>> ReLU()(tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class LeakyReLU(_InPlace):
    """x where x > 0, else negative_slope * x"""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return self._and_inplace(f"negative_slope={self.negative_slope}")


class PReLU(Module):
    """x where x > 0, else weight * x, with a learned slope `weight`

    input    (n, c, ...)
    weight   (num_parameters,)    1 for all entries, or c: one for each channel; initially `init`

    Source: He et al., Delving Deep into Rectifiers (2015).
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), float(init), dtype=dtype, device=device))

    def reset_parameters(self) -> None:
        """Reset the slope to `init`."""
        with modes.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(_InPlace):
    """x where x > 0, else slope * x, with a random slope between lower and upper for each entry

    In evaluation, the slope is (lower + upper) / 2.

    Source: Xu et al., Empirical Evaluation of Rectified Activations (2015).
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(inplace)
        self.lower, self.upper = lower, upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return self._and_inplace(f"lower={self.lower}, upper={self.upper}")


class Threshold(_InPlace):
    """x where x > threshold, else value"""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold, self.value = threshold, value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return self._and_inplace(f"threshold={self.threshold}, value={self.value}")


class Hardtanh(_InPlace):
    """x clamped to the range from min_val to max_val"""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.min_val, self.max_val = min_val, max_val
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return self._and_inplace(f"min_val={self.min_val}, max_val={self.max_val}")


class ReLU6(Hardtanh):
    """min(max(x, 0), 6)"""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Hardsigmoid(_InPlace):
    """x / 6 + 1 / 2, clamped to the range from 0 to 1"""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(_InPlace):
    """x * hardsigmoid(x)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """0 where |x| <= lambd, else x"""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """0 where |x| <= lambd, else x moved by lambd towards 0"""

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


# ------------------------------------------------------------------------ smooth


class Sigmoid(Module):
    """1 / (1 + exp(-x))"""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(Module):
    """tanh(x)"""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class LogSigmoid(Module):
    """log(sigmoid(x)), without overflow"""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold"""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class ELU(_InPlace):
    """x where x > 0, else alpha * (exp(x) - 1)"""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return self._and_inplace(f"alpha={self.alpha}")


class CELU(_InPlace):
    """x where x > 0, else alpha * (exp(x / alpha) - 1)"""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return self._and_inplace(f"alpha={self.alpha}")


class SELU(_InPlace):
    """elu, scaled so that activations keep mean 0 and variance 1 from layer to layer"""

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class SiLU(_InPlace):
    """x * sigmoid(x), also known as swish"""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """x * tanh(softplus(x))"""

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class GELU(Module):
    """x * Phi(x), where Phi is the CDF of the standard normal distribution"""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half along dim, times the sigmoid of the second"""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


# ------------------------------------------------------------------------ along an axis


class _Along(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_Along):
    """exp(x) / sum of exp(x) along dim: positive numbers that sum to 1

    >>> from minigrad import tensor
    >>> Softmax(dim=0)(tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_Along):
    """log(softmax(x)), computed in one step so that large scores do not overflow"""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmin(_Along):
    """softmax(-x)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """softmax over the channels of (n, c, h, w) or (c, h, w), at each position"""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)
