"""What PyTorch has under names that minigrad spells otherwise or leaves out."""

import functools
import importlib
import io
import pickle
import sys
import types

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.compat.modules import ELSEWHERE, LEFT_OUT, NAMES, Absent


@pytest.fixture
def imported():
    """imported(name): a module below minigrad. An import leaves a name in the package above; it is taken back."""
    names = []

    def run(name):
        names.append(f"minigrad.{name}")
        return importlib.import_module(names[-1])

    yield run
    for name in names:
        above, _, last = name.rpartition(".")
        sys.modules.pop(name)
        vars(sys.modules[above]).pop(last, None)


@pytest.mark.parametrize("package", [minigrad.distributions, nn, minigrad.optim])
def test_a_class_that_is_there_is_not_listed_as_left_out(package):
    there = {name for name in package.__all__ if not isinstance(getattr(package, name), Absent)}

    assert not there & set(NAMES)


def test_settings_about_memory_and_conversion_are_kept(imported):
    future, deterministic = imported("__future__"), imported("utils.deterministic")

    assert (
        deterministic.fill_uninitialized_memory
        and not future.get_swap_module_params_on_conversion()
    )


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_can_be_imported_and_says_so_when_it_is_used(name, imported):
    module = imported(name)
    thing = module.Anything

    assert not module.is_available()
    for use in (thing, lambda: thing.inside(1), lambda: types.new_class("Own", (thing,))()):
        with pytest.raises(NotImplementedError, match=f"leaves out minigrad.{name}.*PYTORCH.md"):
            use()


def test_a_module_of_pytorch_has_its_names_before_and_after_it_is_imported(imported):
    for utils in (nn.modules.utils, imported("nn.modules.utils"), nn.modules.utils):
        assert utils._pair(3) == (3, 3)
        assert callable(utils.consume_prefix_in_state_dict_if_present)


@pytest.mark.parametrize(
    "path, name",
    [
        ("nn.utils.clip_grad", "clip_grad_norm_"),
        ("nn.modules.linear", "NonDynamicallyQuantizableLinear"),
        ("utils.data._utils.collate", "default_collate"),
        ("__future__", "set_swap_module_params_on_conversion"),
    ],
)
def test_a_module_of_pytorch_can_be_reached_without_importing_it(path, name):
    module = functools.reduce(getattr, path.split("."), minigrad)

    assert callable(getattr(module, name))


def test_modules_whose_names_stand_elsewhere():
    from minigrad.amp import GradScaler
    from minigrad.autograd.function import Function
    from minigrad.autograd.gradcheck import gradcheck
    from minigrad.distributions.categorical import Categorical
    from minigrad.nn.modules.loss import MSELoss
    from minigrad.nn.modules.module import Module
    from minigrad.optim.adam import Adam
    from minigrad.utils.data.dataset import Dataset

    assert MSELoss is nn.MSELoss and Module is nn.Module and Adam is minigrad.optim.Adam
    assert Categorical is minigrad.distributions.Categorical
    assert Dataset is minigrad.utils.data.Dataset and Function is minigrad.autograd.Function
    assert issubclass(minigrad.cuda.amp.GradScaler, GradScaler)
    assert gradcheck is minigrad.autograd.gradcheck


@pytest.mark.parametrize("name", [n for n in ELSEWHERE if not n.endswith("*")])
def test_each_of_these_modules_leads_somewhere(name):
    module = importlib.import_module(f"minigrad.{name}")

    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(module, "no_such_name")  # noqa: B009


@pytest.mark.parametrize(
    "module, name, words",
    [
        (minigrad, "BFloat16Tensor", "use float32"),
        (minigrad, "stft", "complex"),
        (minigrad, "sparse_csr_tensor", "sparse_coo_tensor"),
        (minigrad.optim, "Adafactor", "AdamW"),
        (minigrad, "qint8", "no quantized numbers"),
        (minigrad, "lobpcg", "numpy.linalg"),
        (minigrad.linalg, "eig", "numpy.linalg"),
        (minigrad.linalg, "ldl_factor", "numpy.linalg"),
        (minigrad, "lu_solve", "linalg.lu_solve"),
        (minigrad, "kaiser_window", "numpy.kaiser"),
        (minigrad, "symeig", "is now removed from PyTorch"),
    ],
)
def test_a_missing_name_that_pytorch_has_says_what_to_do(module, name, words):
    with pytest.raises(AttributeError, match=f"{name}.*leaves it out.*{words}.*PYTORCH.md"):
        getattr(module, name)


@pytest.mark.parametrize(
    "module", ["amp", "distributions", "nn.modules", "optim", "utils.data", "utils.data._utils"]
)
def test_a_name_that_nothing_has_cannot_be_imported(module):
    with pytest.raises(ImportError, match="cannot import name 'Foo'"):
        exec(f"from minigrad.{module} import Foo")


@pytest.mark.parametrize(
    "name, words",
    [
        ("FloatTensor", "without `cuda`"),
        ("synchronize", "is_available"),
        ("Stream", "is_available"),
    ],
)
def test_a_name_of_cuda_can_stand_in_an_annotation_and_says_what_to_do_when_it_is_called(
    name, words
):
    there = getattr(minigrad.cuda, name)

    assert (there | None) is there and not isinstance(minigrad.ones(1), there)
    with pytest.raises(NotImplementedError, match=f"{name}.*{words}.*PYTORCH.md"):
        there()


def test_a_distribution_that_is_left_out_can_be_imported_and_says_so_when_it_is_made():
    from minigrad.distributions import VonMises
    from minigrad.distributions.von_mises import VonMises as Same

    for kind in (VonMises, Same):
        with pytest.raises(NotImplementedError, match=r"VonMises.*log_prob.*PYTORCH.md"):
            kind(3.0)


def test_a_class_can_derive_from_what_is_left_out_and_from_others():
    class Prior(minigrad.distributions.VonMises, nn.Module):
        """As in published packages: a distribution that is a module."""

    assert issubclass(Prior, nn.Module)
    with pytest.raises(NotImplementedError, match=r"VonMises.*log_prob.*PYTORCH.md"):
        Prior(3.0)


def test_integers_without_a_sign_have_names():
    assert minigrad.tensor([1, 2], dtype=minigrad.uint16).dtype == minigrad.uint16
    assert minigrad.from_numpy(np.array([2**40], np.uint64)).dtype == minigrad.uint64


def test_a_module_that_is_left_out_is_an_attribute_of_autograd_as_well():
    with pytest.raises(NotImplementedError, match="profile.*cProfile"):
        minigrad.autograd.profiler.profile()


def test_a_function_of_nn_functional_is_found_there():
    with pytest.raises(AttributeError, match="write  nn.functional.cross_entropy."):
        minigrad.cross_entropy  # noqa: B018  # as it is written by mistake


@pytest.mark.parametrize(
    "name, words",
    [
        ("bfloat16", "use float32"),
        ("angle", "keep real and imaginary parts apart"),
        ("to_sparse_csr", "sparse_coo_tensor"),
        ("geqrf", "numpy.linalg"),
        ("lu_solve", "linalg.lu_solve"),
        ("solve", "is now removed from PyTorch"),
        ("pin_memory", "remove it"),
    ],
)
def test_so_does_a_missing_method(name, words):
    x = minigrad.ones(2)

    assert not hasattr(x, name) and not hasattr(minigrad.Tensor, name)
    with pytest.raises(AttributeError, match=f"{name}.*leaves it out.*{words}.*PYTORCH.md"):
        getattr(x, name)


@pytest.mark.parametrize(
    "name, words",
    [
        ("Conv3d", "one or two axes"),
        ("functional.conv3d", "one or two axes"),
        ("Dropout3d", "one or two axes"),
        ("SyncBatchNorm", "nn.BatchNorm2d"),
    ],
)
def test_a_layer_that_is_left_out_is_no_layer_and_cannot_be_made(name, words):
    layer = functools.reduce(getattr, name.split("."), nn)

    assert not isinstance(nn.Linear(2, 3), (layer, nn.Conv2d))
    assert not issubclass(nn.Linear, (layer, nn.Conv2d))
    with pytest.raises(NotImplementedError, match=f"{name}.*{words}.*PYTORCH.md"):
        layer(3, 4, 5)


def test_helpers_that_are_private_in_pytorch_are_found_where_it_has_them():
    from minigrad import TensorType, classes
    from minigrad._C import DisableTorchFunctionSubclass, NoneType, Value, dtype
    from minigrad._six import inf
    from minigrad._tensor import Tensor as FromItsFile
    from minigrad._tensor_str import PRINT_OPTS, _tensor_str
    from minigrad.autograd.anomaly_mode import detect_anomaly
    from minigrad.autograd.function import FunctionCtx
    from minigrad.distributions.utils import broadcast_all, lazy_property, probs_to_logits
    from minigrad.functional import F, Tensor
    from minigrad.nn import _reduction
    from minigrad.nn.common_types import _size_2_t
    from minigrad.nn.functional import _Reduction
    from minigrad.nn.init import _no_grad_normal_, _no_grad_uniform_
    from minigrad.nn.modules.batchnorm import _BatchNorm, _NormBase
    from minigrad.nn.modules.conv import _ConvNd
    from minigrad.nn.modules.loss import _Loss, _WeightedLoss
    from minigrad.nn.modules.module import _IncompatibleKeys
    from minigrad.nn.modules.normalization import _shape_t
    from minigrad.nn.modules.rnn import RNNCellBase
    from minigrad.nn.modules.transformer import _get_activation_fn, _get_clones
    from minigrad.nn.modules.utils import _pair
    from minigrad.nn.parameter import UninitializedParameter
    from minigrad.nn.utils.clip_grad import clip_grad_norm_
    from minigrad.nn.utils.convert_parameters import _check_param_device, parameters_to_vector
    from minigrad.nn.utils.spectral_norm import spectral_norm as from_its_module
    from minigrad.optim.optimizer import ParamsT, _params_t
    from minigrad.overrides import has_torch_function, is_tensor_like
    from minigrad.storage import TypedStorage, UntypedStorage
    from minigrad.types import Storage, _dtype, _Number
    from minigrad.utils._pytree import tree_map
    from minigrad.utils.data._utils.collate import default_collate
    from minigrad.utils.data.dataloader import (
        _BaseDataLoaderIter,
        _collate_fn_t,
        _MultiProcessingDataLoaderIter,
    )

    assert isinstance(minigrad.ones(1).storage(), Storage)
    assert (
        _tensor_str(minigrad.eye(2), 1) == "[[1., 0.],\n  [0., 1.]]"
        and PRINT_OPTS.threshold == 1000
    )
    minigrad.set_printoptions(threshold=7)
    assert PRINT_OPTS.threshold == 7
    minigrad.set_printoptions(profile="default")
    batches = iter(minigrad.utils.data.DataLoader([1]))
    assert vars(nn.modules.activation)["ReLU"] is nn.ReLU and "MSELoss" in dir(nn.modules.loss)
    assert isinstance(batches, _BaseDataLoaderIter)
    assert not isinstance(batches, _MultiProcessingDataLoaderIter)
    assert Tensor is FromItsFile is TensorType is minigrad.Tensor and F is nn.functional
    assert _no_grad_uniform_ is nn.init.uniform_ and _no_grad_normal_ is nn.init.normal_
    assert dtype is type(minigrad.float32) and NoneType is not type(None)
    assert detect_anomaly is minigrad.autograd.detect_anomaly and not classes.is_available()
    assert default_collate([1, 2]).tolist() == [1, 2] and issubclass(
        UninitializedParameter, nn.Parameter
    )
    assert isinstance(nn.Conv1d(1, 1, 1), _ConvNd) and isinstance(nn.BatchNorm2d(1), _BatchNorm)
    assert issubclass(_BatchNorm, _NormBase) and isinstance(nn.L1Loss(), _Loss)
    assert isinstance(nn.CrossEntropyLoss(), _WeightedLoss) and inf > 1
    first, second = _get_clones(nn.Linear(2, 2), 2)
    assert first.weight is not second.weight and _pair(3) == (3, 3)
    assert isinstance(minigrad.ones(2).untyped_storage(), UntypedStorage) and TypedStorage
    assert is_tensor_like(minigrad.ones(1)) and _size_2_t and _shape_t and isinstance(2, _Number)
    assert issubclass(nn.LSTMCell, RNNCellBase)
    assert from_its_module is nn.utils.spectral_norm is minigrad.nn.utils.spectral_norm
    assert ParamsT is _params_t and _collate_fn_t and _dtype and not minigrad._dynamo.is_compiling()
    assert _get_activation_fn("gelu") is nn.functional.gelu
    assert parameters_to_vector is nn.utils.parameters_to_vector and _Reduction is _reduction
    assert _check_param_device(first, None) == _check_param_device(first, -1) == -1
    assert clip_grad_norm_ is nn.utils.clip_grad_norm_ and not has_torch_function((first,))
    assert broadcast_all(1.0, minigrad.ones(2))[0].shape == (2,) and lazy_property is not None
    assert minigrad.equal(probs_to_logits(minigrad.tensor([0.5]), True), minigrad.zeros(1))
    assert tree_map(len, {"a": ("x", "yz")}) == {"a": (1, 2)} and FunctionCtx.__name__
    assert (
        Value is not DisableTorchFunctionSubclass
        and minigrad._utils._element_size(minigrad.half) == 2
    )
    assert not minigrad.cuda._initialized and _IncompatibleKeys([], []).missing_keys == []
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        assert _reduction.legacy_get_string(False, None) == "sum"


@pytest.mark.filterwarnings("ignore:minigrad has no TorchScript")
def test_what_has_nothing_to_do_here_does_nothing():
    jit = minigrad.jit

    @jit.ignore
    def f(x):
        return x + 1

    @jit.script
    def g(x):
        return f(x) * 2

    class Twice(jit.ScriptModule):
        @jit.script_method
        def forward(self, x):
            numbers = jit.annotate(list[int], [2])
            return x * numbers[0]

    assert g(1) == 4 and not jit.is_scripting() and jit.trace(g, (1,)) is g
    assert Twice()(3) == 6
    assert isinstance(Twice(), jit.ScriptModule) and not isinstance(nn.ReLU(), jit.ScriptModule)
    assert minigrad.compiler.disable(f) is f and jit.unused(drop=True)(f) is f
    assert jit._overload_method(f) is jit.script_if_tracing(f) is f
    assert nn.functional.grad is nn.grad and minigrad._vmap_internals.vmap is minigrad.func.vmap
    assert minigrad._C._debug_only_are_vmap_fallback_warnings_enabled() is False
    with nn.attention.sdpa_kernel([nn.attention.SDPBackend.MATH]):
        minigrad._assert(True, "never shown")
    with minigrad.backends.cuda.sdp_kernel(enable_flash=True):
        minigrad.backends.cuda.enable_flash_sdp(False)
    minigrad.mps.manual_seed(0)
    minigrad.xpu.manual_seed_all(0)
    with minigrad.backends.cudnn.flags(enabled=False):
        assert not minigrad.backends.cudnn.enabled
    assert minigrad.backends.cudnn.enabled
    minigrad.utils.backcompat.broadcast_warning.enabled = True
    minigrad.utils.backcompat.keepdim_warning.enabled = True
    assert minigrad.fx.wrap(f) is f and minigrad.utils.checkpoint.get_device_states() == ([], [])
    assert minigrad.nn.modules.batchnorm._BatchNorm is nn.normalization._BatchNorm
    with pytest.raises(AttributeError, match="no_such_name"):
        minigrad.nn.modules.no_such_name  # noqa: B018
    with pytest.raises(NotImplementedError, match="leaves out minigrad.jit.freeze"):
        jit.freeze(f)


@pytest.mark.parametrize(
    "use",
    [
        lambda d: minigrad.zeros(2, dtype=d),
        lambda d: minigrad.ones(2).to(d),
        lambda d: minigrad.ones(2).to("cpu", d),
        lambda d: minigrad.ones(2).type(d),
        lambda d: nn.Linear(2, 3, dtype=d),
        lambda d: nn.Linear(2, 3).to(d),
        lambda d: minigrad.ones(2).sum(dtype=d),
        lambda d: minigrad.set_default_dtype(d),
    ],
)
def test_bfloat16_may_be_named_and_says_what_to_do_when_it_is_used(use):
    settings = {"float32": minigrad.float32, "bfloat16": minigrad.bfloat16}

    assert minigrad.ones(2).dtype != settings["bfloat16"]
    with pytest.raises(NotImplementedError, match="leaves out minigrad.bfloat16.*use float32"):
        use(settings["bfloat16"])


def test_a_name_that_nobody_has_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="^module 'minigrad' has no attribute 'nonsense'$"):
        getattr(minigrad, "nonsense")  # noqa: B009
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("minigrad.nonsense")


def test_names_that_are_imported_late_are_listed():
    assert set(minigrad._LATE) <= set(dir(minigrad))


@pytest.mark.parametrize("module, names", [
    ("minigrad", "tensor save conv1d LongTensor vmap float32 no_grad"), ("minigrad.nn.modules.module", "Module"),
    ("minigrad.nn.utils.clip_grad", "clip_grad_norm_"), ("minigrad.functional", "einsum"),
])  # fmt: skip
def test_a_star_imports_pytorchs_names_and_hides_no_module_of_python(module, names):
    program = {}
    exec(f"import random; from {module} import *; random.random()", program)

    assert not {"display", "core", "ops", "record", "Any"} & program.keys()
    assert set(names.split()) <= program.keys()


def test_a_module_is_saved_whole_and_loaded_only_when_trusted():
    model, file = nn.Sequential(nn.Linear(2, 3), nn.ReLU()), io.BytesIO()
    minigrad.save(model, file)
    file.seek(0)

    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        minigrad.load(file)
    file.seek(0)
    loaded = minigrad.load(file, weights_only=False)

    x = minigrad.ones(4, 2)
    assert minigrad.equal(loaded(x), model(x))


def test_a_device_is_a_block_and_shapes_can_be_asked_for():
    with minigrad.device("cpu"):
        layer = nn.Linear(2, 3, device="meta")

    assert layer(minigrad.empty(5, 2, device="meta")).shape == (5, 3)
    with pytest.raises(RuntimeError, match="CPU only"), minigrad.device("cuda"):
        pass


def test_mixed_precision_is_switched_off_as_without_a_gpu():
    x = minigrad.tensor(3.0, requires_grad=True)
    optimizer = minigrad.optim.SGD([x], lr=0.1)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        scaler = minigrad.amp.GradScaler("cuda")
    with minigrad.autocast("cuda", enabled=False):
        loss = x * x
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()

    assert x.item() == pytest.approx(2.4)
    with pytest.raises(NotImplementedError, match="bfloat16"):
        minigrad.autocast("cpu")


def test_a_lazy_layer_takes_its_shape_from_a_state():
    layer, other = nn.LazyLinear(3), nn.Linear(2, 3)

    layer.load_state_dict(other.state_dict())
    x = minigrad.ones(4, 2)

    assert minigrad.equal(layer(x), other(x)) and type(layer) is nn.Linear


def test_timer():
    from minigrad.utils.benchmark import Timer

    timer = Timer("x + y", "y = 1", globals={"x": 2}, label="sum")
    many = timer.blocked_autorange(min_run_time=0.001)

    assert timer.timeit(5).number_per_run == 5
    assert 0 < many.median < 0.1 and many.iqr >= 0 and repr(many).startswith("sum\n")


def test_older_spellings():
    assert minigrad.ones(2).new([1, 2]).tolist() == [1.0, 2.0]
    assert minigrad.ones(2).new(3, 1).shape == (3, 1)
    assert minigrad.typename(minigrad.ones(2)) == "minigrad.FloatTensor"
    assert minigrad.optim.lr_scheduler._LRScheduler is minigrad.optim.lr_scheduler.LRScheduler
    assert minigrad.ones(1, 2, 3, 3).to(memory_format=minigrad.channels_last).shape == (1, 2, 3, 3)
    assert minigrad.utils.data.DataLoader[int]  # in an annotation
    p = nn.Parameter(minigrad.zeros(2))
    p.grad = minigrad.tensor([3.0, 4.0])
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        assert nn.utils.clip_grad_norm([p], 1.0).item() == 5
    assert not minigrad.accelerator.is_available()
    assert minigrad.accelerator.current_accelerator() is None
    wrapped = nn.DataParallel(nn.Linear(2, 3))
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    assert wrapped(minigrad.ones(1, 2)).shape == (1, 3)
