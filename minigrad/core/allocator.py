"""A word to the C library's allocator, said once, before the first pass of either mode.

A tape keeps many arrays alive and frees them all at once. glibc's malloc then hands that
memory back to the system, and the next step has to fetch it again, page by page: for
arrays of 64 KiB to 1 MiB this costs up to ten times what the arithmetic does.

glibc changes its mind once it has seen a large block freed: from then on it keeps blocks
up to that size. So one array of nearly 32 MiB is made and freed, without ever being
touched; it takes no memory. Elsewhere this does nothing, good or bad.

Switch it off with MINIGRAD_ALLOCATOR=0 in the environment. Source: mallopt(3), the
dynamic mmap threshold.
"""

import os

import numpy as np

_said = False


def keep_freed_memory() -> None:
    """Let the allocator keep what is freed, for the next step. Only the first call does anything."""
    global _said
    if not _said:
        _said = True
        if os.environ.get("MINIGRAD_ALLOCATOR", "1") != "0":
            np.empty((32 << 20) - (64 << 10), np.uint8)
