"""Wrong arguments are refused where they are given, in PyTorch's words."""

import re

import numpy as np
import pytest

import minigrad as t
from minigrad.nn import functional as F

X, B, IMAGE = t.ones(2, 3), t.ones(2, 3, 4), t.ones(2, 3, 4, 4)
LINEAR = t.nn.Linear(3, 2)
NUMBERS, LEAF = t.tensor([0, 1]), t.ones(2, 3, requires_grad=True)


class DirtyAndNotReturned(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2


def with_a_hook(hook):
    x = t.ones(2, requires_grad=True)
    x.register_hook(hook)
    x.sum().backward()


WRONG = [
    (lambda: t.optim.SGD(LINEAR, lr=0.1), TypeError, "pass its parameters: model.parameters()"),
    (lambda: t.optim.SGD(LINEAR.parameters, lr=0.1), TypeError, "call it: model.parameters()"),
    (lambda: t.optim.SGD([{"params": LINEAR}], lr=0.1), TypeError, "not iterable. To fix it"),
    (lambda: t.optim.SGD(t.nn.Sequential(LINEAR), lr=0.1), TypeError, "pass model.parameters()"),
    (lambda: t.nn.utils.clip_grad_norm_(LINEAR, 1.0), TypeError, "not iterable. To fix it"),
    (lambda: LINEAR(t.ones(2, 4)), RuntimeError, "has 4 features, but the weight, of shape (2, 3), takes 3"),
    (lambda: LINEAR(t.ones(2, 1, 3, 1)), RuntimeError, "(6x1 and 3x2)"),
    (lambda: LINEAR(t.ones(2, 1, 3, 1)), RuntimeError, "use x.flatten(1)"),
    (lambda: LINEAR(t.nn.ReLU(X)), TypeError, "not ReLU. This is a module"),
    (lambda: F.relu(X.max(1)), TypeError, "It holds values and indices"),
    (lambda: X.max(1).mean(), AttributeError, "has no attribute 'mean'. It holds values and indices"),
    (lambda: t.linalg.eigh(t.eye(2)).sum(), AttributeError, "linalg_eigh(...).eigenvalues"),
    (lambda: t.make_dot(LEAF * 2, params=[LEAF]), TypeError, "params=dict(model.named_parameters())"),
    (lambda: t.plots.loss_surface(sum, 3), TypeError, "a path is a list of points, not int"),
    (lambda: t.static.record(X.sum()), TypeError, "takes a function, but got Tensor. To fix it"),
    (lambda: t.static.compile(None), TypeError, "static.compile takes a function"),
    (lambda: t.compare(LEAF.sum(), LEAF=X, rtol="1e-3"), TypeError, "rtol and atol must be numbers, not str"),
    (lambda: t.nn.MSELoss(X, X), RuntimeError, "nn.MSELoss()(input, target)"),
    (lambda: t.nn.CrossEntropyLoss(X, NUMBERS), RuntimeError, "ambiguous"),
    (lambda: t.nn.Sequential([LINEAR]), TypeError, "nn.Sequential(*layers)"),
    (lambda: t.nn.Sequential(LINEAR, F.relu), TypeError, "nn.ReLU() for F.relu"),
    (lambda: LINEAR.load_state_dict(LINEAR), TypeError, "pass model.state_dict()"),
    (lambda: F.binary_cross_entropy_with_logits(X[:, :1], X[:, 0]), ValueError, "target.view_as(input)"),
    (lambda: t.utils.data.default_collate([None]), TypeError, "Does __getitem__ end with a return?"),
    (lambda: t.nn.utils.rnn.pad_sequence([1, 2]), TypeError, "expected Tensor as element 0 in argument 0, but got int"),
    (lambda: B @ t.ones(2, 5, 3), RuntimeError, "[2, 5]. In B @ right, of shapes"),
    (lambda: with_a_hook(lambda g: 3.0), TypeError, "expected Variable, but hook returned 'float'"),
    (lambda: t.where(X > 0, 1), TypeError, "where(condition, input, other)"),
    (lambda: t.nn.Conv2d(1, 16), TypeError, "Conv2d.__init__() missing 1 required positional argument: 'kernel_size'"),
    (lambda: t.nn.Embedding(3), TypeError, "Embedding.__init__() missing 1 required"),
    (lambda: t.distributions.Normal(0), TypeError, "Normal.__init__() missing 1 required positional argument: 'scale'"),
    (lambda: X.softmax(), TypeError, "Tensor.softmax() missing 1 required positional argument: 'dim'"),
    (lambda: X.index_fill_(0), TypeError, "Tensor.index_fill_() missing 2 required"),
    (lambda: F.conv2d(X), TypeError, "conv2d() missing 1 required positional argument: 'weight'"),
    (lambda: X.sum(True), TypeError, "'dim' must be int, not bool"),
    (lambda: X.unsqueeze(1.0), TypeError, "'dim' must be int, not float"),
    (lambda: t.zeros(2.5), TypeError, "'size' must be int, not float"),
    (lambda: t.zeros(), TypeError, "size"),
    (lambda: X.reshape(-2, 3), RuntimeError, "invalid shape dimension -2"),
    (lambda: X.sum(dtype=X), TypeError, "'dtype' must be a dtype"),
    (lambda: X + [1.0, 2.0, 3.0], TypeError, "must be a Tensor or a number"),
    (lambda: t.add(X, X, out=5), TypeError, "'out' must be Tensor"),
    (lambda: t.cat(X), TypeError, "tuple of Tensors"),
    (lambda: t.cat([X, 5]), TypeError, "element 1 in argument 0, but got int"),
    (lambda: NUMBERS.add(NUMBERS, alpha=0.5), RuntimeError, "alpha must not be a floating point"),
    (lambda: X.index_select(0, t.tensor([-1])), IndexError, "out of range"),
    (lambda: X.rot90(1, (0, 0)), RuntimeError, "rotation dims"),
    (lambda: X.diff(n=-1), RuntimeError, "non-negative"),
    (lambda: X.unique(dim=3), IndexError, "Dimension out of range"),
    (lambda: X.renorm(2, 5, 1.0), IndexError, "Dimension out of range"),
    (lambda: X.quantile(t.tensor([0.5], dtype=t.float64)), RuntimeError, "same dtype"),
    (lambda: t.zeros(2, 0).quantile(0.5, dim=0), RuntimeError, "must be non-empty"),
    (lambda: t.tensor(3.0)[0], IndexError, "invalid index of a 0-dim tensor"),
    (lambda: X[0, 0, 0], IndexError, "too many indices for tensor of dimension 2 (got 3)"),
    (lambda: X[[0, 1], [0, 1, 0]], IndexError, "indexing tensors could not be broadcast"),
    (lambda: X.__delitem__(0), TypeError, "does not support deleting items"),
    (lambda: X.take_along_dim(X > 0, 0), RuntimeError, "indices should be Long but got Bool"),
    (lambda: t.unravel_index(NUMBERS, (2, -2)), ValueError, "cannot have negative values"),
    (lambda: t.unravel_index(NUMBERS, (2, 2.0)), TypeError, "sequence to only contain ints"),
    (lambda: t.unravel_index(NUMBERS, 2.0), TypeError, "int or sequence of ints"),
    (lambda: X.movedim((0, 0), (1, 0)), RuntimeError, "repeated dim in `source`"),
    (lambda: X.flip(), TypeError, "missing 1 required positional arguments"),
    (lambda: X.unfold(0, -1, 1), RuntimeError, "size is -1 but must be >= 0"),
    (lambda: t.zeros(0, 2, 0).unique(dim=0), RuntimeError, "more than one"),
    (lambda: t.zeros(0, 2).unique_consecutive(dim=1), RuntimeError, "0 sized dimensions"),
    (lambda: t.linalg.norm(B, ord="fro"), RuntimeError, "must be 1D or 2D"),
    (lambda: t.arange(0, float("inf")), RuntimeError, "unsupported range"),
    (lambda: t.from_numpy(np.ones(3)[::-1]), ValueError, "negative"),
    (lambda: "a" in X, RuntimeError, "only supports Tensor or scalar"),
    (lambda: t.autograd.grad(LEAF.sum(), []), RuntimeError, "cannot be empty"),
    (lambda: setattr(LEAF, "grad", LEAF), RuntimeError, "as its own grad"),
    (lambda: setattr(LEAF, "data", NUMBERS), RuntimeError, "must be floating point"),
    (lambda: with_a_hook(lambda g: g.double()), RuntimeError, "changed the type of value"),
    (lambda: DirtyAndNotReturned.apply(LEAF), RuntimeError, "were not returned as output"),
    (lambda: F.max_pool2d(IMAGE, 2, dilation=0), RuntimeError, "should be greater than zero"),
    (lambda: F.unfold(IMAGE, 2, padding=-1), RuntimeError, "negative padding"),
    (lambda: F.unfold(IMAGE, 2, stride=0), RuntimeError, "should be greater than zero"),
    (lambda: F.conv1d(B, t.ones(2, 3, 0)), RuntimeError, "kernel size should be greater"),
    (lambda: F.conv_transpose1d(B, t.ones(3, 2, 2), stride=0), RuntimeError, "non-positive stride"),
    (lambda: F.adaptive_max_pool2d(IMAGE, -1), RuntimeError, "negative dimension"),
    (lambda: F.pad(X, (1.5, 1)), TypeError, "'pad' must be int"),
    (lambda: F.pad(X, (1, 1, 1, 1), mode="reflect"), NotImplementedError, "is not supported"),
    (lambda: F.interpolate(IMAGE, size=0), RuntimeError, "greater than 0"),
    (lambda: F.pixel_shuffle(t.ones(3), 2), RuntimeError, "at least 3 dimensions"),
    (lambda: F.hardtanh(X, 1.0, -1.0), ValueError, "min_val cannot be greater"),
    (lambda: F.triplet_margin_loss(X, X, X, margin=-1), ValueError, "greater than 0"),
    (lambda: F.cosine_embedding_loss(X, t.ones(3), NUMBERS), RuntimeError, "1D target tensor"),
    (lambda: F.cross_entropy(X, X, ignore_index=1), RuntimeError, "ignore_index is not supported"),
    (lambda: F.local_response_norm(IMAGE, 0), RuntimeError, "greater than zero"),
    (lambda: F.group_norm(t.ones(3), 1), RuntimeError, "at least 2 dimensions"),
    (lambda: F.relu("a"), TypeError, "must be Tensor"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, phrase", WRONG)
def test_a_wrong_argument_is_refused_in_pytorchs_words(call, kind, phrase):
    with pytest.raises(kind, match=re.escape(phrase)):
        call()
