"""What is made of an author's notebook.

student      the notebook that students get, without solutions
markers      the marks around a solution
syntax       what a cell defines and uses
questions    what is asked, and which cells are run for it
exercises    the exercises of minigrad.teach as questions
variants     the author's wrong answers, as a student would write them
trusted      asks something of what the given cells define
inputs       what an answer is called with, drawn anew; check_in_kernel calls it
bundles      the two files by which answers are recorded and judged
"""
