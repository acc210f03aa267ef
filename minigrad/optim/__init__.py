"""Optimizers: what makes a step out of gradients.

optimizer.py      what all have in common: groups of parameters, and what is remembered of each
sgd.py            SGD, with momentum
adaptive.py       Adagrad, RMSprop, Adam, AdamW, SparseAdam
more_adaptive.py  Adadelta, Adamax, NAdam, RAdam, Rprop
lbfgs.py          LBFGS, which knows the curvature
asgd.py           ASGD, which keeps a mean; swa_utils.py averages the weights of any model
elementwise.py    what these have in common: a rule for each value by itself
blocks.py         how the rule is run quickly, on many values at once
lr_scheduler.py   learning rates that change as training goes on

Read optimizer.py and sgd.py first.
"""

from minigrad.optim import lr_scheduler, swa_utils
from minigrad.optim.adaptive import Adagrad, Adam, AdamW, RMSprop, SparseAdam
from minigrad.optim.asgd import ASGD
from minigrad.optim.lbfgs import LBFGS
from minigrad.optim.more_adaptive import Adadelta, Adamax, NAdam, RAdam, Rprop
from minigrad.optim.optimizer import Optimizer
from minigrad.optim.sgd import SGD

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
