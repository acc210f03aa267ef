"""The hard cases of a tape, in its document: each fact in plain Python, not through pixels."""

import json
import re
from itertools import combinations, product
from time import process_time
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.tape.document import Bounds
from minigrad.tape.jacobian import MOST
from minigrad.tape.names import in_words
from minigrad.tape.render import boxes, draw, page, style, text
from minigrad.tape.render.shapes import Group, Lines
from minigrad.tape.render.thumbnail import thumbnail
from minigrad.tape.snapshot import Snapshot
from minigrad.utils.checkpoint import checkpoint
from tests import tape_cases as cases
from tests import tape_schema


def nodes(tape, **wanted):
    return [n for n in tape.document["nodes"] if all(n[k] == v for k, v in wanted.items())]


def node(tape, **wanted):
    [found] = nodes(tape, **wanted)
    return found


def details(tape, event):
    return [d for s in tape.document["steps"] for d in s["details"] if d["event"] == event]


def first(tape, value):
    return None if value is None else tape.document["values"][value]["first"]


# ---------------------------------------------------------------------- all of them


def test_the_schema_describes_the_classes_of_the_document():
    stored = tape_schema.PATH.read_text(encoding="utf-8")

    assert stored == tape_schema.written(), "run  python -m tests.tape_schema"


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.__name__)
def test_the_document_fits_its_schema(case):
    jsonschema = pytest.importorskip("jsonschema")

    found = json.loads(json.dumps(case().document, allow_nan=False))

    jsonschema.Draft202012Validator(tape_schema.schema()).validate(found)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.__name__)
def test_every_face_can_be_drawn_at_every_step(case):
    tape = case()

    for step in range(len(tape.document["steps"]) + 1):
        ElementTree.fromstring(tape.svg(step))
        assert repr(tape.at(step)).startswith(f"step {step} of ")
    assert tape.text() and tape.html()


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.__name__)
def test_after_the_last_detail_of_a_step_things_stand_as_after_the_step(case):
    tape = case()

    for k, step in enumerate(tape.document["steps"], 1):
        whole, detailed = tape.at(k), tape.at(k, len(step["details"]))
        assert (whole.ready, whole.waiting, whole.grads) == (
            detailed.ready,
            detailed.waiting,
            detailed.grads,
        )


# ---------------------------------------------------------------------- one by one


def test_no_gradient_yet_is_not_zero():
    tape = cases.no_gradient_yet()

    assert ">.grad none yet<" in tape.svg()
    assert tape.at().grads == {}


def test_a_version_conflict_names_the_versions_and_the_culprit():
    tape = cases.version_conflict()
    [error] = details(tape, "error")
    culprit = node(tape, id=error["conflict"]["by"])

    assert (error["conflict"]["saved"], error["conflict"]["now"]) == (0, 1)
    assert (culprit["expression"], culprit["version"]) == ("w += 1", 1)
    assert tape.document["code"][culprit["code"]]["text"] == "w += 1"
    assert tape.at().current == "MulBackward0 of z"
    assert "× w saved v0, now v1" in tape.svg() and "changed it" in tape.svg()
    assert "SavedValueChanged" in error["message"]
    assert draw.headline(tape.shown())[1].endswith(" ran, then SavedValueChanged; the code stopped")


def test_a_box_has_room_for_an_error_that_the_code_caught():
    found = cases.conflict_that_was_caught().shown()
    [step] = [k for k, s in enumerate(found.steps, 1) if s.event == "error"]
    at_the_error, at_the_end = boxes.Sizes(found, step), boxes.Sizes(found)
    stopped = found.node(found.steps[step - 1].node)

    assert at_the_error.note(stopped) == "stopped here" and at_the_end.note(stopped) == ""
    assert at_the_end.box(stopped) == at_the_error.box(stopped)


def test_views_share_their_memory_and_a_write_shows_on_all():
    tape = cases.views_of_one_base()
    shared = {n["name"] for n in tape.document["nodes"] if n["storage"] is not None}
    write = node(tape, inplace=True)

    assert shared == {"b", "first", "rest"}
    assert (write["label"], write["expression"], write["backward"]) == (
        "b v1",
        "rest *= 10",
        "CopySlices",
    )
    assert [n["label"] for n in nodes(tape, replayed=True)] == ["rest v1", "first v1"] or [
        n["label"] for n in nodes(tape, replayed=True)
    ] == ["first v1", "rest v1"]
    assert sum(e["view"] for e in tape.document["edges"]) == 4
    assert tape.at().grads == {"x": "[2, 20, 20]"}


def test_a_write_to_an_entry_is_shown_as_it_was_written():
    w = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with minigrad.record() as tape:
        h = w * 2
        h[0] = 0.0
        h[1:] *= 3
        first = h[0]
        first.copy_(w[1])

    wrote = [n["expression"] for n in nodes(tape, inplace=True)]

    assert wrote == ["h[0] = 0", "h[1:] *= 3", "h[1:] = getitem#2", "first.copy_(getitem#4)"]


def test_a_tensor_has_several_versions_only_if_they_are_on_the_tape():
    tape = cases.modules()  # a layer wrote to its weights when it was made

    weight = node(tape, name="net.0.weight")

    assert (weight["label"], weight["version"], weight["versions"]) == ("net.0.weight", 1, 1)
    assert ">v1</text>" not in tape.svg()


def test_a_saved_number_has_no_version():
    x = minigrad.tensor([2.0, 3.0], requires_grad=True)
    with minigrad.record() as tape:
        y = x**2
        y.sum().backward()

    assert "Its saved values are as they were: x v0, 2." in [
        d["text"] for d in details(tape, "check")
    ]


def test_the_entries_of_a_small_matrix_are_all_in_the_sentence():
    x = minigrad.tensor([[1.0], [2.0]], requires_grad=True)
    with minigrad.record() as tape:
        (x * x).sum().backward()

    assert tape.document["steps"][-1]["text"] == "x.grad is now [[2], [4]]."


def test_contributions_are_counted_as_they_arrive():
    tape = cases.fan_in()
    to_x = [
        (d["arrived"], d["expected"], d["ready"])
        for d in details(tape, "deposit")
        if d["to"] == "n0"
    ]

    assert to_x == [(1, 3, False), (2, 3, False), (3, 3, True)]
    assert tape.at(4).waiting == {"AccumulateGrad of x": 2}
    assert ">1 of 3 arrived<" in tape.svg(4)
    assert tape.at(5, 4).waiting == {"AccumulateGrad of x": 1}


def test_the_ready_queue_is_in_the_order_in_which_nodes_run():
    tape = cases.modules()
    steps = tape.document["steps"]

    for k, step in enumerate(steps[:-1], 1):
        if step["phase"] == "backward" and steps[k]["event"] == "node":
            following = tape.at(k + 1).current
            assert tape.at(k).ready[0] == following


def test_accumulation_is_shown_as_a_sum_of_terms():
    tape = cases.accumulation()

    assert tape.at(4).grads == {"x": "1"}
    assert tape.at().grads == {"x": "1 (backward 1) + 3 (backward 2) = 4"}


def test_a_gradient_that_was_zeroed_in_between_starts_a_new_sum():
    x = minigrad.tensor(3.0, requires_grad=True)
    with minigrad.record() as tape:
        (x * 2).backward()
        x.grad = None
        (x * 5).backward()

    assert tape.at().grads == {"x": "5"}


def test_a_broadcast_says_over_which_axes_the_gradient_is_summed():
    summed = [e["summed"] for e in cases.broadcasting().document["edges"]]

    assert summed == [
        None,
        "summed over axis 0 (4)",
        None,
        "summed over axis 1 (3 → 1)",
        None,
    ]


def test_a_freed_node_stops_the_second_pass_and_keeps_the_engines_words():
    tape = cases.freed_twice()
    state = tape.at()

    assert state.freed == {"n1": 1}
    assert state.current == "MulBackward0 of mul#1"
    assert "retain_graph=True" in details(tape, "error")[0]["message"]
    for said in (">freed x<", ">.grad from backward 1<", "stopped here"):
        assert said in tape.svg()
    assert "backward 2 stopped: BackwardTwice" in tape.text()


def test_retain_graph_frees_nothing_in_the_first_pass():
    tape = cases.retained()
    seeds = [k for k, s in enumerate(tape.document["steps"], 1) if s["event"] == "seed"]

    assert tape.at(seeds[1]).freed == {}
    assert set(tape.at().freed.values()) == {2}


def test_hooks_are_shown_with_the_gradient_before_and_after():
    tape = cases.hooks()
    [hook] = details(tape, "hook")

    assert hook["when"] == "before"
    assert first(tape, hook["before"][0]) == [1.0, 1.0]
    assert first(tape, hook["after"][0]) == [2.0, 2.0]
    assert hook["text"] == "A hook saw the gradient all 1, and replaced it with all 2."
    assert ">hook<" in tape.svg()
    assert details(tape, "keep")[0]["text"].startswith("y retains its gradient")


def test_what_a_hook_returned_is_what_is_added_requested_and_retained():
    w = minigrad.ones(2, requires_grad=True)
    w.grad = minigrad.ones(2)
    w.register_hook(lambda g: g * 2)
    u = w * 3
    u.register_hook(lambda g: g * 5)
    u.retain_grad()
    with minigrad.record() as tape:
        u.sum().backward(retain_graph=True)
        minigrad.autograd.grad(u.sum(), u)

    [added] = details(tape, "accumulate")
    assert added["text"] == "w.grad was all 1; all 30 is added: all 31."
    [asked], kept = details(tape, "capture"), details(tape, "keep")
    assert [first(tape, d["g"]) for d in (asked, *kept)] == [[5.0, 5.0]] * 3


def test_no_grad_and_detach_stop_the_tape():
    tape = cases.stops()

    assert node(tape, name="a")["stop"] == "no_grad"
    assert node(tape, name="d")["stop"] == "detach"
    assert node(tape, name="d")["expression"] == "x.detach()"
    assert node(tape, name="d")["storage"] == node(tape, name="x")["storage"]
    from_a = [e for e in tape.document["edges"] if e["from"] == node(tape, name="a")["id"]]
    assert [e["gradient"] for e in from_a] == [False]
    assert ">stop: no_grad<" in tape.svg()


def test_nodes_that_lead_to_no_input_asked_about_are_not_needed():
    tape = cases.not_needed()
    state = tape.at()
    pruned = {tape.document["nodes"][int(k[1:])]["name"] for k in state.backward.pruned}

    assert pruned == {"y", "p"}
    assert ">not needed<" in tape.svg()
    assert state.backward.captured and state.grads == {}
    assert "goes to the caller" in details(tape, "capture")[0]["text"]


def test_code_that_fails_half_way_leaves_the_failing_op_with_its_shapes():
    tape = cases.fails_half_way()
    failed = node(tape, kind="failed")

    assert failed["expression"] == "h @ w"
    assert failed["shapes"] == ["(2, 3)", "(4, 5)"]
    assert tape.document["error"]["node"] == failed["id"]
    assert tape.document["error"]["text"].startswith("ShapeError")
    assert "failed here" in tape.svg()


def test_a_sparse_gradient_is_kept_by_its_rows():
    tape = cases.sparse()
    [gathered] = details(tape, "accumulate")
    value = tape.document["values"][gathered["after"]]

    assert value["shape"] == [10, 2]
    assert value["rows"] == [1, 4, 1]
    assert tape.at().grads == {"table": "sparse: rows 1, 4, 1"}


def test_forward_mode_shows_the_tangent_beside_the_value():
    tape = cases.forward_mode()
    square, z = nodes(tape, kind="op")

    assert [first(tape, t) for t in square["tangents"]] == [[4.0]]
    assert first(tape, z["tangents"][0])[0] == pytest.approx(4 * -0.6536436, rel=1e-6)
    assert len(nodes(tape, kind="op")) == 2  # what computes the tangents is no op of the learner's


def test_create_graph_makes_a_second_layer():
    tape = cases.higher_order()
    steps = [(s["phase"], s["event"]) for s in tape.document["steps"]]

    assert {n["made_by"] for n in nodes(tape, kind="op")} == {None, 1}
    assert ("backward", "op") in steps
    assert tape.at().grads == {"x": "18"}


def test_what_a_pass_computes_is_said_to_be_for_the_node_whose_turn_follows():
    texts = [s["text"] for s in cases.higher_order().document["steps"]]
    turn = next(k for k, text in enumerate(texts) if text.startswith("MulBackward0 of z received"))

    assert [text.partition(", for ")[2] for text in texts[turn - 2 : turn]] == 2 * [
        "MulBackward0 of z."
    ]
    assert not any(", for " in text for text in texts[: turn - 2])


@pytest.mark.parametrize("name", ["graph", "tape", "recursive"])
def test_the_three_engines_on_the_same_tape(name):
    tape = cases.engine(name)

    assert tape.document["backward"][0]["engine"] == name
    assert tape.at().engine == name
    assert tape.at().grads["x"].endswith("8")


def test_the_recursive_engine_visits_a_node_once_for_each_path():
    ran = [s["node"] for s in cases.engine("recursive").document["steps"] if s["event"] == "node"]

    assert (ran.count("n0"), ran.count("n1"), ran.count("n2")) == (4, 2, 1)


def test_modules_are_scopes():
    tape = cases.modules()

    paths = [n["module"] for n in nodes(tape, kind="op")]

    assert list(dict.fromkeys(paths)) == ["Sequential.0", "Sequential.1", "Sequential.2", None]


def test_a_node_with_several_results_waits_for_both():
    tape = cases.several_results()
    [split] = [n for n in tape.document["nodes"] if n["name"] == "a, b"]
    arrived = [d["arrived"] for d in details(tape, "deposit") if d["to"] == split["id"]]

    assert arrived == [1, 2]
    assert len(split["results"]) == 1


def test_each_result_of_a_function_has_a_name_of_its_own():
    tape = cases.user_function()
    told = {step["node"]: step["text"] for step in tape.document["steps"]}

    assert [n["expression"] for n in tape.document["nodes"] if n["op"]][:2] == [
        "ProductAndSum(a, b)",
        "p * q",
    ]
    sends = [row[-1] for row in text.backward_rows(tape.shown())[1]][1:]
    assert sends[:3] == ["c", "p, q", "a, b"]
    assert told["n2"] == (
        "ProductAndSumBackward of p, q received [4, 6] for p, [3, 8] for q; "
        "sent [15, 32] to a, [7, 20] to b. Ready now: a, b."
    )
    assert "receives  [4, 6] and [3, 8]" in repr(list(tape.steps())[2])


def test_the_gradients_of_a_function_go_to_its_tensors_wherever_its_other_arguments_are():
    class Scaled(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x, k, f, y):
            return f(x * k) + y

        @staticmethod
        def backward(ctx, g):
            return None, None, None, g

    x, y = minigrad.ones(2), minigrad.ones(2, requires_grad=True)
    with minigrad.record() as tape:
        Scaled.apply(x, 3, minigrad.sin, y * 2).sum().backward()
    found = tape.shown()
    [scaled] = nodes(tape, op="Scaled")

    assert [i.get("constant") for i in scaled["inputs"]] == [None, "3", "sin", None]
    sent = [e.from_ for e in found.edges if e.to == scaled["id"] and e.gradient]
    assert [found.node(key).name for key in sent] == ["mul#1"]


def test_what_a_function_saved_is_shown_with_its_names():
    found = cases.user_function().shown()
    saved = [s.of(found.nodes) for s in found.node("n2").saved]

    assert saved == ["a", "b"]


def test_only_the_rules_that_ran_are_told_and_in_the_users_names():
    w = minigrad.tensor(2.0, requires_grad=True)
    with minigrad.record() as tape:
        (w * 3).backward()
    told = [d["text"] for step in tape.document["steps"] for d in step["details"]]

    assert "Its rule is applied: d(mul#1)/dw = 3." in told


def test_the_error_of_a_pass_names_the_tensor_that_changed_as_the_user_does():
    tape = cases.version_conflict()
    error = tape.document["steps"][-1]["details"][-1]

    for message in (error["message"], tape.document["error"]["text"], tape.text()):
        assert (
            "MulBackward0 (z = x * w) needs w as it was when z was computed, but w has" in message
        )
    assert "w at version 1" in error["message"] and "y" not in error["conflict"]["by"]


def test_elementwise_ops_have_their_local_derivatives_in_numbers():
    tape = cases.fan_in()

    local = nodes(tape, op="mul")[0]["local"]

    assert {name: first(tape, v) for name, v in local.items()} == {"x": [2.0], "y": [2.0]}
    assert tape.document["ops"]["mul"]["rules"] == ["dz/dx = y", "dz/dy = x"]


def jacobians(tape):
    """The Jacobians of a tape's document, by the name of the result and the place of the input."""
    values = tape.document["values"]
    return {
        (n["label"], k): np.reshape(values[i["jacobian"]]["first"], values[i["jacobian"]]["shape"])
        for n in tape.document["nodes"]
        for k, i in enumerate(n["inputs"])
        if i.get("jacobian") is not None
    }


def test_a_small_node_has_its_jacobian_one_row_for_each_entry_of_the_result():
    x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = minigrad.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]])
    with minigrad.record() as tape:
        z = w @ x
        p = z.softmax(0)
        q = p * 2  # elementwise: it has `local` instead
        q += z
        total = x.sum()  # noqa: F841
        wide = x.expand(7, 3)  # noqa: F841  21 entries are more than 16
        product = minigrad.ones(2, 10).requires_grad_() @ z.new_ones(10).requires_grad_()  # noqa: F841
    found = jacobians(tape)
    s = p.detach().numpy()

    assert found.pop(("product", 1)).shape == (2, 10)  # not by the other operand, which is large
    assert sorted(found) == [("p", 0), ("q v1", 0), ("q v1", 1), ("total", 0), ("z", 1)]
    assert found["z", 1].tolist() == w.tolist()
    assert np.allclose(found["p", 0], np.diag(s) - np.outer(s, s), atol=1e-6)
    assert found["q v1", 1].tolist() == [[1, 0], [0, 1]]
    assert found["total", 0].tolist() == [[1, 1, 1]]


def test_jacobians_are_computed_for_the_document_and_are_few():
    x = minigrad.ones(16).requires_grad_()
    seen = []
    with minigrad.record() as tape:
        for _ in range(60):
            z = x.cumsum(0)
        p, q = cases.ProductAndSum.apply(z, z)
        events = len(tape._recorder.events)
        seen.append(len(jacobians(tape)))  # asked for while it records
        assert len(tape._recorder.events) == events

    assert seen == [MOST // 256] and len(jacobians(tape)) == MOST // 256


def test_the_last_digit_of_a_number_changes_nothing_in_a_box():
    x = np.float64([[-3.0, 1.0, 2.0], [-1.5, 1.5, 4.5], [-4.5, 0.5, -0.5]])
    noise = 1 + 1e-7 * np.float64([[1, -1, 1], [-1, 1, 1], [1, 1, -1]])
    many = np.arange(25.0)  # half of them between two bars

    assert thumbnail(Snapshot(x * noise)) == thumbnail(Snapshot(x))
    assert thumbnail(Snapshot(x)).lines == ["0 ± 2.571", "[-4.5, 4.5]"]
    for shift in (1e-7, -1e-7):
        moved = many + shift * (-1) ** many
        assert thumbnail(Snapshot(moved)).bars == thumbnail(Snapshot(many)).bars


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("center, spread", [(0, 1), (1000, 1), (0, 1e-25), (0, 1e25), (7, 0)])
@pytest.mark.parametrize("shape", [(30, 20), (60, 50)])  # copied whole, and summarized
def test_the_facts_about_an_array_are_right_wherever_its_numbers_lie(kind, center, spread, shape):
    with np.errstate(over="ignore"):
        x = (center + spread * np.random.default_rng(0).normal(size=shape)).astype(kind)
    exact = x[np.isfinite(x)].astype(np.float64)
    facts = Snapshot(x).facts()

    assert facts["inf"] == x.size - exact.size
    if exact.size:
        found = [facts[k] for k in ("min", "max", "mean", "std", "norm")]
        wanted = [exact.min(), exact.max(), exact.mean(), exact.std(), np.sqrt((exact**2).sum())]
        np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=3e-6 * np.abs(exact).mean())
    x.flat[:3] = np.nan, np.inf, -np.inf
    with np.errstate(all="raise"):
        assert [Snapshot(x).facts()[k] for k in ("nan", "inf")] == [1, np.isinf(x).sum()]


def test_an_update_under_no_grad_is_a_new_version_of_the_parameter():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        (w * w).sum().backward()
        with minigrad.no_grad():
            w -= 0.1 * w.grad

    assert node(tape, name="w.grad")["kind"] == "leaf"
    assert node(tape, label="w v1")["stop"] == "no_grad"


def test_what_hooks_have_packed_is_not_unpacked_by_looking():
    unpacked = []
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    packing = minigrad.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: unpacked.append(t))
    with minigrad.record() as tape, packing:
        z = x * x  # noqa: F841

    assert unpacked == []
    assert nodes(tape, op="mul")[0]["saved"] == []


def test_derivatives_of_derivatives_by_transforms_can_be_recorded():
    third = minigrad.func.grad(minigrad.func.grad(minigrad.func.grad(lambda x: x**5)))
    with minigrad.record() as tape:
        third(minigrad.tensor(2.0))

    ElementTree.fromstring(tape.svg())


def test_the_nodes_of_a_tangent_are_on_the_tape_once_even_if_a_pass_meets_them_first():
    with minigrad.record() as tape:
        minigrad.func.grad(lambda x: minigrad.func.jvp(lambda x: x**3, (x,), (x,))[1].sum())(
            minigrad.tensor([3.0, 2.0])
        )
    [one] = tape.document["backward"]

    ran = [s["node"] for s in tape.document["steps"] if s["event"] == "node"]
    assert len(ran) == len(set(ran)) and one["finished"]
    ElementTree.fromstring(tape.svg())


# ---------------------------------------------------------------------- going through it


def test_a_step_can_be_set_and_a_node_selected_by_name():
    tape = cases.fan_in()

    tape.step = 4
    tape.select("x")

    assert tape.at().step == 4
    assert tape.selected == "x"
    tape.select("MulBackward0")
    assert tape.selected == "mul#1"


def test_a_step_or_name_that_is_not_there_is_refused():
    tape = cases.fan_in()

    with pytest.raises(ValueError, match="from 0 to 6"):
        tape.step = 7
    with pytest.raises(KeyError, match="Did you mean 'mul#1'"):
        tape.select("mul#2")


def test_hidden_slips_are_named_by_the_check():
    tape = cases.broadcasting()
    right = {"x": [[1.0] * 3] * 4, "b": [4.0] * 3, "c": [[6.0]] * 4}

    assert tape.check(**right)
    assert "It has the opposite sign" in repr(tape.check(b=[-4.0] * 3))
    assert "factor 2 is missing" in repr(tape.check(b=[2.0] * 3))
    assert "The sum over the broadcast axis 0 is missing" in repr(tape.check(b=[[1.0] * 3] * 4))
    with pytest.raises(AssertionError, match="0 of 1"):
        tape.check(strict=True, b=[1.0, 2.0, 3.0])
    with pytest.raises(KeyError, match="no leaf 'w'"):
        tape.check(w=1.0)
    for nothing, said in ((None, "is None"), ("4", "is of type str"), (abs, "is of type builtin")):
        with pytest.raises(TypeError, match=f"an array of numbers, and this {said}"):
            tape.check(b=nothing)


def test_a_check_before_any_gradient_says_what_to_do():
    found = cases.no_gradient_yet().check(x=[1.0, 2.0])

    assert not found
    assert "no gradient has reached x on this tape yet. To fix it, run a backward pass" in repr(
        found
    )


def test_a_gradient_with_axes_too_many_is_compared():
    tape = cases.broadcasting()

    assert "Its shape is (1, 1), and the gradient's is (3,)." in repr(tape.check(b=[[4.0]]))


def test_the_part_through_one_op_is_recognized():
    x = minigrad.tensor(2.0, requires_grad=True)
    with minigrad.record() as tape:
        (x.exp() + x * 3).backward()

    assert "only contains the part through mul#1" in repr(tape.check(x=3.0))


# ---------------------------------------------------------------------- folding


def chain_of(n):
    return cases.loop(n // 2, ops=2)


def test_a_loop_is_folded_into_its_iterations():
    found = cases.loop(20, ops=3).document

    assert [(g["kind"], g["count"]) for g in found["groups"]] == [("copy", 3)] * 20
    assert found["groups"][19]["title"].endswith(", iteration 20")
    assert [v["id"] for v in found["views"]][:2] == ["root", "folded"]
    assert not found["views"][0]["folded"]


def test_modules_are_folded_into_calls():
    minigrad.manual_seed(0)
    block = lambda: minigrad.nn.Sequential(minigrad.nn.Linear(2, 2), minigrad.nn.Tanh())
    net = minigrad.nn.Sequential(*[block() for _ in range(8)])
    with minigrad.record() as tape:
        net(minigrad.ones(1, 2)).sum().backward()

    calls = [g for g in tape.document["groups"] if g["kind"] == "call"]

    assert {g["path"] for g in calls} >= {f"Sequential.{k}" for k in range(8)}


def test_a_model_that_is_nearly_everything_is_not_folded_into_one_box():
    block = lambda: nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.LayerNorm(2))
    with minigrad.record() as tape:
        nn.Sequential(*[block() for _ in range(8)])(minigrad.ones(1, 2)).sum().backward()
    folded = next(v for v in tape.document["views"] if v["id"] == "folded")
    titles = {g["id"]: g["title"] for g in tape.document["groups"]}

    assert [titles[key] for key in folded["boxes"] if key in titles] == [
        f"{k}: Sequential" for k in range(8)
    ]


def test_a_leaf_that_an_operation_made_looks_like_a_leaf_and_is_repeated_far_away():
    with minigrad.record() as tape:
        w = (minigrad.ones(2, 2) * 0.5).requires_grad_()
        h = minigrad.ones(1, 2)
        for _ in range(6):
            h = (h @ w).tanh()
        h.sum().backward()
    found = tape.document
    [made] = [n for n in found["nodes"] if n["name"] == "w"]

    assert (made["kind"], made["backward"]) == ("op", "AccumulateGrad")
    assert {chip["of"] for chip in found["views"][0]["chips"]} == {made["id"]}
    assert ">leaf that requires grad<" in tape.svg()


def test_the_text_and_the_legend_of_a_folded_loop_tell_what_is_drawn():
    x, y = minigrad.ones(2, 2).requires_grad_(), minigrad.ones(2).requires_grad_()
    opt = minigrad.optim.SGD([x, y], lr=0.1)
    with minigrad.record() as tape:
        for _ in range(4):
            (x.t() + y).exp().sum().backward()
            opt.step()
    found = tape.shown()
    sizes = boxes.Sizes(found)
    whole, first = (dict(draw.signs_of(found, view, sizes.state)) for view in found.views[:2])

    assert list(whole) == ["forward", "backward"]  # no box of a node, no double line
    assert {"leaf", "inplace", "freed"} <= first.keys()
    assert tape.svg().count(">2 gradients<") == 3  # of the four arrows between two steps
    notes = [sizes.note(n) for n in found.nodes if n.name == "x"]
    assert notes == [".grad now at v4"] * 3 + [".grad", ".grad from backward 4"]


def test_the_checks_of_a_distribution_are_not_on_the_tape():
    logits = minigrad.zeros(2, requires_grad=True)
    with minigrad.record() as tape:
        chosen = minigrad.distributions.Categorical(logits=logits)
        chosen.log_prob(minigrad.tensor(1)).backward()

    assert "all" not in {n.op for n in tape.shown().nodes}


def test_what_a_checkpoint_computes_again_is_on_the_tape():
    w = minigrad.ones(2, 2, requires_grad=True)
    with minigrad.record() as tape:
        checkpoint(
            lambda x: (x @ w).tanh().sin(), minigrad.ones(1, 2), use_reentrant=False
        ).sum().backward()
    again = [n for n in tape.shown().nodes if n.made_by == 1]

    assert [n.op for n in again] == ["matmul", "tanh"]
    said = next(s.text for s in tape.shown().steps if s.node == again[0].id)
    assert said.endswith(", for SinBackward0 of sin#1.")


def test_a_dtype_is_written_as_users_write_it():
    with minigrad.record() as tape:
        (minigrad.ones(2) > 0).float()

    assert tape.shown().nodes[-1].expression == "to(gt#1, dtype=float32)"


def test_the_loop_of_a_recurrent_layer_is_folded_into_time_steps():
    lstm = nn.LSTM(3, 4)
    with minigrad.record() as tape:
        lstm(minigrad.ones(6, 2, 3))[0].sum().backward()
    groups = {g["id"]: g for g in tape.document["groups"]}

    [whole] = [g for g in groups.values() if g["title"] == "6 time steps"]
    titles = [groups[key]["title"] for key in whole["members"]]
    assert titles == [f"time step {k}" for k in range(1, 7)]
    assert groups[whole["parent"]]["title"] == "LSTM"


@pytest.mark.parametrize("n", [1_000, 3_000])
def test_a_long_tape_is_folded_and_no_picture_has_more_than_400_boxes(n):
    tape = chain_of(n)

    views = tape.document["views"]

    assert views[0]["folded"]
    assert f"{n + 2} nodes folded into" in draw.headline(tape.shown())[1]
    assert max(len(v["boxes"]) for v in views) <= 400
    drawn = {b for v in views for b in v["boxes"]}
    assert {x["id"] for x in tape.document["nodes"]} <= drawn
    assert "more rows" in tape.text()


def test_every_edge_of_a_folded_view_points_down():
    for view in chain_of(1_000).document["views"]:
        tops = {key: place[1] for key, place in view["boxes"].items()}
        assert all(tops[r["from"]] < tops[r["to"]] for r in view["routes"])


def test_a_thousand_nodes_are_laid_out_in_less_than_two_seconds_of_computing():
    tape = chain_of(1_000)

    start = process_time()
    found = tape.document

    assert len(found["nodes"]) == 1_002
    assert process_time() - start < 2.0  # the whole document; a quarter of it is the layout


@pytest.mark.parametrize("case", cases.CASES, ids=lambda c: c.__name__)
def test_no_text_is_small_and_no_label_lies_on_a_box_or_on_another_label(case):
    tape = case()
    sizes = [float(e.get("font-size", 11)) for e in ElementTree.fromstring(tape.svg()).iter()]

    assert min(sizes) >= 11
    found = tape.shown()
    summed = {e.id: e.summed for e in found.edges}
    for view in found.views:
        places = [Bounds(r.mark.x, r.mark.y - 11, r.mark.room, 14) for r in view.routes if r.mark]
        for r in view.routes:
            if r.label:
                lines = ["1 of 2", *filter(None, [summed[r.edges[0]]])]
                wide = max(style.text_width(line, 11, bold=True) for line in lines)
                places.append(Bounds(r.label.x, r.label.y - 11, wide, 14 * len(lines)))
        for a, b in [*combinations(places, 2), *product(places, view.boxes.values())]:
            apart = a.x + a.width <= b.x or b.x + b.width <= a.x
            assert apart or a.y + a.height <= b.y or b.y + b.height <= a.y, (a, b)


def test_a_box_shows_its_value_or_mean_std_and_range_beside_a_picture():
    x = minigrad.arange(-6.0, 6.0).reshape(3, 4).requires_grad_()
    large = minigrad.arange(6000.0).reshape(20, 300)
    with minigrad.record() as tape:
        z = (x * 2).sum()  # noqa: F841
        y = large[:, 1:].reshape(-1) - 3000  # noqa: F841
        small = large[:2, :3]  # noqa: F841
    shown = {n["label"]: n["thumbnail"] for n in tape.document["nodes"]}

    assert shown["x"]["lines"] == ["-0.5 ± 3.452", "[-6, 5]"]
    assert shown["x"]["cells"] == ["IHFD", "CB02", "3468"]
    assert shown["z"]["lines"] == ["= -12"]
    assert shown["small"]["lines"] == ["= [[0, 1, 2], [300, 301, 302]]"]
    assert shown["y"]["lines"] == ["0 ± 1732", "[-2999, 2999]"] and len(shown["y"]["bars"]) == 12
    assert [len(row) for row in shown["large"]["cells"]] == [12] * 10  # every second, every 25th
    picture = tape.svg()
    for line in ("-0.5 ± 3.452", "[-6, 5]", "= -12", "0 ± 1732"):
        assert f">{line}</text>" in picture
    assert tape.png().startswith(b"\x89PNG")
    assert "blue below zero" in picture and "blue below" not in cases.fan_in().svg()  # the legend
    for n in tape.shown().nodes:  # what is written there lies within the box
        width, height = tape.shown().views[0].boxes[n.id][2:]
        sizes = boxes.Sizes(tape.shown())
        assert sizes.value_width(n) + 2 * boxes.PAD <= width
        assert sizes.chips_at(n) + boxes.BOTTOM <= height


# ---------------------------------------------------------------------- what must not get out


def test_a_hostile_name_cannot_leave_the_json_of_the_page():
    tape = cases.hostile()
    written = tape.html()
    data = written.partition('id="document">')[2].partition("</script>")[0]

    assert "<" not in data
    assert "onerror" in json.loads(data)["doc"]["name"]
    assert "<img" not in written and "<img" not in tape.svg()
    assert "\x00" not in written and not {"\x00", "\u202e"} & {*tape.svg()}
    assert "n" * 41 not in tape.svg().partition("<title")[0]


def test_lone_surrogates_and_separators_do_not_break_the_page():
    text = page.json_in_html({"a": "\u2028</script>\ud800"})

    assert json.loads(text)["a"] == "\u2028</script>?"
    assert "\u2028" not in text and "<" not in text


def test_the_script_never_writes_markup():
    text = page.script()

    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "http:",
    ):
        assert word not in text.replace("http://www.w3.org/2000/svg", "")
    assert "fetch(" not in text and "import " not in text.replace("import (", "")


def test_each_module_of_the_script_is_joined_once_says_its_idea_and_is_short():
    found = sorted((page.STATIC / "inspector").glob("*.js"))

    assert sorted(path.stem for path in found) == sorted(page.MODULES)
    for path in found:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("/* ") and text.count("\n") <= 300, path.name


def luminance(color):
    """The relative luminance of "#rrggbb", as WCAG defines it."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear))


def test_every_ink_of_the_inspector_stands_out_on_every_ground():
    inks = "ink faint forward-ink backward-ink done-ink error-ink".split()
    grounds = "ground panel forward-tint backward-tint error-tint second-tint".split()
    themes = re.findall(r"\{([^{}]*--mg-ground: [^{}]*)\}", page.static_file("inspector.css"))
    assert len(themes) == 5  # by default, dark by the system, light and dark by the host, a lecture

    known = {}
    for theme in themes:
        known |= dict(re.findall(r"--mg-([a-z-]+): (#[0-9a-f]{6})", theme))
        for ink, ground in product(inks, grounds):
            dark, light = sorted(luminance(known[name]) for name in (ink, ground))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def points_of(line):
    """Points along a line of a picture, a pixel or two apart."""
    ((start, pieces),), found = line.parts, []
    for piece in pieces:
        corners = [start, *piece] if len(piece) == 3 else [start, start, piece[0], piece[0]]
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = corners
        for t in (k / 60 for k in range(61)):
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            found.append((a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3))
        start = piece[-1]
    return np.array(found)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda c: c.__name__)
def test_an_arrow_and_the_gradients_beside_it_never_meet(case):
    for group in draw.picture(case().shown()).scene:
        if not isinstance(group, Group) or "-r" not in group.id:
            continue
        lines = [item for item in group.items if isinstance(item, Lines) and item.stroke != "none"]
        down = [line for line in lines if line.stroke == style.FORWARD]
        for back in (line for line in lines if line.stroke != style.FORWARD):
            for line in down:
                apart = points_of(line)[:, None] - points_of(back)[None]
                assert np.hypot(*apart.T).min() > 3, group.title


def test_dot_has_both_kinds_of_edges(tmp_path):
    text = cases.fan_in().save(tmp_path / "tape.dot").read_text(encoding="utf-8")

    assert text.startswith("digraph tape {")
    assert "n1 -> n2;" in text and "n2 -> n1 [style=dashed" in text


def test_numbers_that_are_not_finite_are_counted():
    tape = cases.not_finite()

    values = [in_words(v) for v in tape.document["values"] if v["nan"] or v["inf"]]
    told = [d["text"] for step in tape.document["steps"] for d in step["details"]]

    assert "[nan, nan, -0.6931] (2 NaN of 3)" in values
    assert "from 0.5 to 0.5, mean 0.5; 2 NaN of 8, 1 inf of 8" in values
    assert not any(text.startswith("all ") for text in values)
    assert (
        "roots = rsqrt(w) was computed: a (2, 4) array of norm 1.118, but for 2 NaN of 8, 1 inf of 8."
        in told
    )


def test_a_badge_marks_where_the_first_nan_of_each_pass_was_made():
    tape = cases.not_finite()
    [forward, backward] = [s for s in tape.document["steps"] if s.get("first")]

    assert forward["text"].endswith("(2 NaN of 3). The first NaN is made here.")
    assert tape.shown().node(backward["node"]).title == "RsqrtBackward0 of roots"
    assert "first NaN made here" in tape.svg() and "first NaN of backward 1 made here" in tape.svg()
    assert "first NaN made here" not in tape.svg(step=0)
    assert (
        "first NaN: made by " in tape.text() and "first NaN of backward 1: made by " in tape.text()
    )
    made = [step for step in tape.steps() if step.makes]
    assert "makes     NaN, though none came in" in repr(made[0])


def test_what_came_in_with_a_nan_made_none():
    x = minigrad.tensor([0.0, float("nan")], requires_grad=True)
    with minigrad.record() as tape:
        (1 / x).sum().backward()
    [first] = [s for s in tape.document["steps"] if s.get("first")]

    assert (first["first"], first["phase"]) == ("NaN", "backward")


def test_a_bias_that_was_left_out_is_no_input_of_a_convolution():
    x, w = minigrad.ones(1, 1, 4, 4), minigrad.ones(1, 1, 3, 3).requires_grad_()
    with minigrad.record() as tape:
        z = nn.functional.conv2d(x, w)
        z.sum().backward()

    assert [n["name"] for n in nodes(tape, kind="leaf")] == ["x", "w"]
    (made,) = (n["expression"] for n in nodes(tape) if n["op"] == "convolution")
    assert made.startswith("convolution(x, w, None")
    assert tape.differences("w")


def test_a_view_that_is_written_to_another_place_of_its_base_is_not_taken_again():
    r = minigrad.zeros(2, 2)
    with minigrad.record() as tape:
        r[0][1] = 5.0
        r[1][0] = r[0][1]
    ops = [(n.op, n.expression) for n in tape.shown().nodes if n.kind == "op"]
    assert [op for op, _ in ops] == ["getitem", "getitem", "copy", *["getitem"] * 4, "copy"]
    assert ops[-1] == ("copy", "getitem#5[0] = getitem#4")


@pytest.mark.parametrize("engine", ["graph", "tape", "recursive"])
def test_each_engine_tells_which_node_failed(engine):
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError), minigrad.record() as tape:
        y = x.exp()
        z = (y * y).sum()
        y.mul_(2)
        z.backward(engine=engine)
    last = tape.document["steps"][-1]

    assert last["event"] == "error" and last["details"][-1]["conflict"] is not None
    assert last["node"] == node(tape, expression="y * y")["id"]


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_the_node_that_made_nan_is_marked_and_runs_once():
    x = minigrad.tensor([0.0], requires_grad=True)
    with minigrad.autograd.detect_anomaly(), pytest.raises(RuntimeError):
        with minigrad.record() as tape:
            y = (x * 0).sqrt()
            y.mul(0).sum().backward()
    last = tape.document["steps"][-1]

    assert last["node"] == node(tape, name="y")["id"] and tape.at().backward.failed == last["node"]
    assert [d["event"] for d in last["details"]] == ["error"]
