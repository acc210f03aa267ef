"""Neural networks, with PyTorch's names: modules, built on the functions in `functional`.

To learn how a module works, read parameter.py, registry.py, calling.py, state.py and
module.py, in this order, and then linear.py, the first layer. You can read the other layers
in any order.
"""

from functools import partial as _partial

from minigrad.compat.modules import attribute as _attribute
from minigrad.compat.modules import own_names as _own_names
from minigrad.core.naming import own_init as _own_init
from minigrad.nn import functional, grad, init, module, parameter, utils
from minigrad.nn.attention import *
from minigrad.nn.containers import *
from minigrad.nn.convolution import *
from minigrad.nn.lazy import *
from minigrad.nn.linear import *
from minigrad.nn.module import *
from minigrad.nn.normalization import *
from minigrad.nn.parameter import *
from minigrad.nn.recurrent import *
from minigrad.nn.recurrent_cells import *
from minigrad.nn.table import *
from minigrad.nn.transformer import *

__getattr__ = _partial(_attribute, __name__)  # for PyTorch's names that minigrad leaves out

# Whatever else a chapter defines is for other chapters only.
_KINDS = (module.Module, parameter.Parameter, parameter.Buffer)
_HELPERS = ("FunctionLayer", "NonDynamicallyQuantizableLinear", "ScriptModule")
__all__ = _own_names(
    vars(), lambda v: isinstance(v, type) and issubclass(v, _KINDS) and v.__name__ not in _HELPERS
)
for _name in __all__:
    _own_init(vars()[_name])
__all__ += ["functional", "grad", "init", "utils"]
