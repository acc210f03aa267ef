"""Slots: stand-ins for values while a program is being recorded.

A Slot interprets ops, as a Tensor does. It has the same methods, but each op that is applied
to it is added to the recorder's list of instructions:

    x, w = Slots            (x @ w).relu()   writes   %2 = matmul(%0, %1)
                                                      %3 = relu(%2)

To find shapes and dtypes without separate rules, we also run each op on example values. The
recorded function must not read these: if it branched on them, every later run would take the
same branch. So asking a Slot for its value is an error.

Minigrad computes some things with NumPy, outside of any op: an argmax, the order of a sort,
whether an index is in range. This code gets `slot.array`, a Traced: an array that records the
NumPy functions applied to it. So an index is computed again in each run. If a result of NumPy
would decide which path the recorded function takes, we raise an error.
"""

import builtins
import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, TypeVar

import numpy as np

from minigrad import ops
from minigrad.core import dtypes, modes
from minigrad.core.devices import MemoryFormat
from minigrad.core.dtypes import category, torch_name
from minigrad.core.errors import AutogradError, cannot_be_cast
from minigrad.core.inplace import WRITTEN_TWICE, refused_view
from minigrad.core.op import Op
from minigrad.core.shapes import Array
from minigrad.core.tensor import Size, Tensor
from minigrad.methods import ArrayMethods
from minigrad.methods.sampling import Sampling
from minigrad.static.ir import (
    Args,
    Function,
    Kwargs,
    NumpyFunction,
    ProgramError,
    Settings,
    mapped,
    parts_in,
    refs_in,
)

if TYPE_CHECKING:
    from minigrad.static.tracing import ProgramRecorder


F = TypeVar("F", bound=Callable[..., Any])


class Shared:
    """Memory that several slots share: a base, its views, and tensors detached from them.

    slots       how many slots share it
    writes      how often it was written to
    uncounted   did the user read x.data? In an eager run, writes to x.data are not counted
    """

    __slots__ = ("slots", "uncounted", "writes")

    def __init__(self) -> None:
        self.slots = self.writes = 0
        self.uncounted = False


class ViewOrigin(NamedTuple):
    """Why a slot shares another slot's memory.

    base, op, settings   it is op(base, **settings)
    link    how the two histories are connected:

        VIEW       the slot's history is part of the base's: a write to one changes both
        APART      the slot was detached: it shares values, but has its own history
        UNRECORDED the view was made under no_grad: no history until the base is written to
    """

    base: "Slot"
    op: Op
    settings: Settings
    link: str


VIEW, APART, UNRECORDED = "view", "apart", "unrecorded"


def or_stored(method: F) -> F:
    """This method of a slot; once the slot is used as a tensor (see Slot.stored), that of the tensor."""

    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        stored = getattr(self, "stored", None)
        if stored is not None:
            return getattr(stored, method.__name__)(*args, **kwargs)
        return method(self, *args, **kwargs)

    return called  # type: ignore[return-value]


class NotRecorded(ProgramError, AttributeError):
    """Raised for an attribute of tensors that the values of a program don't have."""


class Slot(Sampling, ArrayMethods):
    """A value of a program that is being recorded.

    recorder   records the program
    index      the number of the value
    shows      for a view: its ViewOrigin, the base slot and how the view is made from it
    memory_    the Shared object of all slots with the same memory
    seen       the number of writes to that memory when `index` was computed
    stored     None. But if the recorded function has stored the slot outside (in an attribute, a list),
               a tensor with its value in the latest run: from then on, the slot is used as this tensor
    """

    __slots__ = ("__weakref__", "index_", "memory_", "recorder", "seen", "shows", "stored")
    __array_priority__ = 2000
    _tangents = None

    def __init__(
        self, recorder: "ProgramRecorder", index: int, shows: ViewOrigin | None = None
    ) -> None:
        self.recorder, self.index_, self.shows = recorder, index, shows
        self.memory_: Shared = Shared() if shows is None else shows.base.memory_
        self.memory_.slots += 1
        self.seen = self.memory_.writes
        self.stored: Tensor | None = None
        recorder.slots.append(weakref.ref(self))

    @property  # type: ignore[misc]  # it cannot be assigned to
    def __class__(self) -> Any:
        """Tensor: to isinstance, a slot is what it stands for. (type() and issubclass() tell them apart.)"""
        return Tensor

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(Tensor, name):
            inner = name[0] == "_" or name in ("node", "counter")
            raise NotRecorded(
                f"{'this' if inner else name + ' of a tensor'} cannot be recorded in a program: nothing has been "
                "computed. To fix it, use another operation, or do it outside of the recorded function."
            )
        raise AttributeError(f"'Tensor' object has no attribute {name!r}")

    @property
    def index(self) -> int:
        """The number of the value. For a view, it is updated after a write to the shared memory."""
        if self.shows is not None and self.memory_.writes != self.seen:
            self._update_index(self.shows)
        return self.index_

    def _update_index(self, origin: ViewOrigin) -> None:
        """Update the number of a view after a write to the shared memory."""
        recorder, number = self.recorder, origin.base.index
        if origin.link == UNRECORDED and modes.state.recording and recorder.is_live(number):
            raise ProgramError(
                "a view that was made under no_grad is used after its memory was written to, and it is not clear "
                "whether a gradient should flow through it. To fix it, make the view after the write, or outside of "
                "the no_grad block."
            )
        old = self.index_
        self.index_ = recorder.emit(origin.op, (number,), origin.settings)
        history = old if origin.link == APART else None
        recorder.settle(self.index_, stopped=origin.link != VIEW, history=history)
        if origin.link != UNRECORDED or modes.state.recording:
            self.seen = self.memory_.writes

    def __apply_op__(self, op: Op, args: tuple[Any, ...], settings: Settings) -> Any:
        if self.stored is not None:
            modes.tell("rereads")
            return op.apply(*map(as_stored, args), **settings)
        return self.recorder.apply(op, args, settings)

    # ------------------------------------------------------------------ properties

    @property
    def array(self) -> Any:
        """The value for NumPy code; for a constant, the array itself."""
        if self.stored is not None:
            return self.stored.array
        i = self.index
        value = self.recorder.examples[i]
        if self.recorder.values[i].kind == "constant":
            return value
        a = np.asarray(value).view(Traced)
        a.slot = self
        return a

    @property
    def shape(self) -> Size:
        """The shape. It is fixed by the recording."""
        return Size(self.recorder.values[self.index].shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype. It is fixed by the recording."""
        return dtypes.of_array(self.recorder.values[self.index].dtype)

    @property
    def requires_grad(self) -> bool:
        """Can a gradient flow from here to an input, or to a tensor from outside that requires one?"""
        if self.stored is not None:
            return self.stored.requires_grad
        return self.recorder.is_live(self.index)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        """The same as requires_grad_(value)."""
        self.requires_grad_(value)

    def is_constant(self) -> bool:
        """Is this the same value in each run?"""
        return self.recorder.values[self.index].kind == "constant"

    is_leaf = False
    is_sparse = False
    retains_grad = False
    grad_fn = None
    _base = None

    @or_stored
    def memory(self) -> Array:
        """The example value as an ordinary array, to look up its memory layout."""
        return np.asarray(self.recorder.examples[self.index])

    def detach(self) -> "Slot":
        """The same value without its history."""
        with self.recorder.stopping():
            return self[...]

    @property
    def data(self) -> "Slot":
        """The detached value. Also notes that an eager run would not count writes to it."""
        self.memory_.uncounted = True
        return self.detach()

    @data.setter
    def data(self, value: object) -> None:
        """Nothing remains to be done after x.data *= 2. Otherwise raise ProgramError: x cannot get other memory."""
        if isinstance(value, Slot) and value.shows is not None and value.shows.base is self:
            return
        raise ProgramError(
            "x.data = y gives the tensor new memory, which cannot be recorded. To fix it, write  "
            "with minigrad.no_grad(): x.copy_(y)"
        )

    def detach_(self) -> Self:
        """Drop the history in place: from now on, no gradient flows through this slot."""
        if self.shows is not None and self.shows.link in (VIEW, UNRECORDED):
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        if self.memory_.slots > 1:
            raise ProgramError(
                "a tensor that has views cannot be detached in place: the history of the views would "
                "be unclear. To fix it, write  x = x.detach()"
            )
        with self.recorder.stopping():
            self.index_ = self.recorder.emit(ops.getitem, (self.index,), {"index": (...,)})
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """False detaches an input from here on; for a result it raises RuntimeError. True has no effect."""
        if requires_grad or not self.recorder.is_live(self.index):
            return self
        if self.index in self.recorder.inputs:
            return self.detach_()
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. "
            "To use this result without its history, write  y = x.detach()."
        )

    def contiguous(self, memory_format: MemoryFormat | None = None) -> Self:
        """The slot itself if its example is in C order; otherwise a copy that is."""
        in_order = not self.shape or self.recorder.examples[self.index].flags.c_contiguous
        return self if in_order else ops.clone(self, order="C")

    def _constant(self, array: Array) -> "Slot":
        if isinstance(array, Traced):
            return slot_of(array)
        return Slot(self.recorder, self.recorder.constant(np.asarray(array)))

    new_tensor: Any = Tensor.new_tensor  # a constant of the program
    new: Any = Tensor.new

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    __hash__ = object.__hash__

    @or_stored
    def __repr__(self) -> str:
        v = self.recorder.values[self.index]
        return f"<%{self.index} of a program: {v.shape} {v.dtype}; nothing is computed before the program runs>"

    # ------------------------------------------------------------------ writing in place

    @or_stored
    def _write(self, op: Op, *others: object, **settings: object) -> Self:
        """x += y: from now on, x stands for the sum. The old value stays in the program."""
        recorded = self.recorder.records(self, *others)
        if recorded and self._is_unrecorded():
            raise AutogradError(refused_view(("no_grad",), "is being"))
        z = self.recorder.apply(op, (self, *others), settings)
        if z.shape != self.shape:
            raise RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(z.shape)}: "
                f"{op.name}_ cannot make its tensor larger."
            )
        if category(z.dtype) > category(self.dtype):
            raise cannot_be_cast(op.name, torch_name(z.dtype), torch_name(self.dtype))
        self._take_value(z if z.dtype == self.dtype else z.to(self.dtype), recorded)
        return self

    def _rearrange(self, op: Op, **settings: object) -> Self:
        raise ProgramError(
            f"{op.name}_ gives a tensor another shape in place, which cannot be recorded. To fix it, make a "
            f"view of it: x = x.{op.name}(...)."
        )

    def _is_unrecorded(self) -> bool:
        """Is this a view made under no_grad, or a view of one?"""
        origin = self.shows
        return origin is not None and (
            origin.link == UNRECORDED or (origin.link == VIEW and origin.base._is_unrecorded())
        )

    def _take_value(self, z: "Slot", recorded: bool) -> None:
        """Take the value of z after an in-place write; if this is a view, also update its base.

        recorded   is the write part of the history? If not, the slot keeps its old history:
                   the gradient flows as if there had been no write
        """
        origin = self.shows
        if origin is None:
            if self.memory_.uncounted and self.recorder.is_saved(self.index_):
                raise ProgramError(
                    "x or x.data was written to after an operation saved it for backward. An eager run would not "
                    "notice this, and would compute a wrong gradient. To fix it, use x.detach() instead of "
                    "x.data, or make a new tensor."
                )
            self._take_index(z, recorded)
            self.memory_.writes += 1
            return
        apart = origin.link == APART
        with nullcontext() if recorded and not apart else self.recorder.stopping():
            whole = _write_to_base(origin.base, z, origin.op, origin.settings)
        if apart:
            self._take_index(z, recorded)
        origin.base._take_value(whole, recorded and not apart)
        if apart:
            self.seen = self.memory_.writes
        elif recorded:
            self.index_, self.seen = z.index, self.memory_.writes

    def _take_index(self, z: "Slot", recorded: bool) -> None:
        old, recorder = self.index_, self.recorder
        if not recorded and recorder.is_live(old):
            if not recorder.is_latest(z.index):  # needs its own instruction to carry the history
                with recorder.stopping():
                    z = ops.clone(z)
            recorder.settle(z.index, history=old)
        self.index_ = z.index

    # ------------------------------------------------------------------ requests for a value

    @or_stored
    def item(self) -> Any:
        """The number in a constant. Any other value is unknown during recording: ProgramError."""
        if self.is_constant():
            return self.recorder.examples[self.index].item()
        raise refused("item()", self)

    @or_stored
    def __bool__(self) -> bool:
        if self.is_constant():
            return bool(self.recorder.examples[self.index])
        raise branch(self)

    @or_stored
    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        raise refused(f"formatting as {spec!r}", self)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Slot":
        return ops.clone(self)

    def __contains__(self, value: object) -> builtins.bool:
        raise branch(self)

    def backward(
        self, gradient: "Slot | Tensor | None" = None, *args: object, **kwargs: object
    ) -> None:
        """Record a backward pass for the captured tensors that require a gradient."""
        self.recorder.backward(self, gradient)

    @property
    def grad(self) -> NoReturn:
        """Raise ProgramError: gradients of a program are computed by program.gradient."""
        raise ProgramError(
            "an input of a program has no .grad. To fix it, record the function alone and ask the program: "
            "program.gradient(wrt=[...])."
        )


class TensorSlot(Slot):
    """The stand-in for a Tensor: one that the recorded function made, or one from outside.

    Writes to the function's own tensors, z = zeros(3); z[0] = x[0], are part of the program.

    tensor   the tensor; its memory is not changed
    """

    __slots__ = ("tensor",)

    def __init__(
        self, recorder: "ProgramRecorder", tensor: Tensor, shows: ViewOrigin | None = None
    ) -> None:
        super().__init__(recorder, -1, shows)
        self.tensor = tensor
        if shows is not None:
            with recorder.stopping():
                self.index_ = recorder.emit(shows.op, (shows.base.index,), shows.settings)

    @property
    def index(self) -> int:
        """The number of its latest value; before the first write, the number of the captured tensor."""
        return super().index if self.index_ >= 0 else self.recorder.capture(self.tensor)

    def _take_value(self, z: "Slot", recorded: bool) -> None:
        if self.index_ < 0:
            if not self.recorder.is_its_own(self.tensor):
                with nullcontext() if recorded else self.recorder.stopping():
                    self.recorder.write_through(self.tensor, z)
                return
            self.index_ = self.index
        super()._take_value(z, recorded)


def _write_to_base(base: Slot, z: Slot, op: Op, settings: Settings) -> Slot:
    """The value of `base` after z was written to its view op(base, **settings)."""
    if op is ops.getitem:
        return ops.index_put(base, z, index=settings["index"])
    if op in REARRANGING:
        reads = {"x_shape": base.shape, **op.settings, **settings}
        rule = op.rules["x"]
        return rule.formula(z, *(reads[r] for r in rule.reads))
    if refs_in(settings):
        raise ProgramError(
            f"a program cannot write in place through {op.name}. To fix it, write  x = x.index_put(...)  or "
            "another operation that makes a new tensor."
        )
    shape = tuple(base.shape)
    places = op.forward(np.arange(int(np.prod(shape))).reshape(shape), **settings).reshape(-1)
    if len(np.unique(places)) < len(places):
        raise AutogradError(WRITTEN_TWICE)
    flat = ops.index_put(
        ops.reshape(base, shape=(-1,)), ops.reshape(z, shape=(-1,)), index=(places,)
    )
    return ops.reshape(flat, shape=shape)


# View ops that keep every entry once. Their gradient rules undo the rearrangement.
REARRANGING = {ops.reshape, ops.view, ops.permute, ops.transpose, ops.t, ops.unsqueeze, ops.squeeze}


class Traced(np.ndarray[Any, Any]):
    """The example value of a slot, which records the NumPy functions applied to it.

    Code that only inspects it as a plain array (is each index in range?) sees the example value;
    NumPy functions become instructions.
    """

    slot: Any = None

    def __apply_op__(self, op: Op, args: tuple[Any, ...], settings: Settings) -> Any:
        return slot_of(self).recorder.apply(op, args, settings)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        name = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        op = NumpyFunction(name, function)
        if method not in ("__call__", "reduce", "accumulate"):
            raise ProgramError(f"{name}, which writes at computed indices, cannot be recorded.")
        out = kwargs.pop("out", None)
        if out is not None:
            (out,) = out
            if not isinstance(out, Traced) and isinstance(out, np.ndarray):
                return _recorder_among(inputs, kwargs).write_array(op, inputs, kwargs, out)
            raise ProgramError(
                f"{name} would overwrite a value of the program. To fix it, make a new array: z = x + y."
            )
        return _recorder_among(inputs).numpy_function(op, inputs, kwargs).array

    def __array_function__(
        self, function: Function, types: object, args: Args, kwargs: Kwargs
    ) -> Any:
        if function in SHAPES_ONLY:
            return function(*without_traces(args), **without_traces(kwargs))
        recorder = _recorder_among(args, kwargs)
        module = "np.linalg." if function.__module__ == "numpy.linalg" else "np."
        op = NumpyFunction(module + function.__name__, function)
        return recorder.numpy_function(op, args, kwargs).array

    # Rearrangements are recorded as views of the slot, so that reading from them reads its value.
    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """A reshaped view of the slot; takes one tuple or several integers, as in NumPy."""
        return slot_of(self).reshape(*shape).array

    def ravel(self, order: Any = "C") -> Any:
        """All entries along one axis, in C order. `order` is ignored."""
        return slot_of(self).reshape(-1).array

    def transpose(self, *axes: Any) -> Any:
        """A view with its axes in this order; by default, reversed."""
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes
        return slot_of(self).permute(*(axes or range(self.ndim)[::-1])).array

    def swapaxes(self, axis1: Any, axis2: Any) -> Any:
        """A view with two axes swapped, recorded as transpose."""
        return slot_of(self).transpose(axis1, axis2).array

    def __getitem__(self, index: Any) -> Any:
        return slot_of(self)[index].array

    def nonzero(self) -> NoReturn:
        """Raise ProgramError: the shape of the result depends on the values."""
        raise ProgramError(
            "the length of the result of nonzero() depends on the values, and shapes are frozen in a program. To fix "
            "it, keep the shape: a mask (x != 0), or where(x != 0, a, b); or stay with eager tensors."
        )

    def copy(self, order: Any = "C") -> Self:
        """The same array: nothing can write to a Traced, so no copy is needed."""
        return self

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """A recorded conversion, through which gradients flow. Returns self if the dtype is the same."""
        return self if np.dtype(dtype) == self.dtype else slot_of(self).to(dtype).array

    # Requests for a value, which would decide the path of the recorded function or leave the program.
    def __bool__(self) -> bool:
        raise branch(slot_of(self))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise ProgramError(
            "a value of a program cannot be written to as an array; write  x[...] = y  on the tensor."
        )


def _recorded_as(name: str) -> Callable[..., Any]:
    """A method of Traced, recorded as the NumPy function of the same name, without a gradient."""
    function = NumpyFunction(f"np.{name}", getattr(np, name))

    def method(self: Traced, *args: object, **kwargs: object) -> Any:
        recorder = slot_of(self).recorder
        return recorder.numpy_function(function, (self, *args), kwargs).array

    return method


for _name in ("squeeze", "take", "argsort", "argmax", "argmin", "mean", "var", "std", "cumsum"):
    setattr(Traced, _name, _recorded_as(_name))


def _refusing(name: str, what: str) -> Callable[..., Any]:
    """A method that raises ProgramError, because it asks for a value."""

    def method(self: Slot | Traced, *args: object, **kwargs: object) -> Any:
        raise refused(what, slot_of(self))

    method.__name__ = name
    return or_stored(method)


REFUSED: dict[type, dict[str, str]] = {
    Slot: {
        "tolist": "tolist()", "numpy": "numpy()", "__float__": "float()", "__int__": "int()",
        "__index__": "use as an index of a list", "__array__": "conversion to an array",
    },
    Traced: {
        "tolist": "tolist()", "item": "item()", "__float__": "float()", "__int__": "int()",
        "__index__": "use as an index",
    },
}  # fmt: skip
for _hook in ("register_hook", "register_post_accumulate_grad_hook", "retain_grad"):
    setattr(Slot, _hook, lambda self, *hook: modes.cannot_record("A hook of a value"))
for _class, _asked in REFUSED.items():
    for _name, _what in _asked.items():
        setattr(_class, _name, _refusing(_name, _what))

SHAPES_ONLY = {
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.zeros_like, np.ones_like, np.empty_like,
    np.full_like, np.may_share_memory, np.shares_memory,
}  # fmt: skip


VALUES = (Slot, Traced, Tensor)  # what stands for a value of the program


def as_stored(a: object) -> object:
    """The tensor that a slot is used as, if something outside has stored it; everything else unchanged."""
    return a.stored if isinstance(a, Slot) and a.stored is not None else a


def slot_of(a: Slot | Traced) -> Slot:
    """The slot of a Traced. Raises ProgramError if NumPy made the array without recording it."""
    if isinstance(a, Slot):
        return a
    if a.slot is not None:
        return a.slot
    raise ProgramError(
        "a NumPy method was applied to values that are only computed when the program runs, and it cannot be "
        "recorded. To fix it, use a tensor operation instead of the NumPy method."
    )


def _recorder_among(*things: object) -> "ProgramRecorder":
    """The recorder of the first Traced or Slot among the arguments of a NumPy function."""
    return next(slot_of(x).recorder for x in parts_in(things) if isinstance(x, Slot | Traced))


def without_traces(thing: object) -> Any:
    """The arguments of a NumPy function, with every Traced replaced by an ordinary array."""
    return mapped(
        thing, lambda part: np.asarray(part.view(np.ndarray)) if isinstance(part, Traced) else part
    )


def refused(what: str, slot: Slot) -> ProgramError:
    """The error for code that asks a slot for its value; `what` is the call, like "item()"."""
    name = slot.recorder.values[slot.index].name
    return ProgramError(
        f"{what} asks for a value, but nothing was computed: {'%' + str(slot.index) if name is None else name} "
        f"stands for a tensor of shape {tuple(slot.shape)} in a program that is being recorded. To fix it, let "
        "the program return it, and call program(...) or program.run(...) to compute it. If the value decides what "
        "is recorded, compute it outside, and record again when it changes."
    )


def branch(slot: Slot) -> ProgramError:
    """The error for an `if` or `while` on a slot whose value differs from run to run."""
    return ProgramError(
        "data-dependent branch: `if`, `while` or `and` on a tensor whose value differs from run to run. A "
        "program has one path, the one taken when it was recorded. To fix it, write the choice as a "
        "value, where(condition, a, b); or record one program for each branch, and again when the "
        "condition changes; or stay with eager tensors, which decide at each step."
    )
