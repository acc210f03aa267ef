"""Pooling: each window of the input is reduced to its maximum or its mean. There are no parameters.

Read function_layer.py first.
"""

from typing import Any

from minigrad.nn import functional as F
from minigrad.nn.convolution import each_axis
from minigrad.nn.function_layer import FunctionLayer


class _WindowLayer(FunctionLayer, of=None):
    """A layer with windows. By default, the stride is the size of the window."""

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
    _shown = ("kernel_size=", "stride=", "padding=")
    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True


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

    divisor_override: int | None = None


class AdaptiveAvgPool1d(FunctionLayer, of=F.adaptive_avg_pool1d):
    """The means of output_size parts of (n, c, l)."""

    output_size: Any


class AdaptiveAvgPool2d(FunctionLayer, of=F.adaptive_avg_pool2d):
    """The means of output_size parts of the input, for inputs of any size.

    input         (n, c, h, w)
    output_size   (h', w'), or one number for both; None keeps the size of an axis
    returns       (n, c, h', w')
    """

    output_size: Any


class AdaptiveMaxPool1d(FunctionLayer, of=F.adaptive_max_pool1d):
    """The largest entries of output_size parts of (n, c, l)."""

    _shown = ("output_size=",)
    output_size: Any
    return_indices: bool = False


class AdaptiveMaxPool2d(FunctionLayer, of=F.adaptive_max_pool2d):
    """The largest entries of output_size parts of (n, c, h, w)."""

    _shown = ("output_size=",)
    output_size: Any
    return_indices: bool = False


class _LPPoolNd(FunctionLayer, of=None):
    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


class LPPool1d(_LPPoolNd, of=F.lp_pool1d):
    """(sum of x**p)**(1/p) over each window of (n, c, l), where p = norm_type"""


class LPPool2d(_LPPoolNd, of=F.lp_pool2d):
    """(sum of x**p)**(1/p) over each window of (n, c, h, w), where p = norm_type"""


class _MaxUnpoolNd(_WindowLayer, of=None):
    _shown = ("kernel_size=", "stride=", "padding=")
    kernel_size: Any
    stride: Any = None
    padding: Any = 0


class MaxUnpool1d(_MaxUnpoolNd, of=F.max_unpool1d, optional=("output_size",)):
    """The inverse of MaxPool1d(return_indices=True): the maxima at their old positions, and zeros elsewhere."""

    _axes = 1


class MaxUnpool2d(_MaxUnpoolNd, of=F.max_unpool2d, optional=("output_size",)):
    """The inverse of MaxPool2d(return_indices=True): the maxima at their old positions, and zeros elsewhere."""

    _axes = 2
