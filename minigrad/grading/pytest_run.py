"""Run pytest with nbval on a folder, isolated from any project configuration."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# makes runs reproducible to the last bit
REPEATABLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def run_pytest(
    folder: Path, *options: str, environment: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, without a project's settings or conftest, and with no plugin but nbval.

    Other plugins take time to load and might change the result.
    """
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    isolated = ("-c", "pytest.ini", "--rootdir=.", "--noconftest", "-p", "no:cacheprovider")
    plugins = ("-p", "minigrad.utils.notebook_format", "-p", "nbval.plugin", "--nbval-current-env")
    return subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *isolated, *plugins, "--color=no", "-q", *options],
        cwd=folder,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
