"""The tape: what happened while code ran, recorded, drawn, and stepped through.

To read it in order:

snapshot.py   a copy of an array, or of what is worth knowing about it
events.py     what a recording is made of
recorder.py   the observer that writes it down; looks.py, what it sees when it looks closely
record.py     with record(): ... ; the Tape
names.py      what the learner calls a tensor; numbers in words
naming.py     what the entries of a recording are called
trace.py      the recording as one JSON-able document; steps.py, what happened, in deltas
moment.py     how things stand after a step
layout.py     where each box of a picture goes; fold.py, which boxes there are
boxes.py      what is written in each box
draw.py       the picture; legend.py; shapes.py, the picture as SVG and PNG
text.py       tables, and DOT
page.py       the inspector as an HTML page; packing.py, the document on its way there
walk.py       a backward pass, one node at a time
check.py      gradients derived by hand, beside the tape's
chain.py      the grad_fn chain of a tensor, as a tree
"""

from minigrad.tape.chain import Chain, chain
from minigrad.tape.record import Tape, record

__all__ = ["Chain", "Tape", "chain", "record"]
