# Written by python -m tests.stubs: see the module beside it.
from typing import Any

from minigrad.core.tensor import Tensor

def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Split each axis into output_size parts, and return the means. None keeps the size of an axis.

    adaptive_avg_pool2d is for images (n, c, h, w), and adaptive_avg_pool1d is for signals (n, c, l).
    output_size is one number, or one for each axis; the result is (n, c, *output_size).
    On an axis with n entries, part j of m goes from j * n // m to (j + 1) * n / m, rounded up.

    >>> adaptive_avg_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[2., 7.]]])"""
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Split each axis into output_size parts, and return the means. None keeps the size of an axis.

    adaptive_avg_pool2d is for images (n, c, h, w), and adaptive_avg_pool1d is for signals (n, c, l).
    output_size is one number, or one for each axis; the result is (n, c, *output_size).
    On an axis with n entries, part j of m goes from j * n // m to (j + 1) * n / m, rounded up.

    >>> adaptive_avg_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[2., 7.]]])"""
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Split each axis into output_size parts, and return the largest entries.

    adaptive_max_pool2d is for images (n, c, h, w), and adaptive_max_pool1d is for signals (n, c, l).
    With return_indices, also the index of each in the flattened image.

    >>> adaptive_max_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[3., 9.]]])"""
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Split each axis into output_size parts, and return the largest entries.

    adaptive_max_pool2d is for images (n, c, h, w), and adaptive_max_pool1d is for signals (n, c, l).
    With return_indices, also the index of each in the flattened image.

    >>> adaptive_max_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[3., 9.]]])"""
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The sampling grid of an affine map: for each pixel of the result, its position in the input.

    theta           (n, 2, 3)       a linear map and a translation
    size            (n, c, h, w)    the size of the result
    align_corners   True: -1 and 1 are the centers of the corner pixels; False: the image borders
    returns         (n, h, w, 2)    x and y, from -1 to 1

    Source: Jaderberg et al., Spatial Transformer Networks (2015)."""
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for selu: dropped entries get selu's minimum, and mean and variance are preserved.

    >>> alpha_dropout(minigrad.tensor([1.0, 2.0]), training=False)
    tensor([1., 2.])

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017)."""
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """Like avg_pool2d, along one axis.

    >>> avg_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[2., 7.]]])"""
def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window. It includes the zeros of the padding, unless count_include_pad is False."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Normalize each channel over the batch: subtract the mean, divide by the standard deviation.

    In training, mean and variance are computed from the batch, and the running statistics move toward
    them by `momentum` (with the unbiased variance). Otherwise the running statistics are used.

    Source: Ioffe and Szegedy, Batch Normalization (2015).

    >>> batch_norm(minigrad.tensor([[1.0], [3.0]]), None, None, training=True).round(decimals=3)
    tensor([[-1.],
            [ 1.]])"""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 + bias[k], for each k

    >>> x1, x2 = minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0, 4.0])
    >>> bilinear(x1, x2, minigrad.eye(2).reshape(1, 2, 2))
    tensor([11.])"""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """Mean of -(target * log p + (1 - target) * log(1 - p)), where p = input.

    Each logarithm is limited to at least -100, so the loss is finite for p = 0."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """binary_cross_entropy of p = sigmoid(input), computed in one step so that nothing overflows.

    pos_weight   a factor for the loss of positive examples"""
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha * (exp(x / alpha) - 1)

    >>> celu(minigrad.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])"""
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """celu, in place."""
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Reorder the channels: take one from each of `groups` groups in turn.

    >>> channel_shuffle(minigrad.arange(4.0).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0., 2., 1., 3.])"""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """For each window and each kernel, the sum of their products (a cross-correlation).

    conv2d is for images, and conv1d is for signals, which have the axis l in place of h and w.

    input     (n, c, h, w)  or (n, c, l), or without n
    weight    (o, c / groups, kh, kw)  or (o, c / groups, k)
    bias      (o,)          or None
    padding   the number of zeros around the input: one number, or one for each axis;
              "valid": none; "same": as many as needed to keep the size
    returns   (n, o, h', w')   where h' = (h + 2 * padding - dilation * (kh - 1) - 1) // stride + 1

    Source: Dumoulin and Visin, A guide to convolution arithmetic (2016).

    >>> conv2d(minigrad.ones(1, 1, 3, 3), minigrad.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    >>> conv1d(minigrad.tensor([[[1.0, 2.0, 3.0, 4.0]]]), minigrad.tensor([[[-1.0, 1.0]]]))
    tensor([[[1., 1., 1.]]])"""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """For each window and each kernel, the sum of their products (a cross-correlation).

    conv2d is for images, and conv1d is for signals, which have the axis l in place of h and w.

    input     (n, c, h, w)  or (n, c, l), or without n
    weight    (o, c / groups, kh, kw)  or (o, c / groups, k)
    bias      (o,)          or None
    padding   the number of zeros around the input: one number, or one for each axis;
              "valid": none; "same": as many as needed to keep the size
    returns   (n, o, h', w')   where h' = (h + 2 * padding - dilation * (kh - 1) - 1) // stride + 1

    Source: Dumoulin and Visin, A guide to convolution arithmetic (2016).

    >>> conv2d(minigrad.ones(1, 1, 3, 3), minigrad.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    >>> conv1d(minigrad.tensor([[[1.0, 2.0, 3.0, 4.0]]]), minigrad.tensor([[[-1.0, 1.0]]]))
    tensor([[[1., 1., 1.]]])"""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """The adjoint of the convolution: each entry, times each kernel, is added to a window of the result.

    conv_transpose2d is for images, and conv_transpose1d is for signals, which have the axis l in place of h and w.

    input     (n, c, h, w)  or (n, c, l), or without n
    weight    (c, o / groups, kh, kw)  or (c, o / groups, k)
    bias      (o,)          or None
    padding   the padding of the corresponding convolution, which is cut off here
    returns   (n, o, h', w')   where
              h' = (h - 1) * stride - 2 * padding + dilation * (kh - 1) + output_padding + 1

    Source: Dumoulin and Visin, A guide to convolution arithmetic (2016), chapter 4.

    >>> conv_transpose2d(minigrad.ones(1, 1, 2, 2), minigrad.ones(1, 1, 2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    >>> conv_transpose1d(minigrad.tensor([[[1.0, 2.0]]]), minigrad.tensor([[[1.0, 10.0]]]))
    tensor([[[ 1., 12., 20.]]])"""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """The adjoint of the convolution: each entry, times each kernel, is added to a window of the result.

    conv_transpose2d is for images, and conv_transpose1d is for signals, which have the axis l in place of h and w.

    input     (n, c, h, w)  or (n, c, l), or without n
    weight    (c, o / groups, kh, kw)  or (c, o / groups, k)
    bias      (o,)          or None
    padding   the padding of the corresponding convolution, which is cut off here
    returns   (n, o, h', w')   where
              h' = (h - 1) * stride - 2 * padding + dilation * (kh - 1) + output_padding + 1

    Source: Dumoulin and Visin, A guide to convolution arithmetic (2016), chapter 4.

    >>> conv_transpose2d(minigrad.ones(1, 1, 2, 2), minigrad.ones(1, 1, 2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    >>> conv_transpose1d(minigrad.tensor([[[1.0, 2.0]]]), minigrad.tensor([[[1.0, 10.0]]]))
    tensor([[[ 1., 12., 20.]]])"""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between x1 and x2 along dim. x1 and x2 are broadcast.

    >>> cosine_similarity(minigrad.tensor([[1.0, 0.0]]), minigrad.tensor([[3.0, 4.0]]))
    tensor([0.6000])"""
def cross_entropy(input: Tensor, target: Any, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> Tensor:
    """Mean of -log p[target], where p = softmax(input).

    input     (n, k)   one row of scores per example, any real numbers; or (k,), or (n, k, ...)
    target    (n,)     integers in 0..k-1, the correct class of each row; or a probability
                       distribution over the classes for each row, shaped like input
    weight    (k,)     the weight of each class
    returns   ()       a scalar, never negative ((n,) with reduction "none")

    The softmax and the logarithm are computed together, as input - logsumexp(input), so that
    large scores do not overflow. The gradient is (p - onehot(target)) / n. With
    label_smoothing e, the target is (1 - e) * onehot(target) + e / k.

    Raises IndexError, with the row, if an entry of target is outside 0..k-1.

    >>> import minigrad
    >>> round(cross_entropy(minigrad.tensor([[2.0, 0.0, 0.0]]), minigrad.tensor([0])).item(), 4)
    0.2395

    Source: Bishop, Pattern Recognition and Machine Learning (2006), section 4.3.4."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> Tensor:
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
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each entry set to 0 with probability p, the others divided by 1 - p.

    Source: Srivastava et al., Dropout (2014).

    >>> dropout(minigrad.ones(3), p=0.5, training=False)
    tensor([1., 1., 1.])
    >>> set(dropout(minigrad.ones(100), p=0.5).tolist()) == {0.0, 2.0}
    True"""
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels, for input (n, c, l) or (c, l)."""
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels, for input (n, c, h, w). As in PyTorch, three axes are treated as (n, c, l)."""
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """z = scale * x where x > 0, else scale * alpha * (exp(x) - 1)        dz/dx = scale * where(x > 0, 1, alpha * exp(x))

    scale is 1; selu is elu with another scale and alpha.

    Source: Clevert et al., Exponential Linear Units (2016)."""
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """elu, in place.

    z = scale * x where x > 0, else scale * alpha * (exp(x) - 1)        dz/dx = scale * where(x > 0, 1, alpha * exp(x))

    scale is 1; selu is elu with another scale and alpha.

    Source: Clevert et al., Exponential Linear Units (2016)."""
def embedding(input: Any, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows weight[input] of a table.

    input         any shape, integers
    weight        (n, d)
    padding_idx   a row that gets no gradient
    max_norm      before rows are read, those with a larger norm are scaled down to it, in place
    scale_grad_by_freq   divide the gradient of a row by the number of times it was read
    sparse        store only the rows that were read in weight.grad
    returns       (*input.shape, d)

    Raises IndexError if an entry of input is outside 0..n-1."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    """The sum, mean or maximum of rows of a table, for each bag of row indices.

    input                (n, l)   one bag per row; or (l,), with the bags one after another
    weight               (k, d)
    offsets              (n,)     the start of each bag, if input is (l,)
    mode                 "sum", "mean" or "max"
    per_sample_weights   like input: a weight for each row, with "sum"
    padding_idx          a row index to ignore
    returns              (n, d)   zeros for an empty bag"""
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels, for input (n, c, ...).

    >>> feature_alpha_dropout(minigrad.tensor([[1.0, 2.0]]), training=False)
    tensor([[1., 2.]])"""
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Add each column to its window of an image (col2im): the adjoint of unfold.

    input     (n, c * kh * kw, number of windows)  or without n
    returns   (n, c, *output_size)"""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> Tensor:
    """(log(var) + (input - target)**2 / var) / 2: the negative log-likelihood of a normal distribution.

    var    limited to at least eps; the gradient ignores this limit
    full   add log(2 * pi) / 2"""
def gelu(input: Tensor, approximate: str = 'none') -> Tensor:
    """z = x * (1 + erf(x / sqrt(2))) / 2        dz/dx = z / x + x * exp(-x * x / 2) / sqrt(2 * 3.141592653589793)

    z is x times the CDF of the normal distribution. With approximate="tanh", erf(x / sqrt(2)) is replaced with
    tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)).

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units (2016)."""
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """z = a * sigmoid(b), for the halves a and b of x along axis        dL/da = g * sigmoid(b)        dL/db = g * z * (1 - sigmoid(b))"""
def grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool | None = None) -> Tensor:
    """Sample an image at the positions in a grid.

    input           (n, c, h, w)
    grid            (n, h', w', 2)    x and y, from -1 (left, top) to 1 (right, bottom)
    mode            "bilinear": interpolate four pixels; "bicubic": sixteen; "nearest": the nearest pixel
    padding_mode    outside the image: "zeros", the nearest pixel of the "border", or a "reflection" of the image
    returns         (n, c, h', w')

    The gradient flows to the image and, but for "nearest", to the grid. With "nearest", the grid gets a gradient of 0.

    Source: Jaderberg et al., Spatial Transformer Networks (2015)."""
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """Normalize each group of channels of each example: subtract the mean, divide by the standard deviation.

    >>> group_norm(minigrad.tensor([[1.0, 3.0, 5.0, 9.0]]), 2).round(decimals=3)
    tensor([[-1.,  1., -1.,  1.]])"""
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A differentiable sample from a categorical distribution: softmax of (logits + Gumbel noise) / tau.

    hard   return a one-hot vector, with the gradient of the soft sample (straight-through)

    Source: Jang, Gu and Poole, Categorical Reparameterization with Gumbel-Softmax (2017)."""
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """z = x where |x| > lambd, else 0        dz/dx = abs(x) > lambd"""
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """z = x / 6 + 1 / 2, clamped to the range from 0 to 1        dz/dx = (x > -3) * (x < 3) / 6"""
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """z = x * hardsigmoid(x)        dz/dx = where(x >= 3, 1, (x > -3) * (x / 3 + 1 / 2))"""
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """z = x clamped to the range from min_val to max_val        dz/dx = 1 - (x <= min_val) - (x >= max_val)

    A NaN stays NaN and gets the gradient."""
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """hardtanh, in place.

    z = x clamped to the range from min_val to max_val        dz/dx = 1 - (x <= min_val) - (x >= max_val)

    A NaN stays NaN and gets the gradient."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """x where target is 1, max(0, margin - x) where it is -1."""
def huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """With d = |input - target|: d**2 / 2 where d <= delta, else delta * (d - delta / 2).

    Source: Huber, Robust Estimation of a Location Parameter (1964)."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Normalize each channel of each example: subtract the mean, divide by the standard deviation.

    The running statistics, if given, move by `momentum` toward the statistics of the examples,
    averaged over the batch. With use_input_stats=False, the running statistics are used instead.

    >>> instance_norm(minigrad.tensor([[[1.0, 3.0], [5.0, 9.0]]])).round(decimals=3)
    tensor([[[-1.,  1.],
             [-1.,  1.]]])"""
def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """Resize the input (n, c, ...) along the spatial axes.

    size            the new sizes, or one for all axes
    scale_factor    instead of size: the new size divided by the old one
    mode            "nearest", "nearest-exact": the nearest entry;
                    "linear", "bilinear", "trilinear": linear interpolation; "bicubic": cubic interpolation;
                    "lanczos": a windowed sinc;
                    "area": the mean of the entries that a new entry covers
    align_corners   whether the first and last entries keep their positions
    antialias       for "bilinear", "bicubic" and "lanczos": take all entries that a new one covers into account

    >>> interpolate(minigrad.tensor([[[1.0, 3.0]]]), size=4, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])"""
def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', log_target: bool = False) -> Tensor:
    """Mean of target * (log target - input), where input is log p.

    reduction   "batchmean" divides the sum by the number of rows, which gives the true KL divergence
    log_target  whether target is log-probabilities, too

    Source: Kullback and Leibler, On Information and Sufficiency (1951)."""
def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The mean of |input - target|."""
def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """Normalize over the last axes: subtract the mean, divide by the standard deviation, then scale and shift.

    Source: Ba, Kiros and Hinton, Layer Normalization (2016).

    >>> layer_norm(minigrad.tensor([[1.0, 3.0], [5.0, 9.0]]), (2,)).round(decimals=3)
    tensor([[-1.,  1.],
            [-1.,  1.]])"""
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """z = x where x > 0, else negative_slope * x        dz/dx = where(x > 0, 1, negative_slope)"""
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """leaky_relu, in place.

    z = x where x > 0, else negative_slope * x        dz/dx = where(x > 0, 1, negative_slope)"""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias

    input    (..., n)   one example per row
    weight   (m, n)     or (n,) for a single output without an axis
    bias     (m,)       or None
    returns  (..., m)"""
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Each entry divided by (k + alpha * mean of the squares in `size` neighboring channels)**beta.

    input    (n, c, ...)

    Source: Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep
    Convolutional Neural Networks (2012)."""
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(x)), computed in one step so that large scores do not overflow"""
def logsigmoid(input: Tensor) -> Tensor:
    """z = -log(1 + exp(-x))        dz/dx = 1 / (1 + exp(x))

    z is log(sigmoid(x)), computed without overflow."""
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of x**p)**(1/p) over each window: its p-norm, but without absolute values. p is norm_type.

    lp_pool2d is for images (n, c, h, w), and lp_pool1d is for signals (n, c, l).
    As in PyTorch, if ceil_mode cuts off a window at the border, the sum is scaled up to a full window."""
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of x**p)**(1/p) over each window: its p-norm, but without absolute values. p is norm_type.

    lp_pool2d is for images (n, c, h, w), and lp_pool1d is for signals (n, c, l).
    As in PyTorch, if ceil_mode cuts off a window at the border, the sum is scaled up to a full window."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """max(0, -target * (x1 - x2) + margin): x1 should be greater than x2 if target is 1, less if it is -1."""
def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest entry of each window. stride is kernel_size by default.

    max_pool2d is for images (n, c, h, w), and max_pool1d is for signals (n, c, l).
    With return_indices, also the index of each in the flattened image.

    >>> import minigrad
    >>> max_pool2d(minigrad.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    >>> max_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[3., 9.]]])"""
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest entry of each window. stride is kernel_size by default.

    max_pool2d is for images (n, c, h, w), and max_pool1d is for signals (n, c, l).
    With return_indices, also the index of each in the flattened image.

    >>> import minigrad
    >>> max_pool2d(minigrad.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    >>> max_pool1d(minigrad.tensor([[[1.0, 3.0, 5.0, 9.0]]]), 2)
    tensor([[[3., 9.]]])"""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """The inverse of max_pool with return_indices=True: the maxima at their old positions, and zeros elsewhere.

    max_unpool2d is for images (n, c, h, w), and max_unpool1d is for signals (n, c, l)."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """The inverse of max_pool with return_indices=True: the maxima at their old positions, and zeros elsewhere.

    max_unpool2d is for images (n, c, h, w), and max_unpool1d is for signals (n, c, l)."""
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """z = x * tanh(log(1 + exp(x)))        dz/dx = z / x + x * (1 - (z / x)**2) / (1 + exp(-x))

    z is x * tanh(softplus(x))."""
def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The mean of (input - target)**2.

    >>> import minigrad
    >>> mse_loss(minigrad.tensor([1.0, 2.0]), minigrad.tensor([1.0, 4.0]))
    tensor(2.)"""
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> Any:
    """What nn.MultiheadAttention computes, with its parameters as arguments.

    query               (l, n, e) or (l, e)            length first
    in_proj_weight      (3 * e, e), or the three *_proj_weight with use_separate_proj_weight
    attn_mask           (l, s) or (n * heads, l, s)    for each query, which keys to ignore
    key_padding_mask    (n, s)                         keys that are padding, for every query
    static_k, static_v  (n * heads, s, e / heads)      keys and values in place of the projected ones

    Masks exclude keys. A boolean mask is True for keys to ignore; a mask of numbers is added to the scores.

    >>> from minigrad import eye, ones, zeros
    >>> x = ones(2, 1, 4)
    >>> output, weights = multi_head_attention_forward(
    ...     x, x, x, 4, 2, ones(12, 4), zeros(12), None, None, False, 0.0, eye(4), zeros(4)
    ... )
    >>> output[0, 0], weights[0, 0]
    (tensor([4., 4., 4., 4.]), tensor([0.5000, 0.5000]))"""
def multi_margin_loss(input: Tensor, target: Any, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The sum over the wrong classes of max(0, margin - correct score + wrong score)**p, divided by k.

    input    (n, k) or (k,)
    target   (n,)   or ()     integers in 0..k-1

    Source: Crammer and Singer, Multiclass Kernel-based Vector Machines (2001)."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """For all pairs of a correct and a wrong class: max(0, 1 - (correct score - wrong score)), summed and divided by k.

    input     (n, k) or (k,)
    target    (n, k) or (k,)   the correct classes, followed by -1"""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """binary_cross_entropy_with_logits, first averaged over the classes of each example; several can be correct.

    input, target   (n, k)   the target is 0 or 1"""
def nll_loss(input: Tensor, target: Any, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """Mean of -log p[target], given log p (from log_softmax).

    input          (n, k) or (k,) or (n, k, ...)
    target         (n,)   or ()   or (n, ...)     integers in 0..k-1
    weight         (k,)                           the weight of each class
    ignore_index   a target value to ignore"""
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """x divided by its p-norm along dim (or by eps, if the norm is smaller)."""
def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """For each integer, a row of zeros with a 1 at that index.

    >>> import minigrad
    >>> one_hot(minigrad.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])"""
def pad(input: Tensor, pad: Any, mode: str = 'constant', value: float | None = None) -> Tensor:
    """The input with padding on the last axes: `pad` is (before, after) for the last axis, then for
    the one before it, and so on.

    mode   "constant": `value`, or 0;  "reflect": mirrored at the last entry;
           "replicate": the last entry;  "circular": the entries from the other end

    >>> import minigrad
    >>> pad(minigrad.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])"""
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis.

    >>> pairwise_distance(minigrad.tensor([[0.0, 0.0]]), minigrad.tensor([[3.0, 4.0]]), eps=0.0)
    tensor([5.])"""
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distance between each row and each later row: n * (n - 1) / 2 numbers.

    >>> pdist(minigrad.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])"""
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., c * r * r, h, w) to (..., c, h * r, w * r): channels become pixels.

    Source: Shi et al., Real-Time Single Image and Video Super-Resolution (2016).

    >>> pixel_shuffle(minigrad.arange(4).reshape(1, 4, 1, 1), 2)
    tensor([[[[0, 1],
              [2, 3]]]])"""
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., c, h * r, w * r) to (..., c * r * r, h, w): the inverse of pixel_shuffle.

    >>> pixel_unshuffle(minigrad.arange(4).reshape(1, 1, 2, 2), 2).shape
    minigrad.Size([1, 4, 1, 1])"""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """rate - target * log(rate): the negative log-likelihood of a Poisson distribution.

    log_input   True: input is the logarithm of the rate; False: input is the rate
    full        add the term that does not depend on the rate: Stirling's approximation of log(target!)"""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, else weight * x: a leaky_relu with a learned slope.

    weight   one number for all entries, or one for each channel (the second axis)

    Source: He et al., Delving Deep into Rectifiers (2015).

    >>> prelu(minigrad.tensor([-2.0, 3.0]), minigrad.tensor([0.5]))
    tensor([-1.,  3.])"""
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """z = maximum(x, 0)        dz/dx = z != 0

    At 0, where the derivative is undefined, it is 0. A NaN gets the gradient.

    >>> minigrad.tensor([-1.0, 2.0]).relu()
    tensor([0., 2.])"""
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)"""
def relu_(input: Tensor) -> Tensor:
    """relu, in place.

    z = maximum(x, 0)        dz/dx = z != 0

    At 0, where the derivative is undefined, it is 0. A NaN gets the gradient.

    >>> minigrad.tensor([-1.0, 2.0]).relu()
    tensor([0., 2.])"""
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Normalize over the last axes: divide by the root mean square, then scale.

    Source: Zhang and Sennrich, Root Mean Square Layer Normalization (2019).

    >>> rms_norm(minigrad.tensor([[3.0, 4.0]]), (2,)).round(decimals=3)
    tensor([[0.8490, 1.1310]])"""
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    """leaky_relu with a random slope for each entry in training, between lower and upper.

    In evaluation, the slope is (lower + upper) / 2.

    Source: Xu et al., Empirical Evaluation of Rectified Activations (2015).

    >>> rrelu(minigrad.tensor([-2.0, 3.0]), lower=0.25, upper=0.75)
    tensor([-1.,  3.])"""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """softmax(query @ key.T * scale) @ value

    query       (..., l, d)
    key         (..., s, d)
    value       (..., s, v)
    attn_mask   (..., l, s)   booleans, False for keys that are ignored; or numbers that are
                added to the scores
    is_causal   query i attends only to the keys 0..i, in addition to attn_mask
    scale       by default 1 / sqrt(d), so that scores do not grow with d
    enable_gqa  allow fewer heads for keys and values, each shared by several neighboring query heads
    returns     (..., l, v)

    A query with no allowed keys gets zeros.

    >>> import minigrad
    >>> x = minigrad.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> scaled_dot_product_attention(x, x, x, is_causal=True)
    tensor([[1.0000, 0.0000],
            [0.3302, 0.6698]])

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.2.1."""
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu, scaled so that activations keep mean 0 and variance 1 from layer to layer.

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017).

    >>> selu(minigrad.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])"""
def selu_(input: Tensor) -> Tensor:
    """selu, in place."""
def sigmoid(input: Tensor) -> Tensor:
    """z = 1 / (1 + exp(-x))        dz/dx = z * (1 - z)

    A z close to 0 has all its digits, so log(z) is finite until exp(-x) overflows, and then z is 0.

    >>> minigrad.tensor([0.0, 2.0]).sigmoid()
    tensor([0.5000, 0.8808])"""
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """z = x / (1 + exp(-x))        dz/dx = (1 + x * exp(-x) / (1 + exp(-x))) / (1 + exp(-x))

    z is x * sigmoid(x), also known as swish."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', beta: float = 1.0) -> Tensor:
    """With d = |input - target|: d**2 / (2 * beta) where d < beta, else d - beta / 2."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """log(1 + exp(-target * x)), without overflow, where target is 1 or -1."""
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x) / sum of exp(x) along dim: positive numbers that sum to 1.

    >>> import minigrad
    >>> softmax(minigrad.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])"""
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-x)"""
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """z = log(1 + exp(beta * x)) / beta        dz/dx = where(beta * x > threshold, 1, 1 / (1 + exp(-beta * x)))

    Where beta * x > threshold, z is x."""
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """z = x, shifted by lambd toward 0, where |x| > lambd, else 0        dz/dx = abs(x) > lambd"""
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)"""
def tanh(input: Tensor) -> Tensor:
    """z = tanh(x)        dz/dx = 1 - z**2

    >>> minigrad.tensor([0.0, 1.0]).tanh()
    tensor([0.0000, 0.7616])"""
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)"""
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """z = value where x <= threshold, else x        dz/dx = 1 - (x <= threshold)

    A NaN stays NaN and gets the gradient.

    >>> minigrad.threshold(minigrad.tensor([0.5, 3.0]), threshold=1.0, value=20.0)
    tensor([20.,  3.])"""
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """threshold, in place.

    z = value where x <= threshold, else x        dz/dx = 1 - (x <= threshold)

    A NaN stays NaN and gets the gradient.

    >>> minigrad.threshold(minigrad.tensor([0.5, 3.0]), threshold=1.0, value=20.0)
    tensor([20.,  3.])"""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """max(0, distance to the positive - distance to the negative + margin)."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean') -> Tensor:
    """triplet_margin_loss with another distance function."""
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Extract the windows of an image as columns (im2col). A convolution is a matrix product with them.

    input     (n, c, h, w)  or (c, h, w)
    returns   (n, c * kh * kw, number of windows)"""
def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None) -> Tensor:
    """The deprecated name of `interpolate`."""
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(mode="bilinear", align_corners=True), with a warning."""
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(mode="nearest"), with a warning."""
