"""Mistakes in the `backward` of a user's Function.

The `forward` of a Function is an ordinary computation. If its operations are recorded, there is a graph,
and that graph's gradient is right. So we call the user's function twice: once as it is, where `backward`
gives the answer, and once with `forward` recorded, for the question.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np

from minigrad.autograd import grad
from minigrad.core.function import Function, FunctionPlan
from minigrad.core.modes import enable_grad, unobserved
from minigrad.core.node import Node, reachable
from minigrad.core.tensor import Tensor, wrap
from minigrad.tape.adapters import node_of, tensor_kinds
from minigrad.tape.record import record
from minigrad.teach.answer import Diagnosis
from minigrad.teach.compare import compare_in
from minigrad.teach.diagnose import diagnose


def diagnose_backward(
    f: Callable[..., object], *inputs: object, wrt: int = 0, name: str = "the tensor"
) -> Diagnosis | None:
    """Diagnose the `backward` of the Functions through which f computes its result.

    f        computes one tensor from `inputs`, of either engine; it may be the `apply` of a Function
    wrt      the number of the input whose gradient is wrong
    name     what the user calls this input
    returns  the mistake that gives exactly the wrong gradient; None if none is known, if there is no
             Function, or if its forward does not compute with tensors only

    Raises TypeError if that input is not a tensor.

    >>> import minigrad
    >>> class Square(minigrad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * x
    >>> diagnose_backward(Square.apply, minigrad.tensor([1.0, 2.0, 3.0])).kind
    'missing_path'
    """
    x = inputs[wrt]
    if not isinstance(x, tensor_kinds()):
        raise TypeError(f"diagnose_backward: input {wrt} is a {type(x).__name__}, not a tensor.")
    try:
        if isinstance(x, Tensor):
            return _diagnosed(f, inputs, wrt, name)
        return _diagnosed_torch(f, inputs, wrt, name)
    except Exception:  # the user's code may raise anything
        return None  # not a computation with tensors only, or not one that can be repeated


def _diagnosed(
    f: Callable[..., object], inputs: Sequence[object], wrt: int, name: str
) -> Diagnosis | None:
    given = [wrap(x.array.copy()) if isinstance(x, Tensor) else x for x in inputs]
    x: Any = given[wrt]
    x.requires_grad_()
    with unobserved():
        z = f(*given)
        if not isinstance(z, Tensor) or not (functions := _functions_of(z)):
            return None
        g = wrap(np.random.default_rng(0).uniform(0.5, 1.5, z.shape).astype(z.dtype))
        (mine,) = grad(z, x, g)
        with _recorded(functions):
            again = f(*given)
    if not isinstance(again, Tensor) or not np.allclose(again.array, z.array):
        return None  # it draws random numbers, for example
    return diagnose(again, x, mine, gradient=g, name=name, namespace={name: x})


def _diagnosed_torch(
    f: Callable[..., Any], inputs: Sequence[Any], wrt: int, name: str
) -> Diagnosis | None:
    """The same for PyTorch, whose program is recorded, and run again on our engine."""
    torch: Any = sys.modules["torch"]
    given = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in inputs]
    x = given[wrt].requires_grad_()
    z = f(*given)
    functions = {
        n._node._forward_cls for n in reachable([node_of(z)]) if hasattr(n._node, "_forward_cls")
    }
    if not functions:
        return None
    g = torch.linspace(0.5, 1.5, z.numel(), dtype=z.dtype).reshape(z.shape)
    (mine,) = torch.autograd.grad(z, x, g)
    whole: Any = torch.autograd.Function
    base, apply = whole.__mro__[1], vars(whole)["apply"]  # which calls the apply of the base class

    def applied(cls: Any, *args: Any, **named: Any) -> Any:
        if cls not in functions:
            return super(base, cls).apply(*args, **named)
        apart = cls.setup_context is not whole.setup_context
        return cls.forward(*args, **named) if apart else cls.forward(_Context(), *args, **named)

    with record() as tape, ExitStack() as stack:
        for owner in (whole, base):  # the recording has one in each
            stack.callback(setattr, owner, "apply", vars(owner)["apply"])
        whole.apply, base.apply = apply, classmethod(applied)
        again = f(*given)
    if not torch.allclose(again, z):
        return None
    found = compare_in({name: x, "tape": tape}, again, {name: mine}, gradient=g)
    return found.rows[0].diagnosis


class _Context:
    """Stands in for the ctx of a PyTorch Function whose backward is not used: it may be given anything."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args: None


def _functions_of(z: Tensor) -> set[type[Function]]:
    plans = [node.plan for node in reachable([z.node]) if isinstance(node, Node)]
    return {plan.cls for plan in plans if isinstance(plan, FunctionPlan)}


@contextmanager
def _recorded(functions: Iterable[type[Function]]) -> Iterator[None]:
    """Within this block, the forward of these Functions is recorded, and their backward is not used."""
    own = [
        (cls, name, vars(cls).get(name))
        for cls in functions
        for name in ("forward", "_result", "_record")
    ]
    for cls in functions:
        cls.forward = staticmethod(partial(_with_grad, cls.forward))  # type: ignore[method-assign]
        cls._result = staticmethod(lambda z, ctx, args: z)  # type: ignore[method-assign]
        cls._record = staticmethod(lambda ctx, args, results: None)  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        for cls, name, before in own:
            if before is None:
                delattr(cls, name)
            else:
                setattr(cls, name, before)


def _with_grad(forward: Callable[..., object], *args: object) -> object:
    with enable_grad():
        return forward(*args)
