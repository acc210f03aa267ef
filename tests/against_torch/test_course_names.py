"""The names that coursework uses in passing: each as in PyTorch."""

import importlib
import warnings
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from tests.against_torch import names
from tests.against_torch.agree import check, draw, outcome

X, Y = draw(3, 4), draw(3, 4, seed=1)
IMAGE, GRID = draw(2, 3, 4, 5), draw(2, 3, 3, 2, seed=2) * 0.7
WHOLE, OTHERS = np.array([[12, -18], [7, 0]]), np.array([[8, 27], [21, 5]])
BAGS = np.array([[0, 3, 3], [1, 0, 2]])
SYMMETRIC = draw(3, 3) @ draw(3, 3).T + 3 * np.eye(3)


def F(m):
    return m.nn.functional


CASES = {
    "lgamma": (lambda m, x: m.lgamma(x), X), "digamma": (lambda m, x: m.digamma(x), X), "polygamma": (lambda m, x: m.polygamma(2, x), np.abs(X) + 0.5),
    "erfinv": (lambda m, x: m.erfinv(x / 3), X), "mvlgamma": (lambda m, x: m.mvlgamma(x, 2), np.abs(X) + 1), "logaddexp2": (lambda m, x, y: m.logaddexp2(x, y), X, Y),
    "hardshrink": (lambda m, x: m.hardshrink(x), X), "gcd": (lambda m, i, j: m.gcd(i, j), WHOLE, OTHERS), "lcm": (lambda m, i, j: m.lcm(i, j), WHOLE, OTHERS),
    "ldexp": (lambda m, x, i: m.ldexp(x, i), X[:2, :2], np.abs(WHOLE)), "renorm": (lambda m, x: m.renorm(x, 2, 0, 1.0), X), "renorm by columns": (lambda m, x: x.renorm(1, 1, 2.0), X),
    "as_strided": (lambda m, x: m.as_strided(x, (3, 2), (4, 1), 1), X), "as_strided, overlapping": (lambda m, x: x.as_strided((2, 3), (1, 1)), X), "as_strided of a view": (lambda m, x: (x * 1)[1].as_strided((2,), (2,)), X),
    "svd": (lambda m, x: m.svd(x)[1], X), "pinverse": (lambda m, x: m.pinverse(x), X), "matrix_exp": (lambda m, x: m.matrix_exp(x), draw(2, 3, 3)),
    "chain_matmul": (lambda m, x, y: m.linalg.multi_dot([x, y.T, x]), X, Y), "gradient": (lambda m, x: m.gradient(x), X), "gradient with edges": (lambda m, x: m.gradient(x, spacing=0.5, dim=1, edge_order=2), X),
    "cholesky_solve as a method": (lambda m, x, y: y.cholesky_solve(m.linalg.cholesky(x)), SYMMETRIC, draw(3, 2)), "cholesky_inverse as a method": (lambda m, x: m.linalg.cholesky(x).cholesky_inverse(upper=False), SYMMETRIC),
    "triangular_solve as a method": (lambda m, x, y: y.triangular_solve(x, upper=False).solution, SYMMETRIC, draw(3, 2)), "qr as a method": (lambda m, x: x.qr().R.abs(), SYMMETRIC),
    "cholesky_solve": (lambda m, x, y: m.cholesky_solve(y, m.linalg.cholesky(x)), SYMMETRIC, draw(3, 2)), "cholesky_inverse": (lambda m, x: m.cholesky_inverse(m.linalg.cholesky(x)), SYMMETRIC),
    "triangular_solve": (lambda m, x, y: m.linalg.solve_triangular(x, y, upper=True), SYMMETRIC, draw(3, 2)), "fill": (lambda m, x: m.fill(x.detach(), 2.0), X),
    "heaviside_": (lambda m, x, y: x.detach().clone().heaviside_(y.detach()), X, Y), "ger": (lambda m, x, y: x[0].ger(y[0]), X, Y), "entr": (lambda m, x: m.special.entr(x), np.abs(X)),
    "ndtr": (lambda m, x: m.special.ndtr(x), X), "ndtri": (lambda m, x: m.special.ndtri(x), np.abs(X) / 2.1), "log_ndtr": (lambda m, x: m.special.log_ndtr(x * 3), X), "erfcx": (lambda m, x: m.special.erfcx(x * 2), X), "expit": (lambda m, x: m.special.expit(x), X),
    "grid_sample": (lambda m, x, g: F(m).grid_sample(x, g, align_corners=False), IMAGE, GRID), "grid_sample with corners": (lambda m, x, g: F(m).grid_sample(x, g, align_corners=True), IMAGE, GRID),
    "grid_sample at the border": (lambda m, x, g: F(m).grid_sample(x, g, padding_mode="border", align_corners=False), IMAGE, GRID), "grid_sample nearest": (lambda m, x, g: F(m).grid_sample(x, g.detach(), "nearest", align_corners=False), IMAGE, GRID),
    "affine_grid": (lambda m, t: F(m).affine_grid(t, (2, 1, 3, 4), align_corners=False), draw(2, 2, 3)), "affine_grid with corners": (lambda m, t: F(m).affine_grid(t, (2, 1, 3, 4), align_corners=True), draw(2, 2, 3)),
    "max_unpool2d": (lambda m, x: F(m).max_unpool2d(*F(m).max_pool2d(x, 2, return_indices=True), 2, output_size=(4, 5)), IMAGE), "max_unpool1d": (lambda m, x: F(m).max_unpool1d(*F(m).max_pool1d(x[0], 2, return_indices=True), 2), IMAGE),
    **{f"embedding_bag {how}": (lambda m, w, i, how=how: F(m).embedding_bag(i, w, mode=how), X.T, BAGS) for how in ("sum", "mean", "max")},
    "embedding_bag by offsets": (lambda m, w, i: F(m).embedding_bag(i.reshape(-1), w, m.tensor([0, 2, 2]), mode="sum", padding_idx=3), X.T, BAGS),
    "multilabel_margin_loss": (lambda m, x, t: F(m).multilabel_margin_loss(x, t), X, np.array([[1, 3, -1, 0], [0, -1, 2, 2], [-1, 0, 1, 2]])),
    "ctc_loss": (lambda m, x, t: F(m).ctc_loss(x.log_softmax(2), t, (6, 5), (3, 2)), draw(6, 2, 4), np.array([[1, 1, 3], [2, 3, 0]])),
    "ctc_loss of targets in a row": (lambda m, x, t: F(m).ctc_loss(x.log_softmax(2), t, (6, 5), (3, 2), reduction="none"), draw(6, 2, 4), np.array([1, 1, 3, 2, 3])),
    "ctc_loss that is infinite": (lambda m, x, t: F(m).ctc_loss(x.log_softmax(2), t, (2, 2), (3, 2), reduction="sum", zero_infinity=True), draw(6, 2, 4), np.array([[1, 1, 3], [2, 3, 0]])),
}  # fmt: skip
# PyTorch has no further derivative of these.
ORDER = {
    n: 1
    for n in CASES
    if n.split()[0]
    in ("grid_sample", "embedding_bag", "ctc_loss", "multilabel_margin_loss", "as_strided")
}
ORDER |= {"svd": 1, "matrix_exp": 1}


@pytest.mark.parametrize(
    "case",
    [
        lambda m: m.special.entr(m.tensor([-1.0, 0.0, 0.5, 1.0, m.nan, m.inf])),
        lambda m: m.repeat_interleave(m.tensor([1, 0, 3])),
        lambda m: m.repeat_interleave(m.tensor([2, 1], dtype=m.int32)),
        lambda m: m.randint(
            9, (4,), generator=m.Generator().set_state(m.Generator().manual_seed(3).get_state())
        ),
        lambda m: m.asarray(m.ones(2, requires_grad=True) * 2),
        lambda m: m.asarray(m.ones(2, requires_grad=True), requires_grad=False),
        lambda m: m.asarray(m.ones(2, requires_grad=True), copy=True),
        lambda m: m.asarray(m.ones(2, requires_grad=True) * 2, dtype=m.float64),
        lambda m: m.asarray(m.ones(2), requires_grad=True),
    ],
)
@pytest.mark.filterwarnings("ignore:torch.asarray")
def test_values_and_their_history_agree(case):
    a, b = case(minigrad), case(torch)
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    assert a.numpy(force=True).dtype == b.numpy(force=True).dtype
    assert (a.requires_grad, a.is_leaf) == (b.requires_grad, b.is_leaf)


@pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_functions_agree(name):
    case, *args = CASES[name]
    check(case, *args, order=ORDER.get(name, 2), rtol=1e-7)


def test_a_hook_may_be_the_step_of_an_optimizer():
    for m in (torch, minigrad):
        p = m.zeros(3, requires_grad=True)
        p.register_post_accumulate_grad_hook(lambda p: p.add_(p.grad, alpha=-0.5))
        p.backward(m.tensor([1.0, 2.0, 3.0]))
        assert p.tolist() == [-0.5, -1.0, -1.5]


def test_recurrent_layers_name_their_weights_alike():
    for bias in (True, False):
        a, b = (m.nn.GRU(2, 3, 2, bias=bias, bidirectional=True) for m in (torch, minigrad))
        assert a._flat_weights_names == b._flat_weights_names
        assert a._all_weights == b._all_weights


@pytest.mark.parametrize("of", [("dot", 2, 1), ("vdot", 1, 2), ("dot", 2, 2)])
def test_a_dot_product_of_matrices_is_refused_in_the_same_words(of):
    name, n, k = of
    said = f"^1D tensors expected, but got {n}D and {k}D tensors"
    for m in (torch, minigrad):
        with pytest.raises(RuntimeError, match=said):
            getattr(m, name)(m.ones((2,) * n), m.ones((2,) * k))


@pytest.mark.filterwarnings("ignore:.*should not be instantiated")
@pytest.mark.parametrize("m", [torch, minigrad])
def test_a_function_called_as_in_older_programs_is_refused(m):
    class Older(m.autograd.Function):
        def forward(self, x):
            return x

    with pytest.raises(RuntimeError, match="^Legacy autograd function"):
        Older()(m.ones(1))


@pytest.mark.parametrize(
    "draw_from",
    [
        lambda m: m.empty(20).log_normal_(),
        lambda m: m.empty(20).geometric_(0.2),
        lambda m: m.empty(20).cauchy_(1, 2),
        lambda m: m.poisson(m.linspace(0, 40, 30)),
        lambda m: m.distributions.Gamma(m.linspace(0.1, 4, 9), 1.0).sample(),
    ],
)
def test_draws_are_the_same(draw_from):
    found = []
    for m in (torch, minigrad):
        m.manual_seed(3)
        found.append(draw_from(m).numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)  # logarithms in single precision


def test_constants_limits_and_windows_agree():
    for name in ("pi", "e", "inf", "newaxis"):
        assert getattr(minigrad, name) == getattr(torch, name)
    assert isinstance(minigrad.ones(1).dtype, minigrad.dtype)
    for kind in "float16 float32 float64 bfloat16 float8_e4m3fn float8_e5m2".split():
        a, b = minigrad.finfo(getattr(minigrad, kind)), torch.finfo(getattr(torch, kind))
        assert repr(a) == repr(b) and a.dtype == b.dtype
        for part in ("bits", "eps", "max", "min", "tiny", "smallest_normal"):
            assert getattr(a, part) == getattr(b, part)
    assert repr(minigrad.finfo()) == repr(torch.finfo())
    assert repr(minigrad.iinfo(minigrad.int8)) == repr(torch.iinfo(torch.int8))
    for name in ("hann_window", "hamming_window", "blackman_window", "bartlett_window"):
        for periodic in (True, False):
            a, b = getattr(minigrad, name)(7, periodic), getattr(torch, name)(7, periodic)
            np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-6)  # single precision


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")
def test_storages_show_the_memory():
    for make in (lambda m: m.arange(6.0).view(2, 3).T[1:], lambda m: m.tensor([1, 2])):
        ours, theirs = make(minigrad), make(torch)

        assert repr(ours.storage()).replace("minigrad", "torch") == repr(theirs.storage())
        assert ours.storage().tolist() == theirs.storage().tolist()
        assert ours.untyped_storage().nbytes() == theirs.untyped_storage().nbytes()
        assert ours.storage().data_ptr() == ours.untyped_storage().data_ptr()
    x = torch.arange(6.0).view(2, 3)
    assert minigrad.from_numpy(x.numpy()).resize_(3, 1).tolist() == x.resize_(3, 1).tolist()


def test_apply_and_map_take_functions_of_python():
    for m in (torch, minigrad):
        x = m.tensor([1.0, 4.0])
        assert x.apply_(lambda v: v + 1).tolist() == [2.0, 5.0]
        assert x.map_(m.tensor([3.0, 1.0]), lambda a, b: a * b).tolist() == [6.0, 5.0]
        y, z = m.tensor([1.0, 2.0]), m.tensor([10.0])
        assert x.map2_(y, z, lambda a, b, c: a + b * c).tolist() == [16.0, 25.0]


def test_programs_may_make_their_settings():
    for m in (torch, minigrad):
        assert m.backends.mps.is_available() is False
        m.backends.cudnn.deterministic, m.backends.cudnn.benchmark = True, False
        threads = m.get_num_threads()
        m.set_num_threads(threads)
        assert m.get_num_threads() == threads
        m.use_deterministic_algorithms(False)
        assert m.are_deterministic_algorithms_enabled() is False
        m.set_default_device("cpu")
        assert str(m.get_default_device()) == "cpu"
        m.set_default_device(None)  # PyTorch's other tests would run within a mode
    with pytest.raises(RuntimeError, match="CPU only"):
        minigrad.set_default_device("cuda")


def test_old_names_still_serve():
    for m in (torch, minigrad):
        x = m.autograd.Variable(m.ones(2), requires_grad=True)
        assert x.requires_grad and x.is_leaf and isinstance(m.ones(1), m.autograd.Variable)
        assert m.LongTensor([1, 2]).dtype == m.int64
        assert m.FloatTensor(2, 3).shape == (2, 3)
        assert isinstance(m.ones(2), m.FloatTensor) and not isinstance(m.ones(2), m.LongTensor)
        with pytest.warns(FutureWarning, match="deprecated in favor of"):
            m.nn.init.constant(m.ones(2), 3.0)
        with pytest.warns(UserWarning, match="deprecated"):
            assert m.range(1, 3).tolist() == [1.0, 2.0, 3.0]
        assert m.asarray([1, 2]).tolist() == [1, 2]
        assert m.frombuffer(bytearray([1, 0, 2, 0]), dtype=m.int16).tolist() == [1, 2]
        assert m.scalar_tensor(3).dtype == m.float32


def test_published_packages_find_what_they_ask_for():
    for m in (torch, minigrad):
        m._check(True, lambda: "never called")
        with pytest.raises(ValueError, match="two"):
            m._check_value(False, lambda: "two")
        assert isinstance(m.__config__.show(), str) and m.version.hip is None
        assert m.cuda.get_rng_state_all() == [] and m.cuda.set_rng_state_all([]) is None
        assert issubclass(m.cuda.OutOfMemoryError, RuntimeError)
        assert m.ones(2).layout not in (m.sparse_csr, m.sparse_csc, m.sparse_bsr, m.sparse_bsc)
        for d in (m.bfloat16, m.float8_e4m3fn, m.float8_e5m2):
            assert d.is_floating_point and d.itemsize == (2 if d is m.bfloat16 else 1)
        assert importlib.import_module(f"{m.__name__}.overrides").TorchFunctionMode
        flex = importlib.import_module(f"{m.__name__}.nn.attention.flex_attention")
        assert flex.flex_attention and flex.create_block_mask
        assert m.serialization.add_safe_globals([Fraction]) is None
        fast = m.backends.mha.get_fastpath_enabled()
        m.backends.mha.set_fastpath_enabled(False)
        assert m.backends.mha.get_fastpath_enabled() is False
        m.backends.mha.set_fastpath_enabled(fast)


@pytest.mark.parametrize("mode", ["zeros", "circular"])
def test_a_convolution_computes_with_the_weight_of_its_subclass(mode):
    def case(m):
        class Standardized(m.nn.Conv2d):
            def forward(self, x):
                w = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
                return self._conv_forward(x, w, self.bias)

        m.manual_seed(0)
        layer = Standardized(2, 3, (1, 3), padding=(1, 2), padding_mode=mode)
        z = layer(m.arange(24.0).reshape(1, 2, 3, 4))
        return list(layer._reversed_padding_repeated_twice), z

    assert outcome(case, minigrad) == outcome(case, torch)


def test_a_nan_of_the_backward_pass_is_found():
    for m in (torch, minigrad):
        x = m.tensor(-1.0, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with m.autograd.detect_anomaly(), pytest.raises(RuntimeError) as error:
                (x.sqrt() * 2).backward()
        assert "returned nan values in its 0th output." in str(error.value)
        (x.sqrt() * 2).backward()  # outside, nothing is looked at
        assert x.grad.isnan()


@pytest.mark.parametrize("normed", ["weight_norm", "spectral_norm"])
@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")
def test_computed_weights_agree(normed):
    found = []
    for m in (torch, minigrad):
        m.manual_seed(0)
        layer = getattr(m.nn.utils, normed)(m.nn.Linear(3, 4))
        x = m.tensor(draw(2, 3).astype(np.float32), requires_grad=True)
        for _ in range(2):
            (layer(x) ** 2).sum().backward()
        values = {n: t.detach().numpy() for n, t in layer.state_dict().items()}
        values |= {f"gradient of {n}": p.grad.numpy() for n, p in layer.named_parameters()}
        getattr(m.nn.utils, f"remove_{normed}")(layer)
        values["weight"] = layer.weight.detach().numpy()
        found.append(values)
    assert set(found[0]) == set(found[1])
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature:UserWarning")
def test_lazy_layers_take_their_size_from_the_first_input():
    found = []
    for m in (torch, minigrad):
        m.manual_seed(0)
        net = m.nn.Sequential(
            m.nn.LazyConv2d(4, 3, padding=1),
            m.nn.LazyBatchNorm2d(),
            m.nn.LazyInstanceNorm2d(),
            m.nn.LazyConvTranspose2d(4, 3, padding=1, bias=False),
            m.nn.Flatten(1, 2),
            m.nn.LazyConvTranspose1d(4, 1),
            m.nn.Flatten(),
            m.nn.LazyLinear(2),
        )
        sgd = m.optim.SGD(net.parameters(), lr=0.1)
        z = net(m.tensor(IMAGE.astype(np.float32)))
        z.sum().backward()
        sgd.step()
        found.append(
            [type(x).__name__ for x in net] + [p.detach().numpy() for p in net.parameters()]
        )
        assert repr(net[-1]).startswith("Linear(in_features=20")
    for a, b in zip(*found, strict=True):
        if isinstance(a, str):
            assert a == b
        else:
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_modules_as_functions_of_their_parameters():
    found = []
    for m in (torch, minigrad):
        m.manual_seed(0)
        models = [m.nn.Linear(3, 2) for _ in range(3)]
        x = m.tensor(draw(4, 3).astype(np.float32))
        params, _ = m.func.stack_module_state(models)

        def call(p, m=m, x=x, models=models):
            return m.func.functional_call(models[0], p, (x,))

        outputs = m.vmap(call)(params)
        grads = m.func.grad(lambda p: (call(p) ** 2).sum())(dict(models[1].named_parameters()))
        found.append([t.detach().numpy() for t in (outputs, grads["weight"], models[0].weight)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_the_names_that_the_site_links_to_pytorch_are_up_to_date():
    assert names.PAGE.read_text(encoding="utf-8").split() == names.shared()
