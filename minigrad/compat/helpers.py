"""Private helpers of PyTorch that published programs import anyway.

    from torch.nn.modules.utils import _pair                     in custom layers
    from torch.utils._pytree import tree_map                     for nested tuples, lists and dicts

modules.py redirects the names of these modules to this file.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import ContextDecorator
from itertools import accumulate
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from minigrad.autograd.transforms import NODES, at_leaves_of, flatten, replaced
from minigrad.core import dtypes, formatting
from minigrad.core.devices import DeviceLike, device
from minigrad.core.errors import warn_user
from minigrad.core.formatting import PRINT_OPTS as PRINT_OPTS  # _tensor_str.PRINT_OPTS
from minigrad.core.storage import Storage as Storage
from minigrad.core.tensor import Tensor
from minigrad.methods.functions import cat

inf = math.inf
Number = int | float | bool
_Number = (int, float, bool)
Device = DeviceLike
# Sizes of layers in annotations: nn.common_types.
_size_any_t = _size_1_t = _size_2_t = _size_3_t = _size_4_t = _size_5_t = _size_6_t = (
    int | tuple[int, ...]
)
_size_any_opt_t = _size_2_opt_t = _size_3_opt_t = int | tuple[int | None, ...] | None
_ratio_any_t = _ratio_2_t = _ratio_3_t = float | tuple[float, ...]
_shape_t = int | Sequence[int]
_dtype, _device, _size, _int, _float, _bool = dtypes.dtype, device, Sequence[int], int, float, bool
MAP_LOCATION = Any
TensorType = Tensor  # in annotations of CLIP models
string_classes = (str, bytes)
# Warnings about a change of PyTorch 0.2, which old programs switch on (torch.utils.backcompat).
broadcast_warning, keepdim_warning = SimpleNamespace(enabled=False), SimpleNamespace(enabled=False)

# ------------------------------------------------------------------------ for layers


def _ntuple(n: int) -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a number n times, and converts other iterables to tuples.

    >>> _ntuple(2)(3), _ntuple(2)([3, 5])
    ((3, 3), (3, 5))
    """
    return lambda x: tuple(x) if isinstance(x, Iterable) else (x,) * n


_single, _pair, _triple, _quadruple = (_ntuple(n) for n in (1, 2, 3, 4))


def _reverse_repeat_tuple(sizes: Sequence[int], n: int) -> tuple[int, ...]:
    """The sizes in reverse order, each n times: the format that F.pad expects.

    >>> _reverse_repeat_tuple((1, 2), 2)
    (2, 2, 1, 1)
    """
    return tuple(x for x in reversed(sizes) for _ in range(n))


def _addindent(text: str, spaces: int) -> str:
    """Indent all lines of the text except the first.

    >>> _addindent("a", 2)
    'a'
    """
    return text.replace("\n", "\n" + " " * spaces)


def _check_param_device(param: Tensor, old_param_device: int | None) -> int:
    """-1, PyTorch's number of the CPU, on which all parameters are.

    >>> _check_param_device(minigrad.ones(2), None)
    -1
    """
    return -1


def _element_size(dtype: dtypes.dtype) -> int:
    """The number of bytes per entry.

    >>> _element_size(minigrad.float32)
    4
    """
    return int(dtype.itemsize)


def _assert(condition: Any, message: str) -> None:
    """`assert condition, message`, which PyTorch can trace.

    >>> _assert(True, "never shown")
    """
    assert condition, message


def _checker(error: type[Exception]) -> Callable[..., None]:
    def check(cond: bool, message: Callable[[], object] | None = None) -> None:
        """Raise an error, with the message that a function returns, unless the condition is True.

        >>> minigrad._check(True, lambda: "never called")
        """
        if not isinstance(cond, bool):
            raise TypeError(f"cond must be a bool, but got {type(cond)}")
        if message is not None and not callable(message):
            raise TypeError("message must be a callable")
        if not cond:
            raise error(str(message()) if message else "Expected cond to be True, but got False.")

    return check


_check, _check_index, _check_value, _check_type = (
    _checker(e) for e in (RuntimeError, IndexError, ValueError, TypeError)
)


# ------------------------------------------------------------------------ for nested structures


def tree_map(f: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """Apply f to each leaf of a tree. What further trees hold in the same places becomes further arguments of f.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    others = [iter(at_leaves_of(tree, rest)) for rest in rests]
    return replaced(tree, lambda x: f(x, *map(next, others)), object)


def tree_map_only(kind: Any, f: Callable[[Any], Any], tree: Any) -> Any:
    """Apply f to each leaf of a type, and keep the other leaves.

    >>> tree_map_only(int, lambda x: -x, (1, 2.0))
    (-1, 2.0)
    """
    return replaced(tree, f, kind)


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves of nested tuples, lists and dicts.

    >>> tree_leaves([1, (2, {"a": 3})])
    [1, 2, 3]
    """
    return flatten(tree, object)[0]


def tree_flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves, and a spec of the structure for `tree_unflatten`.

    >>> entries, spec = tree_flatten((1, [2]))
    >>> tree_unflatten([5, 6], spec)
    (5, [6])
    """
    return flatten(tree, object)


def tree_unflatten(leaves: Iterable[Any], treespec: Callable[[Any], Any]) -> Any:
    """Build a tree from leaves and a spec returned by `tree_flatten`."""
    return treespec(leaves)


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Any, Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    **settings: object,
) -> None:
    """Let trees contain objects of a class: func.vmap and tree_map look into them.

    flatten_fn     returns the children of an object, and a context
    unflatten_fn   makes an object of children and the context
    """
    NODES[cls] = (flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node

# ------------------------------------------------------------------------ for optimizers


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """All entries of several tensors, as one vector.

    >>> _flatten_dense_tensors([minigrad.zeros(2, 2), minigrad.ones(1)])
    tensor([0., 0., 0., 0., 1.])
    """
    return cat([x.reshape(-1) for x in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The slices of a vector, with the shapes of these tensors, as views.

    >>> _unflatten_dense_tensors(minigrad.arange(3), [minigrad.zeros(1, 2), minigrad.zeros(1)])
    (tensor([[0, 1]]), tensor([2]))
    """
    ends = accumulate(x.numel() for x in tensors)
    return tuple(flat[k - x.numel() : k].view(x.shape) for x, k in zip(tensors, ends, strict=True))


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Sort parallel lists by the device and dtype of the first list's tensors.

    >>> import minigrad
    >>> params = [minigrad.ones(2), minigrad.ones(1, dtype=minigrad.float64), minigrad.ones(3)]
    >>> [k for _, k in _group_tensors_by_device_and_dtype([params], with_indices=True).values()]
    [[0, 2], [1]]
    """
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for k, entries in enumerate(zip(*tensorlistlist, strict=True)):
        key = entries[0].device, entries[0].dtype
        lists, places = groups.setdefault(key, ([[] for _ in entries], []))
        for one, entry in zip(lists, entries, strict=True):
            one.append(entry)
        places += [k] if with_indices else []
    return groups


# ------------------------------------------------------------------------ for compilers and overrides


def unchanged(model: Any = None, **settings: object) -> Any:
    """A decorator without effect, for `compile`, `jit.ignore`, `jit.unused` and `compiler.disable`.

    `minigrad.static` records and compiles programs.

    >>> unchanged(abs) is abs and unchanged(drop=True)(abs) is abs
    True
    """
    if model is None:
        return unchanged
    if not callable(model):
        raise TypeError(f"expected a function or a module, not {type(model).__name__}.")
    return model


def not_compiled(function: Any = None, *example: object, **settings: object) -> Any:
    """`jit.script` and `jit.trace`: return the function or module unchanged, with a warning.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     not_compiled(abs) is abs
    True
    """
    warn_user(
        "minigrad has no TorchScript: jit.script and jit.trace return the function or module unchanged. "
        "minigrad.static records programs.",
    )
    return unchanged(function)


def annotated(the_type: object, the_value: Any) -> Any:
    """`jit.annotate`: the value, whose type only a compiler needs.

    >>> annotated(list[int], [])
    []
    """
    return the_value


has_lapack = True  # NumPy has it


def never(*args: object) -> bool:
    """The answer to `jit.is_scripting()`, `compiler.is_compiling()` and `has_torch_function(x)`: False.

    >>> never()
    False
    """
    return False


def nothing(*args: object) -> None:
    """What `compiler.reset()` does: nothing.

    >>> nothing()
    """


# Which classes `load` may create: tensors and their containers, or all classes with weights_only=False.
add_safe_globals = clear_safe_globals = nothing


class record_function(ContextDecorator):
    """`profiler.record_function`: a named block or function for a profiler. Without effect: minigrad has no profiler.

    >>> with record_function("forward"):
    ...     pass
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        pass


class UnknownSize:
    """`SymInt` and similar types of a compiler, for sizes that it does not know. No number here is a SymInt."""


def show() -> str:
    """`__config__.show()`: the library that does the computing, and its version.

    >>> show()[:19]
    'NumPy computes, in '
    """
    return f"NumPy computes, in version {np.__version__}"


def is_tensor_like(inp: object) -> bool:
    """`overrides.is_tensor_like`: is it a tensor?

    >>> import minigrad
    >>> is_tensor_like(minigrad.ones(1)), is_tensor_like([1.0])
    (True, False)
    """
    return isinstance(inp, Tensor)


def _tensor_str(self: Tensor, indent: int) -> str:
    """The entries of a tensor in brackets, without "tensor(...)".

    >>> import minigrad
    >>> _tensor_str(minigrad.ones(2), 0)
    '[1., 1.]'
    """
    return formatting.values(self.array, indent)


_log_api_usage_once = _get_tracing_state = never
has_torch_function = has_torch_function_unary = has_torch_function_variadic = never
