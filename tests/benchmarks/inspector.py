"""What a step takes in the inspector, in the graph and in the list, in a headless Chromium.

    python -m tests.benchmarks.inspector

Tapes of 1,000 and 5,000 nodes are stepped through at four places. Measured is the script and the
layout of one step, not the painting: the median and the 95th percentile, in milliseconds. The page
waits for a frame between two steps, as somebody does who holds the key down.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests import tape_cases
from tests.browser.conftest import CHROMIUM_ARGS, _chromium

STEPS = """async ([tab, place]) => {
  const ui = document.getElementById("inspector").inspector, times = [];
  const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  ui.openTab(tab);
  ui.go(Math.floor(ui.tape.last * place));
  for (let k = 0; k < 120; k++) {
    await frame();
    const begin = performance.now();
    ui.next();
    ui.frame.getBoundingClientRect(); // the browser lays the page out
    times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  return [times[60], times[114]];
}"""


def main():
    with sync_playwright() as p, tempfile.TemporaryDirectory() as folder:
        browser = p.chromium.launch(executable_path=_chromium(), args=CHROMIUM_ARGS)
        for iterations in (333, 1667):
            tape = tape_cases.loop(iterations, ops=3)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(tape.save(Path(folder) / "tape.html").as_uri())
            for tab in ("graph", "list"):
                for place in (0.1, 0.4, 0.7, 0.9):
                    median, p95 = page.evaluate(STEPS, [tab, place])
                    nodes = len(tape.document["nodes"])
                    print(
                        f"{nodes} nodes, {tab:5}, at {place:.0%}: {median:5.1f} ms, {p95:5.1f} ms"
                    )
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
