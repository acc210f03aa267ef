"""Optimizers: update parameters from their gradients.

optimizer.py      the base class: groups of parameters, and the state of each parameter
sgd.py            SGD, with momentum; ASGD, which also keeps an average
adaptive.py       a step length for each value: Adam, RMSprop, Adagrad and others
lbfgs.py          LBFGS, which uses curvature
swa_utils.py      averages the weights of any model
elementwise.py    the base class of most: a rule that treats each value separately
blocks.py         runs the rule fast, on many values at once
lr_scheduler.py   learning rates that change during training

Read optimizer.py and sgd.py first.
"""

from functools import partial as _partial

from minigrad.compat.modules import attribute as _attribute
from minigrad.optim import lr_scheduler, swa_utils
from minigrad.optim.adaptive import (
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
    SparseAdam,
)
from minigrad.optim.lbfgs import LBFGS
from minigrad.optim.optimizer import Optimizer
from minigrad.optim.sgd import ASGD, SGD

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]

__getattr__ = _partial(_attribute, __name__)  # files that PyTorch has: optim.adam
