"""Products of matrices: minigrad and PyTorch give the same numbers, gradients and errors."""

import pytest

from tests.against_torch.agree import check, draw

CASES = {
    "mm": (lambda m, x, y: m.mm(x, y), (draw(2, 3), draw(3, 4))),
    "mm, no entries": (lambda m, x, y: m.mm(x, y), (draw(2, 0), draw(0, 4))),
    "bmm": (lambda m, x, y: m.bmm(x, y), (draw(5, 2, 3), draw(5, 3, 4))),
    "mv": (lambda m, x, y: m.mv(x, y), (draw(2, 3), draw(3))),
    "dot": (lambda m, x, y: m.dot(x, y), (draw(3), draw(3, seed=1))),
    "outer": (lambda m, x, y: m.outer(x, y), (draw(3), draw(2))),
    "inner": (lambda m, x, y: m.inner(x, y), (draw(2, 3), draw(4, 3))),
    "inner of vectors": (lambda m, x, y: m.inner(x, y), (draw(3), draw(3, seed=1))),
    "inner with a number": (lambda m, x, y: m.inner(x, y), (draw(3), draw())),
    "addmm": (lambda m, b, x, y: m.addmm(b, x, y), (draw(4), draw(2, 3), draw(3, 4))),
    "addmm, scaled": (
        lambda m, b, x, y: m.addmm(b, x, y, beta=0.5, alpha=2),
        (draw(2, 1), draw(2, 3), draw(3, 4)),
    ),
    "addmm, beta 0": (
        lambda m, b, x, y: m.addmm(b, x, y, beta=0),
        (draw(4), draw(2, 3), draw(3, 4)),
    ),
    "addmm_": (
        lambda m, b, x, y: (b * 1).addmm_(x, y, beta=0.5),
        (draw(2, 4), draw(2, 3), draw(3, 4)),
    ),
    "addmv": (lambda m, b, x, y: m.addmv(b, x, y, beta=2, alpha=3), (draw(2), draw(2, 3), draw(3))),
    "addbmm": (
        lambda m, b, x, y: m.addbmm(b, x, y, beta=2, alpha=3),
        (draw(2, 4), draw(5, 2, 3), draw(5, 3, 4)),
    ),
    "baddbmm": (
        lambda m, b, x, y: m.baddbmm(b, x, y, beta=2, alpha=3),
        (draw(5, 1, 4), draw(5, 2, 3), draw(5, 3, 4)),
    ),
    "addr": (lambda m, b, x, y: m.addr(b, x, y, beta=2, alpha=3), (draw(2, 3), draw(2), draw(3))),
    "tensordot, 2": (lambda m, x, y: m.tensordot(x, y), (draw(2, 3, 4), draw(3, 4, 5))),
    "tensordot, 0": (lambda m, x, y: m.tensordot(x, y, dims=0), (draw(2, 3), draw(2))),
    "tensordot, pairs": (
        lambda m, x, y: m.tensordot(x, y, dims=([0, 2], [2, -3])),
        (draw(2, 3, 4), draw(4, 5, 2)),
    ),
    "trace": (lambda m, x: m.trace(x), (draw(3, 4),)),
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
