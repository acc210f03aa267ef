"""Loss functions: one number that measures the difference between prediction and target.

`input` is the prediction. All losses take `reduction`: "mean", "sum", or "none" for the loss of
each entry. `size_average` and `reduce` are PyTorch's older arguments for the same purpose, which
`a_loss` adds. Classification losses are in classification.py.

Norms, cosine similarities and distances of vectors, which some losses use, come first. The
derivative of a norm is undefined at 0; it is taken as 0 (see `norm` in ops/reductions.py).
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.dtypes import promote_types
from minigrad.core.errors import ShapeError, warn_user
from minigrad.core.modes import no_grad
from minigrad.core.op import Op
from minigrad.core.tensor import Tensor
from minigrad.methods import ArrayMethods
from minigrad.methods.arguments import into_out
from minigrad.methods.base import broadcast
from minigrad.methods.functions import broadcast_tensors
from minigrad.nn.functional.arguments import a_loss, checked, floats_only, reduced_by
from minigrad.ops.composites import named, p_norms


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """x divided by its p-norm along dim (or by eps, if the norm is smaller)."""
    z = input / input.norm(p, dim, True).clamp_min(eps)
    return z if out is None else into_out("normalize", out, z)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between x1 and x2 along dim. x1 and x2 are broadcast.

    >>> cosine_similarity(minigrad.tensor([[1.0, 0.0]]), minigrad.tensor([[3.0, 4.0]]))
    tensor([0.6000])
    """
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps}")
    if x1.dtype != x2.dtype:
        dtype = promote_types(x1.dtype, x2.dtype)
        x1, x2 = x1.to(dtype), x2.to(dtype)
    x1, x2 = broadcast_tensors(x1, x2)
    # Use at least eps for each norm.
    lengths = [x.norm(2, dim, True).clamp_min(eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis.

    >>> pairwise_distance(minigrad.tensor([[0.0, 0.0]]), minigrad.tensor([[3.0, 4.0]]), eps=0.0)
    tensor([5.])
    """
    return named((x1 - x2 + eps).norm(p, -1, keepdim), "NormBackward1")


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distance between each row and each later row: n * (n - 1) / 2 numbers.

    >>> pdist(minigrad.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, but got {p}")
    i, j = np.triu_indices(len(input), 1)
    z = p_norms(input.index_select(0, i) - input.index_select(0, j), p)
    return named(z, "PdistBackward0")


@a_loss()
def mse_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """The mean of (input - target)**2.

    >>> import minigrad
    >>> mse_loss(minigrad.tensor([1.0, 2.0]), minigrad.tensor([1.0, 4.0]))
    tensor(2.)
    """
    input, target = _broadcast_pair(input, target)
    return _weighted(ops.mse_loss, input, target, weight, reduction)


@a_loss()
def l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """The mean of |input - target|."""
    input, target = _broadcast_pair(input, target)
    z = (input - target).abs()
    return reduced_by(z, reduction) if weight is None else _reduced_with(weight, z, reduction)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """With d = |input - target|: d**2 / 2 where d <= delta, else delta * (d - delta / 2).

    Source: Huber, Robust Estimation of a Location Parameter (1964).
    """
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target = _broadcast_pair(input, target)
    if weight is None:
        return _weighted(ops.huber_loss, input, target, None, reduction, delta=delta)
    # As in PyTorch, the mean divides by the number of entries; in mse_loss and l1_loss, by the sum of the weights.
    z = _weighted(ops.huber_loss, input, target, weight, "none", delta=delta)
    return reduced_by(z, reduction)


@a_loss()
def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """With d = |input - target|: d**2 / (2 * beta) where d < beta, else d - beta / 2."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    input, target = _broadcast_pair(input, target)
    return ops.smooth_l1_loss.apply(input, target, reduction=checked(reduction), beta=beta)


@a_loss()
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0) -> Tensor:
    """x where target is 1, max(0, margin - x) where it is -1."""
    near, far = (target.detach() == n for n in (1, -1))
    return input.masked_fill(far, 0) + (margin - input).clamp_min(0).masked_fill(near, 0)


@a_loss()
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0
) -> Tensor:
    """max(0, -target * (x1 - x2) + margin): x1 should be greater than x2 if target is 1, less if it is -1."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape}"
        )
    return (-target * (input1 - input2) + float(margin)).clamp_min(0)


@a_loss(node="SoftMarginLossBackward0")
def soft_margin_loss(input: Tensor, target: Tensor) -> Tensor:
    """log(1 + exp(-target * x)), without overflow, where target is 1 or -1."""
    shape = broadcast("soft_margin_loss", input.shape, target.shape)
    if shape != input.shape:
        raise ShapeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}: "
            f"the target has shape {list(target.shape)}."
        )
    floats_only("soft_margin_loss", input)
    return -ops.logsigmoid.apply(target * input)


@a_loss()
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
) -> Tensor:
    """max(0, distance to the positive - distance to the negative + margin)."""
    distance = partial(pairwise_distance, p=p, eps=eps)
    kwargs: Any = {"distance_function": distance, "margin": margin, "swap": swap}
    return triplet_margin_with_distance_loss(anchor, positive, negative, **kwargs, reduction="none")


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with another distance function."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced_by((distance(anchor, positive) - far + margin).clamp_min(0), reduction)


@a_loss(size_average_before="eps")
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: float = 1e-8
) -> Tensor:
    """rate - target * log(rate): the negative log-likelihood of a Poisson distribution.

    log_input   True: input is the logarithm of the rate; False: input is the rate
    full        add the term that does not depend on the rate: Stirling's approximation of log(target!)
    """
    z = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + (target * (2 * math.pi)).log() * 0.5
        z = z + stirling.masked_fill(target.detach() <= 1, 0)
    return z


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log(var) + (input - target)**2 / var) / 2: the negative log-likelihood of a normal distribution.

    var    limited to at least eps; the gradient ignores this limit
    full   add log(2 * pi) / 2
    """
    if not isinstance(var, ArrayMethods):
        var = input.new_full(input.shape, var)
    if (np.asarray(var.array) < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if var.shape == input.shape[:-1]:
            var = var.unsqueeze(-1)
        elif not (
            var.ndim == input.ndim
            and sum(m for m, n in zip(var.shape, input.shape, strict=True) if m != n) == 1
        ):
            raise ValueError("var is of incorrect size")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    z = (var.log() + (input - target) ** 2 / var) * 0.5
    return reduced_by(z + 0.5 * math.log(2 * math.pi) if full else z, reduction)


@a_loss()
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    if target.ndim > 1:
        raise RuntimeError(
            f"0D or 1D target tensor expected, multi-target not supported: the target has sizes {list(target.shape)}."
        )
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    a, b = (x if x.is_floating_point() else x.float() for x in (input1, input2))
    c, t = cosine_similarity(a, b, -1), target.detach()
    return (1 - c) * (t == 1) + (c - margin).clamp_min(0) * (t == -1)


def _weighted(
    op: Op, x: Tensor, y: Tensor, weight: Tensor | None, reduction: str, **settings: float
) -> Tensor:
    """The loss of an op that reduces. With weights, the mean or sum of the weighted losses of all entries."""
    if weight is None:
        return op.apply(x, y, reduction=checked(reduction), **settings)
    return _reduced_with(weight, op.apply(x, y, reduction="none", **settings), reduction)


def _reduced_with(weight: Tensor, z: Tensor, reduction: str) -> Tensor:
    """Multiply the losses by their weights and reduce them. A mean divides by the sum of the weights."""
    if weight.shape != z.shape:
        raise ValueError("Weights and input must have the same size.")
    z = z * weight
    return z.sum() / weight.sum() if reduction == "mean" else reduced_by(z, reduction)


def _broadcast_pair(input: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """Both tensors broadcast to the same shape, with a warning if their shapes differ."""
    if input.array.shape == target.array.shape:
        return input, target
    warn_user(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
        "likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
    )
    return broadcast_tensors(input, target)
