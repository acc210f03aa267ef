"""The tape: applying ops to tensors, recording nodes, and sending gradients back.

    op.py         defines an op: a forward function and a gradient rule for each input
    memory.py     version counters; node.py, plan.py, saved.py, leaf.py: the parts of the tape
    dispatch.py   applies an op to tensors, out of place or in place: promotion.py prepares the operands,
                  and codegen.py generates a fast path for each op
    inplace.py    in-place writes: when they are refused, and their effect on the history
    views.py      views, and writes to shared memory
    engine.py     runs one backward pass; backward.py starts it
    duals.py      forward mode
    function.py   user-defined ops
    tensor.py     Tensor; the modules above only assume that it has an array and a node

The other modules (errors, dtypes, devices, shapes, sparse, formatting) can be read when needed.
"""
