"""%gradcheck's report: does the gradient for each input agree with central differences?

We check one input at a time and treat the others as constants, so that the report
can say which input has a wrong gradient. The numbers come from minigrad/autograd/numerical.py.
If the `backward` of a Function is wrong, the report also names the mistake, if it is known.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from IPython.core.error import UsageError

from minigrad.autograd.numerical import GradcheckError, gradcheck
from minigrad.core.errors import DtypeError
from minigrad.core.tensor import Tensor, wrap
from minigrad.nn import Module
from minigrad.nn.stateless import functional_call
from minigrad.teach.own_backward import diagnose_backward
from minigrad.teach.report import Report


@dataclass(frozen=True)
class GradcheckRow:
    """One input of the function, and whether the gradient with respect to it agrees."""

    name: str
    shape: tuple[int, ...]
    ok: bool
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of GradcheckReport.header."""
        return self.name, str(self.shape), "agrees" if self.ok else "differs"


class GradcheckReport(Report[GradcheckRow]):
    """The rows of %gradcheck; true if all gradients agree with the differences."""

    header = ("input", "shape", "gradient")


def _in_double(module: Module) -> Any:
    """The module as a function that computes with copies of its parameters and buffers, in float64."""
    state = {n: _copied(t.clone()) for n, t in module.state_dict().items()}
    return lambda *xs: functional_call(module, dict(state), xs)


def gradcheck_report(f: Any, terms: list[str], xs: list[Any]) -> GradcheckReport:
    """Check the gradient with respect to each input, with the others as constants."""
    doubled = [_copied(x) for x in xs]
    if isinstance(f, Module):
        f = _in_double(f)
    rows = []
    for k, x in enumerate(doubled):
        if not isinstance(x, Tensor) or x.array.dtype.kind != "f":
            continue
        given = [wrap(y.array) if isinstance(y, Tensor) else y for y in doubled]
        given[k] = wrap(x.array).requires_grad_()
        note = ""
        try:
            gradcheck(f, tuple(given))
        except DtypeError as error:
            raise UsageError(
                f"%gradcheck: the check computes in double precision, and {terms[0]} also reads tensors of another "
                f"dtype, which are not among its inputs. Add them to its inputs, or make them float64. ({error})"
            ) from None
        except GradcheckError as error:
            # Leave out the two Jacobians below the summary, which would fill the page.
            summary = str(error).partition("\nnumerical:")[0].replace("input 0", f"input {k}")
            note = "; ".join(" ".join(line.split()).rstrip(".") for line in summary.splitlines())
            if found := diagnose_backward(f, *given, wrt=k, name=terms[k + 1]):
                note = f"{note}\n{found.about(terms[k + 1])}"
        rows.append(GradcheckRow(terms[k + 1], tuple(x.shape), not note, note))
    agree = f"{sum(row.ok for row in rows)} of {len(rows)} gradients agree"
    agree = "1 gradient agrees" if agree.startswith("1 of 1 ") else agree
    return GradcheckReport(f"gradcheck of {terms[0]}: {agree} with central differences", rows)


def _copied(x: Any) -> Any:
    """A copy of a floating-point tensor, in double precision; anything else as it is."""
    floating = isinstance(x, Tensor) and x.array.dtype.kind == "f"
    return wrap(x.array.astype(np.float64)) if floating else x
