"""Draws a document: pictures, tables and pages, all without other programs.

    layout
fold.py         groups nodes into boxes, and makes the views; joins views side by side
layout.py       places the boxes, with layers.py; labels.py, the text beside arrows
boxes.py        the text in each box, and its size; thumbnail.py, its value
style.py        colors, and the width of text

    pictures
draw.py         the picture and its legend; canvas.py, boxes and arrows
shapes.py       the shapes of a picture, and SVG; bitmap.py, PNG; animation.py, each step, GIF
dot.py          make_dot: the graph as torchviz shows it

    text
text.py         tables; digraph.py, the Graphviz language
page.py         the inspector as an HTML page, and its script
"""
