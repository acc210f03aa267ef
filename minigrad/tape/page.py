"""The page: a tape as one HTML file that needs nothing else.

It holds the picture and, for whoever cannot see it or wants to search and copy, the
same content as tables. There is no script in it, and its content security policy
forbids any request, so that it may be opened anywhere and sent to anybody. It follows
the reader's light or dark theme; the picture keeps its own white ground.
"""

from __future__ import annotations

from collections.abc import Sequence

from minigrad.tape import draw
from minigrad.tape.draw import Document, esc
from minigrad.tape.names import short

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --faint: #5f6670; --ground: #fff; --line: #d4d8dd; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --faint: #a7adb5; --ground: #15181c; --line: #3a4048; }
}
body { margin: 2rem auto; max-width: 74rem; padding: 0 1rem; color: var(--ink);
  background: var(--ground); font: 16px/1.5 system-ui, sans-serif; }
h1, h2 { font-weight: 600; line-height: 1.2; } h2 { margin-top: 2.2rem; font-size: 1.2rem; }
p { color: var(--faint); }
.picture { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; background: #fff; }
.picture svg { display: block; margin: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.93rem; }
th, td { padding: 0.3rem 0.9rem 0.3rem 0; border-bottom: 1px solid var(--line); text-align: left; }
td { font-family: ui-monospace, Menlo, Consolas, monospace; }
pre { padding: 0.8rem 1rem; border: 1px solid var(--line); border-radius: 8px; overflow-x: auto; }
.error { border-left: 4px solid #d55e00; padding-left: 0.8rem; color: var(--ink); }
"""


def html(found: Document) -> str:
    """The document as a self-contained page."""
    first, second = draw.headline(found)
    name = esc(short(found["name"]))
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}: the tape of a computation</title><style>{STYLE}</style></head><body>",
        f"<h1>{name}</h1><p>{esc(first)}; {esc(second)}</p>",
    ]
    if found["error"] is not None:
        parts.append(f'<p class="error">{esc(found["error"]["text"])}</p>')
    parts.append(f'<div class="picture">{draw.svg(found)}</div>')
    if any(line["text"] for line in found["code"]):
        parts += ["<h2>Code</h2>", _code(found)]
    if any(node["kind"] == "op" for node in found["nodes"]):
        parts += ["<h2>Forward</h2>", _table(draw.forward_rows(found))]
    for ran in found["backward"]:
        parts.append(f"<h2>Backward {ran['number']}</h2>")
        parts.append(_table(draw.backward_rows(found, ran["number"])))
        if ran["error"] is not None:
            parts.append(f'<p class="error">{esc(ran["error"])}</p>')
    parts += ["<h2>Values</h2>", "<p>As they were when each tensor was made.</p>"]
    parts += [_table(draw.value_rows(found)), "</body></html>"]
    return "\n".join(parts) + "\n"


def _code(found: Document) -> str:
    """The lines that ran, in the order of the source."""
    lines = sorted(found["code"], key=lambda c: (c["source"], c["line"]))
    shown: list[str] = []
    for before, line in zip([None, *lines], lines, strict=False):
        if before is not None and before["source"] != line["source"]:
            shown.append("")
        shown.append(f"{line['line']:>4}  {line['text']}")
    return "<pre>" + "\n".join(esc(line) for line in shown) + "</pre>"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    cells = "".join(f'<th scope="col">{esc(c)}</th>' for c in head)
    lines = [f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>']
    lines += ["<tr>" + "".join(f"<td>{esc(c)}</td>" for c in row) + "</tr>" for row in body]
    return "\n".join(lines) + "\n</tbody></table></div>"
