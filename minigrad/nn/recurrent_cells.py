"""Recurrent cells: a small network that is applied step by step along a sequence.

Each step gets one element of the sequence and the *state* from the previous step:

    state = step(element, state)

so the last state can depend on all earlier elements. The three kinds differ in `step`:

    RNN     the new state is tanh of a linear function of element and state
    GRU     gates control how much of the old state is kept
    LSTM    a second state, the cell, is only scaled and added to, so gradients can flow
            back over many steps without vanishing

This file has the steps and the cells, which take one step at a time; recurrent.py processes
whole sequences.
"""

import math
from collections.abc import Callable
from typing import Any

from minigrad import ops
from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike
from minigrad.core.tensor import Tensor
from minigrad.methods.arguments import named_type
from minigrad.methods.creation import zeros
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.linear import add_parameters
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter

State = tuple[Tensor, ...]  # (h,), or (h, c) for an LSTM
Step = Callable[[Tensor, State, Tensor, Tensor | None], State]

# ------------------------------------------------------------------------ one step
#
# a       (n, gates * hidden)         W_ih x + b_ih, computed beforehand
# state   (h,) or (h, c), each (n, hidden)
# w, b    (gates * hidden, hidden), (gates * hidden,)     W_hh and b_hh


def tanh_step(a: Tensor, state: State, w: Tensor, b: Tensor | None) -> State:
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh)"""
    (h,) = state
    return ((a + F.linear(h, w, b)).tanh(),)


def relu_step(a: Tensor, state: State, w: Tensor, b: Tensor | None) -> State:
    """h' = relu(W_ih x + b_ih + W_hh h + b_hh)"""
    (h,) = state
    return ((a + F.linear(h, w, b)).relu(),)


def lstm_step(a: Tensor, state: State, w: Tensor, b: Tensor | None) -> State:
    """c' = f * c + i * g      h' = o * tanh(c')

    with the input gate i, the forget gate f and the output gate o (sigmoids) and the candidate g
    (tanh), each computed from one quarter of W_ih x + b_ih + W_hh h + b_hh.
    """
    h, c = state
    gates = ops.lstm_gates.apply(a + F.linear(h, w, b))
    c = ops.lstm_cell.apply(gates, c)
    return ops.lstm_hidden.apply(gates, c), c


def gru_step(a: Tensor, state: State, w: Tensor, b: Tensor | None) -> State:
    """h' = (1 - z) * n + z * h

    with the reset gate r (how much of the old state the candidate uses), the update gate z (how
    much of the old state is kept), and the candidate n = tanh(W_in x + b_in + r * (W_hn h + b_hn)).
    """
    (h,) = state
    r, z, n = a.chunk(3, dim=1)
    hr, hz, hn = F.linear(h, w, b).chunk(3, dim=1)
    r, z = (r + hr).sigmoid(), (z + hz).sigmoid()
    n = (n + r * hn).tanh()
    return (n + z * (h - n),)


KINDS: dict[str, tuple[int, int, Step]] = {  # gates, states, step
    "RNN_TANH": (1, 1, tanh_step),
    "RNN_RELU": (1, 1, relu_step),
    "LSTM": (4, 2, lstm_step),
    "GRU": (3, 1, gru_step),
}


def as_states(hx: Any, n_states: int) -> State:
    """The given states as a tuple, which is empty if none are given."""
    if hx is None:
        return ()
    if n_states == 1:
        return (hx,)
    if not isinstance(hx, (tuple, list)):
        raise TypeError(f"argument 'hx' must be tuple of Tensors, (h, c), not {named_type(hx)}.")
    return tuple(hx)


class _Recurrent(Module):
    """The base class of cells and layers."""

    _shown = ("input_size", "hidden_size")

    hidden_size: int

    def reset_parameters(self) -> None:
        """Initialize the parameters again, uniformly between -1/sqrt(hidden_size) and 1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)


# ------------------------------------------------------------------------ cells


class RNNCellBase(_Recurrent):
    """The base class of cells, also of your own: it makes the weights of all gates, and you write `forward`.

    num_chunks    the number of gates, such as 4 in an LSTM: weight_ih is (num_chunks * hidden_size, input_size)

    >>> RNNCellBase(3, 2, bias=False, num_chunks=4).weight_hh.shape
    minigrad.Size([8, 2])
    """

    _shown_if_not = {"bias": True}

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        of_bias = (rows,) if bias else None
        add_parameters(
            self, device, dtype, weight_ih=(rows, input_size), weight_hh=(rows, hidden_size),
            bias_ih=of_bias, bias_hh=of_bias,
        )  # fmt: skip
        self.reset_parameters()


class _Cell(RNNCellBase):
    kind: str  # a key of KINDS

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, KINDS[self.kind][0], device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """input (n, input_size) and the state hx (by default zeros) to the next state."""
        _, n_states, step = KINDS[self.kind]
        given: State = as_states(hx, n_states)
        names = ["hidden"] if n_states == 1 else [f"hx[{k}]" for k in range(n_states)]
        for name, t in (("input", input), *zip(names, given)):
            if t.ndim not in (1, 2):
                raise ValueError(
                    f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {t.ndim}D instead"
                )
        x, state = input, given
        if input.ndim == 1:  # one example, without the batch axis
            x, state = x.unsqueeze(0), tuple(h.unsqueeze(0) for h in state)
        if not given:
            state = (zeros(x.shape[0], self.hidden_size, dtype=x.dtype),) * n_states
        self._check(x, state)
        a = F.linear(x, self.weight_ih, self.bias_ih)
        state = step(a, state, self.weight_hh, self.bias_hh)
        if input.ndim == 1:
            state = tuple(h.squeeze(0) for h in state)
        return state if n_states > 1 else state[0]

    def _check(self, x: Tensor, state: State) -> None:
        if x.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}"
            )
        for k, h in enumerate(state):
            if h.shape[0] != x.shape[0]:
                raise RuntimeError(
                    f"Input batch size {x.shape[0]} doesn't match hidden{k} batch size {h.shape[0]}"
                )
            if h.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{k} has inconsistent hidden_size: got {h.shape[1]}, expected {self.hidden_size}"
                )


class RNNCell(_Cell):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh)

    input        (n, input_size)     or (input_size,)
    hx           (n, hidden_size)    or (hidden_size,); by default zeros
    returns      like hx
    weight_ih    (hidden_size, input_size)
    weight_hh    (hidden_size, hidden_size)
    bias_ih      (hidden_size,)
    bias_hh      (hidden_size,)

    nonlinearity   "tanh" or "relu"

    All parameters are initialized uniformly between -1/sqrt(hidden_size) and 1/sqrt(hidden_size).

    Source: Elman, Finding Structure in Time (1990).
    """

    _shown_if_not = {"bias": True, "nonlinearity": "tanh"}

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        self.kind = "RNN_RELU" if nonlinearity == "relu" else "RNN_TANH"
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """input (n, input_size) and hx (n, hidden_size) to the next hx."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return super().forward(input, hx)


class LSTMCell(_Cell):
    """One step of an LSTM: c' = f * c + i * g,  h' = o * tanh(c')

    input        (n, input_size)               or without n
    hx           (h, c), each (n, hidden_size)   by default zeros
    returns      (h', c')
    weight_ih    (4 * hidden_size, input_size)   for i, f, g, o, in this order
    weight_hh    (4 * hidden_size, hidden_size)
    bias_ih      (4 * hidden_size,)
    bias_hh      (4 * hidden_size,)

    i, f and o are sigmoids and g is a tanh, each of one quarter of W_ih x + b_ih + W_hh h + b_hh.

    Source: Hochreiter and Schmidhuber, Long Short-Term Memory (1997); the forget gate from Gers
    et al., Learning to Forget (2000).
    """

    kind = "LSTM"


class GRUCell(_Cell):
    """One step of a GRU: h' = (1 - z) * n + z * h

    input        (n, input_size)               or without n
    hx           (n, hidden_size)              by default zeros
    returns      like hx
    weight_ih    (3 * hidden_size, input_size)   for r, z, n, in this order
    weight_hh    (3 * hidden_size, hidden_size)
    bias_ih      (3 * hidden_size,)
    bias_hh      (3 * hidden_size,)

    Source: Cho et al., Learning Phrase Representations using RNN Encoder-Decoder (2014).
    """

    kind = "GRU"
