"""Functions of several tensors that are not methods of one tensor.

    joining            cat, stack, hstack, vstack, dstack, column_stack, block_diag
    choosing, summing  where, einsum, searchsorted
    matching shapes    broadcast_tensors, broadcast_shapes, atleast_1d, result_type
    combining          meshgrid, cartesian_prod, combinations, cdist, vander

Functions that are also methods, such as minigrad.exp(x) for x.exp(), are in methods_as_functions.py.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core.data import as_array
from minigrad.core.dtypes import dtype, promote_types, torch_name
from minigrad.core.errors import warn_user
from minigrad.core.shapes import Several, normalize_one
from minigrad.core.storage import Storage
from minigrad.core.tensor import Size, Tensor, wrap
from minigrad.methods import ArrayMethods
from minigrad.methods.arguments import into_out, named_type, not_a_tensor, takes_out, takes_tensors
from minigrad.methods.base import broadcast
from minigrad.methods.writing import truth_values
from minigrad.ops import composites
from minigrad.ops.composites import named
from minigrad.ops.products import LETTERS

# ------------------------------------------------------------------------ joining


def _sequence(name: str, tensors: Sequence[Tensor]) -> tuple[Any, ...]:
    if isinstance(tensors, Tensor):
        raise TypeError(f"{name}: argument 'tensors' must be tuple of Tensors, not Tensor.")
    xs = tuple(tensors)
    for k, x in enumerate(xs):
        if not hasattr(x, "__apply_op__"):
            raise TypeError(f"{name}: expected Tensor as element {k} in argument 0, but got {named_type(x)}.")
    if not xs:
        if name in ("stack", "hstack", "vstack", "dstack"):
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        raise (ValueError if "cat" in name else RuntimeError)(f"{name}: expected a non-empty list of Tensors")
    return xs


def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None, out: Tensor | None = None) -> Tensor:
    """The tensors joined along an existing axis.

    >>> import minigrad
    >>> cat([minigrad.ones(1, 2), minigrad.zeros(1, 2)])
    tensor([[1., 1.],
            [0., 0.]])
    """
    xs = _sequence("torch.cat()", tensors)
    shapes = [x.array.shape for x in xs]
    if () in shapes:
        raise RuntimeError(
            f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated. To fix it, use stack, or  x[None]."
        )
    if (0,) in shapes:  # tensor([]) can be joined with tensors of any shape
        like = next((x for x, shape in zip(xs, shapes, strict=True) if shape != (0,)), None)
        if like is None:  # all tensors are like this: PyTorch ignores dim
            like, dim, axis = xs[0], 0, None
        k = normalize_one(dim if axis is None else axis, like.ndim)
        none = (*like.shape[:k], 0, *like.shape[k + 1 :])
        xs = tuple([x.reshape(none) if shape == (0,) else x for x, shape in zip(xs, shapes, strict=True)])
    z = ops.cat.apply(*xs, axis=normalize_one(dim if axis is None else axis, xs[0].ndim))
    return z if out is None else into_out("cat", out, z)


concat = concatenate = cat


def split(tensor: Tensor, split_size_or_sections: Several, dim: int = 0) -> tuple[Tensor, ...]:
    """A tuple of pieces of the tensor along an axis. They have the given size (the last may be smaller), or the sizes in a list.

    >>> import minigrad
    >>> split(minigrad.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return tensor.split(split_size_or_sections, dim)


def stack(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None, out: Tensor | None = None) -> Tensor:
    """Tensors of the same shape, joined along a new axis.

    >>> import minigrad
    >>> stack([minigrad.ones(2), minigrad.zeros(2)], dim=1)
    tensor([[1., 0.],
            [1., 0.]])
    """
    xs = _sequence("stack", tensors)
    z = ops.stack.apply(*xs, axis=normalize_one(dim if axis is None else axis, xs[0].ndim + 1))
    return z if out is None else into_out("stack", out, z)


@takes_out
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined horizontally, along the second axis. Vectors are joined along their only axis.

    >>> hstack([minigrad.tensor([1, 2]), minigrad.tensor([3, 4])])
    tensor([1, 2, 3, 4])
    """
    xs = [x if x.ndim else x.reshape(1) for x in _sequence("hstack", tensors)]
    return cat(xs, 0 if xs[0].ndim == 1 else 1)


@takes_out
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined vertically, along the first axis. A vector counts as a row.

    >>> vstack([minigrad.tensor([1, 2]), minigrad.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat([x if x.ndim > 1 else x.reshape(1, -1) for x in _sequence("vstack", tensors)])


row_stack = vstack


@takes_out
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined along the third axis.

    >>> dstack([minigrad.tensor([1, 2]), minigrad.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    xs = atleast_2d(_sequence("dstack", tensors))
    return cat([x if x.ndim > 2 else x.unsqueeze(2) for x in xs], 2)


@takes_out
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined along the second axis. A vector counts as a column.

    >>> column_stack([minigrad.tensor([1, 2]), minigrad.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    return hstack([x if x.ndim > 1 else x.reshape(-1, 1) for x in _sequence("column_stack", tensors)])


@takes_tensors
def block_diag(*tensors: Tensor) -> Tensor:
    """A block-diagonal matrix: the matrices along the diagonal, and zeros elsewhere.

    >>> import minigrad
    >>> block_diag(minigrad.ones(1, 2), minigrad.tensor([[5.0]]))
    tensor([[1., 1., 0.],
            [0., 0., 5.]])
    """
    if not tensors:
        return wrap(np.zeros((1, 0), np.float32))
    for k, x in enumerate(tensors):
        if x.ndim > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has {x.ndim} dimensions")
    blocks = atleast_2d(tensors)
    width, left, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(ops.constant_pad_nd.apply(x, widths=((0, 0), (left, width - left - x.shape[1]))))
        left += x.shape[1]
    return named(cat(rows, 0), "BlockDiagBackward0")


# ------------------------------------------------------------------------ choosing, summing


def where(condition: Any, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """The entries of input where the condition is True, and of other elsewhere. All three are broadcast.

    With a condition alone: the indices where it is True, one tensor for each axis.

    >>> import minigrad
    >>> x = minigrad.tensor([-1.0, 2.0])
    >>> where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if not hasattr(condition, "dtype"):
        raise not_a_tensor("where", "condition", 1, condition)
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise TypeError(
            "where() takes a condition alone, or a condition and two values: where(condition, input, other)."
        )
    z = ops.where.apply(truth_values(condition), input, other)
    return z if out is None else into_out("where", out, z)


def einsum(equation: Any, *operands: Any) -> Tensor:
    """The sum of products described by the equation, which has one letter for each axis.

    equation   "ij,jk->ik": the letters of each operand and, after the arrow, of the result. Letters that are not
               in the result are summed. "..." stands for any further axes; without an arrow, the result has the
               letters that occur once, in alphabetical order.
    operands   tensors of one dtype. An axis of length 1 is broadcast.
    returns    the axes of the result's letters. Of one operand, without a sum, it is a view: "ii->i" is the diagonal.

    >>> import minigrad
    >>> x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> einsum("ij,kj->ik", x, x)
    tensor([[ 5., 11.],
            [11., 25.]])
    """
    if isinstance(equation, str) and len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list")
    if not isinstance(equation, str):  # einsum(x, [0, 1], y, [1, 2], [0, 2])
        parts = (equation, *operands)
        terms = [_letters(axes) for axes in parts[1::2]]
        result = "" if len(parts) % 2 == 0 else "->" + _letters(parts[-1])
        equation, operands = ",".join(terms) + result, parts[: 2 * len(terms) : 2]
    for k, x in enumerate(operands):
        if not hasattr(x, "__apply_op__"):
            raise TypeError(f"einsum(): expected Tensor as element {k} in argument 1, but got {named_type(x)}.")
    return composites.contraction(equation, *operands)


def _letters(axes: Sequence[Any]) -> str:
    """The letters for the numbers of axes. Raises ValueError for a number that has none."""
    if not all(i is ... or 0 <= i < len(LETTERS) for i in axes):
        raise ValueError(f"einsum(): subscript in subscript list is not within the valid range [0, {len(LETTERS)})")
    return "".join("..." if i is ... else LETTERS[i] for i in axes)


@takes_out
def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Tensor | None = None) -> Tensor:
    """For each entry of input, the index at which to insert it so that the sequence stays sorted.

    sorted_sequence   (n,), or (..., n) with the same leading axes as input: one row for each row of input
    side              "left" or "right"; the same as right=False and right=True
    sorter            the indices that sort sorted_sequence, if it is not sorted
    returns           int64 (or int32 with out_int32), in the shape of input

    >>> import minigrad
    >>> searchsorted(minigrad.tensor([[1, 3, 5], [2, 4, 6]]), minigrad.tensor([[3, 6], [3, 6]]))
    tensor([[1, 3],
            [1, 2]])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    x = input if isinstance(input, Tensor) else wrap(as_array(input))
    return composites.insertion_points(sorted_sequence, x, right or side == "right", out_int32, sorter)


# ------------------------------------------------------------------------ matching shapes


@takes_tensors
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, each expanded to their common broadcast shape.

    >>> broadcast_tensors(minigrad.tensor([[1], [2]]), minigrad.tensor([3, 4]))
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))
    """
    shape = broadcast("broadcast_tensors", *[x.array.shape for x in tensors])
    return tuple([x if x.array.shape == shape else x.expand(shape) for x in tensors])


def broadcast_shapes(*shapes: Several) -> Size:
    """The shape that tensors of these shapes broadcast to.

    >>> broadcast_shapes((2, 1), (3,))
    minigrad.Size([2, 3])
    """
    each = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    common = [1] * max(map(len, each), default=0)
    for k, shape in enumerate(each):
        for i in range(-1, -1 - len(shape), -1):
            if common[i] == 1:
                if shape[i] < 0:
                    raise ValueError("Attempting to broadcast a dimension with negative length!")
                common[i] = shape[i]
            elif shape[i] not in (1, common[i]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[i]} at {i}! Mismatching argument at index {k} had "
                    f"{shape}; but expected shape should be broadcastable to {common}"
                )
    return Size(common)


@takes_tensors
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """The tensors with at least one axis. A number becomes a vector of one entry.

    >>> atleast_1d(minigrad.tensor(3.0))
    tensor([3.])
    """
    return _each(lambda x: x.reshape(1) if x.ndim == 0 else x, tensors)


@takes_tensors
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """The tensors with at least two axes. A vector becomes a row.

    >>> atleast_2d(minigrad.tensor([1, 2]))
    tensor([[1, 2]])
    """
    return _each(lambda x: x if x.ndim > 1 else x.unsqueeze(0) if x.ndim else x.reshape(1, 1), tensors)


@takes_tensors
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """The tensors with at least three axes. A matrix gets a new last axis.

    >>> atleast_3d(minigrad.zeros(2, 3)).shape
    minigrad.Size([2, 3, 1])
    """

    def widened(x: Tensor) -> Tensor:
        if x.ndim == 0:
            return x.reshape(1, 1, 1)
        x = x.unsqueeze(0) if x.ndim == 1 else x
        return x.unsqueeze(-1) if x.ndim == 2 else x

    return _each(widened, tensors)


def _each(f: Callable[[Any], Any], tensors: tuple[Any, ...]) -> Any:
    """Apply f to a single tensor; or to each of several arguments or list entries, and return a tuple."""
    if len(tensors) == 1:
        return f(tensors[0]) if isinstance(tensors[0], ArrayMethods) else tuple([f(x) for x in tensors[0]])
    return tuple([f(x) for x in tensors])


def is_tensor(obj: object) -> bool:
    """True if obj is a tensor.

    >>> is_tensor(minigrad.tensor(1.0)), is_tensor(1.0)
    (True, False)
    """
    return isinstance(obj, ArrayMethods)


def is_storage(obj: object) -> bool:
    """True if obj is the storage of a tensor; False for the tensor itself.

    >>> is_storage(minigrad.ones(1).storage()), is_storage(minigrad.ones(1))
    (True, False)
    """
    return isinstance(obj, Storage)


def is_inference(input: Tensor) -> bool:
    """True if the tensor was created in `inference_mode`.

    >>> is_inference(minigrad.tensor(1.0))
    False
    """
    return input.is_inference()


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype of tensor1 + tensor2.

    >>> result_type(minigrad.tensor([1, 2]), 1.5)
    minigrad.float32
    """
    if not isinstance(tensor1, Tensor) and not isinstance(tensor2, Tensor):
        return promote_types(as_array(tensor1).dtype, as_array(tensor2).dtype)
    none = [x.detach().reshape(-1)[:0] if isinstance(x, Tensor) and x.ndim else x for x in (tensor1, tensor2)]
    return ops.add(*none).dtype


# ------------------------------------------------------------------------ combining


@takes_tensors
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid of points: each vector is repeated along the axes of all the others.

    >>> import minigrad
    >>> rows, columns = meshgrid(minigrad.arange(2), minigrad.arange(2), indexing="ij")
    >>> columns
    tensor([[0, 1],
            [0, 1]])
    """
    given = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for x in _sequence("meshgrid()", given):
        if x.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x.ndim}D, of shape "
                f"{tuple(x.shape)}. To fix it, use  x.flatten()."
            )
        if x.dtype != given[0].dtype:
            raise RuntimeError(f"meshgrid expects all tensors to have the same dtype, but got {given[0].dtype} and {x.dtype}.")
    if indexing is None:
        warn_user("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument. To fix it, write indexing=\"ij\".")
    elif indexing not in ("ij", "xy"):
        raise RuntimeError('torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + str(indexing))
    if indexing == "xy" and len(given) > 1:
        second, first, *rest = meshgrid(given[1], given[0], *given[2:], indexing="ij")
        return (first, second, *rest)
    shape, n = tuple([x.numel() for x in given]), len(given)
    columns = [ops.reshape.apply(x, shape=(1,) * k + (-1,) + (1,) * (n - 1 - k)) for k, x in enumerate(given)]
    return tuple([ops.expand.apply(x, shape=shape) for x in columns])


@takes_tensors
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one entry from each vector, one per row.

    >>> cartesian_prod(minigrad.tensor([1, 2]), minigrad.tensor([8, 9]))
    tensor([[1, 8],
            [1, 9],
            [2, 8],
            [2, 9]])
    """
    for z in tensors:
        if z.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(z.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([z.reshape(-1) for z in meshgrid(*tensors, indexing="ij")], 1)


@takes_tensors
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of r entries of a vector, one per row, in the vector's order.

    >>> combinations(minigrad.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input[:0]
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    index = np.array(list(choose(range(len(input)), r)), np.int64).reshape(-1, r)
    return named(input[index], "StackBackward0")


@takes_tensors
def unravel_index(indices: Tensor, shape: Several) -> tuple[Tensor, ...]:
    """Convert indices into a flattened tensor to indices into a tensor of this shape: one tensor for each axis.

    >>> unravel_index(minigrad.tensor([1, 3]), (2, 2))
    (tensor([0, 1]), tensor([1, 1]))
    """
    if indices.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {named_type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(isinstance(n, int) for n in sizes):
        raise TypeError(f"expected 'shape' sequence to only contain ints, but got {shape!r}")
    if min(sizes, default=0) < 0:
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    places, z = indices.long(), []
    for n in reversed(sizes):
        z.append(places % n)
        places = places // n
    return tuple(reversed(z))


BY_DIFFERENCES = "donot_use_mm_for_euclid_dist"  # PyTorch's name


@takes_tensors
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norm distance between each row of x1 and each row of x2.

    x1       (..., n, d)
    x2       (..., m, d)
    returns  (..., n, m)

    As in PyTorch, the Euclidean distances of more than 25 rows are computed from a matrix product,
    |a - b|**2 = |a|**2 + |b|**2 - 2 a·b, which needs no array of all differences, but rounds the distances of
    points that are close together. compute_mode="donot_use_mm_for_euclid_dist" takes the differences.

    >>> cdist(minigrad.tensor([[0.0, 0.0]]), minigrad.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, but got {p}")
    if x1.ndim < 2 or x2.ndim < 2:
        raise RuntimeError("cdist only supports at least 2D tensors")
    if x1.array.shape[-1] != x2.array.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.array.dtype.kind != "f":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {torch_name(x.dtype)}. To fix it, use x.float().")
    if x1.array.dtype != x2.array.dtype:
        raise RuntimeError(f"expected scalar type {torch_name(x1.dtype)} but found {torch_name(x2.dtype)}. To fix it, write  x2.to(x1.dtype).")
    if compute_mode not in (None, "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", BY_DIFFERENCES):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    many = max(x1.array.shape[-2], x2.array.shape[-2]) > 25 or compute_mode == "use_mm_for_euclid_dist"
    if p == 2 and many and compute_mode != BY_DIFFERENCES:
        squares = x1.square().sum(-1, True) + x2.square().sum(-1).unsqueeze(-2) - 2 * (x1 @ x2.mT)
        # The slope of the root is infinite at 0, where that of the distance is taken as 0.
        apart = squares > 0
        return named(where(apart, where(apart, squares, 1.0).sqrt(), squares * 0), "ViewBackward0")
    return named(composites.p_norms(x1.unsqueeze(-2) - x2.unsqueeze(-3), p), "CdistBackward0")



@takes_tensors
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix: its columns are x**(N - 1), ..., x, 1, or the reverse if increasing.

    >>> vander(minigrad.tensor([2, 3]), N=3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = len(x) if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    x = x.long() if x.dtype.kind in "iub" else x
    powers = np.arange(n) if increasing else np.arange(n)[::-1]
    return x.unsqueeze(1) ** wrap(powers)


__all__ = [n for n, v in vars().items() if n[0] != "_" and getattr(v, "__module__", "") == __name__]
