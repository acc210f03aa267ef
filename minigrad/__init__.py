"""minigrad: automatic differentiation to read, to watch, and to learn.

>>> import minigrad
>>> x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> y = (x * x).sum()
>>> y.backward()
>>> x.grad
tensor([2., 4., 6.])
"""

from minigrad import autograd, dtypes, errors, ops
from minigrad.creation import (
    arange, as_tensor, from_numpy, full, full_like, ones, ones_like, tensor, zeros, zeros_like,
)
from minigrad.dtypes import float32, float64, get_default_dtype, int64, set_default_dtype
from minigrad.modes import (
    enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled, trace_lines,
)
from minigrad.tensor import Size, Tensor
