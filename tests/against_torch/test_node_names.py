"""grad_fn has the names that it has in PyTorch, which students compare with what they read there."""

import re

import pytest

import minigrad
from tests.against_torch.agree import calls, torch

EXPRESSIONS = """
x * x | x + 1 | x - 1 | x / 2 | x ** 2 | x ** x | 2 ** x | -x | x @ x.T | x @ v | v @ v | m.mm(x, x.T) | m.dot(v, v) | m.mv(x, v)
m.bmm(b, b.mT) | m.addmm(m.ones(3, 3), x, x.T) | m.outer(v, v) | x[0] | x[0, 1] | x[1:] | x[:, 1] | x[::2, 1:] | x[i] | x[x > 0]
x[None] | x[...] | x[0:1, 0] | x.T | x.t() | x.mT | x.transpose(0, 1) | x.permute(1, 0) | x.reshape(-1) | x.view(-1) | x.flatten()
v.t() | x.diagonal_scatter(v[:3]) | x.diagonal_scatter(v[:2], 1, 1, 0) | x.squeeze() | x[:1].squeeze() | x[None].squeeze(0) | x.unsqueeze(0) | x.expand(2, 3, 4) | x.sum() | x.sum(0) | x.mean() | x.mean(0) | x.max(0)[0] | x.amax()
x.prod() | x.prod(0) | x.var() | x.std(0) | x.norm() | x.norm(dim=0) | m.linalg.norm(x) | x.logsumexp(0) | x.cumsum(0) | x.cumprod(0)
x.clone() | x.double() | x.T.contiguous() | x.abs() | x.exp() | x.log() | x.sqrt() | x.sin() | x.relu() | x.sigmoid() | x.tanh()
x.clamp(0, 1) | x.clamp(min=0) | m.where(x > 0, x, x) | m.maximum(x, x) | m.cat([x, x]) | m.stack([x, x]) | x.gather(0, z)
x.index_select(0, i) | x.masked_fill(x > 0, 0.0) | x.softmax(0) | x.log_softmax(0) | F.gelu(x) | F.silu(x) | F.elu(x)
F.leaky_relu(x) | F.softplus(x) | F.linear(x, x) | F.linear(x, x, m.ones(3)) | F.mse_loss(x, y) | F.l1_loss(x, y)
F.nll_loss(x, m.tensor([0, 1, 2])) | F.conv2d(I, K) | F.max_pool2d(I, 2) | F.dropout(x, 0.5) | F.pad(x, (1, 1)) | F.embedding(i, x)
F.normalize(x) | F.logsigmoid(x) | x.triu() | x.diagonal() | x.trace() | x.repeat(2, 1) | x.flip(0) | x.roll(1)
m.linalg.inv(x @ x.T + m.eye(3)) | m.linalg.det(x @ x.T) | m.linalg.solve(x @ x.T + m.eye(3), x) | x.clone().add_(1)
x.clone().mul_(2) | x.clone().relu_() | x.square() | x.reciprocal() | x.rsqrt() | x.atan2(x) | x.fmod(2) | m.lerp(x, x, 0.5)
m.addcmul(x, x, x) | x.unfold(0, 2, 1) | x.logcumsumexp(0) | x.median() | x.select(0, 1) | x.narrow(0, 0, 1) | x.movedim(0, 1)
x.tile(2) | x.type_as(y.double()) | x.view_as(x) | x.unflatten(1, (2, 2)) | x.as_strided((2,), (1,)) | x.expand_as(b)
x[:] | x.to(x, copy=True) | m.atleast_3d(v) | x.squeeze(0) | x.squeeze((0, 1)) | 2 / x | 1 / x | x.clone().zero_() | x.clone().fill_(2) | x.clone().normal_() | x.scatter(0, z, 1.0)
"""
# Several nodes in one of the libraries, of which the last has the same name.
LAST_ONES = """
x.T.reshape(-1) | x.T.flatten() | b.permute(2, 0, 1).reshape(4, -1) | b.mT.flatten(1) | x[:, 1:3].reshape(-1) | x.T.ravel() | x[None].mT.reshape(4, 3)
2 - x | 1 - x | m.rsub(x, x) | b @ b.mT | b @ x.T | x @ b.mT | x.detach() @ b.mT | b @ v | v @ b.mT | v @ x.T | x.max() | x.min() | x.sort()[0] | x.topk(1)[0] | x.kthvalue(1)[0]
x.mode()[0] | x.median(0)[0] | x.nanmedian(0)[0] | x.cummax(0)[0] | x.cummin(0)[0] | x.aminmax()[0] | x.nansum() | x.dist(y) | x.log1p()
x.clone().fill_(m.tensor(2.0))
x.clone().uniform_() | x.clone().bernoulli_(0.5) | x.clone().exponential_() | x.clone().random_() | x.clone().random_(3) | x.clone().random_(1, 3)
m.normal(x, 1.0) | m.normal(0.0, x) | m.normal(x, x) | m.poisson(x) | x.bernoulli()
x.clone().log_normal_() | x.clone().cauchy_() | x.clone().geometric_(0.5) | x.clone().t_() | x.clone().transpose_(0, 1) | x.clone().unsqueeze_(0)
x.clone().squeeze_() | x.clone().squeeze_(0) | x.clone().squeeze_((0, 1)) | x.clone().eq_(1) | x.clone().gt_(x) | x.clone().cumsum_(0) | x.clone().logit_()
F.elu(x.clone(), inplace=True) | F.leaky_relu(x.clone(), inplace=True) | F.threshold(x.clone(), 0, 1, inplace=True) | F.celu(x.clone(), inplace=True)
F.selu(x.clone(), inplace=True) | F.mish(x.clone(), inplace=True) | filled(x.clone(), 1.0)
x.scatter(0, z, x[:1]) | x.div(2, rounding_mode="trunc") | x.clone().div_(x, rounding_mode="floor")
x.logit() | x.nan_to_num() | x.frac() | x.deg2rad() | x.sinc() | x.renorm(2, 0, 1) | x.put(i, v[:2]) | x.masked_scatter(x > 0, x) | m.cdist(x, y)
m.block_diag(x, y) | m.cross(x[:, :3], y[:, :3], dim=1) | m.matrix_exp(x[:, :3]) | m.var_mean(x)[0] | m.std_mean(x)[1] | x.clamp(y, y + 1)
x.split(2)[0] | x.split([1, 2])[1] | x.chunk(3)[1] | x.unbind()[0] | next(iter(x)) | [*x][1] | x.take(i) | x.masked_select(x > 0) | x.diag_embed()
x.index_add(0, i, x[:2]) | x.index_copy(0, i, x[:2]) | x.index_fill(0, i, 1.0) | x.clone().index_fill_(0, i, 1.0)
x.clamp_min(0) | x.clamp_max(0) | x.clamp_min(x) | x.clamp_max(x) | x.clone().clamp_min_(0) | m.linalg.cholesky(x @ x.T + m.eye(3))
m.special.entr(x) | m.linalg.eigvalsh(x @ x.T) | m.linalg.svdvals(x) | m.linalg.qr(x)[0] | m.linalg.slogdet(x @ x.T + m.eye(3))[1] | m.linalg.pinv(x)
m.einsum("ij,kj->ik", x, x) | m.einsum("ij->ji", x) | m.einsum("ij->i", x) | m.einsum("i,j->ij", v, v) | m.einsum("ij,ij->", x, x)
F.layer_norm(x, (4,)) | m.nn.LayerNorm(4)(x) | F.batch_norm(x, None, None, training=True) | m.nn.BatchNorm1d(4).eval()(x) | m.nn.GroupNorm(1, 4)(x)
F.conv1d(b, m.ones(2, 3, 1)) | F.conv_transpose2d(I, K.transpose(0, 1)) | F.avg_pool2d(I, 2) | F.adaptive_avg_pool2d(I, 2) | F.adaptive_max_pool2d(I, 2)
F.interpolate(I, scale_factor=2) | F.interpolate(I, scale_factor=2, mode="bilinear") | F.pad(I, (1, 1, 1, 1), mode="reflect") | F.unfold(I, 2)
F.pixel_shuffle(b[:, :1], 1) | F.prelu(x, v[:1]) | F.selu(x) | F.celu(x) | F.mish(x) | F.glu(x) | F.gelu(x, approximate="tanh") | F.hardshrink(x)
F.softshrink(x) | F.linear(v, x) | F.linear(b, x) | F.linear(b, x, v[:3]) | F.linear(b.transpose(0, 1), x, v[:3]) | F.margin_ranking_loss(v, v, v, reduction="none")
F.mse_loss(x, y, reduction="none") | F.smooth_l1_loss(x, y) | F.huber_loss(x, y, reduction="sum") | F.binary_cross_entropy(x, y)
F.binary_cross_entropy_with_logits(x, y) | F.binary_cross_entropy_with_logits(x, y, pos_weight=m.ones(4))
F.cross_entropy(x, m.tensor([0, 1, 2])) | F.cross_entropy(I[:, :, 0], m.zeros(1, 6, dtype=m.int64)) | F.nll_loss(I, z.new_zeros(1, 6, 6))
2 / x | 1 / (1 + m.exp(-x)) | m.cdist(x, x) | m.cdist(x, x, p=1) | F.pdist(x) | F.pairwise_distance(x, x) | m.logdet(x @ x.T + m.eye(3))
m.slogdet(x @ x.T + m.eye(3))[0] | m.linalg.svd(x + y)[2] | m.linalg.lstsq(x.T, x.T).solution | m.matrix_exp(x @ x.T) | x.diag()
m.cross(x[:, :3], x[:, :3], dim=1) | m.var_mean(x)[1] | m.std_mean(x, 0)[0] | F.cross_entropy(x, x.softmax(1)) | x.quantile(0.5)
F.grid_sample(I, m.zeros(1, 2, 2, 2), align_corners=False) | F.affine_grid(I[0, :, :2, :3], (2, 1, 2, 2), align_corners=False)
F.embedding_bag(i[None], x) | F.max_unpool2d(*F.max_pool2d(I, 2, return_indices=True), 2) | x.rot90() | x.repeat_interleave(2) | x.frac()
x.logit() | x.sinc() | x.nan_to_num() | x.renorm(2, 0, 1.0) | m.block_diag(x, x) | m.combinations(v) | x.masked_scatter(x > 0, x)
x.select_scatter(v, 0, 1) | x.slice_scatter(x[:1], 0, 0, 1)
x % x | x.fmod(x) | m.lerp(x, x, x) | x.masked_fill(x > 0, s) | s.sort()[0] | s.cumsum(0) | s.max(0)[0] | s.mode()[0] | m.vdot(v, v) | x.nanmedian()
x.sort(stable=True)[0] | x.quantile(v[:2].double().sigmoid().to(x.dtype), 0) | m.addr(x, v[:3], v) | b.sum(0).addbmm(b, b.mT @ b) | x.H | x.mvlgamma(1) | x.copysign(-1)
m.linalg.cholesky(x @ x.T + m.eye(3), upper=True) | m.linalg.solve(x @ x.T + m.eye(3), v[:3]) | m.linalg.solve_triangular(x @ x.T, x, upper=True)
m.cholesky_solve(x, x @ x.T + m.eye(3)) | m.cholesky_inverse(x @ x.T + m.eye(3)) | m.linalg.qr(x)[1] | x.scatter_reduce(0, z, x, "amax")
x.scatter_reduce(0, z, x, "mean") | x.scatter_reduce(0, z, x, "sum") | x.scatter_reduce(0, z, x, "prod")
x ** y | y ** x | x ** i[:1] | m.pow(x, y) | m.pow(2, x) | 2 ** x | x.clone().pow_(y) | x.float_power(y) | y.float_power(x) | m.float_power(2, x) | m.lerp(x, y, y) | m.lerp(x, y, 0.5)
x.clamp(y) | x.clamp(max=y) | x.clone().clamp_(y) | x.clamp(y, y) | x.clamp(min=0) | m.trapezoid(x, x) | m.trapezoid(x) | m.special.ndtri(x.sigmoid()) | m.special.ndtr(x) | m.special.log_ndtr(x) | m.special.erfcx(x) | m.special.xlog1py(x, x) | x.ldexp(i[:1]) | x.frexp()[0]
F.multi_margin_loss(x, i[:1].repeat(3)) | F.multilabel_margin_loss(x, z.new_zeros(3, 4)) | F.pad(x, (1, 1), mode="reflect") | F.pad(x, (1, 1), mode="replicate")
m.nn.RNN(4, 2)(b)[0] | m.nn.LSTM(4, 2)(b)[0] | m.nn.LSTM(4, 2).double()(b.double())[0] | m.nn.LSTM(4, 2, bidirectional=True)(b)[0]
m.nn.RNN(4, 2, batch_first=True)(b)[0] | m.nn.GRU(4, 2, batch_first=True)(b)[0] | m.nn.LSTM(4, 2, batch_first=True)(b)[0] | m.nn.GRU(4, 2)(x)[0]
m.nn.LSTM(4, 2)(x)[0]
rnn.pad_packed_sequence(rnn.pack_padded_sequence(b, [3, 1], batch_first=True), batch_first=True)[0]
rnn.pack_padded_sequence(b, [3, 1], batch_first=True).data | rnn.pack_padded_sequence(b, [1, 3], True, False).data | rnn.pack_sequence([x, x[:1]]).data
rnn.pad_packed_sequence(rnn.pack_padded_sequence(b, [1, 3], True, False), True)[0] | rnn.pad_packed_sequence(rnn.pack_padded_sequence(b, [1, 3], True, False))[0]
"""


def filled(x, y):
    """x after  x[:] = y"""
    x[:] = y
    return x


def operands(m):
    """The variables of the expressions."""
    scope = {"m": m, "F": m.nn.functional, "filled": filled, "rnn": m.nn.utils.rnn}
    for name, shape in {
        "x": (3, 4),
        "v": (4,),
        "b": (2, 3, 4),
        "I": (1, 2, 6, 6),
        "K": (3, 2, 3, 3),
        "s": (),
    }.items():
        scope[name] = m.ones(shape, requires_grad=True)
    return scope | {"y": m.zeros(3, 4), "i": m.tensor([0, 1]), "z": m.zeros(1, 4, dtype=m.int64)}


def names(m, expression):
    node = eval(expression, operands(m)).grad_fn
    return node.name(), type(node).__name__


@pytest.mark.parametrize("expression", calls(EXPRESSIONS) + calls(LAST_ONES))
def test_grad_fn_is_named_as_in_pytorch(expression):
    assert names(minigrad, expression) == names(torch, expression)


@pytest.mark.parametrize(
    "expression",
    [
        "2 * x",
        "2 + x",
        "x * 2",
        "x * x",
        "x - 2",
        "x.sort()[0]",
        "2 ** x",
        "2 / x",
        "m.where(x > 0, x, y)",
        "m.where(x > 0, 0.0, x)",
    ]
    + [
        "x.fmod(2)",
        "x.clamp_min(0)",
        "x.clone().clamp_max_(0)",
        "x.index_fill(0, i, 1.0)",
        "x.scatter(0, z, 1.0)",
        "x.clone().zero_()",
    ]
    + [
        "x.clone().fill_(2)",
        "x.clone().normal_()",
        "x.clone().eq_(1)",
        "x.clone().t_()",
        "filled(x.clone(), 1.0)",
        "filled(x.clone(), x)",
    ],
)
def test_edges_are_in_the_order_of_pytorch(expression):
    def edges(m):
        node = eval(expression, operands(m)).grad_fn
        return [
            "" if edge is None else edge.name().split("::")[-1] for edge, _ in node.next_functions
        ]

    assert edges(minigrad) == edges(torch)


@pytest.mark.parametrize(
    "expression", ["x * 3", "3 * x", "x @ x.T", "x.sum()", "x.max(0)[0]", "x.relu()"]
)
def test_a_node_can_be_called(expression):
    def passed(m):
        z = eval(expression, operands(m))
        gradients = z.grad_fn(m.ones_like(z.detach()) * 2)
        several = gradients if isinstance(gradients, tuple) else (gradients,)
        return [g if g is None else g.tolist() for g in several]

    assert passed(minigrad) == passed(torch)
    for m in (minigrad, torch):
        with pytest.raises(
            TypeError, match="expected 1 arguments, got 0 instead|expected at least"
        ):
            eval(expression, operands(m)).grad_fn()


def test_padding_packed_sequences_writes_to_a_new_tensor_as_in_pytorch():
    padded = "rnn.pad_packed_sequence(rnn.pack_padded_sequence(b, [2, 1, 1]))[0]"

    assert names(minigrad, padded)[1] == names(torch, padded)[1] == "CopySlices"


@pytest.mark.parametrize("expression", ["x * 2", "x.exp().sum()", "Cube.apply(x)"])
def test_a_printed_node_looks_as_in_pytorch(expression):
    def printed(t):
        class Cube(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x**3

        z = eval(expression, {"x": t.ones(3, requires_grad=True), "Cube": Cube})
        text = f"{z.grad_fn} {type(z.grad_fn)} {z.grad_fn.next_functions}".replace(t.__name__, "")
        return re.sub("0x[0-9a-f]+", "0x", text)

    assert printed(minigrad) == printed(torch)
