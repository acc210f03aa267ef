"""The tape of a program in PyTorch: what ran, in which order, and that recording changes nothing."""

import copy
import json
import subprocess
import sys
from functools import cache
from xml.etree import ElementTree

import pytest

torch = pytest.importorskip("torch")

from torch import nn

import minigrad
from minigrad.tape.torch import tensors
from tests import tape_schema
from tests.against_torch import torch_programs
from tests.against_torch.test_node_names import EXPRESSIONS, operands
from tests.against_torch.torch_programs import ones
from tests.against_torch.tutorial_programs import TUTORIALS
from tests.shells import NO_HISTORY

PROGRAMS = torch_programs.PROGRAMS | TUTORIALS
both = pytest.mark.parametrize("name", PROGRAMS)


def recorded(run, name="tape"):
    torch.manual_seed(0)
    with minigrad.record(name) as tape:
        made = run()
    return tape, made


def bits(made):
    """Everything about what a program made: numbers, gradients, versions; errors as text."""
    found = []
    for x in made:
        if isinstance(x, str):
            found.append(x)
            continue
        for t in (x, x.grad if x.is_leaf else None):
            dense = None if t is None else t.detach().to_dense()
            found.append(
                None
                if t is None
                else dense.contiguous().view(torch.uint8).tolist()
                if t.ndim
                else dense.item()
            )
        found.append(None if x.is_inference() else x._version)
    return found


def names(tape):
    return [n.backward for n in tape.shown().nodes if n.kind == "op"]


def order(tape, number=1):
    """The nodes of a pass in the order in which they ran."""
    found = tape.shown()
    steps = [s for s in found.steps if s.event == "node" and s.pass_ == number]
    return [found.node(s.node).backward for s in steps]


@cache
def recorded_once(name):
    """The tape of a program, what it made, and the state of the random numbers after it."""
    tape, made = recorded(PROGRAMS[name], name)
    return tape, bits(made), torch.get_rng_state()


@both
def test_recording_changes_no_bit(name):
    torch.manual_seed(0)
    alone = bits(PROGRAMS[name]())
    state = torch.get_rng_state()
    _, made, after = recorded_once(name)
    assert made == alone
    assert torch.equal(after, state)


@both
def test_a_tape_of_pytorch_is_drawn_and_fits_the_schema(name):
    jsonschema = pytest.importorskip("jsonschema")
    tape, _, _ = recorded_once(name)
    plain = json.loads(json.dumps(tape.document))
    jsonschema.Draft202012Validator(tape_schema.schema()).validate(plain)
    assert tape.text().startswith(name) and "digraph" in document_as_dot(tape)
    for step in range(len(tape.shown().steps) + 1):
        tape.at(step)
    ElementTree.fromstring(tape.svg())
    assert name in tape.html()


def document_as_dot(tape):
    from minigrad.tape.render.text import dot_text

    return dot_text(tape.shown())


@both
def test_the_counts_of_the_graph_explain_the_order_of_each_pass(name):
    tape, _, _ = recorded_once(name)
    assert all(ran.note is None for ran in tape.shown().backward)


def test_the_tape_says_so_where_the_counts_disagree(monkeypatch):
    monkeypatch.setattr(tensors, "LEAVES_FIRST", 1 << 62)  # as if leaves came last
    tape, _ = recorded(PROGRAMS["first_program"])
    (ran,) = tape.shown().backward
    assert ran.note.startswith("AccumulateGrad of ") and "it was the turn of TBackward0" in ran.note
    assert ran.note in tape.text()


def test_nodes_edges_versions_and_order_are_pytorchs():
    tape, _ = recorded(PROGRAMS["first_program"])
    found = tape.shown()
    assert names(tape) == [
        "MulBackward0", "AddBackward0", "TBackward0", "AddmmBackward0", "ReluBackward0", "MseLossBackward0",
    ]  # fmt: skip
    assert order(tape) == [
        "MseLossBackward0", "ReluBackward0", "AddmmBackward0", "AccumulateGrad", "TBackward0",
        "AccumulateGrad", "AddBackward0", "MulBackward0", "AccumulateGrad", "AccumulateGrad",
    ]  # fmt: skip
    ops = [n for n in found.nodes if n.kind == "op"]
    assert [n.version for n in ops] == [0, 1, 0, 0, 0, 0]
    name = lambda key: (found.node(key).backward, found.node(key).version)
    edges = {(name(e.from_), name(e.to)) for e in found.edges if e.gradient}
    assert (("MulBackward0", 0), ("AddBackward0", 1)) in edges
    assert (("AddBackward0", 1), ("AddmmBackward0", 0)) in edges
    assert all(n.code is not None for n in ops)


def test_names_and_lines_are_the_users():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    with minigrad.record() as tape:
        z = x * x
        h = model(z)
        h.sum().backward()
    found = tape.shown()
    assert {"x", "z", "h", "model.0.weight", "model.0.bias"} <= {n.name for n in found.nodes}
    assert found.code[found.nodes[1].code].text == "z = x * x"
    assert {n.module for n in found.nodes if n.kind == "op"} == {
        None,
        "Sequential.0",
        "Sequential.1",
    }


def test_variables_of_the_users_functions_are_names():
    def train(net, data):
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        out = net(data)
        loss = (out - 1).square().mean()
        loss.backward()
        opt.step()
        for p in net.parameters():
            p.grad.zero_()

    with minigrad.record() as tape:
        train(nn.Linear(2, 1), torch.ones(3, 2))
    names = {n.name for n in tape.shown().nodes}
    assert {"data", "out", "loss", "net.weight", "net.bias", "net.weight.grad"} <= names
    assert "opt.step()" in {n.updated for n in tape.shown().nodes}


@pytest.mark.parametrize("lib", [torch, minigrad])
def test_a_batch_of_a_loader_is_a_leaf(lib):
    def read(loader):
        for images, labels in loader:
            (images.sum() * labels.sum()).item()

    data = lib.utils.data.TensorDataset(lib.ones(4, 3), lib.ones(4))
    with minigrad.record() as tape:
        read(lib.utils.data.DataLoader(data, batch_size=2, shuffle=True))
    nodes = [(n.kind, n.name) for n in tape.shown().nodes]
    assert [name for kind, name in nodes if kind == "leaf"] == [
        "images",
        "labels",
        "images#2",
        "labels#2",
    ]
    assert [n.op for n in tape.shown().nodes if n.kind == "op"] == ["sum", "sum", "mul"] * 2


@pytest.mark.parametrize("lib", [torch, minigrad])
@pytest.mark.parametrize(
    "part",
    [
        lambda x: x.chunk(3)[2],
        lambda x: x.split([1, 2])[1],
        lambda x: x.unbind()[1],
        lambda x: x.max(1)[0],
        lambda x: x.sort(1)[0],
    ],
)
def test_the_other_results_of_an_operation_may_be_dropped_at_once(lib, part):
    x = lib.ones(3, 2, requires_grad=True)
    with minigrad.record() as tape:
        y = part(x * 1)
        z = y * 2
        z.sum().backward()
    nodes = {n.name: n for n in tape.shown().nodes}
    assert nodes["z"].expression == "y * 2"
    assert any("y" in name.split(", ") for name in nodes)
    assert all(tape.at(k) for k in range(len(tape.shown().steps)))


@pytest.mark.parametrize("lib", [torch, minigrad])
def test_a_module_that_is_being_built_or_copied_is_no_obstacle_and_its_copy_is_a_leaf(lib):
    class Net(lib.nn.Module):
        def __init__(self):
            first = lib.ones(2) * 2
            super().__init__()
            self.w = lib.nn.Parameter(first)
            self.register_buffer("b", first * 1)

    def main():
        net = Net()
        other = copy.deepcopy(net)
        return (net.w * other.w).sum()

    with minigrad.record() as tape:
        main()
    shown = [(n.op, n.expression) for n in tape.shown().nodes if n.kind == "op"]
    assert [op for op, _ in shown] == ["mul", "mul", "mul", "sum"]
    assert shown[2][1] == "net.w * other.w"


def test_pytorchs_checks_are_no_operations():
    with minigrad.record() as tape:
        a = torch.eye(2) * 2
        torch.linalg.inv(a)
        a.equal(a), a.allclose(a), a.to_sparse()._nnz()
    assert [n.op for n in tape.shown().nodes if n.kind == "op"] == [
        "mul",
        "linalg_inv_ex",
        "to_sparse",
    ]


@pytest.mark.parametrize("lib", [torch, minigrad])
def test_a_view_that_is_dropped_at_once_has_a_shape_and_values(lib):
    x = lib.arange(6.0)
    with minigrad.record() as tape:
        (x * 2).view(2, 3)
        x.exp()
    node = tape.shown().node("n2")
    assert (node.op, node.shape, node.dtype) == ("view", [2, 3], "float32")
    assert tape.shown().value(node.value)["first"] == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize("lib", [torch, minigrad])
def test_lazy_layers_are_recorded_before_and_at_their_first_call(lib):
    def main():
        net = lib.nn.Sequential(lib.nn.LazyLinear(4), lib.nn.LazyBatchNorm1d())
        weight = net[0].weight  # has no values yet
        x = lib.ones(2, 3)[lib.tensor([0, 1])]
        net(x).sum().backward()
        return weight

    with minigrad.record() as tape:
        main()
    assert {"weight", "net.0.bias", "net.1.running_var"} <= {n.name for n in tape.shown().nodes}


@pytest.mark.parametrize("lib", [torch, minigrad])
def test_an_empty_tensor_is_not_called_the_data_of_another(lib):
    def main(given, part):
        table = given
        return (part * 2).sum(), table

    with minigrad.record() as tape:
        main(lib.ones(0, 2), lib.ones(0, 2))
    assert [n.name for n in tape.shown().nodes if n.kind == "leaf"] == ["part"]


@pytest.mark.parametrize("lib", [torch, minigrad])
def test_the_first_values_of_buffers_are_leaves(lib):
    with minigrad.record() as tape:
        norm = lib.nn.BatchNorm1d(2)
        norm.eval()(lib.ones(3, 2))
    assert not {n.op for n in tape.shown().nodes} & {"zero", "fill", "copy"}


@pytest.mark.parametrize("lib", [torch, minigrad])
def test_the_step_of_a_scheduler_is_an_update(lib):
    optim = lib.optim
    w = lib.ones(2, requires_grad=True)
    with minigrad.record() as tape:
        optimizer = optim.SGD([w], lr=0.5)
        first = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=1)
        then = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.1)
        schedule = optim.lr_scheduler.SequentialLR(optimizer, [first, then], milestones=[2])
        for _ in range(2):
            w.sum().backward()
            optimizer.step()
            schedule.step()
        plateau = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.1, patience=0)
        for loss in (1.0, 2.0):
            plateau.step(loss)
    texts = [s.text for s in tape.shown().steps if "LR" in s.text]
    assert texts == [
        "schedule.step() (SequentialLR) set the learning rate: 0.25 → 0.5.",
        "schedule.step() (SequentialLR) left the learning rate as it was: 0.5.",
        "plateau.step() (ReduceLROnPlateau) left the learning rate as it was: 0.5.",
        "plateau.step() (ReduceLROnPlateau) set the learning rate: 0.5 → 0.05.",
    ]


def test_saved_tensors_have_versions_and_names():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        z = x * 3
        z += 1
        y = z.exp() * z  # noqa: F841
    found = tape.shown()
    saved = {n.op: [(s.name, s.of(found.nodes), s.version) for s in n.saved] for n in found.nodes}
    assert saved["exp"] == [("result", "exp#1", 0)]
    assert saved["mul"] == [("other", "z", 1), ("self", "exp#1", 0)]


def test_an_error_names_the_line_that_saved_and_the_line_that_wrote():
    x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0])
    with pytest.raises(RuntimeError, match="modified by an inplace") as raised:
        with minigrad.record() as tape:
            z = x * w
            w += 1
            z.sum().backward()
    (note,) = raised.value.__notes__
    assert "z = x * w" in note and "w += 1" in note and "at version 1" in note
    error = tape.shown().steps[-1].details[-1]
    assert error.conflict.by == next(n.id for n in tape.shown().nodes if n.op == "add")
    assert "w += 1" in error.message


def test_a_second_pass_names_the_first():
    x = torch.tensor([2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="second time") as raised:
        with minigrad.record() as tape:
            z = (x * x).sum()
            z.backward()
            z.backward()  # the second
    (note,) = raised.value.__notes__
    assert "first pass" in note and note.count("z.backward()") == 2 and "# the second" in note
    assert tape.shown().backward[1].finished is False


def test_backward_from_a_tensor_without_a_graph_names_the_line_where_it_ended():
    x = torch.tensor([2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="does not require grad") as raised:
        with minigrad.record():
            with torch.no_grad():
                y = x * x
            (y + 1).sum().backward()
    (note,) = raised.value.__notes__
    assert "no_grad" in note and "y = x * x" in note
    assert raised.value.__context__ is None


def test_a_function_of_the_user_is_one_operation_and_says_what_it_saved():
    tape, _ = recorded(PROGRAMS["custom_function"])
    node = next(n for n in tape.shown().nodes if n.op == "Square")
    assert (node.backward, [s.name for s in node.saved]) == ("SquareBackward", ["saved_tensors[0]"])


@pytest.mark.filterwarnings("ignore")
def test_an_apply_from_before_the_recording_is_one_operation_and_can_be_compiled():
    square = torch_programs.Square.apply
    compiled = torch.compile(lambda x: square(x * 2).sum(), backend="aot_eager")
    x = ones(3)
    with minigrad.record() as tape:
        square(x).sum().backward()
    assert order(tape) == ["SumBackward0", "SquareBackward", "AccumulateGrad"]
    assert [n.op for n in tape.shown().nodes if n.op != "leaf"][-2:] == ["Square", "sum"]
    with minigrad.record() as tape:
        compiled(x).backward()
    assert "SquareBackward" in order(tape) and "apply" not in vars(
        torch.autograd.Function.__mro__[1]
    )


def test_a_function_is_recorded_where_its_apply_is_compiled_code(monkeypatch):
    """PyTorch 2.14 has no Python method there, but a descriptor without __func__."""

    apply = torch.autograd.Function.__dict__["apply"]

    class Compiled:
        def __get__(self, instance, cls):
            return apply.__get__(None, cls)

    monkeypatch.setattr(torch.autograd.Function, "apply", Compiled())
    tape, _ = recorded(PROGRAMS["custom_function"])
    assert "SquareBackward" in names(tape)


@pytest.mark.parametrize(
    "name",
    ["first_program", "custom_function", "checkpoints", "saved_tensors_hooks", "in_place_error"],
)
def test_a_pytorch_that_does_not_tell_of_hooks_is_recorded_without_calling_them(monkeypatch, name):
    """PyTorch before 2.10: the blocks of hooks are counted, and what they packed is left out."""
    expected, made, _ = recorded_once(name)
    monkeypatch.setattr(tensors, "TELLS_HOOKS", False)
    monkeypatch.setattr(minigrad.tape.torch, "TELLS_HOOKS", False)
    tape, again = recorded(PROGRAMS[name], name)
    assert bits(again) == made
    assert names(tape) == names(expected)
    for node, wanted in zip(tape.shown().nodes, expected.shown().nodes, strict=True):
        assert node.saved == wanted.saved


def test_views_follow_their_base():
    tape, _ = recorded(PROGRAMS["views"])
    nodes = tape.shown().nodes
    assert [n.backward for n in nodes if n.inplace] == ["CopySlices", "CopySlices"]
    assert "AsStridedBackward0" in [n.backward for n in nodes if n.replayed]
    assert len({n.storage for n in nodes if n.view}) == 1


def test_operations_and_settings_are_shown_as_the_documentation_has_them():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    with minigrad.record() as tape:
        a = nn.functional.mse_loss(x[:, 1:], x[:, :2], reduction="sum")  # noqa: F841
        b = torch.clamp(x, 1 / 3).log_softmax(1)  # noqa: F841
        c = x.double()  # noqa: F841
    assert [n.expression for n in tape.shown().nodes if n.kind == "op"] == [
        "x[:, 1:]", "x[:, :2]", "mse_loss(slice#1, slice#2, reduction='sum')",
        "clamp(x, min=0.3333)", "log_softmax(clamp#1, dim=1)",
        "to(x, dtype=float64)",
    ]  # fmt: skip


def test_looking_for_the_node_of_a_leaf_is_not_on_the_tape():
    x = ones(2)
    with minigrad.record() as tape:
        torch.autograd.grad((x * x).sum(), x, create_graph=True)
    assert "view" not in {n.op for n in tape.shown().nodes}


def test_gradients_are_named_although_they_are_dropped_after_a_step():
    w = ones(2)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with minigrad.record() as tape:
        for _ in range(2):
            optimizer.zero_grad()
            (w * w).sum().backward()
            w.grad.abs()
            optimizer.step()
        optimizer.zero_grad()
    found = [n.expression for n in tape.shown().nodes if n.op == "abs"]
    assert found == ["abs(w.grad)", "abs(w.grad#2)"]


def test_the_step_of_an_optimizer_writes_the_next_versions_and_ends_an_iteration():
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with minigrad.record() as tape:
        for _ in range(5):
            optimizer.zero_grad()
            net(torch.ones(3, 2)).sum().backward()
            optimizer.step()
    found = tape.shown()

    written = [n for n in found.nodes if n.updated]
    assert len(written) == 10 and {n.updated for n in written} == {"optimizer.step()"}
    assert {(n.kind, n.backward, len(n.inputs)) for n in written} == {("leaf", "AccumulateGrad", 1)}
    assert found.steps[-1].text == (
        "optimizer.step() (SGD, lr 0.1) wrote to 2 parameters: net.weight v5 → v6, net.bias v5 → v6."
    )
    assert [g.title for g in found.groups if g.kind == "iteration"][-1] == "iteration 5 of 5"


def test_the_checks_of_a_distribution_are_not_on_the_tape():
    logits = torch.zeros(2, requires_grad=True)
    with minigrad.record() as tape:
        chosen = torch.distributions.Categorical(logits=logits)
        chosen.log_prob(torch.tensor(1)).backward()
    found = {n.op for n in tape.shown().nodes}

    assert {"logsumexp", "sub", "gather"} <= found and found.isdisjoint(
        {"eq", "all", "is_all_true"}
    )


@pytest.mark.parametrize("to_none", [True, False])
def test_zero_grad_is_a_step_of_the_tape(to_none):
    net = nn.Linear(2, 1)
    with minigrad.record() as tape:
        net(torch.ones(3, 2)).sum().backward()
        net.zero_grad(to_none)
        torch.optim.SGD(net.parameters(), lr=0.1).zero_grad(to_none)
    said = [s.text for s in tape.shown().steps if s.event == "update"]

    assert said[0] == "net.zero_grad() cleared the gradients of 2 parameters."
    assert said[1].startswith("SGD.zero_grad() " + ("found no" if to_none else "cleared the"))
    assert tape.at().grads == {} and "zero" not in {n.op for n in tape.shown().nodes}
    assert "net.weight" in tape.at(len(tape.shown().steps) - 2).grads


def test_a_node_that_saved_no_tensor_is_not_freed():
    x = ones(3, 2)
    with minigrad.record() as tape:
        ((x + 1).t().exp() * 2).sum().backward()
    freed = tape.at().freed
    assert [n.op for n in tape.shown().nodes if n.id in freed] == ["exp", "mul"]


def test_in_torch_func_operations_are_recorded_and_no_pass():
    tape, _ = recorded(PROGRAMS["gradients_per_example"])
    found = tape.shown()
    assert not found.backward and {"log_softmax", "bmm", "cos"} <= {n.op for n in found.nodes}


def test_hooks_are_seen_with_the_gradients_before_and_after():
    tape, _ = recorded(PROGRAMS["hooks"])
    steps = [s for s in tape.shown().steps if s.event == "node"]
    said = " ".join(d.text for s in steps for d in s.details)
    assert "A hook saw the gradient 1, and replaced it with 5." in said
    assert "A hook saw the gradient all 5, and replaced it with all 10." in said
    assert "A hook ran after .grad had been added to." in said and "retains its gradient" in said


def test_a_block_without_gradients_is_a_stop():
    tape, _ = recorded(PROGRAMS["no_grad_blocks"])
    assert [n.stop for n in tape.shown().nodes if n.op == "sub"] == ["no_grad", "no_grad"]


def test_what_a_checkpoint_computes_again_is_on_the_tape():
    tape, _ = recorded(PROGRAMS["checkpoints"])
    again = [n.op for n in tape.shown().nodes if n.made_by]
    assert again.count("mm") == 2 and "sin" in again and "tanh" in again
    assert [ran.finished for ran in tape.shown().backward] == [True, True]


def test_gradients_of_gradients_are_recorded_with_their_pass():
    tape, _ = recorded(PROGRAMS["double_backward"])
    assert {n.made_by for n in tape.shown().nodes} == {None, 1}
    assert tape.shown().backward[0].create_graph and order(tape, 2)[-1] == "AccumulateGrad"


def test_a_gradient_that_was_asked_for_goes_to_the_caller():
    x, y = ones(2), ones(2)
    with minigrad.record() as tape:
        z = x * y.exp()
        torch.autograd.grad(z.sum(), [x])
    found = tape.shown()
    (node,) = [s.node for s in found.steps for d in s.details if d.event == "capture"]
    assert found.node(node).name == "x"
    assert {found.node(k).name for k in found.steps[3].details[0].pruned} == {"y", "exp#1"}


def test_a_graph_from_before_the_recording_is_adopted():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = (x * x).exp()
    with minigrad.record() as tape:
        z.sum().backward()
    assert order(tape) == ["SumBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad"]
    before = [n.op for n in tape.shown().nodes if n.kind == "before"]
    assert sorted(before) == ["exp", "mul"]


def test_a_failed_operation_is_on_the_tape_with_its_shapes():
    a, b = ones(2, 3), ones(4, 5)
    with pytest.raises(RuntimeError), minigrad.record() as tape:
        a @ b
    assert [n.shapes for n in tape.shown().nodes if n.kind == "failed"] == [["(2, 3)", "(4, 5)"]]


def test_large_tensors_are_summarized_and_strange_ones_have_no_numbers():
    x = torch.full((100, 100), 2.0, requires_grad=True)
    with minigrad.record() as tape:
        z = x * 3
        z.sum().backward()
        torch.empty(3, device="meta") * 2
    value = tape.shown().value(tape.shown().nodes[1].value)
    assert (value["min"], value["max"], value["mean"], value["norm"]) == (6.0, 6.0, 6.0, 600.0)
    assert len(value["first"]) == 64
    assert tape.shown().nodes[-1].value is None


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int64", "complex64"])
def test_a_large_tensor_of_any_type_is_summarized(kind):
    x = (torch.arange(4000) % 7 + 1000).to(getattr(torch, kind))
    with minigrad.record() as tape:
        x * 1
    value = tape.shown().value(tape.shown().nodes[-1].value)
    assert (value["dtype"], value["size"]) == (kind, 4000)
    if kind == "complex64":  # which has no order
        assert value["min"] is value["std"] is value["norm"] is None and value["nan"] == 0
    else:
        exact = x.double()
        wanted = [exact.min(), exact.max(), exact.mean(), exact.std(correction=0), exact.norm()]
        wanted = [number.item() for number in wanted]
        assert [value[k] for k in ("min", "max", "mean", "std", "norm")] == pytest.approx(wanted)
        assert kind != "int64" or value["min"].__class__ is int


def test_what_the_last_hooks_of_a_leaf_do_comes_after_its_node():
    w = ones(2).requires_grad_()
    descent = torch.optim.SGD([w], lr=0.5)

    def step(leaf):
        descent.step()
        descent.zero_grad()

    w.register_post_accumulate_grad_hook(step)
    with minigrad.record() as tape:
        (w * 3).sum().backward()
    texts = [s["text"] for s in tape.document["steps"]]

    assert texts[-3:] == [
        "w.grad is now all 3.",
        "descent.step() (SGD, lr 0.5) wrote to 1 parameter: w v0 → v1.",
        "descent.zero_grad() cleared the gradients of 1 parameter.",
    ]


def test_a_hook_that_writes_past_the_versions_is_seen():
    x = torch.ones(3, requires_grad=True)
    with minigrad.record() as tape:
        y = x * 1
        y.register_hook(lambda g: [None, g.data.mul_(5)][0])
        (y * 2).sum().backward()
    [run] = [t for t in tape._recorder.passes[0].runs if t.hooks]
    assert [v.array.tolist() for v in (*run.hooks[0].before, run.used)] == [[2.0] * 3, [10.0] * 3]


def test_what_is_not_finite_in_a_large_tensor_is_counted():
    x = torch.full((2000,), 2.0)
    x[0], x[3], x[4] = float("nan"), float("inf"), 3e38
    with minigrad.record() as tape:
        z = x * 1
        y = torch.full((2000,), 3e38) * 1  # whose norm overflows
    z, y = (tape.shown().value(n.value) for n in tape.shown().nodes if n.kind == "op")
    assert (z["nan"], z["inf"], z["min"]) == (1, 1, 2.0) and z["first"][:2] == ["nan", 2.0]
    assert (y["nan"], y["inf"]) == (0, 0) and y["norm"] == pytest.approx(3e38 * 2000**0.5, rel=1e-6)


def test_a_pass_in_several_threads_says_that_what_was_ready_is_not_known():
    class Deeper(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if ctx.depth:
                with torch.enable_grad():
                    Deeper.apply(ones(1), ctx.depth - 1).backward()
            return g, None

    with minigrad.record() as tape:
        Deeper.apply(ones(1), 1).backward()
    assert [ran.note for ran in tape.shown().backward] == [None, None]
    tape._recorder.passes[0].threads = 2
    tape._document = None
    assert tape.shown().backward[0].note.startswith("PyTorch ran this pass in 2 threads.")


def test_both_engines_share_a_tape():
    x, y = minigrad.ones(2).requires_grad_(), ones(2)
    with minigrad.record() as tape:
        (x * 2).sum().backward()
        (y * 2).sum().backward()
    assert [ran.engine for ran in tape.shown().backward] == ["graph", "torch"]


def test_minigrad_does_not_look_for_pytorch():
    code = (
        "import minigrad, sys; x = minigrad.ones(2)\n"
        "with minigrad.record(): x * x\n"
        "print('torch' in sys.modules, 'minigrad.tape.torch' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert ran.stdout.split() == ["False", "False"]


def three_layers(m):
    m.manual_seed(0)
    net = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.Tanh(), m.nn.Linear(4, 2))
    return m.nn.functional.mse_loss(net(m.ones(5, 3)), m.zeros(5, 2))


def used_twice(m):
    x = m.ones(3).requires_grad_()
    y = x * 2
    return (y.exp() + y.sin() * y).sum()


def in_place(m):
    x = m.ones(3).requires_grad_()
    z = x * 2
    z *= 3
    z += x
    return z.mean()


def classes(m):
    x = m.ones(2, 3).requires_grad_()
    return m.nn.functional.nll_loss(x.log_softmax(1), m.tensor([0, 2]))


@pytest.mark.parametrize("program", [three_layers, used_twice, in_place, classes])
def test_both_engines_make_the_same_nodes_and_edges_and_run_them_in_the_same_order(program):
    """But for leaves: PyTorch runs them as soon as they are ready, and our engine last."""

    def facts(m):
        with minigrad.record() as tape:
            program(m).backward()
        found = tape.shown()
        name = lambda key: found.node(key).backward
        edges = sorted((name(e.from_), name(e.to)) for e in found.edges if e.gradient)
        return names(tape), edges, [n for n in order(tape) if n != "AccumulateGrad"]

    assert facts(minigrad) == facts(torch)


def graph():
    x = torch.tensor([[1.0, 2.0], [3.0, float("nan")]], requires_grad=True)
    model = nn.Linear(2, 2)
    y = x * x
    return x, model, y, model(y).sum()


def test_the_chain_of_a_tensor_of_pytorch_has_names_shapes_and_saved_tensors():
    x, model, y, z = graph()
    assert [" ".join(line.split()) for line in repr(minigrad.chain(z)).splitlines()] == [
        "z SumBackward0 ()",
        "↓ AddmmBackward0 #2 saves mat1 = y (2, 2), mat2 (2, 2) v1",
        "├─ model.bias AccumulateGrad (2,) leaf",
        "├─ y MulBackward0 (2, 2) saves other = x (2, 2), self = x (2, 2)",
        "│ ├─ x AccumulateGrad (2, 2) leaf",
        "│ └─ x AccumulateGrad shown above",
        "└─ TBackward0 #6",
        "↓ model.weight AccumulateGrad (2, 2) leaf",
    ]
    z.backward()
    assert "freed by a backward pass" in repr(minigrad.chain(z))


def test_make_dot_draws_a_graph_of_pytorch():
    x, model, y, z = graph()
    dot = minigrad.make_dot(z, params=dict(model.named_parameters()), show_saved=True)
    assert 'label="weight\\n(2, 2)" fillcolor=lightblue' in dot.source
    assert dot.source.count("fillcolor=orange") == 4
    ElementTree.fromstring(dot.svg())


def test_looking_at_a_graph_unpacks_nothing():
    x, packed = ones(2), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, packed.append):
        z = (x * x).sum()
    minigrad.chain(z)
    minigrad.make_dot(z, show_saved=True)
    assert packed == []


def test_a_notebook_shows_a_tensor_of_pytorch_and_its_chain():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance(config=NO_HISTORY)
    try:
        shell.run_line_magic("load_ext", "minigrad")
        shell.user_ns["x"], _, shell.user_ns["y"], shell.user_ns["z"] = graph()
        html, _ = shell.display_formatter.format(shell.user_ns["y"])
        shown = html["text/html"]
        assert "(2, 2) · float32 · MulBackward0 · 1 NaN of 4" in shown
        assert "heat map of the matrix" in shown and "chain of 2 nodes" in shown
        assert "SumBackward0" in repr(shell.run_line_magic("chain", "z"))
        shell.run_cell_magic("autograd", "seen --no-widget", "w = x * 2\nw.sum().backward()")
        assert [n.name for n in shell.user_ns["seen"].shown().nodes][:2] == ["x", "w"]
        assert shell.run_line_magic("tape", "seen") is shell.user_ns["seen"]
        shell.run_line_magic("unload_ext", "minigrad")
        assert "text/html" not in shell.display_formatter.format(shell.user_ns["y"])[0]
    finally:
        InteractiveShell.clear_instance()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("compiled_before", [True, False])
def test_a_compiled_function_is_one_box_and_runs_compiled(compiled_before):
    f = torch.compile(lambda x: (x * 2).sin().sum(), backend="aot_eager")
    x = ones(3)
    if compiled_before:
        f(x)
    with minigrad.record() as tape:
        z = f(x)
        z.backward()
    assert order(tape) == ["CompiledFunctionBackward", "AccumulateGrad"]
    assert len(tape.shown().backward) == 1
    assert "mul" not in {n.op for n in tape.shown().nodes}
    assert "the result of compiled code" in str(tape.document)


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_model_with_submodules_is_one_box_too():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    x = torch.ones(1, 2)
    model(x).sum().backward()
    right, model[0].weight.grad = model[0].weight.grad, None
    compiled = torch.compile(model, backend="aot_eager")
    with minigrad.record() as tape:
        z = compiled(x).sum()
        z.backward()
    assert order(tape)[:2] == ["SumBackward0", "CompiledFunctionBackward"]
    torch.testing.assert_close(model[0].weight.grad, right)


def test_a_cell_may_import_pytorch_itself():
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_line_magic('load_ext', 'minigrad')\n"
        "cell = 'import torch\\nx = torch.ones(2, requires_grad=True)\\n(x * x).sum().backward()'\n"
        "shell.run_cell_magic('autograd', '--no-widget', cell)\n"
        "print('steps', len(shell.user_ns['tape'].shown().steps))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert "steps 6" in ran.stdout


def small():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        z = (x.exp() * x).sum()
        z.backward()
    return tape, x, z


def test_derived_gradients_are_checked_against_a_tape_of_pytorch():
    tape, x, z = small()
    assert tape.check(x=x.exp() * (x + 1)).ok
    assert "It has the opposite sign" in repr(tape.check(x=-x.exp() * (x + 1)))


def test_a_recorded_pass_of_pytorch_is_walked_through_but_none_is_run():
    tape, x, z = small()
    walked = [step.name for step in tape.steps()]
    assert walked == ["SumBackward0", "MulBackward0", "ExpBackward0", "AccumulateGrad"]
    with pytest.raises(TypeError, match="call tape.steps\\(\\) without z"):
        tape.steps(z)


def test_operations_that_ours_repeats_have_central_differences():
    tape, x, z = small()
    assert tape.differences("x").leaves["x"] == pytest.approx(x.grad.numpy(), rel=1e-4)
    assert tape.differences(x=x.grad.clone().requires_grad_())


def writes_through_views(x):
    y = x.exp() + 1
    y.mul_(x * 2)
    column = (y * 1).view(3, 1)[1:]
    column += x[0]
    y = column._base
    y[:2] = x[1:]
    y[[0, 1]] += x[0]
    y[0].zero_()
    y[1:].mul_(y.detach()[1:] + x[0])
    return (y * column[0]).sum()


# Programs whose operations have other names or arguments in PyTorch's dispatcher than here
DIFFERENTIATED = {
    "a loss": lambda x: torch.nn.functional.cross_entropy(
        torch.outer(x, x).tanh(), torch.tensor([0, 2, 1])
    ),
    "a layer": lambda x: torch.nn.functional.layer_norm(
        torch.nn.functional.linear(x, x.outer(x), x), (3,)
    ).select(0, 1),
    "writes through views": writes_through_views,
}


@pytest.mark.parametrize("program", DIFFERENTIATED.values(), ids=DIFFERENTIATED)
def test_a_program_of_pytorch_has_central_differences(program):
    x = torch.tensor([0.5, -1.2, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        program(x).backward()
    assert tape.differences()
    assert tape.differences("x").leaves["x"] == pytest.approx(x.grad.numpy(), rel=1e-4, abs=1e-5)


def test_derived_gradients_are_compared_with_pytorchs_engine():
    tape, x, _ = small()
    z = (x * x).sum()
    assert minigrad.compare(z, x=2 * x).ok
    assert not minigrad.compare(z, x=x.detach()).ok
    z.backward()
    x.grad = 2 * x.detach()
    assert "an earlier backward() has freed the graph" in repr(minigrad.compare(z, x=2 * x))


# One node in minigrad, several in PyTorch; or the other way around.
OTHERWISE = {"m.outer(v, v)", "x[0, 1]", "x[::2, 1:]", "x[0:1, 0]", "F.normalize(x)", "x.as_strided((2,), (1,))"}  # fmt: skip


@pytest.mark.parametrize("line", EXPRESSIONS.strip().splitlines())
def test_both_engines_walk_the_same_nodes_and_edges_back_from_an_expression(line):
    def walked(m, expression):
        m.manual_seed(0)
        with minigrad.record() as tape:
            eval(expression, operands(m)).sum().backward()
        found = tape.shown()
        name = lambda key: found.node(key).backward
        edges = sorted((name(e.from_), name(e.to)) for e in found.edges if e.gradient)
        return [n for n in order(tape) if n != "AccumulateGrad"], edges

    expressions = [e.strip() for e in line.split(" | ")]
    differing = {e for e in expressions if walked(minigrad, e) != walked(torch, e)}
    assert differing == OTHERWISE & set(expressions)


def test_memory_that_nobody_has_written_to_is_not_shown():
    with minigrad.record() as tape:
        x = torch.ones(3, 4, requires_grad=True)
        torch.nn.functional.dropout(x * 1, 0.5).sum().backward()

    nodes = {n.op: n for n in tape.shown().nodes}
    mask = next(n for n in tape.shown().nodes if n.kind == "leaf" and n.name != "x")
    assert mask.value is None
    assert set(tape.shown().values[nodes["bernoulli"].value]["first"]) <= {0.0, 1.0}


def test_the_second_result_of_a_function_from_before_the_recording_can_be_used_first():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 3

    a, b = Twice.apply(torch.ones(4, requires_grad=True))
    with minigrad.record() as tape:
        (b * 1 + a * 1).sum().backward()

    assert "TwiceBackward" in tape.text()


def test_plots_show_the_sparse_gradient_of_an_embedding():
    pytest.importorskip("matplotlib")
    from minigrad import plots

    table = nn.Embedding(5, 2, sparse=True)
    table(torch.tensor([1, 1, 3])).sum().backward()
    [bar] = plots.gradient_norms(table).axes[0].patches
    assert bar.get_height() == pytest.approx(table.weight.grad.to_dense().norm().item())
    assert plots.gradient_histograms(table).axes


def test_a_complex_number_and_a_write_that_the_graph_does_not_see_are_drawn():
    x = torch.tensor(1 / 3, requires_grad=True)
    with minigrad.record() as tape:
        z = torch.complex(x * 1e6, x)
        z.abs().backward()
        variance = torch.ones(2, requires_grad=True).clone()
        with torch.no_grad():
            variance.clamp_(min=0.5)
        variance.log().sum().backward()
    shown = {n.name: n for n in tape.shown().nodes}
    assert tape.shown().value(shown["z"].value)["first"] == ["3.333e+05+0.3333j"]
    assert "3.333e+05+0.3333j" in tape.svg()
    assert all(i.jacobian is None for n in shown.values() if n.op == "log" for i in n.inputs)
