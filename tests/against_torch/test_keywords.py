"""Every keyword that PyTorch has for a function that minigrad has too is accepted."""

import inspect
import operator
import re
from collections.abc import Hashable

import pytest

import minigrad

torch = pytest.importorskip("torch")

from torch.overrides import get_testing_overrides

SPACES = {
    "": (torch, minigrad),
    "Tensor": (torch.Tensor, minigrad.Tensor),
    "nn.functional": (torch.nn.functional, minigrad.nn.functional),
    "linalg": (torch.linalg, minigrad.linalg),
    "special": (torch.special, minigrad.special),
}
# The functions that stand for PyTorch's in its tests name their parameters as they like:
# these names are not those of its documentation, or there is no documentation.
NAMED_OTHERWISE = {
    "bmm": "out_dtype", "mm": "out_dtype", "diag_embed": "diagonal", "dot": "other", "dropout": "train", "histogram": "min max",
    "index_reduce": "include_input", "index_reduce_": "include_input", "isin": "e te", "msort": "descending", "permute": "dim", "relu": "inplace", "relu_": "inplace", "topk": "descending",
    "split_with_sizes": "split_size_or_sections", "where": "x y", "xlogy": "x y", "xlogy_": "x y", "vecdot": "other", "lstsq": "b cond",
    "fill_diagonal_": "value", "put_": "indices", "resize_as_": "other", "split": "split_size_or_sections", "swapaxes": "dim0 dim1",
    "swapaxes_": "dim0 dim1", "swapdims": "axis0 axis1", "swapdims_": "axis0 axis1", "cholesky_solve": "input1 input2",
    "random_": "from_", "uniform_": "from_ to",  # `from` is a word of Python; both are given by position
    "tensordot": "a b",  # here they are input and other
    "adaptive_max_pool1d": "inputs",
    "cond": "ord",  # PyTorch's own function says p
    "lu": "A",
}  # fmt: skip
FIRST = {"input", "self", "tensor", "inputs", "input1"}  # the tensor itself, by whatever name
ELSEWHERE = {"out", "device", "memory_format", "names", "cudnn_enabled"}


def functions():
    overrides = get_testing_overrides()
    for space, (theirs, ours) in SPACES.items():
        for name in sorted(set(dir(theirs)) & set(dir(ours))):
            f, mine = getattr(theirs, name), getattr(ours, name, None)
            if name.startswith("_") or not callable(f) or not callable(mine):
                continue
            if isinstance(f, Hashable) and f in overrides:
                yield pytest.param(overrides[f], mine, id=f"{space}.{name}".strip("."))


@pytest.mark.parametrize("stand_in, mine", list(functions()))
def test_every_keyword_of_pytorch_is_accepted(stand_in, mine):
    accepted = inspect.signature(mine).parameters
    if any(p.kind is p.VAR_KEYWORD for p in accepted.values()):
        return
    name = mine.__name__
    wanted = {
        p.name
        for p in inspect.signature(stand_in).parameters.values()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }

    assert wanted - FIRST - ELSEWHERE - set(NAMED_OTHERWISE.get(name, "").split()) <= set(accepted)


def defaults_of(thing):
    """The default of each parameter; none for what is not written in Python."""
    try:
        parameters = inspect.signature(
            thing.__init__ if inspect.isclass(thing) else thing
        ).parameters
    except ValueError:
        return {}
    return {n: p.default for n, p in parameters.items() if p.default is not p.empty}


def with_defaults():
    for space in ("nn", "nn.functional"):
        theirs, ours = operator.attrgetter(space)(torch), operator.attrgetter(space)(minigrad)
        for name in sorted(set(dir(theirs)) & set(dir(ours))):
            if not name.startswith("_") and callable(getattr(theirs, name)):
                pair = [defaults_of(getattr(m, name)) for m in (theirs, ours)]
                if shared := set(pair[0]) & set(pair[1]) - {"activation"}:
                    yield pytest.param(shared, *pair, id=f"{space}.{name}")


@pytest.mark.parametrize("shared, theirs, ours", list(with_defaults()))
def test_the_defaults_of_layers_and_their_functions_are_those_of_pytorch(shared, theirs, ours):
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}


def test_out_is_accepted_where_pytorch_documents_it():
    missing = []
    for space in ("", "linalg", "special"):
        theirs, ours = SPACES[space]
        for name in sorted(set(dir(theirs)) & set(dir(ours))):
            head = (getattr(getattr(theirs, name), "__doc__", None) or "")[:400]
            mine = getattr(ours, name)
            if not re.search(r"\bout=None", head) or not callable(mine) or isinstance(mine, type):
                continue
            taken = inspect.signature(mine, follow_wrapped=False).parameters
            if "out" not in taken and all(p.kind is not p.VAR_KEYWORD for p in taken.values()):
                missing.append(f"{space}.{name}".strip("."))

    assert missing == []


@pytest.mark.parametrize(
    "f",
    [
        lambda t, x, o: t.cat([x, x], 1, out=o),
        lambda t, x, o: t.stack([x, x], out=o),
        lambda t, x, o: t.where(x > 0, x, -x, out=o),
        lambda t, x, o: t.linalg.inv(x, out=o),
        lambda t, x, o: t.hstack((x, x), out=o),
        lambda t, x, o: t.linalg.slogdet(x, out=(o, o.clone())),
    ],
)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("shape", [(0,), (2, 4)])
def test_out_is_filled_resized_and_returned(f, shape):
    results = []
    for t in (torch, minigrad):
        x, o = t.tensor([[2.0, 1.0], [0.0, 4.0]]), t.zeros(shape)
        z = f(t, x, o)
        assert z is o or z[0] is o
        results.append((tuple(o.shape), o.tolist()))

    assert results[0] == results[1]
