"""`__init__` from the annotated names of a class, as dataclasses have it: for layers and optimizers.

    class Adamax(...):                      def __init__(self, params, lr=2e-3, eps=1e-8):
        lr: float = 2e-3                        ...
        eps: float = 1e-8

The base class of each kind adds the parameters before and after the fields, and the body.
"""

import inspect
from typing import Any

from minigrad.core.plan import compiled

REQUIRED: Any = object()  # stands for the default of a field without one


def taken_fields(cls: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """The annotated names of a class with their defaults, which are removed from it, and with their types."""
    types = inspect.get_annotations(cls)
    fields = {name: vars(cls).get(name, REQUIRED) for name in types}
    for name in fields.keys() & vars(cls).keys():
        delattr(cls, name)
    return fields, types


def parameters_of(fields: dict[str, Any]) -> list[str]:
    """The fields as parameters in a source: ["lr=0.002", "eps=1e-08"]."""
    return [n if default is REQUIRED else f"{n}={default!r}" for n, default in fields.items()]


def define_methods(
    cls: type, types: dict[str, Any], scope: dict[str, Any], **methods: tuple[list[str], str]
) -> None:
    """Define methods from their parameters and their bodies, unless the class statement has them.

    types   the annotations of `__init__`
    scope   the global names of the bodies
    """
    sources = [f"def {n}({', '.join(['self', *p])}):\n{body}" for n, (p, body) in methods.items()]
    made = compiled(f"{cls.__module__.split('.')[1]}.{cls.__name__}", "".join(sources), scope)
    made["__init__"].__annotations__ = types | {"return": None}
    for name in methods.keys() - vars(cls).keys():
        made[name].__qualname__ = f"{cls.__qualname__}.{name}"
        made[name].__module__ = cls.__module__
        setattr(cls, name, made[name])
