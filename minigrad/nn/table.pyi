# Written by python -m tests.stubs: see the module beside it.
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.nn.function_layer import FunctionLayer
from minigrad.nn.module import Module

class ReLU(FunctionLayer):
    """max(x, 0)

    >>> from minigrad import tensor
    >>> ReLU()(tensor([-1.0, 2.0]))
    tensor([0., 2.])"""
    inplace: bool
    def __init__(self, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Hardtanh(FunctionLayer):
    """x clamped to the range from min_val to max_val"""
    min_val: float
    max_val: float
    inplace: bool
    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class ReLU6(Hardtanh):
    """min(max(x, 0), 6)"""
    inplace: bool
    def __init__(self, inplace: bool = False) -> None: ...

class Softmax(FunctionLayer):
    """exp(x) / sum of exp(x) along dim: positive numbers that sum to 1

    >>> from minigrad import tensor
    >>> Softmax(dim=0)(tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])"""
    dim: int | None
    def __init__(self, dim: int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class LeakyReLU(FunctionLayer):
    """z = x where x > 0, else negative_slope * x        dz/dx = where(x > 0, 1, negative_slope)"""
    negative_slope: float
    inplace: bool
    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class RReLU(FunctionLayer):
    """leaky_relu with a random slope for each entry in training, between lower and upper.

    In evaluation, the slope is (lower + upper) / 2.

    Source: Xu et al., Empirical Evaluation of Rectified Activations (2015)."""
    lower: float
    upper: float
    inplace: bool
    def __init__(self, lower: float = 0.125, upper: float = 0.3333333333333333, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Threshold(FunctionLayer):
    """z = value where x <= threshold, else x        dz/dx = 1 - (x <= threshold)

    A NaN stays NaN and gets the gradient."""
    threshold: float
    value: float
    inplace: bool
    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Hardsigmoid(FunctionLayer):
    """z = x / 6 + 1 / 2, clamped to the range from 0 to 1        dz/dx = (x > -3) * (x < 3) / 6"""
    inplace: bool
    def __init__(self, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Hardswish(FunctionLayer):
    """z = x * hardsigmoid(x)        dz/dx = where(x >= 3, 1, (x > -3) * (x / 3 + 1 / 2))"""
    inplace: bool
    def __init__(self, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Hardshrink(FunctionLayer):
    """z = x where |x| > lambd, else 0        dz/dx = abs(x) > lambd"""
    lambd: float
    def __init__(self, lambd: float = 0.5) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Softshrink(FunctionLayer):
    """z = x, shifted by lambd toward 0, where |x| > lambd, else 0        dz/dx = abs(x) > lambd"""
    lambd: float
    def __init__(self, lambd: float = 0.5) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Sigmoid(FunctionLayer):
    """z = 1 / (1 + exp(-x))        dz/dx = z * (1 - z)

    A z close to 0 has all its digits, so log(z) is finite until exp(-x) overflows, and then z is 0."""
    def __init__(self) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Tanh(FunctionLayer):
    """z = tanh(x)        dz/dx = 1 - z**2"""
    def __init__(self) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class LogSigmoid(FunctionLayer):
    """z = -log(1 + exp(-x))        dz/dx = 1 / (1 + exp(x))

    z is log(sigmoid(x)), computed without overflow."""
    def __init__(self) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Softsign(FunctionLayer):
    """x / (1 + |x|)"""
    def __init__(self) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Tanhshrink(FunctionLayer):
    """x - tanh(x)"""
    def __init__(self) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Softplus(FunctionLayer):
    """z = log(1 + exp(beta * x)) / beta        dz/dx = where(beta * x > threshold, 1, 1 / (1 + exp(-beta * x)))

    Where beta * x > threshold, z is x."""
    beta: float
    threshold: float
    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class ELU(FunctionLayer):
    """z = scale * x where x > 0, else scale * alpha * (exp(x) - 1)        dz/dx = scale * where(x > 0, 1, alpha * exp(x))

    scale is 1; selu is elu with another scale and alpha.

    Source: Clevert et al., Exponential Linear Units (2016)."""
    alpha: float
    inplace: bool
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class CELU(FunctionLayer):
    """x where x > 0, else alpha * (exp(x / alpha) - 1)"""
    alpha: float
    inplace: bool
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class SELU(FunctionLayer):
    """elu, scaled so that activations keep mean 0 and variance 1 from layer to layer.

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017)."""
    inplace: bool
    def __init__(self, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class SiLU(FunctionLayer):
    """z = x / (1 + exp(-x))        dz/dx = (1 + x * exp(-x) / (1 + exp(-x))) / (1 + exp(-x))

    z is x * sigmoid(x), also known as swish."""
    inplace: bool
    def __init__(self, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Mish(FunctionLayer):
    """z = x * tanh(log(1 + exp(x)))        dz/dx = z / x + x * (1 - (z / x)**2) / (1 + exp(-x))

    z is x * tanh(softplus(x))."""
    inplace: bool
    def __init__(self, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class GELU(FunctionLayer):
    """z = x * (1 + erf(x / sqrt(2))) / 2        dz/dx = z / x + x * exp(-x * x / 2) / sqrt(2 * 3.141592653589793)

    z is x times the CDF of the normal distribution. With approximate="tanh", erf(x / sqrt(2)) is replaced with
    tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)).

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units (2016)."""
    approximate: str
    def __init__(self, approximate: str = 'none') -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class GLU(FunctionLayer):
    """z = a * sigmoid(b), for the halves a and b of x along axis        dL/da = g * sigmoid(b)        dL/db = g * z * (1 - sigmoid(b))"""
    dim: int
    def __init__(self, dim: int = -1) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class LogSoftmax(FunctionLayer):
    """log(softmax(x)), computed in one step so that large scores do not overflow"""
    dim: int | None
    def __init__(self, dim: int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Softmin(FunctionLayer):
    """softmax(-x)"""
    dim: int | None
    def __init__(self, dim: int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class _DropoutNd(FunctionLayer):
    """The base class of dropout layers."""
    p: float
    inplace: bool
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None: ...

class Dropout(_DropoutNd):
    """Each entry set to 0 with probability p, the others divided by 1 - p.

    >>> from minigrad import ones
    >>> sorted(set(Dropout(0.5)(ones(1000)).tolist()))
    [0.0, 2.0]

    Source: Srivastava et al., Dropout (2014)."""
    p: float
    inplace: bool
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class AlphaDropout(_DropoutNd):
    """Dropout that preserves mean 0 and variance 1, for networks with SELU.

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017)."""
    p: float
    inplace: bool
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels, for input (n, c, ...)."""
    p: float
    inplace: bool
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Dropout1d(_DropoutNd):
    """Dropout of whole channels, for input (n, c, l) or (c, l)."""
    p: float
    inplace: bool
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Dropout2d(_DropoutNd):
    """Dropout of whole channels, for input (n, c, h, w). As in PyTorch, three axes are treated as (n, c, l)."""
    p: float
    inplace: bool
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class _Loss(FunctionLayer):
    """The base class of losses. It converts the older arguments to a reduction; weights are buffers."""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...

class _WeightedLoss(_Loss):
    """The base class of losses with a weight for each class or entry."""
    weight: Tensor | None
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...

class MSELoss(_Loss):
    """(input - target)**2

    >>> from minigrad import tensor
    >>> MSELoss()(tensor([1.0, 2.0]), tensor([1.0, 4.0]))
    tensor(2.)"""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class PoissonNLLLoss(_Loss):
    """rate - target * log(rate): the negative log-likelihood of a Poisson distribution, up to a constant

    log_input   whether input is log(rate). Otherwise it is the rate, and eps is added before the logarithm
    full        add Stirling's approximation of log(target!) where target > 1"""
    log_input: bool
    full: bool
    size_average: bool | None
    eps: float
    reduce: bool | None
    reduction: str
    def __init__(self, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, log_input: Tensor, target: Tensor) -> Tensor: ...

class GaussianNLLLoss(_Loss):
    """(log(var) + (input - target)**2 / var) / 2: the negative log-likelihood, up to a constant

    input     (n, ...)     the predicted means
    target    (n, ...)
    var       like input, or with its last axis of size 1 or missing; not negative

    full   add the constant, log(2 * pi) / 2
    eps    the lower limit for var

    Source: Nix and Weigend, Estimating the mean and variance of the target probability
    distribution (1994)."""
    full: bool
    eps: float
    reduction: str
    def __init__(self, *, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> None: ...
    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Any: ...

class _TripletLoss(_Loss):
    """"""
    def __init__(self) -> None: ...

class TripletMarginWithDistanceLoss(_TripletLoss):
    """TripletMarginLoss with another distance: a function or module that takes two tensors

    distance_function   by default, PairwiseDistance"""
    distance_function: Any
    margin: float
    swap: bool
    reduction: str
    def __init__(self, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean') -> None: ...
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Any: ...

class PairwiseDistance(FunctionLayer):
    """The p-norm of x1 - x2 + eps along the last axis"""
    p: float
    eps: float
    keepdim: bool
    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Any: ...

class CrossEntropyLoss(_WeightedLoss):
    """-log p[target], where p = softmax(input)

    input     (n, k)   one row of scores per example; or (k,), or (n, k, ...)
    target    (n,)     the correct class of each row; or a probability distribution over the classes

    weight            (k,) the weight of each class
    ignore_index      a target value to ignore
    label_smoothing   the fraction of the target that is spread over all classes

    >>> from minigrad import tensor
    >>> round(CrossEntropyLoss()(tensor([[2.0, 0.0, 0.0]]), tensor([0])).item(), 4)
    0.2395"""
    weight: Tensor | None
    size_average: bool | None
    ignore_index: int
    reduce: bool | None
    reduction: str
    label_smoothing: float
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class MultiMarginLoss(_WeightedLoss):
    """sum over the wrong classes j of max(0, margin - x[target] + x[j])**p / k

    input    (n, k) or (k,)
    target   (n,)   or ()"""
    p: int
    margin: float
    weight: Tensor | None
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class L1Loss(_Loss):
    """The mean of |input - target|."""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class SmoothL1Loss(_Loss):
    """With d = |input - target|: d**2 / (2 * beta) where d < beta, else d - beta / 2."""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    beta: float
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', beta: float = 1.0) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class HuberLoss(_Loss):
    """With d = |input - target|: d**2 / 2 where d <= delta, else delta * (d - delta / 2).

    Source: Huber, Robust Estimation of a Location Parameter (1964)."""
    reduction: str
    delta: float
    def __init__(self, reduction: str = 'mean', delta: float = 1.0) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class HingeEmbeddingLoss(_Loss):
    """x where target is 1, max(0, margin - x) where it is -1."""
    margin: float
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class MarginRankingLoss(_Loss):
    """max(0, -target * (x1 - x2) + margin): x1 should be greater than x2 if target is 1, less if it is -1."""
    margin: float
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Any: ...

class CosineEmbeddingLoss(_Loss):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    margin: float
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Any: ...

class TripletMarginLoss(_TripletLoss):
    """max(0, distance to the positive - distance to the negative + margin)."""
    margin: float
    p: float
    eps: float
    swap: bool
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Any: ...

class CosineSimilarity(FunctionLayer):
    """The cosine of the angle between x1 and x2 along dim. x1 and x2 are broadcast."""
    dim: int
    eps: float
    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Any: ...

class NLLLoss(_WeightedLoss):
    """Mean of -log p[target], given log p (from log_softmax).

    input          (n, k) or (k,) or (n, k, ...)
    target         (n,)   or ()   or (n, ...)     integers in 0..k-1
    weight         (k,)                           the weight of each class
    ignore_index   a target value to ignore"""
    weight: Tensor | None
    size_average: bool | None
    ignore_index: int
    reduce: bool | None
    reduction: str
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class BCELoss(_WeightedLoss):
    """Mean of -(target * log p + (1 - target) * log(1 - p)), where p = input.

    Each logarithm is limited to at least -100, so the loss is finite for p = 0."""
    weight: Tensor | None
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class BCEWithLogitsLoss(_WeightedLoss):
    """binary_cross_entropy of p = sigmoid(input), computed in one step so that nothing overflows.

    pos_weight   a factor for the loss of positive examples"""
    weight: Tensor | None
    size_average: bool | None
    reduce: bool | None
    reduction: str
    pos_weight: Tensor | None
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class KLDivLoss(_Loss):
    """Mean of target * (log target - input), where input is log p.

    reduction   "batchmean" divides the sum by the number of rows, which gives the true KL divergence
    log_target  whether target is log-probabilities, too

    Source: Kullback and Leibler, On Information and Sufficiency (1951)."""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    log_target: bool
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', log_target: bool = False) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * x)), without overflow, where target is 1 or -1."""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class MultiLabelSoftMarginLoss(_WeightedLoss):
    """binary_cross_entropy_with_logits, first averaged over the classes of each example; several can be correct.

    input, target   (n, k)   the target is 0 or 1"""
    weight: Tensor | None
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class MultiLabelMarginLoss(_Loss):
    """For all pairs of a correct and a wrong class: max(0, 1 - (correct score - wrong score)), summed and divided by k.

    input     (n, k) or (k,)
    target    (n, k) or (k,)   the correct classes, followed by -1"""
    size_average: bool | None
    reduce: bool | None
    reduction: str
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...

class CTCLoss(_Loss):
    """-log of the probability of the target, summed over all its alignments with the frames.

    log_probs         (t, n, k)   or (t, k): the log_softmax of the scores of each frame
    targets           (n, s)      or concatenated, (sum of the lengths,); no blanks
    input_lengths     (n,)        the number of frames
    target_lengths    (n,)        the length of each target
    blank             the class for "no letter": optional between letters, required between equal ones
    zero_infinity     return 0 instead of inf if the target is too long for the frames

    Computed with the forward algorithm: alpha[j] is the probability that the frames so far end at
    position j of the extended target, which has blanks around all letters. Position j is reached
    from j, j - 1 and, if the letters differ, j - 2.

    "mean" first divides each loss by the length of its target.

    Source: Graves et al., Connectionist Temporal Classification (2006)."""
    blank: int
    reduction: str
    zero_infinity: bool
    def __init__(self, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> None: ...
    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Any: ...

class _WindowLayer(FunctionLayer):
    """A layer with windows. By default, the stride is the size of the window."""
    def __init__(self) -> None: ...

class _MaxPoolNd(_WindowLayer):
    """"""
    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    return_indices: bool
    ceil_mode: bool
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...

class MaxPool1d(_MaxPoolNd):
    """The largest entry of each window of (n, c, l); see MaxPool2d."""
    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    return_indices: bool
    ceil_mode: bool
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class MaxPool2d(_MaxPoolNd):
    """The largest entry of each window.

    input     (n, c, h, w)       or without n
    returns   (n, c, h', w')     h' = (h + 2 * padding - dilation * (kh - 1) - 1) // stride + 1

    kernel_size      the size of a window
    stride           the distance between windows; by default kernel_size
    padding          the width of the padding, which is never the largest entry
    dilation         the distance between the entries of a window
    return_indices   also return the index of each largest entry in the flattened image
    ceil_mode        include a last window that extends beyond the input

    Only the largest entry gets the gradient.

    >>> from minigrad import tensor
    >>> MaxPool2d(2)(tensor([[[1.0, 2.0], [4.0, 3.0]]]))
    tensor([[[4.]]])"""
    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    return_indices: bool
    ceil_mode: bool
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class _AvgPoolNd(_WindowLayer):
    """The base class of AvgPool1d and AvgPool2d."""
    def __init__(self) -> None: ...

class AvgPool1d(_AvgPoolNd):
    """The mean of each window of (n, c, l); see AvgPool2d."""
    kernel_size: Any
    stride: Any
    padding: Any
    ceil_mode: bool
    count_include_pad: bool
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class AvgPool2d(_AvgPoolNd):
    """The mean of each window.

    input     (n, c, h, w)       or without n
    returns   (n, c, h', w')     h' = (h + 2 * padding - kh) // stride + 1

    padding             the width of the padding with zeros
    count_include_pad   include the padding in the mean
    divisor_override    divide the sum by this number instead of the number of entries"""
    kernel_size: Any
    stride: Any
    padding: Any
    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class MaxUnpool1d(_WindowLayer):
    """The inverse of MaxPool1d(return_indices=True): the maxima at their old positions, and zeros elsewhere."""
    kernel_size: Any
    stride: Any
    padding: Any
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None: ...
    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Any: ...

class MaxUnpool2d(_WindowLayer):
    """The inverse of MaxPool2d(return_indices=True): the maxima at their old positions, and zeros elsewhere."""
    kernel_size: Any
    stride: Any
    padding: Any
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None: ...
    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Any: ...

class AdaptiveAvgPool1d(FunctionLayer):
    """Split each axis into output_size parts, and return the means. None keeps the size of an axis.

    adaptive_avg_pool2d is for images (n, c, h, w), and adaptive_avg_pool1d is for signals (n, c, l).
    output_size is one number, or one for each axis; the result is (n, c, *output_size).
    On an axis with n entries, part j of m goes from j * n // m to (j + 1) * n / m, rounded up."""
    output_size: Any
    def __init__(self, output_size: Any) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class AdaptiveAvgPool2d(FunctionLayer):
    """Split each axis into output_size parts, and return the means. None keeps the size of an axis.

    adaptive_avg_pool2d is for images (n, c, h, w), and adaptive_avg_pool1d is for signals (n, c, l).
    output_size is one number, or one for each axis; the result is (n, c, *output_size).
    On an axis with n entries, part j of m goes from j * n // m to (j + 1) * n / m, rounded up."""
    output_size: Any
    def __init__(self, output_size: Any) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class AdaptiveMaxPool1d(FunctionLayer):
    """Split each axis into output_size parts, and return the largest entries.

    adaptive_max_pool2d is for images (n, c, h, w), and adaptive_max_pool1d is for signals (n, c, l).
    With return_indices, also the index of each in the flattened image."""
    output_size: Any
    return_indices: bool
    def __init__(self, output_size: Any, return_indices: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class AdaptiveMaxPool2d(FunctionLayer):
    """Split each axis into output_size parts, and return the largest entries.

    adaptive_max_pool2d is for images (n, c, h, w), and adaptive_max_pool1d is for signals (n, c, l).
    With return_indices, also the index of each in the flattened image."""
    output_size: Any
    return_indices: bool
    def __init__(self, output_size: Any, return_indices: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class LPPool1d(FunctionLayer):
    """(sum of x**p)**(1/p) over each window: its p-norm, but without absolute values. p is norm_type.

    lp_pool2d is for images (n, c, h, w), and lp_pool1d is for signals (n, c, l).
    As in PyTorch, if ceil_mode cuts off a window at the border, the sum is scaled up to a full window."""
    norm_type: float
    kernel_size: Any
    stride: Any
    ceil_mode: bool
    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class LPPool2d(FunctionLayer):
    """(sum of x**p)**(1/p) over each window: its p-norm, but without absolute values. p is norm_type.

    lp_pool2d is for images (n, c, h, w), and lp_pool1d is for signals (n, c, l).
    As in PyTorch, if ceil_mode cuts off a window at the border, the sum is scaled up to a full window."""
    norm_type: float
    kernel_size: Any
    stride: Any
    ceil_mode: bool
    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class _Pad(FunctionLayer):
    """Padding on the last axes.

    padding   (left, right), or (left, right, top, bottom), or one number for all sides"""
    padding: Any
    def __init__(self, padding: Any) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class _ConstantPadNd(_Pad):
    """"""
    padding: Any
    value: float
    def __init__(self, padding: Any, value: float) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class ConstantPad1d(_ConstantPadNd):
    """Pad a sequence with a constant value."""
    padding: Any
    value: float
    def __init__(self, padding: Any, value: float) -> None: ...

class ConstantPad2d(_ConstantPadNd):
    """Pad an image with a constant value."""
    padding: Any
    value: float
    def __init__(self, padding: Any, value: float) -> None: ...

class ZeroPad1d(_Pad):
    """Pad a sequence with zeros."""
    padding: Any
    def __init__(self, padding: Any) -> None: ...

class ZeroPad2d(_Pad):
    """Pad an image with zeros.

    >>> from minigrad import ones
    >>> ZeroPad2d((1, 1, 0, 0))(ones(1, 1, 1, 2))
    tensor([[[[0., 1., 1., 0.]]]])"""
    padding: Any
    def __init__(self, padding: Any) -> None: ...

class ReflectionPad1d(_Pad):
    """Pad a sequence with its entries mirrored at the ends."""
    padding: Any
    def __init__(self, padding: Any) -> None: ...

class ReflectionPad2d(_Pad):
    """Pad an image with its entries mirrored at the edges."""
    padding: Any
    def __init__(self, padding: Any) -> None: ...

class ReplicationPad1d(_Pad):
    """Pad a sequence by repeating its end entries."""
    padding: Any
    def __init__(self, padding: Any) -> None: ...

class ReplicationPad2d(_Pad):
    """Pad an image by repeating its edge entries."""
    padding: Any
    def __init__(self, padding: Any) -> None: ...

class _CircularPad(_Pad):
    """Padding with the entries from the other end."""
    def forward(self, input: Tensor) -> Tensor: ...

class CircularPad1d(_CircularPad):
    """Pad a sequence with the entries from its other end."""
    padding: Any
    def __init__(self, padding: Any) -> None: ...

class CircularPad2d(_CircularPad):
    """Pad an image with the entries from its other side."""
    padding: Any
    def __init__(self, padding: Any) -> None: ...

class Upsample(FunctionLayer):
    """Resize a sequence or an image.

    input          (n, c, l) or (n, c, h, w)
    size           the new size; or
    scale_factor   the factor by which to enlarge it
    mode           "nearest", "linear" (for sequences), "bilinear", ...: see F.interpolate"""
    size: Any
    scale_factor: Any
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None
    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class _Upsampling2d(Upsample):
    """"""
    size: Any
    scale_factor: Any
    def __init__(self, size: Any = None, scale_factor: Any = None) -> None: ...

class UpsamplingNearest2d(_Upsampling2d):
    """Upsample(mode="nearest")"""
    size: Any
    scale_factor: Any
    def __init__(self, size: Any = None, scale_factor: Any = None) -> None: ...

class UpsamplingBilinear2d(_Upsampling2d):
    """Upsample(mode="bilinear", align_corners=True)"""
    size: Any
    scale_factor: Any
    def __init__(self, size: Any = None, scale_factor: Any = None) -> None: ...

class PixelShuffle(FunctionLayer):
    """(..., c * r * r, h, w) to (..., c, h * r, w * r): channels become pixels.

    Source: Shi et al., Real-Time Single Image and Video Super-Resolution (2016)."""
    upscale_factor: int
    def __init__(self, upscale_factor: int) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class PixelUnshuffle(FunctionLayer):
    """(..., c, h * r, w * r) to (..., c * r * r, h, w): the inverse of pixel_shuffle."""
    downscale_factor: int
    def __init__(self, downscale_factor: int) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class ChannelShuffle(FunctionLayer):
    """Reorder the channels: take one from each of `groups` groups in turn."""
    groups: int
    def __init__(self, groups: int) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Unfold(FunctionLayer):
    """Extract the windows of an image as columns (im2col). A convolution is a matrix product with them.

    input     (n, c, h, w)  or (c, h, w)
    returns   (n, c * kh * kw, number of windows)"""
    kernel_size: Any
    dilation: Any
    padding: Any
    stride: Any
    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class Fold(FunctionLayer):
    """Add each column to its window of an image (col2im): the adjoint of unfold.

    input     (n, c * kh * kw, number of windows)  or without n
    returns   (n, c, *output_size)"""
    output_size: Any
    kernel_size: Any
    dilation: Any
    padding: Any
    stride: Any
    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class LocalResponseNorm(FunctionLayer):
    """Each entry divided by (k + alpha * mean of the squares in `size` neighboring channels)**beta.

    input    (n, c, ...)

    Source: Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep
    Convolutional Neural Networks (2012)."""
    size: int
    alpha: float
    beta: float
    k: float
    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class PReLU(Module):
    """x where x > 0, else weight * x, with a learned slope `weight`

    input    (n, c, ...)
    weight   (num_parameters,)    1 for all entries, or c: one for each channel; initially `init`

    Source: He et al., Delving Deep into Rectifiers (2015)."""
    num_parameters: int
    init: float
    device: Any
    dtype: Any
    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Softmax2d(Module):
    """softmax over the channels of (n, c, h, w) or (c, h, w), at each position"""
    def forward(self, input: Tensor) -> Tensor: ...

class Flatten(FunctionLayer):
    """Merge the axes from start_dim to end_dim into one.

    input     (n, c, h, w)
    returns   (n, c * h * w)"""
    start_dim: int
    end_dim: int
    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Unflatten(FunctionLayer):
    """Split one axis into several.

    >>> from minigrad import ones
    >>> Unflatten(1, (2, 3))(ones(4, 6)).shape
    minigrad.Size([4, 2, 3])"""
    dim: int
    unflattened_size: Any
    def __init__(self, dim: int, unflattened_size: Any) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
