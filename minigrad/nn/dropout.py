"""Dropout: in training, set random entries to zero.

This prevents units from relying on particular other units. The entries that are kept are
divided by 1 - p, which preserves the mean. After `eval()`, nothing is dropped.
"""

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.module import Module


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Each entry set to 0 with probability p, the others divided by 1 - p.

    >>> from minigrad import ones
    >>> sorted(set(Dropout(0.5)(ones(1000)).tolist()))
    [0.0, 2.0]

    Source: Srivastava et al., Dropout (2014).
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels, for input (n, c, l) or (c, l)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels, for input (n, c, h, w)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that preserves mean 0 and variance 1, for networks with SELU.

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017).
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)
