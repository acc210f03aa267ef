"""How submissions are run.

collect      the submissions in a folder or a zip
notebook     a student's file as cells, also if it is damaged
submission   the answers among them
carried      what an answer takes along from cells of the student's own
differences  does an answer differentiate by numbers?
place        an isolation that holds here
record       one submission: its answers, from the sandbox
recorder     a process that does it
batch        a class of them, here or on a cluster
"""
