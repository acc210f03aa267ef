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


CASES = {
    "gather": (lambda m, x, i: m.gather(x, 1, i), X, AT),
    "gather from rows": (lambda m, x, i: x.gather(0, i), X, AT % 3),
    "gather with -1": (lambda m, x, i: x.gather(-1, i[:, :2]), X, AT),
    "scatter": (lambda m, x, y, i: m.scatter(x, 1, i, y), X, Y[:2], DISTINCT),
    "scatter a value": (lambda m, x, i: x.scatter(1, i, 2.5), X, AT),
    "scatter value=": (lambda m, x, i: x.scatter(0, i, value=1), X, AT % 3),
    "scatter_": (lambda m, x, y, i: (x * 1).scatter_(1, i, y), X, Y[:2], DISTINCT),
    "scatter add": (lambda m, x, y, i: m.scatter_add(x, 1, i, y), X, Y[:2], AT),
    "scatter_add_": (lambda m, x, y, i: (x * 1).scatter_add_(0, i, y), X, Y[:2], AT % 3),
    "index_select": (lambda m, x, i: m.index_select(x, 1, i), X, AT[0]),
    "index_select rows": (lambda m, x, i: x.index_select(-2, i), X, AT[1]),
    "index_add": (lambda m, x, y, i: m.index_add(x, 0, i, y, alpha=2), X, draw(4, 4), AT[1]),
    "index_add columns": (lambda m, x, y, i: x.index_add(1, i, y), X, Y, AT[0]),
    "index_add_": (lambda m, x, y, i: (x * 1).index_add_(1, i, y), X, Y, AT[0]),
    "index_copy": (lambda m, x, y, i: m.index_copy(x, 1, i, y), X, Y, DISTINCT[0]),
    "index_copy_": (
        lambda m, x, y, i: (x * 1).index_copy_(0, i[:2], y[:2]),
        X,
        Y,
        np.array([2, 0]),
    ),
    "index_fill": (lambda m, x, i: m.index_fill(x, 1, i, 3.0), X, AT[0]),
    "index_fill by a tensor": (lambda m, x, y, i: x.index_fill(0, i, y), X, draw(), AT[1]),
    "index_fill_": (lambda m, x, i: (x * 1).index_fill_(1, i, 3), X, AT[0]),
    "index_put": (
        lambda m, x, y, i: m.index_put(x, (i[0], i[1]), y),
        X,
        draw(3),
        np.array([[0, 1, 2], [3, 0, 3]]),
    ),
    "index_put accumulate": (
        lambda m, x, y, i: x.index_put((i[1],), y, accumulate=True),
        X,
        draw(4, 4),
        AT,
    ),
    "index_put_": (lambda m, x, y, k: (x * 1).index_put_((k,), y), X, draw(), MASK),
    "masked_fill": (lambda m, x, k: m.masked_fill(x, k, 7.0), X, MASK),
    "masked_fill by a tensor": (lambda m, x, y, k: x.masked_fill(k, y), X, draw(), MASK[0]),
    "masked_fill_": (lambda m, x, k: (x * 1).masked_fill_(k, 2), X, MASK),
    "masked_fill, wider": (lambda m, x, k: x.masked_fill(k, 0.0), X[0], MASK),
    "masked_select": (lambda m, x, k: m.masked_select(x, k), X, MASK),
    "masked_select, broadcast": (lambda m, x, k: x.masked_select(k), X, MASK[:, :1]),
    "masked_scatter": (lambda m, x, y, k: m.masked_scatter(x, k, y), X, Y, MASK),
    "masked_scatter_": (lambda m, x, y, k: (x * 1).masked_scatter_(k, y), X, Y, MASK),
    "select_scatter": (lambda m, x, y: m.select_scatter(x, y, 1, -1), X, draw(3)),
    "slice_scatter": (lambda m, x, y: m.slice_scatter(x, y, 1, 1, 4, 2), X, draw(3, 2)),
    "where": (lambda m, x, y, k: m.where(k, x, y), X, Y[0], MASK),
    "where with a number": (lambda m, x, k: m.where(k, x, 0.0), X, MASK),
    "x.where": (lambda m, x, y, k: x.where(k, y), X, Y, MASK),
    "where alone": (lambda m, k: m.where(k), MASK),
    "take": (lambda m, x, i: m.take(x, i), X, np.array([[0, 11], [-1, 5]])),
    "take_along_dim": (lambda m, x, i: m.take_along_dim(x, i, 1), X, AT[:1]),
    "take_along_dim flat": (lambda m, x, i: m.take_along_dim(x, i), X, np.array([5, 0])),
    "put_": (lambda m, x, y, i: (x * 1).put_(i, y), X, draw(2), np.array([1, 7])),
    "put_ accumulate": (
        lambda m, x, y, i: (x * 1).put_(i, y, accumulate=True),
        X,
        draw(2),
        np.array([1, 1]),
    ),
    "getitem, ints": (lambda m, x: x[1, -1], X),
    "getitem, rows": (lambda m, x, i: x[i], X, AT % 3),
    "getitem, pairs": (lambda m, x, i: x[i[0], i[1]], X, AT % 3),
    "getitem, mask": (lambda m, x, k: x[k], X, MASK),
    "getitem, row mask": (lambda m, x, k: x[k[:, 0]], X, MASK),
    "getitem, apart": (lambda m, x, i: x.reshape(3, 2, 2)[i[1], :, i[0]], X, AT % 2),
    "getitem, none": (lambda m, x: x[..., None, ::2], X),
    "getitem, no rows": (lambda m, x, i: x[i], X, np.zeros(0, np.int64)),
    "getitem, list": (lambda m, x: x[[0, 2, 2]], X),
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
