"""The base of all methods: the array, its shape and dtype, and its memory.

`Base` declares the interface of tensors and slots. Every method that changes entries in place (its name ends
in an underscore) does so with `op.apply_(x, ...)`.
"""

import builtins
import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Self, TypeVar, Union

import numpy as np

from minigrad import ops
from minigrad.core import dtypes, modes
from minigrad.core.devices import (
    CPU,
    DeviceLike,
    Layout,
    MemoryFormat,
    check_device,
    is_device,
    strided,
)
from minigrad.core.devices import device as Device
from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import memory_error, shape_error, wrong_kind
from minigrad.core.op import TWINS, Op
from minigrad.core.shapes import (
    LISTED,
    Array,
    Several,
    Shape,
    as_bool,
    as_ints,
    normalize_one,
    shape_of,
)
from minigrad.ops.composites import named

Operand = Union["Base", Array, np.generic, complex]  # a tensor, an array or a number
Values = Operand | Sequence[object]  # indices and masks can also be lists
T = TypeVar("T", bound="Base")  # arguments and result have the same class: Tensor or Slot

NUMBERS = (builtins.bool, builtins.int, builtins.float, np.generic)


def with_numpy_names(chapter: type) -> None:
    """Make the methods of a class accept axis and keepdims for dim and keepdim, and refuse numbers for True and False."""
    for name, method in list(vars(chapter).items()):
        if isinstance(method, FunctionType):
            setattr(chapter, name, with_checked_names(method))


def with_checked_names(method: FunctionType) -> Callable[..., object]:
    """Wrap the method so that it also accepts NumPy's argument names, and checks its arguments of type bool.

    A method that has `keepdims` itself is called often. It is not wrapped, and calls `as_bool`.
    """
    code = method.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    twins = {twin: own for twin, own in TWINS.items() if own in known and twin not in known}
    flags = [name for name in known if method.__annotations__.get(name) in (builtins.bool, builtins.bool | None)]
    if "keepdims" in known or not (twins or flags):
        return method
    places = [(k, name) for k, name in enumerate(known[1 : code.co_argcount]) if name in flags]
    first = places[0][0] if places else len(known)

    @functools.wraps(method)
    def called(self: object, *args: object, **kwargs: object) -> object:
        if len(args) > first:
            for k, name in places:
                if k < len(args) and args[k] is not None:
                    as_bool(args[k], name)
        if not kwargs:
            return method(self, *args)
        for twin, own in twins.items():
            if twin in kwargs and own not in kwargs:
                kwargs[own] = kwargs.pop(twin)
        for name in flags:
            if kwargs.get(name) is not None:
                as_bool(kwargs[name], name)
        return method(self, *args, **kwargs)

    return called


class Base:
    """The basic properties of a tensor: shape, dtype and memory."""

    __slots__ = ()

    array: Any
    _rearrange: Any  # _rearrange(op, **settings): change the tensor in place into another view of its own memory

    def _constant(self, array: Array) -> Any:
        """A tensor of the same kind with these values and no graph."""
        return array

    def _index_tensor(self, array: Array) -> Any:
        """A tensor of indices or counts: int64. NumPy's have 32 bits on a 32-bit machine, for example in a browser."""
        return self._constant(array if array.dtype == np.int64 else array.astype(np.int64))

    def _read_as(self, dtype: DTypeLike) -> Self:
        """A view of the same bytes as another dtype."""
        raise TypeError(f"{type(self).__name__} cannot be read as another type. To fix it, convert it: x.to({dtype}).")

    @property
    def ndim(self) -> builtins.int:
        """The number of axes, the same as x.dim(): 0 for a single number, 2 for a matrix.

        >>> minigrad.zeros(2, 3).ndim
        2
        """
        return self.array.ndim

    def dim(self) -> builtins.int:
        """The number of axes: 0 for a single number, 1 for a vector, 2 for a matrix.

        >>> minigrad.zeros(2, 3).dim()
        2
        """
        return int(self.array.ndim)

    def numel(self) -> builtins.int:
        """The number of entries, which is the product of the sizes.

        >>> minigrad.zeros(2, 3).numel()
        6
        """
        return int(self.array.size)

    def size(self, dim: builtins.int | None = None) -> Any:
        """The shape. With dim, the size of that axis as a Python int.

        >>> x = minigrad.zeros(2, 3)
        >>> x.size()
        minigrad.Size([2, 3])
        >>> x.size(-1)
        3
        """
        return self.shape if dim is None else self.shape[normalize_one(dim, self.ndim)]

    def clone(self, *, memory_format: MemoryFormat | None = None) -> Self:
        """A copy with its own memory. The gradient flows back through it, unlike x.detach().clone().

        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> x.clone()
        tensor([1., 2.], grad_fn=<CloneBackward0>)
        """
        return ops.clone.apply(self)

    @property
    def shape(self) -> Shape:
        """The sizes of the axes: () for a single number, (n,) for a vector."""
        return self.array.shape

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype: the type of the entries."""
        return self.array.dtype

    def copy_(self, src: Operand, non_blocking: builtins.bool = False) -> Self:
        """Overwrite x with the entries of src, broadcast to x's shape and converted to its dtype. Returns the tensor itself.

        The gradient flows to src, not to the old value of x.

        >>> minigrad.zeros(2, 2).copy_(minigrad.tensor([1.0, 2.0]))
        tensor([[1., 2.],
                [1., 2.]])
        """
        return ops.copy.apply_(self, written_over(self, src))

    def fill_(self, value: Operand) -> Self:
        """Set every entry to this value, in place. Returns the tensor itself.

        value   a number, or a tensor with no axes
        Raises RuntimeError for a leaf that requires a gradient, except under `no_grad`.

        >>> minigrad.zeros(2, 2).fill_(7)
        tensor([[7., 7.],
                [7., 7.]])
        """
        if isinstance(value, Base) and value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions. "
                "To fix it, use  copy_()."
            )
        return overwritten(self, value, "FillBackward3" if isinstance(value, Base) else "FillBackward2")

    def zero_(self) -> Self:
        """Set every entry to 0, in place. Returns the tensor itself.

        Often used for gradients before the next backward pass: x.grad.zero_()
        Raises RuntimeError for a leaf that requires a gradient, except under `no_grad`.

        >>> minigrad.tensor([1.0, 2.0]).zero_()
        tensor([0., 0.])
        """
        return overwritten(self, 0.0, "ZeroBackward0")

    # ------------------------------------------------------------------ dtypes

    def to(self, *args: Any, dtype: DTypeLike = None, device: DeviceLike = None, non_blocking: builtins.bool = False, copy: builtins.bool = False, memory_format: MemoryFormat | None = None) -> Self:
        """The tensor converted to another dtype, or the tensor itself if it already has that dtype.

        dtype          for example minigrad.float64
        device         "cpu" is the only one
        copy           always make a copy
        non_blocking   accepted but ignored, like memory_format

        The gradient flows through a conversion between float types, but not through integers or booleans.

        >>> minigrad.tensor([1, 2]).to(minigrad.float64)
        tensor([1., 2.], dtype=minigrad.float64)
        """
        if args:
            device, dtype, copy = destination(args, device, dtype, copy)
        check_device(device)
        return in_dtype(self, dtype, copy)

    def astype(self, dtype: DTypeLike) -> Self:
        """The tensor converted to another dtype: NumPy's name for x.to(dtype).

        >>> minigrad.tensor([1.7, -1.7]).astype(minigrad.int64)
        tensor([ 1, -1])
        """
        return self.to(dtype)

    def double(self, memory_format: object = None) -> Self:
        """x.to(minigrad.float64): the tensor itself if it has that dtype already. The gradient flows through.

        >>> minigrad.tensor([1, 2]).double()
        tensor([1., 2.], dtype=minigrad.float64)
        """
        return in_dtype(self, dtypes.float64)

    def float(self, memory_format: object = None) -> Self:
        """x.to(minigrad.float32): the tensor itself if it has that dtype already. The gradient flows through.

        >>> minigrad.tensor([1, 2]).float()
        tensor([1., 2.])
        """
        return in_dtype(self, dtypes.float32)

    def half(self, memory_format: object = None) -> Self:
        """x.to(minigrad.float16): the tensor itself if it has that dtype already. The gradient flows through.

        >>> minigrad.tensor([1, 2]).half()
        tensor([1., 2.], dtype=minigrad.float16)
        """
        return in_dtype(self, dtypes.float16)

    def long(self, memory_format: object = None) -> Self:
        """x.to(minigrad.int64), the type of indices and class labels. Fractions are cut off, and no gradient flows through.

        >>> minigrad.tensor([1.7, -1.7]).long()
        tensor([ 1, -1])
        """
        return in_dtype(self, dtypes.int64)

    def int(self, memory_format: object = None) -> Self:
        """x.to(minigrad.int32). Fractions are cut off, and no gradient flows through.

        >>> minigrad.tensor([1.7, -1.7]).int()
        tensor([ 1, -1], dtype=minigrad.int32)
        """
        return in_dtype(self, dtypes.int32)

    def bool(self, memory_format: object = None) -> Self:
        """x.to(minigrad.bool): True where an entry is not 0. NaN is True.

        >>> minigrad.tensor([0.0, 0.5, -1.0]).bool()
        tensor([False,  True,  True])
        """
        return in_dtype(self, dtypes.bool_)

    def short(self, memory_format: object = None) -> Self:
        """x.to(minigrad.int16). Fractions are cut off, and no gradient flows through.

        >>> minigrad.tensor([1.7, -1.7]).short()
        tensor([ 1, -1], dtype=minigrad.int16)
        """
        return in_dtype(self, dtypes.int16)

    def char(self, memory_format: object = None) -> Self:
        """x.to(minigrad.int8): integers from -128 to 127. Larger ones wrap around.

        >>> minigrad.tensor([1, 130]).char()
        tensor([   1, -126], dtype=minigrad.int8)
        """
        return in_dtype(self, dtypes.int8)

    def byte(self, memory_format: object = None) -> Self:
        """x.to(minigrad.uint8): integers from 0 to 255. Others wrap around.

        >>> minigrad.tensor([1, 257]).byte()
        tensor([1, 1], dtype=minigrad.uint8)
        """
        return in_dtype(self, dtypes.uint8)

    def type_as(self, other: Self) -> Self:
        """The tensor converted to the dtype of `other`: x.to(other.dtype).

        >>> minigrad.tensor([1, 2]).type_as(minigrad.tensor(0.5))
        tensor([1., 2.])
        """
        return self.to(other.dtype)

    def type(self, dtype: DTypeLike = None, non_blocking: builtins.bool = False) -> Any:
        """The name of the tensor's type in PyTorch's old style. With dtype, the tensor converted to it.

        dtype   a dtype, or an old class or its name: LongTensor, "torch.LongTensor"

        >>> x = minigrad.tensor([1.5])
        >>> x.type()
        'minigrad.FloatTensor'
        >>> x.type(minigrad.int64)
        tensor([1])
        """
        if dtype is None:
            return f"minigrad.{dtypes.torch_name(self.dtype)}Tensor"
        if isinstance(dtype, str) and dtype not in np.sctypeDict:
            name = dtype.rpartition(".")[2].removesuffix("Tensor")
            dtype = next((d for d in dtypes.ALL if dtypes.torch_name(d) == name), dtype)
            if isinstance(dtype, str):
                raise ValueError(f"invalid type: {dtype!r}")
        elif isinstance(dtype, builtins.type) and issubclass(dtype, Base):  # x.type(Tensor) in old programs: the default dtype
            dtype = dtypes.get_default_dtype()
        elif isinstance(of_old_class := getattr(dtype, "dtype", None), dtypes.dtype):  # LongTensor
            dtype = of_old_class
        return self.to(dtypes.as_dtype(dtype))

    def is_floating_point(self) -> builtins.bool:
        """True if the dtype is float16, float32 or float64. Only such tensors can require gradients.

        >>> minigrad.tensor([1, 2]).is_floating_point()
        False
        """
        return self.dtype.kind == "f"

    def is_complex(self) -> builtins.bool:
        """True if the entries are complex numbers.

        >>> minigrad.tensor([1.0]).is_complex()
        False
        """
        return self.dtype.kind == "c"

    def is_signed(self) -> builtins.bool:
        """True if the dtype can hold negative values: False for uint8 and bool.

        >>> minigrad.tensor([1], dtype=minigrad.uint8).is_signed()
        False
        """
        return self.dtype.kind in "ifc"

    def conj(self) -> Self:
        """The complex conjugate. For real numbers, this is the tensor itself.

        >>> minigrad.tensor([1 + 2j]).conj()
        tensor([1.-2.j])
        """
        return self if self.dtype.kind != "c" else self._constant(np.conj(self.array))

    def resolve_conj(self) -> Self:
        """The tensor itself: conj() and negation compute their result at once, so nothing is left to compute.

        >>> minigrad.tensor([1 + 2j]).conj().resolve_conj()
        tensor([1.-2.j])
        """
        return self

    resolve_neg = resolve_conj

    @property
    def real(self) -> Self:
        """The real part. For real numbers, this is the tensor itself.

        >>> minigrad.tensor([1 + 2j]).real
        tensor([1.])
        """
        return self if self.dtype.kind != "c" else self._constant(self.array.real)

    # ------------------------------------------------------------------ memory and devices


    def element_size(self) -> builtins.int:
        """The number of bytes per entry.

        >>> minigrad.tensor([1.0]).element_size()
        4
        """
        return self.dtype.itemsize

    @property
    def itemsize(self) -> builtins.int:
        """The number of bytes per entry, the same as x.element_size().

        >>> minigrad.tensor([1.0]).itemsize
        4
        """
        return self.dtype.itemsize

    @property
    def nbytes(self) -> builtins.int:
        """The number of bytes of all entries: numel() * itemsize. For a view, only its own entries count.

        >>> minigrad.zeros(2, 3).nbytes
        24
        """
        return self.dtype.itemsize * self.numel()

    def stride(self, dim: builtins.int | None = None) -> Any:
        """The stride of each axis: the distance in memory to the next entry along it, counted in entries. With dim, only that axis.

        A view has its own strides: a transpose swaps two of them, and an expanded axis has stride 0.

        >>> x = minigrad.zeros(2, 3)
        >>> x.stride()
        (3, 1)
        >>> x.T.stride()
        (1, 3)
        """
        x: Any = self
        strides = [n // x.dtype.itemsize for n in x.memory().strides]
        for k in reversed(range(x.ndim)):  # where NumPy has a stride of 0, PyTorch has the row-major stride
            if not strides[k] and (x.shape[k] == 1 or not x.numel()):
                strides[k] = max(x.shape[k + 1], 1) * strides[k + 1] if k + 1 < x.ndim else 1
        return tuple(strides) if dim is None else strides[normalize_one(dim, x.ndim)]

    def data_ptr(self) -> builtins.int:
        """The memory address of the first entry. Two views that start at the same entry have the same address.
        Without entries, it is 0.

        >>> x = minigrad.zeros(2, 3)
        >>> x.data_ptr() == x[0].data_ptr()
        True
        """
        return address(self) if self.array.size else 0

    def storage_offset(self) -> builtins.int:
        """The offset of the first entry from the start of the base's memory, counted in entries; 0 for a tensor that is not a view.

        >>> minigrad.zeros(2, 3)[1].storage_offset()
        3
        """
        base: Any = getattr(self, "_base", None)
        return 0 if base is None else (address(self) - address(base)) // self.dtype.itemsize

    @property
    def device(self) -> Device:
        """The device of the tensor: always device(type='cpu').

        >>> minigrad.tensor([1.0]).device
        device(type='cpu')
        """
        return CPU

    @property
    def is_cuda(self) -> builtins.bool:
        """Always False: minigrad runs on the CPU only.

        >>> minigrad.zeros(2).is_cuda
        False
        """
        return False

    is_mps = is_xpu = is_cuda

    @property
    def is_quantized(self) -> builtins.bool:
        """Always False: minigrad has no quantized dtypes.

        >>> minigrad.zeros(2).is_quantized
        False
        """
        return False

    is_meta = is_mkldnn = is_nested = is_sparse_csr = is_quantized

    def is_pinned(self, device: DeviceLike = None) -> builtins.bool:
        """Always False: only copies to a GPU use pinned memory.

        >>> minigrad.zeros(2).is_pinned()
        False
        """
        return False

    @property
    def is_cpu(self) -> builtins.bool:
        """Always True: minigrad runs on the CPU only.

        >>> minigrad.zeros(2).is_cpu
        True
        """
        return True

    def get_device(self) -> builtins.int:
        """-1, as in PyTorch for a tensor on the CPU.

        >>> minigrad.zeros(2).get_device()
        -1
        """
        return -1

    def cpu(self) -> Self:
        """The tensor itself, since it is already on the CPU.

        >>> minigrad.tensor([1.0]).cpu()
        tensor([1.])
        """
        return self

    def cuda(self, device: DeviceLike = None) -> Self:
        """Raises an error: minigrad runs on the CPU only.

        Portable programs use  device = "cuda" if minigrad.cuda.is_available() else "cpu"  and x.to(device).
        """
        return self.to("cuda")

    # ------------------------------------------------------------------ new tensors of the same dtype

    def new_zeros(self, *shape: Several, size: Several | None = None, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: builtins.bool = False, requires_grad: builtins.bool = False) -> Self:
        """A new tensor of zeros with this shape and this tensor's dtype.

        new_zeros(2, 3) and new_zeros((2, 3)) mean the same.

        >>> minigrad.tensor([5, 6]).new_zeros(3)
        tensor([0, 0, 0])
        """
        return self._new(0, shape_of(shape, size), dtype, device, requires_grad)

    def new_ones(self, *shape: Several, size: Several | None = None, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: builtins.bool = False, requires_grad: builtins.bool = False) -> Self:
        """A new tensor of ones with this shape and this tensor's dtype.

        new_ones(2, 3) and new_ones((2, 3)) mean the same.

        >>> minigrad.tensor([5, 6]).new_ones(3)
        tensor([1, 1, 1])
        """
        return self._new(1, shape_of(shape, size), dtype, device, requires_grad)

    def new_empty(self, *shape: Several, size: Several | None = None, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: builtins.bool = False, requires_grad: builtins.bool = False) -> Self:
        """A new tensor with this shape and this tensor's dtype, for you to fill.

        Here it holds zeros; in PyTorch, whatever was in memory.

        >>> minigrad.tensor([5, 6]).new_empty(2, 3).shape
        minigrad.Size([2, 3])
        """
        return self.new_zeros(*shape, size=size, dtype=dtype, device=device, requires_grad=requires_grad)

    def new_empty_strided(self, size: Several, stride: Sequence[builtins.int], dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: builtins.bool = False, requires_grad: builtins.bool = False) -> Self:
        """A tensor for you to fill, with the dtype of x, whose neighbors along axis k are stride[k] entries apart.

        >>> minigrad.tensor([5, 6]).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
        """
        kind = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        check_device(device)
        z = self._constant(strided_zeros(shape_of((size,)), tuple(stride), kind))
        return z._made(requires_grad) if requires_grad else z

    def new_full(self, size: Sequence[builtins.int], fill_value: complex, *, dtype: DTypeLike = None, layout: Layout = strided, device: DeviceLike = None, pin_memory: builtins.bool = False, requires_grad: builtins.bool = False) -> Self:
        """A new tensor with this size (a tuple), fill_value in every entry, and this tensor's dtype.

        >>> minigrad.tensor([5, 6]).new_full((3,), 7)
        tensor([7, 7, 7])
        """
        return self._new(fill_value, shape_of((tuple(size),)), dtype, device, requires_grad)

    def _new(self, value: complex, shape: Shape, dtype: DTypeLike, device: DeviceLike, requires_grad: builtins.bool) -> Self:
        check_device(device)
        if hasattr(value, "item") and getattr(value, "node", None) is None:
            value = value.item()
        array = zeros_of(shape, self.dtype if dtype is None else dtypes.as_dtype(dtype))
        if value != 0 or isinstance(value, builtins.float):  # -0.0 is not the zero that it has
            array.fill(dtypes.exact_number(value, array.dtype))
        z = self._constant(array)
        return z._made(requires_grad) if requires_grad else z


# Where first + step * k is computed: PyTorch rounds it once, but twice in half precision.
WIDER: dict[Any, Any] = {np.dtype(np.float16): np.float16, np.dtype(np.float64): np.longdouble}


def evenly_spaced(first: Any, last: Any, steps: builtins.int, dtype: dtypes.Dtype) -> Array:
    """Evenly spaced numbers from first to last, computed as in PyTorch; they are still to be rounded to dtype."""
    step, k = (last - first) / max(steps - 1, 1), np.arange(steps)
    if dtype.kind in "fc" and not isinstance(first + last, complex):
        low, high = dtype.type(first).real, dtype.type(last).real
        wide = WIDER.get(low.dtype, np.float64)
        step = (high - low) / low.dtype.type(max(steps - 1, 1))
        first, last, step, k = wide(low), wide(high), wide(step), k.astype(wide)
    # Count from both ends, so that both are exact.
    half, distance = max(steps // 2, 1), step * k
    return np.concatenate([first + distance[:half], last - distance[: steps - half][::-1]])


def zeros_of(shape: tuple[int, ...], dtype: Any) -> Array:
    """np.zeros. Raises PyTorch's RuntimeError if they do not fit into memory."""
    try:
        return np.zeros(shape, dtype)
    except (ValueError, MemoryError) as error:
        raise memory_error("", [shape], error) from None


def strided_zeros(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Array:
    """Zeros whose neighbors along axis k are strides[k] entries apart."""
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(strides)})"
        )
    if min(strides, default=0) < 0:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}: strides can't "
            "be negative."
        )
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else -1
    memory = zeros_of((last + 1,), dtype)
    return np.ndarray(shape, memory.dtype, memory, 0, tuple([s * memory.itemsize for s in strides]))


def in_dtype(x: T, dtype: DTypeLike, copy: builtins.bool = False) -> T:
    """x converted to this dtype, or x itself if it already has this dtype."""
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    if dtype is None or dtype == x.array.dtype:
        return named(x.clone(), "ToCopyBackward0") if copy else x
    return ops.to.apply(x, dtype=dtype)


def sizes(size: tuple[Any, ...], named: Several | None = None) -> tuple[int, ...]:
    """view(2, 3), view((2, 3)) and view(size=(2, 3)) mean the same."""
    size = size if named is None else (named,)
    if len(size) == 1 and size[0].__class__ is not builtins.int and isinstance(size[0], LISTED):
        return as_ints(size[0], "size")
    return as_ints(size, "size")


def broadcast(name: str, *shapes: Shape) -> Shape:
    """The shape that these shapes broadcast to."""
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise shape_error(name, [np.empty(s, bool) for s in shapes], {}, error) from None


def written_over(x: Base, value: Operand) -> Operand:
    """The value, converted to the dtype of x. For integers, the fraction is dropped; for real numbers, the imaginary part."""
    kind = x.array.dtype.kind
    if kind == "f" and isinstance(value, builtins.float) and -65000 < value < 65000:
        return value  # the usual case
    if isinstance(value, Base):
        cut = kind in "iub" or (kind == "f" and value.dtype.kind == "c")
        return value.to(x.dtype) if cut and value.dtype != x.dtype else value
    if isinstance(value, (*NUMBERS, builtins.complex)):
        exact = dtypes.exact_number(value, x.dtype)  # raises an error if it is too large
        return exact if kind in "iub" else value
    return value


def overwritten(x: T, value: Operand, name: str) -> T:
    """Overwrite x with the value, and return x. If this is recorded, the node gets PyTorch's name for it."""
    before = getattr(x, "node", None)
    z: T = ops.copy.apply_(x, written_over(x, value))
    return z if getattr(z, "node", None) is before else named(z, name, ops.copy)


def in_type(f: Callable[[T], T], x: T, dtype: DTypeLike) -> T:
    """f(x), computed and returned in the requested dtype."""
    if dtype is None:
        return f(x)
    dtype = dtypes.as_dtype(dtype)
    if dtype.kind != "f" and modes.state.recording and getattr(x, "requires_grad", False):
        raise RuntimeError(f"Autograd not support dtype: {dtypes.torch_name(dtype)}. To fix it, use  x.detach().")
    z = f(x.to(dtype))
    return z.to(dtype)  # small integers are summed as int64; values too large for dtype wrap around here


def destination(args: tuple[Any, ...], device: DeviceLike, dtype: DTypeLike, copy: builtins.bool = False) -> tuple[Any, Any, builtins.bool]:
    """The device, the dtype and `copy` of a call of to(): a device, a dtype, both, or a tensor, then non_blocking and copy."""
    flags: tuple[Any, ...] = ()
    if len(args) > 1:
        given = next((k for k, a in enumerate(args) if a.__class__ is bool), len(args))
        args, flags = args[:given], args[given:]
        if flags and given == 1 and (args[0] is None or is_device(args[0])):
            got = f"{type(args[0]).__name__}, bool"
            raise TypeError(f"to() received an invalid combination of arguments - got ({got}). To fix it, pass non_blocking by name.")
    for a in args:
        if isinstance(a, Base):
            dtype = a.dtype
        elif is_device(a):
            device = a
        elif a is not None:
            dtype = a
    return device, dtype, copy or (len(flags) > 1 and flags[1])


def scaled(other: Any, alpha: Any, x: Any = None, op: Op = ops.add, called: str = "alpha") -> Operand:
    """alpha * other, in the dtype that x and other are promoted to. For integer tensors, alpha must be an integer."""
    if alpha.__class__ is builtins.int and alpha == 1:
        return other
    if alpha.__class__ is builtins.float and isinstance(x, Base) and isinstance(other, Base):
        if x.array.dtype is other.array.dtype and x.array.dtype.kind == "f":
            return ops.mul.apply(other, alpha)
    if op is ops.sub and (found := [v.dtype for v in (x, other) if hasattr(v, "dtype")]):
        if any(d.kind == "b" for d in found):
            raise wrong_kind("sub", [dtypes.torch_name(d) for d in found])
    kinds = {v.dtype.kind if hasattr(v, "dtype") else "i" for v in (x, other) if v is not None}
    if isinstance(alpha, (builtins.float, complex)) and kinds <= set("biu"):
        raise RuntimeError(f"For integral input tensors, argument {called} must not be a floating point number.")
    if isinstance(alpha, complex) and "c" not in kinds:
        raise RuntimeError(f"For non-complex input tensors, argument {called} must not be a complex number.")
    if isinstance(alpha, builtins.bool) and kinds != {"b"}:
        raise RuntimeError(f"Boolean {called} only supported for Boolean results.")
    if isinstance(x, Base) and isinstance(other, Base) and x.dtype != other.dtype:
        axes, none = ([v.array.dtype for v in (x, other) if bool(v.ndim) is k] for k in (True, False))
        other = other.to(dtypes.common_dtype(axes, none, []))
    return other * (builtins.bool(alpha) if kinds == {"b"} else alpha)


def address(x: Any) -> int:
    """The memory address of the first entry of x, in bytes."""
    return x.memory().__array_interface__["data"][0]


# ------------------------------------------------------------------------ operands of other classes

# An operand of one of these classes, not of a subclass, gets minigrad's own error message.
BUILTIN = {builtins.bool, builtins.int, builtins.float, complex, list, tuple, dict, set, str, bytes, type(None)}


def numbers_of_tensor(x: Base) -> Array:
    """The array of a tensor for NumPy code (see `seen` in core/modes.py). Raises TypeError for anything else."""
    if not isinstance(x, Base):
        raise TypeError(f"expected a Tensor, not {type(x).__name__}")
    array: Array = modes.seen(x)
    return array


def is_foreign(value: object) -> bool:
    """True if the operand's class may define its own operators with tensors.

    Our operator then returns NotImplemented, so Python calls y.__radd__(x), if there is one.
    """
    built_in = type(value) in BUILTIN or isinstance(value, (np.ndarray, np.generic))
    return not (built_in or hasattr(value, "__apply_op__"))


def or_not_implemented(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make f an operator method, which returns NotImplemented if the other operand is foreign."""

    @functools.wraps(f)
    def operator(x: Any, y: Any) -> Any:
        try:
            return f(x, y)
        except TypeError:
            if is_foreign(y):
                return NotImplemented
            raise

    del operator.__wrapped__  # it takes exactly two operands, even if f takes more
    return operator
