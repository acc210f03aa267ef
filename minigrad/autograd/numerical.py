"""Check gradients by comparing them with finite differences.

A central difference (f(x + h) - f(x - h)) / 2h does not use the derivative rules. In double
precision with h = 1e-6, its relative error is about 1e-9, from the neglected h**2 terms and
from rounding errors divided by h. So if the two agree to 1e-4, the rule is very likely
correct. If they do not, the rule is wrong, unless x is close to a kink of f.

    gradcheck       first derivatives, in reverse mode and optionally in forward mode
    gradgradcheck   second derivatives: gradcheck of the gradient
    complex_step    Im f(x + ih) / h: no subtraction, so it is accurate to the last digits;
                    for analytic functions

Source: Squire and Trapp, "Using complex variables to estimate derivatives of real
functions", SIAM Review 40 (1998); Nocedal and Wright, Numerical Optimization, section 8.1.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.autograd import transforms as F
from minigrad.autograd.reverse_ad import grad
from minigrad.autograd.transforms import Func
from minigrad.core import modes
from minigrad.core.errors import warn_user
from minigrad.core.shapes import Array
from minigrad.core.tensor import Tensor, wrap

__all__ = ["GradcheckError", "complex_step", "gradcheck", "gradgradcheck", "numerical_jacobian"]


class GradcheckError(RuntimeError):
    """Raised when a gradient differs from the finite differences.

    checked    the function, its inputs, and the number of the input; empty where something else is wrong
    """

    checked: tuple[Any, ...] = ()


def numerical_jacobian(f: Func, xs: tuple[Tensor, ...], which: int, eps: float = 1e-6) -> list[Any]:
    """The Jacobian of each result of f with respect to xs[which], by central differences.

    returns    for each result, an array of shape (entries of x, entries of the result)
    """
    x, results = xs[which].memory(), _results(f, xs)
    columns: list[list[Any]] = []
    for at in np.ndindex(x.shape):
        high, low = (_moved(f, xs, x, at, step, results) for step in (eps, -eps))
        columns.append([((a - b) / (2 * eps)).reshape(-1) for a, b in zip(high, low, strict=True)])
    shapes = [(x.size, z.size) for z in results]
    return [np.array([c[i] for c in columns]).reshape(shape) for i, shape in enumerate(shapes)]


def _moved(
    f: Func,
    xs: tuple[Tensor, ...],
    x: Array,
    at: tuple[int, ...],
    step: float,
    results: list[Array],
) -> list[Array]:
    """The results of f while one entry of x is moved.

    The entry is moved in the memory of the given tensor, as f may reach that in another way
    than by its argument: as the weight of a layer.
    """
    before = x[at]
    x[at] += step
    try:
        moved = _results(f, xs)
    finally:
        x[at] = before
    _check_alike(results, moved)
    return moved


def complex_step(f: Callable[[Any], Any], x: Any, direction: Any = None, h: float = 1e-20) -> Any:
    """The derivative of f at x along a direction v, without subtraction: Im f(x + ih v) / h.

    f     a function of an array that uses only NumPy functions that support complex numbers
    x     an array or a number

    >>> round(float(complex_step(np.sin, 1.0)), 12) == round(float(np.cos(1.0)), 12)
    True
    """
    v = np.ones_like(np.asarray(x, float)) if direction is None else np.asarray(direction)
    z = f(np.asarray(x, complex) + 1j * h * v)
    return np.imag(z) / h


def _results(f: Func, xs: Any) -> list[Array]:
    """The results as arrays. f is recorded, since it may register hooks."""
    with modes.enable_grad():
        return [np.array(z.array) for z in _outputs(f(*xs))]


def _check_alike(results: list[Array], moved: list[Array]) -> None:
    """Raise AssertionError if the shape or the dtype of the results depends on the values of the inputs."""
    for what in ("shape", "dtype"):
        if [getattr(z, what) for z in results] != [getattr(z, what) for z in moved]:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed on the order of "
                f"eps, but got: {[getattr(z, what) for z in results]} and {[getattr(z, what) for z in moved]}."
            )


def _outputs(z: Any) -> list[Tensor]:
    zs = [z] if isinstance(z, Tensor) else z
    if not isinstance(zs, list | tuple):
        raise TypeError(
            f"gradcheck: the function returned {type(z).__name__}. It must return the tensor."
        )
    return [t for t in zs if isinstance(t, Tensor) and t.array.dtype.kind == "f"]


def _outputs_of(f: Func) -> Func:
    return lambda *xs: tuple(_outputs(f(*xs)))


def _arguments(inputs: Any) -> tuple[Any, ...]:
    xs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    for k, x in enumerate(xs):
        if (
            isinstance(x, Tensor)
            and x.requires_grad
            and any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape, strict=True))
        ):
            raise RuntimeError(
                f"The {k}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping. To fix it, use x.contiguous()."
            )
    return xs


def gradcheck(
    func: Func,
    inputs: object,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check that the gradients of func with respect to its inputs agree with central differences.

    func      takes the inputs; returns a tensor or a tuple of tensors
    inputs    a tensor or a tuple; those that require a gradient are checked. They should be
              float64, because differences of float32 numbers are too inaccurate
    nondet_tol   the largest difference allowed between two backward passes
    returns   True; raises GradcheckError with the input, the entry and the two numbers (or
              returns False without raise_exception)

    In a notebook, the error also names the mistake in the backward of a Function, as `%gradcheck f x` and
    minigrad.teach.diagnose_backward do.

    >>> import minigrad
    >>> x = minigrad.tensor([0.5, 2.0], dtype=minigrad.float64, requires_grad=True)
    >>> gradcheck(lambda x: x.log().sum(), x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    args = (eps, atol, rtol, nondet_tol, check_forward_ad, check_backward_ad)
    return _passes(func, _arguments(inputs), raise_exception, args)


def _passes(func: Func, xs: tuple[Any, ...], raise_exception: bool, args: tuple[Any, ...]) -> bool:
    """Run the check. Returns False, or raises the error, if a gradient is wrong."""
    try:
        _check(func, xs, *args)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(
    f: Func,
    xs: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    forward: bool,
    backward: bool,
) -> None:
    """Raise GradcheckError at the first gradient that is wrong."""
    places = [k for k, x in enumerate(xs) if isinstance(x, Tensor) and x.node is not None]
    if not places:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for k in places:
        if xs[k].array.dtype != np.float64:
            warn_user(
                f"Input #{k} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or complex."
            )
    with modes.enable_grad():
        outputs = _outputs(f(*xs))
    checked = [i for i, z in enumerate(outputs) if z.requires_grad] or range(len(outputs))
    transforms = [_by_rows] * backward + [_by_columns] * forward
    for k in places:
        numeric = numerical_jacobian(f, xs, k, eps)
        for transform in transforms:
            found = transform(f, outputs, xs, k) if outputs else []
            for i in checked:
                how = "computed with forward mode " if transform is _by_columns else ""
                what = f"{how}mismatch for output {i} with respect to input {k}"
                try:
                    _compare(found[i], numeric[i], what, outputs[i], xs[k], atol, rtol)
                except GradcheckError as error:
                    error.checked = f, xs, k
                    raise
            if transform is _by_rows and outputs:
                _check_repeatable(found, transform(f, outputs, xs, k), nondet_tol)
    if backward:
        _check_linear([z for z in outputs if z.requires_grad], [xs[k] for k in places])


def _check_linear(outputs: list[Tensor], xs: list[Tensor]) -> None:
    """Raise GradcheckError if a backward pass that starts from zeros gives anything but zeros."""
    zeros = [wrap(np.zeros_like(z.array)) for z in outputs]
    grads = grad(outputs, xs, zeros, allow_unused=True) if outputs else ()
    for k, g in enumerate(grads):
        if g is not None and not (g.array == 0).all():
            raise GradcheckError(
                "backward not multiplied by grad_output: if every gradient that backward gets is 0, so are those that "
                f"it returns; but the gradient of input {k} is {g.detach()}."
            )


def _check_repeatable(first: list[Array], second: list[Array], tolerance: float) -> None:
    """Raise GradcheckError if two backward passes gave different Jacobians."""
    difference = max(
        float(np.abs(a - b).max(initial=0)) for a, b in zip(first, second, strict=True)
    )
    if difference > tolerance:
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            f"different values, {difference:.3g} apart, although analytical gradient matches numerical gradient. The "
            f"tolerance for nondeterminism was {tolerance}."
        )


def _by_rows(f: Func, outputs: list[Tensor], xs: tuple[Any, ...], k: int) -> list[Any]:
    """The Jacobian (entries of xs[k], entries of the result) of each result, a pass for each entry."""
    found = []
    for z in outputs:
        rows = np.zeros((z.array.size, xs[k].array.size), xs[k].array.dtype)
        for row, unit in zip(rows, F.basis(z) if z.requires_grad else (), strict=False):
            (g,) = grad(z, xs[k], unit, retain_graph=True, allow_unused=True)
            row[:] = 0 if g is None else g.array.ravel()
        found.append(rows.T)
    return found


def _by_columns(f: Func, outputs: list[Tensor], xs: tuple[Any, ...], k: int) -> list[Any]:
    """The same by forward mode."""
    x, blocks = xs[k], F.jacfwd(_outputs_of(f), k, randomness="different")(*xs)
    return [b.array.reshape(math.prod(b.shape[: b.ndim - x.ndim]), x.array.size).T for b in blocks]


def _compare(
    analytic: Array, numeric: Array, what: str, z: Tensor, x: Tensor, atol: float, rtol: float
) -> None:
    error = np.abs(analytic - numeric)
    wrong = ~(error <= atol + rtol * np.abs(numeric))
    if not wrong.any():
        return
    row, column = np.unravel_index(np.argmax(np.where(wrong, error, -1)), error.shape)
    at_x = [int(n) for n in np.unravel_index(row, x.array.shape)]
    at_z = [int(n) for n in np.unravel_index(column, z.array.shape)]
    place = z.grad_fn
    zero = "" if analytic.any() else "Numerical gradient for function expected to be zero. "
    raise GradcheckError(
        f"{zero}Jacobian {what}: {int(wrong.sum())} of {wrong.size} entries differ.\n"
        f"    worst entry    d output{at_z} / d input{at_x}\n"
        f"    numerical      {numeric[row, column]:.8g}\n"
        f"    analytical     {analytic[row, column]:.8g}\n"
        f"    made by        {place.name() if place is not None else 'no recorded operation'}\n"
        f"numerical:\n{numeric}\nanalytical:\n{analytic}"
    )


def gradgradcheck(
    func: Func,
    inputs: object,
    grad_outputs: object = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check that the second derivatives of func agree with central differences.

    grad_outputs    the gradients that the first backward pass starts from; by default, random numbers

    >>> x = minigrad.tensor([1.0, 2.0], dtype=minigrad.float64, requires_grad=True)
    >>> gradgradcheck(lambda x: x ** 3, (x,))
    True
    """
    xs = _arguments(inputs)
    outputs = [z for z in _outputs(func(*xs)) if z.requires_grad]
    if grad_outputs is None:
        gs = tuple(z.new_empty(z.shape).uniform_(-1, 1).requires_grad_() for z in outputs)
    else:
        gs = _arguments(grad_outputs)
    n = len(xs)
    wanted = [k for k, x in enumerate(xs) if isinstance(x, Tensor) and x.requires_grad]

    def gradient(*arguments: Any) -> Any:
        chosen = [arguments[k].requires_grad_() for k in wanted]  # forward mode gives constants
        zs = [z for z in _outputs(func(*arguments[:n])) if z.requires_grad]
        return grad(zs, chosen, arguments[n:], create_graph=True, allow_unused=True)

    args = (eps, atol, rtol, nondet_tol, check_fwd_over_rev, check_rev_over_rev)
    return _passes(gradient, (*xs, *gs), raise_exception, args)
