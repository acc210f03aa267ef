"""assert_close: compare two results, up to rounding errors. make_tensor: random numbers for a test."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from minigrad.core.devices import DeviceLike, MemoryFormat
from minigrad.core.dtypes import Dtype, is_floating
from minigrad.core.errors import warn_user
from minigrad.core.shapes import Array, Shape, shape_of
from minigrad.core.tensor import Size, Tensor
from minigrad.methods.creation import tensor, zeros
from minigrad.methods.operators import are_close
from minigrad.random.tensors import randint

# The default rtol and atol for each dtype, as in PyTorch; for whole numbers and booleans, 0.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}

# Those of assert_allclose.
OLD_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


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


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """An older assert_close: looser, for any two dtypes; lists and numbers become tensors, and NaNs are equal."""
    warn_user(
        "`minigrad.testing.assert_allclose()` is deprecated. Please use `minigrad.testing.assert_close()` instead.",
        FutureWarning,
    )
    x = actual if isinstance(actual, Tensor) else tensor(actual)
    y = expected if isinstance(expected, Tensor) else tensor(expected, dtype=x.dtype)
    if rtol is None and atol is None:
        each = [OLD_TOLERANCES.get(z.dtype.name, (0.0, 0.0)) for z in (x, y)]
        rtol, atol = max(r for r, _ in each), max(a for _, a in each)
    assert_close(
        x, y, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )


def make_tensor(
    *shape: Any,
    dtype: Dtype,
    device: DeviceLike,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """A tensor of random numbers for a test, uniform from low up to but not including high.

    low, high        by default -9 and 9 (10 for integers; 0 and 2 for booleans); cut to what the dtype can hold
    noncontiguous    every second entry of a larger tensor
    exclude_zero     1 in place of 0; for floating-point numbers, the smallest normal number

    Raises ValueError unless low < high and both are in the range of the dtype.

    >>> import minigrad
    >>> make_tensor(2, 3, dtype=minigrad.int64, device="cpu", low=0, high=1)
    tensor([[0, 0, 0],
            [0, 0, 0]])
    """
    floating = is_floating(dtype)
    if not floating and dtype.kind not in "iub":
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor()."
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive"
        )
    if requires_grad and not floating:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    first, last = _drawn_range(dtype, low, high)
    size = shape_of(shape)
    apart = noncontiguous and math.prod(size) > 1
    made = _drawn((*size[:-1], 2 * size[-1]) if apart else size, dtype, first, last)
    made = made[..., 1::2] if apart else made
    if exclude_zero:
        made[made == 0] = np.finfo(dtype).tiny.item() if floating else 1
    return made.requires_grad_(requires_grad)


def _drawn(size: Shape, dtype: Dtype, first: float, last: float) -> Tensor:
    """Random numbers from first up to but not including last."""
    if not is_floating(dtype):
        return randint(math.ceil(first), math.ceil(last), size, dtype=dtype)
    z = zeros(size, dtype=dtype)
    if last - first >= np.finfo(dtype).max:  # uniform_ would refuse
        return z.uniform_(first / 2, last / 2).mul_(2)
    return z.uniform_(first, last)


def _drawn_range(dtype: Dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """The bounds of `make_tensor`. Raises ValueError if nothing lies between them."""
    default: tuple[float, float] = (-9, 9) if is_floating(dtype) else (-9, 10)
    least: float = 0
    most: float = 2
    if dtype.kind == "b":
        default = (0, 2)
    elif is_floating(dtype):
        least, most = float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    else:
        least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max) + (dtype != np.int64)
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low > high or (low == high and not is_floating(dtype)):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < least or low >= most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{least}, {most})"
        )
    return min(max(low, least), most), min(max(high, least), most)


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
