"""PyTorch's older names for products with Jacobians and Hessians, of functions of tensors.

    vjp(f, x, v)     v·J    reverse          jvp(f, x, v)     J·v    forward
    jacobian(f, x)   J                       hessian(f, x)    H
    hvp(f, x, v)     H·v    forward over reverse
    vhp(f, x, v)     v·H    reverse over reverse

`inputs` and `v` are a tensor or a tuple of tensors; the results have the same structure.
Results have no history unless create_graph is set.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad import func as F
from minigrad import modes
from minigrad.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple(x: Any, what: str) -> tuple[Tensor, ...]:
    xs = (x,) if isinstance(x, Tensor) else tuple(x)
    for k, t in enumerate(xs):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"The {what} given must be either a Tensor or a tuple of Tensors but the value at "
                f"index {k} has type {type(t)}."
            )
    return xs


def _prepared(inputs: Any, create_graph: bool) -> tuple[Tensor, ...]:
    xs = _tuple(inputs, "inputs")
    return xs if create_graph else tuple(x.detach() for x in xs)


def _directions(v: Any, like: tuple[Tensor, ...], what: str) -> tuple[Tensor, ...]:
    if v is None:
        if len(like) != 1 or like[0].array.size != 1:
            raise RuntimeError(
                f"The vector v can only be None if {what} is a single Tensor with a single element, since "
                "it is then 1."
            )
        return (Tensor(np.ones(like[0].array.shape, like[0].array.dtype)),)
    vs = _tuple(v, "v")
    if len(vs) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}."
        )
    for k, (a, b) in enumerate(zip(vs, like, strict=True)):
        if a.array.shape != b.array.shape:
            raise RuntimeError(
                f"Entry {k} in v has invalid size: should be {list(b.shape)} but got {list(a.shape)}."
            )
    return vs


def _finished(tree: Any, create_graph: bool) -> Any:
    tensors, build = F.flatten(tree)
    return build(tensors if create_graph else [t.detach() for t in tensors])


def _like(inputs: Any, results: Any) -> Any:
    """A tuple with one entry becomes that entry, where the input was a tensor."""
    return results[0] if isinstance(inputs, Tensor) else tuple(results)


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """(f(inputs), v·J): the gradient of v·f."""
    xs = _prepared(inputs, create_graph)
    value, pull = F.vjp(func, *xs, differentiable=create_graph)
    outputs, rebuild = F.flatten(value)
    grads = pull(rebuild(_directions(v, tuple(outputs), "the output")))
    return _finished(value, create_graph), _finished(_like(inputs, grads), create_graph)


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """(f(inputs), J·v): the derivative of f along v."""
    xs = _prepared(inputs, create_graph)
    value, tangent = F.jvp(func, xs, _directions(v, xs, "the input"))
    return _finished(value, create_graph), _finished(tangent, create_graph)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives: the result's axes first, then the input's.

    With several inputs, a tuple with one block for each; with several results, a tuple of those.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise RuntimeError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    xs = _prepared(inputs, create_graph)
    argnums: Any = 0 if isinstance(inputs, Tensor) else tuple(range(len(xs)))
    if strategy == "forward-mode":
        return _finished(F.jacfwd(func, argnums)(*xs), create_graph)
    return _finished(F.jacrev(func, argnums, differentiable=create_graph)(*xs), create_graph)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a scalar function; for several inputs, a tuple of tuples."""
    xs = _prepared(inputs, create_graph)
    _scalar(func, xs)
    argnums: Any = 0 if isinstance(inputs, Tensor) else tuple(range(len(xs)))
    outer = F.jacrev if outer_jacobian_strategy == "reverse-mode" else F.jacfwd
    return _finished(outer(F.jacrev(_as_scalar(func), argnums), argnums)(*xs), create_graph)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """(f(inputs), H·v): the gradient's derivative along v, forward over reverse."""
    xs = _prepared(inputs, create_graph)
    _scalar(func, xs)
    vs = _directions(v, xs, "the input")
    places = tuple(range(len(xs)))
    (_, value), (product, _) = F.jvp(F.grad_and_value(_as_scalar(func), places), xs, vs)
    return _finished(value, create_graph), _finished(_like(inputs, product), create_graph)


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """(f(inputs), v·H): the gradient of v·(gradient), reverse over reverse."""
    xs = _prepared(inputs, create_graph)
    value = _scalar(func, xs)
    vs = _directions(v, xs, "the input")
    _, pull = F.vjp(F.grad(_as_scalar(func), tuple(range(len(xs)))), *xs)
    return _finished(value, create_graph), _finished(_like(inputs, pull(vs)), create_graph)


def _as_scalar(func: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: func(*xs).reshape(())


def _scalar(func: Callable[..., Any], xs: tuple[Tensor, ...]) -> Tensor:
    """f(*xs), which must be one number."""
    with modes.no_grad():
        value = func(*xs)
    if not isinstance(value, Tensor) or value.array.size != 1:
        raise RuntimeError(
            "The Tensor returned by the function given to hessian should contain a single element"
        )
    return value
