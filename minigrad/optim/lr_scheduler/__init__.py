"""Schedulers: learning rates that change during training.

scheduler.py    the base class
curves.py       rates that follow a formula: StepLR, CosineAnnealingLR, OneCycleLR, ...
plateau.py      ReduceLROnPlateau, which lowers the rate when the loss stops improving
combined.py     combinations of schedulers: SequentialLR, ChainedScheduler
"""

from minigrad.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from minigrad.optim.lr_scheduler.curves import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    StepLR,
)
from minigrad.optim.lr_scheduler.plateau import ReduceLROnPlateau
from minigrad.optim.lr_scheduler.scheduler import (
    EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING,
)
from minigrad.optim.lr_scheduler.scheduler import LRScheduler

_LRScheduler = LRScheduler  # the older name

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
