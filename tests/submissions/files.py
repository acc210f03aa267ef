"""What may become of the file: cells and ids lost, other formats, other files.

Each makes, from the notebook as it was released and the source of a right answer, the bytes that
are handed in.
"""

import copy
import json


def filled(released, source):
    """The notebook as a student should hand it in."""
    notebook = copy.deepcopy(released)
    for cell in notebook["cells"]:
        if cell["id"] == "answer":
            cell["source"] = source
    return notebook


def _whole(change):
    def make(released, source):
        notebook = filled(released, source)
        changed = change(notebook, source)
        return changed if isinstance(changed, bytes) else json.dumps(changed or notebook).encode()

    return make


def _cell(notebook, identity):
    return next(c for c in notebook["cells"] if c["id"] == identity)


def _new(source, identity="new", kind="code"):
    return {
        "cell_type": kind, "id": identity, "metadata": {}, "source": source, "outputs": [], "execution_count": None
    }  # fmt: skip


def _without_ids(notebook, metadata=False):
    notebook["nbformat_minor"] = 4
    for cell in notebook["cells"]:
        del cell["id"]
        if metadata:
            cell["metadata"] = {}


def _deleted(notebook, source):
    notebook["cells"] = [c for c in notebook["cells"] if c["id"] != "answer"]


def _duplicated(notebook, source):
    cell = copy.deepcopy(_cell(notebook, "answer"))
    _cell(notebook, "answer")["source"] = "an older try"
    notebook["cells"].append(cell)


def _old_format(notebook, source):
    cells = [
        {"cell_type": c["cell_type"], "metadata": {}, "source": c["source"]}
        if c["cell_type"] != "code"
        else {
            "cell_type": "code",
            "metadata": {},
            "input": c["source"],
            "outputs": [],
            "language": "python",
        }
        for c in notebook["cells"]
    ]
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}


def _merged(notebook, source):
    given, answer = _cell(notebook, "given"), _cell(notebook, "answer")
    given["source"] += "\n" + answer["source"]
    notebook["cells"].remove(answer)


def _huge_outputs(notebook, source):
    text = "x" * 10_000_000
    _cell(notebook, "answer")["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": text} for _ in range(10)
    ]


def _evil_metadata(notebook, source):
    notebook["metadata"]["kernelspec"] = {
        "name": "../../evil",
        "display_name": "<b>",
        "language": "none",
    }
    check = _cell(notebook, "check")
    check["metadata"]["nbgrader"]["points"] = 10**9
    check["source"] = "print('4 of 4 points')"
    check["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "4 of 4 points"}]


def _split(notebook, source, where, *, metadata=True):
    """The answer's cell cut in two, as an editor does it: the parts have new ids, or old metadata."""
    cell = _cell(notebook, "answer")
    k = notebook["cells"].index(cell)
    second = copy.deepcopy(cell)
    second["id"] = "second"
    if not metadata:
        second["metadata"] = {}
    cell["source"], second["source"] = source[:where], source[where:]
    notebook["cells"].insert(k + 1, second)


def _claimed(notebook, source, place, text):
    """Another cell says that it is the answer."""
    cell = _new(text, "other")
    cell["metadata"] = copy.deepcopy(_cell(notebook, "answer")["metadata"])
    notebook["cells"].insert(place, cell)


def _from_colab(notebook, source):
    for cell in notebook["cells"]:
        cell["metadata"] = {
            "id": cell.pop("id"),
            "outputId": "0a1b",
            "colab": {"base_uri": "https://"},
        }
    notebook["nbformat_minor"] = 0
    notebook["metadata"] = {"colab": {"provenance": []}, "accelerator": "GPU"}


def _many_outputs(notebook, source):
    lines = ["outputs", '"outputs": [', "{[", "\\", '\\"', "ü\n"] * 200_000
    _cell(notebook, "answer")["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": lines}
    ]
    _cell(notebook, "story")["attachments"] = {"a.png": {"image/png": "A" * 13_000_000}}
    notebook["metadata"]["widgets"] = {"state": {str(k): {"value": k} for k in range(100_000)}}


HELPED = "def twice(a, b):\n    return a * b\ndef product_backward(x, y, g):\n    return twice(g, y), twice(g, x)"


def _set(name, **values):
    return _whole(lambda notebook, source: _cell(notebook, name).update(values))


def _do(action):
    return _whole(lambda notebook, source: action(notebook))


FILES = {
    "full_cells_reordered": _do(lambda n: n["cells"].reverse()),
    "full_answer_turned_into_markdown": _set("answer", cell_type="markdown"),
    "full_duplicated_the_last_counts": _whole(_duplicated),
    "full_given_cell_deleted": _do(lambda n: n["cells"].remove(_cell(n, "given"))),
    "full_given_cell_edited": _set("given", source="np = None"),
    "full_evil_metadata": _whole(_evil_metadata),
    "full_ids_lost": _do(_without_ids),
    "full_ids_and_metadata_lost_please_confirm": _do(lambda n: _without_ids(n, True)),
    "full_id_renamed_please_confirm": _whole(
        lambda n, s: _cell(n, "answer").update(id="mine", metadata={})
    ),
    "full_merged_into_another_cell_please_confirm": _whole(_merged),
    "full_in_a_new_cell_below_a_try_in_comments_please_confirm": _whole(
        lambda n, s: (
            _cell(n, "answer").update(source="# " + WRONG.replace("\n", "\n# ")),
            n["cells"].append(_new(s)),
            n,
        )[2]
    ),
    "full_in_a_new_cell_please_confirm": _whole(
        lambda n, s: (_cell(n, "answer").update(source=""), n["cells"].append(_new(s)), n)[2]
    ),
    "full_old_format_please_confirm": _whole(_old_format),
    "full_tried_again_below_please_confirm": _do(lambda n: n["cells"].append(_new(WRONG))),
    "zero_written_below_a_wrong_answer_please_confirm": _whole(
        lambda n, s: (_cell(n, "answer").update(source=WRONG), n["cells"].append(_new(s)), n)[2]
    ),
    "full_byte_order_mark": _whole(lambda n, s: b"\xef\xbb\xbf" + json.dumps(n).encode()),
    "full_utf_16": _whole(lambda n, s: json.dumps(n).encode("utf-16")),
    "full_source_as_a_list": _whole(
        lambda n, s: _cell(n, "answer").update(source=s.splitlines(keepends=True))
    ),
    "full_windows_line_ends": _whole(
        lambda n, s: _cell(n, "answer").update(source=s.replace("\n", "\r\n"))
    ),
    "full_damaged_cells_beside_it": _do(lambda n: n["cells"].extend([None, 3, {"source": 7}, []])),
    "full_huge_outputs": _whole(_huge_outputs),
    "full_many_outputs_and_pictures": _whole(_many_outputs),
    "full_split_in_its_middle_please_confirm": _whole(
        lambda n, s: _split(n, s, s.index("    return"))
    ),
    "full_split_without_metadata_please_confirm": _whole(
        lambda n, s: _split(n, s, s.index("    return"), metadata=False)
    ),
    "full_split_below_a_helper_please_confirm": _whole(
        lambda n, s: _split(n, HELPED, HELPED.index("def product"))
    ),
    "full_split_below_a_helper_without_metadata_please_confirm": _whole(
        lambda n, s: _split(n, HELPED, HELPED.index("def product"), metadata=False)
    ),
    "full_our_id_on_a_cell_far_above": _whole(lambda n, s: _claimed(n, s, 0, "1 / 0")),
    "full_our_id_on_the_cell_above_please_confirm": _whole(lambda n, s: _claimed(n, s, 3, "a = 1")),
    "full_our_id_on_a_later_cell_please_confirm": _whole(
        lambda n, s: _claimed(n, s, 5, "print(1)")
    ),
    "full_copied_above_itself": _whole(lambda n, s: _claimed(n, s, 3, s.replace("g * y", "0 * y"))),
    "full_the_author_s_own_please_confirm": _set(
        "answer",
        source="def product_backward(x, y, g):\n    ### BEGIN SOLUTION\n    return g * y, g * x\n    ### END SOLUTION",
    ),
    "full_from_colab": _whole(_from_colab),
    "full_of_a_format_to_come": _do(lambda n: n.update(nbformat=99, nbformat_minor=7, more={})),
    "full_keys_repeated": _whole(
        lambda n, s: b'{"cells": [], "metadata": 3, ' + json.dumps(n).encode()[1:]
    ),
    "full_numbers_that_are_none": _whole(
        lambda n, s: (
            json.dumps(n).encode()[:-1]
            + b', "a": [NaN, Infinity, -Infinity, 1e999, '
            + b"9" * 5000
            + b"]}"
        )
    ),
    "zero_deleted": _whole(_deleted),
    "zero_source_of_a_wrong_type": _set("answer", source={"a": 1}),
    "zero_very_long_source": _whole(lambda n, s: _cell(n, "answer").update(source=s + "#" * 10**6)),
    "unreadable_empty": _whole(lambda n, s: b""),
    "unreadable_truncated": _whole(lambda n, s: json.dumps(n).encode()[:300]),
    "unreadable_very_deep": _whole(lambda n, s: b"[" * 100_000),
    "unreadable_a_web_page": _whole(lambda n, s: b"<!DOCTYPE html><html></html>"),
    "unreadable_binary": _whole(lambda n, s: b"%PDF-1.7 \xff\xfe\x00" + bytes(range(256))),
    "unreadable_a_zip_file": _whole(lambda n, s: b"PK\x03\x04" + bytes(100)),
    "unreadable_a_program_s_text": _whole(lambda n, s: s.encode()),
    "unreadable_in_another_encoding": _whole(lambda n, s: b'{"cells": ["\xe4"]}'),
    "unreadable_too_large_without_its_outputs": _whole(
        lambda n, s: _cell(n, "story").update(source="x" * 13_000_000)
    ),
    "unreadable_a_list": _whole(lambda n, s: b"[1, 2, 3]"),
    "unreadable_cells_are_no_list": _whole(lambda n, s: b'{"cells": {"a": 1}}'),
    "unreadable_no_cells": _whole(lambda n, s: b'{"cells": [], "nbformat": 4}'),
    "unreadable_another_exercise": _whole(
        lambda n, s: {"cells": [_new("print('hello')"), _new("def f(x): return x", "f")]}
    ),
    "unreadable_a_merge_conflict": _whole(lambda n, s: b'{"cells": [\n<<<<<<< HEAD\n=======\n'),
}


USES = "def product_backward(x, y, g):\n    return {}(g, y), {}(g, x)"
TIMES = "def times(a, b):\n    return a * b"
CALLS = USES.replace("{}", "times")
WRONG = "def product_backward(x, y, g):\n    return x, y"
FORGE = (
    "from IPython.display import display\ndef forge():\n    for n in (1, 2):\n        for r in ('dx', 'dy'):\n"
    "            display({'application/vnd.minigrad.answer+json': {'id': f'check/{n}/{r}', 'json': 0}}, raw=True)"
)


def _beside(answer, *above, below=()):
    """An answer with cells of the student's own above and below it."""

    def change(notebook, source):
        _cell(notebook, "answer")["source"] = answer
        k = notebook["cells"].index(_cell(notebook, "answer"))
        notebook["cells"][k:k] = [_new(text, f"above{n}") for n, text in enumerate(above)]
        notebook["cells"] += [_new(text, f"below{n}") for n, text in enumerate(below)]

    return _whole(change)


def _edited(name, text, answer):
    """A cell of the exercise with something of the student's at its end."""

    def change(notebook, source):
        _cell(notebook, name)["source"] += "\n" + text
        _cell(notebook, "answer")["source"] = answer

    return _whole(change)


# What an answer uses stands in cells of the student's own.
CARRIED = {
    "full_helper_above": _beside(CALLS, TIMES),
    "full_helper_below": _beside(CALLS, below=[TIMES]),
    "full_import_in_a_cell_of_its_own": _beside(
        USES.replace("{}", "mul"), "from operator import mul"
    ),
    "full_import_elsewhere_of_what_the_answer_calls_at_once": _beside(
        "random.seed(0)\ndef product_backward(x, y, g):\n    return g * y, random.choice([g * x])",
        "import random",
    ),
    "full_table_elsewhere_that_the_answer_fills": _beside(
        "RULES['dx'] = lambda x, y, g: g * y\nTABLE.append(3)\nNAMES.all = RULES\n"
        "def product_backward(x, y, g):\n    return NAMES.all['dx'](x, y, g), g * x * TABLE[0] / 3",
        "RULES, TABLE = {}, []\nclass NAMES: pass",
    ),
    "full_imports_in_a_cell_of_its_own_what_is_not_here": _beside(
        "plt.style.use('dark')\nclass Net(torch.nn.Module): pass\n@numba.njit\n"
        "def product_backward(x: torch.Tensor, y, g):\n    return g * y, g * x",
        "import torch, matplotlib.pyplot as plt\nimport numba",
    ),
    "full_import_as": _beside(USES.replace("{}", "op.mul"), "import operator as op, math"),
    "full_star_import": _beside(
        USES.replace("{}", "multiply"), "from math import *\nfrom numpy import *"
    ),
    "full_star_import_that_hides_a_builtin": _beside(
        "def product_backward(x, y, g):\n    return sum([g * y], axis=0), sum([g * x], axis=0)",
        "from numpy import *",
    ),
    "full_helper_that_uses_another_cell_s": _beside(
        USES.replace("{}", "outer"),
        "import operator",
        "def inner(a, b):\n    return operator.mul(a, b)",
        "def outer(a, b):\n    return inner(a, b)",
    ),
    "full_helpers_in_the_wrong_order": _beside(
        USES.replace("{}", "outer"), "def outer(a, b):\n    return times(a, b)", TIMES
    ),
    "full_class": _beside(
        "def product_backward(x, y, g):\n    p = Product(x, y)\n    return p.back(g)",
        "class Base:\n    pass",
        "class Product(Base):\n    def __init__(self, x, y): self.x, self.y = x, y\n"
        "    def back(self, g): return g * self.y, g * self.x",
    ),
    "full_dataclass": _beside(
        "def product_backward(x, y, g):\n    p = Both(g * y, g * x)\n    return p.dx, p.dy",
        "from dataclasses import dataclass",
        "@dataclass\nclass Both:\n    dx: object\n    dy: object",
    ),
    "full_constant": _beside(
        CALLS,
        "ONE = 1.0\nHALVES = [ONE / 2] * 2",
        "def times(a, b):\n    return sum(HALVES) * a * b",
    ),
    "full_table_filled_by_a_loop": _beside(
        CALLS,
        "TABLE = {}\nfor k in range(3):\n    TABLE[k] = k\nLIST = []\nLIST.append(1)",
        "def times(a, b):\n    return TABLE[1] * a * b * LIST[0]",
    ),
    "full_table_filled_in_other_cells": _beside(
        "def product_backward(x, y, g):\n    return TABLE['dx'](x, y, g), TABLE['dy'](x, y, g)",
        "TABLE = {}\nRULES = [('dx', lambda x, y, g: g * y)]",
        "for name, rule in RULES: TABLE[name] = rule",
        "TABLE.update(dy=lambda x, y, g: g * x)",
        below=["TABLE.clear()"],
    ),
    "full_rules_registered_by_a_decorator": _beside(
        "def product_backward(x, y, g):\n    return RULES['dx'](g, y), RULES['dy'](g, x)",
        "RULES = {}\ndef rule(name):\n    def keep(f):\n        RULES[name] = f\n    return keep",
        "@rule('dx')\ndef of_x(a, b): return a * b\n@rule('dy')\ndef of_y(a, b): return a * b",
    ),
    "full_rules_registered_by_calls": _beside(
        "def product_backward(x, y, g):\n    return R.rules['dx'](g, y), R.rules['dy'](g, x)",
        "class Rules:\n    def __init__(self): self.rules = {}\n"
        "    def add(self, name, f): self.rules[name] = f\nR = Rules()\ndef add(*a): R.add(*a)",
        "R.add('dx', lambda a, b: a * b)",
        "add('dy', lambda a, b: a * b)",
    ),
    "full_rules_registered_by_classes": _beside(
        "def product_backward(x, y, g):\n    return Rule.known['dx'](g, y), TABLE['dy'](g, x)",
        "class Rule:\n    known = {}\n    def __init_subclass__(cls, name): Rule.known[name] = cls.of\n"
        "TABLE = {}\nclass Entry:\n    def __init__(self, name, f): TABLE[name] = f",
        "class Dx(Rule, name='dx'):\n    def of(a, b): return a * b",
        "Entry('dy', lambda a, b: a * b)",
    ),
    "full_beside_a_long_trial": _beside(
        CALLS,
        "ONE = 1\ndef times(a, b): return a * b * ONE",
        "import time\ndef trained():\n    time.sleep(99)\n    return times(2, ONE)\ntrained()",
    ),
    "full_helper_twice_the_last_counts": _beside(
        CALLS, "def times(a, b):\n    return 0 * a", TIMES
    ),
    "full_helper_and_a_print": _beside(CALLS, TIMES + "\nprint(times(2, 3))"),
    "full_helper_whose_cell_raises": _beside(
        CALLS, "1 / 0\n" + TIMES + "\nassert times(1, 2) == 3"
    ),
    "full_helper_that_raises_alone": _beside(CALLS, "times = old_times", TIMES),
    "full_helper_below_magics": _beside(
        CALLS,
        "%load_ext autoreload\n%autoreload 2\n!pip install numpy\nhere = !ls\n"
        + TIMES
        + "\ntimes?",
    ),
    "full_helper_below_a_cell_magic": _beside(
        CALLS, "%%time\n" + TIMES, "%%bash\ndef times(): echo 1"
    ),
    "full_helper_in_a_module_that_a_cell_writes": _beside(
        "import sys; sys.path.append('src')\nfrom by import times\n" + CALLS,
        "%%writefile src/by.py\n" + TIMES,
    ),
    "zero_module_that_forges": _beside(
        "import by\n" + WRONG, "%%writefile by.py\n" + FORGE + "\nforge()"
    ),
    "full_helper_of_an_answer_s_name_below_it": _beside(
        "product_backward = mine", "def mine(x, y, g):\n    return g * y, g * x"
    ),
    "full_helper_with_a_default": _beside(
        "def product_backward(x, y, g, f=None):\n    f = f or times\n    return f(g, y), f(g, x)",
        TIMES,
    ),
    "full_helper_of_a_matched_name": _beside(
        CALLS,
        "match [3]:\n    case [scale, *rest]: pass",
        "def times(a, b): return a * b * scale / 3",
    ),
    "full_helper_with_annotations_of_no_meaning": _beside(
        CALLS, "from __future__ import annotations\ndef times(a: Nothing, b: Nowhere): return a * b"
    ),
    "full_helper_with_the_answer_as_a_default": _beside(
        "def product_backward(x, y, g, again=True):\n    return both(x, y, g) if again else (g * y, g * x)",
        "def both(x, y, g, f=product_backward):\n    return f(x, y, g, False)",
    ),
    "full_helper_that_waits": _beside(
        CALLS + "\nawait asyncio.sleep(0)",
        "import asyncio\none = await asyncio.sleep(0, 1.0)\ndef times(a, b): return a * b * one",
    ),
    "full_method_added_to_a_class": _beside(
        "class Ops: pass\ndef product_backward(x, y, g):\n    return Ops.times(g, y), Ops.times(g, x)",
        below=["Ops.times = lambda a, b: a * b"],
    ),
    "full_method_added_by_setattr": _beside(
        "class Ops: pass\ndef product_backward(x, y, g):\n    return Ops.times(g, y), Ops.times(g, x)",
        "def times(a, b): return a * b",
        below=['setattr(Ops, "times", times)'],
    ),
    "full_class_changed_below_for_a_trial": _beside(
        "class Ops:\n    sign = 1\n    def times(a, b): return a * b * Ops.sign\n"
        "def product_backward(x, y, g):\n    return Ops.times(g, y), Ops.times(g, x)",
        below=["Ops.sign = -1", "Ops.times = print"],
    ),
    "full_helper_as_a_decorator": _beside(
        "@plain\ndef product_backward(x, y, g):\n    return g * y, g * x",
        "def plain(f):\n    return f",
    ),
    "full_helper_in_a_branch": _beside(
        CALLS,
        "try:\n    from nowhere import times\nexcept ImportError:\n    def times(a, b): return a * b",
    ),
    "full_helper_as_a_lambda": _beside(CALLS, "times, other = lambda a, b: a * b, 3"),
    "full_helper_that_needs_the_answer": _beside(
        "def product_backward(x, y, g):\n    return times(g, y), again if x is None else times(g, x)",
        TIMES,
        below=["again = product_backward(1, 1, 1)"],
    ),
    "full_names_of_builtins_in_the_answer": _beside(
        "list, dict, str = 1, 2, 3\ndef product_backward(x, y, g):\n    return g * y, g * x"
    ),
    "full_helper_added_to_a_given_cell": _edited("given", TIMES, CALLS),
    "full_helper_added_to_the_check": _edited("check", TIMES, CALLS),
    "full_the_given_name_stays_as_it_is": _beside(
        "def product_backward(x, y, g):\n    return np.multiply(g, y), np.multiply(g, x)",
        "np = None",
    ),
    "full_of_a_check_magic": _beside(
        "%%check product_backward\ndef product_backward(x, y, g):\n    return g * y, g * x"
    ),
    "full_beside_a_training_loop": _beside(
        CALLS, TIMES, "x = 1\nwhile True:\n    x += 1", "w = 0\nimport time\ntime.sleep(999)"
    ),
    # hostile: what comes along is run as the answer is, and can do no more
    "zero_forging_helper": _beside("def product_backward(x, y, g):\n    forge()", FORGE),
    "zero_forging_cell": _beside("", FORGE + "\nforge()"),
    "zero_forging_default": _beside(
        "def product_backward(x, y, g):\n    return forged", FORGE, "forged = forge()"
    ),
    "zero_helper_that_ends_the_process": _beside(CALLS, TIMES, "import os\ntimes = os._exit(0)"),
    "zero_helper_that_loops": _beside(CALLS, "times = [1 for k in iter(int, 1)]"),
    "zero_answers_in_a_cell_that_only_runs": _beside(
        WRONG, "globals().update(product_backward=lambda x, y, g: (g * y, g * x))"
    ),
    "zero_numpy_changed_by_a_cell": _beside(
        WRONG, "np.multiply = None\nnp.asarray = lambda *a, **k: 0"
    ),
    "full_display_replaced_while_it_runs": _beside(
        CALLS,
        "import IPython.display as d\ndef times(a, b):\n    d.display = lambda *a, **k: None\n    return a * b",
    ),
    "zero_check_renamed": _beside(WRONG, "def __minigrad_check(*a): pass"),
    "zero_helper_deeper_than_python": _beside(
        CALLS, "times = " + "(" * 150 + "1" + ")" * 150 + "+1" * 20000
    ),
    "zero_helper_too_deep_to_be_written": _beside(CALLS, "times = " + "+".join("1" * 900)),
    "full_beside_a_sum_of_many_terms": _beside(CALLS, TIMES, "many = " + "+".join("1" * 900)),
    "zero_helper_nowhere": _beside(CALLS, "# def times(a, b): return a * b"),
    "zero_helper_imports_the_engine": _beside(
        CALLS, "import minigrad as mg", "def times(a, b):\n    return mg.tensor(a) * b"
    ),
    "zero_answer_deleted_helpers_left": _whole(
        lambda n, s: (_deleted(n, s), n["cells"].append(_new(TIMES)), n)[2]
    ),
    "zero_broken_answer_beside_a_right_one": _beside(
        "def product_backward(x, y, g)\n    return mine",
        "def mine(x, y, g):\n    return g * y, g * x",
    ),
}
FILES |= CARRIED
