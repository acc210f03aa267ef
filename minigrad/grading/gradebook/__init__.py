"""From grades to a gradebook: what people add to what the grader found.

settings    gradebook.toml: deadline, late policy, weights, and where the CSV files are
csv_files   CSV files that people edit: refused with their line, or read; written whole or not at all
roster      who is in the class, and whose submission is whose
handed_in   when something was handed in, as far as that can be known
by_hand     answers that a person marks, and the CSV of the marks
similar     equal answers of different students, for the teacher
given       all that people gave, read at once
late        what a late submission costs
course      a course: the total over its assignments
book        the gradebook: a row for each student, a mark for each question

Nothing here writes over what a person wrote, and no student's code runs.
"""
