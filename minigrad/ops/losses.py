"""Table of derivatives, chapter 6, continued: softmax and loss functions.

cross_entropy is one op because its gradient, p - onehot, is more accurate than the chain rule through exp and log.
"""

import math

import numpy as np

from minigrad.core.op import Rule, elementwise, general, linear
from minigrad.core.shapes import add_up, repeat_to
from minigrad.ops.elementwise import in_single, into, sigmoid, single_for_halves, summed
from minigrad.ops.indexing import gather, index_put, own_places, scatter_add
from minigrad.ops.neural import hardtanh, logsigmoid
from minigrad.ops.reductions import mean
from minigrad.ops.reductions import sum as total


@general(result="float", refuses="biuc")
def softmax(x, *, axis):
    """z = exp(x) / sum of exp(x) along axis        dL/dx = z * (g - sum of g * z)

    The largest entry is subtracted first. This does not change the result, and exp cannot overflow.
    """
    if x.dtype.char == "e":
        return in_single(softmax, None, x, axis=axis)
    z = np.exp(x - greatest(x, axis))
    z /= add_up(z, axis, True)
    return z


def greatest(x, axis):
    """The largest entry along axis, which is kept with size 1. An empty axis gives -inf."""
    return np.maximum.reduce(x, axis, None, None, True, -np.inf)


def _softmax_dx(g, z, axis):
    y = g * z
    return y - z * summed(y, axis)


softmax.vjp(x=_softmax_dx).jvp(lambda x_dot, z, axis: _softmax_dx(x_dot, z, axis))


@general(result="float", refuses="biuc")
def log_softmax(x, *, axis):
    """z = x - log of the sum of exp(x) along axis        dL/dx = g - softmax(x) * sum of g"""
    z = x - greatest(x, axis)
    z -= np.log(add_up(np.exp(z), axis, True))
    return z


log_softmax.vjp(x=lambda g, z, axis: g - np.exp(z) * summed(g, axis))
log_softmax.jvp(lambda x_dot, z, axis: x_dot - summed(np.exp(z) * x_dot, axis))


def kind_of_nll(target):
    """The name of the node of a classification loss: PyTorch has a separate function for images with one class per pixel."""
    return "NllLossBackward0" if target.ndim < 2 else "NllLoss2DBackward0"


@elementwise(result="float", refuses="c")
def special_entr(x, *, out=None):
    """z = -x * log(x)        dz/dx = -log(x) - 1

    At x = 0, z is 0 and the derivative is infinite. For x < 0, z is -infinity.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(x > 0, -x * np.log(x), np.where(x < 0, -np.inf, x))
    return into(out, z.astype(x.dtype, copy=False))


special_entr.vjp(x=lambda g, x: g * (-1 - np.log(x)))


@general(result="float", node=kind_of_nll, derived=("weights", "axis", "reduced"))
def cross_entropy(x, *, target, weights, axis, reduced):
    """z = sum of weights * (logsumexp(x) - x[target])        dL/dx = weights * g * (softmax(x) - onehot)

    Without `reduced`, the losses are not summed.
    """
    x = x - greatest(x, axis)
    return _weighted(np.log(add_up(np.exp(x), axis)) - x[at_class(target, axis)], weights, reduced)


def _weighted(losses, weights, reduced):
    """losses * weights, summed if reduced. An example that is ignored has weight 0, and its loss may be infinite or NaN."""
    z = losses * weights
    if weights.ndim and not np.isfinite(z).all():
        z = np.where(weights == 0, z.dtype.type(0), z)
    return add_up(z) if reduced else z


def at_class(target, axis):
    """The index of the entries x[n, target[n, ...], ...]."""
    mesh = own_places(target.shape)
    return (*mesh[:axis], target, *mesh[axis:])


def _cross_entropy_dx(g, x, x_shape, target, weights, axis):
    g = repeat_to(g * weights, target.shape)
    column = (*x_shape[:axis], 1, *x_shape[axis + 1 :])
    if not isinstance(x, np.ndarray):
        g = np.reshape(g, column)
        at = target.reshape(column)
        return softmax(x, axis=axis) * g - scatter_add(np.zeros(x_shape, g.dtype), g, index=at, axis=axis)
    d = np.exp(x - greatest(x, axis))
    d *= g.reshape(column) / np.add.reduce(d, axis, None, None, True)
    d[at_class(target, axis)] -= g
    return d


def _cross_entropy_dot(x_dot, x, target, weights, axis, reduced):
    z_dot = np.sum(softmax(x, axis=axis) * x_dot, axis=axis)
    z_dot = (z_dot - np.squeeze(gather(x_dot, index=np.expand_dims(target, axis), axis=axis), axis)) * weights
    return np.sum(z_dot) if reduced else z_dot


cross_entropy.vjp(x=_cross_entropy_dx).jvp(_cross_entropy_dot)


@linear(result="float", node=kind_of_nll, derived=("weights", "axis", "reduced"))
def nll_loss(x, *, target, weights, axis, reduced):
    """z = -weights * x[target], summed if reduced        dL/dx = -weights * g, put at target"""
    return _weighted(x[at_class(target, axis)], -weights, reduced)


def _nll_loss_dx(g, x_shape, target, weights, axis):
    g = repeat_to(g * -weights, target.shape)
    return index_put(np.zeros(x_shape, g.dtype), g, index=at_class(target, axis))  # no position occurs twice


nll_loss.vjp(x=_nll_loss_dx)


# ------------------------------------------------------- one loss per entry, reduced to a mean or a sum

# `reduction` is "mean", "sum", or "none" for the loss of each entry.


def reduced(z, reduction):
    """The mean or the sum of the losses of all entries, or the losses themselves."""
    return mean(z) if reduction == "mean" else total(z) if reduction == "sum" else z


def each(g, d, reduction):
    """The gradient with respect to each entry's loss: g, or g / n for a mean. d has the shape of the entries."""
    return g / max(1, math.prod(d.shape)) if reduction == "mean" else g


@general(result="float", refuses="biuc")
def mse_loss(x, y, *, reduction="mean"):
    """z = mean of (x - y)**2        dL/dx = 2 * g * (x - y) / n        dL/dy = 2 * g * (y - x) / n"""
    d = x - y
    if reduction == "none":
        return d * d
    if x.dtype == np.float16:  # their sum may overflow
        return reduced(d * d, reduction)
    d = d.reshape(-1)
    z = np.dot(d, d)
    return z / z.dtype.type(d.size) if reduction == "mean" else z


def _mse_dx(g, x, y, reduction):
    d = x - y
    return g * (2 / max(1, math.prod(d.shape)) if reduction == "mean" else 2) * d


def set_rules(loss, dx, dy=None):
    """Set the rules of a loss: dx for x, and for y dy, or dx with x and y exchanged. All take (g, x, y, reduction, *settings)."""
    dy = dy or (lambda g, x, y, *settings: dx(g, y, x, *settings))
    reads = loss.vjp(x=dx).rules["x"].reads
    loss.rules["y"] = Rule(dy, reads)

    def dot(x_dot, y_dot, x, y, reduction, *settings):
        """For each entry, both tangents times their derivatives; then reduced."""
        z_dot = 0 if x_dot is None else dx(x_dot, x, y, "none", *settings)
        return reduced(z_dot if y_dot is None else z_dot + dy(y_dot, x, y, "none", *settings), reduction)

    loss.tangent = Rule(dot, ("x_dot", "y_dot", *reads))


set_rules(mse_loss, _mse_dx)


@general(result="float", refuses="biuc")
def smooth_l1_loss(x, y, *, reduction="mean", beta=1.0):
    """z = mean of d**2 / (2 * beta) where d = |x - y| < beta, else d - beta / 2        dL/dx = g * (x - y) / d * min(d / beta, 1) / n"""
    d = np.abs(x - y)
    return reduced(np.where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta), reduction)


def _smooth_l1_dx(g, x, y, reduction, beta):
    d = x - y
    return each(g, d, reduction) * hardtanh(d / beta, min_val=-1.0, max_val=1.0)


set_rules(smooth_l1_loss, _smooth_l1_dx)


@general(result="float", refuses="biuc")
def huber_loss(x, y, *, reduction="mean", delta=1.0):
    """z = mean of d**2 / 2 where d = |x - y| < delta, else delta * (d - delta / 2)        dL/dx = g * (x - y) / d * min(d, delta) / n"""
    d = np.abs(x - y)
    return reduced(np.where(d < delta, d * d * 0.5, (d - 0.5 * delta) * delta), reduction)


def _huber_dx(g, x, y, reduction, delta):
    d = x - y
    return each(g, d, reduction) * hardtanh(d, min_val=-delta, max_val=delta)


set_rules(huber_loss, _huber_dx)


@general(result="float")
def binary_cross_entropy(x, y, *, reduction="mean"):
    """z = mean of -y * log(x) - (1 - y) * log(1 - x)        dL/dx = g * (x - y) / (x * (1 - x)) / n        dL/dy = g * (log(1 - x) - log(x)) / n

    Each logarithm is limited to at least -100, so the loss is finite for x = 0.
    """
    low = x.dtype.type(-100)
    return reduced((y - 1) * np.maximum(np.log1p(-x), low) - y * np.maximum(np.log(x), low), reduction)


def _binary_dx(g, x, y, reduction):
    d = x - y
    return each(g, d, reduction) * d / np.maximum(x * (1 - x), 1e-12)


def _binary_dy(g, x, y, reduction):
    return each(g, x - y, reduction) * (np.maximum(np.log(1 - x), -100) - np.maximum(np.log(x), -100))


set_rules(binary_cross_entropy, _binary_dx, _binary_dy)


@general(result="float")
def binary_cross_entropy_with_logits(x, y, *, reduction="mean"):
    """z = mean of (1 - y) * x + log(1 + exp(-x))        dL/dx = g * (sigmoid(x) - y) / n        dL/dy = -g * x / n"""
    return reduced((1 - y) * x - logsigmoid.forward(x), reduction)


def _logits_dx(g, x, y, reduction):
    return each(g, x - y, reduction) * (sigmoid(x) - y)


def _logits_dy(g, x, y, reduction):
    return each(g, x - y, reduction) * -x


set_rules(binary_cross_entropy_with_logits, _logits_dx, _logits_dy)

single_for_halves(huber_loss)
