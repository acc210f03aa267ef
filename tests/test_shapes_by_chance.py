"""Shapes, broadcasts and indices that nobody thought of: drawn by Hypothesis."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minigrad

FEW = settings(max_examples=60, deadline=None)
NUMBERS = st.floats(-2, 2, allow_subnormal=False, width=32).map(lambda v: round(v, 3))


def arrays(shape):
    return hnp.arrays(np.float64, shape, elements=NUMBERS)


def forward(index):
    """The index with the steps of its slices made positive: no others are allowed."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(
        slice(p.start, p.stop, p.step and abs(p.step)) if isinstance(p, slice) else p for p in parts
    )


@st.composite
def broadcastable(draw):
    shapes = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3, min_side=0)
    )
    return [draw(arrays(s)) for s in shapes.input_shapes]


@FEW
@given(broadcastable())
def test_the_gradient_of_a_broadcast_is_summed_to_each_input(pair):
    a, b = pair
    x, y = minigrad.tensor(a, requires_grad=True), minigrad.tensor(b, requires_grad=True)
    z = x * y + x - y
    g = np.arange(z.numel(), dtype=float).reshape(z.shape) + 1
    z.backward(minigrad.tensor(g))

    assert x.grad.shape == a.shape and y.grad.shape == b.shape
    full_a, full_b = np.broadcast_arrays(a, b)
    for grad, value, derivative in ((x.grad, a, full_b + 1), (y.grad, b, full_a - 1)):
        terms = g * derivative
        expected = np.zeros(value.shape)
        for i in np.ndindex(*terms.shape):
            tail = i[len(i) - value.ndim :]
            expected[tuple(0 if n == 1 else k for k, n in zip(tail, value.shape, strict=True))] += (
                terms[i]
            )
        np.testing.assert_allclose(grad, expected, atol=1e-9)


@st.composite
def indexed(draw):
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    kind = draw(st.sampled_from(["basic", "integers", "mask", "mixed"]))
    if kind == "basic":
        index = forward(draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True)))
    elif kind == "integers":
        index = draw(hnp.integer_array_indices(shape))
    elif kind == "mask":
        index = draw(hnp.arrays(np.bool_, shape))
    else:
        rows = draw(
            hnp.arrays(
                np.int64, draw(st.integers(0, 4)), elements=st.integers(-shape[0], shape[0] - 1)
            )
        )
        index = (rows, *[slice(None)] * (len(shape) - 1))
    return draw(arrays(shape)), index


@FEW
@given(indexed())
def test_the_gradient_of_an_index_is_added_where_it_was_read(case):
    a, index = case
    x = minigrad.tensor(a, requires_grad=True)
    z = x[index]
    np.testing.assert_array_equal(z.detach(), a[index])
    g = np.arange(z.numel(), dtype=float).reshape(z.shape) + 1
    z.backward(minigrad.tensor(g))

    expected = np.zeros(a.shape)
    np.add.at(expected, index, g)
    np.testing.assert_allclose(x.grad, expected)


@FEW
@given(indexed())
def test_an_assignment_cuts_what_it_overwrites(case):
    a, index = case
    x = minigrad.tensor(a, requires_grad=True)
    y = x * 2
    y[index] = 7.0
    y.sum().backward()

    expected = np.full(a.shape, 2.0)
    expected[index] = 0
    np.testing.assert_array_equal(x.grad, expected)


@FEW
@given(st.data())
def test_reductions_over_any_axes(data):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, max_side=3))
    axes = (
        data.draw(st.sets(st.integers(0, max(len(shape) - 1, 0)), max_size=len(shape)).map(tuple))
        if shape
        else ()
    )
    keepdim = data.draw(st.booleans())
    a = data.draw(arrays(shape))
    x = minigrad.tensor(a, requires_grad=True)
    dim = axes or None
    for name in ("sum", "mean"):
        x.grad = None
        z = getattr(x, name)(dim=dim, keepdim=keepdim)
        expected = getattr(np, name)(a, axis=dim, keepdims=keepdim)
        np.testing.assert_allclose(z.detach(), expected, atol=1e-12)
        z.sum().backward()
        n = a.size / max(expected.size, 1) if name == "mean" else 1
        np.testing.assert_allclose(x.grad, np.full(shape, 1 / n), atol=1e-12)


@FEW
@given(st.data())
def test_any_sequence_of_writes_through_views_gives_the_gradient_of_the_same_program_without_them(
    data,
):
    """Each write `v *= c` or `v += w[...]` to a view is replayed on a matrix of linear coefficients."""
    shape = (3, 4)
    w = minigrad.tensor(np.arange(12.0).reshape(shape) / 5, requires_grad=True)
    x = w * 1
    coefficients = np.eye(12).reshape(3, 4, 12)  # x[i, j] as a combination of the entries of w
    views = [(x, coefficients)]
    for _ in range(data.draw(st.integers(1, 5))):
        v, c = views[data.draw(st.integers(0, len(views) - 1))]
        if v.ndim and data.draw(st.booleans()):
            index = forward(data.draw(hnp.basic_indices(tuple(v.shape), allow_ellipsis=False)))
            index = index if isinstance(index, tuple) else (index,)
            views.append((v[index], c[(*index, ...)]))
            continue
        factor = data.draw(st.integers(-2, 3))
        v *= float(factor)
        c *= factor
    g = np.arange(12.0).reshape(shape) + 1
    x.backward(minigrad.tensor(g))

    np.testing.assert_allclose(x.detach(), coefficients @ w.detach().numpy().ravel(), atol=1e-9)
    np.testing.assert_allclose(w.grad, np.tensordot(g, coefficients, 2).reshape(shape), atol=1e-9)
