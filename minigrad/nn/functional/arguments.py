"""What several chapters share: one or two axes, numbers for each axis, and the reduction of a loss."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from types import FunctionType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from minigrad import ops
from minigrad.core.dtypes import torch_name
from minigrad.core.errors import warn_user, wrong_kind
from minigrad.core.naming import named_copy
from minigrad.core.op import Op
from minigrad.core.plan import compiled
from minigrad.core.shapes import Several, one_or_more
from minigrad.core.tensor import Tensor
from minigrad.nn.fields import parameters_of
from minigrad.ops.composites import named

P = ParamSpec("P")
R = TypeVar("R")
Loss = TypeVar("Loss", bound=Callable[..., Tensor])
KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD


def for_axes(
    compute: Callable[Concatenate[int, P], R], name: str = ""
) -> tuple[Callable[P, R], Callable[P, R]]:
    """Make conv1d and conv2d from _conv, whose first argument is the number of axes.

    name   their names, such as "conv{}d_input", if they are not that of the function with 1d and 2d
    """
    pattern = name or f"{compute.__name__.strip('_')}{{}}d"

    def of(axes: int) -> Callable[P, R]:
        function: Any = named_copy(cast(FunctionType, compute), pattern.format(axes))

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> Any:
            return function(axes, *args, **kwargs)

        own: Any = called
        signature = inspect.signature(compute)
        own.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])
        return called

    return of(1), of(2)


def floats_only(name: str, *inputs: Tensor) -> None:
    """Raise an error, as PyTorch does, if an input has integers or booleans."""
    for x in inputs:
        if x.dtype.kind != "f":
            raise wrong_kind(name, [torch_name(x.dtype)])


# ------------------------------------------------------------------------ numbers for each axis


def several(value: Several, n: int, name: str) -> tuple[int, ...]:
    """A tuple with one number for each axis. A single number is repeated."""
    values = one_or_more(value, name)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values, but got {name}={list(values)}"
        )
    return values


def check_steps(**steps: tuple[int, ...]) -> None:
    """Raise an error unless strides, dilations and kernel sizes are positive."""
    for name, values in steps.items():
        if min(values) <= 0:
            raise RuntimeError(
                f"non-positive {name} is not supported: {name.replace('_', ' ')} should be greater than zero, but "
                f"got {name}={list(values)}"
            )


def check_not_negative(**widths: tuple[int, ...]) -> None:
    """Raise an error if a padding is negative."""
    for name, values in widths.items():
        if min(values) < 0:
            raise RuntimeError(f"negative {name} is not supported, but got {name}={list(values)}")


def check_batched(name: str, axes: int, x: Tensor) -> None:
    """Raise an error unless x has channels, this number of spatial axes, and optionally a batch axis."""
    if x.ndim != axes + 2:
        raise RuntimeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {name}, but got "
            f"input of size: {list(x.shape)}"
        )


def check_probability(p: float) -> None:
    """Raise an error unless p is between 0 and 1."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def as_image(x: Tensor, axes: int) -> Tensor:
    """A 1-d signal as an image with one row. Images are returned unchanged."""
    return ops.unsqueeze.apply(x, axis=x.ndim - 1) if axes == 1 else x


def from_image(z: Tensor, axes: int) -> Tensor:
    """The inverse of as_image."""
    return ops.squeeze.apply(z, axis=(z.ndim - 2,)) if axes == 1 else z


# ------------------------------------------------------------------------ in place


# In PyTorch, the nodes of these have another number in place.
NUMBERED = ("elu", "leaky_relu", "threshold")


def applied(op: Op, x: Tensor, inplace: bool, **settings: object) -> Tensor:
    """The op applied to x. In place, x is copied first if the op's rule needs the old x."""
    if not inplace or op.name not in NUMBERED:
        z: Tensor = (op.apply_ if inplace else op.apply)(x, **settings)
        return z
    before = getattr(x, "node", None)
    z = op.apply_(x, **settings)
    return z if getattr(z, "node", None) is before else named(z, op.node_name.replace("0", "1"), op)


# ------------------------------------------------------------------------ reductions


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction, derived from the two older arguments if they are given."""
    if size_average is None and reduce is None:
        return reduction
    if isinstance(size_average, Tensor) or isinstance(reduce, Tensor):
        raise RuntimeError(
            "Boolean value of Tensor with more than one value is ambiguous: size_average and reduce are True or "
            "False. To fix it, make the loss without tensors and call it on them: nn.MSELoss()(input, target)."
        )
    if reduce is not None and not reduce:
        chosen = "none"
    else:
        chosen = "mean" if size_average is None or size_average else "sum"
    warn_user(
        f"size_average and reduce args will be deprecated, please use reduction='{chosen}' instead."
    )
    return chosen


legacy_get_string = partial(reduction_of, reduction="mean")  # nn._reduction has it in PyTorch


def a_loss(size_average_before: str = "reduce", node: str = "") -> Callable[[Loss], Loss]:
    """Make a loss take PyTorch's three arguments about the reduction: size_average, reduce and reduction.

    A function that takes none of them returns the losses of all entries, which are then reduced.
    A function that takes `reduction` reduces the losses itself.

    size_average_before   the parameter that size_average precedes (reduce precedes reduction)
    node                  the name of the node of the result, if it is a single node in PyTorch
    """

    def decorator(compute: Loss) -> Loss:
        name, signature = compute.__name__, inspect.signature(compute)
        own = list(signature.parameters.values())
        loss = f"compute({', '.join(signature.parameters)})"
        if "reduction" not in signature.parameters:
            own.append(inspect.Parameter("reduction", KEYWORD, default="mean", annotation=str))
            loss = f"reduced_by({loss}, reduction)"
        for older, after in (("reduce", "reduction"), ("size_average", size_average_before)):
            place = [p.name for p in own].index(after)
            parameter = inspect.Parameter(older, KEYWORD, default=None, annotation=bool | None)
            own.insert(place, parameter)
        head = parameters_of({p.name: p.default for p in own})
        source = (
            f"def {name}({', '.join(head)}):\n"
            "    if size_average is not None or reduce is not None:\n"
            "        reduction = reduction_of(size_average, reduce, reduction)\n"
            f"    return {f'named({loss}, {node!r})' if node else loss}\n"
        )
        scope = {"compute": compute, "named": named, "reduced_by": reduced_by}
        scope["reduction_of"] = reduction_of
        made: Any = wraps(compute)(compiled(f"nn.functional.{name}", source, scope)[name])
        made.__signature__ = signature.replace(parameters=own)
        return made

    return decorator


def reduced_by(z: Tensor, reduction: str) -> Tensor:
    """Reduce the losses of all entries."""
    reduction = checked(reduction)
    return z.mean() if reduction == "mean" else z.sum() if reduction == "sum" else z


def checked(reduction: str) -> str:
    """The reduction, after checking that it is a valid one. Otherwise raises ValueError."""
    if reduction in ("mean", "sum", "none"):
        return reduction
    if reduction != "elementwise_mean":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    warn_user("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
    return "mean"
