"""Multi-head attention: several attention heads in parallel.

The queries, keys and values are projected, and the projections are split into `num_heads`
parts. Each head computes attention on its part (see functional/attention.py). The results are
joined and projected again. So a layer can attend to several positions at once.

The layer holds the parameters. What it computes, and the masks, are in functional/attention.py.

Source: Vaswani et al., Attention Is All You Need (2017), section 3.2.2.
"""

import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.linear import Linear, add_parameters
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter

__path__: list[str] = []  # `import minigrad.nn.attention.flex_attention` finds that it is left out


class SDPBackend(enum.Enum):
    """PyTorch's implementations of attention. Here there is only one, MATH."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


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
        if self.batch_first and query.ndim == 3:
            if query is key and key is value:  # one tensor: its three projections are one product
                query = key = value = query.transpose(0, 1)
            else:
                query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias,
            self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            # Not a call of the layer: its hooks are not run in PyTorch either.
            self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask,
            not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (output.transpose(0, 1) if self.batch_first and query.ndim == 3 else output), weights
