"""The inspector as a page of its own. In JupyterLab and Notebook 7: test_in_jupyterlab.py."""

import re

import pytest

import minigrad
from minigrad import nn, plots
from minigrad.tape.render import page as page_of
from tests import tape_cases as cases
from tests.browser.test_in_jupyterlab import node

pytestmark = pytest.mark.browser


ALL_IN_SIGHT = """() => {
    const {graph} = document.getElementById('inspector').inspector, seen = graph.box.getBoundingClientRect();
    return [...graph.svg.querySelectorAll('text, .mg-border')].map(e => e.getBoundingClientRect())
      .every(r => !r.width || (r.left >= seen.left && r.right <= seen.right));
  }"""


@pytest.mark.parametrize("case", [cases.broadcasting, cases.fan_in])
def test_the_whole_width_of_a_small_tape_is_in_sight_at_once(opened, case):
    page = opened(case())
    narrower = "w => document.querySelector('.mg-frame').clientWidth < w"
    for width in (1280, 1000, 900, 740):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(narrower, arg=width)

        page.wait_for_function(ALL_IN_SIGHT)  # the graph is fitted soon after its window


TEXTS_THAT_OVERLAP = """step => {
    document.getElementById('inspector').inspector.go(step);
    return [...document.querySelectorAll('.mg-node')].flatMap(node => {
      const texts = [...node.querySelectorAll('text')].filter(e => e.textContent.trim() && e.getClientRects().length)
        .map(e => [e.textContent, e.getBoundingClientRect()]);
      return texts.flatMap(([one, a], k) => texts.slice(k + 1).filter(([, b]) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4).map(([other]) => [one, other]));
    });
  }"""


@pytest.mark.parametrize(
    "case",
    [cases.accumulation, cases.not_needed, cases.retained, cases.training, cases.user_function,
     cases.conflict_that_was_caught],
)  # fmt: skip
def test_no_two_texts_of_a_box_overlap_at_any_step(opened, case):
    tape = case()
    page = opened(tape)

    for step in range(len(tape.document["steps"]) + 1):
        assert page.evaluate(TEXTS_THAT_OVERLAP, step) == [], step


def test_below_a_wide_picture_the_code_stands_beside_the_panels(opened):
    x1, x2, x3, x4 = (minigrad.full((2, 3), k + 0.25, requires_grad=True) for k in range(4))
    with minigrad.record() as tape:
        (x1 * x2 + x3 * x4).sum().backward()
    page = opened(tape)
    page.set_viewport_size({"width": 930, "height": 680})
    page.wait_for_selector(".mg-inrow")

    code, details, engine = (
        page.locator(f".mg-{name}").bounding_box() for name in ("code", "details", "engine")
    )
    assert code["x"] + code["width"] <= details["x"] <= engine["x"] - details["width"]
    assert page.locator(".mg-canvas").bounding_box()["height"] >= 280

    page.locator("[data-tab=code]").click()
    assert page.locator(".mg-code").bounding_box()["width"] > 900


def test_values_on_arrows_are_in_sight_too_and_the_focus_stays(opened):
    page = opened(cases.loop(3, ops=2))
    page.locator(".mg-last").click()
    page.locator(".mg-node").first.focus()
    before = page.evaluate("document.activeElement.getAttribute('aria-label')")

    page.keyboard.press("v")
    wide = page.evaluate(
        """() => { const {graph} = document.getElementById('inspector').inspector;
                   return [...graph.svg.querySelectorAll('text')].map(e => e.getBBox())
                     .filter(b => b.width && b.x + b.width + graph.shift[0] > graph.size[0]).length; }"""
    )

    assert (
        wide == 0 and page.evaluate("document.activeElement.getAttribute('aria-label')") == before
    )


def test_a_value_that_does_not_fit_beside_its_arrow_is_a_norm(opened):
    x = minigrad.arange(10.0).requires_grad_()
    with minigrad.record() as tape:
        sum(x.sin() * k for k in range(2, 10)).square().sum().backward()
    page = opened(tape)
    page.locator(".mg-last").click()
    page.keyboard.press("v")

    texts = page.locator(".mg-flow").all_text_contents()

    assert any(re.fullmatch(r"norm [\d.e-]+", text) for text in texts)
    assert [text for text in texts if text.endswith("…") and text != "…"] == []


@pytest.mark.parametrize("key", ["?", "l"])
def test_the_keys_and_the_legend_are_not_cut_off(opened, key):
    page = opened(cases.fan_in())
    page.set_viewport_size({"width": 760, "height": 900})
    page.locator(".mg-canvas").focus()

    page.keyboard.press(key)
    over = page.locator(".mg-help, .mg-legend").locator("visible=true").bounding_box()
    frame = page.locator(".mg-frame").bounding_box()

    assert over["x"] >= frame["x"] and over["x"] + over["width"] <= frame["x"] + frame["width"]


def test_each_result_has_its_own_name_and_rules_are_in_the_users_names(opened):
    page = opened(cases.user_function())
    details = page.locator(".mg-details")
    text = lambda: re.sub(r"\s+", " ", details.inner_text())
    page.locator(".mg-last").click()

    page.locator(".mg-node[aria-label^='c,']").click()
    assert "dc/dp = q = " in text() and "c = p * q" in text() and "✓" not in text()
    assert details.locator(".mg-letter", has_text="dz/dx = y").count() == 1
    page.locator(".mg-node[aria-label^='p, q,']").click()
    assert "a v0: freed by backward 1saved_tensors[0]" in text()
    assert "from MulBackward0 of c for q" in text() and "sum" not in text()
    assert page.problems == []


@pytest.fixture(scope="module", params=cases.CASES, ids=lambda case: case.__name__)
def hard_case(request, open_page):
    """A case, its tape, and its page."""
    tape = request.param()
    page = open_page(tape)
    yield request.param, tape, page
    page.close()


def test_beside_a_long_name_there_is_room_for_its_value(opened):
    class Both(minigrad.autograd.Function):
        forward = staticmethod(lambda ctx, x: (x * 2, x * 3))
        backward = staticmethod(lambda ctx, g, h: 2 * g + 3 * h)

    x = minigrad.ones(6, 9, requires_grad=True)
    with minigrad.record() as tape:
        twice_each_entry_of_x, three_times_each_entry_of_x = Both.apply(x)
    page = opened(tape, address="#step=1")

    details = page.locator(".mg-details dl")
    details.locator("dt", has_text="three_times").wait_for()
    widths = details.locator("dd").evaluate_all("all => all.map(e => e.clientWidth)")
    assert min(widths) > details.evaluate("e => e.clientWidth") / 2


def test_the_page_says_at_each_step_what_python_says(hard_case):
    case, tape, page = hard_case
    page.locator(".mg-next").focus()

    for step in range(1, len(tape.document["steps"]) + 1):
        page.keyboard.press("n")
        state = tape.at(step)
        said = page.evaluate(
            """() => { const {m, tape} = document.getElementById('inspector').inspector;
                       return [m.queue.map(x => tape.node.get(x).label),
                               Object.keys(m.expected).filter(x => m.left(x) > 0 && !m.queue.includes(x)).length,
                               m.freed.size]; }"""
        )
        labels = [r.partition(" of ")[2] for r in state.ready]
        assert said[1:] == [len(state.waiting), len(state.freed)]
        if case is not cases.hostile:
            assert said[0] == labels
            assert page.locator(".mg-said").inner_text() == " ".join(state.just_now.split("\n"))
    assert page.problems == []
    assert page.evaluate("window.hit") is None


def test_details_keyboard_search_list_and_export(opened, tmp_path):
    page = opened(cases.fan_in())
    page.locator(".mg-next").focus()

    page.keyboard.press("b")
    page.keyboard.press("d")  # by detail
    for said in ("is taken from the queue", "rules are applied", "goes to MulBackward0 of mul#1"):
        page.keyboard.press("n")
        assert said in page.locator(".mg-said").inner_text()
    assert "detail 3 of 4" in page.locator(".mg-where").inner_text()

    page.locator(".mg-node[tabindex='0']").focus()  # the graph is one tab stop
    assert page.locator(".mg-node[tabindex='0']").count() == 1
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    selected = page.locator(".mg-node.mg-selected")
    assert selected.get_attribute("aria-label").startswith("mul#1, (), x * x, MulBackward0")
    page.keyboard.press("Escape")  # frees the node that Enter has pinned
    assert selected.count() == 0 and page.locator(".mg-free").count() == 0
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "First step (Home)"

    page.keyboard.press("/")
    page.keyboard.type("addb")
    assert page.locator(".mg-count").inner_text() == "1 found"
    page.keyboard.press("Enter")
    assert "z" in page.locator(".mg-detailhead").inner_text()

    page.locator("[data-tab='list']").click()
    page.locator(".mg-search").fill("")
    rows = page.locator(".mg-list tbody tr")
    assert rows.count() == 3
    assert page.locator(".mg-list thead th[scope='col']").count() == 9
    page.locator("[data-tab='graph']").click()

    for kind, begins in (("svg", "<svg"), ("text", "fan_in, step")):
        with page.expect_download() as download:
            page.locator(".mg-export").select_option(kind)
        assert download.value.path().read_text(encoding="utf-8").startswith(begins)
    with page.expect_download() as download:
        page.locator(".mg-export").select_option("png")
    assert download.value.path().read_bytes().startswith(b"\x89PNG")

    page.locator(".mg-entry").fill("5")
    page.locator(".mg-check").click()
    assert "✓ right" in page.locator(".mg-verdict").inner_text()
    assert page.problems == []


def in_sight(page, box):
    """Is all of the box within the canvas?"""
    canvas, place = page.locator(".mg-canvas").bounding_box(), box.bounding_box()
    return all(
        canvas[at] < place[at] < canvas[at] + canvas[size] - place[size]
        for at, size in (("x", "width"), ("y", "height"))
    )


def focused(page):
    """The class of the element with the focus, if it can be seen; the page's body has none."""
    return page.evaluate(
        "() => { const e = document.activeElement;"
        " return e.getClientRects().length ? e.getAttribute('class') : 'hidden'; }"
    )


def test_the_frame_takes_its_keys_and_the_focus_never_falls_to_the_page(opened):
    page = opened(cases.loop(20, ops=3))

    page.locator(".mg-canvas").click(position={"x": 3, "y": 3})
    assert focused(page) == "mg-canvas"
    page.keyboard.press("n")
    page.locator(".mg-lineref").focus()
    for _ in range(2):
        page.keyboard.press("n")
        assert focused(page) == "mg-lineref"
    assert "step 3/" in page.locator(".mg-where").inner_text()
    page.keyboard.press("Home")  # nothing is selected: the button is gone
    assert focused(page) == "mg-frame"

    page.locator("[aria-label='Fold modules and loops']").click()
    page.locator(".mg-group").first.focus()
    page.locator("[data-tab='list']").evaluate("e => e.onclick()")  # hides the graph
    assert focused(page) == "mg-frame"
    page.locator("[data-tab='graph']").click()
    page.locator(".mg-group").first.click()
    page.locator(".mg-crumbs button").first.click()  # the crumbs are drawn anew
    assert focused(page) == "mg-frame"
    page.keyboard.press("n")
    assert "step 1/" in page.locator(".mg-where").inner_text()
    assert page.problems == []


def test_the_list_holds_the_rows_in_sight_and_counts_them_all(opened):
    page = opened(cases.loop(333, ops=3))
    page.locator("[data-tab='list']").click()
    rows, table = page.locator(".mg-row"), page.locator(".mg-list table")

    assert rows.count() < 40 and table.get_attribute("aria-rowcount") == "1002"
    page.get_by_role("button", name="Last step (End)").click()
    page.locator(".mg-list").evaluate("e => { e.scrollTop = 5000; }")
    page.locator(".mg-row[aria-rowindex='200']").wait_for()
    assert rows.count() < 40
    assert "h#" in page.get_by_role("rowheader").nth(1).inner_text()
    page.locator(".mg-search").fill("tanh")
    page.locator(".mg-list table[aria-rowcount='334']").wait_for()
    assert rows.count() < 40 and page.problems == []


def test_the_arrows_go_through_the_list_and_its_focus_survives_scrolling_and_stepping(opened):
    page = opened(cases.loop(333, ops=3))
    page.locator("[data-tab='list']").click()
    assert page.locator(".mg-list .mg-ref[tabindex='0']").count() == 1  # one tab stop
    page.locator(".mg-list .mg-ref").first.focus()

    index = "() => document.activeElement.closest('tr')?.getAttribute('aria-rowindex')"
    for key, row in (("ArrowDown", "3"), ("PageDown", "18"), ("PageDown", "33"), ("ArrowUp", "32")):
        page.keyboard.press(key)
        assert page.evaluate(index) == row
    page.locator(".mg-list").evaluate("e => { e.scrollTop = 9000; }")
    page.locator(".mg-row[aria-rowindex='350']").wait_for()
    page.keyboard.press("n")
    assert page.evaluate(index) == "32"
    page.locator(".mg-search").evaluate("e => { e.value = 'w'; e.oninput(); }")  # its row is gone
    assert focused(page) == "mg-frame"
    assert page.problems == []


def test_stepping_on_leaves_the_same_moment_as_going_there_at_once(hard_case):
    _, _, page = hard_case

    differing = page.evaluate(
        """() => {
             const ui = document.getElementById("inspector").inspector, {tape} = ui;
             const plain = (key, v) => v instanceof Map || v instanceof Set ? [...v] : v;
             const moment = (k) => (ui.go(k), JSON.stringify({...ui.m, passes: 0}, plain));
             const steps = [...Array(tape.last + 1).keys()], onward = steps.map(moment);
             return steps.filter(k => { tape.reached = null; return moment(k) !== onward[k]; });
           }"""
    )
    assert differing == [] and page.problems == []


def test_no_text_is_small_or_faded_and_the_current_box_has_the_color_of_its_pass(opened):
    page = opened(cases.not_needed())
    texts = """() => {
        const ui = document.getElementById('inspector').inspector, wrong = [];
        for (const e of ui.frame.querySelectorAll('*')) {
          const said = [...e.childNodes].filter(c => c.nodeType === 3).map(c => c.data.trim()).join('');
          if (!said || !e.getClientRects().length || e.localName === 'title') continue;
          let opacity = 1;
          for (let up = e; up !== ui.el; up = up.parentElement) opacity *= getComputedStyle(up).opacity;
          const size = parseFloat(getComputedStyle(e).fontSize) * (e.closest('.mg-canvas .mg-svg') ? ui.graph.k : 1);
          if (size < 10.99 || opacity < 1) wrong.push([said, size, opacity]);
        }
        return wrong;
      }"""
    colored = """(name) => {
        const border = document.querySelector('.mg-current .mg-border'), e = document.createElement('i');
        e.style.color = getComputedStyle(border).getPropertyValue(name);
        document.body.append(e);
        const wanted = getComputedStyle(e).color;
        e.remove();
        return getComputedStyle(border).stroke === wanted;
      }"""

    page.locator(".mg-next").click()  # two ops are still to come
    assert page.evaluate(texts) == []
    page.wait_for_function(colored, arg="--mg-forward")
    page.keyboard.press("b")
    page.keyboard.press("n")
    page.wait_for_function(colored, arg="--mg-backward-ink")
    for key in ("c", "l"):
        page.keyboard.press(key)
        assert page.evaluate(texts) == []  # exp is not needed by this pass
    assert page.locator(".mg-pruned").count() > 0
    assert page.problems == []


def test_two_fingers_zoom_the_picture(opened):
    page = opened(cases.fan_in())
    before = page.evaluate("() => document.getElementById('inspector').inspector.graph.k")

    after = page.evaluate(
        """() => {
             const {graph} = document.getElementById('inspector').inspector;
             const {left, top} = graph.box.getBoundingClientRect();
             const touch = (on, type, pointerId, x) => on.dispatchEvent(new PointerEvent(type,
               {pointerId, pointerType: 'touch', clientX: left + x, clientY: top + 100, bubbles: true}));
             for (const [id, x] of [[1, 200], [2, 300]]) touch(graph.box, 'pointerdown', id, x);
             for (const x of [350, 400]) touch(window, 'pointermove', 2, x);
             for (const id of [1, 2]) touch(window, 'pointerup', id, 200);
             return graph.k;
           }"""
    )

    assert after == pytest.approx(2 * before) and page.problems == []


def test_a_pinned_node_shows_its_pin_and_escape_frees_it(opened):
    page = opened(cases.fan_in())
    pin = page.locator(".mg-node[aria-label^='z,'] .mg-pin")
    assert not pin.is_visible()

    page.locator(".mg-node[aria-label^='z,']").click()
    assert pin.is_visible() and "pinned" in page.locator(".mg-free").inner_text()
    page.keyboard.press("n")
    assert "z" in page.locator(".mg-detailhead strong").inner_text()  # the details stay with it
    page.keyboard.press("Escape")
    assert not pin.is_visible() and page.locator(".mg-free").count() == 0
    assert "mul#1" in page.locator(".mg-detailhead strong").inner_text()


def test_the_picture_is_zoomed_at_the_pointer_moved_by_hand_and_found_on_the_minimap(opened):
    page = opened(cases.loop(30, ops=3))
    canvas, fit = page.locator(".mg-canvas"), page.locator(".mg-fit")
    place = canvas.bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + 200
    box = page.locator(".mg-node").nth(4)
    state = lambda: page.evaluate(
        "() => { const {graph} = document.getElementById('inspector').inspector;"
        " return [graph.k, graph.box.scrollTop, scrollY]; }"
    )

    page.mouse.move(x, y)
    page.mouse.wheel(0, 60)
    page.wait_for_function("() => document.querySelector('.mg-canvas').scrollTop > 0")
    before = state()
    assert before[0] >= 1  # a plain wheel scrolls, and a picture that fits is not made smaller
    page.keyboard.down("Control")
    under = (y - box.bounding_box()["y"]) / before[0]
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    assert state()[0] > 1.5 * before[0]
    assert abs((y - box.bounding_box()["y"]) / state()[0] - under) < 2  # the point is where it was

    page.mouse.down()
    page.mouse.move(x, y + 80, steps=4)
    page.mouse.up()
    moved = state()
    assert page.locator(".mg-selected").count() == 0  # it was no click
    canvas.focus()
    page.keyboard.press("ArrowDown")
    assert state()[1] == moved[1] + 60
    page.keyboard.press("0")
    assert page.evaluate("() => { const e = document.querySelector('.mg-canvas');"
                         " return e.scrollHeight <= e.clientHeight && e.scrollWidth <= e.clientWidth; }")  # fmt: skip
    assert not page.locator(".mg-map").is_visible()
    page.keyboard.press("+")
    page.locator(".mg-last").click()
    fit.click()
    page.mouse.move(x, y)
    page.keyboard.press("Escape")
    for _ in range(12):
        page.locator("[aria-label='Larger (+)']").click()
    map_ = page.locator(".mg-map").bounding_box()
    page.mouse.click(map_["x"] + map_["width"] / 2, map_["y"] + map_["height"] - 3)
    page.wait_for_function(
        "() => { const e = document.querySelector('.mg-canvas');"
        " return e.scrollTop + e.clientHeight >= e.scrollHeight - 40; }"
    )
    assert page.problems == []


def test_a_lecture_is_large_light_and_follows_the_current_node(opened):
    page = opened(cases.loop(8, ops=3), theme="dark")
    page.locator(".mg-canvas").focus()

    page.keyboard.press("f")
    page.keyboard.press("End")
    for _ in range(5):
        page.keyboard.press("p")
    smallest = page.evaluate(
        """() => {
             const ui = document.getElementById('inspector').inspector;
             const seen = [...ui.frame.querySelectorAll('*')].filter(e => e.getClientRects().length
               && [...e.childNodes].some(c => c.nodeType === 3 && c.data.trim()));
             const zoom = (e) => e.closest('.mg-svg') ? ui.graph.k : 1;
             return Math.min(...seen.map(e => parseFloat(getComputedStyle(e).fontSize) * zoom(e)));
           }"""
    )
    assert smallest >= 15.99
    frame, now = (
        page.locator(".mg-frame").bounding_box(),
        page.locator(".mg-current").bounding_box(),
    )
    assert (frame["x"], frame["width"], frame["height"]) == (0, 1280, 900)
    canvas = page.locator(".mg-canvas").bounding_box()
    assert (
        abs(now["y"] + now["height"] / 2 - canvas["y"] - canvas["height"] / 2)
        < canvas["height"] / 4
    )
    assert page.locator(".mg-engine h4").first.is_visible()
    ground = page.locator(".mg-frame").evaluate("e => getComputedStyle(e).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    page.keyboard.press("f")
    assert page.locator(".mg-lecture").count() == 0 and page.locator(".mg-search").is_visible()
    assert page.problems == []


def test_a_training_step_says_what_it_wrote_and_the_picture_goes_with_the_iteration(opened):
    page = opened(cases.training())
    label = page.locator(".mg-iterations .mg-where")
    assert label.inner_text() == "1 of 2, loss 9"
    after = page.locator(".mg-node[aria-label^='w v1,']")
    assert "not computed yet" in after.get_attribute("aria-label")

    page.locator(".mg-next").focus()
    while "opt.step()" not in page.locator(".mg-said").inner_text():
        page.keyboard.press("n")
    assert "mg-wrote" in after.get_attribute("class")
    told = re.sub(r"\s+", " ", page.locator(".mg-changes").inner_text())
    assert "w v0 → w v1 3 → 2.4" in told.replace("[", "").replace("]", "") and "g = [6]" in told
    assert "opt.step()" in page.locator(".mg-lit").inner_text()
    page.keyboard.press("n")
    assert "0.1 → 0.05" in page.locator(".mg-changes").inner_text()
    page.keyboard.press("n")  # zero_grad of the next iteration
    assert "2 of 2" in label.inner_text() and "iteration 2 of 2" in page.locator(".mg-crumbs").inner_text()  # fmt: skip
    page.keyboard.press("Home")  # before all iterations
    assert label.inner_text() == "1 of 2, loss 9"
    assert "iteration 1 of 2" in page.locator(".mg-crumbs").inner_text()
    page.locator(".mg-iteration").fill("0")
    assert "step 1/" in page.locator(".mg-bar .mg-where").first.inner_text()
    assert page.locator(".mg-node[aria-label^='w v0,']").count() == 1
    page.locator(".mg-whole").click()
    assert page.locator(".mg-hand select option").count() == 1  # one w, not one for each version
    page.keyboard.press("f")  # in a lecture, too, the versions fit into their tabs
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('.mg-tabtext')].map(e =>
             [e.getBBox().height, e.previousElementSibling.getBBox().height])"""
    )
    assert sizes and all(text < tab for text, tab in sizes)
    assert page.problems == []


class Model(nn.Module):
    """Its forward has two lines of its own."""

    def forward(self, x):
        h = x * 2
        return h + h.exp()


def test_the_code_shows_every_line_the_way_to_the_current_one_and_its_nodes(opened):
    model, x = Model(), minigrad.tensor(1.0, requires_grad=True)
    with minigrad.record() as tape:
        # one pass
        z = model(x)
        z.backward()
        model.zero_grad()
    page = opened(tape)
    line = lambda text: page.locator(".mg-code .mg-line", has_text=text)

    assert "mg-unused" in line("# one pass").get_attribute("class")
    page.locator(".mg-next").click()
    assert "▶" in line("h = x * 2").inner_text() and "↳" in line("z = model(x)").inner_text()
    assert "z = model(x)" in page.locator(".mg-way").inner_text()
    line("return h + h.exp()").click()
    assert page.locator(".mg-hit").count() == 2  # exp and add
    assert "z" in page.locator(".mg-detailhead strong").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".mg-hit").count() == 0
    line("model.zero_grad()").click()
    assert "model.zero_grad() found no gradient" in page.locator(".mg-said").inner_text()
    assert page.problems == []


def test_a_card_beside_the_pointer_and_curves_on_the_axis_of_the_timeline(opened):
    tape = cases.not_finite()
    page = opened(tape)
    card = page.locator(".mg-card")
    page.locator(".mg-last").click()

    page.locator(".mg-node[aria-label^='roots,']").hover()
    told = re.sub(r"\s+", " ", card.inner_text())
    assert "shape (2, 4)" in told and "dtype float32" in told and "version v0" in told
    assert "norm 1.118, the root of the sum of squares NaN, inf 2 NaN of 8, 1 inf of 8" in told
    page.mouse.move(3, 3)
    assert not card.is_visible()

    page.keyboard.press("c")
    memory, norms, sizes = page.locator(".mg-strip span").all_inner_texts()
    total, _, _ = plots._saved_bytes(tape.shown())
    assert (
        memory
        == f"saved for backward: at most {max(total)} B, after step {total.index(max(total))}"
    )
    assert "the gradients of 2 layers" in norms
    assert sizes == "histograms of the gradients' entries, step by step: from 1e-2 to 1e1"
    columns = page.locator(".mg-shade").evaluate_all(
        "all => all.flatMap(e => e.getAttribute('d').match(/M[^h]*/g).map(m => parseFloat(m.slice(1)) + 0.5))"
    )
    assert sorted(set(columns)) == [7, 8, 9, 10, 11, 12, 13]  # the nodes of the backward pass
    slider, strip = (page.locator(q).first.bounding_box() for q in (".mg-slider", ".mg-strip svg"))
    assert (strip["x"], strip["width"]) == (slider["x"] + 8, slider["width"] - 16)  # one axis
    page.locator("button", has_text="curves").click()
    assert page.locator(".mg-strip").count() == 3 and not page.locator(".mg-strips").is_visible()
    assert page.problems == []


def test_the_gradients_of_a_layer_are_one_curve_as_in_the_figure(opened):
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    with minigrad.record() as tape:
        for _ in range(2):
            model(minigrad.ones(5, 3)).sum().backward()
    page = opened(tape)

    page.locator("button", has_text="curves").click()
    curves = page.locator(".mg-dot title").all_text_contents()
    norms = {
        name: [float(minigrad.cat([p.grad.reshape(-1) for p in layer.parameters()]).norm()) / 2]
        for name, layer in (("model.0", model[0]), ("model.2", model[2]))
    }

    told = [re.fullmatch(r"(\S+), step \d+: (\S+)", text).groups() for text in curves]
    assert [name for name, _ in told] == ["model.0", "model.0", "model.2", "model.2"]
    for name, norm in told:
        assert abs(float(norm) - norms[name][0]) < 1e-3 * norms[name][0]
    assert page.problems == []


def test_a_gradient_of_zeros_is_at_the_bottom_of_its_curve(opened):
    x = minigrad.tensor([0.0, 0.0], requires_grad=True)
    with minigrad.record() as tape:
        for k in (1.0, 0.0, 2.0):
            (x * k).sum().backward()
    page = opened(tape)

    page.locator("button", has_text="curves").click()

    dots = page.locator(".mg-dot")
    assert [t.split(": ")[1] for t in dots.locator("title").all_text_contents()] == ["1.414", "0", "2.828"]  # fmt: skip
    heights = dots.evaluate_all("all => all.map(e => e.getBBox().y)")
    assert heights[1] > heights[0] > heights[2]
    assert "norm of the gradient: 0, 1.414 to 2.828" in page.locator(".mg-strips").inner_text()


def test_picture_details_and_queue_are_in_sight_together_in_a_low_window(opened):
    page = opened(cases.not_finite(), address="#step=13&node=roots")
    page.set_viewport_size({"width": 1280, "height": 640})
    bottom = lambda q: page.locator(q).evaluate("e => e.getBoundingClientRect().bottom")

    for part in (".mg-canvas", ".mg-details", ".mg-engine", ".mg-hand"):
        assert page.locator(part).bounding_box()["height"] > 40 and bottom(part) <= 640
    before = page.locator(".mg-engine").bounding_box()
    assert (
        page.locator(".mg-details").evaluate("e => { e.scrollTop = 999; return e.scrollTop; }") > 0
    )
    assert page.locator(".mg-engine").bounding_box() == before


def test_a_window_that_shrinks_keeps_the_current_node_in_sight_and_the_toolbar_in_a_row(opened):
    x = minigrad.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    with minigrad.record() as tape:
        positive = x > 0
        for _ in range(8):
            x = x.tanh()
        (x * positive).sum().backward()
    page = opened(tape)
    page.keyboard.press("Tab")
    for key in ("b", "n", "n"):
        page.keyboard.press(key)

    page.set_viewport_size({"width": 880, "height": 520})
    page.wait_for_function(
        """() => {
             const [a, b] = [".mg-current", ".mg-canvas"].map(q => document.querySelector(q).getBoundingClientRect());
             return a.top >= b.top && a.bottom <= b.bottom && a.left >= b.left && a.right <= b.right;
           }"""
    )
    page.wait_for_function(
        """() => {
             const [a, b] = [".mg-lit", ".mg-code"].map(q => document.querySelector(q).getBoundingClientRect());
             return a.top >= b.top && a.bottom <= b.bottom;
           }"""
    )
    assert page.locator(".mg-top").bounding_box()["height"] < 48
    node(page, "positive").click()
    fills = page.locator(".mg-heat rect").evaluate_all(
        "all => all.map(e => e.getAttribute('fill'))"
    )
    assert fills == ["rgb(230,159,0)", "rgb(255,255,255)", "rgb(230,159,0)", "rgb(230,159,0)"]
    assert page.problems == []


def test_keys_and_legend_lie_over_the_picture(opened):
    page = opened(cases.fan_in())
    place = page.locator(".mg-canvas").bounding_box()

    for way, what in (("?", ".mg-help"), ("l", ".mg-legend")):
        page.locator(".mg-canvas").click(position={"x": 3, "y": 3})
        page.keyboard.press(way)
        assert page.locator(what).is_visible()
        assert page.locator(".mg-canvas").bounding_box() == place
        page.keyboard.press("Escape")
        assert not page.locator(what).is_visible()
    page.locator("button", has_text="legend").click()
    assert "gradient, backward" in page.locator(".mg-legend").inner_text()


def test_a_page_opens_at_the_step_and_the_node_of_its_address(opened):
    page = opened(cases.user_function(), address="#step=6&node=q")

    assert "step 6/9" in page.locator(".mg-where").inner_text()
    assert page.locator(".mg-node.mg-selected").get_attribute("aria-label").startswith("p, q,")
    page.keyboard.press("Tab")
    page.locator(".mg-next").click()
    assert page.evaluate("location.hash") == "#step=7&node=p%2C+q"  # to be copied
    page.evaluate("location.hash = '#step=99&node=c'")
    page.locator(".mg-where", has_text="step 9/9").wait_for()
    assert page.locator(".mg-node.mg-selected").get_attribute("aria-label").startswith("c,")
    page.evaluate("location.hash = '#step=x&node=nobody'")
    page.locator(".mg-where", has_text="step 0/9").wait_for()
    assert page.problems == []


def test_the_lines_of_an_error_stand_apart(opened):
    page = opened(cases.version_conflict())
    page.evaluate("() => document.getElementById('inspector').inspector.go(1e9)")

    saved, changed, *_ = page.locator(".mg-message .mg-place").all_inner_texts()

    assert saved.startswith("saved") and saved.endswith("w at version 0")
    assert changed.startswith("changed") and changed.endswith("w at version 1")


def test_numbers_that_are_not_finite_are_counted_hatched_and_traced_to_where_they_arose(opened):
    page = opened(cases.not_finite())
    chips = page.locator(".mg-node[aria-label^='z,'] .mg-chiptext")

    assert "first NaN made here" not in chips.all_text_contents()
    page.keyboard.press("Tab")
    page.locator(".mg-next").click()
    assert "first NaN made here" in chips.all_text_contents()
    assert "[nan, nan, -0.6931] (2 NaN of 3)" in page.locator(".mg-details").inner_text()
    page.locator(".mg-last").click()
    page.locator(".mg-node[aria-label^='roots,']").click()
    details = page.locator(".mg-details")
    assert "first NaN of backward 1 made here" in details.inner_text()
    value, jacobian = details.locator(".mg-heat").all()
    for heat in (value, jacobian):
        assert heat.locator(".mg-not-finite").count() == 3
    assert "hatched: 2 NaN of 8" in value.get_attribute("aria-label")
    assert "∂roots/∂w, 8 x 8" in jacobian.get_attribute("aria-label")
    assert page.problems == []


def test_a_box_shows_its_value_as_the_picture_from_python_does(opened):
    tape = cases.not_finite()
    page = opened(tape)
    shown = lambda: {
        n["label"]: page.locator(
            f".mg-node[data-node='{n['id']}'] .mg-value:visible text"
        ).all_text_contents()
        for n in tape.document["nodes"]
    }
    assert (
        shown()["w"] == ["= [[4, 4, -1, 4], [4, -1, 4, 0]]"] and shown()["z"] == []
    )  # not computed yet
    page.locator(".mg-last").click()

    assert shown() == {n["label"]: n["thumbnail"]["lines"] for n in tape.document["nodes"]}
    assert shown()["z"] == ["= [nan, nan, -0.6931]", "2 NaN of 3"]
    roots = page.locator(".mg-node[aria-label^='roots,']")
    assert roots.locator(".mg-value path").count() == 3  # 0.5, what is not finite, and its lines
    outside = page.evaluate(
        """() => [...document.querySelectorAll('.mg-node')].filter(g => {
             const box = g.querySelector('.mg-border').getBBox(), band = g.querySelector('.mg-rule').y1.baseVal.value;
             const inside = [...g.querySelectorAll('.mg-value, .mg-chip')].map(e => e.getBBox());
             return inside.some((a, i) => a.x + a.width > box.x + box.width || a.y + a.height > band
               || inside.some((b, j) => j > i && a.y + a.height > b.y && a.x + a.width > b.x && b.x + b.width > a.x));
           }).length"""
    )
    assert outside == 0 and page.problems == []


def test_after_the_last_iteration_the_last_one_is_shown(opened):
    w = minigrad.tensor([3.0], requires_grad=True)
    opt = minigrad.optim.SGD([w], lr=0.1)
    with minigrad.record() as tape:
        for _ in range(2):
            opt.zero_grad()
            loss = (w * w).sum()
            loss.backward()
            opt.step()
        w.detach() + 1
    page = opened(tape)

    page.locator(".mg-last").click()

    assert page.locator(".mg-iterations .mg-where").inner_text().startswith("2 of 2")
    assert "iteration 2 of 2" in page.locator(".mg-crumbs").inner_text()
    assert page.locator(".mg-elsewhere").is_visible()
    canvas = page.locator(".mg-canvas").bounding_box()
    assert any(
        canvas["y"] <= box["y"] <= canvas["y"] + canvas["height"] - box["height"]
        for box in (e.bounding_box() for e in page.locator(".mg-node").all())
    )


def test_what_is_written_on_a_button_is_in_its_name(opened):
    page = opened(cases.training())
    page.locator("button", has_text="curves").click()

    buttons = page.locator(":is(.mg-top, .mg-bar) button[aria-label]").evaluate_all(
        "all => all.map(e => [e.textContent.replace(/[^a-z ]/gi, '').trim(), e.ariaLabel])"
    )
    assert len(buttons) > 12
    assert [text for text, name in buttons if text.lower() not in name.lower()] == []
    caption = page.locator(
        ".mg-strip span"
    ).first  # the line at which an iteration begins is behind it
    assert caption.evaluate("e => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("width, places", [(1280, 2), (390, 1)], ids=["wide", "phone"])
def test_the_minimap_leaves_the_current_box_in_sight(opened, width, places):
    a_long_name_of_a_tensor = minigrad.ones(2, requires_grad=True)
    with minigrad.record() as tape:
        for _ in range(45):
            a_long_name_of_a_tensor.exp()
    page = opened(tape)
    page.set_viewport_size({"width": width, "height": 800})
    page.locator(".mg-map").wait_for()
    page.locator(".mg-next").focus()
    found = set()

    for key in ("n", "End"):
        page.keyboard.press(key)
        page.wait_for_timeout(100)  # for the event of the scrolling
        now = page.locator(".mg-node.mg-current").bounding_box()
        small = page.locator(".mg-map").bounding_box()
        found.add(small["x"])
        beside = now["x"] >= small["x"] + small["width"] or now["x"] + now["width"] <= small["x"]
        above = now["y"] + now["height"] <= small["y"]
        assert beside or above or now["y"] >= small["y"] + small["height"], key
    assert len(found) == places


def test_the_details_of_a_small_node_show_its_jacobian_in_the_users_names(opened):
    x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = minigrad.tensor(2.0, requires_grad=True)
    with minigrad.record() as tape:
        z = minigrad.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, -4.0]]) @ x
        r = z.log()
        loss = (b * r).sum()  # noqa: F841
    page = opened(tape)
    page.locator(".mg-last").click()
    shown = page.locator(".mg-jacobian")

    node(page, "z").click()
    assert shown.locator(".mg-formula").all_inner_texts() == ["∂z/∂x, 2 x 3"]
    titles = shown.locator("title").all_text_contents()
    assert titles == ["[0, 0] 1", "[0, 1] 0", "[0, 2] 2", "[1, 0] 0", "[1, 1] 1", "[1, 2] -4"]
    assert "Diagonal" not in shown.inner_text()
    node(page, "r").click()
    assert "∂r/∂z, 2 x 2" in shown.inner_text() and "Diagonal: an entry of r" in shown.inner_text()
    assert shown.locator("title").nth(0).text_content() == "[0, 0] 0.1429"
    node(page, "mul#1").click()
    assert shown.first.inner_text().startswith("∂mul#1/∂b, 2 x 1")
    assert "One number in each row" in shown.first.inner_text()
    assert shown.first.locator(".mg-not-finite").count() == 1  # log of -10
    page.keyboard.press("Home")
    assert shown.count() == 0 and page.problems == []  # it is not computed yet


def test_the_selected_leaf_is_the_one_whose_gradient_is_asked_for(opened):
    page = opened(cases.broadcasting())
    chosen, verdict = page.locator(".mg-hand select"), page.locator(".mg-verdict")
    names = chosen.locator("option").all_inner_texts()
    other = names[1].removesuffix(".grad")
    page.locator(f".mg-node[aria-label^='{other},']").click()
    assert chosen.evaluate("e => e.selectedOptions[0].textContent") == f"{other}.grad"

    page.locator(".mg-entry").fill("7")  # which belongs to this leaf, whatever else is looked at
    page.locator(".mg-check").click()
    assert "different" in verdict.inner_text()
    page.locator(f".mg-node[aria-label^='{names[0].removesuffix('.grad')},']").click()
    assert chosen.evaluate("e => e.selectedOptions[0].textContent") == f"{other}.grad"
    assert "different" in verdict.inner_text()


def test_a_check_before_any_gradient_says_what_to_do(opened):
    page = opened(cases.no_gradient_yet())

    page.locator(".mg-entry").fill("[1.0, 2.0]")
    page.locator(".mg-check").click()
    assert "no gradient has reached x on this tape yet" in page.locator(".mg-verdict").inner_text()


def test_play_runs_to_the_end_and_stops(opened):
    page = opened(cases.no_gradient_yet())

    page.locator(".mg-play").click()
    page.locator(".mg-where", has_text="step 1/1").wait_for()

    assert page.locator(".mg-play").get_attribute("aria-label") == "Play (Space)"


def test_a_folded_tape_opens_and_follows_the_current_node(opened):
    page = opened(cases.loop(400, ops=3))
    assert "1202 nodes, folded" in page.locator(".mg-crumbs").inner_text()
    assert page.locator(".mg-node").count() <= 400

    page.locator(".mg-group").first.click()
    page.locator(".mg-group").first.click()
    assert page.locator(".mg-op").count() == 3
    page.locator(".mg-next").focus()
    page.keyboard.press("b")
    page.keyboard.press("n")
    page.locator(".mg-elsewhere").wait_for()
    page.locator(".mg-elsewhere").click()
    assert page.locator(".mg-node.mg-current").count() == 1
    page.locator(".mg-search").fill("h#700")
    page.locator(".mg-search").press("Enter")
    assert page.locator(".mg-node.mg-selected").get_attribute("aria-label").startswith("h#700")
    assert page.problems == []


def test_a_weight_inside_many_folded_boxes_is_found_there(opened):
    layer = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with minigrad.record() as tape:
        sum(layer(minigrad.ones(2)).sum() for _ in range(80)).backward()
    page = opened(tape)
    assert page.locator(".mg-leaf").count() == 0

    page.locator(".mg-last").click()  # the last turn is that of a parameter
    assert page.locator(".mg-group.mg-current").count() == page.locator(".mg-group").count() > 1
    assert page.locator(".mg-elsewhere").is_hidden()
    page.locator(".mg-search").fill("layer.0.bias")
    page.locator(".mg-search").press("Enter")
    found = page.locator(".mg-node.mg-selected").get_attribute("aria-label")
    assert found.startswith("layer.0.bias") and page.problems == []


def test_a_small_tape_can_be_folded_by_hand(opened):
    page = opened(cases.loop(12, ops=3))
    assert page.locator(".mg-group").count() == 0

    page.get_by_role("button", name="Fold modules and loops").click()

    assert page.locator(".mg-group").count() == 12


def test_a_folded_module_says_its_class_and_the_shape_of_what_it_hands_on(opened):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.TransformerEncoderLayer(4, 2, 8))
    with minigrad.record() as tape:  # a second derivative reads what is within the modules
        model(minigrad.ones(5, 2, 3)).sum().backward(create_graph=True)
    page = opened(tape)

    page.get_by_role("button", name="Fold modules and loops").click()
    assert in_sight(page, page.locator(".mg-group").first)  # the first operation, of a wide picture
    page.locator(".mg-group").first.click()
    page.locator(".mg-last").click()

    folded = page.locator(".mg-group").evaluate_all(
        "all => all.map(e => [...e.querySelectorAll('text')].map(t => t.textContent))"
    )
    assert [title for title, _, _ in folded] == [
        "0: Linear",
        "1: ReLU",
        "2: TransformerEncoderLayer",
    ]
    assert [shape for _, _, shape in folded] == ["→ (5, 2, 4)"] * 3
    assert folded[1][1] == "1 operation, 1 ran back"
    assert page.problems == []


def test_the_page_works_in_a_sandboxed_frame_and_in_the_dark(opened):
    page = opened(cases.hostile(), theme="dark", framed=True)
    inner = page.frame_locator("iframe")

    inner.locator(".mg-next").click()

    assert "step 1/" in inner.locator(".mg-where").inner_text()
    ground = inner.locator(".mg-frame").evaluate("e => getComputedStyle(e).backgroundColor")
    assert ground == "rgb(21, 24, 28)"
    assert inner.locator("img").count() == 0
    assert page.evaluate("window.hit") is None


def test_the_tree_for_a_screen_reader(opened):
    page = opened(cases.no_gradient_yet())
    page.locator(".mg-next").click()
    tab = lambda: page.evaluate("document.activeElement.textContent")
    page.get_by_role("tab", selected=True).focus()
    for key, title in (("ArrowRight", "List"), ("ArrowRight", "Code"), ("ArrowRight", "Graph")):
        page.keyboard.press(key)
        assert tab() == title and page.get_by_role("tabpanel", name=title).is_visible()
        assert page.get_by_role("tab").evaluate_all("all => all.map(e => e.tabIndex)").count(0) == 1
    assert "step 1/" in page.locator(".mg-where").inner_text()  # the arrows were the tabs'

    tree = page.locator(".mg-graph").aria_snapshot()

    assert "x, (), leaf, AccumulateGrad, .grad none yet" in tree
    assert "z, (), x * x, MulBackward0, computed now" in tree
    assert page.locator("[role='status'][aria-live='polite']").count() == 1


def test_a_wide_picture_opens_at_the_first_operation(opened):
    x = minigrad.ones(2, requires_grad=True)
    with minigrad.record() as tape:
        y = x.exp()
        sum((y * k).sin() for k in range(2, 22)).sum().backward()
    page = opened(tape)

    assert in_sight(page, page.get_by_role("button", name=re.compile("^y, ")))

    page.locator("button", has_text="curves").click()
    assert (
        page.get_by_text(re.compile(r"^norm of the gradient: [\d.]+$")).count() == 1
    )  # of one leaf


FAKE_WIDGET = """async text => {
    const {default: live} = await import(URL.createObjectURL(new Blob([text], {type: 'text/javascript'})));
    const code = "export default { render: ({el}) => { el.textContent = 'the inspector'; } };";
    const script = {get: name => ({code, style: ''})[name]};
    const itself = {on: (event, then) => { window[event] = then; }};
    const get_model = async key => key === 'one' ? itself : script;
    const get = name => ({key: 'one', script: 'IPY_MODEL_two'})[name];
    await live.initialize({model: {get, widget_manager: {get_model}}});
  }"""


@pytest.mark.parametrize("output, html", [
    ("jp-OutputArea-child", "jp-RenderedHTMLCommon"),  # JupyterLab, Notebook 7, Voilà
    ("output_area", "rendered_html"),  # Notebook 6
])  # fmt: skip
def test_a_running_widget_stands_in_place_of_its_picture(browser, output, html):
    page = browser.new_page()
    page.set_content(
        f'<div class="{output}"><div class="{html}"><minigrad-live key="one"></minigrad-live></div></div>'
        f'<div class="{output}"><p>the picture</p></div>'
    )
    assert page.inner_text("body").split("\n") == ["the picture"]

    page.evaluate(FAKE_WIDGET, page_of.static_file("live.js"))
    assert page.inner_text("body").split("\n") == ["the inspector"]
    assert page.locator(f".{html}").count() == 0

    page.evaluate("destroy()")
    assert page.inner_text("body").split("\n") == ["the picture"]
    page.close()
