"""What holds for every test: the order in which workers take files, and how kernels are started."""

import os
import sys
from typing import Any

import pytest

# Files that start many kernels, servers or browsers. They come first, so that no worker is left alone with one.
LONGEST = """
test_in_jupyterlab.py test_sandbox.py test_grading_runs.py test_grading_verdicts.py test_site.py test_inspector.py
test_release_gate.py test_gradebook.py test_diagnose.py test_course_grades.py test_exercises.py test_dask.py
test_export.py test_grading_attacks.py test_authoring.py test_release.py test_cli.py test_tape_programs.py
test_pictures.py test_reports.py test_program_inspector.py test_magics.py 11_names.ipynb
""".split()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """For `-n auto`: two more than there are cores, as some wait for a kernel or a browser."""
    return min((os.cpu_count() or 1) + 2, 8)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: k for k, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


def pytest_configure(config: pytest.Config) -> None:
    """Let nbval start a kernel again that died before it said a word.

    jupyter_client chooses the ports before the kernel opens them. Of many that start at once two may be
    given the same one, and the second dies.
    """
    try:
        from nbval import kernel
    except ImportError:
        return
    start = kernel.start_new_kernel

    def start_twice(*args: Any, **settings: Any) -> Any:
        try:
            return start(*args, **settings)
        except RuntimeError:
            return start(*args, **settings)

    kernel.start_new_kernel = start_twice


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """An IPython shell puts a module of its own in place of __main__, and children that are spawned read that."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(scope="session")
def tier():
    """The strongest sandbox that holds on this machine; a test that needs one is skipped where none does.

    Its self-test runs once: the processes that tests start are told that it has passed.
    """
    choose = pytest.importorskip("minigrad.grading.sandbox.choose")
    try:
        chosen = choose.choose_sandbox().tier
    except choose.NoSandbox as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in choose.tested().items():
            patch.setenv(name, value)
        yield chosen
