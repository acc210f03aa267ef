"""Recurrent layers: a cell from recurrent_cells.py, applied along a whole sequence.

The part of a step that depends only on the input is computed for the whole sequence at once,
with one matrix product. Only the part that depends on the state is computed step by step.

For packed sequences of unequal length (see utils/rnn.py), each step includes only the sequences
that have not ended.
"""

from typing import Any

import numpy as np

from minigrad.core.devices import DeviceLike
from minigrad.core.dtypes import DTypeLike, float32
from minigrad.core.errors import warn_user
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import zeros
from minigrad.methods.functions import cat, stack
from minigrad.nn import functional as F
from minigrad.nn.linear import add_parameters
from minigrad.nn.parameter import Parameter
from minigrad.nn.recurrent_cells import KINDS, State, _Recurrent, as_states
from minigrad.nn.utils.rnn import PackedSequence
from minigrad.ops.composites import named


class RNNBase(_Recurrent):
    """The base class of RNN, LSTM and GRU. It loops over the sequence."""

    _goes_through_sequence = True  # a tape shows the iterations of its loop as time steps
    _shown_if_not = {
        "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False,
    }  # fmt: skip

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
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = dropout, bidirectional, proj_size
        self._check_settings()
        self.dropout = float(dropout)
        rows, state_size = KINDS[mode][0] * hidden_size, proj_size or hidden_size
        # The names of the parameters of each pass, in order.
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else state_size * (1 + bidirectional)
            for end in ("", "_reverse") if bidirectional else ("",):
                of: dict[str, Any] = {"weight_ih": (rows, width), "weight_hh": (rows, state_size)}
                if bias:
                    of |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    of["weight_hr"] = (proj_size, hidden_size)
                shapes = {f"{kind}_l{layer}{end}": shape for kind, shape in of.items()}
                add_parameters(self, device, dtype, **shapes)
                self._all_weights.append(list(shapes))
        self.reset_parameters()

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each pass: layer by layer, forward and then backward."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        """The names of all parameters. It has PyTorch's private name, because published programs use it."""
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Parameter]:
        """All parameters, for programs that use PyTorch's private name."""
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self) -> None:
        """Does nothing. (PyTorch makes the parameters contiguous for its GPU library.)"""

    def forward(self, input: Any, hx: Any = None) -> Any:
        """A sequence (l, n, input_size), and the initial state hx, to output and last state."""
        n_states = KINDS[self.mode][1]
        run = self._run_packed if isinstance(input, PackedSequence) else self._run
        output, ends = run(input, as_states(hx, n_states))
        return output, (ends if n_states > 1 else ends[0])

    def _run(self, input: Tensor, given: State) -> tuple[Tensor, State]:
        """Run all passes over a sequence. Returns h of the last layer for every step, and the last states."""
        self._check_input(input, given)
        single = input.ndim == 2  # one example, without the batch axis
        if single:
            x, given = input.unsqueeze(1), tuple(s.unsqueeze(1) for s in given)
        else:
            x = input.transpose(0, 1) if self.batch_first else input
        if not x.shape[0]:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        x, ends = self._layers(x, self._initial_states(given, x.shape[1], x.dtype))
        if single:
            return x.squeeze(1), tuple(e.squeeze(1) for e in ends)
        return self._as_printed(x), ends

    def _as_printed(self, x: Tensor) -> Tensor:
        """The output of a batch, whose node has PyTorch's name: its LSTM is one operation for float32."""
        lstm = self.mode == "LSTM"
        if self.batch_first:
            return named(x.transpose(0, 1), f"TransposeBackward{0 if lstm else 1}")
        fused = lstm and not (self.bidirectional or self.proj_size) and x.dtype == float32
        return named(x, "MkldnnRnnLayerBackward0") if fused else x

    def _run_packed(self, packed: PackedSequence, given: State) -> tuple[Any, State]:
        """Run all passes over packed sequences. Returns packed outputs and the last states."""
        x, sizes = packed.data, np.asarray(packed.batch_sizes.array).tolist()
        self._check_width(x, x.ndim == 2)
        first = self._initial_states(given, sizes[0], x.dtype)
        if given:
            first = _reordered(first, packed.sorted_indices)
        x, ends = self._layers(x, first, sizes)
        return packed._replace(data=x), _reordered(ends, packed.unsorted_indices)

    def _layers(
        self, x: Tensor, first: State, sizes: list[int] | None = None
    ) -> tuple[Tensor, State]:
        """Run one layer after another, each in one direction or in both."""
        directions = 1 + self.bidirectional
        last: list[State] = []
        for layer in range(self.num_layers):
            outputs = []
            for k in range(layer * directions, (layer + 1) * directions):
                output, end = self._pass(x, tuple(s[k] for s in first), k, sizes)
                outputs.append(output)
                last.append(end)
            x = outputs[0] if directions == 1 else cat(outputs, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, tuple(stack(ends) for ends in zip(*last, strict=True))

    def _pass(
        self, x: Tensor, first: State, k: int, sizes: list[int] | None
    ) -> tuple[Tensor, State]:
        """The k-th pass along a sequence: forward, or backward for the second direction.

        x       (l, n, width); or packed, (sum of the sizes, width)
        first   the initial state
        sizes   for packed sequences, the number of sequences in each step

        The rows of a packed sequence are sorted by length. In forward direction, a sequence that ends
        is removed from the bottom, and its last state is kept. In backward direction, it is added at
        the bottom, with its initial state, when its last element is reached.
        """
        weights = [getattr(self, name) for name in self._all_weights[k]]
        project = weights.pop() if self.proj_size else None
        w_ih, w_hh, b_ih, b_hh = [*weights, None, None][:4]  # None for both biases if bias=False
        reverse, step = self.bidirectional and k % 2 == 1, KINDS[self.mode][2]
        a = F.linear(x, w_ih, b_ih)
        parts = list(a.unbind(0) if sizes is None else a.split(sizes))
        if reverse:
            parts.reverse()
        rows, n = first[0].shape[0], parts[0].shape[0]
        state = first if rows == n else tuple(s[:n] for s in first)
        hs, ended = [], []
        for a in parts:
            rows, n = state[0].shape[0], a.shape[0]
            if n > rows:
                state = tuple(cat([s, f[rows:n]]) for s, f in zip(state, first, strict=True))
            elif n < rows:
                ended.append(tuple(s[n:] for s in state))
                state = tuple(s[:n] for s in state)
            state = step(a, state, w_hh, b_hh)
            if project is not None:
                state = (F.linear(state[0], project), *state[1:])
            hs.append(state[0])
        if reverse:
            hs.reverse()
        if ended:
            state = tuple(cat(parts) for parts in zip(state, *reversed(ended), strict=True))
        return (stack(hs) if sizes is None else cat(hs)), state

    def _initial_states(self, given: State, n: int, dtype: DTypeLike) -> State:
        """The initial states, each (passes, n, its size): zeros if none are given."""
        passes, n_states = self.num_layers * (1 + self.bidirectional), KINDS[self.mode][1]
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[:n_states]
        for k, (s, size) in enumerate(zip(given, sizes, strict=False)):
            if tuple(s.shape) != (passes, n, size):
                which = "Expected hidden size" if n_states == 1 else f"Expected hidden[{k}] size"
                raise RuntimeError(f"{which} {(passes, n, size)}, got {list(s.shape)}")
        return given or tuple(zeros(passes, n, size, dtype=dtype) for size in sizes)

    def _check_input(self, input: Tensor, given: State) -> None:
        """Raise an error unless the input and the given states have the right shapes and dtypes."""
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D instead"
            )
        if input.dtype != self.all_weights[0][0].dtype:
            theirs, ours = input.dtype, self.all_weights[0][0].dtype
            raise ValueError(
                f"RNN input dtype ({theirs}) does not match weight dtype ({ours}). "
                f"Convert input: input.to({ours}), or convert model: model.to({theirs})"
            )
        self._check_width(input)
        if any(s.ndim != input.ndim for s in given):
            a = "batched 3-D" if input.ndim == 3 else "unbatched 2-D"
            both = " and ".join(["hx", "cx"][: len(given)])
            got = ", ".join(f"{s.ndim}-D" for s in given)
            tensors = f"({got}) tensors" if len(given) > 1 else f"{got} tensor"
            raise RuntimeError(
                f"For {a} input, {both} should also be {input.ndim}-D but got {tensors}"
            )

    def _check_width(self, x: Tensor, fits: bool = True) -> None:
        if not fits or x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )

    def _check_settings(self) -> None:
        """Raise an error if the arguments of __init__ are invalid."""
        dropout, num_layers = self.dropout, self.num_layers
        is_number = isinstance(dropout, (int, float)) and not isinstance(dropout, bool)
        if not is_number or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warn_user(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
                f"expects num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}"
            )
        for name in ("bias", "batch_first"):
            flag = getattr(self, name)
            if not isinstance(flag, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        for name in ("input_size", "hidden_size"):
            size = getattr(self, name)
            if not isinstance(size, int):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.proj_size and self.mode != "LSTM":
            _refuse_projection("proj_size")


def _refuse_projection(*settings: str) -> None:
    if "proj_size" in settings:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


def _reordered(states: State, order: Tensor | None) -> State:
    """The states with the sequences in another order."""
    return states if order is None else tuple(s.index_select(1, order) for s in states)


class RNN(RNNBase):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), for t = 1, ..., l

    input     (l, n, input_size)      or (n, l, input_size) with batch_first, or (l, input_size)
    hx        (p, n, hidden_size)     the initial state; by default zeros
    returns   output, h_n
    output    (l, n, hidden_size)     the state of the last layer after each step
    h_n       (p, n, hidden_size)     the state of each layer after the last step

    weight_ih_l0    (hidden_size, input_size)      weight_hh_l0    (hidden_size, hidden_size)
    bias_ih_l0      (hidden_size,)                 bias_hh_l0      (hidden_size,)

    num_layers      the number of layers; each gets the output of the previous one
                    (the names of their parameters end in _l1, _l2, ...)
    nonlinearity    "tanh" or "relu"
    dropout         the dropout probability between layers
    bidirectional   also run over the reversed sequence (with parameters ending in _reverse); the
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
        _refuse_projection(*kwargs)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """One or several layers of LSTMCell, applied along a sequence.

    input     (l, n, input_size)      or (n, l, input_size) with batch_first, or (l, input_size)
    hx        (h_0, c_0)              each (p, n, hidden_size); by default zeros
    returns   output, (h_n, c_n)
    output    (l, n, hidden_size)     h of the last layer after each step

    Parameters and settings have the same names as in RNN, and the shapes are those of LSTMCell. With proj_size,
    each h is multiplied by weight_hr_l0, (proj_size, hidden_size), so that h is shorter than c.

    >>> from minigrad import ones
    >>> output, (h, c) = LSTM(3, 5, batch_first=True)(ones(2, 7, 3))
    >>> output.shape, h.shape
    (minigrad.Size([2, 7, 5]), minigrad.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """One or several layers of GRUCell, applied along a sequence.

    input     (l, n, input_size)      or (n, l, input_size) with batch_first, or (l, input_size)
    hx        (p, n, hidden_size)     by default zeros
    returns   output, h_n
    output    (l, n, hidden_size)     h of the last layer after each step

    Parameters and settings have the same names as in RNN, and the shapes are those of GRUCell.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(*kwargs)
        super().__init__("GRU", *args, **kwargs)
