"""What the lessons say in words, held against what their code does.

nbval holds the outputs of the cells. The sentences between the cells have no output; the numbers,
reasons and impossibilities in them are tried here. `lesson` runs a few cells of a lesson, by their ids.
"""

import contextlib
import io
import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import minigrad
from minigrad import nn, optim, static
from minigrad.core import modes
from minigrad.core.node import reachable
from minigrad.nn import functional as F

ROOT = Path(__file__).resolve().parents[1]
STORED = sorted([*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("exercises/*/*.ipynb")])


def cells_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def find(number):
    return next(ROOT.glob(f"notebooks/{number:02}_*.ipynb"))


def lesson(number: int, *ids: str) -> dict[str, Any]:
    """The names that some cells of a lesson define."""
    names: dict[str, Any] = {"__name__": "__main__"}
    texts = {c["id"]: "".join(c["source"]) for c in cells_of(find(number))}
    for cell in ids:
        code = "\n".join(x for x in texts[cell].splitlines() if not x.startswith("%"))
        with (
            contextlib.chdir(ROOT / "notebooks"),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", ResourceWarning)
            exec(compile(code, f"lesson {number}, {cell}", "exec"), names)
    return names


def text_of(number, cell):
    return "".join(next(c for c in cells_of(find(number)) if c["id"] == cell)["source"])


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_no_line_of_a_paragraph_becomes_a_list_by_accident(path):
    item = re.compile(r"(\d+[.)]|[*+-]) ")
    for cell in cells_of(path):
        if cell["cell_type"] != "markdown":
            continue
        inside, before = False, ""
        for line in "".join(cell["source"]).splitlines():
            starts = bool(item.match(line))
            assert inside or not (starts and before.strip()), (cell["id"], line)
            inside = starts or (inside and line.startswith(" "))
            before = line


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_what_a_folded_answer_shows_is_right(path):
    right = re.compile(r"compare: (\d+) of \1 gradients? |compare: 1 gradient agrees|\w+: all ")
    for cell in cells_of(path):
        if "hide-input" not in cell["metadata"].get("tags", []):
            continue
        for output in cell["outputs"]:
            shown = "".join(output.get("data", {}).get("text/plain", ""))
            assert not shown or right.match(shown), (cell["id"], shown)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_the_line_that_is_visible_of_a_folded_cell_gives_nothing_away(path):
    for cell in cells_of(path):
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            line = "".join(cell["source"]).partition("\n")[0]
            assert re.match("# (Our answer|Answer [0-9]|The check|A check)", line), (
                cell["id"],
                line,
            )


LESSONS = sorted(ROOT.glob("notebooks/[01][0-9]_*.ipynb"))[1:]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_three_answers_of_a_lesson_are_checked_where_they_are_written(path):
    blank = re.compile(r"[=:] ?\.\.\.(?=[,}\s]|$)")
    cells = [c for c in cells_of(path) if c["cell_type"] == "code"]
    asked = [k for k, c in enumerate(cells) if blank.search("".join(c["source"]))]

    assert len(asked) >= 3
    for k in asked:  # checked at once; and the answer is folded
        assert re.search(r"compare|\.check\(", "".join(cells[k]["source"])), cells[k]["id"]
        assert "hide-input" in cells[k + 1]["metadata"]["tags"], cells[k]["id"]


def test_lessons_and_exercises_lead_to_each_other():
    def pairs(paths, other):
        for path in paths:
            texts = ("".join(c["source"]) for c in cells_of(path) if c["cell_type"] == "markdown")
            for link in re.findall(rf"\]\(([./]+{other}/[^)]+)\)", "".join(texts)):
                yield path, (path.parent / link).resolve()

    exercises = sorted(ROOT.glob("exercises/*/*.ipynb"))
    practiced = set(pairs(LESSONS, "exercises"))

    assert {exercise for _, exercise in practiced} == set(exercises)
    assert {(b, a) for a, b in pairs(exercises, "notebooks")} == practiced


def test_the_inspector_is_in_at_least_nine_lessons():
    shown = re.compile(r"^(%%autograd|%chain|%tape)|\.show\(", re.MULTILINE)
    texts = ["".join("".join(c["source"]) + "\n" for c in cells_of(path)) for path in LESSONS]

    assert sum(bool(shown.search(text)) for text in texts) >= 9


# --------------------------------------------------------------------- 2, 3: downhill, two modes


def test_short_steps_from_the_right_end_in_the_right_valley_and_long_ones_need_not():
    descend = lesson(2, "setup", "curve", "walk")["descend"]

    for start in (0.3, 1.0, 2.2):
        assert descend(start, 0.03, 200)[-1] == pytest.approx(1.347, abs=1e-3)
    assert descend(2.2, 0.1)[1] < 0.126  # over the ridge in one step
    assert descend(2.2, 0.1)[-1] == pytest.approx(-1.473, abs=1e-3)
    late = descend(2.2, 0.14, 3000)[-4:]
    assert max(late) > -1.3 and min(late) < -1.6  # it never settles


def test_along_the_gradient_one_forward_run_gives_its_square():
    names = lesson(3, "setup", "data", "forward", "fit")
    w = b = minigrad.tensor(0.0)
    dw, db = names["gradient_reverse"](w, b)

    moved = minigrad.func.jvp(names["loss_of"], (w, b), (dw, db))[1]

    assert moved.item() == pytest.approx((dw**2 + db**2).item(), rel=1e-5)


# ------------------------------------------------------------------------ 4, 5: step and momentum


@pytest.mark.parametrize("settings", [{"momentum": 0.9}, {"weight_decay": 0.1}])
def test_a_gradient_of_zeros_moves_a_parameter_and_none_does_not(settings):
    p = minigrad.tensor([1.0], requires_grad=True)
    sgd = optim.SGD([p], lr=0.1, **settings)
    p.grad = minigrad.ones(1)
    sgd.step()
    before = p.item()

    p.grad = None
    sgd.step()
    assert p.item() == before
    p.grad = minigrad.zeros(1)
    sgd.step()
    assert p.item() != before


def test_after_forty_steps_the_plain_walk_is_1_8_from_the_goal_and_momentum_is_near():
    names = lesson(5, "setup", "try-gradient", "race")
    plain, heavy = (math.hypot(*names[path][-1]) for path in ("plain", "heavy"))

    assert plain == pytest.approx(1.8, abs=0.05)
    assert heavy < 0.1


def test_the_papers_version_rolls_past_the_goal_and_ends_farther_away():
    names = lesson(5, "setup", "try-gradient", "race", "dialects", "drop")
    paper, pytorch = names["paper"], names["pytorch"]

    assert paper[20, 0] > 0 > paper[-1, 0]
    assert paper[-1].norm() > paper[20].norm() > pytorch[-1].norm()


def test_a_rate_that_is_used_twice_in_the_papers_version_is_asked_for_twice():
    names = lesson(5, "setup", "try-gradient", "race", "dialects", "two-steps")

    report = minigrad.compare(
        names["paper_p"], {names["lr1"]: -names["g1"], names["lr2"]: -names["g2"]}
    )

    assert [row.ok for row in report.rows] == [False, True]
    assert report.rows[0].diagnosis.kind == "missing_path"


@pytest.mark.parametrize(
    "number, ids, name",
    [
        (1, ["setup", "check-nudge", "try-nudge"], "check_times"),
        (2, ["setup", "curve", "walk", "check-rates"], "check_ends"),
        (5, ["setup", "check-steps"], "check_steps"),
        (6, ["setup", "load", "deep", "check-vanish"], "check_vanish"),
        (6, ["setup", "check-sigma"], "check_sigma"),
        (8, ["setup", "likes", "bprmodel", "bpr", "check-rows", "try-rows"], "check_touched"),
        (10, ["setup", "check-arrive"], "check_arriving"),
    ],
)
def test_a_check_of_a_lesson_names_each_mistake_that_it_knows(number, ids, name):
    check = lesson(number, *ids)[name]

    assert check.check(check.facts()).ok
    for mistake in check.mistakes:
        rows = check.check(mistake.gives(check.facts())).rows
        assert mistake.kind in [row.diagnosis.kind for row in rows if row.diagnosis]


# ------------------------------------------------------------------------------- 6, 7: digits


def test_a_relu_without_its_mask_is_named():
    names = lesson(6, "setup", "load", "flow-net", "flow")
    exec(text_of(6, "try-flow").splitlines()[0], names)
    through = names["dscores"] @ names["net"][2].weight

    report = minigrad.compare(names["loss"], {names["hidden"]: through, names["sums"]: through})

    assert [row.ok for row in report.rows] == [True, False]
    assert report.rows[1].diagnosis.kind == "mask_missing"


@pytest.mark.parametrize("scale", [1 / 3, 1, 3])
def test_seven_layers_multiply_the_gradient_by_the_scale_of_their_weights(scale):
    names = lesson(6, "setup", "load", "deep")
    norms = [g.norm().item() for g in names["arriving"](names["deep"](nn.ReLU, scale)).values()]

    assert scale**7 / 2 < norms[0] / norms[-1] < 2 * scale**7


def test_with_positive_pixels_more_units_are_on_or_off_for_nearly_every_picture():
    names = lesson(6, "setup", "load")
    pixels = names["pixels"]

    def stuck(x):
        counts = []
        for seed in range(5):
            minigrad.manual_seed(seed)
            with minigrad.no_grad():
                on = (nn.Linear(64, 48)(x) > 0).float().mean(0)
            counts.append(((on < 0.01) | (on > 0.99)).sum().item())
        return sum(counts) / len(counts)

    positive = (pixels - pixels.min()) / (pixels.max() - pixels.min())
    assert 5 <= stuck(positive) <= 9
    assert 0.5 <= stuck(pixels) <= 2.5


@pytest.mark.parametrize("seed", [0, 4])
def test_one_pixel_costs_the_linear_network_more_with_other_seeds_too(seed):
    names = lesson(7, "setup", "load", "net", "train-functions")
    moved = next(c for c in cells_of(find(7)) if "def moved" in "".join(c["source"]))
    exec("".join(moved["source"]).split("shifts =")[0], names)
    minigrad.manual_seed(seed)
    linear = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 84), nn.ReLU(), nn.Linear(84, 10), nn.LogSoftmax(dim=1)
    )
    convolutional = names["Net"]()
    x, y = names["x_test"], names["y_test"]
    with contextlib.redirect_stderr(io.StringIO()):
        names["fit"](linear, epochs=20, lr=0.003)
        names["fit"](convolutional, epochs=12, lr=0.01)

    for columns in (-1, 1):
        shifted = names["moved"](x, columns)
        one, other = (names["accuracy"](net, shifted, y) for net in (linear, convolutional))
        assert one + 0.08 < other


# ------------------------------------------------------- 8 to 10: sparse rows, FizzBuzz, memory


def test_three_likes_of_two_users_are_six_rows_before_they_are_added():
    g = lesson(8, "setup", "likes", "bprmodel", "bpr", "check-rows", "try-rows", "grad")["g"]

    assert g._nnz() == 6
    assert g.coalesce()._nnz() == 2


def test_sgd_takes_sparse_gradients_and_adam_does_not():
    names = lesson(8, "setup", "likes", "bprmodel", "bpr", "check-rows", "try-rows", "grad")

    optim.SGD(names["model"].parameters(), lr=0.1).step()
    with pytest.raises(RuntimeError, match="SparseAdam"):
        optim.Adam(names["model"].parameters()).step()


def test_the_label_changes_737_times_in_the_practice_numbers():
    label = lesson(9, "setup", "answer")["label"]
    labels = [label(n) for n in range(101, 1024)]

    assert sum(a != b for a, b in zip(labels, labels[1:], strict=False)) == 737


def test_three_and_five_can_be_read_off_the_bits():
    for n in range(1024):
        bits = [n >> k & 1 for k in range(10)]
        assert (sum(b * (1, 2, -1, -2)[k % 4] for k, b in enumerate(bits)) - n) % 5 == 0
        assert (sum(bits[0::2]) - sum(bits[1::2]) - n) % 3 == 0


def test_the_exam_of_the_fraction_repeats_windows_of_its_practice():
    fraction = lesson(10, "setup", "digits")["fraction"]
    windows = [tuple(fraction[i : i + 9]) for i in range(392)]

    assert fraction[:96] == fraction[96:192]
    assert len({w[:8] for w in windows}) == 96  # eight digits determine the place
    assert set(windows[300:]) <= set(windows[:300])


def test_gradients_vanish_explode_or_hardly_change_on_their_way_through_time():
    outputs = next(c for c in cells_of(find(10)) if c["id"] == "time-sizes")["outputs"]
    stored = [line for o in outputs if "text" in o for line in o["text"]]

    small, large, gate = (float(re.search(r"gets (\S+) times", line)[1]) for line in stored)
    assert small < 1e-9 and large > 100 and 0.1 < gate < 10


# ---------------------------------------------------------------------------------- 11: names


STEPS = ["setup", "windows", "split", "parameters", "forward"]


def test_every_answer_to_the_nine_steps_is_right():
    names = lesson(11, *STEPS, *(f"answer-{k}" for k in range(1, 10)), "compare-all")

    assert names["report"].ok and len(names["report"].rows) == 20


def test_four_gradients_arrive_at_the_row_that_the_block_reads():
    names = lesson(11, "setup")
    exec(text_of(11, "look").replace("%%autograd", ""), names)

    edges = [edge for node in reachable([names["out"].node]) for edge in node.edges]
    assert edges.count(names["w"].node) == 4


def test_the_mistake_in_lesson_11_is_named_and_comes_after_what_is_right():
    names = lesson(11, *STEPS, *(f"answer-{k}" for k in range(1, 10)))
    *_, comparison = text_of(11, "mistake").splitlines()
    exec(text_of(11, "mistake").replace(comparison, f"report = {comparison}"), names)

    rows = {row.name: row for row in names["report"].rows}
    assert [name for name, row in rows.items() if row.ok] == ["n", "gain"]
    assert rows["u"].diagnosis.kind == "missing_path"


def test_most_of_the_gradient_comes_straight_through_the_plus_sign():
    names = lesson(11, *STEPS, *(f"answer-{k}" for k in range(1, 10)), "short")

    assert names["dy"].norm() > 2 * names["through_n"].norm()


def test_training_without_the_statistics_still_works():
    names = lesson(11, *STEPS, "functions")
    right = "r * (dn - n * (dn * n).mean(1, keepdim=True))"
    assert right in text_of(11, "functions")
    late = []
    for formula in (right, "r * dn"):
        exec(text_of(11, "functions").replace(right, formula), names)
        with contextlib.redirect_stderr(io.StringIO()):
            losses = names["train"](names["by_hand"], 600)[1]
        assert sum(losses[:20]) > sum(losses[-20:])
        late.append(sum(losses[-200:]) / 200)

    assert abs(late[0] - late[1]) < 0.05


def test_vowels_are_closest_to_vowels_more_often_than_by_chance():
    cell = next(c for c in cells_of(find(11)) if c["id"] == "letters")
    stored = "".join(cell["outputs"][0]["text"])
    nearest = {line[0]: line.split(" to ")[1].split() for line in stored.splitlines()}

    vowels = sum(other in "aeiou" for vowel in "aeiou" for other in nearest[vowel])
    assert vowels > 2 * (15 * 4 / 25)


# ----------------------------------------------------------------------- 12, 13: programs


def test_the_eager_tape_too_computes_a_value_once_and_visits_a_node_once():
    x = minigrad.tensor(1.01, requires_grad=True)
    with minigrad.record() as tape:
        y = x
        for _ in range(10):
            y = y * y

    assert len(list(tape.steps(y, minigrad.ones_like(y)))) == 10 + 1  # and the leaf
    assert f"{x.grad.item():.4g}" == "2.698e+07"


def test_all_four_gradients_are_parts_of_the_row_that_the_lesson_names():
    names = lesson(12, "c01", "c26")
    source = names["replayed"].source()

    assert "b4_0_3 = b4_0[0:100]" in source and "b4_0_2 = b4_0[100:110]" in source
    assert re.search(r"v35 = multiply\(b4_0, p\d+, b4_0\)", source)


def test_a_step_with_dropout_is_recorded_and_uses_its_draw_twice():
    layer = nn.Linear(4, 3)
    sgd = optim.SGD(layer.parameters(), lr=0.1)

    def step(x, y):
        sgd.zero_grad()
        loss = F.mse_loss(F.dropout(layer(x), 0.5), y)
        loss.backward()
        sgd.step()
        return loss

    compiled = static.compile(step)
    compiled(minigrad.ones(4, 4), minigrad.ones(4, 3))
    run = compiled.source().partition("def run")[2]

    mask = re.search(r"(v\d+) = np.multiply\(v\d+, k\d+\)", run)[1]
    assert run.count("draw.") == 1
    assert len(re.findall(rf"multiply\(v\d+, {mask},", run)) == 2


def test_the_gradient_of_the_number_needs_a_sum_and_that_of_the_vector_does_not():
    f = lesson(12, "c01", "c03")["f"]
    both = static.record(lambda x, y: f(x, y).sum())(minigrad.ones(3), minigrad.tensor(2.0))

    assert "sum(" in str(both.gradient("y")) and "sum(" not in str(both.gradient("x"))


def test_the_web_of_nodes_is_twice_the_row_if_nodes_note_their_lines_and_else_as_large():
    before, sizes = modes.state.tracing, []
    try:
        for noted in (True, False):
            modes.trace_lines(noted)
            names = lesson(12, "c01", "c31")
            sizes.append(names["graph_form"] / names["program"].nbytes())
    finally:
        modes.trace_lines(before)

    assert 1.5 < sizes[0] < 3.5  # a place in a file has a path, whose length counts
    assert 0.75 < sizes[1] < 1.25


def test_the_picture_of_the_dual_is_that_of_the_gradient_that_is_printed():
    cell = next(c for c in cells_of(find(13)) if c["id"] == "c06b")
    shown = "".join(cell["outputs"][0]["data"]["text/plain"])

    assert "its gradient with respect to w, v\n" in shown


def test_an_input_that_is_not_used_has_a_gradient_of_zeros():
    program = static.record(lambda x, unused: (x * x).sum())(minigrad.ones(2), minigrad.ones(3))

    assert program.gradient("unused")(minigrad.ones(2), minigrad.ones(3)).tolist() == [0, 0, 0]


def test_the_fourth_derivative_of_the_sine_is_the_sine():
    p = static.record(lambda x: x.sin())(minigrad.tensor(0.5))
    for _ in range(4):
        p = p.gradient(0)

    assert p(minigrad.tensor(0.5)).item() == pytest.approx(math.sin(0.5), rel=1e-6)
    assert len(p) == 1
