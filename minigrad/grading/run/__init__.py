"""Run submissions in the sandbox, and record their answers.

collect      finds the submissions in a folder or a zip
notebook     reads the cells of a student's file, even if it is damaged
submission   finds the answer cells among them
carried      collects the definitions from other cells that an answer uses
differences  detects answers that use finite differences
written      extracts what the student wrote for each question
record       runs one submission in the sandbox
recorder     a separate process that records submissions
batch        records and judges a class, on this machine or on a cluster
"""
