"""The second table of the project: for each op, inputs that are worth trying.

    sample(ops.log, "LogBackward", positive(3, 2))

says: log records a LogBackward node, and the ten properties of test_ops.py hold for it at
these inputs. All numbers are drawn from a seed that depends on the line alone, in float64,
away from the places where a derivative jumps (kinks, ties, poles), unless the line is
about such a place.
"""

from typing import Any, NamedTuple

import numpy as np

from minigrad import ops
from minigrad.core.op import Op


class Sample(NamedTuple):
    op: Op
    node_name: str
    args: tuple[Any, ...]
    settings: dict[str, Any]

    def __str__(self) -> str:
        shapes = ",".join("x".join(map(str, np.shape(a))) or "()" for a in self.args)
        settings = ",".join(f"{k}={v}" for k, v in self.settings.items())
        return f"{self.op.name}-{shapes}" + (f"-{settings}" if settings else "")


SAMPLES: list[Sample] = []


def sample(op: Op, node_name: str, *args: Any, **settings: Any) -> None:
    SAMPLES.append(Sample(op, node_name, args, settings))


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
for op, name in [
    (ops.add, "AddBackward"), (ops.sub, "SubBackward"), (ops.mul, "MulBackward"),
    (ops.div, "DivBackward"), (ops.maximum, "MaximumBackward"),
    (ops.minimum, "MinimumBackward"),
]:  # fmt: skip
    sample(op, name, normal(2, 3), normal(2, 3, seed=1))
    sample(op, name, normal(2, 1, 3), normal(4, 1, seed=1))
    sample(op, name, normal(3), normal(seed=1))
    sample(op, name, normal(), normal(seed=1))
    sample(op, name, normal(0, 3), normal(3, seed=1))
sample(ops.pow, "PowBackward", positive(2, 3), normal(2, 3, seed=1))
sample(ops.pow, "PowBackward", positive(2, 3), normal(3, seed=1))
sample(ops.pow, "PowBackward", positive(2, 3), normal(seed=1))
sample(ops.pow, "PowBackward", positive(), normal(seed=1))
sample(ops.copy, "CopyBackward", normal(2, 3), normal(2, 3, seed=1))
for op, name, args in [
    (ops.neg, "NegBackward", normal), (ops.positive, "PositiveBackward", normal),
    (ops.abs, "AbsBackward", normal), (ops.square, "SquareBackward", normal),
    (ops.sqrt, "SqrtBackward", positive), (ops.exp, "ExpBackward", normal),
    (ops.log, "LogBackward", positive), (ops.sin, "SinBackward", normal),
    (ops.cos, "CosBackward", normal), (ops.tanh, "TanhBackward", normal),
    (ops.sigmoid, "SigmoidBackward", normal), (ops.relu, "ReluBackward", normal),
    (ops.clone, "CloneBackward", normal),
]:  # fmt: skip
    sample(op, name, args(3, 2))
    sample(op, name, args())
    sample(op, name, args(0, 2))

for op, name, args in [
    (ops.reciprocal, "ReciprocalBackward", normal), (ops.rsqrt, "RsqrtBackward", positive),
    (ops.exp2, "Exp2Backward", normal), (ops.expm1, "Expm1Backward", normal),
    (ops.log2, "Log2Backward", positive), (ops.log10, "Log10Backward", positive),
    (ops.log1p, "Log1pBackward", positive), (ops.tan, "TanBackward", fraction),
    (ops.asin, "AsinBackward", fraction), (ops.acos, "AcosBackward", fraction),
    (ops.atan, "AtanBackward", normal), (ops.sinh, "SinhBackward", normal),
    (ops.cosh, "CoshBackward", normal), (ops.asinh, "AsinhBackward", normal),
    (ops.acosh, "AcoshBackward", lambda *shape: 1 + positive(*shape)),
    (ops.atanh, "AtanhBackward", fraction), (ops.erf, "ErfBackward", normal),
    (ops.erfc, "ErfcBackward", normal), (ops.lgamma, "LgammaBackward", normal),
    (ops.digamma, "DigammaBackward", normal), (ops.erfinv, "ErfinvBackward", fraction),
]:  # fmt: skip
    sample(op, name, args(3, 2))
    sample(op, name, args())
    sample(op, name, args(0, 2))
for op, name, x, y in [
    (ops.atan2, "Atan2Backward", normal, normal), (ops.hypot, "HypotBackward", normal, normal),
    (ops.logaddexp, "LogaddexpBackward", normal, normal), (ops.logaddexp2, "Logaddexp2Backward", normal, normal), (ops.xlogy, "XlogyBackward", normal, positive),
    (ops.fmax, "FmaxBackward", normal, normal), (ops.fmin, "FminBackward", normal, normal),
    (ops.remainder, "RemainderBackward", normal, fraction), (ops.fmod, "FmodBackward", normal, fraction),
    (ops.floor_divide, "FloorDivideBackward", normal, fraction),
    (ops.clamp_min, "ClampMinBackward", normal, normal), (ops.clamp_max, "ClampMaxBackward", normal, normal),
]:  # fmt: skip
    sample(op, name, x(2, 3), y(2, 3, seed=1))
    sample(op, name, x(2, 1, 3), y(4, 1, seed=1))
    sample(op, name, x(), y(seed=1))
    sample(op, name, x(0, 3), y(3, seed=1))
for op, name, args in [
    (ops.clamp, "ClampBackward", (-fraction(2, 3), fraction(3, seed=2))), (ops.lerp, "LerpBackward", (normal(3, seed=1), fraction(2, 1))),
    (ops.addcmul, "AddcmulBackward", (normal(2, 1, seed=1), normal(3, seed=2))), (ops.addcdiv, "AddcdivBackward", (normal(2, 1, seed=1), normal(3, seed=2))),
]:  # fmt: skip
    sample(op, name, normal(2, 3), *args)
    sample(op, name, normal(), normal(seed=1), normal(seed=2))
    sample(op, name, normal(0, 3), normal(0, 1), normal(3))
for n, args in [(1, normal), (1, positive), (2, positive), (3, positive)]:
    sample(ops.polygamma, "PolygammaBackward", args(3, 2), order=n)
    sample(ops.polygamma, "PolygammaBackward", args(), order=n)
sample(ops.clamp, "ClampBackward", normal(4), normal(4, seed=1), normal(4, seed=2))
sample(ops.addcmul, "AddcmulBackward", normal(2, 3), normal(3, seed=1), normal(seed=2), value=0.5)
sample(ops.addcdiv, "AddcdivBackward", normal(2, 3), normal(3, seed=1), normal(seed=2), value=-3)

# steps: flat wherever they are smooth
for op, name in [(ops.ceil, "CeilBackward"), (ops.floor, "FloorBackward"), (ops.trunc, "TruncBackward"), (ops.round, "RoundBackward")]:
    sample(op, name, normal(2, 3))
    sample(op, name, normal())
sample(ops.round, "RoundBackward", normal(2, 3), decimals=1)
for op, name in [(ops.isnan, "IsnanBackward"), (ops.isinf, "IsinfBackward"), (ops.isfinite, "IsfiniteBackward"), (ops.signbit, "SignbitBackward")]:
    sample(op, name, np.array([0.0, -2.0, np.nan, np.inf]))
for op, name in [
    (ops.bitwise_and, "BitwiseAndBackward"), (ops.bitwise_or, "BitwiseOrBackward"), (ops.bitwise_xor, "BitwiseXorBackward"),
    (ops.bitwise_left_shift, "BitwiseLeftShiftBackward"), (ops.bitwise_right_shift, "BitwiseRightShiftBackward"),
]:  # fmt: skip
    sample(op, name, np.array([[5, -3, 0], [6, 2, 9]]), np.array([3, 1, 2]))
sample(ops.bitwise_not, "BitwiseNotBackward", np.array([5, -3, 0]))
sample(ops.bitwise_not, "BitwiseNotBackward", np.array([True, False]))
sample(ops.logical_xor, "LogicalXorBackward", normal(2, 3), normal(3, seed=1))
sample(ops.sign, "SignBackward", normal(2, 3))
sample(ops.zeros_like, "ZerosLikeBackward", normal(2, 3))
for op, name in [
    (ops.eq, "EqBackward"), (ops.ne, "NeBackward"), (ops.lt, "LtBackward"), (ops.le, "LeBackward"),
    (ops.gt, "GtBackward"), (ops.ge, "GeBackward"),
    (ops.logical_and, "LogicalAndBackward"), (ops.logical_or, "LogicalOrBackward"),
]:  # fmt: skip
    sample(op, name, normal(2, 3), normal(3, seed=1))
sample(ops.logical_not, "LogicalNotBackward", normal(2, 3))
sample(ops.to, "ToBackward", normal(2, 3), dtype=np.dtype(np.float64))

# reductions
for op, name in [
    (ops.sum, "SumBackward"), (ops.mean, "MeanBackward"), (ops.amax, "AmaxBackward"),
    (ops.amin, "AminBackward"),
]:  # fmt: skip
    sample(op, name, normal(2, 3))
    sample(op, name, normal(2, 3, 4), axis=(1,))
    sample(op, name, normal(2, 3, 4), axis=(0, 2), keepdims=True)
    sample(op, name, normal())
for op, name in [(ops.max, "MaxBackward"), (ops.min, "MinBackward")]:
    sample(op, name, normal(2, 3), at=np.array([[1], [1]]), axis=1)
    sample(op, name, normal(2, 3), at=np.array([[1, 0, 1]]), axis=0, keepdims=True)
sample(ops.put_along, "PutAlongBackward", normal(2), at=np.array([[1], [0]]), axis=1, shape=(2, 3))
zeros = np.array([[0.5, 0.0, -1.5, 2.0], [0.0, 0.7, 0.0, 1.1], [1.0, 2.0, -0.3, 0.4]])  # rows with one, two, no zeros
for x, settings in [(normal(2, 3), {}), (normal(2, 3, 4), {"axis": 1}), (zeros, {"axis": 1, "keepdims": True}), (zeros, {"axis": 0}), (zeros[0], {}), (normal(), {}), (normal(0, 2), {"axis": 0})]:
    sample(ops.prod, "ProdBackward", x, **settings)
for op, name in [(ops.var, "VarBackward"), (ops.std, "StdBackward")]:
    sample(op, name, normal(2, 3))
    sample(op, name, normal(2, 3, 4), axis=(1,), correction=0)
    sample(op, name, normal(2, 3, 4), axis=(0, 2), keepdims=True)
sample(ops.logsumexp, "LogsumexpBackward", normal(2, 3))
sample(ops.logsumexp, "LogsumexpBackward", normal(2, 3, 4), axis=(1,))
sample(ops.logsumexp, "LogsumexpBackward", normal(2, 3, 4), axis=(0, 2), keepdims=True)
sample(ops.logsumexp, "LogsumexpBackward", normal())
for p in (2, 1, 3, 1.5, 0.5, np.inf, -np.inf, 0):
    sample(ops.norm, "NormBackward", normal(2, 3), p=p)
    sample(ops.norm, "NormBackward", normal(2, 3, 4), p=p, axis=(0, 2), keepdims=True)
    sample(ops.norm, "NormBackward", normal(2, 3), p=p, axis=(1,))
sample(ops.median, "MedianBackward", normal(2, 3))
sample(ops.median, "MedianBackward", normal())
for x, axis in [(normal(2, 3), 1), (normal(5, 2), 0), (zeros, 1), (zeros, 0), (normal(0, 2), 0), (normal(1), 0)]:
    sample(ops.cumsum, "CumsumBackward", x, axis=axis)
    sample(ops.cumprod, "CumprodBackward", x, axis=axis)
    sample(ops.logcumsumexp, "LogcumsumexpBackward", x, axis=axis)
for op, name in [(ops.argmax, "ArgmaxBackward"), (ops.argmin, "ArgminBackward")]:
    sample(op, name, normal(2, 3))
    sample(op, name, normal(2, 3), axis=1)
for op, name in [(ops.all, "AllBackward"), (ops.any, "AnyBackward")]:
    sample(op, name, normal(2, 3))
    sample(op, name, normal(2, 3), axis=(1,), keepdims=True)

# products: every way in which matmul reads its arguments
for x, y in [
    (normal(2, 3), normal(3, 4)), (normal(3), normal(3)), (normal(2, 3), normal(3)),
    (normal(3), normal(3, 4)), (normal(5, 2, 3), normal(5, 3, 4)), (normal(5, 2, 3), normal(3, 4)),
    (normal(2, 3), normal(5, 3, 4)), (normal(5, 2, 3), normal(3)), (normal(3), normal(5, 3, 4)),
    (normal(5, 1, 2, 3), normal(6, 3, 4)), (normal(2, 0), normal(0, 3)),
]:  # fmt: skip
    sample(ops.matmul, "MatmulBackward", x, y)

sample(ops.mm, "MmBackward", normal(2, 3), normal(3, 4))
sample(ops.mm, "MmBackward", normal(2, 0), normal(0, 4))
sample(ops.bmm, "BmmBackward", normal(5, 2, 3), normal(5, 3, 4))
sample(ops.mv, "MvBackward", normal(2, 3), normal(3, seed=1))
sample(ops.dot, "DotBackward", normal(3), normal(3, seed=1))
sample(ops.addmm, "AddmmBackward", normal(4), normal(2, 3), normal(3, 4))
sample(ops.addmm, "AddmmBackward", normal(2, 4), normal(2, 3), normal(3, 4), beta=0.5, alpha=2)
sample(ops.addmm, "AddmmBackward", normal(), normal(2, 3), normal(3, 4), beta=2)
sample(ops.addmv, "AddmvBackward", normal(2), normal(2, 3), normal(3, seed=1), alpha=3)
sample(ops.addmv, "AddmvBackward", normal(), normal(2, 3), normal(3, seed=1))
sample(ops.baddbmm, "BaddbmmBackward", normal(5, 2, 4), normal(5, 2, 3), normal(5, 3, 4), beta=0.5)
sample(ops.baddbmm, "BaddbmmBackward", normal(4), normal(5, 2, 3), normal(5, 3, 4), alpha=2)
sample(ops.trace, "TraceBackward", normal(3, 2))
for equation, args in [
    ("ij,jk->ik", (normal(2, 3), normal(3, 4))), ("ij->ji", (normal(2, 3),)), ("ii->i", (normal(3, 3),)),
    ("ii->", (normal(3, 3),)), ("ijj->j", (normal(2, 3, 3),)), ("ij->", (normal(2, 3),)),
    ("i,j->ij", (normal(2), normal(3))), ("i,i->", (normal(3), normal(1))), ("ij,ij->i", (normal(2, 3), normal(1, 3))),
    ("bij,bjk->bik", (normal(2, 2, 3), normal(2, 3, 2))), ("i,ij,j->", (normal(2), normal(2, 3), normal(3))),
    (",i->i", (normal(), normal(3))), ("ij,k->j", (normal(2, 3), normal(2))),
]:  # fmt: skip
    sample(ops.einsum, "EinsumBackward", *args, equation=equation)

# functions of matrices: of a plain one, a stack, symmetric ones
square, stack = normal(3, 3) + 2 * np.eye(3), normal(2, 2, 2) + 2 * np.eye(2)
for op, name in [(ops.inverse, "InverseBackward"), (ops.det, "DetBackward"), (ops.logabsdet, "LogabsdetBackward")]:
    sample(op, name, square)
    sample(op, name, stack)
sample(ops.det, "DetBackward", np.array([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [0.3, -1.0, 1.5]]))  # singular
for y in (normal(3, 2), normal(3, 1, seed=1), normal(2, 3, 2)):
    sample(ops.solve, "SolveBackward", square, y)
for op, name in [(ops.cholesky, "CholeskyBackward"), (ops.eigenvalues, "EigenvaluesBackward"), (ops.eigenvectors, "EigenvectorsBackward")]:
    sample(op, name, square @ square.T)
    sample(op, name, stack @ np.swapaxes(stack, 1, 2) + np.eye(2))
for x in (normal(3, 2), normal(2, 3), normal(2, 3, 3)):
    for op, name in [(ops.singular_values, "SingularValuesBackward"), (ops.left_vectors, "LeftVectorsBackward"), (ops.right_vectors, "RightVectorsBackward")]:
        sample(op, name, x)
    sample(ops.pinv, "PinvBackward", x, rcond=1e-15)
for x in (normal(3, 2), normal(2, 3, 3)):
    sample(ops.q_factor, "QFactorBackward", x)
    sample(ops.r_factor, "RFactorBackward", x)

# arrangement
sample(ops.reshape, "ReshapeBackward", normal(2, 3, 4), shape=(4, -1))
sample(ops.reshape, "ReshapeBackward", normal(1), shape=())
sample(ops.permute, "PermuteBackward", normal(2, 3, 4), axes=(2, 0, 1))
sample(ops.transpose, "TransposeBackward", normal(2, 3, 4), axis0=0, axis1=2)
sample(ops.expand, "ExpandBackward", normal(2, 1), shape=(3, 2, 4))
sample(ops.expand, "ExpandBackward", normal(), shape=(2, 2))
sample(ops.unsqueeze, "UnsqueezeBackward", normal(2, 3), axis=1)
sample(ops.squeeze, "SqueezeBackward", normal(2, 1, 3), axis=(1,))
sample(ops.cat, "CatBackward", normal(2, 3), normal(2, 1, seed=1), normal(2, 2, seed=2), axis=1)
sample(ops.cat, "CatBackward", normal(2, 3), normal(0, 3, seed=1), axis=0)
sample(ops.stack, "StackBackward", normal(2, 3), normal(2, 3, seed=1), axis=1)

sample(ops.view, "ViewBackward", normal(2, 3, 4), shape=(4, -1))
sample(ops.view, "ViewBackward", normal(), shape=(1, 1))
sample(ops.t, "TBackward", normal(2, 3))
for x, settings in [
    (normal(3, 4), {}), (normal(3, 4), {"offset": 2}), (normal(4, 3), {"offset": -1}),
    (normal(2, 3, 2), {"axis0": 2, "axis1": 0}), (normal(2, 2), {"offset": 5}),
]:  # fmt: skip
    sample(ops.diagonal, "DiagonalBackward", x, **settings)
sample(ops.put_diagonal, "PutDiagonalBackward", normal(2), shape=(3, 3), offset=-1)
sample(ops.put_diagonal, "PutDiagonalBackward", normal(3, 2), shape=(2, 3, 2), axis0=0, axis1=2)
sample(ops.unfold, "UnfoldBackward", normal(2, 7), axis=1, size=3, step=2)
sample(ops.unfold, "UnfoldBackward", normal(5, 2), axis=0, size=2, step=1)
sample(ops.fold, "FoldBackward", normal(2, 3, 3), shape=(2, 8), axis=1, size=3, step=2)
sample(ops.flip, "FlipBackward", normal(2, 3), axes=(1,))
sample(ops.flip, "FlipBackward", normal(2, 3), axes=(0, 1))
sample(ops.roll, "RollBackward", normal(2, 3), shift=4)
sample(ops.roll, "RollBackward", normal(2, 3), shift=(1, -1), axis=(1, 0))
sample(ops.tile, "TileBackward", normal(2, 3), repeats=(2, 1, 3))
sample(ops.tile, "TileBackward", normal(), repeats=(2,))
sample(ops.tile, "TileBackward", normal(2), repeats=(0,))
for op, name in [(ops.tril, "TrilBackward"), (ops.triu, "TriuBackward")]:
    sample(op, name, normal(3, 4))
    sample(op, name, normal(2, 3, 3), diagonal=1)
    sample(op, name, normal(3, 2), diagonal=-1)

# indexing: parts, single entries, new axes, masks, lists with repeats
for index in [
    (0,), (-1, 1), (slice(None), slice(0, 2)), (..., None, 1), (slice(None, None, 2),),
    (np.array([0, 2, 2]),), (np.array([0, 2]), np.array([1, 1])), (slice(None), np.array([[0, 3], [3, 3]])),
    (np.array([True, False, True]),), (np.array([], np.int64),),
]:  # fmt: skip
    sample(ops.getitem, "GetitemBackward", normal(3, 4), index=index)
for size, stride, offset in [((3, 2), (1, 2), 1), ((2, 3), (2, 1), 0), ((4,), (0,), 2), ((), (), 3), ((0, 2), (1, 1), 0)]:
    sample(ops.as_strided, "AsStridedBackward", normal(7), size=size, stride=stride, offset=offset)
sample(ops.put_zeros, "PutZerosBackward", normal(3, 2), index=(np.array([0, 2, 0]),), shape=(4, 2))
sample(ops.put_zeros, "PutZerosBackward", normal(2), index=(1, slice(0, 2)), shape=(3, 4))
sample(ops.index_put, "IndexPutBackward", normal(3, 4), normal(2, 4, seed=1), index=(np.array([0, 2]),))
sample(ops.index_put, "IndexPutBackward", normal(3, 4), normal(seed=1), index=(np.array([True, False, True]),))
sample(ops.index_put, "IndexPutBackward", normal(3, 4), normal(3, 4), index=(np.array([0, 2, 0]),), accumulate=True)
sample(ops.keep, "KeepBackward", normal(3), np.array([True, False, True]))
sample(ops.keep, "KeepBackward", normal(2, 300), normal(2, 300, seed=1) > 0)
sample(ops.where, "WhereBackward", np.array([[True], [False]]), normal(2, 3), normal(3, seed=1))
sample(ops.where, "WhereBackward", np.array([True, False, True]), normal(), normal(3, seed=1))
sample(ops.put_zeros, "PutZerosBackward", normal(3, 2), index=(np.array([True, False, True, True]),), shape=(4, 2))
sample(ops.put_zeros, "PutZerosBackward", normal(2, 2, 2), index=(np.array([[0, -1], [0, 2]]),), shape=(4, 2))
for index, axis in [
    (np.array([[0, 1], [2, 2]]), 0), (np.array([[3, 0, 0], [1, 1, 1], [2, 3, 0]]), 1), (np.zeros((0, 2), np.int64), 0),
]:  # fmt: skip
    sample(ops.gather, "GatherBackward", normal(3, 4), index=index, axis=axis)
    sample(ops.scatter_add, "ScatterAddBackward", normal(3, 4), normal(*index.shape, seed=1), index=index, axis=axis)
    sample(ops.scatter_mul, "ScatterMulBackward", normal(3, 4), normal(*index.shape, seed=1), index=index, axis=axis)
zeros_to_scatter = np.array([[0.5, 0.0, 0.0, 0.7], [-1.2, 0.0, 0.4, 0.0]])
sample(ops.scatter_mul, "ScatterMulBackward", zeros, zeros_to_scatter, index=np.array([[0, 1, 2, 2], [0, 1, 1, 1]]), axis=0)
sample(ops.scatter_mul, "ScatterMulBackward", normal(3), normal(seed=1), index=np.array([0, 2, 0]), axis=0)
sample(ops.gather, "GatherBackward", normal(), index=np.zeros((2,), np.int64), axis=0)
sample(ops.scatter, "ScatterBackward", normal(3, 4), normal(2, 2, seed=1), index=np.array([[0, 1], [2, 2]]), axis=0)
sample(ops.scatter, "ScatterBackward", normal(3, 4), normal(seed=1), index=np.array([[3, 0], [1, 2]]), axis=1)
sample(ops.index_select, "IndexSelectBackward", normal(3, 4), index=np.array([2, 0, 2]), axis=0)
sample(ops.index_select, "IndexSelectBackward", normal(3, 4), index=np.array([1, 1]), axis=1)
sample(ops.masked_fill, "MaskedFillBackward", normal(2, 3), normal(seed=1), mask=np.array([True, False, True]))
sample(ops.masked_fill, "MaskedFillBackward", normal(2, 3), normal(seed=1), mask=np.zeros((2, 3), bool))

# neural networks: activations (away from their kinks), softmax, losses
for op, name, settings in [
    (ops.leaky_relu, "LeakyReluBackward", {}), (ops.leaky_relu, "LeakyReluBackward", {"negative_slope": -0.5}),
    (ops.elu, "EluBackward", {}), (ops.elu, "EluBackward", {"alpha": 0.5}),
    (ops.silu, "SiluBackward", {}), (ops.gelu, "GeluBackward", {}),
    (ops.softplus, "SoftplusBackward", {}), (ops.softplus, "SoftplusBackward", {"beta": 3.0, "threshold": 2.0}),
    (ops.logsigmoid, "LogsigmoidBackward", {}), (ops.hardtanh, "HardtanhBackward", {"min_val": -0.95, "max_val": 1.1}),
    (ops.hardsigmoid, "HardsigmoidBackward", {}), (ops.hardswish, "HardswishBackward", {}),
    (ops.threshold, "ThresholdBackward", {"threshold": 0.05, "value": 3.0}),
]:  # fmt: skip
    sample(op, name, normal(3, 2), **settings)
    sample(op, name, 3 * normal(), **settings)
    sample(op, name, normal(0, 2), **settings)
for op, name in [(ops.softmax, "SoftmaxBackward"), (ops.log_softmax, "LogSoftmaxBackward")]:
    sample(op, name, normal(2, 3), axis=1)
    sample(op, name, normal(2, 3, 2), axis=0)
    sample(op, name, normal(), axis=None)
    sample(op, name, normal(0, 3), axis=1)
for x, target, axis in [
    (normal(3, 4), np.array([0, 3, 3]), 1), (normal(4), np.array(2), 0),
    (normal(2, 3, 2), np.array([[0, 1], [2, 2]]), 1),
]:  # fmt: skip
    for op, name in [(ops.cross_entropy, "CrossEntropyBackward"), (ops.nll_loss, "NllLossBackward")]:
        sample(op, name, x, target=target, weights=positive(*target.shape), axis=axis, reduced=True)
        sample(op, name, x, target=target, weights=np.float64(0.5), axis=axis, reduced=False)
sample(ops.mse_loss, "MseLossBackward", normal(2, 3), normal(2, 3, seed=1))
sample(ops.mse_loss, "MseLossBackward", normal(2, 3), normal(3, seed=1), mean=False)
sample(ops.mse_loss, "MseLossBackward", normal(), normal(seed=1))
sample(ops.binary_cross_entropy, "BinaryCrossEntropyBackward", positive(2, 3) / 2.1, positive(2, 3, seed=2) / 2.1)
sample(ops.binary_cross_entropy, "BinaryCrossEntropyBackward", positive(3) / 2.1, positive(2, 1) / 2.1)
sample(ops.standardize, "StandardizeBackward", normal(3, 4), axis=(1,), eps=1e-5)
sample(ops.standardize, "StandardizeBackward", normal(2, 3, 2), axis=(0, 2), eps=0.1)
sample(ops.embedding, "EmbeddingBackward", normal(4, 2), index=np.array([[0, 3, 3], [1, 0, 0]]))
sample(ops.embedding, "EmbeddingBackward", normal(4, 2), index=np.array([0, 3]))
sample(ops.pad, "PadBackward", normal(2, 3), widths=((0, 0), (1, 2)), value=3.0)
sample(ops.pad, "PadBackward", normal(3, 3), widths=((-1, 1), (2, -2)))

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
    sample(ops.convolution, "ConvolutionBackward", x, w, b, **how)
    sample(ops.convolution_dx, "ConvolutionDxBackward", y, w, shape=x.shape, **how)
    sample(ops.convolution_dw, "ConvolutionDwBackward", y, x, shape=w.shape, **how)
for x, settings in [
    (normal(2, 2, 4, 4), {"size": (2, 2), "stride": (2, 2), "padding": (0, 0, 0, 0), "shape": (2, 2)}),
    (normal(1, 5, 4), {"size": (3, 2), "stride": (2, 1), "padding": (1, 1, 0, 1), "shape": (3, 4)}),
]:  # fmt: skip
    sample(ops.max_pool2d, "MaxPool2dBackward", x, dilation=(1, 1), **settings)
    sample(ops.window_sum, "WindowSumBackward", x, **settings)
    z = ops.window_sum.forward(x, **settings)
    sample(ops.window_spread, "WindowSpreadBackward", z, **settings | {"shape": x.shape[-2:]})

# recurrent networks
gates, cell = fraction(3, 8), normal(3, 2)
sample(ops.lstm_gates, "LstmGatesBackward", normal(3, 8))
sample(ops.lstm_gates, "LstmGatesBackward", normal(0, 4))
sample(ops.lstm_cell, "LstmCellBackward", gates, cell)
sample(ops.lstm_cell, "LstmCellBackward", fraction(8), normal(2))
sample(ops.lstm_hidden, "LstmHiddenBackward", gates, cell)
sample(ops.lstm_hidden, "LstmHiddenBackward", fraction(8), normal(2))
sample(ops.cat, "CatBackward", normal(2, 3), normal(2, 1), axis=-1)
sample(ops.stack, "StackBackward", normal(2, 3), normal(2, 3, seed=4), axis=-1)
