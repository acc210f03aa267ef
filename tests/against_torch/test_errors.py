"""What a user of PyTorch searches for is in minigrad's messages, too."""

import io

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad


def said_by(library, program):
    """The type and the message of the error that a program ends with."""
    with pytest.raises(Exception) as caught:
        program(library)
    return caught.type, str(caught.value)


PROGRAMS = {
    "sizes that cannot be broadcast": (
        lambda t: t.ones(2, 3) + t.ones(4),
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
    ),
    "of a leading axis": (
        lambda t: t.ones(2, 5, 3) * t.ones(2, 3),
        "The size of tensor a (5) must match the size of tensor b (2) at non-singleton dimension 1",
    ),
    "a gradient of another shape": (
        lambda t: (t.ones(2, 3, requires_grad=True) * 2).backward(t.ones(3, 2)),
        "Mismatch in shape: grad_output[0] has a shape of ",
    ),
    "numpy of a tensor that requires grad": (
        lambda t: t.ones(2, requires_grad=True).numpy(),
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    ),
    "a layer of another dtype": (
        lambda t: t.nn.Linear(3, 2)(t.ones(1, 3, dtype=t.float64)),
        "mat1 and mat2 must have the same dtype, but got Double and Float",
    ),
    "matrices of two dtypes": (
        lambda t: t.ones(2, 3) @ t.ones(3, 2, dtype=t.float64),
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    "images of another dtype": (
        lambda t: t.nn.Conv2d(1, 1, 1)(t.ones(1, 1, 2, 2, dtype=t.float64)),
        "Input type (double) and bias type (float) should be the same",
    ),
    "a solution in two dtypes": (
        lambda t: t.linalg.solve(t.eye(2), t.ones(2).double()),
        "linalg.solve: Expected A and B to have the same dtype, but found A of type Float and B of type Double instead",
    ),
    "an end of another dtype": (
        lambda t: t.lerp(t.ones(2), t.ones(2).double(), 0.5),
        "expected dtype float for `end` but got dtype double",
    ),
    "a weight of another dtype": (
        lambda t: t.lerp(t.ones(2), t.ones(2), t.ones(2).double()),
        "expected dtype float for `weight` but got dtype double",
    ),
    "a matrix and a vector of two dtypes": (
        lambda t: t.addmv(t.ones(2), t.ones(2, 2), t.ones(2).double()),
        "addmv input tensors must have the same dtype, but got Float, Float, and Double",
    ),
    "rows of another dtype": (
        lambda t: t.ones(2).index_copy(0, t.tensor([0]), t.ones(1).double()),
        "index_copy_(): self and source expected to have the same dtype, but got (self) Float and (source) Double",
    ),
    "added rows of another dtype": (
        lambda t: t.ones(2).index_add(0, t.tensor([0]), t.ones(1).double()),
        "index_add_(): self (Float) and source (Double) must have the same scalar type",
    ),
    "an index that is not long": (
        lambda t: t.ones(2).take(t.tensor([0]).int()),
        "take(): Expected a long tensor for index, but got Int",
    ),
    "uint16 and int64": (
        lambda t: t.tensor([1], dtype=t.uint16) + t.tensor([1]),
        "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote UInt16 and Long",
    ),
    "a matrix to invert of integers": (
        lambda t: t.linalg.inv(t.eye(2).long()),
        "linalg.inv: Expected a floating point or complex tensor as input. Got Long",
    ),
    "a sum with None": (
        lambda t: t.ones(2) + None,
        "unsupported operand type(s) for +: 'Tensor' and 'NoneType'",
    ),
    "a column of classes": (
        lambda t: t.nn.CrossEntropyLoss()(t.ones(2, 3), t.tensor([[0], [1]])),
        "0D or 1D target tensor expected, multi-target not supported",
    ),
}
# What is said without advice.
PHRASES = {
    "classes that are not whole": (
        lambda t: t.nn.CrossEntropyLoss()(t.ones(2, 3), t.ones(2)),
        "expected target dtype to be Long or Byte, but got Float",
    ),
    "a window larger than the image": (
        lambda t: t.nn.MaxPool2d(5)(t.ones(1, 3, 4, 6)),
        "Given input size: (3x4x6). Calculated output size: (3x0x1). Output size is too small",
    ),
    "an index of floats": (
        lambda t: t.ones(2).gather(0, t.zeros(1)),
        "gather(): Expected dtype int32/int64 for index",
    ),
    "out= of another dtype": (
        lambda t: t.neg(t.ones(2), out=t.ones(2).double()),
        "Found dtype Double but expected Float",
    ),
    "a memory that is shared in another dtype": (
        lambda t: t.asarray(t.ones(2), dtype=t.int8, copy=False),
        "can't alias tensor with dtype 'Float' into dtype 'Char'.",
    ),
    "a complex alpha": (
        lambda t: t.add(t.ones(2), t.ones(2), alpha=1j),
        "For non-complex input tensors, argument alpha must not be a complex number.",
    ),
    "bytes of a column": (
        lambda t: t.ones(2, 4).t().view(t.float64),
        "self.stride(-1) must be 1",
    ),
    "nothing to stack": (lambda t: t.stack([]), "stack expects a non-empty TensorList"),
    "a batch of rows": (
        lambda t: t.ones(2, 5, 3) @ t.ones(4, 2),
        "mat1 and mat2 shapes cannot be multiplied (10x3 and 4x2)",
    ),
    "a vector": (
        lambda t: t.ones(2, 3) @ t.ones(4),
        "size mismatch, got input (2), mat (2x3), vec (4)",
    ),
    "two batches": (
        lambda t: t.ones(5, 3) @ t.ones(2, 4, 2),
        "Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [2, 4].",
    ),
    "batches for bmm": (
        lambda t: t.bmm(t.ones(2, 3), t.ones(2, 3, 1)),
        "batch1 must be a 3D tensor",
    ),
}


def parametrize(t, right_inverse, times=1):
    """A layer whose weight is parametrized by a module with this right inverse, after (times - 1) others."""
    parts = {"forward": lambda self, *x: x[0], "right_inverse": lambda self, x: right_inverse(x)}
    layer, add = t.nn.Linear(3, 2), t.nn.utils.parametrize.register_parametrization
    for _ in range(times - 1):
        add(layer, "weight", t.nn.Identity())
    return add(layer, "weight", type("Step", (t.nn.Module,), parts)())


def prepend(t, *shape):
    return t.ones(2, 3).diff(prepend=t.ones(shape))


# What PyTorch's own tests look for in the words of errors.
WORDS = {
    "Cannot pack empty tensors": lambda t: t.nn.utils.rnn.pack_padded_sequence(t.ones(0, 0), []),
    "stride should not be zero": lambda t: t.nn.functional.max_pool2d(t.ones(1, 4, 4), 2, 0),
    "max_pool1d() stride must be greater than zero": lambda t: t.nn.functional.max_pool1d(
        t.ones(1, 4, 4), 2, 0
    ),
    "max_pool1d() dilation must be greater": lambda t: t.nn.functional.max_pool1d(
        t.ones(1, 4, 4), 2, dilation=0
    ),
    "lambda must be in range [0, 3.40282e+38] for input dtype Float, but found -0.5": lambda t: (
        t.nn.functional.softshrink(t.ones(2), -0.5)
    ),
    "lambda must be in range [0, 65504] for input dtype Half, but found 65507": lambda t: (
        t.nn.functional.softshrink(t.ones(2).half(), 65507.0)
    ),
    "rrelu: lower bound must be finite, got nan": lambda t: t.nn.functional.rrelu(
        t.ones(2), float("nan"), 0.3
    ),
    "rrelu: upper bound must be finite, got inf": lambda t: t.nn.RReLU(0.1, float("inf"))(
        t.ones(2)
    ),
    "cummax(): Expected reduction dim -1 or 0 for scalar but got 3": lambda t: t.ones(()).cummax(3),
    "cummin(): Expected reduction dim -1 or 0 for scalar but got -2": lambda t: t.ones(()).cummin(
        -2
    ),
    "can only concatenate tuple (not list) to torch.Size": lambda t: t.Size([1]) + [2],
    "can only concatenate tuple (not int) to torch.Size": lambda t: t.Size([1]) + 2,
    "upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor=4294967296": lambda t: (
        t.nn.PixelShuffle(2**32)(t.ones(1, 4, 1, 1))
    ),
    "pixel_shuffle expects a positive upscale_factor, but got -2": lambda t: t.nn.PixelShuffle(-2)(
        t.ones(1, 4, 1, 1)
    ),
    "pixel_unshuffle expects a positive downscale_factor, but got 0": lambda t: t.nn.PixelUnshuffle(
        0
    )(t.ones(1, 4, 1, 1)),
    "Number of groups to divide channels in must be positive. Value of groups:0": lambda t: (
        t.nn.functional.channel_shuffle(t.ones(1, 3, 2, 2), 0)
    ),
    "log_probs tensor must not be empty": lambda t: t.nn.functional.ctc_loss(
        t.ones(0, 0, 4), *[t.arange(0)] * 3
    ),
    "batch_sizes can not be empty": lambda t: t.nn.utils.rnn.unpack_sequence(
        t.nn.utils.rnn.PackedSequence(t.ones(0), t.arange(0))
    ),
    "Attempting to broadcast a dimension with negative length!": lambda t: t.broadcast_shapes(-1),
    "dimension of length 4 at -1! Mismatching argument at index 1 had (4,); but expected shape should be broadcastable to [2, 3]": lambda t: (
        t.broadcast_shapes((2, 3), (4,))
    ),
    "binomial only supports floating-point dtypes for prob, got: Long": lambda t: t.binomial(
        t.ones(2), t.arange(2)
    ),
    "Found dtype Double but expected Float": lambda t: t.binomial(t.ones(2), t.ones(2).double()),
    "expected dtype double for `weight` but got dtype float": lambda t: t.lerp(
        t.ones(2).double(), t.ones(2).double(), t.ones(1)
    ),
    "device type at start of device string: gpu": lambda t: t.autocast("gpu", enabled=False),
    "Expected `device_type` of type `str`": lambda t: t.autocast(3),
    "Lanczos mode requires antialias=True": lambda t: t.nn.functional.interpolate(
        t.ones(1, 1, 2, 2), 4, mode="lanczos"
    ),
    "Lanczos mode does not support align_corners=True": lambda t: t.nn.functional.interpolate(
        t.ones(1, 1, 2, 2), 4, mode="lanczos", align_corners=True, antialias=True
    ),
    "Only Tensors of floating point and complex dtype can require gradients": lambda t: (
        t.nn.Parameter(t.arange(2))
    ),
    "instead": lambda t: -(t.ones(2) > 0),
    "masked_scatter_ only supports boolean masks": lambda t: t.ones(2).masked_scatter(
        t.ones(2), t.ones(2)
    ),
    "tensor_split() received an invalid combination": lambda t: t.ones(2).tensor_split("a"),
    "encountering probability entry < 0": lambda t: t.tensor([1.0, -1.0]).multinomial(2, True),
    "encountering probability entry = infinity or NaN": lambda t: t.tensor(
        [1.0, float("inf")]
    ).multinomial(2, True),
    "it may not change the dtype": lambda t: parametrize(t, lambda x: x.double()),
    "of the sequence with type": lambda t: parametrize(t, lambda x: (None, x)),
    "right_inverse must return a tensor": lambda t: parametrize(t, lambda x: (x, x), 2),
    "must have the same dtype": lambda t: parametrize(t, lambda x: x.double(), 2),
    "must have the same shape": lambda t: parametrize(t, lambda x: x[:-1], 2),
    "only supported through state_dict": lambda t: t.save(parametrize(t, t.clone), io.BytesIO()),
    "diff expects the shape of tensor to prepend or append to match": lambda t: prepend(t, 3, 3),
    "diff expects input to be at least one-dimensional": lambda t: t.ones(()).diff(
        append=t.ones(())
    ),
    "source tensor shape must match self tensor shape": lambda t: t.ones(()).index_add(
        0, t.tensor([0]), t.ones(1, 1)
    ),
    "index_fill_(): Converting complex Scalar to non-complex type": lambda t: t.ones(
        2, dtype=t.bool
    ).index_fill(0, t.tensor([0]), 1j),
    "without overflow": lambda t: t.ones(2).masked_fill(t.ones(2) > 0, t.tensor(1j)),
    "expected scalar_type Float but found Short": lambda t: t.cummax(
        t.ones(2), 0, out=(t.ones(2).short(), t.arange(2))
    ),
    "out tensor must be same dtype as the input": lambda t: t.quantile(
        t.ones(2), 0.5, out=t.arange(1)
    ),
    "Expected out tensor to have dtype": lambda t: t.max(
        t.ones(2, 2), 0, out=(t.arange(2), t.arange(2))
    ),
    "Negative strides are not supported": lambda t: t.ones(2).as_strided((1, 2), (1, -1)),
    "Storage size calculation overflowed": lambda t: t.empty(2**62),
    "must match dimensionality of strides": lambda t: t.empty_strided((2, 2), (1,)),
    "can't be safely cast to passed dtype Float": lambda t: t.linspace(0, 1j, 3, dtype=t.float32),
    "uniform_ expects to-from <= ": lambda t: t.ones(3).uniform_(-3e38, 3e38),
    "offset (-1 bytes) must be": lambda t: t.frombuffer(bytearray(5), dtype=t.int8, offset=-1),
    "must be a multiple of element size (2)": lambda t: t.frombuffer(bytearray(5), dtype=t.int16),
    "requested buffer length (3 * 2 bytes)": lambda t: t.frombuffer(
        bytearray(5), dtype=t.int16, count=3
    ),
    "can't alias NumPy scalars.": lambda t: t.asarray(np.float64(1), copy=False),
    "not implemented for 'Long'": lambda t: t.histogram(t.arange(3), 2),
    "argument 'mode' (position 1) must be bool, not int": lambda t: t.use_deterministic_algorithms(
        1
    ),
    "but its components must be at least one.": lambda t: t.nn.functional.unfold(
        t.ones(1, 1, 2, 2), 3
    ),
    "expected grid to have size 2 in last dimension": lambda t: grid_sample(
        t, (1, 1, 2, 2), (1, 1, 1, 3)
    ),
    "expected grid to have size 1 in last dimension": lambda t: grid_sample(
        t, (1, 2, 2), (1, 1, 1, 2)
    ),
    "expected grid and input to have same batch size": lambda t: grid_sample(
        t, (1, 1, 2, 2), (2, 1, 1, 2)
    ),
    "1D target tensor expected": lambda t: t.nn.functional.cosine_embedding_loss(
        t.ones(3, 2), t.ones(3, 2), t.ones(3, 1)
    ),
    "Expected non-empty vector or matrix": lambda t: t.nn.MultiLabelMarginLoss()(
        t.ones(0), t.arange(3)
    ),
    "expected size to be one of int or": lambda t: t.nn.functional.interpolate(
        t.ones(1, 1, 2), size=(2.0,)
    ),
    "inner() the last dimension must match on both": lambda t: t.inner(t.ones(2, 3), t.ones(2)),
    "dot : expected both vectors to have same dtype": lambda t: t.dot(
        t.ones(1), t.arange(3.0).double()
    ),
    "inconsistent tensor size": lambda t: t.vdot(t.ones(2), t.ones(3)),
    "Boolean beta only supported": lambda t: t.addr(t.ones(2, 2), t.ones(2), t.ones(2), beta=True),
    "Expected a non-complex scalar": lambda t: t.linalg.vector_norm(t.ones(2), 1j),
    "must have at least 2 dimensions": lambda t: t.linalg.lstsq(t.ones(2), t.ones(2)),
    "other must have at least 1 dimension": lambda t: t.linalg.lstsq(t.ones(2, 2), t.ones(())),
    "equation (2) does not match the number of dimensions (1) for operand 0 and no ellipsis was given": lambda t: (
        t.einsum("ij->i", t.ones(2))
    ),
    "Expected one or more matrices": lambda t: t.chain_matmul(),
    "Tensor dimension is 1, expected 2 instead": lambda t: t.chain_matmul(t.ones(2), t.ones(2)),
    "may not change the dtype of the tensor": lambda t: parametrize(t, lambda x: (x.double(), x)),
    "may not change the shape of the tensor": lambda t: parametrize(t, lambda x: x[:-1]),
    "the first tensor must be 1D or 2D": lambda t: t.linalg.multi_dot([t.ones(()), t.ones(2)]),
    "tensor 1 must be 2D": lambda t: t.linalg.multi_dot([t.ones(2), t.ones(2), t.ones(2)]),
    "all tensors must have be the same dtype": lambda t: t.linalg.multi_dot(
        [t.ones(2), t.arange(2)]
    ),
    "[2, 3] and [2, 2] cannot be multiplied": lambda t: t.linalg.multi_dot(
        [t.ones(2, 3), t.ones(2, 2)]
    ),
    "a strictly positive integer for 'ind'": lambda t: t.linalg.tensorinv(t.ones(2, 2), ind=0),
    "prod(self.shape[ind:]) == prod(self.shape[:ind])": lambda t: t.linalg.tensorinv(
        t.ones(2, 3, 5)
    ),
    "lr as a Tensor is not supported": lambda t: t.optim.AdamW(
        [t.ones(1)], lr=t.tensor(0.1), foreach=True
    ),
    "betas[0] as a Tensor is not supported": lambda t: t.optim.Adam(
        [t.ones(1)], betas=(t.tensor(0.1), t.tensor(0.1)), foreach=True
    ),
    "attribute 'training' already exists": lambda t: setattr(
        t.nn.Module(), "training", t.nn.Buffer(t.ones(1))
    ),
}
PHRASES |= {phrase: (program, phrase) for phrase, program in WORDS.items()}


def grid_sample(t, of, at):
    return t.nn.functional.grid_sample(t.ones(of), t.ones(at), align_corners=False)


@pytest.mark.parametrize("program, phrase", PHRASES.values(), ids=PHRASES)
def test_both_say_what_is_wrong_in_the_same_words(program, phrase):
    (theirs, their_text), (ours, our_text) = said_by(torch, program), said_by(minigrad, program)

    assert phrase in their_text and phrase in our_text
    assert issubclass(ours, theirs)


@pytest.mark.parametrize("program, phrase", PROGRAMS.values(), ids=PROGRAMS)
def test_both_say_it_in_the_same_words(program, phrase):
    (theirs, their_text), (ours, our_text) = said_by(torch, program), said_by(minigrad, program)

    assert phrase in their_text and phrase in our_text
    assert issubclass(ours, theirs)
    assert "To fix it" in our_text
