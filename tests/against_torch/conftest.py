"""Without PyTorch the tests beside it are skipped, unless MINIGRAD_REQUIRE_TORCH is set, as in CI."""

import os
import sys

import pytest

try:
    import torch
except ImportError:
    if os.environ.get("MINIGRAD_REQUIRE_TORCH"):
        raise
else:
    # torch.manual_seed puts the seeds of devices that are not there into a queue, each with the text of the
    # whole stack. That is half the time of the tests that seed PyTorch for each sample.
    for device in (torch.cuda, torch.xpu, torch.mtia):
        if not device.is_available():
            device.manual_seed_all = lambda seed: None


@pytest.fixture(autouse=True)
def distributions_check_their_arguments():
    """torch.compile, of which one test makes use, turns the checks of distributions off for the process."""
    if (distributions := sys.modules.get("torch.distributions")) is not None:
        distributions.Distribution.set_default_validate_args(True)
