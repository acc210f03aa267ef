"""`__init__` from the annotated names of a class, as dataclasses have it: for layers, optimizers and schedulers.

class StepLR(..., also="last_epoch=-1"):     def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
    step_size: int                               self._set_up(optimizer, dict(step_size=step_size, ...))
    gamma: float = 0.1
"""

import dataclasses
import inspect
from typing import Any, ClassVar, dataclass_transform

from minigrad.core.op import REQUIRED
from minigrad.core.plan import compiled

SELECT = ("foreach", "fused")  # they select one of PyTorch's implementations of an optimizer


def taken_fields(cls: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """The annotated names of a class with their defaults, which are removed from it, and with their types."""
    types = inspect.get_annotations(cls)
    fields = {name: vars(cls).get(name, REQUIRED) for name in types}
    for name in fields.keys() & vars(cls).keys():
        delattr(cls, name)
    return fields, types


def parameters_of(fields: dict[str, Any]) -> list[str]:
    """The fields as parameters in a source: ["step_size", "gamma=0.1"]."""
    return [n if default is REQUIRED else f"{n}={default!r}" for n, default in fields.items()]


def define_methods(
    cls: type, types: dict[str, Any], scope: dict[str, Any], **methods: tuple[list[str], str]
) -> None:
    """Define methods from their parameters and their bodies, unless the class statement has them.

    types   the annotations of `__init__`
    scope   the global names of the bodies
    """
    sources = [f"def {n}({', '.join(['self', *p])}):\n{body}" for n, (p, body) in methods.items()]
    label = f"{cls.__module__.removeprefix('minigrad.')}.{cls.__name__}"
    made = compiled(label, "".join(sources), scope)
    made["__init__"].__annotations__ = types | {"return": None}
    for name in methods.keys() - vars(cls).keys():
        made[name].__qualname__ = f"{cls.__qualname__}.{name}"
        made[name].__module__ = cls.__module__
        setattr(cls, name, made[name])


@dataclass_transform(eq_default=False, field_specifiers=(dataclasses.field,))
class WithFields:
    """The base class of optimizers and schedulers with annotated settings; see the top of this module.

    also    what follows the fields in the signature. A setting without a default is a switch: False, or
            None if it is in SELECT. Without `also`, a class statement declares an ordinary subclass
    """

    _first: ClassVar[str]  # the parameter before the fields
    _fields: ClassVar[dict[str, Any]] = {}  # the annotated settings and their defaults
    _types: ClassVar[dict[str, Any]] = {}  # and their annotations
    _set_up: ClassVar[Any]  # called with the first argument and a dict of the others

    def __init_subclass__(cls, also: str | None = None, **options: object) -> None:
        super().__init_subclass__(**options)
        if also is None:
            return
        own, types = taken_fields(cls)
        cls._fields, cls._types = cls._fields | own, cls._types | types
        last = []
        for parameter in also.split(", ") if also else []:
            switch = "None" if parameter in SELECT else "False"
            has_default = parameter == "*" or "=" in parameter
            last.append(parameter if has_default else f"{parameter}={switch}")
        names = [*cls._fields, *[text.partition("=")[0] for text in last if text != "*"]]
        body = f"    self._set_up({cls._first}, dict({', '.join(f'{n}={n}' for n in names)}))\n"
        parameters = [cls._first, *parameters_of(cls._fields), *last]
        define_methods(cls, cls._types, {}, __init__=(parameters, body))
