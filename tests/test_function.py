"""Operations of one's own: what the tape makes of forward, backward and jvp."""

import gc
import weakref

import numpy as np
import pytest

import minigrad
from minigrad.autograd import Function, forward_ad, grad
from minigrad.core.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2

    @staticmethod
    def jvp(ctx, x_dot):
        (x,) = ctx.saved_tensors
        return x_dot * 3 * x**2


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        z = x.exp()
        ctx.save_for_backward(z)
        return z

    @staticmethod
    def backward(ctx, g):
        (z,) = ctx.saved_tensors
        return g * z


class SumAndDifference(Function):
    """Two results, a setting, and a result without a gradient."""

    @staticmethod
    def forward(ctx, x, y, scale, note=None):
        ctx.scale = scale
        place = x.argmax()
        ctx.mark_non_differentiable(place)
        return (x + y) * scale, (x - y) * scale, place

    @staticmethod
    def backward(ctx, g_sum, g_difference, g_place):
        return (g_sum + g_difference) * ctx.scale, (g_sum - g_difference) * ctx.scale, None, None


@pytest.fixture
def x():
    return minigrad.tensor([1.0, 2.0], dtype=minigrad.float64, requires_grad=True)


def test_setup_context_is_given_the_defaults_of_forward():
    class Power(minigrad.autograd.Function):
        @staticmethod
        def forward(x, p=3):
            return x**p

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.p = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.p * x ** (ctx.p - 1), None

    x = minigrad.tensor(2.0, requires_grad=True)

    assert minigrad.autograd.grad(Power.apply(x), x)[0] == 12
    assert minigrad.autograd.grad(Power.apply(x, p=2), x)[0] == 4


def test_a_node_of_its_own(x):
    z = Cube.apply(x)
    z.sum().backward()

    assert z.grad_fn.name() == "CubeBackward" and z.grad_fn.next_functions[0][0].variable is x
    assert z.tolist() == [1.0, 8.0] and x.grad.tolist() == [3.0, 12.0]


def test_next_functions_and_hooks_see_tensors_only(x):
    class Scaled(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, k, x):
            return k * x

        @staticmethod
        def backward(ctx, g):
            return None, 3 * g

    z, seen = Scaled.apply(3, x), []
    z.grad_fn.register_hook(lambda grads, _: seen.extend(grads))
    z.sum().backward()

    assert [n.variable is x for n, _ in z.grad_fn.next_functions] == [True] and len(seen) == 1


def test_nothing_is_recorded_where_nothing_is_wanted(x):
    assert Cube.apply(x.detach()).grad_fn is None
    with minigrad.no_grad():
        assert Cube.apply(x).grad_fn is None


@pytest.mark.parametrize("own", [Cube, Exp])
def test_second_derivatives(own, x):
    plain = {Cube: lambda t: t**3, Exp: lambda t: t.exp()}[own]
    (g,) = grad(own.apply(x).sum(), x, create_graph=True)
    (h,) = grad((g * g).sum(), x)
    (e,) = grad(plain(x).sum(), x, create_graph=True)
    (f,) = grad((e * e).sum(), x)

    np.testing.assert_allclose(g.detach(), e.detach())
    np.testing.assert_allclose(h, f)


def test_a_saved_result_makes_no_cycle(x):
    gc.disable()
    try:
        z = Exp.apply(x)
        ref = weakref.ref(z.grad_fn)
        del z
        assert ref() is None
    finally:
        gc.enable()


def test_several_results(x):
    y = minigrad.tensor([5.0, 7.0], dtype=minigrad.float64, requires_grad=True)
    total, difference, place = SumAndDifference.apply(x, y, 10, "note")
    assert total.grad_fn is difference.grad_fn and (total.output_nr, difference.output_nr) == (0, 1)
    assert not place.requires_grad and place.item() == 1
    (total * 2).sum().backward(retain_graph=True)
    assert x.grad.tolist() == y.grad.tolist() == [20.0, 20.0]

    x.grad = y.grad = None
    (total * difference).sum().backward()
    np.testing.assert_allclose(x.grad, 200 * x.detach().numpy())
    np.testing.assert_allclose(y.grad, -200 * y.detach().numpy())


def test_unused_results_arrive_as_zeros_or_as_none(x):
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g1, g2):
            seen.append(None if g2 is None else g2.tolist())
            return g1, None

    for materialize in (True, False):
        Two.apply(x, materialize)[0].sum().backward()
    assert seen == [[0.0, 0.0], None]


def test_needs_input_grad(x):
    seen = []

    class Product(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            seen.append(ctx.needs_input_grad)
            return g * y if ctx.needs_input_grad[0] else None, g * x if ctx.needs_input_grad[
                1
            ] else None

    Product.apply(x, x.detach()).sum().backward()
    assert seen == [(True, False)] and x.grad.tolist() == [1.0, 2.0]


def test_writing_in_place(x):
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    y = x * 1
    z = Double.apply(y)
    assert z is y and y.grad_fn.name() == "DoubleBackward" and y.tolist() == [2.0, 4.0]
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_input_returned_unchanged_gets_a_node(x):
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    z = Same.apply(x)
    z.sum().backward()
    assert z is not x and x.is_leaf and x.grad.tolist() == [10.0, 10.0]


def test_once_differentiable(x):
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * g * x

    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    (g,) = grad((Square.apply(x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.sum().backward()


def test_a_saved_result_keeps_its_tangent_for_the_backward_pass():
    class ExpOfProduct(Function):
        @staticmethod
        def forward(x, y):
            return (x * y).exp(), x + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs, output[0])
            ctx.save_for_forward(*inputs, output[0])

        @staticmethod
        def backward(ctx, g, h):
            x, y, z = ctx.saved_tensors
            return g * z * y + h, g * z * x + h

        @staticmethod
        def jvp(ctx, x_dot, y_dot):
            x, y, z = ctx.saved_tensors
            return z * (y * x_dot + x * y_dot), x_dot + y_dot

    x, y = minigrad.tensor(1.0), minigrad.tensor(2.0)

    slope = minigrad.func.grad(lambda x: ExpOfProduct.apply(x, y)[0])

    assert minigrad.func.jacfwd(slope)(x) == 4 * (x * y).exp()


def test_each_mode_sees_only_what_was_saved_for_it(x):
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            assert ctx.saved_tensors == ()
            return 2 * g

        @staticmethod
        def jvp(ctx, x_dot):
            assert forward_ad.unpack_dual(ctx.saved_tensors[0]).tangent is None
            assert ctx.saved_for_forward == ctx.saved_tensors
            return 2 * x_dot

    with forward_ad.dual_level():
        z = Double.apply(forward_ad.make_dual(x, minigrad.ones_like(x)))
        assert forward_ad.unpack_dual(z).tangent.tolist() == [2.0, 2.0]
        z.sum().backward()

    assert x.grad.tolist() == [2.0, 2.0]


def test_forward_mode(x):
    with forward_ad.dual_level():
        z = Cube.apply(forward_ad.make_dual(x.detach(), minigrad.ones_like(x)))
        assert forward_ad.unpack_dual(z).tangent.tolist() == [3.0, 12.0]
        with pytest.raises(NotImplementedError, match="You must implement the jvp"):
            Exp.apply(forward_ad.make_dual(x.detach(), minigrad.ones_like(x)))


def test_saved_tensors_are_watched_and_freed(x):
    y = x * 1
    z = Cube.apply(y).sum()
    y += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()

    z = Cube.apply(x).sum()
    z.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        z.backward()


@pytest.mark.parametrize(
    ("returned", "phrase"),
    [
        (lambda g: (g, g), "incorrect number of gradients"),
        (lambda g: g.reshape(2, 1), "invalid gradient"),
        (lambda g: 3.0, "A gradient is a Tensor or None"),
    ],
)
def test_what_backward_may_not_return(x, returned, phrase):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return returned(g)

    with pytest.raises((RuntimeError, TypeError), match=phrase):
        Wrong.apply(x).sum().backward()


def test_forward_and_backward_must_be_given(x):
    class Empty(Function):
        pass

    class NoBackward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    with pytest.raises(NotImplementedError, match="must implement the forward"):
        Empty.apply(x)
    with pytest.raises(NotImplementedError, match="must implement either the backward"):
        NoBackward.apply(x).sum().backward()


def test_an_input_that_is_returned_can_be_marked_as_having_no_gradient(x):
    class Constant(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_non_differentiable(x)
            return x

    assert not Constant.apply(x).requires_grad


def test_what_forward_stores_in_ctx_is_read_from_the_node(x):
    class Scale(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.factor = 3
            return x * 3

    node = Scale.apply(x).grad_fn

    assert node.factor == 3 and not hasattr(node, "other")


def test_a_pass_frees_what_was_saved_while_the_result_is_still_there(x):
    y = x + 1
    saved, z = weakref.ref(y), Cube.apply(y)
    del y
    assert saved() is not None

    z.sum().backward()

    assert saved() is None
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        _ = z.grad_fn.saved_tensors


class Doubled(Function):
    """Writes to its argument, and returns it; `wrong` returns what is no argument, `both` two results."""

    @staticmethod
    def forward(ctx, x, how=None):
        z = x.clone() if how == "wrong" else x.view_as(x) if how == "wrong view" else x.mul_(2)
        ctx.mark_dirty(z)
        ctx.save_for_backward(z)
        ctx.how = how
        return (z, z + 1) if how == "both" else z

    @staticmethod
    def backward(ctx, g, *others):
        return g * 2, None

    @staticmethod
    def jvp(ctx, x_dot, *others):
        new, kept = ctx.how == "new tangent", ctx.how == "kept"
        return x_dot * 2 if new else x_dot if kept else x_dot.mul_(2)


def test_mark_dirty_of_what_is_no_argument(x):
    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        Doubled.apply(x * 1, "wrong")
    with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
        Doubled.apply(x * 1, "wrong view")


def test_a_function_with_two_results_cannot_write_to_a_view(x):
    assert len(Doubled.apply(x * 1, "both")) == 2
    with pytest.raises(RuntimeError, match="modifies inplace an input that is a view of another"):
        Doubled.apply((x * 1).view(2), "both")


def test_a_function_that_writes_to_its_argument_writes_to_the_tangent():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(minigrad.ones(2), tangent := minigrad.ones(2))
        assert forward_ad.unpack_dual(Doubled.apply(dual)).tangent is tangent
        assert tangent.tolist() == [2.0, 2.0]

        for how in "new tangent", "kept":
            with pytest.raises(RuntimeError, match="jvp function must modify the corresponding"):
                Doubled.apply(dual, how)


def test_a_function_that_wrote_to_a_view_and_saved_it_leaves_no_cycle(x):
    def written():
        view = (x * 1).view(2)
        Doubled.apply(view)
        return weakref.ref(view)

    gc.disable()
    try:
        assert written()() is None
    finally:
        gc.enable()


def test_a_function_is_not_made():
    with pytest.warns(DeprecationWarning, match=r"should not be instantiated.*Cube.apply\(x\)"):
        Cube()
