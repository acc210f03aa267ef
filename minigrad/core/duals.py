"""Forward mode: tensors that carry a tangent.

A *dual* tensor has a value x and a tangent x_dot: the direction in which x moves.
An op on duals computes its result's value as usual, and its result's tangent from the
operands' tangents. This needs no second table of formulas: they follow from the op's kind and
its rules (`push_forward` in op.py).

Tangents belong to a level. `dual_level()` opens one, and levels can be nested, for
derivatives of derivatives. To compute the tangent of level k, we use values without the
tangents of level k and of the levels inside it. So derivatives of different levels are never confused,
and the tangents that remain, those of the outer levels, give the mixed derivatives.

A view's tangent is a view of its base's tangent. So a write to one is visible in the other,
as it does for values.

Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 3; for levels,
Siskind and Pearlmutter, "Nesting forward-mode AD in a functional framework" (2008).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core import modes
from minigrad.core.dtypes import check_not_complex, is_floating
from minigrad.core.memory import Tensor, make
from minigrad.core.op import Op, push_forward
from minigrad.core.plan import values_of
from minigrad.core.views import apply_chain, view_chain_to


def tangent_of(x: Tensor, level: int) -> Tensor | None:
    """The tangent that x has at this level, if any."""
    return None if x._tangents is None else x._tangents.get(level)


def check_size(x: Tensor, tangent: Tensor) -> None:
    """Raise RuntimeError if the tangent is not shaped like x."""
    if tangent.array.shape != x.array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(x.array.shape)} while the given forward gradient is of size "
            f"{list(tangent.array.shape)}."
        )


def set_tangent(x: Tensor, level: int, tangent: Tensor) -> None:
    """Give x this tangent at this level."""
    x._tangents = {**(x._tangents or {}), level: tangent}


def stripped(x: Tensor, level: int) -> Tensor:
    """x with its history, but without the tangents of this level and of the levels inside it."""
    if x._tangents is None or not any(k >= level for k in x._tangents):
        return x
    z = make.tensor(x.array, x.counter, x.node)
    z._tangents = {k: t for k, t in x._tangents.items() if k < level} or None
    return z


def push(op: Op, operands: Sequence[Tensor], settings: dict[str, Any], z: Tensor) -> None:
    """Give z = op(*operands) its tangents, one for each level at which an operand has one."""
    if all(x._tangents is None for x in operands):
        return
    levels = modes.state.levels
    observer = modes.set_mode("observer", None)  # these computations are not the user's operations
    try:
        for k, level in enumerate(levels):
            # The operands only have tangents of the outer levels, so we close the other levels.
            modes.set_mode("levels", levels[:k])
            if z._base is not None and tangent_of(z._base, level) is not None:
                continue  # a view takes its tangent from its base
            z_dot = push_level(op, operands, settings, z, level)
            if z_dot is not None:
                set_tangent(z, level, z_dot)
    finally:
        modes.set_mode("levels", levels)
        modes.set_mode("observer", observer)


def push_level(
    op: Op, operands: Sequence[Tensor], settings: dict[str, Any], z: Tensor, level: int
) -> Tensor | None:
    """The tangent of z at one level; None if no operand has one or the tangent is zero."""
    tangents = [tangent_of(x, level) for x in operands]
    if op.kind == "constant" or all(t is None for t in tangents):
        return None
    if not is_floating(z.array.dtype):  # integers and booleans have no tangents
        return None
    check_not_complex(f"the result of {op.name}", z.array.dtype)
    plain = [stripped(x, level) for x in operands]
    values = values_of(op, plain, settings) | {"z": stripped(z, level)}
    names = range(len(operands)) if op.variadic else op.operands
    z_dot: Tensor | None = push_forward(op, values, dict(zip(names, tangents, strict=True)))
    if z_dot is None:
        return None
    if any(z_dot is t for t in tangents):  # as for x + 1: a write to one must not change the other
        z_dot = z_dot.clone()
    return z_dot.to(z.array.dtype)  # its dtype is another if a constant has made that of z


def push_write(op: Op, before: Sequence[Tensor], settings: dict[str, Any], x: Tensor) -> None:
    """Update the tangents of x after a write to x.

    A view takes its tangent from its base. So a write to a view gives the base a new tangent, in
    which the written part is replaced. Other views see the change.
    """
    for level in modes.state.levels:
        z_dot = push_level(op, before, settings, x, level)
        old = tangent_of(x, level)
        if z_dot is None:
            if old is None:
                continue
            z_dot = old * 0
        base = x._base
        if base is None or (old is not None and tangent_of(base, level) is None):
            set_tangent(x, level, z_dot)
            continue
        known = tangent_of(base, level)
        whole = make.wrap(np.zeros_like(base.array))  # with the same memory layout
        if known is not None:
            whole.copy_(known)
        apply_chain(whole, view_chain_to(x)).copy_(z_dot)
        set_tangent(base, level, whole)
