"""For learning: gradients derived by hand, compared; exercises, checked on the spot.

compare     your gradients beside the tape's, input by input
Exercise    an exercise as a declaration; Exercise(...).check()
"""

from .checks import Case, CheckResult, CheckRow, Exercise
from .compare import CompareRow, Comparison, compare, compare_in

__all__ = [
    "Case",
    "CheckResult",
    "CheckRow",
    "CompareRow",
    "Comparison",
    "Exercise",
    "compare",
    "compare_in",
]
