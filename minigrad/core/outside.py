"""Access to a tensor's values from outside: Python, NumPy, notebooks and other processes.

Values obtained this way (x.item(), np.asarray(x)) are not on the tape, and no gradient flows
back through them. Where a user could overlook this, we raise an error.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from minigrad.core import display, formatting, modes
from minigrad.core.data import warn_of_gradient
from minigrad.core.devices import MemoryFormat
from minigrad.core.dtypes import DTypeLike
from minigrad.core.memory import make
from minigrad.core.shapes import Array, Several
from minigrad.core.storage import Storage, resize
from minigrad.methods import ArrayMethods
from minigrad.methods.base import sizes


class Outside(ArrayMethods):
    """Methods that return a tensor's values as numbers, text, arrays or memory."""

    __slots__ = ()

    # ------------------------------------------------------------------ as text

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return formatting.describe(self)

    def _repr_html_(self) -> str | None:
        """HTML for a notebook, with shape, heat map and chain. None if only text is wanted."""
        return display.shown_by("tensor_html")(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.array.ndim == 0 else object.__format__(self, spec)

    # ------------------------------------------------------------------ as numbers

    def item(self) -> Any:
        """The value of a tensor with one entry, as a Python number.

        >>> minigrad.tensor(2.5).item()
        2.5
        """
        if self.array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.array.size} elements cannot be converted to Scalar: its shape "
                f"is {self.array.shape}. Select one entry, or reduce it first (sum, mean)."
            )
        return modes.read_values(self).item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; for a 0-d tensor, the number.

        >>> minigrad.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return modes.read_values(self).tolist()

    def __bool__(self) -> bool:
        if self.array.size != 1:
            raise RuntimeError(
                f"Boolean value of Tensor with {'no values' if not self.array.size else 'more than one value'} "
                f"is ambiguous: its shape is {self.array.shape}. To fix it, use .all() or .any()."
            )
        return bool(modes.read_values(self))

    def __float__(self) -> float:
        warn_of_gradient(self)
        return float(self._real_scalar())

    def __int__(self) -> int:
        return int(self._real_scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def _scalar(self) -> Any:
        """The single entry, for float(x), int(x) and complex(x)."""
        if self.array.size != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars, but this one has the shape "
                f"{self.array.shape}. To fix it, pick an entry, or write tolist() for all of them."
            )
        return modes.read_values(self).item()

    def _real_scalar(self) -> Any:
        """The single entry. A complex number must have no imaginary part."""
        value = self._scalar()
        if isinstance(value, complex):
            if value.imag:
                raise RuntimeError(
                    f"value cannot be converted to type double without overflow: {value} has an imaginary part."
                )
            return value.real
        return value

    def __index__(self) -> int:
        if self.array.dtype.kind not in "iub" or self.array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    # ------------------------------------------------------------------ as a sequence

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self.array)

    def __iter__(self) -> Iterator[Self]:
        if self.array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind())

    def __reversed__(self) -> Any:
        return self.flip(0) if self.array.ndim else self

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, (make.Tensor, int, float, complex, np.ndarray, np.generic)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}."
            )
        other = value.array if isinstance(value, make.Tensor) else value
        return bool(np.any(self.array == other))

    # ------------------------------------------------------------------ as an array

    def numpy(self, *, force: bool = False) -> Array:
        """The values as a NumPy array that shares this tensor's memory.

        >>> minigrad.tensor([1.0, 2.0]).numpy()
        array([1., 2.], dtype=float32)
        """
        return shared_with_numpy(self, force or not modes.state.recording)

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> Array:
        a = shared_with_numpy(self, not modes.state.recording)
        return np.array(a, dtype, copy=copy, subok=True)

    # ------------------------------------------------------------------ as memory

    def storage(self) -> Storage:
        """The memory behind this tensor, shared with its views; see storage.py.

        >>> len(minigrad.zeros(2, 3).storage())
        6
        """
        return Storage(self)

    def untyped_storage(self) -> Storage:
        """The memory of this tensor, as bytes.

        >>> minigrad.zeros(2, 3).untyped_storage().nbytes()
        24
        """
        return Storage(self, typed=False)

    def resize_(self, *size: Several, memory_format: MemoryFormat | None = None) -> Self:
        """Resize in place: the first entries stay, and added entries are zeros (in PyTorch, undefined).

        >>> minigrad.tensor([1.0, 2.0]).resize_(1)
        tensor([1.])
        """
        resize(self, sizes(size))
        return self

    def resize_as_(self, the_template: Self, *, memory_format: MemoryFormat | None = None) -> Self:
        """Resize in place to the shape of another tensor.

        >>> minigrad.tensor([1.0, 2.0]).resize_as_(minigrad.zeros(1)).shape
        minigrad.Size([1])
        """
        return self.resize_(the_template.shape)

    # ------------------------------------------------------------------ between processes

    def share_memory_(self) -> Self:
        """Move the values to memory that can be shared with other processes; see sharing.py.

        >>> minigrad.zeros(2).share_memory_().is_shared()
        True
        """
        from minigrad.core import sharing

        sharing.share(self)
        return self

    def is_shared(self) -> bool:
        """Are the values in shared memory?

        >>> minigrad.zeros(2).is_shared()
        False
        """
        from minigrad.core import sharing

        return sharing.is_shared(self)


def shared_with_numpy(x: Any, although_recorded: bool) -> Array:
    """The array of x. Raises an error if a gradient could be lost unnoticed."""
    if x.node is not None and not although_recorded:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. "
            "NumPy's operations are not recorded, so no gradient would flow back through them. "
            "To fix it, write  x.detach().numpy()  if you need only the values."
        )
    modes.read_values(x)
    return x.memory()
