"""What a user of PyTorch searches for is in minigrad's messages, too."""

import pytest

torch = pytest.importorskip("torch")

import minigrad


def said_by(library, program):
    """The type and the message of the error that a program ends with."""
    with pytest.raises(Exception) as caught:
        program(library)
    return caught.type, str(caught.value)


PROGRAMS = {
    "sizes that cannot be broadcast": (
        lambda t: t.ones(2, 3) + t.ones(4),
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
    ),
    "of a leading axis": (
        lambda t: t.ones(2, 5, 3) * t.ones(2, 3),
        "The size of tensor a (5) must match the size of tensor b (2) at non-singleton dimension 1",
    ),
    "a gradient of another shape": (
        lambda t: (t.ones(2, 3, requires_grad=True) * 2).backward(t.ones(3, 2)),
        "Mismatch in shape: grad_output[0] has a shape of ",
    ),
    "numpy of a tensor that requires grad": (
        lambda t: t.ones(2, requires_grad=True).numpy(),
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    ),
}


@pytest.mark.parametrize("program, phrase", PROGRAMS.values(), ids=PROGRAMS)
def test_both_say_it_in_the_same_words(program, phrase):
    (theirs, their_text), (ours, our_text) = said_by(torch, program), said_by(minigrad, program)

    assert phrase in their_text and phrase in our_text
    assert issubclass(ours, theirs)
    assert "To fix it" in our_text
