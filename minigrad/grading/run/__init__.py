"""How submissions are run.

collect      the submissions in a folder or a zip
notebook     a student's file as cells, also if it is damaged
submission   the answers among them
inputs       what they are called with, drawn anew
place        an isolation that holds here
record       one submission: its answers, from the sandbox
recorder     a process that does it
batch        a class of them, here or on a cluster
"""
