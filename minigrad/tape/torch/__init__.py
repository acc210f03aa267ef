"""What PyTorch's own engine did, on the same tape.

If PyTorch is imported, `record` and `%%autograd` see its tensors as well. PyTorch never becomes a
dependency: nothing here is imported before it is.

    values.py       snapshots of its tensors
    tensors.py      which tensor, and which node of its graph, is which entry
    operations.py   the forward half: what its dispatcher carries out
    passes.py       the backward half: what its engine runs, seen by hooks
    graph.py        its graph, for `chain` and `make_dot`

A recording changes nothing: not the results, gradients and versions, and not the random numbers.
"""

import os.path
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from minigrad.core.errors import add_machinery
from minigrad.tape.recorder import Recorder
from minigrad.tape.torch.operations import Operations
from minigrad.tape.torch.passes import Passes
from minigrad.tape.torch.tensors import TorchTensors

add_machinery(os.path.join(os.path.dirname(torch.__file__), ""), "<eval_with_key>")


@contextmanager
def watching(recorder: Recorder) -> Iterator[Operations]:
    """Within this block, what PyTorch does is added to a recording."""
    operations = Operations(TorchTensors(recorder))
    passes = Passes(operations)
    engine, apply = torch.autograd._engine_run_backward, torch.autograd.Function.__dict__["apply"]

    def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        return passes.run(engine, outputs, *args, **kwargs)

    def applied(cls: type, *args: Any, **kwargs: Any) -> Any:
        return operations.function(apply.__func__, cls, args, kwargs)

    with ExitStack() as stack:
        for handle in (
            register_module_forward_pre_hook(operations.called),
            register_module_forward_hook(operations.returned, always_call=True),
            register_optimizer_step_pre_hook(operations.step_begins),
            register_optimizer_step_post_hook(operations.step_ended),
        ):
            stack.callback(handle.remove)
        stack.callback(setattr, torch.autograd, "_engine_run_backward", engine)
        stack.callback(setattr, torch.autograd.Function, "apply", apply)
        torch.autograd._engine_run_backward = run
        torch.autograd.Function.apply = classmethod(applied)
        recorder.engines.append(operations.seen)
        stack.callback(operations.look)
        stack.enter_context(operations)
        yield operations
