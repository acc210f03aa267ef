"""The version of minigrad, in its one place; pyproject.toml reads it here."""

__version__ = "0.1.0"
cuda = None  # the version of CUDA, as programs ask for it: there is none
