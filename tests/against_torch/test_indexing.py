"""Indexing: minigrad and PyTorch read and write the same entries, with the same gradients."""

import numpy as np
import pytest

from tests.against_torch.agree import calls, check, check_call, draw

X, Y = draw(3, 4), draw(3, 4, seed=1)
AT = np.array([[0, 1, 3, 3], [2, 0, 0, 1]])
ARRAYS = {
    "x": X, "y": Y, "i": AT, "i3": AT % 3, "distinct": np.array([[0, 1, 3, 2], [2, 0, 3, 1]]), "mask": X > 0,
    "n": draw(), "pair": draw(2), "twice": np.array([1, 1]), "empty": np.zeros(0, np.int64),
    "empty_rows": np.zeros((0, 4), np.int64), "rows": draw(0, 4), "no": np.zeros((3, 4), bool), "true": np.array(True),
    "no_rows": np.zeros((0, 4), bool), "zero": np.array(0), "zeros": np.array([0, 0]),
}  # fmt: skip
# What PyTorch's own samples, in test_opinfo.py, leave out.
CALLS = """
(x * 1).scatter_(1, distinct, y[:2]) | (x * 1).scatter_add_(0, i3, y[:2]) | x.index_add(1, i[0], y)
(x * 1).index_add_(1, i[0], y) | (x * 1).index_copy_(0, m.tensor([2, 0]), y[:2])
(x * 1).index_fill_(1, i[0], 3) | (x * 1).index_put_((mask,), n) | (x * 1).masked_fill_(mask, 2)
(x * 1).masked_scatter_(mask, y) | m.where(mask, x, 0.0) | x.where(mask, y) | m.where(mask)
(x * 1).put_(m.tensor([1, 7]), pair) | (x * 1).put_(twice, pair, accumulate=True) | x[empty]
x.gather(0, empty_rows) | x.scatter_add(0, empty_rows, rows) | x.index_select(0, empty)
x.index_add(0, empty, rows) | x.masked_select(no) | rows.masked_fill(no_rows, 1.0) | n.gather(0, zero)
n.index_select(0, zeros[:1]) | n.masked_fill(true, 1.0) | n.take(zeros) | n.masked_select(true)
"""


@pytest.mark.parametrize("call", calls(CALLS))
def test_indexing_agrees(call):
    check_call(call, ARRAYS, rtol=1e-12)


def test_a_tuple_in_a_tuple_is_a_list_of_rows():
    def written(m, x, y):
        z = x * 1
        z[(0, 2),] = y
        return z + (x * 1).index_put_((m.tensor([0, 2]),), y)

    check(written, X, Y[:2], rtol=1e-12)


NUMBERS_FIRST = """
0, :, [0, 3] | 0, ..., [0, 3] | :, 1, :, [0, 1] | -1, :, [[0], [3]] | 0, :, None, [0, 3] | 0, :, 1, [0, 1]
m.tensor(1), :, m.tensor([0, 3, 3]) | 1, :, m.tensor([True, False, True, True]) | 0, :, True | 0, ..., m.tensor(True)
[0, 1], :, 0 | [0, 1], 0, :, [0, 1] | [1], [0], ..., [3] | :, [0, 2], [1, 1], ..., [0, 3] | 0, None, m.tensor([1, 0]), 1:
"""


@pytest.mark.parametrize("index", calls(NUMBERS_FIRST))
def test_numbers_are_taken_out_before_arrays_are_looked_at(index):
    """NumPy puts the axes of x[0, :, i] in another order, as it counts 0 among the arrays."""

    def case(m, x):
        z = x * 1
        part = eval(f"z[{index}]", {"z": z, "m": m})
        exec(f"z[{index}] = 2 * part.cumsum(0)", {"z": z, "m": m, "part": part.detach()})
        exec(f"z[{index}] += 1", {"z": z, "m": m})
        return part, z

    check(case, draw(2, 3, 4, 4), rtol=1e-12)
