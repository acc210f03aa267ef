"""Tensor: an array that may remember how it came about.

    array      the values, a NumPy array (or a NumPy scalar, if there are no axes)
    node       None: no gradient is wanted.  An AccumulateGrad: this is a leaf, and its
               gradient is.  A Node: an op made this tensor, and the node remembers how
    counter    how often the memory was written to; a base and its views share one

`apply` is the heart: it runs an op's forward function, and if some operand requires a
gradient it puts a node on the tape. (fast.py writes a shorter version of it for each op,
for the common case; what it does is what `apply` does.) `write` is its in-place sibling.

Read op.py and node.py first. The operators and methods that tensors have are listed in
methods.py; each is one line that applies an op.
"""

import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from minigrad import dtypes, formatting, modes
from minigrad.engine import GraphTask
from minigrad.errors import (
    DtypeError,
    LeafChangedInPlace,
    NoGradient,
    ShapeError,
    learner_line,
    shape_error,
    table,
)
from minigrad.hooks import RemovableHandle, hooks_of
from minigrad.methods import ArrayMethods
from minigrad.node import (
    FRESH,
    AccumulateGrad,
    Counter,
    Like,
    Node,
    NotDifferentiable,
    case_of,
    make,
    new,
    next_rank,
)
from minigrad.op import Op
from minigrad.shapes import Shape
from minigrad.views import Hop, Way, rewritten, shows, walk


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
    name: str | None = None
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
        return node if isinstance(node, Node) else None

    @property
    def output_nr(self) -> int:
        return 0

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
                raise TypeError(f"assigned grad expected to be a Tensor or None, but got {type(value).__name__}.")
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
    ) -> None:
        """Add the gradient of this tensor to the `.grad` of each leaf that it depends on.

        gradient       shaped like this tensor: the gradient of whatever comes after it.
                       May be left out for a scalar, where it is 1.
        retain_graph   keep the saved values, so that backward can run again
        create_graph   record the backward pass itself, for gradients of gradients
        inputs         only these tensors get a gradient

        Raises NoGradient if nothing here requires one, BackwardTwice if the graph was
        used up, and SavedValueChanged if an in-place write spoiled it.

        >>> import minigrad
        >>> x = minigrad.tensor(3.0, requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        run_backward((self,), (gradient,), retain_graph, create_graph, inputs)

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
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return RemovableHandle(hooks_of(self.node).finally_, hook)

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
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
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

    # ------------------------------------------------------------------ Python's protocols

    __hash__ = object.__hash__

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return formatting.describe(self)

    __str__ = __repr__

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
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.array.dtype.kind not in "iub" or self.array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.node is not None and modes.state.recording:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        a = self.memory()
        if dtype is not None and dtype != a.dtype:
            return a.astype(dtype)
        return a.copy() if copy else a

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment. Use x.detach().clone()."
            )
        z = new(type(self) if not isinstance(self, View) else Tensor)
        z.array, z.counter, z.node = np.array(self.array), FRESH, None
        memo[id(self)] = z
        if self.node is not None:
            z.requires_grad_()
        if self.grad is not None:
            z.grad = self.grad.__deepcopy__(memo)
        return z

    # ------------------------------------------------------------------ operations

    def __apply_op__(self, op: Op, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        for a in args:
            if hasattr(a, "__apply_op__") and not isinstance(a, Tensor):
                return NotImplemented  # a program is being recorded: that is for its Slots
        return apply(op, args, settings)

    def _write(self, op: Op, *others: Any, **settings: Any) -> Self:
        """Apply an op in place: its result is written over this tensor."""
        return write(op, self, others, settings)


class View(Tensor):
    """A tensor that shows the memory of another, its base; see views.py."""

    __slots__ = ("_node", "_seen", "base", "way")

    base: Tensor
    way: Way

    @property  # type: ignore[override]
    def node(self) -> Node | AccumulateGrad | None:
        """The view's history; found anew when the base's was rewritten since."""
        if self._seen != self.counter.history:
            with modes.enable_grad(), modes.unobserved():
                self._node: Any = walk(self.base, self.way).node
            self._seen = self.counter.history
        return self._node

    @node.setter
    def node(self, node: Node | AccumulateGrad | None) -> None:
        self._node = node
        self._seen: int = self.counter.history

    @property
    def _base(self) -> Tensor | None:
        return self.base


View.__name__ = View.__qualname__ = "Tensor"  # for the learner a view is a tensor like any other


# ---------------------------------------------------------------------- applying an op


def apply(op: Op, args: Sequence[Any], settings: dict[str, Any]) -> Any:
    """Run an op on tensors: compute the result, and put a node on the tape if one is wanted.

    Arguments that are no tensors (numbers, arrays) are constants.
    """
    operands, arrays = prepare(op, args)
    state = modes.state
    try:
        z_array = op.forward(*arrays, **settings)
    except ValueError as error:
        raise shape_error(op.name, [a.shape for a in arrays], settings, error) from None
    if op.view and shows(z_array, arrays[0]):
        z = view_of(operands[0], z_array, Hop(op, settings))
    else:
        z = new(Tensor)
        z.array, z.counter, z.node = z_array, FRESH, None
    needs = tuple([x.node is not None for x in operands])
    if True in needs and op.rules and state.recording and dtypes.is_floating(z_array.dtype):
        if op.operands and any(need and n not in op.rules for need, n in zip(needs, op.operands, strict=False)):
            name = next(n for need, n in zip(needs, op.operands, strict=False) if need and n not in op.rules)
            raise NotDifferentiable(op, name)
        z.node = record(op, operands, needs, settings, z)
    if state.observer is not None:
        state.observer.forward(op, tuple(operands), z, settings, False)
    return z


def record(
    op: Op, operands: Sequence[Tensor], needs: tuple[bool, ...], settings: dict[str, Any], z: Tensor
) -> Node:
    """The node of z = op(*operands), with what its rules will read."""
    case = case_of(op, needs, must_fit(op, operands, needs, z))
    node: Node = new(Node)
    node.case = case
    node.edges = tuple([x.node for x in operands if x.node is not None])  # type: ignore[misc]
    if case.reads:
        if "z" in case.tensors:
            z._shared_counter()
        node.saved, node.version = case.save(
            values_of(op, operands, settings), z.array, z.counter, z.counter.count
        )
    node.rank = next_rank()
    if modes.state.tracing:
        node.place = learner_line()
        node.versions = {name: c.count for name, c in node.counters().items()} if case.reads else {}
    return node


def must_fit(op: Op, operands: Sequence[Tensor], needs: Sequence[bool], z: Tensor) -> bool:
    """Can a rule's gradient differ from its input in shape (a broadcast) or in type?"""
    dtype = z.array.dtype
    for x, need in zip(operands, needs, strict=True):
        if need and x.array.dtype != dtype:
            return True
    if len(operands) == 1 or op.variadic:
        return False
    if op.kind != "elementwise":
        return True
    shape = z.array.shape
    return any(x.array.shape != shape for x in operands)


def values_of(op: Op, operands: Sequence[Tensor], settings: dict[str, Any]) -> dict[str, Any]:
    """Everything that a rule may name, but for the result."""
    values = {**op.settings, **settings}
    if op.variadic:
        values["xs"] = tuple(operands)
        values["xs_shapes"] = tuple([x.array.shape for x in operands])
        values["xs_like"] = tuple([Like(x.array.shape, x.array.dtype) for x in operands])
        return values
    for name, x in zip(op.operands, operands, strict=True):
        values[name] = x
        values[f"{name}_shape"] = x.array.shape
        values[f"{name}_like"] = Like(x.array.shape, x.array.dtype)
    return values


def view_of(x: Tensor, array: Any, hop: Hop) -> View:
    """The tensor that shows `array`, which is a part or another arrangement of x's memory."""
    z: View = new(View)
    z.array, z.counter = array, x._shared_counter()
    if isinstance(x, View):
        z.base, z.way = x.base, (*x.way, hop)
    else:
        z.base, z.way = x, (hop,)
    z.node = None
    return z


def prepare(op: Op, args: Sequence[Any]) -> tuple[list[Tensor], list[Any]]:
    """The operands as Tensors, and as arrays of the type in which the op will compute."""
    for a in args:
        if type(a) is not Tensor and not isinstance(a, (Tensor, int, float, complex, np.generic)):
            args = [x if isinstance(x, (Tensor, int, float, complex, np.generic)) else Tensor(x) for x in args]
            break
    tensors = [a for a in args if isinstance(a, Tensor)]
    first = tensors[0].array.dtype
    result = op.result
    if len(tensors) == len(args) and (result in ("same", "bool", "int") or dtypes.is_floating(first)):
        for x in tensors:
            if x.array.dtype != first:
                break
        else:
            if op.view:
                tensors[0].memory()
            return tensors, [x.array for x in tensors]
    dtype = common_dtype(op, args)
    masks = op.masks
    operands, arrays = [], []
    for k, a in enumerate(args):
        if isinstance(a, Tensor):
            array = a.memory() if op.view else a.array
            if array.dtype != dtype and not (masks and op.operands[k] in masks):
                array = array.astype(dtype)
        else:
            array = dtype.type(a)
            a = new(Tensor)
            a.array, a.counter, a.node = array, FRESH, None
        operands.append(a)
        arrays.append(array)
    return operands, arrays


def common_dtype(op: Op, args: Sequence[Any]) -> dtypes.Dtype:
    """The type of number in which an op computes on these operands."""
    typed = args if not op.masks else [a for a, n in zip(args, op.operands, strict=True) if n not in op.masks]
    with_axes = [a.array.dtype for a in typed if isinstance(a, Tensor) and a.array.ndim]
    without = [a.array.dtype for a in typed if isinstance(a, Tensor) and not a.array.ndim]
    numbers = [dtypes.of_number(a) for a in typed if not isinstance(a, Tensor)]
    dtype = dtypes.result_type(with_axes, without, numbers)
    if op.result == "strict" and len({*with_axes, *without}) > 1:
        names = " != ".join(str(a.array.dtype) for a in typed)
        raise DtypeError(
            f"expected the operands of {op.name} to have the same dtype, but got: {names}. "
            f"To mend it, convert one, like  x.to({dtype})."
        )
    if op.result == "float" and not dtypes.is_floating(dtype):
        return dtypes.get_default_dtype()
    if op.result == "sum" and not dtypes.is_floating(dtype):
        return dtypes.int64
    return dtype


# ---------------------------------------------------------------------- writing in place


def write(op: Op, x: Tensor, others: Sequence[Any], settings: dict[str, Any]) -> Any:
    """Run an op with its result written over its first operand.

    The tensor stays the same object; it gets a new version, and a new node if a gradient
    is wanted. What a rule needs of the value that is overwritten is copied first.
    """
    recording = modes.state.recording
    if recording:
        refuse_leaf(x)
    array = x.memory()
    operands, arrays = prepare(op, (x, *others))
    dtype = arrays[0].dtype
    if not np.can_cast(dtype, array.dtype, "same_kind"):
        raise DtypeError(
            f"result type {dtype} can't be cast to the desired output type {array.dtype}: "
            f"{op.name}_ writes over a tensor of {array.dtype}. To mend it, write  x = x.{op.name}(...)"
            "  (a new tensor), or convert x first."
        )
    shape = array.shape
    if op.kind == "elementwise" and len(arrays) > 1:
        try:
            shape = np.broadcast_shapes(*(a.shape for a in arrays))
        except ValueError as error:
            raise shape_error(op.name, [a.shape for a in arrays], settings, error) from None
    if shape != array.shape:
        raise ShapeError(
            f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(shape)}: "
            f"{op.name}_ cannot make its tensor larger."
        )
    needs = tuple([a.node is not None for a in operands])
    node = None
    if recording and True in needs and op.rules:
        node = record_write(op, operands, needs, settings)
    op.forward(*arrays, **settings, out=array) if dtype == array.dtype else np.copyto(
        array, op.forward(*arrays, **settings), casting="same_kind"
    )
    bump(x)
    if node is not None:
        attach(node, x)
    if modes.state.observer is not None:
        modes.state.observer.forward(op, tuple(operands), x, settings, True)
    return x


def refuse_leaf(x: Tensor) -> None:
    """Raise if x, or the base of which it is a view, is a leaf that requires a gradient."""
    base = x._base
    if base is not None and isinstance(base.node, AccumulateGrad):
        what = "a view of a leaf Variable that requires grad is being used in an in-place operation."
    elif isinstance(x.node, AccumulateGrad):
        what = "a leaf Variable that requires grad is being used in an in-place operation."
    else:
        return
    place = learner_line()
    where = "" if place is None else "\n" + table([("here", place.label, place.text)])
    raise LeafChangedInPlace(
        f"{what} The leaf's value would change, and its gradient would belong to neither the old "
        f"value nor the new one.{where}\n"
        "    To mend it, make a new tensor (y = x + 1, not x += 1), or, to update a parameter, "
        "write inside  with minigrad.no_grad():"
    )


def record_write(
    op: Op, operands: list[Tensor], needs: tuple[bool, ...], settings: dict[str, Any]
) -> Node:
    """The node of an in-place op, made before the old value is gone."""
    x = operands[0]
    case = case_of(op, needs, must_fit(op, operands, needs, x))
    node: Node = new(Node)
    node.case = case
    node.edges = tuple([a.node for a in operands if a.node is not None])  # type: ignore[misc]
    if case.reads:
        values = values_of(op, operands, settings)
        if "x" in case.tensors:
            before: Tensor = new(Tensor)
            before.array, before.counter, before.node = np.array(x.array), FRESH, x.node
            values["x"] = before
        counter = x._shared_counter()
        node.saved, node.version = case.save(values, x.array, counter, counter.count + 1)
    if modes.state.tracing:
        node.place = learner_line()
        node.versions = {name: c.count for name, c in node.counters().items()} if case.reads else {}
        if "z" in case.tensors:
            node.versions["z"] += 1
    return node


def bump(x: Tensor) -> None:
    """x's memory has been written to: count it, and remember where."""
    counter = x._shared_counter()
    counter.count += 1
    counter.place = learner_line()


def attach(node: Node, x: Tensor) -> None:
    """Make `node`, an in-place write to x, the latest entry of x's history."""
    node.rank = next_rank()
    if x.retains_grad and x.node is not None:
        hooks_of(x.node).keep = None  # what is kept is the gradient of the value that x has now
    x.counter.history += 1
    if isinstance(x, View):
        x.base.node = rewritten(x.base.node, x.way, node)
        if isinstance(x.base, View):
            raise AssertionError("the base of a view is never a view")
    else:
        x.node = node
    if x.retains_grad:
        keep_gradient(x)


# ---------------------------------------------------------------------- making tensors


def as_array(data: Any, dtype: Any = None) -> Any:
    """The data as an array of a type that tensors know; Python floats take the default type.

    Raises TypeError for what is no number, ValueError for rows of unequal length.
    """
    if isinstance(data, Tensor):
        array = np.array(data.array)
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
    else:
        array = _array_of_python(data)
    if dtype is not None:
        array = array.astype(dtypes.as_dtype(dtype))
    elif array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic, Tensor)):
        if not _holds_arrays(data):
            array = array.astype(dtypes.get_default_dtype())
    dtypes.category(array.dtype)
    return array


def _holds_arrays(data: Any) -> bool:
    """Does this (nested) list hold arrays or tensors, which keep their own type?"""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic, Tensor)) and data.dtype == np.float64


def _array_of_python(data: Any) -> Any:
    """Nested lists (whose entries may be tensors) as an array."""

    def plain(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.array
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        return value

    try:
        array = np.array(plain(data))
    except ValueError as error:
        raise ValueError(f"the rows of the data are not all of the same length: {error}") from None
    if array.dtype == object or array.dtype.kind in "USMmV":
        raise TypeError(f"tensors hold numbers or truth values; new(): invalid data type {type(data).__name__!r}.")
    return array if array.size or array.dtype != np.float64 else array.astype(dtypes.get_default_dtype())


def _wrap(array: Any) -> Tensor:
    z: Tensor = new(Tensor)
    z.array, z.counter, z.node = array, FRESH, None
    return z


def _result_of(node: Node, array: Any, counter: Counter) -> Tensor:
    z: Tensor = new(Tensor)
    z.array, z.counter, z.node = array, counter, node
    return z


def _revive(leaf: AccumulateGrad) -> Tensor:
    z: Tensor = new(Tensor)
    z.array, z.counter, z.node = leaf._array, leaf._counter, leaf
    return z


make.wrap, make.result_of, make.revive = _wrap, _result_of, _revive


# ---------------------------------------------------------------------- backward


def run_backward(
    outputs: Sequence[Tensor],
    gradients: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: "Tensor | Sequence[Tensor] | None",
) -> None:
    """`Tensor.backward` for several outputs at once, as in `autograd.backward`."""
    if retain_graph is None:
        retain_graph = create_graph
    wanted = None
    if inputs is not None:
        wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        if not wanted:
            raise RuntimeError("`inputs` argument to `backward` cannot be empty.")
        for x in wanted:
            if x.node is None:
                raise NoGradient("One of the differentiated Tensors does not require grad")
    task = GraphTask(
        [root_of(z) for z in outputs],
        [seed(z, g, create_graph) for z, g in zip(outputs, gradients, strict=True)],
        retain_graph=retain_graph,
        create_graph=create_graph,
        inputs=None if wanted is None else [x.node for x in wanted],  # type: ignore[misc]
    )
    run_task(task)
    for x in wanted or ():
        if isinstance(x.node, Node) and x.node in task.captured:
            g = task.captured[x.node]
            add_to_grad(x, g if create_graph else _wrap(np.array(g)))


def keep_gradient(x: Tensor) -> None:
    """Hang on x's node what puts the gradient into x.grad; x is not kept alive by it."""
    ref = weakref.ref(x)

    def keep(g: Tensor) -> None:
        tensor = ref()
        if tensor is not None:
            g = g if g.node is not None else _wrap(np.array(g.array))
            tensor._kept_grad = g if tensor._kept_grad is None else tensor._kept_grad + g

    assert x.node is not None
    hooks_of(x.node).keep = keep


def run_task(task: GraphTask) -> None:
    """Run a pass: at once if nobody looks, else step by step, telling the observer."""
    observer = modes.state.observer
    with modes.set_grad_enabled(task.create_graph):
        if observer is None and task.inputs is None:
            task.run()
            return
        if observer is None:
            for _ in task.steps():
                pass
            return
        error: BaseException | None = None
        observer.backward(task)
        try:
            for step in task.steps():
                observer.step(task, step)
        except BaseException as e:
            error = e
            raise
        finally:
            observer.finished(task, error)


def add_to_grad(x: Tensor, g: Tensor) -> None:
    """Add g to the `.grad` of a tensor that is no leaf."""
    x._kept_grad = g if x._kept_grad is None else x._kept_grad + g


def root_of(z: Any) -> Node | AccumulateGrad:
    """The node from which a backward pass of z starts."""
    if not isinstance(z, Tensor):
        raise TypeError(f"backward starts from Tensors, but got {type(z).__name__}.")
    if z.node is None:
        raise NoGradient(
            "element 0 of tensors does not require grad and does not have a grad_fn: nothing that "
            "this tensor was computed from requires a gradient. To mend it, make the inputs with "
            "requires_grad=True, and compute outside of no_grad()."
        )
    return z.node


def seed(z: Tensor, gradient: Any, create_graph: bool) -> Any:
    """The gradient that a pass starts with: as given, or 1 for a scalar."""
    if gradient is None:
        if z.array.size != 1:
            raise NoGradient(
                "grad can be implicitly created only for scalar outputs, and this one has the shape "
                f"{z.array.shape}. To mend it, reduce it (z.sum().backward()), or say how much each "
                "entry counts: z.backward(minigrad.ones_like(z))."
            )
        if not dtypes.is_floating(z.array.dtype):
            raise DtypeError("grad can be computed only for real scalar outputs")
        one = z.array.dtype.type(1) if not z.array.shape else np.ones(z.array.shape, z.array.dtype)
        return _wrap(one) if create_graph else one
    g = gradient if isinstance(gradient, Tensor) else _wrap(as_array(gradient, z.array.dtype))
    if g.array.shape != z.array.shape:
        raise ShapeError(
            f"Mismatch in shape: grad_output[0] has a shape of {list(g.array.shape)} and output[0] has "
            f"a shape of {list(z.array.shape)}. The gradient is shaped like the tensor it belongs to."
        )
    if g.array.dtype != z.array.dtype:
        g = apply(_to(), (g,), {"dtype": z.array.dtype})
    return g if create_graph else g.array


def _to() -> Op:
    from minigrad.ops.elementwise import to

    return to
