"""Layers that wrap a function of nn.functional and hold its settings. Each layer is a row of a table.

    class LeakyReLU(FunctionLayer, of=F.leaky_relu):
        "x where x > 0, else negative_slope * x"

        negative_slope: float = 0.01
        inplace: bool = False

The annotated names are the parameters of `__init__`, in this order, and become attributes of the
module. When Python defines the class, these two methods are generated from the row:

    def __init__(self, negative_slope=0.01, inplace=False):
        Module.__init__(self)
        self._keep(negative_slope=negative_slope, inplace=inplace)
        self._check()

    def forward(self, input):
        return leaky_relu(input, negative_slope=self.negative_slope, inplace=self.inplace)

`forward` takes the required parameters of the function that are not in the row. For the function's
other parameters, it passes the attribute of the same name, if there is one: a setting of the row, or
an attribute such as `training`. A row can define either method itself. It overrides `_keep` to convert
arguments before they are stored, and `_check` to reject invalid values.
"""

import inspect
from collections.abc import Callable
from typing import Any, dataclass_transform

from minigrad.core.plan import compiled
from minigrad.nn.module import Module

NO_ROW: Any = object()  # stands for "the class statement has no `of`"
REQUIRED: Any = object()  # stands for the default of a field without one


@dataclass_transform(eq_default=False)
class FunctionLayer(Module):
    """The base class of the rows; see the top of this module.

    of        the function; None for a base class that only declares fields
    optional  the function's optional parameters that `forward` takes too; they are None by default
    kw_only   whether all arguments must be given by name

    A subclass without `of` is an ordinary module, with the `__init__` and `forward` of its row.
    """

    _fields: dict[str, Any] = {}  # name -> default, for this row and its base classes
    _types: dict[str, Any] = {}  # name -> annotation
    _shown: tuple[str, ...] | None = None  # None: all fields, but `inplace` only if it is set
    _not_kept: tuple[str, ...] = ()  # arguments that `_keep` does not store
    _renamed: dict[str, str] = {}  # the function's parameter -> the attribute, if the names differ

    def __init_subclass__(
        cls,
        of: Callable[..., Any] | None = NO_ROW,
        optional: tuple[str, ...] = (),
        kw_only: bool = False,
        **settings: object,
    ) -> None:
        super().__init_subclass__(**settings)
        if of is NO_ROW:
            return
        types = inspect.get_annotations(cls)
        cls._types = cls._types | types
        own = {name: cls.__dict__.get(name, REQUIRED) for name in types}
        for name in own.keys() & cls.__dict__.keys():
            delattr(cls, name)
        cls._fields = fields = cls._fields | own
        parameters = [
            name if default is REQUIRED else f"{name}={default!r}"
            for name, default in fields.items()
        ]
        head = ", ".join(["self", *["*"] * kw_only, *parameters])
        source = f"def __init__({head}):\n    Module.__init__(self)\n"
        if fields:
            source += f"    self._keep({', '.join(f'{name}={name}' for name in fields)})\n"
            source += "    self._check()\n"
        if of is not None:
            wanted = inspect.signature(of).parameters
            attributes = {name: cls._renamed.get(name, name) for name in wanted}
            known = {n for n, a in attributes.items() if {n, a} & fields.keys() or hasattr(cls, a)}
            inputs = [n for n, p in wanted.items() if p.default is p.empty and n not in known]
            kept = [f"{n}=self.{attributes[n]}" for n in wanted if n in known - {*cls._not_kept}]
            passed = ", ".join([*inputs, *[f"{n}={n}" for n in optional], *kept])
            taken = ", ".join(["self", *inputs, *[f"{n}=None" for n in optional]])
            source += f"def forward({taken}):\n    return {of.__name__}({passed})\n"
        scope = {"Module": Module} | ({} if of is None else {of.__name__: of})
        made = compiled(f"nn.{cls.__name__}", source, scope)
        made["__init__"].__annotations__ = cls._types | {"return": None}
        if of is not None:
            made["forward"].__doc__ = "The result of the function, with the settings of the layer."
        for name in ("__init__", "forward"):
            if name in made and name not in cls.__dict__:
                made[name].__qualname__ = f"{cls.__qualname__}.{name}"
                made[name].__module__ = cls.__module__
                setattr(cls, name, made[name])

    def _keep(self, **arguments: Any) -> None:
        """Store the arguments of `__init__` as attributes."""
        for name, value in arguments.items():
            setattr(self, self._renamed.get(name, name), value)

    def _check(self) -> None:
        """Raise an error if the arguments are invalid."""

    def extra_repr(self) -> str:
        """The arguments, as shown in the repr of a model."""
        if self._shown is not None:
            return super().extra_repr()
        shown = [f"{n}=" for n in self._fields if n != "inplace" or getattr(self, n)]
        return self._settings_text(*shown)
