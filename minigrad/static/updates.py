"""Updates: the formulas of optimizers, written down as instructions of a training step.

They are those of optim/sgd.py and optim/adaptive.py, term by term, but written with ops on
Slots; each ends in an instruction that writes over the memory of a parameter, or of what the
optimizer remembers. The learning rate is a number in memory, looked at before each run, so
that a schedule may change it.

An optimizer that is not here (Adam, whose formula changes with the number of the step) does its
own step after each run, on gradients that the program leaves in .grad.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.static.instruction import ProgramError
from minigrad.static.slot import Slot


class Rows:
    """A gradient of few rows of a table: parts of (rows, values), as sparse.RowSparse has."""

    def __init__(self, parts: list[tuple[Any, Any]], shape: tuple[int, ...]) -> None:
        self.parts, self.shape = parts, shape

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Rows):
            return Rows(self.parts + other.parts, self.shape)
        return self.dense(other.recorder) + other

    __radd__ = __add__

    def dense(self, recorder: Any) -> Any:
        """The whole table: zeros, with all values added at their rows."""
        at = [row for row, _ in self.parts]
        rows, values = at[0], self.parts[0][1]
        if len(at) > 1:
            rows = np.concatenate([np.reshape(r, -1) for r in at])
            flat = [v.reshape((int(np.prod(v.shape[:-1])), self.shape[1])) for _, v in self.parts]
            values = ops.cat(*flat, axis=0)
        return ops.put_zeros(values, index=(rows,), shape=self.shape)


class Cell:
    """A number in memory that is looked at before each run: a learning rate."""

    node = None
    is_leaf = True

    def __init__(self, ask: Callable[[], Any], dtype: Any) -> None:
        self.ask, self.latest = ask, ask()
        self.array = np.array(self.latest, dtype)
        self.shape = ()

    def __call__(self) -> None:
        now = self.ask()
        if now != self.latest:
            self.array[...] = self.latest = now


def number(recorder: Any, ask: Callable[[], Any], dtype: Any, name: str) -> Slot:
    """A number that is asked for before each run."""
    cell = Cell(ask, dtype)
    i = recorder._value("captured", cell.array, name)
    recorder.captured[i] = cell
    recorder.before.append(cell)
    return Slot(recorder, i)


def update(recorder: Any, optimizer: Any) -> bool:
    """Write an optimizer's step down, if its formula is known here."""
    write = UPDATES.get(type(optimizer).__name__)
    if write is None or not type(optimizer).__module__.startswith("minigrad.optim."):
        return False
    if optimizer._step_pre_hooks or optimizer._step_post_hooks:
        return False
    todo = []
    for group in optimizer.param_groups:
        for p in group["params"]:
            g = p.node.grad if p.node is not None else None
            if g is not None:
                if not isinstance(g, (Slot, Rows)) or not knows(optimizer, group, p, g):
                    return False
                todo.append((g, group, p))
    rates: dict[int, Any] = {}
    for g, group, p in todo:
        if id(group) not in rates:
            rates[id(group)] = number(recorder, rate_of(optimizer, group, p), p.array.dtype, "lr")
        write(recorder, optimizer, group, p, g, rates[id(group)])
        p.node.grad = None  # it has done its work, and its buffer is free
    return True


def knows(optimizer: Any, group: Any, p: Any, g: Any) -> bool:
    """Is this one of the settings that the formulas here cover?"""
    if type(optimizer).__name__ == "SGD":
        first = optimizer.state.get(p, {}).get("momentum_buffer") is None
        if isinstance(g, Rows) and (group["momentum"] or group["weight_decay"]):
            return False
        return not (group["momentum"] and group["dampening"] and first)
    return not (isinstance(g, Rows) and group["weight_decay"])


def rate_of(optimizer: Any, group: Any, p: Any) -> Callable[[], Any]:
    """What gives the length of the next step."""
    if type(optimizer).__name__ == "SGD" or not group["lr_decay"]:
        return lambda: float(group["lr"])
    state = optimizer.state[p]
    return lambda: float(group["lr"]) / (1 + state["step"].array.item() * group["lr_decay"])


def remembered(recorder: Any, optimizer: Any, p: Any, name: str, fill: float) -> Any:
    """The tensor with what the optimizer remembers of a parameter."""
    state = optimizer.state[p]
    if state.get(name) is None:
        state[name] = recorder.new(np.full(p.array.shape, fill, p.array.dtype))
    tensor = state[name]
    if not isinstance(tensor.array, np.ndarray):
        raise ProgramError(
            f"{name} is row-sparse; a program keeps it dense. To mend it, begin with a new optimizer."
        )
    recorder.capture(tensor, name)
    return tensor


def decayed(p: Slot, g: Any, group: Any) -> Any:
    """The gradient, its sign and the weight decay considered."""
    if group["maximize"]:
        g = -g
    return g + p * group["weight_decay"] if group["weight_decay"] else g


def sgd(recorder: Any, optimizer: Any, group: Any, p: Any, g: Any, lr: Slot) -> None:
    """v = momentum * v + (1 - dampening) * g        p = p - lr * v"""
    x = Slot(recorder, recorder.number(p))
    if isinstance(g, Rows):
        for rows, values in g.parts:
            down = values * lr if group["maximize"] else values * (-lr)
            x = recorder.over(p, ops.index_put, x, down, index=(rows,), accumulate=True)
        return
    g = decayed(x, g, group)
    momentum, dampening = group["momentum"], group["dampening"]
    if momentum:
        v = remembered(recorder, optimizer, p, "momentum_buffer", 0.0)
        v = recorder.over(v, ops.add, v * momentum, g * (1 - dampening) if dampening else g)
        g = v * momentum + g if group["nesterov"] else v
    recorder.over(p, ops.sub, x, g * lr)


def adagrad(recorder: Any, optimizer: Any, group: Any, p: Any, g: Any, lr: Slot) -> None:
    """s = s + g**2        p = p - lr * g / (sqrt(s) + eps)"""
    x = Slot(recorder, recorder.number(p))
    g = decayed(x, g.dense(recorder) if isinstance(g, Rows) else g, group)
    s = remembered(recorder, optimizer, p, "sum", group["initial_accumulator_value"])
    s = recorder.over(s, ops.add, s, g * g)
    recorder.over(p, ops.sub, x, g / (ops.sqrt(s) + group["eps"]) * lr)
    step = optimizer.state[p]["step"]

    def count() -> None:
        step.array = step.array + step.array.dtype.type(1)

    recorder.after.append(count)


UPDATES = {"SGD": sgd, "Adagrad": adagrad}
