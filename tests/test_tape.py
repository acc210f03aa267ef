"""The tape: what was recorded, and each of its faces."""

import base64
import hashlib
import json
import subprocess
import sys
import warnings
import weakref
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.tape.names import clean
from minigrad.tape.record import reset_counter


def lesson(backward=True):
    """The lesson's example, recorded."""
    reset_counter()
    x1 = minigrad.ones(2, 3, 4).requires_grad_()
    x2 = minigrad.ones(2, 3, 4).requires_grad_()
    x3, x4 = minigrad.ones(2, 3, 4), minigrad.ones(2, 3, 4)
    with minigrad.record() as tape:
        y1 = x1 + x2
        y2 = x3 + x4
        z = y1 * y2
        z += x2
        if backward:
            z.backward(minigrad.ones_like(z))
    return tape, (x1, x2, x3, x4), z


def by_name(tape, name, version=0):
    return next(n for n in tape.document["nodes"] if n["name"] == name and n["version"] == version)


def value_of(tape, node):
    return tape.document["values"][node["value"]]


# ---------------------------------------------------------------------- what is recorded


def test_operations_are_recorded_with_names_versions_and_lines():
    tape, _, _ = lesson()

    rows = [
        (n["name"], n["version"], n["op"], n["expression"], n["backward"])
        for n in tape.document["nodes"]
        if n["kind"] == "op"
    ]

    assert rows == [
        ("y1", 0, "add", "x1 + x2", "AddBackward0"),
        ("y2", 0, "add", "x3 + x4", None),
        ("z", 0, "mul", "y1 * y2", "MulBackward0"),
        ("z", 1, "add", "z += x2", "AddBackward0"),
    ]
    lines = [tape.document["code"][n["code"]]["text"] for n in tape.document["nodes"] if n["op"]]
    assert lines == ["y1 = x1 + x2", "y2 = x3 + x4", "z = y1 * y2", "z += x2"]


@pytest.mark.parametrize("wrong", [3, abs, minigrad.ones(2)])
def test_what_is_no_name_is_refused_by_record(wrong):
    with pytest.raises(TypeError, match=r"with minigrad\.record\(\) as tape"):
        minigrad.record(wrong)


def test_gradients_flow_only_along_edges_that_need_one():
    tape, _, _ = lesson()
    name = {n["id"]: (n["name"], n["version"]) for n in tape.document["nodes"]}

    flowing = [(name[e["from"]], name[e["to"]]) for e in tape.document["edges"] if e["gradient"]]

    assert flowing == [
        (("x1", 0), ("y1", 0)),
        (("x2", 0), ("y1", 0)),
        (("y1", 0), ("z", 0)),
        (("z", 0), ("z", 1)),
        (("x2", 0), ("z", 1)),
    ]


def test_a_value_is_a_copy_made_when_it_was_computed():
    tape, _, _ = lesson()

    assert value_of(tape, by_name(tape, "z", 0))["first"][0] == 4.0
    assert value_of(tape, by_name(tape, "z", 1))["first"][0] == 5.0


def test_saved_values_are_listed_with_the_tensor_they_are():
    tape, _, _ = lesson()

    saved = by_name(tape, "z", 0)["saved"]

    assert saved == [
        {"name": "y", "node": by_name(tape, "y2")["id"], "version": 0, "constant": "", "output": 0}
    ]


def test_the_backward_pass_is_recorded_step_by_step():
    tape, _, _ = lesson()
    name = {n["id"]: n["name"] for n in tape.document["nodes"]}

    steps = [s for s in tape.document["steps"] if s["event"] == "node"]

    assert [name[s["node"]] for s in steps] == ["z", "z", "y1", "x1", "x2"]
    arrivals = [
        (s["arrived"], s["expected"])
        for step in steps
        for s in step["details"]
        if s["event"] == "deposit" and name[s["to"]] == "x2"
    ]
    assert arrivals == [(1, 2), (2, 2)]


def test_numbers_are_part_of_the_expression_and_no_nodes():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        y = 2 * x + 1  # noqa: F841

    assert [n["expression"] for n in tape.document["nodes"] if n["op"]] == [
        "2 * x",
        "mul#1 + 1",
    ]
    assert sum(n["kind"] == "leaf" for n in tape.document["nodes"]) == 1


@pytest.mark.parametrize("program, expression, read", [
    ("F.cross_entropy(x, y)", "cross_entropy(x, target=y)", ["x", "y"]),
    ("x.masked_fill(mask, 0.0)", "masked_fill(x, 0, mask=mask)", ["x", "mask"]),
    ("x.masked_fill(x > 0, 0.0)", "masked_fill(x, 0, mask=gt#1)", ["x", "gt#1"]),
    ("x[y]", "x[y]", ["x", "y"]),
    ("x[:, rows[0]]", "x[:, rows[0]]", ["x", "rows[0]"]),
    ("F.embedding(y, x)", "embedding(x, index=y)", ["x", "y"]),
    ("x[[0, 1]]", "x[[0, 1]]", ["x"]),
])  # fmt: skip
def test_a_tensor_that_an_op_reads_as_a_setting_is_its_input(program, expression, read):
    x = minigrad.ones(4, 3, requires_grad=True)
    y, mask = minigrad.tensor([2, 0, 1, 1]), minigrad.tensor([True, False, True])
    rows = [minigrad.tensor([0, 2])]
    with minigrad.record() as tape:
        z = eval(program, {"F": nn.functional}, {"x": x, "y": y, "mask": mask, "rows": rows})

    nodes = tape.document["nodes"]
    last = nodes[-1]
    assert z.grad_fn is not None
    assert last["expression"] == expression
    assert [nodes[int(i["node"][1:])]["name"] for i in last["inputs"] if "node" in i] == read
    assert [e["gradient"] for e in tape.document["edges"] if e["to"] == last["id"]] == [
        name == "x" for name in read
    ]


@pytest.mark.parametrize("program, expression", [
    ("x.mean(1, keepdim=True)", "mean(x, dim=1, keepdim=True)"),
    ("x.sum(axis=(0, 2))", "sum(x, dim=(0, 2))"),
    ("x.max(1).values", "max(x, dim=1)"),
    ("x.transpose(0, 2)", "transpose(x, dim0=0, dim1=2)"),
    ("x.permute(2, 0, 1)", "permute(x, dims=(2, 0, 1))"),
    ("x.roll(1, 0)", "roll(x, shifts=(1,), dims=(0,))"),
    ("x.diagonal(dim1=1, dim2=2)", "diagonal(x, dim1=1, dim2=2)"),
    ("F.max_pool2d(x, 2)", "max_pool2d(x, kernel_size=(2, 2), stride=(2, 2))"),
    ("F.max_pool2d(x, 3, 2, padding=(1, 0))", "max_pool2d(x, kernel_size=(3, 3), stride=(2, 2), padding=(1, 0))"),
    ("minigrad.cat([x, x], 1)", "cat([x, x], dim=1)"),
    ("minigrad.einsum('abc,abd->acd', x, x)", "einsum('abc,abd->acd', x, x)"),
])  # fmt: skip
def test_a_setting_is_written_with_its_name_in_pytorch(program, expression):
    x = minigrad.ones(2, 3, 4, requires_grad=True)
    with minigrad.record() as tape:
        z = eval(program, {"F": nn.functional, "minigrad": minigrad}, {"x": x})
        z.sum().backward()

    assert tape.document["nodes"][1]["expression"] == expression


def test_a_number_written_everywhere_reads_as_zero_and_fill_():
    x = minigrad.ones(2)
    with minigrad.record() as tape:
        x.fill_(0.5)
        x.zero_()

    assert [by_name(tape, "x", v)["expression"] for v in (1, 2)] == ["x.fill_(0.5)", "x.zero_()"]


def test_a_write_by_an_index_names_the_index():
    i = minigrad.tensor([0, 2])
    with minigrad.record() as tape:
        z = minigrad.ones(3, requires_grad=True) * 2
        z[i] = 5.0

    assert by_name(tape, "z", 1)["expression"] == "z[i] = 5"


def test_a_tensor_without_axes_that_has_a_name_keeps_it():
    norm, scale, rates = minigrad.nn.BatchNorm1d(2), minigrad.tensor(2.0), [minigrad.tensor(0.5)]
    x = minigrad.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    with minigrad.record() as tape:
        y = norm(x).sum() * scale
        shift = y.detach()
        bias = minigrad.tensor(3.0)
        z = y * 2 - shift * rates[0] + bias  # noqa: F841
    written = [n["expression"] for n in tape.document["nodes"] if n["op"]]

    assert written[0] == "norm.num_batches_tracked += 1"
    assert written[-6:] == [
        "sum#1 * scale",
        "y * 2",
        "y.detach()",
        "shift * rates[0]",
        "mul#1 - mul#2",
        "sub#1 + bias",
    ]


def test_a_buffer_of_a_module_that_was_made_while_recording_keeps_its_name():
    with minigrad.record() as tape:
        norm = minigrad.nn.BatchNorm1d(2)
        norm(minigrad.ones(3, 2))

    assert "norm.num_batches_tracked" in [n["name"] for n in tape.document["nodes"]]


def test_what_a_function_has_drawn_by_chance_says_what_it_is():
    x = minigrad.ones(3, 4).requires_grad_()
    with minigrad.record() as tape:
        h = nn.functional.dropout(x)
        y = nn.functional.dropout(h, inplace=True)  # noqa: F841
        s = nn.functional.rrelu(x, training=True)  # noqa: F841
        g = nn.functional.gumbel_softmax(x)  # noqa: F841
        z = minigrad.distributions.Normal(x, 2.0).rsample()  # noqa: F841
    written = [n["expression"] for n in tape.document["nodes"] if n["op"] in ("mul", "add")]

    assert written == [
        "x * mask", "h *= mask#2", "x * slope", "x + noise", "noise#2 * input#1", "x + mul#1",
    ]  # fmt: skip


def test_a_write_through_a_view_is_summed_over_the_axes_of_the_view():
    x = minigrad.tensor(3.0, requires_grad=True)
    with minigrad.record() as tape:
        base = minigrad.zeros(3)
        part = base[1:]
        part *= 0
        part += x
        base.sum().backward()

    assert [e["summed"] for e in tape.document["edges"] if e["summed"]] == [
        "summed over axis 0 (2)"
    ]


def test_names_of_entries_of_lists_and_of_rebound_variables():
    w = [minigrad.ones(2).requires_grad_(), minigrad.ones(2).requires_grad_()]
    h = minigrad.ones(2)
    with minigrad.record() as tape:
        for i in range(2):
            h = h * w[i]

    assert [n["name"] for n in tape.document["nodes"]] == ["h", "w[0]", "h#2", "w[1]", "h#3"]


def test_variables_of_the_users_functions_are_names():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1)

        def forward(self, inputs):
            inputs = inputs * 2  # a parameter: no name for what was computed
            out = self.layer(inputs)
            return out * 2

    def train(net, data):
        opt = minigrad.optim.SGD(net.parameters(), lr=0.1)
        error = net(data) - 1
        losses = [error.square().mean()]
        losses[0].backward()
        opt.step()
        for p in net.parameters():
            p.grad.zero_()

    def main():
        images = minigrad.ones(3, 2)
        train(Net(), images)
        return images.sum()

    with minigrad.record() as tape:
        main()
    nodes = [(n["op"], n["name"]) for n in tape.document["nodes"] if n["kind"] == "op"]

    assert nodes == [
        ("mul", "mul#1"),
        ("t", "t#1"),
        ("addmm", "out"),
        ("mul", "mul#2"),
        ("sub", "error"),
        ("square", "square#1"),
        ("mean", "losses[0]"),
        ("copy", "net.layer.weight.grad"),
        ("copy", "net.layer.bias.grad"),
        ("sum", "sum#1"),
    ]
    assert tape.document["nodes"][0]["name"] == "images"  # rather than `inputs` or `data`
    assert [n["updated"] for n in tape.document["nodes"] if n["updated"]] == ["opt.step()"] * 2


def test_tensors_in_a_functions_dictionary_or_module_are_named_without_a_pass():
    def model(p, x):
        return (p["w"] * x).sum() + p["b"]

    def apply(layers):
        return layers[0](minigrad.ones(1, 2))

    with minigrad.record() as tape:
        model({"w": minigrad.ones(2), "b": minigrad.ones(1)}, minigrad.ones(2))
        minigrad.func.grad(lambda q: model(q, 1.0).sum())(
            {"w": minigrad.ones(2), "b": minigrad.ones(1)}
        )
        apply([nn.Linear(2, 1), nn.Tanh()])
    names = [n["name"] for n in tape.document["nodes"] if n["kind"] == "leaf"]

    assert names == [
        "p['w']", "x", "p['b']", "p['w']#2", "p['b']#2",
        "input#1", "layers[0].weight", "layers[0].bias", "input#2",
    ]  # fmt: skip


def test_the_data_of_a_tensor_that_is_not_on_the_tape_is_named_after_it():
    net = nn.Linear(2, 1, bias=False)

    def average():
        for p in net.parameters():
            p.data.mul_(0.5)

    with minigrad.record() as tape:
        average()

    assert {n["name"] for n in tape.document["nodes"]} == {"p.data"}


def test_gradients_have_the_names_of_their_leaves_wherever_they_are_used():
    net = nn.Linear(2, 1)

    def fit(scale):
        (net(minigrad.ones(3, 2)).sum() * scale).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scale.data -= 0.1 * scale.grad

    with minigrad.record() as tape:
        fit(minigrad.tensor(2.0, requires_grad=True))
    written = [n["expression"] for n in tape.document["nodes"] if n["kind"] == "op"][4:]

    assert written == [
        "net.weight.grad *= 0.09623",
        "net.bias.grad *= 0.09623",
        "0.1 * scale.grad",
        "scale.detach()",
        "detach#1 -= mul#2",
    ]


def test_a_variable_of_the_recorded_code_names_a_tensor_rather_than_a_functions_variable():
    w = [minigrad.ones(2).requires_grad_()]

    def length(v):
        weight = v
        return weight.square().sum()

    with minigrad.record() as tape:
        total = length(w[0])  # noqa: F841

    assert [n["name"] for n in tape.document["nodes"]] == ["w[0]", "square#1", "total"]


def test_a_function_can_keep_its_variables_and_drop_a_tensor_while_it_is_recorded():
    def keeps():
        first = minigrad.ones(2)
        kept = locals()
        second = first * 2
        third = second * 2
        return kept

    def drops():
        big = minigrad.ones(2) * 2
        dropped = weakref.ref(big)
        big = big * 2
        return dropped() is None

    with minigrad.record():
        assert "first" in keeps()
        assert drops()


def test_the_part_of_a_graph_that_was_made_before_is_on_the_tape_as_well():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    z = (x * x).sum()
    with minigrad.record() as tape:
        z.backward()

    kinds = [(n["kind"], n["backward"]) for n in tape.document["nodes"]]

    assert kinds == [
        ("leaf", "AccumulateGrad"),
        ("before", "MulBackward0"),
        ("before", "SumBackward0"),
    ]
    assert tape.document["backward"][0]["steps"] == 3


def test_the_tape_up_to_an_error_is_kept_and_the_error_goes_on():
    x = minigrad.ones(2).requires_grad_()

    with pytest.raises(RuntimeError), minigrad.record() as tape:
        y = x * 2
        y.backward()  # not a scalar

    assert [n["name"] for n in tape.document["nodes"]] == ["x", "y"]
    assert "the code stopped (line" in tape.text()
    assert "grad can be implicitly created" in tape.text()


def test_gradients_before_and_after_each_pass_are_kept():
    x = minigrad.tensor(3.0, requires_grad=True)
    with minigrad.record() as tape:
        for _ in range(2):
            (x * x).backward()

    grads = [p["grads"]["n0"] for p in tape.document["backward"]]
    values = tape.document["values"]

    assert grads[0]["before"] is None
    assert [values[g["after"]]["first"] for g in grads] == [[6.0], [12.0]]
    assert values[grads[1]["before"]]["first"] == [6.0]


def test_a_recording_keeps_no_tensor_alive():
    x = minigrad.ones(2).requires_grad_()
    with minigrad.record() as tape:
        y = x * 2
        z = y * y
    alive, node = weakref.ref(y), weakref.ref(z.grad_fn)
    assert tape.document
    del y, z

    assert alive() is None
    assert node() is None


def test_nothing_is_recorded_outside_the_block():
    x = minigrad.ones(2)
    with minigrad.record() as tape:
        y = x * 2
    y * 3

    assert sum(n["kind"] == "op" for n in tape.document["nodes"]) == 1


# ---------------------------------------------------------------------- steps


def test_steps_walk_the_engines_own_pass():
    tape, (x1, x2, _, _), z = lesson(backward=False)

    steps = list(tape.steps(z, minigrad.ones_like(z)))

    assert [s.name for s in steps] == [
        "AddBackward0",
        "MulBackward0",
        "AddBackward0",
        "AccumulateGrad",
        "AccumulateGrad",
    ]
    assert steps[0].node is z.grad_fn
    assert steps[0].waiting["AccumulateGrad of x2"] == 1
    assert steps[2].ready == ("AccumulateGrad of x1", "AccumulateGrad of x2")
    assert np.all(x1.grad.array == 2) and np.all(x2.grad.array == 3)


def test_a_step_reads_as_a_block_of_text():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        z = x * x

    first = next(iter(tape.steps(z, [1.0, 10.0])))

    assert repr(first).splitlines()[1:] == [
        "    receives  [1, 10]    (2,)",
        "    sends     to AccumulateGrad of x: [1, 20]    1 of 2 arrived",
        "              to AccumulateGrad of x: [1, 20]    2 of 2 arrived",
        "    ready     AccumulateGrad of x",
        "    waiting   none",
    ]


def test_steps_without_a_tensor_go_through_the_recorded_pass_and_change_nothing():
    tape, (x1, _, _, _), _ = lesson()

    steps = list(tape.steps())

    assert np.all(x1.grad.array == 2)
    assert [s.number for s in steps] == [6, 7, 8, 9, 10] and steps[-1].of == 10


def test_steps_are_numbered_alike_in_the_text_the_walk_and_the_moments():
    tape, _, _ = lesson()
    text = tape.text()

    for step in tape.steps():
        assert tape.at(step.number).current == f"{step.name} of {step.label}"
        row = f"{step.number:>4}  {step.name:<14}  {step.label:<4}"
        assert any(line.startswith(row) for line in text.split("\n"))
    assert step.number == step.of == len(tape.document["steps"])


def test_a_walk_that_is_recorded_counts_on_from_the_steps_before_it():
    tape, (x1, *_), z = lesson(backward=False)

    walked = [(s.number, s.of) for s in tape.steps(z, minigrad.ones_like(z))]

    assert walked == [(6, 10), (7, 10), (8, 10), (9, 10), (10, 10)]
    assert len(tape.document["steps"]) == 10


def test_the_recorded_steps_read_as_the_live_ones_did():
    tape, _, z = lesson(backward=False)

    live = [repr(s) for s in tape.steps(z, minigrad.ones_like(z))]

    assert [repr(s) for s in tape.steps()] == live


def test_steps_refuse_what_backward_refuses_and_at_once():
    tape, (_, _, x3, _), z = lesson(backward=False)

    with pytest.raises(minigrad.core.errors.NoGradient, match="scalar outputs"):
        tape.steps(z)
    with pytest.raises(minigrad.core.errors.NoGradient, match="does not require grad"):
        tape.steps(x3)
    with pytest.raises(ValueError, match="no backward pass was recorded"):
        tape.steps()


def test_a_walk_that_is_left_half_way_leaves_the_graph_usable():
    tape, (x1, _, _, _), z = lesson(backward=False)

    for _ in tape.steps(z, minigrad.ones_like(z)):
        break
    z.backward(minigrad.ones_like(z))

    assert np.all(x1.grad.array == 2)


# ---------------------------------------------------------------------- faces


def test_the_document_is_json_and_says_its_version():
    tape, _, _ = lesson()

    again = json.loads(json.dumps(tape.document))

    assert again == tape.document
    assert again["schema"] == "minigrad.tape/5"


def test_the_picture_shows_both_graphs():
    svg = lesson()[0].svg()

    for text in (
        "AccumulateGrad",
        "MulBackward0",
        "no grad_fn",
        "2 of 2",
        ".grad, 2 contributions",
    ):
        assert f">{text}<" in svg
    assert 'id="mg-1-n0"' in svg


def test_the_picture_is_the_same_in_another_process_with_another_hash_seed(tmp_path):
    code = (
        "import minigrad\n"
        "x = minigrad.ones(3).requires_grad_()\n"
        "with minigrad.record() as tape:\n"
        "    z = (x * x + x).sum()\n"
        "    z.backward()\n"
        "print(tape.svg(), tape.text())\n"
    )
    out = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    ]

    assert out[0] == out[1] != b""


def test_clean_removes_what_xml_forbids():
    assert clean("a\x08\ud800\u2066b\tc") == "ab c"


def test_the_text_table_of_the_lesson():
    text = lesson()[0].text()

    assert "4 operations, 4 leaves" in text
    assert "add_  z v0, x2  z       (2, 3, 4)        1  AddBackward0" in text
    assert "  10  AccumulateGrad  x2    2              .grad" in text


@pytest.mark.parametrize("ending", [".svg", ".png", ".html", ".txt", ".json"])
def test_a_tape_can_be_saved(ending, tmp_path):
    path = lesson()[0].save(tmp_path / f"tape{ending}")

    assert path.stat().st_size > 300
    if ending == ".png":
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_name_that_the_font_of_the_png_lacks_gives_no_warning():
    值 = minigrad.tensor(2.0, requires_grad=True)
    with minigrad.record() as tape:
        值 * 值

    with warnings.catch_warnings(action="error"):
        assert tape.png().startswith(b"\x89PNG")


def test_saving_under_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.svg, \.png"):
        lesson()[0].save(tmp_path / "tape.bmp")


def test_the_page_is_self_contained():
    page = lesson()[0].html()

    assert "default-src 'none'" in page
    assert " src=" not in page and "@import" not in page and "import(" not in page
    assert page.count("http") == page.count("http://www.w3.org/2000/svg") + page.count("http-equiv")
    script = page.rpartition('<script type="module">')[2].rpartition("</script>")[0]
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{hashed}'" in page


def test_the_mime_bundle_has_a_picture_and_a_table():
    bundle = lesson()[0]._repr_mimebundle_()

    assert set(bundle) == {"text/plain", "image/svg+xml"}


@pytest.mark.parametrize("iterations, boxes", [(7, 24), (8, 2)])
def test_above_24_boxes_a_notebook_keeps_the_folded_picture(iterations, boxes):
    x = minigrad.ones(2).requires_grad_()
    with minigrad.record() as tape:
        h = x * 2
        for _ in range(iterations):
            h = (h * x + 1).relu()
        h.sum()

    picture = tape._repr_mimebundle_()["image/svg+xml"]

    assert picture.count("<g ") < tape.svg().count("<g ") if boxes == 2 else picture == tape.svg()
    assert ("27 nodes folded into" in picture) == (boxes == 2)


def model_called(times, m=minigrad):
    with minigrad.record() as tape:
        model = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.Tanh(), m.nn.Linear(2, 2))
        x = m.ones(3, 2)
        sum(model(x).sum() for _ in range(times)).backward()
    return tape.shown()


def test_what_a_layer_fills_its_parameters_with_are_the_values_of_leaves():
    found = model_called(1)

    ops = [n.op for n in found.nodes if n.kind == "op"]
    assert ops == ["t", "addmm", "tanh", "t", "addmm", "sum", "add"]
    leaves = [n.name for n in found.nodes if n.kind == "leaf"]
    assert sorted(leaves) == [
        "model.0.bias",
        "model.0.weight",
        "model.2.bias",
        "model.2.weight",
        "x",
    ]


def test_what_the_user_fills_a_parameter_with_and_a_later_reset_are_operations():
    with minigrad.record() as tape:
        layer = nn.Linear(2, 2, bias=False)
        nn.init.ones_(layer.weight)
        layer(minigrad.ones(2))
        layer.reset_parameters()

    ops = [(n.op, n.version) for n in tape.shown().nodes if n.kind == "op" and n.inplace]
    assert [op for op, _ in ops] == ["copy", "copy"] and ops[0][1] < ops[1][1]


@pytest.mark.parametrize("times, arrows", [(12, 12), (13, 0)])
def test_a_weight_that_many_folded_boxes_use_is_drawn_inside_them(times, arrows):
    found = model_called(times)
    folded = next(v for v in found.views if v.id == "folded")
    weight = next(n.id for n in found.nodes if n.name == "model.0.weight")

    assert sum(route.from_ == weight for route in folded.routes) == arrows
    assert sum(weight in view.boxes for view in found.views if view.group) >= times


def test_an_empty_tape_has_all_its_faces():
    with minigrad.record() as tape:
        pass

    ElementTree.fromstring(tape.svg())
    assert tape.text().startswith("tape: 0 operations, 0 leaves\n\nNothing was recorded")
    assert tape.html()


def test_operators_are_shown_as_they_are_written():
    x, n = minigrad.tensor([1.0, 2.0]), minigrad.tensor([5, 6])
    namespace = {"x": x, "n": n}
    with minigrad.record("tape", namespace=namespace) as tape:
        for _ in (x == 1, x != 1, x < 1, x <= 1, x > 1, x >= 1, x // 2, n % 4, n & 1, n | 1, n ^ 1):
            pass
        n << 1, n >> 1

    shown = [node["expression"] for node in tape.document["nodes"] if node["op"]]

    signs = "== != < <= > >=".split()
    assert shown[:6] == [f"x {sign} 1" for sign in signs]
    assert shown[6:] == ["x // 2", "n % 4", "n & 1", "n | 1", "n ^ 1", "n << 1", "n >> 1"]


def test_a_pass_within_a_pass_leaves_the_counts_and_the_queue_of_the_outer_one():
    x, w = minigrad.ones(2).requires_grad_(), minigrad.ones(2).requires_grad_()
    with minigrad.record() as tape:
        y = x * 2
        inner = (w * 3).sum()
        p = y.exp()
        p.register_hook(lambda g: inner.backward())
        z = (p + y.sin()).sum()
        z.backward()
    found = tape.shown()
    inner_ends = max(k for k, s in enumerate(found.steps, 1) if s.pass_ == 2)
    arrived = [
        d.arrived for s in found.steps for d in s.details if d.event == "deposit" and d.to == "n1"
    ]
    assert arrived == [1, 2]
    after = tape.at(inner_ends + 1)  # the exp, whose hook it was
    assert after.number == 1 and after.ready == ("MulBackward0 of y",)
    assert tape.at(inner_ends).number == 2


def test_a_variable_that_is_called_like_an_op_keeps_its_name():
    layer = minigrad.nn.Linear(3, 2)
    x, t = minigrad.ones(1, 3), minigrad.zeros(1, 2)

    with minigrad.record() as tape:
        minigrad.nn.functional.mse_loss(layer(x), t)
        t = x.t() * 2
        t = t * 3

    names = [node.name for node in tape.shown().nodes]
    assert {"t", "t#1", "t#2"} <= set(names) and len(names) == len(set(names))


def test_the_code_of_a_tape_is_the_whole_function_with_the_way_to_each_line():
    class Double(minigrad.nn.Module):
        def forward(self, x):
            return x * 2

    model, x = Double(), minigrad.tensor(1.0, requires_grad=True)
    with minigrad.record() as tape:
        # nothing is recorded here
        z = model(x)

    found = tape.shown()
    node = found.nodes[-1]
    text = [line.text for line in found.code]
    assert z is not None and "# nothing is recorded here" in text
    assert [found.code[k].text for k in node.calls] == ["z = model(x)"]
    assert (found.code[node.code].text, found.code[node.code].indent) == ("return x * 2", 12)


class Exponential(minigrad.autograd.Function):
    """z = exp(x), whose result is saved"""

    @staticmethod
    def forward(ctx, x):
        z = x.exp()
        ctx.save_for_backward(z)
        return z, z * 2

    @staticmethod
    def backward(ctx, g, g_twice):
        (z,) = ctx.saved_tensors
        return (g + 2 * g_twice) * z


def test_a_result_that_a_function_has_saved_is_the_same_node_when_it_is_used_again():
    x = minigrad.ones(2).requires_grad_()
    with minigrad.record() as tape:
        minigrad.autograd.grad(Exponential.apply(x)[0].sum(), x, create_graph=True)
    found = tape.shown()
    assert [n.op for n in found.nodes].count("Exponential") == 1
    product = next(n for n in found.nodes if n.op == "mul" and n.backward)
    assert [found.node(e.from_).op for e in found.edges if e.to == product.id and e.gradient] == [
        "Exponential"
    ]


def test_the_gradient_of_relu_is_shown_as_a_function_of_its_input():
    x = minigrad.ones(2).requires_grad_()
    with minigrad.record() as tape:
        h = x * 1
        minigrad.autograd.grad(h.relu().sum(), x, create_graph=True)
        minigrad.autograd.grad(x.relu().sum(), x, create_graph=True)

    found = tape.shown()
    of = [
        {found.node(e.from_).name for e in found.edges if e.to == n.id}
        for n in found.nodes
        if n.op == "constant_in"
    ]
    assert of == [{"h", "keep#1"}, {"x", "keep#2"}]


def test_what_runs_in_inference_mode_is_recorded():
    x = minigrad.ones(2, requires_grad=True)

    with minigrad.record() as tape, minigrad.inference_mode():
        z = x * 2
        z.add_(1)
        first, total = z[0], minigrad.zeros(2)
        total.copy_(z)
        x -= total

    made = [(n["name"], n["version"]) for n in tape.document["nodes"] if n["kind"] == "op"]
    assert made == [("z", 0), ("z", 0), ("first", 0), ("total", 0), ("x", 1)]
    assert {n["version"] for n in tape.document["nodes"]} == {0, 1} and first.is_inference()
