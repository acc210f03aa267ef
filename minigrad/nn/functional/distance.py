"""Lengths, angles and distances of vectors.

The derivative of a length is undefined at 0, and it is 0 there (see `norm` in ops/reductions.py).
"""

import numpy as np

from minigrad.core.tensor import Tensor
from minigrad.methods.functions import broadcast_tensors

__all__ = ["cosine_similarity", "normalize", "pairwise_distance", "pdist"]


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """x divided by its p-norm along dim (or by eps, if the norm is smaller)."""
    return input / input.norm(p, dim, True).clamp_min(eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between x1 and x2, broadcast together, along dim.

    >>> cosine_similarity(minigrad.tensor([[1.0, 0.0]]), minigrad.tensor([[3.0, 4.0]]))
    tensor([0.6000])
    """
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
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distance between each row and each later row: n * (n - 1) / 2 numbers.

    >>> pdist(minigrad.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    i, j = np.triu_indices(len(input), 1)
    return (input.index_select(0, i) - input.index_select(0, j)).norm(p, -1)
