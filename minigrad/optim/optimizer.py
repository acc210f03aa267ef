"""Optimizer: holds the parameters to update, their settings, and the state of each parameter.

An optimizer holds the parameters themselves, not copies. So the model, the tape and the
optimizer share the same objects: `backward` puts a gradient into `p.grad`, `step` writes
to `p`, and the model computes with the new values.

    param_groups    dicts: {"params": [...], "lr": ..., ...}. Each group has its own settings
    defaults        settings for groups that do not set them
    state           a dict for each parameter: its momentum, its number of steps, ...

To write your own optimizer, subclass Optimizer and define `step`:

>>> import minigrad
>>> class Descent(Optimizer):
...     def __init__(self, params, lr):
...         super().__init__(params, {"lr": lr})
...
...     @minigrad.no_grad()
...     def step(self):
...         for group in self.param_groups:
...             for p in group["params"]:
...                 p -= group["lr"] * p.grad
>>> x = minigrad.tensor([3.0], requires_grad=True)
>>> descent = Descent([x], lr=0.5)
>>> (x * x).sum().backward()
>>> descent.step()
>>> x
tensor([0.], requires_grad=True)

elementwise.py shows how the optimizers of this package compute their steps.
"""

import dataclasses
import functools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from minigrad.core.dtypes import dtype, float32, float64, get_default_dtype
from minigrad.core.errors import warn_user
from minigrad.core.hooks import RemovableHandle
from minigrad.core.modes import enable_grad, reports, set_grad_enabled
from minigrad.core.tensor import Tensor
from minigrad.methods.arguments import list_of_parameters
from minigrad.nn.calling import added
from minigrad.nn.fields import WithFields
from minigrad.nn.parameter import clear_gradients
from minigrad.nn.registry import new_hooks

Group = dict[str, Any]
Closure = Callable[[], Any]
Hook = Callable[..., Any]
Params = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]
ParamsT = _params_t = Params  # PyTorch's names, new and old, which programs use in annotations


class _Replacement(threading.local):
    """A thread-local replacement for step, set by static.compile while it records a step."""

    step: Callable[..., Any] | None = None


replacement = _Replacement()


class _RequiredParameter:
    """The default of a setting that every group must set itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


class Optimizer:
    """The base class of all optimizers: groups, state, and how to save and load them.

    params      tensors; or (name, tensor) pairs, as from named_parameters(); or one dict per
                group, with "params" and the settings that differ from the defaults
    defaults    settings for groups that do not set them

    Raises TypeError for anything that is not a tensor, and ValueError for an empty list, for a
    tensor that is the result of an operation, and for a tensor in two groups.
    """

    _tracks_writes = False  # does `step` itself update `_written` and the version counters?

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but "
                "got a Tensor. To fix it, give a list: [x]."
            )
        self.defaults = defaults
        self._reset_caches()
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups: list[Any] = list_of_parameters(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list. If it came from model.parameters(), that generator "
                "may have been used up, or the model keeps its layers where it cannot find them (in a plain "
                "list or dict)."
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _reset_caches(self) -> None:
        """Remove all hooks, and the plans for computing a step (see blocks.py)."""
        self._hooks = new_hooks()
        self._plans: dict[int, Any] = {}
        self._written: list[tuple[Tensor, int]] = []  # in the latest step: (tensor, new version)
        self._has_stepped = False
        # Has step() been called since the first scheduler was made? The schedulers check this.
        self._opt_called = self._is_scheduled = False
        self._stepping = False

    # ------------------------------------------------------------------ the step

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters from their gradients.

        closure    computes the loss, calls backward, and returns the loss
        returns    the closure's loss; None without a closure
        """
        raise NotImplementedError

    @staticmethod
    def _loss_of(closure: Closure | None) -> Any:
        """Call the closure with gradients enabled and return its loss; None without a closure."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def __init_subclass__(cls, **settings: object) -> None:
        super().__init_subclass__(**settings)
        if "step" in vars(cls):
            cls.step = reports("step")(_with_hooks(vars(cls)["step"]))  # type: ignore[method-assign]

    def _patch_step_function(self) -> None:
        """Prepare for hooks. In PyTorch, an optimizer that wraps another one and skips __init__ calls this."""
        self._reset_caches()

    @reports("zero_grad")
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients: `.grad` becomes None, or zeros if set_to_none is False.

        Gradients accumulate until this is called. `step` skips a parameter whose `.grad` is None, but
        not one whose gradient is zero, because momentum or weight decay still changes it.
        """
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    # ------------------------------------------------------------------ the groups

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters, such as a layer that was frozen until now.

        param_group    {"params": ..., and the settings that differ from the defaults}
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in sets will change between runs. Please use a list instead."
            )
        entries = [params] if isinstance(params, Tensor) else list_of_parameters(params)
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        if names and len(names) != len(entries):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        params = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for k, p in enumerate(params):
            self._check(p, k)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            param_group.setdefault(name, default)
        if len({id(p) for p in params}) != len(params):
            warn_user(
                "optimizer contains a parameter group with duplicate parameters; in future, this will "
                "cause an error"
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if names else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{kind} to the optimizer"
                )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if not known.isdisjoint(id(p) for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _check(self, p: object, k: int) -> None:
        """Raise TypeError if p is not a tensor, and ValueError if it is not a leaf (unless differentiable=True)."""
        if not isinstance(p, Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__} "
                f"(number {k}){'. To fix it, pass model.parameters().' if hasattr(p, 'parameters') else ''}"
            )
        if not (p.is_leaf or p.retains_grad or self.defaults.get("differentiable")):
            raise ValueError(
                f"can't optimize a non-leaf Tensor: parameter {k}, of shape {p.array.shape}, is the result "
                "of an operation, so the next forward pass would compute it again. To fix it, give the "
                "optimizer the leaf that it was computed from, or make it one: x.detach().requires_grad_()."
            )

    def __repr__(self) -> str:
        groups = [
            f"Parameter Group {k}\n"
            + "".join([f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"])
            for k, group in enumerate(self.param_groups)
        ]
        return f"{type(self).__name__} (\n" + "\n".join(groups) + ")"

    # ------------------------------------------------------------------ saving and loading

    def state_dict(self) -> dict[str, Any]:
        """State and groups as plain data, in which numbers stand for the parameters.

        {"state": {0: {"momentum_buffer": tensor(...)}, 1: ...},
         "param_groups": [{"lr": 0.1, ..., "params": [0, 1]}]}

        Parameters are numbered in the order in which the groups list them.
        """
        for hook in self._hooks["before_saving"].values():
            hook(self)
        params = [p for group in self.param_groups for p in group["params"]]
        number = {id(p): k for k, p in reversed(list(enumerate(params)))}  # of its first place
        groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [number[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            number[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        saved: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._hooks["after_saving"].values():
            saved = _unless_none(hook(self, saved), saved)
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a dict returned by `state_dict`. Tensors are copied.

        Raises ValueError if the number of groups, or of parameters in a group, differs.
        """
        state_dict = state_dict.copy()
        for hook in self._hooks["before_loading"].values():
            state_dict = _unless_none(hook(self, state_dict), state_dict)
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(saved_groups) != len(self.param_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: "
                f"{len(saved_groups)}, but the optimizer has {len(self.param_groups)}"
            )
        by_number: dict[Any, Tensor] = {}
        for k, (group, saved) in enumerate(zip(self.param_groups, saved_groups, strict=True)):
            if len(saved["params"]) != len(group["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    f"optimizer's group: group {k} has {len(saved['params'])} parameters there and "
                    f"{len(group['params'])} here"
                )
            by_number.update(zip(saved["params"], group["params"], strict=True))
            saved["params"] = group["params"]
            for name in ("param_names", *self.defaults):  # an older file may not have them all
                if name in group:
                    saved.setdefault(name, group[name])
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            p = by_number.get(key)
            state[key if p is None else p] = value if p is None else _fitted(value, p, None)
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._hooks["after_loading"].values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_plans" not in self.__dict__:
            self._reset_caches()
        self.__dict__.update(state)
        self._plans = {}

    # ------------------------------------------------------------------ hooks

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) before each step; it may return new (args, kwargs).

        The first of args is the optimizer itself.
        """
        return added(self._hooks, "before_step", hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) after each step."""
        return added(self._hooks, "after_step", hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer) before `state_dict` starts."""
        return added(self._hooks, "before_saving", hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer, state_dict) after `state_dict`. The hook may return a replacement."""
        return added(self._hooks, "after_saving", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(optimizer, state_dict) before loading. The hook may return a replacement."""
        return added(self._hooks, "before_loading", hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(optimizer) after loading."""
        return added(self._hooks, "after_loading", hook, prepend)


class DeclaredOptimizer(WithFields, Optimizer):
    """An optimizer with annotated settings, from which `__init__` is made (see nn/fields.py).

    class Descent(Elementwise, also="*, foreach, maximize"):
        lr: float = 1e-3                    def __init__(self, params, lr=1e-3, momentum=0,
        momentum: float = 0                              *, foreach=None, maximize=False)
    """

    _first = "params"

    if TYPE_CHECKING:  # what the signatures have in common, for editors
        params: Params
        foreach: bool | None = dataclasses.field(default=None, kw_only=True)
        fused: bool | None = dataclasses.field(default=None, kw_only=True)
        maximize: bool = dataclasses.field(default=False, kw_only=True)
        capturable: bool = dataclasses.field(default=False, kw_only=True)
        differentiable: bool = dataclasses.field(default=False, kw_only=True)
        decoupled_weight_decay: bool = dataclasses.field(default=False, kw_only=True)

    def _set_up(self, params: Params, settings: dict[str, Any]) -> None:
        Optimizer.__init__(self, params, settings)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `step` so that it calls the hooks and sets `_opt_called`."""

    @functools.wraps(step)
    def stepped(self: Optimizer, *args: object, **kwargs: object) -> Any:
        self._has_stepped = self._opt_called = True
        if replacement.step is not None:
            return replacement.step(self, *args, **kwargs)
        if "_hooks" not in vars(self):  # a wrapper that never called Optimizer.__init__
            return step(self, *args, **kwargs)
        hooked = self._hooks["before_step"] or self._hooks["after_step"]
        if self._stepping or (self._tracks_writes and not hooked):
            return step(self, *args, **kwargs)
        self._stepping = True  # a step that calls super().step() is still one step
        before = [(p, p._version) for group in self.param_groups for p in group["params"]]
        args = (self, *args)
        try:
            for hook in list(self._hooks["before_step"].values()):
                given = hook(self, args, kwargs)
                if given is not None:
                    if not (isinstance(given, tuple) and len(given) == 2):
                        raise RuntimeError(
                            f"{type(self).__name__}.step must return None or a tuple of (new_args, new_kwargs), "
                            f"but got {given}. This value was returned by a pre-hook of the step."
                        )
                    args, kwargs = given
            result = step(*args, **kwargs)
            for hook in list(self._hooks["after_step"].values()):
                hook(self, args, kwargs)
            self._written = [(p, p._version) for p, version in before if p._version != version]
            return result
        finally:
            self._stepping = False

    return stepped


# ------------------------------------------------------------------------ for published optimizers
# Many begin as a copy of one of PyTorch's, and import its private helpers.

_params_doc = _foreach_doc = _fused_doc = _capturable_doc = _differentiable_doc = _maximize_doc = ""


def _use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of `step`: without a graph, unless the setting "differentiable" asks for one."""

    @functools.wraps(step)
    def stepped(self: Optimizer, *args: object, **kwargs: object) -> Any:
        with set_grad_enabled(self.defaults["differentiable"]):
            return step(self, *args, **kwargs)

    return stepped


def _disable_dynamo_if_unsupported(single_tensor_fn: object = None) -> Callable[[Any], Any]:
    return _stack_if_compiling


def _stack_if_compiling(steps: Any) -> Any:
    return steps  # nothing is compiled


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _get_scalar_dtype(is_fused: bool | None = None) -> dtype:
    return float64 if get_default_dtype() == float64 and not is_fused else float32


def _default_to_fused_or_foreach(*given: object, **settings: object) -> tuple[bool, bool]:
    return False, False  # a loop over the parameters, as on PyTorch's CPU


def _unless_none(given: object, otherwise: object) -> Any:
    return otherwise if given is None else given


def _fitted(value: object, p: Tensor, key: object) -> Any:
    """Copy a loaded value, converted to the dtype of p. Step counts keep their dtype."""
    if isinstance(value, Tensor):
        array = value.array
        same = key == "step" or array.dtype.kind != "f" or array.dtype == p.array.dtype
        copy: Tensor = Tensor.__new__(Tensor, ())
        copy.array = array.copy() if same else array.astype(p.array.dtype)
        return copy
    if isinstance(value, dict):
        return {k: _fitted(v, p, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_fitted(v, p, None) for v in value])
    return value
