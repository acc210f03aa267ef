"""Shared memory: tensors that several processes see and write to.

    x.share_memory_()      moves x's values to memory that other processes can be given
    x.is_shared()

A process that is started with such a tensor among its arguments gets a tensor of its own in
the same memory: what one writes, all read. This holds for processes that are forked and for
those that are spawned, and for tensors sent through a multiprocessing queue. The tensor's
version counter and its `.grad` are not shared: each process differentiates for itself.

The memory is a file without a name, mapped into each process (`Region`). The system frees
it when the last process lets go of it, however that process ends; there is nothing to be
cleaned up, and so nothing that a killed worker could leave behind. A process that sends a
tensor through a queue must live until it has arrived, as with PyTorch. Nobody waits for anybody:
two processes that write to the same value at once may lose one of the writes, which is what
Hogwild counts on being rare.

Sources: mmap(2); Niu, Recht, Re, Wright, Hogwild! (2011), for learning without locks.
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

from minigrad.core.sparse import RowSparse


class Region:
    """A piece of memory that can be handed to another process.

    Arrays in it have it as their base, so it lives as long as they do.
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

    def array(self, dtype: Any, shape: Any, offset: int = 0, strides: Any = None) -> Any:
        """An array in this memory."""
        return np.ndarray(shape, dtype, np.asarray(self), offset, strides)

    def __reduce__(self) -> Any:
        return Region, (self.arena,)  # multiprocessing knows how to hand over an Arena


class Allotment:
    """The region from which small tensors get their room, one after the other.

    A region costs two open files, of which a process may have about a thousand; so a model's
    many small tensors share one.
    """

    size = 1 << 20
    region: "weakref.ref[Region] | None" = None
    taken = 0
    process = 0

    def room(self, n: int) -> tuple[Region, int]:
        """Room for n bytes, all zero: a region, and where in it."""
        if n > self.size // 4:
            return Region(Arena(n)), 0
        region = None if self.region is None else self.region()
        # After a fork, parent and child must not both go on in what they now share.
        if region is None or self.process != os.getpid() or self.taken + n > self.size:
            region = Region(Arena(self.size))
            self.region, self.taken, self.process = weakref.ref(region), 0, os.getpid()
        start = self.taken
        self.taken += (n + 63) // 64 * 64
        return region, start


_allotment = Allotment()
_lock = threading.Lock()


def region_of(array: Any) -> Region | None:
    """The shared memory that an array lies in, if it does."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, Region) else None


def is_shared(x: Any) -> bool:
    """Does the tensor x lie in shared memory?"""
    return region_of(x.array) is not None


def share(x: Any) -> None:
    """Move a tensor's values to shared memory. The tensor stays the same object.

    Raises RuntimeError for a view of another tensor (whose memory it is), and for a sparse one.
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


def _handed_over(array: Any) -> Any:
    """How multiprocessing pickles an array: shared memory by handle, anything else by value."""
    region = region_of(array)
    if region is None or type(array) is not np.ndarray:
        return array.__reduce__()
    offset = array.__array_interface__["data"][0] - region.address
    return _received, (region, array.dtype, array.shape, offset, array.strides)


def _received(region: Region, dtype: Any, shape: Any, offset: int, strides: Any) -> Any:
    return region.array(dtype, shape, offset, strides)


# A tensor is pickled as its array and its settings (Tensor.__reduce_ex__), so it is enough to
# say how arrays travel. This module is imported, here and in the child, before any are shared.
ForkingPickler.register(np.ndarray, _handed_over)
