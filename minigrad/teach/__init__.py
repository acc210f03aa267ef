"""For learning: gradients derived by hand, compared; exercises, checked on the spot.

compare     your gradients beside the tape's, input by input
compare_update    the steps of an optimizer, likewise
diagnose    which mistake gives exactly these numbers
Exercise    an exercise as a declaration; Exercise(...).check()
"""

from minigrad.teach.checks import Case, CheckResult, CheckRow, ChecksFailed, Exercise
from minigrad.teach.compare import CompareRow, Comparison, compare, compare_in
from minigrad.teach.diagnose import Diagnosis, diagnose
from minigrad.teach.updates import UpdateComparison, UpdateRow, compare_update

__all__ = [
    "Case",
    "CheckResult",
    "CheckRow",
    "ChecksFailed",
    "CompareRow",
    "Comparison",
    "Diagnosis",
    "Exercise",
    "UpdateComparison",
    "UpdateRow",
    "compare",
    "compare_in",
    "compare_update",
    "diagnose",
]
