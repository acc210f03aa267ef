"""The table of layers that only hold the settings of a function: activations, dropout, losses, pooling, images.

A row names the function, and the layer gets its settings and its docstring. A layer that needs more than that has a
class statement. The last section has the few layers that do not apply a function.

Read function_layer.py first. Editors and mypy read table.pyi, which `python -m tests.stubs` writes.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core import modes
from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.shapes import Several
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import full
from minigrad.nn import functional as F
from minigrad.nn.convolution import each_axis
from minigrad.nn.function_layer import FunctionLayer, layer
from minigrad.nn.functional.arguments import check_probability, reduction_of
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter

# ------------------------------------------------------------------------ activations
#
# Nonlinear functions between layers. Two linear layers in a row are equivalent to a single linear layer, unless there
# is an activation between them. A module with `inplace` can overwrite its input with its result.


class ReLU(FunctionLayer, of=F.relu):
    """max(x, 0)

    >>> from minigrad import tensor
    >>> ReLU()(tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """


class Hardtanh(FunctionLayer, of=F.hardtanh):
    """x clamped to the range from min_val to max_val"""

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


class Softmax(FunctionLayer, of=F.softmax):
    """exp(x) / sum of exp(x) along dim: positive numbers that sum to 1

    >>> from minigrad import tensor
    >>> Softmax(dim=0)(tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """


LeakyReLU = layer("LeakyReLU", F.leaky_relu)
RReLU = layer("RReLU", F.rrelu)
Threshold = layer("Threshold", F.threshold)
Hardsigmoid = layer("Hardsigmoid", F.hardsigmoid, shown="")
Hardswish = layer("Hardswish", F.hardswish, shown="")
Hardshrink = layer("Hardshrink", F.hardshrink, shown="lambd")
Softshrink = layer("Softshrink", F.softshrink, shown="lambd")
Sigmoid = layer("Sigmoid", F.sigmoid)
Tanh = layer("Tanh", F.tanh)
LogSigmoid = layer("LogSigmoid", F.logsigmoid)
Softsign = layer("Softsign", F.softsign)
Tanhshrink = layer("Tanhshrink", F.tanhshrink)
Softplus = layer("Softplus", F.softplus)
ELU = layer("ELU", F.elu)
CELU = layer("CELU", F.celu)
SELU = layer("SELU", F.selu)
SiLU = layer("SiLU", F.silu)
Mish = layer("Mish", F.mish)
GELU = layer("GELU", F.gelu)
GLU = layer("GLU", F.glu)
LogSoftmax = layer("LogSoftmax", F.log_softmax)
Softmin = layer("Softmin", F.softmin)

# ------------------------------------------------------------------------ dropout
#
# In training, set random entries to zero. This prevents units from relying on particular other units. The entries that
# are kept are divided by 1 - p, which preserves the mean. After `eval()`, nothing is dropped.


class _DropoutNd(FunctionLayer, of=None):
    """The base class of dropout layers."""

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


class AlphaDropout(_DropoutNd, of=F.alpha_dropout):
    """Dropout that preserves mean 0 and variance 1, for networks with SELU.

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017).
    """

    _not_passed = ("inplace",)  # as in PyTorch


class FeatureAlphaDropout(_DropoutNd, of=F.feature_alpha_dropout):
    """AlphaDropout of whole channels, for input (n, c, ...)."""

    _not_passed = ("inplace",)


Dropout1d = layer("Dropout1d", F.dropout1d, _DropoutNd)
Dropout2d = layer("Dropout2d", F.dropout2d, _DropoutNd)

# ------------------------------------------------------------------------ losses
#
# One number that measures the difference between outputs and targets. `reduction` is "mean", "sum", or "none" for no
# reduction; `size_average` and `reduce` are PyTorch's older arguments for the same purpose.


class _Loss(FunctionLayer, of=None):
    """The base class of losses. It converts the older arguments to a reduction; weights are buffers."""

    _shown = ()
    _not_passed = ("size_average", "reduce")

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = reduction_of(size_average, reduce, reduction)

    def _keep(self, *, reduction: str = "mean", **arguments: Any) -> None:
        size_average, reduce = (arguments.pop(name, None) for name in self._not_passed)
        for name in ("weight", "pos_weight"):
            if name in arguments:
                self.register_buffer(name, arguments.pop(name))
        super()._keep(reduction=reduction_of(size_average, reduce, reduction), **arguments)


class _WeightedLoss(_Loss, of=None):
    """The base class of losses with a weight for each class or entry."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MSELoss(_Loss, of=F.mse_loss, without="weight"):
    """(input - target)**2

    >>> from minigrad import tensor
    >>> MSELoss()(tensor([1.0, 2.0]), tensor([1.0, 4.0]))
    tensor(2.)
    """


class PoissonNLLLoss(_Loss, of=F.poisson_nll_loss):
    """rate - target * log(rate): the negative log-likelihood of a Poisson distribution, up to a constant

    log_input   whether input is log(rate). Otherwise it is the rate, and eps is added before the logarithm
    full        add Stirling's approximation of log(target!) where target > 1
    """

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


class _TripletLoss(_Loss, of=None):
    def _check(self) -> None:
        if self.margin <= 0:
            raise ValueError(
                f"{type(self).__name__}: expected margin to be greater than 0, got {self.margin} instead"
            )


class TripletMarginWithDistanceLoss(
    _TripletLoss, of=F.triplet_margin_with_distance_loss, kw_only=True
):
    """TripletMarginLoss with another distance: a function or module that takes two tensors

    distance_function   by default, PairwiseDistance
    """

    def _check(self) -> None:
        super()._check()
        self.distance_function: Callable[[Tensor, Tensor], Tensor] = (
            self.distance_function or PairwiseDistance()
        )


class PairwiseDistance(FunctionLayer, of=F.pairwise_distance):
    """The p-norm of x1 - x2 + eps along the last axis"""

    _shown = ()
    _renamed = {"p": "norm"}


class CrossEntropyLoss(_WeightedLoss, of=F.cross_entropy):
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


class MultiMarginLoss(_WeightedLoss, of=F.multi_margin_loss):
    """sum over the wrong classes j of max(0, margin - x[target] + x[j])**p / k

    input    (n, k) or (k,)
    target   (n,)   or ()
    """

    def _check(self) -> None:
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.ndim != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {self.weight.ndim}D instead"
            )


L1Loss = layer("L1Loss", F.l1_loss, _Loss, without="weight")
SmoothL1Loss = layer("SmoothL1Loss", F.smooth_l1_loss, _Loss)


class HuberLoss(_Loss, of=F.huber_loss, without="weight"):
    """With d = |input - target|: d**2 / 2 where d <= delta, else delta * (d - delta / 2).

    Source: Huber, Robust Estimation of a Location Parameter (1964).
    """

    def _check(self) -> None:
        if not isinstance(self.delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")


HingeEmbeddingLoss = layer("HingeEmbeddingLoss", F.hinge_embedding_loss, _Loss)
MarginRankingLoss = layer("MarginRankingLoss", F.margin_ranking_loss, _Loss)
CosineEmbeddingLoss = layer("CosineEmbeddingLoss", F.cosine_embedding_loss, _Loss)
TripletMarginLoss = layer("TripletMarginLoss", F.triplet_margin_loss, _TripletLoss)
CosineSimilarity = layer("CosineSimilarity", F.cosine_similarity, shown="")
NLLLoss = layer("NLLLoss", F.nll_loss, _WeightedLoss)
BCELoss = layer("BCELoss", F.binary_cross_entropy, _WeightedLoss)
BCEWithLogitsLoss = layer("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, _WeightedLoss)
KLDivLoss = layer("KLDivLoss", F.kl_div, _Loss)
SoftMarginLoss = layer("SoftMarginLoss", F.soft_margin_loss, _Loss)
MultiLabelSoftMarginLoss = layer(
    "MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss, _WeightedLoss
)
MultiLabelMarginLoss = layer("MultiLabelMarginLoss", F.multilabel_margin_loss, _Loss)
CTCLoss = layer("CTCLoss", F.ctc_loss, _Loss)

# ------------------------------------------------------------------------ pooling
#
# Each window of the input is reduced to its maximum or its mean.


class _WindowLayer(FunctionLayer, of=None):
    """A layer with windows. By default, the stride is the size of the window."""

    _shown = ("kernel_size=", "stride=", "padding=")
    _axes = 0  # if not 0, the settings are stored as tuples with one number for each axis

    def _keep(self, *, kernel_size: Any = None, stride: Any = None, **arguments: Any) -> None:
        stride = kernel_size if stride is None else stride
        super()._keep(kernel_size=kernel_size, stride=stride, **arguments)
        for name in ("kernel_size", "stride", "padding") if self._axes else ():
            setattr(self, name, each_axis(getattr(self, name), self._axes))


class _MaxPoolNd(_WindowLayer, of=None):
    _shown = ("kernel_size=", "stride=", "padding=", "dilation=", "ceil_mode=")
    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False


class MaxPool1d(_MaxPoolNd, of=F.max_pool1d):
    """The largest entry of each window of (n, c, l); see MaxPool2d."""


class MaxPool2d(_MaxPoolNd, of=F.max_pool2d):
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
    tensor([[[4.]]])
    """


class _AvgPoolNd(_WindowLayer, of=None):
    """The base class of AvgPool1d and AvgPool2d."""


class AvgPool1d(_AvgPoolNd, of=F.avg_pool1d):
    """The mean of each window of (n, c, l); see AvgPool2d."""

    _axes = 1


class AvgPool2d(_AvgPoolNd, of=F.avg_pool2d):
    """The mean of each window.

    input     (n, c, h, w)       or without n
    returns   (n, c, h', w')     h' = (h + 2 * padding - kh) // stride + 1

    padding             the width of the padding with zeros
    count_include_pad   include the padding in the mean
    divisor_override    divide the sum by this number instead of the number of entries
    """


class MaxUnpool1d(_WindowLayer, of=F.max_unpool1d, optional=("output_size",)):
    """The inverse of MaxPool1d(return_indices=True): the maxima at their old positions, and zeros elsewhere."""

    _axes = 1


class MaxUnpool2d(_WindowLayer, of=F.max_unpool2d, optional=("output_size",)):
    """The inverse of MaxPool2d(return_indices=True): the maxima at their old positions, and zeros elsewhere."""

    _axes = 2


AdaptiveAvgPool1d = layer("AdaptiveAvgPool1d", F.adaptive_avg_pool1d)
AdaptiveAvgPool2d = layer("AdaptiveAvgPool2d", F.adaptive_avg_pool2d)
AdaptiveMaxPool1d = layer("AdaptiveMaxPool1d", F.adaptive_max_pool1d, shown="output_size=")
AdaptiveMaxPool2d = layer("AdaptiveMaxPool2d", F.adaptive_max_pool2d, shown="output_size=")
LPPool1d = layer("LPPool1d", F.lp_pool1d)
LPPool2d = layer("LPPool2d", F.lp_pool2d)

# ------------------------------------------------------------------------ padding


class _Pad(FunctionLayer, of=F.pad):
    """Padding on the last axes.

    padding   (left, right), or (left, right, top, bottom), or one number for all sides
    """

    _shown = ("padding",)
    _renamed = {"pad": "padding"}
    axes, mode = 1, "constant"
    padding: Any

    def __init_subclass__(
        cls, axes: int | None = None, mode: str | None = None, **settings: Any
    ) -> None:
        super().__init_subclass__(**settings)
        cls.axes, cls.mode = axes or cls.axes, mode or cls.mode

    def _keep(self, *, padding: Any = None, **arguments: Any) -> None:
        super()._keep(padding=each_axis(padding, 2 * self.axes), **arguments)


class _ConstantPadNd(_Pad, of=F.pad):
    _shown = ("padding=", "value=")
    value: float


class ConstantPad1d(_ConstantPadNd):
    """Pad a sequence with a constant value."""


class ConstantPad2d(_ConstantPadNd, axes=2):
    """Pad an image with a constant value."""


class ZeroPad1d(_Pad):
    """Pad a sequence with zeros."""


class ZeroPad2d(_Pad, axes=2):
    """Pad an image with zeros.

    >>> from minigrad import ones
    >>> ZeroPad2d((1, 1, 0, 0))(ones(1, 1, 1, 2))
    tensor([[[[0., 1., 1., 0.]]]])
    """


class ReflectionPad1d(_Pad, mode="reflect"):
    """Pad a sequence with its entries mirrored at the ends."""


class ReflectionPad2d(_Pad, axes=2, mode="reflect"):
    """Pad an image with its entries mirrored at the edges."""


class ReplicationPad1d(_Pad, mode="replicate"):
    """Pad a sequence by repeating its end entries."""


class ReplicationPad2d(_Pad, axes=2, mode="replicate"):
    """Pad an image by repeating its edge entries."""


class _CircularPad(_Pad, mode="circular"):
    """Padding with the entries from the other end."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, padded."""
        if input.ndim not in (self.axes + 1, self.axes + 2):
            raise ValueError(
                f"expected {self.axes + 1}D or {self.axes + 2}D input (got {input.ndim}D input)"
            )
        return super().forward(input)


class CircularPad1d(_CircularPad, mode="circular"):
    """Pad a sequence with the entries from its other end."""


class CircularPad2d(_CircularPad, axes=2, mode="circular"):
    """Pad an image with the entries from its other side."""


# ------------------------------------------------------------------------ resizing, windows, channels


class Upsample(FunctionLayer, of=F.interpolate, without="antialias"):
    """Resize a sequence or an image.

    input          (n, c, l) or (n, c, h, w)
    size           the new size; or
    scale_factor   the factor by which to enlarge it
    mode           "nearest", "linear" (for sequences), "bilinear", ...: see F.interpolate
    """

    def _keep(self, *, scale_factor: Any = None, **arguments: Any) -> None:
        if isinstance(scale_factor, tuple):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        elif scale_factor is not None:
            scale_factor = float(scale_factor) or None
        super()._keep(scale_factor=scale_factor, **arguments)

    def extra_repr(self) -> str:
        """The size, or the factor, and the mode."""
        size = "size=" if self.scale_factor is None else "scale_factor="
        return self._settings_text(size, "mode=")


class _Upsampling2d(Upsample):
    _how: tuple[Any, ...]  # the mode, and align_corners

    def __init__(
        self, size: Several | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, *self._how)


class UpsamplingNearest2d(_Upsampling2d):
    """Upsample(mode="nearest")"""

    _how = ("nearest",)


class UpsamplingBilinear2d(_Upsampling2d):
    """Upsample(mode="bilinear", align_corners=True)"""

    _how = ("bilinear", True)


PixelShuffle = layer("PixelShuffle", F.pixel_shuffle)
PixelUnshuffle = layer("PixelUnshuffle", F.pixel_unshuffle)
ChannelShuffle = layer("ChannelShuffle", F.channel_shuffle)
Unfold = layer("Unfold", F.unfold)
Fold = layer("Fold", F.fold)
LocalResponseNorm = layer("LocalResponseNorm", F.local_response_norm, shown="size alpha= beta= k=")

# ------------------------------------------------------------------------ beside the table


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


class Softmax2d(Module):
    """softmax over the channels of (n, c, h, w) or (c, h, w), at each position"""

    def forward(self, input: Tensor) -> Tensor:
        """(n, c, h, w) to the same shape."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class Flatten(FunctionLayer, of=None):
    """Merge the axes from start_dim to end_dim into one.

    input     (n, c, h, w)
    returns   (n, c * h * w)
    """

    start_dim: int = 1
    end_dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        """(..., a, ..., b, ...) to (..., a * ... * b, ...)."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(FunctionLayer, of=None):
    """Split one axis into several.

    >>> from minigrad import ones
    >>> Unflatten(1, (2, 3))(ones(4, 6)).shape
    minigrad.Size([4, 2, 3])
    """

    dim: int
    unflattened_size: Any

    def forward(self, input: Tensor) -> Tensor:
        """(..., n, ...) to (..., *unflattened_size, ...)."""
        return input.unflatten(self.dim, self.unflattened_size)

    def _check(self) -> None:
        unflattened_size = self.unflattened_size
        if not isinstance(self.dim, int):
            raise TypeError(f"dim must be int, but found type {type(self.dim).__name__}")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for k, n in enumerate(unflattened_size):
            if not isinstance(n, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(n).__name__} at pos {k}"
                )
