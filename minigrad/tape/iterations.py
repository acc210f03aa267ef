"""Iterations of a training loop in a recording, and which of them are kept.

An iteration ends after the step of its optimizer, and the steps of schedulers that follow immediately. In a
loop without an optimizer, it ends where the loop goes back to an earlier line after a backward pass. If there
are more than MOST_ITERATIONS iterations, we keep those at both ends and some in between. The others are left
out when the recording ends, so that the page of a tape stays small. Entries that kept iterations need are not
left out: above all the parameters, which are then several versions later.
"""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from weakref import WeakKeyDictionary

from minigrad.core.errors import Place
from minigrad.tape.events import Backward, Entry, Input, Iteration, NodeRun
from minigrad.tape.naming import result_names
from minigrad.tape.recorder import Recorder

MOST_ITERATIONS = 50  # kept whole
AT_ENDS = 8  # kept at the start and at the end of a longer loop
BETWEEN = 8


def iterations_of(recorder: Recorder) -> list[Iteration]:
    """The iterations of a recording, in order; none if no optimizer stepped twice on one line.

    Without an optimizer, the iterations of a loop are those of its backward passes.
    """
    if recorder.iterations:
        return recorder.iterations
    steps: dict[tuple[Place | None, str], list[int]] = {}
    for k, (kind, which, _) in enumerate(recorder.events):
        if kind == "update" and (update := recorder.updates[which]).kind == "step":
            steps.setdefault((update.place, update.name), []).append(k)
    after = _after_passes(recorder)  # a hook may call step() in the middle of a pass
    several = max(steps.values(), key=len, default=[])
    ends = sorted({_with_schedules(recorder, after[k]) for k in several})
    if len(ends) < 2:
        ends = _ends_by_hand(recorder, after)
    found, entered = [], 0
    for n, (begin, end) in enumerate(pairwise([0, *ends]), 1):
        reached = _reached(recorder, end)
        found.append(Iteration(n, len(ends), range(begin, end), range(entered, reached)))
        entered = reached
    return found


def _reached(recorder: Recorder, end: int) -> int:
    """The number of entries that were made before this event."""
    kind, which, _ = recorder.events[end - 1]
    if kind == "update":
        return recorder.updates[which].reached
    following = (which for kind, which, _ in recorder.events[end:] if kind == "op")
    first = next(following, len(recorder.entries))
    while (
        first and recorder.entries[first - 1].kind == "leaf" and not recorder.entries[first - 1].op
    ):
        first -= 1  # leaves that the next iteration was the first to use; not a detached result, which is a step
    return first


def _after_passes(recorder: Recorder) -> list[int]:
    """For each event, the next one that no backward pass contains."""
    after: list[int] = []
    running = 0
    for k in reversed(range(len(recorder.events))):
        kind = recorder.events[k][0]
        after.append(after[-1] if running else k + 1)
        running += (kind == "end") - (kind == "seed")
    return after[::-1]


def _ends_by_hand(recorder: Recorder, after: list[int]) -> list[int]:
    """The ends of iterations in a loop without an optimizer: where it goes back to an earlier line.

    after    for each event, the next one outside of a pass (under create_graph, passes have operations, too)

    If several lines of the loop start backward passes, we follow the line that starts the most.
    """
    places = [b.place for b in reversed(recorder.passes) if b.place is not None]
    started = Counter(places).most_common(1)  # of lines with equally many passes, the last one
    if not started or started[0][1] < 2:
        return []
    place, n = started[0]
    ends, ran = [], False
    for k, (kind, which, _) in enumerate(recorder.events):
        now = recorder.entries[which].place if kind == "op" and after[k] == k + 1 else None
        if ran and now is not None and now.file == place.file and now.line <= place.line:
            ends.append(k)
            ran = False
        ran = ran or (kind == "end" and recorder.passes[which].place == place)
    return [*ends, len(recorder.events)] if len(ends) + 1 == n else []


def _with_schedules(recorder: Recorder, k: int) -> int:
    """The event after the schedulers' steps that follow an optimizer's step, which ends before event k."""
    while k < len(recorder.events):
        kind, which, _ = recorder.events[k]
        if kind != "update" or recorder.updates[which].kind != "schedule":
            break
        k += 1
    return k


def thin(recorder: Recorder) -> None:
    """Leave out iterations of a long loop, and renumber the rest."""
    found = iterations_of(recorder)
    if len(found) <= MOST_ITERATIONS:
        return
    n = len(found)
    between = [AT_ENDS + (n - 2 * AT_ENDS) * k // (BETWEEN + 1) for k in range(1, BETWEEN + 1)]
    kept = sorted({*range(AT_ENDS), *between, *range(n - AT_ENDS, n)})
    named = zip(recorder.entries, result_names(recorder), strict=True)
    recorder.fixed = {r.tensor: n for e, names in named for r, n in zip(e.results, names)}
    _Thinning(recorder, found, kept).run()


class _Thinning:
    """Leaves iterations out of a recording, and updates all entry numbers, which change."""

    def __init__(self, recorder: Recorder, found: list[Iteration], kept: list[int]) -> None:
        self.recorder, self.iterations, self.kept = recorder, found, kept
        left_out = [found[t] for t in {*range(len(found))} - {*kept}]
        out = {k for iteration in left_out for k in iteration.events}
        self.events = [k for k in range(len(recorder.events)) if k not in out]
        self.whole = {k for iteration in left_out for k in iteration.entries}
        stay = {*range(len(recorder.entries))} - self.whole | self._needed()
        self.new = {old: k for k, old in enumerate(sorted(stay))}

    def _numbers_of(self, wanted: str) -> list[int]:
        """The numbers of the passes ("seed") or the updates that stay, in order."""
        events = (self.recorder.events[k] for k in self.events)
        return [which for kind, which, _ in events if kind == wanted]

    def _needed(self) -> set[int]:
        """The entries that kept iterations read, update, or send gradients to."""
        entries, updates = self.recorder.entries, self.recorder.updates
        inside = [entries[k] for t in self.kept for k in self.iterations[t].entries]
        inside += entries[self.iterations[-1].entries.stop :]
        found = {i.entry for e in inside for i in (*e.inputs, *e.read)}
        found |= {s.entry for e in inside for s in e.saved}
        for number in self._numbers_of("update"):
            found |= {w.was for w in updates[number].written}
        for number in self._numbers_of("seed"):
            b = self.recorder.passes[number]
            found |= {t.entry for t in b.runs} | {e for e, _ in b.seeds}
            found |= {*b.expected, *b.pruned, *b.grads, b.failed}
        return {k for k in found if k is not None}

    def run(self) -> None:
        recorder, new = self.recorder, self.new
        events = [recorder.events[k] for k in self.events]
        passes, updates = self._numbers_of("seed"), self._numbers_of("update")
        pass_of = {old: k for k, old in enumerate(passes)}
        update_of = {old: k for k, old in enumerate(updates)}
        self._entries()
        recorder.passes = [self._pass(recorder.passes[old], k + 1) for k, old in enumerate(passes)]
        recorder.updates = [recorder.updates[old] for old in updates]
        for update in recorder.updates:
            for w in update.written:
                w.was, w.now = self._at(w.was), self._at(w.now)
        renumber = {"op": new, "failed": new, "update": update_of}
        recorder.events = [(e, renumber.get(e, pass_of)[which], k) for e, which, k in events]
        recorder.iterations = self._iterations()
        for own in recorder.engines:
            own._latest = {t: (new[e], k) for t, (e, k) in own._latest.items() if e in new}
        recorder._grads = {new[e]: g for e, g in recorder._grads.items() if e in new}
        stay = {node: new[e] for node, e in recorder._entry_of.items() if e in new}
        recorder._entry_of = WeakKeyDictionary(stay)

    def _at(self, entry: int | None) -> int | None:
        return None if entry is None else self.new.get(entry)

    def _if_kept(self, given: Input) -> Input:
        """An operand of an entry whose iteration is left out: a kept pass may send a gradient to it."""
        return given if given.entry in self.new else replace(given, entry=None, constant="…")

    def _entries(self) -> None:
        kept: list[Entry] = []
        for old in self.new:
            entry = self.recorder.entries[old]
            if old in self.whole:  # its iteration is left out
                made = entry.kind == "op" and entry.backward not in (None, "AccumulateGrad")
                entry.inputs = [*map(self._if_kept, entry.inputs)] if made else []
                entry.read, entry.saved, entry.op_call = [], [], None
                entry.inplace = entry.view = False
                if entry.kind == "op":
                    entry.kind, entry.stop = "before" if made else "leaf", None
                    entry.update = None if made else "an earlier step"
            # The entries that these refer to are kept: see `_needed`.
            entry.inputs = [replace(i, entry=self._at(i.entry)) for i in entry.inputs]
            entry.read = [replace(i, entry=self._at(i.entry)) for i in entry.read]
            entry.saved = [replace(s, entry=self._at(s.entry)) for s in entry.saved]
            kept.append(entry)
        self.recorder.entries[:] = kept

    def _pass(self, b: Backward, number: int) -> Backward:
        new = self.new
        return replace(
            b,
            number=number,
            seeds=[(new[e], g) for e, g in b.seeds],
            expected={new[e]: n for e, n in b.expected.items()},
            pruned=[new[e] for e in b.pruned],
            runs=[*map(self._run, b.runs)],
            grads={new[e]: g for e, g in b.grads.items()},
            failed=self._at(b.failed),
        )

    def _run(self, run: NodeRun) -> NodeRun:
        sent = [replace(s, to=self.new[s.to]) for s in run.sent]
        return replace(run, entry=self.new[run.entry], sent=sent, instead=self._at(run.instead))

    def _iterations(self) -> list[Iteration]:
        event_at = {old: k for k, old in enumerate(self.events)}
        found, entered = [], 0
        for t in self.kept:
            iteration = self.iterations[t]
            begin = event_at[iteration.events.start]
            until = sum(old < iteration.entries.stop for old in self.new)
            events = range(begin, begin + len(iteration.events))
            found.append(replace(iteration, events=events, entries=range(entered, until)))
            entered = until
        return found
