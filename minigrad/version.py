"""The version of minigrad. It is defined only here; pyproject.toml reads it."""

__version__ = "0.1.0"
cuda = hip = None  # the versions of CUDA and ROCm, which programs ask for: none
