"""Around training: `utils.data` hands examples to a model, and `utils.checkpoint` saves memory."""

from minigrad.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
