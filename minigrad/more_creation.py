"""More ways to make tensors: from buffers, windows of signals, and the classes of old programs."""

import warnings
from typing import Any

import numpy as np

from minigrad import chance, dtypes
from minigrad.creation import finish, shape_of
from minigrad.devices import check_device
from minigrad.generator import Generator
from minigrad.tensor import Tensor


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of the data, in the same memory where that is possible.

    copy   True: always in memory of its own; False: never, and ValueError if it must be
    """
    check_device(device)
    array = obj.detach().memory() if isinstance(obj, Tensor) else obj
    x = Tensor(array, dtype=dtype)
    shares = isinstance(array, np.ndarray) and np.may_share_memory(x.memory(), array)
    if copy is False and not shares:
        raise ValueError("can't alias arbitrary sequence or another type of number into a tensor.")
    if copy and shares:
        x = Tensor(x.array.copy())
    if isinstance(obj, Tensor) and shares and not copy:
        return obj
    return x.requires_grad_() if requires_grad else x


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """The bytes of a buffer as numbers, in the same memory.

    >>> frombuffer(bytearray([1, 0, 2, 0]), dtype="int16")
    tensor([1, 2], dtype=minigrad.int16)
    """
    if memoryview(buffer).readonly:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "To mend it, copy it: bytearray(buffer).",
            stacklevel=2,
        )
    return finish(np.frombuffer(buffer, dtypes.as_dtype(dtype), count, offset), requires_grad)


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A number as a tensor without axes, of the default type."""
    check_device(device)
    d = dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)
    return finish(np.asarray(s, d)[()], requires_grad)


def range(  # noqa: A001  # PyTorch's name
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... up to and with end. `arange`, without the end, is the one to use."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
        "[start, end).",
        stacklevel=2,
    )
    check_device(device)
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    n = int((end - start) / step + 1)
    if n < 1:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    d = dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)
    return finish((start + step * np.arange(n)).astype(d), requires_grad)


# ------------------------------------------------------------------------ windows


def _window(n: int, periodic: bool, weights: tuple[float, ...], dtype: Any) -> Tensor:
    """The sum of weights[k] * cos(k * t), for t once around the circle.

    A periodic window leaves out the last point, which would be the first of the next period.
    """
    d = dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)
    if n < 0:
        raise RuntimeError(f"requires non-negative window_length, got window_length={n}")
    if n < 2:
        return Tensor(np.ones(n, d))
    t = np.arange(n) * (2 * np.pi / (n if periodic else n - 1))
    return Tensor(sum(w * np.cos(k * t) for k, w in enumerate(weights)).astype(d))


def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """(1 - cos(t)) / 2

    >>> hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(window_length, periodic, (0.5, -0.5), dtype)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
) -> Tensor:
    """alpha - beta * cos(t)"""
    return _window(window_length, periodic, (alpha, -beta), dtype)


def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """0.42 - 0.5 * cos(t) + 0.08 * cos(2 t)"""
    return _window(window_length, periodic, (0.42, -0.5, 0.08), dtype)


def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """From 0 up to 1 and down to 0, in straight lines."""
    d = dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)
    if window_length < 2:
        return Tensor(np.ones(window_length, d))
    n = window_length if periodic else window_length - 1
    return Tensor((1 - np.abs(2 * np.arange(window_length) / n - 1)).astype(d))


# ------------------------------------------------------------------------ at random


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """How often something happens that happens `input` times on average."""
    if input.dtype.kind != "f":
        raise NotImplementedError(f'"poisson_cpu" not implemented for {str(input.dtype)!r}')
    return Tensor(chance.events(input.array, generator))


# ------------------------------------------------------------------------ old classes


class _OldClass(type):
    """A class that makes tensors of one type, and that they are instances of."""

    dtype: Any

    def __call__(cls, *data: Any, **settings: Any) -> Any:
        """Of data, the data; of sizes, zeros of these sizes (PyTorch: whatever was in memory)."""
        if len(data) == 1 and not isinstance(data[0], (int, np.integer)):
            return Tensor(data[0], dtype=cls.dtype)
        return Tensor(np.zeros(shape_of(data) if data else (0,), cls.dtype))

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.dtype


def _old_class(dtype: Any) -> Any:
    name = f"{dtypes.torch_name(dtype)}Tensor"
    doc = f"Old programs write {name}(data) for tensor(data, dtype={dtype}), and {name}(2, 3) for sizes."
    return _OldClass(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "minigrad"})


FloatTensor, DoubleTensor, HalfTensor = (
    _old_class(d) for d in (dtypes.float32, dtypes.float64, dtypes.float16)
)
LongTensor, IntTensor, ShortTensor = (
    _old_class(d) for d in (dtypes.int64, dtypes.int32, dtypes.int16)
)
ByteTensor, CharTensor, BoolTensor = (
    _old_class(d) for d in (dtypes.uint8, dtypes.int8, dtypes.bool_)
)
