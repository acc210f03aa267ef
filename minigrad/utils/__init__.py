"""Utilities for training: `utils.data` loads examples for a model, and `utils.checkpoint` saves memory."""

from functools import partial as _partial

from minigrad.compat.modules import attribute as _attribute
from minigrad.utils import checkpoint, data

__all__ = ["checkpoint", "data"]

__getattr__ = _partial(_attribute, __name__)  # for PyTorch's names that minigrad leaves out
