"""Distributions: the same draws, densities, entropies, divergences and gradients as PyTorch's."""

import warnings
from importlib import import_module

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad
from tests.against_torch.agree import check, draw

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")

A, B = np.abs(draw(3, 2)) + 0.3, np.abs(draw(3, 2, seed=1)) + 0.3
X, Y = draw(3, 2, seed=2), draw(3, 2, seed=3)
P = 1 / (1 + np.exp(-draw(3, 2, seed=4)))
ROWS = draw(3, 4, seed=5)
L = np.tril(draw(3, 3, seed=6), -1) + np.diag([1.0, 0.5, 2.0])
V = draw(2, 3, seed=7)


def tanh_of_normal(m, x, a):
    d = m.distributions
    return d.TransformedDistribution(
        d.Normal(x, a), [d.AffineTransform(0.5, 2.0), d.TanhTransform()]
    )


def turned(m, x, a):
    d = m.distributions
    return d.TransformedDistribution(
        d.Normal(x, a), [d.AffineTransform(0.5, -x - 3), d.SigmoidTransform()]
    )


def mixed(m, w, x, a):
    return m.distributions.MixtureSameFamily(
        m.distributions.Categorical(logits=w), m.distributions.Normal(x, a)
    )


def mixed_vectors(m, w, x, a):
    d = m.distributions
    return d.MixtureSameFamily(d.Categorical(logits=w), d.Independent(d.Normal(x, a), 1))


SHARES = np.exp(ROWS[::-1]) / np.exp(ROWS[::-1]).sum(1, keepdims=True)

# name -> how it is made, the parameters, values that could come out
KINDS = {
    "Normal": (lambda m, x, a: m.distributions.Normal(x, a), (X, A), X * 2),
    "HalfNormal": (lambda m, a: m.distributions.HalfNormal(a), (A,), B),
    "Uniform": (lambda m, x, a: m.distributions.Uniform(x, x + a), (X, A), X + 0.2),
    "Exponential": (lambda m, a: m.distributions.Exponential(a), (A,), B),
    "Laplace": (lambda m, x, a: m.distributions.Laplace(x, a), (X, A), X * 2),
    "Cauchy": (lambda m, x, a: m.distributions.Cauchy(x, a), (X, A), X * 2),
    "LogNormal": (lambda m, x, a: m.distributions.LogNormal(x, a), (X, A), B),
    "Gamma": (lambda m, a, b: m.distributions.Gamma(a, b), (A, B), B + 0.5),
    "Chi2": (lambda m, a: m.distributions.Chi2(a), (A,), B + 0.5),
    "Beta": (lambda m, a, b: m.distributions.Beta(a, b), (A, B), P),
    "Dirichlet": (lambda m, a: m.distributions.Dirichlet(a), (A,), np.stack([P[:, 0], 1 - P[:, 0]], 1)),
    "Bernoulli": (lambda m, p: m.distributions.Bernoulli(p), (P,), np.round(P)),
    "Bernoulli of logits": (lambda m, x: m.distributions.Bernoulli(logits=x), (X,), np.round(P)),
    "Geometric": (lambda m, p: m.distributions.Geometric(p), (P,), np.floor(A * 3)),
    "Geometric of logits": (lambda m, x: m.distributions.Geometric(logits=x), (X,), np.floor(A * 3)),
    "Poisson": (lambda m, a: m.distributions.Poisson(a * 8), (A,), np.floor(A * 9)),
    "Categorical": (lambda m, r: m.distributions.Categorical(r.exp()), (ROWS,), np.array([0.0, 3.0, 1.0])),
    "Categorical of logits": (lambda m, r: m.distributions.Categorical(logits=r), (ROWS,), np.array([[0.0], [3.0]])),
    "Multinomial": (lambda m, r: m.distributions.Multinomial(5, r.exp()), (ROWS,), np.array([[1.0, 0, 2, 2], [0, 0, 5, 0], [1, 2, 1, 1]])),
    "Multinomial of logits": (lambda m, r: m.distributions.Multinomial(3, logits=r), (ROWS,), np.array([0.0, 1, 2, 0])),
    "OneHotCategorical": (lambda m, r: m.distributions.OneHotCategorical(logits=r), (ROWS,), np.eye(4)[[0, 2, 2]]),
    "OneHotCategoricalStraightThrough": (lambda m, r: m.distributions.OneHotCategoricalStraightThrough(logits=r), (ROWS,), np.eye(4)[[0, 2, 2]]),
    "MultivariateNormal": (lambda m, v, low: m.distributions.MultivariateNormal(v, scale_tril=low), (V, L), V[::-1] * 2),
    "MultivariateNormal by covariance": (lambda m, v, low: m.distributions.MultivariateNormal(v, low @ low.mT), (V, L), V[::-1] * 2),
    "MultivariateNormal by precision": (lambda m, v, low: m.distributions.MultivariateNormal(v, precision_matrix=low @ low.mT), (V, L), V[::-1] * 2),
    "Independent": (lambda m, x, a: m.distributions.Independent(m.distributions.Normal(x, a), 1), (X, A), X * 2),
    "Binomial": (lambda m, p: m.distributions.Binomial(5, p), (P,), np.array([[0.0, 2.0], [5.0, 1.0], [3.0, 3.0]])),
    "Binomial of logits": (lambda m, x: m.distributions.Binomial(40, logits=x), (X,), np.floor(A * 9)),
    "Gumbel": (lambda m, x, a: m.distributions.Gumbel(x, a), (X, A), X * 2),
    "StudentT": (lambda m, a, x, b: m.distributions.StudentT(a + 2, x, b), (A, X, B), X * 2),
    "mixture of Normals": (mixed, (ROWS, ROWS, np.abs(ROWS) + 0.3), np.array([0.5, -1.0, 2.0])),
    "mixture of vectors": (mixed_vectors, (ROWS[0, :3], X, A), np.array([[0.5, -1.0], [0.1, 2.0]])),
    "RelaxedBernoulli": (lambda m, a, p: m.distributions.RelaxedBernoulli(a, p), (A, P), P[::-1].copy()),
    "RelaxedOneHotCategorical": (lambda m, r: m.distributions.RelaxedOneHotCategorical(m.tensor(0.7, dtype=r.dtype), logits=r), (ROWS,), SHARES),
    "tanh of Normal": (tanh_of_normal, (X, A), P * 1.6 - 0.8),
    "decreasing function of Normal": (turned, (X, A), P),
}  # fmt: skip
every_kind = pytest.mark.parametrize("name", KINDS)
NO_MOMENTS = {
    "tanh of Normal",
    "decreasing function of Normal",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
}
NO_DIVERGENCE = {
    "StudentT",
    "mixture of Normals",
    "mixture of vectors",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
}
NO_ENTROPY = {"Poisson", "mixture of Normals", "mixture of vectors", *NO_MOMENTS}


@every_kind
def test_log_prob_agrees(name):
    make, parameters, value = KINDS[name]
    order = 1 if name == "Chi2" else 2

    check(lambda m, x, *ps: make(m, *ps).log_prob(x), value, *parameters, order=order, rtol=1e-7)


@every_kind
def test_entropy_and_moments_agree(name):
    make, parameters, _ = KINDS[name]

    def case(m, *ps):
        d = make(m, *ps)
        moments = [] if name in NO_MOMENTS else [d.mean, d.variance]
        return [*moments, *([] if name in NO_ENTROPY else [d.entropy()])]

    if name not in NO_MOMENTS:
        check(case, *parameters, order=1, rtol=1e-7)


@every_kind
def test_draws_are_the_same(name):
    make, parameters, _ = KINDS[name]
    for shape in ((), (2, 3)):
        found = []
        for m in (torch, minigrad):
            m.manual_seed(7)
            d = make(m, *[m.tensor(p.astype(np.float32)) for p in parameters])
            found.append(d.sample(shape).numpy())
            assert tuple(d.batch_shape) + tuple(d.event_shape) == found[-1].shape[len(shape) :]
        np.testing.assert_allclose(found[1], found[0], rtol=2e-4, atol=1e-5)  # single precision
        assert found[0].dtype == found[1].dtype


@every_kind
def test_gradients_of_draws_agree(name):
    make, parameters, _ = KINDS[name]
    grads = []
    for m in (torch, minigrad):
        m.manual_seed(7)
        ps = [m.tensor(p, requires_grad=True) for p in parameters]
        d = make(m, *ps)
        if not d.has_rsample:
            with pytest.raises(NotImplementedError):
                d.rsample()
            return
        z = d.rsample((4,))
        (z * m.tensor(draw(*z.shape))).sum().backward()
        grads.append([p.grad.numpy() for p in ps])
    if name in ("Dirichlet", "Beta"):
        return  # another estimate of the same mean: see the test below
    for theirs, ours in zip(*grads, strict=True):
        np.testing.assert_allclose(
            ours, theirs, rtol=2e-3 if name in ("Gamma", "Chi2", "StudentT") else 1e-7, atol=1e-9
        )


def test_the_mean_of_dirichlets_gradients_is_the_gradient_of_the_mean():
    a = minigrad.tensor([1.5, 0.7, 3.0], requires_grad=True, dtype=minigrad.float64)
    d = minigrad.distributions.Dirichlet(a)
    minigrad.manual_seed(0)
    weights = minigrad.tensor([1.0, -2.0, 0.5], dtype=minigrad.float64)

    (estimate,) = minigrad.autograd.grad((d.rsample((20000,)) * weights).sum(-1).mean(), a)
    (exact,) = minigrad.autograd.grad((d.mean * weights).sum(), a)

    np.testing.assert_allclose(estimate.numpy(), exact.numpy(), atol=0.01)  # 20,000 draws


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in KINDS
        if n not in ("Uniform", "decreasing function of Normal", *NO_DIVERGENCE)
        and "Multinomial" not in n
    ],
)
def test_divergences_agree(name):
    make, parameters, _ = KINDS[name]
    others = [np.roll(p, 1, 0) if p is not L else L @ np.diag([0.5, 2.0, 1.0]) for p in parameters]
    n = len(parameters)

    def case(m, *ps):
        return m.distributions.kl_divergence(make(m, *ps[:n]), make(m, *ps[n:]))

    check(case, *parameters, *others, order=1, rtol=1e-7)


@pytest.mark.parametrize("name", sorted(NO_DIVERGENCE))
def test_what_has_no_divergence_there_has_none_here(name):
    make, parameters, _ = KINDS[name]
    for m in (minigrad, torch):
        d = make(m, *map(m.tensor, parameters))
        with pytest.raises(NotImplementedError, match="No KL"):
            m.distributions.kl_divergence(d, d)


def test_divergences_of_uniform_distributions_agree():
    def case(m, x, a):
        d = m.distributions
        return d.kl_divergence(d.Uniform(x, x + a), d.Uniform(x - 0.5, x + a + 1)), d.kl_divergence(
            d.Uniform(x, x + a), d.Uniform(x + 0.1, x + a)
        )

    check(case, X, A, order=0)


def test_no_divergence_is_given_under_different_functions():
    def shifted(m, loc):
        d = m.distributions
        return d.TransformedDistribution(d.Normal(0.0, 1.0), [d.AffineTransform(loc, 2.0)])

    for m in (minigrad, torch):
        assert m.distributions.kl_divergence(shifted(m, 1.0), shifted(m, 1.0)).item() == 0
        assert m.distributions.AffineTransform(1.0, 2.0).inv == shifted(m, 1.0).transforms[0].inv
        assert m.distributions.AffineTransform(1.0, 2.0).inv != shifted(m, 3.0).transforms[0].inv
        with pytest.raises(NotImplementedError):
            m.distributions.kl_divergence(shifted(m, 1.0), shifted(m, 3.0))


@pytest.mark.parametrize(
    "name",
    "Normal HalfNormal Uniform Exponential Laplace Cauchy LogNormal Gumbel".split()
    + ["tanh of Normal", "decreasing function of Normal"],
)
def test_cdf_and_its_inverse_agree(name):
    make, parameters, value = KINDS[name]

    check(lambda m, x, *ps: make(m, *ps).cdf(x), value, *parameters, order=1, rtol=1e-8)
    check(lambda m, p, *ps: make(m, *ps).icdf(p), P, *parameters, order=1, rtol=1e-8)


def test_small_probabilities_of_an_increasing_function_are_not_rounded_to_zero():
    def twice_uniform(m, x):
        d = m.distributions
        z = d.TransformedDistribution(d.Uniform(0.0, 1.0), [d.AffineTransform(0.0, 2.0)])
        return z.cdf(x).log(), z.icdf(x).log()

    check(twice_uniform, np.array([1e-20, 1e-12]), order=1, rtol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.distributions.Normal(0.0, -1.0),
        lambda m: m.distributions.Normal(m.tensor([0.0, float("nan")]), 1.0),
        lambda m: m.distributions.Normal("0", 1.0),
        lambda m: m.distributions.Uniform(1.0, 1.0),
        lambda m: m.distributions.Bernoulli(probs=1.5),
        lambda m: m.distributions.Bernoulli(),
        lambda m: m.distributions.Bernoulli(0.5).log_prob(m.tensor(0.5)),
        lambda m: m.distributions.Categorical(m.tensor(1.0)),
        lambda m: m.distributions.Categorical(m.tensor([-1.0, 2.0])),
        lambda m: m.distributions.Categorical(m.tensor([1.0, 2.0])).log_prob(m.tensor(2)),
        lambda m: m.distributions.Normal(m.zeros(3), 1.0).log_prob(m.zeros(2)),
        lambda m: m.distributions.Normal(0.0, 1.0).log_prob(0.0),
        lambda m: m.distributions.Gamma(0.0, 1.0),
        lambda m: m.distributions.MultivariateNormal(m.zeros(2), -m.eye(2)),
        lambda m: m.distributions.MultivariateNormal(m.zeros(2)),
        lambda m: m.distributions.Independent(m.distributions.Normal(0.0, 1.0), 1),
        lambda m: m.distributions.kl_divergence(
            m.distributions.Normal(0.0, 1.0), m.distributions.Categorical(m.ones(2))
        ),
        lambda m: m.distributions.Bernoulli(0.5).rsample(),
        lambda m: m.distributions.TransformedDistribution(m.distributions.Normal(0.0, 1.0), 3),
        lambda m: m.distributions.TransformedDistribution(m.distributions.Normal(0.0, 1.0), [3]),
        lambda m: m.distributions.Distribution.set_default_validate_args(3),
        lambda m: m.distributions.Binomial(-1, 0.5),
        lambda m: m.distributions.Binomial(2, 0.5).log_prob(m.tensor(3.0)),
        lambda m: m.distributions.Binomial(m.tensor([1, 2]), 0.5).enumerate_support(),
        lambda m: m.distributions.StudentT(0.0),
        lambda m: m.distributions.MixtureSameFamily(
            m.ones(2), m.distributions.Normal(m.zeros(2), 1.0)
        ),
        lambda m: m.distributions.MixtureSameFamily(
            m.distributions.Categorical(m.ones(2)), m.zeros(2)
        ),
        lambda m: mixed(m, m.zeros(2, 3), m.zeros(4, 3), 1.0),
        lambda m: mixed(m, m.zeros(2), m.zeros(3), 1.0),
        lambda m: mixture_of_rates(m).log_prob(m.tensor(-1.0)),
        lambda m: mixture_of_rates(m).expand((3,)).log_prob(-m.ones(3)),
        lambda m: m.distributions.kl_divergence(
            m.distributions.Binomial(2, m.tensor(0.5)), m.distributions.Binomial(3, m.tensor(0.5))
        ),
        lambda m: m.distributions.RelaxedBernoulli(m.tensor(1.0)),
        lambda m: relaxed(m).log_prob(m.tensor([0.2, 0.9])),
        lambda m: exponentiated(m, 1).log_prob(m.tensor([0.2, -0.9])),
        lambda m: exponentiated(m, 2).log_prob(m.ones(3, 2).negative()),
    ],
)
def test_errors_are_of_the_same_type(call):
    with pytest.raises(Exception) as theirs:
        call(torch)
    with pytest.raises(theirs.type) as ours:
        call(minigrad)
    first = str(theirs.value).strip().split("\n")[0].split(" (")[0]
    assert not first or str(ours.value).startswith(first[:35])


def mixture_of_rates(m):
    d = m.distributions
    return d.MixtureSameFamily(d.Categorical(m.ones(2)), d.Gamma(m.ones(2), 1.0))


def relaxed(m):
    return m.distributions.RelaxedOneHotCategorical(m.tensor(0.5), m.tensor([0.2, 0.8]))


def exponentiated(m, axes):
    d = m.distributions
    return d.TransformedDistribution(
        d.Independent(d.Normal(m.zeros(3, 2), 1.0), axes), [d.ExpTransform()]
    )


def test_the_support_of_vectors_prints_as_in_pytorch():
    for make in (
        relaxed,
        lambda m: exponentiated(m, 1),
        lambda m: exponentiated(m, 2),
        mixture_of_rates,
        lambda m: mixed_vectors(m, m.zeros(3), m.zeros(3, 2), 1.0),
    ):
        assert repr(make(minigrad).support) == repr(make(torch).support)


def test_the_samples_that_programs_draw_by_a_private_function():
    def run(m):
        m.manual_seed(0)
        a = m.tensor([0.5, 1.0, 3.0], requires_grad=True)
        x = m._standard_gamma(a)
        x.sum().backward()
        other = m._standard_gamma(m.ones(2), generator=m.Generator().manual_seed(3))
        return [*x.tolist(), *a.grad.tolist(), *other.tolist()]

    assert run(minigrad) == pytest.approx(run(torch), rel=1e-4)  # PyTorch approximates the gradient


def test_a_transform_knows_how_many_axes_it_works_on():
    def axes(m):
        d = m.distributions
        some = (
            d.ExpTransform(),
            d.AffineTransform(0.0, 1.0),
            d.AffineTransform(0.0, 1.0, event_dim=1),
        )
        return [t.event_dim for t in some] + [t.inv.event_dim for t in some]

    assert axes(minigrad) == axes(torch) == [0, 0, 1] * 2


def test_a_constraint_knows_its_bounds():
    """As transforms of normalizing flows read them."""

    def bounds(m):
        d = m.distributions
        c, box = d.constraints, d.Uniform(m.tensor([0.0, 1.0]), m.tensor([2.0, 3.0])).support
        some = (
            c.unit_interval,
            c.less_than(3),
            c.positive,
            c.nonnegative_integer,
            c.integer_interval(0, 2),
            box,
        )
        return [
            [str(getattr(x, name, None)) for name in ("lower_bound", "upper_bound")] for x in some
        ]

    assert bounds(minigrad) == bounds(torch)


@pytest.mark.parametrize(
    "make",
    [
        lambda m, a: m.distributions.Beta(a, a),
        lambda m, a: m.distributions.Dirichlet(a.expand(3)),
        lambda m, a: m.distributions.Gamma(a, 0.25),
        lambda m, a: m.distributions.Chi2(a),
        lambda m, a: m.distributions.StudentT(a),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_of_tiny_shapes_are_numbers(make, dtype):
    found = []
    for m in (torch, minigrad):
        m.manual_seed(0)
        found.append(make(m, m.tensor([1e-6], dtype=getattr(m, dtype))).sample((4,)).numpy())

    assert np.isfinite(found[1]).all()
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_they_print_as_in_pytorch():
    for make in (
        lambda m: m.distributions.Normal(0.0, 1.0),
        mixture_of_rates,
        lambda m: m.distributions.Categorical(logits=m.zeros(3)),
        lambda m: m.distributions.Normal(m.zeros(3), 1.0),
        lambda m: m.distributions.Independent(m.distributions.Normal(m.zeros(3), 1.0), 1),
        lambda m: m.distributions.Poisson(m.ones(1)),
        lambda m: m.distributions.Beta(1.0, m.ones(1)),
        lambda m: m.distributions.Binomial(2, 0.5),
        lambda m: m.distributions.StudentT(3.0),
        lambda m: m.distributions.Gumbel(0.0, 1.0),
        lambda m: m.distributions.Geometric(logits=0.5),
        lambda m: mixed(m, m.zeros(2), m.zeros(2), 1.0),
        lambda m: m.distributions.RelaxedBernoulli(m.tensor(1.0), 0.5),
    ):
        assert repr(make(minigrad)).replace("minigrad", "torch") == repr(make(torch))


@pytest.mark.parametrize("kind", ["Bernoulli", "Geometric", "Categorical"])
def test_what_is_computed_from_the_parameter_is_kept_and_printed(kind):
    for given, other in (("probs", "logits"), ("logits", "probs")):
        ours, theirs = (
            getattr(m.distributions, kind)(**{given: m.tensor([0.25, 0.75])})
            for m in (minigrad, torch)
        )
        assert getattr(ours, other) is getattr(ours, other)
        assert getattr(theirs, other) is getattr(theirs, other)
        assert repr(ours).replace("minigrad", "torch") == repr(theirs)


def test_matrices_of_a_multivariate_normal_are_kept_and_printed():
    names = ["covariance_matrix", "precision_matrix", "scale_tril"]
    for given in names:
        ours, theirs = (
            m.distributions.MultivariateNormal(m.zeros(3, 2), **{given: m.tensor([[2.0, 0], [0.5, 1]])}, validate_args=False)
            for m in (minigrad, torch)
        )  # fmt: skip
        for other in names:
            assert repr(ours.expand((4, 3))).replace("minigrad", "torch") == repr(
                theirs.expand((4, 3))
            )
            assert getattr(ours, other) is getattr(ours, other)
            assert getattr(theirs, other) is getattr(theirs, other)


@every_kind
def test_modes_and_what_can_be_enumerated_agree(name):
    make, parameters, _ = KINDS[name]

    def found(m, ask):
        try:
            return ask(make(m, *map(m.tensor, parameters))).numpy().round(5).tolist()
        except NotImplementedError:
            return "refused"

    for ask in (lambda d: d.mode, lambda d: d.enumerate_support()):
        assert str(found(minigrad, ask)) == str(found(torch, ask))


@every_kind
def test_expanding_agrees(name):
    make, parameters, value = KINDS[name]

    def case(m, value, *ps):
        d = make(m, *ps)
        d = d.expand((2, *d.batch_shape))
        assert d.sample((2,)).shape == (2, *d.batch_shape, *d.event_shape)
        return d.log_prob(value), d.expand((4, *d.batch_shape)).log_prob(value)

    check(case, value, *parameters, order=1)


def squashed(m, cache_size):
    """The policy of published programs for soft actor-critic: a transform and a distribution of their own."""
    d = m.distributions

    class Tanh(d.transforms.Transform):
        domain, codomain = d.constraints.real, d.constraints.interval(-1.0, 1.0)
        bijective, sign = True, +1

        def _call(self, x):
            return x.tanh()

        def _inverse(self, y):
            return 0.5 * (y.log1p() - (-y).log1p())

        def log_abs_det_jacobian(self, x, y):
            return 2.0 * (0.6931471805599453 - x - m.nn.functional.softplus(-2.0 * x))

    class Squashed(d.transformed_distribution.TransformedDistribution):
        def __init__(self, loc, scale):
            super().__init__(d.Normal(loc, scale), [Tanh(cache_size=cache_size)])

    m.manual_seed(0)
    loc = m.tensor([0.5, 20.0], requires_grad=True)  # tanh(20) is 1.0, whose inverse is infinite
    policy = Squashed(loc, m.ones(2))
    action = policy.rsample()
    policy.log_prob(action).sum().backward()
    return [action, loc.grad, policy.log_prob(policy.sample((2,)))]


@pytest.mark.parametrize("cache_size", [0, 1])
def test_a_transform_of_ones_own_remembers_what_it_came_from(cache_size):
    ours, theirs = squashed(minigrad, cache_size), squashed(torch, cache_size)

    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5)
    assert np.isfinite(ours[1].numpy()).all() == bool(cache_size)


def test_transforms_may_broadcast_and_change_shapes():
    def made(m):
        d = m.distributions

        class Ends(d.Transform):
            """(x0, x1) to (x0, x1, x0 + x1)"""

            domain = codomain = d.constraints.independent(d.constraints.real, 1)

            def _call(self, x):
                return m.cat([x, x.sum(-1, keepdim=True)], -1)

            def _inverse(self, y):
                return y[..., :2]

            def log_abs_det_jacobian(self, x, y):
                return x.sum(-1)

            def forward_shape(self, shape):
                return (*shape[:-1], shape[-1] + 1)

            def inverse_shape(self, shape):
                return (*shape[:-1], shape[-1] - 1)

        lines = d.AffineTransform(m.zeros(3), m.ones(2, 1))
        policy = d.TransformedDistribution(d.Normal(0.0, 1.0), [lines, d.TanhTransform()])
        ends = d.TransformedDistribution(d.Normal(m.zeros(4, 2), 1.0), [d.ExpTransform(), Ends()])
        m.manual_seed(0)
        found = [policy.sample(), policy.log_prob(policy.sample()), ends.rsample((5,))]
        found.append(ends.log_prob(found[-1]))
        shapes = [x for y in (policy, ends) for x in (y.batch_shape, y.event_shape)]
        shapes += [lines.inv.forward_shape((2, 1)), d.ExpTransform().inv.inverse_shape((2,))]
        return found, [tuple(shape) for shape in shapes]

    (ours, our_shapes), (theirs, their_shapes) = made(minigrad), made(torch)

    assert our_shapes == their_shapes
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4)


def test_a_constraint_of_ones_own_is_checked():
    def made(m):
        d = m.distributions

        class _Odd(d.constraints.Constraint):
            is_discrete = True

            def check(self, value):
                return value % 2 == 1

        class Coin(d.Distribution):
            arg_constraints = {"p": d.constraints.unit_interval}
            support = _Odd()

            def __init__(self, p):
                self.p = p
                super().__init__(p.shape)

            def log_prob(self, value):
                self._validate_sample(value)
                return m.where(value == 3, self.p.log(), (1 - self.p).log())

        coins = d.Independent(Coin(m.tensor([0.25, 0.5])), 1)
        with pytest.raises(ValueError, match="within the support"):
            coins.log_prob(m.tensor([1, 2]))
        pairs = d.constraints.independent(Coin.support, 1)
        shown = [repr(Coin.support), repr(pairs), pairs.event_dim, pairs.is_discrete]
        both = pairs.check(m.tensor([[1, 3], [1, 2]])).tolist()
        return shown, both, round(coins.log_prob(m.tensor([1, 3])).item(), 5)

    assert made(minigrad) == made(torch)


def test_the_inverse_of_a_transform_is_a_transform_and_axes_of_events_are_those_of_the_domain():
    def made(m):
        d = m.distributions
        exp, line = (
            d.ExpTransform(),
            d.AffineTransform(m.zeros(2), m.tensor([2.0, 3.0]), event_dim=1),
        )
        z = d.TransformedDistribution(d.Normal(m.zeros(2), 1.0), line)
        y = m.tensor([1.0, 2.0])
        assert exp.inv.inv is exp and exp.inv(exp(y)).shape == (2,)
        with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
            d.TanhTransform(cache_size=2)
        found = [exp.inv(y), exp.inv.log_abs_det_jacobian(y, y.log()), z.log_prob(m.ones(2))]
        return [
            tuple(z.batch_shape),
            tuple(z.event_shape),
            *(np.round(f.numpy(), 5).tolist() for f in found),
        ]

    assert made(minigrad) == made(torch)


def test_a_normal_distribution_may_keep_its_covariance_in_another_way():
    def seen(m):
        Normal = m.distributions.MultivariateNormal

        class Lazy(Normal):  # as in gpytorch, which factors the covariance when it is needed
            def __init__(self, loc, covariance):
                self.loc, self._covariance = loc, covariance
                super(Normal, self).__init__(loc.shape[:-1], loc.shape[-1:], validate_args=False)

            @property
            def _unbroadcasted_scale_tril(self):
                return m.linalg.cholesky(self._covariance)

        x = Lazy(m.tensor([1.0, 2.0]), m.tensor([[2.0, 0.5], [0.5, 1.0]]))
        return [
            x.mean,
            x.variance,
            x.mode,
            x.scale_tril,
            x.precision_matrix,
            x.entropy(),
            x.log_prob(x.loc * 2),
        ]

    for ours, theirs in zip(seen(minigrad), seen(torch), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


def own_kinds(m):
    """Classes as programs write them: one without constraints, and one of the exponential family."""
    d = m.distributions

    class Bare(d.Distribution):
        def log_prob(self, x):
            self._validate_sample(x)
            return -x

    class Rate(d.ExponentialFamily):
        arg_constraints = {"rate": d.constraints.positive}
        support = d.constraints.nonnegative
        _mean_carrier_measure = 0

        def __init__(self, rate):
            self.rate = rate
            super().__init__(rate.shape)

        @property
        def _natural_params(self):
            return (-self.rate,)

        def _log_normalizer(self, x):
            return -(-x).log()

    return Bare, Rate


def test_a_class_of_the_exponential_family_gets_its_entropy():
    found = []
    for m in (torch, minigrad):
        rate = m.tensor(A.copy(), requires_grad=True)
        d = own_kinds(m)[1](rate)
        found.append(d.entropy().detach().numpy())
        assert np.allclose(found[-1], m.distributions.Exponential(rate).entropy().detach().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: own_kinds(m)[0](),
        lambda m: own_kinds(m)[0](validate_args=False),
        lambda m: own_kinds(m)[0]().log_prob(m.ones(2)),
        lambda m: m.distributions.Normal(0.0, 1.0).sample_n(3),
        lambda m: ambiguous(m, True),
        lambda m: ambiguous(m, False),
        lambda m: mixture_of_rates(m).log_prob(m.ones(2)),
        lambda m: tanh_of_normal(m, m.zeros(2), m.ones(2)).log_prob(m.zeros(2)),
    ],
)
def test_what_a_program_is_warned_of(call):
    found = []
    for m in (torch, minigrad):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(m)
        found.append([(w.category, str(w.message).split("`")[:2]) for w in caught])

    assert found[0] == found[1]
    assert all(w.filename == __file__ for w in caught)  # ours, at the line of the call


def ambiguous(m, really):
    """A divergence for which two formulas are equally specific, unless one is given for the pair itself."""
    d = m.distributions

    class Left(d.Normal):
        pass

    class Right(d.Normal):
        pass

    d.register_kl(Left, d.Normal)(lambda p, q: 1)
    d.register_kl(d.Normal, Right)(lambda p, q: 2)
    if not really:
        d.register_kl(Left, Right)(lambda p, q: 3)
    assert d.kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0)) == (1 if really else 3)


@pytest.mark.parametrize(
    "batches", [((), ()), ((3,), ()), ((4, 3), (3,)), ((2, 1), (2, 3)), ((), (2,))]
)
def test_private_helpers_that_programs_import(batches):
    def run(m):
        of = import_module(f"{m.__name__}.distributions.multivariate_normal")
        scale = m.eye(2) + m.tensor([[0.0, 0.0], [0.5, 1.0]])
        x, lower = m.ones(*batches[0], 2), scale.expand(*batches[1], 2, 2)
        product = of._batch_mv(lower, x)
        # PyTorch's takes no x with fewer axes than the matrix.
        squares = of._batch_mahalanobis(lower, x.expand(product.shape))
        return (
            product.tolist(),
            squares.tolist(),
            (of._precision_to_scale_tril(lower @ lower.mT) * 1000).round().tolist(),
            tuple(of._standard_normal((2, 3), m.float32, "cpu").shape),
        )

    assert run(minigrad) == run(torch)
