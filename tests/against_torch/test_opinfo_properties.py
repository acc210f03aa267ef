"""Properties that hold for each of PyTorch's own samples.

- A program computes what an eager run does, also with other values than those of the recording. Each sample is
  recorded twice: with its tensors as arguments, and with tensors from outside that are then written to, followed by
  backward(). Where a program would need the values of the recording, it must be refused.
- If an operand or a result is written to after the operation, backward() raises an error, or the gradient is right.
"""

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import static

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # PyTorch's table imports it

from tests.against_torch.test_opinfo import (
    MODULES,
    NotHere,
    function_of,
    names,
    ours,
    tensors,
    value_of,
)

SAMPLES = 3  # of one operation and dtype
DRAWN = (
    "nn.functional.scaled_dot_product_attention",
    "nn.functional.multi_head_attention_forward",
    "svd_lowrank",
    "pca_lowrank",
)
OPS = [p for p in names() if p.values[0].name not in DRAWN]


def with_others(array: Any) -> Any:
    """Other values of the same kind: an index stays in range."""
    moved = np.roll(array.ravel(), 1).reshape(array.shape)
    return moved * 0.9 if array.dtype.kind == "f" else moved.copy()


def filled(thing: Any, values: Iterator[Any]) -> Any:
    """The arguments with these tensors in place of theirs."""
    if isinstance(thing, minigrad.Tensor):
        return next(values)
    if isinstance(thing, dict):
        return {k: filled(v, values) for k, v in thing.items()}
    if isinstance(thing, (list, tuple)):
        return type(thing)([filled(v, values) for v in thing])
    return thing


def calls(op: Any, dtype: Any) -> Iterator[tuple[Callable[..., list[Any]], list[Any]]]:
    """Functions of the tensors of a sample, and their values."""
    f: Any = function_of(op)
    torch.manual_seed(0)
    for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), SAMPLES):
        try:
            given = [ours([sample.input, *sample.args]), ours(sample.kwargs)]
        except NotHere:
            continue

        def call(*xs: Any, given: Any = given) -> list[Any]:
            args, kwargs = filled(given, iter(xs))
            return list(tensors(f(*args, **kwargs), minigrad))

        if held := list(tensors(given, minigrad)):
            yield call, [t.numpy().copy() for t in held]


def made(arrays: list[Any], requires_grad: bool = False) -> list[Any]:
    return [
        minigrad.tensor(a).requires_grad_(requires_grad and a.dtype.kind == "f") for a in arrays
    ]


def backward(zs: list[Any]) -> None:
    total = sum((z * z).sum() for z in zs if z.requires_grad and z.dtype.kind == "f")
    if isinstance(total, minigrad.Tensor):
        total.backward()


def assert_same(program: list[Any], eager: list[Any], what: str) -> None:
    assert len(program) == len(eager), what
    for a, b in zip(program, eager, strict=True):
        a, b = value_of(a), value_of(b)
        assert (a is None) == (b is None), what
        if a is not None:
            assert a.shape == b.shape and a.dtype == b.dtype, what
            np.testing.assert_allclose(a, b, 1e-6, 1e-8, err_msg=what)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", OPS)
def test_a_program_has_no_values_of_its_recording(op):
    for dtype in (torch.float64, torch.int64):
        for call, first in calls(op, dtype) if dtype in op.dtypes else ():
            second = [with_others(a) for a in first]
            held, other = made(first, True), made(second, True)
            try:
                call(*made(first))
                eager = call(*other)
                backward(eager)
            except Exception:  # other values do not fit
                continue
            with minigrad.no_grad():
                expected = call(*made(second))

            def step(held=held, call=call):
                for x in held:
                    x.grad = None
                zs = call(*held)
                backward(zs)
                return zs

            try:
                program = static.record(lambda *xs, call=call: tuple(call(*xs)))(*made(first))
                assert_same(list(program(*made(second))), expected, f"arguments {first}")
                compiled = static.compile(step)
                compiled()
                with minigrad.no_grad():
                    for x, y in zip(held, other, strict=True):
                        x.copy_(y)
                assert_same(compiled(), expected, f"from outside: {first}")
                assert_same([x.grad for x in held], [x.grad for x in other], f"gradients: {first}")
            except (static.ProgramError, np.linalg.LinAlgError):  # refused, or loud
                continue


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("info", MODULES, ids=lambda info: info.module_cls.__name__)
def test_a_module_in_a_program_computes_what_an_eager_one_does(info, training):
    """Also the gradients of its parameters, and what it keeps, such as running statistics."""
    name = info.module_cls.__name__
    if training and ("ropout" in name or "Transformer" in name or name == "RReLU"):
        pytest.skip("it draws random numbers")
    given = info.module_inputs_func(
        info, device="cpu", dtype=torch.float64, requires_grad=True, training=training
    )
    for sample in itertools.islice(given, 4):
        try:
            (args, kwargs), inputs = (
                ours([list(i.args), i.kwargs])
                for i in (sample.constructor_input, sample.forward_input)
            )
            eager = getattr(minigrad.nn, name)(*args, **kwargs).double().train(training)
        except (NotHere, NotImplementedError):
            continue
        recorded = copy.deepcopy(eager)
        held = list(tensors(inputs, minigrad))
        batches = [[t.detach().numpy().copy() for t in held]]
        batches += [[with_others(a) for a in batches[0]]]

        def run(layer, xs, inputs=inputs):
            layer.zero_grad()
            a, k = filled(inputs, iter(xs))
            results = list(tensors(layer(*a, **k), minigrad))
            backward(results)
            return results

        xs = made(batches[0])
        step = static.compile(lambda layer=recorded, xs=xs, run=run: run(layer, xs))
        try:
            run(copy.deepcopy(eager), made(batches[1]))
            step()
        except Exception:  # refused, or other values do not fit
            continue
        run(eager, made(batches[0]))
        for batch in (*batches, batches[1]):
            for x, values in zip(xs, batch, strict=True):
                x.copy_(minigrad.tensor(values))
            assert_same(step(), run(eager, made(batch)), f"{args} {kwargs}")
            for a, b in zip(recorded.parameters(), eager.parameters(), strict=True):
                assert_same([a.grad], [b.grad], f"{args} {kwargs}")
            kept = zip(recorded.state_dict().items(), eager.state_dict().values(), strict=True)
            for (key, a), b in kept:
                assert_same([a], [b], key)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", OPS)
def test_a_write_after_the_operation_is_refused_or_changes_no_gradient(op):
    if torch.float64 not in op.dtypes or not op.supports_autograd:
        pytest.skip("it has no gradient")
    for call, values in itertools.islice(calls(op, torch.float64), 2):

        def gradients(written: int | None, call=call, values=values) -> list[Any] | None:
            """The gradients, after a write to one of the operands and results; None if this is refused."""
            leaves = made(values, True)
            operands = [x * 1 if x.requires_grad else x for x in leaves]
            results = call(*operands)
            total = sum((z * 1).sum() for z in results if z.requires_grad and z.dtype.kind == "f")
            if not isinstance(total, minigrad.Tensor):
                return None
            if written is not None:
                tensor = [*operands, *results][written]
                try:
                    with minigrad.no_grad():
                        tensor.copy_(minigrad.tensor(with_others(tensor.numpy())))
                except RuntimeError:  # several entries share their memory
                    return None
            try:
                total.backward()
            except RuntimeError as error:
                assert "modified by an inplace operation" in str(error)
                return None
            return [x.grad for x in leaves]

        try:
            right = gradients(None)
            number = len(values) + len(call(*made(values)))
        except Exception:  # with gradients, such a call is refused
            continue
        for written in range(number if right is not None else 0):
            if (found := gradients(written)) is not None:
                assert_same(found, right or [], f"after a write to {written}")
