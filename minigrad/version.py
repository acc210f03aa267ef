"""The version of minigrad. It is defined only here; pyproject.toml reads it."""

__version__ = "0.1.0"
cuda = None  # the version of CUDA, which programs ask for: none
