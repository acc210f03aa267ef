"""Optimizers and schedulers: minigrad and PyTorch take the same path, and refuse the same things."""

import copy
import re
import warnings
from importlib import import_module

import numpy as np
import pytest

import minigrad

torch = pytest.importorskip("torch")

from tests import optim_cases as cases

torch.sparse.check_sparse_tensor_invariants.disable()  # or PyTorch warns that it has not decided


# An optimizer of our own has no path there to compare with.
SHARED = [name for name, (cls, *_) in cases.OPTIMIZERS.items() if hasattr(torch.optim, cls)]


def translated(state, library):
    """A state_dict with its tensors in the other library's."""
    if isinstance(state, dict):
        return {k: translated(v, library) for k, v in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(translated(v, library) for v in state)
    if not hasattr(state, "is_sparse"):
        return state
    if not state.is_sparse:
        return library.tensor(state.numpy())
    if library is torch:
        return torch.sparse_coo_tensor(
            state.indices().tolist(), state.values().numpy(), state.shape
        )
    rows = minigrad.core.sparse.RowSparse(
        state.coalesce().indices()[0].numpy(),
        state.coalesce().values().numpy(),
        tuple(state.shape),
    )
    return minigrad.core.memory.make.wrap(rows)


@pytest.mark.parametrize("case", SHARED)
def test_fifty_steps(case):
    np.testing.assert_allclose(
        cases.trajectory(minigrad, case),
        cases.trajectory(torch, case),
        rtol=1e-11,
        atol=1e-12,  # a value that crosses zero has few digits left
    )


@pytest.mark.parametrize("case", cases.SCHEDULERS)
def test_twenty_rates(case):
    np.testing.assert_allclose(
        cases.rates(minigrad, case), cases.rates(torch, case), rtol=1e-13, atol=1e-16
    )


@pytest.mark.parametrize("direction", ["from PyTorch", "to PyTorch"])
@pytest.mark.parametrize("case", SHARED)
def test_a_state_dict_goes_over_to_the_other_library(case, direction):
    cls, settings, problem = cases.OPTIMIZERS[case]
    one, other = (torch, minigrad) if direction == "from PyTorch" else (minigrad, torch)
    ps = cases.parameters(one, problem)
    optimizer = cases.optimizer_of(one, cls, settings, problem, ps)
    cases.run(one, optimizer, problem, ps, range(9))
    qs = [
        other.tensor(p.detach().numpy().tolist(), dtype=other.float64).requires_grad_() for p in ps
    ]
    second = cases.optimizer_of(other, cls, settings, problem, qs)

    second.load_state_dict(translated(optimizer.state_dict(), other))

    np.testing.assert_allclose(
        cases.run(other, second, problem, qs, range(9, 20)),
        cases.run(one, optimizer, problem, ps, range(9, 20)),
        rtol=1e-11,
        atol=1e-12,
    )


@pytest.mark.parametrize("case", SHARED)
def test_state_dicts_have_the_same_form(case):
    def form(library):
        cls, settings, problem = cases.OPTIMIZERS[case]
        ps = cases.parameters(library, problem)
        optimizer = cases.optimizer_of(library, cls, settings, problem, ps)
        cases.run(library, optimizer, problem, ps, range(3))
        saved = optimizer.state_dict()
        state = {
            k: {n: tuple(getattr(v, "shape", ())) for n, v in s.items()}
            for k, s in saved["state"].items()
        }
        return state, saved["param_groups"], list(saved["param_groups"][0])

    ours, theirs = form(minigrad), form(torch)

    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert [list(s) for s in ours[0].values()] == [list(s) for s in theirs[0].values()]


@pytest.mark.parametrize("name", sorted({cases.OPTIMIZERS[case][0] for case in SHARED}))
def test_arguments_and_printing(name):
    def made(library):
        return getattr(library.optim, name)([library.zeros(1, requires_grad=True)])

    import inspect

    def signature(library):
        parameters = inspect.signature(getattr(library.optim, name).__init__).parameters
        return {n: (p.default, p.kind) for n, p in parameters.items() if n != "self"}

    assert repr(made(minigrad)) == repr(made(torch))
    assert signature(minigrad) == signature(torch)


@pytest.mark.parametrize("name", minigrad.optim.lr_scheduler.__all__)
def test_arguments_of_schedulers(name):
    import inspect

    def signature(library):
        cls = getattr(library.optim.lr_scheduler, name)
        return {n: p.default for n, p in inspect.signature(cls.__init__).parameters.items()}

    assert signature(minigrad) == signature(torch)


def leaf(library, *values):
    return library.tensor(list(values), requires_grad=True)


SETTINGS = [
    ("SGD", {"lr": -1.0}),
    ("SGD", {"momentum": -1.0}),
    ("SGD", {"weight_decay": -1.0}),
    ("SGD", {"nesterov": True}),
    ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
    ("Adam", {"lr": -1.0}),
    ("Adam", {"eps": -1.0}),
    ("Adam", {"betas": (-0.5, 0.9)}),
    ("Adam", {"betas": (0.5, 1.0)}),
    ("Adam", {"weight_decay": -1.0}),
    ("Adam", {"betas": (0, 0.9)}),
    ("AdamW", {"weight_decay": -1.0}),
    ("Adagrad", {"lr": -1.0}),
    ("Adagrad", {"lr_decay": -1.0}),
    ("Adagrad", {"weight_decay": -1.0}),
    ("Adagrad", {"initial_accumulator_value": -1.0}),
    ("Adagrad", {"eps": -1.0}),
    ("RMSprop", {"alpha": -1.0}),
    ("RMSprop", {"momentum": -1.0}),
    ("RMSprop", {"eps": -1.0}),
    ("SparseAdam", {"lr": 0.0}),
    ("SparseAdam", {"eps": 0.0}),
    ("Adadelta", {"rho": 1.5}),
    ("Adamax", {"betas": (0.5, 1.0)}),
    ("NAdam", {"momentum_decay": -1.0}),
    ("RAdam", {"eps": -1.0}),
    ("Rprop", {"etas": (0.5, 0.9)}),
]


@pytest.mark.parametrize("name, settings", SETTINGS)
def test_settings_out_of_range_are_refused_in_the_same_words(name, settings):
    errors = []
    for library in (torch, minigrad):
        with pytest.raises(ValueError) as caught:
            getattr(library.optim, name)([leaf(library, 1.0)], **settings)
        errors.append(str(caught.value))

    assert errors[0] == errors[1]


PARAMETERS = {
    "none": lambda m: [],
    "a tensor": lambda m: leaf(m, 1.0),
    "a number": lambda m: [1.0],
    "a result": lambda m: [leaf(m, 1.0) * 2],
    "a set": lambda m: [{"params": {leaf(m, 1.0)}}],
    "twice": lambda m: [{"params": p} for p in [leaf(m, 1.0)] * 2],
    "names missing": lambda m: [("x", leaf(m, 1.0)), leaf(m, 1.0)],
    "names in one group": lambda m: [
        {"params": [("x", leaf(m, 1.0))]},
        {"params": [leaf(m, 1.0)]},
    ],
    "no dict": lambda m: [{"params": leaf(m, 1.0)}, leaf(m, 1.0)],
    "no params": lambda m: [{"lr": 1.0}],
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameters_are_refused_with_the_same_error(case):
    with pytest.raises(Exception) as theirs:
        torch.optim.SGD(PARAMETERS[case](torch), lr=0.1)
    with pytest.raises(theirs.type) as ours:
        minigrad.optim.SGD(PARAMETERS[case](minigrad), lr=0.1)

    words = re.split(r"torch|, but|\(<|:", str(theirs.value))[0].strip()
    assert words.replace("Tensors or dicts", "")[:40] in str(ours.value).replace(
        "Tensors or dicts", ""
    )


def test_a_tensor_that_retains_its_gradient_can_be_optimized():
    found = []
    for m in (torch, minigrad):
        y = leaf(m, 1.0) * 2
        y.retain_grad()
        (y * y).sum().backward()
        m.optim.SGD([y], lr=0.25).step()
        found.append(y.tolist())

    assert found[0] == found[1]


def test_a_parameter_given_twice():
    found = []
    for m in (torch, minigrad):
        x = leaf(m, 1.0)
        with pytest.warns(UserWarning, match="duplicate"):
            o = m.optim.Adam([x, x], lr=0.25)
        for _ in range(3):
            o.zero_grad()
            (x * x).sum().backward()
            o.step()
        found.append(x.tolist())

    assert found[0] == pytest.approx(found[1])


def test_a_closure():
    found = []
    for m in (torch, minigrad):
        x = leaf(m, 1.0, 2.0)
        adam = m.optim.Adam([x], lr=0.1)

        def closure(m=m, x=x, adam=adam):
            adam.zero_grad()
            loss = (x * x).sum()
            loss.backward()
            return loss

        found.append([adam.step(closure).item() for _ in range(5)])

    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_momentum_switched_on_later():
    found = []
    for m in (torch, minigrad):
        x = m.tensor([1.0, 2.0], dtype=m.float64, requires_grad=True)
        sgd = m.optim.SGD([x], lr=0.1)
        for t in range(9):
            sgd.param_groups[0]["momentum"] = 0.5 if t > 3 else 0
            sgd.zero_grad()
            (x * x).sum().backward()
            sgd.step()
        found.append(x.tolist())

    assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize("order", ["sparse first", "dense first"])
def test_dense_and_sparse_gradients_in_turn(order):
    def path(m):
        table = m.ones(4, 2, dtype=m.float64).requires_grad_()
        sgd = m.optim.SGD([table], lr=0.1, momentum=0.5)
        for t in range(4):
            sgd.zero_grad()
            if (t % 2 == 0) == (order == "sparse first"):
                m.nn.functional.embedding(m.tensor([t, 1]), table, sparse=True).sum().backward()
            else:
                (table * table).sum().backward()
            sgd.step()
        return table.tolist()

    if order == "dense first":
        np.testing.assert_allclose(path(minigrad), path(torch), rtol=1e-12)
    else:
        with pytest.raises(RuntimeError):
            path(torch)
        with pytest.raises(RuntimeError, match="sparse"):
            path(minigrad)


@pytest.mark.parametrize("name", cases.SCHEDULERS)
def test_schedulers_go_on_from_last_epoch(name):
    cls, settings = cases.SCHEDULERS[name]

    def path(m):
        optimizer = cases.stepper(m)
        scheduler = getattr(m.optim.lr_scheduler, cls)(optimizer, **settings)
        for _ in range(4):
            optimizer.step()
            scheduler.step()
        scheduler = getattr(m.optim.lr_scheduler, cls)(optimizer, **settings, last_epoch=4)
        found = [scheduler.get_last_lr()]
        for _ in range(4):
            optimizer.step()
            scheduler.step()
            found.append(scheduler.get_last_lr())
        return np.array(found)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(path(minigrad), path(torch), rtol=1e-13)


@pytest.mark.parametrize("name", cases.SCHEDULERS)
def test_schedulers_save_the_same_state(name):
    cls, settings = cases.SCHEDULERS[name]

    def state(m):
        optimizer = cases.stepper(m)
        scheduler = getattr(m.optim.lr_scheduler, cls)(optimizer, **copy.copy(settings))
        for _ in range(3):
            optimizer.step()
            scheduler.step()
        return scheduler.state_dict()

    ours, theirs = state(minigrad), state(torch)

    if name.startswith("CosineAnnealingWarmRestarts"):  # T_i comes after the settings here
        ours = {key: ours[key] for key in theirs}
    assert list(ours) == list(theirs)  # the order in which they are printed
    for key in ours:
        assert ours[key] == theirs[key] or key == "_schedule_phases", key


def combined(m, kind):
    o = cases.stepper(m)
    s = m.optim.lr_scheduler
    if kind == "warm-up":
        parts = [s.LinearLR(o, 0.1, total_iters=3), s.CosineAnnealingLR(o, 5)]
        return o, s.SequentialLR(o, parts, [4])
    if kind == "three":
        parts = [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)]
        return o, s.SequentialLR(o, parts, [2, 6])
    if kind == "restarts":
        parts = [s.LinearLR(o, 0.1, total_iters=3), s.CosineAnnealingWarmRestarts(o, 3)]
        return o, s.SequentialLR(o, parts, [4])
    return o, s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)])


@pytest.mark.parametrize("kind", ["warm-up", "three", "restarts", "chained"])
def test_schedulers_of_schedulers(kind):
    def path(m):
        optimizer, scheduler = combined(m, kind)
        found = [[g["lr"] for g in optimizer.param_groups]]
        for _ in range(15):
            optimizer.step()
            scheduler.step()
            found.append(list(scheduler.get_last_lr()))
        return np.array(found), list(scheduler.state_dict())

    ours, theirs = path(minigrad), path(torch)

    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-13)
    assert ours[1] == theirs[1]


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateaus(mode, threshold_mode):
    def path(m):
        o = cases.stepper(m)
        s = m.optim.lr_scheduler.ReduceLROnPlateau(
            o, mode, 0.5, 2, 0.05, threshold_mode, cooldown=1, min_lr=[0.01, 0.03]
        )
        r = np.random.default_rng(5)
        found = []
        for t in range(40):
            s.step(float(1 / (1 + t) + 0.3 * r.normal()))
            found.append([*s.get_last_lr(), s.best, s.num_bad_epochs, s.cooldown_counter])
        return np.array(found)

    np.testing.assert_array_equal(path(minigrad), path(torch))


def test_restarts_at_any_epoch():
    def path(m, mult):
        o = cases.stepper(m)
        s = m.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3, mult)
        found = []
        for t in [*np.arange(0, 20, 0.25), 2, 7.5, 0.5]:
            s.step(float(t))
            found.append([*s.get_last_lr(), s.T_cur, s.T_i, s.last_epoch])
        return np.array(found)

    for mult in (1, 2, 3):
        np.testing.assert_allclose(path(minigrad, mult), path(torch, mult), rtol=1e-12)


def test_groups_are_printed_apart():
    def printed(library):
        groups = [{"params": [library.zeros(1)]}, {"params": [library.zeros(2)], "lr": 0.5}]
        return repr(library.optim.SGD(groups, lr=0.1))

    assert printed(minigrad) == printed(torch)


@pytest.mark.parametrize("differentiable", [False, True])
def test_an_optimizer_that_begins_as_a_copy_of_one_of_pytorch_s(differentiable):
    def run(m):
        of = import_module(f"{m.__name__}.optim.optimizer")

        @of._disable_dynamo_if_unsupported(single_tensor_fn=abs)
        def descend(p, rate):
            p.data.add_(p.grad, alpha=-of._get_value(rate))

        class Descent(of.Optimizer):
            def __init__(self, params, lr=of.required, differentiable=False):
                super().__init__(params, {"lr": lr, "differentiable": differentiable})

            @of._use_grad_for_differentiable
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in of._stack_if_compiling(group["params"]):
                        descend(p, m.tensor(group["lr"]))
                return m.is_grad_enabled()

        w = leaf(m, 1.0, 2.0)
        optimizer = Descent([w], 0.5, differentiable)
        (w * w).sum().backward()
        kinds = (
            of._default_to_fused_or_foreach([w], differentiable),
            of._get_scalar_dtype() is m.float32,
        )
        return optimizer.step(), m.is_grad_enabled(), w.tolist(), repr(optimizer), kinds

    assert run(minigrad) == run(torch)
