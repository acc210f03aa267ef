"""Shows the lessons and exercises on the site, and tapes that can be stepped through.

A lesson is shown with its stored outputs; a folded answer hides its own. The picture of a tape
is replaced by the inspector, made from the tape's document in docs/tapes/: a reader can step through it
without a kernel. At the end are links to the pages of the reference about what the lesson uses.
An exercise is shown as students get it, without its solution.

    python docs/extensions/notebooks.py        records the tapes of the lessons again

In a page written by hand, the directive `tape` records a program while the site is built:

    ```{tape} The name of the tape
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    ```

The lines above `%%autograd` run first and are not recorded. The directive `plot` does the same for a
program that draws a `figure` with minigrad.plots.
"""

from __future__ import annotations

import html
import json
import linecache
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

import minigrad
from minigrad.grading.release.student import student_notebook
from minigrad.tape.document import packed
from minigrad.tape.render import page

ROOT = Path(__file__).resolve().parents[2]
TAPES = ROOT / "docs" / "tapes"
PICTURE = "image/svg+xml"
WIDE = 555  # pixels: next to a wider picture, the panels of the inspector have no room
NEED_TORCH = ("14_the_same_tape_in_pytorch",)  # not recorded again where PyTorch is missing

# The pages that the sidebar shows below the two tables of contents.
LISTED = {"notebooks/README": "*\ndata/README", "exercises/README": "*/*"}

# A page of the reference, and what a lesson writes that is explained there.
EXPLAINED = {
    "tape": r"%%autograd|%chain|%tape|tape\.steps",
    "teach": r"\bcompare\b|\bFacts\(|\bexplain\(",
    "autograd": r"\bautograd\.|\bfunc\.|\bjvp\(|\bno_grad\(",
    "nn": r"\bnn\.[A-Z]",
    "functional": r"\bF\.",
    "optim": r"\boptim\.",
    "random": r"\bmanual_seed\(|\brand\w*\(",
    "linalg": r"\blinalg\.",
    "static": r"\bstatic\.",
    "plots": r"\bplots\.",
}

# What the program of a `tape` directive may use without importing it.
PRELUDE = "import minigrad\nfrom minigrad import nn, optim, plots\nfrom minigrad.nn import functional as F"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", show_notebook)
    app.add_directive("tape", TapeDirective)
    app.add_directive("plot", PlotDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def show_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the text of a notebook with what the site shows."""
    if docname in LISTED:
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{LISTED[docname]}\n```\n"
    if not app.env.doc2path(docname).suffix == ".ipynb":
        return
    notebook = nbformat.reads(source[0], as_version=4)
    if docname.startswith("exercises/"):
        notebook = student_notebook(notebook)
    else:
        notebook.cells.append(nbformat.v4.new_markdown_cell(further(notebook)))
    for cell in notebook.cells:
        if "hide-input" in (tags := cell.metadata.get("tags", [])) and cell.get("outputs"):
            tags[tags.index("hide-input")] = "hide-cell"
        state = stored(Path(docname).name, cell.id)
        for output in cell.get("outputs", []):
            if PICTURE in output.get("data", {}) and state.exists():
                name = state.stem
                picture = "".join(output["data"][PICTURE])
                found = json.loads(state.read_text(encoding="utf-8"))
                output["data"] = {"text/html": published(app, docname, name, found, picture)}
            elif "text/html" in output.get("data", {}):  # a link to a notebook leads to its page
                output["data"]["text/html"] = re.sub(
                    r'(href="[^":]+)\.ipynb"', r'\1.html"', "".join(output["data"]["text/html"])
                )
    source[0] = nbformat.writes(notebook)


def further(lesson: nbformat.NotebookNode) -> str:
    """Links to the pages of the reference about what a lesson uses."""
    code = "\n".join(cell.source for cell in lesson.cells if cell.cell_type == "code")
    used = ["tensor", *(page for page, pattern in EXPLAINED.items() if re.search(pattern, code))]
    return "**In the reference:** " + ", ".join(
        f"[{page}](../docs/reference/{page}.rst)" for page in used
    )


def stored(lesson: str, cell: str) -> Path:
    """Where the tape that a cell of a lesson shows is kept."""
    return TAPES / f"{lesson}-{cell}.json"


def published(app: Sphinx, docname: str, name: str, state: dict[str, Any], picture: str) -> str:
    """Write the page of a tape; returns the frame that shows it. `picture` is for readers without scripts."""
    folder = Path(app.outdir, "_static", "tapes")
    folder.mkdir(parents=True, exist_ok=True)
    written = page.page(state, name, f'<div class="picture">{picture}</div>')
    (folder / f"{name}.html").write_text(written, encoding="utf-8")
    source = relative_uri(app.builder.get_target_uri(docname), f"_static/tapes/{name}.html")
    kind = "tape wide" if state["doc"]["views"][0]["width"] > WIDE else "tape"
    return (
        f'<iframe class="{kind}" sandbox="allow-scripts" loading="lazy" src="{source}" '
        f'title="The inspector: {html.escape(name)}"></iframe>'
    )


class TapeDirective(SphinxDirective):
    """A program, and the inspector with what it recorded."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        title = self.arguments[0]
        before, _, program = "\n".join(self.content).rpartition("%%autograd\n")
        tape = recorded(before, program, title)
        name = re.sub(r"\W+", "_", title.lower())
        state = {"doc": packed(tape.shown()), "step": 0, "selected": ""}
        shown = published(self.env.app, self.env.docname, name, state, tape.svg())
        cells = [before.strip(), "%%autograd\n" + program] if before else [program]
        return [
            *(nodes.literal_block(cell, cell, language="ipython3") for cell in cells),
            nodes.raw("", shown, format="html"),
        ]


class PlotDirective(TapeDirective):
    """A program, and the `figure` that it draws."""

    def run(self) -> list[nodes.Node]:
        title, program = self.arguments[0], "\n".join(self.content)
        picture = Path(self.env.app.outdir, "_static", re.sub(r"\W+", "_", title.lower()) + ".svg")
        picture.parent.mkdir(parents=True, exist_ok=True)
        run_first(program, title)["figure"].savefig(picture, metadata={"Date": None})
        here = self.env.app.builder.get_target_uri(self.env.docname)
        source = relative_uri(here, f"_static/{picture.name}")
        image = f'<img src="{source}" alt="{html.escape(title)}">'
        return [
            nodes.literal_block(program, program, language="ipython3"),
            nodes.raw("", image, format="html"),
        ]


def run_first(program: str, title: str) -> dict[str, Any]:
    """The names that a program defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
    minigrad.manual_seed(0)
    exec(PRELUDE, names)
    exec(compile(program, shown_as(program, title), "exec"), names)
    return names


def shown_as(program: str, title: str) -> str:
    """The name of a program, by which its lines can be looked up."""
    file = f"<{title}>"
    linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)
    return file


def recorded(before: str, program: str, title: str) -> minigrad.Tape:
    """The tape of a program. An error that the program raises is on the tape.

    before    what runs first, and is not recorded
    """
    names = run_first(before, title)
    file = shown_as(program, title)
    try:
        with minigrad.record(title, namespace=names) as tape:
            exec(compile(program, file, "exec"), names)
    except RuntimeError:
        if tape.document["error"] is None:
            raise
    return tape


# ---- by hand, when the tape of a lesson has changed --------------------------------------------


def main() -> None:
    """Run the lessons that show a tape, and store the documents that the inspector shows."""
    from nbclient import NotebookClient

    os.environ["MINIGRAD_DISPLAY"] = "html"
    state = re.compile(r'<script type="application/json" id="document">(.*?)</script>', re.DOTALL)
    TAPES.mkdir(exist_ok=True)
    kept = () if find_spec("torch") else NEED_TORCH
    for old in TAPES.glob("*.json"):
        if not old.name.startswith(kept):
            old.unlink()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        if path.stem in kept:
            continue
        notebook = nbformat.read(path, as_version=4)
        shown = {
            c.id
            for c in notebook.cells
            for o in c.get("outputs", [])
            if PICTURE in o.get("data", {})
        }
        if not shown:
            continue
        resources = {"metadata": {"path": str(path.parent)}}
        NotebookClient(notebook, timeout=600, resources=resources).execute()
        for cell in notebook.cells:
            pages = [
                o.data["text/html"]
                for o in cell.get("outputs", [])
                if "text/html" in o.get("data", {})
            ]
            if cell.id in shown:
                (document,) = state.findall(html.unescape(pages[-1]))
                stored(path.stem, cell.id).write_text(document + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
