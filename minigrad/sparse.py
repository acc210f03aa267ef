"""The names of torch.sparse. Matrices are stored dense.

Programs for graphs give a sparse matrix as the indices and values of its entries. Here it becomes a
dense matrix with the same entries. Products and gradients are the same, but no memory is saved, and
`is_sparse` is False; `indices()` and `values()` are those of the entries that are not zero.
(Sparse gradients of embeddings are in core/sparse.py.)

>>> A = sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
>>> mm(A, minigrad.tensor([[1.0], [10.0]]))
tensor([[20.],
        [ 3.]])
"""

import sys
from typing import Any

import numpy as np

from minigrad.core.devices import DeviceLike, check_device
from minigrad.core.dtypes import DTypeLike
from minigrad.core.limits import finfo
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.creation import tensor
from minigrad.methods.methods_as_functions import of_method, sum  # noqa: A004 (PyTorch's name)

__all__ = ["FloatTensor", "addmm", "mm", "softmax", "sparse_coo_tensor", "sum"]


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A dense tensor with the given values at the given indices, and zeros elsewhere.

    indices   (axes, n)    the index of each value: one row for each axis
    values    (n, ...)     the values; those with the same index are added
    size                   the shape; by default, the smallest that holds all indices

    >>> sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [1, 2, 3])
    tensor([[0, 0, 1],
            [5, 0, 0]])
    """
    check_device(device)
    places = np.asarray(getattr(indices, "array", indices), dtype=np.int64)
    entries = values if isinstance(values, Tensor) else tensor(values)
    entries = entries if dtype is None else entries.to(dtype)
    if places.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if places.shape[1] != entries.shape[0]:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{places.shape[1]}, nnz from values: {entries.shape[0]}"
        )
    if size is None:
        size = (*(int(k) + 1 for k in places.max(1, initial=-1)), *entries.shape[1:])
    bounds = np.array(size[: len(places)])[:, None]
    if (places < 0).any() or (places >= bounds).any():
        raise RuntimeError(f"size is inconsistent with indices: they do not fit into {list(size)}.")
    zeros = entries.detach().new_zeros(size)
    z = zeros.index_put(tuple(wrap(row) for row in places), entries, accumulate=True)
    return z.requires_grad_() if requires_grad else z


def FloatTensor(indices: Any, values: Any, size: Any = None) -> Tensor:  # PyTorch's name
    """An older name of sparse_coo_tensor.

    >>> FloatTensor([[0, 1]], [2.0, 3.0])
    tensor([2., 3.])
    """
    return sparse_coo_tensor(indices, values, size)


def softmax(input: Tensor, dim: int, *, dtype: DTypeLike = None) -> Tensor:
    """The softmax of the entries that are not zero; the others stay zero.

    Graph attention takes it over the neighbors of each node.

    >>> softmax(minigrad.tensor([[0.0, 2.0, 2.0], [5.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), 1)
    tensor([[0.0000, 0.5000, 0.5000],
            [1.0000, 0.0000, 0.0000],
            [0.0000, 0.0000, 0.0000]])
    """
    x = input.to(dtype)
    absent = x == 0
    # Not -inf: the gradient of a row of zeros would be NaN.
    return x.masked_fill(absent, finfo(x.dtype).min).softmax(dim).masked_fill(absent, 0)


mm = of_method(__name__, "mm", "mat1, mat2")
addmm = of_method(__name__, "addmm", "mat, mat1, mat2", beta=1, alpha=1)
# Programs write torch.sparse.torch.eye(10), as PyTorch's module imports torch.
torch = sys.modules["minigrad"]
