"""Derivatives of functions: both modes, nested in every order, against formulas and differences."""

import numpy as np
import pytest

import minigrad
from minigrad import func
from minigrad.autograd import functional
from tests.numeric import numeric_vjp

r = np.random.default_rng(0)
A = minigrad.tensor(r.normal(size=(3, 4)))
X = minigrad.tensor(r.normal(size=4))
V = minigrad.tensor(r.normal(size=4))


def layer(x):
    return (A @ x).tanh()


def energy(x):
    return (layer(x) ** 2).sum() + x[0] * x[1]


J = np.array([numeric_vjp(lambda x: np.tanh(A.numpy() @ x), X.numpy(), e) for e in np.eye(3)])


@pytest.mark.parametrize(
    "draw", ["bernoulli(x)", "poisson(x)", "binomial(8 * x, x)", "normal(x, 1)"]
)
def test_a_sample_does_not_move_with_its_parameter(draw):
    x = minigrad.tensor([0.5, 1.0])

    _, z_dot = minigrad.func.jvp(lambda x: eval(f"minigrad.{draw}"), (x,), (x,))

    assert z_dot.tolist() == [0.0, 0.0]


def test_jacobians_by_rows_and_by_columns():
    np.testing.assert_allclose(func.jacrev(layer)(X), J, rtol=1e-7)
    np.testing.assert_allclose(func.jacfwd(layer)(X), J, rtol=1e-7)
    np.testing.assert_allclose(functional.jacobian(layer, X), J, rtol=1e-7)
    np.testing.assert_allclose(functional.jacobian(layer, X, strategy="forward-mode"), J, rtol=1e-7)


def test_products_with_the_jacobian():
    g = minigrad.tensor(r.normal(size=3))
    np.testing.assert_allclose(func.vjp(layer, X)[1](g)[0], g.numpy() @ J, rtol=1e-7)
    np.testing.assert_allclose(func.jvp(layer, (X,), (V,))[1], J @ V.numpy(), rtol=1e-7)
    np.testing.assert_allclose(functional.vjp(layer, X, g)[1], g.numpy() @ J, rtol=1e-7)
    np.testing.assert_allclose(functional.jvp(layer, X, V)[1], J @ V.numpy(), rtol=1e-7)
    np.testing.assert_allclose(func.linearize(layer, X)[1](V), J @ V.numpy(), rtol=1e-7)


def test_hessians_in_all_four_orders_agree():
    H = func.hessian(energy)(X).numpy()
    np.testing.assert_allclose(H, H.T, rtol=1e-10)
    for outer in (func.jacfwd, func.jacrev):
        for inner in (func.jacfwd, func.jacrev):
            np.testing.assert_allclose(outer(inner(energy))(X), H, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(functional.hessian(energy, X), H, rtol=1e-10)
    np.testing.assert_allclose(functional.hvp(energy, X, V)[1], H @ V.numpy(), rtol=1e-10)
    np.testing.assert_allclose(functional.vhp(energy, X, V)[1], H @ V.numpy(), rtol=1e-10)
    step = 1e-5
    gradient = func.grad(energy)
    numeric = [
        (gradient(X + step * e).numpy() - gradient(X - step * e).numpy()) / (2 * step)
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(H, numeric, rtol=1e-6, atol=1e-8)


def test_third_derivatives():
    f = func.grad(func.grad(func.grad(lambda x: x**5)))
    forward = lambda x: func.jvp(
        lambda x: func.jvp(lambda x: func.jvp(lambda x: x**5, (x,), (one,))[1], (x,), (one,))[1],
        (x,),
        (one,),
    )[1]
    x, one = (
        minigrad.tensor(2.0, dtype=minigrad.float64),
        minigrad.tensor(1.0, dtype=minigrad.float64),
    )
    assert f(x).item() == forward(x).item() == 240.0


def test_the_levels_of_nested_forward_mode_are_kept_apart():
    """d/dx [x * d/dy (x + y)] = 1: the classic test of perturbation confusion."""
    one = minigrad.tensor(1.0)

    def derivative(f, x):
        return func.jvp(f, (x,), (one,))[1]

    assert derivative(lambda x: x * derivative(lambda y: x + y, one), one).item() == 1.0


def test_arguments_and_structures():
    f = lambda a, b, scale=1.0: (a * b["w"]).sum() * scale
    a, b = minigrad.tensor([1.0, 2.0]), {"w": minigrad.tensor([3.0, 4.0])}
    ga, gb = func.grad(f, argnums=(0, 1))(a, b, scale=2.0)
    assert ga.tolist() == [6.0, 8.0] and gb["w"].tolist() == [2.0, 4.0]
    g, (value, aux) = func.grad_and_value(lambda x: (x.sum(), {"twice": x * 2}), has_aux=True)(a)
    assert (g.tolist(), value.item(), aux["twice"].tolist()) == ([1.0, 1.0], 3.0, [2.0, 4.0])
    two = func.jacrev(lambda x: (x * 2, x.sum()), chunk_size=1, _preallocate_and_copy=True)(a)
    assert two[0].tolist() == [[2.0, 0.0], [0.0, 2.0]] and two[1].tolist() == [1.0, 1.0]


def test_entries_of_dicts_go_by_their_keys():
    a, b, one, ten = (minigrad.tensor(x) for x in (2.0, 3.0, 1.0, 10.0))
    product = lambda d: d["a"] * d["b"]
    primals, tangents = {"a": a, "b": b}, {"b": ten, "a": one}

    assert func.jvp(product, (primals,), (tangents,))[1].item() == 1 * 3 + 2 * 10
    assert func.linearize(product, primals)[1](tangents).item() == 1 * 3 + 2 * 10
    assert func.vjp(lambda x: {"a": x, "b": 5 * x}, a)[1](tangents)[0].item() == 1 + 5 * 10


def test_results_are_connected_to_what_was_differentiated_outside_only():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    x = minigrad.tensor([3.0, 4.0])
    inner = func.grad(lambda x: (w * x * x).sum())(x)
    assert inner.requires_grad
    inner.sum().backward()
    assert w.grad.tolist() == [6.0, 8.0]
    assert not func.grad(lambda x: (x * x).sum())(x).requires_grad
    assert func.grad(lambda x: (x * x).sum())(w).requires_grad
    assert not functional.jacobian(lambda x: x * x, w).requires_grad


def test_vmap_maps_over_a_batch():
    batch = minigrad.tensor(r.normal(size=(5, 4)))
    rows = func.vmap(func.grad(energy))(batch)
    np.testing.assert_allclose(rows[3], func.grad(energy)(batch[3]))
    np.testing.assert_allclose(
        func.vmap(layer, out_dims=1)(batch), np.tanh(A.numpy() @ batch.numpy().T)
    )


def test_vmap_places_each_result_and_lets_through_what_all_examples_share():
    x = minigrad.arange(6.0).reshape(2, 3)

    a, (b, c), word = func.vmap(
        lambda row: (row, [row, row * 0 + 1], "all"), out_dims=(0, 1, None)
    )(x)

    assert a.shape == (2, 3) and b.shape == c.shape == (3, 2) and word == "all"


@pytest.mark.parametrize("transform", [func.vmap, lambda f, **how: func.jacfwd(f, **how)])
def test_random_numbers_in_a_function_that_is_called_several_times(transform):
    noisy = lambda x: x * minigrad.rand(())
    x, state = minigrad.ones(3), minigrad.get_rng_state()

    with pytest.raises(RuntimeError, match="random operation while in randomness error mode"):
        transform(noisy)(x)
    same = transform(noisy, randomness="same")(x)
    following = minigrad.rand(())

    minigrad.set_rng_state(state)
    assert len(set(same[same != 0].tolist())) == 1 and same.max() == minigrad.rand(())
    assert following == minigrad.rand(())  # as if it had been called once
    different = transform(noisy, randomness="different")(x)
    assert len(set(different[different != 0].tolist())) == 3


def test_errors():
    with pytest.raises(RuntimeError, match="Expected f.* to return a scalar Tensor"):
        func.grad(layer)(X)
    with pytest.raises(RuntimeError, match="tuple"):
        func.jvp(layer, X, V)
    with pytest.raises(RuntimeError, match="different size"):
        func.jvp(layer, (X,), (V[:2],))
    with pytest.raises(RuntimeError, match="no level exists"):
        minigrad.autograd.forward_ad.make_dual(X, V)


SEVERAL = {
    "two results": lambda x: (x * x, (x * 2) * 3),
    "one unrelated": lambda x: (x * x, minigrad.ones(2)),
    "one twice": lambda x: (y := x * x, y),
    "the input itself": lambda x: (x, x.sum()),
    "all unrelated": lambda x: (minigrad.ones(2), minigrad.ones(())),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_every_way_to_a_jacobian_agrees_for_several_results(name):
    f, x = SEVERAL[name], minigrad.tensor([1.0, 2.0])
    by_columns = func.jacfwd(f)(x)

    for jacobian in (functional.jacobian, lambda f, x: func.jacrev(f)(x)):
        for block, expected in zip(jacobian(f, x), by_columns, strict=True):
            assert block.tolist() == expected.tolist()


def test_a_jacobian_without_entries_has_the_dtype_of_its_rows_or_columns():
    x, wide = minigrad.ones(0), minigrad.ones(2, dtype=minigrad.float64)

    assert func.jacfwd(lambda x: wide + 0)(x).dtype == minigrad.float64  # tangents, as in PyTorch
    assert func.jacrev(lambda x: wide + 0)(x).dtype == minigrad.float32  # gradients


def test_a_jacobian_of_several_results_has_the_derivatives_of_each():
    blocks = functional.jacobian(lambda x: (x * x, (x * 2) * 3), minigrad.tensor([1.0, 2.0]))

    assert [b.tolist() for b in blocks] == [[[2, 0], [0, 4]], [[6, 0], [0, 6]]]


def test_a_hessian_is_zeros_where_the_gradient_is_constant():
    x, y = minigrad.tensor([1.0, 2.0]), minigrad.tensor([3.0])
    (xx, xy), (yx, yy) = functional.hessian(lambda x, y: (x * x).sum() + 5 * y, (x, y))

    assert [b.tolist() for b in (xx, xy, yx, yy)] == [[[2, 0], [0, 2]], [[0], [0]], [[0, 0]], [[0]]]
    assert functional.hessian(lambda x: x.sum(), x).tolist() == [[0, 0], [0, 0]]


def test_the_gradient_of_a_whole_number_is_zeros():
    gradient, value = func.grad_and_value(lambda x: x.argmax())(X)

    assert value.dtype == minigrad.int64 and gradient.tolist() == [0.0] * 4


@pytest.mark.parametrize("ask", ["jacobian", "vjp", "hessian", "vhp"])
def test_strict_refuses_an_unrelated_input(ask):
    f = lambda x, y: (x * x).sum()
    with pytest.raises(RuntimeError, match="independent of (the )?input"):
        inputs = minigrad.ones(2), minigrad.ones(2)
        v = (inputs,) if ask == "vhp" else ()
        getattr(functional, ask)(f, inputs, *v, strict=True)


def test_what_is_computed_without_grad_is_a_constant_for_the_outer_gradient():
    def f(x):
        with minigrad.no_grad():
            slope = func.grad(lambda y: y**3)(x)
        return slope * x

    assert func.grad(f)(minigrad.tensor(2.0)).item() == 12.0  # 3 x**2, not 9 x**2


def test_a_gradient_within_no_grad_has_no_history():
    w = minigrad.tensor(3.0, requires_grad=True)
    with minigrad.no_grad():
        g = func.grad(lambda x: x * x * w)(minigrad.tensor(2.0))

    assert g.item() == 12.0 and not g.requires_grad


def tangent(program):
    """The tangents of what a program makes of x = [1, 2, 3, 4] that moves along [1, 2, 3, 4]."""
    forward = minigrad.autograd.forward_ad
    x = minigrad.tensor([1.0, 2.0, 3.0, 4.0])
    with forward.dual_level():
        results = program(forward.make_dual(x, x.clone()))
        return [forward.unpack_dual(z).tangent.tolist() for z in results]


def written_base(x):
    y = minigrad.zeros(4)
    v = y[:2]
    y += x
    return v, y


def written_view(x):
    y = minigrad.zeros(4)
    v, w = y[:2], y[1:]
    v += x[2:]
    return v, y, w


def by_strides(x):
    return (x.view(2, 2).t().contiguous().t().contiguous().as_strided((2, 2), (1, 2)),)


def by_strides_of_a_transpose(x):
    y = (x * 2).view(2, 2).t()
    return (y.as_strided((2, 1), (2, 1)),)


def cleared(x):
    y = x * 1
    v = y[:2]
    y.zero_()
    return v, y


def written_dual(x):
    v = x[:2]
    x *= 2
    return v, x


@pytest.mark.parametrize(
    "program, expected",
    [
        (written_base, [[1, 2], [1, 2, 3, 4]]),
        (written_view, [[3, 4], [3, 4, 0, 0], [4, 0, 0]]),
        (by_strides, [[[1, 3], [2, 4]]]),
        (by_strides_of_a_transpose, [[[2], [6]]]),
        (cleared, [[0, 0], [0, 0, 0, 0]]),
        (written_dual, [[2, 4], [2, 4, 6, 8]]),
    ],
)  # fmt: skip
def test_the_tangent_of_a_view_is_a_view_of_the_tangent(program, expected):
    assert tangent(program) == expected


def test_the_tangent_of_where_has_the_shape_of_the_result():
    c, y = minigrad.tensor([True, True, False]), minigrad.zeros(2, 1)

    jacobian = func.jacfwd(lambda x: minigrad.where(c, x, y))(minigrad.ones(1, 3))

    assert jacobian.sum((0, 2, 3)).tolist() == [2.0, 2.0, 0.0] and jacobian.shape == (2, 3, 1, 3)


@pytest.mark.parametrize("f", [lambda x: x + 1, lambda x: minigrad.zeros(4).copy_(x)])
def test_a_tangent_has_its_own_memory(f):
    x, forward = minigrad.ones(4), minigrad.autograd.forward_ad
    x_dot = minigrad.ones(4)
    with forward.dual_level():
        forward.unpack_dual(f(forward.make_dual(x, x_dot))).tangent.zero_()

    assert x_dot.tolist() == [1.0] * 4


@pytest.mark.parametrize("other", [minigrad.tensor([2, 3]), minigrad.tensor([True, False])])
def test_a_gradient_has_the_type_of_its_input_beside_whole_numbers(other):
    x = minigrad.tensor([1.5, 2.0], requires_grad=True)
    (x * other.int()).sum().backward()

    assert x.grad.dtype == minigrad.float32


def test_the_older_names_can_be_nested_in_forward_mode():
    x = minigrad.tensor([0.5, 1.0])
    slope = lambda x: functional.vjp(lambda y: y**3, x, minigrad.ones(2), create_graph=True)[1]

    assert func.jvp(slope, (x,), (minigrad.ones(2),))[1].tolist() == [3.0, 6.0]  # 6 x
    along = lambda x: functional.jvp(lambda y: y**3, x, minigrad.ones(2), create_graph=True)[1]
    assert func.jvp(along, (x,), (minigrad.ones(2),))[1].tolist() == [3.0, 6.0]


def test_the_tangent_of_a_convolution_is_finite_beside_an_infinite_result():
    x, w = minigrad.tensor([[[np.inf, 1.0, 2.0]]]), minigrad.tensor([[[1.0, 1.0]]])

    _, z_dot = func.jvp(lambda x: minigrad.conv1d(x, w), (x,), (minigrad.ones(1, 1, 3),))

    assert z_dot.tolist() == [[[2.0, 2.0]]]


def test_a_functional_call_that_fails_leaves_the_module_as_it_was():
    layer = minigrad.nn.Linear(2, 1)
    weight = layer.weight
    with pytest.raises(AttributeError, match="Linear has no attribute `unknown`"):
        func.functional_call(
            layer, {"weight": minigrad.ones(1, 2), "unknown.weight": weight}, minigrad.ones(2)
        )
    assert layer.weight is weight


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[2:].as_strided((2, 2), (1, 1), 1),
        lambda x: x.expand(2, 6).as_strided((2, 3), (0, 1), 0),
    ],
)
def test_a_transform_sees_through_the_memory_of_its_input(f):
    x = minigrad.arange(6.0, dtype=minigrad.float64, requires_grad=True)

    assert minigrad.autograd.gradcheck(f, [x], check_forward_ad=True)
    assert minigrad.autograd.gradgradcheck(f, [x])


class Tied(minigrad.nn.Module):
    """Adds the same parameter twice, and counts its calls in a new tensor."""

    def __init__(self):
        super().__init__()
        self.scale = self.again = minigrad.nn.Parameter(minigrad.ones(1))
        self.calls = minigrad.nn.Buffer(minigrad.zeros(1))
        self.rate = 0.5

    def forward(self, x):
        self.calls = self.calls + 1
        return x + self.scale + self.again


def test_a_functional_call_returns_what_the_module_assigned_and_takes_extra_names():
    module, x = Tied(), minigrad.zeros(1)
    before = module.calls
    given = {"calls": minigrad.ones(1), "extra": x}

    assert func.functional_call(module, given, x).tolist() == [2.0]
    assert given["calls"].tolist() == [2.0]
    assert module.calls is before and not hasattr(module, "extra")


def test_a_module_may_have_other_tensors_within_a_block():
    from minigrad.nn.utils.stateless import _reparametrize_module

    layer, weight = minigrad.nn.Linear(2, 1, bias=False), minigrad.ones(1, 2, requires_grad=True)
    own = layer.weight

    with _reparametrize_module(layer, {"weight": weight}):
        layer(minigrad.ones(1, 2)).sum().backward()

    assert weight.grad.tolist() == [[1.0, 1.0]] and layer.weight is own and own.grad is None


@pytest.mark.parametrize(
    "given, strict, error, message",
    [
        ({"scale": 1, "again": 2}, False, ValueError, r"keys \['again', 'scale'\]"),
        ({"scale": 1}, True, RuntimeError, r"Missing key\(s\): 'calls'\."),
        ({"scale": 1, "calls": 1, "new": 1}, True, RuntimeError, r"Unexpected key\(s\): 'new'\."),
        ({"rate": 1}, False, TypeError, "attribute `rate`: 0.5 is not an instance"),
    ],
)
def test_a_functional_call_refuses_wrong_names(given, strict, error, message):
    module = Tied()
    tensors = {name: minigrad.tensor([float(value)]) for name, value in given.items()}

    with pytest.raises(error, match=message):
        func.functional_call(module, tensors, minigrad.zeros(1), strict=strict)
    assert module.scale is module.again and module.rate == 0.5


def test_models_of_an_ensemble_agree_about_what_requires_a_gradient():
    models = [minigrad.nn.Linear(2, 1) for _ in range(2)]
    models[1].weight.requires_grad_(False)

    with pytest.raises(RuntimeError, match="weight of each model to have the same .requires_grad"):
        func.stack_module_state(models)


def test_what_a_transform_hands_on_as_aux_has_no_history_of_its_own():
    x, w = minigrad.arange(3.0), minigrad.ones(3, requires_grad=True)

    def f(x):
        return (x * x).sum(), {"mean": x.mean(), "of w": (x * w).sum()}

    for _, aux in (func.grad(f, has_aux=True)(x), func.jacrev(f, has_aux=True)(x)):
        assert aux["mean"].grad_fn is None and aux["of w"].requires_grad
    assert func.vjp(f, x, has_aux=True)[2]["mean"].grad_fn is None


def test_linearize_calls_its_function_once_and_keeps_its_random_numbers():
    calls = []

    def f(x, rate):
        calls.append(x)
        return minigrad.nn.functional.dropout(x * x, 0.5), {
            "index": x.argmax(),
            "product": rate * x,
        }

    (value, _), push = func.linearize(f, X, V)
    (tangent, others), (again, _) = push(V, V), push(2 * V, V)

    assert len(calls) == 1
    np.testing.assert_allclose(tangent, (2 * value / X) * V, rtol=1e-12)
    np.testing.assert_allclose(again, 2 * tangent, rtol=1e-12)
    np.testing.assert_allclose(others["product"], V * X + V * V, rtol=1e-12)
    assert others["index"].tolist() == 0


@pytest.mark.parametrize("outer", [func.grad, func.jacrev, func.hessian])
@pytest.mark.parametrize("with_graph", [False, True])
def test_a_gradient_of_a_gradient_has_a_history_only_if_its_own_input_has_one(outer, with_graph):
    penalty = lambda w: (func.grad(lambda x: (w * x).sin().sum())(V) ** 2).sum()
    w = X.clone().requires_grad_(with_graph)

    assert outer(penalty)(w).requires_grad == with_graph


def test_leaves_that_a_function_makes_leave_no_history():
    def normalized(x):
        return minigrad.nn.LayerNorm(4, dtype=minigrad.float64)(x)

    value, pull = func.vjp(normalized, X)

    assert not value.requires_grad
    assert not pull(V)[0].requires_grad
    assert not func.grad(lambda x: normalized(x).sum())(X).requires_grad


@pytest.mark.parametrize(
    "write",
    [
        lambda z: z.exp_(),
        lambda z: z[:2].sigmoid_(),
        lambda z: z.view(2, 2).t()[0].tanh_(),
        lambda z: z.view(2, 2).diagonal().exp_(),
    ],
)
def test_hessians_through_a_write_that_reads_its_result(write):
    def f(x):
        z = x * 1
        write(z)
        return (z * x).sum() + z.sin().sum()

    H = func.hessian(f)(X)

    step = 1e-6
    gradient = func.grad(f)
    numeric = [
        (gradient(X + step * e) - gradient(X - step * e)) / (2 * step) for e in minigrad.eye(4)
    ]
    np.testing.assert_allclose(H, minigrad.stack(numeric), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(H, func.jacrev(func.jacrev(f))(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(H, func.jacrev(func.jacfwd(f))(X), rtol=1e-10, atol=1e-12)


def test_forward_mode_goes_through_modules_with_backward_hooks():
    net = minigrad.nn.Sequential(minigrad.nn.Linear(4, 3), minigrad.nn.Tanh()).double()
    expected = func.jacrev(net)(X).detach()
    for layer in net:
        layer.register_full_backward_hook(lambda *_: None)

    np.testing.assert_allclose(func.jacfwd(net)(X).detach(), expected, rtol=1e-12)
    np.testing.assert_allclose(func.jvp(net, (X,), (V,))[1].detach(), expected @ V, rtol=1e-12)


def test_models_whose_parameter_is_hidden_by_an_attribute_are_stacked():
    models = [minigrad.nn.Linear(2, 1) for _ in range(2)]
    for model in models:
        vars(model)["weight"] = minigrad.zeros(1, 2)

    parameters, _ = func.stack_module_state(models)

    assert parameters["weight"].shape == (2, 1, 2)
