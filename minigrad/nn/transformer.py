"""The Transformer: an encoder for the source, and a decoder that attends to the encoder's output.

Both are stacks of layers, which consist of attention and a small network applied at each position.
Each part has a residual connection:

    encoder layer    x = x + attention(x, x)          then  x = x + network(x)
    decoder layer    the same, and between the two    x = x + attention(x, memory)

`memory` is the encoder's output for the source. After each sum there is a LayerNorm. With
norm_first, it comes before each part instead, which makes training more stable. Read attention.py
first.

PyTorch's fast path in evaluation, which removes padding, is not implemented.

Source: Vaswani et al., Attention Is All You Need (2017); norm_first from Xiong et al., On Layer
Normalization in the Transformer Architecture (2020).
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import warn_user
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.creation import full
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.attention import MultiheadAttention
from minigrad.nn.containers import ModuleList
from minigrad.nn.functional.attention import _canonical_mask, _none_or_dtype
from minigrad.nn.linear import Linear
from minigrad.nn.module import Module
from minigrad.nn.normalization import LayerNorm
from minigrad.nn.table import GELU, Dropout, ReLU

Activation = str | Callable[[Tensor], Tensor]


class _Layer(Module):
    """The base class of both kinds of layers: the small network, and the residual connections with their norms."""

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
        kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **kwargs
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **kwargs)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **kwargs)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for k in parts:
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kwargs))
        for k in parts:
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _get_activation_fn(activation)

    def _with_residual(self, k: int, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """x + part(x), with the k-th norm before the part or after the sum."""
        norm = getattr(self, f"norm{k}")
        return x + part(norm(x)) if self.norm_first else norm(x + part(x))

    # The parts have PyTorch's names, because published subclasses call and override them.

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        return self._attend(1, x, x, attn_mask, key_padding_mask, is_causal)

    def _attend(
        self, k: int, x: Tensor, memory: Tensor, mask: Any, padding: Any, is_causal: bool
    ) -> Tensor:
        """The k-th attention of x to memory, and the dropout after it."""
        attention = getattr(self, self._attentions[k - 1])
        kwargs = {"attn_mask": mask, "is_causal": is_causal, "need_weights": False}
        found = attention(x, memory, memory, key_padding_mask=padding, **kwargs)
        return getattr(self, f"dropout{k}")(found[0])  # without the weights

    def _ff_block(self, x: Tensor) -> Tensor:
        x = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return getattr(self, f"dropout{len(self._attentions) + 1}")(x)


class TransformerEncoderLayer(_Layer):
    """Self-attention and a network of two layers, each with a residual connection.

    src                     (l, n, d_model)   or (n, l, d_model) with batch_first, or (l, d_model)
    src_mask                (l, l)            for each position, the positions to ignore
    src_key_padding_mask    (n, l)            positions that are padding
    returns                 shaped like src

    nhead             the number of heads
    dim_feedforward   the width of the network
    activation        "relu", "gelu", or a function
    norm_first        apply LayerNorm before each part instead of after the sum

    >>> from minigrad import ones
    >>> TransformerEncoderLayer(8, 2, 16, batch_first=True)(ones(3, 5, 8)).shape
    minigrad.Size([3, 5, 8])
    """

    _attentions = ("self_attn",)

    @property
    def activation_relu_or_gelu(self) -> int:
        """1 for ReLU, 2 for GELU, and 0 for other activations."""
        kinds = ((F.relu, ReLU), (F.gelu, GELU))
        known = [self.activation is f or isinstance(self.activation, kind) for f, kind in kinds]
        return known.index(True) + 1 if any(known) else 0

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """src to a tensor of the same shape."""
        masks = _canonical_masks(src, src_mask, "src_mask", src_key_padding_mask)
        x = self._with_residual(1, src, lambda x: self._sa_block(x, *masks, is_causal=is_causal))
        return self._with_residual(2, x, self._ff_block)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's memory, and a network of two layers.

    tgt        (l, n, d_model)     or (n, l, d_model) with batch_first, or (l, d_model)
    memory     (s, n, d_model)     the encoder's output
    returns    shaped like tgt

    tgt_mask, memory_mask                            (l, l), (l, s)   for each position, the positions to ignore
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
        masks, causal = (tgt_mask, tgt_key_padding_mask), tgt_is_causal
        x = self._with_residual(1, tgt, lambda x: self._sa_block(x, *masks, is_causal=causal))
        of_memory = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        x = self._with_residual(2, x, lambda x: self._mha_block(x, *of_memory))
        return self._with_residual(3, x, self._ff_block)

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        return self._attend(2, x, mem, attn_mask, key_padding_mask, is_causal)


def _canonical_masks(
    src: Tensor, mask: Tensor | None, name: str, padding: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """An encoder's mask, of this name, and its src_key_padding_mask, as numbers to add to the scores."""
    other = _none_or_dtype(mask), name, src.dtype
    padding = _canonical_mask(padding, "src_key_padding_mask", *other)
    return _canonical_mask(mask, name, None, "", src.dtype), padding


def _get_activation_fn(activation: Activation) -> Callable[[Tensor], Tensor]:
    """The activation of this name. Published programs import this function, under this name of PyTorch's."""
    if callable(activation):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


# ------------------------------------------------------------------------ stacks


def _get_clones(module: Module, n: int) -> ModuleList:
    """n copies of a module, each with its own parameters."""
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


class _Stack(Module):
    """The base class of both stacks: copies of one layer, applied one after another."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = _get_clones(layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def _apply_layers(self, x: Tensor, *memory: Tensor, **masks: Tensor | bool | None) -> Tensor:
        for layer in self.layers:
            x = layer(x, *memory, **masks)
        return x if self.norm is None else self.norm(x)


def _no_fast_path(layer: Any) -> str:
    """Why PyTorch's fast path does not take this encoder layer; "" if it does."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        ".norm_first was True": layer.norm_first,
        ".self_attn.batch_first was not True(use batch_first for better inference performance)": (
            not attention.batch_first
        ),
        ".self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        ".self_attn was passed bias=False": attention.in_proj_bias is None,
        ".activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        ".norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        ".self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class TransformerEncoder(_Stack):
    """A stack of encoder layers: copies of one layer, each with its own parameters.

    norm   an optional LayerNorm at the end

    enable_nested_tensor   for PyTorch's fast path: without effect here, except that a layer that
                           would not take it is reported in PyTorch's words
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        reason = _no_fast_path(encoder_layer)
        if enable_nested_tensor and reason:
            warn_user(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because encoder_layer{reason}"
            )
        self.use_nested_tensor = enable_nested_tensor and not reason

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """src to a tensor of the same shape."""
        mask, padding = _canonical_masks(src, mask, "mask", src_key_padding_mask)
        return self._apply_layers(
            src, src_mask=mask, src_key_padding_mask=padding, is_causal=bool(is_causal)
        )


class TransformerDecoder(_Stack):
    """A stack of decoder layers, which all attend to the same memory."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

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
        """tgt and memory to a tensor of the shape of tgt."""
        return self._apply_layers(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=bool(tgt_is_causal),
            memory_is_causal=memory_is_causal,
        )


class Transformer(Module):
    """An encoder for the source, and a decoder that produces the target from it.

    src        (s, n, d_model)     or (n, s, d_model) with batch_first, or (s, d_model)
    tgt        (l, n, d_model)
    returns    shaped like tgt

    It does not include embeddings, positional encodings or an output layer. All matrices are
    initialized with xavier_uniform_.

    >>> from minigrad import ones
    >>> model = Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(ones(3, 5, 8), ones(3, 4, 8), tgt_mask=model.generate_square_subsequent_mask(4)).shape
    minigrad.Size([3, 4, 8])
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
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
                 norm_first, bias, device, dtype)  # fmt: skip
        norm = (d_model, layer_norm_eps, True, bias, device, dtype)
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*layer), num_encoder_layers, LayerNorm(*norm)
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*layer), num_decoder_layers, LayerNorm(*norm)
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
        """src and tgt to a tensor of the shape of tgt."""
        axis = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                "the feature number of src and tgt must be equal to d_model: "
                f"they are {src.shape[-1]} and {tgt.shape[-1]}, and d_model is {self.d_model}"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: DeviceLike = None, dtype: DTypeLike = None
    ) -> Tensor:
        """A causal mask: -inf above the diagonal, else 0, so no position attends to a later one.

        >>> Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        later = full((sz, sz), -math.inf, dtype=dtype, device=device)
        return wrap(np.triu(later.array, 1))
