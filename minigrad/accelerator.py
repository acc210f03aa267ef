"""The names of torch.accelerator. minigrad has no accelerator: it computes on the CPU.

>>> import minigrad
>>> minigrad.accelerator.current_accelerator() if minigrad.accelerator.is_available() else "cpu"
'cpu'
"""

from minigrad.cuda import device_count, empty_cache, is_available

__all__ = ["current_accelerator", "device_count", "empty_cache", "is_available", "synchronize"]


def current_accelerator(check_available: bool = False) -> None:
    """None: minigrad computes on the CPU only."""


def synchronize(device: object = None) -> None:
    """No effect: on the CPU, nothing runs in the background."""
