"""Make the student's notebook and the grading bundles from an author's notebook.

student      the notebook that students get, without solutions
markers      the markers around solutions and hidden tests
syntax       the names that a cell defines and uses
questions    the graded questions, and the cells that each needs
exercises    exercises of minigrad.teach as questions
check_cell   draws the inputs for each grading run, and makes the cell that calls the answers on them
in_kernel    what that cell runs
bundles      the two files for recording and judging answers
"""
