"""The tape: ops meet tensors here, nodes are recorded, and gradients travel back.

    op.py         what an op is: a forward function and a rule for each input
    memory.py     versions of memory; node.py, plan.py, saved.py, leaf.py: what the tape is made of
    dispatch.py   an op meets tensors, out of place and in place: promotion.py prepares the operands, and
                  codegen.py writes the usual way out for each op
    inplace.py    what a write in place is refused for, and what it does; views.py: shared memory
    engine.py     one backward pass; backward.py: how it starts and ends
    duals.py      forward mode
    function.py   an op written by the user
    tensor.py     Tensor, which all of the above know only as something with an array and a node

errors, dtypes, devices, shapes, sparse and formatting are read where they are needed.
"""
