"""The chain: the grad_fn chain of a tensor, as a tree."""

import io

import pytest

import minigrad


def test_the_chain_of_the_lesson():
    x1, x2 = minigrad.ones(2, 3).requires_grad_(), minigrad.ones(2, 3).requires_grad_()
    y2 = minigrad.ones(2, 3)
    y1 = x1 + x2
    z = y1 * y2
    z += x2

    tree = minigrad.chain(z)

    assert repr(tree).splitlines() == [
        "z  AddBackward0           (2, 3)",
        "├─ MulBackward0 #2        saves y = y2 (2, 3)",
        "│  ↓ y1  AddBackward0     (2, 3)",
        "│  ├─ x1  AccumulateGrad  (2, 3)  leaf",
        "│  └─ x2  AccumulateGrad  (2, 3)  leaf",
        "└─ x2  AccumulateGrad     shown above",
    ]
    assert len(tree) == 5


def test_a_tensor_without_a_grad_fn_says_so():
    y = minigrad.ones(2)

    assert repr(minigrad.chain(y)) == "y  no grad_fn: nothing here requires a gradient"


def test_a_leaf_is_its_own_chain():
    x = minigrad.ones(2).requires_grad_()

    assert repr(minigrad.chain(x)) == "x  AccumulateGrad  (2,)  leaf"


def test_a_freed_graph_is_marked():
    x = minigrad.ones(2).requires_grad_()
    z = (x * x).sum()
    z.backward()

    assert "freed by a backward pass" in repr(minigrad.chain(z))


def test_shared_nodes_are_written_once_so_the_tree_stays_small():
    h = minigrad.zeros(1).requires_grad_()
    for _ in range(200):
        h = h + h  # 2**200 paths

    tree = minigrad.chain(h)

    assert len(tree) == 201
    assert len(tree.lines) < 500
    assert max(map(len, repr(tree).splitlines())) < 150


def test_a_chain_of_100_000_nodes_is_shown_without_its_middle():
    h = minigrad.ones(1).requires_grad_()
    for _ in range(100_000):
        h = h * 1.0

    tree = minigrad.chain(h)
    text = repr(tree)

    assert len(tree) == 100_001
    assert "more lines" in text
    assert len(text.splitlines()) < 100
    assert max(map(len, text.splitlines())) < 100


def test_a_deep_tree_is_continued_at_the_margin():
    h = minigrad.ones(1).requires_grad_()
    w = [minigrad.ones(1).requires_grad_() for _ in range(40)]
    for i in range(40):
        h = h * w[i]

    tree = minigrad.chain(h)

    assert "continued below" in repr(tree)
    assert max(map(len, repr(tree).splitlines())) < 120
    assert sum(line.leaf for line in tree.lines) == 41


def test_the_chain_is_the_same_each_time_and_escaped_in_html():
    x = minigrad.ones(2).requires_grad_()
    z = x * 2
    names = {"<b>": x, "z": z}

    bundle = minigrad.chain(z, namespace=names)._repr_mimebundle_()

    assert bundle == minigrad.chain(z, namespace=names)._repr_mimebundle_()
    assert "&lt;b&gt;" in bundle["text/html"]


def test_only_tensors_have_a_chain():
    with pytest.raises(TypeError, match="takes a tensor, but got int"):
        minigrad.chain(3)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_chain_a_tape_and_a_comparison_can_be_printed_in_any_encoding(monkeypatch, encoding):
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as tape:
        y = x * x + x
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))

    texts = [repr(minigrad.chain(y)), repr(tape), repr(minigrad.compare(y, x=x))]

    assert all(text.encode(encoding) for text in texts)
    assert ("`- x  AccumulateGrad" in texts[0]) is (encoding != "utf-8")
