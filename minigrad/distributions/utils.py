"""Helpers for distributions, with the names of torch.distributions.utils."""

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core import modes
from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.limits import finfo
from minigrad.core.tensor import Tensor
from minigrad.distributions.distribution import broadcast_all as broadcast_all
from minigrad.random.tensors import randn


def _standard_normal(shape: Sequence[int], dtype: DTypeLike, device: DeviceLike = None) -> Tensor:
    """Noise from the standard normal distribution.

    >>> import minigrad
    >>> _standard_normal((2, 3), minigrad.float32).shape
    minigrad.Size([2, 3])
    """
    return randn(tuple(shape), dtype=dtype, device=device)


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities to [eps, 1 - eps], where eps is the machine epsilon of their dtype.

    >>> import minigrad
    >>> clamp_probs(minigrad.tensor([0.0, 0.5])) > 0
    tensor([True, True])
    """
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """log(p), or log(p / (1 - p)) if is_binary.

    >>> import minigrad
    >>> probs_to_logits(minigrad.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """softmax(logits) over the last axis, or sigmoid(logits) if is_binary.

    >>> import minigrad
    >>> logits_to_probs(minigrad.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def _sum_rightmost(x: Tensor, n: int) -> Tensor:
    """The sum over the last n axes.

    >>> import minigrad
    >>> _sum_rightmost(minigrad.ones(2, 3), 1)
    tensor([3., 3.])
    """
    return x.sum(tuple(range(-n, 0))) if n else x


class lazy_property:
    """A property that is computed on first access and then cached, with gradients even under no_grad.

    >>> class Square:
    ...     area = lazy_property(lambda self: 4)
    >>> Square().area
    4
    """

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with modes.enable_grad():
            value = instance.__dict__[self.name] = self.compute(instance)
        return value
