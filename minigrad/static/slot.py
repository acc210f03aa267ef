"""Slot: what stands for a value while a program is being recorded.

A Slot is a second interpreter of the table of ops, beside the Tensor. It has the same methods,
and every op that is applied to it is written down in the recorder's list:

    x, w = Slots            (x @ w).relu()   writes   %2 = matmul(%0, %1)
                                                      %3 = relu(%2)

So that shapes and types need no rules of their own, each op is also run on example values, the
ones that the program is recorded with. Those values are no business of the recorded function:
a branch on them would be taken the same way ever after. So asking for them is an error.

What NumPy code inside minigrad sees of a Slot, `slot.array`, is a Traced; see traced.py.
"""

import builtins
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.methods import ArrayMethods
from minigrad.op import Op
from minigrad.static.instruction import ProgramError
from minigrad.static.traced import Traced, branch, refused, slot_of, traced


class Slot(ArrayMethods):
    """A value of a program that is being recorded.

    recorder   who writes the program
    index      the number of the value
    origin     (slot, op, settings) of a view: of which slot, and how it is made from it
    """

    __slots__ = ("index_", "origin", "recorder", "seen", "version")
    __array_priority__ = 2000
    _tangents = None

    def __init__(self, recorder: Any, index: int, origin: Any = None) -> None:
        self.recorder, self.index_, self.origin = recorder, index, origin
        self.version = 0  # how often it was written to
        self.seen = origin[0].version if origin is not None else 0

    @property
    def index(self) -> int:
        """The number of the value; of a view, found anew when what it shows was written to."""
        if self.origin is not None:
            base, op, settings = self.origin
            number = base.index
            if base.version != self.seen:
                self.index_ = self.recorder.emit(op, (number,), settings)
                self.seen = base.version
        return self.index_

    def __apply_op__(self, op: Op, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        return self.recorder.apply(op, args, settings)

    # ------------------------------------------------------------------ what it is

    @property
    def array(self) -> Any:
        """The value in NumPy's hands; of a constant, the very array."""
        i = self.index
        value = self.recorder.examples[i]
        if self.recorder.values[i].kind == "constant":
            return value
        return traced(value, self)

    @property
    def shape(self) -> Any:
        return self.recorder.values[self.index].shape

    @property
    def dtype(self) -> Any:
        return self.recorder.values[self.index].dtype

    @property
    def requires_grad(self) -> bool:
        """May it depend on the inputs? (Only of constants it is certain that it does not.)"""
        return bool(self.recorder.values[self.index].kind != "constant")

    is_leaf = False
    is_sparse = False
    retains_grad = False
    grad_fn = None
    _base = None

    def memory(self) -> Any:
        return np.asarray(self.recorder.examples[self.index])

    def detach(self) -> Any:
        """The same value, but no gradient passes."""
        with self.recorder.stopping():
            return self[...]

    @property
    def data(self) -> Any:
        return self.detach()

    def requires_grad_(self, requires_grad: Any = True) -> Self:
        return self if requires_grad else self.detach()

    def contiguous(self, memory_format: Any = None) -> Self:
        """A copy, but for what an operation has computed: how an input will lie in memory nobody knows."""
        i = self.index
        given = self.recorder.values[i].kind != "result" or self.origin is not None
        in_order = not self.shape or self.recorder.examples[i].flags.c_contiguous
        return ops.clone(self, order="C") if given or not in_order else self

    def _constant(self, array: Any) -> Any:
        if isinstance(array, Traced):
            return slot_of(array)
        return Slot(self.recorder, self.recorder.constant(np.asarray(array)))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        n: int = self.shape[0]
        return n

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        v = self.recorder.values[self.index]
        return f"<%{self.index} of a program: {v.shape} {v.dtype}; nothing is computed before the program runs>"

    # ------------------------------------------------------------------ writing in place

    def _write(self, op: Op, *others: Any, **settings: Any) -> Self:
        """x += y: from here on, x stands for the sum. What x showed before is not lost."""
        z = self.recorder.apply(op, (self, *others), settings)
        if z.shape != self.shape:
            raise RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(z.shape)}: "
                f"{op.name}_ cannot make its tensor larger."
            )
        self._become(z if z.dtype == self.dtype else z.to(self.dtype))
        return self

    def _become(self, z: Any) -> None:
        """Stand for z; and if this is a view, let what it is a view of contain z."""
        if self.origin is not None:
            base, op, settings = self.origin
            base._become(put_back(base, z, op, settings))
            self.seen = base.version
        self.index_ = z.index
        self.version += 1

    # ------------------------------------------------------------------ what it cannot say

    def item(self) -> Any:
        """The number, of a constant; nothing else has one yet."""
        if not self.requires_grad:
            return self.recorder.examples[self.index].item()
        raise self._refused("item()")

    def __bool__(self) -> bool:
        if not self.requires_grad:
            return bool(self.recorder.examples[self.index])
        raise branch(self)

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        raise self._refused(f"formatting as {spec!r}")

    def __deepcopy__(self, memo: Any) -> Any:
        return ops.clone(self)

    def tolist(self) -> Any:
        raise self._refused("tolist()")

    def numpy(self, *, force: Any = False) -> Any:
        raise self._refused("numpy()")

    def __float__(self) -> builtins.float:
        raise self._refused("float()")

    def __int__(self) -> builtins.int:
        raise self._refused("int()")

    def __index__(self) -> builtins.int:
        raise self._refused("use as an index of a list")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self._refused("conversion to an array")

    def __contains__(self, value: Any) -> builtins.bool:
        raise branch(self)

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        """Write the instructions of the backward pass, for the captured tensors that want one."""
        self.recorder.backward(self, gradient)

    @property
    def grad(self) -> Any:
        raise ProgramError(
            "an input of a program has no .grad. To mend it, record the function alone and ask the program: "
            "program.gradient(wrt=[...])."
        )

    def _refused(self, what: str) -> ProgramError:
        return refused(what, self)


class Standing(Slot):
    """Stands for a tensor that the recorded function has made itself, or has found outside.

    What is written to its own tensors, z = zeros(3); z[0] = x[0], is a part of the program.

    tensor   the tensor; its memory is left alone
    """

    __slots__ = ("tensor",)

    def __init__(self, recorder: Any, tensor: Any) -> None:
        super().__init__(recorder, -1)
        self.tensor = tensor

    @property
    def index(self) -> int:
        return self.index_ if self.version else self.recorder.capture(self.tensor)

    def _become(self, z: Any) -> None:
        if self.version or self.recorder.is_its_own(self.tensor):
            super()._become(z)
        else:
            self.recorder.write_through(self.tensor, z)


def put_back(base: Any, z: Any, op: Any, settings: dict[str, Any]) -> Any:
    """The value of `base` after z was written to the part of it that op shows."""
    if op is ops.getitem:
        return ops.index_put(base, z, index=settings["index"])
    if op in REARRANGING:
        reads = {"x_shape": base.shape, **op.settings, **settings}
        rule = op.rules["x"]
        return rule.formula(z, *(reads[r] for r in rule.reads))
    raise ProgramError(
        f"a program cannot write in place through {op.name}. To mend it, write  x = x.index_put(...)  or "
        "another operation that makes a new tensor."
    )


# Views that show every entry once: the rule of each puts entries back to where they were.
REARRANGING = {ops.reshape, ops.view, ops.permute, ops.transpose, ops.t, ops.unsqueeze, ops.squeeze}
