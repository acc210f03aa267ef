"""`save` and `load` tensors, for a state_dict or anything with a similar structure.

A file is in NumPy's npz format, a zip archive of arrays: one member for each tensor, and one JSON
member that describes how they were nested. Loading such a file never runs code.

Other objects, such as a whole module, are pickled, as in PyTorch. Loading a pickle can run arbitrary
code. So `load` refuses to, unless you pass `weights_only=False`.

    {"w": tensor, "steps": [1, 2.5]}     ->     array_0: the values of the tensor
                                                structure: {"dict": [["w", {"tensor": 0}], ...]}

Tensors, arrays, numbers, strings, bytes, None, and dicts, lists, tuples and sets of these need no pickle.
"""

import io
import json
import pickle
import zipfile
from collections import Counter, OrderedDict
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np

from minigrad.core import dtypes
from minigrad.core.devices import device
from minigrad.core.tensor import Size, Tensor, wrap

# The name in the file, and the class. A subclass comes before its base class.
DICTS: dict[str, Any] = {"ordered": OrderedDict, "counter": Counter, "dict": dict}
LISTS: dict[str, Any] = {"size": Size, "tuple": tuple, "list": list, "set": set, "bytes": bytes, "bytearray": bytearray}
REMADE: dict[str, Any] = {}  # classes of tensors that are kept, by name; nn adds Parameter


def save(
    obj: object,
    f: str | PathLike[str] | IO[bytes],
    pickle_module: object = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write obj to a file. f is a file name or an open binary file.

    A tensor that occurs twice is written once, and is a single tensor again after loading. So are two tensors
    with the same memory, such as tied weights in a state_dict. (In PyTorch, those become two tensors.) Other views
    that share memory each get their own.
    The other arguments are accepted but ignored: there is only one file format.

    Raises TypeError, which names the position, for an object that cannot be saved: a sparse gradient,
    or an object that cannot be pickled, such as a lambda.

    >>> import io
    >>> file = io.BytesIO()
    >>> save({"w": minigrad.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> load(file)
    {'w': tensor([1., 1.])}
    """
    arrays: list[Any] = []
    try:
        structure = _to_json(obj, arrays, {}, "the object")
        members = {f"array_{k}": array for k, array in enumerate(arrays)}
        members["structure"] = np.frombuffer(json.dumps(structure).encode(), np.uint8)
    except _NotPlain as found:
        try:
            members = {"pickle": np.frombuffer(pickle.dumps(obj), np.uint8)}
        except Exception as error:
            kind = RuntimeError if isinstance(error, RuntimeError) else TypeError
            raise kind(f"{found} It cannot be pickled either: {error}") from error
    if not isinstance(f, (str, PathLike)):
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        buffer = io.BytesIO()  # a zip archive needs a file that can seek, and a gzip file cannot
        np.savez(buffer, **members)
        f.write(buffer.getvalue())
        getattr(f, "flush", int)()  # so that the file can be read under its name before it is closed
        return
    if not Path(f).parent.is_dir():
        raise RuntimeError(f"Parent directory {Path(f).parent} does not exist.")
    with open(f, "wb") as file:
        np.savez(file, **members)


def load(
    f: str | PathLike[str] | IO[bytes],
    map_location: object = None,
    pickle_module: object = None,
    *,
    weights_only: bool = True,
    mmap: bool | None = None,
) -> Any:
    """Read a file that `save` wrote.

    weights_only    False: also load files with objects other than tensors, numbers, strings and their
                    containers. Such a file can run arbitrary code: do so only if you trust its author
    map_location    accepted but ignored, because there is only one device
    pickle_module, mmap    accepted but ignored

    Raises pickle.UnpicklingError for such a file if weights_only is True, EOFError for an empty file,
    and RuntimeError for any other file that `save` did not write.

    >>> import io, minigrad
    >>> file = io.BytesIO()
    >>> save({"w": minigrad.tensor([1.0, 2.0]), "epoch": 3}, file)
    >>> _ = file.seek(0)
    >>> load(file)
    {'w': tensor([1., 2.]), 'epoch': 3}
    """
    if isinstance(f, (str, PathLike)):
        with open(f, "rb") as file:
            return load(file, weights_only=weights_only)
    _check_searchable(f)
    try:
        members = _members(f)
        if "pickle" not in members:
            structure = json.loads(members.pop("structure").tobytes().decode())
    except (ValueError, KeyError, AttributeError, zipfile.BadZipFile) as error:
        words = str(error)
        if isinstance(error, KeyError) or "allow_pickle" in words:  # NumPy's advice is about its own function
            words = "it is something else, such as a pickle."
        raise RuntimeError(f"this file was not written by minigrad.save: {words}") from None
    if "pickle" in members:
        if weights_only:
            raise pickle.UnpicklingError(
                "Weights only load failed: this file holds more than tensors and their containers, and loading "
                "it can run arbitrary code. If you trust whoever wrote it, write  load(f, weights_only=False)."
            )
        return pickle.loads(members["pickle"].tobytes())
    return _from_json(structure, members, {})


def _check_searchable(f: object) -> None:
    for needed in ("seek", "tell", "read"):
        if not hasattr(f, needed):
            raise AttributeError(
                f"{type(f).__name__!r} object has no attribute {needed!r}. You can only torch.load from a file that is seekable. "
                "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )


def _members(f: IO[bytes]) -> dict[str, Any]:
    """The arrays in an archive, by name. Raises ValueError for an archive of PyTorch."""
    with np.load(f, allow_pickle=False) as archive:
        members = {name: archive[name] for name in archive.files}
    if any(name.endswith("/data.pkl") for name in members):
        raise ValueError(
            "it was written by torch.save. To convert it, run  minigrad.save({k: minigrad.tensor(v.numpy()) for "
            "k, v in torch.load(f).items()}, g)  where PyTorch is installed."
        )
    return members


def _to_json(obj: Any, arrays: list[Any], seen: dict[Any, Any], path: str) -> Any:
    """A JSON description of the object. Its arrays are added to the list."""
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return obj
    if id(obj) in seen:
        return seen[id(obj)][0]
    if isinstance(obj, Tensor):
        if obj.is_sparse:
            raise TypeError(f"{path} is a sparse gradient. To fix it, save x.to_dense().")
        array = np.asarray(obj.array)
        memory = array.ctypes.data, array.shape, array.strides, array.dtype  # tied weights stay tied
        if memory not in seen:
            seen[memory] = len(arrays)
            arrays.append(array)
        entry = {"tensor": seen[memory], "requires_grad": obj.requires_grad}
        if REMADE.get(type(obj).__name__) is type(obj):
            entry["class"] = type(obj).__name__
        seen[id(obj)] = (entry, obj)
        return entry
    if isinstance(obj, (np.ndarray, np.generic)) and obj.dtype.kind in "biufc":
        arrays.append(np.asarray(obj))
        return {"array": len(arrays) - 1}
    if isinstance(obj, (dtypes.dtype, np.dtype)):
        return {"dtype": dtypes.as_dtype(obj).name}
    if isinstance(obj, complex):
        return {"complex": [obj.real, obj.imag]}
    if isinstance(obj, device):
        return {"device": str(obj)}
    if isinstance(obj, dict):
        pairs = [
            [_to_json(k, arrays, seen, f"a key of {path}"), _to_json(v, arrays, seen, f"{path}[{k!r}]")]
            for k, v in obj.items()
        ]
        return {next(name for name, kind in DICTS.items() if isinstance(obj, kind)): pairs}
    if isinstance(obj, (list, tuple, set, bytes, bytearray)):
        items = [_to_json(v, arrays, seen, f"{path}[{k}]") for k, v in enumerate(obj)]
        return {next(name for name, kind in LISTS.items() if isinstance(obj, kind)): items}
    raise _NotPlain(
        f"{path} is a {type(obj).__name__}, which cannot be saved: tensors, numbers, strings, None, and "
        "dicts, lists and tuples of them can. To fix it, save its state_dict()."
    )


class _NotPlain(TypeError):
    """An object that only a pickle can hold."""


def _from_json(entry: object, members: dict[str, Any], made: dict[Any, Tensor]) -> Any:
    """Rebuild the object from its JSON description."""
    if not isinstance(entry, dict):
        return entry
    ((kind, value), *rest) = entry.items()
    if kind == "tensor":
        settings = dict(rest)
        grad, cls = settings["requires_grad"], REMADE.get(settings.get("class", ""))
        key = value, grad, cls
        if key not in made:
            z = wrap(members[f"array_{value}"])
            made[key] = z.requires_grad_(grad) if cls is None else cls(z, grad)
        return made[key]
    if kind == "array":
        return members[f"array_{value}"]
    if kind == "dtype":
        return dtypes.of_array(dtypes.as_dtype(value))
    if kind == "complex":
        return complex(*value)
    if kind == "device":
        return device(value)
    if kind in DICTS:
        pairs = [(_from_json(k, members, made), _from_json(v, members, made)) for k, v in value]
        return DICTS[kind](dict(pairs))
    return LISTS[kind]([_from_json(v, members, made) for v in value])
