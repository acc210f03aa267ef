"""The operators and methods of tensors, one module per topic.

    base           shape, dtype and memory
    operators      x + y, x < y, x & y
    entries        x.exp(): elementwise functions
    arrangement    x.reshape(...), x.T: change the shape, or the order of axes and entries
    indexing       x[...], x.gather(...): read and write entries by index
    reductions     x.sum(), x.sort(): reductions along an axis, sorting, counting
    products       x @ y
    from_rows      x.exp(), x + y: methods made from the rows of ops/; see rows.py

`ArrayMethods` combines them. It is the base class of Tensor and of Slot (a value in a recorded
program), which run the same ops in different ways. If you step into `x.exp()` with a debugger,
you land in the code generated for the row `exp`. Checks and helpers are below the methods
that use them.

Names and arguments are PyTorch's (`dim`, `keepdim`); NumPy's `axis` and `keepdims` work too.
NumPy's two protocols turn `np.exp(x)` and `np.sum(x, axis=0)` into `x.exp()` and
`x.sum(axis=0)`.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.core import modes
from minigrad.core.op import BY_NUMPY, REGISTRY
from minigrad.core.shapes import Dim
from minigrad.methods.arguments import check_methods
from minigrad.methods.arrangement import Arrangement
from minigrad.methods.base import Base, with_numpy_names
from minigrad.methods.entries import Entries
from minigrad.methods.indexing import Indexing, indices_of
from minigrad.methods.operators import Operators
from minigrad.methods.products import Products, tensordot
from minigrad.methods.reductions import Reductions
from minigrad.methods.rows import add_docstrings, add_in_place, add_other_docstrings, add_synonyms
from minigrad.methods.statistics import Statistics
from minigrad.methods.writing import Writing
from minigrad.ops import composites

__all__ = ["ArrayMethods", "indices_of"]

for _with_dims in (Arrangement, Indexing, Writing, Reductions, Statistics):
    with_numpy_names(_with_dims)
for _chapter in (Base, Entries, Products, Statistics, Reductions, Operators, Writing, Indexing, Arrangement):
    check_methods(_chapter)


class ArrayMethods(Entries, Products, Statistics, Operators, Writing):
    """The operators and methods that tensors and slots share, and NumPy's protocols."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Handle np.exp(x) and array * x: call the matching op, or raise a helpful error."""
        op = BY_NUMPY.get(ufunc)
        if op is None and ufunc in NUMPY_FUNCTIONS and method == "__call__" and not kwargs:
            return NUMPY_FUNCTIONS[ufunc](*[self._constant(np.asarray(a)) if not isinstance(a, Base) else a for a in inputs])
        if method == "reduce" and ufunc is np.add:
            return inputs[0].sum(axis=kwargs.get("axis", 0), keepdims=kwargs.get("keepdims", False))
        if op is None or method != "__call__" or kwargs:
            if method != "at" and needs_no_gradient((inputs, kwargs)) and not isinstance((kwargs.get("out") or (0,))[0], Base):
                return getattr(ufunc, method)(*values_only(inputs), **values_only(kwargs))
            name = numpy_name(ufunc)
            raise NotForNumpy(unknown_function(name if method == "__call__" else f"{name}.{method}", kwargs))
        return op.apply(*inputs)

    def __array_function__(self, function: Callable[..., object], types: Iterable[type], args: tuple[object, ...], kwargs: dict[str, Any]) -> Any:
        """Handle np.sum(x, axis=0): call the matching method, or raise a helpful error."""
        if function in NUMPY_QUESTIONS:
            return function(*values_only(args), **values_only(kwargs))
        if "a" in kwargs:
            args = (kwargs.pop("a"), *args)  # np.sum(a=x)
        operands = 2 if function in PRODUCTS else 1  # that may be arrays: np.kron(array, x), np.take(array, x)
        args = tuple([self._constant(a) if isinstance(a, np.ndarray) and k < operands else a for k, a in enumerate(args)])
        replacement = NUMPY_FUNCTIONS.get(function)
        known = () if replacement is None else replacement.__code__.co_varnames
        unknown = [name for name in kwargs if name not in known]
        if replacement is not None and not unknown:
            try:
                z = replacement(*args, **kwargs)
            except (AttributeError, TypeError, RuntimeError):  # NumPy also takes lists, numbers and mixed dtypes
                if not needs_no_gradient((args, kwargs)):
                    raise
                z = NotImplemented
            if z is not NotImplemented:
                return z
        if needs_no_gradient((args, kwargs)):
            return function(*values_only(args), **values_only(kwargs))
        raise NotForNumpy(unknown_function(numpy_name(function), unknown))


add_in_place(ArrayMethods)
if sys.flags.optimize < 2:  # python -OO removes docstrings
    for _op in REGISTRY.values():
        add_docstrings(ArrayMethods, _op)
    add_other_docstrings(ArrayMethods)
add_synonyms(ArrayMethods)


class NotForNumpy(RuntimeError, TypeError):
    """Raised when a NumPy function would lose a tensor's gradient."""


def needs_no_gradient(arguments: object) -> bool:
    """Return True if no tensor among the arguments requires a gradient, so NumPy can use their values."""
    if isinstance(arguments, Base):
        x: Any = arguments
        # While a program is being recorded, its values (which have a recorder) are not known yet.
        return not (x.requires_grad and (modes.is_grad_enabled() or hasattr(x, "recorder")))
    if isinstance(arguments, dict):
        arguments = arguments.values()
    elif not isinstance(arguments, (list, tuple)):
        return True
    return all(needs_no_gradient(a) for a in arguments)


def numpy_name(function: Callable[..., object]) -> str:
    """The name of a NumPy function as users write it: np.sum, np.linalg.norm."""
    linalg = getattr(function, "__module__", None) == "numpy.linalg"
    return f"np.linalg.{function.__name__}" if linalg else f"np.{function.__name__}"


def unknown_function(name: str, arguments: Iterable[str]) -> str:
    """The error message for a NumPy function without an op (with similar names that have one), or for arguments it does not take."""
    known = sorted({numpy_name(f) for f in (*BY_NUMPY, *NUMPY_FUNCTIONS)})
    start = f"Can't call numpy() on Tensor that requires grad: {name}"
    if name in known:
        return f"{start} of such a tensor does not take {', '.join(arguments) or 'these arguments'}. Use the tensor's own method."
    import difflib  # only used here

    plain = name.removeprefix("np.")
    called = {f.removeprefix("np."): f for f in known}  # with the prefix, short names are all alike
    near = [called[f] for f in difflib.get_close_matches(plain, called, 3, 0.7)]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    if hasattr(sys.modules["minigrad"], plain) and name not in OTHERS:
        hint = f" To fix it, write  minigrad.{plain}(...)."
    return f"{start} is not an operation of tensors.{hint} For its value alone, use x.detach().numpy()."


def values_only(arguments: Any) -> Any:
    """The arguments, with each tensor replaced by its array."""
    if isinstance(arguments, Base):
        return np.asarray(arguments.array)
    if isinstance(arguments, (list, tuple)):
        return type(arguments)([values_only(a) for a in arguments])
    if isinstance(arguments, dict):
        return {name: values_only(a) for name, a in arguments.items()}
    return arguments


# Functions without a gradient, which only ask about values. They run on the arrays.
NUMPY_QUESTIONS = {
    np.allclose, np.array2string, np.array_equal, np.array_equiv, np.array_repr, np.array_str,
    np.bincount, np.can_cast, np.histogram, np.isclose, np.isin, np.may_share_memory, np.nonzero,
    np.result_type, np.save, np.savetxt, np.savez, np.shares_memory, np.unique,
}  # fmt: skip


def norm_of_entries(x: Reductions, ord: float | str | None = None, axis: Dim = None, keepdims: bool = False) -> Any:
    """np.linalg.norm, if it is a norm of the entries. If `ord` is a number and there are two axes, NumPy's own matrix norm is used."""
    axes = x.ndim if axis is None else np.size(axis)
    several = axes != 1 and ord is not None and not isinstance(ord, str)
    return NotImplemented if several else x.norm(ord, axis, keepdims)


def padded(array: Reductions, pad_width: Sequence[Any] | int, mode: str = "constant", constant_values: float = 0) -> Any:
    """np.pad, if it pads with one value."""
    if mode != "constant" or np.ndim(constant_values):
        return NotImplemented
    widths = np.broadcast_to(pad_width, (array.ndim, 2)).tolist()
    return ops.constant_pad_nd(array, widths=tuple(map(tuple, widths)), value=constant_values)


PRODUCTS = {np.cross, np.inner, np.kron, np.linalg.solve, np.outer, np.tensordot, np.vdot}
# These are methods with the same arguments: np.mean(x, axis=0) is x.mean(axis=0).
METHODS = """
    all any copysign count_nonzero deg2rad diagflat dsplit fliplr flipud float_power hsplit isneginf isposinf log10 mean
    moveaxis rad2deg ravel reshape sinc sum trace vsplit
"""
OTHERS = {"np.put", "np.select"}  # ours of these names do something else
NUMPY_FUNCTIONS: dict[Any, Any] = {getattr(np, name): getattr(ArrayMethods, name) for name in METHODS.split()}
NUMPY_FUNCTIONS |= {np.max: ArrayMethods.amax, np.amax: ArrayMethods.amax}
NUMPY_FUNCTIONS |= {np.min: ArrayMethods.amin, np.amin: ArrayMethods.amin}
NUMPY_FUNCTIONS |= {np.copy: ArrayMethods.clone, np.size: ArrayMethods.numel}
NUMPY_FUNCTIONS |= {getattr(np.linalg, name): getattr(ArrayMethods, name) for name in ("det", "matrix_power")}
# These correspond to methods with other arguments or argument names.
NUMPY_FUNCTIONS |= {
    np.linalg.inv: lambda a: a.inverse(),
    np.linalg.cholesky: lambda a: a._cholesky(),
    np.linalg.slogdet: lambda a: a.slogdet(),
    np.linalg.solve: lambda a, b: ops.linalg_solve(a, b) if b.ndim > 1 else ops.linalg_solve(a, b.unsqueeze(-1)).squeeze(-1),
    np.argmax: lambda a, axis=None: a.argmax(axis=axis),
    np.argmin: lambda a, axis=None: a.argmin(axis=axis),
    np.prod: lambda a, axis=None, keepdims=False: NotImplemented if isinstance(axis, tuple) else a.prod(axis, keepdims),
    np.var: lambda a, axis=None, ddof=0, keepdims=False: a.var(axis, correction=ddof, keepdim=keepdims),
    np.std: lambda a, axis=None, ddof=0, keepdims=False: a.std(axis, correction=ddof, keepdim=keepdims),
    np.nansum: lambda a, axis=None, keepdims=False: a.nansum(axis, keepdims),
    np.nanmean: lambda a, axis=None, keepdims=False: a.nanmean(axis, keepdims),
    np.cov: lambda m: m.cov(),
    np.corrcoef: lambda x: x.corrcoef(),
    np.cumsum: lambda a, axis=None: a.reshape(-1).cumsum(0) if axis is None else a.cumsum(axis),
    np.cumprod: lambda a, axis=None: a.reshape(-1).cumprod(0) if axis is None else a.cumprod(axis),
    np.sort: lambda a, axis=-1: a.reshape(-1).sort().values if axis is None else a.sort(axis).values,
    np.argsort: lambda a, axis=-1: a.reshape(-1).argsort() if axis is None else a.argsort(axis),
    np.diff: lambda a, n=1, axis=-1: a.diff(n, axis),
    np.linalg.norm: norm_of_entries,
    np.cross: lambda a, b, axis=-1: a.cross(b, axis),
    np.kron: lambda a, b: a.kron(b),
    np.inner: lambda a, b: a.inner(b),
    np.round: lambda a, decimals=0: a.round(decimals=decimals),
    np.clip: lambda a, a_min=None, a_max=None, min=None, max=None: a.clamp(min if a_min is None else a_min, max if a_max is None else a_max),
    np.nan_to_num: lambda x, nan=0.0, posinf=None, neginf=None: x.nan_to_num(nan, posinf, neginf),
    np.ones_like: lambda a: a.new_ones(a.shape),
    np.transpose: lambda a, axes=None: a.T if axes is None else a.permute(axes),
    np.swapaxes: lambda a, axis1, axis2: a.transpose(axis1, axis2),
    np.expand_dims: lambda a, axis: NotImplemented if isinstance(axis, tuple) else a.unsqueeze(axis),
    np.squeeze: lambda a, axis=None: a.squeeze(axis),
    np.broadcast_to: lambda a, shape: a.expand(shape),
    np.concatenate: lambda arrays, axis=0: ops.cat(*arrays, axis=axis),
    np.stack: lambda arrays, axis=0: ops.stack(*arrays, axis=axis),
    np.where: lambda condition, x=None, y=None: NotImplemented if x is None else ops.where(condition, x, y),
    np.zeros_like: lambda a: a.new_zeros(a.shape),
    np.full_like: lambda a, fill_value: a.new_zeros(a.shape) + fill_value,
    np.einsum: composites.contraction,
    np.tensordot: lambda a, b, axes=2: tensordot(a, b, axes),
    np.vdot: lambda a, b: a.reshape(-1).vdot(b.reshape(-1)),
    np.outer: lambda a, b: a.reshape(-1).outer(b.reshape(-1)),
    np.dot: lambda a, b: a * b if 0 in (np.ndim(a), np.ndim(b)) else ops.matmul(a, b),
    np.take: lambda a, indices, axis=None: a.take(indices) if axis is None else a.index_select(axis, indices),
    np.take_along_axis: lambda arr, indices, axis=-1: arr.take_along_dim(indices, axis),
    np.diagonal: lambda a, offset=0, axis1=0, axis2=1: a.diagonal(offset, axis1, axis2),
    np.diag: lambda v, k=0: v.diag(k),
    np.tril: lambda m, k=0: m.tril(k),
    np.triu: lambda m, k=0: m.triu(k),
    np.flip: lambda m, axis=None: m.flip(tuple(range(m.ndim)) if axis is None else axis),
    np.roll: lambda a, shift, axis=None: a.roll(shift, axis),
    np.rot90: lambda m, k=1, axes=(0, 1): m.rot90(k, axes),
    np.tile: lambda A, reps: A.tile(reps),
    np.repeat: lambda a, repeats, axis=None: a.repeat_interleave(repeats, axis),
    np.vstack: lambda tup: ops.cat(*[a if a.ndim > 1 else a.reshape(1, -1) for a in tup], axis=0),
    np.hstack: lambda tup: ops.cat(*tup, axis=0 if tup[0].ndim == 1 else 1),
    np.column_stack: lambda tup: ops.cat(*[a if a.ndim > 1 else a.reshape(-1, 1) for a in tup], axis=1),
    np.append: lambda arr, values, axis=None: ops.cat(arr, values, axis=axis) if axis is not None else ops.cat(arr.reshape(-1), values.reshape(-1)),
    np.pad: padded,
    np.array_split: lambda ary, indices_or_sections, axis=0: ary.tensor_split(indices_or_sections, axis),
    np.split: lambda ary, indices_or_sections, axis=0: ary.tensor_split(indices_or_sections, axis),
    np.ndim: lambda a: a.ndim,
    np.shape: lambda a: a.shape,
}
