"""Shared memory: tensors that several processes can read and write.

    x.share_memory_()      moves x's values to memory that can be passed to other processes
    x.is_shared()

If such a tensor is among the arguments of a new process, the process gets its own tensor on
the same memory: what one process writes, all of them see. This works for forked and
spawned processes, and for tensors sent through a multiprocessing queue. The tensor's
version counter and its `.grad` are not shared: each process differentiates on its own.

The memory is an anonymous file, mapped into each process (`Region`). The system frees
it when the last process that uses it ends, however it ends. So nothing needs to be cleaned
up, even if a worker is killed. A process that sends a tensor through a queue must stay alive
until the tensor has arrived, as with PyTorch. There is no locking: if two processes write to
the same value at once, one of the writes may be lost. Hogwild relies on this being rare.

Sources: mmap(2); Niu, Recht, Re, Wright, Hogwild! (2011), for training without locks.
"""

import ctypes
import mmap
import os
import threading
import weakref
from multiprocessing.heap import Arena
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from minigrad.core.dtypes import DTypeLike
from minigrad.core.shapes import Array
from minigrad.core.sparse import RowSparse


class Region:
    """A piece of memory that can be passed to another process.

    It is the base of the arrays in it, so it lives as long as they do.
    """

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        memory: mmap.mmap = arena.buffer
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self.__array_interface__ = {
            "shape": (len(memory),),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 3,
        }

    def array(self, dtype: DTypeLike, shape: Any, offset: int = 0, strides: Any = None) -> Array:
        """An array in this memory."""
        return np.ndarray(shape, dtype, np.asarray(self), offset, strides)

    def __reduce__(self) -> tuple[Any, ...]:
        return Region, (self.arena,)  # multiprocessing knows how to pass an Arena


class Allotment:
    """Allocates small tensors one after the other in a shared region.

    A region needs two open files, and a process may have only about a thousand. So the many
    small tensors of a model share one region.
    """

    size = 1 << 20
    region: "weakref.ref[Region] | None" = None
    taken = 0
    process = 0

    def room(self, n: int) -> tuple[Region, int]:
        """Room for n bytes, all zero: a region, and the offset in it."""
        if n > self.size // 4:
            return Region(Arena(n)), 0
        region = None if self.region is None else self.region()
        # After a fork, parent and child must not both allocate from the region that they now share.
        if region is None or self.process != os.getpid() or self.taken + n > self.size:
            region = Region(Arena(self.size))
            self.region, self.taken, self.process = weakref.ref(region), 0, os.getpid()
        start = self.taken
        self.taken += (n + 63) // 64 * 64
        return region, start


_allotment = Allotment()
_lock = threading.Lock()


def region_of(array: Any) -> Region | None:
    """The shared memory that contains an array, or None."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, Region) else None


def is_shared(x: Any) -> bool:
    """Is the tensor x in shared memory?"""
    return region_of(x.array) is not None


def share(x: Any) -> None:
    """Move a tensor's values to shared memory. The tensor stays the same object.

    Raises RuntimeError for a view (its base owns the memory), and for a sparse tensor.
    """
    if is_shared(x):
        return
    if isinstance(x.array, RowSparse):
        raise RuntimeError("share_memory_: a sparse gradient cannot be shared, only dense tensors.")
    if x._is_view():
        raise RuntimeError(
            "share_memory_: this tensor is a view, and its memory belongs to its base. To fix it, call "
            "share_memory_() on the base before taking the view, or on a clone()."
        )
    values = x.memory()
    with _lock:
        region, start = _allotment.room(values.nbytes)
    shared = region.array(values.dtype, values.shape, start)
    shared[...] = values
    x._replace_array(shared)


def _reduce_array(array: Any) -> tuple[Any, ...]:
    """Pickle an array for multiprocessing: by handle if its memory is shared, otherwise by value."""
    region = region_of(array)
    if region is None or type(array) is not np.ndarray:
        return array.__reduce__()
    offset = array.__array_interface__["data"][0] - region.address
    return region.array, (array.dtype, array.shape, offset, array.strides)


# A tensor is pickled as its array and its settings (Tensor.__reduce_ex__), so we only need to
# register arrays. This module is imported, here and in the child, before any tensor is shared.
ForkingPickler.register(np.ndarray, _reduce_array)
