"""A step that is recorded on the tape: SGD([w], differentiable=True), for learning through training.

    w = w0.clone()                     a result, not a leaf: the step writes to it in place
    w.grad = grad(loss(w), w, create_graph=True)[0]
    optimizer.step()                   w -= lr * w.grad, recorded
    loss(w).backward()                 reaches w0, and everything that the gradient depends on

The rule of an optimizer is written for arrays, in place. Here it gets a `TensorAsArray` for each array. A NumPy
operation on it is applied to its tensor, and a write into it replaces its tensor. So nothing that a backward pass needs
is overwritten.

Read elementwise.py first.
"""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad.core.tensor import Tensor
from minigrad.methods.creation import full_like
from minigrad.optim.blocks import tensor_of

if TYPE_CHECKING:
    from minigrad.optim.elementwise import Elementwise


class TensorAsArray(np.lib.mixins.NDArrayOperatorsMixin):
    """The stand-in for an array in a rule. `tensor` is its current value."""

    def __init__(self, tensor: Tensor | None = None) -> None:
        self.tensor = tensor

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (None,)
    ) -> "TensorAsArray":
        z = ufunc(*[x.tensor if isinstance(x, TensorAsArray) else x for x in inputs])
        target = TensorAsArray() if out[0] is None else out[0]
        target.tensor = z
        return target

    def clip(self, low: float, high: float, out: "TensorAsArray") -> "TensorAsArray":
        """Called by np.clip."""
        assert self.tensor is not None
        out.tensor = self.tensor.clamp(low, high)
        return out

    def __getitem__(self, mask: "TensorAsArray") -> "TensorAsArray":
        assert self.tensor is not None
        return TensorAsArray(self.tensor[mask.tensor])

    def __setitem__(self, index: Any, value: Any) -> None:
        assert self.tensor is not None
        z = self.tensor.clone()
        z[index.tensor if isinstance(index, TensorAsArray) else index] = (
            value.tensor if isinstance(value, TensorAsArray) else value
        )
        self.tensor = z


def recorded_step(optimizer: "Elementwise", p: Tensor, group: dict[str, Any]) -> None:
    """Like Elementwise._run for a single parameter, but with tensors."""
    state, slots = optimizer.state[p], optimizer._slots(group)
    counts = [np.array([float(state.get(n, start))]) for n, start in optimizer.counters.items()]
    plan: Any = SimpleNamespace(counts=counts)
    optimizer._advance(plan, group)
    for name, count in zip(optimizer.counters, counts, strict=True):
        state[name] = tensor_of(count[0, ...].astype(np.float32))
    numbers: Any = optimizer._all_numbers(group, [c.item() for c in counts])
    decoupled, decay = group.get("decoupled_weight_decay"), None
    if group.get("weight_decay"):
        decay, *numbers = numbers
    assert p.grad is not None
    g = -p.grad if group.get("maximize") else p.grad
    held = {
        n: TensorAsArray(full_like(p, v) if state.get(n) is None else state[n])
        for n, v in slots.items()
    }
    b: Any = SimpleNamespace(
        g=TensorAsArray(g if decay is None or decoupled else g + decay * p.clone()),
        state=tuple(held.values()),
        first=any(state.get(n) is None for n in slots),
        out=TensorAsArray(),
        more=TensorAsArray(),
    )
    rule: Any = optimizer._rule
    step = rule(b, group, numbers).tensor
    p.sub_(step if decay is None or not decoupled else step + decay * p.clone())
    state.update({name: value.tensor for name, value in held.items()})
