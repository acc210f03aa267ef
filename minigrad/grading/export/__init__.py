"""Export a gradebook to other systems, and an exercise as an autograder for Gradescope.

marks         reads the marks that `minigrad grade` wrote
lms           writes files to import into Canvas, Moodle and nbgrader
autograder    the package for Gradescope, and the program in it that grades one submission

Nothing is sent over the network: each export is a file, which the instructor uploads.
"""
