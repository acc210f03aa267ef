"""PyTorch's older functions for Jacobians, Hessians and products with them.

    vjp(f, x, v)     v·J                     jvp(f, x, v)     J·v
    vhp(f, x, v)     v·H                     hvp(f, x, v)     H·v
    jacobian(f, x)   J                       hessian(f, x)    H

All of them use backward passes, as in PyTorch (func.jvp uses forward mode). For jvp: u·J is
linear in u, so its derivative with respect to u along v is J·v. This is the double-backward trick.

`inputs`, `v` and the result of `f` are each a tensor or a tuple of tensors, and the derivatives
have the same structure. If a result does not depend on an input, the derivative is zeros, or an
error with `strict`. Results have no graph unless create_graph is set.

Read transforms.py first. `vectorize` is accepted but ignored; in PyTorch it only changes the speed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.autograd import transforms as F
from minigrad.autograd.reverse_ad import refuse_slots
from minigrad.autograd.transforms import Func
from minigrad.core import modes
from minigrad.core.tensor import Tensor, wrap

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

JACOBIAN = "The jacobian of the user-provided function"
HESSIAN = "The hessian of the user-provided function"
NOT_RECORDED = (
    "Output {} of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode."
)
LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input, as it is for a linear function. This is not allowed in strict mode."
)
Tensors = tuple[Tensor, ...]
Given = Tensor | Tensors  # as PyTorch takes them: one tensor or a tuple


def vjp(
    func: Func,
    inputs: Given,
    v: Given | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """A tuple (f(inputs), v·J), where v·J is the gradient of v·f.

    v         shaped like the results of f; optional if f returns a single number
    returns   the result of f, and a tensor shaped like each input

    >>> import minigrad
    >>> vjp(lambda x: x * x, minigrad.tensor([1.0, 2.0]), minigrad.ones(2))[1]
    tensor([2., 4.])
    """
    xs, value, outputs = _run(func, inputs, "vjp", create_graph, strict)
    vs = _directions(v, "vjp", value, "the user-provided function returns")
    back = F.passes_back(outputs, xs, create_graph)
    grads = _vector_jacobian(back, xs, vs, create_graph, strict)
    return _detach_unless((value, _like(inputs, grads)), create_graph)


def jvp(
    func: Func,
    inputs: Given,
    v: Given | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """A tuple (f(inputs), J·v), where J·v is the derivative of f along v.

    v         shaped like the inputs; optional if the input is a single number
    returns   the result of f, and a tensor shaped like each result

    >>> import minigrad
    >>> jvp(lambda x: x * x, minigrad.tensor([1.0, 2.0]), minigrad.ones(2))[1]
    tensor([2., 4.])
    """
    _tuple(inputs, "inputs", "jvp")
    vs = _directions(v, "jvp", inputs, "the input to the user-provided function is")
    xs, value, outputs = _run(func, inputs, "jvp", create_graph, strict)
    tangents = _jacobian_vector(outputs, xs, vs, create_graph, strict)
    return _detach_unless((value, _like(value, tangents)), create_graph)


def jacobian(
    func: Func,
    inputs: Given,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of f, with the axes of the result first, then those of the input.

    strategy   "reverse-mode": one pass for each entry of the results; "forward-mode": one pass
               for each entry of the inputs
    returns    a tensor for one input and one result. For a tuple of inputs, a tuple with one block
               per input. For a tuple of results, a tuple with one such Jacobian per result.

    >>> import minigrad
    >>> jacobian(lambda x: (x.sum(), x * x), minigrad.tensor([1.0, 2.0]))
    (tensor([1., 1.]), tensor([[2., 0.],
            [0., 4.]]))
    """
    _check_options(strategy, strict, vectorize, "jacobian")
    if strategy == "forward-mode":
        _refuse_in_a_transform("jacobian", create_graph)
        return _detach_unless(_forward_jacobian(func, inputs), create_graph)
    xs, value, outputs = _run(func, inputs, "jacobian", create_graph, strict)
    blocks = []
    for i, z in enumerate(outputs):
        who = f"Output {i} of the user-provided function"
        back = F.passes_back([z], xs, create_graph)
        rows = [_vector_jacobian(back, xs, [g], create_graph, strict, who) for g in F.basis(z)]
        with modes.set_grad_enabled(create_graph):
            parts = [F.joined_blocks([row[k] for row in rows], z, x) for k, x in enumerate(xs)]
        blocks.append(_like(inputs, parts))
    return _detach_unless(_like(value, blocks), create_graph)


def hessian(
    func: Func,
    inputs: Given,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function.

    returns    for one input x, a tensor of shape (*x.shape, *x.shape); for several inputs, a tuple
               of tuples: entry [i][j] is the derivative with respect to input i, then input j

    >>> import minigrad
    >>> hessian(lambda x: (x ** 3).sum(), minigrad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _check_options(outer_jacobian_strategy, strict, vectorize, "hessian")
    _tuple(inputs, "inputs", "hessian")

    def gradient(*xs: Tensor) -> Any:
        def scalar(*ys: Tensor) -> Tensor:
            value = _scalar(func(*ys), "hessian")
            _refuse_constant(strict, [value], NOT_RECORDED)
            return value

        found = jacobian(scalar, _like(inputs, xs), create_graph=True)
        _refuse_constant(strict, _tuple(found, "jacobian", "hessian"), LINEAR)
        return found

    return jacobian(gradient, inputs, create_graph, strict, strategy=outer_jacobian_strategy)


def hvp(
    func: Func,
    inputs: Given,
    v: Given | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """A tuple (f(inputs), H·v) for a scalar function f. H·v is the derivative of the gradient along v.

    v         shaped like the inputs; optional if the input is a single number
    returns   the result of f, and a tensor shaped like each input

    >>> import minigrad
    >>> hvp(lambda x: (x ** 3).sum(), minigrad.tensor([1.0, 2.0]), minigrad.ones(2))[1]
    tensor([ 6., 12.])
    """
    xs, value, vs, gradient = _run_with_gradient(func, inputs, v, "hvp", create_graph, strict)
    products = _jacobian_vector(gradient, xs, vs, create_graph, strict, HESSIAN)
    return _detach_unless((value, _like(inputs, products)), create_graph)


def vhp(
    func: Func,
    inputs: Given,
    v: Given | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """A tuple (f(inputs), v·H) for a scalar function f. v·H is the gradient of v·(gradient).

    v         shaped like the inputs; optional if the input is a single number
    returns   the result of f, and a tensor shaped like each input

    >>> import minigrad
    >>> vhp(lambda x: (x ** 3).sum(), minigrad.tensor([1.0, 2.0]), minigrad.ones(2))[1]
    tensor([ 6., 12.])
    """
    xs, value, vs, gradient = _run_with_gradient(func, inputs, v, "vhp", create_graph, strict)
    back = F.passes_back(gradient, xs, create_graph)
    products = _vector_jacobian(back, xs, vs, create_graph, strict, JACOBIAN, HESSIAN)
    return _detach_unless((value, _like(inputs, products)), create_graph)


# ---------------------------------------------------------------------- building blocks


def _run(
    func: Func, inputs: Given, name: str, create_graph: bool, strict: bool
) -> tuple[Tensors, Any, Tensors]:
    """Run func on copies of the inputs. Returns the copies, the result, and the result as a tuple."""
    xs = _tuple(inputs, "inputs", name)
    _refuse_in_a_transform(name, create_graph)
    with modes.enable_grad():
        xs = _copies(xs, create_graph)
        value = func(*xs)
    outputs = _tuple(value, "outputs of the user-provided function", name)
    _refuse_constant(strict, outputs, NOT_RECORDED)
    return xs, value, outputs


def _refuse_in_a_transform(name: str, create_graph: bool) -> None:
    """Raise RuntimeError where func.grad or the like would take the result for a constant, with derivative 0."""
    if modes.state.transformed and not create_graph:
        raise RuntimeError(
            f"You are attempting to call torch.autograd.functional.{name} inside of a function being transformed by a "
            "functorch transform (func.grad, vjp, jvp, ...), and its result would have no gradient. To fix it, use "
            "func.jacrev, func.hessian, func.vjp or func.jvp instead, or pass create_graph=True."
        )


def _refuse_constant(strict: bool, tensors: Sequence[Tensor], otherwise: str) -> None:
    """In strict mode: for tensor k that does not depend on the inputs, raise an error with this text, with k at {}."""
    for k, t in enumerate(tensors):
        if strict and not t.requires_grad:
            raise RuntimeError(otherwise.format(k))


def _run_with_gradient(
    func: Func, inputs: Given, v: Given | None, name: str, create_graph: bool, strict: bool
) -> tuple[Tensors, Tensor, Tensors, Tensors]:
    """Run a scalar func. Returns copies of the inputs, the result, v, and a gradient that can be differentiated."""
    xs, value, _ = _run(lambda *ys: _scalar(func(*ys), name), inputs, name, create_graph, strict)
    vs = _directions(v, name, inputs, "the input to the user-provided function is")
    back, one = F.passes_back([value], xs, True), wrap(np.ones_like(value.array))
    gradient = _vector_jacobian(back, xs, [one], True, strict, whose="")
    _refuse_constant(strict, gradient, LINEAR)
    return xs, value, vs, gradient


def _copies(xs: Tensors, connected: bool) -> Tensors:
    """Copies of xs to differentiate with respect to. If `func` uses the originals, they count as constants."""
    return tuple(F.watched(x) if connected else x.detach().requires_grad_() for x in xs)


def _vector_jacobian(
    back: F.PassBack,
    xs: Tensors,
    vs: Sequence[Tensor],
    create_graph: bool,
    strict: bool,
    who: str = "The output of the user-provided function",
    whose: str = JACOBIAN,
) -> Tensors:
    """The gradients of vs·outputs with respect to xs, or zeros if there is no dependence.

    back          passes gradients vs of the outputs back to xs
    who, whose    for the errors of strict mode: what does not depend on the inputs
    """
    grads = back(vs)
    if strict and None in grads:
        k = grads.index(None)
        raise RuntimeError(
            f"{who} is independent of input {k}. This is not allowed in strict mode."
        )
    when = "is independent of input {}. This is not allowed in strict mode when create_graph=True."
    _refuse_constant(strict and create_graph and whose != "", grads, f"{whose} {when}")
    return tuple(F.zero_gradient(x) if g is None else g for g, x in zip(grads, xs, strict=True))


def _jacobian_vector(
    outputs: Sequence[Tensor],
    xs: Tensors,
    vs: Tensors,
    create_graph: bool,
    strict: bool,
    whose: str = JACOBIAN,
) -> Tensors:
    """The derivatives of the outputs along vs, as the derivatives of u·J with respect to u at u = 0."""
    us = tuple(F.zero_gradient(z).requires_grad_() for z in outputs)
    grads = _vector_jacobian(F.passes_back(outputs, xs, True), xs, us, True, strict, whose="")
    back = F.passes_back(grads, us, create_graph)
    return _vector_jacobian(back, us, vs, create_graph, strict, whose, whose)


def _forward_jacobian(func: Func, inputs: Given) -> Any:
    """The Jacobian, computed with forward mode."""
    xs = _tuple(inputs, "inputs", "jacobian")
    with modes.enable_grad():
        argnums = 0 if isinstance(inputs, Tensor) else tuple(range(len(xs)))
        return F.jacfwd(func, argnums)(*_copies(xs, True))


def _detach_unless(tree: object, create_graph: bool) -> Any:
    tensors, build = F.flatten(tree)
    return build(tensors if create_graph else [t.detach() for t in tensors])


def _like(tree: object, results: Sequence[Any]) -> Any:
    """The results as a tuple, or a single one if `tree` is a tensor."""
    return results[0] if isinstance(tree, Tensor) else tuple(results)


# ---------------------------------------------------------------------- checks of arguments


def _tuple(given: object, what: str, name: str) -> Tensors:
    """The tensors of an argument that is a tensor or a tuple of tensors."""
    tensors = given if isinstance(given, tuple) else (given,)
    refuse_slots(tensors)
    for k, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            which = f"the value at index {k}" if tensors is given else f"the given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but {which} "
                f"has type {type(t)}."
            )
    return tensors


def _directions(v: Given | None, name: str, given: Given, what: str) -> Tensors:
    """v as a tuple of tensors, checked to have the given shapes. If v is None, ones for a single number."""
    like = given if isinstance(given, tuple) else (given,)
    if v is None:
        if len(like) != 1 or like[0].array.size != 1:
            raise RuntimeError(
                f"The vector v can only be None if {what} a single Tensor with a single element. "
                f"Here there are {len(like)}, of shapes {[tuple(x.shape) for x in like]}."
            )
        return (wrap(np.ones_like(like[0].array)),)
    vs = tuple(t.detach() if not t.requires_grad else t for t in _tuple(v, "v", name))
    if len(vs) != len(like):
        if like is not given:
            raise RuntimeError(f"The given v should contain a single Tensor. It has {len(vs)}.")
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}."
        )
    for k, (a, b) in enumerate(zip(vs, like, strict=True)):
        if a.array.shape != b.array.shape:
            raise RuntimeError(
                f"Entry {k} in v has invalid size: should be {b.shape} but got {a.shape}."
            )
    return vs


def _scalar(value: object, name: str) -> Tensor:
    """The result of a scalar function, as a tensor without axes. Raises RuntimeError if it has several entries."""
    _tuple(value, "outputs of the user-provided function", name)
    if not isinstance(value, Tensor):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if value.array.size != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element, but "
            f"its shape is {tuple(value.shape)}. To fix it, return a number, like  value.sum()."
        )
    return value.reshape(())


def _check_options(strategy: str, strict: bool, vectorize: bool, name: str) -> None:
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            f'{name}: Expected strategy to be either "forward-mode" or "reverse-mode", got {strategy!r}.'
        )
    if strict and vectorize:
        raise RuntimeError(
            f"{name}: `strict=True` and `vectorized=True` are not supported together. To fix it, leave out vectorize: "
            "it has no effect here."
        )
    if strict and strategy == "forward-mode":
        raise RuntimeError(
            f'{name}: `strict=True` and `strategy="forward-mode"` are not supported together.'
        )
