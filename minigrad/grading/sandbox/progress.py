"""Replaces tqdm while a question is graded: its loops run, and no progress is shown.

image.py copies this file into an image as the package `tqdm`, and its usual modules with it.
This file uses only the standard library.
"""

from collections.abc import Iterable, Iterator
from typing import Any


class tqdm:
    """An iterable without its progress bar. What would change the bar does nothing."""

    def __init__(self, iterable: Iterable[Any] = (), *more: object, **settings: Any) -> None:
        self.iterable, self.n, self.total = iterable, 0, settings.get("total")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]

    def __enter__(self) -> "tqdm":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *values, **settings: None  # set_description, set_postfix, close, ...

    def update(self, n: float = 1) -> None:
        """Count."""
        self.n += n  # type: ignore[assignment]

    @staticmethod
    def write(*texts: object, **settings: object) -> None:
        """Print nothing."""


def trange(*bounds: int, **settings: object) -> tqdm:
    """A range without its progress bar."""
    return tqdm(range(*bounds))


tqdm_notebook, tnrange = tqdm, trange
