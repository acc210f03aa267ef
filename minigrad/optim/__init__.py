"""Optimizers: update parameters from their gradients.

optimizer.py      the base class: groups of parameters, and the state of each parameter
sgd.py            SGD, with momentum; ASGD, which also keeps an average
adaptive.py       adaptive learning rates: Adam, RMSprop, Adagrad and others
lbfgs.py          LBFGS, which uses curvature
swa_utils.py      weight averaging, for any model
elementwise.py    the base class of most optimizers: an update rule that works elementwise
blocks.py         runs an elementwise rule fast, on many values at once
lr_scheduler.py   learning rates that change during training

Read optimizer.py and sgd.py first.
"""

from functools import partial as _partial

from minigrad.compat.modules import attribute as _attribute
from minigrad.compat.modules import own_names as _own_names
from minigrad.optim import elementwise, lr_scheduler, optimizer, swa_utils
from minigrad.optim.adaptive import *
from minigrad.optim.lbfgs import *
from minigrad.optim.optimizer import *
from minigrad.optim.sgd import *

__all__ = _own_names(
    vars(),
    lambda v: (
        isinstance(v, type)
        and issubclass(v, optimizer.Optimizer)
        and v not in (elementwise.Elementwise, optimizer.DeclaredOptimizer)
    ),
)
__all__ += ["lr_scheduler", "swa_utils"]

__getattr__ = _partial(_attribute, __name__)  # for PyTorch's module names, such as optim.adam
