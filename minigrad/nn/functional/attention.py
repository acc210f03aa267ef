"""Attention: for each query, a mean of the values, weighted by how well their keys match the query."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.dtypes import Dtype, torch_name
from minigrad.core.errors import warn_user
from minigrad.core.modes import seen
from minigrad.core.shapes import surely
from minigrad.core.tensor import Size, Tensor, wrap
from minigrad.methods import ArrayMethods
from minigrad.methods.functions import cat
from minigrad.nn.functional.dropout import dropout
from minigrad.nn.functional.images import pad
from minigrad.nn.functional.linear import linear


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
    is_causal   query i attends only to the keys 0..i, in addition to attn_mask
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
    _check_axes(query, key, value)
    if all(x.dtype == np.float16 for x in (query, key, value)):  # the scores may be larger
        if attn_mask is not None and attn_mask.dtype == np.float16:
            attn_mask = attn_mask.float()
        q, k, v = query.float(), key.float(), value.float()
        z = scaled_dot_product_attention(
            q, k, v, attn_mask, dropout_p, is_causal, scale, enable_gqa
        )
        return z.to(query.dtype)
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
    scores = query @ key.mT * (1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale)
    if is_causal:
        may_join = query.ndim == 4 and not dropout_p  # as in PyTorch
        attn_mask = _with_earlier_keys(attn_mask, scores.shape[-2:], may_join)
    return dropout(_masked_weights(scores, attn_mask), dropout_p) @ value


def _check_axes(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise an error for a vector."""
    if query.ndim < 2 or key.ndim < 2 or value.ndim < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )


def _with_earlier_keys(mask: Tensor | None, sizes: Sequence[int], may_join: bool) -> Tensor:
    """The mask, which also leaves out the keys that are not earlier."""
    earlier = wrap(np.tri(*sizes, dtype=bool))
    if mask is None:
        return earlier
    if not may_join:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    return mask & earlier if mask.dtype.kind == "b" else mask.masked_fill(~earlier, -math.inf)


def _masked_weights(scores: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(scores) over the allowed keys, and zeros for a query with no allowed keys.

    mask   booleans, False for keys that are ignored; or numbers that are added to the scores
    """
    if mask is None:
        return scores.softmax(-1)
    if mask.dtype.kind == "b":
        allowed = seen(mask)
        scores = scores.masked_fill(wrap(np.logical_not(allowed)), -math.inf)
    elif mask.dtype in (np.float32, scores.dtype):
        allowed = np.asanyarray(seen(mask)) != -math.inf
        scores = scores + mask.to(scores.dtype)
    else:
        names = [torch_name(dtype).lower() for dtype in (mask.dtype, scores.dtype)]
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{names[0]} and  query.dtype: {names[1]} instead. To fix it, use attn_mask.bool() if it is 0 for "
            "keys that are ignored and 1 for others, or attn_mask.to(query.dtype) if it is added to the scores."
        )
    weights = scores.softmax(-1)
    something = allowed.any(-1, keepdims=True)
    return weights if surely(something.all()) else weights.masked_fill(wrap(~something), 0.0)


# ------------------------------------------------------------------------ several heads


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None,
    add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None,
    training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True,
    attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
    static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """What nn.MultiheadAttention computes, with its parameters as arguments.

    query               (l, n, e) or (l, e)            length first
    in_proj_weight      (3 * e, e), or the three *_proj_weight with use_separate_proj_weight
    attn_mask           (l, s) or (n * heads, l, s)    for each query, which keys to ignore
    key_padding_mask    (n, s)                         keys that are padding, for every query
    static_k, static_v  (n * heads, s, e / heads)      keys and values in place of the projected ones

    Masks exclude keys. A boolean mask is True for keys to ignore; a mask of numbers is added to the scores.

    >>> from minigrad import eye, ones, zeros
    >>> x = ones(2, 1, 4)
    >>> output, weights = multi_head_attention_forward(
    ...     x, x, x, 4, 2, ones(12, 4), zeros(12), None, None, False, 0.0, eye(4), zeros(4)
    ... )
    >>> output[0, 0], weights[0, 0]
    (tensor([4., 4., 4., 4.]), tensor([0.5000, 0.5000]))
    """
    given = (query, key, value)
    _check_inputs(*given, embed_dim_to_check, num_heads, use_separate_proj_weight)
    _check_masks(query, key, key_padding_mask, attn_mask, num_heads, is_causal)
    batched, together = query.ndim == 3, query is key and key is value
    inputs = [x.transpose(0, 1) if batched else x.unsqueeze(0) for x in given]
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    weights = separate if use_separate_proj_weight else in_proj_weight
    q, k, v = _projected(inputs, together, weights, in_proj_bias)
    if is_causal and key_padding_mask is None and not need_weights:
        # As in PyTorch, the hint counts, whatever the mask says.
        attn_mask = wrap(np.triu(np.ones((q.shape[1], k.shape[1]), bool), 1))
    mask = _joined_mask(q, k, num_heads, attn_mask, key_padding_mask)
    k, v = _with_bias(k, v, bias_k, bias_v, static_k is not None or static_v is not None)
    q, k, v = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (q, k, v))
    k = _replaced(k, static_k, "static_k", add_zero_attn)
    v = _replaced(v, static_v, "static_v", add_zero_attn)
    shares = dropout(_shares(q, k, mask, need_weights), dropout_p, training)
    # Length first in memory, as in PyTorch: dropout on the output draws numbers in memory order.
    output = linear((shares @ v).permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    shown = (shares.mean(1) if average_attn_weights else shares) if need_weights else None
    if not batched:
        return output.squeeze(1), None if shown is None else shown.squeeze(0)
    return output, shown


def _shares(q: Tensor, k: Tensor, mask: Tensor | None, need_weights: bool) -> Tensor:
    """The weights of the values in each head. A query with no allowed keys gets NaN if they are needed, else zeros."""
    # All queries may attend to the keys that were appended.
    if mask is not None and k.shape[2] > mask.shape[-1]:
        mask = pad(mask, (0, k.shape[2] - mask.shape[-1]))
    scores = (q * (1 / math.sqrt(q.shape[-1]))) @ k.mT
    if need_weights and mask is not None:
        return (scores + mask).softmax(-1)
    return _masked_weights(scores, mask)


def _projected(
    inputs: Sequence[Tensor],
    together: bool,
    weights: Tensor | Sequence[Tensor | None] | None,
    bias: Tensor | None,
) -> Sequence[Tensor]:
    """q, k and v, each (n, length, e).

    together   are all three inputs the same tensor? Then it is multiplied by the stacked weights at once
    weights    (3 * e, e), or one for each of q, k and v
    """
    if weights is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if isinstance(weights, ArrayMethods):
        if together:
            return linear(inputs[0], weights, bias).chunk(3, -1)
        weights = weights.chunk(3)
    else:
        for name, x, w in zip("qkv", inputs, weights, strict=True):
            if w is None or w.shape[-1] != x.shape[-1]:
                raise AssertionError(
                    f"{name}_proj_weight is {w if w is None else Size(w.shape)}, but use_separate_proj_weight is True "
                    f"and it must have {x.shape[-1]} columns"
                )
    biases = [None] * 3 if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]  # type: ignore[arg-type]


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> Sequence[Tensor]:
    """q, k and v for programs that compute attention themselves: PyTorch's private name."""
    return _projected((q, k, v), q is k and k is v, w, b)


def _replaced(x: Tensor, static: Tensor | None, name: str, zeros: bool) -> Tensor:
    """The given keys or values (n * heads, s, d) in place of the computed ones (n, heads, s, d).

    zeros   append one more, of zeros
    """
    n, heads, _, d = x.shape
    if static is not None:
        if (static.shape[0], static.shape[2]) != (n * heads, d):
            raise AssertionError(
                f"expecting {name} of shape {(n * heads, 's', d)}, but got {Size(static.shape)}"
            )
        x = static.unflatten(0, (n, heads))
    return cat([x, x.new_zeros(n, heads, 1, d)], 2) if zeros else x


def _with_bias(
    k: Tensor, v: Tensor, bias_k: Tensor | None, bias_v: Tensor | None, static: bool
) -> tuple[Tensor, Tensor]:
    """Append the learned key and value, if there are any. They do not go with static_k and static_v."""
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v belong together: one is set but the other is None")
    if bias_k is None or bias_v is None:
        return k, v
    if static:
        raise AssertionError("bias cannot be added to static key or static value.")
    shape = (k.shape[0], 1, k.shape[-1])
    return cat([k, bias_k.expand(*shape)], 1), cat([v, bias_v.expand(*shape)], 1)


def _joined_mask(
    q: Tensor, k: Tensor, heads: int, attn_mask: Tensor | None, padding: Tensor | None
) -> Tensor | None:
    """Combine both masks into one mask of numbers to add to the scores (n, heads, l, s)."""
    n, rows, columns = q.shape[0], q.shape[1], k.shape[1]
    mask = None
    if attn_mask is not None:
        mask = _canonical_mask(attn_mask, "attn_mask", None, "", q.dtype)
        wanted = {2: (rows, columns), 3: (n * heads, rows, columns)}.get(mask.ndim)
        if wanted is None:
            raise AssertionError(
                f"expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.ndim}-D tensor instead"
            )
        if tuple(mask.shape) != wanted:
            raise RuntimeError(
                f"The shape of the {mask.ndim}D attn_mask is {Size(mask.shape)}, but should be {wanted}."
            )
        if mask.ndim == 3:
            mask = mask.reshape(n, heads, rows, columns)
    if padding is not None:
        padding = padding if padding.ndim == 2 else padding.unsqueeze(0)
        if tuple(padding.shape) != (n, columns):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(n, columns)}, but got {Size(padding.shape)}"
            )
        other = _none_or_dtype(attn_mask), "attn_mask"
        key_mask = _canonical_mask(padding, "key_padding_mask", *other, q.dtype)
        key_mask = key_mask.reshape(n, 1, 1, columns)
        mask = key_mask if mask is None else mask + key_mask
    return mask


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Dtype | None, other_name: str, target_type: Dtype,
    check_other: bool = True,
) -> Any:  # fmt: skip
    """A mask as numbers to add to the scores. A boolean mask becomes -inf where it is True.

    Published copies of PyTorch's layers call this function and _none_or_dtype, under these names of
    PyTorch's. Warns if the other mask, of dtype `other_type`, has another dtype.
    """
    if mask is None:
        return None
    if mask.dtype.kind not in "bf":
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warn_user(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead."
        )
    if mask.dtype.kind == "f":
        return mask
    return wrap(np.where(seen(mask), target_type.type(-np.inf), target_type.type(0)))


def _none_or_dtype(input: Tensor | None) -> Dtype | None:
    """The dtype of a mask, if there is one."""
    if input is None or isinstance(input, ArrayMethods):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _check_masks(
    query: Tensor, key: Tensor, padding: Tensor | None, mask: Tensor | None, heads: int, is_causal: bool
) -> None:  # fmt: skip
    """Raise an error for a hint without a mask, and for masks that do not fit a query with or without a batch."""
    if padding is not None and padding.ndim != query.ndim - 1:
        raise AssertionError(
            f"expected `key_padding_mask` to be `None` or {query.ndim - 1}-D but found {padding.ndim}-D tensor instead"
        )
    if is_causal and mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. To fix it, make a mask with "
            "nn.Transformer.generate_square_subsequent_mask(length)."
        )
    wanted = (heads, len(query), len(key))
    if mask is not None and (query.ndim, mask.ndim) == (2, 3) and tuple(mask.shape) != wanted:
        raise AssertionError(
            f"Expected `attn_mask` shape to be {wanted} but got {Size(mask.shape)}"
        )


def _check_inputs(
    query: Tensor, key: Tensor, value: Tensor, e: int, heads: int, separate: bool
) -> None:
    """Raise an error unless the shapes of query, key and value belong together."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    if not query.ndim == key.ndim == value.ndim:
        raise AssertionError(
            f"For {'batched' if query.ndim == 3 else 'unbatched'} ({query.ndim}-D) `query`, expected `key` and `value` "
            f"to be {query.ndim}-D but found {key.ndim}-D and {value.ndim}-D tensors respectively"
        )
    if query.shape[-1] != e:
        raise AssertionError(f"was expecting embedding dimension of {e}, but got {query.shape[-1]}")
    if e % heads:
        raise AssertionError(f"embed_dim {e} not divisible by num_heads {heads}")
    # With weights of their own, keys and values may have other sizes.
    compared = slice(-1) if separate else slice(None)
    if key.shape[compared] != value.shape[compared]:
        raise AssertionError(
            f"key shape {Size(key.shape)} does not match value shape {Size(value.shape)}"
        )
    if query.ndim == 3 and key.shape[1] != query.shape[1]:
        split = [len(key), query.shape[1] * heads, e // heads]
        raise RuntimeError(
            f"shape '{split}' is invalid for input of size {len(key) * key.shape[1] * e}: the batch of key "
            f"and value has {key.shape[1]} sequences, but that of query has {query.shape[1]}"
        )
