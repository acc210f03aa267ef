"""Derivatives, by the names of torch.autograd.

    reverse_ad.py   grad and backward: a backward pass, started
    transforms.py   derivatives as functions of functions: grad, vjp, jvp, jacrev, hessian, vmap
    functional.py   the older names for products with Jacobians and Hessians
    forward_ad.py   forward mode: dual_level, make_dual, unpack_dual
    numerical.py    gradcheck: is a gradient right? Compare it with differences
    graph.py        a look into the graph: nodes, and hooks on what is saved
    anomaly.py      a NaN in a backward pass is an error that names the forward line
    three_ways.py   differences, symbols and the tape, side by side

`minigrad.func` gives what is in transforms.py the names of torch.func.
"""

from minigrad.autograd import forward_ad, functional, graph
from minigrad.autograd.anomaly import detect_anomaly, set_detect_anomaly
from minigrad.autograd.numerical import gradcheck, gradgradcheck
from minigrad.autograd.reverse_ad import backward, grad
from minigrad.autograd.variable import Variable
from minigrad.core import function
from minigrad.core.function import Function
from minigrad.core.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

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
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
