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

from typing import Any

from minigrad.optim import lr_scheduler
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
]


def __getattr__(name: str) -> Any:
    """swa_utils needs modules, which need more: it is imported when it is first asked for."""
    if name == "swa_utils":
        import importlib

        return importlib.import_module("minigrad.optim.swa_utils")
    raise AttributeError(f"module 'minigrad.optim' has no attribute {name!r}")
