"""Random numbers: the default generator, with PyTorch's names.

After `manual_seed(0)`, a program gets the same random numbers in every run.

    generator.py   the generator: a pseudorandom sequence of 32-bit words
    kernels.py     turns these words into arrays of samples from distributions
    tensors.py     rand, randn, randint, ...: random tensors

>>> import minigrad
>>> generator = manual_seed(42)
>>> minigrad.rand(3)
tensor([0.8823, 0.9150, 0.3829])
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.core import modes
from minigrad.core.memory import Tensor
from minigrad.random.generator import Generator, default_generator


def manual_seed(seed: int) -> Generator:
    """Restart the default generator from this seed, and return the generator.

    >>> _ = manual_seed(7)
    >>> x = minigrad.rand(2)
    >>> _ = manual_seed(7)
    >>> (minigrad.rand(2) == x).all()
    tensor(True)
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Restart the default generator from a random seed, and return the seed.

    >>> seed() == initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator was started from.

    >>> _ = manual_seed(7)
    >>> initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as a tensor of bytes.

    >>> state = get_rng_state()
    >>> x = minigrad.rand(2)
    >>> set_rng_state(state)
    >>> (minigrad.rand(2) == x).all()
    tensor(True)
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the default generator to a state from get_rng_state.

    >>> state = get_rng_state()
    >>> x = minigrad.rand(2)
    >>> set_rng_state(state)
    >>> (minigrad.rand(2) == x).all()
    tensor(True)
    """
    modes.tell("reseeds")
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "fork_rng",
             _devices_kw: str = "devices", device_type: str = "cpu") -> Iterator[None]:  # fmt: skip
    """A `with` block that leaves the state of the default generator unchanged.

    >>> import minigrad
    >>> generator = manual_seed(42)
    >>> with fork_rng():
    ...     x = minigrad.rand(100)
    >>> minigrad.rand(3)
    tensor([0.8823, 0.9150, 0.3829])
    """
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
