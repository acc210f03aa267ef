"""The same seed gives the same numbers as in PyTorch."""

import copy
import pickle

import numpy as np
import pytest

import minigrad
import minigrad.nn
from minigrad.nn import functional
from tests.random_cases import CLOSE, CLOSE_BUT_ON_INTEL, DRAWS, INTEL, LAYERS, SIZES

torch = pytest.importorskip("torch")


def _takes_intels_stream():
    g = torch.Generator().manual_seed(0)
    torch.empty(10).bernoulli_(0.5, generator=g)
    following = torch.rand(1, generator=g)
    return following != torch.rand(21, generator=torch.Generator().manual_seed(0))[20]


on_intel = pytest.mark.skipif(
    bool(_takes_intels_stream()), reason="PyTorch takes Intel's stream for these"
)


def test_gradgradcheck_draws_its_gradients_from_the_same_numbers():
    def drawn_after(m):
        m.manual_seed(0)
        x = m.ones(2, 3, dtype=m.float64, requires_grad=True)
        assert m.autograd.gradgradcheck(lambda x: (x.sin(), x.sum()), (x,))
        return m.rand(3).numpy()

    np.testing.assert_array_equal(drawn_after(minigrad), drawn_after(torch))


def agree(case, name=None, rtol=1e-6, atol=1e-6):
    """Both libraries draw the same, and go on with the same numbers."""
    results = []
    for m in (minigrad, torch):
        m.manual_seed(42)
        z = case(m)
        results += [z.detach().numpy(), m.rand(1).item()]
    ours, our_next, theirs, their_next = results
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    if name is None or name in CLOSE or name in CLOSE_BUT_ON_INTEL:
        # The last digit of a logarithm, and of numbers near 0 all digits after the seventh.
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(ours, theirs)
    assert our_next == their_next


def cases(names):
    return [pytest.param(n, marks=on_intel) if n in INTEL else n for n in names]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", cases(DRAWS))
def test_the_same_numbers_are_drawn(name, n):
    agree(lambda m: DRAWS[name](m, n, None), name)


LARGE = [
    "rand",
    "rand float16",
    "uniform_",
    "uniform_ float64",
    "randn",
    "randn float64",
    "normal_",
]


@pytest.mark.parametrize("n", [2**15 + 1, 2**16 + 23])
@pytest.mark.parametrize("name", LARGE)
def test_many_numbers_are_drawn_in_parts(name, n):
    agree(lambda m: DRAWS[name](m, n, None), name)


@on_intel
def test_a_generator_gives_the_same_numbers_in_any_order_of_draws():
    g, h = (m.Generator().manual_seed(2147483647) for m in (minigrad, torch))
    order = np.random.default_rng(0)
    for name in order.permutation(list(DRAWS) * 3):
        n = int(order.choice([1, 3, 7, 16, 21]))
        ours, theirs = DRAWS[name](minigrad, n, g), DRAWS[name](torch, n, h)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-6, err_msg=name)

    assert g.get_state().tolist()[:-56] == h.get_state().tolist()[:-56]  # all but the spare number


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31 - 1, 2**32 + 7, 2**63, 2**64 - 1, -1, -(2**63)])
def test_seeds(seed):
    ours, theirs = (m.Generator().manual_seed(seed) for m in (minigrad, torch))

    assert ours.initial_seed() == theirs.initial_seed()
    assert ours.words(1)[0] % 2**24 == torch.rand(1, generator=theirs).item() * 2**24
    assert minigrad.manual_seed(seed).initial_seed() == torch.manual_seed(seed).initial_seed()


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 1.5, None, "a"])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(Exception) as theirs:
        torch.Generator().manual_seed(seed)
    with pytest.raises(theirs.type):
        minigrad.Generator().manual_seed(seed)


def test_the_unseeded_generator():
    ours, theirs = minigrad.Generator(), torch.Generator()

    assert ours.initial_seed() == theirs.initial_seed()
    assert minigrad.rand(5, generator=ours).tolist() == torch.rand(5, generator=theirs).tolist()


@pytest.mark.parametrize("before", [0, 1, 623, 624, 625])
def test_states_can_be_exchanged(before):
    g, h = (m.Generator().manual_seed(3) for m in (minigrad, torch))
    minigrad.rand(before, generator=g)
    minigrad.randn(1, generator=g)  # and keeps a second number

    h.set_state(torch.tensor(g.get_state().numpy()))
    back = minigrad.Generator()
    back.set_state(h.get_state())

    for other in (h, back, copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        m = torch if other is h else minigrad
        other = other.clone_state()
        assert other.initial_seed() == 3
        np.testing.assert_allclose(
            m.randn(5, generator=other).numpy(),
            minigrad.randn(5, generator=g.clone_state()).numpy(),
            rtol=1e-6,
        )


def test_wrong_states_are_refused():
    for state in (np.zeros(5, np.uint8), np.zeros(5056, np.float32)):
        with pytest.raises(Exception) as theirs:
            torch.Generator().set_state(torch.tensor(state))
        with pytest.raises(theirs.type):
            minigrad.Generator().set_state(minigrad.tensor(state))


def test_fork_rng():
    def case(m):
        with m.random.fork_rng():
            m.rand(3)
        return m.rand(2)

    agree(case)


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_begin_with_the_same_weights(name, dtype):
    try:
        for m in (minigrad, torch):
            m.set_default_dtype(getattr(m, dtype))
            m.manual_seed(42)
        ours = LAYERS[name](minigrad.nn).state_dict()
        theirs = LAYERS[name](torch.nn).state_dict()
    finally:
        for m in (minigrad, torch):
            m.set_default_dtype(m.float32)

    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        if "Embedding" not in name and dtype == "float32":
            np.testing.assert_array_equal(ours[key].numpy(), value.numpy())
        np.testing.assert_allclose(ours[key].numpy(), value.numpy(), rtol=1e-6, atol=1e-7)


def F(m):
    return m.nn.functional if m is torch else functional


def noise(m):
    return m.randn(2, 6, 4, 4)


FUNCTIONS = {
    "dropout": lambda m: F(m).dropout(noise(m), 0.3),
    "dropout float16": lambda m: F(m).dropout(m.ones(40, dtype=m.float16), 0.3),
    "dropout all": lambda m: F(m).dropout(noise(m), 1.0),
    "dropout1d": lambda m: F(m).dropout1d(noise(m)[0], 0.3),
    "dropout2d": lambda m: F(m).dropout2d(noise(m), 0.3),
    "alpha_dropout": lambda m: F(m).alpha_dropout(noise(m), 0.3, True),
    "feature_alpha_dropout": lambda m: F(m).feature_alpha_dropout(noise(m), 0.3, True),
    "FeatureAlphaDropout": lambda m: m.nn.FeatureAlphaDropout(0.3)(noise(m)),
    "complex": lambda m: m.abs(m.rand(3, dtype=m.complex64) + m.randn(20, 3, dtype=m.complex64)),
    "rrelu": lambda m: F(m).rrelu(noise(m), training=True),
    "gumbel_softmax": lambda m: F(m).gumbel_softmax(noise(m)),
    "attention": lambda m: F(m).scaled_dot_product_attention(
        *m.randn(3, 2, 4, 4).unbind(), dropout_p=0.5
    ),
}


@on_intel
@pytest.mark.parametrize("case", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_with_noise(case):
    agree(case, rtol=1e-4, atol=1e-5)  # a quarter of the numbers come from exp and log


INITS = {
    "xavier_uniform_": lambda i, w: i.xavier_uniform_(w),
    "xavier_normal_": lambda i, w: i.xavier_normal_(w),
    "kaiming_uniform_": lambda i, w: i.kaiming_uniform_(w, nonlinearity="relu"),
    "kaiming_normal_": lambda i, w: i.kaiming_normal_(w, mode="fan_out"),
    "trunc_normal_": lambda i, w: i.trunc_normal_(w, std=0.02),
    "trunc_normal_ often outside": lambda i, w: i.trunc_normal_(w, 0.0, 1.0, -1.0, 1.0),
    "trunc_normal_ of a tail": lambda i, w: i.trunc_normal_(w, 0.0, 1.0, 2.0, 3.0),
    "trunc_normal_ of a strip": lambda i, w: i.trunc_normal_(w, 0.0, 1.0, -0.1, 0.2),
    "orthogonal_": lambda i, w: i.orthogonal_(w, 2.0),
}


@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
@pytest.mark.parametrize("shape", [(3, 2), (5, 7), (20, 30), (8, 3, 3, 3)])
@pytest.mark.parametrize("name", INITS)
def test_initializations(name, shape):
    agree(lambda m: INITS[name](m.nn.init, m.empty(shape)), rtol=1e-5, atol=2e-6)


def test_sparse_initialization():
    agree(lambda m: m.nn.init.sparse_(m.empty(20, 30), 0.4))


@pytest.mark.parametrize(
    "like",
    [
        lambda m, x: m.zeros_like(x, memory_format=m.preserve_format).normal_(),
        lambda m, x: m.full_like(x, 2.0).uniform_(),
        lambda m, x: m.rand_like(x, memory_format=m.preserve_format),
        lambda m, x: m.randn_like(x, dtype=m.float64),
        lambda m, x: m.randint_like(x, 3, 50),
        pytest.param(lambda m, x: m.nn.functional.dropout(x, 0.3), marks=on_intel),
    ],
)
@pytest.mark.parametrize(
    "of",
    [
        lambda m: m.ones(3, 7).t(),
        lambda m: m.ones(2, 4, 5, 3).permute(0, 3, 1, 2)[:, :, ::2],
        lambda m: m.ones(1, 20).expand(3, 20),
        lambda m: m.ones(8, 20).chunk(2, 1)[1],
    ],
    ids=["transposed", "permuted", "expanded", "part of rows"],
)
def test_a_tensor_like_another_is_drawn_in_its_order_of_memory(like, of):
    agree(lambda m: like(m, of(m)))
    assert like(minigrad, of(minigrad)).stride() == like(torch, of(torch)).stride()
