"""Attention and Transformers: the same names, first values, outputs and gradients as in PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from tests.against_torch.agree import check, check_error, draw

pytestmark = pytest.mark.filterwarnings("ignore:.*nested.tensor.*:UserWarning")


def pair(make):
    """The same module of both libraries, made from the same seed."""
    torch.manual_seed(3)
    minigrad.manual_seed(3)
    theirs, ours = make(torch), make(minigrad)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for (name, a), b in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        # from the normal distribution (bias_k) up to the last digit
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, err_msg=name)
    return ours, theirs


def agree(ours, theirs, call, *arrays):
    """Outputs and all gradients agree."""
    found = []
    for m, module in ((minigrad, ours), (torch, theirs)):
        xs = [m.tensor(a.astype(np.float32), requires_grad=True) for a in arrays]
        z = call(m, module, *xs)
        parts = [p for p in (z if isinstance(z, tuple) else (z,)) if p is not None]
        sum((p * p).sum() for p in parts).backward()
        grads = [x.grad for x in xs] + [p.grad for p in module.parameters()]
        found.append([t.detach().numpy() for t in parts + grads if t is not None])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)  # single precision


X, Y = draw(5, 3, 8), draw(4, 3, 8, seed=1)
LATER = np.triu(np.ones((5, 5), bool), 1)
PADDING = np.array([[False] * 5, [False] * 4 + [True], [False] * 2 + [True] * 3])


@pytest.mark.parametrize(
    "settings",
    [{}, {"bias": False}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"kdim": 8, "vdim": 6}],
    ids=str,
)
def test_multihead_attention(settings):
    ours, theirs = pair(lambda m: m.nn.MultiheadAttention(8, 2, **settings))
    value = draw(4, 3, settings.get("vdim", 8), seed=2)

    agree(ours, theirs, lambda m, f, q, k, v: f(q, k, v), X, Y, value)
    agree(ours, theirs, lambda m, f, q, k, v: f(q, k, v, average_attn_weights=False), X, Y, value)
    agree(ours, theirs, lambda m, f, q, k, v: f(q, k, v, need_weights=False), X, Y, value)
    mask = np.arange(4) > 2
    agree(
        ours,
        theirs,
        lambda m, f, q, k, v: f(q, k, v, key_padding_mask=m.tensor(np.stack([mask] * 3))),
        *(X, Y, value),
    )


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("kind", ["bool", "float", "for each head"])
def test_masks(kind, need_weights):
    ours, theirs = pair(lambda m: m.nn.MultiheadAttention(8, 2, batch_first=True))
    mask = {"bool": LATER, "float": np.where(LATER, -np.inf, 0.25).astype(np.float32)}.get(kind)
    if mask is None:
        mask = np.stack([LATER] * 6)
    padding = PADDING if mask.dtype == bool else np.where(PADDING, -np.inf, 0).astype(np.float32)

    agree(
        ours,
        theirs,
        lambda m, f, x: f(
            x, x, x, m.tensor(padding), need_weights=need_weights, attn_mask=m.tensor(mask)
        ),
        X.transpose(1, 0, 2),
    )


@pytest.mark.parametrize(
    "mask", [LATER, np.zeros((5, 5), bool), np.zeros((2, 2), bool)], ids=["causal", "none", "small"]
)
def test_the_hint_that_a_mask_is_causal_counts_more_than_the_mask(mask):
    ours, theirs = pair(lambda m: m.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0))

    agree(ours, theirs, lambda m, f, x: f(x, m.tensor(mask), is_causal=True), X)


@pytest.mark.parametrize("dtype", [bool, np.float64])
def test_a_mask_and_the_causal_one_are_joined_for_four_axes(dtype):
    q, k, mask = draw(2, 3, 5, 4), draw(2, 3, 6, 4), (draw(5, 6) > -0.5).astype(dtype)

    check(
        lambda m, q, k: m.nn.functional.scaled_dot_product_attention(
            q, k, k, m.tensor(mask).to(m.bool if dtype is bool else q.dtype), is_causal=True
        ),
        q,
        k,
        order=1,
    )


def test_attention_without_a_batch():
    ours, theirs = pair(lambda m: m.nn.MultiheadAttention(8, 4))

    agree(
        ours,
        theirs,
        lambda m, f, q, k: f(q, k, k, m.tensor([False, True, False])),
        X[:, 0],
        Y[:3, 0],
    )


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_encoder(norm_first, batch_first):
    def make(m):
        layer = m.nn.TransformerEncoderLayer(
            8, 2, 16, 0.0, "gelu", batch_first=batch_first, norm_first=norm_first
        )
        return m.nn.TransformerEncoder(layer, 2, m.nn.LayerNorm(8))

    ours, theirs = pair(make)

    def call(m, f, x):
        x = x.transpose(0, 1) if batch_first else x
        return f(x, m.tensor(LATER), m.tensor(PADDING))

    agree(ours, theirs, call, X)
    ours.eval(), theirs.eval()
    agree(ours, theirs, call, X)
    with torch.no_grad(), minigrad.no_grad():
        x = X.transpose(1, 0, 2) if batch_first else X
        a = ours(minigrad.tensor(x.astype(np.float32)))
        b = theirs(torch.tensor(x.astype(np.float32)))
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer(norm_first):
    ours, theirs = pair(
        lambda m: m.nn.Transformer(8, 2, 1, 2, 16, 0.0, norm_first=norm_first, batch_first=False)
    )

    def call(m, f, src, tgt):
        mask = m.nn.Transformer.generate_square_subsequent_mask(4)
        return f(
            src,
            tgt,
            tgt_mask=mask,
            src_key_padding_mask=m.tensor(PADDING),
            memory_key_padding_mask=m.tensor(PADDING),
        )

    agree(ours, theirs, call, X, Y)


def with_own_parts(m):
    """A decoder layer whose parts are called and overridden under PyTorch's names, as published ones are."""

    class Layer(m.nn.TransformerDecoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            return 2 * super()._sa_block(x, attn_mask, key_padding_mask, is_causal=is_causal)

        def forward(self, tgt, memory):
            z = super().forward(tgt, memory)
            return self._ff_block(z + self._mha_block(z, memory, None, None))

    return Layer(8, 2, 16, 0.0)


def test_a_layer_may_call_and_override_the_parts():
    ours, theirs = pair(with_own_parts)

    agree(ours, theirs, lambda m, f, x, y: f(x, y), X, Y)


def test_dropout_draws_the_same():
    ours, theirs = pair(lambda m: m.nn.TransformerEncoderLayer(8, 2, 16, 0.3))
    torch.manual_seed(5), minigrad.manual_seed(5)

    agree(ours, theirs, lambda m, f, x: f(x), X)


def test_a_query_whose_keys_are_all_masked_by_numbers_gets_zeros():
    x = draw(2, 3, 4, seed=5)
    mask = np.zeros((3, 3), x.dtype)
    mask[1] = -np.inf
    of = [
        m.nn.functional.scaled_dot_product_attention(
            *[m.tensor(x)] * 3, attn_mask=m.tensor(mask)
        ).numpy()
        for m in (minigrad, torch)
    ]
    assert not of[0][:, 1].any()
    np.testing.assert_allclose(of[0], of[1], rtol=1e-5)


def test_hooks_of_the_last_projection_do_not_run():
    def ran(m):
        layer = m.nn.MultiheadAttention(8, 2)
        names = []
        for name, part in layer.named_modules():
            part.register_forward_hook(lambda module, args, z, name=name: names.append(name))
        layer(*[m.zeros(3, 2, 8)] * 3)
        return names

    assert ran(minigrad) == ran(torch) == [""]


POOLED = {
    "separate weights": lambda m, x, w: m.nn.functional.multi_head_attention_forward(
        x[:1], x, x, 4, 2, None, w[0, :12].sin(), None, None, False, 0.0, w[:4, :4], w[0, :4],
        use_separate_proj_weight=True, q_proj_weight=w[4:8, :4], k_proj_weight=w[8:, :4], v_proj_weight=w[:4, 4:8], need_weights=False,
    ),
    "stacked weights": lambda m, x, w: m.nn.functional.multi_head_attention_forward(
        x, x, x, 4, 2, w[:, :4], None, w[:1, None, 4:8], w[1:2, None, 4:8], True, 0.0, w[:4, :4], None, attn_mask=w[:5, :5], average_attn_weights=False,
    ),
    "keys and values that are given": lambda m, x, w: m.nn.functional.multi_head_attention_forward(
        x, x, x * 2, 4, 2, w[:, :4], None, None, None, False, 0.0, w[:4, :4], None, static_k=w.reshape(4, -1, 2), static_v=w.reshape(4, -1, 2) * 2,
    ),
    "given keys, zeros and masks": lambda m, x, w: m.nn.functional.multi_head_attention_forward(
        x, x, x, 4, 2, w[:, :4], None, None, None, True, 0.0, w[:4, :4], None, attn_mask=w[:5, :5].detach(), key_padding_mask=w[:2, 5:10].detach(), static_k=w[:10, :4].reshape(4, 5, 2), static_v=w[:10, 4:8].reshape(4, 5, 2),
    ),
    "one sequence": lambda m, x, w: m.nn.functional.multi_head_attention_forward(
        x[:, 0], x[1:, 0], x[1:, 1], 4, 2, w[:, :4], None, None, None, False, 0.0, w[:4, :4], None, key_padding_mask=m.tensor([False, True, False, False]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", POOLED.values(), ids=POOLED)
def test_attention_with_its_parameters_as_arguments_agrees(case):
    def results(m, x, w):
        return [z for z in case(m, x, w) if z is not None]

    check(results, draw(5, 2, 4), draw(12, 12, seed=3) / 4, order=1)  # PyTorch has no second


@pytest.mark.parametrize(
    "changes",
    [
        {"num_heads": 3}, {"embed_dim_to_check": 5}, {"in_proj_weight": None}, {"use_separate_proj_weight": True},
        {"bias_k": np.ones((1, 1, 4))}, {"static_k": np.ones((3, 6, 2))}, {"is_causal": True},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_parameters_of_attention_are_refused(changes):
    def case(m, x, w):
        given = {
            "embed_dim_to_check": 4, "num_heads": 2, "in_proj_weight": w, "in_proj_bias": None, "bias_k": None, "bias_v": None,
            "add_zero_attn": False, "dropout_p": 0.0, "out_proj_weight": w[:4], "out_proj_bias": None,
        } | {k: m.tensor(v) if isinstance(v, np.ndarray) else v for k, v in changes.items()}  # fmt: skip
        return m.nn.functional.multi_head_attention_forward(x, x, x, **given)

    check_error(case, draw(5, 2, 4), draw(12, 4))


@pytest.mark.parametrize("same", [True, False])
def test_the_projections_of_programs_that_compute_attention_themselves(same):
    def run(m):
        x, weight = m.arange(8.0).reshape(2, 1, 4), m.arange(48.0).reshape(12, 4)
        given = (x, x, x) if same else (x, x + 1, x * 2)
        with_bias = m.nn.functional._in_projection_packed(*given, weight, m.arange(12.0))
        return [
            t.tolist() for t in (*with_bias, *m.nn.functional._in_projection_packed(*given, weight))
        ]

    assert run(minigrad) == run(torch)
