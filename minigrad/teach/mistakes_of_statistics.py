"""The table of mistakes, continued: statistics, and sums that are broadcast again.

    var, std, norm     x - x.mean(), e / e.sum()

Read mistakes.py first.
"""

import numpy as np

from minigrad.teach.difference import Array
from minigrad.teach.mistakes import Passes, Variant, Variants, constant_factor, mistake
from minigrad.teach.uses import Use

# ------------------------------------------------------------------ statistics


@mistake("scale", "var std mean div mul")
def _degrees_of_freedom(use: Use) -> Variants:
    """{op}{line} divides by {n}, and your gradient divides by another number of entries.

    Is it n or n - 1? Look at the forward pass.
    """
    # n against n - 1, or the length of another axis.
    c, n, var = constant_factor(use), use.gathered, use.op_name in ("var", "std")
    if use.op_name in ("div", "mul"):  # a sum, divided by hand
        for entries in {u.gathered for u in use.graph.paths if u.op_name == "sum"}:
            for here, other in ((entries, entries - 1), (entries - 1, entries)):
                if other > 0 and abs(c * here - 1) < 1e-6:
                    yield Variant(use.passed * here / other, str(here))
            if c and use.op_name == "div":  # by another number, such as the sum of a mask
                yield Variant(use.passed / c / entries, f"{1 / c:g}")
    elif n > 1:
        m = n - float(use.values.get("correction", 1)) if var else n
        lengths = {n} if var else {*use.passed.shape, use.passed.size} - {n, 0, 1, n * n}
        for other in (lengths | {n - 1}) - {m} if m > 0 else ():
            for root in (1, 0.5) if use.op_name == "std" else (1,):
                yield Variant(use.passed * (m / other) ** root, f"{m:g}")


@mistake("mean_for_sum", "var std")
def _variance_not_divided(use: Use) -> Passes:
    """{op}{line} divides by {n}, and your gradient does not.

    The derivative of a mean is 1/n for each entry.
    """
    if not use.g.size:
        return None
    m = use.passed.size / use.g.size - float(use.values.get("correction", 1))
    return [Variant(use.passed * m, f"{m:g}")] if m > 1 else None


@mistake("wrong_argument", "var std norm")
def _statistics_elsewhere(use: Use, widened: Array) -> Variants:
    """The derivative of {op}{line} was evaluated at the wrong value: {n}.

    Check whether the rule is written in terms of the input or of the result.
    """
    z, x = use.values.get("z"), use.values.get("x")
    if z is not None and use.op_name != "var":
        yield Variant(use.passed / use.widened(z), "the square is there instead of its root")
    if x is not None and use.op_name != "norm":
        center = x - np.mean(x, axis=use.values.get("axis"), keepdims=True)
        with np.errstate(all="ignore"):
            at_x = np.where(center == 0, np.nan, use.share() * widened / center * x)
        yield Variant(at_x, "at x, instead of at x minus its mean")


@mistake("upstream_ignored", "std norm")
def _under_the_root(use: Use, z: Array, widened: Array) -> Passes:
    """{op}{line} is a square root, and only the expression under it was differentiated.

    The chain rule has one more factor here: the derivative of the square root.
    """
    return 2 * use.passed * use.widened(z) if use.values.get("p", 2) == 2 else None
