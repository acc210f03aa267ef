"""%gradcheck's report: does the gradient for each input agree with central differences?

We check one input at a time and treat the others as constants, so that the report
can say which input has a wrong gradient. The numbers come from minigrad/autograd/numerical.py.
If the `backward` of a Function is wrong, the report also names the mistake, if it is known.
"""

import sys
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError

from minigrad.autograd.numerical import GradcheckError, gradcheck
from minigrad.core.tensor import Tensor
from minigrad.nn import Module
from minigrad.nn.stateless import functional_call
from minigrad.tape.adapters import numbers_of, tensor_kinds
from minigrad.tape.snapshot import repeats
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


def gradcheck_report(f: Any, terms: list[str], xs: list[Any]) -> GradcheckReport:
    """Check the gradient with respect to each input, with the others as constants."""
    check, differs = _check_for(xs)
    doubled = list(map(_copied, xs))
    if isinstance(f, Module):
        f = _in_double(f)
    elif hasattr(f, "double"):  # a module of PyTorch
        kept = (v for m in f.modules() for v in vars(m).values() if isinstance(v, tensor_kinds()))
        f = deepcopy(f, {id(v): v for v in kept}).double()  # activations cannot be copied
    rows = []
    for k, x in enumerate(doubled):
        if not is_floating_tensor(x):
            continue
        given = list(map(_copied, doubled))
        given[k].requires_grad_()
        note = ""
        try:
            check(f, tuple(given))
        except differs as error:
            if not _repeats(f, doubled):
                raise UsageError(
                    f"%gradcheck: called again with the same inputs, {terms[0]} has another value, so there is "
                    "nothing to compare with. To fix it, call .eval() if it is a model with dropout; or set the "
                    "seed in it."
                ) from None
            # Leave out the two Jacobians below the summary, which would fill the page.
            summary = str(error).partition("\nnumerical:")[0].replace("input 0", f"input {k}")
            note = "; ".join(" ".join(line.split()).rstrip(".,") for line in summary.splitlines())
            if found := diagnose_backward(f, *given, wrt=k, name=terms[k + 1]):
                note = f"{note}\n{found.about(terms[k + 1])}"
        except RuntimeError as error:
            if "dtype" not in str(error):
                raise
            raise UsageError(
                f"%gradcheck: the check computes in double precision, and {terms[0]} also reads tensors of another "
                f"dtype, which are not among its inputs. Add them to its inputs, or make them float64. ({error})"
            ) from None
        rows.append(GradcheckRow(terms[k + 1], tuple(x.shape), not note, note))
    agree = f"{sum(row.ok for row in rows)} of {len(rows)} gradients agree"
    agree = "1 gradient agrees" if agree.startswith("1 of 1 ") else agree
    return GradcheckReport(f"gradcheck of {terms[0]}: {agree} with central differences", rows)


def _check_for(xs: list[Any]) -> tuple[Any, type[Exception]]:
    """The gradcheck for these inputs, PyTorch's or ours, and its error."""
    if all(isinstance(x, Tensor) for x in xs if isinstance(x, tensor_kinds())):
        return gradcheck, GradcheckError
    theirs: Any = sys.modules["torch.autograd.gradcheck"]
    return theirs.gradcheck, theirs.GradcheckError


def _repeats(f: Any, xs: list[Any]) -> bool:
    """Does f compute the same numbers when it is called again?"""
    results = (f(*map(_copied, xs)) for _ in range(2))
    first, again = (z if isinstance(z, tuple | list) else [z] for z in results)
    both = ((a, b) for a, b in zip(first, again) if isinstance(a, tensor_kinds()))
    return all(repeats(numbers_of(a), numbers_of(b), 1e-9) for a, b in both)


def is_floating_tensor(x: Any) -> bool:
    """Is this a floating-point tensor, of either engine?"""
    return isinstance(x, tensor_kinds()) and bool(x.is_floating_point())


def _in_double(module: Module) -> Any:
    """The module as a function that computes with copies of its parameters and buffers, in float64."""
    state = {n: _copied(t) for n, t in module.state_dict().items()}
    return lambda *xs: functional_call(module, dict(state), xs)


def _copied(x: Any) -> Any:
    """A copy of a tensor, in double precision if it is a floating-point one; anything else as it is."""
    if not isinstance(x, tensor_kinds()):
        return x
    return (x.detach().double() if is_floating_tensor(x) else x.detach()).clone()
