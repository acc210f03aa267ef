"""Pruning: entries of a weight are kept at zero by a mask.

    l1_unstructured, random_unstructured    prune single entries: the smallest, or random ones
    ln_structured, random_structured        prune whole slices along an axis
    global_unstructured                     prune the smallest entries among several weights
    custom_from_mask, identity              use a given mask, or prune nothing
    remove, is_pruned

The parameter `weight` is renamed to `weight_orig`, and a buffer `weight_mask` is added. Before each
call, a hook sets the weight to their product, so pruned entries get no gradient. If a weight is
pruned again, entries are chosen among the remaining ones.

Each function applies a class, such as `L1Unstructured`. To prune in another way, derive a class from
`BasePruningMethod` and define `compute_mask`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from minigrad.core import modes
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import ones_like, zeros_like
from minigrad.methods.functions import cat
from minigrad.nn.utils.reparametrize import ComputedWeight, _replace, _restore
from minigrad.random.tensors import rand, rand_like

Amount = int | float


class BasePruningMethod(ComputedWeight):
    """A pruning method, and the hook that computes weight = weight_orig * weight_mask before each call.

    >>> from minigrad import nn
    >>> class EveryOther(BasePruningMethod):
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = nn.Linear(4, 1)
    >>> method = EveryOther.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0., 1.]])
    """

    # The input of compute_mask. "unstructured": the remaining entries, as a vector; "structured": the
    # remaining slices along `dim`; "global": the whole weight.
    PRUNING_TYPE = "unstructured"
    _tensor_name = ""
    name = property(lambda self: self._tensor_name)  # of the weight

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The new mask for the entries t. `default_mask` is their current mask. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} does not define compute_mask.")

    def compute(self, module: Any, training: bool) -> Tensor:
        """The product of the parameter and its mask."""
        weight: Tensor = getattr(module, f"{self.name}_orig")
        return weight * getattr(module, f"{self.name}_mask").to(weight.dtype)

    def apply_mask(self, module: Any) -> Tensor:
        """The pruned weight."""
        return self.compute(module, module.training)

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """A pruned copy of a tensor."""
        kept = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, kept)

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        remove(module, self.name)

    @classmethod
    def apply(
        cls,
        module: Any,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune a weight of the module, in addition to earlier pruning. Returns the hook."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        weight = getattr(module, name).detach()
        scores = weight if importance_scores is None else importance_scores.detach()
        if scores.shape != weight.shape:
            raise ValueError(
                f"importance_scores should have the shape of the parameter, {tuple(weight.shape)}, "
                f"but have {tuple(scores.shape)}"
            )
        kept, before = getattr(module, f"{name}_mask", ones_like(weight)), _hook_of(module, name)
        with modes.no_grad():
            mask = (
                method.compute_mask(scores, kept)
                if before is None
                else _prune_remaining(method, scores, kept)
            )
        if before is None:
            whole = getattr(module, name)
            _replace(module, name, method, {f"{name}_orig": whole, f"{name}_mask": mask}, KIND)
        else:
            setattr(module, f"{name}_mask", mask)
            method = PruningContainer(
                *(before if isinstance(before, PruningContainer) else [before]), method
            )
            _, handle = module._computed_weights[KIND, name]
            handle.hooks_dict_ref()[handle.id] = method
            module._computed_weights[KIND, name] = method, handle
        method(module, None)
        return method


KIND = BasePruningMethod  # the key under which all pruning hooks are stored


class PruningContainer(BasePruningMethod):
    """Several pruning methods for one weight, in the order in which they were applied."""

    def __init__(self, *methods: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in methods:
            self._tensor_name = self._tensor_name or method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add another method for the same weight."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, which chooses among the remaining entries."""
        return _prune_remaining(self._pruning_methods[-1], t, default_mask)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]


class Identity(BasePruningMethod):
    """Prunes nothing."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The current mask, unchanged."""
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes the entries where a given mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The product of both masks."""
        return default_mask * self.mask.to(default_mask.dtype)


class L1Unstructured(BasePruningMethod):
    """Prunes the entries with the smallest absolute values, or the smallest absolute importance scores."""

    def __init__(self, amount: Amount) -> None:
        self.amount = _validate_pruning_amount_init(amount)

    def scores(self, t: Tensor) -> Tensor:
        """The scores of the entries. Those with the lowest scores are pruned."""
        return t.abs()

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with the entries with the lowest scores removed."""
        mask = default_mask.clone()
        count = _compute_nparams_toprune(self.amount, t.numel())
        lowest = self.scores(t).flatten().topk(count, largest=False)
        mask.view(-1)[lowest.indices] = 0
        return mask


class RandomUnstructured(L1Unstructured):
    """Prunes entries at random."""

    def scores(self, t: Tensor) -> Tensor:
        """Random scores, negated so that the entries with the largest random numbers are pruned."""
        return -rand_like(t)


class LnStructured(BasePruningMethod):
    """Prunes the slices along dim with the smallest n-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, n: float | str, dim: int = -1) -> None:
        self.amount, self.n, self.dim = _validate_pruning_amount_init(amount), n, dim

    def scores(self, t: Tensor) -> Tensor:
        """The scores of the slices. Those with the lowest scores are pruned."""
        return t.norm(self.n, [k for k in range(t.ndim) if k != self.dim % t.ndim])

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with the slices with the lowest scores removed."""
        if t.ndim < 2:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape}"
            )
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        mask, dim = default_mask.clone(), self.dim % t.ndim
        count = _compute_nparams_toprune(self.amount, t.shape[dim])
        lowest = self.scores(t).topk(count, largest=False)
        return mask.index_fill(dim, lowest.indices, 0)


class RandomStructured(LnStructured):
    """Prunes slices along dim at random."""

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        super().__init__(amount, 2, dim)

    def scores(self, t: Tensor) -> Tensor:
        """Random scores."""
        return rand(t.shape[self.dim])


def identity(module: Any, name: str) -> Any:
    """Add a mask of ones, which prunes nothing. Returns the module, like all functions here."""
    Identity.apply(module, name)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune the entries where the mask is 0, in addition to earlier pruning. The mask has the shape of the weight."""
    CustomFromMask.apply(module, name, mask)
    return module


def l1_unstructured(
    module: Any, name: str, amount: Amount, importance_scores: Tensor | None = None
) -> Any:
    """Prune the entries with the smallest absolute values, or the smallest absolute importance scores.

    amount    the number of entries to prune, or, as a float, the fraction

    >>> import minigrad
    >>> layer = minigrad.nn.Linear(4, 1)
    >>> layer = l1_unstructured(layer, "weight", amount=0.25, importance_scores=minigrad.arange(4.0)[None])
    >>> layer.weight_mask
    tensor([[0., 1., 1., 1.]])
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_unstructured(module: Any, name: str, amount: Amount) -> Any:
    """Prune entries at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def ln_structured(
    module: Any,
    name: str,
    amount: Amount,
    n: float | str,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Any:
    """Prune the slices along dim with the smallest n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Amount, dim: int) -> Any:
    """Prune slices along dim at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune entries of several weights, chosen among all of them.

    parameters        pairs of a module and a name
    pruning_method    L1Unstructured (the smallest entries), RandomUnstructured, or another class
    kwargs            the arguments of this class, such as amount=0.2
    """
    given, pairs = importance_scores or {}, list(parameters)
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method of type '
            f"{method.PRUNING_TYPE}"
        )
    weights = [getattr(m, name).detach() for m, name in pairs]
    scores = [given.get(pair, w).detach() for pair, w in zip(pairs, weights, strict=True)]
    masks = [
        getattr(m, f"{name}_mask", ones_like(w))
        for (m, name), w in zip(pairs, weights, strict=True)
    ]
    together = _prune_remaining(
        method, cat([s.flatten() for s in scores]), cat([m.flatten() for m in masks])
    )
    parts = together.split([w.numel() for w in weights])
    for (module, name), part, weight in zip(pairs, parts, weights, strict=True):
        custom_from_mask(module, name, part.view(weight.shape))


def remove(module: Any, name: str) -> Any:
    """Make the weight a parameter again. Pruned entries are 0, but are no longer kept at 0."""
    if _hook_of(module, name) is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    return _restore(module, name, KIND, (f"{name}_orig", f"{name}_mask"), kept=f"{name}_orig")


def is_pruned(module: Any) -> bool:
    """True if a weight of this module or of a submodule is pruned."""
    return any(
        kind is KIND
        for inner in module.modules()
        for kind, _ in inner.__dict__.get("_computed_weights", {})
    )


def _hook_of(module: Any, name: str) -> BasePruningMethod | None:
    hook, _ = module.__dict__.get("_computed_weights", {}).get((KIND, name), (None, None))
    return hook


def _prune_remaining(method: BasePruningMethod, scores: Tensor, mask: Tensor) -> Tensor:
    """The mask after applying the method to the remaining entries, or to the remaining slices along its dim."""
    left: Any = ...
    if method.PRUNING_TYPE == "unstructured":
        left = mask == 1
    elif method.PRUNING_TYPE == "structured":
        dim = method.dim % mask.ndim  # type: ignore[attr-defined]
        some = mask.sum([k for k in range(mask.ndim) if k != dim]) != 0
        left = (*[slice(None)] * dim, some)
    elif method.PRUNING_TYPE != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    z = zeros_like(mask, dtype=scores.dtype)
    z[left] = method.compute_mask(scores[left], mask[left]).to(scores.dtype)
    return z


def _validate_pruning_amount_init(amount: Amount) -> Amount:
    """The amount, after checking that it is a fraction or a non-negative integer."""
    if not isinstance(amount, int | float):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or not isinstance(amount, int) and amount > 1:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )
    return amount


def _compute_nparams_toprune(amount: Amount, tensor_size: int) -> int:
    """The number of entries to prune out of tensor_size."""
    count = int(amount) if isinstance(amount, int) else round(amount * tensor_size)
    if count > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}"
        )
    return count
