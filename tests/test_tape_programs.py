"""A static program in the inspector: its document, its gradient program beside it, its faces."""

import json
from itertools import combinations
from xml.etree import ElementTree

import pytest

import minigrad
from minigrad import nn, static
from tests import tape_schema
from tests.samples import at_every_sample


def layer(x, w, b):
    return ((x @ w + b).relu() ** 2).sum()


def program(ran=True):
    p = static.record(layer)(minigrad.ones(4, 3), minigrad.ones(3, 2), minigrad.zeros(2))
    if ran:
        p(minigrad.ones(4, 3) * 2, minigrad.ones(3, 2), minigrad.ones(2))
    return p


def deep(n):
    def f(x):
        for _ in range(n):
            x = (x.sin() * x + 1).tanh()
        return x.sum()

    return static.record(f)(minigrad.ones(3))


def placeholders(name="x"):
    x = static.placeholder((2,), name=name)
    return static.program((x * x).sum())


def of_a_module():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    p = static.record(lambda x: model(x).pow(2).mean())(minigrad.ones(5, 3))
    p(minigrad.ones(5, 3))
    return p


CASES = {
    "a layer": program,
    "not run": lambda: program(ran=False),
    "placeholders": placeholders,
    "hostile": lambda: placeholders('</script><img src=x onerror="window.hit=1">\n%0 a'),
    "a module": of_a_module,
    "no instruction": lambda: static.record(lambda x: x)(minigrad.ones(2)),
    "a gradient": lambda: static.record(lambda x: x * x * x)(minigrad.tensor(2.0)).gradient(0),
    "100 instructions": lambda: deep(25),
    "440 instructions": lambda: deep(110),  # more than the 400 boxes that a picture may have
}


@pytest.fixture(scope="module", params=CASES)
def shown(request):
    return CASES[request.param]().show()


def nodes(found, column, **wanted):
    return [
        n
        for n in found["nodes"]
        if n["program"]["column"] == column and all(n["program"][k] == v for k, v in wanted.items())
    ]


def written_for(shown, number):
    """The expressions of the gradient program that the rule of an instruction wrote."""
    [of] = nodes(shown.document, 0, number=number)
    return [n["expression"] for n in nodes(shown.document, 1, role="rule", of=of["id"])]


# ---------------------------------------------------------------------- the document


def test_the_document_fits_the_schema_of_tapes(shown):
    jsonschema = pytest.importorskip("jsonschema")
    if len(shown.document["nodes"]) > 400:
        pytest.skip("more of the same: takes as long as all others together")

    found = json.loads(json.dumps(shown.document, allow_nan=False))

    jsonschema.Draft202012Validator(tape_schema.schema()).validate(found)


def test_every_face_can_be_drawn(shown):
    ElementTree.fromstring(shown.svg())
    assert shown.text().startswith("program: ")
    assert "<img" not in shown.html()
    last = len(shown.document["steps"])
    assert repr(shown.at(last)).startswith(f"step {last} of {last}")


def test_no_two_boxes_overlap_and_the_columns_keep_apart(shown):
    for view in shown.document["views"]:
        places = [*view["boxes"].items(), *((c["of"], c["place"]) for c in view["chips"])]
        assert len(places) <= 400 + len(view["chips"])
        for (_, (x, y, w, h)), (_, (u, v, a, b)) in combinations(places, 2):
            assert x + w <= u or u + a <= x or y + h <= v or v + b <= y
        for column in view.get("columns", [])[1:]:
            edge = column["x"] - column["gap"] / 2
            assert all(x + w < edge or x > edge for _, (x, _, w, _) in places)


def test_the_steps_are_the_instructions_of_the_program_and_then_of_its_gradient():
    p = program()
    shown = p.show()
    g = shown.gradient

    told = [s["text"].partition(" = ")[0] for s in shown.document["steps"]]

    assert told == [f"%{line.result}" for line in (*p.instructions, *g.instructions)]
    phases = [s["phase"] for s in shown.document["steps"]]
    assert phases == ["forward"] * len(p) + ["backward"] * len(g)


def test_an_instruction_of_the_gradient_says_whose_rule_wrote_it():
    shown = program().show()

    assert written_for(shown, "%7") == ["mul(%3, %8)"]
    assert written_for(shown, "%5") == ["ne(%8, %4)", "keep(%9, %10)"]
    assert len(written_for(shown, "%3")) == 4  # for x and for w: a transpose and a product
    assert [n["program"]["comes"] for n in nodes(shown.document, 1, role="copy")] == [
        "as %3",
        "as %4",
        "as %5",
    ]


def test_adding_up_two_contributions_is_no_rule():
    shown = static.record(lambda x: x.sin() * x)(minigrad.tensor(1.0)).show()

    assert [n["op"] for n in nodes(shown.document, 1, role="sum")] == ["add"]
    assert [n["program"]["comes"] for n in nodes(shown.document, 1, role="sum")] == ["sum for %0"]


def test_a_rule_that_is_one_instruction_of_the_program_is_written_out_in_its_gradient():
    target = minigrad.tensor([1, 0])
    loss = static.record(lambda x: minigrad.nn.functional.cross_entropy(x, target))
    gradient = loss(minigrad.ones(2, 3)).gradient(0)
    shown = gradient.show(seeded=True)

    assert [line.op.name for line in gradient.instructions] == ["cross_entropy_dx"]
    assert {n["program"]["of"] for n in nodes(shown.document, 1, role="rule")} == {"n3"}


@at_every_sample(lambda s: s.op.rules)
def test_the_program_beside_it_is_the_gradient_program_itself(sample):
    p = static.record(lambda *xs: sample.op(*xs, **sample.settings))(*sample.args)
    names = ("xs",) * len(sample.args) if sample.op.variadic else sample.op.operands
    wrt = [
        k for k, n in enumerate(names) if n in sample.op.rules and sample.args[k].dtype.kind == "f"
    ]

    shown = p.show(*sample.args, wrt=wrt, seeded=True)

    assert str(shown.gradient) == str(p.gradient(wrt, seeded=True))
    assert shown.document["program"]["note"].startswith("gradient program: ")


# ---------------------------------------------------------------------- values and memory


def test_before_a_run_there_are_no_values_and_after_it_there_are():
    p = program(ran=False)
    before = p.show().document

    assert {n["value"] for n in before["nodes"]} == {None}
    assert before["steps"][0]["text"] == "%3 = matmul(%0, %1), (4, 2) float32."

    p(minigrad.ones(4, 3) * 2, minigrad.ones(3, 2), minigrad.ones(2))
    after = p.show().document

    assert after["steps"][0]["text"] == "%3 = matmul(%0, %1): all 6."
    assert "%16 = matmul(%15, %11): all 112." in after["steps"][-1]["text"]


def test_a_program_that_is_shown_follows_its_runs():
    p = program(ran=False)
    bundle = p._repr_mimebundle_()
    p(minigrad.ones(4, 3) * 2, minigrad.ones(3, 2), minigrad.ones(2))

    assert "all 112" not in bundle["text/plain"]
    assert "all 112" in p._repr_mimebundle_()["text/plain"]
    assert set(bundle) == {"text/plain", "image/svg+xml"}


def test_values_are_those_of_an_eager_run():
    x, w, b = (minigrad.rand(*shape, requires_grad=True) for shape in ((4, 3), (3, 2), (2,)))
    shown = program(ran=False).show(x.detach(), w.detach(), b.detach())
    layer(x, w, b).backward()

    found = shown.document
    returned = [n for n in nodes(found, 1) if n["program"]["ends"] == "returned"]
    by_shape = {tuple(n["shape"]): found["values"][n["value"]]["first"] for n in returned}
    for t in (x, w, b):
        assert by_shape[tuple(t.shape)] == pytest.approx(t.grad.array.reshape(-1).tolist())


def test_buffers_last_readers_and_what_is_freed_then():
    found = program().show().document
    [product, sum_, *_] = [n for n in nodes(found, 0) if n["kind"] == "op"]

    assert product["program"]["memory"] == sum_["program"]["memory"] == "buffer b0"
    assert product["program"]["ends"] == "last read by %4"
    assert sum_["program"]["frees"] == [product["id"]]
    assert "%3 is not read again." in found["steps"][1]["text"]


def test_a_view_lies_in_what_it_is_a_view_of_and_an_index_by_numbers_is_none():
    i = minigrad.tensor([0, 1])
    p = static.record(lambda x, i: (x.t() @ x[i]).sum())(minigrad.ones(2, 2), i)

    memory = [n["program"]["memory"] for n in nodes(p.show().document, 0) if n["kind"] == "op"]

    assert memory[0] == "a view of %0"
    assert not memory[1].startswith("a view")


# ---------------------------------------------------------------------- where there is no gradient


@pytest.mark.parametrize(
    "f, why",
    [(lambda x: x * 2, "is not a scalar"), (lambda x: x.argmax(), "")],
    ids=["no scalar", "no floats"],
)
def test_where_there_is_no_gradient_program_it_is_said(f, why):
    found = static.record(f)(minigrad.ones(3)).show().document

    assert why in found["program"]["note"]
    if why:
        assert len(found["program"]["columns"]) == 1


def test_the_gradient_can_be_left_out():
    shown = program().show(gradient=False)

    assert shown.document["program"]["columns"] == ["program"]
    assert shown.document["program"]["note"] == "not differentiated"


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("ending", [".svg", ".png", ".html", ".txt", ".json", ".dot"])
def test_a_program_can_be_saved(ending, tmp_path):
    path = program().save(tmp_path / f"program{ending}")

    assert path.stat().st_size > 300
    with pytest.raises(ValueError, match="program.save"):
        program().save(tmp_path / "program.bmp")


def test_dot_frames_the_columns_and_joins_what_belongs_together(tmp_path):
    text = program().save(tmp_path / "p.dot").read_text(encoding="utf-8")

    assert text.startswith("digraph program {")
    assert text.count("subgraph cluster") == 2
    assert 'label="its gradient with respect to x, w, b"' in text
    assert "n7 -> n18 [style=dotted" in text
    assert "cluster1" not in program().to_dot()


def test_a_step_and_a_selection_from_python():
    shown = program().show()

    shown.select("%4")
    assert shown.selected == "%4"
    shown.select("%7 (gradient)")
    assert shown.selected == "%7 (gradient)"
    with pytest.raises(KeyError, match="program.select"):
        shown.select("%99")
    assert "%5 = relu(%4)" in shown.at(3).just_now
