"""There is no GPU here; programs that ask are told so and go on."""

from functools import partial as _partial

from minigrad.compat.modules import attribute as _attribute

__getattr__ = _partial(_attribute, __name__)
__path__: list[str] = []  # `import minigrad.cuda.amp` finds compat/mixed_precision.py


def is_available() -> bool:
    """False: minigrad computes on the CPU only."""
    return False


def device_count() -> int:
    """0, for the same reason."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed."""


def is_initialized() -> bool:
    """False, as there is nothing to initialize."""
    return False


def empty_cache() -> None:
    """Nothing to free."""


def memory_allocated(device: object = None) -> int:
    """0: no memory of a GPU is in use."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
