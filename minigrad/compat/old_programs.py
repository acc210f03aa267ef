"""Deprecated names: FloatTensor(2, 3), range, chain_matmul, triangular_solve, qr.

PyTorch keeps these names, or raises an error that names the replacement. So does minigrad. New programs
use tensor(data, dtype=...), arange, linalg.multi_dot, linalg.solve_triangular, linalg.qr.
"""

from typing import Any

import numpy as np

from minigrad.core import dtypes
from minigrad.core.devices import DeviceLike, check_device
from minigrad.core.dtypes import DTypeLike
from minigrad.core.errors import warn_user
from minigrad.core.tensor import Tensor, made
from minigrad.linalg import multi_dot, qr, solve_triangular
from minigrad.methods.arguments import made_into_out, takes_out
from minigrad.methods.creation import finish
from minigrad.ops.composites import named
from minigrad.return_types import return_type

qr_factors = return_type("qr", "Q", "R")
triangular_solution = return_type("triangular_solve", "solution", "cloned_coefficient")


@made_into_out
def range(  # noqa: A001  # PyTorch's name
    start: float,
    end: float,
    step: float = 1,
    *,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ..., including end. Deprecated: use `arange`, which excludes the end.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     range(1, 3)
    tensor([1., 2., 3.])
    """
    warn_user(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
        "[start, end).",
    )
    check_device(device)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    n = int((end - start) / step + 1)
    if n < 1:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    d = dtypes.or_default(dtype)
    return finish((start + step * np.arange(n)).astype(d), requires_grad)


@takes_out
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices. Deprecated: use linalg.multi_dot.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     chain_matmul(minigrad.ones(1, 2), minigrad.ones(2, 3), minigrad.ones(3, 1))
    tensor([[6.]])
    """
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for x in matrices:
        if x.ndim != 2:
            raise RuntimeError(f"chain_matmul(): Tensor dimension is {x.ndim}, expected 2 instead")
    warn_user(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices)


@takes_out
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The solution x of A @ x = b for a triangular A, and A. Deprecated: use linalg.solve_triangular.

    >>> import warnings
    >>> A = minigrad.tensor([[2.0, 1.0], [0.0, 4.0]])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     triangular_solve(minigrad.tensor([[4.0], [8.0]]), A)[0]
    tensor([[1.],
            [2.]])
    """
    warn_user(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular, which takes A first."
    )
    left = A.mT if transpose else A
    if b.dtype != A.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of {b.dtype} and A of {A.dtype}. To fix it, "
            "convert one."
        )
    z = solve_triangular(left, b, upper=upper != transpose, unitriangular=unitriangular)
    return triangular_solution(named(z, "TriangularSolveBackward0"), A.clone())


@takes_out
def deprecated_qr(input: Tensor, some: bool = True) -> Any:
    """The QR decomposition; with some=False, Q is square. Deprecated: use `linalg.qr`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     minigrad.qr(minigrad.eye(2)).R.abs()
    tensor([[1., 0.],
            [0., 1.]])
    """
    warn_user(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future release.",
    )
    return qr_factors(*qr(input, "reduced" if some else "complete"))


def typename(obj: object) -> str:
    """The name of an object's type. For a tensor, this is the older name of its type.

    >>> typename(minigrad.ones(2)), typename({})
    ('minigrad.FloatTensor', 'dict')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


# ------------------------------------------------------------------------ a class for each dtype


class _OldClass(type):
    """The metaclass of FloatTensor and others: calling one creates a tensor of its dtype."""

    dtype: dtypes.dtype

    def __call__(cls, *data: Any, **settings: Any) -> Any:
        """A tensor of the given data, or a tensor of zeros of the given sizes (uninitialized in PyTorch)."""
        if len(data) == 1 and isinstance(data[0], Tensor) and data[0].dtype != cls.dtype:
            raise TypeError(
                f"expected {cls.dtype} (got {data[0].dtype}): {cls.__name__} does not convert tensors. "
                f"To fix it, write  x.to({cls.dtype})."
            )
        return made(Tensor, cls.dtype, *data, **settings)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.dtype


def _old_class(dtype: dtypes.dtype) -> Any:
    name = f"{dtypes.torch_name(dtype)}Tensor"
    doc = (
        f"Old programs write {name}(data) for tensor(data, dtype={dtype}), and {name}(2, 3) for sizes."
        f"\n\n>>> minigrad.{name}([1, 0]).dtype\n{dtype}"
    )
    return _OldClass(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "minigrad"})


FloatTensor, DoubleTensor, HalfTensor = (
    _old_class(d) for d in (dtypes.float32, dtypes.float64, dtypes.float16)
)
LongTensor, IntTensor, ShortTensor = (
    _old_class(d) for d in (dtypes.int64, dtypes.int32, dtypes.int16)
)
ByteTensor, CharTensor, BoolTensor = (
    _old_class(d) for d in (dtypes.uint8, dtypes.int8, dtypes.bool_)
)
