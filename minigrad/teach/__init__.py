"""For learning: gradients derived by hand, compared; exercises, checked on the spot.

compare     your gradients beside the tape's, input by input
Exercise    an exercise as a declaration; Exercise(...).check()
"""

from minigrad.teach.checks import Case, CheckResult, CheckRow, ChecksFailed, Exercise
from minigrad.teach.compare import CompareRow, Comparison, compare, compare_in

__all__ = [
    "Case",
    "CheckResult",
    "CheckRow",
    "ChecksFailed",
    "CompareRow",
    "Comparison",
    "Exercise",
    "compare",
    "compare_in",
]
