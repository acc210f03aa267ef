"""Helpers that are private in PyTorch, and that published programs import all the same.

    from torch.nn.modules.utils import _pair                     layers of one's own
    from torch.utils._pytree import tree_map                     nested tuples, lists and dicts

modules.py leads the names of these modules here.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minigrad.autograd.transforms import flatten, replaced
from minigrad.core.devices import DeviceLike
from minigrad.core.errors import levels_to_user

inf = math.inf
Number = int | float | bool
Device = DeviceLike
MAP_LOCATION = Any
string_classes = (str, bytes)

# ------------------------------------------------------------------------ of layers


def _ntuple(n: int) -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes n equal sizes of one number, and a tuple of several.

    >>> _ntuple(2)(3), _ntuple(2)([3, 5])
    ((3, 3), (3, 5))
    """
    return lambda x: tuple(x) if isinstance(x, Iterable) else (x,) * n


_single, _pair, _triple, _quadruple = (_ntuple(n) for n in (1, 2, 3, 4))


def _reverse_repeat_tuple(sizes: Sequence[int], n: int) -> tuple[int, ...]:
    """The sizes from the last to the first, each n times: what F.pad takes.

    >>> _reverse_repeat_tuple((1, 2), 2)
    (2, 2, 1, 1)
    """
    return tuple(x for x in reversed(sizes) for _ in range(n))


def _addindent(text: str, spaces: int) -> str:
    """The text with all lines but the first moved to the right.

    >>> _addindent("a", 2)
    'a'
    """
    return text.replace("\n", "\n" + " " * spaces)


def _assert(condition: Any, message: str) -> None:
    """`assert condition, message`, which PyTorch can trace.

    >>> _assert(True, "never shown")
    """
    assert condition, message


# ------------------------------------------------------------------------ of nested structures


def tree_map(f: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """The same nesting, with f of each entry; of further trees of that nesting, the entries are f's further arguments.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    others = [iter(tree_leaves(rest)) for rest in rests]
    return replaced(tree, lambda x: f(x, *map(next, others)), object)


def tree_map_only(kind: Any, f: Callable[[Any], Any], tree: Any) -> Any:
    """The same nesting, with f of each entry of a type.

    >>> tree_map_only(int, lambda x: -x, (1, 2.0))
    (-1, 2.0)
    """
    return replaced(tree, f, kind)


def tree_leaves(tree: Any) -> list[Any]:
    """The entries of nested tuples, lists and dicts.

    >>> tree_leaves([1, (2, {"a": 3})])
    [1, 2, 3]
    """
    return flatten(tree, object)[0]


def tree_flatten(tree: Any) -> tuple[list[Any], Any]:
    """The entries, and what `tree_unflatten` needs to nest others in the same way.

    >>> entries, spec = tree_flatten((1, [2]))
    >>> tree_unflatten([5, 6], spec)
    (5, [6])
    """
    return flatten(tree, object)


def tree_unflatten(leaves: Iterable[Any], treespec: Callable[[Any], Any]) -> Any:
    """Nest entries as the tree was from which `tree_flatten` made the spec; see there."""
    return treespec(leaves)


# ------------------------------------------------------------------------ of compilers and overrides


def unchanged(function: Any = None, **settings: object) -> Any:
    """A decorator that changes nothing: `jit.ignore`, `jit.unused`, `compiler.disable`.

    >>> unchanged(abs) is abs and unchanged(drop=True)(abs) is abs
    True
    """
    return function if callable(function) else unchanged


def not_compiled(function: Any = None, *example: object, **settings: object) -> Any:
    """`jit.script` and `jit.trace`: the function or module itself, and a warning that nothing is compiled.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     not_compiled(abs) is abs
    True
    """
    warnings.warn(
        "minigrad compiles nothing: jit.script and jit.trace return what they are given, which computes the same. "
        "minigrad.static records programs.",
        stacklevel=levels_to_user(),
    )
    return unchanged(function)


def never(*args: object) -> bool:
    """The answer to `jit.is_scripting()`, `compiler.is_compiling()` and `has_torch_function(x)`: False.

    >>> never()
    False
    """
    return False


_log_api_usage_once = _get_tracing_state = never
has_torch_function = has_torch_function_unary = has_torch_function_variadic = never
