"""Activations: nonlinear functions, mostly elementwise, between layers.

Two linear layers in a row are equivalent to a single linear layer, unless there is an
activation between them. Each class here is a row: it holds the settings of the function with the
same name in functional. A module with `inplace` can overwrite its input with its result.

Read function_layer.py first.
"""

from minigrad.core import modes
from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import full
from minigrad.nn import functional as F
from minigrad.nn.function_layer import FunctionLayer
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter

# ------------------------------------------------------------------------ piecewise linear


class ReLU(FunctionLayer, of=F.relu):
    """max(x, 0)

    >>> from minigrad import tensor
    >>> ReLU()(tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    inplace: bool = False


class LeakyReLU(FunctionLayer, of=F.leaky_relu):
    """x where x > 0, else negative_slope * x"""

    negative_slope: float = 0.01
    inplace: bool = False


class PReLU(Module):
    """x where x > 0, else weight * x, with a learned slope `weight`

    input    (n, c, ...)
    weight   (num_parameters,)    1 for all entries, or c: one for each channel; initially `init`

    Source: He et al., Delving Deep into Rectifiers (2015).
    """

    _shown = ("num_parameters=",)

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), float(init), dtype=dtype, device=device))

    def reset_parameters(self) -> None:
        """Reset the slope to `init`."""
        with modes.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        """(n, c, ...) to the same shape."""
        return F.prelu(input, self.weight)


class RReLU(FunctionLayer, of=F.rrelu):
    """x where x > 0, else slope * x, with a random slope between lower and upper for each entry

    In evaluation, the slope is (lower + upper) / 2.

    Source: Xu et al., Empirical Evaluation of Rectified Activations (2015).
    """

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False


class Threshold(FunctionLayer, of=F.threshold):
    """x where x > threshold, else value"""

    threshold: float
    value: float
    inplace: bool = False


class Hardtanh(FunctionLayer, of=F.hardtanh):
    """x clamped to the range from min_val to max_val"""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def _check(self) -> None:
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )


class ReLU6(Hardtanh):
    """min(max(x, 0), 6)"""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Only `inplace`, if it is set."""
        return "inplace=True" if self.inplace else ""


class Hardsigmoid(FunctionLayer, of=F.hardsigmoid):
    """x / 6 + 1 / 2, clamped to the range from 0 to 1"""

    _shown = ()
    inplace: bool = False


class Hardswish(FunctionLayer, of=F.hardswish):
    """x * hardsigmoid(x)"""

    _shown = ()
    inplace: bool = False


class Hardshrink(FunctionLayer, of=F.hardshrink):
    """0 where |x| <= lambd, else x"""

    _shown = ("lambd",)
    lambd: float = 0.5


class Softshrink(FunctionLayer, of=F.softshrink):
    """0 where |x| <= lambd, else x shifted by lambd toward 0"""

    _shown = ("lambd",)
    lambd: float = 0.5


# ------------------------------------------------------------------------ smooth


class Sigmoid(FunctionLayer, of=F.sigmoid):
    """1 / (1 + exp(-x))"""


class Tanh(FunctionLayer, of=F.tanh):
    """tanh(x)"""


class LogSigmoid(FunctionLayer, of=F.logsigmoid):
    """log(sigmoid(x)), without overflow"""


class Softsign(FunctionLayer, of=F.softsign):
    """x / (1 + |x|)"""


class Tanhshrink(FunctionLayer, of=F.tanhshrink):
    """x - tanh(x)"""


class Softplus(FunctionLayer, of=F.softplus):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold"""

    beta: float = 1.0
    threshold: float = 20.0


class ELU(FunctionLayer, of=F.elu):
    """x where x > 0, else alpha * (exp(x) - 1)"""

    alpha: float = 1.0
    inplace: bool = False


class CELU(FunctionLayer, of=F.celu):
    """x where x > 0, else alpha * (exp(x / alpha) - 1)"""

    alpha: float = 1.0
    inplace: bool = False


class SELU(FunctionLayer, of=F.selu):
    """elu, scaled so that activations keep mean 0 and variance 1 from layer to layer"""

    inplace: bool = False


class SiLU(FunctionLayer, of=F.silu):
    """x * sigmoid(x), also known as swish"""

    inplace: bool = False


class Mish(FunctionLayer, of=F.mish):
    """x * tanh(softplus(x))"""

    inplace: bool = False


class GELU(FunctionLayer, of=F.gelu):
    """x * Phi(x), where Phi is the CDF of the standard normal distribution"""

    approximate: str = "none"


class GLU(FunctionLayer, of=F.glu):
    """The first half along dim, times the sigmoid of the second"""

    dim: int = -1


# ------------------------------------------------------------------------ along an axis


class Softmax(FunctionLayer, of=F.softmax):
    """exp(x) / sum of exp(x) along dim: positive numbers that sum to 1

    >>> from minigrad import tensor
    >>> Softmax(dim=0)(tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    dim: int | None = None


class LogSoftmax(FunctionLayer, of=F.log_softmax):
    """log(softmax(x)), computed in one step so that large scores do not overflow"""

    dim: int | None = None


class Softmin(FunctionLayer, of=F.softmin):
    """softmax(-x)"""

    dim: int | None = None


class Softmax2d(Module):
    """softmax over the channels of (n, c, h, w) or (c, h, w), at each position"""

    def forward(self, input: Tensor) -> Tensor:
        """(n, c, h, w) to the same shape."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)
