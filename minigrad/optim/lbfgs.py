"""LBFGS: a quasi-Newton method, which estimates the curvature from the last few gradients.

Newton's step is -H^-1 g, where H is the Hessian. LBFGS never computes H. It keeps the last steps s
and the corresponding changes y of the gradient, and multiplies by an approximation of H^-1 with
the two-loop recursion over these pairs. An optional line search chooses the length of each step.

Use it for deterministic problems, where the loss is evaluated on all the data: curve fitting, style
transfer, physics. A step evaluates the loss several times, so it needs a closure.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minigrad.core import modes
from minigrad.core.tensor import Tensor
from minigrad.methods.functions import cat
from minigrad.optim.elementwise import check_in_range, check_one_entry
from minigrad.optim.optimizer import Closure, DeclaredOptimizer, Params


class Point(NamedTuple):
    """A point of the line search: the step length t, the loss, its gradient, the slope along d.

    The point at which the search starts also has the constants of the Wolfe conditions.
    """

    t: float
    f: float
    g: Any
    slope: float
    c1: float = 1e-4
    c2: float = 0.9

    def is_too_high(self, start: "Point") -> bool:
        """Has the loss not decreased enough? The first Wolfe condition is violated."""
        return self.f > start.f + start.c1 * self.t * start.slope

    def is_flat(self, start: "Point") -> bool:
        """Is the slope small? The second Wolfe condition, which is the strong one."""
        return abs(self.slope) <= -start.c2 * start.slope


class LBFGS(DeclaredOptimizer, also=""):
    """The limited-memory BFGS (Broyden, Fletcher, Goldfarb, Shanno) method.

    lr                  scales the step that the method proposes; with a line search, the first try
    max_iter            the maximum number of iterations per call of step
    max_eval            the maximum number of loss evaluations; by default 1.25 * max_iter
    tolerance_grad      stop when no entry of the gradient is larger than this
    tolerance_change    stop when a step, or the change of the loss, is smaller than this
    history_size        how many pairs (s, y) to keep
    line_search_fn      "strong_wolfe", or None for no line search

    It supports only one group of parameters.

    >>> import minigrad
    >>> x = minigrad.tensor([-1.0, 2.0], requires_grad=True)
    >>> lbfgs = LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     lbfgs.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> for _ in range(3):
    ...     loss = lbfgs.step(closure)
    >>> x.allclose(minigrad.ones(2), atol=1e-3)
    True

    Source: Nocedal and Wright, Numerical Optimization (2006), algorithms 7.4, 7.5, 3.5 and 3.6.
    """

    lr: float | Tensor = 1
    max_iter: int = 20
    max_eval: int | None = None
    tolerance_grad: float = 1e-7
    tolerance_change: float = 1e-9
    history_size: int = 100
    line_search_fn: str | None = None

    def _set_up(self, params: Params, settings: dict[str, Any]) -> None:
        check_one_entry(settings["lr"])
        check_in_range("learning rate", settings["lr"], 0.0 <= float(settings["lr"]))
        if settings["max_eval"] is None:
            settings["max_eval"] = settings["max_iter"] * 5 // 4
        super()._set_up(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def step(self, closure: Closure | None = None) -> Any:
        """Run up to max_iter iterations. Returns the loss before the first one."""
        if closure is None:
            raise TypeError(
                "LBFGS.step() missing 1 required positional argument: 'closure'. It evaluates the loss "
                "several times: write a function that calls zero_grad, computes the loss, calls backward "
                "and returns the loss, and give it to step."
            )
        if len(self.param_groups) != 1:
            raise AssertionError(
                f"Expected exactly one param_group, but got {len(self.param_groups)}: LBFGS treats all parameters "
                "alike. To fix it, pass all of them when you make the optimizer."
            )
        with modes.no_grad():
            return self._run(closure)

    def _run(self, closure: Closure) -> Any:
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss, g = self._evaluate(closure)
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        if g.abs().max() <= group["tolerance_grad"]:
            return first_loss
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            self._update_direction(state, g, group["history_size"])
            d, previous_loss, t = state["d"], loss, float(group["lr"])
            state["prev_flat_grad"], state["prev_loss"] = g.clone(), loss
            if state["n_iter"] == 1:
                t *= 1.0 / max(1.0, float(g.abs().sum()))
            here = Point(0.0, loss, g, float(g.dot(d)))
            if here.slope > -group["tolerance_change"]:
                state["t"] = t
                break
            last, left = n == group["max_iter"], group["max_eval"] - evaluations
            loss, g, state["t"], used = self._take_step(closure, here, t, d, last, left)
            evaluations += used
            state["func_evals"] += used
            if (
                evaluations >= group["max_eval"]
                or g.abs().max() <= group["tolerance_grad"]
                or (d * state["t"]).abs().max() <= group["tolerance_change"]
                or abs(loss - previous_loss) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _evaluate(self, closure: Closure) -> tuple[Any, Tensor]:
        """The loss, and the flattened gradient, with zeros for parameters without a gradient."""
        loss = self._loss_of(closure)
        parts = [
            p.new_zeros(p.numel()) if p.grad is None else p.grad.to_dense().reshape(-1)
            for p in self._params
        ]
        return loss, cat(parts).clone()

    def _take_step(
        self, closure: Closure, here: Point, t: float, d: Tensor, last: bool, most: int
    ) -> tuple[float, Tensor, float, int]:
        """Move along d, by t or by a line search. Returns the loss, its gradient, t, and the evaluations used.

        last   is this the last iteration? Then a step without a line search needs no evaluation
        most   the number of evaluations left
        """
        start, search = [p.clone() for p in self._params], self.param_groups[0]["line_search_fn"]

        def evaluate(x: list[Tensor], t: float, d: Tensor) -> tuple[Any, Tensor]:
            self._move(x, t, d)
            return self._evaluate(closure)

        if search is None and last:
            self._move(start, t, d)
            return here.f, here.g, t, 0
        if search is None:
            loss, g = evaluate(start, t, d)
            return float(loss), g, t, 1
        if search != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        found = _strong_wolfe(evaluate, start, t, d, here.f, here.g, here.slope, max_ls=most)
        self._move(start, found[2], d)
        return found

    def _update_direction(self, state: dict[str, Any], g: Tensor, most: int) -> None:
        """Add the latest pair (s, y) to the history, and compute the next direction."""
        if state["n_iter"] == 1:
            state.update(d=-g, old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return
        y, s = g - state["prev_flat_grad"], state["d"] * state["t"]
        ys, steps, changes, ro = y.dot(s), state["old_stps"], state["old_dirs"], state["ro"]
        if ys > 1e-10:  # keeps the approximation of H^-1 positive definite
            if len(changes) == most:
                del changes[0], steps[0], ro[0]
            changes.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        q, shares = -g, []
        for s, y, r in zip(reversed(steps), reversed(changes), reversed(ro), strict=True):
            shares.append(s.dot(q) * r)
            q = q - y * shares[-1]
        d = q * state["H_diag"]
        for s, y, r, share in zip(steps, changes, ro, reversed(shares), strict=True):
            d = d + s * (share - y.dot(d) * r)
        state["d"] = d

    def _move(self, start: list[Tensor], t: float, d: Tensor) -> None:
        """Set the parameters to start + t * d."""
        at = 0
        for p, x in zip(self._params, start, strict=True):
            p.copy_(x + d[at : at + p.numel()].view(p.shape) * t)
            at += p.numel()


def _strong_wolfe(
    obj_func: Callable[[Any, float, Tensor], tuple[Any, Tensor]],
    x: Any,
    t: float | Tensor,
    d: Tensor,
    f: float | Tensor,
    g: Tensor,
    gtd: float | Tensor,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Tensor, float, int]:
    """A step length t that satisfies the strong Wolfe conditions along d, with the first try t.

        f <= f(0) + c1 * t * f'(0)        abs(f') <= c2 * abs(f'(0))

    Returns the loss, its gradient, t, and the number of calls of obj_func(x, t, d), which gives the
    first two. First the step length grows until two steps bracket a point that satisfies the conditions.
    Then the interval shrinks: the next point is the minimum of the cubic that interpolates both ends.

    The name and the arguments are PyTorch's, as other quasi-Newton methods import it.
    """

    def at(t: float) -> Point:
        loss, gradient = obj_func(x, t, d)
        return Point(t, float(loss), gradient.clone(), float(gradient.dot(d)))

    start, longest = Point(0.0, float(f), g.clone(), float(gtd), c1, c2), float(d.abs().max())
    low, high, asked, left = _bracket(at, float(t), start, max_ls)
    is_small = lambda a, b: abs(a.t - b.t) * longest < tolerance_change
    found, more = _shrink(at, start, low, high, left, is_small)
    return found.f, found.g, found.t, asked + more


def _shrink(
    at: Callable[[float], Point],
    start: Point,
    low: Point,
    high: Point,
    left: int,
    is_small: Callable[[Point, Point], bool],
) -> tuple[Point, int]:
    """A good point between two that bracket one, and the calls of `at` made."""
    asked, stalled, good = 0, False, False
    for _ in range(left):
        if good or is_small(low, high):
            break
        least, greatest = min(low.t, high.t), max(low.t, high.t)
        t = _cubic_minimum(low, high)
        margin = 0.1 * (greatest - least)
        near = min(greatest - t, t - least) < margin
        if near and (stalled or not least < t < greatest):  # too close to an end, again
            t = greatest - margin if abs(t - greatest) < abs(t - least) else least + margin
            near = False
        stalled = near
        new = at(t)
        asked += 1
        if new.is_too_high(start) or new.f >= low.f:
            low, high = _lower_first(low, new)
            continue
        good = new.is_flat(start)
        if not good and new.slope * (high.t - low.t) >= 0:
            high = low
        low = new
    return low, asked


def _bracket(
    at: Callable[[float], Point], t: float, start: Point, most: int
) -> tuple[Point, Point, int, int]:
    """Two points that bracket a good one, or a good one twice; the calls of `at` made and left."""
    previous, new = start, at(t)
    for k in range(most):
        rises = new.is_too_high(start) or (k > 1 and new.f >= previous.f)
        if not rises and new.is_flat(start):
            return new, new, k + 1, 0
        if rises or new.slope >= 0:
            return *_lower_first(previous, new), k + 1, most - k
        bounds = (new.t + 0.01 * (new.t - previous.t), new.t * 10)
        previous, new = new, at(_cubic_minimum(previous, new, bounds))
    return *_lower_first(start, new), most + 1, 0


def _lower_first(a: Point, b: Point) -> tuple[Point, Point]:
    return (a, b) if a.f <= b.f else (b, a)


def _cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """The minimum of the cubic that interpolates both values and slopes, clamped to the bounds."""
    low, high = bounds or (min(a.t, b.t), max(a.t, b.t))
    if a.t == b.t:
        return a.t
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    left, right = (a, b) if a.t <= b.t else (b, a)
    d2 = math.sqrt(square)
    below = right.slope - left.slope + 2 * d2
    place = right.t - (right.t - left.t) * float(np.divide(right.slope + d2 - d1, below))
    return min(max(place, low), high)


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None
) -> float:
    a, b = (Point(float(x), float(f), None, float(g)) for x, f, g in ((x1, f1, g1), (x2, f2, g2)))
    return _cubic_minimum(a, b, bounds)
