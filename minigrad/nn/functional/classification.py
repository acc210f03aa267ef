"""Classification losses.

cross_entropy takes logits (unnormalized scores), and nll_loss takes their log_softmax. The binary
losses take one probability, or one logit, for each binary decision.
"""

import math
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.dtypes import int64, torch_name, uint8
from minigrad.core.errors import warn_user
from minigrad.core.modes import seen
from minigrad.core.op import Op
from minigrad.core.shapes import Array, normalize_one
from minigrad.core.tensor import Tensor
from minigrad.methods.base import Values
from minigrad.methods.indexing import beyond
from minigrad.nn.functional.arguments import a_loss, checked, floats_only, reduced_by
from minigrad.ops.composites import named


@a_loss(size_average_before="ignore_index")
def cross_entropy(
    input: Tensor,
    target: Any,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Mean of -log p[target], where p = softmax(input).

    input     (n, k)   one row of scores per example, any real numbers; or (k,), or (n, k, ...)
    target    (n,)     integers in 0..k-1, the correct class of each row; or a probability
                       distribution over the classes for each row, shaped like input
    weight    (k,)     the weight of each class
    returns   ()       a scalar, never negative ((n,) with reduction "none")

    The softmax and the logarithm are computed together, as input - logsumexp(input), so that
    large scores do not overflow. The gradient is (p - onehot(target)) / n. With
    label_smoothing e, the target is (1 - e) * onehot(target) + e / k.

    Raises IndexError, with the row, if an entry of target is outside 0..k-1.

    >>> import minigrad
    >>> round(cross_entropy(minigrad.tensor([[2.0, 0.0, 0.0]]), minigrad.tensor([0])).item(), 4)
    0.2395

    Source: Bishop, Pattern Recognition and Machine Learning (2006), section 4.3.4.
    """
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    array = getattr(target, "array", None)
    if array is not None and array.shape == input.array.shape and array.dtype.kind == "f":
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    t, axis = _class_targets(input, target, "cross_entropy")
    how = (weight, ignore_index, reduction)
    z = _class_loss(ops.cross_entropy, input, t, axis, how)
    if not label_smoothing:
        return z
    smooth = _smoothing_loss(input, t, axis, how)
    return z * (1 - label_smoothing) + smooth * (label_smoothing / input.shape[axis])


How = tuple[Tensor | None, int, str]  # the class weights, ignore_index and the reduction


def _class_loss(op: Op, x: Tensor, target: Array, axis: int, how: How) -> Tensor:
    """The loss of cross_entropy or nll_loss: the op, with a weight for each example."""
    weight, _, reduction = how
    if weight is not None and weight.dtype != x.dtype:
        raise RuntimeError(
            f"expected scalar type {torch_name(x.dtype)} but found {torch_name(weight.dtype)}. To fix it, write  "
            "weight.to(input.dtype)."
        )
    weights, target = _class_weights(x, target, axis, how)
    reduced = checked(reduction) != "none"
    z: Tensor = op.apply(x, target=target, weights=weights, axis=axis, reduced=reduced)
    # The mean over no examples is NaN. Its gradient is 0, so a batch of padding does no harm.
    # (While a program is recorded, the weights are not an array, because their values are unknown.)
    nothing = not target.size or (weights.__class__ is np.ndarray and not weights.any())
    return z + math.nan if nothing and reduction == "mean" else z


def _smoothing_loss(x: Tensor, target: Array, axis: int, how: How) -> Tensor:
    """The sum of the losses with each class as the target, for label smoothing."""
    weight, ignore_index, reduction = how
    counted, _ = _class_weights(x, target, axis, (None, ignore_index, "none"))
    logp = x.log_softmax(axis)
    if weight is not None:
        logp = logp * _along_classes(weight.detach(), x, axis)
    z = (-logp.sum(axis)).masked_fill(x._constant(counted) == 0, 0)
    if reduction == "mean":
        weights, _ = _class_weights(x, target, axis, (weight, ignore_index, "none"))
        total = np.sum(np.broadcast_to(weights, target.shape))
        if isinstance(total, np.ndarray):  # of a program
            return z.sum() / x._constant(np.where(total == 0, 1, total))
        return z.sum() / float(total) if total else z.sum()
    return reduced_by(z, reduction)


def _along_classes(weight: Tensor, x: Tensor, axis: int) -> Tensor:
    """The class weights, reshaped to broadcast along the class axis."""
    return weight.reshape(*(-1 if i == axis else 1 for i in range(x.ndim)))


def _soft_cross_entropy(
    x: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    """Cross entropy with a probability distribution over the classes as target."""
    axis = normalize_one(0 if x.ndim == 1 else 1, x.ndim)
    n = x.shape[axis]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / n
    logp = x.log_softmax(axis) * target
    if weight is not None:
        logp = logp * _along_classes(weight, x, axis)
    if reduction == "mean":
        return named(-logp.sum() / (x.numel() // max(n, 1)), "DivBackward1")
    return reduced_by(-logp.sum(axis), reduction)


@a_loss(size_average_before="ignore_index")
def nll_loss(
    input: Tensor,
    target: Values,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Mean of -log p[target], given log p (from log_softmax).

    input          (n, k) or (k,) or (n, k, ...)
    target         (n,)   or ()   or (n, ...)     integers in 0..k-1
    weight         (k,)                           the weight of each class
    ignore_index   a target value to ignore
    """
    t, axis = _class_targets(input, target, "nll_loss")
    return _class_loss(ops.nll_loss, input, t, axis, (weight, ignore_index, reduction))


@a_loss()
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Mean of -(target * log p + (1 - target) * log(1 - p)), where p = input.

    Each logarithm is limited to at least -100, so the loss is finite for p = 0.
    """
    _same_size(input, target, "binary_cross_entropy")
    _probabilities(input, "input")
    if target.array.dtype != input.array.dtype:
        names = torch_name(target.dtype), torch_name(input.dtype)
        raise RuntimeError(
            f"Found dtype {names[0]} but expected {names[1]}. To fix it, write  target.to(input.dtype)."
        )
    _probabilities(target, "target")
    if weight is None:
        return ops.binary_cross_entropy.apply(input, target, reduction=checked(reduction))
    z = ops.binary_cross_entropy.apply(input, target, reduction="none") * weight.to(input.dtype)
    return named(reduced_by(z, reduction), "BinaryCrossEntropyBackward0")


@a_loss()
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of p = sigmoid(input), computed in one step so that nothing overflows.

    pos_weight   a factor for the loss of positive examples
    """
    _same_size(input, target, "binary_cross_entropy_with_logits")
    if target.array.dtype.kind != "f":
        raise RuntimeError(
            f"result type {torch_name(input.dtype)} can't be cast to the desired output type "
            f"{torch_name(target.dtype)}. To fix it, write  target.to(input.dtype)."
        )
    floats_only("log_sigmoid", input)
    reduction = checked(reduction)
    if weight is None and pos_weight is None:
        return ops.binary_cross_entropy_with_logits.apply(input, target, reduction=reduction)
    logp = ops.logsigmoid.apply(input)
    if pos_weight is not None:
        logp = (1 + (pos_weight - 1) * target) * logp
    z = (1 - target) * input - logp
    z = reduced_by(z if weight is None else z * weight, reduction)
    return named(z, "BinaryCrossEntropyWithLogitsBackward0")


@a_loss()
def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """Mean of target * (log target - input), where input is log p.

    reduction   "batchmean" divides the sum by the number of rows, which gives the true KL divergence
    log_target  whether target is log-probabilities, too

    Source: Kullback and Leibler, On Information and Sufficiency (1951).
    """
    floats_only("kl_div", input, target)
    if log_target:
        z = target.exp() * (target - input)
    else:
        some = target != 0  # 0 * log 0 counts as 0
        one = target._constant(target.dtype.type(1))
        z = target * ops.where.apply(some, target, one).log() - target * input
    if reduction == "batchmean":
        return z.sum() / input.shape[0] if input.ndim else z.sum()
    if reduction == "mean":
        warn_user(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition. 'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release."
        )
    return reduced_by(z, reduction)


@a_loss(node="MultiMarginLossBackward0")
def multi_margin_loss(
    input: Tensor, target: Values, p: int = 1, margin: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """The sum over the wrong classes of max(0, margin - correct score + wrong score)**p, divided by k.

    input    (n, k) or (k,)
    target   (n,)   or ()     integers in 0..k-1

    Source: Crammer and Singer, Multiclass Kernel-based Vector Machines (2001).
    """
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    classes = np.asanyarray(seen(target))
    if input.ndim < 2 or len(input) == 1:  # one example; its loss has the shape of its target
        input = input.reshape(-1)
    if classes.ndim > 1 or classes.size != (len(input) if input.ndim == 2 else 1):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples. "
            f"Expected target size [{len(input) if input.ndim == 2 else 1}], but got {list(classes.shape)}."
        )
    t, axis = _class_targets(input, target, "multi_margin_loss")
    at = np.expand_dims(t, axis)
    hinge = (input - input.gather(axis, at) + margin).relu()
    hinge = hinge.scatter(axis, at, 0.0)
    z = (hinge if p == 1 else hinge.square()).sum(axis) / input.shape[axis]
    if weight is not None:
        z = z * _weight_of_target(weight, t)
    return z.reshape(classes.shape)


@a_loss()
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None
) -> Tensor:
    """binary_cross_entropy_with_logits, first averaged over the classes of each example; several can be correct.

    input, target   (n, k)   the target is 0 or 1
    """
    normalize_one(-1, input.ndim)  # raises IndexError for a single number
    z = (target - 1) * -input - ops.logsigmoid.apply(input)
    return (z if weight is None else z * weight).sum(input.ndim - 1) / input.shape[-1]


def _class_targets(x: Tensor, target: Values, name: str) -> tuple[Any, int]:
    """The targets as an array, and the class axis. The targets must have the shape of x without this axis."""
    classes = np.asanyarray(seen(target))
    d, (shape, ndim) = classes.dtype, (x.array.shape, x.array.ndim)
    batch = len(classes) if classes.ndim else 0
    if ndim > 1 and shape[0] != batch and x.array.dtype.kind == "f":
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({batch})."
        )
    if d not in (int64, uint8) and (isinstance(target, Tensor) or d.kind not in "iu"):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {torch_name(d)}. To fix it, write  target.long()."
        )
    target = _integer_targets(x, classes, name)
    axis = 0 if ndim == 1 else 1
    expected = shape[:axis] + shape[axis + 1 :]
    if ndim <= 2 and target.ndim > 1:
        advice = " To fix it, write  target.squeeze(1)." if target.shape[1:] == (1,) else ""
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported: the target is "
            f"{list(target.shape)}, and needs one class for each row.{advice}"
        )
    if ndim == 1 and target.size != 1:
        raise ValueError(
            f"For 1D input, 1D target must have size 1, but got target size: {target.size}"
        )
    if ndim == 4 and target.ndim != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}"
        )
    if ndim > 1 and target.shape != expected:
        raise RuntimeError(
            f"Expected target size {list(expected)}, got {list(target.shape)}: input is "
            f"{list(shape)}, with the classes along axis {axis}."
        )
    return (target.reshape(()) if ndim == 1 else target), axis


def _integer_targets(x: Tensor, target: Array, name: str) -> Array:
    """The targets as int64. Raises an error for targets like probabilities, and for an x that is not floats."""
    target = target.astype(np.int64, order="C", copy=False)
    if name == "cross_entropy" and target.shape == x.array.shape != ():
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got integers: the target has "
            "the shape of the input. To fix it, pass one class for each row, or probabilities."
        )
    floats_only(name, x)
    if not x.array.ndim:
        kind = ValueError if name == "nll_loss" else IndexError if target.ndim else RuntimeError
        raise kind(
            f"{name}: Expected 1 or more dimensions (got 0): input tensor should be 1D or 2D."
        )
    return target


def _class_weights(x: Tensor, target: Array, axis: int, how: How) -> tuple[Any, Any]:
    """The weight of each example, and the targets. Ignored examples get weight 0 and target 0."""
    weight, ignore_index, reduction = how
    n, dtype = x.array.shape[axis], x.array.dtype
    weights = None
    values = np.asarray(target)  # while recording a program, the values of the example input
    some_outside = beyond(values, n)
    if some_outside:
        bad = ((values < 0) | (values >= n)) & (values != ignore_index)
        if bad.any():
            where = np.argwhere(bad)[0].tolist()
            raise IndexError(
                f"Target {values[tuple(where)]} is out of bounds. With {n} classes a target is 0 to {n - 1}; "
                f"this one is at row {', '.join(map(str, where)) or 0}."
            )
    # Could it be taken for a class? A later run of a program may have targets to ignore, and to NumPy -1 is the last.
    least = -n if target.__class__ is not np.ndarray else 0
    ignored = target == ignore_index if some_outside or least <= ignore_index < n else None
    if ignored is not None:
        weights = (~ignored).astype(dtype)
        target = np.where(ignored, 0, target)
    if weight is not None:
        if weight.shape != (n,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {n} classes or no classes but got "
                f"weight tensor of shape: {list(weight.shape)}"
            )
        of_class = _weight_of_target(weight, target).array
        weights = of_class if ignored is None else np.where(ignored, dtype.type(0), of_class)
    if reduction == "mean":
        if weights is None:
            return dtype.type(1 / max(target.size, 1)), target
        nothing_left = ignored.__class__ is np.ndarray and ignored.all()
        return (weights if nothing_left else weights / weights.sum()), target
    return dtype.type(1) if weights is None else weights, target


def _weight_of_target(weight: Tensor, target: Array) -> Tensor:
    """The class weight of each example."""
    return weight.detach().index_select(0, target.reshape(-1)).reshape(target.shape)


def _probabilities(x: Tensor, name: str) -> None:
    """Raise RuntimeError unless all entries are probabilities."""
    p = np.asarray(x.array)  # of a program, those of the examples
    if p.size and not ((p >= 0) & (p <= 1)).all():
        fix = (
            "the sigmoid of the input, or use binary_cross_entropy_with_logits (BCEWithLogitsLoss)"
        )
        raise RuntimeError(
            f"all elements of {name} should be between 0 and 1"
            + (f". To fix it, pass {fix}." if name == "input" else "")
        )


def _same_size(input: Tensor, target: Tensor, name: str) -> None:
    if input.array.shape != target.array.shape:
        same_number = input.numel() == target.numel()
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
            if name == "binary_cross_entropy"
            else f"Target size ({target.shape}) must be the same as input size ({input.shape})"
            f"{'. To fix it, use target.view_as(input).' if same_number else ''}"
        )
