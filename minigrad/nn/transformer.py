"""The Transformer: layers of attention and of small networks, position by position.

    encoder layer    x = x + attention(x, x)                  then  x = x + network(x)
    decoder layer    the same, and between the two            x = x + attention(x, memory)

After each sum comes a LayerNorm (with norm_first: before each part, which trains more
steadily). `memory` is what the encoder made of the source.

Left out: the quicker way that PyTorch takes in evaluation, with padding cut away.

Source: Vaswani et al., Attention Is All You Need (2017); norm_first from Xiong et al., On Layer
Normalization in the Transformer Architecture (2020).
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.attention import MultiheadAttention
from minigrad.nn.containers import ModuleList
from minigrad.nn.dropout import Dropout
from minigrad.nn.linear import Linear
from minigrad.nn.module import Module
from minigrad.nn.normalization import LayerNorm
from minigrad.tensor import Tensor

Activation = str | Callable[[Tensor], Tensor]


class _Layer(Module):
    """What both kinds of layer have: the small network, and sums with a norm before or after."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: Activation,
        layer_norm_eps: float,
        batch_first: bool,
        norm_first: bool,
        bias: bool,
        attentions: tuple[str, ...],
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        how: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **how
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **how)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **how)
        self.norm_first = norm_first
        parts = range(1, len(attentions) + 2)
        for k in parts:
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **how))
        for k in parts:
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _around(self, k: int, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """x + part(x), with the k-th norm before the part or after the sum."""
        norm, dropout = getattr(self, f"norm{k}"), getattr(self, f"dropout{k}")
        z: Tensor = x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))
        return z

    def _network(self, x: Tensor) -> Tensor:
        z: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return z


class TransformerEncoderLayer(_Layer):
    """Self-attention and a network of two layers, each added to what it was given.

    src                     (l, n, d_model)   or (n, l, d_model) with batch_first, or (l, d_model)
    src_mask                (l, l)            which position may not see which
    src_key_padding_mask    (n, l)            positions that are padding
    returns                 shaped like src

    nhead             how many heads
    dim_feedforward   how wide the network is
    activation        "relu", "gelu", or a function
    norm_first        LayerNorm before each part, instead of after the sum?

    >>> from minigrad import ones
    >>> TransformerEncoderLayer(8, 2, 16, batch_first=True)(ones(3, 5, 8)).shape
    minigrad.Size([3, 5, 8])
    """

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
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                         batch_first, norm_first, bias, ("self_attn",), device, dtype)  # fmt: skip

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            z: Tensor = self.self_attn(
                x, x, x, src_key_padding_mask, need_weights=False, attn_mask=src_mask
            )[0]
            return z

        return self._around(2, self._around(1, src, attend), self._network)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's memory, and a network of two layers.

    tgt        (l, n, d_model)     or (n, l, d_model) with batch_first, or (l, d_model)
    memory     (s, n, d_model)     what the encoder made
    returns    shaped like tgt

    tgt_mask, memory_mask                            (l, l), (l, s)   which position may not see which
    tgt_key_padding_mask, memory_key_padding_mask    (n, l), (n, s)   positions that are padding

    The settings are those of TransformerEncoderLayer.
    """

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
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
                         norm_first, bias, ("self_attn", "multihead_attn"), device, dtype)  # fmt: skip

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
        def attend(x: Tensor) -> Tensor:
            z: Tensor = self.self_attn(
                x, x, x, tgt_key_padding_mask, need_weights=False, attn_mask=tgt_mask
            )[0]
            return z

        def look_up(x: Tensor) -> Tensor:
            padding, mask = memory_key_padding_mask, memory_mask
            z: Tensor = self.multihead_attn(
                x, memory, memory, padding, need_weights=False, attn_mask=mask
            )[0]
            return z

        x = self._around(2, self._around(1, tgt, attend), look_up)
        return self._around(3, x, self._network)


class TransformerEncoder(Module):
    """Several encoder layers, one after the other: copies of one, with parameters of their own.

    norm   a last LayerNorm, if wanted
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """Several decoder layers, one after the other, all of which look at the same memory."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder of the source, and a decoder that makes the target from it.

    src        (s, n, d_model)     or (n, s, d_model) with batch_first, or (s, d_model)
    tgt        (l, n, d_model)
    returns    shaped like tgt

    Without embeddings, positions and the last layer, which are the user's. All matrices are
    drawn by xavier_uniform_.

    >>> from minigrad import ones
    >>> model = Transformer(8, 2, 1, 1, 16)
    >>> model(ones(5, 3, 8), ones(4, 3, 8), tgt_mask=model.generate_square_subsequent_mask(4)).shape
    minigrad.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
                 norm_first, bias, device, dtype)  # fmt: skip
        norm: dict[str, Any] = {
            "eps": layer_norm_eps,
            "bias": bias,
            "device": device,
            "dtype": dtype,
        }
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*layer), num_encoder_layers, LayerNorm(d_model, **norm)
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*layer), num_decoder_layers, LayerNorm(d_model, **norm)
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        axis = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                "the feature number of src and tgt must be equal to d_model: "
                f"they are {src.shape[-1]} and {tgt.shape[-1]}, and d_model is {self.d_model}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        z: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
        )
        return z

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """-inf above the diagonal, else 0: no position may see a later one.

        >>> Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        from minigrad.creation import full

        later = full((sz, sz), -math.inf, dtype=dtype, device=device)
        return Tensor(np.triu(later.array, 1))


def _activation(activation: Activation) -> Callable[[Tensor], Tensor]:
    if callable(activation):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    function: Callable[[Tensor], Tensor] = getattr(F, activation)
    return function
