"""The names of torch.cuda. is_available() is False, and functions that need no GPU have no effect."""

from collections.abc import Iterable
from functools import partial as _partial

from minigrad.compat.modules import attribute as _attribute
from minigrad.core.tensor import Tensor

__getattr__ = _partial(_attribute, __name__)
_initialized = False  # read by published layers that restore the state of generators
__path__: list[str] = []  # `import minigrad.cuda.amp` finds compat/mixed_precision.py


def is_available() -> bool:
    """False: minigrad computes on the CPU only."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no GPU."""
    return False


def device_count() -> int:
    """0: there is no GPU."""
    return 0


def manual_seed_all(seed: int) -> None:
    """No effect: there is no GPU with a generator."""


manual_seed = manual_seed_all


def get_rng_state_all() -> list[Tensor]:
    """An empty list: there is no GPU with a generator."""
    return []


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """No effect: there is no GPU with a generator."""


class OutOfMemoryError(RuntimeError):
    """The memory of a GPU is full. Never raised; programs catch it."""


def is_initialized() -> bool:
    """False: there is no GPU to initialize."""
    return False


def empty_cache() -> None:
    """No effect: there is no memory of a GPU to free."""


def memory_allocated(device: object = None) -> int:
    """0: there is no memory of a GPU."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
