"""The names of torch.backends. minigrad computes with NumPy, so no backend is available.

>>> from minigrad import backends
>>> backends.mps.is_available(), backends.cudnn.is_available()
(False, False)
>>> backends.cudnn.deterministic = True         # kept, without effect
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Backend:
    """A library that minigrad does not use. Its settings can be set, and have no effect."""

    __spec__: Any = None  # in `import torch.backends.cudnn`, it stands for a module

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def is_available(self) -> bool:
        """False: minigrad does not use it."""
        return False

    def is_built(self) -> bool:
        """False: minigrad does not use it."""
        return False

    def version(self) -> None:
        """None: minigrad does not use it."""

    @contextmanager
    def flags(self, **settings: Any) -> Iterator[None]:
        """Change settings for a block: with backends.cudnn.flags(enabled=False): ..."""
        before = dict(self.__dict__)
        self.__dict__.update(settings)
        try:
            yield
        finally:
            self.__dict__.update(before)


cudnn = Backend(enabled=True, benchmark=False, deterministic=False, allow_tf32=True)
cuda = Backend(
    matmul=Backend(allow_tf32=False),
    preferred_linalg_library=lambda backend=None: "default",
    sdp_kernel=Backend().flags,  # kernels of scaled_dot_product_attention
    **{
        f"enable_{name}_sdp": lambda enabled: None
        for name in ("cudnn", "flash", "math", "mem_efficient")
    },
)
# PyTorch's fast path of Transformer layers, which minigrad does not have.
mha = Backend(get_fastpath_enabled=lambda: False, set_fastpath_enabled=lambda value: None)
mps = Backend()
mkl = Backend()
mkldnn = Backend(enabled=True)
openmp = Backend()

__path__: list[str] = []  # for `import minigrad.backends.cudnn as cudnn`
for _name in ("cudnn", "cuda", "mha", "mps", "mkl", "mkldnn", "openmp"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name]
