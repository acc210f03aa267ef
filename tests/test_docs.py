"""help() has something to say of everything that is public. (Its examples run as doctests.)"""

import ast
import builtins
import doctest
import importlib
import inspect
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

import minigrad
from minigrad.core.op import REGISTRY
from minigrad.methods.rows import SYNONYMS, has_methods

METHODS = [n for n in dir(minigrad.Tensor) if n[0] != "_" and hasattr(minigrad.Tensor, n)]
FUNCTIONS = {
    name: value
    for name in {*dir(minigrad), *(op.name for op in REGISTRY.values() if has_methods(op))}
    if not name.startswith("_") and callable(value := getattr(minigrad, name))
}

# The methods with a text of their own, by the text.
OWN = {
    method.__doc__: name
    for chapter in minigrad.Tensor.__mro__
    if chapter.__module__.startswith("minigrad.methods")
    for name, method in vars(chapter).items()
    if name[0] != "_" and "    >>> " in (method.__doc__ or "")
}


def help_of(name):
    return inspect.getdoc(inspect.getattr_static(minigrad.Tensor, name))


def test_every_attribute_of_a_tensor_has_a_docstring():
    assert [name for name in METHODS if not help_of(name)] == []


# Properties of the engine, and names of other kinds of tensor: there is nothing to try out.
WITHOUT_EXAMPLE = {
    "array",
    "coalesce",
    "counter",
    "cuda",
    "is_sparse",
    "node",
    "to_dense",
    "values",
}


def test_every_attribute_of_a_tensor_shows_an_example():
    assert {name for name in METHODS if ">>> " not in help_of(name)} == WITHOUT_EXAMPLE


@pytest.mark.parametrize(
    "op", [op for op in REGISTRY.values() if op.methods], ids=lambda op: op.name
)
def test_the_example_of_a_row_runs(op):
    examples = doctest.DocTestParser().get_doctest(
        help_of(op.name), {"minigrad": minigrad}, op.name, None, 0
    )
    said = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=said.append)
    assert examples.examples and not said, "".join(said)


def test_every_function_and_class_has_a_docstring():
    assert sorted(name for name, f in FUNCTIONS.items() if not inspect.getdoc(f)) == []


PUBLIC = [
    "minigrad", "minigrad.autograd", "minigrad.autograd.forward_ad", "minigrad.autograd.functional",
    "minigrad.autograd.graph", "minigrad.func", "minigrad.linalg", "minigrad.random",
    "minigrad.sparse", "minigrad.special",
]  # fmt: skip
# What a notebook asks for by %load_ext; and a name that PyTorch keeps to say that it is gone.
NOTHING_TO_SHOW = {"load_ipython_extension", "unload_ipython_extension", "LinAlgError"}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_function_and_class_shows_an_example(name):
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None) or [name for name in dir(module) if name[0] != "_"]
    ours = {
        name: value
        for name in names
        if callable(value := getattr(module, name))
        and (getattr(value, "__module__", None) or "minigrad").startswith("minigrad")
    }
    silent = {name for name, value in ours.items() if ">>> " not in (inspect.getdoc(value) or "")}

    assert silent - NOTHING_TO_SHOW == set()


ROOMS = ("core", "ops", "methods", "autograd", "random")
PACKAGE = Path(minigrad.__file__).parent
FILES = sorted(f for room in ROOMS for f in (PACKAGE / room).rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_every_public_name_of_a_module_has_a_docstring(file):
    """What is defined at the top, and in its classes. A variant in place gets its text from rows.py."""
    parts = ["minigrad", *file.relative_to(PACKAGE).with_suffix("").parts]
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    silent = []
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name[0] == "_":
            continue
        value = getattr(module, node.name)
        silent += [] if inspect.getdoc(value) else [node.name]
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.FunctionDef) and inner.name[0] != "_":
                text = inspect.getdoc(inspect.getattr_static(value, inner.name))
                silent += [] if text else [f"{node.name}.{inner.name}"]

    assert silent == []


def test_a_function_says_what_its_method_says():
    made = [name for name in METHODS if hasattr(FUNCTIONS.get(name), "__wrapped__")]
    assert len(made) > 200
    for name in made:
        if name not in SYNONYMS and name not in ("real", "polygamma", "prelu"):  # written by hand
            assert inspect.getdoc(FUNCTIONS[name]) == help_of(name), name


def test_parameters_that_a_text_sets_in_a_column_are_those_of_the_method():
    for name in METHODS:
        method, text = inspect.getattr_static(minigrad.Tensor, name), help_of(name)
        if not inspect.isfunction(method) or method.__doc__ not in OWN:
            continue
        known = set(inspect.signature(method).parameters)
        for line in text.splitlines():
            words, gap, _ = line.partition("   ")
            if words == "returns" or " = " in words:  # what comes out, or the formula of the row
                continue
            if gap and not line.startswith((" ", ">", "tensor", "(tensor", "[")):
                assert set(words.split(", ")) <= known, (name, line)


def test_a_synonym_names_the_method_and_says_what_it_says():
    for synonym, own in SYNONYMS.items():
        call = "" if own == "mH" else "()"
        assert help_of(synonym) == f"Another name of x.{own}{call}.\n\n{help_of(own)}"
    assert help_of("clip_").startswith("Another name of x.clamp_().")


def test_the_examples_of_methods_are_collected():
    """doctest skips a method whose __module__ is not the one where it is written."""
    from minigrad.methods import reductions

    found = {test.name for test in doctest.DocTestFinder().find(reductions) if test.examples}

    assert "minigrad.methods.reductions.Reductions.softmax" in found


def test_a_variant_in_place_says_that_it_writes():
    text, _, example = help_of("renorm").partition("\n\n>>>")
    assert help_of("renorm_").startswith(text + "\n\nWrites the result into the tensor itself")
    assert help_of("renorm_").endswith(example)
    for name in METHODS:
        if name.endswith("_") and name[:-1] in OWN.values() and name not in OWN.values():
            assert f"x.{name[:-1]}() returns a new tensor" in help_of(name), name


RECIPES = [  # the module that an item of a recipe names first, and the code that goes there
    (path.replace("/", "."), textwrap.dedent(code))
    for item in re.split(r"\n(?=\d\. )", Path("docs/adding.md").read_text(encoding="utf-8"))
    for path, code in re.findall(
        r"^\d.*?`(minigrad/[\w/]+)\.py`.*?```python\n(.*?)```", item, re.DOTALL
    )
]


@pytest.mark.parametrize("module, code", RECIPES, ids=[module for module, _ in RECIPES])
def test_code_of_a_recipe_uses_names_that_its_module_has(module, code):
    nodes = list(ast.walk(ast.parse(code)))
    own = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    own |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    known = {*own, *vars(importlib.import_module(module)), *dir(builtins)}

    assert {n.id for n in nodes if isinstance(n, ast.Name)} - known == set()


TOP = """
.ci .gitignore AUTHORING.md CHANGELOG.md CONTRIBUTING.md DIAGNOSES.md GRADEBOOK.md LICENSE OPS.md PYTORCH.md README.md
THREATS.md conftest.py docs exercises hatch_build.py minigrad notebooks pyproject.toml start.py tests
""".split()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_nothing_lies_at_the_top_of_the_repository_by_accident():
    root = Path(__file__).parents[1]
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, encoding="utf-8")
    if listed.returncode:
        pytest.skip("not in a clone")

    assert sorted({path.partition("/")[0] for path in listed.stdout.splitlines()}) == sorted(TOP)
