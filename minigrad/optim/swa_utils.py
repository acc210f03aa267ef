"""Weight averaging: stochastic weight averaging (SWA) and exponential moving averages (EMA).

The average of the weights often generalizes better than the final weights. Late in training, SGD
moves around the edge of a wide minimum of the loss, and the average lies closer to its center.
Source: Izmailov et al., Averaging Weights Leads to Wider Optima and Better Generalization (2018).
"""

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any

from minigrad.core import modes
from minigrad.core.devices import DeviceLike
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.nn.module import Module
from minigrad.optim.lr_scheduler.scheduler import LRScheduler, for_each_group
from minigrad.optim.optimizer import Optimizer

Average = Callable[[Tensor, Tensor, Tensor], Tensor]
MultiAverage = Callable[[list[Tensor], list[Tensor], Tensor], None]


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """A multi_avg_fn for an exponential moving average: a = decay * a + (1 - decay) * p."""
    mean = get_ema_avg_fn(decay)
    return _for_each(lambda a, p, n: a.lerp(p, 1 - decay) if a.dtype.kind == "f" else mean(a, p, n))


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """An avg_fn for an exponential moving average: a = decay * a + (1 - decay) * p."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )

    def mean(averaged: Tensor, current: Tensor, number: Tensor) -> Tensor:
        with modes.no_grad():
            return averaged * decay + current * (1 - decay)

    return mean


def get_swa_avg_fn() -> Average:
    """An avg_fn for the arithmetic mean."""

    def mean(averaged: Tensor, current: Tensor, number: Tensor) -> Tensor:
        with modes.no_grad():
            return averaged + (current - averaged) / (number + 1)

    return mean


def get_swa_multi_avg_fn() -> MultiAverage:
    """A multi_avg_fn for the arithmetic mean."""
    return _for_each(get_swa_avg_fn())


def _for_each(mean: Average) -> MultiAverage:
    """The multi_avg_fn that applies an avg_fn to each parameter."""

    def update(averages: list[Tensor], values: list[Tensor], number: Tensor) -> None:
        with modes.no_grad():
            for a, p in zip(averages, values, strict=True):
                a.copy_(mean(a.detach(), p, number))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are the average of the original's over time.

    model           the model to copy
    avg_fn          (average, parameter, number so far) -> the new average; by default the
                    arithmetic mean
    multi_avg_fn    updates the averages of all parameters at once, in place
    use_buffers     whether to average the buffers too; otherwise they are copied

    >>> from minigrad import nn
    >>> model = nn.Linear(2, 1)
    >>> averaged = AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged
    tensor(1)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: DeviceLike = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", tensor(0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: object, **kwargs: object) -> Any:
        """Call the averaged copy."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Update the average with the model's current parameters."""
        own: list[Tensor] = list(self.module.parameters())
        new: list[Tensor] = list(model.parameters())
        buffers = list(self.module.buffers()), list(model.buffers())
        if self.use_buffers:
            own, new = [*own, *buffers[0]], [*new, *buffers[1]]
        update = self.multi_avg_fn or _for_each(self.avg_fn or get_swa_avg_fn())
        if not self.n_averaged:
            update = _for_each(lambda a, p, n: p)
        with modes.no_grad():
            update(own, [p.detach() for p in new], self.n_averaged)
            if not self.use_buffers:
                for a, b in zip(*buffers, strict=True):
                    a.copy_(b)
            self.n_averaged += 1


class SWALR(LRScheduler):
    """Anneals the learning rate to swa_lr within anneal_epochs steps, then keeps it constant.

    swa_lr            one rate, or a list with one for each group
    anneal_strategy   "cos" for half a cosine wave, or "linear"
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for rate, group in zip(
            for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True
        ):
            group["swa_lr"] = rate
        self.anneal_epochs, self._anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _progress(self, step: int) -> float:
        """The fraction of the change to swa_lr that is done: from 0 to 1."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def _rates(self) -> list[Any]:
        """Interpolate between the initial rate and swa_lr.

        The initial rate is computed from the current rate, because other schedulers may change it.
        """
        step = max(1, self._step_count - 1) if self.anneal_epochs == 0 else self._step_count - 1
        before, now = self._progress(step - 1), self._progress(step)
        rates = []
        for group in self.optimizer.param_groups:
            lr, end = group["lr"], group["swa_lr"]
            start = end if before == 1 else (lr - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates


def update_bn(loader: Iterable[Any], model: Module, device: DeviceLike = None) -> None:
    """Recompute the running mean and variance of BatchNorm layers, for averaged weights."""
    layers: list[Any] = [m for m in model.modules() if hasattr(m, "running_mean")]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # the arithmetic mean over all batches
    training = model.training
    model.train()
    with modes.no_grad():
        for batch in loader:
            model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    model.train(training)
