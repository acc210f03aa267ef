"""minigrad.Size: a tuple whose parts are Sizes, as torch.Size is."""

import pickle

import pytest

import minigrad
from minigrad import Size


@pytest.mark.parametrize(
    "part, expected",
    [
        (lambda s: s[1:], [3, 4]),
        (lambda s: s[:-1] + (5,), [2, 3, 5]),
        (lambda s: (1,) + s, [1, 2, 3, 4]),
        (lambda s: s[:1] * 2, [2, 2]),
        (lambda s: 2 * s[:1], [2, 2]),
        (lambda s: pickle.loads(pickle.dumps(s)), [2, 3, 4]),
        (lambda s: Size(minigrad.tensor([1, 2])), [1, 2]),
    ],
)  # fmt: skip
def test_a_part_of_a_size_is_a_size(part, expected):
    result = part(minigrad.zeros(2, 3, 4).shape)

    assert isinstance(result, Size) and repr(result) == f"minigrad.Size({expected})"


@pytest.mark.parametrize(
    "make",
    [lambda: Size([1.5]), lambda: Size(["2"]), lambda: [1] + Size([2]), lambda: Size([2]) + [1]],
)
def test_a_size_refuses_what_is_no_integer_and_no_tuple(make):
    with pytest.raises(TypeError):
        make()
