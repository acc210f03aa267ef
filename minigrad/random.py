"""Random tensors. Each function takes `generator=`; without one, the default generator.

`manual_seed(0)` starts the default generator anew: after it, a program draws the same
numbers each time it is run.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad import dtypes
from minigrad import generator as draw
from minigrad.creation import finish, shape_of
from minigrad.devices import check_device
from minigrad.generator import Generator, default_generator
from minigrad.tensor import Tensor


def manual_seed(seed: int) -> Generator:
    """Start the default generator anew, from this seed."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default generator anew, from a seed that nobody chose; returns it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed from which the default generator was started."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as a tensor of bytes."""
    state: Tensor = default_generator.get_state()
    return state


def set_rng_state(new_state: Tensor) -> None:
    """Bring the default generator back to a state that get_rng_state gave."""
    default_generator.set_state(new_state)


def _float(dtype: Any) -> dtypes.Dtype:
    return dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)


def rand(*shape: Any, size: Any = None, generator: Generator | None = None, dtype: Any = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Numbers between 0 and 1, all equally likely.

    >>> rand(2, 3).shape
    minigrad.Size([2, 3])
    """
    check_device(device)
    return finish(
        draw.uniform(shape_of(shape, size), _float(dtype), 0, 1, generator), requires_grad
    )


def randn(*shape: Any, size: Any = None, generator: Generator | None = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Numbers from the bell curve, of mean 0 and standard deviation 1."""
    check_device(device)
    return finish(
        draw.standard_normal(shape_of(shape, size), _float(dtype), generator), requires_grad
    )


def randint(*bounds_and_size: Any, low: int | None = None, high: int | None = None, size: Any = None,
            generator: Generator | None = None, dtype: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """randint(high, size), randint(low, high, size): whole numbers from low (0) up to, but without, high.

    >>> randint(1, 2, (3,))
    tensor([1, 1, 1])
    """
    check_device(device)
    given = list(bounds_and_size)
    if size is None and given and isinstance(given[-1], Sequence):
        size = given.pop()
    if high is None and given:
        high = given.pop()
    if low is None:
        low = given.pop() if given else 0
    if given or size is None or high is None:
        raise TypeError("randint() takes (high, size) or (low, high, size), where size is a tuple.")
    d = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    return finish(
        draw.integers(shape_of((size,)), d, int(low), int(high), generator), requires_grad
    )


def randperm(
    n: int, *, generator: Generator | None = None, dtype: Any = None, device: Any = None
) -> Tensor:
    """The numbers 0..n-1, shuffled."""
    check_device(device)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    return Tensor(
        draw.source(generator)
        .permutation(n)
        .astype(np.int64 if dtype is None else dtypes.as_dtype(dtype))
    )


def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
              requires_grad: bool = False) -> Tensor:  # fmt: skip
    """As `rand`, with the shape and type of `input`."""
    return rand(input.shape, generator=generator, dtype=dtype or input.dtype,
                device=device, requires_grad=requires_grad)  # fmt: skip


def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
               requires_grad: bool = False) -> Tensor:  # fmt: skip
    """As `randn`, with the shape and type of `input`."""
    return randn(input.shape, generator=generator, dtype=dtype or input.dtype,
                device=device, requires_grad=requires_grad)  # fmt: skip


def randint_like(input: Tensor, low: int, high: int | None = None, *, generator: Generator | None = None,
                 dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """As `randint`, with the shape and type of `input`."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape), generator=generator, dtype=dtype or input.dtype, device=device,
                   requires_grad=requires_grad)  # fmt: skip


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, dtype: Any = None,
           device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Numbers from the bell curve; mean and std are numbers (with a size) or tensors."""
    check_device(device)
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor) and size is None:
        raise TypeError("normal() of two numbers needs a size, like normal(0.0, 1.0, size=(2, 3)).")
    if np.any(np.asarray(getattr(std, "array", std)) < 0):
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    tensors = [t.array for t in (mean, std) if isinstance(t, Tensor)]
    d = tensors[0].dtype if tensors else _float(dtype)
    shape = np.broadcast_shapes(*(t.shape for t in tensors)) if tensors else shape_of((size,))
    m, s = (np.asarray(getattr(t, "array", t), d) for t in (mean, std))
    return finish(draw.standard_normal(shape, d, generator) * s + m, requires_grad)


def bernoulli(input: Tensor, p: Any = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that stands in input (or is p), else 0."""
    if input.dtype.kind != "f" and p is None:
        raise NotImplementedError(
            f'"bernoulli_tensor_cpu_p_" not implemented for {str(input.dtype)!r}'
        )
    chances = input.array if p is None else p
    return Tensor(draw.coins(chances, input.shape, input.dtype, generator))


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Draw category numbers, each as likely as its weight says.

    input        (k,) or (n, k)   weights, not negative; they need not sum to 1
    returns      (num_samples,) or (n, num_samples), of int64

    Without replacement no category is drawn twice: a waiting time is drawn for each, shorter
    the greater its weight, and the first to arrive are taken.

    Source: Efraimidis and Spirakis, Weighted random sampling with a reservoir (2006).
    """
    w = np.asarray(input.array, np.float64)
    if w.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if input.dtype.kind != "f":
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: " + str(input.dtype)
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > w.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if not np.isfinite(w).all() or (w < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (w.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    r = draw.source(generator)
    if not replacement:
        if ((w > 0).sum(-1) < num_samples).any():
            raise RuntimeError(
                "invalid multinomial distribution (with replacement=False, not enough non-negative category to sample)"
            )
        wait = r.exponential(size=w.shape) / np.where(w > 0, w, 1)
        return Tensor(np.argsort(np.where(w > 0, wait, np.inf), axis=-1)[..., :num_samples])
    steps = np.cumsum(w, -1)
    at = r.random((*w.shape[:-1], num_samples)) * steps[..., -1:]
    if w.ndim == 1:
        return Tensor(np.searchsorted(steps, at, side="right"))
    return Tensor(
        np.stack([np.searchsorted(row, a, side="right") for row, a in zip(steps, at, strict=True)])
    )
