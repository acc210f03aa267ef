"""Chance: a generator of random numbers, and what can be drawn from it, as arrays.

A generator is a long fixed sequence of numbers that look random; the seed says where it
starts, so the same seed gives the same numbers. It is NumPy's PCG64 (O'Neill, 2014); the
sequence is not PyTorch's.
"""

import os
from typing import Any

import numpy as np

from minigrad.devices import CPU, check_device
from minigrad.memory import make

MASK = 2**64 - 1


class Generator:
    """A source of random numbers with a state of its own.

    >>> g = Generator().manual_seed(0)
    >>> g.initial_seed()
    0
    """

    def __init__(self, device: Any = "cpu") -> None:
        check_device(device)
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> "Generator":
        """Start anew, from this seed; returns the generator."""
        self._seed = int(seed)
        self._numpy: Any = None
        return self

    def seed(self) -> int:
        """Start anew, from a seed that nobody chose; returns it."""
        self.manual_seed(int.from_bytes(os.urandom(7), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed from which this generator was started."""
        return self._seed

    def get_state(self) -> Any:
        """All that decides what comes next, as a tensor of bytes."""
        state = self.numpy.bit_generator.state
        numbers = (
            state["state"]["state"],
            state["state"]["inc"],
            state["has_uint32"],
            state["uinteger"],
            self._seed & MASK,
        )
        return make.wrap(
            np.frombuffer(b"".join(n.to_bytes(16, "little") for n in numbers), np.uint8).copy()
        )

    def set_state(self, new_state: Any) -> None:
        """Go back to a state that get_state gave."""
        data = getattr(new_state, "array", new_state)
        if getattr(data, "dtype", None) != np.uint8 or data.shape != (80,):
            raise TypeError(
                "RNG state must be a torch.ByteTensor: the uint8 tensor that get_state() gave."
            )
        state, inc, has, left, seed = (
            int.from_bytes(data[i : i + 16].tobytes(), "little") for i in range(0, 80, 16)
        )
        self._seed = seed
        self.numpy.bit_generator.state = {
            "bit_generator": "PCG64", "state": {"state": state, "inc": inc}, "has_uint32": has, "uinteger": left,
        }  # fmt: skip

    @property
    def device(self) -> Any:
        return CPU

    @property
    def numpy(self) -> Any:
        """NumPy's generator, which does the work; made when first asked for."""
        if self._numpy is None:
            self._numpy = np.random.Generator(np.random.PCG64(self._seed & MASK))
        return self._numpy

    def __repr__(self) -> str:
        return f"<minigrad.Generator, seed {self._seed}>"


default_generator = Generator()
default_generator.seed()


def source(generator: Generator | None) -> Any:
    """NumPy's generator behind this one, or behind the default one."""
    if generator is None:
        return default_generator.numpy
    if not isinstance(generator, Generator):
        raise TypeError(f"generator must be a minigrad.Generator, not {type(generator).__name__}.")
    return generator.numpy


def uniform(shape: Any, dtype: Any, low: Any, high: Any, generator: Generator | None) -> Any:
    """Numbers from low up to, but without, high, all equally likely."""
    if dtype.kind != "f":
        raise NotImplementedError(
            f'"uniform" not implemented for {str(dtype)!r}: it gives real numbers.'
        )
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}"
        )
    wide = np.float64 if dtype == np.float64 else np.float32
    z = source(generator).random(shape, wide)
    return np.asarray(z if (low, high) == (0, 1) else z * wide(high - low) + wide(low)).astype(
        dtype, copy=False
    )


def standard_normal(shape: Any, dtype: Any, generator: Generator | None) -> Any:
    """Numbers of mean 0 and standard deviation 1, from the bell curve."""
    if dtype.kind != "f":
        raise NotImplementedError(
            f'"normal_kernel_cpu" not implemented for {str(dtype)!r}: it gives real numbers.'
        )
    wide = np.float64 if dtype == np.float64 else np.float32
    return np.asarray(source(generator).standard_normal(shape, wide)).astype(dtype, copy=False)


def integers(shape: Any, dtype: Any, low: int, high: int, generator: Generator | None) -> Any:
    """Whole numbers from low up to, but without, high."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    return np.asarray(source(generator).integers(low, high, shape)).astype(dtype, copy=False)


def coins(p: Any, shape: Any, dtype: Any, generator: Generator | None) -> Any:
    """1 with probability p, else 0. p is a number or an array of the shape."""
    if not (np.all(p >= 0) and np.all(p <= 1)):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true: a probability is between 0 and 1."
        )
    return np.asarray(source(generator).random(shape) < p).astype(dtype)


def exponential(shape: Any, dtype: Any, rate: Any, generator: Generator | None) -> Any:
    """Waiting times for what happens `rate` times in a unit of time."""
    if rate <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate}")
    return np.asarray(source(generator).exponential(1 / rate, shape)).astype(dtype, copy=False)
