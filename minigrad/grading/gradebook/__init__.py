"""From grades to a gradebook: combine automatic grades with what the instructor provides.

settings    gradebook.toml: deadline, late policy, weights, and the paths of the CSV files
csv_files   strict reading of hand-edited CSV files, with line numbers in errors; atomic writing
roster      the students of a class, and who owns which submission
handed_in   when each submission was handed in, as far as it can be determined, and the late penalty
by_hand     the points that a person gives: the CSV of marks, and that of overrides
course      the total over the assignments of a course
book        the gradebook: a row for each student, a mark for each question

Nothing here overwrites what a person wrote, and no student's code runs.
"""
