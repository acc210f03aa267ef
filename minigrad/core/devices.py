"""Devices, memory formats and layouts. Only one of each is supported; PyTorch's names for them are accepted."""

from typing import Self

import numpy as np

from minigrad.core.errors import DeviceError
from minigrad.core.naming import TopLevel

# The names that are accepted; only the CPU computes.
DEVICES = ("cpu", "cuda", "mps", "xpu", "xla", "hip", "mtia", "meta")


class device(metaclass=TopLevel):
    """`minigrad.device("cpu")`, as in PyTorch.

    >>> device("cpu"), str(device("cpu", 0))
    (device(type='cpu'), 'cpu:0')
    """

    __slots__ = ("index", "type")

    def __init__(self, type: "device | str" = "cpu", index: int | None = None) -> None:
        name, colon, number = str(type).partition(":")
        _check_name(name)
        if colon and not number.isdecimal():
            raise RuntimeError(f"Invalid device string: {type!r}")
        self.type = name
        self.index = int(number) if number else index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __enter__(self) -> Self:
        """`with device("cpu"):` creates tensors on the device."""
        check_device(self)
        return self

    def __exit__(self, *raised: object) -> None:
        pass


def _check_name(name: str) -> None:
    """Raise RuntimeError unless there are devices of this name in PyTorch."""
    if name not in DEVICES:
        raise RuntimeError(
            f"Expected one of {', '.join(DEVICES)} device type at start of device string: {name}"
        )


CPU = device("cpu")
DeviceLike = device | str | int | None  # ways to name a device


def is_device(value: object) -> bool:
    """Is this a device, or a string that does not name a dtype?"""
    return isinstance(value, device) or (isinstance(value, str) and value not in np.sctypeDict)


def check_device(device: DeviceLike) -> None:
    """Raise DeviceError for any device other than the CPU.

    "meta" is accepted. In PyTorch it computes shapes without values; here the values are computed, too.
    """
    name = str(device).partition(":")[0]
    if device is not None and name not in ("cpu", "meta"):
        if isinstance(device, str):
            _check_name(name)
        raise DeviceError(
            f"minigrad computes on the CPU only, not on {str(device)!r} (Torch not compiled with CUDA enabled)."
        )


class _Named:
    """One of minigrad's constants, shown as its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"minigrad.{self.name}"


class MemoryFormat(_Named):
    """An order of axes in memory. It is accepted but has no effect: arrays keep their order.

    >>> minigrad.contiguous_format
    minigrad.contiguous_format
    """


class Layout(_Named):
    """How the entries are stored: `strided`, or `sparse_coo` for a gradient of some rows. No tensor has another.

    >>> minigrad.zeros(2).layout
    minigrad.strided
    """


strided, sparse_coo = Layout("strided"), Layout("sparse_coo")
sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = (
    Layout(f"sparse_{name}") for name in ("csr", "csc", "bsr", "bsc")
)
channels_last = MemoryFormat("channels_last")
contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
