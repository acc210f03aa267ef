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

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight"]

Numbers = int | Sequence[int]


def conv1d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Numbers = 1,
    padding: Numbers | str = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv1d with respect to its input. See `conv2d_input`."""
    return _of_input(F.conv1d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Numbers = 1,
    padding: Numbers | str = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv1d with respect to its weight. See `conv2d_weight`."""
    return _of_weight(F.conv1d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Numbers = 1,
    padding: Numbers | str = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv2d with respect to its input.

    input_size    the shape of the input
    weight        the kernels
    grad_output   the gradient of the result of conv2d, with its shape

    The other arguments are those of conv2d.

    >>> import minigrad
    >>> conv2d_input((1, 1, 2, 2), minigrad.tensor([[[[3.0]]]]), minigrad.ones(1, 1, 2, 2))
    tensor([[[[3., 3.],
              [3., 3.]]]])
    """
    return _of_input(F.conv2d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Numbers = 1,
    padding: Numbers | str = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv2d with respect to its weight.

    weight_size   the shape of the kernels
    grad_output   the gradient of the result of conv2d, with its shape

    The other arguments are those of conv2d.

    >>> import minigrad
    >>> conv2d_weight(minigrad.ones(1, 1, 2, 2), (1, 1, 1, 1), minigrad.ones(1, 1, 2, 2))
    tensor([[[[4.]]]])
    """
    return _of_weight(F.conv2d, input, weight_size, grad_output, stride, padding, dilation, groups)


def _of_input(convolve: Any, size: Sequence[int], w: Tensor, g: Tensor, *settings: Any) -> Tensor:
    return _derivative(lambda x: convolve(x, w, None, *settings), w.new_zeros(size), g)


def _of_weight(convolve: Any, x: Tensor, size: Sequence[int], g: Tensor, *settings: Any) -> Tensor:
    return _derivative(lambda w: convolve(x, w, None, *settings), x.new_zeros(size), g)


def _derivative(linear: Any, at: Tensor, g: Tensor) -> Tensor:
    """The gradient g of the result of a linear function, passed back through it."""
    recording = is_grad_enabled()
    with enable_grad():
        (found,) = grad(linear(at.requires_grad_()), at, g, create_graph=recording)
    assert found is not None
    return found
