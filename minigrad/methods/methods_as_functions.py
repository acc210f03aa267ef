"""Methods as functions: minigrad.exp(x) is x.exp().

A table, by the chapters of methods/. Each line names a method of tensors; `input` stands for
the tensor itself, as in PyTorch, and `out=` for a tensor to be written to. Functions that
are no methods, of several tensors, are in functions.py.
"""

# ruff: noqa: A001  # abs, all, max: the names that PyTorch has

import functools
from collections.abc import Callable
from typing import Any

from minigrad.core import modes
from minigrad.core.data import as_array
from minigrad.core.dtypes import torch_name
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods import ArrayMethods as M


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
                    "To fix it, make one with minigrad.tensor(...)."
                )
            input = wrap(as_array(input, other.dtype if isinstance(input, int) else None))
        if kwargs.get("out") is None:
            kwargs.pop("out", None)
            return method(input, *args, **kwargs)
        out = kwargs.pop("out")
        z = method(input, *args, **kwargs)
        if isinstance(z, tuple):
            if not isinstance(out, (tuple, list)) or len(out) != len(z):
                raise TypeError(f"{name}(): argument 'out' must be tuple of {len(z)} Tensors.")
            return type(z)(*[written(a, b) for a, b in zip(out, z, strict=True)])
        return written(out, z)

    called.__name__ = called.__qualname__ = name
    return called


def made_into_out(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that makes a tensor (zeros, rand), with PyTorch's `out=`: the tensor to be filled."""

    @functools.wraps(make)
    def called(*args: Any, out: Any = None, **settings: Any) -> Tensor:
        if out is None:
            return make(*args, **settings)
        if settings.setdefault("dtype", out.dtype) is not None and settings["dtype"] != out.dtype:
            raise RuntimeError(
                f"dtype {settings['dtype']} does not match dtype of out parameter ({out.dtype})."
            )
        z: Tensor = written(out, make(*args, **settings))
        return z

    return called


def written(out: Any, z: Any) -> Any:
    """z, written into the tensor that `out=` names."""
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}.")
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


# ------------------------------------------------------------------------ operators

add = function(M.add)
addcdiv = function(M.addcdiv)
addcmul = function(M.addcmul)
allclose = function(M.allclose)
atan2 = arctan2 = function(M.atan2)
bitwise_and = function(M.bitwise_and)
bitwise_left_shift = function(M.bitwise_left_shift)
bitwise_not = function(M.bitwise_not)
bitwise_or = function(M.bitwise_or)
bitwise_right_shift = function(M.bitwise_right_shift)
bitwise_xor = function(M.bitwise_xor)
div = divide = true_divide = function(M.div)
eq = function(M.eq)
equal = function(M.equal)
float_power = function(M.float_power)
floor_divide = function(M.floor_divide)
fmax = function(M.fmax)
fmin = function(M.fmin)
fmod = function(M.fmod)
ge = greater_equal = function(M.ge)
gt = greater = function(M.gt)
heaviside = function(M.heaviside)
hypot = function(M.hypot)
is_nonzero = function(M.is_nonzero)
is_same_size = function(M.is_same_size)
isclose = function(M.isclose)
isfinite = function(M.isfinite)
isinf = function(M.isinf)
isnan = function(M.isnan)
isneginf = function(M.isneginf)
isposinf = function(M.isposinf)
isreal = function(M.isreal)
le = less_equal = function(M.le)
lerp = function(M.lerp)
logaddexp = function(M.logaddexp)
logical_and = function(M.logical_and)
logical_not = function(M.logical_not)
logical_or = function(M.logical_or)
logical_xor = function(M.logical_xor)
lt = less = function(M.lt)
matmul = function(M.matmul)
maximum = function(M.maximum)
minimum = function(M.minimum)
mul = multiply = function(M.mul)
ne = not_equal = function(M.ne)
pow = function(M.pow)
remainder = function(M.remainder)
rsub = function(M.rsub)
signbit = function(M.signbit)
sub = subtract = function(M.sub)
xlogy = function(M.xlogy)

# ------------------------------------------------------------------------ functions of an entry

abs = absolute = function(M.abs)
acos = arccos = function(M.acos)
acosh = arccosh = function(M.acosh)
asin = arcsin = function(M.asin)
asinh = arcsinh = function(M.asinh)
atan = arctan = function(M.atan)
atanh = arctanh = function(M.atanh)
ceil = function(M.ceil)
clamp = clip = function(M.clamp)
clamp_max = function(M.clamp_max)
clamp_min = function(M.clamp_min)
copysign = function(M.copysign)
cos = function(M.cos)
cosh = function(M.cosh)
deg2rad = function(M.deg2rad)
digamma = function(M.digamma)
erf = function(M.erf)
erfc = function(M.erfc)
erfinv = function(M.erfinv)
exp = function(M.exp)
exp2 = function(M.exp2)
expm1 = function(M.expm1)
fix = function(M.fix)
floor = function(M.floor)
frac = function(M.frac)
frexp = function(M.frexp)
gcd = function(M.gcd)
hardshrink = function(M.hardshrink)
lcm = function(M.lcm)
ldexp = function(M.ldexp)
lgamma = function(M.lgamma)
log = function(M.log)
log10 = function(M.log10)
log1p = function(M.log1p)
log2 = function(M.log2)
logaddexp2 = function(M.logaddexp2)
logit = function(M.logit)
mvlgamma = function(M.mvlgamma)
nan_to_num = function(M.nan_to_num)
neg = negative = function(M.neg)
positive = function(M.positive)
rad2deg = function(M.rad2deg)
reciprocal = function(M.reciprocal)
relu = function(M.relu)
round = function(M.round)
rsqrt = function(M.rsqrt)
sgn = function(M.sgn)
sigmoid = function(M.sigmoid)
sign = function(M.sign)
sin = function(M.sin)
sinc = function(M.sinc)
sinh = function(M.sinh)
sqrt = function(M.sqrt)
square = function(M.square)
tan = function(M.tan)
tanh = function(M.tanh)
trunc = function(M.trunc)

# ------------------------------------------------------------------------ shapes, and the order of entries

adjoint = function(M.adjoint)
as_strided = function(M.as_strided)
broadcast_to = function(M.broadcast_to)
diag = function(M.diag)
diag_embed = function(M.diag_embed)
diagflat = function(M.diagflat)
diagonal = function(M.diagonal)
dsplit = function(M.dsplit)
flatten = function(M.flatten)
flip = function(M.flip)
fliplr = function(M.fliplr)
flipud = function(M.flipud)
hsplit = function(M.hsplit)
moveaxis = movedim = function(M.movedim)
permute = function(M.permute)
ravel = function(M.ravel)
repeat_interleave = function(M.repeat_interleave)
reshape = function(M.reshape)
roll = function(M.roll)
rot90 = function(M.rot90)
squeeze = function(M.squeeze)
swapaxes = swapdims = function(M.swapaxes)
t = function(M.t)
tile = function(M.tile)
transpose = function(M.transpose)
tril = function(M.tril)
triu = function(M.triu)
unflatten = function(M.unflatten)
unsqueeze = function(M.unsqueeze)
vsplit = function(M.vsplit)

# ------------------------------------------------------------------------ entries by their place

chunk = function(M.chunk)
diagonal_scatter = function(M.diagonal_scatter)
gather = function(M.gather)
index_add = function(M.index_add)
index_copy = function(M.index_copy)
index_fill = function(M.index_fill)
index_put = function(M.index_put)
index_select = function(M.index_select)
masked_fill = function(M.masked_fill)
masked_scatter = function(M.masked_scatter)
masked_select = function(M.masked_select)
narrow = function(M.narrow)
put = function(M.put)
scatter = function(M.scatter)
scatter_add = function(M.scatter_add)
scatter_reduce = function(M.scatter_reduce)
select = function(M.select)
select_scatter = function(M.select_scatter)
slice_scatter = function(M.slice_scatter)
split_with_sizes = function(M.split_with_sizes)
take = function(M.take)
take_along_dim = function(M.take_along_dim)
tensor_split = function(M.tensor_split)
unbind = function(M.unbind)

# ------------------------------------------------------------------------ what becomes of an axis

all = function(M.all)
amax = function(M.amax)
amin = function(M.amin)
aminmax = function(M.aminmax)
any = function(M.any)
argmax = function(M.argmax)
argmin = function(M.argmin)
argsort = function(M.argsort)
argwhere = function(M.argwhere)
bincount = function(M.bincount)
bucketize = function(M.bucketize)
corrcoef = function(M.corrcoef)
count_nonzero = function(M.count_nonzero)
cov = function(M.cov)
cummax = function(M.cummax)
cummin = function(M.cummin)
cumprod = function(M.cumprod)
cumsum = function(M.cumsum)
diff = function(M.diff)
dist = function(M.dist)
histc = function(M.histc)
histogram = function(M.histogram)
isin = function(M.isin)
kthvalue = function(M.kthvalue)
log_softmax = function(M.log_softmax)
logcumsumexp = function(M.logcumsumexp)
logsumexp = function(M.logsumexp)
max = function(M.max)
mean = function(M.mean)
median = function(M.median)
min = function(M.min)
mode = function(M.mode)
msort = function(M.msort)
nanmean = function(M.nanmean)
nanmedian = function(M.nanmedian)
nanquantile = function(M.nanquantile)
nansum = function(M.nansum)
nonzero = function(M.nonzero)
norm = function(M.norm)
prod = function(M.prod)
quantile = function(M.quantile)
renorm = function(M.renorm)
softmax = function(M.softmax)
sort = function(M.sort)
std = function(M.std)
std_mean = function(M.std_mean)
sum = function(M.sum)
topk = function(M.topk)
unique = function(M.unique)
unique_consecutive = function(M.unique_consecutive)
var = function(M.var)
var_mean = function(M.var_mean)

# ------------------------------------------------------------------------ products, and matrices

addbmm = function(M.addbmm)
addmm = function(M.addmm)
addmv = function(M.addmv)
addr = function(M.addr)
baddbmm = function(M.baddbmm)
bmm = function(M.bmm)
cholesky = function(M.cholesky)
cross = function(M.cross)
det = function(M.det)
dot = function(M.dot)
inner = function(M.inner)
inverse = function(M.inverse)
kron = function(M.kron)
logdet = function(M.logdet)
matrix_exp = function(M.matrix_exp)
matrix_power = function(M.matrix_power)
mm = function(M.mm)
mv = function(M.mv)
outer = ger = function(M.outer)
pinverse = function(M.pinverse)
slogdet = function(M.slogdet)
svd = function(M.svd)
tensordot = function(M.tensordot)
trace = function(M.trace)
vdot = function(M.vdot)

# ------------------------------------------------------------------------ questions about a tensor

clone = function(M.clone)
conj = function(M.conj)
is_complex = function(M.is_complex)
is_floating_point = function(M.is_floating_point)
is_signed = function(M.is_signed)
numel = function(M.numel)


@function
def real(self: Any) -> Any:
    """The real part: the tensor itself, of real numbers."""
    return self.real


# ------------------------------------------------------------------------ in place

abs_ = function(M.abs_)
acos_ = function(M.acos_)
acosh_ = function(M.acosh_)
arccos_ = function(M.arccos_)
arcsin_ = function(M.arcsin_)
arctan_ = function(M.arctan_)
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
deg2rad_ = function(M.deg2rad_)
erf_ = function(M.erf_)
erfc_ = function(M.erfc_)
exp2_ = function(M.exp2_)
exp_ = function(M.exp_)
expm1_ = function(M.expm1_)
fill_ = function(M.fill_)
fix_ = function(M.fix_)
floor_ = function(M.floor_)
frac_ = function(M.frac_)
gcd_ = function(M.gcd_)
index_put_ = function(M.index_put_)
lcm_ = function(M.lcm_)
ldexp_ = function(M.ldexp_)
log10_ = function(M.log10_)
log1p_ = function(M.log1p_)
log2_ = function(M.log2_)
log_ = function(M.log_)
logit_ = function(M.logit_)
nan_to_num_ = function(M.nan_to_num_)
neg_ = function(M.neg_)
negative_ = function(M.negative_)
rad2deg_ = function(M.rad2deg_)
reciprocal_ = function(M.reciprocal_)
relu_ = function(M.relu_)
round_ = function(M.round_)
rsqrt_ = function(M.rsqrt_)
sigmoid_ = function(M.sigmoid_)
sin_ = function(M.sin_)
sinc_ = function(M.sinc_)
sinh_ = function(M.sinh_)
sqrt_ = function(M.sqrt_)
square_ = function(M.square_)
tan_ = function(M.tan_)
tanh_ = function(M.tanh_)
trunc_ = function(M.trunc_)
xlogy_ = function(M.xlogy_)
zero_ = function(M.zero_)


# ------------------------------------------------------------------------ in another order


def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma, which is the derivative of lgamma."""
    z: Tensor = input.polygamma(n)
    return z


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like the input, with this value everywhere."""
    return input.clone().fill_(value)


def detach(input: Tensor) -> Tensor:
    """The same values, without a history."""
    return input.detach()
