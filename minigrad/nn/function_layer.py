"""Layers that hold the settings of a function of nn.functional. Each layer is a row of a table; see table.py.

    LeakyReLU = layer("LeakyReLU", F.leaky_relu)

From F.leaky_relu(input, negative_slope=0.01, inplace=False), this makes a class with two methods:

    def __init__(self, negative_slope=0.01, inplace=False):
        super(FunctionLayer, self).__init__()
        self._keep(negative_slope=negative_slope, inplace=inplace)
        self._check()

    def forward(self, input):
        return leaky_relu(input, negative_slope=self.negative_slope, inplace=self.inplace)

The settings of the function are the parameters of `__init__`, in the same order, and become
attributes. The tensors (INPUTS) are the parameters of `forward`. For another parameter of the
function, it passes the attribute of the same name, if there is one, such as `training`.

A layer that needs more is a class statement, `class Hardtanh(FunctionLayer, of=F.hardtanh)`. It can
define either method itself. It overrides `_keep` to convert arguments before they are stored, and
`_check` to reject invalid values. If its settings differ from those of the function, it annotates
them, as a dataclass does.
"""

import inspect
from collections.abc import Callable
from typing import Any, dataclass_transform

from minigrad.nn import functional as F
from minigrad.nn.fields import define_methods, parameters_of, taken_fields
from minigrad.nn.module import Module

NO_ROW: Any = object()  # stands for "the class statement has no `of`"
# The parameters of functions that `forward` takes, and those that layers do not have.
INPUTS = frozenset(
    "input input1 input2 x1 x2 anchor positive negative target var indices "
    "log_probs targets input_lengths target_lengths".split()
)
NOT_SETTINGS = INPUTS | {"training", "dtype", "_stacklevel"}


@dataclass_transform(eq_default=False)
class FunctionLayer(Module):
    """The base class of the rows; see the top of this module.

    of        the function; None for a base class that only declares fields
    without   parameters of the function that are not settings of the layer
    optional  the function's optional parameters that `forward` takes too; they are None by default
    kw_only   whether all arguments must be given by name

    A subclass without `of` is an ordinary module, with the `__init__` and `forward` of its row.
    """

    _fields: dict[str, Any] = {}  # name -> default, for this row and its base classes
    _types: dict[str, Any] = {}  # name -> annotation
    _shown: tuple[str, ...] | None = None  # None: all fields, but `inplace` only if it is set
    _not_passed: tuple[str, ...] = ()  # settings that `forward` does not pass on
    _renamed: dict[str, str] = {}  # the function's parameter -> the attribute, if the names differ

    def __init_subclass__(
        cls,
        of: Callable[..., Any] | None = NO_ROW,
        without: str = "",
        optional: tuple[str, ...] = (),
        kw_only: bool = False,
        **settings: object,
    ) -> None:
        super().__init_subclass__(**settings)
        if of is NO_ROW:
            return
        wanted = {} if of is None else dict(inspect.signature(of).parameters)
        cls._find_fields(wanted, {*without.split(), *optional})
        scope: dict[str, Any] = {"FunctionLayer": FunctionLayer}
        body = "    super(FunctionLayer, self).__init__()\n"
        if cls._fields:
            body += f"    self._keep({', '.join(f'{name}={name}' for name in cls._fields)})\n"
            body += "    self._check()\n"
        methods = {"__init__": ([*["*"] * kw_only, *parameters_of(cls._fields)], body)}
        if of is not None:
            # Looked up in F at each call, as in PyTorch: a program may set F.dropout to a function of its own.
            shared = getattr(F, of.__name__, None) is of
            name = f"F.{of.__name__}" if shared else of.__name__
            methods["forward"] = cls._forward(name, wanted, optional)
            scope |= {"F": F} if shared else {name: of}
        define_methods(cls, cls._types, scope, **methods)

    @classmethod
    def _find_fields(cls, wanted: dict[str, inspect.Parameter], left_out: set[str]) -> None:
        """Set `_fields` and `_types`: the annotated names, or else the settings of the function."""
        own, types = taken_fields(cls)
        if not types and not cls._fields:
            for name in [n for n in wanted if n not in NOT_SETTINGS | left_out]:
                default, types[name] = wanted[name].default, wanted[name].annotation
                # PyTorch's functions have 0 for 0.0.
                whole = types[name] is float and type(default) is int
                own[name] = float(default) if whole else default
        cls._fields, cls._types = cls._fields | own, cls._types | types

    @classmethod
    def _forward(
        cls, name: str, wanted: dict[str, inspect.Parameter], optional: tuple[str, ...]
    ) -> tuple[list[str], str]:
        """The parameters and the body of `forward`, which calls the function of this name."""
        attributes = {name: cls._renamed.get(name, name) for name in wanted}
        known = {n for n, a in attributes.items() if {n, a} & cls._fields.keys() or hasattr(cls, a)}
        inputs = [n for n, p in wanted.items() if p.default is p.empty and n not in known]
        kept = [f"{n}=self.{attributes[n]}" for n in wanted if n in known - {*cls._not_passed}]
        passed = ", ".join([*inputs, *[f"{n}={n}" for n in optional], *kept])
        about = '    """The result of the function, with the settings of the layer."""\n'
        return [*inputs, *[f"{n}=None" for n in optional]], f"{about}    return {name}({passed})\n"

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


def layer(
    name: str,
    of: Callable[..., Any],
    base: type[FunctionLayer] = FunctionLayer,
    shown: str | None = None,
    **options: Any,
) -> Any:
    """A row: the layer of this name, with the settings of the function, and with its docstring.

    shown     the settings that the repr shows; by default, those that the base shows
    options   `without`, `optional` and `kw_only` of FunctionLayer
    """
    # Without the example, which is one of the function.
    text, _, _ = inspect.cleandoc(of.__doc__ or "").partition("\n\n>>>")
    attributes: dict[str, Any] = {"__doc__": text, "__module__": "minigrad.nn.table"}
    if shown is not None:
        attributes["_shown"] = tuple(shown.split())
    return type(name, (base,), attributes, of=of, **options)
