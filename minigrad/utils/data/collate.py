"""Collating: how single examples become one batch.

Numbers and tensors get a new first axis. An example can be any structure of
tuples, lists and dicts; the batch has the same structure.
"""

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from minigrad.core import dtypes
from minigrad.core.dtypes import Dtype
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import as_tensor, tensor
from minigrad.methods.functions import stack


def default_collate(batch: Any) -> Any:
    """One batch, from a list of examples that all have the same structure.

    Tensors are stacked; so are arrays, which become tensors. Numbers become a tensor; for Python
    floats its dtype is float64. Strings stay unchanged. Tuples become a list with one batch for
    each position.

    Raises TypeError for anything else, RuntimeError for examples of different lengths or shapes.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    >>> default_collate([{"x": 0.5}, {"x": 1.5}])
    {'x': tensor([0.5000, 1.5000], dtype=minigrad.float64)}
    """
    example = batch[0]
    if isinstance(example, Tensor):
        return stack(list(batch))
    if isinstance(example, (np.ndarray, np.generic)) and not isinstance(example, (str, bytes)):
        _check_numbers(example.dtype)
        return as_tensor(np.stack(batch))
    if isinstance(example, float):
        return tensor(batch, dtype=dtypes.float64)
    if isinstance(example, int):
        return tensor(batch)
    if isinstance(example, (str, bytes)):
        return batch
    if isinstance(example, Mapping):
        return _like_mapping(
            example, {key: default_collate([e[key] for e in batch]) for key in example}
        )
    if isinstance(example, Sequence):
        if any(len(e) != len(example) for e in batch):
            raise RuntimeError(
                "each element in list of batch should be of equal size, but the examples have "
                f"{[len(e) for e in batch]} parts."
            )
        return _like_sequence(example, [default_collate(part) for part in zip(*batch, strict=True)])
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(example)}"
    )


def default_convert(data: object) -> Any:
    """Arrays converted to tensors, in the same structure, without stacking. (For batch_size=None.)

    >>> import numpy as np
    >>> default_convert({"x": np.arange(3), "name": "a"})
    {'x': tensor([0, 1, 2]), 'name': 'a'}
    """
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind in "biufc":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(part) for part in data])
    return data


def _like_mapping(example: Mapping[Any, Any], parts: dict[Any, Any]) -> Any:
    """The parts in a mapping of the example's type."""

    def fill() -> Any:
        if isinstance(example, MutableMapping):
            filled = copy.copy(example)
            filled.update(parts)
            return filled
        return type(example)(parts)  # type: ignore[call-arg]

    return _or(fill, parts)


def _like_sequence(example: Sequence[Any], parts: list[Any]) -> Any:
    """The parts in a sequence of the example's type; a list for plain tuples, as in PyTorch."""

    def fill() -> Any:
        if hasattr(example, "_fields"):  # a namedtuple
            return type(example)(*parts)
        if isinstance(example, tuple):
            return parts
        if isinstance(example, MutableSequence):
            filled = copy.copy(example)
            for i, part in enumerate(parts):
                filled[i] = part
            return filled
        return type(example)(parts)  # type: ignore[call-arg]

    return _or(fill, parts)


def _or(fill: Callable[[], Any], plain: object) -> Any:
    """Call fill, or return plain if the example's type cannot be made from parts, like range."""
    try:
        return fill()
    except TypeError:
        return plain


def _check_numbers(dtype: Dtype) -> None:
    if dtype.kind not in "biufc":
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
            f"found {dtype}"
        )
