"""PyTorch's names for forward mode: dual_level, make_dual, unpack_dual.

    with forward_ad.dual_level():
        x = forward_ad.make_dual(x, x_dot)
        z = f(x)
        z, z_dot = forward_ad.unpack_dual(z)

One pass gives f(x) and the derivative of f at x along x_dot; see duals.py.
"""

from itertools import count
from typing import NamedTuple

from minigrad.core import dtypes, modes
from minigrad.core.allocator import keep_freed_memory
from minigrad.core.duals import check_size, set_tangent, stripped, tangent_of
from minigrad.core.memory import with_tangents
from minigrad.core.modes import unobserved
from minigrad.core.tensor import Tensor, assembled
from minigrad.ops import reshape

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_next_level = count(1).__next__


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent. The tangent is None if there is none.

    >>> with dual_level():
    ...     dual = make_dual(minigrad.tensor(3.0), minigrad.tensor(1.0))
    ...     unpack_dual(dual * dual)
    UnpackedDualTensor(primal=tensor(9.), tangent=tensor(6.))
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open a level of forward mode, which lasts until `exit_dual_level`.

    >>> level = enter_dual_level()
    >>> dual = make_dual(minigrad.tensor(3.0), minigrad.tensor(1.0))
    >>> unpack_dual(dual * dual).tangent
    tensor(6.)
    >>> exit_dual_level()
    """
    keep_freed_memory()
    level = _next_level()
    modes.set_mode("levels", (*modes.state.levels, level))
    return level


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the innermost level; its tangents are no longer visible.

    >>> level = enter_dual_level()
    >>> exit_dual_level()
    """
    levels = modes.state.levels
    if not levels or level not in (None, levels[-1]):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one created.")
    modes.set_mode("levels", levels[:-1])


class dual_level:
    """A `with` block in which tensors can have tangents.

    >>> import minigrad
    >>> from minigrad.autograd import forward_ad
    >>> x, x_dot = minigrad.tensor(3.0), minigrad.tensor(1.0)
    >>> with forward_ad.dual_level():
    ...     z = forward_ad.make_dual(x, x_dot) ** 2
    ...     forward_ad.unpack_dual(z).tangent
    tensor(6.)
    """

    def __enter__(self) -> int:
        self.level = enter_dual_level()
        return self.level

    def __exit__(self, *exception: object) -> None:
        exit_dual_level(level=self.level)


def _level(level: int | None) -> int:
    if level is not None:
        return level
    if not modes.state.levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first. To fix it, write  with forward_ad.dual_level():"
        )
    return modes.state.levels[-1]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a tangent: the direction to differentiate along.

    tensor     any shape, floating point
    tangent    the same shape

    Raises RuntimeError outside a dual_level, or if the shapes differ.

    >>> with dual_level():
    ...     dual = make_dual(minigrad.tensor(3.0), minigrad.tensor(1.0))
    ...     unpack_dual(dual ** 2).tangent
    tensor(6.)
    """
    at = _level(level)
    if not isinstance(tensor, Tensor) or not isinstance(tangent, Tensor):
        raise TypeError("make_dual takes two Tensors, a value and its tangent.")
    check_has_slope("primal", tensor)
    check_has_slope("tangent", tangent)
    check_size(tensor, tangent)
    for t, what in (
        (tangent, "Setting a forward grad that itself"),
        (tensor, "Making a dual Tensor based on a Tensor that already"),
    ):
        if tangent_of(t, at) is not None:
            raise RuntimeError(
                f"{what} has a forward gradient at the same level {at} is not supported. To fix it, open another "
                "dual_level() inside."
            )
    # A new tensor on the same memory, because the given tensor must not get a tangent.
    if tensor.node is None:
        dual: Tensor = tensor.detach()
        dual._tangents = tensor._tangents
    else:
        dual = same_memory(tensor)
    set_tangent(dual, at, tangent)
    return dual


def check_has_slope(name: str, t: Tensor) -> None:
    """Raise an error for a primal or a tangent that is not floating point."""
    if not dtypes.is_floating(t.array.dtype):
        raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    dtypes.check_not_complex(f"the {name}", t.array.dtype)


def same_memory(x: Tensor) -> Tensor:
    """A new tensor that shares memory and graph with x but is not a view of x.

    Views of it are views of the new tensor, so their gradients and tangents go through it.
    """
    with unobserved():
        view = reshape(x, shape=x.array.shape)
    return with_tangents(assembled(view.array, view.counter, view.node), view._tangents)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a dual tensor, or (tensor, None) for a tensor without a tangent.

    >>> with dual_level():
    ...     dual = make_dual(minigrad.tensor(3.0), minigrad.tensor(1.0))
    ...     value, tangent = unpack_dual(5 * dual)
    >>> value, tangent
    (tensor(15.), tensor(5.))
    """
    if level is None and not modes.state.levels:
        return UnpackedDualTensor(tensor, None)
    at = _level(level)
    return UnpackedDualTensor(stripped(tensor, at), tangent_of(tensor, at))


def __getattr__(name: str) -> int:
    """`_current_level`, as in PyTorch: the number of open levels minus 1, so -1 outside of all blocks."""
    if name == "_current_level":
        return len(modes.state.levels) - 1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
