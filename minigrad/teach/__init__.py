"""Teaching tools: compare gradients derived by hand, find mistakes, check exercises.

compare           compares your gradients with the tape's
compare_update    compares your steps with an optimizer's
diagnose          which mistake gives exactly these numbers
Exercise          declares an exercise; Exercise(...).check()
progress          which exercises of this session are solved
course            a map of the lessons and exercises, and which of them are solved

Other kinds of exercise: Tangents, Differentiable and Implementation (functions), Edges, Order
and Adjoints (what a tape looks like), Facts (predictions), Updates (optimizers). teach.pictures
draws what a student's function does.
"""

from minigrad.teach.ask_facts import Facts, complaint, outcome, saved_at
from minigrad.teach.ask_functions import Differentiable, Implementation, Tangents
from minigrad.teach.ask_optimizers import Updates
from minigrad.teach.ask_structure import Adjoints, Edges, Order
from minigrad.teach.checks import Case, CheckResult, CheckRow, ChecksFailed, Exercise
from minigrad.teach.compare import CompareRow, Comparison, compare, compare_in
from minigrad.teach.course import CourseMap, CourseNotebook, course
from minigrad.teach.diagnose import Diagnosis, diagnose, diagnose_function
from minigrad.teach.misconceptions import Misconception
from minigrad.teach.own_backward import diagnose_backward
from minigrad.teach.question import Hint, Progress, Question, progress
from minigrad.teach.updates import UpdateComparison, UpdateRow, compare_update

# ruff: noqa: F401 - each name that is imported here is public
__all__ = [n for n, v in vars().items() if callable(v) and not n.startswith("_")]
