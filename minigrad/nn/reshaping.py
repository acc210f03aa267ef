"""Modules that change only the shape."""

from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.nn.function_layer import FunctionLayer

__all__ = ["Flatten", "Unflatten"]


class Flatten(FunctionLayer, of=None):
    """Merge the axes from start_dim to end_dim into one.

    input     (n, c, h, w)
    returns   (n, c * h * w)
    """

    start_dim: int = 1
    end_dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        """(..., a, ..., b, ...) to (..., a * ... * b, ...)."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(FunctionLayer, of=None):
    """Split one axis into several.

    >>> from minigrad import ones
    >>> Unflatten(1, (2, 3))(ones(4, 6)).shape
    minigrad.Size([4, 2, 3])
    """

    dim: int
    unflattened_size: Any

    def forward(self, input: Tensor) -> Tensor:
        """(..., n, ...) to (..., *unflattened_size, ...)."""
        return input.unflatten(self.dim, self.unflattened_size)

    def _check(self) -> None:
        unflattened_size = self.unflattened_size
        if not isinstance(self.dim, int):
            raise TypeError(f"dim must be int, but found type {type(self.dim).__name__}")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for k, n in enumerate(unflattened_size):
            if not isinstance(n, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(n).__name__} at pos {k}"
                )
