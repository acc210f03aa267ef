"""Completion on the lines of the magics: `%chain <Tab>` offers tensors, not files.

    %tape                 the tapes
    %chain                the tensors; after `model.`, its parameters and modules
    %compare              the tensors; after the first word, those that get a gradient, with =
    %gradcheck            the functions; after the first word, the tensors
    %%autograd            the options; after --engine, the engines
    %%check, %check       the exercises

IPython asks all of its matchers. While the extension is loaded, one of them is ours.
"""

import re
from collections.abc import Callable
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

from minigrad.core.engines import ENGINES
from minigrad.core.tensor import Tensor
from minigrad.tape.adapters import tensor_kinds
from minigrad.tape.record import Tape
from minigrad.teach import question

MAGIC = re.compile(r"\s*%{0,2}(autograd|tape|chain|compare|gradcheck|check)\s(.*)$", re.DOTALL)
OPTIONS = ("--both", "--engine", "--no-widget", "--open")

Matcher = Callable[[CompletionContext], Any]


def add_matcher(shell: Any) -> Matcher:
    """Add the matcher to this shell, and return it for `remove`."""

    @context_matcher()
    def minigrad_matcher(context: CompletionContext) -> Any:
        before = context.line_with_cursor[: context.cursor_position]
        words = candidates(before, variables(shell))
        if words is None:
            return {"completions": []}
        # IPython replaces the whole token with the completion; the token may be `x1=y`.
        begun = re.search(r"[\w-]*$" if "-" in before else r"\w*$", context.token)
        assert begun is not None
        lead, begun_word = context.token[: begun.start()], begun.group()
        found = [SimpleCompletion(lead + w) for w in words if w.startswith(begun_word)]
        return {"completions": found, "suppress": bool(found)}

    shell.Completer.custom_matchers.append(minigrad_matcher)
    return minigrad_matcher


def remove_matcher(shell: Any, matcher: Matcher) -> None:
    """Remove the matcher."""
    if matcher in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(matcher)


def variables(shell: Any) -> dict[str, Any]:
    """The user's own variables, without those from IPython."""
    names = (name for name in shell.user_ns if name not in shell.user_ns_hidden)
    return {name: shell.user_ns[name] for name in names if not name.startswith("_")}


def candidates(before: str, namespace: dict[str, Any]) -> list[str] | None:
    """The completions at the cursor, for the line before it; None if it is not one of our magics.

    >>> import minigrad
    >>> candidates("%chain ", {"z": minigrad.tensor([1.0]), "n": 3})
    ['z']
    >>> candidates("%%autograd --engine t", {})
    ['graph', 'tape', 'recursive']
    """
    match = MAGIC.match(before)
    if match is None:
        return None
    magic, rest = match.groups()
    words = rest.split()
    first = len(words) < 2 and not (words and rest[-1].isspace())
    if magic == "autograd":
        at_engine = words[-1:] == ["--engine"] or words[-2:-1] == ["--engine"]
        return list(ENGINES) if at_engine else list(OPTIONS)
    if magic == "check":
        return list(question.DECLARED)
    if magic == "tape":
        return [name for name in namespace if isinstance(namespace[name], Tape)]
    if (dotted := re.search(r"([\w.]+)\.\w*$", rest)) is not None:
        return attributes(dotted.group(1), namespace)
    if magic == "gradcheck" and first:
        calls = [name for name in namespace if callable(namespace[name])]
        return [name for name in calls if not isinstance(namespace[name], (type, Tensor))]
    tensors = [name for name in namespace if isinstance(namespace[name], tensor_kinds())]
    if magic == "compare" and not first and "=" not in (rest[-1:].strip() and words[-1]):
        return [f"{name}=" for name in tensors if namespace[name].requires_grad]
    return tensors


def attributes(path: str, namespace: dict[str, Any]) -> list[str]:
    """The attributes of an object, like `model.layer`, that are tensors or may contain some.

    Attributes of its class are left out, so that completion does not evaluate properties.
    """
    first, *rest = path.split(".")
    value = namespace.get(first)
    for name in rest:
        value = _own(value).get(name)
    kinds = tensor_kinds()
    return [n for n, v in _own(value).items() if hasattr(v, "__dict__") or isinstance(v, kinds)]


def _own(value: Any) -> dict[str, Any]:
    """An object's own attributes, including parameters and modules."""
    names = [n for n in dir(value) if not n.startswith("_") and not hasattr(type(value), n)]
    return {name: getattr(value, name, None) for name in names}
