"""Judge recorded answers. No student's code runs here.

grades       computes points from the verdicts on single answers, and adds the mistakes behind wrong answers
compare      compares an answer with the solution's
mistakes     finds the mistakes behind wrong answers to exercises
nbval_items  runs the author's notebook under nbval, with a student's answers as its stored outputs
"""
