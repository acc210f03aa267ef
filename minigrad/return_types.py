"""The named tuples that functions with several results return.

values, indices = x.max(dim=1)          x.max(dim=1).values
"""

from collections import namedtuple
from typing import Any, NamedTuple, TypeVar

Kind = TypeVar("Kind")


def _shown(self: Any) -> str:
    parts = ",\n".join(f"{field}={getattr(self, field)!r}" for field in self._fields)
    return f"minigrad.return_types.{type(self).__name__}(\n{parts})"


def _missing(self: Any, name: str) -> Any:
    kind, fields = type(self).__name__, self._fields
    raise AttributeError(
        f"'minigrad.return_types.{kind}' object has no attribute '{name}'. It holds {' and '.join(fields)}. "
        f"To fix it, choose one, like {kind}(...).{fields[0]}.",
        name=name,
        obj=self,
    )


METHODS = {"__repr__": _shown, "__getattr__": _missing}


def _as_in_pytorch(kind: type[Kind]) -> type[Kind]:
    """Give a named tuple the repr of PyTorch's return types, and an error for names that it does not have."""
    for name, method in METHODS.items():
        setattr(kind, name, method)
    return kind


def return_type(name: str, *fields: str) -> Any:
    """A named tuple for the results of minigrad.<name>. It prints as in PyTorch."""
    parts: Any = namedtuple(name, fields)  # type: ignore[misc]
    return type(name, (parts,), {"__slots__": (), "__module__": __name__, **METHODS})


max, min, sort, topk, kthvalue, median, nanmedian, mode, cummax, cummin = (
    return_type(name, "values", "indices")
    for name in "max min sort topk kthvalue median nanmedian mode cummax cummin".split()
)
aminmax = return_type("aminmax", "min", "max")
frexp = return_type("frexp", "mantissa", "exponent")
svd = return_type("svd", "U", "S", "V")
slogdet = return_type("slogdet", "sign", "logabsdet")
histogram = return_type("histogram", "hist", "bin_edges")
linalg_lu = return_type("linalg_lu", "P", "L", "U")
linalg_lu_factor = return_type("linalg_lu_factor", "LU", "pivots")
lu_unpack = return_type("lu_unpack", "P", "L", "U")
linalg_cholesky_ex = return_type("linalg_cholesky_ex", "L", "info")
linalg_inv_ex = return_type("linalg_inv_ex", "inverse", "info")


@_as_in_pytorch
class linalg_svd(NamedTuple):
    """The factors of a matrix, U @ diag(S) @ Vh."""

    U: Any
    S: Any
    Vh: Any


@_as_in_pytorch
class linalg_qr(NamedTuple):
    """The factors of a matrix, Q @ R."""

    Q: Any
    R: Any


@_as_in_pytorch
class linalg_lstsq(NamedTuple):
    """The solution of a least-squares problem, its residuals, and the rank and singular values of the matrix."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


@_as_in_pytorch
class linalg_eigh(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


@_as_in_pytorch
class linalg_slogdet(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any
