"""LBFGS, ASGD and averaged weights take PyTorch's steps."""

from collections import OrderedDict
from importlib import import_module

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from tests.against_torch.agree import draw

TARGET = draw(6, 2)


def bowl(m, w, b):
    """Far from a quadratic: steps must be searched for."""
    x = m.tensor(draw(6, 3, seed=4))
    return ((m.tanh(x @ w) + b - m.tensor(TARGET)) ** 2).mean() + 0.1 * (w**4).sum()


def rosenbrock(m, w, b):
    x, y = w.reshape(-1)[0], w.reshape(-1)[1]
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2 + (b**2).sum()


def run(m, make, loss, steps):
    w = m.tensor(draw(3, 2), requires_grad=True)
    b = m.tensor(draw(2), requires_grad=True)
    optimizer, seen = make(m)([w, b]), []

    def closure():
        optimizer.zero_grad()
        z = loss(m, w, b)
        z.backward()
        seen.append(z.item())
        return z

    returned = [optimizer.step(closure).item() for _ in range(steps)]
    return [np.array(seen), np.array(returned), w.detach().numpy(), b.detach().numpy()], optimizer


@pytest.mark.parametrize("loss", [bowl, rosenbrock])
@pytest.mark.parametrize(
    "settings",
    [
        {"lr": 0.1},
        {"lr": 0.05, "max_iter": 4, "history_size": 2},
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "max_iter": 5, "lr": 0.5, "history_size": 3},
        {"line_search_fn": "strong_wolfe", "max_eval": 7, "tolerance_grad": 1e-2},
    ],
    ids=str,
)
def test_lbfgs_evaluates_the_loss_at_the_same_points(settings, loss):
    settings = settings | (
        {"lr": 1e-4} if loss is rosenbrock and "line_search_fn" not in settings else {}
    )
    ours, a = run(minigrad, lambda m: lambda p: m.optim.LBFGS(p, **settings), loss, 4)
    theirs, b = run(torch, lambda m: lambda p: m.optim.LBFGS(p, **settings), loss, 4)

    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-8)  # small differences add up
    names = ("func_evals", "n_iter")
    states = [next(iter(o.state.values())) for o in (a, b)]
    assert [states[0][n] for n in names] == [states[1][n] for n in names]


@pytest.mark.parametrize("settings", [{}, {"lr": 0.1, "t0": 2, "weight_decay": 0.1}], ids=str)
def test_asgd_takes_the_same_steps(settings):
    ours, a = run(minigrad, lambda m: lambda p: m.optim.ASGD(p, **settings), bowl, 6)
    theirs, b = run(torch, lambda m: lambda p: m.optim.ASGD(p, **settings), bowl, 6)

    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)  # eta is kept in single precision
    means = [[s["ax"].detach().numpy() for s in o.state.values()] for o in (a, b)]
    for x, y in zip(*means, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize(
    "kind", ["mean", "ema", "ema for each", "mean of buffers", "ema of buffers"]
)
def test_averaged_models_agree(kind):
    found = []
    for m in (minigrad, torch):
        utils = m.optim.swa_utils
        how = {
            "mean": {},
            "ema": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
            "ema for each": {"avg_fn": utils.get_ema_avg_fn(0.9)},
            "mean of buffers": {"use_buffers": True},
            "ema of buffers": {
                "use_buffers": True,
                "multi_avg_fn": utils.get_ema_multi_avg_fn(0.5),
            },
        }[kind]
        m.manual_seed(0)
        model = m.nn.Sequential(m.nn.Linear(3, 2), m.nn.BatchNorm1d(2))
        averaged = utils.AveragedModel(model, **how)
        sgd = m.optim.SGD(model.parameters(), 0.1)
        x = m.tensor(draw(6, 3).astype(np.float32))
        for _ in range(4):
            sgd.zero_grad()
            (model(x) ** 2).sum().backward()
            sgd.step()
            averaged.update_parameters(model)
        if "use_buffers" not in how:
            utils.update_bn([x, x * 2], averaged)
        found.append({n: t.detach().numpy() for n, t in averaged.state_dict().items()})
    assert list(found[0]) == list(found[1])
    for name in found[0]:
        np.testing.assert_allclose(found[0][name], found[1][name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"swa_lr": 0.05, "anneal_epochs": 4},
        {"swa_lr": [0.05, 0.2], "anneal_epochs": 3, "anneal_strategy": "linear"},
        {"swa_lr": 0.05, "anneal_epochs": 0},
    ],
)
def test_the_rates_of_averaging_agree(settings):
    def rates(m):
        groups = [{"params": [m.ones(1)]}, {"params": [m.ones(1)], "lr": 0.5}]
        schedule = m.optim.swa_utils.SWALR(sgd := m.optim.SGD(groups, lr=0.1), **settings)
        found = [schedule.get_last_lr()]
        for _ in range(6):
            sgd.step()
            schedule.step()
            found.append(schedule.get_last_lr())
        return found

    np.testing.assert_allclose(rates(minigrad), rates(torch), rtol=1e-12)


@pytest.mark.parametrize("settings", [{"anneal_strategy": "x"}, {"anneal_epochs": -1}])
def test_rates_of_averaging_that_make_no_sense_are_refused(settings):
    for m in (minigrad, torch):
        with pytest.raises(ValueError, match=next(iter(settings))):
            m.optim.swa_utils.SWALR(m.optim.SGD([m.ones(1)], lr=0.1), 0.05, **settings)


def test_lbfgs_asks_for_a_closure():
    with pytest.raises(TypeError, match="closure"):
        minigrad.optim.LBFGS([minigrad.ones(2, requires_grad=True)]).step()


@pytest.mark.parametrize(
    "name", "SGD Adam AdamW RMSprop Adagrad Adadelta Adamax NAdam RAdam Rprop ASGD".split()
)
def test_a_group_lists_its_settings_in_the_order_of_pytorch(name):
    groups = [
        getattr(m.optim, name)([m.zeros(2, requires_grad=True)]).param_groups
        for m in (minigrad, torch)
    ]

    assert list(groups[0][0]) == list(groups[1][0])


ON_LISTS = {
    "numbers": lambda m, x, y: m._foreach_mul(x, 3.0) + m._foreach_sub(x, scalar=2),
    "a number for each": lambda m, x, y: m._foreach_div(x, [2.0, 4.0]),
    "a tensor for all": lambda m, x, y: m._foreach_mul(x, m.tensor(0.5, dtype=m.float64)),
    "tensors": lambda m, x, y: m._foreach_add(x, y, alpha=2) + m._foreach_sub(x, other=y),
    "powers": lambda m, x, y: m._foreach_pow(x, 2) + m._foreach_pow(2.0, y),
    "maximum": lambda m, x, y: m._foreach_maximum(x, y) + m._foreach_minimum(x, 0.1),
    "limits": lambda m, x, y: m._foreach_clamp_min(x, 0.0) + m._foreach_clamp_max(x, y),
    "lerp": lambda m, x, y: m._foreach_lerp(x, y, 0.3) + m._foreach_lerp(x, y, weights=y),
    "products": lambda m, x, y: m._foreach_addcmul(x, y, y) + m._foreach_addcdiv(x, y, y, value=2),
    "scalars": lambda m, x, y: (
        m._foreach_addcmul(x, y, y, [2.0, 3.0])
        + m._foreach_addcdiv(x, y, y, scalars=m.tensor([2.0, 3.0]))
    ),
    "norms": lambda m, x, y: m._foreach_norm(x) + m._foreach_norm(x, 1) + m._foreach_max(x),
    "copies": lambda m, x, y: m._foreach_clone(x) + m._foreach_abs(x),
    "writes": lambda m, x, y: m._foreach_mul_(x, y) + m._foreach_neg_(x) + m._foreach_copy_(y, x),
    "a step": lambda m, x, y: m._foreach_addcdiv_(m._foreach_lerp_(x, y, 0.1), y, x, -0.1),
    "zeros": lambda m, x, y: m._foreach_zero_(x),
    "a list without a truth value": lambda m, x, y: m._foreach_mul(
        type("TensorList", (list,), {"__bool__": None})(x), 2
    ),
}


@pytest.mark.parametrize("call", ON_LISTS.values(), ids=list(ON_LISTS))
def test_the_private_functions_on_lists_of_tensors_agree(call):
    results, arguments = [], []
    for m in (minigrad, torch):
        x, y = ([m.tensor(draw(*s, seed=k)) for s in ((3,), (2, 2))] for k in (1, 2))
        results.append(call(m, x, y))
        arguments.append([t.numpy() for t in [*x, *y]])

    assert type(results[0]) is type(results[1])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
        assert a.numpy().dtype == b.numpy().dtype
    for a, b in zip(*arguments, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_every_private_function_on_lists_is_there():
    theirs = {name for name in dir(torch) if name.startswith("_foreach_")}

    missing = {name for name in theirs if not hasattr(minigrad, name)}
    assert missing == {"_foreach_mm", "_foreach_powsum"}


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda m, x: m._foreach_add([], 1), RuntimeError),
        (lambda m, x: m._foreach_add([x], [x, x]), RuntimeError),
        (lambda m, x: m._foreach_add([x], [1.0, 2.0]), RuntimeError),
        (lambda m, x: m._foreach_add(x, 1), TypeError),
    ],
)
def test_lists_that_do_not_fit_are_refused(call, error):
    for m in (minigrad, torch):
        with pytest.raises(error):
            call(m, m.ones(2))


def test_tensors_are_grouped_by_type():
    found = []
    for m in (minigrad, torch):
        group = __import__(f"{m.__name__}.utils._foreach_utils", fromlist="x")
        x = [m.ones(2), m.ones(2).double(), m.zeros(1)]
        groups = group._group_tensors_by_device_and_dtype([x, [x[0], None, x[1]]], True).values()
        found.append(
            sorted(
                (places, [[None if t is None else t.tolist() for t in ts] for ts in lists])
                for lists, places in groups
            )
        )

    assert found[0] == found[1]


def test_an_optimizer_around_another_one_has_hooks():
    def trained(m):
        class Around(m.optim.Optimizer):
            def __init__(self, optimizer):  # as in published packages: without super().__init__
                self.optimizer = optimizer
                self._optimizer_step_pre_hooks = OrderedDict()
                self._optimizer_step_post_hooks = OrderedDict()
                self._patch_step_function()
                self.defaults, self.state = {}, {}

            @property
            def param_groups(self):
                return self.optimizer.param_groups

            def step(self, closure=None):
                return self.optimizer.step(closure)

        x, seen = m.ones(2, requires_grad=True), []
        around = Around(m.optim.SGD([x], lr=0.1))
        around.register_step_post_hook(lambda o, *_: seen.append(type(o).__name__))
        x.sum().backward()
        around.step()
        around.zero_grad()
        return x.tolist(), seen, x.grad

    assert trained(minigrad) == trained(torch)


def test_lbfgs_may_start_where_the_gradient_is_zero():
    def steps(m):
        p = m.zeros(2, requires_grad=True)
        optimizer = m.optim.LBFGS([p], tolerance_grad=-1.0)

        def closure():
            optimizer.zero_grad()
            loss = (p * p).sum()
            loss.backward()
            return loss

        return [optimizer.step(closure).item(), *p.tolist()]

    assert steps(minigrad) == steps(torch)


DIFFERENTIABLE = {
    "SGD": {"lr": 0.1, "weight_decay": 0.1}, "Adam": {"amsgrad": True, "weight_decay": 0.1, "maximize": True}, "AdamW": {},
    "Adagrad": {"lr_decay": 0.1}, "RMSprop": {"momentum": 0.9, "centered": True}, "Adadelta": {}, "Adamax": {}, "NAdam": {},
    "RAdam": {"betas": (0.5, 0.6)}, "Rprop": {}, "ASGD": {"t0": 1, "lambd": 0.1},
}  # fmt: skip


def learned(m, name, steps, start, scale):
    """The weight after some recorded steps, and the optimizer."""
    w = start.clone()
    optimizer = getattr(m.optim, name)(
        [w], **{"lr": 0.05} | DIFFERENTIABLE[name], differentiable=True
    )
    for _ in range(steps):
        (w.grad,) = m.autograd.grad((w.clone() ** 4 * scale).sum(), w, create_graph=True)
        optimizer.step()
    return w, optimizer


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_differentiable_step_has_the_gradients_of_pytorch(name):
    def found(m):
        start, scale = (
            m.tensor(v, dtype=m.float64, requires_grad=True) for v in ([1.5, -0.5], [2.0, 3.0])
        )
        w, optimizer = learned(m, name, 1, start, scale)
        (w * w).sum().backward()
        held = [v for _, v in sorted(optimizer.state[w].items())]
        return [x.detach().numpy() for x in (w, start.grad, scale.grad, *held)]

    for ours, theirs in zip(found(minigrad), found(torch), strict=True):
        np.testing.assert_allclose(
            ours, theirs, rtol=1e-6, atol=1e-12
        )  # the counters are in single precision


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_a_differentiable_step_has_gradients_of_its_settings(name):
    def found(m):
        given = {"lr": 0.1, "weight_decay": 0.5, "beta1": 0.8, "beta2": 0.9}
        numbers = {k: m.tensor(v, dtype=m.float64, requires_grad=True) for k, v in given.items()}
        beta1, beta2 = numbers.pop("beta1"), numbers.pop("beta2")
        settings = numbers if name == "SGD" else {**numbers, "betas": (beta1, beta2)}
        w = m.tensor([1.5, -0.5], dtype=m.float64, requires_grad=True).clone()
        optimizer = getattr(m.optim, name)([w], **settings, differentiable=True)
        for _ in range(2):
            (w.grad,) = m.autograd.grad((w.clone() ** 4).sum(), w, create_graph=True)
            optimizer.step()
        (w * w).sum().backward()
        return [x.grad.item() for x in (*numbers.values(), *settings.get("betas", ()))]

    np.testing.assert_allclose(found(minigrad), found(torch), rtol=1e-5)


# PyTorch overwrites the state that the backward pass of several steps needs, so this is compared with differences.
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_several_differentiable_steps_have_the_gradient_of_all(name):
    start, scale = (
        minigrad.tensor(v, dtype=minigrad.float64, requires_grad=True)
        for v in ([1.5, -0.5], [2.0, 3.0])
    )

    assert minigrad.autograd.gradcheck(
        lambda *x: learned(minigrad, name, 3, *x)[0], (start, scale), atol=1e-4
    )


def test_the_velocity_of_a_differentiable_step_has_a_history():
    w, mass = minigrad.tensor([1.0]), minigrad.tensor([3.0], requires_grad=True)
    optimizer = minigrad.optim.SGD([w], lr=0.5, momentum=0.5, differentiable=True)
    for _ in range(2):
        w.grad = mass * 2
        optimizer.step()
    w.sum().backward()

    assert w.item() == 1 - 0.5 * 6 - 0.5 * 9 and mass.grad.item() == -0.5 * 2 - 0.5 * 3


@pytest.mark.parametrize(
    "settings", [{}, {"c1": 1e-2, "c2": 0.1}, {"max_ls": 3}, {"tolerance_change": 1e-2}]
)
def test_the_line_search_that_programs_import(settings):
    def run(m):
        of = import_module(f"{m.__name__}.optim.lbfgs")
        found = []

        def evaluate(x, t, d):
            y = (x + t * d).detach().requires_grad_()
            loss = (100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2).sum()
            loss.backward()
            return loss.item(), y.grad

        for k in range(6):
            x = m.tensor([0.3 * k, -1.2, 1.0, 0.5 * k], dtype=m.float64)
            f, g = evaluate(x, 0.0, x)
            loss, gradient, t, calls = of._strong_wolfe(
                evaluate, x, 10.0 ** -(k % 3), -g, f, g, -g.dot(g), **settings
            )
            found += [loss, float(gradient.norm()), float(t), calls]
            slopes = m.tensor([-2.0, k - 1.5])
            found.append(float(of._cubic_interpolate(0.0, 1.0, slopes[0], 2.0, 0.5, slopes[1])))
        return found

    assert run(minigrad) == pytest.approx(run(torch))
