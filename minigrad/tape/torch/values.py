"""Snapshots of PyTorch's tensors.

A small tensor is copied to an array. A large one is summarized on its device, and only its first
entries are fetched. Tensors without numbers (fake, nested, or on the device "meta") have none.
"""

from collections.abc import Callable
from functools import partial

import torch

from minigrad.core.sparse import RowSparse
from minigrad.tape.document import ArrayFacts
from minigrad.tape.snapshot import FIRST, WHOLE, Array, Snapshot, facts_of, thinned

HUGE = 1e30  # the norm of tensors whose sums may overflow in float32


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
            sample = array_of(thinned(tensor)).copy()
            return Snapshot.described(tuple(tensor.shape), _summary(tensor.detach()), sample)
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


def _summary(tensor: torch.Tensor) -> Callable[[], ArrayFacts]:
    """The main facts about a large tensor, computed where it is; they are written down later.

    If the norm is moderate, all entries are finite, and their sum fits into their dtype.
    """
    floating = tensor.is_floating_point() or tensor.is_complex()
    wide = tensor if floating and tensor.dtype.itemsize >= 4 else tensor.double()
    norm = torch.linalg.vector_norm(wide)
    finite = norm.item() < HUGE
    nan, inf = (0, 0) if finite else (int(tensor.isnan().sum()), int(tensor.isinf().sum()))
    numbers = tensor if finite else tensor[tensor.isfinite()]
    first = array_of(tensor.reshape(-1)[:FIRST]).copy()
    ends: tuple[torch.Tensor | None, ...] = (None, None, None, None)
    if numbers.numel() and not tensor.is_complex():
        total = wide.sum() if finite else numbers.sum(dtype=torch.float64)
        length = norm if finite else numbers.double().norm()
        ends = (*torch.aminmax(numbers), total / numbers.numel(), length)
    least, most, mean, root = (None if e is None else e.item() for e in ends)
    counts, kind = (tensor.numel() - nan - inf, nan, inf), dtype_name(tensor)
    return partial(facts_of, tensor.shape, kind, (least, most, mean, root), counts, first.tolist())
