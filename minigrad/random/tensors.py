"""Random tensors. Each function takes `generator=`; without one, the default generator.

They give the same numbers as PyTorch on the CPU; kernels.py explains how, and where the last
digit can differ.

>>> from minigrad.random import manual_seed
>>> generator = manual_seed(42)
>>> rand(3)
tensor([0.8823, 0.9150, 0.3829])
>>> randint(0, 10, (5,)), randperm(5)
(tensor([4, 6, 5, 0, 4]), tensor([0, 2, 3, 1, 4]))
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core import dtypes
from minigrad.core.devices import DeviceLike, Layout, MemoryFormat, strided
from minigrad.core.dtypes import DTypeLike
from minigrad.core.shapes import Several, as_int, shape_of
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods import ArrayMethods
from minigrad.methods.arguments import made_into_out, takes_out, takes_tensors
from minigrad.methods.base import broadcast
from minigrad.methods.creation import finish, type_to_make
from minigrad.ops.composites import sampled
from minigrad.random import kernels
from minigrad.random.generator import Generator


@made_into_out
def rand(*shape: Several, size: Sequence[int] | None = None, generator: Generator | None = None,
         dtype: DTypeLike = None, layout: Layout = strided,
         device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A tensor of samples from the uniform distribution on [0, 1).

    >>> rand(2, 3).shape
    minigrad.Size([2, 3])
    """
    z = kernels.uniform(shape_of(shape, size), type_to_make(dtype, device), 0, 1, generator)
    return finish(z, requires_grad)


@made_into_out
def randn(*shape: Several, size: Sequence[int] | None = None, generator: Generator | None = None,
          dtype: DTypeLike = None, layout: Layout = strided,
          device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A tensor of samples from the normal distribution with mean 0 and standard deviation 1.

    >>> minigrad.randn(2, 3).shape
    minigrad.Size([2, 3])
    """
    z = kernels.normals(shape_of(shape, size), type_to_make(dtype, device), 0, 1, generator)
    return finish(z, requires_grad)


@made_into_out
def randint(*bounds_and_size: Any, low: int | None = None, high: int | None = None, size: Any = None,
            generator: Generator | None = None, dtype: DTypeLike = None, layout: Layout = strided,
            device: DeviceLike = None,
            pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """randint(high, size), randint(low, high, size): random integers from low (default 0) up to but not including high.

    >>> randint(1, 2, (3,))
    tensor([1, 1, 1])
    """
    given = list(bounds_and_size)
    if size is None and given and isinstance(given[-1], Sequence):
        size = given.pop()
    if high is None and given:
        high = given.pop()
    if low is None:
        low = given.pop() if given else 0
    if given or size is None or high is None:
        raise TypeError("randint() takes (high, size) or (low, high, size), where size is a tuple.")
    d = type_to_make(dtype, device, dtypes.int64)
    z = kernels.integers(shape_of((size,)), d, as_int(low, "low"), as_int(high, "high"), generator)
    return finish(z, requires_grad)


@made_into_out
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike = None,
    layout: Layout = strided,
    device: DeviceLike = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers 0..n-1 in random order.

    >>> minigrad.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    d = type_to_make(dtype, device, dtypes.int64)
    if d.kind == "b":
        raise NotImplementedError("\"randperm\" not implemented for 'Bool'")
    if dtype is not None:
        dtypes.check_range(n - 1, d)
        most = kernels.largest_exact(d) + 1
        if d.kind == "f" and n > most:
            raise RuntimeError(f"n cannot be greater than {most} for {dtypes.torch_name(d)} type.")
    return finish(kernels.permutation(n, generator).astype(d, copy=False), requires_grad)


def _like(
    x: Tensor,
    kernel: Any,
    dtype: DTypeLike,
    device: DeviceLike,
    requires_grad: bool,
    *settings: Any,
) -> Tensor:
    """A tensor of samples with the shape of x, drawn in the order of its memory, as in PyTorch."""
    d = type_to_make(dtype, device, x.dtype)
    z = kernels.in_memory_order(x.array, lambda shape: kernel(shape, d, *settings))
    return finish(z, requires_grad)


@takes_tensors
def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: DTypeLike = None, layout: Layout = strided,
              device: DeviceLike = None,
              pin_memory: bool = False, requires_grad: bool = False,
              memory_format: MemoryFormat | None = None) -> Tensor:  # fmt: skip
    """Like `rand`, with the shape and dtype of `input`.

    >>> rand_like(minigrad.zeros(2, 3)).shape
    minigrad.Size([2, 3])
    """
    return _like(input, kernels.uniform, dtype, device, requires_grad, 0, 1, generator)


@takes_tensors
def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: DTypeLike = None, layout: Layout = strided,
               device: DeviceLike = None,
               pin_memory: bool = False, requires_grad: bool = False,
               memory_format: MemoryFormat | None = None) -> Tensor:  # fmt: skip
    """Like `randn`, with the shape and dtype of `input`.

    >>> randn_like(minigrad.zeros(2, 3)).shape
    minigrad.Size([2, 3])
    """
    in_rows = kernels.in_rows(input.array)
    return _like(input, kernels.normals, dtype, device, requires_grad, 0, 1, generator, in_rows)


@takes_tensors
def randint_like(input: Tensor, low: int | None = None, high: int | None = None, *,
                 generator: Generator | None = None, dtype: DTypeLike = None,
                 layout: Layout = strided,
                 device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False,
                 memory_format: MemoryFormat | None = None) -> Tensor:  # fmt: skip
    """Like `randint`, with the shape and dtype of `input`.

    >>> randint_like(minigrad.zeros(3), 5, 6)
    tensor([5., 5., 5.])
    """
    low, high = (0, low) if high is None else (low or 0, high)
    if high is None:
        raise TypeError("randint_like() missing 1 required positional argument: 'high'")
    bounds = as_int(low, "low"), as_int(high, "high")
    return _like(input, kernels.integers, dtype, device, requires_grad, *bounds, generator)


@takes_out
def normal(mean: float | Tensor, std: float | Tensor = 1.0, size: Sequence[int] | None = None, *,
           generator: Generator | None = None, dtype: DTypeLike = None, layout: Layout = strided,
           device: DeviceLike = None,
           pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A tensor of samples from the normal distribution. mean and std are numbers (with a size) or tensors.

    >>> normal(0.0, 1.0, size=(2, 3)).shape
    minigrad.Size([2, 3])
    >>> normal(minigrad.tensor([5.0, 6.0]), 0.0)
    tensor([5., 6.])
    """
    tensors = [t for t in (mean, std) if isinstance(t, ArrayMethods)]
    if not tensors and size is None:
        raise TypeError("normal() of two numbers needs a size, like normal(0.0, 1.0, size=(2, 3)).")
    if np.any(np.asarray(getattr(std, "array", std)) < 0):
        which = "all elements of std" if isinstance(std, ArrayMethods) else "std"
        raise RuntimeError(f"normal expects {which} >= 0.0, but found std {std}")
    d = type_to_make(dtype, device, tensors[0].dtype if tensors else None)
    if not tensors:
        return finish(kernels.normals(shape_of((size,)), d, mean, std, generator), requires_grad)
    shape = broadcast("normal", *(tuple(t.shape) for t in tensors))
    z = kernels.normals(shape, d, 0, 1, generator)
    m, s = (np.asarray(getattr(t, "array", t), d) for t in (mean, std))
    drawn = finish(z * s + m, requires_grad)
    form = isinstance(mean, ArrayMethods) + 2 * isinstance(std, ArrayMethods)
    for t in tensors:
        drawn = sampled(t, drawn, f"NormalBackward{form}")
    return drawn


@takes_tensors
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """A tensor of samples from the Poisson distributions with the rates in input.

    >>> poisson(minigrad.tensor([0.0, 0.0]))
    tensor([0., 0.])
    """
    if input.dtype.kind != "f":
        raise NotImplementedError(
            f'"poisson_cpu" not implemented for {dtypes.torch_name(input.dtype)!r}'
        )
    drawn = wrap(kernels.poisson_samples(input.array, generator))
    return sampled(input, drawn, "PoissonBackward0")


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """A tensor of samples from the binomial distributions: how many of `count` trials succeed.

    count, prob   tensors of one floating dtype; they are broadcast

    >>> binomial(minigrad.tensor([2.0, 5.0]), minigrad.tensor(1.0))
    tensor([2., 5.])
    """
    names = [dtypes.torch_name(x.dtype) for x in (count, prob)]
    for what, x, name in zip(("count", "prob"), (count, prob), names, strict=True):
        if x.dtype.kind != "f":
            raise ValueError(
                f"binomial only supports floating-point dtypes for {what}, got: {name}"
            )
    if count.dtype != prob.dtype:
        raise RuntimeError(
            f"Found dtype {names[1]} but expected {names[0]}: count and prob must have one dtype. "
            f"To fix it, write prob.to({count.dtype})."
        )
    shape = broadcast("binomial", count.shape, prob.shape)
    n, p = (np.broadcast_to(t.array, shape) for t in (count, prob))
    drawn = wrap(kernels.binomial_samples(n, p, generator))
    return sampled(prob.expand(n.shape), drawn, "BinomialBackward0")


__all__ = [n for n, v in vars().items() if n[0] != "_" and getattr(v, "__module__", "") == __name__]
