"""minigrad: automatic differentiation to read, to watch, and to learn.

>>> import minigrad
>>> x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> y = (x * x).sum()
>>> y.backward()
>>> x.grad
tensor([2., 4., 6.])
"""

import warnings
from typing import Any

from minigrad import autograd, dtypes, engine, engines, errors, ops
from minigrad.creation import (
    arange,
    as_tensor,
    from_numpy,
    full,
    full_like,
    ones,
    ones_like,
    tensor,
    zeros,
    zeros_like,
)
from minigrad.dtypes import bool_ as bool
from minigrad.dtypes import (
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    int8,
    int16,
    int32,
    int64,
    long,
    promote_types,
    set_default_dtype,
    short,
    uint8,
)
from minigrad.dtypes import float_ as float
from minigrad.dtypes import int_ as int
from minigrad.functions import (
    abs,
    absolute,
    add,
    addbmm,
    addmm,
    addmv,
    addr,
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    baddbmm,
    bmm,
    broadcast_to,
    cat,
    chunk,
    clone,
    column_stack,
    concat,
    concatenate,
    cos,
    diag,
    diag_embed,
    diagonal,
    diagonal_scatter,
    div,
    divide,
    dot,
    dstack,
    einsum,
    eq,
    exp,
    flatten,
    flip,
    fliplr,
    flipud,
    gather,
    ge,
    ger,
    greater,
    greater_equal,
    gt,
    hstack,
    index_add,
    index_copy,
    index_fill,
    index_put,
    index_put_,
    index_select,
    inner,
    le,
    less,
    less_equal,
    log,
    log_softmax,
    logical_and,
    logical_not,
    logical_or,
    lt,
    masked_fill,
    masked_scatter,
    masked_select,
    matmul,
    max,
    maximum,
    mean,
    min,
    minimum,
    mm,
    moveaxis,
    movedim,
    mul,
    multiply,
    mv,
    narrow,
    ne,
    neg,
    negative,
    not_equal,
    outer,
    permute,
    positive,
    pow,
    ravel,
    relu,
    repeat_interleave,
    reshape,
    roll,
    rot90,
    row_stack,
    scatter,
    scatter_add,
    select,
    select_scatter,
    sigmoid,
    sign,
    sin,
    slice_scatter,
    softmax,
    split,
    split_with_sizes,
    sqrt,
    square,
    squeeze,
    stack,
    sub,
    subtract,
    sum,
    swapaxes,
    swapdims,
    t,
    take,
    take_along_dim,
    tanh,
    tensor_split,
    tensordot,
    tile,
    trace,
    transpose,
    tril,
    triu,
    true_divide,
    unbind,
    unflatten,
    unsqueeze,
    vstack,
    where,
)
from minigrad.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    trace_lines,
)
from minigrad.tensor import Size, Tensor  # isort: split

from minigrad import fast
from minigrad.version import __version__

# As in PyTorch, 1 / 0 is inf and log(0) is -inf without a word. NumPy used elsewhere still warns.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minigrad(\.|$)")

_LATE: dict[str, tuple[str, str | None]] = {
    "Tape": ("minigrad.tape", "Tape"),
    "chain": ("minigrad.tape", "chain"),
    "compare": ("minigrad.teach.compare", "compare"),
    "func": ("minigrad.func", None),
    "load_ipython_extension": ("minigrad.jupyter", "load_ipython_extension"),
    "nn": ("minigrad.nn", None),
    "record": ("minigrad.tape", "record"),
    "three_ways": ("minigrad.three_ways", "three_ways"),
    "unload_ipython_extension": ("minigrad.jupyter", "unload_ipython_extension"),
}


def __getattr__(name: str) -> Any:
    """What needs more than NumPy is imported when it is first asked for."""
    if name not in _LATE:
        raise AttributeError(f"module 'minigrad' has no attribute {name!r}")
    import importlib

    module, attribute = _LATE[name]
    loaded = importlib.import_module(module)
    return loaded if attribute is None else getattr(loaded, attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATE])
