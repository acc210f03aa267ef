"""Utilities for training: `utils.data` loads examples for a model, and `utils.checkpoint` saves memory."""

from minigrad.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
