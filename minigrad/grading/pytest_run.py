"""Run Python, or pytest with nbval, in a folder, isolated from the current one and from any project."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# makes runs reproducible to the last bit
REPEATABLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def run_python(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] = {},
    seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run this Python in a folder, without importing from there. Raises TimeoutExpired."""
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=seconds,
    )


def run_pytest(
    folder: Path, *options: str, environment: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, without a project's settings or conftest, and with no plugin but nbval.

    Other plugins take time to load and might change the result.
    """
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    isolated = ("-c", "pytest.ini", "--rootdir=.", "--noconftest", "-p", "no:cacheprovider")
    plugins = ("-p", "minigrad.utils.notebook_format", "-p", "nbval.plugin", "--nbval-current-env")
    words = ("-m", "pytest", *isolated, *plugins, "--color=no", "-q", *options)
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    return run_python(folder, *words, environment={**own, **environment})
