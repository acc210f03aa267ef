"""state_dict: the parameters and buffers of a module, as a dict from names to tensors.

    minigrad.save(net.state_dict(), path)
    net.load_state_dict(minigrad.load(path))

The names are those of named_parameters and the persistent buffers. So a state can be loaded into
any module with the same structure. PyTorch uses the same names, so its states can be loaded, too.
The tensors share memory with the module. Loading copies into this memory.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

import numpy as np

from minigrad.core import modes
from minigrad.core.hooks import RemovableHandle
from minigrad.core.tensor import Size, Tensor, wrap
from minigrad.nn.parameter import Parameter, is_lazy
from minigrad.nn.registry import BUFFER, MODULE, PARAMETER, Hooks, Registry, new_hooks

EXTRA = "_extra_state"


def _not_a_state_dict(given: object) -> str:
    fix = " To fix it, pass model.state_dict()." if hasattr(given, "state_dict") else ""
    return f"Expected state_dict to be dict-like, got {type(given)}.{fix}"


class _IncompatibleKeys(NamedTuple):
    """The result of load_state_dict: the names missing from the state, and the names unknown to the module."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def _errors_about(keys: _IncompatibleKeys) -> Iterator[str]:
    """The error messages about missing and unexpected names."""
    for word, names in zip(("Missing", "Unexpected"), keys):
        if names:
            listed = ", ".join(f'"{name}"' for name in names)
            yield f"{word} key(s) in state_dict: {listed}. "


class State(OrderedDict[str, Any]):
    """The dict that state_dict returns. It also stores the version of each module's class."""

    _metadata: dict[str, Any]

    def __repr__(self) -> str:
        return repr(OrderedDict(self))


class Stateful(Registry):
    """The part of a module that handles saving and loading."""

    _version: int = 1
    _state_hooks: Hooks | None = None  # "before_saving", "after_saving", "before_loading", ...

    # ------------------------------------------------------------------ saving

    def state_dict(
        self,
        *,
        destination: MutableMapping[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """The parameters and persistent buffers of this module and those inside it, by name.

        destination   a dict to fill, instead of a new one
        prefix        a prefix for every name
        keep_vars     return the parameters themselves instead of detached tensors

        >>> from minigrad import nn
        >>> list(nn.Sequential(nn.Linear(2, 3), nn.ReLU()).state_dict())
        ['0.weight', '0.bias']
        """
        if destination is None:
            destination = State()
            destination._metadata = OrderedDict()
        local_metadata: dict[str, Any] = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_hooks_at("before_saving"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._own_named(MODULE):
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_hooks_at("after_saving"):
            if hook(self, destination, prefix, local_metadata) is not None:
                raise RuntimeError("state_dict post-hook must return None")
        for hook in self._state_hooks_at("replacing"):
            given = hook(self, destination, prefix, local_metadata)
            destination = destination if given is None else given
        return destination

    def _save_to_state_dict(
        self, destination: MutableMapping[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        """Save the state of this module, without its submodules."""
        for name, tensor in self._own_state_tensors():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def _own_state_tensors(self) -> list[tuple[str, Tensor]]:
        """This module's own parameters and persistent buffers."""
        named = self._own_named(PARAMETER)
        named += [
            b for b in self._own_named(BUFFER) if b[0] not in self._non_persistent_buffers_set
        ]
        return [(name, tensor) for name, tensor in named if tensor is not None]

    def get_extra_state(self) -> Any:
        """Additional state, if a class defines this method and set_extra_state."""
        raise RuntimeError(
            "this module has no extra state: its class does not define get_extra_state."
        )

    def set_extra_state(self, state: object) -> None:
        """Restore the additional state from get_extra_state."""
        raise RuntimeError(
            "this module has no extra state: its class does not define set_extra_state."
        )

    # ------------------------------------------------------------------ loading

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy a state into this module and those inside it.

        state_dict   names -> tensors, or arrays
        strict       whether the names must match those of this module exactly
        assign       use the tensors themselves instead of copying them
        returns      the missing names and the unexpected names

        Raises RuntimeError with a list of all mismatches, after copying the tensors that do match.

        >>> from minigrad import nn
        >>> nn.Linear(2, 3).load_state_dict(nn.Linear(2, 3).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(_not_a_state_dict(state_dict))
        state = OrderedDict(state_dict)  # hooks can change it
        metadata = getattr(state_dict, "_metadata", None) or {}
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []

        self._load_with_inner(state, "", metadata, assign, keys, errors)
        if strict:
            errors[:0] = _errors_about(keys)
        if errors:
            name = type(self).__name__
            raise RuntimeError(
                "\n\t".join([f"Error(s) in loading state_dict for {name}:", *errors])
            )
        return keys

    def _load_with_inner(
        self,
        state: Mapping[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        assign: bool,
        keys: _IncompatibleKeys,
        errors: list[str],
    ) -> None:
        """Load into this module, then into each one inside it."""
        local = dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, local, True, *keys, errors)
        for name, inner in self._own_named(MODULE):
            if inner is not None:
                path = f"{prefix}{name}."
                part = {k: v for k, v in state.items() if k.startswith(path)}
                inner._load_with_inner(part, path, metadata, assign, keys, errors)
        for hook in self._state_hooks_at("after_loading"):
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                    "return new values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load into this module only. A class can override this to read older states."""
        for hook in self._state_hooks_at("before_loading"):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                 error_msgs)  # fmt: skip
        own = dict(self._own_state_tensors())
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_one_tensor(name, tensor, key, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if self._registered_kinds.get(name) != MODULE if dot else name not in own:
                        unexpected_keys.append(key)

    def _load_one_tensor(
        self, name: str, old: Tensor, key: str, new: object, assign: bool
    ) -> str | None:
        """Load one tensor. Returns an error message if this fails."""
        if not isinstance(new, Tensor):
            if not hasattr(new, "__array__"):
                return (
                    f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                    f"object from checkpoint but received {type(new)}"
                )
            new = wrap(np.asarray(getattr(new, "detach", lambda: new)()))
        if is_lazy(old):  # a parameter of a lazy layer gets its shape from the state
            if is_lazy(new):
                return None
            old.materialize(new.shape)  # type: ignore[attr-defined]
        if old.shape == () and new.shape == (1,):
            new = new[0]
        if old.shape != new.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {Size(new.shape)} from checkpoint, "
                f"the shape in current model is {Size(old.shape)}."
            )
        try:
            with modes.no_grad():
                if not assign:
                    old.copy_(new)
                elif isinstance(old, Parameter) and not isinstance(new, Parameter):
                    setattr(self, name, Parameter(new.detach(), requires_grad=old.requires_grad))
                else:
                    setattr(self, name, new)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{Size(old.shape)} and whose dimensions in the checkpoint are {Size(new.shape)}, "
                f"an exception occurred : {error.args}."
            )
        return None

    # ------------------------------------------------------------------ hooks

    def _state_hooks_at(self, when: str) -> list[Any]:
        return [] if self._state_hooks is None else list(self._state_hooks[when].values())

    def _add_state_hook(self, when: str, hook: Callable[..., Any]) -> RemovableHandle:
        if self._state_hooks is None:
            self._state_hooks = new_hooks()
        return RemovableHandle(self._state_hooks[when], hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before this module's state is saved."""
        return self._add_state_hook("before_saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata) after this module's state is saved.

        The hook can change the dict.
        """
        return self._add_state_hook("after_saving", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs) before this module's state is loaded. The hook can change them."""
        return self._add_state_hook("before_loading", hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """Like register_load_state_dict_pre_hook, but the hook does not get the module. Published programs use it."""
        without = hook if with_module else lambda module, *loaded: hook(*loaded)
        return self._add_state_hook("before_loading", without)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Like register_state_dict_post_hook, but the hook may return a dict, which replaces the state.

        Published programs use it.
        """
        return self._add_state_hook("replacing", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, incompatible_keys) after this module's state is loaded.

        The hook can change the two lists.
        """
        return self._add_state_hook("after_loading", hook)
