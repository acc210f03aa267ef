"""Recurrent layers on packed sequences: each step includes only sequences that have not ended.

    forward     sequences that end are removed at the bottom, and keep their last state
        backward    sequences are added at the bottom, with their initial state

The layers are in recurrent.py, and packing is in utils/rnn.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.tensor import Tensor
from minigrad.methods.creation import zeros
from minigrad.methods.functions import cat
from minigrad.nn import functional as F
from minigrad.nn.recurrent_cells import KINDS, State
from minigrad.nn.utils.rnn import PackedSequence


def run_packed(rnn: Any, packed: PackedSequence, given: State | None) -> tuple[Any, State]:
    """Run all passes of an RNN, LSTM or GRU over packed sequences. Returns packed outputs and the last states."""
    data, sizes = packed.data, np.asarray(packed.batch_sizes.array).tolist()
    _, n_states, _ = KINDS[rnn.mode]
    if data.ndim != 2 or data.shape[-1] != rnn.input_size:
        raise RuntimeError(
            f"input.size(-1) must be equal to input_size. Expected {rnn.input_size}, got {data.shape[-1]}"
        )
    expected = (rnn.num_layers * (1 + rnn.bidirectional), sizes[0], rnn.hidden_size)
    if given is None:
        state: State = (zeros(*expected, dtype=data.dtype),) * n_states
    else:
        for k, s in enumerate(given):
            if tuple(s.shape) != expected:
                which = "Expected hidden size" if n_states == 1 else f"Expected hidden[{k}] size"
                raise RuntimeError(f"{which} {expected}, got {list(s.shape)}")
        state = tuple(_ordered(s, packed.sorted_indices) for s in given)

    def walk(x: Tensor, state: State, k: int, reverse: bool) -> tuple[Tensor, State]:
        return _walk(rnn, x, sizes, state, k, reverse)

    output, ends = rnn._layers(data, state, walk)
    ends = tuple(_ordered(s, packed.unsorted_indices) for s in ends)
    return packed._replace(data=output), ends


def _ordered(state: Tensor, order: Tensor | None) -> Tensor:
    return state if order is None else state.index_select(1, order)


def _walk(
    rnn: Any, x: Tensor, sizes: Sequence[int], first: State, k: int, reverse: bool
) -> tuple[Tensor, State]:
    """One pass over x, of shape (sum of the sizes, width), in one direction."""
    w_ih, w_hh, b_ih, b_hh = (*(getattr(rnn, name) for name in rnn._names[k]), None, None)[:4]
    step = KINDS[rnn.mode][2]
    parts = F.linear(x, w_ih, b_ih).split(list(sizes))
    if reverse:
        state, hs = tuple(s[: sizes[-1]] for s in first), []
        for a in reversed(parts):
            rows, n = state[0].shape[0], a.shape[0]
            if n > rows:
                state = tuple(cat([s, f[rows:n]]) for s, f in zip(state, first, strict=True))
            state = step(a, state, w_hh, b_hh)
            hs.append(state[0])
        return cat(hs[::-1]), state
    state, hs, over = first, [], []
    for a in parts:
        n = a.shape[0]
        if n < state[0].shape[0]:
            over.append(tuple(s[n:] for s in state))
            state = tuple(s[:n] for s in state)
        state = step(a, state, w_hh, b_hh)
        hs.append(state[0])
    last = [state, *reversed(over)]
    return cat(hs), tuple(cat([s[i] for s in last]) for i in range(len(first)))
