"""For learning: gradients derived by hand, compared; exercises, checked on the spot.

compare     your gradients beside the tape's, input by input
compare_update    the steps of an optimizer, likewise
diagnose    which mistake gives exactly these numbers
Exercise    an exercise as a declaration; Exercise(...).check()
progress    what is solved in this session
course      the map of the lessons and exercises, and what is solved of them

Other kinds of exercise: Tangents, Differentiable and Function (functions), Edges, Order and
Adjoints (what a tape looks like), Facts (predictions), Updates (optimizers). What a student's
function does is drawn by teach.pictures.
"""

from minigrad.teach.ask_facts import Facts, complaint, outcome, saved_at
from minigrad.teach.ask_functions import Differentiable, Function, Tangents
from minigrad.teach.ask_optimizers import Updates
from minigrad.teach.ask_structure import Adjoints, Edges, Order
from minigrad.teach.checks import Case, CheckResult, CheckRow, ChecksFailed, Exercise
from minigrad.teach.compare import CompareRow, Comparison, compare, compare_in
from minigrad.teach.course import CourseMap, CourseNotebook, course
from minigrad.teach.diagnose import Diagnosis, diagnose, diagnose_function
from minigrad.teach.misconceptions import Misconception
from minigrad.teach.question import Hint, Progress, Question, progress
from minigrad.teach.updates import UpdateComparison, UpdateRow, compare_update

__all__ = [
    "Adjoints",
    "Case",
    "CheckResult",
    "CheckRow",
    "ChecksFailed",
    "CompareRow",
    "Comparison",
    "CourseMap",
    "CourseNotebook",
    "Diagnosis",
    "Differentiable",
    "Edges",
    "Exercise",
    "Facts",
    "Function",
    "Hint",
    "Misconception",
    "Order",
    "Progress",
    "Question",
    "Tangents",
    "UpdateComparison",
    "UpdateRow",
    "Updates",
    "compare",
    "compare_in",
    "compare_update",
    "complaint",
    "course",
    "diagnose",
    "diagnose_function",
    "outcome",
    "progress",
    "saved_at",
]
