"""The tape: what happened while code ran, recorded, drawn, and walked through.

record.py   with record(): ... what ran, as plain data; the Tape
names.py    what the learner calls a tensor; numbers in words
trace.py    the recording as one JSON-able document
layout.py   where each box of the picture goes
draw.py     the document as SVG, PNG and text
page.py     the document as an HTML page
walk.py     a backward pass, one node at a time
chain.py    the grad_fn chain of a tensor, as a tree
"""

from minigrad.tape.chain import Chain, chain
from minigrad.tape.record import Tape, record

__all__ = ["Chain", "Tape", "chain", "record"]
