"""vmap: a function of one example becomes a function of a batch.

PyTorch replaces the function's operations by batched ones. Here, the function is called once per
example and the results are stacked, which is simpler and gives the same numbers.

Arguments and results can be pytrees: tensors in nested tuples, lists and dicts. `in_dims` and
`out_dims` have the same structure; one number may stand for a whole subtree. Read `flatten` in
transforms.py first.
"""

from typing import Any

import numpy as np

from minigrad.autograd.transforms import Func, flatten
from minigrad.core.modes import state
from minigrad.core.tensor import Tensor
from minigrad.methods.functions import stack
from minigrad.random.generator import Draws

__all__ = ["vmap"]

Axis = int | None


def vmap(
    func: Func,
    in_dims: object = 0,
    out_dims: object = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Func:
    """A function that applies f to each example of a batch and stacks the results.

    in_dims       the batch axis of each argument; None if all examples share the argument. An
                  argument can be a dict or a list of tensors, and so can its axes
    out_dims      the batch axis of each result; None if it is the same for all examples, in which
                  case it may be something other than a tensor
    randomness    "error": f may not draw random numbers; "same": each example gets the same ones;
                  "different": each example gets its own
    chunk_size    accepted but ignored, because f is called once per example

    Raises ValueError if the axes do not match the arguments or the results, and RuntimeError if f
    draws random numbers while randomness is "error".

    >>> import minigrad
    >>> vmap(lambda a, b: (a * b).sum())(minigrad.ones(3, 2), minigrad.ones(3, 2))
    tensor([2., 2., 2.])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    Draws(randomness)  # refuses an unknown setting
    name = getattr(func, "__name__", repr(func))

    def mapped(*args: object, **kwargs: object) -> Any:
        leaves, build = flatten(args, object)
        axes = _input_axes(name, in_dims, args, leaves)
        pairs = list(zip(leaves, axes, strict=True))
        n = _batch_size(pairs)
        draws = Draws(randomness)

        def of_example(k: int) -> object:
            example = build([x if d is None else _example(x, d, k) for x, d in pairs])
            with draws:
                return func(*example, **kwargs)

        results = _one_by_one(of_example, n)
        axes = _output_axes(name, out_dims, results[0])
        found = [flatten(result, object) for result in results]
        columns = zip(*(values for values, _ in found), strict=True)
        joined = [_stacked(name, list(c), d, n) for c, d in zip(columns, axes, strict=True)]
        return found[0][1](joined)

    return mapped


def _one_by_one(of_example: Func, n: int) -> list[Any]:
    """The result for each of n examples, or for example 0 of an empty batch, which gives the shapes.

    Examples may share a graph, so backward passes keep what it saved until the last example.
    """
    outer, results = state.more_examples, []
    try:
        for k in range(n or 1):
            state.more_examples = outer or k < n - 1
            results.append(of_example(k))
    finally:
        state.more_examples = outer
    return results


def _axes_of_leaves(dims: Any, tree: Any, misfit: str) -> list[Any]:
    """The axis of each leaf of a tree. `dims` is one axis for all leaves, or a tree of the same structure.

    Raises ValueError(misfit) if it is neither.
    """
    if not isinstance(dims, (tuple, list, dict)):
        return [dims] * len(flatten(tree, object)[0])
    alike = type(dims) is type(tree) and len(dims) == len(tree)
    if not alike or (isinstance(dims, dict) and dims.keys() != tree.keys()):
        raise ValueError(misfit)
    keys = tree if isinstance(tree, dict) else range(len(tree))
    return [axis for key in keys for axis in _axes_of_leaves(dims[key], tree[key], misfit)]


def _input_axes(name: str, in_dims: object, args: tuple[Any, ...], leaves: list[Any]) -> list[Axis]:
    """The batch axis of each leaf of the arguments of the function with this name."""
    api = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not args:
        raise ValueError(
            f"{api}: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over keyword arguments?"
        )
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{api}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    axes = _axes_of_leaves(
        in_dims,
        args,
        f"{api}: in_dims is not compatible with the structure of `inputs`: {len(args)} arguments. To fix it, pass one "
        "axis for each, or None for an argument that all examples share.",
    )
    for x, d in zip(leaves, axes, strict=True):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(
                f"{api}: Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{api}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -x.ndim <= d < x.ndim:
            raise ValueError(
                f"{api}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.ndim} so "
                f"expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}."
            )
    return axes


def _output_axes(name: str, out_dims: object, result: object) -> list[Axis]:
    """The batch axis of each entry of the result of the function with this name."""
    api = f"vmap({name}, ..., out_dims={out_dims})"
    for d in flatten(out_dims, object)[0]:
        if not (d is None or isinstance(d, int)):
            raise ValueError(
                f"{api}: `out_dims` must be an int, None or a python collection of ints representing where in the "
                "outputs the vmapped dimension should appear."
            )
    if isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return [out_dims[0]]
    return _axes_of_leaves(
        out_dims,
        result,
        f"{api}: out_dims is not compatible with the structure of `outputs`. To fix it, pass one axis for each result, "
        "or one number for all.",
    )


def _batch_size(pairs: list[tuple[Any, Axis]]) -> int:
    """How many examples the tensors hold along their batch axes."""
    sizes = {x.shape[d] for x, d in pairs if d is not None}
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(sizes) != 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sorted(sizes)}"
        )
    return int(sizes.pop())


def _example(x: Tensor, dim: int, k: int) -> Tensor:
    """Entry k along one axis, or zeros of its shape if the axis is empty."""
    if x.shape[dim]:
        return x.select(dim, k)
    dim %= x.ndim
    return x.new_zeros(x.shape[:dim] + x.shape[dim + 1 :])


def _stacked(name: str, column: list[Any], axis: Axis, n: int) -> Any:
    """One leaf of the result: the n values in `column`, stacked along the axis. For None, the value they share."""
    first = column[0]
    tensors = all(isinstance(x, Tensor) for x in column)
    if axis is None:
        if tensors and not all(np.array_equal(x.array, first.array) for x in column):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: it is not the same "
                "for all examples."
            )
        return first
    if not tensors:
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(first)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    batch = stack(column, dim=axis)
    return batch if n else batch.narrow(axis, 0, 0)
