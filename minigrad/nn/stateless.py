"""Modules as functions of their parameters: `func.functional_call` and `stack_module_state`.

A module uses the parameters it owns. To differentiate with respect to them with `func`, or to
compute them (as in meta-learning), they must be arguments:

>>> from minigrad import func, nn, ones, zeros
>>> layer = nn.Linear(2, 1)
>>> functional_call(layer, {"weight": ones(1, 2), "bias": zeros(1)}, ones(3, 2)).tolist()
[[2.0], [2.0], [2.0]]
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.methods.functions import stack
from minigrad.nn.module import Module
from minigrad.nn.normalization import _BatchNorm

State = Mapping[str, Tensor]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: State | Sequence[State],
    args: object = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call module(*args, **kwargs) with these tensors in place of its parameters and buffers.

    parameter_and_buffer_dicts   a dict from names, as in named_parameters(), to tensors; or
                                 several such dicts
    args                         one argument, or a tuple of arguments
    tie_weights                  use the tensor given for one name of a shared parameter also for
                                 its other names
    strict                       require exactly the names of the module

    The module is not changed. If it assigns another tensor to one of these names, that tensor is
    stored in the dict.

    >>> line = minigrad.nn.Linear(1, 1)
    >>> weights = {"weight": minigrad.tensor([[2.0]]), "bias": minigrad.tensor([1.0])}
    >>> functional_call(line, weights, (minigrad.tensor([3.0]),))
    tensor([7.])
    """
    given = _merged(parameter_and_buffer_dicts)
    inputs = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, given, tie_weights, strict) as used:
        z = module(*inputs, **(kwargs or {}))
    if isinstance(parameter_and_buffer_dicts, dict):
        parameter_and_buffer_dicts.update({name: used[name] for name in given})
    return z


@contextmanager
def _reparametrize_module(
    module: Module, given: State, tie_weights: bool = False, strict: bool = False
) -> Iterator[dict[str, Tensor]]:
    """Within the block, the module has the given tensors. The name is PyTorch's, which programs import.

    Gives the tensors by name. After the block, they are those that the module had at its end.
    """
    used = dict(given)
    swaps: list[tuple[str, Module, Any]] = []  # what the module had
    if tie_weights or strict:
        own = dict(module.named_parameters(remove_duplicate=False)) | dict(
            module.named_buffers(remove_duplicate=False)
        )
        if tie_weights:
            used |= _with_tied_names(own, given)
        if strict:
            _check_names(module, own, used)
    try:
        for name, value in used.items():
            owner = module.get_submodule(name.rpartition(".")[0])
            swaps.append((name, owner, _swap_attribute(owner, name, value)))
        yield used
    finally:
        for name, owner, before in reversed(swaps):
            used[name] = _swap_attribute(owner, name, before)


def _merged(dicts: State | Sequence[State]) -> State:
    """Merge the dicts. Raises ValueError if a name occurs in several of them."""
    given: dict[str, Tensor] = {}
    if not isinstance(dicts, (Mapping, list, tuple)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    for part in [dicts] if isinstance(dicts, Mapping) else dicts:
        if not isinstance(part, Mapping):
            raise ValueError(
                "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
            )
        repeated = sorted(given.keys() & part.keys())
        if repeated:
            raise ValueError(
                f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
            )
        given.update(part)
    return given


def _with_tied_names(own: State, given: State) -> State:
    """The given tensors under all names of the shared parameters that they replace."""
    names: dict[int, list[str]] = {}
    for name, tensor in own.items():
        names.setdefault(id(tensor), []).append(name)
    tied = {}
    for same in names.values():
        used_names = sorted(name for name in same if name in given)
        if any(given[name] is not given[used_names[0]] for name in used_names):
            raise ValueError(
                f"functional_call got multiple values for keys {used_names}, which are names of one "
                "tensor. To fix it, pass only one of them, or use tie_weights=False."
            )
        if used_names:
            tied.update(dict.fromkeys(same, given[used_names[0]]))
    return tied


def _check_names(module: Module, own: State, given: State) -> None:
    """Raise an error unless the given names are exactly the names of the module."""
    wrong = ""
    unexpected, missing = given.keys() - own.keys(), own.keys() - given.keys()
    for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
        if names:
            wrong += f"\n\t{kind} key(s): {', '.join(map(repr, sorted(names)))}."
    if wrong:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{wrong}")


NOTHING = object()  # stands for an attribute that does not exist


def _swap_attribute(owner: Module, name: str, value: Any) -> Any:
    """Set an attribute to a value, or delete it for NOTHING, and return the old value."""
    last = name.rpartition(".")[2]
    before = getattr(owner, last, NOTHING)
    for what, one in ((f"attribute `{last}`: ", before), ("", value)):
        if not (one is None or one is NOTHING or isinstance(one, Tensor)):
            raise TypeError(f"{what}{one} is not an instance of torch.Tensor")
    if value is NOTHING:
        delattr(owner, last)
    elif last in owner.__dict__:
        owner.__dict__[last] = value
    else:
        setattr(owner, last, value)
    return before


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several models of the same kind, each stacked into one tensor.

    With vmap over functional_call, you can run them as an ensemble.

    >>> lines = [minigrad.nn.Linear(2, 1) for _ in range(3)]
    >>> params, buffers = stack_module_state(lines)
    >>> params["weight"].shape
    minigrad.Size([3, 1, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters, buffers = {}, {}
    states = [dict(m.named_parameters()) for m in models]
    for name, first in states[0].items():
        if len({state[name].requires_grad for state in states}) > 1:
            raise RuntimeError(
                f"stack_module_state: Expected {name} of each model to have the same .requires_grad"
            )
        joined = stack([state[name].detach() for state in states])
        parameters[name] = joined.requires_grad_(first.requires_grad)
    for name, _ in models[0].named_buffers():
        buffers[name] = stack([m.get_buffer(name).detach() for m in models])
    return parameters, buffers


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let every batch norm in a module use the statistics of its batch only, in place. Returns the module.

    `vmap` maps over examples; running statistics would be written to for each of them.

    >>> from minigrad import nn
    >>> replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))[0].running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
