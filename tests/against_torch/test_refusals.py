"""Where PyTorch refuses, minigrad refuses, with the same class of error or a subclass of it."""

import warnings

import pytest

torch = pytest.importorskip("torch")

import minigrad
from tests.against_torch.refusals import kind_of, outcome, verdict
from tests.against_torch.wrong_calls import ACCEPTED, OTHER_CLASS, WRONG_CALLS

PART = 50  # calls in one test


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("first", range(0, len(WRONG_CALLS), PART))
def test_what_pytorch_refuses_is_refused(first):
    wrong = []
    for call in WRONG_CALLS[first : first + PART]:
        theirs = outcome(torch, call)
        assert theirs is not None, f"PyTorch accepts {call}"
        ours = outcome(minigrad, call)
        said = verdict(theirs, ours)
        if said == "accepted" and call not in ACCEPTED:
            wrong.append(f"{call} is accepted; PyTorch: {theirs!r:.120}")
        if said == "class" and call not in OTHER_CLASS:
            wrong.append(f"{call} raises {ours!r:.80}; PyTorch: {theirs!r:.120}")

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("call", ACCEPTED + OTHER_CLASS)
def test_the_lists_of_differences_name_only_what_still_differs(call):
    theirs, ours = outcome(torch, call), outcome(minigrad, call)

    assert theirs is not None and not isinstance(ours, kind_of(theirs))
