"""Calls that PyTorch refuses, made from calls that it accepts.

A line of CALLS is a valid call. Each of its arguments is replaced by wrong values of many kinds (another
shape, another type of number, an axis that is not there, a name that is none, nothing at all), and the
call is given an argument too many. What PyTorch then raises, minigrad must raise: the same class or a
subclass.

    python -m tests.against_torch.refusals [word]      prints what differs, for calls with this word
"""

import ast
import copy
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

TENSORS = {
    "x": "t.tensor([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])",
    "y": "t.tensor([[0.25, 0.75, 0.5], [0.125, 0.625, 0.375]])",
    "u": "t.tensor([0.5, -1.5, 2.5])",
    "w": "t.tensor([1.0, 0.5, 0.25])",
    "s": "t.tensor(1.5)",
    "q": "t.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])",
    "b": "t.arange(24.0).reshape(2, 3, 4) / 24",
    "c": "t.arange(24.0).reshape(2, 4, 3) / 24",
    "im": "t.arange(96.0).reshape(2, 3, 4, 4) / 96",
    "i": "t.tensor([[1, 0, 1], [0, 1, 0]])",
    "j": "t.tensor([0, 1])",
    "k": "t.tensor([True, False, True])",
    "h": "t.tensor([[True, False, True], [False, True, True]])",
    "p": "t.nn.Parameter(t.tensor([1.0, -2.0]))",
    "r": "t.tensor([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], requires_grad=True)",
}

REDUCTIONS = "sum mean prod amax amin max min argmax argmin all any std var median logsumexp norm cumsum cumprod nansum"
UNARY = (
    "abs neg exp log sqrt sin cos tanh sigmoid relu floor ceil round sign reciprocal square rsqrt log1p expm1 erf "
    "logit trunc frac isnan isfinite logical_not bitwise_not t numel clone detach contiguous nonzero unique flatten "
    "ravel tolist item numpy is_floating_point tan asin acos atan sinh cosh lgamma digamma exp2 log2 log10 positive"
)
BINARY = (
    "add sub mul div pow remainder fmod maximum minimum atan2 eq ne lt le gt ge logical_and floor_divide hypot "
    "logaddexp fmax fmin heaviside copysign xlogy isclose"
)
ACTIVATIONS = (
    "relu sigmoid tanh gelu silu elu celu selu leaky_relu softplus softsign hardtanh hardsigmoid hardswish mish "
    "logsigmoid tanhshrink softshrink hardshrink relu6 rrelu"
)
PAIR_LOSSES = (
    "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div "
    "poisson_nll_loss soft_margin_loss hinge_embedding_loss"
)
PAIR_LOSS_CLASSES = (
    "MSELoss L1Loss SmoothL1Loss HuberLoss BCELoss BCEWithLogitsLoss KLDivLoss PoissonNLLLoss SoftMarginLoss "
    "HingeEmbeddingLoss"
)
FACTORIES = "zeros ones empty rand randn"
LIKES = "zeros_like ones_like empty_like rand_like randn_like"
OPTIMIZERS = {
    "SGD": "lr=0.1, momentum=0.9, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False",
    "Adam": "lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0, amsgrad=False",
    "AdamW": "lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.01, amsgrad=False",
    "Adamax": "lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0",
    "NAdam": "lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0, momentum_decay=0.004",
    "RAdam": "lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0",
    "Adagrad": "lr=0.1, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10",
    "Adadelta": "lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0",
    "RMSprop": "lr=0.1, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False",
    "Rprop": "lr=0.1, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0)",
    "ASGD": "lr=0.1, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0",
    "LBFGS": "lr=1.0, max_iter=5, history_size=10",
}
SCHEDULERS = {
    "StepLR": "step_size=2, gamma=0.1",
    "MultiStepLR": "milestones=[1, 2], gamma=0.1",
    "ExponentialLR": "gamma=0.9",
    "CosineAnnealingLR": "T_max=5, eta_min=0.0",
    "CosineAnnealingWarmRestarts": "T_0=5, T_mult=1, eta_min=0.0",
    "LinearLR": "start_factor=0.5, end_factor=1.0, total_iters=5",
    "ConstantLR": "factor=0.5, total_iters=5",
    "PolynomialLR": "total_iters=5, power=1.0",
    "LambdaLR": "lr_lambda=lambda e: 0.9",
    "MultiplicativeLR": "lr_lambda=lambda e: 0.9",
    "OneCycleLR": "max_lr=0.1, total_steps=10, pct_start=0.3, anneal_strategy='cos'",
    "CyclicLR": "base_lr=0.01, max_lr=0.1, step_size_up=5, mode='triangular'",
    "ReduceLROnPlateau": "mode='min', factor=0.1, patience=10, threshold_mode='rel', cooldown=0, min_lr=0.0, eps=1e-8",
}

CALLS = [
    *(f"t.{n}(x, dim=1)" for n in REDUCTIONS.split()),
    *(f"x.{n}(1)" for n in REDUCTIONS.split()),
    *(f"t.{n}(x)" for n in REDUCTIONS.split()[:14]),
    *(f"t.{n}(x)" for n in UNARY.split() if n not in ("tolist", "item", "numpy", "contiguous", "bitwise_not")),
    *(f"x.{n}()" for n in UNARY.split() if n not in ("item", "bitwise_not")),
    *(f"x.{n}_()" for n in "abs neg exp log sqrt sin tanh sigmoid relu floor round zero t".split()),
    *(f"t.{n}(x, y)" for n in BINARY.split()),
    *(f"x.{n}(y)" for n in BINARY.split()),
    *(f"x.{n}_(y)" for n in "add sub mul div pow remainder copy lerp eq lt".split() if n != "lerp"),
    *(f"F.{n}(x)" for n in ACTIVATIONS.split()),
    *(f"F.{n}(x, y)" for n in PAIR_LOSSES.split()),
    *(f"F.{n}(x, y, reduction='sum')" for n in PAIR_LOSSES.split()),
    *(f"nn.{n}(reduction='mean')(x, y)" for n in PAIR_LOSS_CLASSES.split()),
    *(f"t.{n}(2, 3)" for n in FACTORIES.split()),
    *(f"t.{n}((2, 3), dtype=t.float32, requires_grad=True)" for n in FACTORIES.split()),
    *(f"t.{n}(x, dtype=t.float64)" for n in LIKES.split()),
    *(f"optim.{n}([p], {args})" for n, args in OPTIMIZERS.items()),
    *(f"optim.lr_scheduler.{n}(optim.SGD([p], lr=0.1, momentum=0.5), {args})" for n, args in SCHEDULERS.items()),
    "x + y", "x @ q", "x ** 2", "-x", "~h", "x % y", "x // y", "h & h", "h | h", "i ^ i", "x / 2", "2 - x", "x < y",
    "x == y", "i << 1", "x[0]", "x[0, 1]", "x[:, 1]", "x[j]", "x[h]", "x[..., 0]", "x[None]", "x[0:1]", "x[i, i]",
    "float(s)", "int(s)", "bool(s)", "len(x)", "list(x)", "s.item()", "x.tolist()", "x.size(0)", "x.size()", "x.dim()",
    "x.stride(0)", "abs(x)", "round(s)", "1.0 in x", "x.reshape(3, 2)", "x.reshape(-1, 2)", "x.view(3, 2)", "x.view(-1)",
    "t.reshape(x, (3, 2))", "x.permute(1, 0)", "t.permute(x, (1, 0))", "x.transpose(0, 1)", "t.transpose(x, 0, 1)",
    "x.unsqueeze(1)", "x.squeeze(0)", "t.unsqueeze(x, 1)", "t.squeeze(x, 0)", "x.expand(4, 2, 3)", "x.repeat(2, 1)",
    "x.tile(2, 1)", "x.flatten(0, 1)", "t.flatten(x, 0, 1)", "x.unflatten(1, (3, 1))", "x.narrow(1, 0, 2)", "x.select(1, 0)",
    "x.unbind(1)", "x.split(1, dim=1)", "x.split([1, 2], dim=1)", "t.split(x, 2, dim=1)", "x.chunk(2, dim=1)",
    "x.tensor_split(2, dim=1)", "x.tensor_split([1, 2], dim=1)", "x.movedim(0, 1)", "x.swapaxes(0, 1)", "x.flip(0)",
    "t.flip(x, [0])", "x.roll(1, 0)", "t.roll(x, 1, 0)", "x.rot90(1, (0, 1))", "x.diagonal(0, 0, 1)", "x.diag(0)",
    "t.diag_embed(x, 0)", "x.tril(0)", "x.triu(0)", "t.tril(x, 1)", "x.unfold(1, 2, 1)", "x.repeat_interleave(2, dim=1)",
    "x.gather(1, i)", "t.gather(x, 1, i)", "x.scatter(1, i, y)", "x.scatter_(1, i, 2.0)", "x.scatter_add(1, i, y)",
    "x.scatter_reduce(1, i, y, reduce='sum')", "x.index_select(1, j)", "t.index_select(x, 1, j)", "x.index_add(1, j, y[:, :2])",
    "x.index_fill(1, j, 2.0)", "x.index_copy(1, j, y[:, :2])", "x.masked_fill(h, 2.0)", "x.masked_select(h)", "x.take(j)",
    "x.masked_scatter(h, y)", "t.where(h, x, y)", "t.where(h, x, 2.0)", "x.where(h, y)", "x.index_put((j,), u)", "x.put(j, w[:2])",
    "t.take_along_dim(x, i, dim=1)", "x.sort(1)", "t.sort(x, dim=1, descending=True)", "x.argsort(1)", "x.topk(2, dim=1)",
    "t.topk(x, 2)", "x.kthvalue(2, dim=1)", "x.cummax(1)", "x.cummin(1)", "x.logcumsumexp(1)", "x.diff(dim=1)", "x.mode(1)",
    "t.cat([x, y], dim=1)", "t.stack([x, y], dim=1)", "t.hstack([x, y])", "t.vstack([x, y])", "t.dstack([x, y])",
    "t.matmul(x, q)", "t.mm(x, q)", "t.bmm(b, c)", "t.mv(q, u)", "t.dot(u, w)", "t.outer(u, w)", "t.inner(u, w)",
    "t.addmm(x, x, q)", "t.addmv(u, q, w)", "t.baddbmm(t.zeros(2, 3, 3), b, c)", "t.einsum('ij,jk->ik', x, q)",
    "t.tensordot(x, q, dims=1)", "t.cross(q, q, dim=0)", "t.kron(x, y)", "x.trace()", "t.trace(q)", "t.det(q)", "t.linalg.det(q)",
    "t.linalg.inv(q)", "t.linalg.solve(q, u)", "t.linalg.cholesky(q)", "t.linalg.qr(q)", "t.linalg.svd(q)", "t.linalg.eigh(q)",
    "t.linalg.norm(x, ord=2, dim=1)", "t.linalg.vector_norm(x, ord=2, dim=1)", "t.linalg.matrix_norm(q, ord='fro')",
    "t.linalg.matrix_rank(q)", "t.linalg.slogdet(q)", "t.linalg.pinv(q)", "t.linalg.lstsq(q, x.T)", "t.linalg.matrix_power(q, 2)",
    "x.clamp(-1.0, 1.0)", "t.clamp(x, min=0.0)", "x.clip(0.0, 1.0)", "x.lerp(y, 0.5)", "t.addcmul(x, x, y, value=2)",
    "t.addcdiv(x, x, y, value=2)", "x.softmax(1)", "x.log_softmax(1)", "t.softmax(x, dim=1)", "x.quantile(0.5, dim=1)",
    "t.quantile(x, 0.5)", "x.histc(4, 0.0, 1.0)", "t.bincount(j)", "t.cdist(x, y)", "t.cov(x)", "x.var_mean(1)", "t.bucketize(x, w)",
    "t.searchsorted(u, x)", "t.meshgrid(u, w, indexing='ij')", "t.cartesian_prod(u, w)", "t.combinations(u, r=2)", "t.vander(u)",
    "t.broadcast_to(x, (2, 2, 3))", "t.broadcast_tensors(x, y)", "t.block_diag(x, q)", "t.allclose(x, y)", "t.equal(x, y)",
    "x.add_(1.0)", "x.fill_(2.0)", "x.zero_()", "x.copy_(y)", "x.masked_fill_(h, 0.0)", "x.clamp_(0.0, 1.0)", "x.normal_(0.0, 1.0)",
    "x.uniform_(0.0, 1.0)", "x.bernoulli_(0.5)", "x.exponential_(1.0)", "x.random_(0, 5)", "x.index_add_(1, j, y[:, :2])",
    "t.full((2, 3), 1.0)", "t.full_like(x, 2.0)", "t.arange(0, 5, 1)", "t.arange(5)", "t.linspace(0, 1, 5)", "t.logspace(0, 1, 5)",
    "t.eye(3)", "t.eye(3, 4)", "t.tensor([1.0, 2.0], dtype=t.float32, requires_grad=True)", "t.as_tensor([1.0, 2.0])",
    "t.from_numpy(np.ones(3))", "t.randint(0, 5, (2, 3))", "t.randperm(5)", "t.normal(0.0, 1.0, (2, 3))", "t.normal(x, y)",
    "t.bernoulli(y)", "t.multinomial(y, 2)", "t.empty(0)", "x.new_zeros(2, 3)", "x.new_tensor([1.0])", "x.new_full((2,), 1.0)",
    "x.to(t.float64)", "x.to('cpu')", "x.type(t.float64)", "x.float()", "x.type_as(y)", "x.view_as(y)", "x.expand_as(y)",
    "x.requires_grad_(True)", "x.numpy()", "x.data_ptr()", "x.backward", "r.sum().backward()", "(r * 2).backward(y)",
    "r.sum().backward(retain_graph=True)", "t.autograd.grad(r.sum(), r)", "t.autograd.grad(r * 2, r, y)",
    "t.autograd.grad(r.sum(), [r], create_graph=True)", "t.autograd.backward(r.sum())", "r.retain_grad()",
    "r.register_hook(lambda g: g)", "t.autograd.functional.jacobian(lambda a: a * 2, x)", "t.func.grad(lambda a: a.sum())(x)",
    "t.func.vjp(lambda a: a * 2, x)", "t.func.jvp(lambda a: a * 2, (x,), (y,))", "t.func.vmap(lambda a: a * 2)(x)",
    "t.func.vmap(lambda a: a.sum(), in_dims=1)(x)", "t.func.jacrev(lambda a: a * 2)(x)", "t.func.hessian(lambda a: (a * a).sum())(x)",
    "t.func.jacfwd(lambda a: a * 2)(x)", "t.autograd.functional.vjp(lambda a: a * 2, x, y)", "t.autograd.functional.jvp(lambda a: a * 2, x, y)",
    "t.autograd.functional.hvp(lambda a: (a * a).sum(), x, y)", "t.autograd.functional.hessian(lambda a: (a * a).sum(), x)",
    "t.set_grad_enabled(True)", "t.manual_seed(0)", "t.set_default_dtype(t.float32)", "t.no_grad()", "t.inference_mode(True)",
    "F.cross_entropy(x, j)", "F.cross_entropy(x, j, weight=w, reduction='sum', label_smoothing=0.1, ignore_index=-100)", "F.cross_entropy(x, y)",
    "F.nll_loss(x, j)", "F.nll_loss(x, j, weight=w, reduction='none')", "F.binary_cross_entropy(y, y, weight=y)",
    "F.cosine_embedding_loss(x, y, t.tensor([1, -1]))", "F.margin_ranking_loss(x, y, y)", "F.triplet_margin_loss(x, y, x, p=2.0, margin=1.0)",
    "F.multi_margin_loss(x, j)", "F.multilabel_margin_loss(x, i)", "F.multilabel_soft_margin_loss(x, y)", "F.gaussian_nll_loss(x, y, y)",
    "F.huber_loss(x, y, delta=1.0)", "F.smooth_l1_loss(x, y, beta=1.0)", "F.binary_cross_entropy_with_logits(x, y, pos_weight=w)",
    "F.ctc_loss(t.zeros(5, 2, 4).log_softmax(2), t.tensor([[1, 2], [2, 1]]), t.tensor([5, 5]), t.tensor([2, 2]))",
    "F.softmax(x, dim=1)", "F.log_softmax(x, dim=1)", "F.softmin(x, dim=1)", "F.gumbel_softmax(x, tau=1.0)", "F.normalize(x, p=2.0, dim=1)",
    "F.cosine_similarity(x, y, dim=1)", "F.pairwise_distance(x, y)", "F.dropout(x, p=0.5, training=True)", "F.one_hot(j, num_classes=3)",
    "F.dropout2d(im, p=0.5)", "F.alpha_dropout(x, p=0.5)", "F.linear(x, q)", "F.linear(x, q, u)", "F.bilinear(x, y, t.ones(2, 3, 3))",
    "F.embedding(i, q)", "F.embedding(i, q, padding_idx=0)", "F.embedding_bag(i, q)", "F.prelu(x, w)", "F.glu(im, dim=3)", "F.threshold(x, 0.5, 0.0)",
    "F.conv1d(b, t.ones(2, 3, 2), t.ones(2), stride=1, padding=0, dilation=1, groups=1)", "F.conv1d(b, t.ones(3, 1, 2), groups=3)",
    "F.conv2d(im, t.ones(2, 3, 2, 2), t.ones(2), stride=1, padding=0, dilation=1, groups=1)", "F.conv2d(im, t.ones(2, 3, 3, 3), padding='same')",
    "F.conv_transpose1d(b, t.ones(3, 2, 2), t.ones(2), stride=1, padding=0, output_padding=0, groups=1, dilation=1)",
    "F.conv_transpose2d(im, t.ones(3, 2, 2, 2), t.ones(2), stride=1, padding=0, output_padding=0, groups=1, dilation=1)",
    "F.max_pool1d(b, 2, stride=1, padding=0, dilation=1)", "F.max_pool2d(im, 2, stride=1, padding=0, dilation=1, ceil_mode=False)",
    "F.avg_pool1d(b, 2, stride=1, padding=0)", "F.avg_pool2d(im, 2, stride=1, padding=0)", "F.max_pool2d(im, (2, 2))", "F.adaptive_avg_pool2d(im, (2, 2))",
    "F.adaptive_avg_pool1d(b, 2)", "F.adaptive_max_pool2d(im, 2)", "F.adaptive_max_pool1d(b, 2)", "F.lp_pool2d(im, 2, 2)", "F.unfold(im, 2)",
    "F.fold(t.ones(2, 12, 9), (4, 4), 2)", "F.pad(x, (1, 1))", "F.pad(im, (1, 1, 1, 1), mode='reflect')", "F.pad(im, (1, 1), mode='constant', value=0.0)",
    "F.interpolate(im, size=(2, 2))", "F.interpolate(im, scale_factor=2, mode='bilinear')", "F.pixel_shuffle(t.ones(1, 4, 2, 2), 2)", "F.pixel_unshuffle(im, 2)",
    "F.grid_sample(im, t.zeros(2, 3, 3, 2), align_corners=False)", "F.affine_grid(t.zeros(2, 2, 3), (2, 3, 4, 4), align_corners=False)", "F.channel_shuffle(t.ones(1, 4, 2, 2), 2)",
    "F.batch_norm(im, t.zeros(3), t.ones(3), t.ones(3), t.zeros(3), training=True, momentum=0.1, eps=1e-5)", "F.layer_norm(x, (3,), u, w)",
    "F.group_norm(im, 3, u, w)", "F.instance_norm(im)", "F.local_response_norm(im, 2)", "F.rms_norm(x, (3,))",
    "F.scaled_dot_product_attention(b, b, b)", "F.upsample(im, scale_factor=2)", "F.multi_head_attention_forward",
    "nn.Linear(3, 2)(x)", "nn.Linear(3, 2, bias=True)", "nn.Bilinear(3, 3, 2)(x, y)", "nn.Conv1d(3, 2, 2)(b)", "nn.Identity()(x)",
    "nn.Conv2d(3, 6, 2, stride=1, padding=0, dilation=1, groups=3, bias=True, padding_mode='zeros')(im)", "nn.Conv2d(3, 2, (2, 2), padding='same')(im)",
    "nn.ConvTranspose2d(3, 6, 2, stride=1, padding=0, output_padding=0, groups=3)(im)", "nn.ConvTranspose1d(3, 2, 2)(b)",
    "nn.MaxPool1d(2)(b)", "nn.MaxPool2d(2, stride=1, padding=0, dilation=1)(im)", "nn.AvgPool2d(2, stride=1, padding=0)(im)", "nn.AdaptiveAvgPool2d(2)(im)",
    "nn.BatchNorm1d(3, eps=1e-5, momentum=0.1, affine=True)(x)", "nn.BatchNorm2d(3)(im)", "nn.LayerNorm(3)(x)", "nn.LayerNorm((3,), eps=1e-5)(x)",
    "nn.GroupNorm(3, 3)(im)", "nn.InstanceNorm2d(3)(im)", "nn.InstanceNorm1d(3)(b)", "nn.LocalResponseNorm(2)(im)", "nn.RMSNorm(3)(x)",
    "nn.Embedding(3, 2, padding_idx=0)(i)", "nn.Embedding.from_pretrained(q)", "nn.EmbeddingBag(3, 2, mode='mean')(i)", "nn.Dropout(0.5)(x)",
    "nn.Dropout2d(0.5)(im)", "nn.AlphaDropout(0.5)(x)", "nn.Flatten(1, -1)(im)", "nn.Unflatten(1, (3, 1))(x)", "nn.Softmax(dim=1)(x)",
    "nn.LogSoftmax(dim=1)(x)", "nn.Softmax2d()(im)", "nn.ReLU()(x)", "nn.LeakyReLU(0.1)(x)", "nn.PReLU(1)(x)", "nn.Threshold(0.1, 20.0)(x)",
    "nn.Hardtanh(-1.0, 1.0)(x)", "nn.ELU(1.0)(x)", "nn.GELU('none')(x)", "nn.GLU(-1)(im)", "nn.Softplus(1.0, 20.0)(x)", "nn.Softshrink(0.5)(x)",
    "nn.RNN(4, 5, num_layers=1, nonlinearity='tanh', batch_first=True, dropout=0.0, bidirectional=False)(b)",
    "nn.LSTM(4, 5, num_layers=2, bias=True, batch_first=True, dropout=0.0, bidirectional=False)(b)", "nn.GRU(4, 5, batch_first=True)(b)",
    "nn.LSTM(4, 5, batch_first=True)(b, (t.zeros(1, 2, 5), t.zeros(1, 2, 5)))", "nn.GRU(4, 5, batch_first=True)(b, t.zeros(1, 2, 5))",
    "nn.RNNCell(3, 2)(x, t.zeros(2, 2))", "nn.LSTMCell(3, 2)(x, (t.zeros(2, 2), t.zeros(2, 2)))", "nn.GRUCell(3, 2)(x, t.zeros(2, 2))",
    "nn.MultiheadAttention(4, 2, dropout=0.0, batch_first=True)(b, b, b)", "nn.TransformerEncoderLayer(4, 2, 8)(b)",
    "nn.CrossEntropyLoss(weight=w, ignore_index=-100, reduction='mean', label_smoothing=0.0)(x, j)", "nn.NLLLoss(reduction='sum')(x, j)",
    "nn.CosineEmbeddingLoss(margin=0.0)(x, y, t.tensor([1, -1]))", "nn.MarginRankingLoss(margin=0.0)(x, y, y)", "nn.TripletMarginLoss(margin=1.0)(x, y, x)",
    "nn.GaussianNLLLoss()(x, y, y)", "nn.MultiMarginLoss(p=1, margin=1.0)(x, j)", "nn.HuberLoss(delta=1.0)(x, y)", "nn.SmoothL1Loss(beta=1.0)(x, y)",
    "nn.Sequential(nn.Linear(3, 2), nn.ReLU())(x)", "nn.ModuleList([nn.Linear(3, 2)])", "nn.ModuleDict({'a': nn.Linear(3, 2)})", "nn.ParameterList([p])",
    "nn.Parameter(x, requires_grad=True)", "nn.Linear(3, 2).load_state_dict({'weight': t.ones(2, 3), 'bias': t.ones(2)})", "nn.Linear(3, 2).to(t.float64)",
    "nn.Linear(3, 2).register_parameter('a', p)", "nn.Linear(3, 2).register_buffer('a', x)", "nn.Linear(3, 2).add_module('a', nn.ReLU())", "nn.Linear(3, 2).get_parameter('weight')",
    "nn.Linear(3, 2).get_submodule('')", "nn.Linear(3, 2).requires_grad_(False)", "nn.Linear(3, 2).train(True)", "nn.PixelShuffle(2)(t.ones(1, 4, 2, 2))", "nn.Upsample(scale_factor=2)(im)",
    "nn.Unfold(2)(im)", "nn.Fold((4, 4), 2)(t.ones(2, 12, 9))", "nn.ZeroPad2d(1)(im)", "nn.ReflectionPad2d(1)(im)", "nn.ConstantPad1d(1, 0.0)(b)",
    "nn.init.uniform_(x, 0.0, 1.0)", "nn.init.normal_(x, 0.0, 1.0)", "nn.init.constant_(x, 1.0)", "nn.init.eye_(x)", "nn.init.xavier_uniform_(x, gain=1.0)",
    "nn.init.kaiming_normal_(x, a=0, mode='fan_in', nonlinearity='relu')", "nn.init.orthogonal_(x)", "nn.init.trunc_normal_(x, 0.0, 1.0)", "nn.init.sparse_(x, 0.5)",
    "nn.init.dirac_(t.zeros(2, 3, 3))", "nn.init.calculate_gain('relu')", "nn.utils.clip_grad_norm_([r], 1.0)", "nn.utils.clip_grad_value_([r], 1.0)",
    "nn.utils.parameters_to_vector([p])", "nn.utils.vector_to_parameters(t.ones(2), [p])", "nn.utils.rnn.pad_sequence([u, w])", "nn.utils.rnn.pack_padded_sequence(b, t.tensor([3, 2]), batch_first=True)",
    "optim.SGD([{'params': [p]}], lr=0.1)", "optim.SGD([p], lr=0.1).load_state_dict(optim.SGD([p], lr=0.1).state_dict())", "optim.SGD([p], lr=0.1).add_param_group({'params': [r]})",
    "t.utils.data.TensorDataset(x, y)", "t.utils.data.DataLoader(t.utils.data.TensorDataset(x), batch_size=1, shuffle=True, drop_last=False)", "t.utils.data.random_split(t.utils.data.TensorDataset(x), [1, 1])",
    "t.sum(x, dim=(0, 1))", "t.mean(x, (0, 1))", "t.amax(x, (0, 1))", "t.var(x, dim=1, correction=1)", "t.norm(x, p=2, dim=1)", "t.std_mean(x, 1)", "t.sum(x, dtype=t.float64)",
    "t.add(x, y, alpha=2)", "t.sub(x, y, alpha=2)", "t.div(x, y, rounding_mode='floor')", "t.add(x, y, out=t.zeros(2, 3))", "t.exp(x, out=t.zeros(2, 3))", "t.sum(x, 1, out=t.zeros(2))",
    "t.matmul(x, q, out=t.zeros(2, 3))", "t.bitwise_and(i, i)", "t.bitwise_not(i)", "t.gcd(i, i)", "t.isin(i, j)", "t.count_nonzero(x, dim=1)", "t.nan_to_num(x)", "t.logical_xor(h, h)",
    "t.real(x)", "t.angle(x)", "t.polygamma(1, x)", "t.mvlgamma(x + 5, 2)", "t.special.expit(x)", "t.trapezoid(x, dim=1)", "t.gradient(u)", "t.renorm(x, 2, 0, 1.0)", "t.tensordot(x, y, dims=([1], [1]))",
    "t.as_strided(x, (2, 2), (1, 1))", "t.numel(x)", "t.is_tensor(x)", "t.result_type(x, i)", "t.can_cast(t.int32, t.float32)", "t.promote_types(t.int32, t.float32)", "t.finfo(t.float32)", "t.iinfo(t.int32)",
    "t.Tensor(2, 3)", "t.clip(x, 0, 1)", "x.apply_(lambda a: a)", "x.map_(y, lambda a, b: a)", "x.share_memory_()", "x.is_same_size(y)", "x.sum_to_size(1, 3)", "x.element_size()", "x.set_(y)", "x.resize_(3, 2)",
    "t.autograd.forward_ad.make_dual(x, y)", "t.nn.functional.relu(x, inplace=True)", "x.index_reduce(1, j, y[:, :2], 'prod')", "x.cumsum(1, dtype=t.float64)", "x.argmax(1, keepdim=True)",
]  # fmt: skip

WRONG = [
    "None", "'bogus'", "5", "-5", "-1", "0", "2", "1.5", "-0.5", "True", "[]", "(1, 1)", "(0, 7)", "[0, 1.5]", "t.float32", "object()", "float('nan')",
    "t.tensor(1.5)", "t.tensor([1.0, 2.0])", "t.tensor([1, 0, 5])", "t.tensor([True, False])", "t.ones(2, 3, dtype=t.float64)", "t.ones(2, 3, dtype=t.int64)",
    "t.ones(2, 3, dtype=t.bool)", "t.ones(3, 2)", "t.ones(5)", "t.zeros(0, 3)", "t.ones(2, 3, 4)", "t.full((2, 3), -7)", "t.tensor([7, -8])",
    "t.ones(2, 3, requires_grad=True)", "[[1.0, 2.0], [3.0, 4.0]]", "t.ones(2, 3).expand(2, 2, 3)",
]  # fmt: skip


def mutated(call: str) -> Iterator[tuple[str, str]]:
    """The call with one argument wrong, in many ways: the text, and what was done."""
    tree = ast.parse(call, mode="eval")
    sites: list[tuple[Any, Any, Any]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            sites += [(node.args, k, f"argument {k}") for k in range(len(node.args))]
            sites += [(kw, "value", f"{kw.arg}=") for kw in node.keywords]
        elif isinstance(node, ast.BinOp):
            sites += [(node, "left", "left"), (node, "right", "right")]
        elif isinstance(node, ast.Compare):
            sites.append((node.comparators, 0, "right"))
        elif isinstance(node, ast.Subscript):
            sites.append((node, "slice", "index"))
        elif isinstance(node, (ast.Tuple, ast.List)) and isinstance(
            getattr(node, "ctx", None), ast.Load
        ):
            sites += [(node.elts, k, f"entry {k}") for k in range(len(node.elts))]
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in TENSORS
        ):
            sites.append((node, "value", "self"))
        if isinstance(node, ast.UnaryOp):
            sites.append((node, "operand", "operand"))
    for holder, key, what in sites:
        old = holder[key] if isinstance(key, int) else getattr(holder, key)
        for wrong in WRONG:
            new = ast.parse(wrong, mode="eval").body
            if isinstance(key, int):
                holder[key] = new
            else:
                setattr(holder, key, new)
            yield ast.unparse(tree), f"{what} {wrong}"
        if isinstance(key, int):
            holder[key] = old
        else:
            setattr(holder, key, old)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.args.append(ast.Constant(7))
            yield ast.unparse(tree), "one argument too many"
            node.args.pop()
            node.keywords.append(ast.keyword("bogus", ast.Constant(1)))
            yield ast.unparse(tree), "unknown keyword"
            node.keywords.pop()
            if node.args:
                last = node.args.pop()
                yield ast.unparse(tree), "one argument missing"
                node.args.append(last)


def function_of(t: Any) -> Any:
    """Fn(forward, backward): an autograd.Function of these two."""

    def made(forward: Any, backward: Any = None) -> Any:
        parts = {"forward": staticmethod(forward)}
        if backward is not None:
            parts["backward"] = staticmethod(backward)
        return type("Fn", (t.autograd.Function,), parts)

    return made


def in_dual_level(t: Any) -> Any:
    """fa(f): what f() gives in a level of forward mode."""

    def run(f: Any) -> Any:
        with t.autograd.forward_ad.dual_level():
            return f()

    return run


def outcome(t: Any, text: str) -> Any:
    """None if the call is accepted, else the error."""
    scope: dict[str, Any] = {"t": t, "F": t.nn.functional, "nn": t.nn, "optim": t.optim, "np": np}
    scope |= {"copy": copy, "Fn": function_of(t), "fa": in_dual_level(t)}
    t.manual_seed(0)
    for name, value in TENSORS.items():
        if name in text:
            scope[name] = eval(value, {"t": t})
    try:
        eval(text, scope)
    except Exception as error:
        return error
    finally:
        t.set_grad_enabled(True)
        t.set_default_dtype(t.float32)
    return None


def kind_of(error: Exception) -> type[Exception]:
    """The class that a program would catch: PyTorch's own classes count as their base."""
    for cls in type(error).__mro__:
        if cls.__module__ == "builtins":
            return cls
    return Exception


def verdict(theirs: Any, ours: Any) -> str:
    """What differs, in one word; "" if nothing does.

    Where PyTorch stumbles over a value instead of refusing it ('str' object has no attribute 'layout'),
    any error will do.
    """
    if theirs is None:
        return "" if ours is None else "refused"
    if ours is None:
        return "accepted"
    if type(theirs) is AttributeError or any(words in str(theirs) for words in STUMBLED):
        return ""
    return "" if isinstance(ours, kind_of(theirs)) else "class"


STUMBLED = (
    "not supported between instances",
    "is ambiguous",
    "is not subscriptable",
    "is not iterable",
    "unsupported operand type",
    "must be a string or a real number",
    "has no len()",
)


def compare(call: str, libraries: Any) -> Iterator[tuple[str, str, str, Any, Any]]:
    torch, minigrad = libraries
    seen = set()
    for text, what in mutated(call):
        if text in seen:
            continue
        seen.add(text)
        theirs = outcome(torch, text)
        ours = outcome(minigrad, text)
        yield verdict(theirs, ours), text, what, theirs, ours


def survey(word: str) -> None:
    import torch

    import minigrad

    warnings.simplefilter("ignore")
    kinds: Counter[str] = Counter()
    for call in [c for c in CALLS if word in c]:
        for library in (torch, minigrad):
            if (error := outcome(library, call)) is not None:
                print(f"invalid\t{call}\t{library.__name__}: {error!r:.150}")
                break
        else:
            for said, text, what, theirs, ours in compare(call, (torch, minigrad)):
                kinds[said or "agree"] += 1
                if said:
                    print(said, call, what, text, told(theirs), told(ours), sep="\t", flush=True)
    print(dict(kinds), file=sys.stderr)


def told(error: Exception | None) -> str:
    return (
        "" if error is None else f"{type(error).__name__}: {str(error).partition(chr(10))[0]:.110}"
    )


if __name__ == "__main__":
    survey(sys.argv[1] if len(sys.argv) > 1 else "")
