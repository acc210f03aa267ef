"""make_dot: torchviz's graph, as text and as a picture."""

import re
import shutil
import subprocess
import time
from xml.etree import ElementTree

import pytest

import minigrad
from minigrad import make_dot


@pytest.fixture
def loss():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    b = minigrad.tensor(0.5, requires_grad=True)
    return {"w": w, "b": b}, ((w * w).sum() + b).tanh()


def parts(source):
    """{id: (label, color)} and the (from, to, attributes) of a DOT text."""
    nodes = re.findall(r'(n\d+) \[label="(.*)" fillcolor=(\w+)\]', source)
    edges = re.findall(r"(n\d+) -> (n\d+)(?: \[(.*)\])?", source)
    return {key: (label, color) for key, label, color in nodes}, edges


def test_nodes_have_torchvizs_colors_and_the_names_of_params(loss):
    params, z = loss

    nodes, edges = parts(make_dot(z, params=params).source)

    labels = dict(nodes.values())
    assert labels["w\\n(2,)"] == labels["b\\n()"] == "lightblue"
    assert labels["TanhBackward0"] == labels["AccumulateGrad"] == "lightgray"
    assert labels["z\\n()"] == "darkolivegreen1"
    named = [(nodes[a][0], nodes[b][0]) for a, b, _ in edges]
    assert named.count(("AccumulateGrad", "MulBackward0")) == 2  # w * w
    assert ("w\\n(2,)", "AccumulateGrad") in named and ("TanhBackward0", "z\\n()") in named


def test_saved_tensors_and_attributes_are_shown_when_asked_for(loss):
    _, z = loss

    nodes, edges = parts(make_dot(z, show_attrs=True, show_saved=True).source)

    assert sum(color == "orange" for _, color in nodes.values()) == 3  # w, w and tanh's result
    assert sum(style == "dir=none" for _, _, style in edges) == 3
    assert any("SumBackward0\\n" in label for label, _ in nodes.values())


def test_long_attributes_are_cut(loss):
    x = minigrad.ones(3, 4, requires_grad=True)

    source = make_dot(x.sum(0), show_attrs=True, max_attr_chars=3).source

    assert "x_shape: (3,…" in source


def test_a_view_hangs_on_its_base():
    base = minigrad.ones(3, requires_grad=True) * 2

    nodes, edges = parts(make_dot(base[0]).source)

    assert ("base\\n(3,)", "darkolivegreen3") in nodes.values()
    assert [style for _, _, style in edges].count("style=dotted") == 1


def test_several_outputs_and_a_tensor_without_a_graph():
    x = minigrad.ones(2, requires_grad=True)

    nodes, _ = parts(make_dot((x * 2, x + 1)).source)
    alone, none = parts(make_dot(minigrad.ones(2)).source)

    assert sum(color == "darkolivegreen1" for _, color in nodes.values()) == 2
    assert len(alone) == 1 and none == []


def test_labels_are_quoted_and_pictures_escaped():
    x = minigrad.ones(2, requires_grad=True)
    dot = make_dot(x * 2, params={'<b>"\\': x})

    assert '[label="<b>\\"\\\\\\n(2,)"' in dot.source
    assert "<b>" not in dot.svg() and ElementTree.fromstring(dot.svg()) is not None


@pytest.mark.skipif(
    shutil.which("dot") is None, reason="Graphviz is not installed, and need not be"
)
def test_graphviz_reads_the_text(loss):
    source = make_dot(loss[1], show_attrs=True, show_saved=True).source

    subprocess.run(
        ["dot", "-Tsvg"], input=source, encoding="utf-8", check=True, capture_output=True
    )


def test_the_same_graph_gives_the_same_text_and_picture(loss):
    params, z = loss

    one, other = make_dot(z, params), make_dot(z, params)

    assert one.source == other.source and one.svg() == other.svg()


def test_save_and_render_write_what_their_names_say(loss, tmp_path):
    dot = make_dot(loss[1])

    dot.save(tmp_path / "a.png")
    dot.save("b.svg", tmp_path)
    dot.save(tmp_path / "c")
    picture = dot.render(tmp_path / "new" / "net", format="pdf")
    only = dot.render(tmp_path / "only", cleanup=True)

    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "b.svg").read_text(encoding="utf-8") == dot._repr_svg_()
    assert dot._repr_png_().startswith(b"\x89PNG")
    assert (
        (tmp_path / "c").read_text(encoding="utf-8")
        == (tmp_path / "new" / "net").read_text(encoding="utf-8")
        == dot.source + "\n"
    )
    assert picture == str(tmp_path / "new" / "net.pdf")
    assert (tmp_path / "new" / "net.pdf").read_bytes().startswith(b"%PDF")
    assert only.endswith("only.svg") and not (tmp_path / "only").exists()


def test_an_unknown_format_and_what_is_no_tensor_are_refused(loss, tmp_path):
    with pytest.raises(ValueError, match="must be one of svg, png"):
        make_dot(loss[1]).render(tmp_path / "x", format="bmp")
    with pytest.raises(TypeError, match="float"):
        make_dot([1.5])
    with pytest.raises(TypeError, match="shows tensors, but got a value of type int"):
        make_dot(3)
    with pytest.raises(TypeError, match="int"):
        make_dot(loss[1], params={"w": 3})
    assert list(tmp_path.iterdir()) == []


def test_a_leaf_of_many_uses_is_drawn_in_time_and_a_large_graph_in_part():
    w = minigrad.ones(2, requires_grad=True)
    h = w
    for _ in range(1000):
        h = h * w

    began = time.process_time()
    svg = make_dot(h).svg()

    assert time.process_time() - began < 5
    assert "more nodes, further up, are not drawn" in svg
    assert len(parts(make_dot(h).source)[0]) == 1003
