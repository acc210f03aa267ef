"""Methods as functions: minigrad.exp(x) is x.exp().

NAMES lists the methods, by the chapters of methods/; `input` stands for the tensor itself, as in PyTorch, and
`out=` for a tensor to be written to. Functions that are no methods, of several tensors, are in functions.py.
Editors and mypy read methods_as_functions.pyi, which `python -m tests.stubs` writes.
"""

import functools
from collections.abc import Callable
from typing import Any

from minigrad.core import modes
from minigrad.core.data import as_array
from minigrad.core.dtypes import torch_name
from minigrad.core.op import REGISTRY
from minigrad.core.tensor import Tensor, wrap
from minigrad.methods import ArrayMethods as M
from minigrad.methods.rows import has_methods


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


# The functions of an entry that are rows of the table need not be listed: see rows.py.
NAMES = {
    "operators": """
        addcdiv addcmul allclose arctan2 divide equal float_power greater greater_equal heaviside is_nonzero
        is_same_size isclose isneginf isposinf isreal lerp less less_equal matmul multiply not_equal rsub
        subtract true_divide
    """,
    "functions of an entry": """
        absolute arccos arccosh arcsin arcsinh arctan arctanh clamp clip copysign deg2rad fix frac frexp gcd
        hardshrink lcm ldexp logit mvlgamma nan_to_num negative rad2deg round sgn sinc
    """,
    "shapes, and the order of entries": """
        adjoint as_strided broadcast_to diag diag_embed diagflat diagonal dsplit flatten flip fliplr flipud
        hsplit moveaxis movedim permute ravel repeat_interleave reshape roll rot90 squeeze swapaxes swapdims t
        tile transpose tril triu unflatten unsqueeze vsplit
    """,
    "entries by their place": """
        chunk diagonal_scatter gather index_add index_copy index_fill index_put index_select masked_fill
        masked_scatter masked_select narrow put scatter scatter_add scatter_reduce select select_scatter
        slice_scatter split_with_sizes take take_along_dim tensor_split unbind
    """,
    "what becomes of an axis": """
        all amax amin aminmax any argmax argmin argsort argwhere bincount bucketize corrcoef count_nonzero cov
        cummax cummin cumprod cumsum diff dist histc histogram isin kthvalue log_softmax logcumsumexp logsumexp
        max mean median min mode msort nanmean nanmedian nanquantile nansum nonzero norm prod quantile renorm
        softmax sort std std_mean sum topk unique unique_consecutive var var_mean
    """,
    "products, and matrices": """
        addbmm addmm addmv addr baddbmm bmm cholesky cross det dot ger inner inverse kron logdet matrix_exp
        matrix_power mm mv outer pinverse slogdet svd tensordot trace vdot
    """,
    "questions about a tensor": """
        clone conj is_complex is_floating_point is_signed numel
    """,
    "in place": """
        abs_ acos_ acosh_ arccos_ arcsin_ arctan_ asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_
        clip_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ index_put_ lcm_
        ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ round_
        rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
    """,
}
FUNCTIONS = {
    name: function(getattr(M, name))
    for name in (
        *(op.name for op in REGISTRY.values() if has_methods(op)),
        *(name for names in NAMES.values() for name in names.split()),
    )
}
globals().update(FUNCTIONS)
__all__ = [*FUNCTIONS, "detach", "fill", "polygamma", "real"]


@function
def real(self: Any) -> Any:
    """The real part: the tensor itself, of real numbers."""
    return self.real


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
