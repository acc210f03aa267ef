"""Linear layers: every output is a weighted sum of the inputs.

Linear      x @ W.T + b
Bilinear    x1 @ W[k] @ x2 + b[k]     for each output k
Identity    x
"""

import math

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import empty
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter


def add_parameters(
    module: Module,
    device: DeviceLike = None,
    dtype: DTypeLike = None,
    **shapes: tuple[int, ...] | None,
) -> None:
    """Register uninitialized parameters of these shapes; None in place of a shape registers no parameter."""
    for name, shape in shapes.items():
        new = None if shape is None else Parameter(empty(shape, dtype=dtype, device=device))
        module.register_parameter(name, new)


class Identity(Module):
    """Returns its input. It accepts and ignores any settings, so it can replace other layers."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Any input, unchanged."""
        return input


class Linear(Module):
    """x @ weight.T + bias

    input     (..., in_features)
    returns   (..., out_features)
    weight    (out_features, in_features)
    bias      (out_features,)                 None with bias=False

    Initialized uniformly between -1/sqrt(in_features) and 1/sqrt(in_features), so that the
    sum of in_features terms is about as large as one input.

    >>> from minigrad import ones
    >>> layer = Linear(3, 2)
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    >>> layer(ones(5, 3)).shape
    minigrad.Size([5, 2])

    Source: LeCun et al., Efficient BackProp (1998), section 4.6, for the initialization.
    """

    _shown = ("in_features=", "out_features=", "bias=")

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        shape = (out_features, in_features)
        add_parameters(self, device, dtype, weight=shape, bias=shape[:1] if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the parameters again."""
        # With a = sqrt(5), leaky_relu's gain is 1/sqrt(3), so the bound is 1/sqrt(in_features).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        return F.linear(input, self.weight, self.bias)


class Bilinear(Module):
    """x1 @ weight[k] @ x2 + bias[k], for each output k

    input1    (..., in1_features)
    input2    (..., in2_features)
    returns   (..., out_features)
    weight    (out_features, in1_features, in2_features)
    bias      (out_features,)

    Initialized uniformly between -1/sqrt(in1_features) and 1/sqrt(in1_features).
    """

    _shown = ("in1_features=", "in2_features=", "out_features=", "bias=")

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        add_parameters(self, device, dtype, weight=shape, bias=shape[:1] if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the parameters again."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """(..., in1_features) and (..., in2_features) to (..., out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)
