"""Table of derivatives, chapter 3: products of matrices.

One picture serves for all of them: the loss sees z = x @ y through g, and dL/dx has the
shape of x; there is only one product of g and y whose shape is that.
"""

import numpy as np

from minigrad.op import linear


@linear(np.matmul, result="strict")
def matmul(x, y, *, out=None):
    """z = x @ y        dL/dx = g @ yᵀ        dL/dy = xᵀ @ g"""
    return np.matmul(x, y, out=out)


def _matmul_dx(g, y, x_shape):
    if y.ndim == 1:  # matrix @ vector: an outer product
        return g[..., None] * y
    if len(x_shape) == 1:  # vector @ matrix
        return np.sum(y * g[..., None, :], axis=-1)
    return g @ np.swapaxes(y, -1, -2)


def _matmul_dy(g, x, y_shape):
    if len(y_shape) == 1:
        return x * g[..., None]
    if x.ndim == 1:
        return x[:, None] * g[..., None, :]
    return np.swapaxes(x, -1, -2) @ g


matmul.vjp(x=_matmul_dx, y=_matmul_dy)
