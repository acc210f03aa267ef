"""The layers of a Transformer: attention, and a small network applied at each position.

    encoder layer    x = x + attention(x, x)                  then  x = x + network(x)
    decoder layer    the same, with a step between the two    x = x + attention(x, memory)

After each sum there is a LayerNorm. With norm_first, it comes before each part, which makes
training more stable. `memory` is the encoder's output for the source. Read attention.py first.

PyTorch's fast path in evaluation, which removes padding, is not implemented.

Source: Vaswani et al., Attention Is All You Need (2017); norm_first from Xiong et al., On Layer
Normalization in the Transformer Architecture (2020).
"""

from collections.abc import Callable
from typing import Any

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.attention import MultiheadAttention
from minigrad.nn.dropout import Dropout
from minigrad.nn.linear import Linear
from minigrad.nn.module import Module
from minigrad.nn.normalization import LayerNorm

__all__ = ["TransformerDecoderLayer", "TransformerEncoderLayer"]

Activation = str | Callable[[Tensor], Tensor]


class _Layer(Module):
    """The base class of both kinds of layer: the small network, and sums with a norm before or after."""

    _attentions: tuple[str, ...]  # the names of the attention layers, in order

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        how: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **how
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **how)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **how)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for k in parts:
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **how))
        for k in parts:
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _around(self, k: int, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """x + part(x), with the k-th norm before the part or after the sum."""
        norm, dropout = getattr(self, f"norm{k}"), getattr(self, f"dropout{k}")
        return x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))

    def _attend(
        self, k: int, x: Tensor, memory: Tensor | None, mask: Tensor | None, padding: Tensor | None
    ) -> Tensor:
        """x + attention of x to memory, or to itself: the k-th part of the layer."""
        attention = getattr(self, self._attentions[k - 1])

        def attend(x: Tensor) -> Tensor:
            read = x if memory is None else memory
            found = attention(x, read, read, padding, need_weights=False, attn_mask=mask)
            return found[0]  # without the weights

        return self._around(k, x, attend)

    def _network(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a network of two layers, each added to its input.

    src                     (l, n, d_model)   or (n, l, d_model) with batch_first, or (l, d_model)
    src_mask                (l, l)            for each position, which ones to ignore
    src_key_padding_mask    (n, l)            positions that are padding
    returns                 shaped like src

    nhead             the number of heads
    dim_feedforward   the width of the network
    activation        "relu", "gelu", or a function
    norm_first        LayerNorm before each part instead of after the sum

    >>> from minigrad import ones
    >>> TransformerEncoderLayer(8, 2, 16, batch_first=True)(ones(3, 5, 8)).shape
    minigrad.Size([3, 5, 8])
    """

    _attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """src to a tensor of the same shape."""
        x = self._attend(1, src, None, src_mask, src_key_padding_mask)
        return self._around(2, x, self._network)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's memory, and a network of two layers.

    tgt        (l, n, d_model)     or (n, l, d_model) with batch_first, or (l, d_model)
    memory     (s, n, d_model)     the encoder's output
    returns    shaped like tgt

    tgt_mask, memory_mask                            (l, l), (l, s)   for each position, which ones to ignore
    tgt_key_padding_mask, memory_key_padding_mask    (n, l), (n, s)   positions that are padding

    The settings are those of TransformerEncoderLayer.
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """tgt and memory to a tensor of the shape of tgt."""
        x = self._attend(1, tgt, None, tgt_mask, tgt_key_padding_mask)
        x = self._attend(2, x, memory, memory_mask, memory_key_padding_mask)
        return self._around(3, x, self._network)


def _activation(activation: Activation) -> Callable[[Tensor], Tensor]:
    if callable(activation):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)
