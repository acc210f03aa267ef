"""Window functions, which taper a segment of a signal toward both ends before a Fourier transform.

Source: Harris, On the use of windows for harmonic analysis with the discrete Fourier transform (1978).
"""


import numpy as np

from minigrad.core.devices import DeviceLike, Layout, strided
from minigrad.core.dtypes import Dtype, DTypeLike
from minigrad.core.tensor import Tensor
from minigrad.methods.arguments import takes_tensors
from minigrad.methods.creation import finish, type_to_make


@takes_tensors
def hann_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """The Hann window: (1 - cos(t)) / 2.

    >>> hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(window_length, periodic, (0.5, -0.5), dtype, device, requires_grad)


@takes_tensors
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """The Hamming window: alpha - beta * cos(t).

    >>> hamming_window(3, periodic=False)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _window(window_length, periodic, (alpha, -beta), dtype, device, requires_grad)


@takes_tensors
def blackman_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """The Blackman window: 0.42 - 0.5 * cos(t) + 0.08 * cos(2 t).

    >>> blackman_window(3, periodic=False).abs()
    tensor([1.3878e-17, 1.0000e+00, 1.3878e-17])
    """
    return _window(window_length, periodic, (0.42, -0.5, 0.08), dtype, device, requires_grad)


@takes_tensors
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """The Bartlett window: a triangle from 0 up to 1 and back down to 0.

    >>> bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    if window_length < 2:
        return _window(window_length, periodic, (1.0,), dtype, device, requires_grad)
    n = window_length if periodic else window_length - 1
    return finish((1 - np.abs(2 * np.arange(window_length) / n - 1)).astype(_floating(dtype, device)), requires_grad)


def _floating(dtype: DTypeLike, device: DeviceLike) -> Dtype:
    """The dtype of a window. Raises RuntimeError unless it is floating-point."""
    d = type_to_make(dtype, device)
    if d.kind != "f":
        raise RuntimeError(f"a window function expects floating point dtypes, got: {d}")
    return d


def _window(n: int, periodic: bool, weights: tuple[float, ...], dtype: DTypeLike, device: DeviceLike, requires_grad: bool) -> Tensor:
    """The sum of weights[k] * cos(k * t), for t from 0 to 2 pi.

    A periodic window leaves out the last point, since it is the first of the next period.
    """
    d = _floating(dtype, device)
    if n < 0:
        raise RuntimeError(f"requires non-negative window_length, got window_length={n}")
    if n < 2:
        return finish(np.ones(n, d), requires_grad)
    t = np.arange(n) * (2 * np.pi / (n if periodic else n - 1))
    return finish(sum(w * np.cos(k * t) for k, w in enumerate(weights)).astype(d), requires_grad)
