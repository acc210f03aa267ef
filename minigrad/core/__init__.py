"""The tape: applying ops to tensors, recording nodes, and sending gradients back.

    op.py         what an op is: a forward function and a gradient rule for each input
    memory.py     versions of memory; node.py, plan.py, saved.py, leaf.py: the parts of the tape
    dispatch.py   applies an op to tensors, out of place or in place: promotion.py prepares the operands,
                  and codegen.py generates a fast path for each op
    inplace.py    in-place writes: when they are refused, and what they do; views.py: shared memory
    engine.py     one backward pass; backward.py: how it starts and ends
    duals.py      forward mode
    function.py   ops written by the user
    tensor.py     Tensor; the modules above only assume that it has an array and a node

The other modules (errors, dtypes, devices, shapes, sparse, formatting) can be read when needed.
"""
