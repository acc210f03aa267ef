"""Parametrizations: a weight that is a function of another parameter and is computed whenever it is read.

    class Symmetric(nn.Module):
        def forward(self, X):
            return X.triu() + X.triu(1).mT

    parametrize.register_parametrization(layer, "weight", Symmetric())
    layer.weight                                    # Symmetric()(layer.parametrizations.weight.original)

The parameter moves to `layer.parametrizations.weight.original`, which is the parameter that an
optimizer gets. The class of the layer changes to a subclass, ParametrizedLinear, which computes the
weight. If the weight is assigned, the method `right_inverse` of the parametrization computes the new
original.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from minigrad.core import modes
from minigrad.core.tensor import Tensor
from minigrad.nn.containers import ModuleDict, ModuleList
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.nn.utils.reparametrize import register_tensor

_cache: dict[tuple[int, str], Tensor] | None = None  # the weights computed within `cached`


@contextmanager
def cached() -> Iterator[None]:
    """A `with` block in which each weight is computed only once, when it is first read."""
    global _cache
    before, _cache = _cache, {} if _cache is None else _cache
    try:
        yield
    finally:
        _cache = before


class ParametrizationList(ModuleList):
    """The parametrizations of one weight, in the order of their application.

    original                 the input of the first parametrization
    original0, original1     its inputs, if its `right_inverse` returns several tensors
    """

    def __init__(
        self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False
    ) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        start: Any = original
        before = original.detach()
        with modes.no_grad():
            for module in reversed(modules):
                start = _right_inverse(module, start)
        if isinstance(start, Tensor):
            if start.dtype != original.dtype and not unsafe:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original dtype: {original.dtype}\nright_inverse dtype: {start.dtype}"
                )
            original.data = start.detach()
            register_tensor(self, "original", original)
        elif isinstance(start, Sequence):
            for k, part in enumerate(start):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{k} of the sequence with type {type(part).__name__}."
                    )
                needs = original.requires_grad and part.is_floating_point()
                whole = Parameter(part.detach(), requires_grad=needs)
                own = whole if isinstance(original, Parameter) else part
                register_tensor(self, f"original{k}", own)
        else:
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(start).__name__}"
            )
        self.is_tensor = isinstance(start, Tensor)
        if not unsafe:
            with modes.no_grad():
                _check(self(), before)

    def originals(self) -> list[Any]:
        """The inputs of the first parametrization."""
        if self.is_tensor:
            return [self.original]
        names = [*self._parameters, *self._buffers]
        return [getattr(self, n) for n in sorted(names, key=lambda n: int(n[len("original") :]))]

    def steps(self) -> list[Any]:
        """The parametrizations, without a submodule that parametrizes `original` itself."""
        return [module for name, module in self.named_children() if name.isdigit()]

    def forward(self) -> Tensor:
        """The weight."""
        first, *others = self.steps()
        z: Tensor = first(*self.originals())
        for module in others:
            z = module(z)
        return z

    def right_inverse(self, value: Any) -> None:
        """Assign a value to the weight: set the original to the right inverse of the value."""
        with modes.no_grad():
            for module in reversed(self.steps()):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse. To fix it, "
                        "define  right_inverse(self, value), or write to the original."
                    )
                value = module.right_inverse(value)
            for kept, part in zip(
                self.originals(), [value] if self.is_tensor else value, strict=True
            ):
                kept.data = part.detach()


def _right_inverse(module: Any, value: Any) -> Any:
    """The right inverse of the value, or the value itself if the parametrization defines none."""
    try:
        return module.right_inverse(value) if hasattr(module, "right_inverse") else value
    except NotImplementedError:
        return value


def _check(z: object, like: Tensor) -> None:
    """Raise ValueError if the computed weight z does not have the dtype and shape of `like`."""
    if not isinstance(z, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(z).__name__}.")
    for word in ("dtype", "shape"):
        before, after = getattr(like, word), getattr(z, word)
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {word} of the tensor, unless `unsafe` flag "
                f"is enabled.\nunparametrized {word}: {before}\nparametrized {word}: {after}"
            )


def _parametrized(cls: Any) -> Any:
    """A subclass of cls that computes parametrized attributes when they are read."""

    def read(self: Any, name: str) -> Any:
        steps = self.__dict__.get("parametrizations", ())
        if name not in steps:
            return cls.__getattr__(self, name)
        if _cache is None:
            return steps[name]()
        if (id(self), name) not in _cache:
            _cache[id(self), name] = steps[name]()
        return _cache[id(self), name]

    def write(self: Any, name: str, value: object) -> None:
        steps = self.__dict__.get("parametrizations", ())
        if name in steps:
            steps[name].right_inverse(value)
        else:
            cls.__setattr__(self, name, value)

    def copied(self: Any, memo: dict[int, Any]) -> Any:
        new: Any = object.__new__(kind)
        memo[id(self)] = new
        new.__dict__.update(deepcopy(self.__dict__, memo))
        return new

    def refuse(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). To fix it, save "
            "module.state_dict()."
        )

    kind: Any = type(f"Parametrized{cls.__name__}", (cls,), {})
    kind.__getattr__, kind.__setattr__ = read, write
    kind.__deepcopy__, kind.__getstate__ = copied, refuse
    return kind


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """True if this weight of the module is parametrized. Without a name, True if any weight is."""
    steps = module.__dict__.get("parametrizations")
    if not isinstance(steps, ModuleDict):
        return False
    return len(steps) > 0 if tensor_name is None else tensor_name in steps


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make a weight or buffer of the module a function of another parameter. Returns the module.

    parametrization   the module that computes the weight whenever it is read
    unsafe            allow it to change the shape or dtype

    >>> from minigrad import nn
    >>> class Positive(nn.Module):
    ...     def forward(self, x):
    ...         return x.exp()
    >>> layer = register_parametrization(nn.Linear(2, 1), "weight", Positive())
    >>> (layer.weight > 0).all()
    tensor(True)
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        steps = module.parametrizations[tensor_name]
        _append(steps, parametrization, unsafe)
        return module
    if tensor_name not in [*module._parameters, *module._buffers]:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    steps = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
        object.__setattr__(module, "__class__", _parametrized(type(module)))
    module.parametrizations[tensor_name] = steps
    return module


def _append(steps: ParametrizationList, parametrization: Module, unsafe: bool) -> None:
    """Add a parametrization, which gets the result of the existing ones."""
    if not unsafe:
        with modes.no_grad():
            weight = steps()
            z = parametrization(weight)
            _check(z, weight)
            inverse = _right_inverse(parametrization, z)
            if not isinstance(inverse, Tensor):
                raise ValueError(
                    "parametrization.right_inverse must return a tensor, as the weight is parametrized already. Got "
                    f"{type(inverse).__name__}."
                )
            for word in ("dtype", "shape"):
                if getattr(inverse, word) != getattr(z, word):
                    raise ValueError(
                        f"The tensor returned by parametrization.right_inverse must have the same {word} as the "
                        f"weight, unless `unsafe` flag is enabled. weight: {getattr(z, word)}, right_inverse: "
                        f"{getattr(inverse, word)}"
                    )
    steps.append(parametrization)
    steps.unsafe |= unsafe


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a weight a parameter again. Returns the module.

    leave_parametrized   True: keep the current value; False: restore the original
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    steps = module.parametrizations[tensor_name]
    if not (steps.is_tensor or leave_parametrized):
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms "
            "of a sequence of tensors."
        )
    original = steps.originals()[0]
    if leave_parametrized:
        with modes.no_grad():
            value = steps().detach()
        if steps.is_tensor:
            original.data = value
        else:
            original = Parameter(value) if isinstance(original, Parameter) else value
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        del module.parametrizations
        object.__setattr__(module, "__class__", type(module).__bases__[0])
    register_tensor(module, tensor_name, original)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)
