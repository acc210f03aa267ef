"""Names: the user's names for tensors, and values as text.

A tensor does not store its name; only variables have names. So we look names up in the
namespace around the recording: the frame of the `with` statement, or the notebook's
namespace. The user's functions have variables too, which are gone when they return: so these are
read while they run. A tensor in a list is `w[0]`, in a dictionary `p['w']`. Names that start with an
underscore are skipped: they belong to IPython or are private.

All text from or for the user passes through this module: `clean` removes characters that
could break a picture, and numbers have four digits, because the fifth may differ between
machines.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from itertools import chain
from types import FrameType
from typing import Any

import numpy as np

from minigrad.core.errors import CO_OPTIMIZED, variables_of
from minigrad.core.op import as_in_pytorch
from minigrad.core.plan import listed, slice_text
from minigrad.core.tensor import Tensor
from minigrad.tape.document import ArrayFacts

LONGEST = 40  # maximum number of characters to show of a name
MANY = 64  # a longer list of tensors is not searched
FEW = 8  # entries of an array that are shown in an expression
# What `printable` writes for these signs, if it has to
PLAIN = str.maketrans(
    dict(zip("├└─│↓→✓✗…×’", ("|", "`", "-", "|", "v", "->", "v", "x", "...", "x", "'")))
)


def namespace_of(frame: FrameType) -> dict[str, Any]:
    """The variables that code in this frame can see; local ones first."""
    names = variables_of(frame)
    return {**names, **frame.f_globals, **names}  # locals first, not hidden by globals


def local_variables(frame: FrameType | None) -> tuple[dict[str, object], tuple[str, ...]]:
    """The variables of a function that is running, and the names of its parameters."""
    if frame is None or not frame.f_code.co_flags & CO_OPTIMIZED:
        return {}, ()
    code = frame.f_code
    stars = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
    return variables_of(frame), parameters


def name_in(namespace: Mapping[str, object], value: object) -> str | None:
    """The first name of a value in a namespace that does not begin with _, if it has one."""
    return next((n for n, v in namespace.items() if v is value and n[:1] != "_"), None)


def has_values(value: object, kind: type[Any] | tuple[type[Any], ...]) -> bool:
    """Is this a tensor of these classes? A parameter of a lazy layer has no values before its first call."""
    return isinstance(value, kind) and not hasattr(type(value), "cls_to_become")


def tensors_in(
    namespace: Mapping[str, Any], kind: type[Any] | tuple[type[Any], ...] = Tensor
) -> Iterator[tuple[str, Any]]:
    """Every named tensor of these classes, variables before entries of lists."""
    others = []
    for name, value in list(namespace.items()):
        if name.startswith("_") or name in ("In", "Out"):
            continue
        if has_values(value, kind):
            yield name, value
        else:
            others.append((name, value))
    for name, value in others:
        yield from (entry for entry in _entries(name, value) if has_values(entry[1], kind))


def _entries(name: str, value: Any) -> list[tuple[str, Any]]:
    """What a short list or dictionary contains, and the parameters and buffers of modules, by name."""
    if _is_module(value):
        try:
            own = chain(value.named_parameters(), getattr(value, "named_buffers", tuple)())
            return [(f"{name}.{path}", v) for path, v in own]
        except AttributeError:  # it is being constructed or copied
            return []
    found: list[tuple[str, Any]] = []
    if type(value) in (list, tuple, dict) and len(value) <= MANY:
        for key, v in value.items() if type(value) is dict else enumerate(value):
            path = f"{name}[{key!r}]"
            found += _entries(path, v) if _is_module(v) else [(path, v)]
    return found


def _is_module(value: object) -> bool:
    return callable(getattr(type(value), "named_parameters", None))


def clean(text: object) -> str:
    """The text without characters that a picture cannot or should not contain.

    Control characters and lone surrogates make an SVG unreadable; bidirectional marks
    can make one name look like another.

    >>> clean("a\\x00b\\u202ec")
    'abc'
    """
    spaced = str(text).replace("\t", " ").replace("\n", " ")
    return "".join(c for c in spaced if unicodedata.category(c)[0] != "C")


def short(text: object, longest: int = LONGEST) -> str:
    """The clean text, truncated if it is too long.

    >>> short("abcdef", 4)
    'abc…'
    """
    text = clean(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def printable(text: str) -> str:
    """The text as standard output can write it.

    On Windows, and in some old terminals, a redirected output has no arrows, check marks or lines of a tree.

    >>> printable("└─ ↓ x")
    '└─ ↓ x'
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeError:
        return text.translate(PLAIN).encode(encoding, "replace").decode(encoding)
    return text


def number_text(value: Any) -> str:
    """A number with four significant digits; no minus sign for zero.

    >>> number_text(-0.0), number_text(1 / 3), number_text(True), number_text(12)
    ('0', '0.3333', 'True', '12')
    """
    if isinstance(value, str | bool | int | np.bool_ | np.integer):  # "nan", as in a snapshot
        return str(value)
    if isinstance(value, complex):
        return f"{value:.4g}"
    return f"{float(value) + 0.0:.4g}"


def shape_text(shape: Iterable[int] | None) -> str:
    """A shape as Python writes it; empty if there is none."""
    return "" if shape is None else str(tuple(int(n) for n in shape))


def constant_text(value: Any) -> str:
    """The text of a number, an array or a function in an expression."""
    if isinstance(value, np.ndarray) and value.ndim:
        return array_text(value)
    if callable(value) and isinstance(name := getattr(value, "__name__", None), str):
        return name
    try:
        return number_text(value)
    except (TypeError, ValueError):
        return repr(value)


def array_text(array: Any) -> str:
    """An array in an expression: its entries if there are few, otherwise its shape.

    >>> array_text(np.array([[3, 1], [0, 2]])), array_text(np.zeros((4, 5)))
    ('[[3, 1], [0, 2]]', 'array(4, 5)')
    """
    if array.size > FEW:
        return f"array{tuple(array.shape)}"
    return nested_text(array.tolist())


def nested_text(entries: Any) -> str:
    """The entries of an array, in nested lists, as Python writes them: "[[1, 2], [3, 4]]"."""
    if isinstance(entries, list):
        return f"[{', '.join(map(nested_text, entries))}]"
    return number_text(entries)


def setting(value: Any, named: Callable[[Any], str] = lambda array: "") -> str:
    """The text of a setting.

    named    the text for an array, if it belongs to a recorded tensor; "" if it does not
    """
    if isinstance(value, Tensor | np.ndarray | np.generic):
        name = named(value)
        return name or array_text(np.asarray(getattr(value, "array", value)))
    if isinstance(value, tuple):
        return f"({listed([setting(v, named) for v in value])})"
    if isinstance(value, slice):
        return slice_text(value)
    if value is Ellipsis:
        return "..."
    text = str(value) if isinstance(value, np.dtype) else repr(value)
    return text if " at 0x" not in text else f"<{type(value).__name__}>"


def place_for(k: int) -> str:
    """The place in the text of a setting where the name of its k-th tensor goes, once it is known."""
    return f"<tensor {k}>"


def in_places(text: str, names: Sequence[str]) -> str:
    """The text with the names of tensors in their places.

    >>> in_places(f"({place_for(0)}, 1:)", ["rows"])
    '(rows, 1:)'
    """
    return re.sub(r"<tensor (\d+)>", lambda found: names[int(found[1])], text)


def same(value: Any, default: Any) -> bool:
    """Does a setting equal its default? (An array never does.)"""
    return type(value) is type(default) and not hasattr(value, "shape") and bool(value == default)


def settings_given(op: Any, params: dict[str, Any], named: Callable[[Any], str]) -> dict[str, str]:
    """The settings of a call as text, except those with default values, and those that follow from the others."""
    derived = getattr(op, "derived", ())
    given = {k: v for k, v in params.items() if k not in derived}
    shown = (as_in_pytorch(k, v) for k, v in given.items() if not same(v, op.settings.get(k)))
    return {name: setting(value, named) for name, value in shown}


def in_words(snapshot: ArrayFacts | None) -> str:
    """A snapshot as a short text: all entries if there are few, otherwise the range and the mean.

    >>> in_words({"shape": [2], "size": 2, "first": [1.0, 2.0]})
    '[1, 2]'
    >>> in_words({"shape": [2, 1], "size": 2, "first": [1.0, 2.0]})
    '[[1], [2]]'
    >>> in_words({"shape": [3], "size": 3, "first": ["nan", 1.0, "nan"], "nan": 2})
    '[nan, 1, nan] (2 NaN of 3)'
    >>> in_words({"shape": [8], "size": 8, "first": [], "min": 0.29999998, "max": 0.3})
    'all 0.3'
    >>> in_words({"shape": [8], "size": 8, "first": [], "min": 0.3, "max": 0.3, "mean": 0.3, "nan": 2})
    'from 0.3 to 0.3, mean 0.3; 2 NaN of 8'
    """
    if snapshot is None:
        return "not recorded"
    first, size, not_finite = snapshot["first"], snapshot["size"], count_not_finite(snapshot)
    counted = not_finite and f" ({not_finite})"
    if "rows" in snapshot:
        rows = snapshot["rows"]
        more = ", …" if len(rows) > 6 else ""
        return f"sparse: rows {', '.join(map(str, rows[:6]))}{more}{counted}"
    if not snapshot["shape"] and size:
        return number_text(first[0])
    if not size:
        return "empty"
    if size > 1 and snapshot.get("min") is not None and not not_finite:
        # Compare the printed numbers, because the last digits depend on the CPU.
        if (least := number_text(snapshot["min"])) == number_text(snapshot["max"]):
            return f"all {least}"
    if size <= 6:
        return nested_text(np.array(first, object).reshape(snapshot["shape"]).tolist()) + counted
    if snapshot.get("min") is None:
        return not_finite or "[" + ", ".join(number_text(v) for v in first[:6]) + ", …]"
    least, most, mean = (number_text(snapshot[name]) for name in ("min", "max", "mean"))
    return f"from {least} to {most}, mean {mean}{not_finite and '; ' + not_finite}"


def count_not_finite(snapshot: ArrayFacts) -> str:
    """ "2 NaN of 8, 1 inf of 8"; "" if all numbers are finite."""
    found = ((snapshot.get("nan"), "NaN"), (snapshot.get("inf"), "inf"))
    return ", ".join(f"{count} {kind} of {snapshot['size']}" for count, kind in found if count)


def count_of(n: int, what: str, plural: str | None = None) -> str:
    """ "1 leaf", "2 leaves"."""
    return f"{n} {what if n == 1 else plural or what + 's'}"


def near(name: str, known: Iterable[str]) -> str:
    """ " Did you mean ...?" with the most similar name, or the list of known names."""
    import difflib

    known = [k for k in dict.fromkeys(known) if k]
    found = difflib.get_close_matches(str(name), known, 1)
    if found:
        return f" Did you mean {found[0]!r}?"
    some = ", ".join(known[:8])
    return f" There is {some}{', ...' if len(known) > 8 else ''}." if some else ""
