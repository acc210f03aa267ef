"""Modules for the functions in functional/sampling.py and functional/sequences.py."""

from collections.abc import Sequence
from typing import Self

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.shapes import Several
from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.embedding import _Table
from minigrad.nn.images import Upsample
from minigrad.nn.losses import _Loss, _ReducedLoss

__all__ = [
    "CTCLoss",
    "EmbeddingBag",
    "MultiLabelMarginLoss",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class EmbeddingBag(_Table):
    """The mean, sum or maximum of rows of a table, for each bag of row indices.

    input     (n, l), one bag per row; or (l,) and offsets (n,), the start of each bag
    returns   (n, embedding_dim)
    weight    (num_embeddings, embedding_dim)      from the normal distribution
    """

    _padding_text = "padding_idx"

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
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type,
                         scale_grad_by_freq, sparse, _weight, False, device, dtype)  # fmt: skip
        self.mode, self.include_last_offset = mode, include_last_offset

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """An EmbeddingBag with this table, which is not trained any further unless freeze is False.

        >>> from minigrad import tensor
        >>> table = EmbeddingBag.from_pretrained(tensor([[1.0, 2.0], [3.0, 6.0]]))
        >>> table(tensor([[0, 1]]))
        tensor([[2., 4.]])
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        n, d = embeddings.shape
        bag = cls(n, d, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
                  embeddings, include_last_offset, padding_idx)  # fmt: skip
        bag.weight.requires_grad_(not freeze)
        return bag

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """Integers (n, l), or (l,) and offsets (n,), to (n, embedding_dim)."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The sizes and the mode, and the settings that differ from the usual ones."""
        text = self._settings_text(
            "num_embeddings", "embedding_dim", max_norm=None, norm_type=2, scale_grad_by_freq=False
        )
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{text}, mode={self.mode!r}{padding}"


class CTCLoss(_Loss, of=F.ctc_loss):
    """-log of the probability that the frames give the target, over all alignments: F.ctc_loss."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False


class MultiLabelMarginLoss(_ReducedLoss, of=F.multilabel_margin_loss):
    """Every correct class should score higher than every wrong one, by at least 1: F.multilabel_margin_loss."""


class UpsamplingNearest2d(Upsample):
    """Upsample(mode="nearest")"""

    def __init__(
        self, size: Several | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample(mode="bilinear", align_corners=True)"""

    def __init__(
        self, size: Several | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
