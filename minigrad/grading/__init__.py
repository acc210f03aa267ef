"""Grading: from an author's notebook to the grades of a class.

    release/    turn the author's notebook into a student's notebook and the bundles for grading
    run/        collect the submissions of a class and record their answers in the sandbox
    sandbox/    isolate students' code, and limit what it can reach
    judge/      compare answers with the solution's, through nbval: points and diagnoses
    gradebook/  combine the grades with roster, lateness, manual marks and weights
    reports/    write the results as JSON, CSV, XML and HTML
    documents   types of the JSON documents that these steps exchange
    files       atomic writes, unique names, text that is safe to show
    trusted     runs the author's code in processes of its own; author_process is what runs there
    assignment  an assignment of one or more notebooks, from submissions to gradebook
    marking     a local web page for marking answers by hand
    gate        checks an exercise before it is released, by running it
    commands    the command line; plugin provides  pytest --minigrad

`import minigrad` imports nothing from this package.
"""
