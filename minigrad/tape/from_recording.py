"""Makes the document of a tape (document.py) from its recording."""

import linecache
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, pairwise, zip_longest
from typing import TYPE_CHECKING, Any

from minigrad.core.errors import Place
from minigrad.core.op import REGISTRY
from minigrad.core.shapes import broadcast_axes
from minigrad.tape import document as doc
from minigrad.tape import naming, steps
from minigrad.tape.events import Backward, Entry, Input, Iteration
from minigrad.tape.iterations import iterations_of
from minigrad.tape.jacobian import MOST, Jacobians
from minigrad.tape.recorder import Recorder
from minigrad.tape.render import fold
from minigrad.tape.render.thumbnail import thumbnail
from minigrad.tape.snapshot import FIRST, Snapshot

if TYPE_CHECKING:
    from minigrad.tape.record import Tape

LONGEST_CELL = 200  # lines; from a longer cell, only lines around those that ran are kept
FAR = 40  # maximum distance in lines to the head of a function
BUDGET = 1 << 14  # total entries of arrays that are stored whole, about 200 KiB as text


def document(tape: "Tape") -> doc.Document:
    """The document of a tape."""
    recorder = tape._recorder
    code, values = Code(tape.home), Values()
    edges = _edges(recorder.entries)
    nodes = _Nodes(recorder, edges, code, values).all()
    result = doc.Document(
        name=tape.name,
        number=tape.number,
        code=code.lines,
        values=values.all,
        ops=op_formulas((e.op, e.formula) for e in recorder.entries),
        nodes=nodes,
        edges=edges,
        steps=steps.Steps(recorder, nodes, values, code).all(),
        backward=[_pass(b, nodes, code, values) for b in recorder.passes],
        error=_error(tape, nodes, code),
    )
    code.add_surroundings()
    loop = iterations_of(recorder)
    calls = [recorder.calls_around(entry) for entry in recorder.entries]
    groups, views = fold.fold_document(result, calls, loop)
    result = replace(result, groups=groups, views=views)
    return replace(result, iterations=[*_iterations(recorder, loop, result)])


def _iterations(
    recorder: Recorder, loop: list[Iteration], document: doc.Document
) -> Iterator[doc.TrainingIteration]:
    """The iterations of a training loop, with their steps, groups and losses."""
    # For each k, the number of steps among the first k events.
    steps_until = [*accumulate(map(recorder.is_step, recorder.events), initial=0)]
    group = {g.title: g.id for g in document.groups if g.kind == "iteration"}
    for iteration in loop:
        number, of, at = iteration.number, iteration.of, iteration.events
        events = recorder.events[at.start : at.stop]
        seeds = [recorder.passes[b].seeds[0][0] for kind, b, _ in events if kind == "seed"]
        loss = document.nodes[seeds[-1]].value if seeds else None
        own = group.get(fold.iteration_title(iteration))
        steps = steps_until[at.start] + 1, steps_until[at.stop]
        yield doc.TrainingIteration(number, of, *steps, own, loss)


def nodes_of(recorder: Recorder) -> list[doc.TapeNode]:
    """The nodes of a recording, without the rest of the document: for their names and expressions."""
    return _Nodes(recorder, [], Code(None), Values(), most=0).all()


class Code:
    """The lines that ran, each once, in the order of their first use.

    home    the file or cell that was recorded: source 0, even if the first operation ran in
            a function from another one, such as the forward of a model
    """

    def __init__(self, home: str | None) -> None:
        self.home = home
        self.lines: list[doc.CodeLine] = []
        self._known: dict[Place, int] = {}
        self._sources: dict[str, int] = {} if home is None else {home: 0}

    def number(self, place: Place | None) -> int | None:
        """The index of a user's line, which is added if it is new; None if there is no place."""
        if place is None:
            return None
        if place not in self._known:
            self._known[place] = len(self.lines)
            where = place.label.rsplit(", line ", 1)[0]
            source = self._sources.setdefault(place.file, len(self._sources))
            written = linecache.getline(place.file, place.line)
            indent = len(written) - len(written.lstrip())
            self.lines.append(doc.CodeLine(where, source, place.line, place.text, indent))
        return self._known[place]

    def add_surroundings(self) -> None:
        """Add the lines around those that ran: the whole recorded cell, and functions from other sources."""
        ran: dict[str, list[int]] = {}
        for file, line in self._known:
            ran.setdefault(file, []).append(line)
        for file, lines in ran.items():
            text = linecache.getlines(file)
            cell = file == self.home and Place(file, 1).label.startswith("In [")
            if cell and len(text) <= LONGEST_CELL:
                lines = [k for k, line in enumerate(text, 1) if line.strip()]  # without the magic
                lines = [*range(lines[0], lines[-1] + 1)]
            else:
                lines = around(lines, text)
            for line in lines:
                self.number(Place(file, line))


def around(ran: Iterable[int], text: Sequence[str]) -> list[int]:
    """The numbers of these lines, and of the lines above each, up to the head of its function.

    >>> around([3], ["x = 1\\n", "def f(x):\\n", "    return x\\n"])
    [2, 3]
    """
    found: set[int] = set()
    for last in ran:
        first = next((k for k in range(last, max(last - FAR, 0), -1) if _is_head(text, k, last)), 0)
        found |= {*range(first or last, last + 1)}
    return sorted(found)


def _is_head(text: Sequence[str], line: int, inside: int) -> bool:
    """Is this line the head of the function that contains the line `inside`?"""
    if not 0 < inside <= len(text):
        return False
    code, other = text[line - 1], text[inside - 1]
    indents = [len(text) - len(text.lstrip()) for text in (code, other)]
    contains = line == inside or indents[0] < indents[1]
    return contains and code.lstrip().startswith(("def ", "async def "))


class Values:
    """The snapshots of the document, without duplicates; small arrays in full, up to a budget."""

    def __init__(self) -> None:
        self.all: list[doc.ArrayFacts] = []
        self._known: dict[tuple[Any, ...], int] = {}
        self._left = BUDGET

    def number(self, snapshot: Snapshot | None) -> int | None:
        """The index of a snapshot; None for None."""
        return None if snapshot is None else self.index(snapshot)

    def index(self, snapshot: Snapshot) -> int:
        """The index of a snapshot, which is added if there is no equal one."""
        facts = snapshot.facts()
        if len(facts["first"]) > max(FIRST, self._left):
            facts = {**facts, "first": facts["first"][:FIRST]}
        key = tuple(tuple(v) if isinstance(v, list) else v for v in facts.values())
        if key not in self._known:
            self._left -= len(facts["first"])
            self._known[key] = len(self.all)
            self.all.append(facts)
        return self._known[key]


def op_formulas(given: Iterable[tuple[str, str]]) -> dict[str, doc.OpFormula]:
    """The formula of each op, by name, split into the formula itself and the derivatives.

    given    names and formulas; in a formula, the parts are separated by two or more spaces
    """
    found: dict[str, doc.OpFormula] = {}
    for name, text in given:
        if name and name not in found:
            formula, *rules = re.split(r"\s{2,}", text.strip())
            found[name] = doc.OpFormula(formula, rules)
    return found


@dataclass
class _Nodes:
    """The nodes of a tape: one for each entry of its recording."""

    recorder: Recorder
    edges: list[doc.TapeEdge]
    code: Code
    values: Values
    most: int = MOST  # the maximum number of entries of all Jacobians

    def __post_init__(self) -> None:
        recorder = self.recorder
        self.jacobians = Jacobians(recorder.entries, self.most)
        self.result_names, self.versions = (
            naming.result_names(recorder),
            naming.versions_of(recorder),
        )
        self.makers = naming.makers(recorder, self.result_names)
        self.overwritten = {e.from_: e.to for e in self.edges if e.inplace}
        keys = [(e.queue_key, k) for k, e in enumerate(recorder.entries) if e.queue_key is not None]
        self.priority = {k: place for place, (_, k) in enumerate(sorted(keys))}
        self.storage = _shared(recorder)
        ran = [which for kind, which, _ in recorder.events if kind == "op"]
        self.order = {which: order for order, which in enumerate(ran, 1)}
        runs = [run for b in recorder.passes for run in b.runs]
        self.hooks = {run.entry: sum(h.hooks for h in run.hooks) for run in runs}

    def all(self) -> list[doc.TapeNode]:
        return [self._node(k, entry) for k, entry in enumerate(self.recorder.entries)]

    def _node(self, k: int, entry: Entry) -> doc.TapeNode:
        """The node of an entry; a failed op has no results."""
        through, names = None, self.result_names
        if entry.through is not None:
            through = naming.name_of_view(self.recorder, entry.through, names, self.makers)
        written = naming.expression(entry, names, through) if entry.op and entry.inputs else None
        name = ", ".join(names[k])
        node = doc.TapeNode(
            id=f"n{k}",
            kind=entry.kind,
            name=name,
            label=naming.label(entry, name, self.versions),
            named=names[k] if len(names[k]) > 1 else [],
            requires_grad=entry.backward is not None,
            op=entry.op or None,
            expression=written,
            inputs=self._operands(entry),
            settings=naming.settings_in_words(entry, names),
            inplace=entry.inplace,
            view=entry.view,
            replayed=entry.replayed,
            stop=entry.stop,
            code=self.code.number(entry.place),
            calls=self._calls(entry),
            line=None if entry.place is None else entry.place.line,
            order=self.order.get(k),
            backward=entry.backward,
            priority=self.priority.get(k),
            saved=[
                doc.SavedValue(s.name, doc.id_of(s.entry), s.version, s.constant, s.output)
                for s in entry.saved
            ],
            made_by=entry.made_by,
            shapes=entry.shapes,
            hooks=self.hooks.get(k, 0),
            module=None if entry.call is None else self.recorder.calls[entry.call].path,
            overwritten_by=self.overwritten.get(f"n{k}"),
            updated=entry.update,
        )
        return self._with_results(node, entry) if entry.results else node

    def _operands(self, entry: Entry) -> list[doc.NodeOperand | doc.ConstantOperand]:
        op = REGISTRY.get(entry.op) if entry.formula else None
        names = () if op is None or op.variadic else op.operands
        jacobians = {k: self.values.number(j) for k, j in self.jacobians.of(entry).items()}
        given = [*entry.inputs, *entry.read]
        return [
            doc.ConstantOperand(i.constant, name)
            if i.entry is None
            else doc.NodeOperand(f"n{i.entry}", name, i.output, i.version, jacobians.get(k))
            for k, (i, name) in enumerate(zip_longest(given, names[: len(entry.inputs)]))
        ]

    def _calls(self, entry: Entry) -> list[int]:
        """The lines that called the modules in which the entry was made, except its own line."""
        places = [call.place for _, call in self.recorder.calls_around(entry)] + [entry.place]
        found = [self.code.number(p) for p, inside in pairwise(places) if p != inside]
        return [code for code in found if code is not None]

    def _with_results(self, node: doc.TapeNode, entry: Entry) -> doc.TapeNode:
        """The node, with the facts about its results."""
        first, *others = entry.results
        values = self.values
        return replace(
            node,
            tensor=first.tensor,
            version=first.version,
            versions=self.versions[first.tensor],
            shape=list(first.shape),
            dtype=first.dtype,
            value=values.number(first.value),
            thumbnail=thumbnail(first.value, node.result(0) if node.named else ""),
            tangents=[values.index(t) for t in first.tangents],
            results=[
                doc.FurtherResult(r.tensor, list(r.shape), r.dtype, values.number(r.value))
                for r in others
            ],
            local={name: values.index(d) for name, d in entry.local.items()},
            storage=self.storage.get(first.tensor),
        )


def _shared(recorder: Recorder) -> dict[int, int]:
    """The memory of each tensor, if it is shared with another tensor on the tape."""
    shared = [s for s, n in Counter(recorder.storages.values()).items() if n > 1]
    place = {storage: k for k, storage in enumerate(shared)}
    return {t: place[s] for t, s in recorder.storages.items() if s in place}


def _edges(entries: list[Entry]) -> list[doc.TapeEdge]:
    edges: list[doc.TapeEdge] = []
    for number, entry in enumerate(entries):
        passed = 0
        for operand, given in enumerate([*entry.inputs, *entry.read]):
            if given.entry is None:
                continue
            edge = doc.TapeEdge(
                id=f"e{len(edges)}",
                from_=f"n{given.entry}",
                to=f"n{number}",
                operand=operand,
                output=given.output,
                version=given.version,
                gradient=given.gradient,
                backward_edge=passed if given.gradient else None,
                inplace=entry.inplace and operand == 0,
                view=entry.view and operand == 0,
                summed=_summed_axes(entries[given.entry], given, entry),
            )
            edges.append(edge)
            passed += given.gradient
    return _without_cycles(edges)


def _without_cycles(edges: list[doc.TapeEdge]) -> list[doc.TapeEdge]:
    """The edges, except those that would close a cycle.

    An edge leads from a lower number to a higher one, except to a node that was not recorded when
    it was made. If a transform of minigrad.func uses one tensor in several graphs, such a node can
    seem to come before its inputs.
    """
    doubtful = [e for e in edges if doc.index_of(e.from_) >= doc.index_of(e.to)]
    sources: dict[str, set[str]] = {e.to: set() for e in edges}
    for e in edges:
        sources[e.to] |= {e.from_} if e not in doubtful else set()
    closing = []
    for e in doubtful:
        try:
            TopologicalSorter({**sources, e.to: sources[e.to] | {e.from_}}).prepare()
            sources[e.to].add(e.from_)
        except CycleError:
            closing.append(e)
    return [e for e in edges if e not in closing]


def _summed_axes(source: Entry, given: Input, entry: Entry) -> str | None:
    """The axes over which a gradient is summed to undo a broadcast, as text."""
    known = given.output < len(source.results)  # not always, for a node made before the recording
    if not given.gradient or not known or not entry.results or entry.view:
        return None
    op = REGISTRY.get(entry.op)
    if op is None or op.kind != "elementwise":
        return None
    small = source.results[given.output].shape
    large = entry.results[0].shape if entry.written is None else entry.written
    lead = len(large) - len(small)
    axes = broadcast_axes(small, large) if lead >= 0 else ()
    axes_text = ", ".join(f"{k} ({large[k]}{'' if k < lead else ' → 1'})" for k in axes)
    return f"summed over {'axis' if len(axes) == 1 else 'axes'} {axes_text}" if axes else None


def _pass(b: Backward, nodes: list[doc.TapeNode], code: Code, values: Values) -> doc.TapePass:
    return doc.TapePass(
        number=b.number,
        ran_as=b.ran_as,
        code=code.number(b.place),
        line=None if b.place is None else b.place.line,
        engine=b.engine,
        retain_graph=b.retain_graph,
        create_graph=b.create_graph,
        steps=len(b.runs),
        finished=b.finished,
        error=b.error and steps.error_text(b, nodes),
        grads={
            f"n{e}": doc.GradChange(values.number(before), values.number(after))
            for e, (before, after) in sorted(b.grads.items())
        },
        note=_note(b, nodes),
    )


def _note(b: Backward, nodes: list[doc.TapeNode]) -> str | None:
    """A note on what is unknown about a pass of PyTorch's engine, which reports less than ours."""
    if b.threads > 1:
        return (
            f"PyTorch ran this pass in {b.threads} threads. The nodes are in the order in which "
            "hooks saw them; it is not known which others were ready."
        )
    for run in b.runs:
        if run.instead is not None:
            turn = f"by our counts, it was the turn of {nodes[run.instead].title}"
            unknown = "from there on, it is not known which nodes were ready."
            return f"{nodes[run.entry].title} ran when, {turn}: {unknown}"
    return None


def _error(tape: "Tape", nodes: list[doc.TapeNode], code: Code) -> doc.TapeError | None:
    if tape.error is None:
        return None
    passes = tape._recorder.passes
    same = passes and passes[-1].error == tape.error
    text = steps.error_text(passes[-1], nodes) if same else tape.error
    return doc.TapeError(text, code.number(tape.error_place), doc.id_of(tape.failed))
