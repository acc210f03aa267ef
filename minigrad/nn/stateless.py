"""Modules as functions of their parameters: `func.functional_call` and `stack_module_state`.

A module uses its own parameters. To differentiate with respect to them with `func`, or to use
parameters that are themselves computed (meta-learning), they must be arguments:

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
    """The result of module(*args, **kwargs) with these tensors in place of its own.

    parameter_and_buffer_dicts   names, as in named_parameters(), -> tensors; or several such
    args                         one argument, or a tuple of arguments
    tie_weights                  use a tensor given for one name of a shared parameter for
                                 its other names too
    strict                       require exactly the names of the module

    The module is not changed.

    >>> line = minigrad.nn.Linear(1, 1)
    >>> weights = {"weight": minigrad.tensor([[2.0]]), "bias": minigrad.tensor([1.0])}
    >>> functional_call(line, weights, (minigrad.tensor([3.0]),))
    tensor([7.])
    """
    given = _merged(parameter_and_buffer_dicts)
    own = dict(module.named_parameters(remove_duplicate=False)) | dict(
        module.named_buffers(remove_duplicate=False)
    )
    missing, unexpected = sorted(own.keys() - given), sorted(given.keys() - own)
    if strict and (missing or unexpected):
        raise RuntimeError(
            f"Error(s) in calling functional_call for {type(module).__name__}: "
            + (f"Unexpected key(s): {', '.join(unexpected)}. " if unexpected else "")
            + (f"Missing key(s): {', '.join(missing)}." if missing else "")
        )
    if tie_weights:
        for name, value in list(given.items()):
            if name in own:
                same = [other for other, t in own.items() if t is own[name] and other not in given]
                given.update(dict.fromkeys(same, value))
    with _in_place_of_its_own(module, given):
        inputs = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*inputs, **(kwargs or {}))


def _merged(dicts: State | Sequence[State]) -> dict[str, Tensor]:
    """One dict of all names and tensors, each of which may be given once."""
    given: dict[str, Tensor] = {}
    for part in [dicts] if isinstance(dicts, Mapping) else dicts:
        if not given.keys().isdisjoint(part):
            repeated = sorted(given.keys() & part.keys())
            raise ValueError(
                f"{repeated[0]} appeared in multiple dictionaries; behavior of functional call is "
                "ambiguous"
            )
        given.update(part)
    return given


@contextmanager
def _in_place_of_its_own(module: Module, tensors: State) -> Iterator[None]:
    """Within the block, the module has these tensors."""
    places = []
    try:
        for name, value in tensors.items():
            path, _, last = name.rpartition(".")
            attributes = module.get_submodule(path).__dict__
            if last not in attributes:
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            places.append((attributes, last, attributes[last]))
            attributes[last] = value
        yield
    finally:
        for attributes, last, before in reversed(places):
            attributes[last] = before


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
    for name, first in models[0].named_parameters():
        joined = stack([m.get_parameter(name).detach() for m in models])
        parameters[name] = joined.requires_grad_(first.requires_grad)
    for name, _ in models[0].named_buffers():
        buffers[name] = stack([m.get_buffer(name).detach() for m in models])
    return parameters, buffers
