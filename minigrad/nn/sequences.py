"""Modules for the functions in functional/sampling.py and functional/sequences.py."""

from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.images import Upsample
from minigrad.nn.linear import parameter
from minigrad.nn.losses import _Loss, _ReducedLoss
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter

__all__ = [
    "CTCLoss",
    "EmbeddingBag",
    "MultiLabelMarginLoss",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class EmbeddingBag(Module):
    """The mean, sum or maximum of rows of a table, for each bag of row indices.

    input     (n, l), one bag per row; or (l,) and offsets (n,), the start of each bag
    returns   (n, embedding_dim)
    weight    (num_embeddings, embedding_dim)      from the normal distribution
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        if _weight is None:
            self.weight = parameter(num_embeddings, embedding_dim, dtype=dtype, device=device)
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight)

    def reset_parameters(self) -> None:
        """Initialize the table again."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx].fill_(0)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        if self.max_norm is not None:
            parts.append(f"max_norm={self.max_norm}")
        if self.norm_type != 2:
            parts.append(f"norm_type={self.norm_type}")
        if self.scale_grad_by_freq is not False:
            parts.append(f"scale_grad_by_freq={self.scale_grad_by_freq}")
        parts.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        return ", ".join(parts)


class CTCLoss(_Loss, of=F.ctc_loss):
    """-log of the probability that the frames give the target, over all alignments: F.ctc_loss."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False


class MultiLabelMarginLoss(_ReducedLoss, of=F.multilabel_margin_loss):
    """Every correct class should score higher than every wrong one, by at least 1: F.multilabel_margin_loss."""


class UpsamplingNearest2d(Upsample):
    """Upsample(mode="nearest")"""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample(mode="bilinear", align_corners=True)"""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
