"""Neural networks: functions now; modules are built on them."""

from minigrad.nn import functional

__all__ = ["functional"]
