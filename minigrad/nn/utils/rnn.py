"""Sequences of unequal length: padded into one tensor, or packed without the padding.

Packed sequences are sorted by length, longest first, and stored step by step: the first elements
of all sequences, then the second elements of the sequences that have one, and so on.

    a b c          data          a d f b e c
    d e            batch_sizes   3 2 1
    f

So a recurrent network runs step t on batch_sizes[t] rows and never on padding.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.modes import seen
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.base import Values
from minigrad.methods.functions import cat, stack
from minigrad.ops.composites import named


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences without padding, made by pack_padded_sequence or pack_sequence.

    data               (sum of the lengths, ...)   the elements, step by step
    batch_sizes        (longest length,)           the number of sequences with a t-th element
    sorted_indices     (n,)                        the order, longest first; None: already sorted
    unsorted_indices   (n,)                        the inverse permutation
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> "PackedSequence":
        if unsorted_indices is None and sorted_indices is not None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """The same sequences with data in another dtype, or the object itself if it already has this dtype."""
        return self._with(self.data.to(*args, **kwargs))

    def _with(self, data: Tensor) -> "PackedSequence":
        return self if data is self.data else self._replace(data=data)

    def cpu(self) -> "PackedSequence":
        """The object itself: there is only one device."""
        return self

    @property
    def is_cuda(self) -> bool:
        """False: there is only one device, the CPU."""
        return False


def _cast(name: str) -> Any:
    def cast(self: PackedSequence) -> PackedSequence:
        return self._with(getattr(self.data, name)())

    cast.__name__ = name
    cast.__doc__ = f"The same sequences, with data.{name}()."
    return cast


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    setattr(PackedSequence, _name, _cast(_name))


def invert_permutation(permutation: Tensor) -> Tensor:
    """The inverse of a permutation."""
    return permutation.argsort()


def pack_padded_sequence(
    input: Tensor, lengths: Values, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences into a PackedSequence. Gradients flow through.

    input            (l, n, ...)   or (n, l, ...) with batch_first
    lengths          (n,)          the length of each sequence
    enforce_sorted   True: raise an error unless they are sorted, longest first; False: sort them

    >>> import minigrad
    >>> packed = pack_padded_sequence(minigrad.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
    >>> packed.data, packed.batch_sizes
    (tensor([1, 3, 2]), tensor([2, 1]))
    """
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    given = np.asanyarray(seen(lengths))
    order = None
    if not enforce_sorted:
        order = np.argsort(-given, kind="stable").astype(np.int64, copy=False)
        given = given[order]
        input = input.index_select(0 if batch_first else 1, wrap(order))
    x = input.transpose(0, 1) if batch_first else input
    if len(given) != x.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(given)} (batch_size={x.shape[1]})"
        )
    if given.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(given) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement."
        )
    if given[0] > x.shape[0]:
        raise RuntimeError(
            f"Expected lengths of at most {x.shape[0]}, that of the padded input, but got {given[0]}"
        )
    steps, rows = np.nonzero(np.arange(given[0])[:, None] < given)
    sizes = wrap(np.bincount(steps).astype(np.int64))
    data = named(x[wrap(steps), wrap(rows)], "PackPaddedSequenceBackward0")
    return PackedSequence(data, sizes, None if order is None else wrap(order))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The inverse: padded sequences (l, n, ...), or (n, l, ...) with batch_first, and their lengths.

    total_length   pad to this length instead of the length of the longest sequence
    """
    sizes = sequence.batch_sizes.array
    if not len(sizes):
        raise RuntimeError("batch_sizes can not be empty")
    longest = len(sizes) if total_length is None else total_length
    if longest < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    lengths = (np.arange(sizes[0])[:, None] < sizes).sum(1).astype(np.int64)
    steps, rows = np.nonzero(np.arange(len(sizes))[:, None] < lengths)
    data = sequence.data
    x = data.new_full((longest, sizes[0], *data.shape[1:]), padding_value)
    x.flatten(0, 1)[wrap(steps * sizes[0] + rows)] = data
    if batch_first:
        x = x.transpose(0, 1)
    if sequence.unsorted_indices is not None:
        x = x.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.array]
    return x, wrap(lengths)


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of shape (length, ...), padded into one tensor: (l, n, ...), or (n, l, ...).

    >>> import minigrad
    >>> pad_sequence([minigrad.tensor([1, 2]), minigrad.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if padding_side not in ("right", "left"):
        raise RuntimeError(f"padding_side should be either 'right' or 'left', got {padding_side}")
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    xs = list(sequences)
    if not xs:
        raise RuntimeError("received an empty list of sequences")
    for k, x in enumerate(xs):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0, but got {type(x).__name__}. To fix it, make tensors "
                "of the sequences: minigrad.tensor(...)."
            )
    longest = max(x.shape[0] for x in xs)
    padded = []
    for x in xs:
        rest = x.new_full((longest - x.shape[0], *xs[0].shape[1:]), padding_value)
        padded.append(cat([x, rest] if padding_side == "right" else [rest, x]))
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Values, batch_first: bool = False
) -> list[Tensor]:
    """The sequences without their padding."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    numbers = np.asanyarray(seen(lengths)).tolist()
    return [row[:n] for row, n in zip(x, numbers, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences of shape (length, ...) as a PackedSequence."""
    lengths = [x.shape[0] for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The inverse: the sequences, each of shape (length, ...)."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
