"""The tape: records what code does, draws it, and steps through it.

A reading order:

snapshot.py   copies of arrays, or of the main facts about them
events.py     the records that a recording consists of
recorder.py   the observer that writes them, with forward_half.py and identity.py
iterations.py the iterations of a training loop, and which of them are kept
record.py     with record(): ... ; the Tape
names.py      the user's names for tensors; numbers as text
naming.py     names for the entries of a recording
document.py   the contents of a shown tape as typed records, and their JSON
trace.py      makes the document from a recording; steps.py makes its steps, as deltas
state.py      the state after a step
layout.py     places the boxes of a picture, with layers.py, ordering.py, coordinates.py;
              labels.py places the text beside arrows
fold.py       groups nodes into boxes; joins pictures side by side
boxes.py      the text in each box; measure.py computes the width of text
draw.py       the picture and its legend; canvas.py, boxes and arrows; palette.py, colors
shapes.py     the shapes of a picture, and SVG; bitmap.py, PNG
text.py       tables; digraph.py, the Graphviz language
animation.py  a picture for each step: SVG files, GIF
page.py       the inspector as an HTML page, and its script
inspectable.py  the methods for these, for tapes and static programs (static/view.py)
walk.py       a backward pass, one node at a time
check.py      compares hand-derived gradients with the tape's, and with central differences
adapters.py   tensors of either engine: minigrad's, and PyTorch's if it is imported
chain.py      the grad_fn chain of a tensor, as a tree
dot.py        make_dot: the graph as torchviz shows it
torch/        records what PyTorch's own engine does, in the same form
"""

from minigrad.tape.chain import Chain, chain
from minigrad.tape.record import Tape, record

__all__ = ["Chain", "Tape", "chain", "record"]
