"""The tape: what happened while code ran, recorded, drawn, and stepped through.

To read it in order:

snapshot.py   a copy of an array, or of what is worth knowing about it
events.py     what a recording is made of
recorder.py   the observer that writes it down, with forward_half.py and identity.py;
              looks.py, what it sees when it looks closely
record.py     with record(): ... ; the Tape
names.py      what the user calls a tensor; numbers in words
naming.py     what the entries of a recording are called
trace.py      the recording as one JSON-able document; steps.py, what happened, in deltas
moment.py     how things stand after a step
layout.py     where each box of a picture goes, in layers.py, ordering.py, coordinates.py
fold.py       which boxes there are; columns.py, pictures side by side
boxes.py      what is written in each box; measure.py, how wide it is
draw.py       the picture: draw_boxes.py, arrows.py, legend.py
shapes.py     what pictures are made of, as SVG; bitmap.py, as PNG; svg_reader.py, back again
text.py       tables; digraph.py, the language of Graphviz
page.py       the inspector as an HTML page; packing.py, the document on its way there
faces.py      all of these, for a tape and for a static program (static/draw.py)
walk.py       a backward pass, one node at a time
check.py      gradients derived by hand, beside the tape's; differences.py, beside slopes
chain.py      the grad_fn chain of a tensor, as a tree
dot.py        make_dot: the graph as torchviz shows it; dot_picture.py
"""

from minigrad.tape.chain import Chain, chain
from minigrad.tape.record import Tape, record

__all__ = ["Chain", "Tape", "chain", "record"]
