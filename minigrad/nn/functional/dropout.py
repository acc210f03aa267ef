"""Dropout: noise that prevents a network from relying on single entries.

The remaining entries are divided by the probability 1 - p of being kept. This preserves the mean,
so that evaluation needs no correction.
"""

import math

import numpy as np

from minigrad.core.dtypes import torch_name
from minigrad.core.errors import warn_user
from minigrad.core.modes import with_name
from minigrad.core.shapes import Array, Shape, as_bool
from minigrad.core.tensor import Tensor, wrap
from minigrad.nn.functional.arguments import check_probability
from minigrad.random.kernels import bernoulli, in_memory_order


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each entry set to 0 with probability p, the others divided by 1 - p.

    Source: Srivastava et al., Dropout (2014).

    >>> dropout(minigrad.ones(3), p=0.5, training=False)
    tensor([1., 1., 1.])
    >>> set(dropout(minigrad.ones(100), p=0.5).tolist()) == {0.0, 2.0}
    True
    """
    return _dropout(input, p, training, inplace)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels, for input (n, c, l) or (c, l)."""
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. To fix it, use dropout."
        )
    return _dropout(input, p, training, inplace, (*input.shape[:-1], 1))


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels, for input (n, c, h, w). As in PyTorch, three axes are treated as (n, c, l)."""
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if input.ndim != 4:
        if input.ndim == 3:
            text = (
                "Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired: "
                "(n, c, l). To fix it, use dropout1d."
            )
        else:
            text = (
                f"Received a {input.ndim}-D input to dropout2d, which drops whole channels of an input with 4 axes. "
                "To fix it, use dropout."
            )
        warn_user(f"dropout2d: {text}")
    return _dropout(input, p, training, inplace, _of_channels(input))


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout for selu: dropped entries get selu's minimum, and mean and variance are preserved.

    >>> alpha_dropout(minigrad.tensor([1.0, 2.0]), training=False)
    tensor([1., 2.])

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017).
    """
    return _alpha_dropout(input, p, training, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """alpha_dropout of whole channels, for input (n, c, ...).

    >>> feature_alpha_dropout(minigrad.tensor([[1.0, 2.0]]), training=False)
    tensor([[1., 2.]])
    """
    return _alpha_dropout(input, p, training, inplace, of_channels=True)


def _alpha_dropout(
    input: Tensor, p: float, training: bool, inplace: bool, of_channels: bool = False
) -> Tensor:
    """Implements alpha_dropout, of entries or of whole channels."""
    check_probability(p)
    if not training or p == 0:
        return input
    if p == 1:
        return input.mul_(0.0) if inplace else input * 0.0
    _refuse_integers(input)
    least = -1.7580993408473766
    scale = 1 / math.sqrt((1 - p) * (1 + p * least**2))

    def noise(shape: Shape) -> Array:
        return bernoulli(1 - p, shape, input.dtype, None)

    if of_channels and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    array = input.array
    kept = noise(_of_channels(input)) if of_channels else in_memory_order(array, noise)
    keep = with_name("mask", wrap(kept))
    z = (input * keep + (1 - keep) * least) * scale - p * least * scale
    return input.copy_(z) if inplace else z


def _of_channels(x: Tensor) -> Shape:
    """The shape of noise for whole channels: (n, c, 1, ...)."""
    return (*x.shape[:2], *(1,) * (x.ndim - 2))


def _dropout(
    x: Tensor, p: float, training: bool, inplace: bool, whole: Shape | None = None
) -> Tensor:
    """Implements dropout. `whole` is the shape of the noise if whole channels are dropped."""
    check_probability(p)
    if not as_bool(training, "train") or p == 0:
        return x
    dtype = x.array.dtype
    wide = np.promote_types(dtype, np.float32).type

    if p < 1:
        _refuse_integers(x)

    def noise(shape: Shape) -> Array:
        if p == 1:
            return np.zeros(shape, dtype)
        return bernoulli(1 - p, shape, dtype, None) * dtype.type(wide(1) / wide(1 - p))

    kept = in_memory_order(x.array, noise) if whole is None else noise(whole)
    mask = with_name("mask", wrap(kept))
    return x.mul_(mask) if inplace else x * mask


def _refuse_integers(x: Tensor) -> None:
    """Raise RuntimeError for integers and booleans: entries are divided by 1 - p."""
    if x.dtype.kind not in "fc":
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {torch_name(x.dtype)}. "
            "To fix it, apply dropout to floats, such as embeddings: x.float()."
        )
