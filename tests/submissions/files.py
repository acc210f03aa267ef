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
    "full_in_a_new_cell_please_confirm": _whole(
        lambda n, s: (_cell(n, "answer").update(source=""), n["cells"].append(_new(s)), n)[2]
    ),
    "full_old_format_please_confirm": _whole(_old_format),
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
    "full_our_id_on_the_cell_above_please_confirm": _whole(lambda n, s: _claimed(n, s, 2, "a = 1")),
    "full_our_id_on_a_later_cell_please_confirm": _whole(
        lambda n, s: _claimed(n, s, 4, "print(1)")
    ),
    "full_copied_above_itself": _whole(lambda n, s: _claimed(n, s, 2, s.replace("g * y", "0 * y"))),
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
    "zero_helper_in_another_cell": _whole(
        lambda n, s: (
            n["cells"].append(_new("def helper(*a):\n    return a", "h")),
            _cell(n, "answer").update(
                source="def product_backward(x, y, g):\n    return helper(g, g)"
            ),
            n,
        )[2]
    ),
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
