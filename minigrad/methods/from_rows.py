"""The methods and operators made from the rows of ops/; see rows.py."""

from minigrad.core.op import LISTENERS, REGISTRY
from minigrad.methods.base import Base
from minigrad.methods.rows import complete


class FromRows(Base):
    """x.exp() and x.exp_(), x + y and x += y: generated methods, without source code of their own."""

    __slots__ = ()


for _op in REGISTRY.values():
    complete(FromRows, _op)
LISTENERS.append(lambda op: complete(FromRows, op))
