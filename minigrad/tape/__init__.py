"""The tape: what happened while code ran, recorded, drawn, and stepped through.

A reading order:

snapshot.py   a copy of an array, or of its main facts
events.py     the records that a recording consists of
recorder.py   the observer that writes them, with forward_half.py and identity.py;
              looks.py extracts the details
turns.py      the iterations of a training loop, and which of them are kept
record.py     with record(): ... ; the Tape
names.py      the user's names of tensors; numbers as text
naming.py     names for the entries of a recording
document.py   what is shown of a tape, as typed records; as JSON, also in a compact form
trace.py      makes the document from a recording; steps.py, its steps, as deltas
moment.py     the state after a step
layout.py     where each box of a picture goes, with layers.py, ordering.py, coordinates.py;
              labels.py, where the texts beside its arrows go
fold.py       which boxes there are; pictures side by side
boxes.py      the text in each box; measure.py, how wide it is
draw.py       the picture and its legend; canvas.py, its boxes and arrows; palette.py, its colors
shapes.py     the shapes of a picture, and SVG; bitmap.py, PNG; svg_reader.py, reads SVG back
text.py       tables; digraph.py, the Graphviz language
film.py       a walk as pictures: SVG files, GIF
page.py       the inspector as an HTML page; script.py joins the modules of its script
faces.py      all of these, for a tape and for a static program (static/view.py)
walk.py       a backward pass, one node at a time
check.py      compares hand-derived gradients with the tape's; differences.py, with slopes
either.py     tensors of either engine: minigrad's, and PyTorch's if it is imported
chain.py      the grad_fn chain of a tensor, as a tree
dot.py        make_dot: the graph as torchviz shows it
torch/        what PyTorch's own engine did, as a recording of the same form
"""

from minigrad.tape.chain import Chain, chain
from minigrad.tape.record import Tape, record

__all__ = ["Chain", "Tape", "chain", "record"]
