"""Pruning: entries of a weight are held at zero by a mask.

    l1_unstructured, random_unstructured    single entries: the smallest, or any
    ln_structured, random_structured        whole slices along an axis
    global_unstructured                     the smallest entries of several weights together
    custom_from_mask, identity              a mask of your own, or none
    remove, is_pruned

The parameter `weight` becomes `weight_orig`, and a buffer, `weight_mask`, is beside it. Before each call
the weight is their product, so no gradient flows to what is pruned. What is pruned again is pruned
among the entries that are left.

Each function applies a class of its own, like `L1Unstructured`. A class of yours derives from
`BasePruningMethod`, and says in `compute_mask` what to prune.
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
    """A way to prune. It is the hook that computes weight = weight_orig * weight_mask before each call.

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

    # What compute_mask gets. "unstructured": the entries that are left, as a vector; "structured": the
    # slices along `dim` that are left; "global": all.
    PRUNING_TYPE = "unstructured"
    _tensor_name = ""

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the weight."""
        return self._tensor_name

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for entries t, which `default_mask` has kept until now. A class defines its own."""
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
        """A tensor, pruned."""
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
        """Prune a weight of the module, besides what was pruned before. Returns the hook that does it."""
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
                else _among(method, scores, kept)
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


KIND = BasePruningMethod  # of all the hooks of this file


class PruningContainer(BasePruningMethod):
    """Several ways to prune one weight, in the order in which they were applied."""

    def __init__(self, *methods: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in methods:
            self._tensor_name = self._tensor_name or method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add one more for the same weight."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last of them, among what is left."""
        return _among(self._pruning_methods[-1], t, default_mask)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]


class Identity(BasePruningMethod):
    """Prunes nothing."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask as it is."""
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes what is 0 in a mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Both masks together."""
        return default_mask * self.mask.to(default_mask.dtype)


class L1Unstructured(BasePruningMethod):
    """Prunes the entries that are smallest, or of the lowest importance."""

    def __init__(self, amount: Amount) -> None:
        self.amount = _validate_pruning_amount_init(amount)

    def scores(self, t: Tensor) -> Tensor:
        """The entries with the lowest scores are pruned."""
        return t.abs()

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the entries of the lowest scores."""
        mask = default_mask.clone()
        lowest = (
            self.scores(t)
            .flatten()
            .topk(_compute_nparams_toprune(self.amount, t.numel()), largest=False)
        )
        mask.view(-1)[lowest.indices] = 0
        return mask


class RandomUnstructured(L1Unstructured):
    """Prunes entries at random."""

    def scores(self, t: Tensor) -> Tensor:
        """Random numbers: the entries with the largest are pruned."""
        return -rand_like(t)


class LnStructured(BasePruningMethod):
    """Prunes the slices along dim whose norm, with the exponent n, is smallest."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, n: float | str, dim: int = -1) -> None:
        self.amount, self.n, self.dim = _validate_pruning_amount_init(amount), n, dim

    def scores(self, t: Tensor) -> Tensor:
        """The slices with the lowest scores are pruned."""
        return t.norm(self.n, [k for k in range(t.ndim) if k != self.dim % t.ndim])

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the slices of the lowest scores."""
        if t.ndim < 2:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape}"
            )
        mask, dim = default_mask.clone(), self.dim % t.ndim
        lowest = self.scores(t).topk(
            _compute_nparams_toprune(self.amount, t.shape[dim]), largest=False
        )
        return mask.index_fill(dim, lowest.indices, 0)


class RandomStructured(LnStructured):
    """Prunes slices along dim at random."""

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        super().__init__(amount, 2, dim)

    def scores(self, t: Tensor) -> Tensor:
        """Random numbers."""
        return rand(t.shape[self.dim])


def identity(module: Any, name: str) -> Any:
    """Prune nothing: the mask is all ones. Returns the module, as all functions here do."""
    Identity.apply(module, name)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Hold at zero what is 0 in a mask of the weight's shape, besides what was pruned before."""
    CustomFromMask.apply(module, name, mask)
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
    """Prune the slices along dim whose norm, with the exponent n, is smallest."""
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
    """Prune entries of several weights together.

    parameters        pairs of a module and a name
    pruning_method    L1Unstructured: the smallest; RandomUnstructured: any; or a class of your own
    kwargs            what the class gets, like amount=0.2
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
    together = _among(method, cat([s.flatten() for s in scores]), cat([m.flatten() for m in masks]))
    parts = together.split([w.numel() for w in weights])
    for (module, name), part, weight in zip(pairs, parts, weights, strict=True):
        custom_from_mask(module, name, part.view(weight.shape))


def remove(module: Any, name: str) -> Any:
    """Make the weight a parameter again; what was pruned stays 0, and may change from now on."""
    if _hook_of(module, name) is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    return _restore(module, name, KIND, (f"{name}_orig", f"{name}_mask"))


def is_pruned(module: Any) -> bool:
    """Is a weight of this module, or of one within it, pruned?"""
    return any(
        kind is KIND
        for inner in module.modules()
        for kind, _ in inner.__dict__.get("_computed_weights", {})
    )


def _hook_of(module: Any, name: str) -> BasePruningMethod | None:
    hook, _ = module.__dict__.get("_computed_weights", {}).get((KIND, name), (None, None))
    return hook


def _among(method: BasePruningMethod, scores: Tensor, mask: Tensor) -> Tensor:
    """The mask after pruning among what is left: single entries, or slices along the method's dim."""
    left: Any = ...
    if method.PRUNING_TYPE == "unstructured":
        left = mask == 1
    elif method.PRUNING_TYPE == "structured":
        dim = method.dim % mask.ndim  # type: ignore[attr-defined]
        some = mask.sum([k for k in range(mask.ndim) if k != dim]) != 0
        left = (*[slice(None)] * dim, some)
    elif method.PRUNING_TYPE != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    z = zeros_like(mask)
    z[left] = method.compute_mask(scores[left], mask[left])
    return z


def _validate_pruning_amount_init(amount: Amount) -> Amount:
    """The amount. Raises TypeError or ValueError if it makes no sense for any weight."""
    if not isinstance(amount, int | float):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or not isinstance(amount, int) and amount > 1:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )
    return amount


def _compute_nparams_toprune(amount: Amount, tensor_size: int) -> int:
    """How many of so many to prune."""
    count = int(amount) if isinstance(amount, int) else round(amount * tensor_size)
    if count > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}"
        )
    return count
