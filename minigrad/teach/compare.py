"""Compare gradients derived by hand with the tape's.

    compare(z, x1=g1, x2=g2)    one row for each: exact, close, different, or wrong shape
    compare(z, x1=g1, x2=...)   x2 is not answered yet

The right gradients come from `autograd.grad` with retain_graph=True, so comparing changes nothing:
no `.grad` changes, no saved value is freed, and nothing is recorded. If an earlier `backward()` has
freed the graph, we compute z again from its tape, in which a Function of the user runs again; without a
tape, we compare with what the pass left in `.grad`, and the row says so.

Read difference.py for what "close" means.
"""

import difflib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from minigrad.autograd import grad
from minigrad.core.errors import BackwardTwice, NoGradient
from minigrad.core.hooks import Hooked
from minigrad.core.modes import unobserved
from minigrad.core.node import reachable
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import ones_like, tensor
from minigrad.tape.adapters import (
    double_of,
    gradients_of_torch,
    node_of,
    numbers_of,
    tensor_kinds,
)
from minigrad.tape.check import last_run, usual_mistake
from minigrad.tape.events import CannotRepeat
from minigrad.tape.names import name_in, tensors_in
from minigrad.tape.record import Tape
from minigrad.tape.rerun import Rerun, computed_again
from minigrad.tape.snapshot import Array, Snapshot
from minigrad.teach.answer import Answer, Diagnosis, Request, exchanged
from minigrad.teach.diagnose import Candidates, deadline, explanations, likeliest
from minigrad.teach.difference import Difference, difference, last_digit, real_array
from minigrad.teach.report import Compared, Report
from minigrad.teach.two_engines import BothTapes
from minigrad.teach.uses import MISFITS, has_hooks
from minigrad.teach.whole import repeated

FREED = "compared with .grad, because an earlier backward() has freed the graph"
DIFFERENT = "there, the gradient of {} is different"
NOT_AGAIN = "No mistake is named, because the program cannot be rerun: {}."


@dataclass(frozen=True, kw_only=True)
class CompareRow(Compared):
    """One gradient that was derived by hand.

    name       the tensor's name
    shape      the tensor's shape, which its gradient has too
    verdict    exact, close, different, wrong shape, not an array, not answered
    absolute   the largest absolute difference; None if the two cannot be subtracted
    relative   the largest relative difference; inf where the tape's value is 0
    index      the index of the largest absolute difference
    yours      the value there, derived by hand
    tape       the value there, from the tape
    note       a remark
    diagnosis  the mistake that gives exactly these numbers, if one is known; see diagnose.py
    """

    name: str
    shape: tuple[int, ...]

    @property
    def tape(self) -> float | None:
        """The tape's value at the largest difference."""
        return self.theirs

    @property
    def answered(self) -> bool:
        """Is there an answer, and not `...`?"""
        return self.verdict != "not answered"

    def cells(self) -> tuple[str, ...]:
        """Name, shape, verdict, differences; for wrong numbers also the place and both values."""
        return self.name, str(self.shape), *self.measured(self.absolute, self.relative)


class Comparison(Report[CompareRow]):
    """The rows of a comparison; true if every one of them is exact or close."""

    header = ("gradient", "shape", "verdict", "abs. diff.", "rel. diff.", "at", "yours", "tape")

    def __init__(self, rows: Sequence[CompareRow]) -> None:
        agree, n = sum(row.ok for row in rows), len(rows)
        headline = "1 gradient agrees" if agree == n == 1 else f"{agree} of {n} gradients agree"
        later = sum(not row.answered for row in rows)
        rest = f", {later} not answered yet" if later else ""
        super().__init__(f"compare: {headline} with the tape{rest}", rows)

    def _notes(self) -> list[str]:
        """The notes of the rows. If two gradients are swapped, the note is in both rows, but shown once."""
        return list(dict.fromkeys(super()._notes()))


def compare(
    z: Tensor,
    derived: Mapping[Any, Any] | None = None,
    /,
    *,
    gradient: object = None,
    rtol: float | None = None,
    atol: float | None = None,
    **by_name: object,
) -> Comparison:
    """Compare gradients of z that were derived by hand with those of the tape.

    z          the tensor to differentiate
    by_name    x1=array: the gradient with respect to the tensor that is called x1 where
               compare is called: an array, a Tensor or nested lists; or `...` for a gradient
               that you have not derived yet
    derived    the same as a mapping, {x1: array} or {"x1": array}; for names such as
               "gradient" that are parameters here, and for the keys of a dict of tensors
    gradient   dL/dz, as for backward(), or as a nested list; ones if left out
    rtol, atol what counts as close; by default it depends on the type of the numbers
    returns    a Comparison with .ok and .rows; a wrong shape is a row, not an error

    Intermediate tensors can be compared as well as leaves.

    Raises NameError if there is no tensor of that name, and NoGradient if it does not
    require a gradient or z does not depend on it.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> z = x * x
    >>> compare(z, x=[2.0, 4.0, 9.0])
    compare: 0 of 1 gradients agree with the tape
        gradient  shape  verdict    abs. diff.  rel. diff.  at   yours  tape
        x         (3,)   different  3           0.5         [2]  9      6
    """
    frame = sys._getframe(1)
    namespace = {**frame.f_globals, **frame.f_locals}
    if not isinstance(derived, Mapping | None):
        raise TypeError(
            "compare: which tensor is this the gradient of? To fix it, name the tensor:  compare(z, x=my_gradient)"
        )
    derived = {**(derived or {}), **by_name}
    return compare_in(namespace, z, derived, gradient=gradient, rtol=rtol, atol=atol)


def compare_in(
    namespace: Mapping[str, Any],
    z: Any,
    derived: Mapping[Any, Any],
    *,
    gradient: object = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Comparison:
    """Like `compare`, but looks up the names in the given namespace."""
    if not derived:
        raise TypeError(
            "compare needs at least one gradient, for example  compare(z, x=my_gradient)."
        )
    namespace = {**namespace, **dict(tensors_in(namespace, tensor_kinds()))}
    named = [(*_tensor(key, namespace), value) for key, value in derived.items()]
    if isinstance(z, Tensor) and isinstance(gradient, list | tuple):
        gradient = tensor(gradient, dtype=z.dtype)
    why = ""
    if _is_freed(z):
        z, named, namespace, gradient, why = _with_a_graph(z, named, namespace, gradient)
    theirs = _from_the_tape(z, named, namespace, gradient)
    if not isinstance(z, Tensor):
        named = [(name, x, _numbers(mine)) for name, x, mine in named]
        theirs = [(_numbers(right), note) for right, note in theirs]
    rights = [right for right, _ in theirs]
    exchanges = _exchanges(named, rights, rtol, atol) if isinstance(z, Tensor) else {}
    requests = [Request(z, x, gradient, name, namespace, rtol, atol) for name, x, _ in named]
    differences = list(map(_compared, requests, [mine for *_, mine in named], rights))
    agree = zip(named, differences, strict=True)
    settled = {x.node for (_, x, _), d in agree if d.ok and isinstance(x, Tensor)}
    notes: list[str] = []
    asked: list[Candidates | Diagnosis | None] = []
    until = deadline()  # for all of the answers
    for request, (name, _, mine), (right, note), d in zip(requests, named, theirs, differences):
        found: Candidates | Diagnosis | None = None
        if d.verdict == "not an array":
            note = ""
        elif not d.ok and mine is not ...:
            found = (repeated(name, mine, right) if note else None) or exchanges.get(name)
            if found is None:
                request = request._replace(settled=settled, until=until)
                found, reason = _mistake(request, mine, right, d, why if note else "")
                note = "\n".join(filter(None, (note, reason)))
        small = "" if atol is not None else _too_small(d, right)
        notes.append("\n".join(filter(None, (note, small))))
        asked.append(found)
    return Comparison(list(map(_row, named, differences, notes, likeliest(asked))))


def _mistake(
    request: Request, mine: Any, right: Any, d: Difference, why: str
) -> tuple[Candidates | None, str]:
    """The mistakes that give these numbers, or why none can be named.

    why    why there is no graph, if that is known
    """
    ours, reason = (None, why) if why else _on_ours(request, right)
    if ours is not None:
        return explanations(ours, mine), reason
    a, b = double_of(mine), double_of(right)
    otherwise = reason if d.verdict == "different" else ""
    return None, usual_mistake(a, b, {b.size}) or otherwise


def _compared(request: Request, mine: object, right: object) -> Difference:
    """The difference, which is "close" if it can be due to rounding.

    A sum of large terms may be small, but has their rounding errors. The tape has them, too: we compare
    with the same gradient in double precision.
    """
    d = difference(mine, right, request.rtol, request.atol)
    given = request.rtol is not None or request.atol is not None
    if d.verdict != "different" or d.absolute is None or given or not isinstance(request.z, Tensor):
        return d
    mine, right = real_array(mine), real_array(right)
    eps, size = max(last_digit(mine), last_digit(right)), float(np.max(np.abs(right)))
    if eps and d.absolute <= 1e-5 * size:
        with suppress(*MISFITS), unobserved():  # the graph may have been freed
            exact = Answer(request, mine).graph.in_double_precision()
            error, of_tape = np.abs(mine - exact), np.abs(right - exact)
            sure = of_tape <= 4 * eps * np.abs(exact)  # no large terms have canceled there
            wrong = sure & (error > 1e-2 * np.abs(exact)) & (exact != 0)
            if not wrong.any() and np.max(error) <= 4 * max(float(np.max(of_tape)), eps * size):
                return replace(d, verdict="close")
    return d


def _numbers(a: Any) -> Any:
    """The numbers of a tensor of PyTorch."""
    return numbers_of(a) if isinstance(a, tensor_kinds()) else a


def _exchanges(
    named: Sequence[tuple[str, Any, Any]],
    rights: Sequence[Any],
    rtol: float | None,
    atol: float | None,
) -> dict[str, Diagnosis]:
    """Name -> diagnosis, for each pair of tensors whose gradients are swapped."""
    found: dict[str, Diagnosis] = {}
    pairs = combinations(zip(named, rights, strict=True), 2)
    for ((name, _, mine), right), ((other, _, theirs), wanted) in pairs:
        if any(x is None or x is ... for x in (mine, theirs, right, wanted)):
            continue
        swapped = (difference(a, b, rtol, atol).ok for a, b in ((mine, wanted), (theirs, right)))
        if all(swapped):
            found[name] = found[other] = exchanged(name, other)
    return found


def _is_freed(z: object) -> bool:
    """Has a backward pass freed a part of the graph of z?"""
    node = node_of(z) if isinstance(z, tensor_kinds()) else None
    return any(getattr(n, "freed", False) for n in reachable([] if node is None else [node]))


Named = list[tuple[str, Any, Any]]


def _with_a_graph(
    z: Any, named: Named, namespace: Mapping[str, Any], gradient: object
) -> tuple[Any, Named, Mapping[str, Any], object, str]:
    """The tensors of a freed graph, computed again by our engine; or as they are, and why this is not possible."""
    tapes = _tapes_in(namespace)
    if has_hooks(z) if isinstance(z, Tensor) else _hooked(tapes, namespace):
        return z, named, namespace, gradient, NOT_AGAIN.format("hooks may change its gradients")
    rerun, why = computed_again([tape._recorder for tape in tapes], z)
    root = None if rerun is None else rerun.ours(z)
    if rerun is None or root is None:
        return z, named, namespace, gradient, NOT_AGAIN.format(why)
    again = []
    for name, x, mine in named:
        ours = rerun.ours(x)
        if ours is None:  # z does not depend on x
            ours = x if isinstance(x, Tensor) else tensor(numbers_of(x)).requires_grad_()
        if not isinstance(x, Tensor) and not _as_in_a_pass(rerun, root, ours):
            return z, named, namespace, gradient, NOT_AGAIN.format(DIFFERENT.format(name))
        if x.is_leaf and x.requires_grad and x.grad is not None:
            ours.grad = x.grad if isinstance(x, Tensor) else tensor(numbers_of(x.grad))
        again.append((name, ours, _numbers(mine)))
    return root, again, _renamed(namespace, rerun), _numbers(gradient), ""


def _as_in_a_pass(rerun: Rerun, z: Tensor, x: Tensor) -> bool:
    """Is the gradient of x the one that a recorded pass from z computed? True if there was no such pass."""
    entries = {id(made): entry for (entry, _), made in rerun.known.items()}
    for one in rerun.recorder.passes:
        found = last_run([one], entries.get(id(x), -1))
        if found is None or [entry for entry, _ in one.seeds] != [entries[id(z)]]:
            continue
        g, right = _array(one.seeds[0][1]), _array(found[1].g)
        if g is not None and right is not None:
            (ours,) = _gradients(z, [x], tensor(g)) or [None]
            return difference(ours, right).ok
    return True


def _hooked(tapes: Sequence[Tape], namespace: Mapping[str, object]) -> bool:
    """Has a recorded pass of PyTorch called hooks, or do its tensors have some?"""
    runs = [run for tape in tapes for one in tape._recorder.passes for run in one.runs]
    called = any(ran.when != "finally" for run in runs for ran in run.hooks)
    tensors = (x for x in namespace.values() if isinstance(x, tensor_kinds()))
    return called or any(getattr(x, "_backward_hooks", None) for x in tensors)


def _on_ours(request: Request, right: Any) -> tuple[Request | None, str]:
    """The same question about our engine's tensors, if those are PyTorch's; or None and the reason.

    We find mistakes with our rules, on our graph. So we run the recorded program again on our engine,
    where it must give the same gradient.
    """
    if isinstance(request.z, Tensor):
        return request, ""
    recorders = [tape._recorder for tape in _tapes_in(request.namespace)]
    rerun, why = computed_again(recorders, request.z)
    if rerun is not None:
        z, x = rerun.ours(request.z), rerun.ours(request.x)
        g = request.gradient
        g = numbers_of(g) if isinstance(g, tensor_kinds()) else g
        grads = None if z is None or x is None else _gradients(z, [x], g)
        if grads and grads[0] is not None and difference(grads[0], right, None, None).ok:
            known = _renamed(request.namespace, rerun)
            return request._replace(z=z, x=x, gradient=g, namespace=known), ""
        why = DIFFERENT.format(request.name)
    return None, NOT_AGAIN.format(why)


def mistake_on(
    tape: Tape, leaf: str, mine: object, namespace: Mapping[str, Any]
) -> Diagnosis | None:
    """The mistake in a gradient of a leaf, given by its id in the tape's document.

    None if no mistake is known, or if what led to the last pass through the leaf cannot be run again.
    """
    recorder, entry = tape._recorder, int(leaf[1:])
    found = last_run(recorder.passes, entry)
    if found is None or len(found[0].seeds) != 1:
        return None
    right, (root, seed) = _array(found[1].g), found[0].seeds[0]
    if right is None or (g := _array(seed)) is None:
        return None
    rerun = Rerun(recorder)
    try:
        rerun.run_entry(root)
    except CannotRepeat:
        return None
    z, x, gradient = rerun.known[root, 0], rerun.known[entry, 0], tensor(g)
    if not difference((_gradients(z, [x], gradient) or [None])[0], right).ok:
        return None
    names = _renamed(namespace, rerun)
    plain = None if np.all(g == 1) else gradient
    request = Request(z, x, plain, rerun.names[entry], names, None, None)
    return likeliest([explanations(request, mine)])[0]


def _array(snapshot: Snapshot | None) -> Array | None:
    """The values, if they were recorded in full."""
    return None if snapshot is None else snapshot.array


def _tapes_in(namespace: Mapping[str, object]) -> list[Tape]:
    """The tapes in a namespace, the oldest first."""
    found = [t for t in namespace.values() if isinstance(t, Tape)]
    for both in (t for t in namespace.values() if isinstance(t, BothTapes)):
        found += [both.torch, both.minigrad]
    return sorted(found, key=lambda tape: tape.number)


def _renamed(namespace: Mapping[str, Any], rerun: Rerun) -> dict[str, Any]:
    """The namespace with the tensors that were computed again, and without those of PyTorch that were not."""
    kinds = tensor_kinds()
    names = {k: rerun.ours(v) if isinstance(v, kinds) else v for k, v in namespace.items()}
    kept = {k: v for k, v in namespace.items() if names[k] is None and isinstance(v, Tensor)}
    return {k: v for k, v in names.items() if v is not None} | kept


def _too_small(d: Difference, right: Any) -> str:
    """A remark, if all numbers are so small that any answer would be close."""
    if d.verdict != "close" or d.absolute is None or d.absolute < 1e-11:
        return ""
    size = float(np.max(np.abs(real_array(right)), initial=0))
    if d.absolute <= 1e-2 * size:
        return ""
    return (
        f"these numbers are so small (up to {size:.1g}) that any answer counts as close. To compare "
        "their digits as well, give a tolerance:  atol=0."
    )


def _row(
    named: tuple[str, Any, Any], d: Difference, note: str, found: Diagnosis | None
) -> CompareRow:
    name, tensor, _ = named
    lines = [f"{name}: {one}" for one in (d.reason, note) if one]
    if found is not None:
        lines.append(found.about(name))
    note, shape = "\n".join(lines), tuple(tensor.shape)
    return CompareRow(**vars(d), name=name, shape=shape, note=note, diagnosis=found)


def _from_the_tape(
    z: Any,
    named: Sequence[tuple[str, Any, Any]],
    namespace: Mapping[str, Any],
    gradient: object,
) -> list[tuple[Any, str]]:
    """The right gradient of each tensor, and where it comes from if not from the graph."""
    for name, x, _ in named:
        if not x.requires_grad:
            raise NoGradient(
                f"compare: {name} does not require a gradient, so the tape has none to compare with. "
                f"To fix it, make {name} with requires_grad=True and compute z again."
            )
    called, tensors = name_in(namespace, z) or "the tensor", [x for _, x, _ in named]
    if not isinstance(z, tensor_kinds()):
        raise TypeError(
            f"compare: the first argument, z, is of type {type(z).__name__}; it must be a minigrad "
            "Tensor, the one to differentiate."
        )
    if not z.requires_grad:
        raise NoGradient(
            f"compare: {called} does not require a gradient, so there is no tape to compare with. To fix "
            f"it, make an input with requires_grad=True and compute {called} again, outside no_grad."
        )
    grads = _gradients(z, tensors, gradient)
    for (name, *_), right in zip(named, grads or ()):
        if right is None:
            raise NoGradient(
                f"compare: {called} does not depend on {name}, so its gradient is None (not zeros). "
                f"If {name} was assigned again after {called} was computed, compute {called} again."
            )
    if grads is not None:
        return [(right, "") for right in grads]
    left = [t.grad if t.is_leaf or t.retains_grad else None for t in tensors]
    if any(right is None for right in left):
        raise BackwardTwice(
            f"compare: an earlier backward() has freed the graph of {called}, and left no .grad to compare "
            f"with. To fix it, compute {called} again, or write  backward(retain_graph=True)  before comparing."
        )
    return [(right, FREED) for right in left]


def _gradients(z: object, tensors: list[Any], gradient: object) -> Sequence[Any] | None:
    """The gradients of tensors; None if an earlier pass has freed the graph of z."""
    if not isinstance(z, Tensor):
        return gradients_of_torch(z, tensors, gradient)
    g = ones_like(z) if gradient is None else gradient
    try:
        with unobserved(), _nothing_kept(z):
            return grad(z, tensors, grad_outputs=g, retain_graph=True, allow_unused=True)
    except BackwardTwice:
        return None


@contextmanager
def _nothing_kept(z: Tensor) -> Iterator[None]:
    """Within this block, a pass from z stores nothing in `.grad`, even if retain_grad was called."""
    nodes = reachable([] if z.node is None else [z.node])
    plans = [node.plan for node in nodes if isinstance(node.plan, Hooked)]
    keeping = [(plan, plan.keep) for plan in plans if plan.keep is not None]
    for plan, _ in keeping:
        plan.keep = None
    try:
        yield
    finally:
        for plan, keep in keeping:
            plan.keep = keep


def _tensor(key: object, namespace: Mapping[str, Any]) -> tuple[str, Tensor]:
    """The name and the tensor for a key of the mapping."""
    if isinstance(key, tensor_kinds()):
        return name_in(namespace, key) or "(no name)", key
    if not isinstance(key, str):
        raise TypeError(f"compare: {key!r} is neither a Tensor nor the name of one.")
    entries = [name for name in namespace if name.endswith(f"[{key!r}]")]  # params["W"]
    name = entries[0] if key not in namespace and len(entries) == 1 else key
    found = namespace.get(name)
    if isinstance(found, tensor_kinds()):
        return name, found
    if key in namespace:
        raise TypeError(
            f"compare: {key} is of type {type(found).__name__}; it must be a minigrad Tensor."
        )
    tensors = [name for name, value in namespace.items() if isinstance(value, tensor_kinds())]
    near = difflib.get_close_matches(key, tensors, n=1)
    remedy = f" Did you mean {near[0]}?" if near else ""
    raise NameError(f"compare: there is no tensor called {key} here.{remedy}")
