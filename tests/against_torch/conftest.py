"""Without PyTorch the tests beside it are skipped, unless MINIGRAD_REQUIRE_TORCH is set, as in CI."""

import os

if os.environ.get("MINIGRAD_REQUIRE_TORCH"):
    import torch  # noqa: F401
