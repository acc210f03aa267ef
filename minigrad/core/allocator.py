"""Tunes the C library's allocator, once, before the first forward or backward pass.

A tape keeps many arrays alive and frees them all at once. glibc's malloc then returns the
memory to the system, and the next step has to request it again, page by page. For arrays of
64 KiB to 1 MiB this costs up to ten times as much as the arithmetic.

glibc adapts when a large block is freed: from then on it keeps blocks up to that size. So
we allocate one array of nearly 32 MiB and free it without touching it, which uses no
memory. With other C libraries this has no effect.

To switch it off, set MINIGRAD_ALLOCATOR=0 in the environment. Source: mallopt(3), the
dynamic mmap threshold.
"""

import os

import numpy as np

_said = False


def keep_freed_memory() -> None:
    """Make the allocator keep freed memory for the next step. Only the first call has an effect."""
    global _said
    if not _said:
        _said = True
        if os.environ.get("MINIGRAD_ALLOCATOR", "1") != "0":
            np.empty((32 << 20) - (64 << 10), np.uint8)
