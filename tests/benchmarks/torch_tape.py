"""What it costs to record PyTorch, and to draw what was recorded, in CPU time.

    python -m tests.benchmarks.torch_tape

An operation is recorded forward and backward. The best of several runs counts.
"""

import time

import torch
from torch import nn

import minigrad
from minigrad.tape.document import packed
from minigrad.tape.render.page import json_in_html

OPERATIONS = 1000


def chain(size):
    """Products and sines of one tensor, one after the other."""
    y = torch.ones(size, requires_grad=True)
    for _ in range(OPERATIONS // 2):
        y = (y * 1.001).sin()
    y.sum().backward()


def network(size):
    """A network of four layers, called again and again."""
    model = nn.Sequential(*(m for _ in range(4) for m in (nn.Linear(16, 16), nn.ReLU())))
    x = torch.randn(size)
    sum(model(x).sum() for _ in range(OPERATIONS // 13)).backward()


def least(times, run, *args):
    """The CPU time of the fastest of some runs, in seconds; and what the last one returned."""
    spent = []
    for _ in range(times):
        begin = time.process_time()
        made = run(*args)
        spent.append(time.process_time() - begin)
    return min(spent), made


def recorded(program, size):
    with minigrad.record() as tape:
        program(size)
    return tape


def drawn(program, size):
    tape = recorded(program, size)
    return tape.svg(folded=True), json_in_html(packed(tape.shown()))


def main():
    torch.set_num_threads(1)
    for program, size in ((chain, (8,)), (chain, (128, 128)), (network, (4, 16))):
        recorded(program, size)  # what is made once
        plain, _ = least(5, program, size)
        watched, tape = least(5, recorded, program, size)
        both, _ = least(3, drawn, program, size)
        count = sum(step.event == "op" for step in tape.shown().steps)
        print(
            f"{program.__name__} {size}: {count} operations in {1e3 * plain:.0f} ms, recorded in "
            f"{1e3 * watched:.0f} ms ({watched / plain:.1f} times, {1e6 * (watched - plain) / count:.0f} us "
            f"an operation); recorded and drawn in {both:.2f} s"
        )


if __name__ == "__main__":
    main()
