"""Mistakes in gradients of PyTorch's tensors: named, where minigrad can run the recorded program again."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn

import minigrad
from minigrad.tape.events import CannotRepeat
from minigrad.tape.rerun import Rerun
from tests.against_torch.torch_programs import PROGRAMS, ones


def compared(z, x, wrong, tape):  # which looks for the tape among its caller's names
    (row,) = minigrad.compare(z, x=wrong).rows
    return row


def test_the_mistake_in_a_recorded_program_is_named():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with minigrad.record() as tape:
        z = (x * x).sin()
    row = compared(z, x, torch.cos(x * x), tape)
    assert row.diagnosis.kind == "forgot_inner"
    assert "Mul (in the line  z = (x * x).sin()), is missing" in row.note
    assert compared(z, x, 2 * x * torch.cos(x * x), tape).note == ""


def test_a_freed_graph_is_computed_again():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with minigrad.record() as tape:
        y = x * x
        z = y.sin().sum()
        z.backward()
    with torch.no_grad():
        x -= 0.1 * x.grad  # the numbers of the pass are those of the tape
    (x * 5).sum().backward()  # and .grad has more than this pass has added
    before = y.detach()
    row = compared(z, x, torch.cos(before), tape)
    assert row.diagnosis.kind == "forgot_inner" and "freed the graph" not in row.note
    assert compared(z, y, torch.cos(before), tape).verdict == "close"
    assert compared(z, x, x.grad, tape).diagnosis.kind == "accumulated_twice"
    x.register_hook(lambda g: 2 * g)
    assert "hooks may change its gradients" in compared(z, x, torch.cos(before), tape).note


def test_the_mistake_in_the_last_of_many_turns_is_named_although_others_are_left_out():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with minigrad.record() as tape:
        for _ in range(60):
            z = (x * x).sin()
            z.sum().backward(retain_graph=True)
    assert len(tape.document["iterations"]) == 24
    assert compared(z, x, torch.cos(x * x), tape).diagnosis.kind == "forgot_inner"


def test_what_the_dispatcher_calls_otherwise_is_run_again():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 4), nn.LayerNorm(4)
    )  # fmt: skip
    table, places = nn.Embedding(5, 4), torch.tensor([1, 3, 1])
    x = net[4].weight
    with minigrad.record() as tape:
        h = net(torch.randn(3, 1, 6, 6)) + table(places)
        z = F.nll_loss(h.log_softmax(1), places) + F.mse_loss(1 - h[1:, 0], torch.zeros(2))
        z = z + torch.stack([h.view(-1)[2], h[[0, 2], [1, 1]].sum()]).mean()
    (right,) = torch.autograd.grad(z, [x], retain_graph=True)
    assert compared(z, x, -right, tape).diagnosis.kind == "sign"


@pytest.mark.parametrize("why, program", [
    ("the tensor was not recorded", None),
    ("minigrad has no _fft_r2c", lambda x: torch.fft.fft(x).real),
    ("PowerOfTwo, which made .*, cannot be applied again", lambda x: PowerOfTwo.apply(x)),
], ids=["not recorded", "unknown", "own"])  # fmt: skip
def test_where_it_cannot_be_run_again_no_mistake_is_named_and_the_reason_is_told(why, program):
    x = ones(3)
    if program is None:
        tape, z = None, x * 2
    else:
        with minigrad.record() as tape:
            z = program(x).sum()
    row = compared(z, x, 7 * torch.ones(3), tape)
    assert row.diagnosis is None
    pytest.raises(ValueError, _raise, row.note).match(f"No mistake is named, because .*: {why}")


def _raise(note):
    raise ValueError(note)


class PowerOfTwo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2**x

    @staticmethod
    def backward(ctx, g):
        return g


ONE_PASS = {
    "first_program", "mlp_with_adam", "conv_net", "transformer_layer", "second_backward_error",
    "saved_tensors_hooks", "one_result_of_two", "views",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ONE_PASS))
def test_a_program_that_is_run_again_has_the_gradients_of_pytorch(name):
    torch.manual_seed(0)
    with minigrad.record() as tape:
        made = [x for x in PROGRAMS[name]() if isinstance(x, torch.Tensor)]
    z = [x for x in made if not x.ndim and x.grad_fn is not None][-1]
    leaves = [x for x in made if x.is_leaf and x.grad is not None]
    rerun = Rerun(tape._recorder)
    rerun.run(z)
    grads = minigrad.autograd.grad(rerun.ours(z), [rerun.ours(x) for x in leaves])
    for g, x in zip(grads, leaves, strict=True):
        torch.testing.assert_close(torch.tensor(g.numpy()), x.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name, why", [
    ("custom_function", "cannot be applied again"),
    ("lstm", "minigrad has no mkldnn_rnn_layer"),
])  # fmt: skip
def test_a_program_that_cannot_be_run_again_says_why(name, why):
    with minigrad.record() as tape:
        made = PROGRAMS[name]()
    z = next(
        x for x in made if isinstance(x, torch.Tensor) and x.grad_fn is not None and not x.ndim
    )
    with pytest.raises(CannotRepeat, match=why):
        Rerun(tape._recorder).run(z)


class MyAdam(torch.optim.Optimizer):
    """Adam without the bias correction."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            m, v = self.state[p] = self.state.get(p) or (torch.zeros_like(p), torch.zeros_like(p))
            m.mul_(0.9).add_(p.grad, alpha=0.1)
            v.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
            p -= self.param_groups[0]["lr"] * m / (v.sqrt() + 1e-8)


def test_an_optimizer_written_for_pytorch_is_compared_with_pytorchs():
    compare = minigrad.teach.compare_update
    found = compare(torch.optim.Adam, {"lr": 0.1}, yours=MyAdam)
    assert not found and found.diagnosis.kind == "bias_correction"
    assert compare(torch.optim.Adam, {"lr": 0.1}, yours=torch.optim.Adam)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for optimizer, kind in ((torch.optim.SGD, "sign"), (torch.optim.Muon, None)):
        given = {"params": [w.view(2, 1)], "grads": [[torch.ones(2, 1)]]}
        found = compare(optimizer, {"lr": 0.1}, **given, yours=[[w.view(2, 1) + 0.1]]).diagnosis
        assert (found and found.kind) == kind


def test_explain_says_that_an_optimizer_of_pytorch_holds_the_parameters_of_an_earlier_model():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    z = model(torch.ones(3, 2)).sum()
    z.backward()
    assert minigrad.explain(optimizer, z).ok
    assert "'params'][0] is model.weight" in repr(minigrad.explain(optimizer))
    model = nn.Linear(2, 1)
    found = minigrad.explain(optimizer, model(torch.ones(3, 2)).sum())
    assert {row.trouble for row in found.rows} == {"not on the tape"}
    assert "the optimizer does not hold them: they will not change" in repr(found)
