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
    "saved_tensors_hooks", "one_result_of_two", "views", "lstm",
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


# Operations that students use, many of which have other names and arguments in PyTorch's dispatcher
USED = """
nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)(x).mean() | nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x)[0].sum()
F.scaled_dot_product_attention(x, x, x, is_causal=True).sum() | nn.LSTM(4, 3, batch_first=True)(x)[0].sum()
nn.GRU(4, 3, batch_first=True)(x)[0].sum() | nn.RNN(4, 3, batch_first=True)(x)[0].sum() | nn.LSTMCell(4, 3)(x[:, 0])[0].sum()
nn.GRUCell(4, 3)(x[:, 0]).sum() | (nn.BatchNorm1d(4)(x[:, 0]) ** 2).sum() | (nn.BatchNorm2d(3)(img) ** 2).sum()
(nn.BatchNorm2d(3).eval()(img) ** 2).sum() | (nn.LayerNorm(4)(x) ** 3).sum() | (nn.GroupNorm(1, 3)(img) ** 3).sum()
(nn.InstanceNorm2d(3)(img) ** 3).sum() | nn.Conv2d(3, 2, 3, padding=1)(img).sum() | nn.ConvTranspose2d(3, 2, 3, stride=2)(img).sum()
nn.Conv1d(5, 2, 3)(x).sum() | nn.Conv2d(3, 3, 3, groups=3)(img).sum() | nn.MaxPool2d(2)(img).sum() | nn.AvgPool2d(2)(img).sum()
nn.AdaptiveAvgPool2d(1)(img).sum() | nn.Dropout(0.5)(x).sum() | F.gelu(x).sum() | F.gelu(x, approximate='tanh').sum() | F.silu(x).sum()
F.elu(x).sum() | F.leaky_relu(x).sum() | F.softplus(x).sum() | F.hardswish(x).sum() | F.mish(x).sum() | F.relu6(x).sum() | nn.PReLU()(x).sum()
F.selu(x).sum() | F.logsigmoid(x).sum() | F.glu(x).sum() | F.cross_entropy(x[:, 0], t.tensor([0, 1]), label_smoothing=0.1)
F.cross_entropy(x[:, 0], t.tensor([0, 1]), weight=t.ones(4)) | F.cross_entropy(x[:, 0], t.softmax(x[:, 1].detach(), -1))
F.binary_cross_entropy(x.sigmoid(), t.ones(2, 5, 4)) | F.binary_cross_entropy_with_logits(x, t.ones(2, 5, 4))
F.binary_cross_entropy_with_logits(x, t.ones(2, 5, 4), pos_weight=t.ones(4) * 2)
F.kl_div(x.log_softmax(-1), t.full((2, 5, 4), 0.25), reduction='batchmean') | F.l1_loss(x, t.zeros(2, 5, 4)) | F.huber_loss(x, t.zeros(2, 5, 4))
F.smooth_l1_loss(x, t.zeros(2, 5, 4)) | F.cosine_similarity(x[0], x[1]).sum() | F.triplet_margin_loss(x[0], x[1], x[0].detach() + 1)
F.margin_ranking_loss(x[0, 0], x[0, 1], t.ones(4)) | F.embedding(t.tensor([1, 2, 1]), x[0]).sum() | F.normalize(x, dim=-1)[0].sum()
F.pad(x, (1, 1)).sum() | F.interpolate(img, scale_factor=2).sum() | F.interpolate(img, scale_factor=2, mode='bilinear').sum() | F.unfold(img, 3).sum()
nn.PixelShuffle(1)(img).sum() | t.einsum('bij,bkj->bik', x, x).sum() | t.bmm(x, x.mT).sum() | x.cumsum(1).prod(-1).sum() | x.sort(-1)[0][..., 0].sum()
x.topk(2, -1)[0].sum() | x.gather(-1, t.zeros(2, 5, 1, dtype=t.long)).sum() | t.where(x > 0, x, -x).sum() | x.masked_fill(x > 0, 0.0).sum()
x.max(-1)[0].sum() | x.amax(-1).sum() | x.std(-1).sum() | x.var(0).sum() | x.logsumexp(-1).sum() | t.cat([x, x], 1).sum() | t.stack([x, x * 2]).sum()
x.chunk(2, -1)[1].sum() | x.split([1, 3], -1)[1].sum() | x.roll(1, 0).mul(x).sum() | (x[0, :4] @ x[1, :4].T).tril().sum() | t.diag(x[0, 0]).sum()
t.linalg.inv(x[0, :4] + 3 * t.eye(4)).sum() | t.linalg.det(x[0, :4]) | t.linalg.solve(x[0, :4] + 3 * t.eye(4), x[1, :4]).sum()
t.linalg.cholesky(x[0, :4] @ x[0, :4].T + t.eye(4)).sum() | x.norm() | t.linalg.vector_norm(x, dim=-1).sum() | x.repeat(2, 1, 1).sum()
x.repeat_interleave(2, 0).sum() | t.zeros(2, 5, 4).scatter_add(1, t.zeros(2, 5, 4, dtype=t.long), x).pow(2).sum()
t.zeros(3, 5, 4).index_add(0, t.tensor([0, 2]), x).pow(2).sum() | x.take_along_dim(t.zeros(2, 5, 1, dtype=t.long), -1).sum() | x.clamp(-1, 1).sum()
x.flip(0).mul(x).sum() | t.outer(x[0, 0], x[0, 1]).sum() | t.cdist(x[0], x[1]).sum() | (t.meshgrid(x[0, 0], x[0, 1], indexing='ij')[0] ** 2).sum()
"""  # fmt: skip


@pytest.mark.parametrize("line", " | ".join(USED.strip().splitlines()).split(" | "))
def test_an_operation_that_is_run_again_has_the_gradient_of_pytorch(line):
    torch.manual_seed(0)
    x, img = torch.randn(2, 5, 4, requires_grad=True), torch.randn(2, 3, 8, 8, requires_grad=True)
    with minigrad.record() as tape:
        z = eval(line, {"t": torch, "nn": nn, "F": F, "x": x, "img": img})
        z.backward()
    leaf = img if x.grad is None else x
    rerun = Rerun(tape._recorder)
    rerun.run(z)
    (g,) = minigrad.autograd.grad(rerun.ours(z), [rerun.ours(leaf)])
    torch.testing.assert_close(torch.tensor(g.numpy()), leaf.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name, why", [
    ("custom_function", "cannot be applied again"),
    ("unknown", "minigrad has no _fft_r2c"),
])  # fmt: skip
def test_a_program_that_cannot_be_run_again_says_why(name, why):
    program = PROGRAMS.get(name, lambda: [torch.fft.fft(ones(3)).real.sum()])
    with minigrad.record() as tape:
        made = program()
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


@pytest.mark.parametrize("last", [True, False])
def test_a_write_in_no_grad_is_not_run_again_with_a_gradient(last):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with minigrad.record() as tape:
        z = x * 2
        with torch.no_grad():
            z.clamp_(min=3)
        z = z if last else z * z
        z.backward(torch.ones(3))
    (row,) = minigrad.compare(z, {x: x.grad}, gradient=torch.ones(3)).rows
    wrong = x.detach() if last else 3 * x.grad
    note = minigrad.compare(z, {x: wrong}, gradient=torch.ones(3)).rows[0].note
    assert row.ok and tape
    assert ("was written to in no_grad()" if last else "3 times what it should be") in note


def test_an_operation_in_place_is_run_again_as_one_operation():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with minigrad.record() as tape:
        y = x * x
        y += x
        z = torch.where(x > 1, y, 2 * y).sum() + 0 * nn.functional.pad(x, (1, 1)).norm()
        z.backward()
    found = compared(z, x, torch.tensor([4.0, 4.0, 6.0]), tape).diagnosis
    assert "gradient through the in-place Add (in the line  y += x) was left out" in found.message
