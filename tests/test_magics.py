"""The magics, driven through a shell as a learner would, and in notebooks as nbval does."""

import asyncio
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlparse

import nbformat
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from nbformat.v4 import new_code_cell, new_notebook

import minigrad
from minigrad.core.modes import state, trace_lines
from minigrad.jupyter import magics
from minigrad.jupyter.display import chosen_mode
from minigrad.tape import Tape
from minigrad.teach import question
from tests.shells import NO_HISTORY

SETUP = """
import minigrad
from tests.shells import NO_HISTORY
x1, x2, x3, x4 = (minigrad.ones(2, 3, 4).requires_grad_(k < 2) for k in range(4))
"""
LESSON = """%%autograd t
y1 = x1 + x2
y2 = x3 + x4
z = y1 * y2
z += x2"""


@pytest.fixture
def shell(monkeypatch):
    """A fresh shell with the extension loaded; what it displays is kept in `shell.shown`."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor", config=NO_HISTORY)
    shell.shown = []
    monkeypatch.setattr("minigrad.jupyter.magics.display", lambda tape: shell.shown.append(tape))
    monkeypatch.setattr(minigrad, "display", "svg")
    shell.run_line_magic("load_ext", "minigrad")
    assert shell.run_cell(SETUP, store_history=True).success
    yield shell
    shell.run_line_magic("unload_ext", "minigrad")
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()
    trace_lines(False)


def run(shell, cell):
    return shell.run_cell(cell, store_history=True)


def test_autograd_records_the_cell_shows_the_tape_and_binds_it(shell):
    result = run(shell, LESSON)

    tape = shell.user_ns["t"]
    assert result.success and isinstance(tape, Tape)
    assert shell.shown == [tape]
    assert [n["name"] for n in tape.document["nodes"] if n["op"]] == ["y1", "y2", "z", "z"]
    assert shell.user_ns["z"]._version == 1


def test_both_engines_need_pytorch_and_show_no_single_page(shell, monkeypatch):
    monkeypatch.setattr("minigrad.teach.two_engines.has_torch", lambda: False)
    with pytest.raises(UsageError, match="PyTorch is not (imported|installed).* To fix it, "):
        shell.run_cell_magic("autograd", "pair --both", "x1 * 2")
    with pytest.raises(UsageError, match="pair.torch.save"):
        shell.run_cell_magic("autograd", "pair --both --open", "x1 * 2")


def test_lines_are_counted_as_the_learner_counts_them(shell):
    run(shell, LESSON)

    code = shell.user_ns["t"].document["code"]

    assert code[0] == {
        "where": "In [2]",
        "source": 0,
        "line": 2,
        "text": "y1 = x1 + x2",
        "indent": 0,
    }


def test_a_line_of_a_function_from_another_cell_is_told_from_the_cells_own(shell):
    run(shell, "def double(x):\n\n\n\n\n\n    return x + x")

    run(shell, "%%autograd t\ny = double(x1)\nz = y * y")

    rows = shell.user_ns["t"].text().splitlines()
    assert [row.split()[1:4] for row in rows if " x1, x1 " in row] == [["7", "of", "another"]]
    assert [row.split()[1:3] for row in rows if " y, y " in row] == [["3", "mul"]]


def test_a_last_expression_is_displayed_as_in_any_cell(shell, capsys):
    run(shell, "%%autograd\n40 + 2")

    assert "Out[2]: 42" in capsys.readouterr().out


def test_what_shows_the_value_of_a_cell_is_not_recorded(shell, capsys):
    run(shell, "class Shown:\n    def __repr__(self): return f'{x1.sum() * 2}'")

    for cell in ("x1 * 2\nShown()", "import asyncio\nx1 * 2\nawait asyncio.sleep(0, Shown())"):
        run(shell, f"%%autograd\n{cell}")

        assert "48.0" in capsys.readouterr().out
        assert shell.shown[-1].text().startswith("tape: 1 operation,")


def test_a_semicolon_silences_the_last_expression(shell, capsys):
    run(shell, "%%autograd\n40 + 2;")

    assert "42" not in capsys.readouterr().out


def test_an_error_keeps_the_learners_traceback_and_the_tape_up_to_it(shell, capsys):
    result = run(shell, "%%autograd\na = x1 + x2\nb = a / undefined\nc = b + 1")

    out = capsys.readouterr().out
    assert isinstance(result.error_in_exec, NameError)
    assert "Cell In[2], line 3" in out
    assert "----> 3 b = a / undefined" in out
    assert "magics.py" not in out
    assert [n["name"] for n in shell.shown[0].document["nodes"] if n["op"]] == ["a"]
    assert "the code stopped (line 3)" in shell.shown[0].text()


@pytest.mark.parametrize("line", ["a = x1 +* x2", "return x1"])
def test_a_syntax_error_is_the_users_and_shows_no_tape(shell, capsys, line):
    run(shell, f"%%autograd\n{line}")

    out = capsys.readouterr().out
    assert "SyntaxError" in out and "line 2" in out
    assert "run_cell_magic" not in out and "magics.py" not in out
    assert shell.shown == []


def test_a_cell_that_stops_before_it_records_anything_says_both(shell):
    run(shell, "%%autograd\nraise ValueError")

    assert "no operation on a tensor ran; the code stopped with ValueError" in shell.shown[0].text()


def test_a_cell_that_records_nothing_says_so(shell):
    run(shell, "%%autograd\nu = 3 + 4")

    assert "Nothing was recorded: no operation on a tensor ran." in shell.shown[0].text()
    assert "Nothing was recorded" in shell.shown[0].svg()


def test_a_cell_under_autograd_may_use_magics_itself(shell):
    run(shell, "%%autograd\n%who_ls\na = x1 * 2")

    assert shell.user_ns["a"].requires_grad


@pytest.mark.parametrize(
    "line, says",
    [
        ("%%autograd 3", "'3' is not one"),
        ("%%autograd class", "'class' is not one"),
        (
            "%%autograd my tape",
            "a tape has one name, and 'my tape' are 2 words. Write  %%autograd my_tape",
        ),
        ("%%autograd 't", "No closing quotation"),
        ('%%autograd "t,"', "Write  %%autograd t"),
        ("%%autograd t # first", "Write  %%autograd t_first"),
        ("# first\n%%autograd t", "%%autograd must be the first line of the cell"),
        ("%%autograd --engine steam", "--engine graph|tape|recursive"),
        ("%%autograd --wrong", "Write  %%autograd [NAME]"),
        (
            "%tape nope",
            "there is no tape called nope. To record one, write %%autograd at the top of a cell",
        ),
        ("%tape x1", "x1 is a tensor of float32, not a tape"),
        ("%tape x1 x2", "one tape at a time"),
        ("%chain", "which tensor? For example: %chain z"),
        ("%chain nope", "there is nothing called nope"),
        ("%chain x9", "there is nothing called x9. Did you mean x4?"),
        ("%chain None", "None is None, not a tensor"),
        ("%chain z --all", "%chain has no option --all. %chain? shows"),
        ("%chain x1 +", "'x1 +' is not a valid expression. %chain?"),
        ("%compare x1", "%compare z x1=y2"),
        ("%compare nope x1=1", "there is nothing called nope"),
        ("%compare x1=x2", "the tensor to differentiate comes first: %compare z x1=x2"),
        ("%compare x1=x2 x3", "the tensor to differentiate comes first: %compare x3 x1=x2"),
        ("%compare x1 =b", "the tensor to differentiate comes first: %compare z x1=b"),
        ("%compare x1 nonsense", "'nonsense' is not of the form name=expression"),
        ("%compare x1 x1= x2=3", "an expression is missing after  x1="),
        ("%compare x1 x1=x2 x3", "'x2 x3' is not a valid expression"),
        ("%compare x1 x1=1 x1=2", "x1 is given twice"),
        ("%compare x1 In[0]=1", "In[0] is a str, not a tensor"),
        ("%gradcheck", "%gradcheck f x"),
        (
            "%gradcheck (lambda y: y @ x2[0].T) x1",
            "reads tensors of another dtype, which are not among its inputs",
        ),
        ("%gradcheck x1 x2", "x1 is a tensor of float32, not a function"),
        ("%gradcheck abs 3", "3 is an int, not a floating-point tensor"),
    ],
)
def test_a_line_that_makes_no_sense_is_explained(shell, capsys, line, says):
    run(shell, line + "\nx1 + x2" * ("%%" in line))

    written = capsys.readouterr()
    assert "UsageError" in written.err and says in written.err
    assert "Traceback" not in written.out + written.err
    assert shell.shown == []


@pytest.mark.parametrize(
    "name, what, bound",
    [
        ("model", "a Linear", "tape"),
        ("minigrad", "a module", "tape"),
        ("print", "a builtin_function_or_method", "tape"),
        ("tape", "a list", "tape_1"),
    ],
)
def test_a_tape_takes_no_name_that_something_else_has(shell, capsys, name, what, bound):
    run(shell, "model = minigrad.nn.Linear(2, 1)")
    shell.user_ns["tape"] = [] if name == "tape" else None
    before = shell.user_ns.get(name)

    run(shell, f"%%autograd {name}\nx1 * 2")

    assert shell.user_ns.get(name) is before
    assert shell.user_ns[bound] is shell.shown[0]
    assert shell.shown[0].name == bound
    assert f"{name} is {what} and is not overwritten" in capsys.readouterr().err


def test_a_tape_may_take_the_name_of_one_of_minigrads_functions(shell):
    run(shell, "from minigrad import *\nassert callable(t)")

    run(shell, LESSON)

    assert shell.user_ns["t"] is shell.shown[0]


def test_a_tape_does_not_take_the_name_of_a_tensor(shell, capsys):
    run(shell, "%%autograd z\nz = x1 * x2")

    assert isinstance(shell.user_ns["z"], minigrad.Tensor)
    assert shell.user_ns["tape"] is shell.shown[0]
    assert "%%autograd z_tape" in capsys.readouterr().err


@pytest.mark.parametrize("engine, nodes", [("graph", 3), ("tape", 3), ("recursive", 5)])
def test_each_engine_can_run_the_backward_passes_of_a_cell(shell, engine, nodes):
    run(shell, f"%%autograd --engine {engine}\na = x1 * 2\nb = (a + a).sum()\nb.backward()")

    passed = shell.user_ns["tape"].document["backward"][0]
    assert (shell.user_ns["x1"].grad == 4).all()
    # sum, add, mul, leaf; by recursion mul and leaf have a turn for each of the two paths
    assert passed["steps"] == nodes + 1
    assert state.engine == "graph"


AWAITING = """%%autograd t
import asyncio
async def doubled(x):
    await asyncio.sleep(0)
    return x * 2
y = await doubled(x1)
later = asyncio.ensure_future(doubled(y))
for _ in range(2):
    y = y + await doubled(x1)
await later"""


@pytest.mark.parametrize("running", [False, True])
def test_a_recorded_cell_may_await(shell, capsys, running):
    if running:  # as in a kernel, whose event loop is running
        cell = shell.transform_cell(AWAITING)
        result = asyncio.run(shell.run_cell_async(AWAITING, transformed_cell=cell))
    else:
        result = run(shell, AWAITING)

    assert result.success
    written = [n["expression"] for n in shell.user_ns["t"].document["nodes"] if n["op"]]
    assert written[0] == "x1 * 2" and len(written) == 6
    assert "tensor([[[4., 4." in capsys.readouterr().out


def test_no_widget_shows_the_picture(shell, monkeypatch):
    modes = []
    monkeypatch.setattr("minigrad.jupyter.magics.display", lambda tape: modes.append(chosen_mode()))
    monkeypatch.setattr(minigrad, "display", "widget")

    run(shell, "%%autograd\nx1 + x2")
    run(shell, "%%autograd --no-widget\nx1 + x2")

    assert modes == ["widget", "svg"]


def test_open_writes_the_page_and_opens_it(shell, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)

    run(shell, "%%autograd t --open\ny = x1 + x2")

    page = Path(urlparse(opened[0]).path)
    assert page.name == "t.html" and "<svg" in page.read_text(encoding="utf-8")


def test_tape_shows_a_tape_again(shell):
    run(shell, LESSON)

    assert run(shell, "%tape").result is shell.user_ns["t"]
    assert run(shell, "%tape t").result is shell.user_ns["t"]


def test_tape_without_a_tape_says_how_to_get_one(shell, capsys):
    run(shell, "%tape")

    assert "write %%autograd at the top of a cell" in capsys.readouterr().err


def test_chain_shows_the_chain_with_the_learners_names(shell):
    run(shell, LESSON)

    text = repr(run(shell, "%chain z").result)

    assert text.startswith("z  AddBackward0")
    assert "x1  AccumulateGrad" in text


def test_chain_takes_an_expression_and_refuses_what_is_no_tensor(shell, capsys):
    assert "MulBackward0" in repr(run(shell, "%chain x1 * 2").result)

    run(shell, "%chain 3")

    assert "3 is an int, not a tensor" in capsys.readouterr().err


def test_compare_asks_the_engine(shell):
    run(shell, LESSON)

    result = run(shell, "%compare z x1=y2 x2=(y2 + 1)").result

    assert result.ok
    assert not run(shell, "%compare z x1=y1*y1").result.ok


def test_compare_takes_the_parameters_of_a_model(shell):
    run(shell, "model = minigrad.nn.Sequential(minigrad.nn.Linear(2, 1))")
    run(shell, "loss = model(minigrad.ones(1, 2)).sum()")

    result = run(shell, "%compare loss model.0.weight=[[1,1]] model.0.bias=[1]").result

    assert result.ok
    assert run(shell, "%compare loss model[0].weight=[[1,1]] model[0].bias=[1]").result.ok


@pytest.mark.parametrize(
    "line",
    [
        "z x1=y2 x2=y2 + 1",
        "z, x1=y2, x2=y2+1",
        "z x1 = y2 x2= y2 +1",
        "z * 1 x1 =y2 x2=y2 + (y2 == y2)",
    ],
)
def test_compare_takes_expressions_with_spaces_and_commas_between_them(shell, line):
    run(shell, LESSON)
    assert run(shell, f"%compare {line}").result.ok


def test_compare_takes_the_tensors_of_a_dict(shell):
    run(shell, 'params = {"w": [x1]}; loss = (params["w"][0] * 2).sum()')

    (row,) = run(shell, '%compare loss params["w"][0]=2').result.rows

    assert row.name == 'params["w"][0]' and row.verdict == "wrong shape"


def test_compare_takes_the_name_that_the_inspector_shows_and_a_comma_after_z(shell):
    run(shell, "z = (x1 * x1).sum()")
    assert run(shell, "%compare z, x1.grad=2*x1").result.ok
    run(shell, "z.backward()")
    (row,) = run(shell, "%compare z x1=x1.sum").result.rows
    assert row.note == "x1: method instead of real numbers. Is a () missing?"


def test_gradcheck_names_the_mistake_in_the_backward_of_a_function(shell, capsys):
    run(shell, """
class Square(minigrad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]
""")  # fmt: skip

    result = run(shell, "%gradcheck Square.apply x1").result
    run(shell, "minigrad.autograd.gradcheck(Square.apply, x1.double().detach().requires_grad_())")

    assert "GradcheckError" in (said := capsys.readouterr().out)
    assert "Mul (in the line  return x * x) reads the same tensor as both operands" in said
    assert not result.ok
    assert "x1: Mul (in the line  return x * x) reads the same tensor as both operands" in str(
        result
    )


def test_gradcheck_takes_a_model(shell):
    run(shell, "model = minigrad.nn.Linear(4, 2)")

    assert run(shell, "%gradcheck model x1").result.ok
    assert shell.user_ns["model"].weight.dtype == minigrad.float32


def test_gradcheck_does_not_judge_a_function_that_draws_numbers(shell, capsys):
    run(shell, "drop = minigrad.nn.Dropout(0.5)")

    run(shell, "%gradcheck drop x1")

    assert "called again with the same inputs, drop has another value" in capsys.readouterr().err
    assert run(shell, "%gradcheck drop.eval() x1").result.ok


def test_gradcheck_says_which_gradient_is_wrong(shell):
    run(shell, "def f(x, y): return (x * y).sum()\ndef g(x, y): return (x.detach() * x * y).sum()")

    right = run(shell, "%gradcheck f x1, x3").result
    wrong = run(shell, "%gradcheck g x1 x3").result

    assert right.ok and not wrong.ok
    assert [(row.name, row.ok) for row in wrong.rows] == [("x1", False), ("x3", True)]
    assert "numerical 2" in repr(wrong) and "analytical 1" in repr(wrong)
    assert shell.user_ns["x1"].grad is None


def test_help_is_the_docstring(shell, capsys):
    run(shell, "%%autograd?")

    assert "Run the cell, record its operations" in capsys.readouterr().out


def test_loading_turns_line_tracing_on_and_unloading_takes_all_away(shell):
    assert state.tracing

    run(shell, "%unload_ext minigrad")

    assert not state.tracing
    assert shell.find_cell_magic("autograd") is None
    run(shell, "%load_ext minigrad")
    assert shell.find_cell_magic("autograd") is not None


def test_unloading_leaves_nothing_behind(shell):
    run(shell, "%unload_ext minigrad")

    registered = {name for kind in shell.magics_manager.magics.values() for name in kind}
    assert registered.isdisjoint({"autograd", "tape", "chain", "compare", "gradcheck"})
    assert shell.Completer.custom_matchers == []
    assert shell.custom_exceptions == ()
    run(shell, "%load_ext minigrad")
    run(shell, "%reload_ext minigrad")
    assert len(shell.Completer.custom_matchers) == 1


def test_reloading_counts_tapes_from_one_again(shell):
    run(shell, LESSON)
    run(shell, "%reload_ext minigrad")
    run(shell, LESSON)

    assert shell.user_ns["t"].number == 1


@pytest.mark.parametrize(
    "line, offered",
    [
        ("%chain ", ["t_x", "x1", "x2", "x3", "x4"]),
        ("%chain t", ["t_x"]),
        ("%compare x", ["x1", "x2", "x3", "x4"]),
        ("%compare x1 ", ["t_x=", "x1=", "x2="]),
        ("%compare x1 x1=t", ["x1=t_x"]),
        ("%gradcheck ", ["f"]),
        ("%gradcheck f t", ["t_x"]),
        ("%chain model.", ["model.bias", "model.inner", "model.weight"]),
        ("%chain model.inner.w", ["model.inner.weight"]),
        ("%compare loss model.w", ["model.weight"]),
        ("%%check sq", ["square_backward"]),
        ("%check ", ["square_backward"]),
        ("%tape ", ["t"]),
        ("%%autograd --engine ", ["graph", "recursive", "tape"]),
        ("%%autograd --n", ["--no-widget"]),
    ],
)
def test_tab_offers_what_may_stand_there(shell, monkeypatch, line, offered):
    monkeypatch.setattr(question, "DECLARED", {"square_backward": None})
    if "model" in line:
        shell.user_ns["model"] = minigrad.nn.Linear(2, 1)
        shell.user_ns["model"].inner = minigrad.nn.Linear(1, 1)
    run(shell, "def f(x): return x\nt_x = x1 + 1\nn = 3")
    run(shell, "%%autograd t\nx1 + 1")

    with provisionalcompleter():
        found = list(shell.Completer.completions(line, len(line)))

    assert sorted((line[: c.start] + c.text).split()[-1] for c in found) == offered


def frames(shell, capsys, cell):
    """Run the cell, and return what is shown of its error."""
    run(shell, cell)
    return capsys.readouterr().out


def test_an_error_of_minigrad_ends_on_the_learners_line(shell, capsys):
    shown = frames(shell, capsys, "def f(a, b):\n    return a + b\nf(x1, minigrad.ones(5))")

    assert "----> 2     return a + b" in shown and "----> 3 f(x1" in shown
    assert "ShapeError: The size of tensor a (4) must match" in shown
    assert "minigrad/" not in shown and "<minigrad" not in shown


def test_what_numpy_says_of_an_index_is_the_users_as_well(shell, capsys):
    shown = frames(shell, capsys, "x1[7]")

    assert "IndexError: index 7 is out of bounds" in shown
    assert "minigrad/" not in shown


def of_awaiting_a_number():
    """What this Python says of it: 3.14 has other words."""

    async def awaits():
        await 3

    with pytest.raises(TypeError) as error:
        awaits().send(None)
    return str(error.value)


@pytest.mark.parametrize(
    "cell, says",
    [
        ("x1 * [1, 2]", "unsupported operand type(s) for *: 'Tensor' and 'list'"),
        ("minigrad.nn.Linear(4, 1)(x1, x2)", "Linear.forward() takes 2 positional arguments"),
        ("minigrad.nn.MSELoss()(x1)", "missing 1 required positional argument: 'target'"),
        ("minigrad.vmap(lambda x, y: x)(x1)", "missing 1 required positional argument: 'y'"),
        ("minigrad.func.grad(3)(x1)", "'int' object is not callable"),
        ("x1.register_hook(lambda: 3)\n(x1 * 2).sum().backward()", "<lambda>() takes 0 positional"),
        ("minigrad.load('/nowhere/x.pt')", "No such file or directory"),
        ("minigrad.save(x1, 3.5)", "3.5"),
        ("with minigrad.record() as tape: x1 * 2\ntape.save(3)", "os.PathLike object, not int"),
        ("with minigrad.record() as tape: x1 * 2\ntape.save('/nowhere/x.svg')", "No such file"),
        ("minigrad.teach.Exercise('f', abs, 3)", "shapes is 3. It must be a list of cases"),
        (
            "minigrad.teach.Facts('f', lambda x: {}).check({'a': 1})",
            "missing 1 required positional",
        ),
        ("%chain x1[7]", "IndexError: index 7 is out of bounds"),
        ("%gradcheck minigrad.matmul x1", "missing 1 required positional argument: 'other'"),
        ("%%autograd\nawait 3", f"TypeError: {of_awaiting_a_number()}"),
    ],
)
def test_a_call_that_does_not_fit_is_an_error_of_the_users_line(shell, capsys, cell, says):
    shown = frames(shell, capsys, cell)

    assert says in shown
    for inside in (
        "minigrad/",
        "<minigrad",
        "asyncio/",
        "pathlib.py",
        "functools.py",
        "<string>",
        "During handling",
    ):
        assert inside not in shown


@pytest.mark.parametrize(
    "cell, meant",
    [
        ("x1.sum().bakward()", "backward"),
        ("minigrad.nn.Linaer(2, 1)", "Linear"),
        ("minigrad.reluu(x1)", "relu"),
        ("weights = x1\nwieghts * 2", "weights"),
        ("def f(first):\n    return frist\nf(x1)", "first"),
        ("%%autograd t\nnumbers = x1 * 2\nnubmers.sum()", "numbers"),
    ],
)
def test_a_misspelled_name_is_answered_with_the_nearest(shell, capsys, cell, meant):
    assert f"Did you mean {meant}?" in frames(shell, capsys, cell)


@pytest.mark.parametrize("cell", ["np.zeros(2)", "%%autograd t\nprediction.check()"])
def test_a_variable_that_is_nowhere_may_be_in_a_cell_that_has_not_run(shell, capsys, cell):
    assert "Have you run the cell that defines it?" in frames(shell, capsys, cell)


@pytest.mark.parametrize(
    "cell, remedy",
    [
        (
            "g = minigrad.autograd.grad((x1 * x1).sum(), x1)\ng.norm()",
            "This is a tuple with 1 tensor.",
        ),
        ("minigrad.nn.GRU(1, 1)(minigrad.ones(2, 1)).sum()", "This is a tuple with 2 tensors."),
        ("minigrad.nn.LSTM(1, 1)(minigrad.ones(2, 1)).sum()", "This is a tuple with 2 items."),
        ("x1.grad = None\nx1.grad.zero_()", "A .grad is None until a backward pass has filled it"),
    ],
)
def test_an_attribute_of_a_tensor_that_something_else_was_asked_for(shell, capsys, cell, remedy):
    assert remedy in frames(shell, capsys, cell)


@pytest.mark.parametrize("cell", ["None.zero_()", "minigrad.stft"])
def test_no_name_is_offered_where_none_is_near(shell, capsys, cell):
    shown = frames(shell, capsys, cell)

    assert "Error" in shown and "you" not in shown


def test_frames_of_the_learners_own_functions_stay(shell, capsys):
    shown = frames(shell, capsys, "x1.register_hook(lambda g: 1 / 0)\n(x1 * 2).sum().backward()")

    assert "in <lambda>(g)" in shown and "ZeroDivisionError" in shown
    assert "engine.py" not in shown


def test_in_a_recorded_cell_the_line_of_the_magic_is_not_shown(shell, capsys):
    shown = frames(shell, capsys, "%%autograd\ny = x1 * 2\ny.backward()")

    assert "----> 3 y.backward()" in shown
    assert "run_cell_magic" not in shown


@pytest.mark.parametrize(
    "line", ["raise KeyboardInterrupt", "x1.register_hook(interrupt); (x1 * 2).sum().backward()"]
)
def test_a_cell_that_is_stopped_ends_on_the_learners_line(shell, capsys, line):
    run(shell, "def interrupt(g):\n    raise KeyboardInterrupt")
    shown = frames(shell, capsys, f"%%autograd\ny = x1 * 2\n{line}")

    assert "KeyboardInterrupt" in shown and "----> 3" in shown
    assert "run_cell_magic" not in shown and "engine.py" not in shown
    assert shell.shown[0].error is not None


def test_a_mistake_of_minigrad_itself_is_shown_whole(shell, capsys, monkeypatch):
    monkeypatch.setattr(
        sys.modules["minigrad.core.tensor"], "run_backward", lambda *args: None.nothing
    )

    assert "tensor.py" in frames(shell, capsys, "(x1 * 2).backward()")


def test_the_environment_can_ask_for_whole_tracebacks(shell, capsys, monkeypatch):
    monkeypatch.setenv("MINIGRAD_TRACEBACK", "full")

    assert "backward.py" in frames(shell, capsys, "(x1 * 2).backward()")


def test_a_notebook_passes_nbval_twice(tmp_path):
    """What is stored on the first run is what comes out in fresh kernels afterwards."""
    from nbclient import NotebookClient

    cells = ["%load_ext minigrad\n" + SETUP, LESSON, "%chain z", "%compare z x1=y2"]
    cells += ["for step in t.steps(z, minigrad.ones_like(z)):\n    print(step)", "%tape"]
    notebook = new_notebook(cells=[new_code_cell(c) for c in cells])
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    twice = [tmp_path / "lesson.ipynb", tmp_path / "again.ipynb"]
    for path in twice:
        nbformat.write(notebook, path)

    command = [sys.executable, "-m", "pytest", "-q", "-p", "minigrad.utils.notebook_format"]
    command += ["-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", tmp_path]
    done = subprocess.run(
        [*command, "--nbval", "--nbval-current-env", *twice], capture_output=True, encoding="utf-8"
    )

    assert done.returncode == 0, done.stdout
    assert "image/svg+xml" in notebook.cells[1].outputs[1].data


def test_every_magic_is_in_the_list_of_its_module_and_in_the_readme():
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    names = [f"%{name}" for name in magics.AutogradMagics.magics["line"] if name[0] != "%"]

    assert [name for name in names if f"    {name} " not in (magics.__doc__ or "")] == []
    assert [name for name in names if f"`{name}" not in readme] == []
