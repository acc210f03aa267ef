"""Indexing: minigrad and PyTorch read and write the same entries, with the same gradients."""

import numpy as np
import pytest

from tests.against_torch.agree import check, draw

X, Y = draw(3, 4), draw(3, 4, seed=1)
AT = np.array([[0, 1, 3, 3], [2, 0, 0, 1]])
DISTINCT = np.array([[0, 1, 3, 2], [2, 0, 3, 1]])
MASK = X > 0


def put(x, y):
    """Write through a tuple in a tuple, which is a list of rows."""
    x[(0, 2),] = y
    return x


# What PyTorch's own samples, in test_opinfo.py, leave out.
CASES = {
    "scatter_": (lambda m, x, y, i: (x * 1).scatter_(1, i, y), X, Y[:2], DISTINCT),
    "scatter_add_": (lambda m, x, y, i: (x * 1).scatter_add_(0, i, y), X, Y[:2], AT % 3),
    "index_add columns": (lambda m, x, y, i: x.index_add(1, i, y), X, Y, AT[0]),
    "index_add_": (lambda m, x, y, i: (x * 1).index_add_(1, i, y), X, Y, AT[0]),
    "index_copy_": (
        lambda m, x, y, i: (x * 1).index_copy_(0, i[:2], y[:2]),
        X,
        Y,
        np.array([2, 0]),
    ),
    "index_fill_": (lambda m, x, i: (x * 1).index_fill_(1, i, 3), X, AT[0]),
    "index_put_": (lambda m, x, y, k: (x * 1).index_put_((k,), y), X, draw(), MASK),
    "masked_fill_": (lambda m, x, k: (x * 1).masked_fill_(k, 2), X, MASK),
    "masked_scatter_": (lambda m, x, y, k: (x * 1).masked_scatter_(k, y), X, Y, MASK),
    "where with a number": (lambda m, x, k: m.where(k, x, 0.0), X, MASK),
    "x.where": (lambda m, x, y, k: x.where(k, y), X, Y, MASK),
    "where alone": (lambda m, k: m.where(k), MASK),
    "put_": (lambda m, x, y, i: (x * 1).put_(i, y), X, draw(2), np.array([1, 7])),
    "put_ accumulate": (
        lambda m, x, y, i: (x * 1).put_(i, y, accumulate=True),
        X,
        draw(2),
        np.array([1, 1]),
    ),
    "getitem, no rows": (lambda m, x, i: x[i], X, np.zeros(0, np.int64)),
    "setitem, a tuple in a tuple": (
        lambda m, x, y: (x * 1).index_put_((m.tensor([0, 2]),), y) + put(x * 1, y),
        X,
        Y[:2],
    ),
}
EMPTY = {
    "gather": (lambda m, x, i: x.gather(0, i), X, np.zeros((0, 4), np.int64)),
    "scatter_add": (
        lambda m, x, y, i: x.scatter_add(0, i, y),
        X,
        draw(0, 4),
        np.zeros((0, 4), np.int64),
    ),
    "index_select": (lambda m, x, i: x.index_select(0, i), X, np.zeros(0, np.int64)),
    "index_add": (lambda m, x, y, i: x.index_add(0, i, y), X, draw(0, 4), np.zeros(0, np.int64)),
    "masked_select": (lambda m, x, k: x.masked_select(k), X, np.zeros((3, 4), bool)),
    "masked_fill of nothing": (
        lambda m, x, k: x.masked_fill(k, 1.0),
        draw(0, 4),
        np.zeros((0, 4), bool),
    ),
    "gather of a number": (lambda m, x, i: x.gather(0, i), draw(), np.array(0)),
    "index_select of a number": (lambda m, x, i: x.index_select(0, i), draw(), np.array([0])),
    "masked_fill of a number": (lambda m, x, k: x.masked_fill(k, 1.0), draw(), np.array(True)),
    "take of a number": (lambda m, x, i: x.take(i), draw(), np.array([0, 0])),
    "masked_select of a number": (lambda m, x, k: x.masked_select(k), draw(), np.array(True)),
}


@pytest.mark.parametrize("name", CASES)
def test_indexing_agrees(name):
    case, *args = CASES[name]
    check(case, *args, rtol=1e-12)


@pytest.mark.parametrize("name", EMPTY)
def test_indexing_of_nothing_and_of_numbers_agrees(name):
    case, *args = EMPTY[name]
    check(case, *args, rtol=1e-12)
