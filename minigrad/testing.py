"""assert_close: are two results equal, up to rounding?"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor

# rtol and atol for each type of number, as in PyTorch: about the root of the type's precision.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless abs(actual - expected) <= atol + rtol * abs(expected).

    actual, expected   tensors, arrays or numbers; or lists and dicts of them
    rtol, atol         both or neither; by default as fits the type of number
    equal_nan          are two NaNs equal?
    check_dtype        must the types of number be the same?
    msg                said instead; or a function of what would be said

    >>> import minigrad
    >>> assert_close(minigrad.tensor([1.0, 2.0]), minigrad.tensor([1.0, 2.0000001]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "rtol and atol must both be specified or both be unspecified: "
            f"here only {'atol' if rtol is None else 'rtol'} is."
        )
    wrong = _difference(actual, expected, rtol, atol, equal_nan, check_dtype, "")
    if wrong is not None:
        raise AssertionError(wrong if msg is None else msg(wrong) if callable(msg) else msg)


def _difference(
    x: Any, y: Any, rtol: Any, atol: Any, equal_nan: bool, check_dtype: bool, where: str
) -> str | None:
    """What is wrong, in words; None if nothing is."""
    if isinstance(y, Mapping) and isinstance(x, Mapping):
        if set(x) != set(y):
            return f"The keys of the mappings do not match: {sorted(set(x) ^ set(y))} are in one of them only."
        pairs = [(x[key], y[key], f"[{key!r}]") for key in x]
    elif isinstance(y, Sequence) and isinstance(x, Sequence) and not isinstance(y, str):
        if len(x) != len(y):
            return f"The length of the sequences mismatch: {len(x)} != {len(y)}"
        pairs = [(a, b, f"[{k}]") for k, (a, b) in enumerate(zip(x, y, strict=True))]
    else:
        return _of_arrays(x, y, rtol, atol, equal_nan, check_dtype, where)
    for a, b, part in pairs:
        wrong = _difference(a, b, rtol, atol, equal_nan, check_dtype, where + part)
        if wrong is not None:
            return wrong
    return None


def _of_arrays(
    x: Any, y: Any, rtol: Any, atol: Any, equal_nan: bool, check_dtype: bool, where: str
) -> str | None:
    scalars = not isinstance(x, (Tensor, np.ndarray)) and not isinstance(y, (Tensor, np.ndarray))
    a, b = (np.asarray(v.array if isinstance(v, Tensor) else v) for v in (x, y))
    what = "Scalars" if scalars else "Tensor-likes"
    at = f"\n\nThe failure occurred for item {where}" if where else ""
    if a.shape != b.shape:
        return f"The values for attribute 'shape' do not match: {list(a.shape)} != {list(b.shape)}.{at}"
    if check_dtype and not scalars and a.dtype != b.dtype:
        return f"The values for attribute 'dtype' do not match: minigrad.{a.dtype} != minigrad.{b.dtype}.{at}"
    if rtol is None:
        known = [TOLERANCES.get(str(v.dtype), (0.0, 0.0)) for v in (a, b)]
        rtol, atol = max(k[0] for k in known), max(k[1] for k in known)
    close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if close.all():
        return None
    with np.errstate(all="ignore"):
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
        relative = apart / np.abs(b)
    shown = np.where(close, 0.0, apart)
    allowed = (
        f"(up to {atol:g} allowed)"
        if scalars
        else f"at index {_place(shown)} (up to {atol:g} allowed)"
    )
    if scalars:
        return (
            f"{what} are not {'equal' if rtol == atol == 0 else 'close'}!\n\nExpected {y} but got {x}.\n"
            f"Absolute difference: {apart.item()} {allowed}\n"
            f"Relative difference: {relative.item()} (up to {rtol:g} allowed){at}"
        )
    n, share = int((~close).sum()), 100 * (~close).mean()
    return (
        f"{what} are not {'equal' if rtol == atol == 0 else 'close'}!\n\n"
        f"Mismatched elements: {n} / {close.size} ({share:.1f}%)\n"
        f"Greatest absolute difference: {shown.max()} {allowed}\n"
        f"Greatest relative difference: {np.where(close, 0, relative).max()} at index "
        f"{_place(np.where(close, 0, relative))} (up to {rtol:g} allowed){at}"
    )


def _place(apart: Array) -> tuple[int, ...]:
    """Where the greatest difference is; a NaN counts as the greatest."""
    return tuple(int(i) for i in np.unravel_index(np.argmax(apart), apart.shape))
