"""What every chapter of methods rests on: the array, its shape and type, where it is.

`Base` says what a tensor and a slot must have. `_write` is the one way to change a tensor
in place: a method whose name ends in an underscore hands it the op.
"""

import builtins
import functools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from minigrad import ops
from minigrad.core import dtypes, modes
from minigrad.core.devices import CPU, check_device, is_device
from minigrad.core.errors import wrong_kind
from minigrad.core.op import Op
from minigrad.core.shapes import as_ints, normalize_one

Operand = Any  # a tensor, an array, or a number
Dim = int | Sequence[int] | None


NUMBERS = (builtins.bool, builtins.int, builtins.float, np.generic)
TWINS = {"axis": "dim", "keepdims": "keepdim"}  # NumPy's names, which PyTorch takes as well


def with_numpy_names(chapter: type) -> type:
    """Let the methods of a chapter that take dim and keepdim take axis and keepdims too."""
    for name, method in list(vars(chapter).items()):
        code = getattr(method, "__code__", None)
        known = () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        missing = {twin: own for twin, own in TWINS.items() if own in known and twin not in known}
        if missing:
            setattr(chapter, name, _either(method, missing))
    return chapter


def _either(method: Any, twins: dict[str, str]) -> Any:
    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            for twin, own in twins.items():
                if twin in kwargs and own not in kwargs:
                    kwargs[own] = kwargs.pop(twin)
        return method(self, *args, **kwargs)

    return called


class Base:
    """What a tensor is, before anything is done to it."""

    __slots__ = ()

    array: Any

    def _write(self, op: Op, *others: Operand, **settings: Any) -> Self:
        """Apply an op with its result written over this tensor."""
        raise TypeError(f"{type(self).__name__} cannot be written to in place.")

    def _constant(self, array: Any) -> Any:
        """These values, without a history, as a tensor to go with this one."""
        return array

    def _rearrange(self, op: Op, **settings: Any) -> Self:
        """Let this tensor show its own memory in another arrangement."""
        raise TypeError(f"{type(self).__name__} cannot be rearranged in place.")

    def _read_as(self, dtype: Any) -> Any:
        """The same bytes, read as numbers of another type."""
        raise TypeError(f"{type(self).__name__} cannot be read as another type. To fix it, convert it: x.to({dtype}).")

    @property
    def ndim(self) -> int: return self.array.ndim
    def dim(self) -> int: return int(self.array.ndim)
    def numel(self) -> int: return int(self.array.size)
    def size(self, dim: int | None = None) -> Any: return self.shape if dim is None else self.shape[normalize_one(dim, self.ndim)]
    def clone(self) -> Self: return ops.clone.apply(self)
    @property
    def shape(self) -> Any: return self.array.shape
    @property
    def dtype(self) -> Any: return self.array.dtype
    def copy_(self, src: Operand, non_blocking: Any = False) -> Self: return ops.copy.apply_(self, written_over(self, src))
    def fill_(self, value: Operand) -> Self: return ops.copy.apply_(self, written_over(self, one_number(value)))
    def zero_(self) -> Self: return ops.copy.apply_(self, written_over(self, 0))

    # ------------------------------------------------------------------ types of number

    def to(self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: Any = False, copy: Any = False) -> Self:
        for a in args:
            if isinstance(a, Base):
                dtype = a.dtype
            elif is_device(a):
                device = a
            elif not isinstance(a, bool):  # non_blocking
                dtype = a
        check_device(device)
        if dtype is None or as_dtype(dtype) == self.dtype:
            return self.clone() if copy else self
        return ops.to.apply(self, dtype=as_dtype(dtype))

    def astype(self, dtype: Any) -> Self: return self.to(dtype)
    def double(self) -> Self: return self.to(np.float64)
    def float(self) -> Self: return self.to(np.float32)
    def half(self) -> Self: return self.to(np.float16)
    def long(self) -> Self: return self.to(np.int64)
    def int(self) -> Self: return self.to(np.int32)
    def bool(self) -> Self: return self.to(np.bool_)
    def short(self) -> Self: return self.to(np.int16)
    def char(self) -> Self: return self.to(np.int8)
    def byte(self) -> Self: return self.to(np.uint8)
    def type_as(self, other: Self) -> Self: return self.to(other.dtype)
    def type(self, dtype: Any = None, non_blocking: Any = False) -> Any: return type_name(self) if dtype is None else self.to(type_named(dtype))
    def is_floating_point(self) -> Any: return self.dtype.kind == "f"
    def is_complex(self) -> Any: return self.dtype.kind == "c"
    def is_signed(self) -> Any: return self.dtype.kind in "ifc"
    def conj(self) -> Self: return self
    @property
    def real(self) -> Self: return self

    # ------------------------------------------------------------------ memory, and where it is

    def nelement(self) -> Any: return self.numel()
    def ndimension(self) -> Any: return self.ndim
    def element_size(self) -> Any: return self.dtype.itemsize
    @property
    def itemsize(self) -> Any: return self.dtype.itemsize
    @property
    def nbytes(self) -> Any: return self.dtype.itemsize * self.numel()
    def stride(self, dim: Any = None) -> Any: return strides(self) if dim is None else strides(self)[normalize_one(dim, self.ndim)]
    def data_ptr(self) -> Any: return address(self)
    def storage_offset(self) -> Any: return offset(self)
    @property
    def device(self) -> Any: return CPU
    @property
    def is_cuda(self) -> Any: return False
    @property
    def is_cpu(self) -> Any: return True
    def get_device(self) -> Any: return -1
    def cpu(self) -> Self: return self
    def cuda(self, device: Any = None) -> Self: return self.to("cuda")

    # ------------------------------------------------------------------ new ones like it

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Self: return self._new(data.detach().clone().array if hasattr(data, "__apply_op__") else np.array(data), dtype, device, requires_grad)
    def new_zeros(self, *shape: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Self: return self._new(np.zeros(sizes(shape, size)), dtype, device, requires_grad)
    def new_ones(self, *shape: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Self: return self._new(np.ones(sizes(shape, size)), dtype, device, requires_grad)
    def new_empty(self, *shape: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Self: return self.new_zeros(*shape, size=size, dtype=dtype, device=device, requires_grad=requires_grad)
    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Self: return self._new(np.full(tuple(size), fill_value), dtype, device, requires_grad)

    def _new(self, array: Any, dtype: Any, device: Any, requires_grad: Any) -> Self:
        check_device(device)
        z = self._constant(array.astype(self.dtype if dtype is None else as_dtype(dtype)))
        return z.requires_grad_() if requires_grad else z


def sizes(size: tuple[Any, ...], named: Any = None) -> tuple[int, ...]:
    """view(2, 3), view((2, 3)) and view(size=(2, 3)) mean the same."""
    size = size if named is None else (named,)
    return as_ints(size[0] if len(size) == 1 and isinstance(size[0], Sequence) else size, "size")


def one_number(value: Operand) -> Operand:
    """What fill_ writes: the same into each entry."""
    if isinstance(value, Base) and value.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions. "
            "To fix it, use  copy_()."
        )
    return value


def written_over(x: Any, value: Operand) -> Operand:
    """The value as x can hold it: over whole numbers, a real number is written without its fraction."""
    if x.dtype.kind not in "iub":
        if isinstance(value, NUMBERS):
            dtypes.exact_number(value, x.dtype)  # is it too large?
        return value
    if isinstance(value, Base):
        return value if value.dtype == x.dtype else value.to(x.dtype)
    return dtypes.exact_number(value, x.dtype) if isinstance(value, NUMBERS) else value


def in_type(f: Any, x: Any, dtype: Any) -> Any:
    """f(x), computed in the type that is asked for, and returned in it."""
    if dtype is None:
        return f(x)
    dtype = as_dtype(dtype)
    if dtype.kind != "f" and modes.state.recording and getattr(x, "requires_grad", False):
        raise RuntimeError(
            f"Autograd not support dtype: {dtypes.torch_name(dtype)}. To fix it, use  x.detach()."
        )
    z = f(x.to(dtype))
    return z.to(dtype)  # small integers were added up as int64: what is too large for dtype wraps now


def scaled(other: Operand, alpha: Any, x: Operand = None, op: Op = ops.add) -> Operand:
    """alpha * other, which goes with x: of whole numbers, a whole number."""
    if alpha.__class__ is builtins.int and alpha == 1:
        return other
    if op is ops.sub and (found := [v.dtype for v in (x, other) if hasattr(v, "dtype")]):
        if any(d.kind == "b" for d in found):
            raise wrong_kind("sub", [dtypes.torch_name(d) for d in found])
    kinds = {v.dtype.kind if hasattr(v, "dtype") else "i" for v in (x, other) if v is not None}
    if isinstance(alpha, builtins.float) and kinds <= set("biu"):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, builtins.bool) and kinds != {"b"}:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    return other * (builtins.bool(alpha) if kinds == {"b"} else alpha)


def strides(x: Any) -> tuple[int, ...]:
    """How many entries apart in memory the neighbors along each axis are."""
    return tuple([n // x.dtype.itemsize for n in x.memory().strides])


def address(x: Any) -> Any:
    return x.memory().__array_interface__["data"][0]


def offset(x: Any) -> Any:
    """How many entries after its base's first one a view begins."""
    return 0 if x._base is None else (address(x) - address(x._base)) // x.dtype.itemsize


def type_name(x: Any) -> str:
    """What x.type() answers: "minigrad.FloatTensor" (PyTorch: "torch.FloatTensor")."""
    return f"minigrad.{dtypes.torch_name(x.dtype)}Tensor"


def type_named(dtype: Any) -> Any:
    """The type that x.type("torch.FloatTensor") asks for."""
    if isinstance(dtype, str) and dtype.endswith("Tensor"):
        name = dtype.rpartition(".")[2].removesuffix("Tensor")
        return next(d for d in dtypes.ALL if dtypes.torch_name(d) == name)
    return dtypes.as_dtype(dtype)


def as_dtype(dtype: Any) -> Any:
    return dtypes.as_dtype(dtype)
