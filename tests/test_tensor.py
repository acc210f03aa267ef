"""What a tensor is besides its operations: making, printing, converting, comparing."""

import copy
import math
import operator

import numpy as np
import pytest

import minigrad


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (lambda: minigrad.tensor(1.5), np.float32), (lambda: minigrad.tensor([1, 2]), np.int64),
        (lambda: minigrad.tensor([True]), np.bool_), (lambda: minigrad.tensor(np.ones(2)), np.float64),
        (lambda: minigrad.tensor([]), np.float32), (lambda: minigrad.zeros(2, 3), np.float32),
        (lambda: minigrad.full((2,), 1), np.int64), (lambda: minigrad.arange(3), np.int64),
        (lambda: minigrad.arange(0, 1, 0.5), np.float32), (lambda: minigrad.tensor([1, 2.5]), np.float32),
        (lambda: minigrad.tensor([1], dtype=minigrad.float64), np.float64),
        (lambda: minigrad.tensor([[minigrad.tensor(1.0), 2.0]]), np.float32),
        (lambda: minigrad.ones_like(minigrad.arange(3)), np.int64),
    ],
)  # fmt: skip
def test_types_of_new_tensors(make, dtype):
    assert make().dtype == dtype


@pytest.mark.parametrize(
    ("made", "dtype", "shape"),
    [
        (lambda: minigrad.Tensor([1, 2]), np.float32, (2,)), (lambda: minigrad.Tensor(2, 3), np.float32, (2, 3)),
        (lambda: minigrad.Tensor(3), np.float32, (3,)), (lambda: minigrad.Tensor(np.ones(2)), np.float32, (2,)),
        (lambda: minigrad.Tensor(minigrad.ones(2, 3).shape), np.float32, (2, 3)),
        (lambda: minigrad.Tensor(), np.float32, (0,)), (lambda: minigrad.LongTensor(2, 3), np.int64, (2, 3)),
        (lambda: minigrad.tensor([minigrad.tensor([1.0]), minigrad.tensor([2.0])]), np.float32, (2,)),
        (lambda: minigrad.tensor([np.float32(1), np.float32(2)]), np.float32, (2,)),
        (lambda: minigrad.tensor([1, 2j]), np.complex64, (2,)),
        (lambda: minigrad.zeros(2, dtype=float), np.float64, (2,)),
        (lambda: minigrad.rand(2, dtype=float), np.float64, (2,)),
        (lambda: minigrad.ones(2).sum(dtype=minigrad.int32), np.int32, ()),
        (lambda: minigrad.ones(2).prod(dtype=minigrad.int8), np.int8, ()),
        (lambda: minigrad.ones(2).cumsum(0, dtype=minigrad.int16), np.int16, (2,)),
        (lambda: minigrad.ones(2, dtype=minigrad.uint8).any(), np.uint8, ()),
    ],
)  # fmt: skip
def test_types_and_shapes_of_what_is_made(made, dtype, shape):
    z = made()

    assert (z.dtype, tuple(z.shape)) == (dtype, shape)


@pytest.mark.parametrize(
    "make", [lambda: minigrad.Tensor([1.0], requires_grad=True), lambda: minigrad.Tensor(2.0)]
)
def test_the_old_constructor_says_what_to_write(make):
    with pytest.raises(TypeError, match=r"To fix it, write\s+minigrad.tensor"):
        make()


@pytest.mark.parametrize(
    "write",
    [lambda x: x.fill_(300), lambda x: x.__setitem__(0, 300), lambda x: minigrad.full((2,), 300, dtype=x.dtype),
     lambda x: minigrad.tensor([300], dtype=x.dtype), lambda x: x.clamp(max=300)],
)  # fmt: skip
def test_a_number_that_is_too_large_to_be_stored_is_refused(write):
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type uint8 without overflow"
    ):
        write(minigrad.zeros(2, dtype=minigrad.uint8))


def test_whole_numbers_wrap():
    x = minigrad.tensor([1, 200], dtype=minigrad.uint8)

    assert (x * -1).tolist() == [255, 56]
    assert (x + 300).tolist() == [45, 244]
    assert x.char().neg().tolist() == [-1, 56]


def test_a_uint8_index_is_a_mask():
    x = minigrad.tensor([5.0, 6.0])

    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        assert x[minigrad.tensor([0, 1], dtype=minigrad.uint8)].tolist() == [6]


def test_a_tensor_without_a_graph_is_rearranged_in_place():
    x = minigrad.zeros(2, 3)

    assert x.t_() is x and x.shape == (3, 2)
    assert x.unsqueeze_(0).squeeze_().transpose_(0, 1).shape == (2, 3)


def test_leading_axes_of_length_1_are_left_out_when_a_part_is_assigned():
    x = minigrad.zeros(2, 3)

    x[0] = minigrad.ones(1, 1, 3)
    x[x == 0] = minigrad.full((1, 3), 2.0)

    assert x.tolist() == [[1, 1, 1], [2, 2, 2]]


def test_a_boolean_tensor_is_written_to_with_numbers():
    b = minigrad.tensor([False, False, True])

    b[0] = 1
    assert b.tolist() == [True, False, True]
    assert b.fill_(2).tolist() == [True] * 3
    assert b.zero_().tolist() == [False] * 3


def test_a_tensor_is_not_none():
    x = minigrad.ones(2)

    assert (x == None) is False and (x != None) is True  # noqa: E711


def test_an_empty_tensor_may_be_put_before_any_other():
    assert minigrad.cat((minigrad.tensor([]), minigrad.ones(2, 3))).shape == (2, 3)


def test_floor_and_ceil_of_the_math_module_give_integers():
    x = minigrad.tensor(2.5)

    assert (math.floor(x), math.ceil(x), type(math.ceil(x))) == (2, 3, int)
    assert list(range(math.ceil(minigrad.tensor(7) / 4))) == [0, 1]
    with pytest.raises(TypeError):
        math.trunc(x)


@pytest.mark.parametrize(
    "product",
    [
        lambda x, a: x @ a,
        lambda x, a: a @ x,
        np.matmul,
        np.dot,
        lambda x, a: np.einsum("ij,j", x, a),
    ],
)
def test_in_a_product_with_an_array_the_dtypes_may_differ(product):
    x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    a = np.array([1.0, 2.0])

    z = product(x, a)
    z.sum().backward()

    y = x.detach().double().requires_grad_()
    product(y, a).sum().backward()
    assert z.dtype == minigrad.float64
    np.testing.assert_array_equal(z.detach(), product(x.detach().numpy().astype(float), a))
    np.testing.assert_array_equal(x.grad, y.grad)
    with pytest.raises(RuntimeError, match="same dtype|expected scalar type"):
        product(x, minigrad.tensor(a))


NUMPY_CALLS = """
    np.sum(x, 0) | np.sum(x, axis=0, initial=1.0) | np.mean(x, dtype=np.float64) |
    np.max(x, axis=1, initial=9) | np.concatenate([x, x], axis=None) | np.stack([x, x], axis=-1) |
    np.clip(x, 1.5, None) | np.squeeze(x[None], axis=0) |
    np.transpose(x, axes=(1, 0)) | np.reshape(x, -1) | np.reshape(x, (4, 1)) | np.reshape(x, -1, order="F") |
    np.ravel(x, order="F") | np.repeat(x, 2) | np.repeat(x, 2, axis=1) | np.tile(x, (2, 1)) | np.tile(x, 2) |
    np.roll(x, 1) | np.roll(x, (1, 1), axis=(0, 1)) | np.flip(x) | np.flip(x, axis=0) | np.var(x, ddof=1) |
    np.std(x, axis=0, keepdims=True) | np.split(x, 2, axis=1) | np.split(x, [1]) | np.take(x, [0, 3]) |
    np.take(x, [0], axis=1) | np.outer(x[0], x[1]) | np.outer(x, x) | np.dot(x, x) | np.dot(x, 2.0) |
    np.inner(x, x) | np.trace(x) | np.trace(x, offset=1) | np.diag(x) | np.diag(x[0], k=1) | np.tril(x, -1) |
    np.linalg.norm(x) | np.linalg.norm(x, axis=1) | np.linalg.norm(x, ord=1) |
    np.linalg.norm(x[0], ord=np.inf) | np.einsum("ij,jk", x, x) | np.einsum("ij,jk->ik", x, x, optimize=True) |
    np.tensordot(x, x, axes=([0], [1])) | np.cross(x[[0, 0]][:, [0, 1, 0]], x[[1, 1]][:, [0, 1, 0]]) |
    np.moveaxis(x[None], 0, 2) | np.swapaxes(x, 0, 1) | np.expand_dims(x, 1) | np.expand_dims(x, (0, 3)) |
    np.where(x > 2, x, 0) | np.where(x > 2) | np.vstack([x[0], x[1]]) | np.hstack([x, x]) |
    np.sort(x, axis=0) | np.sort(x, axis=None) | np.argsort(x) | np.cumsum(x) | np.cumsum(x, axis=1) |
    np.diff(x) | np.diff(x, prepend=0) | np.round(x, 1) | np.ones_like(x) | np.ones_like(x, dtype=np.int64) |
    np.zeros_like(x, dtype=np.int64) | np.copy(x) | np.full_like(x, 3) | np.median(x) | np.percentile(x, 50) |
    np.add.reduce(x) | np.add.reduce(x, axis=None) | np.multiply.reduce(x) | np.maximum.accumulate(x) |
    np.atleast_2d(x[0]) | np.column_stack([x[0], x[1]]) | np.array_split(x, 3) | np.count_nonzero(x) |
    np.linalg.solve(x, x[0]) | np.linalg.eigh(x) | np.rot90(x) | np.prod(x, axis=(0, 1)) |
    np.sum(x, axis=(0, 1), keepdims=True) | np.argmax(x, axis=0, keepdims=True) | np.all(x > 0, axis=0) |
    np.matmul(x, x) | np.exp(x, dtype=np.float64) | np.add(x, x, where=x > 2, out=np.zeros((2, 2))) |
    np.kron(a, x) | np.kron(x, a) | np.inner(a, x) | np.outer(a, x) | np.tensordot(x, a, axes=1) |
    np.pad(x, 1) | np.pad(x, ((1, 0), (0, 2)), constant_values=7) | np.pad(x, 1, mode="edge") | np.amax(x, axis=0) |
    np.amin(x) | np.linalg.slogdet(x) | np.linalg.solve(a, x) | np.linalg.solve(x[None], x[None]) | np.vdot(x, a) |
    np.nansum(x, axis=1) | np.nanmean(x) | np.cov(x) | np.cov(x, rowvar=False) | np.corrcoef(x) | np.append(x, x) |
    np.append(x, x, axis=1) | np.column_stack([x, x[0]]) | np.log10(x) | np.sinc(x) | np.copysign(a, -x) |
    np.copysign(1.0, x) | np.float_power(x, 2) | np.heaviside(x - 2, 0.5) | np.rad2deg(x) | np.flipud(x) |
    np.count_nonzero(x, axis=1) | np.hsplit(x, 2) | np.append([], x[0]) | np.append(x, 3.0) | np.cov(x, x) |
    np.vdot(x[0], [1.0, 2.0]) | np.column_stack([x, [1.0, 2.0]]) |
    np.cross(a[[0, 0]][:, [0, 1, 0]], x[[1, 1]][:, [0, 1, 0]]) | np.clip(a, x / 2, x) | np.vstack([a, x])
"""


@pytest.mark.parametrize("call", NUMPY_CALLS.replace("|\n", "|").strip().split(" | "))
def test_a_numpy_function_of_tensors_gives_what_numpy_gives(call):
    """Through NumPy's protocols: by the op that stands for it, or else by its values."""
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    parts = lambda z: list(z) if isinstance(z, (list, tuple)) else [z]

    expected, found = (
        parts(eval(call, {"np": np, "a": a, "x": x})) for x in (a, minigrad.tensor(a))
    )

    assert len(found) == len(expected)
    for z, w in zip(found, expected, strict=True):
        assert np.shape(z) == np.shape(w)
        assert np.allclose(np.asarray(z), w)


def test_a_numpy_function_that_would_lose_the_gradient_says_which_argument():
    x = minigrad.ones(2, 2, requires_grad=True)

    with pytest.raises(RuntimeError, match="np.sum of such a tensor does not take initial"):
        np.sum(x, axis=0, initial=1.0)
    with pytest.raises(
        RuntimeError, match="np.linalg.norm of such a tensor does not take these arg"
    ):
        np.linalg.norm(x, ord=1)  # a norm of matrices
    with pytest.raises(RuntimeError, match="np.linalg.svd is not an operation of tensors"):
        np.linalg.svd(x)


def test_numpy_computes_on_the_values_of_tensors_that_need_no_gradient():
    x = minigrad.tensor([3.0, 1.0, 2.0])

    assert np.median(x) == 2 and np.dot(x, x) == 14
    assert np.where(x > 1)[0].tolist() == [0, 2]
    with minigrad.no_grad():
        assert x.requires_grad_().numpy().tolist() == [3, 1, 2]


def test_an_entry_of_an_expanded_tensor_is_written_to():
    x = minigrad.ones(2, 1).expand(2, 2)

    x[0, 0] = 5

    assert x.tolist() == [[5, 5], [1, 1]]


def test_a_list_of_lists_is_an_index_for_each_axis():
    x = minigrad.arange(12).reshape(3, 4)

    with pytest.warns(UserWarning, match=r"use x\[tuple\(seq\)\]"):
        assert x[[[1, 2], [0]]].tolist() == [4, 8]


def test_a_list_is_filled_where_out_says():
    x = minigrad.zeros(2, 2)

    assert minigrad.ones(2, 2, out=x) is x and x.sum() == 4


@pytest.mark.parametrize(
    ("f", "gradient"),
    [(lambda x: x.max(), [0, 1, 0]), (lambda x: x.relu().sum(), [1, 1, 1]), (lambda x: x.median(), [0, 1, 0]),
     (lambda x: minigrad.nn.functional.threshold(x, 1.5, 0).sum(), [0, 1, 1])],
)  # fmt: skip
def test_nan_passes_its_gradient_on(f, gradient):
    x = minigrad.tensor([1.0, float("nan"), 2.0], requires_grad=True)

    f(x).backward()

    assert x.grad.tolist() == gradient


def test_put_writes_to_a_transpose():
    x = minigrad.zeros(2, 3).T

    x.put_(minigrad.tensor([1]), minigrad.tensor([5.0]))

    assert x.tolist() == [[0, 5], [0, 0], [0, 0]]


def test_a_diagonal_is_filled():
    assert minigrad.zeros(5, 2).fill_diagonal_(1, wrap=True).tolist() == [
        [1, 0],
        [0, 1],
        [0, 0],
        [1, 0],
        [0, 1],
    ]
    assert minigrad.zeros(2, 2, 2).fill_diagonal_(1).nonzero().tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("f", "message"),
    [(lambda b: b - b, "with two bool tensors is not supported"),
     (lambda b: 2 - b, "with a bool tensor is not supported"),
     (lambda b: -b, "on a bool tensor is not supported"), (lambda b: b.relu(), "Boolean inputs not supported for relu"),
     (lambda b: b @ b, "not implemented for 'Bool'"), (lambda b: b.abs(), "not implemented for 'Bool'")],
)  # fmt: skip
def test_truth_values_are_not_for_these_operations(f, message):
    with pytest.raises(RuntimeError, match=message):
        f(minigrad.tensor([True, False]))


def test_the_square_of_truth_values_is_of_whole_numbers():
    assert minigrad.tensor([True, False]).square().dtype == minigrad.int64


@pytest.mark.parametrize("alpha", [2.5, True])
def test_whole_numbers_are_added_in_whole_multiples(alpha):
    with pytest.raises(RuntimeError, match="alpha"):
        minigrad.tensor([1]).add(minigrad.tensor([1]), alpha=alpha)


CASTS = {
    "int": lambda x: x.int(), "long": lambda x: x.long(), "byte": lambda x: x.byte(), "bool": lambda x: x.bool(),
    "to(int)": lambda x: x.to(int), "to(dtype)": lambda x: x.to(dtype=minigrad.int8),
    "to(tensor)": lambda x: x.to(minigrad.tensor(1)), "type": lambda x: x.type(minigrad.int16),
    "type_as": lambda x: x.type_as(minigrad.tensor(1)), "view": lambda x: x.view(minigrad.int32),
    "copy_": lambda x: minigrad.zeros((), dtype=minigrad.int64).copy_(x), "x > 1": lambda x: x > 1,
}  # fmt: skip


@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
def test_a_cast_to_integers_or_booleans_cuts_the_graph(cast):
    x = minigrad.tensor(1.5, requires_grad=True)
    k = cast(x)

    (x * k).backward()

    assert not k.requires_grad and k.is_leaf
    assert x.grad == k.item()


@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
def test_a_cast_to_integers_or_booleans_has_no_tangent(cast):
    x = minigrad.tensor(1.5)

    value, tangent = minigrad.func.jvp(lambda x: x * cast(x), (x,), (minigrad.tensor(1.0),))

    assert (value / x, tangent) == (tangent, cast(x).item())


def test_reading_the_bytes_as_another_type_shares_memory_and_version():
    x = minigrad.tensor([1.0, 2.0])
    bits = x.view(minigrad.int32)

    bits.zero_()

    assert x.tolist() == [0, 0] and x._version == 1


@pytest.mark.parametrize(
    ("program", "dtype"),
    [
        (lambda f, d, i, b: f * 2, np.float32), (lambda f, d, i, b: f * 2.5, np.float32),
        (lambda f, d, i, b: f + d, np.float64), (lambda f, d, i, b: i + f, np.float32),
        (lambda f, d, i, b: i * 2, np.int64), (lambda f, d, i, b: i * 2.5, np.float32),
        (lambda f, d, i, b: i / i, np.float32), (lambda f, d, i, b: b * 2, np.int64),
        (lambda f, d, i, b: b + b, np.bool_), (lambda f, d, i, b: f + d[0], np.float32),
        (lambda f, d, i, b: i + d[0], np.float64), (lambda f, d, i, b: i.exp(), np.float32),
        (lambda f, d, i, b: b.sum(), np.int64), (lambda f, d, i, b: 2.0 * i[0], np.float32),
        (lambda f, d, i, b: f > d, np.bool_), (lambda f, d, i, b: i.to(f), np.float32),
        (lambda f, d, i, b: f * np.float64(2), np.float32), (lambda f, d, i, b: minigrad.where(b, f, 0), np.float32),
    ],
)  # fmt: skip
def test_promotion_follows_pytorch(program, dtype):
    f, d = minigrad.ones(3), minigrad.ones(3, dtype=minigrad.float64)
    i, b = minigrad.arange(3) + 1, minigrad.tensor([True, False, True])

    assert program(f, d, i, b).dtype == dtype


def test_gradients_pass_through_a_change_of_type():
    x = minigrad.ones(3, requires_grad=True)
    (x * minigrad.full((3,), 2.0, dtype=minigrad.float64)).sum().backward()

    assert x.grad.dtype == np.float32 and x.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (lambda: minigrad.tensor(3.0), "tensor(3.)"),
        (lambda: minigrad.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (lambda: minigrad.tensor([1, -20]), "tensor([  1, -20])"),
        (lambda: minigrad.tensor([True, False]), "tensor([ True, False])"),
        (lambda: minigrad.tensor([float("nan"), float("inf"), -1.0]), "tensor([nan, inf, -1.])"),
        (lambda: minigrad.tensor([1e-8, 1.0]), "tensor([1.0000e-08, 1.0000e+00])"),
        (lambda: minigrad.tensor([]), "tensor([])"),
        (lambda: minigrad.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: minigrad.ones(1, dtype=minigrad.float64), "tensor([1.], dtype=minigrad.float64)"),
        (lambda: minigrad.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: minigrad.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward0>)"),
        (
            lambda: minigrad.ones(2, 2, 1),
            "tensor([[[1.],\n         [1.]],\n\n        [[1.],\n         [1.]]])",
        ),
    ],
)
def test_printing(tensor, text):
    assert repr(tensor()) == str(tensor()) == text


def test_a_large_tensor_shows_its_corners():
    text = repr(minigrad.arange(10000).reshape(100, 100))

    assert "..." in text and len(text) < 600


def test_python_protocols():
    x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]])

    assert len(x) == 2 and [row.tolist() for row in x] == [[1.0, 2.0], [3.0, 4.0]]
    assert float(x[0, 1]) == 2.0 and int(x[1, 1]) == 4 and [10, 20, 30][minigrad.tensor(2)] == 30
    assert 3.0 in x and 5.0 not in x and bool(x[0, 0]) and f"{x[0, 0]:.2f}" == "1.00"
    assert x.shape == (2, 2) and x.shape.numel() == 4 and x.size(-1) == 2 and x.ndim == x.dim() == 2
    assert len({x, x}) == 1
    with pytest.raises(
        RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"
    ):
        bool(x)
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        list(x[0, 0])
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        x.item()


def test_numpy_shares_memory_and_refuses_what_has_a_gradient():
    x = minigrad.ones(2)
    x.numpy()[0] = 5
    assert x.tolist() == [5.0, 1.0]
    assert np.shares_memory(minigrad.from_numpy(x.numpy()).numpy(), x.numpy())
    with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\) instead"):
        minigrad.ones(2, requires_grad=True).numpy()


def test_tensor_copies_its_data():
    a = np.ones(2)
    x = minigrad.tensor(a)
    a[0] = 5
    assert x.tolist() == [1.0, 1.0]


def test_a_gradient_can_be_assigned_if_it_fits():
    x = minigrad.ones(2, requires_grad=True)
    x.grad = minigrad.ones(2)
    x.grad.zero_()
    assert x.grad.tolist() == [0.0, 0.0]
    x.grad = None
    assert x.grad is None
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor"):
        x.grad = np.ones(2)
    with pytest.raises(
        RuntimeError, match=r"assign a gradient of size '\[3\]' to a tensor of size '\[2\]'"
    ):
        x.grad = minigrad.ones(3)


def test_requires_grad_of_results_cannot_be_switched_off():
    y = minigrad.ones(2, requires_grad=True) * 2
    with pytest.raises(
        RuntimeError, match="you can only change requires_grad flags of leaf variables"
    ):
        y.requires_grad = False
    assert not y.detach().requires_grad


def test_deepcopy_copies_leaves_only():
    x = minigrad.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    y.grad.zero_()
    assert y.requires_grad and y is not x and x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)


def test_max_and_min_along_an_axis_give_values_and_places():
    x = minigrad.tensor([[1.0, 3.0, 3.0], [5.0, 2.0, 0.0]], requires_grad=True)
    values, indices = x.max(dim=1)
    values.sum().backward()

    assert values.tolist() == [3.0, 5.0] and indices.tolist() == [1, 0]
    assert x.grad.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert x.min(0, keepdim=True).values.shape == (1, 3)


def test_arbitrary_attributes_may_be_attached():
    x = minigrad.ones(2)
    x.label = "x"
    assert x.label == "x"


@pytest.mark.parametrize(
    "view", [lambda x: x.flatten(), lambda x: x.reshape(1), lambda x: x[None], lambda x: x.view(1)]
)
def test_a_number_that_is_viewed_as_a_row_collects_gradients(view):
    x = minigrad.tensor(3.0, requires_grad=True)

    for _ in range(2):
        view(x).sum().backward()
    x.grad.add_(1)

    assert x.grad.item() == 3.0


def test_lgamma_of_a_number_that_is_too_large_is_infinite():
    x = minigrad.tensor([1e306, 1.0, -2.0], dtype=minigrad.float64)

    assert x.lgamma().tolist() == [np.inf, 0.0, np.inf]


def test_the_storage_of_a_part_of_an_array_includes_the_gaps():
    a = np.arange(12.0).reshape(3, 4)
    memory = minigrad.from_numpy(a[:, :3]).storage()

    assert memory.tolist() == list(range(11))
    memory[3] = -1.0
    assert a[0, 3] == -1.0


# ------------------------------------------------------------------ complex numbers


class TurnedComplex(minigrad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return minigrad.tensor(x.numpy() * 1j)

    @staticmethod
    def backward(ctx, g):
        return g


@pytest.mark.parametrize(
    "differentiate",
    [
        lambda x: minigrad.tensor([1 + 2j], requires_grad=True),
        lambda x: x * 1j,
        lambda x: x.to(minigrad.complex64),
        lambda x: TurnedComplex.apply(x),
        lambda x: setattr(x, "data", minigrad.tensor([1j])),
        lambda x: minigrad.func.jvp(lambda x: x * 1j, (x.detach(),), (x.detach(),)),
    ],
)
def test_gradients_of_complex_numbers_are_refused_as_they_would_be_wrong(differentiate):
    x = minigrad.ones(1, requires_grad=True)

    with pytest.raises(NotImplementedError, match="no gradients of complex numbers.*To fix it"):
        differentiate(x)


def test_complex_numbers_have_values():
    x = minigrad.tensor([[1 + 2j, 3 - 1j]])

    assert x.conj().tolist() == [[1 - 2j, 3 + 1j]] and x.real.tolist() == [[1, 3]]
    assert x.H.tolist() == x.mH.tolist() == x.adjoint().tolist() == [[1 - 2j], [3 + 1j]]
    assert x[0].vdot(x[0]).item() == 15 and x.abs().square().sum().item() == pytest.approx(15)
    assert x.norm().item() == pytest.approx(15**0.5)
    with pytest.raises(NotImplementedError, match="\"amax\" not implemented for 'ComplexFloat'"):
        x.max()


class Foreign:
    """Knows how to be the right operand, and nothing else."""

    for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
        exec(f"def __r{_name}__(self, other): return 'r{_name}'")
    __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: "compared"


OPERATORS_OF_TWO = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift".split()


class ForeignTuple(Foreign, tuple):
    """A tuple with its own operators, which published packages derive for several states."""


@pytest.mark.parametrize("name", [*OPERATORS_OF_TWO, "lt", "le", "gt", "ge"])
def test_an_operator_asks_a_foreign_object(name):
    x = minigrad.tensor([1, 2])
    apply, word = getattr(operator, name), name.strip("_")
    compares = name in ("lt", "le", "gt", "ge")
    answer = "compared" if compares else f"r{word}"

    assert [apply(x, y) for y in (Foreign(), Foreign(), ForeignTuple())] == [answer] * 3
    assert getattr(x, f"__{word}__")(object()) is NotImplemented
    with pytest.raises(
        TypeError, match="not supported between" if compares else "unsupported operand type"
    ):
        apply(x, object())
    if not compares:
        assert getattr(operator, f"i{word}")(x, Foreign()) == f"r{word}"
        assert getattr(x, f"__r{word}__")(object()) is NotImplemented
    with pytest.raises(TypeError, match=r"minigrad\.tensor"):
        apply(x, [1, 2])


def test_a_function_refuses_a_foreign_object():
    with pytest.raises(TypeError, match="unsupported operand type"):
        minigrad.tensor([1, 2]).mul(Foreign())


def test_the_rows_of_a_tensor_are_appended_to_a_list():
    rows = [1]
    rows += minigrad.tensor([[2.0], [3.0]])

    assert [minigrad.as_tensor(r).tolist() for r in rows] == [1, [2], [3]]
    with pytest.raises(TypeError, match="can only concatenate list"):
        rows + minigrad.ones(1)


def test_a_deep_copy_keeps_attributes():
    x = minigrad.ones(1)
    x.name = ["weight"]
    y = copy.deepcopy(x)

    assert y.name == ["weight"] and y.name is not x.name


def test_an_array_that_cannot_be_written_to_is_warned_about():
    a = np.ones(1)
    a.setflags(write=False)

    with pytest.warns(UserWarning, match="not writable"):
        minigrad.from_numpy(a)
