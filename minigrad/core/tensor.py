"""Tensor: an array that can remember how it was computed.

    array      the values, a NumPy array (or a NumPy scalar, for a 0-d tensor)
    node       None: needs no gradient.  An AccumulateGrad: this is a leaf that requires
               a gradient.  A Node: this is the recorded result of an op
    counter    counts the writes to the memory; a base and its views share one

dispatch.py applies an op to tensors, inplace.py handles in-place writes, and backward.py
starts a backward pass.

Read op.py and node.py first. The operators and methods of tensors are in methods/; most of
them are one line that applies an op. Three other files add methods: outside.py, for access
from Python, NumPy and other processes; methods/sampling.py, for filling a tensor with random
numbers; and sparse.py, for sparse gradients.
"""

import copy
import math
from collections.abc import Iterable, Sequence
from typing import Any, Self, SupportsIndex, TypeVar

import numpy as np

from minigrad.core import dtypes, modes
from minigrad.core.backward import keep_gradient, run_backward
from minigrad.core.data import as_array, sized_or_filled, warn_of_tensor
from minigrad.core.devices import DeviceLike, check_device
from minigrad.core.dispatch import apply, computed, write
from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import AutogradError, DtypeError, ShapeError, warn_user
from minigrad.core.hooks import Hook, Hooked, RemovableHandle, hooks_of
from minigrad.core.inplace import bump, refuse, refused_view
from minigrad.core.leaf import AccumulateGrad, NoAccumulation
from minigrad.core.memory import FRESH, INFERENCE, Counter, make, new, with_tangents
from minigrad.core.naming import TopLevel, one_for_users
from minigrad.core.node import Node, shown
from minigrad.core.op import Op
from minigrad.core.outside import Outside
from minigrad.core.shapes import Array, as_ints
from minigrad.core.sparse import Rows
from minigrad.core.views import (
    ViewChain,
    ViewStep,
    apply_chain,
    chains_back,
    view_chain_to,
    without_detour,
)
from minigrad.methods import ArrayMethods
from minigrad.methods.sampling import Sampling

T = TypeVar("T", bound="Tensor")


class Size(tuple[int, ...], metaclass=TopLevel):
    """The shape of a tensor: a tuple of ints, with PyTorch's `numel`. Slices and sums of Sizes are Sizes.

    Raises TypeError for entries that are not integers.

    >>> import minigrad
    >>> minigrad.zeros(2, 3).shape
    minigrad.Size([2, 3])
    >>> minigrad.zeros(2, 3).shape[1:] + (4,)
    minigrad.Size([3, 4])
    """

    __slots__ = ()

    def __new__(cls, entries: Iterable[Any] = ()) -> Self:
        return tuple.__new__(cls, as_ints(tuple(entries), "entries"))

    def __getitem__(self, index: Any) -> Any:  # int for a number, Size for a slice
        part = tuple.__getitem__(self, index)
        return part if part.__class__ is int else tuple.__new__(Size, part)

    def __add__(self, other: object) -> Any:  # Size for a tuple
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, other))
        added = getattr(other, "__radd__", lambda _: NotImplemented)(self)
        if added is NotImplemented:
            raise TypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return added

    def __radd__(self, other: tuple[Any, ...]) -> "Size":
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> "Size":
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def numel(self) -> int:
        """The number of entries.

        >>> Size((2, 3)).numel()
        6
        """
        return math.prod(self)

    def __repr__(self) -> str:
        return f"minigrad.Size({list(self)})"


CHANGED_BY_LEAVES_ONLY = (
    "you can only change requires_grad flags of leaf variables. "
    "To use this result without its history, write  y = x.detach()."
)

GRAD_OF_NON_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor."
)


class TensorType(TopLevel):
    """The class of Tensor. Views have a class of their own, but type(x[0]) == Tensor."""

    def __eq__(cls, other: object) -> bool:
        return cls is other or {id(cls), id(other)} == {id(Tensor), id(View)}

    __hash__ = TopLevel.__hash__  # a faster one; a set that contains Tensor does not contain View


class Tensor(Outside, Sampling, Rows, ArrayMethods, metaclass=TensorType):
    """An array whose computations can be differentiated.

    Make one with `minigrad.tensor(data, requires_grad=True)`.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = {
        "__dict__": "",
        "__weakref__": "",
        "array": "The values: a NumPy array. Views share its memory.",
        "counter": "Counts the writes to the memory.",
        "node": "The Node that made this tensor, or a leaf's AccumulateGrad; None if it needs no gradient.",
    }
    __hash__ = object.__hash__  # tensors are hashed by identity, although == compares entries

    array: Any
    node: Node | AccumulateGrad | None
    counter: Counter

    __array_priority__ = 1000  # makes NumPy leave array * Tensor to Tensor
    _base: "Tensor | None" = None  # for a view: the tensor whose memory it shares
    _tangents: "dict[int, Tensor] | None" = None  # in forward mode; see duals.py
    _retains = False  # does this non-leaf tensor keep its gradient?
    _source: "Tensor | None" = None  # for the data of a gradient by rows: that gradient
    _kept_grad: "Tensor | None" = None  # for a tensor that is not a leaf, or requires no gradient

    def __new__(cls, *data: object, **settings: object) -> Self:
        """The legacy constructor: Tensor([1, 2]) is float32, and Tensor(2, 3) has that shape."""
        return made(cls, dtypes.get_default_dtype(), *data, **settings)

    @staticmethod
    def _make_subclass(cls: type[T], data: "Tensor", require_grad: bool = False) -> T:
        """A tensor of this class, which is derived from Tensor, on the memory of data."""
        z = new(cls)
        z.array, z.counter, z.node = data.memory(), data._shared_counter(), None
        return z.requires_grad_() if require_grad else z

    # ------------------------------------------------------------------ properties

    @property
    def shape(self) -> Size:
        """The size of each axis, as a tuple: () for a single number.

        >>> minigrad.zeros(2, 3).shape
        minigrad.Size([2, 3])
        """
        return tuple.__new__(Size, self.array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype of the entries, like minigrad.float32. x.to(dtype) converts.

        >>> minigrad.tensor([1, 2]).dtype
        minigrad.int64
        """
        return dtypes.of_array(self.array.dtype)

    @property
    def requires_grad(self) -> bool:
        """Does this tensor need a gradient? The user decides for a leaf; a result needs one if an operand does.

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * 2).requires_grad
        True
        """
        try:
            return self.node is not None
        except AutogradError:  # a view whose history is no longer available, but existed
            return True

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        """Set the flag of a leaf, like requires_grad_."""
        if not self.is_leaf:
            raise RuntimeError(CHANGED_BY_LEAVES_ONLY)
        self.requires_grad_(value)

    @property
    def is_leaf(self) -> bool:
        """Was this tensor made by the user, not by a recorded operation?

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> x.is_leaf, (x * 2).is_leaf
        (True, False)
        """
        return self.node is None or isinstance(self.node, AccumulateGrad)

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this tensor; None for a leaf.

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * 2).grad_fn.name()
        'MulBackward0'
        """
        node = self.node
        return shown(node)[0] if isinstance(node, Node) else None

    def new(self, *data: object, **settings: object) -> "Tensor":
        """A tensor of this dtype with this data; given sizes, zeros (PyTorch: whatever was in memory).

        The older way to write new_tensor(data) and new_empty(sizes).

        >>> minigrad.ones(2, dtype=minigrad.float64).new(1, 3)
        tensor([[0., 0., 0.]], dtype=minigrad.float64)
        """
        return made(Tensor, self.dtype, *data, **settings)

    def new_tensor(
        self,
        data: Any,
        *,
        dtype: DTypeLike = None,
        device: DeviceLike = None,
        requires_grad: bool = False,
    ) -> Self:
        """A new tensor with a copy of this data and, by default, this tensor's dtype.

        data    nested lists, an array, a number, or a tensor (only its values are used)
        dtype   another dtype; requires_grad=True makes a leaf that requires a gradient

        >>> minigrad.tensor([0.5]).new_tensor([1, 2])
        tensor([1., 2.])
        """
        check_device(device)
        warn_of_tensor(data, "tensor.new_tensor")
        dtype = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        array = modes.seen(data.detach()) if isinstance(data, Tensor) else as_array(data, dtype)
        z: Self = self._constant(array.astype(dtype))  # type: ignore[assignment]
        return z._made(requires_grad) if requires_grad else z

    @property
    def output_nr(self) -> int:
        """The index of this tensor among the results of its grad_fn.

        >>> minigrad.zeros(2).output_nr
        0
        """
        return shown(self.node)[1]

    @property
    def _version(self) -> int:
        """How often this tensor's memory was written to."""
        if self.counter is INFERENCE:
            raise AutogradError("Inference tensors do not track version counter.")
        return self.counter.count

    def is_inference(self) -> bool:
        """Was this tensor made in `inference_mode`?

        >>> minigrad.zeros(2).is_inference()
        False
        """
        return self.counter is INFERENCE

    def _is_view(self) -> bool:
        return self._base is not None

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether this leaf requires a gradient. Returns the tensor itself.

        >>> minigrad.tensor([1.0]).requires_grad_()
        tensor([1.], requires_grad=True)
        """
        if not isinstance(requires_grad, (bool, np.bool_)):
            raise TypeError(
                f"requires_grad must be True or False, but got {type(requires_grad).__name__}."
            )
        if requires_grad == self.requires_grad:
            return self
        if not requires_grad:
            if not self.is_leaf:
                raise RuntimeError(CHANGED_BY_LEAVES_ONLY)
            self._forget_node()
            return self
        if self.counter is INFERENCE and not modes.state.inference:
            raise AutogradError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. To fix it, use "
                "x.clone().requires_grad_()."
            )
        if not dtypes.is_floating(self.array.dtype):
            raise DtypeError(
                "only Tensors of floating point dtype can require gradients, but this one is "
                f"{self.array.dtype}. To fix it, write the data as floats, like 1.0, or use x.float()."
            )
        dtypes.check_not_complex("this leaf", self.array.dtype)
        node = self.__dict__.pop("_frozen", None)
        self.node = AccumulateGrad(self) if node is None else node.thawed(self)
        self.node.grad = self._kept_grad
        return self

    def _made(self, requires_grad: bool) -> Self:
        """This new tensor, as a leaf that requires a gradient."""
        if not dtypes.is_floating(self.dtype):
            raise DtypeError(
                "Only Tensors of floating point and complex dtype can require gradients, but this one is "
                f"{self.dtype}. To fix it, write the data as floats, like 1.0, or pass a dtype."
            )
        return self.requires_grad_(requires_grad)

    # ------------------------------------------------------------------ the gradient

    @property
    def grad(self) -> "Tensor | None":
        """The gradient, summed over all backward passes so far; None if there is none yet.

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        if isinstance(self.node, AccumulateGrad):
            if modes.unusual:
                modes.tell("reads_grad", self.node)
            return self.node.grad
        if isinstance(self.node, Node) and self._kept_grad is None and not self.retains_grad:
            warn_user(GRAD_OF_NON_LEAF)
        return self._kept_grad

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        """Replace the gradient with None, or with a tensor of the same shape and dtype."""
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None, but got {type(value).__name__}."
                )
            if value is self:
                raise AutogradError(
                    "can't assign Variable as its own grad. To fix it, use x.detach()."
                )
            if value.array.shape != self.array.shape:
                raise ShapeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                    f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size"
                )
            if value.array.dtype != self.array.dtype:
                raise DtypeError(
                    f"attempting to assign a gradient with dtype '{value.array.dtype}' to a tensor with dtype "
                    f"'{self.array.dtype}'. To fix it, write  x.grad = g.to(x.dtype)."
                )
        if isinstance(self.node, AccumulateGrad):
            modes.tell("sets_grad", self.node)
            self.node.grad = value
        else:
            self._kept_grad = value

    @grad.deleter
    def grad(self) -> None:
        """Set the gradient to None."""
        self.grad = None

    _grad = grad  # programs that train in several processes write to it: shared._grad = p.grad

    def backward(
        self,
        gradient: "Tensor | None" = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: "Tensor | Sequence[Tensor] | None" = None,
        *,
        engine: str | None = None,
    ) -> None:
        """Add the gradient of this tensor to the `.grad` of each leaf that it depends on.

        gradient       the gradient with respect to this tensor, with its shape.
                       Optional for a scalar, where it is 1.
        retain_graph   keep the saved values, so that backward can run again
        create_graph   record the backward pass itself, for gradients of gradients
        inputs         compute gradients only for these tensors
        engine         "graph", the default; or "tape" or "recursive", to compare: see engines.py

        Raises NoGradient if nothing here requires a gradient, BackwardTwice if the graph was
        freed, and SavedValueChanged if an in-place write changed a saved value.

        >>> import minigrad
        >>> x = minigrad.tensor(3.0, requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        run_backward((self,), (gradient,), retain_graph, create_graph, inputs, engine)

    @property
    def retains_grad(self) -> bool:
        """Does this non-leaf tensor keep its gradient (see `retain_grad`)?

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> x.retains_grad
        False
        """
        return self._retains

    def retain_grad(self) -> None:
        """Keep this tensor's gradient in `.grad`, although it is not a leaf.

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * 3
        >>> y.retain_grad()
        >>> y.sum().backward()
        >>> y.grad
        tensor([1., 1.])
        """
        if self.node is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if not self.is_leaf and not self.retains_grad:
            self._retains = True
            keep_gradient(self)

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call hook(gradient) whenever this tensor's gradient has been computed.

        If the hook returns a tensor, that replaces the gradient. Hooks are called in the
        order they were registered; `handle.remove()` removes one.

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_hook(lambda g: g * 10)
        >>> x.sum().backward()
        >>> x.grad
        tensor([10., 10.])
        """
        return RemovableHandle(self._hooks().on_result, hook)

    def register_post_accumulate_grad_hook(self, hook: Hook) -> RemovableHandle:
        """Call hook(leaf) whenever a backward pass has added to this leaf's `.grad`.

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda x: print(x.grad))
        """
        if not self.is_leaf:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        return RemovableHandle(self._hooks().finally_, hook)

    def _hooks(self) -> Hooked:
        if self.node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return hooks_of(self.node)

    def detach_(self) -> Self:
        """Drop this tensor's history: from now on it is a leaf that requires no gradient.

        >>> minigrad.tensor([1.0], requires_grad=True).detach_()
        tensor([1.])
        """
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. The base has the history as well."
            )
        self._forget_node()
        self._tangents = None
        return self

    def _forget_node(self) -> None:
        """Drop the history. A leaf keeps its `.grad`, but ignores new gradients from existing graphs."""
        if isinstance(self.node, AccumulateGrad):
            self._kept_grad = self.node.grad
            self.node.plan = NoAccumulation(self.node.plan)
            self.__dict__["_frozen"] = self.node  # with its hooks, if it requires a gradient again
        self.node = None

    # ------------------------------------------------------------------ the values

    def detach(self) -> "Tensor":
        """A tensor on the same memory, without history.

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> x.detach()
        tensor([1., 2.])
        """
        return self._same_memory(self._shared_counter())

    @property
    def data(self) -> "Tensor":
        """A tensor on the same memory, without history; writes to it do not change this tensor's version.

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> x.data
        tensor([1., 2.])
        """
        return self._same_memory(INFERENCE if self.counter is INFERENCE else FRESH)

    @data.setter
    def data(self, value: "Tensor") -> None:
        """Give this tensor the values of another one. The history is not updated."""
        if modes.tell("replaces_data", self, value):
            return
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}.")
        if self.node is not None:
            if not dtypes.is_floating(value.array.dtype):
                raise DtypeError(
                    "data set to a tensor that requires gradients must be floating point or complex dtype, but it is "
                    f"{value.array.dtype}. To fix it, use value.float()."
                )
            dtypes.check_not_complex("the new data", value.array.dtype)
        self._replace_array(value.memory() if value.array.shape else value.array)

    def memory(self) -> Array:
        """The values as a writable array (a NumPy scalar is not writable).

        >>> minigrad.tensor([1.0, 2.0]).memory()
        array([1., 2.], dtype=float32)
        """
        if not isinstance(self.array, np.ndarray):
            self._replace_array(np.array(self.array))
            source = self.__dict__.pop("_source", None)
            if source is not None and source.is_sparse:
                source._replace_array(self.array)
        return self.array

    def _replace_array(self, array: Array) -> None:
        self.array = array
        if isinstance(self.node, AccumulateGrad):
            self.node._array = array

    def _shared_counter(self) -> Counter:
        """The counter of this memory, ready to be shared with a view."""
        if self.counter is FRESH:
            self.counter = Counter()
            if isinstance(self.node, AccumulateGrad):
                self.node._counter = self.counter
        return self.counter

    def _same_memory(self, counter: Counter) -> "Tensor":
        sparse = not isinstance(self.array, np.ndarray) and self.is_sparse
        z = assembled(self.array if sparse else self.memory(), counter, None)
        if sparse:  # a gradient by rows stays one until it is written to, here or through z
            z._source = self
        if modes.unusual > modes.light:
            modes.tell("detached", z, self)
        return z

    # ------------------------------------------------------------------ copying and saving to files

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment. Use x.detach().clone()."
            )
        cls = Tensor if isinstance(self, View) else type(self)
        array = np.array(modes.read_values(self))
        z = memo[id(self)] = _unpickled(cls, array, self.requires_grad)
        if self.grad is not None:
            z.grad = self.grad.__deepcopy__(memo)
        if self.__dict__:
            z.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return z

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """For pickle: the values, whether a gradient is required, and attributes; not the history."""
        cls = Tensor if isinstance(self, View) else type(self)
        attributes = self.__dict__ if self.is_leaf else None
        return _unpickled, (cls, self.array, self.requires_grad), attributes or None

    # ------------------------------------------------------------------ operations

    def __apply_op__(self, op: Op, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        for a in args:
            if hasattr(a, "__apply_op__") and not issubclass(type(a), Tensor):
                return NotImplemented  # a program is being recorded: its Slots handle the op
        return apply(op, args, settings)

    def _constant(self, array: Array) -> "Tensor":
        return wrap(array)

    def _write(self, op: Op, *others: object, **settings: object) -> Self:
        """Apply an op in place: write its result to this tensor."""
        z: Self | None = write(op, self, others, settings)
        return self if z is None else z

    def _rearrange(self, op: Op, **settings: object) -> Self:
        """Apply a view op in place (x.t_()): change the shape and strides of this tensor."""
        # The short way, if no view and no node refers to this memory.
        if self.counter is FRESH and self.node is None and modes.unusual <= modes.light:
            self.array = computed(op, [self.memory()], settings)
            bump(self)
            return self
        if modes.state.recording:
            refuse(self, [self.node])
        same: Tensor = self
        if not isinstance(self, View):
            same = self._same_memory(self._shared_counter())
            same.node, same._tangents = self.node, self._tangents
        z = op.apply(same, **settings)
        if not issubclass(type(z), Tensor):
            return z._rearrange(op)  # a program is being recorded
        if isinstance(self, View):
            self.view_chain = without_detour(self._base.array, z)
        else:
            counter, step = same.counter, ViewStep(op, settings)
            counter.undo = chains_back(counter.undo, step, self.array, z.array)
        self._replace_array(z.array)
        if isinstance(z.node, Node):
            self.node = z.node
            if op.name in ("t", "transpose", "unsqueeze"):
                z.node.rename(op.node_name.replace("0", "1"))
        bump(self)
        return self

    def _read_as(self, dtype: DTypeLike) -> Any:
        z = self.detach()
        try:
            z.array = z.array.view(dtype)
        except ValueError:
            new = dtypes.as_dtype(dtype)
            ratio = new.itemsize // self.array.itemsize
            if not self.ndim:
                what = "self.dim() cannot be 0"
            elif (step := self.stride(-1)) != 1:
                what = f"self.stride(-1) must be 1, not {step},"
            else:
                what = f"self.size(-1) must be divisible by {ratio}, and not be {self.size(-1)},"
            raise RuntimeError(
                f"{what} to view {dtypes.torch_name(self.dtype)} as {dtypes.torch_name(new)} (different element sizes)"
            ) from None
        ratio = max(z.array.itemsize // self.array.itemsize, 1)
        steps = {f"stride({k})": n for k, n in enumerate(self.stride()[:-1])}
        for name, n in ({"storage_offset()": self.storage_offset()} | steps).items():
            if n % ratio:
                raise RuntimeError(
                    f"self.{name} must be divisible by {ratio} to view as {z.dtype}, but is {n}"
                )
        return z


class View(Tensor):
    """A tensor that shares the memory of another tensor, its base; see views.py."""

    __slots__ = ("_base", "_node", "_seen", "view_chain")

    _node: Any
    _seen: int
    origin: tuple[Any, ...] | None = None  # why recorded writes are refused; see inplace.py
    _base: Tensor
    view_chain: ViewChain
    _own_tangents: "dict[int, Tensor] | None" = None  # used if the base has none
    # A cache: the base's tangents, and this view of them.
    _from_base: "tuple[Any, dict[int, Tensor]] | None" = None

    @property
    def _tangents(self) -> "dict[int, Tensor] | None":
        """In forward mode: this view of the base's tangents, if the base has any."""
        theirs = self._base._tangents
        if theirs is None:
            return self._own_tangents
        if self._from_base is None or self._from_base[0] is not theirs:
            with modes.unobserved():
                ours = {level: apply_chain(t, view_chain_to(self)) for level, t in theirs.items()}
            self._from_base = (theirs, ours)
        return {**(self._own_tangents or {}), **self._from_base[1]}

    @_tangents.setter
    def _tangents(self, tangents: "dict[int, Tensor] | None") -> None:
        self._own_tangents = tangents

    @property
    def node(self) -> Node | AccumulateGrad | None:
        """The view's history; recomputed if the base's history has changed."""
        node: Node | AccumulateGrad | None = self._node
        if self._seen == self.counter.history:
            if node is not None or self.origin is not None or self._base.node is None:
                return node
        elif self.origin is not None:
            # The history of this view cannot be updated: keep it, or raise an error.
            if modes.state.recording and self._base.node is not None:
                what = "its base or another view of its base has been"
                raise AutogradError(refused_view(self.origin, what))
            return node
        elif isinstance(node, AccumulateGrad) and self._base.node is None:
            # A leaf stays a leaf: another tensor's write was recorded.
            self._seen = self.counter.history
            return node
        if modes.unusual:
            with modes.enable_grad(), modes.unobserved():
                node = apply_chain(self._base, view_chain_to(self)).node
        else:
            node = apply_chain(self._base, view_chain_to(self)).node
        # Keep the gradient of the current value, not of the one before the write.
        if self._retains and node is not None:
            if self._node is not None:
                hooks_of(self._node).keep = None
            keep_gradient(self, node)
        self._node = node
        self._seen = self.counter.history
        return node

    @node.setter
    def node(self, node: Node | AccumulateGrad | None) -> None:
        """Give the view this history, which holds until its base is written to."""
        self._node = node
        self._seen = self.counter.history


one_for_users(Tensor)
View.__name__ = View.__qualname__ = "Tensor"  # for the user, a view is an ordinary Tensor


def view_of(x: Tensor, array: Array, step: ViewStep) -> View:
    """A view of x, with `array` as its values: an array that shares x's memory."""
    z: View = new(View)
    z.array, z.counter = array, x._shared_counter()
    if isinstance(x, View):
        z._base, z.view_chain = x._base, (*x.view_chain, step)
    else:
        z._base, z.view_chain = x, (step,)
    z.node = None
    if not modes.state.recording:
        z.origin = ("inference" if modes.state.inference else "no_grad",)
    elif isinstance(x, View) and x.origin is not None:
        z.origin = x.origin
    return z


def made(cls: type[Tensor], dtype: dtypes.Dtype, *what: Any, **settings: Any) -> Any:
    """Implements Tensor(...) and FloatTensor(...): a tensor with the given data, or zeros of a given shape.

    Given a tensor, returns a new tensor that shares its memory.
    """
    if settings.keys() - {"data", "size", "device"} or (what and settings.keys() - {"device"}):
        raise TypeError(
            f"new() received an invalid combination of arguments - got {', '.join(settings)}. "
            "To fix it, write  minigrad.tensor(data, dtype=..., requires_grad=...)."
        )
    check_device(settings.pop("device", None))
    data = what or tuple(settings.values())
    if len(data) == 1 and hasattr(data[0], "__apply_op__"):
        z: Tensor = data[0][...]
        return z if cls is Tensor else assembled(z.array, z.counter, z.node, cls)
    if "size" in settings or (len(data) == 1 and isinstance(data[0], Size)):
        array = np.zeros(data[0], dtype)
    else:
        array = sized_or_filled(data, dtype)
    z = assembled(array, INFERENCE if modes.state.inference else FRESH, None, cls)
    modes.tell("made", z)
    return z


def wrap(array: Array | np.generic) -> Tensor:
    """A tensor that shares this array's memory and requires no gradient."""
    z: Tensor = new(Tensor)
    z.array, z.counter, z.node = array, FRESH, None
    if modes.unusual > modes.light:
        if modes.state.inference:
            z.counter = INFERENCE
        modes.tell("made", z)
    return z


def assembled(
    array: Array, counter: Counter, node: Node | AccumulateGrad | None, cls: type[Tensor] = Tensor
) -> Tensor:
    """A tensor with this array, counter and node."""
    z = new(cls)
    z.array, z.counter, z.node = array, counter, node
    return z


def _result_of(node: Node, array: Array, counter: Counter) -> Tensor:
    return with_tangents(assembled(array, counter, node), node.tangents)


def _unpickled(cls: type[Tensor], array: Array, requires_grad: bool) -> Tensor:
    z = assembled(array, FRESH, None, cls)
    modes.tell("made", z)
    return z.requires_grad_() if requires_grad else z


make.Tensor, make.tensor, make.wrap = Tensor, assembled, wrap
make.view, make.result_of = view_of, _result_of
