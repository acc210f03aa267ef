"""What editors and mypy are told of the methods of rows is what there is."""

from tests import stubs


def test_the_stubs_are_those_that_are_generated():
    for page, made in ((stubs.METHODS, stubs.methods()), (stubs.FUNCTIONS, stubs.functions())):
        assert page.read_text(encoding="utf-8") == made, "run python -m tests.stubs"
