"""The tape as text: tables for terminals and screen readers, and DOT for Graphviz."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.tape import digraph
from minigrad.tape.boxes import versioned
from minigrad.tape.draw import headline
from minigrad.tape.names import clean, in_words, shape_text, short
from minigrad.tape.trace import value, where

Document = dict[str, Any]

LONGEST_TABLE = 200


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows as aligned columns, the first row being the header; columns in `right` are right-aligned."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if c in right else cell.ljust(w)
            for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def forward_rows(found: Document) -> list[tuple[str, ...]]:
    """The table of the forward pass, including the header."""
    nodes = {n["id"]: n for n in found["nodes"]}
    rows: list[tuple[str, ...]] = [
        ("step", "line", "op", "inputs", "output", "shape", "version", "grad_fn")
    ]
    for node in found["nodes"]:
        if node["kind"] != "op":
            continue
        inputs = [
            clean(i["constant"]) if "constant" in i else versioned(nodes[i["node"]])
            for i in node["inputs"]
        ]
        rows.append(
            (
                str(node["order"]),
                where(found, node["code"]),
                node["op"] + ("_" if node["inplace"] else ""),
                short(", ".join(inputs)),
                short(node["name"]),
                shape_text(node["shape"]),
                str(node["version"]),
                node["backward"] or "none",
            )
        )
    return rows


def program_rows(found: Document, column: int) -> list[tuple[str, ...]]:
    """The listing of a program with the facts about each value, including the header."""
    rows: list[tuple[str, ...]] = [
        ("", "instruction", "shape", "value", "lies in", "then", "comes from")
    ]
    for node in found["nodes"]:
        of = node["program"]
        if of["column"] == column:
            leaf = node["kind"] == "leaf"
            what = f"{of['role']} {node['name']}" if leaf else node["expression"]
            known = "" if node["value"] is None else in_words(value(found, node["value"]))
            row = (of["number"], short(what), shape_text(node["shape"]), known)
            rows.append((*row, of["memory"], of["ends"], of["comes"]))
    full = [c for c in range(len(rows[0])) if c < 3 or any(r[c] for r in rows[1:])]
    return [tuple(row[c] for c in full) for row in rows]


def leaf_rows(found: Document) -> list[tuple[str, ...]]:
    """The table of the leaves, including the header."""
    rows: list[tuple[str, ...]] = [("leaf", "shape", "dtype", "requires_grad")]
    for node in found["nodes"]:
        if node["kind"] == "leaf":
            rows.append(
                (
                    short(node["name"]),
                    shape_text(node["shape"]),
                    node["dtype"],
                    "yes" if node["requires_grad"] else "no",
                )
            )
    return rows


def backward_rows(found: Document, number: int) -> list[tuple[str, ...]]:
    """The table of one backward pass, including the header."""
    nodes = {n["id"]: n for n in found["nodes"]}
    rows: list[tuple[str, ...]] = [("step", "node", "of", "contributions", "sends to")]
    expected: dict[str, int] = {}
    for step in found["steps"]:
        if step["phase"] != "backward" or step["pass"] != number:
            continue
        if step["event"] == "seed":
            expected = step["details"][0]["expected"]
        elif step["event"] == "node":
            node = nodes[step["node"]]
            sent = [d["to"] for d in step["details"] if d["event"] == "deposit"]
            sends = ", ".join(versioned(nodes[to]) for to in sent)
            end = "the caller" if step["details"][-1]["event"] == "capture" else ".grad"
            rows.append(
                (
                    str(step["order"]),
                    node["backward"] or "",
                    versioned(node),
                    str(expected.get(node["id"], 0) or "seed"),
                    sends or end,
                )
            )
    return rows


def text(found: Document) -> str:
    """The tape as tables: what ran forward, and what each backward pass did."""
    first, second = headline(found)
    if found["program"] is not None:
        parts = [f"{short(found['name'])}: {first}", second]
        for column, title in enumerate(found["program"]["columns"]):
            parts.append(title + "\n" + _elided(program_rows(found, column), ()))
        return "\n\n".join(parts)
    parts = [f"{short(found['name'])}: {first}"]
    forward, leaves = forward_rows(found), leaf_rows(found)
    if len(leaves) > 1:
        parts.append(_elided(leaves, ()))
    if len(forward) > 1:
        parts.append(_elided(forward, (0, 1, 6)))
    for ran in found["backward"]:
        line = where(found, ran["code"])
        head = f"backward {ran['number']}" + (f" (line {line})" if line else "")
        rows = backward_rows(found, ran["number"])
        parts.append(head + "\n" + _elided(rows, (0,)))
        if ran["error"] is not None:
            parts.append(f"backward {ran['number']} stopped: {clean(ran['error'].splitlines()[0])}")
    if found["error"] is not None:
        line = where(found, found["error"]["code"])
        at = f" (line {line})" if line else ""
        said = clean(found["error"]["text"].splitlines()[0])
        if found["backward"] and found["backward"][-1]["error"] == found["error"]["text"]:
            said = said.partition(":")[0]  # the full text is just above
        parts.append(f"the code stopped{at}: {said}")
    return "\n\n".join(parts)


def _elided(rows: list[tuple[str, ...]], right: Sequence[int]) -> str:
    """A table; a very long one without its middle, and with a note about it."""
    if len(rows) <= LONGEST_TABLE + 1:
        return table(rows, right)
    half = LONGEST_TABLE // 2
    lines = table([*rows[: half + 1], *rows[-half:]], right).split("\n")
    lines.insert(half + 1, f"... {len(rows) - 1 - 2 * half} more rows ...")
    return "\n".join(lines)


def value_rows(found: Document) -> list[tuple[str, ...]]:
    """The table of values: the value of each tensor when it was made."""
    rows: list[tuple[str, ...]] = [("tensor", "shape", "dtype", "value")]
    for node in found["nodes"]:
        if node["shape"] is not None:
            rows.append(
                (
                    versioned(node),
                    shape_text(node["shape"]),
                    node["dtype"],
                    in_words(value(found, node["value"])),
                )
            )
    return rows


def dot(found: Document) -> str:
    """The document in the Graphviz language: solid edges for data, dashed ones for gradients.

    The columns of a program are framed, and dotted lines lead from what a rule wrote to the
    rule's instruction.
    """
    parts: list[digraph.Vertex | digraph.Cluster] = []
    columns: dict[int, list[digraph.Vertex]] = {}
    arrows: list[digraph.Arrow] = []
    for node in found["nodes"]:
        of = node["program"]
        rows = [versioned(node) if of is None else node["name"]]
        rows += [shape_text(node["shape"]) if node["shape"] is not None else ""]
        rows += [short(node["expression"] or ""), node["backward"] or ""]
        style = "rounded" if node["kind"] == "leaf" else "dashed" if node["view"] else "solid"
        vertex = digraph.Vertex(node["id"], rows, {"style": style})
        if of is None:
            parts.append(vertex)
        else:
            columns.setdefault(of["column"], []).append(vertex)
            if of["role"] in ("rule", "sum") and of["of"] is not None:
                looks = {"style": "dotted", "constraint": "false", "dir": "none"}
                arrows.append(digraph.Arrow(of["of"], node["id"], looks))
    if found["program"] is not None:
        titles = found["program"]["columns"]
        parts += [digraph.Cluster(titles[c], vertices) for c, vertices in columns.items()]
    for edge in found["edges"]:
        arrows.append(digraph.Arrow(edge["from"], edge["to"]))
        if edge["gradient"]:
            back = {"style": "dashed", "constraint": "false"}
            arrows.append(digraph.Arrow(edge["to"], edge["from"], back))
    name = "tape" if found["program"] is None else "program"
    return (
        digraph.digraph(name, parts, arrows, node={"shape": "box", "fontname": "monospace"}) + "\n"
    )
