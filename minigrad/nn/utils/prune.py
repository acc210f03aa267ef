"""Pruning: entries of a weight are held at zero by a mask.

    l1_unstructured, random_unstructured    single entries: the smallest, or any
    ln_structured, random_structured        whole slices along an axis
    global_unstructured                     the smallest entries of several weights together
    custom_from_mask, identity              a mask of your own, or none
    remove, is_pruned

The parameter `weight` becomes `weight_orig`, and a buffer, `weight_mask`, is beside it. Before each call
the weight is their product, so no gradient flows to what is pruned. What is pruned again is pruned
among the entries that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

from minigrad.compat.modules import Absent
from minigrad.core import modes
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import ones_like
from minigrad.methods.functions import cat
from minigrad.nn.utils.reparametrize import ComputedWeight, _replace, _restore
from minigrad.random.tensors import rand, rand_like

Amount = int | float


class Pruned(ComputedWeight):
    """weight = weight_orig * weight_mask"""

    def __init__(self, name: str) -> None:
        self.name = name

    def compute(self, module: Any, training: bool) -> Tensor:
        """The product of the parameter and its mask."""
        weight: Tensor = getattr(module, f"{self.name}_orig")
        return weight * getattr(module, f"{self.name}_mask")


def identity(module: Any, name: str) -> Any:
    """Prune nothing: the mask is all ones. Returns the module, as all functions here do."""
    return custom_from_mask(module, name, ones_like(getattr(module, name)))


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Hold at zero what is 0 in a mask of the weight's shape, besides what was pruned before."""
    hooks = module.__dict__.get("_computed_weights", {})
    if (Pruned, name) not in hooks:
        weight = getattr(module, name)
        parts = {f"{name}_orig": weight, f"{name}_mask": ones_like(weight.detach())}
        _replace(module, name, Pruned(name), parts)
    with modes.no_grad():
        kept = getattr(module, f"{name}_mask")
        setattr(module, f"{name}_mask", kept * mask.to(kept.dtype))
    module._computed_weights[Pruned, name][0](module, None)
    return module


def l1_unstructured(
    module: Any, name: str, amount: Amount, importance_scores: Tensor | None = None
) -> Any:
    """Prune the entries that are smallest, or of the lowest importance.

    amount    how many entries, or, as a float, which part of them

    >>> import minigrad
    >>> layer = minigrad.nn.Linear(4, 1)
    >>> layer = l1_unstructured(layer, "weight", amount=0.25, importance_scores=minigrad.arange(4.0)[None])
    >>> layer.weight_mask
    tensor([[0., 1., 1., 1.]])
    """
    scores = _scores(module, name, importance_scores).abs()
    return _entries(module, name, amount, lambda left: scores[left])


def random_unstructured(module: Any, name: str, amount: Amount) -> Any:
    """Prune entries at random."""
    weight = getattr(module, name).detach()
    return _entries(module, name, amount, lambda left: -rand_like(weight[left]))


def ln_structured(
    module: Any,
    name: str,
    amount: Amount,
    n: float | str,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Any:
    """Prune the slices along dim whose norm, with the exponent n, is smallest."""
    scores = _scores(module, name, importance_scores)
    axes = [k for k in range(scores.ndim) if k != dim % scores.ndim]
    return _slices(module, name, amount, dim, lambda left: scores.norm(n, axes)[left])


def random_structured(module: Any, name: str, amount: Amount, dim: int) -> Any:
    """Prune slices along dim at random."""
    return _slices(module, name, amount, dim, lambda left: rand(int(left.sum())))


BasePruningMethod = Absent(
    "minigrad.nn.utils.prune.BasePruningMethod",
    "To fix it, compute the mask, and call prune.custom_from_mask(module, name, mask).",
)

# The names of PyTorch's classes, for `global_unstructured`.
L1Unstructured, RandomUnstructured = l1_unstructured, random_unstructured


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: Callable[..., Any],
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    *,
    amount: Amount,
) -> None:
    """Prune entries of several weights together.

    parameters        pairs of a module and a name
    pruning_method    L1Unstructured: the smallest; RandomUnstructured: any
    """
    if pruning_method not in (l1_unstructured, random_unstructured):
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported: write prune.L1Unstructured or '
            "prune.RandomUnstructured."
        )
    given, pairs = importance_scores or {}, list(parameters)
    scores = cat([_scores(m, name, given.get((m, name))).flatten() for m, name in pairs])
    masks = [_mask_of(m, name) for m, name in pairs]
    left = cat([m.flatten() for m in masks]) == 1
    smallest = pruning_method is l1_unstructured
    kept = _kept(left, amount, scores[left].abs() if smallest else -rand_like(scores[left]))
    start = 0
    for (module, name), mask in zip(pairs, masks, strict=True):
        custom_from_mask(module, name, kept[start : start + mask.numel()].reshape(mask.shape))
        start += mask.numel()


def remove(module: Any, name: str) -> Any:
    """Make the weight a parameter again; what was pruned stays 0, and may change from now on."""
    if (Pruned, name) not in module.__dict__.get("_computed_weights", {}):
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    return _restore(module, name, Pruned, (f"{name}_orig", f"{name}_mask"))


def is_pruned(module: Any) -> bool:
    """Is a weight of this module, or of one within it, pruned?"""
    return any(
        kind is Pruned
        for inner in module.modules()
        for kind, _ in inner.__dict__.get("_computed_weights", {})
    )


def _scores(module: Any, name: str, given: Tensor | None) -> Tensor:
    return (getattr(module, name) if given is None else given).detach()


def _mask_of(module: Any, name: str) -> Tensor:
    mask = getattr(module, f"{name}_mask", None)
    return ones_like(getattr(module, name).detach()) if mask is None else mask


def _count(amount: Amount, size: int) -> int:
    """How many of `size` to prune."""
    if not isinstance(amount, int | float):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, Integral)
    if amount < 0 or not whole and amount > 1:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )
    count = int(amount) if whole else round(amount * size)
    if count > size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={size}"
        )
    return count


def _kept(left: Tensor, amount: Amount, scores: Tensor) -> Tensor:
    """A mask like `left` that is 0 at the lowest of the scores, which are of what is left."""
    mask = ones_like(left.flatten(), dtype=scores.dtype)
    places = left.flatten().nonzero().flatten()
    lowest = scores.topk(_count(amount, len(places)), largest=False).indices
    mask[places[lowest]] = 0
    return mask.reshape(left.shape)


def _entries(module: Any, name: str, amount: Amount, scores_of: Callable[[Tensor], Tensor]) -> Any:
    """Prune single entries: those of the lowest scores among those that are left."""
    left = _mask_of(module, name) == 1
    return custom_from_mask(module, name, _kept(left, amount, scores_of(left)))


def _slices(
    module: Any, name: str, amount: Amount, dim: int, scores_of: Callable[[Tensor], Tensor]
) -> Any:
    """Prune slices: those of the lowest scores among those that are not all zero."""
    mask = _mask_of(module, name)
    dim = dim % mask.ndim
    left = mask.movedim(dim, 0).flatten(1).sum(1) > 0
    shape = [n if k == dim else 1 for k, n in enumerate(mask.shape)]
    kept = _kept(left, amount, scores_of(left)).reshape(shape)
    return custom_from_mask(module, name, kept.expand(mask.shape))
