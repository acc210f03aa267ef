"""Without PyTorch the tests beside it are skipped, unless MINIGRAD_REQUIRE_TORCH is set, as in CI."""

import os
import sys

import pytest

if os.environ.get("MINIGRAD_REQUIRE_TORCH"):
    import torch  # noqa: F401


@pytest.fixture(autouse=True)
def distributions_check_their_arguments():
    """torch.compile, of which one test makes use, turns the checks of distributions off for the process."""
    if (distributions := sys.modules.get("torch.distributions")) is not None:
        distributions.Distribution.set_default_validate_args(True)
