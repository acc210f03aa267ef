"""Checks of gradients: hand-derived ones against a recording, and both against central differences.

    tape.check(a=..., b=...)     compares with the gradients of the recorded passes
    tape.differences("x")        the quotient (f(x + h) - f(x - h)) / 2h, for each entry of x
    tape.differences(x=mine)     compares them with a hand-derived gradient

`check` compares with the leaf's gradient from the last backward pass that reached it, not with
`.grad`, which may be the sum of several passes. If they differ, it tries the usual mistakes: a sign,
a factor, a mean instead of a sum, a transpose, a missing sum over a broadcast axis, and a gradient
that only contains the contribution of one op.

For `differences`, f is the part of the recording that the last backward pass went through. We apply
its operations again (rerun.py), in float64, with one entry of the leaf slightly larger and slightly
smaller. Operands without a gradient (constants, detached tensors) keep their recorded values, as in the
backward pass. This uses no rules, so it checks the engine as well as the user. It fails if an
operation cannot be applied again: because an operand was not recorded in full, or because a part
was computed outside the recording. The error message gives the reason and the place.

See also minigrad.compare, which uses the graph itself, and minigrad.autograd.gradcheck, which calls
a function again and needs no tape.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minigrad.core import dtypes, modes
from minigrad.core.shapes import broadcast_axes
from minigrad.core.tensor import Tensor, wrap
from minigrad.tape.adapters import double_of
from minigrad.tape.events import (
    Backward,
    CannotRepeat,
    Entry,
    Input,
    NodeRun,
    OpCall,
    TorchCall,
    computed_from,
)
from minigrad.tape.names import near, number_text, printable, short
from minigrad.tape.naming import label, node_names, versions_of
from minigrad.tape.recorder import Recorder
from minigrad.tape.render.text import table_text
from minigrad.tape.rerun import Rerun
from minigrad.tape.snapshot import Array, Snapshot

STEP = 6e-6  # the cube root of float64's precision: balances rounding error and curvature error
MOST = 200_000  # the maximum number of operations to apply again
ROWS = 8  # entries shown one by one


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
        text = f"different: yours {self.yours}, the tape's {self.tape}."
        return f"{text} {self.hint}".rstrip()


@dataclass(frozen=True, repr=False, eq=False)
class Checked:
    """The rows of a check; true if all gradients agree."""

    rows: list[CheckedLeaf]

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
        rows = (f"    {r.name:<{width}}    {r.text()}" for r in self.rows)
        return printable("\n".join([head, *rows]))


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
        missing = f"there is no leaf {name!r} that requires a gradient on this tape."
        raise KeyError(f"tape.{method}: {missing}{near(name, leaves)}")
    return f"n{leaves[name]}"


def check_leaf(recorder: Recorder, leaf: str, mine: Any) -> CheckedLeaf:
    """Compare one gradient with that of a leaf, given by the leaf's id in the document."""
    names, entry, array = node_names(recorder), int(leaf[1:]), double_of(mine)
    name, yours = names[entry], str(Snapshot(array))
    found = last_run(recorder.passes, entry)
    if found is None:
        return CheckedLeaf(name, False, yours, "", no_gradient(name))
    its_pass, run = found
    right = None if run.g is None else run.g.array
    if right is None:
        raise ValueError(
            f"tape.check: the gradient of {name} was too large to be recorded in full. "
            "To fix it, use minigrad.compare, which uses the graph."
        )
    versions = versions_of(recorder)
    labels = [label(e, n, versions) for e, n in zip(recorder.entries, names)]
    sent = ((t.entry, s.value) for t in its_pass.runs for s in t.sent if s.to == entry)
    parts = {labels[k]: g.array for k, g in sent if g is not None and g.array is not None}
    ok = array.shape == right.shape and close(array, right)
    hint = "" if ok else _diagnosis(array, right, parts)
    return CheckedLeaf(name, ok, yours, str(Snapshot(right)), hint)


def last_run(passes: list[Backward], entry: int) -> tuple[Backward, NodeRun] | None:
    """The last run of a leaf, and the backward pass that it was part of."""
    runs = ((b, run) for b in reversed(passes) for run in reversed(b.runs) if run.entry == entry)
    return next(runs, None)


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
            only = f"It only contains the part through {sender}"
            return f"{only}; there are {len(parts)} parts to add."
    size = max((p.size for p in parts.values()), default=right.size)
    if mistake := usual_mistake(mine, right, {right.size, size}):
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


def usual_mistake(mine: Array, right: Array, sizes: set[int]) -> str:
    """The mistake that can be seen from the numbers alone; "" if it is none of the usual ones.

    sizes    the numbers of entries over which a mean may have been taken
    """
    for corrected, mistake in _corrections(mine, right, sizes - {1}):
        if corrected.shape == right.shape and close(corrected, right):
            return mistake
    return ""


def _corrections(mine: Array, right: Array, sizes: set[int]) -> Iterator[tuple[Array, str]]:
    """For each usual mistake: the right gradient if this mistake was made, and a description."""
    yield -mine, "It has the opposite sign."
    yield mine * 2.0, "It is half as large: a factor 2 is missing."
    yield mine * 0.5, "It is twice as large: there is an extra factor 2."
    for n in sizes:
        yield mine / n, f"It is {n} times as large: the 1/N of a mean is missing."
        yield mine * n, f"It is 1/{n} as large: a sum was treated as a mean."
    if mine.ndim == 2:
        yield mine.T, "It is the transpose."
    if mine.ndim >= right.ndim and (axes := broadcast_axes(right.shape, mine.shape)):
        noun = "axis" if len(axes) == 1 else "axes"
        hint = f"The sum over the broadcast {noun} {', '.join(map(str, axes))} is missing."
        total = mine.sum(axes)
        yield total.reshape(right.shape) if total.size == right.size else total, hint


# ---------------------------------------------------------------------- central differences


@dataclass(frozen=True, repr=False, eq=False)
class Differences:
    """The central differences of one leaf.

    name       the name of the leaf
    central    the quotients, in the leaf's shape, in float64
    tape       the gradient that the last pass computed
    kinks      entries at which the left and right quotients differ
    """

    name: str
    central: Array
    tape: Array
    kinks: list[list[int]]

    def agrees(self, mine: Any = None) -> bool:
        """Does the given gradient (by default the tape's) agree with the quotients?"""
        given = self.tape if mine is None else double_of(mine)
        return given.shape == self.central.shape and close(given, self.central.astype("f4"))

    def text(self, mine: Any = None) -> str:
        """The quotients as text; with a hand-derived gradient, entry by entry."""
        text = f"central differences: {Snapshot(self.central)}"
        if mine is not None:
            shape = double_of(mine).shape
            if shape != self.central.shape:
                return f"{text}; yours has shape {shape} instead of {self.central.shape}."
            text = _table(self, mine)
        kink = "there is a kink: the slopes from the left and the right differ."
        return "\n".join([text, *(f"At {self.name}{at or ''} {kink}" for at in self.kinks[:3])])

    def __repr__(self) -> str:
        return printable(_table(self, None))


class AllDifferences:
    """The central differences of several leaves; true if the tape agrees with all of them."""

    def __init__(self, found: list[tuple[Differences, Any]]) -> None:
        self.found = found
        self.leaves = {d.name: d.central for d, _ in found}

    def __bool__(self) -> bool:
        return all(d.agrees() and d.agrees(mine) for d, mine in self.found)

    def __repr__(self) -> str:
        return printable("\n\n".join(_table(d, mine) for d, mine in self.found))


def differences(
    recorder: Recorder, names: Sequence[str], derived: Mapping[str, Any]
) -> AllDifferences:
    """The central differences of the named leaves; of all leaves, if none is named."""
    leaves = leaves_of(recorder)
    received = [name for name, k in leaves.items() if last_run(recorder.passes, k) is not None]
    wanted = dict.fromkeys([*names, *derived] or received or leaves)
    ids = [leaf_named(recorder, name, "differences") for name in wanted]
    found = [differences_of_leaf(recorder, leaf) for leaf in ids]
    return AllDifferences([(d, derived.get(name)) for d, name in zip(found, wanted)])


def differences_of_leaf(recorder: Recorder, leaf: str) -> Differences:
    """The central differences of a leaf, given by its id in the document.

    Raises ValueError, with the reason, if this tape does not allow it.
    """
    try:
        loss = _Loss(recorder, int(leaf[1:]))
    except CannotRepeat as error:
        raise ValueError(
            f"central differences cannot be computed from this tape: {error}. To fix it, use "
            "minigrad.gradcheck(f, x), which calls your function again."
        ) from None
    x, central = loss.x, np.empty(loss.x.shape)
    kinks = []
    middle = loss(x)
    for at in np.ndindex(x.shape):
        h = STEP * max(1.0, abs(float(x[at])))
        change = np.zeros(x.shape)
        change[at] = h
        above, below = loss(x + change), loss(x - change)
        right, left = (above - middle) / h, (middle - below) / h
        central[at] = (above - below) / (2 * h)
        if abs(right - left) > 1e-3 * max(1.0, abs(right), abs(left)):
            kinks.append(list(at))
    return Differences(loss.name, central, loss.gradient, kinks)


class _Loss(Rerun):
    """The loss as a function of one leaf, in double precision: the operations between them, run again."""

    def __init__(self, recorder: Recorder, leaf: int) -> None:
        super().__init__(recorder)
        self.leaf, self.name = leaf, self.names[leaf]
        found = last_run(recorder.passes, leaf)
        if found is None:
            raise ValueError(f"tape.differences: {no_gradient(self.name)}")
        its_pass, run = found
        self.gradient = _whole(run.g, f"the gradient of {self.name}")
        self.seeds = [(e, _whole(g, "the seed")) for e, g in its_pass.seeds]
        self.x = self._numbers(Input(leaf))
        self.onward = self._onward([e for e, _ in its_pass.seeds])
        if 2 * self.x.size * len(self.onward) > MOST:
            raise CannotRepeat(
                f"{self.name} has {self.x.size} entries, and for each {2 * len(self.onward)} operations would run"
            )
        self.is_first = True
        self(self.x)  # each result must be the recorded one
        self.is_first = False

    def _onward(self, roots: list[int]) -> dict[int, None]:
        """The entries between the leaf and the roots, in order."""
        onward: dict[int, None] = {}
        for k in sorted(computed_from(self.entries, roots)):
            inputs = [i.entry for i in self.entries[k].inputs if i.gradient]
            if self.leaf in inputs or not onward.keys().isdisjoint(inputs):
                onward[k] = None
        return onward

    def __call__(self, x: Array) -> float:
        """The sum of the roots, each multiplied by its seed gradient."""
        self.known, self._constants = {(self.leaf, 0): wrap(x)}, {}
        with modes.unobserved(), modes.no_grad():
            for k in self.onward:
                self._again(k, in_time=self.is_first)
        return float(sum(np.sum(self.known[e, 0].array * g) for e, g in self.seeds))

    def _call_of(self, entry: Entry) -> OpCall | TorchCall | None:
        call = super()._call_of(entry)
        if call is None:
            return None
        return replace(call, settings={name: _setting(v) for name, v in call.settings.items()})

    def _applied(self, k: int) -> list[Tensor]:
        results = super()._applied(k)
        if any(z.dtype.kind == "f" and z.dtype != np.float64 for z in results):
            op = self.entries[k].op
            raise CannotRepeat(
                f"{op}, which made {self.names[k]}, does not compute in double precision"
            )
        return results

    def _operand(self, i: Input) -> Tensor:
        assert i.entry is not None
        fixed = i.entry not in self.onward and not self.entries[i.entry].view
        if fixed and (i.entry, i.output) not in self.known:
            i = replace(i, gradient=False)
        return super()._operand(i)

    def _numbers(self, i: Input) -> Array:
        return _double(super()._numbers(i))


def _whole(value: Snapshot | None, name: str) -> Array:
    if value is None or value.array is None:
        raise CannotRepeat(f"{name} was not recorded in full")
    return _double(value.array)


def _double(value: Any) -> Array:
    array = np.asarray(value)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _setting(value: Any) -> Any:
    """A setting; a floating-point dtype becomes float64."""
    if isinstance(value, (dtypes.dtype, np.dtype)) and value.kind == "f":
        return np.dtype(np.float64)
    return value


def _table(d: Differences, mine: Any) -> str:
    """A table by entry: your gradient, the tape's, the quotient, and your error."""
    other = d.tape if mine is None else double_of(mine)
    if other.shape != d.central.shape:
        return f"{d.name}: yours has shape {other.shape} instead of {d.central.shape}."
    error = np.abs(d.central - other)
    every = list(np.ndindex(d.central.shape))
    rows = [["entry", "yours", "the tape's", "central", "apart"]]
    for at in sorted(sorted(every, key=lambda at: -error[at])[:ROWS]):
        name = f"{short(d.name)}[{', '.join(map(str, at))}]" if at else short(d.name)
        numbers = other[at], d.tape[at], round(float(d.central[at]), 9)
        rows.append([name, *map(number_text, numbers), f"{error[at]:.0e}"])
    if mine is None:
        rows = [[name, *others] for name, _, *others in rows]
    text = table_text(rows, range(1, len(rows[0])))
    more = len(every) - ROWS
    return text + (f"\nand {more} others, which are closer" if more > 0 else "")
