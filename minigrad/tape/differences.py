"""Central differences from a recording: numerical derivatives, computed without any rule.

    tape.differences("x")       the quotient (f(x + h) - f(x - h)) / 2h, for each entry of x
    tape.differences(x=mine)    compares them with a hand-derived gradient

f is the part of the recording that the last backward pass went through. We apply its
operations again, in float64, with one entry of the leaf slightly larger and slightly smaller.
Operands without a gradient (constants, detached tensors) keep their recorded values, as in the
backward pass. This uses no rules, so it checks the engine as well as the user.

This fails if an operation cannot be applied again: because an operand was not recorded in full,
or because a part was computed before the recording, by a user-defined Function, or was written
in place through a view. The error message gives the reason and the place.

See also minigrad.autograd.gradcheck, which calls a function again and needs no tape.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minigrad.tape.adapters import double_of
from minigrad.tape.check import close, last_run, leaf_named, leaves_of, no_gradient
from minigrad.tape.events import Input, computed_from, result_of
from minigrad.tape.names import number_text, short
from minigrad.tape.naming import node_names
from minigrad.tape.recorder import Recorder
from minigrad.tape.snapshot import Array, Snapshot
from minigrad.tape.text import table_text

STEP = 6e-6  # the cube root of float64's precision: balances rounding error and curvature error
MOST = 200_000  # the maximum number of operations to apply again
ROWS = 8  # entries shown one by one


class Differences:
    """The central differences of one leaf.

    name       the name of the leaf
    central    the quotients, in the leaf's shape, in float64
    tape       the gradient that the last pass computed
    kinks      entries at which the left and right quotients differ
    """

    def __init__(self, name: str, central: Array, tape: Array, kinks: list[list[int]]) -> None:
        self.name, self.central, self.tape, self.kinks = name, central, tape, kinks

    def agrees(self, mine: Any = None) -> bool:
        """Does the given gradient (by default the tape's) agree with the quotients?"""
        given = self.tape if mine is None else double_of(mine)
        return given.shape == self.central.shape and close(given, self.central.astype("f4"))

    def text(self, mine: Any = None) -> str:
        """The quotients as text; with a hand-derived gradient, entry by entry."""
        said = [f"central differences: {Snapshot(self.central)}"]
        if mine is not None:
            own = double_of(mine)
            if own.shape != self.central.shape:
                return f"{said[0]}; yours has shape {own.shape} instead of {self.central.shape}."
            said = [_table(self, own)]
        for at in self.kinks[:3]:
            said.append(
                f"At {self.name}{at or ''} there is a kink: the slopes from the left and the right differ."
            )
        return "\n".join(said)

    def __repr__(self) -> str:
        return _table(self, None)


class AllDifferences:
    """The central differences of several leaves; true if the tape agrees with all of them."""

    def __init__(self, found: list[tuple[Differences, Any]]) -> None:
        self.found = found
        self.leaves = {d.name: d.central for d, _ in found}

    def __bool__(self) -> bool:
        return all(d.agrees() and d.agrees(mine) for d, mine in self.found)

    def __repr__(self) -> str:
        return "\n\n".join(_table(d, None if m is None else double_of(m)) for d, m in self.found)


def differences(
    recorder: Recorder, names: Sequence[str], derived: Mapping[str, Any]
) -> AllDifferences:
    """The central differences of the named leaves; of all leaves, if none is named."""
    leaves = leaves_of(recorder)
    received = [name for name, k in leaves.items() if last_run(recorder.passes, k) is not None]
    ids = {
        name: leaf_named(recorder, name, "differences")
        for name in [*names, *derived] or received or list(leaves)
    }
    return AllDifferences(
        [(differences_of_leaf(recorder, leaf), derived.get(name)) for name, leaf in ids.items()]
    )


def differences_of_leaf(recorder: Recorder, leaf: str) -> Differences:
    """The central differences of a leaf, given by its id in the document.

    Raises ValueError, with the reason, if this tape does not allow it.
    """
    rerun = _Rerun(recorder, int(leaf[1:]))
    x, central = rerun.x, np.empty(rerun.x.shape)
    kinks = []
    middle = rerun.loss(x)
    for at in np.ndindex(x.shape):
        h = STEP * max(1.0, abs(float(x[at])))
        values = []
        for sign in (1, -1):
            moved = x.copy()
            moved[at] += sign * h
            values.append(rerun.loss(moved))
        right, left = (values[0] - middle) / h, (middle - values[1]) / h
        central[at] = (values[0] - values[1]) / (2 * h)
        if abs(right - left) > 1e-3 * max(1.0, abs(right), abs(left)):
            kinks.append(list(at))
    return Differences(rerun.name, central, rerun.gradient, kinks)


class _Rerun:
    """The operations that the last backward pass through a leaf used, ready to run again."""

    def __init__(self, recorder: Recorder, leaf: int) -> None:
        self.entries, self.leaf = recorder.entries, leaf
        self.names = node_names(recorder)
        self.name = self.names[leaf]
        found = last_run(recorder.passes, leaf)
        if found is None:
            raise ValueError(f"tape.differences: {no_gradient(self.name)}")
        its_pass, run = found
        self.gradient = self._whole(run.g, f"the gradient of {self.name}")
        self.x = self._value(Input(leaf))
        self.seeds = [(e, self._whole(g, "the seed")) for e, g in its_pass.seeds]
        self.path = self._path([e for e, _ in its_pass.seeds])
        if 2 * self.x.size * len(self.path) > MOST:
            raise self._cannot(
                f"{self.name} has {self.x.size} entries, and for each {2 * len(self.path)} operations would run"
            )
        self._must_repeat()

    def _cannot(self, why: str) -> ValueError:
        return ValueError(
            f"central differences cannot be computed from this tape: {why}. To fix it, use "
            "minigrad.gradcheck(f, x), which calls your function again."
        )

    def _path(self, roots: list[int]) -> list[int]:
        """The entries between the leaf and the roots, in order."""
        onward = {self.leaf}
        for k in sorted(computed_from(self.entries, roots)):
            if any(i.entry in onward and i.gradient for i in self.entries[k].inputs):
                onward.add(k)
        path = sorted(onward - {self.leaf})
        for k in path:
            entry, name = self.entries[k], self.names[k]
            if entry.kind == "before":
                raise self._cannot(f"{name} was computed before the recording began")
            if entry.through is not None:
                raise self._cannot(f"{name} was written to in place through a view of it")
            if entry.op_call is None:
                raise self._cannot(f"{entry.op}, which made {name}, cannot be applied again")
        return path

    def _must_repeat(self) -> None:
        """Check that running again gives the recorded values."""
        known = self._run(self.x)
        for k in self.path:
            for z, r in zip(known[k], self.entries[k].results, strict=False):
                before = None if r.value is None else r.value.array
                if before is not None and not _repeats(z, before):
                    raise self._cannot(f"run again, {self.names[k]} has a different value")

    def loss(self, x: Array) -> float:
        """The sum of the roots, each multiplied by its seed gradient."""
        known = self._run(x)
        return float(sum(np.sum(known[e][0] * g) for e, g in self.seeds if e in known))

    def _run(self, x: Array) -> dict[int, tuple[Any, ...]]:
        known: dict[int, tuple[Any, ...]] = {self.leaf: (x,)}
        for k in self.path:
            entry = self.entries[k]
            call = entry.op_call
            assert call is not None
            operands = []
            for place, i in enumerate(entry.inputs):
                if i.entry is None:
                    operands.append(_double(call.constants[place]))
                elif i.entry in known and i.gradient:
                    operands.append(known[i.entry][i.output])
                else:
                    operands.append(self._value(i))
            with np.errstate(all="ignore"):
                z = call.op.forward(*operands, **{n: _setting(v) for n, v in call.settings.items()})
            known[k] = z if isinstance(z, tuple) else (np.asarray(z),)
        return known

    def _value(self, i: Input) -> Array:
        """An operand's recorded value, in float64."""
        assert i.entry is not None
        result = result_of(self.entries, i)
        return self._whole(None if result is None else result.value, self.names[i.entry])

    def _whole(self, value: Snapshot | None, name: str) -> Array:
        array = None if value is None else value.array
        if array is None:
            raise self._cannot(f"{name} was not recorded whole")
        return _double(array)


def _repeats(z: Any, before: Array) -> bool:
    return before.shape == z.shape and np.allclose(z, before, 1e-3, 1e-4, equal_nan=True)


def _double(value: Any) -> Array:
    array = np.asarray(value)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _setting(value: Any) -> Any:
    """A setting; a floating-point dtype becomes float64."""
    if isinstance(value, np.dtype) and value.kind == "f":
        return np.dtype(np.float64)
    return value


def _table(d: Differences, mine: Array | None) -> str:
    """A table by entry: your gradient, the tape's, the quotient, and your error."""
    other = d.tape if mine is None else mine
    if other.shape != d.central.shape:
        return f"{d.name}: yours has shape {other.shape} instead of {d.central.shape}."
    apart = np.abs(d.central - other)
    every = list(np.ndindex(d.central.shape))
    shown = sorted(sorted(every, key=lambda at: -apart[at])[:ROWS])
    head = ["entry", *(["yours"] if mine is not None else []), "the tape's", "central", "apart"]
    rows = [head]
    for at in shown:
        given = [] if mine is None else [number_text(mine[at])]
        quotient = [number_text(round(float(d.central[at]), 9)), f"{apart[at]:.0e}"]
        name = f"{short(d.name)}[{', '.join(map(str, at))}]" if at else short(d.name)
        rows.append([name, *given, number_text(d.tape[at]), *quotient])
    more = len(every) - len(shown)
    text = table_text(rows, tuple(range(1, len(head))))
    return text + (f"\nand {more} others, which are closer" if more else "")
