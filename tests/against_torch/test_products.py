"""Products of matrices: minigrad and PyTorch give the same numbers, gradients and errors."""

import pytest

from tests.against_torch.agree import check, draw

# What PyTorch's own samples, in test_opinfo.py, leave out.
CASES = {
    "mm, no entries": (lambda m, x, y: m.mm(x, y), (draw(2, 0), draw(0, 4))),
    "inner": (lambda m, x, y: m.inner(x, y), (draw(2, 3), draw(4, 3))),
    "inner with a number": (lambda m, x, y: m.inner(x, y), (draw(3), draw())),
    "addmm_": (
        lambda m, b, x, y: (b * 1).addmm_(x, y, beta=0.5),
        (draw(2, 4), draw(2, 3), draw(3, 4)),
    ),
    "tensordot, pairs": (
        lambda m, x, y: m.tensordot(x, y, dims=([0, 2], [2, -3])),
        (draw(2, 3, 4), draw(4, 5, 2)),
    ),
}
EQUATIONS = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,jk": [(2, 3), (3, 4)],
    "ij": [(2, 3)],
    "ba": [(2, 3)],
    "ii": [(3, 3)],
    "ii->i": [(3, 3)],
    "ijj->ij": [(2, 3, 3)],
    "...ij,...jk->...ik": [(5, 2, 3), (3, 4)],
    "...ij->...ji": [(2, 3, 4)],
    "...": [(2, 3)],
    "b...,b...->...": [(2, 3), (2, 3)],
    "i...->...": [(2, 3, 4)],
    "i , j -> i j": [(2,), (3,)],
    "bn,anm,bm->ba": [(2, 3), (4, 3, 5), (2, 5)],
    "i,i": [(3,), (3,)],
    ",": [(), ()],
    "i,->i": [(3,), ()],
    "ij,ij->": [(2, 3), (2, 3)],
    "ij->": [(2, 3)],
    "iij,jk->ik": [(2, 2, 3), (3, 2)],
    "ij,j->ij": [(2, 3), (1,)],
    "...i,...i": [(4, 1, 3), (2, 3)],
    "ij,jk->ki": [(0, 3), (3, 2)],
}


@pytest.mark.parametrize("name", CASES)
def test_products_agree(name):
    case, args = CASES[name]
    check(case, *args)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum_agrees(equation):
    check(
        lambda m, *xs: m.einsum(equation, *xs),
        *(draw(*s, seed=k) for k, s in enumerate(EQUATIONS[equation])),
    )


def test_einsum_by_lists_agrees():
    check(lambda m, x, y: m.einsum(x, [0, 1], y, [1, 2], [0, 2]), draw(2, 3), draw(3, 4))
    check(lambda m, x, y: m.einsum(x, [..., 1], y, [1, 2]), draw(2, 3), draw(3, 4))
