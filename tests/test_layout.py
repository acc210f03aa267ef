"""The layout: layers, order, coordinates, on graphs small enough to draw by hand."""

from itertools import combinations, pairwise
from time import process_time

import pytest

from minigrad.tape.document import Bounds, DrawnRoute
from minigrad.tape.render.labels import LINE, labelled
from minigrad.tape.render.layers import Box
from minigrad.tape.render.layout import BoxLayout, lay_out
from minigrad.tape.render.style import text_width


def graph(edges: str, leaves: str = "") -> tuple[list[Box], list[tuple[str, str]]]:
    """Boxes and edges of "a>b a>c"; `leaves` names the leaves."""
    pairs = [(e.split(">")[0], e.split(">")[1]) for e in edges.split()]
    names = dict.fromkeys(name for pair in pairs for name in pair)
    return [Box(name, 100, 50, leaf=name in leaves.split()) for name in names], pairs


def chain(n: int) -> tuple[list[Box], list[tuple[str, str]]]:
    """h0 -> h1 -> ...: each step has a weight of its own beside it."""
    boxes, edges = [Box("h0", 120, 60, leaf=True)], []
    for i in range(1, n):
        boxes += [Box(f"w{i}", 90, 50, leaf=True), Box(f"h{i}", 120, 60)]
        edges += [(f"h{i - 1}", f"h{i}"), (f"w{i}", f"h{i}")]
    return boxes, edges


def residual(n: int) -> tuple[list[Box], list[tuple[str, str]]]:
    """n blocks of h = h + relu(h @ w + b)."""
    boxes, edges = [Box("h", 100, 50, leaf=True)], []
    h = "h"
    for i in range(n):
        w, b, m, a, r, s = (f"{k}{i}" for k in "wbmars")
        boxes += [Box(w, 90, 50, leaf=True), Box(b, 90, 50, leaf=True)]
        boxes += [Box(v, 120, 60) for v in (m, a, r, s)]
        edges += [(h, m), (w, m), (m, a), (b, a), (a, r), (h, s), (r, s)]
        h = s
    return boxes, edges


def overlaps(layout: BoxLayout) -> list[tuple[str, str]]:
    places = [*layout.boxes.items(), *((f"chip {c.of}", c.place) for c in layout.chips)]
    return [
        (a, b)
        for (a, p), (b, q) in combinations(places, 2)
        if p.x < q.x + q.width
        and q.x < p.x + p.width
        and p.y < q.y + q.height
        and q.y < p.y + p.height
    ]


def layer(layout: BoxLayout, place: Bounds) -> int:
    """The number of the layer that a place is in: all places of a layer have one bottom."""
    places = [*layout.boxes.values(), *(chip.place for chip in layout.chips)]
    return sorted({p.y + p.height for p in places}).index(place.y + place.height)


def layer_of(layout: BoxLayout, name: str) -> int:
    return layer(layout, layout.boxes[name])


LESSON = graph("x1>y1 x2>y1 x3>y2 x4>y2 y1>z0 y2>z0 z0>z1 x2>z1", "x1 x2 x3 x4")


CASES = {"lesson": LESSON, "chain": chain(40), "residual": residual(12)}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_every_edge_points_down_and_boxes_do_not_overlap(case):
    boxes, edges = case

    layout = lay_out(boxes, edges)

    assert all(layout.boxes[u].y + layout.boxes[u].height < layout.boxes[v].y for u, v in edges)
    assert all(layout.boxes[u].y < layout.boxes[v].y for u, v in edges)
    assert overlaps(layout) == []


@pytest.mark.parametrize("case", [LESSON, residual(12)], ids=["lesson", "residual"])
def test_the_same_graph_gives_the_same_picture(case):
    assert lay_out(*case) == lay_out(*case)


def test_the_lesson_is_drawn_without_a_crossing():
    layout = lay_out(*LESSON)

    assert layout.crossings == 0
    assert [layer_of(layout, v) for v in ("x1", "y1", "z0", "z1")] == [0, 1, 2, 3]


def test_a_leaf_stands_just_above_its_first_use():
    layout = lay_out(*graph("x>a a>b b>c w>c", "x w"))

    assert layer_of(layout, "w") == layer_of(layout, "c") - 1


def test_a_leaf_used_far_below_is_named_again_in_a_chip():
    layout = lay_out(*graph("w>a x>a a>b b>c c>d d>e w>e", "w x"))

    assert [(chip.of, layer(layout, chip.place)) for chip in layout.chips] == [
        ("w", layer_of(layout, "e") - 1)
    ]
    assert [route.chip for route in layout.routes] == [None] * 6 + [0]


def test_a_branch_from_leaves_stands_beside_its_use():
    layout = lay_out(*graph("x>a a>b b>c c>d xs>x4 x4>p u>p p>d", "x xs u"))  # d = c + x4 @ u

    assert [layer_of(layout, v) for v in ("xs", "x4", "p", "d")] == [1, 2, 3, 4]


def test_one_chip_serves_all_uses_in_a_layer():
    layout = lay_out(*graph("w>a a>b b>c c>d d>e d>f w>e w>f", "w"))

    assert len(layout.chips) == 1


def test_crossings_that_can_be_avoided_are_avoided():
    layout = lay_out(*graph("a>y b>x c>z x>r y>r z>r", "a b c"))

    assert layout.crossings == 0


def test_a_crossing_that_cannot_be_avoided_is_counted():
    layout = lay_out(*graph("a>x a>y b>x b>y"))

    assert layout.crossings == 1


def test_both_edges_of_a_product_with_itself_have_their_own_port():
    layout = lay_out(*graph("x>z x>z", "x"))
    first, second = layout.routes

    assert first.points[-1][0] != second.points[-1][0]


def test_arrows_that_overlap_between_two_layers_go_sideways_at_different_heights():
    layout = lay_out(*graph("a>x a>y a>z b>x b>y b>z", "a b"))
    gaps = [(r.points[0][0], r.points[1][0], r.knees[0]) for r in layout.routes]

    for (a, b, high), (c, d, low) in combinations(gaps, 2):
        overlap = min(max(a, b), max(c, d)) - max(min(a, b), min(c, d))
        if overlap > 24 and min(abs(a - b), abs(c - d)) >= 40:
            assert abs(high - low) >= 20


def test_the_ports_of_a_box_leave_room_for_an_arrow_and_its_gradient():
    layout = lay_out(*graph(" ".join(f"x>v{k}" for k in range(12)), "x"))
    starts = sorted(route.points[0][0] for route in layout.routes)

    assert min(b - a for a, b in pairwise(starts)) >= 25


def test_an_edge_over_several_layers_keeps_clear_of_the_boxes_between():
    boxes, edges = graph("x>a a>b b>c x>c", "x")

    layout = lay_out(boxes, edges)

    route = layout.routes[3].points
    for (x, top), (_, bottom) in zip(route[1::2], route[2::2]):
        assert not any(
            p.x < x < p.x + p.width and p.y < bottom and top < p.y + p.height
            for p in layout.boxes.values()
        )


def test_a_chain_of_5000_boxes_neither_recurses_nor_drifts():
    boxes, edges = chain(2_500)

    layout = lay_out(boxes, edges)

    assert layer_of(layout, "h2499") == 2_499
    assert layout.width < 400


def test_a_deep_network_does_not_drift():
    layout = lay_out(*residual(150))

    assert layout.width < 800


def test_a_thousand_boxes_take_less_than_a_second_of_computing():
    boxes, edges = residual(166)  # 997 boxes

    start = process_time()
    lay_out(boxes, edges)

    assert process_time() - start < 1.0


def test_nothing_and_one_box_are_laid_out():
    assert lay_out([], []).boxes == {}
    assert lay_out([Box("x", 40, 20)], []).width == 40


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="cycle"):
        lay_out(*graph("a>b b>a"))


def test_text_width_counts_wide_and_combining_characters():
    assert text_width("日本", 10) == 20.0
    assert text_width("e\u0301", 10) == text_width("e", 10)
    assert text_width("abc", 10, mono=True) == 18.1


def test_no_mark_is_written_over_another():
    ends = [10.0 * k for k in range(40)]  # of arrows into a folded box, 10 pixels apart
    arrows = [DrawnRoute("a", "b", [], [(x, 0.0), (x, 90.0)], [45.0], None) for x in ends]

    found = labelled(arrows, [((), 45.0)] * 40, [Bounds(-5.0, 90.0, 400.0, 60.0)])

    marks = [route.mark for route in found if route.mark is not None]
    assert 5 < len(marks) < 40
    assert all(abs(a.x - b.x) >= 45 or abs(a.y - b.y) >= LINE for a, b in combinations(marks, 2))


def test_the_room_of_a_text_ends_before_the_next_text():
    ways = [[(0.0, 0.0), (0.0, 90.0)], [(250.0, 0.0), (310.0, 90.0)]]
    arrows = [DrawnRoute("a", "b", [], way, [45.0], None) for way in ways]

    a, b = (route.label for route in labelled(arrows, [((30.0,), 0.0)] * 2, []))

    assert a is not None and b is not None and a.y == b.y
    assert 150 < a.x + a.room <= b.x < 250
