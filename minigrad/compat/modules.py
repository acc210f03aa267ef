"""PyTorch's modules that minigrad has under another name, or leaves out.

    from minigrad.nn.modules.loss import MSELoss                    is minigrad.nn.MSELoss
    from minigrad.nn.parallel import DistributedDataParallel        can be imported; calling it is an error

Programs import more than they use, so all of these modules can be imported. A module that is
elsewhere in minigrad redirects to that place. If a name is left out, using it raises an error that
says what to do instead.

`import minigrad` adds a finder to the end of `sys.meta_path`. Python asks it only for modules
that no other finder knows. Another finder is at the start, for programs that run unchanged:

    sys.modules["torch"] = minigrad
    import torch.nn as nn                                           is minigrad.nn
"""

import sys
from collections.abc import Callable, Sequence
from functools import cache, partial, reduce
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from minigrad import autograd, linalg
from minigrad.compat import cuda_amp as cuda_amp  # ELSEWHERE refers to these four
from minigrad.compat import helpers as helpers
from minigrad.compat import mixed_precision as mixed_precision
from minigrad.compat import settings as settings
from minigrad.compat.old_programs import deprecated_qr, triangular_solve
from minigrad.core.tensor import Tensor

LAYERS = "nn nn.convolution nn.lazy nn.normalization nn.recurrent nn.table nn.transformer nn.utils "
LAYERS += "nn.attention compat.helpers"
# Modules that PyTorch imports with their package: nn.modules.batchnorm, distributions.transforms.
FILES = {
    "amp": "autocast_mode grad_scaler",
    "cuda.amp": "autocast_mode common grad_scaler",
    "distributions": "bernoulli beta binomial categorical cauchy chi2 constraint_registry continuous_bernoulli "
    "dirichlet distribution exp_family exponential fishersnedecor gamma generalized_pareto geometric gumbel "
    "half_cauchy half_normal independent inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal "
    "lowrank_multivariate_normal mixture_same_family multinomial multivariate_normal negative_binomial normal "
    "one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT transformed_distribution "
    "transforms uniform utils von_mises weibull wishart",
    "nn.modules": "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold "
    "instancenorm lazy linear loss normalization padding pixelshuffle pooling rnn sparse transformer upsampling utils",
    "optim": "adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd sparse_adam",
    "utils.data": "_utils",
    "utils.data._utils": "collate fetch",
}


def _by_name(groups: dict[str, str]) -> dict[str, str]:
    """A table with a key for each word of the keys of `groups`."""
    return {name: value for names, value in groups.items() for name in names.split()}


# Where to look for the names of a module, in this order; "." is minigrad itself. A name that ends in .* stands
# for the FILES below it.
PLACES = {
    "__future__ utils.deterministic": "compat.settings",
    "_C": "compat.helpers .",
    "__config__ _six nn.common_types overrides": "compat.helpers",
    "_tensor storage": ".",
    "_tensor_str": "compat.helpers",
    "_utils": "compat.helpers",
    "utils._foreach_utils utils._pytree utils.backcompat": "compat.helpers",
    "amp amp.*": "compat.mixed_precision",
    "autograd.anomaly_mode": "autograd",
    "autograd.function": "core.function",
    "autograd.grad_mode": "core.modes",
    "cuda.amp cuda.amp.*": "compat.cuda_amp compat.mixed_precision",
    "cuda.random": "cuda",
    "distributions.*": "distributions distributions.transformed distributions.multivariate distributions.utils",
    "functional": ". nn.grad",  # nn.grad has F, which editors import from torch.functional
    "nn._reduction": "nn.functional.arguments",
    "nn.modules": "nn",
    "nn.modules.*": LAYERS,
    "nn.modules.module": "nn.module nn.calling nn.state compat.helpers",
    "nn.utils.clip_grad": "nn.utils",
    "nn.utils.convert_parameters": "nn.utils compat.helpers",
    "nn.utils.stateless": "func nn.stateless",
    "_vmap_internals": "func",
    "optim.*": "optim",
    "serialization": ". compat.helpers",
    "types": "compat.helpers core.tensor",
    "utils.data.* utils.data._utils.*": "utils.data",
    "utils.hooks": "core.hooks",
}
ELSEWHERE = _by_name(PLACES)

# What is left out, and what to do instead.
ONE_PROCESS = (
    "minigrad computes in one process. To fix it, use the module itself, without a wrapper."
)
NO_COMPILER = "To fix it, remove it: the results are the same. minigrad.static records programs."
QUANTIZED = "There are no quantized numbers."
ON_CPU = "minigrad computes on the CPU only."
REASONS = {
    "_dynamo _jit_internal compiler export fx jit nn.utils.fusion": NO_COMPILER,
    "ao nn.quantized quantization": QUANTIZED,
    "classes": "There are no classes written in C++.",
    "autograd.profiler profiler": "To fix it, use utils.benchmark.Timer, or Python's cProfile.",
    "distributed futures nn.parallel utils.data.distributed": ONE_PROCESS,
    "fft": "There are no gradients of complex numbers. To fix it, use numpy.fft on x.detach().numpy().",
    "library monitor package": NO_COMPILER,
    "masked": "To fix it, select with where(mask, x, 0), or index with the mask.",
    "signal": "To fix it, use minigrad.hann_window and its like, or scipy.signal.",
    "hub utils.model_zoo": "minigrad has no models to download.",
    "mps xpu": ON_CPU,
    "nested": "To fix it, pad: nn.utils.rnn.pad_sequence.",
    "nn.attention.flex_attention": "To fix it, use scaled_dot_product_attention with attn_mask.",
    "onnx": "minigrad does not export models.",
    "quasirandom": "To fix it, use scipy.stats.qmc.Sobol.",
    "utils._python_dispatch": "There are no tensors that hold other tensors.",
    "utils.cpp_extension": "There is nothing to compile.",
    "utils.dlpack": "To fix it, go through NumPy: x.numpy(), and minigrad.from_numpy.",
    "utils.flop_counter": "To fix it, count the multiplications of the layers' shapes.",
    "utils.tensorboard": "To fix it, keep the numbers in a list, and draw them with Matplotlib.",
}
LEFT_OUT = _by_name(REASONS)

# Names in left-out modules that exist all the same: they need no effect, or are elsewhere in minigrad.
WITHOUT_EFFECT = {
    "_dynamo.allow_in_graph _dynamo.disable compiler.allow_in_graph compiler.disable "
    "fx.wrap jit._overload jit._overload_method jit._script_if_tracing jit.export jit.ignore jit.script_if_tracing "
    "jit.unused": "compat.helpers.unchanged",
    "_dynamo.is_compiling compiler.is_compiling compiler.is_dynamo_compiling compiler.is_exporting "
    "jit.is_scripting jit.is_tracing onnx.is_in_onnx_export": "compat.helpers.never",
    "_C._debug_only_are_vmap_fallback_warnings_enabled": "compat.helpers.never",
    "_C._debug_only_display_vmap_fallback_warnings": "compat.helpers.nothing",
    "_dynamo.reset compiler.cudagraph_mark_step_begin compiler.reset mps.manual_seed xpu.empty_cache "
    "xpu.manual_seed xpu.manual_seed_all": "compat.helpers.nothing",
    "autograd.profiler.record_function profiler.record_function": "compat.helpers.record_function",
    "Future": "futures.Future",
    "SymBool SymFloat SymInt": "compat.helpers.UnknownSize",
    "jit.script jit.script_method jit.trace": "compat.helpers.not_compiled",
    "jit.ScriptModule": "nn.module.ScriptModule",
    "jit.annotate": "compat.helpers.annotated",
    "nn.functional._Reduction": "nn._reduction",
    "nn.functional.grad": "nn.grad",
    "nn.parallel.DataParallel": "nn.containers.DataParallel",
}
NOTHING_TO_DO = _by_name(WITHOUT_EFFECT)

# Modules whose left-out names can be imported, for lines such as from torch.nn.functional import conv2d, conv3d.
NAMED_ALONG = (
    "_C cuda distributions distributions.transforms nn nn.functional overrides utils.data".split()
)

# Names that are left out of modules that minigrad has.
NO_BFLOAT16 = "NumPy has no bfloat16. To fix it, use float32."
NO_COMPLEX = (
    "There are no gradients of complex numbers. To fix it, keep real and imaginary parts apart."
)
NO_SPARSE = "Matrices are dense here. To fix it, write sparse_coo_tensor, which makes a dense one."
THREE_AXES = "Layers work on one or two axes. To fix it, fold the third axis into the batch."
NO_GPU = f"{ON_CPU} To fix it, use the class of this name without `cuda`."
GUARDED = f"{ON_CPU} To fix it, write it under `if cuda.is_available():`."
BY_NUMPY = (
    "To fix it, use numpy.linalg or scipy.linalg on A.detach().numpy(); no gradient flows back."
)
BY_LINALG = "It is deprecated. To fix it, write  linalg.lu_solve(LU, pivots, B)."
BY_SCIPY = "To fix it, use scipy.special on x.detach().numpy(); no gradient flows back."
REMOVED = (
    "This function was deprecated since version 1.9 and is now removed from PyTorch. "
    "To fix it, use linalg: solve(A, B), lstsq(A, B), eigh(A), matrix_rank(A)."
)
DISTRIBUTION = (
    "To fix it, write its log_prob as a function, or derive it from an existing Distribution."
)
TRANSFORM = "To fix it, derive it from distributions.Transform, or use an ExpTransform or a SigmoidTransform."
GROUPS = {
    "BFloat16Tensor": NO_BFLOAT16,
    "angle complex conj_physical imag istft polar stft view_as_complex view_as_real": NO_COMPLEX,
    "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_csc_tensor sparse_csr_tensor": NO_SPARSE,
    "eig eigvals geqrf householder_product ldl_factor lobpcg orgqr ormqr": BY_NUMPY,
    "lu_solve": BY_LINALG,
    "i0 igamma igammac": BY_SCIPY,
    "kaiser_window": "To fix it, use hann_window and its like, or numpy.kaiser.",
    "lstsq matrix_rank solve symeig": REMOVED,
    "ContinuousBernoulli FisherSnedecor HalfCauchy InverseGamma Kumaraswamy LKJCholesky": DISTRIBUTION,
    "LogisticNormal LowRankMultivariateNormal NegativeBinomial Pareto VonMises Weibull Wishart": DISTRIBUTION,
    "biject_to transform_to": TRANSFORM,
    "AbsTransform CatTransform ComposeTransform CorrCholeskyTransform CumulativeDistributionTransform": TRANSFORM,
    "LowerCholeskyTransform PositiveDefiniteTransform PowerTransform ReshapeTransform SoftmaxTransform": TRANSFORM,
    "IndependentTransform SoftplusTransform StackTransform StickBreakingTransform": TRANSFORM,
    "DistributedSampler": ONE_PROCESS,
    "ClassType Graph NoneType Value": NO_COMPILER,
    "DisableTorchFunctionSubclass TorchFunctionMode get_ignored_functions get_overridable_functions "
    "get_testing_overrides handle_torch_function resolve_name": "Functions cannot be overridden by tensors' classes.",
    "SyncBatchNorm": f"{ONE_PROCESS} Use nn.BatchNorm2d.",
    "qint32 qint8 quantize_per_channel quantize_per_tensor quint8": QUANTIZED,
    "Adafactor Muon": "To fix it, use AdamW, or write its step as a subclass of Optimizer.",
    "CUDAGraph Event Stream current_device current_stream default_stream get_device_capability get_device_name "
    "get_device_properties mem_get_info memory memory_stats memory_summary nvtx reset_peak_memory_stats "
    "set_device set_stream stream synchronize utilization": GUARDED,
}
NAMES = _by_name(GROUPS)
# Methods and attributes of tensors.
OF_TENSORS = {
    "bfloat16": NO_BFLOAT16,
    "angle cdouble cfloat chalf conj_physical imag istft stft": NO_COMPLEX,
    "col_indices crow_indices dense_dim sparse_dim sparse_mask to_sparse_coo to_sparse_csc to_sparse_csr": NO_SPARSE,
    "eig geqrf orgqr ormqr": BY_NUMPY,
    "lu_solve": BY_LINALG,
    "lstsq solve symeig": REMOVED,
    "dequantize int_repr q_scale q_zero_point qscheme": QUANTIZED,
    "pin_memory": f"{ON_CPU} To fix it, remove it.",
    "as_subclass": "Results are plain tensors. To fix it, keep the tensor in an attribute of an object.",
}


class ModulesOfPyTorch:
    """The finder and loader of the modules in ELSEWHERE and LEFT_OUT."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module in ELSEWHERE or LEFT_OUT; None for any other module."""
        package, _, name = fullname.partition(".")
        if package != "minigrad" or _module(name) is None:
            return None
        return ModuleSpec(fullname, cls, is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType | None:
        """The module object, from the cache if `attribute` has created it."""
        return _module(spec.name.partition(".")[2])

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Nothing to run: the module looks up names on access."""


class UnderTorchsName:
    """The finder and loader of torch.nn and so on, where minigrad takes the place of PyTorch in sys.modules.

    Without it, Python would run the files of minigrad.nn a second time, as those of another package.
    """

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module below torch, if that is minigrad and has the module."""
        package, _, name = fullname.partition(".")
        if (
            package != "torch"
            or not name
            or sys.modules["torch"] is not sys.modules.get("minigrad")
        ):
            return None
        try:
            ours = import_module(f"minigrad.{name}")
        except ModuleNotFoundError:
            return None
        return ModuleSpec(fullname, cls, loader_state=(ours, ours.__spec__))  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """The module of minigrad itself."""
        ours: ModuleType = spec.loader_state[0]
        return ours

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """It has run. Return its own spec, which the import has just replaced."""
        spec: Any = module.__spec__
        module.__spec__ = spec.loader_state[1]


class Elsewhere(ModuleType):
    """A module that redirects attribute access to other modules."""

    def __init__(self, name: str, place: str) -> None:
        super().__init__(name, f"PyTorch's name for minigrad.{place}.")
        self._place = place

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [n for place in map(_at, self._place.split(" ")) for n in _defined(place)]
        hidden = name.startswith("__")
        # nn.modules.utils is not nn.utils, so that the order of imports does not matter.
        if not hidden and (found := _module(f"{self.__name__}.{name}".partition(".")[2])):
            return found
        for place in map(_at, [] if hidden else self._place.split(" ")):
            if hasattr(place, name):
                return getattr(place, name)
        return attribute(self.__name__, name)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All names with their values, for  vars(nn.modules.activation)  and  dir()."""
        return {name: getattr(self, name) for name in self.__all__} | super().__dict__

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_global_") and name in _at("nn.calling").GLOBAL_HOOKS:
            _at("nn.calling").set_global_hooks(name, value)  # the hooks of all modules
        else:
            super().__setattr__(name, value)


def _defined(place: ModuleType) -> list[str]:
    """The public names of a module; without `__all__`, what it defines itself."""
    own = (n for n, v in vars(place).items() if getattr(v, "__module__", "") == place.__name__)
    return getattr(place, "__all__", None) or [n for n in own if not n.startswith("_")]


def _at(place: str) -> Any:
    return reduce(getattr, [part for part in place.split(".") if part], sys.modules["minigrad"])


class LeftOut(ModuleType):
    """A module that minigrad leaves out. Its names can be imported; using one is an error.

    Its docstring is the reason.
    """

    def is_available(self) -> bool:
        """False, so that programs continue without it."""
        return False

    is_initialized = is_available

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if (found := NOTHING_TO_DO.get(f"{self.__name__}.{name}".partition(".")[2])) is not None:
            return _at(found)
        return Absent(f"{self.__name__}.{name}", self.__doc__ or "")


class Absent:
    """A function or class that minigrad leaves out. Calling it, or a subclass of it, is an error."""

    def __init__(self, name: str, reason: str) -> None:
        self._name, self._reason = name, reason

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """A base class in place of this object, for  class Own(Absent, Other). It cannot be instantiated."""

        def refuse(cls: type, *args: object, **kwargs: object) -> NoReturn:
            self(*args, **kwargs)

        return (type(self._name.rpartition(".")[2], (), {"__new__": refuse}),)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"minigrad leaves out {self._name}. {self._reason} PYTORCH.md lists what else is left out."
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}", self._reason)

    def __instancecheck__(self, thing: object) -> bool:
        return False

    def __subclasscheck__(self, kind: type) -> bool:
        return False

    def __getitem__(self, kind: object) -> "Absent":
        """For annotations such as Future[int]."""
        return self

    def __or__(self, other: object) -> "Absent":
        """For annotations such as ProcessGroup | None."""
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"<{self._name}, which minigrad leaves out>"


def attribute(module: str, name: str) -> Any:
    """The `__getattr__` of a package, for names that PyTorch has and minigrad does not.

    Returns a redirecting or left-out module, or raises an AttributeError that says what to do instead.

    >>> attribute("minigrad", "jit").freeze
    <minigrad.jit.freeze, which minigrad leaves out>
    >>> hasattr(minigrad, "stft")
    False
    """
    room = module.partition(".")[2]
    path = f"{room}.{name}" if room else name
    if (place := NOTHING_TO_DO.get(path)) is not None:
        return _at(place)
    if (found := _module(path)) is not None:
        return found
    if room in NAMED_ALONG and (advice := _advice(module, name)) is not None:
        return Absent(f"{module}.{name}", advice)  # for  isinstance(layer, (nn.Conv2d, nn.Conv3d))
    missing(module, name)


def missing(module: str, name: str) -> NoReturn:
    """Raise AttributeError. If minigrad leaves the name out, the message says what to do instead."""
    advice = _advice(module, name)
    if advice is None and module == "minigrad" and name in _at("nn.functional").__all__:
        raise AttributeError(
            f"module 'minigrad' has no attribute {name!r}. To fix it, write  nn.functional.{name}.",
            name=name,
        )
    _raise_no_attribute(f"module {module!r}", name, advice, sys.modules.get(module))


def _raise_no_attribute(
    owner: str, name: str, advice: str | None, module: ModuleType | None = None
) -> NoReturn:
    message = f"{owner} has no attribute {name!r}"
    if advice is None:  # Python may offer the nearest name of the module
        raise AttributeError(message, name=name, obj=module)
    message += f". minigrad leaves it out. {advice} PYTORCH.md lists what else is left out."
    raise AttributeError(message, name=name)


def own_names(package: dict[str, Any], is_public: Callable[[Any], bool]) -> list[str]:
    """The public names of a package that imports its chapters with `*`, for its `__all__`.

    Such an import also brings what a chapter imports itself: Tensor, np, Any. These names are deleted here.
    """
    public = []
    for name, value in list(package.items()):
        if is_public(value) and not name.startswith("_"):
            public.append(name)
        elif not name.startswith("_") and f"{package['__name__']}.{name}" not in sys.modules:
            del package[name]
    return public


class LeftOutOfTensors:
    """A tensor method or attribute that minigrad leaves out. Accessing it raises an error with advice.

    (A `__getattr__` could do this too, but it would slow down every attribute access.)
    """

    def __init__(self, name: str, advice: str) -> None:
        self._name, self._advice = name, advice

    def __get__(self, x: object, owner: type | None = None) -> NoReturn:
        _raise_no_attribute("'Tensor' object", self._name, self._advice)


for _lower in (autograd, linalg):  # they cannot import this module
    vars(_lower)["__getattr__"] = partial(attribute, _lower.__name__)
for _name, _text in _by_name(OF_TENSORS).items():
    setattr(Tensor, _name, LeftOutOfTensors(_name, _text))
# These functions are methods too: A.qr() is qr(A).
for _function in (linalg.cholesky_inverse, linalg.cholesky_solve, deprecated_qr, triangular_solve):
    setattr(Tensor, _function.__name__.removeprefix("deprecated_"), _function)


def _advice(module: str, name: str) -> str | None:
    """What to do instead of using a name that is left out; None if the name is not known."""
    if module == "minigrad.cuda" and name.endswith("Tensor"):
        return NO_GPU
    return THREE_AXES if name.lower().endswith("3d") else NAMES.get(name)


@cache
def _module(name: str) -> ModuleType | None:
    """The module minigrad.<name> from ELSEWHERE or LEFT_OUT; None if it is in neither."""
    package, _, file = name.rpartition(".")
    found = file in FILES.get(package, "").split()
    place = ELSEWHERE.get(f"{package}.*" if found else name)
    reason = _reason(name)
    if reason is not None:
        return LeftOut(f"minigrad.{name}", reason)
    return None if place is None else Elsewhere(f"minigrad.{name}", place)


def _reason(name: str) -> str | None:
    """Why a module, or a package that contains it, is left out; None if it is not."""
    while name:
        if name in LEFT_OUT:
            return LEFT_OUT[name]
        name = name.rpartition(".")[0]
    return None
