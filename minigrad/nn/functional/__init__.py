"""Functions for neural networks, with PyTorch's names, one chapter per module.

Each function either applies one op of the table (see ops/neural.py) or is composed of several
ops, so these files need no derivative rules. `input` and `target` are tensors; `reduction` is
"mean", "sum" or "none".
"""

from functools import partial as _partial
from types import FunctionType as _FunctionType

from minigrad.compat.modules import attribute as _attribute
from minigrad.compat.modules import own_names as _own_names
from minigrad.methods.arguments import takes_tensors as _takes_tensors
from minigrad.nn.functional.activations import *
from minigrad.nn.functional.attention import *
from minigrad.nn.functional.attention import _canonical_mask as _canonical_mask
from minigrad.nn.functional.attention import _in_projection_packed as _in_projection_packed
from minigrad.nn.functional.attention import _none_or_dtype as _none_or_dtype
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

_CHAPTERS = f"{__name__}."
__all__ = _own_names(
    vars(),
    lambda v: (
        isinstance(v, _FunctionType)
        and v.__module__.startswith(_CHAPTERS)
        and v.__module__ != f"{_CHAPTERS}arguments"
    ),
)
for _name in __all__:
    vars()[_name] = _takes_tensors(vars()[_name])
    vars()[_name].__module__ = __name__  # where pickle finds it

__getattr__ = _partial(_attribute, __name__)  # for PyTorch's names that minigrad leaves out
