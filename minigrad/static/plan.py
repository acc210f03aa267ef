"""Plan: runs a program in preallocated memory.

When a program is called, it runs op by op, and each op allocates its result. A plan looks at
the whole list in advance: it gives each value a buffer, makes views of buffers once, and
writes the remaining work as plain NumPy source (source.py). From then on it only runs this source.

The price: inputs must have the recorded shapes and dtypes; and with `copy=False`
the results are in the plan's own memory, which the next run overwrites.

Read source.py first.
"""

from operator import attrgetter, is_
from typing import Any

import numpy as np

from minigrad.core.memory import make
from minigrad.static.program import Program, as_array, mismatch
from minigrad.static.recorder import Memory
from minigrad.static.source import Writer
from minigrad.static.thin import thinned

array_of = attrgetter("array")


class Plan:
    """A program in preallocated memory. Call it like the program.

    program   what it computes; simplified first
    reuse     may values that are not alive at the same time share a buffer?
    copy      copy the results out of the plan's memory, so that the next run does not change them?

    source        the source that it runs
    buffer_bytes  the total size of its buffers

    >>> import minigrad
    >>> from minigrad import static
    >>> p = static.record(lambda x, w: (x @ w).relu())(minigrad.ones(8, 4), minigrad.ones(4, 2))
    >>> plan = p.plan()
    >>> plan(minigrad.ones(8, 4), minigrad.ones(4, 2))[0]
    tensor([4., 4.])
    >>> print(plan.source)
    from numpy import array, empty, float32, maximum
    import numpy as np
    <BLANKLINE>
    b0 = empty(16, float32)
    b0_0 = b0.reshape(8, 2)
    n0 = array(0.0, float32)
    <BLANKLINE>
    def run(x, w):
        v2 = x.dot(w, b0_0)
        v3 = maximum(v2, n0, out=b0_0)
        return v3,
    <BLANKLINE>
    """

    def __init__(self, program: Program, *, reuse: bool = True, copy: bool = True) -> None:
        self.original, self.reuse, self.copy = program, reuse, copy
        self.program = thinned(program.simplified())
        self._compile()

    def _compile(self) -> None:
        writer = Writer(self.program, self.reuse)
        self.source = writer.text
        self.buffer_bytes = writer.buffer_bytes
        scope: dict[str, Any] = {**writer.scope, "__name__": "minigrad.static.replay"}
        exec(compile(self.source, "<minigrad program>", "exec"), scope)
        self.function = scope["run"]
        self.wanted = [self.program.values[i] for i in self.program.inputs]
        self.tensors = [t for t in self.program.captured.values() if not isinstance(t, Memory)]
        self.arrays_bound = [t.array for t in self.tensors]

    def __call__(self, *inputs: Any) -> Any:
        """The outputs for these inputs, as tensors."""
        results = self.arrays(*inputs)
        if self.copy:
            results = tuple([np.array(a) if isinstance(a, np.ndarray) else a for a in results])
        tensors = tuple([make.wrap(a) for a in results])
        return tensors[0] if self.program.single else tensors

    def run(self, **named: Any) -> Any:
        """The same, with inputs given by name."""
        return self(*self.program.in_order(named))

    def arrays(self, *inputs: Any) -> tuple[Any, ...]:
        """The outputs as arrays, in the plan's own memory."""
        self.rebind()
        if len(inputs) != len(self.wanted):
            self.program.checked(inputs)
        arrays = []
        for x, v in zip(inputs, self.wanted, strict=True):
            a = as_array(x, v.dtype)
            if a.shape != v.shape or a.dtype != v.dtype:
                raise mismatch(v.name or "an input", a, v)
            arrays.append(a)
        return self.function(*arrays)

    def rebind(self) -> None:
        """Write the source again if a captured tensor has other memory now (p.data = ...)."""
        if not all(map(is_, map(array_of, self.tensors), self.arrays_bound)):
            self._compile()

    def __repr__(self) -> str:
        return f"<Plan of {self.program!r}: {self.buffer_bytes} bytes of buffers>"
