"""assert_close: compare two results, up to rounding errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from minigrad.core.shapes import Array
from minigrad.core.tensor import Size, Tensor
from minigrad.methods.operators import are_close

# The default rtol and atol for each dtype, as in PyTorch; for whole numbers and booleans, 0.
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

    actual, expected   two tensors, arrays or numbers, or lists and dicts of them
    allow_subclasses   if False, both must have exactly the same class
    rtol, atol         the tolerances: both or neither; by default, those of the dtype (TOLERANCES)
    equal_nan          count two NaNs as equal
    check_dtype        require equal dtypes
    check_stride       require equal strides
    msg                the error's message, or a function that turns our message into yours

    check_device and check_layout have no effect: every tensor is dense and on the CPU.

    Raises TypeError for two things that cannot be compared, such as a tensor and a list.

    >>> import minigrad
    >>> assert_close(minigrad.tensor([1.0, 2.0]), minigrad.tensor([1.0, 2.0000001]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "rtol and atol must both be specified or both be unspecified: "
            f"here only {'atol' if rtol is None else 'rtol'} is."
        )
    comparison = _Comparison(rtol, atol, equal_nan, check_dtype, check_stride, allow_subclasses)
    try:
        comparison.of(actual, expected)
    except AssertionError as error:
        ours = str(error)
        raise AssertionError(ours if msg is None else msg(ours) if callable(msg) else msg) from None


@dataclass(frozen=True)
class _Comparison:
    """The options of assert_close. Each method raises AssertionError at the first difference."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_dtype: bool
    check_stride: bool
    allow_subclasses: bool

    def of(self, x: Any, y: Any, where: str = "") -> None:
        """Compare two values of any kind. `where` is the place of nested ones: [0]['weight']."""
        at = f"\n\nThe failure occurred for item {where}" if where else ""
        if isinstance(x, Mapping) and isinstance(y, Mapping):
            if set(x) != set(y):
                raise AssertionError(
                    "The keys of the mappings do not match:\n"
                    f"Missing keys in the actual mapping: {sorted(set(y) - set(x))}\n"
                    f"Additional keys in the actual mapping: {sorted(set(x) - set(y))}{at}"
                )
            for key in x:
                self.of(x[key], y[key], f"{where}[{key!r}]")
        elif _is_sequence(x) and _is_sequence(y):
            if len(x) != len(y):
                raise AssertionError(
                    f"The length of the sequences mismatch: {len(x)} != {len(y)}{at}"
                )
            for k, (a, b) in enumerate(zip(x, y, strict=True)):
                self.of(a, b, f"{where}[{k}]")
        elif x is None or y is None:
            if x is not y:
                raise AssertionError(f"None mismatch: {x} is not {y}{at}")
        elif isinstance(x, bool | np.bool_) and isinstance(y, bool | np.bool_):
            if x != y:
                raise AssertionError(f"Booleans mismatch: {x} is not {y}{at}")
        elif isinstance(x, int | float | complex) and isinstance(y, int | float | complex):
            if self.check_dtype and type(x) is not type(y):
                raise AssertionError(f"The (d)types do not match: {type(x)} != {type(y)}.{at}")
            self._numbers(np.asarray(x), np.asarray(y), (x, y), at)
        else:
            self._tensors(x, y, at)

    def _tensors(self, x: Any, y: Any, at: str) -> None:
        same = isinstance(x, type(y)) or isinstance(y, type(x))
        known = isinstance(x, Tensor | np.ndarray | np.generic)
        if not (same and known) or (type(x) is not type(y) and not self.allow_subclasses):
            raise TypeError(
                "No comparison pair was able to handle inputs of type "
                f"{type(x)} and {type(y)}.{at} To fix it, convert both to tensors."
            )
        a, b = (np.asarray(v.array if isinstance(v, Tensor) else v) for v in (x, y))
        steps = [tuple(s // v.itemsize for s in v.strides) for v in (a, b)]
        for name, one, two, checked in (
            ("shape", repr(Size(a.shape)), repr(Size(b.shape)), True),
            ("dtype", f"minigrad.{a.dtype}", f"minigrad.{b.dtype}", self.check_dtype),
            ("stride()", str(steps[0]), str(steps[1]), self.check_stride),
        ):
            if checked and one != two:
                raise AssertionError(
                    f"The values for attribute '{name}' do not match: {one} != {two}.{at}"
                )
        self._numbers(a, b, None if a.ndim else (a.item(), b.item()), at)

    def _numbers(self, a: Array, b: Array, scalars: tuple[Any, Any] | None, at: str) -> None:
        known = [TOLERANCES.get(str(v.dtype), (0.0, 0.0)) for v in (a, b)]
        rtol = max(k[0] for k in known) if self.rtol is None else self.rtol
        atol = max(k[1] for k in known) if self.atol is None else self.atol
        close = are_close(a, b, rtol, atol, self.equal_nan)
        if not close.all():
            _raise_not_close(a, b, close, rtol, atol, scalars, at)


def _is_sequence(x: object) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _raise_not_close(
    a: Array, b: Array, close: Array, rtol: float, atol: float, scalars: Any, at: str
) -> NoReturn:
    """Raise the error for arrays that are equal only at the entries in `close`."""
    exact = rtol == atol == 0
    whole = a.dtype.kind in "iub" and b.dtype.kind in "iub"
    wide = np.int64 if whole else np.result_type(a, b, np.float64)
    with np.errstate(all="ignore"):
        apart = np.abs(a.astype(wide) - b.astype(wide))
        relative = apart / np.abs(b.astype(wide))
    allowed = ["" if exact else f" (up to {t:g} allowed)" for t in (atol, rtol)]
    what = f"{'Tensor-likes' if scalars is None else 'Scalars'} are not {'equal' if exact else 'close'}!\n\n"
    if scalars is not None:
        raise AssertionError(
            f"{what}Expected {scalars[1]} but got {scalars[0]}.\n"
            f"Absolute difference: {apart.item()}{allowed[0]}\n"
            f"Relative difference: {relative.item()}{allowed[1]}{at}"
        )
    lines = []
    for name, values, bound in (
        ("absolute", apart, allowed[0]),
        ("relative", relative, allowed[1]),
    ):
        shown = np.where(close, 0, values)
        place = np.unravel_index(np.argmax(shown), shown.shape)  # NaN counts as the largest
        index = tuple(map(int, place))
        lines.append(f"\nGreatest {name} difference: {shown[place]} at index {index}{bound}")
    n, share = int((~close).sum()), 100 * (~close).mean()
    raise AssertionError(
        f"{what}Mismatched elements: {n} / {close.size} ({share:.1f}%){''.join(lines)}{at}"
    )
