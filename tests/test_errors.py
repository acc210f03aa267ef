"""The three errors of the tape that learners meet first, word for word, in a notebook cell.

The cells run in an IPython shell of their own, as they would in a notebook.
"""

import weakref

import pytest
from IPython.core.interactiveshell import InteractiveShell

import minigrad
from minigrad.core import errors
from minigrad.core.errors import AutogradError, Place, ShapeError
from tests.shells import NO_HISTORY


@pytest.fixture
def shell():
    """A shell with the extension's line tracing on, as in a notebook."""
    shell = InteractiveShell.instance(config=NO_HISTORY)
    shell.reset()
    minigrad.trace_lines(True)
    yield shell
    minigrad.trace_lines(False)
    InteractiveShell.clear_instance()


# Cells, and the message of the error that the last of them raises.
IN_CELLS = {
    "a saved value that changed": (
        ["x = minigrad.tensor([2.0], requires_grad=True)\ny = minigrad.tensor([3.0])\nz = x * y\ny += 1",
         "z.backward()"],
        "MulBackward0 (z = x * y) needs y as it was when z was computed, but y has changed since (one of "
        "the variables needed for gradient computation has been modified by an inplace operation: it is "
        "at version 1; expected version 0 instead).\n"
        "    saved      In [2], line 3    z = x * y    y at version 0\n"
        "    changed    In [2], line 4    y += 1       y at version 1\n"
        "    To fix it, write  y = y + 1  (a new tensor) instead of  y += 1, or go on from  y.clone().",
    ),
    "a second backward": (
        ["x = minigrad.tensor([2.0], requires_grad=True)\nz = x * x\nz.backward()", "z.backward()"],
        "Trying to backward through the graph a second time (or directly access saved tensors after "
        "they have already been freed). The saved values of the graph are freed as a backward pass "
        "uses them.\n"
        "    first pass    In [2], line 3    z.backward()\n"
        "    Specify retain_graph=True in the first pass if you need a second one, or compute the result again.",
    ),
    "a leaf changed in place": (
        ["w = minigrad.tensor([2.0], requires_grad=True)\nw -= 0.1"],
        "a leaf Variable that requires grad is being used in an in-place operation. The leaf's value "
        "would change, and its gradient would belong to neither the old value nor the new one.\n"
        "    here    In [2], line 2    w -= 0.1\n"
        "    To fix it, make a new tensor (y = x + 1, not x += 1; or write to x.clone()), or, to update "
        "a parameter, write inside a block: with minigrad.no_grad()",
    ),
}  # fmt: skip


@pytest.mark.parametrize("cells, message", IN_CELLS.values(), ids=IN_CELLS)
def test_in_cells_an_error_shows_the_lines(shell, cells, message):
    for cell in ("import minigrad", *cells):
        result = shell.run_cell(cell, store_history=True)

    assert isinstance(result.error_in_exec, RuntimeError)
    assert str(result.error_in_exec) == message


# How a gradient's way ends; and the row that names the line, or a detached tensor that has none
ENDS = {
    "with minigrad.no_grad():\n    y = x * 2": "    no_grad    In [2], line 5    y = x * 2",
    "y = (x * 2).argmax().float()": "    not a floating-point result    In [2], line 4    y = (x * 2).argmax().float()",
    "h = x * 2\ny = h.detach()": "    detach    y",
    "x = minigrad.nn.Linear(2, 2).requires_grad_(False)\ny = x(minigrad.ones(2))":
        "    computed from    x.weight, x.bias    which require no gradient",
}  # fmt: skip


@pytest.mark.parametrize("lines", ENDS)
def test_in_a_recording_backward_names_the_line_beyond_which_no_gradient_passes(shell, lines):
    shell.run_cell("import minigrad\n%load_ext minigrad", store_history=True)
    start = "%%autograd\nx = minigrad.tensor([2.0, 1.0], requires_grad=True)\n\n"
    result = shell.run_cell(start + lines + "\n(y + 1).sum().backward()", store_history=True)
    assert str(result.error_in_exec).endswith("or .data.\n" + ENDS[lines])


def test_without_tracing_the_error_says_how_to_see_more():
    x = minigrad.tensor([2.0], requires_grad=True)
    y = x.exp()
    y += 1

    with pytest.raises(AutogradError) as caught:
        y.sum().backward()
    message = str(caught.value)
    assert "ExpBackward0 (z = exp(x), where z is y) needs its result y" in message
    assert "write  y = y + 1  (a new tensor) instead of  y += 1" in message
    assert "changed    test_errors.py, line" in message and "y += 1" in message
    assert "minigrad.trace_lines()" in message


def test_the_culprit_is_named_where_two_values_are_saved():
    minigrad.trace_lines(True)
    try:
        x = minigrad.tensor([2.0], requires_grad=True) * 1
        y = minigrad.tensor([3.0], requires_grad=True) * 1
        x += 1
        z = x * y
        y += 1
        with pytest.raises(
            AutogradError, match="needs y as it was .* version 1; expected version 0"
        ):
            z.backward()
    finally:
        minigrad.trace_lines(False)


def test_a_saved_value_that_changed_has_the_users_name_and_the_formulas_letter_once():
    a, w = minigrad.tensor([2.0], requires_grad=True), minigrad.tensor([3.0])
    product, e = a * w, a.exp()
    w += 1
    e += 1

    with pytest.raises(AutogradError) as caught:
        product.backward()
    with pytest.raises(AutogradError) as result:
        e.backward()

    assert str(caught.value).startswith(
        "MulBackward0 (z = x * y, where y is w) needs w as it was when z was computed, but w has changed"
    )
    assert "w at version 1" in str(caught.value)
    assert "(z = exp(x), where z is e) needs its result e as it was" in str(result.value)


def test_a_variadic_op_names_the_operand_that_changed():
    p, q = (minigrad.tensor([2.0], requires_grad=True) * 1 for _ in range(2))
    z = minigrad.einsum("i,i->i", p, q)
    q += 1

    with pytest.raises(AutogradError, match="but q has changed since"):
        z.backward()


def test_a_place_knows_its_line():
    place = errors.user_line()

    assert place.text == "place = errors.user_line()"
    assert place.label.startswith("test_errors.py, line ")
    assert Place("<string>", 3).label == "<string>, line 3"


def test_the_line_of_an_instruction_is_looked_up_later():
    places = [
        errors.place_of(errors.user_instruction()),
        (errors.place_of(errors.user_instruction()), errors.user_line())[0],
    ]

    assert places[0].text == "errors.place_of(errors.user_instruction()),"
    assert places[1].line == places[0].line + 1
    assert errors.place_of(None) is None


@pytest.mark.parametrize(
    ("program", "phrase", "mend"),
    [
        (
            lambda a: a(2, 3) + a(2),
            r"size of tensor a \(3\) must match the size of tensor b \(2\)",
            "b.unsqueeze",
        ),
        (
            lambda a: a(2, 3) @ a(2, 3),
            r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)",
            "left @ right.T",
        ),
        (lambda a: a(3, 2) @ a(3, 4), r"cannot be multiplied \(3x2 and 3x4\)", "left.T @ right"),
        (
            lambda a: a(2) @ a(()),
            "both arguments to matmul need to be at least 1D",
            "* instead of @",
        ),
        (lambda a: a(6).reshape(4), r"shape '\[4\]' is invalid for input of size 6", ""),
        (
            lambda a: minigrad.cat([a(2, 3), a(2, 4)]),
            "Sizes of tensors must match except in dimension 0",
            "",
        ),
        (lambda a: minigrad.stack([a(2), a(3)]), "stack expects each tensor to be equal size", ""),
        (lambda a: minigrad.stack([a(2), a(2, 3)]), "stack expects each tensor to be equal", ""),
        (lambda a: a(2).__iadd__(a(3, 2)), "doesn't match the broadcast shape", ""),
    ],
)
def test_shapes_that_do_not_fit_are_explained(program, phrase, mend):
    with pytest.raises(ShapeError, match=phrase) as caught:
        program(minigrad.ones)

    assert mend in str(caught.value)


def test_a_product_of_shapes_that_do_not_fit_names_the_users_tensors():
    y, x = minigrad.ones(3), minigrad.ones(2, 3)

    with pytest.raises(
        ShapeError, match=r"in y @ x, .* last axis of y \(3\) .* axis of x \(2\)"
    ) as caught:
        y @ x
    assert "try  y @ x.T." in str(caught.value)
    with pytest.raises(ShapeError, match=r"in y @ right, .* axis of right \(2\)"):
        y @ (x * 2)
    with pytest.raises(ShapeError, match="in x @ x the last axis of x"):
        minigrad.addmm(y, x, x)


def test_dims_and_indices_out_of_range():
    x = minigrad.ones(2, 3)

    with pytest.raises(
        IndexError,
        match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)",
    ):
        x.sum(2)
    with pytest.raises(IndexError, match="out of bounds"):
        x[2]
    with pytest.raises(IndexError, match="must be long, int, byte or bool"):
        x[minigrad.tensor([0.5])]


def test_types_that_do_not_fit():
    with pytest.raises(
        RuntimeError, match="[oO]nly Tensors of floating point .*can require gradients"
    ):
        minigrad.tensor([1, 2], requires_grad=True)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        x = minigrad.tensor([1, 2])
        x += 0.5
    with pytest.raises(
        RuntimeError,
        match="expected m1 and m2 to have the same dtype, but got: float != double.* To fix it",
    ):
        minigrad.ones(2, 2) @ minigrad.ones(2, 2, dtype=minigrad.float64)
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        minigrad.exp([1.0])


def test_an_unknown_numpy_function_names_the_nearest():
    import numpy as np

    with pytest.raises(
        TypeError, match="np.nanprod is not an operation of tensors. Did you mean .*np.prod"
    ):
        np.nanprod(minigrad.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="To fix it, write  minigrad.median"):
        np.median(minigrad.ones(2, requires_grad=True))


def test_shapes_that_cannot_be_broadcast_are_called_by_the_users_names():
    x, v = minigrad.ones(2, 3), minigrad.ones(2)

    with pytest.raises(ShapeError) as caught:
        x * v

    assert str(caught.value) == (
        "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1: mul of "
        "shapes (2, 3) and (2,), where a is x and b is v. Shapes are compared from the right; two sizes fit "
        "if they are equal or one of them is 1. To fix it, try  v.unsqueeze(-1), of shape (2, 1)."
    )
    assert (x * v.unsqueeze(-1)).shape == (2, 3)


def test_a_tensor_called_a_is_not_said_to_be_a():
    a, v = minigrad.ones(2, 3), minigrad.ones(4)

    with pytest.raises(ShapeError) as caught:
        a * v

    assert "where b is v." in str(caught.value)


def test_rows_of_unequal_length_are_one_error_and_not_two():
    with pytest.raises(ValueError, match="expected sequence of length 2") as caught:
        minigrad.tensor([[1.0, 2.0], [3.0]])

    assert caught.value.__suppress_context__ and caught.value.__cause__ is None


@pytest.mark.parametrize(
    "shapes, remedy",
    [
        ([(2, 3), (3, 2)], "try  b.T, of shape (2, 3)"),
        ([(2, 5, 3), (2, 3)], "try  b.unsqueeze(1), of shape (2, 1, 3)"),
        ([(4,), (4, 2)], "try  a.unsqueeze(-1), of shape (4, 1)"),
        ([(2, 3), (4,)], "To fix it, look at the lines that made a and b: at dimension 1"),
    ],
)
def test_a_remedy_for_each_mismatch(shapes, remedy):
    with pytest.raises(ShapeError) as caught:
        minigrad.ones(*shapes[0]) + minigrad.ones(*shapes[1])

    assert remedy in str(caught.value)


def test_three_shapes_that_do_not_fit_name_the_first_two():
    with pytest.raises(ShapeError, match=r"tensor a \(3\) must match the size of tensor b \(4\)"):
        minigrad.where(minigrad.ones(3) > 0, minigrad.ones(4), minigrad.ones(5))


def test_looking_for_names_keeps_nothing_alive():
    x, y = minigrad.ones(2), minigrad.ones(3)
    seen = weakref.ref(y)

    with pytest.raises(ShapeError):
        x + y
    del y

    assert seen() is None


@pytest.mark.parametrize(
    "shape, remedy",
    [
        ((3, 2), "gradient.T, of shape (2, 3)"),
        ((3,), "gradient.expand_as(z)"),
        ((4,), "z.backward(minigrad.ones_like(z))"),
    ],
)
def test_a_gradient_of_another_shape_says_how_to_mend_it(shape, remedy):
    z = minigrad.ones(2, 3, requires_grad=True) * 2

    with pytest.raises(ShapeError, match="Mismatch in shape: grad_output") as caught:
        z.backward(minigrad.ones(*shape))

    assert "To fix it" in str(caught.value) and remedy in str(caught.value)


def test_numpy_of_a_tensor_that_requires_grad_says_how_to_mend_it():
    x = minigrad.ones(2, requires_grad=True)

    with pytest.raises(
        RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"
    ) as caught:
        x.numpy()

    assert "To fix it, write  x.detach().numpy()" in str(caught.value)


def test_a_list_is_refused_as_an_operand_whatever_the_dtype_of_the_tensor():
    with pytest.raises(TypeError, match="unsupported operand type"):
        minigrad.tensor([True]) ** [1]


@pytest.mark.parametrize(
    "wrong, dimension, size",
    [
        (lambda x: x[5], 0, 2),
        (lambda x: x[[0, 2]], 0, 2),
        (lambda x: x[:, [4]], 1, 3),
        (lambda x: x[minigrad.tensor([0, 2])], 0, 2),
        (lambda x: x.__setitem__(5, 1.0), 0, 2),
        (lambda x: x.__setitem__((slice(None), [4]), 1.0), 1, 3),
        (lambda x: (x * 1).requires_grad_()[5], 0, 2),
    ],
)
def test_an_index_beyond_the_end_names_the_dimension_and_its_size(wrong, dimension, size):
    with pytest.raises(
        IndexError, match=f"is out of bounds for dimension {dimension} with size {size}"
    ):
        wrong(minigrad.zeros(2, 3))


N = 10**15  # entries of an array that no machine has memory for


@pytest.mark.parametrize(
    "too_large, described",
    [
        (lambda: minigrad.zeros(N), "4000000000000000 bytes (3,725,290.3 GiB), for an array of shape (10"),
        (lambda: minigrad.zeros(2**62, 2**10), f"Storage size calculation overflowed with sizes=[{2**62}, 1024]"),
        (lambda: minigrad.ones(1).new_zeros(N), "bytes"),
        (lambda: minigrad.ones(1).new_full((N,), 2.0), "bytes"),
        (lambda: minigrad.randn(N), "in randn."),
        (lambda: minigrad.randperm(N), "randperm needs more"),
        (lambda: minigrad.eye(10**8), "in eye."),
        (lambda: minigrad.arange(10**20), "arange needs more"),
        (lambda: minigrad.tril_indices(10**8, 10**8), "in tril_indices."),
        (lambda: minigrad.bincount(minigrad.tensor([N])), "in bincount."),
        (lambda: minigrad.ones(1).repeat(N), "of shape (1,)"),
        (lambda: minigrad.ones(1).expand(N).exp(), "in exp of shape (1000000000000000,)."),
        (lambda: minigrad.ones(10**8, 1) @ minigrad.ones(1, 10**8), "in matmul of shapes"),
        (lambda: minigrad.ones(10**7) - minigrad.ones(10**7, 1), "To fix it, give both the same shape."),
    ],
)  # fmt: skip
def test_an_array_that_does_not_fit_into_memory_is_pytorchs_runtime_error(too_large, described):
    with pytest.raises(RuntimeError, match="can't allocate memory") as caught:
        too_large()

    assert described in str(caught.value)


def test_a_tensor_that_was_multiplied_by_itself_in_place_is_named_where_lines_are_traced():
    minigrad.trace_lines(True)
    try:
        y = minigrad.tensor([2.0], requires_grad=True) * 1
        y.mul_(y)
        with pytest.raises(AutogradError, match="MulBackward0 .* needs"):
            y.backward()
    finally:
        minigrad.trace_lines(False)
