"""Snapshots of PyTorch's tensors.

A small tensor is copied to an array. A large one is summarized on its device, and only its first
entries are copied. Tensors without values (fake, nested, or on the device "meta") have no snapshot.
"""

from collections.abc import Callable
from typing import Any

import torch

from minigrad.core.sparse import RowSparse
from minigrad.tape.document import ArrayFacts
from minigrad.tape.snapshot import FIRST, WHOLE, Array, Snapshot, summary, thinned


def snapshot(tensor: torch.Tensor | None) -> Snapshot | None:
    """A snapshot of a tensor; None for None, and for a tensor without values."""
    if tensor is None:
        return None
    try:
        if tensor.layout is torch.sparse_coo and tensor.sparse_dim() == 1:
            index, rows = array_of(tensor._indices()[0]), array_of(tensor._values())
            return Snapshot(RowSparse(index, rows, tuple(tensor.shape)))
        here = tensor.device.type == "cpu" and tensor.dtype in (torch.float32, torch.float64)
        if here or tensor.numel() <= WHOLE:  # for tensors on the CPU, NumPy is faster
            return Snapshot(array_of(tensor))
        with torch.no_grad():
            sample = array_of(thinned(tensor)).copy()
            return Snapshot.described(tuple(tensor.shape), _summary(tensor), sample)
    except (RuntimeError, TypeError):  # NotImplementedError is a RuntimeError
        return None


def array_of(tensor: torch.Tensor) -> Array:
    """The values of a tensor; as float32 if NumPy does not have its dtype, and dense."""
    tensor = tensor.detach()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_floating_point() and tensor.dtype.itemsize < 4 and tensor.dtype != torch.float16:
        tensor = tensor.float()
    return tensor.numpy() if tensor.device.type == "cpu" else tensor.cpu().numpy()


def version_of(tensor: torch.Tensor) -> int:
    """How often a tensor was written to; 0 for an inference tensor, which does not count."""
    return 0 if tensor.is_inference() else tensor._version


def memory_of(tensor: torch.Tensor | None) -> tuple[Any, ...] | None:
    """A key that changes when a tensor is written to or replaced; None for a tensor without dense memory."""
    if tensor is None or tensor.layout is not torch.strided or tensor.device.type == "meta":
        return None
    return tensor.data_ptr(), version_of(tensor), tensor.shape, tensor.stride()


def _summary(tensor: torch.Tensor) -> Callable[[], ArrayFacts]:
    """Summarize a large tensor on its device; returns a function that gives the facts later."""
    flat = tensor.detach().reshape(-1)
    lengths = flat.abs() if tensor.is_complex() else flat
    if not lengths.is_floating_point() or lengths.dtype.itemsize < 4:
        lengths = lengths.double()
    first = array_of(flat[:FIRST]).tolist()
    return summary(tensor.shape, tensor.dtype, lengths, torch.Tensor.double, first)
