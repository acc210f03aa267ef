"""What is written for each op does what dispatch.py does, and can be read and stepped through."""

import inspect
import subprocess
import sys
import traceback

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import autograd, tensor
from minigrad.core import codegen, modes
from minigrad.core.dispatch import apply
from minigrad.core.op import REGISTRY
from tests.samples import at_every_sample


def plain(setting):
    """A setting whose arrays, of which a node keeps a copy, can be compared."""
    if isinstance(setting, tuple):
        return tuple(plain(part) for part in setting)
    return setting.tolist() if isinstance(setting, np.ndarray) else setting


def described(node):
    """What a node holds, in a form that can be compared."""
    saved = {
        name: (
            np.asarray(getattr(value, "array", value)).tolist()
            if version is not None
            else plain(value),
            version,
        )
        for name, (value, version) in node.saved_values().items()
    }
    version = getattr(node, "version", 0) if node.plan.tensors else None
    return node.plan, node.edges, saved, version, node.place is None, node.versions


@pytest.fixture(params=[False, True], ids=["", "with lines"])
def lines(request):
    with modes.within("tracing", request.param):
        yield request.param


@at_every_sample(lambda s: codegen.is_usual(s.op) and s.op.rules)
def test_the_short_way_puts_the_same_node_on_the_tape(sample, lines):
    differentiable = [k for k, a in enumerate(sample.args) if np.asarray(a).dtype.kind == "f"]
    for wanted in ([k] for k in differentiable), (differentiable,):
        for chosen in wanted:
            tensors = [tensor(a, requires_grad=k in chosen) for k, a in enumerate(sample.args)]
            names = sample.op.inputs * (len(tensors) if sample.op.variadic else 1)
            if len(chosen) == 1 and names[chosen[0]] not in sample.op.rules:
                continue
            long = apply(sample.op, tensors, sample.settings)
            short = sample.op.apply(*tensors, **sample.settings)

            assert (short.grad_fn.place is not None) == lines
            assert described(short.grad_fn) == described(long.grad_fn)
            np.testing.assert_array_equal(short.detach(), long.detach())
            assert type(short.array) is type(long.array) or short.array.ndim == 0


def test_lines_and_no_grad_do_not_lengthen_the_way(lines, monkeypatch):
    monkeypatch.setattr(codegen, "apply", None)  # so does what is written from now on
    ops = {name: codegen._generate(REGISTRY[name], "apply") for name in ("exp", "mul", "transpose")}
    write = codegen._generate(minigrad.ops.mul, "apply_")
    x = minigrad.ones(2, 3, requires_grad=True)

    y = ops["transpose"](ops["mul"](ops["exp"](x), 2.0), dim0=0, dim1=1)
    write(y := ops["exp"](x), 2.0)
    with minigrad.no_grad():
        write(x, ops["mul"](x, x))

    assert (y.grad_fn.place is not None) == lines and x.tolist()[0][0] == 1


def test_most_ops_have_a_short_way():
    assert sum(codegen.is_usual(op) for op in REGISTRY.values()) > len(REGISTRY) / 3


def test_explain_prints_the_text():
    x = minigrad.ones(2, requires_grad=True)
    x * x

    text = codegen.source_of(minigrad.ops.mul)

    assert "zd = xd * yd" in text and "return rule_x(g, yd), rule_y(g, xd)" in text


@pytest.mark.parametrize("number", [2, 2.5, np.float64(3), np.float32(3), True])
def test_numbers_are_constants_of_the_tensors_type(number):
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    y = number * x - x / number + (x**number)

    assert y.dtype == np.float32
    y.sum().backward()
    n = float(number)
    np.testing.assert_allclose(x.grad, n - 1 / n + n * np.array([1.0, 2.0]) ** (n - 1), rtol=1e-5)


SETTINGS = {
    "leaky_relu": lambda x, n: F.leaky_relu(x, n),
    "softplus": lambda x, n: F.softplus(x, n),
    "huber_loss": lambda x, n: F.huber_loss(x, x.detach() * 3, delta=n),
    "layer_norm": lambda x, n: F.layer_norm(x, (2,), eps=n),
    "addcmul": lambda x, n: x.addcmul(x, x, value=n),
    "addmm": lambda x, n: minigrad.addmm(x, x[None].T, x[None], beta=n, alpha=n),
    "norm": lambda x, n: x.norm(n),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_are_numpy_numbers_leave_results_and_gradients_in_single_precision(name):
    x = minigrad.tensor([1.0, -2.0], requires_grad=True)

    z = SETTINGS[name](x, np.float64(1.5))
    (g,) = autograd.grad(z.sum(), x)

    assert z.dtype == g.dtype == np.float32


def test_nothing_is_recorded_when_recording_is_off_in_another_thread_only():
    import threading

    x = minigrad.ones(2, requires_grad=True)
    entered, leave = threading.Event(), threading.Event()

    def elsewhere():
        with minigrad.no_grad():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    entered.wait(10)
    assert modes.unusual == 1 and (x * 2).requires_grad
    leave.set()
    thread.join()
    assert modes.unusual == 0


@pytest.mark.parametrize("name", ["exp", "mul", "sum", "transpose", "where", "matmul", "gt"])
def test_the_source_of_what_runs_can_be_read(name):
    op = REGISTRY[name]

    assert inspect.getsource(op.apply).startswith(f"def {name}(")
    if codegen.is_usual(op, in_place=True):
        assert inspect.getsource(op.apply_).startswith(f"def {name}_(")


def test_the_source_of_a_backward_can_be_read():
    z = minigrad.ones(2, requires_grad=True) * 3

    assert "rule_x(g, y.array)" in inspect.getsource(z.grad_fn.plan.run)


def test_a_traceback_through_a_rule_shows_the_generated_line_and_the_rule():
    x = minigrad.ones(2, requires_grad=True)
    z = x * minigrad.ones(2)
    with pytest.raises(ValueError, match="broadcast") as caught:
        z.grad_fn.plan.run(np.ones(3), z.grad_fn)
    shown = "".join(traceback.format_exception(caught.value))

    assert "return rule_x(g, yd)," in shown and "x=lambda g, y: g * y" in shown


def test_the_debugger_steps_from_an_operator_into_what_runs(tmp_path):
    script = tmp_path / "product.py"
    script.write_text(
        "import minigrad\nx, y = minigrad.ones(2, requires_grad=True), minigrad.ones(2)\nz = x * y\nz = x * y\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pdb", str(script)],
        input="tbreak 4\ncontinue\n" + "step\n" * 4 + "list\nquit\n",
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )

    assert "mul(x, y)" in done.stdout  # the operator is the function that was written for the op
    assert "xd = x.array; xn = x.node" in done.stdout


CALLS = """
import sys
import minigrad

def calls_of(f):  # how many Python functions are entered while f runs
    entered = []
    sys.setprofile(lambda frame, event, _: entered.append(event))
    f()
    sys.setprofile(None)
    return entered.count("call") - 1  # without f itself

x1, x2 = (minigrad.ones(2, 3, requires_grad=True) for _ in "ab")
z = x1 * x2

def add():
    global z
    z += x2

for f in (add, lambda: x1 * x2):  # what is written at the first use is written now
    f()
    print(calls_of(f))
"""


def test_an_operator_makes_few_calls():
    # In a process of its own: a profiler sees whatever else goes on in one.
    done = subprocess.run(
        [sys.executable, "-c", CALLS], capture_output=True, encoding="utf-8", timeout=120
    )

    added, multiplied = map(int, done.stdout.split())
    assert added <= 12 and multiplied <= 2, done.stdout


def written(value, dtype=np.float32):
    """A number that an optimizer has written to: its values are an array without axes."""
    x = minigrad.zeros((), dtype=dtype).fill_(value)
    assert x.array.__class__ is np.ndarray
    return x


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "lt", "atan2"])
def test_a_parameter_of_one_number_meets_a_scalar_as_a_scalar(name, monkeypatch):
    def met(*arrays):
        seen.append({array.__class__ for array in arrays})
        return forward(*arrays)

    op, seen = REGISTRY[name], []
    forward, apply = op.forward, op.apply
    x, p = minigrad.tensor(1.5, requires_grad=True), written(2.5).requires_grad_()
    monkeypatch.setitem(codegen.OPERATORS, op.numpy, "forward(xd, yd)")
    text, scope = codegen.text_of(op)
    made = codegen.compiled(f"{name}, watched", text, {**scope, "forward": met})[name]

    z = made(x, p)

    assert seen == [{np.float32}] and (z == apply(x, p)) and z.dtype == apply(x, p).dtype
    if z.requires_grad:
        for a, b in zip(autograd.grad(z, (x, p)), autograd.grad(apply(x, p), (x, p)), strict=True):
            assert a == b and a.dtype == np.float32


def test_integers_of_one_number_wrap_around_in_both_forms():
    largest = np.iinfo(np.int64).max
    one, many = written(1, np.int64), minigrad.tensor(largest)

    assert (one + many).item() == (many + one).item() == -(2**63)
