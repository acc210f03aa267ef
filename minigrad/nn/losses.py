"""Loss functions: one number that measures the difference between outputs and targets.

Each class is a row: it holds the settings of the corresponding function in functional, which
has the formula. `reduction` is "mean", "sum", or "none" for no reduction. `size_average` and
`reduce` are PyTorch's older arguments for the same purpose.

Read function_layer.py first.
"""

from collections.abc import Callable
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.function_layer import FunctionLayer
from minigrad.nn.functional.arguments import reduction_of


class _Loss(FunctionLayer, of=None):
    """The base class of losses. It converts the older arguments to a reduction."""

    _shown = ()
    _not_kept = ("size_average", "reduce")

    def _keep(
        self,
        *,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        **arguments: Any,
    ) -> None:
        reduction = reduction_of(size_average, reduce, reduction)
        super()._keep(reduction=reduction, **arguments)


class _ReducedLoss(_Loss, of=None):
    """A loss whose first arguments are size_average, reduce and reduction."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


# ------------------------------------------------------------------------ regression


class MSELoss(_ReducedLoss, of=F.mse_loss):
    """(input - target)**2

    >>> from minigrad import tensor
    >>> MSELoss()(tensor([1.0, 2.0]), tensor([1.0, 4.0]))
    tensor(2.)
    """


class L1Loss(_ReducedLoss, of=F.l1_loss):
    """|input - target|"""


class SmoothL1Loss(_ReducedLoss, of=F.smooth_l1_loss):
    """With d = |input - target|: d**2 / (2 * beta) where d < beta, else d - beta / 2"""

    beta: float = 1.0


class HuberLoss(_Loss, of=F.huber_loss):
    """With d = |input - target|: d**2 / 2 where d <= delta, else delta * (d - delta / 2)

    Source: Huber, Robust Estimation of a Location Parameter (1964).
    """

    reduction: str = "mean"
    delta: float = 1.0


class PoissonNLLLoss(_Loss, of=F.poisson_nll_loss):
    """rate - target * log(rate): the negative log-likelihood of a Poisson distribution, up to a constant

    log_input   whether input is log(rate). Otherwise it is the rate, and eps is added before the logarithm
    full        add Stirling's approximation of log(target!) where target > 1
    """

    log_input: bool = True
    full: bool = False
    size_average: bool | None = None
    eps: float = 1e-8
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """log_input (n, ...) and target, of the same shape, to the loss."""
        return F.poisson_nll_loss(
            log_input, target, self.log_input, self.full, None, self.eps, None, self.reduction
        )


class GaussianNLLLoss(_Loss, of=F.gaussian_nll_loss, kw_only=True):
    """(log(var) + (input - target)**2 / var) / 2: the negative log-likelihood, up to a constant

    input     (n, ...)     the predicted means
    target    (n, ...)
    var       like input, or with its last axis of size 1 or missing; not negative

    full   add the constant, log(2 * pi) / 2
    eps    the lower limit for var

    Source: Nix and Weigend, Estimating the mean and variance of the target probability
    distribution (1994).
    """

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


# ------------------------------------------------------------------------ distances


class _MarginLoss(_Loss, of=None):
    """A loss whose first argument is a margin, by default 1."""

    margin: float = 1.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class HingeEmbeddingLoss(_MarginLoss, of=F.hinge_embedding_loss):
    """x where target is 1, max(0, margin - x) where it is -1"""


class MarginRankingLoss(_MarginLoss, of=F.margin_ranking_loss):
    """max(0, -target * (x1 - x2) + margin): x1 should be greater than x2 if target is 1, less if it is -1"""

    margin: float = 0.0


class CosineEmbeddingLoss(_MarginLoss, of=F.cosine_embedding_loss):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1"""

    margin: float = 0.0


class _TripletLoss(_Loss, of=None):
    def _check(self) -> None:
        if self.margin <= 0:
            raise ValueError(
                f"{type(self).__name__}: expected margin to be greater than 0, got {self.margin} instead"
            )


class TripletMarginLoss(_TripletLoss, of=F.triplet_margin_loss):
    """max(0, distance to the positive - distance to the negative + margin)"""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class TripletMarginWithDistanceLoss(
    _TripletLoss, of=F.triplet_margin_with_distance_loss, kw_only=True
):
    """TripletMarginLoss with another distance: a function or module that takes two tensors

    distance_function   by default, PairwiseDistance
    """

    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"

    def _check(self) -> None:
        super()._check()
        self.distance_function = self.distance_function or PairwiseDistance()


class CosineSimilarity(FunctionLayer, of=F.cosine_similarity):
    """The cosine of the angle between x1 and x2 along dim"""

    _shown = ()
    dim: int = 1
    eps: float = 1e-8


class PairwiseDistance(FunctionLayer, of=F.pairwise_distance):
    """The p-norm of x1 - x2 + eps along the last axis"""

    _shown = ()
    _renamed = {"p": "norm"}
    p: float = 2.0
    eps: float = 1e-6
    keepdim: bool = False


# ------------------------------------------------------------------------ classification


class _WeightedLoss(_Loss, of=None):
    """A loss with weights for classes or entries, which are stored as a buffer."""

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
    """A loss of each entry, whose first arguments are weight, size_average, reduce and reduction."""

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
    log_target   whether target is log-probabilities, too
    """

    log_target: bool = False

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """input (..., k) and target, of the same shape, to the loss."""
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
    """BCEWithLogitsLoss averaged over the classes, of which several can be correct

    input, target   (n, k)   the target is 0 or 1
    """


class MultiLabelMarginLoss(_ReducedLoss, of=F.multilabel_margin_loss):
    """Every correct class should score at least 1 higher than every wrong class; see F.multilabel_margin_loss."""


class CTCLoss(_Loss, of=F.ctc_loss):
    """-log of the probability of the target, summed over all alignments with the frames; see F.ctc_loss."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False
