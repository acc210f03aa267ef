"""The commands, as a learner types them."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import nbformat
import pytest
import typer
from nbformat.v4 import new_code_cell, new_notebook
from tornado.websocket import websocket_connect

from minigrad.cli import GRADING
from minigrad.grading import commands, lessons
from minigrad.version import __version__
from tests.command import minigrad


@pytest.fixture
def author(tmp_path):
    """A notebook with a solution, not yet run."""
    metadata = {"nbgrader": {"grade_id": "a", "solution": True, "grade": False, "locked": False}}
    source = "### BEGIN SOLUTION\nanswer = 6 * 7 + 0\n### END SOLUTION"
    path = tmp_path / "author.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(source, metadata=metadata)]), path)
    return path


def test_version_is_the_one_of_the_package():
    assert minigrad("--version").stdout == f"minigrad {__version__}\n"


def test_release_writes_the_student_s_notebook(author, tmp_path):
    result = minigrad("release", author, "-o", tmp_path / "students", "--no-run")

    assert result.exit_code == 0, result.output
    student = nbformat.read(tmp_path / "students" / "author.ipynb", as_version=4)
    assert student.cells[0].source == "# YOUR CODE HERE\nraise NotImplementedError()"


def test_release_runs_the_gate_and_writes_nothing_when_it_stays_shut(author, tmp_path):
    notebook = nbformat.read(author, as_version=4)
    notebook.cells[0].outputs = [nbformat.v4.new_output("stream", text="never printed\n")]
    nbformat.write(notebook, author)

    result = minigrad("release", author, "-o", tmp_path / "students")

    assert result.exit_code == 1
    assert "the solution does not pass its own checks" in result.output
    assert not (tmp_path / "students").exists()


def test_release_explains_a_missing_file(tmp_path):
    result = minigrad("release", tmp_path / "none.ipynb", "-o", tmp_path)

    assert (result.exit_code, result.exception.__class__) == (1, SystemExit)
    assert "none.ipynb cannot be read: No such file or directory" in result.output


def test_release_asks_for_a_folder(author):
    result = minigrad("release", author, "-o", author, "--no-run")

    assert result.exit_code == 2 and "is a file" in result.output


def test_a_copy_of_the_lessons_holds_no_solution(tmp_path):
    copied = lessons.copy_lessons(tmp_path)

    notebooks = [name for name in copied.written if name.endswith(".ipynb")]
    texts = {name: (tmp_path / name).read_text(encoding="utf-8") for name in notebooks}
    assert any(name.startswith("exercises/reverse_mode/") for name in texts)
    assert not any("BEGIN SOLUTION" in text for text in texts.values())


@pytest.mark.parametrize("torch_is_here", [True, False])
def test_a_copy_shows_no_result_before_it_is_computed(tmp_path, monkeypatch, torch_is_here):
    monkeypatch.setattr(lessons.importlib.util, "find_spec", lambda name: torch_is_here or None)
    monkeypatch.setattr(lessons, "_released", lambda clone: {})
    lessons.copy_lessons(tmp_path)

    shown = {
        path.name[:2]
        for path in tmp_path.glob("notebooks/*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        if cell.get("outputs")
    }
    assert shown == (set() if torch_is_here else {"14"})  # which can then only be read


def test_changed_lessons_are_kept_and_untouched_ones_renewed(tmp_path, monkeypatch):
    shipped = {"notebooks/a.ipynb": b"first a", "notebooks/b.ipynb": b"first b"}
    monkeypatch.setattr(lessons, "_lessons", lambda: shipped)
    lessons.copy_lessons(tmp_path)
    (tmp_path / "notebooks/a.ipynb").write_bytes(b"a with my notes")
    shipped.update({"notebooks/a.ipynb": b"second a", "notebooks/b.ipynb": b"second b"})

    copied = lessons.copy_lessons(tmp_path)

    assert (copied.written, copied.kept) == (("notebooks/b.ipynb",), ("notebooks/a.ipynb",))
    assert (tmp_path / "notebooks/a.ipynb").read_bytes() == b"a with my notes"
    assert (tmp_path / "notebooks/b.ipynb").read_bytes() == b"second b"


def test_lab_says_how_to_get_jupyterlab(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    result = minigrad("lab", tmp_path / "lessons")

    assert result.exit_code == 1
    assert '-m pip install "minigrad-jupyter[lab]"' in result.output


def test_lab_says_which_folder_cannot_be_written(tmp_path):
    pytest.importorskip("jupyterlab")
    (tmp_path / "taken").write_text("a file, not a folder", encoding="utf-8")

    result = minigrad("lab", tmp_path / "taken")

    assert result.exit_code == 1
    assert "cannot be written" in result.output and "minigrad lab FOLDER" in result.output


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """`minigrad lab` as a new user starts it: its folder, its log, and how to ask it."""
    pytest.importorskip("jupyterlab")
    folder, port = tmp_path_factory.mktemp("lab"), free_port()
    command = [
        sys.executable,
        "-m",
        "minigrad.cli",
        "lab",
        "--no-browser",
        f"--port={port}",
        "mine",
    ]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env=own_jupyter(folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield SimpleNamespace(
            folder=folder,
            log=folder / "log",
            kernels=f"ws://127.0.0.1:{port}/api/kernels",
            ask=lambda path, data=None: answer_of(
                server, f"http://127.0.0.1:{port}/api/{path}?token=secret", data
            ),
        )
    finally:
        server.terminate()
        server.wait()


def test_lab_serves_the_lessons(lab):
    listing = lab.ask("contents/exercises/reverse_mode")
    kernels = lab.ask("kernelspecs")

    assert {"01_shared_input.ipynb", "02_broadcast_add.ipynb"} <= {
        f["name"] for f in listing["content"]
    }
    assert (lab.folder / "mine" / "exercises" / "reverse_mode" / "01_shared_input.ipynb").exists()
    assert kernels["default"] == "minigrad"
    assert not list((lab.folder / "data").glob("kernels/*"))


@pytest.mark.parametrize("kernel", ["python3", "minigrad"])
def test_lab_opens_a_lesson_and_starts_a_kernel_without_a_warning(lab, kernel):
    lesson = lab.ask("contents/notebooks/01_a_value_and_its_tape.ipynb")
    started = lab.ask("kernels", json.dumps({"name": kernel}).encode())
    answer = asyncio.run(
        kernel_info(f"{lab.kernels}/{started['id']}/channels?session_id=a&token=secret")
    )

    assert answer["status"] == "ok"
    assert all(cell["metadata"].get("trusted", True) for cell in lesson["content"]["cells"])
    said = lab.log.read_text(encoding="utf-8").splitlines()
    # nbgrader, which the tests need and the lessons do not, speaks of settings that it does not find
    said = [line for line in said if "nbgrader" not in line.lower()]
    assert not [line for line in said if re.search(r"^\[[WE] |WARNING|Warning", line)]


def test_demo_shows_the_example_and_writes_a_page_that_needs_no_network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "130")

    result = minigrad("demo")

    assert result.exit_code == 0, result.output
    steps = [
        line.split()
        for line in result.output.splitlines()
        if "Backward0 of" in line or "Grad of" in line
    ]
    ran = [(line[1], line[3]) for line in steps if line[1].isdigit()]
    assert ran == [
        ("6", "AddBackward0"),
        ("7", "MulBackward0"),
        ("8", "AddBackward0"),
        ("9", "AccumulateGrad"),
        ("10", "AccumulateGrad"),
    ]
    assert "AccumulateGrad of x2  (2 of 2)" in result.output
    assert "2 of 2 gradients agree with the tape" in result.output
    page = (tmp_path / "minigrad-demo.html").read_text(encoding="utf-8")
    assert "<svg" in page and "z += x2" in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)


def test_demo_says_where_it_cannot_write(tmp_path):
    missing = minigrad("demo", "-o", tmp_path / "none" / "page.html")
    picture = minigrad("demo", "-o", tmp_path / "page.png")

    assert missing.exit_code == picture.exit_code == 1
    assert "cannot be written" in missing.output and "minigrad demo --out" in missing.output
    assert "The name of the page must end in .html" in picture.output


def own_jupyter(folder):
    """An environment in which nothing of the user's own Jupyter takes part."""
    places = {f"JUPYTER_{k}_DIR": str(folder / k.lower()) for k in ("CONFIG", "DATA", "RUNTIME")}
    return {**os.environ, **places, "JUPYTER_TOKEN": "secret", "JUPYTER_PLATFORM_DIRS": "1"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


async def kernel_info(channels):
    """What a kernel answers through the server, as a notebook asks it."""
    question = {
        "header": {
            "msg_id": "1",
            "msg_type": "kernel_info_request",
            "session": "a",
            "username": "",
        },
        "parent_header": {},
        "metadata": {},
        "content": {},
        "channel": "shell",
    }
    connection = await websocket_connect(channels)
    await connection.write_message(json.dumps(question))
    while True:
        message = json.loads(await connection.read_message())
        if message["msg_type"] == "kernel_info_reply" and message["parent_header"]["msg_id"] == "1":
            connection.close()
            return message["content"]


def answer_of(server, url, data=None, seconds=300):
    """The JSON that the server gives, as soon as it gives any."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, data, timeout=60) as reply:
                return json.load(reply)
        except urllib.error.HTTPError:
            raise  # it answers, and says no
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"no answer from {url}; the server's status is {server.poll()}")


def test_a_misspelled_command_is_answered_with_the_nearest():
    done = minigrad("expor")

    assert done.exit_code == 2
    assert "Did you mean 'export'?" in done.output


def test_the_package_can_be_run_in_place_of_the_script():
    command = [sys.executable, "-m", "minigrad", "--version"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")

    assert done.stdout == f"minigrad {__version__}\n"


def test_the_commands_of_grading_are_those_of_its_module():
    assert set(GRADING) == set(typer.main.get_group(commands.app).commands)
