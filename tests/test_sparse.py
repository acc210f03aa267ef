"""RowSparse: the rows that were read, and nothing else."""

import numpy as np
import pytest

import minigrad
from minigrad.core.memory import make
from minigrad.core.sparse import RowSparse, add_rows


@pytest.fixture
def g():
    return RowSparse(np.array([3, 0, 3]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), (5, 2))


DENSE = [[3.0, 4.0], [0.0, 0.0], [0.0, 0.0], [6.0, 8.0], [0.0, 0.0]]


def test_it_stands_for_the_whole_table(g):
    assert g.to_dense().tolist() == DENSE
    assert (g.shape, g.ndim, g.size, g.dtype) == ((5, 2), 2, 10, np.float64)


def test_coalesce_gives_each_row_once_in_order(g):
    c = g.coalesce()
    assert c.indices.tolist() == [0, 3] and c.values.tolist() == [[3.0, 4.0], [6.0, 8.0]]
    assert c.coalesce() is c and c.to_dense().tolist() == DENSE


def test_sums(g):
    both = g + g
    assert (
        isinstance(both, RowSparse) and both.to_dense().tolist() == (2 * np.array(DENSE)).tolist()
    )
    table = np.ones((5, 2))
    for total in (g + table, table + g):
        assert isinstance(total, np.ndarray) and total.tolist() == (np.array(DENSE) + 1).tolist()
    assert (g * 2).to_dense().tolist() == (-(g * -1) / 0.5).to_dense().tolist()


def test_it_accumulates_into_grad():
    w = minigrad.zeros(5, 2, dtype=minigrad.float64, requires_grad=True)
    rows = RowSparse(np.array([1]), np.array([[1.0, 1.0]]), (5, 2))
    for _ in range(2):
        w.node.plan.run(rows, w.node)
    assert isinstance(w.grad.array, RowSparse) and w.grad.array.to_dense()[1].tolist() == [2.0, 2.0]
    w.node.plan.run(np.ones((5, 2)), w.node)
    w.node.plan.run(rows, w.node)
    assert w.grad.tolist()[1] == [4.0, 4.0] and w.grad.tolist()[0] == [1.0, 1.0]


@pytest.mark.parametrize("shape", [(6, 3), (6,), (6, 2, 2)])
def test_rows_are_added_however_often_they_occur(shape):
    r = np.random.default_rng(0)
    index = r.integers(0, 6, 40)
    values = r.normal(size=(40, *shape[1:]))
    fast, slow = r.normal(size=shape), None
    slow = fast.copy()
    add_rows(fast, index, values)
    np.add.at(slow, index, values)
    np.testing.assert_allclose(fast, slow, rtol=1e-12)
    turned = np.asfortranarray(slow)
    add_rows(turned, index, values)
    np.add.at(slow, index, values)
    np.testing.assert_allclose(turned, slow, rtol=1e-12)


def test_printing(g):
    assert repr(g) == "RowSparse(rows [3, 0, 3] of (5, 2))"
    assert "size=(5, 2), nnz=3, layout=minigrad.sparse_rows" in repr(make.wrap(g))


def test_a_tensor_that_is_sparse(g):
    x = make.wrap(g)
    assert x.is_sparse and x._nnz() == 3 and x.coalesce()._nnz() == 2
    assert x.to_dense().tolist() == DENSE and x.indices().tolist() == [[3, 0, 3]]
    assert x.values().shape == (3, 2)
    assert x.to_dense().coalesce().values().numel() == x.to_dense()._nnz() == 4
