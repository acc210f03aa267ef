"""Attention: for each query, a mean of the values, weighted by how well their keys match the query."""

import math

import numpy as np

from minigrad.core.tensor import Tensor, wrap
from minigrad.nn.functional.dropout import dropout


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale) @ value

    query       (..., l, d)
    key         (..., s, d)
    value       (..., s, v)
    attn_mask   (..., l, s)   booleans, False for keys that are ignored; or numbers that are
                added to the scores
    is_causal   query i attends only to the keys 0..i
    scale       by default 1 / sqrt(d), so that scores do not grow with d
    enable_gqa  allow fewer heads for keys and values, each shared by several neighboring query heads
    returns     (..., l, v)

    A query with no allowed keys gets zeros.

    >>> import minigrad
    >>> x = minigrad.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> scaled_dot_product_attention(x, x, x, is_causal=True)
    tensor([[1.0000, 0.0000],
            [0.3302, 0.6698]])

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.2.1.
    """
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError(
                "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        attn_mask = wrap(np.tri(*scores.shape[-2:], dtype=bool))
    return dropout(_masked_weights(scores, attn_mask), dropout_p) @ value


def _masked_weights(scores: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(scores) over the allowed keys, and zeros for a query with no allowed keys.

    mask   booleans, False for keys that are ignored; or numbers that are added to the scores
    """
    if mask is None:
        return scores.softmax(-1)
    if mask.dtype.kind == "b":
        allowed = mask.array
        scores = scores.masked_fill(wrap(np.logical_not(allowed)), -math.inf)
    elif mask.dtype.kind == "f":
        allowed = np.asanyarray(mask.array) != -math.inf
        scores = scores + mask
    else:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype}. To fix it, use attn_mask.bool()."
        )
    weights = scores.softmax(-1)
    nothing = np.logical_not(allowed.any(-1, keepdims=True))
    return weights.masked_fill(wrap(nothing), 0.0) if nothing.any() else weights
