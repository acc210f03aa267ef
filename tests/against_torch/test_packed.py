"""Sequences of unequal length: packing, padding, and recurrent layers along packed ones."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from minigrad.nn.utils import rnn
from tests.against_torch.agree import check, check_error, draw

X = draw(5, 4, 3)
LENGTHS = {True: [5, 3, 3, 1], False: [3, 1, 5, 3]}


def utils(m):
    return m.nn.utils.rnn


@pytest.mark.parametrize("sorted_", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_packing_and_the_way_back(sorted_, batch_first):
    lengths = LENGTHS[sorted_]

    def case(m, x):
        x = x.transpose(0, 1) if batch_first else x
        packed = utils(m).pack_padded_sequence(x, m.tensor(lengths), batch_first, sorted_)
        back = utils(m).pad_packed_sequence(packed, batch_first, -1.0, total_length=6)
        return packed.data, packed.batch_sizes, *back

    check(case, X)


def test_the_sequences_themselves():
    def case(m, x):
        xs = [x[:3, 0], x[:5, 1], x[:1, 2]]
        packed = utils(m).pack_sequence(xs, enforce_sorted=False)
        return (
            utils(m).pad_sequence(xs, padding_value=2.0),
            utils(m).pad_sequence(xs, True),
            utils(m).pad_sequence(xs, True, padding_side="left"),
            packed.data,
            packed.sorted_indices,
            *utils(m).unpack_sequence(packed),
        )

    check(case, X)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("sorted_", [True, False])
@pytest.mark.parametrize("given", [True, False])
def test_recurrent_layers_take_packed_sequences(kind, sorted_, given):
    results = []
    for m in (torch, minigrad):
        m.manual_seed(0)
        layer = getattr(m.nn, kind)(3, 4, num_layers=2, bidirectional=True)
        x = m.tensor(X.astype(np.float32), requires_grad=True)
        packed = utils(m).pack_padded_sequence(x, LENGTHS[sorted_], enforce_sorted=sorted_)
        h = m.tensor(draw(4, 4, 4).astype(np.float32), requires_grad=True)
        state = () if not given else ((h, h * 2),) if kind == "LSTM" else (h,)
        output, last = layer(packed, *state)
        padded, lengths = utils(m).pad_packed_sequence(output)
        last = last if isinstance(last, tuple) else (last,)
        sum((t * t).sum() for t in (padded, *last)).backward()
        grads = [x.grad, *([h.grad] if given else []), *[p.grad for p in layer.parameters()]]
        results.append([t.detach().numpy() for t in (padded, lengths, *last, *grads)])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)  # single precision


@pytest.mark.parametrize("lengths", [[3, 5, 1, 1], [5, 3, 0, 0], [5, 3]])
def test_lengths_that_do_not_fit_are_refused(lengths):
    check_error(lambda m, x: utils(m).pack_padded_sequence(x, lengths), X)


def test_a_packed_sequence_is_a_named_tuple():
    packed = rnn.pack_sequence([minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0])])

    data, sizes, *_ = packed
    assert data.tolist() == [1, 3, 2]
    assert sizes.tolist() == packed.batch_sizes.tolist() == [2, 1]
