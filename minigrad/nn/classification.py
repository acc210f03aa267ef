"""Classification losses.

The corresponding functions in functional have the formulas; see losses.py for what
these classes add.
"""

import warnings
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.losses import _Loss, _ReducedLoss

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "KLDivLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "SoftMarginLoss",
]


class _WeightedLoss(_Loss, of=None):
    """A loss with weights for classes or entries. The weights are a buffer."""

    def _keep(self, *, weight: Tensor | None = None, **arguments: Any) -> None:
        super()._keep(**arguments)
        self.register_buffer("weight", weight)


class _ClassLoss(_WeightedLoss, of=None):
    """A loss for the correct class of each example."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"


class CrossEntropyLoss(_ClassLoss, of=F.cross_entropy):
    """-log p[target], where p = softmax(input)

    input     (n, k)   one row of scores per example; or (k,), or (n, k, ...)
    target    (n,)     the correct class of each row; or a probability distribution over the classes

    weight            (k,) the weight of each class
    ignore_index      a target value to ignore
    label_smoothing   the fraction of the target that is spread over all classes

    >>> from minigrad import tensor
    >>> round(CrossEntropyLoss()(tensor([[2.0, 0.0, 0.0]]), tensor([0])).item(), 4)
    0.2395
    """

    label_smoothing: float = 0.0


class NLLLoss(_ClassLoss, of=F.nll_loss):
    """-log p[target], given log p (from LogSoftmax)"""


class _EntryLoss(_WeightedLoss, of=None):
    """A loss of each entry, whose first arguments are the weights and those of the reduction."""

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class BCELoss(_EntryLoss, of=F.binary_cross_entropy):
    """-(target * log p + (1 - target) * log(1 - p)), where p = input (from Sigmoid)"""


class BCEWithLogitsLoss(_EntryLoss, of=F.binary_cross_entropy_with_logits):
    """BCELoss of sigmoid(input), computed in one step so that nothing overflows

    pos_weight   a factor for the loss of positive examples
    """

    pos_weight: Tensor | None = None

    def _keep(self, *, pos_weight: Tensor | None = None, **arguments: Any) -> None:
        super()._keep(**arguments)
        self.register_buffer("pos_weight", pos_weight)


class KLDivLoss(_ReducedLoss, of=F.kl_div):
    """target * (log target - input), where input is log p

    reduction    "batchmean" divides the sum by the number of rows, which gives the true KL divergence
    log_target   whether target is a logarithm, too
    """

    log_target: bool = False

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """input (..., k) and target, of the same shape, to the loss."""
        if self.reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size. "
                "'batchmean' divides only by the batch size, and aligns with the KL math definition.",
                stacklevel=3,
            )
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class SoftMarginLoss(_ReducedLoss, of=F.soft_margin_loss):
    """log(1 + exp(-target * x)), where target is 1 or -1"""


class MultiMarginLoss(_WeightedLoss, of=F.multi_margin_loss):
    """sum over the wrong classes j of max(0, margin - x[target] + x[j])**p / k

    input    (n, k) or (k,)
    target   (n,)   or ()
    """

    p: int = 1
    margin: float = 1.0
    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def _check(self) -> None:
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.ndim != 1:
            raise AssertionError(f"weight must be 1-dimensional, got {self.weight.ndim}")


class MultiLabelSoftMarginLoss(_EntryLoss, of=F.multilabel_soft_margin_loss):
    """BCEWithLogitsLoss of each class, averaged over the classes: several classes can be correct

    input, target   (n, k)   the target is 0 or 1
    """
