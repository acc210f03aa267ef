"""nn's layers and losses: with PyTorch's weights they compute what PyTorch's do.

Each case is how a module is made, and what it is called with. Compared, in double
precision, are how it is shown, the names of its state, its result, and all gradients.
"""

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.against_torch.agree import check, draw, torch
from tests.numeric import direction_like

X, V, S, J = draw(3, 4), draw(3, 4, 7), draw(5, 3, 4), draw(2, 4, 7, 6)
P = draw(3, 4, seed=2) / 4.5 + 0.5
Y = np.sign(draw(3, 4, seed=3))
T = np.array([1, 0, 3])

# What PyTorch's own samples of its modules, in test_opinfo.py, leave out.
LAYERS = {
    "Identity": (lambda nn: nn.Identity(5, unused=3), X),
    "Linear": (lambda nn: nn.Linear(4, 2), X),
    "Conv1d settings": (lambda nn: nn.Conv1d(4, 6, 3, 2, 1, 2, 2, False), V),
    "Conv1d same": (lambda nn: nn.Conv1d(4, 6, 3, dilation=2, padding="same"), V),
    "Conv1d reflect": (lambda nn: nn.Conv1d(4, 6, 3, padding=2, padding_mode="reflect"), V),
    "Conv2d settings": (lambda nn: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), 2), J),
    "Conv2d valid": (lambda nn: nn.Conv2d(4, 2, 2, padding="valid"), J),
    "Conv2d same circular": (lambda nn: nn.Conv2d(4, 2, (2, 3), padding="same", padding_mode="circular"), J),
    "Conv2d replicate": (lambda nn: nn.Conv2d(4, 2, 3, padding=(2, 1), padding_mode="replicate", bias=False), J),
    "MaxPool1d": (lambda nn: nn.MaxPool1d(2), V),
    "MaxPool1d settings": (lambda nn: nn.MaxPool1d(3, 2, 1, 1, ceil_mode=True), V),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), J),
    "MaxPool2d indices": (lambda nn: nn.MaxPool2d(3, 2, return_indices=True), J),
    "AvgPool1d": (lambda nn: nn.AvgPool1d(3, 2, 1), V),
    "AvgPool2d settings": (lambda nn: nn.AvgPool2d((3, 2), 2, 1, True, False), J),
    "Embedding padding": (lambda nn: nn.Embedding(5, 3, padding_idx=-1), np.array([[0, 4], [4, 2]])),
    "BatchNorm2d in use": (lambda nn: nn.BatchNorm2d(4).eval(), J),
    "Dropout in use": (lambda nn: nn.Dropout(0.3).eval(), X),
    "Dropout of none": (lambda nn: nn.Dropout(0.0), X),
    "Dropout of all": (lambda nn: nn.Dropout(1.0), X),
    "Dropout1d in use": (lambda nn: nn.Dropout1d().eval(), V),
    "Dropout2d in use": (lambda nn: nn.Dropout2d().eval(), J),
    "Flatten": (lambda nn: nn.Flatten(), J),
    "Flatten some": (lambda nn: nn.Flatten(0, 2), J),
    "Unflatten": (lambda nn: nn.Unflatten(1, (2, 2)), J),
    "RReLU in use": (lambda nn: nn.RReLU().eval(), X),
    "RReLU of one slope": (lambda nn: nn.RReLU(0.25, 0.25), X),
    "Hardsigmoid": (lambda nn: nn.Hardsigmoid(), X * 2),
    "GELU tanh": (lambda nn: nn.GELU("tanh"), X),
    "CosineSimilarity": (lambda nn: nn.CosineSimilarity(), X, P),
    "PairwiseDistance": (lambda nn: nn.PairwiseDistance(p=1.0, keepdim=True), X, P),
    "RNNCell": (lambda nn: nn.RNNCell(4, 5), X),
    "RNNCell with a state": (lambda nn: nn.RNNCell(4, 5, False, "relu"), X, draw(3, 5)),
    "LSTMCell": (lambda nn: nn.LSTMCell(4, 5), X),
    "LSTMCell with a state": (lambda nn: nn.LSTMCell(4, 5, False), X, (draw(3, 5), draw(3, 5, seed=1))),
    "GRUCell": (lambda nn: nn.GRUCell(4, 5), X),
    "GRUCell with a state": (lambda nn: nn.GRUCell(4, 5, bias=False), X, draw(3, 5)),
    "RNN": (lambda nn: nn.RNN(4, 2), S),
    "RNN relu": (lambda nn: nn.RNN(4, 2, 1, "relu", batch_first=True), S, draw(1, 5, 2)),
    "RNN deep": (lambda nn: nn.RNN(4, 2, 2, bidirectional=True), S, draw(4, 3, 2)),
    "LSTM": (lambda nn: nn.LSTM(4, 2), S),
    "LSTM with a state": (lambda nn: nn.LSTM(4, 2, batch_first=True, bias=False), S, (draw(1, 5, 2), draw(1, 5, 2, seed=1))),
    "LSTM deep": (lambda nn: nn.LSTM(4, 2, num_layers=2, dropout=0.5).eval(), S),
    "LSTM both ways": (lambda nn: nn.LSTM(4, 2, 2, bidirectional=True, batch_first=True), S),
    "GRU": (lambda nn: nn.GRU(4, 2), S),
    "GRU with a state": (lambda nn: nn.GRU(4, 2, batch_first=True), S, draw(1, 5, 2)),
    "GRU both ways": (lambda nn: nn.GRU(4, 2, bidirectional=True), S),
    "ConvTranspose1d": (lambda nn: nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, bias=False), V),
    "ConvTranspose1d unbatched": (lambda nn: nn.ConvTranspose1d(4, 6, 3, groups=2), V[0]),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(4, 6, (3, 2), 2, (1, 0), (1, 0), 2, True, (2, 1)), J),
    "AdaptiveMaxPool2d": (lambda nn: nn.AdaptiveMaxPool2d((3, 2), return_indices=True), J),
    "LPPool1d": (lambda nn: nn.LPPool1d(2, 3, 2), V),
    "AlphaDropout in use": (lambda nn: nn.AlphaDropout(0.2).eval(), X),
    "Upsample": (lambda nn: nn.Upsample(scale_factor=2), J),
    "Upsample bilinear": (lambda nn: nn.Upsample((9, 8), mode="bilinear"), J),
    "PixelShuffle": (lambda nn: nn.PixelShuffle(2), J),
    "PixelUnshuffle": (lambda nn: nn.PixelUnshuffle(2), draw(1, 2, 4, 6)),
    "ChannelShuffle": (lambda nn: nn.ChannelShuffle(2), J),
    "Unfold": (lambda nn: nn.Unfold((2, 3), padding=1, stride=2), J),
    "Fold": (lambda nn: nn.Fold((4, 5), 2), draw(2, 8, 12)),
    "Sequential": (lambda nn: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), X),
}  # fmt: skip

W4 = np.array([0.5, 1.0, 2.0, 0.25])
LOSSES = {
    "MSELoss": (lambda m, r: m.nn.MSELoss(reduction=r), X, P),
    "PoissonNLLLoss full": (lambda m, r: m.nn.PoissonNLLLoss(False, True, reduction=r), P, P * 4),
    "GaussianNLLLoss": (lambda m, r: m.nn.GaussianNLLLoss(full=True, reduction=r), X, P, P[::-1] + 0.1),
    "CrossEntropyLoss": (lambda m, r: m.nn.CrossEntropyLoss(reduction=r), X, T),
    "CrossEntropyLoss settings": (
        lambda m, r: m.nn.CrossEntropyLoss(m.tensor(W4), ignore_index=0, reduction=r, label_smoothing=0.1), X, T),
    "CrossEntropyLoss of distributions": (lambda m, r: m.nn.CrossEntropyLoss(reduction=r), X, P),
    "NLLLoss": (lambda m, r: m.nn.NLLLoss(m.tensor(W4), ignore_index=3, reduction=r), X, T),
    "BCELoss": (lambda m, r: m.nn.BCELoss(m.tensor(W4), reduction=r), P, P[::-1].copy()),
    "BCEWithLogitsLoss": (lambda m, r: m.nn.BCEWithLogitsLoss(reduction=r, pos_weight=m.tensor(W4)), X, P),
    "KLDivLoss": (lambda m, r: m.nn.KLDivLoss(reduction="batchmean" if r == "mean" else r), X, P),
    "KLDivLoss of logarithms": (lambda m, r: m.nn.KLDivLoss(reduction="sum", log_target=True), X, P),
    "MultiMarginLoss": (lambda m, r: m.nn.MultiMarginLoss(2, 0.5, m.tensor(W4), reduction=r), X, T),
    "MultiLabelSoftMarginLoss": (lambda m, r: m.nn.MultiLabelSoftMarginLoss(reduction=r), X, (Y > 0).astype(np.int64)),
    "TripletMarginWithDistanceLoss": (
        lambda m, r: m.nn.TripletMarginWithDistanceLoss(
            distance_function=m.nn.PairwiseDistance(1.0), swap=True, reduction=r), X, P, P[::-1].copy()),
    "MarginRankingLoss": (lambda m, r: m.nn.MarginRankingLoss(0.1, reduction=r), X, P, Y),
    "TripletMarginLoss": (lambda m, r: m.nn.TripletMarginLoss(0.5, p=1.0, swap=True, reduction=r), X, P, P[::-1].copy()),
}  # fmt: skip


def tensors(library, values):
    """The arguments as tensors of the library; floating ones want a gradient."""
    if isinstance(values, tuple):
        return tuple(tensors(library, v) for v in values)
    t = library.tensor(np.ascontiguousarray(values))
    return t.requires_grad_() if values.dtype.kind == "f" else t


def flat(value):
    """The tensors in nested tuples."""
    return [t for v in value for t in flat(v)] if isinstance(value, tuple) else [value]


def run(library, module, args):
    """Call, go back from a weighted sum of all results; return the results and all gradients."""
    given = tensors(library, tuple(args))
    results = flat(module(*given))
    weighted = [
        (z * library.tensor(direction_like(z.detach(), k))).sum()
        for k, z in enumerate(results)
        if z.requires_grad
    ]
    sum(weighted).backward()
    found = {f"result {k}": z for k, z in enumerate(results)}
    found |= {f"gradient of argument {k}": t.grad for k, t in enumerate(flat(given)) if t.is_leaf}
    found |= {f"gradient of {name}": p.grad for name, p in module.named_parameters()}
    found |= dict(module.named_buffers())
    return {k: None if v is None else v.detach().numpy() for k, v in found.items()}


def compare(ours, theirs):
    assert list(ours) == list(theirs)
    for name, expected in theirs.items():
        if expected is None:
            assert ours[name] is None, name
        else:
            assert ours[name].dtype == expected.dtype, name
            # Double precision, but for a 1/6 in PyTorch's hardsigmoid.
            np.testing.assert_allclose(ours[name], expected, rtol=1e-7, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_computes_what_pytorchs_computes(name):
    make, *args = LAYERS[name]
    ours, theirs = make(nn).double(), make(torch.nn).double()

    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    for _ in range(2):  # twice, for what is kept from call to call
        ours.zero_grad(), theirs.zero_grad()
        if not any(isinstance(a, tuple) or a.dtype.kind == "f" for a in args) and not list(
            ours.parameters()
        ):
            continue
        compare(run(minigrad, ours, args), run(torch, theirs, args))


@pytest.mark.parametrize(
    "make",
    [
        lambda nn: nn.MaxUnpool1d(2, padding=1),
        lambda nn: nn.MaxUnpool2d(2, (2, 1)),
        lambda nn: nn.AvgPool1d(2),
        lambda nn: nn.Conv2d(2, 4, 3),
        lambda nn: nn.ConvTranspose1d(2, 4, 3),
        lambda nn: nn.LSTM(2, 3, 2),
    ],
)
def test_a_layer_has_the_settings_of_pytorchs(make):
    ours, theirs = make(nn), make(torch.nn)
    plain = (bool, int, float, str, tuple)
    public = {k: getattr(theirs, k) for k in dir(theirs) if not k.startswith("_")}
    settings = {k: v for k, v in public.items() if isinstance(v, plain)}

    assert {k: getattr(ours, k, None) for k in settings} == settings
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_computes_what_pytorchs_computes(name, reduction):
    make, *args = LOSSES[name]
    ours, theirs = make(minigrad, reduction), make(torch, reduction)

    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    compare(run(minigrad, ours, args), run(torch, theirs, args))


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("settings", [{}, {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}])
def test_derivatives_of_convolutions_are_functions_too(axes, settings):
    x, w = draw(2, 4, *(7, 6)[:axes]), draw(6, 4 // settings.get("groups", 1), *(3, 2)[:axes])

    def case(m, x, w):
        g = (
            getattr(m.nn.functional, f"conv{axes}d")(x, w, **settings)
            .detach()
            .sin()
            .requires_grad_()
        )
        found = [
            getattr(m.nn.grad, f"conv{axes}d_input")(x.shape, w, g, **settings),
            getattr(m.nn.grad, f"conv{axes}d_weight")(x, w.shape, g, **settings),
        ]
        return [*found, *m.autograd.grad(sum((f * f).sum() for f in found), g, create_graph=True)]

    check(case, x, w, order=1)
