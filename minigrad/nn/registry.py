"""How a module registers its parameters, buffers and submodules.

They are ordinary attributes, such as `self.weight` or `self.layer`. But when one is
assigned, the module registers its name, so it can list everything that it and the modules
inside it contain:

    class Net(nn.Module):
        def __init__(self):
            super().__init__()                    # from here on, names are registered
            self.inner = nn.Linear(2, 3)          # a Module:    registered
            self.scale = nn.Parameter(...)        # a Parameter: registered
            self.name = "net"                     # anything else is not

    dict(net.named_parameters())        scale, inner.weight, inner.bias

Only the name and its kind are registered. The object itself is an ordinary attribute, so
reading it is as fast as any other (0.03 us; PyTorch keeps three dicts and searches them in
__getattr__, which takes 0.5 us). A list of modules is not registered (use ModuleList),
and neither is a plain Tensor (use register_buffer).

A parameter that two modules share is listed once, under its first name.
"""

from collections import OrderedDict, defaultdict
from collections.abc import (
    Callable,
    ItemsView,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    ValuesView,
)
from typing import Any

from minigrad.core import modes
from minigrad.core.tensor import Tensor
from minigrad.methods import ArrayMethods
from minigrad.methods.arguments import named_type
from minigrad.nn.parameter import Buffer, Parameter

PARAMETER, BUFFER, MODULE = "parameter", "buffer", "module"
FITTING = {  # the types that can be assigned to a registered name, for error messages
    PARAMETER: "torch.nn.Parameter",
    BUFFER: "torch.nn.Buffer, torch.Tensor",
    MODULE: "torch.nn.Module",
}


# The hooks of one module, by when they are called.
Hooks = defaultdict[str, OrderedDict[int, Any]]


def new_hooks() -> Hooks:
    """An empty collection of hooks. A module gets one when its first hook is registered."""
    return defaultdict(OrderedDict)


BEGIN_INIT = "To fix it, begin __init__ with  super().__init__()."


def _fix_of(given: object) -> str:
    """What to do if this was given as a module."""
    if isinstance(given, (list, tuple)):
        return ". To fix it, unpack the list: nn.Sequential(*layers)."
    return ". To fix it, use a module, such as nn.ReLU() for F.relu." if callable(given) else ""


def _own_names(kind: str) -> property:
    """PyTorch's dict of the members of one kind, as `module._parameters`. An assignment replaces them."""
    return property(
        lambda module: OwnNames(module, kind),
        lambda module, members: module._replace_own(kind, members),
    )


class Registry:
    """The part of a module that registers its parameters, buffers and submodules."""

    # name -> parameter, buffer or module, in the order of assignment
    _registered_kinds: dict[str, str]
    _non_persistent_buffers_set: set[str]

    def __init__(self) -> None:
        object.__setattr__(self, "_registered_kinds", {})
        object.__setattr__(self, "_non_persistent_buffers_set", set())

    # ------------------------------------------------------------------ by assignment

    def __setattr__(self, name: str, value: object) -> None:
        if modes.unusual > modes.light:
            modes.tell("assigned", self, name)
        kind = self.__dict__.get("_registered_kinds", {}).get(name)
        if isinstance(value, Parameter):
            self._unregister_other_kind(name, PARAMETER)
            self.register_parameter(name, value)
        elif kind != PARAMETER and isinstance(value, Registry):
            self._unregister_other_kind(name, MODULE)
            self._register_as(name, MODULE, value)
        elif kind is not None:
            self._reassign_registered(name, kind, value)
        elif isinstance(value, Buffer):
            # a program's own register_buffer may not know `persistent`
            settings = {} if value.persistent else {"persistent": False}
            self.register_buffer(name, value, **settings)
        else:
            object.__setattr__(self, name, value)

    def _reassign_registered(self, name: str, kind: str, value: object) -> None:
        """Assign a value that is neither a Parameter nor a Module to a registered name."""
        fits = value is None or (kind == BUFFER and isinstance(value, ArrayMethods))
        if not fits:
            article = "child module" if kind == MODULE else kind
            fix = (
                f" To fix it, wrap it in nn.Parameter, or  del module.{name}  first; to "
                "change the values alone, write to the parameter inside a no_grad block."
            )
            raise TypeError(
                f"cannot assign '{type_name(value)}' as {article} '{name}' ({FITTING[kind]} or None "
                f"expected).{fix if kind == PARAMETER else ''}"
            )
        if isinstance(value, Buffer):
            keep = self._non_persistent_buffers_set
            keep.discard(name) if value.persistent else keep.add(name)
        self._register_as(name, kind, value)

    def _unregister_other_kind(self, name: str, kind: str) -> None:
        """Unregister the name if it was registered with another kind."""
        kinds = self._get_registered_kinds("parameters" if kind == PARAMETER else kind)
        if kinds.get(name) != kind:
            kinds.pop(name, None)
            self._non_persistent_buffers_set.discard(name)
            self.__dict__.pop(name, None)
            self.__dict__.pop("." + name, None)

    def _get_registered_kinds(self, what: str) -> dict[str, str]:
        """The registered names and kinds. Raises AttributeError about `what` before Module.__init__ was called."""
        if "_registered_kinds" not in self.__dict__:
            raise AttributeError(
                f"cannot assign {what} before Module.__init__() call. {BEGIN_INIT}"
            )
        return self._registered_kinds

    def __delattr__(self, name: str) -> None:
        if self.__dict__.get("_registered_kinds", {}).pop(name, None) is not None:
            self._non_persistent_buffers_set.discard(name)
            del self.__dict__[name if name in self.__dict__ else "." + name]
        else:
            object.__delattr__(self, name)

    def __getattr__(self, name: str) -> Any:
        """Called only for what an ordinary look-up does not find: no such attribute, or a property that failed."""
        if name in self.__dict__.get("_registered_kinds", {}):  # behind a property of the class
            return self._registered(name)
        missing, why = name, ""
        if "_registered_kinds" not in self.__dict__:
            missing = "_modules" if name == "_registered_kinds" else name  # PyTorch misses this one
            why = f". Module.__init__() has not been called. {BEGIN_INIT}"
        message = f"'{type(self).__name__}' object has no attribute '{missing}'{why}"
        raise AttributeError(message, name=name, obj=self)

    # For copy and pickle. Here, so that they do not ask the __getattr__ of a module that wraps another
    # one: on an object that is not filled yet, it would ask itself for the other module, again and again.

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _register_as(self, name: str, kind: str, value: object) -> None:
        if modes.unusual > modes.light:
            modes.tell("assigned", self, name)
        self._registered_kinds[name] = kind
        # As in PyTorch, a method of the class hides what is registered under its name, as in
        # self.parameters = ParameterList(). Its key begins with a dot, as no name does.
        hidden = callable(getattr(type(self), name, None))
        self.__dict__["." + name if hidden else name] = value

    def _registered(self, name: str) -> Any:
        attributes = self.__dict__
        return attributes[name] if name in attributes else attributes["." + name]

    # ------------------------------------------------------------------ by name

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name.

        Raises KeyError for a name that is already used, empty or contains a dot, TypeError for an
        object that is not a Parameter, and ValueError for a tensor that is not a leaf.
        """
        self._check_registered_name(name, PARAMETER)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{type_name(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                    f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                    "the value in the forward() method."
                )
        self._register_as(name, PARAMETER, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the state but not learned; None reserves the name.

        persistent   whether it is part of the state_dict
        """
        self._check_registered_name(name, BUFFER)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._register_as(name, BUFFER, tensor)
        keep = self._non_persistent_buffers_set
        keep.discard(name) if persistent else keep.add(name)

    def add_module(self, name: str, module: "Registry | None") -> None:
        """Add a module under a name, which does not need to be a Python identifier."""
        if module is not None and not isinstance(module, Registry):
            raise TypeError(f"{type_name(module)} is not a Module subclass{_fix_of(module)}")
        self._check_registered_name(name, MODULE)
        self._register_as(name, MODULE, module)

    def register_module(self, name: str, module: "Registry | None") -> None:
        """Another name of add_module."""
        self.add_module(name, module)

    def _check_registered_name(self, name: str, kind: str) -> None:
        kinds = self._get_registered_kinds(kind)
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type_name(name)}")
        if "." in name:
            got = f", got: {name}" if kind == MODULE else ""
            raise KeyError(f'{kind} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if kinds.get(name) != kind and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # ------------------------------------------------------------------ of this module, by kind

    def _own_named(self, kind: str) -> list[tuple[str, Any]]:
        """The names and values of this kind in this module, without submodules."""
        return [(n, self._registered(n)) for n, k in self._registered_kinds.items() if k == kind]

    def _replace_own(self, kind: str, members: Mapping[str, Any]) -> None:
        """Register these as the only ones of this kind. A copy of this module that shares its names keeps its own."""
        members, kinds = dict(members), self._registered_kinds
        for name in [name for name, k in kinds.items() if k == kind]:
            self.__dict__.pop(name, None)
            self.__dict__.pop("." + name, None)
        others = {name: k for name, k in kinds.items() if k != kind}
        object.__setattr__(self, "_registered_kinds", others)
        for name, value in members.items():
            self._register_as(name, kind, value)

    _parameters, _buffers, _modules = map(_own_names, (PARAMETER, BUFFER, MODULE))

    # ------------------------------------------------------------------ including submodules

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module and all modules inside it, with their names. Each comes before the modules inside it."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._own_named(MODULE):
            if module is not None:
                yield from module.named_modules(memo, _join_path(prefix, name), remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all modules inside it, each once (or, without remove_duplicate, as often as it occurs)."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The modules directly inside this one, each once."""
        seen = set()
        for name, module in self._own_named(MODULE):
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The modules directly inside this one, without their names."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """The names and values that get_members_fn returns for this module and, with recurse, for its submodules."""
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield _join_path(path, name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their names, in the order of assignment, module by module.

        prefix             a prefix for every name
        recurse            include the parameters of the modules inside
        remove_duplicate   list a parameter with several names only once
        """
        yield from self._named_members(
            lambda module: module._own_named(PARAMETER), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once, for example to pass to an optimizer."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names."""
        yield from self._named_members(
            lambda module: module._own_named(BUFFER), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ------------------------------------------------------------------ by a path

    def get_submodule(self, target: str) -> Any:
        """The module at a path like "encoder.layers.0". The empty path is this module.

        Raises AttributeError if there is nothing at this path, or something that is not a module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = _attribute(module, name)
            if not isinstance(module, Registry):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: "Registry", strict: bool = False) -> None:
        """Set the module at a path. With strict, the path must already lead to a module."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Registry):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)  # it must be a module
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path like "encoder.weight"."""
        found = self._get_at_path(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path like "norm.running_mean"."""
        found: Tensor = self._get_at_path(target)
        path, _, name = target.rpartition(".")
        if self.get_submodule(path)._registered_kinds.get(name) != BUFFER:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _get_at_path(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        return _attribute(self.get_submodule(path), name)


def _attribute(module: object, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    return getattr(module, name)


class OwnNames(MutableMapping[str, Any]):
    """The members of one kind of a module, as a dict from names to values: PyTorch's `module._parameters`.

    It stores nothing itself: writing to it writes to the module.
    """

    def __init__(self, module: Registry, kind: str) -> None:
        self._module, self._kind = module, kind

    def __getitem__(self, name: str) -> Any:
        if self._module._registered_kinds.get(name) != self._kind:
            raise KeyError(name)
        return self._module._registered(name)

    def __setitem__(self, name: str, value: object) -> None:
        self._module._register_as(name, self._kind, value)

    def __delitem__(self, name: str) -> None:
        self[name]  # KeyError if it is not there
        delattr(self._module, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._module._own_named(self._kind)])

    def __len__(self) -> int:
        return len(self._module._own_named(self._kind))

    def copy(self) -> dict[str, Any]:
        """A dict of the names and values."""
        return dict(self._module._own_named(self._kind))

    # Views of a dict, unlike those of other mappings, can be reversed.
    def keys(self) -> KeysView[str]:
        """The names, as they are now."""
        return self.copy().keys()

    def values(self) -> ValuesView[Any]:
        """The values, as they are now."""
        return self.copy().values()

    def items(self) -> ItemsView[str, Any]:
        """The names and values, as they are now."""
        return self.copy().items()

    def __reversed__(self) -> Iterator[str]:
        return reversed(self.copy())

    def popitem(self) -> tuple[str, Any]:
        """Remove the last name and return it with its value, as a dict does."""
        for name in reversed(self):
            return name, self.pop(name)
        raise KeyError("popitem(): dictionary is empty")  # where clear() stops

    def __repr__(self) -> str:
        return repr(self.copy())


def _join_path(path: str, name: str) -> str:
    """Append a name to a path: "encoder.layers" and "0" give "encoder.layers.0"."""
    return f"{path}.{name}" if path else name


def type_name(value: object) -> str:
    """The name of a type in error messages: "list", "minigrad.FloatTensor"."""
    return str(value.type()) if isinstance(value, Tensor) else named_type(value)
