"""Tensor: an array that may remember how it came about.

    array      the values, a NumPy array (or a NumPy scalar, if there are no axes)
    node       None: no gradient is wanted.  An AccumulateGrad: this is a leaf, and its
               gradient is.  A Node: an op made this tensor, and the node remembers how
    counter    how often the memory was written to; a base and its views share one

What happens when an op is applied to tensors stands in apply.py, what happens when it
writes in place in inplace.py, and how a backward pass starts in backward.py.

Read op.py and node.py first. The operators and methods that tensors have are listed in
methods/; each is one line that applies an op.
"""

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from minigrad import chance, dtypes, formatting, modes
from minigrad.apply import apply
from minigrad.backward import keep_gradient, run_backward
from minigrad.data import as_array
from minigrad.errors import DtypeError, ShapeError
from minigrad.hooks import RemovableHandle, hooks_of
from minigrad.inplace import bump, refuse, write
from minigrad.leaf import AccumulateGrad
from minigrad.memory import FRESH, Counter, make, new
from minigrad.methods import ArrayMethods
from minigrad.methods.base import sizes
from minigrad.node import Node, shown
from minigrad.op import Op
from minigrad.sparse import RowSparse
from minigrad.views import Hop, Way, walk


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple, with PyTorch's `numel`."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of entries.

        >>> Size((2, 3)).numel()
        6
        """
        n = 1
        for size in self:
            n *= size
        return n

    def __repr__(self) -> str:
        return f"minigrad.Size({list(self)})"


class Tensor(ArrayMethods):
    """An array whose computations can be differentiated.

    Make one with `minigrad.tensor(data, requires_grad=True)`.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "array", "counter", "node")

    array: Any
    node: Node | AccumulateGrad | None
    counter: Counter

    __array_priority__ = 1000  # array * Tensor is the Tensor's business
    _tangents: "dict[int, Tensor] | None" = None  # in forward mode; see duals.py
    _kept_grad: "Tensor | None" = None  # of a tensor that is no leaf, or requires no gradient

    def __new__(cls, data: Any = (), requires_grad: bool = False, dtype: Any = None) -> Self:
        x = new(cls)
        x.array = as_array(data, dtype)
        x.counter = FRESH
        x.node = None
        return x

    def __init__(self, data: Any = (), requires_grad: bool = False, dtype: Any = None) -> None:
        if requires_grad:
            self.requires_grad_()

    # ------------------------------------------------------------------ what it is

    @property
    def shape(self) -> Size:
        return Size(self.array.shape)

    @property
    def dtype(self) -> dtypes.Dtype:
        dtype: dtypes.Dtype = self.array.dtype
        return dtype

    @property
    def requires_grad(self) -> bool:
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def is_leaf(self) -> bool:
        """Was this tensor made by the learner, rather than by a recorded operation?"""
        return self.node is None or isinstance(self.node, AccumulateGrad)

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this tensor; None for a leaf."""
        node = self.node
        return shown(node)[0] if isinstance(node, Node) else None

    @property
    def output_nr(self) -> int:
        """Which result of its grad_fn this tensor is."""
        return shown(self.node)[1]

    @property
    def _version(self) -> int:
        """How often this tensor's memory was written to."""
        return self.counter.count

    @property
    def _base(self) -> "Tensor | None":
        """The tensor of whose memory this one is a view."""
        return None

    def _is_view(self) -> bool:
        return self._base is not None

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether this leaf's gradient is wanted. Returns the tensor itself."""
        if not isinstance(requires_grad, (bool, np.bool_)):
            raise TypeError(
                f"requires_grad must be True or False, but got {type(requires_grad).__name__}."
            )
        if requires_grad == (self.node is not None):
            return self
        if not requires_grad:
            if self.grad_fn is not None:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. "
                    "To use this result without its history, write  y = x.detach()."
                )
            self._kept_grad = self.grad
            self.node = None
            return self
        if not dtypes.is_floating(self.array.dtype):
            raise DtypeError(
                "only Tensors of floating point dtype can require gradients, but this one is "
                f"{self.array.dtype}. To mend it, write the data as floats, like 1.0, or use x.float()."
            )
        self.node = AccumulateGrad(self)
        self.node.grad = self._kept_grad
        return self

    # ------------------------------------------------------------------ the gradient

    @property
    def grad(self) -> "Tensor | None":
        """The gradient that backward passes have added up here; None if there is none yet."""
        if isinstance(self.node, AccumulateGrad):
            grad: Tensor | None = self.node.grad
            return grad
        if isinstance(self.node, Node) and self._kept_grad is None and not self.retains_grad:
            formatting.warn_about_grad_of_non_leaf()
        return self._kept_grad

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None, but got {type(value).__name__}."
                )
            if value.array.shape != self.array.shape:
                raise ShapeError(
                    f"assigned grad has data of a different size: the tensor is {self.array.shape} "
                    f"and the gradient {value.array.shape}."
                )
            if value.array.dtype != self.array.dtype:
                raise DtypeError(
                    f"assigned grad has data of a different type: the tensor is {self.array.dtype} "
                    f"and the gradient {value.array.dtype}."
                )
        if isinstance(self.node, AccumulateGrad):
            self.node.grad = value
        else:
            self._kept_grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: "Tensor | Sequence[Tensor] | None" = None,
        *,
        engine: str | None = None,
    ) -> None:
        """Add the gradient of this tensor to the `.grad` of each leaf that it depends on.

        gradient       shaped like this tensor: the gradient of whatever comes after it.
                       May be left out for a scalar, where it is 1.
        retain_graph   keep the saved values, so that backward can run again
        create_graph   record the backward pass itself, for gradients of gradients
        inputs         only these tensors get a gradient
        engine         "graph", the default; or "tape" or "recursive", to compare: see engines.py

        Raises NoGradient if nothing here requires one, BackwardTwice if the graph was
        used up, and SavedValueChanged if an in-place write spoiled it.

        >>> import minigrad
        >>> x = minigrad.tensor(3.0, requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        run_backward((self,), (gradient,), retain_graph, create_graph, inputs, engine)

    @property
    def retains_grad(self) -> bool:
        """Does this tensor, which is no leaf, keep its gradient (see `retain_grad`)?"""
        return "_retains" in self.__dict__

    def retain_grad(self) -> None:
        """Keep this tensor's gradient in `.grad`, although it is no leaf."""
        if self.node is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if not self.is_leaf and not self.retains_grad:
            self.__dict__["_retains"] = True
            keep_gradient(self)

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call hook(gradient) whenever this tensor's gradient has been computed.

        What the hook returns, unless None, takes the gradient's place. Hooks are called in
        the order in which they were registered; `handle.remove()` takes one away.
        """
        if self.node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return RemovableHandle(hooks_of(self.node).on_result, hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> RemovableHandle:
        """Call hook(leaf) whenever a backward pass has added to this leaf's `.grad`."""
        if self.node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not isinstance(self.node, AccumulateGrad):
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        return RemovableHandle(hooks_of(self.node).finally_, hook)

    def detach_(self) -> Self:
        """Forget this tensor's history: from here on it is a leaf that requires no gradient."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. The base has the history as well."
            )
        self.node = None
        return self

    # ------------------------------------------------------------------ its values

    def detach(self) -> "Tensor":
        """The same memory without the history."""
        return self._same_memory(self._shared_counter())

    @property
    def data(self) -> "Tensor":
        """The same memory without the history, and without a say in the version count."""
        return self._same_memory(FRESH)

    @data.setter
    def data(self, value: "Tensor") -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}.")
        self._replace_array(value.memory() if value.array.shape else value.array)

    def memory(self) -> Any:
        """The values as an array that can be written to (not a NumPy scalar, which cannot)."""
        if not isinstance(self.array, np.ndarray):
            self._replace_array(np.array(self.array))
        return self.array

    def numpy(self, *, force: bool = False) -> Any:
        """The values as a NumPy array that shares this tensor's memory."""
        if self.node is not None and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. "
                "(What NumPy computes is not recorded, so the gradient would stop here without a word: "
                "detach() says that it may.) To mend it, write  x.detach().numpy()  for the values alone."
            )
        return self.memory()

    def item(self) -> Any:
        """The value of a tensor with one entry, as a Python number."""
        if self.array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.array.size} elements cannot be converted to Scalar: its shape "
                f"is {self.array.shape}. Choose one entry, or reduce it first (sum, mean)."
            )
        return self.array.item()

    def tolist(self) -> Any:
        return self.array.tolist()

    def _replace_array(self, array: Any) -> None:
        self.array = array
        if isinstance(self.node, AccumulateGrad):
            self.node._array = array

    def _shared_counter(self) -> Counter:
        """This memory's own counter, to be shared with a view."""
        if self.counter is FRESH:
            self.counter = Counter()
            if isinstance(self.node, AccumulateGrad):
                self.node._counter = self.counter
        return self.counter

    def _same_memory(self, counter: Counter) -> "Tensor":
        z: Tensor = new(Tensor)
        z.array, z.counter, z.node = self.memory(), counter, None
        return z

    def storage(self) -> Any:
        """The memory itself, which this tensor and its views share; see storage.py."""
        from minigrad.storage import Storage

        return Storage(self)

    def untyped_storage(self) -> Any:
        """The memory itself, as bytes."""
        from minigrad.storage import Storage

        return Storage(self, typed=False)

    def resize_(self, *size: Any, memory_format: Any = None) -> Self:
        """Another shape, in place: the first entries stay, and what is added is not set."""
        from minigrad.storage import resize

        z: Self = resize(self, sizes(size))
        return z

    def resize_as_(self, the_template: "Tensor", *, memory_format: Any = None) -> Self:
        """The shape of another tensor, in place."""
        return self.resize_(the_template.shape)

    # ------------------------------------------------------------------ filled at random

    def uniform_(self, a: float = 0, b: float = 1, *, generator: Any = None) -> Self:
        """Fill with numbers from a up to b, all equally likely. (PyTorch: from, to.)"""
        return self._fill(lambda shape, dtype: chance.uniform(shape, dtype, a, b, generator))

    def normal_(self, mean: float = 0, std: float = 1, *, generator: Any = None) -> Self:
        """Fill from the bell curve."""
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        dense = self.array.flags.c_contiguous
        return self._fill(
            lambda shape, dtype: chance.normal(shape, dtype, mean, std, generator, dense)
        )

    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Self:
        """Fill with ones, each with probability p, and zeros."""
        if isinstance(p, Tensor):
            p = p.array
            return self.copy_(chance.coins(p, self.array.shape, self.array.dtype, generator))
        return self._fill(lambda shape, dtype: chance.coins(p, shape, dtype, generator))

    def bernoulli(self, p: Any = None, *, generator: Any = None) -> "Tensor":
        """1 with the probability that stands in each entry (or is p), else 0."""
        from minigrad.random import bernoulli

        return bernoulli(self, p, generator=generator)

    def multinomial(
        self, num_samples: int, replacement: bool = False, *, generator: Any = None
    ) -> "Tensor":
        """Category numbers, drawn with these weights."""
        from minigrad.random import multinomial

        return multinomial(self, num_samples, replacement, generator=generator)

    def random_(self, low: int = 0, to: int | None = None, *, generator: Any = None) -> Self:
        """random_(to), random_(from, to): fill with whole numbers below `to`.

        random_() fills with all that the type can tell apart, from 0 on.
        """
        if to is None and not low:
            return self._fill(lambda shape, dtype: chance.anything(shape, dtype, generator))
        low, to = (0, low) if to is None else (low, to)
        return self._fill(lambda shape, dtype: chance.integers(shape, dtype, low, to, generator))

    def exponential_(self, lambd: float = 1, *, generator: Any = None) -> Self:
        """Fill with waiting times for what happens `lambd` times in a unit of time."""
        return self._fill(lambda shape, dtype: chance.exponential(shape, dtype, lambd, generator))

    def log_normal_(self, mean: float = 1, std: float = 2, *, generator: Any = None) -> Self:
        """Fill with exp(x), for x from the bell curve of this mean and standard deviation."""
        return self._fill(
            lambda shape, dtype: chance.log_normal(shape, dtype, mean, std, generator)
        )

    def geometric_(self, p: float, *, generator: Any = None) -> Self:
        """Fill with how many tries it takes until something of probability p has happened."""
        return self._fill(lambda shape, dtype: chance.geometric(shape, dtype, p, generator))

    def cauchy_(self, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Self:
        """Fill from Cauchy's distribution: the tangent of an angle that is uniform."""
        return self._fill(
            lambda shape, dtype: chance.cauchy(shape, dtype, median, sigma, generator)
        )

    def _fill(self, draw: Any) -> Self:
        """Write random numbers, in the order in which the entries lie in memory."""
        dtype = self.array.dtype
        return self.copy_(chance.in_memory_order(self.array, lambda shape: draw(shape, dtype)))

    # ------------------------------------------------------------------ a sparse gradient

    @property
    def is_sparse(self) -> bool:
        """Is this the gradient of a table of which only some rows were read?"""
        return isinstance(self.array, RowSparse)

    def to_dense(self) -> "Tensor":
        """The same with all its zeros."""
        return _wrap(self._rows().to_dense()) if self.is_sparse else self

    def coalesce(self) -> "Tensor":
        """The same with each row once."""
        return _wrap(self._rows().coalesce())

    def indices(self) -> "Tensor":
        """The numbers of the rows, of shape (1, k), as in PyTorch's sparse tensors."""
        return _wrap(self._rows().indices[None])

    def values(self) -> "Tensor":
        """The rows themselves, of shape (k, ...)."""
        return _wrap(self._rows().values)

    _indices, _values = indices, values

    def _nnz(self) -> int:
        return len(self._rows().indices)

    def _rows(self) -> RowSparse:
        if not isinstance(self.array, RowSparse):
            raise RuntimeError("only sparse gradients have rows: this tensor is dense.")
        return self.array

    # ------------------------------------------------------------------ Python's protocols

    __hash__ = object.__hash__

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return formatting.describe(self)

    __str__ = __repr__

    def _repr_html_(self) -> Any:
        """In a notebook: with shape, heat map and chain. None where text alone is wanted."""
        # By name, since the notebook's side of minigrad stands above this module.
        return importlib.import_module("minigrad.jupyter.tensor_html").html(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.array.ndim == 0 else format(str(self), spec)

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self.array)

    def __iter__(self) -> Iterator["Tensor"]:
        if self.array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter([self[i] for i in range(len(self.array))])

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self.array == (value.array if isinstance(value, Tensor) else value)))

    def __bool__(self) -> bool:
        if self.array.size != 1:
            raise RuntimeError(
                f"Boolean value of Tensor with {'no values' if not self.array.size else 'more than one value'} "
                f"is ambiguous: its shape is {self.array.shape}. To mend it, use .all() or .any()."
            )
        return bool(self.array)

    def __float__(self) -> float:
        return float(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def _scalar(self) -> Any:
        """The one entry, for float(x) and int(x)."""
        if self.array.size != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars, and this one is {self.array.shape}."
            )
        return self.array.item()

    def __index__(self) -> int:
        if self.array.dtype.kind not in "iub" or self.array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.node is not None and modes.state.recording:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. "
                "(What NumPy computes is not recorded, so the gradient would stop here without a word: "
                "detach() says that it may.) To mend it, write  x.detach().numpy()  for the values alone."
            )
        a = self.memory()
        if dtype is not None and dtype != a.dtype:
            return a.astype(dtype)
        return a.copy() if copy else a

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment. Use x.detach().clone()."
            )
        z: Tensor = new(type(self) if not isinstance(self, View) else Tensor)
        z.array, z.counter, z.node = np.array(self.array), FRESH, None
        memo[id(self)] = z
        if self.node is not None:
            z.requires_grad_()
        if self.grad is not None:
            z.grad = self.grad.__deepcopy__(memo)
        return z

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickle: the values, and whether a gradient is wanted; not the history."""
        cls = Tensor if isinstance(self, View) else type(self)
        return _unpickled, (cls, self.array, self.requires_grad)

    # ------------------------------------------------------------------ several processes

    def share_memory_(self) -> Self:
        """Move the values to memory that other processes can be given; see sharing.py."""
        from minigrad import sharing

        sharing.share(self)
        return self

    def is_shared(self) -> bool:
        """Do the values lie in shared memory?"""
        from minigrad import sharing

        return sharing.is_shared(self)

    # ------------------------------------------------------------------ operations

    def __apply_op__(self, op: Op, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        for a in args:
            if hasattr(a, "__apply_op__") and not isinstance(a, Tensor):
                return NotImplemented  # a program is being recorded: that is for its Slots
        return apply(op, args, settings)

    def _constant(self, array: Any) -> "Tensor":
        return _wrap(array)

    def _write(self, op: Op, *others: Any, **settings: Any) -> Self:
        """Apply an op in place: its result is written over this tensor."""
        z: Self | None = write(op, self, others, settings)
        return self if z is None else z

    def _rearrange(self, op: Op, **settings: Any) -> Self:
        """Let this tensor show its own memory in another arrangement (x.t_())."""
        if modes.state.recording:
            refuse(self, (self,))
        if isinstance(self, View):
            z = op.apply(self, **settings)
            self.way = z.way
        else:
            z = op.apply(_result_of(self.node, self.memory(), self._shared_counter()), **settings)  # type: ignore[arg-type]
        self._replace_array(z.array)
        if z.node is not None:
            self.node = z.node
        bump(self)
        return self


class View(Tensor):
    """A tensor that shows the memory of another, its base; see views.py."""

    __slots__ = ("_node", "_seen", "base", "way")

    _node: Any
    _seen: int
    origin: tuple[Any, ...] | None = (
        None  # why a recorded write is refused, if it is; see inplace.py
    )
    base: Tensor
    way: Way

    @property
    def node(self) -> Node | AccumulateGrad | None:
        """The view's history; found anew when the base's was rewritten since."""
        if self._seen != self.counter.history:
            with modes.enable_grad(), modes.unobserved():
                self._node = walk(self.base, self.way).node
            self._seen = self.counter.history
        node: Node | AccumulateGrad | None = self._node
        return node

    @node.setter
    def node(self, node: Node | AccumulateGrad | None) -> None:
        self._node = node
        self._seen = self.counter.history

    @property
    def _base(self) -> Tensor | None:
        return self.base


View.__name__ = View.__qualname__ = "Tensor"  # for the learner a view is a tensor like any other


def view_of(x: Tensor, array: Any, hop: Hop) -> View:
    """The tensor that shows `array`, which is a part or another arrangement of x's memory."""
    z: View = new(View)
    z.array, z.counter = array, x._shared_counter()
    if isinstance(x, View):
        z.base, z.way = x.base, (*x.way, hop)
    else:
        z.base, z.way = x, (hop,)
    z.node = None
    if not modes.state.recording:
        z.origin = ("no_grad",)
    elif isinstance(x, View) and x.origin is not None:
        z.origin = x.origin
    return z


def _wrap(array: Any) -> Tensor:
    z: Tensor = new(Tensor)
    z.array, z.counter, z.node = array, FRESH, None
    return z


def _result_of(node: Node, array: Any, counter: Counter) -> Tensor:
    z: Tensor = new(Tensor)
    z.array, z.counter, z.node = array, counter, node
    if node.tangents is not None:
        z._tangents = node.tangents
    return z


def _unpickled(cls: Any, array: Any, requires_grad: bool) -> Any:
    z = new(cls)
    z.array, z.counter, z.node = array, FRESH, None
    return z.requires_grad_() if requires_grad else z


def _revive(leaf: AccumulateGrad) -> Tensor:
    z: Tensor = new(Tensor)
    z.array, z.counter, z.node = leaf._array, leaf._counter, leaf
    return z


make.Tensor, make.view = Tensor, view_of
make.wrap, make.result_of, make.revive = _wrap, _result_of, _revive
