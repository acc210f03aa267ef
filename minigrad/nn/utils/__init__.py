"""Functions of all parameters of a model: gradient clipping, and conversion to one vector."""

import math
import sys as _sys
from collections.abc import Iterable
from functools import partial as _partial
from types import GeneratorType
from typing import Any

import numpy as np

from minigrad.compat.modules import Elsewhere as _Elsewhere
from minigrad.compat.modules import attribute as _attribute
from minigrad.core import modes
from minigrad.core.errors import warn_user
from minigrad.core.shapes import Array
from minigrad.core.sparse import RowSparse
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.arguments import list_of_parameters
from minigrad.methods.creation import tensor
from minigrad.methods.functions import cat
from minigrad.nn.init import deprecated
from minigrad.nn.registry import type_name
from minigrad.nn.utils import parametrizations as parametrizations
from minigrad.nn.utils import parametrize as parametrize
from minigrad.nn.utils import rnn as rnn
from minigrad.nn.utils.reparametrize import remove_spectral_norm as remove_spectral_norm
from minigrad.nn.utils.reparametrize import remove_weight_norm as remove_weight_norm
from minigrad.nn.utils.reparametrize import skip_init as skip_init
from minigrad.nn.utils.reparametrize import spectral_norm as spectral_norm
from minigrad.nn.utils.reparametrize import weight_norm as weight_norm

__getattr__ = _partial(_attribute, __name__)  # for PyTorch's module names, such as clip_grad
# In PyTorch these are modules, too. An import that finds them here does not replace the functions.
for _name in ("spectral_norm", "weight_norm"):
    _sys.modules[f"{__name__}.{_name}"] = _Elsewhere(f"{__name__}.{_name}", "nn.utils")

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list_of_parameters(tensors)


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors, as if they were concatenated into one vector.

    norm_type            the p of the p-norm; inf: the largest absolute value
    error_if_nonfinite   raise RuntimeError if the norm is inf or nan
    foreach              ignored

    >>> from minigrad import tensor
    >>> get_total_norm([tensor([3.0]), tensor([4.0])])
    tensor(5.)
    """
    p = float(norm_type)
    norms = [np.linalg.norm(_entries(t), p) for t in _listed(tensors)]
    if not norms:
        return tensor(0.0)
    # The norm of the norms is the norm of all entries: (sum of sums of |x|**p)**(1/p).
    total = np.linalg.norm(np.stack(norms), p)
    if error_if_nonfinite and not math.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {p} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return wrap(total.astype(np.result_type(*norms)))


def _entries(t: Tensor) -> Array:
    """A tensor's entries as a vector. For a row-sparse gradient, only the entries of its stored rows."""
    array = t.array.coalesce().values if isinstance(t.array, RowSparse) else modes.seen(t)
    return array.ravel()


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply all gradients by max_norm / total_norm, if that is less than 1."""
    # The epsilon keeps the quotient finite if all gradients are 0.
    factor = np.minimum(float(max_norm) / (modes.seen(total_norm) + 1e-6), 1.0)
    with modes.no_grad():
        for parameter in _listed(parameters):
            grad = parameter.grad
            if grad is None:
                continue
            if isinstance(grad.array, RowSparse):
                grad.array = grad.array * grad.array.values.dtype.type(factor)
            else:
                grad.mul_(factor.astype(grad.array.dtype))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients by the same factor if their total norm is above max_norm.

    The direction of the step stays the same; only its length is limited. Returns the norm
    before clipping. The settings are those of get_total_norm.

    Source: Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural
    networks (2013).
    """
    if isinstance(parameters, GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warn_user("`parameters` is an empty generator, no gradient clipping will occur.")
    listed = _listed(parameters)
    grads = [p.grad for p in listed if p.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


clip_grad_norm = deprecated(clip_grad_norm_, "torch.nn.utils")


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp each entry of each gradient to the range from -clip_value to clip_value."""
    limit = float(clip_value)
    with modes.no_grad():
        for parameter in _listed(parameters):
            if parameter.grad is not None:
                parameter.grad.clamp_(-limit, limit)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All entries of all parameters, as one vector. Gradients flow through.

    >>> from minigrad import nn
    >>> parameters_to_vector(nn.Linear(2, 3).parameters()).shape
    minigrad.Size([9])
    """
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """The inverse of parameters_to_vector: make each parameter share memory with its slice of the vector."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type_name(vec)}")
    start = 0
    for parameter in parameters:
        n = parameter.numel()
        parameter.data = vec[start : start + n].view_as(parameter).data
        start += n


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix, such as "module." from nn.DataParallel, from the names in a state_dict, in place.

    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 2, 'weight': 1}
    """
    for name in [name for name in state_dict if name.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)
    metadata = getattr(state_dict, "_metadata", {})
    for name in list(metadata):
        if name and (name == prefix.rstrip(".") or name.startswith(prefix)):
            metadata[name[len(prefix) :]] = metadata.pop(name)
