"""Export a gradebook to other systems, and an exercise as an autograder for Gradescope.

lms           writes files to import into Canvas, Moodle and nbgrader, from the marks that `minigrad grade` wrote
autograder    the package for Gradescope, and the program in it that grades one submission

Nothing is sent over the network: each export is a file, which the instructor uploads.
"""
