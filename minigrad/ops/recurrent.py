"""Table of derivatives, chapter 7: one step of a long short-term memory.

    gates    one row of numbers for each example, in four parts of equal length: the input gate (i),
             the forget gate (f), the candidate (g) and the output gate (o)
    cell     c' = f * c + i * g
    hidden   h' = o * tanh(c')

Slices and ops from other chapters could compute all this. But this is the inner loop of a
recurrent network, and with its own ops it takes three nodes instead of twelve.

Source: Hochreiter and Schmidhuber, Long short-term memory (1997); the gate f from Gers,
Schmidhuber and Cummins, Learning to forget (2000).
"""

import numpy as np

from minigrad.core.op import general
from minigrad.ops.elementwise import HALF
from minigrad.ops.indexing import put_zeros

LET_IN, KEEP, CANDIDATE, SHOW = range(4)


def _part(x, k):
    """The k-th quarter of the last axis: i, f, g or o."""
    n = x.shape[-1] // 4
    return x[..., k * n : (k + 1) * n]


@general(result="float")
def lstm_gates(x):
    """z = 1 / (1 + exp(-x)), but tanh(x) in the third quarter        dz/dx = z * (1 - z), but 1 - z**2 there"""
    # 1 / (1 + exp(-x)) as (1 + tanh(x / 2)) / 2, as compiled programs do: a gate close to 0 needs fewer digits.
    half = HALF[x.dtype]
    z = x * half
    np.tanh(z, out=z)
    z *= half
    z += half
    np.tanh(_part(x, CANDIDATE), out=_part(z, CANDIDATE))
    return z


def _lstm_gates_dx(g, z):
    slope, tanh = z * (1 - z), _part(z, CANDIDATE)
    if isinstance(z, np.ndarray):
        np.subtract(1, tanh * tanh, out=_part(slope, CANDIDATE))
    else:
        slope = np.concatenate((_part(slope, LET_IN), _part(slope, KEEP), 1 - tanh * tanh, _part(slope, SHOW)), axis=-1)
    return g * slope


lstm_gates.vjp(x=_lstm_gates_dx).jvp(lambda x_dot, z: _lstm_gates_dx(x_dot, z))


@general(result="float", exact=True, node="AddBackward0")
def lstm_cell(x, y):
    """z = f * y + i * g, with i, f, g, o the quarters of x        dL/dx = g * (g, y, i, 0)        dL/dy = g * f"""
    z = _part(x, KEEP) * y
    z += _part(x, LET_IN) * _part(x, CANDIDATE)
    return z


def _lstm_cell_dx(g, x, y):
    i = _part(x, LET_IN)
    return np.concatenate((g * _part(x, CANDIDATE), g * y, g * i, 0 * i), axis=-1)


def _lstm_cell_dot(x_dot, y_dot, x, y):
    z_dot = 0 if y_dot is None else _part(x, KEEP) * y_dot
    if x_dot is not None:
        z_dot = _part(x_dot, KEEP) * y + _part(x_dot, LET_IN) * _part(x, CANDIDATE) + _part(x, LET_IN) * _part(x_dot, CANDIDATE) + z_dot
    return z_dot


lstm_cell.vjp(x=_lstm_cell_dx,
              y=lambda g, x: g * _part(x, KEEP)).jvp(_lstm_cell_dot)


@general(result="float", exact=True, node="MulBackward0")
def lstm_hidden(x, y):
    """z = o * tanh(y), with o the last quarter of x        dL/dx = g * (0, 0, 0, tanh(y))        dL/dy = g * o * (1 - tanh(y)**2)"""
    return _part(x, SHOW) * np.tanh(y)


def _lstm_hidden_dy(g, x, y):
    t = np.tanh(y)
    return g * _part(x, SHOW) * (1 - t * t)


def _lstm_hidden_dot(x_dot, y_dot, x, y):
    t = np.tanh(y)
    z_dot = 0 if x_dot is None else _part(x_dot, SHOW) * t
    return z_dot if y_dot is None else _part(x, SHOW) * (1 - t * t) * y_dot + z_dot


lstm_hidden.vjp(x=lambda g, y, x_shape:
                    put_zeros(g * np.tanh(y), index=(..., slice(SHOW * x_shape[-1] // 4, None)), shape=x_shape),
                y=_lstm_hidden_dy).jvp(_lstm_hidden_dot)
