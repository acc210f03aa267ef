"""minigrad: learn automatic differentiation by seeing it work.

>>> import minigrad
>>> x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> y = (x * x).sum()
>>> y.backward()
>>> x.grad
tensor([2., 4., 6.])
"""

import importlib
import sys
import warnings
from typing import Any

from numpy import e, inf, nan, newaxis, pi

from minigrad import autograd, core, ops, random
from minigrad.compat.modules import ModulesOfPyTorch as _ModulesOfPyTorch
from minigrad.compat.modules import UnderTorchsName as _UnderTorchsName
from minigrad.compat.modules import attribute as _attribute
from minigrad.core import dtypes, engine, engines, errors
from minigrad.core.devices import Layout as layout
from minigrad.core.devices import MemoryFormat as memory_format
from minigrad.core.devices import (
    channels_last,
    contiguous_format,
    device,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from minigrad.core.dtypes import (
    bfloat16,
    can_cast,
    cdouble,
    cfloat,
    complex64,
    complex128,
    double,
    dtype,
    float8_e4m3fn,
    float8_e5m2,
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
    uint16,
    uint32,
    uint64,
)
from minigrad.core.dtypes import bool_ as bool
from minigrad.core.dtypes import float_ as float
from minigrad.core.dtypes import int_ as int
from minigrad.core.formatting import set_printoptions
from minigrad.core.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    trace_lines,
)
from minigrad.core.tensor import Size, Tensor  # isort: split

from minigrad.core import codegen
from minigrad.core.op import REGISTRY as _REGISTRY

# All functions of three modules, and every function that is a method: their __all__.
from minigrad.methods.creation import *  # noqa: F403
from minigrad.methods.functions import *  # noqa: F403
from minigrad.methods.methods_as_functions import *  # noqa: F403
from minigrad.methods.methods_as_functions import function as _function
from minigrad.methods.rows import has_methods as _has_methods
from minigrad.random import (
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from minigrad.random.generator import Generator, default_generator
from minigrad.random.tensors import *  # noqa: F403

# As in PyTorch, 1 / 0 is inf and log(0) is -inf without a warning. Other uses of NumPy still warn.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minigrad(\.|$)")

# The code that draws in notebooks is imported when something is first shown; see core/display.py.
core.display.register(load=lambda: importlib.import_module("minigrad.jupyter.show"))

# How tapes and tensors are shown: "auto", "widget", "html", "svg", "png" or "text"; see jupyter/display.py.
display = "auto"

sys.meta_path.append(_ModulesOfPyTorch)  # see compat/modules.py
sys.meta_path.insert(0, _UnderTorchsName)
# As in PyTorch, this is a module to import, while the name in `autograd` is the function.
sys.modules["minigrad.autograd.gradcheck"] = autograd.numerical

# What is imported when it is first used: a name -> its module, and its name there (None: the module itself).
_LATE: dict[str, tuple[str, str | None]] = {
    name: (f"minigrad.{name}", None)
    for name in (
        "accelerator backends cuda distributions func grading jupyter linalg multiprocessing nn optim plots sparse "
        "special static tape teach testing utils version"
    ).split()
}
_LATE |= {
    "TypedStorage": ("minigrad.core.storage", "Storage"),
    "UntypedStorage": ("minigrad.core.storage", "Storage"),
    "compile": ("minigrad.compat.helpers", "unchanged"),
    "qr": ("minigrad.compat.old_programs", "deprecated_qr"),
    "spmm": ("minigrad.sparse", "mm"),
}
_LATE |= {
    name: (f"minigrad.{module}", name)
    for module, names in {
        "autograd.batches": "vmap",
        "autograd.three_ways": "three_ways",
        "compat.helpers": "TensorType _assert _check _check_index _check_type _check_value",
        "compat.mixed_precision": "GradScaler autocast is_autocast_enabled",
        "compat.old_programs": (
            "BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor "
            "ShortTensor chain_matmul range triangular_solve typename"
        ),
        "compat.settings": (
            "are_deterministic_algorithms_enabled get_default_device get_deterministic_debug_mode "
            "get_float32_matmul_precision get_num_interop_threads get_num_threads "
            "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_default_device "
            "set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision "
            "set_flush_denormal set_num_interop_threads set_num_threads set_warn_always "
            "use_deterministic_algorithms"
        ),
        "core.limits": "finfo iinfo",
        "jupyter": "load_ipython_extension unload_ipython_extension",
        "distributions.gamma": "_standard_gamma",
        "linalg": "cholesky_inverse cholesky_solve lu_unpack pca_lowrank svd_lowrank",
        "methods.calculus": "cumulative_trapezoid gradient trapezoid trapz",
        "methods.saving": "load save",
        "methods.windows": "bartlett_window blackman_window hamming_window hann_window",
        "nn.functional": (  # PyTorch has them at its top, too
            "adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d batch_norm bilinear celu channel_shuffle "
            "conv1d conv2d conv_transpose1d conv_transpose2d cosine_similarity dropout group_norm instance_norm "
            "layer_norm max_pool1d max_pool2d pairwise_distance pdist pixel_shuffle pixel_unshuffle "
            "prelu rms_norm rrelu selu threshold"
        ),
        "sparse": "sparse_coo_tensor",
        "tape": "Tape chain record",
        "tape.render.dot": "make_dot",
        "teach.compare": "compare",
        "teach.optimizers": "explain",
        "teach.two_engines": "both",
        "version": "__version__",
    }.items()
    for name in names.split()
}
_OURS = tuple(f"minigrad.{room}" for room in ("autograd.three_ways", "jupyter", "tape", "teach"))

# What `from minigrad import *` gives: PyTorch's names, and no module that would hide a program's own `random`.
__all__ = [
    n
    for n, v in vars().items()
    if n[0] != "_" and v is not Any and not isinstance(v, type(sys) | str)
]
__all__ += [
    n for n, (m, inside) in _LATE.items() if n[0] != "_" and inside and not m.startswith(_OURS)
]


def __getattr__(name: str) -> Any:
    """Import a module when it is first used, and find the functions of rows that were added at run time."""
    if name in _REGISTRY and _has_methods(_REGISTRY[name]):  # a row that was added at run time
        return globals().setdefault(name, _function(getattr(Tensor, name)))
    if name.startswith("_foreach_"):  # PyTorch's functions on lists, for optimizers
        return getattr(importlib.import_module("minigrad.compat.foreach"), name)
    if name not in _LATE:
        return _attribute("minigrad", name)  # one of PyTorch's modules, or an error
    module, inside = _LATE[name]
    loaded = importlib.import_module(module)
    return loaded if inside is None else getattr(loaded, inside)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATE])
