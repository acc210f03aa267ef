"""One program on both engines: which nodes belong together, what differs, and how a cell is exchanged."""

import sys

import pytest

torch = pytest.importorskip("torch")

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import minigrad
from minigrad.jupyter import tensor_html
from minigrad.tape import adapters
from minigrad.teach import two_engines
from tests.shells import NO_HISTORY


def product(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    w = m.rand(2).requires_grad_()
    z = x * w
    z += x
    loss = (z.exp() * w).sum()
    loss.backward()


def rows(found, what):
    return [(r.mismatch.theirs, r.mismatch.ours) for r in found.rows if r.mismatch.what == what]


def test_a_program_has_the_same_nodes_edges_values_and_order_on_both():
    found = minigrad.both(product)
    assert found and len(found.matches) == 7 and {r.mismatch.what for r in found.rows} == {"names"}
    assert all(m.theirs[0].name == m.ours[0].name for m in found.matches)


def test_all_versions_of_a_parameter_are_told_apart_in_training():
    def program(m):
        model = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.BatchNorm1d(2))
        opt = m.optim.SGD(model.parameters(), lr=0.1)
        x = m.randn(5, 2)
        for _ in range(2):
            opt.zero_grad()
            loss = (model(x) ** 3).sum()
            loss.backward()
            opt.step()

    torch.manual_seed(0)  # with 7 seeds of 100, gradients cancel until only rounding is left
    found = minigrad.both(program)
    assert len(found.minigrad.document["nodes"]) == sum(len(m.ours) for m in found.matches)
    assert {r.mismatch.what for r in found.rows if not r.ok} == {"nodes"}  # of batch norm


def test_a_group_of_nodes_sends_its_gradients_to_the_same_leaves_whatever_these_are_called():
    def program(m):
        layers = [m.nn.Linear(2, 3), m.nn.LayerNorm(3)]
        layers[0].register_full_backward_hook(lambda module, given, received: None)
        layers[0].weight.register_hook(lambda g: g * 2)
        (layers[1](layers[0](m.randn(5, 2))) ** 3).sum().backward()

    assert {r.mismatch.what for r in minigrad.both(program).rows if not r.ok} == {"nodes"}


def test_derivatives_of_derivatives_can_be_compared():
    def program(m):
        m.func.jacrev(m.func.jacfwd(lambda x: x * x))(m.ones(2, requires_grad=True) * 1)

    assert "nodes" in str(minigrad.both(program))


def test_names_of_saved_values_are_told_and_do_not_count():
    assert ("ExpBackward0 saves result = exp#1 v0", "ExpBackward0 saves z = exp#1 v0") in rows(
        minigrad.both(product), "names"
    )


def test_one_node_here_that_is_two_there_is_matched_with_both():
    def program(m):
        w = m.randn(3, 2).requires_grad_()
        m.nn.functional.cross_entropy(m.ones(4, 3) @ w, m.tensor([0, 1, 1, 0])).backward()

    found = minigrad.both(program)
    wrong = [r.mismatch for r in found.rows if not r.ok]
    assert [(a.what, a.theirs, a.ours) for a in wrong] == [
        ("nodes", "LogSoftmaxBackward0, NllLossBackward0", "NllLossBackward0")
    ]
    assert '"7 4"' in minigrad.tape.render.draw.picture(
        found.torch.shown(), marked=wrong[0].nodes[0]
    ).svg() and found._repr_html_().count("<figure") == 2  # fmt: skip


def test_values_gradients_edges_and_order_that_differ_are_found():
    def program(m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = x * (2 if m is torch else 3)
        z = y.exp().sin() if m is torch else y.sin().exp()
        (z + (y if m is torch else z)).sum().backward()

    found = minigrad.both(program)
    assert not found
    assert rows(found, "value")[0] == ("y = [2, 4]", "y = [3, 6]")
    assert rows(found, "nodes") == [("", "SinBackward0"), ("SinBackward0", "")]
    assert "AddBackward0 of add#1 → " in rows(found, "edges")[-1][0]
    assert any("AccumulateGrad of x received" in theirs for theirs, _ in rows(found, "gradient"))


def test_what_differs_in_each_turn_of_a_loop_is_one_row():
    def program(m):
        y = m.ones(2).requires_grad_()
        for _ in range(3):
            y = y.sin().abs() if m is torch else y.sin()
        y.sum().backward()

    found = minigrad.both(program)
    what, _, theirs, ours = next(row.cells() for row in found.rows if not row.ok)
    assert (what, theirs, ours) == ("nodes ×3", "AbsBackward0", "")
    assert "3 differences" in found.headline


def test_steps_of_an_optimizer_are_told_and_do_not_count():
    def program(m):
        w = m.ones(2).requires_grad_()
        optimizer = m.optim.SGD([w], lr=0.1)
        for _ in range(2):
            (w * w).sum().backward()
            optimizer.step()

    assert minigrad.both(program)


def test_rounding_that_grows_from_step_to_step_does_not_count():
    def program(m):
        m.manual_seed(0)
        net = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.BatchNorm1d(4), m.nn.Linear(4, 1))
        optimizer = m.optim.Adam(net.parameters(), lr=0.01)
        x, y = m.randn(8, 3), m.randn(8, 1)
        for _ in range(4):
            optimizer.zero_grad()
            ((net(x) - y) ** 2).mean().backward()  # the gradient of the first bias is only rounding
            optimizer.step()

    found = minigrad.both(program)
    assert {row.mismatch.what for row in found.rows if not row.ok} == {"nodes"}  # of batch_norm


def test_sparse_gradients_are_compared_by_row():
    def program(m, scale=1):
        table = m.nn.Embedding(5, 2, sparse=True)
        m.nn.init.ones_(table.weight)
        for _ in range(2):
            out = table(m.tensor([3, 1, 3])) * (scale if m is torch else 1)
            (out * table(m.tensor([1, 4, 0]))).sum().backward()

    assert minigrad.both(program)
    wrong = minigrad.both(lambda m: program(m, 2))
    assert any("received sparse" in theirs for theirs, _ in rows(wrong, "gradient"))


def test_a_line_on_which_the_engines_apply_other_ops_is_compared_by_its_result():
    def program(m):
        x, y = m.rand(4), m.rand(4)
        u, s, v = m.svd(m.ones(2, 2) + m.eye(2))
        z = m.nn.functional.cosine_similarity(x, y, dim=0) + (u @ s.diag() @ v.t()).sum()
        w = m.rand(3, 2, requires_grad=True)
        loss = m.nn.functional.cross_entropy(m.ones(4, 3) @ w, m.tensor([0, 1, 1, 0])) * z
        (g,) = m.autograd.grad(loss, w, create_graph=True)
        g.square().sum().backward()

    kinds = {row.mismatch.what for row in minigrad.both(program).rows if not row.ok}
    assert not kinds & {"value", "gradient", "type"}


def test_values_that_look_the_same_are_told_apart_by_an_entry():
    def program(m):
        x = m.ones(40)
        x[7] += 1.5e-4 if m is torch else 0
        (x * 1).requires_grad_()

    (theirs, ours), *_ = rows(minigrad.both(program), "value")
    assert theirs.endswith("; entry 7 is 1.00015") and ours.endswith("; entry 7 is 1")


def test_a_loss_of_entries_is_one_node_with_its_mean_on_both():
    def program(m):
        x, y = m.rand(3).requires_grad_(), m.ones(3)
        F = m.nn.functional
        for loss in (
            F.mse_loss,
            F.huber_loss,
            F.smooth_l1_loss,
            F.binary_cross_entropy,
            F.binary_cross_entropy_with_logits,
        ):
            for reduction in ("mean", "sum", "none"):
                loss(x, y, reduction=reduction).backward(m.ones(()) if reduction != "none" else y)

    assert minigrad.both(program)


def test_a_run_that_stops_is_a_row():
    def program(m):
        x = m.tensor([1.0], requires_grad=True)
        if m is minigrad:
            m.fft.fft(x)

    assert rows(minigrad.both(program), "error")[0][0] == "ran to its end"


def test_a_step_of_one_tape_is_a_step_of_the_other():
    found = minigrad.both(product)
    node = next(k for k, s in enumerate(found.torch.shown().steps, 1) if s.event == "node")
    found.torch.step = node
    assert found.minigrad.step == node
    found.minigrad.step = 0
    assert found.torch.step == 0


def test_both_changes_no_random_numbers_of_ours():
    minigrad.manual_seed(1)
    expected = minigrad.rand(2)
    minigrad.manual_seed(1)
    minigrad.both(product)
    assert (minigrad.rand(2) == expected).all()


def test_without_pytorch_the_error_says_what_to_do(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(
        ImportError, match="PyTorch is not imported. To fix it, write  import torch"
    ):
        minigrad.both(product)
    monkeypatch.setattr(two_engines.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="not installed here. To fix it, run  pip install torch"):
        minigrad.both(product)


@pytest.fixture
def old_torch(monkeypatch):
    monkeypatch.setattr(adapters, "OLDEST_TORCH", (99, 1))
    adapters.can_be_recorded.cache_clear()
    yield
    adapters.can_be_recorded.cache_clear()


def test_a_pytorch_that_is_too_old_is_left_alone(old_torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match=r"can't be recorded.* install PyTorch 99\.1 or newer"):
        with minigrad.record() as tape:
            x * x
            minigrad.ones(2, requires_grad=True) * 3
    assert [n.backward for n in tape.shown().nodes if n.kind == "op"] == ["MulBackward0"]
    assert tensor_html.html_of(x) is None
    with pytest.raises(ImportError, match="not new enough. To fix it, run  pip install --upgrade"):
        minigrad.both(product)


BEFORE = """
import torch, numpy as np
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import softplus
w = torch.rand(3, requires_grad=True)
h, net, kind = w * 2, nn.Linear(3, 2), torch.float64
def f(x, k=torch.tensor(2.0)):
    return F.silu(x) * k + softplus(x) + torch.ones(3, dtype=kind)
class Net(nn.Module):
    pass
"""


@pytest.fixture(scope="module")
def shell():
    shell = InteractiveShell.instance(colors="nocolor", config=NO_HISTORY)
    shell.run_line_magic("load_ext", "minigrad")
    shell.run_cell(BEFORE)
    yield shell
    shell.run_line_magic("unload_ext", "minigrad")
    InteractiveShell.clear_instance()


def autograd(shell, cell):
    shell.run_cell_magic("autograd", "pair --both", cell)
    return shell.user_ns["pair"]


def test_a_cell_runs_on_both_with_the_users_functions_and_copies_of_tensors(shell, capsys):
    found = autograd(shell, "z = f(w).sum()\nz.backward()\nprint('once')")
    assert found and capsys.readouterr().out.count("once") == 1
    assert [n.name for n in found.minigrad.shown().nodes][:1] == ["w"]
    assert isinstance(shell.user_ns["z"], torch.Tensor) and shell.user_ns["w"].grad is not None
    assert shell.run_line_magic("tape", "") is found


def test_gradcheck_takes_functions_and_models_of_pytorch(shell):
    before = shell.user_ns["w"].grad
    for f in ("torch.exp", "lambda x: x.outer(x)", "torch.nn.Tanh()"):
        shell.user_ns["f"] = f = eval(f)
        assert shell.run_line_magic("gradcheck", "f w").ok
    assert shell.user_ns["w"].grad is before
    f.seen = shell.user_ns["w"] * 2  # as a model keeps its activations
    assert shell.run_line_magic("gradcheck", "f w").ok
    shell.run_cell("table = torch.ones(3, 3)\ndef g(x): return table @ x")
    with pytest.raises(UsageError, match="g also reads tensors of another dtype"):
        shell.run_line_magic("gradcheck", "g w")


def test_gradcheck_names_the_mistake_in_the_backward_of_a_function_of_pytorch(shell):
    shell.run_cell(
        "class Swish(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n"
        "        return x * x.sigmoid()\n"
        "    @staticmethod\n"
        "    def backward(ctx, g):\n"
        "        s = ctx.saved_tensors[0].sigmoid()\n"
        "        return g * (s + ctx.saved_tensors[0] * s)\n"
        "class Apart(Swish):\n"
        "    forward = staticmethod(lambda x: x * x.sigmoid())\n"
        "    setup_context = staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(*inputs))\n"
        "apart = Apart.apply\n"
        "def inside(x): return Apart.apply(2 * x).sum()\n"
        "def by_another_name(x): return apart(2 * x).sum()"
    )
    for f in ("Swish.apply", "Apart.apply", "inside", "by_another_name"):
        (row,) = shell.run_line_magic("gradcheck", f"{f} w").rows
        assert "w: The derivative of Sigmoid" in row.note and "second factor is missing" in row.note
    swish = shell.user_ns["Swish"]
    assert not any("apply" in vars(kind) for kind in (swish, swish.__mro__[2]))


def test_what_shows_the_value_of_a_cell_is_not_recorded(shell):
    shell.run_cell("class Shown:\n    def __repr__(self): return str(w.view(-1).sum().item())")

    pair = autograd(shell, "w * 2\nShown()")

    assert [r.cells() for r in pair.rows if "without a gradient" in r.mismatch.theirs] == []
    assert len(pair.matches) == 2


def test_a_cell_may_make_its_model_and_import_what_it_needs(shell):
    found = autograd(
        shell,
        "import torch.nn as layers\nfrom torch.optim import SGD\n"
        "class Net(layers.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.inner = layers.Linear(3, 2)\n"
        "    def forward(self, x):\n        return self.inner(x).tanh()\n"
        "net = Net()\nx = torch.ones(4, 3)\nnet(x).sum().backward()\n"
        "SGD(net.parameters(), lr=0.1).step()",
    )
    assert found and {"net.inner.weight", "net.inner.bias"} <= {
        n.name for n in found.minigrad.shown().nodes
    }


@pytest.mark.parametrize("name, what", [("net", "a Linear"), ("h", "a result"), ("Net", "derived")])
def test_what_cannot_be_copied_is_named(shell, name, what):
    shell.run_cell(BEFORE)
    with pytest.raises(UsageError, match=f"--both: {name} is {what}.* make it in the cell"):
        autograd(shell, name)


def test_an_error_on_both_is_shown_with_the_tapes_and_raised(shell):
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        autograd(shell, "b = w.detach()\nz = w * b\nb += 1\nz.sum().backward()")
    ((theirs, ours),) = rows(shell.user_ns["pair"], "error")
    assert theirs.startswith("RuntimeError") and ours.startswith("SavedValueChanged")
    assert shell.user_ns["pair"]


def test_the_text_of_a_report_continues_long_cells_on_further_lines():
    report = minigrad.both(lambda m: m.nn.LSTMCell(2, 2)(m.ones(1, 2))[0].sum().backward())
    lines = repr(report).splitlines()

    assert max(map(len, lines)) <= 160 and len(lines) > len(report.rows) + 2
    assert not any(line != line.rstrip() for line in lines)


def test_linear_parts_that_the_engines_compute_in_another_order_are_matched_by_their_parameters():
    def program(m):
        m.manual_seed(0)
        cell = m.nn.LSTMCell(2, 2)  # its name is that of the parameters
        cell(m.ones(1, 2))[0].sum().backward()

    report = minigrad.both(program)

    assert not [
        row for row in report.rows if row.cells()[0].startswith(("value", "gradient", "edges"))
    ]


@pytest.mark.parametrize("kind", ["L1Loss", "SmoothL1Loss"])
def test_ops_without_a_gradient_that_differ_on_a_line_are_compared_by_their_last_result(kind):
    def program(m):
        x, loss = m.arange(1.0, 5.0).reshape(4, 1), getattr(m.nn, kind)()
        with m.inference_mode():
            error = loss(x * x, x.type(m.float))
        return error

    assert not [row for row in minigrad.both(program).rows if row.cells()[0].startswith("value")]


def test_a_running_mean_that_other_ops_read_first_is_not_a_difference():
    def program(m):
        norm, x = m.nn.BatchNorm2d(2), m.arange(16.0).reshape(2, 2, 2, 2)
        norm(x).sum().backward()
        norm.eval()
        norm(x).sum().backward()

    assert not [row for row in minigrad.both(program).rows if row.cells()[0].startswith("value")]
