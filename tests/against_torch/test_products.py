"""Products of matrices: minigrad and PyTorch give the same numbers, gradients and errors."""

import random

import pytest

import minigrad
from tests.against_torch.agree import check, draw, torch

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
    "kij,j,j->": [(2, 3, 4), (4,), (4,)],
    "ij,jk,kl->li": [(2, 3), (3, 4), (4, 5)],
    "bij,bjk": [(2, 2, 3), (2, 1, 4)],
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


def products(n=300):
    """Random equations of two operands whose products are summed, with their shapes."""
    draws = random.Random(0)
    sizes = dict(zip("abcdef", (2, 3, 4, 5, 2, 3)))
    while n:
        letters = "abcdef"[: draws.randint(2, 6)]
        x, y = (
            "".join(draws.sample(letters, draws.randint(1, min(4, len(letters))))) for _ in "xy"
        )
        result = [c for c in letters if (c in x) != (c in y) or (c in x and draws.random() < 0.5)]
        draws.shuffle(result)
        if len(result) < len(set(x + y)):
            n -= 1
            yield f"{x},{y}->{''.join(result)}", *([sizes[c] for c in term] for term in (x, y))


def test_the_result_of_an_einsum_can_be_viewed_where_pytorchs_can():
    for equation, *shapes in products():
        theirs, ours = (
            m.einsum(equation, *(m.ones(*s) for s in shapes)).stride() for m in (torch, minigrad)
        )

        assert theirs == ours, equation


@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (1, 0, 2, 3), (1, 0, 3, 2), (2, 3, 0, 1)])
def test_a_product_of_matrices_is_contiguous(axes):
    for m in (torch, minigrad):
        x = m.ones(2, 3, 4, 5).permute(axes)

        assert (x @ x.mT).is_contiguous()


def test_an_einsum_that_sums_nothing_promotes_types():
    check(lambda m, x: m.einsum("i,j->ij", m.tensor([1, 2]), x), draw(3))
    with pytest.raises(RuntimeError, match="expected scalar type Long but found Double"):
        minigrad.einsum("i,i->", minigrad.tensor([1, 2]), minigrad.tensor(draw(2)))


def test_an_einsum_of_one_operand_is_a_view_of_it():
    def zero_diagonal(m, x):
        z = x * 1
        m.einsum("ii->i", z).zero_()
        return z

    check(zero_diagonal, draw(3, 3))
    for m in (torch, minigrad):
        with pytest.raises(
            RuntimeError, match="is repeated for operand 0 but the sizes don't match, 3 != 2"
        ):
            m.einsum("ii->i", m.ones(2, 3))
