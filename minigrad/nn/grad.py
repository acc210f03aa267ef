"""The derivatives of convolutions as functions, for a backward that you write yourself (torch.nn.grad).

    z = conv2d(x, w)        dL/dx = conv2d_input(x.shape, w, dL/dz)       dL/dw = conv2d_weight(x, w.shape, dL/dz)

A convolution is linear in x and in w, so each derivative needs only the other one. The results can be
differentiated themselves.
"""

from collections.abc import Sequence
from typing import Any

from minigrad.autograd.reverse_ad import grad
from minigrad.core.modes import enable_grad, is_grad_enabled
from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.functional.arguments import for_axes

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight"]

Numbers = int | Sequence[int]


def _input(
    axes: int, input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Numbers = 1,
    padding: Numbers | str = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of a convolution with respect to its input.

    input_size    the shape of the input
    weight        the kernels
    grad_output   the gradient of the result of the convolution, with its shape

    The other arguments are those of the convolution.

    >>> import minigrad
    >>> conv2d_input((1, 1, 2, 2), minigrad.tensor([[[[3.0]]]]), minigrad.ones(1, 1, 2, 2))
    tensor([[[[3., 3.],
              [3., 3.]]]])
    """
    convolve = (F.conv1d, F.conv2d)[axes - 1]
    linear = lambda x: convolve(x, weight, None, stride, padding, dilation, groups)
    return _derivative(linear, weight.new_zeros(input_size), grad_output)


conv1d_input, conv2d_input = for_axes(_input, "conv{}d_input")


def _weight(
    axes: int, input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Numbers = 1,
    padding: Numbers | str = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of a convolution with respect to its weight.

    weight_size   the shape of the kernels
    grad_output   the gradient of the result of the convolution, with its shape

    The other arguments are those of the convolution.

    >>> import minigrad
    >>> conv2d_weight(minigrad.ones(1, 1, 2, 2), (1, 1, 1, 1), minigrad.ones(1, 1, 2, 2))
    tensor([[[[4.]]]])
    """
    convolve = (F.conv1d, F.conv2d)[axes - 1]
    linear = lambda w: convolve(input, w, None, stride, padding, dilation, groups)
    return _derivative(linear, input.new_zeros(weight_size), grad_output)


conv1d_weight, conv2d_weight = for_axes(_weight, "conv{}d_weight")


def _derivative(linear: Any, at: Tensor, g: Tensor) -> Tensor:
    """The gradient g of the result of a linear function, passed back through it."""
    recording = is_grad_enabled()
    with enable_grad():
        (found,) = grad(linear(at.requires_grad_()), at, g, create_graph=recording)
    assert found is not None
    return found
