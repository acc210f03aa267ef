"""What functions with several results return: tuples whose parts have names.

values, indices = x.max(dim=1)          x.max(dim=1).values
"""

from collections import namedtuple
from typing import Any, NamedTuple


def _shown(self: Any) -> str:
    parts = ",\n".join(f"{field}={getattr(self, field)!r}" for field in self._fields)
    return f"minigrad.return_types.{type(self).__name__}(\n{parts})"


def return_type(name: str, *fields: str) -> Any:
    """The class of what minigrad.<name> returns; it prints as PyTorch's does."""
    parts: Any = namedtuple(name, fields)  # type: ignore[misc]
    return type(name, (parts,), {"__slots__": (), "__repr__": _shown, "__module__": __name__})


max, min, sort, topk, kthvalue, median, nanmedian, mode, cummax, cummin = (
    return_type(name, "values", "indices")
    for name in "max min sort topk kthvalue median nanmedian mode cummax cummin".split()
)
aminmax = return_type("aminmax", "min", "max")
frexp = return_type("frexp", "mantissa", "exponent")
svd = return_type("svd", "U", "S", "V")
linalg_cholesky_ex = return_type("linalg_cholesky_ex", "L", "info")
linalg_inv_ex = return_type("linalg_inv_ex", "inverse", "info")


class linalg_svd(NamedTuple):
    """A matrix as U @ diag(S) @ Vh."""

    U: Any
    S: Any
    Vh: Any

    def __repr__(self) -> str:
        return _shown(self)


class linalg_qr(NamedTuple):
    """A matrix as Q @ R."""

    Q: Any
    R: Any

    def __repr__(self) -> str:
        return _shown(self)


class linalg_lstsq(NamedTuple):
    """The solution of a least-squares problem, and what is known of its matrix."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any

    def __repr__(self) -> str:
        return _shown(self)


class linalg_eigh(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any

    def __repr__(self) -> str:
        return _shown(self)


class linalg_slogdet(NamedTuple):
    """A determinant as its sign and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any

    def __repr__(self) -> str:
        return _shown(self)


class slogdet(NamedTuple):
    """The same, from a method or function outside linalg."""

    sign: Any
    logabsdet: Any

    def __repr__(self) -> str:
        return _shown(self)


class histogram(NamedTuple):
    """The number of entries in each bin, and the edges of the bins."""

    hist: Any
    bin_edges: Any

    def __repr__(self) -> str:
        return _shown(self)
