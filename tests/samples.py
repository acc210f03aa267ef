"""The second table of the project: for each op, inputs that are worth trying.

    sample(ops.log, positive(3, 2))

says: the properties of test_ops.py hold for log at these inputs. All numbers are drawn from a seed that depends on the line alone, in float64,
away from the places where a derivative jumps (kinks, ties, poles), unless the line is
about such a place.
"""

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from minigrad import ops
from minigrad.core.op import Op


class Sample(NamedTuple):
    op: Op
    args: tuple[Any, ...]
    settings: dict[str, Any]

    def __str__(self) -> str:
        shapes = ",".join("x".join(map(str, np.shape(a))) or "()" for a in self.args)
        settings = ",".join(f"{k}={v}" for k, v in self.settings.items())
        return f"{self.op.name}-{shapes}" + (f"-{settings}" if settings else "")


SAMPLES: list[Sample] = []


def sample(op: Op, *args: Any, **settings: Any) -> None:
    SAMPLES.append(Sample(op, args, settings))


def inputs_with_rules(sample: Sample) -> list[int]:
    """The positions of the inputs that the op can be differentiated by."""
    names = ("xs",) * len(sample.args) if sample.op.variadic else sample.op.operands
    return [k for k, n in enumerate(names) if n in sample.op.rules and sample.args[k].dtype.kind == "f"]


def at_every_sample(wanted: Callable[[Sample], Any]) -> Callable[[Any], Any]:
    """One test for each op, which tries the samples that are wanted; a failure names the sample."""
    of_op = defaultdict(list)
    for s in filter(wanted, SAMPLES):
        of_op[s.op.name].append(s)

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def at_each(sample: list[Sample], **others: Any) -> None:
            for one in sample:
                try:
                    test(sample=one, **others)
                except Exception as error:
                    error.add_note(f"at the sample {one}")
                    raise

        return pytest.mark.parametrize("sample", of_op.values(), ids=list(of_op))(at_each)

    return decorate


def normal(*shape: int, seed: int = 0) -> Any:
    """Entries between -2 and 2 that keep away from 0 and from each other."""
    n = int(np.prod(shape))
    r = np.random.default_rng([n, seed, *shape])
    magnitude = 0.3 + 1.7 * (r.permutation(n) + r.uniform(0.2, 0.8, n)) / max(n, 1)
    return np.asarray((magnitude * r.choice([-1, 1], n)).reshape(shape))


def positive(*shape: int, seed: int = 1) -> Any:
    return np.abs(normal(*shape, seed=seed))


def fraction(*shape: int, seed: int = 0) -> Any:
    """Entries between -1 and 1, away from both and from 0."""
    return normal(*shape, seed=seed) / 2.1


# elementwise: equal shapes, a broadcast on either side, no axes, no entries
for op in [
    ops.add, ops.sub, ops.mul,
    ops.div, ops.maximum,
    ops.minimum,
]:  # fmt: skip
    sample(op, normal(2, 3), normal(2, 3, seed=1))
    sample(op, normal(2, 1, 3), normal(4, 1, seed=1))
    sample(op, normal(3), normal(seed=1))
    sample(op, normal(), normal(seed=1))
    sample(op, normal(0, 3), normal(3, seed=1))
sample(ops.pow, positive(2, 3), normal(2, 3, seed=1))
sample(ops.pow, positive(2, 3), normal(3, seed=1))
sample(ops.pow, positive(2, 3), normal(seed=1))
sample(ops.pow, positive(), normal(seed=1))
sample(ops.copy, normal(2, 3), normal(2, 3, seed=1))
for op, args in [
    (ops.neg, normal), (ops.positive, normal),
    (ops.abs, normal), (ops.square, normal),
    (ops.sqrt, positive), (ops.exp, normal),
    (ops.log, positive), (ops.sin, normal),
    (ops.cos, normal), (ops.tanh, normal),
    (ops.sigmoid, normal), (ops.relu, normal),
    (ops.clone, normal),
]:  # fmt: skip
    sample(op, args(3, 2))
    sample(op, args())
    sample(op, args(0, 2))

for op, args in [
    (ops.reciprocal, normal), (ops.rsqrt, positive),
    (ops.exp2, normal), (ops.expm1, normal),
    (ops.log2, positive), (ops.log10, positive),
    (ops.log1p, positive), (ops.tan, fraction),
    (ops.asin, fraction), (ops.acos, fraction),
    (ops.atan, normal), (ops.sinh, normal),
    (ops.cosh, normal), (ops.asinh, normal),
    (ops.acosh, lambda *shape: 1 + positive(*shape)),
    (ops.atanh, fraction), (ops.erf, normal),
    (ops.erfc, normal), (ops.lgamma, normal), (ops.sinc, normal),
    (ops.digamma, normal), (ops.erfinv, fraction),
]:  # fmt: skip
    sample(op, args(3, 2))
    sample(op, args())
    sample(op, args(0, 2))
for op, x, y in [
    (ops.atan2, normal, normal), (ops.hypot, normal, normal),
    (ops.logaddexp, normal, normal), (ops.logaddexp2, normal, normal), (ops.xlogy, normal, positive),
    (ops.fmax, normal, normal), (ops.fmin, normal, normal), (ops.nextafter, normal, normal),
    (ops.remainder, normal, fraction), (ops.fmod, normal, fraction),
    (ops.floor_divide, normal, fraction),
    (ops.clamp_min, normal, normal), (ops.clamp_max, normal, normal),
]:  # fmt: skip
    sample(op, x(2, 3), y(2, 3, seed=1))
    sample(op, x(2, 1, 3), y(4, 1, seed=1))
    sample(op, x(), y(seed=1))
    sample(op, x(0, 3), y(3, seed=1))
for op, args in [
    (ops.clamp, (-fraction(2, 3), fraction(3, seed=2))), (ops.lerp, (normal(3, seed=1), fraction(2, 1))),
    (ops.addcmul, (normal(2, 1, seed=1), normal(3, seed=2))), (ops.addcdiv, (normal(2, 1, seed=1), normal(3, seed=2))),
]:  # fmt: skip
    sample(op, normal(2, 3), *args)
    sample(op, normal(), normal(seed=1), normal(seed=2))
    sample(op, normal(0, 3), normal(0, 1), normal(3))
for x in (normal(3), np.array([1.0, np.inf, -np.inf])):
    sample(ops.nan_to_num, x, nan=0.5, posinf=9.0, neginf=-9.0)
for n, args in [(1, normal), (1, positive), (2, positive), (3, positive)]:
    sample(ops.polygamma, args(3, 2), order=n)
    sample(ops.polygamma, args(), order=n)
sample(ops.clamp, normal(4), normal(4, seed=1), normal(4, seed=2))
sample(ops.addcmul, normal(2, 3), normal(3, seed=1), normal(seed=2), value=0.5)
sample(ops.addcdiv, normal(2, 3), normal(3, seed=1), normal(seed=2), value=-3)

# steps: flat wherever they are smooth
for op in [ops.ceil, ops.floor, ops.trunc, ops.round]:
    sample(op, normal(2, 3))
    sample(op, normal())
sample(ops.round, normal(2, 3), decimals=1)
for mode in ("trunc", "floor"):
    sample(ops.rounded_div, normal(2, 3), fraction(3, seed=1), rounding_mode=mode)
for op in [ops.isnan, ops.isinf, ops.isfinite, ops.signbit]:
    sample(op, np.array([0.0, -2.0, np.nan, np.inf]))
for op in [
    ops.bitwise_and, ops.bitwise_or, ops.bitwise_xor,
    ops.bitwise_left_shift, ops.bitwise_right_shift,
]:  # fmt: skip
    sample(op, np.array([[5, -3, 0], [6, 2, 9]]), np.array([3, 1, 2]))
sample(ops.bitwise_not, np.array([5, -3, 0]))
sample(ops.bitwise_not, np.array([True, False]))
sample(ops.logical_xor, normal(2, 3), normal(3, seed=1))
sample(ops.sign, normal(2, 3))
for op in [
    ops.eq, ops.ne, ops.lt, ops.le,
    ops.gt, ops.ge,
    ops.logical_and, ops.logical_or,
]:  # fmt: skip
    sample(op, normal(2, 3), normal(3, seed=1))
sample(ops.logical_not, normal(2, 3))
sample(ops.to, normal(2, 3), dtype=np.dtype(np.float64))

# reductions
for op in [
    ops.sum, ops.mean, ops.amax,
    ops.amin,
]:  # fmt: skip
    sample(op, normal(2, 3))
    sample(op, normal(2, 3, 4), axis=(1,))
    sample(op, normal(2, 3, 4), axis=(0, 2), keepdims=True)
    sample(op, normal())
for op in [ops.max, ops.min]:
    sample(op, normal(2, 3), at=np.array([[1], [1]]), axis=1)
    sample(op, normal(2, 3), at=np.array([[1, 0, 1]]), axis=0, keepdims=True)
sample(ops.put_along, normal(2), at=np.array([[1], [0]]), axis=1, shape=(2, 3))
zeros = np.array([[0.5, 0.0, -1.5, 2.0], [0.0, 0.7, 0.0, 1.1], [1.0, 2.0, -0.3, 0.4]])  # rows with one, two, no zeros
for x, settings in [(normal(2, 3), {}), (normal(2, 3, 4), {"axis": 1}), (zeros, {"axis": 1, "keepdims": True}), (zeros, {"axis": 0}), (zeros[0], {}), (normal(), {}), (normal(0, 2), {"axis": 0})]:
    sample(ops.prod, x, **settings)
for op in [ops.var, ops.std]:
    sample(op, normal(2, 3))
    sample(op, normal(2, 3, 4), axis=(1,), correction=0)
    sample(op, normal(2, 3, 4), axis=(0, 2), keepdims=True)
sample(ops.logsumexp, normal(2, 3))
sample(ops.logsumexp, normal(2, 3, 4), axis=(1,))
sample(ops.logsumexp, normal(2, 3, 4), axis=(0, 2), keepdims=True)
sample(ops.logsumexp, normal())
for p in (2, 1, 3, 1.5, 0.5, np.inf, -np.inf, 0):
    sample(ops.linalg_vector_norm, normal(2, 3), p=p)
    sample(ops.linalg_vector_norm, normal(2, 3, 4), p=p, axis=(0, 2), keepdims=True)
    sample(ops.linalg_vector_norm, normal(2, 3), p=p, axis=(1,))
sample(ops.median, normal(2, 3))
sample(ops.median, normal())
for x, axis in [(normal(2, 3), 1), (normal(5, 2), 0), (zeros, 1), (zeros, 0), (normal(0, 2), 0), (normal(1), 0)]:
    sample(ops.cumsum, x, axis=axis)
    sample(ops.cumprod, x, axis=axis)
    sample(ops.logcumsumexp, x, axis=axis)
for op in [ops.argmax, ops.argmin]:
    sample(op, normal(2, 3))
    sample(op, normal(2, 3), axis=1)
for op in [ops.all, ops.any]:
    sample(op, normal(2, 3))
    sample(op, normal(2, 3), axis=(1,), keepdims=True)

# products: every way in which matmul reads its arguments
for x, y in [
    (normal(2, 3), normal(3, 4)), (normal(3), normal(3)), (normal(2, 3), normal(3)),
    (normal(3), normal(3, 4)), (normal(5, 2, 3), normal(5, 3, 4)), (normal(5, 2, 3), normal(3, 4)),
    (normal(2, 3), normal(5, 3, 4)), (normal(5, 2, 3), normal(3)), (normal(3), normal(5, 3, 4)),
    (normal(5, 1, 2, 3), normal(6, 3, 4)), (normal(2, 0), normal(0, 3)),
]:  # fmt: skip
    sample(ops.matmul, x, y)

sample(ops.mm, normal(2, 3), normal(3, 4))
sample(ops.mm, normal(2, 0), normal(0, 4))
sample(ops.bmm, normal(5, 2, 3), normal(5, 3, 4))
sample(ops.mv, normal(2, 3), normal(3, seed=1))
sample(ops.dot, normal(3), normal(3, seed=1))
sample(ops.addmm, normal(4), normal(2, 3), normal(3, 4))
sample(ops.addmm, normal(2, 4), normal(2, 3), normal(3, 4), beta=0.5, alpha=2)
sample(ops.addmm, normal(), normal(2, 3), normal(3, 4), beta=2)
sample(ops.addmv, normal(2), normal(2, 3), normal(3, seed=1), alpha=3)
sample(ops.addmv, normal(), normal(2, 3), normal(3, seed=1))
sample(ops.baddbmm, normal(5, 2, 4), normal(5, 2, 3), normal(5, 3, 4), beta=0.5)
sample(ops.baddbmm, normal(4), normal(5, 2, 3), normal(5, 3, 4), alpha=2)
sample(ops.cross, normal(2, 3), normal(2, 3, seed=1), axis=1)
sample(ops.cross, normal(3, 1), normal(3, 2, seed=1), axis=0)
sample(ops.trace, normal(3, 2))
for equation, args in [
    ("ij,jk->ik", (normal(2, 3), normal(3, 4))), ("ii,i->i", (normal(3, 3), normal(3))),
    ("ijj,j->j", (normal(2, 3, 3), normal(3))), ("ij,jk->ki", (normal(2, 3), normal(3, 4))),
    ("nchw,oc->nohw", (normal(2, 3, 2, 2), normal(4, 3))), ("ij,kj->ik", (normal(2, 3), normal(2, 1))),
    ("i,j->ij", (normal(2), normal(3))), ("i,i->", (normal(3), normal(1))), ("ij,ij->i", (normal(2, 3), normal(1, 3))),
    ("bij,bjk->bik", (normal(2, 2, 3), normal(2, 3, 2))), ("i,ij,j->", (normal(2), normal(2, 3), normal(3))),
    (",i->i", (normal(), normal(3))), ("ij,k->j", (normal(2, 3), normal(2))),
]:  # fmt: skip
    sample(ops.einsum, *args, equation=equation)

# functions of matrices: of a plain one, a stack, symmetric ones
square, stack = normal(3, 3) + 2 * np.eye(3), normal(2, 2, 2) + 2 * np.eye(2)
for op in [ops.inverse, ops.det, ops.logabsdet, ops.determinant_sign, ops.matrix_exp]:
    sample(op, square)
    sample(op, stack)
sample(ops.det, np.array([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [0.3, -1.0, 1.5]]))  # singular
for y in (normal(3, 2), normal(3, 1, seed=1), normal(2, 3, 2)):
    sample(ops.linalg_solve, square, y)
for op in [ops.cholesky, ops.eigenvalues, ops.eigenvectors]:
    sample(op, square @ square.T)
    sample(op, stack @ np.swapaxes(stack, 1, 2) + np.eye(2))
for x in (normal(3, 2), normal(2, 3), normal(2, 3, 3)):
    for op in [ops.singular_values, ops.left_vectors, ops.right_vectors]:
        sample(op, x)
    sample(ops.linalg_pinv, x, rcond=1e-15)
for x in (normal(3, 2), normal(2, 3, 3)):
    sample(ops.q_factor, x)
    sample(ops.r_factor, x)

# arrangement
sample(ops.reshape, normal(2, 3, 4), shape=(4, -1))
sample(ops.reshape, normal(1), shape=())
sample(ops.permute, normal(2, 3, 4), dims=(2, 0, 1))
sample(ops.transpose, normal(2, 3, 4), dim0=0, dim1=2)
sample(ops.expand, normal(2, 1), shape=(3, 2, 4))
sample(ops.expand, normal(), shape=(2, 2))
sample(ops.unsqueeze, normal(2, 3), axis=1)
sample(ops.squeeze, normal(2, 1, 3), axis=(1,))
sample(ops.cat, normal(2, 3), normal(2, 1, seed=1), normal(2, 2, seed=2), axis=1)
sample(ops.cat, normal(2, 3), normal(0, 3, seed=1), axis=0)
sample(ops.stack, normal(2, 3), normal(2, 3, seed=1), axis=1)

sample(ops.view, normal(2, 3, 4), shape=(4, -1))
sample(ops.logit, np.array([0.1, 0.4, 0.95]))
sample(ops.logit, np.array([0.1, 0.4, 0.95]), eps=0.02)
sample(ops.hardshrink, normal(3, 4), lambd=0.4)
sample(ops.softshrink, normal(3, 4), lambd=0.4)
sample(ops.prelu_kernel, normal(3, 4), positive(1, 4))
sample(ops.constant_in, normal(2, 3), normal(2, 3), node_name="ThresholdBackwardBackward0")
sample(ops.unsafe_view, normal(2, 3, 4), shape=(4, -1))
sample(ops.view, normal(), shape=(1, 1))
sample(ops.t, normal(2, 3))
for x, settings in [
    (normal(3, 4), {}), (normal(3, 4), {"offset": 2}), (normal(4, 3), {"offset": -1}),
    (normal(2, 3, 2), {"dim1": 2, "dim2": 0}), (normal(2, 2), {"offset": 5}),
]:  # fmt: skip
    sample(ops.diagonal, x, **settings)
sample(ops.put_diagonal, normal(2), shape=(3, 3), offset=-1)
sample(ops.put_diagonal, normal(3, 2), shape=(2, 3, 2), dim1=0, dim2=2)
sample(ops.unfold, normal(2, 7), axis=1, size=3, step=2)
sample(ops.unfold, normal(5, 2), axis=0, size=2, step=1)
for how in [
    {"kernel_size": (2, 2), "stride": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)},
    {"kernel_size": (2, 3), "stride": (2, 1), "padding": (1, 1, 0, 0), "dilation": (1, 2)},
    {"kernel_size": (1, 1), "stride": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)},
]:  # fmt: skip
    sample(ops.im2col, normal(2, 2, 4, 5), **how)
    sample(ops.col2im, ops.im2col.forward(normal(1, 2, 4, 5), **how), shape=(4, 5), **how)
sample(ops.unfold_backward, normal(2, 3, 3), shape=(2, 8), axis=1, size=3, step=2)
sample(ops.flip, normal(2, 3), dims=(1,))
sample(ops.flip, normal(2, 3), dims=(0, 1))
sample(ops.roll, normal(2, 3), shifts=4)
sample(ops.roll, normal(2, 3), shifts=(1, -1), dims=(1, 0))
sample(ops.tile, normal(2, 3), repeats=(2, 1, 3))
sample(ops.tile, normal(), repeats=(2,))
sample(ops.tile, normal(2), repeats=(0,))
for op in [ops.tril, ops.triu]:
    sample(op, normal(3, 4))
    sample(op, normal(2, 3, 3), diagonal=1)
    sample(op, normal(3, 2), diagonal=-1)

# indexing: parts, single entries, new axes, masks, lists with repeats
for index in [
    (0,), (-1, 1), (slice(None), slice(0, 2)), (..., None, 1), (slice(None, None, 2),),
    (np.array([0, 2, 2]),), (np.array([0, 2]), np.array([1, 1])), (slice(None), np.array([[0, 3], [3, 3]])),
    (np.array([True, False, True]),), (np.array([], np.int64),),
]:  # fmt: skip
    sample(ops.getitem, normal(3, 4), index=index)
for size, stride, offset in [((3, 2), (1, 2), 1), ((2, 3), (2, 1), 0), ((4,), (0,), 2), ((), (), 3), ((0, 2), (1, 1), 0)]:
    sample(ops.as_strided, normal(7), size=size, stride=stride, storage_offset=offset)
sample(ops.put_zeros, normal(3, 2), index=(np.array([0, 2, 0]),), shape=(4, 2))
sample(ops.put_zeros, normal(2), index=(1, slice(0, 2)), shape=(3, 4))
sample(ops.index_put, normal(3, 4), normal(2, 4, seed=1), index=(np.array([0, 2]),))
sample(ops.index_put, normal(3, 4), normal(seed=1), index=(np.array([True, False, True]),))
sample(ops.index_put, normal(3, 4), normal(3, 4), index=(np.array([0, 2, 0]),), accumulate=True)
sample(ops.keep, normal(3), np.array([True, False, True]))
sample(ops.keep, normal(2, 300), normal(2, 300, seed=1) > 0)
sample(ops.where, np.array([[True], [False]]), normal(2, 3), normal(3, seed=1))
sample(ops.where, np.array([True, False, True]), normal(), normal(3, seed=1))
sample(ops.put_zeros, normal(3, 2), index=(np.array([True, False, True, True]),), shape=(4, 2))
sample(ops.put_zeros, normal(2, 2, 2), index=(np.array([[0, -1], [0, 2]]),), shape=(4, 2))
for index, axis in [
    (np.array([[0, 1], [2, 2]]), 0), (np.array([[3, 0, 0], [1, 1, 1], [2, 3, 0]]), 1), (np.zeros((0, 2), np.int64), 0),
]:  # fmt: skip
    sample(ops.gather, normal(3, 4), index=index, axis=axis)
    sample(ops.scatter_add, normal(3, 4), normal(*index.shape, seed=1), index=index, axis=axis)
    sample(ops.scatter_mul, normal(3, 4), normal(*index.shape, seed=1), index=index, axis=axis)
    for largest in (True, False):
        sample(ops.scatter_extreme, normal(3, 4), normal(*index.shape, seed=1), index=index, axis=axis, largest=largest)
zeros_to_scatter = np.array([[0.5, 0.0, 0.0, 0.7], [-1.2, 0.0, 0.4, 0.0]])
sample(ops.scatter_mul, zeros, zeros_to_scatter, index=np.array([[0, 1, 2, 2], [0, 1, 1, 1]]), axis=0)
sample(ops.scatter_mul, normal(3), normal(seed=1), index=np.array([0, 2, 0]), axis=0)
sample(ops.gather, normal(), index=np.zeros((2,), np.int64), axis=0)
sample(ops.scatter, normal(3, 4), normal(2, 2, seed=1), index=np.array([[0, 1], [2, 2]]), axis=0)
sample(ops.scatter, normal(3, 4), normal(seed=1), index=np.array([[3, 0], [1, 2]]), axis=1)
sample(ops.index_select, normal(3, 4), index=np.array([2, 0, 2]), axis=0)
sample(ops.index_select, normal(3, 4), index=np.array([1, 1]), axis=1)
sample(ops.index_select, normal(2, 3, 4), index=np.array([[11, 0, 0]]), axis=1)
sample(ops.masked_fill, normal(2, 3), normal(seed=1), mask=np.array([True, False, True]))
sample(ops.masked_fill, normal(2, 3), normal(seed=1), mask=np.zeros((2, 3), bool))

# neural networks: activations (away from their kinks), softmax, losses
for op, settings in [
    (ops.leaky_relu, {}), (ops.leaky_relu, {"negative_slope": -0.5}),
    (ops.elu, {}), (ops.elu, {"alpha": 0.5}), (ops.elu, {"alpha": 0.5, "scale": 3.0}), (ops.mish, {}),
    (ops.silu, {}), (ops.gelu, {}), (ops.gelu, {"approximate": "tanh"}),
    (ops.softplus, {}), (ops.softplus, {"beta": 3.0, "threshold": 2.0}),
    (ops.logsigmoid, {}), (ops.hardtanh, {"min_val": -0.95, "max_val": 1.1}),
    (ops.hardsigmoid, {}), (ops.hardswish, {}),
    (ops.threshold, {"threshold": 0.05, "value": 3.0}),
]:  # fmt: skip
    sample(op, normal(3, 2), **settings)
    sample(op, 3 * normal(), **settings)
    sample(op, normal(0, 2), **settings)
sample(ops.glu, normal(2, 4), axis=1)
sample(ops.glu, normal(4, 3), axis=0)
for op in [ops.softmax, ops.log_softmax]:
    sample(op, normal(2, 3), axis=1)
    sample(op, normal(2, 3, 2), axis=0)
    sample(op, normal(), axis=None)
    sample(op, normal(0, 3), axis=1)
for x, target, axis in [
    (normal(3, 4), np.array([0, 3, 3]), 1), (normal(4), np.array(2), 0),
    (normal(2, 3, 2), np.array([[0, 1], [2, 2]]), 1),
]:  # fmt: skip
    for op in [ops.cross_entropy, ops.nll_loss]:
        sample(op, x, target=target, weights=positive(*target.shape), axis=axis, reduced=True)
        sample(op, x, target=target, weights=np.float64(0.5), axis=axis, reduced=False)
sample(ops.mse_loss, normal(2, 3), normal(2, 3, seed=1))
sample(ops.mse_loss, normal(2, 3), normal(3, seed=1), reduction="sum")
sample(ops.mse_loss, normal(), normal(seed=1))
sample(ops.special_entr, positive(2, 3))
for reduction in ("mean", "sum", "none"):
    sample(ops.binary_cross_entropy, positive(2, 3) / 2.1, positive(2, 3, seed=2) / 2.1, reduction=reduction)
    sample(ops.binary_cross_entropy_with_logits, normal(2, 3), positive(2, 3, seed=2) / 2.1, reduction=reduction)
    sample(ops.smooth_l1_loss, normal(2, 3), normal(2, 3, seed=1), reduction=reduction, beta=0.5)
    sample(ops.huber_loss, normal(2, 3), normal(2, 3, seed=1), reduction=reduction, delta=0.5)
sample(ops.mse_loss, normal(2, 3), normal(2, 3, seed=1), reduction="none")
sample(ops.standardize, normal(3, 4), axis=(1,), eps=1e-5)
sample(ops.standardize, normal(2, 3, 2), axis=(0, 2), eps=0.1)
sample(ops.scale_and_shift, normal(2, 3), normal(3, seed=1), normal(2, 1, seed=2))
sample(ops.embedding, normal(4, 2), index=np.array([[0, 3, 3], [1, 0, 0]]))
sample(ops.embedding, normal(4, 2), index=np.array([0, 3]))
sample(ops.constant_pad_nd, normal(2, 3), widths=((0, 0), (1, 2)), value=3.0)
sample(ops.constant_pad_nd, normal(3, 3), widths=((-1, 1), (2, -2)))

# convolutions and pooling
plain = {"stride": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)}
for x, w, b, settings in [
    (normal(2, 2, 4, 4), normal(3, 2, 3, 3), normal(3), {}),
    (normal(1, 2, 5, 6), normal(2, 2, 2, 3), normal(0), {"stride": (2, 1), "padding": (1, 0, 2, 1)}),
    (normal(1, 2, 5, 5), normal(2, 2, 2, 2), normal(2), {"dilation": (2, 3)}),
    (normal(2, 4, 3, 3), normal(4, 2, 2, 2), normal(4), {"groups": 2, "padding": (1, 1, 1, 1)}),
    (normal(1, 9, 2, 2), normal(1, 9, 1, 2), normal(1), {}),
]:  # fmt: skip
    how = plain | settings
    z = ops.convolution.forward(x, w, b, **how)
    y = normal(*z.shape, seed=3)
    sample(ops.convolution, x, w, b, **how)
    sample(ops.convolution_dx, y, w, shape=x.shape, **how)
    sample(ops.convolution_dw, y, x, shape=w.shape, **how)
for x, settings in [
    (normal(2, 2, 4, 4), {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0, 0, 0), "shape": (2, 2)}),
    (normal(1, 5, 4), {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 1, 0, 1), "shape": (3, 4)}),
]:  # fmt: skip
    sample(ops.max_pool2d, x, dilation=(1, 1), **settings)
    sample(ops.window_sum, x, **settings)
    z = ops.window_sum.forward(x, **settings)
    sample(ops.window_spread, z, **settings | {"shape": x.shape[-2:]})
sample(ops.resample, normal(2, 4, 3), matrices=(normal(3, 5),))
sample(ops.resample, normal(2, 4, 3), matrices=(normal(4, 2), normal(3, 5)))
sample(ops.resample, normal(2, 4, 3), matrices=(normal(2, 5), None, None))

# recurrent networks
gates, cell = fraction(3, 8), normal(3, 2)
sample(ops.lstm_gates, normal(3, 8))
sample(ops.lstm_gates, normal(0, 4))
sample(ops.lstm_cell, gates, cell)
sample(ops.lstm_cell, fraction(8), normal(2))
sample(ops.lstm_hidden, gates, cell)
sample(ops.lstm_hidden, fraction(8), normal(2))
sample(ops.cat, normal(2, 3), normal(2, 1), axis=-1)
sample(ops.stack, normal(2, 3), normal(2, 3, seed=4), axis=-1)
