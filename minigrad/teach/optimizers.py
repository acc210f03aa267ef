"""How an optimizer, the model and the tape are connected.

    net -> loss -> backward -> step

    explain(optimizer, loss)    which tensors it holds, which node fills their .grad, what the
                                last step wrote, and why the model notices

The answer to all four questions is that there is only one object. The module's weight, the leaf at
the end of the tape, and the entry in `optimizer.param_groups` are the same tensor, so each sees what
the others do to it. If they are not the same (the model was created again after the optimizer, or a
layer is not in the list), training silently does nothing, and the report says so.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from minigrad.core.leaf import AccumulateGrad
from minigrad.core.node import reachable
from minigrad.core.tensor import Tensor
from minigrad.optim.optimizer import Optimizer
from minigrad.tape.adapters import has_torch, is_leaf, node_of, tensor_kinds
from minigrad.tape.names import count_of, namespace_of, tensors_in
from minigrad.teach.report import Report

Trouble = Literal["frozen", "frozen with a gradient", "not on the tape", "no gradient"]


@dataclass(frozen=True)
class ParameterRow:
    """One parameter that an optimizer holds.

    parameter    the tensor itself
    name         what the optimizer or the caller's variables call it
    group        the number of its group
    node         the AccumulateGrad that adds to its .grad; None if it requires no gradient
    same         is node.variable this very tensor?
    reached      does the tape of the loss lead to it? None if no loss was given
    graded       does it have a .grad?
    version      how often its memory was written to
    wrote        its version after the optimizer's last step; None if that did not change it, or for PyTorch,
                 whose optimizers do not keep it
    trouble      the reason, if the optimizer will not change it
    """

    parameter: Tensor
    name: str
    group: int
    node: AccumulateGrad | None
    same: bool
    reached: bool | None
    graded: bool
    version: int
    wrote: int | None
    trouble: Trouble | None = None

    @property
    def ok(self) -> bool:
        """True if there is nothing to note about the parameter."""
        return self.trouble is None

    @property
    def note(self) -> str:
        """A remark on the parameter."""
        return "" if self.trouble is None else _why_unchanged([self.name], self.trouble)

    def cells(self) -> tuple[str, ...]:
        """Name, group, shape, identity, what fills .grad, what the last step wrote."""
        filled = f"AccumulateGrad, node.variable is p: {self.same}" if self.graded else "None"
        if self.node is None:
            filled = "requires no gradient"
        wrote = self.wrote
        written = "nothing" if isinstance(self.parameter, Tensor) else "not known"
        written = written if wrote is None else f"in place, version {wrote - 1} -> {wrote}"
        shape, identity = tuple(self.parameter.shape), hex(id(self.parameter))
        return self.name, str(self.group), str(shape), identity, filled, written


class Explanation(Report[ParameterRow]):
    """The result of `explain`: one row for each parameter, and the four answers."""

    header = ("name", "group", "shape", "id", ".grad filled by", "last step wrote")

    def __init__(self, headline: str, rows: Sequence[ParameterRow], answers: Sequence[str]) -> None:
        super().__init__(headline, rows)
        self.answers = self.remarks = tuple(answers)

    def _notes(self) -> list[str]:
        """A remark on several parameters is made once, with their names."""
        names: dict[Trouble, list[str]] = {}
        for row in self.rows:
            if row.trouble is not None:
                names.setdefault(row.trouble, []).append(row.name)
        return [_why_unchanged(some, trouble) for trouble, some in names.items()]


def explain(optimizer: Optimizer, loss: Tensor | None = None) -> Explanation:
    """Explain how an optimizer, its parameters and the tape of a loss are connected.

    optimizer    any optimizer, of minigrad or PyTorch, before or after its step
    loss         the result of the forward pass; with it, the report also says which
                 parameters its tape leads to, and which leaves the optimizer does not hold

    Names come from the optimizer (named parameters) or from the variables where it is called.

    >>> import minigrad
    >>> w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> sgd = minigrad.optim.SGD([w], lr=0.1)
    >>> loss = (w * w).sum()
    >>> loss.backward()
    >>> sgd.step()
    >>> report = explain(sgd, loss)
    >>> report.rows[0].name, report.rows[0].same, report.rows[0].wrote
    ('w', True, 1)
    """
    kinds = (Optimizer, sys.modules["torch"].optim.Optimizer) if has_torch() else Optimizer
    if not isinstance(optimizer, kinds):
        raise TypeError(f"explain takes an optimizer, but got {type(optimizer).__name__}.")
    if loss is not None and not isinstance(loss, tensor_kinds()):
        raise TypeError(f"loss must be a Tensor, but got {type(loss).__name__}.")
    names = _names(namespace_of(sys._getframe(1)))
    root = None if loss is None else node_of(loss)
    leaves = None if root is None else list(filter(is_leaf, reachable([root])))
    written = {id(p): version for p, version in getattr(optimizer, "_written", ())}
    rows = [
        _row(p, name, k, leaves, written.get(id(p))) for k, name, p in _parameters(optimizer, names)
    ]
    groups = len(optimizer.param_groups)
    headline = f"{type(optimizer).__name__} holds {count_of(len(rows), 'tensor')} in {count_of(groups, 'group')}"
    answers = [*_leaves_not_held(rows, leaves, names), *_answers(rows, optimizer)]
    if loss is not None and root is None:
        answers.insert(0, NO_TAPE)
    return Explanation(headline, rows, answers)


def _parameters(
    optimizer: Optimizer, names: Mapping[int, str]
) -> Iterator[tuple[int, str, Tensor]]:
    """Every parameter with its group and its name."""
    for k, group in enumerate(optimizer.param_groups):
        given = group.get("param_names")
        for i, p in enumerate(group["params"]):
            place = f"param_groups[{k}]['params'][{i}]"
            yield k, given[i] if given else names.get(id(p), place), p


def _names(namespace: Mapping[str, Any]) -> dict[int, str]:
    """The names of tensors. A name in a module is preferred to a position in a list."""
    found: dict[int, str] = {}
    for name, x in tensors_in(namespace, tensor_kinds()):
        if id(x) not in found or found[id(x)].endswith("]"):
            found[id(x)] = name
    return found


def _row(
    p: Tensor, name: str, group: int, leaves: list[AccumulateGrad] | None, wrote: int | None
) -> ParameterRow:
    node = node_of(p)
    node = node if node is not None and is_leaf(node) else None
    reached = None if leaves is None or node is None else node in leaves
    same, graded = node is not None and node.variable is p, p.grad is not None
    trouble: Trouble | None = None
    if node is None:
        trouble = "frozen with a gradient" if graded else "frozen"
    elif reached is False:
        trouble = "not on the tape"
    elif not graded and wrote is None:
        trouble = "no gradient"
    return ParameterRow(p, name, group, node, same, reached, graded, p._version, wrote, trouble)


NO_TAPE = (
    "This loss has no tape, so no backward pass from it fills a .grad. Was it computed within no_grad(), or "
    "detached, or does no parameter require a gradient?"
)

# The remarks on one parameter, and on several.
REASONS = {
    "frozen": (
        "{who} requires no gradient, so no backward pass fills its .grad, and step skips it.",
        "{who} require no gradient, so no backward pass fills their .grad, and step skips them.",
    ),
    "frozen with a gradient": (
        "{who} requires no gradient, but {grads} is left from an earlier pass, and step still applies it. To fix "
        "it, set {grads} to None.",
        "{who} require no gradient, but {grads} are left from an earlier pass, and step still applies them. To fix "
        "it, set them to None.",
    ),
    "not on the tape": (
        "{who} is not on the tape of this loss: no backward pass from it fills {who}.grad. "
        "Was the model created again after the optimizer, or is this layer unused?",
        "{who} are not on the tape of this loss: no backward pass from it fills their .grad. "
        "Was the model created again after the optimizer, or are these layers unused?",
    ),
    "no gradient": (
        "{grads} is None: step skips it until a backward pass has filled it.",
        "{grads} are None: step skips them until a backward pass has filled them.",
    ),
    "not held": (
        "{who} is on the tape of this loss, but the optimizer does not hold it: it will not change.",
        "{who} are on the tape of this loss, but the optimizer does not hold them: they will not change.",
    ),
}


def _why_unchanged(names: Sequence[str], trouble: str) -> str:
    """Why the optimizer will not change these parameters."""
    who, grads = (_joined([name + end for name in names]) for end in ("", ".grad"))
    return REASONS[trouble][len(names) > 1].format(who=who, grads=grads)


def _joined(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _leaves_not_held(
    rows: Sequence[ParameterRow], leaves: list[AccumulateGrad] | None, names: Mapping[int, str]
) -> Iterator[str]:
    """Leaves of the loss that the optimizer does not hold: they get a .grad, but no step."""
    held = {row.node for row in rows}
    free = [node.variable for node in leaves or () if node not in held]
    called = [names.get(id(x), f"a leaf of shape {tuple(x.shape)}") for x in free]
    if called:
        yield _why_unchanged(called, "not held")


def _answers(rows: Sequence[ParameterRow], optimizer: Optimizer) -> Iterator[str]:
    """The four questions, answered with the names of this case."""
    if not rows:
        return
    row = next((r for r in rows if r.wrote is not None), rows[0])
    i = [id(r.parameter) for r in rows if r.group == row.group].index(id(row.parameter))
    entry = f"optimizer.param_groups[{row.group}]['params'][{i}]"
    yield f"Which objects?  The tensors themselves, not copies: {entry} is {row.name}."
    if row.node is not None:
        yield f"What fills .grad?  {_what_fills_grad(row)}"
    if row.wrote is None:
        yield f"What does step write?  {_unwritten(row, optimizer)}"
    else:
        yield (
            f"What did step write?  {row.name}, in place: version {row.wrote - 1} -> {row.wrote} (now "
            f"{row.version}). A graph that saved version {row.wrote - 1} can no longer run backward."
        )
    if row.reached is False:
        yield f"Does the model see it?  No: this loss was computed without {row.name}."
    else:
        yield "Why does the model see it?  It computes with the same object; nothing is copied back."


def _what_fills_grad(row: ParameterRow) -> str:
    """What fills the .grad of a parameter that requires a gradient."""
    if row.reached is False:
        left = "is from an earlier pass" if row.graded else "stays None"
        return f"No backward pass from this loss: {row.name} is not on its tape, and {row.name}.grad {left}."
    return (
        f"The tape ends at {row.name} with an AccumulateGrad node. backward gives it the gradient, and it "
        f"adds that to {row.name}.grad. node.variable is {row.name}: {row.same}."
    )


def _unwritten(row: ParameterRow, optimizer: Optimizer) -> str:
    """Why a parameter has not been written by step."""
    has_stepped = getattr(optimizer, "_has_stepped", None)  # PyTorch's do not keep it
    if not has_stepped:
        later = "" if has_stepped is None else " It has not been called yet."
        return f"{row.name}, in place, from {row.name}.grad.{later}"
    return (
        f"Nothing, in its last call: {row.name}.grad was None, and step skips such a parameter. None means "
        "that no gradient was computed. (Zeros would be a gradient: momentum and weight decay would still act.)"
    )
