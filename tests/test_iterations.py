"""A training step on the tape: what zero_grad, an optimizer and a scheduler change, and long loops."""

import json

import numpy as np
import pytest

import minigrad
from minigrad import nn, optim
from minigrad.core.errors import SavedValueChanged
from minigrad.tape.document import packed
from tests import tape_cases as cases


def updates(tape):
    return [s["details"][0] for s in tape.document["steps"] if s["event"] == "update"]


@pytest.fixture(scope="module")
def long_loop():
    """Sixty steps of gradient descent on (w x - 1)**2."""
    w = minigrad.tensor([4.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    x = minigrad.tensor([1.0])
    with minigrad.record("loop") as tape:
        for _ in range(60):
            opt.zero_grad()
            loss = ((w * x - 1) ** 2).sum()
            loss.backward()
            opt.step()
    return tape


def test_an_optimizer_gives_its_parameters_their_next_version():
    tape = cases.training()
    [clear, step, schedule] = updates(tape)[:3]
    [change] = step["changes"]
    was, now = (tape.shown().node(change[key]) for key in ("was", "now"))

    assert [u["call"] for u in (clear, step, schedule)] == [
        "opt.zero_grad()",
        "opt.step()",
        "decay.step()",
    ]
    assert (was.label, now.label, now.updated) == ("w v0", "w v1", "opt.step()")
    assert tape.document["values"][now.value]["first"] == [pytest.approx(2.4)]
    assert step["text"] == "opt.step() (SGD, lr 0.1) wrote to 1 parameter: w v0 → v1."
    assert schedule["text"] == "decay.step() (ExponentialLR) set the learning rate: 0.1 → 0.05."


def test_the_next_pass_starts_from_the_new_version_and_check_finds_its_gradient():
    tape = cases.training()
    passes = tape.document["backward"]
    labels = [tape.shown().node(key).label for b in passes for key in b["grads"]]

    assert labels == ["w v0", "w v1"]
    assert tape.check(w=[4.8]).ok
    assert "2 leaves" in tape.text()  # w and x, not each version


def test_zero_grad_ends_the_sum_of_the_terms():
    tape = cases.training()
    [clear] = [k for k, s in enumerate(tape.document["steps"], 1) if "cleared" in s["text"]]

    assert tape.at(clear - 1).grads and not tape.at(clear).grads
    assert "backward 1" not in str(tape.at().grads)


def test_a_step_before_the_second_backward_is_named_as_what_changed_the_saved_value():
    w = minigrad.tensor([2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    with pytest.raises(SavedValueChanged), minigrad.record() as tape:
        z = (w * w).sum()
        z.backward(retain_graph=True)
        opt.step()
        z.backward()

    [by] = [d["conflict"]["by"] for s in tape.document["steps"] for d in s["details"]
            if d["event"] == "error"]  # fmt: skip
    assert tape.shown().node(by).updated == "opt.step()"


def test_a_step_of_ops_and_a_step_within_a_step_are_one_update():
    class Descent(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        @minigrad.no_grad()
        def step(self):
            for p in self.param_groups[0]["params"]:
                p -= 0.1 * p.grad

    class Twice(Descent):
        def step(self):
            super().step()
            super().step()

    layer = nn.Linear(1, 1)
    opt = Twice(layer.parameters())
    with minigrad.record() as tape:
        layer(minigrad.ones(1, 1)).sum().backward()
        opt.step()
        layer.zero_grad()

    assert [u["call"] for u in updates(tape)] == ["opt.step()", "layer.zero_grad()"]
    assert len(updates(tape)[0]["changes"]) == 2
    assert not any(n.updated for n in tape.shown().nodes)  # the ops are on the tape themselves


def test_of_a_long_loop_both_ends_are_kept_with_their_names_and_numbers(long_loop):
    found = long_loop.shown()
    numbers = [iteration.number for iteration in found.iterations]

    assert numbers[:8] == [*range(1, 9)] and numbers[-8:] == [*range(53, 61)]
    assert len(numbers) == 24 and {iteration.of for iteration in found.iterations} == {60}
    assert [b.ran_as for b in found.backward] == numbers
    assert "loss#60" in {n.name for n in found.nodes}
    for iteration in found.iterations:
        steps = found.steps[iteration.step - 1 : iteration.until]
        assert steps[-1].text.startswith("opt.step()")
        seed = next(s for s in steps if s.event == "seed")
        assert f"Backward pass {iteration.number} begins" in seed.text
        assert found.value(iteration.loss)["shape"] == []


def test_each_iteration_is_a_box_that_opens_into_its_own_picture(long_loop):
    found = long_loop.shown()
    titles = [g.title for g in found.groups if g.kind == "iteration"]
    views = {v.id: v for v in found.views}

    assert titles == [f"iteration {iteration.number} of 60" for iteration in found.iterations]
    assert {iteration.group for iteration in found.iterations} <= {*views["root"].boxes}
    inside = [found.node(key).label for key in views[found.iterations[-1].group].boxes]
    assert "w v59" in inside and "w v60" in inside and len(inside) < 10


def test_a_long_loop_can_still_be_checked_walked_and_written(long_loop):
    last = list(long_loop.steps())[-1]

    assert last.label == "w v59" and long_loop.differences("w").leaves["w"].shape == (1,)
    assert long_loop.text().count("AccumulateGrad") == 24
    assert len(json.dumps(packed(long_loop.shown()))) < 500_000


def test_a_long_loop_over_a_network_is_a_document_of_less_than_a_megabyte():
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = optim.Adam(net.parameters())
    x, y = minigrad.randn(32, 8), minigrad.randn(32, 1)
    with minigrad.record() as tape:
        for _ in range(60):
            opt.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            opt.step()
    found = packed(tape.shown())

    assert len(json.dumps(found, separators=(",", ":"))) < 1_000_000
    whole = [v for v in found["values"] if len(v["first"]) == v["size"]]
    assert sum(v["size"] for v in whole if v["size"] > 64) > 5_000  # of the others, the first 64


def test_a_short_loop_by_hand_has_iterations_and_is_folded_if_they_are_large():
    x = minigrad.linspace(-1, 1, 5)
    ws = [minigrad.tensor(float(k), requires_grad=True) for k in range(4)]
    with minigrad.record() as tape:
        for _ in range(3):
            y = ws[0] + ws[1] * x + ws[2] * x**2 + ws[3] * x**3
            (y - x.sin()).pow(2).sum().backward()
            with minigrad.no_grad():
                for w in ws:
                    w -= 0.1 * w.grad
                    w.grad = None
    found = tape.shown()

    assert [i.number for i in found.iterations] == [1, 2, 3] and found.views[0].folded
    assert [g.title for g in found.groups if g.kind == "iteration"] == [
        "iteration 1 of 3",
        "iteration 2 of 3",
        "iteration 3 of 3",
    ]


def test_gradients_have_names_in_a_loop_that_drops_them():
    net = minigrad.nn.Linear(2, 1)
    with minigrad.record() as tape:
        for _ in range(2):
            net(minigrad.ones(3, 2)).sum().backward()
            with minigrad.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
                    p.grad = None
    products = [n.expression for n in tape.shown().nodes if n.op == "mul"]

    assert products[:2] == ["0.1 * net.weight.grad", "0.1 * net.bias.grad"]
    assert products[2:] == ["0.1 * net.weight.grad#2", "0.1 * net.bias.grad#2"]


def test_a_loop_that_writes_to_its_leaves_by_hand_has_turns_and_versions_too():
    w = minigrad.tensor(4.0, requires_grad=True)
    with minigrad.record("by hand") as tape:
        for _ in range(60):
            loss = (w - 1) ** 2
            loss.backward()
            with minigrad.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
    found = tape.shown()
    iteration = found.iterations[-1]
    labels = [found.node(key).label for key in found.backward[-1].grads]

    assert (iteration.number, iteration.of, len(found.iterations)) == (60, 60, 24)
    assert labels == ["w v59"] and tape.svg() and "1 leaf" in tape.text()
    texts = [s.text for s in found.steps[iteration.step - 1 : iteration.until]]
    assert texts[0].startswith("sub#60 = w - 1") and texts[-1].startswith("w -= ")
    assert "mul#60 = 0.1 * w.grad was computed" in texts[-2]


def test_an_iteration_whose_steps_are_made_by_hooks_ends_after_the_pass():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)

    def step(leaf):
        opt.step()
        opt.zero_grad()

    w.register_post_accumulate_grad_hook(step)
    with minigrad.record() as tape:
        for _ in range(60):
            (w * w).sum().backward()
    found = tape.shown()
    one = found.steps[found.iterations[0].step - 1 : found.iterations[0].until]

    assert len(found.iterations) == 24 and found.iterations[-1].number == 60
    assert [b.ran_as for b in found.backward] == [i.number for i in found.iterations]
    assert [s.text for s in one[-3:]] == [
        "w.grad is now [2, 4].",
        "opt.step() (SGD, lr 0.1) wrote to 1 parameter: w v0 → v1.",
        "opt.zero_grad() cleared the gradients of 1 parameter.",
    ]
    assert [found.node(key).label for key in found.backward[-1].grads] == ["w v59"]
    assert tape.svg() and tape.check(w=0.8**59 * np.array([2.0, 4.0])).ok


def test_the_many_passes_of_a_jacobian_are_no_iterations():
    x = minigrad.ones(8, requires_grad=True)
    with minigrad.record() as tape:
        minigrad.func.jacrev(minigrad.func.jacfwd(lambda x: x**3))(x)

    assert len(tape.shown().backward) == 64 and not tape.shown().iterations


def energy(q):
    return (q * q).sum()


def gradient_of_energy(q):
    q = q.detach().requires_grad_()
    energy(q).backward()
    return q.grad


# What a loop does, and how many iterations it has.
LOOPS = {
    "an estimate that is detached": """
        q = p.detach().requires_grad_()
        (q * q).sum().backward()
        p = p - 0.1 * q.grad
    """,
    "a function that starts the pass": """
        p = p - 0.1 * gradient_of_energy(p)
    """,
    "a gradient of a gradient": """
        g, = minigrad.autograd.grad(energy(w), w, create_graph=True)
        (g * g).sum().backward()
    """,
    "two passes over a shared result": """
        h = net(w)
        energy(h).backward(retain_graph=True)
        h.sum().backward()
    """,
    "another pass in some iterations": """
        energy(net(w)).backward()
        if i % 3 == 0:
            energy(net(p)).backward()
    """,
}


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
def test_a_long_loop_by_hand_is_shortened_and_each_of_its_steps_can_be_shown(body):
    w = minigrad.ones(2).requires_grad_()
    names = {**globals(), "w": w, "p": minigrad.ones(2), "net": nn.Linear(2, 2)}
    with minigrad.record(namespace=names) as tape:
        exec("for i in range(60):\n" + body, names)
    document = tape.shown()

    assert document.iterations and document.iterations[0].of == 60
    assert len(document.iterations) == 24
    for step in range(0, len(document.steps) + 1, 5):
        assert tape.at(step)
    assert tape.svg(folded=True).count("of 60") and tape.text()


def test_the_many_values_without_names_of_a_very_long_loop_have_numbers():
    w = minigrad.ones(2).requires_grad_()
    with minigrad.record() as tape:
        for _ in range(1100):
            (w * minigrad.ones(2)).sum().backward()
        w * minigrad.ones(2)

    assert "input#1101" in [n.name for n in tape.shown().nodes]
