"""PyTorch's own samples of its operations and modules, run with minigrad in place of torch.

PyTorch tests itself with these samples (its tables OpInfo and ModuleInfo): for each operation some arguments
of every kind that it takes. Each sample is run by both, and compared: values, shapes and dtypes; gradients;
tangents of forward mode; and second derivatives. Of modules also their parameters, and what they keep.
"""

import re
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import forward_ad as our_forward

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # PyTorch's table imports it

from torch.autograd import forward_ad as their_forward

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

# The import above forbids the whole process to set torch.backends.cudnn.deterministic; other tests do so.
torch.backends.flags_frozen.__globals__["__allow_nonbracketed_mutation_flag"] = True

# For each iterator of samples it looks through the whole stack for a test of PyTorch's own.
common_utils.extract_test_fn = lambda: None

SAMPLES = 40  # of one operation
DERIVED = 6  # of them with tangents and second derivatives

# Drawn at random, or memory that nobody has filled.
DRAWN = """
    bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric log_normal multinomial new_empty
    new_empty_strided normal
    nn.functional.alpha_dropout nn.functional.dropout nn.functional.dropout2d nn.functional.feature_alpha_dropout
    nn.functional.rrelu rand_like randint randint_like randn randn_like uniform
""".split()

# (operation, what was compared, and perhaps of which dtype): why the results may differ.
KNOWN = {
    ("addbmm", "in place"): "PyTorch lets a tensor grow in place",
    ("as_strided", "in place"): "as_strided_ is left out",
    ("as_strided", "values"): "a view of part of a base: the copy made for minigrad has no base",
    ("batch_norm", "values"): "a vector without entries",
    ("cholesky_inverse", "tangent"): "only a triangle is read; PyTorch's tangent reads the other one as well",
    ("cholesky", "tangent"): "the same, for a tangent that is not symmetric",
    ("cholesky_ex", "tangent"): "the same",
    ("ctc_loss", "gradient"): "PyTorch's gradient holds for inputs from log_softmax only: PYTORCH.md",
    ("cfloat", "values"): "there are no such methods",
    ("cdouble", "values"): "there are no such methods",
    ("eigh", "values"): "the sign of a vector is free",
    ("lu", "values"): "there is no gradient of L and U: PYTORCH.md",
    ("lu_factor", "values"): "the same",
    ("grid_sample", "values"): "in three dimensions",
    ("sort", "values"): "which of equal entries is first",
    ("argsort", "values"): "which of equal entries is first",
    ("kthvalue", "values"): "which of equal entries is given",
    ("mode", "values"): "which of equal entries is given",
    ("topk", "values"): "which of equal entries is given",
    ("logcumsumexp", "tangent"): "PyTorch adds 1e-6",
    ("norm", "second_derivative"): "at zero PyTorch has NaN",
    ("vector_norm", "second_derivative"): "at zero PyTorch has NaN",
    ("scatter_reduce", "tangent"): "of a product: PyTorch has none",
    ("pinv", "gradient"): "of a matrix that is said to be symmetric and is not",
    ("pinv", "tangent"): "the same",
    ("pinv", "second_derivative"): "the same",
    ("svd", "values"): "the sign of a vector is free",
    ("svd_lowrank", "values"): "the same",
    ("pca_lowrank", "values"): "the same",
    ("triangular_solve", "tangent"): "PyTorch's reads the other triangle as well",
    ("einsum", "values"): "the dtype of a sum of small integers: PYTORCH.md",
    ("local_response_norm", "values"): "of integers",
    ("cosine_embedding_loss", "values"): "of integers",
    ("scaled_dot_product_attention", "values"): "with dropout",
    ("multi_head_attention_forward", "values"): "with dropout",
    ("matrix_exp", "values of torch.float32"): "what is left of terms of 9e4 is rounded",
    ("cumprod", "second_derivative of torch.float32"): "PyTorch has none; here it is rounding, 4e-9",
    ("logcumsumexp", "gradient of torch.float32"): "PyTorch's is further from that of float64",
}  # fmt: skip


class NotHere(Exception):
    """Something that minigrad leaves out on purpose, such as a layout or a dtype."""


DTYPES = {
    t: getattr(minigrad, str(t).partition(".")[2])
    for t in (torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8)
    + (torch.uint8, torch.bool)
}  # fmt: skip


def ours(value: Any) -> Any:
    """An argument of PyTorch's as minigrad's."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.dtype not in DTYPES:
            raise NotHere
        made = minigrad.tensor(value.detach().numpy().copy(), dtype=DTYPES[value.dtype])
        return made.requires_grad_() if value.requires_grad else made
    if isinstance(value, torch.dtype):
        if value not in DTYPES:
            raise NotHere
        return DTYPES[value]
    if isinstance(value, (torch.Generator, torch.layout)):
        raise NotHere
    if isinstance(value, torch.Size):
        return minigrad.Size(value)
    if isinstance(value, torch.device):
        return minigrad.device(str(value))
    if isinstance(value, torch.memory_format):
        return getattr(minigrad, str(value).partition(".")[2])
    if isinstance(value, torch.nn.PairwiseDistance):
        return minigrad.nn.PairwiseDistance(value.norm, value.eps, value.keepdim)
    if isinstance(value, torch.nn.Module):
        raise NotHere
    if str(getattr(value, "__module__", "")).startswith(("torch.nn.functional", "torch._C")):
        return getattr(minigrad.nn.functional, value.__name__)
    if isinstance(value, (list, tuple)):
        return type(value)(ours(v) for v in value)
    return {k: ours(v) for k, v in value.items()} if isinstance(value, dict) else value


def tensors(value: Any, lib: Any) -> Iterator[Any]:
    """The tensors in a result or in arguments."""
    if isinstance(value, lib.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors(list(value.values()), lib)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors(v, lib)


def function_of(op: Any) -> Any:
    """The same operation of minigrad; None if there is none."""
    if isinstance(op.op, types.FunctionType) and op.op.__module__.startswith("torch.testing"):
        if op.op.__name__ == "wrapper":
            return None
        return with_minigrad(op.op)
    try:
        f: Any = minigrad
        for part in op.name.split("."):
            f = getattr(f, part)
    except AttributeError:
        f = getattr(minigrad.Tensor, op.name, None)
    return f


def with_minigrad(f: Any) -> Any:
    """A function of PyTorch's table, in which `torch` means minigrad."""
    around = {**f.__globals__, "torch": minigrad, "F": minigrad.nn.functional}
    made = types.FunctionType(f.__code__, around, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__ = f.__kwdefaults__
    return made


def value_of(t: Any) -> Any:
    if t is None:
        return None
    if isinstance(t, torch.Tensor) and t._is_zerotensor():
        t = t + torch.zeros((), dtype=t.dtype)
    return np.array(t.detach().numpy())


def close(theirs: list[Any], mine: list[Any], rtol: float) -> bool:
    """Are these the same values, shapes and dtypes? No gradient is as good as one of zeros."""
    if len(theirs) != len(mine):
        return False
    for a, b in zip(theirs, mine, strict=True):
        if a is None or b is None:
            if np.any(a if b is None else b):
                return False
            continue
        rtol = rtol if a.dtype.kind != "f" or a.itemsize == 8 else 2e-4
        if (
            a.shape != b.shape
            or a.dtype != b.dtype
            or not np.allclose(a, b, rtol, rtol, equal_nan=True)
        ):
            return False
    return True


class Side:
    """One call of an operation, by one of the two libraries. Random directions are the same for both."""

    def __init__(self, lib: Any, forward_ad: Any, f: Any, args: Any, kwargs: Any) -> None:
        self.lib, self.forward_ad, self.f, self.args, self.kwargs = lib, forward_ad, f, args, kwargs

    def leaves(self) -> list[Any]:
        return [x for x in tensors([self.args, self.kwargs], self.lib) if x.requires_grad]

    def directions(self, like: list[Any]) -> list[Any]:
        rng = np.random.default_rng(len(like))
        return [self.lib.tensor(rng.normal(size=tuple(x.shape)), dtype=x.dtype) for x in like]

    def results(self) -> list[Any]:
        return list(tensors(self.f(*self.args, **self.kwargs), self.lib))

    def values(self) -> list[Any]:
        return [value_of(z) for z in self.results()]

    def pulled_back(self, zs: list[Any], **settings: Any) -> list[Any]:
        heads = [z for z in zs if z is not None and z.requires_grad]
        if not heads or not self.leaves():
            return [None] * len(self.leaves())
        given = self.directions(heads)
        return list(
            self.lib.autograd.grad(heads, self.leaves(), given, allow_unused=True, **settings)
        )

    def gradient(self) -> list[Any]:
        return [value_of(g) for g in self.pulled_back(self.results())]

    def second_derivative(self) -> list[Any]:
        first = self.pulled_back(self.results(), create_graph=True)
        # A gradient that is zero may be None in one of the two: it adds nothing.
        total = sum(
            (g * d).sum()
            for g, d in zip(first, self.directions(self.leaves()), strict=True)
            if g is not None
        )
        return (
            [value_of(g) for g in self.pulled_back([total])]
            if hasattr(total, "requires_grad")
            else []
        )

    def tangent(self) -> list[Any]:
        given = iter(self.directions(self.leaves()))

        def dual(value: Any) -> Any:
            if isinstance(value, self.lib.Tensor):
                return (
                    self.forward_ad.make_dual(value.detach(), next(given))
                    if value.requires_grad
                    else value
                )
            if isinstance(value, dict):
                return {k: dual(v) for k, v in value.items()}
            return (
                type(value)(dual(v) for v in value) if isinstance(value, (list, tuple)) else value
            )

        with self.forward_ad.dual_level():
            zs = tensors(self.f(*dual(self.args), **dual(self.kwargs)), self.lib)
            return [value_of(self.forward_ad.unpack_dual(z).tangent) for z in zs]


def differences(op: Any, dtype: Any) -> Iterator[str]:
    """What differs between the two, one line for each comparison."""
    f = function_of(op)
    derived = op.supports_autograd and dtype.is_floating_point
    torch.manual_seed(0)
    for n, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=derived)):
        if n == SAMPLES:
            return
        args = [sample.input, *sample.args]
        try:
            mine = Side(minigrad, our_forward, f, ours(args), ours(sample.kwargs))
        except NotHere:
            continue
        theirs = Side(torch, their_forward, op, args, sample.kwargs)
        for what in ("values", "gradient", "tangent", "second_derivative")[
            : 4 if derived and n < DERIVED else 1 + derived
        ]:
            try:
                expected = getattr(theirs, what)()
            except Exception:  # PyTorch refuses, or has no such derivative, or its result is sparse
                continue
            try:
                got = getattr(mine, what)()
            except (NotImplementedError, AttributeError) as error:
                if re.search("leaves|left out|is not there|has no attribute", str(error)):
                    break
                raise
            except Exception as error:
                yield f"{what}: {type(error).__name__}: {error}"
                break
            if not close(expected, got, 1e-6 if what == "second_derivative" else 1e-7):
                yield what
                break


def names() -> list[Any]:
    return [
        pytest.param(op, id=op.name + (f".{op.variant_test_name}" if op.variant_test_name else ""))
        for op in op_db
        if op.name not in DRAWN and not op.name.startswith("fft.") and function_of(op) is not None
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", names())
def test_the_samples_of_pytorch_agree(op):
    short = op.name.rpartition(".")[2]
    found = []
    for dtype in (torch.float64, torch.float32, torch.int64, torch.bool):
        if dtype in op.dtypes:
            found += [f"{line} of {dtype}" for line in differences(op, dtype)]
    unknown = [
        line
        for line in found
        if (short, re.split(":| of ", line)[0]) not in KNOWN and (short, line) not in KNOWN
    ]

    assert not unknown, "\n".join(dict.fromkeys(unknown))


# Lazy layers are not initialized.
MODULES = [
    m
    for m in module_db
    if hasattr(minigrad.nn, m.module_cls.__name__) and "Lazy" not in m.module_cls.__name__
]
GRADIENT_DIFFERS = {
    "CTCLoss": "see KNOWN",
    "KLDivLoss": "its inputs are no leaves: the samples make them with log()",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("info", MODULES, ids=lambda info: info.module_cls.__name__)
def test_the_samples_of_pytorchs_modules_agree(info, training):
    name = info.module_cls.__name__
    torch.manual_seed(0)
    compared = 0
    for given in info.module_inputs_func(
        info, device="cpu", dtype=torch.float64, requires_grad=True, training=training
    ):
        made, called = given.constructor_input, given.forward_input
        try:
            settings, inputs = (ours([list(i.args), i.kwargs]) for i in (made, called))
            theirs = info.module_cls(*made.args, **made.kwargs).double().train(training)
            mine = getattr(minigrad.nn, name)(*settings[0], **settings[1]).double().train(training)
        except (NotHere, NotImplementedError):
            continue
        state = {k: v.numpy().copy() for k, v in theirs.state_dict().items()}
        assert list(mine.state_dict()) == list(state) and repr(mine) == repr(theirs)
        mine.load_state_dict({k: minigrad.tensor(v) for k, v in state.items()})
        a = Side(torch, None, theirs, list(called.args), called.kwargs)
        b = Side(minigrad, None, mine, *inputs)
        results = a.results(), b.results()
        assert close(*([value_of(z) for z in zs] for zs in results), 1e-8)
        if name not in GRADIENT_DIFFERS:
            assert close(
                *(
                    [value_of(g) for g in s.pulled_back(zs)]
                    for s, zs in zip((a, b), results, strict=True)
                ),
                1e-7,
            )
        weights = [list(m.parameters()) for m in (theirs, mine)]
        if weights[0] and name not in GRADIENT_DIFFERS:
            totals = [sum(z.sum() for z in s.results() if z.requires_grad) for s in (a, b)]
            grads = [
                lib.autograd.grad(z, ps, allow_unused=True)
                for lib, z, ps in zip((torch, minigrad), totals, weights, strict=True)
            ]
            assert close(*([value_of(g) for g in gs] for gs in grads), 1e-7)
        assert close(
            *([value_of(v) for v in m.state_dict().values()] for m in (theirs, mine)), 1e-8
        )
        compared += 1

    if not compared:
        pytest.skip("all samples need something that is left out")
