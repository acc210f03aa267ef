"""Optimizers and schedulers, to be run on minigrad and on PyTorch alike.

A case is a few words: the class, its settings, and which of the small problems below it
works on. `trajectory` runs it, on either library, and returns every value that the
parameters take.
"""

# ruff: noqa: E501  (the tables)

from typing import Any

import numpy as np

STEPS = 50

# name -> (class, settings, problem)
OPTIMIZERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "SGD": ("SGD", {"lr": 0.05}, "dense"),
    "SGD, default rate": ("SGD", {}, "dense"),
    "SGD, momentum": ("SGD", {"lr": 0.02, "momentum": 0.9}, "dense"),
    "SGD, dampening": ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.5}, "dense"),
    "SGD, Nesterov": ("SGD", {"lr": 0.02, "momentum": 0.8, "nesterov": True}, "dense"),
    "SGD, weight decay": ("SGD", {"lr": 0.02, "momentum": 0.5, "weight_decay": 0.1}, "dense"),
    "SGD, all at once": ("SGD", {"lr": 0.02, "momentum": 0.7, "nesterov": True, "weight_decay": 0.1, "maximize": True}, "hill"),
    "SGD, sparse": ("SGD", {"lr": 0.1}, "sparse"),
    "SGD, sparse momentum": ("SGD", {"lr": 0.05, "momentum": 0.9}, "sparse"),
    "SGD, sparse Nesterov": ("SGD", {"lr": 0.05, "momentum": 0.6, "nesterov": True}, "sparse"),
    "SGD, sparse dampening": ("SGD", {"lr": 0.05, "momentum": 0.6, "dampening": 0.3}, "sparse"),
    "SGD, sparse up": ("SGD", {"lr": 0.01, "momentum": 0.3, "maximize": True}, "sparse"),
    "Adam": ("Adam", {"lr": 0.05}, "dense"),
    "Adam, default rate": ("Adam", {}, "dense"),
    "Adam, other betas": ("Adam", {"lr": 0.05, "betas": (0.5, 0.7), "eps": 1e-2}, "dense"),
    "Adam, amsgrad": ("Adam", {"lr": 0.05, "amsgrad": True}, "dense"),
    "Adam, weight decay": ("Adam", {"lr": 0.05, "weight_decay": 0.3}, "dense"),
    "Adam, up": ("Adam", {"lr": 0.05, "maximize": True, "weight_decay": 0.1}, "hill"),
    "AdamW": ("AdamW", {"lr": 0.05}, "dense"),
    "AdamW, strong decay": ("AdamW", {"lr": 0.05, "weight_decay": 0.8, "amsgrad": True}, "dense"),
    "Adagrad": ("Adagrad", {"lr": 0.3}, "dense"),
    "Adagrad, decays": ("Adagrad", {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.1}, "dense"),
    "Adagrad, begun": ("Adagrad", {"lr": 0.3, "initial_accumulator_value": 0.5, "eps": 1e-3}, "dense"),
    "Adagrad, sparse": ("Adagrad", {"lr": 0.3, "lr_decay": 0.05}, "sparse"),
    "RMSprop": ("RMSprop", {}, "dense"),
    "RMSprop, momentum": ("RMSprop", {"lr": 0.02, "momentum": 0.5, "alpha": 0.9}, "dense"),
    "RMSprop, centered": ("RMSprop", {"lr": 0.02, "centered": True, "eps": 1e-3}, "dense"),
    "RMSprop, all at once": ("RMSprop", {"lr": 0.02, "centered": True, "momentum": 0.3, "weight_decay": 0.1, "maximize": True, "eps": 1e-3}, "hill"),
    "SparseAdam": ("SparseAdam", {"lr": 0.05}, "sparse"),
    "SparseAdam, up": ("SparseAdam", {"lr": 0.05, "betas": (0.5, 0.9), "maximize": True}, "sparse"),
    "Adadelta": ("Adadelta", {}, "dense"),
    "Adadelta, up": ("Adadelta", {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1, "maximize": True}, "hill"),
    "Adamax": ("Adamax", {"lr": 0.05}, "dense"),
    "Adamax, up": ("Adamax", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}, "hill"),
    "NAdam": ("NAdam", {"lr": 0.05}, "dense"),
    "NAdam, decay": ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.01}, "dense"),
    "NAdam, decoupled": ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}, "hill"),
    "RAdam": ("RAdam", {"lr": 0.05}, "dense"),
    "RAdam, decay": ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.9)}, "dense"),
    "RAdam, decoupled": ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}, "hill"),
    "Rprop": ("Rprop", {"lr": 0.02}, "dense"),
    "Rprop, up": ("Rprop", {"lr": 0.02, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1), "maximize": True}, "hill"),
    "SGD, large": ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}, "large"),
    "AdamW, large": ("AdamW", {"lr": 0.05}, "large"),
    "two groups": ("SGD", {"lr": 0.05, "momentum": 0.5}, "groups"),
}  # fmt: skip

# name -> (class, settings); the optimizer is SGD with momentum and two groups
SCHEDULERS: dict[str, tuple[str, dict[str, Any]]] = {
    "LambdaLR": ("LambdaLR", {"lr_lambda": lambda t: 0.9**t + 0.01 * t}),
    "LambdaLR of each": ("LambdaLR", {"lr_lambda": [lambda t: 0.9**t, lambda t: 1 / (1 + t)]}),
    "MultiplicativeLR": ("MultiplicativeLR", {"lr_lambda": lambda t: 0.9 + 0.1 * (t % 2)}),
    "StepLR": ("StepLR", {"step_size": 3, "gamma": 0.5}),
    "MultiStepLR": ("MultiStepLR", {"milestones": [2, 5, 5, 9], "gamma": 0.5}),
    "ConstantLR": ("ConstantLR", {"factor": 0.25, "total_iters": 4}),
    "LinearLR": ("LinearLR", {"start_factor": 0.1, "end_factor": 0.9, "total_iters": 7}),
    "LinearLR, default": ("LinearLR", {}),
    "ExponentialLR": ("ExponentialLR", {"gamma": 0.9}),
    "PolynomialLR": ("PolynomialLR", {"total_iters": 9, "power": 2.0}),
    "CosineAnnealingLR": ("CosineAnnealingLR", {"T_max": 6, "eta_min": 0.01}),
    "CosineAnnealingWarmRestarts": ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.01}),
    "CosineAnnealingWarmRestarts, even": ("CosineAnnealingWarmRestarts", {"T_0": 4}),
    "CyclicLR": ("CyclicLR", {"base_lr": 0.01, "max_lr": [0.1, 0.2], "step_size_up": 3, "step_size_down": 5}),
    "CyclicLR, halves": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "triangular2"}),
    "CyclicLR, exponential": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9}),
    "CyclicLR, own": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "scale_fn": lambda x: 1 / x, "cycle_momentum": False}),
    "OneCycleLR": ("OneCycleLR", {"max_lr": 0.1, "total_steps": 20}),
    "OneCycleLR, linear": ("OneCycleLR", {"max_lr": [0.1, 0.2], "epochs": 5, "steps_per_epoch": 4, "anneal_strategy": "linear"}),
    "OneCycleLR, three phases": ("OneCycleLR", {"max_lr": 0.1, "total_steps": 20, "three_phase": True}),
}  # fmt: skip


def parameters(library: Any, problem: str) -> list[Any]:
    """Where the parameters begin."""
    r = np.random.default_rng(3)
    shapes: list[tuple[int, ...]] = [(3, 2), (4,), (), (1, 5)]
    if problem == "sparse":
        shapes = [(7, 3), (5, 2)]
    if problem == "large":
        shapes = [(130, 150), (6,), (4,), (20000,)]
    arrays = [np.asarray(r.uniform(-1, 1, shape)) for shape in shapes]
    return [library.tensor(a.tolist(), dtype=library.float64).requires_grad_() for a in arrays]


def loss_of(library: Any, problem: str, ps: list[Any], t: int) -> Any:
    """A loss that changes from step to step; in every seventh, a parameter gets no gradient."""
    if problem == "sparse":
        lookup = library.nn.functional.embedding
        rows = [[t % 7, (3 * t) % 7, t % 7], [t % 5]]
        found = [lookup(library.tensor(i), p, sparse=True) for i, p in zip(rows, ps, strict=True)]
        return sum(((x - 0.5) ** 2).sum() + (x * x * x).sum() * 0.1 for x in found)
    sign = -1 if problem == "hill" else 1
    used = [(k, p) for k, p in enumerate(ps) if problem == "large" or (t + k) % 7]
    return sign * sum(
        ((p - 0.3 * k) ** 2).sum() + 0.1 * np.sin(t) * (p * p * p).sum() for k, p in used
    )


def optimizer_of(library: Any, cls: str, settings: dict[str, Any], problem: str, ps: Any) -> Any:
    groups = ps
    if problem == "groups":
        groups = [{"params": ps[:2]}, {"params": ps[2:], "lr": 0.01, "weight_decay": 0.2}]
    return getattr(library.optim, cls)(groups, **settings)


def run(library: Any, optimizer: Any, problem: str, ps: list[Any], steps: range) -> list[Any]:
    """The parameters, flattened, after each of these steps."""
    path = []
    for t in steps:
        optimizer.zero_grad()
        loss_of(library, problem, ps, t).backward()
        optimizer.step()
        path.append(np.concatenate([p.detach().numpy().copy().reshape(-1) for p in ps]))
    return path


def trajectory(library: Any, case: str) -> Any:
    """(steps, values): where the parameters are after each step."""
    cls, settings, problem = OPTIMIZERS[case]
    ps = parameters(library, problem)
    optimizer = optimizer_of(library, cls, settings, problem, ps)
    return np.array(run(library, optimizer, problem, ps, range(STEPS)))


def rates(library: Any, case: str, steps: int = 20) -> Any:
    """(steps, 4): both groups' rates and momentum after each step of the scheduler."""
    cls, settings = SCHEDULERS[case]
    optimizer = stepper(library)
    scheduler = getattr(library.optim.lr_scheduler, cls)(optimizer, **settings)
    path = []
    for _ in range(steps):
        path.append([g[name] for name in ("lr", "momentum") for g in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    return np.array(path)


def stepper(library: Any) -> Any:
    """An optimizer with two groups, whose parameters do not matter."""
    ps = [library.zeros(1, requires_grad=True) for _ in range(2)]
    groups = [{"params": [ps[0]]}, {"params": [ps[1]], "lr": 0.2}]
    return library.optim.SGD(groups, lr=0.1, momentum=0.9)
