"""Records PyTorch's own engine on the same tape.

If PyTorch is imported, `record` and `%%autograd` also record its tensors. PyTorch is not a
dependency: nothing here is imported before PyTorch is.

    values.py       snapshots of its tensors
    tensors.py      maps its tensors and the nodes of its graph to entries
    operations.py   the forward half: the operations of its dispatcher
    passes.py       the backward half: its engine, observed by hooks
    graph.py        its graph, for `chain` and `make_dot`

A recording does not change results, gradients, versions or random numbers.
"""

import inspect
import os.path
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial, wraps
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim import lr_scheduler
from torch.optim import optimizer as optimizers
from torch.utils.data import dataloader

from minigrad.core.errors import add_machinery
from minigrad.tape.recorder import Recorder
from minigrad.tape.torch.operations import Operations
from minigrad.tape.torch.passes import Passes
from minigrad.tape.torch.tensors import TELLS_HOOKS, TorchTensors

add_machinery(os.path.join(os.path.dirname(torch.__file__), ""), "<eval_with_key>")

Block = Callable[[Any], AbstractContextManager[None]]  # takes the object whose method is called


@contextmanager
def watching(recorder: Recorder) -> Iterator[Operations]:
    """Within this block, add PyTorch's operations and backward passes to a recording."""
    operations = Operations(TorchTensors(recorder))
    passes = Passes(operations)
    engine = torch.autograd._engine_run_backward
    with ExitStack() as stack:
        for handle in (
            register_module_forward_pre_hook(operations.called),
            register_module_forward_hook(operations.returned, always_call=True),
            optimizers.register_optimizer_step_pre_hook(operations.step_begins),
            optimizers.register_optimizer_step_post_hook(operations.step_ended),
        ):
            stack.callback(handle.remove)
        stack.callback(setattr, torch.autograd, "_engine_run_backward", engine)
        unseen = lambda _: operations.unseen()
        clearing, scheduling = (partial(operations.updating, k) for k in ("zero_grad", "schedule"))
        methods: list[tuple[type, str, Block]] = [
            (optimizers.Optimizer, "zero_grad", clearing),
            (torch.nn.Module, "zero_grad", clearing),
            (torch.distributions.Distribution, "__init__", unseen),  # of the parameters
            (torch.distributions.Distribution, "_validate_sample", unseen),
            (dataloader.DataLoader, "__iter__", unseen),  # a batch is a leaf on the tape
            (dataloader._BaseDataLoaderIter, "__next__", unseen),
            (torch.Tensor, "__deepcopy__", unseen),  # a copy is a leaf, too
            (torch.nn.Parameter, "__deepcopy__", unseen),
            *((kind, "step", scheduling) for kind in schedulers()),
        ]
        for owner, name, block in methods:
            method = getattr(owner, name)
            stack.callback(setattr, owner, name, method)
            setattr(owner, name, in_block(block, method))
        torch.autograd._engine_run_backward = partial(passes.run, engine)
        stack.enter_context(recording_functions(operations))
        if not TELLS_HOOKS:
            stack.enter_context(counting_hooks(operations))
        recorder.engines.append(operations.seen)
        stack.callback(operations.flush)
        stack.enter_context(operations)
        yield operations


@contextmanager
def recording_functions(operations: Operations) -> Iterator[None]:
    """Within this block, record the Functions of the user."""
    function: Any = torch.autograd.Function
    base, apply = function.__mro__[1], vars(function)["apply"]
    apply_of_base = inspect.getattr_static(base, "apply")

    def applied(cls: type, *args: Any, **kwargs: Any) -> Any:
        return operations.function(apply.__get__(None, cls), cls, args, kwargs)

    # What `square = Square.apply` was before the recording calls the apply of the base class.
    def applied_before(cls: type, *args: Any, **kwargs: Any) -> Any:
        bound = apply_of_base.__get__(None, cls)
        # The compiler reads this, as a part of the program. torch.func has Functions of its own.
        if torch.compiler.is_compiling() or not issubclass(cls, function):
            return bound(*args, **kwargs)
        return operations.function(bound, cls, args, kwargs)

    function.apply, base.apply = classmethod(applied), classmethod(applied_before)
    try:
        yield
    finally:
        function.apply = apply
        del base.apply


def schedulers() -> list[type]:
    """PyTorch's classes of schedulers that have a step of their own."""
    kinds = [k for k in vars(lr_scheduler).values() if isinstance(k, type)]
    return [k for k in kinds if issubclass(k, lr_scheduler.LRScheduler) and "step" in vars(k)]


def in_block(block: Block, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, each call of which runs within a block."""

    @wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with block(self):
            return method(self, *args, **kwargs)

    return run


@contextmanager
def counting_hooks(operations: Operations) -> Iterator[None]:
    """Within this block, count the open blocks of saved_tensors_hooks (for PyTorch before 2.10)."""
    hooks: Any = torch.autograd.graph.saved_tensors_hooks
    enter, leave = hooks.__enter__, hooks.__exit__

    def entered(self: Any) -> Any:
        operations.flush()  # the last operation ran outside of the block
        operations.seen.packing += 1
        return enter(self)

    def left(self: Any, *error: Any) -> Any:
        operations.flush()
        operations.seen.packing -= 1
        return leave(self, *error)

    hooks.__enter__, hooks.__exit__ = entered, left
    try:
        yield
    finally:
        hooks.__enter__, hooks.__exit__ = enter, leave
