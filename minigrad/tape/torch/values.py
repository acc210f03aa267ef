"""Snapshots of PyTorch's tensors.

A small tensor is copied to an array. A large one is summarized on its device, and only its first
entries are fetched. Tensors without numbers (fake, nested, or on the device "meta") have none.
"""

from __future__ import annotations

import torch

from minigrad.core.sparse import RowSparse
from minigrad.tape.document import ArrayFacts
from minigrad.tape.snapshot import FIRST, WHOLE, Array, Snapshot, json_number


def snapshot(tensor: torch.Tensor | None) -> Snapshot | None:
    """A snapshot of a tensor; None without one, and for a tensor that has no numbers."""
    if tensor is None:
        return None
    try:
        with torch.no_grad():
            if tensor.layout is torch.sparse_coo:
                if tensor.sparse_dim() == 1:
                    index, rows = array_of(tensor._indices()[0]), array_of(tensor._values())
                    return Snapshot(RowSparse(index, rows, tuple(tensor.shape)))
                tensor = tensor.to_dense()
            if tensor.numel() <= WHOLE:
                return Snapshot(array_of(tensor))
            return Snapshot.described(_summary(tensor.detach()))
    except (RuntimeError, TypeError):  # NotImplementedError is a RuntimeError
        return None


def array_of(tensor: torch.Tensor) -> Array:
    """The numbers of a tensor; those of types that NumPy does not have, as float32."""
    tensor = tensor.detach()
    if tensor.is_floating_point() and tensor.dtype.itemsize < 4 and tensor.dtype != torch.float16:
        tensor = tensor.float()
    return tensor.numpy() if tensor.device.type == "cpu" else tensor.cpu().numpy()


def dtype_name(tensor: torch.Tensor) -> str:
    """ "float32"."""
    return str(tensor.dtype).removeprefix("torch.")


def version_of(tensor: torch.Tensor) -> int:
    """How often a tensor was written to; 0 for an inference tensor, which does not count."""
    return 0 if tensor.is_inference() else tensor._version


def _summary(tensor: torch.Tensor) -> ArrayFacts:
    """The main facts about a large tensor, computed where it is."""
    floating = tensor.is_floating_point() or tensor.is_complex()
    nan = int(tensor.isnan().sum()) if floating else 0
    inf = int(tensor.isinf().sum()) if floating else 0
    numbers = tensor[tensor.isfinite()] if nan or inf else tensor
    facts: ArrayFacts = {
        "shape": list(tensor.shape), "dtype": dtype_name(tensor), "size": tensor.numel(),
        "min": None, "max": None, "mean": None, "norm": None, "nan": nan, "inf": inf,
        "first": [json_number(v) for v in array_of(tensor.reshape(-1)[:FIRST]).tolist()],
    }  # fmt: skip
    if numbers.numel() and not tensor.is_complex():
        facts["min"] = json_number(numbers.min().item())
        facts["max"] = json_number(numbers.max().item())
        facts["mean"] = json_number(numbers.mean(dtype=torch.float64).item())
        facts["norm"] = json_number(float(numbers.to(torch.float64).norm()))
    return facts
