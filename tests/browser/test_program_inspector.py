"""A static program in the inspector, as a page of its own. In JupyterLab: test_in_jupyterlab.py."""

import pytest

import minigrad
from minigrad import static

pytestmark = pytest.mark.browser


def layer(x, w, b):
    return ((x @ w + b).relu() ** 2).sum()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_steps_lists_and_finds(opened, theme, tmp_path):
    p = static.record(layer)(minigrad.ones(4, 3), minigrad.ones(3, 2), minigrad.zeros(2))
    page = opened(p, theme)
    page.locator(".mg-next").focus()

    for step in p.show().document["steps"]:
        page.keyboard.press("n")
        assert page.locator(".mg-said").inner_text() == step["text"]
    page.screenshot(path=str(tmp_path / f"program_{theme}.png"))
    assert "step 16/16" in page.locator(".mg-where").inner_text()
    assert "not run yet" in page.locator(".mg-details").inner_text()

    page.locator("[data-tab='list']").click()
    rows = page.locator(".mg-list table").get_attribute("aria-rowcount")
    assert int(rows) == 1 + len(p.show().document["nodes"])  # and the header
    assert "comes from" in page.locator(".mg-list thead").inner_text()
    page.locator("[data-tab='graph']").click()
    page.keyboard.press("/")
    page.keyboard.type("relu")
    assert page.locator(".mg-count").inner_text() == "2 found"
    page.keyboard.press("Enter")
    assert page.locator(".mg-listings .mg-lit code").inner_text().startswith("%5  = relu")
    assert page.locator(".mg-listings .mg-running").count() == 3
    assert page.locator(".mg-hand").count() == 0
    assert page.problems == []


def test_links_between_the_columns_pass_behind_no_box(opened):
    def f(x, w, b):
        h = (x @ w + b).relu()
        return ((h * h.exp()) ** 2).sum() + (w * w).sum()

    page = opened(static.record(f)(minigrad.ones(4, 3), minigrad.ones(3, 2), minigrad.zeros(2)))
    behind = """() => {
        const ui = document.getElementById('inspector').inspector, {boxes, links} = ui.graph, found = [];
        let drawn = 0;
        for (const id of boxes.keys()) {
          ui.pick(id, false);
          for (const path of links.querySelectorAll('path')) {
            drawn++;
            for (let at = 2, all = path.getTotalLength(); at < all - 2; at += 3) {
              const {x, y} = path.getPointAtLength(at);
              for (const [key, {parts: p}] of boxes)
                if (p && x > p.x && x < p.x + p.w && y > p.y && y < p.y + p.height) found.push([id, key]);
            }
          }
        }
        return [drawn, found];
      }"""

    drawn, found = page.evaluate(behind)

    assert drawn > 20 and found == []
    assert page.evaluate("() => document.getElementById('inspector').inspector.graph.k") >= 1
    assert page.problems == []


def test_a_hundred_instructions_stand_side_by_side_without_overlap(opened):
    def f(x):
        for _ in range(25):
            x = (x.sin() * x + 1).tanh()
        return x.sum()

    page = opened(static.record(f)(minigrad.ones(3)))
    page.locator(".mg-next").focus()
    page.keyboard.press("b")

    overlaps = page.evaluate(
        """() => {
             const boxes = [...document.querySelectorAll('.mg-node .mg-border')].map(e => e.getBBox());
             let n = 0;
             boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
               if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height) n++; }));
             return [boxes.length, n];
           }"""
    )
    assert overlaps[1] == 0 and overlaps[0] > 100
    assert page.problems == []
