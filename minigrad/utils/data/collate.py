"""Collating: combining a list of examples into one batch.

Numbers and tensors are stacked along a new first axis. An example can be any nested structure of
tuples, lists and dicts; the batch has the same structure.
"""

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from minigrad.core import dtypes
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import as_tensor, tensor
from minigrad.methods.functions import stack

NUMBERS = "biufc"  # the kinds of NumPy dtypes that can be tensors


def default_collate(batch: Any) -> Any:
    """Combine a list of examples with the same structure into one batch.

    Tensors and arrays are stacked into a tensor. Numbers become a tensor, with dtype float64 for
    Python floats. Strings stay unchanged. Tuples become a list with one batch for each position.

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
        if example.dtype.kind not in NUMBERS:
            raise _cannot_collate(example.dtype)
        if example.flags.c_contiguous and example.dtype.isnative:
            with suppress(ValueError):  # of different shapes: `stack` says which
                return as_tensor(np.stack(batch))  # three times as fast as `stack`
        return stack([as_tensor(a) for a in batch])
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
    raise _cannot_collate(type(example))


def default_convert(data: object) -> Any:
    """Convert arrays in a nested structure to tensors, without stacking. Used if batch_size=None.

    >>> import numpy as np
    >>> default_convert({"x": np.ones(3, np.float32), "name": "a"})
    {'x': tensor([1., 1., 1.]), 'name': 'a'}
    """
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind in NUMBERS:
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(part) for part in data])
    return data


def _like_mapping(example: Mapping[Any, Any], parts: dict[Any, Any]) -> Any:
    """A mapping of the example's type with these entries; a dict if it cannot be made of them."""
    try:
        if isinstance(example, MutableMapping):
            filled = copy.copy(example)
            filled.update(parts)
            return filled
        return type(example)(parts)  # type: ignore[call-arg]
    except TypeError:
        return parts


def _like_sequence(example: Sequence[Any], parts: list[Any]) -> Any:
    """A sequence of the example's type with these entries.

    A list for plain tuples, as in PyTorch, and for a type that cannot be made of entries, such as range.
    """
    try:
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
    except TypeError:
        return parts


def _cannot_collate(what: object) -> TypeError:
    return TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {what}{'. Does __getitem__ end with a return?' if what is type(None) else ''}"
    )
