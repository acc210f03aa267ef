"""Dropout: in training, set random entries to zero.

This prevents units from relying on particular other units. The entries that are kept are
divided by 1 - p, which preserves the mean. After `eval()`, nothing is dropped.
"""

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.function_layer import FunctionLayer
from minigrad.nn.functional.arguments import check_probability


class _DropoutNd(FunctionLayer, of=None):
    _shown = ("p=", "inplace=")
    p: float = 0.5
    inplace: bool = False

    def _check(self) -> None:
        check_probability(self.p)


class Dropout(_DropoutNd, of=F.dropout):
    """Each entry set to 0 with probability p, the others divided by 1 - p.

    >>> from minigrad import ones
    >>> sorted(set(Dropout(0.5)(ones(1000)).tolist()))
    [0.0, 2.0]

    Source: Srivastava et al., Dropout (2014).
    """


class Dropout1d(_DropoutNd, of=F.dropout1d):
    """Dropout of whole channels, for input (n, c, l) or (c, l)."""


class Dropout2d(_DropoutNd, of=F.dropout2d):
    """Dropout of whole channels, for input (n, c, h, w)."""


class AlphaDropout(_DropoutNd, of=F.alpha_dropout):
    """Dropout that preserves mean 0 and variance 1, for networks with SELU.

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017).
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape to the same shape. As in PyTorch, never in place."""
        return F.alpha_dropout(input, self.p, self.training)
