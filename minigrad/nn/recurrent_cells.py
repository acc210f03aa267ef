"""Recurrent cells: a small network that is applied step by step along a sequence.

Each step gets one element of the sequence and the *state* from the step before:

    state = step(element, state)

so the last state can depend on all earlier elements. The three kinds differ in `step`:

    RNN     the new state is tanh of a linear function of both
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
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import zeros
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.linear import parameter
from minigrad.nn.module import Module
from minigrad.nn.parameter import Parameter

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]

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
    (tanh), each of one quarter of W_ih x + b_ih + W_hh h + b_hh.
    """
    h, c = state
    gates = ops.lstm_gates.apply(a + F.linear(h, w, b))
    c = ops.lstm_cell.apply(gates, c)
    return ops.lstm_hidden.apply(gates, c), c


def gru_step(a: Tensor, state: State, w: Tensor, b: Tensor | None) -> State:
    """h' = (1 - z) * n + z * h

    with the reset gate r (how much of the old state the candidate uses), the update gate z (how
    much of it is kept), and the candidate n = tanh(W_in x + b_in + r * (W_hn h + b_hn)).
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


class _Recurrent(Module):
    """The base class of cells and layers."""

    hidden_size: int

    def reset_parameters(self) -> None:
        """Initialize the parameters again, uniformly between -1/sqrt(hidden_size) and 1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _add(self, name: str, wanted: bool, shape: Any, device: Any, dtype: Any) -> None:
        new = parameter(*shape, dtype=dtype, device=device) if wanted else None
        self.register_parameter(name, new)


# ------------------------------------------------------------------------ cells


class _Cell(_Recurrent):
    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        kind: str,
        input_size: int,
        hidden_size: int,
        bias: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.kind = kind
        rows = KINDS[kind][0] * hidden_size
        self._add("weight_ih", True, (rows, input_size), device, dtype)
        self._add("weight_hh", True, (rows, hidden_size), device, dtype)
        self._add("bias_ih", bias, (rows,), device, dtype)
        self._add("bias_hh", bias, (rows,), device, dtype)
        self.reset_parameters()

    def _step(self, input: Tensor, given: State | None) -> State:
        """One step from the given state, or from zeros. Also handles a single example without the batch axis."""
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        x = input if input.ndim == 2 else input.unsqueeze(0)
        _, n_states, step = KINDS[self.kind]
        if given is None:
            state: State = (zeros(x.shape[0], self.hidden_size, dtype=x.dtype),) * n_states
        else:
            for k, h in enumerate(given):
                what = "hidden" if n_states == 1 else f"hx[{k}]"
                if h.ndim not in (1, 2):
                    raise ValueError(
                        f"{name}: Expected {what} to be 1D or 2D, got {h.ndim}D instead"
                    )
            state = given if input.ndim == 2 else tuple(h.unsqueeze(0) for h in given)
        self._check(x, state)
        a = F.linear(x, self.weight_ih, self.bias_ih)
        state = step(a, state, self.weight_hh, self.bias_hh)
        return state if input.ndim == 2 else tuple(h.squeeze(0) for h in state)

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

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


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

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self_kind = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}.get(nonlinearity, "RNN_TANH")
        super().__init__(self_kind, input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(input, None if hx is None else (hx,))[0]

    def extra_repr(self) -> str:
        other = f", nonlinearity={self.nonlinearity}" if self.nonlinearity != "tanh" else ""
        return super().extra_repr() + other


class LSTMCell(_Cell):
    """One step of an LSTM: c' = f * c + i * g,  h' = o * tanh(c')

    input        (n, input_size)               or without n
    hx           (h, c), each (n, hidden_size)   by default zeros
    returns      (h', c')
    weight_ih    (4 * hidden_size, input_size)   for i, f, g, o, in this order
    weight_hh    (4 * hidden_size, hidden_size)
    bias_ih      (4 * hidden_size,)
    bias_hh      (4 * hidden_size,)

    i, f and o are the sigmoids, and g is the tanh, of their parts of W_ih x + b_ih + W_hh h + b_hh.

    Source: Hochreiter and Schmidhuber, Long Short-Term Memory (1997); the gate f is by Gers et
    al., Learning to Forget (2000).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("LSTM", input_size, hidden_size, bias, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        h, c = self._step(input, None if hx is None else tuple(hx))
        return h, c


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

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("GRU", input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, None if hx is None else (hx,))[0]
