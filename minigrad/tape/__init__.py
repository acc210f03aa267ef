"""The tape: records what code does, draws it, and steps through it.

    a recording  ->  one typed document  ->  pictures, tables, pages

A reading order:

    the recording
snapshot.py     copies of arrays, or of the main facts about them
events.py       the records that a recording consists of
recorder.py     the observer that writes them, with forward_half.py, identity.py and tensors.py
iterations.py   the iterations of a training loop, and which of them are kept
torch/          records what PyTorch's own engine does, in the same form

    the document
document.py     the contents of a shown tape as typed records, and their JSON
names.py        the user's names for tensors, and values as text
naming.py       names for the entries of a recording
from_recording.py   makes the document from a recording; jacobian.py, the local derivatives
steps.py        makes its steps, as deltas; state.py, the state after a step
matching.py     what differs between two tapes of one program
render/         places its boxes, and draws it: SVG, PNG, GIF, text, DOT, the HTML page

    what users call
record.py       with record(): ... ; the Tape
inspectable.py  its pictures and steps, also for static programs (static/view.py)
walk.py         tape.steps(z): a backward pass, one node at a time
check.py        tape.check, tape.differences: gradients, compared with the tape's
chain.py        chain(z): the grad_fn chain of a tensor, as a tree
adapters.py     for these and make_dot, the tensors of either engine: minigrad's, and PyTorch's if it is imported
"""

from minigrad.tape.chain import Chain, chain
from minigrad.tape.record import Tape, record

__all__ = ["Chain", "Tape", "chain", "record"]
