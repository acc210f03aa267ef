"""Multi-head attention: several attention heads in parallel.

The queries, keys and values are projected, and the projections are split into `num_heads`
parts. Each head computes attention on its part (see functional/attention.py). The results are
joined and projected again. So a layer can attend to several positions at once.

Masks exclude keys. A boolean mask is True for keys to ignore; a mask of numbers is added to
the scores.

    attn_mask           (l, s) or (n * heads, l, s)    for each query, which keys to ignore
    key_padding_mask    (n, s)                         keys that are padding, for every query

Source: Vaswani et al., Attention Is All You Need (2017), section 3.2.2.
"""

import enum
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import Dtype, DTypeLike
from minigrad.core.tensor import Size, Tensor, wrap
from minigrad.methods.functions import cat
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.functional.attention import _masked_weights
from minigrad.nn.linear import Linear, add_parameters
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter


class SDPBackend(enum.Enum):
    """PyTorch's implementations of attention. Here there is only one, MATH."""

    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """A `with` block that selects implementations of attention. Accepted but ignored.

    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     pass
    """
    yield


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear layer, under the name that PyTorch uses in the repr of an attention layer."""


class MultiheadAttention(Module):
    """softmax(q @ k.T / sqrt(d)) @ v in each head, the heads joined and projected

    query      (l, n, embed_dim)     or (n, l, embed_dim) with batch_first, or (l, embed_dim)
    key        (s, n, kdim)          kdim and vdim are embed_dim by default
    value      (s, n, vdim)
    returns    output, weights
    output     shaped like query
    weights    (n, l, s)             the mean over the heads; (n, heads, l, s) unless
                                     average_attn_weights; None unless need_weights

    in_proj_weight    (3 * embed_dim, embed_dim)    for query, key and value, stacked; if kdim or
                      vdim is given, q_proj_weight, k_proj_weight and v_proj_weight instead
    in_proj_bias      (3 * embed_dim,)
    out_proj          Linear(embed_dim, embed_dim)

    add_bias_kv       add a learned key and value
    add_zero_attn     add a key and value of zeros
    dropout           the dropout probability of the weights

    A query with no allowed keys gets NaN if need_weights is set, because its softmax is 0 / 0.

    >>> from minigrad import ones
    >>> output, weights = MultiheadAttention(8, 2, batch_first=True)(*[ones(3, 5, 8)] * 3)
    >>> output.shape, weights.shape
    (minigrad.Size([3, 5, 8]), minigrad.Size([3, 5, 5]))
    """

    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        same, e = self._qkv_same_embed_dim, embed_dim
        separate = {"q_proj_weight": (e, e), "k_proj_weight": (e, self.kdim),
                    "v_proj_weight": (e, self.vdim)}  # fmt: skip
        add_parameters(self, device, dtype, **(dict.fromkeys(separate) if same else separate))
        stacked, bias_shape = (3 * e, e) if same else None, (3 * e,) if bias else None
        add_parameters(self, device, dtype, in_proj_weight=stacked, in_proj_bias=bias_shape)
        self.out_proj = NonDynamicallyQuantizableLinear(e, e, bias, device, dtype)
        extra = (1, 1, e) if add_bias_kv else None
        add_parameters(self, device, dtype, bias_k=extra, bias_v=extra)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Initialize the parameters again, except the weight of out_proj."""
        names = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
        for weight in [getattr(self, name) for name in names]:
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)  # type: ignore[arg-type]  # like in_proj_bias
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """query (l, n, embed_dim), key and value to output, shaped like query, and weights."""
        self._check_mask(query, key, attn_mask, is_causal)
        self._check(query, key, value, key_padding_mask)
        batched, together = query.ndim == 3, query is key and key is value
        if not batched:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        q, k, v = self._project(query, key, value, together)
        if is_causal and key_padding_mask is None and not need_weights:
            # As in PyTorch, the hint counts, whatever the mask says.
            attn_mask = wrap(np.triu(np.ones((q.shape[1], k.shape[1]), bool), 1))
        mask = self._mask(q, k, attn_mask, key_padding_mask)
        k, v = self._append_extra(k, self.bias_k), self._append_extra(v, self.bias_v)
        if mask is not None and k.shape[1] > mask.shape[-1]:
            # Every query may attend to the added keys.
            mask = F.pad(mask, (0, k.shape[1] - mask.shape[-1]))
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in (q, k, v))
        scores = (q * (1 / math.sqrt(self.head_dim))) @ k.mT
        if need_weights and mask is not None:
            weights = (scores + mask).softmax(-1)
        else:
            weights = _masked_weights(scores, mask)
        weights = F.dropout(weights, self.dropout, self.training)
        # Length first in memory, as in PyTorch: dropout on the output draws numbers in memory order.
        joined = (weights @ v).permute(2, 0, 1, 3).flatten(2)
        # Not a call of the layer: its hooks are not run in PyTorch either.
        output = F.linear(joined, self.out_proj.weight, self.out_proj.bias)
        if batched and self.batch_first:
            output = output.transpose(0, 1)
        shown = None
        if need_weights:
            shown = weights.mean(1) if average_attn_weights else weights
            shown = shown if batched else shown.squeeze(0)
        return (output if batched else output.squeeze(1)), shown

    def _project(
        self, query: Tensor, key: Tensor, value: Tensor, together: bool
    ) -> Sequence[Tensor]:
        """q, k and v, each (n, length, embed_dim)."""
        bias = self.in_proj_bias
        if self._qkv_same_embed_dim and together:
            return F.linear(query, self.in_proj_weight, bias).chunk(3, -1)
        if self._qkv_same_embed_dim:
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = [None] * 3 if bias is None else bias.chunk(3)
        inputs = (query, key, value)
        return [F.linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]

    def _append_extra(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """Append the learned key or value and the one of zeros, if the layer has them."""
        shape = (x.shape[0], 1, self.embed_dim)
        if bias is not None:
            x = cat([x, bias.expand(*shape)], 1)
        return cat([x, x.new_zeros(*shape)], 1) if self.add_zero_attn else x

    def _mask(
        self, q: Tensor, k: Tensor, attn_mask: Tensor | None, padding: Tensor | None
    ) -> Tensor | None:
        """Combine both masks into one mask of numbers to add to the scores (n, heads, l, s)."""
        n, rows, columns = q.shape[0], q.shape[1], k.shape[1]
        mask = None
        if attn_mask is not None:
            mask = additive(attn_mask, "attn_mask", q.dtype)
            wanted = {2: (rows, columns), 3: (n * self.num_heads, rows, columns)}.get(mask.ndim)
            if wanted is None:
                raise AssertionError(
                    f"expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.ndim}-D tensor instead"
                )
            if tuple(mask.shape) != wanted:
                raise RuntimeError(
                    f"The shape of the {mask.ndim}D attn_mask is {Size(mask.shape)}, but should be {wanted}."
                )
            if mask.ndim == 3:
                mask = mask.reshape(n, self.num_heads, rows, columns)
        if padding is not None:
            if tuple(padding.shape) != (n, columns):
                raise AssertionError(
                    f"expecting key_padding_mask shape of {(n, columns)}, but got {Size(padding.shape)}"
                )
            key_mask = additive(padding, "key_padding_mask", q.dtype).reshape(n, 1, 1, columns)
            mask = key_mask if mask is None else mask + key_mask
        return mask

    def _check_mask(self, query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool) -> None:
        """Raise an error for a hint without a mask, and for masks of heads that do not fit a query without a batch."""
        if is_causal and mask is None:
            raise RuntimeError(
                "Need attn_mask if specifying the is_causal hint. To fix it, make a mask with "
                "nn.Transformer.generate_square_subsequent_mask(length)."
            )
        wanted = (self.num_heads, len(query), len(key))
        if mask is not None and (query.ndim, mask.ndim) == (2, 3) and tuple(mask.shape) != wanted:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {wanted} but got {Size(mask.shape)}"
            )

    def _check(self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None) -> None:
        if query.ndim not in (2, 3):
            raise AssertionError(
                f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
            )
        if not query.ndim == key.ndim == value.ndim:
            raise AssertionError(
                f"For {'batched' if query.ndim == 3 else 'unbatched'} ({query.ndim}-D) `query`, expected "
                f"`key` and `value` to be {query.ndim}-D but found {key.ndim}-D and {value.ndim}-D "
                "tensors respectively"
            )
        wanted = (self.embed_dim, self.kdim, self.vdim)
        if query.shape[-1] != self.embed_dim:
            raise AssertionError(
                f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}"
            )
        if key.shape[:-1] != value.shape[:-1] or (key.shape[-1], value.shape[-1]) != wanted[1:]:
            raise AssertionError(
                f"key shape {Size(key.shape)} does not match value shape {Size(value.shape)}, or they are "
                f"not of kdim={self.kdim} and vdim={self.vdim}"
            )
        if padding is not None and padding.ndim != query.ndim - 1:
            raise AssertionError(
                f"expected `key_padding_mask` to be `None` or {query.ndim - 1}-D but found {padding.ndim}-D "
                "tensor instead"
            )


def additive(mask: Tensor, name: str, dtype: Dtype) -> Tensor:
    """A mask as numbers to add to the scores. A boolean mask becomes -inf where it is True."""
    if mask.dtype.kind == "b":
        return wrap(np.where(mask.array, dtype.type(-np.inf), dtype.type(0)))
    if mask.dtype.kind != "f":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return mask
