"""What a compiled step makes and stores outside, in plain Python objects and in modules."""

import copy
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad
from minigrad import nn, optim, static
from minigrad.static import ProgramError


def made_in_each_call():
    holder = SimpleNamespace()

    def step(x):
        holder.total = minigrad.zeros(3)
        holder.total += x
        return holder.total.sum()

    return step


def made_in_the_first_call():
    holder = SimpleNamespace(total=None)

    def step(x):
        if holder.total is None:
            holder.total = minigrad.zeros(3)
        holder.total += x
        return holder.total.sum()

    return step


def put_into_a_list():
    totals = []

    def step(x):
        totals.append(minigrad.zeros(3))
        totals[-1] += x
        return totals[-1].sum()

    return step


def put_into_a_dict_in_the_first_call():
    state = {}

    def step(x):
        if "mean" not in state:
            state["mean"] = minigrad.zeros_like(x)
        state["mean"].mul_(0.5).add_(x)
        return state["mean"].sum()

    return step


def a_variable_from_outside():
    total = None

    def step(x):
        nonlocal total
        if total is None:
            total = minigrad.zeros(3)
        total += x
        return total.sum()

    return step


def an_object_made_in_the_step():
    class Adder:
        def __init__(self):
            self.total = minigrad.zeros(3)

        def add(self, x):
            self.total += x
            return self

    return lambda x: Adder().add(x).add(x).total.sum()


class Membrane(nn.Module):
    """A neuron that keeps its potential; `resets` says whether each call begins anew."""

    def __init__(self, resets):
        super().__init__()
        self.resets, self.potential = resets, None

    def forward(self, x):
        if self.resets or self.potential is None:
            self.potential = minigrad.zeros_like(x)
        self.potential += x
        return self.potential.sum()


def an_attribute_that_is_reset():
    return Membrane(resets=True)


def an_attribute_made_in_the_first_call():
    return Membrane(resets=False)


class Masked(nn.Module):
    """Registers its mask when it first needs it, and its mean in each call, as models of language do."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", None, persistent=False)
        self.register_buffer("mean", minigrad.zeros(3))

    def forward(self, x):
        if self.mask is None:
            self.register_buffer("mask", x.new_ones(3, 3).triu(1), persistent=False)
        self._buffers["mean"] = 0.5 * self.mean + x
        return (self.mask @ x + self.mean * x).sum()


def a_result_that_the_first_call_stores():
    cache = {}

    def step(x):
        if "scale" not in cache:
            cache["scale"] = x.abs().max() + 1
        return (x / cache["scale"]).sum()

    return step


def momentum_by_hand():
    w = minigrad.ones(3, requires_grad=True)
    velocity = {}

    def step(x):
        loss = ((w - x) ** 2).sum()
        loss.backward()
        with minigrad.no_grad():
            if w not in velocity:
                velocity[w] = minigrad.zeros_like(w)
            velocity[w].mul_(0.9).add_(w.grad)
            w.sub_(0.1 * velocity[w])
            w.grad = None
        return loss

    return step


class Reset(nn.Module):
    """Reads what the last call has left, writes to it, and begins anew."""

    def __init__(self):
        super().__init__()
        self.state = minigrad.zeros(3)

    def forward(self, x):
        z = (self.state + x).sum()
        self.state[0] = x[1]
        self.state = minigrad.ones(3)
        return z


class FromFirstBatch(nn.Module):
    """A layer that sets its scale from the first batch."""

    def __init__(self):
        super().__init__()
        self.scale, self.is_set = nn.Parameter(minigrad.ones(3)), False

    def forward(self, x):
        if not self.is_set:
            self.scale.data = x.data.cumsum(0)
            self.is_set = True
        return (x * self.scale).sum()


def a_count_that_does_not_matter():
    agent = SimpleNamespace(calls=0, mean=None)

    def step(x):
        agent.calls += 1
        if agent.mean is None:
            agent.mean = minigrad.zeros(3)
        agent.mean.mul_(0.5).add_(x)
        return agent.mean.sum()

    return step


def a_count_beside_the_count_of_adam():
    w = minigrad.ones(3, requires_grad=True)
    agent, adam = SimpleNamespace(calls=0), optim.Adam([w], lr=0.1)

    def step(x):
        agent.calls += 1
        adam.zero_grad()
        loss = ((w - x) ** 2).sum()
        loss.backward()
        adam.step()
        return loss

    return step


class CountedMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.calls = minigrad.zeros(3), 0

    def forward(self, x):
        self.calls += 1
        self.mean = 0.9 * self.mean + 0.1 * x
        return (x * self.mean).sum()


def counts_in_containers():
    w, calls, sums = minigrad.ones(3, requires_grad=True), [0], {"loss": 0.0, "n": 0}
    adam = optim.Adam([w], lr=0.1)

    def step(x):
        adam.zero_grad()
        loss = ((w - x) ** 2).sum()
        loss.backward()
        adam.step()
        calls[0] += 1
        sums["loss"] += loss.detach()
        sums["n"] += len(x)
        return loss

    return step


def gradients_after_the_step_of_an_optimizer():
    w = minigrad.ones(3, requires_grad=True)
    sgd = optim.SGD([w], lr=0.1)

    def step(x):
        sgd.zero_grad()
        ((w - x) ** 2).sum().backward()
        sgd.step()
        size = w.grad.norm()
        (w * x).sum().backward()  # is added
        sgd.step()
        return size + (w * x).sum()

    return step


def a_variable_that_holds_an_input_as_well():
    w, state = minigrad.ones(3), None

    def step(x):
        nonlocal state
        state = [x * w, w]
        return (state[0] * w).sum()

    return step


class Before(nn.Module):
    """Returns what it has kept last, logs it, and hands it on; in the beginning, all of this is the same tensor."""

    def __init__(self):
        super().__init__()
        self.first = self.last = self.now = minigrad.zeros(3)
        self.log = []

    def forward(self, x):
        z = self.now + self.last
        self.last, self.now = self.now, x * 2 + self.now
        self.log.append(self.last)
        return (z + self.last + self.first).sum()


class Exchanged(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = minigrad.zeros(3), minigrad.ones(3)

    def forward(self, x):
        self.a, self.b = self.b, self.a
        return (x * self.a).sum()


def what_only_the_first_call_reads():
    first = SimpleNamespace(scale=3.0, f=minigrad.exp)

    def step(x):
        scale = 1.0 if first.scale is None else first.scale
        z = first.f(x).sum() * scale
        first.scale, first.f = None, minigrad.tanh
        return z

    return step


CASES = [
    Before, Exchanged, what_only_the_first_call_reads,
    a_variable_that_holds_an_input_as_well, made_in_each_call, made_in_the_first_call, put_into_a_list,
    put_into_a_dict_in_the_first_call, a_variable_from_outside, an_object_made_in_the_step,
    an_attribute_that_is_reset, an_attribute_made_in_the_first_call,
    a_result_that_the_first_call_stores, momentum_by_hand, FromFirstBatch, Reset, a_count_that_does_not_matter,
    Masked, a_count_beside_the_count_of_adam, counts_in_containers, CountedMean,
    gradients_after_the_step_of_an_optimizer,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_call_does_what_an_eager_call_does(case):
    eager, compiled = case(), static.compile(case())

    for value in (2.0, 3.0, 5.0, 7.0):
        x = minigrad.full((3,), value)
        assert compiled(x).item() == pytest.approx(eager(x).item())


def test_what_was_read_from_a_module_between_two_calls_keeps_its_values():
    net, kept = Membrane(resets=False), []
    step = static.compile(lambda x: setattr(net, "potential", net.potential * 0.5 + x))
    net.potential = minigrad.zeros(2)

    for k in range(4):
        step(minigrad.full((2,), k + 1.0))
        kept.append(net.potential)

    assert [h[0].item() for h in kept] == [1.0, 2.5, 4.25, 6.125]


def test_what_is_stored_can_be_used_outside_and_follows_the_runs():
    losses, seen = [], {}

    @static.compile
    def step(x):
        seen["square"] = x * x
        losses.append((x * 2).sum())
        return x

    for k in (1.0, 2.0, 3.0):
        step(minigrad.full((2,), k))

    assert losses[-1].item() == float(losses[-1]) == 12.0
    assert f"{losses[-1]:.1f}" == "12.0" and losses[-1] > 11
    assert seen["square"].tolist() == [9.0, 9.0] and (seen["square"] + 1).tolist() == [10.0, 10.0]
    assert repr(seen["square"]) == "tensor([9., 9.])" and seen["square"].numpy().sum() == 18


def test_a_step_that_stores_nothing_is_recorded_once_and_another_one_twice(capsys):
    kept, model = [], nn.Linear(3, 3)
    adam = optim.Adam(model.parameters())
    w = minigrad.ones(3, requires_grad=True)
    sgd = optim.SGD([w], lr=0.1, momentum=0.9)

    def trains_one_parameter(x):
        print("one")
        sgd.zero_grad()
        (w * x).sum().backward()
        sgd.step()

    def forgets(x):
        print("forgets")
        total = minigrad.zeros(3)
        total += x
        return total

    def trains(x):
        print("trains")
        adam.zero_grad()
        loss = model(x).sum()
        loss.backward()
        adam.step()
        return loss

    def keeps(x):
        print("keeps")
        kept.append(x * 2)
        return x

    for step in map(static.compile, (forgets, trains, trains_one_parameter, keeps)):
        for _ in range(4):
            step(minigrad.ones(3))

    assert capsys.readouterr().out.split() == ["forgets", "trains", "one", "keeps", "keeps"]


def test_lists_and_counts_grow_with_each_call():
    """As in an eager step; they once only grew when the step was recorded."""
    runs = []
    for wrap in (lambda f: f, static.compile):
        losses, last, log = [], deque(maxlen=2), {"n": 0, "loss": 0.0}
        agent = SimpleNamespace(calls=0)

        def step(x, losses=losses, last=last, log=log, agent=agent):
            loss = x.square().sum()
            losses.append((loss, {"mean": x.mean()}))
            last.append(loss)
            log["n"] += len(x)
            log["loss"] += loss
            agent.calls += 1
            return loss

        run = wrap(step)
        for k in range(5):
            run(minigrad.full((k % 2 + 2,), float(k)))
        found = [*(loss.item() for loss, _ in losses), *(m["mean"].item() for _, m in losses)]
        found += [*(x.item() for x in last), log["n"], float(log["loss"]), agent.calls]
        runs.append(found)
    assert runs[0] == pytest.approx(runs[1])


@pytest.mark.parametrize("change", [lambda m: setattr(m, "potential", None), lambda m: None])
def test_a_state_that_is_reset_or_has_another_shape_begins_anew(change):
    class Resizing(Membrane):
        def forward(self, x):
            if self.potential is None or self.potential.shape != x.shape:
                self.potential = minigrad.zeros_like(x)
            self.potential = self.potential + x
            return self.potential.sum()

    for cls in (Membrane, Resizing):
        sizes = (2, 2, 2, 2, 2) if cls is Membrane else (3, 2, 3, 3, 2, 2)
        runs = []
        for wrap in (lambda f: f, static.compile):
            module = cls(resets=False)
            run, sums = wrap(module), []
            for k, size in enumerate(sizes):
                sums.append(run(minigrad.full((size,), k + 1.0)).item())
                if k == 2:
                    change(module)
            runs.append(sums)
        assert runs[0] == runs[1]


def test_a_refused_step_gives_back_what_it_has_replaced():
    agent = SimpleNamespace(best=minigrad.ones(()), table={"h": minigrad.zeros(())})

    @static.compile
    def step(x):
        agent.best = minigrad.minimum(agent.best, x.sum())
        agent.table["h"] = x.sum()
        return x.sum()

    with pytest.raises(ProgramError, match="reads agent.best from outside, and replaces it"):
        step(minigrad.ones(2))
    assert agent.best.item() == 1 and agent.table["h"].item() == 0


def an_attribute():
    agent = SimpleNamespace(mean=minigrad.zeros(3))

    def step(x):
        agent.mean = 0.5 * agent.mean + x
        return agent.mean.sum()

    return step, "agent.mean"


def an_entry():
    states = {"h": [minigrad.zeros(3)]}

    def step(x):
        states["h"][0] = states["h"][0] * 0.5 + x
        return states["h"][0].sum()

    return step, r"states\['h'\]\[0\]"


def an_entry_of_a_parameter():
    w = minigrad.ones(3, requires_grad=True)
    velocity = {w: minigrad.zeros(3)}

    def step(x):
        velocity[w] = 0.5 * velocity[w] + x
        return velocity[w].sum()

    return step, "velocity.<Tensor 0>."


@pytest.mark.parametrize("case", [an_attribute, an_entry, an_entry_of_a_parameter])
def test_a_step_that_reads_and_replaces_a_tensor_outside_is_refused(case):
    step, name = case()

    with pytest.raises(ProgramError, match=f"reads {name} from outside, and replaces it"):
        static.compile(step)(minigrad.ones(3))


def test_a_step_that_reads_what_the_call_before_has_appended_is_refused():
    states = [minigrad.zeros(3)]

    @static.compile
    def step(x):
        states.append(states[-1] * 0.5 + x)
        return states[-1].sum()

    x = minigrad.ones(3)

    assert step(x).item() == 3
    with pytest.raises(ProgramError, match=r"stored in a plain Python object .* state\.copy_"):
        step(x)


class Adam:
    """Adam as students write it: the memory of tensors is written to, and t is a Python number."""

    def __init__(self, *params):
        self.params, self.t = params, 0
        self.mean, self.square = ([minigrad.zeros_like(p) for p in params] for _ in range(2))

    def step(self):
        self.t += 1
        with minigrad.no_grad():
            for p, mean, square in zip(self.params, self.mean, self.square, strict=True):
                mean.mul_(0.9).add_(p.grad, alpha=0.1)
                square.mul_(0.99).addcmul_(p.grad, p.grad, value=0.01)
                scale = (square / (1 - 0.99**self.t)).sqrt() + 1e-8
                p.sub_(0.1 * mean / (1 - 0.9**self.t) / scale)
                p.grad = None


def bias_correction():
    w = minigrad.ones(3, requires_grad=True)
    adam = Adam(w)

    def step(x):
        loss = ((w - x) ** 2).sum()
        loss.backward()
        adam.step()
        return loss

    return step, "adam.t"


class Annealed(nn.Module):
    rate = 1.0

    def forward(self, x):
        self.rate = self.rate / 2
        return x * self.rate


def an_iterator():
    rates = (1 / n for n in range(1, 10))
    return lambda x: x * next(rates), "rates"


def a_random_generator():
    rng = np.random.default_rng(0)
    return lambda x: x * rng.random(), "rng"


def a_count_in_a_dict():
    state = {"t": 0}

    def step(x):
        state["t"] += 1
        return x * state["t"]

    return step, r"state\['t'\]"


def a_count_outside():
    t = 0

    def step(x):
        nonlocal t
        t += 1
        return x * t

    return step, "t"


def a_text_that_grows():
    agent = SimpleNamespace(name="")

    def step(x):
        agent.name += "."
        return x * 2

    return step, "agent.name"


def a_number_that_is_appended():
    log = []

    def step(x):
        log.append((len(log), x.sum()))
        return x * 2

    return step, "what is in log"


def a_count_in_an_array():
    counts = np.zeros(3)

    def step(x):
        counts[0] += 1
        return x * counts[0]

    return step, "what is in counts"


def a_count_that_decides():
    """As in DQN: each third call does something else, which two recordings do not show."""
    agent, total = SimpleNamespace(calls=0), minigrad.zeros(3)

    def step(x):
        agent.calls += 1
        if agent.calls % 3 == 0:
            total.add_(x)
        return total + x

    return step, "agent.calls"


def a_learning_rate_of_its_own():
    w, calls = minigrad.ones(3, requires_grad=True), [0]
    adam = optim.Adam([w], lr=0.1)

    def step(x):
        calls[0] += 1
        for group in adam.param_groups:
            group["lr"] = 0.1 / calls[0]
        adam.zero_grad()
        ((w - x) ** 2).sum().backward()
        adam.step()
        return w * 1

    return step, r"adam\.param_groups\[0\]\['lr'\]|calls\[0\]"


def of_a_list(act, name, start=()):
    """A step that does something with a list outside, and what the error names."""

    def case():
        held = SimpleNamespace(log=[*start])
        return lambda x: (act(held, x.sum()), x * 2)[1], name

    return case


def _to_window(held, x):
    held.log.append(x)
    if len(held.log) > 4:
        held.log.pop(0)


def _to_window_by_another_name(held, x):
    log = held.log
    log.append(x)
    if len(log) > 4:
        del log[0]


def _to_two_names(held, x):
    log, also = held.log, held.log
    log.append(x)
    if len(also) > 4:
        log[-1] = None


def _to_new_list(held, x):
    held.log = [*held.log, x]


LISTS = {
    "its length": of_a_list(lambda held, x: held.log.append(x) or len(held.log), "what is in held.log"),
    "an entry": of_a_list(lambda held, x: held.log.append(2.0) or held.log[0], "what is in held.log"),
    "a window": of_a_list(_to_window, "what is in held.log"),
    "a window with another name": of_a_list(_to_window_by_another_name, "what is in held.log"),
    "two names": of_a_list(_to_two_names, "what is in held.log"),
    "insert": of_a_list(lambda held, x: held.log.insert(0, x), r"len\(held.log\)"),
    "pop": of_a_list(lambda held, x: held.log.pop(0), r"len\(held.log\)", range(9)),
    "a new list": of_a_list(_to_new_list, r"len\(held.log\)"),
    "shifted": of_a_list(
        lambda held, x: held.log.append(x) or held.log.pop(0), r"held.log\[0\]", [None] * 2
    ),
    "keys": of_a_list(
        lambda held, x: vars(held).setdefault("d", {}).update({len(vars(held)["d"]): x}),
        r"len\(held.d\)",
    ),
    "append alone": of_a_list(lambda held, x: vars(held).setdefault("f", held.log.append)(x), "what is in .*"),
}  # fmt: skip


def a_tensor_that_is_handed_on():
    held = SimpleNamespace(last=None, now=None)

    def step(x):
        held.last, held.now = held.now, x.sum()
        return x * 2

    return step, "held.last"


def a_tensor_that_a_module_hands_on():
    net, held = nn.Module(), SimpleNamespace(last=None)
    net.now = minigrad.zeros(3)

    def step(x):
        held.last, net.now = net.now, net.now + x
        return x * 2

    return step, "held.last"


def functions_that_are_exchanged():
    held = SimpleNamespace(f=minigrad.exp, g=minigrad.tanh)

    def step(x):
        held.f, held.g = held.g, held.f
        return held.f(x)

    return step, "held.[fg]"


@pytest.mark.parametrize("case", LISTS.values(), ids=LISTS)
def test_a_step_that_does_more_to_a_list_than_append_is_refused_before_it_is_wrong(case):
    test_a_step_that_depends_on_a_number_that_changes_is_refused_before_it_is_wrong(case)


@pytest.mark.parametrize(
    "case",
    [
        a_tensor_that_is_handed_on, a_tensor_that_a_module_hands_on, functions_that_are_exchanged,
        bias_correction, lambda: (Annealed(), "Annealed.rate"), an_iterator, a_random_generator,
        a_count_in_a_dict, a_count_outside, a_count_that_decides, a_learning_rate_of_its_own,
        a_text_that_grows, a_number_that_is_appended, a_count_in_an_array,
    ],
    ids=["a tensor", "a tensor of a module", "functions",
         "bias correction", "an attribute", "an iterator", "a generator", "a dict", "a variable", "a choice", "a rate",
         "a text", "a list", "an array"],
)  # fmt: skip
def test_a_step_that_depends_on_a_number_that_changes_is_refused_before_it_is_wrong(case):
    eager, (step, name) = case()[0], case()
    step, x = static.compile(step), minigrad.full((3,), 2.0)

    for _ in range(2):
        assert step(x).detach().tolist() == pytest.approx(eager(x).detach().tolist())
    with pytest.raises(
        ProgramError, match=f"the step depends on ({name}), which has another value"
    ):
        step(x)


def test_a_step_that_copies_a_module_which_it_changes_is_refused():
    net = nn.Linear(2, 1)

    @static.compile
    def step(x):
        before = copy.deepcopy(net)
        with minigrad.no_grad():
            net.weight.add_(1.0)
        return before(x)

    with pytest.raises(ProgramError, match="the step changes .* or by deepcopy"):
        step(minigrad.ones(1, 2))


@pytest.mark.parametrize(
    "seed",
    [
        lambda: minigrad.manual_seed(0),
        lambda: minigrad.Generator().manual_seed(0),
        lambda: minigrad.set_rng_state(minigrad.get_rng_state()),
    ],
)
def test_a_step_that_seeds_a_generator_is_refused(seed):
    step = static.compile(lambda x: (x + minigrad.rand(2), seed())[0])

    with pytest.raises(ProgramError, match="do it outside of the recorded function"):
        step(minigrad.ones(2))


def test_a_function_alone_may_not_keep_a_tensor_that_it_writes_to():
    with pytest.raises(ProgramError, match="writes to a tensor from outside"):
        static.record(made_in_the_first_call())(minigrad.ones(3))


class Kept:
    """An object in which a step keeps things."""

    def __init__(self):
        self.loss, self.total, self.step, self.turn, self.seen = None, 0.0, 0, 0, []
        self.sgd = optim.SGD([minigrad.ones(2, requires_grad=True)], lr=0.1)


def _latest(x, kept):
    kept.loss = x.sum()
    return x * 2


def _sum(x, kept):
    kept.total += x.sum()
    return x * 2


def _counted(x, kept):
    kept.sgd.zero_grad()
    (x * kept.sgd.param_groups[0]["params"][0]).sum().backward()
    kept.sgd.step()  # a method with the name of the number
    kept.step += 1
    return x * 2


def _numbers(x, kept):
    kept.seen.append(x.shape[0])
    return x * 2


BETWEEN = {  # a step, and what is done between two calls
    "each kept reference keeps its value": (_latest, lambda kept, said: said.append(kept.loss)),
    "a sum begins anew": (_sum, lambda kept, said: setattr(kept, "total", 0.0)),
    "a value is removed": (_latest, lambda kept, said: setattr(kept, "loss", None)),
    "calls are counted": (_counted, lambda kept, said: None),
    "numbers are appended": (_numbers, lambda kept, said: None),
}


@pytest.mark.parametrize("step, between", BETWEEN.values(), ids=BETWEEN)
def test_what_a_step_keeps_in_an_object_is_what_an_eager_one_keeps(step, between):
    def run(compiled):
        kept, said = Kept(), []
        f = static.compile(lambda x: step(x, kept)) if compiled else lambda x: step(x, kept)
        for k in range(6):
            f(minigrad.ones(2) * k)
            if k == 3:
                between(kept, said)
            said.append((float(kept.total), kept.step, [*kept.seen]))
            if kept.loss is not None:
                said.append(kept.loss)
        return [x.item() if isinstance(x, minigrad.Tensor) else x for x in said]

    assert run(compiled=True) == run(compiled=False)


@pytest.mark.parametrize("change", [lambda n: (n + 1) % 3, lambda n: min(n + 1, 3)])
def test_a_number_that_is_not_only_added_to_is_refused(change):
    kept = Kept()

    def f(x):
        kept.turn = change(kept.turn)
        return x * 2

    f = static.compile(f)
    with pytest.raises(ProgramError, match="depends on"):
        for _ in range(4):
            f(minigrad.ones(2))


def test_a_list_is_as_before_after_a_call_that_raised_an_error():
    losses = []

    def f(x):
        losses.append(x.sum())
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        static.compile(f)(minigrad.ones(2))
    assert losses == []
