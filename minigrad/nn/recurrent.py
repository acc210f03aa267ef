"""Recurrent layers: a cell from recurrent_cells.py, applied along a whole sequence.

The part of a step that depends only on the element is computed for the whole sequence at
once, by one matrix product. Only the part that depends on the state is computed step by step.

packed.py handles packed sequences of unequal length. proj_size is not supported.
"""

import warnings
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.methods.creation import zeros
from minigrad.methods.functions import cat, stack
from minigrad.nn import functional as F
from minigrad.nn.packed import run_packed
from minigrad.nn.parameter import Parameter
from minigrad.nn.recurrent_cells import KINDS, State, _Recurrent
from minigrad.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]


class RNNBase(_Recurrent):
    """The base class of RNN, LSTM and GRU: it goes through the sequence."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_settings(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size
        )
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        rows = KINDS[mode][0] * hidden_size
        self._names: list[tuple[str, ...]] = []  # of the parameters of each pass, in order
        for layer in range(num_layers):
            for reverse in (False, True) if bidirectional else (False,):
                end = f"_l{layer}{'_reverse' if reverse else ''}"
                width = input_size if layer == 0 else hidden_size * (1 + bidirectional)
                self._add(f"weight_ih{end}", True, (rows, width), device, dtype)
                self._add(f"weight_hh{end}", True, (rows, hidden_size), device, dtype)
                if bias:
                    self._add(f"bias_ih{end}", True, (rows,), device, dtype)
                    self._add(f"bias_hh{end}", True, (rows,), device, dtype)
                kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")[: 4 if bias else 2]
                self._names.append(tuple(kind + end for kind in kinds))
        self.reset_parameters()

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each pass: layer by layer, forward and then backward."""
        return [[getattr(self, name) for name in names] for names in self._names]

    def flatten_parameters(self) -> None:
        """Does nothing. (PyTorch makes the parameters contiguous for its GPU library.)"""

    def _run(self, input: Any, given: State | None) -> tuple[Any, State]:
        """Run all passes over a sequence. Returns h of the last layer for every step, and the last states."""
        if isinstance(input, PackedSequence):
            return run_packed(self, input, given)
        x, state = self._batch(input, given)
        x, ends = self._layers(x, state, self._pass)
        if input.ndim == 2:
            return x.squeeze(1), tuple(e.squeeze(1) for e in ends)
        return x.transpose(0, 1) if self.batch_first else x, ends

    def _layers(self, x: Tensor, state: State, walk: Any) -> tuple[Tensor, State]:
        """Run one layer after another. `walk` makes one pass along a sequence, like `_pass`."""
        directions = 1 + self.bidirectional
        n_states = KINDS[self.mode][1]
        last: list[State] = []
        for layer in range(self.num_layers):
            outputs = []
            for k in range(layer * directions, (layer + 1) * directions):
                output, end = walk(x, tuple(s[k] for s in state), k, reverse=k % directions == 1)
                outputs.append(output)
                last.append(end)
            x = outputs[0] if directions == 1 else cat(outputs, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, tuple(stack([end[k] for end in last]) for k in range(n_states))

    def _pass(self, x: Tensor, state: State, k: int, reverse: bool) -> tuple[Tensor, State]:
        """One pass along the sequence x, of shape (l, n, width), in one direction."""
        w_ih, w_hh, b_ih, b_hh = (*(getattr(self, name) for name in self._names[k]), None, None)[:4]
        step = KINDS[self.mode][2]
        parts = list(F.linear(x, w_ih, b_ih).unbind(0))
        hs = []
        for a in reversed(parts) if reverse else parts:
            state = step(a, state, w_hh, b_hh)
            hs.append(state[0])
        return stack(hs[::-1] if reverse else hs), state

    def _batch(self, input: Tensor, given: State | None) -> tuple[Tensor, State]:
        """The input as (l, n, input_size), and the initial state for each pass, (n, hidden_size)."""
        name = type(self).__name__
        if input.ndim not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.ndim}D instead")
        if input.dtype != self.all_weights[0][0].dtype:
            theirs, ours = f"minigrad.{input.dtype}", f"minigrad.{self.all_weights[0][0].dtype}"
            raise ValueError(
                f"RNN input dtype ({theirs}) does not match weight dtype ({ours}). "
                f"Convert input: input.to({ours}), or convert model: model.to({theirs})"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.shape[-1]}"
            )
        x = input.unsqueeze(1) if input.ndim == 2 else input
        if input.ndim == 3 and self.batch_first:
            x = x.transpose(0, 1)
        if not x.shape[0]:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        passes = self.num_layers * (1 + self.bidirectional)
        n_states = KINDS[self.mode][1]
        expected = (passes, x.shape[1], self.hidden_size)
        if given is None:
            return x, (zeros(*expected, dtype=x.dtype),) * n_states
        if any(s.ndim != input.ndim for s in given):
            a, b = ("batched", 3) if input.ndim == 3 else ("unbatched", 2)
            both = f"({', '.join(f'{s.ndim}-D' for s in given)}) tensors"
            raise RuntimeError(
                f"For {a} {b}-D input, hx and cx should also be {b}-D but got {both}"
                if n_states == 2
                else f"For {a} {b}-D input, hx should also be {b}-D but got {given[0].ndim}-D tensor"
            )
        state = given if input.ndim == 3 else tuple(s.unsqueeze(1) for s in given)
        for k, s in enumerate(state):
            if tuple(s.shape) != expected:
                which = "Expected hidden size" if n_states == 1 else f"Expected hidden[{k}] size"
                raise RuntimeError(f"{which} {expected}, got {list(s.shape)}")
        return x, state

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


def _check_settings(
    mode: str,
    input_size: Any,
    hidden_size: Any,
    num_layers: int,
    bias: Any,
    batch_first: Any,
    dropout: Any,
    proj_size: int,
) -> None:
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            "being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, flag in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size:
        if mode != "LSTM":
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        raise NotImplementedError("LSTM with proj_size is not there.")


class RNN(RNNBase):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), for t = 1, ..., l

    input     (l, n, input_size)      or (n, l, input_size) with batch_first, or (l, input_size)
    hx        (p, n, hidden_size)     the initial state; by default zeros
    returns   output, h_n
    output    (l, n, hidden_size)     the state of the last layer after each step
    h_n       (p, n, hidden_size)     the state of each layer after the last step

    weight_ih_l0    (hidden_size, input_size)      weight_hh_l0    (hidden_size, hidden_size)
    bias_ih_l0      (hidden_size,)                 bias_hh_l0      (hidden_size,)

    num_layers      the number of layers; each gets the output of the one before
                    (their parameters end in _l1, _l2, ...)
    nonlinearity    "tanh" or "relu"
    dropout         the dropout probability between layers
    bidirectional   also run from the end to the start (parameters ending in _reverse); the
                    output is then twice as wide

    p is the number of passes: num_layers, or twice as many if bidirectional. All parameters are
    initialized uniformly between -1/sqrt(hidden_size) and 1/sqrt(hidden_size).

    Source: Elman, Finding Structure in Time (1990).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, (h,) = self._run(input, None if hx is None else (hx,))
        return output, h


class LSTM(RNNBase):
    """One or several layers of LSTMCell, applied along a sequence.

    input     (l, n, input_size)      or (n, l, input_size) with batch_first, or (l, input_size)
    hx        (h_0, c_0)              each (p, n, hidden_size); by default zeros
    returns   output, (h_n, c_n)
    output    (l, n, hidden_size)     h of the last layer after each step

    Parameters and settings have the same names as in RNN, and the shapes are those of LSTMCell.

    >>> from minigrad import ones
    >>> output, (h, c) = LSTM(3, 5, batch_first=True)(ones(2, 7, 3))
    >>> output.shape, h.shape
    (minigrad.Size([2, 7, 5]), minigrad.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        output, (h, c) = self._run(input, None if hx is None else tuple(hx))
        return output, (h, c)


class GRU(RNNBase):
    """One or several layers of GRUCell, applied along a sequence.

    input     (l, n, input_size)      or (n, l, input_size) with batch_first, or (l, input_size)
    hx        (p, n, hidden_size)     by default zeros
    returns   output, h_n
    output    (l, n, hidden_size)     h of the last layer after each step

    Parameters and settings have the same names as in RNN, and the shapes are those of GRUCell.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, (h,) = self._run(input, None if hx is None else (hx,))
        return output, h
