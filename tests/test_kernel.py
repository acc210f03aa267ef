"""The teaching kernel: installed, found, run, removed; and provided for `minigrad lab`."""

import json
import os
import subprocess
import sys

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from minigrad.jupyter import kernel
from tests.command import minigrad


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    """Jupyter's data folder of a user who has just come."""
    place = tmp_path / "data"
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(place))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    return place


def test_the_kernel_starts_with_the_extension_loaded(own_data):
    from nbclient import NotebookClient

    minigrad("kernel", "install", "--user")
    cells = ["import minigrad\nx = minigrad.ones(2, requires_grad=True)", "%chain x * 2"]
    notebook = new_notebook(cells=[new_code_cell(c) for c in cells])

    NotebookClient(notebook, timeout=600, kernel_name="minigrad").execute()

    assert "MulBackward0" in notebook.cells[1].outputs[0].data["text/plain"]


def test_installing_for_the_user_is_undone_by_removing(own_data):
    result = minigrad("kernel", "install", "--user")

    place = own_data / "kernels" / "minigrad"
    assert result.exit_code == 0 and str(place) in result.output
    spec = json.loads((place / "kernel.json").read_text(encoding="utf-8"))
    assert spec["display_name"] == "Python (minigrad)" and spec["argv"][0] == sys.executable
    assert kernel.is_found(place)

    assert minigrad("kernel", "remove").exit_code == 0
    assert not own_data.exists()


def test_removing_leaves_what_is_others(own_data):
    other = own_data / "kernels" / "other"
    other.mkdir(parents=True)
    minigrad("kernel", "install", "--user")

    minigrad("kernel", "remove", "--user")

    assert list((own_data / "kernels").iterdir()) == [other]


def test_installing_to_a_prefix_says_if_this_jupyter_does_not_look_there(own_data, tmp_path):
    prefix = tmp_path / "prefix"
    result = minigrad("kernel", "install", "--prefix", prefix)

    place = prefix / "share" / "jupyter" / "kernels" / "minigrad"
    assert (place / "logo-svg.svg").exists()
    assert f"JUPYTER_PATH={prefix / 'share' / 'jupyter'}" in result.output

    minigrad("kernel", "remove", "--prefix", prefix)
    assert list(prefix.iterdir()) == []


def test_without_a_place_the_kernel_belongs_to_the_environment(own_data, tmp_path):
    minigrad("kernel", "install")

    assert (tmp_path / "environment/share/jupyter/kernels/minigrad/kernel.json").exists()
    assert minigrad("kernel", "remove").exit_code == 0


def test_mistakes_are_explained(own_data, tmp_path):
    both = minigrad("kernel", "install", "--user", "--prefix", tmp_path)
    nothing = minigrad("kernel", "remove")
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    blocked = minigrad("kernel", "install", "--prefix", tmp_path / "file")

    assert [r.exit_code for r in (both, nothing, blocked)] == [1, 1, 1]
    assert "not both" in both.output
    assert 'no kernel "Python (minigrad)" to remove' in nothing.output
    assert "cannot be written" in blocked.output and "--user" in blocked.output


def test_a_lent_kernel_is_found_and_is_gone_afterwards(own_data):
    before = dict(os.environ)

    with kernel.temporary_kernel():
        folder = os.environ["JUPYTER_PATH"].split(os.pathsep)[0]
        found = asked("from jupyter_client.kernelspec import find_kernel_specs as f; print(*f())")

    assert "minigrad" in found.split()
    assert not os.path.exists(folder) and dict(os.environ) == before


def test_jupyterlab_reads_the_answer_to_its_question_about_news(own_data):
    pytest.importorskip("jupyterlab_server")
    program = (
        "import jupyterlab_server.settings_utils as s, tempfile\n"
        "overrides, _ = s._get_overrides(tempfile.mkdtemp())\n"
        "print(overrides['@jupyterlab/apputils-extension:notification']['fetchNews'])"
    )

    with kernel.temporary_kernel():
        assert asked(program) == "false"


def asked(program):
    """What a fresh interpreter prints, with the environment of now."""
    command = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()


def test_without_ipykernel_no_kernel_is_installed(own_data, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel.kernelspec", None)

    result = minigrad("kernel", "install", "--user")

    assert result.exit_code != 0 and "pip install ipykernel" in result.output
    assert not own_data.exists()
