"""From an author's notebook to a graded one, in small steps.

    release/    the author's notebook: what a student gets, what is asked, and the bundles of both
    run/        a class of submissions, and what each of them answers in the sandbox
    sandbox/    where a student's code runs, and what it can reach there
    judge/      answers held against the solution's, by nbval: right or wrong, points, diagnoses
    gradebook/  the grades of a class, with what people add: roster, lateness, marks, weights
    reports/    all of it as JSON, CSV, XML and pages
    documents   the JSON that goes from one to the next
    files       written whole or not at all
    trusted_process    runs the author's given cells, and none of a student's
    assignment  an assignment of one notebook or several, from submissions to gradebook
    marking     a page in which a person marks answers
    gate        may an exercise be released? It is tried
    commands    the command line; plugin is  pytest --minigrad

Nothing here is imported by `import minigrad`.
"""
