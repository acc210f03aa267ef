"""Function transforms: grad, vjp, jvp, Jacobians, Hessians. (vmap is in batches.py.)

    grad(f)              a function that returns the gradient of the scalar function f
    vjp(f, *x)           f(x), and a function from g to g·J: reverse mode, one row of J at a time
    jvp(f, x, x_dot)     f(x), and J·x_dot: forward mode, one column of J at a time
    jacrev(f), jacfwd(f) all of J, row by row or column by column
    hessian(f)           jacfwd(jacrev(f))

J has the axes of the result first, then those of the input. Row by row, it takes one pass per
entry of the result; column by column, one pass per entry of the input. So use jacrev if the
result has few entries, and jacfwd if the input has few.

These transforms can be nested: they return functions that you can differentiate again.

Source: Griewank and Walther, Evaluating Derivatives (2008), chapters 3 and 4. Names
and arguments are those of torch.func.
"""

import copy
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from minigrad.autograd import reverse_ad
from minigrad.autograd.forward_ad import (
    check_has_slope,
    dual_level,
    make_dual,
    same_memory,
    unpack_dual,
)
from minigrad.core import dtypes, modes
from minigrad.core.backward import root_gradient, root_of, run_task
from minigrad.core.engine import GraphTask
from minigrad.core.leaf import AccumulateGrad, next_leaf_queue_key
from minigrad.core.memory import FRESH, INFERENCE, with_tangents
from minigrad.core.node import reachable
from minigrad.core.plan import like_of
from minigrad.core.tensor import Tensor, assembled, wrap
from minigrad.methods.functions import stack
from minigrad.random.generator import Draws

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
]

Func = Callable[..., Any]
ArgNums = int | tuple[int, ...]
PassBack = Callable[[Sequence[Any]], Sequence[Any]]  # gradients of outputs -> of inputs


# ---------------------------------------------------------------------- nested tensors


def flatten(tree: object, kind: type = Tensor) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The tensors in nested tuples, lists and dicts, and a function that rebuilds the structure with other tensors.

    kind    the type of a leaf: Tensor; or object, if everything that is not a container is a leaf
    """
    entries: list[Any] = []

    def build(leaves: Sequence[Any]) -> Any:
        following = iter(leaves)
        return replaced(tree, lambda _: next(following), kind)

    def found(x: Any) -> Any:
        entries.append(x)
        return x

    replaced(tree, found, kind)
    return entries, build


# Containers that programs have registered, as PyTorch's _pytree allows: type -> (flatten, unflatten).
NODES: dict[type, tuple[Callable[[Any], Any], Callable[..., Any]]] = {}


def replaced(tree: object, f: Callable[[Any], Any], kind: type = Tensor) -> Any:
    """Nested tuples, lists and dicts, with f(x) in place of each tensor x, or each leaf of another kind."""
    if type(tree) in NODES:
        taken_apart, put_together = NODES[type(tree)]
        children, context = taken_apart(tree)
        return put_together([replaced(child, f, kind) for child in children], context)
    if isinstance(tree, dict):
        entries = copy.copy(tree)  # which may be an OrderedDict
        entries.update((key, replaced(child, f, kind)) for key, child in tree.items())
        return entries
    if isinstance(tree, (tuple, list)):
        children = [replaced(child, f, kind) for child in tree]
        return type(tree)(*children) if hasattr(tree, "_fields") else type(tree)(children)
    return f(tree) if isinstance(tree, kind) else tree


def at_leaves_of(tree: object, rest: object) -> list[Any]:
    """What `rest` holds in the places of the leaves of `tree`. The entries of dicts go by their keys.

    Raises ValueError if they are nested in different ways.
    """
    if not _is_container(tree):
        return [rest]
    if isinstance(tree, dict) and isinstance(rest, dict):
        if tree.keys() != rest.keys():
            raise ValueError(f"Node keys mismatch; expected {list(tree)}, but got {list(rest)}.")
        pairs = [(child, rest[key]) for key, child in tree.items()]
    elif type(tree) is not type(rest):
        raise ValueError(f"Node type mismatch; expected {type(tree)}, but got {type(rest)}.")
    else:
        apart = NODES[type(tree)][0] if type(tree) in NODES else lambda t: (t, None)
        children, others = list(apart(tree)[0]), list(apart(rest)[0])
        if len(children) != len(others):
            raise ValueError(
                f"Node arity mismatch; expected {len(children)}, but got {len(others)}."
            )
        pairs = list(zip(children, others, strict=True))
    return [part for child, other in pairs for part in at_leaves_of(child, other)]


def _is_container(tree: object) -> bool:
    return type(tree) in NODES or isinstance(tree, (dict, tuple, list))


def same_structure(a: object, b: object) -> bool:
    """Are two trees nested in the same way?"""
    try:
        return not any(map(_is_container, at_leaves_of(a, b)))
    except ValueError:
        return False


def only_tensors(leaves: list[Any], otherwise: str, kind: type[Exception] = RuntimeError) -> None:
    """Raise an error with this text, and a class at {}, for a leaf that is not a Tensor."""
    reverse_ad.refuse_slots(leaves)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise kind(otherwise.format(type(x)))


def result_and_aux(result: Any, has_aux: bool, api: str) -> tuple[Any, Any]:
    """What the function of a transform returned: its result, and aux or None. Raises unless they hold tensors only."""
    aux = None
    if has_aux:
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(
                f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True"
            )
        result, aux = result
        what = "Expected tensors, got unsupported type {} in aux"
        only_tensors(flatten(aux, object)[0], f"{api}: {what}")
    entries = flatten(result, object)[0]
    if result is None or not entries:
        raise RuntimeError(
            f"{api}: Expected f to be a function that has non-empty output (got output = {result})"
        )
    what = "expected f(*primals) to return only tensors, got unsupported type {}"
    only_tensors(entries, f"{api}: {what}")
    return result, aux


def watched(x: Tensor, connected: bool = True) -> Tensor:
    """x as the input of a new differentiation, still connected to the graph it came from.

    Under `no_grad`, connected is False: an outer differentiation treats it as a constant.
    """
    if connected and x.node is not None:
        with modes.inference_mode(False):
            return same_memory(x)
    return with_tangents(assembled(x.array, FRESH, None), x._tangents).requires_grad_()


# The inputs of transforms whose function has returned: nothing outside can ask for their gradients.
FINISHED: WeakSet[AccumulateGrad] = WeakSet()


def settled(g: Tensor, made: range, connected: bool) -> Tensor:
    """g and its tangents, without their graph if nothing outside can ask for gradients of the leaves it leads to.

    made        the queue keys of the leaves that were made while the function ran
    connected   is the differentiation connected to an outer one? If not, the graph is always dropped
    """
    nodes = reachable([g.node]) if connected and g.node is not None else []
    leaves = [node for node in nodes if isinstance(node, AccumulateGrad)]
    elsewhere = any(leaf.queue_key not in made and leaf not in FINISHED for leaf in leaves)
    z = assembled(g.array, g.counter, g.node if elsewhere else None)
    if g._tangents is not None:
        z._tangents = {level: settled(t, made, connected) for level, t in g._tangents.items()}
    return z


# ---------------------------------------------------------------------- reverse mode


VJP = "vjp(f, *primals)"


def recorded(func: Func, primals: Sequence[Any], has_aux: bool, api: str = VJP) -> tuple[Any, ...]:
    """Run func on new inputs. Returns these inputs, the results, functions to rebuild both structures, aux, and the
    queue keys of the leaves that were made meanwhile.

    api    the caller, as an error names it. Only grad_and_value takes integers: their gradient is 0
    """
    leaves, build = flatten(list(primals))
    what = "Thing passed to transform API must be Tensor, got {}"
    only_tensors(flatten(list(primals), object)[0], what, ValueError)
    connected = modes.state.recording
    first = next_leaf_queue_key()
    with modes.inference_mode(False):
        inputs = [watched(x, connected) for x in leaves]
        result = _run(func, build(inputs))
    made = range(first, next_leaf_queue_key())
    FINISHED.update(x.node for x in inputs if isinstance(x.node, AccumulateGrad))
    result, aux = result_and_aux(result, has_aux, api)
    aux = replaced(aux, lambda z: settled(z, made, connected))
    outputs, rebuild = flatten(result)
    for z in outputs:
        if api == VJP and not dtypes.is_floating(z.array.dtype):
            raise RuntimeError(
                f"{api}: All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {z.dtype}"
            )
    return inputs, build, outputs, rebuild, aux, made


def _run(func: Func, args: Sequence[Any]) -> Any:
    """func(*args), during which `autograd.functional` refuses to compute results without a graph.

    The flag changes no operation, so it does not go through `modes.within`, which would make all of them slower.
    """
    outer, modes.state.transformed = modes.state.transformed, True
    try:
        return func(*args)
    finally:
        modes.state.transformed = outer


def _counted(g: Tensor) -> Tensor:
    """g as a tensor that can be saved, also if it was made in inference mode."""
    return assembled(g.array, FRESH, None) if g.counter is INFERENCE else g


def passes_back(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], differentiable: bool
) -> PassBack:
    """A function that takes a gradient (or None) for each output and returns one (or None) for each input.

    You can call it any number of times. If the gradients will not be differentiated again, they
    are passed back as plain arrays, in a task that is prepared only once.
    """
    nodes = [x.node for x in inputs if x.node is not None]
    roots = [z.node for z in outputs if z.node is not None]
    if not roots:
        return lambda gradients: [None] * len(inputs)
    task = GraphTask(roots, [], retain_graph=True, inputs=nodes, accumulate=False)
    task.prune()  # for all results, because a pass can start from any of them

    def back(gradients: Sequence[Any]) -> Sequence[Any]:
        given = zip(outputs, gradients, strict=True)
        pairs = [(z, g) for z, g in given if g is not None and z.node is not None]
        if not pairs:
            return [None] * len(inputs)
        if differentiable or modes.state.levels:
            zs, gs = zip(*[(z, _counted(g)) for z, g in pairs], strict=True)
            with modes.inference_mode(False):
                return reverse_ad.grad(zs, inputs, gs, True, differentiable, allow_unused=True)
        task.roots = [root_of(z) for z, _ in pairs]
        task.gradients = [root_gradient(z, g, False) for z, g in pairs]
        task.captured = {}
        run_task(task)
        found = [task.captured.get(node) for node in nodes]
        return [None if g is None else wrap(np.array(g)) for g in found]

    return back


def vjp(func: Func, *primals: object, has_aux: bool = False, differentiable: bool = True) -> Any:
    """A tuple of f(*primals) and a function that maps a gradient of the result to gradients of the inputs.

    func       takes the primals and returns tensors (a tensor, or nested tuples of them)
    has_aux    func returns (result, aux), and vjp returns aux as its last result
    differentiable   whether you can differentiate the gradients again (a pass is cheaper without)

    >>> import minigrad
    >>> z, pull = vjp(lambda x: x * x, minigrad.tensor([1.0, 2.0]))
    >>> pull(minigrad.ones(2))
    (tensor([2., 4.]),)
    """
    return _vjp(func, primals, has_aux, differentiable, VJP)


def _vjp(
    func: Func, primals: Sequence[Any], has_aux: bool, differentiable: bool, api: str
) -> tuple[Any, ...]:
    """`vjp`, with the name of the transform to use in error messages."""
    inputs, build, outputs, rebuild, aux, made = recorded(func, primals, has_aux, api)
    back = passes_back(outputs, inputs, differentiable)
    connected = modes.state.recording

    def pull(cotangents: object, *, retain_graph: bool = True) -> Any:
        if not same_structure(value, cotangents):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function: one gradient for each of the {len(outputs)} results, nested in the same way, but got "
                f"{len(flatten(cotangents)[0])}."
            )
        gradients = at_leaves_of(value, cotangents)
        only_tensors(gradients, "gradients of the results must be Tensors, but got {}", TypeError)
        grads = zip(back(gradients), inputs, strict=True)
        outside = connected and modes.state.recording
        return tuple(
            build([zero_gradient(x) if g is None else settled(g, made, outside) for g, x in grads])
        )

    value = rebuild([settled(z, made, connected) for z in outputs])
    return (value, pull, aux) if has_aux else (value, pull)


def of_chosen(
    func: Func, argnums: ArgNums, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Func, tuple[Any, ...]]:
    """func as a function of only the chosen arguments, and these arguments."""
    places = _positions(argnums, len(args))

    def f(*chosen: object) -> Any:
        full = list(args)
        for k, x in zip(places, chosen, strict=True):
            full[k] = x
        return func(*full, **kwargs)

    return f, tuple(args[k] for k in places)


def _positions(argnums: ArgNums, n: int) -> list[int]:
    """argnums as a list of positions among n arguments. Raises if it is empty or has duplicates."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    places = []
    for k in (argnums,) if isinstance(argnums, int) else argnums:
        if not isinstance(k, int):
            raise RuntimeError(f"argnum must be int, got: {type(k)}")
        if not -n <= k < n:
            raise RuntimeError(f"Got argnum={k}, but only {n} positional inputs")
        places.append(k % n)
    if not places:
        raise RuntimeError("argnums must be non-empty")
    if len(set(places)) < len(places):
        raise RuntimeError(f"argnums elements must be unique, got: {argnums}")
    return places


def _for_chosen(argnums: ArgNums, results: Sequence[Any]) -> Any:
    """The results for the chosen arguments as a tuple, or a single result if argnums is one number."""
    return results[0] if isinstance(argnums, int) else tuple(results)


def grad_and_value(func: Func, argnums: ArgNums = 0, has_aux: bool = False) -> Func:
    """A function that returns (gradient, f(x)); with has_aux, (gradient, (f(x), aux)).

    >>> gradient, value = grad_and_value(lambda x: x ** 2)(minigrad.tensor(3.0))
    >>> gradient, value
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def derivative(*args: object, **kwargs: object) -> Any:
        f, chosen = of_chosen(func, argnums, args, kwargs)
        api = "grad_and_value(f)(*args)"
        value, pull, *aux = _vjp(f, chosen, has_aux, True, api)
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{api}: Expected f(*args) to return a Tensor, got {type(value)}")
        if value.array.ndim:
            raise RuntimeError(
                f"{api}: Expected f(*args) to return a scalar Tensor, got tensor with {value.ndim} dims. Maybe you "
                "wanted to use the vjp or jacrev APIs instead?"
            )
        result = _for_chosen(argnums, pull(wrap(np.ones((), value.array.dtype))))
        return result, ((value, *aux) if has_aux else value)

    return derivative


def grad(func: Func, argnums: ArgNums = 0, has_aux: bool = False) -> Func:
    """A function that returns the gradient of the scalar function f with respect to one or more arguments.

    >>> import minigrad
    >>> grad(lambda x: (x ** 3).sum())(minigrad.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    >>> grad(grad(lambda x: x ** 3))(minigrad.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def derivative(*args: object, **kwargs: object) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return derivative


# ---------------------------------------------------------------------- forward mode


def jvp(
    func: Func, primals: object, tangents: object, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """A tuple of f(*primals) and its derivative along the tangents, from one pass of forward mode.

    primals     a tuple with the arguments of func
    tangents    a tuple of the same structure and shapes
    strict      raise RuntimeError for a result that does not depend on the primals; otherwise its tangent is zeros

    >>> import minigrad
    >>> jvp(lambda x: x * x, (minigrad.tensor([1.0, 2.0]),), (minigrad.tensor([1.0, 0.0]),))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    api = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{api}: Expected primals to be a tuple. To fix it, write  (x,)  for a single one: f(*primals) is called."
        )
    if not same_structure(primals, tangents):
        raise RuntimeError(
            f"{api}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            "tuple of 3 tensors, tangents also must be."
        )
    values, build = flatten(primals, object)
    directions = at_leaves_of(primals, tangents)
    for name, leaves in (("primals", values), ("tangents", directions)):
        if not leaves:
            raise RuntimeError(f"{api}: Expected {name} to contain at least one Tensor.")
        only_tensors(leaves, f"{api}: Expected {name} to only contain Tensors, got {{}}")
    with modes.within("inference", False), dual_level():
        duals = [make_dual(x, _counted(v)) for x, v in zip(values, directions, strict=True)]
        result, aux = result_and_aux(_run(func, build(duals)), has_aux, api)
        outputs, rebuild = flatten(result)
        pairs = [unpack_dual(z) for z in outputs]
    if strict and any(t is None for _, t in pairs):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
            "allowed with strict=True."
        )
    value = rebuild([z for z, _ in pairs])
    tangent = rebuild([zero_gradient(z) if t is None else t for z, t in pairs])
    return (value, tangent, aux) if has_aux else (value, tangent)


def linearize(func: Func, *primals: object) -> Any:
    """A tuple of f(*primals) and the linear function that maps tangents to the tangent of the result.

    f runs once. Its vjp is linear in the gradient of the result, and the vjp of that is the function returned.

    >>> value, push = linearize(lambda x: x ** 2, minigrad.tensor(3.0))
    >>> value, push(minigrad.tensor(1.0)), push(minigrad.tensor(10.0))
    (tensor(9.), tensor(6.), tensor(60.))
    """
    api = "linearize(f, *primals)"
    for x in flatten(primals)[0]:
        check_has_slope("primal", x)
    value, pull = _vjp(func, primals, False, True, api)

    def filled(gradients: Iterable[Tensor]) -> Any:
        """The results, with these gradients in place of those that are floating, and zeros for others."""
        given = iter(gradients)
        return replaced(
            value,
            lambda z: next(given) if dtypes.is_floating(z.array.dtype) else zero_gradient(z),
        )

    ends = [z for z in flatten(value)[0] if dtypes.is_floating(z.array.dtype)]
    _, back = vjp(lambda *gradients: pull(filled(gradients)), *map(zero_gradient, ends))

    def push(*tangents: object) -> Any:
        if not same_structure(tangents, primals):
            raise RuntimeError(
                f"{api}: Expected the tangents to have the same argspec as the {len(primals)} primals."
            )
        return filled(back(tangents))

    return value, push


# ---------------------------------------------------------------------- Jacobians


def jacrev(
    func: Func,
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
    differentiable: bool = True,
) -> Func:
    """A function that returns the Jacobian of f, computed row by row: one reverse pass per result entry.

    chunk_size   accepted but ignored, because each row takes one pass; so is _preallocate_and_copy
    returns      a tensor with the axes of f's result first, then those of the argument

    >>> import minigrad
    >>> jacrev(lambda x: x * x)(minigrad.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def jacobian(*args: object, **kwargs: object) -> Any:
        f, chosen = of_chosen(func, argnums, args, kwargs)
        inputs, build, outputs, rebuild, aux, made = recorded(f, chosen, has_aux)
        blocks = []
        for z in outputs:
            back = passes_back([z], inputs, differentiable)
            rows = [back([e]) for e in basis(z)]
            parts = []
            for k, x in enumerate(inputs):
                block = joined_blocks(
                    [zero_gradient(x) if row[k] is None else row[k] for row in rows], z, x
                )
                parts.append(settled(block, made, modes.state.recording))
            blocks.append(_for_chosen(argnums, build(parts)))
        result = rebuild(blocks)
        return (result, aux) if has_aux else result

    return jacobian


def jacfwd(
    func: Func, argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Func:
    """A function that returns the Jacobian of f, computed column by column: one forward pass per input entry.

    randomness   as in `vmap`; f is called once for each entry of the input
    returns      a tensor with the axes of f's result first, then those of the argument

    >>> jacfwd(lambda x: x ** 2)(minigrad.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """

    def jacobian(*args: object, **kwargs: object) -> Any:
        f, chosen = of_chosen(func, argnums, args, kwargs)
        leaves, build = flatten(chosen)
        columns: list[list[list[Tensor]]] = []
        value: Any = None
        aux: list[Any] = []
        draws = Draws(randomness)
        for which, x in enumerate(leaves):
            columns.append([])
            for v in basis(x):
                directions = build(
                    [v if i == which else zero_gradient(o) for i, o in enumerate(leaves)]
                )
                with draws:
                    value, tangent, *aux = jvp(f, chosen, directions, has_aux=has_aux)
                columns[-1].append(flatten(tangent)[0])
        if value is None:
            value, *aux = f(*chosen) if has_aux else (f(*chosen),)
        outputs, rebuild = flatten(value)
        blocks = []
        for i, z in enumerate(outputs):
            pairs = zip(leaves, columns, strict=True)
            parts = [joined_blocks([c[i] for c in column], z, x, dim=-1) for x, column in pairs]
            blocks.append(_for_chosen(argnums, build(parts)))
        result = rebuild(blocks)
        return (result, *aux) if has_aux else result

    return jacobian


def hessian(func: Func, argnums: ArgNums = 0) -> Func:
    """A function that returns the Hessian of f, computed with forward mode over reverse mode.

    >>> import minigrad
    >>> hessian(lambda x: x[0] ** 2 * x[1])(minigrad.tensor([1.0, 2.0]))
    tensor([[4., 2.],
            [2., 0.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def basis(x: Tensor) -> list[Tensor]:
    """The unit vectors of x's space, each shaped like x."""
    n, shape = x.array.size, x.array.shape
    return [wrap(e) for e in np.eye(n, dtype=x.array.dtype).reshape((n, *shape))]


def joined_blocks(parts: list[Tensor], z: Tensor, x: Tensor, dim: int = 0) -> Tensor:
    """The Jacobian of z with respect to x, from its rows or, with dim=-1, its columns."""
    shape = (*z.array.shape, *x.array.shape)
    if not parts:  # a row is a gradient, of the dtype of x; a column is a tangent, of that of z
        return wrap(np.zeros(shape, (z if dim else x).array.dtype))
    block = stack(parts, dim)
    return block if block.array.shape == shape else block.reshape(shape)


def zero_gradient(x: Tensor) -> Tensor:
    """The gradient zero, shaped like x."""
    z: Tensor = like_of(x).zeros()
    return z
