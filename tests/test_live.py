"""Widgets beside their pictures, in a kernel: what a cell puts out, and what is left when it runs again."""

import json
from base64 import b64decode

import pytest
from jupyter_client.manager import start_new_kernel

import minigrad
from minigrad.tape.render.page import ELEMENT, VIEW

SETUP = """
import gc, weakref, minigrad
%load_ext minigrad
import ipywidgets
x = minigrad.ones(3, requires_grad=True)
def alive():
    gc.collect()
    widgets = [o for o in gc.get_objects() if isinstance(o, ipywidgets.Widget)]
    return sorted(type(widget).__name__ for widget in widgets if widget.comm is not None)
"""
CELL = "%%autograd tape\nz = x * x + x"


class Kernel:
    """A kernel, asked to run cells as JupyterLab asks it: with the id of each."""

    def __init__(self):
        self.manager, self.client = start_new_kernel(kernel_name="python3")
        self.run(SETUP)

    def run(self, code, cell="setup"):
        """What the cell puts out: the contents of all messages, by their type."""
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        request = self.client.session.msg("execute_request", content, metadata={"cellId": cell})
        self.client.shell_channel.send(request)
        found = {}
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") == request["header"]["msg_id"]:
                kind, content = message["msg_type"], message["content"]
                found.setdefault(kind, []).append(content)
                if content.get("execution_state") == "idle":
                    assert "error" not in found, "\n".join(found["error"][0]["traceback"])
                    return found

    def value(self, expression):
        found = self.run(f"import json; print(json.dumps({expression}))")
        return json.loads("".join(text["text"] for text in found["stream"]))


@pytest.fixture(scope="module")
def session():
    kernel = Kernel()
    yield kernel
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel(session):
    session.run("ipywidgets.Widget.close_all()")
    yield session
    session.run("del tape")


def data(outputs, kind="display_data"):
    return [output["data"] for output in outputs[kind]]


def test_a_cell_puts_out_an_empty_element_and_a_picture(kernel):
    element, picture = data(kernel.run(CELL))

    assert element["text/html"].startswith(ELEMENT) and element["text/plain"] == ""
    assert set(picture) == {"text/plain", "image/svg+xml", "image/png"}
    assert b64decode(picture["image/png"]).startswith(b"\x89PNG")


def test_a_value_that_is_shown_stays_a_value(kernel):
    outputs = kernel.run("with minigrad.record() as tape:\n    z = x * x\ntape")

    assert set(data(outputs, "execute_result")[0]) == {"text/plain", "image/svg+xml", "image/png"}
    assert len(outputs["display_data"]) == 1


def test_the_script_is_sent_once_however_many_tapes_there_are(kernel):
    first, second = kernel.run(CELL), kernel.run(CELL, "another")

    sizes = [len(json.dumps(message)) for message in first["comm_open"]]
    assert max(sizes) > 70_000
    again = [len(json.dumps(message)) for message in second["comm_open"]]
    assert len(again) == 2 and sum(again) < 25_000  # the layout and the inspector


def test_a_cell_that_is_run_again_closes_its_widget_and_lets_the_tape_go(kernel):
    kernel.run(CELL, "cell")
    kernel.run("old = weakref.ref(tape), weakref.ref(tape._widget)")
    before = kernel.value("alive()")

    outputs = kernel.run(CELL, "cell")

    assert len(outputs["comm_close"]) == 2
    assert kernel.value("(alive(), [ref() is None for ref in old])") == [before, [True, True]]


def test_a_widget_stays_while_another_cell_shows_it(kernel):
    kernel.run(CELL, "cell")
    kernel.run("tape", "another")
    kernel.run("old = tape._widget")

    kernel.run(CELL, "cell")
    assert kernel.value("old.comm is not None")
    kernel.run("tape", "another")
    assert kernel.value("old.comm is None")
    kernel.run("del old")


def test_a_tape_whose_widget_was_closed_gets_a_new_one(kernel):
    kernel.run(CELL, "cell")
    kernel.run("tape.step = 1\nold = tape._widget.key")

    kernel.run("tape", "cell")

    assert kernel.value("(tape._widget.key != old, tape._widget.step)") == [True, 1]


def test_the_progress_is_a_table_with_a_panel_beside_it(kernel):
    outputs = kernel.run("%progress", "cell")
    again = kernel.run("%progress", "cell")

    assert data(outputs)[0]["text/html"].startswith(ELEMENT)
    assert set(data(outputs, "execute_result")[0]) == {"text/plain", "text/html"}
    assert data(outputs)[0] != data(again)[0]
    assert kernel.value("alive().count('Panel')") == 1
    kernel.run("tape = None")


def test_vs_code_gets_the_widget_in_the_bundle(kernel):
    (bundle,) = data(kernel.run(CELL, "vscode-notebook-cell:/lesson.ipynb#W0"))

    assert set(bundle) == {"text/plain", "image/svg+xml", "image/png", VIEW}
    assert kernel.value("tape._widget.model_id") == bundle[VIEW]["model_id"]


ANSWERS = {  # to x.grad, where z = (x * w).tanh().mean()
    "w * (1 - h * h)": "Mean (in the line  z = h.mean()) divides by 2",
    "w / 2": "Tanh (in the line  h = (x * w).tanh()) was passed on unchanged",
    "-w * (1 - h * h) / 2": "has the wrong sign",
    "x": "The largest error is at entry [1]",  # no mistake that we know
}


@pytest.mark.parametrize("answer, said", ANSWERS.items(), ids=ANSWERS)
def test_the_inspector_names_the_mistake_in_a_hand_derived_gradient(answer, said):
    from minigrad.jupyter.widgets import check_answer

    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    w = minigrad.tensor([0.75, -0.25], requires_grad=True)
    with minigrad.record() as tape:
        h = (x * w).tanh()
        z = h.mean()
        z.backward()
    (leaf,) = [node.id for node in tape.shown().nodes if node.label == "x"]

    ok, text = check_answer(tape, leaf, answer)

    assert not ok and said in text
    assert check_answer(tape, leaf, "w * (1 - h * h) / 2") == (True, "✓ right")
