"""Libraries that PyTorch computes with, as programs ask about them: none of them is here.

>>> from minigrad import backends
>>> backends.mps.is_available(), backends.cudnn.is_available()
(False, False)
>>> backends.cudnn.deterministic = True         # remembered, and changes nothing
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Backend:
    """A library that is not there, with settings that may be made all the same."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def is_available(self) -> bool:
        """False: minigrad computes with NumPy."""
        return False

    def is_built(self) -> bool:
        """False, for the same reason."""
        return False

    def version(self) -> None:
        """None: there is no such library."""

    @contextmanager
    def flags(self, **settings: Any) -> Iterator[None]:
        """Settings for a block: with backends.cudnn.flags(enabled=False): ..."""
        before = dict(self.__dict__)
        self.__dict__.update(settings)
        try:
            yield
        finally:
            self.__dict__.update(before)


cudnn = Backend(enabled=True, benchmark=False, deterministic=False, allow_tf32=True)
cuda = Backend(matmul=Backend(allow_tf32=False))
mps = Backend()
mkl = Backend()
mkldnn = Backend(enabled=True)
openmp = Backend()

__path__: list[str] = []  # for `import minigrad.backends.cudnn as cudnn`
for _name in ("cudnn", "cuda", "mps", "mkl", "mkldnn", "openmp"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name]
