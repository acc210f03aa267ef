"""LBFGS: steps that use the curvature, estimated from the last few gradients.

Newton's step is -H^-1 g. LBFGS never computes the matrix H. It keeps the last steps s and the
corresponding changes of the gradient y, and multiplies by an approximation of H^-1 with two
loops over these pairs. An optional line search makes sure that each step is good.

It suits problems without noise, where you can evaluate the whole loss: curve fitting, style
transfer, physics. A step evaluates the loss several times, so it needs a closure.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minigrad.core import modes
from minigrad.core.tensor import Tensor
from minigrad.methods.functions import cat
from minigrad.optim.optimizer import Optimizer, Params


class LBFGS(Optimizer):
    """The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno.

    lr                  the length of a step, relative to the one that the method proposes
    max_iter            the maximum number of iterations per call of step
    max_eval            the maximum number of loss evaluations; by default 1.25 * max_iter
    tolerance_grad      stop if no entry of the gradient is larger
    tolerance_change    stop if a step, or the change of the loss, is smaller
    history_size        how many pairs (s, y) to keep
    line_search_fn      "strong_wolfe", or None: take each step as proposed

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

    def __init__(
        self,
        params: Params,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if not 0.0 <= float(lr):
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Run up to max_iter iterations; returns the loss before the first."""
        if closure is None:
            raise TypeError(
                "LBFGS.step() missing 1 required positional argument: 'closure'. It evaluates the loss "
                "several times: write a function that calls zero_grad, computes the loss, calls backward "
                "and returns the loss, and give it to step."
            )
        with modes.no_grad():
            return self._run(closure)

    def _run(self, closure: Callable[[], Any]) -> Any:
        group, state = self.param_groups[0], self.state[self._params[0]]
        lr, search = float(group["lr"]), group["line_search_fn"]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with modes.enable_grad():
            first_loss = closure()
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        g = self._gradient()
        if g.abs().max() <= group["tolerance_grad"]:
            return first_loss
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            self._remember(state, g, group["history_size"])
            d, previous_loss = state["d"], loss
            state["prev_flat_grad"], state["prev_loss"] = g.clone(), loss
            t = min(1.0, 1.0 / float(g.abs().sum())) * lr if state["n_iter"] == 1 else lr
            slope = float(g.dot(d))
            if slope > -group["tolerance_change"]:
                state["t"] = t
                break
            used = 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = [p.clone() for p in self._params]

                def at(t: float, start: Any = start, d: Tensor = d) -> Point:
                    self._move(start, t, d)
                    with modes.enable_grad():
                        f = float(closure())
                    gradient = self._gradient()
                    return Point(t, f, gradient, float(gradient.dot(d)))

                longest = float(d.abs().max())
                found, used = strong_wolfe(
                    at, t, Point(0.0, loss, g, slope), longest, most=group["max_eval"] - evaluations
                )
                t, loss, g = found.t, found.f, found.g
                self._move(start, t, d)
            else:
                self._move([p.clone() for p in self._params], t, d)
                if n != group["max_iter"]:
                    with modes.enable_grad():
                        loss = float(closure())
                    g, used = self._gradient(), 1
            state["t"] = t
            evaluations += used
            state["func_evals"] += used
            if (
                evaluations >= group["max_eval"]
                or g.abs().max() <= group["tolerance_grad"]
                or (d * t).abs().max() <= group["tolerance_change"]
                or abs(loss - previous_loss) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _remember(self, state: dict[str, Any], g: Tensor, most: int) -> None:
        """Add the latest pair (s, y) to the history, and compute the next direction."""
        if state["n_iter"] == 1:
            state.update(d=-g, old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return
        y, s = g - state["prev_flat_grad"], state["d"] * state["t"]
        ys, steps, changes, ro = y.dot(s), state["old_stps"], state["old_dirs"], state["ro"]
        if ys > 1e-10:  # otherwise the curvature would not be positive
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

    def _gradient(self) -> Tensor:
        """All gradients as one vector; zeros for parameters without one."""
        parts = [
            p.new_zeros(p.numel()) if p.grad is None else p.grad.to_dense().reshape(-1)
            for p in self._params
        ]
        return cat(parts).clone()

    def _move(self, start: list[Tensor], t: float, d: Tensor) -> None:
        """Set the parameters to start + t * d."""
        at = 0
        for p, x in zip(self._params, start, strict=True):
            p.copy_(x + d[at : at + p.numel()].view(p.shape) * t)
            at += p.numel()


class Point(NamedTuple):
    """A point on the line: its distance, the loss, its gradient, and the slope along the line."""

    t: float
    f: float
    g: Tensor
    slope: float


def strong_wolfe(
    at: Callable[[float], Point],
    t: float,
    start: Point,
    longest: float,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance: float = 1e-9,
    most: int = 25,
) -> tuple[Point, int]:
    """A point where the loss is low enough and the slope flat enough; and the number of calls of `at`.

        f <= f(0) + c1 * t * f'(0)        abs(f') <= c2 * abs(f'(0))

    First the steps grow until a good point must lie between two of them. Then the interval
    shrinks, each time to the minimum of the cubic through both ends.
    """
    limit = -c2 * start.slope
    previous, new, asked = start, at(t), 1
    low = high = new
    good = False
    for k in range(most):
        too_high = new.f > start.f + c1 * new.t * start.slope or (k > 1 and new.f >= previous.f)
        if not too_high and abs(new.slope) <= limit:
            return new, asked
        if too_high or new.slope >= 0:
            low, high = (previous, new) if previous.f <= new.f else (new, previous)
            break
        bounds = (new.t + 0.01 * (new.t - previous.t), new.t * 10)
        previous, new = new, at(_cubic_minimum(previous, new, bounds))
        asked += 1
    else:
        low, high = (start, new) if start.f <= new.f else (new, start)
        return low, asked
    stalled = False
    for _ in range(most - k):
        if good or abs(high.t - low.t) * longest < tolerance:
            break
        least, greatest = min(low.t, high.t), max(low.t, high.t)
        t = _cubic_minimum(low, high)
        margin = 0.1 * (greatest - least)
        if min(greatest - t, t - least) < margin:  # too close to an end, for the second time
            if stalled or t >= greatest or t <= least:
                t = greatest - margin if abs(t - greatest) < abs(t - least) else least + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        new = at(t)
        asked += 1
        if new.f > start.f + c1 * t * start.slope or new.f >= low.f:
            low, high = (low, new) if low.f <= new.f else (new, low)
            continue
        good = abs(new.slope) <= limit
        if not good and new.slope * (high.t - low.t) >= 0:
            high = low
        low = new
    return low, asked


def _cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """The minimum of the cubic with the values and slopes of both points, within bounds."""
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
