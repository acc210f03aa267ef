"""Functions for neural networks, with PyTorch's names, one chapter per module.

Each function either applies one op of the table (see ops/neural.py) or is composed of several
ops, so these files need no derivative rules. `input` and `target` are tensors; `reduction` is
"mean", "sum" or "none".
"""

from functools import partial as _partial
from types import FunctionType as _FunctionType

from minigrad.compat.modules import attribute as _attribute
from minigrad.methods.arguments import takes_tensors as _takes_tensors
from minigrad.nn.functional.activations import *
from minigrad.nn.functional.attention import *
from minigrad.nn.functional.classification import *
from minigrad.nn.functional.convolution import *
from minigrad.nn.functional.dropout import *
from minigrad.nn.functional.images import *
from minigrad.nn.functional.linear import *
from minigrad.nn.functional.losses import *
from minigrad.nn.functional.normalization import *
from minigrad.nn.functional.pooling import *
from minigrad.nn.functional.resizing import *
from minigrad.nn.functional.sampling import *
from minigrad.nn.functional.sequences import *

for _name, _function in list(vars().items()):
    if isinstance(_function, _FunctionType) and _function.__module__.startswith(__name__):
        vars()[_name] = _takes_tensors(_function)
        vars()[_name].__module__ = __name__  # where pickle finds it

__getattr__ = _partial(_attribute, __name__)  # for PyTorch's names that minigrad leaves out

# `from minigrad.nn.functional import *` imports these names, but not the submodules.
__all__ = [n for n, v in vars().items() if callable(v) and not n.startswith("_")]
