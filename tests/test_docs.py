"""help() has something to say of everything that is public, and the examples of methods/docs.py run."""

import doctest
import inspect

import pytest

import minigrad
from minigrad.core.op import REGISTRY
from minigrad.methods import methods_as_functions
from minigrad.methods.docs import DOCS
from minigrad.methods.rows import SYNONYMS, has_methods

METHODS = [name for name in dir(minigrad.Tensor) if not name.startswith("_")]
FUNCTIONS = {
    name: value
    for name in {*dir(minigrad), *(op.name for op in REGISTRY.values() if has_methods(op))}
    if not name.startswith("_") and callable(value := getattr(minigrad, name))
}


def help_of(name):
    return inspect.getdoc(inspect.getattr_static(minigrad.Tensor, name))


def test_every_attribute_of_a_tensor_has_a_docstring():
    assert [name for name in METHODS if not help_of(name)] == []


def test_every_function_and_class_has_a_docstring():
    assert sorted(name for name, f in FUNCTIONS.items() if not inspect.getdoc(f)) == []


def test_a_function_says_what_its_method_says():
    made = [name for name in DOCS if name in vars(methods_as_functions) and name != "real"]
    assert len(made) > 80
    for name in made:
        assert inspect.getdoc(FUNCTIONS[name]) == DOCS[name], name


@pytest.mark.parametrize("name", DOCS)
def test_its_examples_run(name):
    assert help_of(name) == DOCS[name]
    assert max(map(len, DOCS[name].splitlines())) <= 120
    examples = doctest.DocTestParser().get_doctest(
        DOCS[name], {"minigrad": minigrad}, name, None, 0
    )
    said = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=said.append)
    assert not said, "".join(said)


def test_parameters_that_a_text_sets_in_a_column_are_those_of_the_method():
    for name, text in DOCS.items():
        method = inspect.getattr_static(minigrad.Tensor, name)
        if isinstance(method, property):
            continue
        known = set(inspect.signature(method).parameters)
        for line in text.splitlines():
            words, gap, _ = line.partition("   ")
            if gap and not line.startswith((" ", ">", "tensor", "(tensor", "[")):
                assert set(words.split(", ")) <= known, (name, line)


def test_a_synonym_names_the_method_and_says_what_it_says():
    for synonym, own in SYNONYMS.items():
        call = "" if own == "mH" else "()"
        assert help_of(synonym) == f"Another name of x.{own}{call}.\n\n{help_of(own)}"
    assert help_of("clip_").startswith("Another name of x.clamp_().")


def test_a_variant_in_place_says_that_it_writes():
    assert help_of("renorm_").startswith(DOCS["renorm"] + "\n\nWritten over the tensor itself")
    for name in METHODS:
        if name.endswith("_") and name[:-1] in DOCS:
            assert f"x.{name[:-1]}() makes a new one" in help_of(name), name
