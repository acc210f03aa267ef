"""How answers are judged. No student's code runs.

grades       points, from verdicts on single answers
compare      an answer held against the solution's
nbval_items  the author's notebook, run by nbval, with a student's answers as its outputs
plugin       pytest --minigrad
feedback     which mistake gives a wrong answer: what is asked about a class
explain      and what the exercises tell
"""
