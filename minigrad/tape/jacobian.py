"""Jacobians: the local derivative of a node as a matrix, for the details in the inspector.

    rows       the entries of the result, in row-major order
    columns    the entries of one input

None of this runs during the user's code. When the document is made, the op is applied again to the
recorded values, and the engine runs one backward pass for each entry of the result, with a gradient
that is 1 at this entry and 0 elsewhere. The gradient of the input is then a row of the Jacobian.

The Jacobian of an elementwise op is diagonal. Its diagonal is recorded (`local`), so the inspector
builds the matrix from that.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.autograd.functional import jacobian
from minigrad.core import modes
from minigrad.core.op import Op
from minigrad.core.tensor import Tensor, wrap
from minigrad.tape.events import Entry, Input, OpCall, result_of
from minigrad.tape.snapshot import Array, Snapshot, repeats

LARGEST = 16  # maximum number of rows and columns
MOST = 1 << 13  # maximum number of entries, for all Jacobians of a document


class Jacobians:
    """Computes the Jacobians of a recording, with at most `most` entries in total."""

    def __init__(self, entries: Sequence[Entry], most: int) -> None:
        self.entries, self.left = entries, most

    def of(self, entry: Entry) -> dict[int, Snapshot]:
        """The Jacobian for each small operand that gets a gradient, by position.

        Empty if the result is large, if the op cannot be applied again, or if its result is different.
        """
        if entry.op_call is None or entry.local or len(entry.results) != 1:
            return {}
        if entry.through is not None or not isinstance(entry.op_call.op, Op):
            return {}  # applied to a view, while the entry is about its base; or a user's Function, which may print
        rows = math.prod(entry.results[0].shape)
        operands = {k: result_of(self.entries, i) for k, i in enumerate(entry.inputs) if i.gradient}
        columns = {k: 0 if x is None else math.prod(x.shape) for k, x in operands.items()}
        wanted = [k for k, n in columns.items() if 0 < n <= LARGEST and 1 < n * rows]
        if not wanted or not 0 < rows <= LARGEST:
            return {}
        z = entry.results[0].array
        given = [self._operand(entry.op_call, k, i) for k, i in enumerate(entry.inputs)]
        count = rows * sum(columns[k] for k in wanted)
        if count > self.left or z is None or any(x is None for x in given):
            return {}
        self.left -= count
        return {k: Snapshot(j) for k, j in _run(entry.op_call, given, wanted, z).items()}

    def _operand(self, call: OpCall, k: int, i: Input) -> Any:
        """The value of an operand, a tensor or a constant; None if it was not recorded in full."""
        if i.entry is None:
            return call.constants[k]
        result = result_of(self.entries, i)
        array = None if result is None else result.array
        if array is None or (i.gradient and array.dtype.kind != "f"):
            return None  # complex: only PyTorch can differentiate it
        return wrap(array.copy()).requires_grad_(i.gradient)


def _run(
    call: OpCall, operands: Sequence[Any], wanted: Sequence[int], known: Array
) -> dict[int, Array]:
    """Apply the op again, and run backward for each entry of its result."""

    def applied(*inputs: Tensor) -> object:
        given = dict(enumerate(operands)) | dict(zip(wanted, inputs, strict=True))
        return call.op(*given.values(), **call.settings)

    inputs = tuple(operands[k] for k in wanted)
    with modes.unobserved(), modes.enable_grad(), np.errstate(all="ignore"):
        try:
            z = applied(*inputs)
        except (TypeError, ValueError, RuntimeError, IndexError):
            return {}  # the call cannot be repeated
        if not (isinstance(z, Tensor) and z.requires_grad and repeats(z.array, known)):
            return {}
        blocks = jacobian(applied, inputs)
    return {k: j.array.reshape(known.size, -1) for k, j in zip(wanted, blocks, strict=True)}
