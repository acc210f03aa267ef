"""A gradebook in the forms that other systems take in, and an exercise as an autograder for Gradescope.

marks         what `minigrad grade` has written of an assignment, as it is read again
lms           files to import into Canvas, Moodle and nbgrader
autograder    the package for Gradescope, and the program in it, which grades one submission

Nothing is sent anywhere: each is a file, which a person uploads.
"""
