"""Loss functions: the difference between outputs and targets as one number.

Each class is a row: it holds the settings of the corresponding function in functional, which
has the formula. A `reduction` is "mean" or "sum" over the examples, or "none" for one number per
example. `size_average` and `reduce` are PyTorch's older arguments for it.

Read function_layer.py first.
"""

from collections.abc import Callable
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.function_layer import FunctionLayer
from minigrad.nn.functional.losses import reduction_of

__all__ = [
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "PairwiseDistance",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _Loss(FunctionLayer, of=None):
    """The base class of losses: it turns the older arguments into a reduction."""

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
    """A loss whose first arguments are those of the reduction."""

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
    """max(0, -target * (x1 - x2) + margin): x1 should be greater than x2 (target 1), or less (-1)"""

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
    """TripletMarginLoss with your own distance: a function, or a module, of two tensors

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
