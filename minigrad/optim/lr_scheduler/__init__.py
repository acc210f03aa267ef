"""Schedulers: learning rates that change during training.

scheduler.py    the base class, and ReduceLROnPlateau, which lowers the rate when the loss stops improving
curves.py       rates that follow a formula: StepLR, CosineAnnealingLR, OneCycleLR, ...
combined.py     combinations of schedulers: SequentialLR, ChainedScheduler
"""

from minigrad.compat.modules import own_names as _own_names
from minigrad.optim.lr_scheduler import scheduler
from minigrad.optim.lr_scheduler.combined import *
from minigrad.optim.lr_scheduler.curves import *
from minigrad.optim.lr_scheduler.scheduler import *

__all__ = _own_names(vars(), lambda v: isinstance(v, type) and issubclass(v, scheduler.LRScheduler))
EPOCH_DEPRECATION_WARNING = scheduler.EPOCH_DEPRECATION_WARNING
_LRScheduler = scheduler.LRScheduler  # the older name
