"""Linear layers, in which every output is a weighted sum of the inputs, and embeddings.

Linear          x @ W.T + b
Bilinear        x1 @ W[k] @ x2 + b[k]     for each output k
Identity        x
Embedding       a table with a learned vector (a row) for each word, user or other item
EmbeddingBag    reads several rows at once, and returns their mean, sum or maximum
"""

import math
from typing import Self

from minigrad.core import modes
from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.shapes import Shape
from minigrad.core.tensor import Tensor
from minigrad.methods.base import Values
from minigrad.methods.creation import empty
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter


def add_parameters(
    module: Module, device: DeviceLike, dtype: DTypeLike, **shapes: Shape | None
) -> None:
    """Register uninitialized parameters of these shapes; None in place of a shape registers no parameter."""
    for name, shape in shapes.items():
        new = None if shape is None else Parameter(empty(shape, dtype=dtype, device=device))
        module.register_parameter(name, new)


class Identity(Module):
    """Returns its input. It accepts and ignores any settings, so it can replace other layers."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Any input, unchanged."""
        return input


class _Weighted(Module):
    """A layer with a weight, whose rows belong to the outputs, and a bias or none."""

    weight: Parameter
    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Initialize the parameters again."""
        # With a = sqrt(5), leaky_relu's gain is 1/sqrt(3), so the bound is 1/sqrt(n), where n is the size of a row.
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        n = math.prod(self.weight.shape[1:])
        if self.bias is not None:
            bound = 1 / math.sqrt(n) if n else 0
            init.uniform_(self.bias, -bound, bound)


class Linear(_Weighted):
    """x @ weight.T + bias

    input     (..., in_features)
    returns   (..., out_features)
    weight    (out_features, in_features)
    bias      (out_features,)                 None with bias=False

    Initialized uniformly between -1/sqrt(in_features) and 1/sqrt(in_features), so that the
    sum of in_features terms is about as large as one input.

    >>> from minigrad import ones
    >>> layer = Linear(3, 2)
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    >>> layer(ones(5, 3)).shape
    minigrad.Size([5, 2])

    Source: LeCun et al., Efficient BackProp (1998), section 4.6, for the initialization.
    """

    _shown = ("in_features=", "out_features=", "bias=")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        shape = (out_features, in_features)
        add_parameters(self, device, dtype, weight=shape, bias=shape[:1] if bias else None)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        return F.linear(input, self.weight, self.bias)


class Bilinear(_Weighted):
    """x1 @ weight[k] @ x2 + bias[k], for each output k

    input1    (..., in1_features)
    input2    (..., in2_features)
    returns   (..., out_features)
    weight    (out_features, in1_features, in2_features)
    bias      (out_features,)

    Initialized uniformly between -1/sqrt(in1_features) and 1/sqrt(in1_features).
    """

    _shown = ("in1_features=", "in2_features=", "out_features=", "bias=")

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        add_parameters(self, device, dtype, weight=shape, bias=shape[:1] if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the parameters again."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """(..., in1_features) and (..., in2_features) to (..., out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)


# ------------------------------------------------------------------------ embeddings


class _Table(Module):
    """The base class of Embedding and EmbeddingBag: the table and its settings."""

    weight: Parameter
    _padding_error = "Padding_idx"  # as PyTorch's error begins

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(f"{self._padding_error} must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            add_parameters(self, device, dtype, weight=(num_embeddings, embedding_dim))
            self.reset_parameters()
            self.weight.requires_grad_(not _freeze)
        else:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim"
                )
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Initialize the table again."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        """The name by which classes of programs call this in their own reset_parameters."""
        if self.padding_idx is not None:
            with modes.no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """The rows weight[input] of a table.

    input     any shape, integers from 0 to num_embeddings - 1
    returns   (*input.shape, embedding_dim)
    weight    (num_embeddings, embedding_dim)

    padding_idx   a row that is initially zeros and gets no gradient, for the padding of
                  sequences of unequal length
    max_norm      before rows are read, those with a larger norm are scaled down to max_norm,
                  in place in weight
    scale_grad_by_freq   divide the gradient of a row by the number of times it was read
    sparse        store only the rows that were read in weight.grad

    Initialized from the normal distribution with mean 0 and standard deviation 1.

    Equivalent to a Linear layer without bias on one-hot vectors, but it reads only the rows that
    it needs.

    >>> from minigrad import tensor
    >>> Embedding(10, 3)(tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
    minigrad.Size([2, 4, 3])
    """

    _shown = ("num_embeddings", "embedding_dim")
    _shown_if_not = {
        "padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "sparse": False,
    }  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An Embedding with this table.

        embeddings   (num_embeddings, embedding_dim)
        freeze       whether the table stays fixed in training
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        n, d = embeddings.shape
        return cls(n, d, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
                   _weight=embeddings, _freeze=freeze)  # fmt: skip

    def forward(self, input: Values) -> Tensor:
        """Integers (...) to rows (..., embedding_dim)."""
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)  # fmt: skip


class EmbeddingBag(_Table):
    """The mean, sum or maximum of rows of a table, for each bag of row indices.

    input     (n, l), one bag per row; or (l,) and offsets (n,), the start of each bag
    returns   (n, embedding_dim)
    weight    (num_embeddings, embedding_dim)      from the normal distribution
    """

    _padding_error = "padding_idx"

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
        """An EmbeddingBag with this table, which stays fixed in training unless freeze is False.

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
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Integers (n, l), or (l,) and offsets (n,), to (n, embedding_dim)."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The sizes and the mode, and the settings that differ from the defaults."""
        text = self._settings_text(
            "num_embeddings", "embedding_dim", max_norm=None, norm_type=2, scale_grad_by_freq=False
        )
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{text}, mode={self.mode!r}{padding}"
