"""pytest with nbval, run on a folder as if nothing stood around it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# so that two runs give the same answers, to the last bit
REPEATABLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def run_pytest(
    folder: Path, *options: str, environment: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, without settings or conftest of a project, and with nbval only.

    Any other plugin takes time to load, and may change what is done.
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
