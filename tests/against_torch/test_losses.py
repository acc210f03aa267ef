"""Every loss beside PyTorch's: its signature, its older arguments, and a batch without examples."""

import inspect
import warnings

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import check, draw, torch

X, Y, Z = draw(3, 4), draw(3, 4, seed=1), draw(3, 4, seed=2)
P = (draw(3, 4, seed=3) + 2.1) / 4.2  # probabilities
T = np.array([2, 0, 3])
SIGNS = np.array([1.0, -1.0, 1.0])
BITS = (Y > 0).astype(np.float64)
LABELS = np.array([[2, 0, -1, 1], [3, -1, 0, 1], [0, 1, 2, 3]])

# The inputs of each functional loss; the sizes of the first axis are the batch.
LOSSES = {
    "binary_cross_entropy": (P, BITS),
    "binary_cross_entropy_with_logits": (X, BITS),
    "cosine_embedding_loss": (X, Y, SIGNS),
    "cross_entropy": (X, T),
    "gaussian_nll_loss": (X, Y, P),
    "hinge_embedding_loss": (X, np.sign(Y)),
    "huber_loss": (X, Y),
    "kl_div": (X, P),
    "l1_loss": (X, Y),
    "margin_ranking_loss": (X, Y, np.sign(Z)),
    "mse_loss": (X, Y),
    "multi_margin_loss": (X, T),
    "multilabel_margin_loss": (X, LABELS),
    "multilabel_soft_margin_loss": (X, BITS),
    "nll_loss": (X, T),
    "poisson_nll_loss": (X, P),
    "smooth_l1_loss": (X, Y),
    "soft_margin_loss": (X, np.sign(Y)),
    "triplet_margin_loss": (X, Y, Z),
    "triplet_margin_with_distance_loss": (X, Y, Z),
}
OLD = [name for name in LOSSES
       if "size_average" in inspect.signature(getattr(torch.nn.functional, name)).parameters]  # fmt: skip
CLASSES = [name for name, kind in vars(torch.nn).items()
           if name.endswith("Loss") and hasattr(minigrad.nn, name)
           and "size_average" in inspect.signature(kind).parameters]  # fmt: skip


@pytest.mark.parametrize("name", [*LOSSES, "ctc_loss"])
def test_a_loss_has_the_parameters_of_pytorch(name):
    ours = list(inspect.signature(getattr(minigrad.nn.functional, name)).parameters)

    assert ours == list(inspect.signature(getattr(torch.nn.functional, name)).parameters)


@pytest.mark.parametrize("reduce", [None, True, False])
@pytest.mark.parametrize("size_average", [None, True, False])
@pytest.mark.parametrize("name", OLD)
@pytest.mark.filterwarnings("ignore")
def test_the_older_arguments_mean_what_they_mean_in_pytorch(name, size_average, reduce):
    def case(m, *args):
        return getattr(m.nn.functional, name)(
            *args[:1], *(a.detach() for a in args[1:]), size_average=size_average, reduce=reduce
        )

    check(case, *LOSSES[name], order=1)


@pytest.mark.parametrize("reduce", [None, True, False])
@pytest.mark.parametrize("size_average", [None, True, False])
@pytest.mark.parametrize("name", CLASSES)
def test_the_older_arguments_of_a_loss_module_warn_as_in_pytorch(name, size_average, reduce):
    def made(m):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = getattr(m.nn, name)(size_average=size_average, reduce=reduce)
        return module.reduction, [(w.category, str(w.message)) for w in caught]

    assert made(minigrad) == made(torch)


# (Of the other two, PyTorch returns what was in memory.)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    "name", [n for n in LOSSES if n not in ("multi_margin_loss", "multilabel_margin_loss")]
)
@pytest.mark.filterwarnings("ignore")
def test_the_loss_of_no_examples_is_that_of_pytorch(name, reduction):
    def case(m, *args):
        f = getattr(m.nn.functional, name)
        return f(*args[:1], *(a.detach() for a in args[1:]), reduction=reduction)

    check(case, *(a[:0] for a in LOSSES[name]), order=1)


@pytest.mark.parametrize(
    "name",
    [
        "margin_ranking_loss",
        "triplet_margin_loss",
        "cosine_embedding_loss",
        "smooth_l1_loss",
        "huber_loss",
    ],
)
def test_at_the_bound_of_a_margin_the_gradient_is_that_of_pytorch(name):
    x, y = np.eye(3), np.roll(np.eye(3), 1, 0)
    rest = {
        "margin_ranking_loss": np.ones((3, 3)),
        "triplet_margin_loss": x,
        "cosine_embedding_loss": -np.ones(3),
    }
    arrays = (x, y, rest[name]) if name in rest else (x, y)

    check(lambda m, *xs: getattr(m.nn.functional, name)(*xs), *arrays, order=1)
