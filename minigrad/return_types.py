"""What functions with several results return: tuples whose parts have names.

values, indices = x.max(dim=1)          x.max(dim=1).values
"""

from collections import namedtuple
from typing import Any


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
