"""Linear maps and embeddings: linear, bilinear, embedding, one_hot.

An embedding is the linear map of a one-hot vector, computed by looking up a row instead of
multiplying by zeros.
"""

import math

import numpy as np

from minigrad import ops
from minigrad.core.errors import ShapeError
from minigrad.core.modes import no_grad, seen
from minigrad.core.shapes import Array, Shape
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods.base import Values
from minigrad.methods.indexing import beyond, indices_of


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias

    input    (..., n)   one example per row
    weight   (m, n)     or (n,) for a single output without an axis
    bias     (m,)       or None
    returns  (..., m)
    """
    if input.array.ndim == 2 and weight.array.ndim == 2:
        try:
            if bias is None:
                return ops.mm.apply(input, weight.t())
            return ops.addmm.apply(bias, input, weight.t())
        except ShapeError as error:
            raise _wrong_features(input.shape, weight.shape, error) from None
    if weight.ndim == 1:
        if bias is not None and (input.ndim == 2 or bias.ndim == 1):
            raise RuntimeError(
                "mat2 must be a matrix, got 1-D tensor: the weight has one axis. To fix it, write  "
                "input @ weight + bias."
            )
        z = input @ weight
        return z if bias is None else z + bias
    if input.ndim == 0:
        raise RuntimeError(
            "both arguments to linear need to be at least 1D, but they are 0D and 2D"
        )
    if weight.ndim != 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    apart = bias is not None and (bias.ndim > 1 and input.ndim > 2 or not input.is_contiguous())
    if bias is not None and apart:  # PyTorch adds the bias separately here
        return linear(input, weight) + bias
    *rows, n = input.array.shape
    try:
        if bias is None and not rows:
            return input @ weight.t()
        z = linear(ops.reshape.apply(input, shape=(math.prod(rows), n)), weight, bias)
    except ShapeError as error:
        raise _wrong_features(input.shape, weight.shape, error) from None
    whole = ops.unsafe_view if bias is None else ops.view  # with a bias, PyTorch returns a view
    return whole.apply(z, shape=(*rows, weight.array.shape[0]))


def _wrong_features(x: Shape, weight: Shape, error: ShapeError) -> ShapeError:
    """The error for an input whose number of features is not the layer's; any other error stays."""
    *rows, n = x
    m, wanted = weight
    if n == wanted:
        return error
    start = next((k for k in range(1, len(x)) if math.prod(x[k:]) == wanted), None)
    fix = f"make the layer with in_features={n}" if start is None else f"use x.flatten({start})"
    return ShapeError(
        f"mat1 and mat2 shapes cannot be multiplied ({math.prod(rows)}x{n} and {wanted}x{m}): the input, of shape "
        f"{tuple(x)}, has {n} features, but the weight, of shape {tuple(weight)}, takes {wanted}. To fix it, {fix}."
    )


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 + bias[k], for each k

    >>> x1, x2 = minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0, 4.0])
    >>> bilinear(x1, x2, minigrad.eye(2).reshape(1, 2, 2))
    tensor([11.])
    """
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {list(input1.shape)} and {list(input2.shape)}"
        )
    equation = ops.explicit("...i,kij,...j->...k", (input1.ndim, 3, input2.ndim))
    z: Tensor = ops.einsum(input1, weight, input2, equation=equation)
    return z if bias is None else z + bias


def embedding(
    input: Values,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows weight[input] of a table.

    input         any shape, integers
    weight        (n, d)
    padding_idx   a row that gets no gradient
    max_norm      before rows are read, those with a larger norm are scaled down to it, in place
    scale_grad_by_freq   divide the gradient of a row by the number of times it was read
    sparse        store only the rows that were read in weight.grad
    returns       (*input.shape, d)

    Raises IndexError if an entry of input is outside 0..n-1.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if isinstance(input, Tensor) and input.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
            f"got {input.dtype}. To fix it, use x.long()."
        )
    index = indices_of("embedding", input)
    n = weight.shape[0]
    if beyond(index, n):
        values = np.asarray(index)
        bad = values[(values < 0) | (values >= n)].flat[0]
        raise IndexError(f"index out of range in self: index {bad}, but the table has {n} rows.")
    if padding_idx is not None:
        if not -n <= padding_idx < n:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= n
    if max_norm is not None:
        _clip_row_norms(weight, index, max_norm, norm_type)
    counts = None
    if scale_grad_by_freq:
        counts = np.bincount(index.reshape(-1).astype(np.intp, copy=False), minlength=n)[
            index
        ].astype(weight.dtype)
    return ops.embedding.apply(
        weight, index=index, padding_idx=padding_idx, sparse=sparse, counts=counts
    )


def _clip_row_norms(weight: Tensor, index: Array, max_norm: float, norm_type: float) -> None:
    """Scale rows with a norm above max_norm down to it, in place. Only rows in `index` are changed."""
    rows = np.unique(index)
    with no_grad():
        # Without its tangent: as for gradients, the scaling is not part of the function.
        table = weight.detach()
        lengths = table[rows].norm(norm_type, 1, keepdim=True)
        short = (max_norm / (lengths + 1e-7)).clamp(max=1)
        table.index_copy_(0, wrap(rows), table[rows] * short)


def one_hot(tensor: Values, num_classes: int = -1) -> Tensor:
    """For each integer, a row of zeros with a 1 at that index.

    >>> import minigrad
    >>> one_hot(minigrad.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    index = np.asanyarray(seen(tensor))
    if index.dtype != np.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, but this one is {index.dtype}. To fix "
            "it, use x.long()."
        )
    if not index.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    values = np.asarray(index)  # while a program is being recorded, the values of the example input
    if values.size and values.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    n = int(index.max()) + 1 if num_classes == -1 else num_classes
    if values.size and values.max() >= n:
        raise RuntimeError(
            f"Class values must be smaller than num_classes. The largest is {values.max()}, and num_classes is {n}."
        )
    rows = (index[..., None] == np.arange(n)).astype(np.int64, order="C")
    return getattr(tensor, "_constant", Tensor)(rows)
