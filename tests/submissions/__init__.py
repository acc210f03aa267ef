"""Submissions for testing the grader: four small exercises, and what students may hand in.

    authors     an exercise for each theme, as the author's notebook
    answers     answers by exercise and name; the name begins with the verdict
    hostile     more of them, which try to earn points without an answer, or to disturb
    files       what may become of the file itself
    classes     a class of submissions, on the disk

A name says which share of the points is right: full_, half_, zero_. They are tests of behavior: what
a program does to itself, to its process, to the machine. Whatever it is, it must end in that
verdict, the same each time, and cost nobody else anything.
"""
