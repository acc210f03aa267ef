"""Derivatives, with the names of torch.autograd.

    reverse_ad.py   grad and backward, which start a backward pass
    forward_ad.py   forward mode: dual_level, make_dual, unpack_dual
    transforms.py   function transforms: grad, vjp, jvp, jacrev, hessian
    batches.py      vmap: a function of one example becomes a function of a batch
    functional.py   the older names for Jacobians, Hessians and products with them
    numerical.py    gradcheck: compare gradients with finite differences
    three_ways.py   numeric, symbolic and automatic differentiation side by side
    graph.py        nodes of the graph, and hooks on saved tensors
    anomaly.py      raise an error for a NaN in a backward pass, with the forward line
    variable.py     the old name for tensors with gradients

`minigrad.func` provides transforms.py and vmap under the names of torch.func.
"""

from minigrad.autograd import forward_ad, functional, graph
from minigrad.autograd.anomaly import detect_anomaly, set_detect_anomaly
from minigrad.autograd.numerical import gradcheck, gradgradcheck
from minigrad.autograd.reverse_ad import backward, grad
from minigrad.autograd.variable import Variable
from minigrad.core import function
from minigrad.core.function import Function
from minigrad.core.modes import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
