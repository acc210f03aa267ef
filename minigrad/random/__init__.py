"""The default generator of random numbers, by PyTorch's names.

`manual_seed(0)` starts it anew: after it, a program draws the same numbers each time it is run.

    generator.py   a generator: a long fixed sequence of words that look random
    kernels.py     from words to numbers of a distribution, as arrays
    tensors.py     rand, randn, randint, ...: tensors filled at random

>>> import minigrad
>>> generator = manual_seed(42)
>>> minigrad.rand(3)
tensor([0.8823, 0.9150, 0.3829])
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.random.generator import Generator, default_generator


def manual_seed(seed: int) -> Generator:
    """Start the default generator anew, from this seed; returns it.

    >>> _ = manual_seed(7)
    >>> x = minigrad.rand(2)
    >>> _ = manual_seed(7)
    >>> (minigrad.rand(2) == x).all()
    tensor(True)
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the default generator anew, from a seed that nobody chose; returns it.

    >>> seed() == initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed from which the default generator was started.

    >>> _ = manual_seed(7)
    >>> initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the default generator, as a tensor of bytes.

    >>> state = get_rng_state()
    >>> x = minigrad.rand(2)
    >>> set_rng_state(state)
    >>> (minigrad.rand(2) == x).all()
    tensor(True)
    """
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Bring the default generator back to a state that get_rng_state gave.

    >>> state = get_rng_state()
    >>> x = minigrad.rand(2)
    >>> set_rng_state(state)
    >>> (minigrad.rand(2) == x).all()
    tensor(True)
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "fork_rng",
             _devices_kw: str = "devices", device_type: str = "cpu") -> Iterator[None]:  # fmt: skip
    """A block whose draws are forgotten: after it, the default generator goes on as if without it.

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
