"""Recording: what happened between `with record()` and its end.

    with minigrad.record() as tape:
        y = x * w
        z = y.sum()
        z.backward()
    tape                        # in a notebook: the inspector; tape.text(): the table

While the block runs, the core reports each operation, and each step of a backward pass,
to a `Recorder` (recorder.py), which writes them down as plain records (events.py). The
`Tape` turns them into one document (trace.py), and everything that is shown is drawn from
that.

Recording costs some 40 microseconds an operation and 10 a backward step; nothing when it
is off.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from minigrad import modes
from minigrad.errors import Place
from minigrad.tape import looks
from minigrad.tape.names import namespace_of
from minigrad.tape.recorder import Recorder
from minigrad.tensor import Tensor

_serial = count(1)


def reset_counter() -> None:
    """Number tapes from 1 again, as a fresh kernel would; `%load_ext minigrad` does this."""
    global _serial
    _serial = count(1)


class record:
    """Record what runs in this block, forward and backward.

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
       1     2  mul  x, x    mul#1   (2,)         0  MulBackward
       2     2  sum  mul#1   z       ()           0  SumBackward

    name         the name of the tape, in its title
    namespace    where the names of tensors are looked up; without it, the variables
                 around the `with`

    If the block raises, the tape up to the error is kept, and the error goes on.
    """

    def __init__(self, name: str = "tape", *, namespace: Mapping[str, Any] | None = None) -> None:
        self._name, self._namespace = name, namespace

    def __enter__(self) -> Tape:
        given = self._namespace
        if given is not None:
            look: Callable[[], Mapping[str, Any]] = lambda: given
        else:
            frame = sys._getframe(1)
            look = lambda: namespace_of(frame)
        self._tape = Tape(self._name, Recorder(look))
        self._stack = ExitStack()
        self._stack.enter_context(modes.observing(self._tape._recorder))
        self._stack.callback(modes.trace_lines, modes.state.tracing)
        modes.trace_lines()  # so that an error of the backward pass can name forward lines
        return self._tape

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()
        self._tape._close(error)


class Tape:
    """What was recorded. In a notebook the inspector, in a terminal a table.

    tape.document      everything, as one JSON-able dictionary (see trace.py)
    tape.step          the step that the inspector shows; set it to go there
    tape.select("z")   select a node in the inspector
    tape.at(9)         how things stood after step 9: .ready, .waiting, .just_now, .grads
    tape.steps(z)      walk a backward pass, node by node
    tape.check(x=...)  compare hand-derived gradients with those of the last pass
    tape.save(path)    .html, .svg, .png, .txt, .json or .dot
    """

    def __init__(self, name: str, recorder: Recorder) -> None:
        self.name = name
        self.number = next(_serial)
        self.error: str | None = None
        self.error_place: Place | None = None
        self.failed: int | None = None  # the entry of the op at which the code stopped
        self._recorder = recorder
        self._document: dict[str, Any] | None = None
        self._drawn_at = -1
        self._step: int | None = None
        self._selected: str | None = None
        self._widget: Any = None

    def _close(self, error: BaseException | None) -> None:
        recorder = self._recorder
        if error is not None:
            self.error = f"{type(error).__name__}: {error}"
            self.error_place = looks.place_in(error)
            if not recorder.passes or recorder.passes[-1].error != self.error:
                failed = looks.op_that_failed(error)
                if failed is not None:
                    self.failed = recorder.failed(*failed, place=self.error_place)
        recorder.look_up_names()
        recorder.namespace = dict  # let go of the learner's frame

    @property
    def document(self) -> dict[str, Any]:
        """The tape as plain data, ready for json.dumps; trace.py says what is in it."""
        from minigrad.tape import trace

        if self._document is None or self._drawn_at != len(self._recorder.events):
            self._document = trace.document(self)
            self._drawn_at = len(self._recorder.events)
        return self._document

    # ---- going through it ----------------------------------------------------------

    @property
    def step(self) -> int:
        """The step that the inspector shows, from 0 (nothing has run) to the last."""
        last = len(self.document["steps"])
        return last if self._step is None else min(self._step, last)

    @step.setter
    def step(self, number: int) -> None:
        last = len(self.document["steps"])
        if not isinstance(number, int) or not 0 <= number <= last:
            raise ValueError(f"tape.step: a number from 0 to {last}, not {number!r}.")
        self._step = number
        if self._widget is not None:
            self._widget.step = number

    @property
    def selected(self) -> str | None:
        """The label of the node that is selected in the inspector, or None."""
        if self._selected is None:
            return None
        return str(next(n for n in self.document["nodes"] if n["id"] == self._selected)["label"])

    def select(self, name: str | None) -> None:
        """Select a node by the name of its tensor ("a", "a v1") or by its op ("MulBackward").

        Of several the latest is taken. Raises KeyError for a name that is not on the tape.
        """
        self._selected = None if name is None else self._find(name)
        if self._widget is not None:
            self._widget.selected = self._selected or ""

    def _find(self, name: str) -> str:
        nodes = self.document["nodes"]
        for key in ("id", "label", "name", "backward", "op"):
            for node in reversed(nodes):
                if node[key] == name:
                    return str(node["id"])
        from minigrad.tape.names import near

        known = [n["label"] for n in nodes]
        raise KeyError(f"tape.select: there is no {name!r} on this tape.{near(name, known)}")

    def at(self, step: int | None = None, detail: int | None = None) -> Any:
        """How things stood after a step (the one that is shown, if none is named).

        detail    within a step of a backward pass, how many of its details have happened

        >>> import minigrad
        >>> x = minigrad.tensor(3.0, requires_grad=True)
        >>> with minigrad.record() as tape:
        ...     z = x * x + x
        ...     z.backward()
        >>> tape.at(4)
        step 4 of 6    backward 1
            just now  AddBackward of z took 1; sent 1 to mul#1, 1 to x. Ready now: mul#1.
            ready     MulBackward of mul#1
            waiting   AccumulateGrad of x (2 more)
        >>> tape.at(4).ready
        ('MulBackward of mul#1',)
        """
        from minigrad.tape.moment import Moment

        return Moment.of(self.document, self.step if step is None else step, detail)

    def steps(
        self,
        z: Tensor | None = None,
        gradient: Any = None,
        retain_graph: bool = True,
        create_graph: bool = False,
    ) -> Iterator[Any]:
        """Walk a backward pass: each step shows what ran and what still waits.

        z               the tensor to start from. Without it, the pass that was recorded is
                        gone through again, and nothing is computed
        gradient        as in z.backward(gradient): may be left out only for a scalar
        retain_graph    True here, so that one can go on with z; False frees as it goes

        With z this *is* a backward pass, run by the engine one node at a time: at the
        end, the leaves' `.grad` hold what z.backward() would have added. Call it instead
        of z.backward(), or set the `.grad` to None in between; after both, `.grad` is
        the sum of two passes, as in PyTorch.

        >>> import minigrad
        >>> x = minigrad.tensor(3.0, requires_grad=True)
        >>> with minigrad.record() as tape:
        ...     z = x * x
        >>> for step in tape.steps(z):
        ...     print(step)
        step 1 of 2    MulBackward of z    x * x    line 2
            receives  1    ()
            sends     to AccumulateGrad of x: 3    1 of 2 arrived
                      to AccumulateGrad of x: 3    2 of 2 arrived
            ready     AccumulateGrad of x
            waiting   nobody
        step 2 of 2    AccumulateGrad of x
            receives  6    ()
            adds it to x.grad
            ready     nobody
            waiting   nobody
        """
        from minigrad.tape import walk

        if z is None:
            return walk.recorded(self)
        return walk.live(self, z, gradient, retain_graph, create_graph)

    def check(self, *, strict: bool = False, **derived: Any) -> Any:
        """Compare hand-derived gradients, by name, with those of the last backward pass.

        strict    raise AssertionError if one differs

        >>> import minigrad
        >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> with minigrad.record() as tape:
        ...     (x * x).sum().backward()
        >>> tape.check(x=[1.0, 2.0])
        check: 0 of 1 gradients agree with the tape
            x    different: yours [1, 2], the tape's [2, 4]. It is half of it: a factor 2 is missing.
        """
        from minigrad.tape.check import check

        found = check(self, derived)
        if strict and not found.ok:
            raise AssertionError(repr(found))
        return found

    # ---- faces -------------------------------------------------------------------

    def text(self) -> str:
        """The tape as a table."""
        from minigrad.tape import text

        return text.text(self.document)

    def svg(self, step: int | None = None) -> str:
        """The picture, as things stand at the end or after a step."""
        from minigrad.tape import draw

        return draw.svg(self.document, step)

    def png(self, step: int | None = None) -> bytes:
        """The picture as a bitmap, drawn by matplotlib."""
        from minigrad.tape import draw

        return draw.png(self.document, step=step)

    def html(self) -> str:
        """The inspector as one page that needs no kernel and no network."""
        from minigrad.tape import page

        return page.html(self.document, self._step)

    def save(self, path: str | Path) -> Path:
        """Write the tape to a file; its ending says as what.

        .html         the inspector, one self-contained page
        .svg .png     the picture
        .txt          the table
        .json         the document
        .dot          the graph for Graphviz

        Raises ValueError for another ending.
        """
        import json

        path = Path(path)
        ending = path.suffix.lower()
        if ending == ".png":
            path.write_bytes(self.png())
            return path
        if ending == ".svg":
            text = self.svg()
        elif ending in (".html", ".htm"):
            text = self.html()
        elif ending == ".txt":
            text = self.text() + "\n"
        elif ending == ".json":
            text = json.dumps(self.document, indent=1, ensure_ascii=False) + "\n"
        elif ending in (".dot", ".gv"):
            from minigrad.tape.text import dot

            text = dot(self.document)
        else:
            raise ValueError(
                "tape.save: a name ends in .html, .svg, .png, .txt, .json or .dot,"
                f" not in {ending!r}."
            )
        path.write_text(text, encoding="utf-8")
        return path

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        # minigrad.jupyter stands above the tape: asked for by name, it is no import from above.
        return importlib.import_module("minigrad.jupyter.show").bundle(self)
