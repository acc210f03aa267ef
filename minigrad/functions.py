"""The same operations as functions: minigrad.exp(x) is x.exp().

Each line names a method of tensors; `input` stands for the tensor itself, as in PyTorch.
What takes several tensors on an equal footing (cat, stack, where) stands at the end.
"""

import builtins
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad import modes, ops
from minigrad.dtypes import torch_name
from minigrad.methods import ArrayMethods as M
from minigrad.ops.products import LETTERS
from minigrad.shapes import normalize_one
from minigrad.tensor import Size, Tensor


def function(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method as a function of `input`."""
    name = method.__name__.strip("_")

    @functools.wraps(method)
    def called(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(input, "__apply_op__"):
            other = args[0] if args else kwargs.get("other")
            if not isinstance(other, Tensor) or not isinstance(input, (int, float, bool)):
                raise TypeError(
                    f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}. "
                    "To mend it, make one with minigrad.tensor(...)."
                )
            input = Tensor(input, dtype=other.dtype if isinstance(input, int) else None)
        if kwargs.get("out") is None:
            kwargs.pop("out", None)
            return method(input, *args, **kwargs)
        out = kwargs.pop("out")
        z = method(input, *args, **kwargs)
        if isinstance(z, tuple):
            return type(z)(*[_written(a, b) for a, b in zip(out, z, strict=True)])
        return _written(out, z)

    called.__name__ = called.__qualname__ = name
    return called


def _written(out: Any, z: Any) -> Any:
    """z, written into the tensor that `out=` names."""
    if modes.state.recording and (z.requires_grad or out.requires_grad):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if out.dtype.kind in "iub" and z.dtype.kind not in "iub":
        raise RuntimeError(
            f"result type {torch_name(z.dtype)} can't be cast to the desired output type {torch_name(out.dtype)}"
        )
    if out.shape != z.shape:
        out.data = out.new_empty(z.shape)
    return out.copy_(z)


abs = absolute = function(M.abs)
add = function(M.add)
all = function(M.all)
amax = function(M.amax)
amin = function(M.amin)
any = function(M.any)
argmax = function(M.argmax)
argmin = function(M.argmin)
clone = function(M.clone)
cos = function(M.cos)
div = divide = true_divide = function(M.div)
eq = function(M.eq)
exp = function(M.exp)
flatten = function(M.flatten)
ge = greater_equal = function(M.ge)
gt = greater = function(M.gt)
le = less_equal = function(M.le)
log = function(M.log)
logical_and = function(M.logical_and)
logical_not = function(M.logical_not)
logical_or = function(M.logical_or)
lt = less = function(M.lt)
matmul = function(M.matmul)
max = function(M.max)
maximum = function(M.maximum)
mean = function(M.mean)
min = function(M.min)
minimum = function(M.minimum)
mul = multiply = function(M.mul)
ne = not_equal = function(M.ne)
neg = negative = function(M.neg)
permute = function(M.permute)
positive = function(M.positive)
pow = function(M.pow)
ravel = function(M.ravel)
relu = function(M.relu)
reshape = function(M.reshape)
sigmoid = function(M.sigmoid)
sign = function(M.sign)
sin = function(M.sin)
sqrt = function(M.sqrt)
square = function(M.square)
squeeze = function(M.squeeze)
sub = subtract = function(M.sub)
sum = function(M.sum)
t = function(M.t)
tanh = function(M.tanh)
transpose = function(M.transpose)
swapaxes = swapdims = function(M.swapaxes)
unsqueeze = function(M.unsqueeze)

argwhere = function(M.argwhere)
bincount = function(M.bincount)
bucketize = function(M.bucketize)
histc = function(M.histc)
histogram = function(M.histogram)
is_complex = function(M.is_complex)
is_floating_point = function(M.is_floating_point)
isin = function(M.isin)
nonzero = function(M.nonzero)
numel = function(M.numel)
unique = function(M.unique)

aminmax = function(M.aminmax)
argsort = function(M.argsort)
count_nonzero = function(M.count_nonzero)
cummax = function(M.cummax)
cummin = function(M.cummin)
cumprod = function(M.cumprod)
cumsum = function(M.cumsum)
diff = function(M.diff)
kthvalue = function(M.kthvalue)
logcumsumexp = function(M.logcumsumexp)
logsumexp = function(M.logsumexp)
median = function(M.median)
mode = function(M.mode)
msort = function(M.msort)
nanmean = function(M.nanmean)
nansum = function(M.nansum)
norm = function(M.norm)
prod = function(M.prod)
quantile = function(M.quantile)
sort = function(M.sort)
std = function(M.std)
std_mean = function(M.std_mean)
topk = function(M.topk)
var = function(M.var)
var_mean = function(M.var_mean)

acos = arccos = function(M.acos)
acosh = arccosh = function(M.acosh)
addcdiv = function(M.addcdiv)
addcmul = function(M.addcmul)
allclose = function(M.allclose)
asin = arcsin = function(M.asin)
asinh = arcsinh = function(M.asinh)
atan = arctan = function(M.atan)
atan2 = arctan2 = function(M.atan2)
atanh = arctanh = function(M.atanh)
bitwise_and = function(M.bitwise_and)
bitwise_left_shift = function(M.bitwise_left_shift)
bitwise_not = function(M.bitwise_not)
bitwise_or = function(M.bitwise_or)
bitwise_right_shift = function(M.bitwise_right_shift)
bitwise_xor = function(M.bitwise_xor)
ceil = function(M.ceil)
clamp = clip = function(M.clamp)
clamp_max = function(M.clamp_max)
clamp_min = function(M.clamp_min)
cosh = function(M.cosh)
deg2rad = function(M.deg2rad)
equal = function(M.equal)
erf = function(M.erf)
erfc = function(M.erfc)
exp2 = function(M.exp2)
expm1 = function(M.expm1)
fix = function(M.fix)
float_power = function(M.float_power)
floor = function(M.floor)
floor_divide = function(M.floor_divide)
fmax = function(M.fmax)
fmin = function(M.fmin)
fmod = function(M.fmod)
frac = function(M.frac)
hypot = function(M.hypot)
isclose = function(M.isclose)
isfinite = function(M.isfinite)
isinf = function(M.isinf)
isnan = function(M.isnan)
lerp = function(M.lerp)
log10 = function(M.log10)
log1p = function(M.log1p)
log2 = function(M.log2)
logaddexp = function(M.logaddexp)
logical_xor = function(M.logical_xor)
logit = function(M.logit)
nan_to_num = function(M.nan_to_num)
rad2deg = function(M.rad2deg)
reciprocal = function(M.reciprocal)
remainder = function(M.remainder)
round = function(M.round)
rsqrt = function(M.rsqrt)
rsub = function(M.rsub)
sgn = function(M.sgn)
signbit = function(M.signbit)
sinh = function(M.sinh)
tan = function(M.tan)
trunc = function(M.trunc)
xlogy = function(M.xlogy)

addbmm = function(M.addbmm)
addmm = function(M.addmm)
addmv = function(M.addmv)
addr = function(M.addr)
baddbmm = function(M.baddbmm)
bmm = function(M.bmm)
dot = function(M.dot)
gather = function(M.gather)
index_add = function(M.index_add)
index_copy = function(M.index_copy)
index_fill = function(M.index_fill)
index_put = function(M.index_put)
index_put_ = function(M.index_put_)
index_select = function(M.index_select)
inner = function(M.inner)
masked_fill = function(M.masked_fill)
masked_scatter = function(M.masked_scatter)
masked_select = function(M.masked_select)
mm = function(M.mm)
mv = function(M.mv)
outer = ger = function(M.outer)
scatter = function(M.scatter)
scatter_add = function(M.scatter_add)
select_scatter = function(M.select_scatter)
slice_scatter = function(M.slice_scatter)
take = function(M.take)
take_along_dim = function(M.take_along_dim)
tensordot = function(M.tensordot)
trace = function(M.trace)

broadcast_to = function(M.broadcast_to)
chunk = function(M.chunk)
diag = function(M.diag)
diag_embed = function(M.diag_embed)
diagonal = function(M.diagonal)
diagonal_scatter = function(M.diagonal_scatter)
flip = function(M.flip)
fliplr = function(M.fliplr)
flipud = function(M.flipud)
moveaxis = movedim = function(M.movedim)
narrow = function(M.narrow)
repeat_interleave = function(M.repeat_interleave)
roll = function(M.roll)
rot90 = function(M.rot90)
select = function(M.select)
split = function(M.split)
split_with_sizes = function(M.split_with_sizes)
tensor_split = function(M.tensor_split)
tile = function(M.tile)
tril = function(M.tril)
triu = function(M.triu)
unbind = function(M.unbind)
unflatten = function(M.unflatten)

log_softmax = function(M.log_softmax)
softmax = function(M.softmax)

adjoint = function(M.adjoint)
cholesky = function(M.cholesky)
copysign = function(M.copysign)
corrcoef = function(M.corrcoef)
cov = function(M.cov)
cross = function(M.cross)
det = function(M.det)
diagflat = function(M.diagflat)
dist = function(M.dist)
dsplit = function(M.dsplit)
heaviside = function(M.heaviside)
hsplit = function(M.hsplit)
inverse = function(M.inverse)
is_nonzero = function(M.is_nonzero)
is_same_size = function(M.is_same_size)
is_signed = function(M.is_signed)
isneginf = function(M.isneginf)
isposinf = function(M.isposinf)
isreal = function(M.isreal)
kron = function(M.kron)
logdet = function(M.logdet)
matrix_power = function(M.matrix_power)
nanmedian = function(M.nanmedian)
nanquantile = function(M.nanquantile)
put = function(M.put)
scatter_reduce = function(M.scatter_reduce)
sinc = function(M.sinc)
slogdet = function(M.slogdet)
unique_consecutive = function(M.unique_consecutive)
vdot = function(M.vdot)
vsplit = function(M.vsplit)

abs_ = function(M.abs_)
acos_ = function(M.acos_)
acosh_ = function(M.acosh_)
asin_ = function(M.asin_)
asinh_ = function(M.asinh_)
atan_ = function(M.atan_)
atanh_ = function(M.atanh_)
ceil_ = function(M.ceil_)
clamp_ = function(M.clamp_)
clamp_max_ = function(M.clamp_max_)
clamp_min_ = function(M.clamp_min_)
clip_ = function(M.clip_)
cos_ = function(M.cos_)
cosh_ = function(M.cosh_)
erf_ = function(M.erf_)
erfc_ = function(M.erfc_)
exp2_ = function(M.exp2_)
exp_ = function(M.exp_)
expm1_ = function(M.expm1_)
fill_ = function(M.fill_)
floor_ = function(M.floor_)
log10_ = function(M.log10_)
log1p_ = function(M.log1p_)
log2_ = function(M.log2_)
log_ = function(M.log_)
neg_ = function(M.neg_)
reciprocal_ = function(M.reciprocal_)
relu_ = function(M.relu_)
round_ = function(M.round_)
rsqrt_ = function(M.rsqrt_)
sigmoid_ = function(M.sigmoid_)
sin_ = function(M.sin_)
sinh_ = function(M.sinh_)
sqrt_ = function(M.sqrt_)
square_ = function(M.square_)
tan_ = function(M.tan_)
tanh_ = function(M.tanh_)
trunc_ = function(M.trunc_)
xlogy_ = function(M.xlogy_)
zero_ = function(M.zero_)


def _sequence(name: str, tensors: Sequence[Tensor]) -> tuple[Any, ...]:
    xs = tuple(tensors)
    if not xs:
        raise RuntimeError(f"{name} expects a non-empty list of Tensors")
    return xs


def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Tensor:
    """The tensors one after another along an axis that they already have.

    >>> import minigrad
    >>> cat([minigrad.ones(1, 2), minigrad.zeros(1, 2)])
    tensor([[1., 1.],
            [0., 0.]])
    """
    xs = _sequence("torch.cat()", tensors)
    z: Tensor = ops.cat(*xs, axis=normalize_one(dim if axis is None else axis, xs[0].ndim))
    return z


concat = concatenate = cat


def stack(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Tensor:
    """The tensors, of one shape, side by side along a new axis.

    >>> import minigrad
    >>> stack([minigrad.ones(2), minigrad.zeros(2)], dim=1)
    tensor([[1., 0.],
            [1., 0.]])
    """
    xs = _sequence("stack", tensors)
    z: Tensor = ops.stack(*xs, axis=normalize_one(dim if axis is None else axis, xs[0].ndim + 1))
    return z


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors one after another along the second axis (vectors: along their only one)."""
    xs = [x if x.ndim else x.reshape(1) for x in _sequence("hstack", tensors)]
    return cat(xs, 0 if xs[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors one above another; a vector is a row."""
    return cat([x if x.ndim > 1 else x.reshape(1, -1) for x in _sequence("vstack", tensors)], 0)


row_stack = vstack


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors one behind another, along the third axis."""
    xs = [x if x.ndim > 1 else x.reshape(1, -1) for x in _sequence("dstack", tensors)]
    return cat([x if x.ndim > 2 else x.unsqueeze(2) for x in xs], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors side by side; a vector is a column."""
    return hstack([x if x.ndim > 1 else x.reshape(-1, 1) for x in _sequence("column_stack", tensors)])


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds, other elsewhere; all three are broadcast.

    Of a condition alone: where it holds, as one tensor of indices for each axis.

    >>> import minigrad
    >>> x = minigrad.tensor([-1.0, 2.0])
    >>> where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if input is None and other is None:
        return tuple(Tensor(i) for i in np.nonzero(np.atleast_1d(condition.array)))
    z: Tensor = ops.where(condition, input, other)
    return z


def einsum(equation: Any, *operands: Any) -> Tensor:
    """The sum of products that the equation describes, one letter for each axis.

    >>> import minigrad
    >>> x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> einsum("ij,kj->ik", x, x)
    tensor([[ 5., 11.],
            [11., 25.]])
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):  # einsum(x, [0, 1], y, [1, 2], [0, 2])
        parts = (equation, *operands)
        spelled = ["".join("..." if i is ... else LETTERS[i] for i in axes) for axes in parts[1::2]]
        result = "" if len(parts) % 2 == 0 else "->" + "".join("..." if i is ... else LETTERS[i] for i in parts[-1])
        equation, operands = ",".join(spelled) + result, parts[: 2 * len(spelled) : 2]
    z: Tensor = ops.einsum(*operands, equation=ops.explicit(equation, tuple(x.ndim for x in operands)))
    return z




def is_tensor(obj: Any) -> bool:
    """Is this a tensor?"""
    return isinstance(obj, Tensor)


def searchsorted(sorted_sequence: Tensor, input: Any, *, right: bool = False) -> Tensor:
    """Where each entry of input would have to stand to keep a sorted vector sorted."""
    z: Tensor = (input if isinstance(input, Tensor) else Tensor(input)).bucketize(sorted_sequence, right=right)
    return z


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """The coordinates of the points of a grid: for each vector, its entries repeated along all others.

    >>> import minigrad
    >>> rows, columns = meshgrid(minigrad.arange(2), minigrad.arange(2), indexing="ij")
    >>> columns
    tensor([[0, 1],
            [0, 1]])
    """
    xs = [x.reshape(-1) for x in (tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors)]
    if indexing not in ("ij", "xy"):
        raise RuntimeError('torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + str(indexing))
    if indexing == "xy" and len(xs) > 1:
        second, first, *rest = meshgrid(xs[1], xs[0], *xs[2:])
        return (first, second, *rest)
    shape = tuple([x.numel() for x in xs])
    return tuple([x.reshape([-1 if i == k else 1 for i in range(len(xs))]).expand(shape) for k, x in enumerate(xs)])


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All choices of one entry from each vector, one choice a row."""
    if len(tensors) == 1:
        return tensors[0]
    return stack([z.reshape(-1) for z in meshgrid(*tensors)], 1)


def atleast_1d(*tensors: Any) -> Any:
    """The tensors, a number as a vector of one entry."""
    return _each(lambda x: x.reshape(1) if x.ndim == 0 else x, tensors)


def atleast_2d(*tensors: Any) -> Any:
    """The tensors with at least two axes; a vector is a row."""
    return _each(lambda x: x if x.ndim > 1 else x.reshape(1, -1), tensors)


def atleast_3d(*tensors: Any) -> Any:
    """The tensors with at least three axes; a matrix gets a last one."""
    return _each(lambda x: x if x.ndim > 2 else x.unsqueeze(-1) if x.ndim == 2 else x.reshape(1, -1, 1), tensors)


def _each(f: Callable[[Any], Any], tensors: tuple[Any, ...]) -> Any:
    if len(tensors) == 1:
        return f(tensors[0]) if isinstance(tensors[0], Tensor) else tuple([f(x) for x in tensors[0]])
    return tuple([f(x) for x in tensors])


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, each expanded to the shape that they have together."""
    shape = np.broadcast_shapes(*(tuple(x.shape) for x in tensors))
    return tuple([x.expand(shape) for x in tensors])


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes have together."""
    try:
        return Size(np.broadcast_shapes(*(s if isinstance(s, int) else tuple(s) for s in shapes)))
    except ValueError as error:
        raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {error}") from None


def block_diag(*tensors: Tensor) -> Tensor:
    """The matrices along the diagonal of a larger one, with zeros around them.

    >>> import minigrad
    >>> block_diag(minigrad.ones(1, 2), minigrad.tensor([[5.0]]))
    tensor([[1., 1., 0.],
            [0., 0., 5.]])
    """
    blocks = [atleast_2d(x) for x in tensors]
    width, left, rows = builtins.sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(ops.pad.apply(x, widths=((0, 0), (left, width - left - x.shape[1]))))
        left += x.shape[1]
    return cat(rows, 0)


def cdist(x1: Tensor, x2: Tensor, p: Any = 2.0, compute_mode: Any = None) -> Tensor:
    """The p-norm of the difference of each row of x1 and each row of x2.

    x1       (..., n, d)
    x2       (..., m, d)
    returns  (..., n, m)
    """
    if x1.ndim < 2 or x2.ndim < 2:
        raise RuntimeError("cdist only supports at least 2D tensors")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    z: Tensor = (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)
    return z


def combinations(input: Tensor, r: Any = 2, with_replacement: Any = False) -> Tensor:
    """All choices of r entries of a vector, each a row, in the vector's order."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    index = np.array(list(choose(range(len(input)), r)), np.int64).reshape(-1, r)
    z: Tensor = input[index]
    return z


def vander(x: Tensor, N: Any = None, increasing: Any = False) -> Tensor:
    """Powers: the columns are x**(N - 1), ..., x, 1; or the other way round, if increasing."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = len(x) if N is None else N
    powers = [x.new_ones(x.shape)]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    return stack(powers if increasing else powers[::-1], 1)


def trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: Any = -1) -> Tensor:
    """The integral of y along dim, by trapezoids; x are the places, or dx the distance between them."""
    z: Tensor = _trapezoids(y, x, dx, dim).sum(dim)
    return z


trapz = trapezoid


def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: Any = -1) -> Tensor:
    """As trapezoid, up to each place but the first."""
    z: Tensor = _trapezoids(y, x, dx, dim).cumsum(dim)
    return z


def _trapezoids(y: Tensor, x: Any, dx: Any, dim: Any) -> Any:
    n = y.size(dim)
    heights = (y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)) / 2
    if x is None:
        return heights * (1 if dx is None else dx)
    if x.ndim == 1:
        x = x.reshape([-1 if i == normalize_one(dim, y.ndim) else 1 for i in range(y.ndim)])
    return heights * x.diff(1, dim)


def detach(input: Tensor) -> Tensor:
    """The same values, without a history."""
    return input.detach()


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The type of number that tensor1 + tensor2 has."""
    none = [x.detach().reshape(-1)[:0] if isinstance(x, Tensor) and x.ndim else x for x in (tensor1, tensor2)]
    return ops.add(*none).dtype
