"""Compares a hand-derived gradient with the gradient that a recorded pass computed.

    tape.check(a=..., b=...)     one row for each leaf: it agrees, or how it differs

We compare with the leaf's gradient from the last backward pass that reached it, not with
`.grad`, which may be the sum of several passes. If they differ, the check tries the usual
mistakes: a sign, a factor, a mean instead of a sum, a transpose, a missing sum over a broadcast
axis, and a gradient that only contains the contribution of one op.

See also minigrad.compare, which uses the graph itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.tape.adapters import double_of
from minigrad.tape.events import Backward, NodeRun
from minigrad.tape.names import near
from minigrad.tape.naming import label, node_names, versions_of
from minigrad.tape.recorder import Recorder
from minigrad.tape.snapshot import Array, Snapshot


@dataclass(frozen=True)
class CheckedLeaf:
    """The result for one leaf: whether the gradients agree, both as text, and a guess at the mistake."""

    name: str
    ok: bool
    yours: str
    tape: str
    hint: str = ""

    def text(self) -> str:
        """ "✓ right", or both gradients and the guess at the mistake; or why there is none."""
        if self.ok or not self.tape:
            return self.hint or "✓ right"
        said = f"different: yours {self.yours}, the tape's {self.tape}."
        return f"{said} {self.hint}".rstrip()


class Checked:
    """The rows of a check; true if all gradients agree."""

    def __init__(self, rows: list[CheckedLeaf]) -> None:
        self.rows = rows

    @property
    def ok(self) -> bool:
        """True if all checked leaves agree."""
        return all(row.ok for row in self.rows)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        agree = sum(row.ok for row in self.rows)
        head = f"check: {agree} of {len(self.rows)} gradients agree with the tape"
        width = max(len(row.name) for row in self.rows)
        return "\n".join([head, *(f"    {r.name:<{width}}    {r.text()}" for r in self.rows)])


def check(recorder: Recorder, derived: Mapping[str, Any]) -> Checked:
    """Compare hand-derived gradients, given by the names of their leaves."""
    if not derived:
        raise TypeError("tape.check needs at least one gradient, like  tape.check(x=my_gradient).")
    leaves = [(leaf_named(recorder, name, "check"), mine) for name, mine in derived.items()]
    return Checked([check_leaf(recorder, leaf, mine) for leaf, mine in leaves])


def leaves_of(recorder: Recorder) -> dict[str, int]:
    """The entries of the leaves that require a gradient, by their names."""
    names = node_names(recorder)
    ran = {run.entry for b in recorder.passes for run in b.runs}
    found: dict[str, int] = {}
    for k, e in enumerate(recorder.entries):  # the last version of a parameter that has a gradient
        if e.backward == "AccumulateGrad" and (names[k] not in found or k in ran):
            found[names[k]] = k
    return found


def leaf_named(recorder: Recorder, name: str, method: str) -> str:
    """The id of a leaf in the document; KeyError if there is no such leaf."""
    leaves = leaves_of(recorder)
    if name not in leaves:
        raise KeyError(
            f"tape.{method}: there is no leaf {name!r} that requires a gradient on this tape."
            + near(name, leaves)
        )
    return f"n{leaves[name]}"


def check_leaf(recorder: Recorder, leaf: str, mine: Any) -> CheckedLeaf:
    """Compare one gradient with that of a leaf, given by the leaf's id in the document."""
    names, entry, array = node_names(recorder), int(leaf[1:]), double_of(mine)
    found = last_run(recorder.passes, entry)
    if found is None:
        return CheckedLeaf(names[entry], False, str(Snapshot(array)), "", no_gradient(names[entry]))
    its_pass, run = found
    right = None if run.g is None else run.g.array
    if right is None:
        raise ValueError(
            f"tape.check: the gradient of {names[entry]} was too large to be recorded whole. "
            "To fix it, use minigrad.compare, which uses the graph."
        )
    versions = versions_of(recorder)
    labels = [label(e, n, versions) for e, n in zip(recorder.entries, names)]
    parts = {
        labels[t.entry]: s.value.array
        for t in its_pass.runs
        for s in t.sent
        if s.to == entry and s.value is not None and s.value.array is not None
    }
    ok = array.shape == right.shape and close(array, right)
    hint = "" if ok else _diagnosis(array, right, parts)
    return CheckedLeaf(names[entry], ok, str(Snapshot(array)), str(Snapshot(right)), hint)


def last_run(passes: list[Backward], entry: int) -> tuple[Backward, NodeRun] | None:
    """The last run of a leaf, and the backward pass that it was part of."""
    for b in reversed(passes):
        for run in reversed(b.runs):
            if run.entry == entry:
                return b, run
    return None


def no_gradient(name: str) -> str:
    """The error message for a leaf that has no gradient to compare with."""
    return (
        f"no gradient has reached {name} on this tape yet. To fix it, run a backward pass: "
        "z.backward() in the recorded cell, or tape.steps(z) afterward."
    )


def close(a: Array, b: Array) -> bool:
    """Are they equal up to rounding? Hand-derived values may have few digits."""
    tolerance = 1e-4 if b.dtype.itemsize < 8 else 1e-6
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * 1e-2, equal_nan=True))


def _diagnosis(mine: Array, right: Array, parts: dict[str, Array]) -> str:
    """A guess at the mistake: tries the usual ones one after another."""
    for sender, part in parts.items():
        if len(parts) > 1 and part.shape == mine.shape and close(mine, part):
            return (
                f"It only contains the part through {sender}; there are {len(parts)} parts to add."
            )
    size = max((p.size for p in parts.values()), default=right.size)
    for corrected, mistake in _corrections(mine, right, {right.size, size} - {1}):
        if corrected.shape == right.shape and close(corrected, right):
            return mistake
    if mine.shape != right.shape:
        return f"Its shape is {mine.shape}, and the gradient's is {right.shape}."
    with np.errstate(all="ignore"):
        ratio = mine / right
    if np.isfinite(ratio).all() and np.ptp(ratio) < 1e-5 * abs(float(ratio.flat[0])):
        return f"Every entry is {float(ratio.flat[0]):.4g} times as large."
    k = int(np.argmax(np.abs(mine - right)))
    at = list(map(int, np.unravel_index(k, right.shape)))
    return f"The largest error is at entry {at}." if right.ndim else ""


def _corrections(mine: Array, right: Array, sizes: set[int]) -> Iterator[tuple[Array, str]]:
    """For each usual mistake: the right gradient if this mistake was made, and a description.

    sizes    the numbers of entries over which a mean may have been taken
    """
    yield -mine, "The sign is the other way round."
    yield mine * 2.0, "It is half as large: a factor 2 is missing."
    yield mine * 0.5, "It is twice as large: there is a factor 2 too many."
    for n in sizes:
        yield mine / n, f"It is {n} times as large: the 1/N of a mean is missing."
        yield mine * n, f"It is 1/{n} as large: a sum was treated as a mean."
    if mine.ndim == 2:
        yield mine.T, "It is the transpose."
    lead = mine.ndim - right.ndim
    broadcast = zip(mine.shape, (1,) * lead + right.shape)
    axes = tuple(k for k, (n, own) in enumerate(broadcast) if k < lead or (own == 1 and n != 1))
    if axes and lead >= 0:
        many = "axis" if len(axes) == 1 else "axes"
        said = f"The sum over the broadcast {many} {', '.join(map(str, axes))} is missing."
        total = mine.sum(axes)
        yield total.reshape(right.shape) if total.size == right.size else total, said
