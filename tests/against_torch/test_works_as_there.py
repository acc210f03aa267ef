"""Small programs that once raised, crashed or gave other numbers here, beside PyTorch."""

import math
import sys

import numpy as np
import pytest

import minigrad
import minigrad.utils.checkpoint
from tests.against_torch.agree import outcome, torch

NAN = float("nan")


def assigned(x, index, value):
    x[index] = value
    return x


def gradient(m, f, values):
    x = m.tensor(values, requires_grad=True)
    f(x).sum().backward()
    return x.grad


def of_dual(m, x, f):
    with m.autograd.forward_ad.dual_level():
        return m.autograd.forward_ad.unpack_dual(f(m.autograd.forward_ad.make_dual(x, x)))


def bools(m):
    return m.tensor([True, False])


def beside(m):
    class Counted(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.began = 1

    return Counted


def rows_of(m):
    table = m.nn.Embedding.from_pretrained(m.arange(8.0).reshape(4, 2), freeze=False, sparse=True)
    table(m.tensor([1, 3, 1])).square().sum().backward()
    return table


def norm_and_relu(m, layer, shape):
    n = int(np.prod(shape))
    x = ((m.arange(float(n)) ** 2 - 7) / n).reshape(shape).requires_grad_()
    z = m.nn.ReLU(inplace=True)(layer(m.nn)(x))
    (z * m.arange(float(n)).reshape(shape)).sum().backward()
    return x.grad * 1e-3


def applied(m, *args, **kwargs):
    class Power(m.autograd.Function):
        @staticmethod
        def forward(x, p=2):
            return x**p

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.p = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.p * x ** (ctx.p - 1), None

    return gradient(m, lambda x: Power.apply(x, *args, **kwargs), [3.0])


def with_shapes(m, x):
    before = m.Tensor.__repr__
    m.Tensor.__repr__ = lambda self: f"{tuple(self.shape)} {before(self)}"
    try:
        return [str(x), f"{x}", str([x]), str(m.nn.Parameter(x))]
    finally:
        m.Tensor.__repr__ = before


def with_other_functions(m, x):
    F = m.nn.functional
    before = F.relu, F.dropout
    F.relu, F.dropout = (lambda x, inplace=False: x * 7), (lambda x, p, training, inplace: x * p)
    try:
        return m.nn.Sequential(m.nn.ReLU(), m.nn.Dropout(0.25))(x)
    finally:
        F.relu, F.dropout = before


def exact_by_hand(m, rows, columns):
    scores = (m.arange(float(rows * columns)) * 37 % 101 / 13).reshape(rows, columns)
    largest = scores.max(1, keepdim=True).values.requires_grad_()
    counts = (scores - largest).exp()
    counts.retain_grad()
    (counts.sin() * scores).sum().backward()
    return m.all(largest.grad == (-counts * counts.grad).sum(1, keepdim=True))


def named_by_setattr(m):
    class Net(m.nn.Module):
        def __setattr__(self, name, value):
            names.append(name)
            super().__setattr__(name, value)

    names = []
    Net().weight = m.nn.Parameter(m.ones(1))
    return names


def with_functions(m):
    class Net(m.nn.Module):
        activation, convolve = m.tanh, m.nn.functional.conv1d
        total = m.no_grad()(lambda self, x: self.activation(x).sum())

        def forward(self, x):
            return [self.activation(x), self.convolve(x[None], m.ones(1, 2, 2)), self.total(x)]

    class Deeper(Net):
        activation = m.nn.functional.logsigmoid

    class Tanh(m.nn.Module):
        forward = m.tanh

    return lambda x: [Net()(x), Deeper()(x), Tanh()(x), Net.activation(x)]


def named_blocks(m, x):
    @m.autograd.profiler.record_function("double")
    def double(x):
        return x * 2

    with m.profiler.record_function("forward"):
        return double(x)


def through_one_graph(m, x):
    z = x**2
    return m.vmap(lambda g: m.autograd.grad(z, x, g)[0])(m.stack([x, x * 2]).detach()), z.sum()


def own(m, forward, x):
    cls = type("Own", (m.autograd.Function,), {"forward": staticmethod(forward)})
    return cls.apply(x.clone().requires_grad_())


def times(m, *args, **kwargs):
    class Times(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.x, ctx.y = x, y
            return x * y

        @staticmethod
        def backward(ctx, g):
            return tuple(
                g * v if need else None
                for v, need in zip((ctx.y, ctx.x), ctx.needs_input_grad, strict=True)
            )

    leaf = next(a for a in (*args, *kwargs.values()) if isinstance(a, m.Tensor)).requires_grad_()
    Times.apply(*args, **kwargs).sum().backward()
    return leaf.grad


def materialized(m):
    x, y = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
    g, h = m.autograd.grad((x * x).sum(), (x, y), materialize_grads=True, create_graph=True)
    return [h, *m.autograd.grad((g + h).sum(), (x, y), materialize_grads=True)]


def derivatives(m, f):
    x = m.tensor([1.5, 2.0], requires_grad=True)
    found = [f(x)]
    while found[-1].requires_grad and len(found) < 5:
        found += m.autograd.grad(found[-1].sum(), x, create_graph=True)
    return [str(z) for z in found]


def without_recording(m):
    with m.no_grad():
        return m.nn.Parameter(m.ones(2)).numpy().tolist()


IN_PLACE = {
    "unsqueeze_": lambda m, x: x.unsqueeze_(0), "squeeze_": lambda m, x: x[:1].clone().squeeze_(),
    "squeeze_(0)": lambda m, x: x[:1].clone().squeeze_(0), "t_": lambda m, x: x.t_(),
    "transpose_": lambda m, x: x.transpose_(0, 1), "swapaxes_": lambda m, x: x.swapaxes_(0, 1),
    "t_ of a result": lambda m, x: (x * 2).t_(), "t_ of a view": lambda m, x: x[:, :2].t_(),
    "t_, then a write": lambda m, x: x.t_().add_(1), "unsqueeze_ of a number": lambda m, x: m.tensor(3.0).unsqueeze_(0),
    "x[0] = (1, 3)": lambda m, x: assigned(x, 0, m.ones(1, 3)), "x[0] = (1, 1, 3)": lambda m, x: assigned(x, 0, m.ones(1, 1, 3)),
    "x[0, 0] = (1,)": lambda m, x: assigned(x, (0, 0), m.ones(1)), "x[:] = (1, 2, 3)": lambda m, x: assigned(x, slice(None), m.ones(1, 2, 3)),
    "x[mask] = (1, 3)": lambda m, x: assigned(x, x > 2, m.ones(1, 3)), "x[[0]] = (1, 1, 3)": lambda m, x: assigned(x, [0], m.ones(1, 1, 3)),
    "x[0] = (2, 3)": lambda m, x: assigned(x, 0, m.ones(2, 3)), "copy_ (1, 2, 3)": lambda m, x: x.copy_(m.ones(1, 2, 3)),
    "gradient of x[0] = (1, 3)": lambda m, x: gradient(m, lambda v: assigned(x, 0, v * 2), [[1.0, 2.0, 3.0]]),
    **{f"x[{name}] = {value}": lambda m, x, index=index, value=value: assigned(x, index(m, x), m.tensor(value))
       for name, index in {"mask": lambda m, x: x > 2, "mask of rows": lambda m, x: m.tensor([True, False]), "mask, 0": lambda m, x: (m.tensor([True, False]), 0),
                           "True": lambda m, x: True, "two masks": lambda m, x: (m.tensor([True, False]), m.tensor([True, False, False])), "[0]": lambda m, x: [0]}.items()
       for value in (7, [7], [[True]], [7, 8])},
    "int[mask] = 1.5": lambda m, x: assigned(x.long(), x > 2, m.tensor(1.5)), "index_put_ by a mask": lambda m, x: x.index_put_((x > 2,), m.tensor(7)),
    "index_put_ to accumulate": lambda m, x: x.index_put_((x > 2,), m.tensor(7), accumulate=True),
    "gradient of x[mask] = v.double()": lambda m, x: gradient(m, lambda v: assigned(x, x > 2, v.double()), 2.0),
    "bool[0] = 1": lambda m, x: assigned(bools(m), 1, 1), "bool[0] = 2.5": lambda m, x: assigned(bools(m), 1, 2.5),
    "bool[[0]] = 1": lambda m, x: assigned(bools(m), [1], 1), "bool[0] = tensor": lambda m, x: assigned(bools(m), 1, m.tensor(0.5)),
    "bool.zero_": lambda m, x: bools(m).zero_(), "bool.fill_(2)": lambda m, x: bools(m).fill_(2),
    "bool.masked_fill": lambda m, x: bools(m).masked_fill(~bools(m), 2),
    "an entry of an expanded tensor": lambda m, x: assigned(m.ones(3, 1).expand(3, 3), (0, 0), 5.0),
    "a column of an expanded tensor": lambda m, x: assigned(m.ones(3, 1).expand(3, 3), (slice(None), 0), 5.0),
    "add_ to an entry of an expanded tensor": lambda m, x: m.ones(1, 3).expand(3, 3)[0, 0].add_(5),
}  # fmt: skip
PRODUCTS = {
    "addmm(beta, alpha, a, b)": lambda m, x: m.ones(2, 2).addmm_(1, -2, x, x.t()), "addr(beta, a, b)": lambda m, x: x.addr(2, x[0, :2], x[0]),
    "minigrad.addmm(beta, x, alpha, a, b)": lambda m, x: m.addmm(2, m.ones(2, 2), -1, x, x.t()),
    "minigrad.addmm(beta, x, a, b, out=z)": lambda m, x: [z := m.zeros(2, 2), m.addmm(2, m.ones(2, 2), x, x.t(), out=z)],
    "addmm of three": lambda m, x: x.addmm(x, x, x), "addmv(beta, alpha, a, b)": lambda m, x: m.ones(2).addmv(1, 2, x, x[0]),
    "a convolution without channels": lambda m, x: gradient(m, lambda w: m.nn.functional.conv2d(m.ones(2, 0, 4, 4), w), [[[[]]]]),
    "the bias of three axes": lambda m, x: m.nn.functional.linear(x.expand(4, 2, 3), m.ones(5, 3), m.arange(10.0).reshape(2, 5)),
    "a power of integers": lambda m, x: m.linalg.matrix_power(m.tensor([[1, 1], [0, 1]]), 3),
    "addcmul of integers by a fraction": lambda m, x: [x.long().addcmul(x.long(), x.long(), value=1.5), x.addcmul(x, x.long(), value=1.5)],
    "gcd of two types": lambda m, x: [m.gcd(m.tensor([4], dtype=m.uint8), m.tensor(6)), m.lcm(m.tensor([4, 6]), bools(m)), m.gcd(m.tensor([4], dtype=m.uint8), m.tensor([-6], dtype=m.int8))],
    "no letters": lambda m, x: m.nn.functional.ctc_loss(m.zeros(4, 1, 3), m.zeros(1, 0, dtype=m.int64), m.tensor([4]), m.tensor([0])),
    "repeat in half precision": lambda m, x: gradient(m, lambda v: v.half().repeat(5000), [1.0]),
    "index_add in half precision": lambda m, x: m.zeros(1, 2).half().index_add(0, m.zeros(5000).long(), m.ones(5000, 2).half()),
}  # fmt: skip
COMPARED = {
    "== None": lambda m, x: x == None, "!= None": lambda m, x: x != None, "None ==": lambda m, x: None == x,  # noqa: E711
    "== text": lambda m, x: x == "a", "== list": lambda m, x: x == [1, 2, 3],
    "< None": lambda m, x: x < None, "+ None": lambda m, x: x + None, "eq(None)": lambda m, x: x.eq(None),
    "in a list": lambda m, x: x in [x, None], "is_nonzero of several": lambda m, x: m.is_nonzero(x),
}  # fmt: skip
CAT = {
    "first": lambda m, x: m.cat((m.tensor([]), x)), "along 1": lambda m, x: m.cat((x, m.tensor([])), 1),
    "int64": lambda m, x: m.cat((m.tensor([], dtype=m.int64), x)), "float64": lambda m, x: m.cat((m.tensor([], dtype=m.float64), x)),
    "alone": lambda m, x: m.cat((m.tensor([]), m.tensor([]))), "(0, 3)": lambda m, x: m.cat((m.zeros(0, 3), x)),
    "(0, 4)": lambda m, x: m.cat((m.zeros(0, 4), x)), "nothing": lambda m, x: m.cat(()),
    "gradient": lambda m, x: gradient(m, lambda e: m.cat((e, x)), []),
}  # fmt: skip
NUMPY = {
    "where": lambda m, x: [a.tolist() for a in np.where(x > 2)], "median": lambda m, x: float(np.median(x)),
    "dot": lambda m, x: float(np.dot(x[0], x[1])), "percentile": lambda m, x: float(np.percentile(x, 50)),
    "interp": lambda m, x: float(np.interp(1.5, x[0], x[1])), "cov": lambda m, x: np.cov(x).tolist(),
    "eigh": lambda m, x: np.linalg.eigh(x.T @ x)[0].shape, "atleast_1d": lambda m, x: np.asarray(np.atleast_1d(x)).tolist(),
    "insert": lambda m, x: np.insert(x[0], 0, 9).tolist(), "average": lambda m, x: float(np.average(x)),
    "broadcast_arrays": lambda m, x: len(np.broadcast_arrays(x, 1)), "numpy() in no_grad": lambda m, x: without_recording(m),
    "median of a leaf": lambda m, x: float(np.median(x.requires_grad_())), "numpy() of a leaf": lambda m, x: x.requires_grad_().numpy(),
}  # fmt: skip
INDEXED = {
    "[[[1, 2], [0]]]": lambda m, x: x[[[1, 0], [0]]], "[[[0, 1], [1, 2]]]": lambda m, x: x[[[0, 1], [1, 2]]],
    "[[[0, 1]]]": lambda m, x: x[[[0, 1]]], "[[tensor, tensor]]": lambda m, x: x[[m.tensor([0, 1]), m.tensor([1, 2])]],
    "[[0, slice]]": lambda m, x: x[[0, slice(1, None)]], "[[None, 0]]": lambda m, x: x[[None, 0]], "[[0, 1]]": lambda m, x: x[[0, 1]],
    "[[]]": lambda m, x: x[[]], "[[[]]]": lambda m, x: x[[[]]], "[((0, 1),)]": lambda m, x: x[((0, 1),)],
    "[[[1], [0]]] =": lambda m, x: assigned(x, [[1], [0]], 9.0),
}  # fmt: skip
NAMED = {
    "complex": lambda m, x: complex(m.tensor(1.5)), "complex of two": lambda m, x: complex(m.ones(2)),
    "split": lambda m, x: m.split(x, split_size_or_sections=1), "split(tensor=)": lambda m, x: m.split(tensor=x, split_size_or_sections=[1, 2], dim=1),
    "flip": lambda m, x: x.flip(dims=(0,)), "m.flip": lambda m, x: m.flip(x, dims=[0, 1]), "permute": lambda m, x: x.permute(dims=(1, 0)),
    "view": lambda m, x: x.view(size=(3, 2)), "expand": lambda m, x: x[:1].expand(size=(2, 3)), "repeat": lambda m, x: x.repeat(repeats=(2, 1)),
    "tile": lambda m, x: x.tile(dims=(2, 1)), "new_zeros": lambda m, x: x.new_zeros(size=(2,)), "histogram": lambda m, x: x.histogram(),
    "zeros(out=)": lambda m, x: [m.zeros(2, 3, out=x), x], "ones(out=)": lambda m, x: [m.ones(2, 3, out=x), x],
    "full(out=)": lambda m, x: [m.full((2, 3), 7.0, out=x), x], "eye(out=)": lambda m, x: [m.eye(2, 3, out=x), x],
    "linspace(out=)": lambda m, x: m.linspace(0, 1, 6, out=m.empty(6)), "arange(out=)": lambda m, x: m.arange(3, out=m.empty(3)),
    "rand(out=)": lambda m, x: [m.manual_seed(0) and m.rand(2, 3, out=x), x], "rand(out=) of another size": lambda m, x: m.rand(2, out=m.empty(0)).shape == (2,),
    "randint(out=)": lambda m, x: [m.manual_seed(0) and m.randint(0, 5, (2, 3), out=x), x],
    "zeros(out=, dtype=)": lambda m, x: m.zeros(2, 3, dtype=m.float64, out=x),
}  # fmt: skip
FUNCTIONS = {
    "setup_context, default": lambda m, x: applied(m), "setup_context, position": lambda m, x: applied(m, 3),
    "setup_context, name": lambda m, x: applied(m, p=3), "one name": lambda m, x: times(m, 3.0, y=x), "two names": lambda m, x: times(m, y=3.0, x=x),
    "materialized": lambda m, x: materialized(m),
}  # fmt: skip
# Derivatives of powers, until one has no history.
DERIVATIVES = {
    name: lambda m, x, f=f: derivatives(m, f)
    for name, f in {"square": lambda x: x.square(), "power": lambda x: x**2, "floats": lambda x: x.pow(2.0), "cube": lambda x: x**3, "one": lambda x: x**1, "product": lambda x: x * x, "root": lambda x: x**0.5}.items()
}  # fmt: skip
# A tensor that holds one number in place of the number: n_classes = y.max() + 1
HELD = {
    "roll": lambda m, x: x.roll(m.tensor(1)), "roll along": lambda m, x: x.roll(m.tensor(1), 1), "roll by NumPy's": lambda m, x: x.roll(np.int64(1), np.int64(1)),
    "split": lambda m, x: x.split(m.tensor(1)), "movedim": lambda m, x: x.movedim(m.tensor(0), 1), "chunk": lambda m, x: x.chunk(m.tensor(2)),
    "max_pool1d": lambda m, x: m.nn.functional.max_pool1d(x, m.tensor(2)), "avg_pool1d": lambda m, x: m.nn.functional.avg_pool1d(x, m.tensor(2), m.tensor(1)),
    "conv1d": lambda m, x: m.nn.functional.conv1d(x[None], m.ones(1, 2, 2), stride=m.tensor(1), padding=m.tensor(1)),
    "interpolate": lambda m, x: m.nn.functional.interpolate(x[None], size=m.tensor(6)), "BatchNorm1d": lambda m, x: m.nn.BatchNorm1d(m.tensor(3))(x),
    "GroupNorm": lambda m, x: m.nn.GroupNorm(m.tensor(1), m.tensor(3))(x), "normal_": lambda m, x: x.normal_(m.tensor(2.0), m.tensor(0.0)),
    "[0] * n": lambda m, x: [[0] * m.tensor(2), (0, 1) * m.tensor([2]), "ab" * m.tensor(2)],
    "repr": lambda m, x: [repr(f(m.tensor(3), m.tensor(2))) for f in (m.nn.Linear, m.nn.Embedding, lambda i, o: m.nn.Conv1d(i, o, 1))],
    "repr of a pooling": lambda m, x: [repr(m.nn.MaxPool2d(m.tensor(3))), repr(m.nn.Dropout(m.tensor(0.5)))],
}  # fmt: skip
NUMBERS = {
    "max": lambda m, x: gradient(m, lambda v: v.max(), [1.0, NAN, NAN]), "max(0)": lambda m, x: gradient(m, lambda v: v.max(0).values, [1.0, NAN, 2.0]),
    "min": lambda m, x: gradient(m, lambda v: v.min(), [1.0, NAN]), "median": lambda m, x: gradient(m, lambda v: v.median(), [1.0, NAN, 2.0]),
    "threshold": lambda m, x: m.nn.functional.threshold(m.tensor([NAN, 1.0, -1.0, 0.0]), 0.0, 7.0),
    "gradient of threshold": lambda m, x: gradient(m, lambda v: m.nn.functional.threshold(v, 0.0, 7.0), [NAN, 1.0, -1.0, 0.0]),
    "relu": lambda m, x: gradient(m, lambda v: v.relu(), [NAN, 1.0, -1.0, 0.0]), "hardtanh": lambda m, x: gradient(m, lambda v: m.nn.functional.hardtanh(v), [NAN, 0.5, 1.0]),
    "clamp": lambda m, x: gradient(m, lambda v: v.clamp(0, 1), [NAN, 0.5, 1.0]),
    "max_pool1d": lambda m, x: gradient(m, lambda v: m.nn.functional.max_pool1d(v, 2), [[[NAN, 0.5, 1.0, 2.0]]]),
    "maximum": lambda m, x: gradient(m, lambda v: m.maximum(v, m.tensor([1.0, 1.0])), [NAN, 1.0]),
    "minimum": lambda m, x: gradient(m, lambda v: m.minimum(m.tensor([NAN, 1.0]), v), [2.0, 1.0]),
    "vander": lambda m, x: m.vander(x[0]), "vander(N)": lambda m, x: m.vander(x[0], N=2, increasing=True),
    "vander of ints": lambda m, x: m.vander(m.arange(3)), "vander(N=0)": lambda m, x: m.vander(x[0], N=0),
    "vander of uint8": lambda m, x: m.vander(m.arange(3).byte(), N=5), "vander(N=-1)": lambda m, x: m.vander(x[0], N=-1),
    "fill_diagonal_(wrap)": lambda m, x: m.zeros(8, 3).fill_diagonal_(1.0, wrap=True), "fill_diagonal_": lambda m, x: m.zeros(7, 3).fill_diagonal_(1.0),
    "fill_diagonal_ wide": lambda m, x: m.zeros(3, 7).fill_diagonal_(1.0, True), "fill_diagonal_ of a transpose": lambda m, x: m.zeros(3, 7).t().fill_diagonal_(1.0, True),
    "fill_diagonal_ 3-D": lambda m, x: m.zeros(3, 3, 3).fill_diagonal_(1.0), "fill_diagonal_ unequal": lambda m, x: m.zeros(3, 3, 2).fill_diagonal_(1.0),
    "fill_diagonal_ 1-D": lambda m, x: m.zeros(3).fill_diagonal_(1.0),
    "gradient of fill_diagonal_": lambda m, x: gradient(m, lambda v: (v * 2).fill_diagonal_(1.0, True), np.ones((5, 2)).tolist()),
}  # fmt: skip
NORMS = {
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(2, affine=False), (2, 2, 3, 3)), "BatchNorm1d": (lambda nn: nn.BatchNorm1d(2, affine=False), (3, 2)),
    "InstanceNorm2d": (lambda nn: nn.InstanceNorm2d(2), (2, 2, 3, 3)), "LayerNorm": (lambda nn: nn.LayerNorm((3, 3), elementwise_affine=False), (2, 2, 3, 3)),
    "GroupNorm": (lambda nn: nn.GroupNorm(1, 2, affine=False), (2, 2, 3, 3)), "eval": (lambda nn: nn.BatchNorm2d(2, affine=False).eval(), (2, 2, 3, 3)),
    "affine": (lambda nn: nn.BatchNorm2d(2), (2, 2, 3, 3)), "RMSNorm": (lambda nn: nn.RMSNorm((3,), elementwise_affine=False), (2, 2, 3, 3)),
}  # fmt: skip


def of_none(m, layer, *shape):
    x = m.zeros(shape).requires_grad_()
    z = layer(m.nn, x)
    z.sum().backward()
    return [z, x.grad]


def empty_rows(m, *shape):
    table = m.zeros(shape).requires_grad_()
    m.nn.functional.embedding(m.zeros(2, 0, dtype=m.int64), table, sparse=True).sum().backward()
    return table.grad.to_dense()


def checkpointed(m, part, then=lambda y: None, **settings):
    """Results and gradient of a part of a program in a checkpoint, and what `then` does to its input meanwhile."""
    m.manual_seed(0)
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    results = m.utils.checkpoint.checkpoint(part, y, **settings)
    then(y)
    (results[0] if isinstance(results, tuple) else results).sum().backward()
    return results, x.grad, m.rand(2)


def runs_of_nested(m, depth, early_stop):
    """How often each part runs before and after the backward pass of two checkpoints in each checkpoint."""
    runs = [0] * (depth + 1)

    def part(depth, x):
        runs[depth] += 1
        if not depth:
            return (x * x).sin()
        for _ in range(2):
            settings = {"use_reentrant": False, "early_stop": early_stop}
            x = m.utils.checkpoint.checkpoint(part, depth - 1, x, **settings)
        return x

    x = m.tensor([0.3, 0.2], requires_grad=True)
    z = part(depth, x)
    before = [*runs]
    z.sum().backward()
    return before, runs, x.grad


def hooked_mask(m, x):
    """A mask that was drawn in place, saved by hooks that keep it as it is."""
    mask = m.ones(3).mul_(2)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        z = (x * 3).mul_(mask).exp()
    z.sum().backward()
    return x.grad


def packed(m, f, x):
    """The values that saved-tensor hooks get, and the gradient."""
    seen = []
    with m.autograd.graph.saved_tensors_hooks(
        lambda t: (seen.append(t.detach().clone()), t)[1], lambda t: t
    ):
        z = f(x)
    return seen, m.autograd.grad(z.sum(), x)


def of_rows(m):
    """What programs and hooks do with the gradient of a table of which some rows were read, one of them twice."""
    seen = []
    table = m.arange(10.0).reshape(5, 2).requires_grad_()
    table.register_hook(lambda g: seen.append(g.clone()))
    rows = m.nn.functional.embedding(m.tensor([1, 3, 1]), table, sparse=True)
    (rows * rows).sum().backward()
    g = table.grad
    tables = [
        seen[0],
        g * g,
        g.abs(),
        g.square(),
        g**3,
        g - g,
        g.double(),
        g * m.full((5, 2), 2.0),
        g.sign(),
        m.stack([g, g]),
    ]
    numbers = [
        g.sum(),
        g.sum(0),
        g.norm(),
        (g * g).sum(),
        m.ones(5, 2) - g,
        m.ones(5, 2).add_(g, alpha=-0.5),
        len(g),
    ]
    return [t.to_dense() for t in tables], numbers, list(g)


def clipped(m):
    a, b = m.ones(3, requires_grad=True), m.ones(3, requires_grad=True)
    (a + b).sum().backward(create_graph=True)
    m.nn.utils.clip_grad_norm_([a], 1.0)
    return [a.grad, b.grad]


class Wrapping:
    """An optimizer around another one, as published ones are, which never calls Optimizer.__init__."""

    @staticmethod
    def stepped(m):
        class Lookahead(m.optim.Optimizer):
            def __init__(self, inner):
                self.inner, self.param_groups = inner, inner.param_groups

            def step(self, closure=None):
                return self.inner.step(closure)

        p = m.ones(2, requires_grad=True)
        optimizer = Lookahead(m.optim.SGD([p], lr=0.5))
        (p * 3).sum().backward()
        optimizer.step()
        return p


OLD = {
    "add": lambda m, x: x.add(-0.1, x), "add_": lambda m, x: x.add_(2, x.clone()), "sub_": lambda m, x: x.sub_(0.5, x.clone()),
    "add, a function": lambda m, x: m.add(x, 2, x), "addcmul_": lambda m, x: x.addcmul_(0.5, x.clone(), x.clone()),
    "addcdiv": lambda m, x: x.addcdiv(-1, x, x + 1), "addcmul, a function": lambda m, x: m.addcmul(x, 2, x, x),
    "add_ of three numbers": lambda m, x: x.add_(1, 2, 3), "addcmul_ of tensors": lambda m, x: x.addcmul_(x, x, x),
    "qr": lambda m, x: [abs(f) for f in m.qr(x)], "qr, whole": lambda m, x: [f.shape for f in m.qr(x.T, some=False)],
    "randint_like(high=)": lambda m, x: [m.manual_seed(0) and m.randint_like(x, high=5), m.randint_like(x, low=2, high=4)],
    "clip_grad_norm_ of gradients with a history": lambda m, x: clipped(m), "an optimizer around another": lambda m, x: Wrapping.stepped(m),
    "is_mps, is_xpu": lambda m, x: [x.is_mps, x.is_xpu],
    "getsizeof": lambda m, x: 1000 < sys.getsizeof(m.ones(250).untyped_storage()) < 1200,
    "items of parameters, reversed": lambda m, x: [name for name, _ in reversed(m.nn.Linear(2, 2)._parameters.items())],
    "the dict of submodules": lambda m, x: as_a_dict(m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh(), m.nn.Linear(1, 1))._modules),
    "a dict of modules, reversed": lambda m, x: [[*map(str, reversed(v))] for v in views(m.nn.ModuleDict({"a": m.nn.ReLU(), "b": m.nn.Tanh()}))],
    "functions of two numbers": lambda m, x: [f(*a) for f in (m.add, m.subtract, m.mul, m.div, m.true_divide, m.floor_divide) for a in ((1.5, 2.5), (7, 2), (2, 0.5))],
    "of two numbers, by name": lambda m, x: [m.add(input=1, other=2), m.add(True, True), m.sub(1.5, 2, alpha=3), m.div(7, 2, rounding_mode="trunc"), m.mul(3, 4, out=m.empty(()))],
    "_grad": lambda m, x: shared_gradient(m.nn.Parameter(x), m.nn.Parameter(x)),
    "is_autocast_enabled": lambda m, x: m.is_autocast_enabled(),
}  # fmt: skip


def views(modules):
    return modules.keys(), modules.values(), modules.items()


def as_a_dict(modules):
    parts = [[*map(str, reversed(part))] for part in (modules, *views(modules), modules.copy())]
    return [*parts, str(modules.popitem()), list(modules), modules.clear(), len(modules)]


def shared_gradient(x, shared):
    (x * x).sum().backward()
    shared._grad = x.grad
    return [shared.grad is x.grad, x._grad, shared.is_leaf]


def with_info(m):
    a = m.tensor(
        [[[4.0, 2.0], [2.0, 5.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]],
        requires_grad=True,
    )
    factor, inverse = m.linalg.cholesky_ex(a), m.linalg.inv_ex(a)
    (factor.L[0].sum() + inverse.inverse[0].sum()).backward()
    return [factor.L[0], factor.info, inverse.inverse[:2], inverse.info, a.grad[0]]


SQUARES = np.array(
    [[[0.1, 2, -1], [3, 0.5, 2], [-4, 1, 0.2]], [[2, -1, 0], [0.5, 3, 1], [1, 1, 1]]]
)
INFO = {
    "values and gradients of those that have one": lambda m, x: with_info(m),
    "upper": lambda m, x: m.linalg.cholesky_ex(x @ x.T + m.eye(2), upper=True),
    "check_errors": lambda m, x: m.linalg.cholesky_ex(-m.eye(2), check_errors=True),
    "check_errors of inv_ex": lambda m, x: m.linalg.inv_ex(m.ones(2, 2), check_errors=True),
    "not square": lambda m, x: m.linalg.inv_ex(x), "none": lambda m, x: m.linalg.cholesky_ex(m.ones(0, 2, 2)),
}  # fmt: skip
LU = {
    "of a flow": lambda m, x: [*m.lu_unpack(*m.tensor(SQUARES[0]).lu()), *m.lu_unpack(*m.lu(m.tensor(SQUARES[1])))],
    "of a batch": lambda m, x: [*m.linalg.lu_factor(m.tensor(SQUARES)), *m.linalg.lu(m.tensor(SQUARES))],
    "not square": lambda m, x: [f(a) for a in (x, x.mT) for f in (m.linalg.lu, m.linalg.lu_factor)],
    "of no rows": lambda m, x: [*m.linalg.lu_factor(m.ones(0, 2, 3)), *m.linalg.lu(m.ones(0, 2, 2))],
    "one of both": lambda m, x: [m.lu_unpack(*m.linalg.lu_factor(m.tensor(SQUARES)), *part)[k] for k, part in ((0, (False,)), (2, (True, False)))],
    "solved": lambda m, x: [m.linalg.lu_solve(*m.linalg.lu_factor(m.tensor(SQUARES)), m.tensor(SQUARES[::-1].copy()), left=left, adjoint=adjoint).round(decimals=9) for left in (True, False) for adjoint in (True, False)],
    "of no columns": lambda m, x: [*m.linalg.lu_factor(m.ones(2, 0, 0)), *m.linalg.lu(m.ones(3, 0))],
    "solved, complex": lambda m, x: [m.linalg.lu_solve(*m.linalg.lu_factor(m.tensor(SQUARES * (1 + 2j))), m.tensor(SQUARES * (2 - 1j) + 1j), left=left, adjoint=adjoint).round(decimals=9) for left in (True, False) for adjoint in (True, False)],
    "singular": lambda m, x: m.linalg.lu(m.ones(3, 3)), "singular, to solve with": lambda m, x: m.linalg.lu_factor(m.ones(3, 3)),
    "of a vector": lambda m, x: m.lu(x[0]), "without exchanges": lambda m, x: m.lu(x, pivot=False),
}  # fmt: skip
EMPTY = {
    "Conv2d": lambda m, x: of_none(m, lambda nn, v: nn.Conv2d(3, 4, 3)(v), 0, 3, 8, 8),
    "Conv2d of many channels": lambda m, x: of_none(m, lambda nn, v: nn.Conv2d(16, 4, 3)(v), 0, 16, 4, 4),
    "ConvTranspose1d": lambda m, x: of_none(m, lambda nn, v: nn.ConvTranspose1d(3, 4, 3)(v), 0, 3, 8),
    "max_pool2d": lambda m, x: of_none(m, lambda nn, v: nn.functional.max_pool2d(v, 2), 0, 3, 8, 8),
    "adaptive_max_pool1d": lambda m, x: of_none(m, lambda nn, v: nn.functional.adaptive_max_pool1d(v, 3), 0, 3, 8),
    "adaptive_max_pool2d": lambda m, x: of_none(m, lambda nn, v: nn.functional.adaptive_max_pool2d(v, 2), 0, 3, 8, 8),
    "adaptive_max_pool2d of no rows": lambda m, x: m.nn.functional.adaptive_max_pool2d(m.zeros(2, 3, 0, 8), 2),
    "adaptive_avg_pool2d of no rows": lambda m, x: m.nn.functional.adaptive_avg_pool2d(m.zeros(2, 3, 0, 8), 3),
    "adaptive_avg_pool2d of no channels": lambda m, x: m.nn.functional.adaptive_avg_pool2d(m.zeros(2, 0, 8, 8), 2),
    "global average of no rows": lambda m, x: m.nn.functional.adaptive_avg_pool2d(m.zeros(2, 3, 0, 8), 1),
    "InstanceNorm1d of no channels": lambda m, x: m.nn.InstanceNorm1d(0)(m.zeros(2, 0, 8)),
    "replicate": lambda m, x: m.nn.functional.pad(m.zeros(2, 3, 0), (1, 1), mode="replicate"),
    "embedding of no indices": lambda m, x: empty_rows(m, 5, 0), "embedding of no rows": lambda m, x: empty_rows(m, 0, 0),
    "searchsorted in rows": lambda m, x: m.searchsorted(m.zeros(3, 0), m.zeros(3, 2)),
    "searchsorted in no rows": lambda m, x: m.searchsorted(m.zeros(0, 3), m.zeros(0, 3)),
    "var of one": lambda m, x: m.ones(1).var(), "std_mean of none": lambda m, x: m.std_mean(m.ones(0, 3), 0),
}  # fmt: skip
HALF = {
    name: lambda m, x, pool=name, size=size: getattr(m.nn.functional, pool)(
        (m.arange(2 * 13 * 13).reshape(1, 2, 13, 13) % 97 * 0.37).half(), size
    )
    for name, size in (("avg_pool2d", 7), ("adaptive_avg_pool2d", 1), ("max_pool2d", 3))
}
SURVEYED = {
    "one-hot rows, as in older programs": lambda m, x: m.sparse.torch.eye(3).index_select(0, m.tensor([2, 0])),
    "the entries of a sparse matrix": lambda m, x: [(a := m.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [1.0, 2.0, 3.0], (2, 3)).coalesce()).indices(), a.values(), a._indices(), a._values(), a._nnz(), x.to_sparse().indices(), m.sparse.sum(a, 1).to_dense(), m.sparse.sum(a)],
    "is it a storage": lambda m, x: [m.is_storage(a) for a in (x, x.untyped_storage(), x.storage(), 3)],
    "where U has zeros": lambda m, x: [*m.tensor([[[1.0, 2], [2, 4]], [[1, 0], [0, 1]]]).lu(get_infos=True)],
    "the softmax of a sparse matrix": lambda m, x: [(a := m.tensor([[0.0, 1, 2], [0, 0, 0], [3, 0, -1]], requires_grad=True)), (p := m.sparse.softmax(a.to_sparse(), 1).to_dense()), (p * m.arange(9.0).view(3, 3)).sum().backward(), a.grad, m.sparse.softmax(a.to_sparse(), dim=0, dtype=m.float64).to_dense()],
    "arange of whole numbers, from fractions": lambda m, x: [m.arange(a, b, c, dtype=m.int64) for a, b, c in ((0.0, -8.1, -4.0), (-0.9, 2.1, 2.0), (1, 5.1, 2))],
    "arange of uint8": lambda m, x: m.arange(-0.9, 2.1, 2.0, dtype=m.uint8),
    "linspace of whole numbers": lambda m, x: [m.linspace(a, b, n, dtype=m.int64) for a, b, n in ((4.3, -3, 50), (0, 10, 7), (2.5, 9, 1), (1, 4, 0))],
    "logspace of whole numbers": lambda m, x: m.logspace(0, 1.2, 4, dtype=m.int64),
    "squeeze of no axes": lambda m, x: x[None, :, :1].squeeze(()),
    "squeeze of several axes": lambda m, x: [x[None, :, :1].squeeze(0, 2), x[None, :, :1].clone().squeeze_(0, 1), x.count_nonzero(0, 1)],
    "diagonals replaced": lambda m, x: [m.zeros(2, 3, 4).diagonal_scatter(1 + m.arange(float(k)).view(-1, n), at, *axes) for k, n, at, axes in ((8, 2, 1, (0, 1)), (4, 1, -1, (0, 1)), (6, 2, 2, (0, 2)), (6, 3, 0, (2, 1)))],
    "the first NaN is the median": lambda m, x: [a for rows in ([[1, NAN, 2, NAN], [NAN] * 4, [1, 2, 3, NAN], [NAN, 1, 1, 1], [3, 1, 2, 4]],) for dim in (0, 1) for a in m.tensor(rows).median(dim)],
    "trapezoid over fewer axes": lambda m, x: [m.trapezoid(x[None] * 2, x * x, dim=d) for d in (1, 2, -1)],
    "DataParallel of nn.parallel": lambda m, x: m.nn.parallel.DataParallel(m.nn.Identity())(x),
    "sum_to_size of a truth value": lambda m, x: m.tensor(True).sum_to_size(()),
    "circular padding after cropping": lambda m, x: m.nn.functional.pad(x[None].repeat(1, 1, 2), (-1, 2), mode="circular"),
    "diff with both ends": lambda m, x: [x.diff(prepend=x[:, :1] * 2, append=x), m.diff(x, n=2, dim=0, append=x), x.diff(n=0, prepend=x)],
    "put of a vector into a number": lambda m, x: m.tensor(3.0).put(m.tensor(0), m.tensor([4.0])),
    "put of a matrix": lambda m, x: x.put_(m.tensor([[0, 1], [4, 5]]), m.tensor([7.0, 8.0, 9.0, 10.0])),
    "multi_margin_loss of one example": lambda m, x: m.nn.functional.multi_margin_loss(x[1], m.tensor([1])),
    "take_along_dim from the end": lambda m, x: m.take_along_dim(x, m.tensor([[-1], [0]]), 1),
    "addr without the matrix": lambda m, x: m.addr(x * NAN, m.ones(2), m.ones(3), beta=0),
    "addmv of whole numbers, with fractions": lambda m, x: m.addmv(m.tensor([5, 6]), x.long(), m.tensor([1, 2, 3]), beta=1.7, alpha=2.6),
    "addbmm of uint8": lambda m, x: m.addbmm(x.to(m.uint8)[:, :2], x.to(m.uint8)[None, :, :2], x.to(m.uint8)[None, :, :2]),
    "in place, whole numbers of another type": lambda m, x: x.to(m.uint8).mul_(m.tensor([1, 2, 300])),
    "gather and scatter of nothing": lambda m, x: [x.gather(0, m.zeros(0, dtype=m.int64)), x.scatter_add(0, m.zeros(0, dtype=m.int64), m.ones(3))],
    "average of whole numbers": lambda m, x: m.nn.functional.avg_pool1d(x.long(), 2),
    "materialized zeros are not shared": lambda m, x: (lambda g: [g[0].add_(1), g[1]])(m.autograd.grad(x.requires_grad_().sum(), [y := m.ones(1, requires_grad=True), y], materialize_grads=True)),
}  # fmt: skip
OF_ITS_TESTS = {
    "one right-hand side of many triangular matrices": lambda m, x: [f(m.stack([m.eye(2), 2 * m.eye(2)])) for f in (lambda A: m.linalg.solve_triangular(A, x[:, :2], upper=True), lambda A: m.linalg.solve_triangular(A, x[:, :2], upper=False, left=False), lambda A: m.cholesky_solve(x[:, :2], A), lambda A: m.triangular_solve(x[:, :2], A)[0])],
    "negative powers of integers, in place": lambda m, x: [m.tensor(values).pow_(m.tensor(-2)) for values in (3, [3, 1, -1], [[-1], [2]])],
    "the fan of a convolution": lambda m, x: [m.nn.init._calculate_correct_fan(m.ones(4, 3, 2, 2), mode) for mode in ("fan_in", "FAN_OUT")],
    "layers of float32 normalize float16": lambda m, x: [f(x.half()).dtype == m.float16 for f in (m.nn.LayerNorm(3), m.nn.GroupNorm(1, 3), m.nn.BatchNorm1d(3), m.nn.BatchNorm1d(3).eval(), m.nn.RMSNorm(3))],
    "RMSNorm of another floating dtype": lambda m, x: [m.nn.RMSNorm(3)(x.double()), m.nn.RMSNorm(3).double()(x), m.nn.RMSNorm(3).half()(x)],
    "integers and booleans in windows": lambda m, x: [m.nn.functional.avg_pool1d(x.long(), 2), m.nn.functional.max_pool2d(x.int()[None], 2), m.nn.functional.unfold(x[None] > 0, 2), m.nn.functional.interpolate(x[None, None].to(m.uint8), scale_factor=2)],
    "margin_ranking_loss of integers": lambda m, x: [m.nn.functional.margin_ranking_loss(x.long(), y, x.long(), margin=2) for y in (x, x.long() + 1)],
    "vmap of a gradient through one graph": lambda m, x: through_one_graph(m, x.requires_grad_())[0],
    "a pass after vmap of a gradient": lambda m, x: through_one_graph(m, x.requires_grad_())[1].backward(),
    "what a program asks before it compiles": lambda m, x: [m.compiler.is_exporting(), m.compiler.is_dynamo_compiling(), m.compiler.reset(), m.onnx.is_in_onnx_export(), isinstance(3, (int, m.SymInt))],
    "a block with a name for a profiler": lambda m, x: named_blocks(m, x),
    "functions of a sparse gradient": lambda m, x: of_rows(m),
    "an input of a checkpoint that is written to": lambda m, x: checkpointed(m, lambda x: x.exp(), lambda y: y.add_(1), use_reentrant=False),
    "a checkpoint that writes to its input": lambda m, x: checkpointed(m, lambda x: x.mul_(2).exp(), use_reentrant=False),
    "a checkpoint as one node": lambda m, x: [checkpointed(m, lambda x: (x.exp(), 3, x.detach()), use_reentrant=True), checkpointed(m, lambda x: x * m.rand(2), use_reentrant=True, preserve_rng_state=False)],
    "a checkpoint as one node whose input is written to": lambda m, x: checkpointed(m, lambda x: x.exp(), lambda y: y.add_(1), use_reentrant=True),
    "a checkpoint as one node that writes to its input": lambda m, x: checkpointed(m, lambda x: x.mul_(2), use_reentrant=True),
    "a checkpoint as one node of a constant": lambda m, x: checkpointed(m, lambda x: x.detach(), use_reentrant=True),
    "a checkpoint as one node without an input that requires a gradient": lambda m, x: m.utils.checkpoint.checkpoint(lambda w: w * x.requires_grad_(), m.ones(3), use_reentrant=True),
    "a gradient of a checkpoint as one node": lambda m, x: m.autograd.grad(m.utils.checkpoint.checkpoint(lambda x: x * x, x.requires_grad_(), use_reentrant=True).sum(), x),
    "a pass to inputs of a checkpoint as one node": lambda m, x: m.utils.checkpoint.checkpoint(lambda x: x * x, x.requires_grad_(), use_reentrant=True).sum().backward(inputs=[x]),
    "a checkpoint that is given None": lambda m, x: [m.utils.checkpoint.checkpoint(lambda n, x, k: x.exp() * k, None, x.requires_grad_(), 3, use_reentrant=k).sum().backward() or x.grad.clone() for k in (True, False)],
    "a checkpoint without a graph": lambda m, x: [c := m.utils.checkpoint.checkpoint, m.no_grad()(lambda: [c(m.exp, x.requires_grad_(), use_reentrant=k) for k in (True, False)])()][1],
    "checkpoints in checkpoints": lambda m, x: [runs_of_nested(m, depth, early_stop) for depth in (0, 1, 2) for early_stop in (True, False)],
    "hooks that keep a tensor that was written to": lambda m, x: hooked_mask(m, x.requires_grad_()),
    "gradcheck of a function with random numbers": lambda m, x: m.autograd.gradcheck(lambda x: x + m.rand(2, 3, dtype=m.float64).floor(), (x.double().requires_grad_(),), check_forward_ad=True),
    "tangents beside a constant of another dtype": lambda m, x: [of_dual(m, x, f).tangent for f in (lambda x: x + m.full((1,), 2.0, dtype=m.float64), lambda x: m.ones(3, dtype=m.float64) - x, lambda x: m.maximum(x, m.ones(3, dtype=m.float64)), lambda x: m.where(x > 0, x, m.zeros(3, dtype=m.float64)))],
    "what is packed beside numbers": lambda m, x: [packed(m, f, x.requires_grad_()) for f in (lambda x: x * 3, lambda x: x / 2 - 1, lambda x: (x * 2).exp() + 1)],
    "a result that is written to after the last value of a checkpoint": lambda m, x: checkpointed(m, lambda y: (y * -1).relu_().add_(0.1) * 2, use_reentrant=False),
    "solve_triangular of two dtypes": lambda m, x: [m.linalg.solve_triangular(m.eye(2) * 2, y, upper=True) for y in (x.double().requires_grad_().view(2, 3), x.half().view(2, 3))],
    "a normal distribution of float32 at doubles": lambda m, x: m.distributions.MultivariateNormal(m.zeros(3), m.eye(3)).log_prob(x.double()),
    "triangular_solve of two dtypes": lambda m, x: m.triangular_solve(x.double().view(3, 2), m.eye(3)),
    "the layout of a sparse gradient": lambda m, x: [(e := m.nn.Embedding(3, 2, sparse=True))(m.tensor([1])).sum().backward(), e.weight.grad.layout is m.sparse_coo, x.layout is m.strided, isinstance(m.preserve_format, m.memory_format)],
    "a model without running statistics": lambda m, x: [(net := m.func.replace_all_batch_norm_modules_(m.nn.Sequential(m.nn.BatchNorm1d(3))))[0].running_mean, net(x), len(net.state_dict())],
    "memory for a model": lambda m, x: m.nn.Linear(2, 3, device="meta").to_empty(device="cpu").weight.shape == (3, 2),
    "a class with a __setattr__ of its own": lambda m, x: named_by_setattr(m),
    "a derivation by hand that is compared exactly": lambda m, x: exact_by_hand(m, 32, 27),
    "another text for all tensors": lambda m, x: with_shapes(m, x[0, :2]),
    "functions that a program replaced": lambda m, x: with_other_functions(m, x),
    "a function as an attribute of a class": lambda m, x: with_functions(m)(x),
    "an input of grad that is a number": lambda m, x: m.autograd.grad(x.requires_grad_().sum(), [3]),
    "a post-accumulate hook that returns a number": lambda m, x: [x.requires_grad_().register_post_accumulate_grad_hook(lambda p: 3), x.sum().backward()],
    "a Function of lists and numbers": lambda m, x: [own(m, lambda ctx, x: [x * 2, x], x), own(m, lambda ctx, x: 3, x), own(m, lambda ctx, x: (x * 2, [x]), x)],
    "cosine_embedding_loss of integers": lambda m, x: [m.nn.functional.cosine_embedding_loss(x.long() + 1, y, m.tensor([1, -1])) for y in (x, x.long(), x.double())],
    "copysign of integers and floats": lambda m, x: [m.copysign(m.tensor([1, 2]), m.tensor(-1.0, dtype=m.float64)), m.copysign(bools(m), m.tensor([-1.0, 1.0]).half()), m.copysign(m.tensor([1], dtype=m.int8), m.tensor(-1))],
    "no Cholesky factor of NaN": lambda m, x: m.linalg.cholesky_ex(m.stack([m.eye(2), m.full((2, 2), NAN)])).info,
    "broadcast_to(2, 2, 3)": lambda m, x: [x.broadcast_to(2, 2, 3), x.broadcast_to((2, 2, 3)), x.broadcast_to(size=(2, 2, 3)), m.broadcast_to(x, (2, 2, 3))],
    "the weights of an LSTM": lambda m, x: [list(w.shape) for w in m.nn.LSTM(2, 3, 2, proj_size=1)._flat_weights],
    "grad(only_inputs=True)": lambda m, x: m.autograd.grad((x.requires_grad_() ** 2).sum(), x, create_graph=True, retain_graph=True, only_inputs=True),
    "grad of what is unused, by position": lambda m, x: m.autograd.grad((x.requires_grad_() ** 2).sum(), [x, m.ones(1, requires_grad=True)], None, False, False, True, True)[1],
    "unravel_index": lambda m, x: m.unravel_index(m.tensor([[3, 1], [5, 0]]), (2, 3)), "unravel_index of one size": lambda m, x: m.unravel_index(m.tensor(3), 4),
    "unravel_index of fractions": lambda m, x: m.unravel_index(m.tensor(0.5), (2, 2)), "view(float64) of three": lambda m, x: x.view(m.float64),
    "windows": lambda m, x: m.arange(50.0)[[range(i, i + 3) for i in range(32)]], "few windows": lambda m, x: m.arange(50.0)[[range(i, i + 3) for i in range(31)]],
    "x[::-1]": lambda m, x: x[::-1], "x[:, ::0]": lambda m, x: x[:, ::0], "x[::-1] =": lambda m, x: assigned(x, slice(None, None, -1), 1.0),
    "float(memory_format=)": lambda m, x: x.long().float(memory_format=m.contiguous_format),
    "a prefix of a state": lambda m, x: (lambda state: [m.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module."), list(state)])({"module.weight": x, "bias": x}),
    "packed as int64": lambda m, x: (lambda p: [p.long().data, p.float() is p, p.to(m.float64).data])(m.nn.utils.rnn.pack_sequence([x[0], x[1, :2]])),
    "pad_sequence of a number": lambda m, x: m.nn.utils.rnn.pad_sequence(5),
    "assigned parameters": lambda m, x: (lambda a, b: [a.load_state_dict(b.state_dict(keep_vars=True), assign=True) is None, a.weight is b.weight])(m.nn.Linear(2, 1), m.nn.Linear(2, 1)),
    "the mean of swa": lambda m, x: [m.optim.swa_utils.get_swa_avg_fn()(x, x * 2, m.tensor(3)), m.optim.swa_utils.get_swa_multi_avg_fn()([x], [x * 2], m.tensor(1)), x],
    "nanmedian of nothing but NaN": lambda m, x: gradient(m, m.nanmedian, [NAN, NAN, NAN]),
    "margin of one example": lambda m, x: [m.nn.functional.multi_margin_loss(v, m.tensor(t), reduction="none") for v, t in ((x[1], [2]), (x[1:], [2]), (x[1:], 2), (x[1], 2), (x[0, 1], 0))],
    "norms of no rows": lambda m, x: [m.linalg.norm(x[:n, k:], p) for n, k in ((0, 0), (2, 3)) for p in (1, 2, float("inf"))],
    "writing to what was padded by nothing": lambda m, x: [(m.nn.functional.pad(x[None], (0, 0), mode=mode).fill_(9), x)[1] for mode in ("circular", "reflect", "replicate", "constant")],
    "cond of a singular matrix": lambda m, x: [m.linalg.cond(m.stack([m.eye(2), m.ones(2, 2)]), p) for p in (1, "fro")],
    "lstsq with rcond below 0": lambda m, x: [(m.linalg.lstsq(m.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]), m.ones(3, 1), rcond=-1, driver=d).solution * 1e4).round() for d in ("gelsd", "gelss")],
    "lstsq with gels and rcond": lambda m, x: (m.linalg.lstsq(m.tensor([[2.0, 0.0], [0.0, 0.5]]), m.ones(2, 1), rcond=0.5, driver="gels").solution * 4).round(),
    "index_add of whole numbers, times a fraction": lambda m, x: x.long().index_add(0, m.tensor([0, 0]), x.long(), alpha=2.5),
    "indices in C order": lambda m, x: [z.view(-1).shape for z in (x.argsort(descending=True), x.sort(0, descending=True)[1], (x + 1).multinomial(2))],
    "detach_ of a dual": lambda m, x: of_dual(m, x, lambda v: v.clone().detach_() * 2),
    "sums in half precision": lambda m, x: m.zeros(2).half().scatter_add(0, m.arange(6000) % 2, m.ones(6000).half()),
    "gradcheck of what is detached": lambda m, x: m.autograd.gradcheck(lambda v: v.detach(), x.double().requires_grad_()),
}  # fmt: skip
# Found by drawing calls of nn.functional and distributions at random.
DRAWN = {
    "HalfNormal of negative values": lambda m, x: m.distributions.HalfNormal(1.5, validate_args=False).log_prob(x - x.mean()),
    "Poisson of infinity": lambda m, x: bool(m.distributions.Poisson(1.0).support.check(m.tensor(math.inf))),
    "hardswish at infinity": lambda m, x: m.autograd.grad(m.nn.functional.hardswish(y := m.tensor([-math.inf, NAN, 1.0], requires_grad=True)).sum(), y),
    "mode of NaN": lambda m, x: [m.tensor(v).mode().values for v in ([NAN, NAN], [2.0, 1.0, NAN, NAN], [NAN, 2.0, 2.0])],
    "embedding_bag of an infinite padding": lambda m, x: m.nn.functional.embedding_bag(m.tensor([[0, 1]]), x, per_sample_weights=m.tensor([[1.0, math.inf]]), mode="sum", padding_idx=1),
    "prelu beside infinity": lambda m, x: m.autograd.grad(m.nn.functional.prelu(y := m.tensor([[math.inf, -1.0, 2.0]], requires_grad=True), w := m.tensor([math.inf, 0.5, 1.0], requires_grad=True)).sum(), (y, w)),
    "gaussian_nll_loss of an infinite variance": lambda m, x: m.nn.functional.gaussian_nll_loss(x, x * 2, m.full((3, 1), math.inf)),
    "multilabel_soft_margin_loss of fewer scores": lambda m, x: m.nn.functional.multilabel_soft_margin_loss(x[:, :1], (x > 2).float()),
    "soft_margin_loss of fewer targets": lambda m, x: m.nn.functional.soft_margin_loss(x, x[:1].sign()),
    "asarray of a tensor": lambda m, x: [(y := m.asarray(x)) is x, m.asarray(x, requires_grad=True) is x, y.requires_grad],
    "ravel of a vector": lambda m, x: [(y := x[0].ravel()) is x[0], y._is_view(), gradient(m, lambda v: v.ravel().mul(2).ravel(), [1.0])],
    "lp_pool of cut windows": lambda m, x: m.nn.functional.lp_pool1d(x, 2, 2, ceil_mode=True),
    "lp_pool of negative sums": lambda m, x: m.nn.functional.lp_pool1d(-x, 1.0, 2),
    "group_norm of single numbers": lambda m, x: m.nn.functional.group_norm(x[:1], 3),
    "gradient of the nearest pixels' places": lambda m, x: m.autograd.grad(m.nn.functional.grid_sample(x[None, None], g := m.zeros(1, 1, 2, 2, requires_grad=True), mode="nearest", align_corners=True).sum(), g),
    "pad by too many": lambda m, x: m.nn.functional.pad(x, (3, -1, -1, -1), mode="replicate"), "pad to nothing": lambda m, x: m.nn.functional.pad(x, (-2, -1), mode="replicate"),
}  # fmt: skip


def by_pairs(m):
    """A maker of dict-like containers with pairs as keys, which their entries have joined as names."""

    def made(kind):
        own = {
            "__getitem__": lambda d, k: kind.__getitem__(
                d, k if isinstance(k, str) else "_".join(k)
            ),
            "__delitem__": lambda d, k: kind.__delitem__(d, "_".join(k)),
            "keys": lambda d: [tuple(k.split("_")) for k in kind.keys(d)],
        }
        entry = m.nn.ReLU() if kind is m.nn.ModuleDict else m.ones(2)
        return type("ByPairs", (kind,), own)({"a_b": entry})

    return made


# Found in published programs.
PUBLISHED = {
    "a class beside a layer": lambda m, x: [type("Both", (getattr(m.nn, name), beside(m)), {})(*args).began for name, args in (("ReLU", ()), ("Dropout", (0.5,)), ("MaxPool2d", (2,)), ("MSELoss", ()), ("Linear", (1, 1)), ("Flatten", ()))],
    "a norm of several axes": lambda m, x: [repr(m.nn.BatchNorm1d([3])), m.nn.BatchNorm1d([3])(x), m.nn.InstanceNorm1d([2], affine=True).weight],
    "a tensor of an own class": lambda m, x: [(y := type("Own", (m.Tensor,), {})(x)), type(y).__name__, y.data_ptr() == x.data_ptr(), repr(y), type("Long", (m.Tensor,), {})([[1.5] * 9] * 2).double()],
    "probabilities close to 0": lambda m, x: [f(m.tensor([-100.0, -50, -20, -12, 3], dtype=dtype)).log().round(decimals=1) for f, dtype in ((m.sigmoid, m.float64), (m.sigmoid, m.float32), (m.sigmoid, m.float16), (lambda v: -m.nn.functional.silu(v[:4]), m.float32), (lambda v: -m.nn.functional.silu(v[2:]), m.float16))],
    "softplus in half precision": lambda m, x: [m.nn.functional.softplus(m.tensor([-12.0, 0, 11.5, 15, 19, 21]).half(), beta=beta) for beta in (1, 2)],
    "log10 of powers of ten": lambda m, x: [m.tensor([0.001, 0.01, 0.1, 1, 10, 100, 1000]).log10() == m.arange(-3, 4), m.tensor(100.0).log10() == 2, m.log10(m.tensor([1000, 10])) - m.tensor([3, 1])],
    "functions of gradients by rows": lambda m, x: [f(rows_of(m).weight.grad) for f in (lambda g: g.norm(), lambda g: g.sum(), lambda g: g.sqrt().to_dense(), lambda g: g.clone().to_dense(), lambda g: g.double().to_dense(), lambda g: g.data.norm(2), lambda g: m.isnan(g).to_dense().any(), lambda g: g.data.is_sparse)],
    "a step after a look at the gradients by rows": lambda m, x: [(e := rows_of(m)).weight.grad.data.norm(), e.weight.grad.detach().sum(), e.weight.grad.is_sparse, m.optim.SparseAdam(e.parameters(), lr=0.5).step(), e.weight],
    "a dict of modules with keys of its own": lambda m, x: [*map(str, map(list, (d := by_pairs(m)(m.nn.ModuleDict), d.keys(), d.items(), d.values()))), len(d), str(d["a", "b"]), str(d.pop(("a", "b"))), len(d)],
    "a dict of parameters with keys of its own": lambda m, x: [list(d := by_pairs(m)(m.nn.ParameterDict)), d.keys(), list(d.values()), len(d), d["a", "b"]],
    "nothing is left to compute": lambda m, x: [x.resolve_conj(), (-x).resolve_neg(), m.resolve_neg(m.resolve_conj(x)), m.tensor([1 + 2j]).conj().resolve_conj().numpy()],
    "vectors of all parameters": lambda m, x: [(v := __import__(f"{m.__name__}._utils", fromlist="x")._flatten_dense_tensors([x, x[0, 0]])), sys.modules[f"{m.__name__}._utils"]._unflatten_dense_tensors(v, [x, x[0, 0]]), sys.modules[f"{m.__name__}._utils"]._unflatten_dense_tensors(v, [x[0]])],
}  # fmt: skip

CASES = {
    f"{group}: {name}": case
    for group, cases in (("in place", IN_PLACE), ("products", PRODUCTS), ("compared", COMPARED), ("cat", CAT), ("numpy", NUMPY), ("index", INDEXED),
                         ("named", NAMED), ("function", FUNCTIONS), ("derivative", DERIVATIVES), ("held", HELD), ("number", NUMBERS), ("surveyed", SURVEYED), ("old", OLD), ("info", INFO), ("LU", LU), ("empty", EMPTY), ("half", HALF), ("of its tests", OF_ITS_TESTS), ("drawn", DRAWN), ("published", PUBLISHED))
    for name, case in cases.items()
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.filterwarnings("ignore")
def test_what_pytorch_does_is_done(case):
    ours, theirs = (
        outcome(lambda m: case(m, m.arange(6.0).reshape(2, 3).clone()), m)
        for m in (minigrad, torch)
    )

    assert ours == theirs


@pytest.mark.parametrize("layer, shape", NORMS.values(), ids=NORMS)
def test_relu_may_write_over_what_a_norm_gives(layer, shape):
    ours, theirs = (norm_and_relu(m, layer, shape) for m in (minigrad, torch))

    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-6)  # single precision


@pytest.mark.parametrize("track", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_batches_are_counted_while_they_are_tracked(track, training):
    def counted(m):
        layer = m.nn.BatchNorm1d(2).train(training)
        layer.track_running_stats = track
        layer(m.arange(6.0).reshape(3, 2))
        return layer.num_batches_tracked.item()

    assert counted(minigrad) == counted(torch)
