"""The version of minigrad, in its one place; pyproject.toml reads it here."""

__version__ = "0.1.0"
