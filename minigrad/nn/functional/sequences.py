"""Functions for sequences and sets: ctc_loss, embedding_bag, multilabel_margin_loss."""

import numpy as np

from minigrad.core.dtypes import int32, int64, torch_name
from minigrad.core.modes import seen
from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.base import Values
from minigrad.methods.functions import cat, stack, where
from minigrad.nn.functional.arguments import a_loss, reduced_by
from minigrad.nn.functional.linear import embedding
from minigrad.ops.composites import named

NEVER = -1e30  # stands for log(0). It is finite, so that differences are not NaN


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Values,
    target_lengths: Values,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability of the target, summed over all its alignments with the frames.

    log_probs         (t, n, k)   or (t, k): the log_softmax of the scores of each frame
    targets           (n, s)      or concatenated, (sum of the lengths,); no blanks
    input_lengths     (n,)        the number of frames
    target_lengths    (n,)        the length of each target
    blank             the class for "no letter": optional between letters, required between equal ones
    zero_infinity     return 0 instead of inf if the target is too long for the frames

    Computed with the forward algorithm: alpha[j] is the probability that the frames so far end at
    position j of the extended target, which has blanks around all letters. Position j is reached
    from j, j - 1 and, if the letters differ, j - 2.

    "mean" first divides each loss by the length of its target.

    Source: Graves et al., Connectionist Temporal Classification (2006).
    """
    single = log_probs.ndim == 2
    x = log_probs.unsqueeze(1) if single else log_probs
    frames, letters = (np.atleast_1d(_array(v)) for v in (input_lengths, target_lengths))
    t, n, k = x.shape
    _check_lengths(frames, letters, _array(targets), x)
    if not 0 <= blank < k:
        raise RuntimeError("blank must be in label range")
    extended = _with_blanks(_array(targets), letters, blank)
    before = np.concatenate([np.full((n, 2), -1), extended], 1)[:, :-2]
    may_skip = wrap((extended != blank) & (extended != before))
    log_zero = x.new_full((n, 2), NEVER)
    scores = x.gather(2, wrap(np.broadcast_to(extended, (t, *extended.shape)).copy()))
    alpha = _log_start_probability(scores[0], frames, letters)
    for i in range(1, t):
        one = cat([log_zero[:, :1], alpha[:, :-1]], 1)
        two = where(may_skip, cat([log_zero, alpha], 1)[:, :-2], NEVER)
        new = scores[i] + stack([alpha, one, two]).logsumexp(0)
        alpha = where(wrap((i < frames)[:, None]), new, alpha)
    loss = -_log_end_probability(alpha, letters)
    impossible = wrap(loss.detach().array > -NEVER / 2)
    loss = loss.masked_fill(impossible, 0.0 if zero_infinity else float("inf"))
    if reduction == "mean":
        return (loss / wrap(np.maximum(letters, 1).astype(x.dtype))).mean()
    return reduced_by(loss.squeeze(0) if single else loss, reduction)


def _log_start_probability(scores: Tensor, frames: Array, letters: Array) -> Tensor:
    """log of the probability of each position at the first frame: a blank or the first letter."""
    first = np.arange(scores.shape[1]) < np.minimum(2, 2 * letters[:, None] + 1)
    alpha = where(wrap(first), scores, NEVER)
    if not frames.all():  # without frames, only the empty target is possible
        empty = scores.new_full((1, scores.shape[1]), NEVER).index_fill(
            1, wrap(np.zeros(1, np.int64)), 0
        )
        alpha = where(wrap((frames > 0)[:, None]), alpha, empty)
    return alpha


def _log_end_probability(alpha: Tensor, letters: Array) -> Tensor:
    """log of the probability of ending at the last letter, or at the blank after it."""
    end = np.stack([2 * letters, np.maximum(2 * letters - 1, 0)], 1)
    there = wrap(np.stack([letters >= 0, letters > 0], 1))
    return where(there, alpha.gather(1, wrap(end)), NEVER).logsumexp(1)


def _check_lengths(frames: Array, letters: Array, targets: Array, x: Tensor) -> None:
    """Raise an error unless x, (t, n, k), has n lengths each, at most t frames, and as many letters in the targets."""
    if not x.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    t, n = x.shape[:2]
    for name, lengths in (("input_lengths", frames), ("target_lengths", letters)):
        if lengths.dtype.kind not in "iu":
            raise RuntimeError(f"{name} must be integral")
        if lengths.min(initial=0) < 0:
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value {lengths.min()}"
            )
    if len(frames) != n or len(letters) != n:
        raise RuntimeError(
            f"input_lengths and target_lengths must be of size {n}, that of the batch"
        )
    if frames.max(initial=0) > t:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {t}, but got {frames.max()}"
        )
    needed = letters.max(initial=0) if targets.ndim == 2 else letters.sum()
    if needed > targets.shape[-1]:
        raise RuntimeError(
            f"Expected targets to have size at least {needed} at dimension {targets.ndim - 1}, but got size "
            f"{targets.shape[-1]}"
        )


def _array(value: Values) -> Array:
    """The values as an array. While a program is recorded, it records what is computed from it."""
    return np.asanyarray(seen(value))


def _with_blanks(targets: Array, lengths: Array, blank: int) -> Array:
    """Each target as a row, with blanks before, between and after the letters."""
    n, longest = len(lengths), int(lengths.max(initial=0))
    of_rows = np.arange(n) * targets.shape[-1]
    starts = of_rows if targets.ndim == 2 else np.cumsum(lengths) - lengths
    letter = np.arange(longest)
    there = letter < lengths[:, None]
    places = np.where(there, starts[:, None] + letter, 0)
    letters = np.where(there, targets.reshape(-1)[places], blank).astype(np.int64)
    both = np.stack([np.full((n, longest), blank), letters], 2).reshape(n, 2 * longest)
    return np.concatenate([both, np.full((n, 1), blank)], 1)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of rows of a table, for each bag of row indices.

    input                (n, l)   one bag per row; or (l,), with the bags one after another
    weight               (k, d)
    offsets              (n,)     the start of each bag, if input is (l,)
    mode                 "sum", "mean" or "max"
    per_sample_weights   like input: a weight for each row, with "sum"
    padding_idx          a row index to ignore
    returns              (n, d)   zeros for an empty bag
    """
    _check_mode(mode, per_sample_weights, scale_grad_by_freq)
    flat = input.reshape(-1)
    starts = _starts(input, offsets, include_last_offset)
    _check_bags(input, weight, per_sample_weights, padding_idx)
    n = len(starts)
    bag = np.searchsorted(starts, np.arange(len(flat)), side="right") - 1
    rows = embedding(flat, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
    each = None if per_sample_weights is None else per_sample_weights.reshape(-1, 1)
    if padding_idx is not None:
        kept = np.nonzero(_array(flat) != padding_idx % weight.shape[0])[0]
        rows, bag, each = rows[kept], bag[kept], None if each is None else each[kept]
    rows = rows if each is None else rows * each
    if mode == "max":
        nothing = rows[:0].sum(0)  # zeros that are connected to the graph
        bags = [np.nonzero(bag == k)[0] for k in range(n)]
        z = stack([rows[b].max(0).values if len(b) else nothing for b in bags])
        return named(z, "EmbeddingBagBackward0")
    z = weight.new_zeros(n, weight.shape[1]).index_add(0, wrap(bag), rows)
    if mode == "mean":
        counts = np.maximum(np.bincount(bag, minlength=n), 1).astype(weight.dtype)
        z = z / wrap(counts[:, None])
    return named(z, "EmbeddingBagBackward0")


def _check_mode(mode: str, per_sample_weights: Tensor | None, scale_grad_by_freq: bool) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum or mean")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
            f"mode='sum' (got mode='{mode}')."
        )


def _starts(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> Array:
    """The position of the first row index of each bag."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch"
            )
        n, length = input.shape
        return np.arange(n) * length
    if input.ndim == 1:
        if offsets is None or offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        if offsets.dtype not in (int32, int64):
            raise RuntimeError(
                "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
                f"got {torch_name(offsets.dtype)} for the offsets. To fix it, use offsets.long()."
            )
        starts = _array(offsets)[:-1] if include_last_offset else _array(offsets)
        if starts.max(initial=0) > len(input):
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length {len(input)}, but is {starts.max()}"
            )
        if len(starts) and starts[0] != 0:
            raise RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                f"position 0. However, got {starts[0]}"
            )
        return starts
    raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")


def _check_bags(
    input: Tensor, weight: Tensor, per_sample_weights: Tensor | None, padding_idx: int | None
) -> None:
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    n = weight.shape[0]
    if padding_idx is not None and not -n <= padding_idx < n:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-n} through {n - 1}, but got {padding_idx}"
        )
    index = np.asarray(_array(input))  # of a program, those of the examples
    outside = index[(index < 0) | (index >= n)]
    if outside.size:
        raise RuntimeError(
            f"Expected idx >= 0 && idx < num_embeddings, which is {n}, but found idx to be {outside[0]}"
        )
    if per_sample_weights is None:
        return
    if per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: per_sample_weights must have the same shape as the input, {tuple(input.shape)}, "
            f"but has {tuple(per_sample_weights.shape)}"
        )
    if per_sample_weights.dtype != weight.dtype:
        raise RuntimeError(
            f"expected per_sample_weights ({per_sample_weights.dtype}) to have the same type as weight ({weight.dtype})"
        )


@a_loss(node="MultilabelMarginLossBackward0")
def multilabel_margin_loss(input: Tensor, target: Tensor) -> Tensor:
    """For all pairs of a correct and a wrong class: max(0, 1 - (correct score - wrong score)), summed and divided by k.

    input     (n, k) or (k,)
    target    (n, k) or (k,)   the correct classes, followed by -1
    """
    if input.ndim > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if tuple(target.shape) != tuple(input.shape):
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {torch_name(target.dtype)}")
    n, k = input.shape if input.ndim == 2 else (1, input.numel())
    x, labels = input.reshape(n, k), _array(target).reshape(n, k)
    given = np.logical_and.accumulate(labels >= 0, axis=1)
    right = np.zeros(labels.shape, bool)
    rows, columns = np.nonzero(given)
    right[rows, labels[rows, columns]] = True
    at = x.gather(1, wrap(np.where(given, labels, 0)))
    hinge = (1 - at.unsqueeze(2) + x.unsqueeze(1)).relu()
    counted = given[:, :, None] & ~right[:, None, :]
    z = hinge.masked_fill(wrap(~counted), 0).sum((1, 2)) / k
    return z if input.ndim == 2 else z.squeeze(0)
