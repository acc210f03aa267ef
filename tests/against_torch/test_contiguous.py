"""Results of layers lie in memory as PyTorch's do: where theirs are contiguous, ours are."""

import pytest

import minigrad
from tests.against_torch.agree import draw, torch


def tensors(m):
    """Images, signals, and kernels for them."""
    sizes = {"x": (2, 4, 8, 6), "w": (6, 4, 3, 3), "wt": (4, 6, 3, 3), "b": (6,), "s": (2, 4, 9), "w1": (6, 4, 3),
             "wt1": (4, 6, 3), "wg": (4, 1, 3, 3), "g": (4,)}  # fmt: skip
    return {name: m.tensor(draw(*size)).float() for name, size in sizes.items()}


LAYERS = {
    "conv2d": lambda m, d: m.nn.functional.conv2d(d["x"], d["w"]),
    "conv2d b": lambda m, d: m.nn.functional.conv2d(d["x"], d["w"], d["b"], padding=1, stride=2),
    "conv unbatched": lambda m, d: m.nn.functional.conv2d(d["x"][0], d["w"]),
    "conv of view": lambda m, d: m.nn.functional.conv2d(d["x"].transpose(2, 3), d["w"]),
    "conv groups": lambda m, d: m.nn.functional.conv2d(d["x"], d["wg"], groups=4),
    "conv1d": lambda m, d: m.nn.functional.conv1d(d["s"], d["w1"], d["b"]),
    "convT": lambda m, d: m.nn.functional.conv_transpose2d(d["x"], d["wt"], d["b"], stride=2),
    "convT op": lambda m, d: m.nn.functional.conv_transpose2d(
        d["x"], d["wt"], stride=2, padding=1, output_padding=1
    ),
    "convT1": lambda m, d: m.nn.functional.conv_transpose1d(d["s"], d["wt1"], padding=1),
    "max": lambda m, d: m.nn.functional.max_pool2d(d["x"], 2),
    "max pad": lambda m, d: m.nn.functional.max_pool2d(d["x"], 3, 1, 1),
    "max view": lambda m, d: m.nn.functional.max_pool2d(d["x"].transpose(1, 3), 2),
    "max1": lambda m, d: m.nn.functional.max_pool1d(d["s"], 3),
    "max idx": lambda m, d: m.nn.functional.max_pool2d(d["x"], 2, return_indices=True)[1],
    "avg": lambda m, d: m.nn.functional.avg_pool2d(d["x"], 2),
    "avg view": lambda m, d: m.nn.functional.avg_pool2d(d["x"].transpose(1, 3), 2),
    "avg1": lambda m, d: m.nn.functional.avg_pool1d(d["s"], 3),
    "ada": lambda m, d: m.nn.functional.adaptive_avg_pool2d(d["x"], 3),
    "ada2": lambda m, d: m.nn.functional.adaptive_avg_pool2d(d["x"], 2),
    "ada1": lambda m, d: m.nn.functional.adaptive_avg_pool2d(d["x"], 1),
    "adamax": lambda m, d: m.nn.functional.adaptive_max_pool2d(d["x"], 3),
    "ada1d": lambda m, d: m.nn.functional.adaptive_avg_pool1d(d["s"], 4),
    "lp": lambda m, d: m.nn.functional.lp_pool2d(d["x"].abs(), 2.0, 2),
    "bn": lambda m, d: m.nn.functional.batch_norm(d["x"], None, None, training=True),
    "bn eval": lambda m, d: m.nn.functional.batch_norm(
        d["x"], m.zeros(4), m.ones(4), d["g"], d["g"]
    ),
    "ln": lambda m, d: m.nn.functional.layer_norm(d["x"], (8, 6)),
    "gn": lambda m, d: m.nn.functional.group_norm(d["x"], 2, d["g"], d["g"]),
    "in": lambda m, d: m.nn.functional.instance_norm(d["x"]),
    "unfold": lambda m, d: m.nn.functional.unfold(d["x"], 3),
    "fold": lambda m, d: m.nn.functional.fold(m.nn.functional.unfold(d["x"], 3), (8, 6), 3),
    "interp": lambda m, d: m.nn.functional.interpolate(d["x"], scale_factor=2),
    "bilinear": lambda m, d: m.nn.functional.interpolate(d["x"], scale_factor=2, mode="bilinear"),
    "pixshuf": lambda m, d: m.nn.functional.pixel_shuffle(d["x"], 2),
    "pixun": lambda m, d: m.nn.functional.pixel_unshuffle(d["x"], 2),
    "pad": lambda m, d: m.nn.functional.pad(d["x"], (1, 1, 1, 1)),
    "pad r": lambda m, d: m.nn.functional.pad(d["x"], (1, 1, 1, 1), mode="reflect"),
    "pad c": lambda m, d: m.nn.functional.pad(d["x"], (1, 1, 1, 1), mode="circular"),
    "chshuf": lambda m, d: m.nn.functional.channel_shuffle(d["x"], 2),
    "lrn": lambda m, d: m.nn.functional.local_response_norm(d["x"], 2),
    "drop2": lambda m, d: m.nn.functional.dropout2d(d["x"]),
    "maxun": lambda m, d: m.nn.functional.max_unpool2d(
        *m.nn.functional.max_pool2d(d["x"], 2, return_indices=True), 2
    ),
    "gs": lambda m, d: m.nn.functional.grid_sample(d["x"], m.zeros(2, 3, 3, 2)),
    "linear": lambda m, d: m.nn.functional.linear(d["x"], m.ones(5, 6)),
    "emb": lambda m, d: m.nn.functional.embedding(m.tensor([[1, 0]]), m.ones(3, 4)),
    "sdpa": lambda m, d: m.nn.functional.scaled_dot_product_attention(d["x"], d["x"], d["x"]),
    "bilin": lambda m, d: m.nn.functional.bilinear(d["s"], d["s"], m.ones(3, 9, 9)),
    "lstm": lambda m, d: m.nn.LSTM(9, 5, batch_first=True)(d["s"])[0],
    "gru": lambda m, d: m.nn.GRU(9, 5, bidirectional=True)(d["s"])[0],
    "rnn h": lambda m, d: m.nn.RNN(9, 5, num_layers=2)(d["s"])[1],
}


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
@pytest.mark.filterwarnings("ignore")
def test_a_result_is_contiguous_where_that_of_pytorch_is(layer):
    ours, theirs = (layer(m, tensors(m)) for m in (minigrad, torch))

    assert ours.is_contiguous() or not theirs.is_contiguous()


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
@pytest.mark.filterwarnings("ignore")
def test_a_gradient_is_contiguous_where_that_of_pytorch_is(layer):
    def gradients(m):
        given = tensors(m)
        leaves = [given["x"].requires_grad_(), given["s"].requires_grad_()]
        z = layer(m, given)
        return m.autograd.grad(z.sum(), leaves, allow_unused=True) if z.requires_grad else ()

    for ours, theirs in zip(gradients(minigrad), gradients(torch), strict=True):
        assert ours is None or ours.is_contiguous() or not theirs.is_contiguous()


PAIRS = {
    "transposed + contiguous": lambda x: (x.mT, x.reshape(2, 4, 6, 8)),
    "contiguous * transposed": lambda x: (x.reshape(2, 4, 6, 8), x.mT),
    "tokens + position": lambda x: (x.flatten(2).mT, x[:1].reshape(1, 48, 4)),
    "a part": lambda x: (x.permute(0, 2, 3, 1)[:, ::2], x[:, :, ::2].reshape(2, 4, 6, 4)),
    "two views": lambda x: (x.permute(3, 2, 1, 0), x.reshape(4, 2, 8, 6).permute(3, 2, 0, 1)),
    "alike": lambda x: (x.mT, x.mT),
    "number": lambda x: (x.mT, 2.0),
}


@pytest.mark.parametrize("op", ["add", "mul", "div", "maximum", "gt", "atan2"])
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_the_first_operand_decides_the_order_in_memory(pair, op):
    def layout(m):
        x, y = pair(tensors(m)["x"])
        return getattr(m, op)(x, y if op not in ("maximum", "atan2") else m.as_tensor(y)).stride()

    assert layout(minigrad) == layout(torch)


@pytest.mark.parametrize("f", ["gelu", "erf", "lgamma", "where", "flip"])
def test_other_functions_of_entries_keep_the_order_in_memory(f):
    def layout(m):
        x = tensors(m)["x"].flatten(2).mT
        apply = getattr(m.nn.functional, f, None) or getattr(m, f)
        more = {"where": (x, x.contiguous()), "flip": ((1,),)}.get(f, ())
        return apply(x > 0 if f == "where" else x, *more).stride()

    assert layout(minigrad) == layout(torch)


def test_dropout_draws_in_the_order_of_the_first_operand():
    def dropped(m):
        x = tensors(m)["x"]
        m.manual_seed(0)
        return m.nn.functional.dropout(x.flatten(2).mT + x[:1].reshape(1, 48, 4), 0.5).tolist()

    assert dropped(minigrad) == dropped(torch)
