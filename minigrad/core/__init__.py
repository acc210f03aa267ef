"""The tape: ops meet tensors here, nodes are recorded, and gradients travel back.

    op.py         what an op is: a forward function and a rule for each input
    memory.py     versions of memory; node.py, case.py, saved.py, leaf.py: what the tape is made of
    dispatch.py   an op meets tensors: compute, and record a node (fast.py writes it out for each op)
    inplace.py    the same for an op that writes over its operand; views.py: shared memory
    engine.py     one backward pass; backward.py: how it starts and ends
    duals.py      forward mode
    function.py   an op written by the user
    tensor.py     Tensor, which all of the above know only as something with an array and a node

errors, dtypes, devices, shapes, sparse and formatting are read where they are needed.
"""
