"""Properties that hold for every op of the table, at every line of samples.py.

The ops are judged from outside: by NumPy, by differences, and by the two modes of
differentiation against each other.
"""

import inspect
import math
import re
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad import ops, tensor
from minigrad.autograd import forward_ad
from minigrad.core.dispatch import apply
from minigrad.core.op import REGISTRY
from minigrad.methods import ArrayMethods
from tests.numeric import assert_close, central_difference, direction_like, dot, numeric_vjp
from tests.samples import SAMPLES, at_every_sample, inputs_with_rules

every_sample = at_every_sample(lambda s: True)
smooth = at_every_sample(lambda s: s.op.rules)


def leaves(sample):
    """The inputs as tensors; those of floating point require a gradient."""
    return [tensor(a.copy(), requires_grad=a.dtype.kind == "f") for a in sample.args]


def run(sample, tensors):
    return apply(sample.op, tensors, sample.settings)


def with_input(sample, k):
    """The op as a plain function of its k-th input alone."""

    def f(x):
        args = [x if i == k else a for i, a in enumerate(sample.args)]
        return sample.op.forward(*args, **sample.settings)

    return f


def test_every_op_has_samples():
    assert set(REGISTRY) == {s.op.name for s in SAMPLES}


@every_sample
def test_the_result_on_tensors_is_the_result_on_arrays(sample):
    z = run(sample, leaves(sample))

    expected = sample.op.forward(*sample.args, **sample.settings)
    assert_close(z.detach(), expected, rtol=0, atol=0)
    assert z.dtype == np.asarray(expected).dtype


@at_every_sample(lambda s: s.op.numpy)
def test_the_numpy_function_of_the_row_computes_the_same(sample):
    if sample.op in (ops.cat, ops.stack):
        expected = sample.op.numpy(sample.args, **sample.settings)
    else:
        expected = sample.op.numpy(*sample.args, **sample.settings)

    assert_close(run(sample, leaves(sample)).detach(), expected, rtol=1e-14)


@smooth
def test_each_rule_agrees_with_central_differences(sample):
    for k in inputs_with_rules(sample):
        tensors = leaves(sample)
        z = run(sample, tensors)
        g = direction_like(z.array)

        z.backward(tensor(g))

        # 1e-6: the error of a central difference with step 1e-6 in double precision
        assert_close(
            tensors[k].grad,
            numeric_vjp(with_input(sample, k), sample.args[k], g),
            rtol=1e-6,
            atol=1e-8,
        )


@smooth
def test_the_gradient_has_the_shape_and_type_of_its_input(sample):
    for dtype in (np.float32, np.float64):
        tensors = [tensor(a.astype(dtype) if a.dtype.kind == "f" else a) for a in sample.args]
        for k in inputs_with_rules(sample):
            tensors[k].requires_grad_()
        z = run(sample, tensors)
        z.backward(minigrad.ones_like(z))

        for k in inputs_with_rules(sample):
            assert tensors[k].grad.shape == tensors[k].shape
            assert tensors[k].grad.dtype == dtype


@smooth
def test_only_the_wanted_gradient_is_computed(sample):
    for k in inputs_with_rules(sample):
        alone = [tensor(a, requires_grad=i == k) for i, a in enumerate(sample.args)]
        together = leaves(sample)
        for tensors in (alone, together):
            z = run(sample, tensors)
            z.backward(tensor(direction_like(z.array)))

        assert_close(alone[k].grad, together[k].grad, rtol=1e-12)
        assert all(x.grad is None for i, x in enumerate(alone) if i != k)


@smooth
def test_forward_and_reverse_mode_agree(sample):
    """<u, J v> = <J^T u, v>: exact up to rounding, hence the tight tolerance."""
    tensors = leaves(sample)
    z = run(sample, tensors)
    u = direction_like(z.array)
    z.backward(tensor(u))
    for k in inputs_with_rules(sample):
        v = direction_like(sample.args[k], seed=k + 1)
        with forward_ad.dual_level():
            duals = [tensor(a) for a in sample.args]
            duals[k] = forward_ad.make_dual(duals[k], tensor(v))
            z_dot = forward_ad.unpack_dual(run(sample, duals)).tangent

        assert z_dot is None or z_dot.shape == z.shape
        along = 0.0 if z_dot is None else dot(u, z_dot)
        assert_close(along, dot(tensors[k].grad, v), rtol=1e-10, atol=1e-12)


@smooth
def test_second_derivatives_agree_with_differences_of_first_ones(sample):
    for k in inputs_with_rules(sample):
        tensors = leaves(sample)
        u = direction_like(sample.op.forward(*sample.args, **sample.settings))
        v = direction_like(sample.args[k], seed=5)

        def first(x, k=k, u=u):
            inputs = [tensor(x if i == k else a) for i, a in enumerate(sample.args)]
            inputs[k].requires_grad_()
            return minigrad.autograd.grad(run(sample, inputs), inputs[k], tensor(u))[0].numpy()

        (g,) = minigrad.autograd.grad(
            run(sample, tensors), tensors[k], tensor(u), create_graph=True
        )
        second = np.zeros(sample.args[k].shape)
        if g.requires_grad:
            (h,) = minigrad.autograd.grad(
                g, tensors[k], tensor(v), allow_unused=True, materialize_grads=True
            )
            second = h.numpy()

        assert_close(second, central_difference(first, sample.args[k], v), rtol=1e-5, atol=1e-7)


def can_be_in_place(sample):
    """In place, the first operand cannot grow."""
    if not (sample.op.inplace and sample.op.rules):
        return False
    shapes = [a.shape for a in sample.args]
    return sample.op.kind != "elementwise" or shapes[0] == np.broadcast_shapes(*shapes)


@at_every_sample(can_be_in_place)
def test_in_place_is_the_same_as_out_of_place(sample):
    outside, inside = leaves(sample), leaves(sample)
    z = run(sample, outside)
    x = inside[0].clone()
    before = x.array
    x._write(sample.op, *inside[1:], **sample.settings)
    g = tensor(direction_like(z.array))
    z.backward(g) if z.requires_grad else None
    x.backward(g)

    assert x.array is before or x.ndim == 0  # a number without axes has no memory until written to
    assert x._version == 1
    assert_close(x.detach(), z.detach(), rtol=0, atol=0)
    for a, b in zip(outside, inside, strict=True):
        expected = np.zeros(a.shape) if a.grad is None else a.grad
        assert_close(expected, np.zeros(b.shape) if b.grad is None else b.grad, rtol=1e-14)


@at_every_sample(lambda s: s.op.takes_out)
def test_out_is_the_same_as_a_fresh_result(sample):
    expected = sample.op.forward(*sample.args, **sample.settings)
    out = np.full(np.shape(expected), 7, np.asarray(expected).dtype)

    result = sample.op.forward(*sample.args, **sample.settings, out=out)

    assert result is None or result is out or np.ndim(result) == 0
    assert_close(out, expected, rtol=1e-14)


@smooth
def test_only_what_the_rules_name_is_saved(sample):
    tensors = leaves(sample)
    z = run(sample, tensors)

    named = {
        name
        for k in inputs_with_rules(sample)
        for name in sample.op.rules["xs" if sample.op.variadic else sample.op.operands[k]].reads
    }
    kept = {
        name for name, (value, version) in z.grad_fn.saved_values().items() if version is not None
    }
    assert kept == named & {*sample.op.operands, "z"}


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("MulBackward0", lambda x: x * x), ("PowBackward0", lambda x: x**2), ("PowBackward2", lambda x: 2**x),
        ("PowBackward1", lambda x: x**x), ("SumBackward0", lambda x: x.sum()), ("SumBackward1", lambda x: x.sum(0)),
        ("MeanBackward1", lambda x: x.mean(0, keepdim=True)), ("MmBackward0", lambda x: x @ x.T),
        ("MvBackward0", lambda x: x @ x[0]), ("DotBackward0", lambda x: x[0] @ x[1]),
        ("SelectBackward0", lambda x: x[:, 0]), ("SliceBackward0", lambda x: x[1:]),
        ("IndexBackward0", lambda x: x[[0, 1]]), ("UnsqueezeBackward0", lambda x: x[None]),
        ("ViewBackward0", lambda x: x.reshape(-1)), ("TransposeBackward0", lambda x: x.mT),
        ("ToCopyBackward0", lambda x: x.double()), ("LogSoftmaxBackward0", lambda x: x.log_softmax(-1)),
        ("CopySlices", lambda x: half_zeroed(x)), ("AddBackward0", lambda x: x.clone().add_(1)),
    ],
)  # fmt: skip
def test_nodes_have_the_names_that_they_have_in_pytorch(name, result):
    z = result(minigrad.ones(2, 2, requires_grad=True))

    assert z.grad_fn.name() == name == type(z.grad_fn).__name__


def half_zeroed(x):
    z = x * 1
    z[0] = 0
    return z


def test_a_node_tells_what_was_saved_by_pytorchs_names():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    y = minigrad.tensor([3.0, 4.0])
    z = x * y

    assert z.grad_fn._saved_other is y and z.grad_fn._saved_self is None
    assert (x**3).grad_fn._saved_exponent == 3
    assert x.exp().grad_fn._saved_result.tolist() == x.exp().tolist()
    with pytest.raises(AttributeError, match="MulBackward0"):
        assert z.grad_fn._saved_dim
    assert {"_saved_self", "_saved_other"} <= set(dir(z.grad_fn)) and "_saved_dim" not in dir(
        z.grad_fn
    )
    z.sum().backward()
    assert "_saved_other" in dir(z.grad_fn)
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        assert z.grad_fn._saved_other


FORMULA = re.compile(r"dz/d(\w)\s*=\s*([^=].*?)(?=\s{2,}|$)")


def has_its_formula(sample):
    approximated = sample.settings.get("approximate", "none") != "none"  # gelu by tanh
    return (
        sample.op.kind == "elementwise" and FORMULA.search(sample.op.formula) and not approximated
    )


@at_every_sample(has_its_formula)
def test_the_formula_of_the_docstring_is_the_rule(sample):
    names = "exp log sin cos sqrt sign where sinh cosh floor trunc isfinite pi".split()
    scope = {name: getattr(np, name) for name in names}
    scope |= {"digamma": ops.digamma, "polygamma": ops.polygamma}
    values = dict(zip(sample.op.operands, sample.args, strict=True))
    values |= sample.op.settings | sample.settings
    values["z"] = sample.op.forward(*sample.args, **sample.settings)
    for name, formula in FORMULA.findall(sample.op.formula):
        rule = sample.op.rules[name]

        derivative = rule.formula(np.ones_like(values["z"]), *(values[r] for r in rule.reads))

        written = eval(formula.strip(), scope | values)
        assert_close(derivative, np.broadcast_to(written, values["z"].shape), rtol=1e-12)


def test_every_formula_of_the_elementwise_table_is_checked():
    for op in REGISTRY.values():
        if op.kind == "elementwise":
            written = {name for name, _ in FORMULA.findall(op.formula)}
            assert written == set(op.rules), f"{op.name}: {op.formula}"


# ---------------------------------------------------------------------- methods and rows


def applied_ops():
    """The ops that the methods of tensors, or the functions of nn, apply, by name."""
    chapters = [Path(inspect.getfile(ArrayMethods)), Path(minigrad.nn.__file__)]
    files = [file for chapter in chapters for file in chapter.parent.rglob("*.py")]
    files.append(Path(minigrad.linalg.__file__))
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    return {
        *re.findall(r"ops\.(\w+)", source),
        *(op.name for op in REGISTRY.values() if op.methods),
    }


# functions of several tensors, and ops that are only another op's rule
NO_METHOD = {
    "positive",
    "cat",
    "stack",
    "constant_in",
    "put_zeros",
    "put_along",
    "unfold_backward",
    "window_spread",
} | {
    "convolution_dw",
    "keep",
    "special_entr",  # minigrad.special
}


def test_every_op_is_reached_from_the_methods():
    assert set(REGISTRY) - applied_ops() <= NO_METHOD


@pytest.mark.parametrize("axis", [None, 0])
def test_the_gradient_of_a_product_is_that_of_the_others_beside_infinity_and_nan(axis):
    x = tensor([np.inf, 2.0, 3.0], requires_grad=True)
    (x.prod() if axis is None else x.prod(axis)).backward()
    alone = tensor([np.nan], requires_grad=True)
    alone.prod(0).backward()

    assert x.grad.tolist() == [6, np.inf, np.inf] and alone.grad.tolist() == [1]


def test_erf_in_float32_errs_in_the_last_digit_only():
    x = np.linspace(-6, 6, 4001, dtype=np.float32)
    x = np.concatenate([x, 10 ** np.linspace(-30, 0, 100), [-np.inf, np.inf]]).astype(np.float32)

    z = minigrad.tensor(x).erf().numpy()

    exact = np.array([math.erf(v) for v in x])
    assert z.dtype == np.float32 and np.all(np.abs(z) <= 1)
    assert np.all(np.abs(z - exact) <= 5 * np.spacing(np.abs(exact).astype(np.float32)))
    assert np.isnan(minigrad.full((99,), np.nan).erf().numpy()).all()


def test_erfinv_keeps_its_digits_close_to_1():
    far = minigrad.tensor([1 - 1e-6, 1 - 1e-12, 1 - 1e-15], dtype=minigrad.float64)

    assert_close(far.erfinv().erfc().array, (1 - far).array, rtol=1e-13, atol=0)


def test_second_derivatives_of_norm_and_deviation_where_they_are_zero():
    for f in (minigrad.norm, minigrad.std):
        x = minigrad.zeros(3, requires_grad=True)
        (g,) = minigrad.autograd.grad(f(x), x, create_graph=True)
        (second,) = minigrad.autograd.grad(g.sum(), x)

        assert g.tolist() == second.tolist() == [0, 0, 0]


@pytest.mark.parametrize("number", [0.1, 1.001, 1.0, 0.0])
@pytest.mark.parametrize(
    "name",
    ["cumsum", "cumprod", "logcumsumexp", "sum", "nansum", "norm", "logsumexp", "softmax", "log_softmax"],
)  # fmt: skip
def test_reductions_of_many_float16_are_as_exact_as_their_results(name, number):
    x = minigrad.full((5000, 2), number, dtype=minigrad.float16)

    z, exact = (getattr(v, name)(dim=0).reshape(-1, 2)[-1] for v in (x, x.double()))

    assert_close(z.double(), exact.half().double(), rtol=1e-3)  # half of the last of 11 bits


@pytest.mark.parametrize("name", ["sum", "mean", "norm", "cumsum"])
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_the_sum_of_many_rows_is_rounded_little(name, order):
    x = minigrad.full((60_000, 3) if order == "rows" else (3, 60_000), 0.1)
    x = x if order == "rows" else x.t()

    z, exact = (getattr(v, name)(dim=0).flatten()[-3:] for v in (x, x.double()))

    assert z.tolist() == pytest.approx(exact.tolist(), rel=1e-6)  # NumPy alone: 6e-4


def test_the_squared_error_of_large_float16_is_finite():
    x = minigrad.full((5000,), 100.0, dtype=minigrad.float16)

    assert minigrad.nn.functional.mse_loss(x, minigrad.zeros_like(x)).item() == 10_000


def test_an_infinite_score_on_the_other_side_adds_no_hinge_loss():
    x = minigrad.tensor([np.inf, -np.inf, 2.0], requires_grad=True)

    z = minigrad.nn.functional.hinge_embedding_loss(
        x, minigrad.tensor([-1, 1, 1]), reduction="none"
    )
    z[[0, 2]].sum().backward()

    assert z.tolist() == [0, -np.inf, 2] and x.grad.tolist() == [0, 0, 1]


@pytest.mark.parametrize("name", ["var", "std"])
def test_the_spread_of_large_float16_is_finite(name):
    x = minigrad.tensor([40000.0, 40100.0], dtype=minigrad.float16)

    assert getattr(x, name)().item() == pytest.approx(getattr(x.double(), name)().item(), rel=1e-3)


def test_the_numerical_gradient_of_whole_numbers_takes_fractional_coordinates():
    y, x = minigrad.tensor([1, 4, 9]), minigrad.tensor([1.0, 2.0, 2.5], dtype=minigrad.float64)

    (slope,) = minigrad.gradient(y, spacing=[x])

    # 3 / 1 at the start, 5 / 0.5 at the end; between, each weighted by the width of the other
    assert slope.dtype == minigrad.float64
    assert slope.tolist() == pytest.approx([3, (3 * 0.5 + 10 * 1) / 1.5, 10], rel=1e-12)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(
    "shape, dim, k", [((5000,), 0, 3), ((3, 700), 1, 60), ((600, 2), 0, 1), ((600, 2), 0, 0)]
)
def test_the_few_largest_of_many_are_the_first_of_all_sorted(shape, dim, k, largest):
    a = np.random.default_rng(1).normal(size=shape)
    a.reshape(-1)[[7, 11, 40]] = np.nan, np.inf, -np.inf
    x = tensor(a, requires_grad=True)

    few, all_sorted = x.topk(k, dim, largest), x.sort(dim, descending=largest)
    few.values.sum().backward()

    assert few.indices.tolist() == all_sorted.indices.narrow(dim, 0, k).tolist()
    np.testing.assert_array_equal(few.values.tolist(), all_sorted.values.narrow(dim, 0, k).tolist())
    assert x.grad.sum().item() == few.values.numel()


def test_running_sums_of_float32_are_added_in_float64():
    a = np.random.default_rng(1).normal(size=(40, 50)).astype(np.float32)

    for dim in (0, 1):
        exact = a.astype(np.float64).cumsum(dim).astype(np.float32)
        np.testing.assert_array_equal(tensor(a).cumsum(dim).numpy(), exact)
