"""From an author's notebook to a graded one, in small steps.

    release     the author's notebook without its solutions: what a student gets
    assemble    a student's answers in the author's notebook: what is run
    gate        nbval runs it against the author's outputs: right or wrong

Nothing here is imported by `import minigrad`.
"""
