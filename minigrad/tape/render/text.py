"""The tape as text: tables for terminals and screen readers, and DOT for Graphviz."""

from collections.abc import Sequence
from itertools import zip_longest
from textwrap import wrap

from minigrad.tape import document as doc
from minigrad.tape.names import clean, in_words, shape_text, short
from minigrad.tape.render import digraph
from minigrad.tape.render.draw import headline

LONGEST_TABLE = 200
Rows = list[tuple[str, ...]]


def table_text(
    rows: Sequence[Sequence[str]], right: Sequence[int] = (), widest: int | None = None
) -> str:
    """Rows as aligned columns; the first row is the header.

    right     the columns that are right-aligned
    widest    longer cells continue on further lines
    """
    if widest is not None:
        wrapped = [[wrap(cell, widest) or [""] for cell in row] for row in rows]
        rows = [line for cells in wrapped for line in zip_longest(*cells, fillvalue="")]
    columns = []
    for c, column in enumerate(zip(*rows, strict=True)):
        width = max(map(len, column))
        columns.append([f"{cell:{'>' if c in right else '<'}{width}}" for cell in column])
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns))


def forward_rows(document: doc.Document) -> Rows:
    """The table of the forward pass, including the header."""
    rows: Rows = [("step", "line", "op", "inputs", "output", "shape", "version", "grad_fn")]
    order = {s.node: k for k, s in enumerate(document.steps, 1) if s.event == "op"}
    for node in document.nodes:
        if node.kind != "op":
            continue
        inputs = [short(i.of(document.nodes)) for i in node.inputs]
        step, line = str(order[node.id]), document.where(node.code)
        op = f"{node.op}{'_' * node.inplace}"
        terms = short(", ".join(inputs))
        computed = (terms, short(node.name), shape_text(node.shape), str(node.version))
        rows.append((step, line, op, *computed, node.backward or "none"))
    return rows


def program_rows(document: doc.Document, column: int) -> Rows:
    """The listing of a program with the facts about each value, including the header."""
    rows: Rows = [("", "instruction", "shape", "value", "stored in", "then", "comes from")]
    for node in document.nodes:
        of = node.program
        if of is not None and of.column == column:
            what = short(f"{of.role} {node.name}" if node.kind == "leaf" else node.expression)
            known = "" if node.value is None else in_words(document.value(node.value))
            rows.append(
                (of.number, what, shape_text(node.shape), known, of.memory, of.ends, of.comes)
            )
    full = [c for c in range(len(rows[0])) if c < 3 or any(r[c] for r in rows[1:])]
    return [tuple(row[c] for c in full) for row in rows]


def leaf_rows(document: doc.Document) -> Rows:
    """The table of the leaves, including the header."""
    rows: Rows = [("leaf", "shape", "dtype", "requires_grad")]
    for n in document.nodes:
        if n.kind == "leaf" and not n.updated:
            wanted = "yes" if n.requires_grad else "no"
            rows.append((short(n.name), shape_text(n.shape), str(n.dtype), wanted))
    return rows


def backward_rows(document: doc.Document) -> dict[int | None, Rows]:
    """The table of each backward pass, by its number, including the header."""
    header = ("step", "node", "of", "contributions", "sends to")
    tables: dict[int | None, Rows] = {ran.number: [header] for ran in document.backward}
    expected: dict[int | None, dict[str, int]] = {}
    output = {(e.to, e.backward_edge): e.output for e in document.edges if e.gradient}
    for place, step in enumerate(document.steps, 1):
        if step.phase != "backward":
            continue
        if isinstance(step.details[0], doc.SeedDetail):
            expected[step.pass_] = step.details[0].expected
        elif step.event == "node" and step.node is not None:
            node, last = document.node(step.node), step.details[-1]
            sent = [d for d in step.details if isinstance(d, doc.DepositDetail)]
            names = [document.node(d.to).result(output.get((node.id, d.edge), 0)) for d in sent]
            captured = isinstance(last, doc.CaptureDetail) and last.event == "capture"
            sends = ", ".join(map(short, names)) or ("the caller" if captured else ".grad")
            came = str(expected.get(step.pass_, {}).get(node.id, 0) or "seed")
            row = (str(place), node.backward or "", short(node.label), came, sends)
            tables[step.pass_].append(row)
    return tables


def value_rows(document: doc.Document) -> Rows:
    """The table of values: the value of each tensor when it was made."""
    rows: Rows = [("tensor", "shape", "dtype", "value")]
    for node in document.nodes:
        if node.shape is not None:
            known = in_words(document.value(node.value))
            rows.append((short(node.result(0)), shape_text(node.shape), str(node.dtype), known))
            for k, r in enumerate(node.results, 1):
                also = in_words(document.value(r.value))
                rows.append((short(node.result(k)), shape_text(r.shape), r.dtype, also))
    return rows


def text(document: doc.Document) -> str:
    """The tape as tables: the forward pass, and each backward pass."""
    first, second = headline(document)
    parts = [f"{short(document.name)}: {first}"]
    if document.program is not None:
        parts.append(second)
        for column, title in enumerate(document.program.columns):
            parts.append(title + "\n" + _elided(program_rows(document, column)))
        return "\n\n".join(parts)
    if not document.nodes:
        parts.append(second)
    tables = (leaf_rows(document), ()), (forward_rows(document), (0, 1, 6))
    parts += [_elided(rows, right) for rows, right in tables if len(rows) > 1]
    backward = backward_rows(document)
    for ran in document.backward:
        head = f"backward {ran.number}{_line(document, ran.code)}"
        parts.append(head + "\n" + _elided(backward[ran.number], (0,)))
        if ran.note is not None:
            parts.append(ran.note)
        if ran.error is not None:
            parts.append(f"backward {ran.number} stopped: {clean(ran.error.splitlines()[0])}")
    for step in document.steps:
        if step.first and step.node is not None:
            node = document.node(step.node)
            what = f"{node.label} = {node.expression}" if step.event == "op" else node.title
            which = f" of backward {step.pass_}" if step.pass_ else ""
            parts.append(
                f"first {step.first}{which}: made by {short(what)}{_line(document, node.code)}"
            )
    if document.error is not None:
        message = clean(document.error.text.splitlines()[0])
        if document.backward and document.backward[-1].error == document.error.text:
            message = message.partition(":")[0]  # the full text is just above
        parts.append(f"the code stopped{_line(document, document.error.code)}: {message}")
    return "\n\n".join(parts)


def _line(document: doc.Document, code: int | None) -> str:
    line = document.where(code)
    return f" (line {line})" if line else ""


def _elided(rows: Rows, right: Sequence[int] = ()) -> str:
    """A table; the middle of a very long one is replaced by a note."""
    if len(rows) <= LONGEST_TABLE + 1:
        return table_text(rows, right)
    half = LONGEST_TABLE // 2
    lines = table_text([*rows[: half + 1], *rows[-half:]], right).split("\n")
    lines.insert(half + 1, f"... {len(rows) - 1 - 2 * half} more rows ...")
    return "\n".join(lines)


def dot_text(document: doc.Document) -> str:
    """The document in the Graphviz language: solid edges for data, dashed ones for gradients.

    The columns of a program are framed. Dotted lines connect the instructions that a rule wrote to
    the rule's instruction.
    """
    parts: list[digraph.Vertex | digraph.Cluster] = []
    columns: dict[int, list[digraph.Vertex]] = {}
    arrows: list[digraph.Arrow] = []
    for node in document.nodes:
        of = node.program
        name = short(node.label) if of is None else node.name
        rows = [name, shape_text(node.shape), short(node.expression or ""), node.backward or ""]
        style = "rounded" if node.kind == "leaf" else "dashed" if node.view else "solid"
        vertex = digraph.Vertex(node.id, rows, {"style": style})
        if of is None:
            parts.append(vertex)
        else:
            columns.setdefault(of.column, []).append(vertex)
            if of.role in ("rule", "sum") and of.of is not None:
                attributes = {"style": "dotted", "constraint": "false", "dir": "none"}
                arrows.append(digraph.Arrow(of.of, node.id, attributes))
    if document.program is not None:
        titles = document.program.columns
        parts += [digraph.Cluster(titles[c], vertices) for c, vertices in columns.items()]
    for edge in document.edges:
        arrows.append(digraph.Arrow(edge.from_, edge.to))
        if edge.gradient:
            back = {"style": "dashed", "constraint": "false"}
            arrows.append(digraph.Arrow(edge.to, edge.from_, back))
    name = "tape" if document.program is None else "program"
    box = {"shape": "box", "fontname": "monospace"}
    return digraph.digraph(name, parts, arrows, node=box) + "\n"
