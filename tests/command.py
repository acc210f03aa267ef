"""The command  minigrad , run in the process of the tests."""

from typer.testing import CliRunner

from minigrad.cli import app


def minigrad(*words):
    """The exit status and the output of  minigrad WORDS ."""
    return CliRunner().invoke(app, [str(word) for word in words])
