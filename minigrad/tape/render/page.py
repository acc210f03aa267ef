"""The page: the inspector as one HTML file that needs no kernel and no network.

It contains the document as JSON, the same script and style as the widget, and the picture
and the tables for readers without JavaScript. Its content security policy forbids all
requests, and all scripts except the one with the given hash. So it can be opened anywhere,
sent to anyone, and shown in a sandboxed frame. It follows the reader's light or dark theme.

The script consists of small modules in jupyter/static/inspector, joined into one text for the page
and for the widget. There is no build step: a module can use all names of the modules before it in
`MODULES`, as in one file. To add a module, write it and add its name to the list.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from minigrad.tape.document import Document, packed
from minigrad.tape.names import short
from minigrad.tape.render import draw, text
from minigrad.tape.render.shapes import esc

STATIC = Path(__file__).parents[2] / "jupyter" / "static"

MODULES = (
    "elements", "numbers", "document", "state",
    "canvas", "card", "boxes", "arrows", "graph",
    "updates", "jacobian", "details", "engine", "list", "code", "legend",
    "timeline", "strips", "search", "hand", "export", "lecture", "keyboard", "inspector",
)  # fmt: skip

ELEMENT = '<minigrad-live key="'  # the start of an output in which a widget is drawn
VIEW = "application/vnd.jupyter.widget-view+json"


def html(document: Document, step: int | None = None) -> str:
    """The document as a self-contained page. It opens at the given step, by default before the first."""
    kind = "the tape of a computation" if document.program is None else "a static program"
    state = {"doc": packed(document), "step": 0 if step is None else step, "selected": ""}
    return page(state, f"{short(document.name)}: {kind}", _fallback(document))


def page(state: dict[str, Any], title: str, fallback: str) -> str:
    """The HTML of the page.

    state       the packed document, the step, and the selected node
    fallback    HTML for readers without JavaScript
    """
    # page.js stands in for the notebook's model, as far as the inspector needs it.
    module = f"{script()}\n{static_file('page.js')}"
    return Template(static_file("page.html")).substitute(
        hash=base64.b64encode(hashlib.sha256(module.encode()).digest()).decode(),
        title=esc(title),
        style=static_file("page.css") + static_file("inspector.css"),
        fallback=fallback,
        document=json_in_html(state),
        script=module,
    )


def json_in_html(data: Any) -> str:
    """JSON that cannot end the script element that contains it.

    >>> json_in_html({"name": "</script>"})
    '{"name":"\\\\u003c/script>"}'
    """
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written.encode("utf-8", "replace").decode()


def _fallback(document: Document) -> str:
    """The picture and the tables, for readers without JavaScript."""
    headline = esc("; ".join(draw.headline(document)))
    parts = [f"<h1>{esc(short(document.name))}</h1><p>{headline}</p>"]
    if document.error is not None:
        parts.append(f"<p>{esc(document.error.text)}</p>")
    parts.append(f'<div class="picture">{draw.picture(document).svg()}</div>')
    if document.program is not None:
        for column, title in enumerate(document.program.columns):
            parts.append(_table(title, text.program_rows(document, column)))
        return "\n".join(parts)
    if any(node.kind == "op" for node in document.nodes):
        parts.append(_table("Forward", text.forward_rows(document)))
    backward = text.backward_rows(document)
    for ran in document.backward:
        parts.append(_table(f"Backward {ran.number}", backward[ran.number]))
        if ran.error is not None:
            parts.append(f"<p>{esc(ran.error)}</p>")
    return "\n".join([*parts, _table("Values", text.value_rows(document))])


def _table(title: str, rows: Sequence[Sequence[str]]) -> str:
    header, *body = rows[: text.LONGEST_TABLE]
    cells = "".join(f'<th scope="col">{esc(c)}</th>' for c in header)
    lines = [f"<h2>{esc(title)}</h2>"]
    lines.append(f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>')
    lines += ["<tr>" + "".join(f"<td>{esc(c)}</td>" for c in row) + "</tr>" for row in body]
    return "\n".join(lines) + "\n</tbody></table></div>"


@cache
def static_file(name: str) -> str:
    """The text of a file that belongs to the inspector, by its path in jupyter/static."""
    return (STATIC / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """The whole script, without an export: it defines `render`.

    >>> script().count("function render(")
    1
    """
    return "\n".join(static_file(f"inspector/{name}.js") for name in MODULES)


def is_element(output: Any) -> bool:
    """Is this stored output the empty element in which a widget was drawn?"""
    return "".join(output.get("data", {}).get("text/html", "")).startswith(ELEMENT)
