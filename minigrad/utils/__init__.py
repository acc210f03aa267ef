"""Around training: `utils.data` hands examples to a model, in batches and in random order."""

from minigrad.utils import data

__all__ = ["data"]
