"""The function transforms of torch.func. See autograd/transforms.py and autograd/batches.py."""

from minigrad.autograd.batches import vmap
from minigrad.autograd.transforms import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)
from minigrad.nn.stateless import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
