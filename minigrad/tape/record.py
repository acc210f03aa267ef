"""Recording: the operations and backward passes in a `with record()` block.

    with minigrad.record() as tape:
        y = x * w
        z = y.sum()
        z.backward()
    tape                        # in a notebook: the inspector; tape.text(): the table

While the block runs, the core reports each operation and each step of a backward pass
to a `Recorder` (recorder.py), which stores them as plain records (events.py). The `Tape`
turns them into one document (from_recording.py), from which everything is drawn.

Recording costs about 45 microseconds per operation and 10 per backward step; without a
recording there is no cost.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from traceback import walk_tb
from types import TracebackType
from typing import Any

from minigrad.core import modes
from minigrad.core.errors import Place, is_ours
from minigrad.core.op import Op
from minigrad.core.tensor import Tensor
from minigrad.tape import from_recording, iterations, walk
from minigrad.tape.adapters import has_torch
from minigrad.tape.check import AllDifferences, Checked, check, differences
from minigrad.tape.document import Document
from minigrad.tape.inspectable import Inspectable
from minigrad.tape.inspectable import reset_counter as reset_counter
from minigrad.tape.names import namespace_of
from minigrad.tape.recorder import Recorder

MOST_SHOWN = 10_000  # operations of a tape that a notebook draws


class record:
    """Record the operations and backward passes in this block.

    >>> import minigrad
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> with minigrad.record() as tape:
    ...     z = (x * x).sum()
    >>> print(tape.text())
    tape: 2 operations, 1 leaf
    <BLANKLINE>
    leaf  shape  dtype    requires_grad
    x     (2,)   float32  yes
    <BLANKLINE>
    step  line  op   inputs  output  shape  version  grad_fn
       1     2  mul  x, x    mul#1   (2,)         0  MulBackward0
       2     2  sum  mul#1   z       ()           0  SumBackward0

    name         the name of the tape, in its title
    namespace    where the names of tensors are looked up, or a function that returns the
                 namespace; by default, the variables around the `with`

    If PyTorch is imported, its operations are recorded as well.

    Raises TypeError if the name is not a str: record(z) and record(f) record nothing.

    If the block raises an error, the tape up to the error is kept, and the error is raised again.
    """

    def __init__(
        self,
        name: str = "tape",
        *,
        namespace: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"record(): the name of a tape must be a str, not {type(name).__name__}. To fix it, compute "
                "in a block,  with minigrad.record() as tape: ... ; minigrad.chain(z) shows what led to z."
            )
        self._name, self._namespace = name, namespace

    def __enter__(self) -> "Tape":
        frame, given = sys._getframe(1), self._namespace
        if given is None:
            given = lambda: namespace_of(frame)
        self._tape = Tape(self._name, Recorder(given if callable(given) else lambda: given))
        if self._namespace is None:
            self._tape.home = frame.f_code.co_filename
        self._stack = ExitStack()
        self._stack.enter_context(modes.within("observer", self._tape._recorder))
        self.look_for_torch()
        self._stack.callback(modes.trace_lines, modes.state.tracing)
        modes.trace_lines()  # so that errors in the backward pass can name forward lines
        return self._tape

    def look_for_torch(self) -> None:
        """Also record PyTorch's operations, if it has been imported by now."""
        if self._tape._torch is None and has_torch():
            from minigrad.tape.torch import watching

            self._tape._torch = self._stack.enter_context(watching(self._tape._recorder))

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Within this block, nothing is recorded, such as what a notebook computes to show a value."""
        torch = self._tape._torch
        with modes.unobserved(), nullcontext() if torch is None else torch.unseen():
            yield

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()
        self._tape._close(error)


class Tape(Inspectable):
    """A recording. Shown as the inspector in a notebook, and as tables in a terminal.

    tape.document      all data, as one JSON-able dictionary (see document.py)
    tape.step          the step that the inspector shows; set it to go there
    tape.select("z")   select a node in the inspector
    tape.at(9)         the state after step 9: .ready, .waiting, .just_now, .grads
    tape.steps(z)      walk through a backward pass, node by node
    tape.check(x=...)  compare hand-derived gradients with those of the last pass
    tape.differences() numerical derivatives, by central differences
    tape.save(path)    .html, .svg, .png, .gif, .txt, .json or .dot

    >>> x = minigrad.tensor(3.0, requires_grad=True)
    >>> with minigrad.record() as tape:
    ...     z = x * x
    ...     z.backward()
    >>> tape.at(1)
    step 1 of 4    forward
        just now  z = x * x was computed: 9.
    """

    def __init__(self, name: str, recorder: Recorder) -> None:
        super().__init__(name)
        self.error: str | None = None
        self.error_place: Place | None = None
        self.failed: int | None = None  # the entry of the op that raised the error
        self.home: str | None = None  # the file or cell that was recorded
        self._recorder = recorder
        self._torch: Any = None  # records PyTorch, if it is imported

    def _close(self, error: BaseException | None) -> None:
        recorder = self._recorder
        if error is not None:
            self.error = f"{type(error).__name__}: {error}"
            self.error_place = place_in(error)
            if not recorder.passes or recorder.passes[-1].error != self.error:
                failed = op_that_failed(error)
                if failed is not None:
                    self.failed = recorder.failed(*failed, place=self.error_place)
                elif self._torch is not None:
                    self.failed = self._torch.add_failed(error)
        recorder.settle_names()
        if self.error is None:
            iterations.thin(recorder)
        recorder.namespace = dict  # do not keep the user's frame alive

    def too_large(self) -> str:
        """Above MOST_SHOWN operations, the picture would take minutes, and tens of megabytes of the notebook."""
        n = sum(entry.kind == "op" for entry in self._recorder.entries)
        if n <= MOST_SHOWN:
            return ""
        return (
            f"{self.name}: {n:,} operations. A notebook draws at most {MOST_SHOWN:,}, because it would become slow. "
            "To see the tape, record fewer iterations, or write it into a page of its own: tape.save('tape.html')."
        )

    def _edition(self) -> int:
        return len(self._recorder.events)

    def _made(self) -> Document:
        return from_recording.document(self)

    def steps(
        self,
        z: Tensor | None = None,
        gradient: Any = None,
        retain_graph: bool = True,
        create_graph: bool = False,
    ) -> Iterator[walk.WalkStep]:
        """Walk through a backward pass: each step shows what ran and what still waits.

        z               the tensor to start from. Without it, the recorded pass is
                        replayed, and nothing is computed
        gradient        as in z.backward(gradient): optional only for a scalar
        retain_graph    default True, so that you can continue with z; False frees as it goes

        With z, this is itself a backward pass, which the engine runs one node at a time: at the end,
        the leaves' `.grad` are the same as after z.backward(). Call it instead of
        z.backward(), or set each `.grad` to None in between: after both, `.grad` is the
        sum of two passes, as in PyTorch.

        >>> import minigrad
        >>> x = minigrad.tensor(3.0, requires_grad=True)
        >>> with minigrad.record() as tape:
        ...     z = x * x
        >>> for step in tape.steps(z):
        ...     print(step)
        step 3 of 4    MulBackward0 of z    x * x    line 2
            receives  1    ()
            sends     to AccumulateGrad of x: 3    1 of 2 arrived
                      to AccumulateGrad of x: 3    2 of 2 arrived
            ready     AccumulateGrad of x
            waiting   none
        step 4 of 4    AccumulateGrad of x
            receives  6    ()
            adds it to x.grad
            ready     none
            waiting   none
        """
        if z is None:
            return walk.replayed(self._recorder, self.shown)
        return walk.live(self._recorder, z, gradient, retain_graph, create_graph)

    def check(self, *, strict: bool = False, **derived: Any) -> Checked:
        """Compare hand-derived gradients, given by name, with the gradients of the last backward pass.

        strict    raise AssertionError if one differs

        >>> import minigrad
        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> with minigrad.record() as tape:
        ...     (x * x).sum().backward()
        >>> tape.check(x=[1.0, 2.0])
        check: 0 of 1 gradients agree with the tape
            x    different: yours [1, 2], the tape's [2, 4]. It is half as large: a factor 2 is missing.
        """
        found = check(self._recorder, derived)
        if strict and not found.ok:
            raise AssertionError(repr(found))
        return found

    def differences(self, *leaves: str, **derived: Any) -> AllDifferences:
        """Numerical derivatives: runs the recorded operations again with slightly changed entries.

        leaves     names of leaves; by default, all of them
        derived    hand-derived gradients to compare with, by the names of their leaves

        Raises ValueError, with the reason, if the operations cannot be applied again.

        >>> import minigrad
        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> with minigrad.record() as tape:
        ...     (x * x).sum().backward()
        >>> tape.differences("x").leaves["x"].round(6)
        array([2., 4.])
        """
        return differences(self._recorder, leaves, derived)


def op_that_failed(error: BaseException) -> tuple[Op, list[Any]] | None:
    """The op that raised the error of the recorded code, with its operands."""
    for frame, _ in walk_tb(error.__traceback__):
        names = frame.f_locals
        op, operands = names.get("op"), names.get("operands") or names.get("args")
        if isinstance(op, Op) and isinstance(operands, list | tuple) and operands:
            return op, list(operands)
    return None


def place_in(error: BaseException) -> Place | None:
    """The user's line that raised the error: the innermost one in the traceback outside minigrad."""
    lines = [(f.f_code.co_filename, line) for f, line in walk_tb(error.__traceback__)]
    return next((Place(*at) for at in reversed(lines) if not is_ours[at[0]]), None)
