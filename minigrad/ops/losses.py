"""Table of derivatives, chapter 6, continued: softmax and loss functions.

cross_entropy is one op because its gradient, p - onehot, is more accurate than the chain rule through exp and log.
"""

import math

import numpy as np

from minigrad.core.op import elementwise, general, linear
from minigrad.ops.indexing import gather, index_put, own_places, scatter_add


@general(result="float", refuses="biu")
def softmax(x, *, axis):
    """z = exp(x) / sum of exp(x) along axis        dL/dx = z * (g - sum of g * z)

    The largest entry is subtracted first. This does not change the result, and exp cannot overflow.
    """
    z = np.exp(x - greatest(x, axis))
    z /= np.add.reduce(z, axis, None, None, True)
    return z


def greatest(x, axis):
    """The largest entry along axis, which is kept with size 1. An empty axis gives -inf."""
    return np.maximum.reduce(x, axis, None, None, True, -np.inf)


def _softmax_dx(g, z, axis):
    y = g * z
    return y - z * np.sum(y, axis=axis, keepdims=True)


softmax.vjp(x=_softmax_dx).jvp(lambda x_dot, z, axis: _softmax_dx(x_dot, z, axis))


@general(result="float", refuses="biu")
def log_softmax(x, *, axis):
    """z = x - log of the sum of exp(x) along axis        dL/dx = g - softmax(x) * sum of g"""
    z = x - greatest(x, axis)
    z -= np.log(np.add.reduce(np.exp(z), axis, None, None, True))
    return z


log_softmax.vjp(x=lambda g, z, axis: g - np.exp(z) * np.sum(g, axis=axis, keepdims=True))
log_softmax.jvp(lambda x_dot, z, axis: x_dot - np.sum(np.exp(z) * x_dot, axis=axis, keepdims=True))


def kind_of_nll(target):
    """The name of the node of a loss of classes: PyTorch has a function of its own for the pixels of images."""
    return "NllLossBackward0" if target.ndim < 2 else "NllLoss2DBackward0"


@general(result="float", node=kind_of_nll)
def cross_entropy(x, *, target, weights, axis, reduced):
    """z = sum of weights * (logsumexp(x) - x[target])        dL/dx = weights * g * (softmax(x) - onehot)

    Without `reduced`, the losses are not summed.
    """
    top = greatest(x, axis)
    z = np.log(np.add.reduce(np.exp(x - top), axis)) + top.reshape(target.shape)
    z = (z - x[at_class(target, axis)]) * weights
    return np.add.reduce(z, axis=None) if reduced else z


def at_class(target, axis):
    """The index of the entries x[n, target[n, ...], ...]."""
    mesh = own_places(target.shape)
    return (*mesh[:axis], target, *mesh[axis:])


def _cross_entropy_dx(g, x, x_shape, target, weights, axis):
    g = np.broadcast_to(g * weights, target.shape)
    column = tuple(1 if i == axis else n for i, n in enumerate(x_shape))
    if not isinstance(x, np.ndarray):
        g = np.reshape(g, column)
        at = target.reshape(column)
        return softmax(x, axis=axis) * g - scatter_add(np.zeros(x_shape, g.dtype), g, index=at, axis=axis)
    d = np.exp(x - greatest(x, axis))
    d *= g.reshape(column) / np.add.reduce(d, axis=axis, keepdims=True)
    d[at_class(target, axis)] -= g
    return d


def _cross_entropy_dot(x_dot, x, target, weights, axis, reduced):
    z_dot = np.sum(softmax(x, axis=axis) * x_dot, axis=axis)
    z_dot = (z_dot - np.squeeze(gather(x_dot, index=np.expand_dims(target, axis), axis=axis), axis)) * weights
    return np.sum(z_dot) if reduced else z_dot


cross_entropy.vjp(x=_cross_entropy_dx).jvp(_cross_entropy_dot)


@linear(result="float", node=kind_of_nll)
def nll_loss(x, *, target, weights, axis, reduced):
    """z = -weights * x[target], summed if reduced        dL/dx = -weights * g, put at target"""
    z = x[at_class(target, axis)] * -weights
    return np.add.reduce(z, axis=None) if reduced else z


def _nll_loss_dx(g, x_shape, target, weights, axis):
    g = np.broadcast_to(g * -weights, target.shape)
    return index_put(np.zeros(x_shape, g.dtype), g, index=at_class(target, axis))  # no position occurs twice


nll_loss.vjp(x=_nll_loss_dx)


@general(result="float")
def mse_loss(x, y, *, mean=True):
    """z = mean (or sum) of (x - y)**2        dL/dx = 2 * g * (x - y) / n        dL/dy = 2 * g * (y - x) / n"""
    d = (x - y).reshape(-1)
    z = np.dot(d, d)
    return z / z.dtype.type(d.size) if mean else z


def _mse_factor(g, x_shape, y_shape, mean):
    if x_shape != y_shape:
        x_shape = np.broadcast_shapes(x_shape, y_shape)
    return g * (2 / max(1, math.prod(x_shape)) if mean else 2)


mse_loss.vjp(x=lambda g, x, y, x_shape, y_shape, mean: _mse_factor(g, x_shape, y_shape, mean) * (x - y),
             y=lambda g, x, y, x_shape, y_shape, mean: _mse_factor(g, x_shape, y_shape, mean) * (y - x))


def _mse_dot(x_dot, y_dot, x, y, x_shape, y_shape, mean):
    d_dot = -y_dot if x_dot is None else x_dot if y_dot is None else x_dot - y_dot
    return np.sum(_mse_factor(d_dot, x_shape, y_shape, mean) * (x - y))


mse_loss.jvp(_mse_dot)


@elementwise(result="float")
def binary_cross_entropy(x, y):
    """z = -y * log(x) - (1 - y) * log(1 - x)        dz/dx = (x - y) / (x * (1 - x))        dz/dy = log(1 - x) - log(x)

    Each logarithm is limited to at least -100, so the loss is finite for x = 0.
    """
    low = x.dtype.type(-100)
    return (y - 1) * np.maximum(np.log1p(-x), low) - y * np.maximum(np.log(x), low)


binary_cross_entropy.vjp(
    x=lambda g, x, y: g * (x - y) / np.maximum(x * (1 - x), 1e-12),
    y=lambda g, x: g * (np.maximum(np.log(1 - x), -100) - np.maximum(np.log(x), -100)),
)
