"""One mistake at one use: the search that most diagnoses come from.

Each row of the table of mistakes is tried at each edge that leads to the tensor. A row gives what
its mistake would pass along the edge; uses.py adds up what this changes further back. If that
gives the student's numbers, the row names the mistake.

We keep what was tried, because pairs.py combines two mistakes.

Read answer.py, mistakes.py and uses.py first.
"""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad.teach.all_mistakes import known_mistakes
from minigrad.teach.answer import Answer, Diagnosis
from minigrad.teach.mistakes import Mistake, variants
from minigrad.teach.uses import Use


class Tried(NamedTuple):
    """One mistake at one use, and its effect.

    effect    what is added to the right gradient
    changed   node -> what is added to its gradient, for all the nodes that it reaches
    """

    row: Mistake
    use: Use
    n: str
    effect: Any
    changed: dict[Any, Any]

    def diagnosis(self, a: Answer) -> Diagnosis:
        """The row's message and hint, at the operation of this use."""
        return a.found(self.row.message, self.row.hint, kind=self.row.kind, use=self.use, n=self.n)


def at_the_uses(a: Answer, tried: list[Tried], until: float) -> Iterator[Diagnosis]:
    """The table of mistakes, at every edge that leads to the tensor, the nearest first."""
    without: dict[Use, dict[Any, Any]] = {}  # the changes if nothing passes
    for row in known_mistakes():
        for use in a.graph.paths:
            if time.thread_time() > until:
                return
            for variant in variants(row, use):
                if variant.times is None:
                    changed = use.changes(variant.array)
                else:
                    if use not in without:
                        without[use] = use.changes(np.zeros_like(use.passed))
                    changed = {n: (1 - variant.times) * d for n, d in without[use].items()}
                effect = changed.get(a.target)
                if effect is None:
                    continue
                one = Tried(row, use, variant.n, np.asarray(effect), changed)
                if a.gives(a.right + effect):
                    yield one.diagnosis(a)
                tried.append(one)
